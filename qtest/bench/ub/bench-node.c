/*
 * Two whole nodes in one process, from requests down to packets with all headers,
 * what one sends is the input of the other; no PHY and no data link layer.  Prints
 * Writes per second and GB/s over RTP and CTP by size, compares them with memcpy
 * of the same bytes, and shows what many channels cost.
 *
 * Data are copied from memory into packets and from packets into memory; a packet
 * that RTP keeps is copied on the way, as a wire would.
 *
 *   bench-ub-node [milliseconds for each line [RTP|CTP bytes [channels [burst]]]]
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <glib.h>

#include "core/prefetch.h"
#include "ub/node.h"
#include "ub/packet.h"
#include "ub/host_segment.h"

enum { MEM_SIZE = 64 << 20, DEPTH = 64, BUDGET = 64, RCID = 1, TOKEN_ID = 1 };

typedef struct Side {
    UbNode *node;
    UbSegments *segments;
    UbTaQueue *queue;
    CorePacketPool *pool;
    struct Side *peer;
    uint8_t *mem;
    CorePacket *first, **last;  /* on the way here */
    UbTaRequest req[DEPTH];
    UbTaRequest *spare[DEPTH];
    unsigned spares;
    uint64_t done;
    CoreStreams streams;
} Side;

static int64_t now;

