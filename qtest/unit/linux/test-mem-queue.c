/*
 * linux/mem/queue.c, eq.c: pages that move, by an engine that stops, says so, or loses
 * what it says; what the engine is told.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "mem-shim.h"

#include "ub/ubc_hw.h"

/* ---- The kernel ---- */

#define PAGE_SIZE 4096u
#define BUILD_BUG_ON(x) G_STATIC_ASSERT(!(x))
#define ida_alloc_max(ida, max, gfp) page_take(ida, max)
#define ida_free(ida, n) page_give(ida, n)
#define wake_up(wait) ((void)(wait))
/* Nobody else is there who could do something. */
#define wait_event_timeout(wait, condition, n) \
    ((condition) ? 1 : (jiffies += (n), asleep(), (condition)))


static unsigned sleeps;

#define init_waitqueue_head(wait) (*(wait) = 0)

/* ---- ub_core and ub_mem ---- */

#define UB_BELL_BAR 2
#define PAGES 5         /* of doorbells */
static int own_page = 3;

struct ub_cmdq {
    int pages;
};

struct ub_core {
    u8 *bar;
    void *pdev;
    struct ub_cmdq *cmdq;
};

struct ub_cmd {
    u32 object, mask;
    u8 b[UBQ_CMD];
};

struct mem_dest {
    struct mem_queue *queue;
    bool silent;
    unsigned long silent_end;
};

struct mem_dev {
    struct ub_core *core;
    void *dma;
    int page;
    u8 *bells;
    struct mem_eq eq;
    struct mem_queue queues[MEM_QUEUES];
    atomic64_t spared;
};

/* ---- The engine ---- */

#define OBJECT(n) (0x20 + (n))      /* the queue that was made as the nth */
#define CQ_OBJECT(n) (0x60 + (n))

static struct {
    struct mem_dev *dev;
    bool deaf;              /* what is posted stays, … */
    unsigned late;          /* … or is done when somebody has slept so often */
    unsigned stops;         /* it says so, if it is not 0: an event */
    int refuses;            /* instead of UBQ_OP_QUEUE_DESTROY */
    int keeps;              /* instead of UBQ_OP_CQ_DESTROY */
    unsigned fails;         /* so many commands from now on; 0: none */
    bool gone;              /* the device */
    u32 mtu;
    unsigned queues, sends; /* that were made; entries that were there */
    unsigned cqs;
    unsigned most;          /* entries that were posted at a time */
    unsigned arms;          /* times that an event was asked for */
    u16 status[4];          /* of the first of a move */
    u32 eq[UBQ_EQ_STRIDE / 4];
    u16 eq_pi;
    struct {
        bool there, cq_there, ready;
        u16 pi, fetch, cq_pi;
    } at[32];               /* of each queue that was made */
    /* The move: */
    bool reads, check;
    u64 uba;                /* of what comes next */
    u32 off, len;
    unsigned done;          /* entries */
} hw;

static u32 ub_rd(const u8 *bar, unsigned reg)
{
    if (reg == UBC_ID) {
        return hw.gone ? ~0u : UBC_ID_VALUE;
    }
    g_assert_cmphex(reg, >=, UBQ_EQ(MEM_EQ));
    g_assert_cmphex(reg, <, UBQ_EQ(MEM_EQ + 1));
    return hw.eq[(reg - UBQ_EQ(MEM_EQ)) / 4];
}

static void ub_wr(u8 *bar, unsigned reg, u32 value)
{
    g_assert_cmphex(reg, >=, UBQ_EQ(MEM_EQ));
    g_assert_cmphex(reg, <, UBQ_EQ(MEM_EQ + 1));
    hw.eq[(reg - UBQ_EQ(MEM_EQ)) / 4] = value;
}

static int page_take(int *pages, unsigned max)
{
    g_assert_true(pages == &hw.dev->core->cmdq->pages);
    g_assert_cmpuint(max, ==, PAGES - 1);
    if (*pages) {
        return *pages;
    }
    given.live++;
    return own_page;
}

static void page_give(int *pages, int page)
{
    g_assert_true(pages == &hw.dev->core->cmdq->pages);
    g_assert_cmpint(page, ==, own_page);
    given.live--;
}

static u32 ub_bell_pages(const struct ub_core *core, const struct ub_cmd *caps)
{
    return hw.gone ? 0 : PAGES;
}

static u32 ub_own_mtu(const struct ub_core *core)
{
    return hw.mtu;
}

static void ub_cmd_init(struct ub_cmd *cmd, u32 object, u32 mask)
{
    memset(cmd, 0, sizeof(*cmd));
    cmd->object = object;
    cmd->mask = mask;
}

