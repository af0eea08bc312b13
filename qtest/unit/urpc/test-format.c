/*
 * Heads of URPC and PLOG: known bytes, the table itself, and messages that are refused
 * (UB 2.0 appendices H and I).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "urpc_plog.h"

typedef struct Row {
    UrpcKind kind;
    unsigned byte, bytes, shift, bits;
} Row;

#define ROW(kind, member, name, byte, bytes, shift, bits, show)                 \
    { URPC_KIND_##kind, byte, bytes, shift, bits },
static const Row rows[] = { URPC_FIELDS(ROW) };

#define SIZE(name, bytes) bytes,
static const unsigned sizes[] = { URPC_STRUCTURES(SIZE) };

/* The C structures, so that a test can hold any. */
typedef union Any {
    UrpcRequest request;
    UrpcDma dma;
    UrpcAck ack;
    UrpcResponse response;
    UrpcPlogRequest plog_request;
    UrpcPlogSge sge;
    UrpcPlogResponse plog_response;
    uint64_t words[8];
} Any;

static void same(const uint8_t *p, size_t len, const char *hex)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (size_t i = 0; i < len; i++) {
        g_string_append_printf(text, "%s%02x", i ? " " : "", p[i]);
    }
    g_assert_cmpstr(text->str, ==, hex);
}

/* ---- Known answers ------------------------------------------------------------ */

static const UrpcRequest request = {
    .version = 1, .type = URPC_REQUEST, .ack = 1, .dma_count = 1,
    .function = 0x002001000000, .total = 0x11223344, .id = 0x55667788,
    .channel = 0xabcdef, .defined = URPC_PLOG,
};

static void test_request(void)
{
    const UrpcDma dma = { 0x0102030405060708, 0x1000, 0xcafef00d };
    uint8_t p[20];

    urpc_put(URPC_LITTLE, URPC_KIND_REQUEST, p, &request);
    same(p, 20, "10 81 00 00 00 01 20 00 44 33 22 11 88 77 66 55 ef cd ab 02");
    urpc_put(URPC_BIG, URPC_KIND_REQUEST, p, &request);
    same(p, 20, "10 81 00 20 01 00 00 00 11 22 33 44 55 66 77 88 ab cd ef 02");
    urpc_put(URPC_LITTLE, URPC_KIND_DMA, p, &dma);
    same(p, 16, "00 10 00 00 08 07 06 05 04 03 02 01 0d f0 fe ca");
    urpc_put(URPC_BIG, URPC_KIND_DMA, p, &dma);
    same(p, 16, "00 00 10 00 01 02 03 04 05 06 07 08 ca fe f0 0d");
}

static void test_ack(void)
{
    const UrpcAck ack = { .version = 1, .type = URPC_ACK, .range = 0x0203,
                          .id = 0x55667788, .channel = 0xabcdef };
    uint8_t p[12];

    urpc_put(URPC_LITTLE, URPC_KIND_ACK, p, &ack);
    same(p, 12, "11 00 03 02 88 77 66 55 ef cd ab 00");
    urpc_put(URPC_BIG, URPC_KIND_ACK, p, &ack);
    same(p, 12, "11 00 02 03 55 66 77 88 ab cd ef 00");
}

static void test_response(void)
{
    const UrpcResponse r = {
        .version = 1, .type = URPC_ACK_RESPONSE, .status = URPC_BAD_HEAD,
        .range = 0x0203, .id = 0x55667788, .channel = 0xabcdef,
        .defined = URPC_COMPUTE, .total = 0x11223344,
    };
    uint8_t p[16];

    urpc_put(URPC_LITTLE, URPC_KIND_RESPONSE, p, &r);
    same(p, 16, "13 06 03 02 88 77 66 55 ef cd ab 01 44 33 22 11");
    urpc_put(URPC_BIG, URPC_KIND_RESPONSE, p, &r);
    same(p, 16, "13 06 02 03 55 66 77 88 ab cd ef 01 11 22 33 44");
}

