/*
 * Resource spaces and interrupts of Entities (UB 2.0 §10.3.4, §10.4.2), from the
 * host that has them and from another one, by real links in virtual time.
 *
 * Node 0 is the User, node 1 has the Entities.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-resource-bed.h"

/* ---- Registers ---- */

static void test_registers(void)
{
    up(UBC_USI_TYPE2);
    /* Known answers: UBA of Entity 0 and own start; size in SYS_PGS. */
    put1(0, UB_CFG1_ERS0_UBA, 0);
    put1(0, UB_CFG1_ERS0_UBA + 1, 1);
    g_assert_cmphex(get64(URMA, UB_CFG1_ERS0_SA), ==, 0x10000);
    g_assert_cmphex(get64(URMA, UB_CFG1_ERS0_UBA), ==, 0x100010000ull);
    g_assert_cmphex(get64(MEMORY, UB_CFG1_ERS0_UBA), ==, 0x100020000ull);
    g_assert_cmphex(get64(MEMORY, UB_CFG1_ERS1_SA), ==, UB_ERS1_SA);
    g_assert_cmphex(get1(MEMORY, UB_CFG1_ERS1_SS), ==, STORE / 4096);
    g_assert_cmphex(get1(MEMORY, UB_CFG1_ERS0_SS), ==, 16);
    put1(MEMORY, UB_CFG1_SYS_PGS, 1);
    g_assert_cmphex(get1(MEMORY, UB_CFG1_SYS_PGS), ==, 0);
    put1(0, UB_CFG1_SYS_PGS, 1);
    g_assert_cmphex(get1(MEMORY, UB_CFG1_SYS_PGS), ==, 1);
    g_assert_cmphex(get1(MEMORY, UB_CFG1_ERS1_SS), ==, STORE / 65536);
    /* What an Entity has not got. */
    g_assert_cmphex(get1(URMA, UB_CFG1_ERS1_SS), ==, 0);
    g_assert_cmphex(get64(URMA, UB_CFG1_ERS1_UBA), ==, 0);
    put1(URMA, UB_CFG1_ERS0_UBA, 0x1234);
    g_assert_cmphex(get64(URMA, UB_CFG1_ERS0_UBA), ==, 0x100010000ull);
    g_assert_cmphex(get1(0, UB_CFG1_SUPPORTED_FEATURE), ==,
                    UB_CFG1_SUPPORTED_FEATURE__ERS2S |
                    UB_CFG1_SUPPORTED_FEATURE__UBA_SUPPORT);
    g_assert_cmphex(get1(URMA, UB_CFG1_SUPPORTED_FEATURE), ==, 0x160);
    g_assert_cmphex(get1(MEMORY, UB_CFG1_SUPPORTED_FEATURE), ==, 0x1e0);
    /* One type each. */
    g_assert_cmphex(get1(0, UB_CFG1_CAP_BITMAP) & 0x18, ==,
                    1u << UB_CAP_INT_TYPE1);
    g_assert_cmphex(get1(MEMORY, UB_CFG1_CAP_BITMAP) & 0x18, ==,
                    1u << UB_CAP_INT_TYPE2);
    g_assert_cmphex(get1(MEMORY, UB_CFG1_CLASS_CODE), ==, 1);
    /* Another node has no Entities, and nothing of this. */
    put(0, 0, UB_CFG1_BASE + UB_CFG1_ERS0_UBA, 1);
    put(0, 0, UB_CFG1_BASE + UB_CFG1_SYS_PGS, 1);
    g_assert_cmphex(get(0, 0, UB_CFG1_BASE + UB_CFG1_ERS0_UBA), ==, 0);
    g_assert_cmphex(get(0, 0, UB_CFG1_BASE + UB_CFG1_SYS_PGS), ==, 0);
    g_assert_cmphex(get(0, 0, UB_CFG1_BASE + UB_CFG1_SUPPORTED_FEATURE), ==, 0);
    down();
}

/* ---- Access ---- */

