/*
 * URMA between two guests.
 *
 *   urma-drive serve                  do what clients say, one after another
 *   urma-drive test HOST NAME...      cases against a server; "self": with itself
 *   urma-drive until FILE HOST NAME...  these cases again and again until there is FILE;
 *                                     tells of each round
 *   urma-drive await EVENT...         tell of asynchronous events until those were there
 *   urma-drive gather N               receive from N clients at once, through one JFR
 *   urma-drive scatter HOST           be such a client
 *   urma-drive parallel PORT          serve threads that post and poll at once
 *   urma-drive parallel PORT HOST rm|rc own|shared THREADS OPS
 *                                     be such a client
 *   urma-drive flood HOST             write for ever, until killed
 *   urma-drive corrupt SEED N         N jetties whose rings the program writes over
 *   urma-drive abuse SEED N           N random commands and calls
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ub/urma_hw.h"
#include "ubc.h"
#include "urma-link.h"

static const struct {
    uint32_t local, remote, len;
} spans[] = {
    { 0, 0, 1 }, { 1, 2, 3 }, { 4095, 0, 2 }, { 0, 4093, 8 }, { 64, 64, 64 },
    { 7, 9, 1000 }, { 0, 0, 4096 }, { 100, 4000, 4097 }, { 0, 0, 65536 },
    { 3, 5, 70001 }, { 0, 0, 1 << 20 }, { 4097, 12289, 1500000 },
};

#define SPANS (sizeof(spans) / sizeof(spans[0]))

static void writes(Link *l)
{
    urma_cr cr;

    for (unsigned i = 0; i < SPANS; i++) {
        end_fill(l->end.buf + spans[i].local, spans[i].len, i);
        end_write(&l->end, URMA_WR_WRITE, 0, spans[i].local, spans[i].remote,
                  spans[i].len);
        end_expect(&l->end, &cr, URMA_CR_SUCCESS);
        END_MUST(cr.user_ctx == 0x5e4d0000 + spans[i].len);
        link_peer_check(l, spans[i].remote, spans[i].len, i);
    }
}

static void reads(Link *l)
{
    urma_cr cr;

    for (unsigned i = 0; i < SPANS; i++) {
        link_ask(l, (Say) { .order = ORDER_FILL, .off = spans[i].remote,
                       .len = spans[i].len, .seed = 100 + i });
        memset(l->end.buf + spans[i].local, 0xee, spans[i].len + 1);
        end_read(&l->end, spans[i].local, spans[i].remote, spans[i].len);
        end_expect(&l->end, &cr, URMA_CR_SUCCESS);
        END_MUST(end_check(l->end.buf + spans[i].local, spans[i].len,
                           100 + i) == spans[i].len);
        END_MUST(l->end.buf[spans[i].local + spans[i].len] == 0xee);
    }
}

static void sends_of(Link *l, uint32_t longest)
{
    uint32_t own = l->end.jetty ? l->end.jetty->jetty_id.id
                                : l->end.jfs->jfs_id.id;
    urma_cr cr;
    Say s;

    for (unsigned i = 0; i < SPANS && spans[i].len <= longest; i++) {
        uint32_t flag = spans[i].len <= END_INLINE && i % 2 ? URMA_WR_INLINE
                                                            : 0;
        uint32_t to = RECV_AT + i;

        END_MUST(!link_ask(l, (Say) { .order = ORDER_RECV, .off = to,
                                 .len = spans[i].len + 10 }).status);
        end_fill(l->end.buf + spans[i].local, spans[i].len, 50 + i);
        end_send(&l->end, i & 1 ? URMA_WR_SEND_IMM : URMA_WR_SEND, flag,
                 spans[i].local, spans[i].len, 0xabcd00000000 + i);
        end_expect(&l->end, &cr, URMA_CR_SUCCESS);
        s = link_ask(l, (Say) { .order = ORDER_RECEIVED });
        END_MUST(s.status == URMA_CR_SUCCESS && s.len == spans[i].len);
        END_MUST(s.seed == (i & 1 ? URMA_CR_SEND_IMM : URMA_CR_SEND));
        END_MUST(!(i & 1) || s.value == 0xabcd00000000 + i);
        END_MUST(s.remote == own && s.off == to);
        link_peer_check(l, to, spans[i].len, 50 + i);
    }
}

static void atomics(Link *l)
{
    static const struct {
        uint32_t opcode;
        uint64_t before, first, second, after;
    } ops[] = {
        { URMA_WR_FADD, 40, 2, 0, 42 },
        { URMA_WR_FSUB, 40, 41, 0, UINT64_MAX },
        { URMA_WR_FAND, 0xff00ff, 0x0ff0ff, 0, 0x0f00ff },
        { URMA_WR_FOR, 0xf0, 0x0f, 0, 0xff },
        { URMA_WR_FXOR, 0xff, 0x0f, 0, 0xf0 },
        { URMA_WR_SWAP, 1, 0, 0x123456789abcdef0, 0x123456789abcdef0 },
        { URMA_WR_CAS, 7, 7, 9, 9 },
        { URMA_WR_CAS, 7, 8, 9, 7 },
    };
    uint64_t old;
    urma_cr cr;

    for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        link_ask(l, (Say) { .order = ORDER_PUT64, .off = 512,
                       .value = ops[i].before });
        end_atomic(&l->end, ops[i].opcode, 8, 512, ops[i].first,
                   ops[i].second);
        end_expect(&l->end, &cr, URMA_CR_SUCCESS);
        memcpy(&old, l->end.buf + 8, 8);
        if (old != ops[i].before || link_peer_get(l, 512) != ops[i].after) {
            end_die("atomic %u: %llx, %llx", i, (unsigned long long)old,
                    (unsigned long long)link_peer_get(l, 512));
        }
    }
}

static void immediates(Link *l)
{
    urma_cr cr;
    Say s;

    link_ask(l, (Say) { .order = ORDER_RECV, .off = RECV_AT, .len = 64 });
    end_fill(l->end.buf, 5000, 9);
    end_write(&l->end, URMA_WR_WRITE_IMM, 0, 0, 8192, 5000);
    end_expect(&l->end, &cr, URMA_CR_SUCCESS);
    s = link_ask(l, (Say) { .order = ORDER_RECEIVED });
    END_MUST(s.status == 0 && s.seed == URMA_CR_WRITE_IMM &&
             s.value == 0x1122334455667788);
    link_peer_check(l, 8192, 5000, 9);
    end_write(&l->end, URMA_WR_WRITE_NOTIFY, 0, 0, 20000, 5000);
    end_expect(&l->end, &cr, URMA_CR_SUCCESS);
    END_MUST(link_peer_get(l, 0) == 0x1122334455667788);
    link_peer_check(l, 20000, 5000, 9);
}

/* Elements that are scattered, and inline data. */
static void lists(Link *l)
{
    urma_sge src[END_SGE], dst = {
        .addr = l->end.peer_seg->seg.ubva.va + 300000,
        .tseg = l->end.peer_seg,
    };
    urma_jfs_wr wr = {
        .opcode = URMA_WR_WRITE, .flag = URMA_WR_COMPLETE,
        .rw = { .src = { src, END_SGE }, .dst = { &dst, 1 } },
    };
    uint32_t at = 0;
    urma_cr cr;

    end_fill(l->end.buf + (1 << 20), 40000, 77);
    for (unsigned i = 0; i < END_SGE; i++) {
        uint32_t len = 1 + i * 5000;

        src[i] = (urma_sge) {
            .addr = (uintptr_t)l->end.buf + i * 100001, .len = len,
            .tseg = l->end.seg,
        };
        memcpy(l->end.buf + i * 100001, l->end.buf + (1 << 20) + at, len);
        at += len;
    }
    dst.len = at;
    END_MUST(!end_post(&l->end, &wr));
    end_expect(&l->end, &cr, URMA_CR_SUCCESS);
    END_MUST(cr.completion_len == at);
    link_peer_check(l, 300000, at, 77);
    end_fill(l->end.buf, END_INLINE, 5);
    end_write(&l->end, URMA_WR_WRITE, URMA_WR_INLINE, 0, 77, END_INLINE);
    memset(l->end.buf, 0, END_INLINE);      /* they were taken */
    end_expect(&l->end, &cr, URMA_CR_SUCCESS);
    link_peer_check(l, 77, END_INLINE, 5);
}

