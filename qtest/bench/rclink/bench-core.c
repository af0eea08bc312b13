/*
 * RC Link: TYPE1 packets of 1344 bytes from one port's TX_S to the other's RX_M,
 * on one thread, beside memcpy() of as many bytes.  Each port is a core of its own,
 * of another machine; what each of them takes is told, and both together.
 *
 * All loads and memcpy() take turns, ROUNDS times, each with ports of its own: where
 * their memory lies matters, and others on the machine do not in the best of many short
 * laps.  The median of the rounds is told, of times and of 1024 QPs against one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/bytes.h"
#include "rclink/rclink.h"
#include "rclink/rclink_hw.h"

enum {
    LOG = 8, ENTRIES = 1 << LOG, LEN = 1344, BUF = 2048,
    BURST = 64, LAP = 100 * BURST, ROUNDS = 9,
    RX_BUF = 0x10000 + ENTRIES * BUF, MEM = RX_BUF + ENTRIES * BUF,
    WIRE = BURST * BUF,
};

typedef struct End {
    Rclink *d;
    struct End *peer;
    uint8_t *mem;
    uint16_t tx, rx;
    /* What is on its way to the peer; the time that the cable took, which is
     * neither end's. */
    uint8_t *wire;
    size_t wire_len;
    int64_t cable_ns;
} End;

/* Rings and buffers of a driver begin with a page, and something is in them. */
static uint8_t *pages_new(size_t bytes)
{
    uint8_t *p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

    g_assert_nonnull(p);
    memset(p, 0x5a, bytes);
    return p;
}

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static bool mem_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
    memcpy(buf, ((End *)opaque)->mem + addr, len);
    return true;
}

static bool mem_write(void *opaque, uint64_t addr, const void *buf,
                      size_t len)
{
    memcpy(((End *)opaque)->mem + addr, buf, len);
    return true;
}

static bool mem_reach(void *opaque, uint64_t addr, size_t len, bool write,
                      void (*fn)(void *ctx, void *data), void *ctx)
{
    fn(ctx, ((End *)opaque)->mem + addr);
    return true;
}

static void wire_tx(void *opaque, const uint8_t *data, size_t len)
{
    End *e = opaque;
    int64_t start = now_ns();

    g_assert(e->wire_len + len <= WIRE);
    memcpy(e->wire + e->wire_len, data, len);
    e->wire_len += len;
    e->cable_ns += now_ns() - start;
}

/* What came by the cable, to @e. */
static void wire_rx(End *e)
{
    End *from = e->peer;

    for (size_t at = 0; at < from->wire_len;) {
        uint32_t n = get_be32(from->wire + at);

        rclink_rx(e->d, from->wire + at + RCL_WIRE_PREFIX, n, 1);
        at += RCL_WIRE_PREFIX + n;
    }
    from->wire_len = 0;
}

static void no_msix(void *opaque, unsigned vector)
{
}

static void no_kick(void *opaque)
{
}

static void no_error(void *opaque, const char *rule, const char *text,
                     uint64_t value)
{
    g_error("%s: %s", rule, text);
}

static const RclinkOps ops = {
    .read = mem_read, .write = mem_write, .reach = mem_reach, .wire_tx = wire_tx,
    .msix = no_msix, .kick = no_kick, .guest_error = no_error,
};

static void set(End *e, uint64_t reg, uint64_t v)
{
    rclink_write(e->d, reg, v, reg < 0x4000 ? 8 : 4, 1);
}

