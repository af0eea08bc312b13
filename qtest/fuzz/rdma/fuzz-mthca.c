/*
 * A hostile driver of ncic-mthca, by libFuzzer: commands with their
 * mailboxes, registers, doorbells, queue memory, migration.
 *
 * Before each input the adapter is brought up as a driver does and connected
 * to a second one that behaves, so that the input starts where there is
 * something to break.  It is a series of records, the first byte of which
 * says what kind (see act()).  In the end the adapter is reset and must work
 * as if nothing had been.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "../../unit/rdma/mthca-end.h"
#include "input.h"

enum { PSN = 0xfffffe, RECVS = 16, RECV_BYTES = 0x400, LIDS = 2 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- two adapters ---- */

/* As mend_new(), with small tables: they are walked for each input. */
static MEnd start(uint16_t lid)
{
    MEnd e = { .g = mguest_new(lid, false) };

    e.g->log_mpts = 6;
    mend_up(&e);
    return e;
}

static bool deliver(MGuest *from, MGuest *to)
{
    GPtrArray *wire = from->wire;
    bool any;

    rdma_poll(mthca_rdma(from->m), from->now);
    any = wire->len;
    from->wire = g_ptr_array_new_with_free_func(
        (GDestroyNotify)g_bytes_unref);
    for (guint i = 0; i < wire->len; i++) {
        gsize len;
        const uint8_t *p = g_bytes_get_data(g_ptr_array_index(wire, i), &len);

        rdma_rx_frame(mthca_rdma(to->m), p, len, to->now);
    }
    g_ptr_array_free(wire, true);
    return any;
}

static void pass(MEnd *a, MEnd *b, int64_t ns)
{
    a->g->now = b->g->now += ns;
    for (int i = 0; i < 32; i++) {
        if (!((int)deliver(a->g, b->g) | (int)deliver(b->g, a->g))) {
            break;
        }
    }
}

static void connect(MEnd *a, MEnd *b)
{
    MEnd *e[] = { a, b };

    mend_srq_up(a);

    for (int i = 0; i < LIDS; i++) {
        mend_qp_up(e[i], MTHCA_ST_RC, LIDS - i, PSN, PSN, false);
        for (uint16_t r = 0; r < RECVS; r++) {
            mend_recv(e[i], r, ME_DATA + 0x10000 + r * RECV_BYTES,
                      RECV_BYTES);
        }
    }
}

/* ---- what the input says ---- */

/* A mailbox as a sane driver would have it, then a few bytes of the input. */
static void mailbox(MEnd *e, Input *in, uint16_t op)
{
    unsigned edits = take(in, 1);
    uint8_t *m;

    switch (op) {
    case MTHCA_CMD_RST2INIT_QP:
    case MTHCA_CMD_INIT2INIT_QP:
    case MTHCA_CMD_INIT2RTR_QP:
    case MTHCA_CMD_RTR2RTS_QP:
    case MTHCA_CMD_RTS2RTS_QP:
    case MTHCA_CMD_SQERR2RTS_QP:
    case MTHCA_CMD_RTS2SQD_QP:
    case MTHCA_CMD_SQD2RTS_QP:
    case MTHCA_CMD_SQD2SQD_QP:
        /* What a query gives has the same layout. */
        mcmd_box(e->g, MTHCA_CMD_QUERY_QP, ME_QPN, 0);
        memcpy(min_box(e->g), mout_box(e->g), 0x108);
        put_be32(e->g->mem + G_IN, edits & 0x80 ? UINT32_MAX : 0);
        break;
    case MTHCA_CMD_SW2HW_CQ:
    case MTHCA_CMD_RESIZE_CQ:
        mcmd_box(e->g, MTHCA_CMD_QUERY_CQ, ME_CQN, 0);
        memcpy(min_box(e->g), mout_box(e->g), 0x40);
        break;
    case MTHCA_CMD_SW2HW_EQ:
        m = min_box(e->g);
        put_be32(m, 0x01000900);
        put_be64(m + 4, G_BUS + ME_EQ);
        m[0x0c] = 6;
        break;
    case MTHCA_CMD_SW2HW_SRQ:
        m = min_box(e->g);
        put_be32(m, 4u << 24 | ME_SRQN);
        put_be32(m + 4, e->key);
        put_be32(m + 8, ME_SRQ_DB);
        put_be32(m + 0x0c, 2u << 29 | ME_UAR);
        put_be64(m + 0x10, G_BUS + ME_SRQ);
        break;
    case MTHCA_CMD_SW2HW_MPT:
        m = min_box(e->g);
        put_be32(m, 0xf000ff00);
        put_be32(m + 8, 0x11);
        put_be64(m + 0x10, G_BUS + ME_DATA);
        put_be64(m + 0x18, 0x10000);
        break;
    case MTHCA_CMD_MAP_ICM:
    case MTHCA_CMD_MAP_FA:
    case MTHCA_CMD_MAP_ICM_AUX:
        m = min_box(e->g);
        put_be64(m, M_MTT);
        put_be64(m + 8, G_BUS + 0x80000);
        break;
    case MTHCA_CMD_MAD_IFC:
        m = min_box(e->g);
        put_be32(m, 0x01810101);        /* SMP, directed route, Get */
        break;
    default:
        min_box(e->g);
    }
    while (edits & 7) {
        unsigned at = take(in, 2) % MTHCA_MAILBOX_SIZE;

        e->g->mem[G_IN + at] = take(in, 1);
        edits--;
    }
}

