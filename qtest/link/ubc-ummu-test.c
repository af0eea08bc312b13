/*
 * The UMMU of a controller, by its registers, its tables in guest memory, a peer's
 * accesses and the monitor: what it refuses and how both ends hear of it, what the
 * monitor says beforehand, caches, nested worlds, hostile tables, and what happens to
 * accesses that wait for software when the machine is reset, moves, stops, loses the
 * device.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-ummu-bed.h"
#include "ubc-win.h"
#include "qapi/error.h"
#include "qobject/qjson.h"

#define UR "unsupported-request"
#define RA "remote-abort"

/* b after a reset, and a after what it took with it. */
static void start_again(void)
{
    eng_begin_anew(&p.a);
    eng_open(&p.b, p.link.b, 2);
    eng_link_up(&p);
    eng_queue(&p.a, &p.plan);
    eng_queue(&p.b, &p.plan);
    ummu_open();
}

/* ---- The monitor --------------------------------------------------------------------- */

/* b's row of query-ub-ummu; the caller unrefs *rsp. */
static QDict *row(QDict **rsp)
{
    *rsp = qtest_qmp(p.b.q->qts, "{ 'execute': 'query-ub-ummu' }");
    return qobject_to(QDict, qlist_entry_obj(
        qlist_first(qdict_get_qlist(*rsp, "return"))));
}

static char *state_text(void)
{
    QDict *rsp, *d = row(&rsp);
    GString *json = qobject_to_json(QOBJECT(d));

    qobject_unref(rsp);
    return g_string_free(json, FALSE);
}

static int64_t state_int(const char *key)
{
    QDict *rsp;
    int64_t value = qdict_get_int(row(&rsp), key);

    qobject_unref(rsp);
    return value;
}

static uint64_t refused_by(unsigned decision)
{
    const QListEntry *at;
    uint64_t count = 0;
    QDict *rsp;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(row(&rsp), "refused"), at) {
        QDict *d = qobject_to(QDict, qlist_entry_obj(at));

        if (qdict_get_int(d, "decision") == decision) {
            count = qdict_get_int(d, "count");
        }
    }
    qobject_unref(rsp);
    return count;
}

/* ub-translate with these members, JSON; NULL: it is an error. */
static QDict *translate(const char *members)
{
    g_autofree char *args = g_strdup_printf("{ 'device': 'ub0', %s }", members);
    QDict *rsp = qtest_qmp(p.b.q->qts, "{ 'execute': 'ub-translate',"
                           " 'arguments': %p }",
                           qobject_from_json(args, &error_abort));
    QDict *t = qdict_get_qdict(rsp, "return");

    if (t) {
        qobject_ref(t);
    }
    qobject_unref(rsp);
    return t;
}

/* An access of LEN bytes at @uba: the answer, and the decision, 0: none. */
static void says(const char *access, uint64_t uba, uint32_t value,
                 const char *answer, unsigned decision)
{
    g_autofree char *args = g_strdup_printf(
        "'token-id': %u, 'address': %" PRIu64 ", 'length': %u, 'access': '%s',"
        " 'token-value': %" PRIu32, ENG_SEGMENT, uba, LEN, access, value);
    QDict *t = translate(args);

    g_assert_nonnull(t);
    g_assert_cmpstr(qdict_get_str(t, "answer"), ==, answer);
    g_assert_cmpint(qdict_get_try_int(t, "decision", 0), ==, decision);
    g_assert_cmpint(qlist_empty(qdict_get_qlist(t, "spans")), ==,
                    strcmp(answer, "ok") != 0);
    qobject_unref(t);
}

static char *log_text(void)
{
    char *text;

    g_assert_true(g_file_get_contents(p.b.q->log, &text, NULL, NULL));
    return text;
}

/* The monitor says so, and its question leaves no trace: not in tables, registers,
 * state, log. */
static void foretold(const char *access, uint64_t uba, uint32_t value,
                     const char *answer, unsigned decision)
{
    g_autofree char *before = state_text(), *log = log_text();
    g_autofree void *tables = g_memdup2(ummu.memory + ummu.end - TABLES, TABLES);
    uint32_t prod = drv_read(NULL, UBM_EVTQ_PROD);
    g_autofree char *after = NULL, *log_after = NULL;

    says(access, uba, value, answer, decision);
    after = state_text();
    log_after = log_text();
    g_assert_cmpstr(after, ==, before);
    g_assert_cmpstr(log_after, ==, log);
    g_assert_cmphex(drv_read(NULL, UBM_EVTQ_PROD), ==, prod);
    g_assert_cmpint(memcmp(tables, ummu.memory + ummu.end - TABLES, TABLES),
                    ==, 0);
}

