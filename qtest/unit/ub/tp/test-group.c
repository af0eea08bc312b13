/*
 * Groups of channels: who may be in one, which of them is next.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "lossy.h"

/* A flow as members' of @g are, but for one byte; whether it may be one's. */
static void address(UbTp *tp, uint32_t g, UbFlow f, bool good)
{
    uint32_t tpn = UB_TP_NONE;
    UbTpAttr attr;

    ub_tp_attr_init(tp, &attr);
    attr.flow = f;
    g_assert_cmpint(ub_tp_create(tp, &tpn, &attr), ==, UB_TPR_OK);
    g_assert_cmpint(ub_tpg_join(tp, g, tpn), ==, good ? UB_TPR_OK : UB_TPR_BAD_ATTR);
    if (good) {
        g_assert_cmpint(ub_tpg_leave(tp, tpn), ==, UB_TPR_OK);
    } else {
        g_assert_cmpint(ub_tpg_leave(tp, tpn), ==, UB_TPR_NO_CHANNEL);
    }
    ub_tp_destroy(tp, tpn, 0);
    for (uint32_t t = 1; t <= 3; t += 2) {      /* the first and the last */
        UbTpAttr was;

        ub_tp_query(tp, t, &was, NULL);
        g_assert_cmpint(ub_tp_modify(tp, t, &attr, UB_TPA_FLOW), ==,
                        good ? UB_TPR_OK : UB_TPR_BAD_ATTR);
        g_assert_cmpint(ub_tp_modify(tp, t, &was, UB_TPA_FLOW), ==, UB_TPR_OK);
    }
}

/* The peer would take requests by another address for another sender's, or to another. */
static void addresses(Lossy *l, uint32_t g)
{
    UbTp *tp = l->node[0].tp;
    UbFlow f = lossy_flow(0, 1, UB_LPH_CNA24);
    uint32_t alone = 2;
    UbTpAttr attr;

    address(tp, g, f, true);
    f.port = 1;
    f.sl = 3;
    address(tp, g, f, true);
    f.dcna++;
    address(tp, g, f, false);
    f.dcna--;
    f.scna++;
    address(tp, g, f, false);
    f.scna--;
    f.cfg = UB_LPH_IPV4;
    address(tp, g, f, false);
    g_assert_cmpint(ub_tpg_destroy(tp, alone), ==, UB_TPR_OK);
    g_assert_cmpint(ub_tpg_create(tp, &alone, UB_TPG_ROUND), ==, UB_TPR_OK);
    for (uint32_t t = 1; t <= 3; t++) {
        ub_tpg_leave(tp, t);
    }
    /* One that is alone may have any; then others have its. */
    ub_tp_query(tp, 1, &attr, NULL);
    f = lossy_flow(0, 1, UB_LPH_IPV6);
    attr.flow = f;
    g_assert_cmpint(ub_tpg_join(tp, alone, 1), ==, UB_TPR_OK);
    g_assert_cmpint(ub_tp_modify(tp, 1, &attr, UB_TPA_FLOW), ==, UB_TPR_OK);
    for (unsigned i = 0; i < 5; i++) {
        uint32_t tpn = UB_TP_NONE;

        attr.flow = f;
        attr.flow.cfg = i == 1 ? UB_LPH_IPV4 : i == 2 ? UB_LPH_CNA24 : UB_LPH_IPV6;
        attr.flow.ip.dst[15] ^= i == 3;
        attr.flow.ip.src[15] ^= i == 4;
        g_assert_cmpint(ub_tp_create(tp, &tpn, &attr), ==, UB_TPR_OK);
        g_assert_cmpint(ub_tpg_join(tp, alone, tpn), ==,
                        i ? UB_TPR_BAD_ATTR : UB_TPR_OK);
        ub_tpg_leave(tp, tpn);
        ub_tp_destroy(tp, tpn, 0);
    }
    attr.flow = lossy_flow(0, 1, UB_LPH_CNA24);
    g_assert_cmpint(ub_tp_modify(tp, 1, &attr, UB_TPA_FLOW), ==, UB_TPR_OK);
    ub_tpg_leave(tp, 1);
    for (uint32_t t = 1; t <= 3; t++) {
        g_assert_cmpint(ub_tpg_join(tp, g, t), ==, UB_TPR_OK);
    }
}

