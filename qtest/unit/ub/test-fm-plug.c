/*
 * Hot plug in virtual time: slots of a switch, and the manager that hears of their
 * buttons and of what is in them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/random.h"
#include "mgmt-fabric.h"
#include "ub/fm_plug.h"
#include "ub/shp.h"

/*
 * The manager is at port 0 of a switch; a slot has port 1 with a device, another one
 * ports 2 and 3 with the second one.
 */
enum { MANAGER, SWITCH, ONE, TWO, NODES };
#define PORTS 4
#define CNA(node) (0x40u + (node))
#define MS INT64_C(1000000)
#define SHP UB_CFG_CAP(UB_CFG0_BASE, UB_CAP_SHP)

typedef struct Bed {
    Fabric f;
    UbFm fm;
    uint16_t by_guid[NODES];
    UbFmNode node[NODES];
    UbFmPort port[NODES][PORTS];
    UbFmPlug plug;
    UbShpConfig cfg;
    UbShp *shp;
    bool power[PORTS];
    unsigned kicks, changes, cuts, seen;
    GString *log;
    unsigned released;  /* how often, and what the last time, nodes as bits */
    unsigned left, gone;
    int says;           /* of the release */
    uint32_t silent;    /* the answer to the next read of this register is lost */
} Bed;

/* ---- The switch's slots ---- */

static void on_power(void *opaque, int64_t now, unsigned port, bool on)
{
    Bed *b = opaque;

    g_assert_cmpuint(port, <, PORTS);
    g_assert_true(b->power[port] != on);
    b->power[port] = on;
    b->cuts += !on;
}

static void on_kick(void *opaque)
{
    ((Bed *)opaque)->kicks++;
}

static void on_changed(void *opaque, unsigned slot)
{
    ((Bed *)opaque)->changes++;
}

static const UbShpOps shp_ops = {
    .power = on_power, .kick = on_kick, .changed = on_changed,
};

/* ---- The manager ---- */

static int ask_register(Bed *b, uint32_t cna, UbMgmtId id, uint32_t dw,
                        uint32_t *value)
{
    UbMgmtAddr to = { .dcna = cna, .mgmt = true, .local = !cna };
    uint8_t pdu[16] = { 0 };
    Answer a = { 0 };

    ub_mgmt_put(pdu, UB_MF_CFG_BYTE_EN, 0xf);
    ub_mgmt_put(pdu, UB_MF_CFG_ADDRESS, dw);
    ub_mgmt_put(pdu, UB_MF_CFG_DATA, *value);
    g_assert_true(ub_mgmt_request(b->f.node[MANAGER].m, b->f.now, &to, id, pdu,
                                  sizeof(pdu), fabric_answer, &a));
    fabric_pump(&b->f);
    while (!a.calls) {
        fabric_run(&b->f, SECOND);
        fabric_pump(&b->f);
    }
    if (a.in_vain) {
        return -1;
    }
    *value = ub_mgmt_get(a.data, UB_MF_CFG_DONE_DATA);
    return a.status;
}

static int fm_read(void *opaque, uint32_t cna, uint32_t dw, uint32_t *value)
{
    Bed *b = opaque;

    *value = 0;
    if (b->silent && dw == b->silent) {
        b->silent = 0;
        return -1;
    }
    return ask_register(opaque, cna, UB_MGMT_MSG_CFG0_READ, dw, value);
}

static int fm_write(void *opaque, uint32_t cna, uint32_t dw, uint32_t value)
{
    return ask_register(opaque, cna, UB_MGMT_MSG_CFG0_WRITE, dw, &value);
}

static const UbFmOps fm_ops = { .read = fm_read, .write = fm_write };

static int on_release(void *opaque, UbFm *fm, const bool *leaves, bool gone)
{
    Bed *b = opaque;

    b->released++;
    b->gone = gone;
    b->left = 0;
    for (unsigned i = 0; i < fm->nodes; i++) {
        b->left |= leaves[i] << i;
    }
    return b->says;
}

static void on_tell(void *opaque, const UbFmSlot *s, const char *what, int status)
{
    g_string_append_printf(((Bed *)opaque)->log, " %u:%s:%d", s->slot, what,
                           status);
}

/* ---- Bed ---- */

static void join(Bed *b, unsigned x, unsigned px, unsigned y, unsigned py)
{
    b->port[x][px] = (UbFmPort) { .up = true, .peer = y, .peer_port = py };
    b->port[y][py] = (UbFmPort) { .up = true, .peer = x, .peer_port = px };
}

static Bed *bed_of(bool on, int64_t settle)
{
    Bed *b = g_new0(Bed, 1);
    UbMgmtConfig cfg;

    g_queue_init(&b->f.under_way);
    b->f.now = SECOND;
    for (unsigned i = 0; i < NODES; i++) {
        Node *n;

        ub_mgmt_config_init(&cfg);
        cfg.ports = PORTS;
        cfg.manager = !i;
        n = fabric_add(&b->f, &cfg);
        fabric_identity(n, CNA(i), 0x90 + i, 7);
        ub_slice_set(n->cfg0, UB_CFG0_UBFM_CNA, ~0u, CNA(MANAGER));
        b->node[i] = (UbFmNode) { .guid = n->guid, .cna = CNA(i),
                                  .reached = true, .ports = PORTS,
                                  .port = b->port[i] };
        b->by_guid[i] = i;      /* they ascend */
        for (unsigned p = 0; p < PORTS; p++) {
            b->port[i][p].peer = UB_FM_NONE;
            b->power[p] = true;
        }
    }
    join(b, MANAGER, 0, SWITCH, 0);
    join(b, SWITCH, 1, ONE, 0);
    join(b, SWITCH, 2, TWO, 0);
    join(b, SWITCH, 3, TWO, 1);
    b->fm = (UbFm) { .ops = &fm_ops, .opaque = b, .nodes = NODES,
                     .node = b->node, .by_guid = b->by_guid };
    ub_shp_config_init(&b->cfg);
    b->cfg.settle = settle;
    g_assert_true(ub_shp_config_add(&b->cfg, on ? "1+" : "1"));
    g_assert_true(ub_shp_config_add(&b->cfg, on ? "2-3+" : "2-3"));
    g_assert_null(ub_shp_config_check(&b->cfg, PORTS));
    b->shp = ub_shp_new(&b->cfg, b->f.node[SWITCH].space, b->f.node[SWITCH].m,
                        &shp_ops, b);
    ub_fm_plug_init(&b->plug);
    b->plug.release = on_release;
    b->plug.tell = on_tell;
    b->plug.opaque = b;
    b->log = g_string_new("");
    return b;
}

