/*
 * ncic-nic as a node of the QOSGraph: the same driver on every machine and bus
 * that libqos knows how to reach it on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/module.h"
#include "libncic.h"

/* The node's edge names netdev hs0; its other end is the test's. */
static void *with_wire(GString *cmd_line, void *arg)
{
    QNcicWire *w = g_new(QNcicWire, 1);

    qncic_wire_open(w);
    g_string_append_printf(cmd_line, " -netdev socket,fd=%d,id=hs0 ",
                           w->theirs);
    return w;
}

static void wire_done(QNcicWire *w)
{
    qos_invalidate_command_line();
    qncic_wire_close(w);
    g_free(w);
}

static void test_identity(void *obj, void *data, QGuestAllocator *alloc)
{
    QNcic *d = obj;

    g_assert_cmphex(qpci_config_readw(d->pci, 0), ==, 0x10ee);
    g_assert_cmphex(qpci_config_readw(d->pci, 2), ==, 0x7028);
    g_assert_cmphex(qncic_read(d, 0x10000), ==, 0xffff);
    g_assert_cmphex(qncic_read(d, 0x10004), ==, 0xf01);
    g_assert_cmpuint(qpci_find_capability(d->pci, 0x11, 0), ==, 0xb0);
    wire_done(data);
}

static void test_send_receive(void *obj, void *data, QGuestAllocator *alloc)
{
    g_autofree uint8_t *got = g_malloc(QNCIC_FRAME);
    QNcic *d = obj;
    QNcicWire *w = data;
    uint8_t frame[64] = { 1, 2, 3, 4 };
    uint64_t buf;
    QNcicCpl c;

    buf = guest_alloc(alloc, 4096);
    qncic_msix_enable(d, 8);
    for (unsigned q = 0; q < 4; q++) {
        frame[20] = q;
        qncic_queue_up(d, QNCIC_TX, q, 3, 2 * q);
        qtest_bufwrite(d->qts, buf, frame, sizeof(frame));
        qncic_post(d, QNCIC_TX, q, buf, sizeof(frame), 0, 0, true);
        g_assert_cmpuint(qncic_wire_recv(w, d, got, 10000), ==, 64);
        g_assert_cmpmem(got, 64, frame, 64);
        c = qncic_complete(d, QNCIC_TX, q);
        g_assert_cmpuint(c.queue, ==, q);
        g_assert_true(qncic_irq(d, 2 * q));
    }
    qncic_queue_up(d, QNCIC_RX, 0, 3, 1);
    qncic_post(d, QNCIC_RX, 0, buf, 2048, 0, 0, true);
    qncic_wire_send(w, frame, sizeof(frame));
    c = qncic_complete(d, QNCIC_RX, 0);
    g_assert_cmpuint(c.length, ==, 64);
    qtest_bufread(d->qts, buf, got, 64);
    g_assert_cmpmem(got, 64, frame, 64);
    g_assert_true(qncic_irq(d, 1));
    for (unsigned q = 0; q < 4; q++) {
        qncic_queue_down(d, QNCIC_TX, q);
    }
    qncic_queue_down(d, QNCIC_RX, 0);
    guest_free(alloc, buf);
    guest_free(alloc, d->msix);
    wire_done(w);
}

static void register_tests(void)
{
    QOSGraphTestOptions opts = { .before = with_wire };

    qos_add_test("identity", "ncic-nic", test_identity, &opts);
    qos_add_test("send-receive", "ncic-nic", test_send_receive, &opts);
}

libqos_init(register_tests);
