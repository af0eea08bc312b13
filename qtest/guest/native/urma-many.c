/*
 * Messages of many jetties through one JFR and one JFC, and long ones.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "urma-link.h"

/* ---- Many jetties at an end ------------------------------------------------------- */

#define SLOT (16u << 10)        /* a message's room */
#define SLOTS END_DEPTH
#define BATCH 16u               /* messages until the receiver says go on */
#define SCATTER_AT (1u << 20)
#define OWN_AT 0u               /* numbers of the jetties, which the peer reads */
#define PEER_AT 32768u          /* and writes its own */
#define ROUNDS 4u

typedef struct Head {
    uint32_t who, round;
} Head;

static uint32_t message_len(uint32_t who, uint32_t round)
{
    return sizeof(Head) + (who * 977 + round * 3331) % 9000;
}

static uint32_t message_seed(uint32_t who, uint32_t round)
{
    return who * 5 + round * 11;
}

void end_many_make(End *end, uint32_t n)
{
    urma_jetty_cfg cfg = end->jetty->cfg;
    uint32_t *own = (uint32_t *)(end->buf + OWN_AT);

    END_MUST(n && n <= END_MANY_MAX && !end->many);
    end->many = calloc(n, sizeof(*end->many));
    END_MUST(end->many);
    end->n_many = n;
    cfg.jfs_cfg.depth = BATCH;
    for (uint32_t i = 0; i < n; i++) {
        end->many[i].jetty = end->ops->create_jetty(end->ctx, &cfg);
        END_MUST(end->many[i].jetty);
        own[i] = end->many[i].jetty->jetty_id.id;
    }
}

static void many_import(End *end, uint32_t i, const urma_jetty_id *id)
{
    urma_rjetty peer = {
        .jetty_id = *id, .trans_mode = end->cfg.trans_mode,
        .type = URMA_TARGET_JETTY, .flag = end->cfg.plain,
        .tp_type = end->cfg.tp_type,
    };
    urma_token value = { END_TOKEN };

    end->many[i].peer = end->ops->import_jetty(end->ctx, &peer, &value);
    END_MUST(end->many[i].peer);
}

void end_many_import(End *end, const urma_eid *eid)
{
    const uint32_t *id = (const uint32_t *)(end->buf + PEER_AT);

    for (uint32_t i = 0; i < end->n_many; i++) {
        many_import(end, i, &(urma_jetty_id) { .eid = *eid, .id = id[i] });
    }
}

void end_many_free(End *end)
{
    for (uint32_t i = 0; i < end->n_many; i++) {
        END_MUST(!end->many[i].peer ||
                 !end->ops->unimport_jetty(end->many[i].peer));
        END_MUST(!end->ops->delete_jetty(end->many[i].jetty));
    }
    free(end->many);
    end->many = NULL;
    end->n_many = 0;
}

static void scatter_one(End *end, uint32_t i, uint32_t who, uint32_t round,
                        uint8_t *at)
{
    uint32_t len = message_len(who, round);
    Head head = { who, round };
    urma_sge src = { .addr = (uintptr_t)at, .len = len, .tseg = end->seg };
    urma_jfs_wr *bad, wr = {
        .opcode = URMA_WR_SEND, .flag = URMA_WR_COMPLETE,
        .tjetty = end->many[i].peer, .send = { .src = { &src, 1 } },
    };

    memcpy(at, &head, sizeof(head));
    end_fill(at + sizeof(head), len - sizeof(head), message_seed(who, round));
    END_MUST(!end->ops->post_jetty_send_wr(end->many[i].jetty, &wr, &bad));
}

void end_many_scatter(End *end, int fd, uint32_t first, uint32_t rounds)
{
    uint32_t all = end->n_many * rounds, go;
    urma_cr cr;

    END_MUST(all % BATCH == 0 && end_hear(fd, &go, sizeof(go)));
    for (uint32_t m = 0; m < all;) {
        for (uint32_t i = 0; i < BATCH; i++, m++) {
            uint32_t who = m % end->n_many;

            scatter_one(end, who, first + who, m / end->n_many,
                        end->buf + SCATTER_AT + i * SLOT);
        }
        for (uint32_t i = 0; i < BATCH; i++) {
            end_expect(end, &cr, URMA_CR_SUCCESS);
        }
        END_MUST(end_hear(fd, &go, sizeof(go)));
    }
}

