/*
 * Channels that are the UBFM's to allow (UB 2.0 §10.4.6): its list by the registers of
 * CFG0_CAP243.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "lossy.h"
#include "ub/cfg_regs.h"
#include "ub/space.h"
#include "ub/tp_hw.h"

#define MS 1000000ll

enum { NODES = 3 };

/* Nodes with CNAs 1, 2 and 3, of which each has a list. */
typedef struct Bed {
    Lossy *l;
    UbSpace *space[NODES];
    unsigned kicks[NODES];
} Bed;

static void kick(void *opaque)
{
    ++*(unsigned *)opaque;
}

static uint32_t at(uint32_t dw)
{
    return UB_CFG_CAP(UB_CFG0_BASE, UB_TPR_CAP) + dw;
}

static uint32_t reg(Bed *b, unsigned n, uint32_t dw)
{
    return ub_space_read(b->space[n], at(dw));
}

static void peer(Bed *b, unsigned n, unsigned entry, uint32_t cna)
{
    unsigned kicks = b->kicks[n];
    uint32_t was = reg(b, n, UB_TPR_PEER(entry));

    g_assert_true(ub_space_write(b->space[n], b->l->now, at(UB_TPR_PEER(entry)), cna,
                                 15));
    /* Who comes ends nothing, and there may be many channels to look at. */
    g_assert_cmpuint(b->kicks[n], ==, kicks + (was && was != (cna & 0xffffff)));
}

static Bed *bed_new(void)
{
    Bed *b = g_new0(Bed, 1);
    UbTpConfig cfg;

    ub_tp_config_init(&cfg);
    b->l = lossy_new(&cfg, NODES);
    for (unsigned n = 0; n < NODES; n++) {
        b->space[n] = ub_space_new(1);
        ub_space_attach(b->space[n], UB_SPACE_CFG0, 0, 0, NULL, NULL);
        g_assert_true(ub_tp_manage(b->l->node[n].tp, b->space[n], kick, &b->kicks[n]));
    }
    return b;
}

static void bed_free(Bed *b)
{
    lossy_free(b->l);
    for (unsigned n = 0; n < NODES; n++) {
        ub_space_free(b->space[n]);
    }
    g_free(b);
}

static void both(Bed *b)
{
    peer(b, 0, 0, 2);
    peer(b, 1, UB_TPR_PEERS - 1, 1);
    lossy_run(b->l, b->l->now + MS);
}

/* A channel of node 0 to node 1, asked for. */
static UbTpResult ask(Bed *b, UbLphCfg cfg, uint32_t *tpn)
{
    UbTpAttr attr;

    ub_tp_attr_init(b->l->node[0].tp, &attr);
    attr.flow = lossy_flow(0, 1, cfg);
    *tpn = UB_TP_NONE;
    g_assert_cmpint(ub_tp_create(b->l->node[0].tp, tpn, &attr), ==, UB_TPR_OK);
    return ub_tp_connect(b->l->node[0].tp, *tpn, b->l->now);
}

static int state(Bed *b, unsigned n, uint32_t tpn)
{
    UbTpInfo i;

    return ub_tp_query(b->l->node[n].tp, tpn, NULL, &i) ? -1 : (int)i.state;
}

static unsigned channels;

static void count_one(void *opaque, uint32_t tpn)
{
    channels++;
}

static unsigned count(Bed *b, unsigned n)
{
    channels = 0;
    ub_tp_foreach(b->l->node[n].tp, count_one, NULL);
    return channels;
}

