/*
 * CFG1_CAP241: CIP of each Entity, for its own software and for the UBFM (UB 2.0
 * §11.5.2.1: keys come by registers).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE             /* explicit_bzero */
#endif
#include <glib.h>
#include <string.h>

#include "core/bytes.h"
#include "internal.h"
#include "ub/cip_hw.h"

/* What a command will take, and may not be read. */
typedef struct Staged {
    uint8_t iv[UB_CIP_IV_LEN], key[UB_CIP_KEY_MAX];
} Staged;

struct UbcCip {
    Ubc *ubc;
    unsigned entity;
    UbSlice *slice;
    Staged staged;
    uint32_t whole;             /* dwords of it that were written since it was wiped */
};

#define IV_WHOLE ((1u << UB_CIP_IV_LEN / 4) - 1)

_Static_assert(UB_CIP_KEY == UB_CIP_IV + UB_CIP_IV_LEN / 4 &&
               UB_CIP_COMMAND == UB_CIP_KEY + UB_CIP_KEY_MAX / 4 &&
               sizeof(Staged) == 4 * (UB_CIP_COMMAND - UB_CIP_IV),
               "what is staged are the dwords from IV on");
_Static_assert(UB_CIP_R_NO_POLICY == UB_CIP_NO_POLICY &&
               UB_CIP_R_BAD_POLICY == UB_CIP_BAD_POLICY &&
               UB_CIP_R_NO_KEY == UB_CIP_NO_KEY &&
               UB_CIP_R_RX_FIRST == UB_CIP_RX_FIRST &&
               UB_CIP_R_REUSED == UB_CIP_REUSED &&
               UB_CIP_R_NO_COMMAND == UB_CIP_NO_COMMAND &&
               UB_CIP_R_INCOMPLETE == UB_CIP_INCOMPLETE &&
               UB_CIP_CTRL__ON == UB_CIP_ON &&
               UB_CIP_CTRL__MIXED == UB_CIP_MIXED &&
               UB_CIP_CTRL__MANAGER == UB_CIP_MANAGER,
               "results and modes are those of cip.h");

static UbCip *cip_of(const UbcCip *c)
{
    return ub_sec_cip(ub_node_sec(c->ubc->node));
}

static bool is_staged(unsigned dw)
{
    return dw >= UB_CIP_IV && dw < UB_CIP_COMMAND;
}

/* What is not written is no key of zeroes: it is none. */
static void wipe(UbcCip *c)
{
    explicit_bzero(&c->staged, sizeof(c->staged));
    c->whole = 0;
}

/* ---- commands ---- */

static unsigned selected(const UbcCip *c, uint32_t mask)
{
    return UB_SPACE_GET(mask, ub_slice_get(c->slice, UB_CIP_SELECT));
}

#define POLICY(c) selected(c, UB_CIP_SELECT__POLICY)
#define SLOT(c) selected(c, UB_CIP_SELECT__SLOT)
#define WAY(c) (selected(c, UB_CIP_SELECT__TX) ? UB_CIP_TX : UB_CIP_RX)

static UbCipResult set_policy(UbcCip *c)
{
    uint32_t bits = ub_slice_get(c->slice, UB_CIP_POLICY);
    UbCipPolicy p = {
        .peer_policy = ub_slice_get(c->slice, UB_CIP_PEER_POLICY),
        .suite = UB_SPACE_GET(UB_CIP_POLICY__SUITE, bits),
        .hide = bits & UB_CIP_POLICY__HIDE,
        .clear = UB_SPACE_GET(UB_CIP_POLICY__CLEAR, bits),
    };

    for (unsigned i = 0; i < 4; i++) {
        put_be32(p.peer.b + 12 - 4 * i,
                 ub_slice_get(c->slice, UB_CIP_PEER_EID + i));
    }
    return ub_cip_set_policy(cip_of(c), c->entity, POLICY(c), &p);
}

static UbCipResult clear_policy(UbcCip *c)
{
    return ub_cip_set_policy(cip_of(c), c->entity, POLICY(c), NULL);
}

static UbCipResult set_key(UbcCip *c)
{
    uint32_t needed;
    UbCipView v;

    if (!ub_cip_view(cip_of(c), c->entity, POLICY(c), &v)) {
        return UB_CIP_NO_POLICY;
    }
    needed = ((1u << ub_cip_key_len(v.policy.suite) / 4) - 1)
             << (UB_CIP_KEY - UB_CIP_IV) | IV_WHOLE;
    if (~c->whole & needed) {
        return UB_CIP_INCOMPLETE;
    }
    return ub_cip_set_key(cip_of(c), c->entity, POLICY(c), WAY(c), SLOT(c),
                          c->staged.key, c->staged.iv);
}

