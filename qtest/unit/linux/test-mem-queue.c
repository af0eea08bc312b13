/*
 * linux/mem/queue.c, eq.c: pages that move, by an engine that stops, says so, or loses
 * what it says.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "mem-shim.h"

#include "ub/ubc_hw.h"

/* ---- The kernel ---- */

#define PAGE_SIZE 4096u
#define BUILD_BUG_ON(x) G_STATIC_ASSERT(!(x))
#define ida_alloc_max(ida, max, gfp) 0
#define ida_free(ida, n) ((void)0)
#define wake_up(wait) ((void)(wait))
/* Nobody else is there who could do something. */
#define wait_event_timeout(wait, condition, n) \
    ((condition) ? 1 : (jiffies += (n), sleeps++, (condition)))

typedef int wait_queue_head_t;

static unsigned sleeps;

#define init_waitqueue_head(wait) (*(wait) = 0)

/* ---- ub_core and ub_mem ---- */

#define UB_BELL_BAR 2
#define MEM_EQ 1
#define ub_bell_pages(core, cmd) 1
#define ub_own_mtu(core) PAGE_SIZE

struct ub_cmdq {
    int pages;
};

struct ub_core {
    u8 *bar;
    void *pdev;
    struct ub_cmdq *cmdq;
};

struct ub_cmd {
    u8 b[UBQ_CMD];
};

struct mem_dest {
    struct mem_queue *queue;
    bool silent;
    unsigned long silent_end;
};

struct mem_target {
    struct mem_dest *dest;
    u64 uba;
    u32 row, order, token_id;
    bool check;
    u32 value;
};

struct mem_eq {
    u8 *ring;
    dma_addr_t dma;
    u16 ci;
    int irq;
    atomic_t events;
    u32 lost;
};

#define MEM_QUEUES 3

