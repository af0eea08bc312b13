/*
 * Command execution unit (seed: CEU): HCR registers, the table of commands,
 * and the commands that concern the device as a whole.
 *
 * A command is executed inside the write that starts it.  The published
 * driver does not really wait for go to clear, so nothing else is safe
 * (digest B.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

void native_rule(NativeRdma *n, const char *rule, const char *text,
                 uint32_t number)
{
    rdma_counters(n->dev)->broken_rules++;
    if (n->rdma.ops->log) {
        n->rdma.ops->log(n->rdma.ops_opaque, rule, text, number);
    }
}

/* ---- queries ---- */

static uint8_t cmd_query_dev_lim(NativeRdma *n, NativeCmd *c)
{
    bool rtl = n->cfg.devlim_rtl;
    uint8_t *o = c->out;

    o[0x00] = 1;                                /* log reserved QPs */
    put_be16(o + 0x08, NR_LOG_QUEUE);
    put_be16(o + 0x0a, NR_LOG_QUEUE);
    o[0x0c] = rtl ? 14 : NR_LOG_QPS;
    o[0x0d] = NR_LOG_CQS;
    o[0x0e] = NR_LOG_EQS;
    o[0x0f] = NR_LOG_MPTS;
    o[0x10] = NR_LOG_PDS;
    o[0x13] = 1;                                /* log P_Keys */
    o[0x15] = NR_MTT_BYTES;
    put_be16(o + 0x18, NR_QPC_BYTES);
    put_be16(o + 0x1a, rtl ? 0x80 : NR_CQC_BYTES);
    put_be16(o + 0x1c, NR_EQC_BYTES);
    put_be16(o + 0x1e, NR_MPT_BYTES);
    o[0x21] = 5 << 4 | (rtl ? 0 : 2);           /* MTU 4096, width 4x */
    o[0x23] = 0xf << 4 | 1;                     /* VLs, one port */
    o[0x25] = 12;                               /* log page */
    o[0x29] = NR_MAX_SGE;
    put_be16(o + 0x2a, NR_MAX_DESC);
    o[0x2d] = NR_MAX_SGE;
    put_be16(o + 0x2e, NR_MAX_DESC);
    put_be64(o + 0x30, rtl ? UINT64_C(0x1234567887650000) :
                             UINT64_C(1) << 40);
    return NRS_OK;
}

static uint8_t cmd_query_adapter(NativeRdma *n, NativeCmd *c)
{
    put_be64(c->out + 0x18, NR_BOARD_ID);
    return NRS_OK;
}

/* Port state as the hardware sources answer it (digest G11). */
static uint8_t cmd_mad_ifc(NativeRdma *n, NativeCmd *c)
{
    const RdmaPort *p = rdma_port(n->dev);

    put_be16(c->out, p->lid ? p->lid : 1);
    c->out[2] = p->link_up ? 2 : 1;
    c->out[3] = p->link_up ? 3 : 2;
    return NRS_OK;
}

static uint8_t cmd_nop(NativeRdma *n, NativeCmd *c)
{
    return n->cfg.nop_bad_op ? NRS_BAD_OP : NRS_OK;
}

/* ---- start and stop ---- */

static void drop_objects(NativeRdma *n)
{
    rdma_reset(n->dev);
    memset(n->s.eq, 0, sizeof(n->s.eq));
    n->s.db_latched = false;
    g_array_set_size(n->db, 1);
    n->db_free = 0;
}

