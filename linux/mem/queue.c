// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB memory: queues of the engine that move pages (docs/specs/ub-urma.rst).
 *
 * A peer has one queue, which is made when its first page moves; peers share one only
 * when there are more of them than queues.  In a queue there is one move at a time: who
 * waits for a page has nothing else to do, and who waits for a peer that does not answer
 * keeps nobody from the pages of another.
 */
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/pci.h>
#include <linux/sched/signal.h>

#include "ub_mem.h"

#define OP_READ		0x06
#define OP_WRITEBACK	0x17
#define SQ_LOG2		10
#define BLOCKS		4	/* of each entry: none wraps */
#define SQ_BYTES	(UBQ_BLOCK << SQ_LOG2)
#define CQ_LOG2		8	/* as many as requests */
#define CQ_BYTES	(UBQ_CQE << CQ_LOG2)
#define CQE_STATUS(w0)	((w0) >> 8 & 0xffff)
/* A peer that takes longer, or says RNR all the time, is silent: the queue is made
 * anew, so that the engine forgets the pages, and for a while nobody asks that peer
 * again, so that a program that ends does not wait for each piece of its memory. */
#define ANSWER_MS	15000
#define SILENT_MS	30000
/* So long a program that was killed waits nevertheless, for a peer that answers. */
#define KILLED_MS	1000
#define READ_PAGES	8		/* of a request */
#define ROOM		((1 << SQ_LOG2) / BLOCKS)	/* requests at a time */
#define SPINS		200
#define LOOK_MS		50
#define ARM_NEXT	2u	/* of the doorbell of completions */

static void bell(struct mem_dev *dev, unsigned int reg, u32 object, u16 count,
		 u32 arm)
{
	writeq(object | (u64)count << 32 | (u64)arm << 48, dev->bells + reg);
}

/* The entry at an index, empty. */
static __le32 *entry(struct mem_queue *q, u16 index)
{
	u8 *at = q->sq + (index & ((1 << SQ_LOG2) - 1)) * UBQ_BLOCK;

	BUILD_BUG_ON(UBQ_SQE_ELEMENT + READ_PAGES * UBQ_ELEMENT >
		     BLOCKS * UBQ_BLOCK);
	BUILD_BUG_ON(ROOM > 1 << CQ_LOG2);
	memset(at, 0, BLOCKS * UBQ_BLOCK);
	return (__le32 *)at;
}

/* The next completion, if it is there. */
static bool cqe_next(struct mem_queue *q, u32 *w0)
{
	const __le32 *e = (const __le32 *)(q->cq +
		(q->ci & ((1 << CQ_LOG2) - 1)) * UBQ_CQE);
	u32 want = q->ci >> CQ_LOG2 & 1 ? 0 : UBQ_CQE_OWNER;

	*w0 = le32_to_cpu(READ_ONCE(e[0]));
	return !((*w0 ^ want) & UBQ_CQE_OWNER);
}

/* Take those that are there of @n; how many, and the first status that is bad. */
static unsigned int cqes_take(struct mem_queue *q, unsigned int n, u32 *bad)
{
	unsigned int taken = 0;
	u32 w0;

	for (; taken < n && cqe_next(q, &w0); taken++) {
		dma_rmb();
		q->ci++;
		if (!*bad)
			*bad = CQE_STATUS(w0);
	}
	return taken;
}

/* Until an event, which the next completion has, or one that is there already.  False:
 * there was none for a while, and it is time to look up. */
static bool sleep_done(struct mem_dev *dev, struct mem_queue *q)
{
	int seen = atomic_read(&q->events);
	u32 w0;

	bell(dev, UBQ_BELL_CQ, q->cq_id, q->ci, ARM_NEXT);
	return wait_event_timeout(q->wait, atomic_read(&q->events) != seen ||
				  cqe_next(q, &w0), msecs_to_jiffies(LOOK_MS));
}

/* Why not to wait any longer, for a move that has begun then. */
static int wait_ends(const struct mem_queue *q, unsigned long begun,
		     struct task_struct *asker)
{
	/* It may never say more. */
	if (READ_ONCE(q->stopped))
		return -EIO;
	if (time_after(jiffies, begun + msecs_to_jiffies(ANSWER_MS)))
		return -ETIMEDOUT;
	if (asker && fatal_signal_pending(asker) &&
	    time_after(jiffies, begun + msecs_to_jiffies(KILLED_MS)))
		return -EINTR;
	return 0;
}

/* The next @n completions of a move that has begun then; the first status that is
 * bad. */
