/*
 * ubc: the properties of its physical layers (UB 2.0 chapter 3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/timer.h"
#include "ub/phy.h"
#include "ubc-pci-phy.h"

CORE_ENUM_PROP(ubc_fec, "UbcFec", "off", "t2", "t4")
CORE_ENUM_PROP(ubc_scrambler, "UbcScrambler", "off", "prbs23", "pcie23")
CORE_ENUM_PROP(ubc_port_type, "UbcPortType", "auto", "secondary", "primary")
QEMU_BUILD_BUG_ON(UB_FEC_OFF != 0 || UB_FEC_T2 != 1 || UB_FEC_T4 != 2);
QEMU_BUILD_BUG_ON(UB_SCRAMBLER_OFF != 0 || UB_SCRAMBLER_PRBS23 != 1 ||
                  UB_SCRAMBLER_PCIE23 != 2);

static const struct {
    const char *name, *text;
} descriptions[] = {
    { "lanes", "lanes of a port: 1, 2, 4 or 8" },
    { "phy-mode", "1: 4 Gb/s and 8, 16, 32 Gb/s as custom rates; "
                  "2: 2.578125 to 106.25 Gb/s" },
    { "max-rate", "highest Data Rate (0, 3, 5, 7 or 0, 2, 4, 8 by mode)" },
    { "fec", "FEC mode wished for: off, t2, t4" },
    { "fec-min", "reject a weaker FEC mode that the peer chose by measuring" },
    { "interleave", "FEC interleaving over two codecs" },
    { "scrambler", "off, prbs23 or pcie23; alike at both ends" },
    { "precode", "precoding, bit n for Data Rate n; alike at both ends" },
    { "port-type", "auto (negotiated), primary or secondary" },
    { "asymmetric", "TX and RX widths may differ" },
    { "fast-lane-down", "drop bad lanes without Retrain" },
    { "lane-down-n", "missed AMCTLs before a lane is dropped, 1 to 254" },
    { "full-disorder", "order lanes by the Lane ID of their AMCTLs" },
    { "period0", "symbols between AMCTLs; alike at both ends" },
    { "period1", "the same while lanes wake; a multiple of 16" },
    { "amctl-confirm", "AMCTLs after the first one for lock" },
    { "amctl-unlock", "AMCTLs missed in a row that lose lock" },
    { "skew", "symbols of skew between lanes that deskew takes, up to 1024" },
    { "hi-fec-ber", "wrong symbols that raise hi_FEC_BER: T=2 gives way to "
                    "T=4; 0: never" },
    { "measure-ber", "a primary port measures and chooses the FEC mode in "
                     "Retrain" },
    { "ber-window", "for how long, in us before time-scale, 22000 at most" },
    { "equalization", "equalise at the highest rate" },
    { "eq-best", "preset with the widest eye, four bits a lane from lane 0" },
    { "eq-reject", "presets that the transmitter refuses, bit n" },
    { "eq-first", "first preset to try" },
    { "eq-last", "last preset to try" },
    { "eq-cursors", "ask by cursors instead of by preset" },
    { "eq-fine-tune", "ask for EQ.Active and EQ.Passive" },
    { "eq-dead", "the receiver never adapts: equalisation times out" },
    { "eq-settle", "from an accepted setting to its evaluation, ns before "
                   "time-scale" },
    { "eq-adapt", "adaptation of the receiver, ns before time-scale" },
    { "probe", "look for a receiver before training" },
    { "time-scale", "multiplies the times of the document" },
    { "timeout-min", "no training state gives up earlier, ms" },
};

void ubc_phy_props_describe(ObjectClass *klass)
{
    for (unsigned i = 0; i < ARRAY_SIZE(descriptions); i++) {
        object_class_property_set_description(klass, descriptions[i].name,
                                              descriptions[i].text);
    }
}

bool ubc_phy_props_apply(const UbcPhyProps *p, UbPhyConfig *c, Error **errp)
{
    UbLmsmConfig *l = &c->lmsm;

    if (p->phy_mode != UB_PHY_MODE_1 && p->phy_mode != UB_PHY_MODE_2) {
        error_setg(errp, "phy-mode must be 1 or 2");
        return false;
    }
    if (p->max_rate >= UB_DATA_RATES) {
        error_setg(errp, "max-rate must be below %d", UB_DATA_RATES);
        return false;
    }
    if (p->eq_best >> 32) {
        error_setg(errp, "eq-best has four bits for each of eight lanes");
        return false;
    }
    if (p->eq_first > p->eq_last || p->eq_last > 10) {
        error_setg(errp, "eq-first to eq-last must be presets from 0 to 10");
        return false;
    }
    l->phy_mode = p->phy_mode;
    l->rates = ub_phy_rates(p->phy_mode) & ((2u << p->max_rate) - 1);
    l->target_rate = 31 - clz32(l->rates | 1);
    l->max_width = l->target_tx = l->target_rx = MIN(p->lanes, UINT8_MAX);
    l->interleave = p->interleave ? 0xffff : 0;
    l->precode = p->precode;
    l->asymmetric = p->asymmetric;
    l->fast_lane_down = p->fast_lane_down;
    l->lane_down_n = p->lane_down_n;
    l->measure_ber = p->measure_ber;
    l->ber_window = (int64_t)p->ber_window * SCALE_US;
    l->time_scale = p->time_scale;
    l->timeout_min = (int64_t)p->timeout_min * SCALE_MS;
    l->bypass_probe = !p->probe;
    if (!p->eq) {
        l->eq_mode = 2; /* skip */
    }
    c->pcs.period[0] = p->period[0];
    c->pcs.period[1] = p->period[1];
    c->pcs.confirm = p->confirm;
    c->pcs.unlock = p->unlock;
    c->pcs.skew = p->skew;
    c->pcs.full_disorder = p->full_disorder;
    c->pcs.hi_fec_ber = p->hi_fec_ber;
    for (unsigned i = 0; i < UB_LANES; i++) {
        c->eq.best[i] = p->eq_best >> 4 * i & 0xf;
    }
    c->eq.reject = p->eq_reject;
    c->eq.first = p->eq_first;
    c->eq.last = p->eq_last;
    c->eq.by_cursors = p->eq_cursors;
    c->eq.fine_tune = p->eq_fine;
    c->eq.dead = p->eq_dead;
    c->eq.settle_ns = p->eq_settle;
    c->eq.adapt_ns = p->eq_adapt;
    memset(l->fec_mode, p->fec, sizeof(l->fec_mode));
    l->fec_min = p->fec_min;
    l->port_nego = p->port_type == 0;
    l->port_type = p->port_type == 2;
    c->pcs.scrambler = p->scrambler;
    return true;
}
