/*
 * Hot-plug slots alone (UB 2.0 appendix G): configuration, times to the nanosecond,
 * each port of a slot, what images keep.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "mgmt-fabric.h"
#include "ub/shp.h"

#define PORTS 8
#define SHP UB_CFG_CAP(UB_CFG0_BASE, UB_CAP_SHP)
#define SETTLE 700
#define HOLD 900

typedef struct Bed {
    Fabric f;
    Node *n;
    UbShp *shp;
    unsigned on[PORTS], off[PORTS]; /* how often */
    unsigned kicks, changes[UB_SHP_SLOTS];
} Bed;

static void on_power(void *opaque, int64_t now, unsigned port, bool on)
{
    Bed *b = opaque;

    g_assert_cmpuint(port, <, PORTS);
    (on ? b->on : b->off)[port]++;
}

static void on_kick(void *opaque)
{
    ((Bed *)opaque)->kicks++;
}

static void on_changed(void *opaque, unsigned slot)
{
    ((Bed *)opaque)->changes[slot]++;
}

static const UbShpOps shp_ops = {
    .power = on_power, .kick = on_kick, .changed = on_changed,
};

/* @slots: in the words of ub_shp_config_add(). */
static Bed *bed_new(const char *const *slots)
{
    Bed *b = g_new0(Bed, 1);
    UbMgmtConfig cfg;
    UbShpConfig shp;

    g_queue_init(&b->f.under_way);
    b->f.now = SECOND;
    ub_mgmt_config_init(&cfg);
    cfg.ports = PORTS;
    b->n = fabric_add(&b->f, &cfg);
    fabric_identity(b->n, 0x10, 0x20, 5);
    ub_shp_config_init(&shp);
    shp.settle = SETTLE;
    shp.hold = HOLD;
    for (; *slots; slots++) {
        g_assert_true(ub_shp_config_add(&shp, *slots));
    }
    g_assert_null(ub_shp_config_check(&shp, PORTS));
    b->shp = ub_shp_new(&shp, b->n->space, b->n->m, &shp_ops, b);
    g_assert_cmpuint(ub_shp_slots(b->shp), ==, shp.slots);
    return b;
}

static void bed_free(Bed *b)
{
    ub_shp_free(b->shp);
    fabric_free(&b->f);
    g_free(b);
}

static uint32_t reg(Bed *b, unsigned slot, unsigned r)
{
    return ub_space_read(b->n->space, SHP + UB_SHP_REG(slot, r));
}

static void put(Bed *b, unsigned slot, unsigned r, uint32_t value)
{
    ub_space_write(b->n->space, b->f.now, SHP + UB_SHP_REG(slot, r), value, 0xf);
}

static UbShpInfo look(Bed *b, unsigned slot)
{
    UbShpInfo info;

    g_assert_true(ub_shp_info(b->shp, slot, &info));
    return info;
}

/* All of a slot is wanted. */
static void manage(Bed *b, unsigned slot)
{
    put(b, slot, UB_SHP_PD_CTRL, 1);
    put(b, slot, UB_SHP_PDS_CTRL, 1);
    put(b, slot, UB_SHP_MS_CTRL, 1);
}

/* ---- Configuration ---- */