static void test_plog(void)
{
    const UrpcPlogRequest q = {
        .version = 1, .mode = URPC_READ_WRITE, .head_offset = 44,
        .data_offset = 236, .dma_count = 0x0102, .queue = 0x0304,
        .channel = 0xabcdef, .redirect = 1, .early = 0, .flow = 1,
        .queue_token = 0xcafef00d,
    };
    const UrpcPlogSge e = {
        .address = 0x0102030405060708, .size = 0x123456, .token_id = 0xabcde,
        .eid_index = 0x987, .sgl_type = URPC_SGL_SKIP, .token = 0xcafef00d,
        .flag = URPC_SGE_WRITE,
    };
    const UrpcPlogResponse r = { .version = 1, .mode = URPC_WRITE_IMM,
                                 .head_offset = 20, .data_offset = 0x0114,
                                 .dma_count = 3, .channel = 0xabcdef };
    uint8_t p[44];

    urpc_put(URPC_LITTLE, URPC_KIND_PLOG_REQUEST, p, &q);
    same(p, 16, "15 2c ec 00 02 01 04 03 ef cd ab 90 0d f0 fe ca");
    for (unsigned i = 16; i < 44; i++) {
        g_assert_cmpuint(p[i], ==, 0);
    }
    urpc_put(URPC_LITTLE, URPC_KIND_PLOG_SGE, p, &e);
    same(p, 32, "08 07 06 05 04 03 02 01 56 34 12 de bc 7a 98 1b "
                "0d f0 fe ca 00 00 00 01 00 00 00 00 00 00 00 00");
    /* TokenID and EID Index have one place (figure I-2). */
    urpc_put(URPC_BIG, URPC_KIND_PLOG_SGE, p, &e);
    same(p, 16, "01 02 03 04 05 06 07 08 12 34 56 de bc 7a 98 1b");
    urpc_put(URPC_LITTLE, URPC_KIND_PLOG_RESPONSE, p, &r);
    same(p, 20, "14 14 14 01 03 00 00 00 ef cd ab 00 00 00 00 00 00 00 00 00");
}

/* 20 bytes of URPC, 44 of the extension, 192 of the user (§I.1.2.1): 256. */
static void test_plog_message(void)
{
    const UrpcPlogSge e = { .address = 1, .size = 5, .sgl_type = URPC_SGL_DO };
    UrpcPlogArgs args = { .mode = URPC_PUSH_PULL, .user_head = "head",
                          .user_head_len = 4, .data = "12345", .len = 5,
                          .sge = &e, .count = 1 };
    UrpcPlogMessage m;
    uint8_t p[400];

    g_assert_cmpuint(urpc_plog_build(0, &args, p, sizeof(p)), ==,
                     256 - 20 + 32 + 5);
    g_assert_cmpint(urpc_plog_parse(0, p, 273, &m), ==, URPC_OK);
    g_assert(m.user_head == p + 44 && m.user_head_len == 192 &&
             m.sgl == p + 236 && m.data == p + 268 && m.len == 5 &&
             m.read == 5 && m.write == 0);
    g_assert_cmpint(memcmp(p + 44, "head\0\0", 6), ==, 0);
    g_assert_cmpint(memcmp(p + 268, "12345", 5), ==, 0);
    g_assert_cmpuint(urpc_plog_build(0, &args, p, 272), ==, 0);
    args.user_head_len = 193;
    g_assert_cmpuint(urpc_plog_build(0, &args, p, sizeof(p)), ==, 0);
}

/* ---- The table ---------------------------------------------------------------- */

/* Which bits of a structure are some field's. */
static void field_bits(UrpcKind kind, uint8_t *bits)
{
    for (const Row *r = rows; r < rows + G_N_ELEMENTS(rows); r++) {
        for (unsigned b = r->shift; r->kind == kind && b < r->shift + r->bits;
             b++) {
            uint8_t *p = &bits[r->byte + b / 8];

            g_assert_cmpuint(*p >> b % 8 & 1, ==, 0);
            *p |= 1 << b % 8;
        }
    }
}

