/*
 * The conditions of the link management state machine, one by one: a puppet
 * peer whose blocks are right but for one field, one lane, one block.
 * UB 2.0 §3.4.3.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "lmsm-puppet.h"

#define FRAMES(n) (((n) + UB_LMSM_FRAME - 1) / UB_LMSM_FRAME * UB_LMSM_FRAME)

/* ---------------------------------------------------------------- gates --- */

/* A way on: so many right blocks on all lanes, so many sent meanwhile. */
typedef struct Gate {
    const char *name;
    void (*setup)(Dut *d);
    uint8_t type;               /* of the right block */
    bool speed;                 /* Change_Speed of an RLTB; of an ELTB: */
    uint8_t phase;
    uint8_t n;
    uint16_t sent;              /* 0: the count is not asked for */
    bool any;                   /* one lane is enough */
    bool heard;                 /* the first receipt was before the state */
    UbLmsmTransitionId go;
} Gate;

/*
 * Into a state whose peer has not been heard in it: a block of another kind
 * comes behind those that opened the way.
 */
static void deaf(Dut *d, const uint8_t *ltb, unsigned n)
{
    uint8_t other[UB_LMB_SYMBOLS];

    make_eltb(UB_EQPH_COARSE_ACTIVE, other);
    for (unsigned i = 0; i < 4; i++) {
        uint8_t b[UB_LMB_SYMBOLS];

        memcpy(b, ltb, sizeof(b));
        if (ub_ltb_kind(b[0]) != UB_LTB_RLTB) {
            ub_ltb_set_lane_id(b, i);
        }
        feed_lane(d, b, i, n);
        feed_lane(d, other, i, 1);
    }
    poll(d);
}

static void deaf_disc_confirm(Dut *d)
{
    uint8_t b[UB_LMB_SYMBOLS];

    disc_active(d);
    make_dltb(d, UB_LTB_DISC_ACTIVE, b);
    deaf(d, b, 8);
}

static void deaf_conf_check(Dut *d)
{
    uint8_t b[UB_LMB_SYMBOLS];

    conf_active(d);
    make_cltb(d, UB_LTB_CONF_ACTIVE, b);
    deaf(d, b, 2);
}

static void deaf_conf_confirm(Dut *d)
{
    uint8_t b[UB_LMB_SYMBOLS];

    conf_check(d);
    make_cltb(d, UB_LTB_CONF_CHECK, b);
    deaf(d, b, 2);
}

static void deaf_retr_confirm(Dut *d)
{
    uint8_t b[UB_LMB_SYMBOLS];

    retr_active(d);
    make_rltb(d, UB_LTB_RETR_ACTIVE, false, b);
    deaf(d, b, 8);
}

static void disc_from_retrain(Dut *d)
{
    retr_active(d);
    dltb(d, UB_LTB_DISC_ACTIVE, 0x1, 2);
}

static void speed_active(Dut *d)
{
    link_active(d);
    want_speed(d);
}


enum {
    G_DA, G_DA_RETRAIN, G_DC, G_CA, G_CC, G_CF, G_RA, G_RA_SPEED, G_RA_FIXED,
    G_RC, G_RC_SPEED, G_ECA, G_ECC_PRI, G_ECC_SEC, G_ECC_RLTB, G_EQP,
    G_EQP_RLTB, G_SN_DLTB, G_RA_DLTB, G_RC_DLTB, G_CA_DLTB, G_COUNT,
};

