/*
 * Every operation in every service mode over every transport, and every error,
 * by the queues of two emulators.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-eng.h"
#include "ub/tah.h"

#define RELIABLE (1 << UB_ROI | 1 << UB_ROT | 1 << UB_ROL)
#define ROI_ROL (1 << UB_ROI | 1 << UB_ROL)
#define UNO (1 << UB_UNO)
#define LEN 1000u
#define NOTIFY_AT 8192u
#define BE_BYTES 64u

typedef struct Op Op;

struct Op {
    const char *name;
    uint8_t opcode;
    uint8_t modes;      /* table 7-2 */
    bool compact;       /* has a compact form: may go by Bypass */
    void (*run)(EngPair *p, const Op *op, unsigned status);
    uint8_t sub;
    uint64_t was, one, two, left; /* atomics: memory, operands, memory then */
};

/* Each has two blocks, so that none is at the end of the ring. */
static uint8_t *entry(EngPair *p, const Op *op, uint32_t flags, uint32_t len)
{
    return eng_sqe(&p->a, op->opcode, flags, len, 2);
}

static const uint8_t *finish(EngPair *p, uint8_t *s, unsigned status)
{
    ubq_post(&p->a.queue, s, 2);
    return eng_complete(&p->a, status);
}

static void clear_target(EngPair *p)
{
    memset(p->b.drv.memory + p->b.room, 0, 16384);
}

static void run_write(EngPair *p, const Op *op, unsigned status)
{
    uint32_t len = op->opcode == UB_TA_WRITEBACK ? BE_BYTES : LEN & ~63;

    eng_fill(&p->a, len, op->opcode);
    clear_target(p);
    finish(p, entry(p, op, 0, len), status);
    if (!status) {
        eng_check(&p->b, len, op->opcode);
    }
}

static void run_notify(EngPair *p, const Op *op, unsigned status)
{
    uint8_t *s = entry(p, op, 0, LEN);

    eng_fill(&p->a, LEN, 1);
    clear_target(p);
    put_le64(s + UBQ_SQE_IMM, 0xabcdef);
    put_le64(s + UBQ_SQE_NOTIFY, ENG_UBA + NOTIFY_AT);
    put_le32(s + UBQ_BLOCK, ENG_SEGMENT);
    put_le32(s + UBQ_BLOCK + 4, ENG_TOKEN);
    finish(p, s, status);
    if (!status) {
        uint64_t word;

        eng_check(&p->b, LEN, 1);
        memcpy(&word, p->b.drv.memory + p->b.room + NOTIFY_AT, 8);
        g_assert_true(word == 0xabcdef ||
                      word == __builtin_bswap64(0xabcdef));
    }
}

static void run_imm(EngPair *p, const Op *op, unsigned status)
{
    uint8_t *s = entry(p, op, 0, LEN);
    const uint8_t *c;

    eng_fill(&p->a, LEN, 2);
    clear_target(p);
    put_le64(s + UBQ_SQE_IMM, 99);
    put_le64(s + UBQ_SQE_NOTIFY, p->b.queue.id);
    if (!status) {
        ubq_recv(&p->b.queue, p->b.room + NOTIFY_AT, 64);
    }
    finish(p, s, status);
    if (!status) {
        c = eng_complete(&p->b, UBQ_STATUS_OK);
        g_assert_cmphex(c[0], ==, op->opcode);
        g_assert_cmpuint(get_le64(c + UBQ_CQE_IMMEDIATE), ==, 99);
        g_assert_cmpuint(get_le32(c + UBQ_CQE_BYTES), ==, LEN);
        eng_check(&p->b, LEN, 2);
    }
}

static void run_read(EngPair *p, const Op *op, unsigned status)
{
    eng_fill(&p->b, LEN, 3);
    memset(p->a.drv.memory + p->a.room, 0, LEN);
    finish(p, entry(p, op, 0, LEN), status);
    if (!status) {
        eng_check(&p->a, LEN, 3);
    }
}

