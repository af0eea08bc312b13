/*
 * Width changes without leaving Link_Active: QDLWS (UB 2.0 §3.4.2.3) and the
 * forced fast lane-down (§3.4.2.4).
 *
 * A switch is seen from the end it happens at: `tx` of one end is `rx` of the
 * other.  Both ends run the same two small machines; only the asking differs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "lmsm_internal.h"

#define QDLWS_T0    MS(2)
#define QDLWS_T1    MS(22)
#define QDLWS_GAP   US(1)   /* between two requests */
#define FILL_TIME   US(50)  /* ours: between fills while lanes wake */
#define OBEY_TIME   MS(2)   /* ours: for the peer to narrow its TX */

enum {
    SW_NONE,
    SW_START,               /* agreed, not begun */
    SW_WAKING,              /* up: new lanes send or wait for RLTBs */
    SW_GO,                  /* tx up: the peer hears the new lanes */
    SW_AWAIT,               /* rx: the peer's LWS is to come */
};

static void send_lane_manage(UbLmsm *l, const UbLaneManage *lm)
{
    if (l->ops->lane_manage) {
        l->ops->lane_manage(l->opaque, lm);
    }
}

static void set_status(UbLmsm *l, unsigned status)
{
    l->qdlws.status = (uint8_t)status;
    lmsm_status(l, UB_PHY_ST_QDLWS);
}

static unsigned rx_mask(const UbLmsm *l, unsigned lanes)
{
    unsigned mask = 0;

    for (unsigned i = 0; i < lanes; i++) {
        mask |= l->rx_phys[i] < UB_LMSM_LANES ? 1u << l->rx_phys[i] : 0;
    }
    return mask;
}

void lmsm_width_reset(UbLmsm *l)
{
    UbLmsmQdlws *q = &l->qdlws;

    if (q->status == UB_QDLWS_BUSY) {
        set_status(l, UB_QDLWS_TIMEOUT);
    }
    q->asked = q->requester = false;
    q->tx.step = q->rx.step = SW_NONE;
}

/* --------------------------------------------------------------- asking -- */

static bool width_allowed(const UbLmsm *l, unsigned tx, unsigned rx)
{
    return ub_width_valid(tx) && ub_width_valid(rx) &&
           tx <= l->cfg.target_tx && rx <= l->cfg.target_rx &&
           (tx == rx || l->cfg.asymmetric);
}

static bool rx_wires_known(const UbLmsm *l, unsigned rx)
{
    for (unsigned i = 0; i < rx; i++) {
        if (l->rx_phys[i] >= UB_LMSM_LANES) {
            return false;
        }
    }
    return true;
}

bool ub_lmsm_qdlws(UbLmsm *l, int64_t now, unsigned tlw, unsigned rlw)
{
    UbLmsmQdlws *q = &l->qdlws;
    unsigned tx = tlw ? tlw : l->tx_m, rx = rlw ? rlw : l->rx_n;

    l->now = now;
    if (!l->cfg.qdlws || !l->primary || l->state != UB_LMSM_LINK_ACTIVE ||
        q->tx.step || q->rx.step || q->asked || l->now < q->retry_at ||
        (tlw && !l->cfg.qdlws_tx) || (rlw && !l->cfg.qdlws_rx) ||
        (tx == l->tx_m && rx == l->rx_n)) {
        return false;
    }
    if (!width_allowed(l, tx, rx) || !rx_wires_known(l, rx)) {
        l->errors |= UB_PHY_ERR_BAD_WIDTH;
        lmsm_status(l, UB_PHY_ST_ERROR);
        return false;
    }
    q->tlw = (uint8_t)(tx != l->tx_m ? tx : 0);
    q->rlw = (uint8_t)(rx != l->rx_n ? rx : 0);
    q->asked = q->requester = true;
    q->deadline = l->now + lmsm_patience(l, QDLWS_T0 + QDLWS_T1);
    set_status(l, UB_QDLWS_BUSY);
    send_lane_manage(l, &(UbLaneManage) {
        .req = true, .change_tlw = q->tlw, .change_rlw = q->rlw,
        .tlw = q->tlw, .rlw = q->rlw });
    return true;
}

static void start_switch(UbLmsm *l, UbLmsmSwitch *s, unsigned width)
{
    s->step = SW_START;
    s->width = (uint8_t)width;
    s->deadline = l->now + lmsm_patience(l, QDLWS_T0 + QDLWS_T1);
}

