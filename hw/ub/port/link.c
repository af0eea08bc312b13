/*
 * What a port asks of its link: Retrain Link, the handshake that goes before a
 * change of the encapsulation mode (UB 2.0 §4.3.3.8), and the end of a link
 * whose data link layer has stopped.
 *
 * Requests are noted and carried out by port_link_run(), outside of the
 * callbacks of both layers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "internal.h"

void port_link_forget(UbPort *p)
{
    p->link_wish = PORT_WISH_NONE;
    p->drop = false;
}

void port_link_up(UbPort *p)
{
    if (p->link_wish == PORT_WISH_NONE) {
        p->link_wish = PORT_WISH_MODE;
    }
}

void port_link_retrain(UbPort *p)
{
    p->link_wish = PORT_WISH_RETRAIN;
}

void port_link_stopped(UbPort *p)
{
    p->drop = p->conf.dll.down_recovers;
    port_kick(p);
}

UbPhyModeGate port_link_gate(const UbPort *p)
{
    static const UbPhyModeGate gates[] = {
        [UB_DLL_MODE_KEEP] = UB_PHY_MODE_KEEP,
        [UB_DLL_MODE_OWN] = UB_PHY_MODE_OWN,
        [UB_DLL_MODE_FOLLOW] = UB_PHY_MODE_FOLLOW,
    };

    return gates[ub_dll_mode_gate(p->dll)];
}

/* Both data link layers stand still, or the peer's does not answer: the Retrain
 * that was asked for, the latter without another mode. */
void port_link_mode_end(UbPort *p, bool ready)
{
    bool retrain = p->link_wish == PORT_WISH_RETRAIN;

    if (!ready) {
        p->ops.rule(p->opaque, UB_BROKEN_BY_PEER, "no answer to the change of "
                    "the encapsulation mode");
    }
    if (ready || retrain) {
        ub_phy_request(p->phy, p->now, retrain ? UB_PHY_REQ_TARGET
                                               : UB_PHY_REQ_RETRAIN);
    }
    p->link_wish = PORT_WISH_NONE;
    port_kick(p);
}

void port_link_run(UbPort *p)
{
    if (p->drop) {
        p->drop = false;
        ub_phy_request(p->phy, p->now, UB_PHY_REQ_DISABLE);
        ub_phy_request(p->phy, p->now, UB_PHY_REQ_ENABLE);
    }
    if (p->link_wish == PORT_WISH_NONE || !ub_phy_active(p->phy)) {
        return;
    }
    if (p->dll_up && ub_phy_wants_mode(p->phy)) {
        /* Nothing new if one is under way; mode_end() follows. */
        ub_dll_mode_change(p->dll, p->now);
    } else if (p->link_wish == PORT_WISH_RETRAIN) {
        ub_phy_request(p->phy, p->now, UB_PHY_REQ_TARGET);
        p->link_wish = PORT_WISH_NONE;
    } else if (p->dll_up) {
        p->link_wish = PORT_WISH_NONE;
    }
}