static void run_atomic(EngPair *p, const Op *op, unsigned status)
{
    uint8_t *s = entry(p, op, UBQ_SQE_INLINE, 8);

    put_le64(p->b.drv.memory + p->b.room, op->was);
    put_le64(p->a.drv.memory + p->a.room, ~op->was);
    put_le32(s + UBQ_SQE_W5, op->sub);
    put_le64(s + UBQ_BLOCK, op->one);
    put_le64(s + UBQ_BLOCK + 8, op->two);
    finish(p, s, status);
    if (!status) {
        g_assert_cmphex(get_le64(p->b.drv.memory + p->b.room), ==, op->left);
        if (op->opcode != UB_TA_ATOMIC_STORE) {
            g_assert_cmphex(get_le64(p->a.drv.memory + p->a.room), ==,
                            op->was);
        }
    }
}

/* Every other byte. */
static void run_enables(EngPair *p, const Op *op, unsigned status)
{
    uint8_t *s = entry(p, op, UBQ_SQE_INLINE, BE_BYTES);
    const uint8_t *got = p->b.drv.memory + p->b.room;

    eng_fill(&p->a, BE_BYTES, 4);
    clear_target(p);
    memset(s + UBQ_BLOCK, 0x55, BE_BYTES / 8);
    finish(p, s, status);
    for (unsigned i = 0; !status && i < BE_BYTES; i++) {
        g_assert_cmphex(got[i], ==, i & 1 ? 0 : (uint8_t)(i * 7 + 4));
    }
}

static void run_send(EngPair *p, const Op *op, unsigned status)
{
    uint8_t *s = ubq_sqe(&p->a.queue, 2);
    const uint8_t *c;

    eng_fill(&p->a, LEN, 5);
    clear_target(p);
    ubq_sqe_put(s, op->opcode, ENG_DEST, p->a.room, LEN);
    put_le32(s + UBQ_SQE_TARGET, p->b.queue.id);
    put_le64(s + UBQ_SQE_IMM, 77);
    if (!status) {
        ubq_recv(&p->b.queue, p->b.room, 4096);
    }
    finish(p, s, status);
    if (!status) {
        c = eng_complete(&p->b, UBQ_STATUS_OK);
        g_assert_cmphex(c[0], ==, op->opcode);
        g_assert_cmpuint(get_le32(c + UBQ_CQE_BYTES), ==, LEN);
        if (op->opcode == UB_TA_SEND_IMM) {
            g_assert_cmpuint(get_le64(c + UBQ_CQE_IMMEDIATE), ==, 77);
        }
        g_assert_cmpuint(c[UBQ_CQE_EID + 15], ==, 1);
        eng_check(&p->b, LEN, 5);
    }
}

/* Nobody answers, nor says that the token is wrong (§7.4.4.1). */
static void run_prefetch(EngPair *p, const Op *op, unsigned status)
{
    uint64_t before = eng_counter(&p->b, "transaction", "prefetches");
    uint64_t answers = eng_counter(&p->b, "transaction", "tx-responses");

    for (unsigned wrong = 0; wrong < 2; wrong++) {
        uint8_t *s = entry(p, op, 0, LEN & ~63);

        put_le32(s + UBQ_SQE_TOKEN_VALUE, ENG_TOKEN + wrong);
        finish(p, s, status);
        if (!status) {
            QUBC_WAIT(eng_counter(&p->b, "transaction", "prefetches") ==
                      before + 1 + wrong);
            g_assert_cmpuint(eng_counter(&p->b, "transaction", "tx-responses"), ==,
                             answers);
        }
    }
}