static void hmp_has(const char *command, const char *text)
{
    g_autofree char *out = qtest_hmp(p.b.q->qts, "%s", command);

    if (!strstr(out, text)) {
        g_error("'%s' is not in the answer to %s: %s", text, command, out);
    }
}

/* ---- Decisions ------------------------------------------------------------------------- */

/* Each decision by what is changed: the monitor foretells it, the peer's completion and
 * the owner's event tell it, and a counter counts it. */
static void test_decisions(void)
{
    const uint64_t page = ENG_UBA + 4096;
    UmmuRow rows[UMMU_ROWS];

    start("");
    rows_make(rows, page);
    for (unsigned i = 0; i < UMMU_ROWS; i++) {
        const char *answer = rows[i].abort ? RA : UR;
        uint32_t token = row_begin(&rows[i]);

        foretold("write", page, token, answer, rows[i].decision);
        access_ends(UB_TA_WRITE, page, token,
                    rows[i].abort ? UBQ_STATUS_ABORT
                                  : UBQ_STATUS_UNSUPPORTED);
        if (rows[i].code) {
            event(rows[i].code, rows[i].decision);
        }
        g_assert_null(ubm_event(&ummu));
        g_assert_cmpuint(refused_by(rows[i].decision), ==, 1);
        row_end(&rows[i]);
        foretold("write", page, ENG_TOKEN, "ok", 0);
        access_ends(UB_TA_WRITE, page, ENG_TOKEN, UBQ_STATUS_OK);
    }
    eng_stop(&p);
    /* A stage that is not there. */
    start("ummu-stage2=off");
    change(ummu.tect, 0, 7 << 1);
    foretold("read", ENG_UBA, ENG_TOKEN, UR, 3);
    access_ends(UB_TA_READ, ENG_UBA, ENG_TOKEN, UBQ_STATUS_UNSUPPORTED);
    event(UBM_EVT_BAD_TECTE, 3);
    eng_stop(&p);
}

/* With the E bit in the request both entries that ask for it let it in. */
static void test_e_bit(void)
{
    const struct {
        unsigned decision;
        uint64_t *entry, bit;
    } rows[] = {
        { 10, &tcte, UBM_TCTE_E_BIT }, { 19, &mapte, UBM_MAPTE_E_BIT },
    };

    start("");
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        uint8_t *s;

        change(*rows[i].entry, 0, rows[i].bit);
        access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_UNSUPPORTED);
        event(UBM_EVT_E_BIT, rows[i].decision);
        s = eng_sqe(&p.a, UB_TA_WRITE, 0, LEN, 1);
        put_le64(s + UBQ_SQE_ADDR, ENG_UBA);
        put_le32(s + UBQ_SQE_TOKEN_VALUE, ENG_TOKEN);
        put_le32(s + UBQ_SQE_W0,
                 get_le32(s + UBQ_SQE_W0) | UBQ_SQE_EXCLUSIVE);
        ubq_post(&p.a.queue, s, 1);
        eng_complete(&p.a, UBQ_STATUS_OK);
        g_assert_null(ubm_event(&ummu));
        change(*rows[i].entry, rows[i].bit, 0);
    }
    eng_stop(&p);
}

/* Packets of CFG 9 have no EIDs: they are of the configuration entry that software has
 * named, or of none. */
