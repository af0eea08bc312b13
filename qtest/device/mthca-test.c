/*
 * ncic-mthca in the emulator: identity, command register, doorbells, events
 * and interrupts, and what a broken driver does to them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "libmthca.h"
#include "../config_window.h"

#define EQN        2
#define EQ_LOG     4
#define VECTOR     5
#define MSI_DATA   0x4d530000u

/* ---- identity ----------------------------------------------------------- */

static void test_identity(void)
{
    static const struct { uint8_t id, at; } caps[] = {
        { PCI_CAP_ID_PM, 0x40 }, { PCI_CAP_ID_EXP, 0x60 },
        { PCI_CAP_ID_MSIX, 0x84 }, { PCI_CAP_ID_MSI, 0x90 },
    };
    Hca *h = hca_begin("");
    QPCIDevice *p = h->pci;

    g_assert_cmphex(qpci_config_readw(p, PCI_VENDOR_ID), ==, 0x15b3);
    g_assert_cmphex(qpci_config_readw(p, PCI_DEVICE_ID), ==, 0x6274);
    g_assert_cmphex(qpci_config_readw(p, PCI_CLASS_DEVICE), ==, 0x0c06);
    g_assert_cmphex(qpci_config_readb(p, PCI_REVISION_ID), ==, 0xa0);
    g_assert_cmphex(qpci_config_readb(p, PCI_INTERRUPT_PIN), ==, 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(caps); i++) {
        g_assert_cmphex(qpci_find_capability(p, caps[i].id, 0), ==,
                        caps[i].at);
    }
    g_assert_cmpuint(qpci_msix_table_size(p), ==, MTHCA_MSIX_VECTORS);
    g_assert_cmphex(qpci_config_readl(p, 0x84 + PCI_MSIX_TABLE), ==,
                    MTHCA_MSIX_TABLE);
    g_assert_cmphex(qpci_config_readl(p, 0x84 + PCI_MSIX_PBA), ==,
                    MTHCA_MSIX_PBA);
    /* 64 bits wide; only the doorbells may be prefetched */
    g_assert_cmphex(qpci_config_readl(p, PCI_BASE_ADDRESS_0) & 0xf, ==,
                    PCI_BASE_ADDRESS_MEM_TYPE_64);
    g_assert_cmphex(qpci_config_readl(p, PCI_BASE_ADDRESS_2) & 0xf, ==,
                    PCI_BASE_ADDRESS_MEM_TYPE_64 |
                    PCI_BASE_ADDRESS_MEM_PREFETCH);
    hca_end(h);
}

/* ---- commands ----------------------------------------------------------- */

static void test_commands(void)
{
    Hca *h = hca_begin("");

    hca_prove_works(h);
    /* registers inside BAR0, wherever it lies */
    g_assert_cmphex(hca_out32(h, 0x24), ==,
                    (uint32_t)(h->csr.addr + MTHCA_CLR_INT));
    g_assert_cmphex(hca_out32(h, 0x34), ==, (uint32_t)(h->csr.addr + MTHCA_CATAS));
    g_assert_cmphex(hca_out32(h, 0x44), ==,
                    (uint32_t)(h->csr.addr + MTHCA_EQ_ARM));
    g_assert_cmphex(hca_cmd(h, MTHCA_CMD_ENABLE_LAM, 0), ==,
                    MTHCA_ST_LAM_NOT_PRE);
    g_assert_cmphex(hca_cmd(h, MTHCA_CMD_QUERY_DEV_LIM, 0), ==,
                    MTHCA_ST_BAD_SYS_STATE);
    hca_expect(h, "QUERY_DEV_LIM");
    g_assert_cmphex(hca_cmd(h, MTHCA_CMD_SYS_EN, 0), ==, MTHCA_ST_BAD_OP);
    hca_expect(h, "unknown command");
    g_assert_cmphex(hca_cmd(h, MTHCA_CMD_RUN_FW, 0), ==, MTHCA_ST_OK);
    g_assert_cmphex(hca_cmd(h, MTHCA_CMD_QUERY_DEV_LIM, 0), ==, MTHCA_ST_OK);
    g_assert_cmphex(hca_out32(h, 0x10) & 0xff, ==, MTHCA_LOG_MAX_QP);
    g_assert_cmphex(hca_out32(h, 0x34) & 0xf, ==, 1);       /* ports */
    g_assert_cmphex(hca_cmd(h, 0x7ff, 0), ==, MTHCA_ST_BAD_OP);
    hca_expect(h, "unknown command");
    /* without the go bit nothing happens */
    hca_wr(h, MTHCA_HCR_BASE + MTHCA_HCR_CMD, 0x7ff);
    g_assert_cmphex(hca_rd(h, MTHCA_HCR_BASE + MTHCA_HCR_CMD), ==, 0x7ff);
    g_assert_cmpuint(fixture_counter(h->f, "counter-command_errors"), ==, 3);
    hca_end(h);
}

