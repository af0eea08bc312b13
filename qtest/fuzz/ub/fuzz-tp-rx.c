/*
 * Fuzzer of the transport layer's receive paths, packets and images.
 *
 * The input is a little program: a byte of options, then steps.  A step hands
 * raw bytes to the receiver (with a header made nearly right, or none would get
 * past it), lets the user send, answers what is withheld, lets time pass, or
 * saves everything, changes a few bytes and loads it again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "core/image.h"
#include "ub/tp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CHANS = 5, FIRST = 0xfffff0 };

typedef struct Input {
    const uint8_t *p, *end;
} Input;

static Input in;
static CorePacketPool *pool;

static unsigned next(void)
{
    return in.p < in.end ? *in.p++ : 0;
}

static UbSend lower_send(void *opaque, int64_t now, const UbFlow *flow,
                         CorePacket *pkt)
{
    unsigned what = next();

    if (what % 16 == 1) {
        return UB_BUSY;
    }
    core_packet_push(pkt, UB_NTH24_SIZE);
    core_packet_put(pkt, UB_ICRC_SIZE);
    core_packet_free(pkt);
    return what % 16 == 2 ? UB_LOST : UB_SENT;
}

static UbTpAnswer upper_rx(void *opaque, const UbTpRx *rx, CorePacket *pkt)
{
    UbTpAnswer a = { next() % UB_TP_STATUSES, next() };

    core_packet_free(pkt);
    return a;
}

static void upper_acked(void *opaque, uint32_t tpn, uint64_t cookie,
                        UbTpAnswer answer)
{
}

static void upper_error(void *opaque, uint32_t tpn, UbTpError error)
{
}

static void upper_room(void *opaque, uint32_t tpn)
{
}

static bool upper_accept(void *opaque, const UbFlow *from, UbTpAttr *attr)
{
    return next() & 1;
}

static const UbTpUpper upper = {
    .rx = upper_rx, .acked = upper_acked, .error = upper_error,
    .room = upper_room, .accept = upper_accept,
};
static const UbTpLower lower = { .send = lower_send };

static CorePacket *bytes(unsigned len)
{
    CorePacket *pkt = core_packet_alloc(pool, len);

    for (unsigned i = 0; i < len; i++) {
        core_packet_data(pkt)[i] = next();
    }
    return pkt;
}

static void receive(UbTp *tp, int64_t now)
{
    static const UbLphCfg cfgs[] = { UB_LPH_CNA24, UB_LPH_CNA24, UB_LPH_IPV4,
                                     UB_LPH_CNA16, UB_LPH_IPV6,
                                     UB_LPH_BYPASS };
    unsigned how = next();
    CorePacket *pkt = bytes(next());
    UbTpInfo info = { 0 };
    UbFlow f;

    ub_flow_init(&f, cfgs[how % 6]);
    f.scna = next() % 4;
    f.dcna = 1;
    f.sl = next() & 15;
    f.nlp = how & 64 ? UB_NLP_CTPH : UB_NLP_RTPH;
    f.cci = (uint16_t)next() << 8 | (how & 3);
    if (how & 128 && pkt->len >= UB_RTPH_LEN) {
        UbRtph h;

        ub_rtph_get(core_packet_data(pkt), &h);
        h.src = h.dst = h.dst % CHANS + 1;
        h.ver = 0;
        ub_tp_query(tp, h.dst, NULL, &info);
        h.psn = (h.opcode == UB_TPOP_DATA ? info.epsn : info.una) +
                (int8_t)h.psn;
        h.psn &= UB_PSN_MASK;
        if (h.fake) {
            h.msn = info.rx_msn;
            h.fake = h.ack_req;
        }
        ub_rtph_put(core_packet_data(pkt), &h);
    }
    ub_tp_rx(tp, &f, pkt, now);
}

static void transmit(UbTp *tp, int64_t now)
{
    unsigned how = next();
    UbTpDest dest = { .mode = how & 64 ? next() % UB_TP_MODES : UB_TP_RTP,
                      .tpn = how % (CHANS + 2) };
    UbTpTx tx = { .nlp = 1, .last = how & 8, .result = how & 16,
                  .cookie = how >> 6 };
    CorePacket *pkt = core_packet_alloc(pool, next());

    memset(core_packet_data(pkt), how, pkt->len);
    ub_flow_init(&dest.flow, 3 + next() % 7);
    if (ub_tp_send(tp, &dest, pkt, &tx, now) == UB_BUSY) {
        core_packet_free(pkt);
    }
}

static void migrate(UbTp *tp, int64_t now)
{
    CoreImage *im = core_image_save(now);
    unsigned changes = next() % 4;
    uint8_t *data;
    size_t len;

    ub_tp_image(tp, im);
    data = core_image_take(im, &len);
    core_image_free(im);
    while (changes--) {
        data[(next() | next() << 8) % len] = next();
    }
    im = core_image_load(data, len, now);
    ub_tp_image(tp, im);
    core_image_free(im);
    g_free(data);
}

static void channels(UbTp *tp, unsigned options)
{
    for (unsigned c = 0; c < CHANS; c++) {
        uint32_t tpn = c + 1;
        UbTpAttr a;

        ub_tp_attr_init(tp, &a);
        a.dst_tpn = tpn;
        a.tx_psn = a.rx_psn = FIRST;
        a.selective = c >= 2;
        a.fast = c % 2 == 0;
        a.ooo = c >= 1;
        a.mark = c == 4;
        a.ooo_window = 128;
        a.tx_window = 20;
        a.rto_base_us = 50;
        a.cc = options & 1 ? c % UB_CC_USER : 0;
        a.spray = a.ooo && options & 2;
        a.sack_every = options & 4 ? 3 : 1;
        a.ack_every = options & 8 ? 1 : 16;
        ub_tp_create(tp, &tpn, &a);
        ub_tp_activate(tp, tpn);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t now = 1000000;
    unsigned options;
    UbTpConfig cfg;
    UbTp *tp;

    in = (Input) { data, data + size };
    options = next();
    ub_tp_config_init(&cfg);
    cfg.upper = &upper;
    cfg.lower = &lower;
    cfg.cc_on = options & 1;
    cfg.results = 16;
    cfg.hold_bytes = 20000;
    cfg.max_channels = 12;
    cfg.max_groups = 4;
    cfg.ctp_flows = 4;
    cfg.ack_delay_us = options & 16 ? 20 : 0;
    cfg.sack_hides = options & 32;
    cfg.sack_lsb_first = options & 64;
    pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
    tp = ub_tp_new(&cfg);
    channels(tp, options);
    while (in.p < in.end) {
        unsigned step = next();

        switch (step % 8) {
        case 0:
        case 1:
        case 2:
            receive(tp, now);
            break;
        case 3:
            transmit(tp, now);
            break;
        case 4:
            ub_tp_answer(tp, step / 8 % (CHANS + 1), next(),
                         (UbTpAnswer) { next() % UB_TP_STATUSES, next() },
                         now);
            break;
        case 5:
            now += 1 + (int64_t)next() * (step & 64 ? 100000 : 1000);
            ub_tp_run(tp, now, 1 + step / 8);
            break;
        case 6:
            if (step & 64) {
                migrate(tp, now);
            } else if (step & 32) {
                ub_tp_destroy(tp, next() % 16, now);
            } else if (step & 16) {
                ub_tp_cc_enable(tp, step & 8);
            } else {
                ub_tp_deactivate(tp, next() % 16);
            }
            break;
        default:
            if (step & 64) {
                uint32_t tpn = next() % 16;

                ub_tp_connect(tp, tpn, now);
            } else {
                ub_tp_space(tp, now);
            }
        }
    }
    ub_tp_free(tp);
    g_assert(!core_packet_pool_used(pool));
    core_packet_pool_free(pool);
    return 0;
}
