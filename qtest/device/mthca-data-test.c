/*
 * ncic-mthca in the emulator: queue pairs at work, and what becomes of the
 * work when a region, a queue pair or a page of ICM is taken away in its
 * midst, or doorbells come as they should not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qobject/qdict.h"
#include "libmthca.h"
#include "roce-peer.h"
#include "../deadline.h"

#define MY_MAC     0x525400123456ull    /* the fixture's */
#define PEER_MAC   0x020000000002ull
#define NET        0x0a4c0000u          /* LID n is 10.76.0.n */
#define UARC       0ull                 /* ICM: doorbell records, pages */
#define MTT        0x20000000ull

enum {
    LID = 1, PEER_LID = 2, UAR = 2, CQN = 5, EQN = 1, MTU = 256, PSN = 0x100,
    QPN = 0x415, OTHER = 0x416, PEER_QPN = 0x77,
    ALL = 0x10, DATA = 0x11, PAGED = 0x12,      /* regions */
    LOG_SLOTS = 4, LOG_SQ_STRIDE = 7, LOG_RQ_STRIDE = 6, LOG_CQES = 6,
    SLOTS = 1 << LOG_SLOTS, SQ_STRIDE = 1 << LOG_SQ_STRIDE,
    RQ_STRIDE = 1 << LOG_RQ_STRIDE, CQES = 1 << LOG_CQES,
    DATA_BYTES = 0x8000,
};
/* Doorbell records: of the CQ, then two for each QP */
enum { CI_DB, ARM_DB, SQ_DB, RQ_DB };

typedef struct Qp {
    uint32_t qpn, sq, rq;
    uint16_t head, recvs;
    unsigned db;
} Qp;

typedef struct Net {
    Hca *h;
    uint64_t db, cq, data;
    uint32_t ci;
    RocePeer peer;
} Net;

static uint32_t key(uint32_t region)
{
    return region << 8;
}

static uint64_t zeroed(Hca *h, size_t len, uint8_t fill)
{
    uint64_t a = guest_alloc(&h->f->alloc, len);

    qtest_memset(h->qts, a, fill, len);
    return a;
}

static void run(Hca *h, uint16_t op, uint32_t mod, const uint8_t *box)
{
    hca_put_box(h, box, MTHCA_MAILBOX_SIZE);
    g_assert_cmphex(hca_cmd(h, op, mod), ==, MTHCA_ST_OK);
}

static void region(Net *n, uint32_t index, uint64_t start, uint64_t len)
{
    uint8_t m[MTHCA_MAILBOX_SIZE] = { 0 };

    mtb_region(m, index, 0, start, len);
    run(n->h, MTHCA_CMD_SW2HW_MPT, index, m);
}

static void map_icm(Net *n, uint64_t virt, uint64_t addr)
{
    uint8_t m[MTHCA_MAILBOX_SIZE] = { 0 };

    mtb_map_icm(m, 0, virt, addr);
    run(n->h, MTHCA_CMD_MAP_ICM, 1, m);
}

static void unmap_icm(Net *n, uint64_t virt)
{
    g_assert_cmphex(hca_cmd_at(n->h, MTHCA_CMD_UNMAP_ICM, 1, virt, 0), ==,
                    MTHCA_ST_OK);
}

/* From nothing to a completion queue; two packets may be under way. */
static Net up(void)
{
    uint8_t m[MTHCA_MAILBOX_SIZE] = { 0 };
    Net n = { .h = hca_begin("lid=1,swpb-packets=2") };
    Hca *h = n.h;

    n.peer = (RocePeer) {
        .wire = &h->f->wire, .mac = PEER_MAC, .dev_mac = MY_MAC,
        .ip = NET + PEER_LID, .dev_ip = NET + LID,
    };
    g_assert_cmphex(hca_cmd(h, MTHCA_CMD_RUN_FW, 0), ==, MTHCA_ST_OK);
    mtb_init_hca(m, UARC, MTT);
    run(h, MTHCA_CMD_INIT_HCA, 0, m);
    memset(m, 0, sizeof(m));
    mtb_init_ib(m);
    run(h, MTHCA_CMD_INIT_IB, 1, m);
    n.db = zeroed(h, 4096, 0);
    map_icm(&n, UARC + (UAR << 18), n.db);
    n.data = zeroed(h, DATA_BYTES, 0);
    region(&n, ALL, 0, UINT64_MAX);
    region(&n, DATA, n.data, DATA_BYTES);
    n.cq = zeroed(h, CQES * MTHCA_CQE_SIZE, MTHCA_OWNER_HW);
    memset(m, 0, sizeof(m));
    mtb_cq(m, n.cq, LOG_CQES, UAR, EQN, key(ALL), CI_DB, ARM_DB);
    run(h, MTHCA_CMD_SW2HW_CQ, CQN, m);
    return n;
}

