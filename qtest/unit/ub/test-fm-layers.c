/*
 * Maps of VLs (UB 2.0 §5.3.6) of a switch that has more ports than there are groups
 * for, by what a manager reads and writes there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "layers.h"
#include "ub/cfg_regs.h"
#include "ub/net_hw.h"

#define PORTS 72
#define GROUPED 64      /* of them have groups */

/* Two switches, linked by the last port that has a group and the first that has none. */
typedef struct Bed {
    UbFm *fm;
    UbFmPort port[2][PORTS];
    uint32_t reg[UB_NETR_USED];
    uint64_t asked, told;       /* registers, by bits of their numbers */
    int refused;                /* access that is refused, counted from 0; -1: none */
    int accesses;
    uint32_t caps;              /* of the bitmap */
    uint64_t ports;             /* that were selected */
    uint16_t by_guid[2];
} Bed;

static uint32_t *place(Bed *b, uint32_t cna, uint32_t dw, uint64_t *seen)
{
    uint32_t i = dw - UB_CFG_CAP(UB_CFG0_BASE, UB_NETR_CAP);

    g_assert_cmphex(cna, ==, 0);
    g_assert_cmphex(i, <, UB_NETR_USED);
    *seen |= UINT64_C(1) << i;
    return &b->reg[i % UB_NETR_USED];
}

static int bed_read(void *opaque, uint32_t cna, uint32_t dw, uint32_t *value)
{
    Bed *b = opaque;

    *value = 0;
    if (b->accesses++ == b->refused) {
        return UB_MGMT_BUSY;
    }
    for (unsigned p = 0; p < PORTS; p++) {
        if (dw == UB_CFG_PORT_CAP(p, UB_CAP_LINK) + UB_LINK_DL_STATUS_DW10) {
            *value = p < GROUPED ? 7 : 1;
            return UB_MGMT_OK;
        }
    }
    if (dw == UB_CFG0_CAP_BITMAP + UB_NETR_CAP / 32) {
        *value = b->caps;
        return UB_MGMT_OK;
    }
    *value = *place(b, cna, dw, &b->asked);
    return UB_MGMT_OK;
}

static int bed_write(void *opaque, uint32_t cna, uint32_t dw, uint32_t value)
{
    Bed *b = opaque;

    if (b->accesses++ == b->refused) {
        return UB_MGMT_BUSY;
    }
    *place(b, cna, dw, &b->told) = value;
    if (dw == UB_CFG_CAP(UB_CFG0_BASE, UB_NETR_CAP) + UB_NETR_SELECT) {
        g_assert_cmpuint(value, <, GROUPED);
        b->ports |= UINT64_C(1) << value;
    }
    return UB_MGMT_OK;
}

static const UbFmOps ops = { .read = bed_read, .write = bed_write };

static void bed_open(Bed *b, unsigned layers)
{
    *b = (Bed){ .fm = ub_fm_new(&ops, b), .refused = -1 };
    b->fm->nodes = 2;
    b->fm->node = g_new0(UbFmNode, 2);
    b->fm->by_guid = b->by_guid;
    b->fm->layers = layers;
    b->fm->classes = 1;
    for (unsigned i = 0; i < 2; i++) {
        b->fm->node[i] = (UbFmNode){
            .guid = { .w = { i, 0, 0x03000000 } }, .ports = PORTS,
            .port = b->port[i], .policy = UB_FM_POLICY_THERE,
        };
        b->by_guid[i] = i;
        for (unsigned p = 0; p < PORTS; p++) {
            b->port[i][p] = (UbFmPort){
                .up = p == GROUPED - 1 || p == GROUPED, .peer = 1 - i,
            };
        }
    }
}

static void bed_close(Bed *b)
{
    g_free(b->fm->node);
    b->fm->node = NULL;
    b->fm->by_guid = NULL;
    b->fm->nodes = 0;
    ub_fm_free(b->fm);
}

static uint64_t registers(unsigned first, unsigned n)
{
    return ((UINT64_C(1) << n) - 1) << first;
}

/* All groups are written, with the last port's, and nothing behind them. */
static void test_last_port(void)
{
    const unsigned level[2] = { 0, 1 };
    Bed b;

    bed_open(&b, 2);
    fm_group_ports(b.fm, level);
    /* The other way it leads up. */
    g_assert_cmphex(b.fm->node[1].vl_group[7], ==, 0x50000000);
    g_assert_true(ub_fm_inquire_vls(b.fm, 0));
    g_assert_cmpuint(b.fm->node[0].vls, ==, 3);
    g_assert_true(ub_fm_program_vls(b.fm, 0, NULL, NULL));
    for (unsigned k = 0; k < GROUPED / 8; k++) {
        /* Port 63 leads down. */
        g_assert_cmphex(b.reg[UB_NETR_VL_GROUP + k], ==, k == 7 ? 0xa0000000 : 0);
    }
    /* Each is looked at once when all is right. */
    b.accesses = 0;
    g_assert_true(ub_fm_program_vls(b.fm, 0, NULL, NULL));
    g_assert_cmpint(b.accesses, ==, 3 * 3 * 2 + GROUPED / 8);
    g_assert_cmphex((b.told | b.asked) & ~registers(UB_NETR_VL_GROUP, 8) &
                    ~registers(UB_NETR_VL_MAP, 32), ==, 0);
    bed_close(&b);
}

