/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UB memory, directory.c: who owns a segment that nodes share (UB 2.0 §8.2.6).
 * For ub_mem.h, behind what of the kernel it needs, and for unit tests, behind what
 * stands for that.
 */
#ifndef MEM_DIRECTORY_H
#define MEM_DIRECTORY_H

struct mem_cache;

/* In front of a segment that nodes share are 4 KiB, whatever a page is here, with the
 * directory: a word with the number of readers, or that there is a writer, and the
 * epoch, another one each time that the owner of the memory has reclaimed it: who
 * owned something before does not leave what others own since. */
#define MEM_DIR_BYTES	4096
#define MEM_DIR_WRITER	(1ull << 63)
#define MEM_DIR_READERS	0xffffffffull
#define MEM_DIR_EPOCH	(~(MEM_DIR_WRITER | MEM_DIR_READERS))
#define MEM_DIR_EPOCH_1	(1ull << 32)

enum mem_owns { MEM_INVALID, MEM_READ, MEM_WRITE };

/* With the lock of the cache. */

/* Who owns something owns something else: 0; -EAGAIN: others do; -EIO: perhaps, until
 * a later change tells. */
int mem_dir_swap(struct mem_cache *c, u64 from, u64 to);
/* The same of a writer, who is alone, or one reader more; in the epoch that it is now. */
int mem_dir_enter(struct mem_cache *c, bool writes);
/* No writer, or one reader less.  What was reclaimed cannot be left, and needs not.
 * -EAGAIN: it still counts us; -EIO: perhaps. */
int mem_dir_leave(struct mem_cache *c, enum mem_owns owns);

#endif
