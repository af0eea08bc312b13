/*
 * The transaction engine of two emulators over a real link: every service and
 * transport by the device's own queues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-link.h"
#include "../ubq-drv.h"

#define TOKEN 0xcafe0001u
#define ROOM (256u << 10)
#define HEAP 0x2800000u /* beyond the rings of raw ports */
#define ALL_RIGHTS (UBQ_SEG_READ | UBQ_SEG_WRITE | UBQ_SEG_ATOMIC | \
                    UBQ_SEG_TOKEN)

/* One end: machine, BAR2, driver. */
typedef struct Eng {
    QUbc *q;
    QPCIBar pages;
    UbqDrv drv;
    UbqCq cq;
    UbqQueue queue;
    uint64_t room;      /* ROOM bytes, the segment */
} Eng;

typedef struct Pair {
    Link link;
    Eng a, b;
} Pair;

static uint32_t eng_read(void *opaque, uint32_t offset)
{
    return qubc_read(((Eng *)opaque)->q, offset);
}

static void eng_write(void *opaque, uint32_t offset, uint32_t value)
{
    qubc_write(((Eng *)opaque)->q, offset, value);
}

static void eng_bell(void *opaque, uint32_t page, uint32_t offset,
                     uint64_t value)
{
    Eng *e = opaque;

    qpci_io_writeq(e->q->pci, e->pages, page * UBQ_PAGE + offset, value);
}

static void eng_progress(void *opaque)
{
    g_usleep(100);
}

static UbqPeer peer_of(unsigned n)
{
    return (UbqPeer){ .cna = n, .eid = { [15] = n }, .ip = { 10, 0, 0, n },
                      .upi = 1 };
}

/* Who we are: registers of CFG0_BASIC, as a manager writes them. */
static void eng_identify(Eng *e, unsigned n)
{
    qubc_cfg_write(e->q, UB_CFG0_PRIMARY_CNA, n);
    qubc_cfg_write(e->q, UB_CFG0_EID, n);
    qubc_cfg_write(e->q, UB_CFG0_UPI, 1);
}

static void eng_open(Eng *e, QUbc *q, unsigned n)
{
    *e = (Eng){ .q = q, .pages = qpci_iomap(q->pci, 2, NULL) };
    e->drv = (UbqDrv){
        .memory = q->ram->at,
        .brk = HEAP,
        .end = q->ram->size,
        .opaque = e,
        .reg_read = eng_read,
        .reg_write = eng_write,
        .bell = eng_bell,
        .progress = eng_progress,
    };
    ubq_open(&e->drv);
    eng_identify(e, n);
    e->room = ubq_alloc(&e->drv, ROOM, 4096);
}

static void eng_queue(Eng *e, Eng *peer, unsigned peer_n, unsigned carrier,
                      unsigned mode)
{
    UbqPeer p = peer_of(peer_n);

    ubq_cq_open(&e->cq, &e->drv, 8);
    ubq_queue_open(&e->queue, &e->drv, &e->cq, &e->cq, mode, 0);
    if (carrier == 0) {
        ubq_channel(&e->drv, 5, &p, 100 + peer_n, 103 - peer_n);
    }
    ubq_dest(&e->drv, 9, carrier, 5, &p);
    ubq_segment(&e->drv, 77, e->room, ROOM, ALL_RIGHTS, TOKEN);
}

