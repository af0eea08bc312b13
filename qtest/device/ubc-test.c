/*
 * ubc: registers, rings and interrupts of one controller.
 *
 * Where a link is needed, a wire joins the controller's two ports.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "../config_window.h"
#include "../link/ubc-driver.h"
#include "../link/ubc-stall.h"

#define GUID "00112233425566778899aabbccddeeff"

static QUbc *start(void)
{
    return qubc_start_attached("ports=2,guid=" GUID, "");
}

typedef struct Loop {
    char *dir, *path;
    QUbc *d;
} Loop;

static void loop_wire_with(Loop *l, const char *props, const char *args)
{
    g_autofree char *more = NULL, *all = NULL;

    l->dir = g_dir_make_tmp("ubc-XXXXXX", NULL);
    l->path = g_build_filename(l->dir, "wire", NULL);
    more = g_strdup_printf("-chardev socket,id=w0,path=%s,server=on,wait=off "
                           "-chardev socket,id=w1,path=%s,reconnect-ms=100%s",
                           l->path, l->path, args);
    all = g_strdup_printf("ports=2,chardev0=w0,chardev1=w1%s", props);
    l->d = qubc_start_attached(all, more);
}

static void loop_wire(Loop *l)
{
    loop_wire_with(l, "", "");
}

/* @props: more properties, @args: more of the command line. */
static void loop_begin(Loop *l, const char *props, const char *args)
{
    loop_wire_with(l, props, args);
    qubc_port_open(l->d, 0);
    qubc_port_open(l->d, 1);
    QUBC_WAIT(qubc_up(l->d, 0) && qubc_up(l->d, 1));
}

static void loop_start(Loop *l)
{
    loop_begin(l, "", "");
}

static void loop_stop(Loop *l)
{
    qubc_stop(l->d);
    unlink(l->path);
    rmdir(l->dir);
    g_free(l->path);
    g_free(l->dir);
}

static void test_reset_values(void)
{
    static const struct { uint32_t reg, value; } values[] = {
        { 0x0000, 0x31434255 }, { 0x0004, 2 }, { 0x0008, 2 }, { 0x000c, 0 },
        { 0x0010, 0 }, { 0x0014, 0 }, { 0x0018, 0 }, { 0x001c, 0 },
        { 0x0020, 0 }, { 0x0028, 0xef }, { 0x002c, 0 },
        /* Port 0: status, control, events, MTU, VLs, vector; tx_packets. */
        { 0x1000, 0 }, { 0x1004, 0 }, { 0x1008, 0 }, { 0x100c, 0 },
        { 0x1010, 10142 }, { 0x1014, 0 }, { 0x1018, 0 },
        { 0x1040, 0 }, { 0x1100, 0 }, { 0x1410, 10142 },
        { 0x1810, 0 }, /* there is no third port */
        /* Ring pairs 0 and 255: port, VLs, CFGs, RT; rings. */
        { 0x10000, 0 }, { 0x10004, 0xffff }, { 0x10008, 0xfd3f },
        { 0x1000c, 4 }, { 0x10040, 0 }, { 0x10048, 0 }, { 0x1004c, 0 },
        { 0x10050, 0 }, { 0x10054, 0 }, { 0x10058, 0 }, { 0x1005c, 0 },
        { 0x10080, 0 }, { 0x1008c, 0 }, { 0x1ff04, 0xffff },
        /* Windows that are kept for later. */
        { 0x30000, 0 }, { 0x40000, 0 }, { 0x50000, 0 },
        { 0x400000, 0xb100 }, { 0xfffffc, 0 }, /* the UMMU's IIDR */
        /* CFG0_BASIC: header, entities and ports, GUID low half first. */
        { 0x100000, 0x2c0 }, { 0x100004, 0x00010002 },
        { 0x100038, 0xccddeeff }, { 0x10003c, 0x8899aabb },
        { 0x100040, 0x42556677 }, { 0x100044, 0x00112233 },
        /* CFG1_BASIC, PORT_BASIC of both ports and their indices. */
        { 0x140000, 0x300 }, { 0x180000, 0x110 }, { 0x1c0000, 0x110 },
        { 0x180024, 0 }, { 0x1c0024, 1 },
    };
    QUbc *d = start();
    uint8_t cap;

    g_assert_cmphex(qpci_config_readw(d->pci, PCI_VENDOR_ID), ==, 0x1234);
    g_assert_cmphex(qpci_config_readw(d->pci, PCI_DEVICE_ID), ==, 0x0b01);
    g_assert_cmphex(qpci_config_readw(d->pci, PCI_CLASS_DEVICE), ==, 0x0280);
    g_assert_cmphex(qpci_config_readb(d->pci, PCI_REVISION_ID), ==, 2);
    g_assert_cmphex(qpci_config_readl(d->pci, PCI_BASE_ADDRESS_0) & 0xf, ==,
                    PCI_BASE_ADDRESS_MEM_TYPE_64);
    g_assert_cmphex(qpci_config_readl(d->pci, PCI_BASE_ADDRESS_2) & 0xf, ==,
                    PCI_BASE_ADDRESS_MEM_TYPE_64);
    g_assert_cmphex(qpci_config_readl(d->pci, PCI_BASE_ADDRESS_4), ==,
                    PCI_BASE_ADDRESS_MEM_TYPE_64 |
                    PCI_BASE_ADDRESS_MEM_PREFETCH);
    /* Errors of the bus can be reported. */
    cap = qpci_find_capability(d->pci, PCI_CAP_ID_EXP, 0);
    qpci_config_writew(d->pci, cap + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_CERE |
                       PCI_EXP_DEVCTL_NFERE | PCI_EXP_DEVCTL_FERE);
    g_assert_cmphex(qpci_config_readw(d->pci, cap + PCI_EXP_DEVCTL) & 7, ==,
                    7);
    for (unsigned i = 0; i < G_N_ELEMENTS(values); i++) {
        g_test_message("register 0x%x", values[i].reg);
        g_assert_cmphex(qubc_read(d, values[i].reg), ==, values[i].value);
    }
    /* The same dwords by address and data. */
    qubc_write(d, 0x20, 0x11);
    g_assert_cmphex(qubc_read(d, 0x24), ==, 0x00112233);
    qubc_write(d, 0x0c, 1);
    g_assert_cmphex(qubc_read(d, 0x20), ==, 0);
    qubc_stop(d);
}

