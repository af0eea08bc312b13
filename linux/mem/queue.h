/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UB memory, eq.c, queue.c: queues of the engine, and of its events.
 * For ub_mem.h, behind what of the kernel it needs, and for unit tests, behind what
 * stands for that.
 */
#ifndef MEM_QUEUE_H
#define MEM_QUEUE_H

struct mem_dev;
struct mem_target;

/* ---- eq.c ---- */

#define MEM_EQ	1		/* its number: another one than urma's */

struct mem_eq {
	u8 *ring;
	dma_addr_t dma;
	u16 ci;
	int irq;
	atomic_t events;	/* so many interrupts have brought some */
	u32 lost;		/* events, so far */
};

int mem_eq_start(struct mem_dev *dev);
/* The registers may be gone with the device. */
void mem_eq_stop(struct mem_dev *dev);
void mem_eq_free(struct mem_dev *dev);

/* ---- queue.c ---- */

#define MEM_QUEUES	64	/* as many as peers that have one alone */

struct mem_queue {
	struct mutex lock;
	unsigned int peers;	/* with the lock of mem_dev.dests: that have it */
	u8 *sq, *cq;		/* NULL: nobody has moved a page by it so far */
	dma_addr_t sq_dma, cq_dma;
	u32 id, cq_id;
	u16 pi, ci;
	bool broken;		/* it is not used, until the device starts anew */
	/* By the interrupt: */
	wait_queue_head_t wait;
	atomic_t events;	/* so many were its own */
	bool stopped;		/* the device has stopped it, … */
	bool doubtful;		/* … or may have said so in an event that was lost */
};

void mem_queues_init(struct mem_dev *dev);
int mem_queues_start(struct mem_dev *dev);
void mem_queues_stop(struct mem_dev *dev);
void mem_queues_free(struct mem_dev *dev);
/* With the lock of mem_dev.dests: one in use that the fewest peers have. */
struct mem_queue *mem_queue_get(struct mem_dev *dev);
void mem_queue_put(struct mem_queue *q);
#define MEM_MOVE	256u	/* pages, at most */

/* Reads or Writebacks of @n pages at @at of what @to leads to.  -EINTR: @asker was
 * killed meanwhile; NULL: whoever asks waits nevertheless. */
int mem_move(struct mem_dev *dev, bool reads, const struct mem_target *to,
	     u64 at, const dma_addr_t *pages, unsigned int n,
	     struct task_struct *asker);

#endif
