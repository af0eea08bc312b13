/*
 * The UB controller: migration.
 *
 * What the guest sees migrates: registers, configuration space, rings,
 * counters, what it has asked for and is not done yet, and packets that were
 * acknowledged to the peer but wait for a receive buffer.  Settings do not:
 * those of the destination must be the same.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <stddef.h>
#include <string.h>

#include "core/bytes.h"
#include "core/image.h"
#include "internal.h"
#include "ub/net_hw.h"

/* ---- Settings ------------------------------------------------------------------- */

/* @n integers of @size bytes from byte @at of the configuration on. */
typedef struct Setting {
    uint16_t at;
    uint8_t size;
    uint8_t n;
    const char *why;
} Setting;

_Static_assert(UBC_ENTITY_OTHER == 2 && UBC_ENTITY_MEM == 3,
               "images have these numbers");

#define OTHER "the source of the migration has another "
#define ONE(member, why)                                                    \
    { offsetof(UbcConfig, member), sizeof(((UbcConfig *)0)->member), 1,     \
      OTHER why }
#define MANY(member, first, why)                                            \
    { offsetof(UbcConfig, member),                                          \
      sizeof(((UbcConfig *)0)->member first),                               \
      sizeof(((UbcConfig *)0)->member) /                                    \
          sizeof(((UbcConfig *)0)->member first), OTHER why }

static const Setting settings[] = {
    ONE(ports, "number of ports"),
    ONE(dll_time_scale, "time scale of the data link layer"),
    ONE(err_severity, "severity of port errors"),
    MANY(eid, [0], "EID"),
    MANY(fm_eid, [0], "EID of the manager"),
    ONE(cna, "CNA"),
    ONE(fm_cna, "CNA of the manager"),
    ONE(port_cna, "CNA of ports"),
    ONE(upi, "UPI"),
    ONE(entities, "number of Entities"),
    MANY(entity, [0], "kind of Entity"),
    ONE(read_only, "right of the guest to CFG0"),
    ONE(bus_en, "value of BUS_EN"),
    ONE(manager, "rule for the manager"),
    ONE(forward, "rule for packets of others"),
    ONE(route_entries, "number of routes"),

    ONE(lds.window, "size of the window"),
    ONE(lds.mode, "service mode of the window"),
    ONE(lds.uba_literal, "rule for addresses of the window"),
    ONE(lds.tee, "rule for accesses of a TEE"),

    ONE(phy.lmsm.phy_mode, "PHY mode"),
    ONE(phy.lmsm.max_width, "number of lanes"),
    ONE(phy.lmsm.target_tx, "number of transmit lanes"),
    ONE(phy.lmsm.target_rx, "number of receive lanes"),
    ONE(phy.lmsm.asymmetric, "rule for widths that differ"),
    ONE(phy.lmsm.rates, "set of Data Rates"),
    ONE(phy.lmsm.target_rate, "highest Data Rate"),
    MANY(phy.lmsm.fec_mode, [0], "FEC mode"),
    ONE(phy.lmsm.fec_support, "set of FEC modes"),
    ONE(phy.lmsm.fec_min, "weakest FEC mode"),
    ONE(phy.lmsm.auto_fec, "rule for stronger FEC"),
    ONE(phy.lmsm.measure_ber, "rule for measured FEC"),
    MANY(phy.lmsm.crc_mode, [0], "encapsulation mode"),
    ONE(phy.lmsm.interleave, "FEC interleaving"),
    ONE(phy.lmsm.interleave_support, "set of FEC interleavings"),
    ONE(phy.lmsm.precode, "set of precoded Data Rates"),
    ONE(phy.lmsm.optical, "medium"),
    ONE(phy.lmsm.fixed_rate, "fixed Data Rate"),
    ONE(phy.lmsm.bypass_probe, "setting of Probe"),
    ONE(phy.lmsm.port_nego, "setting of port negotiation"),
    ONE(phy.lmsm.port_type, "port type"),
    ONE(phy.lmsm.auto_speed, "rule for the first rate change"),
    ONE(phy.lmsm.eq_mode, "equalisation mode"),
    ONE(phy.lmsm.skip_coarse, "setting of coarse equalisation"),
    MANY(phy.lmsm.local_preset, [0][0], "local preset"),
    MANY(phy.lmsm.remote_preset, [0][0], "remote preset"),
    ONE(phy.lmsm.qdlws, "setting of quick width switches"),
    ONE(phy.lmsm.fast_lane_down, "setting of fast lane-down"),
    ONE(phy.lmsm.time_scale, "time scale"),
    ONE(phy.lmsm.timeout_min, "shortest timeout"),
    ONE(phy.pcs.scrambler, "scrambler"),
    MANY(phy.pcs.period, [0], "AMCTL period"),
    ONE(phy.pcs.hi_fec_ber, "hi_FEC_BER mark"),

    MANY(dll.init_credit, [0], "number of initial credits"),
    ONE(dll.wish.vl_enable, "set of virtual lanes"),
    ONE(dll.wish.retry_buf_depth, "Retry Buffer depth"),
    ONE(dll.wish.rxbuf_vl_share, "setting of shared credits"),
    ONE(dll.wish.flow_ctrl_size, "flow control cell"),
    ONE(dll.wish.data_ack_grain, "ACK grain of data"),
    ONE(dll.wish.ctrl_ack_grain, "ACK grain of control"),
    MANY(dll.wish.ctrl_credit_grain, [0], "credit grain of control"),
    MANY(dll.wish.data_credit_grain, [0], "credit grain of data"),
    ONE(dll.tx_share, "use of shared credits"),
    MANY(dll.share_quota, [0], "quota of shared credits"),
    MANY(dll.vl_weight, [0], "weight of a virtual lane"),
    ONE(dll.vl_strict, "set of strict virtual lanes"),
    ONE(dll.credit_timeout, "credit timeout"),
    ONE(dll.mode_timeout, "timeout of the mode change"),
    ONE(dll.num_retry_threshold, "retry threshold"),
    ONE(dll.num_phy_reinit_threshold, "reinit threshold"),
    ONE(dll.crc_cover, "CRC coverage"),
    ONE(dll.down_recovers, "rule for fatal states"),
};

