/*
 * rclink: one device, and a peer that puts every frame together by hand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RCLINK_PEER_H
#define RCLINK_PEER_H

#include "librcl.h"

#define GEN1 (1 << RCL_CFG_GEN1 | 1 << RCL_CFG_GEN1_TC)

enum {
    HEAD = 14, RH = 8, ICRC = 4, MIN_FRAME = 60,
    SEND = 0, ACK = 1, CNP = 2,
    SYN_ACK = 0x1f, SYN_NAK = 0x60,
    QP = 5, PKEY = 0x5a,
};
enum { FACK = 1 << 5, TS = 1 };         /* flags in RH's first byte */

extern const uint8_t self[6], peer[6];  /* addresses of device and peer */

typedef struct Rig {
    char *dir, *path;
    Rcl *r;
    int fd;
} Rig;

/* A frame taken apart; AFH_GEN1. */
typedef struct Got {
    size_t len;
    uint8_t frame[2048];
    const uint8_t *data;        /* behind RH */
    uint16_t type, psn, qp, ts;
    uint8_t opcode, fack, pad, ts_en, pkey, field;
} Got;

/* The device with @props, rings and QP, in the format(s) @format. */
Rig rig_start(const char *props, uint64_t format);
/* The same on a "-netdev stream" that connects to us, and again where it has
 * lost us; @props may have more words behind them. */
Rig rig_start_netdev(const char *props, uint64_t format);
void rig_stop(Rig *g);
uint64_t counter(Rig *g, const char *name);
void wait_counter(Rig *g, const char *name, uint64_t n);

/* CRC-32 of 802.3. */
uint32_t crc32_of(const uint8_t *p, size_t len);
void wire_put(Rig *g, const uint8_t *frame, size_t len);
void wire_get(Rig *g, Got *got);
/* Whether nothing comes: what the device owes leaves within a turn, and the
 * answer to a register read is behind that. */
bool wire_quiet(Rig *g);
/* AFH_GEN1 with ICRC; @field is Pkt_len or syndrome.  Its length. */
size_t frame_make(uint8_t *f, unsigned opcode, unsigned flags,
                  unsigned field, unsigned psn, unsigned qp, size_t len);
/* A request, an answer for QP. */
void request(Rig *g, unsigned psn, unsigned flags, size_t len);
void answer(Rig *g, unsigned field, unsigned psn);
void expect_answer(Rig *g, unsigned field, unsigned psn);
/* The next IRQ_INFO word that is told. */
void expect_irq(Rig *g, uint64_t info);
/* The document's way back for QP, which has failed and alone has packets: it sends again,
 * from @psn on. */
void recover(Rig *g, unsigned psn);

#endif