static void test_bare(void)
{
    const uint64_t other = 1 << 20;
    uint8_t *there;
    Win w;

    eng_start(&p, &(EngPlan){ .carrier = ENG_BYPASS, .mode = UB_ROI,
                              .props = WIN_PROPS "," STEADY });
    ummu_open();
    win_open(&w, &p.a);
    there = p.b.drv.memory + p.b.room;
    put_le64(there, 0x1122);
    g_assert_cmphex(win_load(&w, 0), ==, 0x1122);
    win_store(&w, 8, 0x3344);
    g_assert_cmphex(win_fence(&w), ==, 0);
    g_assert_cmphex(get_le64(there + 8), ==, 0x3344);
    g_assert_null(ubm_event(&ummu));
    /* Another token; no page. */
    win_page(&w, 1, ENG_UBA, ENG_DEST, ENG_TOKEN + 1);
    g_assert_cmphex(win_load(&w, other), ==, UINT64_MAX);
    g_assert_cmphex(win_event(&w), ==, UB_LDS_EVENT_REMOTE);
    event(UBM_EVT_MAPT, UBM_WHY_TOKEN_VALUE);
    change(leaf(ENG_UBA), UBM_PTE_VALID, 0);
    win_store(&w, 8, 5);
    g_assert_cmphex(win_fence(&w), ==, 1);
    g_assert_cmphex(win_event(&w), ==, UB_LDS_EVENT_REMOTE);
    event(UBM_EVT_TRANSLATION, UBM_WHY_TRANSLATION);
    change(leaf(ENG_UBA), 0, UBM_PTE_VALID);
    /* Nobody's. */
    drv_write(NULL, UBM_CR1, UBM_CR1_BAD_EID);
    drv_write(NULL, UBM_DEFAULT, UBM_DEFAULT_ALL);
    g_assert_cmphex(win_load(&w, 0), ==, UINT64_MAX);
    g_assert_cmphex(win_event(&w), ==, UB_LDS_EVENT_REMOTE);
    event(UBM_EVT_BAD_EID, UBM_WHY_EID);
    g_assert_cmpuint(refused_by(UBM_WHY_EID), ==, 1);
    drv_write(NULL, UBM_DEFAULT, UBM_DEFAULT_ALL | UBM_DEFAULT_BARE);
    g_assert_cmphex(win_load(&w, 8), ==, 0x3344);
    g_assert_null(ubm_event(&ummu));
    eng_stop(&p);
}

/* What can be asked, and what cannot. */
static void test_monitor(void)
{
    static const char *const bad[] = {
        "'address': 0, 'length': 0", "'address': 0, 'length': 65537",
        "'address': 0, 'token-id': 1048576",
        "'address': 18446744073709551615, 'length': 2",
        "'address': 0, 'eid': '12'", "'address': 0, 'tag': 1, 'bare': true",
        "'address': 0, 'tag': 1, 'eid': '00000000000000000000000000000002'",
    };
    g_autofree char *plain = g_strdup_printf(
        "'address': %u, 'token-id': %u, 'token-value': %u", ENG_UBA,
        ENG_SEGMENT, ENG_TOKEN);
    g_autofree char *ours = g_strdup_printf(
        "%s, 'eid': '00000000000000000000000000000002'", plain);
    g_autofree char *theirs = g_strdup_printf(
        "%s, 'eid': '00000000000000000000000000000003'", plain);
    g_autofree char *tag = g_strdup_printf("%s, 'tag': 1", plain);
    g_autofree char *bare = g_strdup_printf("%s, 'bare': true", plain);
    g_autofree char *tee = g_strdup_printf("%s, 'tee': true", plain);
    g_autofree char *local = g_strdup_printf(
        "'address': %u, 'token-id': %u, 'local': true", ENG_UBA, ENG_SEGMENT);
    g_autofree char *word = g_strdup_printf("info ub-translate ub0 %u 0x%x 8 "
                                            "write 0x%x", ENG_SEGMENT, ENG_UBA,
                                            ENG_TOKEN);
    g_autofree char *no = g_strdup_printf("info ub-translate ub0 %u 0x%x",
                                          ENG_SEGMENT, ENG_UBA);
    const struct {
        const char *args;
        int decision;
    } who[] = {
        { ours, 0 }, { theirs, UBM_WHY_EID }, { tag, UBM_WHY_EID },
        { bare, UBM_WHY_EID }, { tee, UBM_WHY_EE }, { local, 0 },
    };
    g_autofree char *place = NULL;

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP });
    g_assert_null(translate(plain));        /* off */
    hmp_has("info ub-ummu ub0", "UMMU: off");
    hmp_has(no, "plain segments decide");
    qubc_write(p.b.q, UBM_WINDOW + UBM_GBPA, UBM_GBPA_ABORT);
    says("read", ENG_UBA, ENG_TOKEN, UR, UBM_WHY_ABORT);
    hmp_has("info ub-ummu", "refuses all");
    ummu_open();
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_assert_null(translate(bad[i]));
    }
    ubm_command(&ummu, UBM_CMD_MAP, 0, 2, 0);
    drv_write(NULL, UBM_DEFAULT, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(who); i++) {
        QDict *t = translate(who[i].args);

        g_assert_cmpint(qdict_get_try_int(t, "decision", 0), ==,
                        who[i].decision);
        qobject_unref(t);
    }
    g_assert_cmpint(state_int("mappings"), ==, 1);
    g_assert_cmpint(state_int("default"), ==, 0);
    g_assert_cmpint(state_int("table"), ==, ummu.tect);
    place = g_strdup_printf("8 bytes at 0x%" PRIx64, p.b.room);
    hmp_has(word, place);
    hmp_has(no, "unsupported-request by decision 18: TokenValue");
    change(leaf(ENG_UBA), UBM_PTE_VALID, 0);
    hmp_has(no, "remote-abort by decision 14");
    hmp_has(no, "of stage 1");
    access_ends(UB_TA_READ, ENG_UBA, ENG_TOKEN, UBQ_STATUS_ABORT);
    hmp_has("info ub-ummu ub0", "refused by 14 (no translation): 1");
    hmp_has("info ub-ummu ub0", "command queue 0: at 0x");
    hmp_has("info ub-ummu nobody", "no UB controller");
    /* A queue that waits for software. */
    ubm_word_put(&ummu, ummu.cmdq + UBM_CMD * ummu.cmd_pi, 0xff);
    drv_write(NULL, UBM_CMDQ(0) + UBM_CMDQ_PROD,
              UBM_Q_ENABLE | (ummu.cmd_pi + 1));
    QUBC_WAIT(drv_read(NULL, UBM_CMDQ(0) + UBM_CMDQ_CONS) & UBM_Q_ERROR);
    hmp_has("info ub-ummu ub0", "waits for software: illegal");
    g_assert_cmpint(state_int("pending-errors"), ==, UBM_GERROR_CMDQ);
    eng_stop(&p);
}

