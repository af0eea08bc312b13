/*
 * Headers of the transport layer (UB 2.0 §6.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/bytes.h"
#include "ub/tp_format.h"

const UbTpOpInfo ub_tp_ops[UB_TPOPS] = {
    [UB_TPOP_UNRELIABLE] = { "UTP", .payload = true },
    [UB_TPOP_DATA] = { "RTP", .payload = true },
    [UB_TPOP_ACK] = { "TPACK", .ack = true },
    [UB_TPOP_ACK_CC] = { "TPACK-CC", .cetph = UB_CETPH_LEN, .ack = true },
    [UB_TPOP_SACK] = { "TPSACK", .saetph = true, .ack = true },
    [UB_TPOP_SACK_CC] = { "TPSACK-CC", .cetph = UB_CETPH_LEN, .saetph = true,
                          .ack = true },
    [UB_TPOP_CNP] = { "CNP", .cetph = UB_CETPH_CNP_LEN },
};

const UbTpOpInfo ub_ctp_ops[UB_CTPOPS] = {
    [UB_CTPOP_DATA] = { "CTP", .payload = true },
    [UB_CTPOP_CNP] = { "CNP", .cetph = UB_CETPH_CNP_LEN },
};

void ub_rtph_put(uint8_t *p, const UbRtph *h)
{
    p[0] = (h->last ? 0x80 : 0) | (h->opcode & 0x7f);
    p[1] = (h->ver & 3u) << 6 | (h->pad & 3u) << 4 | (h->nlp & 15u);
    put_be24(p + 2, h->src);
    put_be24(p + 5, h->dst);
    p[8] = (h->ack_req ? 0x80 : 0) | (h->fake ? 0x40 : 0);
    put_be24(p + 9, h->psn);
    p[12] = (h->rspst & 7u) << 5 | (h->rspinfo & 31u);
    put_be24(p + 13, h->msn);
}

void ub_rtph_get(const uint8_t *p, UbRtph *h)
{
    *h = (UbRtph) {
        .opcode = p[0] & 0x7f, .last = p[0] >> 7,
        .ver = p[1] >> 6, .pad = p[1] >> 4 & 3, .nlp = p[1] & 15,
        .src = get_be24(p + 2), .dst = get_be24(p + 5),
        .ack_req = p[8] >> 7, .fake = p[8] >> 6 & 1,
        .psn = get_be24(p + 9),
        .rspst = p[12] >> 5, .rspinfo = p[12] & 31,
        .msn = get_be24(p + 13),
    };
}

void ub_ctph_put(uint8_t *p, const UbCtph *h)
{
    p[0] = (h->opcode & 3u) << 6 | (h->pad & 3u) << 4 | (h->nlp & 15u);
}

void ub_ctph_get(const uint8_t *p, UbCtph *h)
{
    *h = (UbCtph) { .opcode = p[0] >> 6, .pad = p[0] >> 4 & 3,
                    .nlp = p[0] & 15 };
}

void ub_cetph_put_ldcp(uint8_t *p, const UbCetph *c)
{
    put_be32(p, c->ack_seq);
    put_be32(p + 4, c->ce_seq);
}

void ub_cetph_get_ldcp(const uint8_t *p, UbCetph *c)
{
    *c = (UbCetph) { .ack_seq = get_be32(p), .ce_seq = get_be32(p + 4) };
}

void ub_cetph_put_caqm(uint8_t *p, const UbCetph *c)
{
    put_be32(p, c->ack_seq);
    p[4] = (c->loc ? 2 : 0) | (c->inc ? 1 : 0);
    p[5] = c->c;
    put_be16(p + 6, c->hint);
}

void ub_cetph_get_caqm(const uint8_t *p, UbCetph *c)
{
    *c = (UbCetph) { .ack_seq = get_be32(p), .loc = p[4] & 2,
                     .inc = p[4] & 1, .c = p[5], .hint = get_be16(p + 6) };
}

void ub_cetph_put_cnp(uint8_t *p, const UbCetph *c)
{
    memset(p, 0, UB_CETPH_CNP_LEN);
    p[0] = (c->ecn & 3u) << 6 | (c->loc ? 0x20 : 0);
}

void ub_cetph_get_cnp(const uint8_t *p, UbCetph *c)
{
    *c = (UbCetph) { .ecn = p[0] >> 6, .loc = p[0] & 0x20 };
}

uint8_t ub_saetph_size(uint32_t bits)
{
    uint8_t size = 0;

    while (size < 4 && bits > (uint32_t)UB_SACK_BITS_MIN << size) {
        size++;
    }
    return size;
}

void ub_saetph_put(uint8_t *p, const UbSaetph *s)
{
    p[0] = s->size & 7;
    put_be24(p + 1, s->max_rcv);
    for (uint32_t i = 0; i < (ub_saetph_len(s->size) - 4) / 4; i++) {
        put_be32(p + 4 + 4 * i, s->map[i]);
    }
}

bool ub_saetph_get(const uint8_t *p, uint32_t len, UbSaetph *s)
{
    memset(s, 0, sizeof(*s));
    if (len < UB_SAETPH_MIN || (p[0] & 7) > 4 ||
        len < ub_saetph_len(p[0] & 7)) {
        return false;
    }
    s->size = p[0] & 7;
    s->max_rcv = get_be24(p + 1);
    for (uint32_t i = 0; i < (ub_saetph_len(s->size) - 4) / 4; i++) {
        s->map[i] = get_be32(p + 4 + 4 * i);
    }
    return true;
}

/* Highest RSPINFO of each RSPST, -1: reserved. */
static const int8_t rspinfo_max[8] = {
    [UB_RTPH_ACK] = 31, [UB_RTPH_RNR] = UB_RNR_TIMER_MAX,
    [UB_RTPH_PAGE_FAULT] = UB_RNR_TIMER_MAX, [UB_RTPH_NAK] = UB_NAK_ABORT,
    [4] = -1, [UB_RTPH_TA] = UB_RTPH_TA_GOOD, [6] = -1, [7] = -1,
};

const char *ub_rtph_fault(const UbRtph *h)
{
    if (h->ver != 0) {
        return "TPVer is not 0";
    }
    if (h->opcode >= UB_TPOPS || !ub_tp_ops[h->opcode].name) {
        return "TPOpcode is reserved";
    }
    if (ub_tp_ops[h->opcode].ack && h->rspinfo > rspinfo_max[h->rspst]) {
        return "RSPST or RSPINFO is reserved";
    }
    return NULL;
}
