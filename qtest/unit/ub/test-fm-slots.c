/*
 * Hot plug, the manager's side (UB 2.0 appendix G), by what it reads and writes: slots
 * of its own node, as many as it says, and the order in which one is let go of.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "ub/cfg_regs.h"
#include "ub/fm_plug.h"
#include "ub/shp_hw.h"

#define SHP UB_CFG_CAP(UB_CFG0_BASE, UB_CAP_SHP)
#define SECOND INT64_C(1000000000)

/* One node, the manager's own. */
typedef struct Bed {
    UbFm fm;
    UbFmNode node[2];
    uint16_t by_guid[2];
    UbFmPlug plug;
    uint32_t reg[UB_SHP_REG(UB_SHP_SLOTS + 8, 0)];
    GString *log;       /* what is written to the last slot that there may be, and told */
} Bed;

static uint32_t *place(Bed *b, uint32_t cna, uint32_t dw)
{
    g_assert_cmphex(cna, ==, 0);
    g_assert_cmphex(dw - SHP, <, G_N_ELEMENTS(b->reg));
    return &b->reg[(dw - SHP) % G_N_ELEMENTS(b->reg)];
}

static int bed_read(void *opaque, uint32_t cna, uint32_t dw, uint32_t *value)
{
    *value = dw == UB_CFG0_CAP_BITMAP ? 1u << UB_CAP_SHP : *place(opaque, cna, dw);
    return UB_MGMT_OK;
}

static int bed_write(void *opaque, uint32_t cna, uint32_t dw, uint32_t value)
{
    Bed *b = opaque;
    unsigned r = dw - SHP - UB_SHP_REG(UB_SHP_SLOTS - 1, 0);

    /* Two are cleared by ones. */
    *place(b, cna, dw) = r % 0x10 == UB_SHP_PP_ST || r % 0x10 == UB_SHP_PDSC_ST
                         ? *place(b, cna, dw) & ~value : value;
    switch (r) {
    case UB_SHP_WL_CTRL:
        g_string_append_printf(b->log, " work:%u", value);
        break;
    case UB_SHP_PL_CTRL:
        g_string_append_printf(b->log, " light:%u", value);
        break;
    case UB_SHP_PW_CTRL:
        g_string_append_printf(b->log, " power:%u", value);
        break;
    }
    return UB_MGMT_OK;
}

static const UbFmOps ops = { .read = bed_read, .write = bed_write };

static int let_go(void *opaque, UbFm *fm, const bool *leaves, bool gone)
{
    g_string_append(((Bed *)opaque)->log, " let-go");
    return 0;
}

static void tell(void *opaque, const UbFmSlot *s, const char *what, int status)
{
    if (s->slot == UB_SHP_SLOTS - 1) {
        g_string_append_printf(((Bed *)opaque)->log, " %s:%d", what, status);
    }
}

static uint32_t *last_slot(Bed *b, unsigned reg)
{
    return &b->reg[UB_SHP_REG(UB_SHP_SLOTS - 1, reg)];
}

static void expect(Bed *b, const char *want)
{
    g_assert_cmpstr(b->log->str, ==, want);
    g_string_truncate(b->log, 0);
}

/* It says that it has more slots than fit; in the last that does is something. */
static Bed *bed_new(void)
{
    Bed *b = g_new0(Bed, 1);

    b->node[0] = (UbFmNode){ .guid.w[0] = 1, .reached = true };
    b->node[1] = (UbFmNode){ .guid.w[0] = 2 };
    b->by_guid[1] = 1;
    b->fm = (UbFm){ .ops = &ops, .opaque = b, .nodes = 1, .node = b->node,
                    .by_guid = b->by_guid };
    b->reg[UB_SHP_SLOT_NUMBER] = UB_SHP_SLOTS + 5;
    *last_slot(b, UB_SHP_PW_CTRL) = 1;
    *last_slot(b, UB_SHP_PD_ST) = 1;
    b->log = g_string_new("");
    ub_fm_plug_init(&b->plug);
    b->plug.release = let_go;
    b->plug.tell = tell;
    b->plug.opaque = b;
    return b;
}

static void bed_free(Bed *b)
{
    ub_fm_plug_free(&b->plug);
    g_string_free(b->log, true);
    g_free(b);
}

