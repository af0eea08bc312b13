/*
 * Fuzzer of a node's management: messages and scans of hostile peers, a hostile
 * guest behind the message queues, hot-plug slots, images.
 *
 * The input is a little program of steps: a packet from the fabric, register
 * writes, bytes put into the guest's memory, time, a call that asks.  Headers of
 * some packets are made right, or hardly any would get past the first check.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "ub/mgmt.h"
#include "ub/msgq.h"
#include "ub/shp.h"

#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMORY 0x8000u
#define PORTS 3

typedef struct World {
    UbSpace *space;
    UbMgmt *m;
    UbMsgqs *q;
    UbShp *shp;
    unsigned power;     /* ports that have some */
    uint8_t memory[MEMORY];
    int64_t now;
    unsigned answers;
} World;

static unsigned take(Input *in, uint8_t *buf, unsigned max)
{
    unsigned want = next(in) * 5, n = MIN(want, max);

    for (unsigned i = 0; i < n; i++) {
        buf[i] = next(in);
    }
    return n;
}

/* ---- The outside ---- */

static bool message(void *opaque, int64_t now, const UbMgmtAddr *a,
                    const uint8_t *data, size_t len)
{
    demand(len >= UB_MGMT_ETAH && len <= UB_MGMT_MAX &&
           ub_mgmt_etah_get(data).len == len - UB_MGMT_ETAH);
    return a->dcna & 1;
}

static bool scan(void *opaque, int64_t now, unsigned port, const UbMgmtAddr *a,
                 const uint8_t *data, size_t len)
{
    UbScan s;

    demand(port < PORTS && !ub_scan_parse(&s, data, len));
    return port;
}

static bool deliver(void *opaque, int queue, UbMgmtKind kind,
                    const UbMgmtAddr *a, const uint8_t *data, size_t len)
{
    return ub_msgqs_deliver(((World *)opaque)->q, queue, kind, a, data, len);
}

static bool failed(void *opaque, unsigned queue, UbMgmtKind kind, uint16_t msn,
                   uint8_t code)
{
    return ub_msgqs_failed(((World *)opaque)->q, queue, kind, msn, code);
}

static bool port_up(void *opaque, unsigned port)
{
    return port < 2;
}

/* A place that is told is that of one that has come or gone. */
static void instance(void *opaque, unsigned i)
{
    if (i >= UB_MGMT_BUS_INSTANCES) {
        abort();
    }
}

static bool instance_busy(void *opaque, unsigned i)
{
    return i == 1;
}

static const UbMgmtOps mgmt_ops = {
    .message = message, .scan = scan, .deliver = deliver, .failed = failed,
    .port_up = port_up, .instance = instance, .instance_busy = instance_busy,
};

static bool dma_read(void *opaque, uint64_t addr, void *buf, uint32_t len)
{
    if (addr > MEMORY || len > MEMORY - addr) {
        return false;
    }
    memcpy(buf, ((World *)opaque)->memory + addr, len);
    return true;
}

static bool dma_write(void *opaque, uint64_t addr, const void *buf,
                      uint32_t len)
{
    if (addr > MEMORY || len > MEMORY - addr) {
        return false;
    }
    memcpy(((World *)opaque)->memory + addr, buf, len);
    return true;
}

static void interrupt(void *opaque, uint32_t vector)
{
}

static void kick(void *opaque)
{
}

static void guest_error(void *opaque, unsigned queue, const char *text)
{
}

static const UbMsgqOps msgq_ops = { dma_read, dma_write, interrupt, kick,
                                    guest_error };

static void answer(void *opaque, const uint8_t *data, size_t len,
                   unsigned status)
{
    unsigned sum = 0;

    /* Every byte is read, which a sanitizer watches. */
    for (size_t i = 0; i < len; i++) {
        sum += data[i];
    }
    ((World *)opaque)->answers += 1 + (sum & 1);
}

/* ---- Steps ---- */

static UbMgmtAddr addr_of(Input *in)
{
    unsigned flags = next(in);

    return (UbMgmtAddr) {
        .scna = 0x11, .dcna = next(in), .seid = 0x21, .deid = next(in) & 0x2f,
        .upi = flags & 1 ? UB_MGMT_UPI : flags & 2 ? 5 : next(in),
        .mgmt = flags & 1, .msn = flags & 4 ? 1 : next(in),
        .queue = flags & 8 ? UB_MGMT_OWN_QUEUE : next(in) & 15,
    };
}