struct mem_queue {
    struct mutex lock;
    unsigned peers;
    u8 *sq, *cq;
    dma_addr_t sq_dma, cq_dma;
    u32 id, cq_id;
    u16 pi, ci;
    bool broken;
    wait_queue_head_t wait;
    atomic_t events;
    bool stopped, doubtful;
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

static struct {
    struct mem_dev *dev;
    bool deaf;              /* what is posted stays */
    unsigned stops;         /* it says so, if it is not 0: an event */
    int refuses;            /* instead of UBQ_OP_QUEUE_DESTROY */
    unsigned queues, sends; /* that were made; entries that were there */
    unsigned pages;         /* that were moved */
    u32 eq[UBQ_EQ_STRIDE / 4];
    u16 eq_pi;
    struct {
        u16 fetch, cq_pi;
    } at[16];                /* of each queue that was made */
} hw;

static u32 ub_rd(const u8 *bar, unsigned reg)
{
    if (reg == UBC_ID) {
        return UBC_ID_VALUE;
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

static void ub_cmd_init(struct ub_cmd *cmd, u32 object, u32 mask)
{
    memset(cmd, 0, sizeof(*cmd));
}

static void ub_put8(struct ub_cmd *cmd, unsigned at, u8 v) {}
static void ub_put16(struct ub_cmd *cmd, unsigned at, u16 v) {}
static void ub_put32(struct ub_cmd *cmd, unsigned at, u32 v) {}
static void ub_put64(struct ub_cmd *cmd, unsigned at, u64 v) {}

static u32 ub_cmd_object(const struct ub_cmd *cmd)
{
    return hw.queues;
}

static int ub_cmd_run(struct ub_core *core, unsigned opcode, struct ub_cmd *cmd)
{
    if (opcode == UBQ_OP_QUEUE_DESTROY && hw.refuses) {
        return hw.refuses;
    }
    if (opcode == UBQ_OP_QUEUE_CREATE) {
        hw.queues++;
    }
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
    return 0x100000 + 0x3000 * (dma_addr_t)i;
}

/* An entry is of its lap, for the pages that come next. */
static void entry_check(const u8 *e, u16 index)
{
    unsigned n = (get_le32(e) & UBQ_SQE_ELEMENTS) >> 12;

    g_assert_cmpint(!(get_le32(e) & UBQ_SQE_OWNER), ==, index >> 10 & 1);
    g_assert_true(get_le32(e) & UBQ_SQE_TOKEN);
    g_assert_cmphex(get_le32(e + UBQ_SQE_DEST), ==, where.row);
    g_assert_cmphex(get_le32(e + UBQ_SQE_TARGET), ==, where.token_id);
    g_assert_cmphex(get_le32(e + UBQ_SQE_TOKEN_VALUE), ==, where.value);
    g_assert_cmphex(get_le32(e + UBQ_SQE_LENGTH), ==, n * PAGE_SIZE);
    g_assert_cmphex(get_le64(e + UBQ_SQE_ADDR), ==,
                    where.uba + hw.pages % 16 * PAGE_SIZE);
    for (unsigned i = 0; i < n; i++) {
        const u8 *element = e + UBQ_SQE_ELEMENT + i * UBQ_ELEMENT;

        g_assert_cmphex(get_le64(element), ==, page_at(hw.pages++ % 16));
        g_assert_cmphex(get_le32(element + 8), ==, PAGE_SIZE);
    }
}

static void writeq(u64 value, u8 *at)
{
    const struct mem_queue *q = hw.dev->queues;
    u16 pi = value >> 32, *fetch, *cq_pi;

    if (at != hw.dev->bells + UBQ_BELL_SQ) {
        return;
    }
    while (q->id != (u32)value) {
        q++;
        g_assert_true(q < hw.dev->queues + MEM_QUEUES);
    }
    if (hw.stops) {
        tell(q, hw.stops);
    }
    if (hw.deaf) {
        return;
    }
    fetch = &hw.at[q->id].fetch;
    cq_pi = &hw.at[q->id].cq_pi;
    while (*fetch != pi) {
        const u8 *e = q->sq + *fetch % 1024 * UBQ_BLOCK;
        u32 *cqe = (u32 *)(q->cq + *cq_pi % 256 * UBQ_CQE);

        entry_check(e, *fetch);
        *cqe = (*cq_pi)++ / 256 % 2 ? 0 : UBQ_CQE_OWNER;
        *fetch += 1 + (get_le32(e) >> 8 & 15);
        hw.sends++;
    }
}

int mem_eq_start(struct mem_dev *dev);
void mem_eq_stop(struct mem_dev *dev);
void mem_eq_free(struct mem_dev *dev);
void mem_queues_init(struct mem_dev *dev);
int mem_queues_start(struct mem_dev *dev);
void mem_queues_stop(struct mem_dev *dev);
void mem_queues_free(struct mem_dev *dev);
struct mem_queue *mem_queue_get(struct mem_dev *dev);
void mem_queue_put(struct mem_queue *q);
int mem_move(struct mem_dev *dev, bool reads, const struct mem_target *to,
             u64 at, const dma_addr_t *pages, unsigned n, bool killable);

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
static struct mem_dest dest;
static dma_addr_t pages[16];

static int move_to(struct mem_dest *d)
{
    struct mem_target to = where;

    to.dest = d;
    for (unsigned i = 0; i < G_N_ELEMENTS(pages); i++) {
        pages[i] = page_at(i);
    }
    return mem_move(&dev, true, &to, 0, pages, G_N_ELEMENTS(pages), false);
}

static int move(void)
{
    return move_to(&dest);
}

/* A queue, which the first move makes. */
static void begin(void)
{
    static struct ub_cmdq cmdq;

    memset(&dev, 0, sizeof(dev));
    memset(&dest, 0, sizeof(dest));
    memset(&hw, 0, sizeof(hw));
    core.cmdq = &cmdq;
    dev.core = &core;
    hw.dev = &dev;
    sleeps = 0;
    mem_queues_init(&dev);
    g_assert_cmpint(mem_queues_start(&dev), ==, 0);
    dest.queue = mem_queue_get(&dev);
    g_assert_cmpuint(hw.queues, ==, 0);
    g_assert_cmpint(move(), ==, 0);
    g_assert_cmpuint(hw.queues, ==, 1);
    hw.sends = 0;
}

static void end(void)
{
    mem_queue_put(dest.queue);
    for (unsigned i = 0; i < MEM_QUEUES; i++) {
        g_assert_cmpuint(dev.queues[i].peers, ==, 0);
    }
    mem_queues_stop(&dev);
    mem_queues_free(&dev);
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
    g_assert_cmpuint(sleeps, >, 15000 / LOOK_MS);
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
    jiffies += msecs_to_jiffies(SILENT_MS) + 1;
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

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mem-queue/goes-on", test_goes_on);
    g_test_add_func("/mem-queue/stopped-before", test_stopped_before);
    g_test_add_func("/mem-queue/stops", test_stops);
    g_test_add_func("/mem-queue/lost", test_lost);
    g_test_add_func("/mem-queue/stays", test_stays);
    g_test_add_func("/mem-queue/apart", test_apart);
    g_test_add_func("/mem-queue/shared", test_shared);
    return g_test_run();
}
