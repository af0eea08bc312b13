/*
 * Imports of a node: rows and channels that several share, who is told of a channel, what
 * an image has of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "node-bed.h"

/* A row that is named must be the import's own, or nobody's. */
static void test_import_rows(void)
{
    uint8_t cmd[UBQ_CMD];

    begin();
    g_assert_cmpuint(import(UB_TA_DESTS - 1, UB_TP_CTP, UB_ROI, 0, 1, cmd), ==,
                     UBQ_RESULT_OK);
    g_assert_cmpuint(import(UB_TA_DESTS, UB_TP_CTP, UB_ROI, 0, 2, cmd), ==,
                     UBQ_RESULT_PARAMETER);
    g_assert_cmpuint(import(UB_TA_DESTS - 1, UB_TP_CTP, UB_ROI, 0, 1, cmd), ==,
                     UBQ_RESULT_OK);
    g_assert_cmpuint(import(7, UB_TP_CTP, UB_ROI, 0, 1, cmd), ==, UBQ_RESULT_IN_USE);
    g_assert_cmpuint(import(UBQ_NEW, UB_TP_CTP, UB_ROI, 0, 1, cmd), ==,
                     UBQ_RESULT_OK);
    g_assert_cmpuint(get_le32(cmd + UBQ_CMD_OBJECT), ==, UB_TA_DESTS - 1);
    /* New ones, one behind the other; what was given up is not looked for first. */
    for (uint32_t i = 0; i < 4; i++) {
        g_assert_cmpuint(import(UBQ_NEW, UB_TP_CTP, UB_ROI, 0, 10 + i, cmd), ==,
                         UBQ_RESULT_OK);
        g_assert_cmpuint(get_le32(cmd + UBQ_CMD_OBJECT), ==, i);
    }
    g_assert_cmpuint(simple(UBQ_OP_UNIMPORT, 1), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(import(UBQ_NEW, UB_TP_CTP, UB_ROI, 0, 20, cmd), ==,
                     UBQ_RESULT_OK);
    g_assert_cmpuint(get_le32(cmd + UBQ_CMD_OBJECT), ==, 4);
    /* A row that cannot be leaves nothing. */
    put_row(cmd, 50, UB_TP_CTP);
    put_le16(cmd + UBQ_DST_MTU, 100);
    g_assert_cmpuint(command(UBQ_OP_IMPORT, cmd), ==, UBQ_RESULT_PARAMETER);
    g_assert_cmpuint(simple(UBQ_OP_UNIMPORT, 50), ==, UBQ_RESULT_NO_OBJECT);
    put_row(cmd, 50, UB_TP_RTP);
    put_le16(cmd + UBQ_DST_MTU, 100);
    g_assert_cmpuint(command(UBQ_OP_IMPORT, cmd), ==, UBQ_RESULT_PARAMETER);
    g_assert_cmpuint(import(UBQ_NEW, UB_TP_CTP, UB_TA_MODES, 0, 1, cmd), ==,
                     UBQ_RESULT_PARAMETER);
    g_assert_cmpuint(import(UBQ_NEW, UB_TP_CTP, UB_UNO, 0, 1, cmd), ==,
                     UBQ_RESULT_OK);
    end();
}

/* More channels than there may be: nothing is left of the one too many. */
static void test_import_full(void)
{
    uint8_t cmd[UBQ_CMD];

    begin();
    for (unsigned i = 0; i <= 64; i++) {
        g_assert_cmpuint(import(UBQ_NEW, UB_TP_RTP, UB_ROI, UBQ_IMP_OWN, i, cmd), ==,
                         i < 64 ? UBQ_RESULT_OK : UBQ_RESULT_FULL);
    }
    g_assert_null(ub_ta_dest(ub_node_ta(node), 64));
    g_assert_cmpuint(simple(UBQ_OP_UNIMPORT, 63), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(import(UBQ_NEW, UB_TP_RTP, UB_ROI, UBQ_IMP_OWN, 99, cmd), ==,
                     UBQ_RESULT_OK);
    end();
}

/* A row for a channel that is dead, and that nothing can take the place of: it is not
 * left behind. */
static void test_import_dead(void)
{
    uint8_t cmd[UBQ_CMD];
    uint32_t tpn;

    begin();
    g_assert_cmpuint(import(10, UB_TP_RTP, UB_ROI, 0, 1, cmd), ==, UBQ_RESULT_OK);
    tpn = get_le32(cmd + UBQ_IMP_CHANNEL);
    for (unsigned i = 1; i < 64; i++) {
        g_assert_cmpuint(import(100 + i, UB_TP_RTP, UB_ROI, UBQ_IMP_OWN, i, cmd), ==,
                         UBQ_RESULT_OK);
    }
    g_assert_cmpint(ub_tp_deactivate(ub_node_tp(node), tpn), ==, UB_TPR_OK);
    g_assert_cmpuint(import(11, UB_TP_RTP, UB_ROI, 0, 2, cmd), ==, UBQ_RESULT_FULL);
    g_assert_false(node_import_has_row(node, 11));
    g_assert_null(ub_ta_dest(ub_node_ta(node), 11));
    g_assert_true(node_import_has_row(node, 10));
    /* With a place there is another channel, for both. */
    g_assert_cmpuint(simple(UBQ_OP_UNIMPORT, 101), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(import(11, UB_TP_RTP, UB_ROI, 0, 2, cmd), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(get_le32(cmd + UBQ_IMP_CHANNEL), !=, tpn);
    g_assert_cmpuint(ub_ta_dest(ub_node_ta(node), 10)->tp.tpn, ==,
                     get_le32(cmd + UBQ_IMP_CHANNEL));
    g_assert_cmpuint(cmd[UBQ_IMP_STATE], ==, 1);
    /* One that was up, too: the other one is not yet. */
    tpn = get_le32(cmd + UBQ_IMP_CHANNEL);
    g_assert_true(node_import_connected(node, tpn, UB_TPR_OK, tell));
    g_assert_cmpuint(import(12, UB_TP_RTP, UB_ROI, 0, 3, cmd), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(cmd[UBQ_IMP_STATE], ==, 0);
    g_assert_cmpuint(simple(UBQ_OP_UNIMPORT, 102), ==, UBQ_RESULT_OK);
    g_assert_cmpint(ub_tp_deactivate(ub_node_tp(node), tpn), ==, UB_TPR_OK);
    g_assert_cmpuint(import(13, UB_TP_RTP, UB_ROI, 0, 4, cmd), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(get_le32(cmd + UBQ_IMP_CHANNEL), !=, tpn);
    g_assert_cmpuint(cmd[UBQ_IMP_STATE], ==, 1);
    end();
}

/* Imports of one way and mode share a channel; of any other byte of it they do not. */
static void test_import_ways(void)
{
    static const uint8_t bytes[] = { 4, 5, 6, 8, 9, 12, 13, 14, 16, 17, 30, 31, 32,
                                     33, 46, 47 };
    uint8_t cmd[UBQ_CMD];
    uint32_t seen[G_N_ELEMENTS(bytes)];

    begin();
    for (unsigned again = 0; again < 2; again++) {
        for (unsigned i = 0; i < G_N_ELEMENTS(bytes); i++) {
            put_row(cmd, UBQ_NEW, UB_TP_RTP);
            cmd[UBQ_DST_DEID] = again;
            cmd[UBQ_IMP_MODE] = UB_ROI;
            cmd[UBQ_DST_WAY + UBQ_WAY_CFG] = UB_LPH_IPV6;
            cmd[UBQ_DST_WAY + bytes[i]] ^= 1;
            OK(UBQ_OP_IMPORT, cmd);
            for (unsigned j = 0; j < i; j++) {
                g_assert_cmpuint(get_le32(cmd + UBQ_IMP_CHANNEL), !=, seen[j]);
            }
            g_assert_true(!again || seen[i] == get_le32(cmd + UBQ_IMP_CHANNEL));
            seen[i] = get_le32(cmd + UBQ_IMP_CHANNEL);
        }
    }
    end();
}

/* Who is told of a channel: each row that goes by it, and of no other one. */
static void test_told(void)
{
    uint8_t a[UBQ_CMD], b[UBQ_CMD], c[UBQ_CMD];
    uint32_t tpn;

    begin();
    g_assert_cmpuint(import(UBQ_NEW, UB_TP_RTP, UB_ROI, 0, 1, a), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(import(UBQ_NEW, UB_TP_RTP, UB_ROI, 0, 2, b), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(import(UBQ_NEW, UB_TP_RTP, UB_ROL, 0, 1, c), ==, UBQ_RESULT_OK);
    tpn = get_le32(a + UBQ_IMP_CHANNEL);
    g_assert_cmpuint(get_le32(b + UBQ_IMP_CHANNEL), ==, tpn);
    g_assert_cmpuint(get_le32(c + UBQ_IMP_CHANNEL), !=, tpn);
    g_assert_false(node_import_connected(node, tpn + 100, UB_TPR_OK, tell));
    g_assert_cmpuint(told, ==, 0);
    g_assert_true(node_import_connected(node, tpn, UB_TPR_OK, tell));
    g_assert_cmpuint(told, ==, 2);
    g_assert_cmpuint(told_result, ==, UBQ_RESULT_OK);
    g_assert_cmpuint(import(UBQ_NEW, UB_TP_RTP, UB_ROI, 0, 1, a), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(a[UBQ_IMP_STATE], ==, 0);
    g_assert_true(node_import_connected(node, get_le32(c + UBQ_IMP_CHANNEL),
                                        UB_TPR_REFUSED, tell));
    g_assert_cmpuint(told, ==, 3);
    g_assert_cmpuint(told_row, ==, get_le32(c + UBQ_CMD_OBJECT));
    g_assert_cmpuint(told_result, ==, UBQ_RESULT_REFUSED);
    g_assert_cmpuint(import(UBQ_NEW, UB_TP_RTP, UB_ROL, 0, 1, c), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(c[UBQ_IMP_STATE], ==, 1);
    g_assert_true(node_import_has_row(node, told_row));
    g_assert_false(node_import_has_row(node, 999));
    g_assert_true(node_import_has_channel(node, tpn));
    g_assert_false(node_import_has_channel(node, tpn + 100));
    end();
}

/* ---- Images ---------------------------------------------------------------------------- */

static uint8_t *save(size_t *len)
{
    CoreImage *im = core_image_save(1000);
    uint8_t *data;

    ub_node_image(node, im, NULL);
    data = core_image_take(im, len);
    core_image_free(im);
    return data;
}

static const char *load(const uint8_t *data, size_t len)
{
    CoreImage *im = core_image_load(data, len, 1000);
    const char *why;

    ub_node_free(node);
    node = new_node();
    ub_node_image(node, im, NULL);
    why = core_image_done(im);
    core_image_free(im);
    return why;
}

static void test_image(void)
{
    g_autofree uint8_t *data = NULL, *again = NULL;
    uint8_t cmd[3][UBQ_CMD], same[UBQ_CMD];
    uint32_t tpn;
    size_t len, len2;

    begin();
    g_assert_cmpuint(import(UBQ_NEW, UB_TP_RTP, UB_ROI, 0, 1, cmd[0]), ==,
                     UBQ_RESULT_OK);
    g_assert_cmpuint(import(UBQ_NEW, UB_TP_RTP, UB_ROI, 0, 2, cmd[1]), ==,
                     UBQ_RESULT_OK);
    g_assert_cmpuint(import(UBQ_NEW, UB_TP_RTP, UB_ROI, UBQ_IMP_OWN, 1, cmd[2]), ==,
                     UBQ_RESULT_OK);
    g_assert_cmpuint(import(UBQ_NEW, UB_TP_CTP, UB_ROI, 0, 1, same), ==,
                     UBQ_RESULT_OK);
    g_assert_cmpuint(import(UBQ_NEW, UB_TP_RTP, UB_ROI, 0, 1, cmd[0]), ==,
                     UBQ_RESULT_OK);
    tpn = get_le32(cmd[0] + UBQ_IMP_CHANNEL);
    g_assert_true(node_import_connected(node, tpn, UB_TPR_OK, tell));
    data = save(&len);
    g_assert_cmpstr(load(data, len), ==, NULL);
    again = save(&len2);
    g_assert_cmpuint(len2, ==, len);
    /* Users, rows and channels are what they were. */
    g_assert_cmpuint(import(UBQ_NEW, UB_TP_RTP, UB_ROI, 0, 1, same), ==,
                     UBQ_RESULT_OK);
    g_assert_cmpuint(get_le32(same + UBQ_CMD_OBJECT), ==,
                     get_le32(cmd[0] + UBQ_CMD_OBJECT));
    g_assert_cmpuint(get_le32(same + UBQ_IMP_CHANNEL), ==, tpn);
    g_assert_cmpuint(same[UBQ_IMP_STATE], ==, 0);
    told = 0;
    g_assert_true(node_import_connected(node, tpn, UB_TPR_REFUSED, tell));
    g_assert_cmpuint(told, ==, 2);
    g_assert_cmpuint(import(UBQ_NEW, UB_TP_RTP, UB_ROI, UBQ_IMP_OWN, 1, same), ==,
                     UBQ_RESULT_OK);
    g_assert_cmpuint(get_le32(same + UBQ_IMP_CHANNEL), !=,
                     get_le32(cmd[2] + UBQ_IMP_CHANNEL));
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpuint(simple(UBQ_OP_UNIMPORT, get_le32(cmd[0] + UBQ_CMD_OBJECT)),
                         ==, UBQ_RESULT_OK);
    }
    g_assert_cmpuint(simple(UBQ_OP_UNIMPORT, get_le32(cmd[0] + UBQ_CMD_OBJECT)), ==,
                     UBQ_RESULT_NO_OBJECT);
    g_assert_true(node_import_has_channel(node, tpn));
    g_assert_cmpuint(simple(UBQ_OP_UNIMPORT, get_le32(cmd[1] + UBQ_CMD_OBJECT)), ==,
                     UBQ_RESULT_OK);
    g_assert_false(node_import_has_channel(node, tpn));
    g_assert_cmpuint(simple(UBQ_OP_UNIMPORT, get_le32(cmd[2] + UBQ_CMD_OBJECT)), ==,
                     UBQ_RESULT_OK);
    end();
}

/* Each word of the imports is another one: refused, or a table that works. */
static void test_image_bad(void)
{
    g_autofree uint8_t *data = NULL;
    uint8_t cmd[UBQ_CMD];
    unsigned refused = 0;
    size_t len, tail;

    begin();
    data = save(&tail);
    g_free(g_steal_pointer(&data));
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpuint(import(UBQ_NEW, UB_TP_RTP, UB_ROI, i ? UBQ_IMP_OWN : 0, 1,
                                cmd), ==, UBQ_RESULT_OK);
        g_assert_cmpuint(import(UBQ_NEW, UB_TP_CTP, UB_ROI + i, 0, 1, cmd), ==,
                         UBQ_RESULT_OK);
    }
    data = save(&len);
    for (size_t i = len - 600; i < len; i++) {
        g_autofree uint8_t *bad = g_memdup2(data, len);

        bad[i] ^= 0x81;
        if (load(bad, len)) {
            refused++;
            /* A refused image leaves no import. */
            for (uint32_t row = 0; row < 8; row++) {
                g_assert_false(node_import_has_row(node, row));
            }
        }
        import(UBQ_NEW, UB_TP_RTP, UB_ROI, 0, 9, cmd);
        ub_node_reset(node, 2000);
    }
    g_assert_cmpuint(refused, >, 50);
    end();
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/node/import/ways", test_import_ways);
    g_test_add_func("/ub/node/import/dead", test_import_dead);
    g_test_add_func("/ub/node/import-rows", test_import_rows);
    g_test_add_func("/ub/node/import-full", test_import_full);
    g_test_add_func("/ub/node/told", test_told);
    g_test_add_func("/ub/node/image", test_image);
    g_test_add_func("/ub/node/image-bad", test_image_bad);
    return g_test_run();
}
