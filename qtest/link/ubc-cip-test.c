/*
 * CIP (UB 2.0 §11.5) between two emulators, its keys written to registers: Writes,
 * Reads, messages and atomics that nobody on the link can read, change or repeat;
 * new keys under traffic, resets, migration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "ubc-cip-drv.h"
#include "qapi/error.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "ub/tah.h"

/* CTP does not send again what a link takes with it when an end has no turn. */
#define PATIENT "cip=on," STEADY

/* As eng_start(), but that a has more than b. */
static void start_watched(EngPair *p, const EngPlan *plan, const char *props,
                          const char *more)
{
    *p = (EngPair) { .plan = *plan };
    link_prepare(&p->link);
    p->link.props = props;
    p->link.more = more;
    p->link.a = start_server(&p->link);
    p->link.props = plan->props;
    p->link.more = NULL;
    p->link.b = start_client(&p->link);
    eng_open(&p->a, p->link.a, 1);
    eng_open(&p->b, p->link.b, 2);
    eng_link_up(p);
    eng_queue(&p->a, plan);
    eng_queue(&p->b, plan);
}

static void start(EngPair *p, unsigned carrier, unsigned suite,
                  const char *props)
{
    EngPlan plan = { .carrier = carrier, .props = props };

    eng_start(p, &plan);
    cip_bring_up(p, suite);
}

static uint64_t counter(Eng *e, const char *name)
{
    return eng_counter(e, "cip", name);
}

/* Nothing was wrong with any packet. */
static void check_clean(Eng *e)
{
    static const char *const bad[] = {
        "cip-tx-no-policy", "cip-tx-no-key", "cip-tx-exhausted", "cip-rx-off",
        "cip-rx-missing", "cip-rx-policy", "cip-rx-no-key", "cip-rx-peer",
        "cip-rx-short", "cip-rx-replay", "cip-rx-old", "cip-rx-icv",
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_assert_cmpuint(counter(e, bad[i]), ==, 0);
    }
}

/* ---- traffic ----------------------------------------------------------------------- */

static bool file_has(const char *path, const void *what, size_t n)
{
    g_autofree char *data = NULL;
    gsize len;

    g_assert_true(g_file_get_contents(path, &data, &len, NULL));
    g_assert_cmpuint(len, >, 4096);
    return memmem(data, len, what, n);
}

/* Everything that queues do, over both carriers and by both suites; what was on the
 * link was captured, and tells nothing. */
