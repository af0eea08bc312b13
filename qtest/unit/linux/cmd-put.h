/*
 * Words of a command, for drivers under test: of the test's own struct ub_cmd, which has
 * its bytes as b.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef CMD_PUT_H
#define CMD_PUT_H

static inline void ub_put8(struct ub_cmd *cmd, unsigned at, u8 v)
{
    cmd->b[at] = v;
}

static inline void ub_put16(struct ub_cmd *cmd, unsigned at, u16 v)
{
    put_le16(cmd->b + at, v);
}

static inline void ub_put32(struct ub_cmd *cmd, unsigned at, u32 v)
{
    put_le32(cmd->b + at, v);
}

static inline void ub_put64(struct ub_cmd *cmd, unsigned at, u64 v)
{
    put_le64(cmd->b + at, v);
}

#endif
