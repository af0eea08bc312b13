/*
 * The command queue: commands in guest memory, answered in place and in order.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define CMD_SIZE_MAX 8
#define CAPS_VERSION 1

static unsigned caps(UbUrma *u, uint32_t *id, uint8_t *cmd)
{
    put_le32(cmd + UBQ_CAP_VERSION, CAPS_VERSION);
    put_le32(cmd + UBQ_CAP_QUEUES, u->cfg.queues);
    put_le32(cmd + UBQ_CAP_CQS, u->cfg.cqs);
    put_le32(cmd + UBQ_CAP_EQS, u->cfg.eqs);
    put_le32(cmd + UBQ_CAP_SEGMENTS, u->cfg.segments);
    put_le32(cmd + UBQ_CAP_PAGES, u->cfg.pages);
    put_le16(cmd + UBQ_CAP_ELEMENTS, UBQ_ELEMENTS_MAX);
    put_le16(cmd + UBQ_CAP_ELEMENTS + 2, UBQ_RQE_ELEMENTS_MAX);
    put_le32(cmd + UBQ_CAP_INLINE, UBQ_INLINE_MAX);
    put_le32(cmd + UBQ_CAP_JGROUPS, u->cfg.groups);
    put_le32(cmd + UBQ_CAP_JMEMBERS, u->cfg.members);
    put_le64(cmd + UBQ_CAP_LENGTH, ub_ta_config(u->ta)->max_len);
    /* Whoever has channels adds what there is of them. */
    u->ops.command(u->opaque, UBQ_OP_CAPS, cmd);
    return UBQ_RESULT_OK;
}

static UrmaCommand *const commands[] = {
    [UBQ_OP_CAPS] = caps,
    [UBQ_OP_CQ_CREATE] = urma_cq_create,
    [UBQ_OP_CQ_MODIFY] = urma_cq_modify,
    [UBQ_OP_CQ_DESTROY] = urma_cq_destroy,
    [UBQ_OP_CQ_QUERY] = urma_cq_query,
    [UBQ_OP_QUEUE_CREATE] = urma_queue_create,
    [UBQ_OP_QUEUE_MODIFY] = urma_queue_modify,
    [UBQ_OP_QUEUE_DESTROY] = urma_queue_destroy,
    [UBQ_OP_QUEUE_QUERY] = urma_queue_query,
    [UBQ_OP_JGROUP_CREATE] = urma_group_create,
    [UBQ_OP_JGROUP_MODIFY] = urma_group_modify,
    [UBQ_OP_JGROUP_DESTROY] = urma_group_destroy,
    [UBQ_OP_JGROUP_QUERY] = urma_group_query,
    [UBQ_OP_JGROUP_JOIN] = urma_group_join,
    [UBQ_OP_JGROUP_LEAVE] = urma_group_leave,
    [UBQ_OP_SEGMENT_SET] = urma_segment_set,
    [UBQ_OP_SEGMENT_CLEAR] = urma_segment_clear,
    [UBQ_OP_POISON] = urma_poison_command,
};

static unsigned command_run(UbUrma *u, uint8_t *cmd)
{
    unsigned opcode = get_le16(cmd + UBQ_CMD_OPCODE), result;
    uint32_t id = get_le32(cmd + UBQ_CMD_OBJECT);

    if (opcode < G_N_ELEMENTS(commands) && commands[opcode]) {
        result = commands[opcode](u, &id, cmd);
        put_le32(cmd + UBQ_CMD_OBJECT, id);
    } else {
        result = u->ops.command(u->opaque, opcode, cmd);
    }
    u->counter[UB_URMA_COMMANDS]++;
    u->counter[UB_URMA_COMMANDS_FAILED] += result != UBQ_RESULT_OK;
    return result;
}

static unsigned cmd_entries(const UrmaCmdRing *c)
{
    return 1u << c->size;
}

static const char *cmd_place_check(const UrmaCmdRing *c)
{
    if (c->size > CMD_SIZE_MAX) {
        return "command queue enabled with a size that does not exist";
    }
    return c->base % UBQ_CMD ? "command queue enabled with an unaligned base"
                             : NULL;
}

const char *urma_cmd_check(const UbUrma *u)
{
    const UrmaCmdRing *c = &u->cmd;
    const char *broken = c->enabled ? cmd_place_check(c) : NULL;

    if (!broken && c->enabled && (uint16_t)(c->pi - c->ci) > cmd_entries(c)) {
        broken = "command queue with more commands than it has";
    }
    if (!broken && !urma_vector_good(u, c->vector)) {
        broken = "command queue with a vector beyond the table";
    }
    return broken;
}

