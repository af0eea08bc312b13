/*
 * CFG0_BASIC and CFG1_BASIC: the slices of the configuration space that no port
 * owns (UB 2.0 §D.2.1, §D.4.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/bytes.h"
#include "internal.h"

static void written_cfg0(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    Ubc *ubc = opaque;

    if (w->dw == UB_CFG0_DEV_RST && w->trigger) {
        ubc->reset_pending = true;
        ubc_kick(ubc);
    }
}

static void written_cfg1(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    Ubc *ubc = opaque;

    if (w->dw == UB_CFG1_ELR && w->trigger) {
        ub_space_reset(ubc->space, UB_SPACE_RESET_ENTITY, 0);
        ub_slice_set(s, UB_CFG1_ELR_DONE, 1, 1);
    }
}

/* 128 bits, most significant byte first, in four dwords from the least one on. */
static void init_128(UbSlice *s, unsigned dw, const uint8_t value[16])
{
    for (unsigned i = 0; i < 4; i++) {
        ub_slice_init(s, dw + i, ~0u, get_be32(value + 12 - 4 * i));
    }
}

static void init_identity(Ubc *ubc)
{
    const UbcConfig *c = &ubc->conf;
    UbSlice *s = ubc->cfg0;

    init_128(s, UB_CFG0_GUID, c->guid);
    init_128(s, UB_CFG0_EID, c->eid);
    init_128(s, UB_CFG0_UBFM_EID, c->fm_eid);
    ub_slice_init(s, UB_CFG0_PRIMARY_CNA, UB_CFG0_PRIMARY_CNA__ALL, c->cna);
    ub_slice_init(s, UB_CFG0_UBFM_CNA, UB_CFG0_UBFM_CNA__ALL, c->fm_cna);
    ub_slice_init(s, UB_CFG0_UPI, UB_CFG0_UPI__ALL, c->upi);
}

UbSpace *ubc_space_new(Ubc *ubc)
{
    static const UbSliceOps cfg0_ops = { written_cfg0, NULL };
    static const UbSliceOps cfg1_ops = { written_cfg1, NULL };
    UbSpace *space = ub_space_new(ubc->ports);
    UbSlice *s = ub_space_attach(space, UB_SPACE_CFG0, 0, 0, &cfg0_ops, ubc);

    ub_space_attach(space, UB_SPACE_CFG1, 0, 0, &cfg1_ops, ubc);
    ub_slice_init(s, UB_CFG0_TOTAL_NUMBER_OF_PORTS, ~0u,
                  1u << 16 | ubc->ports);
    /* Entity Available, MTU 8192 bytes (code 2). */
    ub_slice_init(s, UB_CFG0_SUPPORTED_FEATURE, 0xf, 1 | 2 << 1);
    ubc->cfg0 = s;
    init_identity(ubc);
    return space;
}

void ubc_set_guid(Ubc *ubc, const uint8_t guid[16])
{
    memcpy(ubc->conf.guid, guid, sizeof(ubc->conf.guid));
    init_128(ubc->cfg0, UB_CFG0_GUID, guid);
    for (unsigned i = 0; i < ubc->ports; i++) {
        ub_port_set_guid(ubc->end[i].port, guid);
    }
}
