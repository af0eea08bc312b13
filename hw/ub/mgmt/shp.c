/*
 * Hot-plug slots (UB 2.0 appendix G, §D.2.1).
 *
 * Registers follow at once what is written, what has to do with ports and messages
 * waits for the next run: a register may be written from within a port.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "internal.h"
#include "ub/shp.h"

#define NEVER INT64_MAX

typedef struct ShpSlot {
    uint64_t wires;     /* ports that have a byte stream */
    bool pulled;        /* out, by hand */
    bool on;            /* has power … */
    bool good;          /* … and has had it long enough */
    bool fed;           /* its ports may train */
    bool lost;          /* has none, but had, which may come again … */
    int64_t good_at;
    int64_t lost_at;    /* … until then */
    bool tell;          /* the UBFM is to hear of presence */
    UbShpInfo told;     /* what the last change made it */
} ShpSlot;

struct UbShp {
    UbShpConfig cfg;
    UbMgmt *mgmt;
    UbShpOps ops;
    void *opaque;
    UbSpaceSlice table;
    UbSlice *slice;     /* NULL: there are no slots */
    ShpSlot slot[UB_SHP_SLOTS];
};

/* ---- Configuration ---- */

void ub_shp_config_init(UbShpConfig *cfg)
{
    *cfg = (UbShpConfig) { .settle = 100000000, .hold = 1000000000 };
}

const char *ub_shp_config_check(const UbShpConfig *cfg, unsigned ports)
{
    uint64_t used = 0;

    if (cfg->slots > UB_SHP_SLOTS) {
        return "there are at most 15 slots";
    }
    if (cfg->settle < 0 || cfg->hold < 0) {
        return "times of slots are not negative";
    }
    for (unsigned i = 0; i < cfg->slots; i++) {
        if (cfg->slot[i].first > cfg->slot[i].last ||
            cfg->slot[i].last >= ports) {
            return "a slot has ports that are there, the lowest first";
        }
        for (unsigned p = cfg->slot[i].first; p <= cfg->slot[i].last; p++) {
            if (used >> p & 1) {
                return "a port is in one slot";
            }
            used |= UINT64_C(1) << p;
        }
    }
    return NULL;
}

static bool take_port(const char **text, uint8_t *port)
{
    char *rest;
    unsigned long n;

    if (!g_ascii_isdigit(**text)) {
        return false;
    }
    n = strtoul(*text, &rest, 10);
    *text = rest;
    *port = n;
    return n < UB_MGMT_MAX_PORTS;
}

bool ub_shp_config_add(UbShpConfig *cfg, const char *text)
{
    uint8_t first, last;
    bool on;

    if (cfg->slots == UB_SHP_SLOTS || !take_port(&text, &first)) {
        return false;
    }
    last = first;
    if (*text == '-') {
        text++;
        if (!take_port(&text, &last)) {
            return false;
        }
    }
    on = *text == '+';
    text += on;
    if (*text) {
        return false;
    }
    cfg->slot[cfg->slots].first = first;
    cfg->slot[cfg->slots].last = last;
    cfg->slot[cfg->slots++].on = on;
    return true;
}

/* ---- Registers ---- */

static uint32_t get(const UbShp *shp, unsigned slot, unsigned reg)
{
    return ub_slice_get(shp->slice, UB_SHP_REG(slot, reg));
}

static bool same_info(const UbShpInfo *a, const UbShpInfo *b)
{
    return a->work_led == b->work_led && a->power_led == b->power_led &&
           a->power == b->power && a->present == b->present &&
           a->seated == b->seated && a->heard == b->heard;
}

/* Most writes change nothing that anybody in front of the machine sees. */
static void tell_change(UbShp *shp, unsigned slot)
{
    UbShpInfo info;

    ub_shp_info(shp, slot, &info);
    if (same_info(&info, &shp->slot[slot].told)) {
        return;
    }
    shp->slot[slot].told = info;
    if (shp->ops.changed) {
        shp->ops.changed(shp->opaque, slot);
    }
}

/* Somebody is at the other end, or was just now. */
static bool occupied(const ShpSlot *s)
{
    return !s->pulled && (s->wires || s->lost);
}

