// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB memory: cached imports (UB 2.0 §8.2.6).
 *
 * A page is read from the peer when it is touched first, and stays.  Mappings are
 * read-only until they are written to, so that pages that differ are known; Clean
 * sends those by Writeback.  Segments that several nodes cache have a directory: a
 * word in the owner's memory, a page in front of the segment, that says who may do
 * what.  Nodes change it by atomics when their programs ask for another Ownership;
 * so the owner's processor has no part in it, and nodes need not know each other.
 */
#include <linux/dma-mapping.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "ub_mem.h"

#define OP_CAS		0x07
#define OP_FETCH_SUB	0x0c
#define TRIES		64

static void cache_release(struct kref *ref)
{
	struct mem_cache *c = container_of(ref, struct mem_cache, ref);

	kvfree(c->dirty);
	kvfree(c->pages);
	kfree(c);
}

void mem_cache_put(struct mem_cache *c)
{
	if (c)
		kref_put(&c->ref, cache_release);
}

struct mem_cache *mem_cache_new(struct mem_dev *dev, u64 window, u64 len,
				const struct mem_target *to, bool shared)
{
	struct mem_cache *c = kzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);

	if (!c)
		return NULL;
	kref_init(&c->ref);
	mutex_init(&c->lock);
	c->dev = dev;
	c->window = window;
	c->to = *to;
	c->shared = shared;
	/* Who borrows it is alone. */
	c->owns = shared ? MEM_INVALID : MEM_WRITE;
	c->n = len >> PAGE_SHIFT;
	c->pages = kvcalloc(c->n, sizeof(*c->pages), GFP_KERNEL_ACCOUNT);
	c->dirty = kvcalloc(BITS_TO_LONGS(c->n), sizeof(long),
			    GFP_KERNEL_ACCOUNT);
	if (c->pages && c->dirty)
		return c;
	mem_cache_put(c);
	return NULL;
}

/* ---- pages; with c->lock ---- */

static int pages_move(struct mem_cache *c, bool reads, unsigned long i,
		      unsigned int n)
{
	enum dma_data_direction way = reads ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
	struct device *dma = c->dev->dma;
	dma_addr_t at[MEM_MOVE];
	unsigned int mapped;
	int err = 0;

	for (mapped = 0; mapped < n; mapped++) {
		at[mapped] = dma_map_page(dma, c->pages[i + mapped], 0,
					  PAGE_SIZE, way);
		if (dma_mapping_error(dma, at[mapped])) {
			err = -ENOMEM;
			break;
		}
	}
	if (!err)
		err = mem_move(c->dev, reads, &c->to, (u64)i << PAGE_SHIFT, at,
			       n);
	/* The engine may still reach them: they are nobody's from now on. */
	if (err == -EBUSY) {
		while (mapped--)
			get_page(c->pages[i + mapped]);
		return -EIO;
	}
	while (mapped--)
		dma_unmap_page(dma, at[mapped], PAGE_SIZE, way);
	return err;
}

/* Nobody maps it: the next touch is a fault.  A fault that has found it holds the
 * lock of the page until it is mapped. */
static void page_unmap(struct mem_cache *c, unsigned long i)
{
	lock_page(c->pages[i]);
	mem_unmap(c->dev, c->window + ((u64)i << PAGE_SHIFT), PAGE_SIZE);
	unlock_page(c->pages[i]);
}

/* How many pages to read: more than one for who goes through them in order. */
static unsigned int pages_ahead(const struct mem_cache *c, unsigned long i)
{
	unsigned int n = 1;

	if (i && c->pages[i - 1])
		while (n < MEM_MOVE && i + n < c->n && !c->pages[i + n])
			n++;
	return n;
}

static int pages_get(struct mem_cache *c, unsigned long i)
{
	unsigned int n = pages_ahead(c, i), k;
	int err = 0;

	if (c->pages[i])
		return 0;
	for (k = 0; k < n; k++) {
		c->pages[i + k] = alloc_page(GFP_HIGHUSER | __GFP_ZERO |
					     __GFP_ACCOUNT);
		if (!c->pages[i + k])
			break;
	}
	err = k ? pages_move(c, true, i, k) : -ENOMEM;
	while (err && k--) {
		put_page(c->pages[i + k]);
		c->pages[i + k] = NULL;
	}
	return err;
}

static void drop_all(struct mem_cache *c)
{
	unsigned long i;

	for (i = 0; i < c->n; i++) {
		if (!c->pages[i])
			continue;
		page_unmap(c, i);
		put_page(c->pages[i]);
		c->pages[i] = NULL;
		cond_resched();
	}
	bitmap_zero(c->dirty, c->n);
}

/* Clean: what differs is written back.  It stops at the first that fails, which
 * stay dirty: a peer that is gone costs one time-out. */
