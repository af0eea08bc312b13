/*
 * A driver for ubc in an emulator that qtest drives.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "qapi/error.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "qobject/qlist.h"
#include "ubc-driver.h"

/* ---- Machines ----------------------------------------------------------- */

QUbc *qubc_start(const char *machine, const char *props, const char *more)
{
    QUbc *d = g_new0(QUbc, 1);
    g_autofree char *memory = NULL;
    int fd = g_file_open_tmp("ubc-XXXXXX.log", &d->log, NULL);

    g_assert_cmpint(fd, >=, 0);
    close(fd);
    d->ram = shared_ram_new(QUBC_RAM);
    memory = shared_ram_options(d->ram, machine);
    d->qts = qtest_initf("%s -nodefaults -d guest_errors -D %s %s "
                         "-device ubc,id=ub0,addr=%u,clock=realtime%s%s",
                         memory, d->log, more, QUBC_SLOT,
                         *props ? "," : "", props);
    d->stepped = strstr(props, QUBC_STEPPED);
    for (unsigned p = 0; p < QUBC_PORTS_MAX; p++) {
        d->port[p].room = QUBC_RING;
    }
    return d;
}

void qubc_pass(QUbc *d)
{
    gint64 now = g_get_monotonic_time();

    if (d->stepped) {
        qtest_clock_step(d->qts, CLAMP(now - d->passed, 100, 5000) * 1000);
        d->passed = now;
    }
}

static void find(QUbc *d)
{
    pc_alloc_init(&d->alloc, d->qts, ALLOC_NO_FLAGS);
    d->bus = qpci_new_pc(d->qts, &d->alloc);
    d->pci = qpci_device_find(d->bus, QPCI_DEVFN(QUBC_SLOT, 0));
    g_assert_nonnull(d->pci);
}

void qubc_attach(QUbc *d)
{
    uint64_t size;

    find(d);
    qpci_device_enable(d->pci);
    d->bar = qpci_iomap(d->pci, 0, &size);
    g_assert_cmphex(size, ==, 0x1000000);
}

QUbc *qubc_start_attached(const char *props, const char *more)
{
    QUbc *d = qubc_start("q35", props, more);

    qubc_attach(d);
    return d;
}

void qubc_adopt(QUbc *d, const QUbc *from)
{
    find(d);
    d->bar = from->bar;
    memcpy(d->port, from->port, sizeof(d->port));
}

static void clean_up(QUbc *d)
{
    g_free(d->pci);
    if (d->bus) {
        qpci_free_pc(d->bus);
        alloc_destroy(&d->alloc);
    }
    shared_ram_free(d->ram);
    unlink(d->log);
    g_free(d->log);
    g_free(d);
}

void qubc_stop(QUbc *d)
{
    qtest_quit(d->qts);
    clean_up(d);
}

void qubc_kill(QUbc *d)
{
    pid_t pid = qtest_pid(d->qts);
    int status;

    g_assert_cmpint(kill(pid, SIGKILL), ==, 0);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_true(WIFSIGNALED(status));
    /* qtest_quit() would call this death a failure of the test. */
    qtest_remove_abrt_handler(d->qts);
    clean_up(d);
}

/* ---- Registers ---------------------------------------------------------- */

uint32_t qubc_read(QUbc *d, uint32_t reg)
{
    return qpci_io_readl(d->pci, d->bar, reg);
}

void qubc_write(QUbc *d, uint32_t reg, uint32_t value)
{
    qpci_io_writel(d->pci, d->bar, reg, value);
}

uint32_t qubc_port_read(QUbc *d, unsigned port, uint32_t reg)
{
    return qubc_read(d, UBC_PORT(port) + reg);
}

void qubc_port_write(QUbc *d, unsigned port, uint32_t reg, uint32_t value)
{
    qubc_write(d, UBC_PORT(port) + reg, value);
}

uint32_t qubc_pair_read(QUbc *d, unsigned pair, uint32_t reg)
{
    return qubc_read(d, UBC_PAIR(pair) + reg);
}

void qubc_pair_write(QUbc *d, unsigned pair, uint32_t reg, uint32_t value)
{
    qubc_write(d, UBC_PAIR(pair) + reg, value);
}

