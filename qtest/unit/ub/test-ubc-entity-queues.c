/*
 * Queues, segments and interrupts of an Entity that is lent: whom its events are told,
 * and its BUS_EN (UB 2.0 §10.3.4, §D.3.11).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-resource-bed.h"

#define USER_SEGMENT 77u    /* of node 0; of the Entity: */
#define OWN_SEGMENT 78u
#define ROW_USER 40u        /* leads the Entity to the User */

static UbqQueue lent;       /* node 1's, of Entity URMA */

static unsigned segment(unsigned node, uint32_t token_id, unsigned entity)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, token_id, 0);
    put_le64(cmd + UBQ_SEG_UBA, 0x10000);
    put_le64(cmd + UBQ_SEG_BASE, room[node]);
    put_le64(cmd + UBQ_SEG_LENGTH, 4096);
    put_le32(cmd + UBQ_SEG_ACCESS, UBQ_SEG_READ | UBQ_SEG_WRITE);
    put_le16(cmd + UBQ_SEG_ENTITY, entity);
    return ubq_command(&drv[node], UBQ_OP_SEGMENT_SET, cmd);
}

static uint32_t lent_pending(void)
{
    return get1(URMA, T1(UB_INT_TYPE1_INTERRUPT_PENDING));
}

static void eq_vector(uint32_t value)
{
    wr(&two[1], UBQ_EQ(0) + UBQ_EQ_VECTOR, value);
}