static Bed *bed_with(bool on)
{
    return bed_of(on, 100 * MS);
}

static void bed_free(Bed *b)
{
    ub_fm_plug_free(&b->plug);
    /* What is given up is empty, and may be so once more. */
    g_assert_cmpuint(b->plug.slots, ==, 0);
    ub_fm_plug_free(&b->plug);
    ub_shp_free(b->shp);
    fabric_free(&b->f);
    g_string_free(b->log, true);
    g_free(b);
}

/* Time goes on at both ends, event by event. */
static void run(Bed *b, int64_t by)
{
    Node *n = &b->f.node[MANAGER];

    for (int64_t end = b->f.now + by; b->f.now < end; b->f.now += 50 * MS) {
        ub_shp_run(b->shp, b->f.now);
        fabric_pump(&b->f);
        if (n->delivered != b->seen) {
            b->seen = n->delivered;
            ub_fm_plug_event(&b->plug, &b->fm, b->f.now, n->addr.scna, n->data,
                             n->len);
        }
        ub_fm_plug_run(&b->plug, &b->fm, b->f.now);
    }
}

static void expect_log(Bed *b, const char *want)
{
    g_assert_cmpstr(b->log->str, ==, want);
    g_string_truncate(b->log, 0);
}

static UbShpInfo look(Bed *b, unsigned slot)
{
    UbShpInfo info;

    g_assert_true(ub_shp_info(b->shp, slot, &info));
    return info;
}

static void expect_leds(Bed *b, unsigned slot, unsigned work, unsigned power)
{
    g_assert_cmpuint(look(b, slot).work_led, ==, work);
    g_assert_cmpuint(look(b, slot).power_led, ==, power);
}

static uint32_t reg(Bed *b, unsigned slot, unsigned r)
{
    return ub_space_read(b->f.node[SWITCH].space, SHP + UB_SHP_REG(slot, r));
}

static void put(Bed *b, unsigned slot, unsigned r, uint32_t value)
{
    ub_space_write(b->f.node[SWITCH].space, b->f.now, SHP + UB_SHP_REG(slot, r),
                   value, 0xf);
}

/* Both slots occupied and managed. */
static Bed *bed_new(void)
{
    Bed *b = bed_with(false);

    g_assert_cmpuint(ub_fm_plug_survey(&b->plug, &b->fm, b->f.now), ==, 0);
    g_assert_cmpuint(b->plug.slots, ==, 2);
    run(b, SECOND);
    ub_shp_wire(b->shp, b->f.now, 1, true);
    run(b, SECOND);
    ub_shp_wire(b->shp, b->f.now, 2, true);
    ub_shp_wire(b->shp, b->f.now, 3, true);
    run(b, SECOND);
    expect_log(b, " 0:in:0 1:in:0");
    return b;
}

/* ---- Tests: registers ---- */

static void test_config(void)
{
    static const char *const wrong[] = {
        "", "-", "x", "1-", "1-2-3", "1 ", "64", "+", "1++", "-1", "99999999999",
    };
    UbShpConfig c;

    for (unsigned i = 0; i < G_N_ELEMENTS(wrong); i++) {
        ub_shp_config_init(&c);
        g_assert_false(ub_shp_config_add(&c, wrong[i]));
        g_assert_cmpuint(c.slots, ==, 0);
    }
    g_assert_true(ub_shp_config_add(&c, "3-2"));
    g_assert_nonnull(ub_shp_config_check(&c, 8));
    ub_shp_config_init(&c);
    g_assert_true(ub_shp_config_add(&c, "1-2"));
    g_assert_null(ub_shp_config_check(&c, 3));
    g_assert_nonnull(ub_shp_config_check(&c, 2));
    g_assert_true(ub_shp_config_add(&c, "2+"));
    g_assert_nonnull(ub_shp_config_check(&c, 3));
    ub_shp_config_init(&c);
    for (unsigned i = 0; i < UB_SHP_SLOTS; i++) {
        char text[8];

        g_snprintf(text, sizeof(text), "%u", i);
        g_assert_true(ub_shp_config_add(&c, text));
    }
    g_assert_false(ub_shp_config_add(&c, "20"));
    g_assert_null(ub_shp_config_check(&c, UB_SHP_SLOTS));
    c.hold = -1;
    g_assert_nonnull(ub_shp_config_check(&c, UB_SHP_SLOTS));
}