static uint8_t cmd_init_hca(NativeRdma *n, NativeCmd *c)
{
    /* Offset of each base; its low byte is the log of the table size. */
    static const struct {
        IcmTable table;
        uint8_t off, log_max;
    } t[] = {
        { ICM_QPC, 0x08, NR_LOG_QPS }, { ICM_CQC, 0x10, NR_LOG_CQS },
        { ICM_EQC, 0x18, NR_LOG_EQS }, { ICM_MPT, 0x30, NR_LOG_MPTS },
    };

    if (n->s.ready && n->cfg.strict_cmd) {
        native_rule(n, "INIT_HCA", "already initialised", 0);
        return NRS_BAD_PARAM;
    }
    for (int i = 0; i < G_N_ELEMENTS(t); i++) {
        if (c->in[t[i].off + 7] > t[i].log_max && n->cfg.strict_cmd) {
            native_rule(n, "INIT_HCA", "table too large",
                        c->in[t[i].off + 7]);
            return NRS_BAD_PARAM;
        }
    }
    drop_objects(n);
    nicm_clear(n);
    for (int i = 0; i < G_N_ELEMENTS(t); i++) {
        uint64_t v = get_be64(c->in + t[i].off);

        n->s.base[t[i].table] = v & ~UINT64_C(0xff);
        n->s.log[t[i].table] = MIN(v & 0xff, t[i].log_max);
    }
    n->s.base[ICM_MTT] = get_be64(c->in + 0x38);
    n->s.log[ICM_MTT] = NR_LOG_MTTS;
    n->s.ready = true;
    return NRS_OK;
}

static uint8_t cmd_close_hca(NativeRdma *n, NativeCmd *c)
{
    drop_objects(n);
    nicm_clear(n);
    n->s.ready = false;
    return NRS_OK;
}

/* ---- ICM ---- */

static uint32_t map_icm_len(const NativeCmd *c)
{
    return (c->in_mod + 1) / 2 * 32;
}

static uint8_t cmd_map_icm(NativeRdma *n, NativeCmd *c)
{
    for (uint32_t i = 0; i < c->in_mod; i++) {
        /* Entries are swapped inside each 32 bytes (table 3-2-13). */
        const uint8_t *e = c->in + i / 2 * 32 + (i & 1 ? 0x00 : 0x10);
        uint64_t virt = get_be64(e), page = get_be64(e + 8);

        for (uint32_t k = 0; k < (page & 0xfff); k++) {
            if (!nicm_map_page(n, c->op_mod, virt + k * UINT64_C(4096),
                              (page & ~UINT64_C(0xfff)) +
                              k * UINT64_C(4096))) {
                native_rule(n, "MAP_ICM", "address outside all tables", i);
                return NRS_BAD_PARAM;
            }
        }
    }
    return NRS_OK;
}

static uint8_t cmd_unmap_icm(NativeRdma *n, NativeCmd *c)
{
    uint32_t pages = MIN(c->in_mod, ICM_PAGES_MAX);

    for (uint32_t k = 0; k < pages; k++) {
        if (!nicm_unmap_page(n, c->op_mod, c->in_param +
                                          k * UINT64_C(4096))) {
            native_rule(n, "UNMAP_ICM", "address outside all tables", k);
            return NRS_BAD_PARAM;
        }
    }
    return NRS_OK;
}

/* ---- the table ---- */

enum {
    F_READY = 1 << 0,           /* only after INIT_HCA */
    F_INBOX_OPT = 1 << 1,       /* op_mod 2, 3: no inbox */
};

#define MODS(...)  ((uint8_t)(__VA_ARGS__))
#define M(n)       (1 << (n))

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
} cmds[] = {
#define ANY  ICM_TABLES
#define QP(o, name) \
    { o, name, NR_QP_MBOX_BYTES, 0, NULL, 0, M(0) | M(2) | M(3), \
      F_READY | F_INBOX_OPT, ICM_QPC, native_modify_qp }
    { NRC_QUERY_DEV_LIM, "QUERY_DEV_LIM", 0, NR_DEV_LIM_BYTES, NULL, 0, 0, 0,
      ANY, cmd_query_dev_lim },
    { NRC_QUERY_ADAPTER, "QUERY_ADAPTER", 0, NR_ADAPTER_BYTES, NULL, 0, 0, 0,
      ANY, cmd_query_adapter },
    { NRC_INIT_HCA, "INIT_HCA", 0x40, 0, NULL, 0, 0, 0, ANY, cmd_init_hca },
    { NRC_CLOSE_HCA, "CLOSE_HCA", 0, 0, NULL, 0, 0, 0, ANY, cmd_close_hca },
    { NRC_MAP_ICM, "MAP_ICM", 1, 0, map_icm_len, 256, M(1) | M(2), F_READY,
      ANY, cmd_map_icm },
    { NRC_UNMAP_ICM, "UNMAP_ICM", 0, 0, NULL, 0, M(1) | M(2), F_READY, ANY,
      cmd_unmap_icm },
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
      cmd_mad_ifc },
    { NRC_NOP, "NOP", 0, 0, NULL, 0, 0, 0, ANY, cmd_nop },
