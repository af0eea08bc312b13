/*
 * ubc: its properties, and what the core makes of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/cutils.h"
#include "qemu/guest-random.h"
#include "qemu/uuid.h"
#include "qapi/error.h"
#include "system/system.h"
#include "core/enum_prop.h"
#include "core/qemu_qdev.h"
#include "ub/scrambler.h"
#include "ubc-pci.h"

/* "xxxxxxxx…": 32 hexadecimal digits, most significant first. */
bool ubc_pci_parse_guid(const char *text, uint8_t guid[16])
{
    size_t n = 0;

    for (; *text; text++) {
        if (*text == '-' || *text == ':') {
            continue;
        }
        if (n == 32 || !g_ascii_isxdigit(*text)) {
            return false;
        }
        guid[n / 2] = guid[n / 2] << 4 | g_ascii_xdigit_value(*text);
        n++;
    }
    return n == 32;
}

/* Types of a GUID that a controller may have (UB 2.0 §C.1). */
enum { GUID_CONTROLLER = 1, GUID_INTEGRATED_CONTROLLER = 2 };

/* Whether a controller may have it: a group's (§F.2) has 14 bytes of ones. */
static bool good_guid(const uint8_t guid[16])
{
    static const uint8_t group[14] = { [0 ... 13] = 0xff };
    unsigned type = guid[4] & 0xf;

    return memcmp(guid, group, sizeof(group)) &&
           (type == GUID_CONTROLLER || type == GUID_INTEGRATED_CONTROLLER);
}

/*
 * GUID of appendix C: ids, type 2, version 0, and as the sequence number what the
 * machine's UUID and the device's name make of it: the same at each start.  A machine
 * without UUID cannot be told from others: random.  A bus controller has type 2 (§C.3);
 * public tools begin their trees at one, and at nothing else.
 */
static void default_guid(UbcPci *s, uint8_t guid[16])
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    g_autofree char *path = object_get_canonical_path(OBJECT(s));
    uint8_t digest[32];
    gsize len = sizeof(digest);

    g_checksum_update(sum, qemu_uuid.data, sizeof(qemu_uuid.data));
    g_checksum_update(sum, (const guchar *)path, -1);
    g_checksum_get_digest(sum, digest, &len);
    stw_be_p(guid, s->vendor_id);
    stw_be_p(guid + 2, s->device_id);
    guid[4] = GUID_INTEGRATED_CONTROLLER; /* and version 0 */
    guid[5] = guid[6] = guid[7] = 0;
    memcpy(guid + 8, digest, 8);
    if (!qemu_uuid_set) {
        qemu_guest_getrandom_nofail(guid + 8, 8);
    }
}

/* In the order of UbNpiMode, and of UbcRights. */
CORE_ENUM_PROP(ubc_npi_mode, "UbcNpiMode", "open", "strict", "loose")
CORE_ENUM_PROP(ubc_rights, "UbcRights", "manager", "user")
QEMU_BUILD_BUG_ON(UB_NPI_OPEN != 0 || UB_NPI_STRICT != 1 || UB_NPI_LOOSE != 2);

/* Network isolation (UB 2.0 §5.3.3). */
static bool parse_isolation(UbcPci *s, UbcConfig *c, Error **errp)
{
    UbNetConfig *net = &c->node.net;
    g_auto(GStrv) list = g_strsplit(s->npis ?: "", ":", -1);
    unsigned n = g_strv_length(list);

    if (s->npi & ~UB_NPI_MASK) {
        error_setg(errp, "npi must have 25 bits at most");
        return false;
    }
    if (n > UB_NET_CONF_NPIS) {
        error_setg(errp, "npis may have %u NPIs at most", UB_NET_CONF_NPIS);
        return false;
    }
    for (net->npis_len = 0; net->npis_len < n; net->npis_len++) {
        unsigned long npi;

        if (qemu_strtoul(list[net->npis_len], NULL, 0, &npi) ||
            npi & ~(unsigned long)UB_NPI_MASK || !ub_npi_valid(npi)) {
            error_setg(errp, "npis must be numbers of 25 bits, ID not 0, with "
                       "colons between them");
            return false;
        }
        net->npis[net->npis_len] = npi;
    }
    net->npi_mode = s->npi_mode;
    net->npi = s->npi;
    c->guard = s->guard;
    c->channels_managed = s->channels_managed;
    return true;
}

