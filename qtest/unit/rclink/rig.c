/*
 * RC Link ports on a wire in virtual time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <inttypes.h>

#include "rig.h"

static bool access_fails(const RigEnd *e, uint64_t addr, size_t len)
{
    return e->dma_fails || addr > RIG_MEM || len > RIG_MEM - addr ||
           (e->fail_at && addr == e->fail_at &&
            (!e->fail_len || e->fail_len == len));
}

static bool op_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
    RigEnd *e = opaque;

    if (access_fails(e, addr, len)) {
        return false;
    }
    memcpy(buf, e->mem + addr, len);
    return true;
}

static bool op_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
    RigEnd *e = opaque;

    if (access_fails(e, addr, len)) {
        return false;
    }
    memcpy(e->mem + addr, buf, len);
    return true;
}

static bool op_reach(void *opaque, uint64_t addr, size_t len, bool write,
                     void (*fn)(void *ctx, void *data), void *ctx)
{
    RigEnd *e = opaque;

    if (e->unreachable || access_fails(e, addr, len)) {
        return false;
    }
    e->reached++;
    fn(ctx, e->mem + addr);
    return true;
}

static void op_wire_tx(void *opaque, const uint8_t *data, size_t len)
{
    RigEnd *e = opaque;

    while (len) {
        uint32_t n = get_be32(data);

        g_assert_cmpuint(len, >=, RCL_WIRE_PREFIX + n);
        g_queue_push_tail(e->out, g_bytes_new(data + RCL_WIRE_PREFIX, n));
        data += RCL_WIRE_PREFIX + n;
        len -= RCL_WIRE_PREFIX + n;
    }
    g_assert_cmpuint(g_queue_get_length(e->out), <, 100000);
    if (e->full) {
        rclink_wire_stop(e->d, true);
    }
}

static void op_msix(void *opaque, unsigned vector)
{
    RigEnd *e = opaque;

    g_assert_cmpuint(vector, <, RCL_VECTORS);
    e->msix[vector]++;
}

static void op_kick(void *opaque)
{
    RigEnd *e = opaque;

    e->kicked = true;
}

static void op_guest_error(void *opaque, const char *rule, const char *text,
                           uint64_t value)
{
    RigEnd *e = opaque;

    e->errors++;
    g_snprintf(e->error, sizeof(e->error), "%s: %s (%" PRIx64 ")", rule, text,
               value);
}

static void op_frame(void *opaque, bool tx, const uint8_t *frame, size_t len)
{
    RigEnd *e = opaque;

    e->frames[tx]++;
}

static const RclinkOps rig_ops = {
    .read = op_read, .write = op_write, .reach = op_reach,
    .wire_tx = op_wire_tx,
    .msix = op_msix, .kick = op_kick, .guest_error = op_guest_error,
    .frame = op_frame,
};

Rig *rig_new(unsigned n, const RclinkConfig *cfg)
{
    Rig *r = g_new0(Rig, 1);

    r->n = n;
    r->now = 1000000;
    r->rand = g_rand_new_with_seed(1);
    for (unsigned i = 0; i < n; i++) {
        RigEnd *e = &r->e[i];

        if (cfg) {
            e->cfg = *cfg;
        } else {
            rclink_config_init(&e->cfg);
        }
        e->rig = r;
        e->cfg.ops = &rig_ops;
        e->cfg.opaque = e;
        memcpy(e->cfg.mac, "\x02\0\0\0\0\x0a", 6);
        e->cfg.mac[5] += i;
        e->mem = g_malloc0(RIG_MEM);
        e->out = g_queue_new();
        e->next = INT64_MAX;
        g_assert_null(rclink_config_check(&e->cfg));
        e->d = rclink_new(&e->cfg);
        rclink_link(e->d, true);
    }
    return r;
}

static void drop_frame(gpointer bytes)
{
    g_bytes_unref(bytes);
}

void rig_free(Rig *r)
{
    for (unsigned i = 0; i < r->n; i++) {
        rclink_free(r->e[i].d);
        g_free(r->e[i].mem);
        g_queue_free_full(r->e[i].out, drop_frame);
    }
    g_rand_free(r->rand);
    g_free(r);
}

uint64_t rig_get(RigEnd *e, uint64_t reg)
{
    return rclink_read(e->d, reg, reg < 0x4000 ? 8 : 4, e->rig->now);
}

void rig_set(RigEnd *e, uint64_t reg, uint64_t v)
{
    rclink_write(e->d, reg, v, reg < 0x4000 ? 8 : 4, e->rig->now);
}

static void ring_up(RigEnd *e, unsigned n)
{
    rig_set(e, RCL_RING(n) + RCL_RING_CTRL, 0);
    rig_set(e, RCL_RING(n) + RCL_RING_BASE_LO, RIG_RING + n * 0x10000);
    rig_set(e, RCL_RING(n) + RCL_RING_BASE_HI, 0);
    rig_set(e, RCL_RING(n) + RCL_RING_SIZE, RIG_LOG);
    rig_set(e, RCL_RING(n) + RCL_RING_SHADOW_LO, RIG_SHADOW + n * 4);
    rig_set(e, RCL_RING(n) + RCL_RING_SHADOW_HI, 0);
    put_le32(e->mem + RIG_SHADOW + n * 4, 0);
    rig_set(e, RCL_RING(n) + RCL_RING_CTRL, RCL_RING_EN | RCL_RING_SHADOW);
}

/* Give buffer number @i of RX_M back. */
static void rx_give(RigEnd *e, unsigned type2)
{
    uint16_t at = e->rx_head[type2]++ & ((1 << RIG_LOG) - 1);
    uint8_t *p = e->mem + RIG_RING + (RCL_RING_RX1 + type2) * 0x10000 +
                 at * RCL_RING_ENTRY;

    memset(p, 0, RCL_RING_ENTRY);
    put_le64(p, (type2 ? RIG_RX2_BUF : RIG_RX1_BUF) + at * RIG_BUFFER);
    put_le16(p + RCL_E_LEN, RIG_BUFFER);
    rig_set(e, RCL_RING(RCL_RING_RX1 + type2) + RCL_RING_HEAD,
            e->rx_head[type2]);
}

