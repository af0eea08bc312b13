/*
 * The queues of ubc from a program, over ways of IP: RTP in packets of LPH.CFG 3 and 4.
 *
 *     ub-ip OWN PEER link    until the link of port 0 is up
 *     ub-ip OWN PEER serve   share memory and take messages until SIGTERM
 *     ub-ip OWN PEER check   use the peer's, which serves, once: Write, Read, Send,
 *                            Fetch_add, every byte compared
 *
 * OWN and PEER are numbers of nodes: the last byte of EIDs and IP addresses (10.0.0.n,
 * fd00::n).  Static, so that a guest needs nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ub/net_format.h"
#include "ub/tah.h"
#include "ub/ubc_hw.h"
#include "ubc-dev.h"
#include "ubc-drv.h"

#define ROOM (512u << 10)
#define SEGMENT 77u
#define UBA 0x10000u
#define TOKEN 0xfeed1234u
#define MESSAGE 6000u

static volatile sig_atomic_t ended;
static UbqDrv drv;
static UbqCq cq;
static UbqQueue queue;
static uint64_t room;

/* The ways, each with a channel and a row of destinations. */
static const struct Way {
    uint8_t cfg;
    uint32_t tpn, row;
} ways[] = { { UB_LPH_IPV4, 5, 9 }, { UB_LPH_IPV6, 6, 10 } };

static void on_term(int sig)
{
    ended = 1;
}

static UbqPeer node(unsigned n, unsigned cfg)
{
    UbqPeer p = { .cna = n, .eid = { [15] = n }, .ip = { 10, 0, 0, n },
                  .upi = 1, .cfg = cfg };

    if (cfg == UB_LPH_IPV6) {
        memset(p.ip, 0, sizeof(p.ip));
        p.ip[0] = 0xfd;
        p.ip[15] = n;
    }
    return p;
}

static void open_all(unsigned own, unsigned peer)
{
    ubc_attach();
    drv = ubc_drv();
    ubq_open(&drv);
    room = ubq_alloc(&drv, ROOM, 4096);
    ubq_cq_open(&cq, &drv, 8);
    ubq_queue_open(&queue, &drv, &cq, &cq, UB_ROI, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(ways); i++) {
        UbqPeer us = node(own, ways[i].cfg), them = node(peer, ways[i].cfg);

        if (ubq_ip_add(&drv, &us) != UBQ_RESULT_OK) {
            die("the address is refused");
        }
        ubq_channel(&drv, ways[i].tpn, &them, 100 + own, 100 + peer);
        ubq_dest(&drv, ways[i].row, 0, ways[i].tpn, &them);
    }
    ubq_segment(&drv, SEGMENT, room, ROOM,
                UBQ_SEG_READ | UBQ_SEG_WRITE | UBQ_SEG_ATOMIC | UBQ_SEG_TOKEN,
                TOKEN);
}

/* ---- Data ---- */

static uint8_t pattern(uint32_t i, unsigned seed)
{
    return i * 7 + (i >> 8) + (i >> 16) + seed;
}

static void fill(uint32_t at, uint32_t len, unsigned seed)
{
    for (uint32_t i = 0; i < len; i++) {
        drv.memory[room + at + i] = pattern(i, seed);
    }
}

static void compare(const char *what, uint32_t at, uint32_t len, unsigned seed)
{
    for (uint32_t i = 0; i < len; i++) {
        if (drv.memory[room + at + i] != pattern(i, seed)) {
            die("%s: byte %u is %02x", what, i, drv.memory[room + at + i]);
        }
    }
}

/* The next completion; its length. */
static uint32_t complete(const char *what)
{
    const uint8_t *c = ubc_complete(&cq, what);

    if (ubq_cqe_status(c) != UBQ_STATUS_OK) {
        die("%s: status %04x", what, ubq_cqe_status(c));
    }
    return get_le32(c + UBQ_CQE_BYTES);
}