/* Who the controller is. */
static bool ubc_pci_identify(UbcPci *s, UbcConfig *c, Error **errp)
{
    const struct {
        const char *name, *text;
        uint8_t *to;
    } wide[] = {
        { "guid", s->guid, c->guid },
        { "eid", s->eid, c->eid },
        { "fm-eid", s->fm_eid, c->fm_eid },
    };

    default_guid(s, c->guid);
    for (unsigned i = 0; i < ARRAY_SIZE(wide); i++) {
        if (wide[i].text && !ubc_pci_parse_guid(wide[i].text, wide[i].to)) {
            error_setg(errp, "%s must have 32 hexadecimal digits",
                       wide[i].name);
            return false;
        }
    }
    if (!good_guid(c->guid)) {
        error_setg(errp, "guid must have the type of a controller, 1 or 2, in its "
                   "tenth digit, and be none of a group");
        return false;
    }
    c->cna = s->cna;
    c->fm_cna = s->fm_cna;
    c->port_cna = s->port_cna;
    c->upi = s->upi;
    c->manager = s->manager;
    c->mgmt_timeout = s->mgmt_timeout;
    c->forward = s->forward;
    c->route_entries = s->route_entries;
    return parse_isolation(s, c, errp);
}

/* "bus:urma:mem=ram0": what each Entity is, Entity 0 first, and its memory. */
static bool parse_entities(UbcPci *s, Error **errp)
{
    static const char *const kinds[] = {
        [UBC_ENTITY_BUS] = "bus", [UBC_ENTITY_URMA] = "urma",
        [UBC_ENTITY_MEM] = "mem", [UBC_ENTITY_OTHER] = "other",
    };
    UbcConfig *c = &s->cfg;
    g_auto(GStrv) words = g_strsplit(s->entities, ":", 0);
    unsigned n = g_strv_length(words);

    if (n < 1 || n > UBC_MAX_ENTITIES) {
        error_setg(errp, "entities are 1 to %u, divided by colons",
                   UBC_MAX_ENTITIES);
        return false;
    }
    c->entities = n;
    for (unsigned i = 0; i < n; i++) {
        char *id = strchr(words[i], '=');
        unsigned kind = 0;

        if (id) {
            *id++ = 0;
        }
        while (kind < ARRAY_SIZE(kinds) && strcmp(words[i], kinds[kind])) {
            kind++;
        }
        if (kind == ARRAY_SIZE(kinds)) {
            error_setg(errp, "entities: no such kind as '%s'", words[i]);
            return false;
        }
        if (!id != (kind != UBC_ENTITY_MEM)) {
            error_setg(errp, "entities: mem, and no other, has '=' and the id of "
                       "a memory backend");
            return false;
        }
        c->entity[i] = kind;
        if (id && !ubc_pci_memory_find(s, i, id, errp)) {
            return false;
        }
    }
    return true;
}

/* "1:2-3+": hot-plug slots, with their ports. */
static bool ubc_pci_slots(UbcPci *s, UbcConfig *c, Error **errp)
{
    g_auto(GStrv) words = g_strsplit(s->slots ?: "", ":", 0);
    const char *why;

    for (char **word = words; *word; word++) {
        if (!ub_shp_config_add(&c->shp, *word)) {
            error_setg(errp, "slots are ports as 1 or 2-3, with + behind them if "
                       "they have power, divided by colons, at most %u",
                       UB_SHP_SLOTS);
            return false;
        }
    }
    c->shp.settle = s->slot_settle * INT64_C(1000000);
    c->shp.hold = s->slot_hold * INT64_C(1000000);
    why = ub_shp_config_check(&c->shp, c->ports);
    if (why) {
        error_setg(errp, "slots: %s", why);
    }
    return !why;
}

/* What a guest may do with its controller and its Entities. */
static bool ubc_pci_entities(UbcPci *s, UbcConfig *c, Error **errp)
{
    c->bus_en = s->bus_en;
    c->usi = s->usi;
    memset(s->memory, 0, sizeof(s->memory));
    c->read_only = s->rights == UBC_RIGHTS_USER;
    return !s->entities || parse_entities(s, errp);
}

