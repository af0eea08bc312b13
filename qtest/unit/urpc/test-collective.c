/*
 * Four nodes together: broadcast, barrier, all-reduce (UB 2.0 §8.6).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <string.h>

#include "bed.h"
#include "collective.h"

enum { ELEMENTS = 100 };

typedef struct Rig {
    Bed *b;
    Coll *c[BED_NODES];
} Rig;

static Rig rig_conf(unsigned nodes, const UrpcConfig *conf)
{
    Rig r = { .b = bed_new(nodes, conf) };

    for (unsigned i = 0; i < nodes; i++) {
        Urpc *ends[BED_NODES];

        for (unsigned j = 0; j < nodes; j++) {
            ends[j] = r.b->end[i][j].u;
        }
        r.c[i] = coll_new(BED_UNIT, i, nodes, ends, r.b->fns[i], ELEMENTS);
        g_assert(r.c[i]);
        /* Once in a table. */
        g_assert_null(coll_new(BED_UNIT, i, nodes, ends, r.b->fns[i], 1));
    }
    return r;
}

static Rig rig_new(unsigned nodes)
{
    UrpcConfig c;

    bed_conf(&c);
    return rig_conf(nodes, &c);
}

static void rig_free(Rig *r)
{
    for (unsigned i = 0; i < r->b->nodes; i++) {
        coll_free(r->c[i]);
    }
    bed_free(r->b);
}

/* False: nothing more happens. */
static bool rig_step(Rig *r)
{
    bool more = bed_step(r->b);

    for (unsigned i = 0; i < r->b->nodes; i++) {
        coll_run(r->c[i], r->b->now);
    }
    return more;
}

typedef struct Over {
    unsigned done;
    UrpcStatus status;
} Over;

static void over(void *opaque, UrpcStatus status)
{
    Over *o = opaque;

    o->done++;
    o->status = status;
}

static void await(Rig *r, Over *o, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        while (!o[i].done) {
            g_assert(rig_step(r));
        }
        g_assert_cmpuint(o[i].done, ==, 1);
        g_assert_cmpuint(o[i].status, ==, URPC_OK);
    }
}

static void test_broadcast(void)
{
    for (unsigned nodes = 1; nodes <= BED_NODES; nodes++) {
        Rig r = rig_new(nodes);

        for (unsigned root = 0; root < nodes; root++) {
            uint64_t data[BED_NODES][ELEMENTS] = { 0 };
            Over o[BED_NODES] = { 0 };

            for (unsigned k = 0; k < ELEMENTS; k++) {
                data[root][k] = 0x123456789abcdef * (k + root);
            }
            for (unsigned i = 0; i < nodes; i++) {
                g_assert_cmpint(coll_broadcast(r.c[i], r.b->now, root, data[i],
                                               ELEMENTS, over, &o[i]), ==, 0);
            }
            await(&r, o, nodes);
            for (unsigned i = 0; i < nodes; i++) {
                g_assert_cmpmem(data[i], sizeof(data[i]), data[root],
                                sizeof(data[root]));
            }
        }
        rig_free(&r);
    }
}

/* Two rounds of messages among four: half a round trip for each, and no third. */
static void test_broadcast_calls(void)
{
    Rig r = rig_new(4);
    uint64_t data[4] = { 0 };
    Over o[4] = { 0 };
    unsigned n = 0;

    data[2] = 77;
    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmpint(coll_broadcast(r.c[i], 0, 2, &data[i], 1, over, &o[i]),
                        ==, 0);
    }
    await(&r, o, 4);
    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmpuint(data[i], ==, 77);
        n += bed_count(r.b, URPC_REQUEST, i);
    }
    g_assert_cmpuint(n, ==, 3);
    rig_free(&r);
}

/* Nobody is through before the last one has come, whoever that is. */
static void test_barrier(void)
{
    for (unsigned last = 0; last < 4; last++) {
        Rig r = rig_new(4);
        Over o[4] = { 0 };

        for (unsigned i = 0; i < 4; i++) {
            if (i != last) {
                g_assert_cmpint(coll_barrier(r.c[i], r.b->now, over, &o[i]), ==,
                                0);
            }
        }
        while (r.b->now < 500000 && rig_step(&r)) {
            g_assert_cmpuint(o[0].done + o[1].done + o[2].done + o[3].done, ==,
                             0);
            if (!r.b->events.length) {
                break;
            }
        }
        g_assert_cmpint(coll_barrier(r.c[last], r.b->now, over, &o[last]), ==, 0);
        await(&r, o, 4);
        rig_free(&r);
    }
}

static void test_all_reduce(void)
{
    for (unsigned nodes = 1; nodes <= BED_NODES; nodes++) {
        uint64_t data[BED_NODES][ELEMENTS], want[ELEMENTS] = { 0 };
        Over o[BED_NODES] = { 0 };
        Rig r = rig_new(nodes);

        for (unsigned i = 0; i < nodes; i++) {
            for (unsigned k = 0; k < ELEMENTS; k++) {
                data[i][k] = (uint64_t)g_test_rand_int() << 32 |
                             (uint32_t)g_test_rand_int();
                want[k] += data[i][k];
            }
            g_assert_cmpint(coll_all_reduce(r.c[i], 0, data[i], ELEMENTS, over,
                                            &o[i]), ==, 0);
        }
        await(&r, o, nodes);
        for (unsigned i = 0; i < nodes; i++) {
            g_assert_cmpmem(data[i], sizeof(want), want, sizeof(want));
        }
        rig_free(&r);
    }
}