static void md_give(RigEnd *e)
{
    uint8_t *p = e->mem + RIG_MD_RX + e->md_rx * RCL_MD_BYTES;

    put_le64(p, (uint64_t)RIG_BUFFER / 4 << RCL_MD_BUFFER_SHIFT);
    put_le64(p + 8, RIG_MD_BUF + (RIG_MDS + e->md_rx) * RIG_BUFFER);
    e->md_rx = (e->md_rx + 1) % RIG_MDS;
    rig_set(e, RCL_RX_MD_HEAD_PTR, e->md_rx);
}

void rig_up(RigEnd *e, uint64_t format)
{
    unsigned self = e - e->rig->e;

    for (unsigned n = 0; n < RCL_RINGS; n++) {
        ring_up(e, n);
    }
    e->tx_head = e->ev_tail = e->md_tx = e->md_rx = e->md_rx_tail = 0;
    for (unsigned t = 0; t < 2; t++) {
        e->rx_head[t] = e->rx_tail[t] = 0;
        for (unsigned i = 0; i < 1 << RIG_LOG; i++) {
            rx_give(e, t);
        }
    }
    rig_set(e, RCL_NONR_DMA_CTRL, RCL_NONR_TX_RESET | RCL_NONR_RX_RESET);
    rig_set(e, RCL_TX_MDQ_BA, RIG_MD_TX);
    rig_set(e, RCL_RX_MDQ_BA, RIG_MD_RX);
    rig_set(e, RCL_TX_MDQ_SIZE, RIG_MDS);
    rig_set(e, RCL_RX_MDQ_SIZE, RIG_MDS);
    rig_set(e, RCL_NONR_DMA_CTRL, RCL_NONR_TX_EN | RCL_NONR_RX_EN);
    for (unsigned i = 0; i < RIG_MDS - 1; i++) {
        md_give(e);
    }
    rig_set(e, RCL_MAC_ADDR, rig_get(e, RCL_MAC_ADDR) |
                             UINT64_C(0x88b5) << 48);
    rig_set(e, RCL_DEST_MAC_MEM2, UINT64_C(0x88b6) << 48);
    rig_set(e, RCL_IP_ADDR, (0x0a000001 + self) | UINT64_C(0x1234) << 32 |
                            UINT64_C(64) << 48);
    rig_set(e, RCL_DEST_IP_MEM2, 0xe0000101);
    rig_set(e, RCL_UDP_PORT_MEM2, 0xc100 | 4792 << 16);
    for (unsigned g = 0; g < 8; g++) {
        rig_set(e, RCL_TYPE2_DA(g), UINT64_C(0x030000000100) + g);
    }
    /* Four banks, ACK, TYPE2: each its own class, ECN capable. */
    rig_set(e, RCL_TRAFFIC_CLASS, UINT64_C(0x1a120e0a0602));
    rig_set(e, RCL_AFH_CFG_EN, rig_get(e, RCL_AFH_CFG_EN) | format);
    rig_set(e, RCL_RDMA_EN, 1);
}