#include "cmd-put.h"

static u32 ub_cmd_object(const struct ub_cmd *cmd)
{
    return cmd->object;
}

/* The queue that is made, by the memory of its completions. */
static const struct mem_queue *made(u64 cq_dma)
{
    const struct mem_queue *q = hw.dev->queues;

    while (q->cq_dma != cq_dma) {
        q++;
        g_assert_true(q < hw.dev->queues + MEM_QUEUES);
    }
    return q;
}

static const struct mem_queue *making;

/* What a command is to say, and nothing else. */
static void cmd_is(const struct ub_cmd *cmd, u32 object, u32 mask,
                   const struct ub_cmd *is)
{
    g_assert_cmphex(cmd->object, ==, object);
    g_assert_cmphex(cmd->mask, ==, mask);
    g_assert_cmpmem(cmd->b, UBQ_CMD, is->b, UBQ_CMD);
}

static void cq_create(struct ub_cmd *cmd, struct ub_cmd *is)
{
    making = made(get_le64(cmd->b + UBQ_CQ_BASE));
    ub_put64(is, UBQ_CQ_BASE, making->cq_dma);
    ub_put8(is, UBQ_CQ_LOG2, 8);
    ub_put16(is, UBQ_CQ_PAGE, own_page);
    ub_put16(is, UBQ_CQ_EQ, MEM_EQ);
    cmd_is(cmd, UBQ_NEW, 0, is);
    g_assert_cmpuint(hw.cqs, <, G_N_ELEMENTS(hw.at));
    hw.at[hw.cqs].cq_there = true;
    cmd->object = CQ_OBJECT(hw.cqs++);
    for (unsigned i = 0; i < 256 * UBQ_CQE; i++) {
        g_assert_cmpuint(making->cq[i], ==, 0);
    }
}

static void queue_create(struct ub_cmd *cmd, struct ub_cmd *is)
{
    ub_put64(is, UBQ_Q_SQ_BASE, making->sq_dma);
    ub_put8(is, UBQ_Q_SQ_LOG2, 10);
    ub_put32(is, UBQ_Q_SEND_CQ, CQ_OBJECT(hw.cqs - 1));
    ub_put32(is, UBQ_Q_RQ_SHARED, UBQ_NEW);
    ub_put16(is, UBQ_Q_PAGE, own_page);
    ub_put32(is, UBQ_Q_FLAGS, UBQ_Q_IN_ORDER);
    ub_put16(is, UBQ_Q_EQ, MEM_EQ);
    cmd_is(cmd, UBQ_NEW, 0, is);
    g_assert_cmpuint(making->pi + making->ci, ==, 0);
    memset(&hw.at[hw.queues], 0, offsetof(__typeof__(hw.at[0]), cq_there));
    hw.at[hw.queues].there = true;
    cmd->object = OBJECT(hw.queues++);
}

static void queue_modify(struct ub_cmd *cmd, struct ub_cmd *is)
{
    ub_put8(is, UBQ_Q_STATE, UBQ_STATE_READY);
    cmd_is(cmd, OBJECT(hw.queues - 1), UBQ_QM_STATE, is);
    hw.at[hw.queues - 1].ready = true;
}

static void queue_destroy(struct ub_cmd *cmd, struct ub_cmd *is)
{
    unsigned n = cmd->object - OBJECT(0);

    cmd_is(cmd, OBJECT(n), 0, is);
    g_assert_true(hw.at[n].there);
    hw.at[n].there = false;
}

static void cq_destroy(struct ub_cmd *cmd, struct ub_cmd *is)
{
    unsigned n = cmd->object - CQ_OBJECT(0);

    cmd_is(cmd, CQ_OBJECT(n), 0, is);
    g_assert_true(hw.at[n].cq_there);
    hw.at[n].cq_there = false;
}

static int ub_cmd_run(struct ub_core *core, unsigned opcode, struct ub_cmd *cmd)
{
    static void (*const run[256])(struct ub_cmd *cmd, struct ub_cmd *is) = {
        [UBQ_OP_CQ_CREATE] = cq_create,
        [UBQ_OP_QUEUE_CREATE] = queue_create,
        [UBQ_OP_QUEUE_MODIFY] = queue_modify,
        [UBQ_OP_QUEUE_DESTROY] = queue_destroy,
        [UBQ_OP_CQ_DESTROY] = cq_destroy,
    };
    struct ub_cmd is = { 0 };

    if (hw.fails && !--hw.fails) {
        return -EIO;
    }
    if (opcode == UBQ_OP_QUEUE_DESTROY && hw.refuses) {
        return hw.refuses;
    }
    if (opcode == UBQ_OP_CQ_DESTROY && hw.keeps) {
        return hw.keeps;
    }
    if (opcode == UBQ_OP_CAPS) {
        cmd_is(cmd, 0, 0, &is);
        return 0;
    }
    g_assert_nonnull(run[opcode]);
    run[opcode](cmd, &is);
    return 0;
}

