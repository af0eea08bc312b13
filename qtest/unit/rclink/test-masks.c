/*
 * RC Link: masks of interrupts, and how often a message is sent (RC Link §12.12.2,
 * §12.12.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "type1.h"

/* What is pending is told by the mask that opens it, and by no other. */
static void test_intr(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];
    uint64_t own = 1u << RCL_INTR_TX_DISABLED;

    post(e, 1, 1);
    g_assert_cmphex(rig_get(e, RCL_INTR_STATUS), ==, own);
    g_assert_cmpuint(e->msix[RCL_VEC_INTR], ==, 0);
    rig_set(e, RCL_INTR_MASK, own);
    g_assert_cmpuint(e->msix[RCL_VEC_INTR], ==, 1);
    rig_set(e, RCL_INTR_MASK, own | 1u << RCL_INTR_RETRY);
    g_assert_cmpuint(e->msix[RCL_VEC_INTR], ==, 1);
    rig_set(e, RCL_INTR_MASK, 0);
    rig_set(e, RCL_INTR_MASK, own);
    g_assert_cmpuint(e->msix[RCL_VEC_INTR], ==, 2);
    rig_free(r);
}

/* Two frames that cannot be read: one message of the fault. */
static void test_type3(void)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];
    uint64_t own = 1u << RCL_ST0_ABNORMAL;
    uint8_t frame[64] = { 0 };

    for (unsigned i = 0; i < 2; i++) {
        rig_md_post(e, frame, sizeof(frame));
        put_le64(e->mem + RIG_MD_TX + i * RCL_MD_BYTES + 8,
                 UINT64_C(1) << 40);
        rig_settle(r);
        g_assert_cmpuint(CNT(e, dma_errors), ==, i + 1);
        g_assert_cmpuint(e->msix[RCL_VEC_FAULT], ==, 1);
    }
    g_assert_cmphex(rig_get(e, RCL_DMA_INTR_ST0) & own, ==, own);
    g_assert_cmpuint(e->msix[RCL_VEC_NONR], ==, 0);
    rig_set(e, RCL_DMA_INT_MASK, own);
    g_assert_cmpuint(e->msix[RCL_VEC_NONR], ==, 1);
    rig_set(e, RCL_DMA_INT_MASK, own | 1u << RCL_ST0_RX_EMPTY);
    g_assert_cmpuint(e->msix[RCL_VEC_NONR], ==, 1);
    rig_free(r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rclink/masks/intr", test_intr);
    g_test_add_func("/rclink/masks/type3", test_type3);
    return g_test_run();
}