static uint64_t setting_get(const void *at, unsigned size)
{
    uint16_t h;
    uint32_t w;
    uint64_t d;

    switch (size) {
    case 1:
        return *(const uint8_t *)at;
    case 2:
        memcpy(&h, at, sizeof(h));
        return h;
    case 4:
        memcpy(&w, at, sizeof(w));
        return w;
    default:
        memcpy(&d, at, sizeof(d));
        return d;
    }
}

static void settings_image(const UbcConfig *conf, CoreImage *im)
{
    core_image_begin(im, CORE_TAG('C', 'O', 'N', 'F'), 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(settings); i++) {
        const Setting *s = &settings[i];

        for (unsigned k = 0; k < s->n; k++) {
            core_image_same(im, setting_get((const uint8_t *)conf + s->at +
                                            k * s->size, s->size), s->why);
        }
    }
    core_image_end(im);
}

/* ---- Ring pairs ------------------------------------------------------------------- */

static void ring_image(UbRing *r, CoreImage *im)
{
    core_image_int(im, &r->vector);
    core_image_int(im, &r->base);
    core_image_int(im, &r->size);
    core_image_flag(im, &r->enabled);
    core_image_flag(im, &r->error);
    core_image_flag(im, &r->armed);
    core_image_int(im, &r->head);
    core_image_int(im, &r->tail);
    core_image_int(im, &r->arm);
    if (core_image_loading(im)) {
        const char *broken = ub_ring_check(r);

        if (!core_image_check(im, !broken, broken)) {
            ub_ring_reset(r);
        }
        ub_ring_refetch(r);
    }
}

static void packet_image(CorePacket *pkt, CoreImage *im)
{
    UbPktMeta *m = ub_meta(pkt);

    core_image_int(im, &m->vl);
    core_image_int(im, &m->lph_cfg);
    core_image_int(im, &m->rt);
    core_image_int(im, &m->error);
    core_image_check(im, m->vl < UB_VLS && m->lph_cfg < 16 && m->rt < 4 &&
                     m->error <= 1 && ub_lph_cfg_is_dlldp(m->lph_cfg),
                     "a waiting packet has impossible link parameters");
    core_image_bytes(im, core_packet_data(pkt), pkt->len);
}