static const Op ops[] = {
    { "send", UB_TA_SEND, RELIABLE | UNO, false, run_send },
    { "send-imm", UB_TA_SEND_IMM, RELIABLE | UNO, false, run_send },
    { "write", UB_TA_WRITE, RELIABLE, true, run_write },
    { "write-imm", UB_TA_WRITE_IMM, RELIABLE, false, run_imm },
    { "write-notify", UB_TA_WRITE_NOTIFY, RELIABLE, false, run_notify },
    { "write-be", UB_TA_WRITE_BE, RELIABLE, true, run_enables },
    { "writeback", UB_TA_WRITEBACK, ROI_ROL, true, run_write },
    { "writeback-be", UB_TA_WRITEBACK_BE, ROI_ROL, true, run_enables },
    { "read", UB_TA_READ, RELIABLE, true, run_read },
    { "prefetch", UB_TA_PREFETCH, UNO, true, run_prefetch },
#define ATOMIC(name, op, ...) { name, op, RELIABLE, true, run_atomic, \
                                __VA_ARGS__ }
    ATOMIC("cas-hit", UB_TA_ATOMIC_CAS, 0, 42, 42, 7, 7),
    ATOMIC("cas-miss", UB_TA_ATOMIC_CAS, 0, 41, 42, 7, 41),
    ATOMIC("swap", UB_TA_ATOMIC_SWAP, 0, 1, 2, 0, 2),
    ATOMIC("add", UB_TA_FETCH_ADD, 0, 100, 5, 0, 105),
    ATOMIC("sub", UB_TA_FETCH_SUB, 0, 100, 5, 0, 95),
    ATOMIC("and", UB_TA_FETCH_AND, 0, 0xff, 0x3c, 0, 0x3c),
    ATOMIC("or", UB_TA_FETCH_OR, 0, 0xf0, 0x3c, 0, 0xfc),
    ATOMIC("xor", UB_TA_FETCH_XOR, 0, 0xff, 0x3c, 0, 0xc3),
    ATOMIC("store-add", UB_TA_ATOMIC_STORE, 0, 10, 3, 0, 13),
    ATOMIC("load-add", UB_TA_ATOMIC_LOAD, 0, 10, 3, 0, 13),
    { "reserved-02", 0x02, 0, true, run_write },
    { "reserved-16", 0x16, 0, true, run_write },
    { "management", UB_TA_MANAGEMENT, 0, true, run_write },
    { "taack", UB_TA_TAACK, 0, true, run_write },
};

/* §7.3.3, §7.3.4: UNO by UTP, CTP and Bypass; the others by RTP, CTP and Bypass;
 * Bypass has compact headers only. */
static bool allowed(const Op *op, unsigned mode, unsigned carrier)
{
    bool way = mode == UB_UNO ? carrier != ENG_RTP : carrier != ENG_UTP;

    return way && op->modes >> mode & 1 &&
           (op->compact || carrier != ENG_BYPASS);
}

static void all_ops(unsigned carrier, unsigned cfg)
{
    for (unsigned mode = UB_ROI; mode <= UB_UNO; mode++) {
        EngPair p;

        eng_start(&p, &(EngPlan){ .carrier = carrier, .mode = mode,
                                  .cfg = cfg });
        for (unsigned i = 0; i < G_N_ELEMENTS(ops); i++) {
            g_test_message("mode %u: %s", mode, ops[i].name);
            ops[i].run(&p, &ops[i], allowed(&ops[i], mode, carrier)
                                    ? UBQ_STATUS_OK : UBQ_STATUS_OPCODE);
        }
        g_assert_null(ubq_cq_poll(&p.a.cq));
        g_assert_null(ubq_cq_poll(&p.b.cq));
        eng_stop(&p);
    }
}

static void test_rtp(void)
{
    all_ops(ENG_RTP, 0);
}

static void test_rtp_ip(void)
{
    all_ops(ENG_RTP, UB_LPH_IPV6);
}

static void test_ctp(void)
{
    all_ops(ENG_CTP, 0);
}

static void test_ctp_wide(void)
{
    all_ops(ENG_CTP, UB_LPH_CNA24);
}

static void test_utp(void)
{
    all_ops(ENG_UTP, 0);
}

static void test_bypass(void)
{
    all_ops(ENG_BYPASS, 0);
}

/* ---- Sizes ------------------------------------------------------------------------- */

