/*
 * A guest's side of message queue 0: what it sends and takes (UB 2.0 §10.4.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBC_MSG_H
#define UBC_MSG_H

#include "ubc-link.h"
#include "ub/mgmt_format.h"
#include "ub/msgq.h"

#define SQ 0x800000u
#define RQ 0x840000u
#define CQ 0x880000u
#define DEPTH 16u
#define Q UBC_MSGQ(0)
#define VECTOR QUBC_VECTOR_RX(0)
/* Who asks waits longer than any host stands still. */
#define PATIENT "mgmt-timeout=60000"
/* Who is not answered is told, after what hosts seldom stand still. */
#define WAITS_IN_VAIN "mgmt-timeout=8000"

/* A guest's side of message queue 0. */
typedef struct Guest {
    QUbc *d;
    unsigned pi, ci;
    uint16_t msn;
    uint16_t answered;    /* MSN of the last completion */
    uint32_t packet[512]; /* the last one received */
    unsigned status;
    bool event;           /* it answers nothing */
} Guest;

static inline uint32_t q_read(Guest *g, uint32_t reg)
{
    return qubc_read(g->d, Q + reg);
}

static inline void q_write(Guest *g, uint32_t reg, uint32_t value)
{
    qubc_write(g->d, Q + reg, value);
}

static inline void guest_open(Guest *g, QUbc *d)
{
    static const uint32_t base[] = { SQ, RQ, CQ };
    static const uint32_t at[] = { UB_MSGQ_SQ_ADDR_L, UB_MSGQ_RQ_ADDR_L,
                                   UB_MSGQ_CQ_ADDR_L };

    *g = (Guest) { .d = d, .msn = 1000 };
    g_assert_true(qubc_read(d, UBC_CAPS) & UBC_CAPS_MSGQS);
    q_write(g, UB_MSGQ_RST, 1);
    q_write(g, UB_MSGQ_RST, 0);
    for (unsigned i = 0; i < 3; i++) {
        q_write(g, at[i] + 0x10, DEPTH);
        q_write(g, at[i], base[i]);
        q_write(g, at[i] + 4, 0);
    }
    q_write(g, UB_MSGQ_INT_SEL, VECTOR);
    q_write(g, UB_MSGQ_CQ_INT_STATUS, 1);
    q_write(g, UB_MSGQ_CQ_INT_MASK, 0);
}

static inline void put(Guest *g, unsigned task, bool local, uint8_t opcode,
                const uint32_t *words, unsigned n)
{
    uint8_t *sqe = g->d->ram->at + SQ + 16 * g->pi;
    uint32_t slot = DEPTH * 16 + g->pi * 2048;

    for (unsigned i = 0; i < n; i++) {
        stl_le_p(g->d->ram->at + SQ + slot + 4 * i, words[i]);
    }
    stl_le_p(sqe, task | (local ? 0x10 : 0) | opcode << 8 | 4 * n << 16);
    stl_le_p(sqe + 4, ++g->msn);
    stl_le_p(sqe + 8, slot);
    g->pi = (g->pi + 1) % DEPTH;
    q_write(g, UB_MSGQ_SQ_PI, g->pi);
}

/* The next completion. */
static inline void take(Guest *g)
{
    const uint8_t *cqe = g->d->ram->at + CQ + 16 * g->ci;
    unsigned slot, len;

    QUBC_WAIT(q_read(g, UB_MSGQ_CQ_PI) != g->ci);
    len = ldl_le_p(cqe) >> 16 & 0xfff;
    slot = lduw_le_p(cqe + 8) & 0x3ff;
    g->status = cqe[10];
    g->answered = lduw_le_p(cqe + 4);
    g->event = !(cqe[0] & 3) && !(cqe[1] & 1);
    for (unsigned i = 0; i < (len + 3) / 4; i++) {
        g->packet[i] = ldl_le_p(g->d->ram->at + RQ + 2048 * slot + 4 * i);
    }
    g->ci = (g->ci + 1) % DEPTH;
    q_write(g, UB_MSGQ_RQ_CI, (slot + (len > 0)) % DEPTH);
    q_write(g, UB_MSGQ_CQ_CI, g->ci);
}

/* The next that is not an error message: a link that goes has errors, too. */
static inline void take_news(Guest *g)
{
    do {
        take(g);
    } while (g->event && !(g->packet[7] >> 25 & 7));
}