static void test_memory(void)
{
    const uint64_t size = STORE;
    uint64_t at;

    up(UBC_USI_TYPE2);
    at = uba(MEMORY, 1);
    for (unsigned i = 0; i < 1024; i++) {
        drv[0].memory[room[0] + i] = i * 7;
    }
    g_assert_cmphex(ask(0, UB_TA_WRITE, ROW_MEM, at + 4096, 1024, NULL), ==,
                    UB_TAS_OK);
    g_assert_cmphex(ask(0, UB_TA_WRITE, ROW_MEM, at + size - 1024, 1024, NULL),
                    ==, UB_TAS_OK);
    memset(drv[0].memory + room[0], 0, 1024);
    for (unsigned i = 0; i < 1024; i++) {
        g_assert_cmphex(two[1].store[4096 + i], ==, (uint8_t)(i * 7));
        g_assert_cmphex(two[1].store[size - 1024 + i], ==, (uint8_t)(i * 7));
    }
    g_assert_cmphex(ask(0, UB_TA_READ, ROW_MEM, at + 4096 + 3, 1000, NULL), ==,
                    UB_TAS_OK);
    for (unsigned i = 0; i < 1000; i++) {
        g_assert_cmphex(drv[0].memory[room[0] + i], ==, (uint8_t)((i + 3) * 7));
    }
    /* The host that has it reaches it the same way. */
    g_assert_cmphex(ask(1, UB_TA_READ, ROW_OWN, at + 4096, 16, NULL), ==,
                    UB_TAS_OK);
    g_assert_cmphex(drv[1].memory[room[1] + 15], ==, 105);
    /* Beyond the end, across it, before the beginning, of another Entity. */
    g_assert_cmphex(ask(0, UB_TA_READ, ROW_MEM, at + size - 8, 8, NULL), ==,
                    UB_TAS_OK);
    g_assert_cmphex(ask(0, UB_TA_READ, ROW_MEM, at + size - 8, 9, NULL), ==,
                    UB_TAS_UNSUPPORTED);
    g_assert_cmphex(ask(0, UB_TA_READ, ROW_MEM, at + size, 1, NULL), !=,
                    UB_TAS_OK);
    g_assert_cmphex(ask(0, UB_TA_READ, ROW_MEM, at - 1, 1, NULL), !=,
                    UB_TAS_OK);
    g_assert_cmphex(ask(0, UB_TA_READ, ROW_URMA, at, 8, NULL), ==,
                    UB_TAS_ABORT);
    g_assert_cmphex(ask(0, UB_TA_READ, ROW_MEM, uba(URMA, 2), 8, NULL), ==,
                    UB_TAS_ABORT);
    g_assert_cmphex(fetch_add(at), ==, UB_TAS_UNSUPPORTED);
    /* The switch of the User. */
    put1(MEMORY, UB_CFG1_ERS_ACCESS_EN, 0);
    g_assert_cmphex(ask(0, UB_TA_READ, ROW_MEM, at, 8, NULL), !=, UB_TAS_OK);
    put1(MEMORY, UB_CFG1_ERS_ACCESS_EN, 1);
    g_assert_cmphex(ask(0, UB_TA_READ, ROW_MEM, at, 8, NULL), ==, UB_TAS_OK);
    /* Another partition hears nothing. */
    put(1, MEMORY, UB_CFG0_UPI, 2);
    g_assert_cmphex(ask(0, UB_TA_READ, ROW_MEM, at, 8, NULL), ==,
                    UB_TAS_TIMEOUT);
    down();
}

/* Registers of our own: whole words, what is none reads 0. */
static void test_own_registers(void)
{
    uint64_t at;

    up(UBC_USI_TYPE2);
    at = uba(MEMORY, 2);
    g_assert_cmphex(look32(ROW_MEM, at + UB_ERS2_ID), ==, UB_ERS2_ID_VALUE);
    g_assert_cmphex(look32(ROW_MEM, at + UB_ERS2_CLASS), ==, 1);
    g_assert_cmphex(look32(ROW_MEM, at + UB_ERS2_VECTORS), ==, 32);
    g_assert_cmphex(look32(ROW_MEM, at + UB_ERS2_SIZE_LO), ==, STORE);
    g_assert_cmphex(look32(ROW_MEM, at + UB_ERS2_END), ==, 0);
    set32(ROW_MEM, at + UB_ERS2_ID, 5);
    set32(ROW_MEM, at + UB_ERS2_END, 5);
    g_assert_cmphex(look32(ROW_MEM, at + UB_ERS2_ID), ==, UB_ERS2_ID_VALUE);
    g_assert_cmphex(ask(0, UB_TA_READ, ROW_MEM, at + 2, 4, NULL), ==,
                    UB_TAS_ABORT);
    g_assert_cmphex(ask(0, UB_TA_WRITE, ROW_MEM, at, 2, NULL), ==,
                    UB_TAS_ABORT);
    down();
}

/* ---- Tokens ---- */

static uint8_t answer[36];
static size_t answer_len;
static unsigned answer_status;

static void on_answer(void *opaque, const uint8_t *data, size_t len,
                      unsigned status)
{
    g_assert_nonnull(data);
    answer_len = len;
    answer_status = status;
    memcpy(answer, data, len);
}

static bool has_answer(Side *a, Side *b)
{
    return answer_status != ~0u;
}

