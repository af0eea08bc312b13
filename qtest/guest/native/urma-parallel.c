/*
 * Several threads of a process, each on a processor of its own, that post and poll at
 * the same time: each by its own JFC and JFR, or all by one of either.
 *
 * Of the operations of a thread the first of four is a message, the second a Write that
 * is read back, the third adds one to a number that all have together, the fourth a
 * message with an immediate.  Whoever polls a completion looks at every byte of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "urma-link.h"

#define LANES_MAX 8u
#define OPS_MAX (1u << 22)
#define UNDER_WAY 8u            /* operations of a thread */
#define AWAITED 32u             /* receive entries for a thread */
#define POLLED 4                /* completions at once */
#define SLOT 8192u
#define BYTES_MAX 6000u
#define NUMBER_AT 0u            /* which all add to */
#define LANES_AT (64u << 10)
#define LANE_BYTES ((3 * UNDER_WAY + AWAITED) * SLOT)
#define STILL 120               /* seconds without any progress */
#define RUNNING 256u            /* operations done, or all: it is under way */

/* What both ends tell each other. */
typedef struct Hello {
    uint32_t lanes, ops, shared, trans_mode;
    EndAddress address;
    urma_jetty_id id[LANES_MAX];
} Hello;

typedef struct Head {
    uint32_t lane, number;
} Head;

typedef enum Stage { IDLE, BEGUN, READ_BACK } Stage;

typedef struct Op {
    Stage stage;                /* in the order of this the rest is seen */
    uint32_t number;
} Op;

typedef struct Lane {
    urma_jfc *jfc;
    urma_jfr *jfr;
    urma_jetty *jetty;
    urma_target_jetty *peer;
    Op op[UNDER_WAY];
    uint32_t posted, done, came, polled;
    uint8_t *seen;              /* messages, by number */
} Lane;

static struct {
    End end;
    Hello own, peer;
    bool server;
    Lane lane[LANES_MAX];
    uint8_t *added;             /* what the number was, of each who added to it */
    uint32_t done, came;
} all;

/* ---- What is where ----------------------------------------------------------------- */

static uint32_t lane_at(uint32_t lane, uint32_t slot)
{
    return LANES_AT + lane * LANE_BYTES + slot * SLOT;
}

static uint32_t out_at(uint32_t lane, uint32_t op)
{
    return lane_at(lane, op);
}

static uint32_t back_at(uint32_t lane, uint32_t op)
{
    return lane_at(lane, UNDER_WAY + op);
}

static uint32_t in_at(uint32_t lane, uint32_t op)
{
    return lane_at(lane, 2 * UNDER_WAY + op);
}

static uint32_t recv_at(uint32_t lane, uint32_t entry)
{
    return lane_at(lane, 3 * UNDER_WAY + entry);
}

static uint32_t bytes_of(uint32_t lane, uint32_t number)
{
    return 1 + (lane * 977 + number * 331) % BYTES_MAX;
}

static uint32_t pattern_of(uint32_t lane, uint32_t number, bool server)
{
    return lane * 5 + number * 11 + (server ? 101 : 0);
}

static urma_sge own_sge(uint32_t off, uint32_t len)
{
    return (urma_sge) { .addr = (uintptr_t)all.end.buf + off, .len = len,
                        .tseg = all.end.seg };
}

static urma_sge peer_sge(uint32_t off, uint32_t len)
{
    return (urma_sge) { .addr = all.end.peer_seg->seg.ubva.va + off,
                        .len = len, .tseg = all.end.peer_seg };
}

/* ---- Posting ------------------------------------------------------------------------- */

static void post(uint32_t lane, uint32_t op, urma_jfs_wr *wr, Stage stage)
{
    Lane *l = &all.lane[lane];
    urma_jfs_wr *bad;

    wr->flag = URMA_WR_COMPLETE;
    wr->tjetty = all.own.trans_mode == URMA_RC ? NULL : l->peer;
    wr->user_ctx = (uint64_t)lane << 32 | op;
    __atomic_store_n(&l->op[op].stage, stage, __ATOMIC_RELEASE);
    END_MUST(!all.end.ops->post_jetty_send_wr(l->jetty, wr, &bad));
}

