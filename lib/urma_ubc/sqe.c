/*
 * Provider of liburma: work requests as entries of the engine's send queue.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/bytes.h"
#include "ubc.h"

#define ATOMIC_MAX 64
#define WORD_MAX 8                  /* operands up to here are in the request */
#define TOKEN_POLICY 7u

/* How a request is put into an entry. */
typedef enum Shape {
    SHAPE_NONE, SHAPE_WRITE, SHAPE_READ, SHAPE_ATOMIC, SHAPE_SEND, SHAPE_NOP
} Shape;

typedef struct Kind {
    uint8_t shape, opcode;          /* TAOpcode (table 7-2) */
    bool two;                       /* the request has both operands */
} Kind;

static const Kind kinds[] = {
    [URMA_WR_WRITE] = { SHAPE_WRITE, 0x03 },
    [URMA_WR_WRITE_IMM] = { SHAPE_WRITE, 0x04 },
    [URMA_WR_WRITE_NOTIFY] = { SHAPE_WRITE, 0x05 },
    [URMA_WR_READ] = { SHAPE_READ, 0x06 },
    [URMA_WR_CAS] = { SHAPE_ATOMIC, 0x07, true },
    [URMA_WR_SWAP] = { SHAPE_ATOMIC, 0x08, true },
    [URMA_WR_FADD] = { SHAPE_ATOMIC, 0x0b },
    [URMA_WR_FSUB] = { SHAPE_ATOMIC, 0x0c },
    [URMA_WR_FAND] = { SHAPE_ATOMIC, 0x0d },
    [URMA_WR_FOR] = { SHAPE_ATOMIC, 0x0e },
    [URMA_WR_FXOR] = { SHAPE_ATOMIC, 0x0f },
    [URMA_WR_SEND] = { SHAPE_SEND, 0x00 },
    [URMA_WR_SEND_IMM] = { SHAPE_SEND, 0x01 },
    [URMA_WR_NOP] = { SHAPE_NOP, UBQ_OP_NOP },
};

/* An entry that is being made. */
typedef struct Entry {
    uint8_t *e;
    uint32_t w0, at, bytes;         /* at: end of what is behind the block */
} Entry;

/* TokenID and TokenValue of what an element is in. */
typedef struct Token {
    uint32_t id, value;
    bool en;
} Token;

static int token_of(const urma_sge *s, Token *t)
{
    const UbcSeg *seg = (const UbcSeg *)s->tseg;

    if (seg) {
        *t = (Token) { seg->base.seg.token_id, seg->token, seg->token_en };
    } else if (s->user_tseg) {
        *t = (Token) { s->user_tseg->token_id, s->user_tseg->token.token,
                       s->user_tseg->attr & TOKEN_POLICY };
    } else {
        return EINVAL;
    }
    return 0;
}

static bool room(const Entry *b, uint32_t more)
{
    return b->at + more <= UBQ_SQE_BLOCKS_MAX * UBQ_BLOCK;
}

static int elements_put(Entry *b, const urma_sg *list, bool inlined)
{
    uint64_t sum = 0;

    if (list->num_sge > UBQ_ELEMENTS_MAX ||
        (list->num_sge > 1 &&
         !room(b, (list->num_sge - 1) * UBQ_ELEMENT))) {
        return EINVAL;
    }
    for (uint32_t i = 0; i < list->num_sge; i++) {
        const urma_sge *s = &list->sge[i];
        uint8_t *to = b->e + (i ? b->at : UBQ_SQE_ELEMENT);

        sum += s->len;
        if (inlined) {
            if (sum > UBQ_INLINE_MAX || !room(b, s->len)) {
                return EINVAL;
            }
            memcpy(b->e + b->at, (const void *)(uintptr_t)s->addr, s->len);
            b->at += s->len;
            continue;
        }
        put_le64(to, s->addr);
        put_le32(to + 8, s->len);
        put_le32(to + 12, 0);
        b->at += i ? UBQ_ELEMENT : 0;
    }
    if (sum > INT32_MAX) {
        return EINVAL;
    }
    b->bytes = sum;
    put_le32(b->e + UBQ_SQE_LENGTH, sum);
    if (inlined) {
        b->w0 |= UBQ_SQE_INLINE;
    } else {
        b->w0 |= list->num_sge << 12;
    }
    return 0;
}

static int remote_put(Entry *b, const urma_sge *remote)
{
    Token t;

    if (token_of(remote, &t)) {
        return EINVAL;
    }
    put_le32(b->e + UBQ_SQE_TARGET, t.id);
    put_le32(b->e + UBQ_SQE_TOKEN_VALUE, t.value);
    put_le64(b->e + UBQ_SQE_ADDR, remote->addr);
    b->w0 |= t.en ? UBQ_SQE_TOKEN : 0;
    return 0;
}

/* The last remote element says where the notification goes. */
static int notify_put(Entry *b, const urma_rw_wr *rw)
{
    const urma_sge *last = rw->dst.sge + rw->dst.num_sge - 1;
    Token t;

    if (rw->dst.num_sge < 2 || token_of(last, &t)) {
        return EINVAL;
    }
    put_le64(b->e + UBQ_SQE_IMM, rw->notify_data);
    put_le64(b->e + UBQ_SQE_NOTIFY, last->addr);
    put_le32(b->e + b->at, t.id);
    put_le32(b->e + b->at + 4, t.value);
    put_le64(b->e + b->at + 8, 0);
    b->at += 16;
    return 0;
}

/* Who receives is chosen by the peer's engine. */
static void group_put(Entry *b, const UbcTarget *t, uint8_t hint)
{
    if (t->base.type == URMA_TARGET_GROUP) {
        b->w0 |= UBQ_SQE_GROUP;
        put_le32(b->e + UBQ_SQE_W5, (uint32_t)hint << 8);
    }
}

