/*
 * A decoder whose table is the UBFM's (UB 2.0 §10.4.7): the manager, in one emulator,
 * writes by configuration messages where loads and stores of the other one go; nobody
 * else can.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "switch-fabric.h"
#include "ubc-msg.h"
#include "ubc-win.h"
#include "ub/tah.h"

#define MANAGED WIN_PROPS ",window-managed=on," PATIENT
#define FEATURE (UB_CFG1_BASE + UB_CFG1_SUPPORTED_FEATURE)
#define TOKEN_DWORD 13

/* Who manages, and who uses: the memory is the manager's. */
typedef struct Bed {
    Eng *fm, *user;
    Guest g;            /* of @fm */
    Win w;              /* of @user */
} Bed;

static uint32_t matt(unsigned dw)
{
    return UB_CFG_CAP(UB_CFG1_BASE, UB_LDS_MATT_CAP) + dw;
}

static uint8_t *segment(Bed *b, uint64_t off)
{
    return b->fm->drv.memory + b->fm->room + off;
}

/* A register of the user's by a message of the manager's; its status. */
static unsigned tell(Bed *b, bool write, uint32_t dw, uint32_t value)
{
    bool cfg1 = dw >= UB_CFG1_BASE;

    return config(&b->g, b->user->n, 2 * cfg1 + write, dw, value);
}

static unsigned set_entry(Bed *b, unsigned n, unsigned dw, uint32_t value)
{
    return tell(b, true, matt(UB_LDS_MATT_ENTRY(n) + dw), value);
}

/* Entry @n: MiB @mib is the manager's segment, from ENG_UBA on. */
static void give(Bed *b, unsigned n, uint32_t mib)
{
    const uint32_t entry[16] = {
        0, 0, mib, mib, ENG_UBA, 0, b->fm->n, 0, b->fm->n, 0, 0, 0,
        ENG_SEGMENT, ENG_TOKEN,
    };

    for (unsigned k = 0; k < G_N_ELEMENTS(entry); k++) {
        g_assert_cmphex(set_entry(b, n, k, entry[k]), ==, UB_MGMT_OK);
    }
    g_assert_cmphex(set_entry(b, n, 0, UB_LDS_TYPE_RANGE | UB_LDS_TOKEN_VLD), ==,
                    UB_MGMT_OK);
}

static void bed_open(Bed *b, Eng *fm, Eng *user)
{
    *b = (Bed){ .fm = fm, .user = user };
    guest_open(&b->g, fm->q);
    win_alloc(&b->w, user, 64);
    win_enable(&b->w);
    for (unsigned off = 0; off < 64; off += 8) {
        put_le64(segment(b, off), 0x7700 + off);
    }
}

/* The user hears who its UBFM is. */
static void introduce(Bed *b)
{
    g_assert_cmphex(tell(b, true, UB_CFG0_UBFM_CNA, b->fm->n), ==, UB_MGMT_OK);
}

static void reaches(Bed *b)
{
    static uint64_t serial = 0x1234567800000000;

    g_assert_cmphex(win_load(&b->w, 8), ==, 0x7708);
    win_store(&b->w, 0x100, ++serial);
    g_assert_cmphex(win_fence(&b->w), ==, 0);
    g_assert_cmphex(get_le64(segment(b, 0x100)), ==, serial);
}

static void reaches_nothing(Bed *b)
{
    g_assert_cmphex(win_load(&b->w, 8), ==, UINT64_MAX);
    g_assert_cmphex(win_event(&b->w), ==, UB_LDS_EVENT_RANGE);
}

/* Through a switch: no row of destinations, no table in memory, and a driver that only
 * enables its decoder. */
static void test_switch(void)
{
    Fabric f = { 0 };
    Bed b;

    fabric_start(&f, "," MANAGED);
    ubq_segment(&f.e[0].drv, ENG_SEGMENT, f.e[0].room, ENG_ROOM,
                UBQ_SEG_READ | UBQ_SEG_WRITE | UBQ_SEG_TOKEN, ENG_TOKEN);
    bed_open(&b, &f.e[0], &f.e[1]);
    introduce(&b);
    reaches_nothing(&b);
    give(&b, 7, 0);
    reaches(&b);
    g_assert_cmphex(eng_counter(b.user, "window", "table-entries"), ==, 1);
    g_assert_cmphex(set_entry(&b, 7, 0, 0), ==, UB_MGMT_OK);
    reaches_nothing(&b);
    g_assert_cmphex(eng_counter(b.user, "window", "table-entries"), ==, 0);
    fabric_stop(&f);
}