/* A message: of whom, whole, for the first time. */
static uint32_t gather_one(End *end, const urma_cr *cr, uint8_t *seen,
                           uint32_t rounds)
{
    const uint8_t *at = end->buf + RECV_AT + cr->user_ctx * SLOT;
    uint32_t len = cr->completion_len - sizeof(Head);
    const EndMany *from;
    Head head;

    memcpy(&head, at, sizeof(head));
    END_MUST(cr->flag & URMA_CR_RECEIVE && head.who < end->n_many &&
             head.round < rounds);
    END_MUST(cr->completion_len == message_len(head.who, head.round));
    END_MUST(end_check(at + sizeof(head), len,
                       message_seed(head.who, head.round)) == len);
    from = &end->many[head.who];
    END_MUST(cr->local_id == from->jetty->jetty_id.id);
    END_MUST(cr->remote_id.id == from->peer->id.id &&
             !memcmp(cr->remote_id.eid.raw, from->peer->id.eid.raw, 16));
    END_MUST(!seen[head.who * rounds + head.round]++);
    return head.who;
}

void end_many_gather(End *end, const int *fd, uint32_t fds, uint32_t rounds)
{
    uint32_t all = end->n_many * rounds, got[END_GATHER_MAX] = { 0 };
    uint8_t *seen = calloc(all, 1);
    urma_cr cr;

    END_MUST(seen && fds <= END_GATHER_MAX && fds * BATCH <= SLOTS);
    for (uint32_t i = 0; i < SLOTS; i++) {
        END_MUST(!end_post_recv(end, RECV_AT + i * SLOT, SLOT, i));
    }
    for (uint32_t i = 0; i < fds; i++) {
        end_say(fd[i], &got[i], sizeof(got[i]));
    }
    for (uint32_t m = 0; m < all; m++) {
        uint32_t of;

        end_expect(end, &cr, URMA_CR_SUCCESS);
        of = gather_one(end, &cr, seen, rounds) % fds;
        END_MUST(!end_post_recv(end, RECV_AT + cr.user_ctx * SLOT, SLOT,
                                cr.user_ctx));
        if (++got[of] % BATCH == 0) {
            end_say(fd[of], &got[of], sizeof(got[of]));
        }
    }
    end_quiet(end);
    free(seen);
}

/* ---- A thousand ------------------------------------------------------------------------ */

void link_case_thousand(const char *host)
{
    Say s = { .order = ORDER_MANY, .len = 1000 };
    uint32_t bytes = s.len * sizeof(uint32_t);
    urma_cr cr;
    Link l;

    link_open(&l, host, link_rm);
    END_MUST(l.fd >= 0);
    link_ask(&l, s);
    end_many_make(&l.end, s.len);
    end_read(&l.end, PEER_AT, OWN_AT, bytes);
    end_expect(&l.end, &cr, URMA_CR_SUCCESS);
    end_write(&l.end, URMA_WR_WRITE, 0, OWN_AT, PEER_AT, bytes);
    end_expect(&l.end, &cr, URMA_CR_SUCCESS);
    end_many_import(&l.end, &l.end.peer->id.eid);
    link_ask(&l, (Say) { .order = ORDER_MANY_IMPORT });
    /* There, and back. */
    s = (Say) { .order = ORDER_GATHER, .len = ROUNDS };
    end_say(l.fd, &s, sizeof(s));
    end_many_scatter(&l.end, l.fd, 0, ROUNDS);
    END_MUST(end_hear(l.fd, &s, sizeof(s)));
    s.order = ORDER_SCATTER;
    end_say(l.fd, &s, sizeof(s));
    end_many_gather(&l.end, &l.fd, 1, ROUNDS);
    END_MUST(end_hear(l.fd, &s, sizeof(s)));
    link_close(&l);
}

/* ---- Many clients ------------------------------------------------------------------------ */

#define GATHER_PORT 7472
#define GATHER_ROUNDS 512u

/* What a client and the end that gathers tell each other. */
typedef struct Hello {
    uint32_t who;
    urma_jetty_id id;
} Hello;

/* Called by end_serve(), which has one after another: they stay. */
static struct {
    End end;
    int fd[END_GATHER_MAX];
    unsigned clients, here;
} gather;

