/*
 * Hot-plug slots of a controller (UB 2.0 appendix G, §D.2.1): machine a has two, with
 * machines b and c in them, and its guest is the manager who hears of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-msg.h"
#include "ub/shp_hw.h"

#define SLOTS "slots=0+:1+,slot-settle=20,slot-hold=300"

enum { BUTTON = 0x22000008, PRESENCE = 0x32000008, LINK_DOWN = 0x12000008,
       LINK_UP = 0x02000008 };

typedef struct Fabric {
    char *dir, *path[2], *wires, *props;
    QUbc *a, *in[2];    /* in[n]: what is in slot n */
    Guest g;
} Fabric;

static unsigned reg_of(unsigned slot, unsigned reg)
{
    return UB_CFG_CAP(UB_CFG0_BASE, UB_CAP_SHP) + UB_SHP_REG(slot, reg);
}

static uint32_t get(Fabric *f, unsigned slot, unsigned reg)
{
    return qubc_cfg_read(f->a, reg_of(slot, reg));
}

static void set(Fabric *f, unsigned slot, unsigned reg, uint32_t value)
{
    qubc_cfg_write(f->a, reg_of(slot, reg), value);
}

static QUbc *device_start(Fabric *f, unsigned slot)
{
    g_autofree char *chr = server(f->path[slot]);
    QUbc *d = qubc_start_attached("chardev0=w," STEADY, chr);

    qubc_port_open(d, 0);
    return d;
}

static bool linked(Fabric *f, unsigned slot)
{
    return qubc_up(f->a, slot) && qubc_up(f->in[slot], 0);
}

/* Both slots are taken over by a manager. */
static void fabric_start(Fabric *f)
{
    *f = (Fabric) { .dir = g_dir_make_tmp("ubc-XXXXXX", NULL) };
    f->props = g_strdup("ports=2,chardev0=w0,chardev1=w1," SLOTS "," STEADY);
    for (unsigned i = 0; i < 2; i++) {
        g_autofree char *name = g_strdup_printf("%u", i);

        f->path[i] = g_build_filename(f->dir, name, NULL);
        f->in[i] = device_start(f, i);
    }
    f->wires = g_strdup_printf(
        "-chardev socket,id=w0,path=%s,reconnect-ms=20 "
        "-chardev socket,id=w1,path=%s,reconnect-ms=20", f->path[0], f->path[1]);
    f->a = qubc_start_attached(f->props, f->wires);
    guest_open(&f->g, f->a);
    for (unsigned i = 0; i < 2; i++) {
        qubc_port_open(f->a, i);
    }
    QUBC_WAIT(linked(f, 0) && linked(f, 1));
}

static void manage(Fabric *f)
{
    for (unsigned i = 0; i < 2; i++) {
        set(f, i, UB_SHP_PP_CTRL, 1);
        set(f, i, UB_SHP_PD_CTRL, 1);
        QUBC_WAIT(get(f, i, UB_SHP_PD_ST));
        set(f, i, UB_SHP_PDS_CTRL, 1);
        set(f, i, UB_SHP_MS_CTRL, 1);
        set(f, i, UB_SHP_PL_CTRL, UB_SHP_LED_ON);
    }
}

static void fabric_stop(Fabric *f)
{
    qubc_stop(f->a);
    for (unsigned i = 0; i < 2; i++) {
        qubc_stop(f->in[i]);
        unlink(f->path[i]);
        g_free(f->path[i]);
    }
    rmdir(f->dir);
    g_free(f->dir);
    g_free(f->wires);
    g_free(f->props);
}

