/*
 * A fabric manager and a node that says what it is told to: answers that are cut
 * short, do not agree or do not come, registers that are refused.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "core/bytes.h"
#include "ub/cfg_regs.h"
#include "ub/fm.h"

#define CNA 0x31
#define ROUTES 0x80u     /* entries of its table, if it has one */

typedef struct Puppet {
    uint8_t tlv[64];    /* of its topology */
    unsigned len;
    bool silent;
    bool deaf;          /* it has no answer for its address */
    UbId behind;        /* who answers behind its port */
    int refused;        /* access that it refuses, counted from 0; -1: none */
    int accesses;
    uint32_t registers[UB_CFG0_UBFM_CNA + 64];
    uint32_t table[UB_ROUTE_DEFAULT_ROUTING_TABLE + ROUTES + 1];
} Puppet;

static const UbId puppet_guid = { { 1, 0, 0x02000000, 0xcc080001 } };

static int puppet_scan(void *opaque, const UbScanWay *way,
                       const UbScanAsk *ask, uint8_t *pdu, unsigned *len)
{
    Puppet *p = opaque;

    if (p->silent) {
        return -1;
    }
    memset(pdu, 0, UB_SCAN_PDU + 4);
    ub_mgmt_put_id(pdu, UB_MF_PDU_GUID, way->hops ? p->behind : puppet_guid);
    *len = UB_SCAN_PDU + 4;
    switch (ask->cmd) {
    case UB_SCAN_TOPOLOGY:
        memcpy(pdu + UB_SCAN_PDU, p->tlv, p->len);
        *len = UB_SCAN_PDU + p->len;
        return 0;
    case UB_SCAN_NA_QUERY:
        ub_mgmt_put(pdu, UB_MF_NA_DONE_CNA, CNA);
        *len -= p->deaf ? 4 : 0;
        return 0;
    default:
        return 0;
    }
}

/* A register, or a dword of the table. */
static uint32_t *place(Puppet *p, uint32_t cna, uint32_t dw)
{
    g_assert_cmphex(cna, ==, 0);
    if (dw >= UB_CFG_ROUTE_BASE) {
        dw -= UB_CFG_ROUTE_BASE;
        g_assert_cmphex(dw, <, G_N_ELEMENTS(p->table));
        return &p->table[dw];
    }
    g_assert_cmphex(dw, <, G_N_ELEMENTS(p->registers));
    return &p->registers[dw];
}

static bool refuses(Puppet *p)
{
    return p->accesses++ == p->refused;
}

static int puppet_read(void *opaque, uint32_t cna, uint32_t dw, uint32_t *value)
{
    Puppet *p = opaque;

    *value = *place(p, cna, dw);
    return refuses(p) ? UB_MGMT_BUSY : 0;
}

static int puppet_write(void *opaque, uint32_t cna, uint32_t dw, uint32_t value)
{
    Puppet *p = opaque;

    uint32_t *to = place(p, cna, dw);

    if (refuses(p)) {
        return UB_MGMT_BUSY;
    }
    *to = value;
    return 0;
}

static const UbFmOps puppet_ops = {
    .scan = puppet_scan, .read = puppet_read, .write = puppet_write,
};

static void add_tlv(Puppet *p, unsigned type, unsigned len)
{
    p->tlv[p->len] = type;
    p->tlv[p->len + 1] = len;
    p->len += len;
}

/* No ports, one slice. */
static Puppet *puppet_new(void)
{
    Puppet *p = g_new0(Puppet, 1);

    p->refused = -1;
    add_tlv(p, UB_TLV_SLICE_INFO, UB_TLV_SLICE_INFO_SIZE);
    ub_mgmt_put(p->tlv, UB_MF_SLICE_TOTAL, 1);
    add_tlv(p, UB_TLV_PORT_NUM, UB_TLV_PORT_NUM_SIZE);
    p->registers[UB_CFG0_TOTAL_NUMBER_OF_ENTITIES] = 3 << 16;
    return p;
}

/* Whether it is found at all. */
static bool is_found(Puppet *p)
{
    UbFm *fm = ub_fm_new(&puppet_ops, p);
    bool found = ub_fm_discover(fm);

    g_assert_cmpuint(fm->nodes, ==, found);
    ub_fm_free(fm);
    g_free(p);
    return found;
}

static void test_answers(void)
{
    Puppet *p = puppet_new();
    unsigned at;

    g_assert_true(is_found(p));
    p = puppet_new();
    p->silent = true;
    g_assert_false(is_found(p));
    /* It says nothing of slices, or of ports. */
    p = puppet_new();
    p->tlv[0] = 0x80;
    g_assert_false(is_found(p));
    p = puppet_new();
    p->len = UB_TLV_SLICE_INFO_SIZE;
    g_assert_false(is_found(p));
    p = puppet_new();
    p->len = 0;
    g_assert_false(is_found(p));
    /* A vendor's TLV has 4 bytes at least, and no more than there are. */
    for (unsigned len = 0; len < 12; len++) {
        p = puppet_new();
        at = p->len;
        add_tlv(p, 0x80, 8);
        p->tlv[at + 1] = len;
        /* One of 4 leaves a second one of no length. */
        p->len = len == 4 ? at + 4 : p->len;
        g_assert_cmpint(is_found(p), ==, len >= 4 && len <= 8);
    }
    /* One that is too short for what it says to be. */
    p = puppet_new();
    at = p->len;
    add_tlv(p, UB_TLV_CAP_INFO, UB_TLV_CAP_INFO_SIZE - 4);
    g_assert_false(is_found(p));
    /* A port that is not there is not written anywhere. */
    p = puppet_new();
    at = p->len;
    add_tlv(p, UB_TLV_PORT_INFO, UB_TLV_PORT_INFO_SIZE);
    ub_mgmt_put(p->tlv + at, UB_MF_PORT_LOCAL, 0);
    g_assert_true(is_found(p));
}

