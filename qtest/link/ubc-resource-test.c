/*
 * Entities of one emulator used by another: their resource spaces, by queues and by
 * the window, and their interrupts, which become MSI-X (UB 2.0 §10.3.4, §10.4.2).
 *
 * Machine b has the Entities, machine a is the User.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "ubc-win.h"
#include "qapi/error.h"
#include "qobject/qjson.h"
#include "ub/resource_hw.h"
#include "ub/ta.h"

#define MEMORY 2u        /* the memory Entity of b */
#define EID 0x12u
#define ROW 20u          /* leads a to it */
#define STORE (128u << 10)
#define BASE 0x7000000000ull
#define TOKEN 0x5a5a5u
#define ADDRESS 0xfee00000ull
#define FIRST 8u         /* MSI-X entries of a that it may raise */
/* CTP does not send again what a link takes with it when an end has no turn. */
#define PROPS "entities=bus:urma:mem=lent0," WIN_PROPS "," STEADY
#define MORE "-object memory-backend-ram,id=lent0,size=128K"

static uint32_t get(Eng *e, unsigned entity, uint32_t dw)
{
    qubc_write(e->q, UBC_CFG_ENTITY, entity);
    qubc_write(e->q, UBC_CFG_ADDR, dw);
    return qubc_read(e->q, UBC_CFG_DATA);
}

static void put(Eng *e, unsigned entity, uint32_t dw, uint32_t value)
{
    qubc_write(e->q, UBC_CFG_ENTITY, entity);
    qubc_write(e->q, UBC_CFG_ADDR, dw);
    qubc_write(e->q, UBC_CFG_DATA, value);
}

#define CFG1(reg) (UB_CFG1_BASE + (reg))
#define T1(reg) (UB_CFG_CAP(UB_CFG1_BASE, UB_CAP_INT_TYPE1) + (reg))
#define T2(reg) (UB_CFG_CAP(UB_CFG1_BASE, UB_CAP_INT_TYPE2) + (reg))

/* The Entity is lent to a, whose host takes interrupts. */
static void start(EngPair *p, const char *props)
{
    const EngPlan plan = { .carrier = ENG_CTP, .props = props, .more = MORE };
    UbqPeer peer = { .cna = 2, .eid = { [15] = EID }, .upi = 1 };

    eng_start(p, &plan);
    put(&p->b, MEMORY, UB_CFG0_EID, EID);
    put(&p->b, MEMORY, UB_CFG0_UPI, 1);
    put(&p->b, MEMORY, UB_CFG0_UEID, 1);
    put(&p->b, MEMORY, UB_CFG0_UCNA, 1);
    put(&p->b, MEMORY, CFG1(UB_CFG1_ERS_ACCESS_EN), 1);
    for (unsigned s = 0; s < UB_ERS_SPACES; s++) {
        put(&p->b, 0, CFG1(UB_CFG1_ERS0_UBA + 2 * s), (s + 1) * BASE);
        put(&p->b, 0, CFG1(UB_CFG1_ERS0_UBA + 2 * s + 1), ((s + 1) * BASE) >> 32);
    }
    ubq_dest(&p->a.drv, ROW, 1, 0, &peer);
    qubc_msix(p->a.q, 1, false);
    qubc_write(p->a.q, UBC_USI_TOKEN_ID, TOKEN);
    qubc_write(p->a.q, UBC_USI_ADDR_LO, ADDRESS);
    qubc_write(p->a.q, UBC_USI_ADDR_HI, ADDRESS >> 32);
    qubc_write(p->a.q, UBC_USI_FIRST, FIRST);
    qubc_write(p->a.q, UBC_USI_COUNT, QUBC_VECTORS - FIRST);
    qubc_write(p->a.q, UBC_USI_CTRL, UBC_USI_ENABLE);
}

static uint64_t uba(EngPair *p, unsigned s)
{
    uint32_t dw = CFG1(UB_CFG1_ERS0_UBA + 2 * s);

    return get(&p->b, MEMORY, dw) | (uint64_t)get(&p->b, MEMORY, dw + 1) << 32;
}

