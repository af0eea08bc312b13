/*
 * ncic-mthca: migration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include <string.h>

#include "mthca-end.h"
#include "rdma/objects.h"
#include "../../lib/format.h"
#include "../../lib/mutate.h"
#include "../../../hw/rdma/mthca/internal.h"

/* ---- migration ---- */

static void stir(MGuest *g)
{
    for (int i = 0; i < 16; i++) {
        g->now += 1 << (i + 14);
        rdma_poll(mthca_rdma(g->m), g->now);
    }
    g_ptr_array_set_size(g->wire, 0);
}

/* Where the transport's part begins, whose counters go on. */
static size_t engine_at(const uint8_t *block, size_t len)
{
    const uint8_t *at = memmem(block, len, "Rdma", 4);

    g_assert_nonnull(at);
    return at - block;
}

/* What is loaded and saved again is the same, byte for byte. */
static void test_image_same(void)
{
    MEnd e = mend_busy();
    MGuest *h;
    size_t len, len2;
    uint8_t *block = mthca_save(e.g->m, e.g->now, &len), *again;

    h = mguest_new(1, false);
    memcpy(h->mem, e.g->mem, G_SIZE);
    g_assert_cmpstr(mthca_load(h->m, 7, block, len), ==, NULL);
    again = mthca_save(h->m, 7, &len2);
    g_assert_cmpmem(block, engine_at(block, len), again,
                    engine_at(again, len2));
    /* Counted anew: the objects that QPs use. */
    g_assert_cmphex(mcmd_box(h, MTHCA_CMD_HW2SW_CQ, ME_CQN, 0), ==,
                    MTHCA_ST_BUSY);
    g_assert_cmphex(mcmd_box(h, MTHCA_CMD_HW2SW_SRQ, ME_SRQN, 0), ==,
                    MTHCA_ST_BUSY);
    for (unsigned i = 0; i < 3; i++) {
        mok(h, MTHCA_CMD_ERR2RST_QP, ME_QPN + i, 3);
    }
    mok(h, MTHCA_CMD_HW2SW_CQ, ME_CQN, 0);
    mok(h, MTHCA_CMD_HW2SW_SRQ, ME_SRQN, 0);
    g_free(block);
    g_free(again);
    mguest_free(h);
    mend_free(&e);
}

/* An adapter answers every question as the one did that it was loaded from. */
static void same_answers(MGuest *g, MGuest *h)
{
    static const struct { uint16_t op; uint32_t mod; } query[] = {
        { MTHCA_CMD_QUERY_HCA, 0 }, { MTHCA_CMD_QUERY_EQ, 1 },
        { MTHCA_CMD_QUERY_CQ, ME_CQN }, { MTHCA_CMD_QUERY_SRQ, ME_SRQN },
        { MTHCA_CMD_QUERY_QP, ME_QPN }, { MTHCA_CMD_QUERY_QP, ME_QPN + 1 },
        { MTHCA_CMD_QUERY_QP, ME_QPN + 2 }, { MTHCA_CMD_QUERY_MPT, 0x10 },
        { MTHCA_CMD_READ_MGM, 5 }, { MTHCA_CMD_READ_MGM, 6 },
    };
    static const struct {
        uint8_t class;
        uint16_t attr;
        uint32_t mod;
    } get[] = {
        { 1, 0x10, 0 }, { 1, 0x11, 0 }, { 1, 0x14, 0 }, { 1, 0x14, 1 },
        { 1, 0x15, 1 }, { 1, 0x16, 0 }, { 1, 0x16, 1 }, { 1, 0x17, 0 },
        { 1, 0x18, 1 << 16 }, { 1, 0x18, 4 << 16 },
    };

    for (unsigned i = 0; i < MTHCA_HCR_SIZE; i += 4) {
        g_assert_cmphex(mthca_bar0_read(g->m, MTHCA_HCR_BASE + i), ==,
                        mthca_bar0_read(h->m, MTHCA_HCR_BASE + i));
    }
    for (unsigned i = 0; i < MTHCA_CATAS_DWORDS * 4; i += 4) {
        g_assert_cmphex(mthca_bar0_read(g->m, MTHCA_CATAS + i), ==,
                        mthca_bar0_read(h->m, MTHCA_CATAS + i));
    }
#define SAME(name) \
    g_assert_cmpuint(mthca_counters(g->m)->name, ==, \
                     mthca_counters(h->m)->name);
    MTHCA_COUNTERS(SAME)
#undef SAME
    for (unsigned i = 0; i < G_N_ELEMENTS(query); i++) {
        mok(g, query[i].op, query[i].mod, 0);
        mok(h, query[i].op, query[i].mod, 0);
        g_assert_cmpmem(mout_box(g), 0x200, mout_box(h), 0x200);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(get); i++) {
        mend_mad(g, get[i].class, 1, get[i].attr, get[i].mod);
        mok(g, MTHCA_CMD_MAD_IFC, 1, 3);
        mend_mad(h, get[i].class, 1, get[i].attr, get[i].mod);
        mok(h, MTHCA_CMD_MAD_IFC, 1, 3);
        g_assert_cmpmem(mout_box(g), 0x100, mout_box(h), 0x100);
    }
}

