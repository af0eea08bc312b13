/*
 * ubc: its Ethernet port, a NIC of QEMU.
 *
 * The core may run in an IOThread, a network backend needs the big lock: frames that
 * leave are noted, and go from a bottom half in the main loop; those that come take
 * the device's lock.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <arpa/inet.h>
#include "qemu/bswap.h"
#include "qemu/cutils.h"
#include "qemu/main-loop.h"
#include "qapi/error.h"
#include "wire/fault_props.h"
#include "ubc-pci.h"
#include "wire/stream.h"

/* Bytes that may wait for the bottom half before the core holds back. */
#define OUT_MAX (256 * KiB)

/* ---- Out ------------------------------------------------------------------------ */

bool ubc_pci_ethernet_send(void *opaque, const uint8_t *frame, uint32_t len)
{
    UbcPci *s = opaque;
    UbcEtherNic *n = &s->ether;
    uint8_t head[WIRE_STREAM_PREFIX];

    /* Questions and answers come without being asked whether there is room. */
    if (!n->bh || n->out->len > 2 * OUT_MAX) {
        return false;
    }
    stl_be_p(head, len);
    g_byte_array_append(n->out, head, sizeof(head));
    g_byte_array_append(n->out, frame, len);
    qemu_bh_schedule(n->bh);
    return true;
}

bool ubc_pci_ethernet_room(void *opaque)
{
    UbcPci *s = opaque;

    /* Nobody takes what waits: the NIC is gone, the IOThread not yet. */
    if (!s->ether.bh) {
        return false;
    }
    s->ether.full = s->ether.stopped || s->ether.out->len > OUT_MAX;
    return !s->ether.full;
}

/* Under the lock. */
static void tell_room(UbcPci *s)
{
    if (s->ether.full && !s->ether.stopped) {
        s->ether.full = false;
        ubc_ethernet_room(s->ubc, ubc_pci_now(s));
    }
}

static unsigned frames(const GByteArray *batch)
{
    unsigned n = 0;

    for (size_t at = 0; at < batch->len; n++) {
        at += WIRE_STREAM_PREFIX + ldl_be_p(batch->data + at);
    }
    return n;
}

static void send_bh(void *opaque)
{
    UbcPci *s = opaque;
    UbcEtherNic *n = &s->ether;
    g_autoptr(GByteArray) batch = NULL;
    bool sent = true;

    qemu_mutex_lock(&s->lock);
    batch = g_steal_pointer(&n->out);
    n->out = g_byte_array_new();
    qemu_mutex_unlock(&s->lock);
    if (batch->len) {
        sent = wire_end_send(&n->end, batch->data, batch->len);
    }
    ubc_pci_lock(s);
    n->lost += sent ? 0 : frames(batch);
    tell_room(s);
    qemu_mutex_unlock(&s->lock);
}

/* ---- In --------------------------------------------------------------------------- */

static void on_frame(void *opaque, const uint8_t *frame, size_t len)
{
    UbcPci *s = UBC(opaque);

    ubc_pci_lock(s);
    ubc_ethernet_rx(s->ubc, frame, len, ubc_pci_now(s));
    qemu_mutex_unlock(&s->lock);
}

static void on_link(void *opaque, bool up)
{
    UbcPci *s = UBC(opaque);

    ubc_pci_lock(s);
    ubc_ethernet_link(s->ubc, up, ubc_pci_now(s));
    qemu_mutex_unlock(&s->lock);
}

static void on_stop(void *opaque, bool stop)
{
    UbcPci *s = UBC(opaque);

    ubc_pci_lock(s);
    s->ether.stopped = stop;
    tell_room(s);
    qemu_mutex_unlock(&s->lock);
}

static const WireEndOps end_ops = {
    .frame = on_frame, .link = on_link, .stop = on_stop,
};

/* ---- Life --------------------------------------------------------------------------- */

static bool there(const UbcPci *s)
{
    return s->ether.end.conf.peers.ncs[0];
}

bool ubc_pci_ethernet_check(UbcPci *s, Error **errp)
{
    if (!there(s) && s->ether.end.capture_path) {
        error_setg(errp, "capture has the frames of a netdev: there is none");
        return false;
    }
    return !there(s) || wire_end_check(&s->ether.end, errp);
}

void ubc_pci_ethernet_new(UbcPci *s)
{
    if (there(s)) {
        s->ether.out = g_byte_array_new();
        s->ether.bh = qemu_bh_new_guarded(send_bh, s,
                                          &DEVICE(s)->mem_reentrancy_guard);
        wire_end_start(&s->ether.end, DEVICE(s), &end_ops);
        ubc_pci_ethernet_fault(s, false);
        ubc_pci_ethernet_fault(s, true);
        on_link(s, wire_end_link_up(&s->ether.end));
    }
}

void ubc_pci_ethernet_leave(UbcPci *s)
{
    QEMUBH *bh;

    qemu_mutex_lock(&s->lock);
    bh = g_steal_pointer(&s->ether.bh);
    qemu_mutex_unlock(&s->lock);
    if (bh) {
        qemu_bh_delete(bh);
    }
    wire_end_free(&s->ether.end);
}

void ubc_pci_ethernet_free(UbcPci *s)
{
    wire_end_free(&s->ether.end);   /* what _check() opened */
    g_clear_pointer(&s->ether.out, g_byte_array_unref);
}

/* ---- Faults ------------------------------------------------------------------------- */

