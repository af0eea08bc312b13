/*
 * ncic-nic: live migration between two emulators
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "ncic-fixture.h"

static Fixture *migrate_to(Fixture *from, const char *props)
{
    return fixture_migrate(from, "ncic-nic", props);
}

/* Every register of every queue, with work posted, survives. */
static void test_registers(void)
{
    Fixture *a = fixture_start("", ""), *b;
    g_autofree uint32_t *before = g_new(uint32_t, 0x3000 / 4);

    qncic_write(&a->nic, 0x10030, 0x12345678);
    qncic_write(&a->nic, 0x10188, 0x80000011);
    qncic_write(&a->nic, NCIC_NCSR, 0);         /* an error bit */
    for (unsigned q = 0; q < 32; q++) {
        for (unsigned reg = 0; reg < 0x40; reg += 4) {
            qncic_write(&a->nic, qncic_qreg(QNCIC_RX, q, reg),
                        (q * 0x01010101 + reg * 77) & 0x7fffffff);
            qncic_write(&a->nic, qncic_qreg(QNCIC_TX, q, reg),
                        (q * 0x10101011 + reg * 55) & 0x7fffffff);
        }
    }
    for (unsigned i = 0; i < 0x3000 / 4; i++) {
        before[i] = qncic_read(&a->nic, NCIC_NCSR + i * 4);
    }
    b = migrate_to(a, "");
    for (unsigned i = 0; i < 0x3000 / 4; i++) {
        g_assert_cmphex(qncic_read(&b->nic, NCIC_NCSR + i * 4), ==, before[i]);
    }
    fixture_stop(a);
    fixture_stop(b);
}

/*
 * Rings in use: buffers posted before are filled after, a frame that was held
 * back for want of descriptors and frames the wire had not taken yet go on.
 */
static void test_traffic(void)
{
    g_autofree uint8_t *got = g_malloc(QNCIC_FRAME);
    Fixture *a = fixture_start("", ""), *b;
    uint64_t buf = guest_alloc(&a->alloc, 4096);
    uint8_t frame[60] = { 9, 8, 7 };
    QNcicCpl c;

    qncic_msix_enable(&a->nic, 4);
    qncic_queue_up(&a->nic, QNCIC_RX, 0, 4, 0);
    qncic_queue_up(&a->nic, QNCIC_TX, 0, 10, 1);
    for (unsigned i = 0; i < 3; i++) {
        qncic_post(&a->nic, QNCIC_RX, 0, buf, 2048, 0, 0, true);
    }
    qncic_wire_send(&a->wire, frame, 60);
    qncic_complete(&a->nic, QNCIC_RX, 0);
    g_assert_true(qncic_irq(&a->nic, 0));
    /* Nobody reads the wire: its buffer fills and transmission stops. */
    for (unsigned i = 0; i < 1000; i++) {
        qncic_post(&a->nic, QNCIC_TX, 0, buf, 1514, 0, 0, false);
    }
    qncic_write(&a->nic, qncic_qreg(QNCIC_TX, 0, NCIC_Q_HEAD), 1000);
    g_assert_cmpuint(qncic_read(&a->nic,
                                qncic_qreg(QNCIC_TX, 0, NCIC_Q_CPL_HEAD)),
                     <, 1000);

    b = migrate_to(a, "");
    /* All of them complete, each once, over the new wire. */
    for (unsigned i = 0; i < 1000; i++) {
        g_assert_cmphex(qncic_read(&b->nic,
                                   qncic_qreg(QNCIC_TX, 0, NCIC_Q_HEAD)), ==,
                        1000);
        while (qncic_read(&b->nic, qncic_qreg(QNCIC_TX, 0, NCIC_Q_CPL_HEAD)) ==
               b->nic.q[QNCIC_TX][0].cpl_tail) {
            /* the machine's own announcement is 60 bytes long */
            g_assert_cmpuint(qncic_wire_recv(&b->wire, &b->nic, got, 10000),
                             >=, 60);
        }
        c = qncic_complete(&b->nic, QNCIC_TX, 0);
        g_assert_cmpuint(c.index, ==, i);
        g_assert_cmphex(c.status, ==, 0);
    }
    while (qncic_wire_recv(&b->wire, &b->nic, got, 50)) {
    }
    frame[0] = 1;
    qncic_wire_send(&b->wire, frame, 60);
    c = qncic_complete(&b->nic, QNCIC_RX, 0);
    g_assert_cmpuint(c.index, ==, 1);
    qtest_bufread(b->qts, buf, got, 60);
    g_assert_cmpmem(got, 60, frame, 60);
    g_assert_true(qncic_irq(&b->nic, 0));
    fixture_stop(a);
    fixture_stop(b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ncic-migrate/registers", test_registers);
    qtest_add_func("/ncic-migrate/traffic", test_traffic);
    return g_test_run();
}
