/*
 * Requests over CIP, two nodes in virtual time: what is changed on the way is never
 * executed, keys that go away stop what is under way and nothing else.
 * test-ta-random has its random work over CIP, too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <string.h>

#include "ta-pair.h"

/* All that is sent is sealed; what it says cannot be seen. */
static Pair *sealed_new(bool real, unsigned suite)
{
    Pair *p = (real ? pair_new_real : pair_new)(2, NULL);

    pair_cip_up(p, suite, UB_CIP_ON);
    return p;
}

static Work *secret(uint32_t row, uint8_t opcode, uint64_t off, uint32_t len)
{
    Work *w = work_new(row, opcode, off, len);

    for (uint32_t i = 0; i < len; i++) {
        w->data[i] = 'S';
    }
    return w;
}

static unsigned seen, leaked;

static bool look(Pair *p, Wire *w)
{
    static const uint8_t token[] = { 0, 0, PAIR_TOKEN >> 8, PAIR_TOKEN & 0xff };

    seen++;
    leaked += memmem(core_packet_data(w->pkt), w->pkt->len, "SSSSSSSS", 8) ||
              memmem(core_packet_data(w->pkt), w->pkt->len, token, 4);
    return true;
}

/* Write, Read, Send, atomic: by every carrier that has a place for a CIPH. */
static void test_operations(void)
{
    static const uint32_t rows[] = { ROW_RTP, ROW_ANSWERS, ROW_GROUP, ROW_CTP,
                                     ROW_CTP7, ROW_SPRAY };

    for (unsigned suite = 1; suite < UB_CIP_SUITES; suite++) {
        for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
            for (unsigned real = 0; real < 2; real++) {
                Pair *p = sealed_new(real, suite);
                Work *r = work_new(rows[i] + 1, UB_TA_READ, 64, 20000);

                seen = leaked = 0;
                p->filter = look;
                pair_queue(p, 0, 7, UB_ROI);
                work_all(p, 0, 7, secret(rows[i] + 1, UB_TA_WRITE, 64, 20000),
                         UB_TAS_OK);
                for (unsigned k = 0; k < 20000; k++) {
                    g_assert_cmpint(p->end[1].mem[64 + k], ==, 'S');
                }
                work_post(p, 0, 7, r);
                pair_run(p);
                g_assert_cmpint(r->status, ==, UB_TAS_OK);
                g_assert_cmpmem(r->data, 20000, p->end[1].mem + 64, 20000);
                work_free(r);
                if (rows[i] != ROW_CTP) {
                    pair_recv(p, 1, 1);
                    work_all(p, 0, 7, secret(rows[i] + 1, UB_TA_SEND, 0, 999),
                             UB_TAS_OK);
                    g_assert_cmpuint(p->end[1].recvs->len, ==, 1);
                    g_assert_cmpint(p->end[1].slots[998], ==, 'S');
                }
                work_all(p, 0, 7, secret(rows[i] + 1, UB_TA_FETCH_ADD,
                                         0, 8), UB_TAS_OK);
                if (real || (rows[i] != ROW_RTP && rows[i] != ROW_ANSWERS &&
                             rows[i] != ROW_GROUP)) {
                    g_assert_cmpuint(seen, >, 0);
                }
                g_assert_cmpuint(leaked, ==, 0);
                for (unsigned n = 0; n < 2; n++) {
                    g_assert_cmpuint(pair_cip_count(p, n, UB_CIPC_SEALED), >,
                                     0);
                    g_assert_cmpuint(pair_cip_count(p, n, UB_CIPC_OPENED), ==,
                                     pair_cip_count(p, !n, UB_CIPC_SEALED));
                }
                pair_idle(p);
                pair_free(p);
            }
        }
    }
}

static unsigned bit;

/* Change one bit of each packet from node 0. */
static bool flip(Pair *p, Wire *w)
{
    if (!w->from && bit / 8 < w->pkt->len) {
        core_packet_data(w->pkt)[bit / 8] ^= 1 << bit % 8;
    }
    return true;
}

/* Whichever bit changes, nothing is executed (§11.5.2.4), but what has only its
 * padding changed. */
