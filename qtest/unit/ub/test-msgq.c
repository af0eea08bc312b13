/*
 * Message queues as a driver sees them: registers, rings and slots in memory,
 * with the management of a node behind.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "mgmt-fabric.h"
#include "ub/msgq.h"

#define MEMORY (1u << 20)
#define SQ 0x10000u
#define RQ 0x40000u
#define CQ 0x80000u
#define DEPTH 8u

typedef struct Bench {
    Fabric f;
    Node *n, *peer;
    UbMsgqs *q;
    UbMgmtOps mgmt_ops;
    uint8_t memory[MEMORY];
    unsigned interrupts, errors, kicks;
    uint32_t vector;
    const char *error;
    uint64_t hole;      /* no memory from here on */
} Bench;

/* ---- The device around it ---- */

static bool dma_read(void *opaque, uint64_t addr, void *buf, uint32_t len)
{
    Bench *b = opaque;

    if (addr + len > b->hole || addr + len < addr) {
        return false;
    }
    memcpy(buf, b->memory + addr, len);
    return true;
}

static bool dma_write(void *opaque, uint64_t addr, const void *buf,
                      uint32_t len)
{
    Bench *b = opaque;

    if (addr + len > b->hole || addr + len < addr) {
        return false;
    }
    memcpy(b->memory + addr, buf, len);
    return true;
}

static void interrupt(void *opaque, uint32_t vector)
{
    Bench *b = opaque;

    b->interrupts++;
    b->vector = vector;
}

static void kick(void *opaque)
{
    Bench *b = opaque;

    b->kicks++;
}

static void guest_error(void *opaque, unsigned queue, const char *text)
{
    Bench *b = opaque;

    b->errors++;
    b->error = text;
}

static const UbMsgqOps msgq_ops = { dma_read, dma_write, interrupt, kick,
                                    guest_error };

static Bench *bench_of(void *opaque)
{
    Node *n = opaque;

    return (Bench *)((char *)n->fabric - offsetof(Bench, f));
}

static bool deliver(void *opaque, int queue, UbMgmtKind kind,
                    const UbMgmtAddr *a, const uint8_t *data, size_t len)
{
    return ub_msgqs_deliver(bench_of(opaque)->q, queue, kind, a, data, len);
}

static bool failed(void *opaque, unsigned queue, UbMgmtKind kind, uint16_t msn,
                   uint8_t code)
{
    return ub_msgqs_failed(bench_of(opaque)->q, queue, kind, msn, code);
}

static Bench *bench_new(void)
{
    Bench *b = g_new0(Bench, 1);
    UbMgmtOps *ops = &b->mgmt_ops;
    UbMgmtConfig cfg;

    g_queue_init(&b->f.under_way);
    ub_mgmt_config_init(&cfg);
    b->peer = fabric_add(&b->f, &cfg);
    b->n = &b->f.node[b->f.nodes];
    b->n->fabric = &b->f;
    b->n->index = b->f.nodes++;
    fabric_space(b->n, 1);
    *ops = fabric_ops;
    ops->deliver = deliver;
    ops->failed = failed;
    b->n->m = ub_mgmt_new(&cfg, b->n->space, ops, b->n);
    fabric_link(&b->f, 0, 0, 1, 0);
    fabric_identity(b->peer, 0x11, 0x21, 5);
    fabric_identity(b->n, 0x12, 0x22, 5);
    b->q = ub_msgqs_new(&msgq_ops, b);
    ub_msgqs_join(b->q, b->n->m);
    b->hole = MEMORY;
    return b;
}

static void bench_free(Bench *b)
{
    ub_msgqs_free(b->q);
    fabric_free(&b->f);
    g_free(b);
}

static uint32_t rd(Bench *b, unsigned queue, uint32_t reg)
{
    return ub_msgqs_read(b->q, queue * UB_MSGQ_WINDOW + reg);
}

static void wr(Bench *b, unsigned queue, uint32_t reg, uint32_t value)
{
    ub_msgqs_write(b->q, queue * UB_MSGQ_WINDOW + reg, value);
}

/* As the public driver does. */
static void set_up(Bench *b, unsigned queue)
{
    static const uint32_t base[] = { SQ, RQ, CQ };
    static const uint32_t at[] = { UB_MSGQ_SQ_ADDR_L, UB_MSGQ_RQ_ADDR_L,
                                   UB_MSGQ_CQ_ADDR_L };

    wr(b, queue, UB_MSGQ_RST, 1);
    wr(b, queue, UB_MSGQ_RST, 0);
    for (unsigned i = 0; i < 3; i++) {
        wr(b, queue, at[i] + 0x10, DEPTH);
        wr(b, queue, at[i] + (i ? 0xc : 8), 0);
        wr(b, queue, at[i], base[i]);
        wr(b, queue, at[i] + 4, 0);
    }
    wr(b, queue, UB_MSGQ_RQ_ENTRY_SIZE, 4);
    wr(b, queue, UB_MSGQ_SQ_INT_MSK, 0);
    wr(b, queue, UB_MSGQ_INT_SEL, 9);
    wr(b, queue, UB_MSGQ_CQ_INT_STATUS, 1);
    wr(b, queue, UB_MSGQ_CQ_INT_MASK, 0);
}

static void run(Bench *b)
{
    ub_msgqs_run(b->q, b->f.now, 1000);
    fabric_pump(&b->f);
    ub_mgmt_run(b->n->m, b->f.now);
}

/* ---- Software ---- */

static uint8_t *slot(Bench *b, unsigned i)
{
    return b->memory + SQ + DEPTH * 16 + i * 2048;
}

static uint8_t *cqe(Bench *b, unsigned i)
{
    return b->memory + CQ + 16 * i;
}

/* A word of a received packet. */
static uint32_t word(Bench *b, unsigned entry, unsigned i)
{
    return get_le32(b->memory + RQ + 2048 * entry + 4 * i);
}