static void test_words(void)
{
    static const struct {
        const char *text;
        int first, last;    /* -1: refused */
        bool on;
    } rows[] = {
        { "0", 0, 0, false }, { "0+", 0, 0, true }, { "63", 63, 63, false },
        { "0-63", 0, 63, false }, { "7-9+", 7, 9, true }, { "64", -1 },
        { "0-64", -1 }, { "256", -1 }, { "0-256", -1 }, { "+1", -1 },
        { "1+2", -1 }, { "1-+", -1 }, { "1,2", -1 }, { "-", -1 }, { " 1", -1 },
        { "1- 2", -1 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        UbShpConfig c;

        ub_shp_config_init(&c);
        g_assert_true(ub_shp_config_add(&c, rows[i].text) == (rows[i].first >= 0));
        g_assert_cmpuint(c.slots, ==, rows[i].first >= 0);
        if (rows[i].first >= 0) {
            g_assert_cmpint(c.slot[0].first, ==, rows[i].first);
            g_assert_cmpint(c.slot[0].last, ==, rows[i].last);
            g_assert_true(c.slot[0].on == rows[i].on);
            g_assert_null(ub_shp_config_check(&c, 64));
        }
    }
}

static void test_rules(void)
{
    static const struct {
        const char *slots[4];
        unsigned ports;
        bool good;
    } rows[] = {
        { { NULL }, 1, true },
        { { "0" }, 1, true }, { { "1" }, 1, false }, { { "0-1" }, 2, true },
        { { "0-2" }, 2, false }, { { "1-1" }, 2, true }, { { "1-0" }, 2, false },
        /* A port is in one slot, the first and the last, too. */
        { { "0", "0" }, 8, false }, { { "0-2", "2" }, 8, false },
        { { "0-2", "3" }, 8, true }, { { "3", "0-2" }, 8, true },
        { { "3", "0-3" }, 8, false }, { { "63", "63" }, 64, false },
        { { "31", "63" }, 64, true }, { { "32", "0" }, 64, true },
        { { "4", "5", "4" }, 64, false },
    };
    UbShpConfig c;

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        ub_shp_config_init(&c);
        for (unsigned n = 0; rows[i].slots[n]; n++) {
            g_assert_true(ub_shp_config_add(&c, rows[i].slots[n]));
        }
        g_assert_true(!ub_shp_config_check(&c, rows[i].ports) == rows[i].good);
    }
    ub_shp_config_init(&c);
    g_assert_cmpint(c.settle, ==, 100000000);
    g_assert_cmpint(c.hold, ==, SECOND);
    c.settle = c.hold = 0;
    g_assert_null(ub_shp_config_check(&c, 1));
    c.settle = -1;
    g_assert_nonnull(ub_shp_config_check(&c, 1));
    c.settle = 0;
    c.hold = -1;
    g_assert_nonnull(ub_shp_config_check(&c, 1));
    c.hold = 0;
    c.slots = UB_SHP_SLOTS + 1;
    g_assert_cmpstr(ub_shp_config_check(&c, 64), ==, "there are at most 15 slots");
}

/* As many slots as there can be, each with its ports and its place. */
static void test_all(void)
{
    static const char *const slots[] = { "0", "1", "2", "3-4", "5", "6", "7", NULL };
    Bed *b = bed_new(slots);
    UbShpInfo info;

    g_assert_cmphex(ub_space_read(b->n->space, SHP), ==, UB_SHP_USED(7) << 4);
    for (unsigned i = 0; i < 7; i++) {
        unsigned first = i + (i > 3), last = i + (i > 2);

        g_assert_cmphex(reg(b, i, UB_SHP_PORTS), ==, last << 16 | first);
        info = look(b, i);
        g_assert_cmpuint(info.first, ==, first);
        g_assert_cmpuint(info.last, ==, last);
        g_assert_true(info.seated && !info.power && !info.present && !info.heard);
        put(b, i, UB_SHP_WL_CTRL, UB_SHP_LED_ON);
        put(b, i, UB_SHP_PL_CTRL, UB_SHP_LED_BLINK);
        put(b, i, UB_SHP_PP_CTRL, 1);
        info = look(b, i);
        g_assert_cmpuint(info.work_led, ==, UB_SHP_LED_ON);
        g_assert_cmpuint(info.power_led, ==, UB_SHP_LED_BLINK);
        g_assert_true(info.heard);
        for (unsigned j = 0; j < 7; j++) {
            g_assert_cmpuint(b->changes[j], ==, j <= i ? 3 : 0);
        }
        /* The reserved state leaves what was, and nobody is told. */
        put(b, i, UB_SHP_WL_CTRL, UB_SHP_LED_RESERVED);
        put(b, i, UB_SHP_PL_CTRL, UB_SHP_LED_RESERVED);
        g_assert_cmphex(reg(b, i, UB_SHP_WL_CTRL), ==, UB_SHP_LED_ON);
        g_assert_cmphex(reg(b, i, UB_SHP_PL_CTRL), ==, UB_SHP_LED_BLINK);
        put(b, i, UB_SHP_WL_CTRL, UB_SHP_LED_ON);
        g_assert_cmpuint(b->changes[i], ==, 3);
    }
    bed_free(b);
    /* Without slots there is no slice, and nothing to do. */
    b = bed_new(slots + 7);
    g_assert_cmphex(ub_space_read(b->n->space, SHP), ==, 0);
    g_assert_cmpint(ub_shp_run(b->shp, b->f.now), ==, INT64_MAX);
    ub_shp_wire(b->shp, b->f.now, 0, true);
    ub_shp_reset(b->shp, b->f.now);
    g_assert_cmpuint(b->kicks, ==, 0);
    g_assert_false(ub_shp_info(b->shp, 0, &info));
    g_assert_nonnull(ub_shp_press(b->shp, b->f.now, 0));
    g_assert_nonnull(ub_shp_seat(b->shp, b->f.now, 0, true, true));
    bed_free(b);
    ub_shp_free(NULL);
}

