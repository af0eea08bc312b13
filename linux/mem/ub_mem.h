/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of other nodes for programs, and theirs for other nodes (UB 2.0 §8.2.1,
 * §8.3): /dev/ubmemN.  Interface: docs/specs/ub-mem.rst.
 *
 * An open file has exports, pieces of its program's memory with a TokenID each, and
 * imports, pieces of the window (BAR4) that lead to a peer's memory.  An import is
 * known by where it is in the window, in whole MiB; so offsets of mappings say which
 * one is meant, and all mappings of a device can be taken away by ranges.
 *
 * Locks, outer first: mem_dev.life (commands read it, the end of the device writes
 * it), mem_file.lock, mmap_lock, mem_dev.map (page faults read it, imports that come
 * and go write it); mem_cache.lock, page locks; that of mem_dev.dests, those of queue,
 * mem_dest.slot, mem_decoder.slots, decoder and ub_core.  The spinlocks of events and of caches are innermost.  A page
 * fault that asks a peer gives mmap_lock up before, if it may.  mem_dev.mapped is within
 * all but the spinlocks.
 */
#ifndef UB_MEM_H
#define UB_MEM_H

#include <linux/bitmap.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/path.h>
#include <linux/rwsem.h>
#include <linux/semaphore.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "tries.h"
#include "ub_engine.h"
#include "ub/lds_hw.h"

#define MEM_TEXT	256	/* bytes of a command, or an answer */

struct mem_dev;
struct mem_file;

#include "decoder.h"
#include "queue.h"
#include "directory.h"

/* ---- cache.c: cached imports ---- */

/* What lasts, as asking the peer, is done with lock alone, so that a page fault that
 * has its page waits for nobody. */
struct mem_cache {
	struct kref ref;
	struct mutex lock;	/* who changes something below, with state, … */
	spinlock_t state;	/* … and who looks at it has either */
	struct mem_dev *dev;
	struct mem_target to;
	u64 window;		/* its offset; the directory is there, if shared */
	bool shared, gone;
	bool unsure;		/* a change of the directory had no answer */
	enum mem_owns owns;
	unsigned long n;
	struct page **pages;
	unsigned long *dirty;
	struct mem_tries tries;	/* with state: faults whose next try is the last */
	u64 epoch;		/* of the directory, as it was entered last */
	struct task_struct *asker; /* with lock: for whom it asks the peer */
	struct page *read[MEM_MOVE];	/* with lock: pages that come, … */
	dma_addr_t moved[MEM_MOVE];	/* … that are moved */
};

struct mem_cache *mem_cache_new(struct mem_dev *dev, u64 window, u64 len,
				const struct mem_target *to, bool shared);
void mem_cache_put(struct mem_cache *c);
/* 0; -EAGAIN: other nodes own what forbids it; -EIO. */
int mem_cache_own(struct mem_cache *c, enum mem_owns want);
/* For @asker, who waits for it. */
int mem_cache_clean(struct mem_cache *c, struct task_struct *asker);
/* What differs is written back, and nothing can be touched any more. */
void mem_cache_end(struct mem_cache *c);
vm_fault_t mem_cache_fault(struct mem_cache *c, struct vm_fault *vmf,
			   unsigned long i);
vm_fault_t mem_cache_mkwrite(struct mem_cache *c, struct vm_fault *vmf,
			     unsigned long i);

/* ---- objects ---- */

struct mem_export {
	struct list_head list;	/* of the file's */
	struct ub_space space;
	struct ub_region region;
	struct ub_grant grant;
	u32 token_id;
	void *directory;	/* of one that is shared */
	dma_addr_t directory_dma;
};

/* A way to a peer, shared by all imports that take it. */
struct mem_dest {
	struct ub_dest way;
	struct mutex slot;		/* a command at a time */
	unsigned int vain;		/* with it: commands that had no answer */
	struct mem_queue *queue;	/* that moves its pages */
	bool silent;		/* with the lock of queue: it has not answered, and … */
	unsigned long silent_end;	/* … is not asked again before */
};

struct mem_import {
	struct list_head list;	/* of the file's */
	struct mem_file *file;
	struct mem_dest *dest;
	struct mem_cache *cache;	/* NULL: it is the window */
	/* Of what asks the peers of all cached imports of a file at once: */
	struct work_struct work;
	struct task_struct *asker;	/* who waits for it; NULL: the import ends */
	int err;
	u64 len;
	unsigned int first, mibs;	/* of the window */
	u32 id;			/* another one for each */
	/* Under event_lock: */
	u64 failed_loads, failed_stores, told_stores;
	u32 last_event, last_status;
};