/* A message of the User to an Entity of node 1; its status. */
static unsigned message(unsigned entity, unsigned id, const uint8_t *pdu,
                        size_t len)
{
    const UbMgmtAddr to = { .dcna = 2, .deid = EID(entity), .seid = 1,
                            .scna = 1, .upi = 1 };

    answer_status = ~0u;
    g_assert_true(ub_mgmt_request(two[0].ubc->mgmt, now, &to, id, pdu, len,
                                  on_answer, NULL));
    two[0].next = now;
    g_assert_true(run_until(&two[0], &two[1], has_answer, 60 * SECOND));
    return answer_status;
}

static void test_token(void)
{
    const uint8_t on[4] = { 0, 0, 0, 1 }, off[4] = { 0 };
    uint32_t token[2];
    uint64_t at, other;

    up(UBC_USI_TYPE2);
    at = uba(MEMORY, 1);
    other = uba(URMA, 2);
    put1(MEMORY, UB_CFG1_DEV_TOKEN_ID, 0x4321);
    g_assert_cmphex(message(MEMORY, UB_MGMT_MSG_TOKEN_CHECK, on, 4), ==, 0);
    g_assert_cmpuint(answer_len, ==, 8);
    token[0] = get_be32(answer);
    token[1] = get_be32(answer + 4);
    g_assert_cmphex(token[0], ==, 0x4321);
    g_assert_cmphex(ask(0, UB_TA_READ, ROW_MEM, at, 8, token), ==, UB_TAS_OK);
    g_assert_cmphex(ask(0, UB_TA_READ, ROW_MEM, at, 8, NULL), ==,
                    UB_TAS_UNSUPPORTED);
    token[1] ^= 1;
    g_assert_cmphex(ask(0, UB_TA_WRITE, ROW_MEM, at, 8, token), ==,
                    UB_TAS_UNSUPPORTED);
    token[1] ^= 1;
    token[0] ^= 1;
    g_assert_cmphex(ask(0, UB_TA_WRITE, ROW_MEM, at, 8, token), ==,
                    UB_TAS_UNSUPPORTED);
    /* It is of one Entity, and ends with it. */
    g_assert_cmphex(ask(0, UB_TA_READ, ROW_URMA, other, 8, NULL), ==,
                    UB_TAS_OK);
    g_assert_cmphex(message(MEMORY, UB_MGMT_MSG_TOKEN_CHECK, off, 4), ==, 0);
    g_assert_cmphex(ask(0, UB_TA_READ, ROW_MEM, at, 8, NULL), ==, UB_TAS_OK);
    g_assert_cmphex(message(MEMORY, UB_MGMT_MSG_TOKEN_CHECK, on, 4), ==, 0);
    put1(MEMORY, UB_CFG1_ELR, 1);
    put1(MEMORY, UB_CFG1_ERS_ACCESS_EN, 1);
    g_assert_cmphex(ask(0, UB_TA_READ, ROW_MEM, at, 8, NULL), ==, UB_TAS_OK);
    /* Each Entity says what its spaces are. */
    g_assert_cmphex(message(MEMORY, UB_MGMT_MSG_RESOURCE, off, 4), ==, 0);
    g_assert_cmpuint(answer_len, ==, 36);
    g_assert_cmphex(get_be32(answer + 12), ==, STORE / 4096);
    g_assert_cmphex(get_be32(answer + 16), ==, UB_ERS1_SA);
    g_assert_cmphex(message(URMA, UB_MGMT_MSG_RESOURCE, off, 4), ==, 0);
    g_assert_cmphex(get_be32(answer + 12), ==, 0);
    down();
}

/* ---- Interrupts ---- */

#define T2(reg) (UB_CFG_CAP(0, UB_CAP_INT_TYPE2) + (reg))

/* Vector @v of an Entity goes to @data, by address entry @index. */
static void set_vector(unsigned v, uint32_t data, uint32_t ctl)
{
    uint64_t at = uba(MEMORY, 0) + UB_USI_VECTOR_TABLE +
                  v * UB_USI_VECTOR_SIZE;

    set32(ROW_MEM, at + UB_USI_VECTOR_CTL, ctl | UB_USI_VECTOR_MASK);
    set32(ROW_MEM, at + UB_USI_VECTOR_DATA, data);
    set32(ROW_MEM, at + UB_USI_VECTOR_CTL, ctl);
}