static void test_image_format(void)
{
    MEnd e = mend_busy();
    size_t len;
    g_autofree uint8_t *block = mthca_save(e.g->m, e.g->now, &len);

    format_is(block, len, 6900, "be68e088789b826579073bb6d4352add"
              "58ef6c0ca47800cd7e38067f4fdfd432");
    mend_free(&e);
}

static void test_image_answers(void)
{
    MEnd e = mend_busy();
    MGuest *h = mguest_new(1, false);
    uint8_t *block, *in;
    size_t len, before;

    mthca_catas_set(e.g->m, 0x1234567);
    for (unsigned attr = 0x14; attr <= 0x18; attr++) {
        in = mend_mad(e.g, 1, 2, attr,
                      attr == 0x18 ? 4 << 16 : attr == 0x15) + 64;
        if (attr == 0x15) {
            memcpy(in, mend_port_info(e.g), 64);
            memmove(in - 64, mend_mad(e.g, 1, 2, attr, 1), 64);
            in[32] = 0;
            in[53] = 0x5a;
        } else {
            for (unsigned i = 0; i < 64; i++) {
                in[i] = attr + i;
            }
        }
        mok(e.g, MTHCA_CMD_MAD_IFC, 1, 3);
    }
    in = min_box(e.g);
    memset(in + 0x10, 0xfe, 16);
    put_be32(in + 0x20, 1u << 31 | (ME_QPN + 1));
    g_free(mthca_save(e.g->m, e.g->now, &before));
    mok(e.g, MTHCA_CMD_WRITE_MGM, 6, 0);
    block = mthca_save(e.g->m, e.g->now, &len);
    /* The entry with its number, and the group with its QP in the transport. */
    g_assert_cmpuint(len - before, ==, 4 + 256 + 24);
    memcpy(h->mem, e.g->mem, G_SIZE);
    g_assert_cmpstr(mthca_load(h->m, 7, block, len), ==, NULL);
    same_answers(e.g, h);
    /* The event that waits in the queue interrupts once that is armed. */
    mthca_bar0_write(h->m, MTHCA_EQ_ARM + 4, 1u << 1);
    g_assert_cmpuint(h->msix[0], ==, 1);
    g_free(block);
    mguest_free(h);
    mend_free(&e);
}

static void test_image_settings(void)
{
    MEnd e = mend_busy();
    size_t len;
    uint8_t *block = mthca_save(e.g->m, 0, &len);

    for (int i = 0; i < 7; i++) {
        static const char *const name[] = {
            "mac", "guid", "gid-prefix", "lid", "sm", "roce-gid", "uar-check",
        };
        MGuest *h = mguest_new(1, false);
        MthcaConfig *c = &h->cfg;
        g_autofree char *expected = NULL;

        c->mac[3] ^= i == 0;
        c->guid ^= i == 1;
        c->gid_prefix ^= i == 2;
        c->lid ^= i == 3 ? 4 : 0;
        c->sm ^= i == 4;
        c->roce_gid ^= i == 5;
        c->uar_check ^= i == 6;
        mthca_free(h->m);
        h->m = mthca_new(c);
        expected = g_strdup_printf("property %s differs", name[i]);
        g_assert_cmpstr(mthca_load(h->m, 0, block, len), ==, expected);
        g_assert_cmphex(mcmd_box(h, MTHCA_CMD_QUERY_DEV_LIM, 0, 0), ==,
                        MTHCA_ST_BAD_SYS_STATE);
        mguest_free(h);
    }
    g_free(block);
    mend_free(&e);
}

/* A block may come from anywhere: the adapter takes or refuses it, and goes
 * on (the sanitizers look on). */
