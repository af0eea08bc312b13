/*
 * The PORT slices of the configuration space (UB 2.0 §D.5, §D.6).
 *
 * Reads are refreshed from the layers; writes are put into their
 * configuration.  Nothing of a protocol is decided in here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "core/bytes.h"
#include "internal.h"

#define LINK(p) UB_CFG_PORT_CAP(p, UB_CAP_PORT_LINK)
#define LOG(p) UB_CFG_PORT_CAP(p, UB_CAP_PORT_LINK_LOG)
#define QDLWS(p) UB_CFG_PORT_CAP(p, UB_CAP_PORT_QDLWS)
#define LMSM_ST(p) UB_CFG_PORT_CAP(p, UB_CAP_PORT_LMSM_ST)
#define ERRORS(p) UB_CFG_PORT_CAP(p, UB_CAP_PORT_PORT_ERR_RECORD)
#define RATE_CAP 3 /* PORT_CAP(3 + r) is DATA_RATE r, r = 1 … 9 */

/* Control registers, by their dword in the LINK slice. */
enum {
    DL_CFG = UB_PORT_LINK_DATA_LINK_CONFIGURATION_DW0,
    DL_CAP = UB_PORT_LINK_DATA_LINK_CAPABILITY_1_DW0,
    DL_CREDIT = UB_PORT_LINK_DATA_LINK_REMOTE_INIT_CREDIT_CFG,
    DL_RETRY = UB_PORT_LINK_DATA_LINK_RETRY_CFG,
    DL_PERF = UB_PORT_LINK_DATA_LINK_PERFORMANCE_OPTIMIZATION_CFG_DW0,
    DL_MARKERR = UB_PORT_LINK_DATA_LINK_MARKERR_CFG,
    DL_STATUS = UB_PORT_LINK_DATA_LINK_STATUS_DW0,
    DL_SM = UB_PORT_LINK_DATA_LINK_STATE_MACHINE_STATUS,
    PHY_CTL1 = UB_PORT_LINK_PHY_LINK_CONTROL_1,
    PHY_CTL2 = UB_PORT_LINK_PHY_LINK_CONTROL_2,
    PHY_CTL6 = UB_PORT_LINK_PHY_LINK_CONTROL_6,
    PHY_CTL8 = UB_PORT_LINK_PHY_LINK_CONTROL_8,
    PHY_CTL10 = UB_PORT_LINK_PHY_LINK_CONTROL_10,
    PHY_CTL11 = UB_PORT_LINK_PHY_LINK_CONTROL_11,
    LINK_ST0 = UB_PORT_LINK_PORT_LINK_STATUS_0,
    PHY_ST1 = UB_PORT_LINK_PHY_LINK_STATUS_1,
    PHY_ST2 = UB_PORT_LINK_PHY_LINK_STATUS_2,
};

/* Bits of PHY Link Control 1 and 2 (Tables D-117, D-118). */
#define CTL1_RATE 0x0000000fu
#define CTL1_TX_WIDTH 0x00003f00u
#define CTL1_RX_WIDTH 0x003f0000u
#define CTL1_CHANGE_WIDTH 0x00400000u
#define CTL1_PHY_MODE 0x0f000000u
#define CTL1_RETRAIN 0x80000000u
#define CTL2_EQ_MODE 0x00000030u
#define CTL2_PERFORM_EQ 0x00000080u
#define CTL2_OPTICAL 0x00010000u
#define CTL2_FIXED_RATE 0x00020000u
#define CTL2_BYPASS_PROBE 0x00040000u
#define CTL2_PORT_NEGO 0x00080000u
#define CTL2_DISABLE 0x00200000u

/* ---- Data link layer ------------------------------------------------------- */

static void put_bytes(UbSpace *space, uint32_t dw, const uint8_t *bytes)
{
    for (unsigned i = 0; i < UB_VLS / 4; i++) {
        ub_space_init(space, dw + i, ~0u, get_le32(bytes + 4 * i));
    }
}

/* The three parallel sets of registers have the same layout, but for the
 * places of the share bit, the ACK grains and FEATURE_ID. */
static void put_params(UbSpace *space, uint32_t base, const UbDllParams *w)
{
    ub_space_init(space, base, 0x1ffff,
                (uint32_t)w->rxbuf_vl_share << 16 | w->feature_id);
    ub_space_init(space, base + 1, 0xffff,
                (uint32_t)w->ctrl_ack_grain << 8 | w->data_ack_grain);
    put_bytes(space, base + 2, w->ctrl_credit_grain);
    put_bytes(space, base + 6, w->data_credit_grain);
    ub_space_init(space, base + 10, ~0u,
                (uint32_t)w->packet_min_interval << 24 |
                (uint32_t)w->flow_ctrl_size << 16 | w->vl_enable);
    ub_space_init(space, base + 11, 0xfffff, w->retry_buf_depth);
}

