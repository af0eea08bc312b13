/*
 * ubc: its Ethernet port, a NIC of QEMU.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_UBC_PCI_ETHERNET_H
#define HW_UB_UBC_PCI_ETHERNET_H

#include "core/qemu_qdev.h"
#include "ub/ubc.h"
#include "wire/end.h"

typedef struct UbcEtherNic {
    /* Properties. */
    WireEnd end;
    uint32_t mtu, retry_ms;
    bool ecn, answer;
    char *vlans, *routes;
    CoreFaultPlan fault[2];  /* of frames that come, that leave */

    /* Under the device's lock. */
    GByteArray *out;         /* frames to send, each behind its length */
    bool stopped;            /* the backend takes no more */
    bool full;               /* the core was told so */
    uint64_t lost;           /* frames that the backend did not take */
    QEMUBH *bh;              /* sends them: in the main loop */
} UbcEtherNic;

/* Rows of a table of properties, of the member @m of @type. */
#define UBC_ETHERNET_PROPERTIES(type, m)                                    \
    DEFINE_NIC_PROPERTIES(type, m.end.conf),                                \
    DEFINE_PROP_STRING("capture", type, m.end.capture_path),                \
    DEFINE_PROP_UINT32("ethernet-mtu", type, m.mtu, UB_UBOE_MTU_MAX),       \
    DEFINE_PROP_UINT32("ethernet-retry", type, m.retry_ms, 1000),           \
    DEFINE_PROP_BOOL("ethernet-ecn", type, m.ecn, true),                    \
    DEFINE_PROP_BOOL("ethernet-answer", type, m.answer, true),              \
    DEFINE_PROP_STRING("ethernet-vlans", type, m.vlans),                    \
    DEFINE_PROP_STRING("ethernet-routes", type, m.routes)

/* Before the core is made; false: *errp says why not. */
bool ubc_ethernet_props_apply(UbcEtherNic *n, UbcEthernet *e, Error **errp);
void ubc_ethernet_props(ObjectClass *klass);

#endif
