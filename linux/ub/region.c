// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB controllers: memory of a program that is pinned, and that addresses of the
 * UMMU lead to.
 */
#include <linux/dma-mapping.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "ub_engine.h"

#define PAGES_MAX	(1ul << 22)
#define UNIT		4096	/* of the translation tables */

/* Against the limit of locked memory, as of other pinned memory. */
static int account(struct ub_region *r, unsigned long n)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	u64 all = atomic64_add_return(n, &current->mm->pinned_vm);

	if (all > limit && !capable(CAP_IPC_LOCK)) {
		atomic64_sub(n, &current->mm->pinned_vm);
		return -ENOMEM;
	}
	r->mm = current->mm;
	mmgrab(r->mm);
	r->accounted = n;
	return 0;
}

static void unpin(struct ub_region *r)
{
	if (r->n)
		unpin_user_pages_dirty_lock(r->pages, r->n, true);
	kvfree(r->pages);
	if (r->mm) {
		atomic64_sub(r->accounted, &r->mm->pinned_vm);
		mmdrop(r->mm);
	}
}

static int pin(struct ub_region *r)
{
	u64 first = r->va & PAGE_MASK;
	unsigned long n = (PAGE_ALIGN(r->va + r->len) - first) >> PAGE_SHIFT;
	long got;
	int err;

	if (n > PAGES_MAX)
		return -ENOMEM;
	err = account(r, n);
	if (err)
		return err;
	r->pages = kvcalloc(n, sizeof(*r->pages), GFP_KERNEL_ACCOUNT);
	if (!r->pages)
		return -ENOMEM;
	while (r->n < n) {
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		got = pin_user_pages_fast(first + (r->n << PAGE_SHIFT),
					  min_t(unsigned long, n - r->n, 1024),
					  FOLL_WRITE | FOLL_LONGTERM,
					  r->pages + r->n);
		if (got <= 0)
			return got ? got : -EFAULT;
		r->n += got;
	}
	return 0;
}

static void unmap(struct ub_core *core, struct ub_region *r)
{
	u64 uba = r->uba;

	for (; r->mapped; r->mapped--, uba += UNIT) {
		ub_space_unmap(core, r->space, uba);
		cond_resched();
	}
	/* Not before the engine has forgotten them are the pages given back. */
	ub_ummu_flush(core);
	if (r->sgt.sgl) {
		dma_unmap_sgtable(&core->pdev->dev, &r->sgt, DMA_BIDIRECTIONAL,
				  DMA_ATTR_SKIP_CPU_SYNC);
		sg_free_table(&r->sgt);
	}
}

/* Program and device share the memory as long as it is mapped, and it may be mapped
 * more than once: nobody copies it, nor synchronises caches, now or later. */
static int map(struct ub_core *core, struct ub_region *r)
{
	struct device *dev = &core->pdev->dev;
	struct sg_dma_page_iter it;
	u64 uba = r->uba;
	unsigned int off;
	int err;

	err = sg_alloc_table_from_pages(&r->sgt, r->pages, r->n, 0,
					r->n << PAGE_SHIFT, GFP_KERNEL);
	if (err)
		return err;
	err = dma_map_sgtable(dev, &r->sgt, DMA_BIDIRECTIONAL,
			      DMA_ATTR_SKIP_CPU_SYNC);
	if (err) {
		sg_free_table(&r->sgt);
		return err;
	}
	for_each_sgtable_dma_page(&r->sgt, &it, 0) {
		dma_addr_t page = sg_page_iter_dma_address(&it);

		/* A copy, or memory that the device does not see as it is. */
		if (dma_need_sync(dev, page))
			return -EOPNOTSUPP;
		for (off = 0; off < PAGE_SIZE; off += UNIT) {
			err = ub_space_map(core, r->space, uba, page + off);
			if (err)
				return err;
			r->mapped++;
			uba += UNIT;
		}
		cond_resched();
	}
	return 0;
}

int ub_region_pin(struct ub_region *r, u64 va, u64 len)
{
	r->va = va;
	r->len = len;
	if (!len || len > (u64)PAGES_MAX << PAGE_SHIFT || va + len < va)
		return -EINVAL;
	return pin(r);
}
EXPORT_SYMBOL_GPL(ub_region_pin);

int ub_region_map(struct ub_core *core, struct ub_region *r,
		  struct ub_space *space, u64 uba)
{
	r->space = space;
	r->uba = uba;
	return map(core, r);
}
EXPORT_SYMBOL_GPL(ub_region_map);

void ub_region_unmap(struct ub_core *core, struct ub_region *r)
{
	if (r->space)
		unmap(core, r);
	r->space = NULL;
}
EXPORT_SYMBOL_GPL(ub_region_unmap);

int ub_region_begin(struct ub_core *core, struct ub_region *r, u64 va, u64 len,
		    struct ub_space *space, u64 uba)
{
	int err = ub_region_pin(r, va, len);

	return err ? err : ub_region_map(core, r, space, uba);
}
EXPORT_SYMBOL_GPL(ub_region_begin);

void ub_region_end(struct ub_core *core, struct ub_region *r)
{
	ub_region_unmap(core, r);
	unpin(r);
	memset(r, 0, sizeof(*r));
}
EXPORT_SYMBOL_GPL(ub_region_end);
