/*
 * Migration of the Ethernet engine: everything comes back, work goes on from
 * it, and what is wrong is refused.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>
#include "harness.h"
#include "../../lib/format.h"

#define BUF (MEM_BASE + 0x200000)
#define LOG 6

#define FORMAT_BYTES 5158
#define FORMAT_SUM \
    "7f8d998339d4a8f018afba54be20951590399ab5dba8a427e3ef1c0ef001fe78"

static uint8_t *save(Rig *r, size_t *len)
{
    CoreImage *im = core_image_save(0);
    uint8_t *data;

    ncic_eth_image(&r->eth, im);
    data = core_image_take(im, len);
    core_image_free(im);
    return data;
}

static const char *load(Rig *r, const uint8_t *data, size_t len)
{
    CoreImage *im = core_image_load(data, len, 0);
    const char *wrong;

    ncic_eth_image(&r->eth, im);
    wrong = core_image_done(im);
    core_image_free(im);
    return wrong;
}

/* The memory of @a goes along, as it does in a machine. */
static void move(Rig *a, Rig *b, const NcicEthConfig *cfg)
{
    g_autofree uint8_t *data = NULL;
    size_t len;

    rig_init(b, cfg);
    memcpy(b->mem, a->mem, MEM_SIZE);
    data = save(a, &len);
    g_assert_cmpstr(load(b, data, len), ==, NULL);
    ncic_eth_restart(&b->eth);
}

static void post(Rig *r, unsigned q, uint16_t index)
{
    rig_ptr(r, BUF + index * 64)[0] = index;
    rig_desc(r, NCIC_TX, q, LOG, index, BUF + index * 64, 60, 0, 0);
    rig_write(r, qreg(NCIC_TX, q, NCIC_Q_HEAD), index + 1);
}

/* A wire that is full, descriptors taken, interrupts owed, registers set. */
static void make_busy(Rig *r)
{
    rig_init(r, NULL);
    rig_queue(r, NCIC_TX, 0, LOG);
    rig_queue(r, NCIC_TX, 1, LOG);
    rig_queue(r, NCIC_RX, 0, LOG);
    for (unsigned i = 0; i < 30; i++) {
        post(r, i % 2, i / 2);
    }
    rig_desc(r, NCIC_RX, 0, LOG, 0, BUF + 0x10000, 2048, 0, 0);
    rig_write(r, qreg(NCIC_RX, 0, NCIC_Q_HEAD), 1);
    rig_write(r, 0x10030, 0x12345678);
    rig_write(r, 0x10188, 0x80000021);
    rig_write(r, 0x10000, 1);           /* an error bit */
    r->wire_full = true;
    ncic_eth_tx_run(&r->eth, 64);
}

static void test_registers(void)
{
    Rig a, b;

    make_busy(&a);
    move(&a, &b, NULL);
    for (unsigned off = 0; off < 0x3000; off += 4) {
        if (off == 0x10c || off == 0x118) {
            continue;           /* restart may announce */
        }
        g_assert_cmphex(rig_read(&b, NCIC_NCSR + off), ==,
                        rig_read(&a, NCIC_NCSR + off));
    }
    g_assert_cmphex(rig_read(&b, 0x1018c), ==, NCIC_ERR_ACCESS);
    rig_fini(&a);
    rig_fini(&b);
}

/* What was taken and not sent is sent by the other side, each once. */
static void test_traffic(void)
{
    unsigned sent;
    Rig a, b;

    make_busy(&a);
    sent = a.n_sent;
    g_assert_cmpuint(sent, ==, 1);
    g_assert_cmpuint(rig_read(&a, qreg(NCIC_TX, 0, NCIC_Q_TAIL)), ==, 15);
    move(&a, &b, NULL);
    g_assert_cmpuint(b.eth.tx_owed, ==, 0);
    while (ncic_eth_tx_run(&b.eth, 64)) {
    }
    g_assert_cmpuint(b.n_sent, ==, 29);
    for (unsigned i = 0; i < 29; i++) {
        g_assert_cmpuint(b.sent[i]->data[0], ==, (i + 1) / 2);
    }
    for (unsigned q = 0; q < 2; q++) {
        g_assert_cmpuint(rig_read(&b, qreg(NCIC_TX, q, NCIC_Q_CPL_HEAD)), ==,
                         15);
    }
    rig_fini(&a);
    rig_fini(&b);
}