/* Status of an operation of a at a UBA of the Entity; its data are in the room. */
static unsigned ask(EngPair *p, unsigned opcode, uint64_t at, uint32_t len)
{
    uint8_t *e = ubq_sqe(&p->a.queue, 1);

    ubq_sqe_put(e, opcode, ROW, p->a.room, len);
    put_le32(e + UBQ_SQE_TARGET, 7);
    put_le64(e + UBQ_SQE_ADDR, at);
    ubq_post(&p->a.queue, e, 1);
    return ubq_cqe_status(eng_next(&p->a));
}

static void set32(EngPair *p, uint64_t at, uint32_t value)
{
    put_le32(p->a.drv.memory + p->a.room, value);
    g_assert_cmphex(ask(p, UB_TA_WRITE, at, 4), ==, UB_TAS_OK);
}

static uint32_t look32(EngPair *p, uint64_t at)
{
    g_assert_cmphex(ask(p, UB_TA_READ, at, 4), ==, UB_TAS_OK);
    return get_le32(p->a.drv.memory + p->a.room);
}

static void ring(EngPair *p, unsigned v)
{
    set32(p, uba(p, 2) + UB_ERS2_RING, v);
}

/* ---- Memory ---- */

static void test_memory(void)
{
    EngPair p;
    uint64_t at;
    Win w;

    start(&p, PROPS);
    at = uba(&p, 1);
    g_assert_cmphex(at, ==, 2 * BASE + UB_ERS1_SA);
    g_assert_cmphex(get(&p.b, MEMORY, CFG1(UB_CFG1_ERS1_SS)), ==, STORE / 4096);
    g_assert_cmphex(get(&p.b, MEMORY, CFG1(UB_CFG1_CLASS_CODE)), ==, 1);
    eng_fill(&p.a, 4096, 3);
    g_assert_cmphex(ask(&p, UB_TA_WRITE, at + STORE - 4096, 4096), ==,
                    UB_TAS_OK);
    eng_fill(&p.a, 4096, 4);
    g_assert_cmphex(ask(&p, UB_TA_READ, at + STORE - 4096, 4096), ==,
                    UB_TAS_OK);
    eng_check(&p.a, 4096, 3);
    /* Loads and stores reach it as well. */
    win_open(&w, &p.a);
    win_page(&w, 1, at, ROW, 0);
    win_store(&w, (1u << 20) + 64, 0x1122334455667788ull);
    g_assert_cmphex(win_load(&w, (1u << 20) + 64), ==, 0x1122334455667788ull);
    g_assert_cmphex(look32(&p, at + 64), ==, 0x55667788);
    /* What is not there, not allowed, not enabled. */
    g_assert_cmphex(ask(&p, UB_TA_READ, at + STORE - 4, 8), ==,
                    UB_TAS_UNSUPPORTED);
    g_assert_cmphex(ask(&p, UB_TA_READ, at + STORE, 8), !=, UB_TAS_OK);
    put(&p.b, MEMORY, CFG1(UB_CFG1_ERS_ACCESS_EN), 0);
    g_assert_cmphex(ask(&p, UB_TA_READ, at, 8), !=, UB_TAS_OK);
    put(&p.b, MEMORY, CFG1(UB_CFG1_ERS_ACCESS_EN), 1);
    g_assert_cmphex(look32(&p, at + 64), ==, 0x55667788);
    /* An Entity reset leaves memory as it is, and closes it. */
    put(&p.b, MEMORY, CFG1(UB_CFG1_ELR), 1);
    g_assert_cmphex(ask(&p, UB_TA_READ, at, 8), !=, UB_TAS_OK);
    put(&p.b, MEMORY, CFG1(UB_CFG1_ERS_ACCESS_EN), 1);
    g_assert_cmphex(look32(&p, at + 64), ==, 0x55667788);
    eng_stop(&p);
}

/* ---- Interrupts ---- */