static void tell(const struct mem_queue *q, unsigned event);

/* Where moves of the test go, and the place of page @i. */
static const struct mem_target where = {
    .uba = 0x700000, .row = 5, .token_id = 0x12345, .check = true,
    .value = 0x89abcdef,
};

static dma_addr_t page_at(unsigned i)
{
    return 0x123400100000 + 0x3000 * (dma_addr_t)i;
}

/* An entry is of its lap, for the bytes that come next, as many as one takes. */
static void entry_check(const u8 *e, u16 index)
{
    u32 most = hw.reads ? 8 * PAGE_SIZE : MIN(hw.mtu, 8 * PAGE_SIZE);
    u32 len = MIN(most, hw.len - hw.off), n = (len + PAGE_SIZE - 1) / PAGE_SIZE;
    u8 is[4 * UBQ_BLOCK] = { 0 };

    put_le32(is, (hw.reads ? 0x06 : 0x17) | 3 << 8 | n << 12 | UBQ_SQE_CQE |
                 (hw.check ? UBQ_SQE_TOKEN : 0) |
                 (index >> 10 & 1 ? 0 : UBQ_SQE_OWNER));
    put_le32(is + UBQ_SQE_DEST, where.row);
    put_le32(is + UBQ_SQE_TARGET, where.token_id);
    put_le32(is + UBQ_SQE_TOKEN_VALUE, where.value);
    put_le32(is + UBQ_SQE_LENGTH, len);
    put_le64(is + UBQ_SQE_ADDR, hw.uba + hw.off);
    for (u32 at = 0; at < len; at += PAGE_SIZE) {
        u8 *element = is + UBQ_SQE_ELEMENT + at / PAGE_SIZE * UBQ_ELEMENT;

        put_le64(element, page_at((hw.off + at) / PAGE_SIZE) +
                          hw.off % PAGE_SIZE);
        put_le32(element + 8, MIN(len - at, PAGE_SIZE));
    }
    g_assert_cmpmem(e, sizeof(is), is, sizeof(is));
    hw.off += len;
}

static void serve(const struct mem_queue *q, unsigned n)
{
    unsigned posted = (u16)(hw.at[n].pi - hw.at[n].fetch) / 4;

    hw.most = MAX(hw.most, posted);
    while (hw.at[n].fetch != hw.at[n].pi) {
        u16 *cq_pi = &hw.at[n].cq_pi;
        u32 *cqe = (u32 *)(q->cq + *cq_pi % 256 * UBQ_CQE);
        u32 status = hw.done < 4 ? hw.status[hw.done] : 0;

        entry_check(q->sq + hw.at[n].fetch % 1024 * UBQ_BLOCK, hw.at[n].fetch);
        /* Of which the status alone matters. */
        *cqe = 0x0500005a | status << 8 | ((*cq_pi)++ / 256 % 2 ? 0 : UBQ_CQE_OWNER);
        hw.at[n].fetch += 4;
        hw.done++;
        hw.sends++;
    }
}

/* Somebody sleeps: what is late may be there now. */
static void asleep(void)
{
    sleeps++;
    for (unsigned i = 0; hw.late && sleeps >= hw.late && i < MEM_QUEUES; i++) {
        const struct mem_queue *q = &hw.dev->queues[i];

        if (q->id != UBQ_NEW) {
            serve(q, q->id - OBJECT(0));
        }
    }
}

static void writeq(u64 value, u8 *at)
{
    const struct mem_queue *q = hw.dev->queues;
    bool cq = at == hw.dev->bells + UBQ_BELL_CQ;
    unsigned n;

    g_assert_true(cq || at == hw.dev->bells + UBQ_BELL_SQ);
    while ((cq ? q->cq_id : q->id) != (u32)value) {
        q++;
        g_assert_true(q < hw.dev->queues + MEM_QUEUES);
    }
    if (cq) {
        g_assert_cmpuint((u16)(value >> 32), ==, q->ci);
        g_assert_true(value >> 48 == 0 || value >> 48 == 2);
        hw.arms += !!(value >> 48);
        return;
    }
    n = q->id - OBJECT(0);
    g_assert_true(hw.at[n].there && hw.at[n].ready);
    g_assert_cmpuint(value >> 48, ==, 0);
    hw.at[n].pi = value >> 32;
    if (hw.stops) {
        tell(q, hw.stops);
    }
    if (!hw.deaf && !hw.late) {
        serve(q, n);
    }
}

