/*
 * CIP between the nodes of ta-pair.h: each has a policy for each other, of the other
 * node's number.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ta-pair.h"

UbCip *pair_cip(Pair *p, unsigned node)
{
    return ub_sec_cip(p->end[node].sec);
}

/* The key of a way is made of what it is for: no two are the same. */
static void put_key(Pair *p, unsigned node, unsigned peer, UbCipWay way,
                    unsigned slot, uint64_t serial)
{
    unsigned from = way == UB_CIP_TX ? node : peer;
    uint8_t key[UB_CIP_KEY_MAX] = { from, way == UB_CIP_TX ? peer : node };
    uint8_t iv[UB_CIP_IV_LEN] = { 7 };

    put_le64(key + 8, serial);
    g_assert_cmpint(ub_cip_set_key(pair_cip(p, node), 0, peer, way, slot, key,
                                   iv), ==, UB_CIP_OK);
}

void pair_cip_key(Pair *p, unsigned slot, uint64_t serial)
{
    for (unsigned way = 0; way < UB_CIP_WAYS; way++) {
        for (unsigned n = 0; n < p->n; n++) {
            for (unsigned to = 0; to < p->n; to++) {
                if (to != n) {
                    put_key(p, n, to, way, slot, serial);
                }
            }
        }
    }
}

void pair_cip_use(Pair *p, unsigned node, unsigned slot)
{
    for (unsigned to = 0; to < p->n; to++) {
        if (to != node) {
            g_assert_cmpint(ub_cip_use(pair_cip(p, node), 0, to, slot), ==,
                            UB_CIP_OK);
        }
    }
}

void pair_cip_up(Pair *p, UbCipSuite suite, unsigned mode)
{
    for (unsigned n = 0; n < p->n; n++) {
        ub_cip_set_mode(pair_cip(p, n), 0, mode);
        for (unsigned to = 0; to < p->n; to++) {
            UbCipPolicy policy = {
                .peer = p->end[to].eid, .peer_policy = n, .suite = suite,
                .hide = true, .clear = 1,
            };

            g_assert_cmpint(ub_cip_set_policy(pair_cip(p, n), 0, to, &policy),
                            ==, UB_CIP_OK);
        }
    }
    pair_cip_key(p, 0, 1);
    for (unsigned n = 0; n < p->n; n++) {
        pair_cip_use(p, n, 0);
    }
}

uint64_t pair_cip_count(Pair *p, unsigned node, UbCipCounter c)
{
    return ub_cip_counter(pair_cip(p, node), c);
}
