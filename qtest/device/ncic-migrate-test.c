/*
 * ncic-nic: live migration between two emulators
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qobject/qdict.h"
#include "ncic-fixture.h"
#include "libnrdma.h"

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

/* A frame from the wire: @next or one behind it, 1; or an announcement of the
 * machine itself, which is 60 bytes long and comes several times, 0. */
static unsigned announced_or_next(Fixture *b, uint8_t *got, unsigned *next)
{
    size_t n = qncic_wire_recv(&b->wire, &b->nic, got, 120000);

    g_assert_cmpuint(n, >=, 60);
    if (n != 1514) {
        return 0;
    }
    g_assert_cmpuint(ldl_le_p(got + 14), >=, *next);
    *next = ldl_le_p(got + 14) + 1;
    return 1;
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
    uint64_t data = guest_alloc(&a->alloc, 1000 * 2048);
    uint8_t frame[60] = { 9, 8, 7 };
    unsigned seen = 0, next = 0;
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
        qtest_writel(a->qts, data + i * 2048 + 14, i);
        qncic_post(&a->nic, QNCIC_TX, 0, data + i * 2048, 1514, 0, 0, false);
    }
    qncic_write(&a->nic, qncic_qreg(QNCIC_TX, 0, NCIC_Q_HEAD), 1000);
    g_assert_cmpuint(qncic_read(&a->nic,
                                qncic_qreg(QNCIC_TX, 0, NCIC_Q_CPL_HEAD)),
                     <, 1000);

    b = migrate_to(a, "");
    /* The first of them on the old wire, in order; a machine that has gone writes
     * no more, so what there is of them is there. */
    while (qncic_wire_recv(&a->wire, &a->nic, got, 200) == 1514) {
        g_assert_cmpuint(ldl_le_p(got + 14), ==, next);
        next++;
        seen++;
    }
    /* All of them complete, each once; the others are on the new wire. */
    for (unsigned i = 0; i < 1000; i++) {
        g_assert_cmphex(qncic_read(&b->nic,
                                   qncic_qreg(QNCIC_TX, 0, NCIC_Q_HEAD)), ==,
                        1000);
        while (qncic_read(&b->nic, qncic_qreg(QNCIC_TX, 0, NCIC_Q_CPL_HEAD)) ==
               b->nic.q[QNCIC_TX][0].cpl_tail) {
            seen += announced_or_next(b, got, &next);
        }
        c = qncic_complete(&b->nic, QNCIC_TX, 0);
        g_assert_cmpuint(c.index, ==, i);
        g_assert_cmphex(c.status, ==, 0);
    }
    /* Completed is not yet read: an emulator on a busy host writes later. */
    while (seen + fixture_counter(b, "tx-drop-wire") < 1000) {
        seen += announced_or_next(b, got, &next);
    }
    /* What QEMU threw away when the source stopped is known. */
    g_assert_cmpuint(seen + fixture_counter(b, "tx-drop-wire"), ==, 1000);
    g_assert_cmpuint(fixture_counter(b, "tx-drop-wire"), <=, 1);
    g_assert_cmpuint(fixture_counter(b, "tx-frames"), ==, seen);
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

/* ---- What does not fit is refused ------------------------------------------------- */

static char *save_to_file(Fixture *f, gsize *len)
{
    g_autofree char *path = NULL, *uri = NULL;
    char *data;
    int fd = g_file_open_tmp("ncic-XXXXXX.image", &path, NULL);

    g_assert_cmpint(fd, >=, 0);
    close(fd);
    uri = g_strdup_printf("file:%s", path);
    qtest_qmp_assert_success(f->qts, "{ 'execute': 'migrate', 'arguments': {"
                             " 'uri': %s } }", uri);
    fixture_wait_migration(f->qts);
    g_assert_true(g_file_get_contents(path, &data, len, NULL));
    unlink(path);
    return data;
}

/*
 * Starts a device with @props from @data.  It must say no, with @why in its log
 * (or anything, @why NULL), or run; it must not die of it.  True: it runs.
 */
static bool load_from(const char *props, const char *data, gsize len,
                      const char *why)
{
    g_autofree char *path = NULL, *uri = NULL, *words = NULL, *err = NULL;
    g_autofree char *text = NULL;
    int fd = g_file_open_tmp("ncic-XXXXXX.image", &path, NULL);
    const char *status;
    bool runs;
    Fixture *f;
    QDict *rsp;

    close(fd);
    g_assert_true(g_file_set_contents(path, data, len, NULL));
    err = g_strdup_printf("%s.err", path);
    uri = g_strdup_printf("file:%s", path);
    words = g_strdup_printf("-netdev hubport,hubid=0,id=hs0 -device ncic-nic,id=nic,"
                            "netdev=hs0,addr=4,mac=52:54:00:12:34:56%s%s "
                            "-incoming defer 2>%s",
                            *props ? "," : "", props, err);
    f = fixture_start_words(words, true);
    qtest_qmp_assert_success(f->qts, "{ 'execute': 'migrate-incoming',"
                             " 'arguments': { 'uri': %s,"
                             " 'exit-on-error': false } }", uri);
    do {
        g_usleep(1000);
        rsp = qtest_qmp(f->qts, "{ 'execute': 'query-migrate' }");
        status = qdict_get_try_str(qdict_get_qdict(rsp, "return"), "status");
        runs = !g_strcmp0(status, "completed");
        if (runs || !g_strcmp0(status, "failed")) {
            qobject_unref(rsp);
            break;
        }
        qobject_unref(rsp);
    } while (true);
    if (runs) {
        qtest_clock_step(f->qts, 10000000);     /* what came in is used */
    }
    g_assert_true(g_file_get_contents(err, &text, NULL, NULL));
    if (why) {
        g_assert_false(runs);
        if (!strstr(text, why)) {
            g_test_message("%s", text);
        }
        g_assert_nonnull(strstr(text, why));
    }
    /* it is alive, and as a device too */
    qtest_system_reset(f->qts);
    fixture_stop(f);
    unlink(path);
    unlink(err);
    return runs;
}