static void test_table(void)
{
    for (const Row *r = rows; r < rows + G_N_ELEMENTS(rows); r++) {
        g_assert_cmpuint(r->byte + r->bytes, <=, sizes[r->kind]);
        g_assert_cmpuint(r->shift + r->bits, <=, 8 * r->bytes);
    }
    for (unsigned kind = 0; kind < URPC_KINDS; kind++) {
        for (unsigned order = 0; order < 2; order++) {
            uint8_t bits[44] = { 0 }, p[44], q[44];
            Any any;

            field_bits(kind, bits);
            for (unsigned round = 0; round < 200; round++) {
                for (unsigned i = 0; i < sizeof(p); i++) {
                    p[i] = g_test_rand_int();
                }
                memset(&any, 0, sizeof(any));
                urpc_get(order, kind, p, &any);
                memset(q, 0xee, sizeof(q));
                urpc_put(order, kind, q, &any);
                /* Fields come back; the rest was not read, and is zero. */
                for (unsigned i = 0; i < sizes[kind]; i++) {
                    g_assert_cmphex(q[i], ==, p[i] & bits[i]);
                }
                for (unsigned i = sizes[kind]; i < sizeof(q); i++) {
                    g_assert_cmphex(q[i], ==, 0xee);
                }
            }
        }
    }
}

/* A number that is too large does not reach its neighbours. */
static void test_wide(void)
{
    UrpcRequest r = { .version = 0xff, .ack = 0xff, .channel = UINT32_MAX };
    uint8_t p[20];

    urpc_put(URPC_LITTLE, URPC_KIND_REQUEST, p, &r);
    same(p, 20, "f0 80 00 00 00 00 00 00 00 00 00 00 00 00 00 00 ff ff ff 00");
}

/* ---- Messages ----------------------------------------------------------------- */

static uint8_t buf[256];

static int parse(size_t len)
{
    UrpcMessage m;
    uint8_t *exact = g_memdup2(buf, len);
    int status = urpc_parse(URPC_LITTLE, exact, len, &m);

    g_free(exact);
    return status;
}

static void put_request(unsigned dmas, uint32_t size, uint32_t len, int off)
{
    UrpcRequest r = request;
    UrpcDma d = { 0x1000, size, 7 };

    memset(buf, 0, sizeof(buf));
    r.dma_count = dmas;
    r.total = 20 + dmas * size + len + off;
    urpc_put(URPC_LITTLE, URPC_KIND_REQUEST, buf, &r);
    for (unsigned i = 0; i < dmas; i++) {
        urpc_put(URPC_LITTLE, URPC_KIND_DMA, buf + 20 + 16 * i, &d);
    }
}

static void test_parse_request(void)
{
    UrpcDma top = { UINT64_MAX - 9, 10, 0 };
    UrpcMessage m;
    UrpcDma d;

    put_request(2, 100, 5, 0);
    g_assert_cmpint(urpc_parse(URPC_LITTLE, buf, 57, &m), ==, URPC_OK);
    g_assert(m.type == URPC_REQUEST && m.data == buf + 52 && m.len == 5);
    urpc_message_dma(URPC_LITTLE, &m, 1, &d);
    g_assert(d.address == 0x1000 && d.size == 100 && d.token == 7);
    /* Sizes that do not fit. */
    g_assert_cmpint(parse(56), ==, URPC_BAD_HEAD);
    g_assert_cmpint(parse(58), ==, URPC_BAD_HEAD);
    g_assert_cmpint(parse(51), ==, URPC_BAD_HEAD);
    g_assert_cmpint(parse(20), ==, URPC_BAD_HEAD);
    g_assert_cmpint(parse(19), ==, URPC_NOT_A_MESSAGE);
    g_assert_cmpint(parse(0), ==, URPC_NOT_A_MESSAGE);
    put_request(0, 0, 5, 1);
    g_assert_cmpint(parse(25), ==, URPC_BAD_HEAD);
    /* The sum is not one of 32 bits. */
    put_request(2, 0x80000000, 0, 0);
    g_assert_cmpint(parse(52), ==, URPC_BAD_HEAD);
    /* Arguments do not go round the end of the address space. */
    put_request(1, 10, 0, 0);
    urpc_put(URPC_LITTLE, URPC_KIND_DMA, buf + 20, &top);
    g_assert_cmpint(parse(36), ==, URPC_BAD_HEAD);
    top.address--;
    urpc_put(URPC_LITTLE, URPC_KIND_DMA, buf + 20, &top);
    g_assert_cmpint(parse(36), ==, URPC_OK);
    /* Another version is told whatever it has; an unknown type is nothing. */
    buf[0] = 0x20;
    g_assert_cmpint(parse(20), ==, URPC_BAD_VERSION);
    for (unsigned type = 4; type < 16; type++) {
        buf[0] = 0x10 | type;
        g_assert_cmpint(parse(36), ==, URPC_NOT_A_MESSAGE);
    }
}