/* Nothing to do there, nothing to do here: nobody is woken, whatever was pending
 * on this side before. */
static void test_idle(void)
{
    g_autofree uint8_t *data = NULL;
    size_t len;
    Rig a, b;

    rig_init(&a, NULL);
    rig_queue(&a, NCIC_TX, 0, LOG);
    data = save(&a, &len);
    make_busy(&b);
    rig_wire_done(&b, true);
    b.kicks_tx = b.kicks_rx = 0;
    g_assert_cmpstr(load(&b, data, len), ==, NULL);
    ncic_eth_restart(&b.eth);
    g_assert_cmphex(b.eth.tx_pending, ==, 0);
    g_assert_cmpuint(b.kicks_tx, ==, 0);
    g_assert_cmpuint(b.kicks_rx, ==, 0);
    rig_fini(&a);
    rig_fini(&b);
}

/* Descriptors that were posted and not taken: the other side looks for them, in
 * every queue. */
static void test_posted(void)
{
    Rig a, b;

    rig_init(&a, NULL);
    for (unsigned q = 0; q < 3; q++) {
        rig_queue(&a, NCIC_TX, q, LOG);
    }
    for (unsigned i = 0; i < 3; i++) {
        post(&a, 0, i);
        post(&a, 2, i);
    }
    move(&a, &b, NULL);
    g_assert_cmphex(b.eth.tx_pending, ==, 5);
    g_assert_cmpuint(b.kicks_tx, ==, 1);
    while (ncic_eth_tx_run(&b.eth, 64)) {
    }
    g_assert_cmpuint(b.n_sent, ==, 6);
    for (unsigned q = 0; q < 3; q += 2) {
        g_assert_cmpuint(rig_read(&b, qreg(NCIC_TX, q, NCIC_Q_CPL_HEAD)), ==,
                         3);
    }
    rig_fini(&a);
    rig_fini(&b);
}

/* Reads that had not been answered: an error completion where a descriptor was
 * taken, nothing where none was. */
static void test_unanswered(void)
{
    Rig a, b;

    rig_init(&a, NULL);
    rig_queue(&a, NCIC_TX, 0, LOG);
    a.async = true;
    post(&a, 0, 0);
    post(&a, 0, 1);
    ncic_eth_tx_run(&a.eth, 64);
    g_assert_cmpuint(a.n_wait, ==, 2);
    ncic_fetch_request(&a.eth.fetch[NCIC_TX], 0);
    move(&a, &b, NULL);
    while (ncic_eth_tx_run(&b.eth, 64)) {
    }
    g_assert_cmpuint(b.n_sent, ==, 0);
    g_assert_cmpuint(rig_read(&b, qreg(NCIC_TX, 0, NCIC_Q_CPL_HEAD)), ==, 2);
    g_assert_cmphex(rig_cpl(&b, NCIC_TX, 0, LOG, 1)[0], ==, NCIC_CPL_ERROR);
    g_assert_cmpuint(ncic_fetch_count(&b.eth.fetch[NCIC_TX]), ==, 0);
    rig_fini(&a);
    rig_fini(&b);
}

/* Interrupts that could not be sent are sent by the other side. */
static void test_interrupts(void)
{
    Rig a, b;

    rig_init(&a, NULL);
    rig_queue(&a, NCIC_TX, 0, LOG);
    rig_write(&a, 0x10188, 0x80000007);
    post(&a, 0, 0);
    rig_write(&a, 0x10054, 0);
    ncic_eth_tx_run(&a.eth, 64);
    rig_write(&a, 0x10054, 1);
    g_assert_cmpuint(a.irq[1], ==, 1);
    a.dma_off = true;
    rig_write(&a, qreg(NCIC_TX, 0, NCIC_Q_CPL_TAIL), 0);
    ncic_eth_set_link(&a.eth, false);
    move(&a, &b, NULL);
    g_assert_cmpuint(b.irq[1], ==, 1);
    g_assert_cmpuint(b.irq[7], ==, 1);
    g_assert_cmpuint(rig_read(&b, 0x10184), ==, 0);
    rig_fini(&a);
    rig_fini(&b);
}

