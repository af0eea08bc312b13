/*
 * Images of engines before this one: what they say is taken, what they do not say is as
 * it was there; those of engines to come are refused.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "pair.h"

/* One completion queue, one queue in Reset that sends, a group, a piece of poisoned
 * memory. */
#define QUEUE 2000u
#define CQ 77u
#define GROUP 5u
#define RECORD 0x123450ull
#define POISON 0x7000ull
#define LATEST 4u

/* What is wrong with the queue, in turn. */
typedef enum Wrong { NOTHING, BOUND, SENDER, WRONGS } Wrong;

/* The queue is a member of the group, and @wrong. */
static bool member;
static Wrong wrong;

#define PUT(im, type, v) \
    do { type put_ = (v); core_image_int(im, &put_); } while (0)

static void put_flag(CoreImage *im, bool v)
{
    core_image_flag(im, &v);
}

static void put_count(CoreImage *im, uint32_t n)
{
    core_image_count(im, &n, n, "");
}

static void put_eq(CoreImage *im, unsigned version)
{
    PUT(im, uint64_t, 0);
    PUT(im, uint32_t, 4);
    put_flag(im, false);                /* enabled */
    put_flag(im, false);                /* error */
    put_flag(im, true);                 /* armed */
    if (version >= 2) {
        put_flag(im, true);             /* of the device, too */
    }
    PUT(im, uint16_t, 0);               /* vector */
    PUT(im, uint16_t, 0);
    PUT(im, uint16_t, 0);
    PUT(im, uint16_t, 0);
    PUT(im, uint32_t, 9);               /* lost */
}

static void put_commands(CoreImage *im)
{
    PUT(im, uint64_t, 0);
    PUT(im, uint32_t, 0);
    for (unsigned i = 0; i < 3; i++) {
        put_flag(im, false);
    }
    for (unsigned i = 0; i < 4; i++) {
        PUT(im, uint16_t, 0);
    }
}

static void put_cq(CoreImage *im)
{
    int64_t never = INT64_MAX;

    PUT(im, uint32_t, CQ);
    PUT(im, uint64_t, 0x10000);
    PUT(im, uint8_t, 5);                /* log2 */
    PUT(im, uint16_t, 0);               /* event queue */
    PUT(im, uint16_t, 3);               /* page */
    put_flag(im, false);                /* error */
    PUT(im, uint8_t, 0);                /* arm */
    PUT(im, uint16_t, 6);               /* moderation */
    PUT(im, uint32_t, 0);
    PUT(im, uint16_t, 2);               /* PI, CI, solicited */
    PUT(im, uint16_t, 1);
    PUT(im, uint16_t, 0);
    put_flag(im, false);
    PUT(im, uint16_t, 0);               /* since */
    core_image_deadline(im, &never);
}

static void put_queue(CoreImage *im, unsigned version)
{
    UbEid none = { { 0 } };

    PUT(im, uint32_t, QUEUE);
    PUT(im, uint8_t, UBQ_STATE_RESET);
    PUT(im, uint8_t, UB_ROI);
    PUT(im, uint8_t, 0);                /* stride */
    PUT(im, uint8_t, 11);               /* RNR timer */
    PUT(im, uint16_t, 3);               /* page */
    PUT(im, uint16_t, 0);               /* event queue */
    PUT(im, unsigned, 0);               /* Entity */
    PUT(im, uint32_t, UBQ_Q_IN_ORDER | (wrong == BOUND ? UBQ_Q_BOUND : 0));
    PUT(im, uint32_t, 0);               /* token */
    PUT(im, uint32_t, 0);               /* the only sender */
    core_image_bytes(im, none.b, UB_EID_LEN);
    PUT(im, uint32_t, CQ);
    PUT(im, uint32_t, CQ);
    PUT(im, uint32_t, UBQ_NEW);         /* shares with none */
    PUT(im, uint64_t, 0x20000);         /* send */
    PUT(im, uint8_t, 6);
    PUT(im, uint16_t, 0);
    PUT(im, uint16_t, 0);
    PUT(im, uint64_t, 1);               /* id of the next request */
    PUT(im, uint64_t, 0x30000);         /* receive */
    PUT(im, uint8_t, wrong == SENDER ? 0 : 7);
    PUT(im, uint16_t, 0);
    PUT(im, uint16_t, 0);
    PUT(im, uint16_t, 13);              /* limit */
    put_flag(im, false);
    if (version >= 2) {
        put_flag(im, true);             /* told */
        PUT(im, uint64_t, RECORD);
    }
    if (version >= 4) {
        PUT(im, uint8_t, 5);            /* tries */
        PUT(im, uint8_t, 2);            /* patience */
    }
    put_flag(im, false);                /* has work */
    put_count(im, 0);                   /* entries under way */
}

static void put_group(CoreImage *im)
{
    PUT(im, uint32_t, GROUP);
    PUT(im, uint8_t, UBQ_JG_HINT);
    PUT(im, uint16_t, 0);
    PUT(im, unsigned, 0);
    PUT(im, uint32_t, 0);
    PUT(im, uint32_t, 0);
    PUT(im, uint32_t, 0);
    put_count(im, member);
    if (member) {
        PUT(im, uint32_t, QUEUE);
    }
}