static void test_parse_ack(void)
{
    UrpcAck a = { .version = 1, .type = URPC_ACK, .range = 1, .id = 9 };

    urpc_put(URPC_LITTLE, URPC_KIND_ACK, buf, &a);
    g_assert_cmpint(parse(12), ==, URPC_OK);
    g_assert_cmpint(parse(11), ==, URPC_NOT_A_MESSAGE);
    g_assert_cmpint(parse(13), ==, URPC_BAD_HEAD);
    a.range = 0;
    urpc_put(URPC_LITTLE, URPC_KIND_ACK, buf, &a);
    g_assert_cmpint(parse(12), ==, URPC_BAD_HEAD);
}

static void put_response(unsigned range, uint32_t total, const uint32_t *offsets,
                         unsigned n)
{
    UrpcResponse r = { .version = 1, .type = URPC_RESPONSE, .range = range,
                       .id = 9, .total = total };

    memset(buf, 0, sizeof(buf));
    urpc_put(URPC_LITTLE, URPC_KIND_RESPONSE, buf, &r);
    for (unsigned i = 0; i < n; i++) {
        urpc_put_number(URPC_LITTLE, buf + 16 + 4 * i, 4, offsets[i]);
    }
}

/* Offsets of all calls but the oldest, which is 0 (table H-6). */
static void test_parse_response(void)
{
    const uint32_t up[] = { 3, 3, 7 }, down[] = { 3, 2, 7 }, far[] = { 3, 4, 11 };
    const struct { uint32_t at, len; } parts[] = { { 0, 3 }, { 3, 0 }, { 3, 4 },
                                                   { 7, 3 } };
    UrpcMessage m;
    uint32_t len;

    put_response(4, 26, up, 3);
    g_assert_cmpint(urpc_parse(URPC_LITTLE, buf, 38, &m), ==, URPC_OK);
    for (unsigned i = 0; i < 4; i++) {
        const uint8_t *p = urpc_message_part(URPC_LITTLE, &m, i, &len);

        g_assert(p == buf + 28 + parts[i].at && len == parts[i].len);
    }
    g_assert_cmpint(parse(37), ==, URPC_BAD_HEAD);
    g_assert_cmpint(parse(39), ==, URPC_BAD_HEAD);
    g_assert_cmpint(parse(26), ==, URPC_BAD_HEAD);
    put_response(4, 26, down, 3);
    g_assert_cmpint(parse(38), ==, URPC_BAD_HEAD);
    put_response(4, 26, far, 3);
    g_assert_cmpint(parse(38), ==, URPC_BAD_HEAD);
    /* No data, no offsets. */
    put_response(4, 16, NULL, 0);
    g_assert_cmpint(urpc_parse(URPC_LITTLE, buf, 16, &m), ==, URPC_OK);
    g_assert(urpc_message_part(URPC_LITTLE, &m, 3, &len) && len == 0);
    g_assert_cmpint(parse(28), ==, URPC_BAD_HEAD);
    /* One call, no offsets. */
    put_response(1, 26, NULL, 0);
    g_assert_cmpint(parse(26), ==, URPC_OK);
    put_response(0, 16, NULL, 0);
    g_assert_cmpint(parse(16), ==, URPC_BAD_HEAD);
    put_response(1, 15, NULL, 0);
    g_assert_cmpint(parse(16), ==, URPC_BAD_HEAD);
    g_assert_cmpint(parse(15), ==, URPC_NOT_A_MESSAGE);
    put_response(0xffff, 17, up, 3);
    g_assert_cmpint(parse(29), ==, URPC_BAD_HEAD);
    /* Their sum is 29 modulo 2^32. */
    put_response(0xffff, 29u - 4 * 0xfffe, up, 3);
    g_assert_cmpint(parse(29), ==, URPC_BAD_HEAD);
}

/* ---- Requests of PLOG ---------------------------------------------------------- */

typedef struct Sgl {
    unsigned n;
    UrpcPlogSge e[4];
} Sgl;

