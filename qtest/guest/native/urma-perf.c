/*
 * How fast URMA is between two guests.
 *
 *   urma-perf serve                            one client after another
 *   urma-perf HOST bw|bw-events|lat send|write|read BYTES COUNT
 *
 * bw-events sleeps until there are completions, at both ends.  bw prints "mib_s=… msg_s=…": client to server, read server to client.  lat prints
 * "median_us=… average_us=…": send and write one way (half of there and back), read
 * there and back.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "urma-end.h"

#define PORT 7472
/* As urma_perftest has them. */
#define SEND_DEPTH 128u
#define RECV_DEPTH 512u
#define JFC_DEPTH 4096u
#define POLL 16
#define RNR_TIMER 5u            /* 64 us: an entry is there soon */
#define SIGNAL_EVERY 16u
#define RECV_AT (2u << 20)
#define BYTES_MAX (1u << 20)

enum { SEND, WRITE, READ, VERBS };

typedef struct Order {
    uint32_t verb, lat, bytes, events;
    uint64_t count;
    EndAddress address;
} Order;

static const EndConfig config = {
    .trans_mode = URMA_RM, .plain = 1,
    .access = URMA_ACCESS_READ | URMA_ACCESS_WRITE,
    .send_depth = SEND_DEPTH, .recv_depth = RECV_DEPTH, .jfc_depth = JFC_DEPTH,
    .rnr_timer = RNR_TIMER,
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

/* ---- Requests ---------------------------------------------------------------------- */

static void request(End *end, const Order *o, bool signal)
{
    urma_sge local = { .addr = (uintptr_t)end->buf, .len = o->bytes,
                       .tseg = end->seg };
    urma_sge remote = { .addr = end->peer_seg->seg.ubva.va + RECV_AT,
                        .len = o->bytes, .tseg = end->peer_seg };
    urma_jfs_wr wr = { .flag = signal ? URMA_WR_COMPLETE : 0 };

    if (o->bytes <= END_INLINE && o->verb != READ) {
        wr.flag |= URMA_WR_INLINE;
    }
    switch (o->verb) {
    case SEND:
        wr.opcode = URMA_WR_SEND;
        wr.send.src = (urma_sg) { &local, 1 };
        break;
    case WRITE:
        wr.opcode = URMA_WR_WRITE;
        wr.rw.src = (urma_sg) { &local, 1 };
        wr.rw.dst = (urma_sg) { &remote, 1 };
        break;
    default:
        wr.opcode = URMA_WR_READ;
        wr.rw.src = (urma_sg) { &remote, 1 };
        wr.rw.dst = (urma_sg) { &local, 1 };
        break;
    }
    END_MUST(!end_post(end, &wr));
}

static void recv_post(End *end, const Order *o)
{
    END_MUST(!end_post_recv(end, RECV_AT, o->bytes, 0));
}

/* Completions until one is that of a message received (or of a request); the others
 * are counted in *@rest. */
static void complete(End *end, bool receive, unsigned *rest)
{
    urma_cr cr;

    for (;;) {
        end_expect(end, &cr, URMA_CR_SUCCESS);
        if (!(cr.flag & URMA_CR_RECEIVE) == !receive) {
            return;
        }
        ++*rest;
    }
}

/* ---- Bandwidth ---------------------------------------------------------------------- */

/* As poll_jfc(), and if there are none wait for an event; one that came may have told of
 * completions that are read already. */
static int complete_slept(End *end, urma_cr *cr)
{
    int n = end->ops->poll_jfc(end->jfc, POLL, cr);
    urma_jfc *jfc;
    uint32_t one = 1;

    if (!n) {
        END_MUST(!end->ops->rearm_jfc(end->jfc, false));
        n = end->ops->poll_jfc(end->jfc, POLL, cr);
    }
    if (!n) {
        END_MUST(end->ops->wait_jfc(end->jfce, 1, 60000, &jfc) == 1);
        end->ops->ack_jfc(&jfc, &one, 1);
    }
    return n;
}

/* How many completions there are, POLL at most; there is one within a minute. */
static unsigned complete_some(End *end)
{
    time_t until = time(NULL) + 60;
    urma_cr cr[POLL];
    int n = 0;

    for (unsigned spins = 0; !n; spins++) {
        END_MUST(spins % 4096 || time(NULL) < until);
        n = end->jfce ? complete_slept(end, cr)
                      : end->ops->poll_jfc(end->jfc, POLL, cr);
    }
    END_MUST(n > 0);
    for (int i = 0; i < n; i++) {
        END_MUST(cr[i].status == URMA_CR_SUCCESS);
    }
    return n;
}

static void bandwidth(End *end, const Order *o)
{
    uint64_t posted = 0, done = 0;

    while (done < o->count) {
        while (posted < o->count && posted - done < SEND_DEPTH) {
            posted++;
            request(end, o, posted % SIGNAL_EVERY == 0 || posted == o->count);
        }
        done += (uint64_t)complete_some(end) * SIGNAL_EVERY;
    }
}

static void bandwidth_serve(End *end, const Order *o)
{
    for (uint64_t i = 0, n; o->verb == SEND && i < o->count; i += n) {
        n = complete_some(end);
        END_MUST(!end_post_recvs(end, RECV_AT, o->bytes, n));
    }
}

/* ---- Latency -------------------------------------------------------------------------- */

/* The last byte of what a peer writes tells which turn it is. */
static void turn_await(End *end, const Order *o, uint8_t turn)
{
    volatile uint8_t *last = end->buf + RECV_AT + o->bytes - 1;
    time_t until = time(NULL) + 60;

    for (unsigned spins = 0; *last != turn; spins++) {
        END_MUST(spins % 4096 || time(NULL) < until);
    }
}

static void turn_send(End *end, const Order *o, uint8_t turn)
{
    urma_cr cr;

    end->buf[o->bytes - 1] = turn;
    request(end, o, turn % 16 == 0);
    /* Not waited for, but read, so that there is room. */
    while (end->ops->poll_jfc(end->jfc, 1, &cr)) {
        END_MUST(cr.status == URMA_CR_SUCCESS);
    }
}

static void message_turn(End *end, const Order *o, bool first, bool signal)
{
    unsigned rest = 0;

    if (first) {
        request(end, o, signal);
    }
    complete(end, true, &rest);
    /* The peer waits for the answer, and there are entries enough. */
    if (!first) {
        request(end, o, signal);
    }
    recv_post(end, o);
}

static void turns(End *end, const Order *o, bool first, double *us)
{
    for (uint64_t i = 0; i < o->count; i++) {
        double start = now();
        unsigned none = 0;

        if (o->verb == SEND) {
            message_turn(end, o, first, i % 16 == 15);
        } else if (o->verb == READ && first) {
            request(end, o, true);
            complete(end, false, &none);
        } else if (o->verb == WRITE) {
            if (first) {
                turn_send(end, o, i + 1);
            }
            turn_await(end, o, i + 1);
            if (!first) {
                turn_send(end, o, i + 1);
            }
        }
        if (us) {
            us[i] = (now() - start) * 1e6 / (o->verb == READ ? 1 : 2);
        }
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void latency(End *end, const Order *o)
{
    double *us = calloc(o->count, sizeof(*us)), sum = 0;

    END_MUST(us);
    turns(end, o, true, us);
    for (uint64_t i = 0; i < o->count; i++) {
        sum += us[i];
    }
    qsort(us, o->count, sizeof(*us), by_value);
    printf("median_us=%.3f average_us=%.3f\n", us[o->count / 2],
           sum / o->count);
    free(us);
}

/* ---- Both ends -------------------------------------------------------------------------- */

static void begin(End *end, Order *o)
{
    EndConfig cfg = config;

    cfg.events = o->events;
    end_open(end);
    end_make(end, &cfg);
    memset(end->buf, 0, END_BUF);
    END_MUST(o->verb != SEND ||
             !end_post_recvs(end, RECV_AT, o->bytes, RECV_DEPTH));
}

static void serve_client(int fd)
{
    EndAddress mine;
    Order o;
    End end;

    if (!end_hear(fd, &o, sizeof(o))) {
        close(fd);
        return;
    }
    END_MUST(o.verb < VERBS && o.bytes && o.bytes <= BYTES_MAX);
    begin(&end, &o);
    end_import(&end, &o.address, END_TOKEN);
    end_address(&end, &mine);
    end_say(fd, &mine, sizeof(mine));
    if (o.lat && o.verb != READ) {
        turns(&end, &o, false, NULL);
    } else {
        bandwidth_serve(&end, &o);
    }
    /* Segments stay until the client has what it wants. */
    end_hear(fd, &o, 1);
    end_close(&end);
    close(fd);
}

static void client(const char *host, Order o)
{
    int fd = end_dial(host, PORT);
    EndAddress peer;
    double seconds;
    End end;

    begin(&end, &o);
    end_address(&end, &o.address);
    end_say(fd, &o, sizeof(o));
    END_MUST(end_hear(fd, &peer, sizeof(peer)));
    end_import(&end, &peer, END_TOKEN);
    if (o.lat) {
        latency(&end, &o);
    } else {
        seconds = now();
        bandwidth(&end, &o);
        seconds = now() - seconds;
        printf("mib_s=%.3f msg_s=%.0f\n",
               (double)o.bytes * o.count / seconds / (1 << 20),
               o.count / seconds);
    }
    end_say(fd, "", 1);
    close(fd);
    end_close(&end);
}

int main(int argc, char **argv)
{
    static const char *const verbs[VERBS] = { "send", "write", "read" };
    Order o = { 0 };

    if (argc == 2 && !strcmp(argv[1], "serve")) {
        end_serve(PORT, serve_client);
        return 0;
    }
    while (argc == 6 && o.verb < VERBS && strcmp(argv[3], verbs[o.verb])) {
        o.verb++;
    }
    if (argc != 6 || o.verb == VERBS ||
        (strcmp(argv[2], "bw") && strcmp(argv[2], "bw-events") &&
         strcmp(argv[2], "lat"))) {
        fprintf(stderr, "usage: urma-perf serve | HOST bw|bw-events|lat "
                "send|write|read BYTES COUNT\n");
        return 2;
    }
    o.lat = !strcmp(argv[2], "lat");
    o.events = !strcmp(argv[2], "bw-events");
    o.bytes = strtoul(argv[4], NULL, 0);
    o.count = strtoull(argv[5], NULL, 0);
    END_MUST(o.bytes && o.bytes <= BYTES_MAX && o.count);
    client(argv[1], o);
    return 0;
}
