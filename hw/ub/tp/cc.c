/*
 * Congestion control of a channel (UB 2.0 §6.6): the window framework that the
 * algorithms stand on.
 *
 * Bytes are counted in the unit of Ack_Seq, two, rounded up by packet, on both
 * sides alike.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static uint32_t cc_units(uint32_t bytes)
{
    return (bytes + UB_ICRC_SIZE + 1) / 2;
}

uint32_t cc_size(uint32_t bytes)
{
    return cc_units(bytes) * 2;
}

void cc_bound(UbCcState *s, const UbCcParam *p)
{
    s->cw = CLAMP(s->cw, MAX(p->cw_min, s->unit), p->cw_max);
}

void cc_grow(UbCcState *s, unsigned grown, uint64_t n)
{
    uint64_t sum = s->var[grown] + MIN(n, UINT64_MAX - s->var[grown]);

    s->cw += MIN(sum / s->cw, UINT64_MAX - s->cw);
    s->var[grown] = sum % s->cw;
}

void cc_attach(Chan *ch, int64_t now)
{
    const UbTpConfig *cfg = &ch->tp->cfg;
    ChanCc *cc;

    if (ch->cc || !cfg->cc_on || ch->attr.cc == UB_CC_NONE) {
        return;
    }
    cc = ch->cc = g_new0(ChanCc, 1);
    cc->algo = cc_algo(cfg, ch->attr.cc);
    cc->param = ch->attr.cc == UB_CC_USER && cfg->cc[UB_CC_USER]
                    ? cfg->cc_user_param : &cfg->cc_param;
    cc->state.unit = ch->attr.cw_unit;
    cc->state.mtu = ch->attr.mtu;
    cc->state.scale_ns = tp_clock(ch->tp, UB_TPC_CC, 1);
    cc->state.tick = CORE_NEVER;
    cc->algo->init(&cc->state, cc->param, now);
}

void cc_detach(Chan *ch)
{
    g_clear_pointer(&ch->cc, g_free);
}

/* ---- sender ---- */

/* What was sent again although it had come does not come again: the sums drift
 * apart, so that what is out for certain bounds it. */
static uint64_t cc_in_flight(const Chan *ch)
{
    int32_t units = (int32_t)(ch->cc->sent - ch->cc->rcvd);

    return units > 0 ? MIN((uint64_t)units * 2, ch->out) : 0;
}

bool cc_may(Chan *ch, uint32_t bytes, int64_t now)
{
    ChanCc *cc = ch->cc;
    uint64_t flight;

    if (!cc) {
        return true;
    }
    if (cc->pace_at > now) {
        return false;
    }
    flight = cc_in_flight(ch);
    /* A window smaller than a packet lets one go, or none ever would. */
    return !cc->state.cw || !flight ||
           flight + cc_size(bytes) <= cc->state.cw;
}

/* How long @bytes take. */
int64_t cc_pace(uint64_t rate, uint32_t bytes)
{
    return rate ? (int64_t)((uint64_t)bytes * 1000000000 / rate) : 0;
}

uint16_t cc_sent(Chan *ch, uint32_t bytes, int64_t now)
{
    ChanCc *cc = ch->cc;

    if (!cc) {
        return 0;
    }
    cc->sent += cc_units(bytes);
    if (cc->state.rate) {
        cc->pace_at = MAX(cc->pace_at, now) + cc_pace(cc->state.rate, bytes);
    }
    return cc->algo->sent
        ? cc->algo->sent(&cc->state, cc->param, bytes, now) : cc->algo->cci;
}

/* Going back, or a time-out: nothing is under way any more. */
void cc_back(Chan *ch, bool timeout, int64_t now)
{
    ChanCc *cc = ch->cc;

    if (cc) {
        cc->sent = cc->rcvd;
        if (cc->algo->lost) {
            cc->algo->lost(&cc->state, cc->param, timeout, now);
        }
    }
}

/* A packet of @bytes is lost and will go again. */
void cc_unsent(Chan *ch, uint32_t bytes)
{
    if (ch->cc) {
        ch->cc->sent -= cc_units(bytes);
    }
}

void cc_feedback(Chan *ch, const UbCetph *c, int64_t now)
{
    ChanCc *cc = ch->cc;
    int32_t more;

    if (!cc || cc->algo->feedback == UB_CC_FB_NONE) {
        return;
    }
    more = (int32_t)(c->ack_seq - cc->rcvd);
    if (more < 0 || (uint32_t)more > UINT32_MAX / 4) {
        return;                 /* overtaken by a later one */
    }
    cc->rcvd = c->ack_seq;
    /* The peer has what we took for lost. */
    if ((int32_t)(cc->sent - cc->rcvd) < 0) {
        cc->sent = cc->rcvd;
    }
    if (cc->algo->ack) {
        cc->algo->ack(&cc->state, cc->param, c, (uint32_t)more * 2, now);
    }
}

void cc_cnp(Chan *ch, const UbCetph *c, int64_t now)
{
    if (ch->cc && ch->cc->algo->cnp) {
        ch->cc->algo->cnp(&ch->cc->state, ch->cc->param, c, now);
    }
}

void cc_tick(Chan *ch, int64_t now)
{
    ChanCc *cc = ch->cc;

    if (cc && cc->state.tick <= now) {
        cc->state.tick = CORE_NEVER;
        if (cc->algo->tick) {
            cc->algo->tick(&cc->state, cc->param, now);
            cc->state.tick = MAX(cc->state.tick, now + 1);
        }
    }
}

int64_t cc_deadline(const Chan *ch)
{
    const ChanCc *cc = ch->cc;

    return MIN(cc->state.tick, ch->paced ? cc->pace_at : CORE_NEVER);
}

/* ---- receiver ---- */

uint8_t cci_ecn(uint16_t cci)
{
    unsigned fecn = cci & UB_CCI_FECN_BITS;

    /* FECN 10, no congestion, is reserved in a CNP: there it is 0. */
    return ub_cci_has_fecn(cci) && ub_fecn_severity(fecn) ? fecn : 0;
}

void cc_received(Chan *ch, uint32_t bytes, uint16_t cci, int64_t now)
{
    ChanCc *cc = ch->cc;
    uint32_t units = cc_units(bytes);

    if (!cc) {
        return;
    }
    cc->fb.ack_seq += units;
    if (cc->algo->feedback == UB_CC_FB_NONE) {
        if (cci_ecn(cci) && cc->cnp_at <= now) {
            cc->cnp_at = now + tp_clock(ch->tp, UB_TPC_CNP,
                                        ch->tp->cfg.cnp_us);
            ack_cnp(ch, cci_ecn(cci), cci, now);
        }
    } else if (cc->algo->feedback == UB_CC_FB_LDCP) {
        cc->fb.ce_seq += cci_ecn(cci) ? units : 0;
    } else if (ub_cci_mode(cci) == UB_CCI_CAQM && cci & UB_CCI_ENABLE) {
        if (cci & UB_CCI_C) {
            cc->fb.c = MIN(cc->fb.c + 1, UINT8_MAX);
        } else if (cci & UB_CCI_I) {
            cc->fb.inc = true;
            cc->fb.hint = MIN(cc->fb.hint + (cci & UB_CCI_HINT), UINT16_MAX);
        }
        cc->fb.loc |= !!(cci & UB_CCI_LOC);
    }
}

void cc_take(Chan *ch, UbCetph *c)
{
    ChanCc *cc = ch->cc;

    *c = cc->fb;
    cc->fb.c = 0;
    cc->fb.inc = cc->fb.loc = false;
    cc->fb.hint = 0;
}
