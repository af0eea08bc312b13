/*
 * Fuzzer of CIP: what comes to an Entity, and images.
 *
 * The input is a little program.  A step seals a packet, changes some bytes of it or
 * takes bytes off, and hands it to the receiver, maybe twice; hands raw bytes to it;
 * changes keys, modes and policies; or saves the receiver, changes the image and
 * loads it.  What is opened by a key is what was sealed by it, and comes once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "core/bytes.h"
#include "ub/cip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { POLICY = 2, UPI = 0x1234, LEN = 24, KEEP = 16 };

typedef struct Input {
    const uint8_t *p, *end;
} Input;

static Input in;
static CorePacketPool *pool;
static uint32_t stamp;
static CorePacket *kept[KEEP];

static unsigned next(void)
{
    return in.p < in.end ? *in.p++ : 0;
}

static UbEid eid_of(unsigned who)
{
    UbEid e = { .b = { 0xfd, [15] = who } };

    return e;
}

static void set_up(UbSec *sec, unsigned me, unsigned you, unsigned suite)
{
    UbCip *cip = ub_sec_cip(sec);
    UbCipPolicy p = { .peer = eid_of(you), .peer_policy = POLICY,
                      .suite = suite, .hide = true, .clear = 1 };
    UbEid eid = eid_of(me);

    ub_sec_set_entity(sec, 0, &eid, UPI);
    ub_cip_set_mode(cip, 0, UB_CIP_ON);
    ub_cip_set_policy(cip, 0, POLICY, &p);
}

static void set_key(UbSec *sec, UbCipWay way, unsigned slot, uint8_t serial)
{
    uint8_t key[UB_CIP_KEY_MAX] = { serial }, iv[UB_CIP_IV_LEN] = { 1 };

    ub_cip_set_key(ub_sec_cip(sec), 0, POLICY, way, slot, key, iv);
}

/* A packet whose content says when it was made. */
static CorePacket *seal(UbSec *tx, int *nlp)
{
    UbSecHead h = { .form = next() % 3, .upi = UPI, .seid = eid_of(1),
                    .deid = eid_of(2) };
    CorePacket *pkt = core_packet_alloc(pool, LEN);

    memset(core_packet_data(pkt), 0x5a, LEN);
    put_le32(core_packet_data(pkt) + 4, ++stamp);
    *nlp = ub_sec_push(tx, &h, pkt);
    return pkt;
}

/* It is taken. */
static void hear(UbSec *rx, unsigned nlp, bool ctp, CorePacket *pkt)
{
    UbSecHead h;
    unsigned entity;
    uint32_t off = pkt->off, len = pkt->len;
    UbSecFault fault = ub_sec_pull(rx, nlp, ctp, false, pkt, &h, &entity);

    if (pkt->off < off || pkt->off + pkt->len > off + len) {
        abort();
    }
    if (!fault && h.cip) {
        const uint8_t *p = core_packet_data(pkt);

        /* Nobody but seal() knows a key. */
        if (pkt->len != LEN || get_le32(p + 4) > stamp || p[LEN - 1] != 0x5a) {
            abort();
        }
    }
    core_packet_free(pkt);
}

static CorePacket *copy(CorePacket *pkt)
{
    CorePacket *c = core_packet_alloc(pool, pkt->len);

    memcpy(core_packet_data(c), core_packet_data(pkt), pkt->len);
    return c;
}

/* The same bytes are never opened twice. */
static void hear_twice(UbSec *rx, CorePacket *pkt)
{
    UbCip *cip = ub_sec_cip(rx);
    uint64_t before = ub_cip_counter(cip, UB_CIPC_OPENED);

    hear(rx, UB_SEC_CIPH, true, copy(pkt));
    hear(rx, UB_SEC_CIPH, true, pkt);
    if (ub_cip_counter(cip, UB_CIPC_OPENED) > before + 1) {
        abort();
    }
}

static void spoil(CorePacket *pkt)
{
    for (unsigned n = next() % 4; n && pkt->len; n--) {
        core_packet_data(pkt)[next() % pkt->len] ^= next();
    }
    core_packet_trim(pkt, next() % 8 == 1 ? next() % (pkt->len + 1) : 0);
}