static void down(Net *n)
{
    hca_end(n->h);
}

static Qp qp_up(Net *n, uint32_t qpn, uint32_t peer_qpn, uint16_t dlid)
{
    uint8_t m[MTHCA_MAILBOX_SIZE] = { 0 };
    Qp q = {
        .qpn = qpn, .db = 2 * (qpn & 7),
        .sq = zeroed(n->h, SLOTS * SQ_STRIDE, 0),
        .rq = zeroed(n->h, SLOTS * RQ_STRIDE, 0),
    };
    const MtbQp attr = {
        .service = MTHCA_ST_RC, .mtu = 1, .qpn = qpn, .peer_qpn = peer_qpn,
        .uar = UAR, .cqn = CQN, .key = key(ALL), .log_sq = LOG_SLOTS,
        .log_sq_stride = LOG_SQ_STRIDE, .log_rq = LOG_SLOTS,
        .log_rq_stride = LOG_RQ_STRIDE, .sq = q.sq, .rq = q.rq,
        .sq_db = SQ_DB + q.db, .rq_db = RQ_DB + q.db, .dlid = dlid,
        .sq_psn = PSN, .rq_psn = PSN,
    };

    mtb_rst2init(m, &attr);
    run(n->h, MTHCA_CMD_RST2INIT_QP, qpn, m);
    memset(m, 0, sizeof(m));
    mtb_init2rtr(m, &attr);
    run(n->h, MTHCA_CMD_INIT2RTR_QP, qpn, m);
    memset(m, 0, sizeof(m));
    mtb_rtr2rts(m, &attr);
    run(n->h, MTHCA_CMD_RTR2RTS_QP, qpn, m);
    return q;
}

static void ring(Net *n, uint32_t uar, uint64_t db)
{
    hca_doorbell(n->h, uar * MTHCA_UAR_PAGE + MTHCA_UAR_SEND, db >> 32, db);
}

/* A Write of @len bytes of region @lkey to @off of the data at the peer. */
static uint64_t put_write(Net *n, Qp *q, uint32_t lkey, uint64_t addr,
                          uint32_t len, uint32_t off)
{
    uint8_t w[SQ_STRIDE] = { 0 };

    stl_be_p(w + 8, MTHCA_NEXT_CQ_UPDATE | 1);
    mtb_data(mtb_raddr(w + 16, n->data + off, key(DATA)), addr, len, lkey);
    qtest_memwrite(n->h->qts, q->sq + q->head % SLOTS * SQ_STRIDE, w,
                   sizeof(w));
    return mtb_doorbell(q->qpn, 1, q->head++, MTHCA_WQE_RDMA_WRITE, 3);
}

static void post_write(Net *n, Qp *q, uint32_t len, uint32_t off)
{
    ring(n, UAR, put_write(n, q, key(DATA), n->data, len, off));
}

static uint64_t cqe_addr(Net *n)
{
    return n->cq + n->ci % CQES * MTHCA_CQE_SIZE;
}

static bool cqe_ready(Net *n)
{
    return !(qtest_readb(n->h->qts, cqe_addr(n) + 0x1f) & MTHCA_OWNER_HW);
}