void ubc_pci_ethernet_fault(UbcPci *s, bool out)
{
    if (s->ubc && ubc_ethernet(s->ubc)) {
        ubc_pci_lock(s);
        ub_uboe_set_fault(ubc_ethernet(s->ubc), out, &s->ether.fault[out]);
        qemu_mutex_unlock(&s->lock);
        qemu_bh_schedule(s->run_bh);
    }
}

static void plan_get(Object *obj, void *opaque, bool out, CoreFaultPlan *plan)
{
    *plan = UBC(obj)->ether.fault[out];
}

static void plan_set(Object *obj, void *opaque, bool out,
                     const CoreFaultPlan *plan)
{
    UBC(obj)->ether.fault[out] = *plan;
    ubc_pci_ethernet_fault(UBC(obj), out);
}

/* ---- Properties --------------------------------------------------------------------- */

/* "VLAN=NPI:VLAN=NPI…" */
static bool parse_vlans(const char *text, UbcEthernet *e, Error **errp)
{
    g_auto(GStrv) words = g_strsplit(text ?: "", ":", 0);

    for (char **word = words; *word; word++) {
        char *npi = strchr(*word, '=');
        uint64_t number[2] = { 0 };

        if (npi) {
            *npi++ = 0;
        }
        if (!npi || e->vlans == UBC_ETHERNET_VLANS ||
            qemu_strtou64(*word, NULL, 0, &number[0]) ||
            qemu_strtou64(npi, NULL, 0, &number[1]) ||
            number[0] > UB_UBOE_VLAN_MAX || number[1] > UB_NPI_MASK ||
            !number[1]) {
            error_setg(errp, "ethernet-vlans are VLAN=NPI with colons between "
                       "them, at most %u", UBC_ETHERNET_VLANS);
            return false;
        }
        e->vlan[e->vlans].vlan = number[0];
        e->vlan[e->vlans++].npi = number[1];
    }
    return true;
}

/* An address of either version; false: it is none. */
static bool parse_ip(const char *text, uint8_t *cfg, uint8_t *ip)
{
    *cfg = strchr(text, ':') ? UB_LPH_IPV6 : UB_LPH_IPV4;
    return inet_pton(*cfg == UB_LPH_IPV6 ? AF_INET6 : AF_INET, text, ip) == 1;
}

/* "PREFIX/BITS[=ROUTER]" */
static bool parse_route(char *text, UbUboeRoute *r)
{
    char *via = strchr(text, '='), *bits;
    uint8_t cfg;
    unsigned n;

    *r = (UbUboeRoute) { .direct = !via };
    if (via) {
        *via++ = 0;
    }
    bits = strchr(text, '/');
    if (!bits) {
        return false;
    }
    *bits++ = 0;
    if (qemu_strtoui(bits, NULL, 10, &n) || !parse_ip(text, &r->cfg, r->ip) ||
        n > 8 * ub_ip_bytes(r->cfg)) {
        return false;
    }
    r->prefix = n;
    return !via || (parse_ip(via, &cfg, r->via) && cfg == r->cfg);
}

static bool parse_routes(const char *text, UbcEthernet *e, Error **errp)
{
    g_auto(GStrv) words = g_strsplit(text ?: "", ";", 0);

    for (char **word = words; *word; word++) {
        if (e->routes == UB_UBOE_ROUTES ||
            !parse_route(*word, &e->route[e->routes++])) {
            error_setg(errp, "ethernet-routes are PREFIX/BITS=ROUTER, or "
                       "PREFIX/BITS on the link, with ; between them, at "
                       "most %u", UB_UBOE_ROUTES);
            return false;
        }
    }
    return true;
}

bool ubc_ethernet_props_apply(UbcEtherNic *n, UbcEthernet *e, Error **errp)
{
    e->on = n->end.conf.peers.ncs[0];
    e->uboe.mtu = n->mtu;
    e->uboe.ecn = n->ecn;
    e->uboe.answer = n->answer;
    e->uboe.retry = n->retry_ms * INT64_C(1000000);
    memcpy(e->uboe.mac, n->end.conf.macaddr.a, UB_ETHER_MAC);
    return parse_vlans(n->vlans, e, errp) && parse_routes(n->routes, e, errp);
}

static const struct {
    const char *name, *text;
} descriptions[] = {
    { "netdev", "network backend of the Ethernet port: packets of IP leave "
                "as UB over Ethernet (UB 2.0 appendix E), and come so" },
    { "mac", "MAC of the Ethernet port" },
    { "capture", "file for the frames of the Ethernet port, both ways (pcap)" },
    { "ethernet-mtu", "longest IP packet of the Ethernet port, 1280 to 9216" },
    { "ethernet-retry", "milliseconds from one ARP or neighbour question to the "
                        "next; there are three" },
    { "ethernet-ecn", "FECN becomes ECN on Ethernet, and back" },
    { "ethernet-answer", "who asks on Ethernet for an address of this node is "
                         "answered" },
    { "ethernet-vlans", "VLAN=NPI with colons between them; none: frames have "
                        "no tag, whatever their NPI" },
    { "ethernet-routes", "prefixes behind a router, PREFIX/BITS=ROUTER with ; "
                         "between them; what none has is on the link" },
};

void ubc_ethernet_props(ObjectClass *klass)
{
    static const WireFaultProps ops = { plan_get, plan_set };

    wire_fault_props(klass, "ethernet-", &ops, NULL);
    for (unsigned i = 0; i < ARRAY_SIZE(descriptions); i++) {
        object_class_property_set_description(klass, descriptions[i].name,
                                              descriptions[i].text);
    }
}