static void test_registers(void)
{
    Bed *b = bed_with(false);
    UbSpace *space = b->f.node[SWITCH].space;
    UbShpInfo info;

    g_assert_cmphex(ub_space_read(space, UB_CFG0_CAP_BITMAP) >> UB_CAP_SHP & 1,
                    ==, 1);
    g_assert_cmphex(ub_space_read(space, SHP), ==, 0x22 << 4);
    g_assert_cmphex(ub_space_read(space, SHP + UB_SHP_SLOT_NUMBER), ==, 2);
    for (unsigned slot = 0; slot < 2; slot++) {
        g_assert_cmphex(reg(b, slot, UB_SHP_CAPABILITY), ==, 0x1f);
        g_assert_cmphex(reg(b, slot, UB_SHP_PORTS), ==,
                        slot ? 0x00030002 : 0x00010001);
        for (unsigned r = UB_SHP_PP_CTRL; r < UB_SHP_CAPABILITY + 0x10; r++) {
            bool led = r == UB_SHP_WL_CTRL || r == UB_SHP_PL_CTRL;
            bool control = r <= UB_SHP_PW_CTRL;

            g_assert_cmphex(reg(b, slot, r), ==, 0);
            put(b, slot, r, led ? 2 : ~0u);
            g_assert_cmphex(reg(b, slot, r), ==, led ? 2 : control);
            /* The reserved state of a LED is not entered. */
            put(b, slot, r, ~0u);
            g_assert_cmphex(reg(b, slot, r), ==, led ? 2 : control);
        }
        put(b, slot, UB_SHP_CAPABILITY, 0);
        put(b, slot, UB_SHP_PORTS, 0);
        g_assert_cmphex(reg(b, slot, UB_SHP_CAPABILITY), ==, 0x1f);
        g_assert_cmphex(reg(b, slot, UB_SHP_PORTS) & 0xffff, ==, slot + 1);
    }
    g_assert_false(ub_shp_info(b->shp, 2, &info));
    g_assert_false(ub_shp_info(b->shp, 255, &info));
    bed_free(b);
}

/* Power: after a while ports work; without it they do not, and nothing is there. */
static void test_power(void)
{
    Bed *b = bed_with(false);

    g_assert_cmpint(ub_shp_run(b->shp, b->f.now), ==, INT64_MAX);
    g_assert_false(b->power[1] | b->power[2] | b->power[3]);
    g_assert_true(b->power[0]);
    ub_shp_wire(b->shp, b->f.now, 2, true);
    put(b, 1, UB_SHP_PD_CTRL, 1);
    g_assert_cmphex(reg(b, 1, UB_SHP_PD_ST), ==, 0);
    put(b, 1, UB_SHP_PW_CTRL, 1);
    g_assert_cmpint(ub_shp_run(b->shp, b->f.now), ==, b->f.now + 100 * MS);
    ub_shp_run(b->shp, b->f.now + 100 * MS - 1);
    g_assert_false(b->power[2] | b->power[3] | look(b, 1).power);
    g_assert_cmpint(ub_shp_run(b->shp, b->f.now + 100 * MS), ==, INT64_MAX);
    g_assert_true(b->power[2] && b->power[3] && look(b, 1).power);
    g_assert_false(b->power[1]);
    g_assert_cmphex(reg(b, 1, UB_SHP_PD_ST), ==, 1);
    /* Nobody wanted to know of a change. */
    g_assert_cmphex(reg(b, 1, UB_SHP_PDSC_ST), ==, 0);
    put(b, 1, UB_SHP_PDS_CTRL, 1);
    put(b, 1, UB_SHP_PW_CTRL, 0);
    ub_shp_run(b->shp, b->f.now);
    g_assert_false(b->power[2] | b->power[3]);
    g_assert_cmphex(reg(b, 1, UB_SHP_PD_ST), ==, 0);
    g_assert_cmphex(reg(b, 1, UB_SHP_PDSC_ST), ==, 1);
    put(b, 1, UB_SHP_PDSC_ST, 1);
    g_assert_cmphex(reg(b, 1, UB_SHP_PDSC_ST), ==, 0);
    /* All this in silence. */
    fabric_pump(&b->f);
    g_assert_cmpuint(b->f.node[MANAGER].delivered, ==, 0);
    bed_free(b);
    /* With power from the start, and again after a reset. */
    b = bed_with(true);
    ub_shp_run(b->shp, b->f.now);
    g_assert_true(b->power[1] && b->power[2] && look(b, 0).power);
    put(b, 0, UB_SHP_PW_CTRL, 0);
    ub_shp_run(b->shp, b->f.now);
    g_assert_false(b->power[1]);
    ub_space_reset(b->f.node[SWITCH].space, UB_SPACE_RESET_DEVICE, 0);
    ub_shp_reset(b->shp, b->f.now);
    ub_shp_run(b->shp, b->f.now);
    ub_shp_run(b->shp, b->f.now + 100 * MS);
    g_assert_true(b->power[1]);
    bed_free(b);
}

/* Power that goes and comes between two runs was away, however soon it is good. */
static void test_power_cycle(void)
{
    for (unsigned i = 0; i < 2; i++) {
        int64_t settle = i * 100 * MS;
        Bed *b = bed_of(true, settle);
        int64_t now = b->f.now;

        put(b, 0, UB_SHP_PD_CTRL, 1);
        put(b, 0, UB_SHP_PDS_CTRL, 1);
        ub_shp_wire(b->shp, now, 1, true);
        ub_shp_run(b->shp, now);
        put(b, 0, UB_SHP_PDSC_ST, 1);
        g_assert_true(b->power[1] && look(b, 0).power);
        g_assert_cmphex(reg(b, 0, UB_SHP_PD_ST), ==, 1);
        b->cuts = 0;
        put(b, 0, UB_SHP_PW_CTRL, 0);
        g_assert_cmphex(reg(b, 0, UB_SHP_PD_ST), ==, 0);
        g_assert_false(look(b, 0).power);
        put(b, 0, UB_SHP_PW_CTRL, 1);
        /* It is not to be touched from now on. */
        g_assert_nonnull(ub_shp_seat(b->shp, now, 0, false, false));
        ub_shp_run(b->shp, now);
        g_assert_cmpuint(b->cuts, ==, 1);
        g_assert_true(b->power[1] == !settle);
        ub_shp_run(b->shp, now + settle);
        g_assert_cmpuint(b->cuts, ==, 1);
        g_assert_true(b->power[1] && look(b, 0).power);
        g_assert_cmphex(reg(b, 0, UB_SHP_PD_ST), ==, 1);
        g_assert_cmphex(reg(b, 0, UB_SHP_PDSC_ST), ==, 1);
        bed_free(b);
    }
}