/* The next completion of a send: QP and syndrome, 0 = good. */
static void expect_cqe(Net *n, uint32_t qpn, uint8_t syndrome)
{
    gint64 end = test_deadline(10);
    uint8_t c[MTHCA_CQE_SIZE], ci[4];

    while (!cqe_ready(n)) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_usleep(200);
        qtest_clock_step(n->h->qts, 1000000);
    }
    qtest_memread(n->h->qts, cqe_addr(n), c, sizeof(c));
    qtest_writeb(n->h->qts, cqe_addr(n) + 0x1f, MTHCA_OWNER_HW);
    stl_be_p(ci, ++n->ci);
    qtest_memwrite(n->h->qts, n->db + 8 * CI_DB, ci, sizeof(ci));
    g_assert_cmphex((uint32_t)ldl_be_p(c), ==, qpn);
    if (syndrome) {
        g_assert_cmphex(c[0x1c], ==, 0xff);
        g_assert_cmphex(c[0x10], ==, syndrome);
    } else {
        g_assert_cmphex(c[0x1c], ==, MTHCA_WQE_RDMA_WRITE);
    }
}

/* Two QPs of the adapter itself still understand each other. */
static void prove_works(Net *n)
{
    enum { ONE = 0x4a1, TWO = 0x4a2, LEN = 1000, OFF = 0x4000 };
    uint8_t sent[LEN], got[LEN];
    Qp a = qp_up(n, ONE, TWO, LID);

    qp_up(n, TWO, ONE, LID);
    for (int i = 0; i < LEN; i++) {
        sent[i] = i * 7 + 1;
    }
    qtest_memwrite(n->h->qts, n->data, sent, LEN);
    post_write(n, &a, LEN, OFF);
    expect_cqe(n, ONE, 0);
    qtest_memread(n->h->qts, n->data + OFF, got, LEN);
    g_assert_cmpmem(sent, LEN, got, LEN);
    g_assert_false(cqe_ready(n));
    for (uint32_t q = ONE; q <= TWO; q++) {
        g_assert_cmphex(hca_cmd(n->h, MTHCA_CMD_ERR2RST_QP, q), ==,
                        MTHCA_ST_OK);
    }
}

static size_t frame(Net *n, uint8_t *p)
{
    size_t len = roce_peer_recv(&n->peer, p, 5000);

    g_assert_cmpuint(len, >, 0);
    return len;
}

/* A Write of eight packets to the test, of which two have come. */
static Qp begin_transfer(Net *n)
{
    g_autofree uint8_t *p = g_malloc(QNCIC_FRAME);
    Qp q = qp_up(n, QPN, PEER_QPN, PEER_LID);

    post_write(n, &q, 8 * MTU, 0);
    frame(n, p);
    g_assert_cmphex(p[ROCE_PEER_BTH], ==, 0x06);    /* Write First */
    frame(n, p);
    g_assert_cmphex(p[ROCE_PEER_BTH], ==, 0x07);
    g_assert_cmpuint(roce_peer_recv(&n->peer, p, 50), ==, 0);
    return q;
}

static void take_region(Net *n)
{
    g_assert_cmphex(hca_cmd(n->h, MTHCA_CMD_HW2SW_MPT, DATA), ==,
                    MTHCA_ST_OK);
}

static void give_region(Net *n)
{
    region(n, DATA, n->data, DATA_BYTES);
}

/* ---- what is taken away ------------------------------------------------ */

static void test_loopback(void)
{
    Net n = up();

    prove_works(&n);
    prove_works(&n);
    down(&n);
}

static void test_revoke_sender(void)
{
    Net n = up();

    begin_transfer(&n);
    take_region(&n);
    roce_peer_ack(&n.peer, QPN, PSN);
    expect_cqe(&n, QPN, MTHCA_SYN_LOCAL_PROT);
    give_region(&n);
    prove_works(&n);
    down(&n);
}

