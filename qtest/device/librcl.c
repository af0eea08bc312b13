/*
 * RC Link: what a driver does, for qtest.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "librcl.h"
#include "../deadline.h"

/* Where things lie, from mem on. */
enum {
    RINGS = 0,                  /* 0x1000 each */
    MD_TX = 0x4000,
    MD_RX = 0x5000,
    TX_BUF = 0x10000,
    RX_BUF = 0x40000,           /* TYPE1, then TYPE2 */
    MD_BUF = 0x90000,           /* sent, then received */
    MEM = 0xc0000,
    SECONDS = 20,
};

static void tired(gint64 limit)
{
    g_assert_cmpint(g_get_monotonic_time(), <, limit);
    g_usleep(500);
}

static void wr16(Rcl *r, uint64_t off, uint16_t v)
{
    qtest_writew(r->f->qts, r->mem + off, v);
}

static void wr64(Rcl *r, uint64_t off, uint64_t v)
{
    qtest_writeq(r->f->qts, r->mem + off, v);
}

static Rcl *start_words(const char *wire, unsigned self, const char *props,
                        const char *more)
{
    g_autofree char *words = g_strdup_printf(
        "%s,mac=02:00:00:00:00:%02x%s %s", wire, 0x0a + self, props, more);
    Rcl *r = g_new0(Rcl, 1);

    r->self = self;
    r->f = fixture_start_words(words, *more);
    if (!*more) {
        rcl_map(r);
        r->mem = guest_alloc(&r->f->alloc, MEM);
    }
    return r;
}

Rcl *rcl_start(const char *path, bool server, unsigned self,
               const char *props, const char *more)
{
    g_autofree char *wire = g_strdup_printf(
        "-chardev socket,id=w,path=%s,%s -device rclink,id=nic,addr=4,"
        "chardev=w", path,
        server ? "server=on,wait=off" : "server=off,reconnect-ms=20");

    return start_words(wire, self, props, more);
}

Rcl *rcl_start_netdev(const char *path, bool server, unsigned self,
                      const char *props)
{
    g_autofree char *wire = g_strdup_printf(
        "-netdev stream,id=w,addr.type=unix,addr.path=%s,%s "
        "-device rclink,id=nic,addr=4,netdev=w", path,
        server ? "server=on" : "server=off,reconnect-ms=20");

    return start_words(wire, self, props, "");
}

void rcl_map(Rcl *r)
{
    qpci_device_enable(r->f->pci);
    r->bar = qpci_iomap(r->f->pci, 0, NULL);
}

void rcl_stop(Rcl *r)
{
    fixture_stop(r->f);
    g_free(r);
}

void rcl_msix(Rcl *r)
{
    qpci_msix_enable(r->f->pci);
    r->bar = r->f->pci->msix_table_bar;
}

uint64_t rcl_get(Rcl *r, uint64_t reg)
{
    return reg < 0x4000 ? qpci_io_readq(r->f->pci, r->bar, reg)
                        : qpci_io_readl(r->f->pci, r->bar, reg);
}

void rcl_set(Rcl *r, uint64_t reg, uint64_t v)
{
    if (reg < 0x4000) {
        qpci_io_writeq(r->f->pci, r->bar, reg, v);
    } else {
        qpci_io_writel(r->f->pci, r->bar, reg, v);
    }
}

void rcl_wait_link(Rcl *r, bool up)
{
    gint64 limit = test_deadline(SECONDS);

    while (!(rcl_get(r, RCL_STATUS) & RCL_STATUS_LINK) == up) {
        tired(limit);
    }
}

/* ---- rings ---- */

static void rx_give(Rcl *r, unsigned type2)
{
    unsigned at = r->rx_head[type2]++ % RCL_ENTRIES;
    uint64_t entry = RINGS + (RCL_RING_RX1 + type2) * 0x1000 +
                     at * RCL_RING_ENTRY;

    wr64(r, entry, r->mem + RX_BUF + (type2 * RCL_ENTRIES + at) * RCL_BUF);
    wr64(r, entry + 8, RCL_BUF);
}

