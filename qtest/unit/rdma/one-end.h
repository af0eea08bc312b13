/*
 * A device whose peer is the test: what the peer sends is put together frame by frame,
 * what the device sends is looked at.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RDMA_TEST_ONE_END_H
#define RDMA_TEST_ONE_END_H

#include "double.h"
#include "../../../hw/rdma/transport/internal.h"

enum { US = 1, PEER = 2, QPN = 5, DQPN = 0x123, PSN = 0x10, EPSN = 0x20,
       MTU = 256, MEM = 0x10000 };

typedef struct T {
    Double *d;
    RdmaQp *qp;
    uint32_t key;
    int64_t now;
} T;

static inline T setup(RdmaService s, void (*tweak)(RdmaConfig *cfg))
{
    T t = { .d = double_new(US, tweak), .now = 1000 };

    t.key = double_mr(t.d, 1, MEM, 0x4000, 0x8000, RDMA_ACC_RIGHTS);
    t.qp = double_qp(t.d, QPN, s, PEER, DQPN, PSN, EPSN, 1);
    return t;
}

static inline void teardown(T *t)
{
    g_assert_cmpuint(t->d->wire->len, ==, 0);
    double_free(t->d);
}

/* A frame for @qpn, whose consequences are left for the next poll. */
static inline void put(T *t, uint8_t opcode, uint32_t qpn, uint32_t psn,
                       const void *ext, size_t len)
{
    GBytes *f = frame_make(PEER, US, opcode, true, qpn, psn, ext, len);

    rdma_rx_frame(t->d->dev, g_bytes_get_data(f, NULL), g_bytes_get_size(f),
                  t->now);
    g_bytes_unref(f);
}

static inline void feed(T *t, uint8_t opcode, uint32_t psn, const void *ext,
                        size_t len)
{
    put(t, opcode, QPN, psn, ext, len);
    double_poll(t->d, t->now);
}

static inline void read_request(T *t, uint32_t psn, uint32_t at, uint32_t len)
{
    uint8_t ext[ROCE_RETH_BYTES];

    reth_put(ext, MEM + at, t->key, len);
    feed(t, ROCE_READ_REQ, psn, ext, sizeof(ext));
}

/* The next frame is @opcode with @psn; its syndrome, 0 if it has none. */
static inline uint8_t next(T *t, uint8_t opcode, uint32_t psn)
{
    GBytes *f = double_take(t->d);
    const uint8_t *bth;
    uint8_t syndrome;

    g_assert_nonnull(f);
    bth = frame_bth(f);
    g_assert_cmphex(bth_opcode(bth), ==, opcode);
    g_assert_cmphex(bth_psn(bth), ==, psn);
    syndrome = roce_ops[opcode].aeth ? bth[ROCE_BTH_BYTES] : 0;
    g_bytes_unref(f);
    return syndrome;
}

static inline void forget_wire(T *t)
{
    g_ptr_array_set_size(t->d->wire, 0);
}

#endif