static void test_reset(void)
{
    Hca *h = hca_begin("");

    hca_init(h);
    hca_wr(h, MTHCA_RESET, 0);
    g_assert_cmphex(hca_cmd(h, MTHCA_CMD_QUERY_HCA, 0), ==, MTHCA_ST_OK);
    hca_wr(h, MTHCA_RESET, 1);
    for (unsigned i = 0; i < MTHCA_HCR_SIZE; i += 4) {
        g_assert_cmphex(hca_rd(h, MTHCA_HCR_BASE + i), ==, 0);
    }
    g_assert_cmphex(hca_cmd(h, MTHCA_CMD_QUERY_HCA, 0), ==,
                    MTHCA_ST_BAD_SYS_STATE);
    hca_expect(h, "QUERY_HCA");
    /* configuration space is left alone */
    g_assert_cmphex(qpci_config_readw(h->pci, PCI_COMMAND) &
                    PCI_COMMAND_MASTER, !=, 0);
    hca_init(h);
    hca_end(h);
}

/* Mailboxes where no memory is, in the device itself, and without the right to
 * be master of the bus. */
static void test_mailbox(void)
{
    Hca *h = hca_begin("");
    const uint64_t bad[] = { 0, NOWHERE, UINT64_MAX - 0xfff,
                             h->csr.addr + MTHCA_HCR_BASE,
                             h->csr.addr + MTHCA_RESET, h->uar.addr };
    uint16_t command;

    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_assert_cmphex(hca_cmd_at(h, MTHCA_CMD_QUERY_FW, 0, 0, bad[i]), ==,
                        MTHCA_ST_BAD_PARAM);
        hca_expect(h, "QUERY_FW");
    }
    g_assert_cmphex(hca_cmd(h, MTHCA_CMD_RUN_FW, 0), ==, MTHCA_ST_OK);
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_assert_cmphex(hca_cmd_at(h, MTHCA_CMD_INIT_HCA, 0, bad[i], 0), ==,
                        MTHCA_ST_BAD_PARAM);
        hca_expect(h, "INIT_HCA");
    }
    command = qpci_config_readw(h->pci, PCI_COMMAND);
    qpci_config_writew(h->pci, PCI_COMMAND, command & ~PCI_COMMAND_MASTER);
    g_assert_cmphex(hca_cmd(h, MTHCA_CMD_QUERY_FW, 0), ==, MTHCA_ST_BAD_PARAM);
    qpci_config_writew(h->pci, PCI_COMMAND, command);
    hca_expect(h, "QUERY_FW");
    hca_end(h);
}

/* ---- registers and doorbells -------------------------------------------- */