static void step_message(World *w, Input *in)
{
    UbMgmtAddr a = addr_of(in);
    uint8_t data[UB_MGMT_MAX];
    unsigned n = take(in, data, sizeof(data));

    if (n >= UB_MGMT_ETAH && next(in) & 1) {
        ub_mgmt_put(data, UB_MF_ETAH_LEN, n - UB_MGMT_ETAH);
    }
    ub_mgmt_receive(w->m, w->now, &a, data, n);
}

static void step_scan(World *w, Input *in)
{
    UbMgmtAddr a = addr_of(in);
    uint8_t data[UB_SCAN_MAX];
    unsigned n = take(in, data, sizeof(data));
    UbScan s;

    a.upi = UB_MGMT_UPI;
    if (!ub_scan_parse(&s, data, n) && next(in) & 1) {
        ub_mgmt_put(data, UB_MF_SCAN_STEP, s.hops - 1);
        ub_mgmt_put(data + (s.pdu - data), UB_MF_PDU_VERSION, 1);
        ub_mgmt_put(data + (s.pdu - data), UB_MF_PDU_LENGTH, s.pdu_len / 4);
        ub_mgmt_put_id(data + (s.pdu - data), UB_MF_PDU_GUID, (UbId) { 0 });
    }
    ub_mgmt_receive_scan(w->m, w->now, &a, data, n);
}

/* A queue as a driver sets it up: all in the memory that there is. */
static void step_queue(World *w, Input *in)
{
    uint32_t at = next(in) % UB_MSGQ_NUM * UB_MSGQ_WINDOW;
    static const uint32_t ring[] = { UB_MSGQ_SQ_ADDR_L, UB_MSGQ_RQ_ADDR_L,
                                     UB_MSGQ_CQ_ADDR_L };

    ub_msgqs_write(w->q, at + UB_MSGQ_RST, 0);
    for (unsigned i = 0; i < 3; i++) {
        ub_msgqs_write(w->q, at + ring[i] + 0x10, 4 + next(in) % 5);
        ub_msgqs_write(w->q, at + ring[i], next(in) << 7);
    }
}

static void step_register(World *w, Input *in)
{
    uint32_t at = next32(in) & 0xffc, queue = next(in) % UB_MSGQ_NUM;

    ub_msgqs_write(w->q, queue * UB_MSGQ_WINDOW + (at & 0xfc),
                   at & 0x100 ? next32(in) : next(in) & 7);
    ub_msgqs_read(w->q, queue * UB_MSGQ_WINDOW + at);
}

static void step_memory(World *w, Input *in)
{
    uint8_t data[1280];
    unsigned n = take(in, data, sizeof(data));
    uint32_t at = next32(in) % (MEMORY - sizeof(data));

    memcpy(w->memory + at, data, n);
}

static void step_ask(World *w, Input *in)
{
    UbMgmtAddr a = addr_of(in);
    UbScanWay way = { .hops = next(in) % 4 };
    UbScanAsk ask = { .cmd = next(in) % 4, .opcode = next(in) };
    uint8_t pdu[64] = { 0 };

    a.local = next(in) & 1;
    ub_mgmt_request(w->m, w->now, &a, next(in) & 0x7f, pdu,
                    next(in) % sizeof(pdu), answer, w);
    for (unsigned i = 0; i < way.hops; i++) {
        way.forward[i] = way.back[i] = next(in) % 300;
    }
    ub_mgmt_scan(w->m, w->now, &way, &ask, answer, w);
}

static void step_event(World *w, Input *in)
{
    if (next(in) & 1) {
        ub_mgmt_error(w->m, w->now, next(in) % 3, (int)(next(in) % 4) - 1);
    } else {
        ub_mgmt_link(w->m, w->now, next(in) % PORTS, next(in) & 1);
    }
    ub_space_write(w->space, w->now,
                   UB_CFG_CAP(UB_CFG0_BASE, UB_CAP_EMQ) + next(in) % 0x1c,
                   next32(in), 0xf);
}

static void slot_power(void *opaque, int64_t now, unsigned port, bool on)
{
    World *w = opaque;

    /* Each change is one, of a port of a slot. */
    demand(port && port < PORTS && (w->power >> port & 1) != on);
    w->power ^= 1u << port;
}