static void put_sqe(Bench *b, unsigned i, unsigned task, bool local,
                    uint8_t opcode, unsigned len, uint16_t msn)
{
    uint8_t *p = b->memory + SQ + 16 * i;

    put_le32(p, task | (local ? 0x10 : 0) | opcode << 8 | len << 16);
    put_le32(p + 4, msn);
    put_le32(p + 8, DEPTH * 16 + i * 2048);
    put_le32(p + 12, 0);
}

/* A read of CFG0, by words as the public driver has them in memory. */
static void put_read(Bench *b, unsigned i, uint32_t dw, uint16_t msn,
                     bool local)
{
    const uint32_t words[] = {
        6 << 16,                /* LPH: CFG */
        0xbad00011,             /* SCNA, DCNA */
        0x00003708,             /* CCI, LBF, SL, Mgmt, NLP */
        0x02badbad,             /* CTPH, UPI, SEID */
        0xbad00021,             /* SEID, DEID */
        0x10000000,             /* TAOpcode, MSN */
        0x000000ff,             /* queue */
        0x04000010,             /* MGMTETAH */
        0x000000f0, dw, 0, 0,
    };

    for (unsigned w = 0; w < G_N_ELEMENTS(words); w++) {
        put_le32(slot(b, i) + 4 * w, words[w]);
    }
    put_sqe(b, i, UB_MSGQ_MESSAGE, local, 0x04, sizeof(words), msn);
}

/* ---- Tests ---- */

/* A register of the peer, word by word. */
static void remote(void)
{
    Bench *b = bench_new();
    Flight *fl;

    set_up(b, 3);
    put_read(b, 0, UB_CFG0_GUID, 0x1234, false);
    wr(b, 3, UB_MSGQ_SQ_PI, 1);
    g_assert_cmpuint(b->kicks, >, 0);
    g_assert_cmpuint(rd(b, 3, UB_MSGQ_SQ_CI), ==, 0);
    ub_msgqs_run(b->q, 0, 1);
    g_assert_cmpuint(rd(b, 3, UB_MSGQ_SQ_CI), ==, 1);
    fl = g_queue_peek_head(&b->f.under_way);
    g_assert_cmphex(fl->addr.dcna, ==, 0x11);
    g_assert_cmphex(fl->addr.deid, ==, 0x21);
    g_assert_cmphex(fl->addr.scna, ==, 0x12);
    g_assert_cmphex(fl->addr.seid, ==, 0x22);
    g_assert_cmphex(fl->addr.upi, ==, UB_MGMT_UPI);
    g_assert_cmphex(fl->addr.msn, ==, 0x1234);
    g_assert_cmphex(fl->addr.queue, ==, 3);
    g_assert_cmpuint(fl->addr.lbf, ==, 0x37);
    g_assert_cmpuint(fl->addr.sl, ==, 0);
    g_assert_cmpuint(fl->len, ==, 20);
    g_assert_cmphex(get_be32(fl->data), ==, 0x04000010);
    g_assert_cmphex(get_be32(fl->data + 8), ==, UB_CFG0_GUID);
    run(b);
    /* CQE: response, 48 bytes, MSN, slot 0, good. */
    g_assert_cmphex(get_le32(cqe(b, 0)), ==, 0x00300500);
    g_assert_cmphex(get_le32(cqe(b, 0) + 4), ==, 0x1234);
    g_assert_cmphex(get_le32(cqe(b, 0) + 8), ==, 0);
    g_assert_cmphex(get_le32(cqe(b, 0) + 12), ==, 0);
    g_assert_cmpuint(rd(b, 3, UB_MSGQ_CQ_PI), ==, 1);
    g_assert_cmpuint(rd(b, 3, UB_MSGQ_RQ_PI), ==, 1);
    g_assert_cmpuint(b->interrupts, ==, 1);
    g_assert_cmpuint(b->vector, ==, 9);
    /* The packet: headers as the wire has them, words as memory does. */
    g_assert_cmphex(word(b, 0, 0), ==, 6 << 16);
    g_assert_cmphex(word(b, 0, 1), ==, 0x00110012);
    g_assert_cmphex(word(b, 0, 2), ==, 0x00003700);
    g_assert_cmphex(word(b, 0, 3), ==, 0x027fff00);
    g_assert_cmphex(word(b, 0, 4), ==, 0x02100022);
    g_assert_cmphex(word(b, 0, 5), ==, 0x10101234);
    g_assert_cmphex(word(b, 0, 6), ==, 3);
    g_assert_cmphex(word(b, 0, 7), ==, 0x05000010);
    g_assert_cmphex(word(b, 0, 8), ==, 0x100);
    g_assert_cmphex(word(b, 0, 11), ==, 0);
    g_assert_cmpuint(b->errors, ==, 0);
    bench_free(b);
}

/* SL and both EIDs of more than the low bits. */
static void addresses(void)
{
    Bench *b = bench_new();
    Flight *fl;

    fabric_identity(b->n, 0x12, 0xabcde, 5);
    fabric_identity(b->peer, 0x11, 0x54321, 5);
    set_up(b, 0);
    put_read(b, 0, 0, 1, false);
    put_le32(slot(b, 0) + 8, 0x000012c8);
    put_le32(slot(b, 0) + 16, 0x00054321);
    wr(b, 0, UB_MSGQ_SQ_PI, 1);
    ub_msgqs_run(b->q, 0, 1);
    fl = g_queue_peek_head(&b->f.under_way);
    g_assert_cmpuint(fl->addr.sl, ==, 12);
    g_assert_cmpuint(fl->addr.lbf, ==, 0x12);
    g_assert_cmphex(fl->addr.seid, ==, 0xabcde);
    g_assert_cmphex(fl->addr.deid, ==, 0x54321);
    run(b);
    g_assert_cmphex(word(b, 0, 2), ==, 0x000012c0);
    g_assert_cmphex(word(b, 0, 3), ==, 0x027fff54);
    g_assert_cmphex(word(b, 0, 4), ==, 0x321abcde);
    bench_free(b);
}

