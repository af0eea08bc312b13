/*
 * Properties of ubc for what has no register in the data link layer (UB 2.0
 * chapter 4): thresholds, timeouts, shared credits, scheduling, and the switches
 * for places that the document leaves open.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/timer.h"
#include "ubc-pci-dll.h"

CORE_ENUM_PROP(ubc_crc_cover, "UbcCrcCover", "info", "bytes")
/* As UbDllFault. */
CORE_ENUM_PROP(ubc_fault_credit, "UbcFaultCredit", "none", "overrun", "overgrant")

static const struct {
    const char *name, *text;
} descriptions[] = {
    { "credit-timeout", "ms without any credit from the peer, with packets "
      "waiting for it, after which the data link layer reports DL Protocol "
      "Error (UB 2.0 4.8.1); 0: never" },
    { "keepalive", "ms between empty Crd_Ack blocks while the peer may be "
      "waiting for credit; 0: none" },
    { "credit-delay", "us that credit waits for a packet that takes it back to "
      "the peer, before a Crd_Ack does (4.6.3), if it is less than an eighth; "
      "0: none" },
    { "mode-timeout", "ms that a change of the encapsulation mode may take "
      "before it is given up; 0: for ever" },
    { "dll-recovery", "a fatal error of the data link layer ends LinkUp and the "
      "link trains anew; off: only a reset of port or device ends it" },
    { "retry-threshold", "NUM_RETRY_THRESHOLD (4.7.3.3), 2 to 254" },
    { "reinit-threshold", "NUM_PHY_REINIT_THRESHOLD (4.7.3.3), from 1" },
    { "retry-set-run", "Retry flits in a row that make a set while a receiver "
      "waits for one, 2 to 33" },
    { "crc-cover", "what CRC30 covers of the last flit: 'info' (the two "
      "information bits too) or 'bytes' (bytes 0 to 15)" },
    { "tx-share", "use the peer's Receive Buffer as shared credits where it "
      "offers that (4.6.1.3)" },
    { "share-quota", "cells of shared credit set aside for each VL; 0: enough "
      "for the longest packet" },
    { "vl-weights", "shares of the VLs in sending, VL0 first, as in 4:2:1; VLs "
      "that are not named have 1" },
    { "vl-strict", "bit n: VL n is served before those with weights, highest "
      "first" },
    { "fault-credit", "what this end does wrong to its peer: 'overrun', packets "
      "without credit; 'overgrant', more credit returned than was used" },
};

void ubc_dll_props_describe(ObjectClass *klass)
{
    for (size_t i = 0; i < ARRAY_SIZE(descriptions); i++) {
        object_class_property_set_description(klass, descriptions[i].name,
                                              descriptions[i].text);
    }
}

/* "4:2:1" */
static bool parse_weights(const char *text, uint16_t weights[UB_VLS])
{
    g_auto(GStrv) parts = g_strsplit(text ? text : "", ":", UB_VLS + 1);

    for (unsigned vl = 0; parts[vl]; vl++) {
        unsigned value;

        if (vl == UB_VLS || qemu_strtoui(parts[vl], NULL, 10, &value) < 0 ||
            value < 1 || value > UINT16_MAX) {
            return false;
        }
        weights[vl] = value;
    }
    return true;
}

bool ubc_dll_props_apply(const UbcDllProps *props, UbDllConfig *dll,
                         Error **errp)
{
    dll->credit_timeout = (int64_t)props->credit_timeout * SCALE_MS;
    dll->keepalive = (int64_t)props->keepalive * SCALE_MS;
    dll->credit_delay = (int64_t)props->credit_delay * SCALE_US;
    dll->mode_timeout = (int64_t)props->mode_timeout * SCALE_MS;
    dll->down_recovers = props->recovery;
    dll->num_retry_threshold = props->retry_threshold;
    dll->num_phy_reinit_threshold = props->reinit_threshold;
    dll->retry_set_run = props->retry_set_run;
    dll->tx_share = props->tx_share;
    dll->vl_strict = props->vl_strict;
    dll->fault_credit = props->fault_credit;
    for (unsigned vl = 0; vl < UB_VLS; vl++) {
        dll->share_quota[vl] = props->share_quota;
    }
    if (!parse_weights(props->vl_weights, dll->vl_weight)) {
        error_setg(errp, "vl-weights are at most 16 numbers from 1 to 65535 "
                   "with colons between them");
        return false;
    }
    if (props->crc_cover) {
        dll->crc_cover = UB_CRC_COVER_BYTES;
    }
    return true;
}