static UbCipResult erase_key(UbcCip *c)
{
    return ub_cip_erase_key(cip_of(c), c->entity, POLICY(c), WAY(c), SLOT(c));
}

static UbCipResult use_slot(UbcCip *c)
{
    return ub_cip_use(cip_of(c), c->entity, POLICY(c), SLOT(c));
}

static void command(UbcCip *c, uint32_t code)
{
    static UbCipResult (*const commands[])(UbcCip *) = {
        [UB_CIP_CMD_SET_POLICY] = set_policy,
        [UB_CIP_CMD_CLEAR_POLICY] = clear_policy,
        [UB_CIP_CMD_SET_KEY] = set_key,
        [UB_CIP_CMD_ERASE_KEY] = erase_key,
        [UB_CIP_CMD_USE] = use_slot,
    };
    UbCipResult result = code < G_N_ELEMENTS(commands) && commands[code]
                         ? commands[code](c) : UB_CIP_NO_COMMAND;

    wipe(c);
    ub_slice_set(c->slice, UB_CIP_RESULT, ~0u, result);
    ubc_kick(c->ubc);
}

/* ---- registers ---- */

/* Bytes of a dword whose others nobody knows make it unknown. */
static void stage(UbcCip *c, const UbSliceWrite *w)
{
    unsigned i = w->dw - UB_CIP_IV;

    if (w->byte_en == 0xf) {
        put_le32((uint8_t *)&c->staged + 4 * i, w->value);
        c->whole |= 1u << i;
    } else if (w->byte_en) {
        put_le32((uint8_t *)&c->staged + 4 * i, 0);
        c->whole &= ~(1u << i);
        ubc_guest_error(c->ubc, -1, "part of a dword of a CIP key or IV");
    }
}

static void written(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    UbcCip *c = opaque;

    if (is_staged(w->dw)) {
        stage(c, w);
        ub_slice_set(s, w->dw, ~0u, 0);
    } else if (w->dw == UB_CIP_CTRL) {
        ub_cip_set_mode(cip_of(c), c->entity, w->value);
    } else if (w->dw == UB_CIP_COMMAND) {
        ub_slice_set(s, w->dw, ~0u, 0);
        command(c, w->value);
    }
}

static uint32_t state_of(const UbCipView *v)
{
    uint32_t state = v->set ? UB_CIP_STATE__SET : 0;

    for (unsigned i = 0; i < UB_CIP_SLOTS; i++) {
        state |= v->keyed[UB_CIP_RX][i]
                 ? UB_SPACE_PUT(UB_CIP_STATE__RX_KEYED, 1u << i) : 0;
        state |= v->keyed[UB_CIP_TX][i]
                 ? UB_SPACE_PUT(UB_CIP_STATE__TX_KEYED, 1u << i) : 0;
    }
    if (v->use >= 0) {
        state |= UB_CIP_STATE__SENDS |
                 UB_SPACE_PUT(UB_CIP_STATE__SENDS_BY, v->use);
    }
    return state;
}

static void refresh(void *opaque, UbSlice *s, unsigned dw)
{
    UbcCip *c = opaque;
    UbCipView v;
    uint64_t sn;

    if (dw != UB_CIP_STATE && dw != UB_CIP_SN) {
        return;
    }
    ub_cip_view(cip_of(c), c->entity, POLICY(c), &v);
    sn = v.sn[WAY(c)][SLOT(c)];
    if (WAY(c) == UB_CIP_TX && sn > c->ubc->conf.node.cip.sn_last) {
        sn = UINT32_MAX;
    }
    ub_slice_set(s, dw, ~0u, dw == UB_CIP_STATE ? state_of(&v) : sn);
}

/* ---- life ---- */

static uint32_t limits(const UbcConfig *conf)
{
    return UB_SPACE_PUT(UB_CIP_LIMITS__POLICIES, UB_CIP_POLICIES) |
           UB_SPACE_PUT(UB_CIP_LIMITS__SLOTS, UB_CIP_SLOTS) |
           UB_SPACE_PUT(UB_CIP_LIMITS__SUITES, 1u << UB_CIP_AES_256_GCM |
                                               1u << UB_CIP_SM4_128_GCM) |
           UB_SPACE_PUT(UB_CIP_LIMITS__WINDOW,
                        __builtin_ctz(conf->node.cip.window));
}