bool ubc_pci_configure(UbcPci *s, Error **errp)
{
    UbcConfig *c = &s->cfg;

    ubc_config_init(c);
    c->ports = s->ports;
    c->dll_time_scale = s->dll_time_scale;
    c->err_severity = s->err_severity;
    c->err_info = s->err_info;
    c->eid_upi = s->eid_upi;
    if (!ubc_phy_props_apply(&s->phy, &c->phy, errp)) {
        return false;
    }
    for (unsigned i = 0; i < UB_VLS; i++) {
        if (s->init_credit) {
            c->dll.init_credit[i] = s->init_credit;
        }
    }
    if (!ubc_engine_props_apply(&s->engine, &s->options, c, errp) ||
        !ubc_window_props_apply(&s->window_props, c, errp) ||
        !ubc_dll_props_apply(&s->dll, &c->dll, errp)) {
        return false;
    }
    if (!ubc_pci_identify(s, c, errp) || !ubc_pci_entities(s, c, errp) ||
        !ubc_pci_slots(s, c, errp) ||
        !ubc_pci_responder_configure(s, c, errp)) {
        return false;
    }
    if (!ubc_ethernet_props_apply(&s->ether, &c->ethernet, errp)) {
        return false;
    }
    ubc_ummu_props_apply(&s->ummu, c);
    c->wire_features = UB_WIRE_GUID | (s->shm ? UB_WIRE_SHARED_MEMORY : 0);
    qemu_guest_getrandom_nofail(&c->session, sizeof(c->session));
    c->phy.lmsm.seed = c->session;

    s->clock = s->clock_kind == UBC_CLOCK_REALTIME ? QEMU_CLOCK_REALTIME
                                                  : QEMU_CLOCK_VIRTUAL;
    return true;
}

/* ---- Class ----------------------------------------------------------------- */

static int ubc_pci_get_clock(Object *obj, Error **errp)
{
    return UBC(obj)->clock_kind;
}

static void ubc_pci_set_clock(Object *obj, int value, Error **errp)
{
    if (DEVICE(obj)->realized) {
        error_setg(errp, "clock can only be set before the device exists");
    } else {
        UBC(obj)->clock_kind = value;
    }
}