uint32_t qubc_cfg_read(QUbc *d, uint32_t dw)
{
    return qubc_read(d, UBC_CFG_WINDOW + 4 * dw);
}

void qubc_cfg_write(QUbc *d, uint32_t dw, uint32_t value)
{
    qubc_write(d, UBC_CFG_WINDOW + 4 * dw, value);
}

uint64_t qubc_counter(QUbc *d, unsigned port, unsigned counter)
{
    uint64_t low = qubc_port_read(d, port, UBC_COUNTER(counter));

    return low |
           (uint64_t)qubc_port_read(d, port, UBC_COUNTER(counter) + 4) << 32;
}

int64_t qubc_link_int(QUbc *d, unsigned port, const char *key)
{
    QDict *rsp = qtest_qmp(d->qts, "{ 'execute': 'query-ub-links' }");
    const QListEntry *e = qlist_first(qdict_get_qlist(rsp, "return"));
    int64_t value;

    while (port--) {
        e = qlist_next(e);
    }
    value = qdict_get_int(qobject_to(QDict, qlist_entry_obj(e)), key);
    qobject_unref(rsp);
    return value;
}

void qubc_inject(QUbc *d, unsigned port, unsigned lane, const char *faults)
{
    g_autofree char *args =
        g_strdup_printf("{ 'device': 'ub0', 'port': %u, 'lane': %u%s%s }",
                        port, lane, *faults ? ", " : "", faults);
    QObject *json = qobject_from_json(args, &error_abort);

    qtest_qmp_assert_success(d->qts, "{ 'execute': 'ub-inject',"
                             " 'arguments': %p }", json);
}

void qubc_inject_all(QUbc *d, unsigned port, const char *faults)
{
    for (unsigned lane = 0; lane < 8; lane++) {
        qubc_inject(d, port, lane, faults);
    }
}

bool qubc_logged(QUbc *d, const char *text)
{
    g_autofree char *all = NULL;

    g_assert_true(g_file_get_contents(d->log, &all, NULL, NULL));
    return strstr(all, text);
}

/* ---- Interrupts and bus mastering --------------------------------------- */

void qubc_msix(QUbc *d, unsigned ports, bool masked)
{
    uint8_t cap = qpci_find_capability(d->pci, PCI_CAP_ID_MSIX, 0);
    uint16_t ctl = qpci_config_readw(d->pci, cap + PCI_MSIX_FLAGS);

    g_assert_cmphex(cap, !=, 0);
    for (unsigned v = 0; v < QUBC_VECTORS; v++) {
        uint32_t entry = UBC_MSIX_TABLE + v * PCI_MSIX_ENTRY_SIZE;

        qubc_write(d, entry + PCI_MSIX_ENTRY_LOWER_ADDR, QUBC_MSIX + 4 * v);
        qubc_write(d, entry + PCI_MSIX_ENTRY_UPPER_ADDR, 0);
        qubc_write(d, entry + PCI_MSIX_ENTRY_DATA, QUBC_MSIX_DATA + v);
        qubc_write(d, entry + PCI_MSIX_ENTRY_VECTOR_CTRL, masked);
    }
    for (unsigned p = 0; p < ports; p++) {
        qubc_port_write(d, p, UBC_PORT_VECTOR, QUBC_VECTOR_EVENT(p));
        qubc_pair_write(d, p, UBC_RING_RX + UBC_RING_VECTOR,
                        QUBC_VECTOR_RX(p));
        qubc_pair_write(d, p, UBC_RING_TX + UBC_RING_VECTOR,
                        QUBC_VECTOR_TX(p));
    }
    qpci_config_writew(d->pci, cap + PCI_MSIX_FLAGS,
                       ctl | PCI_MSIX_FLAGS_ENABLE);
}

bool qubc_irq(QUbc *d, unsigned vector)
{
    uint32_t *at = (uint32_t *)(d->ram->at + QUBC_MSIX + 4 * vector);
    uint32_t got = qatomic_xchg(at, 0);

    if (got) {
        g_assert_cmphex(le32_to_cpu(got), ==, QUBC_MSIX_DATA + vector);
    }
    return got;
}

void qubc_bus_master(QUbc *d, bool on)
{
    uint16_t cmd = qpci_config_readw(d->pci, PCI_COMMAND);

    qpci_config_writew(d->pci, PCI_COMMAND,
                       on ? cmd | PCI_COMMAND_MASTER
                          : cmd & ~PCI_COMMAND_MASTER);
}