static void message_post(uint32_t lane, uint32_t op, uint32_t number)
{
    uint32_t len = bytes_of(lane, number), off = out_at(lane, op) + number % 7;
    Head head = { lane, number };
    urma_sge src = own_sge(off, sizeof(head) + len);
    urma_jfs_wr wr = {
        .opcode = number % 4 ? URMA_WR_SEND_IMM : URMA_WR_SEND,
        .send = { .src = { &src, 1 }, .imm_data = ~(uint64_t)number },
    };

    memcpy(all.end.buf + off, &head, sizeof(head));
    end_fill(all.end.buf + off + sizeof(head), len,
             pattern_of(lane, number, all.server));
    post(lane, op, &wr, BEGUN);
}

static void write_post(uint32_t lane, uint32_t op, uint32_t number)
{
    uint32_t len = bytes_of(lane, number), off = out_at(lane, op) + number % 7;
    urma_sge src = own_sge(off, len);
    urma_sge dst = peer_sge(in_at(lane, op) + number % 5, len);
    urma_jfs_wr wr = { .opcode = URMA_WR_WRITE,
                       .rw = { .src = { &src, 1 }, .dst = { &dst, 1 } } };

    end_fill(all.end.buf + off, len, pattern_of(lane, number, all.server));
    post(lane, op, &wr, BEGUN);
}

/* By the thread that saw the Write end, which may be another lane's. */
static void read_post(uint32_t lane, uint32_t op, uint32_t number)
{
    uint32_t len = bytes_of(lane, number), off = back_at(lane, op) + number % 3;
    urma_sge dst = own_sge(off, len);
    urma_sge src = peer_sge(in_at(lane, op) + number % 5, len);
    urma_jfs_wr wr = { .opcode = URMA_WR_READ,
                       .rw = { .src = { &src, 1 }, .dst = { &dst, 1 } } };

    memset(all.end.buf + off, 0xee, len + 1);
    post(lane, op, &wr, READ_BACK);
}

static void add_post(uint32_t lane, uint32_t op)
{
    urma_sge dst = peer_sge(NUMBER_AT, 8), src = own_sge(back_at(lane, op), 8);
    urma_jfs_wr wr = {
        .opcode = URMA_WR_FADD,
        .atomic = { .dst = &dst, .src = &src, .operand = { 1 } },
    };

    memset(all.end.buf + back_at(lane, op), 0xee, 8);
    post(lane, op, &wr, BEGUN);
}

static void entry_post(uint32_t lane, uint32_t entry)
{
    Lane *l = &all.lane[lane];
    urma_sge sge = own_sge(recv_at(lane, entry), SLOT);
    urma_jfr_wr *bad, wr = { .src = { &sge, 1 },
                             .user_ctx = (uint64_t)lane << 32 | entry };

    memset(all.end.buf + recv_at(lane, entry), 0xdd, SLOT);
    /* Both ways lead to the same queue. */
    END_MUST(!(entry % 2
               ? all.end.ops->post_jfr_wr(l->jfr, &wr, &bad)
               : all.end.ops->post_jetty_recv_wr(l->jetty, &wr, &bad)));
}

/* One more of this thread's, if there is room: whether there was. */
static bool more_post(uint32_t lane)
{
    Lane *l = &all.lane[lane];
    uint32_t op = 0, number = l->posted;

    while (op < UNDER_WAY &&
           __atomic_load_n(&l->op[op].stage, __ATOMIC_ACQUIRE) != IDLE) {
        op++;
    }
    if (op == UNDER_WAY || number == all.own.ops) {
        return false;
    }
    l->posted++;
    l->op[op].number = number;
    switch (number % 4) {
    case 1:
        write_post(lane, op, number);
        break;
    case 2:
        add_post(lane, op);
        break;
    default:
        message_post(lane, op, number);
    }
    return true;
}