/* PD_ST and PDSC_ST. */
static void show_presence(UbShp *shp, unsigned slot)
{
    ShpSlot *s = &shp->slot[slot];
    bool was = get(shp, slot, UB_SHP_PD_ST);
    bool is = s->good && occupied(s) && get(shp, slot, UB_SHP_PD_CTRL);

    if (is == was) {
        return;
    }
    ub_slice_set(shp->slice, UB_SHP_REG(slot, UB_SHP_PD_ST), 1, is);
    if (get(shp, slot, UB_SHP_PDS_CTRL)) {
        ub_slice_set(shp->slice, UB_SHP_REG(slot, UB_SHP_PDSC_ST), 1, 1);
        s->tell = get(shp, slot, UB_SHP_MS_CTRL);
        shp->ops.kick(shp->opaque);
    }
    tell_change(shp, slot);
}

/* §D.2.1: ports lose what they have, also if power is back before the next run. */
static void cut_power(UbShp *shp, unsigned slot)
{
    ShpSlot *s = &shp->slot[slot];

    s->on = s->good = false;
    s->good_at = NEVER;
    show_presence(shp, slot);
}

static void written(void *opaque, UbSlice *slice, const UbSliceWrite *w)
{
    UbShp *shp = opaque;
    unsigned slot = (w->dw - UB_SHP_CAPABILITY) / 0x10;
    unsigned reg = w->dw - UB_SHP_REG(slot, 0);

    if ((reg == UB_SHP_WL_CTRL || reg == UB_SHP_PL_CTRL) &&
        w->value == UB_SHP_LED_RESERVED) {
        ub_slice_set(slice, w->dw, ~0u, w->value ^ w->changed);
        return;
    }
    if (!w->changed) {
        return;
    }
    if (reg == UB_SHP_PD_CTRL) {
        show_presence(shp, slot);
    } else if (reg == UB_SHP_PW_CTRL) {
        if (!w->value) {
            cut_power(shp, slot);
        }
        shp->ops.kick(shp->opaque);
    }
    tell_change(shp, slot);
}

static void add_row(UbSpaceDword **row, unsigned slot, unsigned reg,
                    const UbSpaceDword *as)
{
    **row = *as;
    (*row)++->dw = UB_SHP_REG(slot, reg);
}

/* Rows of the slice, which is as long as there are slots. */
static void make_table(UbShp *shp)
{
    static const UbSpaceDword bit = { .rw = 1, .name = "SHP Control" };
    static const UbSpaceDword led = { .rw = 3, .name = "SHP Control" };
    static const UbSpaceDword cleared = { .w1c = 1, .name = "SHP Status" };
    UbSpaceDword *dw = g_new0(UbSpaceDword, 2 + 14 * shp->cfg.slots), *d = dw;

    *d++ = (UbSpaceDword) { .dw = 0, .name = "Slice Header",
                            .reset = UB_SHP_USED(shp->cfg.slots) << 4 };
    *d++ = (UbSpaceDword) { .dw = UB_SHP_SLOT_NUMBER, .name = "Slot Number",
                            .reset = shp->cfg.slots };
    for (unsigned i = 0; i < shp->cfg.slots; i++) {
        const UbSpaceDword cap = { .name = "SHP Capability",
                                   .reset = UB_SHP_CAP_ALL };
        const UbSpaceDword ports = {
            .name = "Slot Port",
            .reset = UB_SPACE_PUT(UB_SHP_PORTS__FIRST, shp->cfg.slot[i].first) |
                     UB_SPACE_PUT(UB_SHP_PORTS__LAST, shp->cfg.slot[i].last),
        };
        UbSpaceDword power = bit;

        power.reset = shp->cfg.slot[i].on;
        add_row(&d, i, UB_SHP_CAPABILITY, &cap);
        add_row(&d, i, UB_SHP_PORTS, &ports);
        add_row(&d, i, UB_SHP_PP_CTRL, &bit);
        add_row(&d, i, UB_SHP_WL_CTRL, &led);
        add_row(&d, i, UB_SHP_PL_CTRL, &led);
        add_row(&d, i, UB_SHP_MS_CTRL, &bit);
        add_row(&d, i, UB_SHP_PD_CTRL, &bit);
        add_row(&d, i, UB_SHP_PDS_CTRL, &bit);
        add_row(&d, i, UB_SHP_PW_CTRL, &power);
        add_row(&d, i, UB_SHP_PP_ST, &cleared);
        add_row(&d, i, UB_SHP_PDSC_ST, &cleared);
    }
    shp->table = (UbSpaceSlice) {
        .name = "CFG0_CAP2_SHP", .space = UB_SPACE_CFG0, .cap = UB_CAP_SHP,
        .used = UB_SHP_USED(shp->cfg.slots), .dwords = dw, .count = d - dw,
    };
}

