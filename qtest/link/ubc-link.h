/*
 * A link between the ubc of two emulators, and traffic over it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBC_LINK_H
#define UBC_LINK_H

#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/bswap.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "ub/space.h"
#include "ub/wire.h"
#include "ubc-driver.h"
#include <sys/mman.h>

#define MEAN 2056 /* bytes of a packet of the traffic, about */
#define PATIENCE_US test_patience(60)
/* Both ends go on waiting for each other while a link changes, though a host stands
 * still for seconds: without, half a second ends it, and packets are lost with it.  No
 * longer, because some states are left by their time-out. */
#define STEADY "timeout-min=5000,mode-timeout=60000,retry-threshold=254"

/* ---- Links -------------------------------------------------------------- */

typedef struct Link {
    char *dir, *path;
    QUbc *a, *b;
    unsigned pa, pb;
    const char *props, *more; /* of both machines besides the wire, or NULL */
} Link;

/* The ends are started with shm=off: the socket carries all. */
static bool no_shm;

static inline char *server(const char *path)
{
    return g_strdup_printf("-chardev socket,id=w,path=%s,server=on,wait=off",
                           path);
}

static inline char *client(const char *path)
{
    return g_strdup_printf("-chardev socket,id=w,path=%s,reconnect-ms=100",
                           path);
}

static inline QUbc *start_end(const Link *l, const char *chardev)
{
    g_autofree char *props = g_strconcat("chardev0=w",
                                         no_shm ? ",shm=off" : "",
                                         l->props ? "," : "", l->props, NULL);
    g_autofree char *more = g_strconcat(chardev, " ", l->more, NULL);

    return qubc_start_attached(props, more);
}

static inline QUbc *start_server(const Link *l)
{
    g_autofree char *chardev = server(l->path);

    return start_end(l, chardev);
}

static inline QUbc *start_client(const Link *l)
{
    g_autofree char *chardev = client(l->path);

    return start_end(l, chardev);
}

static inline void link_prepare(Link *l)
{
    l->dir = g_dir_make_tmp("ubc-XXXXXX", NULL);
    g_assert_nonnull(l->dir);
    l->path = g_build_filename(l->dir, "wire", NULL);
}

static inline bool shared(QUbc *d)
{
    QDict *rsp = qtest_qmp(d->qts, "{ 'execute': 'query-ub-links' }");
    const QListEntry *e = qlist_first(qdict_get_qlist(rsp, "return"));
    bool value = qdict_get_bool(qobject_to(QDict, qlist_entry_obj(e)),
                                "shared-memory");

    qobject_unref(rsp);
    return value;
}

static inline void wait_up(const Link *l)
{
    QUBC_WAIT((qubc_pass(l->a), qubc_pass(l->b),
               qubc_up(l->a, l->pa) && qubc_up(l->b, l->pb)));
}

static inline void link_open(Link *l)
{
    qubc_port_open(l->a, 0);
    qubc_port_open(l->b, 0);
    wait_up(l);
}

static inline void link_start(Link *l)
{
    link_prepare(l);
    l->a = start_server(l);
    l->b = start_client(l);
    link_open(l);
}

/* The one that connects is first: an emulator that ends while its character device is
 * about to connect anew may abort in QEMU's yank_unregister_function(). */
static inline void link_stop(Link *l)
{
    qubc_stop(l->b);
    qubc_stop(l->a);
    unlink(l->path);
    rmdir(l->dir);
    g_free(l->path);
    g_free(l->dir);
}

/*
 * Packets both ways, `n` in all from each end since the last resync, until
 * `until` of them have come at either end.
 */
static inline void pump(Link *l, uint32_t n, uint32_t until)
{
    QUbcPort *pa = &l->a->port[l->pa], *pb = &l->b->port[l->pb];
    gint64 limit = g_get_monotonic_time() + PATIENCE_US;

    while (pa->received < until || pb->received < until) {
        uint32_t before = pa->received + pb->received;

        qubc_send(l->a, l->pa, n - pa->sent);
        qubc_send(l->b, l->pb, n - pb->sent);
        qubc_reap(l->a, l->pa);
        qubc_reap(l->b, l->pb);
        if (pa->received + pb->received != before) {
            limit = g_get_monotonic_time() + PATIENCE_US;
        } else {
            g_assert_cmpint(g_get_monotonic_time(), <, limit);
            g_usleep(100);
        }
    }
}

static inline void exchange(Link *l, uint32_t n)
{
    uint32_t all = MAX(l->a->port[l->pa].sent, l->b->port[l->pb].sent) + n;

    pump(l, all, all);
}

static inline uint64_t both(const Link *l, unsigned counter)
{
    return qubc_counter(l->a, l->pa, counter) +
           qubc_counter(l->b, l->pb, counter);
}

#endif
