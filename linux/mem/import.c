// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB memory: peers' memory in the window.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/version.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
#include <linux/hex.h>
#endif

#include "ub_mem.h"

#define SUB_SHIFT	16

/* ---- ways ---- */

static struct mem_dest *dest_new(struct mem_dev *dev, const u8 eid[16],
				 u32 carrier, const struct ub_place *place,
				 struct ub_channel *channel)
{
	struct mem_dest *d = kzalloc(sizeof(*d), GFP_KERNEL);
	int err;

	if (!d)
		return ERR_PTR(-ENOMEM);
	mutex_init(&d->slot);
	d->way.carrier = carrier;
	d->way.place = *place;
	memcpy(d->way.eid, eid, sizeof(d->way.eid));
	d->way.channel = channel;
	err = ub_dest_add(&dev->dests, &d->way);
	if (err) {
		kfree(d);
		return ERR_PTR(err);
	}
	d->queue = mem_queue_get(dev);
	return d;
}

static struct mem_dest *dest_get(struct mem_dev *dev, const u8 eid[16],
				 u32 carrier)
{
	struct ub_channel *channel = NULL;
	struct ub_dest *way;
	struct mem_dest *d;
	struct ub_place place = { };
	int err = ub_eid_cna(dev->core, eid, &place.cna);

	if (err)
		return ERR_PTR(err);
	if (carrier == UB_RTP)
		channel = ub_channel_get(&dev->dests, &place);
	if (IS_ERR(channel))
		return ERR_CAST(channel);
	mutex_lock(&dev->dests.lock);
	way = ub_dest_get(&dev->dests, eid, carrier, &place);
	d = way ? container_of(way, struct mem_dest, way)
		: dest_new(dev, eid, carrier, &place, channel);
	/* A row that was there has it already. */
	if (way || IS_ERR(d))
		ub_channel_put(channel);
	mutex_unlock(&dev->dests.lock);
	return d;
}

static void dest_put(struct mem_dev *dev, struct mem_dest *d)
{
	mutex_lock(&dev->dests.lock);
	if (ub_dest_put(&dev->dests, &d->way)) {
		mem_queue_put(d->queue);
		kfree(d);
	}
	mutex_unlock(&dev->dests.lock);
}

/* ---- imports ---- */

struct mem_import *mem_import_at(struct mem_dev *dev, unsigned int mib)
{
	return xa_load(&dev->imports, mib);
}

/* From the command's words: what is wanted. */
struct wish {
	u8 eid[16];
	u64 len;
	u32 carrier;
	bool cached, shared;
	struct mem_target to;
};

static const struct {
	const char *word;
	u32 carriers, order;	/* carriers: a bit of one */
	bool cached, shared;
} options[] = {
	{ "ctp", .carriers = BIT(UB_CTP) },
	{ "rtp", .carriers = BIT(UB_RTP) },
	{ "bypass", .carriers = BIT(UB_BYPASS) },
	{ "relaxed", .order = 1 },
	{ "strong", .order = 2 },
	{ "cached", .cached = true },
	{ "shared", .cached = true, .shared = true },
};

static int option_get(const char *word, struct wish *w)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(options); i++)
		if (!strcmp(word, options[i].word)) {
			if (options[i].carriers)
				w->carrier = __ffs(options[i].carriers);
			w->to.order = options[i].order ?: w->to.order;
			w->cached |= options[i].cached;
			w->shared |= options[i].shared;
			return 0;
		}
	return -EINVAL;
}

