/*
 * Credits and acknowledgements (UB 2.0 §4.6, §4.7.3.2.3, §4.7.3.2.4).
 *
 * Two ledgers.  Ours to send with: crd_init (granted), crd (in hand, per VL)
 * and crd_share.  The peer's to send with: granted, held (in use, or free but
 * not yet given back) and, of held, pending (free, waiting for a carrier).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define MAX_CELLS 65535 /* §4.6.2 note 2 */
/* ns that credit which no DLLDP carries waits where none waits for one. */
#define BUSY_DELAY INT64_C(1000000)

void credit_reset(UbDll *d)
{
    UbDllVars *v = &d->v;

    memset(v->crd_init, 0, sizeof(v->crd_init));
    memset(v->crd, 0, sizeof(v->crd));
    memset(v->quota, 0, sizeof(v->quota));
    memset(v->granted, 0, sizeof(v->granted));
    memset(v->held, 0, sizeof(v->held));
    memset(v->pending, 0, sizeof(v->pending));
    d->owing = 0;
    v->shared = false;
    v->crd_total = v->crd_share = 0;
    v->granted_total = v->held_total = 0;
    v->pending_ack = 0;
    v->next_crd_vl = 0;
    v->credit_at = v->keepalive_at = v->return_at = NEVER;
    v->keepalive_due = v->return_due = false;
}

/* Refill the exclusive parts out of SHARE_CRD, lowest VL first (§4.6.1.3). */
static void refill(UbDll *d)
{
    UbDllVars *v = &d->v;

    for (unsigned vl = 0; vl < UB_VLS && v->crd_share; vl++) {
        if (v->crd[vl] < v->quota[vl]) {
            uint32_t take = MIN(v->quota[vl] - v->crd[vl], v->crd_share);

            v->crd[vl] += take;
            v->crd_share -= take;
        }
    }
}

/* Initial credits are complete: set the exclusive parts aside.  Each VL in use
 * gets one (§4.6.1.3): a packet of full length, but not more than half of its
 * equal part, unless configured; and none so much that another goes without. */
void credit_carve(UbDll *d)
{
    UbDllVars *v = &d->v;
    uint32_t part = v->crd_total / __builtin_popcount(v->agreed.vl_enable);
    uint32_t automatic = MIN(dll_cells(d, UB_DLLDP_FLITS), part / 2);

    for (unsigned vl = 0; vl < UB_VLS; vl++) {
        uint32_t quota = d->cfg.share_quota[vl];

        quota = quota ? MIN(quota, part) : automatic;
        v->quota[vl] = v->agreed.vl_enable >> vl & 1 ? quota : 0;
    }
    refill(d);
}

/* What a packet on @vl may cost at most, with nothing else under way. */
uint32_t credit_most(const UbDll *d, unsigned vl)
{
    const UbDllVars *v = &d->v;
    uint32_t most = v->crd_total;

    if (d->cfg.fault_credit == UB_DLL_FAULT_OVERRUN) {
        return UINT32_MAX;
    }
    if (!v->shared) {
        return v->crd_init[vl];
    }
    for (unsigned other = 0; other < UB_VLS; other++) {
        most -= other != vl ? v->quota[other] : 0;
    }
    return most;
}

bool credit_enough(const UbDll *d, unsigned vl, unsigned cells)
{
    return d->cfg.fault_credit == UB_DLL_FAULT_OVERRUN ||
           d->v.crd[vl] + d->v.crd_share >= cells;
}

/* Shared credit first, the missing part from the VL's own (§4.6.1.3). */
void credit_take(UbDll *d, unsigned vl, unsigned cells)
{
    UbDllVars *v = &d->v;
    uint32_t from_share = MIN(cells, v->crd_share);

    v->crd_share -= from_share;
    /* Less than it costs is there with a fault of ours alone. */
    v->crd[vl] -= MIN(cells - from_share, v->crd[vl]);
}

/* Credit back that a packet was given but did not use. */
void credit_untake(UbDll *d, unsigned vl, unsigned cells)
{
    if (d->v.shared) {
        d->v.crd_share += cells;
        refill(d);
    } else {
        d->v.crd[vl] += cells;
    }
}

/* Cells from the peer, initial or returned. */
void credit_grant(UbDll *d, unsigned vl, unsigned cells, bool initial)
{
    UbDllVars *v = &d->v;
    uint32_t in_hand = v->crd_share;

    if (!(v->agreed.vl_enable >> vl & 1)) {
        dll_peer_error(d, "credit for a VL that is not in use");
        return;
    }
    if (initial) {
        if (v->crd_total + cells > MAX_CELLS) {
            dll_error(d, UB_DLL_ERR_FC_OVERFLOW,
                      "more than 65535 cells granted");
            return;
        }
        v->crd_init[vl] += cells;
        v->crd_total += cells;
    }
    if (v->shared) {
        for (unsigned i = 0; i < UB_VLS; i++) {
            in_hand += v->crd[i];
        }
        if (in_hand + cells > v->crd_total) {
            dll_error(d, UB_DLL_ERR_FC_OVERFLOW,
                      "returned credit exceeds the initial one");
            return;
        }
        v->crd_share += cells;
        refill(d);
    } else {
        if (v->crd[vl] + cells > v->crd_init[vl]) {
            dll_error(d, UB_DLL_ERR_FC_OVERFLOW,
                      "returned credit exceeds the initial one");
            return;
        }
        v->crd[vl] += cells;
    }
    v->credit_at = NEVER;
}