/* Queues run around many times, completions come in order. */
static void wraps(Link *l)
{
    uint32_t posted = 0, done = 0;
    urma_cr cr;

    while (done < 3000) {
        while (posted < 3000 && posted - done < END_DEPTH / 2) {
            urma_sge src = { .addr = (uintptr_t)l->end.buf + posted % 512 * 8,
                             .len = 8, .tseg = l->end.seg };
            urma_sge dst = { .addr = l->end.peer_seg->seg.ubva.va +
                                     posted % 1024 * 8,
                             .len = 8, .tseg = l->end.peer_seg };
            urma_jfs_wr wr = {
                .opcode = URMA_WR_WRITE,
                .flag = posted % 3 == 2 ? URMA_WR_COMPLETE : 0,
                .user_ctx = posted,
                .rw = { .src = { &src, 1 }, .dst = { &dst, 1 } },
            };

            END_MUST(!end_post(&l->end, &wr));
            posted++;
        }
        end_expect(&l->end, &cr, URMA_CR_SUCCESS);
        END_MUST(cr.user_ctx == done + 2);
        done += 3;
    }
    end_quiet(&l->end);
}

static void duplex(const char *host, EndConfig cfg)
{
    Link l;

    link_open(&l, host, cfg);
    writes(&l);
    reads(&l);
    sends_of(&l, UINT32_MAX);
    atomics(&l);
    immediates(&l);
    lists(&l);
    wraps(&l);
    end_quiet(&l.end);
    link_close(&l);
}