static void end_up(End *e, End *peer, unsigned self, unsigned qps)
{
    RclinkConfig cfg;

    rclink_config_init(&cfg);
    cfg.ops = &ops;
    cfg.opaque = e;
    cfg.mac[0] = 2;
    cfg.mac[5] = self;
    e->peer = peer;
    e->mem = pages_new(MEM);
    e->wire = pages_new(WIRE);
    e->d = rclink_new(&cfg);
    rclink_link(e->d, true);
    set(e, RCL_EVENT_MASK, 0);
    set(e, RCL_AFH_CFG_EN, 0x0ff0000000000021);
    set(e, RCL_RDMA_EN, 1);
    for (unsigned n = 0; n < 2; n++) {
        set(e, RCL_RING(n) + RCL_RING_BASE_LO, n * 0x8000);
        set(e, RCL_RING(n) + RCL_RING_SIZE, LOG);
        set(e, RCL_RING(n) + RCL_RING_CTRL, RCL_RING_EN);
    }
    for (unsigned q = 0; q < qps; q++) {
        set(e, RCL_QP_ID_SET, q);
        set(e, RCL_TX_SPEED_MEM, 0x3fffff);
        set(e, RCL_TX_LAST_PSN, 0xfff);
        set(e, RCL_MAX_FORWARD_PSN, 0xfff);
        set(e, RCL_DEST_IP_MEM, (uint64_t)q << 32);
        set(e, RCL_DEST_MAC_MEM, UINT64_C(0x020000000000) | !self);
        set(e, RCL_QP_CONTROL_STATUS, RCL_QP_EN);
    }
}

/* One packet of @qp more, @fack to be answered at once, and one buffer more at the
 * other end. */
static void post(End *e, unsigned qp, bool fack)
{
    uint8_t *tx = e->mem + e->tx % ENTRIES * RCL_RING_ENTRY;
    uint8_t *rx = e->peer->mem + 0x8000 +
                  e->peer->rx % ENTRIES * RCL_RING_ENTRY;

    put_le64(tx, 0x10000 + e->tx % ENTRIES * BUF);
    put_le64(tx + 8, LEN | qp << 16 |
                     (uint64_t)(fack ? RCL_E_FACK : 0) << 32);
    put_le64(rx, RX_BUF + e->peer->rx % ENTRIES * BUF);
    put_le64(rx + 8, BUF);
    e->tx++;
    e->peer->rx++;
}

/* A turn of @e at @now, and what it took. */
static int64_t turn(End *e, uint64_t head, uint16_t index, int64_t now)
{
    int64_t start = now_ns();

    e->cable_ns = 0;
    if (head) {
        set(e, head, index);
    }
    wire_rx(e);
    /* One instant: no window of rate control ends. */
    rclink_run(e->d, now, 1000);
    return now_ns() - start - e->cable_ns;
}

typedef struct Cost {
    double sender, receiver, both;
} Cost;

/* @qps take turns, of @turn packets each; each @answer-th packet asks for an answer. */
static Cost packets(unsigned qps, unsigned in_turn, unsigned answer, unsigned n)
{
    End e[2] = { { 0 } };
    int64_t ns[2] = { 0 }, best[3] = { INT64_MAX, INT64_MAX, INT64_MAX };

    end_up(&e[0], &e[1], 0, qps);
    end_up(&e[1], &e[0], 1, qps);
    for (unsigned i = 0; i < n; i += BURST) {
        /* As long as they take: retry timers that run out are as rare as they are. */
        int64_t now = (int64_t)i * 100;

        for (unsigned k = 0; k < BURST; k++) {
            post(&e[0], (i + k) / in_turn * 37 % qps, (k + 1) % answer == 0);
        }
        /* What a driver does is not the core's. */
        ns[0] += turn(&e[0], RCL_RING(0) + RCL_RING_HEAD, e[0].tx, now);
        ns[1] += turn(&e[1], RCL_RING(1) + RCL_RING_HEAD, e[1].rx, now);
        ns[0] += turn(&e[0], 0, 0, now);
        if ((i + BURST) % LAP == 0) {
            best[0] = MIN(best[0], ns[0]);
            best[1] = MIN(best[1], ns[1]);
            best[2] = MIN(best[2], ns[0] + ns[1]);
            ns[0] = ns[1] = 0;
        }
    }
    g_assert_cmpuint(rclink_counters(e[1].d)->rx_type1, ==, n);
    g_assert_cmpuint(rclink_counters(e[0].d)->tx_type1_again, ==, 0);
    for (unsigned i = 0; i < 2; i++) {
        rclink_free(e[i].d);
        free(e[i].mem);
        free(e[i].wire);
    }
    return (Cost) { (double)best[0] / LAP, (double)best[1] / LAP,
                    (double)best[2] / LAP };
}