/* ---- Life ---- */

UbShp *ub_shp_new(const UbShpConfig *cfg, UbSpace *space, UbMgmt *mgmt,
                  const UbShpOps *ops, void *opaque)
{
    static const UbSliceOps slice_ops = { written, NULL };
    UbShp *shp = g_new0(UbShp, 1);

    shp->cfg = *cfg;
    shp->mgmt = mgmt;
    shp->ops = *ops;
    shp->opaque = opaque;
    if (cfg->slots) {
        make_table(shp);
        shp->slice = ub_space_attach_at(space,
                                        UB_CFG_CAP(UB_CFG0_BASE, UB_CAP_SHP),
                                        &shp->table, &slice_ops, shp);
    }
    for (unsigned i = 0; i < cfg->slots; i++) {
        /* Ports have power until they are told otherwise. */
        shp->slot[i] = (ShpSlot) { .fed = true, .good_at = NEVER,
                                   .lost_at = NEVER };
        if (cfg->slot[i].on) {
            shp->slot[i].on = shp->slot[i].good = true;
        }
        ub_shp_info(shp, i, &shp->slot[i].told);
    }
    return shp;
}

void ub_shp_free(UbShp *shp)
{
    if (shp) {
        g_free((void *)shp->table.dwords);
        g_free(shp);
    }
}

/* ---- Power and presence ---- */

/* A slot that has power works after a while. */
static void follow_power(UbShp *shp, unsigned slot, int64_t now)
{
    ShpSlot *s = &shp->slot[slot];
    bool want = get(shp, slot, UB_SHP_PW_CTRL), was = s->good;

    if (want && !s->on) {
        s->good_at = now + shp->cfg.settle;
    } else if (!want) {
        s->good = false;
        s->good_at = NEVER;
    }
    s->on = want;
    if (s->good_at <= now) {
        s->good = true;
        s->good_at = NEVER;
    }
    if (s->good != was) {
        tell_change(shp, slot);
    }
}

/* What its ports get. */
static void feed(UbShp *shp, unsigned slot, int64_t now)
{
    ShpSlot *s = &shp->slot[slot];
    bool on = s->good && !s->pulled;

    if (on == s->fed) {
        return;
    }
    s->fed = on;
    for (unsigned p = shp->cfg.slot[slot].first; p <= shp->cfg.slot[slot].last;
         p++) {
        shp->ops.power(shp->opaque, now, p, on);
    }
}

static void run_slot(UbShp *shp, unsigned slot, int64_t now)
{
    ShpSlot *s = &shp->slot[slot];

    feed(shp, slot, now);       /* a cycle without a run in it is one */
    follow_power(shp, slot, now);
    if (s->lost_at <= now) {
        s->lost = false;
        s->lost_at = NEVER;
    }
    feed(shp, slot, now);
    show_presence(shp, slot);
    if (s->tell) {
        s->tell = false;
        ub_mgmt_plug(shp->mgmt, now, slot, false);
    }
}

int64_t ub_shp_run(UbShp *shp, int64_t now)
{
    int64_t next = NEVER;

    for (unsigned i = 0; i < shp->cfg.slots; i++) {
        run_slot(shp, i, now);
        next = MIN(next, MIN(shp->slot[i].good_at, shp->slot[i].lost_at));
    }
    return next;
}

void ub_shp_reset(UbShp *shp, int64_t now)
{
    for (unsigned i = 0; i < shp->cfg.slots; i++) {
        shp->slot[i].tell = false;
        tell_change(shp, i);
    }
    if (shp->cfg.slots) {
        shp->ops.kick(shp->opaque);
    }
}

void ub_shp_wire(UbShp *shp, int64_t now, unsigned port, bool connected)
{
    uint64_t bit = UINT64_C(1) << port;

    for (unsigned i = 0; i < shp->cfg.slots; i++) {
        ShpSlot *s = &shp->slot[i];

        if (port < shp->cfg.slot[i].first || port > shp->cfg.slot[i].last) {
            continue;
        }
        if (connected) {
            s->wires |= bit;
            s->lost_at = NEVER;
        } else if (s->wires & bit) {
            s->wires &= ~bit;
            s->lost = !s->wires;
            s->lost_at = s->lost ? now + shp->cfg.hold : NEVER;
        }
        shp->ops.kick(shp->opaque);
    }
}

