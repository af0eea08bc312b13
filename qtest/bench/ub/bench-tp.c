/*
 * The transport layer alone: two of them in one process, what one sends is the
 * input of the other.  Prints operations/s and GB/s for RTP and CTP by size,
 * compares them with memcpy of the same bytes, and shows what many channels
 * cost.
 *
 * An operation is copied from memory into packets and from packets into memory,
 * as a user would; a packet that RTP keeps is copied on the way, as a wire would.
 *
 *   bench-tp [milliseconds for each line]
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <glib.h>

#include "ub/tp.h"

enum { MEM_SIZE = 64 << 20, MTU = 4096, DEPTH = 64 };

typedef struct Side {
    UbTp *tp;
    CorePacketPool *pool;
    struct Side *peer;
    uint8_t *mem;
    uint64_t acked, got;        /* operations, bytes */
    uint64_t at;
    CorePacket *first, **last;  /* on the way here */
    UbFlow flow;                /* by which all of it comes */
} Side;

static int64_t now;

static int64_t cpu_ns(void)
{
    struct timespec t;

    /* Processor time: other work on the machine does not count. */
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static UbSend lower_send(void *opaque, int64_t t, const UbFlow *flow,
                         CorePacket *pkt)
{
    Side *s = opaque;

    if (pkt->refs > 1) {
        CorePacket *copy = core_packet_alloc(s->pool, pkt->len);

        memcpy(core_packet_data(copy), core_packet_data(pkt), pkt->len);
        core_packet_free(pkt);
        pkt = copy;
    }
    pkt->next = NULL;
    s->peer->flow.nlp = flow->nlp;
    *s->peer->last = pkt;
    s->peer->last = &pkt->next;
    return UB_SENT;
}

static void arrive(Side *s)
{
    CorePacket *pkt = s->first, *next;

    s->first = NULL;
    s->last = &s->first;
    for (; pkt; pkt = next) {
        next = pkt->next;
        ub_tp_rx(s->tp, &s->flow, pkt, now);
    }
}

static UbTpAnswer upper_rx(void *opaque, const UbTpRx *rx, CorePacket *pkt)
{
    static const UbTpAnswer ok;
    Side *s = opaque;

    if (s->at + pkt->len > MEM_SIZE) {
        s->at = 0;
    }
    memcpy(s->mem + s->at, core_packet_data(pkt), pkt->len);
    s->at += pkt->len;
    s->got += pkt->len;
    core_packet_free(pkt);
    return ok;
}

static void upper_acked(void *opaque, uint32_t tpn, uint64_t cookie,
                        UbTpAnswer answer)
{
    ((Side *)opaque)->acked++;
}

static void upper_error(void *opaque, uint32_t tpn, UbTpError error)
{
    fprintf(stderr, "channel %u: error %u\n", tpn, error);
    exit(1);
}

static void upper_room(void *opaque, uint32_t tpn)
{
}

static const UbTpUpper upper = { .rx = upper_rx, .acked = upper_acked,
                                 .error = upper_error, .room = upper_room };
static const UbTpLower lower = { .send = lower_send };

static void sides_init(Side s[2], unsigned channels)
{
    for (unsigned i = 0; i < 2; i++) {
        UbTpConfig cfg;

        memset(&s[i], 0, sizeof(s[i]));
        ub_tp_config_init(&cfg);
        cfg.upper = &upper;
        cfg.lower = &lower;
        cfg.upper_opaque = cfg.lower_opaque = &s[i];
        cfg.max_channels = channels + 1;
        s[i].tp = ub_tp_new(&cfg);
        s[i].pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
        s[i].mem = g_malloc(MEM_SIZE);
        memset(s[i].mem, i, MEM_SIZE);
        s[i].peer = &s[!i];
        s[i].last = &s[i].first;
        ub_flow_init(&s[i].flow, UB_LPH_CNA24);
        s[i].flow.scna = 2 - i;
        s[i].flow.dcna = i + 1;
    }
    for (uint32_t n = 1; n <= channels; n++) {
        for (unsigned i = 0; i < 2; i++) {
            uint32_t tpn = n;
            UbTpAttr a;

            ub_tp_attr_init(s[i].tp, &a);
            a.dst_tpn = n;
            a.tx_psn = a.rx_psn = 0xfffff0;
            a.flow.dcna = 2 - i;
            if (ub_tp_create(s[i].tp, &tpn, &a) != UB_TPR_OK ||
                ub_tp_activate(s[i].tp, tpn) != UB_TPR_OK) {
                exit(1);
            }
        }
    }
}

static void sides_free(Side s[2])
{
    for (unsigned i = 0; i < 2; i++) {
        ub_tp_free(s[i].tp);
        core_packet_pool_free(s[i].pool);
        g_free(s[i].mem);
    }
}

static void turn(Side s[2])
{
    now += 1000;
    for (unsigned i = 0; i < 2; i++) {
        arrive(&s[!i]);
        ub_tp_run(s[!i].tp, now, 10000);
    }
}

static double memcpy_rate(uint32_t len, int ms)
{
    uint8_t *m = g_malloc(MEM_SIZE);
    int64_t start, end;
    uint64_t n = 0;

    memset(m, 1, MEM_SIZE);
    start = end = cpu_ns();
    while (end - start < ms * INT64_C(1000000)) {
        for (int i = 0; i < 64; i++, n++) {
            uint32_t slot = n * (len + 64) % (MEM_SIZE / 2);

            slot = slot + len > MEM_SIZE / 2 ? 0 : slot;
            memcpy(m + MEM_SIZE / 2 + slot, m + slot, len);
        }
        end = cpu_ns();
    }
    g_free(m);
    return (double)n * len / (end - start);
}

/* Operations per second of @len bytes. */
static double run(UbTpMode mode, uint32_t len, unsigned channels, int ms)
{
    uint64_t n = 0, from = 0;
    UbTpDest dest = { .mode = mode };
    int64_t start, end;
    Side s[2];

    sides_init(s, channels);
    ub_flow_init(&dest.flow, UB_LPH_CNA24);
    dest.flow.dcna = 2;
    start = end = cpu_ns();
    while (end - start < ms * INT64_C(1000000)) {
        for (int i = 0; i < DEPTH; i++, n++) {
            dest.tpn = channels ? n % channels + 1 : 0;
            for (uint32_t done = 0; done < len;) {
                uint32_t part = MIN(len - done, MTU);
                CorePacket *pkt = core_packet_alloc(s[0].pool, part);
                UbTpTx tx = { .nlp = UB_TPH_UPI32, .cookie = n };

                from = from + part > MEM_SIZE ? 0 : from;
                memcpy(core_packet_data(pkt), s[0].mem + from, part);
                from += part;
                done += part;
                tx.last = done == len;
                while (ub_tp_send(s[0].tp, &dest, pkt, &tx, now) == UB_BUSY) {
                    turn(s);
                }
            }
        }
        turn(s);
        end = cpu_ns();
    }
    for (int i = 0; i < 10; i++) {
        turn(s);
    }
    if (s[1].got != n * len || (mode == UB_TP_RTP && s[0].acked != n)) {
        fprintf(stderr, "lost something: %" G_GUINT64_FORMAT " of %"
                G_GUINT64_FORMAT " bytes, %" G_GUINT64_FORMAT " of %"
                G_GUINT64_FORMAT " operations\n", s[1].got, n * len,
                s[0].acked, n);
        exit(1);
    }
    sides_free(s);
    return n * 1e9 / (end - start);
}

static void line(const char *name, UbTpMode mode, uint32_t len,
                 unsigned channels, int ms)
{
    double ops = run(mode, len, channels, ms);
    double rate = ops * len / 1e9, copy = memcpy_rate(len, ms);

    printf("%-10s %6u B %6u channels %11.0f op/s %8.3f GB/s  %5.3f of memcpy "
           "(%.2f GB/s)\n", name, len, channels, ops, rate, rate / copy, copy);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const uint32_t sizes[] = { 64, 1024, 4096, 65536 };
    int ms = argc > 1 ? atoi(argv[1]) : 1000;

    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        line("RTP", UB_TP_RTP, sizes[i], 1, ms);
        line("CTP", UB_TP_CTP, MIN(sizes[i], MTU), 0, ms);
    }
    line("RTP", UB_TP_RTP, 64, 10000, ms);
    line("RTP", UB_TP_RTP, 4096, 10000, ms);
    return 0;
}
