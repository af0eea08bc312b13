/*
 * Where documents contradict themselves: each reading that a property chooses, as the wire
 * and the memory of two machines have it (docs/decisions/ub-ta.rst, ub-tp.rst).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-raw.h"
#include "ubc-watch.h"
#include "ub/tah.h"

#define UPI32 (4 + 32)      /* UPIH, EIDH of 256 bits */
#define HEAD16 (UB_NTH16_SIZE + UB_CTPH_LEN + UPI32)
#define HEAD24 (UB_NTH24_SIZE + UB_RTPH_LEN + UPI32)
#define LEN 64u
#define NOTIFY_AT 8192u
#define WAS 0x0f0fffff00ff00ffull
#define ONE 0x1111000011110000ull

/* Two machines with @property on or as it is by default. */
static void begin(Watch *w, const EngPlan *plan, const char *property, bool set)
{
    g_autofree char *more = set ? g_strconcat(",", property, NULL) : g_strdup("");

    g_test_message("%s", set ? property : "by default");
    watch_start(w, plan, more);
    eng_fill(&w->p.a, LEN, 1);
    eng_fill(&w->p.b, LEN, 2);
}

static void do_one(Watch *w, unsigned opcode, uint32_t flags, uint32_t len)
{
    ubq_post(&w->p.a.queue, eng_sqe(&w->p.a, opcode, flags, len, 1), 1);
    eng_complete(&w->p.a, UBQ_STATUS_OK);
}

/* The TAH of the @n-th packet of CTP, its length with what follows it. */
static const uint8_t *tah16(const GArray *list, unsigned n, uint32_t *len)
{
    const Seen *s = watch_packet(list, UB_LPH_CNA16, n);

    *len = s->len - HEAD16 - (s->p[UB_NTH16_SIZE] >> 4 & 3) - UB_ICRC_SIZE;
    return s->p + HEAD16;
}

/* ---- Forms -------------------------------------------------------------------------------- */

/* Memory operations of CFG 6 are full, or compact as those of Bypass; messages are full. */
static void test_compact6(void)
{
    for (unsigned on = 0; on < 2; on++) {
        uint32_t base = on ? 4 : 8, memory = on ? 12 : 16, len;
        const uint8_t *p;
        Watch w;

        begin(&w, &(EngPlan){ .carrier = ENG_CTP }, "ta-compact6=on", on);
        do_one(&w, UB_TA_WRITE, 0, LEN);
        eng_check(&w.p.b, LEN, 1);
        do_one(&w, UB_TA_READ, 0, LEN);
        eng_send_recv(&w.p, LEN);
        watch_look(&w);
        p = tah16(w.sent, 0, &len);
        g_assert_cmphex(p[0], ==, UB_TA_WRITE);
        g_assert_cmpuint(len, ==, base + memory + 4 + LEN);     /* TVETAH */
        g_assert_cmphex(ldq_be_p(p + base), ==, ENG_UBA);       /* of 64 bytes: code 0 */
        tah16(w.came, 0, &len);
        g_assert_cmpuint(len, ==, base);
        p = tah16(w.came, 1, &len);
        g_assert_cmphex(p[0], ==, UB_TA_READ_RESPONSE);
        g_assert_cmpuint(len, ==, base + (on ? 0 : 8) + LEN);   /* TAIDETAH, OFSTETAH */
        p = tah16(w.sent, 2, &len);
        g_assert_cmphex(p[0], ==, UB_TA_SEND_IMM);
        g_assert_cmphex(p[4] & 8, ==, 8);                       /* MT_EN */
        p = tah16(w.came, 2, &len);
        g_assert_cmphex(p[0], ==, UB_TA_TAACK);
        g_assert_cmpuint(len, ==, 8);
        watch_end(&w);
    }
}

/* Where the TokenID stands in its word of a compact MAETAH. */
static void test_token_high(void)
{
    for (unsigned on = 0; on < 2; on++) {
        const Seen *s;
        Watch w;

        begin(&w, &(EngPlan){ .carrier = ENG_BYPASS }, "ta-token-high=on", on);
        do_one(&w, UB_TA_WRITE, 0, LEN);
        eng_check(&w.p.b, LEN, 1);
        watch_look(&w);
        s = watch_packet(w.sent, UB_LPH_BYPASS, 0);
        g_assert_cmphex((uint32_t)ldl_be_p(s->p + UB_NTH16_SIZE + 4 + 8), ==,
                        on ? ENG_SEGMENT << 8 : ENG_SEGMENT);
        watch_end(&w);
    }
}