/* As an engine of that version wrote it. */
static uint8_t *image_of(unsigned version, int64_t now, size_t *len)
{
    CoreImage *im = core_image_save(now);
    uint8_t *data;

    core_image_begin(im, CORE_TAG('U', 'R', 'M', 'A'), version);
    core_image_same(im, UBQ_EQS, "");
    for (unsigned i = 0; i < UBQ_EQS; i++) {
        put_eq(im, version);
    }
    put_commands(im);
    PUT(im, uint64_t, 1);               /* name of the next receive entry */
    put_count(im, 1);
    put_cq(im);
    put_count(im, 0);                   /* segments */
    put_count(im, 1);
    put_queue(im, version);
    put_count(im, 0);                   /* receive entries */
    if (version >= 2) {
        put_count(im, 1);
        put_group(im);
    }
    if (version >= 3) {
        put_count(im, 1);
        PUT(im, uint64_t, POISON);
        PUT(im, uint64_t, POISON + 63);
    }
    core_image_end(im);
    data = core_image_take(im, len);
    core_image_free(im);
    return data;
}

static const char *load(Pair *p, unsigned version)
{
    UbUrma *u = p->b->urma;
    size_t len;
    g_autofree uint8_t *data = image_of(version, p->ends.now, &len);
    CoreImage *im = core_image_load(data, len, p->ends.now);
    const char *why;
    uint32_t senders;

    ub_node_reset(p->b->node, p->ends.now);
    ub_urma_image(u, im);
    why = core_image_done(im);
    core_image_free(im);
    return why ? why : ub_urma_loaded(u, &senders);
}

static void one_queue(void *opaque, const UbUrmaQueueInfo *q)
{
    *(UbUrmaQueueInfo *)opaque = *q;
}

static void one_cq(void *opaque, const UbUrmaCqInfo *cq)
{
    *(UbUrmaCqInfo *)opaque = *cq;
}

static void one_group(void *opaque, const UbUrmaGroupInfo *g)
{
    *(uint32_t *)opaque = g->id;
}

/* What the piece of memory is, for who asks. */
static uint64_t poisoned(Pair *p)
{
    uint8_t cmd[UBQ_CMD];

    ubq_open(&p->b->drv);
    ubq_cmd_init(cmd, 0, 0);
    put_le32(cmd + UBQ_POISON_ACTION, UBQ_POISON_QUERY);
    put_le64(cmd + UBQ_POISON_BASE, POISON - 100);
    put_le64(cmd + UBQ_POISON_LENGTH, 1000);
    g_assert_cmpuint(ubq_command(&p->b->drv, UBQ_OP_POISON, cmd), ==,
                     UBQ_RESULT_OK);
    return get_le64(cmd + UBQ_POISON_LENGTH);
}

static void test_older(const void *opaque)
{
    unsigned version = GPOINTER_TO_UINT(opaque);
    UbUrmaQueueInfo q = { 0 };
    UbUrmaCqInfo cq = { 0 };
    uint32_t group = UBQ_NEW;
    UbUrma *u;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    u = p.b->urma;
    g_assert_cmpstr(load(&p, version), ==, NULL);
    ub_urma_foreach(u, one_queue, &q);
    g_assert_cmpuint(q.id, ==, QUEUE);
    g_assert_cmpuint(q.sq_depth, ==, 64);
    g_assert_cmpuint(q.rq_depth, ==, 128);
    g_assert_cmpuint(q.rq_limit, ==, 13);
    g_assert_cmphex(q.record, ==, version >= 2 ? RECORD : 0);
    g_assert_cmpuint(q.tries, ==, version >= 4 ? 5 : 0);
    g_assert_cmpuint(q.patience, ==, version >= 4 ? 2 : 0);
    ub_urma_foreach_cq(u, one_cq, &cq);
    g_assert_cmpuint(cq.id, ==, CQ);
    g_assert_cmpuint(cq.count, ==, 6);
    g_assert_cmpuint(cq.users, ==, 2);
    ub_urma_foreach_group(u, one_group, &group);
    g_assert_cmpuint(group, ==, version >= 2 ? GROUP : UBQ_NEW);
    g_assert_cmpuint(ub_urma_reg_read(u, UBQ_EQ(0) + UBQ_EQ_LOST), ==, 9);
    g_assert_cmphex(ub_urma_reg_read(u, UBQ_EQ(0) + UBQ_EQ_CTRL) &
                    UBQ_EQ_DEVICE, ==, version >= 2 ? UBQ_EQ_DEVICE : 0);
    g_assert_cmpuint(poisoned(&p), ==, version >= 3 ? 64 : 0);
    pair_stop(&p);
}

static void test_later(void)
{
    UbUrmaQueueInfo q = { .id = UBQ_NEW };
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    g_assert_nonnull(load(&p, LATEST + 1));
    ub_urma_foreach(p.b->urma, one_queue, &q);
    g_assert_cmpuint(q.id, ==, UBQ_NEW);
    pair_stop(&p);
}

/* A member of a group is what may join one, in an image, too. */
static void test_member(void)
{
    uint32_t group = UBQ_NEW;
    Pair p;

    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    for (wrong = NOTHING; wrong < WRONGS; wrong++) {
        member = false;
        g_assert_cmpstr(load(&p, LATEST), ==, NULL);
        member = true;
        if (wrong == NOTHING) {
            g_assert_cmpstr(load(&p, LATEST), ==, NULL);
        } else {
            g_assert_cmpstr(load(&p, LATEST), ==,
                            "member of a group that cannot be one");
        }
    }
    member = false;
    wrong = NOTHING;
    ub_urma_foreach_group(p.b->urma, one_group, &group);
    g_assert_cmpuint(group, ==, UBQ_NEW);
    pair_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned v = 1; v <= LATEST; v++) {
        g_autofree char *name = g_strdup_printf("/ub/urma/versions/%u", v);

        g_test_add_data_func(name, GUINT_TO_POINTER(v), test_older);
    }
    g_test_add_func("/ub/urma/versions/later", test_later);
    g_test_add_func("/ub/urma/versions/member", test_member);
    return g_test_run();
}
