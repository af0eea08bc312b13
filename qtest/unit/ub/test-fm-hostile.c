/*
 * A fabric manager and a switch that lies: ports and neighbours without end, other GUIDs
 * each time, the highest of all CNAs.  What it costs is bounded, what is not kept is
 * counted, and honest nodes get what they would get without it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <stdio.h>

#include "core/bytes.h"
#include "ub/cfg_regs.h"
#include "ub/fm.h"

#define SLICE 16            /* ports in an answer */
#define MIB (1u << 20)
/* What a fabric of UB_FM_NODES takes at most: beside ways, ports and masks of routes
 * a table of CNAs. */
#define MOST_BYTES (UB_FM_NODES * (sizeof(UbFmNode) + UB_FM_NODES * 8) + \
                    UB_FM_PORTS_ALL * sizeof(UbFmPort) + 2 * 65536 + 4096)

/* Port 0 of the manager's own node leads to the liar (its port 0), port 1 to an honest
 * controller.  All that is behind the liar it makes up. */
typedef struct Liar {
    unsigned ports;      /* that each made-up node says it has */
    bool fickle;         /* it names others each time it is asked */
    bool halves;         /* nodes that it names answer only the first slice */
    bool same;           /* all its neighbours are one */
    bool controllers;    /* they are no switches */
    uint32_t cna;        /* that all of them say they have; 0: one each */
    unsigned scans, accesses;
    uint32_t serial;
    uint32_t honest_cna, honest_upi;
} Liar;

static const UbId own_guid = { { 1, 0, 0x02000000, 0xcc080001 } };
static const UbId honest_guid = { { 2, 0, 0x02000000, 0xcc080001 } };

/* The liar is number 0, and what it makes up counts on. */
static UbId made_up(const Liar *l, uint32_t serial)
{
    return (UbId) { { serial, 0xdead,
                      l->controllers && serial ? 0x02000000 : 0x03000000,
                      0xcc080666 } };
}

static uint32_t neighbour_of(Liar *l, UbId who, unsigned port)
{
    if (l->same) {
        return 1;
    }
    return l->fickle ? ++l->serial : who.w[0] * l->ports + port;
}

/* A port's TLV at the end of @pdu. */
static void put_port(uint8_t *pdu, unsigned *len, unsigned port, UbId peer,
                     unsigned peer_port)
{
    uint8_t *p = pdu + *len;

    memset(p, 0, UB_TLV_PORT_INFO_SIZE);
    ub_mgmt_put(p, UB_MF_TLV_TYPE, UB_TLV_PORT_INFO);
    ub_mgmt_put(p, UB_MF_TLV_LENGTH, UB_TLV_PORT_INFO_SIZE);
    ub_mgmt_put(p, UB_MF_PORT_S, 1);
    ub_mgmt_put(p, UB_MF_PORT_LOCAL, port);
    ub_mgmt_put(p, UB_MF_PORT_REMOTE, peer_port);
    ub_mgmt_put_id(p, UB_MF_PORT_GUID, peer);
    *len += UB_TLV_PORT_INFO_SIZE;
}

static void put_head(uint8_t *pdu, unsigned *len, unsigned slice,
                     unsigned slices, unsigned ports)
{
    uint8_t *p = pdu + *len;

    memset(p, 0, UB_TLV_SLICE_INFO_SIZE + UB_TLV_PORT_NUM_SIZE);
    ub_mgmt_put(p, UB_MF_TLV_TYPE, UB_TLV_SLICE_INFO);
    ub_mgmt_put(p, UB_MF_TLV_LENGTH, UB_TLV_SLICE_INFO_SIZE);
    ub_mgmt_put(p, UB_MF_SLICE_TOTAL, slices);
    p += UB_TLV_SLICE_INFO_SIZE;
    ub_mgmt_put(p, UB_MF_TLV_TYPE, UB_TLV_PORT_NUM);
    ub_mgmt_put(p, UB_MF_TLV_LENGTH, UB_TLV_PORT_NUM_SIZE);
    ub_mgmt_put(p, UB_MF_PORTS_TOTAL, ports);
    *len += UB_TLV_SLICE_INFO_SIZE + UB_TLV_PORT_NUM_SIZE;
}

static int topology(Liar *l, const UbScanWay *way, const UbScanAsk *ask,
                    uint8_t *pdu, unsigned *len)
{
    unsigned slices = MIN((l->ports + SLICE - 1) / SLICE, 255);

    if (!way->hops) {
        ub_mgmt_put_id(pdu, UB_MF_PDU_GUID, own_guid);
        put_head(pdu, len, 0, 1, 2);
        put_port(pdu, len, 0, made_up(l, 0), 0);
        put_port(pdu, len, 1, honest_guid, 0);
        return 0;
    }
    ub_mgmt_put_id(pdu, UB_MF_PDU_GUID, ask->guid);
    if (way->forward[0] == 1) {
        put_head(pdu, len, 0, 1, 1);
        put_port(pdu, len, 0, own_guid, 1);
        return 0;
    }
    if (l->halves && way->hops > 1 && ask->slice) {
        return -1;
    }
    put_head(pdu, len, ask->slice, slices, l->ports);
    for (unsigned i = 0; i < SLICE; i++) {
        unsigned port = ask->slice * SLICE + i;

        if (way->hops == 1 && !port) {
            put_port(pdu, len, 0, own_guid, 0);
        } else if (port < l->ports) {
            put_port(pdu, len, port,
                     made_up(l, neighbour_of(l, ask->guid, port)), 0);
        }
    }
    return 0;
}