static void test_ring_misuse(void)
{
    QUbc *d = start();
    uint32_t errors = 0;

    /* A size and a base that cannot be, a doorbell that nobody hears. */
    qubc_pair_write(d, 0, UBC_RING_TX + UBC_RING_SIZE, 13);
    qubc_pair_write(d, 0, UBC_RING_TX + UBC_RING_CTRL, UBC_RING_ENABLE);
    g_assert_cmphex(qubc_pair_read(d, 0, UBC_RING_TX + UBC_RING_CTRL), ==,
                    UBC_RING_ERROR);
    g_assert_cmpuint(qubc_read(d, UBC_GUEST_ERRORS), ==, ++errors);
    qubc_pair_write(d, 0, UBC_RING_TX + UBC_RING_SIZE, 4);
    qubc_pair_write(d, 0, UBC_RING_TX + UBC_RING_BASE_LO, 8);
    qubc_pair_write(d, 0, UBC_RING_TX + UBC_RING_CTRL, UBC_RING_ENABLE);
    g_assert_cmpuint(qubc_read(d, UBC_GUEST_ERRORS), ==, ++errors);
    qubc_pair_write(d, 0, UBC_RING_TX + UBC_RING_HEAD, 1);
    g_assert_cmpuint(qubc_read(d, UBC_GUEST_ERRORS), ==, ++errors);
    g_assert_cmphex(qubc_read(d, UBC_EVENT) & UBC_EVENT_GUEST_ERROR, !=, 0);
    /* An enabled ring keeps its place, and stops at an impossible head. */
    qubc_ring_open(d, 0, UBC_RING_TX, QUBC_TX_RING(0));
    qubc_pair_write(d, 0, UBC_RING_TX + UBC_RING_BASE_LO, 0);
    g_assert_cmpuint(qubc_read(d, UBC_GUEST_ERRORS), ==, ++errors);
    g_assert_cmphex(qubc_pair_read(d, 0, UBC_RING_TX + UBC_RING_BASE_LO), ==,
                    QUBC_TX_RING(0));
    qubc_pair_write(d, 0, UBC_RING_TX + UBC_RING_HEAD, QUBC_RING + 1);
    g_assert_cmpuint(qubc_read(d, UBC_GUEST_ERRORS), ==, ++errors);
    g_assert_cmphex(qubc_pair_read(d, 0, UBC_RING_TX + UBC_RING_CTRL), ==,
                    UBC_RING_ERROR);
    g_assert_true(qubc_logged(d, "ring head beyond the size of the ring"));
    /* Usable again; descriptors that break rules, then a link that is down. */
    qubc_ring_open(d, 0, UBC_RING_TX, QUBC_TX_RING(0));
    qubc_post(d, 0, UBC_RING_TX, QUBC_TX_BUF(0), 0, 3);
    qubc_post(d, 0, UBC_RING_TX, QUBC_TX_BUF(0), 10143, 3);
    qubc_post(d, 0, UBC_RING_TX, QUBC_TX_BUF(0), 64, 0x403);
    qubc_post(d, 0, UBC_RING_TX, QUBC_TX_BUF(0), 64, 3);
    qubc_doorbell(d, 0, UBC_RING_TX);
    for (unsigned i = 0; i < 4; i++) {
        QUBC_WAIT(qubc_status(d, 0, UBC_RING_TX, i));
        g_assert_cmphex(qubc_status(d, 0, UBC_RING_TX, i), ==,
                        UBC_DESC_DONE | UBC_DESC_ERROR);
    }
    g_assert_cmpuint(qubc_read(d, UBC_GUEST_ERRORS), ==, errors + 3);
    g_assert_cmpuint(qubc_counter(d, 0, UBC_CNT_TX_ERRORS), ==, 4);
    qubc_stop(d);
}

static void test_dma_to_nowhere(void)
{
    QUbcPort *p;
    Loop l;

    loop_start(&l);
    /* A packet that is nowhere: its descriptor fails, the ring goes on. */
    qubc_post(l.d, 0, UBC_RING_TX, QUBC_NOWHERE, 64, 3);
    qubc_doorbell(l.d, 0, UBC_RING_TX);
    QUBC_WAIT(qubc_status(l.d, 0, UBC_RING_TX, 0));
    g_assert_cmphex(qubc_status(l.d, 0, UBC_RING_TX, 0), ==,
                    UBC_DESC_DONE | UBC_DESC_ERROR);
    g_assert_cmpuint(qubc_read(l.d, UBC_DMA_ERRORS), ==, 1);
    g_assert_cmphex(qubc_read(l.d, UBC_EVENT) & UBC_EVENT_DMA_ERROR, !=, 0);
    p = &l.d->port[0];
    p->tx_tail++;
    g_assert_cmpuint(qubc_send(l.d, 0, 10), ==, 10);
    QUBC_WAIT((qubc_reap(l.d, 1), l.d->port[1].received == 10));
    /* A ring that is nowhere stops. */
    qubc_ring_open(l.d, 0, UBC_RING_TX, QUBC_NOWHERE);
    qubc_pair_write(l.d, 0, UBC_RING_TX + UBC_RING_HEAD, 1);
    QUBC_WAIT(qubc_pair_read(l.d, 0, UBC_RING_TX + UBC_RING_CTRL) ==
              UBC_RING_ERROR);
    g_assert_cmpuint(qubc_read(l.d, UBC_DMA_ERRORS), ==, 2);
    loop_stop(&l);
}

/* Packets and rings in the own configuration space, which no request of the
 * function reaches: nothing is sent from there, and it is what it was. */