/* ---- Completions ----------------------------------------------------------------------- */

static void op_ended(const urma_cr *cr)
{
    uint32_t lane = cr->user_ctx >> 32, slot = cr->user_ctx;
    uint8_t *back;
    uint64_t was;
    Lane *l;
    Op *op;

    END_MUST(lane < all.own.lanes && slot < UNDER_WAY);
    l = &all.lane[lane];
    op = &l->op[slot];
    END_MUST(cr->local_id == l->jetty->jetty_id.id);
    back = all.end.buf + back_at(lane, slot);
    switch (__atomic_load_n(&op->stage, __ATOMIC_ACQUIRE)) {
    case BEGUN:
        if (op->number % 4 == 1) {
            read_post(lane, slot, op->number);
            return;
        }
        if (op->number % 4 == 2) {
            memcpy(&was, back, 8);
            END_MUST(was < (uint64_t)all.own.lanes * all.own.ops / 4);
            /* Nobody else has seen it. */
            END_MUST(!__atomic_exchange_n(&all.added[was], 1,
                                          __ATOMIC_RELAXED));
        }
        break;
    case READ_BACK: {
        uint32_t len = bytes_of(lane, op->number);

        back += op->number % 3;
        END_MUST(end_check(back, len, pattern_of(lane, op->number,
                                                 all.server)) == len);
        END_MUST(back[len] == 0xee);
        break;
    }
    default:
        end_die("a completion of what was not posted");
    }
    __atomic_store_n(&op->stage, IDLE, __ATOMIC_RELEASE);
    __atomic_add_fetch(&l->done, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&all.done, 1, __ATOMIC_RELAXED);
}

static void message_came(const urma_cr *cr)
{
    uint32_t by = cr->user_ctx >> 32, entry = cr->user_ctx, len;
    const uint8_t *at;
    Head head;
    Lane *l;

    END_MUST(by < all.own.lanes && entry < AWAITED);
    at = all.end.buf + recv_at(by, entry);
    memcpy(&head, at, sizeof(head));
    END_MUST(head.lane < all.own.lanes && head.number < all.own.ops);
    l = &all.lane[head.lane];
    len = bytes_of(head.lane, head.number);
    END_MUST(all.own.shared || by == head.lane);
    END_MUST(cr->local_id == l->jetty->jetty_id.id);
    END_MUST(cr->remote_id.id == all.peer.id[head.lane].id);
    END_MUST(cr->completion_len == sizeof(head) + len);
    END_MUST(cr->opcode == (head.number % 4 ? URMA_CR_SEND_IMM
                                            : URMA_CR_SEND));
    END_MUST(!(head.number % 4) || cr->imm_data == ~(uint64_t)head.number);
    END_MUST(end_check(at + sizeof(head), len,
                       pattern_of(head.lane, head.number, !all.server)) ==
             len);
    END_MUST(at[sizeof(head) + len] == 0xdd);
    END_MUST(!__atomic_exchange_n(&l->seen[head.number], 1, __ATOMIC_RELAXED));
    entry_post(by, entry);
    __atomic_add_fetch(&l->came, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&all.came, 1, __ATOMIC_RELAXED);
}

/* How many. */
static int completions(urma_jfc *jfc)
{
    urma_cr cr[POLLED];
    int n = all.end.ops->poll_jfc(jfc, POLLED, cr);

    END_MUST(n >= 0 && n <= POLLED);
    for (int i = 0; i < n; i++) {
        if (cr[i].status != URMA_CR_SUCCESS) {
            end_die("status %u of a %s", cr[i].status,
                    cr[i].flag & URMA_CR_RECEIVE ? "message" : "request");
        }
        if (cr[i].flag & URMA_CR_RECEIVE) {
            message_came(&cr[i]);
        } else {
            op_ended(&cr[i]);
        }
    }
    return n;
}