#undef QP
#undef ANY
};

static const struct Cmd *find(uint16_t op)
{
    for (int i = 0; i < G_N_ELEMENTS(cmds); i++) {
        if (cmds[i].op == op) {
            return &cmds[i];
        }
    }
    return NULL;
}

/* Faults OR together, as the hardware does it (table 3-1-5). */
static uint8_t decode(NativeRdma *n, const struct Cmd *d, NativeCmd *c,
                      uint64_t out_param, bool inbox)
{
    uint8_t status = NRS_OK;

    if (d->mods && (c->op_mod > 7 || !(d->mods & M(c->op_mod)))) {
        native_rule(n, d->name, "bad op_modifier", c->op_mod);
        status |= NRS_BAD_PARAM;
    }
    if (inbox && !c->in_param) {
        native_rule(n, d->name, "no input mailbox", 0);
        status |= NRS_BAD_PARAM;
    }
    if (d->out && !out_param) {
        native_rule(n, d->name, "no output mailbox", 0);
        status |= NRS_BAD_PARAM;
    }
    if (!n->cfg.strict_cmd) {
        return status;
    }
    if ((d->flags & F_READY) && !n->s.ready) {
        native_rule(n, d->name, "before INIT_HCA", 0);
        return status | NRS_BAD_PARAM;
    }
    if ((d->index != ICM_TABLES && c->in_mod >= nicm_count(n, d->index)) ||
        (d->in_len && c->in_mod > d->mod_max)) {
        native_rule(n, d->name, "in_modifier out of range", c->in_mod);
        status |= NRS_BAD_PARAM;
    }
    return status;
}

static uint8_t execute(NativeRdma *n, NativeCmd *c, uint64_t out_param)
{
    const struct Cmd *d = find(c->op);
    const RdmaOps *ops = n->rdma.ops;
    uint8_t status;
    bool inbox;

    if (!d) {
        native_rule(n, "table 3-2-1", "unknown command", c->op);
        return NRS_BAD_OP;
    }
    inbox = d->in && !((d->flags & F_INBOX_OPT) && c->op_mod);
    status = decode(n, d, c, out_param, inbox);
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
    if (c->in_len && !ops->read(n->rdma.ops_opaque, c->in_param, c->in,
                                c->in_len)) {
        native_rule(n, d->name, "input mailbox not readable", 0);
        return NRS_BAD_PARAM;
    }
    status = d->run(n, c);
    if (status == NRS_OK && d->out &&
        !ops->write(n->rdma.ops_opaque, out_param, c->out, d->out)) {
        native_rule(n, d->name, "output mailbox not writable", 0);
        return NRS_BAD_PARAM;
    }
    return status;
}

/* ---- registers ---- */

uint32_t native_hcr_read(NativeRdma *n, uint32_t off)
{
    return off <= NRH_CMD && !(off & 3) ? n->s.hcr[off / 4] : 0;
}

void native_hcr_write(NativeRdma *n, uint32_t off, uint32_t val)
{
    uint32_t *r = n->s.hcr;
    NativeCmd c = { 0 };
    uint8_t status;

    if (off > NRH_CMD || (off & 3)) {
        return;
    }
    if (off != NRH_CMD) {
        r[off / 4] = val;
        return;
    }
    val &= NRH_GO | NRH_EVENT | NRH_OPMOD_MASK << NRH_OPMOD_SHIFT |
           NRH_OP_MASK;
    if (!(val & NRH_GO)) {
        r[NRH_CMD / 4] = (r[NRH_CMD / 4] & 0xff000000) | val;
        return;
    }
    c.op = val & NRH_OP_MASK;
    c.op_mod = val >> NRH_OPMOD_SHIFT & NRH_OPMOD_MASK;
    c.in_param = (uint64_t)r[NRH_IN_PARAM_H / 4] << 32 |
                 r[NRH_IN_PARAM_L / 4];
    c.in_mod = r[NRH_IN_MODIFIER / 4];
    status = execute(n, &c, (uint64_t)r[NRH_OUT_PARAM_H / 4] << 32 |
                            r[NRH_OUT_PARAM_L / 4]);
    r[NRH_OUT_PARAM_H / 4] = r[NRH_OUT_PARAM_L / 4] = 0;
    r[NRH_CMD / 4] = (uint32_t)status << 24 | (val & ~NRH_GO);
}

