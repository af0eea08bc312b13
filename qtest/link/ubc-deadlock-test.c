/*
 * The deadlocks of UB 2.0 §8.2.7.2 between two machines that are each other's
 * initiator and target over one port: nothing of them comes about.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-win.h"
#include "../ubm-drv.h"
#include "ub/tah.h"

#define UMMU_HEAP 0x3400000u    /* beyond what the driver of the queues gives away */
#define TOKEN_ID 33u            /* of what the UMMU maps */
#define UBA 0x7000000000ull
#define PAGE 4096u
#define PAGES 8u

typedef struct Two {
    EngPair p;
    Win a, b;
    UbmDrv ummu;                /* of b */
} Two;

static uint32_t ummu_read(void *opaque, uint32_t offset)
{
    return qubc_read(opaque, UBM_WINDOW + offset);
}

static void ummu_write(void *opaque, uint32_t offset, uint32_t value)
{
    qubc_write(opaque, UBM_WINDOW + offset, value);
}

static void ummu_progress(void *opaque)
{
    g_usleep(100);
}

/* Loads by CTP, whatever the queues go by: rows ENG_DEST. */
static void two_start(Two *t, unsigned carrier, const char *props)
{
    const EngPlan plan = { .carrier = carrier, .props = props };

    eng_start(&t->p, &plan);
    win_open(&t->a, &t->p.a);
    win_open(&t->b, &t->p.b);
}

static void two_stop(Two *t)
{
    eng_stop(&t->p);
}

/* b's memory from UBA on is what its UMMU maps: TokenID 33, with @flags of
 * its TCTE. */
static void ummu_open(Two *t, uint64_t flags)
{
    QUbc *q = t->p.link.b;

    t->ummu = (UbmDrv){
        .memory = q->ram->at, .brk = UMMU_HEAP, .end = q->ram->size,
        .opaque = q, .reg_read = ummu_read, .reg_write = ummu_write,
        .progress = ummu_progress,
    };
    t->p.b.drv.end = UMMU_HEAP;
    ubm_open(&t->ummu, 6);
    ubm_context(&t->ummu, TOKEN_ID, flags);
    ubm_single(&t->ummu, TOKEN_ID, UBM_MAPTE_V | UBM_RWA, UBA,
               UBA + PAGES * PAGE - 1, ENG_TOKEN);
}

/* Page @n of a's room to page @n of b's, by TokenID @token_id from @uba on. */
static void post_page(Eng *e, unsigned opcode, unsigned n, uint32_t token_id,
                      uint64_t uba)
{
    uint8_t *s = eng_sqe(e, opcode, 0, PAGE, 1);

    put_le64(s + UBQ_SQE_ELEMENT, e->room + n * PAGE);
    put_le64(s + UBQ_SQE_ADDR, uba + n * PAGE);
    put_le32(s + UBQ_SQE_TARGET, token_id);
    ubq_post(&e->queue, s, 1);
}

/* ---- Borrowed memory ---------------------------------------------------------------- */

/* Both write back as much as their queues hold, and load meanwhile.  The response to
 * one does not wait behind what goes the other way, however little room there is. */
static void writebacks(unsigned carrier, const char *props)
{
    enum { MANY = 48, ROUNDS = 4 };
    Eng *e[2];
    Two t;

    two_start(&t, carrier, props);
    e[0] = &t.p.a;
    e[1] = &t.p.b;
    for (unsigned round = 0; round < ROUNDS; round++) {
        eng_fill(e[0], ENG_ROOM / 4, round);
        eng_fill(e[1], ENG_ROOM / 4, round + 100);
        for (unsigned i = 0; i < MANY; i++) {
            for (unsigned side = 0; side < 2; side++) {
                /* To the upper half of the room there. */
                post_page(e[side], UB_TA_WRITEBACK, i % 16, ENG_SEGMENT,
                          ENG_UBA + ENG_ROOM / 2);
            }
        }
        put_le64(e[1]->drv.memory + e[1]->room + ENG_ROOM / 4, round);
        g_assert_cmphex(win_load(&t.a, ENG_ROOM / 4), ==, round);
        for (unsigned i = 0; i < MANY; i++) {
            eng_complete(e[0], UBQ_STATUS_OK);
            eng_complete(e[1], UBQ_STATUS_OK);
        }
        for (unsigned side = 0; side < 2; side++) {
            g_assert_cmpmem(e[side]->drv.memory + e[side]->room, 16 * PAGE,
                            e[!side]->drv.memory + e[!side]->room +
                            ENG_ROOM / 2, 16 * PAGE);
        }
    }
    two_stop(&t);
}

static void test_writebacks_ctp(void)
{
    writebacks(ENG_CTP, WIN_PROPS);
}

