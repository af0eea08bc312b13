/*
 * Two Entities that speak through CIP.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <string.h>

#include "cip-bed.h"

size_t unhex(const char *hex, uint8_t *out)
{
    size_t n = 0;

    for (; *hex; hex++) {
        if (*hex != ' ') {
            out[n++] = g_ascii_xdigit_value(hex[0]) << 4 |
                       g_ascii_xdigit_value(hex[1]);
            hex++;
        }
    }
    return n;
}

UbCip *cip_of(UbSec *sec)
{
    return ub_sec_cip(sec);
}

uint64_t count(UbSec *sec, UbCipCounter c)
{
    return ub_cip_counter(cip_of(sec), c);
}

void put_policies(World *w)
{
    UbCipPolicy mine = w->policy;

    mine.peer = w->your_eid;
    w->policy.peer = w->my_eid;
    g_assert_cmpint(ub_cip_set_policy(cip_of(w->you), 0, POLICY, &w->policy),
                    ==, UB_CIP_OK);
    g_assert_cmpint(ub_cip_set_policy(cip_of(w->me), ME, POLICY, &mine), ==,
                    UB_CIP_OK);
}

void put_keys(World *w, unsigned slot)
{
    const struct {
        UbSec *sec;
        unsigned entity;
        UbCipWay way;
        const uint8_t *key;
    } puts[] = {
        { w->me, ME, UB_CIP_RX, w->key[slot] },
        { w->you, 0, UB_CIP_RX, w->back[slot] },
        { w->you, 0, UB_CIP_TX, w->key[slot] },
        { w->me, ME, UB_CIP_TX, w->back[slot] },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(puts); i++) {
        g_assert_cmpint(ub_cip_set_key(cip_of(puts[i].sec), puts[i].entity,
                                       POLICY, puts[i].way, slot, puts[i].key,
                                       w->iv), ==, UB_CIP_OK);
    }
}

void use(World *w, unsigned slot)
{
    g_assert_cmpint(ub_cip_use(cip_of(w->me), ME, POLICY, slot), ==,
                    UB_CIP_OK);
    g_assert_cmpint(ub_cip_use(cip_of(w->you), 0, POLICY, slot), ==,
                    UB_CIP_OK);
}

void world_init(World *w)
{
    memset(w, 0, sizeof(*w));
    w->pool = core_packet_pool_new(128, 0);
    w->you = ub_sec_new(true);
    w->me = ub_sec_new(true);
    for (unsigned i = 0; i < UB_EID_LEN; i++) {
        w->my_eid.b[i] = 0x10 + i;
        w->your_eid.b[i] = 0xa0 + i;
    }
    for (unsigned i = 0; i < UB_CIP_KEY_MAX; i++) {
        w->key[1][i] = i;
        w->key[0][i] = 0xff - i;
        w->back[0][i] = 0x55 ^ i;
        w->back[1][i] = 0xaa ^ i;
    }
    for (unsigned i = 0; i < UB_CIP_IV_LEN; i++) {
        w->iv[i] = 0x40 + i;
    }
    ub_sec_set_entity(w->you, 0, &w->your_eid, UPI);
    ub_sec_set_entity(w->me, ME, &w->my_eid, UPI);
    ub_cip_config_init(&w->cfg);
    w->cfg.window = 64;
    ub_cip_configure(cip_of(w->you), &w->cfg);
    ub_cip_configure(cip_of(w->me), &w->cfg);
    w->policy = (UbCipPolicy) { .suite = UB_CIP_AES_256_GCM, .hide = true,
                                .clear = 1, .peer_policy = POLICY };
}

void world_up_with(World *w, uint32_t window)
{
    world_init(w);
    w->cfg.window = window;
    ub_cip_configure(cip_of(w->you), &w->cfg);
    ub_cip_configure(cip_of(w->me), &w->cfg);
    ub_cip_set_mode(cip_of(w->you), 0, UB_CIP_ON);
    ub_cip_set_mode(cip_of(w->me), ME, UB_CIP_ON);
    put_policies(w);
    put_keys(w, 0);
    put_keys(w, 1);
    use(w, 1);
}

void world_up(World *w)
{
    world_up_with(w, 64);
}

void world_free(World *w)
{
    g_assert_cmpuint(core_packet_pool_used(w->pool), ==, 0);
    core_packet_pool_free(w->pool);
    ub_sec_free(w->you);
    ub_sec_free(w->me);
}

UbSecHead head_of(const World *w, unsigned form)
{
    UbSecHead h = { .form = form, .upi = UPI, .seid = w->your_eid,
                    .deid = w->my_eid };

    return h;
}

CorePacket *body(World *w)
{
    CorePacket *pkt = core_packet_alloc(w->pool, BODY);

    for (unsigned i = 0; i < BODY; i++) {
        core_packet_data(pkt)[i] = 0x80 + i;
    }
    return pkt;
}

CorePacket *message(World *w)
{
    CorePacket *pkt = body(w);

    core_packet_data(pkt)[0] = UB_SEC_OP_MANAGEMENT;
    return pkt;
}

void same_body(CorePacket *pkt)
{
    g_assert_cmpuint(pkt->len, ==, BODY);
    for (unsigned i = 0; i < BODY; i++) {
        g_assert_cmphex(core_packet_data(pkt)[i], ==, 0x80 + i);
    }
}

CorePacket *copy(World *w, CorePacket *pkt)
{
    CorePacket *c = core_packet_alloc(w->pool, pkt->len);

    memcpy(core_packet_data(c), core_packet_data(pkt), pkt->len);
    return c;
}

CorePacket *say(World *w, unsigned form, int nlp)
{
    UbSecHead h = head_of(w, form);
    CorePacket *pkt = body(w);

    g_assert_cmpint(ub_sec_push(w->you, &h, pkt), ==, nlp);
    if (nlp < 0) {
        core_packet_free(pkt);
        return NULL;
    }
    return pkt;
}

CorePacket *say_sealed(World *w)
{
    return say(w, UB_SEC_WIDE, UB_SEC_CIPH);
}

UbSecFault hear(World *w, unsigned nlp, CorePacket *pkt)
{
    UbSecHead h;
    unsigned entity;
    UbSecFault fault = ub_sec_pull(w->me, nlp, true, false, pkt, &h, &entity);

    if (!fault) {
        same_body(pkt);
        g_assert_cmpint(h.cip, ==, nlp == UB_SEC_CIPH);
    }
    core_packet_free(pkt);
    return fault;
}

void dropped(World *w, unsigned nlp, CorePacket *pkt, UbSecFault fault,
                    UbCipCounter why)
{
    uint64_t before[UB_CIP_COUNTERS];

    for (unsigned i = 0; i < UB_CIP_COUNTERS; i++) {
        before[i] = count(w->me, i);
    }
    g_assert_cmpint(hear(w, nlp, pkt), ==, fault);
    for (unsigned i = 0; i < UB_CIP_COUNTERS; i++) {
        g_assert_cmpuint(count(w->me, i), ==, before[i] + (i == why));
    }
}

void heard(World *w, CorePacket *pkt)
{
    uint64_t opened = count(w->me, UB_CIPC_OPENED);

    g_assert_cmpint(hear(w, UB_SEC_CIPH, pkt), ==, UB_SEC_GOOD);
    g_assert_cmpuint(count(w->me, UB_CIPC_OPENED), ==, opened + 1);
}
