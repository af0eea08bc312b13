/*
 * A driver for the queues of ub/urma_hw.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "ubq-drv.h"

#define CMD_LOG2 4
#define EQ_LOG2 8
#define SQ_LOG2 6
#define RQ_LOG2 5
#define RQ_STRIDE 1
#define VECTOR 7

uint64_t ubq_alloc(UbqDrv *d, uint64_t bytes, uint64_t align)
{
    uint64_t at = (d->brk + align - 1) / align * align;

    d->brk = at + bytes;
    g_assert_cmpuint(d->brk, <=, d->end);
    return at;
}

void ubq_open(UbqDrv *d)
{
    uint64_t eq = ubq_alloc(d, UBQ_EQE << EQ_LOG2, 64);

    memset(d->memory + eq, 0, UBQ_EQE << EQ_LOG2);
    d->eq_base = eq;
    d->eq_ci = 0;
    d->cmd_base = ubq_alloc(d, UBQ_CMD << CMD_LOG2, UBQ_CMD);
    d->reg_write(d->opaque, UBQ_CMD_WINDOW + UBQ_CMD_BASE_LO, d->cmd_base);
    d->reg_write(d->opaque, UBQ_CMD_WINDOW + UBQ_CMD_BASE_HI,
                 d->cmd_base >> 32);
    d->reg_write(d->opaque, UBQ_CMD_WINDOW + UBQ_CMD_SIZE, CMD_LOG2);
    d->reg_write(d->opaque, UBQ_CMD_WINDOW + UBQ_CMD_CTRL, UBQ_CMD_ENABLE);
    d->reg_write(d->opaque, UBQ_EQ(0) + UBQ_EQ_BASE_LO, eq);
    d->reg_write(d->opaque, UBQ_EQ(0) + UBQ_EQ_BASE_HI, eq >> 32);
    d->reg_write(d->opaque, UBQ_EQ(0) + UBQ_EQ_SIZE, EQ_LOG2);
    d->reg_write(d->opaque, UBQ_EQ(0) + UBQ_EQ_VECTOR, VECTOR);
    d->reg_write(d->opaque, UBQ_EQ(0) + UBQ_EQ_CTRL, UBQ_EQ_ENABLE);
    d->cmd_pi = 0;
}

const uint8_t *ubq_eq_poll(UbqDrv *d)
{
    const uint8_t *e = d->memory + d->eq_base +
                       (d->eq_ci & ((1u << EQ_LOG2) - 1)) * UBQ_EQE;
    uint32_t want = d->eq_ci >> EQ_LOG2 & 1 ? 0 : UBQ_EQE_OWNER;

    if ((*(const volatile uint32_t *)e ^ want) & UBQ_EQE_OWNER) {
        return NULL;
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    d->reg_write(d->opaque, UBQ_EQ(0) + UBQ_EQ_CI, ++d->eq_ci);
    return e;
}

void ubq_cmd_init(uint8_t cmd[UBQ_CMD], uint32_t object, uint32_t mask)
{
    memset(cmd, 0, UBQ_CMD);
    put_le32(cmd + UBQ_CMD_OBJECT, object);
    put_le32(cmd + UBQ_CMD_MASK, mask);
}

unsigned ubq_command(UbqDrv *d, unsigned opcode, uint8_t cmd[UBQ_CMD])
{
    uint8_t *at = d->memory + d->cmd_base +
                  (d->cmd_pi++ & ((1u << CMD_LOG2) - 1)) * UBQ_CMD;
    volatile uint32_t *result = (volatile uint32_t *)(at + UBQ_CMD_RESULT);

    put_le16(cmd + UBQ_CMD_OPCODE, opcode);
    put_le32(cmd + UBQ_CMD_RESULT, 0);
    memcpy(at, cmd, UBQ_CMD);
    d->reg_write(d->opaque, UBQ_CMD_WINDOW + UBQ_CMD_PI, d->cmd_pi);
    while (!*result) {
        d->progress(d->opaque);
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    memcpy(cmd, at, UBQ_CMD);
    g_assert_cmphex(get_le32(cmd + UBQ_CMD_RESULT) & UBQ_DONE, ==, UBQ_DONE);
    return get_le32(cmd + UBQ_CMD_RESULT) & ~UBQ_DONE;
}

static void command_good(UbqDrv *d, unsigned opcode, uint8_t cmd[UBQ_CMD])
{
    g_assert_cmpuint(ubq_command(d, opcode, cmd), ==, UBQ_RESULT_OK);
}

/* ---- Completion queues --------------------------------------------------------------- */