/* A frame held back on one side does not stop the other. */
static void test_held(void)
{
    g_autofree uint8_t *data = NULL;
    uint8_t f[60] = { 0 };
    size_t len;
    Rig a, b;

    rig_init(&a, NULL);
    rig_queue(&a, NCIC_RX, 0, LOG);
    g_assert_cmpint(ncic_eth_rx(&a.eth, f, 60), ==, NCIC_RX_HELD);
    move(&a, &b, NULL);
    g_assert_true(ncic_eth_can_rx(&b.eth));
    /* Nor does what this side held before. */
    data = save(&a, &len);
    g_assert_cmpint(ncic_eth_rx(&b.eth, f, 60), ==, NCIC_RX_HELD);
    g_assert_cmpstr(load(&b, data, len), ==, NULL);
    g_assert_true(ncic_eth_can_rx(&b.eth));
    rig_fini(&a);
    rig_fini(&b);
}

/* A state that comes into an engine at work (a snapshot) replaces all of it. */
static void test_replaced(void)
{
    g_autofree uint8_t *data = NULL;
    uint8_t f[60] = { 9 };
    size_t len;
    Rig a, b;

    rig_init(&a, NULL);
    rig_queue(&a, NCIC_RX, 0, LOG);
    rig_desc(&a, NCIC_RX, 0, LOG, 0, BUF + 0x10000, 2048, 0, 0);
    rig_write(&a, qreg(NCIC_RX, 0, NCIC_Q_HEAD), 1);
    data = save(&a, &len);
    make_busy(&b);
    rig_wire_done(&b, true);
    b.wire_full = false;
    g_assert_cmpuint(ncic_fetch_count(&b.eth.fetch[NCIC_TX]), >, 0);
    b.async = true;
    ncic_eth_rx(&b.eth, f, 60);         /* waits for its descriptor */
    b.async = false;
    b.n_sent = 0;
    memcpy(b.mem, a.mem, MEM_SIZE);
    g_assert_cmpstr(load(&b, data, len), ==, NULL);
    ncic_eth_restart(&b.eth);
    g_assert_cmpuint(ncic_fetch_count(&b.eth.fetch[NCIC_TX]), ==, 0);
    ncic_eth_tx_run(&b.eth, 64);
    g_assert_cmpuint(b.n_sent, ==, 0);
    f[0] = 10;
    g_assert_cmpint(ncic_eth_rx(&b.eth, f, 60), ==, NCIC_RX_TAKEN);
    g_assert_cmphex(rig_read(&b, qreg(NCIC_RX, 0, NCIC_Q_CPL_HEAD)), ==, 1);
    g_assert_cmphex(rig_ptr(&b, BUF + 0x10000)[0], ==, 10);
    rig_fini(&a);
    rig_fini(&b);
}

