/*
 * Test double of a personality, see double.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "double.h"

enum { LOG_MRS = 6, D_PD = 7, D_CQ = 1 };

static bool mem_ok(uint64_t addr, size_t len)
{
    return addr >= MEM_BUS && addr - MEM_BUS <= MEM_SIZE &&
           len <= MEM_SIZE - (addr - MEM_BUS);
}

static bool op_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
    Double *d = opaque;

    if (mem_ok(addr, len)) {
        memcpy(buf, d->mem + (addr - MEM_BUS), len);
        return true;
    }
    return false;
}

static bool op_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
    Double *d = opaque;

    if (mem_ok(addr, len)) {
        memcpy(d->mem + (addr - MEM_BUS), buf, len);
        return true;
    }
    return false;
}

static bool op_tx(void *opaque, const struct iovec *f, unsigned n)
{
    Double *d = opaque;

    for (unsigned i = 0; i < n; i++) {
        uint8_t *frame = f[i].iov_base;

        /* One buffer, with room for what a stream puts before a frame. */
        if (i) {
            g_assert_true(frame == (uint8_t *)f[i - 1].iov_base +
                          f[i - 1].iov_len + RDMA_TX_HEADROOM);
        }
        memset(frame - RDMA_TX_HEADROOM, 0xa5, RDMA_TX_HEADROOM);
    }
    for (unsigned i = 0; i < n; i++) {
        g_ptr_array_add(d->wire, g_bytes_new(f[i].iov_base, f[i].iov_len));
    }
    if (d->wire_room && d->wire->len >= d->wire_room) {
        rdma_wire_stop(d->dev, true);
    }
    return true;
}

static void op_log(void *opaque, uint32_t number, const char *rule,
                   const char *text)
{
    ((Double *)opaque)->rules++;
}

static void *op_map(void *opaque, uint64_t addr, size_t *len, bool write)
{
    Double *d = opaque;

    d->map_asked = *len;
    if (!d->maps || !mem_ok(addr, *len)) {
        return NULL;
    }
    d->mapped++;
    return d->mem + (addr - MEM_BUS);
}

static void op_unmap(void *opaque, void *p, size_t len, bool write)
{
    ((Double *)opaque)->mapped--;
}

static void op_kick(void *opaque)
{
    ((Double *)opaque)->kicks++;
}

static void op_qp_state(void *opaque, uint32_t qpn, RdmaQpState from,
                        RdmaQpState to, const char *cause)
{
    uint8_t move = from << 4 | to;

    g_array_append_val(((Double *)opaque)->moves, move);
}

static void op_packet(void *opaque, bool tx, uint8_t opcode, uint32_t dqpn,
                      uint32_t psn, uint32_t payload)
{
    Double *d = opaque;

    d->packets[tx]++;
    d->packet[0] = opcode;
    d->packet[1] = dqpn;
    d->packet[2] = psn;
    d->packet[3] = payload;
}

static const RdmaOps ops = {
    .read = op_read, .write = op_write, .map = op_map, .unmap = op_unmap,
    .wire_tx = op_tx, .log = op_log, .kick = op_kick,
    .qp_state = op_qp_state, .packet = op_packet,
};

static DQueue *queue(Double *d, RdmaQp *qp)
{
    return &d->q[rdma_qp_num(qp) & 15];
}

static RdmaFetch p_fetch_send(void *p, RdmaQp *qp, RdmaWqe *w)
{
    Double *d = p;
    DQueue *q = queue(d, qp);
    const RdmaWqe *s;

    if (d->bad_sq) {
        return RDMA_FETCH_BAD;
    }
    if (q->send_head == q->send_tail) {
        return RDMA_FETCH_NONE;
    }
    s = &q->send[q->send_head % D_QUEUE];
    memcpy(w, s, offsetof(RdmaWqe, length));
    memcpy(w->inl, s->inl, sizeof(w->inl));
    w->id = q->send_head++;
    return RDMA_FETCH_OK;
}

static RdmaFetch p_fetch_recv(void *p, RdmaQp *qp, RdmaRecvWqe *w)
{
    Double *d = p;
    DQueue *q = rdma_qp_attr(qp)->has_srq ? &d->srq : queue(d, qp);

    if (d->bad_rq) {
        return RDMA_FETCH_BAD;
    }
    if (q->recv_head == q->recv_tail) {
        return RDMA_FETCH_NONE;
    }
    *w = q->recv[q->recv_head % D_QUEUE];
    w->id = q->recv_head++;
    return RDMA_FETCH_OK;
}

static bool p_write_cqe(void *p, RdmaCq *cq, const RdmaCqe *cqe)
{
    Double *d = p;

    if (d->cq_full) {
        return false;
    }
    g_array_append_val(d->cqes, *cqe);
    return true;
}

static void p_event(void *p, RdmaEvent ev, uint32_t number)
{
    uint32_t e = (uint32_t)ev << 24 | number;

    g_array_append_val(((Double *)p)->events, e);
}