static void test_writebacks_rtp(void)
{
    writebacks(ENG_RTP, WIN_PROPS);
}

/* With credits for little more than a packet of each virtual lane. */
static void test_writebacks_short(void)
{
    writebacks(ENG_CTP, WIN_PROPS ",init-credit=256");
}

/* ---- Tables ---------------------------------------------------------------------------- */

/* Tables of b's UMMU in memory that b has borrowed from a, by its window: looking at
 * them would need what they translate.  They are not looked at there: a is refused,
 * and nobody stands. */
static void test_tables(void)
{
    uint64_t tect;
    Two t;

    two_start(&t, ENG_CTP, WIN_PROPS);
    ummu_open(&t, 0);
    ubm_map(&t.ummu, TOKEN_ID, UBA, t.p.b.room, PAGE, 0);
    eng_fill(&t.p.a, PAGE, 1);
    post_page(&t.p.a, UB_TA_WRITE, 0, TOKEN_ID, UBA);
    eng_complete(&t.p.a, UBQ_STATUS_OK);
    eng_check(&t.p.b, PAGE, 1);
    /* What a lends has a good table in it. */
    tect = t.ummu.tect;
    memcpy(t.p.a.drv.memory + t.p.a.room + PAGE, t.p.b.drv.memory + tect,
           UBM_TECTE);
    t.ummu.reg_write(t.ummu.opaque, UBM_CR0, 0);
    ubm_write64(&t.ummu, UBM_TECT_BASE, WIN_BASE + PAGE);
    t.ummu.reg_write(t.ummu.opaque, UBM_CR0, UBM_CR0_ENABLE | UBM_CR0_EVTQ |
                                             UBM_CR0_MAPT);
    for (unsigned i = 0; i < 4; i++) {
        post_page(&t.p.a, UB_TA_WRITE, i, TOKEN_ID, UBA);
    }
    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmphex(ubq_cqe_status(eng_next(&t.p.a)), !=, UBQ_STATUS_OK);
    }
    g_assert_cmpuint(eng_counter(&t.p.b, "window", "loads"), ==, 0);
    two_stop(&t);
}

/* ---- Page faults ------------------------------------------------------------------------ */

/* b handles the fault: it writes a victim back to a, and loads the page from there;
 * by the port that a's requests, all of which wait for the fault, come by. */
static void handle(Two *t, unsigned page)
{
    Eng *b = &t->p.b;

    post_page(b, UB_TA_WRITEBACK, page, ENG_SEGMENT, ENG_UBA + ENG_ROOM / 2);
    eng_complete(b, UBQ_STATUS_OK);
    for (unsigned at = 0; at < PAGE; at += 512) {
        uint64_t word = win_load(&t->b, ENG_ROOM / 4 + page * PAGE + at);

        put_le64(b->drv.memory + b->room + page * PAGE + at, word);
        g_assert_cmphex(word, ==, 0x7777);
    }
    ubm_map(&t->ummu, TOKEN_ID, UBA + page * PAGE, b->room + page * PAGE, PAGE,
            0);
}

static void test_faults(void)
{
    enum { MANY = 40 };
    Two t;

    /* A request is tried seven times, each four seconds after the last. */
    two_start(&t, ENG_CTP, WIN_PROPS ",ta-time-scale=4000");
    ummu_open(&t, UBM_TCTE_PF);
    t.ummu.reg_write(t.ummu.opaque, UBM_PF_TIMER, 19);
    for (unsigned i = 0; i < ENG_ROOM / 4; i += 8) {
        put_le64(t.p.a.drv.memory + t.p.a.room + ENG_ROOM / 4 + i, 0x7777);
    }
    eng_fill(&t.p.a, PAGES * PAGE, 9);
    for (unsigned i = 0; i < MANY; i++) {
        post_page(&t.p.a, UB_TA_WRITE, i % PAGES, TOKEN_ID, UBA);
    }
    QUBC_WAIT(eng_counter(&t.p.a, "transaction", "page-fault-rx") >= MANY);
    for (unsigned page = 0; page < PAGES; page++) {
        handle(&t, page);
    }
    for (unsigned i = 0; i < MANY; i++) {
        eng_complete(&t.p.a, UBQ_STATUS_OK);
    }
    eng_check(&t.p.b, PAGES * PAGE, 9);
    two_stop(&t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-deadlock/writebacks/ctp", test_writebacks_ctp);
    qtest_add_func("/ubc-deadlock/writebacks/rtp", test_writebacks_rtp);
    qtest_add_func("/ubc-deadlock/writebacks/short", test_writebacks_short);
    qtest_add_func("/ubc-deadlock/tables", test_tables);
    qtest_add_func("/ubc-deadlock/faults", test_faults);
    return g_test_run();
}
