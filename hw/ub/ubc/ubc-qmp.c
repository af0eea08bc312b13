/*
 * The monitor's view of UB links: query-ub-links, info ub, fault injection.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-ub.h"
#include "qapi/qapi-events-ub.h"
#include "qapi/util.h"
#include "qapi/type-helpers.h"
#include "monitor/hmp.h"
#include "monitor/monitor.h"
#include "qobject/qdict.h"
#include "qemu/module.h"
#include "ubc-pci.h"
#include "core/qemu_qdev.h"

static char *guid_string(const uint8_t guid[16])
{
    GString *s = g_string_new(NULL);

    for (unsigned i = 0; i < 16; i++) {
        g_string_append_printf(s, "%02x", guid[i]);
    }
    return g_string_free(s, FALSE);
}

/* The value of an enumeration for a name of the cores, as Link_Active; the
 * first one, "unknown" or "none", if there is none. */
static int enum_of(const QEnumLookup *lookup, const char *name)
{
    g_autofree char *kebab = g_ascii_strdown(name, -1);

    g_strdelimit(kebab, "_.", '-');
    return qapi_enum_parse(lookup, kebab, 0, NULL);
}

static void peer_info(UbLinkInfo *l, const UbWireHello *peer)
{
    static const struct { uint16_t bit; UbWireFeature name; } features[] = {
        { UB_WIRE_SHARED_MEMORY, UB_WIRE_FEATURE_SHARED_MEMORY },
        { UB_WIRE_GUID, UB_WIRE_FEATURE_GUID },
    };
    UbWireFeatureList **tail = &l->peer_features;

    if (peer->features & UB_WIRE_GUID) {
        l->peer_guid = guid_string(peer->guid);
    }
    l->has_peer_port = true;
    l->peer_port = peer->port;
    for (unsigned i = 0; i < ARRAY_SIZE(features); i++) {
        if (peer->features & features[i].bit) {
            QAPI_LIST_APPEND(tail, features[i].name);
        }
    }
}

static void add_counter(UbcCounterList ***tail, const char *name,
                        uint64_t value)
{
    UbcCounter *c = g_new0(UbcCounter, 1);

    c->name = g_strdup(name);
    c->value = value;
    QAPI_LIST_APPEND(*tail, c);
}

static UbLinkInfo *link_info(UbcPci *s, unsigned port)
{
    UbLinkInfo *l = g_new0(UbLinkInfo, 1);
    UbcCounterList **counters = &l->counters, **network = &l->network;
    UbcCreditList **credits = &l->credits;
    WireChr *wire = s->port[port].chr_wire;
    bool out = false, in = false;
    UbcPortInfo info;

    qemu_mutex_lock(&s->lock);
    ubc_port_info(s->ubc, port, &info);
    if (wire) {
        wire_pipe_shared(wire_chr_pipe(wire), &out, &in);
    }
    if (info.peer) {
        peer_info(l, info.peer);
    }
    qemu_mutex_unlock(&s->lock);

    l->device = object_get_canonical_path(OBJECT(s));
    l->port = port;
    l->connected = info.connected;
    l->shared_memory = out && in;
    l->lmsm_state = enum_of(&UbcLmsmState_lookup, info.lmsm);
    l->dll_state = enum_of(&UbcDllState_lookup, info.dll);
    l->retry_req_state = enum_of(&UbcRetryReqState_lookup, info.retry_req);
    l->retry_ack_state = enum_of(&UbcRetryAckState_lookup, info.retry_ack);
    l->link_up = info.link_up;
    l->rate = info.rate;
    l->lane_mbps = ub_phy_kbps(s->phy.phy_mode, info.rate) / 1000;
    l->tx_width = info.tx_width;
    l->rx_width = info.rx_width;
    l->primary = info.primary;
    l->fec = enum_of(&UbcFecMode_lookup, info.fec);
    l->codecs = info.codecs;
    l->crc = info.crc;
    for (unsigned vl = 0; vl < UB_VLS; vl++) {
        UbcCredit *c;

        if (!info.status.tx_credit_init[vl] && !info.status.rx_granted[vl]) {
            continue;
        }
        c = g_new0(UbcCredit, 1);
        c->vl = vl;
        c->available = info.status.tx_credit[vl];
        c->granted = info.status.tx_credit_init[vl];
        c->held = info.status.rx_held[vl];
        QAPI_LIST_APPEND(credits, c);
    }
    for (unsigned i = 0; i < UBC_CNT_NUM; i++) {
        add_counter(&counters, ubc_counter_name(i), info.counter[i]);
    }
    for (unsigned i = 0; i < UB_NET_COUNTERS_NUM; i++) {
        if (info.net[i]) {
            add_counter(&network, ub_net_counter_name(i), info.net[i]);
        }
    }
    return l;
}

UbcPci *ubc_pci_find(const char *device, Error **errp)
{
    Object *obj = object_resolve_path_type(device, TYPE_UBC, NULL);

    if (!obj) {
        DeviceState *dev = qdev_find_recursive(sysbus_get_default(), device);

        obj = dev ? object_dynamic_cast(OBJECT(dev), TYPE_UBC) : NULL;
    }
    if (!obj || !DEVICE(obj)->realized) {
        error_setg(errp, "no UB controller is called '%s'", device);
        return NULL;
    }
    return UBC(obj);
}