static void local(void)
{
    Bench *b = bench_new();

    set_up(b, 0);
    put_read(b, 0, UB_CFG0_GUID, 7, true);
    wr(b, 0, UB_MSGQ_SQ_PI, 1);
    run(b);
    g_assert_cmphex(get_le32(cqe(b, 0)), ==, 0x00300500);
    g_assert_cmphex(word(b, 0, 8), ==, 0x101);
    /* A scan of our own node. */
    memset(slot(b, 1), 0, 64);
    put_le32(slot(b, 1), 6 << 16);
    put_le32(slot(b, 1) + 8, 9);
    put_le32(slot(b, 1) + 12, 0x7fff0000);
    put_le32(slot(b, 1) + 16, 0x00100000);
    put_le32(slot(b, 1) + 20, 0x01000100);
    put_le32(slot(b, 1) + 24, 0x00060000);
    put_sqe(b, 1, UB_MSGQ_SCAN, true, 0, 44, 8);
    wr(b, 0, UB_MSGQ_SQ_PI, 2);
    run(b);
    g_assert_cmphex(get_le32(cqe(b, 1)), ==, (16 + 4 + 24 + 20 + 28) << 16 | 1);
    g_assert_cmphex(get_le32(cqe(b, 1) + 4), ==, 8);
    g_assert_cmphex(get_le32(cqe(b, 1) + 8), ==, 1);
    g_assert_cmphex(word(b, 1, 3), ==, 0x7fff0000);
    g_assert_cmphex(word(b, 1, 4), ==, 0);
    g_assert_cmphex(word(b, 1, 5), ==, 0x01000000);
    g_assert_cmphex(word(b, 1, 6), ==, 0x00120008);
    g_assert_cmphex(word(b, 1, 7), ==, 0x101);
    g_assert_cmphex(word(b, 1, 16), ==, 0x021c0100);
    bench_free(b);
}

/* A scan of the neighbour. */
static void scan(void)
{
    Bench *b = bench_new();

    set_up(b, 1);
    memset(slot(b, 0), 0, 64);
    put_le32(slot(b, 0), 6 << 16);
    put_le32(slot(b, 0) + 8, 9);
    put_le32(slot(b, 0) + 16, 0x00110100);
    put_le32(slot(b, 0) + 28, 0x01000100);
    put_le32(slot(b, 0) + 32, 0x00060000);
    for (unsigned i = 0; i < 4; i++) {
        put_le32(slot(b, 0) + 36 + 4 * i, fabric_guid(0).w[i]);
    }
    put_sqe(b, 0, UB_MSGQ_SCAN, false, 0, 52, 0xffff);
    wr(b, 1, UB_MSGQ_SQ_PI, 1);
    run(b);
    g_assert_cmphex(get_le32(cqe(b, 0)), ==,
                    (16 + 8 + 24 + 20 + 28) << 16 | 1);
    g_assert_cmphex(get_le32(cqe(b, 0) + 4), ==, 0xffff);
    g_assert_cmphex(word(b, 0, 6), ==, 0x01000000);
    g_assert_cmphex(word(b, 0, 7), ==, 0x0112ffff);
    g_assert_cmphex(word(b, 0, 8), ==, fabric_guid(0).w[0]);
    g_assert_cmpuint(b->errors, ==, 0);
    bench_free(b);
}

/* A request for software, and its answer. */
static void serve(void)
{
    Bench *b = bench_new();
    Answer a = { 0 };
    UbMgmtAddr to = { .dcna = 0x12, .deid = 0x22, .mgmt = true };
    uint8_t pdu[5] = "hello";

    /* No queue. */
    g_assert_true(ub_mgmt_request(b->peer->m, 0, &to, UB_MGMT_MSG_SPDM, pdu, 5,
                                  fabric_answer, &a));
    run(b);
    g_assert_cmphex(a.status, ==, UB_MGMT_NO_RESOURCE);
    /* The first that works. */
    set_up(b, 2);
    set_up(b, 4);
    g_assert_true(ub_mgmt_request(b->peer->m, 0, &to, UB_MGMT_MSG_SPDM, pdu, 5,
                                  fabric_answer, &a));
    run(b);
    g_assert_cmpuint(rd(b, 4, UB_MSGQ_CQ_PI), ==, 0);
    g_assert_cmpuint(rd(b, 2, UB_MSGQ_CQ_PI), ==, 1);
    g_assert_cmphex(get_le32(cqe(b, 0)), ==, 0x00251a00);
    g_assert_cmphex(word(b, 0, 7), ==, 0x1a000005);
    g_assert_cmphex(word(b, 0, 8), ==, 0x68656c6c);
    g_assert_cmphex(word(b, 0, 9), ==, 0x6f000000);
    g_assert_cmpuint(a.calls, ==, 1);
    /* The answer has the MSN and queue of the request, whatever the SQE says. */
    memcpy(slot(b, 0), b->memory + RQ, 64);
    put_le32(slot(b, 0) + 4, 0x00120011);
    put_le32(slot(b, 0) + 8, 0);
    put_le32(slot(b, 0) + 12, 0x027fff00);
    put_le32(slot(b, 0) + 16, 0x02200021);
    put_le32(slot(b, 0) + 28, 0x1b000003);
    put_sqe(b, 0, UB_MSGQ_MESSAGE, false, 0x1b, 35, 999);
    wr(b, 2, UB_MSGQ_SQ_PI, 1);
    run(b);
    g_assert_cmpuint(a.calls, ==, 2);
    g_assert_cmphex(a.status, ==, 0);
    g_assert_cmpmem(a.data, a.len, "hel", 3);
    g_assert_cmpuint(rd(b, 2, UB_MSGQ_CQ_PI), ==, 1);
    bench_free(b);
}