/* Who is told of changes is not told of what nobody sees. */
static void test_changes(void)
{
    Bed *b = bed_with(false);

    ub_shp_run(b->shp, b->f.now);
    ub_shp_reset(b->shp, b->f.now);
    g_assert_cmpuint(b->changes, ==, 0);
    for (unsigned i = 1; i <= 10; i++) {
        put(b, 1, UB_SHP_MS_CTRL, i & 1);
        put(b, 1, UB_SHP_PDS_CTRL, i & 1);
        put(b, 1, UB_SHP_PD_CTRL, i & 1);
        g_assert_cmpuint(b->changes, ==, i - 1);
        put(b, 1, UB_SHP_WL_CTRL, i & 1 ? UB_SHP_LED_ON : UB_SHP_LED_BLINK);
        g_assert_cmpuint(b->changes, ==, i);
    }
    b->changes = 0;
    put(b, 0, UB_SHP_PP_CTRL, 1);
    g_assert_cmpuint(b->changes, ==, 1);
    g_assert_null(ub_shp_press(b->shp, b->f.now, 0));
    put(b, 0, UB_SHP_PP_ST, 1);
    g_assert_cmpuint(b->changes, ==, 1);
    g_assert_null(ub_shp_seat(b->shp, b->f.now, 0, false, false));
    g_assert_cmpuint(b->changes, ==, 2);
    bed_free(b);
}

/* A byte stream that comes back soon was not away; hands are quicker. */
static void test_presence(void)
{
    Bed *b = bed_with(true);
    int64_t now = b->f.now;

    put(b, 1, UB_SHP_PD_CTRL, 1);
    put(b, 1, UB_SHP_PDS_CTRL, 1);
    put(b, 1, UB_SHP_MS_CTRL, 1);
    ub_shp_wire(b->shp, now, 2, true);
    ub_shp_wire(b->shp, now, 3, true);
    ub_shp_run(b->shp, now);
    g_assert_cmphex(reg(b, 1, UB_SHP_PD_ST), ==, 1);
    fabric_pump(&b->f);
    g_assert_cmpuint(b->f.node[MANAGER].delivered, ==, 1);
    /* Code 1, sub-code 3, of slot 1. */
    g_assert_cmphex(b->f.node[MANAGER].data[0], ==, 0x32);
    g_assert_cmpuint(b->f.node[MANAGER].len, ==, 12);
    g_assert_cmphex(get_be32(b->f.node[MANAGER].data + 4), ==, 1);
    g_assert_cmphex(get_be32(b->f.node[MANAGER].data + 8), ==, 0);
    ub_shp_wire(b->shp, now, 2, false);
    g_assert_cmpint(ub_shp_run(b->shp, now), ==, INT64_MAX);
    ub_shp_wire(b->shp, now, 3, false);
    g_assert_cmpint(ub_shp_run(b->shp, now), ==, now + SECOND);
    ub_shp_run(b->shp, now + SECOND - 1);
    g_assert_cmphex(reg(b, 1, UB_SHP_PD_ST), ==, 1);
    ub_shp_wire(b->shp, now + SECOND - 1, 3, true);
    ub_shp_run(b->shp, now + 2 * SECOND);
    g_assert_cmphex(reg(b, 1, UB_SHP_PD_ST), ==, 1);
    ub_shp_wire(b->shp, now + 2 * SECOND, 3, false);
    ub_shp_run(b->shp, now + 3 * SECOND);
    g_assert_cmphex(reg(b, 1, UB_SHP_PD_ST), ==, 0);
    ub_shp_wire(b->shp, now + 3 * SECOND, 3, true);
    ub_shp_run(b->shp, now + 3 * SECOND);
    g_assert_cmphex(reg(b, 1, UB_SHP_PD_ST), ==, 1);
    fabric_pump(&b->f);
    g_assert_cmpuint(b->f.node[MANAGER].delivered, ==, 3);
    /* By hand: not while there is power, but for who insists. */
    g_assert_nonnull(ub_shp_seat(b->shp, now, 1, false, false));
    g_assert_nonnull(ub_shp_seat(b->shp, now, 1, true, true));
    g_assert_nonnull(ub_shp_seat(b->shp, now, 2, false, true));
    g_assert_null(ub_shp_seat(b->shp, now, 1, false, true));
    ub_shp_run(b->shp, now + 3 * SECOND);
    g_assert_cmphex(reg(b, 1, UB_SHP_PD_ST), ==, 0);
    g_assert_false(b->power[2] || b->power[3] || look(b, 1).seated);
    g_assert_nonnull(ub_shp_seat(b->shp, now, 1, false, true));
    g_assert_null(ub_shp_seat(b->shp, now, 1, true, true));
    ub_shp_run(b->shp, now + 3 * SECOND);
    g_assert_cmphex(reg(b, 1, UB_SHP_PD_ST), ==, 1);
    g_assert_true(b->power[2] && b->power[3]);
    /* Of the other slot nobody wanted to know anything. */
    g_assert_cmphex(reg(b, 0, UB_SHP_PD_ST), ==, 0);
    bed_free(b);
}