/* The peer's TLW is our RX, its RLW our TX. */
static void request(UbLmsm *l, const UbLaneManage *lm)
{
    UbLmsmQdlws *q = &l->qdlws;
    bool tlw = lm->change_tlw, rlw = lm->change_rlw;
    unsigned rx = tlw ? lm->tlw : l->rx_n;
    unsigned tx = rlw ? lm->rlw : l->tx_m;
    bool valid = ub_width_valid(rx) && ub_width_valid(tx);
    bool ready = l->cfg.qdlws && !l->primary && valid &&
                 l->state == UB_LMSM_LINK_ACTIVE && !q->tx.step &&
                 !q->rx.step && width_allowed(l, tx, rx) &&
                 rx_wires_known(l, rx) && (!tlw || l->cfg.qdlws_rx) &&
                 (!rlw || l->cfg.qdlws_tx);

    if (!valid) {
        l->errors |= UB_PHY_ERR_BAD_WIDTH;
        lmsm_status(l, UB_PHY_ST_ERROR);
    }
    if (!ready) {
        send_lane_manage(l, &(UbLaneManage) {
            .rsp = true, .tlw = l->tx_m, .rlw = l->rx_n });
        return;
    }
    q->requester = false;
    if (rx != l->rx_n) {
        start_switch(l, &q->rx, rx);
    }
    if (tx != l->tx_m) {
        start_switch(l, &q->tx, tx);
    }
    send_lane_manage(l, &(UbLaneManage) {
        .rsp = true, .rsp_tlw = tlw, .rsp_rlw = rlw, .tlw = tx, .rlw = rx });
}

static void response(UbLmsm *l, const UbLaneManage *lm)
{
    UbLmsmQdlws *q = &l->qdlws;

    if (q->asked) {
        q->asked = false;
        if ((q->tlw && !lm->rsp_tlw) || (q->rlw && !lm->rsp_rlw)) {
            q->retry_at = l->now + lmsm_ns(l, QDLWS_GAP);
            set_status(l, UB_QDLWS_NAK);
            return;
        }
        if (q->tlw) {
            start_switch(l, &q->tx, q->tlw);
        }
        if (q->rlw) {
            start_switch(l, &q->rx, q->rlw);
        }
    } else if (lm->rx_lane_up && q->tx.step == SW_WAKING) {
        q->tx.step = SW_GO;
    }
}

void ub_lmsm_rx_lane_manage(UbLmsm *l, int64_t now, const UbLaneManage *lm)
{
    l->now = now;
    if (lm->req) {
        request(l, lm);
    } else if (lm->rsp) {
        response(l, lm);
    }
}

/* ------------------------------------------------------------ switching -- */

static void finish(UbLmsm *l, UbLmsmSwitch *s)
{
    UbLmsmQdlws *q = &l->qdlws;

    s->step = SW_NONE;
    lmsm_status(l, UB_PHY_ST_WIDTH);
    if (q->tx.step || q->rx.step) {
        return;
    }
    l->stats.qdlws_done++;
    if (q->requester) {
        q->retry_at = l->now + lmsm_ns(l, QDLWS_GAP);
        set_status(l, UB_QDLWS_DONE);
    }
}

static void cancel(UbLmsm *l)
{
    UbLmsmQdlws *q = &l->qdlws;

    if (q->tx.step == SW_WAKING) {
        l->ops->tx_unwake(l->opaque);
        l->ops->tx_period(l->opaque, 0);
    }
    if (q->rx.step == SW_WAKING) {
        l->ops->rx_enable(l->opaque, rx_mask(l, l->rx_n), l->rate);
    }
    q->asked = false;
    q->tx.step = q->rx.step = SW_NONE;
    l->errors |= UB_PHY_ERR_QDLWS;
    lmsm_status(l, UB_PHY_ST_ERROR);
    if (q->requester) {
        q->retry_at = l->now + lmsm_ns(l, QDLWS_GAP);
        set_status(l, UB_QDLWS_TIMEOUT);
    }
}

static void set_tx_width(UbLmsm *l, unsigned width)
{
    l->ops->tx_width(l->opaque, width);
    l->tx_m = l->tx_lanes = (uint8_t)width;
}

static void switch_tx(UbLmsm *l)
{
    UbLmsmSwitch *s = &l->qdlws.tx;

    if (s->step == SW_START && s->width < l->tx_m) {
        set_tx_width(l, s->width);
        finish(l, s);
    } else if (s->step == SW_START) {
        /* Fields as in Retrain.Active without rate or EQ wishes. */
        for (unsigned i = 0; i < s->width; i++) {
            lmsm_build_rltb(l, i, l->ltb[i], UB_LTB_RETR_LP1_UP);
            ub_ltb_seal(l->ltb[i]);
        }
        l->ops->tx_period(l->opaque, 1);
        l->ops->tx_wake(l->opaque, s->width,
                        (const uint8_t (*)[UB_LMB_SYMBOLS])l->ltb);
        s->step = SW_WAKING;
        l->refresh_at = l->now;
    } else if (s->step == SW_WAKING && l->now >= l->refresh_at) {
        l->ops->tx_wake_fill(l->opaque);
        l->refresh_at = l->now + lmsm_ns(l, FILL_TIME);
    } else if (s->step == SW_GO) {
        set_tx_width(l, s->width);
        l->ops->tx_period(l->opaque, 0);
        finish(l, s);
    }
}

