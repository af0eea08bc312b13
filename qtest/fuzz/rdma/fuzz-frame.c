/*
 * Frames from a hostile wire, by libFuzzer.
 *
 * The input is a series of records {length le16, flags, bytes}.  Flag bit 0
 * repairs lengths, checksums and ICRC so that the fuzzer gets past them; bit
 * 1 lets virtual time pass; bits 2-3 choose the QP a repaired frame is for.
 * The engine has an RC, a UC and a UD QP with work posted both ways.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include <glib.h>

#include "rdma/fault.h"
#include "rdma/objects.h"
#include "rdma/roce.h"

#define MEM_SIZE 0x20000

enum { KEY = 0x15a, PD = 7, CQ = 1, IP = 0x0a000001 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t mem[MEM_SIZE];
static int sends, recvs;

static bool op_read(void *o, uint64_t addr, void *buf, size_t len)
{
    if (addr > MEM_SIZE || len > MEM_SIZE - addr) {
        return false;
    }
    memcpy(buf, mem + addr, len);
    return true;
}

static bool op_write(void *o, uint64_t addr, const void *buf, size_t len)
{
    if (addr > MEM_SIZE || len > MEM_SIZE - addr) {
        return false;
    }
    memcpy(mem + addr, buf, len);
    return true;
}

static bool op_tx(void *o, const struct iovec *f, unsigned n)
{
    return true;
}

static const RdmaOps ops = {
    .read = op_read, .write = op_write, .wire_tx = op_tx,
};

static RdmaFetch fetch_send(void *p, RdmaQp *qp, RdmaWqe *w)
{
    static const RdmaOpcode kinds[] = {
        RDMA_OP_READ, RDMA_OP_SEND, RDMA_OP_FETCH_ADD, RDMA_OP_WRITE,
    };

    if (sends <= 0) {
        return RDMA_FETCH_NONE;
    }
    w->id = sends--;
    w->opcode = rdma_qp_attr(qp)->service == RDMA_RC ? kinds[sends & 3] :
                RDMA_OP_SEND;
    w->flags = RDMA_WQE_SIGNALED;
    w->num_sge = 1;
    w->sge[0] = (RdmaSge) { 0x1000, 600, KEY };
    if (rdma_qp_attr(qp)->service == RDMA_UD) {
        w->sge[0].len = 100;
        w->av = rdma_qp_attr(qp)->av;
    }
    return RDMA_FETCH_OK;
}

static RdmaFetch fetch_recv(void *p, RdmaQp *qp, RdmaRecvWqe *w)
{
    if (recvs <= 0) {
        return RDMA_FETCH_NONE;
    }
    w->id = recvs--;
    w->num_sge = 2;
    w->sge[0] = (RdmaSge) { 0x1800, 77, KEY };
    w->sge[1] = (RdmaSge) { 0x1900, 500, KEY };
    return RDMA_FETCH_OK;
}

static bool write_cqe(void *p, RdmaCq *cq, const RdmaCqe *c)
{
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
        phys[i] = (first + i) << 12;
    }
    return true;
}

static const RdmaPersOps pers = {
    .name = "fuzz", .fetch_send = fetch_send, .fetch_recv = fetch_recv,
    .write_cqe = write_cqe, .event = event, .key_index = key_index,
    .mtt_read = mtt_read,
};

static void add_qp(RdmaDev *dev, uint32_t qpn, RdmaService s)
{
    RdmaQpAttr a = {
        .service = s, .pd = PD, .send_cqn = CQ, .recv_cqn = CQ,
        .dest_qpn = 9, .mtu_code = 1, .timeout = 10, .retry_cnt = 3,
        .rnr_retry = 3, .access = RDMA_ACC_RIGHTS,
        .av = { .dip = IP + 1, .dmac = { 2, 0, 0, 0, 0, 2 } },
    };
    RdmaQp *qp = rdma_qp_create(dev, qpn);

    rdma_qp_modify(dev, qp, &a, RDMA_QPA_ALL);
    for (a.state = RDMA_QPS_INIT; a.state <= RDMA_QPS_RTS; a.state++) {
        rdma_qp_modify(dev, qp, &a, RDMA_QPA_STATE);
    }
    rdma_qp_kick(dev, qp);
}

/* Everything below the BTH as it should be; the rest stays. */
static void repair(uint8_t *f, size_t len, unsigned qp)
{
    uint8_t *ip = f + ROCE_ETH_BYTES, *bth = f + ROCE_NET_BYTES;

    put_be16(f + 12, 0x0800);
    memset(ip, 0, ROCE_IP_BYTES + ROCE_UDP_BYTES);
    ip[0] = 0x45;
    put_be16(ip + 2, len - ROCE_ETH_BYTES);
    ip[8] = 64;
    ip[9] = 17;
    put_be32(ip + 12, IP + 1);
    put_be32(ip + 16, IP);
    put_be16(ip + 10, core_csum_done(core_csum_add(0, ip, 20)));
    put_be16(ip + 22, ROCE_UDP_PORT);
    put_be16(ip + 24, len - ROCE_ETH_BYTES - ROCE_IP_BYTES);
    bth[0] = (bth[0] & 0x1f) | (qp == 2 ? RDMA_UC : qp == 3 ? RDMA_UD :
                                RDMA_RC) << 5;
    bth[1] &= 0xf0;
    put_be16(bth + 2, 0xffff);
    put_be32(bth + 4, qp);
    bth[9] = bth[10] = 0;       /* PSNs near those in use */
    put_le32(f + len - 4, roce_icrc(ip, len - ROCE_ETH_BYTES - 4));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    RdmaPort port = { .mac = { 2, 0, 0, 0, 0, 1 }, .ip = IP,
                      .link_up = true };
    RdmaMr mr = { .key = KEY, .pd = PD, .access = RDMA_ACC_RIGHTS,
                  .page_shift = 12, .start = 0x800, .length = 0x2000 };
    RdmaConfig cfg;
    RdmaDev *dev;
    int64_t now = 1;

    rdma_config_init(&cfg);
    cfg.log_qps = cfg.log_cqs = cfg.log_mrs = 4;
    cfg.ops = &ops;
    cfg.pers = &pers;
    cfg.max_wqes = 64;
    sends = 24;
    recvs = 12;
    dev = rdma_new(&cfg);
    rdma_port_set(dev, &port);
    rdma_mr_set(dev, KEY >> 8, &mr);
    rdma_cq_create(dev, CQ);
    add_qp(dev, 1, RDMA_RC);
    add_qp(dev, 2, RDMA_UC);
    add_qp(dev, 3, RDMA_UD);
    while (size >= 3) {
        uint8_t flags = data[2], frame[2048];
        size_t len = MIN(get_le16(data), MIN(size - 3, sizeof(frame)));

        memcpy(frame, data + 3, len);
        data += 3 + len;
        size -= 3 + len;
        if ((flags & 1) && len >= ROCE_NET_BYTES + ROCE_BTH_BYTES + 4) {
            repair(frame, len, flags >> 2 & 3);
        }
        rdma_rx_frame(dev, frame, len, now);
        rdma_poll(dev, now);
        now += flags & 2 ? 5000000 : 1000;
    }
    for (int i = 0; i < 64; i++) {
        now = MAX(now, rdma_poll(dev, now));
        if (now == INT64_MAX) {
            break;
        }
    }
    rdma_free(dev);
    return 0;
}