/* What was asked of a queue that does not work any more is not another's. */
static void elsewhere(void)
{
    Bench *b = bench_new();
    UbMgmtAddr a = { .msn = 1, .queue = 1 };
    uint8_t data[UB_MGMT_MAX] = { 0x1b };
    uint8_t way[UB_SCAN_MAX] = { 0 };

    set_up(b, 0);
    set_up(b, 2);
    g_assert_false(ub_msgqs_deliver(b->q, 1, UB_MGMT_KIND_MESSAGE, &a, data,
                                    4));
    g_assert_false(ub_msgqs_deliver(b->q, 16, UB_MGMT_KIND_MESSAGE, &a, data,
                                    4));
    g_assert_true(ub_msgqs_deliver(b->q, 2, UB_MGMT_KIND_MESSAGE, &a, data, 4));
    g_assert_cmpuint(rd(b, 0, UB_MSGQ_CQ_PI), ==, 0);
    g_assert_true(ub_msgqs_failed(b->q, 16, UB_MGMT_KIND_SCAN, 1, 0));
    /* The opcode of a scan is its CMD; what is none is refused. */
    ub_mgmt_put(way + 4, UB_MF_PDU_CMD, UB_SCAN_NA_QUERY);
    g_assert_true(ub_msgqs_deliver(b->q, 2, UB_MGMT_KIND_SCAN, &a, way, 28));
    g_assert_cmphex(get_le32(cqe(b, 1)), ==, (16 + 28) << 16 | 2 << 8 | 1);
    g_assert_false(ub_msgqs_deliver(b->q, 2, UB_MGMT_KIND_SCAN, &a, way, 27));
    /* The longest there are. */
    g_assert_true(ub_msgqs_deliver(b->q, 2, UB_MGMT_KIND_SCAN, &a, way,
                                   UB_SCAN_MAX));
    g_assert_true(ub_msgqs_deliver(b->q, 2, UB_MGMT_KIND_MESSAGE, &a, data,
                                   UB_MGMT_MAX));
    /* What is for the first queue is no other's, either. */
    wr(b, 0, UB_MSGQ_RST, 1);
    g_assert_false(ub_msgqs_deliver(b->q, 0, UB_MGMT_KIND_MESSAGE, &a, data, 4));
    bench_free(b);
}

/* Entries that are refused alone. */
static void refused(void)
{
    static const struct {
        unsigned word, value;   /* of the slot, or 100 and more of the SQE */
        const char *text;
    } rows[] = {
        { 0, 7 << 16, "LPH" }, { 2, 0x3709, "NTH: NLP" },
        { 3, 0x01000000, "CTPH" }, { 3, 0x42000000, "CTPH" },
        { 5, 0x03000000, "BTAH" }, { 7, 0x04000011, "PDU Length" },
        { 100, 28 << 16 | 0x400, "shorter than its headers" },
        { 100, 2048 << 16 | 0x400, "4 to 1028 bytes" },
        { 100, 2049 << 16 | 0x400, "longer than a slot" },
        { 102, DEPTH * 16 - 4, "not in the slots" },
        { 102, DEPTH * 16 + 2, "not in the slots" },
        { 102, DEPTH * (16 + 2048) - 44, "not in the slots" },
        { 102, 0xffffffff, "not in the slots" },
        { 102, 0xfffffffc, "not in the slots" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Bench *b = bench_new();

        set_up(b, 0);
        put_read(b, 0, 0, 0x55, false);
        if (rows[i].word < 100) {
            put_le32(slot(b, 0) + 4 * rows[i].word, rows[i].value);
        } else {
            put_le32(b->memory + SQ + 4 * (rows[i].word - 100), rows[i].value);
        }
        put_read(b, 1, 0, 0x56, false);
        wr(b, 0, UB_MSGQ_SQ_PI, 2);
        run(b);
        g_assert_cmpuint(b->errors, ==, 1);
        g_assert_nonnull(strstr(b->error, rows[i].text));
        /* The CQE of a failure is a response without a packet. */
        g_assert_cmphex(get_le32(cqe(b, 0)), ==, 0x00000500);
        g_assert_cmphex(get_le32(cqe(b, 0) + 4), ==, 0x55);
        g_assert_cmphex(get_le32(cqe(b, 0) + 8), ==, 0x00010000);
        g_assert_cmpuint(rd(b, 0, UB_MSGQ_RQ_PI), ==, 1);
        /* The next is sent. */
        g_assert_cmphex(get_le32(cqe(b, 1)), ==, 0x00300500);
        g_assert_cmphex(get_le32(cqe(b, 1) + 8), ==, 0);
        g_assert_cmphex(rd(b, 0, UB_MSGQ_SQ_STATUS), ==, 0);
        bench_free(b);
    }
}

/* The end of the slots is within them. */
static void last_slot(void)
{
    Bench *b = bench_new();

    set_up(b, 0);
    put_read(b, 0, UB_CFG0_GUID, 1, false);
    memcpy(slot(b, DEPTH) - 48, slot(b, 0), 48);
    put_le32(b->memory + SQ + 8, DEPTH * (16 + 2048) - 48);
    wr(b, 0, UB_MSGQ_SQ_PI, 1);
    run(b);
    g_assert_cmpuint(b->errors, ==, 0);
    g_assert_cmphex(get_le32(cqe(b, 0)), ==, 0x00300500);
    bench_free(b);
}

/* Tasks that nobody knows; responses that fail. */
static void tasks(void)
{
    Bench *b = bench_new();

    set_up(b, 0);
    for (unsigned i = 0; i < 2; i++) {
        put_sqe(b, i, 2 + i, true, 0xff, 100, 0x70 + i);
    }
    put_read(b, 2, 0, 3, false);
    put_le32(slot(b, 2), 0);
    b->memory[SQ + 33] |= 1;
    wr(b, 0, UB_MSGQ_SQ_PI, 3);
    run(b);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmphex(get_le32(cqe(b, i)), ==, 0xff02 + i);
        g_assert_cmphex(get_le32(cqe(b, i) + 4), ==, 0x70 + i);
        g_assert_cmphex(get_le32(cqe(b, i) + 8), ==, 39 << 16);
    }
    g_assert_cmpuint(rd(b, 0, UB_MSGQ_CQ_PI), ==, 2);
    g_assert_cmpuint(b->errors, ==, 1);
    bench_free(b);
}

