/*
 * Fuzzer of an RC Link port's core: registers, rings, memory descriptors, frames,
 * faults and damaged images in any order, at one of two ports on a wire.
 *
 * The input is a list of steps, one byte of kind and its operands; operands that
 * are missing are 0.  Guest memory is small and repeats itself, so that any
 * address means something.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/bytes.h"
#include "rclink/rclink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    MEM = 0x10000,
    RINGS_AT = 0x0000,          /* 0x400 each: 64 entries */
    MDS_AT = 0x1000,            /* TX, RX: 0x400 each */
    LOG = 6, MDS = 64,
    WIRE_MAX = 512,             /* frames under way */
};

typedef struct Port {
    Rclink *d;
    uint8_t mem[MEM];
    GQueue wire;                /* GBytes to the other */
    uint64_t errors;
} Port;

typedef struct Input {
    const uint8_t *p;
    size_t left;
} Input;

typedef struct Fuzz {
    Port port[2];
    RclinkConfig cfg;
    int64_t now;
} Fuzz;

static uint64_t take(Input *in, unsigned bytes)
{
    uint64_t v = 0;

    while (bytes--) {
        v = v << 8 | (in->left ? *in->p : 0);
        in->p += in->left > 0;
        in->left -= in->left > 0;
    }
    return v;
}

/* ---- outside of the ports ---- */

static bool op_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        ((uint8_t *)buf)[i] = ((Port *)opaque)->mem[(addr + i) % MEM];
    }
    return addr >> 63 == 0;
}

static bool op_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        ((Port *)opaque)->mem[(addr + i) % MEM] = ((const uint8_t *)buf)[i];
    }
    return addr >> 63 == 0;
}

/* Half of the memory. */
static bool op_reach(void *opaque, uint64_t addr, size_t len, bool write,
                     void (*fn)(void *ctx, void *data), void *ctx)
{
    if (addr >> 63 || addr % MEM > MEM / 2 || len > MEM / 2) {
        return false;
    }
    fn(ctx, ((Port *)opaque)->mem + addr % MEM);
    return true;
}

static void op_wire_tx(void *opaque, const uint8_t *data, size_t len)
{
    Port *p = opaque;

    while (len) {
        uint32_t n = get_be32(data);

        g_assert_cmpuint(n, >=, RCL_WIRE_PREFIX);
        g_assert_cmpuint(RCL_WIRE_PREFIX + n, <=, len);
        if (p->wire.length < WIRE_MAX) {
            g_queue_push_tail(&p->wire,
                              g_bytes_new(data + RCL_WIRE_PREFIX, n));
        }
        data += RCL_WIRE_PREFIX + n;
        len -= RCL_WIRE_PREFIX + n;
    }
}

static void op_msix(void *opaque, unsigned vector)
{
    g_assert_cmpuint(vector, <, RCL_VECTORS);
}

static void op_kick(void *opaque)
{
}

static void op_guest_error(void *opaque, const char *rule, const char *text,
                           uint64_t value)
{
    ((Port *)opaque)->errors += strlen(rule) + strlen(text);
}

static const RclinkOps ops = {
    .read = op_read, .write = op_write, .reach = op_reach,
    .wire_tx = op_wire_tx,
    .msix = op_msix, .kick = op_kick, .guest_error = op_guest_error,
};

/* ---- a port that works ---- */

static void set(Fuzz *f, Port *p, uint64_t reg, uint64_t v)
{
    rclink_write(p->d, reg, v, reg < 0x4000 ? 8 : 4, f->now);
}

static void connect_qp(Fuzz *f, Port *p, unsigned qp)
{
    unsigned it = p == &f->port[0];

    set(f, p, RCL_QP_ID_SET, qp);
    set(f, p, RCL_TX_LAST_PSN, 0xfff);
    set(f, p, RCL_MAX_FORWARD_PSN, 0xfff);
    set(f, p, RCL_TX_SPEED_MEM, 0x320000);
    set(f, p, RCL_DEST_IP_MEM, (uint64_t)qp << 32);
    set(f, p, RCL_DEST_MAC_MEM, 0x02000000000aull + it);
    set(f, p, RCL_QP_CONTROL_STATUS, RCL_QP_EN);
}

