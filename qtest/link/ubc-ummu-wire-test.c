/*
 * What the owner of memory answers to a peer that it refuses, as it passes the wire: for
 * each decision of UB 2.0 §9.4.1 the ATAH of the response (§7.2.2), in full and in
 * compact form.  Its places and values are written down here anew: no code of the device
 * reads or makes them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-ummu-bed.h"
#include "ubc-raw.h"
#include "ubc-watch.h"
#include "ub/tp_format.h"

enum { GOOD = 0, UR = 1, RA = 2 };      /* RSPINFO of a Completer Error; 0: none */
enum { RSPST_GOOD = 0, RSPST_PAGE_FAULT = 2, RSPST_COMPLETER = 3 };

/* Unsupported Request for what was checked, Remote Abort for what could not be done. */
static const uint8_t answers[21] = {
    [1] = UR, [2] = UR, [3] = UR, [4] = UR, [5] = UR, [6] = UR, [7] = UR,
    [8] = UR, [9] = UR, [10] = UR, [11] = RA, [12] = RA, [13] = RA, [14] = RA,
    [15] = UR, [16] = UR, [17] = UR, [18] = UR, [19] = UR, [20] = UR,
};

/* Accesses, and their responses. */
typedef struct Kind {
    unsigned opcode, response, right;
    unsigned len, blocks;
} Kind;

static const Kind kinds[] = {
    { UB_TA_WRITE, 0x11, UBM_MAPTE_WRITE, LEN, 1 },
    { UB_TA_READ, 0x12, UBM_MAPTE_READ, LEN, 1 },
    { UB_TA_FETCH_ADD, 0x13, UBM_MAPTE_ATOMIC, 8, 2 },
};

/* What is to be found: one answer for each request. */
typedef struct Wanted {
    uint8_t opcode, info;
    unsigned decision;
} Wanted;

static Watch watch;
static GArray *wanted;

static void begin(unsigned carrier, const char *props)
{
    watch_pair(&watch, &p, &(EngPlan){ .carrier = carrier }, props);
    ummu_open();
    wanted = g_array_new(false, false, sizeof(Wanted));
}

/* One access, which has this RSPINFO as its answer. */
static void ask(const Kind *k, uint64_t uba, uint32_t value, unsigned decision,
                bool compact)
{
    Wanted w = { k->response, answers[decision], decision };
    uint8_t *s = eng_sqe(&p.a, k->opcode, k->blocks > 1 ? UBQ_SQE_INLINE : 0,
                         k->len, k->blocks);

    put_le64(s + UBQ_SQE_ADDR, uba);
    put_le32(s + UBQ_SQE_TOKEN_VALUE, value);
    if (k->blocks > 1) {
        put_le64(s + UBQ_BLOCK, 1);
    }
    ubq_post(&p.a.queue, s, k->blocks);
    /* The compact form has no more than that it was refused. */
    eng_complete(&p.a, w.info == GOOD ? UBQ_STATUS_OK
                       : w.info == RA || compact ? UBQ_STATUS_ABORT
                                                 : UBQ_STATUS_UNSUPPORTED);
    g_array_append_val(wanted, w);
}

/* Each decision by each kind of access, and the good one behind it. */
static void refuse_all(unsigned n, bool compact)
{
    const uint64_t page = ENG_UBA + 4096;
    UmmuRow rows[UMMU_ROWS];

    rows_make(rows, page);
    for (unsigned i = 0; i < n * UMMU_ROWS; i++) {
        const Kind *k = &kinds[i % n];
        UmmuRow row = rows[i / n];
        uint64_t uba = page;
        uint32_t value;

        if (row.decision == 15 && k->opcode == UB_TA_READ) {
            continue;           /* which a page of that kind allows */
        }
        if (row.decision == 17) {
            row.set = page + k->len - 2;
        }
        if (row.decision == 20) {
            row.clear = k->right;
        }
        value = row_begin(&row);
        ask(k, uba, value, row.decision, compact);
        if (row.code) {
            event(row.code, row.decision);
        }
        g_assert_null(ubm_event(&ummu));
        row_end(&row);
        ask(k, uba, ENG_TOKEN, 0, compact);
    }
}