static int64_t cpu_ns(void)
{
    struct timespec t;

    /* Processor time: other work on the machine does not count. */
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* ---- the wire ---- */

static bool op_room(void *opaque, unsigned port, unsigned vl)
{
    return true;
}

static bool op_send(void *opaque, unsigned port, CorePacket *pkt)
{
    Side *s = opaque;

    if (pkt->refs > 1) {
        CorePacket *copy = core_packet_alloc(s->pool, pkt->len);

        memcpy(core_packet_data(copy), core_packet_data(pkt), pkt->len);
        memcpy(copy->cb, pkt->cb, sizeof(copy->cb));
        core_packet_free(pkt);
        pkt = copy;
    }
    pkt->next = NULL;
    *s->peer->last = pkt;
    s->peer->last = &pkt->next;
    return true;
}

static void op_kick(void *opaque)
{
}

static const UbNetOps net_ops = { .room = op_room, .send = op_send,
                                  .kick = op_kick };

/* ---- memory ---- */

static UbTaData op_gather(void *opaque, const UbTaRequest *req, uint32_t off,
                          void *buf, uint32_t len)
{
    Side *s = opaque;
    uint8_t *from = s->mem + req->addr + off;

    core_stream(&s->streams, from, len, false);
    memcpy(buf, from, len);
    return UB_TA_DATA_OK;
}

static UbTaData op_scatter(void *opaque, const UbTaRequest *req, uint32_t off,
                           const void *buf, uint32_t len)
{
    memcpy(((Side *)opaque)->mem + req->addr + off, buf, len);
    return UB_TA_DATA_OK;
}

static void op_done(void *opaque, UbTaRequest *req, UbTaStatus status)
{
    Side *s = opaque;

    if (status != UB_TAS_OK) {
        fprintf(stderr, "a request failed: %s\n", ub_ta_status_name(status));
        exit(1);
    }
    s->spare[s->spares++] = req;
    s->done++;
}

static UbAccessResult op_access(void *opaque, UbAccess *a, UbSpan *out,
                                unsigned max, unsigned *n)
{
    return ub_segments_access(((Side *)opaque)->segments, a, out, max, n);
}

static UbRecvResult op_receive(void *opaque, const UbRecvAsk *ask,
                               UbRecvBuf *buf)
{
    return UB_RECV_UNSUPPORTED;
}

static bool op_place(void *opaque, uint64_t rqe, uint32_t off, const void *buf,
                     uint32_t len)
{
    return false;
}

static void op_received(void *opaque, const UbRecvDone *done)
{
}

static const UbTaOps ta_ops = {
    .gather = op_gather, .scatter = op_scatter, .done = op_done,
    .access = op_access, .receive = op_receive, .place = op_place,
    .received = op_received,
};

/* ---- two nodes ---- */

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

/* Node i has CNA i + 1; row n of its destinations is a way to the other. */
static void side_init(Side *s, unsigned i, unsigned channels)
{
    const UbTaQueueConfig queue = { .rcid = RCID, .mode = UB_ROI };
    const UbNodeOps ops = { .net = &net_ops, .net_opaque = s, .ta = &ta_ops,
                            .ta_opaque = s };
    const UbEid eid = ub_eid_of_short(i + 1);
    UbTaDest d = { .sl_writeback = UB_TA_SAME_SL, .mtu = 4096 };
    UbSegment seg = { .token_id = TOKEN_ID, .len = MEM_SIZE,
                      .rights = UB_SEGMENT_READ | UB_SEGMENT_WRITE };
    UbNodeConfig cfg;

    memset(s, 0, sizeof(*s));
    s->mem = seg.host = g_malloc(MEM_SIZE);
    memset(s->mem, i, MEM_SIZE);
    s->last = &s->first;
    s->pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
    s->segments = ub_segments_new(1);
    must(ub_segments_add(s->segments, &seg), "no segment");
    for (unsigned n = 0; n < DEPTH; n++) {
        s->spare[s->spares++] = &s->req[n];
    }
    ub_node_config_init(&cfg);
    cfg.tp.max_channels = channels + 1;
    cfg.ta.peers = cfg.ta.contexts = channels + 16;
    s->node = ub_node_new(&cfg, &ops, s);
    must(s->node, "no node");
    ub_net_set_primary(ub_node_net(s->node), i + 1);
    ub_net_port_state(ub_node_net(s->node), now, 0, 0xffff);
    ub_net_route_default(ub_node_net(s->node), 1);
    ub_sec_set_entity(ub_node_sec(s->node), 0, &eid, 1);
    s->queue = ub_ta_queue_new(ub_node_ta(s->node), &queue);
    d.sec = (UbSecHead) { .form = UB_SEC_SHORT, .seid = eid, .upi = 1,
                          .deid = ub_eid_of_short(2 - i) };
    d.tp.mode = UB_TP_CTP;
    ub_flow_init(&d.tp.flow, UB_LPH_CNA16);
    d.tp.flow.dcna = 2 - i;
    must(ub_ta_set_dest(ub_node_ta(s->node), 0, &d), "no row for CTP");
    d.sec.form = UB_SEC_WIDE;
    d.tp.mode = UB_TP_RTP;
    for (uint32_t n = 1; n <= channels; n++) {
        UbTp *tp = ub_node_tp(s->node);
        uint32_t tpn = n;
        UbTpAttr a;

        ub_tp_attr_init(tp, &a);
        ub_flow_init(&a.flow, UB_LPH_CNA24);
        a.flow.dcna = 2 - i;
        a.dst_tpn = n;
        a.tx_psn = a.rx_psn = 0xfffff0;
        must(ub_tp_create(tp, &tpn, &a) == UB_TPR_OK &&
             ub_tp_activate(tp, tpn) == UB_TPR_OK, "no channel");
        d.tp.tpn = n;
        d.tp.flow = a.flow;
        must(ub_ta_set_dest(ub_node_ta(s->node), n, &d), "no row for RTP");
    }
}

static void side_free(Side *s)
{
    ub_node_free(s->node);
    ub_segments_free(s->segments);
    core_packet_pool_free(s->pool);
    g_free(s->mem);
}

static void turn(Side s[2])
{
    now += 1000;
    for (unsigned i = 0; i < 2; i++) {
        CorePacket *pkt = s[i].first, *next;

        s[i].first = NULL;
        s[i].last = &s[i].first;
        for (; pkt; pkt = next) {
            next = pkt->next;
            ub_node_rx(s[i].node, now, 0, pkt);
        }
        ub_node_run(s[i].node, now, BUDGET);
    }
}

typedef struct Rate {
    double ops;                 /* a second */
    double copy;                /* memcpy of as many bytes: bytes a ns */
} Rate;

/* The next piece of memory of @len bytes, by turns through all of it. */
static uint64_t piece(uint64_t *from, uint32_t len)
{
    uint64_t at = *from + len > MEM_SIZE ? 0 : *from;

    *from = at + len;
    return at;
}

static void post(Side s[2], UbTpMode mode, uint32_t len, unsigned channels,
                 unsigned burst, uint64_t *n, uint64_t *from)
{
    while (s[0].spares) {
        UbTaRequest *req = s[0].spare[--s[0].spares];

        *req = (UbTaRequest) {
            .id = *n, .opcode = UB_TA_WRITE, .token_id = TOKEN_ID,
            .dest = mode == UB_TP_RTP ? *n / burst % channels + 1 : 0,
            .addr = piece(from, len), .len = len,
        };
        (*n)++;
        must(ub_ta_post(ub_node_ta(s[0].node), s[0].queue, req),
             "the queue is full");
    }
}

/*
 * Writes of @len bytes, @burst after one another to each row, for @ms; and memcpy
 * between the same memories for as long, in turns of a few ms, so that both meet
 * the same machine.
 */
static Rate run(UbTpMode mode, uint32_t len, unsigned channels,
                unsigned burst, int ms)
{
    const int64_t slice = 4000000;
    Side *s = g_new0(Side, 2);
    uint64_t n = 0, from = 0, at = 0, copied = 0, turns = 0;
    int64_t ops_ns = 0, copy_ns = 0, start, ns;

    for (unsigned i = 0; i < 2; i++) {
        side_init(&s[i], i, channels);
        s[i].peer = &s[!i];
    }
    while (ops_ns < ms * INT64_C(1000000)) {
        for (start = cpu_ns(), ns = 0; ns < slice; ns = cpu_ns() - start) {
            for (unsigned i = 0; i < 16; i++) {
                post(s, mode, len, channels, burst, &n, &from);
                turn(s);
            }
        }
        ops_ns += ns;
        for (start = cpu_ns(), ns = 0; ns < slice; ns = cpu_ns() - start) {
            for (unsigned i = 0; i < 64; i++, copied += len) {
                uint64_t here = piece(&at, len);

                memcpy(s[1].mem + here, s[0].mem + here, len);
            }
        }
        copy_ns += ns;
    }
    for (; s[0].done < n && turns < 100000; turns++) {
        turn(s);
    }
    must(s[0].done == n, "not all Writes were answered");
    /* What came by the way of packets alone. */
    memset(s[1].mem, 0xff, MEM_SIZE);
    from = 0;
    post(s, mode, len, channels, burst, &n, &from);
    for (turns = 0; s[0].done < n && turns < 100000; turns++) {
        turn(s);
    }
    must(s[0].done == n && !memcmp(s[0].mem, s[1].mem, MIN(from, MEM_SIZE)),
         "data did not come");
    for (unsigned i = 0; i < 2; i++) {
        side_free(&s[i]);
    }
    g_free(s);
    return (Rate) { (n - DEPTH) * 1e9 / ops_ns, (double)copied / copy_ns };
}

static void line(const char *name, UbTpMode mode, uint32_t len,
                 unsigned channels, unsigned burst, int ms)
{
    Rate r = run(mode, len, channels, burst, ms);
    double rate = r.ops * len / 1e9;

    printf("%-4s %6u B %6u channels, %2u at a time %10.0f op/s %8.3f GB/s  "
           "%5.3f of memcpy (%.2f GB/s)\n", name, len, channels, burst, r.ops,
           rate, rate / r.copy, r.copy);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const uint32_t sizes[] = { 64, 1024, 4096, 65536 };
    int ms = argc > 1 ? atoi(argv[1]) : 1000;

    if (argc > 3) {                 /* this line alone, as a profiler wants it */
        bool rtp = !strcmp(argv[2], "RTP");

        line(argv[2], rtp ? UB_TP_RTP : UB_TP_CTP, atoi(argv[3]),
             argc > 4 ? atoi(argv[4]) : 1, argc > 5 ? atoi(argv[5]) : 1, ms);
        return 0;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        line("RTP", UB_TP_RTP, sizes[i], 1, 1, ms);
        line("CTP", UB_TP_CTP, sizes[i], 0, 1, ms);
    }
    for (unsigned burst = 1; burst <= 16; burst *= 4) {
        line("RTP", UB_TP_RTP, 64, 10000, burst, ms);
    }
    return 0;
}