/* Every setting that a driver can notice. */
static void test_settings(void)
{
    static const char *const names[] = {
        "queues", "msix-vectors", "mtu", "mac", "eth-ext", "layout",
        "eth-flags", "eth-arm", "irq-coalesce", "roce-csum", "roce-ports",
        "rx-drop",
    };
    g_autofree uint8_t *data = NULL;
    size_t len;
    Rig a, b;

    rig_init(&a, NULL);
    data = save(&a, &len);
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *want = g_strdup_printf("property '%s' differs",
                                                names[i]);
        NcicEthConfig cfg = rig_config();

        switch (i) {
        case 0:
            cfg.queues = 31;
            break;
        case 1:
            cfg.vectors = 63;
            break;
        case 2:
            cfg.mtu++;
            break;
        case 3:
            cfg.mac[5] ^= 1;
            break;
        case 4:
            cfg.ext ^= 1;
            break;
        case 5:
            cfg.tx_start ^= 1;
            break;
        case 6:
            cfg.doc_flags ^= 1;
            break;
        case 7:
            cfg.arm_oneshot ^= 1;
            break;
        case 8:
            cfg.irq_coalesce ^= 1;
            break;
        case 9:
            cfg.roce_csum ^= 1;
            break;
        case 10:
            cfg.roce_dest_only ^= 1;
            break;
        case 11:
            cfg.rx_drop ^= 4;
            break;
        }
        rig_init(&b, &cfg);
        g_assert_cmpstr(load(&b, data, len), ==, want);
        rig_fini(&b);
    }
    {
        NcicEthConfig cfg = rig_config();

        cfg.mac[0] ^= 2;
        rig_init(&b, &cfg);
        g_assert_cmpstr(load(&b, data, len), ==, "property 'mac' differs");
        rig_fini(&b);
    }
    rig_fini(&a);
}

/* States that no engine can be in. */
static void test_impossible(void)
{
    static const char *const want[] = {
        "a ring that cannot be", "a ring that cannot be",
        "a ring that cannot be", "a ring that cannot be",
        "an active ring that is not aligned",
        "an active ring that is not aligned",
        "a completion queue that cannot be",
        "a completion queue that cannot be",
        "a completion queue that cannot be",
        "a completion queue that cannot be",
        "a descriptor that cannot be", "a descriptor that cannot be",
        "a queue that does not exist",
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(want); i++) {
        g_autofree uint8_t *data = NULL;
        NcicQueue *k;
        size_t len;
        Rig a, b;

        make_busy(&a);
        rig_init(&b, NULL);
        k = &a.eth.queue[i & 1][0];
        switch (i) {
        case 0:
            k->desc.log_size = 16;
            break;
        case 1:
            k->cpl.active = 2;
            break;
        case 2:
            k->desc.head = 0x10000;
            break;
        case 3:
            k->cpl.tail = 0x10000;
            break;
        case 4:
            k->desc.base |= 8;
            break;
        case 5:
            k->cpl.base |= 16;
            break;
        case 6:
            k->cpl_index = 0x10000;
            break;
        case 7:
            k->intr |= 0x10000;
            break;
        case 8:
            k->cpl_reserved = 0x10000;
            break;
        case 9:
            k->irq_sent = 2;
            break;
        case 10:
            ncic_fetch_peek(&a.eth.fetch[NCIC_TX])->queue = 32;
            break;
        case 11:
            ncic_fetch_peek(&a.eth.fetch[NCIC_TX])->status = 4;
            break;
        case 12:
            a.eth.tx_next = 32;
            break;
        }
        data = save(&a, &len);
        g_assert_cmpstr(load(&b, data, len), ==, want[i]);
        rig_fini(&a);
        rig_fini(&b);
    }
}

/* The limits themselves are possible. */
static void test_extremes(void)
{
    g_autofree uint8_t *data = NULL;
    NcicQueue *k;
    size_t len;
    Rig a, b;

    make_busy(&a);
    k = &a.eth.queue[NCIC_RX][31];
    k->desc.log_size = k->cpl.log_size = 15;
    k->desc.head = k->desc.tail = k->cpl.head = k->cpl.tail = 0xffff;
    k->desc.base = k->cpl.base = 0xffffffffffffffff;    /* not active */
    k->cpl_index = k->cpl_reserved = 0xffff;
    k->intr = 0x8000ffff;
    k->irq_sent = 1;
    a.eth.tx_next = 31;
    data = save(&a, &len);
    rig_init(&b, NULL);
    g_assert_cmpstr(load(&b, data, len), ==, NULL);
    g_assert_cmpmem(&b.eth.queue[NCIC_RX][31], sizeof(*k), k, sizeof(*k));
    g_assert_cmpuint(b.eth.tx_next, ==, 31);
    rig_fini(&a);
    rig_fini(&b);
}