static void init_dll(UbSpace *space, unsigned port, const UbDllConfig *dll)
{
    const UbDllParams *w = &dll->wish;
    uint32_t base = LINK(port);

    put_params(space, base + DL_CAP, w);
    /* What the reset values of Data Link Configuration do not give: a link
     * that works at power-on. */
    ub_space_init(space, base + DL_CFG + 9, ~0u,
                (uint32_t)w->packet_min_interval << 24 |
                (uint32_t)w->flow_ctrl_size << 16 | w->vl_enable);
    ub_space_init(space, base + DL_CFG + 10, 0xfffff, w->retry_buf_depth);
    ub_space_init(space, base + DL_CFG, 0x10000,
                (uint32_t)w->rxbuf_vl_share << 16);
    for (unsigned i = 0; i < UB_VLS / 2; i++) {
        ub_space_init(space, base + DL_CREDIT + i, ~0u,
                    dll->init_credit[2 * i] |
                    (uint32_t)dll->init_credit[2 * i + 1] << 16);
    }
    ub_space_init(space, base + DL_RETRY, ~0u, dll->wait_timeout / 1000);
    ub_space_init(space, base + DL_PERF, ~0u,
                (uint32_t)dll->ack_force << 16 | dll->ack_return);
    for (unsigned i = 0; i < UB_VLS / 2; i++) {
        ub_space_init(space, base + DL_PERF + 1 + i, ~0u,
                    dll->crd_force[2 * i] |
                    (uint32_t)dll->crd_force[2 * i + 1] << 16);
        ub_space_init(space, base + DL_PERF + 9 + i, ~0u,
                    dll->crd_return[2 * i] |
                    (uint32_t)dll->crd_return[2 * i + 1] << 16);
    }
    ub_space_init(space, base + DL_MARKERR, 1, dll->mark_err);
}

static void get_bytes(UbSpace *space, uint32_t dw, uint8_t *bytes)
{
    for (unsigned i = 0; i < UB_VLS / 4; i++) {
        put_le32(bytes + 4 * i, ub_space_get(space, dw + i));
    }
}

void port_regs_dll(UbPort *p, UbDllConfig *dll)
{
    UbSpace *space = p->space;
    uint32_t base = LINK(p->index), v;
    UbDllParams *w = &dll->wish;

    *dll = p->conf.dll;
    v = ub_space_get(space, base + DL_CFG);
    w->rxbuf_vl_share = v >> 16 & 1;
    w->ctrl_ack_grain = v >> 8;
    w->data_ack_grain = v;
    get_bytes(space, base + DL_CFG + 1, w->ctrl_credit_grain);
    get_bytes(space, base + DL_CFG + 5, w->data_credit_grain);
    v = ub_space_get(space, base + DL_CFG + 9);
    w->packet_min_interval = v >> 24;
    w->flow_ctrl_size = v >> 16;
    w->vl_enable = v;
    w->retry_buf_depth = ub_space_get(space, base + DL_CFG + 10);
    w->feature_id = ub_space_get(space, base + DL_CFG + 11);
    for (unsigned i = 0; i < UB_VLS; i++) {
        unsigned shift = i % 2 * 16;

        dll->init_credit[i] = ub_space_get(space, base + DL_CREDIT + i / 2) >>
                              shift;
        dll->crd_force[i] = ub_space_get(space, base + DL_PERF + 1 + i / 2) >>
                            shift;
        dll->crd_return[i] = ub_space_get(space, base + DL_PERF + 9 + i / 2) >>
                             shift;
    }
    dll->wait_timeout = (int64_t)ub_space_get(space, base + DL_RETRY) * 1000 *
                        p->conf.dll_time_scale;
    dll->block_timeout = p->conf.dll.block_timeout * p->conf.dll_time_scale;
    v = ub_space_get(space, base + DL_PERF);
    dll->ack_force = v >> 16;
    dll->ack_return = v;
    dll->mark_err = ub_space_get(space, base + DL_MARKERR) & 1;
    dll->port_idx = p->index;
    memcpy(dll->guid, p->conf.guid, sizeof(dll->guid));
}

/* ---- Physical layer ---------------------------------------------------------- */