static void set_address(unsigned i, uint64_t to, uint32_t ctl, uint32_t eid)
{
    uint64_t at = uba(MEMORY, 0) + UB_USI_ADDRESS_TABLE +
                  i * UB_USI_ADDRESS_SIZE;

    set32(ROW_MEM, at + UB_USI_ADDRESS_CTL, 0);
    set32(ROW_MEM, at + UB_USI_ADDRESS_UBA, to);
    set32(ROW_MEM, at + UB_USI_ADDRESS_UBA + 4, to >> 32);
    set32(ROW_MEM, at + UB_USI_ADDRESS_DEID, eid);
    set32(ROW_MEM, at + UB_USI_ADDRESS_CTL, ctl);
}

static void ring(unsigned v)
{
    set32(ROW_MEM, uba(MEMORY, 2) + UB_ERS2_RING, v);
    pass();
}

static uint32_t pending(void)
{
    return look32(ROW_MEM, uba(MEMORY, 0) + UB_USI_PENDING_TABLE);
}

static uint32_t lost(void)
{
    return look32(ROW_MEM, uba(MEMORY, 2) + UB_ERS2_LOST);
}

static void type2_up(void)
{
    up(UBC_USI_TYPE2);
    put1(MEMORY, T2(UB_INT_TYPE2_INTERRUPT_ID), 0x55);
    set_address(3, ADDRESS, TOKEN | UB_USI_ADDRESS_VALID, 1);
    set_vector(5, FIRST + 9, 3);
    put1(MEMORY, T2(UB_INT_TYPE2_INTERRUPT_MASK), 0);
    put1(MEMORY, T2(UB_INT_TYPE2_INTERRUPT_ENABLE), 1);
}

static void test_type2(void)
{
    type2_up();
    g_assert_cmphex(get1(MEMORY, T2(UB_INT_TYPE2_MAX_INDEX)), ==, 0x1f001f);
    ring(5);
    g_assert_cmpuint(taken(0, 9), ==, 1);
    g_assert_cmphex(pending(), ==, 0);
    /* Vectors are masked at first; those that do not exist are nothing. */
    ring(6);
    ring(UB_USI_VECTORS);
    ring(~0u);
    g_assert_cmphex(pending(), ==, 1 << 6);
    set_vector(6, FIRST + 10, 3);
    pass();
    g_assert_cmpuint(taken(0, 10), ==, 1);
    g_assert_cmphex(pending(), ==, 0);
    /* All of them; several times is once. */
    put1(MEMORY, T2(UB_INT_TYPE2_INTERRUPT_MASK), 1);
    ring(5);
    ring(5);
    ring(6);
    g_assert_cmphex(pending(), ==, 3 << 5);
    put1(MEMORY, T2(UB_INT_TYPE2_INTERRUPT_MASK), 0);
    pass();
    g_assert_cmpuint(taken(0, 9), ==, 2);
    g_assert_cmpuint(taken(0, 10), ==, 2);
    put1(MEMORY, T2(UB_INT_TYPE2_INTERRUPT_ENABLE), 0);
    ring(5);
    put1(MEMORY, T2(UB_INT_TYPE2_INTERRUPT_ENABLE), 1);
    pass();
    g_assert_cmpuint(taken(0, 9), ==, 3);
    /* Several registers by one Write: the one that rings is among them. */
    for (unsigned i = 0; i < 4; i++) {
        put_le32(drv[0].memory + room[0] + 4 * i, i == 1 ? 5 : 6);
    }
    g_assert_cmphex(ask(0, UB_TA_WRITE, ROW_MEM, uba(MEMORY, 2) +
                        UB_ERS2_RING - 4, 16, NULL), ==, UB_TAS_OK);
    pass();
    g_assert_cmpuint(taken(0, 9), ==, 4);
    g_assert_cmpuint(taken(0, 10), ==, 2);
    /* And what they show by one Read. */
    g_assert_cmphex(ask(0, UB_TA_READ, ROW_MEM, uba(MEMORY, 2), 32, NULL), ==,
                    UB_TAS_OK);
    g_assert_cmphex(get_le32(drv[0].memory + room[0] + UB_ERS2_ID), ==,
                    UB_ERS2_ID_VALUE);
    g_assert_cmphex(get_le32(drv[0].memory + room[0] + UB_ERS2_VECTORS), ==,
                    UB_USI_VECTORS);
    g_assert_cmphex(get_le32(drv[0].memory + room[0] + UB_ERS2_SIZE_LO), ==,
                    STORE);
    /* No address, or none of the table: it waits. */
    set_address(3, ADDRESS, TOKEN, 1);
    ring(5);
    set_vector(6, FIRST, UB_USI_ADDRESSES);
    ring(6);
    g_assert_cmphex(pending(), ==, 3 << 5);
    set_address(3, ADDRESS, TOKEN | UB_USI_ADDRESS_VALID, 1);
    pass();
    g_assert_cmphex(pending(), ==, 1 << 6);
    g_assert_cmpuint(taken(0, 9), ==, 5);
    /* The pending table is the Entity's to write. */
    set32(ROW_MEM, uba(MEMORY, 0) + UB_USI_PENDING_TABLE, 0);
    g_assert_cmphex(pending(), ==, 1 << 6);
    put1(MEMORY, UB_CFG1_ELR, 1);
    put1(MEMORY, UB_CFG1_ERS_ACCESS_EN, 1);
    g_assert_cmphex(pending(), ==, 0);
    g_assert_cmpuint(look32(ROW_MEM, uba(MEMORY, 2) + UB_ERS2_SENT), ==, 0);
    g_assert_cmpuint(lost(), ==, 0);
    g_assert_cmpuint(rd(&two[0], UBC_USI_RECEIVED), ==, 7);
    g_assert_cmpuint(rd(&two[0], UBC_USI_REFUSED), ==, 0);
    down();
}

