/*
 * ub-switch, the program: what its files share.
 *
 *   address.c    sockets by name
 *   clients.c    the control socket
 *   frames.c     the Ethernet ports' sockets
 *   source.c     what the loop waits for
 *   streams.c    the ports' sockets
 *   ub-switch.c  options, the loop
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_SWITCH_PROGRAM_H
#define HW_UB_SWITCH_PROGRAM_H

#include <glib.h>
#include <sys/un.h>

#include "ub/switch_admin.h"
#include "wire/tls.h"

typedef struct Program Program;
typedef struct Target Target;

/* Something that epoll tells of. */
typedef struct Source {
    int fd;            /* -1: none */
    uint32_t events;   /* what it is asked for */
    void (*ready)(struct Source *s, uint32_t events);
} Source;

typedef struct Stream Stream;
typedef struct FrameSocket FrameSocket;

/* TLS handshakes under way at a port that listens: who connects and says nothing does
 * not keep the neighbour out, and one more displaces the oldest of them. */
#define HANDSHAKES 4

typedef struct Connection {
    Stream *stream;
    Source source;
    WireFd *wire;      /* NULL: none */
    int64_t until;     /* tls: it must have agreed; INT64_MAX: it has */
    int64_t since;     /* when it came */
    bool heard;        /* it has said something */
} Connection;

struct Stream {
    Program *prog;
    unsigned port;
    char *address;
    bool listens, tls;
    char *host;        /* tls, to connect: whose certificate it must be */
    Target *target;    /* to connect */
    Source listener;
    bool waits;        /* somebody connects, and has no place yet */
    Connection conn[HANDSHAKES];    /* without tls the first alone */
    Connection *peer;  /* the one that the switch knows of; NULL: none */
    int64_t retry;     /* when to connect again; INT64_MAX: not */
    uint64_t broken;   /* by a fault of the peer */
};

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
    int64_t patience;  /* with a peer that does not finish its TLS handshake, and
                        * with one that says nothing when another one comes; ns */
    Stream stream[UB_SWITCH_MAX_PORTS];
    unsigned streams;
    FrameSocket *frames[UB_SWITCH_MAX_PORTS]; /* of Ethernet ports */
    unsigned frame_sockets;
    uint64_t touched;  /* ports whose stream was used since it was looked at */
    Source control;
    char *control_path;
    Client client[CLIENTS_MAX];
    int64_t now;
};

/* ---- address.c ---- */
/* A socket that listens at "unix:PATH", "tcp:HOST:PORT" or "tls:HOST:PORT"; -1 and a
 * sentence in *why. */
int address_listen(const char *address, const char **why);
/* What such an address means.  Looking up a host may take long: it is done here and
 * nowhere else, not in the loop.  NULL and a sentence in *why. */
Target *target_new(const char *address, bool listens, const char **why);
void target_free(Target *t);
/* A socket that is being connected there, to the next address of the host each time;
 * -1: not now. */
int target_connect(Target *t);
bool address_valid(const char *address);
/* What a former run has left behind may be removed, a file of somebody's not. */
bool address_is_socket(const char *path);
/* A host that vanished without a word is to be missed, whether we have something to
 * send or not: it has the port as long as its connection is there.  Of TCP. */
void address_keep_alive(int fd);
/* Whether TLS is spoken there; the host of the address, the caller's to free. */
bool address_tls(const char *address);
/* What a socket that listens is really bound to, where PORT was 0. */
void address_bound(int fd, char **address);
char *address_host(const char *address);

/* ---- source.c ---- */
int64_t program_now(void);
/* Watch @s for @events (0: not any more). */
void source_watch(Program *p, Source *s, uint32_t events);

/* ---- clients.c ---- */
bool clients_listen(Program *p, const char *path, const char **why);
/* Events for all. */
void clients_tell(Program *p);
void clients_free(Program *p);

/* ---- frames.c ---- */
/* For UbSwitchOps. */
bool frames_send(void *opaque, unsigned port, const uint8_t *frame,
                 uint32_t len);
bool frames_room(void *opaque, unsigned port);
/* Behind all UB links.  @spec: [connect:]ADDRESS, or dgram:PATH,PATH. */
bool frames_add(Program *p, const char *spec, const char **why);
/* Before the switch runs; when to come again. */
void frames_turn(Program *p);
int64_t frames_deadline(const Program *p);
void frames_wire(const Program *p, unsigned port, UbSwitchWire *out);
void frames_free(Program *p);

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
