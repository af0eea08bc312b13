/*
 * Two controllers by real links in virtual time: node 0 is the User, node 1 has the
 * Entities, which node 0 reaches by rows of its table of destinations.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBC_RESOURCE_BED_H
#define UBC_RESOURCE_BED_H

#include "internal.h"
#include "ub/ta.h"
#include "ubc-pair.h"
#include "../../ubq-drv.h"

#define ROW_URMA 20u /* rows of node 0: Entities of node 1 … */
#define ROW_MEM 21u
#define ROW_OWN 22u  /* … and of node 1: its own memory Entity */
#define URMA 1u
#define MEMORY 2u
#define EID(entity) (0x10u + (entity))
#define BASE 0x7000000000ull /* UBA of space s of Entity 0: s times this */
#define TOKEN 0x5a5a5u  /* of the User's interrupts */
#define ADDRESS 0xfee00000ull
#define FIRST 0x20u

static UbqDrv drv[2];
static UbqCq cq[2];
static UbqQueue queue[2];
static uint64_t room[2];
static uint32_t bed_table;  /* node 1's table of (EID, UPI) */

static inline uint32_t drv_read(void *opaque, uint32_t offset)
{
    return rd(opaque, offset);
}

static inline void drv_write(void *opaque, uint32_t offset, uint32_t value)
{
    wr(opaque, offset, value);
}

static inline void drv_bell(void *opaque, uint32_t page, uint32_t offset,
                     uint64_t value)
{
    ubc_ring(((Side *)opaque)->ubc, page, offset, value);
    ubc_rung(((Side *)opaque)->ubc, now);
}

static inline void drv_progress(void *opaque)
{
    run_until(&two[0], &two[1], never, 10000);
}

static inline uint32_t get(unsigned node, unsigned entity, uint32_t dw)
{
    wr(&two[node], UBC_CFG_ENTITY, entity);
    wr(&two[node], UBC_CFG_ADDR, dw);
    return rd(&two[node], UBC_CFG_DATA);
}

static inline void put(unsigned node, unsigned entity, uint32_t dw, uint32_t value)
{
    wr(&two[node], UBC_CFG_ENTITY, entity);
    wr(&two[node], UBC_CFG_ADDR, dw);
    wr(&two[node], UBC_CFG_DATA, value);
}

static inline uint32_t get1(unsigned entity, uint32_t dw)
{
    return get(1, entity, UB_CFG1_BASE + dw);
}

static inline void put1(unsigned entity, uint32_t dw, uint32_t value)
{
    put(1, entity, UB_CFG1_BASE + dw, value);
}

static inline uint64_t get64(unsigned entity, uint32_t dw)
{
    return get1(entity, dw) | (uint64_t)get1(entity, dw + 1) << 32;
}

static inline UbcConfig config(unsigned node, unsigned usi)
{
    UbcConfig conf;

    ubc_config_init(&conf);
    conf.cna = conf.eid[15] = node + 1;
    conf.upi = 1;
    if (node) {
        conf.eid_upi = bed_table;
        conf.entities = 3;
        conf.entity[URMA] = UBC_ENTITY_URMA;
        conf.entity[MEMORY] = UBC_ENTITY_MEM;
        conf.entity_mem[MEMORY] = STORE;
        conf.usi = usi;
    }
    return conf;
}

static inline void to_entity(unsigned node, uint32_t row, unsigned entity)
{
    UbqPeer peer = { .cna = 2, .eid = { [15] = EID(entity) }, .upi = 1 };

    ubq_dest(&drv[node], row, 1, 0, &peer);
}

static inline void engine_up(unsigned i)
{
    drv[i] = (UbqDrv){ .memory = two[i].mem, .brk = 0x10000, .end = MEM,
                       .opaque = &two[i], .reg_read = drv_read,
                       .reg_write = drv_write, .bell = drv_bell,
                       .progress = drv_progress };
    ubq_open(&drv[i]);
    ubq_cq_open(&cq[i], &drv[i], 8);
    ubq_queue_open(&queue[i], &drv[i], &cq[i], NULL, 0, 0);
    room[i] = ubq_alloc(&drv[i], 4096, 4096);
}

/* What a manager gives to Entities that are lent, and the User to its own host. */
static inline void lend(void)
{
    for (unsigned e = 1; e < 3; e++) {
        put(1, e, UB_CFG0_EID, EID(e));
        put(1, e, UB_CFG0_UPI, 1);
        put(1, e, UB_CFG0_UEID, 1);
        put(1, e, UB_CFG0_UCNA, 1);
        put1(e, UB_CFG1_ERS_ACCESS_EN, 1);
    }
    for (unsigned s = 0; s < UB_ERS_SPACES; s++) {
        put1(0, UB_CFG1_ERS0_UBA + 2 * s, (s + 1) * BASE);
        put1(0, UB_CFG1_ERS0_UBA + 2 * s + 1, ((s + 1) * BASE) >> 32);
    }
}

