/*
 * Two ends of a URMA connection, for programs in guests.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>
#include <unistd.h>

#include "urma-link.h"

const EndConfig link_rm = { .trans_mode = URMA_RM, .plain = 1,
                            .access = ACCESS_ALL };

/* ---- The server ------------------------------------------------------------------- */

static void serve_received(End *end, Say *s)
{
    urma_cr cr;

    end_poll(end, &cr);
    END_MUST(cr.flag & URMA_CR_RECEIVE);
    s->status = cr.status;
    s->len = cr.completion_len;
    s->value = cr.imm_data;
    s->seed = cr.opcode;
    s->off = cr.user_ctx;
    s->remote = cr.remote_id.id;
    END_MUST(!memcmp(cr.remote_id.eid.raw, end->peer->id.eid.raw, 16));
}

static void serve_one(End *end, Say *s, int fd)
{
    urma_recv_attr deaf = { .mask = URMA_MODIFY_STATE, .state = URMA_ERROR };
    urma_cr cr;

    s->status = 0;
    switch ((Order)s->order) {
    case ORDER_MAKE:
        end_make(end, &s->cfg);
        end_import(end, &s->address, END_TOKEN);
        end_address(end, &s->address);
        break;
    case ORDER_FILL:
        end_fill(end->buf + s->off, s->len, s->seed);
        break;
    case ORDER_CHECK:
        s->value = end_check(end->buf + s->off, s->len, s->seed);
        break;
    case ORDER_RECV:
        s->status = end_post_recv_list(end, s->off, s->len, s->elements,
                                       s->off);
        break;
    case ORDER_RECEIVED:
        serve_received(end, s);
        break;
    case ORDER_SEND:
        end_send(end, URMA_WR_SEND, s->seed, s->off, s->len, 0);
        end_poll(end, &cr);
        s->status = cr.status;
        break;
    case ORDER_GET64:
        memcpy(&s->value, end->buf + s->off, 8);
        break;
    case ORDER_PUT64:
        memcpy(end->buf + s->off, &s->value, 8);
        break;
    case ORDER_UNREGISTER:
        s->status = end->ops->unregister_seg(end->seg);
        end->seg = NULL;
        break;
    case ORDER_MARK:
        memset(end->buf + s->off, s->seed, s->len);
        break;
    case ORDER_DEAF:
        s->status = end->ops->modify_jetty(end->jetty, &deaf);
        break;
    case ORDER_EMPTY:
        end_mutual_empty(end);
        break;
    case ORDER_OPEN:
        end_mutual_open(end);
        break;
    case ORDER_FLOOD:
        end_mutual_flood(end, s->len);
        break;
    case ORDER_MANY:
        end_many_make(end, s->len);
        break;
    case ORDER_MANY_IMPORT:
        end_many_import(end, &end->peer->id.eid);
        break;
    case ORDER_GATHER:
        end_many_gather(end, &fd, 1, s->len);
        break;
    case ORDER_SCATTER:
        end_many_scatter(end, fd, 0, s->len);
        break;
    }
}

void link_serve(int fd)
{
    Say s;
    End end;

    end_open(&end);
    while (end_hear(fd, &s, sizeof(s))) {
        serve_one(&end, &s, fd);
        end_say(fd, &s, sizeof(s));
    }
    end_many_free(&end);
    end_close(&end);
    close(fd);
}

/* ---- The client --------------------------------------------------------------------- */

Say link_ask(Link *l, Say s)
{
    if (l->fd < 0) {
        serve_one(&l->other, &s, -1);
    } else {
        end_say(l->fd, &s, sizeof(s));
        END_MUST(end_hear(l->fd, &s, sizeof(s)));
    }
    return s;
}

void link_open(Link *l, const char *host, EndConfig cfg)
{
    Say s = { .order = ORDER_MAKE, .cfg = cfg };

    end_open(&l->end);
    end_make(&l->end, &cfg);
    end_address(&l->end, &s.address);
    l->fd = strcmp(host, "self") ? end_dial(host, LINK_PORT) : -1;
    if (l->fd < 0) {
        end_open(&l->other);
    }
    s.cfg.events = 0;
    s = link_ask(l, s);
    end_import(&l->end, &s.address, END_TOKEN);
}

void link_close(Link *l)
{
    if (l->fd < 0) {
        end_close(&l->other);
    } else {
        close(l->fd);
    }
    end_many_free(&l->end);
    end_close(&l->end);
}

void link_peer_check(Link *l, uint32_t off, uint32_t len, uint32_t seed)
{
    Say s = link_ask(l, (Say) { .order = ORDER_CHECK, .off = off, .len = len,
                           .seed = seed });

    if (s.value != len) {
        end_die("peer: byte %u of %u at %u is wrong", (unsigned)s.value, len,
                off);
    }
}

uint64_t link_peer_get(Link *l, uint32_t off)
{
    return link_ask(l, (Say) { .order = ORDER_GET64, .off = off }).value;
}
