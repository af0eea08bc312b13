/*
 * ubc: the properties of its physical layers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_UBC_PCI_PHY_H
#define HW_UB_UBC_PCI_PHY_H

#include "core/enum_prop.h"
#include "qom/object.h"
#include "ub/phy_config.h"
#include "ub/scrambler.h"

typedef struct UbcPhyProps {
    uint32_t lanes;
    uint32_t phy_mode;
    uint32_t max_rate;
    uint32_t time_scale;
    uint32_t timeout_min;       /* ms */
    int fec, fec_min, scrambler, port_type;
    bool interleave, eq, probe, asymmetric, fast_lane_down, full_disorder;
    bool measure_ber;
    uint16_t precode;
    uint32_t period[2];
    uint8_t confirm, unlock, lane_down_n;
    uint16_t skew;
    uint32_t hi_fec_ber, ber_window; /* us */
    uint64_t eq_best;
    uint16_t eq_reject;
    uint8_t eq_first, eq_last;
    bool eq_cursors, eq_fine, eq_dead;
    uint32_t eq_settle, eq_adapt; /* ns */
} UbcPhyProps;

extern const PropertyInfo ubc_fec_info, ubc_scrambler_info, ubc_port_type_info;

#define UBC_PHY_PROPERTIES(S, p)                                            \
    DEFINE_PROP_UINT32("lanes", S, p.lanes, 8),                             \
    DEFINE_PROP_UINT32("phy-mode", S, p.phy_mode, 2),                       \
    DEFINE_PROP_UINT32("max-rate", S, p.max_rate, 8),                       \
    DEFINE_PROP_CORE_ENUM("fec", S, p.fec, ubc_fec, UB_FEC_T4),             \
    DEFINE_PROP_CORE_ENUM("fec-min", S, p.fec_min, ubc_fec, UB_FEC_OFF),    \
    DEFINE_PROP_BOOL("interleave", S, p.interleave, true),                  \
    DEFINE_PROP_CORE_ENUM("scrambler", S, p.scrambler, ubc_scrambler,       \
                          UB_SCRAMBLER_PRBS23),                             \
    DEFINE_PROP_UINT16("precode", S, p.precode, 0xfff0),                    \
    DEFINE_PROP_CORE_ENUM("port-type", S, p.port_type, ubc_port_type, 0),   \
    DEFINE_PROP_BOOL("asymmetric", S, p.asymmetric, true),                  \
    DEFINE_PROP_BOOL("fast-lane-down", S, p.fast_lane_down, true),          \
    DEFINE_PROP_UINT8("lane-down-n", S, p.lane_down_n, 3),                  \
    DEFINE_PROP_BOOL("full-disorder", S, p.full_disorder, true),            \
    DEFINE_PROP_UINT32("period0", S, p.period[0], 1280),                    \
    DEFINE_PROP_UINT32("period1", S, p.period[1], 640),                     \
    DEFINE_PROP_UINT8("amctl-confirm", S, p.confirm, 3),                    \
    DEFINE_PROP_UINT8("amctl-unlock", S, p.unlock, 3),                      \
    DEFINE_PROP_UINT16("skew", S, p.skew, 128),                             \
    DEFINE_PROP_UINT32("hi-fec-ber", S, p.hi_fec_ber, 0),                   \
    DEFINE_PROP_BOOL("measure-ber", S, p.measure_ber, false),               \
    DEFINE_PROP_UINT32("ber-window", S, p.ber_window, 1000),                \
    DEFINE_PROP_BOOL("equalization", S, p.eq, true),                        \
    DEFINE_PROP_UINT64("eq-best", S, p.eq_best, 0x54654654),                \
    DEFINE_PROP_UINT16("eq-reject", S, p.eq_reject, 0),                     \
    DEFINE_PROP_UINT8("eq-first", S, p.eq_first, 3),                        \
    DEFINE_PROP_UINT8("eq-last", S, p.eq_last, 7),                          \
    DEFINE_PROP_BOOL("eq-cursors", S, p.eq_cursors, false),                 \
    DEFINE_PROP_BOOL("eq-fine-tune", S, p.eq_fine, true),                   \
    DEFINE_PROP_BOOL("eq-dead", S, p.eq_dead, false),                       \
    DEFINE_PROP_UINT32("eq-settle", S, p.eq_settle, 1000),                  \
    DEFINE_PROP_UINT32("eq-adapt", S, p.eq_adapt, 10000),                   \
    DEFINE_PROP_BOOL("probe", S, p.probe, true),                            \
    DEFINE_PROP_UINT32("time-scale", S, p.time_scale, 10),                  \
    DEFINE_PROP_UINT32("timeout-min", S, p.timeout_min, 500)

void ubc_phy_props_describe(ObjectClass *klass);
/* False and an error where a value is none. */
bool ubc_phy_props_apply(const UbcPhyProps *p, UbPhyConfig *c, Error **errp);

#endif