/* A command on a slot; NULL, or why it was refused. */
static char *command(Fabric *f, const char *name, unsigned slot, bool surprise)
{
    bool plain = !strcmp(name, "ub-slot-button");
    QDict *rsp = plain
        ? qtest_qmp(f->a->qts, "{ 'execute': %s, 'arguments': "
                    "{ 'device': 'ub0', 'slot': %u } }", name, slot)
        : qtest_qmp(f->a->qts, "{ 'execute': %s, 'arguments': "
                    "{ 'device': 'ub0', 'slot': %u, 'surprise': %i } }", name,
                    slot, surprise);
    QDict *error = qdict_get_qdict(rsp, "error");
    char *why = error ? g_strdup(qdict_get_str(error, "desc")) : NULL;

    qobject_unref(rsp);
    return why;
}

static void done(Fabric *f, const char *name, unsigned slot, bool surprise)
{
    g_autofree char *why = command(f, name, slot, surprise);

    g_assert_cmpstr(why, ==, NULL);
}

static void refused(Fabric *f, const char *name, unsigned slot,
                    const char *part)
{
    g_autofree char *why = command(f, name, slot, false);

    g_assert_nonnull(why);
    g_assert_nonnull(strstr(why, part));
}

/* A member of query-ub-slots. */
static QDict *slot_info(Fabric *f, unsigned slot)
{
    QDict *rsp = qtest_qmp(f->a->qts, "{ 'execute': 'query-ub-slots' }"), *d;
    const QListEntry *e = qlist_first(qdict_get_qlist(rsp, "return"));

    for (unsigned i = 0; i < slot; i++) {
        e = qlist_next(e);
    }
    d = qobject_to(QDict, qlist_entry_obj(e));
    g_assert_cmpint(qdict_get_int(d, "slot"), ==, slot);
    qobject_ref(d);
    qobject_unref(rsp);
    return d;
}

static bool says(Fabric *f, unsigned slot, const char *key)
{
    QDict *d = slot_info(f, slot);
    bool value = qdict_get_bool(d, key);

    qobject_unref(d);
    return value;
}

static bool shows(Fabric *f, unsigned slot, const char *led, const char *state)
{
    QDict *d = slot_info(f, slot);
    bool value = !strcmp(qdict_get_str(d, led), state);

    qobject_unref(d);
    return value;
}

/* Messages until there was one of @kind for each of @slots, a set: of each as many as
 * there are slots, but for errors. */
static void hear(Fabric *f, uint32_t kind, unsigned slots)
{
    while (slots) {
        take_news(&f->g);
        if (f->g.packet[7] == kind) {
            unsigned slot = kind == LINK_DOWN || kind == LINK_UP
                            ? f->g.packet[9] >> 16 : f->g.packet[8];

            g_assert_cmpuint(slot, <, 2);
            g_assert_true(slots & 1u << slot);
            slots &= ~(1u << slot);
        }
    }
}

/* ---- Registers ---- */

