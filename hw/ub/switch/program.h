/*
 * ub-switch, the program: what its files share.
 *
 *   address.c    sockets by name
 *   clients.c    the control socket
 *   streams.c    the ports' sockets
 *   ub-switch.c  options, the loop
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_SWITCH_PROGRAM_H
#define HW_UB_SWITCH_PROGRAM_H

#include <glib.h>

#include "ub/switch_admin.h"
#include "wire/tls.h"

typedef struct Program Program;

/* Something that epoll tells of. */
typedef struct Source {
    int fd;            /* -1: none */
    uint32_t events;   /* what it is asked for */
    void (*ready)(struct Source *s, uint32_t events);
} Source;

typedef struct Stream {
    Program *prog;
    unsigned port;
    char *address;
    bool listens, tls;
    char *host;        /* tls, to connect: whose certificate it must be */
    Source listener;
    Source wire_source;
    WireFd *wire;
    bool open;         /* the switch knows of it */
    int64_t retry;     /* when to connect again; INT64_MAX: not */
    int64_t until;     /* tls: it must have agreed; INT64_MAX: it has */
    uint64_t broken;   /* by a fault of the peer */
} Stream;

#define CLIENTS_MAX 16

typedef struct Client {
    Program *prog;
    Source source;
    GByteArray *in, *out;
    bool deaf;         /* rests of a line that was too long */
} Client;

struct Program {
    UbSwitch *sw;
    UbSwitchAdmin *admin;
    int epoll;
    bool shm, kicked, verbose;
    WireTlsCreds *tls; /* NULL: none */
    int64_t patience;  /* with a peer that does not finish its TLS handshake, ns */
    Stream stream[UB_SWITCH_MAX_PORTS];
    unsigned streams;
    uint64_t touched;  /* ports whose stream was used since it was looked at */
    Source control;
    char *control_path;
    Client client[CLIENTS_MAX];
    int64_t now;
};

/* ---- address.c ---- */
/* A socket that listens at "unix:PATH", "tcp:HOST:PORT" or "tls:HOST:PORT", or one
 * that is being connected; -1 and a sentence in *why. */
int address_listen(const char *address, const char **why);
int address_connect(const char *address, const char **why);
bool address_valid(const char *address);
/* Whether TLS is spoken there; the host of the address, the caller's to free. */
bool address_tls(const char *address);
/* What a socket that listens is really bound to, where PORT was 0. */
void address_bound(int fd, char **address);
char *address_host(const char *address);

/* ---- ub-switch.c ---- */
int64_t program_now(void);
/* Watch @s for @events (0: not any more). */
void source_watch(Program *p, Source *s, uint32_t events);

/* ---- clients.c ---- */
bool clients_listen(Program *p, const char *path, const char **why);
/* Events for all. */
void clients_tell(Program *p);
void clients_free(Program *p);

/* ---- streams.c ---- */
extern const UbSwitchOps streams_ops;
/* @spec: [connect:]ADDRESS, or "none". */
bool streams_add(Program *p, const char *spec, const char **why);
/* Before the switch runs: streams that have something to do by themselves. */
void streams_turn(Program *p);
/* After it; true: some have. */
bool streams_settle(Program *p);
/* When to connect again, or to wait no longer. */
int64_t streams_deadline(const Program *p);
/* For ub_switch_admin_set_wires(). */
void streams_wire(void *opaque, unsigned port, UbSwitchWire *out);
void streams_free(Program *p);

#endif