bool qubc_migrated(QUbc *d)
{
    QDict *rsp = qtest_qmp(d->qts, "{ 'execute': 'query-migrate' }");
    const char *status =
        qdict_get_try_str(qdict_get_qdict(rsp, "return"), "status");
    bool done = !g_strcmp0(status, "completed");

    g_assert_cmpstr(status, !=, "failed");
    qobject_unref(rsp);
    return done;
}

/* ---- Rings -------------------------------------------------------------- */

static uint8_t *descriptor(QUbc *d, unsigned port, uint32_t ring, uint16_t n)
{
    uint32_t base = ring == UBC_RING_TX ? QUBC_TX_RING(port)
                                        : QUBC_RX_RING(port);

    return d->ram->at + base + n % QUBC_RING * UBC_DESC_SIZE;
}

void qubc_bind(QUbc *d, unsigned pair, unsigned port, uint32_t vls)
{
    qubc_pair_write(d, pair, UBC_PAIR_PORT, port);
    qubc_pair_write(d, pair, UBC_PAIR_VLS, vls);
    g_assert_cmphex(qubc_pair_read(d, pair, UBC_PAIR_PORT), ==, port);
    g_assert_cmphex(qubc_pair_read(d, pair, UBC_PAIR_VLS), ==, vls);
    d->port[pair].bound = true;
}

void qubc_ring_open(QUbc *d, unsigned port, uint32_t ring, uint64_t base)
{
    QUbcPort *p = &d->port[port];

    qubc_pair_write(d, port, ring + UBC_RING_CTRL, 0);
    if (!p->bound && qubc_pair_read(d, port, UBC_PAIR_PORT) != port) {
        qubc_pair_write(d, port, UBC_PAIR_PORT, port);
    }
    qubc_pair_write(d, port, ring + UBC_RING_BASE_LO, base);
    qubc_pair_write(d, port, ring + UBC_RING_BASE_HI, base >> 32);
    qubc_pair_write(d, port, ring + UBC_RING_SIZE, QUBC_RING_LOG);
    qubc_pair_write(d, port, ring + UBC_RING_CTRL, UBC_RING_ENABLE);
    if (ring == UBC_RING_TX) {
        p->tx_head = p->tx_tail = 0;
    } else {
        p->rx_head = p->rx_tail = 0;
    }
}

void qubc_post(QUbc *d, unsigned port, uint32_t ring, uint64_t addr,
               uint32_t len, uint16_t flags)
{
    QUbcPort *p = &d->port[port];
    uint16_t *head = ring == UBC_RING_TX ? &p->tx_head : &p->rx_head;
    uint8_t *at = descriptor(d, port, ring, *head);

    stq_le_p(at, addr);
    stl_le_p(at + 8, len);
    stw_le_p(at + 12, flags);
    stw_le_p(at + 14, 0);
    ++*head;
}

void qubc_doorbell(QUbc *d, unsigned port, uint32_t ring)
{
    QUbcPort *p = &d->port[port];

    smp_wmb();
    qubc_pair_write(d, port, ring + UBC_RING_HEAD,
                    ring == UBC_RING_TX ? p->tx_head : p->rx_head);
}

uint16_t qubc_status(QUbc *d, unsigned port, uint32_t ring, uint16_t n)
{
    uint16_t *at = (uint16_t *)(descriptor(d, port, ring, n) + 14);

    return le16_to_cpu(qatomic_load_acquire(at));
}

/* ---- Traffic ------------------------------------------------------------ */

static uint32_t length_of(uint32_t n)
{
    return 16 + n * 2654435761u % (QUBC_BUF - 16 + 1);
}

/* The packet of number n: the number, and noise that it gives rise to. */
static void fill(uint8_t *packet, uint32_t n)
{
    uint64_t x = (n + 1) * 0x9e3779b97f4a7c15ull;
    uint64_t words[QUBC_BUF / 8];

    for (unsigned i = 0; i < QUBC_BUF / 8; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        words[i] = x;
    }
    memcpy(packet, words, length_of(n));
    stl_le_p(packet, n);
}

