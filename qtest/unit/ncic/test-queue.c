/*
 * Queue and completion-queue managers: take rule, wrap, interrupts
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "harness.h"

#define BUF (MEM_BASE + 0x200000)

static void post(Rig *r, NcicDir dir, unsigned q, unsigned log, uint16_t head)
{
    rig_desc(r, dir, q, log, head, BUF, 60, 0, 0);
    rig_write(r, qreg(dir, q, NCIC_Q_HEAD), (uint16_t)(head + 1));
}

/* Each condition of the take rule, one at a time. */
static void test_take_rule(void)
{
    Rig r;

    for (NcicDir dir = NCIC_RX; dir <= NCIC_TX; dir++) {
        rig_init(&r, NULL);
        g_assert_cmpint(ncic_queue_check(&r.eth, dir, 0), ==,
                        NCIC_TAKE_INACTIVE);
        rig_queue(&r, dir, 0, 1);
        g_assert_cmpint(ncic_queue_check(&r.eth, dir, 0), ==, NCIC_TAKE_EMPTY);
        post(&r, dir, 0, 1, 0);
        g_assert_cmpint(ncic_queue_check(&r.eth, dir, 0), ==, NCIC_TAKE_OK);

        rig_write(&r, qreg(dir, 0, NCIC_Q_CPL_INTR), 0);
        g_assert_cmpint(ncic_queue_check(&r.eth, dir, 0), ==,
                        NCIC_TAKE_UNARMED);
        rig_write(&r, qreg(dir, 0, NCIC_Q_CPL_INTR), 0x80000000);
        g_assert_cmpint(ncic_queue_check(&r.eth, dir, 0), ==, NCIC_TAKE_OK);

        /* two completions outstanding in a ring of two */
        rig_write(&r, qreg(dir, 0, NCIC_Q_CPL_TAIL), 0xfffe);
        g_assert_cmpint(ncic_queue_check(&r.eth, dir, 0), ==,
                        NCIC_TAKE_CPL_FULL);
        rig_write(&r, qreg(dir, 0, NCIC_Q_CPL_TAIL), 0xffff);
        g_assert_cmpint(ncic_queue_check(&r.eth, dir, 0), ==, NCIC_TAKE_OK);

        rig_write(&r, qreg(dir, 0, NCIC_Q_HEAD), 3);
        g_assert_cmpint(ncic_queue_check(&r.eth, dir, 0), ==,
                        NCIC_TAKE_OVERRUN);
        g_assert_cmpuint(r.errors[NCIC_E_HEAD], ==, 1);
        rig_write(&r, qreg(dir, 0, NCIC_Q_HEAD), 2);
        g_assert_cmpint(ncic_queue_check(&r.eth, dir, 0), ==, NCIC_TAKE_OK);

        rig_write(&r, qreg(dir, 0, NCIC_Q_CPL_LOG_SIZE), 0);
        g_assert_cmpint(ncic_queue_check(&r.eth, dir, 0), ==,
                        NCIC_TAKE_INACTIVE);
        rig_fini(&r);
    }
}

/* Every ring size that fits, several laps, counters crossing 65536. */
static void test_wrap(void)
{
    for (unsigned log = 0; log <= 11; log++) {
        unsigned size = 1u << log;
        uint16_t head = 0xfff0;
        uint16_t tail = head;
        Rig r;

        rig_init(&r, NULL);
        rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_HEAD), head);
        rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_TAIL), head);
        rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_HEAD), head);
        rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_TAIL), head);
        rig_queue(&r, NCIC_TX, 0, log);
        for (unsigned lap = 0; lap < 3 && r.n_sent + size < SENT_MAX; lap++) {
            /* full ring, each frame with its own content */
            for (unsigned i = 0; i < size; i++) {
                uint64_t buf = BUF + i * 64;

                memset(rig_ptr(&r, buf), 0, 60);
                put_le32(rig_ptr(&r, buf), lap << 16 | i);
                rig_desc(&r, NCIC_TX, 0, log, head++, buf, 60, 0, 0);
            }
            rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_HEAD), head);
            while (ncic_eth_tx_run(&r.eth, 100)) {
            }
            g_assert_cmpuint(r.n_sent, ==, (lap + 1) * size);
            g_assert_cmphex(rig_read(&r, qreg(NCIC_TX, 0, NCIC_Q_TAIL)), ==,
                            head);
            g_assert_cmphex(rig_read(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_HEAD)),
                            ==, head);
            for (unsigned i = 0; i < size; i++, tail++) {
                uint8_t *cpl = rig_cpl(&r, NCIC_TX, 0, log, tail);

                g_assert_cmphex(get_le32(r.sent[lap * size + i]->data), ==,
                                lap << 16 | i);
                g_assert_cmphex(get_le16(cpl + NCIC_CPL_INDEX), ==, tail);
                g_assert_cmphex(get_le16(cpl + NCIC_CPL_LENGTH), ==, 60);
                g_assert_cmphex(get_le32(cpl + NCIC_CPL_STATUS), ==, 0);
            }
            rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_TAIL), tail);
        }
        g_assert_cmpuint(r.eth.counter[NCIC_C_GUEST_ERR], ==, 0);
        rig_fini(&r);
    }
}