/* What a host does not take is lost and counted; nobody else is reached. */
static void test_refused(void)
{
    type2_up();
    g_assert_cmpuint(lost(), ==, 0);
    set_vector(0, FIRST - 1, 3);
    ring(0);
    set_vector(0, FIRST + UB_USI_VECTORS, 3);
    ring(0);
    g_assert_cmpuint(rd(&two[0], UBC_USI_REFUSED), ==, 2);
    g_assert_cmpuint(lost(), ==, 2);
    set_vector(0, FIRST, 4);
    set_address(4, ADDRESS, (TOKEN ^ 1) | UB_USI_ADDRESS_VALID, 1);
    ring(0);
    set_address(4, ADDRESS + 8, TOKEN | UB_USI_ADDRESS_VALID, 1);
    ring(0);
    set_address(4, ADDRESS + 4, TOKEN | UB_USI_ADDRESS_VALID, 1);
    ring(0);
    g_assert_cmpuint(lost(), ==, 5);
    /* An address of a node that is not the User's is none. */
    set_address(4, ADDRESS, TOKEN | UB_USI_ADDRESS_VALID, 0x77);
    ring(0);
    g_assert_cmphex(pending(), ==, 1);
    wr(&two[0], UBC_USI_CTRL, 0);
    ring(5);
    g_assert_cmpuint(lost(), ==, 6);
    for (unsigned v = 0; v < UB_USI_VECTORS; v++) {
        g_assert_cmpuint(taken(0, v), ==, 0);
        g_assert_cmpuint(taken(1, v), ==, 0);
    }
    /* Only a Write of eight bytes is an interrupt. */
    wr(&two[0], UBC_USI_CTRL, UBC_USI_ENABLE);
    {
        UbqPeer peer = { .cna = 1, .eid = { [15] = 1 }, .upi = 1 };
        uint32_t token[2] = { TOKEN };
        uint8_t *p = drv[1].memory + room[1];

        ubq_dest(&drv[1], 30, 1, 0, &peer);
        put_be32(p, 0x55);
        put_be32(p + 4, FIRST + 2);
        g_assert_cmphex(ask(1, UB_TA_WRITE, 30, ADDRESS, 4, token), ==,
                        UB_TAS_UNSUPPORTED);
        g_assert_cmphex(ask(1, UB_TA_WRITE, 30, ADDRESS - 8, 16, token), ==,
                        UB_TAS_UNSUPPORTED);
        g_assert_cmphex(ask(1, UB_TA_READ, 30, ADDRESS, 8, token), ==,
                        UB_TAS_UNSUPPORTED);
        put_be32(p, 0x55);
        g_assert_cmphex(ask(1, UB_TA_WRITE, 30, ADDRESS, 8, token), ==,
                        UB_TAS_OK);
        g_assert_cmpuint(taken(0, 2), ==, 1);
    }
    down();
}

