/*
 * The part of a UB controller's configuration space that no port owns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/bytes.h"
#include "internal.h"

static bool slice_exists(const UbSpaceSlice *slice)
{
    /* Hot plug, message queue and memory belong to floors not built yet. */
    static const char *const absent[] = {
        "CFG0_CAP5_EMQ", "CFG1_CAP2_JETTY", "CFG1_CAP6_UB_MEM",
        "CFG1_CAP1_DECODER",
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(absent); i++) {
        if (!strcmp(slice->name, absent[i])) {
            return false;
        }
    }
    return true;
}

static void space_written(void *opaque, uint32_t dw, int port, unsigned cap,
                          uint32_t now, uint32_t changed, uint32_t trigger)
{
    Ubc *ubc = opaque;

    if (port >= 0) {
        UbcEnd *e = &ubc->end[port];

        if (dw == UB_CFG_PORT_BASE(port) + UB_PORT_BASIC_PORT_RST && trigger) {
            ubc_raw_drop(e);
        }
        ub_port_written(e->port, ubc->now, dw, cap, now, changed, trigger);
    } else if (dw == UB_CFG0_BASE + UB_CFG0_BASIC_DEV_RST && trigger) {
        ubc->reset_pending = true;
    } else if (dw == UB_CFG1_BASE + UB_CFG1_BASIC_ELR && trigger) {
        ub_space_reset(ubc->space, UB_SPACE_RESET_ENTITY, 0);
        ub_space_set(ubc->space, UB_CFG1_BASE + UB_CFG1_BASIC_ELR_DONE, 1, 1);
    }
    ubc_kick(ubc);
}

static void space_refresh(void *opaque, uint32_t dw, int port, unsigned cap)
{
    Ubc *ubc = opaque;

    if (port >= 0) {
        ub_port_refresh(ubc->end[port].port, dw, cap);
    }
}

static const UbSpaceOps space_ops = { space_written, space_refresh };

UbSpace *ubc_space_new(Ubc *ubc)
{
    UbSpace *space = ub_space_new(ubc->ports, slice_exists, &space_ops, ubc);

    ub_space_init(space, UB_CFG0_BASE + UB_CFG0_BASIC_TOTAL_NUMBER_OF_PORTS,
                  ~0u, 1u << 16 | ubc->ports);
    /* Entity Available, MTU 8192 bytes (code 2). */
    ub_space_init(space, UB_CFG0_BASE + UB_CFG0_BASIC_SUPPORTED_FEATURE, 0xf,
                  1 | 2 << 1);
    for (unsigned i = 0; i < 4; i++) {
        ub_space_init(space, UB_CFG0_BASE + UB_CFG0_BASIC_GUID + i, ~0u,
                      get_be32(ubc->conf.guid + 12 - 4 * i));
    }
    return space;
}