/* Reads without the headers by which their parts are told apart. */
static void test_tasks(void)
{
    for (unsigned off = 0; off < 2; off++) {
        uint32_t more = off ? 0 : 8, len;
        Watch w;

        begin(&w, &(EngPlan){ .carrier = ENG_CTP }, "ta-tasks=off", off);
        do_one(&w, UB_TA_READ, 0, LEN);
        eng_check(&w.p.a, LEN, 2);
        watch_look(&w);
        tah16(w.sent, 0, &len);
        g_assert_cmpuint(len, ==, 8 + more + 16 + 4);
        tah16(w.came, 0, &len);
        g_assert_cmpuint(len, ==, 8 + more + LEN);
        watch_end(&w);
    }
}

/* OFSTETAH of each part of an answer: where it is, or where the request was. */
static void test_read_offset(void)
{
    const uint32_t all = 20000;

    for (unsigned on = 0; on < 2; on++) {
        uint32_t done = 0;
        unsigned parts = 0;
        Watch w;

        begin(&w, &(EngPlan){ .carrier = ENG_RTP }, "ta-read-offset-request=on", on);
        eng_fill(&w.p.b, all, 3);
        do_one(&w, UB_TA_READ, 0, all);
        eng_check(&w.p.a, all, 3);
        watch_look(&w);
        for (unsigned i = 0; i < watch_packets(w.came, UB_LPH_CNA24); i++) {
            const Seen *s = watch_packet(w.came, UB_LPH_CNA24, i);
            const uint8_t *tph = s->p + UB_NTH24_SIZE, *tah = s->p + HEAD24;

            if ((tph[0] & 0x7f) == UB_TPOP_DATA) {
                g_assert_cmphex(tah[0], ==, UB_TA_READ_RESPONSE);
                g_assert_cmpuint((uint32_t)ldl_be_p(tah + 12), ==,
                                 (on ? 0 : done / UB_OFST_UNIT));
                done += s->len - HEAD24 - 16 - (tph[1] >> 4 & 3) - UB_ICRC_SIZE;
                parts++;
            }
        }
        g_assert_cmpuint(done, ==, all);
        g_assert_cmpuint(parts, >, 2);
        watch_end(&w);
    }
}

/* ---- What answers say ---------------------------------------------------------------------- */

/* RSPST of a Write that has been done. */
static void test_accepted(void)
{
    for (unsigned on = 0; on < 2; on++) {
        const uint8_t *p;
        uint32_t len;
        Watch w;

        begin(&w, &(EngPlan){ .carrier = ENG_CTP }, "ta-accepted=on", on);
        do_one(&w, UB_TA_WRITE, 0, LEN);
        eng_check(&w.p.b, LEN, 1);
        watch_look(&w);
        p = tah16(w.came, 0, &len);
        g_assert_cmphex(p[0], ==, UB_TA_TAACK);
        g_assert_cmphex(p[4], ==, on ? 5 << 5 : 0);
        watch_end(&w);
    }
}

/* INI_RC_Type of the answer to a request in an SC (§7.3.3.3). */
static void test_response_type(void)
{
    for (unsigned on = 0; on < 2; on++) {
        const uint8_t *p;
        uint32_t len;
        Watch w;

        begin(&w, &(EngPlan){ .carrier = ENG_CTP, .mode = UB_ROT },
              "ta-rsp-type-keep=on", on);
        do_one(&w, UB_TA_WRITE, 0, LEN);
        do_one(&w, UB_TA_WRITE, 0, LEN);
        watch_look(&w);
        p = tah16(w.sent, 1, &len);
        g_assert_cmphex(p[5] >> 4 & 3, ==, UB_RC_SC);
        p = tah16(w.came, 1, &len);
        g_assert_cmphex(p[0], ==, UB_TA_TAACK);
        g_assert_cmphex(p[5] >> 4 & 3, ==, on ? UB_RC_SC : UB_RC_SQ);
        watch_end(&w);
    }
}