static void test_button(void)
{
    Bed *b = bed_with(true);
    Node *fm = &b->f.node[MANAGER];

    g_assert_nonnull(ub_shp_press(b->shp, b->f.now, 2));
    g_assert_nonnull(ub_shp_press(b->shp, b->f.now, 1));
    g_assert_cmphex(reg(b, 1, UB_SHP_PP_ST), ==, 0);
    put(b, 1, UB_SHP_PP_CTRL, 1);
    g_assert_null(ub_shp_press(b->shp, b->f.now, 1));
    g_assert_cmphex(reg(b, 1, UB_SHP_PP_ST), ==, 1);
    fabric_pump(&b->f);
    g_assert_cmpuint(fm->delivered, ==, 0);
    put(b, 1, UB_SHP_PP_ST, 1);
    g_assert_cmphex(reg(b, 1, UB_SHP_PP_ST), ==, 0);
    put(b, 1, UB_SHP_MS_CTRL, 1);
    g_assert_null(ub_shp_press(b->shp, b->f.now, 1));
    fabric_pump(&b->f);
    g_assert_cmpuint(fm->delivered, ==, 1);
    g_assert_cmphex(fm->data[0], ==, 0x22);
    g_assert_cmphex(get_be32(fm->data + 4), ==, 1);
    g_assert_cmphex(fm->addr.scna, ==, CNA(SWITCH));
    bed_free(b);
}

static void test_image(void)
{
    Bed *b = bed_new(), *c;
    CoreImage *im;
    uint32_t words;
    uint8_t *data;
    size_t len;

    g_assert_null(ub_shp_seat(b->shp, b->f.now, 1, false, true));
    put(b, 0, UB_SHP_PW_CTRL, 0);
    ub_shp_run(b->shp, b->f.now);
    put(b, 0, UB_SHP_PW_CTRL, 1);
    ub_shp_run(b->shp, b->f.now);
    im = core_image_save(b->f.now);
    ub_shp_image(b->shp, im);
    data = core_image_take(im, &len);
    core_image_free(im);
    /* Half a second later there: power after its time, and the device is held to be
     * there until its byte stream had time to come. */
    c = bed_with(false);
    words = ub_space_state_words(b->f.node[SWITCH].space);
    memcpy(ub_space_state(c->f.node[SWITCH].space),
           ub_space_state(b->f.node[SWITCH].space), 4 * words);
    im = core_image_load(data, len, c->f.now);
    ub_shp_image(c->shp, im);
    g_assert_null(core_image_done(im));
    core_image_free(im);
    g_assert_cmpint(ub_shp_run(c->shp, c->f.now), ==, c->f.now + 100 * MS);
    g_assert_false(look(c, 1).seated);
    ub_shp_run(c->shp, c->f.now + 100 * MS);
    g_assert_true(look(c, 0).power && look(c, 0).present);
    g_assert_false(look(c, 1).present);
    ub_shp_run(c->shp, c->f.now + SECOND);
    g_assert_false(look(c, 0).present);
    bed_free(c);
    /* Of other slots; and one that is cut. */
    c = bed_with(false);
    c->cfg.slots = 1;
    ub_shp_free(c->shp);
    c->shp = ub_shp_new(&c->cfg, c->f.node[ONE].space, c->f.node[ONE].m,
                        &shp_ops, c);
    im = core_image_load(data, len, c->f.now);
    ub_shp_image(c->shp, im);
    g_assert_nonnull(core_image_done(im));
    core_image_free(im);
    bed_free(c);
    for (size_t cut = 0; cut < len; cut++) {
        c = bed_with(false);
        im = core_image_load(data, cut, c->f.now);
        ub_shp_image(c->shp, im);
        core_image_done(im);
        core_image_free(im);
        ub_shp_run(c->shp, c->f.now);
        bed_free(c);
    }
    g_free(data);
    bed_free(b);
}

/* Where the space keeps a LED. */
static uint32_t *kept_led(Bed *b, unsigned slot, unsigned r)
{
    uint32_t *state = ub_space_state(b->f.node[SWITCH].space), *found = NULL;
    unsigned words = ub_space_state_words(b->f.node[SWITCH].space);
    g_autofree uint32_t *was = g_memdup2(state, 4 * words);

    g_assert_cmphex(reg(b, slot, r), ==, UB_SHP_LED_OFF);
    put(b, slot, r, UB_SHP_LED_ON);
    for (unsigned i = 0; i < words; i++) {
        if (state[i] != was[i]) {
            g_assert_null(found);
            found = &state[i];
        }
    }
    g_assert_nonnull(found);
    return found;
}

/* Registers of an image may be anything, also of one that says nothing of slots. */
static void test_image_leds(void)
{
    static const uint32_t wrong[] = { 3, 4, 0x7fffffff, UINT32_MAX };
    static const uint8_t leds[] = { UB_SHP_WL_CTRL, UB_SHP_PL_CTRL };
    Bed *b = bed_with(false);
    CoreImage *im = core_image_save(b->f.now);
    uint8_t *data;
    size_t len;

    ub_shp_image(b->shp, im);
    data = core_image_take(im, &len);
    core_image_free(im);
    bed_free(b);
    for (unsigned i = 0; i < 2 * G_N_ELEMENTS(wrong); i++) {
        for (unsigned cut = 0; cut < 2; cut++) {
            uint32_t *word;

            b = bed_with(false);
            word = kept_led(b, i & 1, leds[i & 1]);
            for (unsigned good = 0; good < 2; good++) {
                const char *why;

                *word = good ? UB_SHP_LED_BLINK : wrong[i / 2];
                im = core_image_load(data, cut ? 0 : len, b->f.now);
                ub_shp_image(b->shp, im);
                why = core_image_done(im);
                g_assert_true(good ? !why : why && strstr(why, "LED"));
                core_image_free(im);
                g_assert_cmpuint(look(b, i & 1).work_led, <,
                                 UB_SHP_LED_RESERVED);
                g_assert_cmpuint(look(b, i & 1).power_led, <,
                                 UB_SHP_LED_RESERVED);
            }
            bed_free(b);
        }
    }
    g_free(data);
}