/* No answer: a CQE says so. */
static void in_vain(void)
{
    Bench *b = bench_new();

    set_up(b, 0);
    b->f.lossy = true;
    put_read(b, 0, 0, 0x99, false);
    wr(b, 0, UB_MSGQ_SQ_PI, 1);
    run(b);
    g_assert_cmpuint(rd(b, 0, UB_MSGQ_CQ_PI), ==, 0);
    b->f.now += SECOND;
    run(b);
    g_assert_cmphex(get_le32(cqe(b, 0)), ==, 0x00000500);
    g_assert_cmphex(get_le32(cqe(b, 0) + 4), ==, 0x99);
    g_assert_cmphex(get_le32(cqe(b, 0) + 8), ==, 0x00010000);
    /* A queue that is reset does not care. */
    put_read(b, 1, 0, 0x9a, false);
    wr(b, 0, UB_MSGQ_SQ_PI, 2);
    run(b);
    g_assert_cmpuint(ub_mgmt_waiting(b->n->m), ==, 1);
    wr(b, 0, UB_MSGQ_RST, 1);
    g_assert_cmpuint(ub_mgmt_waiting(b->n->m), ==, 0);
    bench_free(b);
}

/* Around the rings many times, with slots of every size. */
static void around(void)
{
    for (unsigned size = 0; size <= 4; size++) {
        Bench *b = bench_new();
        unsigned bytes = 128u << size, entry = 0;
        unsigned slots = (28 + 4 + 16 + bytes - 1) / bytes;

        set_up(b, 0);
        wr(b, 0, UB_MSGQ_RQ_ENTRY_SIZE, size);
        for (unsigned i = 0; i < 30; i++) {
            unsigned at = i % DEPTH;

            put_read(b, at, UB_CFG0_GUID + i % 4, i, i & 1);
            wr(b, 0, UB_MSGQ_SQ_PI, (i + 1) % DEPTH);
            run(b);
            g_assert_cmpuint(rd(b, 0, UB_MSGQ_CQ_PI), ==, (i + 1) % DEPTH);
            g_assert_cmphex(get_le32(cqe(b, at)), ==, 0x00300500);
            g_assert_cmphex(get_le32(cqe(b, at) + 4), ==, i);
            g_assert_cmphex(get_le32(cqe(b, at) + 8), ==, entry);
            g_assert_cmphex(get_le32(b->memory + RQ + entry * bytes + 32), ==,
                            fabric_guid(i & 1).w[i % 4]);
            entry = (entry + slots) % DEPTH;
            g_assert_cmpuint(rd(b, 0, UB_MSGQ_RQ_PI), ==, entry);
            wr(b, 0, UB_MSGQ_RQ_CI, entry);
            wr(b, 0, UB_MSGQ_CQ_CI, (i + 1) % DEPTH);
        }
        g_assert_cmpuint(b->errors, ==, 0);
        bench_free(b);
    }
}

/* A packet of several slots goes on with the first behind the last. */
static void wrapped(void)
{
    Bench *b = bench_new();
    UbMgmtAddr a = { .msn = 1 };
    uint8_t data[UB_MGMT_MAX], was[6 * 128];

    ub_mgmt_etah_put(data, (UbMgmtEtah) { .code = 5, .sub = 1, .len = 333 });
    for (unsigned i = 0; i < 333; i++) {
        data[4 + i] = i;
    }
    set_up(b, 0);
    wr(b, 0, UB_MSGQ_RQ_ENTRY_SIZE, 0);
    /* 365 bytes: three slots of 128. */
    for (unsigned i = 0; i < 3; i++) {
        g_assert_true(ub_msgqs_deliver(b->q, -1, UB_MGMT_KIND_MESSAGE, &a,
                                       data, 337));
        if (i == 1) {
            /* One of eight has to stay empty. */
            g_assert_false(ub_msgqs_deliver(b->q, -1, UB_MGMT_KIND_MESSAGE, &a,
                                            data, 337));
            wr(b, 0, UB_MSGQ_RQ_CI, 6);
            memcpy(was, b->memory + RQ, sizeof(was));
        }
    }
    g_assert_cmphex(get_le32(cqe(b, 2) + 8), ==, 6);
    g_assert_cmphex(get_le32(b->memory + RQ + 6 * 128 + 28), ==, 0x1a00014d);
    /* Byte 224 of the PDU is the first behind the end. */
    g_assert_cmphex(get_le32(b->memory + RQ), ==, 0xe0e1e2e3);
    g_assert_cmphex(get_le32(b->memory + RQ + 4), ==, 0xe4e5e6e7);
    /* And behind its own end, 112 bytes from there, nothing is touched. */
    g_assert_cmpmem(b->memory + RQ + 112, sizeof(was) - 112, was + 112,
                    sizeof(was) - 112);
    g_assert_cmpuint(rd(b, 0, UB_MSGQ_RQ_PI), ==, 1);
    bench_free(b);
}

/* Full completion rings hold sending; full receive rings lose. */
static void full(void)
{
    Bench *b = bench_new();

    set_up(b, 0);
    for (unsigned i = 0; i < DEPTH - 1; i++) {
        put_read(b, i, 0, i, true);
    }
    wr(b, 0, UB_MSGQ_SQ_PI, DEPTH - 1);
    run(b);
    g_assert_cmpuint(rd(b, 0, UB_MSGQ_CQ_PI), ==, DEPTH - 1);
    put_read(b, 7, 0, 100, true);
    wr(b, 0, UB_MSGQ_SQ_PI, 0);
    g_assert_false(ub_msgqs_run(b->q, 0, 1000));
    g_assert_cmpuint(rd(b, 0, UB_MSGQ_SQ_CI), ==, DEPTH - 1);
    g_assert_false(ub_msgqs_failed(b->q, 0, UB_MGMT_KIND_SCAN, 1, 0));
    /* Room for a completion, but not for a packet. */
    wr(b, 0, UB_MSGQ_CQ_CI, 3);
    run(b);
    g_assert_cmpuint(rd(b, 0, UB_MSGQ_SQ_CI), ==, 0);
    g_assert_cmpuint(rd(b, 0, UB_MSGQ_CQ_PI), ==, DEPTH - 1);
    g_assert_cmpuint(ub_mgmt_waiting(b->n->m), ==, 1);
    b->f.now += SECOND;
    run(b);
    g_assert_cmphex(get_le32(cqe(b, 7)), ==, 0x00000500);
    g_assert_cmphex(get_le32(cqe(b, 7) + 4), ==, 100);
    g_assert_cmpuint(b->errors, ==, 0);
    bench_free(b);
}

