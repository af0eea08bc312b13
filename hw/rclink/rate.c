/*
 * RC Link: rate control (RC Link §12.4), merging of CNPs and reports of bytes
 * sent without any (§12.8, §12.11.7).
 *
 * Windows follow each other from time 0.  What has to happen at the end of each
 * happens when it is next looked at, or for QPs that wait at the end of the first window
 * that lets them send.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

enum { WINDOWS_AHEAD = 1 << 16 };

/* The number of the window; divided only where another one begins. */
static uint64_t window_now(Rclink *d)
{
    if ((uint64_t)(d->now - d->window_start) >= (uint64_t)d->window_ns ||
        d->window_ns != d->port.window_ns) {
        d->window_ns = d->port.window_ns;
        d->window_no = d->now / d->window_ns;
        d->window_start = d->now - d->now % d->window_ns;
    }
    return d->window_no;
}

/* What is left of @acc after the windows since @*window. */
static uint64_t settle(Rclink *d, uint64_t acc, uint64_t *window,
                       uint32_t speed)
{
    uint64_t n = window_now(d) - *window;

    *window = window_now(d);
    if (!acc || !n) {
        return acc;
    }
    return speed && acc / speed >= n ? acc - n * speed :
           speed ? 0 : acc;
}

/* ---- QPs in an array, each knowing its place ---- */

/* What has @acc in @window may send again when so many more have passed that less
 * than @speed is left; until then nobody needs to look. */
static void mask_opens(Rclink *d, uint64_t window, uint64_t acc, uint32_t speed)
{
    d->mask_until = MIN(d->mask_until, window + acc / speed);
}

static void mask_add(Rclink *d, RclQp *q)
{
    /* At rate 0 no window helps. */
    if (!q->speed) {
        return;
    }
    mask_opens(d, q->window, q->acc, q->speed);
    if (!q->mask_at) {
        d->masked[d->masked_num++] = q->id;
        q->mask_at = d->masked_num;
    }
}

static void mask_remove(Rclink *d, RclQp *q)
{
    if (q->mask_at) {
        uint16_t last = d->masked[--d->masked_num];

        d->masked[q->mask_at - 1] = last;
        d->qp[last].mask_at = q->mask_at;
        q->mask_at = 0;
    }
}

/* ---- QPs ---- */

static void rate_judge(Rclink *d, RclQp *q)
{
    bool mask = q->acc >= q->speed;

    if (mask == q->cc_mask) {
        return;
    }
    q->cc_mask = mask;
    if (mask) {
        d->cnt.cc_masked++;
        mask_add(d, q);
    } else {
        mask_remove(d, q);
    }
    rcl_slots_mask(d, q);
    rcl_event(d, RCL_EV_QP_EN, mask ? 0 : RCL_EV_SET, q->id, 0, 0);
}

void rcl_rate_sent(Rclink *d, RclQp *q, uint32_t bytes)
{
    q->acc = settle(d, q->acc, &q->window, q->speed) + bytes;
    q->acc = MIN(q->acc, UINT32_MAX);
    rate_judge(d, q);
}

void rcl_rate_set(Rclink *d, RclQp *q, uint32_t speed)
{
    q->acc = settle(d, q->acc, &q->window, q->speed);
    q->speed = speed;
    rate_judge(d, q);
    if (!speed) {
        mask_remove(d, q);      /* nobody wakes up for it */
    } else if (q->cc_mask) {
        mask_add(d, q);
    }
    rcl_kick(d);
}

/* ---- TYPE2: rate 0 is no limit until one is set ---- */

static void rate_judge2(Rclink *d)
{
    bool mask = d->reg.type2_rate && d->acc2 >= d->reg.type2_rate;

    d->cnt.cc_masked += mask && !d->mask2;
    d->mask2 = mask;
    if (mask) {
        mask_opens(d, d->window2, d->acc2, d->reg.type2_rate);
    }
}

void rcl_rate_sent2(Rclink *d, uint32_t bytes)
{
    d->acc2 = settle(d, d->acc2, &d->window2, d->reg.type2_rate) + bytes;
    d->acc2 = MIN(d->acc2, UINT32_MAX);
    rate_judge2(d);
}