/* An Atomic_swap of @len bytes, twice: the second one brings the first one's. */
static void swap(EngPair *p, uint32_t len)
{
    uint8_t was[64], now[64], *mem = p->b.drv.memory + p->b.room;

    eng_fill(&p->b, 2 * len, 1);
    for (unsigned round = 0; round < 2; round++) {
        uint8_t *s = eng_sqe(&p->a, UB_TA_ATOMIC_SWAP, UBQ_SQE_INLINE, len, 3);

        memcpy(was, mem, len);
        for (unsigned i = 0; i < len; i++) {
            now[i] = 0x80 + 3 * i + round;
        }
        memset(p->a.drv.memory + p->a.room, 0, len);
        memcpy(s + UBQ_BLOCK, now, len);
        ubq_post(&p->a.queue, s, 3);
        eng_complete(&p->a, UBQ_STATUS_OK);
        g_assert_cmpmem(mem, len, now, len);
        g_assert_cmpmem(p->a.drv.memory + p->a.room, len, was, len);
    }
    for (unsigned i = len; i < 2 * len; i++) {
        g_assert_cmphex(mem[i], ==, (uint8_t)(i * 7 + 1));
    }
}

/* A Write_with_be of @len bytes: every third. */
static void enable(EngPair *p, uint32_t len)
{
    unsigned blocks = 1 + (len / 8 + UBQ_BLOCK - 1) / UBQ_BLOCK;
    uint8_t *s = eng_sqe(&p->a, UB_TA_WRITE_BE, UBQ_SQE_INLINE, len, blocks);
    const uint8_t *got = p->b.drv.memory + p->b.room;

    eng_fill(&p->a, len, len);
    memset(p->b.drv.memory + p->b.room, 0xee, len + 8);
    for (unsigned i = 0; i < len; i += 3) {
        s[UBQ_BLOCK + i / 8] |= 1 << i % 8;
    }
    ubq_post(&p->a.queue, s, blocks);
    eng_complete(&p->a, UBQ_STATUS_OK);
    for (unsigned i = 0; i < len + 8; i++) {
        g_assert_cmphex(got[i], ==, i % 3 || i >= len
                                    ? 0xee
                                    : (uint8_t)(i * 7 + (i >> 8) + len));
    }
}

/* ---- Memory that processors have, too ---------------------------------------------- */

typedef struct Processor {
    uint64_t *at;
    uint64_t added;
    int stop;
} Processor;

static gpointer processor(gpointer opaque)
{
    Processor *cpu = opaque;

    while (!__atomic_load_n(&cpu->stop, __ATOMIC_ACQUIRE)) {
        __atomic_fetch_add(cpu->at, 1, __ATOMIC_SEQ_CST);
        cpu->added++;
    }
    return NULL;
}

/* §7.4.2.3: what a processor of the Home adds while peers add is not lost. */
static void test_shared(void)
{
    const uint64_t grain = 1ull << 40;
    const unsigned n = 400;
    Processor cpu = { 0 };
    GThread *thread;
    EngPair p;

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP });
    cpu.at = (uint64_t *)(p.b.drv.memory + p.b.room);
    *cpu.at = 0;
    thread = g_thread_new("processor", processor, &cpu);
    for (unsigned i = 0; i < n; i++) {
        uint8_t *s = eng_sqe(&p.a, UB_TA_FETCH_ADD, UBQ_SQE_INLINE, 8, 2);

        put_le64(s + UBQ_BLOCK, grain);
        ubq_post(&p.a.queue, s, 2);
        eng_complete(&p.a, UBQ_STATUS_OK);
        g_assert_cmpuint(get_le64(p.a.drv.memory + p.a.room) / grain, ==, i);
    }
    __atomic_store_n(&cpu.stop, 1, __ATOMIC_RELEASE);
    g_thread_join(thread);
    g_assert_cmpuint(get_le64(cpu.at), ==, n * grain + cpu.added);
    eng_stop(&p);
}

/* §7.4.2.1, §7.4.2.3: seven sizes of atomics; byte enables of 64 to 1024 bytes. */
static void test_sizes(void)
{
    static const unsigned carriers[] = { ENG_RTP, ENG_CTP };

    for (unsigned c = 0; c < G_N_ELEMENTS(carriers); c++) {
        EngPair p;

        eng_start(&p, &(EngPlan){ .carrier = carriers[c] });
        for (uint32_t len = 1; len <= UB_TA_ATOMIC_MAX; len *= 2) {
            swap(&p, len);
        }
        for (uint32_t len = 64; len <= UB_TA_BE_MAX; len *= 2) {
            enable(&p, len);
        }
        g_assert_null(ubq_cq_poll(&p.a.cq));
        eng_stop(&p);
    }
}