void native_uar_write(NativeRdma *n, uint64_t off, uint64_t val,
                      unsigned size)
{
    NativeState *s = &n->s;
    uint32_t page = off / PAGE;

    switch (off % PAGE) {
    case NRU_SQ_DB:
        if (size == 8) {
            native_doorbell(n, page, val);
        } else {
            s->db_low = val;
            s->db_latched = true;
        }
        break;
    case NRU_SQ_DB + 4:
        if (s->db_latched) {
            s->db_latched = false;
            native_doorbell(n, page, val << 32 | s->db_low);
        }
        break;
    case NRU_ARM_CQ:
        native_arm_cq(n, val);
        break;
    case NRU_ARM_EQ:
        native_arm_eq(n, val);
        break;
    default:
        native_rule(n, "table 3-1-6", "no doorbell here", off % PAGE);
        break;
    }
}

/* ---- life ---- */

static const RdmaPersOps pers = {
    .name = "native",
    .qp_priv = sizeof(NativeQp),
    .cq_priv = sizeof(NativeCq),
    .fetch_send = native_fetch_send,
    .fetch_recv = native_fetch_recv,
    .write_cqe = native_write_cqe,
    .event = native_event,
    .key_index = native_key_index,
    .mtt_read = native_mtt_read,
    .qp_changed = native_qp_changed,
};

void native_config_init(NativeConfig *cfg)
{
    *cfg = (NativeConfig) {
        .strict_cmd = true, .strict_qp = true, .eqe = true, .lerr = 0x11,
        .err_cqe = NATIVE_ERR_CQE_DRV,
    };
}

void native_rdma_config(RdmaConfig *cfg)
{
    rdma_config_init(cfg);
    cfg->log_qps = NR_LOG_QPS;
    cfg->log_cqs = NR_LOG_CQS;
    cfg->log_srqs = 0;
    cfg->log_mrs = NR_LOG_MPTS;
    cfg->qpn_wrap = true;
    cfg->pkey_check = false;
    cfg->qkey_zero_any = true;
    cfg->accept_any_ip = true;
    cfg->ud_grh = RDMA_GRH_NONE;
    /* The receive queue has no doorbell: flush what is posted in ERR. */
    cfg->err_repoll_us = 1000;
}

NativeRdma *native_new(const RdmaConfig *rdma, const NativeConfig *cfg,
                       const NativeOps *ops)
{
    NativeRdma *n = g_new0(NativeRdma, 1);

    n->rdma = *rdma;
    n->rdma.pers = &pers;
    n->rdma.pers_opaque = n;
    n->cfg = *cfg;
    n->ops = ops;
    n->db = g_array_sized_new(false, true, sizeof(Doorbell), 64);
    g_array_set_size(n->db, 1);
    n->dev = rdma_new(&n->rdma);
    return n;
}

void native_free(NativeRdma *n)
{
    if (n) {
        rdma_free(n->dev);
        g_array_free(n->db, true);
        g_free(n);
    }
}

void native_reset(NativeRdma *n)
{
    drop_objects(n);
    memset(&n->s, 0, sizeof(n->s));
}

RdmaDev *native_dev(NativeRdma *n)
{
    return n->dev;
}

NativeConfig *native_config(NativeRdma *n)
{
    return &n->cfg;
}

/* ---- migration ---- */