static double copies(unsigned n)
{
    uint8_t *a = pages_new(ENTRIES * BUF);
    /* Where it is fastest: within a page the two are half of one apart. */
    uint8_t *room = pages_new(ENTRIES * BUF + BUF), *b = room + BUF / 2;
    int64_t best = INT64_MAX;

    for (unsigned i = 0; i < n; i += LAP) {
        int64_t start = now_ns();

        for (unsigned k = 0; k < LAP; k++) {
            memcpy(b + k % ENTRIES * BUF, a + k % ENTRIES * BUF, LEN);
            __asm__ volatile("" ::: "memory");
        }
        start = now_ns() - start;
        best = MIN(best, start);
    }
    free(a);
    free(room);
    return (double)best / LAP;
}

/* ---- rounds ---- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *v)
{
    qsort(v, ROUNDS, sizeof(*v), by_size);
    return v[ROUNDS / 2];
}

enum { SENDER, RECEIVER, BOTH, ENDS };

static const char *const end_name[ENDS] = { "sender", "receiver", "both" };

static const struct {
    unsigned qps, turn, answer;
} load[] = {
    { 1, 64, 64 }, { 1, 64, 4 }, { 1024, 4, 4 }, { 1, 64, 1 }, { 1024, 1, 1 },
};

/* What is compared: with as many answers, and with those that one QP is spared. */
static const struct {
    unsigned one, many;
} pair[] = { { 0, 2 }, { 1, 2 }, { 3, 4 } };

enum { LOADS = G_N_ELEMENTS(load), PAIRS = G_N_ELEMENTS(pair) };

static double copy[ROUNDS], took[LOADS][ENDS][ROUNDS];

static void measure(unsigned round, unsigned only, unsigned n)
{
    copy[round] = copies(n);
    for (unsigned i = 0; i < LOADS; i++) {
        if (!only || only == load[i].qps) {
            Cost c = packets(load[i].qps, load[i].turn, load[i].answer, n);

            took[i][SENDER][round] = c.sender;
            took[i][RECEIVER][round] = c.receiver;
            took[i][BOTH][round] = c.both;
        }
    }
}

static void tell(unsigned only)
{
    double against[PAIRS][ENDS], one = median(copy);

    printf("memcpy of %u bytes: %.1f ns\n", LEN, one);
    /* Before medians put the rounds in another order. */
    for (unsigned i = 0; i < PAIRS; i++) {
        for (unsigned e = 0; e < ENDS; e++) {
            double ratio[ROUNDS];

            for (unsigned r = 0; r < ROUNDS; r++) {
                ratio[r] = took[pair[i].many][e][r] / took[pair[i].one][e][r];
            }
            against[i][e] = median(ratio);
        }
    }
    for (unsigned i = 0; i < LOADS; i++) {
        if (only && only != load[i].qps) {
            continue;
        }
        printf("TYPE1 packet, %u QPs, %u in turn, an answer for %u:", load[i].qps,
               load[i].turn, load[i].answer);
        for (unsigned e = 0; e < ENDS; e++) {
            double ns = median(took[i][e]);

            printf("%s %s %.1f ns, %.3f of memcpy's speed", e ? "," : "",
                   end_name[e], ns, one / ns);
        }
        printf("\n");
    }
    for (unsigned i = 0; i < PAIRS && !only; i++) {
        printf("1024 QPs with an answer for %u against one with one for %u:",
               load[pair[i].many].answer, load[pair[i].one].answer);
        for (unsigned e = 0; e < ENDS; e++) {
            printf("%s %s %.3f", e ? "," : "", end_name[e], against[i][e]);
        }
        printf("\n");
    }
}

/* Arguments: packets of each load, and QPs, if only so many are to be measured. */
int main(int argc, char **argv)
{
    unsigned n = argc > 1 ? strtoul(argv[1], NULL, 0) : 300 * LAP;
    unsigned only = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;

    n = MAX(n / ROUNDS / LAP, 1) * LAP;
    for (unsigned r = 0; r < ROUNDS; r++) {
        measure(r, only, n);
    }
    tell(only);
    return 0;
}