static void test_registers(void)
{
    Bed *b = bed_new();
    UbTpConfig cfg;
    UbSpace *space;
    Lossy *other;

    g_assert_cmphex(reg(b, 0, UB_TPR_HEADER), ==, UB_TPR_USED << 4);
    g_assert_cmphex(reg(b, 0, UB_TPR_MAGIC), ==, UB_TPR_MAGIC__VALUE);
    g_assert_cmpuint(reg(b, 0, UB_TPR_SIZE), ==, UB_TPR_PEERS);
    g_assert_cmphex(ub_space_read(b->space[0], UB_CFG0_CAP_BITMAP + UB_TPR_CAP / 32) >>
                    UB_TPR_CAP % 32 & 1, ==, 1);
    /* It is the UBFM's, all of it, and nothing else is. */
    for (unsigned dw = 0; dw < UB_TPR_USED; dw++) {
        g_assert_true(ub_space_managed(b->space[0], at(dw)));
    }
    g_assert_false(ub_space_managed(b->space[0], at(UB_TPR_USED)));
    g_assert_false(ub_space_managed(b->space[0], at(0) - 1));
    for (unsigned dw = 0; dw < UB_TPR_PEER(0); dw++) {
        uint32_t was = reg(b, 0, dw);

        g_assert_false(ub_space_write(b->space[0], 0, at(dw), ~was, 15));
        g_assert_cmphex(reg(b, 0, dw), ==, was);
    }
    for (unsigned i = 0; i < UB_TPR_PEERS; i++) {
        g_assert_cmphex(reg(b, 0, UB_TPR_PEER(i)), ==, 0);
        peer(b, 0, i, ~0u);
        g_assert_cmphex(reg(b, 0, UB_TPR_PEER(i)), ==, 0xffffff);
        g_assert_cmpuint(reg(b, 0, UB_TPR_COUNT), ==, i + 1);
    }
    peer(b, 0, 7, 0);
    g_assert_cmpuint(reg(b, 0, UB_TPR_COUNT), ==, UB_TPR_PEERS - 1);
    /* A second list finds no place, and who has one gets no other. */
    ub_tp_config_init(&cfg);
    other = lossy_new(&cfg, 1);
    g_assert_false(ub_tp_manage(other->node[0].tp, b->space[0], kick, &b->kicks[1]));
    lossy_free(other);
    space = ub_space_new(1);
    ub_space_attach(space, UB_SPACE_CFG0, 0, 0, NULL, NULL);
    g_assert_false(ub_tp_manage(b->l->node[1].tp, space, kick, &b->kicks[1]));
    ub_space_free(space);
    peer(b, 1, 3, 9);
    g_assert_cmpuint(reg(b, 1, UB_TPR_COUNT), ==, 1);
    bed_free(b);
}

/* Nobody, until both ends have heard of each other. */
static void test_withheld(void)
{
    Bed *b = bed_new();
    LossyNode *a = &b->l->node[0], *c = &b->l->node[1];
    uint32_t tpn;

    g_assert_cmpint(ask(b, UB_LPH_CNA24, &tpn), ==, UB_TPR_REFUSED);
    g_assert_cmpint(state(b, 0, tpn), ==, UB_TP_RESET);
    g_assert_cmpint(ub_tp_activate(a->tp, tpn), ==, UB_TPR_REFUSED);
    g_assert_cmpint(state(b, 0, tpn), ==, UB_TP_RESET);
    g_assert_cmpuint(b->l->sent, ==, 0);
    g_assert_cmpuint(reg(b, 0, UB_TPR_DENIED), ==, 2);
    g_assert_cmphex(reg(b, 0, UB_TPR_LAST), ==, 2);
    /* Another one is no help, nor is who has been said by a wrong number. */
    peer(b, 0, 0, 3);
    peer(b, 0, 1, 0x100002);
    g_assert_cmpint(ub_tp_connect(a->tp, tpn, b->l->now), ==, UB_TPR_REFUSED);
    peer(b, 0, 239, 2);
    g_assert_cmpint(ub_tp_connect(a->tp, tpn, b->l->now), ==, UB_TPR_OK);
    lossy_run(b->l, b->l->now + 10 * MS);
    /* The other end has not. */
    g_assert_cmpuint(a->connects, ==, 1);
    g_assert_cmpint(a->connected, ==, UB_TPR_REFUSED);
    g_assert_cmpuint(c->accepts, ==, 0);
    g_assert_cmpuint(count(b, 1), ==, 0);
    g_assert_cmpuint(reg(b, 1, UB_TPR_DENIED), ==, 1);
    g_assert_cmphex(reg(b, 1, UB_TPR_LAST), ==, 1);
    peer(b, 1, 0, 1);
    g_assert_cmpint(ub_tp_connect(a->tp, tpn, b->l->now), ==, UB_TPR_OK);
    lossy_run(b->l, b->l->now + 10 * MS);
    g_assert_cmpint(a->connected, ==, UB_TPR_OK);
    g_assert_cmpint(lossy_send(a, tpn, 100, 5, true, false, 1), ==, UB_SENT);
    lossy_run(b->l, b->l->now + 10 * MS);
    g_assert_cmphex(lossy_got(c, 0)->tag, ==, 5);
    bed_free(b);
}

