/*
 * ncic-mthca: host command register and command dispatcher.
 *
 * The table states what every command needs; the dispatcher checks it once,
 * so handlers look only at their own fields.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define UP MTHCA_HCA_UP
#define FW MTHCA_HCA_FW
#define ANY MTHCA_HCA_RESET

#define QP_CMD(op, name) \
    { op, name, 0x108, 0, UP, 0, mthca_modify_qp }

static const MthcaCmdDesc mthca_cmds[] = {
    { MTHCA_CMD_SYS_DIS, "SYS_DIS", 0, 0, ANY, 0, mthca_nop },
    { MTHCA_CMD_QUERY_DEV_LIM, "QUERY_DEV_LIM", 0, 0x100, FW, 0,
      mthca_query_dev_lim },
    { MTHCA_CMD_QUERY_FW, "QUERY_FW", 0, 0x100, ANY, 0, mthca_query_fw },
    { MTHCA_CMD_QUERY_ADAPTER, "QUERY_ADAPTER", 0, 0x100, FW, 0,
      mthca_query_adapter },
    { MTHCA_CMD_INIT_HCA, "INIT_HCA", 0x200, 0, FW, 0, mthca_init_hca },
    { MTHCA_CMD_QUERY_HCA, "QUERY_HCA", 0, 0x200, UP, 0, mthca_query_hca },
    { MTHCA_CMD_CLOSE_HCA, "CLOSE_HCA", 0, 0, UP, 0, mthca_close_hca },
    { MTHCA_CMD_INIT_IB, "INIT_IB", 0x100, 0, UP, CMD_PORT, mthca_init_ib },
    { MTHCA_CMD_CLOSE_IB, "CLOSE_IB", 0, 0, UP, CMD_PORT, mthca_close_ib },
    { MTHCA_CMD_SET_IB, "SET_IB", 0x40, 0, UP, CMD_PORT, mthca_set_ib },
    { MTHCA_CMD_SW2HW_MPT, "SW2HW_MPT", 0x40, 0, UP, 0, mthca_sw2hw_mpt },
    { MTHCA_CMD_QUERY_MPT, "QUERY_MPT", 0, 0x40, UP, 0, mthca_query_mpt },
    { MTHCA_CMD_HW2SW_MPT, "HW2SW_MPT", 0, 0x40, UP, CMD_OUT_OPT,
      mthca_hw2sw_mpt },
    { MTHCA_CMD_READ_MTT, "READ_MTT", 0, 0x1000, UP, 0, mthca_read_mtt },
    { MTHCA_CMD_WRITE_MTT, "WRITE_MTT", 0x1000, 0, UP, 0, mthca_write_mtt },
    { MTHCA_CMD_MAP_EQ, "MAP_EQ", 0, 0, UP, 0, mthca_map_eq },
    { MTHCA_CMD_SW2HW_EQ, "SW2HW_EQ", 0x40, 0, UP, 0, mthca_sw2hw_eq },
    { MTHCA_CMD_HW2SW_EQ, "HW2SW_EQ", 0, 0x40, UP, CMD_OUT_OPT,
      mthca_hw2sw_eq },
    { MTHCA_CMD_QUERY_EQ, "QUERY_EQ", 0, 0x40, UP, 0, mthca_query_eq },
    { MTHCA_CMD_SW2HW_CQ, "SW2HW_CQ", 0x40, 0, UP, 0, mthca_sw2hw_cq },
    { MTHCA_CMD_HW2SW_CQ, "HW2SW_CQ", 0, 0x40, UP, CMD_OUT_OPT,
      mthca_hw2sw_cq },
    { MTHCA_CMD_QUERY_CQ, "QUERY_CQ", 0, 0x40, UP, 0, mthca_query_cq },
    { MTHCA_CMD_RESIZE_CQ, "RESIZE_CQ", 0x40, 0, UP, 0, mthca_resize_cq },
    QP_CMD(MTHCA_CMD_RST2INIT_QP, "RST2INIT_QP"),
    QP_CMD(MTHCA_CMD_INIT2INIT_QP, "INIT2INIT_QP"),
    QP_CMD(MTHCA_CMD_INIT2RTR_QP, "INIT2RTR_QP"),
    QP_CMD(MTHCA_CMD_RTR2RTS_QP, "RTR2RTS_QP"),
    QP_CMD(MTHCA_CMD_RTS2RTS_QP, "RTS2RTS_QP"),
    QP_CMD(MTHCA_CMD_SQERR2RTS_QP, "SQERR2RTS_QP"),
    QP_CMD(MTHCA_CMD_SQD2SQD_QP, "SQD2SQD_QP"),
    QP_CMD(MTHCA_CMD_SQD2RTS_QP, "SQD2RTS_QP"),
    { MTHCA_CMD_2ERR_QP, "2ERR_QP", 0x108, 0, UP, CMD_IN_OPT,
      mthca_modify_qp },
    { MTHCA_CMD_RTS2SQD_QP, "RTS2SQD_QP", 0x108, 0, UP, CMD_IN_OPT,
      mthca_modify_qp },
    { MTHCA_CMD_ERR2RST_QP, "ERR2RST_QP", 0, 0x108, UP, CMD_OUT_OPT,
      mthca_reset_qp },
    { MTHCA_CMD_QUERY_QP, "QUERY_QP", 0, 0x108, UP, 0, mthca_query_qp },
    { MTHCA_CMD_CONF_SPECIAL_QP, "CONF_SPECIAL_QP", 0, 0, UP, 0,
      mthca_conf_special_qp },
    { MTHCA_CMD_MAD_IFC, "MAD_IFC", 0x200, 0x100, UP, CMD_PORT,
      mthca_mad_ifc },
    { MTHCA_CMD_READ_MGM, "READ_MGM", 0, 0x1000, UP, 0, mthca_read_mgm },
    { MTHCA_CMD_WRITE_MGM, "WRITE_MGM", 0x1000, 0, UP, 0, mthca_write_mgm },
    { MTHCA_CMD_MGID_HASH, "MGID_HASH", 0x10, 0, UP, 0, mthca_mgid_hash },
    { MTHCA_CMD_SYNC_TPT, "SYNC_TPT", 0, 0, UP, 0, mthca_nop },
    { MTHCA_CMD_NOP, "NOP", 0, 0, ANY, 0, mthca_nop },
    { MTHCA_CMD_SW2HW_SRQ, "SW2HW_SRQ", 0x40, 0, UP, 0, mthca_sw2hw_srq },
    { MTHCA_CMD_HW2SW_SRQ, "HW2SW_SRQ", 0, 0x40, UP, CMD_OUT_OPT,
      mthca_hw2sw_srq },
    { MTHCA_CMD_QUERY_SRQ, "QUERY_SRQ", 0, 0x40, UP, 0, mthca_query_srq },
    { MTHCA_CMD_ARM_SRQ, "ARM_SRQ", 0, 0, UP, 0, mthca_arm_srq },
    { MTHCA_CMD_RUN_FW, "RUN_FW", 0, 0, ANY, 0, mthca_run_fw },
    { MTHCA_CMD_ENABLE_LAM, "ENABLE_LAM", 0, 0, ANY, 0, mthca_enable_lam },
    { MTHCA_CMD_DISABLE_LAM, "DISABLE_LAM", 0, 0, ANY, 0, mthca_nop },
    { MTHCA_CMD_UNMAP_ICM, "UNMAP_ICM", 0, 0, FW, 0, mthca_unmap_icm },
    { MTHCA_CMD_MAP_ICM, "MAP_ICM", 0x1000, 0, FW, 0, mthca_map_icm },
    { MTHCA_CMD_UNMAP_ICM_AUX, "UNMAP_ICM_AUX", 0, 0, ANY, 0, mthca_nop },
    { MTHCA_CMD_MAP_ICM_AUX, "MAP_ICM_AUX", 0x1000, 0, FW, 0,
      mthca_map_aux },
    { MTHCA_CMD_SET_ICM_SIZE, "SET_ICM_SIZE", 0, 0, FW, 0,
      mthca_set_icm_size },
    { MTHCA_CMD_UNMAP_FA, "UNMAP_FA", 0, 0, ANY, 0, mthca_unmap_fa },
    { MTHCA_CMD_MAP_FA, "MAP_FA", 0x1000, 0, ANY, 0, mthca_map_aux },
};

static const MthcaCmdDesc *mthca_cmd_find(uint16_t op)
{
    for (size_t i = 0; i < G_N_ELEMENTS(mthca_cmds); i++) {
        if (mthca_cmds[i].op == op) {
            return &mthca_cmds[i];
        }
    }
    return NULL;
}

/*
 * The op_modifier of a command with an optional outbox: 1 means "none"
 * (2-to-software commands), for ERR2RST bit 0 says the same.
 */
