/*
 * ubc: properties of the transaction engine.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_UBC_PCI_ENGINE_H
#define HW_UB_UBC_PCI_ENGINE_H

#include "core/qemu_qdev.h"
#include "ub/node_options.h"
#include "ub/ubc.h"

#define UBC_MAX_CONTEXTS 256

typedef struct UbcEngineProps {
    uint32_t contexts;
    uint32_t tp_scale, tp_floor, ta_scale, ta_floor;
    bool accept;
    bool cip, cip_migrate, cip_icv_last;
    uint32_t cip_window, cip_sn_last;
    uint32_t poll_looks, poll_pause, poll_time; /* see look.h; in microseconds */
    UbFaultPlan fault[2];   /* of packets that come, that leave */
} UbcEngineProps;

/* Rows of a table of properties, of the member @m of @type. */
#define UBC_ENGINE_PROPERTIES(type, m)                                     \
    DEFINE_PROP_UINT32("contexts", type, m.contexts, UBC_MAX_CONTEXTS),    \
    DEFINE_PROP_UINT32("tp-time-scale", type, m.tp_scale, 1),           \
    DEFINE_PROP_UINT32("tp-time-floor", type, m.tp_floor, 2000),           \
    DEFINE_PROP_UINT32("ta-time-scale", type, m.ta_scale, 1000),           \
    DEFINE_PROP_UINT32("ta-time-floor", type, m.ta_floor, 2000),           \
    DEFINE_PROP_BOOL("tp-accept", type, m.accept, true),                   \
    DEFINE_PROP_BOOL("cip", type, m.cip, false),                           \
    DEFINE_PROP_BOOL("cip-migrate-keys", type, m.cip_migrate, false),      \
    DEFINE_PROP_BOOL("cip-icv-last", type, m.cip_icv_last, false),         \
    DEFINE_PROP_UINT32("cip-window", type, m.cip_window,                   \
                       UB_CIP_WINDOW_MAX),                                 \
    DEFINE_PROP_UINT32("cip-sn-last", type, m.cip_sn_last, UINT32_MAX),    \
    DEFINE_PROP_UINT32("poll-looks", type, m.poll_looks, 100),             \
    DEFINE_PROP_UINT32("poll-pause", type, m.poll_pause, 20),              \
    DEFINE_PROP_UINT32("poll-time", type, m.poll_time, 200)

/* False: *errp says why not. */
bool ubc_engine_props_apply(const UbcEngineProps *p,
                            const UbNodeConfig *options, UbcConfig *c,
                            Error **errp);
void ubc_engine_props_describe(ObjectClass *klass);

/* The @n rows of @before, and behind them a row for each of ub_node_options(), whose
 * values are UbcPci.options; *@all are there. */
Property *ubc_options_join(const Property *before, uint32_t n, uint32_t *all);
void ubc_options_describe(ObjectClass *klass);

#endif