#include "../../../linux/mem/eq.c"
#include "../../../linux/mem/queue.c"

/* An event of @q, and its interrupt. */
static void tell(const struct mem_queue *q, unsigned event)
{
    bool cq = event == UBQ_EVENT_COMPLETION || event == UBQ_EVENT_JFC_CHECK;
    u32 *e = (u32 *)(hw.dev->eq.ring + hw.eq_pi % (1 << EQ_LOG2) * UBQ_EQE);

    e[1] = cq ? q->cq_id : q->id;
    e[0] = event >> 8 | (event & 0xff) << 8 |
           (hw.eq_pi >> EQ_LOG2 & 1 ? 0 : UBQ_EQE_OWNER);
    hw.eq_pi++;
    g_assert_cmpint(eq_irq(0, hw.dev), ==, IRQ_HANDLED);
    g_assert_cmpuint(hw.eq[UBQ_EQ_CI / 4], ==, hw.eq_pi);
}

/* ---- Tests ---- */

static struct mem_dev dev;
static struct ub_core core;
static struct ub_cmdq cmdq;
static struct mem_dest dest;

/* @n pages, to what is @at of the target. */
static int move_as(struct mem_dest *d, bool reads, u64 at, unsigned n,
                   struct task_struct *asker)
{
    g_autofree dma_addr_t *pages = g_new(dma_addr_t, n);
    struct mem_target to = where;

    to.dest = d;
    to.check = hw.check;
    for (unsigned i = 0; i < n; i++) {
        pages[i] = page_at(i);
    }
    hw.reads = reads;
    hw.uba = where.uba + at;
    hw.len = n * PAGE_SIZE;
    hw.off = hw.done = 0;
    return mem_move(&dev, reads, &to, at, pages, n, asker);
}

static int move_to(struct mem_dest *d)
{
    return move_as(d, true, 0x5000, 16, NULL);
}

static int move(void)
{
    return move_to(&dest);
}

static void init(void)
{
    memset(&dev, 0, sizeof(dev));
    memset(&dest, 0, sizeof(dest));
    memset(&hw, 0, sizeof(hw));
    given_init();
    cmdq.pages = 0;
    core.cmdq = &cmdq;
    dev.core = &core;
    hw.dev = &dev;
    hw.check = true;
    hw.mtu = PAGE_SIZE;
    sleeps = 0;
    me.killed = interrupted = false;
    mem_queues_init(&dev);
}

/* A queue, which the first move makes. */
static void begin(void)
{
    init();
    g_assert_cmpint(mem_queues_start(&dev), ==, 0);
    dest.queue = mem_queue_get(&dev);
    g_assert_cmpuint(hw.queues, ==, 0);
    g_assert_cmpint(move(), ==, 0);
    g_assert_cmpuint(hw.queues, ==, 1);
    hw.sends = 0;
}

static void gone(void)
{
    mem_queues_stop(&dev);
    mem_queues_free(&dev);
    g_assert_cmpuint(given.live, ==, 0);
    g_assert_cmpint(given.irq, ==, 0);
    for (unsigned i = 0; i < MEM_QUEUES; i++) {
        g_assert_cmphex(dev.queues[i].id, ==, UBQ_NEW);
        g_assert_cmphex(dev.queues[i].cq_id, ==, UBQ_NEW);
        g_assert_true(dev.queues[i].broken);
    }
}

/* What the engine has is given up. */
static void end(void)
{
    mem_queue_put(dest.queue);
    for (unsigned i = 0; i < MEM_QUEUES; i++) {
        g_assert_cmpuint(dev.queues[i].peers, ==, 0);
    }
    gone();
    for (unsigned i = 0; i < G_N_ELEMENTS(hw.at) && !hw.refuses; i++) {
        g_assert_false(hw.at[i].there || hw.at[i].cq_there);
    }
}

/* Laps of both rings; completions that are told cost nothing. */
static void test_goes_on(void)
{
    begin();
    for (unsigned i = 0; i < 300; i++) {
        g_assert_cmpint(move(), ==, 0);
        tell(dest.queue, UBQ_EVENT_COMPLETION);
    }
    g_assert_cmpint(dev.eq.events, ==, 300);
    g_assert_cmpuint(hw.sends, ==, 600);
    g_assert_cmpuint(hw.queues, ==, 1);
    g_assert_cmpuint(sleeps, ==, 0);
    g_assert_cmpint(eq_irq(0, &dev), ==, IRQ_NONE);
    end();
}