static void test_no_register(void)
{
    Hca *h = hca_begin("");

    hca_wr(h, 0x100, 1);
    hca_expect(h, "write to no register");
    hca_wr(h, MTHCA_BAR0_SIZE - 4, 1);
    hca_expect(h, "write to no register");
    g_assert_cmphex(hca_rd(h, 0x100), ==, 0);
    /* a byte is no access: no reset, no read */
    hca_init(h);
    hca_wr(h, MTHCA_HCR_BASE + MTHCA_HCR_IN_HI, UINT32_MAX);
    qpci_io_writeb(h->pci, h->csr, MTHCA_RESET + 3, 1);
    g_assert_cmphex(qpci_io_readb(h->pci, h->csr, MTHCA_HCR_BASE), ==, 0);
    g_assert_cmphex(hca_rd(h, MTHCA_HCR_BASE + MTHCA_HCR_IN_HI), ==, UINT32_MAX);
    g_assert_cmphex(hca_cmd(h, MTHCA_CMD_QUERY_HCA, 0), ==, MTHCA_ST_OK);
    hca_prove_works(h);
    /* event queues that are not there */
    hca_wr(h, MTHCA_EQ_ARM + 4, UINT32_MAX);
    hca_wr(h, MTHCA_EQ_SET_CI + 8 * EQN, 77);
    hca_wr(h, MTHCA_CLR_INT, UINT32_MAX);
    hca_prove_works(h);
    hca_end(h);
}

static void test_doorbells(void)
{
    Hca *h = hca_begin("");
    uint32_t page = 3 * MTHCA_UAR_PAGE;

    hca_doorbell(h, page + MTHCA_UAR_SEND, 1 << 24 | 0x0a, 5 << 8 | 2);
    hca_expect(h, "before INIT_HCA");
    hca_init(h);
    hca_doorbell(h, page + MTHCA_UAR_SEND, 1 << 24 | 0x0a, 5 << 8 | 2);
    hca_expect(h, "no such QP");
    hca_doorbell(h, page + MTHCA_UAR_SEND, UINT32_MAX, UINT32_MAX);
    hca_expect(h, "no such QP");
    for (unsigned kind = 0; kind < 8; kind++) {
        hca_doorbell(h, page + MTHCA_UAR_CQ, kind << 24 | 5, 0);
        hca_doorbell(h, page + MTHCA_UAR_CQ, kind << 24 | 0xffffff, UINT32_MAX);
    }
    hca_prove_works(h);
    hca_doorbell(h, page + 0x800, 0, 0);
    hca_expect(h, "no such doorbell");
    /* as two halves: the second one rings; alone it is a mistake */
    qpci_io_writel(h->pci, h->uar, page + MTHCA_UAR_SEND + 4, bswap32(5));
    hca_expect(h, "low half without high half");
    qpci_io_writel(h->pci, h->uar, page + MTHCA_UAR_SEND, bswap32(1 << 24));
    g_assert_false(fixture_logged(h->f, "doorbell"));
    qpci_io_writel(h->pci, h->uar, page + MTHCA_UAR_SEND + 4, bswap32(5));
    hca_expect(h, "no such QP");
    g_assert_cmphex(qpci_io_readl(h->pci, h->uar, page), ==, 0);
    hca_end(h);
}

/* ---- events and interrupts ---------------------------------------------- */

/* An event queue for completed commands, with keys or by bus addresses. */
static void make_eq(Hca *h, bool translate, uint32_t key)
{
    uint8_t in[0x40] = { 0 };

    for (unsigned i = 0; i < 1u << EQ_LOG; i++) {
        qtest_writeb(h->qts, h->eq + i * MTHCA_EQE_SIZE + 0x1f,
                     MTHCA_OWNER_HW);
    }
    stl_be_p(in, 0x01000900 | translate << 18);         /* armed */
    stq_be_p(in + 4, h->eq);
    in[0x0c] = EQ_LOG;
    in[0x17] = 0x80 | VECTOR;
    stl_be_p(in + 0x1c, key);
    hca_put_box(h, in, sizeof(in));
    g_assert_cmphex(hca_cmd(h, MTHCA_CMD_SW2HW_EQ, EQN), ==, MTHCA_ST_OK);
    g_assert_cmphex(hca_cmd_at(h, MTHCA_CMD_MAP_EQ, EQN, 1u << MTHCA_EV_CMD, 0),
                    ==, MTHCA_ST_OK);
}

