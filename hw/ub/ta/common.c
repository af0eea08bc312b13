/*
 * What all of the transaction layer uses: times, names of peers, forms.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/bytes.h"
#include "internal.h"

int64_t ta_time(const UbTa *ta, int64_t ns)
{
    return MAX(ns * ta->cfg.scale / 1000, ta->cfg.floor);
}

int64_t ta_rnr_time(const UbTa *ta, unsigned timer)
{
    return ta_time(ta, INT64_C(2000) << MIN(timer, UB_TAH_TIMER_MAX));
}

int64_t ub_ta_gear(unsigned gear)
{
    static const int64_t ms[UB_TA_GEARS] = { 128, 1000, 8000, 64000 };

    return ms[MIN(gear, UB_TA_GEARS - 1)] * 1000000;
}

guint ta_key_hash(gconstpointer key)
{
    const Key *k = key;
    uint64_t h = k->who ^ (uint64_t)k->rc << 40 ^
                 (k->local << 20 | k->local >> 44);

    h = (h ^ get_le64(k->eid.b)) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 29 ^ get_le64(k->eid.b + 8)) * UINT64_C(0xbf58476d1ce4e5b9);
    return h >> 32;
}

gboolean ta_key_equal(gconstpointer a, gconstpointer b)
{
    return !memcmp(a, b, sizeof(Key));
}

uint64_t ta_who(const UbFlow *flow, bool came)
{
    const uint8_t *ip = came ? flow->ip.src : flow->ip.dst;
    uint64_t h;

    if (flow->cfg != UB_LPH_IPV4 && flow->cfg != UB_LPH_IPV6) {
        return came ? flow->scna : flow->dcna;
    }
    if (flow->cfg == UB_LPH_IPV4) {
        return UINT64_C(1) << 32 | get_be32(ip);
    }
    h = (get_be64(ip) ^ get_be64(ip + 8) * UINT64_C(0x9e3779b97f4a7c15));
    return h | UINT64_C(1) << 63;
}

UbEid ta_eid(const UbSecHead *head, const UbEid *eid)
{
    return head->form == UB_SEC_WIDE ? *eid
           : ub_eid_of_short(head->form == UB_SEC_SHORT ? ub_eid_short(eid)
                                                        : 0);
}

int ta_put_headers(UbTa *ta, const UbTahForm *form, const UbTah *tah,
                   const UbSecHead *sec, UbTpMode mode, CorePacket *pkt)
{
    uint8_t *p = core_packet_push(pkt, ub_tah_size(form, tah));
    UbSecHead bypass;

    if (!p) {
        return -1;
    }
    ub_tah_build(form, tah, p);
    if (mode == UB_TP_BYPASS) {
        bypass = *sec;          /* no TPH, whose NLP would tell of a CIPH */
        bypass.no_ciph = true;
        sec = &bypass;
    }
    return ub_sec_push(ta->sec, sec, pkt);
}

CorePacket *ta_end_packet(UbTa *ta, const UbTahForm *form, const UbTah *tah,
                          const UbSecHead *sec, UbTpMode mode, uint8_t *nlp)
{
    CorePacket *pkt = core_packet_alloc(ta->pool, 0);
    int got = pkt ? ta_put_headers(ta, form, tah, sec, mode, pkt) : -1;

    if (got < 0 && pkt) {
        /* The keys have gone under it: it says nothing, and goes without. */
        core_packet_free(pkt);
        pkt = core_packet_alloc(ta->pool, 0);
        if (pkt) {
            ub_tah_build(form, tah,
                         core_packet_push(pkt, ub_tah_size(form, tah)));
            got = ub_sec_push_plain(ta->sec, sec, pkt);
        }
    }
    if (got < 0) {
        core_packet_free(pkt);
        return NULL;
    }
    *nlp = got;
    return pkt;
}
