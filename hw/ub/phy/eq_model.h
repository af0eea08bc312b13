/*
 * Transmit equaliser settings and the abstract analogue model behind the
 * equalisation protocol of UB 2.0 §3.4.3.10.
 *
 * There is no analogue path in a model, so a lane has a hidden best setting
 * and the "eye" of any other setting falls with its distance from it.  The
 * handshake, its rejections and its timers are the real ones.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_EQ_MODEL_H
#define UB_EQ_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "ub/phy_config.h"

#define UB_EQ_PRESETS   11      /* presets 0..10 exist, 11..15 are reserved */
#define UB_EQ_HS        48      /* cursor + pre + post of a legal setting */
#define UB_EQ_LS        12      /* least cursor - pre - post */

/* One transmit setting.  pre[0] is the NRZ Pre-Cursor or First_Pre-Cursor. */
typedef struct UbEqSetting {
    uint8_t by_preset;          /* asked for as a preset, not by cursors */
    uint8_t preset;
    uint8_t cursor;
    uint8_t post;
    uint8_t pre[3];             /* 6, 4 and 4 bits on the wire */
} UbEqSetting;


/*
 * Fill the cursors of a preset; NRZ has one pre tap, PAM4 three.  False
 * (untouched) for a reserved preset.
 */
bool ub_eq_preset(UbEqSetting *s, unsigned preset, bool pam4);

/* Whether this port's transmitter takes the setting (§3.4.3.10 EQ.Passive). */
bool ub_eq_legal(const UbEqModel *m, const UbEqSetting *s);

/* Eye of a setting seen by RX lane `lane`: larger is better, 0..255. */
unsigned ub_eq_eye(const UbEqModel *m, unsigned lane, const UbEqSetting *s,
                   bool pam4);

/* The i-th setting to try on any lane; false when there are no more. */
bool ub_eq_candidate(const UbEqModel *m, unsigned i, UbEqSetting *s,
                     bool pam4);

/* Whether two settings are the same request (by preset or by cursors). */
bool ub_eq_same(const UbEqSetting *a, const UbEqSetting *b);

#endif