/* ---- The TEE ------------------------------------------------------------------------------ */

/* What a load through a's window brings, by the entry with EE_bits of the TEE or not. */
static void tee_load(Win *w, bool tee, uint64_t at, unsigned code, unsigned why)
{
    uint64_t want = code ? UINT64_MAX : at + 1;

    g_assert_cmphex(win_load(w, ((uint64_t)tee << 20) + at), ==, want);
    if (code) {
        event(code, why);
        g_assert_cmphex(win_event(w), ==, UB_LDS_EVENT_REMOTE);
    }
}

/* EE_bits choose the tables, which the owner reads for peers, too; a page is on one
 * side alone. */
static void test_tee(void)
{
    uint64_t tect;
    uint8_t *entry;
    Win w;

    start(WIN_PROPS ",window-tee=on");
    win_open(&w, &p.a);
    win_page(&w, 1, ENG_UBA, ENG_DEST, ENG_TOKEN);
    entry = p.a.drv.memory + w.l1 + UB_LDS_ENTRY;
    put_le64(entry + 8, get_le64(entry + 8) | 3ull << UB_LDS_EE_SHIFT);
    for (uint64_t at = 0; at < 3 * 4096; at += 4096) {
        put_le64(p.b.drv.memory + p.b.room + at, at + 1);
    }
    tee_load(&w, false, 0, 0, 0);
    tee_load(&w, true, 0, UBM_EVT_TYPE, UBM_WHY_EE);
    tect = ummu_trust_page();
    for (uint64_t at = 0; at < 3 * 4096; at += 4096) {
        for (unsigned tee = 0; tee < 2; tee++) {
            bool good = tee == (at == 4096);

            tee_load(&w, tee, at, good ? 0 : UBM_EVT_PERMISSION,
                     UBM_WHY_TEE_MEMORY);
        }
    }
    ubm_word_put(&ummu, tect, 0);
    tee_load(&w, true, 4096, UBM_EVT_BAD_TECTE, UBM_WHY_TECTE_INVALID);
    tee_load(&w, false, 0, 0, 0);
    /* And the other way round. */
    ubm_word_put(&ummu, tect, ubm_word(&ummu, ummu.tect));
    ubm_word_put(&ummu, ummu.tect, 0);
    tee_load(&w, true, 4096, 0, 0);
    tee_load(&w, false, 0, UBM_EVT_BAD_TECTE, UBM_WHY_TECTE_INVALID);
    eng_stop(&p);
}

/* ---- Caches ------------------------------------------------------------------------------ */

/* After a TokenValue was changed in memory: the old and the new one. */
static void tokens(const char *props, bool old_good, bool new_good)
{
    start(props);
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_OK);
    ubm_word_put(&ummu, mapte + 24, 0x600000006ull);
    says("write", ENG_UBA, ENG_TOKEN, old_good ? "ok" : UR,
         old_good ? 0 : 18);
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN,
                old_good ? UBQ_STATUS_OK : UBQ_STATUS_UNSUPPORTED);
    says("write", ENG_UBA, 6, new_good ? "ok" : UR, new_good ? 0 : 18);
    access_ends(UB_TA_WRITE, ENG_UBA, 6,
                new_good ? UBQ_STATUS_OK : UBQ_STATUS_UNSUPPORTED);
    ubm_flush(&ummu, ENG_SEGMENT);
    access_ends(UB_TA_WRITE, ENG_UBA, 6, UBQ_STATUS_OK);
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_UNSUPPORTED);
    eng_stop(&p);
}