/* No more than the budget, and every queue has its turn. */
static void turns(void)
{
    Bench *b = bench_new();

    set_up(b, 0);
    set_up(b, 5);
    for (unsigned i = 0; i < 4; i++) {
        put_read(b, i, 0, i, false);
    }
    wr(b, 0, UB_MSGQ_SQ_PI, 4);
    wr(b, 5, UB_MSGQ_SQ_PI, 4);
    g_assert_true(ub_msgqs_run(b->q, 0, 4));
    g_assert_cmpuint(rd(b, 0, UB_MSGQ_SQ_CI), ==, 2);
    g_assert_cmpuint(rd(b, 5, UB_MSGQ_SQ_CI), ==, 2);
    g_assert_false(ub_msgqs_run(b->q, 0, 100));
    g_assert_cmpuint(rd(b, 0, UB_MSGQ_SQ_CI), ==, 4);
    g_assert_cmpuint(rd(b, 5, UB_MSGQ_SQ_CI), ==, 4);
    /* Each has an MSN of its own. */
    g_assert_cmpuint(g_queue_get_length(&b->f.under_way), ==, 8);
    bench_free(b);
}

/* What a register does that breaks a rule: the queue stops until it is reset. */
static void stopped(void)
{
    static const struct {
        uint32_t reg, value, status;
    } rows[] = {
        { UB_MSGQ_SQ_PI, DEPTH, UB_MSGQ_SQ_STATUS },
        { UB_MSGQ_SQ_PI, ~0u, UB_MSGQ_SQ_STATUS },
        { UB_MSGQ_RQ_CI, DEPTH, UB_MSGQ_RQ_STATUS },
        { UB_MSGQ_RQ_CI, 1, UB_MSGQ_RQ_STATUS },
        { UB_MSGQ_CQ_CI, 1, UB_MSGQ_CQ_STATUS },
        { UB_MSGQ_CQ_CI, DEPTH, UB_MSGQ_CQ_STATUS },
        { UB_MSGQ_SQ_DEPTH, 3, UB_MSGQ_SQ_STATUS },
        { UB_MSGQ_RQ_DEPTH, 1025, UB_MSGQ_RQ_STATUS },
        { UB_MSGQ_CQ_DEPTH, 0, UB_MSGQ_CQ_STATUS },
        { UB_MSGQ_RQ_ENTRY_SIZE, 5, UB_MSGQ_RQ_STATUS },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Bench *b = bench_new();

        set_up(b, 0);
        set_up(b, 1);
        put_read(b, 0, 0, 1, true);
        wr(b, 0, rows[i].reg, rows[i].value);
        g_assert_cmphex(rd(b, 0, rows[i].status), ==, UB_MSGQ_STOPPED);
        g_assert_cmpuint(b->errors, ==, 1);
        wr(b, 0, UB_MSGQ_SQ_PI, 1);
        wr(b, 1, UB_MSGQ_SQ_PI, 1);
        run(b);
        g_assert_cmpuint(rd(b, 0, UB_MSGQ_SQ_CI), ==, 0);
        g_assert_cmpuint(rd(b, 1, UB_MSGQ_SQ_CI), ==, 1);
        set_up(b, 0);
        g_assert_cmphex(rd(b, 0, rows[i].status), ==, 0);
        wr(b, 0, UB_MSGQ_SQ_PI, 1);
        run(b);
        g_assert_cmpuint(rd(b, 0, UB_MSGQ_CQ_PI), ==, 1);
        bench_free(b);
    }
}

/* A ring with entries stays where it is. */
static void moved(void)
{
    static const uint32_t regs[] = { UB_MSGQ_SQ_ADDR_L, UB_MSGQ_SQ_ADDR_H,
                                     UB_MSGQ_SQ_DEPTH };

    for (unsigned i = 0; i < G_N_ELEMENTS(regs); i++) {
        Bench *b = bench_new();
        uint32_t was;

        set_up(b, 0);
        wr(b, 0, UB_MSGQ_SQ_PI, 1);
        was = rd(b, 0, regs[i]);
        wr(b, 0, regs[i], 16);
        g_assert_cmphex(rd(b, 0, regs[i]), ==, was);
        g_assert_cmphex(rd(b, 0, UB_MSGQ_SQ_STATUS), ==, UB_MSGQ_STOPPED);
        bench_free(b);
    }
}

/* Rings that are not in memory. */
static void no_memory(void)
{
    static const struct {
        uint64_t hole;
        uint32_t status;
    } rows[] = {
        { SQ, UB_MSGQ_SQ_STATUS }, { RQ, UB_MSGQ_RQ_STATUS },
        { CQ, UB_MSGQ_CQ_STATUS },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Bench *b = bench_new();

        set_up(b, 0);
        put_read(b, 0, 0, 1, true);
        b->hole = rows[i].hole;
        wr(b, 0, UB_MSGQ_SQ_PI, 1);
        run(b);
        g_assert_cmphex(rd(b, 0, rows[i].status), ==,
                        UB_MSGQ_STOPPED | UB_MSGQ_FAULT);
        g_assert_cmpuint(rd(b, 0, UB_MSGQ_CQ_PI), ==, 0);
        g_assert_cmpuint(b->interrupts, ==, 0);
        bench_free(b);
    }
    /* A slot alone: that entry is refused. */
    Bench *b = bench_new();

    set_up(b, 0);
    wr(b, 0, UB_MSGQ_SQ_ADDR_L, MEMORY - 16);
    put_le32(b->memory + MEMORY - 16, 0x00300400);
    put_le32(b->memory + MEMORY - 8, DEPTH * 16);
    wr(b, 0, UB_MSGQ_SQ_PI, 1);
    run(b);
    g_assert_cmphex(get_le32(cqe(b, 0)), ==, 0x00000500);
    g_assert_cmphex(rd(b, 0, UB_MSGQ_SQ_STATUS), ==, 0);
    bench_free(b);
}

