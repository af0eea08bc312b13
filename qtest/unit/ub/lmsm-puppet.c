/*
 * One link management state machine and its puppet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "lmsm-puppet.h"

void poll(Dut *d)
{
    ub_lmsm_poll(d->l, d->now);
}

void later(Dut *d, int64_t ns)
{
    d->now += ns;
    poll(d);
}

void feed_lane(Dut *d, const uint8_t *ltb, unsigned lane, unsigned n)
{
    uint8_t copy[UB_LMB_SYMBOLS];

    memcpy(copy, ltb, sizeof(copy));
    ub_ltb_seal(copy);
    for (unsigned k = 0; k < n; k++) {
        ub_lmsm_rx_ltb(d->l, d->now, lane, copy);
    }
}

void feed(Dut *d, const uint8_t *ltb, unsigned mask, unsigned n)
{
    UbLtbKind kind = ub_ltb_kind(ltb[0]);

    for (unsigned i = 0; i < 8; i++) {
        uint8_t copy[UB_LMB_SYMBOLS];

        memcpy(copy, ltb, sizeof(copy));
        if (kind == UB_LTB_DLTB || kind == UB_LTB_CLTB) {
            ub_ltb_set_lane_id(copy, i);
        }
        if (mask >> i & 1) {
            feed_lane(d, copy, i, n);
        }
    }
    poll(d);
}

static bool dut_primary(const Dut *d)
{
    return d->cfg.port_type;
}

void make_dltb(const Dut *d, UbLtbType type, uint8_t *b)
{
    ub_ltb_init(b, type);
    ub_ltb_set_link_id(b, dut_primary(d) && type == UB_LTB_DISC_ACTIVE
                          ? UB_LINK_ID_NULL : LINK_ID);
    ub_ltb_set_tlw(b, 4);
    ub_ltb_set_rlw(b, 4);
    ub_ltb_set_rates(b, d->cfg.rates);
    ub_ltb_set_fec_support(b, 3);
    ub_ltb_set_port_type(b, !dut_primary(d));
    ub_ltb_set_max_width(b, ub_max_width_code(4));
}

void dltb(Dut *d, UbLtbType type, unsigned mask, unsigned n)
{
    uint8_t b[UB_LMB_SYMBOLS];

    make_dltb(d, type, b);
    feed(d, b, mask, n);
}

void make_cltb(const Dut *d, UbLtbType type, uint8_t *b)
{
    ub_ltb_init(b, type);
    ub_ltb_set_link_id(b, LINK_ID);
    ub_ltb_set_tlw(b, 4);
    ub_ltb_set_rlw(b, 4);
    ub_ltb_set_eq_mode(b, d->cfg.eq_mode);
    ub_ltb_set_conf_fec(b, UB_LTB_FEC_T4);
}

void cltb(Dut *d, UbLtbType type, unsigned link_id, unsigned n)
{
    uint8_t b[UB_LMB_SYMBOLS];

    make_cltb(d, type, b);
    ub_ltb_set_link_id(b, link_id);
    feed(d, b, ALL, n);
}

void make_rltb(const Dut *d, UbLtbType type, bool speed, uint8_t *b)
{
    ub_ltb_init(b, type);
    ub_ltb_set_rates(b, d->cfg.rates);
    ub_ltb_set_change_speed(b, speed);
    ub_ltb_set_retr_fec(b, UB_LTB_FEC_T4);
    ub_ltb_set_crc_mode(b, UB_LTB_CRC30);
}

void rltb(Dut *d, UbLtbType type, bool speed, unsigned mask, unsigned n)
{
    uint8_t b[UB_LMB_SYMBOLS];

    make_rltb(d, type, speed, b);
    feed(d, b, mask, n);
}

void make_eltb(unsigned phase, uint8_t *b)
{
    ub_ltb_init(b, UB_LTB_EQUALIZATION);
    ub_ltb_set_eq_phase(b, phase);
    ub_ltb_set_preset_mode(b, 1);
    ub_ltb_set_tx_preset(b, 5);
}

void eltb(Dut *d, unsigned phase, unsigned n)
{
    uint8_t b[UB_LMB_SYMBOLS];

    make_eltb(phase, b);
    feed(d, b, ALL, n);
}

/* ---------------------------------------------------- ways to the states -- */

