/*
 * The token check of a resource space (UB 2.0 §10.4.3.3), asked for by its User over the
 * link: with it nobody reaches the space without TokenID and TokenValue.
 *
 * Machine b has the Entity, machine a is its User and manages both.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "ubc-eng.h"
#include "ubc-msg.h"
#include "ub/resource_hw.h"
#include "ub/ta.h"

#define ENTITY 1u
#define LENT 0x12u          /* its EID */
#define ROW 20u             /* leads a to it */
#define TOKEN_ID 0x4321u

static void lend(EngPair *p)
{
    static const uint32_t give[][2] = {
        { UB_CFG0_EID, LENT }, { UB_CFG0_UEID, 1 }, { UB_CFG0_UCNA, 1 },
        { UB_CFG0_UPI, 1 }, { UB_CFG1_BASE + UB_CFG1_ERS_ACCESS_EN, 1 },
        { UB_CFG1_BASE + UB_CFG1_DEV_TOKEN_ID, TOKEN_ID },
    };
    UbqPeer peer = { .cna = 2, .eid = { [15] = LENT }, .upi = 1 };

    qubc_write(p->b.q, UBC_CFG_ENTITY, ENTITY);
    for (unsigned i = 0; i < G_N_ELEMENTS(give); i++) {
        qubc_cfg_write(p->b.q, give[i][0], give[i][1]);
    }
    ubq_dest(&p->a.drv, ROW, ENG_CTP, 0, &peer);
}

/* Where a finds the registers of the Entity. */
static uint64_t registers(EngPair *p)
{
    const uint32_t dw = UB_CFG1_BASE + UB_CFG1_ERS2_UBA;

    return qubc_cfg_read(p->b.q, dw) |
           (uint64_t)qubc_cfg_read(p->b.q, dw + 1) << 32;
}

/* Status of a Read by a, with a token or without. */
static unsigned read_by(EngPair *p, uint64_t at, const uint32_t *token)
{
    uint8_t *e = ubq_sqe(&p->a.queue, 1);

    memset(p->a.drv.memory + p->a.room, 0, 4);
    ubq_sqe_put(e, UB_TA_READ | (token ? UBQ_SQE_TOKEN : 0), ROW, p->a.room, 4);
    put_le32(e + UBQ_SQE_TARGET, token ? token[0] : 0);
    put_le32(e + UBQ_SQE_TOKEN_VALUE, token ? token[1] : 0);
    put_le64(e + UBQ_SQE_ADDR, at);
    ubq_post(&p->a.queue, e, 1);
    return ubq_cqe_status(eng_next(&p->a));
}

static void may(EngPair *p, uint64_t at, const uint32_t *token)
{
    g_assert_cmphex(read_by(p, at, token), ==, UB_TAS_OK);
    g_assert_cmphex(get_le32(p->a.drv.memory + p->a.room), ==,
                    UB_ERS2_ID_VALUE);
}

static void may_not(EngPair *p, uint64_t at, const uint32_t *token)
{
    g_assert_cmphex(read_by(p, at, token), ==, UB_TAS_UNSUPPORTED);
    g_assert_cmphex(get_le32(p->a.drv.memory + p->a.room), ==, 0);
}

/* The check is on or off; what the answer says of the token. */
static void check(Guest *g, bool on, uint32_t token[2])
{
    const To entity = { 2, LENT };
    const uint32_t pdu[] = { on };

    g_assert_cmphex(ask(g, entity, UB_MGMT_MSG_TOKEN_CHECK, pdu, sizeof(pdu)),
                    ==, 0);
    token[0] = g->packet[8];
    token[1] = g->packet[9];
}

static void test_check(void)
{
    const EngPlan plan = { .carrier = ENG_CTP,
                           .props = "entities=bus:urma," PATIENT "," STEADY };
    uint32_t token[2], old[2];
    uint64_t at;
    EngPair p;
    Guest g;

    eng_start(&p, &plan);
    lend(&p);
    guest_open(&g, p.a.q);
    at = registers(&p) + UB_ERS2_ID;
    may(&p, at, NULL);
    check(&g, true, token);
    g_assert_cmphex(token[0], ==, TOKEN_ID);
    may(&p, at, token);
    may_not(&p, at, NULL);
    /* Each bit of both counts. */
    for (unsigned i = 0; i < 32; i++) {
        uint32_t wrong[] = { token[0] ^ (i < 20 ? 1u << i : 0),
                             token[1] ^ (i < 20 ? 0 : 1u << i) };

        may_not(&p, at, wrong);
    }
    /* Off, everybody may; on again, the value is another. */
    memcpy(old, token, sizeof(old));
    check(&g, false, token);
    may(&p, at, NULL);
    check(&g, true, token);
    g_assert_cmphex(token[1], !=, old[1]);
    may_not(&p, at, old);
    may(&p, at, token);
    /* It ends with the Entity. */
    qubc_cfg_write(p.b.q, UB_CFG1_BASE + UB_CFG1_ELR, 1);
    qubc_cfg_write(p.b.q, UB_CFG1_BASE + UB_CFG1_ERS_ACCESS_EN, 1);
    may(&p, at, NULL);
    eng_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-token/check", test_check);
    return g_test_run();
}