static int clean_all(struct mem_cache *c)
{
	unsigned long i = 0;
	unsigned int n;
	int err = 0;

	while (!err && (i = find_next_bit(c->dirty, c->n, i)) < c->n) {
		for (n = 0; n < MEM_MOVE && i + n < c->n &&
			    test_bit(i + n, c->dirty); n++)
			page_unmap(c, i + n);
		err = pages_move(c, false, i, n);
		if (!err)
			bitmap_clear(c->dirty, i, n);
	}
	return err;
}

/* ---- the directory; with c->lock ---- */

static int directory(struct mem_cache *c, u32 opcode, u64 a, u64 b, u64 *old)
{
	return mem_slot(c->dev, c->window, opcode, sizeof(u64), &a, &b, old);
}

/* One value becomes another, or -EAGAIN: others have it. */
static int directory_swap(struct mem_cache *c, u64 from, u64 to)
{
	u64 old;
	int err = directory(c, OP_CAS, from, to, &old);

	return err ? err : old == from ? 0 : -EAGAIN;
}

/* One reader more. */
static int directory_read(struct mem_cache *c)
{
	unsigned long end = jiffies + 20 * HZ;
	unsigned int tries;
	u64 guess = 0, old;
	int err;

	for (tries = 0; tries < TRIES; tries++) {
		/* The owner may answer as late, and as often otherwise, as it likes. */
		if (fatal_signal_pending(current) || time_after(jiffies, end))
			break;
		err = directory(c, OP_CAS, guess, guess + 1, &old);
		if (err || old == guess)
			return err;
		if (old & MEM_DIR_WRITER)
			return -EAGAIN;
		guess = old;
	}
	return -EAGAIN;
}

static int directory_leave(struct mem_cache *c)
{
	u64 old;

	if (c->owns == MEM_WRITE)
		return directory_swap(c, MEM_DIR_WRITER, 0);
	return directory(c, OP_FETCH_SUB, 1, 0, &old);
}

/* ---- Ownership; with c->lock ---- */

static int to_invalid(struct mem_cache *c)
{
	int err = c->owns == MEM_WRITE ? clean_all(c) : 0;

	if (err)
		return err;
	drop_all(c);
	err = directory_leave(c);
	c->owns = MEM_INVALID;
	return err;
}

static int to_read(struct mem_cache *c)
{
	int err = c->owns == MEM_WRITE ? clean_all(c) : directory_read(c);

	if (!err && c->owns == MEM_WRITE)
		err = directory_swap(c, MEM_DIR_WRITER, 1);
	return err;
}

static int to_write(struct mem_cache *c)
{
	/* The only reader may become the writer, and what it has is good. */
	return directory_swap(c, c->owns == MEM_READ ? 1 : 0, MEM_DIR_WRITER);
}

int mem_cache_own(struct mem_cache *c, enum mem_owns want)
{
	static int (*const change[])(struct mem_cache *c) = {
		[MEM_INVALID] = to_invalid,
		[MEM_READ] = to_read,
		[MEM_WRITE] = to_write,
	};
	int err = 0;

	mutex_lock(&c->lock);
	if (c->gone || !c->shared)
		err = -EINVAL;
	else if (c->owns != want)
		err = change[want](c);
	if (!err)
		c->owns = want;
	mutex_unlock(&c->lock);
	return err;
}

int mem_cache_clean(struct mem_cache *c)
{
	int err = 0;

	mutex_lock(&c->lock);
	if (!c->gone)
		err = clean_all(c);
	mutex_unlock(&c->lock);
	return err;
}

void mem_cache_end(struct mem_cache *c)
{
	int err;

	mutex_lock(&c->lock);
	err = clean_all(c);
	/* Who had come before the mappings went may have mapped pages since. */
	drop_all(c);
	if (!err && c->shared && c->owns != MEM_INVALID)
		directory_leave(c);
	c->gone = true;
	mutex_unlock(&c->lock);
}

/* ---- faults ---- */

vm_fault_t mem_cache_fault(struct mem_cache *c, struct vm_fault *vmf,
			   unsigned long i)
{
	vm_fault_t ret = VM_FAULT_SIGBUS;

	mutex_lock(&c->lock);
	if (!c->gone && c->owns != MEM_INVALID && i < c->n &&
	    !pages_get(c, i)) {
		lock_page(c->pages[i]);
		get_page(c->pages[i]);
		vmf->page = c->pages[i];
		ret = VM_FAULT_LOCKED;
	}
	mutex_unlock(&c->lock);
	return ret;
}

vm_fault_t mem_cache_mkwrite(struct mem_cache *c, struct vm_fault *vmf,
			     unsigned long i)
{
	vm_fault_t ret = VM_FAULT_SIGBUS;

	mutex_lock(&c->lock);
	if (!c->gone && c->owns == MEM_WRITE && i < c->n) {
		/* It may have gone, and another have come, since it was mapped. */
		ret = VM_FAULT_NOPAGE;
		if (c->pages[i] == vmf->page) {
			__set_bit(i, c->dirty);
			lock_page(vmf->page);
			ret = VM_FAULT_LOCKED;
		}
	}
	mutex_unlock(&c->lock);
	return ret;
}