/* An open file; or, one of each device, what is exported and imported by text in sysfs,
 * which is not in the list. */
struct mem_file {
	struct list_head list;	/* of the device's */
	struct mem_dev *dev;
	struct mutex lock;	/* commands, one at a time */
	bool dead;		/* it has ended; under life, and map for faults */
	bool maps_text;		/* it has mapped what was imported in sysfs */
	struct list_head exports, imports;
	u64 failed_stores;	/* of all its imports, so far */
	u64 told_lost, told_text;
	size_t len;		/* of the last answer */
	char answer[MEM_TEXT];
};

/* Commands: @argv[0] is the name; they put the answer into the file. */
int mem_export(struct mem_file *f, unsigned int argc, char **argv);
int mem_unexport(struct mem_file *f, unsigned int argc, char **argv);
int mem_rotate(struct mem_file *f, unsigned int argc, char **argv);
int mem_settle(struct mem_file *f, unsigned int argc, char **argv);
int mem_import(struct mem_file *f, unsigned int argc, char **argv);
int mem_unimport(struct mem_file *f, unsigned int argc, char **argv);
int mem_atomic(struct mem_file *f, unsigned int argc, char **argv);
int mem_own(struct mem_file *f, unsigned int argc, char **argv);
int mem_reclaim(struct mem_file *f, unsigned int argc, char **argv);
int mem_status(struct mem_file *f, unsigned int argc, char **argv);

__printf(2, 3) void mem_answer(struct mem_file *f, const char *format, ...);

/* Ends; nobody else has the file. */
void mem_exports_end(struct mem_file *f);
/* The descriptor of an export as text, with the end of a line. */
int mem_export_text(struct mem_file *f, const struct mem_export *ex, u32 value,
		    char *to, size_t size);
void mem_imports_end(struct mem_file *f);
/* Programs touch nothing of what will end any more, and peers are asked to take back what is
 * cached of it, so that many files end in the time of one. */
void mem_imports_leave(struct mem_file *f);
/* With event_lock: the import that has a MiB of the window, or NULL. */
struct mem_import *mem_import_at(struct mem_dev *dev, unsigned int mib);
/* Clean all that the file has cached, and all accesses by its imports are done; the first
 * error. */
int mem_imports_sync(struct mem_file *f);
/* Stores by the file's imports, or by those of sysfs if it maps any, have failed since it
 * was asked last. */
bool mem_imports_failed(struct mem_file *f);

/* ---- file.c, map.c ---- */

extern const struct file_operations mem_fops;
void mem_file_init(struct mem_file *f, struct mem_dev *dev);
/* A line of words, which is changed. */
int mem_command(struct mem_file *f, char *text);
/* With the device and the file locked, which is there: 0 or an error. */
int mem_file_lock(struct mem_file *f);
/* No more commands, no more mappings; under life for writing or at close. */
void mem_file_end(struct mem_file *f);
int mem_mmap(struct file *file, struct vm_area_struct *vma);
/* A command lets others in while it does what may last as long as a program likes;
 * afterwards it has the locks again, and 0 or -ENODEV. */
void mem_file_unlock(struct mem_file *f);
int mem_file_relock(struct mem_file *f);
/* What of [@from, @from + @len) of the window is mapped goes. */
void mem_unmap(struct mem_dev *dev, u64 from, u64 len);

/* ---- text.c: export and import in sysfs ---- */

extern const struct attribute_group mem_text_group;
/* mem_imports_sync() of imports that were made there; for who has locked another file. */
int mem_text_sync(struct mem_dev *dev);

/* ---- main.c: the device ---- */

struct mem_dev {
	struct kref kref;
	struct ub_core *core;
	struct device *dma;
	struct miscdevice misc;
	char name[16];
	int id;
	struct rw_semaphore life, map;
	bool gone, stopped;	/* under life */
	struct mutex files_lock;
	struct list_head files;
	struct mem_file text;
	struct path path;	/* of the first of them, … */
	struct inode *inode;	/* whose mappings are all ours; with … */
	struct rw_semaphore mapped; /* … this */
	struct mem_decoder decoder;
	int page;		/* of doorbells; -1: none */
	u8 __iomem *bells;
	struct mem_eq eq;	/* of completions of queues */
	struct mem_queue queues[MEM_QUEUES];
	struct ub_dests dests;
	struct workqueue_struct *works; /* of cached imports: each may wait for a peer */
	struct xarray imports;	/* by MiB of the window */
	atomic_t exports, last_id;
	atomic64_t failed;
	atomic64_t spared;	/* moves that did not wait for a silent peer */
};

void mem_dev_get(struct mem_dev *dev);
void mem_dev_put(struct mem_dev *dev);

#endif
