/*
 * The RDMA engine of ncic-nic in the emulator: registers, doorbells, guest
 * memory, interrupts, the wire, reset, migration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qobject/qdict.h"
#include "ncic-fixture.h"
#include "libnrdma.h"
#include "roce-peer.h"

#define MY_IP    0x0a000001u
#define PEER_IP  0x0a000002u
#define PEER_MAC 0x020000000002ull
#define MY_MAC   0x525400123456ull      /* the fixture's */

enum { WRITE = NRB_WRITE, SEND_IMM = NRB_SEND_IMM, READ = NRB_READ, RC = 0 };

static void fill(QNrdma *r, uint64_t va, uint32_t len, uint8_t seed)
{
    g_autofree uint8_t *p = g_malloc(len);

    for (uint32_t i = 0; i < len; i++) {
        p[i] = i * 7 + seed;
    }
    qtest_memwrite(r->d->qts, qnr_addr(r, va), p, len);
}

static void compare(QNrdma *r, uint64_t va1, uint64_t va2, uint32_t len)
{
    g_autofree uint8_t *p = g_malloc(len), *q = g_malloc(len);

    qtest_memread(r->d->qts, qnr_addr(r, va1), p, len);
    qtest_memread(r->d->qts, qnr_addr(r, va2), q, len);
    g_assert_cmpmem(p, len, q, len);
}

static void expect_send(QNrdma *r, uint8_t op, uint32_t len)
{
    NrbCqe c = qnr_cqe(r);

    g_assert_true(c.is_send);
    g_assert_cmphex(c.opcode, ==, op);
    g_assert_cmpuint(c.bytes, ==, len);
}

/* Both windows of the HCR, and an engine that was left out. */
static void test_hcr(void)
{
    Fixture *f = fixture_start("", "");
    QNrdma r = { .d = &f->nic };

    r.out = guest_alloc(&f->alloc, 0x1000);
    g_assert_cmpuint(qnr_cmd(&r, NRC_QUERY_DEV_LIM, 0, 0, r.out, 0), ==, 0);
    g_assert_cmpuint(qtest_readb(f->qts, r.out + 0x0c), ==, NR_LOG_QPS);
    g_assert_cmpuint(qnr_cmd(&r, NRC_QUERY_ADAPTER, 0, 0, r.out, 0), ==, 0);
    g_assert_cmphex(qtest_readb(f->qts, r.out + 0x1f), ==, 0xef);
    g_assert_cmphex(qncic_read(&f->nic, NCIC_RTL_HCR + NRH_CMD), ==,
                    NRC_QUERY_ADAPTER);
    g_assert_cmpuint(qnr_cmd(&r, 0x055, 0, 0, 0, 0), ==, NRS_BAD_OP);
    g_assert_true(fixture_logged(f, "unknown command"));
    g_assert_cmpuint(qnr_cmd(&r, NRC_QUERY_DEV_LIM, 0, 0, NOWHERE, 0), ==,
                     NRS_BAD_PARAM);
    g_assert_cmpuint(qnr_cmd(&r, NRC_SW2HW_CQ, r.out, 1, 0, 0), ==,
                     NRS_BAD_PARAM);
    g_assert_true(fixture_logged(f, "before INIT_HCA"));
    fixture_stop(f);

    f = fixture_start("rdma=off", "");
    g_assert_cmphex(qncic_read(&f->nic, NCIC_HCR + NRH_CMD), ==, 0);
    fixture_stop(f);
}