static void test_image_damaged(void)
{
    MEnd e = mend_busy();
    MGuest *h = mguest_new(1, false);
    GRand *r = g_rand_new_with_seed(0x1a3e);
    unsigned num = mutations(3000), taken = 0;
    size_t len;
    uint8_t *block = mthca_save(e.g->m, e.g->now, &len);

    for (size_t cut = 0; cut < len; cut += 97) {
        g_assert_nonnull(mthca_load(h->m, 0, block, cut));
        g_assert_cmphex(mcmd_box(h, MTHCA_CMD_QUERY_DEV_LIM, 0, 0), ==,
                        MTHCA_ST_BAD_SYS_STATE);
    }
    for (unsigned i = 0; i < num; i++) {
        uint8_t *bad = mutate(r, block, len);

        h->now = 1;
        memcpy(h->mem, e.g->mem, ME_DATA + 0x2000);
        if (!mthca_load(h->m, 1, bad, len)) {
            uint32_t qpn = ME_QPN + i % 3;

            taken++;
            mthca_link_set(h->m, true);
            stir(h);
            mthca_uar_write(h->m, ME_UAR * 0x1000 + MTHCA_UAR_SEND,
                            mtb_doorbell(qpn, 1, 4, MTHCA_WQE_SEND, 2), 8);
            stir(h);
            mcmd_box(h, MTHCA_CMD_QUERY_SRQ, ME_SRQN, 0);
            min_box(h);
            mcmd_box(h, MTHCA_CMD_2ERR_QP, qpn, 0);
            stir(h);
            mcmd_box(h, MTHCA_CMD_ERR2RST_QP, qpn, 3);
            mcmd_box(h, MTHCA_CMD_CLOSE_HCA, 0, 0);
        }
        g_free(bad);
    }
    /* Most damage is to what the guest may have written itself. */
    g_assert_cmpuint(taken, >, num / 100);
    g_assert_null(mthca_load(h->m, 1, block, len));
    g_free(block);
    g_rand_free(r);
    mguest_free(h);
    mend_free(&e);
}

/* Load what @e is into a fresh adapter; what is wrong with it. */
static const char *carry(MEnd *e, MGuest *h)
{
    size_t len;
    g_autofree uint8_t *block = mthca_save(e->g->m, e->g->now, &len);

    return mthca_load(h->m, 1, block, len);
}

/* Every field of every object: filled with what it would not have of itself, it
 * arrives so. */