/* Nibbles of registers `dw` (rates 0-7) and `dw` + 1 (8, 9). */
static unsigned nibble(UbSpace *space, uint32_t dw, unsigned rate)
{
    return ub_space_get(space, dw + rate / 8) >> rate % 8 * 4 & 0xf;
}

static void init_nibbles(UbSpace *space, uint32_t dw, const uint8_t *value)
{
    for (unsigned r = 0; r < UB_DATA_RATES; r++) {
        ub_space_init(space, dw + r / 8, 0xfu << r % 8 * 4,
                    (uint32_t)value[r] << r % 8 * 4);
    }
}

static unsigned highest(unsigned mask)
{
    return mask ? 31 - __builtin_clz(mask) : 0;
}

static void init_phy(UbSpace *space, unsigned port, const UbLmsmConfig *l)
{
    uint32_t base = LINK(port);
    bool mode1 = l->phy_mode == UB_PHY_MODE_1;

    /* Capability 1-3 (Tables D-101 to D-103). */
    ub_space_init(space, base + UB_PORT_LINK_PHY_LINK_CAPABILITY_1, ~0u,
                highest(l->rates) | (uint32_t)l->max_width << 4 |
                (mode1 ? 1u : 2u) << 10 | 0x3u << 16 | 0x7u << 24);
    ub_space_init(space, base + UB_PORT_LINK_PHY_LINK_CAPABILITY_2, 0xffff,
                l->rates);
    ub_space_init(space, base + UB_PORT_LINK_PHY_LINK_CAPABILITY_3, 0xffff,
                (l->asymmetric ? 1 : 0) |
                (uint32_t)l->interleave_support << 8);
    /* Control. */
    ub_space_init(space, base + PHY_CTL1,
                CTL1_RATE | CTL1_TX_WIDTH | CTL1_RX_WIDTH | CTL1_PHY_MODE,
                UB_SPACE_PUT(CTL1_RATE, l->target_rate) |
                UB_SPACE_PUT(CTL1_TX_WIDTH, l->target_tx) |
                UB_SPACE_PUT(CTL1_RX_WIDTH, l->target_rx) |
                UB_SPACE_PUT(CTL1_PHY_MODE, mode1 ? 0 : 1));
    ub_space_init(space, base + PHY_CTL2,
                CTL2_EQ_MODE | CTL2_OPTICAL | CTL2_FIXED_RATE |
                CTL2_BYPASS_PROBE | CTL2_PORT_NEGO,
                UB_SPACE_PUT(CTL2_EQ_MODE, l->eq_mode) |
                (l->optical ? CTL2_OPTICAL : 0) |
                (l->fixed_rate ? CTL2_FIXED_RATE : 0) |
                (l->bypass_probe ? CTL2_BYPASS_PROBE : 0) |
                (l->port_nego ? CTL2_PORT_NEGO : 0));
    init_nibbles(space, base + PHY_CTL6, l->fec_mode);
    init_nibbles(space, base + PHY_CTL8, l->crc_mode);
    ub_space_init(space, base + PHY_CTL10, 0xffff, l->interleave);
    ub_space_init(space, base + PHY_CTL11, 0xffff, l->skip_coarse);
    ub_space_init(space, LMSM_ST(port) + UB_PORT_LMSM_ST_CONTROL_1, ~0u,
                l->timeout_enable);
    ub_space_init(space, QDLWS(port) + UB_PORT_QDLWS_CAPABILITY, 1,
                l->asymmetric);
    ub_space_init(space, QDLWS(port) + UB_PORT_QDLWS_CONTROL, 7,
                (l->qdlws ? 1 : 0) | (l->qdlws_tx ? 2 : 0) |
                (l->qdlws_rx ? 4 : 0));
}