/* @len bytes between the room and the peer's, at the same place. */
static void access_peer(const char *what, unsigned opcode, uint32_t row,
                        uint32_t len)
{
    uint8_t *s = ubq_sqe(&queue, 1);

    ubq_sqe_put(s, opcode | UBQ_SQE_TOKEN, row, room, len);
    put_le32(s + UBQ_SQE_TARGET, SEGMENT);
    put_le32(s + UBQ_SQE_TOKEN_VALUE, TOKEN);
    put_le64(s + UBQ_SQE_ADDR, UBA);
    ubq_post(&queue, s, 1);
    complete(what);
}

static void fetch_add(uint32_t row, uint64_t want)
{
    uint8_t *s = ubq_sqe(&queue, 2);

    ubq_sqe_put(s, UB_TA_FETCH_ADD | UBQ_SQE_TOKEN | UBQ_SQE_INLINE, row, room,
                8);
    put_le32(s + UBQ_SQE_TARGET, SEGMENT);
    put_le32(s + UBQ_SQE_TOKEN_VALUE, TOKEN);
    put_le64(s + UBQ_SQE_ADDR, UBA);
    put_le64(s + UBQ_BLOCK, 2);
    ubq_post(&queue, s, 2);
    complete("fetch-add");
    if (get_le64(drv.memory + room) != want) {
        die("fetch-add brought another value");
    }
}

static void check(void)
{
    static const uint32_t sizes[] = { 1, 4096, 65536, 300000 };

    for (unsigned w = 0; w < G_N_ELEMENTS(ways); w++) {
        uint32_t row = ways[w].row;
        uint8_t *s;

        for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
            fill(0, sizes[i], i + w);
            access_peer("write", UB_TA_WRITE, row, sizes[i]);
            memset(drv.memory + room, 0, sizes[i]);
            access_peer("read", UB_TA_READ, row, sizes[i]);
            compare("read", 0, sizes[i], i + w);
        }
        put_le64(drv.memory + room, 40);
        access_peer("write", UB_TA_WRITE, row, 8);
        fetch_add(row, 40);
        fetch_add(row, 42);
        fill(0, MESSAGE, 9);
        s = ubq_sqe(&queue, 1);
        ubq_sqe_put(s, UB_TA_SEND, row, room, MESSAGE);
        put_le32(s + UBQ_SQE_TARGET, queue.id);
        ubq_post(&queue, s, 1);
        complete("send");
    }
    puts("ok");
}

/* Messages are taken at the end of the room, and said to have come. */
static void serve(void)
{
    const uint8_t *c;

    signal(SIGTERM, on_term);
    ubq_recv(&queue, room + ROOM - MESSAGE, MESSAGE);
    puts("serving");
    fflush(stdout);
    while (!ended) {
        c = ubq_cq_poll(&cq);
        if (!c) {
            usleep(1000);
            continue;
        }
        if (ubq_cqe_status(c) != UBQ_STATUS_OK ||
            get_le32(c + UBQ_CQE_BYTES) != MESSAGE) {
            die("message: status %04x", ubq_cqe_status(c));
        }
        compare("message", ROOM - MESSAGE, MESSAGE, 9);
        puts("message");
        fflush(stdout);
        memset(drv.memory + room + ROOM - MESSAGE, 0, MESSAGE);
        ubq_recv(&queue, room + ROOM - MESSAGE, MESSAGE);
    }
    ubc_write(NULL, UBC_CTRL, UBC_CTRL_RESET);
}

int main(int argc, char **argv)
{
    const char *what = argc == 4 ? argv[3] : "";
    unsigned own, peer;

    if (argc != 4) {
        die("ub-ip OWN PEER link|serve|check");
    }
    own = strtoul(argv[1], NULL, 0);
    peer = strtoul(argv[2], NULL, 0);
    if (!strcmp(what, "link")) {
        ubc_attach();
        ubc_link_up();
        return 0;
    }
    open_all(own, peer);
    if (!strcmp(what, "serve")) {
        serve();
    } else if (!strcmp(what, "check")) {
        check();
    } else {
        die("what is %s?", what);
    }
    return 0;
}
