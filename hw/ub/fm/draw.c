/*
 * A fabric as a picture (SVG): a row for each number of hops from us.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "ub/fm.h"

#define BOX_W 150
#define BOX_H 54
#define GAP_X 24
#define GAP_Y 70

/* Columns of each node, by row; the most of a row. */
static unsigned place_nodes(const UbFm *fm, unsigned *column)
{
    unsigned used[256] = { 0 }, most = 0;

    for (unsigned i = 0; i < fm->nodes; i++) {
        column[i] = used[fm->node[i].way.hops]++;
        if (column[i] >= most) {
            most = column[i] + 1;
        }
    }
    return most;
}

static unsigned left_of(unsigned column)
{
    return GAP_X + column * (BOX_W + GAP_X);
}

static unsigned top_of(const UbFmNode *n)
{
    return GAP_X + n->way.hops * (BOX_H + GAP_Y);
}

static void draw_link(const UbFm *fm, const unsigned *column, unsigned i,
                      unsigned port, FILE *out)
{
    const UbFmPort *p = &fm->node[i].port[port];

    /* Each link once: from the end with the smaller number. */
    if (!p->up || p->peer < 0 || p->peer < (int)i ||
        (p->peer == (int)i && p->peer_port < port)) {
        return;
    }
    fprintf(out, "<line x1=\"%u\" y1=\"%u\" x2=\"%u\" y2=\"%u\">"
            "<title>port %u to port %u</title></line>\n",
            left_of(column[i]) + BOX_W / 2, top_of(&fm->node[i]) + BOX_H / 2,
            left_of(column[p->peer]) + BOX_W / 2,
            top_of(&fm->node[p->peer]) + BOX_H / 2, port, p->peer_port);
}

static void draw_node(const UbFmNode *n, unsigned column, FILE *out)
{
    unsigned x = left_of(column), y = top_of(n);
    char guid[UB_FM_GUID_TEXT];

    fprintf(out, "<g class=\"%s\"><rect x=\"%u\" y=\"%u\" width=\"%u\" "
            "height=\"%u\" rx=\"%u\"/>\n"
            "<text x=\"%u\" y=\"%u\">%s</text>"
            "<text x=\"%u\" y=\"%u\">CNA 0x%x</text>"
            "<title>%s</title></g>\n",
            n->stranger ? "stranger"
            : ub_fm_is_switch(n) ? "switch" : "controller", x, y, BOX_W, BOX_H,
            ub_fm_is_switch(n) ? 14 : 3, x + BOX_W / 2, y + 22, ub_fm_kind(n),
            x + BOX_W / 2, y + 42, n->cna, ub_fm_guid_text(n->guid, guid));
}

void ub_fm_svg(const UbFm *fm, FILE *out)
{
    unsigned *column = calloc(fm->nodes + 1, sizeof(*column));
    unsigned most, rows = 0;

    if (!column) {
        abort();
    }
    most = place_nodes(fm, column);
    for (unsigned i = 0; i < fm->nodes; i++) {
        if (fm->node[i].way.hops >= rows) {
            rows = fm->node[i].way.hops + 1;
        }
    }
    fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" "
            "height=\"%u\" font-family=\"sans-serif\" font-size=\"13\">\n"
            "<style>rect{stroke:#456;fill:#eef}.switch rect{fill:#dfd}"
            ".stranger rect{fill:none;stroke-dasharray:4}"
            "line{stroke:#456;stroke-width:2}text{text-anchor:middle}</style>\n",
            left_of(most), GAP_X + rows * (BOX_H + GAP_Y));
    for (unsigned i = 0; i < fm->nodes; i++) {
        for (unsigned port = 0; port < fm->node[i].ports; port++) {
            draw_link(fm, column, i, port, out);
        }
    }
    for (unsigned i = 0; i < fm->nodes; i++) {
        draw_node(&fm->node[i], column[i], out);
    }
    fputs("</svg>\n", out);
    free(column);
}