static void test_tamper(void)
{
    Pair *p = sealed_new(false, UB_CIP_AES_256_GCM);
    enum { LEN = 64 };

    pair_queue(p, 0, 7, UB_ROI);
    p->filter = flip;
    for (bit = 0; bit < 8 * (UB_CIPH_LEN + 7 + 16 + LEN + UB_CIP_ICV_LEN);
         bit++) {
        uint64_t lost = pair_count(p, 1, UB_TAC_DROP_SEC) +
                        pair_count(p, 1, UB_TAC_DROP_UPI) +
                        pair_count(p, 1, UB_TAC_DROP_ENTITY);

        work_all(p, 0, 7, secret(ROW_CTP7 + 1, UB_TA_WRITE, 0, LEN),
                 UB_TAS_TIMEOUT);
        g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_SEC) +
                         pair_count(p, 1, UB_TAC_DROP_UPI) +
                         pair_count(p, 1, UB_TAC_DROP_ENTITY), ==, lost + 1);
        for (unsigned i = 0; i < LEN; i++) {
            g_assert_cmpint(p->end[1].mem[i], ==, 0);
        }
    }
    p->filter = NULL;
    work_all(p, 0, 7, secret(ROW_CTP7 + 1, UB_TA_WRITE, 0, LEN), UB_TAS_OK);
    g_assert_cmpint(p->end[1].mem[LEN - 1], ==, 'S');
    pair_idle(p);
    pair_free(p);
}

/* Post, and take turns until node @who has sealed @n packets. */
static void until_sealed(Pair *p, unsigned who, uint64_t n)
{
    while (pair_cip_count(p, who, UB_CIPC_SEALED) < n) {
        g_assert_true(pair_step(p));
    }
}

static void erase(Pair *p, unsigned node)
{
    g_assert_cmpint(ub_cip_erase_key(pair_cip(p, node), 0, !node, UB_CIP_TX,
                                     0), ==, UB_CIP_OK);
}

/* Keys again, other ones, and all goes on. */
static void goes_on(Pair *p)
{
    pair_cip_key(p, 1, 99);
    pair_cip_use(p, 0, 1);
    pair_cip_use(p, 1, 1);
    work_all(p, 0, 7, secret(ROW_RTP + 1, UB_TA_WRITE, 0, 5000), UB_TAS_OK);
    g_assert_cmpint(p->end[1].mem[4999], ==, 'S');
    pair_idle(p);
}

/* The key of who writes goes in the middle of an operation: it ends, and the channel
 * is free. */
static void test_write_loses_key(void)
{
    Pair *p;
    Work *w;

    for (uint64_t after = 1; after < 16; after++) {
        p = sealed_new(true, UB_CIP_AES_256_GCM);
        w = secret(ROW_RTP + 1, UB_TA_WRITE, 0, 65536);
        pair_queue(p, 0, 7, UB_ROI);
        p->busy = 500000;       /* so that not all goes in one turn */
        p->rng = after;
        work_post(p, 0, 7, w);
        until_sealed(p, 0, after);
        if (!w->done) {
            erase(p, 0);
        }
        pair_run(p);
        g_assert_true(w->done);
        work_free(w);
        goes_on(p);
        pair_free(p);
    }
}

static unsigned accesses;

static void count_access(End *e, const UbAccess *a)
{
    accesses++;
}

static unsigned loads;

/* With what is read for the last packet that is allowed, the key goes. */
static void erase_at(End *e, const UbAccess *a)
{
    if (loads && !--loads) {
        erase(e->p, e->index);
    }
}

/* That of who answers a Read goes, before the answer or in its middle. */
static void test_answer_loses_key(void)
{
    enum { PACKETS = 5 };
    bool begun = false;
    Pair *p;
    Work *w;

    for (unsigned after = 1; after <= PACKETS; after++) {
        p = sealed_new(true, UB_CIP_AES_256_GCM);
        w = work_new(ROW_RTP + 1, UB_TA_READ, 0,
                     PACKETS * ub_ta_config(p->end[1].ta)->mtu);
        pair_queue(p, 0, 7, UB_ROI);
        p->end[1].accessed = erase_at;
        loads = after;
        work_post(p, 0, 7, w);
        pair_run(p);
        g_assert_cmpuint(loads, ==, 0);
        g_assert_true(w->done);
        g_assert_cmpstr(ub_ta_status_name(w->status), ==,
                        ub_ta_status_name(UB_TAS_TIMEOUT));
        /* The end of what had begun went, and was no answer. */
        g_assert_cmpuint(pair_cip_count(p, 1, UB_CIPC_SEALED), <, PACKETS);
        begun |= pair_cip_count(p, 1, UB_CIPC_SEALED);
        g_assert_cmpuint(pair_cip_count(p, 0, UB_CIPC_RX_MISSING), ==,
                         pair_cip_count(p, 1, UB_CIPC_SEALED) > 0);
        work_free(w);
        p->end[1].accessed = NULL;
        goes_on(p);
        pair_free(p);
    }
    g_assert_true(begun);
}

