/*
 * Events of URMA, for programs in guests.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "urma-link.h"

/* ---- Events ------------------------------------------------------------------------------ */

static void event_wait(End *end)
{
    struct pollfd p = { .fd = end->jfce->fd, .events = POLLIN };
    urma_jfc *jfc = NULL;
    uint32_t one = 1;

    END_MUST(poll(&p, 1, 60000) == 1 && p.revents & POLLIN);
    END_MUST(end->ops->wait_jfc(end->jfce, 1, 60000, &jfc) == 1);
    END_MUST(jfc == end->jfc);
    end->ops->ack_jfc(&jfc, &one, 1);
    END_MUST(poll(&p, 1, 0) == 0);
}

void link_case_events(const char *host)
{
    urma_jfc_attr many = {
        .mask = URMA_MODIFY_JFC_COUNT | URMA_MODIFY_JFC_PERIOD,
        .moderate_count = 50,
    };
    EndConfig cfg = link_rm;
    struct pollfd p;
    urma_jfc *jfc;
    urma_cr cr;
    Link l;

    cfg.events = 1;
    link_open(&l, host, cfg);
    for (unsigned i = 0; i < 20; i++) {
        END_MUST(!l.end.ops->rearm_jfc(l.end.jfc, false));
        end_write(&l.end, URMA_WR_WRITE, 0, 0, 0, 64);
        event_wait(&l.end);
        end_expect(&l.end, &cr, URMA_CR_SUCCESS);
    }
    /* Only what is solicited; nothing without arming. */
    p = (struct pollfd) { .fd = l.end.jfce->fd, .events = POLLIN };
    END_MUST(!end_post_recv(&l.end, RECV_AT, 64, 1));
    END_MUST(!end_post_recv(&l.end, RECV_AT, 64, 2));
    END_MUST(!l.end.ops->rearm_jfc(l.end.jfc, true));
    link_ask(&l, (Say) { .order = ORDER_SEND, .len = 8 });
    end_expect(&l.end, &cr, URMA_CR_SUCCESS);
    END_MUST(poll(&p, 1, 300) == 0);
    link_ask(&l, (Say) { .order = ORDER_SEND, .len = 8,
                    .seed = URMA_WR_SOLICITED });
    event_wait(&l.end);
    end_expect(&l.end, &cr, URMA_CR_SUCCESS);
    /* What fails is told at once, whatever was armed and moderated. */
    for (unsigned solicited = 0; solicited < 2; solicited++) {
        END_MUST(!l.end.ops->modify_jfc(l.end.jfc, &many));
        END_MUST(!l.end.ops->rearm_jfc(l.end.jfc, solicited));
        end_write(&l.end, URMA_WR_WRITE, 0, 0, END_BUF - 3, 64);
        event_wait(&l.end);
        end_poll(&l.end, &cr);
        END_MUST(cr.status != URMA_CR_SUCCESS);
    }
    END_MUST(l.end.ops->wait_jfc(l.end.jfce, 1, 0, &jfc) == 0);
    END_MUST(l.end.ops->wait_jfc(l.end.jfce, 1, 50, &jfc) == 0);
    link_close(&l);
}

/* The next asynchronous event is @type, of @object; it is acknowledged. */
static void async_expect(End *end, uint32_t type, const void *object)
{
    struct pollfd p = { .fd = end->ctx->async_fd, .events = POLLIN };
    urma_async_event event;

    END_MUST(poll(&p, 1, 60000) == 1);
    END_MUST(!end->ops->get_async_event(end->ctx, &event));
    if (event.event_type != type || event.jfc != object) {
        end_die("event %u of %p, and not %u of %p", event.event_type,
                (void *)event.jfc, type, object);
    }
    end->ops->ack_async_event(&event);
    END_MUST(poll(&p, 1, 0) == 0);
}

static void async_none(const End *end)
{
    struct pollfd p = { .fd = end->ctx->async_fd, .events = POLLIN };

    END_MUST(poll(&p, 1, 0) == 0);
}

static void message(Link *l)
{
    urma_cr cr;

    link_ask(l, (Say) { .order = ORDER_SEND, .len = 8 });
    end_expect(&l->end, &cr, URMA_CR_SUCCESS);
}

/* The threshold that a jetty asked for goes with it: its JFR has none. */
static void limit_gone(Link *l, const urma_recv_attr *attr)
{
    urma_jetty_cfg cfg = l->end.jetty->cfg;
    urma_jetty *other = l->end.ops->create_jetty(l->end.ctx, &cfg);
    urma_recv_attr now = { 0 };
    urma_jfr_cfg was;

    END_MUST(other);
    for (unsigned i = 0; i < 2; i++) {
        END_MUST(!end_post_recv(&l->end, RECV_AT, 64, i));
    }
    END_MUST(!l->end.ops->modify_jetty(other, (urma_recv_attr *)attr));
    END_MUST(!l->end.ops->query_jfr(l->end.jfr, &was, &now));
    END_MUST(now.rx_threshold == attr->rx_threshold);
    END_MUST(!l->end.ops->delete_jetty(other));
    END_MUST(!l->end.ops->query_jfr(l->end.jfr, &was, &now));
    END_MUST(now.rx_threshold == 0);
    for (unsigned i = 0; i < 4; i++) {
        message(l);
    }
    async_none(&l->end);
}

