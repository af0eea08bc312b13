/*
 * The table of commands and their dispatcher (interface document, chapter 3).
 *
 * A command is executed inside the write that starts it.  The published driver
 * does not really wait for go to clear, so nothing else is safe.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

enum {
    F_READY = 1 << 0,           /* only after INIT_HCA */
    F_INBOX_OPT = 1 << 1,       /* op_mod 2, 3: no inbox */
};

#define MODS(...)  ((uint8_t)(__VA_ARGS__))
#define M(n)       (1 << (n))

static uint32_t map_icm_len(const NativeCmd *c)
{
    return (c->in_mod + 1) / 2 * 32;
}

static uint32_t write_mtt_len(const NativeCmd *c)
{
    return 32 * ((c->in_mod + 3) / 4 + 1);
}

static const struct Cmd {
    uint16_t op;
    const char *name;
    uint16_t in, out;           /* bytes of mailboxes, 0 = none */
    uint32_t (*in_len)(const NativeCmd *c);     /* instead of @in */
    uint32_t mod_max;           /* in_modifier allowed with in_len */
    uint8_t mods;               /* op_modifiers: bit n; 0 = not looked at */
    uint8_t flags;
    IcmTable index;             /* in_modifier is an index there */
    uint8_t (*run)(NativeRdma *n, NativeCmd *c);
} native_cmds[] = {
#define ANY  ICM_TABLES
#define QP(o, name) \
    { o, name, NR_QP_MBOX_BYTES, 0, NULL, 0, M(0) | M(2) | M(3), \
      F_READY | F_INBOX_OPT, ICM_QPC, native_modify_qp }
    { NRC_QUERY_DEV_LIM, "QUERY_DEV_LIM", 0, NR_DEV_LIM_BYTES, NULL, 0, 0, 0,
      ANY, native_query_dev_lim },
    { NRC_QUERY_ADAPTER, "QUERY_ADAPTER", 0, NR_ADAPTER_BYTES, NULL, 0, 0, 0,
      ANY, native_query_adapter },
    { NRC_INIT_HCA, "INIT_HCA", 0x40, 0, NULL, 0, 0, 0, ANY, native_init_hca },
    { NRC_CLOSE_HCA, "CLOSE_HCA", 0, 0, NULL, 0, 0, 0, ANY, native_close_hca },
    { NRC_MAP_ICM, "MAP_ICM", 1, 0, map_icm_len, 256, M(1) | M(2), F_READY,
      ANY, native_map_icm },
    { NRC_UNMAP_ICM, "UNMAP_ICM", 0, 0, NULL, 0, M(1) | M(2), F_READY, ANY,
      native_unmap_icm },
    { NRC_SW2HW_MPT, "SW2HW_MPT", 0x40, 0, NULL, 0, 0, F_READY, ICM_MPT,
      native_sw2hw_mpt },
    { NRC_HW2SW_MPT, "HW2SW_MPT", 0, 0, NULL, 0, 0, F_READY, ICM_MPT,
      native_hw2sw_mpt },
    /* Longer lists name the rest to come: clamped to the mailbox. */
    { NRC_WRITE_MTT, "WRITE_MTT", 1, 0, write_mtt_len, UINT32_MAX, 0,
      F_READY, ANY, native_write_mtt },
    { NRC_MAP_EQ, "MAP_EQ", 0, 0, NULL, 0, 0, F_READY, ANY, native_map_eq },
    { NRC_SW2HW_EQ, "SW2HW_EQ", 0x40, 0, NULL, 0, 0, F_READY, ICM_EQC,
      native_sw2hw_eq },
    { NRC_HW2SW_EQ, "HW2SW_EQ", 0, 0, NULL, 0, 0, F_READY, ICM_EQC,
      native_hw2sw_eq },
    { NRC_SW2HW_CQ, "SW2HW_CQ", 0x40, 0, NULL, 0, 0, F_READY, ICM_CQC,
      native_sw2hw_cq },
    { NRC_HW2SW_CQ, "HW2SW_CQ", 0, 0, NULL, 0, 0, F_READY, ICM_CQC,
      native_hw2sw_cq },
    { NRC_RESIZE_CQ, "RESIZE_CQ", 8, 0, NULL, 0, 0, F_READY, ICM_CQC,
      native_resize_cq },
    QP(NRC_RST2INIT_QP, "RST2INIT_QP"),
    QP(NRC_INIT2INIT_QP, "INIT2INIT_QP"),
    QP(NRC_INIT2RTR_QP, "INIT2RTR_QP"),
    QP(NRC_RTR2RTS_QP, "RTR2RTS_QP"),
    QP(NRC_RTS2RTS_QP, "RTS2RTS_QP"),
    QP(NRC_SQE2RTS_QP, "SQE2RTS_QP"),
    QP(NRC_2ERR_QP, "2ERR_QP"),
    QP(NRC_RTS2SQD_QP, "RTS2SQD_QP"),
    QP(NRC_SQD2SQD_QP, "SQD2SQD_QP"),
    QP(NRC_SQD2RTS_QP, "SQD2RTS_QP"),
    QP(NRC_2RST_QP, "2RST_QP"),
    { NRC_QUERY_QP, "QUERY_QP", 0, NR_QP_MBOX_BYTES, NULL, 0, 0, F_READY,
      ICM_QPC, native_query_qp },
    { NRC_MAD_IFC, "MAD_IFC", 0x20, 0x20, NULL, 0, M(1), 0, ANY,
      native_mad_ifc },
    { NRC_NOP, "NOP", 0, 0, NULL, 0, 0, 0, ANY, native_nop },
#undef QP
#undef ANY
};