static const Gate gates[G_COUNT] = {
    [G_DA] = { "discovery-active", disc_active, UB_LTB_DISC_ACTIVE, 0, 0, 8,
               1024, false, false, UB_T_DA_MATCH },
    [G_DA_RETRAIN] = { "discovery-from-retrain", disc_from_retrain,
                       UB_LTB_DISC_ACTIVE, 0, 0, 8, 256, false, true,
                       UB_T_DA_MATCH },
    [G_DC] = { "discovery-confirm", deaf_disc_confirm,
              UB_LTB_DISC_CONFIRM, 0, 0, 8,
               16, false, false, UB_T_DC_MATCH },
    [G_CA] = { "config-active", conf_active, UB_LTB_CONF_ACTIVE, 0, 0, 2, 16,
               false, false, UB_T_CA_MATCH },
    [G_CC] = { "config-check", deaf_conf_check, UB_LTB_CONF_CHECK, 0, 0, 2, 16,
               false, false, UB_T_CC_MATCH },
    [G_CF] = { "config-confirm", deaf_conf_confirm,
              UB_LTB_CONF_CONFIRM, 0, 0, 2,
               16, false, false, UB_T_CF_MATCH },
    [G_RA] = { "retrain-active", retr_active, UB_LTB_RETR_ACTIVE, 0, 0, 8, 16,
               false, false, UB_T_RA_MATCH },
    [G_RA_SPEED] = { "retrain-active-speed", speed_active, UB_LTB_RETR_ACTIVE,
                     true, 0, 8, 16, false, false, UB_T_RA_MATCH },
    [G_RA_FIXED] = { "retrain-active-fixed", fixed_link, UB_LTB_RETR_ACTIVE,
                     false, 0, 8, 16, false, false, UB_T_RA_MATCH },
    [G_RC] = { "retrain-confirm", deaf_retr_confirm,
              UB_LTB_RETR_CONFIRM, 0, 0, 8,
               16, false, false, UB_T_RC_DATA },
    [G_RC_SPEED] = { "retrain-confirm-speed", speed_confirm,
                     UB_LTB_RETR_CONFIRM, true, 0, 8, 128, true, false,
                     UB_T_RC_SPEED },
    [G_ECA] = { "coarse-active", coarse_active, UB_LTB_EQUALIZATION, 0,
                UB_EQPH_COARSE_CONFIRM, 2, 0, false, false, UB_T_ECA_MATCH },
    [G_ECC_PRI] = { "coarse-confirm-primary", coarse_confirm_pri,
                    UB_LTB_EQUALIZATION, 0, UB_EQPH_COARSE_CONFIRM, 2, 0,
                    false, false, UB_T_ECC_PRI_FINE },
    [G_ECC_SEC] = { "coarse-confirm-secondary", coarse_confirm_sec,
                    UB_LTB_EQUALIZATION, 0, UB_EQPH_SEC_ACTIVE, 2, 0, false,
                    false, UB_T_ECC_SEC_FINE },
    [G_ECC_RLTB] = { "coarse-confirm-rltb", coarse_confirm_sec,
                     UB_LTB_RETR_ACTIVE, 0, 0, 8, 0, false, false,
                     UB_T_ECC_SEC_RLTB },
    [G_EQP] = { "eq-passive", passive_pri, UB_LTB_EQUALIZATION, 0,
                UB_EQPH_PRI_ACTIVE, 2, 0, false, false, UB_T_EQP_PASSIVE },
    [G_EQP_RLTB] = { "eq-passive-rltb", passive_pri, UB_LTB_RETR_ACTIVE, 0, 0,
                     2, 0, false, false, UB_T_EQP_RLTB },
    [G_SN_DLTB] = { "null-dltb", send_null, UB_LTB_DISC_ACTIVE, 0, 0, 2, 0,
                    true, false, UB_T_SN_DLTB },
    [G_RA_DLTB] = { "retrain-active-dltb", retr_active, UB_LTB_DISC_ACTIVE, 0,
                    0, 2, 0, true, false, UB_T_RA_DLTB },
    [G_RC_DLTB] = { "retrain-confirm-dltb", retr_confirm, UB_LTB_DISC_ACTIVE,
                    0, 0, 8, 0, true, false, UB_T_RC_DLTB },
    [G_CA_DLTB] = { "config-dltb", conf_active, UB_LTB_DISC_ACTIVE, 0, 0, 2, 0,
                    false, false, UB_T_CA_DLTB },
};

