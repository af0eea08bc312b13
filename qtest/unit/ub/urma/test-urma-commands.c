/*
 * Commands of the transaction engine: what makes a queue, and its number.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "pair.h"

static unsigned create(Ends *ends, unsigned opcode, unsigned at, uint8_t value)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, UBQ_NEW, 0);
    if (opcode == UBQ_OP_CQ_CREATE) {
        put_le64(cmd + UBQ_CQ_BASE, 4096);
        cmd[UBQ_CQ_LOG2] = 4;
    } else {
        put_le64(cmd + UBQ_Q_SQ_BASE, 8192);
        put_le64(cmd + UBQ_Q_RQ_BASE, 4096);
        cmd[UBQ_Q_SQ_LOG2] = 4;
        cmd[UBQ_Q_RQ_LOG2] = 4;
        put_le32(cmd + UBQ_Q_RQ_SHARED, UBQ_NEW);
    }
    cmd[at] = value;
    return ubq_command(&ends->end[0].drv, opcode, cmd);
}

static void test_commands(void)
{
    static const struct {
        unsigned opcode, at, value, result;
    } table[] = {
        { UBQ_OP_CQ_CREATE, UBQ_CQ_LOG2, 4, UBQ_RESULT_OK },
        { UBQ_OP_CQ_CREATE, UBQ_CQ_LOG2, 3, UBQ_RESULT_PARAMETER },
        { UBQ_OP_CQ_CREATE, UBQ_CQ_LOG2, 16, UBQ_RESULT_PARAMETER },
        { UBQ_OP_CQ_CREATE, UBQ_CQ_BASE, 32, UBQ_RESULT_PARAMETER },
        { UBQ_OP_CQ_CREATE, UBQ_CQ_EQ + 1, 1, UBQ_RESULT_PARAMETER },
        { UBQ_OP_CQ_CREATE, UBQ_CQ_PAGE + 1, 1, UBQ_RESULT_PARAMETER },
        { UBQ_OP_CQ_CREATE, UBQ_CMD_OBJECT, 0xfe, UBQ_RESULT_PARAMETER },
        { UBQ_OP_QUEUE_CREATE, UBQ_Q_SQ_LOG2, 5, UBQ_RESULT_OK },
        { UBQ_OP_QUEUE_CREATE, UBQ_Q_SQ_LOG2, 16, UBQ_RESULT_PARAMETER },
        { UBQ_OP_QUEUE_CREATE, UBQ_Q_RQ_LOG2, 16, UBQ_RESULT_PARAMETER },
        { UBQ_OP_QUEUE_CREATE, UBQ_Q_RQ_STRIDE, 5, UBQ_RESULT_PARAMETER },
        { UBQ_OP_QUEUE_CREATE, UBQ_Q_MODE, 4, UBQ_RESULT_PARAMETER },
        { UBQ_OP_QUEUE_CREATE, UBQ_Q_SEND_CQ, 9, UBQ_RESULT_PARAMETER },
        { UBQ_OP_QUEUE_CREATE, UBQ_Q_RECV_CQ, 9, UBQ_RESULT_PARAMETER },
        { UBQ_OP_QUEUE_CREATE, UBQ_Q_RQ_SHARED, 0xfe, UBQ_RESULT_PARAMETER },
        { UBQ_OP_QUEUE_CREATE, UBQ_Q_PAGE + 1, 1, UBQ_RESULT_PARAMETER },
        { UBQ_OP_QUEUE_CREATE, UBQ_Q_ENTITY, 1, UBQ_RESULT_PARAMETER },
        { UBQ_OP_QUEUE_CREATE, UBQ_Q_FLAGS, 0x20, UBQ_RESULT_PARAMETER },
        { UBQ_OP_QUEUE_CREATE, UBQ_Q_RNR_TIMER, 20, UBQ_RESULT_PARAMETER },
        { UBQ_OP_QUEUE_CREATE, UBQ_Q_SQ_BASE, 16, UBQ_RESULT_PARAMETER },
        { UBQ_OP_QUEUE_CREATE, UBQ_Q_RQ_BASE, 8, UBQ_RESULT_PARAMETER },
        { 0x7f, 127, 0, UBQ_RESULT_OPCODE },
        { 0x1234, 127, 0, UBQ_RESULT_OPCODE },
    };
    uint8_t cmd[UBQ_CMD];
    Ends ends;

    ends_start(&ends);
    for (unsigned i = 0; i < G_N_ELEMENTS(table); i++) {
        g_assert_cmpuint(create(&ends, table[i].opcode, table[i].at,
                                table[i].value), ==, table[i].result);
    }
    /* In use: the queue names the completion queue. */
    ubq_cmd_init(cmd, 0, 0);
    g_assert_cmpuint(ubq_command(&ends.end[0].drv, UBQ_OP_CQ_DESTROY, cmd),
                     ==, UBQ_RESULT_IN_USE);
    ubq_cmd_init(cmd, 1024, 0);
    g_assert_cmpuint(ubq_command(&ends.end[0].drv, UBQ_OP_QUEUE_QUERY, cmd),
                     ==, UBQ_RESULT_OK);
    g_assert_cmpuint(cmd[UBQ_Q_SQ_LOG2], ==, 5);
    g_assert_cmpuint(ubq_command(&ends.end[0].drv, UBQ_OP_QUEUE_DESTROY,
                                 cmd), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(ubq_command(&ends.end[0].drv, UBQ_OP_QUEUE_DESTROY,
                                 cmd), ==, UBQ_RESULT_NO_OBJECT);
    ubq_cmd_init(cmd, 0, 0);
    g_assert_cmpuint(ubq_command(&ends.end[0].drv, UBQ_OP_CQ_DESTROY, cmd),
                     ==, UBQ_RESULT_OK);
    g_assert_cmpuint(ubq_command(&ends.end[0].drv, UBQ_OP_CAPS, cmd), ==,
                     UBQ_RESULT_OK);
    g_assert_cmpuint(get_le32(cmd + UBQ_CAP_QUEUES), ==, 256);
    g_assert_cmpuint(get_le32(cmd + UBQ_CAP_CHANNELS), >, 0);
    ends_stop(&ends);
}