/* ---- Threads ------------------------------------------------------------------------------ */

static bool finished(const Lane *l)
{
    uint32_t of = all.own.shared ? all.own.lanes : 1;
    const uint32_t *done = all.own.shared ? &all.done : &l->done;
    const uint32_t *came = all.own.shared ? &all.came : &l->came;

    return __atomic_load_n(done, __ATOMIC_RELAXED) == of * all.own.ops &&
           __atomic_load_n(came, __ATOMIC_RELAXED) == of * all.own.ops / 2;
}

static void *thread_run(void *arg)
{
    uint32_t lane = (uintptr_t)arg, before = 0;
    Lane *l = &all.lane[lane];
    time_t still = time(NULL);
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(lane % sysconf(_SC_NPROCESSORS_ONLN), &set);
    END_MUST(!sched_setaffinity(0, sizeof(set), &set));
    while (!finished(l)) {
        uint32_t now;

        while (more_post(lane)) {
        }
        l->polled += completions(l->jfc);
        now = __atomic_load_n(&all.done, __ATOMIC_RELAXED) +
              __atomic_load_n(&all.came, __ATOMIC_RELAXED);
        if (now != before) {
            before = now;
            still = time(NULL);
        } else if (time(NULL) > still + STILL) {
            end_die("thread %u: %u posted, %u done, %u came", lane, l->posted,
                    l->done, l->came);
        }
    }
    return NULL;
}

static void threads_run(void)
{
    pthread_t thread[LANES_MAX];

    for (uintptr_t i = 0; i < all.own.lanes; i++) {
        END_MUST(!pthread_create(&thread[i], NULL, thread_run, (void *)i));
    }
    if (!all.server) {
        while (__atomic_load_n(&all.done, __ATOMIC_RELAXED) <
               (all.own.ops < RUNNING ? all.own.ops : RUNNING)) {
            usleep(1000);
        }
        printf("running\n");
        fflush(stdout);
    }
    for (uint32_t i = 0; i < all.own.lanes; i++) {
        END_MUST(!pthread_join(thread[i], NULL));
    }
}

/* ---- Both ends ------------------------------------------------------------------------------ */

static urma_jfc *jfc_make(void)
{
    urma_jfc_cfg cfg = { .depth = 2 * LANES_MAX * (UNDER_WAY + AWAITED) };
    urma_jfc *jfc = all.end.ops->create_jfc(all.end.ctx, &cfg);

    END_MUST(jfc);
    return jfc;
}

static urma_jfr *jfr_make(urma_jfc *jfc)
{
    urma_jfr_cfg cfg = all.end.jfr->cfg;
    urma_jfr *jfr;

    cfg.depth = LANES_MAX * AWAITED;
    cfg.jfc = jfc;
    jfr = all.end.ops->create_jfr(all.end.ctx, &cfg);
    END_MUST(jfr);
    return jfr;
}

static void lanes_make(void)
{
    urma_jetty_cfg cfg = all.end.jetty->cfg;

    for (uint32_t i = 0; i < all.own.lanes; i++) {
        Lane *l = &all.lane[i];
        bool first = !all.own.shared || !i;

        memset(l, 0, sizeof(*l));
        l->jfc = first ? jfc_make() : all.lane[0].jfc;
        l->jfr = first ? jfr_make(l->jfc) : all.lane[0].jfr;
        cfg.jfr = l->jfr;
        cfg.jfs_cfg.jfc = l->jfc;
        l->jetty = all.end.ops->create_jetty(all.end.ctx, &cfg);
        l->seen = calloc(all.own.ops, 1);
        END_MUST(l->jetty && l->seen);
        all.own.id[i] = l->jetty->jetty_id;
    }
    all.added = calloc((size_t)all.own.lanes * all.own.ops / 4, 1);
    END_MUST(all.added);
}