/* Two QPs of one adapter; completion events reach the CPU as MSI-X. */
static void test_loopback(void)
{
    Fixture *f = fixture_start("rdma-ip=10.0.0.1", "");
    QNrdma r;
    QNrdmaQp a, b;
    NrbCqe c;

    qncic_msix_enable(&f->nic, QNR_VECTOR + 1);
    qnr_up(&r, &f->nic);
    qnr_qp(&r, &a, 4, 5, RC, MY_IP, MY_IP, 0);
    qnr_qp(&r, &b, 5, 4, RC, MY_IP, MY_IP, 0);
    fill(&r, QNR_VA, 0x3000, 1);
    qnr_send(&r, &a, WRITE, QNR_VA + 5, 0x2345, QNR_VA + 0x8001);
    expect_send(&r, WRITE, 0x2345);
    compare(&r, QNR_VA + 5, QNR_VA + 0x8001, 0x2345);
    g_assert_true(qncic_irq(&f->nic, QNR_VECTOR));
    g_assert_cmphex(qtest_readb(f->qts, r.eq + NRE_OWNER), ==, 0);
    qnr_recv(&r, &b, QNR_VA + 0x10000, 0x1000);
    qnr_send(&r, &a, SEND_IMM, QNR_VA, 3000, 0);
    for (int i = 0; i < 2; i++) {
        c = qnr_cqe(&r);
        if (c.is_send) {
            g_assert_cmphex(c.opcode, ==, SEND_IMM);
        } else {
            g_assert_cmphex(c.imm, ==, 0x1a2b3c4d);
            g_assert_cmpuint(c.bytes, ==, 3000);
            g_assert_cmpuint(c.qpn, ==, 5);
        }
    }
    compare(&r, QNR_VA, QNR_VA + 0x10000, 3000);
    qnr_send(&r, &b, READ, QNR_VA + 0x14000, 0x1800, QNR_VA + 0x100);
    expect_send(&r, READ, 0x1800);
    compare(&r, QNR_VA + 0x14000, QNR_VA + 0x100, 0x1800);
    g_assert_cmpuint(fixture_counter(f, "rdma-counter-completions"), ==, 4);
    /* A region that is taken away, and what it does to both ends. */
    g_assert_cmpuint(qnr_cmd(&r, NRC_HW2SW_MPT, 0, b.rq_key, 0, 0), ==, 0);
    qnr_send(&r, &a, SEND_IMM, QNR_VA, 16, 0);
    c = qnr_cqe(&r);
    g_assert_cmphex(c.syndrome, ==, 0x14);          /* remote operation */
    fixture_stop(f);
}

static RocePeer peer(Fixture *f)
{
    return (RocePeer) {
        .wire = &f->wire, .mac = PEER_MAC, .dev_mac = MY_MAC, .ip = PEER_IP,
        .dev_ip = MY_IP,
    };
}

/* The next RoCE frame, which must come. */
static size_t roce_frame(Fixture *f, uint8_t *buf)
{
    RocePeer p = peer(f);
    size_t len = roce_peer_recv(&p, buf, 5000);

    g_assert_cmpuint(len, >, 0);
    return len;
}

static void peer_sends(Fixture *f, uint8_t opcode, uint32_t psn,
                       const void *ext, size_t len)
{
    RocePeer p = peer(f);

    roce_peer_send(&p, opcode, 4, psn, ext, len, 0);
}

static void peer_acks(Fixture *f, uint32_t psn)
{
    RocePeer p = peer(f);

    roce_peer_ack(&p, 4, psn);
}