/* By registers: 32 vectors, each told as the first one's number and its own. */
static void test_type1(void)
{
    up(UBC_USI_TYPE1);
    g_assert_cmphex(get1(MEMORY, UB_CFG1_CAP_BITMAP) & 0x18, ==,
                    1u << UB_CAP_INT_TYPE1);
    g_assert_cmphex(get1(MEMORY, T1(UB_INT_TYPE1_SUPPORTED_INTERRUPT_NUMBER)),
                    ==, 5);
    g_assert_cmphex(get1(MEMORY, UB_CFG1_ERS0_SS), ==, 0);
    put1(MEMORY, UB_CFG1_DEV_TOKEN_ID, TOKEN);
    put1(MEMORY, T1(UB_INT_TYPE1_INTERRUPT_DATA), FIRST);
    put1(MEMORY, T1(UB_INT_TYPE1_INTERRUPT_ADDRESS), ADDRESS);
    put1(MEMORY, T1(UB_INT_TYPE1_INTERRUPT_ADDRESS) + 1, ADDRESS >> 32);
    put1(MEMORY, T1(UB_INT_TYPE1_INTERRUPT_ENABLE), 1);
    put1(MEMORY, T1(UB_INT_TYPE1_INTERRUPT_ENABLE_NUMBER), 6);
    g_assert_cmphex(get1(MEMORY, T1(UB_INT_TYPE1_INTERRUPT_ENABLE_NUMBER)), ==,
                    0);
    g_assert_cmpuint(two[1].guest_errors, ==, 1);
    put1(MEMORY, T1(UB_INT_TYPE1_INTERRUPT_ENABLE_NUMBER), 5);
    for (unsigned v = 0; v < UB_USI_VECTORS; v++) {
        ring(v);
    }
    g_assert_cmphex(get1(MEMORY, T1(UB_INT_TYPE1_INTERRUPT_PENDING)), ==, ~0u);
    put1(MEMORY, T1(UB_INT_TYPE1_INTERRUPT_MASK), 0x80000001);
    pass();
    pass();
    g_assert_cmphex(get1(MEMORY, T1(UB_INT_TYPE1_INTERRUPT_PENDING)), ==,
                    0x80000001);
    /* The last one is not enabled among 16. */
    put1(MEMORY, T1(UB_INT_TYPE1_INTERRUPT_ENABLE_NUMBER), 4);
    put1(MEMORY, T1(UB_INT_TYPE1_INTERRUPT_MASK), 0);
    pass();
    g_assert_cmphex(get1(MEMORY, T1(UB_INT_TYPE1_INTERRUPT_PENDING)), ==,
                    0x80000000);
    for (unsigned v = 0; v < UB_USI_VECTORS; v++) {
        g_assert_cmpuint(taken(0, v), ==, v < 31);
        g_assert_cmpuint(taken(1, v), ==, 0);
    }
    /* Taken back: the host that has it is told itself. */
    put(1, MEMORY, UB_CFG0_UEID, 0);
    put1(MEMORY, T1(UB_INT_TYPE1_INTERRUPT_ENABLE_NUMBER), 5);
    pass();
    g_assert_cmpuint(taken(1, 31), ==, 1);
    g_assert_cmpuint(taken(0, 31), ==, 0);
    /* So it is by its own name; elsewhere it is lost. */
    put(1, MEMORY, UB_CFG0_UEID, 2);
    ring(1);
    g_assert_cmpuint(taken(1, 1), ==, 1);
    put1(MEMORY, UB_CFG1_DEV_TOKEN_ID, TOKEN ^ 1);
    ring(1);
    g_assert_cmpuint(taken(1, 1), ==, 1);
    g_assert_cmpuint(rd(&two[1], UBC_USI_REFUSED), ==, 1);
    g_assert_cmphex(get1(MEMORY, T1(UB_INT_TYPE1_INTERRUPT_PENDING)), ==, 0);
    down();
}

/* A USI is a Write of eight bytes (figure 10-12), where software has said: where memory
 * is, it has the interrupt's ID and its number, which is that of the first vector more. */
static void test_payload(void)
{
    static const uint8_t want[] = { 0, 0, 0, 0x55, 0, 0, 0, 0x23 };
    uint8_t *at;

    up(UBC_USI_TYPE1);
    ubq_segment(&drv[0], 77, room[0], 4096, UBQ_SEG_READ | UBQ_SEG_WRITE, 0);
    at = drv[0].memory + room[0] + 0x40;
    memset(at - 8, 0xee, 24);
    put1(MEMORY, UB_CFG1_DEV_TOKEN_ID, 77);
    put1(MEMORY, T1(UB_INT_TYPE1_INTERRUPT_ID), 0x55);
    put1(MEMORY, T1(UB_INT_TYPE1_INTERRUPT_DATA), 0x20);
    put1(MEMORY, T1(UB_INT_TYPE1_INTERRUPT_ADDRESS), 0x10040);
    put1(MEMORY, T1(UB_INT_TYPE1_INTERRUPT_ADDRESS) + 1, 0);
    put1(MEMORY, T1(UB_INT_TYPE1_INTERRUPT_ENABLE_NUMBER), 2);
    put1(MEMORY, T1(UB_INT_TYPE1_INTERRUPT_MASK), ~0xfu);
    put1(MEMORY, T1(UB_INT_TYPE1_INTERRUPT_ENABLE), 1);
    ring(3);
    g_assert_cmpmem(at, 8, want, 8);
    g_assert_cmphex(at[-1] & at[8], ==, 0xee);
    g_assert_cmpuint(lost(), ==, 0);
    g_assert_cmphex(get1(MEMORY, T1(UB_INT_TYPE1_INTERRUPT_PENDING)), ==, 0);
    down();
}

