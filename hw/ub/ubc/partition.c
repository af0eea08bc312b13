/*
 * UPIs of virtual machines: Trust_EN and the table of (EID, UPI) (UB 2.0 §D.1.15,
 * §D.3.16, §D.3.17).
 *
 * A packet that software writes whole leaves with a UPI of one of the controller's
 * Entities; where software is trusted, also with a pair of the table, which is in its
 * memory and is read for each such packet, so that what it takes out holds at once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/bytes.h"
#include "internal.h"
#include "ub/net_format.h"
#include "ub/sec.h"
#include "ub/tp_format.h"
#include "ub/ubc_hw.h"

/* Entries that are read at once. */
#define BATCH 32u

const char *ubc_partition_check(const UbcConfig *conf)
{
    return conf->eid_upi > UBC_MAX_EID_UPI
           ? "a table of (EID, UPI) has at most 1024 entries; 0: there is none"
           : NULL;
}

bool ubc_partition_init(Ubc *ubc)
{
    if (ubc->conf.eid_upi) {
        ub_slice_init(ubc->cfg1, UB_CFG1_EID_UPI_TEN, ~0u, ubc->conf.eid_upi);
    }
    return ubc->conf.eid_upi;
}

/* ---- Who the sender is ---- */

/* Behind a RTPH or UTPH. */
static bool behind_rtph(const uint8_t *p, uint32_t len, UbSecHead *h)
{
    const UbTpOpInfo *op;
    uint32_t head;
    UbSaetph s;
    UbRtph r;

    if (len < UB_RTPH_LEN) {
        return false;
    }
    ub_rtph_get(p, &r);
    op = r.opcode < UB_TPOPS ? &ub_tp_ops[r.opcode] : NULL;
    if (!op || !op->payload) {
        return false;
    }
    head = UB_RTPH_LEN + op->cetph;
    if (op->saetph) {
        if (len < head || !ub_saetph_get(p + head, len - head, &s)) {
            return false;
        }
        head += ub_saetph_len(s.size);
    }
    return len >= head && ub_sec_peek(r.nlp, false, p + head, len - head, h);
}

static bool behind_ctph(const uint8_t *p, uint32_t len, UbSecHead *h)
{
    const UbTpOpInfo *op;
    uint32_t head;
    UbCtph c;

    if (len < UB_CTPH_LEN) {
        return false;
    }
    ub_ctph_get(p, &c);
    op = c.opcode < UB_CTPOPS ? &ub_ctp_ops[c.opcode] : NULL;
    if (!op || !op->payload) {
        return false;
    }
    head = UB_CTPH_LEN + op->cetph;
    return len >= head && ub_sec_peek(c.nlp, true, p + head, len - head, h);
}

static bool behind_ip(unsigned cfg, const uint8_t *p, uint32_t len, UbSecHead *h)
{
    uint32_t head;
    UbIpInfo info;

    if (len < UB_IPEXT_SIZE ||
        ub_ip_get(p + UB_IPEXT_SIZE, len - UB_IPEXT_SIZE, cfg, &info) ||
        info.fragment || !info.udp || info.dport != UB_UDP_PORT) {
        return false;
    }
    head = UB_IPEXT_SIZE + info.header + UB_UDP_SIZE;
    return len >= head && behind_rtph(p + head, len - head, h);
}

/* What the sender says it is; false: the packet says nothing of it. */
static bool read_sender(CorePacket *pkt, UbSecHead *h)
{
    const uint8_t *p = core_packet_data(pkt);
    unsigned cfg = ub_meta(pkt)->lph_cfg;
    uint32_t len = pkt->len;
    UbNth nth;

    if (ub_lph_is_ip(cfg)) {
        return behind_ip(cfg, p, len, h);
    }
    if (cfg == UB_LPH_CNA16 && len >= UB_NTH16_SIZE) {
        ub_nth16_get(p, &nth);
        return nth.nlp == UB_NLP_CTPH &&
               behind_ctph(p + UB_NTH16_SIZE, len - UB_NTH16_SIZE, h);
    }
    if (cfg == UB_LPH_CNA24 && len >= UB_NTH24_SIZE) {
        ub_nth24_get(p, &nth);
        p += UB_NTH24_SIZE;
        len -= UB_NTH24_SIZE;
        return nth.nlp == UB_NLP_CTPH ? behind_ctph(p, len, h)
               : nth.nlp == UB_NLP_RTPH && behind_rtph(p, len, h);
    }
    return false;
}