static void set_vector(Hca *h, bool masked)
{
    uint32_t entry = MTHCA_MSIX_TABLE + VECTOR * PCI_MSIX_ENTRY_SIZE;

    qpci_io_writel(h->pci, h->csr, entry, h->msi);
    qpci_io_writel(h->pci, h->csr, entry + 4, h->msi >> 32);
    qpci_io_writel(h->pci, h->csr, entry + 8, MSI_DATA | VECTOR);
    qpci_io_writel(h->pci, h->csr, entry + 12, masked);
}

/* Has the message come since the last call? */
static bool interrupted(Hca *h)
{
    uint32_t got = qtest_readl(h->qts, h->msi);

    qtest_writel(h->qts, h->msi, 0);
    g_assert_true(!got || got == (MSI_DATA | VECTOR));
    return got;
}

/* The event number @index says that a command has ended. */
static void check_event(Hca *h, unsigned index, uint8_t status)
{
    uint8_t e[MTHCA_EQE_SIZE];

    qtest_memread(h->qts, h->eq + index % (1u << EQ_LOG) * sizeof(e), e,
                  sizeof(e));
    g_assert_cmphex(e[0x1f] & MTHCA_OWNER_HW, ==, 0);
    g_assert_cmphex(e[1], ==, MTHCA_EV_CMD);
    g_assert_cmphex(lduw_be_p(e + 6), ==, HCA_TOKEN);
    g_assert_cmphex(e[0xf], ==, status);
}

static void consume(Hca *h, unsigned index)
{
    qtest_writeb(h->qts, h->eq + index % (1u << EQ_LOG) * MTHCA_EQE_SIZE +
                 0x1f, MTHCA_OWNER_HW);
    hca_wr(h, MTHCA_EQ_SET_CI + 8 * EQN, index + 1);
}

/* Mailboxes, an event queue and a message in the own configuration space, which no
 * request of the function reaches: it is what it was. */
static void test_config_space(void)
{
    Hca *h = hca_begin("");
    ConfigWindow w = config_window_open(h->qts, h->pci);
    uint64_t eq = h->eq, msi = h->msi;

    g_assert_cmphex(hca_cmd_at(h, MTHCA_CMD_QUERY_FW, 0, 0, w.at), ==,
                    MTHCA_ST_BAD_PARAM);
    hca_expect(h, "there is no memory");
    config_window_same(&w);
    g_assert_cmphex(hca_cmd(h, MTHCA_CMD_RUN_FW, 0), ==, MTHCA_ST_OK);
    g_assert_cmphex(hca_cmd_at(h, MTHCA_CMD_INIT_HCA, 0, w.at, 0), ==,
                    MTHCA_ST_BAD_PARAM);
    hca_expect(h, "INIT_HCA");
    config_window_aborted(&w);
    config_window_same(&w);

    hca_wr(h, MTHCA_RESET, 1);
    hca_init(h);
    for (unsigned at = 0; at < CONFIG_WINDOW_BYTES; at += MTHCA_EQE_SIZE) {
        h->eq = w.at + at;
        make_eq(h, false, 0);
        qpci_config_writew(h->pci, PCI_COMMAND, PCI_COMMAND_MEMORY |
                           PCI_COMMAND_MASTER);
        config_window_note(&w);
        hca_issue(h, MTHCA_CMD_NOP, 0, 0, 0, MTHCA_HCR_EVENT);
        hca_expect(h, "memory refused");
        config_window_same(&w);
        g_assert_cmphex(hca_cmd(h, MTHCA_CMD_HW2SW_EQ, EQN), ==, MTHCA_ST_OK);
    }
    h->eq = eq;
    qpci_msix_enable(h->pci);
    h->csr = h->pci->msix_table_bar;
    h->msi = w.at + PCI_COMMAND;        /* all rights gone but MSI_DATA's */
    set_vector(h, false);
    make_eq(h, false, 0);
    config_window_note(&w);
    hca_issue(h, MTHCA_CMD_NOP, 0, 0, 0, MTHCA_HCR_EVENT);
    check_event(h, 0, MTHCA_ST_OK);
    config_window_same(&w);
    g_assert_cmpuint(fixture_counter(h->f, "msi-refused"), ==, 1);
    hca_expect(h, "no interrupt controller is there");
    h->msi = msi;
    qpci_msix_disable(h->pci);
    hca_end(h);
}