static void make(const Dut *d, const Gate *g, uint8_t *b)
{
    switch (ub_ltb_kind(g->type)) {
    case UB_LTB_DLTB:
        make_dltb(d, g->type, b);
        break;
    case UB_LTB_CLTB:
        make_cltb(d, g->type, b);
        break;
    case UB_LTB_RLTB:
        make_rltb(d, g->type, g->speed, b);
        break;
    default:
        make_eltb(g->phase, b);
    }
}

/* The right block of a lane. */
static void right(const Dut *d, const Gate *g, unsigned lane, uint8_t *b)
{
    UbLtbKind kind = ub_ltb_kind(g->type);

    make(d, g, b);
    if (kind == UB_LTB_DLTB || kind == UB_LTB_CLTB) {
        ub_ltb_set_lane_id(b, lane);
    }
}

static void feed_right(Dut *d, const Gate *g, unsigned lanes, unsigned n)
{
    for (unsigned i = 0; i < 4; i++) {
        uint8_t b[UB_LMB_SYMBOLS];

        right(d, g, i, b);
        feed_lane(d, b, i, lanes >> i & 1 ? n : 0);
    }
    poll(d);
}

/* To the place in front of the gate; the way there may have led through it. */
static void go_to(Dut *d, const Gate *g)
{
    g->setup(d);
    g_assert_cmpuint(d->l->state, ==, ub_lmsm_transitions[g->go].from);
    d->l->stats.transitions[g->go] = 0;
}

static bool gone(const Dut *d, const Gate *g)
{
    return d->l->stats.transitions[g->go] != 0;
}

/* Exactly the blocks asked for, received and sent. */
static void test_count(gconstpointer data)
{
    const Gate *g = data;
    Dut *d = dut_new();
    uint64_t before;

    go_to(d, g);
    before = g->heard ? d->ltbs_at_go : d->l->stats.ltbs_sent;
    feed_right(d, g, ALL, g->n - 1);
    g_assert_false(gone(d, g));
    feed_right(d, g, ALL, 1);
    g_assert_true(gone(d, g));
    if (g->sent) {
        g_assert_cmpuint(d->ltbs_at_go - before, ==, FRAMES(g->sent));
    }
    dut_free(d);
}

/* Each lane alone is one block short, or has one broken on the way. */
static void test_each_lane(gconstpointer data)
{
    const Gate *g = data;

    for (unsigned i = g->heard; i < 8 && !g->any; i++) {
        unsigned lane = g->heard ? 1 + i % 3 : i % 4;
        Dut *d = dut_new();

        go_to(d, g);
        feed_right(d, g, ALL & ~(1u << lane), g->n);
        feed_right(d, g, 1u << lane, g->n - 1);
        g_assert_false(gone(d, g));
        if (i & 4) {
            uint8_t b[UB_LMB_SYMBOLS];

            right(d, g, lane, b);
            ub_ltb_seal(b);
            b[13] ^= 0x80;
            ub_lmsm_rx_ltb(d->l, d->now, lane, b);
            feed_right(d, g, 1u << lane, g->n - 1);
            g_assert_false(gone(d, g));
        }
        feed_right(d, g, 1u << lane, 1);
        g_assert_true(gone(d, g));
        dut_free(d);
    }
    for (unsigned lane = 0; lane < 4 && g->any; lane++) {
        Dut *d = dut_new();

        go_to(d, g);
        feed_right(d, g, 1u << lane, g->n - 1);
        g_assert_false(gone(d, g));
        feed_right(d, g, 1u << lane, 1);
        g_assert_true(gone(d, g));
        dut_free(d);
    }
}

/* --------------------------------------------------------------- spoils --- */

/* One field of the block of the lanes `lanes` has another value. */
typedef struct Spoil {
    uint8_t gate;
    const char *what;
    uint8_t sym, mask, value;
    uint8_t lanes;
    bool passes;                /* and that must not matter */
} Spoil;