static uint32_t p_key_index(void *p, uint32_t key)
{
    return key >> 8;
}

static bool p_mtt_read(void *p, const RdmaMr *mr, uint64_t first, unsigned n,
                       uint64_t *phys)
{
    Double *d = p;

    for (unsigned i = 0; i < n; i++) {
        phys[i] = MEM_BUS + ((d->mtt[mr->mtt & 63] + ((first + i) ^ 1)) << 12);
    }
    return !d->revoked;
}

static void p_qp_changed(void *p, RdmaQp *qp)
{
    ((Double *)p)->changes++;
}

static const RdmaPersOps pers = {
    .name = "double",
    .fetch_send = p_fetch_send, .fetch_recv = p_fetch_recv,
    .write_cqe = p_write_cqe, .event = p_event,
    .key_index = p_key_index, .mtt_read = p_mtt_read,
    .qp_changed = p_qp_changed,
};

Double *double_new(unsigned n, void (*tweak)(RdmaConfig *cfg))
{
    Double *d = g_new0(Double, 1);
    RdmaPort port = {
        .mac = { 2, 0, 0, 0, 0, n }, .link_up = true, .lid = n,
        .ip = 10u << 24 | n, .num_pkeys = 1, .pkey = { 0xffff },
    };

    rdma_config_init(&d->cfg);
    d->cfg.log_mrs = LOG_MRS;
    d->cfg.ops = &ops;
    d->cfg.ops_opaque = d;
    d->cfg.pers = &pers;
    d->cfg.pers_opaque = d;
    if (tweak) {
        tweak(&d->cfg);
    }
    d->mem = g_malloc0(MEM_SIZE);
    d->maps = n & 1;
    d->cqes = g_array_new(false, false, sizeof(RdmaCqe));
    d->events = g_array_new(false, false, sizeof(uint32_t));
    d->moves = g_array_new(false, false, sizeof(uint8_t));
    d->wire = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    for (int i = 0; i < G_N_ELEMENTS(d->q); i++) {
        d->q[i].send = g_new0(RdmaWqe, D_QUEUE);
        d->q[i].recv = g_new0(RdmaRecvWqe, D_QUEUE);
    }
    d->srq.recv = g_new0(RdmaRecvWqe, D_QUEUE);
    d->dev = rdma_new(&d->cfg);
    rdma_port_set(d->dev, &port);
    rdma_poll(d->dev, 0);
    g_ptr_array_set_size(d->wire, 0);       /* the announcement */
    g_assert_nonnull(rdma_cq_create(d->dev, D_CQ));
    return d;
}

void double_free(Double *d)
{
    rdma_free(d->dev);
    g_assert_cmpint(d->mapped, ==, 0);
    for (int i = 0; i < G_N_ELEMENTS(d->q); i++) {
        g_free(d->q[i].send);
        g_free(d->q[i].recv);
    }
    g_free(d->srq.recv);
    g_ptr_array_free(d->wire, true);
    g_array_free(d->cqes, true);
    g_array_free(d->events, true);
    g_array_free(d->moves, true);
    g_free(d->mem);
    g_free(d);
}

uint32_t double_mr(Double *d, unsigned index, uint64_t va, uint32_t off,
                   uint32_t len, uint32_t access)
{
    RdmaMr mr = {
        .key = index << 8 | 0x5a, .pd = D_PD, .access = access,
        .page_shift = 12, .start = va, .length = len, .mtt = index,
    };

    d->mtt[index] = off >> 12;
    rdma_mr_set(d->dev, index, &mr);
    return mr.key;
}

uint8_t *double_ptr(Double *d, unsigned index, uint64_t va)
{
    const RdmaMr *mr = rdma_mr_get(d->dev, index);
    uint64_t pos = va - mr->start + (mr->start & 0xfff);

    return d->mem + ((d->mtt[index] + ((pos >> 12) ^ 1)) << 12) +
           (pos & 0xfff);
}

RdmaQp *double_qp(Double *d, uint32_t qpn, RdmaService service,
                  unsigned peer_n, uint32_t dqpn, uint32_t sq_psn,
                  uint32_t rq_psn, unsigned mtu_code)
{
    RdmaQp *qp = rdma_qp_create(d->dev, qpn);
    RdmaQpAttr a = {
        .state = RDMA_QPS_INIT, .service = service, .pd = D_PD,
        .send_cqn = D_CQ, .recv_cqn = D_CQ, .dest_qpn = dqpn,
        .mtu_code = mtu_code, .sq_psn = sq_psn, .rq_psn = rq_psn,
        .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .min_rnr_timer = 12,
        .access = RDMA_ACC_REMOTE_READ | RDMA_ACC_REMOTE_WRITE |
                  RDMA_ACC_REMOTE_ATOMIC,
        .qkey = 0x11111111,
        .av = { .dip = 10u << 24 | peer_n,
                .dmac = { 2, 0, 0, 0, 0, peer_n } },
    };

    g_assert_nonnull(qp);
    rdma_qp_modify(d->dev, qp, &a, RDMA_QPA_ALL);
    for (a.state = RDMA_QPS_RTR; a.state <= RDMA_QPS_RTS; a.state++) {
        g_assert_true(rdma_qp_transition_ok(a.state - 1, a.state, service));
        rdma_qp_modify(d->dev, qp, &a, RDMA_QPA_STATE);
    }
    return qp;
}

