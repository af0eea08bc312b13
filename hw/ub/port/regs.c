/*
 * The port slices of the configuration space (UB 2.0 §D.5, §D.6): registers of
 * the link and its layers.
 *
 * Where a register is a member of a layer's configuration, a row of a table
 * says so, and the table serves power-on values, writes and read-back alike.
 * Nothing of a protocol is decided in here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "core/bytes.h"
#include "internal.h"

/* ---- Data link layer ------------------------------------------------------- */

#define DLL(member, reg, field) \
    UB_FIELD(UbDllConfig, member, UB_LINK_DL_##reg, field)
#define DLL_ARRAY(member, reg, bits) \
    UB_FIELD_ARRAY(UbDllConfig, member, UB_LINK_DL_##reg, bits)

/* Data Link Capability 1. */
static const UbField dll_capability[] = {
    DLL(wish.rxbuf_vl_share, CAP_1_DW0, RXBUF_VL_SHARE_PRO),
    DLL(wish.feature_id, CAP_1_DW0, FEATURE_ID),
    DLL(wish.ctrl_ack_grain, CAP_1_DW1, CTRL_ACK_GRAIN_SIZE_PRO),
    DLL(wish.data_ack_grain, CAP_1_DW1, DATA_ACK_GRAIN_SIZE_PRO),
    DLL_ARRAY(wish.ctrl_credit_grain, CAP_1_DW2, 8),
    DLL_ARRAY(wish.data_credit_grain, CAP_1_DW6, 8),
    DLL(wish.packet_min_interval, CAP_1_DW10, PACKET_MIN_INTERVAL),
    DLL(wish.flow_ctrl_size, CAP_1_DW10, FLOW_CTRL_SIZE_PRO),
    DLL(wish.vl_enable, CAP_1_DW10, VL_ENABLE_PRO),
    DLL(wish.retry_buf_depth, CAP_1_DW11, RETRY_BUF_DEPTH),
};

/* Data Link Configuration, Remote Init Credit Cfg, Performance Optimization
 * Cfg, MarkErr Cfg. */
static const UbField dll_config[] = {
    DLL(wish.rxbuf_vl_share, CFG_DW0, RXBUF_VL_SHARE_CFG),
    DLL(wish.ctrl_ack_grain, CFG_DW0, CTRL_ACK_GRAIN_SIZE_CFG),
    DLL(wish.data_ack_grain, CFG_DW0, DATA_ACK_GRAIN_SIZE_CFG),
    DLL_ARRAY(wish.ctrl_credit_grain, CFG_DW1, 8),
    DLL_ARRAY(wish.data_credit_grain, CFG_DW5, 8),
    DLL(wish.packet_min_interval, CFG_DW9, PACKET_MIN_INTERVAL),
    DLL(wish.flow_ctrl_size, CFG_DW9, FLOW_CTRL_SIZE_CFG),
    DLL(wish.vl_enable, CFG_DW9, VL_ENABLE_CFG),
    DLL(wish.retry_buf_depth, CFG_DW10, RETRY_BUF_DEPTH),
    DLL(wish.feature_id, CFG_DW11, FEATURE_ID_CFG),
    DLL_ARRAY(init_credit, CREDIT, 16),
    DLL(ack_force, PERF_DW0, CFG_ACK_LLCRD),
    DLL(ack_return, PERF_DW0, CFG_ACK_RETURN),
    DLL_ARRAY(crd_force, PERF_DW1, 16),
    DLL_ARRAY(crd_return, PERF_DW9, 16),
    DLL(mark_err, MARKERR_CFG, CFG_MARKERR_EN),
};

static void init_dll(UbPort *p)
{
    const UbDllConfig *dll = &p->conf.dll;
    UbSlice *s = p->regs.link;

    ub_slice_init_fields(s, dll_capability, G_N_ELEMENTS(dll_capability), dll);
    /* Remote credits and Retry Buffer reset to 0 in the document: here a link
     * works at power-on. */
    ub_slice_init_fields(s, dll_config, G_N_ELEMENTS(dll_config), dll);
    ub_slice_init(s, UB_LINK_DL_RETRY_CFG, ~0u, dll->wait_timeout / 1000);
}

const char *port_regs_dll(UbPort *p, UbDllConfig *dll)
{
    const UbPortConfig *conf = &p->conf;
    UbSlice *s = p->regs.link;

    *dll = conf->dll;
    if (!ub_slice_get_fields(s, dll_config, G_N_ELEMENTS(dll_config), dll)) {
        return "a value of Data Link Configuration is larger than the port has";
    }
    dll->wait_timeout = (int64_t)ub_slice_get(s, UB_LINK_DL_RETRY_CFG) * 1000 *
                        conf->dll_time_scale;
    dll->block_timeout = conf->dll.block_timeout * conf->dll_time_scale;
    dll->port_idx = p->index;
    memcpy(dll->guid, conf->guid, sizeof(dll->guid));
    port_schedule(p, dll);
    return ub_dll_config_check_values(dll);
}

/* ---- Physical layer ---------------------------------------------------------- */

#define PHY(member, reg, field) \
    UB_FIELD(UbLmsmConfig, member, UB_LINK_PHY_##reg, field)
#define PHY_ARRAY(member, reg, bits) \
    UB_FIELD_ARRAY(UbLmsmConfig, member, UB_LINK_PHY_##reg, bits)

/* PHY Link Capability 1 to 3 (Tables D-101 to D-103). */
static const UbField phy_capability[] = {
    PHY(max_width, CAP_1, MAXIMUM_LINK_WIDTH),
    PHY(rates, CAP_2, SUPPORTED_LINK_SPEEDS_VECTOR),
    PHY(asymmetric, CAP_3, ASYMMETRY_LINK_SUPPORT),
    PHY(interleave_support, CAP_3, FEC_INTERLEAVE_MODE),
};

/* PHY Link Control 1 to 11 (Tables D-117 to D-127). */
static const UbField phy_control[] = {
    PHY(target_rate, CTL_1, TARGET_LINK_SPEED),
    PHY(target_tx, CTL_1, TARGET_TX_LINK_WIDTH),
    PHY(target_rx, CTL_1, TARGET_RX_LINK_WIDTH),
    PHY(eq_mode, CTL_2, EQ_MODE_CTL),
    PHY(optical, CTL_2, OVER_FIBRE_MODE_ENABLE),
    PHY(fixed_rate, CTL_2, FIX_DATA_RATE_MODE_ENABLE),
    PHY(bypass_probe, CTL_2, BYPASS_PROBE_ENABLE),
    PHY(port_nego, CTL_2, PORT_TYPE_NEGO_ENABLE),
    PHY(precode, CTL_5, PRECODE_ENABLE_VECTOR),
    PHY_ARRAY(fec_mode, CTL_6, 4),
    PHY_ARRAY(crc_mode, CTL_8, 4),
    PHY(interleave, CTL_10, FEC_INTERLEAVE_ENABLE_VECTOR),
    PHY(skip_coarse, CTL_11, SKIP_EQ_COARSETUNE_ENABLE),
};

/* DATA_RATE Control 1 and 2, into a row of presets by lane. */
#define PRESETS(shift) { UB_RATE_CTL_1, shift, 4, 8, UB_LANES, 0, 1 }
static const UbField local_preset = PRESETS(0), remote_preset = PRESETS(4);

static const UbField lmsm_control[] = {
    UB_FIELD(UbLmsmConfig, timeout_enable, UB_LMSM_ST_CTL_1,
             LSSM_STATE_TIMEOUT_ENABLE),
};

static const UbField qdlws_capability[] = {
    UB_FIELD(UbLmsmConfig, asymmetric, UB_QDLWS_CAP,
             ASYMMETRY_LINK_WIDTH_CHANGE_SUPPORT),
};

static const UbField qdlws_control[] = {
    UB_FIELD(UbLmsmConfig, qdlws, UB_QDLWS_CTL, GLOBAL_ENABLE_FOR_QDLWS),
    UB_FIELD(UbLmsmConfig, qdlws_tx, UB_QDLWS_CTL, TX_QDLWS_ENABLE),
    UB_FIELD(UbLmsmConfig, qdlws_rx, UB_QDLWS_CTL, RX_QDLWS_ENABLE),
};

#define INIT(slice, table, from) \
    ub_slice_init_fields(slice, table, G_N_ELEMENTS(table), from)
#define GET(slice, table, to) \
    ub_slice_get_fields(slice, table, G_N_ELEMENTS(table), to)

/* A value in the place of a field. */
#define AT(reg_field, v) UB_SPACE_PUT(UB_LINK_PHY_##reg_field, v)

static unsigned highest(unsigned mask)
{
    return mask ? 31 - __builtin_clz(mask) : 0;
}

static void init_phy(UbPort *p)
{
    const UbLmsmConfig *l = &p->conf.phy.lmsm;
    bool mode1 = l->phy_mode == UB_PHY_MODE_1;
    UbSlice *s = p->regs.link;

    INIT(s, phy_capability, l);
    /* All FEC modes but those without a name, EQ modes 0 to 2. */
    ub_slice_init(s, UB_LINK_PHY_CAP_1,
                  ~UB_LINK_PHY_CAP_1__MAXIMUM_LINK_WIDTH,
                  AT(CAP_1__MAX_LINK_SPEED, highest(l->rates)) |
                  AT(CAP_1__PHY_MODE_SUPPORT, mode1 ? 1 : 2) |
                  AT(CAP_1__FEC_MODE_SUPPORT, 3) |
                  AT(CAP_1__EQ_MODE_SUPPORT, 7));
    INIT(s, phy_control, l);
    ub_slice_init(s, UB_LINK_PHY_CTL_1, UB_LINK_PHY_CTL_1__PHY_MODE_CTL,
                  AT(CTL_1__PHY_MODE_CTL, mode1 ? 0 : 1));
    INIT(p->regs.lmsm_st, lmsm_control, l);
    INIT(p->regs.qdlws, qdlws_capability, l);
    INIT(p->regs.qdlws, qdlws_control, l);
    for (unsigned r = 1; r < UB_DATA_RATES; r++) {
        if (p->regs.rate[r]) {
            ub_slice_init_fields(p->regs.rate[r], &local_preset, 1,
                                 l->local_preset[r]);
            ub_slice_init_fields(p->regs.rate[r], &remote_preset, 1,
                                 l->remote_preset[r]);
        }
    }
}

bool port_regs_disabled(const UbPort *p)
{
    return ub_slice_get(p->regs.link, UB_LINK_PHY_CTL_2) &
           UB_LINK_PHY_CTL_2__LINK_DISABLE;
}

void port_regs_apply(UbPort *p)
{
    uint32_t c1 = ub_slice_get(p->regs.link, UB_LINK_PHY_CTL_1);
    UbLmsmConfig next = *ub_phy_config(p->phy);
    const char *why;

    GET(p->regs.link, phy_control, &next);
    next.phy_mode = UB_SPACE_GET(UB_LINK_PHY_CTL_1__PHY_MODE_CTL, c1) == 0
                        ? UB_PHY_MODE_1 : UB_PHY_MODE_2;
    GET(p->regs.lmsm_st, lmsm_control, &next);
    GET(p->regs.qdlws, qdlws_control, &next);
    for (unsigned r = 1; r < UB_DATA_RATES; r++) {
        if (p->regs.rate[r]) {
            ub_slice_get_fields(p->regs.rate[r], &local_preset, 1,
                                next.local_preset[r]);
            ub_slice_get_fields(p->regs.rate[r], &remote_preset, 1,
                                next.remote_preset[r]);
        }
    }
    why = ub_phy_configure(p->phy, &next);
    if (why) {
        /* Named, and without effect: the machine keeps what it had. */
        p->ops.rule(p->opaque, UB_BROKEN_BY_SOFTWARE,
                            why);
    }
}

/* ---- LINK: writes ------------------------------------------------------------ */

void port_regs_configure(UbPort *p, bool use)
{
    UbDllConfig dll;
    const char *broken = port_regs_dll(p, &dll);

    if (!broken && !ub_dll_configure(p->dll, &dll) && use) {
        broken = ub_dll_config_check(&dll);
    }
    if (broken) {
        p->ops.rule(p->opaque, UB_BROKEN_BY_SOFTWARE, broken);
    }
}

static void written_link(void *opaque, UbSlice *slice, const UbSliceWrite *w)
{
    UbPort *p = opaque;

    p->now = w->now;
    if (w->dw >= UB_LINK_DL_CFG_DW0 && w->dw < UB_LINK_PHY_CTL_1) {
        port_regs_configure(p, false);
        return;
    }
    port_regs_apply(p);
    if (w->dw == UB_LINK_PHY_CTL_2) {
        if (w->changed & UB_LINK_PHY_CTL_2__LINK_DISABLE) {
            ub_phy_request(p->phy, w->now,
                           w->value & UB_LINK_PHY_CTL_2__LINK_DISABLE
                               ? UB_PHY_REQ_DISABLE : UB_PHY_REQ_ENABLE);
        }
        if (w->trigger & UB_LINK_PHY_CTL_2__PERFORM_EQ) {
            ub_phy_request(p->phy, w->now, UB_PHY_REQ_EQUALIZE);
        }
    } else if (w->dw == UB_LINK_PHY_CTL_1) {
        if (w->trigger & UB_LINK_PHY_CTL_1__CHANGE_WIDTH &&
            !ub_phy_request(p->phy, w->now, UB_PHY_REQ_QDLWS)) {
            p->ops.rule(p->opaque, UB_BROKEN_BY_SOFTWARE,
                            "width change without Retrain not possible now");
        }
        if (w->trigger & UB_LINK_PHY_CTL_1__RETRAIN_LINK) {
            port_link_retrain(p);
        }
    }
    port_kick(p);
}

/* ---- LINK: reads -------------------------------------------------------------- */

static unsigned fec_code(const UbPhyStatus *st)
{
    return st->fec <= UB_FEC_T4 ? st->fec : UB_FEC_OFF;
}

static void refresh_link(void *opaque, UbSlice *s, unsigned dw)
{
    UbPort *p = opaque;
    uint32_t words[12];
    UbPhyStatus st;

    if (dw >= UB_LINK_DL_STATUS_DW0 && dw <= UB_LINK_DL_STATUS_DW11) {
        ub_dll_status_words(p->dll, words);
        ub_slice_set(s, dw, ~0u, words[dw - UB_LINK_DL_STATUS_DW0]);
        return;
    }
    ub_phy_status(p->phy, &st);
    switch (dw) {
    case UB_LINK_DL_STATE_MACHINE_STATUS:
        ub_slice_set(s, dw, ~0u, ub_dll_sm_status(p->dll));
        break;
    case UB_LINK_PORT_LINK_STATUS_0:
        ub_slice_set(s, dw, ~0u, (ub_port_link_up(p) ? 1 : 0) |
                                 (p->dll_up ? 2 : 0));
        break;
    case UB_LINK_PHY_STATUS_1:
        ub_slice_set(s, dw, ~0u,
                     AT(STATUS_1__CUR_LINK_SPEED, st.rate) |
                     AT(STATUS_1__CUR_TX_LINK_WIDTH, st.tx_width) |
                     AT(STATUS_1__CUR_RX_LINK_WIDTH, st.rx_width) |
                     AT(STATUS_1__CUR_LMSM_STATE, st.code) |
                     AT(STATUS_1__CUR_PORT_TYPE, st.primary));
        break;
    case UB_LINK_PHY_ERROR_STATUS:
        ub_slice_set(s, dw, ~0u, st.pcs_errors);
        break;
    case UB_LINK_PHY_STATUS_2:
        ub_slice_set(s, dw, ~0u,
                     AT(STATUS_2__CUR_PRECODE_STATE,
                        st.precode >> st.rate & 1 ? 3 : 0) |
                     AT(STATUS_2__CUR_FEC_MODE, fec_code(&st)) |
                     AT(STATUS_2__CUR_EQ_MODE, st.eq_mode) |
                     AT(STATUS_2__CUR_BCRC_MODE, st.crc == UB_LTB_CRC30) |
                     AT(STATUS_2__CUR_FEC_INTERLEAVE_STATE, st.interleave));
        break;
    }
}

/* PHY Link Status 3: the document leaves its form open (docs/specs/ubc.rst). */
void port_regs_left_active(UbPort *p)
{
    UbPhyStatus st;

    ub_phy_status(p->phy, &st);
    ub_slice_set(p->regs.link, UB_LINK_PHY_STATUS_3, ~0u,
                 1u << 31 | st.code | (uint32_t)st.rate << 8 |
                 (uint32_t)st.tx_width << 16 | (uint32_t)st.rx_width << 24);
}

/* ---- LINK_LOG ---------------------------------------------------------------- */

/* A log's enable bit, its counter register and what it counts. */
static const struct {
    uint8_t enable_dw, bit, count_dw, kind;
} port_logs[PORT_LOGS] = {
    { UB_LINK_LOG_FLIT_ERROR_COUNT_CTL, 0,
      UB_LINK_LOG_FLIT_ERROR_COUNT_STATUS, 0 },
    { UB_LINK_LOG_LTB_ERROR_COUNT_CTL, 1, UB_LINK_LOG_LTB_ERROR_LOG_1,
      UB_PHY_DLTB },
    { UB_LINK_LOG_LTB_ERROR_COUNT_CTL, 2, UB_LINK_LOG_LTB_ERROR_LOG_2,
      UB_PHY_CLTB },
    { UB_LINK_LOG_LTB_ERROR_COUNT_CTL, 3, UB_LINK_LOG_LTB_ERROR_LOG_3,
      UB_PHY_ELTB },
    { UB_LINK_LOG_LTB_ERROR_COUNT_CTL, 4, UB_LINK_LOG_LTB_ERROR_LOG_4,
      UB_PHY_RLTB },
};

/* What a log would have counted since the port was made. */
static uint64_t log_total(UbPort *p, unsigned log)
{
    UbPhyStats st;

    if (log == 0) {
        return ub_dll_stats(p->dll)->crc_errors;
    }
    ub_phy_stats(p->phy, &st);
    return st.ltb_errors[port_logs[log].kind];
}

/* Bring a log's register up to date.  It counts while enabled. */
static void log_update(UbPort *p, unsigned log)
{
    UbSlice *s = p->regs.log;
    bool on = ub_slice_get(s, port_logs[log].enable_dw) >>
              port_logs[log].bit & 1;
    unsigned dw = port_logs[log].count_dw;
    uint64_t total = log_total(p, log);
    uint64_t more = on ? total - p->regs.logged[log] : 0;

    p->regs.logged[log] = total;
    if (more) {
        uint64_t sum = ub_slice_get(s, dw) + more;

        ub_slice_set(s, dw, ~0u, MIN(sum, UINT32_MAX));
        if (log == 0) {
            ub_slice_set(s, UB_LINK_LOG_FLIT_ERROR_LOG_1, 1, 1);
        }
    }
}

static void refresh_log(void *opaque, UbSlice *s, unsigned dw)
{
    for (unsigned i = 0; i < PORT_LOGS; i++) {
        log_update(opaque, i);
    }
}

static void written_log(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    UbPort *p = opaque;

    for (unsigned i = 0; i < PORT_LOGS; i++) {
        if (w->dw != port_logs[i].enable_dw ||
            !(w->changed >> port_logs[i].bit & 1)) {
            continue;
        }
        if (w->value >> port_logs[i].bit & 1) {
            p->regs.logged[i] = log_total(p, i);
        } else {
            /* Up to here it counted. */
            ub_slice_set(s, w->dw, 1u << port_logs[i].bit, ~0u);
            log_update(p, i);
            ub_slice_set(s, w->dw, 1u << port_logs[i].bit, 0);
        }
    }
}

/* ---- DATA_RATE --------------------------------------------------------------- */

/* The Data Rate whose slice this is. */
static unsigned rate_of(const UbPort *p, const UbSlice *s)
{
    unsigned r = 1;

    while (p->regs.rate[r] != s) {
        r++;
    }
    return r;
}

static void refresh_rate(void *opaque, UbSlice *s, unsigned dw)
{
    UbPort *p = opaque;
    unsigned r = rate_of(p, s);
    UbPhyStatus st;
    uint32_t v = 0;

    ub_phy_status(p->phy, &st);
    if (dw == UB_RATE_STATE_1) {
        v = st.eq_state[r];
        if (r == st.rate) {
            v |= UB_SPACE_PUT(UB_RATE_STATE_1__CUR_PRECODE_STATE,
                              st.precode >> r & 1 ? 3 : 0) |
                 UB_SPACE_PUT(UB_RATE_STATE_1__CUR_FEC_MODE, fec_code(&st)) |
                 UB_SPACE_PUT(UB_RATE_STATE_1__CUR_BCRC_MODE,
                              st.crc == UB_LTB_CRC30) |
                 UB_SPACE_PUT(UB_RATE_STATE_1__CUR_FEC_INTERLEAVE_STATE,
                              st.interleave);
        }
        ub_slice_set(s, dw, ~0u, v);
    } else if (dw == UB_RATE_STATE_2) {
        for (unsigned i = 0; i < UB_LANES; i++) {
            v |= (uint32_t)ub_phy_tx_preset(p->phy, r, i) << 4 * i;
        }
        ub_slice_set(s, dw, ~0u, v);
    }
}

static void written_rate(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    UbPort *p = opaque;

    p->now = w->now;
    if (w->dw == UB_RATE_STATE_1) {
        if (w->changed & UB_RATE_STATE_1__LINK_EQ_REQUEST) {
            ub_phy_clear_eq_request(p->phy, rate_of(p, s));
        }
        return;
    }
    port_regs_apply(p);
    port_kick(p);
}

/* ---- EYE_MONITOR ------------------------------------------------------------- */

/* Start bits act at once: there is nothing to wait for. */
static void written_eye(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    enum { ABORTED = 1, DONE = 4 };
    UbPort *p = opaque;
    UbPhyStatus st;

    ub_phy_status(p->phy, &st);
    for (unsigned i = 0; i < UB_LANES; i++) {
        bool lit = st.active && i < st.rx_width;

        if (w->dw == UB_EYE_CTL_1 && w->changed & w->value & 1u << i) {
            ub_slice_set(s, UB_EYE_LANE_N_STATE + i, ~0u, lit
                         ? ub_phy_eye(p->phy, i) << 16 | DONE : ABORTED);
        }
    }
}

/* ---- BASIC, QDLWS, LMSM_ST ------------------------------------------------------ */

static void written_basic(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    UbPort *p = opaque;

    if (w->dw == UB_PORT_RST && w->trigger) {
        p->ops.event(p->opaque, UB_PORT_RESET);
        ub_space_reset(p->space, UB_SPACE_RESET_PORT, p->index);
        ub_port_restart(p, w->now);
    }
    port_kick(p);
}

static void refresh_basic(void *opaque, UbSlice *s, unsigned dw)
{
    UbPort *p = opaque;
    unsigned i = dw - UB_PORT_NEIGHBOR_PORT_GUID;
    UbDllStatus st;

    if (dw == UB_PORT_NEIGHBOR_PORT_INFO || i < 4) {
        ub_dll_status(p->dll, &st);
        if (i < 4) {
            ub_slice_set(s, dw, ~0u, st.neighbor_valid
                             ? get_be32(st.neighbor_guid + 12 - 4 * i) : 0);
        } else {
            ub_slice_set(s, dw, UB_PORT_NEIGHBOR_PORT_INFO__NEIGHBOR_PORT_IDX,
                         st.neighbor_valid ? st.neighbor_port : 0);
        }
    }
}

static void written_control(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    UbPort *p = opaque;

    p->now = w->now;
    port_regs_apply(p);
    port_kick(p);
}

static void refresh_qdlws(void *opaque, UbSlice *s, unsigned dw)
{
    UbPort *p = opaque;
    UbPhyStatus st;

    if (dw == UB_QDLWS_STATE) {
        ub_phy_status(p->phy, &st);
        ub_slice_set(s, dw, UB_QDLWS_STATE__QDLWS_EXECUTION_STATUS, st.qdlws);
    }
}

/* Error Injection: what a model cannot come to by itself (docs/specs/ubc.rst). */
static void written_vendor(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    port_error(opaque, w->trigger & UB_ERRORS_ALL);
}

/* ---- Life ------------------------------------------------------------------------ */

void port_regs_init(UbPort *p)
{
    static const UbSliceOps basic = { written_basic, refresh_basic };
    static const UbSliceOps link = { written_link, refresh_link };
    static const UbSliceOps log = { written_log, refresh_log };
    static const UbSliceOps rate = { written_rate, refresh_rate };
    static const UbSliceOps eye = { written_eye, NULL };
    static const UbSliceOps qdlws = { written_control, refresh_qdlws };
    static const UbSliceOps lmsm_st = { written_control, NULL };
    static const UbSliceOps vendor = { written_vendor, NULL };
    const UbPortConfig *conf = &p->conf;
    UbSpace *space = p->space;
    PortRegs *r = &p->regs;

#define ATTACH(cap, ops) \
    ub_space_attach(space, UB_SPACE_PORT, p->index, cap, ops, p)
    r->basic = ATTACH(0, &basic);
    r->link = ATTACH(UB_CAP_LINK, &link);
    r->log = ATTACH(UB_CAP_LINK_LOG, &log);
    /* A slice for each rate above 0 that the port has. */
    for (unsigned i = 1; i < UB_DATA_RATES; i++) {
        if (conf->phy.lmsm.rates >> i & 1) {
            r->rate[i] = ATTACH(UB_CAP_RATE + i - 1, &rate);
        }
    }
    r->eye = ATTACH(UB_CAP_EYE, &eye);
    r->qdlws = ATTACH(UB_CAP_QDLWS, &qdlws);
    r->lmsm_st = ATTACH(UB_CAP_LMSM_ST, &lmsm_st);
    port_errors_init(p, ATTACH(UB_CAP_PORT_ERR, NULL));
    ATTACH(UB_CAP_PORT_VD, &vendor);
#undef ATTACH
    ub_slice_init(r->basic, UB_PORT_INFO, UB_PORT_INFO__PORT_INDEX, p->index);
    ub_slice_init(r->basic, UB_PORT_CNA, UB_PORT_CNA__ALL, conf->cna);
    init_dll(p);
    init_phy(p);
}

void ub_port_set_boundary(UbPort *p, bool on)
{
    ub_slice_init(p->regs.basic, UB_PORT_INFO,
                  UB_PORT_INFO__ENUMERATION_BOUNDARY, on ? ~0u : 0);
}

bool ub_port_boundary(const UbPort *p)
{
    return ub_slice_get(p->regs.basic, UB_PORT_INFO) &
           UB_PORT_INFO__ENUMERATION_BOUNDARY;
}