/* How many blocks had gone out when a state was left. */
static void transition(void *o, UbLmsmTransitionId id, int64_t now)
{
    Dut *d = (Dut *)o;          /* its first member is the port */

    d->ltbs_at_go = d->l->stats.ltbs_sent;
    sim_ops.transition(o, id, now);
}

void begin(Dut *d)
{
    d->ops = sim_ops;
    d->p.gate = UB_PHY_MODE_OWN;
    d->ops.transition = transition;
    ub_lmsm_init(d->l, &d->cfg, &d->eq, &d->ops, &d->p);
}

void start(Dut *d)
{
    ub_lmsm_start(d->l);
    poll(d);
}

void idle_probe(Dut *d)
{
    d->cfg.bypass_probe = false;
    begin(d);
}

void idle_fixed(Dut *d)
{
    d->cfg.fixed_rate = true;
    d->cfg.target_rate = 4;
    begin(d);
}

void probe_wait(Dut *d)
{
    idle_probe(d);
    ub_lmsm_presence(d->l, d->now, ALL);
    start(d);
}

void ei_exit(Dut *d)
{
    ub_lmsm_rx_idle(d->l, d->now, 0xfe);
    poll(d);
}

void probe_gone(Dut *d)
{
    probe_wait(d);
    ub_lmsm_presence(d->l, d->now, 0);
}

void probe_confirm(Dut *d)
{
    idle_probe(d);
    ub_lmsm_presence(d->l, d->now, 0x3);
    start(d);
    ei_exit(d);
}

void presence_less(Dut *d)
{
    ub_lmsm_presence(d->l, d->now, 0x1);
    later(d, d->cfg.probe_gap);
}

void rxeq(Dut *d)
{
    idle_fixed(d);
    start(d);
}

void disc_active(Dut *d)
{
    begin(d);
    start(d);
}

void disc_confirm(Dut *d)
{
    disc_active(d);
    dltb(d, UB_LTB_DISC_ACTIVE, ALL, 8);
}

void conf_active(Dut *d)
{
    disc_confirm(d);
    dltb(d, UB_LTB_DISC_CONFIRM, ALL, 8);
}

void conf_check(Dut *d)
{
    conf_active(d);
    cltb(d, UB_LTB_CONF_ACTIVE, LINK_ID, 2);
}

void conf_confirm(Dut *d)
{
    conf_check(d);
    cltb(d, UB_LTB_CONF_CHECK, LINK_ID, 2);
}

void send_null(Dut *d)
{
    conf_confirm(d);
    cltb(d, UB_LTB_CONF_CONFIRM, LINK_ID, 2);
}

void data(Dut *d)
{
    ub_lmsm_rx_sdf(d->l, d->now, 4);
    ub_lmsm_rx_blocks(d->l, d->now, 8, true);
    poll(d);
}

void send_null_last(Dut *d)
{
    send_null(d);
    d->l->retrain_num = 0xff;
}

void link_active(Dut *d)
{
    send_null(d);
    data(d);
}

void retrain(Dut *d)
{
    ub_lmsm_request_retrain(d->l);
    poll(d);
}

void retr_active(Dut *d)
{
    link_active(d);
    retrain(d);
}

void fixed_link(Dut *d)
{
    rxeq(d);
    dltb(d, UB_LTB_RXEQ_OPTIMIZE, ALL, 1);
    later(d, d->eq.adapt_ns);
    dltb(d, UB_LTB_DISC_ACTIVE, ALL, 8);
    dltb(d, UB_LTB_DISC_CONFIRM, ALL, 8);
    cltb(d, UB_LTB_CONF_ACTIVE, LINK_ID, 2);
    cltb(d, UB_LTB_CONF_CHECK, LINK_ID, 2);
    cltb(d, UB_LTB_CONF_CONFIRM, LINK_ID, 2);
    data(d);
    retrain(d);
}

void fixed_confirm(Dut *d)
{
    fixed_link(d);
    rltb(d, UB_LTB_RETR_ACTIVE, false, ALL, 8);
}

void retr_confirm(Dut *d)
{
    retr_active(d);
    rltb(d, UB_LTB_RETR_ACTIVE, false, ALL, 8);
}