/* One that has stopped is made anew before the next move, which succeeds. */
static void test_stopped_before(void)
{
    static const unsigned events[] = { UBQ_EVENT_QUEUE_STATE,
                                       UBQ_EVENT_JFS_CHECK,
                                       UBQ_EVENT_JFC_CHECK };

    begin();
    for (unsigned i = 0; i < G_N_ELEMENTS(events); i++) {
        tell(dest.queue, events[i]);
        g_assert_cmpint(move(), ==, 0);
        g_assert_cmpint(move(), ==, 0);
        g_assert_cmpuint(hw.queues, ==, 2 + i);
    }
    end();
}

/* One that stops meanwhile: nobody waits for what does not come, nor blames the peer. */
static void test_stops(void)
{
    begin();
    hw.deaf = true;
    hw.stops = UBQ_EVENT_JFC_CHECK;
    g_assert_cmpint(move(), ==, -EIO);
    g_assert_cmpuint(sleeps, ==, 0);
    g_assert_false(dest.silent);
    g_assert_cmpuint(hw.queues, ==, 2);
    /* Without a word it has 15 s, and then the peer is to blame. */
    hw.stops = 0;
    g_assert_cmpint(move(), ==, -EIO);
    g_assert_cmpuint(sleeps, ==, 15000 / 50 + 1);
    g_assert_cmpuint(hw.arms, ==, sleeps);
    g_assert_true(dest.silent);
    g_assert_cmpuint(hw.queues, ==, 3);
    end();
}

/* Events were lost, one of which might have said so: anew, once for each loss. */
static void test_lost(void)
{
    begin();
    for (unsigned i = 1; i < 4; i++) {
        hw.eq[UBQ_EQ_LOST / 4] = 5 * i;
        tell(dest.queue, UBQ_EVENT_COMPLETION);
        tell(dest.queue, UBQ_EVENT_COMPLETION);
        g_assert_cmpint(move(), ==, 0);
        g_assert_cmpuint(hw.queues, ==, 1 + i);
        tell(dest.queue, UBQ_EVENT_COMPLETION);
        g_assert_cmpint(move(), ==, 0);
        g_assert_cmpuint(hw.queues, ==, 1 + i);
    }
    end();
}

/* Who begins again has a ring that is empty, and has lost nothing yet. */
static void test_again(void)
{
    begin();
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpint(move(), ==, 0);
        tell(dest.queue, UBQ_EVENT_COMPLETION);
    }
    mem_queues_stop(&dev);
    hw.eq[UBQ_EQ_LOST / 4] = 7;
    hw.eq_pi = 0;
    g_assert_cmpint(mem_queues_start(&dev), ==, 0);
    g_assert_cmpint(move(), ==, 0);
    g_assert_cmpuint(hw.queues, ==, 2);
    tell(dest.queue, UBQ_EVENT_COMPLETION);
    g_assert_cmpint(move(), ==, 0);
    g_assert_cmpuint(hw.queues, ==, 2);
    end();
}

/* What cannot be taken away is not used any more. */
static void test_stays(void)
{
    begin();
    tell(dest.queue, UBQ_EVENT_QUEUE_STATE);
    hw.refuses = -EIO;
    g_assert_cmpint(move(), ==, -EIO);
    g_assert_cmpint(move(), ==, -EIO);
    g_assert_true(dest.queue->broken);
    g_assert_cmpuint(hw.sends, ==, 0);
    g_assert_cmpuint(hw.queues, ==, 1);
    end();
}

/* Each peer has one of its own, as long as there are some, that are made when they are
 * wanted: what stops one, or takes its time, is nothing to another. */
static void test_apart(void)
{
    struct mem_dest other[MEM_QUEUES] = { 0 };

    begin();
    for (unsigned i = 0; i < MEM_QUEUES; i++) {
        other[i].queue = mem_queue_get(&dev);
        g_assert_cmpuint(other[i].queue->peers, ==, i < MEM_QUEUES - 1 ? 1 : 2);
    }
    g_assert_true(other[0].queue != dest.queue);
    tell(dest.queue, UBQ_EVENT_QUEUE_STATE);
    g_assert_cmpint(move_to(&other[0]), ==, 0);
    g_assert_cmpuint(hw.queues, ==, 2);
    g_assert_false(other[0].queue->stopped);
    hw.deaf = true;
    g_assert_cmpint(move(), ==, -EIO);
    hw.deaf = false;
    g_assert_true(dest.silent);
    sleeps = 0;
    g_assert_cmpint(move_to(&other[0]), ==, 0);
    g_assert_false(other[0].silent);
    g_assert_cmpuint(sleeps, ==, 0);
    for (unsigned i = 0; i < MEM_QUEUES; i++) {
        mem_queue_put(other[i].queue);
    }
    end();
}