/* Packets that wait, oldest first; loading, each goes to @put. */
static void packets_image(CoreImage *im, CorePacketPool *pool,
                          CorePacket *first,
                          void (*put)(void *opaque, CorePacket *pkt),
                          void *opaque)
{
    CorePacket *pkt;
    uint32_t n = 0;

    for (pkt = first; pkt; pkt = pkt->next) {
        n++;
    }
    /* A packet is a cell at least, of those that the peer may have. */
    core_image_count(im, &n, UINT16_MAX, "too many packets wait");
    if (!core_image_loading(im)) {
        for (pkt = first; pkt; pkt = pkt->next) {
            core_image_int(im, &pkt->len);
            packet_image(pkt, im);
        }
        return;
    }
    while (n-- && !core_image_error(im)) {
        uint32_t len = 0;

        core_image_count(im, &len, UB_PAYLOAD_MAX_NON_CRC,
                         "a waiting packet is too long");
        pkt = len <= core_image_left(im) ? core_packet_alloc(pool, len)
                                         : NULL;
        if (!core_image_check(im, pkt, "a waiting packet has no room")) {
            core_packet_free(pkt);
            return;
        }
        packet_image(pkt, im);
        put(opaque, pkt);
    }
}

static void hold_packet(void *opaque, CorePacket *pkt)
{
    ubc_pair_hold(opaque, pkt);
}

static void came_packet(void *opaque, CorePacket *pkt)
{
    ubc_net_rx(opaque, pkt);
}

/* Of the pairs that software has not touched there is nothing to tell. */
static void pair_image(UbcPair *p, CoreImage *im)
{
    core_image_flag(im, &p->touched);
    if (!p->touched || core_image_error(im)) {
        return;
    }
    core_image_int(im, &p->port);
    core_image_int(im, &p->vls);
    core_image_int(im, &p->cfgs);
    core_image_int(im, &p->rt);
    if (!core_image_check(im, p->port < p->ubc->ports &&
                          !(p->vls >> UB_VLS) && !(p->cfgs >> UBC_CFGS) &&
                          p->rt <= (UBC_PAIR_RT_DESC | 3),
                          "a ring pair is bound to what does not exist")) {
        p->port = 0;
        return;
    }
    ring_image(&p->tx, im);
    ring_image(&p->rx, im);
    packets_image(im, p->ubc->pool, p->held, hold_packet, p);
    core_image_check(im, p->rx.enabled || !p->held,
                     "packets wait for a ring that is not enabled");
    if (core_image_loading(im)) {
        ubc_pair_settle(p);
    }
}

/* ---- Ports --------------------------------------------------------------------- */

static void vector_image(uint32_t *vector, CoreImage *im)
{
    core_image_int(im, vector);
    if (!core_image_check(im, *vector < UBC_VECTORS,
                          "a vector is beyond the MSI-X table")) {
        *vector = 0;
    }
}

static void end_image(UbcEnd *e, CoreImage *im)
{
    core_image_begin(im, CORE_TAG('E', 'N', 'D', ' '), 3);
    core_image_int(im, &e->event);
    core_image_int(im, &e->event_mask);
    core_image_check(im, !((e->event | e->event_mask) & ~UBC_PORT_EVENT_ALL),
                     "a port has events that do not exist");
    vector_image(&e->vector, im);
    core_image_int(im, &e->status);
    core_image_int(im, &e->counter_hi);
    for (unsigned i = 0; i < UBC_CNT_NUM; i++) {
        uint64_t count = ubc_end_counter(e, i);

        core_image_int(im, &count);
        if (core_image_loading(im)) {
            ubc_end_counter_set(e, i, count);
        }
    }
    for (unsigned i = 0; i < UBC_PORT_PARAM_MAX; i++) {
        core_image_int(im, &e->param[i]);
    }
    ub_port_image(e->port, im);
    core_image_end(im);
}

/* What waits for the engine: while the machine does not run, or its guest has bus
 * mastering off. */
static void came_image(Ubc *ubc, CoreImage *im)
{
    bool any = false;

    for (unsigned i = 0; i < ubc->ports; i++) {
        any |= ubc->end[i].came != NULL;
    }
    if (core_image_optional(im, CORE_TAG('C', 'A', 'M', 'E'), any)) {
        core_image_begin(im, CORE_TAG('C', 'A', 'M', 'E'), 1);
        for (unsigned i = 0; i < ubc->ports && !core_image_error(im); i++) {
            packets_image(im, ubc->pool, ubc->end[i].came, came_packet,
                          &ubc->end[i]);
        }
        core_image_end(im);
    }
}

/* ---- All ---------------------------------------------------------------------- */

#define UBC_CAP_WORDS 8     /* of the bitmap of CFG0_CAPs */


/* The words of the configuration space, the first @n of them.  Which slices there are is
 * the destination's: an older build did not have the last one. */