/* UNO over CTP: whether it says that nobody shall answer; nobody waits for it either way. */
static void test_uno(void)
{
    for (unsigned off = 0; off < 2; off++) {
        const uint8_t *p;
        uint32_t len;
        Watch w;

        begin(&w, &(EngPlan){ .carrier = ENG_CTP, .mode = UB_UNO },
              "ta-uno-no-taack=off", off);
        eng_send_recv(&w.p, LEN);
        watch_look(&w);
        p = tah16(w.sent, 0, &len);
        g_assert_cmphex(p[4] & 0x80, ==, off ? 0 : 0x80);
        g_assert_cmpuint(watch_packets(w.came, UB_LPH_CNA16), <=, off);
        watch_end(&w);
    }
}

/* ---- What comes to memory ------------------------------------------------------------------- */

/* In which order the bytes of a notification are put down. */
static void test_notify(void)
{
    for (unsigned on = 0; on < 2; on++) {
        uint8_t *s, *at;
        Watch w;

        begin(&w, &(EngPlan){ .carrier = ENG_CTP }, "ta-notify-be=on", on);
        at = w.p.b.drv.memory + w.p.b.room + NOTIFY_AT;
        s = eng_sqe(&w.p.a, UB_TA_WRITE_NOTIFY, 0, LEN, 2);
        put_le64(s + UBQ_SQE_IMM, ONE + 2);
        put_le64(s + UBQ_SQE_NOTIFY, ENG_UBA + NOTIFY_AT);
        put_le32(s + UBQ_BLOCK, ENG_SEGMENT);
        put_le32(s + UBQ_BLOCK + 4, ENG_TOKEN);
        ubq_post(&w.p.a.queue, s, 2);
        eng_complete(&w.p.a, UBQ_STATUS_OK);
        g_assert_cmphex(on ? ldq_be_p(at) : ldq_le_p(at), ==, ONE + 2);
        watch_look(&w);
        watch_end(&w);
    }
}

/* An atomic on WAS with two operands; what is there afterwards. */
static uint64_t atomic(Watch *w, unsigned opcode, unsigned sub, uint64_t one, uint64_t two)
{
    uint8_t *s = eng_sqe(&w->p.a, opcode, UBQ_SQE_INLINE, 8, 2);
    uint8_t *at = w->p.b.drv.memory + w->p.b.room;

    put_le64(at, WAS);
    put_le32(s + UBQ_SQE_W5, sub);
    put_le64(s + UBQ_BLOCK, one);
    put_le64(s + UBQ_BLOCK + 8, two);
    ubq_post(&w->p.a.queue, s, 2);
    eng_complete(&w->p.a, UBQ_STATUS_OK);
    return ldq_le_p(at);
}

/* With which operand CAS compares; what sub-operations 1 and 2 do. */
static void test_atomics(void)
{
    for (unsigned on = 0; on < 2; on++) {
        Watch w;

        begin(&w, &(EngPlan){ .carrier = ENG_CTP }, "ta-cas-swapped=on,ta-clr-text=on",
              on);
        g_assert_cmphex(atomic(&w, UB_TA_ATOMIC_CAS, 0, WAS, ONE), ==, on ? WAS : ONE);
        g_assert_cmphex(atomic(&w, UB_TA_ATOMIC_CAS, 0, ONE, WAS), ==, on ? ONE : WAS);
        g_assert_cmphex(atomic(&w, UB_TA_ATOMIC_STORE, on ? 2 : 1, ONE, 0), ==,
                        WAS & ~ONE);
        g_assert_cmphex(atomic(&w, UB_TA_ATOMIC_STORE, on ? 1 : 2, ONE, 0), ==,
                        WAS ^ ONE);
        watch_look(&w);
        watch_end(&w);
    }
}