/* Addresses of IP are in no list. */
static void test_ip(void)
{
    Bed *b = bed_new();
    uint32_t tpn;

    both(b);
    g_assert_cmpint(ask(b, UB_LPH_CNA24, &tpn), ==, UB_TPR_OK);
    g_assert_cmpint(ask(b, UB_LPH_IPV4, &tpn), ==, UB_TPR_REFUSED);
    g_assert_cmphex(reg(b, 0, UB_TPR_LAST), ==, 0);
    g_assert_cmpuint(reg(b, 0, UB_TPR_DENIED), ==, 1);
    bed_free(b);
}

/* A channel that is up cannot be turned to somebody else. */
static void test_turned(void)
{
    Bed *b = bed_new();
    UbTp *tp = b->l->node[0].tp;
    uint32_t tpn;
    UbTpAttr attr;

    both(b);
    ask(b, UB_LPH_CNA24, &tpn);
    for (unsigned up = 0; up < 2; up++) {
        ub_tp_query(tp, tpn, &attr, NULL);
        attr.flow.dcna = 3;
        g_assert_cmpint(ub_tp_modify(tp, tpn, &attr, UB_TPA_FLOW), ==, UB_TPR_REFUSED);
        ub_tp_query(tp, tpn, &attr, NULL);
        g_assert_cmphex(attr.flow.dcna, ==, 2);
        lossy_run(b->l, b->l->now + 10 * MS);
    }
    attr.flow.sl = 3;
    g_assert_cmpint(ub_tp_modify(tp, tpn, &attr, UB_TPA_FLOW), ==, UB_TPR_OK);
    ub_tp_deactivate(tp, tpn);
    attr.flow.dcna = 3;
    g_assert_cmpint(ub_tp_modify(tp, tpn, &attr, UB_TPA_FLOW), ==, UB_TPR_OK);
    g_assert_cmpint(ub_tp_activate(tp, tpn), ==, UB_TPR_REFUSED);
    bed_free(b);
}

/* Who is taken out: channels end at both sides, by either side's list, and work that is
 * under way comes back; the others go on. */