static void test_revoke_responder(void)
{
    g_autofree uint8_t *p = g_malloc(QNCIC_FRAME);
    uint8_t first[16 + MTU];
    Net n = up();

    qp_up(&n, QPN, PEER_QPN, PEER_LID);
    stq_be_p(first, n.data);
    stl_be_p(first + 8, key(DATA));
    stl_be_p(first + 12, 2 * MTU);
    memset(first + 16, 0xa5, MTU);
    roce_peer_send(&n.peer, 0x06, QPN, PSN, first, sizeof(first), 0);
    frame(&n, p);
    g_assert_cmphex(p[ROCE_PEER_BTH], ==, 0x11);
    g_assert_cmphex(p[ROCE_PEER_EXT] & 0xe0, ==, 0);        /* ACK */
    g_assert_cmphex(qtest_readb(n.h->qts, n.data + MTU - 1), ==, 0xa5);
    take_region(&n);
    roce_peer_send(&n.peer, 0x08, QPN, PSN + 1, first + 16, MTU, 0);
    frame(&n, p);
    g_assert_cmphex(p[ROCE_PEER_BTH], ==, 0x11);
    g_assert_cmphex(p[ROCE_PEER_EXT], ==, 0x62);    /* remote access */
    g_assert_cmphex(qtest_readb(n.h->qts, n.data + MTU), ==, 0);
    give_region(&n);
    prove_works(&n);
    down(&n);
}

static void test_destroy(void)
{
    static const uint16_t ways[] = { MTHCA_CMD_2ERR_QP,
                                     MTHCA_CMD_ERR2RST_QP };

    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        Net n = up();

        begin_transfer(&n);
        g_assert_cmphex(hca_cmd(n.h, ways[i], QPN), ==, MTHCA_ST_OK);
        if (ways[i] == MTHCA_CMD_2ERR_QP) {
            expect_cqe(&n, QPN, MTHCA_SYN_FLUSH);
        }
        /* What the peer says of it later is for nobody. */
        roce_peer_ack(&n.peer, QPN, PSN);
        prove_works(&n);
        if (ways[i] == MTHCA_CMD_2ERR_QP) {
            g_assert_cmphex(hca_cmd(n.h, MTHCA_CMD_ERR2RST_QP, QPN), ==,
                            MTHCA_ST_OK);
        }
        /* And the same number again, from the beginning. */
        begin_transfer(&n);
        down(&n);
    }
}

/* ---- ICM that is not mapped -------------------------------------------- */

static void test_unmapped_icm(void)
{
    uint8_t m[MTHCA_MAILBOX_SIZE] = { 0 };
    uint64_t mtt, entry;
    Net n = up();
    Qp q;

    /* A region whose pages are found in ICM. */
    mtt = zeroed(n.h, 4096, 0);
    stq_be_p(&entry, n.data | MTHCA_MTT_PRESENT);
    qtest_memwrite(n.h->qts, mtt, &entry, sizeof(entry));
    map_icm(&n, MTT, mtt);
    mtb_region(m, PAGED, 0, n.data, 4096);
    stl_be_p(m, ldl_be_p(m) & ~MTHCA_MPT_PHYSICAL);
    stq_be_p(m + 0x2c, MTT);
    run(n.h, MTHCA_CMD_SW2HW_MPT, PAGED, m);
    q = qp_up(&n, QPN, OTHER, LID);
    qp_up(&n, OTHER, QPN, LID);
    ring(&n, UAR, put_write(&n, &q, key(PAGED), n.data, 64, 0x1000));
    expect_cqe(&n, QPN, 0);
    unmap_icm(&n, MTT);
    ring(&n, UAR, put_write(&n, &q, key(PAGED), n.data, 64, 0x1000));
    expect_cqe(&n, QPN, MTHCA_SYN_LOCAL_PROT);
    map_icm(&n, MTT, mtt);
    prove_works(&n);
    down(&n);
}

/* ---- doorbells ---------------------------------------------------------- */

static void half(Net *n, uint32_t uar, unsigned off, uint32_t val)
{
    qpci_io_writel(n->h->pci, n->h->uar, uar * MTHCA_UAR_PAGE +
                   MTHCA_UAR_SEND + off, bswap32(val));
}