/* Peers that share one, as there are more of them than queues: one that is silent costs
 * the other its time once, and no blame. */
static void test_shared(void)
{
    struct mem_dest other[MEM_QUEUES] = { 0 }, *one = &other[MEM_QUEUES - 1];

    begin();
    for (unsigned i = 0; i < MEM_QUEUES; i++) {
        other[i].queue = mem_queue_get(&dev);
    }
    g_assert_true(one->queue == dest.queue);
    hw.deaf = true;
    g_assert_cmpint(move(), ==, -EIO);
    hw.deaf = false;
    g_assert_true(dest.silent);
    sleeps = 0;
    for (unsigned i = 1; i < 4; i++) {
        g_assert_cmpint(move_to(one), ==, 0);
        g_assert_cmpint(move(), ==, -EIO);
        g_assert_cmpint(dev.spared, ==, i);
    }
    g_assert_false(one->silent);
    g_assert_cmpuint(sleeps, ==, 0);
    g_assert_cmpuint(hw.queues, ==, 2);
    jiffies += 30 * HZ - 1;
    g_assert_cmpint(move(), ==, -EIO);
    jiffies++;
    g_assert_cmpint(move(), ==, 0);
    g_assert_false(dest.silent);
    /* Who comes when one has gone has what that one had. */
    mem_queue_put(other[0].queue);
    g_assert_true(mem_queue_get(&dev) == other[0].queue);
    for (unsigned i = 0; i < MEM_QUEUES; i++) {
        mem_queue_put(other[i].queue);
    }
    end();
}

/* What is written back is a packet each, whatever the MTU; entries of all lengths, in laps
 * of both rings, and no more of them than there is room for. */
static void test_entries(void)
{
    static const struct {
        bool reads;
        unsigned pages;
        u32 mtu;
        unsigned sends, most;
    } moves[] = {
        { true, 1, 4096, 1, 1 },
        { true, 8, 4096, 1, 1 },
        { true, 9, 1024, 2, 2 },
        { false, 1, 4096, 1, 1 },
        { false, 3, 1024, 12, 12 },
        { false, 9, 8192, 5, 5 },
        { false, 9, 65536, 2, 2 },
        { false, 256, 1024, 1024, 256 },
        { true, 256, 512, 32, 32 },
    };

    begin();
    for (unsigned lap = 0; lap < 40; lap++) {
        for (unsigned i = 0; i < G_N_ELEMENTS(moves); i++) {
            hw.mtu = moves[i].mtu;
            hw.check = lap & 1;
            hw.sends = hw.most = 0;
            memset(&ordered, 0, sizeof(ordered));
            g_assert_cmpint(move_as(&dest, moves[i].reads, 0x123000 * lap,
                                    moves[i].pages, &me), ==, 0);
            g_assert_cmpuint(hw.sends, ==, moves[i].sends);
            /* What an entry says before its owner's bit, that of a completion after. */
            g_assert_cmpuint(ordered.writes, ==, moves[i].sends);
            g_assert_cmpuint(ordered.reads, ==, moves[i].sends);
            g_assert_cmpuint(hw.most, ==, moves[i].most);
            g_assert_cmpuint(hw.off, ==, hw.len);
        }
    }
    g_assert_cmpuint(sleeps + hw.arms, ==, 0);
    g_assert_cmpuint(hw.queues, ==, 1);
    end();
}

/* Pages that come late: who waits is told, and has asked for that each time. */
static void test_late(void)
{
    begin();
    for (unsigned late = 1; late < 300; late += 99) {
        hw.late = late;
        hw.arms = sleeps = 0;
        g_assert_cmpint(move(), ==, 0);
        g_assert_cmpuint(sleeps, ==, late);
        g_assert_cmpuint(hw.arms, ==, late);
        g_assert_false(dest.silent);
    }
    g_assert_cmpuint(hw.queues, ==, 1);
    end();
}

/* What a peer answers: the first status counts; nothing is asked of it after one that is
 * bad; only who does not answer is silent, until it does. */
