/*
 * A program that speaks for a node (ub/responder.h), and its bounds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "mgmt-fabric.h"
#include "ub/responder.h"

#define SPDM_ASK 0x1a
#define SPDM_ANSWER 0x1b
#define MCTP 0x06

typedef struct Bed {
    Fabric f;
    UbResponder *r;         /* of node 3 */
    unsigned frames, rules; /* told */
    uint8_t frame[UB_RESPONDER_MAX];
    size_t len;
} Bed;

static void told(void *opaque)
{
    ((Bed *)opaque)->frames++;
}

static void broken(void *opaque, const char *text)
{
    ((Bed *)opaque)->rules++;
}

static void bed_init(Bed *b, unsigned kinds)
{
    static const UbResponderOps ops = { .frame = told, .rule = broken };

    memset(b, 0, sizeof(*b));
    line(&b->f);
    b->r = ub_responder_new(b->f.node[3].m, kinds, SECOND, &ops, b);
    ub_responder_open(b->r, 0, true);
}

static void bed_free(Bed *b)
{
    ub_responder_free(b->r);
    fabric_free(&b->f);
}

static bool take(Bed *b)
{
    b->len = ub_responder_take(b->r, b->frame);
    return b->len;
}

static uint64_t counted(const Bed *b, UbResponderCounter counter)
{
    return ub_responder_counter(b->r, counter);
}

/* Node 0 asks; @head: byte 0 of MGMTETAH. */
static bool asked(Bed *b, uint8_t head, uint16_t msn, unsigned len)
{
    UbMgmtAddr a = { .scna = 0x10, .dcna = 0x13, .seid = 0x20, .deid = 0x23,
                     .upi = 5, .queue = 2, .msn = msn };
    uint8_t data[UB_MGMT_MAX] = { head, 0, len >> 8, len };

    g_assert_true(ub_responder_wants(b->r, data, UB_MGMT_ETAH + len));
    return ub_responder_request(b->r, b->f.now, &a, data, UB_MGMT_ETAH + len);
}

static bool says(Bed *b, uint32_t tag, uint8_t head, uint8_t status)
{
    uint8_t frame[UB_RESPONDER_HEAD + UB_MGMT_ETAH] = { 0 };

    put_be32(frame, tag);
    put_be32(frame + 8, 0x10);
    put_be32(frame + 12, 0x20);
    frame[20] = head;
    frame[21] = status;
    return ub_responder_input(b->r, b->f.now, frame, sizeof(frame));
}

static void test_kinds(void)
{
    static const struct {
        const char *text;
        unsigned mask;
    } rows[] = {
        { "mctp", 1 }, { "bus", 2 }, { "vendor", 4 }, { "spdm", 8 },
        { "mctp:bus:vendor:spdm", 15 }, { "spdm:mctp", 9 }, { "", 0 },
        { "spdm:", 0 }, { "spd", 0 }, { "SPDM", 0 }, { "mctp:nobody", 0 },
    };
    static const uint8_t heads[] = { MCTP, 0x16, 0xf6, SPDM_ASK };
    uint8_t none[4] = { 0 };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_assert_cmpuint(ub_responder_kinds(rows[i].text), ==, rows[i].mask);
    }
    for (unsigned kind = 0; kind < UB_RESPONDER_KINDS; kind++) {
        Bed b;

        bed_init(&b, 1u << kind);
        for (unsigned head = 0; head < 256; head++) {
            none[0] = head;
            g_assert_true(ub_responder_wants(b.r, none, 4) ==
                          (head == heads[kind]));
            g_assert_false(ub_responder_wants(b.r, none, 3));
        }
        ub_responder_open(b.r, 0, false);
        none[0] = heads[kind];
        g_assert_false(ub_responder_wants(b.r, none, 4));
        bed_free(&b);
    }
    for (unsigned i = 0; i < UB_RESPONDER_CNT_NUM; i++) {
        g_assert_nonnull(ub_responder_counter_name(i));
    }
    g_assert_null(ub_responder_counter_name(UB_RESPONDER_CNT_NUM));
}

