/*
 * What the fabric manager shows: a small fabric as text and as a picture, to the last
 * character; and whether two looks at it are the same.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <stdlib.h>

#include "ub/fm.h"

/* We, a switch, and one that is not admitted. */
enum { SELF, SWITCH, STRANGER, NODES };
#define PORTS 4

typedef struct Bed {
    UbFm fm;
    UbFmNode node[NODES];
    uint16_t by_guid[NODES];
    UbFmPort port[NODES][PORTS];
} Bed;

static UbId guid(unsigned kind, uint32_t serial)
{
    return (UbId) { { serial, 0x89abcdefu, 0x10123456u | kind << 24,
                      0xcc09b001u } };
}

static void join(Bed *b, unsigned i, unsigned p, unsigned j, unsigned q)
{
    b->port[i][p] = (UbFmPort) { .up = true, .peer = j, .peer_port = q,
                                 .peer_guid = b->node[j].guid };
    b->port[j][q] = (UbFmPort) { .up = true, .peer = i, .peer_port = p,
                                 .peer_guid = b->node[i].guid };
}

static void bed_init(Bed *b)
{
    static const unsigned kinds[NODES] = { 2, 3, 2 };

    *b = (Bed) { .fm = { .nodes = NODES, .node = b->node, .by_guid = b->by_guid } };
    for (unsigned i = 0; i < NODES; i++) {
        b->node[i] = (UbFmNode) {
            .guid = guid(kinds[i], 0x12340000u + i), .way.hops = i,
            .cna = i == STRANGER ? 0 : 0x11 + i, .port = b->port[i],
            .stranger = i == STRANGER,
        };
        b->by_guid[i] = i;      /* they ascend */
        for (unsigned p = 0; p < PORTS; p++) {
            b->port[i][p].peer = UB_FM_NONE;
        }
    }
    b->node[SELF].ports = 2;
    b->node[SWITCH].ports = PORTS;
    join(b, SELF, 1, SWITCH, 2);
    /* No port of that node. */
    b->port[SELF][2] = (UbFmPort) { .up = true, .peer = UB_FM_NONE };
    b->port[SWITCH][1] = (UbFmPort) { .up = true, .peer = UB_FM_NONE,
        .peer_port = 7, .peer_guid = b->node[STRANGER].guid };
    b->port[SWITCH][3] = (UbFmPort) { .up = true, .peer = UB_FM_NONE,
        .peer_port = 5, .peer_guid = guid(2, 0x9999) };
}

static char *print(const UbFm *fm, void (*how)(const UbFm *, FILE *))
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    how(fm, out);
    fclose(out);
    return text;
}

#define GUID(kind, serial) "cc09-b001-1-" kind "-123456-89abcdef" serial

static void test_text(void)
{
    char *text;
    Bed b;

    bed_init(&b);
    text = print(&b.fm, ub_fm_text);
    g_assert_cmpstr(text, ==,
        "controller " GUID("2", "12340000") " (this one)\n"
        "    hops 0, CNA 0x11, class 0x0000, 1 of 2 ports up\n"
        "    port 1: " GUID("3", "12340001") " port 2\n"
        "switch " GUID("3", "12340001") "\n"
        "    hops 1, CNA 0x12, class 0x0000, 3 of 4 ports up\n"
        "    port 1: " GUID("2", "12340002") " port 7 (not admitted)\n"
        "    port 2: " GUID("2", "12340000") " port 1\n"
        "    port 3: " GUID("2", "00009999") " port 5 (no answer)\n"
        "controller " GUID("2", "12340002") "\n"
        "    hops 2, not admitted\n");
    free(text);
}

static unsigned count(const char *text, const char *what)
{
    unsigned n = 0;

    while ((text = strstr(text, what))) {
        text++;
        n++;
    }
    return n;
}

/* A second controller beside the switch: boxes do not lie on each other, and lines
 * go from the middle of one to the middle of the other. */
static void test_picture(void)
{
    char *text;
    Bed b;

    bed_init(&b);
    b.node[STRANGER].way.hops = 1;
    /* No port of a node: nothing may look at it. */
    b.port[SELF][0].up = false;
    text = print(&b.fm, ub_fm_svg);
    g_assert_cmpuint(count(text, "<rect "), ==, NODES);
    g_assert_cmpuint(count(text, "<line "), ==, 1);
    g_assert_nonnull(strstr(text, "width=\"372\" height=\"272\""));
    g_assert_nonnull(strstr(text, "<rect x=\"24\" y=\"24\" width=\"150\" "
                                  "height=\"54\" rx=\"3\"/>"));
    g_assert_nonnull(strstr(text, "<rect x=\"24\" y=\"148\" width=\"150\" "
                                  "height=\"54\" rx=\"14\"/>"));
    g_assert_nonnull(strstr(text, "<rect x=\"198\" y=\"148\" width=\"150\" "
                                  "height=\"54\" rx=\"3\"/>"));
    g_assert_nonnull(strstr(text, "<line x1=\"99\" y1=\"51\" x2=\"99\" "
                                  "y2=\"175\"><title>port 1 to port 2"));
    g_assert_nonnull(strstr(text, "<text x=\"273\" y=\"170\">controller<"));
    free(text);
    /* One more row below. */
    b.node[STRANGER].way.hops = 2;
    text = print(&b.fm, ub_fm_svg);
    g_assert_nonnull(strstr(text, "height=\"396\""));
    free(text);
}

