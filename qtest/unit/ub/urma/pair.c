/*
 * A pair of queues: fixture of the tests of the engine.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "pair.h"

uint8_t pattern(unsigned i)
{
    return i * 7 + (i >> 8);
}

void fill(End *e, uint64_t at, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++) {
        e->memory[at + i] = pattern(i);
    }
}

void check(End *e, uint64_t at, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++) {
        g_assert_cmphex(e->memory[at + i], ==, pattern(i));
    }
}

void pair_start(Pair *p, unsigned carrier, unsigned mode, uint32_t flags)
{
    ends_start(&p->ends);
    p->a = &p->ends.end[0];
    p->b = &p->ends.end[1];
    ubq_cq_open(&p->cq_a, &p->a->drv, 8);
    ubq_cq_open(&p->cq_b, &p->b->drv, 8);
    ubq_queue_open(&p->qa, &p->a->drv, &p->cq_a, &p->cq_a, mode, flags);
    ubq_queue_open(&p->qb, &p->b->drv, &p->cq_b, &p->cq_b, mode, flags);
    if (carrier == UB_TP_RTP) {
        ends_channel(&p->ends, 5);
    }
    for (unsigned i = 0; i < 2; i++) {
        UbqPeer peer = end_peer(&p->ends.end[i]);

        ubq_dest(&p->ends.end[i].drv, 9, carrier, 5, &peer);
    }
    p->local = ubq_alloc(&p->a->drv, ROOM, 4096);
    p->remote = ubq_alloc(&p->b->drv, ROOM, 4096);
    ubq_segment(&p->b->drv, 77, p->remote, ROOM,
                UBQ_SEG_READ | UBQ_SEG_WRITE | UBQ_SEG_ATOMIC | UBQ_SEG_TOKEN,
                TOKEN);
}

void pair_stop(Pair *p)
{
    ends_stop(&p->ends);
}

/* A request of memory at offset @off of b's segment. */
uint8_t *memory_op(Pair *p, unsigned opcode, uint32_t flags,
                          uint64_t off, uint64_t local, uint32_t len,
                          unsigned blocks)
{
    uint8_t *e = ubq_sqe(&p->qa, blocks);

    ubq_sqe_put(e, opcode | UBQ_SQE_TOKEN | flags, 9, local, len);
    put_le32(e + UBQ_SQE_TARGET, 77);
    put_le32(e + UBQ_SQE_TOKEN_VALUE, TOKEN);
    put_le64(e + UBQ_SQE_ADDR, 0x10000 + off);
    return e;
}

void post_and_run(Pair *p, uint8_t *e, unsigned blocks)
{
    ubq_post(&p->qa, e, blocks);
    ends_run(&p->ends, SECOND);
}

void write_read(Pair *p, uint32_t len)
{
    const uint8_t *c;

    fill(p->a, p->local, len);
    memset(p->b->memory + p->remote, 0, len);
    post_and_run(p, memory_op(p, UB_TA_WRITE, 0, 0, p->local, len, 1), 1);
    c = ubq_cq_expect(&p->cq_a, UBQ_STATUS_OK);
    g_assert_cmphex(get_le32(c) & UBQ_CQE_OPCODE, ==, UB_TA_WRITE);
    g_assert_cmpuint(get_le32(c + UBQ_CQE_QUEUE), ==, p->qa.id);
    check(p->b, p->remote, len);
    memset(p->a->memory + p->local, 0, len);
    post_and_run(p, memory_op(p, UB_TA_READ, 0, 0, p->local, len, 1), 1);
    c = ubq_cq_expect(&p->cq_a, UBQ_STATUS_OK);
    g_assert_cmpuint(get_le32(c + UBQ_CQE_BYTES), ==, len);
    check(p->a, p->local, len);
    g_assert_null(ubq_cq_poll(&p->cq_a));
}

uint8_t *message_op(Pair *p, unsigned opcode, uint32_t flags,
                           uint64_t local, uint32_t len)
{
    uint8_t *e = ubq_sqe(&p->qa, 1);

    ubq_sqe_put(e, opcode | flags, 9, local, len);
    put_le32(e + UBQ_SQE_TARGET, p->qb.id);
    put_le64(e + UBQ_SQE_IMM, 0x1122334455667788ull);
    return e;
}

unsigned eq_take(End *e, unsigned *ci, unsigned want)
{
    uint64_t base = ub_urma_reg_read(e->urma, UBQ_EQ(0) + UBQ_EQ_BASE_LO);
    const uint8_t *at = e->memory + base + *ci * UBQ_EQE;
    unsigned pi = ub_urma_reg_read(e->urma, UBQ_EQ(0) + UBQ_EQ_PI);
    uint32_t w0 = get_le32(at);

    g_assert_cmpuint(*ci, <, pi);
    g_assert_cmphex((w0 & 0xff) << 8 | (w0 >> 8 & 0xff), ==, want);
    g_assert_cmphex(w0 & UBQ_EQE_OWNER, ==, UBQ_EQE_OWNER);
    (*ci)++;
    return get_le32(at + 4);
}

uint8_t *end_save(Ends *ends, End *e, size_t *len)
{
    CoreImage *im = core_image_save(ends->now);
    uint8_t *data;

    ub_urma_image(e->urma, im);
    ub_node_image(e->node, im, ub_urma_adopt);
    data = core_image_take(im, len);
    core_image_free(im);
    return data;
}

const char *end_load(Ends *ends, End *e, const uint8_t *data,
                            size_t len)
{
    CoreImage *im = core_image_load(data, len, ends->now);
    UbTaState state;
    uint32_t senders;
    const char *why;

    ub_node_reset(e->node, ends->now);
    ub_urma_image(e->urma, im);
    ub_node_image(e->node, im, ub_urma_adopt);
    why = core_image_done(im);
    core_image_free(im);
    if (!why) {
        why = ub_urma_loaded(e->urma, &senders);
    }
    if (!why) {
        /* Nobody else has queues there. */
        ub_ta_state(ub_node_ta(e->node), &state);
        g_assert_cmpuint(state.queues, ==, senders);
    }
    return why;
}