static void test_interrupts(void)
{
    Hca *h = hca_begin("");

    hca_init(h);
    qtest_writel(h->qts, h->msi, 0);
    qpci_msix_enable(h->pci);
    h->csr = h->pci->msix_table_bar;        /* libqos has moved the BAR */
    set_vector(h, true);
    make_eq(h, false, 0);
    /* masked: pending until unmasked */
    hca_issue(h, MTHCA_CMD_NOP, 0, 0, 0, MTHCA_HCR_EVENT);
    check_event(h, 0, MTHCA_ST_OK);
    g_assert_false(interrupted(h));
    g_assert_true(qpci_msix_masked(h->pci, VECTOR));
    g_assert_true(qpci_msix_pending(h->pci, VECTOR));
    set_vector(h, false);
    g_assert_true(interrupted(h));
    g_assert_false(qpci_msix_masked(h->pci, VECTOR));
    consume(h, 0);
    /* fired: silent until armed again, and then at once */
    hca_issue(h, 0x7ff, 0, 0, 0, MTHCA_HCR_EVENT);
    check_event(h, 1, MTHCA_ST_BAD_OP);
    g_assert_false(interrupted(h));
    hca_wr(h, MTHCA_EQ_ARM + 4, 1u << EQN);
    g_assert_true(interrupted(h));
    consume(h, 1);
    /* armed and unmasked; a lap of the ring */
    for (unsigned i = 2; i < 40; i++) {
        hca_wr(h, MTHCA_EQ_ARM + 4, 1u << EQN);
        g_assert_false(interrupted(h));
        hca_issue(h, MTHCA_CMD_NOP, 0, 0, 0, MTHCA_HCR_EVENT);
        check_event(h, i, MTHCA_ST_OK);
        g_assert_true(interrupted(h));
        consume(h, i);
    }
    g_assert_cmpuint(fixture_counter(h->f, "counter-eqes"), ==, 40);
    g_assert_cmpuint(fixture_counter(h->f, "counter-eqe_lost"), ==, 0);
    qpci_msix_disable(h->pci);
    hca_end(h);
}