static int wait_done(struct mem_dev *dev, struct mem_queue *q,
		     unsigned long begun, struct task_struct *asker,
		     unsigned int n, u32 *bad)
{
	unsigned int spins = 0, taken;
	int err = 0;

	while (n && !err) {
		taken = cqes_take(q, n, bad);
		n -= taken;
		spins = taken ? 0 : spins + 1;
		if (spins < SPINS) {
			cpu_relax();
			continue;
		}
		err = wait_ends(q, begun, asker);
		/* The device may have gone without a word. */
		if (!err && !sleep_done(dev, q) &&
		    ub_rd(dev->core->bar, UBC_ID) != UBC_ID_VALUE) {
			dev_err(dev->dma, "a queue is not answered\n");
			err = -EIO;
		}
	}
	return err;
}

/* Bytes @off to @off + @len of the pages. */
static void post(struct mem_queue *q, u32 opcode, const struct mem_target *to,
		 u64 at, const dma_addr_t *pages, u32 off, u32 len)
{
	unsigned int n = DIV_ROUND_UP(len, PAGE_SIZE), i;
	u32 w0 = opcode | n << __builtin_ctz(UBQ_SQE_ELEMENTS) |
		 (BLOCKS - 1) << __builtin_ctz(UBQ_SQE_BLOCKS) | UBQ_SQE_CQE |
		 (to->check ? UBQ_SQE_TOKEN : 0);
	__le32 *e = entry(q, q->pi), *element = e + UBQ_SQE_ELEMENT / 4;

	if (!(q->pi >> SQ_LOG2 & 1))
		w0 |= UBQ_SQE_OWNER;
	e[UBQ_SQE_DEST / 4] = cpu_to_le32(to->row);
	e[UBQ_SQE_TARGET / 4] = cpu_to_le32(to->token_id);
	e[UBQ_SQE_TOKEN_VALUE / 4] = cpu_to_le32(to->value);
	e[UBQ_SQE_LENGTH / 4] = cpu_to_le32(len);
	*(__le64 *)(e + UBQ_SQE_ADDR / 4) = cpu_to_le64(to->uba + at + off);
	for (i = 0; i < n; i++, element += UBQ_ELEMENT / 4) {
		*(__le64 *)element = cpu_to_le64(pages[off / PAGE_SIZE + i] +
						 off % PAGE_SIZE);
		element[2] = cpu_to_le32(min_t(u32, len, PAGE_SIZE));
	}
	dma_wmb();
	e[UBQ_SQE_W0 / 4] = cpu_to_le32(w0);
	q->pi += BLOCKS;
}

static int queue_begin(struct mem_dev *dev, struct mem_queue *q);
static int queue_end(struct mem_dev *dev, struct mem_queue *q);

static int queue_lock(struct mem_queue *q, struct task_struct *asker)
{
	if (asker == current)
		return mutex_lock_killable(&q->lock);
	mutex_lock(&q->lock);
	return 0;
}

/* All of it, as much at a time as the queue holds; the first status that is bad. */
static int move_all(struct mem_dev *dev, struct mem_queue *q, bool reads,
		    const struct mem_target *to, u64 at,
		    const dma_addr_t *pages, unsigned int n,
		    struct task_struct *asker, u32 *bad)
{
	/* A Writeback is one packet (UB 2.0 table 7-2). */
	u32 most = reads ? READ_PAGES * PAGE_SIZE :
		   min_t(u32, ub_own_mtu(dev->core), READ_PAGES * PAGE_SIZE);
	u32 len = n * PAGE_SIZE, step;
	unsigned long begun = jiffies;
	unsigned int posted;
	u32 off = 0;
	int err = 0;

	*bad = UBQ_STATUS_OK;
	while (!err && !*bad && off < len) {
		for (posted = 0; posted < ROOM && off < len; posted++) {
			step = min(most, len - off);
			post(q, reads ? OP_READ : OP_WRITEBACK, to, at, pages,
			     off, step);
			off += step;
		}
		bell(dev, UBQ_BELL_SQ, q->id, q->pi, 0);
		err = wait_done(dev, q, begun, asker, posted, bad);
		/* There was room for all of them. */
		bell(dev, UBQ_BELL_CQ, q->cq_id, q->ci, 0);
	}
	return err;
}

/* With what is under way forgotten by the engine.  If it has no room for another one,
 * the next move tries again. */
