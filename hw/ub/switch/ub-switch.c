/*
 * ub-switch: a UB switch as a program.  docs/specs/ub-switch.rst.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "program.h"

/* ---- Options ------------------------------------------------------------------------ */

typedef struct Options {
    char **ports, **slots, **ethernet, *mac, *control, *config, *guid, *name;
    char *tls;
    int time_scale, dll_time_scale, entries, mtu, patience, settle, hold;
    gboolean no_shm, verbose;
} Options;

static bool parse_options(Options *o, int *argc, char ***argv)
{
    const GOptionEntry entries[] = {
        { "port", 'p', 0, G_OPTION_ARG_STRING_ARRAY, &o->ports,
          "The next port: unix:PATH, tcp:HOST:PORT or tls:HOST:PORT to listen "
          "at, the same behind connect: to connect to, or none", "ADDRESS" },
        { "slot", 's', 0, G_OPTION_ARG_STRING_ARRAY, &o->slots,
          "The next hot-plug slot: its port, or the first and the last one with - "
          "between them; + behind it: it has power from the start", "PORTS" },
        { "slot-settle", 0, 0, G_OPTION_ARG_INT, &o->settle,
          "Milliseconds from a slot's power to its ports' work (100)", "N" },
        { "slot-hold", 0, 0, G_OPTION_ARG_INT, &o->hold,
          "Milliseconds that the stream of a port may be away before the device "
          "in its slot is (1000)", "N" },
        { "ethernet", 'e', 0, G_OPTION_ARG_STRING_ARRAY, &o->ethernet,
          "The next Ethernet port, numbered behind all others: unix:PATH or "
          "tcp:HOST:PORT for a netdev \"stream\", the same behind connect:, or "
          "dgram:PATH,PATH, ours first", "ADDRESS" },
        { "mac", 0, 0, G_OPTION_ARG_STRING, &o->mac,
          "Of the first Ethernet port, the others count on (random)", "MAC" },
        { "tls-creds", 0, 0, G_OPTION_ARG_STRING, &o->tls,
          "For ports with TLS: x509:DIR or psk:DIR, with QEMU's files",
          "KIND:DIR" },
        { "tls-patience", 0, 0, G_OPTION_ARG_INT, &o->patience,
          "Seconds until a peer that does not finish its TLS handshake is "
          "hung up on, and one that says nothing gives way to another (10)",
          "N" },
        { "control", 'c', 0, G_OPTION_ARG_FILENAME, &o->control,
          "Unix socket for commands", "PATH" },
        { "config", 'f', 0, G_OPTION_ARG_FILENAME, &o->config,
          "Commands to begin with, a line each", "FILE" },
        { "guid", 0, 0, G_OPTION_ARG_STRING, &o->guid,
          "32 hexadecimal digits (random)", "GUID" },
        { "name", 0, 0, G_OPTION_ARG_STRING, &o->name,
          "What it is called in answers and captures (ub-switch)", "NAME" },
        { "route-entries", 0, 0, G_OPTION_ARG_INT, &o->entries,
          "CNAs of the route table, 0 to 65536 (4096)", "N" },
        { "mtu", 0, 0, G_OPTION_ARG_INT, &o->mtu,
          "Transport MTU: 1024, 4096 or 8192 (8192)", "BYTES" },
        { "time-scale", 0, 0, G_OPTION_ARG_INT, &o->time_scale,
          "Multiplies the times of the physical layer (10)", "N" },
        { "dll-time-scale", 0, 0, G_OPTION_ARG_INT, &o->dll_time_scale,
          "Multiplies the times of the data link layer (1000)", "N" },
        { "no-shm", 0, 0, G_OPTION_ARG_NONE, &o->no_shm,
          "Do not use shared memory", NULL },
        { "verbose", 'v', 0, G_OPTION_ARG_NONE, &o->verbose,
          "Say what happens at the ports", NULL },
        { NULL },
    };
    g_autoptr(GOptionContext) c = g_option_context_new("- a UB switch");
    g_autoptr(GError) e = NULL;

    g_option_context_add_main_entries(c, entries, NULL);
    if (!g_option_context_parse(c, argc, argv, &e)) {
        g_printerr("ub-switch: %s\n", e->message);
        return false;
    }
    if (*argc > 1) {
        g_printerr("ub-switch: what is %s?\n", (*argv)[1]);
        return false;
    }
    return true;
}

