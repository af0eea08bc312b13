/*
 * Two emulators behind ub-switch.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "switch-fabric.h"

#define ROUTES                                                              \
    "{\"execute\": \"route-set\","                                          \
    " \"arguments\": {\"cna\": 1, \"ports\": [0]}}\n"                       \
    "{\"execute\": \"route-set\","                                          \
    " \"arguments\": {\"cna\": 2, \"ports\": [1]}}\n"                       \
    "{\"execute\": \"ip-route-set\","                                       \
    " \"arguments\": {\"prefix\": \"10.0.0.1/32\", \"ports\": [0]}}\n"      \
    "{\"execute\": \"ip-route-set\","                                       \
    " \"arguments\": {\"prefix\": \"10.0.0.2/32\", \"ports\": [1]}}\n"

QUbc *fabric_machine(Fabric *f, unsigned i, const char *kind,
                     const char *more)
{
    g_autofree char *props = g_strconcat("chardev0=w", f->props, NULL);
    g_autofree char *words = f->tls && !i ? g_strdup_printf(
        "-object tls-creds-psk,id=t,endpoint=client,dir=%s/keys "
        "-chardev socket,id=w,host=127.0.0.1,port=%u,tls-creds=t,"
        "reconnect-ms=100 %s", f->dir, switch_tcp(&f->sw), more)
        : g_strdup_printf(
        "-chardev socket,id=w,path=%s/port%u,reconnect-ms=100 %s", f->dir, i,
        more);

    return qubc_start(kind, props, words);
}

void fabric_wait(Fabric *f)
{
    QUBC_WAIT((qubc_pass(f->q[0]), qubc_pass(f->q[1]),
               qubc_up(f->q[0], 0) && qubc_up(f->q[1], 0) &&
               switch_ports_up(&f->sw) == 2));
}

void fabric_node(Fabric *f, unsigned i)
{
    f->q[i] = fabric_machine(f, i, "q35", "");
    qubc_attach(f->q[i]);
    eng_open(&f->e[i], f->q[i], i + 1);
    qubc_port_open(f->q[i], 0);
}

static void start(Fabric *f, const char *props, bool tls)
{
    f->props = props;
    f->tls = tls;
    f->dir = g_dir_make_tmp("ubsw-XXXXXX", NULL);
    g_assert_nonnull(f->dir);
    switch_start(&f->sw, f->dir, 2, ROUTES, tls);
    fabric_node(f, 0);
    fabric_node(f, 1);
    fabric_wait(f);
}

void fabric_start(Fabric *f, const char *props)
{
    start(f, props, false);
}

void fabric_start_tls(Fabric *f, const char *props)
{
    start(f, props, true);
}

void fabric_engines(Fabric *f, const EngPlan *plan)
{
    eng_queue(&f->e[0], plan);
    eng_queue(&f->e[1], plan);
}

void fabric_stop(Fabric *f)
{
    qubc_stop(f->q[0]);
    qubc_stop(f->q[1]);
    switch_stop(&f->sw);
    g_assert_cmpint(rmdir(f->dir), ==, 0);
    g_free(f->dir);
}

void fabric_both_ways(Fabric *f, uint32_t len, uint32_t seed)
{
    eng_write_read_to(&f->e[0], &f->e[1], len, seed);
    eng_write_read_to(&f->e[1], &f->e[0], len, seed + 1);
}