void ubq_cq_open(UbqCq *cq, UbqDrv *d, unsigned log2)
{
    uint8_t cmd[UBQ_CMD];

    *cq = (UbqCq){ .d = d, .log2 = log2,
                   .base = ubq_alloc(d, UBQ_CQE << log2, UBQ_CQE) };
    memset(d->memory + cq->base, 0, UBQ_CQE << log2);
    ubq_cmd_init(cmd, UBQ_NEW, 0);
    put_le64(cmd + UBQ_CQ_BASE, cq->base);
    cmd[UBQ_CQ_LOG2] = log2;
    command_good(d, UBQ_OP_CQ_CREATE, cmd);
    cq->id = get_le32(cmd + UBQ_CMD_OBJECT);
}

void ubq_cq_arm(UbqCq *cq, unsigned arm)
{
    cq->d->bell(cq->d->opaque, 0, UBQ_BELL_CQ,
                cq->id | (uint64_t)cq->ci << 32 | (uint64_t)arm << 48);
}

const uint8_t *ubq_cq_poll(UbqCq *cq)
{
    const uint8_t *e = cq->d->memory + cq->base +
                       (cq->ci & ((1u << cq->log2) - 1)) * UBQ_CQE;
    uint32_t want = cq->ci >> cq->log2 & 1 ? 0 : UBQ_CQE_OWNER;

    if ((*(const volatile uint32_t *)e ^ want) & UBQ_CQE_OWNER) {
        return NULL;
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    cq->ci++;
    ubq_cq_arm(cq, 0);
    return e;
}

unsigned ubq_cqe_status(const uint8_t *e)
{
    uint32_t w0 = get_le32(e);

    return (w0 >> 16 & 0xff) << 8 | (w0 >> 8 & 0xff);
}

const uint8_t *ubq_cq_expect(UbqCq *cq, unsigned status)
{
    const uint8_t *e = ubq_cq_poll(cq);

    g_assert_nonnull(e);
    g_assert_cmphex(ubq_cqe_status(e), ==, status);
    return e;
}

/* ---- Queues ----------------------------------------------------------------------------- */

void ubq_queue_create(UbqQueue *q, UbqCq *send, UbqCq *recv, uint32_t shared,
                      unsigned mode, uint32_t flags)
{
    uint8_t cmd[UBQ_CMD];

    q->sq = ubq_alloc(q->d, UBQ_BLOCK << q->sq_log2, UBQ_BLOCK);
    q->rq = ubq_alloc(q->d, (UBQ_ELEMENT << q->stride) << q->rq_log2,
                      UBQ_BLOCK);
    q->sq_pi = q->rq_pi = 0;
    ubq_cmd_init(cmd, UBQ_NEW, 0);
    put_le64(cmd + UBQ_Q_SQ_BASE, q->sq);
    put_le64(cmd + UBQ_Q_RQ_BASE, q->rq);
    cmd[UBQ_Q_SQ_LOG2] = q->sq_log2;
    cmd[UBQ_Q_RQ_LOG2] = q->rq_log2;
    cmd[UBQ_Q_RQ_STRIDE] = q->stride;
    cmd[UBQ_Q_MODE] = mode;
    put_le32(cmd + UBQ_Q_SEND_CQ, send ? send->id : 0);
    put_le32(cmd + UBQ_Q_RECV_CQ, recv ? recv->id : 0);
    put_le32(cmd + UBQ_Q_RQ_SHARED, shared);
    put_le32(cmd + UBQ_Q_FLAGS, flags);
    put_le32(cmd + UBQ_Q_LOCAL, q->local);
    put_le16(cmd + UBQ_Q_ENTITY, q->entity);
    command_good(q->d, UBQ_OP_QUEUE_CREATE, cmd);
    q->id = get_le32(cmd + UBQ_CMD_OBJECT);
    ubq_queue_state(q, UBQ_STATE_READY, UBQ_RESULT_OK);
}

void ubq_queue_open(UbqQueue *q, UbqDrv *d, UbqCq *send, UbqCq *recv,
                    unsigned mode, uint32_t flags)
{
    *q = (UbqQueue){ .d = d, .sq_log2 = SQ_LOG2,
                     .rq_log2 = recv ? RQ_LOG2 : 0, .stride = RQ_STRIDE };
    ubq_queue_create(q, send, recv, UBQ_NEW, mode, flags);
}

void ubq_queue_state(UbqQueue *q, unsigned state, unsigned want)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, q->id, UBQ_QM_STATE);
    cmd[UBQ_Q_STATE] = state;
    g_assert_cmpuint(ubq_command(q->d, UBQ_OP_QUEUE_MODIFY, cmd), ==, want);
    if (state == UBQ_STATE_RESET && want == UBQ_RESULT_OK) {
        q->sq_pi = q->rq_pi = 0;
    }
}