static void test_doorbells(void)
{
    Net n = up();
    Qp a, b;
    uint64_t da, db;

    /* Nobody has the QP yet; it is not kept for later. */
    ring(&n, UAR, mtb_doorbell(QPN, 1, 0, MTHCA_WQE_RDMA_WRITE, 3));
    hca_expect(n.h, "no such QP");
    a = qp_up(&n, QPN, OTHER, LID);
    b = qp_up(&n, OTHER, QPN, LID);
    g_assert_false(cqe_ready(&n));
    /* A process cannot ring for another's QP; halves go together. */
    da = put_write(&n, &a, key(DATA), n.data, 32, 0x1000);
    db = put_write(&n, &b, key(DATA), n.data, 32, 0x2000);
    half(&n, UAR, 0, da >> 32);
    half(&n, UAR, 4, da);
    half(&n, UAR + 1, 0, db >> 32);
    half(&n, UAR + 1, 4, db);
    hca_expect(n.h, "rung on a foreign page");
    expect_cqe(&n, QPN, 0);
    g_assert_false(cqe_ready(&n));
    half(&n, UAR, 0, db >> 32);
    half(&n, UAR, 4, db);
    expect_cqe(&n, OTHER, 0);
    /* A ring of a QP that is in reset, and of one that has just left. */
    da = put_write(&n, &a, key(DATA), n.data, 32, 0x1000);
    g_assert_cmphex(hca_cmd(n.h, MTHCA_CMD_ERR2RST_QP, QPN), ==, MTHCA_ST_OK);
    ring(&n, UAR, da);
    hca_prove_works(n.h);
    prove_works(&n);
    a = qp_up(&n, QPN, OTHER, LID);
    g_assert_false(cqe_ready(&n));
    /* More at once than a doorbell list holds: told, nothing else. */
    for (int i = 0; i < 4096; i++) {
        ring(&n, UAR, mtb_doorbell(QPN, 200, i * 3, MTHCA_WQE_NOP, 2));
    }
    hca_prove_works(n.h);
    g_assert_cmphex(hca_cmd(n.h, MTHCA_CMD_ERR2RST_QP, QPN), ==, MTHCA_ST_OK);
    down(&n);
}

/* ---- migration ----------------------------------------------------------- */

static bool link_up(Fixture *f)
{
    QDict *rsp = qtest_qmp(f->qts, "{ 'execute': 'qom-get', 'arguments': {"
                           " 'path': 'nic', 'property': 'link-up' } }");
    bool up = qdict_get_bool(rsp, "return");

    qobject_unref(rsp);
    return up;
}

static void set_link(Fixture *f, bool up)
{
    qtest_qmp_assert_success(f->qts, "{ 'execute': 'qom-set', 'arguments': {"
                             " 'path': 'nic', 'property': 'link-up',"
                             " 'value': %i } }", up);
}

/* A link that is down is down at the destination as well, and comes up. */
static void test_migrate_link(void)
{
    enum { DOWN = 1, ACTIVE = 4 };
    Net n = up();
    Fixture *from = n.h->f, *to;

    g_assert_cmpuint(fixture_counter(from, "port-state"), ==, ACTIVE);
    set_link(from, false);
    g_assert_cmpuint(fixture_counter(from, "port-state"), ==, DOWN);
    to = fixture_migrate(from, "ncic-mthca", "lid=1,swpb-packets=2");
    g_assert_cmpuint(fixture_counter(to, "port-state"), ==, DOWN);
    g_assert_false(link_up(to));
    set_link(to, true);
    g_assert_cmpuint(fixture_counter(to, "port-state"), ==, ACTIVE);
    fixture_stop(to);
    fixture_stop(from);
    g_free(n.h);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!qtest_has_device("ncic-mthca")) {
        puts("1..0 # SKIP this emulator has no ncic-mthca");
        return 0;
    }
    qtest_add_func("/mthca-data/loopback", test_loopback);
    qtest_add_func("/mthca-data/revoke-sender", test_revoke_sender);
    qtest_add_func("/mthca-data/revoke-responder", test_revoke_responder);
    qtest_add_func("/mthca-data/destroy", test_destroy);
    qtest_add_func("/mthca-data/unmapped-icm", test_unmapped_icm);
    qtest_add_func("/mthca-data/doorbells", test_doorbells);
    qtest_add_func("/mthca-data/migrate-link", test_migrate_link);
    return g_test_run();
}