static void test_dma_to_config(void)
{
    ConfigWindow w;
    QUbcPort *p;
    Loop l;

    loop_start(&l);
    w = config_window_open(l.d->qts, l.d->pci);
    qubc_post(l.d, 0, UBC_RING_TX, w.at, 64, 3);
    qubc_doorbell(l.d, 0, UBC_RING_TX);
    QUBC_WAIT(qubc_status(l.d, 0, UBC_RING_TX, 0));
    g_assert_cmphex(qubc_status(l.d, 0, UBC_RING_TX, 0), ==,
                    UBC_DESC_DONE | UBC_DESC_ERROR);
    config_window_same(&w);
    config_window_aborted(&w);
    g_assert_true(qubc_logged(l.d, "there is no memory"));
    p = &l.d->port[0];
    p->tx_tail++;
    /* What comes goes there: it would be a reset. */
    qubc_ring_open(l.d, 1, UBC_RING_RX, QUBC_RX_RING(1));
    qubc_post(l.d, 1, UBC_RING_RX, config_window_control(&w), QUBC_BUF, 0);
    qubc_doorbell(l.d, 1, UBC_RING_RX);
    qubc_send(l.d, 0, 1);
    QUBC_WAIT(qubc_status(l.d, 1, UBC_RING_RX, 0));
    g_assert_cmphex(qubc_status(l.d, 1, UBC_RING_RX, 0), ==,
                    UBC_DESC_DONE | UBC_DESC_ERROR);
    /* A ring, whose entries would be written. */
    for (unsigned at = 0; at < CONFIG_WINDOW_BYTES; at += 64) {
        uint32_t errors = qubc_read(l.d, UBC_DMA_ERRORS);

        qubc_ring_open(l.d, 0, UBC_RING_TX, w.at + at);
        qubc_pair_write(l.d, 0, UBC_RING_TX + UBC_RING_HEAD, 1);
        QUBC_WAIT(qubc_pair_read(l.d, 0, UBC_RING_TX + UBC_RING_CTRL) ==
                  UBC_RING_ERROR);
        g_assert_cmpuint(qubc_read(l.d, UBC_DMA_ERRORS), ==, errors + 1);
    }
    config_window_same(&w);
    loop_stop(&l);
}

/* What comes goes to the firmware's ROM, which is no memory to be written; by an
 * IOThread, too, which must not ask for the big lock there: who has that is in a
 * register, and waits for the thread. */
static void dma_to_rom(const char *props, const char *args)
{
    enum { ROUNDS = 40, PACKETS = 64 };
    uint32_t errors;
    Loop l;

    loop_begin(&l, props, args);
    qubc_ring_open(l.d, 1, UBC_RING_RX, QUBC_RX_RING(1));
    errors = qubc_read(l.d, UBC_DMA_ERRORS);
    for (unsigned round = 1; round <= ROUNDS; round++) {
        for (unsigned n = 0; n < PACKETS; n++) {
            qubc_post(l.d, 1, UBC_RING_RX, 0xffff0000, QUBC_BUF, 0);
        }
        qubc_doorbell(l.d, 1, UBC_RING_RX);
        g_assert_cmpuint(qubc_send(l.d, 0, PACKETS), ==, PACKETS);
        QUBC_WAIT(qubc_read(l.d, UBC_DMA_ERRORS) == errors + round * PACKETS);
    }
    g_assert_cmphex(qubc_status(l.d, 1, UBC_RING_RX, 0), ==,
                    UBC_DESC_DONE | UBC_DESC_ERROR);
    g_assert_true(qubc_logged(l.d, "there is no memory"));
    loop_stop(&l);
}

static void test_dma_to_rom(void)
{
    dma_to_rom("", "");
    dma_to_rom(",iothread=io", " -object iothread,id=io");
}

/* Rings rest while bus mastering is off, and while the machine is stopped. */
static void test_rings_rest(void)
{
    Loop l;

    loop_start(&l);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t tail = l.d->port[0].tx_head;

        if (i) {
            qtest_qmp_assert_success(l.d->qts, "{ 'execute': 'stop' }");
        } else {
            qubc_bus_master(l.d, false);
        }
        g_assert_cmpuint(qubc_send(l.d, 0, 5), ==, 5);
        for (unsigned n = 0; n < 50; n++) {
            g_assert_cmpuint(qubc_pair_read(l.d, 0, UBC_RING_TX +
                                            UBC_RING_TAIL), ==, tail);
        }
        g_assert_true(qubc_up(l.d, 0));
        if (i) {
            qtest_qmp_assert_success(l.d->qts, "{ 'execute': 'cont' }");
        } else {
            qubc_bus_master(l.d, true);
        }
        QUBC_WAIT((qubc_reap(l.d, 1), l.d->port[1].received == 5 * (i + 1)));
    }
    loop_stop(&l);
}

/* Packets on VL 1, from pair `from` to pair `to`, which flow. */
static void flow(QUbc *d, unsigned from, unsigned to, unsigned n)
{
    uint16_t first = d->port[to].rx_head;

    for (unsigned i = 0; i < n; i++) {
        qubc_post(d, to, UBC_RING_RX, QUBC_RX_BUF(to), QUBC_BUF, 0);
        qubc_post(d, from, UBC_RING_TX, QUBC_TX_BUF(from), 2000,
                  3 | 1 << UBC_DESC_VL_SHIFT);
    }
    qubc_doorbell(d, to, UBC_RING_RX);
    qubc_doorbell(d, from, UBC_RING_TX);
    for (unsigned i = 0; i < n; i++) {
        QUBC_WAIT(qubc_status(d, to, UBC_RING_RX, first + i) ==
                  UBC_DESC_DONE);
    }
}

/*
 * Two pairs a port, a VL each.  VL 0 stands, both ways, for want of buffers at
 * the receiver, until credit and queue are full; VL 1 flows.
 */
