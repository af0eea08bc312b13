/*
 * ROUTE_TABLE (UB 2.0 §D.7): the registers of the routes.
 *
 * An entry has as many dwords as the ports need bits; the slice is as long as the
 * device has entries, so its table of dwords is made here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "internal.h"

static unsigned entry_dwords(const UbNet *net)
{
    return (net_links(net) - 1) / 32 + 1;
}

/* The dword where an entry begins; -1 is the default one. */
static unsigned entry_dw(const UbNet *net, int64_t entry)
{
    return UB_ROUTE_DEFAULT_ROUTING_TABLE + (entry + 1) * entry_dwords(net);
}

static uint64_t read_entry(const UbNet *net, int64_t entry)
{
    unsigned dw = entry_dw(net, entry);
    uint64_t ports = ub_slice_get(net->routes.slice, dw);

    if (entry_dwords(net) > 1) {
        ports |= (uint64_t)ub_slice_get(net->routes.slice, dw + 1) << 32;
    }
    return ports & net_link_ports(net);
}

static void write_entry(UbNet *net, int64_t entry, uint64_t ports,
                        void (*put)(UbSlice *, unsigned, uint32_t, uint32_t))
{
    for (unsigned i = 0; i < entry_dwords(net); i++) {
        put(net->routes.slice, entry_dw(net, entry) + i, ~0u,
            ports >> 32 * i);
    }
}

void net_regs_load(UbNet *net)
{
    NetRoutes *r = &net->routes;

    r->all = read_entry(net, -1);
    for (unsigned i = 0; i < net->conf.route_entries; i++) {
        r->entry[i] = read_entry(net, i);
    }
    r->exact = ub_slice_get(r->slice, UB_ROUTE_EXACT_ROUTE_ENABLE) & 1;
}

void net_regs_entry(UbNet *net, int64_t entry)
{
    NetRoutes *r = &net->routes;

    if (r->slice) {
        write_entry(net, entry, entry < 0 ? r->all : r->entry[entry],
                    ub_slice_set);
    }
}

void net_regs_exact(UbNet *net)
{
    if (net->routes.slice) {
        ub_slice_set(net->routes.slice, UB_ROUTE_EXACT_ROUTE_ENABLE, 1,
                     net->routes.exact);
    }
}

static void written_routes(void *opaque, UbSlice *slice, const UbSliceWrite *w)
{
    UbNet *net = opaque;
    NetRoutes *r = &net->routes;

    if (w->dw == UB_ROUTE_EXACT_ROUTE_ENABLE) {
        r->exact = w->value & 1;
    } else {
        int64_t entry = (int64_t)((w->dw - UB_ROUTE_DEFAULT_ROUTING_TABLE) /
                                  entry_dwords(net)) - 1;

        if (entry < 0) {
            r->all = read_entry(net, -1);
        } else {
            r->entry[entry] = read_entry(net, entry);
        }
    }
    r->gen++;
}

/* Rows of the dwords that a guest may write. */
static void make_table(UbNet *net)
{
    UbSpaceSlice *t = &net->routes.table;
    unsigned n = entry_dwords(net) * (net->conf.route_entries + 1), row = 0;
    UbSpaceDword *dw = g_new0(UbSpaceDword, n + 1);

    if (net->conf.exact_supported) {
        dw[row++] = (UbSpaceDword) {
            .dw = UB_ROUTE_EXACT_ROUTE_ENABLE, .rw = 1,
            .name = "Exact Route Enable",
        };
    }
    for (unsigned i = 0; i < n; i++) {
        uint32_t rw = net_link_ports(net) >> 32 * (i % entry_dwords(net));

        dw[row++] = (UbSpaceDword) {
            .dw = UB_ROUTE_DEFAULT_ROUTING_TABLE + i, .rw = rw,
            .name = i < entry_dwords(net) ? "Default Routing Table"
                                          : "Routing Table Entry",
        };
    }
    *t = (UbSpaceSlice) {
        .name = "ROUTE_TABLE", .used = UB_ROUTE_DEFAULT_ROUTING_TABLE + n,
        .dwords = dw, .count = row,
    };
}

bool ub_net_attach(UbNet *net, UbSpace *space)
{
    static const UbSliceOps ops = { written_routes, NULL };
    NetRoutes *r = &net->routes;

    if (!net->conf.route_entries || r->slice) {
        return !net->conf.route_entries;
    }
    make_table(net);
    r->slice = ub_space_attach_at(space, UB_CFG_ROUTE_BASE, &r->table, &ops,
                                  net);
    if (!r->slice) {
        net_regs_free(net);
        return false;
    }
    ub_slice_init(r->slice, UB_ROUTE_HEADER, UB_ROUTE_HEADER__USED,
                  r->table.used << 4);
    ub_slice_init(r->slice, UB_ROUTE_TABLE_CAP, ~0u,
                  (net->conf.exact_supported
                   ? UB_ROUTE_TABLE_CAP__EXACT_ROUTE_SUPPORTED : 0) |
                  (net->conf.route_entries - 1));
    write_entry(net, -1, r->all, ub_slice_init);
    for (unsigned i = 0; i < net->conf.route_entries; i++) {
        net_regs_entry(net, i);
    }
    net_regs_exact(net);
    return true;
}

void net_regs_free(UbNet *net)
{
    g_free((UbSpaceDword *)net->routes.table.dwords);
    net->routes.table.dwords = NULL;
}