uint8_t *ubq_sqe(UbqQueue *q, unsigned blocks)
{
    unsigned at = q->sq_pi & ((1u << q->sq_log2) - 1);
    uint8_t *e = q->d->memory + q->sq + at * UBQ_BLOCK;

    g_assert_cmpuint(at + blocks, <=, 1u << q->sq_log2);
    memset(e, 0, blocks * UBQ_BLOCK);
    return e;
}

void ubq_sqe_put(uint8_t *e, uint32_t w0, uint32_t dest, uint64_t local,
                 uint32_t len)
{
    put_le32(e, w0 | UBQ_SQE_CQE | (local ? 1u << 12 : 0));
    put_le32(e + UBQ_SQE_DEST, dest);
    put_le32(e + UBQ_SQE_LENGTH, len);
    put_le64(e + UBQ_SQE_ELEMENT, local);
    put_le32(e + UBQ_SQE_ELEMENT + 8, local ? len : 0);
}

void ubq_post(UbqQueue *q, uint8_t *e, unsigned blocks)
{
    bool odd = q->sq_pi >> q->sq_log2 & 1;

    put_le32(e, (get_le32(e) & ~UBQ_SQE_BLOCKS) | (blocks - 1) << 8 |
                (odd ? 0 : UBQ_SQE_OWNER));
    q->sq_pi += blocks;
    q->d->bell(q->d->opaque, 0, UBQ_BELL_SQ,
               q->id | (uint64_t)q->sq_pi << 32);
}

void ubq_recv(UbqQueue *q, uint64_t addr, uint32_t len)
{
    uint8_t *e = q->d->memory + q->rq + (q->rq_pi & ((1u << q->rq_log2) - 1)) *
                 (UBQ_ELEMENT << q->stride);

    memset(e, 0, UBQ_ELEMENT << q->stride);
    put_le64(e, addr);
    put_le32(e + 8, len);
    q->rq_pi++;
    q->d->bell(q->d->opaque, 0, UBQ_BELL_RQ,
               q->id | (uint64_t)q->rq_pi << 32);
}

/* ---- Ways --------------------------------------------------------------------------------- */

/* LPH.CFG of RTP, CTP, UTP and Bypass here. */
static const uint8_t cfg_of[] = { 7, 6, 3, 9 };

static void way_put(uint8_t *way, unsigned carrier, const UbqPeer *peer)
{
    way[UBQ_WAY_CFG] = peer->cfg ? peer->cfg : cfg_of[carrier];
    way[UBQ_WAY_PORT] = 0xff;
    put_le32(way + UBQ_WAY_DCNA, peer->cna);
    memcpy(way + UBQ_WAY_DIP, peer->ip, sizeof(peer->ip));
}