#define READS(n) { .size = n, .sgl_type = URPC_SGL_DO }
#define WRITES(n) { .size = n, .sgl_type = URPC_SGL_DO, .flag = URPC_SGE_WRITE }

static const struct {
    Sgl sgl;
    uint32_t len;
    unsigned modes;             /* bit: that mode takes it */
} plogs[] = {
    { { 0 }, 0, 0x3f },
    { { 0 }, 5, 1 << URPC_PUSH },
    { { 1, { READS(5) } }, 5, 1 << URPC_PUSH_PULL },
    { { 1, { READS(5) } }, 4, 0 },
    { { 1, { READS(5) } }, 0, 1 << URPC_READ | 1 << URPC_READ_WRITE },
    { { 1, { WRITES(5) } }, 0,
      1 << URPC_WRITE | 1 << URPC_WRITE_IMM | 1 << URPC_READ_WRITE },
    { { 1, { WRITES(5) } }, 5, 0 },
    { { 2, { READS(5), WRITES(5) } }, 0, 1 << URPC_READ_WRITE },
    { { 2, { WRITES(5), READS(5) } }, 0, 0 },
    { { 3, { READS(5), WRITES(5), READS(5) } }, 0, 0 },
    { { 1, { { .size = 5, .sgl_type = 0x0c } } }, 0, 0 },
    { { 1, { { .size = 5, .sgl_type = URPC_SGL_DO, .flag = 2 } } }, 0, 0 },
    { { 2, { READS(5), { .size = 9, .sgl_type = URPC_SGL_SKIP } } }, 5,
      1 << URPC_PUSH_PULL },
    { { 1, { { .address = UINT64_MAX, .size = 1, .sgl_type = URPC_SGL_DO } } },
      0, 0 },
};

static void test_plog_modes(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(plogs); i++) {
        for (unsigned mode = 0; mode < 16; mode++) {
            UrpcPlogArgs args = { .mode = mode, .data = "data.", 
                                  .len = plogs[i].len, .sge = plogs[i].sgl.e,
                                  .count = plogs[i].sgl.n };
            uint8_t p[512];
            uint32_t len = urpc_plog_build(0, &args, p, sizeof(p));
            UrpcPlogMessage m;

            g_assert_cmpuint(len, >, 0);
            g_assert_cmpint(urpc_plog_parse(0, p, len, &m), ==,
                            plogs[i].modes >> mode & 1 ? URPC_OK : URPC_BAD_HEAD);
        }
    }
}

/* The head alone is a request. */
static void test_plog_short(void)
{
    UrpcPlogArgs args = { .mode = URPC_PUSH };
    uint8_t p[512];
    uint8_t *exact;
    UrpcPlogMessage m;

    g_assert_cmpuint(urpc_plog_build(0, &args, p, sizeof(p)), >, 0);
    p[1] = p[2] = URPC_PLOG_REQUEST_SIZE;       /* both offsets */
    exact = g_memdup2(p, URPC_PLOG_REQUEST_SIZE);
    g_assert_cmpint(urpc_plog_parse(0, exact, URPC_PLOG_REQUEST_SIZE, &m), ==,
                    URPC_OK);
    g_free(exact);
    g_assert(!m.len && !m.user_head_len);
}

/* Of both orders of bytes, whose data begin behind those of the one before. */
static void test_parts(void)
{
    for (UrpcOrder order = URPC_LITTLE; order <= URPC_BIG; order++) {
        UrpcResponse h = { .version = 1, .type = URPC_RESPONSE, .range = 2,
                           .id = 9, .total = URPC_RESPONSE_SIZE + 5 };
        uint8_t p[URPC_RESPONSE_SIZE + 4 + 5];
        const uint8_t *part;
        UrpcMessage m;
        uint32_t len;

        urpc_put(order, URPC_KIND_RESPONSE, p, &h);
        urpc_put_number(order, p + URPC_RESPONSE_SIZE, 4, 3);
        memcpy(p + URPC_RESPONSE_SIZE + 4, "abcde", 5);
        g_assert_cmpint(urpc_parse(order, p, sizeof(p), &m), ==, URPC_OK);
        part = urpc_message_part(order, &m, 0, &len);
        g_assert_cmpmem(part, len, "abc", 3);
        part = urpc_message_part(order, &m, 1, &len);
        g_assert_cmpmem(part, len, "de", 2);
    }
}

