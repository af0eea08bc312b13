/*
 * ubc: the properties of its data link layers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_UBC_PCI_DLL_H
#define HW_UB_UBC_PCI_DLL_H

#include "core/enum_prop.h"
#include "ub/dll.h"

typedef struct UbcDllProps {
    uint32_t credit_timeout, keepalive, mode_timeout; /* ms */
    uint32_t credit_delay; /* us */
    bool recovery;
    uint8_t retry_threshold, reinit_threshold, retry_set_run;
    int crc_cover;
    bool tx_share;
    uint16_t share_quota, vl_strict;
    char *vl_weights;
    int fault_credit;
} UbcDllProps;

extern const PropertyInfo ubc_crc_cover_info, ubc_fault_credit_info;

#define UBC_DLL_PROPERTIES(type, member)                                    \
    DEFINE_PROP_UINT32("credit-timeout", type, member.credit_timeout, 0),   \
    DEFINE_PROP_UINT32("keepalive", type, member.keepalive, 2000),          \
    DEFINE_PROP_UINT32("credit-delay", type, member.credit_delay, 1000),    \
    DEFINE_PROP_UINT32("mode-timeout", type, member.mode_timeout, 1000),    \
    DEFINE_PROP_BOOL("dll-recovery", type, member.recovery, true),          \
    DEFINE_PROP_UINT8("retry-threshold", type, member.retry_threshold, 15), \
    DEFINE_PROP_UINT8("reinit-threshold", type, member.reinit_threshold,    \
                      4),                                                   \
    DEFINE_PROP_UINT8("retry-set-run", type, member.retry_set_run, 32),     \
    DEFINE_PROP_CORE_ENUM("crc-cover", type, member.crc_cover,              \
                          ubc_crc_cover, 0),                                \
    DEFINE_PROP_BOOL("tx-share", type, member.tx_share, false),             \
    DEFINE_PROP_UINT16("share-quota", type, member.share_quota, 0),         \
    DEFINE_PROP_STRING("vl-weights", type, member.vl_weights),              \
    DEFINE_PROP_UINT16("vl-strict", type, member.vl_strict, 0),             \
    DEFINE_PROP_CORE_ENUM("fault-credit", type, member.fault_credit,        \
                          ubc_fault_credit, UB_DLL_FAULT_NONE)

void ubc_dll_props_describe(ObjectClass *klass);
/* Into the layer's configuration; false: *errp says what is wrong. */
bool ubc_dll_props_apply(const UbcDllProps *props, UbDllConfig *dll,
                         Error **errp);

#endif