/* Without layers maps that no port uses stay as somebody has left them; what ports use
 * is put right, whichever of them does. */
static void test_unused(void)
{
    Bed b;

    bed_open(&b, 1);
    g_assert_true(ub_fm_program_vls(b.fm, 0, NULL, NULL));
    g_assert_cmphex(b.told, ==, 0);
    g_assert_cmphex(b.asked, ==, registers(UB_NETR_VL_GROUP, 8));
    for (unsigned p = 0; p < GROUPED; p++) {
        b.told = 0;
        b.reg[UB_NETR_VL_GROUP_DW(p)] = 1u << UB_NETR_VL_GROUP_SHIFT(p);
        memset(b.reg + UB_NETR_VL_MAP, 0, 32 * sizeof(b.reg[0]));
        g_assert_true(ub_fm_program_vls(b.fm, 0, NULL, NULL));
        for (unsigned k = 0; k < 18; k++) {
            unsigned in = k / 6, out = k / 2 % 3;

            g_assert_cmphex(b.reg[UB_NETR_VL_MAP_DW(in, out, k % 2 * 8)], ==,
                            k % 2 ? 0xfedcba98 : 0x76543210);
        }
        g_assert_cmphex(b.reg[UB_NETR_VL_GROUP_DW(p)], ==, 0);
    }
    bed_close(&b);
}

/* A switch that does not say is told so; one of which all is known is not asked. */
static void test_refused(void)
{
    UbFmNode was = { .ports = PORTS };
    int all;
    Bed b;

    bed_open(&b, 1);
    g_assert_true(ub_fm_program_vls(b.fm, 0, b.fm, &was));
    g_assert_cmpint(b.accesses, ==, 0);
    bed_close(&b);
    for (unsigned layers = 1; layers < 3; layers++) {
        bed_open(&b, layers);
        g_assert_true(ub_fm_program_vls(b.fm, 0, NULL, NULL));
        all = b.accesses;
        bed_close(&b);
        for (int i = 0; i < all; i++) {
            bed_open(&b, layers);
            b.refused = i;
            g_assert_false(ub_fm_program_vls(b.fm, 0, NULL, NULL));
            g_assert_cmpint(b.accesses, ==, i + 1);
            bed_close(&b);
        }
    }
}

/* Who does not have the slice is not asked for what is in it, and asked once; who does
 * not say its VLs has one. */
static void test_policy(void)
{
    Bed b;

    for (unsigned has = 0; has < 3; has++) {
        bed_open(&b, 1);
        b.fm->node[0].policy = UB_FM_POLICY_UNKNOWN;
        b.caps = has ? 1u << UB_NETR_CAP % 32 : ~(1u << UB_NETR_CAP % 32);
        b.reg[UB_NETR_MAGIC] = has == 1 ? UB_NETR_MAGIC__VALUE + 1
                                        : UB_NETR_MAGIC__VALUE;
        for (unsigned i = 0; i < 2; i++) {
            g_assert_cmpint(ub_fm_has_policy(b.fm, 0), ==, has == 2);
            g_assert_cmpint(b.fm->node[0].policy, ==,
                            has == 2 ? UB_FM_POLICY_THERE : UB_FM_POLICY_ABSENT);
            g_assert_cmphex(b.asked, ==, has ? 1u << UB_NETR_MAGIC : 0);
            g_assert_cmpint(b.accesses, ==, has ? 2 : 1);
        }
        b.refused = b.accesses;
        b.fm->node[0].vls = 9;
        g_assert_cmpint(ub_fm_inquire_vls(b.fm, 0), ==, has < 2);
        g_assert_cmpuint(b.fm->node[0].vls, ==, 1);
        bed_close(&b);
    }
}

static uint32_t nowhere(void *opaque, UbId guid, int port)
{
    return 0;
}

/* Partitions are of ports that routes can name. */
static void test_partitions(void)
{
    const UbFmPlan plan = { .npi = nowhere };
    Bed b;

    bed_open(&b, 1);
    b.fm->nodes = 1;
    b.fm->node[0].reached = true;
    g_assert_cmpuint(ub_fm_give_partitions(b.fm, &plan, NULL), ==, 0);
    g_assert_cmphex(b.ports, ==, UINT64_MAX);
    bed_close(&b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/fm-layers/last-port", test_last_port);
    g_test_add_func("/ub/fm-layers/unused", test_unused);
    g_test_add_func("/ub/fm-layers/refused", test_refused);
    g_test_add_func("/ub/fm-layers/policy", test_policy);
    g_test_add_func("/ub/fm-layers/partitions", test_partitions);
    return g_test_run();
}