void port_regs_apply(UbPort *p)
{
    UbSpace *space = p->space;
    unsigned port = p->index;
    uint32_t base = LINK(port);
    uint32_t c1 = ub_space_get(space, base + PHY_CTL1);
    uint32_t c2 = ub_space_get(space, base + PHY_CTL2);
    uint32_t q = ub_space_get(space, QDLWS(port) + UB_PORT_QDLWS_CONTROL);
    UbLmsmConfig next = *ub_phy_config(p->phy);
    const char *why;

    next.target_rate = UB_SPACE_GET(CTL1_RATE, c1);
    next.target_tx = UB_SPACE_GET(CTL1_TX_WIDTH, c1);
    next.target_rx = UB_SPACE_GET(CTL1_RX_WIDTH, c1);
    next.phy_mode = UB_SPACE_GET(CTL1_PHY_MODE, c1) == 0 ? UB_PHY_MODE_1
                                                      : UB_PHY_MODE_2;
    next.eq_mode = UB_SPACE_GET(CTL2_EQ_MODE, c2);
    next.optical = c2 & CTL2_OPTICAL;
    next.fixed_rate = c2 & CTL2_FIXED_RATE;
    next.bypass_probe = c2 & CTL2_BYPASS_PROBE;
    next.port_nego = c2 & CTL2_PORT_NEGO;
    for (unsigned r = 0; r < UB_DATA_RATES; r++) {
        next.fec_mode[r] = nibble(space, base + PHY_CTL6, r);
        next.crc_mode[r] = nibble(space, base + PHY_CTL8, r);
    }
    next.interleave = ub_space_get(space, base + PHY_CTL10);
    next.skip_coarse = ub_space_get(space, base + PHY_CTL11);
    next.timeout_enable =
        ub_space_get(space, LMSM_ST(port) + UB_PORT_LMSM_ST_CONTROL_1);
    next.qdlws = q & 1;
    next.qdlws_tx = q & 2;
    next.qdlws_rx = q & 4;
    why = ub_phy_configure(p->phy, &next);
    if (why) {
        /* Named, and without effect: the machine keeps what it had. */
        p->ops.rule(p->opaque, UB_BROKEN_BY_SOFTWARE, why);
    }
}

/* ---- Writes ------------------------------------------------------------------ */

/* Retrain Link: the machine takes it in Link_Active; a trigger that comes
 * earlier waits for it. */
void port_regs_retrain(UbPort *p)
{
    p->retrain = p->retrain &&
                 !ub_phy_request(p->phy, p->now, UB_PHY_REQ_TARGET);
}

static void written_link(UbPort *p, uint32_t at, uint32_t value,
                         uint32_t changed, uint32_t trigger)
{
    if (at >= DL_CFG && at < PHY_CTL1) {
        UbDllConfig dll;

        port_regs_dll(p, &dll);
        if (!ub_dll_configure(p->dll, &dll)) {
            p->ops.rule(p->opaque, UB_BROKEN_BY_SOFTWARE,
                        ub_dll_config_check(&dll));
        }
        return;
    }
    port_regs_apply(p);
    if (at == PHY_CTL2 && (changed & CTL2_DISABLE)) {
        ub_phy_request(p->phy, p->now, value & CTL2_DISABLE
                       ? UB_PHY_REQ_DISABLE : UB_PHY_REQ_ENABLE);
    }
    if (at == PHY_CTL2 && (trigger & CTL2_PERFORM_EQ)) {
        ub_phy_request(p->phy, p->now, UB_PHY_REQ_EQUALIZE);
    }
    if (at == PHY_CTL1 && (trigger & CTL1_CHANGE_WIDTH)) {
        if (!ub_phy_request(p->phy, p->now, UB_PHY_REQ_QDLWS)) {
            p->ops.rule(p->opaque, UB_BROKEN_BY_SOFTWARE,
                        "width change without Retrain not possible now");
        }
    }
    if (at == PHY_CTL1 && (trigger & CTL1_RETRAIN)) {
        p->retrain = true;
        port_regs_retrain(p);
    }
}

void ub_port_written(UbPort *p, int64_t now, uint32_t dw, unsigned cap,
                     uint32_t value, uint32_t changed, uint32_t trigger)
{
    const unsigned port = p->index;

    p->now = now;
    if (cap == 0) {
        if (dw == UB_CFG_PORT_BASE(port) + UB_PORT_BASIC_PORT_RST &&
            trigger) {
            ub_space_reset(p->space, UB_SPACE_RESET_PORT, port);
            ub_port_restart(p, now);
        }
    } else if (cap == UB_CAP_PORT_LINK) {
        written_link(p, dw - LINK(port), value, changed, trigger);
    } else if (cap == UB_CAP_PORT_QDLWS || cap == UB_CAP_PORT_LMSM_ST) {
        port_regs_apply(p);
    } else if (cap == UB_CAP_PORT_PORT_ERR_RECORD) {
        port_regs_error(p, 0);
    }
    port_kick(p);
}

/* ---- Reads -------------------------------------------------------------------- */