static void test_tokens(void)
{
    tokens("", false, true);
    tokens("ummu-strict=on,ummu-positive=off", true, false);
    tokens("ummu-strict=on", true, true);
}

/* A strict UMMU lets in by a translation, a context, that are gone in memory until
 * the right command; another one does not help. */
static void test_strict(void)
{
    const uint64_t token = (uint64_t)ENG_SEGMENT << 12;
    uint64_t was;

    start("ummu-strict=on");
    g_assert_cmpint(state_int("translations"), ==, 0);
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_OK);
    g_assert_cmpint(state_int("contexts"), ==, 1);
    g_assert_cmpint(state_int("translations"), ==, 1);
    g_assert_cmpint(state_int("permissions"), ==, 1);
    was = ubm_word(&ummu, leaf(ENG_UBA));
    ubm_word_put(&ummu, leaf(ENG_UBA), 0);
    ubm_command(&ummu, UBM_CMD_CFGI_TCT | token, 0, 0, 0);
    ubm_command(&ummu, UBM_CMD_PLBI_EID_TID | token, 0, 0, 0);
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_OK);
    ubm_command(&ummu, UBM_CMD_TLBI_OS_VA | token, ENG_UBA, 0, 0);
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_ABORT);
    event(UBM_EVT_TRANSLATION, 14);
    ubm_word_put(&ummu, leaf(ENG_UBA), was);
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_OK);
    change(tcte, UBM_TCTE_V, 0);
    ubm_command(&ummu, UBM_CMD_TLBI_NS_ALL, 0, 0, 0);
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_OK);
    ubm_command(&ummu, UBM_CMD_CFGI_TCT | token, 0, 0, 0);
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_UNSUPPORTED);
    event(UBM_EVT_BAD_TCTE, 7);
    eng_stop(&p);
}

/* ---- Nested worlds ----------------------------------------------------------------------- */

static void test_nested(void)
{
    uint64_t ipa, s2;

    start("");
    s2 = nested(mapte);
    ipa = NOWHERE_IPA | (mapte & 0x1fffff);
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_OK);
    ubm_word_put(&ummu, tcte + 24, ipa);
    foretold("write", ENG_UBA, ENG_TOKEN, "ok", 0);
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_OK);
    change(s2, UBM_PTE_VALID, 0);
    foretold("write", ENG_UBA, ENG_TOKEN, RA, 14);
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_ABORT);
    g_assert_cmphex(get_le64(event(UBM_EVT_TRANSLATION, 14)) &
                    (UBM_EVT_S2 | UBM_EVT_CLASS), ==, UBM_EVT_S2 | 3 << 14);
    eng_stop(&p);
    /* By the property the address is physical. */
    start("ummu-mapt-physical=on");
    nested(mapte);
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_OK);
    ubm_word_put(&ummu, tcte + 24, NOWHERE_IPA | (mapte & 0x1fffff));
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_ABORT);
    event(UBM_EVT_MAPT_WALK, UBM_WHY_MAPT_WALK);
    eng_stop(&p);
}

/* ---- Hostile software -------------------------------------------------------------------- */

/* Tables that point at themselves, beyond memory, into the device's own registers; each
 * is refused, and what is good goes on. */