static void registers(void)
{
    /* Those that are read-only or do not exist keep their value: an error. */
    static const struct {
        uint32_t reg, reset, write, read;
    } rows[] = {
        { UB_MSGQ_SQ_ADDR_L, 0, 0x12345670, 0x12345670 },
        { UB_MSGQ_SQ_ADDR_H, 0, 0x9abcdef0, 0x9abcdef0 },
        { UB_MSGQ_SQ_CI, 0, 1, 0 },
        { UB_MSGQ_SQ_DEPTH, 0, 1024, 1024 },
        { UB_MSGQ_SQ_STATUS, 0, 1, 0 },
        { UB_MSGQ_SQ_INT_MSK, 0, 3, 1 },
        { UB_MSGQ_RQ_ADDR_L, 0, 0x12345671, 0x12345671 },
        { UB_MSGQ_RQ_ADDR_H, 0, 0x9abcdef1, 0x9abcdef1 },
        { UB_MSGQ_RQ_PI, 0, 1, 0 },
        { UB_MSGQ_RQ_DEPTH, 0, 4, 4 },
        { UB_MSGQ_RQ_ENTRY_SIZE, 4, 2, 2 },
        { UB_MSGQ_CQ_ADDR_L, 0, 0x12345672, 0x12345672 },
        { UB_MSGQ_CQ_ADDR_H, 0, 0x9abcdef2, 0x9abcdef2 },
        { UB_MSGQ_CQ_PI, 0, 1, 0 },
        { UB_MSGQ_CQ_DEPTH, 0, 5, 5 },
        { UB_MSGQ_CQ_INT_MASK, 1, 0, 0 },
        { UB_MSGQ_CQ_INT_RO, 0, 1, 0 },
        { UB_MSGQ_INT_SEL, 0, 77, 77 },
        { 0x1c, 0, ~0u, 0 },
        { 0xfc, 0, ~0u, 0 },
        { 0x100, 0, ~0u, 0 },
        { 0x104, 0, ~0u, 0 },
        { 0xffc, 0, ~0u, 0 },
    };
    Bench *b = bench_new();
    unsigned errors = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        errors += rows[i].read == rows[i].reset;
        g_assert_cmphex(rd(b, 15, rows[i].reg), ==, rows[i].reset);
        wr(b, 15, rows[i].reg, rows[i].write);
        g_assert_cmphex(rd(b, 15, rows[i].reg), ==, rows[i].read);
        g_assert_cmphex(rd(b, 14, rows[i].reg), ==, rows[i].reset);
    }
    /* Halves of an address stay as they are while the other is written. */
    wr(b, 15, UB_MSGQ_SQ_ADDR_H, 1);
    wr(b, 15, UB_MSGQ_SQ_ADDR_L, 2);
    g_assert_cmphex(rd(b, 15, UB_MSGQ_SQ_ADDR_H), ==, 1);
    /* In reset nothing is written. */
    wr(b, 15, UB_MSGQ_RST, 1);
    g_assert_cmphex(rd(b, 15, UB_MSGQ_RST), ==, 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        wr(b, 15, rows[i].reg, rows[i].write);
        g_assert_cmphex(rd(b, 15, rows[i].reg), ==, rows[i].reset);
    }
    wr(b, 15, UB_MSGQ_RST, 0);
    g_assert_cmphex(rd(b, 15, UB_MSGQ_RST), ==, 0);
    wr(b, 15, UB_MSGQ_INT_SEL, 5);
    ub_msgqs_reset(b->q);
    g_assert_cmphex(rd(b, 15, UB_MSGQ_INT_SEL), ==, 0);
    g_assert_cmpuint(errors, ==, 10);
    g_assert_cmpuint(b->errors, ==, errors);
    bench_free(b);
}

static void interrupts(void)
{
    Bench *b = bench_new();

    set_up(b, 0);
    wr(b, 0, UB_MSGQ_CQ_INT_SET, 0);
    g_assert_cmpuint(b->interrupts, ==, 0);
    wr(b, 0, UB_MSGQ_CQ_INT_SET, 1);
    g_assert_cmpuint(b->interrupts, ==, 1);
    g_assert_cmphex(rd(b, 0, UB_MSGQ_CQ_INT_RO), ==, 1);
    /* It is one until it is acknowledged. */
    put_read(b, 0, 0, 1, true);
    put_read(b, 1, 0, 2, true);
    wr(b, 0, UB_MSGQ_SQ_PI, 2);
    run(b);
    wr(b, 0, UB_MSGQ_CQ_INT_SET, 1);
    g_assert_cmpuint(b->interrupts, ==, 1);
    /* Masked, and unmasked with something to say. */
    wr(b, 0, UB_MSGQ_CQ_INT_MASK, 1);
    g_assert_cmphex(rd(b, 0, UB_MSGQ_CQ_INT_STATUS), ==, 1);
    g_assert_cmphex(rd(b, 0, UB_MSGQ_CQ_INT_RO), ==, 0);
    wr(b, 0, UB_MSGQ_CQ_INT_MASK, 0);
    g_assert_cmpuint(b->interrupts, ==, 2);
    wr(b, 0, UB_MSGQ_CQ_INT_STATUS, 0);
    g_assert_cmphex(rd(b, 0, UB_MSGQ_CQ_INT_STATUS), ==, 1);
    wr(b, 0, UB_MSGQ_CQ_INT_MASK, 1);
    wr(b, 0, UB_MSGQ_CQ_INT_STATUS, 1);
    wr(b, 0, UB_MSGQ_CQ_INT_MASK, 0);
    g_assert_cmpuint(b->interrupts, ==, 2);
    put_read(b, 2, 0, 3, true);
    wr(b, 0, UB_MSGQ_SQ_PI, 3);
    wr(b, 0, UB_MSGQ_CQ_INT_MASK, 1);
    run(b);
    g_assert_cmpuint(b->interrupts, ==, 2);
    wr(b, 0, UB_MSGQ_CQ_INT_MASK, 0);
    g_assert_cmpuint(b->interrupts, ==, 3);
    bench_free(b);
}

