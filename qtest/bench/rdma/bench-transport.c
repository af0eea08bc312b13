/*
 * Transport core alone: two engines in one process, the wire of one is the
 * input of the other.  Prints messages/s and GB/s for each operation and size
 * and compares them with memcpy of the same bytes.
 *
 *   bench-transport [milliseconds for each line]
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <glib.h>

#include "rdma/objects.h"

#define MEM_BUS  UINT64_C(0x100000000)
#define MEM_SIZE (64u << 20)

enum { KEY = 0x100, PD = 1, CQ = 1, QPN = 2, DEPTH = 64 };

typedef struct Side {
    RdmaDev *dev;
    RdmaQp *qp;
    uint8_t *mem;
    struct Side *peer;
    /* the one WQE that is posted again and again */
    RdmaOpcode op;
    uint32_t len;
    bool recv_ready;
    uint64_t posted, done, received, frames;
} Side;

static int64_t now_ns(void)
{
    struct timespec t;

    /* Processor time: other work on the machine does not count. */
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static bool op_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
    memcpy(buf, ((Side *)opaque)->mem + (addr - MEM_BUS), len);
    return true;
}

static bool op_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
    memcpy(((Side *)opaque)->mem + (addr - MEM_BUS), buf, len);
    return true;
}

static bool op_tx(void *opaque, const struct iovec *f, unsigned n)
{
    Side *s = opaque;
    int64_t now = now_ns();

    s->frames += n;
    for (unsigned i = 0; i < n; i++) {
        rdma_rx_frame(s->peer->dev, f[i].iov_base, f[i].iov_len, now);
    }
    return true;
}

static const RdmaOps ops = {
    .read = op_read, .write = op_write, .wire_tx = op_tx,
};

static RdmaFetch fetch_send(void *p, RdmaQp *qp, RdmaWqe *w)
{
    Side *s = p;
    uint32_t slot = s->posted * (s->len + 64) % (MEM_SIZE / 2);
    uint64_t local = MEM_BUS + slot, remote = local;

    if (s->posted - s->done >= DEPTH || !s->len) {
        return RDMA_FETCH_NONE;
    }
    if (slot + s->len > MEM_SIZE / 2) {
        local = remote = MEM_BUS;
    }
    w->opcode = s->op;
    w->flags = RDMA_WQE_SIGNALED;
    w->num_sge = 1;
    w->sge[0] = (RdmaSge) { local, s->len, KEY };
    w->raddr = remote + MEM_SIZE / 2;
    w->rkey = KEY;
    w->id = s->posted++;
    return RDMA_FETCH_OK;
}

static RdmaFetch fetch_recv(void *p, RdmaQp *qp, RdmaRecvWqe *w)
{
    Side *s = p;

    w->num_sge = 1;
    w->sge[0] = (RdmaSge) { MEM_BUS + MEM_SIZE / 2, s->peer->len, KEY };
    return RDMA_FETCH_OK;
}

static bool write_cqe(void *p, RdmaCq *cq, const RdmaCqe *c)
{
    Side *s = p;

    if (c->status != RDMA_WC_SUCCESS) {
        fprintf(stderr, "completion with status %u\n", c->status);
        exit(1);
    }
    c->is_send ? s->done++ : s->received++;
    return true;
}

static void event(void *p, RdmaEvent ev, uint32_t number)
{
}

static uint32_t key_index(void *p, uint32_t key)
{
    return key >> 8;
}

static bool mtt_read(void *p, const RdmaMr *mr, uint64_t first, unsigned n,
                     uint64_t *phys)
{
    for (unsigned i = 0; i < n; i++) {
        phys[i] = MEM_BUS + ((first + i) << 12);
    }
    return true;
}

static const RdmaPersOps pers = {
    .name = "bench", .fetch_send = fetch_send, .fetch_recv = fetch_recv,
    .write_cqe = write_cqe, .event = event, .key_index = key_index,
    .mtt_read = mtt_read,
};

static void side_init(Side *s, unsigned n, RdmaAckReq ack_req, bool csum)
{
    RdmaConfig cfg;
    RdmaPort port = { .mac = { 2, 0, 0, 0, 0, n }, .ip = 10u << 24 | n,
                      .link_up = true };
    RdmaMr mr = { .key = KEY, .pd = PD, .access = RDMA_ACC_RIGHTS,
                  .page_shift = 12, .start = MEM_BUS, .length = MEM_SIZE };

    rdma_config_init(&cfg);
    cfg.ops = &ops;
    cfg.pers = &pers;
    cfg.ops_opaque = cfg.pers_opaque = s;
    cfg.ack_req = ack_req;
    cfg.udp_csum = csum;
    s->dev = rdma_new(&cfg);
    s->mem = g_malloc(MEM_SIZE);
    memset(s->mem, n, MEM_SIZE);
    rdma_port_set(s->dev, &port);
    rdma_mr_set(s->dev, KEY >> 8, &mr);
    rdma_cq_create(s->dev, CQ);
}