/* Events that find no room, no memory, no key, and no queue. */
static void test_event_misuse(void)
{
    Hca *h = hca_begin("");
    unsigned lost;

    hca_init(h);
    make_eq(h, false, 0);
    for (unsigned i = 0; i <= 1u << EQ_LOG; i++) {
        hca_issue(h, MTHCA_CMD_NOP, 0, 0, 0, MTHCA_HCR_EVENT);
    }
    hca_expect(h, "overflow");
    hca_wr(h, MTHCA_EQ_SET_CI + 8 * EQN, 1000);
    hca_expect(h, "consumer index beyond producer");
    g_assert_cmphex(hca_cmd(h, MTHCA_CMD_HW2SW_EQ, EQN), ==, MTHCA_ST_OK);
    lost = fixture_counter(h->f, "counter-eqe_lost");
    g_assert_cmpuint(lost, ==, 1);

    make_eq(h, true, 0xdead00);
    hca_issue(h, MTHCA_CMD_NOP, 0, 0, 0, MTHCA_HCR_EVENT);
    hca_expect(h, "memory refused");
    g_assert_cmphex(hca_cmd(h, MTHCA_CMD_HW2SW_EQ, EQN), ==, MTHCA_ST_OK);

    guest_free(&h->f->alloc, h->eq);
    h->eq = NOWHERE;
    make_eq(h, false, 0);
    hca_issue(h, MTHCA_CMD_NOP, 0, 0, 0, MTHCA_HCR_EVENT);
    hca_expect(h, "memory refused");
    g_assert_cmphex(hca_cmd(h, MTHCA_CMD_HW2SW_EQ, EQN), ==, MTHCA_ST_OK);

    hca_issue(h, MTHCA_CMD_NOP, 0, 0, 0, MTHCA_HCR_EVENT);
    g_assert_cmpuint(fixture_counter(h->f, "counter-eqe_lost"), ==, lost + 3);
    hca_end(h);
}

/* ---- wire --------------------------------------------------------------- */

/* Frames for nobody: too short, of other protocols, RoCE in name only. */
static void test_wire(void)
{
    const char *bad_ip = "counter-rx_bad_ip";
    const unsigned shortest = 42, longest = 200;
    uint8_t frame[1500] = { 0x52, 0x54, 0x00, 0x12, 0x34, 0x56 };
    uint8_t port[0x100] = { 0 };
    Hca *h = hca_begin("");

    hca_init(h);
    stl_be_p(port, 4 << 12);            /* MTU 2048 */
    port[0x07] = MTHCA_MAX_GIDS;
    port[0x0b] = MTHCA_MAX_PKEYS;
    hca_put_box(h, port, sizeof(port));
    g_assert_cmphex(hca_cmd(h, MTHCA_CMD_INIT_IB, 2), ==, MTHCA_ST_BAD_INDEX);
    g_assert_cmphex(hca_cmd(h, MTHCA_CMD_INIT_IB, 1), ==, MTHCA_ST_OK);
    g_assert_cmpuint(fixture_counter(h->f, "port-state"), ==, 4);
    for (unsigned len = 1; len < sizeof(frame); len += 7) {
        qncic_wire_send(&h->f->wire, frame, len);
    }
    stw_be_p(frame + 12, 0x0800);
    frame[14] = 0x45;
    frame[23] = 17;
    stw_be_p(frame + 36, 4791);
    for (unsigned len = 34; len <= longest; len++) {
        stw_be_p(frame + 16, len - 14);
        stw_be_p(frame + 38, len - 34);
        qncic_wire_send(&h->f->wire, frame, len);
    }
    /* the IP header's checksum is missing */
    fixture_wait_counter(h->f, bad_ip, longest - shortest + 1);
    g_assert_cmpuint(fixture_counter(h->f, bad_ip), ==,
                     longest - shortest + 1);
    g_assert_cmpuint(fixture_counter(h->f, "counter-completions"), ==, 0);
    hca_prove_works(h);
    hca_end(h);
}

/* ---- the monitor's view ---- */

/* The only engine that query-rdma shows. */
static QDict *only_engine(Hca *h, QDict **rsp)
{
    QList *list;

    *rsp = qtest_qmp(h->f->qts, "{ 'execute': 'query-rdma' }");
    list = qdict_get_qlist(*rsp, "return");
    g_assert_nonnull(list);
    g_assert_cmpuint(qlist_size(list), ==, 1);
    return qobject_to(QDict, qlist_peek(list));
}

static void set_prop(Hca *h, const char *name, bool flag, int64_t number)
{
    if (number < 0) {
        qtest_qmp_assert_success(h->f->qts, "{ 'execute': 'qom-set',"
                                 " 'arguments': { 'path': 'nic',"
                                 " 'property': %s, 'value': %i } }", name,
                                 flag);
    } else {
        qtest_qmp_assert_success(h->f->qts, "{ 'execute': 'qom-set',"
                                 " 'arguments': { 'path': 'nic',"
                                 " 'property': %s, 'value': %" PRId64 " } }",
                                 name, number);
    }
}