#define L2 0x4
static const Spoil spoils[] = {
    /* §3.4.3.4 Discovery.Active */
    { G_DA, "type RXEQ_Optimize", 0, 0xff, 0xe0, L2 },
    { G_DA, "type Discovery.Confirm", 0, 0xff, 0xa1, ALL, true },
    { G_DA, "equal Port_Type", 8, 0x01, 0, L2 },
    { G_DA, "TLW above Rx_N", 3, 0x3f, 8, L2 },
    { G_DA, "TLW not standard", 3, 0x3f, 3, L2 },
    { G_DA, "TLW 0", 3, 0x3f, 0, L2 },
    { G_DA, "RLW above Tx_M", 4, 0x3f, 8, L2 },
    { G_DA, "RLW not standard", 4, 0x3f, 3, L2 },
    { G_DA, "TLW below Rx_N", 3, 0x3f, 2, ALL, true },
    { G_DA, "RLW below Tx_M", 4, 0x3f, 2, ALL, true },
    { G_DA, "Link_ID of a secondary", 1, 0xff, 9, ALL, true },
    { G_DA, "reserved, symbol 3", 3, 0xc0, 0xc0, ALL, true },
    { G_DA, "reserved, symbol 4", 4, 0xc0, 0xc0, ALL, true },
    { G_DA, "reserved, symbol 6", 6, 0xfe, 0xfe, ALL, true },
    { G_DA, "reserved, symbol 7", 7, 0xfc, 0xfc, ALL, true },
    { G_DA, "reserved, symbol 9", 9, 0xff, 0xff, ALL, true },
    { G_DA, "reserved, symbol 10", 10, 0xf0, 0xf0, ALL, true },
    { G_DA, "reserved, symbol 11", 11, 0xc0, 0xc0, ALL, true },
    /* Discovery.Confirm */
    { G_DC, "type Discovery.Active", 0, 0xff, 0xa0, L2 },
    { G_DC, "type RXEQ_Optimize", 0, 0xff, 0xe0, L2 },
    { G_DC, "Link_ID of another link", 1, 0xff, LINK_ID + 1, L2 },
    { G_DC, "Link_ID NULL", 1, 0xff, 0xff, L2 },
    { G_DC, "TLW is not Rx_N", 3, 0x3f, 2, L2 },
    { G_DC, "TLW above Rx_N", 3, 0x3f, 8, L2 },
    { G_DC, "RLW above Tx_M", 4, 0x3f, 8, L2 },
    { G_DC, "RLW not standard", 4, 0x3f, 3, L2 },
    { G_DC, "Port_Type that was not negotiated", 8, 0x01, 0, ALL, true },
    { G_DC, "reserved, symbol 9", 9, 0xff, 0xff, ALL, true },
    /* §3.4.3.5 Config */
    { G_CA, "type Check", 0, 0xff, 0xb1, ALL, true },
    { G_CA, "type Confirm", 0, 0xff, 0xb2, L2 },
    { G_CA, "Link_ID of another link", 1, 0xff, LINK_ID + 1, L2 },
    { G_CA, "Link_ID NULL", 1, 0xff, 0xff, L2 },
    { G_CA, "Lane_ID of another lane", 2, 0xff, 3, L2 },
    { G_CA, "Lane_ID NULL", 2, 0xff, 0xff, L2 },
    { G_CA, "Lane_ID beyond the width", 2, 0xff, 4, L2 },
    { G_CA, "TLW is not Rx_N", 3, 0x3f, 2, L2 },
    { G_CA, "RLW is not Tx_M", 4, 0x3f, 2, L2 },
    { G_CA, "reserved, symbol 3", 3, 0xc0, 0xc0, ALL, true },
    { G_CA, "reserved, symbol 4", 4, 0xc0, 0xc0, ALL, true },
    { G_CA, "reserved, symbol 5", 5, 0xff, 0xff, ALL, true },
    { G_CA, "reserved, symbol 6", 6, 0xc0, 0xc0, ALL, true },
    { G_CA, "reserved, symbol 7", 7, 0xff, 0xff, ALL, true },
    { G_CA, "reserved, symbol 11", 11, 0xff, 0xff, ALL, true },
    { G_CC, "type Active", 0, 0xff, 0xb0, L2 },
    { G_CC, "type Confirm", 0, 0xff, 0xb2, ALL, true },
    { G_CC, "Link_ID of another link", 1, 0xff, LINK_ID + 1, L2 },
    { G_CC, "Lane_ID of another lane", 2, 0xff, 1, L2 },
    { G_CC, "TLW is not Rx_N", 3, 0x3f, 8, L2 },
    { G_CC, "RLW is not Tx_M", 4, 0x3f, 8, L2 },
    { G_CF, "type Active", 0, 0xff, 0xb0, L2 },
    { G_CF, "type Check", 0, 0xff, 0xb1, L2 },
    { G_CF, "Lane_ID of another lane", 2, 0xff, 0, L2 },
    { G_CF, "TLW is not Rx_N", 3, 0x3f, 1, L2 },
    { G_CF, "RLW is not Tx_M", 4, 0x3f, 1, L2 },
    /* §3.4.3.8 Retrain */
    { G_RA, "type LP1_PHY_Up", 0, 0xff, 0xc2, L2 },
    { G_RA, "type Confirm", 0, 0xff, 0xc1, ALL, true },
    { G_RA, "reserved, symbol 1", 1, 0xff, 0xff, ALL, true },
    { G_RA, "reserved, symbol 6", 6, 0x7e, 0x7e, ALL, true },
    { G_RA, "reserved, symbol 8", 8, 0xff, 0xff, ALL, true },
    { G_RA, "reserved, symbol 9", 9, 0x7f, 0x7f, ALL, true },
    { G_RA, "reserved, symbol 10", 10, 0x08, 0x08, ALL, true },
    { G_RA_SPEED, "Change_Speed 0", 6, 0x80, 0, L2 },
    { G_RA_FIXED, "Change_Speed 1", 6, 0x80, 0x80, L2 },
    { G_RC, "type Active", 0, 0xff, 0xc0, L2 },
    { G_RC, "type LP1_PHY_Up", 0, 0xff, 0xc2, L2 },
    { G_RC, "type EQ_Initial", 0, 0xff, 0xc3, L2 },
    { G_RC, "reserved, symbol 1", 1, 0xff, 0xff, ALL, true },
    { G_RC, "reserved, symbol 8", 8, 0xff, 0xff, ALL, true },
    { G_RC, "reserved, symbol 9", 9, 0x7f, 0x7f, ALL, true },
    { G_RC_SPEED, "type Active", 0, 0xff, 0xc0, ALL },
    /* §3.4.3.10 Equalization */
    { G_ECA, "Coarsetune_Active", 2, 0x03, 0, L2 },
    { G_ECA, "Active_Phase", 2, 0x03, 2, L2 },
    { G_ECC_PRI, "Coarsetune_Active", 2, 0x03, 0, L2 },
    { G_ECC_PRI, "Active_Phase", 2, 0x03, 2, L2 },
    { G_ECC_SEC, "Coarsetune_Confirm", 2, 0x03, 1, L2 },
    { G_ECC_SEC, "the primary's Active_Phase", 2, 0x03, 3, L2 },
    { G_EQP, "the secondary's Active_Phase", 2, 0x03, 2, L2 },
    { G_EQP, "type Retrain.Active", 0, 0xff, 0xc0, L2 },
};