/* Who answers behind a port is who should be there, or nobody. */
static void test_impostor(void)
{
    static const UbId there = { { 7, 0, 0x02000000, 0xcc080001 } };

    for (unsigned other = 0; other < 5; other++) {
        Puppet *p = puppet_new();
        UbFm *fm = ub_fm_new(&puppet_ops, p);
        unsigned at = p->len;

        add_tlv(p, UB_TLV_PORT_INFO, UB_TLV_PORT_INFO_SIZE);
        ub_mgmt_put(p->tlv + UB_TLV_SLICE_INFO_SIZE, UB_MF_PORTS_TOTAL, 1);
        ub_mgmt_put(p->tlv + at, UB_MF_PORT_S, 1);
        ub_mgmt_put_id(p->tlv + at, UB_MF_PORT_GUID, there);
        p->behind = there;
        if (other) {
            p->behind.w[other - 1] ^= 1;
        }
        g_assert_true(ub_fm_discover(fm));
        g_assert_cmpuint(fm->nodes, ==, other ? 1 : 2);
        g_assert_cmpuint(ub_fm_bytes(fm), ==, sizeof(*fm) + fm->nodes *
                         (sizeof(*fm->node) + sizeof(*fm->node->port) +
                          sizeof(*fm->by_guid)));
        ub_fm_free(fm);
        g_free(p);
    }
}

/* Bring it up with the n-th access to its registers refused: how many nodes
 * refused something. */
static unsigned bring_up(int refused, bool *reached, int *accesses)
{
    Puppet *p = puppet_new();
    UbFm *fm = ub_fm_new(&puppet_ops, p);
    UbFmPlan plan;
    unsigned count;

    p->refused = refused;
    ub_fm_plan_init(&plan);
    plan.upi = 5;
    g_assert_true(ub_fm_discover(fm));
    count = ub_fm_bring_up(fm, &plan, NULL);
    *reached = fm->node[0].reached;
    *accesses = p->accesses;
    if (!count) {
        g_assert_cmphex(fm->node[0].cna, ==, CNA);
        g_assert_cmpuint(fm->node[0].entities, ==, 3);
        g_assert_cmphex(p->registers[UB_CFG0_EID], ==, CNA);
        g_assert_cmphex(p->registers[UB_CFG0_UPI], ==, 5);
        g_assert_cmphex(p->registers[UB_CFG0_UBFM_EID], ==, CNA);
        g_assert_cmphex(p->registers[UB_CFG0_UBFM_CNA], ==, CNA);
    }
    ub_fm_free(fm);
    g_free(p);
    return count;
}

/* What is refused is told, whichever register it was. */
static void test_refused(void)
{
    int accesses, all;
    bool reached;

    g_assert_cmpuint(bring_up(-1, &reached, &all), ==, 0);
    g_assert_true(reached);
    /* Features, EID, UPI, UBFM CNA, totals; EID, UPI, UBFM EID and CNA. */
    g_assert_cmpint(all, ==, 1 + 4 + 1 + 1 + 1 + 4 + 1 + 4 + 1);
    for (int i = 0; i < all; i++) {
        g_assert_cmpuint(bring_up(i, &reached, &accesses), >, 0);
        g_assert_cmpint(reached, ==, i >= 8);
        g_assert_cmpint(accesses, ==, i + 1);
    }
}

/* One that does not say its address gets one. */
static void test_address(void)
{
    Puppet *p = puppet_new();
    UbFm *fm = ub_fm_new(&puppet_ops, p);
    UbFmPlan plan;

    p->deaf = true;
    g_assert_true(ub_fm_discover(fm));
    g_assert_cmphex(fm->node[0].cna, ==, 0);
    ub_fm_plan_init(&plan);
    plan.first_cna = 0x77;
    g_assert_cmpuint(ub_fm_give_addresses(fm, &plan), ==, 0);
    g_assert_cmphex(fm->node[0].cna, ==, 0x77);
    ub_fm_free(fm);
    g_free(p);
}

/* Bring up our own node, which has a table: what was written, and whether all was well. */
static unsigned route_own(Puppet *p, bool *good)
{
    UbFm *fm = ub_fm_new(&puppet_ops, p);
    unsigned written;
    UbFmPlan plan;

    ub_fm_plan_init(&plan);
    g_assert_true(ub_fm_discover(fm));
    *good = !ub_fm_bring_up(fm, &plan, NULL);
    written = fm->written;
    ub_fm_free(fm);
    return written;
}