/* Tag, version and length of the section; three rings, five registers, held. */
#define IMAGE_HEAD 10
#define IMAGE_QUEUE (3 * 24 + 5 * 4 + 1)

static const char *load(Bench *b, const uint8_t *data, size_t len)
{
    CoreImage *im = core_image_load(data, len, 0);
    const char *why;

    ub_msgqs_image(b->q, im);
    why = core_image_done(im);
    core_image_free(im);
    return why;
}

static void image(void)
{
    Bench *b = bench_new(), *c = bench_new();
    CoreImage *im = core_image_save(0);
    g_autofree uint8_t *bytes = NULL;
    size_t len;

    set_up(b, 6);
    put_read(b, 0, 0, 1, true);
    put_read(b, 1, UB_CFG0_GUID, 2, true);
    wr(b, 6, UB_MSGQ_SQ_PI, 1);
    run(b);
    wr(b, 6, UB_MSGQ_SQ_PI, 2);
    wr(b, 9, UB_MSGQ_RST, 1);
    ub_msgqs_image(b->q, im);
    bytes = core_image_take(im, &len);
    core_image_free(im);
    g_assert_null(load(c, bytes, len));
    for (unsigned queue = 0; queue < UB_MSGQ_NUM; queue++) {
        for (uint32_t reg = 0; reg < 0x120; reg += 4) {
            g_assert_cmphex(rd(c, queue, reg), ==, rd(b, queue, reg));
        }
    }
    memcpy(c->memory, b->memory, MEMORY);
    run(c);
    g_assert_cmphex(get_le32(cqe(c, 1) + 4), ==, 2);
    for (size_t i = 0; i < len; i++) {
        g_assert_nonnull(load(c, bytes, i));
    }
    /* The rings of queue 6: addr, PI, CI, DEPTH, STATUS of each, then the size
     * of slots. */
    for (unsigned ring = 0; ring < 3; ring++) {
        uint8_t *r = bytes + IMAGE_HEAD + 6 * IMAGE_QUEUE + 24 * ring;
        static const struct {
            unsigned at;
            uint32_t value;
        } bad[] = { { 8, 8 }, { 12, 8 }, { 16, 1025 }, { 16, 0 } };
        static const uint16_t regs[3][3] = {
            { UB_MSGQ_SQ_PI, UB_MSGQ_SQ_CI, UB_MSGQ_SQ_DEPTH },
            { UB_MSGQ_RQ_PI, UB_MSGQ_RQ_CI, UB_MSGQ_RQ_DEPTH },
            { UB_MSGQ_CQ_PI, UB_MSGQ_CQ_CI, UB_MSGQ_CQ_DEPTH },
        };

        g_assert_cmpuint(get_be32(r + 16), ==, DEPTH);
        for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
            uint32_t was = get_be32(r + bad[i].at);

            put_be32(r + bad[i].at, bad[i].value);
            g_assert_true(bad[i].value == 0 && !get_be32(r + 8) &&
                          !get_be32(r + 12)
                          ? !load(c, bytes, len) : !!load(c, bytes, len));
            /* A ring that is refused is none. */
            for (unsigned reg = 0; reg < 3; reg++) {
                g_assert_cmpuint(rd(c, 6, regs[ring][reg]), ==, 0);
            }
            put_be32(r + bad[i].at, was);
        }
    }
    put_be32(bytes + IMAGE_HEAD + 6 * IMAGE_QUEUE + 72, 5);
    g_assert_nonnull(load(c, bytes, len));
    g_assert_cmpuint(rd(c, 6, UB_MSGQ_RQ_ENTRY_SIZE), ==, 4);
    put_be32(bytes + IMAGE_HEAD + 6 * IMAGE_QUEUE + 72, 4);
    for (size_t i = 0; i < 8 * len; i++) {
        bytes[i / 8] ^= 1u << i % 8;
        load(c, bytes, len);
        run(c);
        bytes[i / 8] ^= 1u << i % 8;
    }
    g_assert_null(load(c, bytes, len));
    bench_free(b);
    bench_free(c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/msgq/remote", remote);
    g_test_add_func("/ub/msgq/addresses", addresses);
    g_test_add_func("/ub/msgq/local", local);
    g_test_add_func("/ub/msgq/scan", scan);
    g_test_add_func("/ub/msgq/serve", serve);
    g_test_add_func("/ub/msgq/elsewhere", elsewhere);
    g_test_add_func("/ub/msgq/refused", refused);
    g_test_add_func("/ub/msgq/last-slot", last_slot);
    g_test_add_func("/ub/msgq/tasks", tasks);
    g_test_add_func("/ub/msgq/in-vain", in_vain);
    g_test_add_func("/ub/msgq/around", around);
    g_test_add_func("/ub/msgq/wrapped", wrapped);
    g_test_add_func("/ub/msgq/full", full);
    g_test_add_func("/ub/msgq/turns", turns);
    g_test_add_func("/ub/msgq/stopped", stopped);
    g_test_add_func("/ub/msgq/moved", moved);
    g_test_add_func("/ub/msgq/no-memory", no_memory);
    g_test_add_func("/ub/msgq/registers", registers);
    g_test_add_func("/ub/msgq/interrupts", interrupts);
    g_test_add_func("/ub/msgq/image", image);
    return g_test_run();
}