/* What a packet looks like outside, an answer, and a broken answer. */
static void test_wire(void)
{
    Fixture *f = fixture_start("rdma-ip=10.0.0.1", "");
    g_autofree uint8_t *p = g_malloc(QNCIC_FRAME);
    RocePeer them = peer(f);
    uint8_t aeth[4];
    QNrdma r;
    QNrdmaQp a;
    size_t len;

    qnr_up(&r, &f->nic);
    qnr_qp(&r, &a, 4, 0x77, RC, MY_IP, PEER_IP, PEER_MAC);
    fill(&r, QNR_VA, 0x100, 9);
    qnr_send(&r, &a, WRITE, QNR_VA, 101, 0x123456789abcull);
    len = roce_frame(f, p);
    /* RETH, 101 bytes, 3 of padding, ICRC. */
    g_assert_cmpuint(len, ==, 42 + 12 + 16 + 104 + 4);
    g_assert_cmphex((uint32_t)ldl_be_p(p), ==, PEER_MAC >> 16);
    g_assert_cmphex(lduw_be_p(p + 36), ==, 4791);
    g_assert_cmphex(p[42], ==, 0x0a);
    g_assert_cmphex(p[43], ==, 0x30);               /* three pad bytes */
    g_assert_cmphex((uint32_t)ldl_be_p(p + 46), ==, 0x77);
    g_assert_cmphex((uint32_t)ldl_be_p(p + 50), ==, 0x80000100);
    g_assert_cmphex(ldq_be_p(p + 54), ==, 0x123456789abcull);
    g_assert_cmpuint((uint32_t)ldl_be_p(p + 66), ==, 101);
    g_assert_cmphex(p[70 + 100], ==, (uint8_t)(100 * 7 + 9));
    g_assert_cmphex((uint32_t)ldl_le_p(p + len - 4), ==,
                    roce_peer_icrc(p + 14, len - 18));
    stl_be_p(aeth, 0x1f000001);
    roce_peer_send(&them, 0x11, 4, 0x100, aeth, sizeof(aeth), 1);
    fixture_wait_counter(f, "rdma-counter-rx_bad_icrc", 1);
    g_assert_false(qnr_cqe_ready(&r));
    peer_acks(f, 0x100);
    expect_send(&r, WRITE, 101);
    fixture_stop(f);
}

/* ---- what is taken away during a transfer ---- */

/* Two packets may be under way; the peer is the test.  QP 4 sends a Write of
 * eight packets and gets to the third when the first is acknowledged. */
static Fixture *begin_transfer(QNrdma *r, QNrdmaQp *a)
{
    Fixture *f = fixture_start("rdma-ip=10.0.0.1,rdma-swpb-packets=2", "");
    g_autofree uint8_t *p = g_malloc(QNCIC_FRAME);

    qnr_up(r, &f->nic);
    qnr_qp(r, a, 4, 0x77, RC, MY_IP, PEER_IP, PEER_MAC);
    qnr_send(r, a, WRITE, QNR_VA, 8 * 1024, QNR_VA);
    roce_frame(f, p);
    g_assert_cmphex(p[42], ==, 0x06);               /* Write First */
    roce_frame(f, p);
    g_assert_cmphex(p[42], ==, 0x07);
    g_assert_cmpuint(qncic_wire_recv(&f->wire, &f->nic, p, 50), ==, 0);
    return f;
}

/* Two QPs of the same adapter still understand each other. */
static void prove_works(QNrdma *r)
{
    QNrdmaQp b, c;

    qnr_qp(r, &b, 6, 7, RC, MY_IP, MY_IP, 0);
    qnr_qp(r, &c, 7, 6, RC, MY_IP, MY_IP, 0);
    qnr_send(r, &b, WRITE, QNR_VA, 0x1234, QNR_VA + 0x8000);
    expect_send(r, WRITE, 0x1234);
}

static void take_region(QNrdma *r)
{
    g_assert_cmpuint(qnr_cmd(r, NRC_HW2SW_MPT, 0, QNR_MR_DATA, 0, 0), ==, 0);
}

static void give_region(QNrdma *r)
{
    qnr_region(r, QNR_MR_DATA, NRM_LOCAL_WRITE | NRM_REMOTE_WRITE |
               NRM_REMOTE_READ | NRM_REMOTE_ATOMIC, QNR_VA, r->data,
               QNR_DATA);
}

/* The region of a Send queue's data goes away between two packets. */
static void test_revoke_sender(void)
{
    QNrdma r;
    QNrdmaQp a;
    NrbCqe c;
    Fixture *f = begin_transfer(&r, &a);

    take_region(&r);
    peer_acks(f, 0x100);
    c = qnr_cqe(&r);
    g_assert_true(c.is_send);
    g_assert_cmphex(c.opcode, ==, NRQ_ERR_SEND);
    g_assert_cmphex(c.syndrome, ==, 0x11);          /* local access */
    give_region(&r);
    prove_works(&r);
    fixture_stop(f);
}