static void test_asked(void)
{
    Flight *fl;
    Bed b;

    bed_init(&b, 15);
    g_assert_true(asked(&b, SPDM_ASK, 77, 1024));
    g_assert_cmpuint(b.frames, ==, 1);
    g_assert_true(take(&b));
    g_assert_cmpuint(b.len, ==, UB_RESPONDER_MAX);
    g_assert_cmphex(get_be32(b.frame), ==, 0);
    g_assert_cmphex(get_be32(b.frame + 4), ==, 0x50000);
    g_assert_cmphex(get_be32(b.frame + 8), ==, 0x10);
    g_assert_cmphex(get_be32(b.frame + 12), ==, 0x20);
    g_assert_cmphex(get_be32(b.frame + 16), ==, 0x23);
    g_assert_false(take(&b));
    g_assert_true(says(&b, 0, SPDM_ANSWER, UB_MGMT_EXECUTION));
    fl = g_queue_peek_head(&b.f.under_way);
    g_assert_nonnull(fl);
    g_assert_cmphex(fl->addr.dcna, ==, 0x10);
    g_assert_cmphex(fl->addr.deid, ==, 0x20);
    g_assert_cmphex(fl->addr.scna, ==, 0x13);
    g_assert_cmphex(fl->addr.queue, ==, 2);
    g_assert_cmphex(fl->addr.msn, ==, 77);
    g_assert_cmphex(fl->addr.upi, ==, 5);
    g_assert_cmphex(get_be32(fl->data), ==, 0x1b270000);
    /* Once. */
    says(&b, 0, SPDM_ANSWER, 0);
    g_assert_cmpuint(counted(&b, UB_RESPONDER_CNT_DROP_TAG), ==, 1);
    g_assert_cmpuint(b.rules, ==, 1);
    /* Of another message than was asked, or of the tag 64 further. */
    g_assert_true(asked(&b, SPDM_ASK, 78, 0));
    says(&b, 1, MCTP | 1, 0);
    says(&b, 65, SPDM_ANSWER, 0);
    g_assert_cmpuint(counted(&b, UB_RESPONDER_CNT_DROP_TAG), ==, 3);
    g_assert_cmpuint(b.f.under_way.length, ==, 1);
    says(&b, 1, SPDM_ANSWER, 0);
    g_assert_cmpuint(b.f.under_way.length, ==, 2);
    g_assert_cmpuint(counted(&b, UB_RESPONDER_CNT_ANSWERED), ==, 2);
    g_assert_cmpuint(counted(&b, UB_RESPONDER_CNT_ASKED), ==, 2);
    bed_free(&b);
}

/* Frames that the program does not take; answers that it owes. */
static void test_bounds(void)
{
    Bed b;

    bed_init(&b, 15);
    for (unsigned i = 0; i < UB_RESPONDER_FRAMES; i++) {
        g_assert_true(asked(&b, MCTP, i, 8));
    }
    g_assert_false(asked(&b, MCTP, 100, 8));
    g_assert_cmpuint(counted(&b, UB_RESPONDER_CNT_FULL), ==, 1);
    /* Not even that it is refused can be said. */
    says(&b, 5, 0x14, 0);
    g_assert_cmpuint(counted(&b, UB_RESPONDER_CNT_REFUSED), ==, 1);
    g_assert_cmpuint(counted(&b, UB_RESPONDER_CNT_LOST), ==, 1);
    g_assert_true(take(&b));
    g_assert_true(asked(&b, MCTP, 101, 8));
    while (take(&b)) {
    }
    /* A message that needs no answer leaves its place to the next. */
    for (unsigned i = 0; i < UB_RESPONDER_FRAMES; i++) {
        g_assert_true(asked(&b, SPDM_ASK, i, 8));
        g_assert_true(take(&b));
    }
    b.f.now += SECOND - 1;
    g_assert_false(asked(&b, SPDM_ASK, 200, 8));
    g_assert_false(take(&b));
    b.f.now += 1;
    g_assert_true(asked(&b, SPDM_ASK, 200, 8));
    g_assert_true(take(&b));
    g_assert_cmphex(get_be32(b.frame), ==, 2 * UB_RESPONDER_FRAMES + 1);
    says(&b, UB_RESPONDER_FRAMES + 1, SPDM_ANSWER, 0);
    g_assert_cmpuint(counted(&b, UB_RESPONDER_CNT_DROP_TAG), ==, 1);
    bed_free(&b);
}

/* One that is slow keeps its own place, and no other. */
static void test_slow(void)
{
    Bed b;

    bed_init(&b, 15);
    for (unsigned i = 0; i < UB_RESPONDER_FRAMES; i++) {
        g_assert_true(asked(&b, SPDM_ASK, i, 8));
        g_assert_true(take(&b));
        if (i && i != 5) {
            says(&b, i, SPDM_ANSWER, 0);
        }
    }
    for (unsigned i = 0; i < 4 * UB_RESPONDER_FRAMES; i++) {
        uint32_t tag;

        g_assert_true(asked(&b, SPDM_ASK, 100 + i, 8));
        g_assert_true(take(&b));
        tag = get_be32(b.frame);
        g_assert_cmpuint(tag % UB_RESPONDER_FRAMES, !=, 0);
        g_assert_cmpuint(tag % UB_RESPONDER_FRAMES, !=, 5);
        says(&b, tag, SPDM_ANSWER, 0);
    }
    says(&b, 0, SPDM_ANSWER, 0);
    says(&b, 5, SPDM_ANSWER, 0);
    g_assert_cmpuint(counted(&b, UB_RESPONDER_CNT_FULL), ==, 0);
    g_assert_cmpuint(counted(&b, UB_RESPONDER_CNT_DROP_TAG), ==, 0);
    g_assert_cmpuint(counted(&b, UB_RESPONDER_CNT_ANSWERED), ==,
                     5 * UB_RESPONDER_FRAMES);
    bed_free(&b);
}