/* Of a JFR, and of the jetty that receives by it: who set it is told. */
void link_case_limit(const char *host)
{
    urma_recv_attr attr = { .mask = URMA_MODIFY_THRESHOLD,
                            .rx_threshold = 3 };
    Link l;

    link_open(&l, host, link_rm);
    for (unsigned i = 0; i < 4; i++) {
        END_MUST(!end_post_recv(&l.end, RECV_AT, 64, i));
    }
    END_MUST(!l.end.ops->modify_jfr(l.end.jfr, &attr));
    message(&l);
    async_none(&l.end);
    message(&l);
    async_expect(&l.end, URMA_EVENT_JFR_LIMIT, l.end.jfr);
    for (unsigned i = 0; i < 2; i++) {
        END_MUST(!end_post_recv(&l.end, RECV_AT, 64, i));
    }
    END_MUST(!l.end.ops->modify_jetty(l.end.jetty, &attr));
    message(&l);
    async_none(&l.end);
    message(&l);
    async_expect(&l.end, URMA_EVENT_JETTY_LIMIT, l.end.jetty);
    limit_gone(&l, &attr);
    link_close(&l);
}

/* ---- What goes wrong by itself --------------------------------------------------------- */

/* A send queue that an error suspends. */
static void error_queue(const char *host, bool simplex)
{
    EndConfig cfg = link_rm;
    urma_cr cr;
    Link l;

    cfg.suspend = 1;
    cfg.simplex = simplex;
    link_open(&l, host, cfg);
    end_write(&l.end, URMA_WR_WRITE, 0, 0, END_BUF - 3, 64);
    end_poll(&l.end, &cr);
    END_MUST(cr.status != URMA_CR_SUCCESS);
    end_expect(&l.end, &cr, URMA_CR_SUSPEND_DONE);
    async_expect(&l.end, simplex ? URMA_EVENT_JFS_ERR : URMA_EVENT_JETTY_ERR,
                 simplex ? (void *)l.end.jfs : (void *)l.end.jetty);
    link_close(&l);
}

/* A JFC that nobody reads, and too much for it. */
static void error_jfc(const char *host)
{
    urma_jfc_cfg few = { .depth = 16 };
    urma_jetty_cfg cfg;
    urma_jetty *own;
    urma_jfc *jfc;
    Link l;

    link_open(&l, host, link_rm);
    own = l.end.jetty;
    jfc = l.end.ops->create_jfc(l.end.ctx, &few);
    END_MUST(jfc);
    cfg = own->cfg;
    cfg.jfs_cfg.jfc = jfc;
    l.end.jetty = l.end.ops->create_jetty(l.end.ctx, &cfg);
    END_MUST(l.end.jetty);
    for (unsigned i = 0; i < END_DEPTH; i++) {
        end_write(&l.end, URMA_WR_WRITE, 0, 0, 0, 8);
    }
    async_expect(&l.end, URMA_EVENT_JFC_ERR, jfc);
    END_MUST(!l.end.ops->delete_jetty(l.end.jetty));
    END_MUST(!l.end.ops->delete_jfc(jfc));
    l.end.jetty = own;
    link_close(&l);
}

/* A group whose last member cannot receive any more. */
static void error_group(void)
{
    urma_jetty_grp_cfg cfg = { .name = "few", .flag = 1,
                               .token = { END_TOKEN } };
    urma_recv_attr error = { .mask = URMA_MODIFY_STATE, .state = URMA_ERROR };
    urma_jetty_cfg jetty;
    urma_jetty *member[2];
    urma_jetty_grp *g;
    Link l;

    link_open(&l, "self", link_rm);
    g = l.end.ops->create_jetty_grp(l.end.ctx, &cfg);
    END_MUST(g);
    jetty = l.end.jetty->cfg;
    jetty.jetty_grp = g;
    for (unsigned i = 0; i < 2; i++) {
        member[i] = l.end.ops->create_jetty(l.end.ctx, &jetty);
        END_MUST(member[i]);
    }
    END_MUST(!l.end.ops->modify_jetty(member[0], &error));
    async_none(&l.end);
    END_MUST(!l.end.ops->modify_jetty(member[1], &error));
    async_expect(&l.end, URMA_EVENT_JETTY_GRP_ERR, g);
    END_MUST(!l.end.ops->delete_jetty(member[0]));
    END_MUST(!l.end.ops->delete_jetty(member[1]));
    END_MUST(!l.end.ops->delete_jetty_grp(g));
    link_close(&l);
}

void link_case_errors(const char *host)
{
    error_queue(host, false);
    error_queue(host, true);
    error_jfc(host);
    error_group();
}

/* ---- What happens to the device ----------------------------------------------------------- */

static const char *const device_events[] = {
    [URMA_EVENT_PORT_ACTIVE] = "port-active",
    [URMA_EVENT_PORT_DOWN] = "port-down",
    [URMA_EVENT_DEV_FATAL] = "dev-fatal",
    [URMA_EVENT_EID_CHANGE] = "eid-change",
    [URMA_EVENT_ELR_ERR] = "elr-err",
    [URMA_EVENT_ELR_DONE] = "elr-done",
};

#define DEVICE_EVENTS (sizeof(device_events) / sizeof(device_events[0]))

void link_await(char **names)
{
    urma_async_event event;
    const char *name;
    End end;

    end_open(&end);
    printf("waiting\n");
    while (*names) {
        fflush(stdout);
        END_MUST(!end.ops->get_async_event(end.ctx, &event));
        name = event.event_type < DEVICE_EVENTS
               ? device_events[event.event_type] : NULL;
        END_MUST(name);
        printf("%s %u\n", name, event.number);
        end.ops->ack_async_event(&event);
        names += !strcmp(name, *names);
    }
    fflush(stdout);
}