static void test_no_head_of_line(void)
{
    uint16_t stood[2] = { 0 };
    Loop l;

    loop_wire(&l);
    for (unsigned p = 0; p < 2; p++) {
        qubc_bind(l.d, p, p, 1 << 0);
        qubc_bind(l.d, 2 + p, p, 1 << 1);
        l.d->port[p].room = 0;
        qubc_port_open(l.d, p);
        for (unsigned rx = 0; rx < 2; rx++) {
            qubc_ring_open(l.d, 2 + p, rx ? UBC_RING_RX : UBC_RING_TX,
                           rx ? QUBC_RX_RING(2 + p) : QUBC_TX_RING(2 + p));
        }
    }
    QUBC_WAIT(qubc_up(l.d, 0) && qubc_up(l.d, 1));
    QUBC_WAIT(qubc_link_int(l.d, 0, "rate") == 8);
    for (unsigned turn = 0; turn < 20; turn++) {
        for (unsigned p = 0; p < 2; p++) {
            qubc_send(l.d, p, QUBC_RING);
            flow(l.d, 2 + p, 3 - p, 50);
        }
    }
    for (unsigned p = 0; p < 2; p++) {
        uint16_t head = qubc_pair_read(l.d, p, UBC_RING_TX + UBC_RING_HEAD);

        stood[p] = qubc_pair_read(l.d, p, UBC_RING_TX + UBC_RING_TAIL);
        g_assert_cmpuint((uint16_t)(head - stood[p]), >, 0);
        g_assert_cmpuint(qubc_counter(l.d, p, UBC_CNT_RX_PACKETS), ==, 1000);
    }
    /* Buffers come, and all of it arrives. */
    for (unsigned p = 0; p < 2; p++) {
        l.d->port[p].room = QUBC_RING;
    }
    for (unsigned p = 0; p < 2; p++) {
        QUBC_WAIT((qubc_reap(l.d, 0), qubc_reap(l.d, 1),
                   l.d->port[p].received == l.d->port[!p].sent));
        g_assert_cmpuint(qubc_counter(l.d, p, UBC_CNT_RX_UNCLAIMED), ==, 0);
    }
    loop_stop(&l);
}

/* Values that cannot be leave a pair as it was; masks of nothing take nothing;
 * two pairs with the same masks: the first has it. */
static void test_pair_misuse(void)
{
    uint32_t errors;
    Loop l;

    loop_start(&l);
    errors = qubc_read(l.d, UBC_GUEST_ERRORS);
    qubc_pair_write(l.d, 2, UBC_PAIR_PORT, 2);
    qubc_pair_write(l.d, 2, UBC_PAIR_PORT, ~0u);
    qubc_pair_write(l.d, 2, UBC_RING_TX + UBC_RING_VECTOR, 1024);
    qubc_port_write(l.d, 0, UBC_PORT_VECTOR, ~0u);
    qubc_pair_write(l.d, 0, UBC_PAIR_VLS, 1); /* its rings are on */
    g_assert_cmpuint(qubc_read(l.d, UBC_GUEST_ERRORS), ==, errors + 5);
    g_assert_cmphex(qubc_pair_read(l.d, 2, UBC_PAIR_PORT), ==, 0);
    g_assert_true(qubc_logged(l.d, "ring pair bound to a port that does not"));
    g_assert_true(qubc_logged(l.d, "ring pair bound anew while a ring is"));
    /* Pair 2 beside pair 1, on port 1 as well. */
    qubc_bind(l.d, 2, 1, 0xffff);
    qubc_ring_open(l.d, 2, UBC_RING_RX, QUBC_RX_RING(2));
    qubc_post(l.d, 2, UBC_RING_RX, QUBC_RX_BUF(2), QUBC_BUF, 0);
    qubc_doorbell(l.d, 2, UBC_RING_RX);
    qubc_send(l.d, 0, 20);
    QUBC_WAIT((qubc_reap(l.d, 1), l.d->port[1].received == 20));
    g_assert_cmphex(qubc_status(l.d, 2, UBC_RING_RX, 0), ==, 0);
    /* Pair 1 with masks of nothing: now it is for pair 2. */
    qubc_pair_write(l.d, 1, UBC_RING_TX + UBC_RING_CTRL, 0);
    qubc_pair_write(l.d, 1, UBC_RING_RX + UBC_RING_CTRL, 0);
    qubc_bind(l.d, 1, 1, 0);
    qubc_ring_open(l.d, 1, UBC_RING_RX, QUBC_RX_RING(1));
    qubc_send(l.d, 0, 1);
    QUBC_WAIT(qubc_status(l.d, 2, UBC_RING_RX, 0) == UBC_DESC_DONE);
    /* And with neither, for nobody. */
    qubc_pair_write(l.d, 2, UBC_RING_RX + UBC_RING_CTRL, 0);
    qubc_send(l.d, 0, 9);
    QUBC_WAIT(qubc_counter(l.d, 1, UBC_CNT_RX_UNCLAIMED) == 9);
    loop_stop(&l);
}

enum { RESET_CTRL, RESET_CFG, RESET_FLR, RESET_BUS, RESETS };

static void reset_by(QUbc *d, unsigned how)
{
    uint8_t cap = qpci_find_capability(d->pci, PCI_CAP_ID_EXP, 0);
    uint32_t low = qpci_config_readl(d->pci, PCI_BASE_ADDRESS_0);
    uint32_t high = qpci_config_readl(d->pci, PCI_BASE_ADDRESS_1);

    switch (how) {
    case RESET_CTRL:
        qubc_write(d, UBC_CTRL, UBC_CTRL_RESET);
        return;
    case RESET_CFG:
        qubc_cfg_write(d, UB_CFG0_DEV_RST, 1);
        QUBC_WAIT(!qubc_read(d, UBC_EVENT_MASK)); /* by the next turn */
        return;
    case RESET_FLR:
        g_assert_cmphex(qpci_config_readl(d->pci, cap + PCI_EXP_DEVCAP) &
                        PCI_EXP_DEVCAP_FLR, !=, 0);
        qpci_config_writew(d->pci, cap + PCI_EXP_DEVCTL,
                           PCI_EXP_DEVCTL_BCR_FLR);
        break;
    default:
        qtest_qmp_assert_success(d->qts, "{ 'execute': 'system_reset' }");
        qtest_qmp_eventwait(d->qts, "RESET");
    }
    g_assert_cmphex(qpci_config_readw(d->pci, PCI_COMMAND), ==, 0);
    qpci_config_writel(d->pci, PCI_BASE_ADDRESS_0, low);
    qpci_config_writel(d->pci, PCI_BASE_ADDRESS_1, high);
    qpci_device_enable(d->pci);
}

