/*
 * Requests at the border of a UB Domain.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ub/border.h"

#include "ub/sec.h"
#include "ub/tah.h"
#include "ub/tp_format.h"

/* What is in front of the BTAH by the NLP of a RTPH or UTPH, and by that of a CIPH; -1:
 * none is there. */
static int headers(const uint8_t *p, uint32_t len, unsigned nlp)
{
    static const uint8_t sealed[] = {
        UB_CIPH_LEN + UB_UPIH32_LEN + UB_EIDH256_LEN,
        UB_CIPH_LEN + UB_UPIH16_LEN + UB_EIDH40_LEN,
        UB_CIPH_LEN,
    };

    switch (nlp) {
    case UB_TPH_TAH:
        return 0;
    case UB_TPH_UPI32:
        return UB_UPIH32_LEN + UB_EIDH256_LEN;
    case UB_TPH_CIP:
        return len && p[0] >> 4 < sizeof(sealed) ? sealed[p[0] >> 4] : -1;
    default:
        return -1;
    }
}

static const char *judge_tah(const uint8_t *p, uint32_t len)
{
    static const UbTahForm full;
    uint32_t size;
    UbTah t;

    switch (ub_tah_parse(&full, p, len, &t, &size)) {
    case UB_TAH_OPCODE:
    case UB_TAH_VERSION:
        return "the border of a Domain cannot read what a packet asks for";
    case UB_TAH_SHORT:
        if (!size) {
            return "the border of a Domain cannot read what a packet asks for";
        }
        break;  /* the BTAH is whole; the rest may be hidden */
    default:
        break;
    }
    if (ub_ta_op(t.opcode)->kind == UB_TA_RESPONSE) {
        return NULL;
    }
    if (t.e_bit) {
        return "E_Bit of a packet at the border of a Domain";
    }
    /* The bit alone is none: some requests have no place for a TokenValue. */
    return t.ext & UB_EXT_BIT(UB_EXT_TV)
           ? NULL : "no TokenValue in a packet at the border of a Domain";
}

const char *ub_border_judge(const uint8_t *p, uint32_t len)
{
    UbRtph h;
    int skip;

    if (len < UB_RTPH_LEN) {
        return "a packet at the border of a Domain ends within its headers";
    }
    ub_rtph_get(p, &h);
    if (ub_rtph_fault(&h)) {
        return "the border of a Domain does not know a transport header";
    }
    /* A fake packet of RTP has no payload that counts; in-band set-up has an NLP that is
     * reserved otherwise. */
    if (!ub_tp_ops[h.opcode].payload ||
        (h.fake && h.opcode == UB_TPOP_DATA) || h.nlp > UB_TPH_CIP) {
        return NULL;
    }
    p += UB_RTPH_LEN;
    len -= UB_RTPH_LEN;
    skip = headers(p, len, h.nlp);
    if (skip < 0 || len < (uint32_t)skip) {
        return "the border of a Domain cannot read what a packet asks for";
    }
    return judge_tah(p + skip, len - skip);
}