static void case_rm(const char *host)
{
    duplex(host, link_rm);
}

static void case_ctp(const char *host)
{
    EndConfig cfg = link_rm;
    Link l;

    cfg.tp_type = URMA_CTP;
    link_open(&l, host, cfg);
    writes(&l);
    reads(&l);
    atomics(&l);
    link_close(&l);
}

static void case_rc(const char *host)
{
    EndConfig cfg = link_rm;

    cfg.trans_mode = URMA_RC;
    duplex(host, cfg);
}

static void case_um(const char *host)
{
    EndConfig cfg = link_rm;
    urma_cr cr;
    Link l;

    cfg.trans_mode = URMA_UM;
    cfg.tp_type = URMA_CTP;
    link_open(&l, host, cfg);
    sends_of(&l, 3000);
    /* One packet has no room for it, and UM has no more than one. */
    end_send(&l.end, URMA_WR_SEND, 0, 0, 8193, 0);
    end_expect(&l.end, &cr, URMA_CR_LOCAL_LENGTH);
    sends_of(&l, 8192);
    link_close(&l);
}

static void case_simplex(const char *host)
{
    EndConfig cfg = link_rm;
    Link l;

    cfg.simplex = 1;
    cfg.plain = 0;
    link_open(&l, host, cfg);
    writes(&l);
    reads(&l);
    sends_of(&l, UINT32_MAX);
    link_close(&l);
}

/* ---- What must be refused ---------------------------------------------------------------- */

static void refused(Link *l, uint64_t local, uint64_t remote, uint32_t len,
                    uint32_t status)
{
    urma_cr cr;

    end_write(&l->end, URMA_WR_WRITE, 0, local, remote, len);
    end_expect(&l->end, &cr, status);
}

/* Beyond the segment: not mapped, or not granted, whichever is seen first. */
static void refused_beyond(Link *l, uint64_t remote, uint32_t len)
{
    urma_cr cr;

    end_write(&l->end, URMA_WR_WRITE, 0, 0, remote, len);
    end_poll(&l->end, &cr);
    END_MUST(cr.status == URMA_CR_REMOTE_UNSUPPORTED ||
             cr.status == URMA_CR_REMOTE_ABORT);
}