static const struct Cmd *find_cmd(uint16_t op)
{
    for (int i = 0; i < G_N_ELEMENTS(native_cmds); i++) {
        if (native_cmds[i].op == op) {
            return &native_cmds[i];
        }
    }
    return NULL;
}

/* Faults OR together, as the hardware does it (table 3-1-5). */
static uint8_t check_cmd(NativeRdma *n, const struct Cmd *d, NativeCmd *c,
                      uint64_t out_param, bool inbox)
{
    uint8_t status = NRS_OK;

    if (d->mods && (c->op_mod > 7 || !(d->mods & M(c->op_mod)))) {
        native_rule(n, c->op_mod, d->name, "bad op_modifier");
        status |= NRS_BAD_PARAM;
    }
    if (inbox && !c->in_param) {
        native_rule(n, 0, d->name, "no input mailbox");
        status |= NRS_BAD_PARAM;
    }
    if (d->out && !out_param) {
        native_rule(n, 0, d->name, "no output mailbox");
        status |= NRS_BAD_PARAM;
    }
    if (!n->cfg.strict_cmd) {
        return status;
    }
    if ((d->flags & F_READY) && !n->s.ready) {
        native_rule(n, 0, d->name, "before INIT_HCA");
        return status | NRS_BAD_PARAM;
    }
    if ((d->index != ICM_TABLES && c->in_mod >= nicm_count(n, d->index)) ||
        (d->in_len && c->in_mod > d->mod_max)) {
        native_rule(n, c->in_mod, d->name, "in_modifier out of range");
        status |= NRS_BAD_PARAM;
    }
    return status;
}

uint8_t native_cmd_run(NativeRdma *n, NativeCmd *c, uint64_t out_param)
{
    const struct Cmd *d = find_cmd(c->op);
    uint8_t status;
    bool inbox;

    if (!d) {
        native_rule(n, c->op, "table 3-2-1", "unknown command");
        return NRS_BAD_OP;
    }
    inbox = d->in && !((d->flags & F_INBOX_OPT) && c->op_mod);
    status = check_cmd(n, d, c, out_param, inbox);
    if (status != NRS_OK) {
        return status;
    }
    if (d->index != ICM_TABLES) {
        c->in_mod &= nicm_count(n, d->index) - 1;
    }
    if (d->in_len) {
        c->in_mod = MIN(c->in_mod, d->mod_max);
        /* in_modifier may be anything: keep the product in range. */
        c->in_len = c->in_mod > PAGE ? PAGE : MIN(d->in_len(c), PAGE);
    } else {
        c->in_len = inbox ? d->in : 0;
    }
    if (c->in_len && !native_dma_read(n, c->in_param, c->in, c->in_len)) {
        native_rule(n, 0, d->name, "input mailbox not readable");
        return NRS_BAD_PARAM;
    }
    status = d->run(n, c);
    if (status == NRS_OK && d->out &&
        !native_dma_write(n, out_param, c->out, d->out)) {
        native_rule(n, 0, d->name, "output mailbox not writable");
        return NRS_BAD_PARAM;
    }
    return status;
}