/* The region that a peer writes to goes away between two packets. */
static void test_revoke_responder(void)
{
    Fixture *f = fixture_start("rdma-ip=10.0.0.1", "");
    g_autofree uint8_t *p = g_malloc(QNCIC_FRAME);
    uint8_t first[16 + 1024] = { 0 };
    QNrdma r;
    QNrdmaQp a;

    qnr_up(&r, &f->nic);
    qnr_qp(&r, &a, 4, 0x77, RC, MY_IP, PEER_IP, PEER_MAC);
    stq_be_p(first, QNR_VA);
    stl_be_p(first + 8, QNR_MR_DATA);
    stl_be_p(first + 12, 2048);
    memset(first + 16, 0xa5, 1024);
    peer_sends(f, 0x06, 0x100, first, sizeof(first));
    roce_frame(f, p);
    g_assert_cmphex(p[42], ==, 0x11);
    g_assert_cmphex(p[54] & 0xe0, ==, 0);           /* ACK */
    g_assert_cmphex(qtest_readb(f->qts, r.data + 1023), ==, 0xa5);
    take_region(&r);
    peer_sends(f, 0x08, 0x101, first + 16, 1024);
    roce_frame(f, p);
    g_assert_cmphex(p[42], ==, 0x11);
    g_assert_cmphex(p[54], ==, 0x62);               /* NAK remote access */
    g_assert_cmphex(qtest_readb(f->qts, r.data + 1024), ==, 0);
    give_region(&r);
    prove_works(&r);
    fixture_stop(f);
}

/* The QP goes away; what the peer says of it later is for nobody. */
static void test_destroy(void)
{
    static const uint16_t ways[] = { NRC_2RST_QP, NRC_2ERR_QP };

    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        QNrdma r;
        QNrdmaQp a;
        NrbCqe c;
        Fixture *f = begin_transfer(&r, &a);

        g_assert_cmpuint(qnr_cmd(&r, ways[i], r.mbox, 4, 0, 0), ==, 0);
        if (ways[i] == NRC_2ERR_QP) {
            c = qnr_cqe(&r);
            g_assert_cmphex(c.opcode, ==, NRQ_ERR_SEND);
            g_assert_cmphex(c.syndrome, ==, 0x05);  /* flushed */
        }
        peer_acks(f, 0x100);
        fixture_wait_counter(f, "rdma-counter-rx_qp_state", 1);
        g_assert_false(qnr_cqe_ready(&r));
        prove_works(&r);
        /* And the same number again, from the beginning. */
        g_assert_cmpuint(qnr_cmd(&r, NRC_2RST_QP, r.mbox, 4, 0, 0), ==, 0);
        qnr_qp(&r, &a, 4, 4, RC, MY_IP, MY_IP, 0);
        qnr_send(&r, &a, WRITE, QNR_VA, 0x999, QNR_VA + 0x8000);
        expect_send(&r, WRITE, 0x999);
        fixture_stop(f);
    }
}

/* A request is in flight, and its QP is made another service's: refused, or
 * without checks left alone.  The emulator ended here. */
static void test_service_in_flight(void)
{
    g_autofree uint8_t *p = g_malloc(QNCIC_FRAME);

    for (int strict = 0; strict < 2; strict++) {
        QNrdma r;
        QNrdmaQp a;
        uint8_t m[NR_QP_MBOX_BYTES];
        Fixture *f = fixture_start(strict ? "rdma-ip=10.0.0.1" :
                                   "rdma-ip=10.0.0.1,rdma-strict=off", "");

        qnr_up(&r, &f->nic);
        qnr_qp(&r, &a, 4, 0x77, RC, MY_IP, PEER_IP, PEER_MAC);
        qnr_send(&r, &a, WRITE, QNR_VA, 64, QNR_VA);
        roce_frame(f, p);
        g_assert_cmpuint(qnr_cmd(&r, NRC_QUERY_QP, 0, 4, r.out, 0), ==, 0);
        qtest_memread(f->qts, r.out, m, sizeof(m));
        m[0x09] = 1;                                /* UC */
        qtest_memwrite(f->qts, r.mbox, m, sizeof(m));
        g_assert_cmphex(qnr_cmd(&r, NRC_RTS2RTS_QP, r.mbox, 4, 0, 0), ==,
                        strict ? NRS_BAD_PARAM : NRS_OK);
        g_assert_true(fixture_logged(f, "attribute cannot change"));
        qnr_send(&r, &a, WRITE, QNR_VA, 64, QNR_VA);
        roce_frame(f, p);
        g_assert_false(qnr_cqe_ready(&r));
        g_assert_cmphex(qnr_cmd(&r, NRC_2RST_QP, r.mbox, 4, 0, 0), ==, 0);
        prove_works(&r);
        fixture_stop(f);
    }
}