static void case_refused(const char *host)
{
    EndConfig cfg = link_rm;
    EndAddress peer = { 0 };
    uint64_t beyond = (uintptr_t)sbrk(0);
    urma_cr cr;
    Link l;

    link_open(&l, host, cfg);
    link_ask(&l, (Say) { .order = ORDER_MARK, .len = 8192, .seed = 0x55 });
    /* Past the end; memory of ours that was not registered. */
    refused_beyond(&l, END_BUF - 3, 4);
    refused_beyond(&l, (uint64_t)-8, 4);
    refused(&l, beyond - 64 - (uintptr_t)l.end.buf, 0, 64,
            URMA_CR_LOCAL_ACCESS);
    /* Another TokenValue. */
    peer.jetty.jetty_id = l.end.peer->id;
    peer.jetty.trans_mode = URMA_RM;
    peer.jetty.type = URMA_TARGET_JETTY;
    peer.jetty.flag = 1;
    peer.seg = l.end.peer_seg->seg;
    END_MUST(!l.end.ops->unimport_jetty(l.end.peer));
    END_MUST(!l.end.ops->unimport_seg(l.end.peer_seg));
    end_import(&l.end, &peer, END_TOKEN + 1);
    refused(&l, 0, 0, 64, URMA_CR_REMOTE_UNSUPPORTED);
    link_ask(&l, (Say) { .order = ORDER_RECV, .off = RECV_AT, .len = 64 });
    end_send(&l.end, URMA_WR_SEND, 0, 0, 64, 0);
    end_poll(&l.end, &cr);
    END_MUST(cr.status == URMA_CR_REMOTE_ABORT);
    END_MUST(link_peer_get(&l, 0) == 0x5555555555555555);
    /* The right one again, until the segment is gone. */
    END_MUST(!l.end.ops->unimport_jetty(l.end.peer));
    END_MUST(!l.end.ops->unimport_seg(l.end.peer_seg));
    end_import(&l.end, &peer, END_TOKEN);
    refused(&l, 0, 0, 64, URMA_CR_SUCCESS);
    END_MUST(!link_ask(&l, (Say) { .order = ORDER_UNREGISTER }).status);
    refused_beyond(&l, 0, 64);
    end_quiet(&l.end);
    link_close(&l);
}

static void case_rights(const char *host)
{
    EndConfig cfg = link_rm;
    urma_cr cr;
    Link l;

    cfg.access = URMA_ACCESS_READ;
    link_open(&l, host, cfg);
    link_ask(&l, (Say) { .order = ORDER_FILL, .len = 64, .seed = 3 });
    end_read(&l.end, 0, 0, 64);
    end_expect(&l.end, &cr, URMA_CR_SUCCESS);
    refused(&l, 0, 0, 64, URMA_CR_REMOTE_UNSUPPORTED);
    end_atomic(&l.end, URMA_WR_FADD, 8, 512, 1, 0);
    end_expect(&l.end, &cr, URMA_CR_REMOTE_UNSUPPORTED);
    link_peer_check(&l, 0, 64, 3);
    link_close(&l);
    cfg.access = URMA_ACCESS_LOCAL;
    link_open(&l, host, cfg);
    end_read(&l.end, 0, 0, 64);
    end_expect(&l.end, &cr, URMA_CR_REMOTE_UNSUPPORTED);
    sends_of(&l, 5000);
    link_close(&l);
}

/* ---- States -------------------------------------------------------------------------------- */

static void case_states(const char *host)
{
    urma_recv_attr attr = { .mask = URMA_MODIFY_STATE, .state = URMA_ERROR };
    urma_jetty_cfg cfg;
    urma_cr cr;
    Link l;

    link_open(&l, host, link_rm);
    END_MUST(!l.end.ops->modify_jetty(l.end.jetty, &attr));
    END_MUST(!l.end.ops->query_jetty(l.end.jetty, &cfg, &attr));
    END_MUST(attr.state == URMA_ERROR && cfg.jfs_cfg.depth == END_DEPTH);
    end_write(&l.end, URMA_WR_WRITE, 0, 0, 0, 64);
    do {
        end_poll(&l.end, &cr);
    } while (cr.status == URMA_CR_FLUSH_DONE);
    END_MUST(cr.status == URMA_CR_FLUSHED);
    for (unsigned state = URMA_RESET; state <= URMA_READY; state++) {
        attr = (urma_recv_attr) { .mask = URMA_MODIFY_STATE, .state = state };
        END_MUST(!l.end.ops->modify_jetty(l.end.jetty, &attr));
    }
    while (l.end.ops->poll_jfc(l.end.jfc, 1, &cr)) {
    }
    writes(&l);
    wraps(&l);
    link_close(&l);
}