static void test_taken_out(void)
{
    for (unsigned who = 0; who < 2; who++) {
        Bed *b = bed_new();
        LossyNode *a = &b->l->node[0];
        uint32_t tpn, other = 77;
        UbTpAttr attr;

        both(b);
        peer(b, 0, 5, 9);
        ub_tp_attr_init(a->tp, &attr);
        attr.flow = lossy_flow(0, 1, UB_LPH_CNA24);
        attr.flow.dcna = 9;
        g_assert_cmpint(ub_tp_create(a->tp, &other, &attr), ==, UB_TPR_OK);
        g_assert_cmpint(ub_tp_activate(a->tp, other), ==, UB_TPR_OK);
        ask(b, UB_LPH_CNA24, &tpn);
        lossy_run(b->l, b->l->now + 10 * MS);
        g_assert_cmpint(state(b, 0, tpn), ==, UB_TP_ACTIVE);
        b->l->node[1].down = true;      /* no acknowledgement */
        g_assert_cmpint(lossy_send(a, tpn, 100, 5, true, false, 1), ==, UB_SENT);
        lossy_run(b->l, b->l->now + MS);
        g_assert_cmpuint(a->acked->len, ==, 0);
        b->l->node[1].down = false;
        ub_tp_space(b->l->node[1].tp, b->l->now);
        peer(b, who, who ? UB_TPR_PEERS - 1 : 0, 0);
        /* Not in the middle of the message that says so. */
        g_assert_cmpint(state(b, 0, tpn), ==, UB_TP_ACTIVE);
        ub_tp_run(b->l->node[who].tp, b->l->now, 64);
        lossy_run(b->l, b->l->now + 10 * MS);
        g_assert_cmpint(state(b, 0, tpn), ==, UB_TP_ERROR);
        g_assert_cmpint(a->connected, ==, UB_TPR_REFUSED);
        g_assert_cmpuint(count(b, 1), ==, 0);   /* nobody there had made it */
        g_assert_cmpuint(a->acked->len, ==, 1);
        g_assert_cmpint(lossy_send(a, tpn, 100, 6, true, false, 2), ==, UB_LOST);
        g_assert_cmpint(state(b, 0, other), ==, UB_TP_ACTIVE);
        bed_free(b);
    }
}

/* One that the driver has made by hand is in error, and still its own. */
static void test_by_hand(void)
{
    Bed *b = bed_new();
    LossyNode *a = &b->l->node[0];
    uint32_t tpn = 5;
    UbTpAttr attr;

    both(b);
    ub_tp_attr_init(a->tp, &attr);
    attr.flow = lossy_flow(0, 1, UB_LPH_CNA24);
    attr.dst_tpn = 6;
    g_assert_cmpint(ub_tp_create(a->tp, &tpn, &attr), ==, UB_TPR_OK);
    g_assert_cmpint(ub_tp_activate(a->tp, tpn), ==, UB_TPR_OK);
    peer(b, 0, 0, 0);
    ub_tp_run(a->tp, b->l->now, 64);
    g_assert_cmpint(state(b, 0, tpn), ==, UB_TP_ERROR);
    g_assert_cmpuint(a->connects, ==, 1);
    g_assert_cmpint(a->connected, ==, UB_TPR_REFUSED);
    g_assert_cmpuint(b->l->sent, ==, 0);        /* its peer knows of nothing */
    g_assert_cmpint(ub_tp_deactivate(a->tp, tpn), ==, UB_TPR_OK);
    peer(b, 0, 3, 2);
    g_assert_cmpint(ub_tp_activate(a->tp, tpn), ==, UB_TPR_OK);
    bed_free(b);
}

/* While it is being agreed on: who asked hears of it, who was asked forgets it. */
static void test_meanwhile(void)
{
    for (unsigned who = 0; who < 2; who++) {
        Bed *b = bed_new();
        LossyNode *a = &b->l->node[0];
        uint32_t tpn;

        both(b);
        b->l->node[1].down = !who;      /* there is no REPLY */
        ask(b, UB_LPH_CNA24, &tpn);
        a->down = who;                  /* there is no CONFIRM */
        lossy_run(b->l, b->l->now + 5 * MS);
        g_assert_cmpuint(count(b, 1), ==, 1);
        g_assert_cmpuint(b->l->node[1].connects, ==, 0);
        peer(b, who, who ? UB_TPR_PEERS - 1 : 0, 0);
        ub_tp_run(b->l->node[who].tp, b->l->now, 64);
        if (who) {
            g_assert_cmpuint(count(b, 1), ==, 0);
        } else {
            g_assert_cmpint(state(b, 0, tpn), ==, UB_TP_RESET);
            g_assert_cmpuint(a->connects, ==, 1);
            g_assert_cmpint(a->connected, ==, UB_TPR_REFUSED);
            lossy_run(b->l, b->l->now + 5000 * MS);
            g_assert_cmpuint(a->connects, ==, 1);
        }
        bed_free(b);
    }
}