static void test_asks(void)
{
    UbMgmtAddr a = { .scna = 0x10, .seid = 0x20, .msn = 0xffff };
    uint8_t answer[4] = { SPDM_ANSWER };
    Flight *fl;
    Bed b;

    bed_init(&b, 8);
    says(&b, 0xffff, SPDM_ASK, 0);
    fl = g_queue_peek_head(&b.f.under_way);
    g_assert_nonnull(fl);
    g_assert_cmphex(fl->addr.queue, ==, UB_RESPONDER_QUEUE);
    g_assert_cmphex(fl->addr.msn, ==, 0xffff);
    g_assert_cmphex(fl->addr.dcna, ==, 0x10);
    g_assert_cmphex(fl->addr.deid, ==, 0x20);
    g_assert_cmphex(fl->addr.upi, ==, 5);
    g_assert_false(fl->addr.mgmt);
    g_assert_true(ub_responder_answer(b.r, &a, answer, 4));
    g_assert_true(take(&b));
    g_assert_cmphex(get_be32(b.frame), ==, 0xffff);
    g_assert_cmphex(get_be32(b.frame + 8), ==, 0x10);
    g_assert_cmphex(b.frame[20], ==, SPDM_ANSWER);
    says(&b, 0x10000, SPDM_ASK, 0);
    g_assert_true(take(&b));
    g_assert_cmphex(get_be32(b.frame + 20), ==, 0x1b260000);
    /* Of another kind than it has. */
    says(&b, 1, MCTP, 0);
    g_assert_true(take(&b));
    g_assert_cmphex(get_be32(b.frame + 20), ==, 0x07010000);
    g_assert_cmpuint(counted(&b, UB_RESPONDER_CNT_ASKS), ==, 1);
    g_assert_true(ub_responder_failed(b.r, 9, SPDM_ASK));
    g_assert_true(take(&b));
    g_assert_cmphex(get_be32(b.frame), ==, 9);
    g_assert_cmphex(get_be32(b.frame + 20), ==, 0x1bff0000);
    /* Gone: what it asked is forgotten. */
    g_assert_cmpuint(ub_mgmt_waiting(b.f.node[3].m), ==, 1);
    ub_responder_open(b.r, 0, false);
    g_assert_cmpuint(ub_mgmt_waiting(b.f.node[3].m), ==, 0);
    ub_responder_open(b.r, 0, true);
    says(&b, 1, SPDM_ASK, 0);
    ub_responder_reset(b.r);
    g_assert_cmpuint(ub_mgmt_waiting(b.f.node[3].m), ==, 0);
    bed_free(&b);
}

static void test_gone(void)
{
    Flight *fl;
    Bed b;

    bed_init(&b, 15);
    g_assert_true(asked(&b, MCTP, 1, 8));
    g_assert_true(asked(&b, SPDM_ASK, 2, 8));
    ub_responder_open(b.r, 0, true);
    g_assert_true(ub_responder_is_open(b.r));
    ub_responder_open(b.r, 0, false);
    g_assert_false(ub_responder_is_open(b.r));
    g_assert_cmpuint(counted(&b, UB_RESPONDER_CNT_GONE), ==, 2);
    g_assert_cmpuint(b.f.under_way.length, ==, 1);
    fl = g_queue_peek_head(&b.f.under_way);
    g_assert_cmphex(fl->addr.msn, ==, 2);
    g_assert_cmphex(get_be32(fl->data), ==, 0x1b200000);
    ub_responder_open(b.r, 0, true);
    g_assert_false(take(&b));
    /* A reset: what is under way is void. */
    g_assert_true(asked(&b, SPDM_ASK, 3, 8));
    ub_responder_reset(b.r);
    says(&b, 2, SPDM_ANSWER, 0);
    g_assert_cmpuint(counted(&b, UB_RESPONDER_CNT_DROP_TAG), ==, 1);
    bed_free(&b);
}

static void test_frames(void)
{
    uint8_t frame[UB_RESPONDER_MAX + 4] = { 0 };
    Bed b;

    bed_init(&b, 15);
    for (unsigned len = 0; len <= sizeof(frame); len++) {
        unsigned pdu = len - MIN(len, UB_RESPONDER_HEAD + UB_MGMT_ETAH);

        frame[20] = SPDM_ANSWER;
        put_be16(frame + 22, pdu);
        g_assert_true(ub_responder_input(b.r, 0, frame, len) ==
                      (len >= 24 && len <= UB_RESPONDER_MAX));
        put_be16(frame + 22, pdu + 1);
        g_assert_false(ub_responder_input(b.r, 0, frame, len));
    }
    g_assert_cmpuint(counted(&b, UB_RESPONDER_CNT_DROP_TAG), ==, 1025);
    bed_free(&b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/mgmt/responder/kinds", test_kinds);
    g_test_add_func("/ub/mgmt/responder/asked", test_asked);
    g_test_add_func("/ub/mgmt/responder/bounds", test_bounds);
    g_test_add_func("/ub/mgmt/responder/slow", test_slow);
    g_test_add_func("/ub/mgmt/responder/asks", test_asks);
    g_test_add_func("/ub/mgmt/responder/gone", test_gone);
    g_test_add_func("/ub/mgmt/responder/frames", test_frames);
    return g_test_run();
}
