/*
 * UB over Ethernet: migration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "internal.h"

#define OTHER "the source of the migration has another "

static void settings_image(const UbUboeConfig *conf, CoreImage *im)
{
    uint64_t mac = 0;

    for (unsigned i = 0; i < UB_ETHER_MAC; i++) {
        mac = mac << 8 | conf->mac[i];
    }
    core_image_same(im, mac, OTHER "MAC");
    core_image_same(im, conf->mtu, OTHER "MTU of Ethernet");
    core_image_same(im, conf->ecn, OTHER "rule for ECN");
    core_image_same(im, conf->vlans, OTHER "rule for VLANs");
    core_image_same(im, conf->npi, OTHER "NPI of frames without a tag");
    core_image_same(im, conf->plain, OTHER "rule for packets that are not UB's");
    core_image_same(im, conf->icrc, OTHER "rule for the ICRC");
    core_image_same(im, conf->answer, OTHER "rule for questions");
}

static void vlans_image(UbUboe *u, CoreImage *im)
{
    uint32_t n = g_hash_table_size(u->vlan_of);
    uint16_t vlan = 0;

    core_image_count(im, &n, UB_UBOE_VLAN_MAX, "too many VLANs");
    for (uint32_t i = 0; i < n && !core_image_error(im); i++) {
        uint32_t npi = 0;

        if (!core_image_loading(im)) {
            do {
                npi = u->npi[++vlan];
            } while (!npi);
        }
        core_image_int(im, &vlan);
        core_image_int(im, &npi);
        if (core_image_loading(im) && !core_image_error(im)) {
            core_image_check(im, npi && !ub_uboe_vlan_set(u, vlan, npi),
                             "a VLAN or its NPI cannot be");
        }
    }
}

static void routes_image(UbUboe *u, CoreImage *im)
{
    uint32_t n = u->routes;

    core_image_count(im, &n, UB_UBOE_ROUTES, "too many prefixes");
    for (uint32_t i = 0; i < n && !core_image_error(im); i++) {
        UbUboeRoute r = { 0 };

        if (!core_image_loading(im)) {
            r = u->route[i];
        }
        core_image_int(im, &r.cfg);
        core_image_int(im, &r.prefix);
        core_image_flag(im, &r.direct);
        core_image_bytes(im, r.ip, sizeof(r.ip));
        core_image_bytes(im, r.via, sizeof(r.via));
        if (core_image_loading(im) && !core_image_error(im)) {
            core_image_check(im, !ub_uboe_route_set(u, r.cfg, r.ip, r.prefix,
                                                    r.direct ? NULL : r.via,
                                                    true),
                             "a prefix or its router cannot be");
        }
    }
}

static void neighbour_image(UbUboe *u, CoreImage *im, const Neighbour *from)
{
    UbUboeNeighbour n = { 0 };
    int64_t due = INT64_MAX;

    if (from) {
        n.vlan = from->key.vlan;
        n.cfg = from->key.cfg;
        n.fixed = from->fixed;
        memcpy(n.ip, from->key.ip, sizeof(n.ip));
        memcpy(n.mac, from->mac, sizeof(n.mac));
        due = from->due;
    }
    core_image_int(im, &n.vlan);
    core_image_int(im, &n.cfg);
    core_image_flag(im, &n.fixed);
    core_image_bytes(im, n.ip, sizeof(n.ip));
    core_image_bytes(im, n.mac, sizeof(n.mac));
    core_image_deadline(im, &due);
    if (from || core_image_error(im)) {
        return;
    }
    if (core_image_check(im, n.vlan <= UB_UBOE_VLAN_MAX && ub_lph_is_ip(n.cfg) &&
                         !ub_ether_ip_is_group(n.cfg, n.ip) &&
                         !ether_is_group(n.mac),
                         "a neighbour on Ethernet cannot be")) {
        /* However far off, it is asked again when it is old. */
        due = MIN(due, u->now + u->conf.age);
        core_image_check(im, neighbour_restore(u, &n, due),
                         "a neighbour is there twice");
    }
}

static void neighbours_image(UbUboe *u, CoreImage *im)
{
    GHashTableIter iter;
    gpointer value;
    uint32_t n = 0;

    g_hash_table_iter_init(&iter, u->neighbours);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        n += ((const Neighbour *)value)->known;
    }
    core_image_count(im, &n, UB_UBOE_NEIGHBOURS, "too many neighbours");
    if (core_image_loading(im)) {
        while (n-- && !core_image_error(im)) {
            neighbour_image(u, im, NULL);
        }
        return;
    }
    g_hash_table_iter_init(&iter, u->neighbours);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        if (((const Neighbour *)value)->known) {
            neighbour_image(u, im, value);
        }
    }
}

static void counters_image(UbUboe *u, CoreImage *im)
{
    uint32_t n = UB_UBOE_COUNTERS_NUM;

    /* Counters may be added at the end. */
    core_image_count(im, &n, 1000, "too many counters");
    for (uint32_t i = 0; i < n; i++) {
        uint64_t spare = 0;

        core_image_int(im, i < UB_UBOE_COUNTERS_NUM ? &u->count[i] : &spare);
    }
}

/* Nothing in the tables, not even what was set. */
static void clear(UbUboe *u)
{
    ub_uboe_reset(u);
    neighbours_forget(u, true);
    for (unsigned i = 1; i <= UB_UBOE_VLAN_MAX; i++) {
        u->npi[i] = 0;
    }
    g_hash_table_remove_all(u->vlan_of);
    u->routes = 0;
}

void ub_uboe_image(UbUboe *u, CoreImage *im)
{
    if (core_image_loading(im)) {
        u->now = core_image_now(im);
        clear(u);
    }
    core_image_begin(im, UB_UBOE_TAG, 1);
    settings_image(&u->conf, im);
    counters_image(u, im);
    vlans_image(u, im);
    routes_image(u, im);
    neighbours_image(u, im);
    core_image_end(im);
    if (!core_image_loading(im)) {
        return;
    }
    if (core_image_error(im)) {
        clear(u);
    }
    u->ops.kick(u->opaque);
}