static void expect_port(Hca *h, bool up, const char *state)
{
    QDict *event = qtest_qmp_eventwait_ref(h->f->qts, "RDMA_PORT_CHANGED");
    QDict *data = qdict_get_qdict(event, "data");

    g_assert_cmpstr(qdict_get_str(data, "device"), ==,
                    "/machine/peripheral/nic");
    g_assert_true(qdict_get_bool(data, "link-up") == up);
    g_assert_cmpstr(qdict_get_str(data, "port-state"), ==, state);
    qobject_unref(event);
}

static void test_query(void)
{
    Hca *h = hca_begin("");
    QDict *rsp, *e, *f;
    char *text;

    e = only_engine(h, &rsp);
    g_assert_cmpstr(qdict_get_str(e, "device"), ==,
                    "/machine/peripheral/nic");
    g_assert_cmpstr(qdict_get_str(e, "interface"), ==, "mthca");
    g_assert_cmpstr(qdict_get_str(e, "port-state"), ==, "down");
    g_assert_true(qdict_get_bool(e, "link-up"));
    g_assert_cmpuint(qlist_size(qdict_get_qlist(e, "faults")), ==, 0);
    g_assert_cmpuint(qdict_get_int(qdict_get_qdict(e, "qps"), "rts"), ==, 0);
    g_assert_cmpuint(qlist_size(qdict_get_qlist(e, "counters")), >, 50);
    qobject_unref(rsp);
    /* A port that is started, and loses and gains its link. */
    hca_init(h);
    hca_port_up(h);
    expect_port(h, true, "active");
    set_prop(h, "link-up", false, -1);
    expect_port(h, false, "down");
    set_prop(h, "link-up", true, -1);
    expect_port(h, true, "active");
    set_prop(h, "fault-out-drop-ppm", false, 1000);
    e = only_engine(h, &rsp);
    g_assert_cmpstr(qdict_get_str(e, "port-state"), ==, "active");
    g_assert_cmpuint(qlist_size(qdict_get_qlist(e, "faults")), ==, 1);
    f = qobject_to(QDict, qlist_peek(qdict_get_qlist(e, "faults")));
    g_assert_cmpstr(qdict_get_str(f, "action"), ==, "drop");
    g_assert_true(qdict_get_bool(f, "outgoing"));
    g_assert_cmpuint(qdict_get_int(f, "ppm"), ==, 1000);
    qobject_unref(rsp);
    text = qtest_hmp(h->f->qts, "info rdma");
    g_assert_nonnull(strstr(text, "/machine/peripheral/nic (mthca): link up, "
                                  "port active"));
    g_assert_nonnull(strstr(text, "fault out drop: 1000 ppm"));
    g_free(text);
    hca_end(h);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!qtest_has_device("ncic-mthca")) {
        puts("1..0 # SKIP this emulator has no ncic-mthca");
        return 0;
    }
    qtest_add_func("/mthca/identity", test_identity);
    qtest_add_func("/mthca/commands", test_commands);
    qtest_add_func("/mthca/reset", test_reset);
    qtest_add_func("/mthca/mailbox", test_mailbox);
    qtest_add_func("/mthca/no-register", test_no_register);
    qtest_add_func("/mthca/doorbells", test_doorbells);
    qtest_add_func("/mthca/interrupts", test_interrupts);
    qtest_add_func("/mthca/config-space", test_config_space);
    qtest_add_func("/mthca/event-misuse", test_event_misuse);
    qtest_add_func("/mthca/wire", test_wire);
    qtest_add_func("/mthca/query", test_query);
    return g_test_run();
}
