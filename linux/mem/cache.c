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
#include <linux/file.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/version.h>

#include "ub_mem.h"

#define AHEAD_LEAST	8u	/* pages */

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
	spin_lock_init(&c->state);
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

static int pages_move(struct mem_cache *c, bool reads, struct page **pages,
		      unsigned long i, unsigned int n)
{
	enum dma_data_direction way = reads ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
	struct device *dma = c->dev->dma;
	dma_addr_t *at = c->moved;
	unsigned int mapped;
	int err = 0;

	for (mapped = 0; mapped < n; mapped++) {
		at[mapped] = dma_map_page(dma, pages[mapped], 0, PAGE_SIZE,
					  way);
		if (dma_mapping_error(dma, at[mapped])) {
			err = -ENOMEM;
			break;
		}
	}
	/* What ends is written back, though its program was killed. */
	if (!err)
		err = mem_move(c->dev, reads, &c->to, (u64)i << PAGE_SHIFT, at,
			       n, c->gone ? NULL : c->asker);
	/* The engine may still reach them: they are nobody's from now on. */
	if (err == -EBUSY) {
		while (mapped--)
			get_page(pages[mapped]);
		return -EIO;
	}
	while (mapped--)
		dma_unmap_page(dma, at[mapped], PAGE_SIZE, way);
	return err;
}

/* Nobody maps them, which are @n in order: the next touch is a fault.  A fault that has
 * found one holds the lock of that page alone until it is mapped. */
static void pages_unmap(struct mem_cache *c, struct page **pages,
			unsigned long i, unsigned int n)
{
	unsigned int k;

	for (k = 0; k < n; k++)
		lock_page(pages[k]);
	mem_unmap(c->dev, c->window + ((u64)i << PAGE_SHIFT),
		  (u64)n << PAGE_SHIFT);
	for (k = 0; k < n; k++)
		unlock_page(pages[k]);
}

/* How many pages to read: for who goes through them in order four times as many as are
 * there in front of it, so that few questions, each of which takes its time whatever it
 * asks for, bring the most of them. */
static unsigned int pages_ahead(const struct mem_cache *c, unsigned long i)
{
	unsigned int before = 0, most = 1, n = 1;

	while (before < MEM_MOVE && before < i && c->pages[i - before - 1])
		before++;
	if (before)
		most = clamp(4 * before, AHEAD_LEAST, MEM_MOVE);
	while (n < most && i + n < c->n && !c->pages[i + n])
		n++;
	return n;
}

/* @n pages are there for whoever touches them, or none. */
static int pages_read(struct mem_cache *c, unsigned long i, unsigned int n)
{
	struct page **pages = c->read;
	unsigned int k;
	int err;

	for (k = 0; k < n; k++) {
		pages[k] = alloc_page(GFP_HIGHUSER | __GFP_ZERO |
				      __GFP_ACCOUNT);
		if (!pages[k])
			break;
	}
	err = k == n ? pages_move(c, true, pages, i, n) : -ENOMEM;
	if (err) {
		while (k--)
			put_page(pages[k]);
		return err;
	}
	spin_lock(&c->state);
	memcpy(c->pages + i, pages, n * sizeof(*pages));
	spin_unlock(&c->state);
	return 0;
}

static int pages_get(struct mem_cache *c, unsigned long i)
{
	unsigned int n = pages_ahead(c, i);
	int err;

	if (c->pages[i])
		return 0;
	err = pages_read(c, i, n);
	/* What is wanted is there perhaps, if what is behind it is not. */
	if (n > 1 && (err == -EIO || err == -ENOMEM))
		err = pages_read(c, i, 1);
	return err;
}

static void drop_all(struct mem_cache *c)
{
	struct page *page;
	unsigned long i;

	for (i = 0; i < c->n; i++) {
		page = c->pages[i];
		if (!page)
			continue;
		spin_lock(&c->state);
		c->pages[i] = NULL;
		__clear_bit(i, c->dirty);
		spin_unlock(&c->state);
		pages_unmap(c, &page, i, 1);
		put_page(page);
		cond_resched();
	}
}

/* Those of @n pages at @i that differ, up to the first that does not, do so no more;
 * how many. */
static unsigned int dirty_take(struct mem_cache *c, unsigned long i,
			       unsigned int n)
{
	unsigned int k;

	spin_lock(&c->state);
	for (k = 0; k < n && test_bit(i + k, c->dirty); k++)
		__clear_bit(i + k, c->dirty);
	spin_unlock(&c->state);
	return k;
}