static void add_links(UbcPci *s, void *opaque)
{
    UbLinkInfoList ***tail = opaque;

    for (unsigned port = 0; port < s->ports; port++) {
        QAPI_LIST_APPEND(*tail, link_info(s, port));
    }
}

UbLinkInfoList *qmp_query_ub_links(Error **errp)
{
    UbLinkInfoList *list = NULL, **tail = &list;

    ubc_pci_foreach(add_links, &tail);
    return list;
}

static void link_text(GString *buf, const UbLinkInfo *l)
{
    g_string_append_printf(
        buf, "%s port %u: %s, LMSM %s, DLL %s, retry %s/%s\n"
        "  rate %" PRIu8 " (%" PRIu32 " Mb/s per lane), width TX x%u "
        "RX x%u, FEC %s x%u, CRC %s, %s\n",
        l->device, l->port, l->connected ? "connected" : "not connected",
        UbcLmsmState_str(l->lmsm_state), UbcDllState_str(l->dll_state),
        UbcRetryReqState_str(l->retry_req_state),
        UbcRetryAckState_str(l->retry_ack_state), l->rate, l->lane_mbps,
        l->tx_width, l->rx_width, UbcFecMode_str(l->fec), l->codecs,
        l->crc ? "on" : "off", l->primary ? "primary" : "secondary");
    if (l->has_peer_port) {
        g_string_append_printf(buf, "  peer %s port %u%s\n",
                               l->peer_guid ? l->peer_guid : "without GUID",
                               l->peer_port,
                               l->shared_memory ? ", shared memory" : "");
    }
    for (UbcCreditList *c = l->credits; c; c = c->next) {
        g_string_append_printf(buf, "  VL%u: credits %" PRIu32 " of %"
                               PRIu32 ", held %" PRIu32 "\n",
                               c->value->vl, c->value->available,
                               c->value->granted, c->value->held);
    }
    for (UbcCounterList *c = l->counters; c; c = c->next) {
        if (c->value->value) {
            g_string_append_printf(buf, "  %s %" PRIu64 "\n",
                                   c->value->name, c->value->value);
        }
    }
    for (UbcCounterList *c = l->network; c; c = c->next) {
        g_string_append_printf(buf, "  network %s %" PRIu64 "\n",
                               c->value->name, c->value->value);
    }
}

HumanReadableText *qmp_x_query_ub_links(Error **errp)
{
    g_autoptr(GString) buf = g_string_new("");
    UbLinkInfoList *list = qmp_query_ub_links(errp);

    for (UbLinkInfoList *e = list; e; e = e->next) {
        link_text(buf, e->value);
    }
    qapi_free_UbLinkInfoList(list);
    return human_readable_text_from_str(buf);
}

static void engine_words(UbcPci *s, void *opaque)
{
    ubc_pci_ethernet_text(s, opaque);
    ubc_pci_engine_text(s, opaque);
}

/* info ub [device [port]] */
static void hmp_info_ub(Monitor *mon, const QDict *args)
{
    const char *device = qdict_get_try_str(args, "device");
    int64_t port = qdict_get_try_int(args, "port", -1);
    g_autoptr(GString) buf = g_string_new("");
    UbLinkInfoList *list = NULL, **tail = &list;
    Error *err = NULL;
    UbcPci *s;

    if (!device) {
        ubc_pci_foreach(add_links, &tail);
        s = NULL;
    } else if ((s = ubc_pci_find(device, &err))) {
        add_links(s, &tail);
    }
    for (UbLinkInfoList *e = list; e; e = e->next) {
        if (port < 0 || e->value->port == port) {
            link_text(buf, e->value);
        }
    }
    qapi_free_UbLinkInfoList(list);
    if (!err && port < 0) {
        if (s) {
            engine_words(s, buf);
        } else {
            ubc_pci_foreach(engine_words, buf);
        }
    }
    if (!err && port >= 0 && !buf->len) {
        error_setg(&err, "%s has no port %" PRId64, device, port);
    }
    if (!hmp_handle_error(mon, err)) {
        monitor_puts(mon, buf->str);
    }
}

/* ---- Events --------------------------------------------------------------- */