/* Packets of @cfg have come, whose ATAH is at @at: one for each request, in order. */
static void check_answers(unsigned cfg, uint32_t at, bool compact)
{
    watch_look(&watch);
    g_assert_cmpuint(watch_packets(watch.came, cfg), ==, wanted->len);
    g_assert_cmpuint(watch_packets(watch.sent, cfg), ==, wanted->len);
    for (unsigned i = 0; i < wanted->len; i++) {
        const Wanted *w = &g_array_index(wanted, Wanted, i);
        const uint8_t *t = watch_packet(watch.came, cfg, i)->p + at;

        g_assert_cmphex(t[0], ==, w->opcode);
        /* The number of the request. */
        g_assert_cmphex(lduw_be_p(t + 2), ==, lduw_be_p(
            watch_packet(watch.sent, cfg, i)->p + at + 2));
        /* TAver, Status, SV, Poison. */
        g_assert_cmphex(t[1], ==, compact && w->info ? 0x10 : 0);
        if (!compact) {
            g_assert_cmpuint(t[4] >> 5, ==, w->info ? RSPST_COMPLETER
                                                    : RSPST_GOOD);
            g_assert_cmpuint(t[4] & 31, ==, w->info);
        }
        if (w->info && w->opcode == 0x12) {
            /* Not a byte of what is there. */
            g_assert_cmpuint(watch_packet(watch.came, cfg, i)->len, <,
                             at + LEN);
        }
    }
    g_array_free(wanted, true);
    watch_end(&watch);
}

/* NTH of 16-bit CNAs, CTPH, UPIH, EIDH of 256 bits; the full form. */
#define FULL_AT (UB_NTH16_SIZE + 1 + 4 + 32)

static void test_full(void)
{
    begin(ENG_CTP, "");
    refuse_all(G_N_ELEMENTS(kinds), false);
    check_answers(UB_LPH_CNA16, FULL_AT, false);
    /* A stage that is not there. */
    begin(ENG_CTP, ",ummu-stage2=off");
    change(ummu.tect, 0, 7 << 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
        ask(&kinds[i], ENG_UBA, ENG_TOKEN, 3, false);
        event(UBM_EVT_BAD_TECTE, 3);
    }
    check_answers(UB_LPH_CNA16, FULL_AT, false);
}

/* CFG 9: the compact form, and the configuration entry of packets without EIDs. */
static void test_compact(void)
{
    begin(ENG_BYPASS, "");
    refuse_all(2, true);
    check_answers(UB_LPH_BYPASS, UB_NTH16_SIZE, true);
    begin(ENG_BYPASS, ",ummu-stage2=off");
    change(ummu.tect, 0, 7 << 1);
    for (unsigned i = 0; i < 2; i++) {
        ask(&kinds[i], ENG_UBA, ENG_TOKEN, 3, true);
        event(UBM_EVT_BAD_TECTE, 3);
    }
    check_answers(UB_LPH_BYPASS, UB_NTH16_SIZE, true);
}

/* Faults that the owner wants to be asked again: Page Fault with its timer, until it has
 * mended its table, and the same number with Retry. */