static int write_put(Entry *b, const urma_jfs_wr *wr, const UbcTarget *t)
{
    if (!wr->rw.dst.num_sge || remote_put(b, &wr->rw.dst.sge[0])) {
        return EINVAL;
    }
    if (wr->opcode == URMA_WR_WRITE_NOTIFY && notify_put(b, &wr->rw)) {
        return EINVAL;
    }
    if (wr->opcode == URMA_WR_WRITE_IMM) {
        put_le64(b->e + UBQ_SQE_IMM, wr->rw.notify_data);
        put_le64(b->e + UBQ_SQE_NOTIFY, t->base.id.id | (uint64_t)t->token << 32);
        b->w0 |= t->token_en ? UBQ_SQE_TOKEN : 0;
        group_put(b, t, wr->rw.target_hint);
    }
    return elements_put(b, &wr->rw.src, wr->flag & URMA_WR_INLINE);
}

/* As a Write: the first remote element says where it begins, those of this side how
 * long it is.  Public programs give as many there as here, and move the first one only. */
static int read_put(Entry *b, const urma_jfs_wr *wr)
{
    if (!wr->rw.src.num_sge || remote_put(b, &wr->rw.src.sge[0])) {
        return EINVAL;
    }
    return elements_put(b, &wr->rw.dst, false);
}

static void operand_put(Entry *b, uint64_t operand, uint32_t len)
{
    uint8_t word[WORD_MAX];

    put_le64(word, operand);
    memcpy(b->e + b->at,
           len <= WORD_MAX ? (const void *)word
                           : (const void *)(uintptr_t)operand, len);
    b->at += len;
}

/* Operand 1 of CAS is compared; SWAP's new value is where CAS has it. */
static int atomic_put(Entry *b, const urma_jfs_wr *wr, const Kind *k)
{
    const urma_atomic_wr *a = &wr->atomic;
    uint32_t len = a->dst ? a->dst->len : 0;
    uint64_t first = a->operand[wr->opcode == URMA_WR_SWAP];

    if (!len || len > ATOMIC_MAX || !a->src || a->src->len < len ||
        remote_put(b, a->dst)) {
        return EINVAL;
    }
    put_le64(b->e + UBQ_SQE_ELEMENT, a->src->addr);
    put_le32(b->e + UBQ_SQE_ELEMENT + 8, len);
    put_le32(b->e + UBQ_SQE_LENGTH, len);
    b->bytes = len;
    b->w0 |= UBQ_SQE_INLINE | 1u << 12;
    operand_put(b, first, len);
    if (k->two) {
        operand_put(b, a->operand[1], len);
    } else {
        b->at += len;
    }
    return 0;
}

static int send_put(Entry *b, const urma_jfs_wr *wr, const UbcTarget *t)
{
    put_le32(b->e + UBQ_SQE_TARGET, t->base.id.id);
    put_le32(b->e + UBQ_SQE_TOKEN_VALUE, t->token);
    put_le64(b->e + UBQ_SQE_IMM, wr->send.imm_data);
    b->w0 |= t->token_en ? UBQ_SQE_TOKEN : 0;
    group_put(b, t, wr->send.target_hint);
    return elements_put(b, &wr->send.src, wr->flag & URMA_WR_INLINE);
}

static const struct {
    uint32_t from, to;
} flags[] = {
    { URMA_WR_COMP_ORDER, UBQ_SQE_ORDERED_CQE },
    { URMA_WR_FENCE, UBQ_SQE_FENCE },
    { URMA_WR_SOLICITED, UBQ_SQE_SOLICITED },
    { URMA_WR_COMPLETE, UBQ_SQE_CQE },
};

static int shape_put(Entry *b, const urma_jfs_wr *wr, const UbcTarget *t,
                     const Kind *k)
{
    switch ((Shape)k->shape) {
    case SHAPE_WRITE:
        return write_put(b, wr, t);
    case SHAPE_READ:
        return read_put(b, wr);
    case SHAPE_ATOMIC:
        return atomic_put(b, wr, k);
    case SHAPE_SEND:
        return send_put(b, wr, t);
    case SHAPE_NOP:
        return 0;
    default:
        return EINVAL;
    }
}

int ubc_sqe_build(uint8_t *e, const urma_jfs_wr *wr, const UbcTarget *t,
                  unsigned *blocks, uint32_t *bytes)
{
    const Kind *k = wr->opcode < ARRAY_SIZE(kinds) ? &kinds[wr->opcode] : NULL;
    Entry b = { .e = e, .at = UBQ_BLOCK };
    uint32_t order = wr->flag & URMA_WR_PLACE_ORDER;
    int err;

    if (!k || k->shape == SHAPE_NONE || order > 2 ||
        (!t && k->shape != SHAPE_NOP)) {
        return EINVAL;
    }
    memset(e, 0, 2 * UBQ_BLOCK);
    b.w0 = k->opcode | order << 20;
    for (unsigned i = 0; i < ARRAY_SIZE(flags); i++) {
        b.w0 |= wr->flag & flags[i].from ? flags[i].to : 0;
    }
    err = shape_put(&b, wr, t, k);
    if (err) {
        return err;
    }
    *blocks = (b.at + UBQ_BLOCK - 1) / UBQ_BLOCK;
    *bytes = b.bytes;
    put_le32(e + UBQ_SQE_DEST, t ? t->row : 0);
    put_le32(e + UBQ_SQE_W0, b.w0 | (*blocks - 1) << 8);
    return 0;
}