bool ubc_pci_tell_links(UbcPci *s)
{
    g_autofree char *path = object_get_canonical_path(OBJECT(s));
    UbcPortInfo all[UBC_MAX_PORTS];

    if (qemu_mutex_trylock(&s->lock)) {
        return false;
    }
    for (unsigned port = 0; port < s->ports; port++) {
        ubc_port_info(s->ubc, port, &all[port]);
    }
    qemu_mutex_unlock(&s->lock);
    for (unsigned port = 0; port < s->ports; port++) {
        UbcLinkTold *told = &s->told[port], now;
        const UbcPortInfo *info = &all[port];

        now = (UbcLinkTold) {
            .link_up = info->link_up,
            .packets_pass = info->status.state == UB_DLL_NORMAL,
            .rate = info->rate,
            .tx_width = info->tx_width,
            .rx_width = info->rx_width,
        };
        /* What changes while nothing passes is training, not news. */
        if (now.link_up == told->link_up &&
            now.packets_pass == told->packets_pass &&
            (!now.packets_pass ||
             (now.rate == told->rate && now.tx_width == told->tx_width &&
              now.rx_width == told->rx_width))) {
            continue;
        }
        *told = now;
        qapi_event_send_ub_link_changed(path, port, now.link_up,
                                        now.packets_pass, now.rate,
                                        now.tx_width, now.rx_width);
    }
    return true;
}

/* ---- Faults --------------------------------------------------------------- */

static void add_faults(UbcPci *s, void *opaque)
{
    UbLaneFaultsList ***tail = opaque;

    qemu_mutex_lock(&s->lock);
    for (unsigned port = 0; port < s->ports; port++) {
        for (unsigned lane = 0; lane < UB_LANES; lane++) {
            const UbLaneFault *f = ub_inject_get(ubc_inject(s->ubc, port),
                                                 lane);
            UbLaneFaults *l;

            if (f->ber == 0 && !f->lose_amctl && !f->skew &&
                !f->slip && !f->invert && !f->cut) {
                continue;
            }
            l = g_new0(UbLaneFaults, 1);
            l->device = object_get_canonical_path(OBJECT(s));
            l->port = port;
            l->lane = lane;
            l->ber = f->ber;
            l->burst = f->burst;
            l->lose_amctl = f->lose_amctl;
            l->skew = f->skew;
            l->slip = f->slip;
            l->invert = f->invert;
            l->cut = f->cut;
            QAPI_LIST_APPEND(*tail, l);
        }
    }
    qemu_mutex_unlock(&s->lock);
}

UbLaneFaultsList *qmp_query_ub_faults(Error **errp)
{
    UbLaneFaultsList *list = NULL, **tail = &list;

    ubc_pci_foreach(add_faults, &tail);
    return list;
}

/* The port a command names, locked; NULL and an error otherwise. */
static UbInject *find_port(const char *device, bool has_port, uint8_t port,
                           UbcPci **found, Error **errp)
{
    UbInject *inj;

    *found = ubc_pci_find(device, errp);
    if (!*found) {
        return NULL;
    }
    qemu_mutex_lock(&(*found)->lock);
    inj = ubc_inject((*found)->ubc, has_port ? port : 0);
    if (!inj) {
        qemu_mutex_unlock(&(*found)->lock);
        error_setg(errp, "%s has no port %u", device, port);
    }
    return inj;
}

void qmp_ub_inject(const char *device, bool has_port, uint8_t port,
                   uint8_t lane, bool has_ber, double ber, bool has_burst,
                   uint16_t burst, bool has_lose_amctl, uint32_t lose_amctl,
                   bool has_skew, uint16_t skew, bool has_slip, uint8_t slip,
                   bool has_invert, bool invert, bool has_cut, bool cut,
                   bool has_seed, uint64_t seed, Error **errp)
{
    const UbLaneFault fault = {
        .ber = has_ber ? ber : 0,
        .burst = has_burst ? burst : 0,
        .lose_amctl = has_lose_amctl ? lose_amctl : 0,
        .skew = has_skew ? skew : 0,
        .slip = has_slip ? slip : 0,
        .invert = has_invert && invert,
        .cut = has_cut && cut,
    };
    UbcPci *s;
    UbInject *inj = find_port(device, has_port, port, &s, errp);

    if (!inj) {
        return;
    }
    if (has_seed) {
        ub_inject_seed(inj, seed);
    }
    if (!ub_inject_lane(inj, lane, &fault)) {
        error_setg(errp, "lane is 0-7, ber 0-1, skew at most %u, slip 0-7",
                   UB_INJECT_SKEW_MAX);
    }
    qemu_mutex_unlock(&s->lock);
    qemu_bh_schedule(s->run_bh);
}

void qmp_ub_inject_map(const char *device, bool has_port, uint8_t port,
                       uint8List *map, Error **errp)
{
    uint8_t to[UB_LANES];
    unsigned n = 0;
    UbcPci *s;
    UbInject *inj;

    for (uint8List *e = map; e; e = e->next) {
        if (n < UB_LANES) {
            to[n] = e->value;
        }
        n++;
    }
    if (n != UB_LANES) {
        error_setg(errp, "map has %u entries, not %u", n, UB_LANES);
        return;
    }
    inj = find_port(device, has_port, port, &s, errp);
    if (!inj) {
        return;
    }
    if (!ub_inject_map(inj, to)) {
        error_setg(errp, "map is not a permutation of 0 to 7");
    }
    qemu_mutex_unlock(&s->lock);
    qemu_bh_schedule(s->run_bh);
}

static void ubc_pci_register_hmp(void)
{
    monitor_register_hmp("ub", true, hmp_info_ub);
}

type_init(ubc_pci_register_hmp);
