/*
 * The emulated wire: records and fault injection.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "core/bytes.h"
#include "amctl.h"
#include "ub/wire.h"

typedef struct End {
    UbWire *link;
    unsigned ups, downs, peer_errors, runs;
    uint8_t active;
    unsigned rate;
    uint8_t mask;
    GByteArray *lane[UB_LANES];
    char *why;
} End;

static void on_up(void *opaque, const UbWireHello *peer)
{
    End *e = opaque;

    e->ups++;
}

static void on_down(void *opaque, const char *why, bool peer_error)
{
    End *e = opaque;

    e->downs++;
    e->peer_errors += peer_error;
    g_free(e->why);
    e->why = g_strdup(why);
}

static void on_lanes(void *opaque, uint8_t active, unsigned rate)
{
    End *e = opaque;

    e->active = active;
    e->rate = rate;
}

static void on_run(void *opaque, uint8_t mask,
                   const uint8_t *const sym[UB_LANES], size_t n)
{
    End *e = opaque;

    e->runs++;
    e->mask = mask;
    for (unsigned i = 0; i < UB_LANES; i++) {
        g_assert_true(!sym[i] == !(mask & 1u << i));
        if (sym[i]) {
            g_byte_array_append(e->lane[i], sym[i], n);
        }
    }
}

static const UbWireOps ops = { on_up, on_down, on_lanes, on_run };

static void end_init(End *e)
{
    const UbWireHello hello = {
        .lanes = 8, .phy_mode = 2, .port = 3, .session = 0x1122334455667788,
        .guid = { 0xaa, 0xbb }, .features = UB_WIRE_GUID,
    };

    memset(e, 0, sizeof(*e));
    e->link = ub_wire_new(&hello, &ops, e);
    for (unsigned i = 0; i < UB_LANES; i++) {
        e->lane[i] = g_byte_array_new();
    }
}

static void end_free(End *e)
{
    ub_wire_free(e->link);
    for (unsigned i = 0; i < UB_LANES; i++) {
        g_byte_array_free(e->lane[i], TRUE);
    }
    g_free(e->why);
}

/* Move what `from` has queued, `step` bytes at a time. */
static void move(End *from, End *to, size_t step)
{
    const uint8_t *data;
    size_t n;

    while ((n = ub_wire_queued(from->link, &data)) > 0) {
        n = MIN(n, step);
        ub_wire_receive(to->link, data, n);
        ub_wire_sent(from->link, n);
    }
}

static void join(End *a, End *b)
{
    end_init(a);
    end_init(b);
    ub_wire_connected(a->link);
    ub_wire_connected(b->link);
    move(a, b, SIZE_MAX);
    move(b, a, SIZE_MAX);
    g_assert_true(ub_wire_is_up(a->link) && ub_wire_is_up(b->link));
}

static void send_run(End *e, uint8_t mask, size_t n, uint8_t first)
{
    UbLaneRun run = { .cap = n, .n = n, .mask = mask };
    uint8_t *buf = g_malloc(n * UB_LANES);

    for (unsigned i = 0; i < UB_LANES; i++) {
        run.lane[i] = buf + i * n;
        for (size_t j = 0; j < n; j++) {
            run.lane[i][j] = first + 31 * i + j;
        }
    }
    ub_wire_run(e->link, &run);
    g_free(buf);
}

/* Who never reads is given up at the bound, and gets a fresh start. */
static void test_overflow(void)
{
    const uint8_t *data;
    unsigned n = 0;
    End a, b;

    join(&a, &b);
    ub_wire_lanes(a.link, 0xff, 8);
    while (!a.downs) {
        send_run(&a, 0xff, 10000, n++);
        g_assert_cmpuint(ub_wire_queued(a.link, &data), <=, UB_WIRE_OUT_MAX);
    }
    g_assert_cmpuint(n, ==, UB_WIRE_OUT_MAX / 80008 + 1);
    g_assert_cmpuint(a.peer_errors, ==, 1);
    g_assert_cmpuint(ub_wire_stats(a.link)->overflows, ==, 1);
    g_assert_cmpuint(ub_wire_stats(a.link)->bad_records, ==, 0);
    g_assert_false(ub_wire_is_up(a.link));
    /* Nothing more is kept or heard. */
    send_run(&a, 0xff, 100, 0);
    ub_wire_lanes(a.link, 0x0f, 8);
    ub_wire_restart(a.link);
    ub_wire_bye(a.link);
    g_assert_cmpuint(ub_wire_queued(a.link, &data), ==, 0);
    g_assert_cmpuint(a.downs, ==, 1);
    ub_wire_disconnected(a.link);
    ub_wire_connected(a.link);
    g_assert_cmpuint(ub_wire_queued(a.link, &data), ==,
                     2 * UB_WIRE_HEADER + UB_WIRE_HELLO_BODY +
                     UB_WIRE_LANES_BODY);
    end_free(&a);
    end_free(&b);
}