static void test_type1(void)
{
    EngPair p;

    start(&p, PROPS ",usi=1");
    put(&p.b, MEMORY, CFG1(UB_CFG1_DEV_TOKEN_ID), TOKEN);
    put(&p.b, MEMORY, T1(UB_INT_TYPE1_INTERRUPT_DATA), FIRST);
    put(&p.b, MEMORY, T1(UB_INT_TYPE1_INTERRUPT_ADDRESS), ADDRESS);
    put(&p.b, MEMORY, T1(UB_INT_TYPE1_INTERRUPT_ADDRESS) + 1, ADDRESS >> 32);
    put(&p.b, MEMORY, T1(UB_INT_TYPE1_INTERRUPT_ENABLE_NUMBER), 2);
    put(&p.b, MEMORY, T1(UB_INT_TYPE1_INTERRUPT_ENABLE), 1);
    ring(&p, 3);
    g_assert_cmphex(get(&p.b, MEMORY, T1(UB_INT_TYPE1_INTERRUPT_PENDING)), ==,
                    1 << 3);
    g_assert_false(qubc_irq(p.a.q, FIRST + 3));
    put(&p.b, MEMORY, T1(UB_INT_TYPE1_INTERRUPT_MASK), 0);
    QUBC_WAIT(qubc_irq(p.a.q, FIRST + 3));
    QUBC_WAIT(!get(&p.b, MEMORY, T1(UB_INT_TYPE1_INTERRUPT_PENDING)));
    g_assert_cmpuint(qubc_read(p.a.q, UBC_USI_RECEIVED), ==, 1);
    /* Taken back, it is an interrupt of the host that has it. */
    put(&p.b, MEMORY, UB_CFG0_UEID, 0);
    qubc_msix(p.b.q, 1, false);
    qubc_write(p.b.q, UBC_USI_TOKEN_ID, TOKEN);
    qubc_write(p.b.q, UBC_USI_ADDR_LO, ADDRESS);
    qubc_write(p.b.q, UBC_USI_FIRST, FIRST);
    qubc_write(p.b.q, UBC_USI_COUNT, 4);
    qubc_write(p.b.q, UBC_USI_CTRL, UBC_USI_ENABLE);
    ring(&p, 2);
    QUBC_WAIT(qubc_irq(p.b.q, FIRST + 2));
    g_assert_cmpuint(qubc_read(p.a.q, UBC_USI_RECEIVED), ==, 1);
    eng_stop(&p);
}

static void set_tables(EngPair *p)
{
    uint64_t vector = uba(p, 0) + UB_USI_VECTOR_TABLE + 5 * UB_USI_VECTOR_SIZE;
    uint64_t address = uba(p, 0) + UB_USI_ADDRESS_TABLE +
                       3 * UB_USI_ADDRESS_SIZE;

    set32(p, address + UB_USI_ADDRESS_UBA, ADDRESS);
    set32(p, address + UB_USI_ADDRESS_DEID, 1);
    set32(p, address + UB_USI_ADDRESS_CTL, TOKEN | UB_USI_ADDRESS_VALID);
    set32(p, vector + UB_USI_VECTOR_DATA, FIRST + 1);
    set32(p, vector + UB_USI_VECTOR_CTL, 3);
    put(&p->b, MEMORY, T2(UB_INT_TYPE2_INTERRUPT_ENABLE), 1);
}