static int wish_get(unsigned int argc, char **argv, struct wish *w)
{
	unsigned int i;
	int err = 0;

	if (argc < 6 || strlen(argv[1]) != 32 || hex2bin(w->eid, argv[1], 16) ||
	    kstrtou32(argv[2], 0, &w->to.token_id) ||
	    kstrtou64(argv[3], 0, &w->to.uba) || kstrtou64(argv[4], 0, &w->len))
		return -EINVAL;
	w->to.check = strcmp(argv[5], "-");
	if (w->to.check && kstrtou32(argv[5], 0, &w->to.value))
		return -EINVAL;
	w->carrier = UB_CTP;
	for (i = 6; !err && i < argc; i++)
		err = option_get(argv[i], w);
	return err || w->to.token_id >> 20 || !w->len ||
	       !PAGE_ALIGNED(w->to.uba | w->len) || w->to.uba >> 48 ||
	       w->len >> UB_LDS_PA_BITS ||
	       (w->shared && w->to.uba < MEM_DIR_BYTES) ? -EINVAL : 0;
}

/* Faults and events find it from now on, or not any more. */
static int import_show(struct mem_dev *dev, struct mem_import *im, bool there)
{
	unsigned int i;
	int err = 0;

	down_write(&dev->map);
	for (i = 0; !err && i < im->mibs; i++)
		if (there)
			err = xa_err(xa_store_irq(&dev->imports, im->first + i,
						  im, GFP_KERNEL));
		else
			xa_erase_irq(&dev->imports, im->first + i);
	/* Who looks at an event has event_lock, not that of the array. */
	spin_lock_irq(&dev->decoder.event_lock);
	spin_unlock_irq(&dev->decoder.event_lock);
	up_write(&dev->map);
	return err;
}

static void import_hide(struct mem_import *im)
{
	struct mem_dev *dev = im->file->dev;

	down_write(&dev->map);
	im->id = 0;		/* no more faults */
	up_write(&dev->map);
	mem_unmap(dev, im->first * MEM_MIB, im->mibs * MEM_MIB);
}

/* One that is hidden. */
static void import_free(struct mem_import *im)
{
	struct mem_dev *dev = im->file->dev;

	list_del(&im->list);
	mem_window_clear(dev, im->first, im->mibs);
	import_show(dev, im, false);
	mem_window_put(dev, im->first, im->mibs);
	dest_put(dev, im->dest);
	mem_cache_put(im->cache);
	kfree(im);
}

static void import_end(struct mem_import *im)
{
	import_hide(im);
	if (im->cache)
		mem_cache_end(im->cache);
	import_free(im);
}

/* ---- all that a file has cached ----
 *
 * Each peer is asked by itself, so that who waits for many that are silent does so as
 * long as for one of them.
 */

static void cached_do(struct work_struct *work)
{
	struct mem_import *im = container_of(work, struct mem_import, work);

	if (im->asker)
		im->err = mem_cache_clean(im->cache, im->asker);
	else
		mem_cache_end(im->cache);
}

/* Somebody else does it, but for one, which is given back, or NULL. */
static struct mem_import *cached_begin(struct mem_file *f,
				       struct task_struct *asker)
{
	struct mem_import *im, *last = NULL;

	list_for_each_entry(im, &f->imports, list)
		if (im->cache) {
			im->asker = asker;
			im->err = 0;
			if (last)
				queue_work(f->dev->works, &last->work);
			last = im;
		}
	return last;
}

/* All are done, which have begun: the first error. */
static int cached_wait(struct mem_file *f)
{
	struct mem_import *im;
	int err = 0;

	list_for_each_entry(im, &f->imports, list)
		if (im->cache) {
			flush_work(&im->work);
			err = err ?: im->err;
		}
	return err;
}

static int cached_all(struct mem_file *f, struct task_struct *asker)
{
	struct mem_import *last = cached_begin(f, asker);

	if (last)
		cached_do(&last->work);
	return cached_wait(f);
}

void mem_imports_leave(struct mem_file *f)
{
	struct mem_import *last, *im;

	list_for_each_entry(im, &f->imports, list)
		import_hide(im);
	last = cached_begin(f, NULL);
	if (last)
		queue_work(f->dev->works, &last->work);
}