static void connect(Side *s, unsigned peer, unsigned mtu_code)
{
    RdmaQpAttr a = {
        .service = RDMA_RC, .pd = PD, .send_cqn = CQ, .recv_cqn = CQ,
        .dest_qpn = QPN, .mtu_code = mtu_code, .timeout = 20, .retry_cnt = 7,
        .rnr_retry = 7, .access = RDMA_ACC_RIGHTS,
        .av = { .dip = 10u << 24 | peer, .dmac = { 2, 0, 0, 0, 0, peer } },
    };

    s->qp = rdma_qp_create(s->dev, QPN);
    rdma_qp_modify(s->dev, s->qp, &a, RDMA_QPA_ALL);
    for (a.state = RDMA_QPS_INIT; a.state <= RDMA_QPS_RTS; a.state++) {
        rdma_qp_modify(s->dev, s->qp, &a, RDMA_QPA_STATE);
    }
}

static double memcpy_rate(uint32_t len, int ms)
{
    uint8_t *m = g_malloc(MEM_SIZE);
    int64_t start, end;
    uint64_t n = 0;

    memset(m, 1, MEM_SIZE);
    start = end = now_ns();
    while (end - start < ms * INT64_C(1000000)) {
        for (int i = 0; i < 64; i++, n++) {
            uint32_t slot = n * (len + 64) % (MEM_SIZE / 2);

            slot = slot + len > MEM_SIZE / 2 ? 0 : slot;
            memcpy(m + MEM_SIZE / 2 + slot, m + slot, len);
        }
        end = now_ns();
    }
    g_free(m);
    return (double)n * len / (end - start);
}

static void line(const char *name, RdmaOpcode op, uint32_t len,
                 unsigned mtu_code, RdmaAckReq ack_req, bool csum, int ms)
{
    Side a = { .op = op, .len = len }, b = { 0 };
    double copy = memcpy_rate(len, MAX(ms / 4, 1)), gbs;
    int64_t start, end;
    uint64_t from;

    a.peer = &b;
    b.peer = &a;
    side_init(&b, 2, ack_req, csum);
    b.peer = &a;
    side_init(&a, 1, ack_req, csum);
    connect(&a, 2, mtu_code);
    connect(&b, 1, mtu_code);
    from = 0;
    start = end = now_ns();
    while (end - start < ms * INT64_C(1000000)) {
        rdma_qp_kick(a.dev, a.qp);
        rdma_poll(a.dev, end);
        rdma_poll(b.dev, end);
        end = now_ns();
        if (!from && end - start > ms * INT64_C(100000)) {
            from = a.done;      /* the first tenth warms up */
            a.frames = b.frames = 0;
            start = end;
        }
    }
    gbs = (double)(a.done - from) * len / (end - start);
    printf("%-6s %8u B  mtu %4u  %9.0f msg/s  %7.3f GB/s  memcpy %7.3f GB/s"
           "  ratio %.3f  %.2f frames/msg\n", name, len, 128u << mtu_code,
           (a.done - from) * 1e9 / (end - start), gbs, copy, gbs / copy,
           (double)(a.frames + b.frames) / MAX(a.done - from, 1));
    rdma_free(a.dev);
    rdma_free(b.dev);
    g_free(a.mem);
    g_free(b.mem);
}

int main(int argc, char **argv)
{
    static const uint32_t lens[] = { 2, 64, 1024, 4096, 65536, 1 << 20 };
    int ms = argc > 1 ? atoi(argv[1]) : 100;

    for (int i = 0; i < G_N_ELEMENTS(lens); i++) {
        line("write", RDMA_OP_WRITE, lens[i], 5, RDMA_ACKREQ_ALL, true, ms);
    }
    for (int i = 0; i < G_N_ELEMENTS(lens); i++) {
        line("read", RDMA_OP_READ, lens[i], 5, RDMA_ACKREQ_ALL, true, ms);
    }
    line("send", RDMA_OP_SEND, 64, 5, RDMA_ACKREQ_ALL, true, ms);
    line("send", RDMA_OP_SEND, 65536, 5, RDMA_ACKREQ_ALL, true, ms);
    line("write", RDMA_OP_WRITE, 65536, 3, RDMA_ACKREQ_ALL, true, ms);
    puts("without UDP checksum, ACKs asked for sparsely:");
    line("write", RDMA_OP_WRITE, 65536, 5, RDMA_ACKREQ_PERIODIC, false, ms);
    line("read", RDMA_OP_READ, 65536, 5, RDMA_ACKREQ_PERIODIC, false, ms);
    return 0;
}