static void test_pick(void)
{
    UbTpConfig cfg;
    Lossy *l;
    UbTp *tp;
    uint32_t g = UB_TP_NONE, h = 3, none = 4;
    UbTpAttr attr;
    UbTpInfo i;

    ub_tp_config_init(&cfg);
    cfg.max_groups = 4;
    l = lossy_new(&cfg, 2);
    tp = l->node[0].tp;
    ub_tp_attr_init(tp, &attr);
    attr.tx_window = 4;
    g_assert_cmpint(ub_tpg_create(tp, &g, UB_TPG_ROUND), ==, UB_TPR_OK);
    g_assert_cmpuint(g, ==, 0);
    g_assert_cmpint(ub_tpg_create(tp, &h, UB_TPG_LEAST), ==, UB_TPR_OK);
    g_assert_cmpint(ub_tpg_create(tp, &h, UB_TPG_LEAST), ==, UB_TPR_IN_USE);
    g_assert_cmpint(ub_tpg_create(tp, &none, UB_TPG_LEAST), ==,
                    UB_TPR_BAD_ATTR);
    none = 2;
    g_assert_cmpint(ub_tpg_create(tp, &none, UB_TPG_POLICIES), ==,
                    UB_TPR_BAD_ATTR);
    none = UB_TP_NONE;
    g_assert_cmpint(ub_tpg_create(tp, &none, UB_TPG_ROUND), ==, UB_TPR_OK);
    none = UB_TP_NONE;
    g_assert_cmpint(ub_tpg_create(tp, &none, UB_TPG_ROUND), ==, UB_TPR_OK);
    none = UB_TP_NONE;
    g_assert_cmpint(ub_tpg_create(tp, &none, UB_TPG_ROUND), ==, UB_TPR_FULL);
    g_assert_cmpuint(ub_tpg_pick(tp, g), ==, UB_TP_NONE);
    g_assert_cmpuint(ub_tpg_pick(tp, 99), ==, UB_TP_NONE);
    for (uint32_t t = 1; t <= 6; t++) {
        lossy_channel(l, 0, 1, t, t, &attr);
        g_assert_cmpint(ub_tpg_join(tp, t <= 3 ? g : h, t), ==, UB_TPR_OK);
    }
    g_assert_cmpint(ub_tpg_join(tp, h, 1), ==, UB_TPR_IN_USE);
    g_assert_cmpint(ub_tpg_join(tp, h, 99), ==, UB_TPR_NO_CHANNEL);
    g_assert_cmpint(ub_tpg_join(tp, 77, 1), ==, UB_TPR_NO_CHANNEL);
    ub_tp_query(tp, 5, NULL, &i);
    g_assert_cmpuint(i.group, ==, 3);
    addresses(l, g);
    /* In turn. */
    for (unsigned n = 0; n < 6; n++) {
        g_assert_cmpuint(ub_tpg_pick(tp, g), ==, n % 3 + 1);
    }
    /* Not one that is in the middle of an operation. */
    lossy_send(&l->node[0], 1, 10, 0, false, false, 1);
    g_assert_cmpuint(ub_tpg_pick(tp, g), ==, 2);
    g_assert_cmpuint(ub_tpg_pick(tp, g), ==, 3);
    g_assert_cmpuint(ub_tpg_pick(tp, g), ==, 2);
    /* If none is ready, one that is active. */
    lossy_send(&l->node[0], 2, 10, 0, false, false, 1);
    lossy_send(&l->node[0], 3, 10, 0, false, false, 1);
    g_assert_cmpuint(ub_tpg_pick(tp, g), <=, 3);
    ub_tp_deactivate(tp, 1);
    ub_tp_deactivate(tp, 2);
    g_assert_cmpuint(ub_tpg_pick(tp, g), ==, 3);
    ub_tp_deactivate(tp, 3);
    g_assert_cmpuint(ub_tpg_pick(tp, g), ==, UB_TP_NONE);
    /* The fewest bytes. */
    lossy_send(&l->node[0], 4, 900, 0, true, false, 1);
    lossy_send(&l->node[0], 5, 100, 0, true, false, 1);
    lossy_send(&l->node[0], 6, 500, 0, true, false, 1);
    g_assert_cmpuint(ub_tpg_pick(tp, h), ==, 5);
    lossy_send(&l->node[0], 5, 900, 0, true, false, 1);
    g_assert_cmpuint(ub_tpg_pick(tp, h), ==, 6);
    g_assert_cmpint(ub_tpg_leave(tp, 6), ==, UB_TPR_OK);
    g_assert_cmpint(ub_tpg_leave(tp, 6), ==, UB_TPR_NO_CHANNEL);
    g_assert_cmpuint(ub_tpg_pick(tp, h), ==, 4);
    ub_tp_destroy(tp, 4, l->now);
    g_assert_cmpuint(ub_tpg_pick(tp, h), ==, 5);
    g_assert_cmpint(ub_tpg_destroy(tp, h), ==, UB_TPR_OK);
    g_assert_cmpint(ub_tpg_destroy(tp, h), ==, UB_TPR_NO_CHANNEL);
    ub_tp_query(tp, 5, NULL, &i);
    g_assert_cmpuint(i.group, ==, UB_TP_NONE);
    lossy_free(l);
}

/* The first leaves, then who is first after it: the last is there, and alone. */
static void test_leave(void)
{
    uint32_t g = UB_TP_NONE;
    UbTpAttr attr;
    UbTpConfig cfg;
    Lossy *l;
    UbTp *tp;

    ub_tp_config_init(&cfg);
    l = lossy_new(&cfg, 2);
    tp = l->node[0].tp;
    ub_tp_attr_init(tp, &attr);
    g_assert_cmpint(ub_tpg_create(tp, &g, UB_TPG_ROUND), ==, UB_TPR_OK);
    for (uint32_t t = 1; t <= 3; t++) {
        lossy_channel(l, 0, 1, t, t, &attr);
        g_assert_cmpint(ub_tpg_join(tp, g, t), ==, UB_TPR_OK);
    }
    for (uint32_t t = 1; t <= 2; t++) {
        g_assert_cmpint(ub_tpg_leave(tp, t), ==, UB_TPR_OK);
        for (unsigned n = 0; n < 4; n++) {
            g_assert_cmpuint(ub_tpg_pick(tp, g), ==, t == 1 ? 2 + n % 2 : 3);
        }
    }
    lossy_free(l);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tp/group/pick", test_pick);
    g_test_add_func("/tp/group/leave", test_leave);
    return g_test_run();
}