static inline void host_takes(unsigned node)
{
    wr(&two[node], UBC_USI_TOKEN_ID, TOKEN);
    wr(&two[node], UBC_USI_ADDR_LO, ADDRESS);
    wr(&two[node], UBC_USI_ADDR_HI, ADDRESS >> 32);
    wr(&two[node], UBC_USI_FIRST, FIRST);
    wr(&two[node], UBC_USI_COUNT, UB_USI_VECTORS);
    wr(&two[node], UBC_USI_CTRL, UBC_USI_ENABLE);
}

static inline void up(unsigned usi)
{
    now = 1000;
    for (unsigned i = 0; i < 2; i++) {
        UbcConfig conf = config(i, usi);

        side_init(&two[i], &two[!i], &conf);
    }
    connect(&two[0], &two[1]);
    for (unsigned i = 0; i < 2; i++) {
        wr(&two[i], UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    }
    g_assert_true(run_until(&two[0], &two[1], both_up, 60 * SECOND));
    lend();
    for (unsigned i = 0; i < 2; i++) {
        engine_up(i);
        host_takes(i);
    }
    to_entity(0, ROW_URMA, URMA);
    to_entity(0, ROW_MEM, MEMORY);
    to_entity(1, ROW_OWN, MEMORY);
}

static inline void down(void)
{
    side_free(&two[0]);
    side_free(&two[1]);
}

static inline void pass(void)
{
    run_until(&two[0], &two[1], never, SECOND / 100);
}

static const uint8_t *cqe;
static unsigned asker;

static inline bool answered(Side *a, Side *b)
{
    return (cqe = ubq_cq_poll(&cq[asker]));
}

/* Status of a Write, Read or atomic of @len bytes at a UBA; its data are in the
 * room. */
static inline unsigned ask(unsigned node, unsigned opcode, uint32_t row, uint64_t uba,
                    uint32_t len, const uint32_t *token)
{
    uint8_t *e = ubq_sqe(&queue[node], 1);

    asker = node;
    ubq_sqe_put(e, opcode | (token ? UBQ_SQE_TOKEN : 0), row, room[node], len);
    put_le32(e + UBQ_SQE_TARGET, token ? token[0] : 7);
    put_le32(e + UBQ_SQE_TOKEN_VALUE, token ? token[1] : 0);
    put_le64(e + UBQ_SQE_ADDR, uba);
    ubq_post(&queue[node], e, 1);
    g_assert_true(run_until(&two[0], &two[1], answered, 2000 * SECOND));
    return ubq_cqe_status(cqe);
}

/* Of an atomic, by node 0 on the memory Entity. */
static inline unsigned fetch_add(uint64_t at)
{
    uint8_t *e = ubq_sqe(&queue[0], 2);

    asker = 0;
    ubq_sqe_put(e, UB_TA_FETCH_ADD | UBQ_SQE_INLINE, ROW_MEM, room[0], 8);
    put_le32(e + UBQ_SQE_TARGET, 7);
    put_le64(e + UBQ_SQE_ADDR, at);
    put_le64(e + UBQ_BLOCK, 2);
    ubq_post(&queue[0], e, 2);
    g_assert_true(run_until(&two[0], &two[1], answered, 2000 * SECOND));
    return ubq_cqe_status(cqe);
}

static inline uint64_t uba(unsigned entity, unsigned s)
{
    return get64(entity, UB_CFG1_ERS0_UBA + 2 * s);
}

static inline void set32(uint32_t row, uint64_t at, uint32_t value)
{
    put_le32(drv[0].memory + room[0], value);
    g_assert_cmphex(ask(0, UB_TA_WRITE, row, at, 4, NULL), ==, UB_TAS_OK);
}

static inline uint32_t look32(uint32_t row, uint64_t at)
{
    g_assert_cmphex(ask(0, UB_TA_READ, row, at, 4, NULL), ==, UB_TAS_OK);
    return get_le32(drv[0].memory + room[0]);
}

#define T1(reg) (UB_CFG_CAP(0, UB_CAP_INT_TYPE1) + (reg))

static inline unsigned taken(unsigned node, unsigned v)
{
    return two[node].interrupts[FIRST + v];
}

#endif