static int import_begin(struct mem_file *f, struct mem_import *im,
			const struct wish *w)
{
	int err;

	im->mibs = DIV_ROUND_UP_ULL(w->len, MEM_MIB);
	im->dest = dest_get(f->dev, w->eid, w->carrier);
	if (IS_ERR(im->dest))
		return PTR_ERR(im->dest);
	err = mem_window_get(f->dev, im->mibs);
	if (err < 0) {
		dest_put(f->dev, im->dest);
		return err;
	}
	im->first = err;
	return 0;
}

/* The window leads to the segment, or to the directory of one that is shared. */
static int import_set(struct mem_dev *dev, struct mem_import *im,
		      struct wish *w)
{
	w->to.row = im->dest->way.row;
	w->to.dest = im->dest;
	if (w->cached) {
		im->cache = mem_cache_new(dev, im->first * MEM_MIB, im->len,
					  &w->to, w->shared);
		if (!im->cache)
			return -ENOMEM;
	}
	if (w->shared)
		w->to.uba -= MEM_DIR_BYTES;
	return mem_window_set(dev, im->first, im->mibs, &w->to);
}

/* import EID TOKENID UBA BYTES TOKEN [ctp|rtp|bypass] [relaxed|strong]
 * [cached|shared] */
int mem_import(struct mem_file *f, unsigned int argc, char **argv)
{
	struct wish w = { };
	struct mem_import *im;
	int err = wish_get(argc, argv, &w);

	if (err)
		return err;
	if (f->dev->decoder.managed)
		return -EPERM;
	im = kzalloc(sizeof(*im), GFP_KERNEL_ACCOUNT);
	if (!im)
		return -ENOMEM;
	im->file = f;
	im->len = w.len;
	INIT_WORK(&im->work, cached_do);
	err = import_begin(f, im, &w);
	if (err) {
		kfree(im);
		return err;
	}
	do
		im->id = atomic_inc_return(&f->dev->last_id);
	while (!im->id);
	list_add_tail(&im->list, &f->imports);
	err = import_set(f->dev, im, &w);
	if (!err)
		err = import_show(f->dev, im, true);
	if (err) {
		import_end(im);
		return err;
	}
	mem_answer(f, "%#llx %#llx\n", im->first * MEM_MIB, im->len);
	return 0;
}

/* The import that begins at an offset, for commands. */
static struct mem_import *import_of(struct mem_file *f, const char *offset)
{
	struct mem_import *im;
	u64 at;

	if (kstrtou64(offset, 0, &at))
		return NULL;
	list_for_each_entry(im, &f->imports, list)
		if (im->first * MEM_MIB == at)
			return im;
	return NULL;
}

int mem_unimport(struct mem_file *f, unsigned int argc, char **argv)
{
	struct mem_import *im = argc == 2 ? import_of(f, argv[1]) : NULL;

	if (!im)
		return -EINVAL;
	import_end(im);
	return 0;
}

/* own OFFSET invalid|read|write */
int mem_own(struct mem_file *f, unsigned int argc, char **argv)
{
	static const char *const names[] = {
		[MEM_INVALID] = "invalid",
		[MEM_READ] = "read",
		[MEM_WRITE] = "write",
	};
	struct mem_import *im = argc == 3 ? import_of(f, argv[1]) : NULL;
	int want;

	if (!im || !im->cache)
		return -EINVAL;
	want = match_string(names, ARRAY_SIZE(names), argv[2]);
	return want < 0 ? want : mem_cache_own(im->cache, want);
}

int mem_imports_sync(struct mem_file *f)
{
	/* What one peer does not take keeps nothing from the others. */
	int err = cached_all(f, current), one;
	struct mem_import *im;

	list_for_each_entry(im, &f->imports, list) {
		one = im->cache ? 0 : mem_window_done(f->dev, im->first,
						      im->mibs, true);
		err = err ?: one;
	}
	return err;
}