/* ---- Time ---- */

/* The first that has to be looked at again, and each at its time. */
static void test_settle(void)
{
    static const char *const slots[] = { "0", "1-3", "5", NULL };
    Bed *b = bed_new(slots);
    int64_t t = b->f.now;

    g_assert_cmpint(ub_shp_run(b->shp, t), ==, INT64_MAX);
    for (unsigned p = 0; p < PORTS; p++) {
        bool in = p <= 3 || p == 5;

        g_assert_cmpuint(b->off[p], ==, in);
        g_assert_cmpuint(b->on[p], ==, 0);
    }
    b->kicks = 0;
    put(b, 1, UB_SHP_PW_CTRL, 1);
    g_assert_cmpuint(b->kicks, ==, 1);
    g_assert_cmpint(ub_shp_run(b->shp, t), ==, t + SETTLE);
    put(b, 0, UB_SHP_PW_CTRL, 1);
    put(b, 1, UB_SHP_PW_CTRL, 1);
    g_assert_cmpint(ub_shp_run(b->shp, t + 5), ==, t + SETTLE);
    g_assert_cmpint(ub_shp_run(b->shp, t + SETTLE - 1), ==, t + SETTLE);
    g_assert_false(look(b, 1).power);
    g_assert_cmpuint(b->changes[1], ==, 0);
    g_assert_cmpint(ub_shp_run(b->shp, t + SETTLE), ==, t + SETTLE + 5);
    g_assert_true(look(b, 1).power);
    g_assert_cmpuint(b->changes[1], ==, 1);
    g_assert_false(look(b, 0).power);
    g_assert_cmpint(ub_shp_run(b->shp, t + SETTLE + 5), ==, INT64_MAX);
    for (unsigned p = 0; p < PORTS; p++) {
        g_assert_cmpuint(b->on[p], ==, p <= 3);
    }
    /* Off again before it is good: it never is. */
    put(b, 2, UB_SHP_PW_CTRL, 1);
    g_assert_cmpint(ub_shp_run(b->shp, t), ==, t + SETTLE);
    put(b, 2, UB_SHP_PW_CTRL, 0);
    g_assert_cmpint(ub_shp_run(b->shp, t + 1), ==, INT64_MAX);
    ub_shp_run(b->shp, t + 2 * SETTLE);
    g_assert_cmpuint(b->on[5], ==, 0);
    g_assert_cmpuint(b->changes[2], ==, 0);
    bed_free(b);
}