static const struct {
    const char *name, *text;
} descriptions[] = {
    { "ports", "ports, 1 to 8" },
    { "chardev0", "byte stream of port 0's wire" },
    { "chardev1", "byte stream of port 1's wire" },
    { "chardev2", "byte stream of port 2's wire" },
    { "chardev3", "byte stream of port 3's wire" },
    { "chardev4", "byte stream of port 4's wire" },
    { "chardev5", "byte stream of port 5's wire" },
    { "chardev6", "byte stream of port 6's wire" },
    { "chardev7", "byte stream of port 7's wire" },
    { "shm", "wires between processes of one host go through shared memory" },
    { "inline-turn", "a doorbell, or a load that waits, has the core's turn in the processor's "
      "own thread" },
    { "vendor-id", "of PCI and of the default GUID" },
    { "device-id", "of PCI and of the default GUID" },
    { "guid", "of Entity 0: 32 hexadecimal digits, most significant first; "
              "default: made from the machine's UUID and the device's id" },
    { "eid", "power-on value of EID: 32 hexadecimal digits" },
    { "cna", "power-on value of Primary CNA, 24 bits" },
    { "port-cna", "power-on value of Port CNA of port 0, the others follow; "
                  "0: none" },
    { "upi", "power-on value of UPI, 15 bits" },
    { "entities", "what each Entity is, divided by colons: bus first, then "
                  "urma, mem=ID of a memory backend, or other; default: bus" },
    { "usi", "interrupts of Entities: 2 (tables in ERS0; the bus controller has "
             "registers), 1 (registers), 0 (none)" },
    { "rights", "what BAR0 may write of the configuration space: manager "
                "(all), user (CFG1)" },
    { "bus-en", "power-on value of BUS_EN of each Entity" },
    { "fm-eid", "power-on value of UBFM EID: 32 hexadecimal digits" },
    { "fm-cna", "power-on value of UBFM CNA, 24 bits" },
    { "mgmt-timeout", "milliseconds for the answer to a management message" },
    { "manager", "the guest may manage the fabric: its messages may have Mgmt" },
    { "forward", "packets for other nodes go on, from port to port" },
    { "route-entries", "entries of ROUTE_TABLE, at most 65536; 0: none, every "
                       "port leads everywhere" },
    { "npi-mode", "of IP forms: strict (one NPI), loose (those of npis), open" },
    { "npi", "power-on value of the controller's NPI, 25 bits" },
    { "npis", "NPIs that the loose mode lets pass, with colons between them; "
              "none: all" },
    { "slots", "hot-plug slots, divided by colons: a port or the first and last "
               "one with a dash, and + if it has power from the start" },
    { "slot-settle", "milliseconds from a slot's power to its ports' work" },
    { "slot-hold", "milliseconds that the wire of a slot may be away before its "
                   "device is" },
    { "responder", "byte stream of a program that speaks for the node: vendor-defined "
                   "messages, MCTP, device authentication" },
    { "responder-kinds", "what it speaks, divided by colons: mctp, bus, vendor, "
                         "spdm; default: all" },
    { "guard", "NPI and anti-spoof also for packets of ring pairs" },
    { "channels-managed", "TP channels only with nodes that the UBFM has named" },
    { "dll-time-scale", "multiplies the times of the data link layer" },
    { "init-credit", "cells granted on each VL after power-on; 0: 4096 on "
                     "VL0, 512 on the others" },
    { "err-severity", "reset value of PORT_ERR_RECORD's severity" },
    { "err-info", "depth of the queue of headers of faulty packets; 0: none" },
    { "eid-upi", "entries of the table of (EID, UPI) of virtual machines; 0: "
                 "none" },
    { "clock", "virtual (stops with the machine) or realtime" },
    { "pcap", "file that packets are captured to" },
    { "pcap-blocks", "capture blocks and training too" },
    { "iothread", "where the ports run; without, in the main loop" },
};

static void ubc_pci_describe(ObjectClass *klass)
{
    for (unsigned i = 0; i < ARRAY_SIZE(descriptions); i++) {
        object_class_property_set_description(klass, descriptions[i].name,
                                              descriptions[i].text);
    }
}

