/*
 * BTH opcodes: which headers a packet has and who handles it (IB 1.3 table
 * 38; RDMA tables 7.32-7.34, whose lengths for Write Only, Read responses and
 * ACK are misprinted).  The table holds every legal combination of service
 * and operation (RDMA table 1.1); all others have no name.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rdma/roce.h"
#include "rdma/types.h"

#define REQ   ROCE_F_REQUEST
#define RSP   ROCE_F_RESPONSE
#define FIRST ROCE_F_FIRST
#define MID   ROCE_F_MIDDLE
#define LAST  ROCE_F_LAST
#define ONLY  (FIRST | LAST)
#define PAY   ROCE_F_PAYLOAD
#define SEND  (REQ | ROCE_F_SEND | PAY)
#define WRITE (REQ | ROCE_F_WRITE | PAY)
#define RDRSP (RSP | ROCE_F_READ | PAY)
#define IMM   ROCE_F_IMM

enum { B = ROCE_BTH_BYTES };

#define SEND_OPS(svc, s)                                                    \
    [ROCE_OP(svc, ROCE_SEND_FIRST)] = {                                     \
        s " SEND First", SEND | FIRST, B },                                 \
    [ROCE_OP(svc, ROCE_SEND_MIDDLE)] = {                                    \
        s " SEND Middle", SEND | MID, B },                                  \
    [ROCE_OP(svc, ROCE_SEND_LAST)] = {                                      \
        s " SEND Last", SEND | LAST, B },                                   \
    [ROCE_OP(svc, ROCE_SEND_LAST_IMM)] = {                                  \
        s " SEND Last with Immediate", SEND | LAST | IMM, B + 4,            \
        .imm = B },                                                         \
    [ROCE_OP(svc, ROCE_SEND_ONLY)] = {                                      \
        s " SEND Only", SEND | ONLY, B },                                   \
    [ROCE_OP(svc, ROCE_SEND_ONLY_IMM)] = {                                  \
        s " SEND Only with Immediate", SEND | ONLY | IMM, B + 4,            \
        .imm = B }

#define WRITE_OPS(svc, s)                                                   \
    [ROCE_OP(svc, ROCE_WRITE_FIRST)] = {                                    \
        s " RDMA WRITE First", WRITE | FIRST, B + 16, .reth = B },          \
    [ROCE_OP(svc, ROCE_WRITE_MIDDLE)] = {                                   \
        s " RDMA WRITE Middle", WRITE | MID, B },                           \
    [ROCE_OP(svc, ROCE_WRITE_LAST)] = {                                     \
        s " RDMA WRITE Last", WRITE | LAST, B },                            \
    [ROCE_OP(svc, ROCE_WRITE_LAST_IMM)] = {                                 \
        s " RDMA WRITE Last with Immediate", WRITE | LAST | IMM, B + 4,     \
        .imm = B },                                                         \
    [ROCE_OP(svc, ROCE_WRITE_ONLY)] = {                                     \
        s " RDMA WRITE Only", WRITE | ONLY, B + 16, .reth = B },            \
    [ROCE_OP(svc, ROCE_WRITE_ONLY_IMM)] = {                                 \
        s " RDMA WRITE Only with Immediate", WRITE | ONLY | IMM, B + 20,    \
        .reth = B, .imm = B + 16 }

const RoceOp roce_ops[256] = {
    SEND_OPS(RDMA_RC, "RC"),
    WRITE_OPS(RDMA_RC, "RC"),
    [ROCE_READ_REQ] = {
        "RC RDMA READ Request", REQ | ROCE_F_READ | ONLY, B + 16, .reth = B },
    [ROCE_READ_FIRST] = {
        "RC RDMA READ Response First", RDRSP | FIRST, B + 4, .aeth = B },
    [ROCE_READ_MIDDLE] = {
        "RC RDMA READ Response Middle", RDRSP | MID, B },
    [ROCE_READ_LAST] = {
        "RC RDMA READ Response Last", RDRSP | LAST, B + 4, .aeth = B },
    [ROCE_READ_ONLY] = {
        "RC RDMA READ Response Only", RDRSP | ONLY, B + 4, .aeth = B },
    [ROCE_ACK] = {
        "RC Acknowledge", RSP | ROCE_F_ACK, B + 4, .aeth = B },
    [ROCE_ATOMIC_ACK] = {
        "RC ATOMIC Acknowledge", RSP | ROCE_F_ATOMIC | ONLY, B + 12,
        .aeth = B, .atomack = B + 4 },
    [ROCE_CMP_SWAP] = {
        "RC CmpSwap", REQ | ROCE_F_ATOMIC | ONLY, B + 28, .atomic = B },
    [ROCE_FETCH_ADD] = {
        "RC FetchAdd", REQ | ROCE_F_ATOMIC | ONLY, B + 28, .atomic = B },
    [ROCE_SEND_LAST_INV] = {
        "RC SEND Last with Invalidate", SEND | LAST | ROCE_F_INV, B + 4,
        .ieth = B },
    [ROCE_SEND_ONLY_INV] = {
        "RC SEND Only with Invalidate", SEND | ONLY | ROCE_F_INV, B + 4,
        .ieth = B },

    SEND_OPS(RDMA_UC, "UC"),
    WRITE_OPS(RDMA_UC, "UC"),

    [ROCE_OP(RDMA_UD, ROCE_SEND_ONLY)] = {
        "UD SEND Only", SEND | ONLY, B + 8, .deth = B },
    [ROCE_OP(RDMA_UD, ROCE_SEND_ONLY_IMM)] = {
        "UD SEND Only with Immediate", SEND | ONLY | IMM, B + 12,
        .deth = B, .imm = B + 8 },
};

int64_t roce_rnr_ns(unsigned code)
{
    /* IB 1.3 table 45, in units of 10 us. */
    static const uint16_t t[32] = {
        0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
        256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192,
        12288, 16384, 24576, 32768, 49152,
    };
    code &= 31;
    return (code ? t[code] : 65536) * INT64_C(10000);
}