static void port_up(Fuzz *f, Port *p, uint64_t format)
{
    for (unsigned n = 0; n < RCL_RINGS; n++) {
        set(f, p, RCL_RING(n) + RCL_RING_BASE_LO, RINGS_AT + n * 0x400);
        set(f, p, RCL_RING(n) + RCL_RING_SIZE, LOG);
        set(f, p, RCL_RING(n) + RCL_RING_CTRL, RCL_RING_EN);
    }
    for (unsigned i = 0; i < 1 << LOG; i++) {
        for (unsigned n = 0; n < 3; n++) {
            uint8_t *e = p->mem + RINGS_AT + n * 0x400 + i * RCL_RING_ENTRY;

            put_le64(e, 0x4000 + i * 0x100);
            put_le16(e + RCL_E_LEN, n ? 0x800 : 64 + i * 20);
            put_le16(e + RCL_E_QP, i % 8);
        }
    }
    for (unsigned i = 0; i < 2 * MDS; i++) {
        uint8_t *md = p->mem + MDS_AT + i * RCL_MD_BYTES;

        put_le64(md, UINT64_C(0x400) << RCL_MD_BUFFER_SHIFT | RCL_MD_SF |
                     RCL_MD_LF | 100 << RCL_MD_SIZE_SHIFT);
        put_le64(md + 8, 0x8000 + i * 0x40);
    }
    set(f, p, RCL_RING(RCL_RING_RX1) + RCL_RING_HEAD, 1 << LOG);
    set(f, p, RCL_RING(RCL_RING_RX2) + RCL_RING_HEAD, 1 << LOG);
    set(f, p, RCL_TX_MDQ_BA, MDS_AT);
    set(f, p, RCL_RX_MDQ_BA, MDS_AT + 0x400);
    set(f, p, RCL_TX_MDQ_SIZE, MDS);
    set(f, p, RCL_RX_MDQ_SIZE, MDS);
    set(f, p, RCL_NONR_DMA_CTRL, RCL_NONR_TX_EN | RCL_NONR_RX_EN);
    set(f, p, RCL_RX_MD_HEAD_PTR, MDS - 1);
    set(f, p, RCL_MAC_ADDR, 0x88b502000000000aull + (p == &f->port[1]));
    set(f, p, RCL_DEST_MAC_MEM2, UINT64_C(0x88b6) << 48);
    set(f, p, RCL_UDP_PORT_MEM2, 4792 << 16);
    set(f, p, RCL_TRAFFIC_CLASS, 0x1a120e0a0602ull);
    set(f, p, RCL_RETRY_TIMER_CFG, 15 << 13 | 10);
    set(f, p, RCL_AFH_CFG_EN, 0x0ff0000000000020ull | format);
    set(f, p, RCL_RDMA_EN, 1);
    for (unsigned q = 0; q < 8; q++) {
        connect_qp(f, p, q);
    }
}

/* ---- steps ---- */

static void run(Fuzz *f, unsigned packets)
{
    for (unsigned i = 0; i < 2; i++) {
        rclink_run(f->port[i].d, f->now, packets);
    }
}

/* What is on the wire arrives; each @lose-th frame does not. */
static void exchange(Fuzz *f, unsigned lose)
{
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned n = f->port[i].wire.length; n; n--) {
            GBytes *b = g_queue_pop_head(&f->port[i].wire);
            size_t len;
            const void *frame = g_bytes_get_data(b, &len);

            if (!lose || n % lose) {
                rclink_rx(f->port[!i].d, frame, len, f->now);
            }
            g_bytes_unref(b);
        }
    }
    run(f, 64);
}