static const Property ubc_properties[] = {
    DEFINE_PROP_UINT32("ports", UbcPci, ports, 1),
    DEFINE_PROP_CHR("chardev0", UbcPci, port[0].chr),
    DEFINE_PROP_CHR("chardev1", UbcPci, port[1].chr),
    DEFINE_PROP_CHR("chardev2", UbcPci, port[2].chr),
    DEFINE_PROP_CHR("chardev3", UbcPci, port[3].chr),
    DEFINE_PROP_CHR("chardev4", UbcPci, port[4].chr),
    DEFINE_PROP_CHR("chardev5", UbcPci, port[5].chr),
    DEFINE_PROP_CHR("chardev6", UbcPci, port[6].chr),
    DEFINE_PROP_CHR("chardev7", UbcPci, port[7].chr),
    DEFINE_PROP_BOOL("shm", UbcPci, shm, true),
    DEFINE_PROP_BOOL("inline-turn", UbcPci, inline_turn, true),
    DEFINE_PROP_UINT16("vendor-id", UbcPci, vendor_id, UBC_VENDOR_ID),
    DEFINE_PROP_UINT16("device-id", UbcPci, device_id, UBC_DEVICE_ID),
    DEFINE_PROP_STRING("guid", UbcPci, guid),
    DEFINE_PROP_STRING("eid", UbcPci, eid),
    DEFINE_PROP_UINT32("cna", UbcPci, cna, 0),
    DEFINE_PROP_UINT32("port-cna", UbcPci, port_cna, 0),
    DEFINE_PROP_UINT16("upi", UbcPci, upi, 0),
    DEFINE_PROP_STRING("fm-eid", UbcPci, fm_eid),
    DEFINE_PROP_UINT32("fm-cna", UbcPci, fm_cna, 0),
    DEFINE_PROP_BOOL("manager", UbcPci, manager, true),
    DEFINE_PROP_UINT32("mgmt-timeout", UbcPci, mgmt_timeout, 1000),
    DEFINE_PROP_STRING("entities", UbcPci, entities),
    DEFINE_PROP_UINT8("usi", UbcPci, usi, UBC_USI_TYPE2),
    DEFINE_PROP_CORE_ENUM("rights", UbcPci, rights, ubc_rights,
                          UBC_RIGHTS_MANAGER),
    DEFINE_PROP_BOOL("bus-en", UbcPci, bus_en, true),
    DEFINE_PROP_BOOL("forward", UbcPci, forward, false),
    DEFINE_PROP_UINT32("route-entries", UbcPci, route_entries, 0),
    DEFINE_PROP_CORE_ENUM("npi-mode", UbcPci, npi_mode, ubc_npi_mode,
                          UB_NPI_STRICT),
    DEFINE_PROP_UINT32("npi", UbcPci, npi, UB_NPI_DEFAULT),
    DEFINE_PROP_STRING("npis", UbcPci, npis),
    DEFINE_PROP_BOOL("guard", UbcPci, guard, false),
    DEFINE_PROP_BOOL("channels-managed", UbcPci, channels_managed, false),
    DEFINE_PROP_STRING("slots", UbcPci, slots),
    DEFINE_PROP_UINT32("slot-settle", UbcPci, slot_settle, 100),
    DEFINE_PROP_UINT32("slot-hold", UbcPci, slot_hold, 1000),
    DEFINE_PROP_CHR("responder", UbcPci, responder_chr),
    DEFINE_PROP_STRING("responder-kinds", UbcPci, responder_kinds),
    UBC_PHY_PROPERTIES(UbcPci, phy),
    DEFINE_PROP_UINT32("dll-time-scale", UbcPci, dll_time_scale, 1000),
    DEFINE_PROP_UINT32("init-credit", UbcPci, init_credit, 0),
    DEFINE_PROP_UINT32("err-severity", UbcPci, err_severity, 0xf04fffff),
    DEFINE_PROP_UINT32("err-info", UbcPci, err_info, 16),
    DEFINE_PROP_UINT32("eid-upi", UbcPci, eid_upi, 0),
    UBC_DLL_PROPERTIES(UbcPci, dll),
    UBC_ENGINE_PROPERTIES(UbcPci, engine),
    UBC_WINDOW_PROPERTIES(UbcPci, window_props),
    UBC_UMMU_PROPERTIES(UbcPci, ummu),
    UBC_ETHERNET_PROPERTIES(UbcPci, ether),
    DEFINE_PROP_STRING("pcap", UbcPci, pcap),
    DEFINE_PROP_BOOL("pcap-blocks", UbcPci, pcap_blocks, false),
    DEFINE_PROP_LINK("iothread", UbcPci, iothread, TYPE_IOTHREAD,
                     IOThread *),
};

/* The image has identities and kinds of Entities by value. */
CoreProps ubc_core_props = {
    .local = (const char *const []) {
        "chardev0", "chardev1", "chardev2", "chardev3", "chardev4", "chardev5",
        "chardev6", "chardev7", "responder", "shm", "inline-turn", "poll-looks",
        "poll-pause", "poll-time", "window-again", "pcap", "pcap-blocks", "iothread", "guid", "eid",
        "fm-eid", "entities", "cip-migrate-keys", "netdev", "mac", "capture",
        NULL
    },
};

void ubc_pci_props_init(ObjectClass *klass)
{
    Property *list = ubc_options_join(ubc_properties,
                                      ARRAY_SIZE(ubc_properties),
                                      &ubc_core_props.n);

    ubc_core_props.list = list;
    device_class_set_props_n(DEVICE_CLASS(klass), list, ubc_core_props.n);
    object_class_property_add_enum(klass, "clock", "UbcClock",
                                   &UbcClock_lookup, ubc_pci_get_clock,
                                   ubc_pci_set_clock);
    ubc_phy_props_describe(klass);
    ubc_dll_props_describe(klass);
    ubc_engine_props_describe(klass);
    ubc_options_describe(klass);
    ubc_pci_fault_props(klass);
    ubc_window_props_describe(klass);
    ubc_ummu_props_describe(klass);
    ubc_ethernet_props(klass);
    ubc_pci_describe(klass);
}
