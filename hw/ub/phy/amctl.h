/*
 * AMCTL, the alignment marker and control word of a UB lane (UB 2.0 §3.2.4),
 * and eBCH-16, the code that protects it (§3.2.4.1).
 *
 * An AMCTL is 40 symbols (bytes, bit 0 first on the lane): BODY 0-11, END
 * 12-15, LID 16-23, CTRL_TYPE 24-31, CTRL_DETAIL 32-39.  All functions are
 * pure; nothing allocates.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_AMCTL_H
#define UB_AMCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UB_AMCTL_SYMBOLS 40
#define UB_AMCTL_BODY 12 /* symbols of BODY */
#define UB_AMCTL_END 4   /* symbols of END */
#define UB_AMCTL_LOCK (UB_AMCTL_BODY + UB_AMCTL_END)

/* AMCTL.LID: 0-7, or NULL (Table 3-8). */
#define UB_AMCTL_LID_NULL 8
#define UB_AMCTL_LIDS 9
#define UB_AMCTL_BAD 0xff /* a field that did not decode */

/* CTRL_TYPE (Table 3-9), in the order of the table. */
typedef enum UbAmctlType {
    UB_AMCTL_FEC,       /* FEC Control: low-power close and open */
    UB_AMCTL_LWS,       /* Link Width Switch Indicator: SDF, EDF, new width */
    UB_AMCTL_EI,        /* EI Indicator */
    UB_AMCTL_PERIOD,    /* AMCTL Insert Period Control */
    UB_AMCTL_REMOTE_TX, /* Remote TX Link Width Switch */
    UB_AMCTL_TYPE_RSV5,
    UB_AMCTL_TYPE_RSV6,
    UB_AMCTL_NONE,      /* No Command */
    UB_AMCTL_TYPES,
} UbAmctlType;

/* CTRL_DETAIL (Table 3-10): the eight code points, by the type they serve. */
enum {
    UB_AMCTL_LWS_X0 = 0, /* EDF in the data stream */
    UB_AMCTL_LWS_X1 = 1, /* SDF at the end of training, new width after it */
    UB_AMCTL_LWS_X2 = 2,
    UB_AMCTL_LWS_X4 = 3,
    UB_AMCTL_LWS_X8 = 4,
    UB_AMCTL_EI_EEI = 5,
    UB_AMCTL_PERIOD_0 = 0,
    UB_AMCTL_PERIOD_1 = 1,
    UB_AMCTL_FEC_CLOSE = 6,
    UB_AMCTL_FEC_OPEN = 7,
    UB_AMCTL_DETAILS = 8,
};

typedef struct UbAmctl {
    uint8_t lid;    /* 0-7, UB_AMCTL_LID_NULL, or UB_AMCTL_BAD */
    uint8_t type;   /* UbAmctlType, or UB_AMCTL_BAD: take no action */
    uint8_t detail; /* 0-7, or UB_AMCTL_BAD; meaningless with NONE */
    bool end_ok;    /* END is right after correction; else ignore the rest */
    uint8_t body;   /* BODY code words right after correction, 0-6 */
    uint8_t fixed;  /* code words of the 20 that needed correction */
    uint8_t failed; /* code words of the 20 beyond correction */
} UbAmctl;

/* Detail code of width 1, 2, 4 or 8; X0 for any other value, and back (0). */
unsigned ub_amctl_lws(unsigned width);
unsigned ub_amctl_lws_width(unsigned detail);

/* Write the 40 symbols of one AMCTL; out of range arguments become NULL, No
 * Command and detail 0. */
void ub_amctl_encode(uint8_t out[UB_AMCTL_SYMBOLS], unsigned lid,
                     unsigned type, unsigned detail);

/* Correct and decode 40 symbols by the rules of §3.2.4.2 (END both right; LID
 * halves equal; one good half of type and detail is enough, two good and
 * different halves are no command).  Returns end_ok. */
bool ub_amctl_decode(UbAmctl *a, const uint8_t in[UB_AMCTL_SYMBOLS]);

/* Cheap tests on the first 16 symbols.  _exact: END without error and at
 * least four BODY words right after correction (the hunting rule; it never
 * holds inside a legal AMCTL at another offset, of either polarity);
 * _end: END right after correction (the rule at an expected position). */
bool ub_amctl_lock_exact(const uint8_t in[UB_AMCTL_LOCK]);
bool ub_amctl_end(const uint8_t in[UB_AMCTL_LOCK]);

/* Names as the command line tool and traces write them ("lws", "sdf-x4"…). */
const char *ub_amctl_type_name(unsigned type);
const char *ub_amctl_detail_name(unsigned type, unsigned detail);

/* eBCH-16: code word of payload 0-31, in the original bit order (Byte_A in
 * bits 15-8). */
uint16_t ub_ebch_encode(unsigned payload);

/* Nearest code word by the correctable patterns of Figure 3-8.  Returns its
 * payload, or -1; *flips, if not NULL, gets the number of wrong bits. */
int ub_ebch_decode(uint16_t word, unsigned *flips);

/* The bit permutation of §3.2.4.1 between original and lane order. */
uint16_t ub_ebch_to_lane(uint16_t word);
uint16_t ub_ebch_from_lane(uint16_t word);

#endif
