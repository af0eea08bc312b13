/*
 * Hot plug, the manager's side (UB 2.0 appendix G).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "ub/cfg_regs.h"
#include "ub/fm_plug.h"
#include "ub/shp_hw.h"

#define NEVER INT64_MAX
#define SHP UB_CFG_CAP(UB_CFG0_BASE, UB_CAP_SHP)

void ub_fm_plug_init(UbFmPlug *plug)
{
    *plug = (UbFmPlug) { .window = INT64_C(5000000000),
                         .patience = INT64_C(10000000000) };
}

void ub_fm_plug_free(UbFmPlug *plug)
{
    free(plug->slot);
    plug->slot = NULL;
    plug->slots = 0;
}

static void say(UbFmPlug *plug, const UbFmSlot *s, const char *what, int status)
{
    if (plug->tell) {
        plug->tell(plug->opaque, s, what, status);
    }
}

/* ---- Registers ---- */

/* The CNA that reaches a slot's node; false: it is not there. */
static bool find_cna(const UbFm *fm, const UbFmSlot *s, uint32_t *cna)
{
    int i = ub_fm_find(fm, s->guid);

    if (i < 0 || (i && !fm->node[i].cna)) {
        return false;
    }
    *cna = ub_fm_at(fm, i);
    return true;
}

static int get(UbFm *fm, const UbFmSlot *s, unsigned reg, uint32_t *value)
{
    uint32_t cna;

    *value = 0;
    return find_cna(fm, s, &cna)
           ? fm->ops->read(fm->opaque, cna, SHP + UB_SHP_REG(s->slot, reg), value)
           : UB_MGMT_NO_TARGET;
}

static int put(UbFm *fm, const UbFmSlot *s, unsigned reg, uint32_t value)
{
    uint32_t cna;

    return find_cna(fm, s, &cna)
           ? fm->ops->write(fm->opaque, cna, SHP + UB_SHP_REG(s->slot, reg), value)
           : UB_MGMT_NO_TARGET;
}

/* Both LEDs: the one of the working state and that of the power. */
static int show(UbFm *fm, const UbFmSlot *s, unsigned work, unsigned power)
{
    int status = put(fm, s, UB_SHP_WL_CTRL, work);

    return status ? status : put(fm, s, UB_SHP_PL_CTRL, power);
}

/* ---- What is in a slot ---- */

static bool in_slot(const UbFm *fm, unsigned node, unsigned port, unsigned at,
                    unsigned first, unsigned last)
{
    const UbFmPort *p = &fm->node[node].port[port];

    if (node == at) {
        return port >= first && port <= last;
    }
    return p->peer == (int)at && p->peer_port >= first && p->peer_port <= last;
}

bool ub_fm_plug_behind(const UbFm *fm, unsigned node, unsigned first,
                       unsigned last, bool *leaves)
{
    unsigned *queue = calloc(fm->nodes, sizeof(*queue)), n = 1;

    if (!queue) {
        abort();
    }
    for (unsigned i = 0; i < fm->nodes; i++) {
        leaves[i] = i;
    }
    for (unsigned at = 0; at < n; at++) {
        const UbFmNode *from = &fm->node[queue[at]];

        for (unsigned port = 0; port < from->ports; port++) {
            int peer = from->port[port].peer;

            if (peer >= 0 && leaves[peer] &&
                !in_slot(fm, queue[at], port, node, first, last)) {
                leaves[peer] = false;
                queue[n++] = peer;
            }
        }
    }
    free(queue);
    return !leaves[node];
}

static int release(UbFmPlug *plug, UbFm *fm, const UbFmSlot *s, bool gone)
{
    bool *leaves = calloc(fm->nodes + 1, sizeof(*leaves));
    int node = ub_fm_find(fm, s->guid), status;

    if (!leaves) {
        abort();
    }
    status = node < 0 ? UB_MGMT_NO_TARGET
             : !ub_fm_plug_behind(fm, node, s->first, s->last, leaves)
             ? UB_MGMT_NO_PERMISSION : plug->release(plug->opaque, fm, leaves, gone);
    free(leaves);
    return status;
}

/* ---- The states ---- */

static void enter(UbFmSlot *s, UbFmSlotState state, int64_t until)
{
    s->state = state;
    s->until = until;
}

static int start(UbFmPlug *plug, UbFm *fm, UbFmSlot *s, int64_t now)
{
    int status = show(fm, s, UB_SHP_LED_OFF, UB_SHP_LED_BLINK);

    status = status ? status : put(fm, s, UB_SHP_PW_CTRL, 1);
    enter(s, UB_FM_SLOT_STARTING, now + plug->patience);
    return status;
}

static void works(UbFmPlug *plug, UbFm *fm, UbFmSlot *s)
{
    enter(s, UB_FM_SLOT_WORKS, NEVER);
    say(plug, s, "in", show(fm, s, UB_SHP_LED_OFF, UB_SHP_LED_ON));
}

/* Without power: @led says what somebody in front of it should do. */
static int stop(UbFm *fm, UbFmSlot *s, unsigned led)
{
    int status = put(fm, s, UB_SHP_PW_CTRL, 0);

    enter(s, UB_FM_SLOT_EMPTY, NEVER);
    return status ? status : show(fm, s, led, UB_SHP_LED_OFF);
}