/* One message until the host writes the CPL tail, none lost. */
static void test_interrupt_coalesced(void)
{
    Rig r;

    rig_init(&r, NULL);
    rig_queue(&r, NCIC_TX, 3, 4);
    for (unsigned i = 0; i < 3; i++) {
        post(&r, NCIC_TX, 3, 4, i);
        ncic_eth_tx_run(&r.eth, 8);
    }
    g_assert_cmpuint(r.irq[7], ==, 1);
    /* the host has seen two of three: the third is announced by the write */
    rig_write(&r, qreg(NCIC_TX, 3, NCIC_Q_CPL_TAIL), 2);
    g_assert_cmpuint(r.irq[7], ==, 2);
    rig_write(&r, qreg(NCIC_TX, 3, NCIC_Q_CPL_TAIL), 3);
    g_assert_cmpuint(r.irq[7], ==, 2);
    post(&r, NCIC_TX, 3, 4, 3);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmpuint(r.irq[7], ==, 3);
    g_assert_cmpuint(r.eth.counter[NCIC_C_TX_IRQ], ==, 3);
    rig_fini(&r);
}

static void test_interrupt_each(void)
{
    NcicEthConfig cfg = rig_config();
    Rig r;

    cfg.irq_coalesce = false;
    rig_init(&r, &cfg);
    rig_queue(&r, NCIC_TX, 0, 4);
    for (unsigned i = 0; i < 5; i++) {
        post(&r, NCIC_TX, 0, 4, i);
    }
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmpuint(r.irq[1], ==, 5);
    /* MSI-X enable of the hardware sources */
    rig_write(&r, 0x10054, 0);
    post(&r, NCIC_TX, 0, 4, 5);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmpuint(r.irq[1], ==, 5);
    rig_fini(&r);
}

static void test_interrupt_oneshot(void)
{
    NcicEthConfig cfg = rig_config();
    uint32_t intr = qreg(NCIC_TX, 0, NCIC_Q_CPL_INTR);
    Rig r;

    cfg.arm_oneshot = true;
    rig_init(&r, &cfg);
    rig_queue(&r, NCIC_TX, 0, 4);
    for (unsigned i = 0; i < 3; i++) {
        post(&r, NCIC_TX, 0, 4, i);
        ncic_eth_tx_run(&r.eth, 8);
    }
    g_assert_cmpuint(r.n_sent, ==, 3);
    g_assert_cmpuint(r.irq[1], ==, 1);
    g_assert_cmphex(rig_read(&r, intr), ==, 1);
    /* arming with completions waiting fires at once */
    rig_write(&r, intr, 0x80000001);
    g_assert_cmpuint(r.irq[1], ==, 2);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_TAIL), 3);
    rig_write(&r, intr, 0x80000001);
    g_assert_cmpuint(r.irq[1], ==, 2);
    g_assert_cmphex(rig_read(&r, intr), ==, 0x80000001);
    rig_fini(&r);
}

static void test_vector_out_of_range(void)
{
    Rig r;

    rig_init(&r, NULL);
    rig_queue(&r, NCIC_TX, 0, 4);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_INTR), 0x8000ffff);
    g_assert_cmpuint(r.errors[NCIC_E_INDEX], ==, 1);
    post(&r, NCIC_TX, 0, 4, 0);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmpuint(r.n_sent, ==, 1);
    g_assert_cmpuint(r.errors[NCIC_E_INDEX], ==, 2);
    rig_fini(&r);
}

/* The document knows no active and armed bits. */
static void test_document_flags(void)
{
    NcicEthConfig cfg = rig_config();
    Rig r;

    cfg.doc_flags = true;
    rig_init(&r, &cfg);
    /* a size without a base is not enough */
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_LOG_SIZE), 4);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_LOG_SIZE)), ==,
                    4);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_BASE_LO), cpl_ring(NCIC_TX, 0));
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_LOG_SIZE), 4);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_INTR), 1);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_BASE_LO), desc_ring(NCIC_TX, 0));
    post(&r, NCIC_TX, 0, 4, 0);
    g_assert_cmpint(ncic_queue_check(&r.eth, NCIC_TX, 0), ==,
                    NCIC_TAKE_INACTIVE);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_LOG_SIZE), 4);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmpuint(r.n_sent, ==, 1);
    g_assert_cmpuint(r.irq[1], ==, 1);
    rig_fini(&r);
}