static void test_registers(void)
{
    const unsigned base = UB_CFG_CAP(UB_CFG0_BASE, UB_CAP_SHP);
    Fabric f;

    fabric_start(&f);
    g_assert_cmphex(qubc_cfg_read(f.a, base) >> 4 & 0xffff, ==, UB_SHP_USED(2));
    g_assert_cmphex(qubc_cfg_read(f.a, base + 1), ==, 2);
    for (unsigned i = 0; i < 2; i++) {
        static const uint8_t bits[] = { UB_SHP_PP_CTRL, UB_SHP_MS_CTRL,
                                        UB_SHP_PD_CTRL, UB_SHP_PDS_CTRL };
        static const uint8_t leds[] = { UB_SHP_WL_CTRL, UB_SHP_PL_CTRL };

        g_assert_cmphex(get(&f, i, UB_SHP_CAPABILITY), ==, UB_SHP_CAP_ALL);
        g_assert_cmphex(get(&f, i, UB_SHP_PORTS), ==, i << 16 | i);
        set(&f, i, UB_SHP_CAPABILITY, 0);
        set(&f, i, UB_SHP_PORTS, ~0u);
        g_assert_cmphex(get(&f, i, UB_SHP_CAPABILITY), ==, UB_SHP_CAP_ALL);
        g_assert_cmphex(get(&f, i, UB_SHP_PORTS), ==, i << 16 | i);
        g_assert_cmphex(get(&f, i, UB_SHP_PW_CTRL), ==, 1);
        g_assert_cmphex(get(&f, i, UB_SHP_PD_ST), ==, 0);
        for (unsigned b = 0; b < G_N_ELEMENTS(bits); b++) {
            set(&f, i, bits[b], ~0u);
            g_assert_cmphex(get(&f, i, bits[b]), ==, 1);
            set(&f, i, bits[b], 0);
            g_assert_cmphex(get(&f, i, bits[b]), ==, 0);
        }
        for (unsigned l = 0; l < G_N_ELEMENTS(leds); l++) {
            set(&f, i, leds[l], UB_SHP_LED_BLINK);
            set(&f, i, leds[l], UB_SHP_LED_RESERVED);
            g_assert_cmphex(get(&f, i, leds[l]), ==, UB_SHP_LED_BLINK);
        }
        g_assert_true(shows(&f, i, "work-led", "blink"));
        g_assert_true(shows(&f, i, "power-led", "blink"));
        set(&f, i, UB_SHP_PD_ST, 1);
        g_assert_cmphex(get(&f, i, UB_SHP_PD_ST), ==, 0);
        set(&f, i, UB_SHP_PD_CTRL, 1);
        QUBC_WAIT(get(&f, i, UB_SHP_PD_ST));
        g_assert_true(says(&f, i, "present"));
        /* Nobody asked to hear of changes. */
        g_assert_cmphex(get(&f, i, UB_SHP_PDSC_ST), ==, 0);
    }
    fabric_stop(&f);
}

static void test_button(void)
{
    Fabric f;

    fabric_start(&f);
    refused(&f, "ub-slot-button", 0, "button is not enabled");
    refused(&f, "ub-slot-button", 2, "no such slot");
    manage(&f);
    done(&f, "ub-slot-button", 1, false);
    hear(&f, BUTTON, 1 << 1);
    g_assert_cmphex(get(&f, 1, UB_SHP_PP_ST), ==, 1);
    g_assert_cmphex(get(&f, 0, UB_SHP_PP_ST), ==, 0);
    /* Each time; the bit is software's to clear. */
    done(&f, "ub-slot-button", 1, false);
    hear(&f, BUTTON, 1 << 1);
    set(&f, 1, UB_SHP_PP_ST, 1);
    g_assert_cmphex(get(&f, 1, UB_SHP_PP_ST), ==, 0);
    /* Without messages the bit alone says so: the next message is another's. */
    set(&f, 1, UB_SHP_MS_CTRL, 0);
    done(&f, "ub-slot-button", 1, false);
    g_assert_cmphex(get(&f, 1, UB_SHP_PP_ST), ==, 1);
    done(&f, "ub-slot-button", 0, false);
    hear(&f, BUTTON, 1 << 0);
    fabric_stop(&f);
}

/* ---- Power, presence ---- */