static void feed_spoiled(Dut *d, const Gate *g, const Spoil *s, unsigned n)
{
    for (unsigned i = 0; i < 4; i++) {
        uint8_t b[UB_LMB_SYMBOLS];

        right(d, g, i, b);
        if (s->lanes >> i & 1) {
            b[s->sym] = (uint8_t)((b[s->sym] & ~s->mask) | s->value);
        }
        feed_lane(d, b, i, n);
    }
    poll(d);
}

static void test_field(gconstpointer data)
{
    const Spoil *s = data;
    const Gate *g = &gates[s->gate];
    Dut *d = dut_new();
    unsigned mark;

    go_to(d, g);
    mark = d->p.trace->len;
    feed_spoiled(d, g, s, g->n);
    if (s->passes) {
        g_assert_true(gone(d, g));
    } else {
        feed_spoiled(d, g, s, 64);
        g_assert_cmpuint(d->p.trace->len, ==, mark);
        feed_right(d, g, ALL, g->n);
        g_assert_true(gone(d, g));      /* and it was for this field alone */
    }
    dut_free(d);
}

/* -------------------------------------------------------- what is said --- */

static unsigned field(const uint8_t *ltb, const char *name)
{
    UbLtbKind kind = ub_ltb_kind(ltb[0]);

    for (size_t i = 0; i < ub_ltb_field_count; i++) {
        const UbLtbField *f = &ub_ltb_fields[i];

        if (!strcmp(f->name, name) && (f->kinds >> kind & 1)) {
            return ltb[f->symbol] >> f->lsb & ((1u << f->bits) - 1);
        }
    }
    g_error("no field %s", name);
}