/* An error suspends the queue: what is posted then waits, and comes back. */
static void case_flush(const char *host)
{
    urma_recv_attr ready = { .mask = URMA_MODIFY_STATE, .state = URMA_READY };
    EndConfig cfg = link_rm;
    urma_cr cr[8];
    Link l;

    cfg.suspend = 1;
    link_open(&l, host, cfg);
    END_MUST(l.end.ops->flush_jetty(l.end.jetty, 8, cr) < 0);
    for (unsigned lap = 0; lap < 3; lap++) {
        end_write(&l.end, URMA_WR_WRITE, 0, 0, END_BUF - 3, 64);
        end_poll(&l.end, cr);
        END_MUST(cr->status != URMA_CR_SUCCESS);
        end_expect(&l.end, cr, URMA_CR_SUSPEND_DONE);
        for (unsigned i = 0; i < 5; i++) {
            end_write(&l.end, URMA_WR_WRITE, 0, 0, 0, 10 + i);
        }
        END_MUST(l.end.ops->flush_jetty(l.end.jetty, 2, cr) == 2);
        END_MUST(l.end.ops->flush_jetty(l.end.jetty, 6, cr + 2) == 3);
        for (unsigned i = 0; i < 5; i++) {
            END_MUST(cr[i].status == URMA_CR_FLUSHED &&
                     cr[i].user_ctx == 0x5e4d0000 + 10 + i);
        }
        while (l.end.ops->poll_jfc(l.end.jfc, 1, cr)) {
            END_MUST(cr->status == URMA_CR_SUSPEND_DONE);
        }
        END_MUST(!l.end.ops->modify_jetty(l.end.jetty, &ready));
        writes(&l);
    }
    link_close(&l);
}

static int control(End *end, uint32_t opcode, uint64_t handle, uint32_t len,
                   struct urma_progress *p)
{
    urma_user_ctl_in in = { (uintptr_t)&handle, len, opcode };
    urma_user_ctl_out out = { (uintptr_t)p, sizeof(*p), 0 };

    return end->ops->user_ctl(end->ctx, &in, &out);
}

static void case_control(const char *host)
{
    struct urma_progress p = { 0 };
    struct urma_dev_attr attr = { 0 };
    urma_cr cr;
    Link l;

    link_open(&l, host, link_rm);
    /* RTP and CTP; UM has CTP alone. */
    END_MUST(!ubc_call(l.end.ctx, URMA_QUERY_DEV_ATTR, &attr));
    END_MUST(attr.rm_tp_cap == 3 && attr.um_tp_cap == 2);
    for (unsigned i = 0; i < 3; i++) {
        end_write(&l.end, URMA_WR_WRITE, 0, 0, 0, 64);
        end_expect(&l.end, &cr, URMA_CR_SUCCESS);
    }
    END_MUST(!control(&l.end, URMA_CTL_PROGRESS, l.end.jetty->handle, 8, &p));
    END_MUST(p.state == UBQ_STATE_READY && p.send_posted == 3 &&
             p.send_done == 3 && p.group == UBQ_NEW);
    END_MUST(!end_post_recv(&l.end, RECV_AT, 64, 1));
    END_MUST(!control(&l.end, URMA_CTL_PROGRESS, l.end.jfr->handle, 8, &p));
    END_MUST(p.recv_posted == 1 && p.recv_done == 0);
    END_MUST(control(&l.end, 0, l.end.jetty->handle, 8, &p));
    END_MUST(control(&l.end, 99, l.end.jetty->handle, 8, &p));
    END_MUST(control(&l.end, URMA_CTL_PROGRESS, l.end.jfc->handle, 8, &p) ==
             EINVAL);
    END_MUST(control(&l.end, URMA_CTL_PROGRESS, 1ull << 40, 8, &p) == EINVAL);
    END_MUST(control(&l.end, URMA_CTL_PROGRESS, 0, 4, &p) == EINVAL);
    END_MUST(control(&l.end, URMA_CTL_PROGRESS, 0, 4096, &p) == EINVAL);
    link_close(&l);
}