/* Each link is drawn once, whichever end has the smaller port; so is a loop. */
static void test_lines(void)
{
    char *text;
    Bed b;

    bed_init(&b);
    b.port[SWITCH][2] = (UbFmPort){ .peer = UB_FM_NONE };
    join(&b, SELF, 1, SWITCH, 0);
    join(&b, SWITCH, 3, SWITCH, 1);
    text = print(&b.fm, ub_fm_svg);
    g_assert_cmpuint(count(text, "<line "), ==, 2);
    g_assert_cmpuint(count(text, "<title>port 1 to port 0</title>"), ==, 1);
    g_assert_cmpuint(count(text, "<title>port 1 to port 3</title>"), ==, 1);
    free(text);
    /* One of the first node, too. */
    bed_init(&b);
    b.port[SWITCH][2] = (UbFmPort){ .peer = UB_FM_NONE };
    join(&b, SELF, 1, SELF, 0);
    text = print(&b.fm, ub_fm_svg);
    g_assert_cmpuint(count(text, "<line "), ==, 1);
    g_assert_cmpuint(count(text, "<title>port 0 to port 1</title>"), ==, 1);
    free(text);
}

/* What another look may have found otherwise, of the first node and of the last. */
static void test_same(void)
{
    static const unsigned who[] = { SELF, SWITCH, STRANGER };
    Bed a, b;

    bed_init(&a);
    bed_init(&b);
    g_assert_true(ub_fm_same(&a.fm, &b.fm));
    for (unsigned i = 0; i < G_N_ELEMENTS(who); i++) {
        bed_init(&b);
        b.node[who[i]].cna++;
        g_assert_false(ub_fm_same(&a.fm, &b.fm));
        bed_init(&b);
        b.node[who[i]].stranger ^= true;
        g_assert_false(ub_fm_same(&a.fm, &b.fm));
        bed_init(&b);
        b.node[who[i]].guid.w[0] ^= 0x10;
        g_assert_false(ub_fm_same(&a.fm, &b.fm));
    }
    bed_init(&b);
    b.port[SELF][1].peer_port++;
    g_assert_false(ub_fm_same(&a.fm, &b.fm));
    bed_init(&b);
    b.port[SWITCH][0].up = true;
    g_assert_false(ub_fm_same(&a.fm, &b.fm));
    /* The order they were found in does not count. */
    bed_init(&b);
    b.node[SELF] = a.node[SWITCH];
    b.node[SWITCH] = a.node[SELF];
    b.by_guid[SELF] = SWITCH;
    b.by_guid[SWITCH] = SELF;
    g_assert_true(ub_fm_same(&a.fm, &b.fm));
}

/* What a node says of its errors, and what is no such message. */
static void test_error(void)
{
    /* Code 0, sub-code 1, 8 bytes; SCNA, EL, port 7. */
    uint8_t m[UB_MGMT_ETAH + 8] = { 0x10, 0, 0, 8, 0, 0, 0, 0x33, 0, 0, 0, 7 };
    char text[UB_FM_ERROR_TEXT], want[UB_FM_ERROR_TEXT],
         guid[UB_FM_GUID_TEXT];
    Bed b;

    bed_init(&b);
    b.node[SWITCH].cna = 0x77;
    ub_mgmt_etah_put(m, (UbMgmtEtah) { .code = 0, .sub = 1, .len = 8 });
    snprintf(want, sizeof(want), "%s port 7: non-fatal error",
             ub_fm_guid_text(b.node[SWITCH].guid, guid));
    g_assert_cmpstr(ub_fm_error_text(&b.fm, 0x77, m, sizeof(m), text), ==, want);
    /* Nobody has this CNA, or nobody who is admitted. */
    g_assert_null(ub_fm_error_text(&b.fm, 0x7777, m, sizeof(m), text));
    b.node[SWITCH].stranger = true;
    g_assert_null(ub_fm_error_text(&b.fm, 0x77, m, sizeof(m), text));
    b.node[SWITCH].stranger = false;
    ub_mgmt_put(m + UB_MGMT_ETAH, UB_MF_ERROR_EL, 1);
    m[0] = 0x20;
    g_snprintf(want, sizeof(want), "%s: fatal error",
               ub_fm_guid_text(b.node[SWITCH].guid, guid));
    g_assert_cmpstr(ub_fm_error_text(&b.fm, 0x77, m, sizeof(m), text), ==, want);
    /* CNA 0 is ours alone, if we have no other. */
    b.node[SWITCH].cna = 0;
    m[0] = 0x00;
    g_assert_null(ub_fm_error_text(&b.fm, 0, m, sizeof(m), text));
    b.node[SELF].cna = 0;
    g_snprintf(want, sizeof(want), "%s: correctable error",
               ub_fm_guid_text(b.node[SELF].guid, guid));
    g_assert_cmpstr(ub_fm_error_text(&b.fm, 0, m, sizeof(m), text), ==, want);
    b.node[SWITCH].cna = 0x77;
    g_assert_null(ub_fm_error_text(&b.fm, 0x77, m, sizeof(m) - 1, text));
    m[0] = 0x30;
    g_assert_null(ub_fm_error_text(&b.fm, 0x77, m, sizeof(m), text));
    m[0] = 0x01; /* an answer */
    g_assert_null(ub_fm_error_text(&b.fm, 0x77, m, sizeof(m), text));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/fm-report/text", test_text);
    g_test_add_func("/ub/fm-report/picture", test_picture);
    g_test_add_func("/ub/fm-report/lines", test_lines);
    g_test_add_func("/ub/fm-report/same", test_same);
    g_test_add_func("/ub/fm-report/error", test_error);
    return g_test_run();
}