/* A new base takes the ring down; what is locked stays locked. */
static void test_document_rebase(void)
{
    NcicEthConfig cfg = rig_config();
    uint32_t cpl_base = qreg(NCIC_TX, 0, NCIC_Q_CPL_BASE_LO);
    uint32_t cpl_size = qreg(NCIC_TX, 0, NCIC_Q_CPL_LOG_SIZE);
    uint32_t tail = qreg(NCIC_TX, 0, NCIC_Q_TAIL);
    Rig r;

    cfg.doc_flags = true;
    rig_init(&r, &cfg);
    rig_queue(&r, NCIC_TX, 0, 4);
    g_assert_cmphex(rig_read(&r, cpl_size), ==, 0x80000004);
    rig_write(&r, tail, 3);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_HEAD), 3);
    g_assert_cmpuint(r.errors[NCIC_E_ACTIVE], ==, 2);
    g_assert_cmphex(rig_read(&r, tail), ==, 0);

    rig_write(&r, cpl_base, cpl_ring(NCIC_TX, 0) + 13);
    g_assert_cmphex(rig_read(&r, cpl_size), ==, 4);
    post(&r, NCIC_TX, 0, 4, 0);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmpuint(r.n_sent, ==, 0);
    rig_write(&r, cpl_size, 4);
    g_assert_cmpuint(r.errors[NCIC_E_RING_ALIGN], ==, 1);
    g_assert_cmphex(rig_read(&r, cpl_size), ==, 4);
    rig_write(&r, cpl_base, cpl_ring(NCIC_TX, 0));
    rig_write(&r, cpl_size, 4);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmpuint(r.n_sent, ==, 1);
    g_assert_cmpuint(r.irq[1], ==, 1);

    /* a descriptor ring too: the tail stays, and can be written now */
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_BASE_HI), 0);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_TX, 0, NCIC_Q_LOG_SIZE)), ==, 4);
    rig_write(&r, tail, 7);
    g_assert_cmphex(rig_read(&r, tail), ==, 7);
    rig_fini(&r);
}

/* A message that cannot be sent is sent when it can. */
static void test_interrupt_late(void)
{
    Rig r;

    rig_init(&r, NULL);
    rig_queue(&r, NCIC_TX, 0, 4);
    rig_queue(&r, NCIC_TX, 1, 4);
    rig_write(&r, 0x10054, 0);
    post(&r, NCIC_TX, 0, 4, 0);
    post(&r, NCIC_TX, 0, 4, 1);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmpuint(r.irq[1], ==, 0);
    rig_write(&r, 0x10054, 1);
    g_assert_cmpuint(r.irq[1], ==, 1);
    g_assert_cmpuint(r.irq[3], ==, 0);
    g_assert_cmpuint(rig_read(&r, 0x1010c), ==, 1);
    rig_write(&r, 0x10054, 0);
    rig_write(&r, 0x10054, 1);
    g_assert_cmpuint(r.irq[1], ==, 1);
    /* the tail is written while no message can leave */
    r.dma_off = true;
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_TAIL), 1);
    g_assert_cmpuint(r.irq[1], ==, 1);
    r.dma_off = false;
    ncic_eth_restart(&r.eth);
    g_assert_cmpuint(r.irq[1], ==, 2);
    /* nothing new: nothing is said again */
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_TAIL), 2);
    ncic_eth_restart(&r.eth);
    g_assert_cmpuint(r.irq[1], ==, 2);
    rig_fini(&r);
}

/* One message for each completion: a tail that lags asks for none again. */
static void test_interrupt_each_once(void)
{
    NcicEthConfig cfg = rig_config();
    Rig r;

    cfg.irq_coalesce = false;
    rig_init(&r, &cfg);
    rig_queue(&r, NCIC_TX, 0, 4);
    for (unsigned i = 0; i < 3; i++) {
        post(&r, NCIC_TX, 0, 4, i);
        ncic_eth_tx_run(&r.eth, 8);
    }
    g_assert_cmpuint(r.irq[1], ==, 3);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_TAIL), 1);
    rig_write(&r, 0x10054, 1);
    ncic_eth_restart(&r.eth);
    g_assert_cmpuint(r.irq[1], ==, 3);
    rig_fini(&r);
}

/* A completion ring that comes up again has said nothing; its descriptor ring
 * does not make it forget. */