static void test_type2(void)
{
    EngPair p;

    start(&p, PROPS);
    set_tables(&p);
    ring(&p, 5);
    g_assert_cmphex(look32(&p, uba(&p, 0) + UB_USI_PENDING_TABLE), ==, 1 << 5);
    put(&p.b, MEMORY, T2(UB_INT_TYPE2_INTERRUPT_MASK), 0);
    QUBC_WAIT(qubc_irq(p.a.q, FIRST + 1));
    QUBC_WAIT(look32(&p, uba(&p, 2) + UB_ERS2_SENT) == 1);
    /* What a does not take is said there, and lost here. */
    qubc_write(p.a.q, UBC_USI_COUNT, 1);
    ring(&p, 5);
    QUBC_WAIT(look32(&p, uba(&p, 2) + UB_ERS2_LOST) == 1);
    g_assert_cmpuint(qubc_read(p.a.q, UBC_USI_REFUSED), ==, 1);
    g_assert_false(qubc_irq(p.a.q, FIRST + 1));
    qubc_write(p.a.q, UBC_USI_FIRST, UBC_VECTORS);
    qubc_write(p.a.q, UBC_USI_COUNT, UBC_VECTORS + 1);
    g_assert_cmpuint(qubc_read(p.a.q, UBC_USI_FIRST), ==, FIRST);
    g_assert_cmpuint(qubc_read(p.a.q, UBC_USI_COUNT), ==, 1);
    g_assert_cmpuint(qubc_read(p.a.q, UBC_GUEST_ERRORS), ==, 2);
    eng_stop(&p);
}

/* Memory, tables and what is pending move with the machine. */
static void test_migrate(void)
{
    EngPair p;

    start(&p, PROPS);
    set_tables(&p);
    set32(&p, uba(&p, 1) + 4096, 0xabcd1234);
    ring(&p, 5);
    eng_migrate(&p);
    g_assert_cmphex(look32(&p, uba(&p, 1) + 4096), ==, 0xabcd1234);
    g_assert_cmphex(look32(&p, uba(&p, 0) + UB_USI_PENDING_TABLE), ==, 1 << 5);
    put(&p.b, MEMORY, T2(UB_INT_TYPE2_INTERRUPT_MASK), 0);
    QUBC_WAIT(qubc_irq(p.a.q, FIRST + 1));
    eng_stop(&p);
}

/* ---- Queues of an Entity that is lent ---- */

#define LENT 1u          /* the URMA Entity of b */
#define LENT_EID 0x11u
#define LENT_SEGMENT 78u
#define ROW_USER 30u     /* leads it to its User */
#define ROW_LENT 31u     /* leads the User to it */

/* Its event queue is b's event queue 0, which tells vector 3 of the Entity. */
static UbqQueue lent_start(EngPair *p)
{
    UbqPeer user = { .cna = 1, .eid = { [15] = 1 }, .upi = 1, .own = LENT };
    UbqPeer peer = { .cna = 2, .eid = { [15] = LENT_EID }, .upi = 1 };
    UbqQueue q = { .d = &p->b.drv, .sq_log2 = 4, .rq_log2 = 4, .stride = 2,
                   .entity = LENT };
    uint8_t cmd[UBQ_CMD];

    start(p, PROPS ",usi=1");
    put(&p->b, LENT, UB_CFG0_EID, LENT_EID);
    put(&p->b, LENT, UB_CFG0_UPI, 1);
    put(&p->b, LENT, UB_CFG0_UEID, 1);
    put(&p->b, LENT, UB_CFG0_UCNA, 1);
    put(&p->b, LENT, CFG1(UB_CFG1_DEV_TOKEN_ID), TOKEN);
    put(&p->b, LENT, T1(UB_INT_TYPE1_INTERRUPT_DATA), FIRST);
    put(&p->b, LENT, T1(UB_INT_TYPE1_INTERRUPT_ADDRESS), ADDRESS);
    put(&p->b, LENT, T1(UB_INT_TYPE1_INTERRUPT_ADDRESS) + 1, ADDRESS >> 32);
    put(&p->b, LENT, T1(UB_INT_TYPE1_INTERRUPT_ENABLE_NUMBER), 2);
    put(&p->b, LENT, T1(UB_INT_TYPE1_INTERRUPT_ENABLE), 1);
    ubq_dest(&p->b.drv, ROW_USER, 1, 0, &user);
    ubq_dest(&p->a.drv, ROW_LENT, 1, 0, &peer);
    ubq_queue_create(&q, &p->b.cq, &p->b.cq, UBQ_NEW, 0, 0);
    ubq_cmd_init(cmd, LENT_SEGMENT, 0);
    put_le64(cmd + UBQ_SEG_UBA, ENG_UBA);
    put_le64(cmd + UBQ_SEG_BASE, p->b.room);
    put_le64(cmd + UBQ_SEG_LENGTH, ENG_ROOM);
    put_le32(cmd + UBQ_SEG_ACCESS, UBQ_SEG_READ | UBQ_SEG_WRITE);
    put_le16(cmd + UBQ_SEG_ENTITY, LENT);
    g_assert_cmpuint(ubq_command(&p->b.drv, UBQ_OP_SEGMENT_SET, cmd), ==,
                     UBQ_RESULT_OK);
    qubc_write(p->b.q, UBQ_EQ(0) + UBQ_EQ_VECTOR, UBQ_USI(LENT, 3));
    return q;
}