static void give_buffers(QUbc *d, unsigned port)
{
    QUbcPort *p = &d->port[port];
    uint16_t before = p->rx_head;

    while ((uint16_t)(p->rx_head - p->rx_tail) < p->room) {
        qubc_post(d, port, UBC_RING_RX,
                  QUBC_RX_BUF(port) + p->rx_head % QUBC_RING * QUBC_BUF,
                  QUBC_BUF, 0);
    }
    if (p->rx_head != before) {
        qubc_doorbell(d, port, UBC_RING_RX);
    }
}

void qubc_port_open(QUbc *d, unsigned port)
{
    qubc_ring_open(d, port, UBC_RING_TX, QUBC_TX_RING(port));
    qubc_ring_open(d, port, UBC_RING_RX, QUBC_RX_RING(port));
    give_buffers(d, port);
    qubc_port_write(d, port, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
}

bool qubc_up(QUbc *d, unsigned port)
{
    return qubc_port_read(d, port, UBC_PORT_STATUS) & UBC_PORT_STATUS_DLL_UP;
}

/* Descriptors that the device has done with. */
static void reap_tx(QUbc *d, unsigned port, bool may_fail)
{
    QUbcPort *p = &d->port[port];

    while (p->tx_tail != p->tx_head) {
        uint16_t status = qubc_status(d, port, UBC_RING_TX, p->tx_tail);

        if (!(status & UBC_DESC_DONE)) {
            break;
        }
        if (!may_fail) {
            g_assert_cmphex(status, ==, UBC_DESC_DONE);
        }
        p->tx_tail++;
    }
}

unsigned qubc_send(QUbc *d, unsigned port, unsigned n)
{
    QUbcPort *p = &d->port[port];
    unsigned done = 0;

    reap_tx(d, port, p->lossy);
    while (done < n && (uint16_t)(p->tx_head - p->tx_tail) < QUBC_RING) {
        uint32_t at = QUBC_TX_BUF(port) + p->tx_head % QUBC_RING * QUBC_BUF;

        fill(d->ram->at + at, p->sent);
        qubc_post(d, port, UBC_RING_TX, at, length_of(p->sent), 3);
        p->sent++;
        done++;
    }
    if (done) {
        qubc_doorbell(d, port, UBC_RING_TX);
    }
    return done;
}

void qubc_reap(QUbc *d, unsigned port)
{
    QUbcPort *p = &d->port[port];
    uint8_t want[QUBC_BUF];

    while (p->rx_tail != p->rx_head) {
        uint16_t status = qubc_status(d, port, UBC_RING_RX, p->rx_tail);
        uint8_t *desc = descriptor(d, port, UBC_RING_RX, p->rx_tail);
        uint8_t *got = d->ram->at + QUBC_RX_BUF(port) +
                       p->rx_tail % QUBC_RING * QUBC_BUF;

        if (!(status & UBC_DESC_DONE)) {
            break;
        }
        g_assert_cmphex(status, ==, UBC_DESC_DONE);
        g_assert_cmphex(lduw_le_p(desc + 12), ==, 3);
        if (p->stale && ldl_le_p(got)) {
            p->rx_tail++; /* from before qubc_resync() */
            continue;
        }
        p->stale = false;
        if (p->lossy) {
            uint32_t n = ldl_le_p(got);

            g_assert_cmpuint(n, >=, p->received);
            p->lost += n - p->received;
            p->received = n;
        }
        g_assert_cmpuint(ldl_le_p(got), ==, p->received);
        fill(want, p->received);
        g_assert_cmpmem(got, ldl_le_p(desc + 8), want,
                        length_of(p->received));
        p->bytes += ldl_le_p(desc + 8);
        p->received++;
        p->rx_tail++;
    }
    /* Buffers go back in batches: a doorbell is a round trip. */
    if ((uint16_t)(p->rx_head - p->rx_tail) <= p->room / 2) {
        give_buffers(d, port);
    }
}

void qubc_resync(QUbc *d, unsigned port)
{
    QUbcPort *p = &d->port[port];

    QUBC_WAIT((reap_tx(d, port, true), p->tx_tail == p->tx_head));
    qubc_reap(d, port);
    p->sent = p->received = 0;
    /* Packets that waited for buffers belong to the old count. */
    p->stale = true;
}