/* Many of all kinds, one behind the other, at each member's own pace; messages overtake one
 * another. */
static void test_random(void)
{
    enum { OPS = 300 };
    g_autofree uint64_t (*data)[4][3] = g_malloc0(OPS * sizeof(*data));
    g_autofree Over (*o)[4] = g_malloc0(OPS * sizeof(*o));
    unsigned begun[4] = { 0 };
    UrpcConfig conf;
    Rig r;

    bed_conf(&conf);
    conf.timeout = 0;
    conf.gather = 3;
    conf.gather_time = 500;
    r = rig_conf(4, &conf);
    r.b->jumble = 30;
    for (unsigned op = 0; op < OPS; op++) {
        for (unsigned i = 0; i < 4; i++) {
            data[op][i][0] = op * 100 + i;
        }
    }
    for (;;) {
        unsigned i = g_test_rand_int_range(0, 4), op = begun[i];
        bool again = op < OPS;

        if (again && op % 3 == 0) {
            again = !coll_barrier(r.c[i], r.b->now, over, &o[op][i]);
        } else if (again && op % 3 == 1) {
            again = !coll_broadcast(r.c[i], r.b->now, op % 4, data[op][i], 3,
                                    over, &o[op][i]);
        } else if (again) {
            again = !coll_all_reduce(r.c[i], r.b->now, data[op][i], 3, over,
                                     &o[op][i]);
        }
        begun[i] += again;
        if (!rig_step(&r) && begun[0] + begun[1] + begun[2] + begun[3] ==
                             4 * OPS) {
            break;
        }
    }
    for (unsigned op = 0; op < OPS; op++) {
        for (unsigned i = 0; i < 4; i++) {
            g_assert(o[op][i].done == 1 && o[op][i].status == URPC_OK);
            g_assert_cmpuint(data[op][i][0], ==,
                             op % 3 == 0 ? op * 100 + i
                             : op % 3 == 1 ? op * 100 + op % 4
                                           : op * 400 + 6);
        }
    }
    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmpuint(coll_refused(r.c[i]), ==, 0);
    }
    rig_free(&r);
}

static void test_limits(void)
{
    Over o[COLL_UNDER_WAY + 1] = { 0 };
    uint64_t data[ELEMENTS + 1] = { 0 };
    Urpc *ends[COLL_NODES + 1] = { NULL };
    Rig r = rig_new(2);

    g_assert_cmpint(coll_broadcast(r.c[0], 0, 2, data, 1, over, o), ==, EINVAL);
    g_assert_cmpint(coll_all_reduce(r.c[0], 0, data, ELEMENTS + 1, over, o), ==,
                    EMSGSIZE);
    for (unsigned i = 0; i < COLL_UNDER_WAY; i++) {
        g_assert_cmpint(coll_barrier(r.c[0], 0, over, &o[i]), ==, 0);
    }
    g_assert_cmpint(coll_barrier(r.c[0], 0, over, &o[COLL_UNDER_WAY]), ==,
                    EAGAIN);
    /* The other one never comes. */
    for (unsigned i = 0; i < COLL_UNDER_WAY; i++) {
        while (!o[i].done) {
            g_assert(rig_step(&r));
        }
        g_assert(o[i].done == 1 && o[i].status == URPC_TIMEOUT);
    }
    coll_free(r.c[0]);
    r.c[0] = NULL;
    for (unsigned n = COLL_NODES; n <= COLL_NODES + 1; n++) {
        Coll *many = coll_new(BED_UNIT, 0, n, ends, r.b->fns[0], 1);

        g_assert(!many == (n > COLL_NODES));
        coll_free(many);
    }
    rig_free(&r);
}

static UrpcStatus called(Rig *r, uint32_t seq, unsigned step, uint32_t len)
{
    uint8_t p[64] = { seq, seq >> 8, 0, 0, step };
    UrpcArgs args = { .function = URPC_FUNCTION(BED_UNIT, 0, COLL_METHOD),
                      .data = p, .len = len };
    BedCall c;

    g_assert_cmpint(bed_call(r->b, 0, 1, args, &c), ==, 0);
    while (!c.done) {
        g_assert(rig_step(r));
    }
    return c.local ? URPC_STATUSES : c.status;
}

/* What is no step of ours: refused when it is known to be none, else it waits for the
 * operation, and its sender for the time-out. */