static void test_traffic(void)
{
    static const struct { unsigned carrier, suite; } all[] = {
        { ENG_RTP, AES }, { ENG_RTP, SM4 }, { ENG_CTP, AES }, { ENG_CTP, SM4 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
        g_autofree char *dir = g_dir_make_tmp("cip-XXXXXX", NULL);
        g_autofree char *pcap = g_build_filename(dir, "a.pcap", NULL);
        g_autofree char *props = g_strdup_printf(PATIENT ",pcap=%s", pcap);
        EngPlan plan = { .carrier = all[i].carrier, .props = PATIENT };
        uint8_t plain[64];
        EngPair p;

        start_watched(&p, &plan, props, NULL);
        cip_bring_up(&p, all[i].suite);
        for (unsigned round = 0; round < 4; round++) {
            eng_write_read(&p, 65536, round);
        }
        eng_send_recv(&p, 2000);
        eng_fetch_add(&p);
        check_clean(&p.a);
        check_clean(&p.b);
        g_assert_cmpuint(counter(&p.a, "cip-sealed"), >=, 64);
        QUBC_WAIT(counter(&p.a, "cip-sealed") == counter(&p.b, "cip-opened"));
        QUBC_WAIT(counter(&p.b, "cip-sealed") == counter(&p.a, "cip-opened"));
        memset(p.a.drv.memory + p.a.room, 'P', 65536);
        {
            uint8_t *s = eng_sqe(&p.a, UB_TA_WRITE, 0, 65536, 1);

            ubq_post(&p.a.queue, s, 1);
            eng_complete(&p.a, UBQ_STATUS_OK);
        }
        g_assert_cmpint(p.b.drv.memory[p.b.room + 65535], ==, 'P');
        eng_stop(&p);
        memset(plain, 'P', sizeof(plain));
        g_assert_false(file_has(pcap, plain, sizeof(plain)));
        unlink(pcap);
        rmdir(dir);
    }
}

/* Without keys nothing goes, in neither direction, and says so; off, all is clear. */
static void test_refused(void)
{
    EngPlan plan = { .carrier = ENG_RTP, .props = "cip=on" };
    EngPair p;

    eng_start(&p, &plan);
    eng_write_read(&p, 8192, 1);
    cip_turn_on(&p.a, AES);
    ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, 4096, 1), 1);
    eng_complete(&p.a, UBQ_STATUS_OPCODE);
    g_assert_cmpuint(counter(&p.a, "cip-tx-no-key"), >=, 1);
    /* The clear text of who does not know is dropped ... */
    memset(p.a.drv.memory + p.a.room, 0, 4096);
    eng_fill(&p.b, 4096, 5);
    ubq_post(&p.b.queue, eng_sqe(&p.b, UB_TA_WRITE, 0, 4096, 1), 1);
    QUBC_WAIT(counter(&p.a, "cip-rx-missing") == 1);
    for (unsigned i = 0; i < 4096; i++) {
        g_assert_cmphex(p.a.drv.memory[p.a.room + i], ==, 0);
    }
    /* ... and so is what is sealed, where CIP is off. */
    g_assert_cmpuint(cip_set_key(&p.a, true, 0, 1), ==, UB_CIP_R_OK);
    g_assert_cmpuint(cip_use_slot(&p.a, 0), ==, UB_CIP_R_RX_FIRST);
    g_assert_cmpuint(cip_set_key(&p.a, false, 0, 1), ==, UB_CIP_R_OK);
    g_assert_cmpuint(cip_set_key(&p.a, false, 0, 1), ==, UB_CIP_R_REUSED);
    g_assert_cmpuint(cip_use_slot(&p.a, 0), ==, UB_CIP_R_OK);
    ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, 4096, 1), 1);
    QUBC_WAIT(counter(&p.b, "cip-rx-off") == 1);
    eng_stop(&p);
}

/* ---- an enemy on the link ------------------------------------------------------------ */

/* Bits change behind every check but the ICV: what arrives is what was sent, or
 * nothing does. */
static void test_tamper(void)
{
    enum { LEN = 1024, ENOUGH = 5, TRIES = 4000 };
    unsigned tries = 0, status;
    EngPair p;

    start(&p, ENG_CTP, AES, "cip=on,icrc=off,ta-time-scale=10");
    eng_fill(&p.a, LEN, 1);
    eng_set_faults(&p.a, true, "'kind': 'ctp', 'corrupt-ppm': 500000,"
                               " 'seed': 7");
    while (counter(&p.b, "cip-rx-icv") < ENOUGH && tries++ < TRIES) {
        memset(p.b.drv.memory + p.b.room, 0xee, LEN);
        ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, LEN, 1), 1);
        status = ubq_cqe_status(eng_next(&p.a));
        if (status == UBQ_STATUS_OK) {
            eng_check(&p.b, LEN, 1);
            continue;
        }
        /* Lost, or an end was too slow and it may yet come. */
        g_assert_cmphex(status, ==, UBQ_STATUS_TIMEOUT);
        for (unsigned i = 0; i < LEN; i++) {
            g_assert_true(p.b.drv.memory[p.b.room + i] == 0xee ||
                          p.b.drv.memory[p.b.room + i] ==
                          p.a.drv.memory[p.a.room + i]);
        }
    }
    g_assert_cmpuint(counter(&p.b, "cip-rx-icv"), >=, ENOUGH);
    eng_set_faults(&p.a, true, "'seed': 1");
    do {
        ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, LEN, 1), 1);
        status = ubq_cqe_status(eng_next(&p.a));
    } while (status == UBQ_STATUS_TIMEOUT && tries++ < TRIES);
    g_assert_cmphex(status, ==, UBQ_STATUS_OK);
    eng_check(&p.b, LEN, 1);
    eng_stop(&p);
}