static void refresh_link(UbPort *p, uint32_t at)
{
    uint32_t base = LINK(p->index);
    uint32_t words[12];
    UbPhyStatus st;

    if (at >= DL_STATUS && at < DL_STATUS + 12) {
        ub_dll_status_words(p->dll, words);
        ub_space_set(p->space, base + at, ~0u, words[at - DL_STATUS]);
    } else if (at == DL_SM) {
        ub_space_set(p->space, base + at, ~0u, ub_dll_sm_status(p->dll));
    } else if (at == LINK_ST0) {
        ub_space_set(p->space, base + at, ~0u, (ub_port_link_up(p) ? 1 : 0) | (p->dll_up ? 2 : 0));
    } else if (at == PHY_ST1) {
        ub_phy_status(p->phy, &st);
        ub_space_set(p->space, base + at, ~0u,
                   st.rate | (uint32_t)st.tx_width << 4 |
                   (uint32_t)st.rx_width << 12 | (uint32_t)st.code << 20 |
                   (st.primary ? 1u << 28 : 0));
    } else if (at == PHY_ST2) {
        unsigned fec;

        ub_phy_status(p->phy, &st);
        fec = st.fec <= UB_FEC_T4 ? st.fec : UB_FEC_OFF;
        ub_space_set(p->space, base + at, ~0u,
                   fec << 4 | (uint32_t)st.eq_mode << 8 |
                   (st.crc == UB_LTB_CRC30 ? 1u << 12 : 0) |
                   (st.interleave ? 1u << 16 : 0));
    }
}

void ub_port_refresh(UbPort *p, uint32_t dw, unsigned cap)
{
    const unsigned port = p->index;
    UbPhyStatus phy;

    ub_phy_status(p->phy, &phy);
    if (cap == UB_CAP_PORT_LINK) {
        refresh_link(p, dw - LINK(port));
    } else if (cap == 0) {
        UbDllStatus st;

        ub_dll_status(p->dll, &st);
        if (dw == UB_CFG_PORT_BASE(port) + UB_PORT_BASIC_NEIGHBOR_PORT_INFO) {
            ub_space_set(p->space, dw, 0xffff,
                       st.neighbor_valid ? st.neighbor_port : 0);
        } else if (dw - UB_CFG_PORT_BASE(port) -
                   UB_PORT_BASIC_NEIGHBOR_PORT_GUID < 4) {
            unsigned i = dw - UB_CFG_PORT_BASE(port) -
                         UB_PORT_BASIC_NEIGHBOR_PORT_GUID;

            ub_space_set(p->space, dw, ~0u, st.neighbor_valid
                       ? get_be32(st.neighbor_guid + 12 - 4 * i) : 0);
        }
    } else if (cap == UB_CAP_PORT_QDLWS &&
               dw == QDLWS(port) + UB_PORT_QDLWS_STATE) {
        ub_space_set(p->space, dw, 7, phy.qdlws);
    } else if (cap > RATE_CAP && cap <= RATE_CAP + 9 &&
               dw == UB_CFG_PORT_CAP(port, cap) + UB_PORT_DATA_RATE_STATE_1) {
        ub_space_set(p->space, dw, 0x1f, phy.eq_state[cap - RATE_CAP]);
    }
}

/* ---- Errors --------------------------------------------------------------- */

/*
 * §10.6.2.2.4: each error sets its bit in the correctable record, or, where
 * the severity says so, in the uncorrectable one; the mask keeps it from
 * being reported, not from being recorded.
 */
void port_regs_error(UbPort *p, uint32_t bits)
{
    const uint32_t by_severity = 0x08b00000u; /* 20, 21, 23, 27 */
    const uint32_t always_uce = 0x30000000u;  /* 28, 29 */
    uint32_t base = ERRORS(p->index);
    uint32_t ce_ok = ub_space_get(p->space, base +
        UB_PORT_PORT_ERR_RECORD_PORT_CORRECTABLE_ERROR_SEVERITY);
    uint32_t uce = bits & (always_uce | (by_severity & ~ce_ok));
    uint32_t ce = bits & ~uce;

    ub_space_set(p->space,
               base + UB_PORT_PORT_ERR_RECORD_PORT_CORRECTABLE_ERROR_STATUS,
               ce, ~0u);
    ub_space_set(p->space,
               base + UB_PORT_PORT_ERR_RECORD_PORT_UNCORRECTABLE_ERROR_STATUS,
               uce, ~0u);
}

/* ---- What is fixed ------------------------------------------------------- */

void port_regs_init(UbPort *p)
{
    ub_space_init(p->space, UB_CFG_PORT_BASE(p->index) +
                  UB_PORT_BASIC_PORT_INFO, 0xffff, p->index);
    init_dll(p->space, p->index, &p->conf.dll);
    init_phy(p->space, p->index, &p->conf.phy.lmsm);
}