/* A sample of the switches, from the command line to the wire. */
static void test_switches(void)
{
    Fixture *f = fixture_start("rdma-ip=10.0.0.1,rdma-udp-sport=1234,"
                               "rdma-send-se-always=on,rdma-nop-bad-op=on,"
                               "rdma-uar-check=on,rdma-error-cqe=rtl", "");
    g_autofree uint8_t *p = g_malloc(QNCIC_FRAME);
    uint8_t aeth[4];
    QNrdma r;
    QNrdmaQp a;
    NrbCqe c;

    qnr_up(&r, &f->nic);
    g_assert_cmphex(qnr_cmd(&r, NRC_NOP, 0, 0, 0, 0), ==, NRS_BAD_OP);
    qnr_qp(&r, &a, 4, 0x123456, RC, MY_IP, PEER_IP, PEER_MAC);
    qpci_io_writeq(r.d->pci, r.d->uar, 0x1000 + NRU_SQ_DB,
                   nrb_doorbell(4, 3, 0, WRITE));
    g_assert_true(fixture_logged(f, "doorbell on a foreign page"));
    qnr_send(&r, &a, WRITE, QNR_VA, 8, QNR_VA);
    roce_frame(f, p);
    g_assert_cmpuint(lduw_be_p(p + 34), ==, 1234);
    g_assert_cmphex(p[43] & 0x80, ==, 0x80);
    g_assert_cmphex((uint32_t)ldl_be_p(p + 46), ==, 0x123456);
    stl_be_p(aeth, 0x62000000);                 /* NAK remote access */
    peer_sends(f, 0x11, 0x100, aeth, sizeof(aeth));
    c = qnr_cqe(&r);
    g_assert_cmphex(c.opcode, ==, NRQ_ERR_SEND);
    g_assert_cmphex(c.imm, ==, 0x13);           /* last of the four bytes */
    fixture_stop(f);
}

/* ---- ICM that is not mapped ---- */

static void test_unmapped_icm(void)
{
    enum { FAR = 1 << 10 };             /* entries beyond the mapped pages */
    static const struct {
        uint16_t op;
        uint32_t index;
    } uses[] = {
        { NRC_SW2HW_CQ, FAR }, { NRC_SW2HW_MPT, FAR },
        { NRC_RST2INIT_QP, FAR },
    };
    Fixture *f = fixture_start("rdma-ip=10.0.0.1", "");
    uint8_t m[0x1000] = { 0 };
    QNrdma r;
    QNrdmaQp a, b;

    qnr_up(&r, &f->nic);
    stl_be_p(m + 8, FAR);               /* the key of a region */
    qtest_memwrite(f->qts, r.mbox, m, sizeof(m));
    for (size_t i = 0; i < ARRAY_SIZE(uses); i++) {
        g_assert_cmphex(qnr_cmd(&r, uses[i].op, r.mbox, uses[i].index, 0, 0),
                        ==, NRS_BAD_PARAM);
        g_assert_true(fixture_logged(f, "ICM page not mapped"));
    }
    /* The pages of a region in use are taken away, and given back. */
    qnr_qp(&r, &a, 4, 5, RC, MY_IP, MY_IP, 0);
    qnr_qp(&r, &b, 5, 4, RC, MY_IP, MY_IP, 0);
    g_assert_cmphex(qnr_cmd(&r, NRC_UNMAP_ICM, QNR_ICM_MTT, 1, 0,
                            NR_ICM_TPT), ==, 0);
    qnr_send(&r, &a, WRITE, QNR_VA, 64, QNR_VA + 0x1000);
    /* Nothing can be written, not even the completion. */
    fixture_wait_counter(f, "rdma-counter-cqe_failed", 1);
    g_assert_true(fixture_logged(f, "completion cannot be written"));
    qnr_map(&r, NR_ICM_TPT, QNR_ICM_MTT, r.icm + 0xe000, 1);
    prove_works(&r);
    fixture_stop(f);
}