static void test_image_fields(void)
{
    MEnd e = mend_busy();
    MGuest *h = mguest_new(1, false);
    Mthca *m = e.g->m, *n = h->m;
    RdmaDev *dev = mthca_rdma(m), *to = mthca_rdma(n);
    MthcaCq *c = rdma_cq_priv(rdma_cq_get(dev, ME_CQN)), *d;
    MthcaSrq *s = rdma_srq_priv(rdma_srq_get(dev, ME_SRQN)), *t;
    MthcaQp *q, *r;

    c->comp_eqn = 7;
    c->arm_db = 0x55;
    c->pi = 0x12345678;
    c->ci = 0x12345600;
    c->solicit_pi = 0x12345670;
    c->armed = 3;
    c->overrun = true;
    s->next = 0x12340;
    s->tail = 0x4321;
    s->head = 0x4345;
    s->limit = 0x77;
    s->error = true;
    m->eq[63] = (MthcaEq) {
        .valid = true, .translate = true, .overflow = true, .state = EQ_FIRED,
        .log_size = 17, .intr = 0x9a, .start = UINT64_C(0x1122334455667788),
        .pd = 0x123456, .lkey = 0x87654321, .pi = 0x11112222,
        .ci = 0x11111111,
    };
    for (unsigned i = 0; i < 2; i++) {
        m->special_qpn[i] = 0x40 + i;
        m->special_set[i] = true;
    }
    m->uar_latch = 0x11223344;
    m->uar_latch_addr = 0x2010;
    m->uar_latched = true;
    m->intx = true;
    m->sinai = true;
    for (unsigned i = 0; i < sizeof(m->port.info); i++) {
        m->port.info[i] ^= i == 32 ? 0 : i;
    }
    memset(m->port.sl2vl, 0x31, sizeof(m->port.sl2vl));
    memset(m->port.vlarb, 0x32, sizeof(m->port.vlarb));
    memset(m->port.node_desc, 0x33, sizeof(m->port.node_desc));
    m->port.pkey[63] = 0x8077;
    m->port.guid[31][7] = 0x99;
    g_assert_cmpstr(carry(&e, h), ==, NULL);
    g_assert_true(h->intx);
    d = rdma_cq_priv(rdma_cq_get(to, ME_CQN));
    t = rdma_srq_priv(rdma_srq_get(to, ME_SRQN));
#define SAME(a, b, field) g_assert_cmphex((a)->field, ==, (b)->field)
#define ALL(a, b, field) \
    g_assert_cmpmem((a)->field, sizeof((a)->field), (b)->field, \
                    sizeof((b)->field))
    ALL(c, d, ctx);
    SAME(c, d, start);
    SAME(c, d, lkey);
    SAME(c, d, pd);
    SAME(c, d, uar);
    SAME(c, d, comp_eqn);
    SAME(c, d, ci_db);
    SAME(c, d, arm_db);
    SAME(c, d, pi);
    SAME(c, d, ci);
    SAME(c, d, solicit_pi);
    SAME(c, d, refs);
    SAME(c, d, log_size);
    SAME(c, d, armed);
    SAME(c, d, overrun);
    ALL(s, t, ctx);
    SAME(s, t, wqe_base);
    SAME(s, t, lkey);
    SAME(s, t, pd);
    SAME(s, t, uar);
    SAME(s, t, db);
    SAME(s, t, next);
    SAME(s, t, refs);
    SAME(s, t, tail);
    SAME(s, t, head);
    SAME(s, t, limit);
    SAME(s, t, log_size);
    SAME(s, t, log_stride);
    SAME(s, t, error);
    for (unsigned i = 0; i < 3; i++) {
        q = rdma_qp_priv(rdma_qp_get(dev, ME_QPN + i));
        r = rdma_qp_priv(rdma_qp_get(to, ME_QPN + i));
        ALL(q, r, ctx);
        SAME(q, r, db_first);
        SAME(q, r, db_num);
        SAME(q, r, sq_next);
        SAME(q, r, special);
        SAME(q, r, rq_tail);
        SAME(q, r, rq_head);
        for (unsigned k = 0; k < q->db_num; k++) {
            unsigned at = (q->db_first + k) % MTHCA_QP_DOORBELLS;

            SAME(q, r, db[at].head);
            SAME(q, r, db[at].count);
            SAME(q, r, db[at].op);
            SAME(q, r, db[at].size);
            SAME(q, r, db[at].fence);
        }
    }
    for (unsigned i = 0; i < 64; i++) {
        SAME(m, n, eq[i].valid);
        SAME(m, n, eq[i].translate);
        SAME(m, n, eq[i].overflow);
        SAME(m, n, eq[i].state);
        SAME(m, n, eq[i].log_size);
        SAME(m, n, eq[i].intr);
        SAME(m, n, eq[i].start);
        SAME(m, n, eq[i].pd);
        SAME(m, n, eq[i].lkey);
        SAME(m, n, eq[i].pi);
        SAME(m, n, eq[i].ci);
    }
    ALL(m, n, event_eq);
    ALL(m, n, special_qpn);
    ALL(m, n, special_set);
    SAME(m, n, uar_latch);
    SAME(m, n, uar_latch_addr);
    SAME(m, n, uar_latched);
    SAME(m, n, sinai);
    SAME(m, n, state);
    ALL(m, n, hcr);
    ALL(m, n, catas);
    ALL(m, n, port.info);
    ALL(m, n, port.guid);
    ALL(m, n, port.pkey);
    ALL(m, n, port.sl2vl);
    ALL(m, n, port.vlarb);
    ALL(m, n, port.node_desc);
    SAME(m, n, port.up);
    SAME(m, n, port.link);
#undef ALL
#undef SAME
    mguest_free(h);
    mend_free(&e);
}