static void test_foreign(void)
{
    Over o[2] = { 0 };
    Rig r = rig_new(2);

    g_assert_cmpuint(called(&r, 0, 0, 7), ==, URPC_REFUSED);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(coll_barrier(r.c[i], r.b->now, over, &o[i]), ==, 0);
    }
    await(&r, o, 2);
    g_assert_cmpuint(called(&r, 0, 0, 8), ==, URPC_REFUSED);    /* it is over */
    g_assert_cmpuint(called(&r, 5, 0, 8), ==, URPC_STATUSES);
    /* A length that the operation has not. */
    o[1].done = 0;
    g_assert_cmpint(coll_barrier(r.c[1], r.b->now, over, &o[1]), ==, 0);
    g_assert_cmpuint(called(&r, 1, 0, 16), ==, URPC_BAD_HEAD);
    g_assert_cmpuint(o[1].done, ==, 0);
    g_assert_cmpuint(coll_refused(r.c[1]), ==, 3);
    while (!o[1].done) {
        g_assert(rig_step(&r));
    }
    rig_free(&r);
}

/* What finds no room is sent when there is some. */
static void test_room(void)
{
    uint64_t data[2] = { 5, 6 };
    Over o[2] = { 0 };
    Rig r = rig_new(2);

    r.b->end[0][1].full = r.b->end[1][0].full = true;
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(coll_all_reduce(r.c[i], 0, &data[i], 1, over, &o[i]), ==,
                        0);
    }
    g_assert(!rig_step(&r) && !o[0].done && !o[1].done);
    r.b->end[0][1].full = r.b->end[1][0].full = false;
    coll_run(r.c[0], r.b->now);
    coll_run(r.c[1], r.b->now);
    await(&r, o, 2);
    g_assert(data[0] == 11 && data[1] == 11);
    rig_free(&r);
}

/* A member that goes: its calls end later, and what peers ask of it has no function. */
static void test_gone(void)
{
    Over o[2] = { 0 };
    Rig r = rig_new(2);

    g_assert_cmpint(coll_barrier(r.c[0], 0, over, &o[0]), ==, 0);
    coll_free(r.c[0]);
    r.c[0] = NULL;
    g_assert_cmpint(coll_barrier(r.c[1], 0, over, &o[1]), ==, 0);
    while (!o[1].done) {
        g_assert(bed_step(r.b));
    }
    g_assert_cmpuint(o[1].status, ==, URPC_NO_FUNCTION);
    g_assert_cmpuint(o[0].done, ==, 0);
    bed_run(r.b);
    rig_free(&r);
}

/* What does not fit into a message to a member is refused, not tried for ever. */
static void test_message(void)
{
    uint64_t data[2][29] = { { 1, 2 }, { 0 } };
    Over o[2] = { 0 };
    UrpcConfig conf;
    Rig r;

    bed_conf(&conf);
    conf.message_max = 256;
    conf.timeout = 0;
    r = rig_conf(2, &conf);
    g_assert_cmpint(coll_broadcast(r.c[0], 0, 0, data[0], 29, over, &o[0]), ==,
                    EMSGSIZE);
    g_assert_cmpint(coll_all_reduce(r.c[1], 0, data[1], 29, over, &o[1]), ==,
                    EMSGSIZE);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(coll_broadcast(r.c[i], 0, 0, data[i], 28, over, &o[i]),
                        ==, 0);
    }
    await(&r, o, 2);
    g_assert_cmpmem(data[1], 28 * 8, data[0], 28 * 8);
    rig_free(&r);
}

/* Arguments of a peer are not fetched: nothing of it is left when the member goes. */
static void test_dma(void)
{
    uint8_t p[8] = { 0 };
    Rig r = rig_new(2);
    UrpcDma dma = bed_dma(r.b, 0, 0, 100);
    UrpcArgs args = { .function = URPC_FUNCTION(BED_UNIT, 0, COLL_METHOD),
                      .data = p, .len = sizeof(p), .dma = &dma, .dma_count = 1,
                      .ack = true };
    BedCall c;

    g_assert_cmpint(bed_call(r.b, 0, 1, args, &c), ==, 0);
    bed_run_to(r.b, 2 * BED_LATENCY);
    g_assert_cmpuint(r.b->end[1][0].memory, ==, 0);
    /* It may have its memory back at once. */
    g_assert_cmpuint(bed_count(r.b, URPC_ACK, 1), ==, 1);
    coll_free(r.c[1]);
    r.c[1] = NULL;
    bed_run(r.b);
    g_assert(c.done == 1 && c.released_first && c.status == URPC_REFUSED);
    rig_free(&r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/urpc/collective/broadcast", test_broadcast);
    g_test_add_func("/urpc/collective/broadcast-calls", test_broadcast_calls);
    g_test_add_func("/urpc/collective/barrier", test_barrier);
    g_test_add_func("/urpc/collective/all-reduce", test_all_reduce);
    g_test_add_func("/urpc/collective/random", test_random);
    g_test_add_func("/urpc/collective/limits", test_limits);
    g_test_add_func("/urpc/collective/foreign", test_foreign);
    g_test_add_func("/urpc/collective/room", test_room);
    g_test_add_func("/urpc/collective/gone", test_gone);
    g_test_add_func("/urpc/collective/message", test_message);
    g_test_add_func("/urpc/collective/dma", test_dma);
    return g_test_run();
}
