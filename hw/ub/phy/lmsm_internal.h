/*
 * Inside of the link management state machine: what its files share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_LMSM_INT_H
#define UB_LMSM_INT_H

#include "lmsm.h"

#define US(n) ((int64_t)(n) * 1000)
#define MS(n) ((int64_t)(n) * 1000000)

enum { LMSM_TX_IDLE, LMSM_TX_TRAIN, LMSM_TX_DATA };

/* Why Change_Speed was entered: to the rate agreed on, or because a rate
 * failed, back to that at Retrain entry or down to Data Rate 0. */
enum { LMSM_SPEED_NORMAL, LMSM_SPEED_BACK, LMSM_SPEED_DR0 };

/* One row per state. */
typedef struct LmsmState {
    const char *name;
    void (*enter)(UbLmsm *l);
    /* True if it went to another state. */
    bool (*step)(UbLmsm *l);
    /* The block of a logical lane; NULL: the state sends none. */
    void (*build)(const UbLmsm *l, unsigned lane, uint8_t *ltb);
    /* A good block came in: what it changes besides the counts. */
    void (*block)(UbLmsm *l, UbLmsmLane *lane);
    /* Whether a run of `run` such blocks meets the condition. */
    bool (*match)(const UbLmsm *l, const UbLmsmLane *lane);
    int64_t timeout;        /* ns before scaling, 0 none */
    uint8_t run;
    uint8_t kind;           /* UbLtbKind that counts as heard */
    uint16_t need;          /* LTBs to send after the first receipt */
} LmsmState;

extern const LmsmState lmsm_idle, lmsm_probe_wait, lmsm_probe_confirm,
    lmsm_rxeq, lmsm_disc_active, lmsm_disc_confirm, lmsm_conf_active,
    lmsm_conf_check, lmsm_conf_confirm, lmsm_send_null, lmsm_link_active,
    lmsm_retr_active, lmsm_retr_confirm, lmsm_change_speed,
    lmsm_eq_coarse_active, lmsm_eq_coarse_confirm, lmsm_eq_passive,
    lmsm_eq_active;

/* --- lmsm.c --- */
bool lmsm_go(UbLmsm *l, UbLmsmTransitionId id);     /* always true */
int64_t lmsm_ns(const UbLmsm *l, int64_t ns);       /* scaled */
/* A timeout: scaled, and not shorter than config.timeout_min. */
int64_t lmsm_patience(const UbLmsm *l, int64_t ns);
bool lmsm_timed_out(const UbLmsm *l);
void lmsm_status(UbLmsm *l, unsigned changed);
unsigned lmsm_need(const UbLmsm *l);
bool lmsm_sent(const UbLmsm *l);                    /* need is met */

/* The receive lane of a logical number, NULL if there is none. */
UbLmsmLane *lmsm_rx_lane(UbLmsm *l, unsigned logical);
bool lmsm_all_ok(UbLmsm *l, unsigned lanes);
/* A run of `run` blocks of `kind` on one / on all configured lanes. */
bool lmsm_any_run(UbLmsm *l, UbLtbKind kind, unsigned run);
bool lmsm_all_run(UbLmsm *l, UbLtbKind kind, unsigned run);
bool lmsm_configured(const UbLmsm *l, const UbLmsmLane *lane);
/* Forget every run: blocks that come from now on count from one. */
void lmsm_forget(UbLmsm *l);
void lmsm_set_fec(UbLmsm *l, unsigned fec, bool interleave, unsigned crc);
void lmsm_set_rate(UbLmsm *l, unsigned rate);
void lmsm_tx_idle(UbLmsm *l, bool eei);
void lmsm_tx_sdf(UbLmsm *l);
bool lmsm_pam4(const UbLmsm *l);
unsigned lmsm_common(const UbLmsm *l, unsigned peer);
unsigned lmsm_highest(unsigned rates);

/* --- lmsm-discovery.c --- */
void lmsm_discovery_enter(UbLmsm *l);
void lmsm_rx_hunt(UbLmsm *l);

/* --- lmsm-config.c --- */
bool lmsm_both_support(const UbLmsm *l, unsigned fec);
unsigned lmsm_choose_fec(const UbLmsm *l, unsigned wish);
bool lmsm_choose_interleave(const UbLmsm *l, unsigned rate, unsigned fec);

/* --- lmsm-retrain.c --- */
void lmsm_agree(UbLmsm *l);
void lmsm_build_rltb(const UbLmsm *l, unsigned lane, uint8_t *ltb,
                     UbLtbType type);
unsigned lmsm_target_rates(const UbLmsm *l);
unsigned lmsm_best_rate(const UbLmsm *l);

/* --- lmsm-eq.c --- */
void lmsm_eq_start_rate(UbLmsm *l);
void lmsm_eq_take_c3(UbLmsm *l);
bool lmsm_eq_mismatch(UbLmsm *l);
unsigned lmsm_eq_remote_preset(const UbLmsm *l, unsigned rate, unsigned lane);

/* --- lmsm-width.c --- */
void lmsm_width_reset(UbLmsm *l);
/* Returns the next deadline. */
int64_t lmsm_width_poll(UbLmsm *l);
void lmsm_width_ltb(UbLmsm *l);
/* Bad lanes of Link_Active: true if they must be left to Retrain. */
bool lmsm_lanes_lost(UbLmsm *l);

#endif
