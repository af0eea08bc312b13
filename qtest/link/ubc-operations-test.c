/*
 * Each operation on the wire: its headers, their order, every byte of its request and of
 * its answer (UB 2.0 §7.2, tables 7-1 to 7-5), written down here anew: no code of the
 * device makes what is compared.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-watch.h"
#include "ub/tah.h"
#include "ub/tp_format.h"

#define UPI32 (4 + 32)      /* UPIH, EIDH of 256 bits */
#define LEN 256u            /* of data */
#define BE_LEN 64u
#define NOTIFY_AT 8192u
#define IMM 0x0123456789abcdefull
#define QUEUE_TOKEN 0x5eed0007u
#define ONE 0x1122334455667788ull
#define TWO 0x99aabbccddeeff00ull
#define WAS 0x0102030405060708ull

/* Letters of headers, in the order of the wire:
 * U UDETAH, T MTETAH, K TAIDETAH, O OFSTETAH, A MAETAH, I IMMETAH, N NTFETAH,
 * V TVETAH, B BEETAH, P data. */
typedef struct Operation {
    uint8_t opcode;
    const char *full;       /* NULL: not over CTP */
    const char *compact;    /* NULL: not by Bypass */
    uint8_t response;       /* 0: none */
    uint8_t sub;
} Operation;

#define ATOMIC(op) { op, "KAVP", "AVP", UB_TA_ATOMIC_RESPONSE, 0 }

static const Operation reliable[] = {
    { UB_TA_SEND, "TOVP", NULL, UB_TA_TAACK, 0 },
    { UB_TA_SEND_IMM, "TOIVP", NULL, UB_TA_TAACK, 0 },
    { UB_TA_WRITE, "AVP", "AVP", UB_TA_TAACK, 0 },
    { UB_TA_WRITE_IMM, "TAIVP", NULL, UB_TA_TAACK, 0 },
    { UB_TA_WRITE_NOTIFY, "ANVP", NULL, UB_TA_TAACK, 0 },
    { UB_TA_READ, "KOAV", "AV", UB_TA_READ_RESPONSE, 0 },
    ATOMIC(UB_TA_ATOMIC_CAS),
    ATOMIC(UB_TA_ATOMIC_SWAP),
    { UB_TA_ATOMIC_STORE, "UKAVP", "UAVP", UB_TA_ATOMIC_RESPONSE, 3 },
    { UB_TA_ATOMIC_LOAD, "UKAVP", "UAVP", UB_TA_ATOMIC_RESPONSE, 3 },
    ATOMIC(UB_TA_FETCH_ADD),
    ATOMIC(UB_TA_FETCH_SUB),
    ATOMIC(UB_TA_FETCH_AND),
    ATOMIC(UB_TA_FETCH_OR),
    ATOMIC(UB_TA_FETCH_XOR),
    { UB_TA_WRITE_BE, "AVBP", "AVBP", UB_TA_TAACK, 0 },
    { UB_TA_WRITEBACK, "AVP", "AVP", UB_TA_TAACK, 0 },
    { UB_TA_WRITEBACK_BE, "AVBP", "AVBP", UB_TA_TAACK, 0 },
};
static const Operation unanswered[] = {
    { UB_TA_SEND, "TOVP", NULL, 0, 0 },
    { UB_TA_SEND_IMM, "TOIVP", NULL, 0, 0 },
    { UB_TA_PREFETCH, "A", "A", 0, 0 },
};

static bool is_atomic(const Operation *op)
{
    return op->response == UB_TA_ATOMIC_RESPONSE;
}

static bool is_be(const Operation *op)
{
    return op->opcode == UB_TA_WRITE_BE || op->opcode == UB_TA_WRITEBACK_BE;
}

static bool is_message(const Operation *op)
{
    return op->opcode == UB_TA_SEND || op->opcode == UB_TA_SEND_IMM;
}

/* Of data; of an atomic: of an operand. */
static uint32_t length_of(const Operation *op)
{
    return is_atomic(op) ? 8 : is_be(op) ? BE_LEN : LEN;
}

/* ---- What is asked for ------------------------------------------------------------------ */