/* A port whose fields all differ, so that none can pass for another. */
static void colourful(Dut *d, bool primary)
{
    d->cfg.phy_mode = UB_PHY_MODE_1;
    d->cfg.rates = 0xa9;
    d->cfg.target_rate = 7;
    d->cfg.target_tx = 2;
    d->cfg.target_rx = 4;
    d->cfg.max_width = 8;
    d->cfg.fec_support = 2;
    d->cfg.interleave_support = 5;
    d->cfg.port_type = primary;
    d->cfg.eq_mode = UB_EQ_HIGHEST;
    d->cfg.interleave = 0x1ff;
}

/* The peer of such a port, through discovery. */
static void colour_disc(Dut *d, UbLtbType type)
{
    uint8_t b[UB_LMB_SYMBOLS];

    make_dltb(d, type, b);
    ub_ltb_set_tlw(b, 4);
    ub_ltb_set_rlw(b, 2);
    ub_ltb_set_interleave_support(b, 15);
    feed(d, b, ALL, 8);
}

typedef struct Said {
    const char *name;
    unsigned value;
} Said;

static void check_said(Dut *d, const Said *want, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (unsigned lane = 0; lane < d->l->tx_m; lane++) {
            unsigned v = want[i].value + (strcmp(want[i].name, "Lane_ID")
                                          ? 0 : lane);

            if (field(d->l->ltb[lane], want[i].name) != v) {
                g_error("lane %u: %s is %#x, not %#x", lane, want[i].name,
                        field(d->l->ltb[lane], want[i].name), v);
            }
        }
    }
}

#define SAID(d, ...) do {                                                   \
        const Said want[] = { __VA_ARGS__ };                                \
        check_said(d, want, G_N_ELEMENTS(want));                            \
    } while (0)

static void test_said_dltb(void)
{
    for (unsigned primary = 0; primary < 2; primary++) {
        Dut *d = dut_new();

        colourful(d, primary);
        begin(d);
        start(d);
        SAID(d, { "Type", UB_LTB_DISC_ACTIVE },
             { "Link_ID", primary ? LINK_ID : UB_LINK_ID_NULL },
             { "Lane_ID", 0 }, { "TLW", 2 }, { "RLW", 4 },
             { "Data_Rate_Support_1", 0xa9 }, { "Data_Rate_Support_2", 0 },
             { "FEC_Mode_Support", 2 }, { "Port_Type", primary },
             { "PortNego_Random_Value", 0 }, { "FEC_Interleave_Support", 5 },
             { "RX_Lane0_ID", 0 }, { "MAX_LINK_WIDTH", 3 });
        colour_disc(d, UB_LTB_DISC_ACTIVE);
        g_assert_cmpuint(d->l->state, ==, UB_LMSM_DISC_CONFIRM);
        if (!primary) {
            colour_disc(d, UB_LTB_DISC_ACTIVE);
        }
        SAID(d, { "Type", UB_LTB_DISC_CONFIRM }, { "Link_ID", LINK_ID },
             { "TLW", 2 }, { "RLW", 4 }, { "Port_Type", primary });
        dut_free(d);
    }
}