static void frame_raw(Fuzz *f, Port *p, Input *in)
{
    size_t len = take(in, 2) % (RCL_WIRE_MAX + 16), n = MIN(len, in->left);
    g_autofree uint8_t *frame = g_malloc0(len + 1);

    memcpy(frame, in->p, n);
    in->p += n;
    in->left -= n;
    rclink_rx(p->d, frame, len, f->now);
}

/* A frame that is right but for what the input says. */
static void frame_made(Fuzz *f, Port *p, Input *in)
{
    static const uint8_t payload[RCL_PAYLOAD_MAX];
    RclLayout l = {
        .format = take(in, 1) % RCL_FORMATS, .rh_order = f->cfg.rh_order,
        .icrc = true, .mac = 0x02000000000bull, .mac_type1 = 0x88b5,
        .mac_type2 = 0x88b6, .ttl = 64, .type2_dport = 4792,
        .tc1 = { 2, 6, 10, 14 }, .tc2 = 0x1a, .vcs = f->cfg.vcs,
    };
    uint64_t bits = take(in, 8);
    RclHead h = {
        .kind = bits & 1, .da = 0x02000000000aull + (p == &f->port[1]),
        .tc = l.tc1[bits >> 1 & 3], .tos = take(in, 1), .dport = bits & 1 ?
        4792 : RCL_UDP_PORT,
        .rh = {
            .opcode = bits >> 4 & 3, .fack = bits >> 6 & 1,
            .ts_en = bits >> 7 & 1, .ts = bits >> 8, .len = bits >> 24 & 0x7f,
            .psn = bits >> 32 & 0xfff, .qp = bits >> 48 & 0x1fff,
        },
    };
    size_t len = h.rh.opcode == RCL_OP_SEND ? 64 + take(in, 2) % 1400 : 0;
    g_autofree uint8_t *frame = g_malloc(RCL_FRAME_MAX);

    len = rcl_frame_put(&l, &h, payload, len, frame);
    for (unsigned n = take(in, 1) % 4; n; n--) {
        size_t at = take(in, 2) % len;

        frame[at] ^= take(in, 1);
    }
    rclink_rx(p->d, frame, len, f->now);
}

static void entry(Fuzz *f, Port *p, Input *in)
{
    uint64_t how = take(in, 2);
    unsigned n = how & 3;
    uint8_t *e = p->mem + RINGS_AT + n * 0x400 +
                 (how >> 2) % (1 << LOG) * RCL_RING_ENTRY;

    if (n == RCL_RING_EVENT) {
        set(f, p, RCL_RING(n) + RCL_RING_TAIL, take(in, 2));
        return;
    }
    put_le64(e + 8, take(in, 8));
    if (how & 0x8000) {
        put_le64(e, take(in, 8));
    }
    set(f, p, RCL_RING(n) + RCL_RING_HEAD,
        (uint16_t)(rclink_read(p->d, RCL_RING(n) + RCL_RING_TAIL, 4, f->now) +
                   take(in, 1)));
}

static void descriptor(Fuzz *f, Port *p, Input *in)
{
    uint64_t how = take(in, 2);
    uint8_t *md = p->mem + MDS_AT + (how & 1) * 0x400 +
                  (how >> 1) % MDS * RCL_MD_BYTES;

    put_le64(md, take(in, 8));
    put_le32(md + 8, take(in, 4));
    set(f, p, how & 1 ? RCL_RX_MD_HEAD_PTR : RCL_TX_MD_HEAD_PTR, take(in, 1));
}

/* What was saved is loaded, perhaps damaged. */
static void reload(Fuzz *f, Port *p, Input *in)
{
    size_t len;
    g_autofree uint8_t *data = rclink_save(p->d, f->now, &len);

    for (unsigned n = take(in, 1) & 7; n; n--) {
        uint32_t at = take(in, 3) % len;

        data[at] = take(in, 1);
    }
    if (take(in, 1) == 1) {
        len = take(in, 3) % len;
    }
    rclink_load(p->d, f->now, data, len);
}