static void rx_head(Rcl *r, unsigned type2)
{
    rcl_set(r, RCL_RING(RCL_RING_RX1 + type2) + RCL_RING_HEAD,
            r->rx_head[type2]);
}

static void md_give(Rcl *r)
{
    wr64(r, MD_RX + r->md_rx * 16, (uint64_t)RCL_BUF << RCL_MD_BUFFER_SHIFT);
    wr64(r, MD_RX + r->md_rx * 16 + 8,
         r->mem + MD_BUF + (RCL_MDS + r->md_rx) * RCL_BUF);
    r->md_rx = (r->md_rx + 1) % RCL_MDS;
}

void rcl_up(Rcl *r, uint64_t format)
{
    qtest_memset(r->f->qts, r->mem, 0, 0x6000);
    for (unsigned n = 0; n < RCL_RINGS; n++) {
        uint64_t reg = RCL_RING(n), base = r->mem + RINGS + n * 0x1000;

        rcl_set(r, reg + RCL_RING_CTRL, 0);
        rcl_set(r, reg + RCL_RING_BASE_LO, base);
        rcl_set(r, reg + RCL_RING_BASE_HI, base >> 32);
        rcl_set(r, reg + RCL_RING_SIZE, RCL_LOG);
        rcl_set(r, reg + RCL_RING_CTRL, RCL_RING_EN);
    }
    r->tx_head = r->ev_tail = r->md_tx = r->md_rx = r->md_rx_tail = 0;
    for (unsigned t = 0; t < 2; t++) {
        r->rx_head[t] = r->rx_tail[t] = 0;
        for (unsigned i = 0; i < RCL_ENTRIES; i++) {
            rx_give(r, t);
        }
        rx_head(r, t);
    }
    rcl_set(r, RCL_NONR_DMA_CTRL, RCL_NONR_TX_RESET | RCL_NONR_RX_RESET);
    rcl_set(r, RCL_TX_MDQ_BA, r->mem + MD_TX);
    rcl_set(r, RCL_RX_MDQ_BA, r->mem + MD_RX);
    rcl_set(r, RCL_TX_MDQ_SIZE, RCL_MDS);
    rcl_set(r, RCL_RX_MDQ_SIZE, RCL_MDS);
    rcl_set(r, RCL_NONR_DMA_CTRL, RCL_NONR_TX_EN | RCL_NONR_RX_EN);
    for (unsigned i = 0; i < RCL_MDS - 1; i++) {
        md_give(r);
    }
    rcl_set(r, RCL_RX_MD_HEAD_PTR, r->md_rx);
    rcl_set(r, RCL_MAC_ADDR, (rcl_get(r, RCL_MAC_ADDR) & 0xffffffffffff) |
                             0x88b5ull << 48);
    rcl_set(r, RCL_DEST_MAC_MEM2, 0x88b6ull << 48);
    rcl_set(r, RCL_IP_ADDR, (0x0a000001 + r->self) | 64ull << 48);
    rcl_set(r, RCL_DEST_IP_MEM2, 0xe0000101);
    rcl_set(r, RCL_UDP_PORT_MEM2, 0xc100 | 4792 << 16);
    for (unsigned g = 0; g < 8; g++) {
        rcl_set(r, RCL_TYPE2_DA(g), 0x030000000100ull + g);
    }
    rcl_set(r, RCL_TRAFFIC_CLASS, 0x1a120e0a0602ull);
    rcl_set(r, RCL_AFH_CFG_EN, 0x0ff0000000000020ull | format);
    rcl_set(r, RCL_RDMA_EN, 1);
}