static void speak(UbSec *tx, UbSec *rx)
{
    int nlp;
    CorePacket *pkt = seal(tx, &nlp);
    unsigned place = next() % KEEP;

    if (nlp != UB_SEC_CIPH) {
        core_packet_free(pkt);
        return;
    }
    core_packet_free(kept[place]);
    kept[place] = copy(pkt);
    spoil(pkt);
    hear_twice(rx, pkt);
}

static void raw(UbSec *rx)
{
    CorePacket *pkt = core_packet_alloc(pool, next() % 128);
    unsigned nlp = next() % 8;
    bool ctp = next() & 1;

    for (uint32_t i = 0; i < pkt->len; i++) {
        core_packet_data(pkt)[i] = next();
    }
    hear(rx, nlp, ctp, pkt);
}

static UbSec *migrate(UbSec *rx, bool *trusted)
{
    UbCipConfig cfg = *ub_cip_config(ub_sec_cip(rx));
    CoreImage *im = core_image_save(0);
    unsigned changes = next() % 4;
    UbSec *other = ub_sec_new(true);
    uint8_t *data;
    size_t len;

    ub_sec_image(rx, im);
    data = core_image_take(im, &len);
    core_image_free(im);
    *trusted &= !changes;
    while (changes--) {
        data[(next() | next() << 8) % len] = next();
    }
    ub_cip_configure(ub_sec_cip(other), &cfg);
    im = core_image_load(data, len, 0);
    ub_sec_image(other, im);
    core_image_free(im);
    g_free(data);
    ub_sec_free(rx);
    return other;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    UbCipConfig cfg;
    UbSec *tx = ub_sec_new(true), *rx = ub_sec_new(true);
    bool trusted = true;
    unsigned options;

    in = (Input) { data, data + size };
    options = next();
    pool = core_packet_pool_new(64, 0);
    stamp = 0;
    ub_cip_config_init(&cfg);
    cfg.window = 64 << options % 4;
    cfg.migrate = options & 8;
    cfg.icv_last = options & 16;
    ub_cip_configure(ub_sec_cip(tx), &cfg);
    ub_cip_configure(ub_sec_cip(rx), &cfg);
    set_up(tx, 1, 2, 1 + (options >> 5 & 1));
    set_up(rx, 2, 1, 1 + (options >> 5 & 1));
    set_key(rx, UB_CIP_RX, 0, 1);
    set_key(tx, UB_CIP_RX, 0, 200);
    set_key(tx, UB_CIP_RX, 1, 201);
    set_key(tx, UB_CIP_TX, 0, 1);
    ub_cip_use(ub_sec_cip(tx), 0, POLICY, 0);
    while (in.p < in.end) {
        unsigned slot, place;

        switch (next() % 8) {
        case 0:
        case 1:
            if (trusted) {
                speak(tx, rx);
            }
            break;
        case 2:
            place = next() % KEEP;
            if (trusted && kept[place]) {
                hear_twice(rx, copy(kept[place]));
            }
            break;
        case 3:
            raw(rx);
            break;
        case 4:
            slot = next() % UB_CIP_SLOTS;
            place = next();
            set_key(rx, UB_CIP_RX, slot, place);
            set_key(tx, UB_CIP_TX, slot, place);
            ub_cip_use(ub_sec_cip(tx), 0, POLICY, slot);
            break;
        case 5:
            ub_cip_set_mode(ub_sec_cip(rx), 0, next());
            break;
        case 6:
            ub_cip_erase_key(ub_sec_cip(rx), 0, POLICY, UB_CIP_RX,
                             next() % UB_CIP_SLOTS);
            break;
        default:
            rx = migrate(rx, &trusted);
        }
    }
    for (unsigned i = 0; i < KEEP; i++) {
        core_packet_free(kept[i]);
        kept[i] = NULL;
    }
    ub_sec_free(tx);
    ub_sec_free(rx);
    core_packet_pool_free(pool);
    return 0;
}