/* It writes to its User's memory. */
static void lent_write(EngPair *p, UbqQueue *q)
{
    uint8_t *e = ubq_sqe(q, 1);

    ubq_sqe_put(e, UB_TA_WRITE | UBQ_SQE_TOKEN, ROW_USER, p->b.room, 4096);
    put_le32(e + UBQ_SQE_TARGET, ENG_SEGMENT);
    put_le32(e + UBQ_SQE_TOKEN_VALUE, ENG_TOKEN);
    put_le64(e + UBQ_SQE_ADDR, ENG_UBA);
    ubq_post(q, e, 1);
}

static void lent_arm(EngPair *p)
{
    ubq_cq_arm(&p->b.cq, 2);
    qubc_write(p->b.q, UBQ_EQ(0) + UBQ_EQ_ARM,
               qubc_read(p->b.q, UBQ_EQ(0) + UBQ_EQ_PI));
}

static uint32_t lent_pending(EngPair *p)
{
    return get(&p->b, LENT, T1(UB_INT_TYPE1_INTERRUPT_PENDING));
}

/* What its queues tell interrupts the User, also from another machine. */
static void test_queue_events(void)
{
    EngPair p;
    UbqQueue q = lent_start(&p);

    eng_fill(&p.b, 4096, 5);
    lent_arm(&p);
    lent_write(&p, &q);
    eng_complete(&p.b, UB_TAS_OK);
    eng_check(&p.a, 4096, 5);
    QUBC_WAIT(lent_pending(&p) == 1 << 3);
    g_assert_false(qubc_irq(p.a.q, FIRST + 3));
    eng_migrate(&p);
    g_assert_cmphex(qubc_read(p.b.q, UBQ_EQ(0) + UBQ_EQ_VECTOR), ==,
                    UBQ_USI(LENT, 3));
    put(&p.b, LENT, T1(UB_INT_TYPE1_INTERRUPT_MASK), 0);
    QUBC_WAIT(qubc_irq(p.a.q, FIRST + 3));
    QUBC_WAIT(!lent_pending(&p));
    lent_arm(&p);
    lent_write(&p, &q);
    eng_complete(&p.b, UB_TAS_OK);
    QUBC_WAIT(qubc_irq(p.a.q, FIRST + 3));
    g_assert_cmpuint(qubc_read(p.b.q, UBC_GUEST_ERRORS), ==, 0);
    qubc_write(p.b.q, UBQ_EQ(0) + UBQ_EQ_VECTOR, UBQ_USI(3, 3));
    g_assert_cmpuint(qubc_read(p.b.q, UBC_GUEST_ERRORS), ==, 1);
    eng_stop(&p);
}

static unsigned lent_ask(EngPair *p, unsigned opcode)
{
    uint8_t *e = ubq_sqe(&p->a.queue, 1);

    ubq_sqe_put(e, opcode, ROW_LENT, p->a.room, 64);
    put_le32(e + UBQ_SQE_TARGET, LENT_SEGMENT);
    put_le64(e + UBQ_SQE_ADDR, ENG_UBA);
    ubq_post(&p->a.queue, e, 1);
    return ubq_cqe_status(eng_next(&p->a));
}