void rcl_qp(Rcl *r, unsigned qp, unsigned peer, unsigned peer_qp,
            unsigned psn)
{
    rcl_set(r, RCL_QP_ID_SET, qp);
    rcl_set(r, RCL_QP_CONTROL_STATUS, 0);
    rcl_set(r, RCL_TX_EXPECT_PSN, psn & 0xfff);
    rcl_set(r, RCL_EXPECT_RESP_PSN, psn & 0xfff);
    rcl_set(r, RCL_TX_LAST_PSN, (psn - 1) & 0xfff);
    rcl_set(r, RCL_MAX_FORWARD_PSN, (psn - 1) & 0xfff);
    rcl_set(r, RCL_RX_REQ_EPSN, psn & 0xfff);
    rcl_set(r, RCL_TX_EPSN, psn & 0xfff);
    rcl_set(r, RCL_TX_SPEED_MEM, 0x320000);
    rcl_set(r, RCL_DEST_IP_MEM, (0x0a000001 + peer) | (uint64_t)peer_qp << 32);
    rcl_set(r, RCL_UDP_SRC_PORT_MEM, 0xc000 | 0x5a0000);
    rcl_set(r, RCL_DEST_MAC_MEM, 0x02000000000aull + peer);
    rcl_set(r, RCL_BTH_QP_CFG_MEM, 0x5a);
    rcl_set(r, RCL_RETRY_CNT_MEM, 0);
    rcl_set(r, RCL_QP_CONTROL_STATUS, RCL_QP_EN);
}

void rcl_post(Rcl *r, unsigned qp, unsigned len, uint8_t seed, uint8_t flags)
{
    unsigned at = r->tx_head++ % RCL_ENTRIES;
    uint64_t entry = RINGS + at * RCL_RING_ENTRY;
    uint8_t data[RCL_BUF];

    for (unsigned i = 0; i < len && i < RCL_BUF; i++) {
        data[i] = seed + i;
    }
    qtest_memwrite(r->f->qts, r->mem + TX_BUF + at * RCL_BUF, data,
                   MIN(len, RCL_BUF));
    wr64(r, entry, r->mem + TX_BUF + at * RCL_BUF);
    wr16(r, entry + RCL_E_LEN, len);
    wr16(r, entry + RCL_E_QP, qp);
    wr16(r, entry + RCL_E_FLAGS, flags);
    wr16(r, entry + RCL_E_COOKIE, seed);
    rcl_set(r, RCL_RING(RCL_RING_TX) + RCL_RING_HEAD, r->tx_head);
}

void rcl_take(Rcl *r, unsigned type2, RclGot *got)
{
    unsigned n = RCL_RING_RX1 + type2, at = r->rx_tail[type2] % RCL_ENTRIES;
    uint64_t entry = r->mem + RINGS + n * 0x1000 + at * RCL_RING_ENTRY;
    gint64 limit = test_deadline(SECONDS);

    while ((uint16_t)rcl_get(r, RCL_RING(n) + RCL_RING_TAIL) ==
           r->rx_tail[type2]) {
        tired(limit);
    }
    got->len = qtest_readw(r->f->qts, entry + RCL_E_LEN);
    got->qp = qtest_readw(r->f->qts, entry + RCL_E_QP);
    got->flags = qtest_readb(r->f->qts, entry + RCL_E_FLAGS);
    qtest_memread(r->f->qts, qtest_readq(r->f->qts, entry), got->data,
                  MIN(got->len, RCL_BUF));
    r->rx_tail[type2]++;
    rx_give(r, type2);
    rx_head(r, type2);
}

bool rcl_is(const RclGot *got, unsigned len, uint8_t seed)
{
    if (got->len != len) {
        return false;
    }
    for (unsigned i = 0; i < len; i++) {
        if (got->data[i] != (uint8_t)(seed + i)) {
            return false;
        }
    }
    return true;
}

/* ---- TYPE3 ---- */

void rcl_md_post(Rcl *r, const void *frame, size_t len)
{
    uint64_t addr = MD_BUF + r->md_tx * RCL_BUF;

    qtest_memwrite(r->f->qts, r->mem + addr, frame, len);
    wr64(r, MD_TX + r->md_tx * 16, len << RCL_MD_SIZE_SHIFT | RCL_MD_SF |
                                   RCL_MD_LF);
    wr64(r, MD_TX + r->md_tx * 16 + 8, r->mem + addr);
    r->md_tx = (r->md_tx + 1) % RCL_MDS;
    rcl_set(r, RCL_TX_MD_HEAD_PTR, r->md_tx);
}