static void gather_client(int fd)
{
    Hello hello = { .who = gather.here };

    hello.id = gather.end.many[gather.here].jetty->jetty_id;
    end_say(fd, &hello, sizeof(hello));
    END_MUST(end_hear(fd, &hello, sizeof(hello)));
    many_import(&gather.end, gather.here, &hello.id);
    gather.fd[gather.here++] = fd;
    if (gather.here < gather.clients) {
        return;
    }
    end_many_gather(&gather.end, gather.fd, gather.clients, GATHER_ROUNDS);
    for (unsigned i = 0; i < gather.clients; i++) {
        END_MUST(!end_hear(gather.fd[i], &hello, sizeof(hello)));
        close(gather.fd[i]);
    }
    end_many_free(&gather.end);
    end_close(&gather.end);
    printf("gathered %u\n", gather.clients * GATHER_ROUNDS);
    exit(0);
}

void link_gather(unsigned clients)
{
    END_MUST(clients && clients <= END_GATHER_MAX);
    gather.clients = clients;
    end_open(&gather.end);
    end_make(&gather.end, &link_rm);
    end_many_make(&gather.end, clients);
    end_serve(GATHER_PORT, gather_client);
}

void link_scatter(const char *host)
{
    Hello hello;
    End end;
    int fd;

    end_open(&end);
    end_make(&end, &link_rm);
    end_many_make(&end, 1);
    fd = end_dial(host, GATHER_PORT);
    END_MUST(end_hear(fd, &hello, sizeof(hello)));
    many_import(&end, 0, &hello.id);
    hello.id = end.many[0].jetty->jetty_id;
    end_say(fd, &hello, sizeof(hello));
    end_many_scatter(&end, fd, hello.who, GATHER_ROUNDS);
    close(fd);
    end_many_free(&end);
    end_close(&end);
    printf("scattered %u\n", GATHER_ROUNDS);
}

/* ---- Long ones ---------------------------------------------------------------------------- */

#define LARGE (64u << 20)
#define LARGE_SLACK 65536u

static void large_write(Link *l, uint32_t len, uint32_t local, uint32_t remote)
{
    urma_cr cr;

    end_fill(l->end.buf + local, len, len + local);
    end_write(&l->end, URMA_WR_WRITE, 0, local, remote, len);
    end_expect(&l->end, &cr, URMA_CR_SUCCESS);
    link_peer_check(l, remote, len, len + local);
}

static void large_read(Link *l, uint32_t len, uint32_t local, uint32_t remote)
{
    urma_cr cr;

    link_ask(l, (Say) { .order = ORDER_FILL, .off = remote, .len = len,
                        .seed = 9 });
    memset(l->end.buf + local, 0xee, len + 1);
    end_read(&l->end, local, remote, len);
    end_expect(&l->end, &cr, URMA_CR_SUCCESS);
    END_MUST(end_check(l->end.buf + local, len, 9) == len);
    END_MUST(l->end.buf[local + len] == 0xee);
}

/* Of elements that end anywhere, into such. */
static void large_send(Link *l, uint32_t len, uint32_t local, uint32_t remote)
{
    urma_sge src[END_SGE];
    urma_jfs_wr wr = {
        .opcode = URMA_WR_SEND, .flag = URMA_WR_COMPLETE,
        .send = { .src = { src, END_SGE } },
    };
    uint32_t at = 0;
    urma_cr cr;
    Say s;

    for (unsigned i = 0; i < END_SGE; i++) {
        uint32_t part = i + 1 < END_SGE ? len / 7 * (i + 1) + i : len - at;

        src[i] = (urma_sge) {
            .addr = (uintptr_t)l->end.buf + local + at, .len = part,
            .tseg = l->end.seg,
        };
        at += part;
    }
    END_MUST(!link_ask(l, (Say) { .order = ORDER_RECV, .off = remote,
                                  .len = len, .elements = 3 }).status);
    end_fill(l->end.buf + local, len, 77);
    END_MUST(!end_post(&l->end, &wr));
    end_expect(&l->end, &cr, URMA_CR_SUCCESS);
    s = link_ask(l, (Say) { .order = ORDER_RECEIVED });
    END_MUST(s.status == URMA_CR_SUCCESS && s.len == len);
    link_peer_check(l, remote, len, 77);
}

void link_case_large(const char *host)
{
    EndConfig cfg = link_rm;
    Link l;

    cfg.bytes = LARGE + LARGE_SLACK;
    link_open(&l, host, cfg);
    for (uint32_t len = 1; len <= LARGE; len *= 4) {
        large_write(&l, len, 1 + len % 61, 3);
    }
    large_read(&l, LARGE - 1, 4097, 5);
    large_send(&l, LARGE - 3, 7, 8191);
    end_quiet(&l.end);
    link_close(&l);
}