/* The stream byte by byte, as docs/specs/ub-wire.rst gives it. */
static void test_bytes(void)
{
    static const uint8_t hello[] = {
        1, 0, 0, 0, 36, 0, 0, 0,
        'U', 'B', 'L', 'W', 1, 0, 8, 2,
        0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
        0xaa, 0xbb, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        3, 0, 2, 0,
        2, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0,
    };
    static const uint8_t rest[] = {
        2, 0, 0, 0, 4, 0, 0, 0, 0x05, 8, 0, 0,
        3, 0x05, 0, 0, 6, 0, 0, 0, 1, 2, 3, 63, 64, 65,
        4, 0, 0, 0, 0, 0, 0, 0,
    };
    End a, b;
    const uint8_t *data;
    size_t n;

    end_init(&a);
    end_init(&b);
    ub_wire_connected(a.link);
    n = ub_wire_queued(a.link, &data);
    g_assert_cmpmem(data, n, hello, sizeof(hello));
    ub_wire_connected(b.link);
    move(&b, &a, SIZE_MAX);
    ub_wire_sent(a.link, sizeof(hello));
    ub_wire_lanes(a.link, 0x05, 8);
    send_run(&a, 0x05, 3, 1);
    ub_wire_bye(a.link);
    n = ub_wire_queued(a.link, &data);
    g_assert_cmpmem(data, n, rest, sizeof(rest));
    end_free(&a);
    end_free(&b);
}

/* Any cutting of the stream gives the same records. */
static void test_pieces(void)
{
    static const size_t steps[] = { 1, 2, 3, 7, 8, 9, 64, 1000, SIZE_MAX };

    for (unsigned s = 0; s < G_N_ELEMENTS(steps); s++) {
        End a, b;

        join(&a, &b);
        ub_wire_lanes(a.link, 0xff, 4);
        for (unsigned i = 0; i < 20; i++) {
            send_run(&a, i % 2 ? 0xff : 0x0f, 1 + 37 * i, i);
        }
        ub_wire_bye(a.link);
        move(&a, &b, steps[s]);
        g_assert_cmphex(b.active, ==, 0xff);
        g_assert_cmpuint(b.rate, ==, 4);
        g_assert_cmpuint(b.runs, ==, 20);
        g_assert_cmpuint(b.lane[7]->len, ==, 10 + 37 * 100);
        g_assert_cmpuint(b.downs, ==, 1);
        g_assert_cmpuint(b.peer_errors, ==, 0);
        end_free(&a);
        end_free(&b);
    }
}

static void test_split_run(void)
{
    const size_t n = UB_WIRE_BODY_MAX / UB_LANES + 5;
    End a, b;

    join(&a, &b);
    ub_wire_lanes(a.link, 0xff, 0);
    send_run(&a, 0xff, n, 9);
    move(&a, &b, 100000);
    g_assert_cmpuint(b.runs, ==, 2);
    for (unsigned i = 0; i < UB_LANES; i++) {
        g_assert_cmpuint(b.lane[i]->len, ==, n);
        for (size_t j = 0; j < n; j++) {
            g_assert_cmpuint(b.lane[i]->data[j], ==, (uint8_t)(9 + 31 * i + j));
        }
    }
    end_free(&a);
    end_free(&b);
}