/* What comes twice is executed once. */
static void test_replay(void)
{
    EngPair p;

    start(&p, ENG_CTP, AES, PATIENT);
    eng_set_faults(&p.a, true, "'kind': 'ctp', 'duplicate-ppm': 1000000");
    for (unsigned round = 0; round < 4; round++) {
        eng_write_read(&p, 16384, round);
    }
    /* Each packet but those that are under way still. */
    QUBC_WAIT(counter(&p.b, "cip-rx-replay") == counter(&p.a, "cip-sealed"));
    g_assert_cmpuint(counter(&p.b, "cip-opened"), ==,
                     counter(&p.a, "cip-sealed"));
    eng_stop(&p);
}

/* Packets are lost, doubled and overtaken below RTP: it sends the same bytes again,
 * and none of them is opened twice or too late. */
static void test_lossy(void)
{
    EngPair p;

    start(&p, ENG_RTP, AES, "cip=on");
    eng_set_faults(&p.a, true, "'kind': 'rtp', 'drop-ppm': 30000,"
                   " 'duplicate-ppm': 30000, 'reorder-ppm': 30000,"
                   " 'corrupt-ppm': 10000, 'seed': 3");
    for (unsigned round = 0; round < 6; round++) {
        eng_write_read(&p, 131072, round);
    }
    check_clean(&p.a);
    check_clean(&p.b);
    eng_stop(&p);
}

/* ---- keys ---------------------------------------------------------------------------- */

/* New keys while Writes and Reads go on. */
static void test_rekey(void)
{
    EngPair p;

    start(&p, ENG_RTP, AES, "cip=on");
    for (unsigned round = 1; round < 6; round++) {
        unsigned slot = round % 2;

        eng_fill(&p.a, 131072, round);
        /* Half of them before, half of them in the midst of what changes. */
        for (unsigned i = 0; i < 8; i++) {
            uint8_t *s = eng_sqe(&p.a, UB_TA_WRITE, 0, 16384, 1);

            put_le64(s + UBQ_SQE_ELEMENT, p.a.room + i * 16384);
            put_le64(s + UBQ_SQE_ADDR, ENG_UBA + i * 16384);
            ubq_post(&p.a.queue, s, 1);
            if (i == 3) {
                cip_key_both(&p, slot, 10 + round);
                cip_use_both(&p, slot);
            }
        }
        for (unsigned i = 0; i < 8; i++) {
            eng_complete(&p.a, UBQ_STATUS_OK);
        }
        eng_check(&p.b, 131072, round);
    }
    check_clean(&p.a);
    check_clean(&p.b);
    g_assert_cmpuint(counter(&p.a, "cip-keys-set"), ==, 12);
    eng_stop(&p);
}

/* After the last number a key sends no more. */
static void test_exhausted(void)
{
    EngPair p;

    start(&p, ENG_RTP, AES, "cip=on,cip-sn-last=20");
    for (unsigned i = 0; i < 20; i++) {
        ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, 64, 1), 1);
        eng_complete(&p.a, UBQ_STATUS_OK);
    }
    cip_choose(&p.a, true, 0);
    g_assert_cmphex(cip_get(&p.a, UB_CIP_SN), ==, UINT32_MAX);
    ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, 64, 1), 1);
    eng_complete(&p.a, UBQ_STATUS_OPCODE);
    g_assert_cmpuint(counter(&p.a, "cip-tx-exhausted"), >=, 1);
    cip_key_both(&p, 1, 2);
    cip_use_both(&p, 1);
    ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, 64, 1), 1);
    eng_complete(&p.a, UBQ_STATUS_OK);
    eng_stop(&p);
}

static uint32_t state(Eng *e)
{
    cip_choose(e, false, 0);
    return cip_get(e, UB_CIP_STATE);
}