static void run(EngPair *p, const Operation *op)
{
    uint32_t flags = is_atomic(op) || is_be(op) ? UBQ_SQE_INLINE : 0;
    uint8_t *s = eng_sqe(&p->a, op->opcode, flags, length_of(op), 2);

    eng_fill(&p->a, LEN, op->opcode);
    eng_fill(&p->b, LEN, op->opcode + 1);
    put_le64(s + UBQ_SQE_IMM, IMM);
    if (is_message(op)) {
        put_le32(s + UBQ_SQE_TARGET, p->b.queue.id);
        ubq_recv(&p->b.queue, p->b.room, LEN);
    } else if (op->opcode == UB_TA_WRITE_IMM) {
        put_le64(s + UBQ_SQE_NOTIFY, (uint64_t)QUEUE_TOKEN << 32 | p->b.queue.id);
        ubq_recv(&p->b.queue, p->b.room, LEN);
    } else if (op->opcode == UB_TA_WRITE_NOTIFY) {
        put_le64(s + UBQ_SQE_NOTIFY, ENG_UBA + NOTIFY_AT);
        put_le32(s + UBQ_BLOCK, ENG_SEGMENT);
        put_le32(s + UBQ_BLOCK + 4, ENG_TOKEN);
    } else if (is_atomic(op)) {
        put_le64(p->b.drv.memory + p->b.room, WAS);
        put_le32(s + UBQ_SQE_W5, op->sub);
        put_le64(s + UBQ_BLOCK, ONE);
        put_le64(s + UBQ_BLOCK + 8, TWO);
    } else if (is_be(op)) {
        for (unsigned i = 0; i < BE_LEN / 8; i++) {
            s[UBQ_BLOCK + i] = 0x11 * (i + 1);
        }
    }
    ubq_post(&p->a.queue, s, 2);
    eng_complete(&p->a, UBQ_STATUS_OK);
    if (is_message(op) || op->opcode == UB_TA_WRITE_IMM) {
        eng_complete(&p->b, UBQ_STATUS_OK);
    }
}

/* ---- What must be there ------------------------------------------------------------------- */

typedef struct Bytes {
    uint8_t at[1024];
    uint32_t len;
} Bytes;

static void put(Bytes *b, uint64_t value, unsigned bytes)
{
    while (bytes--) {
        b->at[b->len++] = value >> 8 * bytes;
    }
}

static void put_data(Bytes *b, uint32_t len, uint32_t seed)
{
    for (uint32_t i = 0; i < len; i++) {
        put(b, (uint8_t)(i * 7 + (i >> 8) + seed), 1);
    }
}

typedef struct Ends {
    uint32_t a, b;      /* queues */
} Ends;

/* Opcode; TAver 0, EE_bits 01, TV_EN, UD_Flag; TASSN; No_TAACK, ODR, MT_EN, FCE, Retry,
 * Alloc; E_bit, INI_RC_Type 0, the queue. */
static void put_btah(Bytes *b, const Operation *op, const char *ext, bool compact,
                     unsigned tassn, const Ends *ends)
{
    bool silent = !op->response && is_message(op);

    put(b, op->opcode, 1);
    put(b, 0x10 | (strchr(ext, 'V') ? 8 : 0) | (strchr(ext, 'U') ? 1 : 0), 1);
    put(b, tassn, 2);
    if (!compact) {
        put(b, (silent ? 0x80 : 0) | (strchr(ext, 'T') ? 8 : 0), 1);
        put(b, ends->a, 3);
    }
}

static void put_ma(Bytes *b, const Operation *op, bool compact)
{
    if (compact) {
        /* 64 bytes << code; an atomic has its length by its data. */
        unsigned code = is_atomic(op) || is_be(op) ? 0 : 2;

        put(b, ENG_UBA | code, 8);
        put(b, ENG_SEGMENT, 4);
    } else {
        put(b, ENG_UBA, 8);
        put(b, ENG_SEGMENT << 8, 4);
        put(b, length_of(op), 4);
    }
}

static void put_payload(Bytes *b, const Operation *op)
{
    if (!is_atomic(op)) {
        put_data(b, length_of(op), op->opcode);
        return;
    }
    /* Both operands, used or not, each least significant byte first. */
    put(b, __builtin_bswap64(ONE), 8);
    put(b, __builtin_bswap64(TWO), 8);
}