enum { MEMBERS = 3 };

/* A message to a group of @o: who of its members has got it. */
static unsigned group_send(End *end, End *o, urma_jetty *member[MEMBERS],
                           uint8_t hint)
{
    urma_sge src = { .addr = (uintptr_t)end->buf, .len = 8, .tseg = end->seg };
    urma_jfs_wr wr = {
        .opcode = URMA_WR_SEND, .flag = URMA_WR_COMPLETE,
        .send = { .src = { &src, 1 }, .target_hint = hint },
    };
    unsigned i = 0;
    urma_cr cr;

    END_MUST(!end_post_recv(o, RECV_AT, 64, hint));
    END_MUST(!end_post(end, &wr));
    end_expect(end, &cr, URMA_CR_SUCCESS);
    end_expect(o, &cr, URMA_CR_SUCCESS);
    END_MUST(cr.flag & URMA_CR_RECEIVE && cr.user_ctx == hint);
    while (i < MEMBERS && member[i]->jetty_id.id != cr.local_id) {
        i++;
    }
    return i;
}

static void group_run(Link *l, uint32_t policy)
{
    urma_jetty_grp_cfg cfg = { .name = "group", .flag = 1, .policy = policy,
                               .token = { END_TOKEN } };
    urma_jetty_grp *g = l->other.ops->create_jetty_grp(l->other.ctx, &cfg);
    urma_jetty_cfg jetty = { .flag = URMA_JETTY_SHARE_JFR,
                             .jfr = l->other.jfr, .jetty_grp = g };
    urma_rjetty peer = { .trans_mode = URMA_RM, .flag = 1,
                         .type = URMA_TARGET_GROUP };
    urma_target_jetty *single = l->end.peer;
    urma_jetty *member[MEMBERS];
    urma_token token = { END_TOKEN };
    unsigned hit = 0, first, next;

    END_MUST(g);
    jetty.jfs_cfg = l->other.jetty->cfg.jfs_cfg;
    for (unsigned i = 0; i < MEMBERS; i++) {
        member[i] = l->other.ops->create_jetty(l->other.ctx, &jetty);
        END_MUST(member[i]);
    }
    peer.jetty_id = g->jetty_grp_id;
    l->end.peer = l->end.ops->import_jetty(l->end.ctx, &peer, &token);
    END_MUST(l->end.peer);
    for (unsigned i = 0; i < 2 * MEMBERS; i++) {
        first = group_send(&l->end, &l->other, member, i);
        END_MUST(first < MEMBERS);
        hit |= 1u << first;
        if (policy) {       /* the same hint, the same member */
            next = group_send(&l->end, &l->other, member, i);
            END_MUST(next == first);
        }
    }
    END_MUST(hit == (1u << MEMBERS) - 1);
    END_MUST(l->other.ops->delete_jetty_grp(g));    /* it has members */
    END_MUST(!l->end.ops->unimport_jetty(l->end.peer));
    l->end.peer = single;
    for (unsigned i = 0; i < MEMBERS; i++) {
        END_MUST(!l->other.ops->delete_jetty(member[i]));
    }
    END_MUST(!l->other.ops->delete_jetty_grp(g));
}

static void case_group(const char *host)
{
    urma_jetty_grp_cfg bad = { .name = "bad", .policy = 9 };
    Link l;

    link_open(&l, "self", link_rm);
    END_MUST(!l.end.ops->create_jetty_grp(l.end.ctx, &bad));
    group_run(&l, 0);
    group_run(&l, 1);
    link_close(&l);
}