static void test_statuses(void)
{
    static const struct {
        u16 status[4];
        int err;
        bool silent;
    } moves[] = {
        { { 0, UBQ_STATUS_ABORT, UBQ_STATUS_TIMEOUT }, -EIO, false },
        { { 0, UBQ_STATUS_TIMEOUT, UBQ_STATUS_ABORT }, -EIO, true },
        { { UBQ_STATUS_REMOTE_LENGTH }, -EIO, false },
        { { 0, 0, 0, 1 }, -EIO, false },
        { { 0 }, 0, false },
    };

    begin();
    for (unsigned i = 0; i < G_N_ELEMENTS(moves); i++) {
        memcpy(hw.status, moves[i].status, sizeof(hw.status));
        hw.sends = 0;
        hw.mtu = 1024;
        g_assert_cmpint(move_as(&dest, false, 0, 256, &me), ==, moves[i].err);
        g_assert_cmpuint(hw.sends, ==, moves[i].err ? 256 : 1024);
        g_assert_true(dest.silent == moves[i].silent);
        dest.silent_end = jiffies;
    }
    g_assert_cmpuint(hw.queues, ==, 1);
    g_assert_cmpint(dev.spared, ==, 0);
    end();
}

/* Who is killed waits a second for a peer that may answer, be it for itself or for who asks
 * for it; who ends waits as long as others. */
static void test_killed(void)
{
    struct task_struct other = { .killed = true };
    struct task_struct *askers[] = { &me, &other };

    begin();
    hw.deaf = true;
    for (unsigned i = 0; i < G_N_ELEMENTS(askers); i++) {
        me.killed = !i;
        sleeps = 0;
        g_assert_cmpint(move_as(&dest, true, 0, 1, askers[i]), ==, -EINTR);
        g_assert_cmpuint(sleeps, ==, 1000 / 50 + 1);
        g_assert_false(dest.silent);
        g_assert_cmpuint(hw.queues, ==, 2 + i);
    }
    me.killed = true;
    sleeps = 0;
    g_assert_cmpint(move(), ==, -EIO);
    g_assert_cmpuint(sleeps, ==, 15000 / 50 + 1);
    me.killed = false;
    g_assert_cmpint(move_as(&dest, true, 0, 1, &me), ==, -EIO);
    g_assert_cmpint(dev.spared, ==, 1);
    /* Nor does it wait for its turn. */
    hw.deaf = dest.silent = false;
    interrupted = true;
    g_assert_cmpint(move_as(&dest, true, 0, 1, &me), ==, -EINTR);
    g_assert_cmpint(move_as(&dest, true, 0, 1, &other), ==, 0);
    g_assert_cmpint(move(), ==, 0);
    interrupted = false;
    end();
}

/* A device that is gone without a word: nobody waits long, and what it was given is
 * given back. */
static void test_gone(void)
{
    begin();
    hw.deaf = hw.gone = true;
    hw.refuses = -EIO;
    g_assert_cmpint(move(), ==, -EIO);
    g_assert_cmpuint(sleeps, ==, 1);
    g_assert_false(dest.silent);
    end();
}

/* What it may still write to is given to nobody: neither the queue, nor its completions. */
static void test_keeps(void)
{
    for (unsigned cq = 0; cq < 2; cq++) {
        begin();
        hw.deaf = true;
        *(cq ? &hw.keeps : &hw.refuses) = -ETIMEDOUT;
        g_assert_cmpint(move(), ==, -EBUSY);
        g_assert_true(dest.queue->broken);
        g_assert_true(dest.silent);
        g_assert_cmpuint(hw.queues, ==, 1);
        dest.silent = false;
        g_assert_cmpint(move(), ==, -EIO);
        /* Those who come have another one. */
        for (unsigned i = 1; i < MEM_QUEUES; i++) {
            g_assert_true(mem_queue_get(&dev) == &dev.queues[i]);
        }
        for (unsigned i = 1; i < MEM_QUEUES; i++) {
            dev.queues[i].broken = true;
        }
        g_assert_true(mem_queue_get(&dev) == &dev.queues[0]);
        for (unsigned i = 0; i < MEM_QUEUES; i++) {
            mem_queue_put(&dev.queues[i]);
        }
        hw.keeps = 0;
        end();
    }
}

/* A queue that cannot be made leaves nothing behind, and the next move tries again; also
 * one that cannot be made anew. */
