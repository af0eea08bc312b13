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

#define MY_IP    0x0a000001u
#define PEER_IP  0x0a000002u
#define PEER_MAC 0x020000000002ull

enum { WRITE = 0x08, SEND_IMM = 0x0b, READ = 0x10, RC = 0 };

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
    QNrdmaCqe c = qnr_cqe(r);

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
    QNrdmaCqe c;

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

/* The CRC, one bit at a time: not the engine's way. */
static uint32_t crc32_bits(uint32_t crc, const uint8_t *p, size_t len)
{
    while (len--) {
        crc ^= *p++;
        for (int i = 0; i < 8; i++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
        }
    }
    return crc;
}

static uint32_t icrc(const uint8_t *ip, size_t len)
{
    static const uint8_t variant[] = { 1, 8, 10, 11, 26, 27, 32 };
    g_autofree uint8_t *m = g_memdup2(ip, len);
    uint8_t ones[8];

    memset(ones, 0xff, sizeof(ones));
    for (size_t i = 0; i < ARRAY_SIZE(variant); i++) {
        m[variant[i]] = 0xff;
    }
    return ~crc32_bits(crc32_bits(0xffffffff, ones, 8), m, len);
}

/* Waits for a RoCE frame on the wire; its length. */
static size_t roce_frame(Fixture *f, uint8_t *buf)
{
    size_t len;

    do {
        len = qncic_wire_recv(&f->wire, &f->nic, buf, 5000);
        g_assert_cmpuint(len, >, 0);
    } while (lduw_be_p(buf + 12) != 0x0800);
    return len;
}

/* What a packet looks like outside, an answer, and a broken answer. */
static void test_wire(void)
{
    Fixture *f = fixture_start("rdma-ip=10.0.0.1", "");
    g_autofree uint8_t *p = g_malloc(QNCIC_FRAME);
    uint8_t ack[62] = { 0 }, *ip = ack + 14, *bth = ack + 42;
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
                    icrc(p + 14, len - 18));
    /* The peer's acknowledgement, first with a wrong ICRC. */
    memcpy(ack, p + 6, 6);
    memcpy(ack + 6, p, 6);
    stw_be_p(ack + 12, 0x0800);
    ip[0] = 0x45;
    stw_be_p(ip + 2, 48);
    ip[8] = 64;
    ip[9] = 17;
    stl_be_p(ip + 12, PEER_IP);
    stl_be_p(ip + 16, MY_IP);
    /* The sum of the words above, by hand. */
    stw_be_p(ip + 10, (uint16_t)~(0x4500 + 48 + 0x4011 + 0x0a00 + 2 +
                                  0x0a00 + 1));
    stw_be_p(ip + 20, 50000);
    stw_be_p(ip + 22, 4791);
    stw_be_p(ip + 24, 28);
    bth[0] = 0x11;
    stw_be_p(bth + 2, 0xffff);
    stl_be_p(bth + 4, 4);
    stl_be_p(bth + 8, 0x100);
    stl_be_p(bth + 12, 0x1f000001);
    stl_le_p(bth + 16, icrc(ip, 44) ^ 1);
    qncic_wire_send(&f->wire, ack, sizeof(ack));
    fixture_wait_counter(f, "rdma-counter-rx_bad_icrc", 1);
    g_assert_false(qnr_cqe_ready(&r));
    stl_le_p(bth + 16, icrc(ip, 44));
    qncic_wire_send(&f->wire, ack, sizeof(ack));
    expect_send(&r, WRITE, 101);
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
    qtest_add_func("/ncic-rdma/reset", test_reset);
    return g_test_run();
}