static void free_options(Options *o)
{
    g_strfreev(o->ports);
    g_strfreev(o->slots);
    g_strfreev(o->ethernet);
    g_free(o->mac);
    g_free(o->tls);
    g_free(o->control);
    g_free(o->config);
    g_free(o->guid);
    g_free(o->name);
}

static bool hex_guid(const char *text, uint8_t guid[16])
{
    for (unsigned i = 0; i < 32; i++) {
        int digit = text[i] ? g_ascii_xdigit_value(text[i]) : -1;

        if (digit < 0) {
            return false;
        }
        guid[i / 2] = guid[i / 2] << 4 | digit;
    }
    return !text[32];
}

static bool make_slots(UbShpConfig *c, const Options *o, const char **why)
{
    for (char **slot = o->slots; slot && *slot; slot++) {
        if (!ub_shp_config_add(c, *slot)) {
            *why = "a slot is PORT or FIRST-LAST, + behind it, at most 15 of them";
            return false;
        }
    }
    c->settle = o->settle * INT64_C(1000000);
    c->hold = o->hold * INT64_C(1000000);
    return true;
}

static bool make_config(UbSwitchConfig *c, const Options *o, const char **why)
{
    ub_switch_config_init(c);
    c->ports = o->ports ? g_strv_length(o->ports) : 0;
    c->ethernet = o->ethernet ? g_strv_length(o->ethernet) : 0;
    c->net.mtu = o->mtu;
    c->net.route_entries = o->entries;
    c->port.phy.lmsm.time_scale = o->time_scale;
    c->port.dll_time_scale = o->dll_time_scale;
    if (!make_slots(&c->shp, o, why)) {
        return false;
    }
    if (getrandom(c->uboe.mac + 1, UB_ETHER_MAC - 2, 0) != UB_ETHER_MAC - 2 ||
        getrandom(&c->port.session, 8, 0) != 8 ||
        getrandom(c->guid + 8, 8, 0) != 8) {
        *why = "no random numbers";
        return false;
    }
    c->uboe.mac[0] = 2; /* locally administered */
    if (o->mac && !ub_ether_mac(o->mac, c->uboe.mac)) {
        *why = "a MAC is six pairs of hexadecimal digits with : between";
        return false;
    }
    c->port.phy.lmsm.seed = c->net.seed = c->port.session;
    c->guid[4] = 3; /* type: independent switch (§C.1) */
    if (o->guid && !hex_guid(o->guid, c->guid)) {
        *why = "a GUID has 32 hexadecimal digits";
        return false;
    }
    return true;
}

/* The commands of a file; the first that fails ends it. */
static bool run_config(Program *p, const char *file)
{
    g_autofree char *text = NULL;
    g_autoptr(GError) e = NULL;
    g_auto(GStrv) lines = NULL;

    if (!g_file_get_contents(file, &text, NULL, &e)) {
        g_printerr("ub-switch: %s\n", e->message);
        return false;
    }
    lines = g_strsplit(text, "\n", -1);
    for (unsigned i = 0; lines[i]; i++) {
        char *answer = ub_switch_admin_line(p->admin, p->now, lines[i],
                                            strlen(lines[i]));

        if (answer && ub_switch_admin_failed(p->admin)) {
            g_printerr("ub-switch: %s:%u: %s", file, i + 1, answer);
            free(answer);
            return false;
        }
        free(answer);
    }
    return true;
}

/* ---- The loop ------------------------------------------------------------------------- */

static bool stopped;

static void signal_ready(Source *s, uint32_t events)
{
    stopped = true;
}

