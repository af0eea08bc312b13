/*
 * CFG0_CAP242: partitions, borders and maps of VLs as a manager sees them
 * (ub/net_hw.h).
 *
 * What is shown is the net's, so that commands, NPIC and registers cannot differ; of
 * the slice itself are SELECT, INDEX and RESULT.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "internal.h"
#include "ub/net_hw.h"

_Static_assert(UB_NETR_GROUPS == NET_VL_GROUPS, "groups of ports");
_Static_assert(UB_NETR_VL_GROUP_DW(UB_NET_MAX_PORTS) == UB_NETR_BORDER,
               "dwords of groups");

/* ---- Maps of VLs ---- */

void net_vl_power_on(UbNet *net)
{
    NetVlMaps *m = &net->vl;

    memset(m->group, 0, sizeof(m->group));
    for (unsigned in = 0; in < NET_VL_GROUPS; in++) {
        for (unsigned out = 0; out < NET_VL_GROUPS; out++) {
            memcpy(m->out[in][out], net->conf.vl_out, UB_NET_VLS);
        }
    }
}

static uint32_t get_groups(const UbNet *net, unsigned first)
{
    uint32_t v = 0;

    for (unsigned p = first; p < first + 8; p++) {
        v |= (uint32_t)net->vl.group[p] << UB_NETR_VL_GROUP_SHIFT(p);
    }
    return v;
}

static void set_groups(UbNet *net, unsigned first, uint32_t v)
{
    for (unsigned p = first; p < first + 8; p++) {
        net->vl.group[p] = v >> UB_NETR_VL_GROUP_SHIFT(p) & 15;
    }
}

/* Eight VLs of a map, by the number of its dword. */
static uint8_t *eight_of(UbNet *net, unsigned n)
{
    return &net->vl.out[n / 8][n / 2 % 4][n % 2 * 8];
}

static uint32_t get_map(UbNet *net, unsigned n)
{
    const uint8_t *out = eight_of(net, n);
    uint32_t v = 0;

    for (unsigned vl = 0; vl < 8; vl++) {
        v |= (uint32_t)out[vl] << UB_NETR_VL_MAP_SHIFT(vl);
    }
    return v;
}

static void set_map(UbNet *net, unsigned n, uint32_t v)
{
    uint8_t *out = eight_of(net, n);

    for (unsigned vl = 0; vl < 8; vl++) {
        out[vl] = v >> UB_NETR_VL_MAP_SHIFT(vl) & 15;
    }
}

/* ---- Partitions ---- */

/* The port or list that is selected; false: there is none. */
static bool selected(const UbNet *net, const UbSlice *s, unsigned *port)
{
    uint32_t n = ub_slice_get(s, UB_NETR_SELECT);

    *port = n == UB_NETR_SENDERS ? UB_NET_ANY : n;
    return *port == UB_NET_ANY || *port < net->conf.ports;
}

static uint32_t get_port(const UbNet *net, const UbSlice *s)
{
    unsigned port;

    if (!selected(net, s, &port) || port == UB_NET_ANY) {
        return 0;
    }
    return net->port[port].npi_replace |
           (net->port[port].npi_closed ? UB_NETR_PORT__CLOSED : 0);
}

static uint32_t set_port(UbNet *net, const UbSlice *s, uint32_t v)
{
    uint32_t npi = v & UB_NETR_PORT__REPLACE;
    unsigned port;

    if (!selected(net, s, &port) || port == UB_NET_ANY) {
        return UB_NETR_R_NO_PORT;
    }
    if (npi && !ub_npi_valid(npi)) {
        return UB_NETR_R_BAD_NPI;
    }
    ub_net_npi_replace(net, port, npi);
    ub_net_npi_close(net, port, v & UB_NETR_PORT__CLOSED);
    return UB_NETR_R_OK;
}

/* ---- Borders ---- */

_Static_assert(UB_NETR_BORDER__TOKEN == UB_NET_BORDER &&
               UB_NETR_BORDER__PLAIN == UB_NET_BORDER_PLAIN, "borders");

static uint32_t get_border(const UbNet *net, const UbSlice *s)
{
    unsigned port;

    return !selected(net, s, &port) || port == UB_NET_ANY
           ? 0 : ub_net_border(net, port);
}

static uint32_t set_border(UbNet *net, const UbSlice *s, uint32_t v)
{
    unsigned port;

    if (!selected(net, s, &port) || port == UB_NET_ANY) {
        return UB_NETR_R_NO_PORT;
    }
    ub_net_set_border(net, port, v);
    return UB_NETR_R_OK;
}

static const NetNpis *list_of(const UbNet *net, const UbSlice *s)
{
    static const NetNpis none;
    unsigned port;

    return !selected(net, s, &port) ? &none
           : port == UB_NET_ANY ? &net->allowed : &net->port[port].allowed;
}

static uint32_t change_list(UbNet *net, const UbSlice *s, uint32_t npi,
                            bool add)
{
    unsigned port;

    if (!selected(net, s, &port)) {
        return UB_NETR_R_NO_PORT;
    }
    if (!ub_npi_valid(npi)) {
        return UB_NETR_R_BAD_NPI;
    }
    if (add) {
        return ub_net_npi_allow(net, port, npi) ? UB_NETR_R_OK : UB_NETR_R_FULL;
    }
    return ub_net_npi_disallow(net, port, npi) ? UB_NETR_R_OK
                                               : UB_NETR_R_ABSENT;
}