/* Every property that a driver or a peer can notice, and an engine too few. */
static void test_other_properties(void)
{
    static const struct { const char *props, *why; } other[] = {
        { "rdma=off", "property 'rdma' differs" },
        { "layout=doc", "property 'layout' differs" },
        { "eth-flags=doc", "property 'eth-flags' differs" },
        { "eth-arm=oneshot", "property 'eth-arm' differs" },
        { "irq-coalesce=off", "property 'irq-coalesce' differs" },
        { "eth-ext=off", "property 'eth-ext' differs" },
        { "queues=31", "property 'queues' differs" },
        { "mtu=1501", "property 'mtu' differs" },
        { "rx-drop=2", "property 'rx-drop' differs" },
        { "roce-ports=destination", "property 'roce-ports' differs" },
        { "roce-csum=on", "property 'roce-csum' differs" },
        { "rdma-ip=10.0.0.9", "property 'rdma-ip' differs" },
        { "rdma-icrc=off", "property 'rdma-icrc' differs" },
        { "rdma-strict=off", "property 'rdma-strict' differs" },
        { "flr=on", NULL },                     /* PCI's own check */
        { "msix-vectors=65", NULL },
    };
    Fixture *f = fixture_start("", "");
    g_autofree char *data = NULL;
    gsize len;

    data = save_to_file(f, &len);
    fixture_stop(f);
    for (unsigned i = 0; i < G_N_ELEMENTS(other); i++) {
        g_assert_false(load_from(other[i].props, data, len, other[i].why));
    }
    /* what only this side knows may differ */
    g_assert_true(load_from("tx-inline=0", data, len, NULL));
}

/* From no engine to one, too. */
static void test_other_engine(void)
{
    Fixture *f = fixture_start("rdma=off", "");
    g_autofree char *data = NULL;
    gsize len;

    data = save_to_file(f, &len);
    fixture_stop(f);
    load_from("", data, len, "property 'rdma' differs");
    g_assert_true(load_from("rdma=off", data, len, NULL));
}

/* Rings in use, frames that wait, a queue pair: any byte of it may be any other,
 * and the emulator lives. */
static void test_damaged(void)
{
    unsigned runs = 0, rounds = g_test_slow() ? 400 : 40;
    Fixture *f = fixture_start("rdma-ip=10.0.0.1", "");
    uint64_t buf = guest_alloc(&f->alloc, 4096);
    g_autofree char *data = NULL;
    gsize len, from, to;
    QNrdmaQp a;
    QNrdma r;

    qncic_msix_enable(&f->nic, 4);
    qncic_queue_up(&f->nic, QNCIC_RX, 0, 4, 0);
    qncic_post(&f->nic, QNCIC_RX, 0, buf, 2048, 0, 0, true);
    qncic_queue_up(&f->nic, QNCIC_TX, 0, 10, 1);
    for (unsigned i = 0; i < 1000; i++) {
        qncic_post(&f->nic, QNCIC_TX, 0, buf, 1514, 0, 0, false);
    }
    qncic_write(&f->nic, qncic_qreg(QNCIC_TX, 0, NCIC_Q_HEAD), 1000);
    qnr_up(&r, &f->nic);
    qnr_qp(&r, &a, 4, 0x77, 0, 0x0a000001, 0x0a000002, 0x525400654321ull);
    qnr_recv(&r, &a, QNR_VA, 4096);
    qnr_send(&r, &a, 0x08, QNR_VA, 8 * 1024, QNR_VA);
    data = save_to_file(f, &len);
    fixture_stop(f);
    g_assert_true(load_from("rdma-ip=10.0.0.1", data, len, NULL));
    /* from the section's name on */
    for (from = 0; memcmp(data + from, "/ncic-nic", 9); from++) {
        g_assert_cmpuint(from + 9, <, len);
    }
    for (to = from; to + 9 < len && memcmp(data + to, "\"devices\"", 9); to++) {
    }
    for (unsigned i = 0; i < rounds; i++) {
        g_autofree char *bad = g_memdup2(data, len);
        unsigned hits = g_test_rand_int_range(1, 4);

        while (hits--) {
            bad[g_test_rand_int_range(from, to)] = g_test_rand_int();
        }
        runs += load_from("rdma-ip=10.0.0.1", bad, len, NULL);
    }
    g_assert_cmpuint(runs, <, rounds);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ncic-migrate/registers", test_registers);
    qtest_add_func("/ncic-migrate/traffic", test_traffic);
    qtest_add_func("/ncic-migrate/other-properties", test_other_properties);
    qtest_add_func("/ncic-migrate/other-engine", test_other_engine);
    qtest_add_func("/ncic-migrate/damaged", test_damaged);
    return g_test_run();
}