static void test_hostile(void)
{
    uint64_t bar, l0, was;

    start("");
    bar = p.b.q->bar.addr;
    l0 = ubm_desc(&ummu, root, ENG_UBA, 0);
    {
        const struct {
            uint64_t at, value;
            unsigned status, code, why;
        } rows[] = {
            /* The root as its own table: descriptors are found, of tables where a
             * page should be. */
            { l0, root | 3, UBQ_STATUS_ABORT, UBM_EVT_TRANSLATION, 14 },
            { l0, QUBC_NOWHERE | 3, UBQ_STATUS_ABORT, UBM_EVT_WALK,
              UBM_WHY_WALK },
            { l0, bar | 3, UBQ_STATUS_ABORT, UBM_EVT_WALK, UBM_WHY_WALK },
            { tcte + 16, bar, UBQ_STATUS_ABORT, UBM_EVT_WALK, UBM_WHY_WALK },
            { tcte + 24, bar, UBQ_STATUS_ABORT, UBM_EVT_MAPT_WALK,
              UBM_WHY_MAPT_WALK },
            { tcte + 24, QUBC_NOWHERE, UBQ_STATUS_ABORT, UBM_EVT_MAPT_WALK,
              UBM_WHY_MAPT_WALK },
            { ummu.tect + 8, bar | 8, UBQ_STATUS_ABORT, UBM_EVT_TCT_FETCH,
              UBM_WHY_TCT_FETCH },
            { ummu.tect + 8, ummu.tect | 8, UBQ_STATUS_UNSUPPORTED,
              UBM_EVT_BAD_TCTE, 7 },
        };

        for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
            was = ubm_word(&ummu, rows[i].at);
            ubm_word_put(&ummu, rows[i].at, rows[i].value);
            access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, rows[i].status);
            event(rows[i].code, rows[i].why);
            ubm_word_put(&ummu, rows[i].at, was);
            access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_OK);
        }
    }
    /* The page itself is in registers: the access does not reach them. */
    was = ubm_word(&ummu, leaf(ENG_UBA));
    ubm_word_put(&ummu, leaf(ENG_UBA), bar | 3 | UBM_PTE_AF | UBM_PTE_USER);
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_ABORT);
    ubm_word_put(&ummu, leaf(ENG_UBA), was);
    /* Queues in registers, and the word of a SYNC. */
    ubm_command(&ummu, UBM_CMD_SYNC | 1 << 12, bar + UBC_CTRL, 0, 0);
    g_assert_cmphex(drv_read(NULL, UBM_GERROR), ==, UBM_GERROR_SYNC);
    ubm_write64(&ummu, UBM_CMDQ(1), (bar + UBM_WINDOW) | 2);
    drv_write(NULL, UBM_CMDQ(1) + UBM_CMDQ_PROD, UBM_Q_ENABLE | 1);
    QUBC_WAIT(drv_read(NULL, UBM_CMDQ(1) + UBM_CMDQ_CONS) & UBM_Q_ERROR);
    g_assert_cmphex(drv_read(NULL, UBM_CMDQ(1) + UBM_CMDQ_CONS) &
                    UBM_CONS_REASON, ==, UBM_REASON_ABORT << 24);
    drv_write(NULL, UBM_CR0, UBM_CR0_ENABLE | UBM_CR0_MAPT);
    ubm_write64(&ummu, UBM_EVTQ_BASE, bar | 2);
    drv_write(NULL, UBM_CR0, UBM_CR0_ENABLE | UBM_CR0_MAPT | UBM_CR0_EVTQ);
    access_ends(UB_TA_WRITE, ENG_UBA, 1, UBQ_STATUS_UNSUPPORTED);
    QUBC_WAIT(drv_read(NULL, UBM_GERROR) & UBM_GERROR_EVTQ);
    g_assert_cmpint(state_int("events-lost"), ==, 1);
    /* A configuration table of a size that does not exist. */
    drv_write(NULL, UBM_CR0, 0);
    for (unsigned log2 = 17; log2 < 64; log2 += 23) {
        drv_write(NULL, UBM_TECT_CFG, log2);
        g_assert_cmphex(drv_read(NULL, UBM_TECT_CFG), ==, 0);
    }
    g_assert_true(qubc_logged(p.b.q, "configuration table of a size"));
    drv_write(NULL, UBM_CR0, UBM_CR0_ENABLE | UBM_CR0_MAPT);
    eng_write_read(&p, 65536, 9);
    eng_stop(&p);
}

/* ---- Accesses that wait -------------------------------------------------------------------- */

/* All that wait have the end of software's choice, and no one else. */
static void test_stall(void)
{
    uint64_t stag;

    start("");
    says("write", ENG_UBA, ENG_TOKEN, "ok", 0);
    eng_fill(&p.a, LEN, 7);
    stag = stall(3);
    foretold("write", ENG_UBA, ENG_TOKEN, "stall", 14);
    g_assert_cmpint(state_int("stalls"), ==, 1);
    g_assert_null(ubq_cq_poll(&p.a.cq));
    /* Others do not wait behind them. */
    eng_send_recv_to(&p.b, &p.a, 100);
    mend(stag);
    for (unsigned i = 0; i < 3; i++) {
        eng_complete(&p.a, UBQ_STATUS_OK);
    }
    g_assert_cmpint(state_int("stalls"), ==, 0);
    stag = stall(3);
    ubm_command(&ummu, UBM_CMD_STALL_RESUME | UBM_RESUME_ABORT, stag, 0, 0);
    for (unsigned i = 0; i < 3; i++) {
        eng_complete(&p.a, UBQ_STATUS_ABORT);
    }
    g_assert_null(ubm_event(&ummu));
    g_assert_cmpuint(refused_by(UBM_WHY_STALL_ABORT), ==, 1);
    change(leaf(ENG_UBA), 0, UBM_PTE_VALID);
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_OK);
    eng_stop(&p);
}

