/*
 * Two guests talk through the RDMA engines of their ncic-nics, driven from
 * user space: Send, Write, Read, atomics, by polling and by interrupt, every
 * byte compared.
 *
 * usage: ncic-verbs BDF serve|drive
 *
 * The server is 10.0.0.1, QP 4; the driver 10.0.0.2, QP 5.  Both use the same
 * addresses and keys, so nothing is exchanged beforehand; the server says
 * "ready" on a line of its own before the driver may start.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nrdma.h"

enum { SERVER_QPN = 4, DRIVER_QPN = 5 };
#define SERVER_IP 0x0a000001u
#define DRIVER_IP 0x0a000002u

/* The data region: what is where, at both ends. */
enum {
    SRC = 0, DST = 0x40000, COUNTER = 0x80000, RESULT = 0x80100,
    RECV = 0xa0000, RECV_BYTES = 0x4000, RECVS = 8,
};

/* What is sent; seeds tell the messages apart. */
enum {
    GREETING = 3000, WRITTEN = 200001, TAIL = 77, BACK = 150003,
    STREAM = 64, START = 1000, STEP = 7, ADDS = 8,
    SEED_GREETING = 1, SEED_WRITTEN, SEED_BACK, SEED_STREAM,
};
#define SWAPPED UINT64_C(0x1122334455667788)

static Nrdma n;
static uint32_t received;       /* messages */

static void fail(const char *what)
{
    fprintf(stderr, "ncic-verbs: %s\n", what);
    exit(1);
}

static uint8_t byte(uint32_t seed, uint32_t i)
{
    return i * 31 + (i >> 8) + seed * 101;
}

static void fill(uint32_t off, uint32_t len, uint32_t seed)
{
    for (uint32_t i = 0; i < len; i++) {
        n.data[off + i] = byte(seed, i);
    }
}

static void compare(uint32_t off, uint32_t len, uint32_t seed)
{
    for (uint32_t i = 0; i < len; i++) {
        if (n.data[off + i] != byte(seed, i)) {
            fprintf(stderr, "ncic-verbs: byte %u of message %u is %02x, not "
                    "%02x\n", i, seed, n.data[off + i], byte(seed, i));
            exit(1);
        }
    }
}

static uint32_t stream_len(uint32_t i)
{
    return 1 + i * 977 % RECV_BYTES;
}

/* ---- completions ---- */

static void expect(bool (*next)(Nrdma *, NrbCqe *), bool is_send, uint8_t op,
                   uint32_t bytes)
{
    NrbCqe c;

    if (!next(&n, &c)) {
        exit(1);
    }
    if (c.opcode == NRQ_ERR_SEND || c.opcode == NRQ_ERR_RECV) {
        fprintf(stderr, "ncic-verbs: completion with error %02x\n",
                c.syndrome);
        exit(1);
    }
    if (c.is_send != is_send || c.qpn != n.qpn || c.bytes != bytes ||
        (is_send && c.opcode != op)) {
        fprintf(stderr, "ncic-verbs: completion of QP %u, send %d, opcode "
                "%02x, %u bytes; expected %d, %02x, %u\n", c.qpn, c.is_send,
                c.opcode, c.bytes, is_send, op, bytes);
        exit(1);
    }
}

static void done(uint8_t op, uint32_t bytes)
{
    expect(nrdma_poll, true, op, bytes);
}

static void post_recv(uint32_t i)
{
    nrdma_recv(&n, RECV + i % RECVS * RECV_BYTES, RECV_BYTES);
}

/* Waits for an interrupt that brings the next message; where it is. */
static uint32_t receive(uint32_t bytes)
{
    expect(nrdma_wait, false, 0, bytes);
    return RECV + received++ % RECVS * RECV_BYTES;
}

/* The message received last has been read: its buffer is free. */
static void release(void)
{
    post_recv(received - 1);
}

/* ---- the two ends ---- */

static void serve(void)
{
    uint64_t counter = START;

    memcpy(n.data + COUNTER, &counter, sizeof(counter));
    nrdma_arm(&n);
    puts("ready");
    fflush(stdout);
    compare(receive(GREETING), GREETING, SEED_GREETING);
    release();
    /* Written without a word, then with one behind a packet, then behind
     * many. */
    receive(TAIL);
    release();
    receive(WRITTEN);
    release();
    compare(DST, WRITTEN, SEED_WRITTEN);
    compare(DST + WRITTEN, TAIL, SEED_WRITTEN);
    fill(SRC, BACK, SEED_BACK);
    nrdma_post(&n, NRB_SEND, SRC, 16, 0, 0, 0);
    done(NRB_SEND, 16);
    for (uint32_t i = 0; i < STREAM; i++) {
        uint32_t len = stream_len(i);

        compare(receive(len), len, SEED_STREAM + i);
        release();
    }
    receive(0);
    memcpy(&counter, n.data + COUNTER, sizeof(counter));
    if (counter != SWAPPED) {
        fail("the counter is not what was swapped in");
    }
}

