/*
 * Packets that software of one emulator makes whole, for the engine of another.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBC_RAW_H
#define UBC_RAW_H

#include "ubc-eng.h"
#include "ub/tp_format.h"

#define RAW_MAX 2048u

/* The ring of pair 0 is for packets that are whole, of every CFG; the engine hears
 * nothing meanwhile. */
static inline void raw_open(Eng *e)
{
    qubc_pair_write(e->q, 0, UBC_PAIR_CFGS, 0xffff);
    qubc_ring_open(e->q, 0, UBC_RING_TX, QUBC_TX_RING(0));
}

/* Packets are the engine's again. */
static inline void raw_close(Eng *e)
{
    qubc_pair_write(e->q, 0, UBC_RING_TX + UBC_RING_CTRL, 0);
    qubc_pair_write(e->q, 0, UBC_PAIR_CFGS, 0);
}

/* The same where the fabric has opened the rings, for IP. */
static inline void raw_reopen(Eng *e)
{
    qubc_pair_write(e->q, 0, UBC_RING_RX + UBC_RING_CTRL, 0);
    raw_close(e);
    raw_open(e);
}

/* It leaves. */
static inline void raw_send(Eng *e, unsigned cfg, const uint8_t *data, uint32_t len)
{
    QUbc *d = e->q;
    uint16_t n = d->port[0].tx_head;
    uint32_t at = QUBC_TX_BUF(0) + n % QUBC_RING * QUBC_BUF;

    memcpy(d->ram->at + at, data, len);
    qubc_post(d, 0, UBC_RING_TX, at, len, cfg);
    qubc_doorbell(d, 0, UBC_RING_TX);
    QUBC_WAIT(qubc_status(d, 0, UBC_RING_TX, n) & UBC_DESC_DONE);
    g_assert_cmphex(qubc_status(d, 0, UBC_RING_TX, n) & ~UBC_DESC_DONE, ==, 0);
}

/* The ICRC of @len bytes behind a NTH of 16 or 24 bits (§5.3.6.1): CCI and LBF count
 * as ones. */
static inline void raw_seal(unsigned cfg, uint8_t *p, uint32_t len)
{
    uint32_t crc = ~0u, masked = cfg == UB_LPH_CNA24 ? 6 : 4;

    for (uint32_t i = 0; i < len; i++) {
        crc ^= p[i] | (i >= masked && i < masked + 3 ? 0xff : 0);
        for (unsigned b = 0; b < 8; b++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
        }
    }
    stl_le_p(p + len, ~crc);
}

enum { RAW_EXPERIMENT = 253, RAW_UDP = 17 };

/* A packet of IPv4 from 10.0.0.1 to 10.0.0.2, with @len bytes from the extension to the
 * ICRC, that says it may be marked. */
static inline void raw_ipv4(uint8_t *p, uint32_t len, uint8_t hops, uint8_t protocol)
{
    uint8_t *ip = p + UB_IPEXT_SIZE;
    uint32_t sum = 0;

    memset(p, 0, len);
    ub_ipext_put(p, ub_cci_fecn(false, UB_FECN_NONE), UB_NPI_DEFAULT);
    ip[0] = 0x45;
    put_be16(ip + 2, len - UB_IPEXT_SIZE);
    ip[8] = hops;
    ip[9] = protocol;
    put_be32(ip + 12, 0x0a000001);
    put_be32(ip + 16, 0x0a000002);
    for (unsigned w = 0; w < UB_IPV4_SIZE; w += 2) {
        sum += get_be16(ip + w);
    }
    put_be16(ip + 10, ~(sum % 0xffff));
}

/* BTAH, ATAH, TAIDETAH, MAETAH and TVETAH (§7.2) of a request by queue @queue to the
 * segment of the engines' tests, at its @at-th byte. */
enum { RAW_TAH = 28 };

static inline void raw_request(uint8_t *t, unsigned opcode, unsigned ee, uint16_t tassn,
                               uint32_t queue, uint32_t at, uint32_t len)
{
    t[0] = opcode;
    t[1] = ee << 4 | 8;                 /* EE_bits, TV_EN */
    stw_be_p(t + 2, tassn);
    stl_be_p(t + 4, queue);
    stq_be_p(t + 8, ENG_UBA + at);
    stl_be_p(t + 16, ENG_SEGMENT << 8);
    stl_be_p(t + 20, len);
    stl_be_p(t + 24, ENG_TOKEN);
}

/* The RTPH of §6.2.1, written down anew. */
static inline void raw_rtph(uint8_t *p, const UbRtph *h)
{
    stl_be_p(p, (uint32_t)h->last << 31 | (uint32_t)h->opcode << 24 |
                h->ver << 22 | h->pad << 20 | h->nlp << 16 | h->src >> 8);
    stl_be_p(p + 4, h->src << 24 | h->dst);
    stl_be_p(p + 8, (uint32_t)h->ack_req << 31 | h->fake << 30 | h->psn);
    stl_be_p(p + 12, (uint32_t)h->rspst << 29 | h->rspinfo << 24 | h->msn);
}

/* A packet of RTP from @e to its peer: NTH of 24 bits, @h, @len bytes, ICRC. */
static inline void raw_rtp(Eng *e, const UbRtph *h, const void *data, uint32_t len)
{
    UbNth nth = { .scna = e->n, .dcna = 3 - e->n, .nlp = UB_NLP_RTPH };
    uint8_t p[RAW_MAX] = { 0 };

    g_assert_cmpuint(UB_NTH24_SIZE + UB_RTPH_LEN + len + 4, <=, RAW_MAX);
    ub_nth24_put(p, &nth);
    raw_rtph(p + UB_NTH24_SIZE, h);
    memcpy(p + UB_NTH24_SIZE + UB_RTPH_LEN, data, len);
    len += UB_NTH24_SIZE + UB_RTPH_LEN;
    raw_seal(UB_LPH_CNA24, p, len);
    raw_send(e, UB_LPH_CNA24, p, len + 4);
}

#endif