/* status OFFSET: failed loads and stores, the last event and its status */
int mem_status(struct mem_file *f, unsigned int argc, char **argv)
{
	struct mem_import *im = argc == 2 ? import_of(f, argv[1]) : NULL;
	u64 loads, stores;
	u32 event, status;
	int err;

	if (!im)
		return -EINVAL;
	err = mem_window_done(f->dev, im->first, im->mibs, true);
	if (err)
		return err;
	spin_lock_irq(&f->dev->decoder.event_lock);
	loads = im->failed_loads;
	stores = im->failed_stores;
	event = im->last_event;
	status = im->last_status;
	spin_unlock_irq(&f->dev->decoder.event_lock);
	mem_answer(f, "%llu %llu %#x %#x\n", loads, stores, event, status);
	return 0;
}

bool mem_imports_failed(struct mem_file *f)
{
	struct mem_decoder *d = &f->dev->decoder;
	struct mem_import *im;
	bool failed;
	u64 text;

	spin_lock_irq(&d->event_lock);
	text = f->dev->text.failed_stores;
	failed = f->told_lost != d->lost;
	f->told_lost = d->lost;
	failed |= (f->maps_text || d->managed) && f->told_text != text;
	f->told_text = text;
	list_for_each_entry(im, &f->imports, list) {
		failed |= im->told_stores != im->failed_stores;
		im->told_stores = im->failed_stores;
	}
	spin_unlock_irq(&d->event_lock);
	return failed;
}

void mem_imports_end(struct mem_file *f)
{
	struct mem_import *im, *next;

	list_for_each_entry(im, &f->imports, list)
		import_hide(im);
	cached_all(f, NULL);
	list_for_each_entry_safe(im, next, &f->imports, list)
		import_free(im);
}

/* ---- atomics ---- */

static const struct {
	const char *name;
	u32 opcode;
	unsigned int operands;
} atomics[] = {
	{ "cas", 0x07, 2 },
	{ "swap", 0x08, 1 },
	{ "add", 0x0b, 1 },
	{ "sub", 0x0c, 1 },
	{ "and", 0x0d, 1 },
	{ "or", 0x0e, 1 },
	{ "xor", 0x0f, 1 },
	{ "smax", 0x0a | 4 << SUB_SHIFT, 1 },
	{ "smin", 0x0a | 5 << SUB_SHIFT, 1 },
	{ "umax", 0x0a | 6 << SUB_SHIFT, 1 },
	{ "umin", 0x0a | 7 << SUB_SHIFT, 1 },
};

/* The import that has the bytes at an offset of the window, or NULL. */
static struct mem_import *import_with(struct mem_file *f, u64 at,
				      unsigned int bytes)
{
	struct mem_import *im;

	list_for_each_entry(im, &f->imports, list)
		if (!im->cache && at >= im->first * MEM_MIB &&
		    at - im->first * MEM_MIB <= im->len - bytes)
			return im;
	return NULL;
}

/* atomic OFFSET OPERATION BYTES OPERAND [OPERAND]: what was there */
int mem_atomic(struct mem_file *f, unsigned int argc, char **argv)
{
	u64 at, a, b = 0, old = 0;
	struct mem_import *im;
	unsigned int i, bytes;
	int err;

	if (argc < 5 || argc > 6 || kstrtou64(argv[1], 0, &at) ||
	    kstrtouint(argv[3], 0, &bytes) || !bytes || bytes > 8 ||
	    !is_power_of_2(bytes) || !IS_ALIGNED(at, bytes) ||
	    kstrtou64(argv[4], 0, &a) ||
	    (argc > 5 && kstrtou64(argv[5], 0, &b)))
		return -EINVAL;
	im = import_with(f, at, bytes);
	for (i = 0; i < ARRAY_SIZE(atomics); i++)
		if (!strcmp(argv[2], atomics[i].name) &&
		    argc == 4 + atomics[i].operands)
			break;
	if (!im || i == ARRAY_SIZE(atomics))
		return -EINVAL;
	err = mem_slot(f->dev, im->dest, at, atomics[i].opcode, bytes,
		       &a, &b, &old);
	if (err)
		return err;
	mem_answer(f, "%#llx\n", old & (~0ull >> (64 - 8 * bytes)));
	return 0;
}