static void test_said_cltb(void)
{
    static const uint8_t types[] = {
        UB_LTB_CONF_ACTIVE, UB_LTB_CONF_CHECK, UB_LTB_CONF_CONFIRM,
    };
    Dut *d = dut_new();

    colourful(d, true);
    begin(d);
    start(d);
    colour_disc(d, UB_LTB_DISC_ACTIVE);
    colour_disc(d, UB_LTB_DISC_CONFIRM);
    g_assert_cmphex(d->p.enabled, ==, 0x0f);    /* of eight that hunted */
    for (unsigned i = 0; i < 3; i++) {
        uint8_t b[UB_LMB_SYMBOLS];

        g_assert_cmpuint(d->l->state, ==, UB_LMSM_CONF_ACTIVE + i);
        SAID(d, { "Type", types[i] }, { "Link_ID", LINK_ID },
             { "Lane_ID", 0 }, { "TLW", 2 }, { "RLW", 4 },
             { "EQ_Mode", UB_EQ_HIGHEST }, { "FEC_Mode_Ctrl", UB_LTB_FEC_T4 },
             { "FEC_Interleave_Ctrl", 0 });
        make_cltb(d, types[i], b);
        ub_ltb_set_tlw(b, 4);
        ub_ltb_set_rlw(b, 2);
        feed(d, b, ALL, 2);
    }
    g_assert_cmpuint(d->l->state, ==, UB_LMSM_SEND_NULLBLOCK);
    g_assert_cmpuint(d->p.width, ==, 2);
    dut_free(d);
}