/* ---- Registers ---- */

static void refresh(void *opaque, UbSlice *s, unsigned dw)
{
    UbNet *net = opaque;
    const NetNpis *list = list_of(net, s);
    uint32_t i = ub_slice_get(s, UB_NETR_INDEX), v;

    switch (dw) {
    case UB_NETR_NPI:
        v = net->npi;
        break;
    case UB_NETR_MODE:
        v = net->conf.npi_mode;
        break;
    case UB_NETR_PORT:
        v = get_port(net, s);
        break;
    case UB_NETR_COUNT:
        v = list->n;
        break;
    case UB_NETR_ENTRY:
        v = i < list->n ? list->npi[i] : 0;
        break;
    case UB_NETR_BORDER:
        v = get_border(net, s);
        break;
    case UB_NETR_VL_GROUP ... UB_NETR_BORDER - 1:
        v = get_groups(net, (dw - UB_NETR_VL_GROUP) * 8);
        break;
    case UB_NETR_VL_MAP ... UB_NETR_USED - 1:
        v = get_map(net, dw - UB_NETR_VL_MAP);
        break;
    default:
        return;
    }
    ub_slice_set(s, dw, ~0u, v);
}

static void written(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    UbNet *net = opaque;
    uint32_t result = UB_NETR_R_OK;
    bool whole = w->byte_en == 0xf;

    if (w->dw >= UB_NETR_VL_MAP && whole) {
        set_map(net, w->dw - UB_NETR_VL_MAP, w->value);
    } else if (w->dw == UB_NETR_BORDER) {
        result = whole ? set_border(net, s, w->value) : UB_NETR_R_PART;
    } else if (w->dw >= UB_NETR_VL_GROUP && w->dw < UB_NETR_BORDER && whole) {
        set_groups(net, (w->dw - UB_NETR_VL_GROUP) * 8, w->value);
    } else if (w->dw == UB_NETR_NPI && whole) {
        ub_net_change_npi(net, w->value);
    } else if (w->dw == UB_NETR_PORT) {
        result = whole ? set_port(net, s, w->value) : UB_NETR_R_PART;
    } else if (w->dw == UB_NETR_ADD || w->dw == UB_NETR_REMOVE) {
        result = whole ? change_list(net, s, w->trigger, w->dw == UB_NETR_ADD)
                       : UB_NETR_R_PART;
    } else {
        return;
    }
    ub_slice_set(s, UB_NETR_RESULT, ~0u, result);
}

#define WHOLE(dw_, name_) { .dw = dw_, .rw = ~0u, .name = name_ }
#define WHOLE4(dw, name) WHOLE(dw, name), WHOLE(dw + 1, name), \
                         WHOLE(dw + 2, name), WHOLE(dw + 3, name)
#define GROUPS(dw) WHOLE4(UB_NETR_VL_GROUP + dw, "VL Group")
#define MAPS(dw) WHOLE4(UB_NETR_VL_MAP + dw, "VL Map")

static const UbSpaceDword dwords[] = {
    { .dw = UB_NETR_HEADER, .reset = UB_NETR_USED << 4,
      .name = "Slice Header" },
    { .dw = UB_NETR_MAGIC, .reset = UB_NETR_MAGIC__VALUE, .name = "Magic" },
    { .dw = UB_NETR_LIMITS,
      .reset = UB_NET_MAX_NPIS << 16 | UB_NETR_GROUPS << 8 | UB_NET_VLS,
      .name = "Limits" },
    { .dw = UB_NETR_NPI, .rw = UB_NPI_MASK, .name = "NPI" },
    { .dw = UB_NETR_SELECT, .rw = UB_NETR_SELECT__ALL, .name = "Select" },
    { .dw = UB_NETR_PORT,
      .rw = UB_NETR_PORT__REPLACE | UB_NETR_PORT__CLOSED, .name = "Port" },
    { .dw = UB_NETR_INDEX, .rw = UB_NETR_INDEX__ALL, .name = "Index" },
    { .dw = UB_NETR_ADD, .trigger = UB_NPI_MASK, .name = "Add" },
    { .dw = UB_NETR_REMOVE, .trigger = UB_NPI_MASK, .name = "Remove" },
    { .dw = UB_NETR_RESULT, .name = "Result" },
    GROUPS(0), GROUPS(4),
    { .dw = UB_NETR_BORDER,
      .rw = UB_NETR_BORDER__TOKEN | UB_NETR_BORDER__PLAIN, .name = "Border" },
    MAPS(0), MAPS(4), MAPS(8), MAPS(12), MAPS(16), MAPS(20), MAPS(24),
    MAPS(28),
};

bool ub_net_attach_policy(UbNet *net, UbSpace *space)
{
    static const UbSliceOps ops = { written, refresh };
    static const UbSpaceSlice table = {
        "CFG0_CAP242_VD", UB_SPACE_CFG0, UB_NETR_CAP, UB_NETR_USED,
        dwords, G_N_ELEMENTS(dwords),
    };

    return ub_space_attach_at(space, UB_CFG_CAP(UB_CFG0_BASE, UB_NETR_CAP),
                              &table, &ops, net);
}