/* Its BUS_EN is a gate of its own. */
static void test_bus_en(void)
{
    EngPair p;
    UbqQueue q = lent_start(&p);

    g_assert_cmphex(lent_ask(&p, UB_TA_READ), ==, UB_TAS_OK);
    put(&p.b, LENT, T1(UB_INT_TYPE1_INTERRUPT_MASK), 0);
    put(&p.b, LENT, CFG1(UB_CFG1_BUS_EN), 0);
    g_assert_cmphex(lent_ask(&p, UB_TA_READ), ==, UB_TAS_ABORT);
    eng_fill(&p.a, 64, 8);
    g_assert_cmphex(lent_ask(&p, UB_TA_WRITE), ==, UB_TAS_ABORT);
    eng_fill(&p.b, 4096, 6);
    lent_arm(&p);
    lent_write(&p, &q);
    /* b's own queue is served behind it, and reaches what is Entity 0's. */
    eng_write_read_to(&p.b, &p.a, 4096, 9);
    QUBC_WAIT(lent_pending(&p) == 1 << 3);
    g_assert_false(qubc_irq(p.a.q, FIRST + 3));
    eng_fill(&p.b, 4096, 6);
    put(&p.b, LENT, CFG1(UB_CFG1_BUS_EN), 1);
    eng_complete(&p.b, UB_TAS_OK);
    eng_check(&p.a, 4096, 6);
    QUBC_WAIT(qubc_irq(p.a.q, FIRST + 3));
    g_assert_cmphex(lent_ask(&p, UB_TA_READ), ==, UB_TAS_OK);
    eng_check(&p.a, 64, 6);
    eng_stop(&p);
}

/* What a controller cannot be made of. */
static void test_props(void)
{
    static const struct {
        const char *props, *why;
    } rows[] = {
        { "'entities': 'bus:mem'", "id of a memory backend" },
        { "'entities': 'bus:urma=lent0'", "id of a memory backend" },
        { "'entities': 'bus:memory=lent0'", "no such kind" },
        { "'entities': 'bus:mem=nobody'", "no memory backend 'nobody'" },
        { "'entities': 'bus:mem=rp0'", "no memory backend 'rp0'" },
        { "'entities': 'bus:mem=lent0:mem=lent0'", "is there twice" },
        { "'entities': 'bus:mem=odd'", "a multiple of 64 KiB" },
        { "'entities': 'bus:mem=taken'", "is in use" },
        { "'entities': 'bus:urma', 'usi': 3", "type 1 or 2" },
    };
    QUbc *d = qubc_start_attached("entities=bus:mem=taken", MORE
                                  " -object memory-backend-ram,id=odd,size=4K"
                                  " -object memory-backend-ram,id=taken,"
                                  "size=64K"
                                  " -device pcie-root-port,id=rp0,chassis=1,"
                                  "slot=1");

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *args = g_strdup_printf(
            "{ 'driver': 'ubc', 'id': 'ub1', 'bus': 'rp0', %s }",
            rows[i].props);
        QDict *rsp = qtest_qmp_assert_failure_ref(
            d->qts, "{ 'execute': 'device_add', 'arguments': %p }",
            qobject_from_json(args, &error_abort));

        if (!strstr(qdict_get_str(rsp, "desc"), rows[i].why)) {
            g_error("row %u: %s", i, qdict_get_str(rsp, "desc"));
        }
        qobject_unref(rsp);
    }
    qubc_stop(d);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-resource/memory", test_memory);
    qtest_add_func("/ubc-resource/type1", test_type1);
    qtest_add_func("/ubc-resource/type2", test_type2);
    qtest_add_func("/ubc-resource/migrate", test_migrate);
    qtest_add_func("/ubc-resource/queue-events", test_queue_events);
    qtest_add_func("/ubc-resource/bus-en", test_bus_en);
    qtest_add_func("/ubc-resource/props", test_props);
    return g_test_run();
}