#define RW(at, bits, text) { .dw = at, .rw = bits, .name = text }
#define EID(i) RW(UB_CIP_PEER_EID + i, ~0u, "Peer EID")
#define IV(i) RW(UB_CIP_IV + i, ~0u, "IV")
#define KEY(i) RW(UB_CIP_KEY + i, ~0u, "Key")

static const UbSpaceDword dwords[] = {
    { .dw = UB_CIP_HEADER, .reset = UB_CIP_USED << 4, .name = "Slice Header" },
    { .dw = UB_CIP_LIMITS, .name = "Limits" },
    RW(UB_CIP_CTRL, UB_CIP_MODES, "Control"),
    RW(UB_CIP_SELECT, UB_CIP_SELECT__POLICY | UB_CIP_SELECT__SLOT |
                      UB_CIP_SELECT__TX, "Select"),
    EID(0), EID(1), EID(2), EID(3),
    RW(UB_CIP_PEER_POLICY, UB_CIP_PEERS - 1, "Peer Policy"),
    RW(UB_CIP_POLICY, UB_CIP_POLICY__SUITE | UB_CIP_POLICY__HIDE |
                      UB_CIP_POLICY__CLEAR, "Policy"),
    IV(0), IV(1), IV(2),
    KEY(0), KEY(1), KEY(2), KEY(3), KEY(4), KEY(5), KEY(6), KEY(7),
    RW(UB_CIP_COMMAND, ~0u, "Command"),
    { .dw = UB_CIP_RESULT, .name = "Result" },
    { .dw = UB_CIP_STATE, .name = "State" },
    { .dw = UB_CIP_SN, .name = "SN" },
};

static void attach(Ubc *ubc, unsigned entity)
{
    static const UbSliceOps ops = { written, refresh };
    static const UbSpaceSlice slice = {
        "CFG1_CAP241_VD", UB_SPACE_CFG1, UB_CIP_CAP, UB_CIP_USED,
        dwords, G_N_ELEMENTS(dwords),
    };
    UbcCip *c = &ubc->cip[entity];

    c->ubc = ubc;
    c->entity = entity;
    c->slice = ub_space_attach_at(ubc_space_of(ubc, entity),
                                  UB_CFG_CAP(UB_CFG1_BASE, UB_CIP_CAP), &slice,
                                  &ops, c);
    ub_slice_init(c->slice, UB_CIP_LIMITS, ~0u, limits(&ubc->conf));
}

void ubc_cip_init(Ubc *ubc)
{
    if (ubc->conf.cip) {
        ubc->cip = g_new0(UbcCip, ubc->conf.entities);
        for (unsigned i = 0; i < ubc->conf.entities; i++) {
            attach(ubc, i);
        }
    }
}

void ubc_cip_free(Ubc *ubc)
{
    ubc_cip_reset(ubc);
    g_free(ubc->cip);
}

void ubc_cip_reset_entity(Ubc *ubc, unsigned entity)
{
    if (ubc->cip) {
        wipe(&ubc->cip[entity]);
        ub_cip_reset_entity(cip_of(&ubc->cip[entity]), entity);
    }
}

void ubc_cip_reset(Ubc *ubc)
{
    for (unsigned i = 0; ubc->cip && i < ubc->conf.entities; i++) {
        wipe(&ubc->cip[i]);
    }
}

/* CTRL is of one part of an image, the mode that it shows of another. */
const char *ubc_cip_loaded(Ubc *ubc)
{
    UbCip *cip = ub_sec_cip(ub_node_sec(ubc->node));

    for (unsigned i = 0; cip && i < UB_SEC_ENTITIES; i++) {
        uint32_t shown = ubc->cip && i < ubc->conf.entities
                         ? ub_slice_get(ubc->cip[i].slice, UB_CIP_CTRL) : 0;

        if (ub_cip_mode(cip, i) != shown) {
            return "CIP of an Entity is not in the mode that CTRL shows";
        }
    }
    return NULL;
}

/* Dword @dw of the configuration space of an Entity. */
static bool dword_secret(const Ubc *ubc, uint32_t dw)
{
    uint32_t base = UB_CFG_CAP(UB_CFG1_BASE, UB_CIP_CAP);

    return ubc->cip && dw >= base && is_staged(dw - base);
}

bool ubc_secret(const Ubc *ubc, uint32_t offset)
{
    return offset >= UBC_CFG_WINDOW &&
           offset < UBC_CFG_WINDOW + UBC_CFG_WINDOW_SIZE
           ? dword_secret(ubc, (offset - UBC_CFG_WINDOW) / 4)
           : offset == UBC_CFG_DATA && dword_secret(ubc, ubc->cfg_addr);
}