/* The result of an atomic operation that has completed. */
static uint64_t atomic(uint8_t op, uint64_t swap_add, uint64_t compare_to)
{
    uint64_t result = 0;

    memset(n.data + RESULT, 0xee, sizeof(result));
    nrdma_post(&n, op, RESULT, sizeof(result), COUNTER, swap_add, compare_to);
    done(op, sizeof(result));
    memcpy(&result, n.data + RESULT, sizeof(result));
    return result;
}

static void atomics(void)
{
    const uint64_t sum = START + ADDS * STEP;

    for (uint64_t i = 0; i < ADDS; i++) {
        if (atomic(NRB_FETCH_ADD, STEP, 0) != START + i * STEP) {
            fail("fetch-and-add did not return the sum so far");
        }
    }
    if (atomic(NRB_CMP_SWAP, 1, sum + 1) != sum ||
        atomic(NRB_CMP_SWAP, SWAPPED, sum) != sum ||
        atomic(NRB_FETCH_ADD, 0, 0) != SWAPPED) {
        fail("compare-and-swap");
    }
}

static void drive(void)
{
    nrdma_arm(&n);
    fill(SRC, GREETING, SEED_GREETING);
    nrdma_post(&n, NRB_SEND, SRC, GREETING, 0, 0, 0);
    done(NRB_SEND, GREETING);
    fill(SRC, WRITTEN, SEED_WRITTEN);
    nrdma_post(&n, NRB_WRITE, SRC, WRITTEN, DST, 0, 0);
    done(NRB_WRITE, WRITTEN);
    fill(SRC, TAIL, SEED_WRITTEN);
    nrdma_post(&n, NRB_WRITE_IMM, SRC, TAIL, DST + WRITTEN, 0, 0);
    done(NRB_WRITE_IMM, TAIL);
    nrdma_post(&n, NRB_WRITE_IMM, SRC, WRITTEN, DST, 0, 0);
    done(NRB_WRITE_IMM, WRITTEN);
    receive(16);
    nrdma_post(&n, NRB_READ, DST, BACK, SRC, 0, 0);
    done(NRB_READ, BACK);
    compare(DST, BACK, SEED_BACK);
    atomics();
    /* Faster than the server posts buffers: it answers RNR NAK. */
    for (uint32_t i = 0; i < STREAM; i++) {
        uint32_t len = stream_len(i);

        fill(SRC, len, SEED_STREAM + i);
        nrdma_post(&n, NRB_SEND_IMM, SRC, len, 0, 0, 0);
        done(NRB_SEND_IMM, len);
    }
    nrdma_post(&n, NRB_SEND, SRC, 0, 0, 0, 0);
    done(NRB_SEND, 0);
}

int main(int argc, char **argv)
{
    bool server = argc == 3 && !strcmp(argv[2], "serve");

    if (!server && (argc != 3 || strcmp(argv[2], "drive"))) {
        fprintf(stderr, "usage: ncic-verbs BDF serve|drive\n");
        return 2;
    }
    if (!nrdma_up(&n, argv[1]) ||
        !nrdma_connect(&n, server ? SERVER_QPN : DRIVER_QPN,
                       server ? DRIVER_QPN : SERVER_QPN,
                       server ? SERVER_IP : DRIVER_IP,
                       server ? DRIVER_IP : SERVER_IP)) {
        return 1;
    }
    for (uint32_t i = 0; i < RECVS; i++) {
        post_recv(i);
    }
    if (server) {
        serve();
    } else {
        drive();
    }
    if (!nrdma_interrupted(&n)) {
        return 1;
    }
    if (nrdma_qp_state(&n) != 3 || !nrdma_down(&n)) {
        fail("the QP is not in RTS, or does not go down");
    }
    printf("good: %u completions, %llu interrupts, %u events\n", n.cq_tail,
           (unsigned long long)n.interrupts, n.eq_tail);
    return 0;
}