static void switch_rx(UbLmsm *l)
{
    UbLmsmSwitch *s = &l->qdlws.rx;

    if (s->step != SW_START) {
        return;
    }
    if (s->width == l->rx_n) {
        finish(l, s);           /* the peer's LWS overtook its answer */
        return;
    }
    if (s->width < l->rx_n) {
        s->step = SW_AWAIT;
        return;
    }
    for (unsigned i = l->rx_n; i < s->width; i++) {
        lmsm_rx_lane(l, i)->run = 0;
    }
    l->ops->rx_enable(l->opaque, rx_mask(l, s->width), l->rate);
    s->step = SW_WAKING;
}

/* Each block: whether all new lanes have their eight by now. */
void lmsm_width_ltb(UbLmsm *l)
{
    UbLmsmSwitch *s = &l->qdlws.rx;

    if (l->state != UB_LMSM_LINK_ACTIVE || s->step != SW_WAKING) {
        return;
    }
    for (unsigned i = l->rx_n; i < s->width; i++) {
        const UbLmsmLane *lane = lmsm_rx_lane(l, i);

        if (!lane || lane->run < 8 || lane->ltb[0] != UB_LTB_RETR_LP1_UP) {
            return;
        }
    }
    s->step = SW_AWAIT;
    send_lane_manage(l, &(UbLaneManage) {
        .rsp = true, .rx_lane_up = true, .tlw = l->tx_m, .rlw = s->width });
}

void ub_lmsm_rx_width(UbLmsm *l, int64_t now, unsigned width)
{
    l->now = now;
    if (!ub_width_valid(width)) {
        return;
    }
    l->rx_n = (uint8_t)width;
    l->asked_remote = 0;
    if (l->qdlws.rx.step && l->qdlws.rx.width == width) {
        finish(l, &l->qdlws.rx);
    } else {
        lmsm_status(l, UB_PHY_ST_WIDTH);
    }
}

/* ------------------------------------------------------ fast lane-down -- */

void ub_lmsm_rx_miss(UbLmsm *l, int64_t now, unsigned lane, unsigned misses)
{
    l->now = now;
    if (lane >= UB_LMSM_LANES) {
        return;
    }
    l->lane[lane].misses = (uint8_t)(misses > 255 ? 255 : misses);
    if (misses >= l->cfg.lane_down_n && l->state == UB_LMSM_LINK_ACTIVE &&
        lmsm_configured(l, &l->lane[lane])) {
        l->lane_bad |= (uint8_t)(1u << lane);
    }
}

void ub_lmsm_rx_remote_width(UbLmsm *l, int64_t now, unsigned width)
{
    l->now = now;
    if (l->state == UB_LMSM_LINK_ACTIVE && ub_width_valid(width) &&
        width < l->tx_m) {
        l->remote_tx = (uint8_t)width;
    }
}

bool lmsm_lanes_lost(UbLmsm *l)
{
    unsigned bad = l->lane_bad | l->got.loss, w;
    bool straight = true;

    if (!bad) {
        return false;
    }
    for (unsigned i = 0; i < l->rx_n; i++) {
        straight = straight && l->rx_phys[i] == i;
    }
    for (w = l->rx_n; w && (rx_mask(l, w) & bad); w >>= 1) {
        continue;
    }
    if (!l->cfg.fast_lane_down || !straight || !w) {
        return true;
    }
    if (w == l->rx_n) {
        l->lane_bad = l->got.loss = 0;      /* lanes we no longer use */
        return false;
    }
    if (l->asked_remote != w) {
        l->asked_remote = (uint8_t)w;
        l->lane_down_at = l->now + lmsm_ns(l, OBEY_TIME);
        l->errors |= UB_PHY_ERR_WIDTH_REDUCED;
        l->stats.lane_downs++;
        l->ops->tx_remote_width(l->opaque, w);
        lmsm_status(l, UB_PHY_ST_ERROR);
    }
    return l->now >= l->lane_down_at;
}

/* --------------------------------------------------------------- timing -- */

int64_t lmsm_width_poll(UbLmsm *l)
{
    UbLmsmQdlws *q = &l->qdlws;
    int64_t next = INT64_MAX;

    if (l->remote_tx) {
        if (l->remote_tx < l->tx_m) {
            set_tx_width(l, l->remote_tx);
            l->errors |= UB_PHY_ERR_WIDTH_REDUCED;
            lmsm_status(l, UB_PHY_ST_ERROR | UB_PHY_ST_WIDTH);
        }
        l->remote_tx = 0;
    }
    switch_tx(l);
    switch_rx(l);
    if ((q->asked && l->now >= q->deadline) ||
        (q->tx.step && l->now >= q->tx.deadline) ||
        (q->rx.step && l->now >= q->rx.deadline)) {
        cancel(l);
    }
    if (q->asked) {
        next = q->deadline;
    }
    if (q->tx.step == SW_WAKING && l->refresh_at < next) {
        next = l->refresh_at;
    }
    if (q->tx.step && q->tx.deadline < next) {
        next = q->tx.deadline;
    }
    if (q->rx.step && q->rx.deadline < next) {
        next = q->rx.deadline;
    }
    if (l->asked_remote && l->lane_down_at < next) {
        next = l->lane_down_at;
    }
    return next;
}