/* ---- doorbells ---- */

static void half(QNrdma *r, uint32_t page, uint32_t off, uint32_t val)
{
    qpci_io_writel(r->d->pci, r->d->uar, page * 0x1000 + off, val);
}

/* Halves that do not belong together, QPs that do not send, one WQE rung for
 * twice, a doorbell before its QP is up. */
static void test_doorbells(void)
{
    Fixture *f = fixture_start("rdma-ip=10.0.0.1", "");
    QNrdma r;
    QNrdmaQp a, b;
    NrbSend s = { .op = WRITE, .addr = QNR_VA, .len = 32,
                  .lkey = QNR_MR_DATA, .raddr = QNR_VA + 0x1000,
                  .rkey = QNR_MR_DATA };
    uint8_t w[QNR_SLOT] = { 0 };
    uint64_t db;

    qnr_up(&r, &f->nic);
    /* Nobody has this QP; it is not queued for later. */
    db = nrb_doorbell(4, 3, 0, WRITE);
    qpci_io_writeq(r.d->pci, r.d->uar, NRU_SQ_DB, db);
    g_assert_true(fixture_logged(f, "doorbell for a QP that cannot send"));
    qnr_qp(&r, &a, 4, 5, RC, MY_IP, MY_IP, 0);
    qnr_qp(&r, &b, 5, 4, RC, MY_IP, MY_IP, 0);
    g_assert_false(qnr_cqe_ready(&r));
    nrb_send(w, &s);
    qtest_memwrite(f->qts, a.sq, w, sizeof(w));
    qtest_memwrite(f->qts, b.sq, w, sizeof(w));
    /* As two halves; the first half of another process in between wins. */
    half(&r, 1, 0, nrb_doorbell(4, 3, 64, 0x1f));
    half(&r, 2, 0, db);
    half(&r, 2, 4, db >> 32);
    expect_send(&r, WRITE, 32);
    /* Twice the same, at once: the WQE is executed twice. */
    qpci_io_writeq(r.d->pci, r.d->uar, NRU_SQ_DB, db);
    qpci_io_writeq(r.d->pci, r.d->uar, NRU_SQ_DB, db);
    expect_send(&r, WRITE, 32);
    expect_send(&r, WRITE, 32);
    /* Two QPs in turn, from different pages. */
    for (int i = 0; i < 4; i++) {
        qpci_io_writeq(r.d->pci, r.d->uar, (i & 1) * 0x1000 + NRU_SQ_DB,
                       nrb_doorbell(4 + (i & 1), 3, 0, WRITE));
    }
    for (int i = 0; i < 4; i++) {
        expect_send(&r, WRITE, 32);
    }
    /* Rung and reset: nothing of it is done afterwards. */
    g_assert_cmpuint(qnr_cmd(&r, NRC_2RST_QP, r.mbox, 4, 0, 0), ==, 0);
    qpci_io_writeq(r.d->pci, r.d->uar, NRU_SQ_DB, db);
    g_assert_true(fixture_logged(f, "doorbell for a QP that cannot send"));
    prove_works(&r);
    g_assert_false(qnr_cqe_ready(&r));
    fixture_stop(f);
}

/* Nobody answers: repeated, then completed with "retries exceeded". */
static void test_timeout(void)
{
    Fixture *f = fixture_start("rdma-ip=10.0.0.1,rdma-loss-us=1000", "");
    QNrdma r;
    QNrdmaQp a;

    qnr_up(&r, &f->nic);
    qnr_qp(&r, &a, 4, 0x77, RC, MY_IP, PEER_IP, PEER_MAC);
    qnr_send(&r, &a, WRITE, QNR_VA, 8, QNR_VA);
    g_assert_cmphex(qnr_cqe(&r).syndrome, ==, 0x15);
    g_assert_cmpuint(fixture_counter(f, "rdma-counter-timeouts"), ==, 8);
    fixture_stop(f);
}