/* A DLLDP of the peer occupies the Receive Buffer.  False: it had no credit
 * for that.  When we offered a shared buffer only the sum counts. */
bool credit_rx_claim(UbDll *d, unsigned vl, unsigned cells)
{
    UbDllVars *v = &d->v;

    if (v->wish.rxbuf_vl_share
        ? v->held_total + cells > v->granted_total
        : v->held[vl] + cells > v->granted[vl]) {
        return false;
    }
    v->held[vl] += cells;
    v->held_total += cells;
    return true;
}

/* Receive Buffer space is free again; the credit waits for a carrier. */
void credit_rx_release(UbDll *d, unsigned vl, unsigned cells)
{
    UbDllVars *v = &d->v;

    cells = MIN(cells, v->held[vl] - v->pending[vl]);
    v->pending[vl] += cells;
    d->owing |= (v->pending[vl] > 0) << vl;
}

static void give_back(UbDll *d, unsigned vl, uint32_t cells)
{
    UbDllVars *v = &d->v;

    v->pending[vl] -= cells;
    d->owing &= ~((v->pending[vl] == 0) << vl);
    v->held[vl] -= cells;
    v->held_total -= cells;
    v->keepalive_at = NEVER;
}

/* CRD, CRD_VL and ACK of the next LPH or LBH, in LPH position.  One VL per
 * header, in turn (§4.6.3). */
uint32_t credit_header_bits(UbDll *d)
{
    UbDllVars *v = &d->v;
    uint32_t bits = 0, owing = d->owing;
    uint32_t from_next = (owing | owing << UB_VLS) >> v->next_crd_vl &
                         ((1u << UB_VLS) - 1);

    for (; from_next; from_next &= from_next - 1) {
        unsigned vl = (v->next_crd_vl + __builtin_ctz(from_next)) % UB_VLS;
        uint32_t grain = v->agreed.data_credit_grain[vl];

        if (v->pending[vl] >= grain) {
            bits |= UB_LPH_CRD | vl << 26;
            give_back(d, vl, grain);
            v->next_crd_vl = (vl + 1) % UB_VLS;
            break;
        }
    }
    if (v->pending_ack >= v->agreed.data_ack_grain) {
        v->pending_ack -= v->agreed.data_ack_grain;
        bits |= UB_LPH_ACK;
    }
    return bits;
}

/* Credit that a Crd_Ack can express. */
static bool owes(const UbDll *d, unsigned vl)
{
    return d->v.pending[vl] >= d->v.agreed.ctrl_credit_grain[vl];
}

/* Credit that waits for nothing but a time. */
static bool owes_late(const UbDll *d)
{
    for (uint32_t vls = d->owing; vls; vls &= vls - 1) {
        unsigned vl = __builtin_ctz(vls);

        if (owes(d, vl) && !d->cfg.crd_return[vl]) {
            return true;
        }
    }
    return false;
}

unsigned credit_ack_units(const UbDll *d)
{
    return MIN(d->v.pending_ack / d->v.agreed.ctrl_ack_grain, 0xffffu);
}

/* Flits to acknowledge at which a Crd_Ack goes out.  A mark that the peer's
 * buffer cannot reach would leave it full: at most half of it less a block, or
 * a quarter; and what is in it when a peer with a reserve like ours stands
 * still. */
static uint32_t ack_mark(const UbDll *d, uint16_t configured, uint32_t automatic)
{
    uint32_t depth = d->v.peer_depth;
    uint32_t most = MAX(depth / 4, depth / 2 - MIN(depth / 2, UB_BLOCK_FLITS));
    uint32_t mark = configured ? MIN(configured, most) : automatic;
    uint32_t rest = UB_BLOCK_FLITS + d->cfg.crd_ack_reserve;

    return depth > rest ? MIN(mark, depth - rest) : mark;
}

/*
 * Cells to give back at which a Crd_Ack goes out, with a DLLDP to send or without: what
 * stays here must leave the peer enough for the longest packet.  §4.6.3 has DLLDPs carry
 * them, and a Crd_Ack if there are none: with nothing configured few of them wait for one
 * a little, since each Crd_Ack takes a turn of both ends.
 */