static bool is_honest(const UbScanWay *way)
{
    return way->hops && way->forward[0] == 1;
}

static int liar_scan(void *opaque, const UbScanWay *way, const UbScanAsk *ask,
                     uint8_t *pdu, unsigned *len)
{
    Liar *l = opaque;

    l->scans++;
    memset(pdu, 0, UB_SCAN_PDU + 4);
    *len = UB_SCAN_PDU;
    if (ask->cmd == UB_SCAN_TOPOLOGY) {
        return topology(l, way, ask, pdu, len);
    }
    ub_mgmt_put_id(pdu, UB_MF_PDU_GUID, ask->guid);
    if (ask->cmd == UB_SCAN_NA_QUERY) {
        ub_mgmt_put(pdu, UB_MF_NA_DONE_CNA,
                    !way->hops || is_honest(way) ? 0 : l->cna);
        *len += 4;
    } else if (is_honest(way)) {
        l->honest_cna = ask->cna;
    }
    return 0;
}

/* Whatever is behind the liar has tables, and says so. */
static int liar_read(void *opaque, uint32_t cna, uint32_t dw, uint32_t *value)
{
    Liar *l = opaque;

    l->accesses++;
    *value = 0;
    if (cna && cna != l->honest_cna) {
        *value = dw == UB_CFG0_SUPPORTED_FEATURE
                 ? UB_CFG0_SUPPORTED_FEATURE__ROUTE_TABLE_SUPPORTED
                 : dw == UB_CFG_ROUTE_BASE + UB_ROUTE_TABLE_CAP ? 127 : 0;
    }
    return 0;
}

static int liar_write(void *opaque, uint32_t cna, uint32_t dw, uint32_t value)
{
    Liar *l = opaque;

    l->accesses++;
    if (cna && cna == l->honest_cna && dw == UB_CFG0_UPI) {
        l->honest_upi = value;
    }
    return 0;
}

static const UbFmOps liar_ops = {
    .scan = liar_scan, .read = liar_read, .write = liar_write,
};

/* Resident memory of the process, in bytes. */
static size_t resident(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long all = 0, here = 0;

    if (f) {
        g_assert_cmpint(fscanf(f, "%lu %lu", &all, &here), ==, 2);
        fclose(f);
    }
    return here * 4096;
}

static UbFm *look_at(Liar *l, unsigned most)
{
    UbFm *fm = ub_fm_new(&liar_ops, l);
    UbFmPlan plan;

    fm->most = most;
    g_assert_true(ub_fm_discover(fm));
    ub_fm_plan_init(&plan);
    plan.upi = 9;
    ub_fm_bring_up(fm, &plan, NULL);
    return fm;
}

/* The honest controller has all that it should. */
static void judge(const Liar *l, const UbFm *fm)
{
    int i = ub_fm_find(fm, honest_guid);

    g_assert_cmpint(i, >, 0);
    g_assert_cmphex(l->honest_cna, !=, 0);
    g_assert_cmphex(fm->node[i].cna, ==, l->honest_cna);
    g_assert_cmphex(l->honest_upi, ==, 9);
    g_assert_cmphex(ub_fm_route(fm, 0, l->honest_cna), ==, 2);
}

/* Neighbours without end. */
static void test_neighbours(void)
{
    for (unsigned fickle = 0; fickle < 2; fickle++) {
        Liar l = { .ports = 64, .fickle = fickle };
        size_t before = resident(), after;
        UbFm *fm = look_at(&l, 0);

        after = resident();
        g_test_message("%u nodes, %u ports: %zu KiB kept, %zu KiB more resident, "
                       "%u scans", fm->nodes, fm->ports, ub_fm_bytes(fm) / 1024,
                       (after > before ? after - before : 0) / 1024, l.scans);
        g_assert_cmpuint(fm->nodes, ==, UB_FM_NODES);
        g_assert_cmpuint(ub_fm_bytes(fm), <=, MOST_BYTES);
        g_assert_cmpuint(ub_fm_bytes(fm), <, 16 * MIB);
        g_assert_cmpuint(fm->beyond.neighbours, >, 0);
        g_assert_cmpuint(fm->asked, <=, 4 * UB_FM_NODES);
        judge(&l, fm);
        ub_fm_free(fm);
    }
}