size_t rcl_md_take(Rcl *r, void *frame)
{
    gint64 limit = test_deadline(SECONDS);
    uint64_t md = r->mem + MD_RX + r->md_rx_tail * 16;
    uint32_t len;

    while (rcl_get(r, RCL_RX_MD_TAIL_PTR) == r->md_rx_tail) {
        tired(limit);
    }
    len = qtest_readl(r->f->qts, md) >> RCL_MD_SIZE_SHIFT & 0xffff;
    qtest_memread(r->f->qts, qtest_readq(r->f->qts, md + 8), frame, len);
    r->md_rx_tail = (r->md_rx_tail + 1) % RCL_MDS;
    md_give(r);
    rcl_set(r, RCL_RX_MD_HEAD_PTR, r->md_rx);
    return len;
}

/* ---- events ---- */

void rcl_event_wait(Rcl *r, uint8_t type, uint8_t *event)
{
    gint64 limit = test_deadline(SECONDS);

    for (;;) {
        while ((uint16_t)rcl_get(r, RCL_RING(RCL_RING_EVENT) +
                                    RCL_RING_HEAD) == r->ev_tail) {
            tired(limit);
        }
        qtest_memread(r->f->qts, r->mem + RINGS + RCL_RING_EVENT * 0x1000 +
                      r->ev_tail % RCL_ENTRIES * RCL_RING_ENTRY, event,
                      RCL_RING_ENTRY);
        g_assert_cmpuint(!(event[1] & RCL_EV_PHASE), ==,
                         r->ev_tail >> RCL_LOG & 1);
        r->ev_tail++;
        rcl_set(r, RCL_RING(RCL_RING_EVENT) + RCL_RING_TAIL, r->ev_tail);
        if (event[0] == type) {
            return;
        }
    }
}

/* ---- properties ---- */

uint64_t rcl_counter(Rcl *r, const char *name)
{
    g_autofree char *full = g_strdup_printf("counter-%s", name);

    return fixture_counter(r->f, full);
}

void rcl_prop_set(Rcl *r, const char *name, unsigned value)
{
    qtest_qmp_assert_success(r->f->qts,
        "{ 'execute': 'qom-set', 'arguments': { 'path': "
        "'/machine/peripheral/nic', 'property': %s, 'value': %u } }",
        name, value);
}

void rcl_link_set(Rcl *r, bool up)
{
    qtest_qmp_assert_success(r->f->qts,
        "{ 'execute': 'qom-set', 'arguments': { 'path': "
        "'/machine/peripheral/nic', 'property': 'link-up', 'value': %i } }",
        up);
}

/* ---- pairs ---- */

RclPair rcl_pair_start(bool netdev, const char *first, const char *second)
{
    RclPair p = { .dir = g_dir_make_tmp("rclink-XXXXXX", NULL) };

    p.path = g_build_filename(p.dir, "wire", NULL);
    for (unsigned i = 0; i < 2; i++) {
        const char *props = i ? second : first;

        p.r[i] = netdev ? rcl_start_netdev(p.path, !i, i, props)
                        : rcl_start(p.path, !i, i, props, "");
    }
    for (unsigned i = 0; i < 2; i++) {
        rcl_wait_link(p.r[i], true);
    }
    return p;
}

void rcl_pair_stop(RclPair *p)
{
    rcl_stop(p->r[0]);
    rcl_stop(p->r[1]);
    unlink(p->path);
    rmdir(p->dir);
    g_free(p->path);
    g_free(p->dir);
}

void rcl_pair_up(RclPair *p, uint64_t format)
{
    for (unsigned i = 0; i < 2; i++) {
        rcl_up(p->r[i], format);
    }
}

void rcl_pair_connect(RclPair *p, unsigned qp, unsigned psn)
{
    rcl_qp(p->r[0], qp, 1, qp, psn);
    rcl_qp(p->r[1], qp, 0, qp, psn);
}
