/*
 * PCS parameters and the sizes that follow from a data path mode.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "pcs.h"
#include "rs.h"
#include "ub/scrambler.h"

#define PERIOD_MIN 64 /* keeps a frame and its AMCTLs within UB_PCS_RUN_MIN */

/* Null Block of CRC mode: byte 0 0x02, BCRC over 130 bits (UB 2.0 §4.3.3.2;
 * which of the two readings of §4.7.2 holds is the data link layer's choice,
 * and it passes its own block in). */
static const uint8_t null_block[UB_FLIT] = {
    0x02, [16] = 0x3d, 0x3b, 0x4d, 0xd6,
};

void ub_pcs_params_init(UbPcsParams *p)
{
    memset(p, 0, sizeof(*p));
    p->scrambler = UB_SCRAMBLER_PRBS23;
    p->period[0] = 1280;
    p->period[1] = 640;
    p->confirm = 3;
    p->unlock = 3;
    p->skew = 128;
    p->full_disorder = true;
    memcpy(p->null_flit, null_block, UB_FLIT);
}

const char *ub_pcs_params_check(const UbPcsParams *p)
{
    if (!ub_scrambler_name(p->scrambler)) {
        return "unknown scrambler";
    }
    for (unsigned i = 0; i < 2; i++) {
        if (p->period[i] < PERIOD_MIN || p->period[i] > UB_PCS_PERIOD_MAX) {
            return "AMCTL period out of range";
        }
    }
    if (p->period[1] % UB_LTB) {
        return "AMCTL Period1 cuts an LTB";
    }
    if (!p->unlock) {
        return "AMCTL unlock count is zero";
    }
    if (p->skew > UB_PCS_SKEW) {
        return "deskew depth out of range";
    }
    return NULL;
}

const char *ub_pcs_mode_check(const UbPcsMode *m)
{
    if (!ub_amctl_lws(m->width)) {
        return "width is not 1, 2, 4 or 8";
    }
    if (m->fec > UB_FEC_T4) {
        return "unknown FEC mode";
    }
    if (m->fec != UB_FEC_OFF && m->codecs != 1 && m->codecs != 2) {
        return "one or two codecs only";
    }
    return NULL;
}

unsigned ub_pcs_frame_flits(const UbPcsMode *m)
{
    if (m->fec != UB_FEC_OFF) {
        return m->codecs * UB_RS_K / UB_FLIT;
    }
    return m->width == 8 ? 2 : 1;
}

unsigned ub_pcs_frame_columns(const UbPcsMode *m)
{
    if (m->fec != UB_FEC_OFF) {
        return m->codecs * UB_RS_N / m->width;
    }
    return ub_pcs_frame_flits(m) * UB_FLIT / m->width;
}

#define ALIGNMENT 64

void *ub_pcs_alloc(size_t size)
{
    void *p;

    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    p = aligned_alloc(ALIGNMENT, size);
    if (!p) {
        g_error("no memory for %zu bytes", size);
    }
    return memset(p, 0, size);
}