static void dirty_again(struct mem_cache *c, unsigned long i, unsigned int n)
{
	spin_lock(&c->state);
	bitmap_set(c->dirty, i, n);
	spin_unlock(&c->state);
}

/* Clean: what differs is written back.  It stops at the first that fails, which
 * stay dirty: a peer that is gone costs one time-out.  Who writes meanwhile makes its
 * page differ again. */
static int clean_all(struct mem_cache *c)
{
	unsigned long i = 0;
	unsigned int n;
	int err = 0;

	while (!err && (i = find_next_bit(c->dirty, c->n, i)) < c->n) {
		n = dirty_take(c, i, min_t(unsigned long, MEM_MOVE, c->n - i));
		pages_unmap(c, c->pages + i, i, n);
		err = pages_move(c, false, c->pages + i, i, n);
		if (err)
			dirty_again(c, i, n);
		i += n;
	}
	return err;
}

/* ---- Ownership; with c->lock ---- */

static void owns_set(struct mem_cache *c, enum mem_owns owns)
{
	spin_lock(&c->state);
	c->owns = owns;
	spin_unlock(&c->state);
}

/* From Write: nobody writes any more, and what differed is written back; or all is as
 * before. */
static int write_ends(struct mem_cache *c)
{
	int err;

	owns_set(c, MEM_READ);
	err = clean_all(c);
	if (err)
		owns_set(c, MEM_WRITE);
	return err;
}

static int to_invalid(struct mem_cache *c)
{
	enum mem_owns was = c->owns;
	int err = was == MEM_WRITE ? write_ends(c) : 0;

	if (err)
		return err;
	owns_set(c, MEM_INVALID);
	drop_all(c);
	err = mem_dir_leave(c, was);
	c->unsure = c->unsure && err == -EAGAIN;
	/* It still counts us: the program asks once more.  After EIO it does so perhaps,
	 * and to leave twice could throw others out: the owner reclaims. */
	if (err == -EAGAIN)
		owns_set(c, was);
	return err;
}

static int to_read(struct mem_cache *c)
{
	int err;

	if (c->owns == MEM_INVALID)
		return mem_dir_enter(c, false);
	err = c->owns == MEM_WRITE ? write_ends(c) : 0;
	if (err)
		return err;
	/* Without an answer there are other readers perhaps, and in another epoch others
	 * that write: nobody writes here, whatever comes of it. */
	return mem_dir_swap(c, MEM_DIR_WRITER, 1);
}

static int to_write(struct mem_cache *c)
{
	/* The only reader may become the writer, and what it has is good. */
	return c->owns == MEM_READ ? mem_dir_swap(c, 1, MEM_DIR_WRITER)
				   : mem_dir_enter(c, true);
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
	c->asker = current;
	if (c->gone || !c->shared)
		err = -EINVAL;
	else if (c->owns != want || c->unsure)
		err = change[want](c);
	if (!err)
		owns_set(c, want);
	mutex_unlock(&c->lock);
	return err;
}

int mem_cache_clean(struct mem_cache *c, struct task_struct *asker)
{
	int err = 0;

	mutex_lock(&c->lock);
	c->asker = asker;
	if (!c->gone)
		err = clean_all(c);
	mutex_unlock(&c->lock);
	return err;
}

void mem_cache_end(struct mem_cache *c)
{
	int err;

	mutex_lock(&c->lock);
	if (c->gone)
		goto out;
	spin_lock(&c->state);
	c->gone = true;
	spin_unlock(&c->state);
	err = clean_all(c);
	/* Who had come before the mappings went may have mapped pages since. */
	drop_all(c);
	if (!err && c->shared && c->owns != MEM_INVALID)
		mem_dir_leave(c, c->owns);
out:
	mutex_unlock(&c->lock);
}

/* ---- faults ---- */

static bool may_touch(const struct mem_cache *c, unsigned long i)
{
	return !c->gone && c->owns != MEM_INVALID && i < c->n;
}

/* With a reference, if it is there; *may: it can be. */
static struct page *page_find(struct mem_cache *c, unsigned long i, bool *may)
{
	struct page *page = NULL;