#define RIGHTS (UBQ_SEG_READ | UBQ_SEG_WRITE | UBQ_SEG_ATOMIC | UBQ_SEG_TOKEN)

/* ---- What is not there, or not any more -------------------------------------------- */

/* §7.3.1.1: nobody waits for messages: after so many tries the sender is told. */
static void test_rnr(void)
{
    static const unsigned carriers[] = { ENG_RTP, ENG_CTP };

    for (unsigned c = 0; c < G_N_ELEMENTS(carriers); c++) {
        uint64_t tries;
        uint8_t *s;
        EngPair p;

        eng_start(&p, &(EngPlan){ .carrier = carriers[c] });
        s = ubq_sqe(&p.a.queue, 1);
        ubq_sqe_put(s, UB_TA_SEND, ENG_DEST, p.a.room, LEN);
        put_le32(s + UBQ_SQE_TARGET, p.b.queue.id);
        ubq_post(&p.a.queue, s, 1);
        eng_complete(&p.a, UBQ_STATUS_RNR);
        tries = eng_counter(&p.a, "transaction", "rnr-rx");
        g_assert_cmpuint(tries, ==, 8);
        eng_send_recv(&p, LEN);
        g_assert_cmpuint(eng_counter(&p.a, "transaction", "rnr-rx"), ==,
                         tries);
        eng_stop(&p);
    }
}

/* §8.2.1: a segment that is taken away lets nobody in, and others suffer nothing;
 * it may come back. */
static void test_segment_clear(void)
{
    uint8_t cmd[UBQ_CMD];
    EngPair p;

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP });
    ubq_segment(&p.b.drv, ENG_SEGMENT + 1, p.b.room, ENG_ROOM,
                RIGHTS, ENG_TOKEN);
    for (unsigned round = 0; round < 2; round++) {
        eng_write_read(&p, LEN, round);
        ubq_cmd_init(cmd, ENG_SEGMENT, 0);
        g_assert_cmpuint(ubq_command(&p.b.drv, UBQ_OP_SEGMENT_CLEAR, cmd), ==,
                         UBQ_RESULT_OK);
        clear_target(&p);
        ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, LEN, 1), 1);
        eng_complete(&p.a, UBQ_STATUS_ABORT);
        ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_READ, 0, LEN, 1), 1);
        eng_complete(&p.a, UBQ_STATUS_ABORT);
        g_assert_cmphex(p.b.drv.memory[p.b.room + 1], ==, 0);
        ubq_cmd_init(cmd, ENG_SEGMENT, 0);
        g_assert_cmpuint(ubq_command(&p.b.drv, UBQ_OP_SEGMENT_CLEAR, cmd), ==,
                         UBQ_RESULT_NO_OBJECT);
        ubq_segment(&p.b.drv, ENG_SEGMENT, p.b.room, ENG_ROOM, RIGHTS, ENG_TOKEN);
    }
    eng_write_read(&p, LEN, 9);
    eng_stop(&p);
}

/* ---- Errors ------------------------------------------------------------------------ */

enum { TOKEN, SEGMENT, BEYOND, NO_QUEUE, NOWHERE, ODD_ATOMIC };