void ubq_dest(UbqDrv *d, uint32_t row, unsigned carrier, uint32_t tpn,
              const UbqPeer *peer)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, row, 0);
    way_put(cmd + UBQ_DST_WAY, carrier, peer);
    cmd[UBQ_DST_CARRIER] = carrier;
    cmd[UBQ_DST_FORM] = carrier == 3 ? 0 : 1;
    put_le16(cmd + UBQ_DST_MTU, peer->mtu ? peer->mtu : 4096);
    put_le32(cmd + UBQ_DST_CHANNEL, tpn);
    put_le32(cmd + UBQ_DST_UPI, peer->upi);
    put_le16(cmd + UBQ_DST_ENTITY, peer->own);
    memcpy(cmd + UBQ_DST_DEID, peer->eid, sizeof(peer->eid));
    command_good(d, UBQ_OP_DEST_SET, cmd);
}

void ubq_channel(UbqDrv *d, uint32_t tpn, const UbqPeer *peer,
                 uint32_t tx_psn, uint32_t rx_psn)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, tpn, 0);
    way_put(cmd + UBQ_CH_WAY, 0, peer);
    put_le32(cmd + UBQ_CH_PEER, tpn);
    put_le32(cmd + UBQ_CH_TX_PSN, tx_psn);
    put_le32(cmd + UBQ_CH_RX_PSN, rx_psn);
    put_le16(cmd + UBQ_CH_FLAGS, UBQ_CH_FAST | UBQ_CH_RTO_DYNAMIC);
    command_good(d, UBQ_OP_CHANNEL_CREATE, cmd);
    ubq_cmd_init(cmd, tpn, 0);
    command_good(d, UBQ_OP_CHANNEL_ACTIVATE, cmd);
}

unsigned ubq_channel_ask(UbqDrv *d, uint32_t tpn, const UbqPeer *peer)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, tpn, 0);
    way_put(cmd + UBQ_CH_WAY, 0, peer);
    put_le32(cmd + UBQ_CH_TX_PSN, UBQ_NEW);
    put_le32(cmd + UBQ_CH_RX_PSN, UBQ_NEW);
    put_le16(cmd + UBQ_CH_FLAGS, UBQ_CH_FAST | UBQ_CH_RTO_DYNAMIC);
    command_good(d, UBQ_OP_CHANNEL_CREATE, cmd);
    ubq_cmd_init(cmd, tpn, 0);
    return ubq_command(d, UBQ_OP_CHANNEL_CONNECT, cmd);
}

void ubq_channel_connect(UbqDrv *d, uint32_t tpn, const UbqPeer *peer)
{
    g_assert_cmpuint(ubq_channel_ask(d, tpn, peer), ==, UBQ_RESULT_OK);
}

unsigned ubq_ip_add(UbqDrv *d, const UbqPeer *own)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, UBQ_NEW, 0);
    cmd[UBQ_IP_CFG] = own->cfg;
    memcpy(cmd + UBQ_IP_ADDR, own->ip, sizeof(own->ip));
    return ubq_command(d, UBQ_OP_IP_ADD, cmd);
}

void ubq_segment(UbqDrv *d, uint32_t token_id, uint64_t base, uint64_t len,
                 uint32_t access, uint32_t token)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, token_id, 0);
    put_le64(cmd + UBQ_SEG_UBA, 0x10000);
    put_le64(cmd + UBQ_SEG_BASE, base);
    put_le64(cmd + UBQ_SEG_LENGTH, len);
    put_le32(cmd + UBQ_SEG_ACCESS, access);
    put_le32(cmd + UBQ_SEG_TOKEN_VALUE, token);
    put_le32(cmd + UBQ_SEG_TOKEN_OLD, token);
    command_good(d, UBQ_OP_SEGMENT_SET, cmd);
}