/* Atomic_store without UDETAH, which no engine sends: refused, or it adds. */
static void test_store_default(void)
{
    const UbNth nth = { .scna = 1, .dcna = 2, .nlp = UB_NLP_CTPH };
    const uint32_t tah = UB_NTH16_SIZE + UB_CTPH_LEN + UPI32, all = tah + 8 + 4 + 16 + 4 + 16;

    for (unsigned on = 0; on < 2; on++) {
        uint8_t p[128] = { 0 }, *t = p + tah, *at;
        uint32_t pad = -(all - UB_NTH16_SIZE) & 3, len;
        const uint8_t *r;
        Watch w;

        begin(&w, &(EngPlan){ .carrier = ENG_CTP }, "ta-store-default-add=on", on);
        at = w.p.b.drv.memory + w.p.b.room;
        put_le64(at, WAS);
        ub_nth16_put(p, &nth);
        p[UB_NTH16_SIZE] = UB_CTPOP_DATA << 6 | pad << 4 | UB_TPH_UPI32;
        p[UB_NTH16_SIZE + UB_CTPH_LEN + 3] = 1;             /* UPI */
        p[UB_NTH16_SIZE + UB_CTPH_LEN + 4 + 15] = 1;        /* SEID, DEID */
        p[UB_NTH16_SIZE + UB_CTPH_LEN + 4 + 31] = 2;
        t[0] = UB_TA_ATOMIC_STORE;
        t[1] = 0x18;                                        /* EE_bits 01, TV_EN */
        stl_be_p(t + 4, w.p.a.queue.id);
        stq_be_p(t + 12, ENG_UBA);                          /* behind TAIDETAH */
        stl_be_p(t + 20, ENG_SEGMENT << 8);
        stl_be_p(t + 24, 8);
        stl_be_p(t + 28, ENG_TOKEN);
        put_le64(t + 32, ONE);
        raw_seal(UB_LPH_CNA16, p, all + pad);
        raw_open(&w.p.a);
        raw_send(&w.p.a, UB_LPH_CNA16, p, all + pad + UB_ICRC_SIZE);
        QUBC_WAIT(eng_counter(&w.p.b, "transaction", "tx-responses") == 1);
        g_assert_cmphex(ldq_le_p(at), ==, on ? WAS + ONE : WAS);
        raw_close(&w.p.a);
        watch_look(&w);
        r = tah16(w.came, 0, &len);
        g_assert_cmphex(r[0], ==, UB_TA_ATOMIC_RESPONSE);
        /* Completer Error, Unsupported Request. */
        g_assert_cmphex(r[4], ==, on ? 0 : 3 << 5 | 1);
        watch_end(&w);
    }
}

/* A request that comes twice by CTP is executed once, or each time. */
static void test_dedupe(void)
{
    for (unsigned off = 0; off < 2; off++) {
        Watch w;

        begin(&w, &(EngPlan){ .carrier = ENG_CTP }, "ta-dedupe=off", off);
        put_le64(w.p.b.drv.memory + w.p.b.room, 40);
        eng_set_faults(&w.p.b, false, "'kind': 'ctp', 'nth': 1, 'action': 'duplicate'");
        {
            uint8_t *s = eng_sqe(&w.p.a, UB_TA_FETCH_ADD, UBQ_SQE_INLINE, 8, 2);

            put_le64(s + UBQ_BLOCK, 1);
            ubq_post(&w.p.a.queue, s, 2);
        }
        eng_complete(&w.p.a, UBQ_STATUS_OK);
        QUBC_WAIT(ldq_le_p(w.p.b.drv.memory + w.p.b.room) == 41 + off);
        do_one(&w, UB_TA_READ, 0, LEN);
        g_assert_cmpuint(ldq_le_p(w.p.b.drv.memory + w.p.b.room), ==, 41 + off);
        watch_look(&w);
        watch_end(&w);
    }
}

/* ---- The transport --------------------------------------------------------------------------- */

#define FIRST_A 100u
#define FIRST_B 7u
#define PACKETS 40u
#define LOST 3u         /* of them */

