/*
 * The packet in a slot of a message queue: the headers between its LPH and
 * MGMTETAH or the Scan Header, as software writes and reads them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/bytes.h"
#include "msgq.h"

/* LPH with CFG 6, NTH with 16-bit CNAs; then CTPH, UPIH, EIDH and BTAH of a
 * message, UPIH and padding of a scan. */
enum {
    LPH = 0, SCNA = 4, DCNA = 6, LBF = 10, NTH_LAST = 11,
    CTPH = 12, UPIH = 13, SCAN_UPIH = 12, EIDH = 15, BTAH = 20,
    LPH_CFG6 = 6 << 16,
    NLP_MESSAGE = 0, NLP_SCAN = 1, NTH_MGMT = 8,
    CTPH_UPIH16 = 2, EE_NORMAL = 0x10,
};

void ub_msgq_swap(uint8_t *p, unsigned len)
{
    for (; len >= 4; len -= 4, p += 4) {
        put_be32(p, get_le32(p));
    }
}

unsigned ub_msgq_headers(UbMgmtKind kind)
{
    return kind == UB_MGMT_KIND_SCAN ? UB_MSGQ_SCAN_HEADERS
                                     : UB_MSGQ_MESSAGE_HEADERS;
}

void ub_msgq_slot_get(const uint8_t *p, UbMgmtKind kind, UbMgmtAddr *a)
{
    *a = (UbMgmtAddr) {
        .scna = get_be16(p + SCNA), .dcna = get_be16(p + DCNA),
        .lbf = p[LBF], .sl = p[NTH_LAST] >> 4,
        .mgmt = p[NTH_LAST] & NTH_MGMT,
    };
    if (kind == UB_MGMT_KIND_SCAN) {
        a->upi = get_be16(p + SCAN_UPIH) & 0x7fff;
    } else {
        a->upi = get_be16(p + UPIH) & 0x7fff;
        a->seid = get_be24(p + EIDH) >> 4;
        a->deid = get_be24(p + EIDH + 2) & 0xfffff;
        a->msn = get_be16(p + BTAH + 2);
        a->queue = get_be24(p + BTAH + 5) & 0xfffff;
    }
}

void ub_msgq_slot_put(uint8_t *p, UbMgmtKind kind, const UbMgmtAddr *a)
{
    bool scan = kind == UB_MGMT_KIND_SCAN;

    memset(p, 0, ub_msgq_headers(kind));
    put_be32(p + LPH, LPH_CFG6);
    put_be16(p + SCNA, a->scna);
    put_be16(p + DCNA, a->dcna);
    p[LBF] = a->lbf;
    p[NTH_LAST] = a->sl << 4 | (a->mgmt ? NTH_MGMT : 0) |
                  (scan ? NLP_SCAN : NLP_MESSAGE);
    if (scan) {
        put_be16(p + SCAN_UPIH, a->upi);
        return;
    }
    p[CTPH] = CTPH_UPIH16;
    put_be16(p + UPIH, a->upi);
    put_be24(p + EIDH, a->seid << 4);
    put_be24(p + EIDH + 2, (a->seid & 0xf) << 20 | (a->deid & 0xfffff));
    p[BTAH] = UB_MGMT_TAOPCODE;
    p[BTAH + 1] = EE_NORMAL;
    put_be16(p + BTAH + 2, a->msn);
    put_be24(p + BTAH + 5, a->queue & 0xfffff);
}

/* NULL, or the rule that the headers break: what the device would not write
 * itself, but for what it overwrites. */
const char *ub_msgq_slot_check(const uint8_t *p, UbMgmtKind kind)
{
    unsigned nlp = kind == UB_MGMT_KIND_SCAN ? NLP_SCAN : NLP_MESSAGE;

    if ((get_be32(p + LPH) >> 16 & 15) != 6) {
        return "LPH: the CFG of a management packet is 6";
    }
    if ((p[NTH_LAST] & 7) != nlp) {
        return "NTH: NLP is not that of the task";
    }
    if (kind == UB_MGMT_KIND_MESSAGE) {
        if ((p[CTPH] & 0xcf) != CTPH_UPIH16) {
            return "CTPH: a message is data, with UPIH and EIDH of 2 and 5 bytes";
        }
        if (p[BTAH] != UB_MGMT_TAOPCODE) {
            return "BTAH: TAOpcode of a message is 0x10";
        }
    }
    return NULL;
}