static const struct {
    const char *name;
    uint8_t opcode;
    unsigned wrong;
    unsigned status;
} errors[] = {
    { "write-token", UB_TA_WRITE, TOKEN, UBQ_STATUS_ABORT },
    { "write-segment", UB_TA_WRITE, SEGMENT, UBQ_STATUS_ABORT },
    { "write-beyond", UB_TA_WRITE, BEYOND, UBQ_STATUS_ABORT },
    { "write-nowhere", UB_TA_WRITE, NOWHERE, UBQ_STATUS_LOCAL_ACCESS },
    { "read-token", UB_TA_READ, TOKEN, UBQ_STATUS_ABORT },
    { "read-beyond", UB_TA_READ, BEYOND, UBQ_STATUS_ABORT },
    { "read-nowhere", UB_TA_READ, NOWHERE, UBQ_STATUS_LOCAL_ACCESS },
    { "atomic-token", UB_TA_FETCH_ADD, TOKEN, UBQ_STATUS_ABORT },
    { "atomic-length", UB_TA_FETCH_ADD, ODD_ATOMIC,
      UBQ_STATUS_LOCAL_LENGTH },
    { "send-queue", UB_TA_SEND, NO_QUEUE, UBQ_STATUS_UNSUPPORTED },
    { "send-nowhere", UB_TA_SEND, NOWHERE, UBQ_STATUS_LOCAL_ACCESS },
};

static void fail(EngPair *p, unsigned i)
{
    const unsigned wrong = errors[i].wrong;
    bool atomic = errors[i].opcode == UB_TA_FETCH_ADD;
    bool send = errors[i].opcode == UB_TA_SEND;
    uint8_t *s = eng_sqe(&p->a, errors[i].opcode, atomic ? UBQ_SQE_INLINE : 0,
                         atomic ? wrong == ODD_ATOMIC ? 3 : 8 : 64, 2);

    g_test_message("%s", errors[i].name);
    if (send) {
        put_le32(s + UBQ_SQE_W0, get_le32(s) & ~UBQ_SQE_TOKEN);
        put_le32(s + UBQ_SQE_TARGET, wrong == NO_QUEUE ? 4000
                                                       : p->b.queue.id);
    }
    if (wrong == TOKEN) {
        put_le32(s + UBQ_SQE_TOKEN_VALUE, ENG_TOKEN + 1);
    } else if (wrong == SEGMENT) {
        put_le32(s + UBQ_SQE_TARGET, ENG_SEGMENT + 1);
    } else if (wrong == BEYOND) {
        put_le64(s + UBQ_SQE_ADDR, ENG_UBA + ENG_ROOM);
    } else if (wrong == NOWHERE) {
        put_le64(s + UBQ_SQE_ELEMENT, QUBC_NOWHERE);
    }
    ubq_post(&p->a.queue, s, 2);
    eng_complete(&p->a, errors[i].status);
}

/* Each is told by its status, and nothing else suffers. */
static void all_errors(unsigned carrier, unsigned mode)
{
    EngPair p;

    eng_start(&p, &(EngPlan){ .carrier = carrier, .mode = mode });
    for (unsigned i = 0; i < G_N_ELEMENTS(errors); i++) {
        if (carrier == ENG_BYPASS && errors[i].opcode == UB_TA_SEND) {
            continue;
        }
        clear_target(&p);
        fail(&p, i);
        g_assert_cmphex(p.b.drv.memory[p.b.room + 1], ==, 0);
        eng_write_read(&p, 64, i);
        eng_write_read(&p, 64, i + 1);
    }
    eng_stop(&p);
}

static void test_errors(void)
{
    static const unsigned carriers[] = { ENG_RTP, ENG_CTP, ENG_BYPASS };

    for (unsigned i = 0; i < G_N_ELEMENTS(carriers); i++) {
        for (unsigned mode = UB_ROI; mode <= UB_ROL; mode++) {
            all_errors(carriers[i], mode);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-ops/rtp", test_rtp);
    qtest_add_func("/ubc-ops/rtp-ip", test_rtp_ip);
    qtest_add_func("/ubc-ops/ctp", test_ctp);
    qtest_add_func("/ubc-ops/ctp-wide", test_ctp_wide);
    qtest_add_func("/ubc-ops/utp", test_utp);
    qtest_add_func("/ubc-ops/bypass", test_bypass);
    qtest_add_func("/ubc-ops/shared", test_shared);
    qtest_add_func("/ubc-ops/sizes", test_sizes);
    qtest_add_func("/ubc-ops/rnr", test_rnr);
    qtest_add_func("/ubc-ops/segment-clear", test_segment_clear);
    qtest_add_func("/ubc-ops/errors", test_errors);
    return g_test_run();
}