/* Entries that somebody has left: our own, and up to a gap behind the highest CNA; each
 * that is refused is told. */
static void test_table(void)
{
    const unsigned first = UB_ROUTE_DEFAULT_ROUTING_TABLE + 1;
    Puppet *p = puppet_new();
    bool good;
    int all;

    ub_mgmt_put(p->tlv + UB_TLV_SLICE_INFO_SIZE, UB_MF_PORTS_TOTAL, 2);
    p->registers[UB_CFG0_SUPPORTED_FEATURE] =
        UB_CFG0_SUPPORTED_FEATURE__ROUTE_TABLE_SUPPORTED;
    p->table[UB_ROUTE_TABLE_CAP] = ROUTES - 1;
    p->registers[UB_CFG0_EID] = p->registers[UB_CFG0_UBFM_EID] = CNA;
    p->registers[UB_CFG0_UBFM_CNA] = CNA;
    g_assert_cmpuint(route_own(p, &good), ==, 0);
    g_assert_true(good);
    all = p->accesses;
    p->table[first + 7] = 1;
    p->table[first + CNA] = 2;
    p->table[first + CNA + 32] = 3;             /* the last before the gap's end */
    p->table[first + CNA + 32 + 33] = 3;        /* beyond it */
    p->accesses = 0;
    g_assert_cmpuint(route_own(p, &good), ==, 3);
    g_assert_true(good);
    g_assert_cmphex(p->table[first + 7] | p->table[first + CNA] |
                    p->table[first + CNA + 32], ==, 0);
    g_assert_cmphex(p->table[first + CNA + 32 + 33], ==, 3);
    /* The gap is as long as that: behind it nothing is ours. */
    p->table[first + CNA + 33] = 4;
    g_assert_cmpuint(route_own(p, &good), ==, 0);
    g_assert_cmphex(p->table[first + CNA + 33], ==, 4);
    for (int i = 0; i < all; i++) {
        p->accesses = 0;
        p->refused = i;
        g_assert_cmpuint(route_own(p, &good), ==, 0);
        g_assert_false(good);
    }
    g_free(p);
}

/* Of our own table, too, what is known is not read again. */
static void test_known(void)
{
    Puppet *p = puppet_new();
    UbFm *fm[2];
    UbFmPlan plan;

    ub_mgmt_put(p->tlv + UB_TLV_SLICE_INFO_SIZE, UB_MF_PORTS_TOTAL, 2);
    p->registers[UB_CFG0_SUPPORTED_FEATURE] =
        UB_CFG0_SUPPORTED_FEATURE__ROUTE_TABLE_SUPPORTED;
    p->table[UB_ROUTE_TABLE_CAP] = ROUTES - 1;
    ub_fm_plan_init(&plan);
    for (unsigned i = 0; i < 2; i++) {
        fm[i] = ub_fm_new(&puppet_ops, p);
        g_assert_true(ub_fm_discover(fm[i]));
        p->accesses = 0;
        g_assert_cmpuint(ub_fm_bring_up(fm[i], &plan, i ? fm[0] : NULL), ==, 0);
    }
    /* Features, the table's size, EID, UPI, UBFM CNA, totals. */
    g_assert_cmpint(p->accesses, ==, 1 + 1 + 4 + 1 + 1 + 1);
    ub_fm_free(fm[0]);
    ub_fm_free(fm[1]);
    g_free(p);
}

/* What it said of its table before is no more when it says something else. */
static void test_again(void)
{
    Puppet *p = puppet_new();
    UbFm *fm = ub_fm_new(&puppet_ops, p);

    p->registers[UB_CFG0_SUPPORTED_FEATURE] =
        UB_CFG0_SUPPORTED_FEATURE__ROUTE_TABLE_SUPPORTED |
        UB_CFG0_SUPPORTED_FEATURE__SWITCH_SUPPORTED;
    p->table[UB_ROUTE_TABLE_CAP] = ROUTES - 1;
    g_assert_true(ub_fm_discover(fm));
    g_assert_true(ub_fm_inquire_node(fm, 0));
    g_assert_cmpuint(fm->node[0].routes, ==, ROUTES);
    g_assert_true(fm->node[0].forwards);
    p->registers[UB_CFG0_SUPPORTED_FEATURE] = 0;
    g_assert_true(ub_fm_inquire_node(fm, 0));
    g_assert_cmpuint(fm->node[0].routes, ==, 0);
    g_assert_false(fm->node[0].forwards);
    ub_fm_free(fm);
    g_free(p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/fm-puppet/answers", test_answers);
    g_test_add_func("/ub/fm-puppet/impostor", test_impostor);
    g_test_add_func("/ub/fm-puppet/address", test_address);
    g_test_add_func("/ub/fm-puppet/table", test_table);
    g_test_add_func("/ub/fm-puppet/known", test_known);
    g_test_add_func("/ub/fm-puppet/again", test_again);
    g_test_add_func("/ub/fm-puppet/refused", test_refused);
    return g_test_run();
}