static int queue_anew(struct mem_dev *dev, struct mem_queue *q, int why)
{
	WRITE_ONCE(q->broken, true);
	/* What it was given must not be given to others, if it keeps it. */
	if (queue_end(dev, q) &&
	    ub_rd(dev->core->bar, UBC_ID) == UBC_ID_VALUE)
		return -EBUSY;
	WRITE_ONCE(q->broken, false);
	queue_begin(dev, q);
	return why == -EINTR ? why : -EIO;
}

/* For the first move; the next one tries again. */
static int queue_first(struct mem_dev *dev, struct mem_queue *q)
{
	if (!q->sq)
		q->sq = dma_alloc_coherent(dev->dma, SQ_BYTES, &q->sq_dma,
					   GFP_KERNEL);
	if (!q->cq)
		q->cq = dma_alloc_coherent(dev->dma, CQ_BYTES, &q->cq_dma,
					   GFP_KERNEL);
	return q->sq && q->cq ? queue_begin(dev, q) : -ENOMEM;
}

/* Before a move: one that is not there is made, and one that has stopped, or may have,
 * is made anew. */
static int queue_mend(struct mem_dev *dev, struct mem_queue *q)
{
	if (q->id == UBQ_NEW)
		return queue_first(dev, q);
	if (!READ_ONCE(q->stopped) && !READ_ONCE(q->doubtful))
		return 0;
	queue_anew(dev, q, -EIO);
	return q->broken || q->id == UBQ_NEW ? -EIO : 0;
}

int mem_move(struct mem_dev *dev, bool reads, const struct mem_target *to,
	     u64 at, const dma_addr_t *pages, unsigned int n,
	     struct task_struct *asker)
{
	struct mem_dest *d = to->dest;
	struct mem_queue *q = d->queue;
	int err = -EIO;
	u32 bad;

	if (queue_lock(q, asker))
		return -EINTR;
	if (q->broken || queue_mend(dev, q))
		goto out;
	if (d->silent && time_before(jiffies, d->silent_end)) {
		atomic64_inc(&dev->spared);
		goto out;
	}
	err = move_all(dev, q, reads, to, at, pages, n, asker, &bad);
	if (err != -EINTR) {
		d->silent = err == -ETIMEDOUT || bad == UBQ_STATUS_TIMEOUT;
		d->silent_end = jiffies + msecs_to_jiffies(SILENT_MS);
	}
	if (err)
		err = queue_anew(dev, q, err);
	else if (bad)
		err = -EIO;
out:
	mutex_unlock(&q->lock);
	return err;
}

/* ---- life ---- */

void mem_queues_init(struct mem_dev *dev)
{
	struct mem_queue *q;

	dev->page = -1;
	for (q = dev->queues; q < dev->queues + MEM_QUEUES; q++) {
		mutex_init(&q->lock);
		init_waitqueue_head(&q->wait);
		q->id = q->cq_id = UBQ_NEW;
		q->broken = true;
	}
}

struct mem_queue *mem_queue_get(struct mem_dev *dev)
{
	struct mem_queue *least = NULL, *q;

	for (q = dev->queues; q < dev->queues + MEM_QUEUES; q++)
		if (!READ_ONCE(q->broken) &&
		    (!least || q->peers < least->peers))
			least = q;
	least = least ?: dev->queues;
	least->peers++;
	return least;
}

void mem_queue_put(struct mem_queue *q)
{
	q->peers--;
}

/* Doorbells, which are of one page for all queues. */
static int page_alloc(struct mem_dev *dev)
{
	phys_addr_t bells = pci_resource_start(dev->core->pdev, UB_BELL_BAR);
	struct ub_cmd cmd;
	u32 pages;
	int err;

	ub_cmd_init(&cmd, 0, 0);
	err = ub_cmd_run(dev->core, UBQ_OP_CAPS, &cmd);
	if (err)
		return err;
	pages = ub_bell_pages(dev->core, &cmd);
	if (!pages)
		return -EIO;
	err = ida_alloc_max(&dev->core->cmdq->pages, pages - 1, GFP_KERNEL);
	if (err < 0)
		return err;
	dev->page = err;
	dev->bells = ioremap(bells + dev->page * (phys_addr_t)UBQ_PAGE,
			     UBQ_PAGE);
	return dev->bells ? 0 : -ENOMEM;
}