static void test_power(void)
{
    Fabric f;

    fabric_start(&f);
    manage(&f);
    set(&f, 0, UB_SHP_PW_CTRL, 0);
    g_assert_cmphex(get(&f, 0, UB_SHP_PD_ST), ==, 0);
    g_assert_cmphex(get(&f, 0, UB_SHP_PDSC_ST), ==, 1);
    hear(&f, PRESENCE, 1 << 0);
    QUBC_WAIT(!qubc_up(f.a, 0) && !qubc_up(f.in[0], 0));
    QUBC_WAIT(!says(&f, 0, "power"));
    g_assert_true(linked(&f, 1));
    /* Its driver has no power either. */
    qubc_port_write(f.a, 0, UBC_PORT_CTRL, 0);
    qubc_port_write(f.a, 0, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    refused(&f, "ub-slot-insert", 0, "the device is in the slot");
    /* Out and in again, as appendix G has it: without power. */
    done(&f, "ub-slot-remove", 0, false);
    refused(&f, "ub-slot-remove", 0, "the slot is empty");
    g_assert_false(says(&f, 0, "seated"));
    set(&f, 0, UB_SHP_PDSC_ST, 1);
    set(&f, 0, UB_SHP_PW_CTRL, 1);
    QUBC_WAIT(says(&f, 0, "power"));
    g_assert_cmphex(get(&f, 0, UB_SHP_PD_ST), ==, 0);
    g_assert_cmphex(get(&f, 0, UB_SHP_PDSC_ST), ==, 0);
    g_assert_false(qubc_up(f.a, 0));
    refused(&f, "ub-slot-insert", 0, "has power");
    set(&f, 0, UB_SHP_PW_CTRL, 0);
    done(&f, "ub-slot-insert", 0, false);
    set(&f, 0, UB_SHP_PW_CTRL, 1);
    hear(&f, PRESENCE, 1 << 0);
    QUBC_WAIT(get(&f, 0, UB_SHP_PD_ST));
    QUBC_WAIT(linked(&f, 0));
    fabric_stop(&f);
}

/* Both are pulled out at once, with power on: each is heard of once, and both come
 * back. */
static void test_surprise(void)
{
    Fabric f;

    fabric_start(&f);
    manage(&f);
    refused(&f, "ub-slot-remove", 0, "has power");
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 2; i++) {
            done(&f, "ub-slot-remove", i, true);
        }
        QUBC_WAIT(!qubc_up(f.a, 0) && !qubc_up(f.a, 1) &&
                  !qubc_up(f.in[0], 0) && !qubc_up(f.in[1], 0));
        hear(&f, PRESENCE, 3);
        for (unsigned i = 0; i < 2; i++) {
            g_assert_cmphex(get(&f, i, UB_SHP_PD_ST), ==, 0);
            g_assert_cmphex(get(&f, i, UB_SHP_PDSC_ST), ==, 1);
            set(&f, i, UB_SHP_PDSC_ST, 1);
            g_assert_cmphex(get(&f, i, UB_SHP_PDSC_ST), ==, 0);
            g_assert_true(says(&f, i, "power"));
        }
        for (unsigned i = 0; i < 2; i++) {
            done(&f, "ub-slot-insert", i, true);
        }
        QUBC_WAIT(linked(&f, 0) && linked(&f, 1));
        hear(&f, PRESENCE, 3);
        for (unsigned i = 0; i < 2; i++) {
            g_assert_cmphex(get(&f, i, UB_SHP_PD_ST), ==, 1);
            set(&f, i, UB_SHP_PDSC_ST, 1);
        }
    }
    fabric_stop(&f);
}

/* Machines that are gone are missed; those that come take their places. */
static void test_killed(void)
{
    Fabric f;

    fabric_start(&f);
    manage(&f);
    qubc_kill(f.in[0]);
    qubc_kill(f.in[1]);
    hear(&f, PRESENCE, 3);
    /* A link that has lost its wire may wait longer for it. */
    QUBC_WAIT(!qubc_up(f.a, 0) && !qubc_up(f.a, 1));
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmphex(get(&f, i, UB_SHP_PD_ST), ==, 0);
        unlink(f.path[i]);
        f.in[i] = device_start(&f, i);
    }
    hear(&f, PRESENCE, 3);
    QUBC_WAIT(linked(&f, 0) && linked(&f, 1));
    fabric_stop(&f);
}

/* ---- The monitor ---- */

/* However often a guest writes a LED: the last state is told, and few of those
 * before. */