static void case_many(const char *host)
{
    enum { N = 8 };
    Link l[N];
    urma_cr cr;

    for (unsigned i = 0; i < N; i++) {
        link_open(&l[i], "self", link_rm);
    }
    for (unsigned i = 0; i < N; i++) {
        end_fill(l[i].end.buf, 10000, i);
        end_write(&l[i].end, URMA_WR_WRITE, 0, 0, 0, 10000);
    }
    for (unsigned i = 0; i < N; i++) {
        end_expect(&l[i].end, &cr, URMA_CR_SUCCESS);
        link_peer_check(&l[i], 0, 10000, i);
        link_close(&l[i]);
    }
}

/* Far longer than all tries of a device that gives up take. */
#define LONG_NS 100000000

/* A message waits for its receive entry, however often it was told that there is none. */
static void case_patient(const char *host)
{
    EndConfig cfg = link_rm;
    struct timespec from, now;
    urma_cr cr;
    Link l;

    cfg.rnr_timer = 1;
    link_open(&l, host, cfg);
    end_send(&l.end, URMA_WR_SEND, 0, 0, 100, 0);
    clock_gettime(CLOCK_MONOTONIC, &from);
    do {
        link_ask(&l, (Say) { .order = ORDER_GET64 });
        end_quiet(&l.end);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - from.tv_sec) * 1000000000LL + now.tv_nsec <
             from.tv_nsec + LONG_NS);
    link_ask(&l, (Say) { .order = ORDER_RECV, .off = 4096, .len = 100 });
    end_expect(&l.end, &cr, URMA_CR_SUCCESS);
    link_ask(&l, (Say) { .order = ORDER_RECEIVED });
    link_close(&l);
}

/* A request that nobody answers ends after the time that the queue says, of which the
 * typical one is longer than anything here takes. */
static void case_hurried(const char *host)
{
    static const uint32_t timeouts[] = { 1, 4, 14, 17 };

    for (unsigned i = 0; i < sizeof(timeouts) / sizeof(timeouts[0]); i++) {
        EndConfig cfg = link_rm;
        time_t from;
        urma_cr cr;
        Link l;

        cfg.err_timeout = timeouts[i];
        link_open(&l, host, cfg);
        END_MUST(!link_ask(&l, (Say) { .order = ORDER_DEAF }).status);
        from = time(NULL);
        end_send(&l.end, URMA_WR_SEND, 0, 0, 100, 0);
        if (timeouts[i] < 14) {
            end_expect(&l.end, &cr, URMA_CR_ACK_TIMEOUT);
            END_MUST(time(NULL) - from < 40);   /* not the engine's 64 s */
        } else {
            usleep(1000000);    /* far more than 128 ms */
            end_quiet(&l.end);
        }
        link_close(&l);
    }
}

/* Client and server flood one another: while neither has receive entries, and while
 * both do. */
static void case_mutual(const char *host)
{
    Say s = { .order = ORDER_EMPTY, .len = 4000 };
    EndConfig cfg = link_rm;
    Link l;

    cfg.impatient = 1;
    link_open(&l, host, cfg);
    END_MUST(l.fd >= 0);
    end_say(l.fd, &s, sizeof(s));
    end_mutual_empty(&l.end);
    END_MUST(end_hear(l.fd, &s, sizeof(s)));
    end_mutual_open(&l.end);
    s.order = ORDER_OPEN;
    s = link_ask(&l, s);
    s.order = ORDER_FLOOD;
    end_say(l.fd, &s, sizeof(s));
    end_mutual_flood(&l.end, s.len);
    END_MUST(end_hear(l.fd, &s, sizeof(s)));
    link_close(&l);
}