static int queue_make(struct mem_dev *dev, struct mem_queue *q)
{
	struct ub_cmd cmd;
	int err;

	ub_cmd_init(&cmd, UBQ_NEW, 0);
	ub_put64(&cmd, UBQ_CQ_BASE, q->cq_dma);
	ub_put8(&cmd, UBQ_CQ_LOG2, CQ_LOG2);
	ub_put16(&cmd, UBQ_CQ_PAGE, dev->page);
	ub_put16(&cmd, UBQ_CQ_EQ, MEM_EQ);
	err = ub_cmd_run(dev->core, UBQ_OP_CQ_CREATE, &cmd);
	if (err)
		return err;
	WRITE_ONCE(q->cq_id, ub_cmd_object(&cmd));
	ub_cmd_init(&cmd, UBQ_NEW, 0);
	ub_put64(&cmd, UBQ_Q_SQ_BASE, q->sq_dma);
	ub_put8(&cmd, UBQ_Q_SQ_LOG2, SQ_LOG2);
	ub_put32(&cmd, UBQ_Q_SEND_CQ, q->cq_id);
	ub_put32(&cmd, UBQ_Q_RQ_SHARED, UBQ_NEW);
	ub_put16(&cmd, UBQ_Q_PAGE, dev->page);
	ub_put32(&cmd, UBQ_Q_FLAGS, UBQ_Q_IN_ORDER);
	ub_put16(&cmd, UBQ_Q_EQ, MEM_EQ);
	err = ub_cmd_run(dev->core, UBQ_OP_QUEUE_CREATE, &cmd);
	if (err)
		return err;
	WRITE_ONCE(q->id, ub_cmd_object(&cmd));
	ub_cmd_init(&cmd, q->id, UBQ_QM_STATE);
	ub_put8(&cmd, UBQ_Q_STATE, UBQ_STATE_READY);
	return ub_cmd_run(dev->core, UBQ_OP_QUEUE_MODIFY, &cmd);
}

/* With its memory.  What has begun ends, if it fails. */
static int queue_begin(struct mem_dev *dev, struct mem_queue *q)
{
	int err;

	memset(q->cq, 0, CQ_BYTES);
	q->pi = q->ci = 0;
	WRITE_ONCE(q->stopped, false);
	WRITE_ONCE(q->doubtful, false);
	WRITE_ONCE(q->id, UBQ_NEW);
	WRITE_ONCE(q->cq_id, UBQ_NEW);
	err = queue_make(dev, q);
	if (err)
		WRITE_ONCE(q->broken, queue_end(dev, q));
	return err;
}

/* 0: nothing of it is under way any more. */
static int queue_end(struct mem_dev *dev, struct mem_queue *q)
{
	struct ub_cmd cmd;
	int err = 0;

	if (q->id != UBQ_NEW) {
		ub_cmd_init(&cmd, q->id, 0);
		err = ub_cmd_run(dev->core, UBQ_OP_QUEUE_DESTROY, &cmd);
	}
	if (err)
		return err;
	WRITE_ONCE(q->id, UBQ_NEW);
	if (q->cq_id != UBQ_NEW) {
		ub_cmd_init(&cmd, q->cq_id, 0);
		err = ub_cmd_run(dev->core, UBQ_OP_CQ_DESTROY, &cmd);
	}
	if (!err)
		WRITE_ONCE(q->cq_id, UBQ_NEW);
	return err;
}

int mem_queues_start(struct mem_dev *dev)
{
	int err = dev->bells ? 0 : page_alloc(dev);
	struct mem_queue *q;

	if (!err)
		err = mem_eq_start(dev);
	for (q = dev->queues; q < dev->queues + MEM_QUEUES; q++)
		q->broken = err;
	return err;
}

void mem_queues_stop(struct mem_dev *dev)
{
	struct mem_queue *q;

	for (q = dev->queues; q < dev->queues + MEM_QUEUES; q++) {
		mutex_lock(&q->lock);
		queue_end(dev, q);
		WRITE_ONCE(q->id, UBQ_NEW);
		WRITE_ONCE(q->cq_id, UBQ_NEW);
		q->broken = true;
		mutex_unlock(&q->lock);
	}
	mem_eq_stop(dev);
}

void mem_queues_free(struct mem_dev *dev)
{
	struct mem_queue *q;

	mem_eq_free(dev);
	for (q = dev->queues; q < dev->queues + MEM_QUEUES; q++) {
		if (q->cq)
			dma_free_coherent(dev->dma, CQ_BYTES, q->cq, q->cq_dma);
		if (q->sq)
			dma_free_coherent(dev->dma, SQ_BYTES, q->sq, q->sq_dma);
		q->sq = q->cq = NULL;
	}
	if (dev->bells)
		iounmap(dev->bells);
	if (dev->page >= 0)
		ida_free(&dev->core->cmdq->pages, dev->page);
	dev->page = -1;
	dev->bells = NULL;
}