/* Fewer nodes are kept where that is said, and never more than the most. */
static void test_most(void)
{
    static const unsigned most[][2] = {
        { 3, 3 }, { 100, 100 }, { UB_FM_NODES_MOST + 1, UB_FM_NODES_MOST },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(most); i++) {
        Liar l = { .ports = 24, .controllers = i == 2 };
        UbFm *fm = ub_fm_new(&liar_ops, &l);

        fm->most = most[i][0];
        g_assert_true(ub_fm_discover(fm));
        g_assert_cmpuint(fm->nodes, <=, most[i][1]);
        if (!l.controllers) {
            g_assert_cmpuint(fm->nodes, ==, most[i][1]);
            g_assert_cmpuint(fm->beyond.neighbours, >, 0);
        }
        ub_fm_free(fm);
    }
}

/* More ports than a node may have, or than all may have: the node is not taken. */
static void test_ports(void)
{
    Liar all = { .ports = 65535 };
    Liar many = { .ports = UB_FM_PORTS };
    UbFm *fm = look_at(&all, 0);

    g_assert_cmpuint(fm->nodes, ==, 2);
    g_assert_cmpuint(fm->beyond.ports, ==, 1);
    g_assert_cmpuint(fm->beyond.neighbours, ==, 0);
    judge(&all, fm);
    ub_fm_free(fm);
    /* The most that one may have; 3 ports are honest. */
    fm = look_at(&many, 0);
    g_assert_cmpuint(fm->ports, <=, UB_FM_PORTS_ALL);
    g_assert_cmpuint(fm->nodes, ==, 2 + (UB_FM_PORTS_ALL - 3) / UB_FM_PORTS);
    g_assert_cmpuint(fm->beyond.ports, >, 0);
    g_assert_cmpuint(fm->node[1].asked, ==, UB_FM_NEIGHBOURS);
    g_assert_cmpuint(ub_fm_bytes(fm), <=, MOST_BYTES);
    judge(&many, fm);
    ub_fm_free(fm);
}

/* Who answers by halves keeps us asking for so long and no longer. */
static void test_halves(void)
{
    Liar l = { .ports = 512, .fickle = true, .halves = true };
    UbFm *fm = look_at(&l, 8);

    g_assert_cmpuint(fm->nodes, ==, 3);
    g_assert_cmpuint(fm->asked, ==, 4 * 8);
    g_assert_cmpuint(fm->beyond.neighbours, ==, 512 - 1 - (4 * 8 - 2));
    g_assert_cmpuint(fm->unanswered, ==, 4 * 8 - 2);
    judge(&l, fm);
    ub_fm_free(fm);
}

/* One neighbour behind all ports is one node, and nothing is beyond. */
static void test_same(void)
{
    Liar l = { .ports = 64, .same = true };
    UbFm *fm = look_at(&l, 4);

    g_assert_cmpuint(fm->nodes, ==, 4);
    g_assert_cmpuint(fm->beyond.neighbours, ==, 0);
    judge(&l, fm);
    ub_fm_free(fm);
}

/* The highest CNA: routes are no longer for it, and nobody is refused for it. */
static void test_cna(void)
{
    Liar l = { .ports = 64, .cna = 0xffff };
    UbFm *fm = look_at(&l, 200);

    g_assert_cmpuint(fm->nodes, ==, 200);
    g_assert_cmphex(fm->cnas, ==, 0x10000);
    g_assert_cmpuint(ub_fm_bytes(fm), <, 2 * MIB);
    for (unsigned i = 0; i < fm->nodes; i++) {
        g_assert_true(fm->node[i].reached);
    }
    judge(&l, fm);
    ub_fm_free(fm);
}

/* Text and JSON say so. */
static void test_told(void)
{
    Liar l = { .ports = 8 };
    UbFm *fm = look_at(&l, 4);
    char *text = NULL, *json = NULL, *want;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    ub_fm_text(fm, out);
    fclose(out);
    out = open_memstream(&json, &len);
    ub_fm_json(fm, out);
    fclose(out);
    g_assert_nonnull(strstr(text, "not looked at: there are too many"));
    want = g_strdup_printf("\"beyond\": {\"neighbours\": %u, \"ports\": 0}",
                           fm->beyond.neighbours);
    g_assert_cmpuint(fm->beyond.neighbours, ==, fm->node[1].beyond +
                     fm->node[3].beyond);
    g_assert_nonnull(strstr(json, want));
    g_free(want);
    free(text);
    free(json);
    ub_fm_free(fm);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/fm-hostile/neighbours", test_neighbours);
    g_test_add_func("/ub/fm-hostile/most", test_most);
    g_test_add_func("/ub/fm-hostile/ports", test_ports);
    g_test_add_func("/ub/fm-hostile/halves", test_halves);
    g_test_add_func("/ub/fm-hostile/same", test_same);
    g_test_add_func("/ub/fm-hostile/cna", test_cna);
    g_test_add_func("/ub/fm-hostile/told", test_told);
    return g_test_run();
}