/* What no adapter can have, and the last that it can. */
static void test_image_limits(void)
{
    enum { MGM_MIN, MGM_MAX, UARC, UARS, CQ_LOG, CQ_ARM, SRQ_LOG, SRQ_LEAST,
           SRQ_MOST, DB_FIRST, DB_COUNT, DB_NONE, SQ_SIZE, RQ_SIZE, GO, CASES };
    static const char *const want[CASES] = {
        [MGM_MIN] = "table of the adapter is too large or too small",
        [MGM_MAX] = "table of the adapter is too large or too small",
        [UARC] = "table of the adapter is too large or too small",
        [UARS] = "table of the adapter is too large or too small",
        [CQ_LOG] = "CQ is too large", [CQ_ARM] = "CQ is too large",
        [SRQ_LOG] = "SRQ is too large", [SRQ_LEAST] = "SRQ is too large",
        [SRQ_MOST] = "SRQ is too large",
        [DB_FIRST] = "doorbell outside its queue",
        [DB_COUNT] = "doorbell for no requests or too many",
        [DB_NONE] = "doorbell for no requests or too many",
        [SQ_SIZE] = "queue is too large", [RQ_SIZE] = "queue is too large",
        [GO] = "command that has not ended",
    };

    for (unsigned i = 0; i < CASES; i++) {
        for (unsigned bad = 0; bad < 2; bad++) {
            MEnd e = mend_busy();
            MGuest *h = mguest_new(1, false);
            RdmaDev *dev = mthca_rdma(e.g->m);
            MthcaCq *c = rdma_cq_priv(rdma_cq_get(dev, ME_CQN));
            MthcaSrq *s = rdma_srq_priv(rdma_srq_get(dev, ME_SRQN));
            MthcaQp *q = rdma_qp_priv(rdma_qp_get(dev, ME_QPN + 2));

            switch (i) {
            case MGM_MIN:
                e.g->m->log_mgm_size = 6 - bad;
                break;
            case MGM_MAX:
                /* Entries there are have the size of before. */
                e.g->m->log_mgm_size = bad ? 13 : e.g->m->log_mgm_size;
                break;
            case UARC:
                e.g->m->log_uarc = MTHCA_LOG_MAX_UARC + bad;
                break;
            case UARS:
                e.g->m->log_uars = MTHCA_LOG_MAX_UARS + bad;
                break;
            case CQ_LOG:
                c->log_size = MTHCA_LOG_MAX_CQES + bad;
                break;
            case CQ_ARM:
                c->armed = 3 + bad;
                break;
            case SRQ_LOG:
                s->log_size = MTHCA_LOG_MAX_WQES + 1 + bad;
                break;
            case SRQ_LEAST:
                s->log_stride = 4 - bad;
                break;
            case SRQ_MOST:
                s->log_stride = 11 + bad;
                break;
            case DB_FIRST:
                q->db_first = MTHCA_QP_DOORBELLS - 1 + bad;
                q->db[MTHCA_QP_DOORBELLS - 1] = q->db[0] = q->db[1] =
                    (MthcaDoorbell) { .count = 1 };
                break;
            case DB_COUNT:
                q->db[q->db_first].count = MTHCA_DOORBELL_MAX + bad;
                break;
            case DB_NONE:
                q->db[q->db_first].count = 1 - bad;
                break;
            case SQ_SIZE:
                q->ctx[MTHCA_QPC_SQ_SIZE] = (14 + bad) << 3;
                break;
            case RQ_SIZE:
                q->ctx[MTHCA_QPC_RQ_SIZE] = (14 + bad) << 3;
                break;
            case GO:
                e.g->m->hcr[6] = bad ? MTHCA_HCR_GO : MTHCA_HCR_EVENT;
                break;
            }
            g_assert_cmpstr(carry(&e, h), ==, bad ? want[i] : NULL);
            if (bad) {
                g_assert_cmpint(h->m->state, ==, MTHCA_HCA_RESET);
            }
            mguest_free(h);
            mend_free(&e);
        }
    }
}

/* Before INIT_HCA there are no tables, and no least sizes. */
static void test_image_early(void)
{
    for (unsigned fw = 0; fw < 2; fw++) {
        MEnd e = { .g = mguest_new(1, false) };
        MGuest *h = mguest_new(1, false);

        if (fw) {
            g_assert_cmphex(mcmd(e.g, MTHCA_CMD_RUN_FW, 0, 0, 0, 0, NULL), ==,
                            0);
        }
        g_assert_cmpstr(carry(&e, h), ==, NULL);
        g_assert_cmphex(mcmd_box(h, MTHCA_CMD_QUERY_DEV_LIM, 0, 0), ==,
                        fw ? 0 : MTHCA_ST_BAD_SYS_STATE);
        mguest_free(h);
        mend_free(&e);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mthca/image/answers", test_image_answers);
    g_test_add_func("/mthca/image/same", test_image_same);
    g_test_add_func("/mthca/image/format", test_image_format);
    g_test_add_func("/mthca/image/settings", test_image_settings);
    g_test_add_func("/mthca/image/damaged", test_image_damaged);
    g_test_add_func("/mthca/image/fields", test_image_fields);
    g_test_add_func("/mthca/image/limits", test_image_limits);
    g_test_add_func("/mthca/image/early", test_image_early);
    return g_test_run();
}