/* Maps of TPSACKs: bit 0 is the last bit of the first word, or of the first byte (§6.2.3). */
static void test_sack_order(void)
{
    for (unsigned on = 0; on < 2; on++) {
        EngChannel c = { .flags = UBQ_CH_SELECTIVE | UBQ_CH_FAST | UBQ_CH_OOO,
                         .mtu = 1024, .tx = FIRST_A, .rx = FIRST_B };
        unsigned maps = 0;
        Watch w;

        begin(&w, &(EngPlan){ .carrier = ENG_CTP }, "tp-sack-lsb-first=on", on);
        eng_channel(&w.p.a, &c);
        c.tx = FIRST_B;
        c.rx = FIRST_A;
        eng_channel(&w.p.b, &c);
        eng_set_faults(&w.p.b, false, "'kind': 'rtp', 'psn': 103, 'nth': 1,"
                       " 'action': 'drop'");
        eng_fill(&w.p.a, PACKETS * 1024, 3);
        do_one(&w, UB_TA_WRITE, 0, PACKETS * 1024);
        eng_check(&w.p.b, PACKETS * 1024, 3);
        /* The map is understood: none but the lost one is sent again. */
        g_assert_cmpuint(eng_counter(&w.p.a, "transport", "tx-resent"), ==, 1);
        watch_look(&w);
        for (unsigned i = 0; i < watch_packets(w.came, UB_LPH_CNA24); i++) {
            const uint8_t *h = watch_packet(w.came, UB_LPH_CNA24, i)->p + UB_NTH24_SIZE;
            const uint8_t *e = h + UB_RTPH_LEN;
            uint32_t behind = (ldl_be_p(e) & 0xffffff) - (FIRST_A + LOST - 1);

            if ((h[0] & 0x7f) != UB_TPOP_SACK ||
                (ldl_be_p(h + 8) & 0xffffff) != FIRST_A + LOST - 1) {
                continue;
            }
            for (unsigned n = 0; n < 64; n++) {
                bool bit = (on ? e[4 + n / 8] : e[4 + (n / 8 ^ 3)]) >> n % 8 & 1;

                g_assert_cmpint(bit, ==, n != 1 && n <= behind);
            }
            maps++;
        }
        g_assert_cmpuint(maps, >, 0);
        watch_end(&w);
    }
}

/* A PSN that is expected, with a TPMSN that is not: dropped, or received (B.2.3). */
static void test_msn(void)
{
    static const uint8_t zeroes[16];
    const UbRtph h = { .opcode = UB_TPOP_DATA, .last = true, .ack_req = true,
                       .src = ENG_TPN, .dst = ENG_TPN, .psn = FIRST_B, .msn = 5 };

    for (unsigned off = 0; off < 2; off++) {
        unsigned acks = 0;
        Watch w;

        begin(&w, &(EngPlan){ .carrier = ENG_CTP }, "tp-msn-check=off", off);
        eng_channel(&w.p.a, &(EngChannel){ .flags = UBQ_CH_FAST, .tx = FIRST_A,
                                           .rx = FIRST_B });
        raw_open(&w.p.b);
        raw_rtp(&w.p.b, &h, zeroes, sizeof(zeroes));
        QUBC_WAIT(eng_counter(&w.p.a, "transport", off ? "tx-tpack" : "drop-tpmsn") == 1);
        g_assert_cmpuint(eng_counter(&w.p.a, "transport", "rx-rtp"), ==, off);
        raw_close(&w.p.b);
        watch_look(&w);
        for (unsigned i = 0; i < watch_packets(w.sent, UB_LPH_CNA24); i++) {
            const uint8_t *p = watch_packet(w.sent, UB_LPH_CNA24, i)->p + UB_NTH24_SIZE;

            if ((p[0] & 0x7f) == UB_TPOP_ACK) {
                g_assert_cmphex(ldl_be_p(p + 8) & 0xffffff, ==, FIRST_B);
                g_assert_cmphex(ldl_be_p(p + 12) & 0xffffff, ==, 5);
                acks++;
            }
        }
        g_assert_cmpuint(acks, ==, off);
        watch_end(&w);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-readings/compact6", test_compact6);
    qtest_add_func("/ubc-readings/token-high", test_token_high);
    qtest_add_func("/ubc-readings/tasks", test_tasks);
    qtest_add_func("/ubc-readings/read-offset", test_read_offset);
    qtest_add_func("/ubc-readings/accepted", test_accepted);
    qtest_add_func("/ubc-readings/response-type", test_response_type);
    qtest_add_func("/ubc-readings/uno", test_uno);
    qtest_add_func("/ubc-readings/notify", test_notify);
    qtest_add_func("/ubc-readings/atomics", test_atomics);
    qtest_add_func("/ubc-readings/store-default", test_store_default);
    qtest_add_func("/ubc-readings/dedupe", test_dedupe);
    qtest_add_func("/ubc-readings/sack-order", test_sack_order);
    qtest_add_func("/ubc-readings/msn", test_msn);
    return g_test_run();
}