static uint32_t crd_mark(const UbDll *d, unsigned vl, bool dlldp_next)
{
    uint32_t granted = d->v.granted[vl];
    uint32_t longest = dll_cells(d, UB_DLLDP_FLITS);
    uint32_t mark = dlldp_next ? d->cfg.crd_force[vl] : d->cfg.crd_return[vl];

    if (!mark && dlldp_next) {
        mark = granted / 2;
    } else if (!mark) {
        mark = d->cfg.credit_delay ? granted / 8 : 1;
    }
    return MIN(mark, granted - MIN(granted, longest) + 1);
}

void credit_poll(UbDll *d, int64_t now)
{
    UbDllVars *v = &d->v;

    if (!owes_late(d)) {
        v->return_at = NEVER;
        v->return_due = false;
    } else if (now >= v->return_at) {
        v->return_at = NEVER;
        v->return_due = true;
        dll_kick(d);
    } else if (v->return_at == NEVER && !v->return_due) {
        v->return_at = now + (d->cfg.credit_delay ? d->cfg.credit_delay : BUSY_DELAY);
    }
}

/*
 * Is a Crd_Ack due before anything of lower rank?
 *
 * Acknowledgements alone become due at a mark of a quarter of the peer's
 * buffer, never by the flits of a few Crd_Acks, so two idle ends fall silent.
 * With less than the reserve left in our own Retry Buffer a Crd_Ack must
 * release more than it costs, or two full ends could block each other for
 * good (§4.7.3.2.4).
 */
bool credit_wants_crd_ack(const UbDll *d, bool dlldp_next)
{
    const UbDllVars *v = &d->v;
    uint32_t acks = credit_ack_units(d) * v->agreed.ctrl_ack_grain;
    bool want;

    if (v->state < UB_DLL_CREDIT_INIT) {
        return false;
    }
    want = acks && v->pending_ack >=
           (dlldp_next ? ack_mark(d, d->cfg.ack_force, v->peer_depth / 2)
                       : ack_mark(d, d->cfg.ack_return, v->peer_depth / 4));
    /* DLLDPs carry no less than their grain, and of one VL each. */
    want = want || (v->return_due && owes_late(d));
    for (uint32_t vls = d->owing; vls && !want; vls &= vls - 1) {
        unsigned vl = __builtin_ctz(vls);

        want = owes(d, vl) && v->pending[vl] >= crd_mark(d, vl, dlldp_next);
    }
    /* DLLDPs do not show the peer that credit will come. */
    want = want || v->keepalive_due;
    if (want && v->num_free <= 2u + d->cfg.crd_ack_reserve && acks < 4) {
        want = false;
    }
    return want && retry_room(d, 2, true);
}

/* Crd_Ack with T = 0: all credits that fit, and the ACKs. */
unsigned credit_crd_ack_block(UbDll *d, uint8_t *out)
{
    UbDllVars *v = &d->v;
    UbCrdAck ca = { .ack_num = credit_ack_units(d) };

    v->pending_ack -= ca.ack_num * v->agreed.ctrl_ack_grain;
    for (unsigned vl = 0; vl < UB_VLS && v->state == UB_DLL_NORMAL; vl++) {
        unsigned grain = v->agreed.ctrl_credit_grain[vl];

        ca.crd_num[vl] = MIN(63, v->pending[vl] / grain);
        if (ca.crd_num[vl]) {
            give_back(d, vl, ca.crd_num[vl] * grain);
            if (d->cfg.fault_credit == UB_DLL_FAULT_OVERGRANT) {
                ca.crd_num[vl] = 63;
            }
        }
    }
    v->keepalive_due = false;
    v->keepalive_at = NEVER;
    /* What is free from here on has a time of its own. */
    if (!owes_late(d)) {
        v->return_at = NEVER;
        v->return_due = false;
    }
    return ub_put_crd_ack(dll_format(d), out, &ca);
}

/* The peer acknowledged @flits (§4.7.3.2.2): check first, then release. */
void credit_ack_rx(UbDll *d, uint32_t flits)
{
    UbDllVars *v = &d->v;

    if (v->num_free + flits > v->depth) {
        dll_error(d, UB_DLL_ERR_PROTOCOL,
                  "ACK releases more than the Retry Buffer holds");
        return;
    }
    v->num_free += flits;
    v->tail_ptr = ring_add(v->tail_ptr, flits, v->depth);
}

/* Could the peer be out of credit for a packet of full length? */
bool credit_may_starve(const UbDll *d)
{
    const UbDllVars *v = &d->v;
    uint32_t most = dll_cells(d, UB_DLLDP_FLITS);

    for (unsigned vl = 0; vl < UB_VLS; vl++) {
        if (v->granted[vl] && v->held[vl] &&
            v->granted[vl] - MIN(v->held[vl], v->granted[vl]) < most) {
            return true;
        }
    }
    return false;
}