static inline void take_answer(Guest *g)
{
    do {
        take(g);
    } while (g->event);
}

/* A scan over @hops (0 or 1) through port 0; the answer's status, or 100h. */
static inline unsigned scan(Guest *g, unsigned hops, unsigned cmd, unsigned opcode,
                     const uint32_t *guid, uint32_t cna)
{
    static const unsigned size[] = { 6, 8, 7 };
    uint32_t words[16] = { 6 << 16, 0, 9, 0x7fff0000 };
    unsigned n = 4;

    words[n++] = 0x00100000 | hops << 8;
    n += 2 * hops;
    words[n++] = 1 << 24 | cmd << 16 | opcode << 8;
    words[n++] = size[cmd] << 16;
    for (unsigned i = 0; i < 4; i++) {
        words[n++] = guid ? guid[i] : 0;
    }
    words[n + 1] = cna;
    put(g, UB_MSGQ_SCAN, !hops, cmd, words, n + size[cmd] - 6);
    take_answer(g);
    return g->status ? 0x100 : g->packet[5 + hops] & 0xff;
}

/* To whom a message goes: as the UBFM, or as a User. */
typedef struct To {
    uint32_t dcna, deid;
    bool user;
} To;

/* A message with @len bytes of PDU, whole words. */
static inline void send_message(Guest *g, To to, unsigned id, const uint32_t *pdu,
                         unsigned len)
{
    uint32_t words[8 + 257] = {
        6 << 16, to.dcna, to.user ? 0 : 8, 0x027fff00, to.deid, 0x10000000, 0,
        (id & 15) << 28 | id >> 4 << 25 | len,
    };

    g_assert_cmpuint(len, <=, 4 * (G_N_ELEMENTS(words) - 8));
    memcpy(words + 8, pdu, len);
    put(g, UB_MSGQ_MESSAGE, false, (id & 15) << 4 | id >> 4 << 1, words,
        8 + len / 4);
}

/* The status of its answer, or 100h: there was none. */
static inline unsigned ask(Guest *g, To to, unsigned id, const uint32_t *pdu,
                    unsigned len)
{
    send_message(g, to, id, pdu, len);
    take_answer(g);
    return g->status ? 0x100 : g->packet[7] >> 16 & 0xff;
}

static inline unsigned config_of(Guest *g, To to, unsigned entity, unsigned sub,
                          uint32_t dw, uint32_t value)
{
    const uint32_t pdu[] = { entity << 16 | 0xf0, dw, 0, value };

    return ask(g, to, UB_MGMT_MSG_CFG0_READ + sub, pdu, sizeof(pdu));
}

static inline unsigned config(Guest *g, uint32_t dcna, unsigned sub, uint32_t dw,
                       uint32_t value)
{
    return config_of(g, (To) { dcna }, 0, sub, dw, value);
}

/* Find the neighbour, give both addresses. */
static inline void meet(Guest *g, QUbc *other, uint32_t neighbor[4])
{
    g_assert_cmphex(scan(g, 0, 0, 1, NULL, 0), ==, 0);
    memcpy(neighbor, &g->packet[19], 16);
    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmphex(neighbor[i], ==,
                        qubc_cfg_read(other, UB_CFG0_GUID + i));
    }
    g_assert_cmphex(scan(g, 0, 1, 2, NULL, 0x11), ==, 0);
    g_assert_cmphex(scan(g, 1, 1, 2, neighbor, 0x22), ==, 0);
}

/* The next request for software that has this code. */
static inline void take_request(Guest *g, unsigned code)
{
    do {
        take(g);
    } while (!g->event || (g->packet[7] >> 25 & 7) != code);
}

/* The User's software answers what it took last. */
static inline void answer(Guest *g, unsigned status)
{
    uint32_t words[8];

    memcpy(words, g->packet, sizeof(words));
    words[1] = g->packet[1] >> 16;
    words[2] = 0;
    words[3] &= ~0xffu;
    words[4] = (g->packet[3] & 0xff) << 12 | g->packet[4] >> 20;
    words[7] = (g->packet[7] & 0xfe000000) | 1 << 24 | status << 16;
    put(g, UB_MSGQ_MESSAGE, false, words[7] >> 24, words, 8);
}

#endif
