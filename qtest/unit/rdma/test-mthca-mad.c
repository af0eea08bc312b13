/*
 * ncic-mthca: what the port tells and takes from a subnet manager and other
 * agents.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "mthca-end.h"

static void test_mad(void)
{
    MGuest *g = mguest_new(3, true);
    uint8_t *in, *o = mout_box(g), *d = o + 64;

    mguest_init_hca(g);
    mend_mad(g, 1, 1, 0x11, 0);
    mok(g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmphex(o[3], ==, 0x81);
    g_assert_cmphex(get_be64(o + 8), ==, 0x1122334455667788);
    g_assert_cmpuint(d[2], ==, 1);
    g_assert_cmphex(get_be64(d + 20), ==, g->cfg.port_guid);
    /* Addresses are there before the port is. */
    mend_mad(g, 1, 1, 0x14, 0);
    mok(g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmphex(get_be64(d), ==, g->cfg.port_guid);
    mend_mad(g, 1, 1, 0x16, 0);
    mok(g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmphex(get_be16(d), ==, 0xffff);
    mend_mad(g, 1, 1, 0x14, 4);
    mok(g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmphex(get_be16(o + 4), ==, 7 << 2);
    mend_mad(g, 1, 1, 0x99, 0);
    mok(g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmphex(get_be16(o + 4), ==, 3 << 2);
    mend_mad(g, 1, 5, 0x11, 0);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_MAD_IFC, 1, 3), ==,
                    MTHCA_ST_BAD_PKT);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_MAD_IFC, 2, 3), ==,
                    MTHCA_ST_BAD_INDEX);

    /* A subnet manager's way: INIT, ARMED, ACTIVE. */
    put_be32(min_box(g), 0x4340);
    mok(g, MTHCA_CMD_INIT_IB, 1, 0);
    g_assert_cmpuint(mthca_port_state(g->m), ==, 2);
    mend_mad(g, 0x81, 1, 0x15, 1);
    mok(g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmphex(d[33] >> 4, ==, 5);
    in = mend_mad(g, 0x81, 2, 0x15, 1);
    memcpy(in + 64, d, 64);
    put_be64(in + 64, 0xabcd);          /* M_Key */
    put_be16(in + 64 + 16, 17);
    put_be16(in + 64 + 18, 1);
    in[64 + 32] = 4;                    /* not from INIT */
    mok(g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmphex(get_be16(o + 4), ==, 7 << 2);
    in[64 + 32] = 3;
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_MAD_IFC, 1, 0), ==,
                    MTHCA_ST_BAD_PKT);  /* M_Key is set and missing */
    put_be64(in + 24, 0xabcd);
    mok(g, MTHCA_CMD_MAD_IFC, 1, 0);
    in[64 + 32] = 4;
    mok(g, MTHCA_CMD_MAD_IFC, 1, 0);
    g_assert_cmphex(get_be16(o + 4), ==, 0);
    g_assert_cmpuint(mthca_port_state(g->m), ==, 4);
    g_assert_cmpuint(mthca_port_lid(g->m), ==, 17);
    g_assert_cmpuint(rdma_port(mthca_rdma(g->m))->lid, ==, 17);
    /* One wrong method, one wrong M_Key. */
    g_assert_cmpuint(mthca_counters(g->m)->mads_dropped, ==, 2);
    /* A multicast LID is not one for a port. */
    put_be16(in + 64 + 16, 0xc001);
    mok(g, MTHCA_CMD_MAD_IFC, 1, 0);
    g_assert_cmphex(get_be16(o + 4), ==, 7 << 2);
    g_assert_cmpuint(mthca_port_lid(g->m), ==, 17);

    mend_mad(g, 4, 1, 1, 0);
    mok(g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmphex(get_be16(d + 2), ==, 0);    /* no extended counters */
    mend_mad(g, 4, 1, 0x12, 0)[65] = 1;
    mok(g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmphex(get_be16(o + 4), ==, 0);
    mthca_link_set(g->m, false);
    g_assert_cmpuint(mthca_port_state(g->m), ==, 1);
    mguest_free(g);
}

/* P_Key and Q_Key violations are counted in PortInfo, and cleared by a Set. */
static void test_violations(void)
{
    MEnd a = mend_new(1), b = mend_new(2);
    uint8_t *in, *i;

    mend_qp_up(&a, MTHCA_ST_UD, 0, 0, 0, false);
    mend_qp_up(&b, MTHCA_ST_UD, 0, 0, 0, false);
    mend_recv(&b, 0, ME_DATA, 140);
    for (int n = 0; n < 3; n++) {
        mend_send_ud(&a, 0x22222222);
        mexchange(a.g, b.g);
    }
    i = mend_port_info(b.g);
    g_assert_cmpuint(get_be16(i + MTHCA_PI_QKEY_VIOLATIONS), ==, 3);
    g_assert_cmpuint(get_be16(i + MTHCA_PI_PKEY_VIOLATIONS), ==, 0);
    /* SET_IB with its flag, and no other, clears the one, not the other. */
    for (int n = 0; n < 2; n++) {
        put_be32(min_box(b.g), n ? 1 : ~1u);
        mok(b.g, MTHCA_CMD_SET_IB, 1, 0);
        i = mend_port_info(b.g);
        g_assert_cmpuint(get_be16(i + MTHCA_PI_QKEY_VIOLATIONS), ==, n ? 0 : 3);
    }
    /* Only P_Key 8001 is at home here. */
    in = mend_mad(b.g, 1, 2, 0x16, 0);
    put_be16(in + 64, 0x8001);
    mok(b.g, MTHCA_CMD_MAD_IFC, 1, 3);
    in = mend_mad(a.g, 1, 2, 0x16, 0);
    put_be16(in + 64, 0x8002);
    mok(a.g, MTHCA_CMD_MAD_IFC, 1, 3);
    for (int n = 0; n < 2; n++) {
        mend_send_ud(&a, 0x11111111);
        mexchange(a.g, b.g);
    }
    g_assert_null(mend_poll(&b));
    i = mend_port_info(b.g);
    g_assert_cmpuint(get_be16(i + MTHCA_PI_PKEY_VIOLATIONS), ==, 2);
    /* A Set writes the counters; they go on from there, to ffff. */
    in = mend_mad(b.g, 1, 2, 0x15, 1);
    memcpy(in + 64, i, 64);
    in[64 + MTHCA_PI_STATE] &= 0xf0;
    put_be16(in + 64 + MTHCA_PI_PKEY_VIOLATIONS, 0xfffe);
    mok(b.g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmphex(get_be16(mout_box(b.g) + 4), ==, 0);
    for (int n = 0; n < 2; n++) {
        mend_send_ud(&a, 0x11111111);
        mexchange(a.g, b.g);
    }
    i = mend_port_info(b.g);
    g_assert_cmphex(get_be16(i + MTHCA_PI_PKEY_VIOLATIONS), ==, 0xffff);
    /* Neither counted before a reset nor lost by it. */
    mthca_reset(b.g->m);
    mguest_init_hca(b.g);
    i = mend_port_info(b.g);
    g_assert_cmpuint(get_be16(i + MTHCA_PI_PKEY_VIOLATIONS), ==, 0);
    mend_free(&a);
    mend_free(&b);
}

/* PortInfo, all of it: as it is, and what a Set changes of it. */
static void test_port_info(void)
{
    static const uint8_t fresh[64] = {
        [8] = 0xfe, 0x80, [16] = 0, 1, [28] = 1, 3, 3, 2, 0x34, 0x52,
        [35] = 0x23, 0x40, 0x10, [41] = 4, [43] = 0x10, [50] = 32,
        [52] = 0x10,
    };
    MEnd e = mend_new(1);
    uint8_t want[64], *in;

    g_assert_cmpmem(mend_port_info(e.g), 64, fresh, 64);
    in = mend_mad(e.g, 1, 2, 0x15, 1) + 64;
    for (unsigned i = 0; i < 64; i++) {
        in[i] = i + 0x81;
    }
    put_be64(in, 0);                    /* no M_Key, or nothing works */
    put_be16(in + 16, 7);
    put_be16(in + 18, 9);
    in[32] = 0;
    memcpy(want, fresh, 64);
    memcpy(want + 8, in + 8, 12);       /* prefix, LID, SM LID */
    memcpy(want + 26, in + 26, 2);
    want[29] = in[29];
    want[33] = 0x50 | (in[33] & 0xf);
    want[34] = in[34] & 0xc7;
    want[35] = 0x20 | (in[35] & 0xf);
    want[36] = 0x40 | (in[36] & 0xf);   /* that MTU is none */
    want[38] = in[38];
    memcpy(want + 44, in + 44, 6);
    want[51] = in[51] & 0x1f;
    want[53] = in[53];
    mok(e.g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmpmem(mout_box(e.g) + 64, 64, want, 64);
    g_assert_cmpmem(mend_port_info(e.g), 64, want, 64);
    /* No width, and all that there are: it stays. */
    for (unsigned width = 0; width <= 0xff; width += 0xff) {
        in = mend_mad(e.g, 1, 2, 0x15, 1) + 64;
        memcpy(in, want, 64);
        in[29] = width;
        in[32] = 0;
        mok(e.g, MTHCA_CMD_MAD_IFC, 1, 3);
        g_assert_cmphex(mend_port_info(e.g)[29], ==, want[29]);
    }
    /* An MTU that is one; not more than the port can do. */
    in = mend_mad(e.g, 1, 2, 0x15, 1) + 64;
    memcpy(in, want, 64);
    in[32] = 0;
    in[36] = 0x21;
    mok(e.g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmphex(mend_port_info(e.g)[36], ==, 0x21);
    /* No MTU, no VLs: they stay; the service level is set. */
    in = mend_mad(e.g, 1, 2, 0x15, 1) + 64;
    memcpy(in, want, 64);
    in[32] = 0;
    in[35] = 0x50;
    in[36] = 0x02;
    mok(e.g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmphex(mend_port_info(e.g)[35], ==, want[35]);
    g_assert_cmphex(mend_port_info(e.g)[36], ==, 0x22);
    /* Half bytes that are set, others that stay: whose other half says nothing. */
    in = mend_mad(e.g, 1, 2, 0x15, 1) + 64;
    memcpy(in, want, 64);
    in[32] = 0;
    in[33] = 0xa1;
    in[35] = 0x04;
    in[42] = 0x20;
    in[43] = 0x15;
    mok(e.g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmphex(mend_port_info(e.g)[33], ==, 0x51);
    g_assert_cmphex(mend_port_info(e.g)[35], ==, 0x24);
    g_assert_cmphex(mend_port_info(e.g)[43], ==, 0x15);
    in = mend_mad(e.g, 1, 2, 0x15, 1) + 64;
    memcpy(in, want, 64);
    in[32] = 0;
    in[33] = 0xa0;
    in[35] = 0x5f;
    in[42] = 0x10;
    in[43] = 0x2a;
    mok(e.g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmphex(mend_port_info(e.g)[33], ==, 0x51);
    g_assert_cmphex(mend_port_info(e.g)[35], ==, 0x24);
    g_assert_cmphex(mend_port_info(e.g)[43], ==, 0x15);
    mend_free(&e);
}

/* ---- attribute by attribute ---- */

/* MAD_IFC with the prepared inbox; the MAD's own status. */
static uint16_t mad_status(MGuest *g)
{
    mok(g, MTHCA_CMD_MAD_IFC, 1, 3);
    g_assert_cmphex(mout_box(g)[3], ==, 0x81);
    return get_be16(mout_box(g) + 4);
}

static const uint8_t *mad_get(MGuest *g, uint8_t class, uint16_t attr,
                              uint32_t mod)
{
    memset(mend_mad(g, class, 1, attr, mod) + 64, 0xee, 192);
    if (class == 4) {
        g->mem[G_IN + 65] = 1;          /* port select */
    }
    g_assert_cmphex(mad_status(g), ==, 0);
    /* What is behind the data of a subnet management packet comes back. */
    for (unsigned i = 128; class != 4 && i < 256; i++) {
        g_assert_cmphex(mout_box(g)[i], ==, 0xee);
    }
    return mout_box(g) + 64;
}

/* Attributes that never change, all bytes of them. */
static void test_fixed(void)
{
    static const uint8_t node[64] = {
        1, 1, 1, 1,
        0, 2, 0xc9, 0, 0, 0, 0, 0x30, 0, 2, 0xc9, 0, 0, 0, 0, 0x30,
        0, 2, 0xc9, 0, 0, 0, 0, 0x31, 0, 64, 0x62, 0x74,
        0, 0, 0, 0xa0, 1, 0, 2, 0xc9,
    };
    static const uint8_t desc[64] = "ncic-mthca";
    static const uint8_t before[64] = {
        [8] = 0xfe, 0x80, [28] = 1, 3, 3, 2, 0x31, 0x22, [35] = 0x23, 0x40,
        0x10, [41] = 4, [43] = 0x10, [50] = 32, [52] = 0x10,
    };
    MGuest *g = mguest_new(3, true);
    const uint8_t *d;

    mguest_init_hca(g);
    g_assert_cmpmem(mad_get(g, 1, 0x11, 0), 64, node, 64);
    g_assert_cmpmem(mad_get(g, 0x81, 0x10, 0), 64, desc, 64);
    /* The port before INIT_IB. */
    g_assert_cmpmem(mad_get(g, 1, 0x15, 1), 64, before, 64);
    /* Of the performance agent: the rest of the datagram comes back. */
    d = mad_get(g, 4, 0x01, 0);
    g_assert_cmphex(d[0], ==, 1);
    g_assert_cmphex(d[1], ==, 1);
    g_assert_cmphex(d[7], ==, 0x10);
    d = mad_get(g, 4, 0x10, 0);
    for (unsigned i = 0; i < 64; i++) {
        g_assert_cmphex(d[i], ==, i == 1);
    }
    g_assert_cmphex(d[64], ==, 0xee);
    mguest_free(g);
}

/* GUIDs: the first is the port's, the others are the manager's to set; each is
 * a GID under the prefix, and none where there is no GUID. */
static void test_guids(void)
{
    MEnd e = mend_new(1);
    const RdmaPort *port = rdma_port(mthca_rdma(e.g->m));

    for (unsigned block = 0; block < 4; block++) {
        uint8_t *in = mend_mad(e.g, 1, 2, 0x14, block) + 64;

        for (unsigned i = 0; i < 8; i++) {
            put_be64(in + i * 8, i == 5 ? 0 :
                     UINT64_C(0x1122334455660000) + block * 8 + i);
        }
        g_assert_cmphex(mad_status(e.g), ==, 0);
    }
    for (unsigned n = 0; n < 32; n++) {
        const uint8_t *d = mad_get(e.g, 1, 0x14, n / 8);
        uint64_t want = n == 0 ? e.g->cfg.port_guid : n % 8 == 5 ? 0 :
                        UINT64_C(0x1122334455660000) + n;

        g_assert_cmphex(get_be64(d + n % 8 * 8), ==, want);
        g_assert_cmphex(get_be64(port->gid[n] + 8), ==, want);
        g_assert_cmphex(get_be64(port->gid[n]), ==,
                        want ? e.g->cfg.gid_prefix : 0);
    }
    mend_mad(e.g, 1, 2, 0x14, 4);
    g_assert_cmphex(mad_status(e.g), ==, 7 << 2);
    mend_free(&e);
}

/* With the property roce-gid the second is the address mapped into IPv6. */
static void test_roce_gid(void)
{
    for (unsigned roce = 0; roce < 2; roce++) {
        MGuest *g = mguest_new(3, false);
        const uint8_t *d;

        g->cfg.roce_gid = roce;
        mthca_free(g->m);
        g->m = mthca_new(&g->cfg);
        mguest_init_hca(g);
        d = mad_get(g, 1, 0x14, 0);
        g_assert_cmphex(get_be64(d), ==, g->cfg.port_guid);
        g_assert_cmphex(get_be64(d + 8), ==, roce ? 0xffff00000000ull |
                        rdma_lid_to_ip(mthca_rdma(g->m), 3) : 0);
        for (unsigned i = 2; i < 8; i++) {
            g_assert_cmphex(get_be64(d + i * 8), ==, 0);
        }
        mguest_free(g);
    }
}

static void test_pkeys(void)
{
    MEnd e = mend_new(1);
    const RdmaPort *port = rdma_port(mthca_rdma(e.g->m));

    for (unsigned block = 0; block < 2; block++) {
        /* The upper half names a switch's port: nothing here. */
        uint8_t *in = mend_mad(e.g, 1, 2, 0x16, 7 << 16 | block) + 64;

        for (unsigned i = 0; i < 32; i++) {
            put_be16(in + i * 2, 0x8000 + block * 32 + i);
        }
        g_assert_cmphex(mad_status(e.g), ==, 0);
    }
    for (unsigned n = 0; n < 64; n++) {
        g_assert_cmphex(get_be16(mad_get(e.g, 1, 0x16, n / 32) + n % 32 * 2),
                        ==, 0x8000 + n);
        g_assert_cmphex(port->pkey[n], ==, 0x8000 + n);
    }
    g_assert_cmpuint(port->num_pkeys, ==, 64);
    mend_mad(e.g, 1, 1, 0x16, 2);
    g_assert_cmphex(mad_status(e.g), ==, 7 << 2);
    mend_free(&e);
}

/* Tables that are kept and mean nothing with one lane. */
static void test_lanes(void)
{
    MEnd e = mend_new(1);
    uint8_t *in = mend_mad(e.g, 1, 2, 0x17, 0) + 64;

    memset(in, 0x21, 64);
    g_assert_cmphex(mad_status(e.g), ==, 0);
    for (unsigned i = 0; i < 64; i++) {
        g_assert_cmphex(mad_get(e.g, 1, 0x17, 0)[i], ==, i < 8 ? 0x21 : 0);
    }
    g_assert_cmphex(mad_get(e.g, 1, 0x18, 1 << 16)[0], ==, 0);
    for (unsigned block = 1; block <= 4; block++) {
        memset(mend_mad(e.g, 1, 2, 0x18, block << 16 | 1) + 64, block, 64);
        g_assert_cmphex(mad_status(e.g), ==, 0);
    }
    for (unsigned block = 1; block <= 4; block++) {
        const uint8_t *d = mad_get(e.g, 1, 0x18, block << 16);

        for (unsigned i = 0; i < 64; i++) {
            g_assert_cmphex(d[i], ==, block);
        }
    }
    mend_mad(e.g, 1, 1, 0x18, 0xffff);
    g_assert_cmphex(mad_status(e.g), ==, 7 << 2);
    mend_mad(e.g, 1, 1, 0x18, 5 << 16);
    g_assert_cmphex(mad_status(e.g), ==, 7 << 2);
    mend_free(&e);
}

/* What a Set of the port's state does, from each state. */
static void test_port_states(void)
{
    enum { DOWN = 1, INIT, ARMED, ACTIVE };
    static const struct {
        uint8_t from, want, phys, state, status;
    } t[] = {
        { INIT, 0, 0, INIT, 0 }, { INIT, INIT, 0, INIT, 0 },
        { INIT, ARMED, 0, ARMED, 0 }, { INIT, ACTIVE, 0, INIT, 7 },
        { INIT, 5, 0, INIT, 7 },
        { ARMED, INIT, 0, ARMED, 7 }, { ARMED, ARMED, 0, ARMED, 0 },
        { ARMED, ACTIVE, 0, ACTIVE, 0 }, { ARMED, 0, 0, ARMED, 0 },
        { ACTIVE, INIT, 0, ACTIVE, 7 }, { ACTIVE, ARMED, 0, ACTIVE, 7 },
        { ACTIVE, ACTIVE, 0, ACTIVE, 0 }, { ACTIVE, 0, 3, ACTIVE, 0 },
        /* Down: it trains again, unless that is forbidden. */
        { INIT, DOWN, 0, INIT, 0 }, { ARMED, DOWN, 2, INIT, 0 },
        { ACTIVE, DOWN, 1, INIT, 0 }, { ACTIVE, DOWN, 3, DOWN, 0 },
        { ACTIVE, DOWN, 4, INIT, 0 }, { ACTIVE, DOWN, 7, INIT, 0 },
        { DOWN, DOWN, 0, DOWN, 0 }, { DOWN, ARMED, 0, DOWN, 7 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        MGuest *g = mguest_new(3, true);
        uint8_t *in, at[64];

        mguest_init_hca(g);
        if (t[i].from != DOWN) {
            mtb_init_ib(min_box(g));
            mok(g, MTHCA_CMD_INIT_IB, 1, 0);
        }
        for (uint8_t s = ARMED; s <= t[i].from; s++) {
            memcpy(at, mend_port_info(g), 64);
            in = mend_mad(g, 1, 2, 0x15, 1) + 64;
            memcpy(in, at, 64);
            in[32] = s;
            g_assert_cmphex(mad_status(g), ==, 0);
        }
        g_assert_cmpuint(mthca_port_state(g->m), ==, t[i].from);
        memcpy(at, mend_port_info(g), 64);
        in = mend_mad(g, 1, 2, 0x15, 1) + 64;
        memcpy(in, at, 64);
        in[32] = t[i].want;
        in[33] = t[i].phys << 4;
        g_assert_cmphex(mad_status(g), ==, t[i].status << 2);
        g_assert_cmpuint(mthca_port_state(g->m), ==, t[i].state);
        g_assert_cmpuint(mend_port_info(g)[33] >> 4, ==,
                         t[i].state == DOWN ? 2 : 5);
        mguest_free(g);
    }
}

/* LIDs up to bfff; of another port nothing. */
static void test_lids(void)
{
    static const struct {
        uint16_t lid, sm_lid;
        uint8_t status;
    } t[] = {
        { 0xbfff, 1, 0 }, { 0xc000, 1, 7 }, { 1, 0xbfff, 0 },
        { 1, 0xc000, 7 }, { 0, 0, 0 },
    };
    MEnd e = mend_new(1);
    uint8_t at[64];

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        uint8_t *in;

        memcpy(at, mend_port_info(e.g), 64);
        in = mend_mad(e.g, 1, 2, 0x15, 1) + 64;
        memcpy(in, at, 64);
        in[32] = 0;
        put_be16(in + 16, t[i].lid);
        put_be16(in + 18, t[i].sm_lid);
        g_assert_cmphex(mad_status(e.g), ==, t[i].status << 2);
        g_assert_cmphex(get_be16(mend_port_info(e.g) + 16), ==,
                        t[i].status ? get_be16(at + 16) : t[i].lid);
        g_assert_cmphex(get_be16(mend_port_info(e.g) + 18), ==,
                        t[i].status ? get_be16(at + 18) : t[i].sm_lid);
    }
    mend_mad(e.g, 1, 1, 0x15, 0x101);   /* the low byte is the port */
    g_assert_cmphex(mad_status(e.g), ==, 0);
    mend_mad(e.g, 1, 1, 0x15, 2);
    g_assert_cmphex(mad_status(e.g), ==, 7 << 2);
    mend_free(&e);
}

/* Whom the M_Key keeps out (IB 1.3 14.2.4). */
static void test_mkey(void)
{
    for (unsigned i = 0; i < 64; i++) {
        bool set = i & 1, right = i & 2, none = i & 4, ignore = i & 8;
        unsigned protect = i >> 4;
        MEnd e = mend_new(1);
        uint8_t at[64], *in;
        bool pass = none || right || ignore || (!set && protect < 2);

        memcpy(at, mend_port_info(e.g), 64);
        in = mend_mad(e.g, 1, 2, 0x15, 1) + 64;
        memcpy(in, at, 64);
        in[32] = 0;
        put_be64(in, none ? 0 : 0x1234);
        in[34] = protect << 6;
        g_assert_cmphex(mad_status(e.g), ==, 0);
        memcpy(at, in, 64);
        in = mend_mad(e.g, 1, set ? 2 : 1, 0x17, 0);
        put_be64(in + 24, right ? 0x1234 : 0x1235);
        g_assert_cmphex(mcmd_box(e.g, MTHCA_CMD_MAD_IFC, 1, ignore ? 3 : 2),
                        ==, pass ? 0 : MTHCA_ST_BAD_PKT);
        g_assert_cmpuint(get_be16(mend_port_info(e.g) + 44), ==, !pass);
        g_assert_cmpuint(mthca_counters(e.g->m)->mads_dropped, ==, !pass);
        mend_free(&e);
    }
}

/* Methods, classes and attributes that there are, and others. */
static void test_methods(void)
{
    static const struct {
        uint8_t base, class, method;
        uint16_t attr;
        uint8_t status, answer;         /* of the command, of the MAD */
    } t[] = {
        { 1, 1, 1, 0x11, 0, 0 }, { 1, 0x81, 1, 0x11, 0, 0 },
        { 2, 1, 1, 0x11, MTHCA_ST_BAD_PKT, 0 },
        { 1, 1, 0, 0x11, MTHCA_ST_BAD_PKT, 0 },
        { 1, 1, 3, 0x11, MTHCA_ST_BAD_PKT, 0 },
        { 1, 1, 0x81, 0x11, MTHCA_ST_BAD_PKT, 0 },
        { 1, 1, 7, 0x11, 0, 0 }, { 1, 1, 7, 0x99, 0, 0 },
        { 1, 1, 2, 0x11, 0, 2 << 2 }, { 1, 1, 2, 0x10, 0, 2 << 2 },
        { 1, 4, 2, 0x01, 0, 2 << 2 }, { 1, 4, 2, 0x10, 0, 0 },
        { 1, 3, 1, 0x11, 0, 3 << 2 }, { 1, 4, 1, 0x11, 0, 3 << 2 },
        { 1, 1, 1, 0x12, 0, 3 << 2 }, { 1, 1, 1, 0x13, 0, 3 << 2 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        MEnd e = mend_new(1);
        uint8_t *in = mend_mad(e.g, t[i].class, t[i].method, t[i].attr, 0);

        in[0] = t[i].base;
        in[5] = 0x77;                   /* a status nobody asks for */
        in[70] = 0x11;
        memset(mout_box(e.g), 0, 256);
        g_assert_cmphex(mcmd_box(e.g, MTHCA_CMD_MAD_IFC, 1, 3), ==,
                        t[i].status);
        if (!t[i].status) {
            g_assert_cmphex(get_be16(mout_box(e.g) + 4), ==, t[i].answer);
            g_assert_cmphex(mout_box(e.g)[3], ==, 0x81);
        }
        g_assert_cmpuint(mthca_counters(e.g->m)->mads, ==, 1);
        g_assert_cmpuint(mthca_counters(e.g->m)->mads_dropped, ==,
                         t[i].status != 0);
        mend_free(&e);
    }
}

/* The counters of the port: in their places, no further than they go, from the
 * last Set on. */
static void test_counters(void)
{
    MEnd e = mend_new(1);
    RdmaCounters *c = rdma_counters(mthca_rdma(e.g->m));
    const uint8_t *d;
    uint8_t want[64] = { [1] = 1 };

    c->rx_bad_icrc += 0x1000;
    c->rx_short += 0x200;
    c->rx_bad_ip += 0x34;
    c->tx_dropped += 0x4321;
    c->tx_bytes += 0x11223344 * 4;
    c->rx_bytes += 0x01020304 * 4;
    c->tx_frames += 0x55667788;
    c->rx_frames += 0x0a0b0c0d;
    put_be16(want + 8, 0x1234);
    put_be16(want + 14, 0x4321);
    put_be32(want + 24, 0x11223344);
    put_be32(want + 28, 0x01020304);
    put_be32(want + 32, 0x55667788);
    put_be32(want + 36, 0x0a0b0c0d);
    d = mad_get(e.g, 4, 0x12, 0);
    g_assert_cmpmem(d + 4, 60, want + 4, 60);
    /* Full. */
    c->rx_short += 0x10000;
    c->tx_dropped += 0xffff - 0x4321;
    c->tx_bytes += UINT64_C(1) << 40;
    c->rx_bytes += UINT64_C(0xffffffff) * 4 - UINT64_C(0x01020304) * 4;
    c->tx_frames += UINT64_C(1) << 33;
    c->rx_frames += UINT64_C(0xfffffffe) - 0x0a0b0c0d;
    put_be16(want + 8, 0xffff);
    put_be16(want + 14, 0xffff);
    put_be32(want + 24, 0xffffffff);
    put_be32(want + 28, 0xffffffff);
    put_be32(want + 32, 0xffffffff);
    put_be32(want + 36, 0xfffffffe);
    d = mad_get(e.g, 4, 0x12, 0);
    g_assert_cmpmem(d + 4, 60, want + 4, 60);
    /* A Set clears all, one for another port does not. */
    mend_mad(e.g, 4, 2, 0x12, 0)[65] = 2;
    g_assert_cmphex(mad_status(e.g), ==, 7 << 2);
    d = mad_get(e.g, 4, 0x12, 0);
    g_assert_cmpmem(d + 4, 60, want + 4, 60);
    mend_mad(e.g, 4, 2, 0x12, 0)[65] = 0xff;
    g_assert_cmphex(mad_status(e.g), ==, 0);
    c->tx_frames += 3;
    memset(want, 0, 64);
    want[35] = 3;
    d = mad_get(e.g, 4, 0x12, 0);
    g_assert_cmpmem(d + 4, 60, want + 4, 60);
    mend_free(&e);
}

/* SET_IB and INIT_IB: what of PortInfo they change, what they refuse. */
static void test_ib_commands(void)
{
    static const struct {
        uint8_t mtu, gids, pkeys, status;
    } t[] = {
        { 0, 1, 1, MTHCA_ST_BAD_PARAM }, { 1, 1, 1, 0 }, { 4, 32, 64, 0 },
        { 5, 1, 1, MTHCA_ST_BAD_PARAM }, { 2, 33, 1, MTHCA_ST_BAD_PARAM },
        { 2, 1, 65, MTHCA_ST_BAD_PARAM },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        MGuest *g = mguest_new(1, true);
        uint8_t want[64], *in;

        mguest_init_hca(g);
        memcpy(want, mend_port_info(g), 64);
        in = min_box(g);
        put_be32(in, t[i].mtu << 12 | 0x340);
        put_be16(in + 6, t[i].gids);
        put_be16(in + 10, t[i].pkeys);
        g_assert_cmphex(mcmd_box(g, MTHCA_CMD_INIT_IB, 1, 0), ==,
                        t[i].status);
        if (!t[i].status) {
            want[32] = (want[32] & 0xf0) | 2;
            want[33] = 5 << 4 | (want[33] & 0xf);
            want[36] = t[i].mtu << 4;
            want[41] = t[i].mtu;
        }
        g_assert_cmpmem(mend_port_info(g), 64, want, 64);
        in = min_box(g);
        put_be32(in + 4, 0xa1b2c3d4);
        put_be32(in + 8, 0xffffffff);
        mok(g, MTHCA_CMD_SET_IB, 1, 0);
        put_be32(want + 20, 0xa1b2c3d4);
        g_assert_cmpmem(mend_port_info(g), 64, want, 64);
        mok(g, MTHCA_CMD_CLOSE_IB, 1, 0);
        g_assert_cmpuint(mthca_port_state(g->m), ==, 1);
        mguest_free(g);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mthca/mad", test_mad);
    g_test_add_func("/mthca/violations", test_violations);
    g_test_add_func("/mthca/port-info", test_port_info);
    g_test_add_func("/mthca/mad/fixed", test_fixed);
    g_test_add_func("/mthca/mad/guids", test_guids);
    g_test_add_func("/mthca/mad/roce-gid", test_roce_gid);
    g_test_add_func("/mthca/mad/pkeys", test_pkeys);
    g_test_add_func("/mthca/mad/lanes", test_lanes);
    g_test_add_func("/mthca/mad/port-states", test_port_states);
    g_test_add_func("/mthca/mad/lids", test_lids);
    g_test_add_func("/mthca/mad/mkey", test_mkey);
    g_test_add_func("/mthca/mad/methods", test_methods);
    g_test_add_func("/mthca/mad/counters", test_counters);
    g_test_add_func("/mthca/mad/ib-commands", test_ib_commands);
    return g_test_run();
}