/* Faults by QMP: the third frame is lost and comes again. */
static void test_fault(void)
{
    Fixture *f = fixture_start("rdma-ip=10.0.0.1", "");
    QDict *rsp;
    QNrdma r;
    QNrdmaQp a;

    qnr_up(&r, &f->nic);
    qnr_qp(&r, &a, 4, 0x77, RC, MY_IP, PEER_IP, PEER_MAC);
    for (int i = 0; i < 2; i++) {
        rsp = qtest_qmp(f->qts, "{ 'execute': 'qom-set', 'arguments': {"
                        " 'path': 'nic', 'property': %s, 'value': 1 } }",
                        i ? "rdma-fault-out-nth" : "rdma-fault-out-action");
        g_assert_true(qdict_haskey(rsp, "return"));
        qobject_unref(rsp);
    }
    rsp = qtest_qmp(f->qts, "{ 'execute': 'qom-set', 'arguments': { 'path':"
                    " 'nic', 'property': 'rdma-fault-in-drop-ppm',"
                    " 'value': 1000001 } }");
    g_assert_true(qdict_haskey(rsp, "error"));
    qobject_unref(rsp);
    qnr_send(&r, &a, WRITE, QNR_VA, 8, QNR_VA);
    fixture_wait_counter(f, "rdma-counter-fault_drop", 1);
    g_assert_cmpuint(fixture_counter(f, "rdma-counter-retransmits"), ==, 0);
    qtest_clock_step(f->qts, 200000000);
    g_assert_cmpuint(fixture_counter(f, "rdma-counter-retransmits"), ==, 1);
    fixture_stop(f);
}

/* The reset register in the middle of work; then all over again. */
static void test_reset(void)
{
    Fixture *f = fixture_start("rdma-ip=10.0.0.1", "");
    QNrdma r;
    QNrdmaQp a, b;

    for (int i = 0; i < 3; i++) {
        qnr_up(&r, &f->nic);
        qnr_qp(&r, &a, 4, 5, RC, MY_IP, MY_IP, 0);
        qnr_qp(&r, &b, 5, 4, RC, MY_IP, MY_IP, 0);
        qnr_send(&r, &a, WRITE, QNR_VA, 0x4000, QNR_VA + 0x8000);
        if (i == 2) {
            expect_send(&r, WRITE, 0x4000);
        }
        if (i == 0) {
            qncic_write(&f->nic, NCIC_RESET, 1);
        } else if (i == 1) {
            qtest_system_reset(f->qts);
            qncic_init(&f->nic, f->qts, f->pci, &f->alloc);
        }
        if (i < 2) {
            g_assert_cmphex(qncic_read(&f->nic, NCIC_HCR + NRH_CMD), ==, 0);
        }
    }
    fixture_stop(f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ncic-rdma/hcr", test_hcr);
    qtest_add_func("/ncic-rdma/loopback", test_loopback);
    qtest_add_func("/ncic-rdma/wire", test_wire);
    qtest_add_func("/ncic-rdma/timeout", test_timeout);
    qtest_add_func("/ncic-rdma/fault", test_fault);
    qtest_add_func("/ncic-rdma/revoke-sender", test_revoke_sender);
    qtest_add_func("/ncic-rdma/revoke-responder", test_revoke_responder);
    qtest_add_func("/ncic-rdma/destroy", test_destroy);
    qtest_add_func("/ncic-rdma/service-in-flight", test_service_in_flight);
    qtest_add_func("/ncic-rdma/switches", test_switches);
    qtest_add_func("/ncic-rdma/unmapped-icm", test_unmapped_icm);
    qtest_add_func("/ncic-rdma/doorbells", test_doorbells);
    qtest_add_func("/ncic-rdma/reset", test_reset);
    return g_test_run();
}