/* A reset leaves no key: of the Entity, of the device. */
static void test_reset(void)
{
    EngPlan plan = { .carrier = ENG_RTP };
    EngPair p;

    start(&p, ENG_RTP, AES, "cip=on");
    eng_write_read(&p, 8192, 1);
    g_assert_cmphex(state(&p.b), ==, UB_CIP_STATE__SET | 0x02 | 0x08 |
                                     UB_CIP_STATE__SENDS);
    qubc_cfg_write(p.b.q, UB_CFG1_BASE + UB_CFG1_ELR, 1);
    g_assert_cmphex(state(&p.b), ==, 0);
    g_assert_cmphex(cip_get(&p.b, UB_CIP_CTRL), ==, 0);
    g_assert_cmpuint(counter(&p.b, "cip-keys-erased"), ==, 2);
    cip_turn_on(&p.b, AES);
    for (unsigned tx = 0; tx < 2; tx++) {
        g_assert_cmpuint(cip_set_key(&p.b, tx, 0, 1), ==, UB_CIP_R_OK);
    }
    g_assert_cmpuint(cip_use_slot(&p.b, 0), ==, UB_CIP_R_OK);
    qubc_write(p.b.q, UBC_CTRL, UBC_CTRL_RESET);
    g_assert_cmphex(state(&p.b), ==, 0);
    g_assert_cmpuint(counter(&p.b, "cip-keys-erased"), ==, 4);
    eng_begin_anew(&p.a);
    eng_open(&p.b, p.link.b, 2);
    eng_link_up(&p);
    eng_queue(&p.a, &plan);
    eng_queue(&p.b, &plan);
    cip_turn_on(&p.a, SM4);
    cip_turn_on(&p.b, SM4);
    cip_key_both(&p, 1, 5);
    cip_use_both(&p, 1);
    eng_write_read(&p, 65536, 2);
    eng_stop(&p);
}

/* Keys stay behind: nothing goes until there are new ones. */
static void test_migrate_cold(void)
{
    EngPair p;

    start(&p, ENG_RTP, AES, "cip=on");
    eng_write_read(&p, 65536, 1);
    eng_migrate(&p);
    g_assert_cmphex(cip_get(&p.b, UB_CIP_CTRL), ==, UB_CIP_CTRL__ON);
    g_assert_cmphex(state(&p.b), ==, UB_CIP_STATE__SET);
    ubq_post(&p.b.queue, eng_sqe(&p.b, UB_TA_WRITE, 0, 4096, 1), 1);
    eng_complete(&p.b, UBQ_STATUS_OPCODE);
    g_assert_cmpuint(counter(&p.b, "cip-tx-no-key"), >=, 1);
    ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, 4096, 1), 1);
    QUBC_WAIT(counter(&p.b, "cip-rx-no-key") >= 1);
    cip_key_both(&p, 1, 7);
    cip_use_both(&p, 1);
    eng_write_read(&p, 65536, 2);
    eng_stop(&p);
}

/* Keys go, and with them the numbers: traffic goes on. */
static void test_migrate_warm(void)
{
    EngPair p;

    start(&p, ENG_RTP, AES, "cip=on,cip-migrate-keys=on");
    eng_write_read(&p, 65536, 1);
    eng_migrate(&p);
    g_assert_cmphex(state(&p.b), ==, UB_CIP_STATE__SET | 0x02 | 0x08 |
                                     UB_CIP_STATE__SENDS);
    eng_write_read(&p, 65536, 2);
    check_clean(&p.b);
    eng_stop(&p);
}

/* ---- what is shown ------------------------------------------------------------------- */