	spin_lock(&c->state);
	*may = may_touch(c, i);
	if (*may && c->pages[i]) {
		page = c->pages[i];
		get_page(page);
	}
	spin_unlock(&c->state);
	return page;
}

/* The one that was found, which is locked; else it is not any more. */
static bool page_kept(struct mem_cache *c, unsigned long i, struct page *page)
{
	bool kept;

	spin_lock(&c->state);
	kept = may_touch(c, i) && c->pages[i] == page;
	spin_unlock(&c->state);
	if (!kept) {
		unlock_page(page);
		put_page(page);
	}
	return kept;
}

/* Asks the peer. */
static int page_fetch(struct mem_cache *c, unsigned long i)
{
	int err;

	if (mutex_lock_killable(&c->lock))
		return -EINTR;
	c->asker = current;
	err = may_touch(c, i) ? pages_get(c, i) : -EIO;
	mutex_unlock(&c->lock);
	return err;
}

/* The same, for the next try of the fault, which is told if there is no page. */
static void page_fetch_for(struct mem_cache *c, unsigned long i)
{
	int err = page_fetch(c, i);

	spin_lock(&c->state);
	mem_try_ended(&c->tries, current, i, err && err != -EINTR);
	spin_unlock(&c->state);
}

/* Whether the try before has asked in vain. */
static bool page_failed(struct mem_cache *c, unsigned long i,
			const struct vm_fault *vmf)
{
	bool failed;

	if (!(vmf->flags & FAULT_FLAG_TRIED))
		return false;
	spin_lock(&c->state);
	failed = mem_try_failed(&c->tries, current, i);
	spin_unlock(&c->state);
	return failed;
}

/* Who must not wait, nor give mmap_lock up. */
static bool fault_hurries(const struct vm_fault *vmf)
{
	const unsigned int both = FAULT_FLAG_ALLOW_RETRY |
				  FAULT_FLAG_RETRY_NOWAIT;

	return (vmf->flags & both) == both;
}

/* Gives mmap_lock up, if the fault may be tried again; the file keeps all of ours
 * that the mapping, which may go meanwhile, has kept. */
static struct file *fault_let_go(struct vm_fault *vmf)
{
	struct file *file;

	if (!(vmf->flags & FAULT_FLAG_ALLOW_RETRY))
		return NULL;
	file = get_file(vmf->vma->vm_file);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	release_fault_lock(vmf);
#else
	mmap_read_unlock(vmf->vma->vm_mm);
#endif
	return file;
}

vm_fault_t mem_cache_fault(struct mem_cache *c, struct vm_fault *vmf,
			   unsigned long i)
{
	struct page *page;
	struct file *file;
	bool may;

	for (;;) {
		page = page_find(c, i, &may);
		if (!may)
			return VM_FAULT_SIGBUS;
		if (page && fault_hurries(vmf) && !trylock_page(page)) {
			put_page(page);
			return VM_FAULT_RETRY;
		}
		if (page) {
			if (!fault_hurries(vmf))
				lock_page(page);
			if (!page_kept(c, i, page))
				continue;
			vmf->page = page;
			return VM_FAULT_LOCKED;
		}
		if (page_failed(c, i, vmf))
			return VM_FAULT_SIGBUS;
		if (fault_hurries(vmf))
			return VM_FAULT_RETRY;
		file = fault_let_go(vmf);
		if (file) {
			page_fetch_for(c, i);
			fput(file);
			/* So the next one knows that there was another. */
			return VM_FAULT_MAJOR | VM_FAULT_RETRY;
		}
		if (page_fetch(c, i))
			return VM_FAULT_SIGBUS;
	}
}

vm_fault_t mem_cache_mkwrite(struct mem_cache *c, struct vm_fault *vmf,
			     unsigned long i)
{
	vm_fault_t ret = VM_FAULT_SIGBUS;

	/* Until it is mapped, Clean waits for the lock of the page. */
	lock_page(vmf->page);
	spin_lock(&c->state);
	if (may_touch(c, i) && c->owns == MEM_WRITE) {
		/* It may have gone, and another have come, since it was mapped. */
		ret = VM_FAULT_NOPAGE;
		if (c->pages[i] == vmf->page) {
			__set_bit(i, c->dirty);
			ret = VM_FAULT_LOCKED;
		}
	}
	spin_unlock(&c->state);
	if (ret != VM_FAULT_LOCKED)
		unlock_page(vmf->page);
	return ret;
}