static void outside(Fuzz *f, Port *p, Input *in)
{
    uint8_t how = take(in, 1);

    switch (how % 8) {
    case 0:
        rclink_link(p->d, how & 8);
        break;
    case 1:
        rclink_wire_stop(p->d, how & 8);
        break;
    case 2:
        rclink_mac_reset(p->d);
        break;
    case 3:
        rclink_reset(p->d);
        break;
    case 4:
        rclink_faults(p->d)->lose_credits = how & 8;
        rclink_faults(p->d)->dma = how & 16;
        rclink_faults(p->d)->pause_storm = take(in, 1);
        rclink_faults_changed(p->d);
        break;
    case 5:
        rclink_fault_set(p->d, how & 8, &(CoreFaultPlan) {
            .ppm[CORE_FAULT_DROP] = how & 16 ? 200000 : 0,
            .ppm[CORE_FAULT_DUPLICATE] = how & 32 ? 200000 : 0,
            .ppm[CORE_FAULT_REORDER] = how & 64 ? 200000 : 0,
            .ppm[CORE_FAULT_CORRUPT] = how & 128 ? 200000 : 0,
            .seed = how,
        });
        break;
    default:
        port_up(f, p, UINT64_C(1) << (how >> 3 & 3));
        break;
    }
}

static void step(Fuzz *f, Input *in)
{
    uint8_t kind = take(in, 1);
    Port *p = &f->port[kind >> 7];
    uint64_t reg;

    switch (kind % 16) {
    case 0:
    case 1:
        reg = take(in, 2) % 0x3300;
        rclink_write(p->d, reg & ~7ull, take(in, 8), 8, f->now);
        break;
    case 2:
        reg = take(in, 2) % 0x4100;
        rclink_write(p->d, reg & ~3ull, take(in, 4), 4, f->now);
        break;
    case 3:
        (void)rclink_read(p->d, take(in, 2) % 0x8000 & ~3u, 4, f->now);
        break;
    case 4:
    case 5:
        entry(f, p, in);
        break;
    case 6:
        descriptor(f, p, in);
        break;
    case 7:
        p->mem[take(in, 2)] = take(in, 1);
        break;
    case 8:
        frame_raw(f, p, in);
        break;
    case 9:
    case 10:
        frame_made(f, p, in);
        break;
    case 11:
        exchange(f, take(in, 1));
        break;
    case 12:
        f->now += take(in, 3);
        run(f, 64);
        break;
    case 13:
        run(f, take(in, 1));
        break;
    case 14:
        reload(f, p, in);
        break;
    case 15:
        outside(f, p, in);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree Fuzz *f = g_new0(Fuzz, 1);
    Input in = { data, size };
    uint8_t how = take(&in, 1);

    f->now = 1000000;
    rclink_config_init(&f->cfg);
    f->cfg.qps = 16;
    f->cfg.vcs = 1u << how % 3;
    f->cfg.ost1 = how & 4 ? 8 : 64;
    f->cfg.ost2 = 4;
    f->cfg.rx2_bytes = 4096;
    f->cfg.rh_order = (how >> 3) % 3;
    f->cfg.slap = how & 64;
    f->cfg.cfg_packed = how & 128;
    f->cfg.ops = &ops;
    for (unsigned i = 0; i < 2; i++) {
        f->cfg.opaque = &f->port[i];
        g_queue_init(&f->port[i].wire);
        f->port[i].d = rclink_new(&f->cfg);
        rclink_link(f->port[i].d, true);
    }
    for (unsigned i = 0; i < 2; i++) {
        port_up(f, &f->port[i], UINT64_C(1) << (how >> 6));
    }
    while (in.left) {
        step(f, &in);
    }
    exchange(f, 0);
    for (unsigned i = 0; i < 2; i++) {
        rclink_free(f->port[i].d);
        g_queue_clear_full(&f->port[i].wire, (GDestroyNotify)g_bytes_unref);
    }
    return 0;
}