void rig_qp(RigEnd *e, unsigned qp, RigEnd *peer, unsigned peer_qp,
            unsigned psn)
{
    unsigned it = peer - e->rig->e;

    rig_set(e, RCL_QP_ID_SET, qp);
    rig_set(e, RCL_TX_EXPECT_PSN, psn & 0xfff);
    rig_set(e, RCL_EXPECT_RESP_PSN, psn & 0xfff);
    rig_set(e, RCL_TX_LAST_PSN, (psn - 1) & 0xfff);
    rig_set(e, RCL_MAX_FORWARD_PSN, (psn - 1) & 0xfff);
    rig_set(e, RCL_RX_REQ_EPSN, psn & 0xfff);
    rig_set(e, RCL_TX_EPSN, psn & 0xfff);
    rig_set(e, RCL_TX_SPEED_MEM, 0x320000);
    rig_set(e, RCL_TX_CC_BYTE_CNT_MEM, 0);
    rig_set(e, RCL_DEST_IP_MEM, (0x0a000001 + it) | (uint64_t)peer_qp << 32);
    rig_set(e, RCL_UDP_SRC_PORT_MEM, 0xc000 | 0x5a0000);
    rig_set(e, RCL_DEST_MAC_MEM, UINT64_C(0x02000000000a) + it);
    rig_set(e, RCL_BTH_QP_CFG_MEM, 0x5a);
    rig_set(e, RCL_RETRY_CNT_MEM, 0);
    rig_set(e, RCL_QP_CONTROL_STATUS, RCL_QP_EN);
}

void rig_connect(Rig *r, unsigned qp, unsigned psn)
{
    rig_qp(&r->e[0], qp, &r->e[1], qp, psn);
    rig_qp(&r->e[1], qp, &r->e[0], qp, psn);
}

void rig_post(RigEnd *e, unsigned qp, size_t len, uint8_t seed,
              uint8_t flags)
{
    uint16_t at = e->tx_head++ & ((1 << RIG_LOG) - 1);
    uint8_t *p = e->mem + RIG_RING + at * RCL_RING_ENTRY;
    uint64_t addr = RIG_TX_BUF + at * RIG_BUFFER;

    for (size_t i = 0; i < MIN(len, RIG_BUFFER); i++) {
        e->mem[addr + i] = seed + i;
    }
    put_le64(p, addr);
    put_le16(p + RCL_E_LEN, len);
    put_le16(p + RCL_E_QP, qp);
    p[RCL_E_FLAGS] = flags;
    p[RCL_E_FLAGS + 1] = 0;
    put_le16(p + RCL_E_COOKIE, 0x1000 | seed);
    rig_set(e, RCL_RING(RCL_RING_TX) + RCL_RING_HEAD, e->tx_head);
}

bool rig_take(RigEnd *e, unsigned type2, RigPacket *p)
{
    unsigned n = RCL_RING_RX1 + type2;
    uint16_t at = e->rx_tail[type2] & ((1 << RIG_LOG) - 1);
    uint8_t *entry = e->mem + RIG_RING + n * 0x10000 + at * RCL_RING_ENTRY;

    if ((uint16_t)get_le32(e->mem + RIG_SHADOW + n * 4) ==
        e->rx_tail[type2]) {
        return false;
    }
    *p = (RigPacket) {
        .len = get_le16(entry + RCL_E_LEN), .qp = get_le16(entry + RCL_E_QP),
        .flags = entry[RCL_E_FLAGS], .sa = get_le16(entry + RCL_E_COOKIE),
        .data = e->mem + (type2 ? RIG_RX2_BUF : RIG_RX1_BUF) +
                at * RIG_BUFFER,
    };
    e->rx_tail[type2]++;
    rx_give(e, type2);
    return true;
}

bool rig_is(const RigPacket *p, size_t len, uint8_t seed)
{
    if (p->len != len) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (p->data[i] != (uint8_t)(seed + i)) {
            return false;
        }
    }
    return true;
}

bool rig_event(RigEnd *e, RigEvent *ev)
{
    uint16_t at = e->ev_tail & ((1 << RIG_LOG) - 1);
    const uint8_t *p = e->mem + RIG_RING + RCL_RING_EVENT * 0x10000 +
                       at * RCL_RING_ENTRY;
    bool phase = !(e->ev_tail >> RIG_LOG & 1);

    /* The device writes events at the end of its turn, or for who looks. */
    rig_get(e, RCL_RING(RCL_RING_EVENT) + RCL_RING_HEAD);
    if (!p[0] || !(p[1] & RCL_EV_PHASE) != !phase) {
        return false;
    }
    *ev = (RigEvent) {
        .type = p[0], .flags = p[1] & ~RCL_EV_PHASE, .qp = get_le16(p + 2),
        .a = get_le32(p + 4), .b = get_le64(p + 8),
    };
    e->ev_tail++;
    rig_set(e, RCL_RING(RCL_RING_EVENT) + RCL_RING_TAIL, e->ev_tail);
    return true;
}