static void test_plog_refused(void)
{
    const UrpcPlogSge e = READS(5);
    UrpcPlogArgs args = { .mode = URPC_READ, .sge = &e, .count = 1 };
    uint8_t p[512], good[512];
    uint32_t len = urpc_plog_build(0, &args, good, sizeof(good));
    UrpcPlogMessage m;
    static const struct {
        unsigned at, value;
        UrpcStatus status;
    } bends[] = {
        { 0, 0x22, URPC_BAD_VERSION }, { 0, 0x12, URPC_OK },
        { 0, 0x16, URPC_BAD_HEAD },
        { 1, 43, URPC_BAD_HEAD }, { 1, 237, URPC_BAD_HEAD }, { 1, 236, URPC_OK },
        { 2, 235, URPC_BAD_HEAD }, { 3, 1, URPC_BAD_HEAD },
        { 4, 2, URPC_BAD_HEAD }, { 5, 1, URPC_BAD_HEAD },
        { 11, 0x20, URPC_BAD_HEAD }, { 11, 0x10, URPC_OK }, { 11, 0x0f, URPC_OK },
        { 20, 0xff, URPC_OK },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(bends); i++) {
        memcpy(p, good, len);
        p[bends[i].at] = bends[i].value;
        g_assert_cmpint(urpc_plog_parse(0, p, len, &m), ==, bends[i].status);
    }
    for (uint32_t n = 0; n < len; n++) {
        uint8_t *exact = g_memdup2(good, n);

        g_assert_cmpint(urpc_plog_parse(0, exact, n, &m), ==, URPC_BAD_HEAD);
        g_free(exact);
    }
}

static void test_plog_answer(void)
{
    UrpcPlogResponse h = { .version = 1, .mode = URPC_WRITE_IMM,
                           .head_offset = 20, .data_offset = 23, .dma_count = 4 };
    uint8_t p[30] = { 0 };
    UrpcResult r = { .defined = URPC_PLOG, .data = p, .len = 30 };
    UrpcPlogAnswer a;

    urpc_put(0, URPC_KIND_PLOG_RESPONSE, p, &h);
    g_assert(urpc_plog_answer(&r, &a));
    g_assert(a.user_head == p + 20 && a.user_head_len == 3 &&
             a.data == p + 23 && a.len == 7);
    g_assert_cmpuint(urpc_plog_pieces(&r), ==, 4);
    p[0] = 0x13;
    g_assert_cmpuint(urpc_plog_pieces(&r), ==, 0);
    r.len = 22;
    g_assert(!urpc_plog_answer(&r, &a));
    r.len = 19;
    g_assert(!urpc_plog_answer(&r, &a));
    r.len = 30;
    p[1] = 19;
    g_assert(!urpc_plog_answer(&r, &a));
    p[1] = 24;
    g_assert(!urpc_plog_answer(&r, &a));
    p[1] = 20;
    p[0] = 0x24;
    g_assert(!urpc_plog_answer(&r, &a));
    p[0] = 0x14;
    r.defined = URPC_PLAIN;
    g_assert(!urpc_plog_answer(&r, &a));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/urpc/format/request", test_request);
    g_test_add_func("/urpc/format/ack", test_ack);
    g_test_add_func("/urpc/format/response", test_response);
    g_test_add_func("/urpc/format/plog", test_plog);
    g_test_add_func("/urpc/format/plog-message", test_plog_message);
    g_test_add_func("/urpc/format/table", test_table);
    g_test_add_func("/urpc/format/wide", test_wide);
    g_test_add_func("/urpc/format/parse-request", test_parse_request);
    g_test_add_func("/urpc/format/parse-ack", test_parse_ack);
    g_test_add_func("/urpc/format/parse-response", test_parse_response);
    g_test_add_func("/urpc/format/parts", test_parts);
    g_test_add_func("/urpc/format/plog-short", test_plog_short);
    g_test_add_func("/urpc/format/plog-modes", test_plog_modes);
    g_test_add_func("/urpc/format/plog-refused", test_plog_refused);
    g_test_add_func("/urpc/format/plog-answer", test_plog_answer);
    return g_test_run();
}