static void wait_for_work(Program *p, int64_t next)
{
    struct epoll_event e[64];
    int64_t wait = next == INT64_MAX ? -1 : MAX(next - program_now(), 0);
    struct timespec ts = { wait / 1000000000, wait % 1000000000 };
    int n = epoll_pwait2(p->epoll, e, G_N_ELEMENTS(e),
                         wait < 0 ? NULL : &ts, NULL);

    p->now = program_now();
    for (int i = 0; i < n; i++) {
        Source *s = e[i].data.ptr;

        /* One that was given up in this turn is not watched any more. */
        if (s->events) {
            s->ready(s, e[i].events);
        }
    }
}

static void run_loop(Program *p)
{
    int64_t next = 0;

    while (!stopped && !ub_switch_admin_quit(p->admin)) {
        wait_for_work(p, next);
        streams_turn(p);
        frames_turn(p);
        p->kicked = false;
        next = ub_switch_run(p->sw, p->now);
        clients_tell(p);
        ub_switch_admin_flush(p->admin);
        next = MIN(next, MIN(streams_deadline(p), frames_deadline(p)));
        if (streams_settle(p) || p->kicked) {
            next = 0;
        }
    }
}

static Source watch_signals(Program *p)
{
    Source s = { .ready = signal_ready };
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    s.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return s;
}

/* NULL, or what is wrong. */
static const char *start(Program *p, const Options *o)
{
    UbSwitchConfig conf;
    const char *why = NULL;
    g_autofree char *tls_why = NULL;

    if (o->patience < 1 || o->patience > 3600) {
        return "the patience is 1 to 3600 seconds";
    }
    p->patience = o->patience * INT64_C(1000000000);
    if (!make_config(&conf, o, &why)) {
        return why;
    }
    p->sw = ub_switch_new(&conf, &streams_ops, p, &why);
    if (!p->sw) {
        return why;
    }
    p->admin = ub_switch_admin_new(p->sw, o->name ? o->name : "ub-switch");
    ub_switch_admin_set_wires(p->admin, streams_wire, p);
    if (o->tls) {
        p->tls = wire_tls_creds_new(o->tls, &tls_why);
        if (!p->tls) {
            g_printerr("ub-switch: %s\n", tls_why);
            return "the TLS credentials were not taken";
        }
    }
    if (o->config && !run_config(p, o->config)) {
        return "the configuration was not taken";
    }
    for (unsigned i = 0; i < conf.ports; i++) {
        if (!streams_add(p, o->ports[i], &why)) {
            return why;
        }
    }
    for (unsigned i = 0; i < conf.ethernet; i++) {
        if (!frames_add(p, o->ethernet[i], &why)) {
            return why;
        }
    }
    if (o->control && !clients_listen(p, o->control, &why)) {
        return why;
    }
    return NULL;
}

static int serve(const Options *o)
{
    Program *p = g_new0(Program, 1);
    const char *why;
    Source signals;

    p->shm = !o->no_shm;
    p->verbose = o->verbose;
    p->control.fd = -1;
    for (unsigned i = 0; i < CLIENTS_MAX; i++) {
        p->client[i].source.fd = -1;
    }
    p->epoll = epoll_create1(EPOLL_CLOEXEC);
    p->now = program_now();
    signals = watch_signals(p);
    source_watch(p, &signals, EPOLLIN);
    why = start(p, o);
    if (!why) {
        run_loop(p);
    } else {
        g_printerr("ub-switch: %s\n", why);
    }
    streams_free(p);
    frames_free(p);
    clients_free(p);
    wire_tls_creds_free(p->tls);
    ub_switch_admin_free(p->admin);
    ub_switch_free(p->sw);
    close(signals.fd);
    close(p->epoll);
    g_free(p);
    return why ? 1 : 0;
}

int main(int argc, char **argv)
{
    Options o = { .time_scale = 10, .dll_time_scale = 1000, .entries = 4096,
                  .mtu = 8192, .patience = 10, .settle = 100, .hold = 1000 };
    int status = parse_options(&o, &argc, &argv) ? serve(&o) : 2;

    free_options(&o);
    return status;
}