/* Every reset is that of the device: all registers, all layers, all rings. */
static void test_resets(void)
{
    const uint32_t cna = UB_CFG0_UPI;
    Loop l;

    loop_start(&l);
    for (unsigned how = 0; how < RESETS; how++) {
        static const struct { uint32_t reg, value, after; } regs[] = {
            { UBC_EVENT_MASK, 0x300, 0 }, { UBC_CFG_ADDR, 77, 0 },
            { UBC_VECTOR, 5, 0 }, { UBC_PORT(1) + UBC_PORT_VECTOR, 6, 0 },
            { UBC_PORT(1) + UBC_PORT_EVENT_MASK, 1, 0 },
            { UBC_PAIR(30) + UBC_PAIR_PORT, 1, 0 },
            { UBC_PAIR(30) + UBC_PAIR_VLS, 1, 0xffff },
            { UBC_PAIR(30) + UBC_PAIR_CFGS, 1, 0xfd3f },
            { UBC_PAIR(30) + UBC_PAIR_RT, 1, 4 },
            { UBC_PAIR(30) + UBC_RING_RX + UBC_RING_VECTOR, 9, 0 },
            { UBC_PAIR(30) + UBC_RING_RX + UBC_RING_SIZE, 9, 0 },
        };

        QUBC_WAIT(qubc_up(l.d, 0) && qubc_up(l.d, 1));
        qubc_send(l.d, 0, 20);
        for (unsigned i = 0; i < G_N_ELEMENTS(regs); i++) {
            qubc_write(l.d, regs[i].reg, regs[i].value);
            g_assert_cmphex(qubc_read(l.d, regs[i].reg), ==, regs[i].value);
        }
        qubc_cfg_write(l.d, cna, 0x1234);
        g_assert_cmphex(qubc_cfg_read(l.d, cna), ==, 0x1234);
        reset_by(l.d, how);
        for (unsigned i = 0; i < G_N_ELEMENTS(regs); i++) {
            g_test_message("reset %u, register 0x%x", how, regs[i].reg);
            g_assert_cmphex(qubc_read(l.d, regs[i].reg), ==, regs[i].after);
        }
        g_assert_cmphex(qubc_cfg_read(l.d, cna), ==, 0);
        for (unsigned p = 0; p < 2; p++) {
            g_assert_cmphex(qubc_port_read(l.d, p, UBC_PORT_STATUS), ==, 0);
            g_assert_cmphex(qubc_port_read(l.d, p, UBC_PORT_CTRL), ==, 0);
            g_assert_cmphex(qubc_counter(l.d, p, UBC_CNT_RETRAINS), ==, 0);
            g_assert_cmphex(qubc_pair_read(l.d, p, UBC_RING_RX +
                                           UBC_RING_CTRL), ==, 0);
        }
        for (unsigned p = 0; p < 2; p++) {
            l.d->port[p].sent = l.d->port[p].received = 0;
            qubc_port_open(l.d, p);
        }
        QUBC_WAIT(qubc_up(l.d, 0) && qubc_up(l.d, 1));
        g_assert_cmpuint(qubc_send(l.d, 0, 30), ==, 30);
        QUBC_WAIT((qubc_reap(l.d, 1), l.d->port[1].received == 30));
        l.d->port[0].sent = l.d->port[1].received = 0;
    }
    loop_stop(&l);
}

#define ECAM 0xb0000000u
#define ROOT_PORT (ECAM + (5 << 15))    /* bus 0, slot 5 */
#define BEHIND (ECAM + (1 << 20))       /* bus 1, slot 0 */
#define BEHIND_BAR 0xc0000000u

/* What firmware does for the device behind a root port. */
static void place_behind(QTestState *qts)
{
    qtest_writel(qts, BEHIND + PCI_BASE_ADDRESS_0, BEHIND_BAR);
    qtest_writel(qts, BEHIND + PCI_BASE_ADDRESS_1, 0);
    qtest_writew(qts, BEHIND + PCI_COMMAND, PCI_COMMAND_MEMORY);
}

/* Nor is the reset of the bus behind a bridge another one. */
static void test_bus_reset(void)
{
    const uint32_t upi = BEHIND_BAR + UBC_CFG_WINDOW + 4 * UB_CFG0_UPI;
    const uint32_t mask = BEHIND_BAR + UBC_EVENT_MASK;
    QTestState *qts = qtest_init("-M q35 -nodefaults "
                                 "-device pcie-root-port,id=rp,addr=5 "
                                 "-device ubc,id=ub0,bus=rp,upi=7");
    QGuestAllocator alloc;
    QPCIBus *bus;
    QPCIDevice *host;

    pc_alloc_init(&alloc, qts, ALLOC_NO_FLAGS);
    bus = qpci_new_pc(qts, &alloc);
    host = qpci_device_find(bus, 0);
    qpci_config_writel(host, 0x60, ECAM | 1);   /* of Q35: where ECAM is */
    qtest_writel(qts, ROOT_PORT + PCI_PRIMARY_BUS, 0x00010100);
    qtest_writew(qts, ROOT_PORT + PCI_MEMORY_BASE, BEHIND_BAR >> 16);
    qtest_writew(qts, ROOT_PORT + PCI_MEMORY_LIMIT, (BEHIND_BAR >> 16) + 0xf0);
    qtest_writew(qts, ROOT_PORT + PCI_COMMAND, PCI_COMMAND_MEMORY);
    for (unsigned i = 0; i < 2; i++) {
        place_behind(qts);
        g_assert_cmphex(qtest_readl(qts, BEHIND_BAR + UBC_ID), ==, UBC_ID_VALUE);
        g_assert_cmphex(qtest_readl(qts, mask), ==, 0);
        g_assert_cmphex(qtest_readl(qts, upi), ==, 7);
        qtest_writel(qts, mask, 0x300);
        qtest_writel(qts, upi, 9);
        g_assert_cmphex(qtest_readl(qts, mask), ==, 0x300);
        g_assert_cmphex(qtest_readl(qts, upi), ==, 9);
        qtest_writew(qts, ROOT_PORT + PCI_BRIDGE_CONTROL, PCI_BRIDGE_CTL_BUS_RESET);
        qtest_writew(qts, ROOT_PORT + PCI_BRIDGE_CONTROL, 0);
        g_assert_cmphex(qtest_readw(qts, BEHIND + PCI_COMMAND), ==, 0);
    }
    g_free(host);
    qpci_free_pc(bus);
    alloc_destroy(&alloc);
    qtest_quit(qts);
}