static void pair_start(Pair *p, unsigned carrier, unsigned mode,
                       const char *props)
{
    memset(p, 0, sizeof(*p));
    p->link.props = props;
    link_prepare(&p->link);
    p->link.a = start_server(&p->link);
    p->link.b = start_client(&p->link);
    eng_open(&p->a, p->link.a, 1);
    eng_open(&p->b, p->link.b, 2);
    qubc_port_write(p->link.a, 0, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    qubc_port_write(p->link.b, 0, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    wait_up(&p->link);
    eng_queue(&p->a, &p->b, 2, carrier, mode);
    eng_queue(&p->b, &p->a, 1, carrier, mode);
}

static void pair_stop(Pair *p)
{
    link_stop(&p->link);
}

static const uint8_t *complete(Eng *e, unsigned status)
{
    const uint8_t *c = NULL;

    QUBC_WAIT((c = ubq_cq_poll(&e->cq)));
    g_assert_cmphex(ubq_cqe_status(c), ==, status);
    return c;
}

static void fill(Eng *e, uint32_t len, uint32_t seed)
{
    for (uint32_t i = 0; i < len; i++) {
        e->drv.memory[e->room + i] = i * 7 + (i >> 8) + seed;
    }
}

static void check(Eng *e, uint32_t len, uint32_t seed)
{
    for (uint32_t i = 0; i < len; i++) {
        g_assert_cmphex(e->drv.memory[e->room + i], ==,
                        (uint8_t)(i * 7 + (i >> 8) + seed));
    }
}

static uint8_t *memory_op(Eng *e, unsigned opcode, uint32_t flags,
                          uint32_t len, unsigned blocks)
{
    uint8_t *s = ubq_sqe(&e->queue, blocks);

    ubq_sqe_put(s, opcode | UBQ_SQE_TOKEN | flags, 9, e->room, len);
    put_le32(s + UBQ_SQE_TARGET, 77);
    put_le32(s + UBQ_SQE_TOKEN_VALUE, TOKEN);
    put_le64(s + UBQ_SQE_ADDR, 0x10000);
    return s;
}

/* Opcodes of table 7-2, as the send queue entry has them. */
enum { OP_SEND = 0x00, OP_SEND_IMM = 0x01, OP_WRITE = 0x03, OP_READ = 0x06,
       OP_FETCH_ADD = 0x0b };

static void write_read(Pair *p, uint32_t len, uint32_t seed)
{
    fill(&p->a, len, seed);
    memset(p->b.drv.memory + p->b.room, 0, len);
    ubq_post(&p->a.queue, memory_op(&p->a, OP_WRITE, 0, len, 1), 1);
    complete(&p->a, UBQ_STATUS_OK);
    check(&p->b, len, seed);
    memset(p->a.drv.memory + p->a.room, 0, len);
    ubq_post(&p->a.queue, memory_op(&p->a, OP_READ, 0, len, 1), 1);
    g_assert_cmpuint(get_le32(complete(&p->a, UBQ_STATUS_OK) +
                              UBQ_CQE_BYTES), ==, len);
    check(&p->a, len, seed);
}

static void send_recv(Pair *p, uint32_t len)
{
    const uint8_t *c;
    uint8_t *s;

    fill(&p->a, len, 3);
    ubq_recv(&p->b.queue, p->b.room, ROOM);
    s = ubq_sqe(&p->a.queue, 1);
    ubq_sqe_put(s, OP_SEND_IMM, 9, p->a.room, len);
    put_le32(s + UBQ_SQE_TARGET, p->b.queue.id);
    put_le64(s + UBQ_SQE_IMM, 0x123456789abcull);
    ubq_post(&p->a.queue, s, 1);
    complete(&p->a, UBQ_STATUS_OK);
    c = complete(&p->b, UBQ_STATUS_OK);
    g_assert_cmpuint(get_le32(c + UBQ_CQE_BYTES), ==, len);
    g_assert_cmphex(get_le64(c + UBQ_CQE_IMMEDIATE), ==, 0x123456789abcull);
    g_assert_cmpuint(c[UBQ_CQE_EID + 15], ==, 1);
    check(&p->b, len, 3);
}

static void fetch_add(Pair *p)
{
    uint8_t *s;

    put_le64(p->b.drv.memory + p->b.room, 40);
    s = memory_op(&p->a, OP_FETCH_ADD, UBQ_SQE_INLINE, 8, 2);
    put_le64(s + UBQ_BLOCK, 2);
    ubq_post(&p->a.queue, s, 2);
    complete(&p->a, UBQ_STATUS_OK);
    g_assert_cmpuint(get_le64(p->a.drv.memory + p->a.room), ==, 40);
    g_assert_cmpuint(get_le64(p->b.drv.memory + p->b.room), ==, 42);
}

static void test_rtp(void)
{
    static const uint32_t sizes[] = { 1, 100, 4096, 65536, 200000 };
    Pair p;

    pair_start(&p, 0, 0, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        write_read(&p, sizes[i], i);
    }
    send_recv(&p, 10000);
    fetch_add(&p);
    pair_stop(&p);
}

static void test_ctp(void)
{
    static const uint32_t sizes[] = { 1, 100, 4096, 65536, 200000 };
    Pair p;

    pair_start(&p, 1, 0, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        write_read(&p, sizes[i], i);
    }
    send_recv(&p, 4000);
    fetch_add(&p);
    pair_stop(&p);
}

static void test_bypass(void)
{
    static const uint32_t sizes[] = { 64, 512, 4096 };
    Pair p;

    pair_start(&p, 3, 0, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        write_read(&p, sizes[i], i);
    }
    pair_stop(&p);
}

/* The other end says no, and nothing else suffers. */
static void test_refused(void)
{
    uint8_t *s;
    Pair p;

    pair_start(&p, 0, 0, NULL);
    s = memory_op(&p.a, OP_WRITE, 0, 64, 1);
    put_le32(s + UBQ_SQE_TOKEN_VALUE, 1);
    ubq_post(&p.a.queue, s, 1);
    complete(&p.a, UBQ_STATUS_ABORT);
    s = memory_op(&p.a, OP_READ, 0, 64, 1);
    put_le64(s + UBQ_SQE_ADDR, 0x10000 + ROOM);
    ubq_post(&p.a.queue, s, 1);
    complete(&p.a, UBQ_STATUS_ABORT);
    s = ubq_sqe(&p.a.queue, 1);
    ubq_sqe_put(s, OP_SEND, 9, p.a.room, 64);
    put_le32(s + UBQ_SQE_TARGET, 4000);
    ubq_post(&p.a.queue, s, 1);
    complete(&p.a, UBQ_STATUS_UNSUPPORTED);
    write_read(&p, 4096, 0);
    pair_stop(&p);
}

/* Bit errors beyond what FEC repairs: RTP brings all. */
static void test_bit_errors(void)
{
    Pair p;

    pair_start(&p, 0, 0, NULL);
    qubc_inject_all(p.link.a, 0, "'ber': 1e-3, 'seed': 1");
    qubc_inject_all(p.link.b, 0, "'ber': 1e-3, 'seed': 2");
    for (unsigned i = 0; i < 8; i++) {
        write_read(&p, 65536, i);
    }
    g_assert_cmpuint(both(&p.link, UBC_CNT_FLITS_RESENT), >, 0);
    pair_stop(&p);
}

/* A device reset forgets all objects; the driver begins anew. */
static void test_reset(void)
{
    uint8_t cmd[UBQ_CMD];
    Pair p;

    pair_start(&p, 1, 0, NULL);
    write_read(&p, 4096, 1);
    ubq_post(&p.a.queue, memory_op(&p.a, OP_WRITE, 0, ROOM, 1), 1);
    qubc_write(p.link.a, UBC_CTRL, UBC_CTRL_RESET);
    g_assert_cmphex(qubc_read(p.link.a, UBQ_CMD_WINDOW + UBQ_CMD_CTRL), ==, 0);
    eng_open(&p.a, p.link.a, 1);
    ubq_cmd_init(cmd, 1024, 0);
    g_assert_cmpuint(ubq_command(&p.a.drv, UBQ_OP_QUEUE_QUERY, cmd), ==,
                     UBQ_RESULT_NO_OBJECT);
    qubc_port_write(p.link.a, 0, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    wait_up(&p.link);
    eng_queue(&p.a, &p.b, 2, 1, 0);
    write_read(&p, 4096, 2);
    pair_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-engine/rtp", test_rtp);
    qtest_add_func("/ubc-engine/ctp", test_ctp);
    qtest_add_func("/ubc-engine/bypass", test_bypass);
    qtest_add_func("/ubc-engine/refused", test_refused);
    qtest_add_func("/ubc-engine/bit-errors", test_bit_errors);
    qtest_add_func("/ubc-engine/reset", test_reset);
    return g_test_run();
}