static bool mthca_cmd_has_out(const MthcaCmd *c)
{
    return c->d->out_size &&
           !((c->d->flags & CMD_OUT_OPT) &&
             ((c->op_mod & 1) || !c->out_param));
}

static uint8_t mthca_cmd_exec(Mthca *m, MthcaCmd *c)
{
    const MthcaCmdDesc *d = c->d;
    uint8_t st;

    if (!d) {
        return MTHCA_ST_BAD_OP;
    }
    if (m->state < d->need) {
        return MTHCA_ST_BAD_SYS_STATE;
    }
    if ((d->flags & CMD_PORT) && (c->mod & 0xff) != 1) {
        return MTHCA_ST_BAD_INDEX;
    }
    memset(c->in, 0, d->in_size);
    if (d->in_size && (c->in_param || !(d->flags & CMD_IN_OPT))) {
        /* Mailboxes are one page: never read into the next one. */
        size_t n = MIN(d->in_size, MTHCA_MAILBOX_SIZE -
                       (c->in_param & (MTHCA_MAILBOX_SIZE - 1)));

        if (!c->in_param || !mthca_dma_read(m, c->in_param, c->in, n)) {
            return MTHCA_ST_BAD_PARAM;
        }
    }
    if (mthca_cmd_has_out(c) && !c->out_param) {
        return MTHCA_ST_BAD_PARAM;
    }
    memset(c->out, 0, d->out_size);
    st = d->fn(m, c);
    if (st == MTHCA_ST_OK && mthca_cmd_has_out(c)) {
        size_t n = MIN(d->out_size, MTHCA_MAILBOX_SIZE -
                       (c->out_param & (MTHCA_MAILBOX_SIZE - 1)));

        if (!mthca_dma_write(m, c->out_param, c->out, n)) {
            return MTHCA_ST_BAD_PARAM;
        }
    }
    return st;
}