static void test_events(void)
{
    gint64 began;
    Fabric f;
    unsigned told = 0;
    bool found = false;

    fabric_start(&f);
    manage(&f);
    began = g_get_monotonic_time();
    for (unsigned i = 0; i < 500; i++) {
        set(&f, 1, UB_SHP_WL_CTRL, i % 2);
    }
    set(&f, 1, UB_SHP_WL_CTRL, UB_SHP_LED_BLINK);
    while (!found) {
        QDict *event = qtest_qmp_eventwait_ref(f.a->qts, "UB_SLOT_CHANGED");
        QDict *data = qdict_get_qdict(event, "data");

        g_assert_cmpstr(qdict_get_str(data, "device"), ==,
                        "/machine/peripheral/ub0");
        if (qdict_get_int(data, "slot") == 1) {
            told++;
            found = !strcmp(qdict_get_str(data, "work-led"), "blink");
            if (found) {
                g_assert_true(qdict_get_bool(data, "power"));
                g_assert_true(qdict_get_bool(data, "present"));
                g_assert_true(qdict_get_bool(data, "button-enabled"));
                g_assert_cmpint(qdict_get_int(data, "first-port"), ==, 1);
            }
        }
        qobject_unref(event);
    }
    /* Those of the beginning: the slot's own, and what manage() wrote. */
    g_assert_cmpuint(told, <=,
                     12 + (g_get_monotonic_time() - began) / 100000);
    fabric_stop(&f);
}

/* ---- Migration ---- */

/* One slot with what a manager made of it, one that is empty. */
static void test_migrate(void)
{
    g_autofree char *path = NULL, *uri = NULL, *more = NULL;
    Fabric f;
    QUbc *to;

    fabric_start(&f);
    manage(&f);
    done(&f, "ub-slot-button", 0, false);
    hear(&f, BUTTON, 1 << 0);
    set(&f, 0, UB_SHP_WL_CTRL, UB_SHP_LED_BLINK);
    done(&f, "ub-slot-remove", 1, true);
    hear(&f, PRESENCE, 1 << 1);
    QUBC_WAIT(!qubc_up(f.a, 1));
    path = g_build_filename(f.dir, "migrate", NULL);
    uri = g_strdup_printf("unix:%s", path);
    more = g_strdup_printf("%s -incoming %s", f.wires, uri);
    to = qubc_start("q35", f.props, more);
    qtest_qmp_assert_success(f.a->qts, "{ 'execute': 'migrate',"
                             " 'arguments': { 'uri': %s } }", uri);
    QUBC_WAIT(qubc_migrated(f.a));
    qtest_qmp_eventwait(to->qts, "RESUME");
    qubc_adopt(to, f.a);
    qubc_stop(f.a);
    f.a = f.g.d = to;
    unlink(path);
    QUBC_WAIT(linked(&f, 0));
    g_assert_cmphex(get(&f, 0, UB_SHP_PP_ST), ==, 1);
    g_assert_cmphex(get(&f, 0, UB_SHP_PD_ST), ==, 1);
    g_assert_true(shows(&f, 0, "work-led", "blink"));
    g_assert_true(shows(&f, 1, "power-led", "on"));
    g_assert_false(says(&f, 1, "seated"));
    g_assert_cmphex(get(&f, 1, UB_SHP_PD_ST), ==, 0);
    g_assert_cmphex(get(&f, 1, UB_SHP_PDSC_ST), ==, 1);
    g_assert_false(qubc_up(f.a, 1));
    done(&f, "ub-slot-insert", 1, true);
    QUBC_WAIT(linked(&f, 1));
    hear(&f, PRESENCE, 1 << 1);
    done(&f, "ub-slot-button", 1, false);
    hear(&f, BUTTON, 1 << 1);
    fabric_stop(&f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-slot/registers", test_registers);
    qtest_add_func("/ubc-slot/button", test_button);
    qtest_add_func("/ubc-slot/power", test_power);
    qtest_add_func("/ubc-slot/surprise", test_surprise);
    qtest_add_func("/ubc-slot/killed", test_killed);
    qtest_add_func("/ubc-slot/events", test_events);
    qtest_add_func("/ubc-slot/migrate", test_migrate);
    return g_test_run();
}