static void test_interrupt_anew(void)
{
    uint32_t cpl_size = qreg(NCIC_TX, 0, NCIC_Q_CPL_LOG_SIZE);
    uint32_t size = qreg(NCIC_TX, 0, NCIC_Q_LOG_SIZE);
    Rig r;

    rig_init(&r, NULL);
    rig_queue(&r, NCIC_TX, 0, 4);
    post(&r, NCIC_TX, 0, 4, 0);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmpuint(r.irq[1], ==, 1);
    rig_write(&r, size, 4);
    rig_write(&r, size, NCIC_Q_ACTIVE | 4);
    post(&r, NCIC_TX, 0, 4, 1);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmpuint(r.n_sent, ==, 2);
    g_assert_cmpuint(r.irq[1], ==, 1);
    rig_write(&r, cpl_size, 4);
    rig_write(&r, cpl_size, NCIC_Q_ACTIVE | 4);
    post(&r, NCIC_TX, 0, 4, 2);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmpuint(r.irq[1], ==, 2);
    rig_fini(&r);
}

/* A completion that cannot be written counts, and the ring goes on; a tail
 * beyond the head is said to be one. */
static void test_completion_errors(void)
{
    Rig r;

    rig_init(&r, NULL);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_BASE_LO), 0xdead0000);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_LOG_SIZE), NCIC_Q_ACTIVE | 4);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_INTR), NCIC_Q_CPL_ARMED | 1);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_BASE_LO), desc_ring(NCIC_TX, 0));
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_LOG_SIZE), NCIC_Q_ACTIVE | 4);
    post(&r, NCIC_TX, 0, 4, 0);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmpuint(rig_read(&r, 0x101cc), ==, 1);
    g_assert_cmpuint(r.errors[NCIC_E_CPL_DMA], ==, 1);
    g_assert_cmpuint(rig_read(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_HEAD)), ==, 1);
    g_assert_cmpuint(r.errors[NCIC_E_HEAD], ==, 0);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_TAIL), 2);
    g_assert_cmpuint(r.errors[NCIC_E_HEAD], ==, 1);
    rig_fini(&r);
}

/* What was taken and is cancelled keeps no place in the completion ring. */
static void test_cancel_frees(void)
{
    Rig r;

    rig_init(&r, NULL);
    rig_queue(&r, NCIC_TX, 0, 4);
    r.wire_full = true;
    for (unsigned i = 0; i < 10; i++) {
        post(&r, NCIC_TX, 0, 4, i);
    }
    ncic_eth_tx_run(&r.eth, 64);
    g_assert_cmpuint(r.eth.queue[NCIC_TX][0].cpl_reserved, ==, 10);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_LOG_SIZE), 4);
    g_assert_cmpuint(r.eth.queue[NCIC_TX][0].cpl_reserved, ==, 1);
    rig_wire_done(&r, true);
    rig_fini(&r);
}

/* The same of the link's interrupt. */
static void test_link_interrupt_late(void)
{
    Rig r;

    rig_init(&r, NULL);
    rig_write(&r, 0x10188, 0x80000000 | 9);
    r.dma_off = true;
    ncic_eth_set_link(&r.eth, false);
    g_assert_cmpuint(r.irq[9], ==, 0);
    r.dma_off = false;
    ncic_eth_restart(&r.eth);
    g_assert_cmpuint(r.irq[9], ==, 1);
    ncic_eth_restart(&r.eth);
    g_assert_cmpuint(r.irq[9], ==, 1);
    rig_write(&r, 0x10054, 0);
    ncic_eth_set_link(&r.eth, true);
    g_assert_cmpuint(r.irq[9], ==, 1);
    rig_write(&r, 0x10054, 1);
    g_assert_cmpuint(r.irq[9], ==, 2);
    /* switched off, it is not owed */
    rig_write(&r, 0x10054, 0);
    rig_write(&r, 0x10188, 9);
    ncic_eth_set_link(&r.eth, false);
    rig_write(&r, 0x10054, 1);
    g_assert_cmpuint(r.irq[9], ==, 2);
    rig_fini(&r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ncic/queue/take-rule", test_take_rule);
    g_test_add_func("/ncic/queue/wrap", test_wrap);
    g_test_add_func("/ncic/queue/interrupt/coalesced",
                    test_interrupt_coalesced);
    g_test_add_func("/ncic/queue/interrupt/each", test_interrupt_each);
    g_test_add_func("/ncic/queue/interrupt/oneshot", test_interrupt_oneshot);
    g_test_add_func("/ncic/queue/interrupt/out-of-range",
                    test_vector_out_of_range);
    g_test_add_func("/ncic/queue/document-flags", test_document_flags);
    g_test_add_func("/ncic/queue/document-rebase", test_document_rebase);
    g_test_add_func("/ncic/queue/interrupt/late", test_interrupt_late);
    g_test_add_func("/ncic/queue/completion-errors", test_completion_errors);
    g_test_add_func("/ncic/queue/cancel-frees", test_cancel_frees);
    g_test_add_func("/ncic/queue/interrupt/each-once",
                    test_interrupt_each_once);
    g_test_add_func("/ncic/queue/interrupt/anew", test_interrupt_anew);
    g_test_add_func("/ncic/queue/interrupt/link-late",
                    test_link_interrupt_late);
    return g_test_run();
}
