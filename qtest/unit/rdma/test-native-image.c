/*
 * Native personality: migration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include <string.h>

#include "rdma/objects.h"
#include "../../lib/format.h"
#include "../../lib/mutate.h"
#include "native-side.h"
#include "native-tweak.h"

static void test_migrate(void)
{
    Side *a = side_up(1, 0, NULL), *b = side_up(2, 0, NULL);
    Wqe w = wqe_begin(0);
    uint8_t *state;
    size_t len;

    side_fill(a, VA, 0x2000, 5);
    wqe_raddr(&w, VA + 0x8000);
    wqe_data(&w, VA, 0x2000);
    side_post(a, &w, RDMA_OP_WRITE);
    rdma_poll(native_dev(a->n), a->now);        /* under way */
    side_post(a, &w, RDMA_OP_WRITE);                 /* queued */
    state = native_save(a->n, a->now, &len);
    side_renew(a);
    for (size_t cut = 0; cut < len; cut += cut < 64 ? 1 : 4099) {
        g_assert_nonnull(native_load(a->n, a->now, state, cut));
    }
    g_assert_null(native_load(a->n, a->now, state, len));
    g_free(state);
    for (int i = 0; i < 4; i++) {
        side_run(a, b);
        a->now += 200000000;
    }
    side_expect_send(a, RDMA_OP_WRITE, 0, 0x2000);
    side_expect_send(a, RDMA_OP_WRITE, 128, 0x2000);
    g_assert_cmpmem(side_ptr(b, VA + 0x8000), 0x2000, side_ptr(a, VA), 0x2000);
    side_free(a);
    side_free(b);
}

/* What is loaded and saved again is the same, but for the transport's. */
static void test_image_same(void)
{
    Side *s = side_busy(), *t = side_new(1, NULL);
    size_t len, len2, engine;
    uint8_t *block = native_save(s->n, s->now, &len), *again;
    const uint8_t *tag = memmem(block, len, "Rdma", 4);

    g_assert_nonnull(tag);
    engine = tag - block;
    memcpy(t->mem, s->mem, MEM_SIZE);
    g_assert_cmpstr(native_load(t->n, 99, block, len), ==, NULL);
    again = native_save(t->n, 99, &len2);
    g_assert_cmpuint(len, ==, len2);
    g_assert_cmpmem(block, engine, again, engine);
    for (int i = 0; i <= NRH_CMD; i += 4) {
        g_assert_cmphex(native_hcr_read(t->n, i), ==,
                        native_hcr_read(s->n, i));
    }
    /* CQ and EQ are armed there, too. */
    g_assert_cmpuint(side_query(t, NRC_QUERY_QP, QPN), ==, 0);
    side_mbox(t);
    g_assert_cmpuint(side_cmd(t, NRC_2ERR_QP, QPN, 0), ==, 0);
    side_settles(t);
    g_assert_cmphex(t->mem[EQB + NRE_OWNER], ==, 0);
    g_assert_cmpuint(t->msix->len, ==, 1);
    g_assert_cmpuint(side_hcr(t, 0, CQN, 0, NRC_HW2SW_CQ, 0) >> 24, ==, 0);
    g_free(block);
    g_free(again);
    side_free(s);
    side_free(t);
}

/* Loaded into an engine at work: nothing of that stays. */
static void test_image_over(void)
{
    Side *s = side_busy(), *t = side_busy();
    size_t len, len2;
    g_autofree uint8_t *block = native_save(s->n, s->now, &len);
    g_autofree uint8_t *again = NULL;

    g_assert_cmpuint(side_map(t, 2, MPT_BASE + 0x100000, ICM, 1), ==, 0);
    g_assert_cmpstr(native_load(t->n, t->now, block, len), ==, NULL);
    again = native_save(t->n, t->now, &len2);
    g_assert_cmpuint(len, ==, len2);
    len = (const uint8_t *)memmem(block, len, "Rdma", 4) - block;
    g_assert_cmpmem(block, len, again, len);
    side_free(s);
    side_free(t);
}

static void test_image_format(void)
{
    Side *s = side_busy();
    size_t len;
    g_autofree uint8_t *block = native_save(s->n, s->now, &len);

    format_is(block, len, 5380, "9b79b086544379d1530341ab40219aa2"
              "1f3d106615d32d65fdd661d9145702ad");
    side_free(s);
}

static void test_image_switches(void)
{
    static const struct {
        void (*tweak)(NativeConfig *cfg);
        const char *error;
    } t[] = {
        { tweak_strict_cmd, "property rdma-strict differs" },
        { tweak_strict_qp, "property rdma-strict differs" },
        { tweak_state_rtl, "property rdma-state-rtl differs" },
        { tweak_devlim_rtl, "property rdma-devlim-rtl differs" },
        { tweak_nop_bad_op, "property rdma-nop-bad-op differs" },
        { tweak_psn_always, "property rdma-psn-always differs" },
        { tweak_rnr0_none, "property rdma-rnr0-none differs" },
        { tweak_mpt_phys, "property rdma-mpt-phys differs" },
        { tweak_no_eqe, "property rdma-eqe differs" },
        { tweak_check_owner, "property rdma-cq-check-owner differs" },
        { tweak_uar_check, "property rdma-uar-check differs" },
        { tweak_lerr, "property rdma-local-error differs" },
        { tweak_err_doc, "property rdma-error-cqe differs" },
    };
    Side *s = side_busy();
    size_t len;
    uint8_t *block = native_save(s->n, s->now, &len);

    for (int i = 0; i < G_N_ELEMENTS(t); i++) {
        Side *other = side_new(1, t[i].tweak);

        g_assert_cmpstr(native_load(other->n, 1, block, len), ==, t[i].error);
        g_assert_cmphex(native_hcr_read(other->n, NRH_CMD), ==, 0);
        side_free(other);
    }
    g_free(block);
    side_free(s);
}

/* A block may come from anywhere: the engine takes or refuses it, and goes on
 * (the sanitizers look on). */
static void test_image_damaged(void)
{
    Side *a = side_busy(), *b = side_new(1, NULL);
    GRand *r = g_rand_new_with_seed(0xce0);
    unsigned num = mutations(3000), taken = 0;
    size_t len;
    uint8_t *state = native_save(a->n, a->now, &len);

    for (unsigned i = 0; i < num; i++) {
        uint8_t *bad = mutate(r, state, len);

        memcpy(b->mem, a->mem, DATA + 0x1000);
        if (!native_load(b->n, b->now, bad, len)) {
            taken++;
            for (int k = 0; k < 12; k++) {
                b->now += 1 << (k + 16);
                side_settles(b);
            }
            side_ring(b, 0, 48, RDMA_OP_WRITE);
            side_settles(b);
            side_cq(b, CQN, 5);
            side_mbox(b);
            side_cmd(b, NRC_2ERR_QP, QPN + i % 3, 0);
            side_settles(b);
            side_hcr(b, 0, QPN + i % 3, 0, NRC_2RST_QP, 3);
            g_ptr_array_set_size(b->wire, 0);
        }
        g_free(bad);
    }
    g_assert_cmpuint(taken, >, num / 100);
    g_assert_null(native_load(b->n, b->now, state, len));
    g_free(state);
    g_rand_free(r);
    side_free(a);
    side_free(b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define TEST(path, fn) g_test_add_func("/native/" path, test_##fn)
    TEST("migrate", migrate);
    TEST("image/same", image_same);
    TEST("image/over", image_over);
    TEST("image/format", image_format);
    TEST("image/switches", image_switches);
    TEST("image/damaged", image_damaged);
    return g_test_run();
}