static void lanes_import(void)
{
    for (uint32_t i = 0; i < all.own.lanes; i++) {
        urma_rjetty peer = all.peer.address.jetty;
        urma_token value = { END_TOKEN };
        Lane *l = &all.lane[i];

        peer.jetty_id = all.peer.id[i];
        l->peer = all.end.ops->import_jetty(all.end.ctx, &peer, &value);
        END_MUST(l->peer);
        END_MUST(all.own.trans_mode != URMA_RC ||
                 !all.end.ops->bind_jetty(l->jetty, l->peer));
        for (uint32_t e = 0; e < AWAITED; e++) {
            entry_post(i, e);
        }
    }
}

static void lanes_free(void)
{
    const urma_ops *ops = all.end.ops;

    for (uint32_t i = 0; i < all.own.lanes; i++) {
        Lane *l = &all.lane[i];

        END_MUST(all.own.trans_mode != URMA_RC || !ops->unbind_jetty(l->jetty));
        END_MUST(!ops->unimport_jetty(l->peer));
        END_MUST(!ops->delete_jetty(l->jetty));
        free(l->seen);
    }
    for (uint32_t i = 0; i < (all.own.shared ? 1 : all.own.lanes); i++) {
        END_MUST(!ops->delete_jfr(all.lane[i].jfr));
        END_MUST(!ops->delete_jfc(all.lane[i].jfc));
    }
    free(all.added);
}

static void end_prepare(void)
{
    EndConfig cfg = link_rm;

    cfg.trans_mode = all.own.trans_mode;
    END_MUST(LANES_AT + LANES_MAX * LANE_BYTES <= END_BUF);
    END_MUST(all.own.lanes && all.own.lanes <= LANES_MAX && all.own.ops &&
             all.own.ops <= OPS_MAX && all.own.ops % 4 == 0);
    end_open(&all.end);
    end_make(&all.end, &cfg);
    end_address(&all.end, &all.own.address);
    lanes_make();
    all.done = all.came = 0;
}

/* Both are there. */
static void meet(int fd)
{
    uint32_t here = 1;

    end_say(fd, &here, sizeof(here));
    END_MUST(end_hear(fd, &here, sizeof(here)));
}

static void both_run(int fd)
{
    uint64_t number;

    end_import(&all.end, &all.peer.address, END_TOKEN);
    lanes_import();
    meet(fd);
    threads_run();
    meet(fd);
    memcpy(&number, all.end.buf + NUMBER_AT, 8);
    END_MUST(number == (uint64_t)all.own.lanes * all.own.ops / 4);
    for (uint32_t i = 0; i < (all.own.shared ? 1 : all.own.lanes); i++) {
        END_MUST(!completions(all.lane[i].jfc));
    }
    meet(fd);
    lanes_free();
    end_close(&all.end);
}

static void parallel_client(int fd)
{
    all.server = true;
    END_MUST(end_hear(fd, &all.peer, sizeof(all.peer)));
    all.own = all.peer;
    end_prepare();
    end_say(fd, &all.own, sizeof(all.own));
    both_run(fd);
    close(fd);
}

void link_parallel_serve(uint16_t port)
{
    end_serve(port, parallel_client);
}

void link_parallel(const char *host, uint16_t port, const char *mode,
                   const char *jfc, uint32_t threads, uint32_t ops)
{
    int fd;

    all.own = (Hello) {
        .lanes = threads, .ops = ops, .shared = !strcmp(jfc, "shared"),
        .trans_mode = !strcmp(mode, "rc") ? URMA_RC : URMA_RM,
    };
    end_prepare();
    fd = end_dial(host, port);
    end_say(fd, &all.own, sizeof(all.own));
    END_MUST(end_hear(fd, &all.peer, sizeof(all.peer)));
    both_run(fd);
    close(fd);
    printf("good");
    for (uint32_t i = 0; i < threads; i++) {
        printf(" %u", all.lane[i].polled);
    }
    printf("\n");
}
