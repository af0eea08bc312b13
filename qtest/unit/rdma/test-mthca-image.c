/*
 * ncic-mthca: migration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include <string.h>

#include "mthca-end.h"
#include "rdma/objects.h"
#include "../../lib/mutate.h"

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

static void test_image_answers(void)
{
    MEnd e = mend_busy();
    MGuest *h = mguest_new(1, false);
    uint8_t *block, *in;
    size_t len;

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
    mok(e.g, MTHCA_CMD_WRITE_MGM, 6, 0);
    block = mthca_save(e.g->m, e.g->now, &len);
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

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mthca/image/answers", test_image_answers);
    g_test_add_func("/mthca/image/same", test_image_same);
    g_test_add_func("/mthca/image/settings", test_image_settings);
    g_test_add_func("/mthca/image/damaged", test_image_damaged);
    return g_test_run();
}