/* Each port of a slot holds it; the last that goes, for a while. */
static void test_hold(void)
{
    static const char *const slots[] = { "0+", "1-3+", NULL };
    Bed *b = bed_new(slots);
    int64_t t = b->f.now;

    manage(b, 0);
    manage(b, 1);
    for (unsigned p = 1; p <= 3; p++) {
        g_assert_cmpint(ub_shp_run(b->shp, t), ==, INT64_MAX);
        g_assert_false(look(b, 1).present);
        b->kicks = 0;
        ub_shp_wire(b->shp, t, p, true);
        g_assert_cmpuint(b->kicks, ==, 1);
        ub_shp_run(b->shp, t);
        g_assert_true(look(b, 1).present);
        g_assert_false(look(b, 0).present);
        ub_shp_wire(b->shp, t, p, false);
        g_assert_cmpint(ub_shp_run(b->shp, t), ==, t + HOLD);
        /* Once more is no other time. */
        ub_shp_wire(b->shp, t + 10, p, false);
        g_assert_cmpint(ub_shp_run(b->shp, t + HOLD - 1), ==, t + HOLD);
        g_assert_true(look(b, 1).present);
        g_assert_cmpint(ub_shp_run(b->shp, t + HOLD), ==, INT64_MAX);
        g_assert_false(look(b, 1).present);
        t += 2 * HOLD;
    }
    /* A port of no slot holds none. */
    b->kicks = 0;
    ub_shp_wire(b->shp, t, 4, true);
    g_assert_cmpuint(b->kicks, ==, 0);
    ub_shp_run(b->shp, t);
    g_assert_false(look(b, 0).present || look(b, 1).present);
    /* One is out, the other is held. */
    ub_shp_wire(b->shp, t, 1, true);
    ub_shp_wire(b->shp, t, 2, true);
    ub_shp_wire(b->shp, t, 1, false);
    g_assert_cmpint(ub_shp_run(b->shp, t), ==, INT64_MAX);
    ub_shp_wire(b->shp, t, 2, false);
    ub_shp_wire(b->shp, t, 1, true);
    g_assert_cmpint(ub_shp_run(b->shp, t + 3 * HOLD), ==, INT64_MAX);
    g_assert_true(look(b, 1).present);
    bed_free(b);
}

