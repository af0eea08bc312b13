/*
 * The figures of UB 2.0 §6.4.2 as scripts: what is sent, what is lost, and all
 * that is to be seen between the two ends.
 *
 * In a trace >n is a packet with PSN m + n, <An a TPACK, <Nn a TPNAK, <Sn:b a
 * TPSACK with its map in hexadecimal (bit 0 is PSN m + n), x behind it: lost.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "lossy.h"

enum { SR = 1, FAST = 2, MARK = 4, OOO = 8 };
enum { GBN_F = FAST, GBN_T = OOO, SR_F = SR | FAST | OOO, SR_T = SR | OOO };
enum { US = 1000 };

typedef struct Figure {
    const char *name;
    unsigned how, packets;
    LossyRule there[4], back[4];
    int64_t later;              /* the last packet goes then */
    const char *trace;
    unsigned timeouts, resent;
} Figure;

static const Figure figures[] = {
    { "6-18", GBN_F, 4, { { KIND_DATA, 1, 1, LOSE, 0 } }, { { 0 } }, 0,
      ">0 >1x >2 >3 <A0 <N1 >1 >2 >3 <A1 <A2 <A3 ", 0, 3 },
    { "6-19", GBN_F, 4,
      { { KIND_DATA, 1, 1, LOSE, 0 }, { KIND_DATA, 1, 2, LOSE, 0 } },
      { { 0 } }, 0,
      ">0 >1x >2 >3 <A0 <N1 >1x >2 >3 >1 >2 >3 <A1 <A2 <A3 ", 1, 6 },
    { "6-20", GBN_F, 4,
      { { KIND_DATA, 2, 1, LOSE, 0 }, { KIND_DATA, 3, 1, LOSE, 0 } },
      { { 0 } }, 0,
      ">0 >1 >2x >3x <A0 <A1 >2 >3 <A2 <A3 ", 1, 2 },
    { "6-21", GBN_F, 3, { { 0 } }, { { KIND_ACK, 1, 1, LOSE, 0 } }, 0,
      ">0 >1 >2 <A0 <A1x <A2 ", 0, 0 },
    { "6-22", GBN_F, 3, { { 0 } }, { { KIND_ACK, 2, 1, LOSE, 0 } }, 0,
      ">0 >1 >2 <A0 <A1 <A2x >2 <A2 ", 1, 1 },
    { "6-23", GBN_F, 3, { { KIND_DATA, 1, 1, LOSE, 0 } },
      { { KIND_NAK, 1, 1, LOSE, 0 } }, 0,
      ">0 >1x >2 <A0 <N1x >1 >2 <A1 <A2 ", 1, 2 },
    { "6-24", GBN_T, 4, { { KIND_DATA, 1, 1, DELAY, 5 * US } }, { { 0 } }, 0,
      ">0 >1 >2 >3 <A0 <A3 ", 0, 0 },
    { "6-25", GBN_T, 4, { { KIND_DATA, 1, 1, LOSE, 0 } }, { { 0 } }, 0,
      ">0 >1x >2 >3 <A0 >1 >2 >3 <A3 <A3 <A3 ", 1, 3 },
    { "6-26", SR_F, 4, { { KIND_DATA, 1, 1, LOSE, 0 } }, { { 0 } }, 0,
      ">0 >1x >2 >3 <A0 <S0:5 <S0:d >1 <A3 ", 0, 1 },
    { "6-27", SR_F, 5,
      { { KIND_DATA, 1, 1, LOSE, 0 }, { KIND_DATA, 1, 2, LOSE, 0 } },
      { { 0 } }, 25 * US,
      ">0 >1x >2 >3 <A0 <S0:5 <S0:d >1x >4 <S0:1d >1 <A4 ", 1, 2 },
    { "6-28", SR_F | MARK, 5,
      { { KIND_DATA, 1, 1, LOSE, 0 }, { KIND_DATA, 1, 2, LOSE, 0 } },
      { { 0 } }, 25 * US,
      ">0 >1x >2 >3 <A0 <S0:5 <S0:d >1x >4 <S0:1d >1 <A4 ", 0, 2 },
    { "6-29", SR_F, 5,
      { { KIND_DATA, 1, 1, LOSE, 0 }, { KIND_DATA, 4, 1, LOSE, 0 } },
      { { 0 } }, 0,
      ">0 >1x >2 >3 >4x <A0 <S0:5 <S0:d >1 <A3 >4 <A4 ", 1, 2 },
    { "6-30", SR_F, 4, { { KIND_DATA, 1, 1, LOSE, 0 } },
      { { KIND_SACK, -1, 1, LOSE, 0 } }, 0,
      ">0 >1x >2 >3 <A0 <S0:5x <S0:d >1 <A3 ", 0, 1 },
    { "6-31", SR_T, 4, { { KIND_DATA, 1, 1, DELAY, 5 * US } }, { { 0 } }, 0,
      ">0 >1 >2 >3 <A0 <S0:5 <S0:d <A3 ", 0, 0 },
    { "6-32", SR_T, 4, { { KIND_DATA, 1, 1, LOSE, 0 } }, { { 0 } }, 0,
      ">0 >1x >2 >3 <A0 <S0:5 <S0:d >1 <A3 ", 1, 1 },
};