/* ---- Tests: the manager ---- */

/* Slots are taken over: those without power get it, and keep it where there is
 * something. */
static void test_survey(void)
{
    Bed *b = bed_with(false);

    ub_shp_wire(b->shp, b->f.now, 1, true);
    g_assert_cmpuint(ub_fm_plug_survey(&b->plug, &b->fm, b->f.now), ==, 0);
    run(b, SECOND);
    expect_log(b, " 0:in:0");
    expect_leds(b, 0, UB_SHP_LED_OFF, UB_SHP_LED_ON);
    expect_leds(b, 1, UB_SHP_LED_OFF, UB_SHP_LED_BLINK);
    g_assert_true(look(b, 1).power && look(b, 1).heard);
    run(b, 10 * SECOND);
    expect_log(b, " 1:empty:0");
    expect_leds(b, 1, UB_SHP_LED_OFF, UB_SHP_LED_OFF);
    g_assert_false(look(b, 1).power);
    /* What is managed is left as it is; what began anew is taken over again. */
    g_assert_cmpuint(ub_fm_plug_survey(&b->plug, &b->fm, b->f.now), ==, 0);
    run(b, SECOND);
    expect_log(b, "");
    ub_space_reset(b->f.node[SWITCH].space, UB_SPACE_RESET_DEVICE, 0);
    fabric_identity(&b->f.node[SWITCH], CNA(SWITCH), 0x91, 7);
    ub_slice_set(b->f.node[SWITCH].cfg0, UB_CFG0_UBFM_CNA, ~0u, CNA(MANAGER));
    ub_shp_reset(b->shp, b->f.now);
    ub_shp_run(b->shp, b->f.now);
    g_assert_false(b->power[1]);
    g_assert_cmpuint(ub_fm_plug_survey(&b->plug, &b->fm, b->f.now), ==, 0);
    g_assert_cmpuint(b->plug.slots, ==, 2);
    run(b, SECOND);
    expect_log(b, " 0:in:0");
    /* A node that is gone has no slots; a stranger is asked nothing. */
    b->fm.nodes = SWITCH;
    ub_fm_plug_survey(&b->plug, &b->fm, b->f.now);
    g_assert_cmpuint(b->plug.slots, ==, 0);
    b->fm.nodes = NODES;
    b->node[SWITCH].stranger = true;
    ub_fm_plug_survey(&b->plug, &b->fm, b->f.now);
    g_assert_cmpuint(b->plug.slots, ==, 0);
    bed_free(b);
}

/* Out and in again, as appendix G has it. */
static void test_flow(void)
{
    Bed *b = bed_new();

    g_assert_null(ub_shp_press(b->shp, b->f.now, 1));
    run(b, SECOND);
    expect_log(b, " 1:leaving:0");
    expect_leds(b, 1, UB_SHP_LED_OFF, UB_SHP_LED_BLINK);
    expect_leds(b, 0, UB_SHP_LED_OFF, UB_SHP_LED_ON);
    g_assert_cmpuint(b->released, ==, 0);
    g_assert_nonnull(ub_shp_seat(b->shp, b->f.now, 1, false, false));
    run(b, 5 * SECOND);
    expect_log(b, " 1:out:0");
    g_assert_cmpuint(b->released, ==, 1);
    g_assert_cmphex(b->left, ==, 1 << TWO);
    g_assert_false(b->gone);
    expect_leds(b, 1, UB_SHP_LED_BLINK, UB_SHP_LED_OFF);
    g_assert_false(b->power[2] | b->power[3]);
    g_assert_null(ub_shp_seat(b->shp, b->f.now, 1, false, false));
    run(b, SECOND);
    /* An empty slot gets power in vain, and says so. */
    g_assert_null(ub_shp_press(b->shp, b->f.now, 1));
    run(b, 16 * SECOND);
    expect_log(b, " 1:coming:0 1:power:0 1:empty:0");
    expect_leds(b, 1, UB_SHP_LED_ON, UB_SHP_LED_OFF);
    g_assert_null(ub_shp_seat(b->shp, b->f.now, 1, true, false));
    g_assert_null(ub_shp_press(b->shp, b->f.now, 1));
    run(b, SECOND);
    expect_log(b, " 1:coming:0");
    expect_leds(b, 1, UB_SHP_LED_OFF, UB_SHP_LED_BLINK);
    g_assert_false(look(b, 1).power);
    run(b, 5 * SECOND);
    expect_log(b, " 1:power:0 1:in:0");
    expect_leds(b, 1, UB_SHP_LED_OFF, UB_SHP_LED_ON);
    g_assert_true(b->power[2] && b->power[3]);
    g_assert_cmpuint(b->released, ==, 1);
    bed_free(b);
}

/* A second press calls off the first. */
static void test_cancel(void)
{
    Bed *b = bed_new();

    for (unsigned i = 0; i < 2; i++) {
        g_assert_null(ub_shp_press(b->shp, b->f.now, 0));
        run(b, 4 * SECOND);
    }
    expect_log(b, " 0:leaving:0 0:called off:0");
    run(b, 10 * SECOND);
    expect_log(b, "");
    expect_leds(b, 0, UB_SHP_LED_OFF, UB_SHP_LED_ON);
    g_assert_cmpuint(b->released, ==, 0);
    g_assert_null(ub_shp_press(b->shp, b->f.now, 0));
    run(b, 6 * SECOND);
    expect_log(b, " 0:leaving:0 0:out:0");
    for (unsigned i = 0; i < 2; i++) {
        g_assert_null(ub_shp_press(b->shp, b->f.now, 0));
        run(b, 4 * SECOND);
    }
    expect_log(b, " 0:coming:0 0:called off:0");
    run(b, 20 * SECOND);
    expect_log(b, "");
    expect_leds(b, 0, UB_SHP_LED_OFF, UB_SHP_LED_OFF);
    g_assert_false(b->power[1]);
    bed_free(b);
}