static void test_own(void)
{
    Bed *b = bed_new();

    /* Without a CNA as with one. */
    for (unsigned i = 0; i < 2; i++) {
        b->node[0].cna = i ? 0x11 : 0;
        g_assert_cmpuint(ub_fm_plug_survey(&b->plug, &b->fm, SECOND), ==, 0);
        g_assert_cmpuint(b->plug.slots, ==, UB_SHP_SLOTS);
        g_assert_cmpint(b->plug.slot[UB_SHP_SLOTS - 1].state, ==, UB_FM_SLOT_WORKS);
        expect(b, i ? "" : " work:0 light:1 in:0");
    }
    g_assert_cmphex(b->reg[UB_SHP_REG(UB_SHP_SLOTS, UB_SHP_MS_CTRL)], ==, 0);
    bed_free(b);
}

/* Tables G-2 and G-3: it is let go of, it is stopped, it has no power; only then may it
 * be taken out. */
static void test_out(void)
{
    Bed *b = bed_new();

    b->fm.nodes = 2;
    ub_fm_plug_survey(&b->plug, &b->fm, SECOND);
    expect(b, " work:0 light:1 in:0");
    *last_slot(b, UB_SHP_PP_ST) = 1;
    ub_fm_plug_survey(&b->plug, &b->fm, SECOND);
    expect(b, " work:0 light:2 leaving:0");
    ub_fm_plug_run(&b->plug, &b->fm, SECOND + b->plug.window);
    expect(b, " let-go work:1 power:0 work:2 light:0 out:0");
    bed_free(b);
}

/* Whoever pressed the button of an empty slot sees that it is taken for faulty; nobody
 * did so for what is taken over anew. */
static void test_asked(void)
{
    Bed *b = bed_new();
    int64_t now = SECOND;

    *last_slot(b, UB_SHP_PW_CTRL) = *last_slot(b, UB_SHP_PD_ST) = 0;
    for (unsigned i = 0; i < 3; i++) {
        if (i == 1) {
            *last_slot(b, UB_SHP_PP_ST) = 1;
        }
        ub_fm_plug_survey(&b->plug, &b->fm, now);
        if (i == 1) {
            expect(b, " work:0 light:2 coming:0");
            ub_fm_plug_run(&b->plug, &b->fm, now += b->plug.window);
        }
        expect(b, i == 1 ? " work:0 light:2 power:1 power:0"
                         : " work:0 light:2 power:1");
        ub_fm_plug_run(&b->plug, &b->fm, now += b->plug.patience);
        expect(b, i == 1 ? " power:0 work:1 light:0 empty:0"
                         : " power:0 work:0 light:0 empty:0");
        /* Its node was reset. */
        *last_slot(b, UB_SHP_MS_CTRL) = i == 0;
    }
    bed_free(b);
}

/* What was pending before a slot is taken over is none of its events; then they are heard,
 * of the manager's own slots as well. */
static void test_heard(void)
{
    uint8_t data[UB_MGMT_ETAH + 8] = { 0x22, 0, 0, 8 };
    Bed *b = bed_new();

    b->fm.nodes = 2;
    *last_slot(b, UB_SHP_PP_ST) = *last_slot(b, UB_SHP_PDSC_ST) = 1;
    ub_fm_plug_survey(&b->plug, &b->fm, SECOND);
    expect(b, " work:0 light:1 in:0");
    g_assert_cmphex(*last_slot(b, UB_SHP_PP_ST), ==, 0);
    g_assert_cmphex(*last_slot(b, UB_SHP_PDSC_ST), ==, 0);
    *last_slot(b, UB_SHP_PP_ST) = 1;
    ub_mgmt_put(data + UB_MGMT_ETAH, UB_MF_PLUG_SLOT, UB_SHP_SLOTS - 1);
    g_assert_true(ub_fm_plug_event(&b->plug, &b->fm, SECOND, b->node[0].cna, data,
                                   sizeof(data)));
    expect(b, " work:0 light:2 leaving:0");
    bed_free(b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/fm-slots/own", test_own);
    g_test_add_func("/ub/fm-slots/out", test_out);
    g_test_add_func("/ub/fm-slots/asked", test_asked);
    g_test_add_func("/ub/fm-slots/heard", test_heard);
    return g_test_run();
}