/* The list moves with the registers; what it does not have any more ends there. */
static void test_image(void)
{
    Bed *b = bed_new(), *to = bed_new();
    g_autofree uint8_t *data = NULL;
    uint32_t tpn;
    CoreImage *im;
    size_t len;

    both(b);
    ask(b, UB_LPH_CNA24, &tpn);
    lossy_run(b->l, b->l->now + 10 * MS);
    g_assert_cmpint(state(b, 0, tpn), ==, UB_TP_ACTIVE);
    im = core_image_save(b->l->now);
    ub_tp_image(b->l->node[0].tp, im);
    data = core_image_take(im, &len);
    core_image_free(im);
    for (unsigned listed = 0; listed < 2; listed++) {
        ub_tp_reset(to->l->node[0].tp);
        if (listed) {
            peer(to, 0, 0, 2);
        }
        im = core_image_load(data, len, to->l->now);
        ub_tp_image(to->l->node[0].tp, im);
        g_assert_cmpstr(core_image_done(im), ==, NULL);
        core_image_free(im);
        g_assert_cmpint(state(to, 0, tpn), ==, UB_TP_ACTIVE);
        ub_tp_run(to->l->node[0].tp, to->l->now, 64);
        g_assert_cmpint(state(to, 0, tpn), ==, listed ? UB_TP_ACTIVE : UB_TP_ERROR);
    }
    bed_free(b);
    bed_free(to);
}

/* ---- Anything ---- */

enum { NUMBERS = 12 };  /* of channels */

static unsigned any(unsigned below)
{
    return g_test_rand_int_range(0, below);
}

static bool listed(Bed *b, unsigned n, const UbFlow *to)
{
    for (unsigned i = 0; i < UB_TPR_PEERS; i++) {
        if (to->dcna && reg(b, n, UB_TPR_PEER(i)) == to->dcna) {
            return !ub_lph_is_ip(to->cfg);
        }
    }
    return false;
}

typedef struct Judge {
    Bed *b;
    unsigned n, up;
} Judge;

static void judge(void *opaque, uint32_t tpn)
{
    Judge *j = opaque;
    UbTpAttr attr;
    UbTpInfo info;

    g_assert_cmpint(ub_tp_query(j->b->l->node[j->n].tp, tpn, &attr, &info), ==,
                    UB_TPR_OK);
    if (info.state == UB_TP_INIT || info.state == UB_TP_ACTIVE) {
        g_assert_true(listed(j->b, j->n, &attr.flow));
        j->up++;
    }
}

static UbTpAttr some_attr(Bed *b, unsigned n)
{
    static const UbLphCfg cfgs[] = { UB_LPH_CNA24, UB_LPH_CNA24, UB_LPH_CNA24,
                                     UB_LPH_IPV4 };
    UbTpAttr attr;

    ub_tp_attr_init(b->l->node[n].tp, &attr);
    attr.flow = lossy_flow(n, any(NODES), cfgs[any(G_N_ELEMENTS(cfgs))]);
    attr.dst_tpn = 1 + any(NUMBERS);
    attr.tx_psn = attr.rx_psn = 0;
    return attr;
}

/* An image of a node, perhaps of long ago or with a bit that is another, in its place. */
static void moved(Bed *b, unsigned n, uint8_t **kept, size_t *len)
{
    UbTp *tp = b->l->node[n].tp;
    CoreImage *im;

    if (!*kept || any(3)) {
        im = core_image_save(b->l->now);
        ub_tp_image(tp, im);
        g_free(*kept);
        *kept = core_image_take(im, len);
        core_image_free(im);
    }
    if (any(3) == 0) {
        (*kept)[any(*len)] ^= 1 << any(8);
    }
    im = core_image_load(*kept, *len, b->l->now);
    ub_tp_image(tp, im);
    if (core_image_done(im)) {
        g_clear_pointer(kept, g_free);
        ub_tp_reset(tp);
    }
    core_image_free(im);
}