static void put_header(Bytes *b, const Operation *op, char letter, bool compact,
                       unsigned taid, const Ends *ends)
{
    switch (letter) {
    case 'U':
        put(b, op->sub << 20, 4);
        break;
    case 'T':
        put(b, ends->b, 4);
        break;
    case 'K':
        put(b, taid, 4);
        break;
    case 'O':
        put(b, 0, 4);
        break;
    case 'A':
        put_ma(b, op, compact);
        break;
    case 'I':
        put(b, IMM, 8);
        put(b, op->opcode == UB_TA_WRITE_IMM ? QUEUE_TOKEN : 0, 4);
        put(b, op->opcode == UB_TA_WRITE_IMM ? LEN : 0, 4);
        break;
    case 'N':
        put(b, ENG_UBA + NOTIFY_AT, 8);
        put(b, ENG_SEGMENT << 8, 4);
        put(b, ENG_TOKEN, 4);
        put(b, IMM, 8);
        break;
    case 'V':
        put(b, ENG_TOKEN, 4);
        break;
    case 'B':
        for (unsigned i = BE_LEN / 8; i; i--) { /* the last byte's bit first */
            put(b, 0x11 * i, 1);
        }
        break;
    case 'P':
        put_payload(b, op);
        break;
    default:
        g_assert_not_reached();
    }
}

/* The answer: opcode; SV, Poison; TASSN; RSPST 0; the queue; what it brings. */
static void put_response(Bytes *b, const Operation *op, bool compact, unsigned tassn,
                         unsigned taid, const Ends *ends)
{
    bool data = op->response != UB_TA_TAACK;

    put(b, op->response, 1);
    put(b, 0, 1);
    put(b, tassn, 2);
    if (!compact) {
        put(b, 0, 1);
        put(b, ends->a, 3);
    }
    if (!compact && data) {
        put(b, taid, 4);
    }
    if (op->response == UB_TA_READ_RESPONSE) {
        if (!compact) {
            put(b, 0, 4);
        }
        put_data(b, LEN, op->opcode + 1);
    } else if (is_atomic(op) && op->opcode != UB_TA_ATOMIC_STORE) {
        put(b, WAS, 8);         /* most significant byte first */
    }
}

/* The TAH of a packet, and what is left to the ICRC; Bypass has neither TPH nor ICRC. */
static const uint8_t *tah(const Seen *s, bool compact, uint32_t *len)
{
    uint32_t head = UB_NTH16_SIZE + (compact ? 0 : UB_CTPH_LEN + UPI32);
    unsigned pad = compact ? 0 : s->p[UB_NTH16_SIZE] >> 4 & 3;

    *len = s->len - head - pad - (compact ? 0 : UB_ICRC_SIZE);
    return s->p + head;
}

static void compare(const Seen *s, bool compact, const Bytes *want)
{
    uint32_t len;
    const uint8_t *got = tah(s, compact, &len);

    for (unsigned i = 0; i < MIN(len, want->len); i++) {
        if (got[i] != want->at[i]) {
            g_test_message("byte %u of %u: %02x, not %02x", i, want->len, got[i],
                           want->at[i]);
        }
    }
    g_assert_cmpmem(got, len, want->at, want->len);
}

static void each(const Operation *ops, unsigned n, unsigned mode, bool compact)
{
    unsigned cfg = compact ? UB_LPH_BYPASS : UB_LPH_CNA16, sent = 0, came = 0;
    unsigned first = 0;
    Ends ends;
    Watch w;

    watch_start(&w, &(EngPlan){ .carrier = compact ? ENG_BYPASS : ENG_CTP,
                                .mode = mode }, "");
    ends.a = w.p.a.queue.id;
    ends.b = w.p.b.queue.id;
    for (unsigned i = 0; i < n; i++) {
        if (compact ? ops[i].compact : ops[i].full) {
            g_test_message("0x%02x", ops[i].opcode);
            run(&w.p, &ops[i]);
        }
    }
    if (mode == UB_UNO) {
        QUBC_WAIT(eng_counter(&w.p.b, "transaction", "prefetches") == 1);
    }
    watch_look(&w);
    for (unsigned i = 0; i < n; i++) {
        const Operation *op = &ops[i];
        const char *ext = compact ? op->compact : op->full;
        unsigned tassn, taid = 0;
        const uint8_t *p;
        Bytes want = { .len = 0 };
        const Seen *s;
        uint32_t len;

        if (!ext) {
            continue;
        }
        g_test_message("0x%02x", op->opcode);
        s = watch_packet(w.sent, cfg, sent++);
        p = tah(s, compact, &len);
        tassn = lduw_be_p(p + 2);
        first = sent == 1 ? tassn : first;
        g_assert_cmpuint((uint16_t)(tassn - first), ==, sent - 1);
        if (strchr(ext, 'K')) {
            taid = lduw_be_p(p + 8 + (ext[0] == 'U' ? 4 : 0) + 2);
        }
        put_btah(&want, op, ext, compact, tassn, &ends);
        for (const char *l = ext; *l; l++) {
            put_header(&want, op, *l, compact, taid, &ends);
        }
        compare(s, compact, &want);
        if (op->response) {
            want.len = 0;
            put_response(&want, op, compact, tassn, taid, &ends);
            compare(watch_packet(w.came, cfg, came++), compact, &want);
        }
    }
    g_assert_cmpuint(watch_packets(w.sent, cfg), ==, sent);
    g_assert_cmpuint(watch_packets(w.came, cfg), ==, came);
    watch_end(&w);
}