static void words_image(Ubc *ubc, CoreImage *im, unsigned n)
{
    uint32_t *words = ub_space_state(ubc->space);
    uint32_t caps[UBC_CAP_WORDS];

    for (unsigned i = 0; i < UBC_CAP_WORDS; i++) {
        caps[i] = ub_slice_get(ubc->cfg0, UB_CFG0_CAP_BITMAP + i);
    }
    core_image_same(im, n, OTHER "configuration space");
    for (unsigned i = 0; i < n && !core_image_error(im); i++) {
        core_image_int(im, &words[i]);
    }
    for (unsigned i = 0; i < UBC_CAP_WORDS; i++) {
        ub_slice_set(ubc->cfg0, UB_CFG0_CAP_BITMAP + i, ~0u, caps[i]);
    }
}

static void ubc_image(Ubc *ubc, CoreImage *im)
{
    unsigned n = ub_space_state_words(ubc->space);
    unsigned version;
    uint8_t guid[16];

    memcpy(guid, ubc->conf.guid, sizeof(guid));
    version = core_image_begin(im, CORE_TAG('U', 'B', 'C', ' '), 4);
    core_image_check(im, version >= 3,
                     "the source has version 1 of the interface");
    n -= version < 4 ? UB_NETR_USED : 0; /* CFG0_CAP242, which is the last */
    settings_image(&ubc->conf, im);
    core_image_bytes(im, guid, sizeof(guid));
    if (core_image_loading(im) && !core_image_error(im)) {
        ubc_set_guid(ubc, guid);
    }
    core_image_flag(im, &ubc->reset_pending);
    core_image_int(im, &ubc->event);
    core_image_int(im, &ubc->event_mask);
    core_image_check(im, !((ubc->event | ubc->event_mask) &
                           ~(UBC_EVENT_GUEST_ERROR | UBC_EVENT_DMA_ERROR)),
                     "the controller has events that do not exist");
    vector_image(&ubc->vector, im);
    core_image_int(im, &ubc->cfg_addr);
    core_image_int(im, &ubc->guest_errors);
    core_image_int(im, &ubc->dma_errors);
    words_image(ubc, im, n);
    core_image_check(im, ub_slice_get(ubc->cfg0, UB_CFG0_TOTAL_NUMBER_OF_PORTS)
                     == (ubc->conf.entities << 16 | ubc->ports),
                     "registers of other Entities or ports");
    core_image_check(im, !ubc_wrong_mtu(ubc, ub_slice_get(ubc->cfg0,
                                                          UB_CFG0_MTU_CFG)),
                     "an MTU that the controller does not have");
    for (unsigned i = 0; i < ubc->ports && !core_image_error(im); i++) {
        end_image(&ubc->end[i], im);
    }
    core_image_begin(im, CORE_TAG('P', 'A', 'I', 'R'), 1);
    for (unsigned i = 0; i < UBC_PAIRS && !core_image_error(im); i++) {
        pair_image(&ubc->pair[i], im);
    }
    core_image_end(im);
    ubc_manage_image(ubc, im);
    ubc_engine_image(ubc, im);
    if (core_image_optional(im, UB_UMMU_TAG, ub_ummu_touched(ubc->ummu))) {
        ub_ummu_image(ubc->ummu, im);
    }
    came_image(ubc, im);
    ubc_space_image(ubc, im);
    ubc_usi_image(ubc, im);
    ubc_ethernet_image(ubc, im);
    ubc_error_info_image(ubc, im);
    ubc_partition_image(ubc, im);
    core_image_end(im);
    if (core_image_loading(im) && !core_image_error(im)) {
        const char *why = ubc_cip_loaded(ubc);

        core_image_check(im, !why, why);
    }
}

uint8_t *ubc_save(Ubc *ubc, int64_t now, size_t *len)
{
    CoreImage *im = core_image_save(now);
    uint8_t *data;

    ubc->now = now;
    ubc_usi_rest(ubc);
    ubc_image(ubc, im);
    data = core_image_take(im, len);
    core_image_free(im);
    return data;
}

const char *ubc_load(Ubc *ubc, int64_t now, const uint8_t *data, size_t len)
{
    CoreImage *im = core_image_load(data, len, now);
    uint8_t guid[16];
    const char *why;

    memcpy(guid, ubc->conf.guid, sizeof(guid));
    ubc_reset(ubc, now);
    ubc_image(ubc, im);
    why = core_image_done(im);
    core_image_free(im);
    if (why) {
        ubc_set_guid(ubc, guid);
        ubc_reset(ubc, now);
        return why;
    }
    for (unsigned i = 0; i < ubc->ports; i++) {
        ubc_end_link_event(&ubc->end[i]);
    }
    ubc_kick(ubc);
    return NULL;
}
