/*
 * One link management state machine, and a puppet that feeds it blocks by
 * hand: the blocks, and the ways to each state.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef LMSM_PUPPET_H
#define LMSM_PUPPET_H

#include "lmsm-sim.h"

#define US(n) ((int64_t)(n) * 1000)
#define MS(n) ((int64_t)(n) * 1000000)
#define ALL 0x0f            /* the four lanes of the link */
#define LINK_ID 7

typedef struct Dut {
    SimPort p;
    UbLmsm *l;
    UbLmsmConfig cfg;
    UbEqModel eq;
    int64_t now;
    UbLmsmOps ops;
    uint64_t ltbs_at_go;        /* blocks sent when the state was left */
} Dut;

/* Four lanes, a fixed secondary, no Probe, no rate changes by itself. */
Dut *dut_new(void);
void dut_free(Dut *d);

void poll(Dut *d);
void later(Dut *d, int64_t ns);

/* n blocks on each lane of the mask; numbers the lanes where there is room. */
void feed(Dut *d, const uint8_t *ltb, unsigned mask, unsigned n);
/* A block whose Lane_IDs are the caller's. */
void feed_lane(Dut *d, const uint8_t *ltb, unsigned lane, unsigned n);

/* The blocks of a perfect peer, without CRC. */
void make_dltb(const Dut *d, UbLtbType type, uint8_t *b);
void make_cltb(const Dut *d, UbLtbType type, uint8_t *b);
void make_rltb(const Dut *d, UbLtbType type, bool speed, uint8_t *b);
void make_eltb(unsigned phase, uint8_t *b);

void dltb(Dut *d, UbLtbType type, unsigned mask, unsigned n);
void cltb(Dut *d, UbLtbType type, unsigned link_id, unsigned n);
void rltb(Dut *d, UbLtbType type, bool speed, unsigned mask, unsigned n);
void eltb(Dut *d, unsigned phase, unsigned n);

/* Ways to the states, and steps on them. */
void begin(Dut *d);
void start(Dut *d);
void idle_probe(Dut *d);
void idle_fixed(Dut *d);
void probe_wait(Dut *d);
void ei_exit(Dut *d);
void probe_gone(Dut *d);
void probe_confirm(Dut *d);
void presence_less(Dut *d);
void rxeq(Dut *d);
void disc_active(Dut *d);
void disc_confirm(Dut *d);
void conf_active(Dut *d);
void conf_check(Dut *d);
void conf_confirm(Dut *d);
void send_null(Dut *d);
void data(Dut *d);
void send_null_last(Dut *d);
void link_active(Dut *d);
void retrain(Dut *d);
void retr_active(Dut *d);
void fixed_link(Dut *d);
void fixed_confirm(Dut *d);
void retr_confirm(Dut *d);
void want_speed(Dut *d);
void speed_confirm(Dut *d);
void change_speed(Dut *d);
void change_speed_eq(Dut *d);
void change_speed_eq_primary(Dut *d);
void hush(Dut *d);
void new_rate(Dut *d);
void new_rate_confirm(Dut *d);
void fast_link(Dut *d);
void fast_retrain(Dut *d);
void fast_confirm(Dut *d);
void width_retrain(Dut *d);
void coarse_active(Dut *d);
void coarse_active_skip(Dut *d);
void coarse_confirm_pri(Dut *d);
void coarse_confirm_pri_only(Dut *d);
void coarse_confirm_pri_skip(Dut *d);
void coarse_confirm_sec(Dut *d);
void coarse_confirm_sec_skip(Dut *d);
void passive_pri(Dut *d);
void active_sec(Dut *d);
void active_pri(Dut *d);

#endif
