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
#include "wire/fd.h"

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
    bool listens;
    Source listener;
    Source wire_source;
    WireFd *wire;
    bool open;         /* the switch knows of it */
    int64_t retry;     /* when to connect again; INT64_MAX: not */
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
    Stream stream[UB_SWITCH_MAX_PORTS];
    unsigned streams;
    uint64_t touched;  /* ports whose stream was used since it was looked at */
    Source control;
    char *control_path;
    Client client[CLIENTS_MAX];
    int64_t now;
};

/* ---- address.c ---- */
/* A socket that listens at "unix:PATH" or "tcp:HOST:PORT", or one that is being
 * connected; -1 and a sentence in *why. */
int address_listen(const char *address, const char **why);
int address_connect(const char *address, const char **why);
bool address_valid(const char *address);

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
/* When to connect again. */
int64_t streams_deadline(const Program *p);
void streams_free(Program *p);

#endif