/* A User that does not answer is told again, and then given up. */
static void test_silent_user(void)
{
    type2_up();
    ubc_bus_master(two[0].ubc, false);
    two[1].ubc->usi[MEMORY].pending |= 1 << 5;
    two[1].next = now;
    run_until(&two[0], &two[1], never, 10000 * SECOND);
    g_assert_cmpuint(two[1].ubc->usi[MEMORY].lost, ==, 1);
    g_assert_cmpuint(two[1].ubc->usi[MEMORY].pending, ==, 0);
    g_assert_false(two[1].ubc->usi[MEMORY].flying);
    down();
}

static bool at_rest(Side *a, Side *b)
{
    return !b->ubc->usi[MEMORY].flying;
}

/* One that waits to leave while the manager gives its Entity another partition does not
 * go by the one before. */
static void test_moved_entity(void)
{
    for (unsigned moved = 0; moved < 2; moved++) {
        UbcUsi *u;

        bed_table = 4;
        type2_up();
        bed_table = 0;
        u = &two[1].ubc->usi[MEMORY];
        u->pending |= 1 << 5;
        ubc_usi_run(two[1].ubc);
        g_assert_true(u->flying);
        put(1, MEMORY, UB_CFG0_UPI, moved ? 3 : 1);
        two[1].next = now;
        g_assert_true(run_until(&two[0], &two[1], at_rest, 100 * SECOND));
        g_assert_cmpuint(u->sent, ==, !moved);
        g_assert_cmpuint(u->lost, ==, moved);
        g_assert_cmphex(u->pending, ==, 0);
        g_assert_cmpuint(taken(0, 9), ==, !moved);
        down();
    }
}

/* ---- Migration ---- */

static void move_over(unsigned usi)
{
    UbcConfig conf = config(1, usi);
    uint8_t *image;
    const char *why;
    size_t len;
    Ubc *ubc;

    cut(&two[0], &two[1]);
    image = ubc_save(two[1].ubc, now, &len);
    ubc = ubc_new(&conf, &ops, &two[1], &why);
    g_assert_nonnull(ubc);
    g_assert_cmpstr(ubc_load(ubc, now, image, len), ==, NULL);
    g_free(image);
    ubc_free(two[1].ubc);
    two[1].ubc = ubc;
    ubc_bus_master(ubc, true);
    connect(&two[0], &two[1]);
    g_assert_true(run_until(&two[0], &two[1], both_up, 60 * SECOND));
}

static bool landed(Side *a, Side *b)
{
    return !b->ubc->usi[MEMORY].flying && b->ubc->usi[MEMORY].sent;
}

static void test_migrate(void)
{
    const uint8_t on[4] = { 0, 0, 0, 1 };
    uint32_t token[2];
    UbcConfig conf;
    uint8_t *image;
    const char *why;
    size_t len;
    Ubc *ubc;

    type2_up();
    g_assert_cmphex(message(MEMORY, UB_MGMT_MSG_TOKEN_CHECK, on, 4), ==, 0);
    token[0] = get_be32(answer);
    token[1] = get_be32(answer + 4);
    /* One that is under way, one that waits. */
    ubc_bus_master(two[0].ubc, false);
    two[1].ubc->usi[MEMORY].pending |= 3 << 5;
    two[1].next = now;
    run_until(&two[0], &two[1], never, SECOND / 100);
    g_assert_true(two[1].ubc->usi[MEMORY].flying);
    two[1].ubc->usi[URMA].sent = 5;
    two[1].ubc->usi[URMA].lost = 7;
    move_over(UBC_USI_TYPE2);
    g_assert_cmpuint(two[1].ubc->usi[URMA].sent, ==, 5);
    g_assert_cmpuint(two[1].ubc->usi[URMA].lost, ==, 7);
    g_assert_cmphex(two[1].ubc->usi[MEMORY].pending, ==, 1 << 6);
    ubc_bus_master(two[0].ubc, true);
    g_assert_true(run_until(&two[0], &two[1], landed, 1000 * SECOND));
    g_assert_cmpuint(taken(0, 9), >=, 1);
    g_assert_cmphex(ask(0, UB_TA_READ, ROW_MEM, uba(MEMORY, 1), 8, NULL), ==,
                    UB_TAS_UNSUPPORTED);
    g_assert_cmphex(ask(0, UB_TA_READ, ROW_MEM, uba(MEMORY, 1), 8, token), ==,
                    UB_TAS_OK);
    g_assert_cmphex(rd(&two[1], UBC_USI_TOKEN_ID), ==, TOKEN);
    /* Interrupts of another kind are another device. */
    image = ubc_save(two[1].ubc, now, &len);
    conf = config(1, UBC_USI_TYPE1);
    ubc = ubc_new(&conf, &ops, &two[1], &why);
    g_assert_nonnull(ubc_load(ubc, now, image, len));
    ubc_free(ubc);
    g_free(image);
    down();
}

