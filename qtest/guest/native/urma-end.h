/*
 * One end of a URMA connection, for programs in guests: the provider loaded by a
 * small loader that offers what liburma offers a provider, and driven as that
 * library drives it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef URMA_END_H
#define URMA_END_H

#include "abi.h"
#include "liburma.h"

#define END_BUF (4u << 20)
#define END_DEPTH 64u
#define END_RNR_TIMER 12u       /* 8.2 ms */
#define END_ERR_TIMEOUT 17u     /* what programs typically have */
#define END_SGE 4u
#define END_INLINE 128u
#define END_TOKEN 0xabcdefu

/* How an end is made. */
typedef struct EndConfig {
    uint32_t trans_mode;        /* URMA_RM ... */
    uint32_t tp_type;
    uint32_t simplex;           /* JFS and JFR instead of a jetty */
    uint32_t plain;             /* TokenValues count */
    uint32_t access;            /* URMA_ACCESS_* of the segment */
    uint32_t events;            /* the JFC has a descriptor */
    uint32_t suspend;           /* an error stops the queue */
    uint32_t bytes;             /* of the segment; 0: END_BUF */
    uint32_t impatient;         /* a message is sent three times at most that finds
                                 * no receive entry; else until it finds one */
    uint32_t send_depth, recv_depth;    /* 0: END_DEPTH */
    uint32_t jfc_depth;         /* 0: four times END_DEPTH */
    uint32_t rnr_timer;         /* 0: END_RNR_TIMER */
    uint32_t err_timeout;       /* 0: END_ERR_TIMEOUT */
} EndConfig;

/* What a peer must know; sent as it is. */
typedef struct EndAddress {
    urma_rjetty jetty;
    urma_seg seg;
} EndAddress;

/* A further jetty, by the same JFR and JFC, and whom it sends to. */
typedef struct EndMany {
    urma_jetty *jetty;
    urma_target_jetty *peer;
} EndMany;

typedef struct End {
    const urma_provider_ops *provider;
    urma_device dev;
    EndConfig cfg;
    urma_context *ctx;
    const urma_ops *ops;
    urma_jfce *jfce;
    urma_jfc *jfc;
    urma_jfr *jfr;
    urma_jetty *jetty;
    urma_jfs *jfs;
    urma_token_id *token;
    urma_target_seg *seg;
    uint8_t *buf;               /* the segment */
    EndMany *many;              /* end_many_make() */
    uint32_t n_many;
    urma_target_jetty *peer;
    urma_target_seg *peer_seg;
} End;

/* Print what failed and end the program. */
void end_die(const char *format, ...)
    __attribute__((format(printf, 1, 2), noreturn));
#define END_MUST(expr) \
    ((expr) ? (void)0 \
            : end_die("%s:%d: %s", __FILE__, __LINE__, #expr))

/* A context on the first device; then everything else. */
void end_open(End *end);
void end_make(End *end, const EndConfig *cfg);
void end_close(End *end);
void end_address(const End *end, EndAddress *out);
/* Import what a peer said; with TokenValue @token.  RC: bind to it. */
void end_import(End *end, const EndAddress *peer, uint32_t token);

/* Post, all in the segments: local and remote offsets. */
int end_post(End *end, urma_jfs_wr *wr);
int end_post_recv(End *end, uint32_t off, uint32_t len, uint64_t user_ctx);
/* The same of some elements, next to one another; none is one. */
int end_post_recv_list(End *end, uint32_t off, uint32_t len,
                       uint32_t elements, uint64_t user_ctx);
/* @n receive entries, all the same, told of at once; END_RECVS_MAX at most. */
#define END_RECVS_MAX 512u
int end_post_recvs(End *end, uint32_t off, uint32_t len, unsigned n);
void end_write(End *end, uint32_t opcode, uint32_t flag, uint64_t local,
               uint64_t remote, uint32_t len);
void end_read(End *end, uint64_t local, uint64_t remote, uint32_t len);
void end_send(End *end, uint32_t opcode, uint32_t flag, uint64_t local,
              uint32_t len, uint64_t imm);
void end_atomic(End *end, uint32_t opcode, uint64_t local, uint64_t remote,
                uint64_t first, uint64_t second);
/* The next completion, within a minute. */
void end_poll(End *end, urma_cr *cr);
/* The same; it must have @status. */
void end_expect(End *end, urma_cr *cr, uint32_t status);
/* Nothing more is there. */
void end_quiet(End *end);

/* What ends tell each other beside, over TCP.  The server has one client after
 * another, who closes the descriptor. */
void end_serve(uint16_t port, void (*client)(int fd))
    __attribute__((noreturn));
int end_dial(const char *host, uint16_t port);
void end_say(int fd, const void *p, size_t n);
/* False: nobody is there any more. */
bool end_hear(int fd, void *p, size_t n);

/* Bytes that tell where they belong. */
void end_fill(uint8_t *p, uint32_t len, uint32_t seed);
/* The offset of the first that is wrong, or @len. */
uint32_t end_check(const uint8_t *p, uint32_t len, uint32_t seed);

/* urma-mutual.c: what both ends do at the same time, and only ever in this order.
 * Messages to a peer without receive entries, which all come back. */
void end_mutual_empty(End *end);
/* Receive entries for the flood. */
void end_mutual_open(End *end);
/* @n messages there and @n back, each once and whole. */
#define END_MUTUAL_MAX 65536u
void end_mutual_flood(End *end, uint32_t n);

/* urma-many.c: @n jetties more, whose numbers are in the segment; whom each sends to,
 * whose numbers the peer has put there. */
#define END_MANY_MAX 4096u
#define END_GATHER_MAX 4u
void end_many_make(End *end, uint32_t n);
void end_many_import(End *end, const urma_eid *eid);
void end_many_free(End *end);
/* Each sends @rounds messages as number @first and following; the receiver, by @fd, says
 * when to go on. */
void end_many_scatter(End *end, int fd, uint32_t first, uint32_t rounds);
/* Receive all of them, each once, whole, from whom it should be; of @fds senders, who
 * have the jetties by turns. */
void end_many_gather(End *end, const int *fd, uint32_t fds, uint32_t rounds);

/* urma-abuse.c: @n random commands and calls, by two threads. */
void end_abuse(uint64_t seed, unsigned long n);
/* @n jetties, connected with themselves: what their rings hold is written over while
 * the engine reads it, doorbells ring for what is not there. */
void end_corrupt(uint64_t seed, unsigned long n);

#endif