static void test_page_fault(void)
{
    static const struct {
        unsigned decision, code;
        uint64_t bit;
    } faults[] = {
        { 13, UBM_EVT_ACCESS_FLAG, UBM_PTE_AF },
        { 14, UBM_EVT_TRANSLATION, UBM_PTE_VALID },
    };
    enum { TIMER = 14 };        /* 33 ms */
    unsigned at = 0;

    begin(ENG_CTP, ",ta-retries=255");
    change(tcte, 0, UBM_TCTE_PF);
    drv_write(NULL, UBM_PF_TIMER, TIMER);
    for (unsigned i = 0; i < G_N_ELEMENTS(faults); i++) {
        change(leaf(ENG_UBA), faults[i].bit, 0);
        post(UB_TA_WRITE, ENG_UBA, ENG_TOKEN);
        event(faults[i].code, faults[i].decision);
        change(leaf(ENG_UBA), 0, faults[i].bit);
        eng_complete(&p.a, UBQ_STATUS_OK);
        while (ubm_event(&ummu)) {
            /* It has been asked again meanwhile. */
        }
    }
    watch_look(&watch);
    for (unsigned i = 0; i < G_N_ELEMENTS(faults); i++) {
        unsigned asked = 0;
        uint16_t number = 0;

        for (;; asked++, at++) {
            const uint8_t *req = watch_packet(watch.sent, UB_LPH_CNA16, at)->p +
                                 FULL_AT;
            const uint8_t *t = watch_packet(watch.came, UB_LPH_CNA16, at)->p +
                               FULL_AT;

            if (!asked) {
                number = lduw_be_p(req + 2);
            }
            g_assert_cmphex(req[0], ==, UB_TA_WRITE);
            g_assert_cmphex(lduw_be_p(req + 2), ==, number);
            g_assert_cmpuint(req[4] >> 1 & 1, ==, asked > 0);   /* Retry */
            g_assert_cmphex(t[0], ==, 0x11);
            g_assert_cmphex(lduw_be_p(t + 2), ==, number);
            if (t[4] >> 5 == RSPST_GOOD) {
                break;
            }
            g_assert_cmpuint(t[4] >> 5, ==, RSPST_PAGE_FAULT);
            g_assert_cmpuint(t[4] & 31, ==, TIMER);
        }
        g_assert_cmpuint(asked, >=, 1);
        at++;
    }
    g_assert_cmpuint(watch_packets(watch.came, UB_LPH_CNA16), ==, at);
    g_array_free(wanted, true);
    watch_end(&watch);
}

#define FIRST 100u      /* PSN of what waits */

/* TPSACKs have two readings of what is here and not yet acknowledged, as its
 * answer waits for b's software (docs/decisions/ub-tp.rst): bit 1 of the map.  Where it is
 * 0 the packet is sent again with the one that is lost, whose bit is behind it. */
static void test_withheld(void)
{
    for (unsigned hides = 0; hides < 2; hides++) {
        EngChannel c = { .flags = UBQ_CH_SELECTIVE | UBQ_CH_FAST | UBQ_CH_OOO |
                                  UBQ_CH_RTO_DYNAMIC | UBQ_CH_ANSWERS,
                         .rto = 2097152, .tx = FIRST, .rx = 7 };
        uint64_t stag, came;
        unsigned maps = 0;

        watch_pair(&watch, &p, &(EngPlan){ .carrier = ENG_CTP, .mode = UB_ROL },
                   hides ? ",tp-rto-scale=1000,tp-sack-hides=on"
                         : ",tp-rto-scale=1000");
        ummu_open();
        eng_channel(&p.a, &c);
        c.tx = 7;
        c.rx = FIRST;
        eng_channel(&p.b, &c);
        eng_ask_answers(&p.a);
        eng_ask_answers(&p.b);
        stag = stall(1);
        came = eng_counter(&p.b, "transaction", "rx-requests");
        eng_set_faults(&p.b, false, "'kind': 'rtp', 'psn': 101, 'nth': 1,"
                       " 'action': 'drop'");
        for (unsigned i = 0; i < 3; i++) {
            post(UB_TA_WRITE, ENG_UBA + 4096, ENG_TOKEN);
        }
        QUBC_WAIT(eng_counter(&p.b, "transaction", "rx-requests") == came + 3);
        g_assert_cmpuint(eng_faults(&p.b, false, "drop"), ==, 1);
        g_assert_null(ubq_cq_poll(&p.a.cq));
        mend(stag);
        for (unsigned i = 0; i < 4; i++) {
            eng_complete(&p.a, UBQ_STATUS_OK);
        }
        g_assert_cmpuint(eng_counter(&p.a, "transport", "tx-resent"), ==, 1 + hides);
        watch_look(&watch);
        for (unsigned i = 0; i < watch_packets(watch.came, UB_LPH_CNA24); i++) {
            const uint8_t *h = watch_packet(watch.came, UB_LPH_CNA24, i)->p +
                               UB_NTH24_SIZE;
            uint32_t map = ldl_be_p(h + 16 + 4);

            /* There may be more of them when the lost one is here, too. */
            if ((h[0] & 0x7f) == UB_TPOP_SACK && !(map & 4)) {
                g_assert_cmphex(ldl_be_p(h + 8) & 0xffffff, ==, FIRST - 1);
                g_assert_cmphex(map & 0xf, ==, hides ? 0x9 : 0xb);
                maps++;
            }
        }
        g_assert_cmpuint(maps, >, 0);
        watch_end(&watch);
    }
}