/* Neither traces nor the monitor know keys; without the property there is nothing. */
static void test_secret(void)
{
    g_autofree char *text = NULL;
    EngPlan plan = { .carrier = ENG_RTP, .props = "cip=on" };
    EngPair p;
    QDict *rsp;
    GString *json;

    start_watched(&p, &plan, plan.props, "-trace ubc_*");
    cip_bring_up(&p, AES);
    /* By the other way to the space. */
    qubc_write(p.a.q, UBC_CFG_ADDR, CIP_SLICE + UB_CIP_KEY);
    qubc_write(p.a.q, UBC_CFG_DATA, WORD + 0xaaa);
    g_assert_cmphex(qubc_read(p.a.q, UBC_CFG_DATA), ==, 0);
    rsp = qtest_qmp(p.a.q->qts, "{ 'execute': 'query-ub-engines' }");
    json = qobject_to_json(QOBJECT(rsp));
    g_assert_nonnull(strstr(json->str, "aes-256-gcm"));
    g_assert_null(strstr(json->str, "c0de"));
    g_string_free(json, true);
    qobject_unref(rsp);
    eng_write_read(&p, 8192, 1);
    g_assert_true(g_file_get_contents(p.a.q->log, &text, NULL, NULL));
    g_assert_nonnull(strstr(text, "ubc_write"));
    g_assert_null(strcasestr(text, "c0de"));
    eng_stop(&p);
}

static bool shown(Eng *e)
{
    return qubc_cfg_read(e->q, UB_CFG1_BASE + UB_CFG1_CAP_BITMAP +
                               UB_CIP_CAP / 32) >> UB_CIP_CAP % 32 & 1;
}

/* The capability is announced where it is. */
static void test_announced(void)
{
    EngPlan plan = { .carrier = ENG_RTP };
    EngPair p;

    eng_start(&p, &plan);
    g_assert_false(shown(&p.a));
    cip_put(&p.a, UB_CIP_CTRL, UB_CIP_CTRL__ON);
    g_assert_cmphex(cip_get(&p.a, UB_CIP_CTRL), ==, 0);
    eng_write_read(&p, 8192, 1);
    eng_stop(&p);
    plan.props = "cip=on";
    eng_start(&p, &plan);
    g_assert_true(shown(&p.a));
    g_assert_cmphex(cip_get(&p.a, UB_CIP_HEADER), ==, UB_CIP_USED << 4);
    g_assert_cmphex(cip_get(&p.a, UB_CIP_LIMITS), ==, 0x10060210);
    g_assert_cmpuint(cip_command(&p.a, 99), ==, UB_CIP_R_NO_COMMAND);
    /* A key that nobody wrote is none, and none is like another but for the end of
     * its IV. */
    cip_set_policy(&p.a, AES);
    g_assert_cmpuint(cip_command(&p.a, UB_CIP_CMD_SET_KEY), ==,
                     UB_CIP_R_INCOMPLETE);
    g_assert_cmpuint(cip_set_key(&p.a, true, 0, 1), ==, UB_CIP_R_OK);
    g_assert_cmpuint(cip_command(&p.a, UB_CIP_CMD_SET_KEY), ==,
                     UB_CIP_R_INCOMPLETE);
    cip_choose(&p.a, true, 1);
    for (unsigned i = 0; i < 8; i++) {
        cip_put(&p.a, UB_CIP_KEY + i, cip_key_word(p.a.n, i, 1));
    }
    for (unsigned i = 0; i < 3; i++) {
        cip_put(&p.a, UB_CIP_IV + i, cip_iv_word(i, i < 2 ? 1 : 2));
    }
    g_assert_cmpuint(cip_command(&p.a, UB_CIP_CMD_SET_KEY), ==, UB_CIP_R_REUSED);
    eng_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-cip/traffic", test_traffic);
    qtest_add_func("/ubc-cip/refused", test_refused);
    qtest_add_func("/ubc-cip/tamper", test_tamper);
    qtest_add_func("/ubc-cip/replay", test_replay);
    qtest_add_func("/ubc-cip/lossy", test_lossy);
    qtest_add_func("/ubc-cip/rekey", test_rekey);
    qtest_add_func("/ubc-cip/exhausted", test_exhausted);
    qtest_add_func("/ubc-cip/reset", test_reset);
    qtest_add_func("/ubc-cip/migrate-cold", test_migrate_cold);
    qtest_add_func("/ubc-cip/migrate-warm", test_migrate_warm);
    qtest_add_func("/ubc-cip/secret", test_secret);
    qtest_add_func("/ubc-cip/announced", test_announced);
    return g_test_run();
}
