/*
 * Settings of a physical layer: what registers and properties say.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_PHY_CONFIG_H
#define UB_PHY_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ub/lanes.h"

#define UB_FLIT 20 /* bytes */
#define UB_LTB 16  /* symbols of a training block */

typedef enum UbPhyMode {
    UB_PHY_MODE_1 = 1,      /* 4.0 Gb/s and three custom rates */
    UB_PHY_MODE_2 = 2,      /* 2.578125 .. 106.25 Gb/s */
} UbPhyMode;

#define UB_DATA_RATES 9     /* DR0..DR8 have a bit in the LTBs */

/* FEC modes and encapsulations, as training sets and PHY Link Control 6 to 9
 * number them. */
typedef enum UbFec { UB_FEC_OFF, UB_FEC_T2, UB_FEC_T4 } UbFec;
enum { UB_LTB_CRC_NONE, UB_LTB_CRC30 };

/* ------------------------------------------------------------- training -- */

/*
 * What registers and properties say.  The machine reads it live; the fields
 * marked "start" are taken on leaving Link_Idle or on entering Discovery.
 */
typedef struct UbLmsmConfig {
    UbPhyMode phy_mode;             /* start */
    uint16_t rates;                 /* all supported, bit n = Data Rate n */
    uint8_t target_rate;            /* PHY Link Control 1 [3:0] */
    uint8_t target_tx, target_rx;   /* lanes; start */
    uint8_t max_width;              /* lanes of the port */
    bool optical;                   /* start */
    bool fixed_rate;                /* start: rate = target_rate throughout */
    bool bypass_probe;              /* start */
    bool port_nego;                 /* PHY Link Control 2 [19] */
    uint8_t port_type;              /* static role: 1 primary */
    uint8_t link_id;                /* what a primary port assigns */
    bool auto_speed;                /* primary climbs to the target itself */
    uint8_t eq_mode;                /* PHY Link Control 2 [5:4] */
    uint8_t fec_support;            /* DLTB symbol 7 */
    uint8_t interleave_support;     /* DLTB symbol 10 */
    uint8_t fec_mode[UB_DATA_RATES];/* PHY Link Control 6, 7 */
    uint8_t crc_mode[UB_DATA_RATES];/* PHY Link Control 8, 9 */
    uint16_t interleave;            /* PHY Link Control 10, bit = rate */
    uint16_t skip_coarse;           /* PHY Link Control 11, bit = rate */
    uint16_t precode;               /* PHY Link Control 5 [31:16], bit = rate;
                                     * taken when lanes start at a rate */
    bool auto_fec;                  /* hi_FEC_BER asks for T=4 by itself */
    uint8_t fec_min;                /* weaker wishes of the peer: Reject */
    bool measure_ber;               /* primary chooses FEC by measured BER */
    uint32_t timeout_enable;        /* LMSM_ST Control 1, bit = state code */
    uint8_t local_preset[UB_DATA_RATES][UB_LANES];
    uint8_t remote_preset[UB_DATA_RATES][UB_LANES];
    bool asymmetric;                /* TX and RX width may differ */
    bool qdlws, qdlws_tx, qdlws_rx; /* QDLWS Control */
    bool fast_lane_down;
    uint8_t lane_down_n;            /* missed AMCTLs, 1..254 */
    uint32_t time_scale;            /* >= 1 */
    int64_t timeout_min;            /* ns, not scaled: no state gives up
                                     * earlier, however short its timeout */
    uint32_t seed;                  /* of the port negotiation numbers */
    /* Times the document leaves to the implementation, ns before scaling. */
    int64_t probe_wait, probe_gap, speed_hold, speed_hold_fail;
    int64_t restart_delay, ber_window;
} UbLmsmConfig;

/* Mode-2, all rates, x8, secondary by negotiation, T=4, usable times. */
void ub_lmsm_config_init(UbLmsmConfig *c);

/* NULL if the machine can start with it, else the rule that is broken. */
const char *ub_lmsm_config_check(const UbLmsmConfig *c);

/* --------------------------------------------------------- equalisation -- */

/* Knobs of one port; all have usable values after ub_eq_model_init(). */
typedef struct UbEqModel {
    uint8_t best[UB_LANES];  /* preset with the widest eye, by RX lane */
    uint16_t reject;            /* presets this port's TX refuses, bit n */
    uint8_t first, last;        /* presets EQ.Active tries, in this order */
    bool by_cursors;            /* ask by cursors instead of by preset */
    bool fine_tune;             /* want EQ.Active and EQ.Passive at all */
    int64_t settle_ns;          /* from accepted request to evaluation */
    int64_t adapt_ns;           /* RX adaptation in coarse tune */
    bool dead;                  /* RX never adapts: every phase times out */
} UbEqModel;

void ub_eq_model_init(UbEqModel *m);
/* --------------------------------------------------------------- coding -- */

#define UB_PCS_SKEW 1024

/* What both ends must be configured alike for; nothing negotiates it. */
typedef struct UbPcsParams {
    uint8_t scrambler;     /* id from ub/scrambler.h; 0 is off */
    uint32_t period[2];    /* Period0 and Period1, symbols between AMCTLs */
    uint8_t confirm;       /* AMCTLs needed after the first one for lock;
                            * with 0 the first one counts and is acted on */
    uint8_t unlock;        /* consecutive misses that lose lock, >= 1 */
    uint16_t skew;         /* columns that deskew absorbs, <= UB_PCS_SKEW */
    bool full_disorder;    /* re-map lanes by AMCTL.LID (§3.2.3.3) */
    uint32_t hi_fec_ber;   /* error-symbol count that raises hi_FEC_BER; 0:
                            * never */
    uint8_t null_flit[UB_FLIT]; /* the Null Block used as fill */
} UbPcsParams;

/* Default: PRBS23 table, periods 1280 and 640, confirm 3, unlock 3, skew 128,
 * full disorder on, Null Block of CRC mode. */
void ub_pcs_params_init(UbPcsParams *p);

/* NULL when usable, else a sentence that names what is wrong. */
const char *ub_pcs_params_check(const UbPcsParams *p);

/* ------------------------------------------------------------------ all -- */

/* The most frames of fill that a stream may send before it rests. */
#define UB_PHY_REST_MAX 16

typedef struct UbPhyConfig {
    UbLmsmConfig lmsm;
    UbEqModel eq;
    UbPcsParams pcs;
    unsigned rest_frames;   /* fill frames before the stream comes to rest,
                             * UB_PHY_REST_MAX at most;
                             * more than 0 feeds receivers behind skewed or
                             * bit-slipped lanes, which lag by that much */
} UbPhyConfig;

/* Defaults of all parts; precoding on Data Rates 4 to 8, as the register
 * resets to. */
void ub_phy_config_init(UbPhyConfig *c);

/* NULL if a port can work with it, else the rule that is broken. */
const char *ub_phy_config_check(const UbPhyConfig *c);

#endif
