/*
 * What tests of librclink share: two programs, their messages and events.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef LIB_H
#define LIB_H

#include <errno.h>
#include <string.h>

#include "cdev.h"
#include "librclink.h"
#include "rclink_uapi.h"

enum { LEN = 200, ENTRIES = 1 << RCLINK_LOG, ROUNDS = 5 };

/* Two programs, each with a port. */
typedef struct Pair {
    Rig *rig;
    struct rclink *rc[2];
} Pair;

static inline uint64_t reg(struct rclink *rc, uint32_t addr, unsigned qp)
{
    uint64_t v;

    g_assert_cmpint(rclink_get(rc, addr, qp, &v), ==, 0);
    return v;
}

static inline uint64_t stat_of(struct rclink *rc, const char *name)
{
    uint64_t v;

    for (unsigned n = 0; rclink_stat_name(n); n++) {
        if (!strcmp(rclink_stat_name(n), name)) {
            g_assert_cmpint(rclink_stat(rc, n, &v), ==, 0);
            return v;
        }
    }
    g_assert_not_reached();
}

static inline Pair pair_open(void)
{
    Pair p = { .rig = cdev_new(2, NULL) };

    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(rclink_open(NULL, &p.rc[i]), ==, 0);
    }
    return p;
}

static inline void pair_close(Pair *p)
{
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpstr(cdev_end(rclink_fd(p->rc[i]))->error, ==, "");
        rclink_close(p->rc[i]);
    }
    cdev_free();
}

static inline void pair_set(Pair *p, enum rclink_format format,
                     enum rclink_flow flow)
{
    for (unsigned i = 0; i < 2; i++) {
        struct rclink_port port;

        rclink_port_init(p->rc[i], &port);
        port.format = format;
        port.flow = flow;
        g_assert_cmpint(rclink_port_set(p->rc[i], &port), ==, 0);
    }
    cdev_settle();
}

/* QP @qp of each to QP @qp of the other. */
static inline void pair_connect(Pair *p, unsigned qp)
{
    for (unsigned i = 0; i < 2; i++) {
        uint64_t mac = UINT64_C(0x02000000000a) + !i;
        struct rclink_peer peer = {
            .mac = mac, .ip = rclink_ip_of(mac), .qp = qp,
            .psn_tx = i ? 0x123 : 0xffe, .psn_rx = i ? 0xffe : 0x123,
            .udp_port = 0xc000 + qp, .pkey = 0x5a,
        };

        g_assert_cmpint(rclink_connect(p->rc[i], qp, &peer), ==, 0);
    }
    cdev_settle();
}

static inline Pair pair_up(void)
{
    Pair p = pair_open();

    pair_set(&p, RCLINK_STANDARD, RCLINK_NO_FLOW);
    pair_connect(&p, 5);
    return p;
}

static inline void fill(uint8_t *data, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++) {
        data[i] = seed * 7 + (seed >> 8) + i;
    }
}

static inline int put(struct rclink *rc, unsigned qp, unsigned seed, unsigned flags)
{
    uint8_t data[LEN];

    fill(data, sizeof(data), seed);
    return rclink_send(rc, qp, data, sizeof(data), flags, seed);
}

/* The next message of TYPE1, or of TYPE2, is number @seed. */
static inline void take(struct rclink *rc, int group, unsigned seed)
{
    struct rclink_message m;
    uint8_t data[LEN];

    fill(data, sizeof(data), seed);
    g_assert_cmpint(rclink_recv(rc, group, &m), ==, 1);
    g_assert_cmpmem(m.data, m.len, data, sizeof(data));
    g_assert_false(m.truncated);
    if (!group) {
        g_assert_cmpuint(m.qp, ==, 5);
    }
}

static inline void take_none(struct rclink *rc, int group)
{
    struct rclink_message m;

    g_assert_cmpint(rclink_recv(rc, group, &m), ==, 0);
}

/* The next event of @type, over others. */
static inline struct rclink_event event_of(struct rclink *rc,
                                    enum rclink_event_type type)
{
    struct rclink_event ev;

    do {
        g_assert_cmpint(rclink_poll(rc, &ev), ==, 1);
    } while (ev.type != type);
    return ev;
}

static inline void events_drop(struct rclink *rc)
{
    struct rclink_event ev;

    while (rclink_poll(rc, &ev)) {
    }
}

#endif