static void start(EngPair *p, Bed *b)
{
    eng_start(p, &(EngPlan){ .carrier = ENG_CTP, .mode = UB_ROI,
                             .props = MANAGED });
    bed_open(b, &p->a, &p->b);
}

/* The host may look, but for tokens, and change nothing; nor may who has Mgmt without
 * being the UBFM, nor the UBFM's node without Mgmt. */
static void test_others(void)
{
    const uint32_t pdu[] = { 0xf0, matt(UB_LDS_MATT_ENTRY(0)), 0, 3 };
    EngPair p = { 0 };
    uint32_t errors;
    Guest host;
    Bed b;

    start(&p, &b);
    g_assert_cmphex(qubc_cfg_read(p.b.q, FEATURE) &
                    UB_CFG1_SUPPORTED_FEATURE__DECODER_MATT_JURISDICTION, !=, 0);
    g_assert_cmphex(qubc_cfg_read(p.b.q, win_dw(UB_DECODER_MATT_BA)), ==, 0);
    /* Nobody is the UBFM yet. */
    g_assert_cmphex(set_entry(&b, 0, 0, 3), ==, UB_MGMT_NO_PERMISSION);
    g_assert_cmphex(tell(&b, false, matt(0), 0), ==, UB_MGMT_NO_PERMISSION);
    g_assert_cmphex(tell(&b, true, UB_CFG0_UBFM_CNA, 0x77), ==, UB_MGMT_OK);
    g_assert_cmphex(set_entry(&b, 0, 0, 3), ==, UB_MGMT_NO_PERMISSION);
    introduce(&b);
    give(&b, 0, 0);
    reaches(&b);
    g_assert_cmphex(ask(&b.g, (To) { .dcna = p.b.n, .deid = p.b.n, .user = true },
                        UB_MGMT_MSG_CFG1_WRITE, pdu, sizeof(pdu)), ==,
                    UB_MGMT_NO_PERMISSION);
    /* The host, by its registers and by a message to itself. */
    errors = qubc_read(p.b.q, UBC_GUEST_ERRORS);
    for (unsigned k = 0; k < 16; k++) {
        uint32_t at = matt(UB_LDS_MATT_ENTRY(0) + k), was = 0;

        g_assert_cmphex(tell(&b, false, at, 0), ==, UB_MGMT_OK);
        was = b.g.packet[8];
        g_assert_cmphex(was, ==, k == TOKEN_DWORD ? ENG_TOKEN
                                 : qubc_cfg_read(p.b.q, at));
        qubc_cfg_write(p.b.q, at, ~was);
        g_assert_cmphex(tell(&b, false, at, 0), ==, UB_MGMT_OK);
        g_assert_cmphex(b.g.packet[8], ==, was);
    }
    g_assert_cmpuint(qubc_read(p.b.q, UBC_GUEST_ERRORS), ==, errors + 16);
    g_assert_cmphex(qubc_cfg_read(p.b.q, matt(UB_LDS_MATT_ENTRY(0) + TOKEN_DWORD)),
                    ==, 0);
    guest_open(&host, p.b.q);
    g_assert_cmphex(ask(&host, (To) { .dcna = p.b.n }, UB_MGMT_MSG_CFG1_WRITE, pdu,
                        sizeof(pdu)), ==, UB_MGMT_NO_PERMISSION);
    reaches(&b);
    eng_stop(&p);
}

/* A load that nobody answers ends when the UBFM takes its entry away. */
static void test_under_way(void)
{
    EngPair p = { 0 };
    WinWait x;
    Bed b;

    start(&p, &b);
    introduce(&b);
    give(&b, 7, 0);
    reaches(&b);
    g_assert_cmphex(set_entry(&b, 7, 6, 0x77), ==, UB_MGMT_OK);
    win_wait_begin(&x, &b.w, 8);
    g_assert_cmphex(set_entry(&b, 7, 0, 0), ==, UB_MGMT_OK);
    g_assert_cmphex(win_wait_end(&x), ==, UINT64_MAX);
    g_assert_cmphex(win_event(&b.w), ==, UB_LDS_EVENT_STOPPED);
    give(&b, 7, 0);
    reaches(&b);
    eng_stop(&p);
}