/* The format is a promise: another build reads it.  Whoever changes it on
 * purpose raises a version, and this sum. */
static void test_format(void)
{
    g_autofree uint8_t *data = NULL;
    size_t len;
    Rig a;

    make_busy(&a);
    data = save(&a, &len);
    format_is(data, len, FORMAT_BYTES, FORMAT_SUM);
    rig_fini(&a);
}

/* Registers keep their fixed bits whatever the image says. */
static void test_fixed_bits(void)
{
    g_autofree uint8_t *data = NULL;
    size_t len;
    Rig a, b;

    rig_init(&a, NULL);
    a.eth.ncsr[NCIC_R_TX_START] = 0xffffffff;
    a.eth.ncsr[NCIC_R_MSIX_ENABLE] = 0xffffffff;
    a.eth.ncsr[NCIC_R_LINK_STATUS] = 0xffffffff;
    a.eth.ncsr[NCIC_R_LINK_IRQ] = 0xffffffff;
    data = save(&a, &len);
    rig_init(&b, NULL);
    g_assert_cmpstr(load(&b, data, len), ==, NULL);
    g_assert_cmphex(rig_read(&b, 0x10050), ==, 1);
    g_assert_cmphex(rig_read(&b, 0x10054), ==, 1);
    g_assert_cmphex(rig_read(&b, 0x10184), ==, 1);
    g_assert_cmphex(rig_read(&b, 0x10188), ==, 0x8000ffff);
    rig_fini(&a);
    rig_fini(&b);
}

/* Any byte may be any other: refused, or an engine that works (sanitizers). */
static void test_damaged(void)
{
    g_autofree uint8_t *data = NULL;
    uint8_t f[60] = { 0 };
    unsigned refused = 0;
    size_t len;
    Rig a;

    make_busy(&a);
    data = save(&a, &len);
    for (unsigned n = 0; n < 500; n++) {
        g_autofree uint8_t *bad = g_memdup2(data, len);
        size_t cut = n % 10 ? len : g_test_rand_int_range(0, len);
        Rig b;

        bad[g_test_rand_int_range(0, len)] = g_test_rand_int();
        rig_init(&b, NULL);
        if (load(&b, bad, cut)) {
            ncic_eth_reset(&b.eth);
            refused++;
        }
        ncic_eth_restart(&b.eth);
        for (unsigned i = 0; i < 20 && ncic_eth_tx_run(&b.eth, 64); i++) {
        }
        ncic_eth_rx(&b.eth, f, 60);
        ncic_eth_reset(&b.eth);
        ncic_eth_set_link(&b.eth, true);
        rig_queue(&b, NCIC_TX, 0, LOG);
        b.n_sent = 0;
        post(&b, 0, 0);
        ncic_eth_tx_run(&b.eth, 1);
        g_assert_cmpuint(b.n_sent, ==, 1);
        rig_fini(&b);
    }
    g_assert_cmpuint(refused, >, 50);
    rig_fini(&a);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ncic/save/registers", test_registers);
    g_test_add_func("/ncic/save/traffic", test_traffic);
    g_test_add_func("/ncic/save/idle", test_idle);
    g_test_add_func("/ncic/save/posted", test_posted);
    g_test_add_func("/ncic/save/unanswered", test_unanswered);
    g_test_add_func("/ncic/save/interrupts", test_interrupts);
    g_test_add_func("/ncic/save/held", test_held);
    g_test_add_func("/ncic/save/replaced", test_replaced);
    g_test_add_func("/ncic/save/settings", test_settings);
    g_test_add_func("/ncic/save/impossible", test_impossible);
    g_test_add_func("/ncic/save/extremes", test_extremes);
    g_test_add_func("/ncic/save/format", test_format);
    g_test_add_func("/ncic/save/fixed-bits", test_fixed_bits);
    g_test_add_func("/ncic/save/damaged", test_damaged);
    return g_test_run();
}