static void change(Bed *b, unsigned n, uint8_t **kept, size_t *len)
{
    LossyNode *node = &b->l->node[n];
    uint32_t tpn = 1 + any(NUMBERS), group = any(2);
    UbTpAttr attr = some_attr(b, n);
    UbTp *tp = node->tp;

    switch (any(16)) {
    case 0 ... 2:
        peer(b, n, any(UB_TPR_PEERS), any(2) ? 1 + any(NODES) : any(2) ? 0 : any(1u << 24));
        break;
    case 3:                     /* all that name one */
        for (unsigned i = 0, cna = 1 + any(NODES); i < UB_TPR_PEERS; i++) {
            if (reg(b, n, UB_TPR_PEER(i)) == cna) {
                peer(b, n, i, 0);
            }
        }
        break;
    case 4:
        if (any(4) == 0) {
            tpn = UB_TP_NONE;
        }
        ub_tp_create(tp, &tpn, &attr);
        break;
    case 5:
        ub_tp_connect(tp, tpn, b->l->now);
        break;
    case 6:
        ub_tp_activate(tp, tpn);
        break;
    case 7:
        ub_tp_modify(tp, tpn, &attr, any(UB_TPA_ALL + 1));
        break;
    case 8:
        any(2) ? ub_tp_destroy(tp, tpn, b->l->now) : ub_tp_deactivate(tp, tpn);
        break;
    case 9:
        any(8) ? ub_tpg_create(tp, &group, any(2)) : ub_tpg_destroy(tp, group);
        break;
    case 10:
        any(4) ? ub_tpg_join(tp, group, tpn) : ub_tpg_leave(tp, tpn);
        break;
    case 11 ... 12:
        if (any(3) == 0) {
            tpn = ub_tpg_pick(tp, group);
        }
        lossy_send(node, tpn, 8 + any(9000), 7, any(2), any(2), 1);
        break;
    case 13:
        moved(b, n, kept, len);
        break;
    case 14:
        if (any(20) == 0) {
            ub_tp_reset(tp);
        } else {
            node->down = any(3) == 0;
            ub_tp_space(tp, b->l->now);
        }
        break;
    default:
        lossy_run(b->l, b->l->now + any(20) * MS);
        break;
    }
}

/* Whatever happens, after a turn nothing is up with somebody who is in no list. */
static void test_anything(void)
{
    const unsigned rounds = g_test_slow() ? 2000 : 100;
    unsigned up = 0;

    for (unsigned round = 0; round < rounds; round++) {
        uint8_t *kept[NODES] = { NULL };
        size_t len[NODES];
        Bed *b = bed_new();

        b->l->lose_ppm = round % 3 * 30000;
        b->l->latency = 1 + any(2 * MS);
        for (unsigned i = 0; i < 1500; i++) {
            unsigned n = any(NODES);
            Judge j = { b, n };

            change(b, n, &kept[n], &len[n]);
            ub_tp_run(b->l->node[n].tp, b->l->now, 64);
            ub_tp_foreach(b->l->node[n].tp, judge, &j);
            up += j.up;
        }
        for (unsigned n = 0; n < NODES; n++) {
            g_free(kept[n]);
        }
        bed_free(b);
    }
    g_test_message("%u up", up);
    g_assert_cmpuint(up, >, rounds * 100);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/tp/allow/registers", test_registers);
    g_test_add_func("/ub/tp/allow/withheld", test_withheld);
    g_test_add_func("/ub/tp/allow/ip", test_ip);
    g_test_add_func("/ub/tp/allow/turned", test_turned);
    g_test_add_func("/ub/tp/allow/taken-out", test_taken_out);
    g_test_add_func("/ub/tp/allow/by-hand", test_by_hand);
    g_test_add_func("/ub/tp/allow/meanwhile", test_meanwhile);
    g_test_add_func("/ub/tp/allow/image", test_image);
    g_test_add_func("/ub/tp/allow/anything", test_anything);
    return g_test_run();
}