/* What cannot be let go of stays, and so does what the manager itself is behind. */
static void test_refused(void)
{
    Bed *b = bed_new();

    b->says = UB_MGMT_BUSY;
    g_assert_null(ub_shp_press(b->shp, b->f.now, 0));
    run(b, 6 * SECOND);
    expect_log(b, " 0:leaving:0 0:refused:35");
    expect_leds(b, 0, UB_SHP_LED_ON, UB_SHP_LED_ON);
    g_assert_true(b->power[1]);
    b->says = 0;
    /* The manager's own way to the switch. */
    b->port[SWITCH][0].peer = b->port[MANAGER][0].peer = UB_FM_NONE;
    join(b, MANAGER, 0, SWITCH, 1);
    b->released = 0;
    g_assert_null(ub_shp_press(b->shp, b->f.now, 0));
    run(b, 6 * SECOND);
    expect_log(b, " 0:leaving:0 0:refused:33");
    g_assert_true(b->power[1]);
    g_assert_cmpuint(b->released, ==, 0);
    bed_free(b);
}

/* Pulled out without a word; and put back. */
static void test_surprise(void)
{
    Bed *b = bed_new();

    g_assert_null(ub_shp_seat(b->shp, b->f.now, 0, false, true));
    run(b, SECOND);
    expect_log(b, " 0:pulled out:0");
    g_assert_cmphex(b->left, ==, 1 << ONE);
    g_assert_true(b->gone);
    expect_leds(b, 0, UB_SHP_LED_OFF, UB_SHP_LED_OFF);
    g_assert_false(look(b, 0).power);
    g_assert_null(ub_shp_seat(b->shp, b->f.now, 0, true, false));
    run(b, SECOND);
    expect_log(b, "");
    g_assert_null(ub_shp_press(b->shp, b->f.now, 0));
    run(b, 6 * SECOND);
    expect_log(b, " 0:coming:0 0:power:0 0:in:0");
    bed_free(b);
}

/* Which nodes a slot has: not those with another way. */
static void test_behind(void)
{
    Bed *b = bed_with(true);
    bool leaves[NODES];

    g_assert_true(ub_fm_plug_behind(&b->fm, SWITCH, 2, 2, leaves));
    g_assert_false(leaves[TWO]);
    g_assert_true(ub_fm_plug_behind(&b->fm, SWITCH, 2, 3, leaves));
    g_assert_true(leaves[TWO]);
    g_assert_false(leaves[ONE] || leaves[SWITCH] || leaves[MANAGER]);
    /* A chain goes along. */
    join(b, TWO, 2, ONE, 2);
    b->port[SWITCH][1].peer = b->port[ONE][0].peer = UB_FM_NONE;
    g_assert_true(ub_fm_plug_behind(&b->fm, SWITCH, 2, 3, leaves));
    g_assert_true(leaves[TWO] && leaves[ONE]);
    g_assert_false(ub_fm_plug_behind(&b->fm, SWITCH, 0, 0, leaves));
    /* Whatever was said of the manager before: it stays. */
    leaves[MANAGER] = true;
    g_assert_false(ub_fm_plug_behind(&b->fm, SWITCH, 0, 3, leaves));
    g_assert_false(leaves[MANAGER]);
    g_assert_true(leaves[SWITCH] && leaves[ONE] && leaves[TWO]);
    bed_free(b);
}

/* What anybody may send: the registers have the last word. */
static void test_forged(void)
{
    Bed *b = bed_new();
    uint64_t rng = 5;
    uint8_t data[UB_MGMT_ETAH + 8] = { 0x22, 0, 0, 8 };

    /* A button that nobody pressed, presence that is as it was. */
    for (unsigned sub = 2; sub < 4; sub++) {
        data[0] = sub << 4 | 1 << 1;
        g_assert_false(ub_fm_plug_event(&b->plug, &b->fm, b->f.now, CNA(SWITCH),
                                        data, sizeof(data)));
    }
    g_assert_null(ub_shp_press(b->shp, b->f.now, 0));
    g_queue_clear_full(&b->f.under_way, g_free);
    data[0] = 0x22;
    /* Not of this node, of this slot, of this kind, nor whole. */
    g_assert_false(ub_fm_plug_event(&b->plug, &b->fm, b->f.now, CNA(ONE), data,
                                    sizeof(data)));
    for (unsigned len = 0; len < UB_MGMT_ETAH + 4; len++) {
        g_assert_false(ub_fm_plug_event(&b->plug, &b->fm, b->f.now, CNA(SWITCH), data,
                                        len));
    }
    for (unsigned i = 0; i < 3000; i++) {
        uint8_t noise[UB_MGMT_ETAH + 8];

        for (unsigned k = 0; k < sizeof(noise); k++) {
            noise[k] = core_random(&rng) >> 9;
        }
        noise[6] |= 1;  /* of a slot that is not there */
        ub_fm_plug_event(&b->plug, &b->fm, b->f.now,
                         core_random(&rng) % 8 + 0x40, noise, sizeof(noise));
    }
    expect_log(b, "");
    /* What was lost is believed when it comes again. */
    g_assert_true(ub_fm_plug_event(&b->plug, &b->fm, b->f.now, CNA(SWITCH), data,
                                   sizeof(data)));
    expect_log(b, " 0:leaving:0");
    bed_free(b);
}

