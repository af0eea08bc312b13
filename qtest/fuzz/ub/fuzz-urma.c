/*
 * Fuzzer of what a guest writes to the transaction engine: commands, entries,
 * records, doorbells, registers; and of images.
 *
 * The input is a little program for one end of a pair of engines: each step is a
 * byte and what it needs.  Objects that are named are mostly some that there are,
 * or nothing would get past the first check.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdint.h>
#include <string.h>

#include "../../unit/ub/urma/pair.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
    const uint8_t *p, *end;
} in;

static unsigned next(void)
{
    return in.p < in.end ? *in.p++ : 0;
}

static uint64_t number(unsigned bytes)
{
    uint64_t v = 0;

    while (bytes--) {
        v = v << 8 | next();
    }
    return v;
}

/* Some bytes at some places of zeroes. */
static void sparse(uint8_t *to, unsigned n)
{
    for (unsigned left = next() % 16; left--;) {
        unsigned at = next();

        to[at % n] = next();
    }
}

/* One of the first numbers of a kind, seldom any. */
static uint32_t object(uint32_t first)
{
    unsigned how = next();

    return how < 240 ? first + how % 8 : how < 248 ? UBQ_NEW : number(4);
}

static void command(Pair *p)
{
    uint8_t cmd[UBQ_CMD];
    unsigned opcode = next();

    ubq_cmd_init(cmd, object(opcode & 0x20 && opcode < 0x30 ? 1024 : 0),
                 next());
    if (opcode == UBQ_OP_QUEUE_CREATE) {
        cmd[UBQ_Q_SQ_LOG2] = cmd[UBQ_Q_RQ_LOG2] = 4;
        put_le64(cmd + UBQ_Q_SQ_BASE, p->local);
        put_le64(cmd + UBQ_Q_RQ_BASE, p->local + 4096);
        put_le32(cmd + UBQ_Q_RQ_SHARED, UBQ_NEW);
    } else if (opcode == UBQ_OP_CQ_CREATE) {
        cmd[UBQ_CQ_LOG2] = 4;
    }
    sparse(cmd + UBQ_CMD_MASK, UBQ_CMD - UBQ_CMD_MASK);
    if (opcode == UBQ_OP_CQ_CREATE) {
        /* Not where the driver waits for the answer of a command. */
        put_le64(cmd + UBQ_CQ_BASE, p->local + 8192 + next());
    }
    ubq_command(&p->a->drv, opcode, cmd);
}

static void entry(Pair *p)
{
    unsigned blocks = 1 + next() % 3, room = 1u << p->qa.sq_log2;
    uint8_t *e;

    if (p->qa.sq_pi % room + blocks > room) {
        blocks = 1;
    }
    e = memory_op(p, next(), next() << 24, next() << 8, p->local, number(2),
                  blocks);
    sparse(e, blocks * UBQ_BLOCK);
    ubq_post(&p->qa, e, blocks);
}

static void doorbell(Pair *p)
{
    uint32_t page = next() % 4, offset = next() % 5 * 8;
    uint64_t value = object(offset == UBQ_BELL_CQ ? 0 : 1024) |
                     number(3) << 32;

    if (next() & 1) {
        ub_urma_ring(p->a->urma, page, offset, value);
        ub_urma_rung(p->a->urma);
    } else {
        ub_urma_bell(p->a->urma, page, offset, value);
    }
}

/* Not those of event queue 0 and of the command queue, which are the driver's. */
static void eq_register(Pair *p)
{
    uint32_t place = next() % 16 * 4, at = UBQ_EQ(1 + next() % 3) + place;
    uint32_t value = number(1 + next() % 4);

    if (place == UBQ_EQ_BASE_LO) {
        value = p->local + 16384 + (value & 0xff);
    } else if (place == UBQ_EQ_BASE_HI) {
        value = 0;
    }
    ub_urma_reg_write(p->a->urma, at, value);
    ub_urma_reg_read(p->a->urma, at);
}

static void recover(Pair *p)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, p->qa.id, UBQ_QM_STATE);
    for (unsigned left = next() % 4; left--;) {
        cmd[UBQ_Q_STATE] = next() % (UBQ_STATES + 1);
        if (ubq_command(&p->a->drv, UBQ_OP_QUEUE_MODIFY, cmd) == UBQ_RESULT_OK &&
            cmd[UBQ_Q_STATE] == UBQ_STATE_RESET) {
            p->qa.sq_pi = p->qa.rq_pi = 0;
        }
    }
    while (ubq_cq_poll(&p->cq_a)) {
        continue;
    }
}

/* An image with some bytes changed is loaded or refused; then a good one. */
static void migrate(Pair *p)
{
    size_t len;
    g_autofree uint8_t *data = end_save(&p->ends, p->a, &len);
    g_autofree uint8_t *bad = g_memdup2(data, len);

    for (unsigned left = next() % 4; left--;) {
        size_t at = number(2) % len;

        bad[at] = next();
    }
    end_load(&p->ends, p->a, bad, len);
    ub_node_reset(p->a->node, p->ends.now);
    ub_urma_reset(p->a->urma);
    g_assert_null(end_load(&p->ends, p->a, data, len));
    ub_net_port_state(ub_node_net(p->a->node), p->ends.now, 0, 0xffff);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const steps[])(Pair *) = {
        command, command, entry, entry, doorbell, eq_register, recover, migrate,
    };
    unsigned options;
    Pair p;

    in.p = data;
    in.end = data + size;
    options = next();
    pair_start(&p, options % 4, options / 4 % 4, options / 16);
    while (in.p < in.end) {
        unsigned step = next();

        steps[step % G_N_ELEMENTS(steps)](&p);
        if (step & 64) {
            ends_run(&p.ends, step & 128 ? 1000000 : 1000);
        }
    }
    ends_run(&p.ends, SECOND);
    pair_stop(&p);
    return 0;
}