/* Each rule that a peer can break ends the connection, once, with its name. */
static void test_broken_rules(void)
{
    static const struct {
        const char *why;
        bool hello; /* after a good HELLO */
        uint8_t bytes[48];
        size_t len;
    } bad[] = {
        { "a record of unknown type", false, { 0 }, 8 },
        { "a record of unknown type", true, { 9 }, 8 },
        { "the first record is not HELLO", false, { 2, 0, 0, 0, 4 }, 8 },
        { "a record header with reserved bits set", true, { 2, 1, 0, 0, 4 },
          8 },
        { "a record header with reserved bits set", true, { 3, 1, 1, 0, 4 },
          8 },
        { "a record of impossible length", true, { 2, 0, 0, 0, 5 }, 8 },
        { "a record of impossible length", true,
          { 3, 1, 0, 0, 1, 0, 0x10, 0 }, 8 },
        { "a second HELLO of the same session", true,
          { 1, 0, 0, 0, 36, 0, 0, 0, 'U', 'B', 'L', 'W', 1, 0, 8, 2, 0x88,
            0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11 }, 44 },
        { "not the stream of a UB link", false,
          { 1, 0, 0, 0, 36, 0, 0, 0, 'H', 'T', 'T', 'P' }, 44 },
        { "a version of the stream that is not spoken here", false,
          { 1, 0, 0, 0, 36, 0, 0, 0, 'U', 'B', 'L', 'W', 2, 0, 8, 2 }, 44 },
        { "HELLO with impossible lanes or PHY mode", false,
          { 1, 0, 0, 0, 36, 0, 0, 0, 'U', 'B', 'L', 'W', 1, 0, 3, 2 }, 44 },
        { "RUN on a lane in electrical idle", true,
          { 3, 1, 0, 0, 1, 0, 0, 0, 0x55 }, 9 },
        { "LANES with a Data Rate that does not exist", true,
          { 2, 0, 0, 0, 4, 0, 0, 0, 1, 10 }, 12 },
        { "RUN with lanes of different length", true,
          { 2, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 3, 3, 0, 0, 3, 0, 0, 0, 1, 1,
            1 }, 23 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        End a, b;

        if (bad[i].hello) {
            join(&a, &b);
        } else {
            end_init(&a);
            end_init(&b);
            ub_wire_connected(b.link);
        }
        ub_wire_receive(b.link, bad[i].bytes, bad[i].len);
        ub_wire_receive(b.link, bad[i].bytes, bad[i].len);
        g_assert_cmpstr(b.why, ==, bad[i].why);
        g_assert_cmpuint(b.downs, ==, 1);
        g_assert_cmpuint(b.peer_errors, ==, 1);
        g_assert_cmpuint(ub_wire_stats(b.link)->bad_records, ==, 1);
        g_assert_false(ub_wire_is_up(b.link));
        /* The next connection is good again. */
        ub_wire_connected(a.link);
        ub_wire_connected(b.link);
        move(&a, &b, SIZE_MAX);
        g_assert_true(ub_wire_is_up(b.link));
        end_free(&a);
        end_free(&b);
    }
}

/* A reset of the port is a new session on the same connection. */
static void test_restart(void)
{
    End a, b;

    join(&a, &b);
    ub_wire_restart(a.link);
    move(&a, &b, SIZE_MAX);
    g_assert_cmpuint(b.ups, ==, 2);
    g_assert_cmpuint(b.downs, ==, 0);
    g_assert_true(ub_wire_is_up(b.link));
    g_assert_cmphex(ub_wire_peer(b.link)->session, ==, 0x1122334455667789);
    end_free(&a);
    end_free(&b);
}

static void test_not_connected(void)
{
    const uint8_t *data;
    End a, b;

    end_init(&a);
    ub_wire_lanes(a.link, 0x0f, 2);
    send_run(&a, 0x0f, 100, 0);
    g_assert_cmpuint(ub_wire_queued(a.link, &data), ==, 0);
    end_init(&b);
    ub_wire_connected(a.link);
    ub_wire_connected(b.link);
    move(&b, &a, SIZE_MAX);
    move(&a, &b, SIZE_MAX);
    /* The lanes' state is told anew, the symbols are lost. */
    g_assert_cmphex(b.active, ==, 0x0f);
    g_assert_cmpuint(b.runs, ==, 0);
    end_free(&a);
    end_free(&b);
}

static unsigned weight(const uint8_t *a, const uint8_t *b, size_t n)
{
    unsigned bits = 0;

    for (size_t i = 0; i < n; i++) {
        bits += __builtin_popcount(a[i] ^ b[i]);
    }
    return bits;
}

static void inject(UbInject *inj, uint8_t mask, uint8_t buf[UB_LANES][4096],
                   size_t n, const uint8_t *out[UB_LANES])
{
    uint8_t *sym[UB_LANES];

    for (unsigned i = 0; i < UB_LANES; i++) {
        sym[i] = buf[i];
    }
    ub_inject_apply(inj, mask, sym, n, out);
}

static void test_bit_errors(void)
{
    static uint8_t buf[UB_LANES][4096], zero[4096];
    const uint8_t *out[UB_LANES];
    UbInject *inj = ub_inject_new();
    UbLaneFault f = { .ber = 1e-3 };
    unsigned total = 0, again = 0;

    g_assert_true(ub_inject_lane(inj, 2, &f));
    for (unsigned pass = 0; pass < 2; pass++) {
        unsigned *sum = pass ? &again : &total;

        ub_inject_seed(inj, 42);
        for (unsigned i = 0; i < 50; i++) {
            memset(buf, 0, sizeof(buf));
            inject(inj, 0xff, buf, 4096, out);
            for (unsigned l = 0; l < UB_LANES; l++) {
                unsigned w = weight(out[l], zero, 4096);

                g_assert_true(l == 2 || w == 0);
                *sum += w;
            }
        }
    }
    /* 50 * 32768 bits at 1e-3: mean 1638, sigma 40; 6 sigma. */
    g_assert_cmpuint(total, >, 1638 - 240);
    g_assert_cmpuint(total, <, 1638 + 240);
    g_assert_cmpuint(total, ==, again);
    /* Bursts are whole, across calls too. */
    f = (UbLaneFault) { .ber = 1e-4, .burst = 23 };
    ub_inject_lane(inj, 2, &f);
    total = 0;
    for (unsigned i = 0; i < 400; i++) {
        memset(buf, 0, sizeof(buf));
        inject(inj, 0x04, buf, 97, out);
        total += weight(out[2], zero, 97);
    }
    g_assert_cmpuint(total, >, 23);
    /* All bits. */
    f = (UbLaneFault) { .ber = 1 };
    ub_inject_lane(inj, 2, &f);
    memset(buf, 0, sizeof(buf));
    inject(inj, 0x04, buf, 10, out);
    g_assert_cmpuint(weight(out[2], zero, 10), ==, 80);
    f.ber = 1.5;
    g_assert_false(ub_inject_lane(inj, 2, &f));
    f.ber = -1;
    g_assert_false(ub_inject_lane(inj, 2, &f));
    ub_inject_free(inj);
}

static void test_lanes(void)
{
    static uint8_t buf[UB_LANES][4096];
    static const uint8_t rev[UB_LANES] = { 7, 6, 5, 4, 3, 2, 1, 0 };
    static const uint8_t bad[UB_LANES] = { 0, 0, 1, 2, 3, 4, 5, 6 };
    const uint8_t *out[UB_LANES];
    UbInject *inj = ub_inject_new();
    UbLaneFault f = { .invert = true };
    uint8_t last;

    g_assert_false(ub_inject_active(inj));
    g_assert_false(ub_inject_map(inj, bad));
    g_assert_true(ub_inject_map(inj, rev));
    g_assert_true(ub_inject_active(inj));
    g_assert_cmphex(ub_inject_mask(inj, 0x0f), ==, 0xf0);
    ub_inject_lane(inj, 0, &f);
    f = (UbLaneFault) { .cut = true };
    ub_inject_lane(inj, 1, &f);
    f = (UbLaneFault) { .slip = 3 };
    ub_inject_lane(inj, 2, &f);
    f = (UbLaneFault) { .skew = 5 };
    ub_inject_lane(inj, 3, &f);
    g_assert_cmphex(ub_inject_mask(inj, 0x0f), ==, 0xb0);
    for (unsigned l = 0; l < UB_LANES; l++) {
        for (unsigned j = 0; j < 16; j++) {
            buf[l][j] = 16 * l + j;
        }
    }
    inject(inj, 0x0f, buf, 16, out);
    g_assert_cmphex(out[7][3], ==, 0xfc);
    g_assert_null(out[6]);
    /* 0x20, 0x21 lagging by three bits: 0x00, 0x09 (bit 0 is first). */
    g_assert_cmphex(out[5][0], ==, 0x00);
    g_assert_cmphex(out[5][1], ==, 0x09);
    g_assert_cmphex(out[4][5], ==, 0x30);
    g_assert_cmphex(out[4][15], ==, 0x3a);
    g_assert_null(out[0]);
    /* What a lagging lane holds comes with the next symbols. */
    last = buf[3][15];
    for (unsigned j = 0; j < 16; j++) {
        buf[3][j] = 0x40 + j;
    }
    inject(inj, 0x08, buf, 16, out);
    g_assert_cmphex(out[4][0], ==, last + 1);
    g_assert_cmphex(out[4][5], ==, 0x40);
    ub_inject_free(inj);
}

static void test_lose_amctl(void)
{
    static uint8_t buf[UB_LANES][4096];
    const uint8_t *out[UB_LANES];
    UbInject *inj = ub_inject_new();
    UbLaneFault f = { .lose_amctl = 2 };
    unsigned good = 0;

    ub_inject_lane(inj, 0, &f);
    for (unsigned i = 0; i < 4; i++) {
        ub_amctl_encode(&buf[0][100 * i + 7], i, UB_AMCTL_NONE, 0);
    }
    inject(inj, 1, buf, 512, out);
    for (unsigned i = 0; i < 4; i++) {
        UbAmctl a;

        good += ub_amctl_decode(&a, &out[0][100 * i + 7]);
    }
    g_assert_cmpuint(good, ==, 2);
    g_assert_cmpuint(ub_inject_stats(inj)->amctls_lost, ==, 2);
    g_assert_cmpuint(ub_inject_get(inj, 0)->lose_amctl, ==, 0);
    ub_inject_free(inj);
}

/* A cut lane is told to the far end as electrical idle. */
static void test_cut_on_wire(void)
{
    const UbLaneFault cut = { .cut = true }, none = { 0 };
    End a, b;

    join(&a, &b);
    ub_wire_lanes(a.link, 0x0f, 1);
    send_run(&a, 0x0f, 8, 0);
    move(&a, &b, SIZE_MAX);
    g_assert_cmphex(b.mask, ==, 0x0f);
    ub_inject_lane(ub_wire_inject(a.link), 2, &cut);
    send_run(&a, 0x0f, 8, 0);
    move(&a, &b, SIZE_MAX);
    g_assert_cmphex(b.active, ==, 0x0b);
    g_assert_cmphex(b.mask, ==, 0x0b);
    ub_inject_lane(ub_wire_inject(a.link), 2, &none);
    send_run(&a, 0x0f, 8, 0);
    move(&a, &b, SIZE_MAX);
    g_assert_cmphex(b.active, ==, 0x0f);
    g_assert_cmphex(b.mask, ==, 0x0f);
    g_assert_cmpuint(b.downs, ==, 0);
    end_free(&a);
    end_free(&b);
}

/* Random bytes never do more than end the connection. */
static void test_garbage(void)
{
    for (unsigned round = 0; round < 2000; round++) {
        uint8_t junk[256];
        End a, b;

        join(&a, &b);
        ub_wire_lanes(a.link, 0xff, 0);
        move(&a, &b, SIZE_MAX);
        for (unsigned i = 0; i < sizeof(junk); i++) {
            junk[i] = g_test_rand_int();
        }
        if (round % 2) {
            /* A header that passes, so that bodies are reached. */
            junk[0] = 1 + g_test_rand_int_range(0, 4);
            junk[2] = junk[3] = junk[5] = junk[6] = junk[7] = 0;
        }
        ub_wire_receive(b.link, junk, sizeof(junk));
        g_assert_cmpuint(b.downs, <=, 1);
        end_free(&a);
        end_free(&b);
    }
}

/* Features that have a name are told, others are ignored. */
static void test_features(void)
{
    const uint8_t *data;
    uint8_t copy[64];
    size_t n;
    End a, b;

    for (unsigned bits = 0; bits < 0x10000; bits += 0x5555) {
        end_init(&a);
        end_init(&b);
        ub_wire_connected(a.link);
        ub_wire_connected(b.link);
        n = ub_wire_queued(a.link, &data);
        g_assert_cmpuint(n, <=, sizeof(copy));
        memcpy(copy, data, n);
        g_assert_cmphex(get_le16(copy + UB_WIRE_HEADER + 34), ==,
                        UB_WIRE_GUID);
        put_le16(copy + UB_WIRE_HEADER + 34, bits);
        ub_wire_receive(b.link, copy, n);
        g_assert_true(ub_wire_is_up(b.link));
        g_assert_cmphex(ub_wire_peer(b.link)->features, ==,
                        bits & UB_WIRE_FEATURES);
        end_free(&a);
        end_free(&b);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/wire/bytes", test_bytes);
    g_test_add_func("/ub/wire/features", test_features);
    g_test_add_func("/ub/wire/overflow", test_overflow);
    g_test_add_func("/ub/wire/pieces", test_pieces);
    g_test_add_func("/ub/wire/split-run", test_split_run);
    g_test_add_func("/ub/wire/broken-rules", test_broken_rules);
    g_test_add_func("/ub/wire/not-connected", test_not_connected);
    g_test_add_func("/ub/wire/restart", test_restart);
    g_test_add_func("/ub/wire/cut", test_cut_on_wire);
    g_test_add_func("/ub/wire/garbage", test_garbage);
    g_test_add_func("/ub/inject/bit-errors", test_bit_errors);
    g_test_add_func("/ub/inject/lanes", test_lanes);
    g_test_add_func("/ub/inject/lose-amctl", test_lose_amctl);
    return g_test_run();
}