/* A number asked for, taken, and the end of numbers. */
static void test_numbers(void)
{
    uint8_t cmd[UBQ_CMD];
    unsigned result;
    Ends ends;

    ends_start(&ends);
    for (unsigned i = 0; i < 256; i++) {
        g_assert_cmpuint(create(&ends, UBQ_OP_CQ_CREATE, 127, 0), ==,
                         UBQ_RESULT_OK);
    }
    g_assert_cmpuint(create(&ends, UBQ_OP_CQ_CREATE, 127, 0), ==,
                     UBQ_RESULT_FULL);
    ubq_cmd_init(cmd, 7, 0);
    g_assert_cmpuint(ubq_command(&ends.end[0].drv, UBQ_OP_CQ_DESTROY, cmd),
                     ==, UBQ_RESULT_OK);
    for (unsigned i = 0; i < 2; i++) {
        ubq_cmd_init(cmd, i ? 7 : 8, 0);
        put_le64(cmd + UBQ_CQ_BASE, 4096);
        cmd[UBQ_CQ_LOG2] = 4;
        result = ubq_command(&ends.end[0].drv, UBQ_OP_CQ_CREATE, cmd);
        g_assert_cmpuint(result, ==, i ? UBQ_RESULT_OK : UBQ_RESULT_IN_USE);
    }
    ends_stop(&ends);
}

/* The last two numbers are no queue's: they are the RCIDs of requests that software's
 * queues do not make. */
static void test_last_number(void)
{
    uint8_t cmd[UBQ_CMD];
    Ends ends;

    ends_start(&ends);
    create(&ends, UBQ_OP_CQ_CREATE, 127, 0);
    for (uint32_t id = UB_TA_IDS; id >= UB_TA_IDS - 3; id--) {
        ubq_cmd_init(cmd, id, 0);
        put_le64(cmd + UBQ_Q_SQ_BASE, 8192);
        cmd[UBQ_Q_SQ_LOG2] = 4;
        put_le32(cmd + UBQ_Q_RQ_SHARED, UBQ_NEW);
        g_assert_cmpuint(ubq_command(&ends.end[0].drv, UBQ_OP_QUEUE_CREATE,
                                     cmd), ==,
                         id < UB_TA_IDS - 2 ? UBQ_RESULT_OK
                                            : UBQ_RESULT_PARAMETER);
    }
    ends_stop(&ends);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/urma/commands", test_commands);
    g_test_add_func("/ub/urma/numbers", test_numbers);
    g_test_add_func("/ub/urma/numbers/last", test_last_number);
    return g_test_run();
}