/* ---- In front of the machine ---- */

unsigned ub_shp_slots(const UbShp *shp)
{
    return shp->cfg.slots;
}

/* The reserved state is never entered; an image may have it until it is refused. */
static unsigned led(const UbShp *shp, unsigned slot, unsigned reg)
{
    uint32_t state = get(shp, slot, reg);

    return state < UB_SHP_LED_RESERVED ? state : UB_SHP_LED_OFF;
}

bool ub_shp_info(const UbShp *shp, unsigned slot, UbShpInfo *info)
{
    const ShpSlot *s;

    if (slot >= shp->cfg.slots) {
        return false;
    }
    s = &shp->slot[slot];
    *info = (UbShpInfo) {
        .first = shp->cfg.slot[slot].first, .last = shp->cfg.slot[slot].last,
        .work_led = led(shp, slot, UB_SHP_WL_CTRL),
        .power_led = led(shp, slot, UB_SHP_PL_CTRL),
        .power = s->good, .present = get(shp, slot, UB_SHP_PD_ST),
        .seated = !s->pulled, .heard = get(shp, slot, UB_SHP_PP_CTRL),
    };
    return true;
}

const char *ub_shp_press(UbShp *shp, int64_t now, unsigned slot)
{
    if (slot >= shp->cfg.slots) {
        return "there is no such slot";
    }
    if (!get(shp, slot, UB_SHP_PP_CTRL)) {
        return "the button is not enabled: nobody manages the slot";
    }
    ub_slice_set(shp->slice, UB_SHP_REG(slot, UB_SHP_PP_ST), 1, 1);
    if (get(shp, slot, UB_SHP_MS_CTRL)) {
        ub_mgmt_plug(shp->mgmt, now, slot, true);
    }
    return NULL;
}

const char *ub_shp_seat(UbShp *shp, int64_t now, unsigned slot, bool in,
                        bool surprise)
{
    ShpSlot *s;

    if (slot >= shp->cfg.slots) {
        return "there is no such slot";
    }
    s = &shp->slot[slot];
    if (in != s->pulled) {
        return in ? "the device is in the slot" : "the slot is empty";
    }
    if ((s->on || get(shp, slot, UB_SHP_PW_CTRL)) && !surprise) {
        return "the slot has power: it is not to be touched";
    }
    s->pulled = !in;
    tell_change(shp, slot);
    shp->ops.kick(shp->opaque);
    return NULL;
}

/* ---- Migration ---- */

void ub_shp_image(UbShp *shp, CoreImage *im)
{
    const uint32_t tag = CORE_TAG('S', 'H', 'P', ' ');

    for (unsigned i = 0; i < shp->cfg.slots; i++) {
        core_image_check(im, get(shp, i, UB_SHP_WL_CTRL) < UB_SHP_LED_RESERVED &&
                         get(shp, i, UB_SHP_PL_CTRL) < UB_SHP_LED_RESERVED,
                         "a LED in its reserved state");
    }
    if (!core_image_optional(im, tag, shp->cfg.slots)) {
        return;
    }
    core_image_begin(im, tag, 1);
    core_image_same(im, shp->cfg.slots, "another number of hot-plug slots");
    for (unsigned i = 0; i < shp->cfg.slots && !core_image_error(im); i++) {
        ShpSlot *s = &shp->slot[i];
        bool there = s->wires || s->lost;

        core_image_same(im, shp->cfg.slot[i].first, "a slot of other ports");
        core_image_same(im, shp->cfg.slot[i].last, "a slot of other ports");
        core_image_flag(im, &s->pulled);
        core_image_flag(im, &s->on);
        core_image_flag(im, &s->good);
        core_image_deadline(im, &s->good_at);
        core_image_flag(im, &s->tell);
        core_image_flag(im, &there);
        if (!core_image_check(im, s->on || (!s->good && s->good_at == NEVER),
                              "a slot without power that works")) {
            s->good = false;
            s->good_at = NEVER;
        }
        if (core_image_loading(im) && !s->wires) {
            s->lost = there;
            s->lost_at = there ? core_image_now(im) + shp->cfg.hold : NEVER;
        }
    }
    core_image_end(im);
    for (unsigned i = 0; core_image_loading(im) && i < shp->cfg.slots; i++) {
        tell_change(shp, i);
    }
}