/* A fault of stage 2 waits as well, by its own bit. */
static void test_stall_nested(void)
{
    uint64_t came, s2, q0;
    const uint8_t *e;

    start("");
    s2 = nested(mapte);
    ubm_word_put(&ummu, tcte + 24, NOWHERE_IPA | (mapte & 0x1fffff));
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_OK);
    change(ummu.tect + 16, 0, UBM_TECTE_S2_FBS);
    change(s2, UBM_PTE_VALID, 0);
    came = eng_counter(&p.b, "transaction", "rx-requests");
    foretold("write", ENG_UBA, ENG_TOKEN, "stall", 14);
    post(UB_TA_WRITE, ENG_UBA, ENG_TOKEN);
    e = event(UBM_EVT_TRANSLATION, 14);
    q0 = get_le64(e);
    g_assert_cmphex(q0 & (UBM_EVT_S2 | UBM_EVT_STALL | UBM_EVT_CLASS), ==,
                    UBM_EVT_S2 | UBM_EVT_STALL | 3 << 14);
    QUBC_WAIT(eng_counter(&p.b, "transaction", "rx-requests") == came + 1);
    g_assert_cmpint(state_int("stalls"), ==, 1);
    g_assert_null(ubq_cq_poll(&p.a.cq));
    change(s2, 0, UBM_PTE_VALID);
    ubm_command(&ummu, UBM_CMD_STALL_RESUME | UBM_RESUME_RETRY,
                get_le64(e + 8) & UBM_EVT_STAG, 0, 0);
    eng_complete(&p.a, UBQ_STATUS_OK);
    g_assert_cmpint(state_int("stalls"), ==, 0);
    eng_stop(&p);
}

/* A peer does not wait for software that cannot have heard of it: the event queue is full
 * of others, or off. */
static void test_untold(void)
{
    uint64_t stag;

    start("");
    eng_fill(&p.a, LEN, 8);
    change(ummu.tect + 8, 0, UBM_TECTE_TCT_STALL_EN);
    change(tcte, 0, UBM_TCTE_FBS);
    while (!(drv_read(NULL, UBM_EVTQ_PROD) & UBM_EVTQ_OVERFLOW)) {
        access_ends(UB_TA_WRITE, ENG_UBA, 1, UBQ_STATUS_UNSUPPORTED);
    }
    change(leaf(ENG_UBA), UBM_PTE_VALID, 0);
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_ABORT);
    drv_write(NULL, UBM_CR0, UBM_CR0_ENABLE | UBM_CR0_MAPT);
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_ABORT);
    drv_write(NULL, UBM_CR0, UBM_CR0_ENABLE | UBM_CR0_MAPT | UBM_CR0_EVTQ);
    g_assert_cmpint(state_int("stalls"), ==, 0);
    while (ubm_event(&ummu)) {
    }
    stag = stall(1);
    mend(stag);
    eng_complete(&p.a, UBQ_STATUS_OK);
    eng_check(&p.b, LEN, 8);
    eng_stop(&p);
}

/* A machine whose device is reset while peers wait for its software. */
static void test_reset(void)
{
    start("");
    eng_hasty(&p.a);
    stall(1);
    qubc_write(p.b.q, UBC_CTRL, UBC_CTRL_RESET);
    QUBC_WAIT(!state_int("stalls"));
    g_assert_cmphex(drv_read(NULL, UBM_CR0), ==, 0);
    g_assert_cmpint(state_int("mappings"), ==, 0);
    g_assert_cmphex(drv_read(NULL, UBM_TECT_BASE), ==, 0);
    start_again();
    g_assert_cmpint(state_int("stalls"), ==, 0);
    eng_write_read(&p, 65536, 1);
    access_ends(UB_TA_WRITE, ENG_UBA, 1, UBQ_STATUS_UNSUPPORTED);
    event(UBM_EVT_MAPT, 18);
    eng_stop(&p);
}

/* A machine moves with an access that waits; registers and the stall come along, what
 * was cached does not. */