/* §G.3: idle, stopped, without power, may be taken out. */
static void leave(UbFmPlug *plug, UbFm *fm, UbFmSlot *s)
{
    int status = release(plug, fm, s, false);

    if (status) {
        enter(s, UB_FM_SLOT_WORKS, NEVER);
        show(fm, s, UB_SHP_LED_ON, UB_SHP_LED_ON);
        say(plug, s, "refused", status);
        return;
    }
    put(fm, s, UB_SHP_WL_CTRL, UB_SHP_LED_ON);
    say(plug, s, "out", stop(fm, s, UB_SHP_LED_BLINK));
}

/* It was waited for long enough; the message may have been lost, and so may the
 * answer be. */
static void look(UbFmPlug *plug, UbFm *fm, UbFmSlot *s, int64_t now)
{
    uint32_t there;

    if (get(fm, s, UB_SHP_PD_ST, &there)) {
        enter(s, UB_FM_SLOT_STARTING, now + plug->patience);
    } else if (there & 1) {
        works(plug, fm, s);
    } else {
        say(plug, s, "empty", stop(fm, s, s->asked ? UB_SHP_LED_ON
                                                   : UB_SHP_LED_OFF));
    }
}

int64_t ub_fm_plug_run(UbFmPlug *plug, UbFm *fm, int64_t now)
{
    int64_t next = NEVER;

    for (unsigned i = 0; i < plug->slots; i++) {
        UbFmSlot *s = &plug->slot[i];

        if (s->until <= now) {
            if (s->state == UB_FM_SLOT_LEAVING) {
                leave(plug, fm, s);
            } else if (s->state == UB_FM_SLOT_COMING) {
                say(plug, s, "power", start(plug, fm, s, now));
            } else if (s->state == UB_FM_SLOT_STARTING) {
                look(plug, fm, s, now);
            }
        }
        next = s->until < next ? s->until : next;
    }
    return next;
}

/* ---- Events ---- */

/* A status bit, which is cleared by that. */
static bool took(UbFm *fm, const UbFmSlot *s, unsigned reg)
{
    uint32_t set;

    return !get(fm, s, reg, &set) && (set & 1) && !put(fm, s, reg, 1);
}

static void pressed(UbFmPlug *plug, UbFm *fm, UbFmSlot *s, int64_t now)
{
    switch (s->state) {
    case UB_FM_SLOT_WORKS:
        enter(s, UB_FM_SLOT_LEAVING, now + plug->window);
        say(plug, s, "leaving",
            show(fm, s, UB_SHP_LED_OFF, UB_SHP_LED_BLINK));
        break;
    case UB_FM_SLOT_EMPTY:
        s->asked = true;
        enter(s, UB_FM_SLOT_COMING, now + plug->window);
        say(plug, s, "coming", show(fm, s, UB_SHP_LED_OFF, UB_SHP_LED_BLINK));
        break;
    case UB_FM_SLOT_LEAVING:
        enter(s, UB_FM_SLOT_WORKS, NEVER);
        say(plug, s, "called off", show(fm, s, UB_SHP_LED_OFF, UB_SHP_LED_ON));
        break;
    case UB_FM_SLOT_COMING:
        enter(s, UB_FM_SLOT_EMPTY, NEVER);
        say(plug, s, "called off", show(fm, s, UB_SHP_LED_OFF, UB_SHP_LED_OFF));
        break;
    case UB_FM_SLOT_STARTING:
        break;
    }
}

static void presence(UbFmPlug *plug, UbFm *fm, UbFmSlot *s)
{
    uint32_t there;

    if (get(fm, s, UB_SHP_PD_ST, &there)) {
        return;
    }
    if (there & 1) {
        if (s->state == UB_FM_SLOT_STARTING) {
            works(plug, fm, s);
        }
    } else if (s->state == UB_FM_SLOT_WORKS ||
               s->state == UB_FM_SLOT_LEAVING) {
        release(plug, fm, s, true);
        say(plug, s, "pulled out", stop(fm, s, UB_SHP_LED_OFF));
    }
}

static UbFmSlot *find_slot(UbFmPlug *plug, const UbFm *fm, uint32_t scna,
                           unsigned slot)
{
    for (unsigned i = 0; i < plug->slots; i++) {
        int node = ub_fm_find(fm, plug->slot[i].guid);

        if (plug->slot[i].slot == slot && node >= 0 &&
            fm->node[node].cna == scna) {
            return &plug->slot[i];
        }
    }
    return NULL;
}