/* Memory of one Entity begins where that of the one before it ends. */
static void test_two_memories(void)
{
    const uint64_t first = 5ull << 30;
    UbcConfig conf = config(1, UBC_USI_TYPE2);
    const char *why;
    Ubc *ubc;

    conf.entity[URMA] = UBC_ENTITY_MEM;
    conf.entity_mem[URMA] = first;
    ubc = ubc_new(&conf, &ops, &two[1], &why);
    g_assert_nonnull(ubc);
    for (unsigned e = 1; e < 3; e++) {
        uint64_t at = UB_ERS1_SA + (e - 1) * first;

        ubc_write(ubc, UBC_CFG_ENTITY, e, now);
        for (unsigned half = 0; half < 2; half++) {
            ubc_write(ubc, UBC_CFG_ADDR,
                      UB_CFG1_BASE + UB_CFG1_ERS0_SA + 2 + half, now);
            g_assert_cmphex(ubc_read(ubc, UBC_CFG_DATA, now), ==,
                            (uint32_t)(at >> 32 * half));
        }
    }
    ubc_free(ubc);
}

static void test_config(void)
{
    static const struct {
        uint8_t kind, usi;
        uint64_t mem;
    } rows[] = {
        { UBC_ENTITY_MEM, 2, 0 },
        { UBC_ENTITY_MEM, 2, 4096 },
        { UBC_ENTITY_MEM, 2, 1ull << 44 },
        { UBC_ENTITY_OTHER, 2, 65536 },
        { UBC_ENTITY_OTHER, UBC_USI_TYPES, 0 },
    };
    const char *why;

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        UbcConfig conf = config(0, 0);

        conf.entities = 2;
        conf.entity[1] = rows[i].kind;
        conf.entity_mem[1] = rows[i].mem;
        conf.usi = rows[i].usi;
        why = NULL;
        g_assert_null(ubc_new(&conf, &ops, &two[0], &why));
        g_assert_nonnull(why);
    }
}

/* Queues of the transaction layer are software's, the window's or those of
 * interrupts; each is as its owner makes it. */
static void test_queue_owners(void)
{
    static const struct {
        uint32_t rcid;
        bool in_order;
        const char *says;
    } rows[] = {
        { UB_TA_IDS - 2, false, NULL },
        { UB_TA_IDS - 2, true, "queue of interrupts" },
        { 5, false, "nobody's" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        UbTaQueueConfig cfg = { .rcid = rows[i].rcid, .mode = UB_ROI,
                                .in_order = rows[i].in_order };
        g_autofree uint8_t *image = NULL;
        UbcConfig conf = config(1, UBC_USI_TYPE1);
        const char *why;
        size_t len;
        Ubc *ubc = ubc_new(&conf, &ops, &two[0], &why);

        g_assert_cmpstr(why, ==, NULL);
        g_assert_nonnull(ub_ta_queue_new(ub_node_ta(ubc->node), &cfg));
        image = ubc_save(ubc, now, &len);
        why = ubc_load(ubc, now, image, len);
        if (!rows[i].says) {
            g_assert_cmpstr(why, ==, NULL);
        } else {
            g_assert_nonnull(why);
            g_assert_nonnull(strstr(why, rows[i].says));
        }
        ubc_free(ubc);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ubc/resource/registers", test_registers);
    g_test_add_func("/ubc/resource/memory", test_memory);
    g_test_add_func("/ubc/resource/own-registers", test_own_registers);
    g_test_add_func("/ubc/resource/token", test_token);
    g_test_add_func("/ubc/resource/type2", test_type2);
    g_test_add_func("/ubc/resource/refused", test_refused);
    g_test_add_func("/ubc/resource/type1", test_type1);
    g_test_add_func("/ubc/resource/payload", test_payload);
    g_test_add_func("/ubc/resource/silent-user", test_silent_user);
    g_test_add_func("/ubc/resource/moved-entity", test_moved_entity);
    g_test_add_func("/ubc/resource/migrate", test_migrate);
    g_test_add_func("/ubc/resource/config", test_config);
    g_test_add_func("/ubc/resource/two-memories", test_two_memories);
    g_test_add_func("/ubc/queue-owners", test_queue_owners);
    return g_test_run();
}