/* A device whose presence is lost on the way is found when its time is over. */
static void test_lost_event(void)
{
    Bed *b = bed_with(false);

    ub_shp_wire(b->shp, b->f.now, 1, true);
    g_assert_cmpuint(ub_fm_plug_survey(&b->plug, &b->fm, b->f.now), ==, 0);
    put(b, 0, UB_SHP_MS_CTRL, 0);
    run(b, 9 * SECOND);
    expect_log(b, "");
    run(b, 2 * SECOND);
    expect_log(b, " 0:in:0 1:empty:0");
    bed_free(b);
}

/* An answer that is lost does not say that a slot is empty. */
static void test_lost_answer(void)
{
    Bed *b = bed_with(false);

    ub_shp_wire(b->shp, b->f.now, 1, true);
    g_assert_cmpuint(ub_fm_plug_survey(&b->plug, &b->fm, b->f.now), ==, 0);
    put(b, 0, UB_SHP_MS_CTRL, 0);
    b->silent = SHP + UB_SHP_REG(0, UB_SHP_PD_ST);
    run(b, 11 * SECOND);
    g_assert_cmphex(b->silent, ==, 0);
    expect_log(b, " 1:empty:0");
    g_assert_true(b->power[1]);
    g_assert_cmpuint(b->plug.slot[0].state, ==, UB_FM_SLOT_STARTING);
    run(b, 10 * SECOND);
    expect_log(b, " 0:in:0");
    g_assert_true(b->power[1]);
    bed_free(b);
}

/* A slot of which a register did not answer is taken over by the next survey. */
static void test_half_armed(void)
{
    static const uint8_t silent[] = { UB_SHP_PORTS, UB_SHP_PW_CTRL, UB_SHP_PD_ST };

    for (unsigned i = 0; i < G_N_ELEMENTS(silent); i++) {
        Bed *b = bed_with(true);

        ub_shp_wire(b->shp, b->f.now, 1, true);
        b->silent = SHP + UB_SHP_REG(0, silent[i]);
        g_assert_cmpuint(ub_fm_plug_survey(&b->plug, &b->fm, b->f.now), ==, 1);
        g_assert_cmpuint(b->plug.slot[0].state, ==, UB_FM_SLOT_EMPTY);
        expect_log(b, "");
        g_assert_cmpuint(ub_fm_plug_survey(&b->plug, &b->fm, b->f.now), ==, 0);
        g_assert_cmpuint(b->plug.slot[0].state, ==, UB_FM_SLOT_WORKS);
        expect_log(b, " 0:in:0");
        bed_free(b);
    }
}

/* Events whose messages nobody got are found by the next survey. */
static void test_lost_messages(void)
{
    Bed *b = bed_new();

    g_assert_null(ub_shp_press(b->shp, b->f.now, 0));
    g_assert_null(ub_shp_seat(b->shp, b->f.now, 1, false, true));
    ub_shp_run(b->shp, b->f.now);
    g_assert_cmpuint(b->f.under_way.length, >, 0);
    g_queue_clear_full(&b->f.under_way, g_free);
    run(b, SECOND);
    expect_log(b, "");
    g_assert_cmpuint(ub_fm_plug_survey(&b->plug, &b->fm, b->f.now), ==, 0);
    expect_log(b, " 0:leaving:0 1:pulled out:0");
    g_assert_cmphex(b->left, ==, 1 << TWO);
    g_assert_cmphex(reg(b, 0, UB_SHP_PP_ST) | reg(b, 1, UB_SHP_PDSC_ST), ==, 0);
    g_assert_cmpuint(ub_fm_plug_survey(&b->plug, &b->fm, b->f.now), ==, 0);
    expect_log(b, "");
    run(b, 6 * SECOND);
    expect_log(b, " 0:out:0");
    bed_free(b);
    /* The message came, but the answer that says what is there did not. */
    b = bed_new();
    g_assert_null(ub_shp_seat(b->shp, b->f.now, 0, false, true));
    b->silent = SHP + UB_SHP_REG(0, UB_SHP_PD_ST);
    run(b, SECOND);
    g_assert_cmphex(b->silent, ==, 0);
    expect_log(b, "");
    g_assert_cmpuint(ub_fm_plug_survey(&b->plug, &b->fm, b->f.now), ==, 0);
    expect_log(b, " 0:pulled out:0");
    bed_free(b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/shp/config", test_config);
    g_test_add_func("/ub/shp/registers", test_registers);
    g_test_add_func("/ub/shp/power", test_power);
    g_test_add_func("/ub/shp/power-cycle", test_power_cycle);
    g_test_add_func("/ub/shp/changes", test_changes);
    g_test_add_func("/ub/shp/presence", test_presence);
    g_test_add_func("/ub/shp/button", test_button);
    g_test_add_func("/ub/shp/image", test_image);
    g_test_add_func("/ub/shp/image-leds", test_image_leds);
    g_test_add_func("/ub/fm-plug/survey", test_survey);
    g_test_add_func("/ub/fm-plug/flow", test_flow);
    g_test_add_func("/ub/fm-plug/cancel", test_cancel);
    g_test_add_func("/ub/fm-plug/refused", test_refused);
    g_test_add_func("/ub/fm-plug/surprise", test_surprise);
    g_test_add_func("/ub/fm-plug/behind", test_behind);
    g_test_add_func("/ub/fm-plug/forged", test_forged);
    g_test_add_func("/ub/fm-plug/lost-event", test_lost_event);
    g_test_add_func("/ub/fm-plug/lost-answer", test_lost_answer);
    g_test_add_func("/ub/fm-plug/lost-messages", test_lost_messages);
    g_test_add_func("/ub/fm-plug/half-armed", test_half_armed);
    return g_test_run();
}