static void play(const Figure *f, uint32_t m)
{
    UbTpConfig cfg;
    UbTpAttr attr;
    UbTpInfo info;
    Lossy *l;

    ub_tp_config_init(&cfg);
    l = lossy_new(&cfg, 2);
    ub_tp_attr_init(l->node[0].tp, &attr);
    attr.selective = f->how & SR;
    attr.fast = f->how & FAST;
    attr.mark = f->how & MARK;
    attr.ooo = f->how & OOO;
    attr.ask = UB_TP_ASK_ALL;
    attr.rto_base_us = 512;
    attr.tx_psn = m & UB_PSN_MASK;
    lossy_channel(l, 0, 1, 11, 22, &attr);
    lossy_script(l, 0, f->there);
    lossy_script(l, 1, f->back);
    for (unsigned i = 0; i < f->packets; i++) {
        if (f->later && i == f->packets - 1) {
            lossy_run(l, 1000000 + f->later);
        }
        g_assert_cmpint(lossy_send(&l->node[0], 11, 100, i, true, false, i),
                        ==, UB_SENT);
        lossy_run(l, l->now + US);
    }
    lossy_run(l, l->now + 1000000 * (int64_t)US);
    g_assert_cmpstr(l->trace->str, ==, f->trace);
    g_assert_cmpuint(ub_tp_counters(l->node[0].tp)->timeouts, ==,
                     f->timeouts);
    g_assert_cmpuint(ub_tp_counters(l->node[0].tp)->tx_resent, ==,
                     f->resent);
    g_assert_cmpuint(l->node[1].got->len, ==, f->packets);
    g_assert_cmpuint(l->node[0].acked->len, ==, f->packets);
    for (unsigned i = 0; i < f->packets; i++) {
        g_assert_cmpuint(lossy_got(&l->node[1], i)->tag, ==, i);
        g_assert_cmpuint(lossy_acked(&l->node[0], i)->cookie, ==, i);
    }
    ub_tp_query(l->node[0].tp, 11, NULL, &info);
    g_assert_cmpuint(info.in_flight, ==, 0);
    g_assert_cmpuint(info.in_flight_bytes, ==, 0);
    ub_tp_query(l->node[1].tp, 22, NULL, &info);
    g_assert_cmpuint(info.held, ==, 0);
    g_assert_cmpuint(info.epsn, ==, (m + f->packets) & UB_PSN_MASK);
    lossy_free(l);
}

static void test_figure(gconstpointer data)
{
    /* PSNs that wrap within the figure, too. */
    static const uint32_t first[] = { 0, 1000, 0x7ffffe, 0x800000, 0xfffffd,
                                      0xfffffe, 0xffffff };

    for (unsigned i = 0; i < G_N_ELEMENTS(first); i++) {
        play(data, first[i]);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(figures); i++) {
        g_autofree char *path = g_strdup_printf("/tp/figure/%s",
                                                figures[i].name);

        g_test_add_data_func(path, &figures[i], test_figure);
    }
    return g_test_run();
}