void want_speed(Dut *d)
{
    ub_lmsm_request_speed(d->l);
    poll(d);
}

void speed_confirm(Dut *d)
{
    link_active(d);
    want_speed(d);
    rltb(d, UB_LTB_RETR_ACTIVE, true, ALL, 8);
}

/* Change_Speed without an equalisation to follow. */
void change_speed(Dut *d)
{
    d->cfg.eq_mode = UB_EQ_SKIP;
    speed_confirm(d);
    rltb(d, UB_LTB_RETR_CONFIRM, true, ALL, 8);
}

void change_speed_eq(Dut *d)
{
    d->cfg.eq_mode = UB_EQ_HIGHEST;
    speed_confirm(d);
    rltb(d, UB_LTB_RETR_EQ_INIT, true, ALL, 8);
}

void change_speed_eq_primary(Dut *d)
{
    d->cfg.port_type = 1;
    change_speed_eq(d);
}

void hush(Dut *d)
{
    later(d, d->cfg.speed_hold);
    ub_lmsm_rx_idle(d->l, d->now, 0xff);
    poll(d);
}

/* Data Rate 8, in the Retrain that went there. */
void new_rate(Dut *d)
{
    change_speed(d);
    hush(d);
}

void new_rate_confirm(Dut *d)
{
    new_rate(d);
    rltb(d, UB_LTB_RETR_ACTIVE, false, ALL, 8);
}

void fast_link(Dut *d)
{
    new_rate_confirm(d);
    rltb(d, UB_LTB_RETR_CONFIRM, false, ALL, 8);
    data(d);
}

void fast_retrain(Dut *d)
{
    fast_link(d);
    retrain(d);
}

void fast_confirm(Dut *d)
{
    fast_retrain(d);
    rltb(d, UB_LTB_RETR_ACTIVE, false, ALL, 8);
}

void width_retrain(Dut *d)
{
    link_active(d);
    ub_lmsm_request_width(d->l);
    poll(d);
}

void coarse_active(Dut *d)
{
    change_speed_eq(d);
    hush(d);
}

void coarse_active_skip(Dut *d)
{
    d->cfg.skip_coarse = 1u << 8;
    coarse_active(d);
}

void coarse_confirm_pri(Dut *d)
{
    change_speed_eq_primary(d);
    hush(d);
}

void coarse_confirm_pri_only(Dut *d)
{
    d->eq.fine_tune = false;
    coarse_confirm_pri(d);
}

void coarse_confirm_pri_skip(Dut *d)
{
    d->cfg.skip_coarse = 1u << 8;
    coarse_confirm_pri(d);
}

void coarse_confirm_sec(Dut *d)
{
    coarse_active(d);
    eltb(d, UB_EQPH_COARSE_CONFIRM, 2);
}

void coarse_confirm_sec_skip(Dut *d)
{
    d->cfg.skip_coarse = 1u << 8;
    coarse_confirm_sec(d);
}

void passive_pri(Dut *d)
{
    coarse_confirm_pri(d);
    eltb(d, UB_EQPH_COARSE_CONFIRM, 2);
}

void active_sec(Dut *d)
{
    coarse_confirm_sec(d);
    eltb(d, UB_EQPH_SEC_ACTIVE, 2);
}

void active_pri(Dut *d)
{
    passive_pri(d);
    eltb(d, UB_EQPH_PRI_ACTIVE, 2);
}

Dut *dut_new(void)
{
    Dut *d = g_new0(Dut, 1);

    d->l = &d->p.l;
    d->p.spoil_nth = 1;
    d->p.trace = g_array_new(false, false, sizeof(UbLmsmTransitionId));
    ub_lmsm_config_init(&d->cfg);
    d->cfg.target_tx = d->cfg.target_rx = d->cfg.max_width = 4;
    d->cfg.port_nego = false;
    d->cfg.auto_speed = false;
    d->cfg.bypass_probe = true;
    d->cfg.link_id = LINK_ID;
    d->cfg.eq_mode = UB_EQ_SKIP;
    ub_eq_model_init(&d->eq);
    d->eq.adapt_ns = 0;
    d->eq.first = d->eq.last = 5;
    d->now = 1000;
    return d;
}

void dut_free(Dut *d)
{
    g_array_unref(d->p.trace);
    g_free(d);
}