bool ub_fm_plug_event(UbFmPlug *plug, UbFm *fm, int64_t now, uint32_t scna,
                      const uint8_t *data, unsigned len)
{
    UbMgmtEtah e;
    bool button;
    UbFmSlot *s;

    if (len < UB_MGMT_ETAH + 4) {
        return false;
    }
    e = ub_mgmt_etah_get(data);
    button = (e.code << 4 | e.sub) == UB_MGMT_MSG_PLUG_BUTTON;
    if (e.rsp ||
        (!button && (e.code << 4 | e.sub) != UB_MGMT_MSG_PLUG_PRESENCE)) {
        return false;
    }
    s = find_slot(plug, fm, scna,
                  ub_mgmt_get(data + UB_MGMT_ETAH, UB_MF_PLUG_SLOT));
    if (!s || !took(fm, s, button ? UB_SHP_PP_ST : UB_SHP_PDSC_ST)) {
        return false;
    }
    if (button) {
        pressed(plug, fm, s, now);
    } else {
        presence(plug, fm, s);
    }
    return true;
}

/* ---- Slots that are there ---- */

static UbFmSlot *known(UbFmPlug *plug, UbId guid, unsigned slot)
{
    for (unsigned i = 0; i < plug->slots; i++) {
        if (plug->slot[i].slot == slot &&
            ub_id_same(plug->slot[i].guid, guid)) {
            return &plug->slot[i];
        }
    }
    return NULL;
}

static UbFmSlot *add_slot(UbFmPlug *plug, UbId guid, unsigned slot)
{
    UbFmSlot *more;

    if (plug->slots == UB_FM_PLUG_MOST) {
        return NULL;
    }
    more = realloc(plug->slot, (plug->slots + 1) * sizeof(*more));
    if (!more) {
        abort();
    }
    plug->slot = more;
    more[plug->slots] = (UbFmSlot) { .guid = guid, .slot = slot,
                                     .until = NEVER };
    return &more[plug->slots++];
}

/* Its button, its messages and its presence are on from now; MS_CTRL is the last, so
 * that who has it has all of them.  What is refused is tried again by the next survey. */
static int arm(UbFmPlug *plug, UbFm *fm, UbFmSlot *s, int64_t now)
{
    static const struct { uint8_t reg, value; } writes[] = {
        { UB_SHP_PD_CTRL, 1 }, { UB_SHP_PDS_CTRL, 1 }, { UB_SHP_PDSC_ST, 1 },
        { UB_SHP_PP_ST, 1 }, { UB_SHP_PP_CTRL, 1 }, { UB_SHP_MS_CTRL, 1 },
    };
    uint32_t ports, power, there;
    int status = get(fm, s, UB_SHP_PORTS, &ports);

    s->armed = false;
    s->first = ports & 0xffff;
    s->last = ports >> 16;
    for (unsigned i = 0; i < sizeof(writes) / sizeof(writes[0]) && !status;
         i++) {
        status = put(fm, s, writes[i].reg, writes[i].value);
    }
    status = status ? status : get(fm, s, UB_SHP_PW_CTRL, &power);
    status = status ? status : get(fm, s, UB_SHP_PD_ST, &there);
    if (status) {
        return status;
    }
    s->asked = false;
    if (power & there & 1) {
        works(plug, fm, s);
    } else {
        status = start(plug, fm, s, now);
    }
    s->armed = !status;
    return status;
}

/* A slot as it is found; one that is managed stays as it is, but for events whose
 * messages were lost. */
static int take_over(UbFmPlug *plug, UbFm *fm, UbId guid, unsigned slot,
                     int64_t now)
{
    UbFmSlot *s = known(plug, guid, slot);
    uint32_t managed = 0;
    int status;

    if (s) {
        status = get(fm, s, UB_SHP_MS_CTRL, &managed);
    } else {
        s = add_slot(plug, guid, slot);
        status = s ? 0 : UB_MGMT_NO_RESOURCE;
    }
    if (status) {
        return status;
    }
    if (!(managed & 1) || !s->armed) {
        return arm(plug, fm, s, now);
    }
    if (took(fm, s, UB_SHP_PP_ST)) {
        pressed(plug, fm, s, now);
    }
    took(fm, s, UB_SHP_PDSC_ST);
    presence(plug, fm, s);
    return 0;
}

/* Nodes that are gone take their slots along. */
static void forget(UbFmPlug *plug, const UbFm *fm)
{
    unsigned n = 0;

    for (unsigned i = 0; i < plug->slots; i++) {
        if (ub_fm_find(fm, plug->slot[i].guid) >= 0) {
            plug->slot[n++] = plug->slot[i];
        }
    }
    plug->slots = n;
}

unsigned ub_fm_plug_survey(UbFmPlug *plug, UbFm *fm, int64_t now)
{
    unsigned refused = 0;

    forget(plug, fm);
    for (unsigned i = 0; i < fm->nodes; i++) {
        const UbFmNode *n = &fm->node[i];
        uint32_t cna = ub_fm_at(fm, i), caps = 0, slots = 0;

        if (!n->reached || n->stranger) {
            continue;
        }
        if (fm->ops->read(fm->opaque, cna, UB_CFG0_CAP_BITMAP, &caps) ||
            (caps >> UB_CAP_SHP & 1 &&
             fm->ops->read(fm->opaque, cna, SHP + UB_SHP_SLOT_NUMBER, &slots))) {
            refused++;
            continue;
        }
        for (unsigned k = 0; k < slots && k < UB_SHP_SLOTS; k++) {
            refused += !!take_over(plug, fm, n->guid, k, now);
        }
    }
    return refused;
}