/* ---- EE_bits (§11.6.4) ------------------------------------------------------------------ */

/* A Write of 16 bytes to a page of b's, as from an Entity with these EE_bits; whether it
 * is done. */
static bool write_as(unsigned ee, unsigned page, unsigned code, unsigned why)
{
    enum { UPI = UB_NTH16_SIZE + UB_CTPH_LEN, TAH = UPI + 4 + 32, N = 16,
           ALL = TAH + RAW_TAH + N, PAD = -(ALL - UB_NTH16_SIZE) & 3 };
    const UbNth nth = { .scna = 1, .dcna = 2, .nlp = UB_NLP_CTPH };
    static uint16_t number;
    uint8_t b[ALL + PAD + UB_ICRC_SIZE] = { 0 };
    uint8_t *at = p.b.drv.memory + p.b.room + page * 4096;
    uint64_t answers = eng_counter(&p.b, "transaction", "tx-responses");

    memset(at, 0, N);
    ub_nth16_put(b, &nth);
    b[UB_NTH16_SIZE] = PAD << 4 | UB_TPH_UPI32;
    b[UPI + 3] = 1;                             /* UPI */
    b[UPI + 4 + 15] = 1;                        /* SEID, DEID */
    b[UPI + 4 + 31] = 2;
    raw_request(b + TAH, UB_TA_WRITE, ee, number++, p.a.queue.id, page * 4096, N);
    memset(b + TAH + RAW_TAH, 0x5a, N);
    raw_seal(UB_LPH_CNA16, b, ALL + PAD);
    raw_send(&p.a, UB_LPH_CNA16, b, sizeof(b));
    QUBC_WAIT(eng_counter(&p.b, "transaction", "tx-responses") == answers + 1);
    if (at[0] != 0x5a) {
        event(code, why);
        return false;
    }
    return at[N - 1] == 0x5a;
}

/* Memory of the trusted side is for its EE_bits and no others', and that of the other
 * side not for them; each side has tables of its own.  Where there is no trusted side
 * nobody is of it. */
static void test_trusted(void)
{
    uint64_t tect;

    eng_start(&p, &(EngPlan){ .carrier = ENG_CTP });
    ummu_open();
    raw_open(&p.a);
    g_assert_true(write_as(UB_EE_NORMAL, 0, 0, 0));
    g_assert_false(write_as(UB_EE_TEE, 0, UBM_EVT_TYPE, UBM_WHY_EE));
    tect = ummu_trust_page();
    for (unsigned page = 0; page < 3; page++) {
        for (unsigned trusted = 0; trusted < 2; trusted++) {
            g_assert_true(write_as(trusted ? UB_EE_TEE : UB_EE_NORMAL, page,
                                   UBM_EVT_PERMISSION, UBM_WHY_TEE_MEMORY) ==
                          (trusted == (page == 1)));
        }
    }
    change(tect, UBM_TECTE_V, 0);
    g_assert_false(write_as(UB_EE_TEE, 1, UBM_EVT_BAD_TECTE, 1));
    g_assert_true(write_as(UB_EE_NORMAL, 0, 0, 0));
    eng_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-ummu-wire/full", test_full);
    qtest_add_func("/ubc-ummu-wire/compact", test_compact);
    qtest_add_func("/ubc-ummu-wire/page-fault", test_page_fault);
    qtest_add_func("/ubc-ummu-wire/withheld", test_withheld);
    qtest_add_func("/ubc-ummu-wire/trusted", test_trusted);
    return g_test_run();
}
