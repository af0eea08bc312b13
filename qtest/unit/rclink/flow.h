/*
 * What tests of credits share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef FLOW_H
#define FLOW_H

#include "type1.h"

/* AFH_CFG_EN with CBFC (RC Link §12.14.4), layout A, and UF limit @uf of all. */
static inline uint64_t cbfc_cfg(uint64_t format, unsigned uf, bool dynamic)
{
    return format | UINT64_C(0x3f) << RCL_CFG_CBFC_BANK0 |
           UINT64_C(0x1ac688) << RCL_CFG_VC_MAP |
           UINT64_C(1) << RCL_CFG_CBFC_TYPE2 |
           (uint64_t)(uf | uf << 3 | uf << 6 | uf << 9) << RCL_CFG_UF_TYPE1 |
           (uint64_t)dynamic << RCL_CFG_DYNAMIC |
           UINT64_C(0xff) << RCL_CFG_VC_OPEN;
}

static inline uint64_t credit_word(unsigned size, int ovhd, unsigned limit)
{
    return size | (uint64_t)(ovhd & 0x3ff) << RCL_CBFC_OVHD_SHIFT |
           (uint64_t)limit << RCL_CBFC_LIMIT_SHIFT;
}

static inline void setup_credits(RigEnd *e, unsigned size, int ovhd,
                                 unsigned limit)
{
    for (unsigned v = 0; v < 8; v++) {
        rig_set(e, RCL_MAC_CBFC_CFG(v), credit_word(size, ovhd, limit));
    }
    rig_set(e, RCL_CBFC_RST, 0xff);
}

static inline unsigned credits_left(RigEnd *e, unsigned vc)
{
    RclInfo info;

    rclink_info(e->d, &info);
    return info.vc[vc].left;
}

static inline void post_len(RigEnd *e, unsigned qp, unsigned n, size_t len)
{
    for (unsigned i = 0; i < n; i++) {
        rig_post(e, qp, len, i, 0);
    }
    rig_settle(e->rig);
}

static inline unsigned frames(RigEnd *e)
{
    unsigned n = 0;
    GBytes *b;

    while ((b = rig_frame(e)) != NULL) {
        n++;
        g_bytes_unref(b);
    }
    return n;
}

#endif