static void test_full(void)
{
    each(reliable, G_N_ELEMENTS(reliable), UB_ROI, false);
}

static void test_full_uno(void)
{
    each(unanswered, G_N_ELEMENTS(unanswered), UB_UNO, false);
}

static void test_compact(void)
{
    each(reliable, G_N_ELEMENTS(reliable), UB_ROI, true);
}

static void test_compact_uno(void)
{
    each(unanswered, G_N_ELEMENTS(unanswered), UB_UNO, true);
}

/* ---- Bits of the BTAH that an entry asks for ------------------------------------------------ */

static const struct {
    uint32_t flag;      /* UBQ_SQE_* */
    uint8_t byte4, byte5;
} bits[] = {
    { 0, 0, 0 },
    { 1 << 20, 0x10, 0 },                       /* RO */
    { 2 << 20, 0x20, 0 },                       /* SO */
    { UBQ_SQE_ORDERED_CQE, 0x40, 0 },           /* ODR[2] */
    { UBQ_SQE_SOLICITED, 0x04, 0 },             /* FCE */
    { UBQ_SQE_EXCLUSIVE, 0, 0x40 },             /* E_bit */
};

static void test_bits(void)
{
    Watch w;
    uint8_t *s;

    watch_start(&w, &(EngPlan){ .carrier = ENG_CTP }, "");
    for (unsigned i = 0; i < G_N_ELEMENTS(bits); i++) {
        s = ubq_sqe(&w.p.a.queue, 1);
        ubq_sqe_put(s, UB_TA_SEND | bits[i].flag, ENG_DEST, w.p.a.room, 8);
        put_le32(s + UBQ_SQE_TARGET, w.p.b.queue.id);
        ubq_recv(&w.p.b.queue, w.p.b.room, 64);
        ubq_post(&w.p.a.queue, s, 1);
        eng_complete(&w.p.a, UBQ_STATUS_OK);
        eng_complete(&w.p.b, UBQ_STATUS_OK);
    }
    /* A group of queues: its type, and the hint. */
    s = ubq_sqe(&w.p.a.queue, 1);
    ubq_sqe_put(s, UB_TA_SEND | UBQ_SQE_GROUP, ENG_DEST, w.p.a.room, 8);
    put_le32(s + UBQ_SQE_TARGET, 0xabcde);
    put_le32(s + UBQ_SQE_W5, 0x5a << 8);
    ubq_post(&w.p.a.queue, s, 1);
    eng_complete(&w.p.a, UBQ_STATUS_UNSUPPORTED);
    watch_look(&w);
    for (unsigned i = 0; i <= G_N_ELEMENTS(bits); i++) {
        uint32_t len;
        const uint8_t *p = tah(watch_packet(w.sent, UB_LPH_CNA16, i), false, &len);

        if (i < G_N_ELEMENTS(bits)) {
            g_assert_cmphex(p[4], ==, 8 | bits[i].byte4);     /* MT_EN */
            g_assert_cmphex(p[5], ==, bits[i].byte5);
        } else {
            g_assert_cmphex(p[4], ==, 8);
            g_assert_cmphex((uint32_t)ldl_be_p(p + 8), ==, 0x5a2abcdeu);
        }
    }
    watch_end(&w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-operations/full", test_full);
    qtest_add_func("/ubc-operations/full-uno", test_full_uno);
    qtest_add_func("/ubc-operations/compact", test_compact);
    qtest_add_func("/ubc-operations/compact-uno", test_compact_uno);
    qtest_add_func("/ubc-operations/bits", test_bits);
    return g_test_run();
}