void double_send(Double *d, RdmaQp *qp, const RdmaWqe *w)
{
    DQueue *q = queue(d, qp);

    g_assert_cmpuint(q->send_tail - q->send_head, <, D_QUEUE);
    q->send[q->send_tail++ % D_QUEUE] = *w;
    rdma_qp_kick(d->dev, qp);
}

void double_recv(Double *d, RdmaQp *qp, uint64_t addr, uint32_t len,
                 uint32_t key)
{
    DQueue *q = rdma_qp_attr(qp)->has_srq ? &d->srq : queue(d, qp);
    RdmaRecvWqe *w = &q->recv[q->recv_tail % D_QUEUE];

    g_assert_cmpuint(q->recv_tail - q->recv_head, <, D_QUEUE);
    w->num_sge = len ? 1 : 0;
    w->sge[0] = (RdmaSge) { addr, len, key };
    q->recv_tail++;
}

RdmaWqe double_wqe(RdmaOpcode op, uint64_t addr, uint32_t len, uint32_t key)
{
    RdmaWqe w;

    memset(&w, 0, sizeof(w));
    w.opcode = op;
    w.flags = RDMA_WQE_SIGNALED;
    w.num_sge = len ? 1 : 0;
    w.sge[0] = (RdmaSge) { addr, len, key };
    return w;
}

int64_t double_poll(Double *d, int64_t now)
{
    int64_t next;

    do {
        next = rdma_poll(d->dev, now);
    } while (next <= now);
    return next;
}

GBytes *double_take(Double *d)
{
    return d->wire->len ? g_ptr_array_steal_index(d->wire, 0) : NULL;
}

static bool move(Double *from, Double *to, int64_t now)
{
    GPtrArray *w = from->wire;

    if (!w->len) {
        return false;
    }
    from->wire = g_ptr_array_new_with_free_func(
        (GDestroyNotify)g_bytes_unref);
    for (guint i = 0; i < w->len; i++) {
        gsize len;
        const uint8_t *f = g_bytes_get_data(g_ptr_array_index(w, i), &len);

        rdma_rx_frame(to->dev, f, len, now);
    }
    g_ptr_array_free(w, true);
    return true;
}

void double_exchange(Double *a, Double *b, int64_t now)
{
    do {
        double_poll(a, now);
        double_poll(b, now);
    } while ((int)move(a, b, now) | (int)move(b, a, now));
}

const uint8_t *frame_bth(GBytes *f)
{
    return (const uint8_t *)g_bytes_get_data(f, NULL) + ROCE_NET_BYTES;
}

GBytes *frame_make(unsigned from, unsigned to, uint8_t opcode, bool ackreq,
                   uint32_t dqpn, uint32_t psn, const void *ext,
                   size_t ext_len)
{
    size_t udp = ROCE_UDP_BYTES + ROCE_BTH_BYTES + ext_len + 4;
    size_t len = ROCE_ETH_BYTES + ROCE_IP_BYTES + udp;
    uint8_t *f = g_malloc0(len), *ip = f + ROCE_ETH_BYTES;
    uint8_t *bth = f + ROCE_NET_BYTES;

    f[0] = f[6] = 2;
    f[5] = to;
    f[11] = from;
    put_be16(f + 12, 0x0800);
    ip[0] = 0x45;
    put_be16(ip + 2, ROCE_IP_BYTES + udp);
    ip[8] = 64;
    ip[9] = 17;
    put_be32(ip + 12, 10u << 24 | from);
    put_be32(ip + 16, 10u << 24 | to);
    put_be16(ip + 10, core_csum_done(core_csum_add(0, ip, ROCE_IP_BYTES)));
    put_be16(ip + 20, 0xd00d);
    put_be16(ip + 22, ROCE_UDP_PORT);
    put_be16(ip + 24, udp);
    bth_put(bth, opcode, false, 0, 0xffff, dqpn, ackreq, psn);
    memcpy(bth + ROCE_BTH_BYTES, ext, ext_len);
    put_le32(f + len - 4, roce_icrc(ip, ROCE_IP_BYTES + udp - 4));
    return g_bytes_new_take(f, len);
}

RdmaCqe double_cqe(Double *d)
{
    RdmaCqe c;

    g_assert_cmpuint(d->cqes->len, >, 0);
    c = g_array_index(d->cqes, RdmaCqe, 0);
    g_array_remove_index(d->cqes, 0);
    return c;
}