void rcl_rate_set2(Rclink *d, uint32_t speed)
{
    d->acc2 = settle(d, d->acc2, &d->window2, d->reg.type2_rate);
    d->reg.type2_rate = speed;
    rate_judge2(d);
}

void rcl_rate_settle_all(Rclink *d)
{
    for (unsigned i = 0; i < d->cfg.qps; i++) {
        RclQp *q = &d->qp[i];

        q->acc = settle(d, q->acc, &q->window, q->speed);
    }
    d->acc2 = settle(d, d->acc2, &d->window2, d->reg.type2_rate);
}

void rcl_rate_forget_windows(Rclink *d)
{
    for (unsigned i = 0; i < d->cfg.qps; i++) {
        d->qp[i].window = window_now(d);
    }
    d->window2 = window_now(d);
    d->mask_until = 0;
}

void rcl_rate_set_window(Rclink *d, int64_t ns)
{
    rcl_rate_settle_all(d);
    d->port.window_ns = ns;
    rcl_rate_forget_windows(d);
    rcl_kick(d);
}

int64_t rcl_rate_run(Rclink *d)
{
    if (window_now(d) >= d->mask_until) {
        d->mask_until = UINT64_MAX;
        for (unsigned i = d->masked_num; i--;) {
            RclQp *q = &d->qp[d->masked[i]];

            q->acc = settle(d, q->acc, &q->window, q->speed);
            rate_judge(d, q);
            if (q->cc_mask) {
                mask_add(d, q);
            }
        }
        if (d->mask2) {
            rcl_rate_sent2(d, 0);
        }
    }
    if (!d->masked_num && !d->mask2) {
        return CORE_NEVER;
    }
    /* A debt from elsewhere may be for longer than time has numbers. */
    return (int64_t)MIN(d->mask_until, window_now(d) + WINDOWS_AHEAD) *
           d->port.window_ns;
}

/* ---- CNP merge (RC Link §12.8, data_filter) ---- */

bool rcl_cnp_pass(Rclink *d, uint16_t qp)
{
    RclCnp *at = &d->cnp[0];

    if (!d->port.cnp_merge) {
        return true;
    }
    for (RclCnp *c = d->cnp; c < d->cnp + CNP_PLACES; c++) {
        if (c->used && c->qp == qp) {
            if (d->now - c->at <=
                (int64_t)d->reg.cnp_thr * d->cfg.time_scale) {
                d->cnt.rx_cnp_merged++;
                return false;
            }
            c->at = d->now;
            return true;
        }
        if (at->used && (!c->used || c->at < at->at)) {
            at = c;
        }
    }
    *at = (RclCnp) { .qp = qp, .used = true, .at = d->now };
    return true;
}

/* ---- bytes sent without a CNP ---- */

void rcl_nocnp_cleared(Rclink *d, RclQp *q)
{
    q->byte_cnt = 0;
    if (q->nocnp_at) {
        uint16_t last = d->counted[--d->counted_num];

        d->counted[q->nocnp_at - 1] = last;
        d->qp[last].nocnp_at = q->nocnp_at;
        q->nocnp_at = 0;
    }
}

void rcl_nocnp_sent(Rclink *d, RclQp *q, uint32_t bytes)
{
    q->byte_cnt += bytes;
    if (q->byte_cnt && d->reg.nocnp && !q->nocnp_at) {
        if (!d->counted_num && d->now >= d->nocnp_next) {
            d->nocnp_next = d->now + scaled_us(d, d->reg.nocnp);
        }
        d->counted[d->counted_num++] = q->id;
        q->nocnp_at = d->counted_num;
    }
}

int64_t rcl_nocnp_run(Rclink *d)
{
    if (!d->reg.nocnp) {
        return CORE_NEVER;
    }
    if (d->now >= d->nocnp_next) {
        while (d->counted_num) {
            RclQp *q = &d->qp[d->counted[d->counted_num - 1]];

            /* 0 is not reported (RC Link §12.11.7): software may have written it. */
            if (q->byte_cnt) {
                rcl_event(d, RCL_EV_NOCNP, 0, q->id, q->byte_cnt, 0);
            }
            rcl_nocnp_cleared(d, q);
        }
        d->nocnp_next = d->now + scaled_us(d, d->reg.nocnp);
    }
    return d->counted_num ? d->nocnp_next : CORE_NEVER;
}