static void cmd_interrupt(UbUrma *u)
{
    if (u->cmd.armed && u->cmd.ci != u->cmd.arm) {
        u->cmd.armed = false;
        u->ops.interrupt(u->opaque, u->cmd.vector);
    }
}

static void cmd_stop(UbUrma *u, const char *what)
{
    u->cmd.enabled = false;
    u->cmd.error = true;
    urma_guest_error(u, what);
    ub_urma_device_event(u, UBQ_EVENT_FATAL, 0, 0, 1);
}

unsigned urma_cmd_serve(UbUrma *u, unsigned budget)
{
    UrmaCmdRing *c = &u->cmd;
    uint8_t cmd[UBQ_CMD];
    unsigned n = 0, result;

    for (; c->enabled && c->pi != c->ci && n < budget; n++) {
        uint64_t at = c->base + (uint64_t)(c->ci & (cmd_entries(c) - 1)) *
                                UBQ_CMD;

        if (!urma_read(u, at, cmd, UBQ_CMD)) {
            cmd_stop(u, "command queue in memory that is not there");
            break;
        }
        result = command_run(u, cmd);
        urma_trace(u, UB_URMA_TRACE_COMMAND, get_le32(cmd + UBQ_CMD_OBJECT),
                   get_le16(cmd + UBQ_CMD_OPCODE), result);
        put_le32(cmd + UBQ_CMD_RESULT, UBQ_DONE | result);
        if (!urma_write(u, at + 8, cmd + 8, UBQ_CMD - 8) ||
            !urma_write(u, at, cmd, 8)) {
            cmd_stop(u, "command queue in memory that cannot be written");
            break;
        }
        c->ci++;
    }
    if (n) {
        cmd_interrupt(u);
    }
    return n;
}

uint32_t urma_cmd_reg_read(const UbUrma *u, uint32_t reg)
{
    const UrmaCmdRing *c = &u->cmd;

    switch (reg) {
    case UBQ_CMD_BASE_LO:
        return c->base;
    case UBQ_CMD_BASE_HI:
        return c->base >> 32;
    case UBQ_CMD_SIZE:
        return c->size;
    case UBQ_CMD_CTRL:
        return (c->enabled ? UBQ_CMD_ENABLE : 0) |
               (c->error ? UBQ_CMD_ERROR : 0);
    case UBQ_CMD_VECTOR:
        return c->vector;
    case UBQ_CMD_PI:
        return c->pi;
    case UBQ_CMD_CI:
        return c->ci;
    case UBQ_CMD_ARM:
        return c->arm;
    default:
        return 0;
    }
}

static void cmd_enable(UbUrma *u, bool on)
{
    UrmaCmdRing *c = &u->cmd;
    const char *broken = on ? cmd_place_check(c) : NULL;

    if (on == c->enabled) {
        return;
    }
    if (broken) {
        urma_guest_error(u, broken);
        return;
    }
    c->enabled = on;
    if (on) {
        c->error = c->armed = false;
        c->pi = c->ci = 0;
    }
}

static void cmd_bell(UbUrma *u, uint16_t pi)
{
    UrmaCmdRing *c = &u->cmd;

    if (!c->enabled || (uint16_t)(pi - c->ci) > cmd_entries(c)) {
        urma_guest_error(u, "more commands than the queue has, or it is not "
                         "enabled");
        return;
    }
    c->pi = pi;
    urma_kick(u);
}

void urma_cmd_reg_write(UbUrma *u, uint32_t reg, uint32_t value)
{
    UrmaCmdRing *c = &u->cmd;
    bool fixed = reg == UBQ_CMD_BASE_LO || reg == UBQ_CMD_BASE_HI ||
                 reg == UBQ_CMD_SIZE;

    if (fixed && c->enabled) {
        urma_guest_error(u, "place of the enabled command queue written");
        return;
    }
    switch (reg) {
    case UBQ_CMD_BASE_LO:
        c->base = (c->base & ~0xffffffffull) | value;
        break;
    case UBQ_CMD_BASE_HI:
        c->base = (uint32_t)c->base | (uint64_t)value << 32;
        break;
    case UBQ_CMD_SIZE:
        c->size = value & 0xff;
        break;
    case UBQ_CMD_CTRL:
        cmd_enable(u, value & UBQ_CMD_ENABLE);
        break;
    case UBQ_CMD_VECTOR:
        if (!urma_vector_good(u, value)) {
            urma_guest_error(u, "command queue with a vector beyond the table");
            break;
        }
        c->vector = value;
        break;
    case UBQ_CMD_PI:
        cmd_bell(u, value);
        break;
    case UBQ_CMD_ARM:
        c->arm = value;
        c->armed = true;
        cmd_interrupt(u);
        break;
    default:
        break;
    }
}
