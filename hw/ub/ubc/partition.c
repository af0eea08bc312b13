/*
 * UPIs of virtual machines: Trust_EN and the table of (EID, UPI) (UB 2.0 §D.1.15,
 * §D.3.16, §D.3.17); bus instances, their entries into the fabric (§10.5.1).
 *
 * A packet that software writes whole leaves with a UPI of one of the controller's
 * Entities; where software is trusted, also with a pair of the table, which is in its
 * memory and is read for each such packet, so that what it takes out holds at once; or
 * as a bus instance, whose pair came from the manager and is not in its memory.
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
#include "ub/urma_hw.h"

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

/* Behind a RTPH or UTPH.  Nothing is between these and a payload: CETPH and SAETPH
 * belong to packets that have none. */
static bool behind_rtph(const uint8_t *p, uint32_t len, UbSecHead *h)
{
    UbRtph r;

    if (len < UB_RTPH_LEN) {
        return false;
    }
    ub_rtph_get(p, &r);
    return r.opcode < UB_TPOPS && ub_tp_ops[r.opcode].payload &&
           ub_sec_peek(r.nlp, false, p + UB_RTPH_LEN, len - UB_RTPH_LEN, h);
}

static bool behind_ctph(const uint8_t *p, uint32_t len, UbSecHead *h)
{
    UbCtph c;

    if (len < UB_CTPH_LEN) {
        return false;
    }
    ub_ctph_get(p, &c);
    return ub_ctp_ops[c.opcode].payload &&
           ub_sec_peek(c.nlp, true, p + UB_CTPH_LEN, len - UB_CTPH_LEN, h);
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

bool ubc_partition_is_manager(CorePacket *pkt)
{
    UbSecHead h;

    return read_sender(pkt, &h) && h.form == UB_SEC_SHORT &&
           h.upi == UB_UPI_MANAGER;
}

/* ---- Who it may be ---- */

static uint32_t upi_as(const UbSecHead *h, uint32_t upi)
{
    return h->form == UB_SEC_SHORT ? upi & UB_CFG0_UPI__ALL : upi;
}

static bool is_own(Ubc *ubc, uint32_t upi)
{
    for (unsigned i = 0; i < ubc->conf.entities; i++) {
        const UbSlice *cfg0 = i ? ubc->entity[i].cfg0 : ubc->cfg0;

        if (upi == (ub_slice_get(cfg0, UB_CFG0_UPI) & UB_CFG0_UPI__ALL)) {
            return true;
        }
    }
    return false;
}

/* Whether others' UPIs may leave at all; without the property nothing is asked. */
static bool is_trusted(Ubc *ubc)
{
    return !ubc->conf.eid_upi ||
           ub_slice_get(ubc->cfg0, UB_CFG0_TRUST_EN) & UB_CFG0_TRUST_EN__ALL;
}

static bool is_instance(Ubc *ubc, const UbSecHead *h)
{
    for (unsigned i = 0; i < UB_SEC_INSTANCES; i++) {
        UbSecHead as = *h;

        as.from = 1 + UB_SEC_INSTANCE(i);
        if (ub_sec_may_send(ub_node_sec(ubc->node), &as)) {
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

    if (!ubc->conf.eid_upi || !read_sender(pkt, &h) || is_own(ubc, h.upi) ||
        (h.form == UB_SEC_SHORT && h.upi == UB_UPI_MANAGER)) {
        return NULL;
    }
    if (!is_trusted(ubc)) {
        return "a UPI of another, of software that is not trusted";
    }
    return h.upi && (in_table(ubc, &h) || is_instance(ubc, &h))
           ? NULL : "a UPI of another, which is not in the table for that EID";
}

/* ---- Who the engine is ---- */

/* An Entity that software makes up has a UPI of the controller, or with Trust_EN a pair
 * of the table. */
bool ubc_partition_may_be(Ubc *ubc, const UbEid *eid, uint32_t upi)
{
    UbSecHead h = { .form = UB_SEC_WIDE, .upi = upi & UB_SEC_UPI_MASK,
                    .seid = *eid };

    if (ubc->conf.eid_upi && h.upi && !is_own(ubc, h.upi) &&
        !(is_trusted(ubc) && in_table(ubc, &h))) {
        return false;
    }
    ubc->made_up = ubc->conf.eid_upi;
    return true;
}

/* Whose EIDs, as 20 bits show them, nobody else here has. */
bool ubc_partition_is_instance(Ubc *ubc, const UbEid *eid)
{
    for (unsigned i = 0; i < UB_SEC_INSTANCES; i++) {
        const UbBusInstance *b = ub_mgmt_bus_instance(ubc->mgmt, i);

        if (b && (b->eid.w[0] & UB_MGMT_EID_SHORT) == ub_eid_short(eid)) {
            return true;
        }
    }
    return false;
}

/* The manager's word stands above what software has made up. */
static void drop_rivals(Ubc *ubc)
{
    UbSec *sec = ub_node_sec(ubc->node);

    for (unsigned i = ubc->conf.entities; i < UB_SEC_ENTITIES; i++) {
        const UbEid *eid = ub_sec_entity(sec, i, NULL);

        if (eid && ubc_partition_is_instance(ubc, eid)) {
            ub_sec_set_entity(sec, i, NULL, 0);
        }
    }
}

/* Those of another UPI are gone when software is not trusted any longer, or when the
 * controller has left their partition. */
static void drop_made_up(Ubc *ubc)
{
    UbSec *sec = ub_node_sec(ubc->node);
    uint32_t upi = 0;

    ubc->made_up = false;
    for (unsigned i = ubc->conf.entities; i < UB_SEC_ENTITIES; i++) {
        if (!ub_sec_entity(sec, i, &upi)) {
            continue;
        }
        if (upi && !is_own(ubc, upi)) {
            ub_sec_set_entity(sec, i, NULL, 0);
        } else {
            ubc->made_up = true;
        }
    }
}

/* An instance of another partition could not say what it did while Trust_EN is 0: it is
 * not there.  One of ours is (§10.4.3.3: of F, the UPI of the controller). */
static void follow_instance(Ubc *ubc, unsigned i, bool trusted)
{
    const UbBusInstance *b = ub_mgmt_bus_instance(ubc->mgmt, i);
    UbEid eid;

    ubc->instances |= b ? 1u << i : 0;
    if (!b || !(trusted || is_own(ubc, b->upi))) {
        ub_sec_set_entity(ub_node_sec(ubc->node), UB_SEC_INSTANCE(i), NULL, 0);
        return;
    }
    for (unsigned w = 0; w < 4; w++) {
        put_be32(eid.b + 4 * w, b->eid.w[3 - w]);
    }
    ub_sec_set_entity(ub_node_sec(ubc->node), UB_SEC_INSTANCE(i), &eid, b->upi);
}

void ubc_partition_instance(Ubc *ubc, unsigned i)
{
    follow_instance(ubc, i, is_trusted(ubc));
    drop_rivals(ubc);
    ub_urma_device_event(ubc->urma, UBQ_EVENT_INSTANCE, i, 0,
                         ub_mgmt_bus_instance(ubc->mgmt, i) ? 1 : 0);
}

void ubc_partition_follow(Ubc *ubc)
{
    uint32_t todo = ubc->instances;

    ubc->instances = 0;
    for (; todo; todo &= todo - 1) {
        follow_instance(ubc, __builtin_ctz(todo), is_trusted(ubc));
    }
    if (ubc->made_up && !is_trusted(ubc)) {
        drop_made_up(ubc);
    }
}

unsigned ubc_partition_query(Ubc *ubc, uint8_t *cmd)
{
    uint32_t i = get_le32(cmd + UBQ_CMD_OBJECT);
    const UbBusInstance *b = ub_mgmt_bus_instance(ubc->mgmt, i);

    if (!b) {
        return UBQ_RESULT_NO_OBJECT;
    }
    for (unsigned w = 0; w < 4; w++) {
        put_be32(cmd + UBQ_INS_GUID + 4 * w, b->guid.w[3 - w]);
        put_be32(cmd + UBQ_INS_EID + 4 * w, b->eid.w[3 - w]);
    }
    put_le32(cmd + UBQ_INS_UPI, b->upi);
    put_le16(cmd + UBQ_INS_ENTITY, UB_SEC_INSTANCE(i));
    put_le16(cmd + UBQ_INS_FLAGS, ubc_partition_is_there(ubc, i) ? UBQ_INS_ALIVE
                                                                 : 0);
    return UBQ_RESULT_OK;
}

bool ubc_partition_is_there(Ubc *ubc, unsigned i)
{
    return ub_sec_entity(ub_node_sec(ubc->node), UB_SEC_INSTANCE(i), NULL);
}

/* What the manager made, of what there may be. */
void ubc_partition_loaded(Ubc *ubc)
{
    ubc->instances = (1u << UB_SEC_INSTANCES) - 1;
    ubc->made_up = true;
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