static void test_not_made(void)
{
    for (unsigned anew = 0; anew < 2; anew++) {
        for (unsigned n = 1; n <= 3; n++) {
            begin();
            if (anew) {
                tell(dest.queue, UBQ_EVENT_QUEUE_STATE);
            } else {
                mem_queues_stop(&dev);
                g_assert_cmpint(mem_queues_start(&dev), ==, 0);
                hw.eq_pi = 0;
            }
            hw.fails = n + 2 * anew;
            g_assert_cmpint(move(), ==, -EIO);
            g_assert_false(dest.queue->broken);
            g_assert_cmphex(dest.queue->id, ==, UBQ_NEW);
            g_assert_cmphex(dest.queue->cq_id, ==, UBQ_NEW);
            for (unsigned i = 0; i < G_N_ELEMENTS(hw.at); i++) {
                g_assert_false(hw.at[i].there || hw.at[i].cq_there);
            }
            g_assert_cmpint(move(), ==, 0);
            end();
        }
    }
    /* What has begun does not end, either. */
    begin();
    tell(dest.queue, UBQ_EVENT_QUEUE_STATE);
    hw.fails = 5;
    g_assert_cmpint(move(), ==, -EIO);
    hw.fails = 3;
    hw.refuses = -EIO;
    g_assert_cmpint(move(), ==, -EIO);
    g_assert_true(dest.queue->broken);
    end();
}

/* The first page of doorbells is one as the others are. */
static void test_first_page(void)
{
    own_page = 0;
    begin();
    g_assert_cmpint(dev.page, ==, 0);
    end();
    g_assert_cmpint(dev.page, ==, -1);
    own_page = 3;
}

/* What there is not at the start, and memory that there is not later. */
static void test_start(void)
{
    init();
    g_assert_cmpint(dev.page, ==, -1);
    for (unsigned i = 0; i < MEM_QUEUES; i++) {
        g_assert_true(dev.queues[i].broken);
    }
    hw.gone = true;
    g_assert_cmpint(mem_queues_start(&dev), ==, -EIO);
    hw.gone = false;
    hw.fails = 1;
    g_assert_cmpint(mem_queues_start(&dev), ==, -EIO);
    cmdq.pages = -ENOSPC;
    g_assert_cmpint(mem_queues_start(&dev), ==, -ENOSPC);
    g_assert_cmpint(dev.page, ==, -1);
    gone();
    for (unsigned left = 0; left < 2; left++) {
        init();
        given.left = left;
        g_assert_cmpint(mem_queues_start(&dev), ==, -ENOMEM);
        g_assert_true(dev.queues[MEM_QUEUES - 1].broken);
        gone();
        g_assert_cmpint(dev.page, ==, -1);
        g_assert_null(dev.bells);
    }
    init();
    g_assert_cmpint(mem_queues_start(&dev), ==, 0);
    g_assert_cmpint(dev.page, ==, own_page);
    g_assert_cmphex(given.mapped, ==, (2ull << 32) + own_page * UBQ_PAGE);
    g_assert_cmphex(given.mapped_bytes, ==, UBQ_PAGE);
    for (unsigned i = 0; i < MEM_QUEUES; i++) {
        g_assert_false(dev.queues[i].broken);
    }
    dest.queue = mem_queue_get(&dev);
    given.left = 0;
    g_assert_cmpint(move(), ==, -EIO);
    given.left = 1;
    g_assert_cmpint(move(), ==, -EIO);
    given.left = 1;
    g_assert_cmpint(move(), ==, 0);
    g_assert_cmphex(given_of(dest.queue->sq)->n, ==, 1024 * 64);
    g_assert_cmphex(given_of(dest.queue->cq)->n, ==, 256 * 64);
    /* Doorbells and memory last until the end. */
    mem_queues_stop(&dev);
    g_assert_cmpint(move(), ==, -EIO);
    given.left = 0;
    g_assert_cmpint(mem_queues_start(&dev), ==, 0);
    g_assert_cmpint(move(), ==, 0);
    end();
    mem_queues_free(&dev);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mem-queue/goes-on", test_goes_on);
    g_test_add_func("/mem-queue/stopped-before", test_stopped_before);
    g_test_add_func("/mem-queue/stops", test_stops);
    g_test_add_func("/mem-queue/lost", test_lost);
    g_test_add_func("/mem-queue/again", test_again);
    g_test_add_func("/mem-queue/stays", test_stays);
    g_test_add_func("/mem-queue/apart", test_apart);
    g_test_add_func("/mem-queue/shared", test_shared);
    g_test_add_func("/mem-queue/entries", test_entries);
    g_test_add_func("/mem-queue/late", test_late);
    g_test_add_func("/mem-queue/statuses", test_statuses);
    g_test_add_func("/mem-queue/killed", test_killed);
    g_test_add_func("/mem-queue/gone", test_gone);
    g_test_add_func("/mem-queue/keeps", test_keeps);
    g_test_add_func("/mem-queue/not-made", test_not_made);
    g_test_add_func("/mem-queue/first-page", test_first_page);
    g_test_add_func("/mem-queue/start", test_start);
    return g_test_run();
}