static void slot_changed(void *opaque, unsigned slot)
{
    World *w = opaque;
    UbShpInfo info;

    demand(ub_shp_info(w->shp, slot, &info) &&
           info.work_led < UB_SHP_LED_RESERVED &&
           info.power_led < UB_SHP_LED_RESERVED);
}

static const UbShpOps shp_ops = { slot_power, kick, slot_changed };

/* Somebody in front of the machine; and registers, whose addresses a message seldom
 * hits. */
static void step_slot(World *w, Input *in)
{
    unsigned what = next(in), slot = what >> 6;

    switch (what & 3) {
    case 0:
        ub_shp_press(w->shp, w->now, slot);
        break;
    case 1:
        ub_shp_seat(w->shp, w->now, slot, what & 4, what & 8);
        break;
    case 2:
        ub_shp_wire(w->shp, w->now, slot % PORTS, what & 4);
        break;
    default:
        ub_space_write(w->space, w->now, UB_CFG_CAP(UB_CFG0_BASE, UB_CAP_SHP) +
                       next(in) % UB_SHP_USED(3), next(in), 0xf);
    }
    demand(ub_shp_run(w->shp, w->now) > w->now);
}

static void step_image(World *w, Input *in)
{
    CoreImage *im = core_image_save(w->now);
    uint8_t *image;
    size_t len;

    ub_mgmt_image(w->m, im);
    ub_msgqs_image(w->q, im);
    ub_shp_image(w->shp, im);
    image = core_image_take(im, &len);
    core_image_free(im);
    for (unsigned n = next(in) % 4; n; n--) {
        image[next32(in) % len] ^= next(in);
    }
    im = core_image_load(image, len, w->now);
    ub_mgmt_image(w->m, im);
    ub_msgqs_image(w->q, im);
    ub_shp_image(w->shp, im);
    core_image_done(im);
    core_image_free(im);
    g_free(image);
}

static void step_time(World *w, Input *in)
{
    w->now += (int64_t)next(in) << (next(in) % 28);
    while (ub_msgqs_run(w->q, w->now, 16)) {
    }
    ub_mgmt_run(w->m, w->now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const steps[])(World *, Input *) = {
        step_message, step_scan, step_queue, step_register, step_memory,
        step_ask, step_event, step_image, step_time, step_slot,
    };
    Input in = { data, data + size };
    World *w = g_new0(World, 1);
    UbMgmtConfig cfg;
    UbShpConfig slots;
    UbSlice *s;
    unsigned flags = next(&in);

    ub_mgmt_config_init(&cfg);
    cfg.ports = PORTS;
    cfg.manager = flags & 1;
    cfg.forward = flags & 2;
    cfg.port_cna = flags & 4;
    cfg.slice_ports = flags & 8 ? 2 : 16;
    cfg.outstanding = 8;
    cfg.emq_depth = 3;
    w->space = ub_space_new(PORTS);
    s = ub_space_attach(w->space, UB_SPACE_CFG0, 0, 0, NULL, NULL);
    ub_slice_init(s, UB_CFG0_TOTAL_NUMBER_OF_PORTS, ~0u, 1 << 16 | PORTS);
    ub_slice_init(s, UB_CFG0_UPI, ~0u, 5);
    ub_slice_init(s, UB_CFG0_EID, ~0u, 0x22);
    ub_slice_init(s, UB_CFG0_PRIMARY_CNA, ~0u, 0x12);
    ub_space_attach(w->space, UB_SPACE_CFG1, 0, 0, NULL, NULL);
    for (unsigned i = 0; i < PORTS; i++) {
        ub_space_attach(w->space, UB_SPACE_PORT, i, 0, NULL, NULL);
    }
    w->m = ub_mgmt_new(&cfg, w->space, &mgmt_ops, w);
    w->q = ub_msgqs_new(&msgq_ops, w);
    ub_msgqs_join(w->q, w->m);
    ub_shp_config_init(&slots);
    ub_shp_config_add(&slots, "1");
    ub_shp_config_add(&slots, "2+");
    w->power = (1u << PORTS) - 1;
    w->shp = ub_shp_new(&slots, w->space, w->m, &shp_ops, w);
    while (in.p < in.end) {
        steps[next(&in) % G_N_ELEMENTS(steps)](w, &in);
        demand(ub_mgmt_waiting(w->m) <= cfg.outstanding);
    }
    ub_shp_free(w->shp);
    ub_mgmt_free(w->m);
    ub_msgqs_free(w->q);
    ub_space_free(w->space);
    g_free(w);
    return 0;
}
