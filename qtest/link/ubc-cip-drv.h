/*
 * CIP as a driver sets it up: its registers, policies and keys (UB 2.0 §11.5.2.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBC_CIP_DRV_H
#define UBC_CIP_DRV_H

#include "ubc-eng.h"
#include "ub/cip_hw.h"

#define CIP_SLICE UB_CFG_CAP(UB_CFG1_BASE, UB_CIP_CAP)
#define NUMBER 3u           /* of the policy, at both ends */
#define AES 1u
#define SM4 2u
#define WORD 0xc0de0000u    /* words of keys begin so */

/* ---- registers ------------------------------------------------------------------- */

static inline void cip_put(Eng *e, unsigned dw, uint32_t value)
{
    qubc_cfg_write(e->q, CIP_SLICE + dw, value);
}

static inline uint32_t cip_get(Eng *e, unsigned dw)
{
    return qubc_cfg_read(e->q, CIP_SLICE + dw);
}

static inline unsigned cip_command(Eng *e, unsigned code)
{
    cip_put(e, UB_CIP_COMMAND, code);
    return cip_get(e, UB_CIP_RESULT);
}

static inline void cip_choose(Eng *e, bool tx, unsigned slot)
{
    cip_put(e, UB_CIP_SELECT, NUMBER | (slot ? UB_CIP_SELECT__SLOT : 0) |
                          (tx ? UB_CIP_SELECT__TX : 0));
}

/* Words of @eid: least significant first. */
static inline void cip_set_policy_for(Eng *e, unsigned suite, const uint32_t eid[4])
{
    cip_choose(e, false, 0);
    for (unsigned i = 0; i < 4; i++) {
        cip_put(e, UB_CIP_PEER_EID + i, eid[i]);
    }
    cip_put(e, UB_CIP_PEER_POLICY, NUMBER);
    cip_put(e, UB_CIP_POLICY, suite | UB_CIP_POLICY__HIDE | 1u << 8);
    g_assert_cmpuint(cip_command(e, UB_CIP_CMD_SET_POLICY), ==, UB_CIP_R_OK);
}

/* A policy for the other end. */
static inline void cip_set_policy(Eng *e, unsigned suite)
{
    const uint32_t eid[4] = { 3 - e->n };

    cip_set_policy_for(e, suite, eid);
}

static inline uint32_t cip_key_word(unsigned from, unsigned i, uint32_t serial)
{
    return WORD + (from << 12) + (i << 8) + serial;
}

static inline uint32_t cip_iv_word(unsigned i, uint32_t serial)
{
    return 0x12345678u * (i + 1) + serial;
}

/* What is staged is not to be read; @from: whose packets the key is for. */
static inline unsigned cip_set_key(Eng *e, bool tx, unsigned slot, uint32_t serial)
{
    unsigned from = tx ? e->n : 3 - e->n;

    cip_choose(e, tx, slot);
    for (unsigned i = 0; i < 8; i++) {
        cip_put(e, UB_CIP_KEY + i, cip_key_word(from, i, serial));
        g_assert_cmphex(cip_get(e, UB_CIP_KEY + i), ==, 0);
    }
    for (unsigned i = 0; i < 3; i++) {
        cip_put(e, UB_CIP_IV + i, cip_iv_word(i, serial));
        g_assert_cmphex(cip_get(e, UB_CIP_IV + i), ==, 0);
    }
    return cip_command(e, UB_CIP_CMD_SET_KEY);
}

static inline unsigned cip_use_slot(Eng *e, unsigned slot)
{
    cip_choose(e, true, slot);
    return cip_command(e, UB_CIP_CMD_USE);
}

/* Both ends, receiving first (§11.5.2.1). */
static inline void cip_key_both(EngPair *p, unsigned slot, uint32_t serial)
{
    for (unsigned tx = 0; tx < 2; tx++) {
        g_assert_cmpuint(cip_set_key(&p->a, tx, slot, serial), ==, UB_CIP_R_OK);
        g_assert_cmpuint(cip_set_key(&p->b, tx, slot, serial), ==, UB_CIP_R_OK);
    }
}

static inline void cip_use_both(EngPair *p, unsigned slot)
{
    g_assert_cmpuint(cip_use_slot(&p->a, slot), ==, UB_CIP_R_OK);
    g_assert_cmpuint(cip_use_slot(&p->b, slot), ==, UB_CIP_R_OK);
}

static inline void cip_turn_on(Eng *e, unsigned suite)
{
    cip_put(e, UB_CIP_CTRL, UB_CIP_CTRL__ON);
    cip_set_policy(e, suite);
}

/* Both ends are on and have keys. */
static inline void cip_bring_up(EngPair *p, unsigned suite)
{
    cip_turn_on(&p->a, suite);
    cip_turn_on(&p->b, suite);
    cip_key_both(p, 0, 1);
    cip_use_both(p, 0);
}

#endif