uint8_t *native_save(NativeRdma *n, int64_t now, size_t *len)
{
    GByteArray *out = g_byte_array_new();
    size_t rdma_len;
    uint8_t *rdma = rdma_save(n->dev, now, &rdma_len);
    uint32_t h[3] = { sizeof(n->s), n->db->len, n->db_free };

    g_byte_array_append(out, (uint8_t *)h, sizeof(h));
    g_byte_array_append(out, (uint8_t *)&n->s, sizeof(n->s));
    g_byte_array_append(out, (uint8_t *)n->db->data,
                        n->db->len * sizeof(Doorbell));
    g_byte_array_append(out, rdma, rdma_len);
    g_free(rdma);
    *len = out->len;
    return g_byte_array_free(out, false);
}

static bool doorbells_sane(NativeRdma *n)
{
    for (guint i = 0; i < n->db->len; i++) {
        /* Lists run from older to newer entries or through freed ones. */
        if (g_array_index(n->db, Doorbell, i).next >= n->db->len) {
            return false;
        }
    }
    return n->db_free < n->db->len;
}

static bool state_sane(NativeState *s)
{
    static const uint8_t max[ICM_TABLES] = {
        NR_LOG_QPS, NR_LOG_CQS, NR_LOG_EQS, NR_LOG_MPTS, NR_LOG_MTTS,
    };

    for (int t = 0; t < ICM_TABLES; t++) {
        if (s->log[t] > max[t]) {
            return false;
        }
    }
    rdma_load_flag(&s->ready);
    rdma_load_flag(&s->db_latched);
    for (int i = 0; i < G_N_ELEMENTS(s->eq); i++) {
        if (s->eq[i].log > LOG_EQ_MAX) {
            return false;
        }
        rdma_load_flag(&s->eq[i].exists);
        rdma_load_flag(&s->eq[i].valid);
        rdma_load_flag(&s->eq[i].armed);
    }
    return true;
}

typedef struct QpCheck {
    NativeRdma *n;
    bool bad;
} QpCheck;

static void qp_sane(void *opaque, RdmaQp *qp)
{
    QpCheck *check = opaque;
    NativeRdma *n = check->n;
    NativeQp *q = rdma_qp_priv(qp);

    /* Commands and doorbells have no other numbers. */
    check->bad |= rdma_qp_num(qp) >> NR_LOG_QPS;
    if (q->db_head >= n->db->len || q->db_tail >= n->db->len) {
        q->db_head = q->db_tail = 0;
    }
    q->rq_slot = CLAMP(q->rq_slot, 16, 4096);
    rdma_load_flag(&q->chain);
    rdma_load_flag(&q->chain_fence);
}

static void cqs_sane(NativeRdma *n)
{
    for (uint32_t i = 0; i < nicm_count(n, ICM_CQC); i++) {
        RdmaCq *cq = rdma_cq_get(n->dev, i);

        if (cq) {
            NativeCq *q = rdma_cq_priv(cq);

            q->log = MIN(q->log, LOG_EQ_MAX);
            rdma_load_flag(&q->armed);
            rdma_load_flag(&q->failed);
        }
    }
}

bool native_load(NativeRdma *n, int64_t now, const uint8_t *data,
                 size_t len)
{
    uint32_t h[3];
    size_t need = sizeof(h) + sizeof(n->s);
    QpCheck check = { .n = n };

    native_reset(n);
    if (len < need) {
        return false;
    }
    memcpy(h, data, sizeof(h));
    if (h[0] != sizeof(n->s) || !h[1] || h[1] > DOORBELLS + 1 ||
        (len - need) / sizeof(Doorbell) < h[1]) {
        return false;
    }
    memcpy(&n->s, data + sizeof(h), sizeof(n->s));
    g_array_set_size(n->db, h[1]);
    memcpy(n->db->data, data + need, h[1] * sizeof(Doorbell));
    n->db_free = h[2];
    need += h[1] * sizeof(Doorbell);
    if (!state_sane(&n->s) || !doorbells_sane(n) ||
        !rdma_load(n->dev, now, data + need, len - need)) {
        native_reset(n);
        return false;
    }
    rdma_qp_foreach(n->dev, qp_sane, &check);
    cqs_sane(n);
    if (check.bad) {
        native_reset(n);
    }
    return !check.bad;
}
