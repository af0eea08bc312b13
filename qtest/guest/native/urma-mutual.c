/*
 * Both ends send to one another at the same time (UB 2.0 §8.2.7.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "urma-end.h"

#define MESSAGE 64u
#define RECV_AT (2u << 20)      /* receive buffers are in the second half */
#define UNDER_WAY (END_DEPTH / 2)

static void message_send(End *end, uint32_t number)
{
    urma_sge src = { .addr = (uintptr_t)end->buf, .len = MESSAGE,
                     .tseg = end->seg };
    urma_jfs_wr wr = {
        .opcode = URMA_WR_SEND_IMM,
        .flag = URMA_WR_COMPLETE | URMA_WR_INLINE,
        .user_ctx = number,
        .send = { .src = { &src, 1 }, .imm_data = number },
    };

    end_fill(end->buf, MESSAGE, number);
    END_MUST(!end_post(end, &wr));
}

static void message_await(End *end, uint32_t slot)
{
    uint32_t off = RECV_AT + slot * MESSAGE;

    memset(end->buf + off, 0, MESSAGE);
    END_MUST(!end_post_recv(end, off, MESSAGE, slot));
}

void end_mutual_empty(End *end)
{
    urma_cr cr;

    for (uint32_t i = 0; i < UNDER_WAY; i++) {
        message_send(end, i);
    }
    for (uint32_t i = 0; i < UNDER_WAY; i++) {
        end_poll(end, &cr);
        if (cr.flag & URMA_CR_RECEIVE || cr.status != URMA_CR_RNR) {
            end_die("message %u to an empty queue: flag %u, status %u",
                    (unsigned)cr.user_ctx, cr.flag, cr.status);
        }
    }
    end_quiet(end);
}

void end_mutual_open(End *end)
{
    for (uint32_t i = 0; i < END_DEPTH; i++) {
        message_await(end, i);
    }
}

static void message_came(End *end, const urma_cr *cr, uint8_t *seen,
                         uint32_t n)
{
    uint32_t number = cr->imm_data, slot = cr->user_ctx;
    const uint8_t *at = end->buf + RECV_AT + slot * MESSAGE;

    END_MUST(cr->status == URMA_CR_SUCCESS && slot < END_DEPTH);
    END_MUST(cr->completion_len == MESSAGE && number < n);
    END_MUST(end_check(at, MESSAGE, number) == MESSAGE);
    END_MUST(!(seen[number / 8] & 1u << number % 8));   /* once */
    seen[number / 8] |= 1u << number % 8;
    message_await(end, slot);
}

void end_mutual_flood(End *end, uint32_t n)
{
    uint8_t seen[END_MUTUAL_MAX / 8] = { 0 };
    uint32_t posted = 0, done = 0, came = 0;
    urma_cr cr;

    END_MUST(n <= END_MUTUAL_MAX);
    while (done < n || came < n) {
        while (posted < n && posted - done < UNDER_WAY) {
            message_send(end, posted++);
        }
        end_poll(end, &cr);
        if (cr.flag & URMA_CR_RECEIVE) {
            message_came(end, &cr, seen, n);
            came++;
        } else if (cr.status == URMA_CR_RNR) {
            message_send(end, cr.user_ctx);     /* the peer did not keep up */
        } else {
            END_MUST(cr.status == URMA_CR_SUCCESS);
            done++;
        }
    }
}