static void test_migrate(void)
{
    uint64_t stag, was;

    start("ummu-strict=on");
    eng_fill(&p.a, LEN, 5);
    access_ends(UB_TA_WRITE, ENG_UBA + 4096, ENG_TOKEN, UBQ_STATUS_OK);
    stag = stall(1);
    access_ends(UB_TA_WRITE, ENG_UBA + 4096, ENG_TOKEN, UBQ_STATUS_OK);
    was = ubm_word(&ummu, leaf(ENG_UBA + 4096));
    ubm_word_put(&ummu, leaf(ENG_UBA + 4096), 0);
    g_assert_cmpint(state_int("translations"), ==, 1);
    says("write", ENG_UBA + 4096, ENG_TOKEN, "ok", 0);
    eng_migrate(&p);
    ummu.memory = p.b.drv.memory;
    g_assert_cmpint(state_int("stalls"), ==, 1);
    g_assert_cmpint(state_int("contexts"), ==, 0);
    g_assert_cmpint(state_int("translations"), ==, 0);
    g_assert_cmpint(state_int("permissions"), ==, 0);
    g_assert_cmphex(drv_read(NULL, UBM_CR0ACK), ==,
                    UBM_CR0_ENABLE | UBM_CR0_EVTQ | UBM_CR0_MAPT);
    /* Nothing is remembered of the page that is gone. */
    says("write", ENG_UBA + 4096, ENG_TOKEN, "stall", 14);
    ubm_word_put(&ummu, leaf(ENG_UBA + 4096), was);
    mend(stag);
    eng_complete(&p.a, UBQ_STATUS_OK);
    eng_check(&p.b, LEN, 5);
    eng_write_read(&p, 65536, 2);
    eng_stop(&p);
}

/* A machine that stands: its software's commands wait, and the peer with them. */
static void test_stop(void)
{
    uint64_t stag;

    start("");
    eng_fill(&p.a, LEN, 6);
    stag = stall(1);
    qtest_qmp_assert_success(p.b.q->qts, "{ 'execute': 'stop' }");
    g_assert_cmpint(state_int("stalls"), ==, 1);
    qtest_qmp_assert_success(p.b.q->qts, "{ 'execute': 'cont' }");
    g_assert_null(ubq_cq_poll(&p.a.cq));
    mend(stag);
    eng_complete(&p.a, UBQ_STATUS_OK);
    eng_check(&p.b, LEN, 6);
    eng_stop(&p);
}

/* The device goes while a peer waits: that hears of it, by the time that the transaction
 * layer waits for an answer, or by the channel's end; both machines go on. */
static void test_unplug(void)
{
    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP, .unplug = true,
                              .props = "ta-time-scale=15" });
    ummu_open();
    eng_hasty(&p.a);
    stall(1);
    qpci_unplug_acpi_device_test(p.b.q->qts, "ub0", QUBC_SLOT);
    post(UB_TA_WRITE, ENG_UBA, ENG_TOKEN);
    for (unsigned i = 0; i < 2; i++) {
        unsigned status = ubq_cqe_status(eng_next(&p.a));

        g_assert_true(status == UBQ_STATUS_TIMEOUT ||
                      status == UBQ_STATUS_FLUSHED);
    }
    qtest_qmp_assert_success(p.b.q->qts, "{ 'execute': 'query-ub-ummu' }");
    eng_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-ummu/decisions", test_decisions);
    qtest_add_func("/ubc-ummu/e-bit", test_e_bit);
    qtest_add_func("/ubc-ummu/bare", test_bare);
    qtest_add_func("/ubc-ummu/monitor", test_monitor);
    qtest_add_func("/ubc-ummu/tee", test_tee);
    qtest_add_func("/ubc-ummu/tokens", test_tokens);
    qtest_add_func("/ubc-ummu/strict", test_strict);
    qtest_add_func("/ubc-ummu/nested", test_nested);
    qtest_add_func("/ubc-ummu/hostile", test_hostile);
    qtest_add_func("/ubc-ummu/stall", test_stall);
    qtest_add_func("/ubc-ummu/stall/nested", test_stall_nested);
    qtest_add_func("/ubc-ummu/untold", test_untold);
    qtest_add_func("/ubc-ummu/reset", test_reset);
    qtest_add_func("/ubc-ummu/migrate", test_migrate);
    qtest_add_func("/ubc-ummu/stop", test_stop);
    qtest_add_func("/ubc-ummu/unplug", test_unplug);
    return g_test_run();
}