/* A port that is disabled keeps what it was told, and what it counted; a Port Reset
 * (§10.6.1) is of its configuration, and the port that is enabled trains anew. */
static void test_disable_is_no_reset(void)
{
    const uint32_t cna = UB_CFG_PORT_BASE(0) + UB_PORT_CNA;
    Loop l;

    loop_start(&l);
    qubc_cfg_write(l.d, cna, 0x77);
    for (unsigned reset = 0; reset < 2; reset++) {
        if (reset) {
            qubc_cfg_write(l.d, UB_CFG_PORT_BASE(0) + UB_PORT_RST, 1);
        } else {
            qubc_port_write(l.d, 0, UBC_PORT_CTRL, 0);
            g_assert_false(qubc_up(l.d, 0));
            qubc_port_write(l.d, 0, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
        }
        g_assert_cmphex(qubc_cfg_read(l.d, cna), ==, reset ? 0 : 0x77);
        g_assert_cmphex(qubc_port_read(l.d, 0, UBC_PORT_CTRL), ==,
                        UBC_PORT_CTRL_ENABLE);
        QUBC_WAIT(qubc_up(l.d, 0) && qubc_up(l.d, 1));
        g_assert_cmpuint(qubc_send(l.d, 0, 30), ==, 30);
        QUBC_WAIT((qubc_reap(l.d, 1), l.d->port[1].received == 30 * (1 + reset)));
    }
    loop_stop(&l);
}

/* ---- The monitor ---------------------------------------------------------- */

static QDict *next_change(QUbc *d)
{
    QDict *event = qtest_qmp_eventwait_ref(d->qts, "UB_LINK_CHANGED");
    QDict *data = qdict_get_qdict(event, "data");

    g_assert_cmpstr(qdict_get_str(data, "device"), ==,
                    "/machine/peripheral/ub0");
    qobject_ref(data);
    qobject_unref(event);
    return data;
}

/* The event in which packets pass at the port, or do not any more. */
static void wait_change(QUbc *d, unsigned port, bool pass)
{
    bool found = false;

    while (!found) {
        QDict *data = next_change(d);

        found = qdict_get_int(data, "port") == port &&
                qdict_get_bool(data, "packets-pass") == pass;
        if (found && pass) {
            g_assert_true(qdict_get_bool(data, "link-up"));
            g_assert_cmpint(qdict_get_int(data, "tx-width"), ==, 8);
        }
        qobject_unref(data);
    }
}

static void test_link_events(void)
{
    QDict *rsp, *port;
    Loop l;

    loop_start(&l);
    wait_change(l.d, 0, true);
    QUBC_WAIT(qubc_link_int(l.d, 0, "rate") == 8);
    rsp = qtest_qmp(l.d->qts, "{ 'execute': 'query-ub-links' }");
    port = qobject_to(QDict, qlist_peek(qdict_get_qlist(rsp, "return")));
    g_assert_cmpstr(qdict_get_str(port, "lmsm-state"), !=, "unknown");
    g_assert_cmpstr(qdict_get_str(port, "dll-state"), ==, "dll-normal");
    g_assert_cmpstr(qdict_get_str(port, "retry-req-state"), ==, "normal");
    g_assert_cmpstr(qdict_get_str(port, "retry-ack-state"), ==, "normal");
    g_assert_cmpstr(qdict_get_str(port, "fec"), ==, "t4");
    qobject_unref(rsp);
    qubc_port_write(l.d, 0, UBC_PORT_CTRL, 0);
    wait_change(l.d, 0, false);
    qubc_port_write(l.d, 0, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    wait_change(l.d, 0, true);
    loop_stop(&l);
}

static unsigned faults(QUbc *d, QDict **first)
{
    QDict *rsp = qtest_qmp(d->qts, "{ 'execute': 'query-ub-faults' }");
    QList *list = qdict_get_qlist(rsp, "return");
    unsigned n = qlist_size(list);

    *first = n ? qobject_to(QDict, qlist_peek(list)) : NULL;
    if (n) {
        qobject_ref(*first);
    }
    qobject_unref(rsp);
    return n;
}

static void test_query_faults(void)
{
    QUbc *d = start();
    QDict *f;

    g_assert_cmpuint(faults(d, &f), ==, 0);
    qubc_inject(d, 1, 3, "'skew': 17, 'ber': 0.25");
    qubc_inject(d, 1, 5, "'cut': true");
    g_assert_cmpuint(faults(d, &f), ==, 2);
    g_assert_cmpint(qdict_get_int(f, "port"), ==, 1);
    g_assert_cmpint(qdict_get_int(f, "lane"), ==, 3);
    g_assert_cmpint(qdict_get_int(f, "skew"), ==, 17);
    g_assert_cmpfloat(qdict_get_double(f, "ber"), ==, 0.25);
    g_assert_false(qdict_get_bool(f, "cut"));
    qobject_unref(f);
    qubc_inject(d, 1, 3, "");
    qubc_inject(d, 1, 5, "");
    g_assert_cmpuint(faults(d, &f), ==, 0);
    qubc_stop(d);
}

/* What QMP says of the properties of a type. */
static QDict *properties(QUbc *d, const char *command, const char *type)
{
    QDict *rsp = qtest_qmp(d->qts, "{ 'execute': %s, 'arguments': "
                           "{ 'typename': %s } }", command, type);

    g_assert_nonnull(qdict_get_qlist(rsp, "return"));
    return rsp;
}

/* Each property of ours says what it is, and one that has a few values names them by
 * its type. */
static void test_descriptions(void)
{
    static const char *const devices[] = {
        "ubc", "rclink", "ncic-nic", "ncic-mthca",
    };
    /* Names that devices share, by one of them. */
    static const struct { const char *name, *type, *device; } enums[] = {
        { "clock", "UbcClock" }, { "fec", "UbcFec" }, { "fec-min", "UbcFec" },
        { "scrambler", "UbcScrambler" }, { "port-type", "UbcPortType" },
        { "crc-cover", "UbcCrcCover" }, { "npi-mode", "UbcNpiMode" },
        { "rights", "UbcRights" }, { "rh-order", "RclinkRhOrder" },
        { "gen2-order", "RclinkGen2Order" }, { "lite-xpu", "RclinkLiteXpu" },
        { "cfg160", "RclinkCfg160" }, { "icrc", "RclinkIcrc", "rclink" },
        { "udp-csum", "RclinkUdpCsum", "rclink" },
        { "rdma-ud-grh", "RdmaGrh" }, { "ud-grh", "RdmaGrh" },
        { "sm", "RdmaSm" },
    };
    g_autoptr(GHashTable) pci = g_hash_table_new_full(g_str_hash, g_str_equal,
                                                      g_free, NULL);
    QUbc *d = start();
    QDict *rsp = properties(d, "qom-list-properties", "pci-device");
    bool seen[G_N_ELEMENTS(enums)] = { false };
    const QListEntry *e;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(rsp, "return"), e) {
        QDict *prop = qobject_to(QDict, qlist_entry_obj(e));

        g_hash_table_add(pci, g_strdup(qdict_get_str(prop, "name")));
    }
    qobject_unref(rsp);
    for (unsigned n = 0; n < G_N_ELEMENTS(devices); n++) {
        unsigned ours = 0;

        rsp = properties(d, "device-list-properties", devices[n]);
        QLIST_FOREACH_ENTRY(qdict_get_qlist(rsp, "return"), e) {
            QDict *prop = qobject_to(QDict, qlist_entry_obj(e));
            const char *name = qdict_get_str(prop, "name");

            /* Those of PCI, and of the firmware, are QEMU's own. */
            if (g_hash_table_contains(pci, name) ||
                !strcmp(name, "bootindex")) {
                continue;
            }
            g_test_message("%s: %s", devices[n], name);
            g_assert_nonnull(qdict_get_try_str(prop, "description"));
            ours++;
            for (unsigned i = 0; i < G_N_ELEMENTS(enums); i++) {
                if (!strcmp(name, enums[i].name) &&
                    (!enums[i].device || !strcmp(devices[n], enums[i].device))) {
                    g_assert_cmpstr(qdict_get_str(prop, "type"), ==,
                                    enums[i].type);
                    seen[i] = true;
                }
            }
        }
        g_assert_cmpuint(ours, >, 15);
        qobject_unref(rsp);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(enums); i++) {
        g_assert_true(seen[i]);
    }
    qubc_stop(d);
}

/* info ub: all, one controller, one port; and what there is not. */
static void test_info(void)
{
    static const struct {
        const char *args;
        bool has[3]; /* ports 0 and 1 of ub0, port 0 of ub1 */
        const char *error;
    } asks[] = {
        { "", { true, true, true }, NULL },
        { " ub0", { true, true, false }, NULL },
        { " /machine/peripheral/ub1", { false, false, true }, NULL },
        { " ub0 1", { false, true, false }, NULL },
        { " ub1 1", { false }, "Error: ub1 has no port 1" },
        { " ub2", { false }, "Error: no UB controller is called 'ub2'" },
    };
    static const char *const lines[] = { "ub0 port 0:", "ub0 port 1:",
                                         "ub1 port 0:" };
    QUbc *d = qubc_start_attached("ports=2", "-device ubc,id=ub1,addr=6");

    for (unsigned i = 0; i < G_N_ELEMENTS(asks); i++) {
        g_autofree char *text = qtest_hmp(d->qts, "info ub%s", asks[i].args);

        g_test_message("info ub%s: %s", asks[i].args, text);
        for (unsigned k = 0; k < G_N_ELEMENTS(lines); k++) {
            g_assert_cmpint(!!strstr(text, lines[k]), ==, asks[i].has[k]);
        }
        g_assert_true(!asks[i].error || strstr(text, asks[i].error));
    }
    qubc_stop(d);
}

static char *guid_of(QUbc *d)
{
    GString *s = g_string_new("");

    for (unsigned i = 0; i < 4; i++) {
        g_string_append_printf(s, "%08x", qubc_cfg_read(d, UB_CFG0_BASE +
                                                        UB_CFG0_GUID + 3 - i));
    }
    return g_string_free(s, FALSE);
}

/* The default GUID is that of machine and device, and of no other one. */
static void test_default_guid(void)
{
    static const char *const more[] = {
        "-uuid 11111111-2222-3333-4444-555555555555",
        "-uuid 11111111-2222-3333-4444-555555555555",
        "-uuid 11111111-2222-3333-4444-555555555556",
        "", "",
    };
    char *guid[G_N_ELEMENTS(more)];

    for (unsigned i = 0; i < G_N_ELEMENTS(more); i++) {
        QUbc *d = qubc_start_attached("eid=000102030405060708090a0b0c0d0e0f,"
                                      "cna=0x123,port-cna=7,upi=5", more[i]);

        guid[i] = guid_of(d);
        g_assert_true(g_str_has_prefix(guid[i], "12340b0102000000"));
        g_assert_cmphex(qubc_cfg_read(d, UB_CFG0_BASE + UB_CFG0_EID), ==,
                        0x0c0d0e0f);
        g_assert_cmphex(qubc_cfg_read(d, UB_CFG0_BASE + UB_CFG0_PRIMARY_CNA),
                        ==, 0x123);
        g_assert_cmphex(qubc_cfg_read(d, UB_CFG_PORT_BASE(0) + UB_PORT_CNA),
                        ==, 7);
        g_assert_cmphex(qubc_cfg_read(d, UB_CFG0_BASE + UB_CFG0_UPI), ==, 5);
        qubc_stop(d);
        for (unsigned k = 0; k < i; k++) {
            g_assert_cmpint(!strcmp(guid[k], guid[i]), ==, i == 1 && k == 0);
        }
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(more); i++) {
        g_free(guid[i]);
    }
}

/* ---- Doorbells ------------------------------------------------------------ */

/*
 * The IOThread stands still in the middle of a turn, with the lock held: doorbells do not
 * wait for it, and count when it goes on.  Nor do the interrupts of that turn: who sends
 * them would wait with the big lock, and every doorbell for that.
 */
static void test_doorbells_do_not_wait(void)
{
    const unsigned burst = 64;
    g_autofree char *props = NULL;
    unsigned n;
    Stall t;
    Loop l;

    stall_open(&t);
    props = g_strdup_printf(",iothread=io,pcap=%s", t.fifo);
    loop_begin(&l, props, " -object iothread,id=io");
    qubc_msix(l.d, 2, false);
    qubc_pair_write(l.d, 0, UBC_RING_TX + UBC_RING_ARM, 0);
    g_assert_cmphex(qubc_pair_read(l.d, 0, UBC_RING_TX + UBC_RING_ARM), ==,
                    UBC_RING_ARMED);

    stall_rest(&t);
    n = qubc_send(l.d, 0, burst);
    QUBC_WAIT(stall_holds(&t));
    QUBC_WAIT(qubc_irq(l.d, QUBC_VECTOR_TX(0)));
    n += qubc_send(l.d, 0, burst);
    for (unsigned i = 0; i < 1000; i++) {
        qubc_doorbell(l.d, 0, UBC_RING_TX);
        qubc_doorbell(l.d, 1, UBC_RING_RX);
        qubc_pair_write(l.d, 1, UBC_RING_RX + UBC_RING_ARM, 0);
    }
    g_assert_true(stall_holds(&t));

    stall_go_on(&t);
    QUBC_WAIT((qubc_reap(l.d, 1), l.d->port[1].received == n));
    QUBC_WAIT(qubc_irq(l.d, QUBC_VECTOR_RX(1)));
    n += qubc_send(l.d, 0, 50);
    QUBC_WAIT((qubc_reap(l.d, 1), l.d->port[1].received == n));
    g_assert_cmpuint(qubc_read(l.d, UBC_GUEST_ERRORS), ==, 0);
    loop_stop(&l);
    stall_close(&t);
}

/* A doorbell counts before whatever is done after it. */
static void test_doorbell_order(void)
{
    QUbc *d = start();

    qubc_ring_open(d, 0, UBC_RING_RX, QUBC_RX_RING(0));
    qubc_pair_write(d, 0, UBC_RING_RX + UBC_RING_HEAD, 3);
    g_assert_cmphex(qubc_pair_read(d, 0, UBC_RING_RX + UBC_RING_HEAD), ==, 3);
    qubc_pair_write(d, 0, UBC_RING_RX + UBC_RING_ARM, 0);
    g_assert_cmphex(qubc_pair_read(d, 0, UBC_RING_RX + UBC_RING_ARM), ==,
                    UBC_RING_ARMED);
    /* One to a ring that is off is an error, though it is switched on next. */
    qubc_pair_write(d, 1, UBC_RING_RX + UBC_RING_HEAD, 1);
    qubc_ring_open(d, 1, UBC_RING_RX, QUBC_RX_RING(1));
    g_assert_cmpuint(qubc_read(d, UBC_GUEST_ERRORS), ==, 1);
    g_assert_cmphex(qubc_pair_read(d, 1, UBC_RING_RX + UBC_RING_HEAD), ==, 0);
    /* What is no 16-bit count, and a pair that nobody uses. */
    qubc_pair_write(d, 0, UBC_RING_RX + UBC_RING_HEAD, 0x10004);
    g_assert_cmphex(qubc_pair_read(d, 0, UBC_RING_RX + UBC_RING_CTRL), ==,
                    UBC_RING_ERROR);
    qubc_pair_write(d, 255, UBC_RING_RX + UBC_RING_HEAD, 1);
    g_assert_cmpuint(qubc_read(d, UBC_GUEST_ERRORS), ==, 3);
    /* A reset is not followed by doorbells that rang before it. */
    qubc_pair_write(d, 1, UBC_RING_RX + UBC_RING_HEAD, 5);
    qubc_write(d, UBC_CTRL, UBC_CTRL_RESET);
    g_assert_cmpuint(qubc_read(d, UBC_GUEST_ERRORS), ==, 0);
    g_assert_cmphex(qubc_pair_read(d, 1, UBC_RING_RX + UBC_RING_HEAD), ==, 0);
    qubc_stop(d);
}

/* Unplugged with its link up; the machine goes on. */
static void test_unplug(void)
{
    g_autofree char *dir = g_dir_make_tmp("ubc-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "wire", NULL);
    g_autofree char *more =
        g_strdup_printf("-chardev socket,id=w0,path=%s,server=on,wait=off "
                        "-chardev socket,id=w1,path=%s,reconnect-ms=100",
                        path, path);
    QUbc *d = qubc_start("pc", "ports=2,chardev0=w0,chardev1=w1", more);

    qubc_attach(d);
    qubc_port_open(d, 0);
    qubc_port_open(d, 1);
    QUBC_WAIT(qubc_up(d, 0) && qubc_up(d, 1));
    g_assert_cmpuint(qubc_send(d, 0, 100), ==, 100);
    qpci_unplug_acpi_device_test(d->qts, "ub0", QUBC_SLOT);
    qtest_qmp_assert_success(d->qts, "{ 'execute': 'query-ub-links' }");
    qubc_stop(d);
    unlink(path);
    rmdir(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc/reset-values", test_reset_values);
    qtest_add_func("/ubc/ring-misuse", test_ring_misuse);
    qtest_add_func("/ubc/dma-to-nowhere", test_dma_to_nowhere);
    qtest_add_func("/ubc/dma-to-config", test_dma_to_config);
    qtest_add_func("/ubc/dma-to-rom", test_dma_to_rom);
    qtest_add_func("/ubc/rings-rest", test_rings_rest);
    qtest_add_func("/ubc/no-head-of-line", test_no_head_of_line);
    qtest_add_func("/ubc/pair-misuse", test_pair_misuse);
    qtest_add_func("/ubc/resets", test_resets);
    qtest_add_func("/ubc/bus-reset", test_bus_reset);
    qtest_add_func("/ubc/disable-is-no-reset", test_disable_is_no_reset);
    qtest_add_func("/ubc/doorbells-do-not-wait", test_doorbells_do_not_wait);
    qtest_add_func("/ubc/doorbell-order", test_doorbell_order);
    qtest_add_func("/ubc/link-events", test_link_events);
    qtest_add_func("/ubc/query-faults", test_query_faults);
    qtest_add_func("/ubc/descriptions", test_descriptions);
    qtest_add_func("/ubc/info", test_info);
    qtest_add_func("/ubc/default-guid", test_default_guid);
    qtest_add_func("/ubc/unplug", test_unplug);
    return g_test_run();
}