/* The command register was written with go set. */
void mthca_cmd_run(Mthca *m)
{
    MthcaCmd *c = &m->cmd;
    uint32_t *hcr = m->hcr;
    uint32_t cmd = hcr[6];
    uint8_t st;

    c->in_param = (uint64_t)hcr[0] << 32 | hcr[1];
    c->mod = hcr[2];
    c->out_param = (uint64_t)hcr[3] << 32 | hcr[4];
    c->op = cmd & 0xfff;
    c->op_mod = cmd >> 12 & 0xf;
    c->d = mthca_cmd_find(c->op);
    c->imm = c->out_param;

    st = mthca_cmd_exec(m, c);

    m->counters.commands++;
    if (st != MTHCA_ST_OK && c->op != MTHCA_CMD_ENABLE_LAM) {
        m->counters.command_errors++;
        mthca_rule(m, c->mod, "command interface",
                   c->d ? c->d->name : "unknown command");
    }
    if (m->cfg.ops->command) {
        m->cfg.ops->command(m->cfg.rdma.ops_opaque,
                            c->d ? c->d->name : "unknown", c->op, c->mod,
                            c->op_mod, st);
    }
    hcr[3] = c->imm >> 32;
    hcr[4] = (uint32_t)c->imm;
    hcr[6] = (uint32_t)st << 24 | (cmd & ~(MTHCA_HCR_GO | 0xff000000u));
    if (cmd & MTHCA_HCR_EVENT) {
        uint8_t data[24] = { 0 };

        put_be16(data + 2, hcr[5] >> 16);
        data[0xf - 4] = st;
        put_be64(data + 0x10 - 4, c->imm);
        mthca_event_post(m, MTHCA_EV_CMD, 0, data);
    }
}
