/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UB memory, decoder.c: the window and its tables.
 * For ub_mem.h, behind what of the kernel it needs, and for unit tests, behind what
 * stands for that.
 */
#ifndef MEM_DECODER_H
#define MEM_DECODER_H

struct mem_dest;
struct mem_dev;

#define MEM_MIB		(1ull << UB_LDS_PAGE_BITS)

struct mem_decoder {
	struct mutex lock;	/* tables, queue of commands */
	phys_addr_t window;
	u64 bytes;
	void __iomem *control;
	unsigned int mibs;	/* that imports can have: not the last one */
	bool managed;		/* the table is the UBFM's: there are no imports */
	unsigned long *used;
	__le64 *l0;
	dma_addr_t l0_dma;
	u8 **l1;		/* a table for each 4 GiB, when it is needed */
	dma_addr_t *l1_dma;
	unsigned int l1s;
	__le64 *cmds;
	dma_addr_t cmds_dma;
	u32 pi;			/* commands that were put */
	bool broken;
	__le64 *events;
	dma_addr_t events_dma;
	spinlock_t event_lock;	/* below, and counters of imports */
	u32 ci;
	u32 owed;		/* interrupts of events that were taken already */
	u64 lost;		/* times that events were lost */
	int irq;
	struct semaphore slots;	/* of commands: one of those that nobody has */
	DECLARE_BITMAP(slots_used, UB_LDS_SLOTS);
};

/* Where an entry of the tables leads. */
struct mem_target {
	struct mem_dest *dest;
	u64 uba;
	u32 row, order, token_id;
	bool check;
	u32 value;
};

int mem_decoder_start(struct mem_dev *dev);
/* The registers may be gone with the device. */
void mem_decoder_stop(struct mem_dev *dev);
void mem_decoder_free(struct mem_dev *dev);
/* @n MiBs of the window that are free, or -ENOSPC. */
int mem_window_get(struct mem_dev *dev, unsigned int n);
void mem_window_put(struct mem_dev *dev, unsigned int first, unsigned int n);
int mem_window_set(struct mem_dev *dev, unsigned int first, unsigned int n,
		   const struct mem_target *to);
/* They lead nowhere, and nothing that went there is under way. */
void mem_window_clear(struct mem_dev *dev, unsigned int first, unsigned int n);
/* All accesses there so far are done, what failed is counted at their imports; or -EIO:
 * that is not known; -EINTR: the program was killed meanwhile, and it is @killable. */
int mem_window_done(struct mem_dev *dev, unsigned int first, unsigned int n,
		    bool killable);
/* An access of up to 64 bytes at @offset of the window, which leads to a peer, by a
 * command slot: @opcode | sub-operation << 16, as in table 7-2; @result may be an operand.
 * Others wait for it if they go to the same peer, or more of those are asked at once than
 * there are slots. */
int mem_slot(struct mem_dev *dev, struct mem_dest *to, u64 offset, u32 opcode,
	     unsigned int bytes, const u64 *a, const u64 *b, u64 *result);

#endif