/* Who is cold is told at once, and nothing leaves in the clear. */
static void test_cold(void)
{
    Pair *p = sealed_new(true, UB_CIP_AES_256_GCM);

    pair_queue(p, 0, 7, UB_ROI);
    erase(p, 0);
    seen = leaked = 0;
    p->filter = look;
    work_all(p, 0, 7, secret(ROW_RTP + 1, UB_TA_WRITE, 0, 65536),
             UB_TAS_OPCODE);
    work_all(p, 0, 7, secret(ROW_CTP + 1, UB_TA_WRITE, 0, 64), UB_TAS_OPCODE);
    g_assert_cmpuint(seen, ==, 0);
    g_assert_cmpuint(pair_cip_count(p, 0, UB_CIPC_TX_NO_KEY), >=, 2);
    /* CFG 9 has no place for a CIPH. */
    work_all(p, 0, 7, secret(ROW_BYPASS + 1, UB_TA_WRITE, 0, 64),
             UB_TAS_OPCODE);
    g_assert_cmpuint(pair_cip_count(p, 0, UB_CIPC_TX_NO_POLICY), >=, 1);
    p->filter = NULL;
    goes_on(p);
    pair_free(p);
}

/* Somebody on the way claims to be the UBFM, of whom CIP asks nothing. */
static bool forge(Pair *p, Wire *w)
{
    if (!w->from) {
        put_be16(core_packet_data(w->pkt), UB_UPI_MANAGER);
        w->dest.flow.mgmt = true;
    }
    return true;
}

/* That is for its messages: nothing reaches memory so. */
static void test_forged(void)
{
    static const uint8_t opcodes[] = { UB_TA_WRITE, UB_TA_READ,
                                       UB_TA_FETCH_ADD };
    enum { LEN = 8 };

    for (unsigned i = 0; i < G_N_ELEMENTS(opcodes); i++) {
        for (unsigned on = 0; on < 2; on++) {
            Pair *p = sealed_new(false, UB_CIP_AES_256_GCM);
            Work *w = secret(ROW_CTP + 1, opcodes[i], 0, LEN);
            uint64_t got;

            ub_cip_set_mode(pair_cip(p, 0), 0, 0);
            ub_cip_set_mode(pair_cip(p, 1), 0, on ? UB_CIP_ON : 0);
            pair_queue(p, 0, 7, UB_ROI);
            p->filter = forge;
            accesses = 0;
            p->end[1].accessed = count_access;
            /* Where CIP is off it is done; the answer is not for this asker. */
            work_all(p, 0, 7, w, UB_TAS_TIMEOUT);
            got = pair_cip_count(p, 1, UB_CIPC_RX_MISSING);
            g_assert_cmpint(accesses > 0, ==, !on);
            g_assert_cmpint(got > 0, ==, on);
            if (on) {
                g_assert_cmpuint(pair_count(p, 1, UB_TAC_DROP_SEC), ==, got);
                for (unsigned n = 0; n < LEN; n++) {
                    g_assert_cmpint(p->end[1].mem[n], ==, 0);
                }
            }
            pair_free(p);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ta/cip/operations", test_operations);
    g_test_add_func("/ub/ta/cip/tamper", test_tamper);
    g_test_add_func("/ub/ta/cip/write-loses-key", test_write_loses_key);
    g_test_add_func("/ub/ta/cip/answer-loses-key", test_answer_loses_key);
    g_test_add_func("/ub/ta/cip/cold", test_cold);
    g_test_add_func("/ub/ta/cip/forged", test_forged);
    return g_test_run();
}