/* A queue of Entity URMA, whose event queue tells the User by vector 3. */
static void lent_up(void)
{
    UbqPeer user = { .cna = 1, .eid = { [15] = 1 }, .upi = 1, .own = URMA };

    up(UBC_USI_TYPE1);
    put1(URMA, UB_CFG1_DEV_TOKEN_ID, TOKEN);
    put1(URMA, T1(UB_INT_TYPE1_INTERRUPT_DATA), FIRST);
    put1(URMA, T1(UB_INT_TYPE1_INTERRUPT_ADDRESS), ADDRESS);
    put1(URMA, T1(UB_INT_TYPE1_INTERRUPT_ADDRESS) + 1, ADDRESS >> 32);
    put1(URMA, T1(UB_INT_TYPE1_INTERRUPT_ENABLE_NUMBER), 5);
    put1(URMA, T1(UB_INT_TYPE1_INTERRUPT_MASK), 0);
    put1(URMA, T1(UB_INT_TYPE1_INTERRUPT_ENABLE), 1);
    ubq_dest(&drv[1], ROW_USER, 1, 0, &user);
    lent = (UbqQueue) { .d = &drv[1], .sq_log2 = 4, .rq_log2 = 4, .stride = 2,
                        .entity = URMA };
    ubq_queue_create(&lent, &cq[1], &cq[1], UBQ_NEW, 0, 0);
    g_assert_cmpuint(segment(0, USER_SEGMENT, 0), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(segment(1, OWN_SEGMENT, URMA), ==, UBQ_RESULT_OK);
    eq_vector(UBQ_USI(URMA, 3));
}

static void lent_write(void)
{
    uint8_t *e = ubq_sqe(&lent, 1);

    ubq_sqe_put(e, UB_TA_WRITE, ROW_USER, room[1], 64);
    put_le32(e + UBQ_SQE_TARGET, USER_SEGMENT);
    put_le64(e + UBQ_SQE_ADDR, 0x10000);
    ubq_post(&lent, e, 1);
}

/* The next completion and the event of its queue are wanted. */
static void lent_arm(void)
{
    ubq_cq_arm(&cq[1], 2);
    wr(&two[1], UBQ_EQ(0) + UBQ_EQ_ARM, rd(&two[1], UBQ_EQ(0) + UBQ_EQ_PI));
}

static void lent_done(unsigned status)
{
    asker = 1;
    g_assert_true(run_until(&two[0], &two[1], answered, 2000 * SECOND));
    g_assert_cmphex(ubq_cqe_status(cqe), ==, status);
}

static void test_queue_events(void)
{
    unsigned errors;

    lent_up();
    g_assert_cmphex(rd(&two[1], UBQ_EQ(0) + UBQ_EQ_VECTOR), ==,
                    UBQ_USI(URMA, 3));
    lent_arm();
    memset(drv[1].memory + room[1], 0x5a, 64);
    lent_write();
    lent_done(UB_TAS_OK);
    pass();
    g_assert_cmphex(drv[0].memory[room[0] + 63], ==, 0x5a);
    g_assert_cmpuint(taken(0, 3), ==, 1);
    for (unsigned v = 0; v < UBC_VECTORS; v++) {
        g_assert_cmpuint(two[1].interrupts[v], ==, 0);
    }
    /* Masked it waits in the Entity; an MSI-X entry is this host's again. */
    put1(URMA, T1(UB_INT_TYPE1_INTERRUPT_MASK), 1 << 3);
    lent_arm();
    lent_write();
    lent_done(UB_TAS_OK);
    pass();
    g_assert_cmphex(lent_pending(), ==, 1 << 3);
    eq_vector(9);
    lent_arm();
    lent_write();
    lent_done(UB_TAS_OK);
    pass();
    g_assert_cmpuint(two[1].interrupts[9], ==, 1);
    g_assert_cmpuint(taken(0, 3), ==, 1);
    put1(URMA, T1(UB_INT_TYPE1_INTERRUPT_MASK), 0);
    pass();
    g_assert_cmpuint(taken(0, 3), ==, 2);
    /* Commands that are answered, the same way. */
    wr(&two[1], UBQ_CMD_WINDOW + UBQ_CMD_VECTOR, UBQ_USI(URMA, 4));
    wr(&two[1], UBQ_CMD_WINDOW + UBQ_CMD_ARM, drv[1].cmd_pi);
    g_assert_cmpuint(segment(1, OWN_SEGMENT, URMA), ==, UBQ_RESULT_OK);
    pass();
    g_assert_cmpuint(taken(0, 4), ==, 1);
    /* What is no vector. */
    errors = two[1].guest_errors;
    eq_vector(UBQ_USI(3, 0));
    eq_vector(UBQ_USI_IS >> 1);
    eq_vector(0x10000 | UBQ_USI(URMA, 1));
    wr(&two[1], UBQ_CMD_WINDOW + UBQ_CMD_VECTOR, UBQ_USI(3, 0));
    g_assert_cmpuint(two[1].guest_errors, ==, errors + 4);
    g_assert_cmphex(rd(&two[1], UBQ_EQ(0) + UBQ_EQ_VECTOR), ==, 9);
    wr(&two[0], UBQ_EQ(0) + UBQ_EQ_VECTOR, UBQ_USI(0, 0));
    g_assert_cmphex(rd(&two[0], UBQ_EQ(0) + UBQ_EQ_VECTOR), ==, 7);
    g_assert_cmpuint(segment(1, OWN_SEGMENT + 1, 3), ==, UBQ_RESULT_PARAMETER);
    down();
}

static void test_bus_en(void)
{
    const uint32_t token[2] = { OWN_SEGMENT };

    lent_up();
    g_assert_cmphex(get1(URMA, UB_CFG1_BUS_EN), ==, 1);
    g_assert_cmphex(ask(0, UB_TA_READ, ROW_URMA, 0x10000, 64, token), ==,
                    UB_TAS_OK);
    put1(URMA, UB_CFG1_BUS_EN, 0);
    g_assert_cmphex(get1(URMA, UB_CFG1_BUS_EN), ==, 0);
    g_assert_cmphex(ask(0, UB_TA_READ, ROW_URMA, 0x10000, 64, token), ==,
                    UB_TAS_ABORT);
    g_assert_cmphex(ask(0, UB_TA_WRITE, ROW_URMA, 0x10000, 64, token), ==,
                    UB_TAS_ABORT);
    /* Its resource spaces are open, and its interrupts wait. */
    g_assert_cmphex(look32(ROW_URMA, uba(URMA, 2) + UB_ERS2_ID), ==,
                    UB_ERS2_ID_VALUE);
    set32(ROW_URMA, uba(URMA, 2) + UB_ERS2_RING, 3);
    pass();
    g_assert_cmphex(lent_pending(), ==, 1 << 3);
    g_assert_cmpuint(taken(0, 3), ==, 0);
    /* Its queue begins nothing; that of another Entity does. */
    memset(drv[1].memory + room[1], 0x33, 64);
    lent_write();
    run_until(&two[0], &two[1], never, 10 * SECOND);
    g_assert_null(ubq_cq_poll(&cq[1]));
    g_assert_cmphex(ask(1, UB_TA_READ, ROW_OWN, uba(MEMORY, 1), 8, NULL), ==,
                    UB_TAS_OK);
    memset(drv[1].memory + room[1], 0x33, 64);
    put1(URMA, UB_CFG1_BUS_EN, 1);
    lent_done(UB_TAS_OK);
    g_assert_cmphex(drv[0].memory[room[0]], ==, 0x33);
    g_assert_cmpuint(taken(0, 3), ==, 1);
    g_assert_cmphex(lent_pending(), ==, 0);
    g_assert_cmphex(ask(0, UB_TA_READ, ROW_URMA, 0x10000, 64, token), ==,
                    UB_TAS_OK);
    down();
}

static unsigned lent_send(void)
{
    uint8_t *e = ubq_sqe(&queue[0], 1);

    ubq_sqe_put(e, UB_TA_SEND, ROW_URMA, room[0], 64);
    put_le32(e + UBQ_SQE_TARGET, lent.id);
    ubq_post(&queue[0], e, 1);
    asker = 0;
    g_assert_true(run_until(&two[0], &two[1], answered, 2000 * SECOND));
    return ubq_cqe_status(cqe);
}

/* A message finds nobody, and takes nothing. */
static void test_bus_en_message(void)
{
    lent_up();
    ubq_recv(&lent, room[1], 64);
    put1(URMA, UB_CFG1_BUS_EN, 0);
    g_assert_cmphex(lent_send(), ==, UB_TAS_TIMEOUT);
    g_assert_null(ubq_cq_poll(&cq[1]));
    put1(URMA, UB_CFG1_BUS_EN, 1);
    g_assert_cmphex(lent_send(), ==, UB_TAS_OK);
    lent_done(UB_TAS_OK);
    down();
}

/* Data of what is under way are not reached any more. */
static void test_bus_en_under_way(void)
{
    lent_up();
    ubc_bus_master(two[0].ubc, false);      /* no answer */
    for (unsigned i = 0; i < 2; i++) {
        uint8_t *e = ubq_sqe(&lent, 1);

        ubq_sqe_put(e, UB_TA_READ, ROW_USER, room[1], 64);
        put_le32(e + UBQ_SQE_TARGET, USER_SEGMENT);
        put_le64(e + UBQ_SQE_ADDR, 0x10000);
        ubq_post(&lent, e, 1);
    }
    pass();
    memset(drv[0].memory + room[0], 0x77, 64);
    memset(drv[1].memory + room[1], 0x11, 64);
    put1(URMA, UB_CFG1_BUS_EN, 0);
    ubc_bus_master(two[0].ubc, true);
    two[0].next = now;
    lent_done(UB_TAS_LOCAL_ACCESS);
    g_assert_cmphex(drv[1].memory[room[1]], ==, 0x11);
    down();
}

/* An Entity that software has made has no registers: what peers ask of it is decided
 * without. */
static void test_made(void)
{
    UbqPeer made = { .cna = 2, .eid = { [15] = 0x77 }, .upi = 1 };
    uint8_t cmd[UBQ_CMD];

    up(UBC_USI_TYPE1);
    g_assert_cmpuint(segment(1, OWN_SEGMENT, 0), ==, UBQ_RESULT_OK);
    for (unsigned entity = 2; entity < 64; entity++) {
        ubq_cmd_init(cmd, entity, 0);
        cmd[UBQ_ENT_EID + 15] = 0x77;
        put_le32(cmd + UBQ_ENT_UPI, 1);
        g_assert_cmpuint(ubq_command(&drv[1], UBQ_OP_ENTITY_SET, cmd), ==,
                         entity > MEMORY ? UBQ_RESULT_OK
                                         : UBQ_RESULT_PARAMETER);
        if (entity > MEMORY) {
            uint32_t token[] = { OWN_SEGMENT, 0 };

            ubq_dest(&drv[0], ROW_USER, 1, 0, &made);
            g_assert_cmphex(ask(0, UB_TA_READ, ROW_USER, 0x10000, 64, token),
                            !=, UBQ_STATUS_OK);
            memset(cmd + UBQ_ENT_EID, 0, 16);
            put_le32(cmd + UBQ_ENT_UPI, 0);
            g_assert_cmpuint(ubq_command(&drv[1], UBQ_OP_ENTITY_SET, cmd), ==,
                             UBQ_RESULT_OK);
        }
    }
    down();
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ubc/resource/queue-events", test_queue_events);
    g_test_add_func("/ubc/resource/bus-en", test_bus_en);
    g_test_add_func("/ubc/resource/bus-en-message", test_bus_en_message);
    g_test_add_func("/ubc/resource/bus-en-under-way", test_bus_en_under_way);
    g_test_add_func("/ubc/resource/made", test_made);
    return g_test_run();
}