static void any_command(MEnd *e, Input *in)
{
    static const uint16_t ops[] = {
        MTHCA_CMD_RUN_FW, MTHCA_CMD_QUERY_FW, MTHCA_CMD_QUERY_DEV_LIM,
        MTHCA_CMD_QUERY_ADAPTER, MTHCA_CMD_INIT_HCA, MTHCA_CMD_CLOSE_HCA,
        MTHCA_CMD_QUERY_HCA, MTHCA_CMD_INIT_IB, MTHCA_CMD_CLOSE_IB,
        MTHCA_CMD_SET_IB, MTHCA_CMD_MAP_ICM, MTHCA_CMD_UNMAP_ICM,
        MTHCA_CMD_MAP_ICM_AUX, MTHCA_CMD_UNMAP_ICM_AUX,
        MTHCA_CMD_SET_ICM_SIZE, MTHCA_CMD_MAP_FA, MTHCA_CMD_UNMAP_FA,
        MTHCA_CMD_SW2HW_MPT, MTHCA_CMD_QUERY_MPT, MTHCA_CMD_HW2SW_MPT,
        MTHCA_CMD_WRITE_MTT, MTHCA_CMD_SYNC_TPT, MTHCA_CMD_MAP_EQ,
        MTHCA_CMD_SW2HW_EQ, MTHCA_CMD_HW2SW_EQ, MTHCA_CMD_SW2HW_CQ,
        MTHCA_CMD_HW2SW_CQ, MTHCA_CMD_QUERY_CQ, MTHCA_CMD_RESIZE_CQ,
        MTHCA_CMD_SW2HW_SRQ, MTHCA_CMD_HW2SW_SRQ, MTHCA_CMD_QUERY_SRQ,
        MTHCA_CMD_ARM_SRQ, MTHCA_CMD_RST2INIT_QP, MTHCA_CMD_INIT2RTR_QP,
        MTHCA_CMD_RTR2RTS_QP, MTHCA_CMD_RTS2RTS_QP, MTHCA_CMD_SQERR2RTS_QP,
        MTHCA_CMD_2ERR_QP, MTHCA_CMD_RTS2SQD_QP, MTHCA_CMD_SQD2RTS_QP,
        MTHCA_CMD_ERR2RST_QP, MTHCA_CMD_QUERY_QP, MTHCA_CMD_CONF_SPECIAL_QP,
        MTHCA_CMD_MAD_IFC, MTHCA_CMD_READ_MGM, MTHCA_CMD_WRITE_MGM,
        MTHCA_CMD_MGID_HASH, MTHCA_CMD_NOP,
    };
    /* What exists, and what does not. */
    static const uint32_t numbers[] = {
        0, 1, 2, ME_CQN, ME_SRQN, 0x10, 0x11, ME_QPN,
    };
    uint16_t op = ops[take(in, 1) % G_N_ELEMENTS(ops)];
    uint32_t mod = take(in, 1);
    uint8_t op_mod = take(in, 1);

    mod = mod < 0xf0 ? numbers[mod & 7] : mod << 24 | take(in, 3);
    mailbox(e, in, op);
    if (op_mod & 0x80) {
        mcmd(e->g, op, mod, op_mod & 3, (uint64_t)take(in, 4) << 12,
             (uint64_t)take(in, 4) << 12, NULL);
    } else {
        mcmd_box(e->g, op, mod, op_mod & 3);
    }
}