/* The table moves with its device. */
static void test_moved(void)
{
    EngPair p = { 0 };
    Bed b;

    start(&p, &b);
    introduce(&b);
    give(&b, 63, 0);
    reaches(&b);
    eng_migrate(&p);
    reaches(&b);
    g_assert_cmphex(set_entry(&b, 63, 0, 0), ==, UB_MGMT_OK);
    reaches_nothing(&b);
    give(&b, 0, 0);
    reaches(&b);
    eng_stop(&p);
}

/* It ends with a reset. */
static void test_reset(void)
{
    EngPair p = { 0 };
    Bed b;

    start(&p, &b);
    introduce(&b);
    give(&b, 63, 0);
    reaches(&b);
    qubc_write(p.b.q, UBC_CTRL, UBC_CTRL_RESET);
    eng_open(&p.b, p.link.b, 2);
    eng_link_up(&p);
    win_alloc(&b.w, b.user, 64);
    win_enable(&b.w);
    reaches_nothing(&b);
    introduce(&b);
    give(&b, 0, 0);
    reaches(&b);
    eng_stop(&p);
}

/* And with ELR of Entity 0, after which it is still known who the UBFM is. */
static void test_elr(void)
{
    EngPair p = { 0 };
    WinWait x;
    Bed b;

    start(&p, &b);
    introduce(&b);
    give(&b, 63, 0);
    reaches(&b);
    g_assert_cmphex(set_entry(&b, 63, 6, 0x77), ==, UB_MGMT_OK);
    win_wait_begin(&x, &b.w, 8);
    g_assert_cmphex(tell(&b, true, UB_CFG1_BASE + UB_CFG1_ELR, 1), ==, UB_MGMT_OK);
    g_assert_cmphex(win_wait_end(&x), ==, UINT64_MAX);
    g_assert_cmphex(eng_counter(b.user, "window", "stopped"), ==, 1);
    g_assert_cmphex(eng_counter(b.user, "window", "table-entries"), ==, 0);
    g_assert_cmphex(win_load(&b.w, 8), ==, UINT64_MAX);
    win_alloc(&b.w, b.user, 64);
    win_enable(&b.w);
    reaches_nothing(&b);
    give(&b, 0, 0);
    reaches(&b);
    eng_stop(&p);
}

/* A host that may write CFG0 can forget who its UBFM is; then nobody writes the table, and
 * what it says holds. */
static void test_forgetful(void)
{
    EngPair p = { 0 };
    Bed b;

    start(&p, &b);
    introduce(&b);
    give(&b, 3, 0);
    qubc_cfg_write(p.b.q, UB_CFG0_UBFM_CNA, 0);
    g_assert_cmphex(set_entry(&b, 3, 0, 0), ==, UB_MGMT_NO_PERMISSION);
    reaches(&b);
    introduce(&b);
    g_assert_cmphex(set_entry(&b, 3, 0, 0), ==, UB_MGMT_OK);
    reaches_nothing(&b);
    eng_stop(&p);
}

/* Without the property nothing of it is there. */
static void test_driver(void)
{
    EngPair p = { 0 };
    Bed b;

    eng_start(&p, &(EngPlan){ .carrier = ENG_CTP, .mode = UB_ROI,
                              .props = WIN_PROPS "," PATIENT });
    bed_open(&b, &p.a, &p.b);
    introduce(&b);
    g_assert_cmphex(qubc_cfg_read(p.b.q, FEATURE) &
                    UB_CFG1_SUPPORTED_FEATURE__DECODER_MATT_JURISDICTION, ==, 0);
    g_assert_cmphex(set_entry(&b, 0, 0, 3), ==, UB_MGMT_OK);
    g_assert_cmphex(tell(&b, false, matt(UB_LDS_MATT_ENTRY(0)), 0), ==, UB_MGMT_OK);
    g_assert_cmphex(b.g.packet[8], ==, 0);
    put_le64(b.user->drv.memory + b.w.l0, UB_LDS_TYPE_TABLE | b.w.l1);
    win_page(&b.w, 0, ENG_UBA, ENG_DEST, ENG_TOKEN);
    reaches(&b);
    eng_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-matt/switch", test_switch);
    qtest_add_func("/ubc-matt/others", test_others);
    qtest_add_func("/ubc-matt/under-way", test_under_way);
    qtest_add_func("/ubc-matt/moved", test_moved);
    qtest_add_func("/ubc-matt/reset", test_reset);
    qtest_add_func("/ubc-matt/elr", test_elr);
    qtest_add_func("/ubc-matt/forgetful", test_forgetful);
    qtest_add_func("/ubc-matt/driver", test_driver);
    return g_test_run();
}