bool rig_event_of(RigEnd *e, uint8_t type, RigEvent *ev)
{
    while (rig_event(e, ev)) {
        if (ev->type == type) {
            return true;
        }
    }
    return false;
}

unsigned rig_events(RigEnd *e, uint8_t type)
{
    unsigned n = 0;
    RigEvent ev;

    while (rig_event(e, &ev)) {
        n += ev.type == type;
    }
    return n;
}

void rig_md_post(RigEnd *e, const uint8_t *frame, size_t len)
{
    uint8_t *p = e->mem + RIG_MD_TX + e->md_tx * RCL_MD_BYTES;
    uint64_t addr = RIG_MD_BUF + e->md_tx * RIG_BUFFER;

    memcpy(e->mem + addr, frame, MIN(len, RIG_BUFFER));
    put_le64(p, len << RCL_MD_SIZE_SHIFT | RCL_MD_SF | RCL_MD_LF);
    put_le64(p + 8, addr);
    e->md_tx = (e->md_tx + 1) % RIG_MDS;
    rig_set(e, RCL_TX_MD_HEAD_PTR, e->md_tx);
}

size_t rig_md_take(RigEnd *e, uint8_t *frame)
{
    size_t len = 0;
    uint32_t word;

    if (e->md_rx_tail == rig_get(e, RCL_RX_MD_TAIL_PTR)) {
        return 0;
    }
    do {
        uint16_t at = e->md_rx_tail;
        uint32_t n;

        word = get_le32(e->mem + RIG_MD_RX + at * RCL_MD_BYTES);
        n = word >> RCL_MD_SIZE_SHIFT & 0xffff;
        g_assert_cmpuint(!!(word & RCL_MD_SF), ==, !len);
        memcpy(frame + len, e->mem + RIG_MD_BUF + (RIG_MDS + at) * RIG_BUFFER,
               n);
        len += n;
        e->md_rx_tail = (at + 1) % RIG_MDS;
        md_give(e);
    } while (!(word & RCL_MD_LF));
    return len;
}

/* ---- time and wire ---- */

void rig_inject(RigEnd *e, const uint8_t *frame, size_t len)
{
    rclink_rx(e->d, frame, len, e->rig->now);
}

GBytes *rig_frame(RigEnd *e)
{
    return g_queue_pop_head(e->out);
}

static bool wire_turn(Rig *r)
{
    bool any = false;

    for (unsigned i = 0; i < r->n && r->n > 1; i++) {
        GBytes *frame;

        while ((frame = g_queue_pop_head(r->e[i].out)) != NULL) {
            size_t len;
            const uint8_t *p = g_bytes_get_data(frame, &len);

            any = true;
            if (!r->pass || r->pass(r, i, p, len)) {
                for (unsigned k = 0; k < r->n; k++) {
                    if (k != i) {
                        rig_inject(&r->e[k], p, len);
                    }
                }
            }
            g_bytes_unref(frame);
        }
    }
    return any;
}

void rig_settle(Rig *r)
{
    bool any = true;
    unsigned turns = 0;

    while (any) {
        any = false;
        for (unsigned i = 0; i < r->n; i++) {
            RigEnd *e = &r->e[i];

            if (!e->kicked && e->next > r->now) {
                continue;
            }
            e->kicked = false;
            any = true;
            e->next = rclink_run(e->d, r->now, 64);
        }
        any |= wire_turn(r);
        g_assert_cmpuint(turns++, <, 100000);
    }
}

void rig_pass(Rig *r, int64_t ns)
{
    int64_t end = r->now + ns;

    for (;;) {
        int64_t next = end;

        rig_settle(r);
        for (unsigned i = 0; i < r->n; i++) {
            next = MIN(next, r->e[i].next);
        }
        if (r->now >= end) {
            return;
        }
        r->now = MAX(next, r->now + 1);
        r->now = MIN(r->now, end);
    }
}

size_t rig_hex(const char *text, uint8_t *out)
{
    size_t n = 0;

    while (*text) {
        if (g_ascii_isspace(*text) || *text == '|') {
            text++;
            continue;
        }
        out[n++] = g_ascii_xdigit_value(text[0]) << 4 |
                   g_ascii_xdigit_value(text[1]);
        text += 2;
    }
    return n;
}