/* The rates that each role speaks of (§3.4.3.8), and the rest of an RLTB. */
static void test_said_rltb(void)
{
    static const struct {
        bool primary, speed;
        unsigned target, want;
    } t[] = {
        { true, false, 8, 0x001 },      /* current and below */
        { true, true, 4, 0x015 },       /* target and below */
        { false, false, 4, 0x015 },     /* all that it wants */
        { false, true, 8, 0x115 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        Dut *d = dut_new();

        d->cfg.port_type = t[i].primary;
        d->cfg.target_rate = (uint8_t)t[i].target;
        d->cfg.fec_mode[t[i].speed ? 8 : 0] = UB_LTB_FEC_T4;
        link_active(d);
        if (t[i].speed) {
            want_speed(d);
        } else {
            retrain(d);
        }
        SAID(d, { "Type", UB_LTB_RETR_ACTIVE },
             { "Data_Rate_Support_1", t[i].want & 0xff },
             { "Data_Rate_Support_2", t[i].want >> 8 },
             { "Change_Speed", t[i].speed },
             { "FEC/CRC_Mode_Reject", 0 }, { "Request_Equalization", 0 },
             { "Pre-FEC_BER_Measurement_Status", 0 },
             { "CRC_Mode_Ctrl", UB_LTB_CRC30 });
        dut_free(d);
    }
}

/* FEC_Mode_Ctrl is of the next rate with a change of rate, else of this one. */
static void test_said_modes(void)
{
    for (unsigned speed = 0; speed < 2; speed++) {
        Dut *d = dut_new();

        d->cfg.fec_mode[0] = UB_LTB_FEC_T4;
        d->cfg.fec_mode[8] = UB_LTB_FEC_T2;
        d->cfg.crc_mode[8] = UB_LTB_CRC_NONE;
        link_active(d);
        if (speed) {
            want_speed(d);
            rltb(d, UB_LTB_RETR_ACTIVE, true, ALL, 7);
        } else {
            retrain(d);
        }
        SAID(d, { "FEC_Mode_Ctrl", speed ? UB_LTB_FEC_T2 : UB_LTB_FEC_T4 },
             { "CRC_Mode_Ctrl", speed ? UB_LTB_CRC_NONE : UB_LTB_CRC30 });
        dut_free(d);
    }
}

/* EQ_Initial names, lane by lane, the preset of the register of the next rate;
 * a reserved one gives way to one of ours. */
static void test_said_eq_initial(void)
{
    Dut *d = dut_new();

    d->cfg.eq_mode = UB_EQ_HIGHEST;
    d->cfg.port_type = 1;
    d->eq.first = d->eq.last = 3;
    for (unsigned i = 0; i < 4; i++) {
        d->cfg.remote_preset[8][i] = (uint8_t)(7 + i);
    }
    d->cfg.remote_preset[8][3] = UB_EQ_PRESETS;
    speed_confirm(d);
    for (unsigned i = 0; i < 4; i++) {
        const uint8_t *b = d->l->ltb[i];

        g_assert_cmphex(b[0], ==, UB_LTB_RETR_EQ_INIT);
        g_assert_cmpuint(ub_ltb_remote_preset(b), ==, i == 3 ? 3 : 7 + i);
        g_assert_cmpuint(ub_ltb_local_hs(b), ==, UB_EQ_HS);
        g_assert_cmpuint(ub_ltb_local_ls(b), ==, UB_EQ_LS);
        g_assert_cmpuint(ub_ltb_change_speed(b), ==, 1);
    }
    dut_free(d);
}

/* Request_Equalization: for an equalisation that was done, and once. */
static void test_said_redo(void)
{
    Dut *d = dut_new();

    d->cfg.eq_mode = UB_EQ_HIGHEST;
    link_active(d);
    want_speed(d);
    SAID(d, { "Request_Equalization", 0 });     /* not done yet */
    dut_free(d);

    for (unsigned perform = 0; perform < 2; perform++) {
        d = dut_new();
        d->cfg.eq_mode = UB_EQ_HIGHEST;
        link_active(d);
        d->l->eq_complete = 1u << 8;
        if (perform) {
            ub_lmsm_request_eq(d->l);
        }
        want_speed(d);
        SAID(d, { "Request_Equalization", perform });
        rltb(d, UB_LTB_RETR_ACTIVE, true, ALL, 8);
        SAID(d, { "Type", perform ? UB_LTB_RETR_EQ_INIT
                                  : UB_LTB_RETR_CONFIRM },
             { "Request_Equalization", perform });
        rltb(d, UB_LTB_RETR_EQ_INIT, true, ALL, 8);
        hush(d);
        g_assert_cmpuint(d->l->state, ==, UB_LMSM_EQ_COARSE_ACTIVE);
        g_assert_false(d->l->want.eq);
        dut_free(d);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_COUNT; i++) {
        g_autofree char *a = g_strdup_printf("/ub/lmsm/count/%s",
                                             gates[i].name);
        g_autofree char *b = g_strdup_printf("/ub/lmsm/each-lane/%s",
                                             gates[i].name);

        g_test_add_data_func(a, &gates[i], test_count);
        g_test_add_data_func(b, &gates[i], test_each_lane);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(spoils); i++) {
        g_autofree char *name =
            g_strdup_printf("/ub/lmsm/field/%s/%s", gates[spoils[i].gate].name,
                            spoils[i].what);

        g_test_add_data_func(g_strdelimit(name, " ,", '-'), &spoils[i],
                             test_field);
    }
    g_test_add_func("/ub/lmsm/said/dltb", test_said_dltb);
    g_test_add_func("/ub/lmsm/said/cltb", test_said_cltb);
    g_test_add_func("/ub/lmsm/said/rltb", test_said_rltb);
    g_test_add_func("/ub/lmsm/said/modes", test_said_modes);
    g_test_add_func("/ub/lmsm/said/eq-initial", test_said_eq_initial);
    g_test_add_func("/ub/lmsm/said/redo", test_said_redo);
    return g_test_run();
}
