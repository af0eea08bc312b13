/*
 * The packet in a slot of a message queue: the headers between its LPH and
 * MGMTETAH or the Scan Header, as software writes and reads them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/bytes.h"
#include "msgq.h"
#include "ub/mgmt_net.h"

/* LPH with CFG 6, NTH with 16-bit CNAs; then the headers of mgmt_net.h. */
enum {
    LPH = 0, SCNA = 4, DCNA = 6, LBF = 10, NTH_LAST = 11, HEAD = 12,
    LPH_CFG6 = 6 << 16,
    NTH_MGMT = 8,
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

static unsigned nlp_of(UbMgmtKind kind)
{
    return kind == UB_MGMT_KIND_SCAN ? UB_NLP_SCAN : UB_NLP_CTPH;
}

const char *ub_msgq_slot_get(const uint8_t *p, UbMgmtKind kind, UbMgmtAddr *a)
{
    *a = (UbMgmtAddr) {
        .scna = get_be16(p + SCNA), .dcna = get_be16(p + DCNA),
        .lbf = p[LBF], .sl = p[NTH_LAST] >> 4,
        .mgmt = p[NTH_LAST] & NTH_MGMT,
    };
    if ((get_be32(p + LPH) >> 16 & 15) != UB_LPH_CNA16) {
        return "LPH: the CFG of a management packet is 6";
    }
    if ((p[NTH_LAST] & 7) != nlp_of(kind)) {
        return "NTH: NLP is not that of the task";
    }
    return ub_mgmt_head_get(p + HEAD, kind, a);
}

void ub_msgq_slot_put(uint8_t *p, UbMgmtKind kind, const UbMgmtAddr *a)
{
    memset(p, 0, ub_msgq_headers(kind));
    put_be32(p + LPH, LPH_CFG6);
    put_be16(p + SCNA, a->scna);
    put_be16(p + DCNA, a->dcna);
    p[LBF] = a->lbf;
    p[NTH_LAST] = a->sl << 4 | (a->mgmt ? NTH_MGMT : 0) | nlp_of(kind);
    ub_mgmt_head_put(p + HEAD, kind, a);
}