/* What is told, to whom, and when not. */
static void test_told(void)
{
    static const char *const slots[] = { "0+", "1+", NULL };
    static const struct {
        unsigned detect, watch, message;
        unsigned present, changed, told;
    } rows[] = {
        { 0, 0, 0, 0, 0, 0 }, { 0, 1, 1, 0, 0, 0 }, { 1, 0, 0, 1, 0, 0 },
        { 1, 0, 1, 1, 0, 0 }, { 1, 1, 0, 1, 1, 0 }, { 1, 1, 1, 1, 1, 1 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Bed *b = bed_new(slots);
        int64_t t = b->f.now;

        put(b, 1, UB_SHP_PD_CTRL, rows[i].detect);
        put(b, 1, UB_SHP_PDS_CTRL, rows[i].watch);
        put(b, 1, UB_SHP_MS_CTRL, rows[i].message);
        ub_shp_wire(b->shp, t, 1, true);
        ub_shp_run(b->shp, t);
        g_assert_cmpuint(reg(b, 1, UB_SHP_PD_ST), ==, rows[i].present);
        g_assert_cmpuint(reg(b, 1, UB_SHP_PDSC_ST), ==, rows[i].changed);
        g_assert_cmpuint(b->n->delivered, ==, rows[i].told);
        g_assert_cmpuint(b->changes[1], ==, rows[i].present);
        if (rows[i].told) {
            g_assert_cmphex(get_be32(b->n->data), ==, 0x32000008);
            g_assert_cmphex(get_be32(b->n->data + 4), ==, 1);
        }
        ub_shp_run(b->shp, t);
        g_assert_cmpuint(b->n->delivered, ==, rows[i].told);
        /* Detection that ends shows nothing there. */
        put(b, 1, UB_SHP_PD_CTRL, 0);
        g_assert_cmpuint(reg(b, 1, UB_SHP_PD_ST), ==, 0);
        /* What is to be told is forgotten by a reset. */
        ub_shp_reset(b->shp, t);
        ub_shp_run(b->shp, t);
        g_assert_cmpuint(b->n->delivered, ==, rows[i].told);
        bed_free(b);
    }
}

/* Power, and hands. */
static void test_hands(void)
{
    static const char *const slots[] = { "0+", "1", NULL };
    Bed *b = bed_new(slots);
    int64_t t = b->f.now;

    ub_shp_run(b->shp, t);
    g_assert_cmpstr(ub_shp_seat(b->shp, t, 0, false, false), ==,
                    "the slot has power: it is not to be touched");
    g_assert_cmpstr(ub_shp_seat(b->shp, t, 0, true, false), ==,
                    "the device is in the slot");
    g_assert_null(ub_shp_seat(b->shp, t, 1, false, false));
    g_assert_cmpstr(ub_shp_seat(b->shp, t, 1, false, false), ==,
                    "the slot is empty");
    g_assert_false(look(b, 1).seated);
    g_assert_cmpuint(b->changes[1], ==, 1);
    /* Power without a device does not make its ports work. */
    put(b, 1, UB_SHP_PW_CTRL, 1);
    g_assert_nonnull(ub_shp_seat(b->shp, t, 1, true, false));
    ub_shp_run(b->shp, t);
    ub_shp_run(b->shp, t + SETTLE);
    g_assert_true(look(b, 1).power);
    g_assert_cmpuint(b->on[1], ==, 0);
    b->kicks = 0;
    g_assert_null(ub_shp_seat(b->shp, t, 1, true, true));
    g_assert_cmpuint(b->kicks, ==, 1);
    ub_shp_run(b->shp, t + SETTLE);
    g_assert_cmpuint(b->on[1], ==, 1);
    /* The register says off, and the next run has not come yet. */
    put(b, 1, UB_SHP_PW_CTRL, 0);
    g_assert_null(ub_shp_seat(b->shp, t, 1, false, false));
    bed_free(b);
}

/* ---- Images ---- */

static uint8_t *shp_save(Bed *b, size_t *len)
{
    CoreImage *im = core_image_save(b->f.now);
    uint8_t *data;

    ub_shp_image(b->shp, im);
    data = core_image_take(im, len);
    core_image_free(im);
    return data;
}

static const char *shp_load(Bed *b, const Bed *registers_of, const uint8_t *data,
                            size_t len)
{
    CoreImage *im = core_image_load(data, len, b->f.now);
    const char *why;

    memcpy(ub_space_state(b->n->space), ub_space_state(registers_of->n->space),
           4 * ub_space_state_words(b->n->space));
    ub_shp_image(b->shp, im);
    why = core_image_done(im);
    core_image_free(im);
    return why;
}

/* Slot 0 is about to have power, slot 1 has something to tell, slot 2 is empty, and
 * of slot 3 the byte stream has just gone. */
static void test_image(void)
{
    static const char *const slots[] = { "0", "1+", "2", "3-4+", "6", NULL };
    static const char *const other[][6] = {
        { "0", "1+", "2", "3-4+", NULL }, { "0", "1+", "2", "3-5+", "6", NULL },
        { "0", "1+", "2", "3-4+", "7", NULL }, { "0", "1+", "2", "4+", "6", NULL },
    };
    Bed *b = bed_new(slots), *c = bed_new(slots);
    int64_t t = b->f.now;
    g_autofree uint8_t *data = NULL;
    size_t len;

    ub_shp_run(b->shp, t);
    for (unsigned i = 0; i < 4; i++) {
        manage(b, i);
    }
    g_assert_null(ub_shp_seat(b->shp, t, 2, false, false));
    put(b, 0, UB_SHP_PW_CTRL, 1);
    ub_shp_wire(b->shp, t, 3, true);
    ub_shp_run(b->shp, t);
    ub_shp_wire(b->shp, t, 3, false);
    g_assert_cmpuint(b->n->delivered, ==, 1);
    ub_shp_wire(b->shp, t, 1, true);
    ub_shp_run(b->shp, t);
    ub_shp_wire(b->shp, t, 1, false);
    /* Of the change there is to tell yet. */
    g_assert_null(ub_shp_seat(b->shp, t, 1, false, true));
    put(b, 1, UB_SHP_PD_CTRL, 0);
    g_assert_cmpuint(b->n->delivered, ==, 2);
    b->f.now += 100;
    c->f.now = 7 * SECOND;
    data = shp_save(b, &len);
    ub_shp_run(c->shp, c->f.now);
    g_assert_null(shp_load(c, b, data, len));
    t = c->f.now;
    for (unsigned i = 0; i < 5; i++) {
        UbShpInfo info = look(c, i);

        g_assert_true(info.power == (i == 1 || i == 3));
        g_assert_true(info.seated == (i != 1 && i != 2));
        g_assert_true(info.present == (i == 3));
    }
    /* Who looks at it is told of those that are others now. */
    for (unsigned i = 0; i < 5; i++) {
        g_assert_cmpuint(c->changes[i], ==, i == 1 || i == 2 || i == 3);
    }
    g_assert_cmpuint(c->n->delivered, ==, 0);
    g_assert_cmpint(ub_shp_run(c->shp, t), ==, t + SETTLE - 100);
    g_assert_cmpuint(c->n->delivered, ==, 1);
    g_assert_cmphex(get_be32(c->n->data + 4), ==, 1);
    g_assert_cmpint(ub_shp_run(c->shp, t + SETTLE - 100), ==, t + HOLD);
    g_assert_true(look(c, 0).power);
    g_assert_true(look(c, 3).present);
    g_assert_cmpint(ub_shp_run(c->shp, t + HOLD), ==, INT64_MAX);
    g_assert_false(look(c, 3).present);
    /* A byte stream that is there already is not waited for. */
    ub_shp_wire(c->shp, t, 4, true);
    g_assert_null(shp_load(c, b, data, len));
    g_assert_cmpint(ub_shp_run(c->shp, t + 2 * HOLD), ==, INT64_MAX);
    g_assert_true(look(c, 3).present);
    bed_free(c);
    for (unsigned i = 0; i < G_N_ELEMENTS(other); i++) {
        c = bed_new(other[i]);
        g_assert_nonnull(shp_load(c, c, data, len));
        bed_free(c);
    }
    bed_free(b);
}

/* Power that nobody gives works for nobody. */
static void test_image_refused(void)
{
    static const char *const slots[] = { "0", NULL };
    Bed *b = bed_new(slots), *c = bed_new(slots);
    g_autofree uint8_t *data = NULL;
    size_t len, changed = 0;

    ub_shp_run(b->shp, b->f.now);
    put(b, 0, UB_SHP_PW_CTRL, 1);
    ub_shp_run(b->shp, b->f.now);
    ub_shp_run(b->shp, b->f.now + SETTLE);
    data = shp_save(b, &len);
    g_assert_null(shp_load(c, b, data, len));
    g_assert_true(look(c, 0).power);
    for (size_t i = 0; i < len; i++) {
        const char *why;

        if (data[i] != 1) {
            continue;
        }
        data[i] = 0;
        why = shp_load(c, b, data, len);
        if (why && strstr(why, "without power")) {
            changed++;
            g_assert_false(look(c, 0).power);
            ub_shp_run(c->shp, c->f.now);
        }
        data[i] = 1;
    }
    g_assert_cmpuint(changed, ==, 1);
    bed_free(b);
    bed_free(c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/shp/config/words", test_words);
    g_test_add_func("/ub/shp/config/rules", test_rules);
    g_test_add_func("/ub/shp/config/all", test_all);
    g_test_add_func("/ub/shp/time/settle", test_settle);
    g_test_add_func("/ub/shp/time/hold", test_hold);
    g_test_add_func("/ub/shp/told", test_told);
    g_test_add_func("/ub/shp/hands", test_hands);
    g_test_add_func("/ub/shp/image/kept", test_image);
    g_test_add_func("/ub/shp/image/refused", test_image_refused);
    return g_test_run();
}