static const struct {
    const char *name;
    void (*run)(const char *host);
} cases[] = {
    { "rm", case_rm }, { "ctp", case_ctp }, { "rc", case_rc },
    { "um", case_um }, { "simplex", case_simplex },
    { "refused", case_refused }, { "rights", case_rights },
    { "events", link_case_events }, { "limit", link_case_limit },
    { "errors", link_case_errors }, { "large", link_case_large },
    { "thousand", link_case_thousand },
    { "states", case_states }, { "many", case_many },
    { "flush", case_flush }, { "control", case_control },
    { "group", case_group }, { "patient", case_patient },
    { "hurried", case_hurried }, { "mutual", case_mutual },
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

static void run_case(const char *name, const char *host)
{
    unsigned i = 0;

    while (i < CASES && strcmp(cases[i].name, name)) {
        i++;
    }
    END_MUST(i < CASES);
    cases[i].run(host);
}

static void test(const char *host, char **names)
{
    for (; *names; names++) {
        run_case(*names, host);
        printf("ok %s\n", *names);
        fflush(stdout);
    }
}

static void until(const char *file, const char *host, char **names)
{
    for (unsigned round = 0; access(file, F_OK); round++) {
        for (char **name = names; *name; name++) {
            run_case(*name, host);
        }
        printf("round %u\n", round);
        fflush(stdout);
    }
    printf("good\n");
}

/* ---- Bad behaviour ------------------------------------------------------------------------- */

static void flood(const char *host)
{
    urma_cr cr;
    Link l;

    link_open(&l, host, link_rm);
    for (unsigned n = 0;; n++) {
        for (unsigned i = 0; i < 16; i++) {
            end_write(&l.end, URMA_WR_WRITE, 0, 0, 65536, 65536);
        }
        for (unsigned i = 0; i < 16; i++) {
            end_expect(&l.end, &cr, URMA_CR_SUCCESS);
        }
        if (n == 3) {
            printf("flooding\n");
            fflush(stdout);
        }
    }
}

/* Wait for what never comes; the device goes meanwhile.  Its memory is not touched
 * any more, so all is left to the end of the process. */
static void bereft(void)
{
    EndConfig cfg = link_rm;
    struct pollfd p;
    urma_jfc *jfc;
    Link l;

    cfg.events = 1;
    link_open(&l, "self", cfg);
    printf("waiting\n");
    fflush(stdout);
    END_MUST(l.end.ops->wait_jfc(l.end.jfce, 1, -1, &jfc) < 0 && errno == EIO);
    p = (struct pollfd) { .fd = l.end.jfce->fd, .events = POLLIN };
    END_MUST(poll(&p, 1, -1) == 1 && p.revents == POLLHUP);
    END_MUST(l.end.ops->wait_jfc(l.end.jfce, 1, 0, &jfc) < 0 && errno == EIO);
    printf("told\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "serve")) {
        end_serve(LINK_PORT, link_serve);
    } else if (argc >= 3 && !strcmp(argv[1], "test")) {
        test(argv[2], argv + 3);
    } else if (argc >= 5 && !strcmp(argv[1], "until")) {
        until(argv[2], argv[3], argv + 4);
    } else if (argc >= 3 && !strcmp(argv[1], "await")) {
        link_await(argv + 2);
    } else if (argc == 3 && !strcmp(argv[1], "gather")) {
        link_gather(atol(argv[2]));
    } else if (argc == 3 && !strcmp(argv[1], "scatter")) {
        link_scatter(argv[2]);
    } else if (argc == 3 && !strcmp(argv[1], "parallel")) {
        link_parallel_serve(atol(argv[2]));
    } else if (argc == 8 && !strcmp(argv[1], "parallel")) {
        link_parallel(argv[3], atol(argv[2]), argv[4], argv[5],
                      atol(argv[6]), atol(argv[7]));
    } else if (argc == 3 && !strcmp(argv[1], "flood")) {
        flood(argv[2]);
    } else if (argc == 4 && !strcmp(argv[1], "corrupt")) {
        end_corrupt(atoll(argv[2]), atol(argv[3]));
    } else if (argc == 2 && !strcmp(argv[1], "bereft")) {
        bereft();
    } else if (argc == 4 && !strcmp(argv[1], "abuse")) {
        end_abuse(atoll(argv[2]), atol(argv[3]));
    } else {
        fprintf(stderr, "usage: urma-drive serve | test HOST NAME... | "
                "until FILE HOST NAME... | await EVENT... | gather N | "
                "scatter HOST | parallel PORT [HOST rm|rc own|shared THREADS "
                "OPS] | flood HOST | bereft | "
                "abuse SEED N | corrupt SEED N\n");
        return 2;
    }
    return 0;
}