/* ---- Who it may be ---- */

static uint32_t upi_as(const UbSecHead *h, uint32_t upi)
{
    return h->form == UB_SEC_SHORT ? upi & UB_CFG0_UPI__ALL : upi;
}

static bool is_own(Ubc *ubc, const UbSecHead *h)
{
    for (unsigned i = 0; i < ubc->conf.entities; i++) {
        const UbSlice *cfg0 = i ? ubc->entity[i].cfg0 : ubc->cfg0;

        if (h->upi == (ub_slice_get(cfg0, UB_CFG0_UPI) & UB_CFG0_UPI__ALL)) {
            return true;
        }
    }
    return false;
}

static bool entry_fits(const uint8_t *p, const UbSecHead *h)
{
    UbEid eid;

    memcpy(&eid, p + UBC_EID_UPI_EID, sizeof(eid));
    return get_le32(p + UBC_EID_UPI_FLAGS) & UBC_EID_UPI_VALID &&
           h->upi == upi_as(h, get_le32(p + UBC_EID_UPI_UPI)) &&
           (h->form == UB_SEC_SHORT
            ? ub_eid_short(&eid) == ub_eid_short(&h->seid)
            : ub_eid_same(&eid, &h->seid));
}

static bool in_table(Ubc *ubc, const UbSecHead *h)
{
    uint64_t base = ub_slice_get(ubc->cfg1, UB_CFG1_EID_UPI_TAB) |
                    (uint64_t)ub_slice_get(ubc->cfg1, UB_CFG1_EID_UPI_TAB + 1)
                    << 32;
    uint8_t batch[BATCH * UBC_EID_UPI_ENTRY];

    for (uint32_t at = 0; base && at < ubc->conf.eid_upi; at += BATCH) {
        uint32_t left = ubc->conf.eid_upi - at;
        uint32_t n = MIN(left, BATCH);

        if (!ubc_dma_read(ubc, base + (uint64_t)at * UBC_EID_UPI_ENTRY, batch,
                          n * UBC_EID_UPI_ENTRY)) {
            return false;
        }
        for (uint32_t i = 0; i < n; i++) {
            if (entry_fits(batch + i * UBC_EID_UPI_ENTRY, h)) {
                return true;
            }
        }
    }
    return false;
}

const char *ubc_partition_tx(Ubc *ubc, CorePacket *pkt)
{
    UbSecHead h = { 0 };

    if (!ubc->conf.eid_upi || !read_sender(pkt, &h) || is_own(ubc, &h) ||
        (h.form == UB_SEC_SHORT && h.upi == UB_UPI_MANAGER)) {
        return NULL;
    }
    if (!(ub_slice_get(ubc->cfg0, UB_CFG0_TRUST_EN) & UB_CFG0_TRUST_EN__ALL)) {
        return "a UPI of another, of software that is not trusted";
    }
    return h.upi && in_table(ubc, &h)
           ? NULL : "a UPI of another, which is not in the table for that EID";
}

void ubc_partition_image(Ubc *ubc, CoreImage *im)
{
    const uint32_t tag = CORE_TAG('E', 'U', 'P', 'I');

    if (core_image_optional(im, tag, ubc->conf.eid_upi)) {
        core_image_begin(im, tag, 1);
        core_image_same(im, ubc->conf.eid_upi, "another table of (EID, UPI)");
        core_image_end(im);
    } else if (core_image_loading(im) && ubc->conf.eid_upi) {
        /* Of a device without such a table. */
        ub_slice_set(ubc->cfg1, UB_CFG1_EID_UPI_TEN, ~0u, ubc->conf.eid_upi);
    }
}