/* A request as it should be, but for operation and length. */
static void request(MEnd *a, MEnd *b, Input *in)
{
    static const uint8_t ops[] = {
        MTHCA_WQE_SEND, MTHCA_WQE_SEND_IMM, MTHCA_WQE_RDMA_WRITE,
        MTHCA_WQE_RDMA_WRITE_IMM, MTHCA_WQE_RDMA_READ, MTHCA_WQE_ATOMIC_CS,
        MTHCA_WQE_ATOMIC_FA, MTHCA_WQE_NOP,
    };
    unsigned kind = take(in, 1) & 7;
    uint32_t len = take(in, 2) & 0x3fff;
    uint8_t *p, size = kind < 2 || kind == 7 ? 2 : kind < 5 ? 3 : 4;

    p = mend_wqe(a, ops[kind], MTHCA_NEXT_CQ_UPDATE, size);
    if (size > 2) {
        p = mend_raddr(a, p, ME_DATA, b->key);
    }
    if (size > 3) {
        put_be64(p, 1);
        put_be64(p + 8, 2);
        p += 16;
        len = 8;
    }
    mend_data(a, p, ME_DATA + 0x4000, len);
    mend_ring(a, 1, a->op, a->size);
}

/* The state travels, possibly damaged. */
static void migrate(MEnd *e, Input *in)
{
    size_t len;
    uint8_t *state = mthca_save(e->g->m, e->g->now, &len);
    unsigned edits = take(in, 1) & 15;

    while (edits--) {
        uint32_t at = take(in, 3);

        state[at % len] = take(in, 1);
    }
    mthca_free(e->g->m);
    e->g->m = mthca_new(&e->g->cfg);
    if (mthca_load(e->g->m, e->g->now, state, len)) {
        mthca_reset(e->g->m);
    }
    /* Whoever holds the other end of the cable. */
    mthca_link_set(e->g->m, true);
    g_free(state);
}

static void act(MEnd *a, MEnd *b, Input *in)
{
    static const uint32_t registers[] = {
        MTHCA_HCR_BASE, MTHCA_EQ_ARM, MTHCA_EQ_SET_CI, MTHCA_CLR_INT,
        MTHCA_CATAS, MTHCA_RESET, MTHCA_MSIX_TABLE, 0,
    };
    uint32_t n, v;

    switch (take(in, 1) % 9) {
    case 0:
        any_command(a, in);
        break;
    case 1:
        n = take(in, 1);
        mthca_bar0_write(a->g->m, registers[n & 7] + (n >> 3) * 4,
                         take(in, 4));
        break;
    case 2:
        request(a, b, in);
        break;
    case 3:
        n = take(in, 1);
        v = take(in, 4);
        mthca_uar_write(a->g->m, ME_UAR * MTHCA_UAR_PAGE + (n & 0x3c),
                        n & 0x80 ? v : (uint64_t)v << 32 | take(in, 4),
                        n & 0x80 ? 4 : 8);
        break;
    case 4:
        n = take(in, 3) % (ME_DATA + 0x20000);
        for (v = take(in, 1) & 31; v; v--) {
            a->g->mem[n++] = take(in, 1);
        }
        break;
    case 5:
        n = take(in, 1);
        pass(a, b, n & 0x80 ? INT64_C(1) << (n & 0x1f) : 1000);
        break;
    case 6:
        n = take(in, 1);
        mend_poll(a);
        mend_arm(a, n & 3);
        break;
    case 7:
        migrate(a, in);
        break;
    case 8:
        /* Work from the other side. */
        request(b, a, in);
        break;
    }
    pass(a, b, 1000);
}

/* Nothing of it is left after a reset: a Write to a new peer. */
static void prove_works(MEnd *a)
{
    MEnd b = start(2);
    uint8_t *p;

    mthca_reset(a->g->m);
    memset(a->g->mem, 0, G_SIZE);
    mend_up(a);
    connect(a, &b);
    for (unsigned i = 0; i < 1000; i++) {
        a->g->mem[ME_DATA + i] = i * 7 + 1;
    }
    p = mend_wqe(a, MTHCA_WQE_RDMA_WRITE, MTHCA_NEXT_CQ_UPDATE, 3);
    mend_data(a, mend_raddr(a, p, ME_DATA, b.key), ME_DATA, 1000);
    mend_ring(a, 1, a->op, a->size);
    b.g->now = a->g->now;
    for (int i = 0; i < 64; i++) {
        pass(a, &b, 1000000);
    }
    g_assert_nonnull(mend_poll(a));
    g_assert_cmpmem(a->g->mem + ME_DATA, 1000, b.g->mem + ME_DATA, 1000);
    mend_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input in = { data, data + size };
    MEnd a = start(1), b = start(2);

    connect(&a, &b);
    while (in.p < in.end) {
        act(&a, &b, &in);
    }
    mend_free(&b);
    prove_works(&a);
    mend_free(&a);
    return 0;
}
