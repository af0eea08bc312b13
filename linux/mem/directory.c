// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB memory: the directory of a segment that several nodes cache (UB 2.0 §8.2.6): a word
 * in the owner's memory, which nodes change by atomics.  All with the lock of the cache.
 */
#include <linux/sched/signal.h>

#include "ub_mem.h"

#define OP_CAS		0x07
#define TRIES		64

static int directory(struct mem_cache *c, u32 opcode, u64 a, u64 b, u64 *old)
{
	return mem_slot(c->dev, c->to.dest, c->window, opcode, sizeof(u64), &a,
			&b, old);
}

/* The directory says that we own something, of which it was not known whether it had
 * heard: nobody else can, as long as it is we who do. */
static bool swapped_before(const struct mem_cache *c, u64 old, u64 to)
{
	if (!c->unsure || (old & MEM_DIR_EPOCH) != c->epoch)
		return false;
	return to == MEM_DIR_WRITER ? old & MEM_DIR_WRITER
				    : old & MEM_DIR_READERS &&
				      !(old & MEM_DIR_WRITER);
}

/* Who owns something owns something else, or -EAGAIN: others do. */
int mem_dir_swap(struct mem_cache *c, u64 from, u64 to)
{
	u64 old;
	int err = directory(c, OP_CAS, c->epoch | from, c->epoch | to, &old);

	if (err) {
		c->unsure = true;
		return err;
	}
	if (old != (c->epoch | from) && !swapped_before(c, old, to))
		return -EAGAIN;
	c->unsure = false;
	return 0;
}

/* A writer, who is alone, or one reader more; in the epoch that it is now. */
int mem_dir_enter(struct mem_cache *c, bool writes)
{
	unsigned long end = jiffies + 20 * HZ;
	u64 guess = c->epoch, old;
	unsigned int tries;
	int err;

	for (tries = 0; tries < TRIES; tries++) {
		/* The owner may answer as late, and as often otherwise, as it likes. */
		if (fatal_signal_pending(current) || time_after(jiffies, end))
			break;
		err = directory(c, OP_CAS, guess,
				writes ? guess | MEM_DIR_WRITER : guess + 1,
				&old);
		if (err)
			return err;
		if (old == guess) {
			c->epoch = guess & MEM_DIR_EPOCH;
			return 0;
		}
		if (old & MEM_DIR_WRITER || (writes && old & MEM_DIR_READERS) ||
		    (old & MEM_DIR_READERS) == MEM_DIR_READERS)
			return -EAGAIN;
		guess = old;
	}
	return -EAGAIN;
}

/* No writer, or one reader less.  What was reclaimed cannot be left, and needs not.  A
 * reader that finds a writer is that itself, if it is unsure. */
int mem_dir_leave(struct mem_cache *c, enum mem_owns owns)
{
	u64 guess = c->epoch | (owns == MEM_WRITE ? MEM_DIR_WRITER : 1), old;
	unsigned long end = jiffies + 20 * HZ;
	unsigned int tries;
	int err;

	/* Only readers meet others that come and go, each of which costs one of them a
	 * try; what the owner answers is not to be trusted. */
	for (tries = 0; tries < TRIES && !time_after(jiffies, end); tries++) {
		err = directory(c, OP_CAS, guess,
				guess & MEM_DIR_WRITER ? c->epoch : guess - 1,
				&old);
		if (err || old == guess)
			return err;
		if ((old & MEM_DIR_EPOCH) != c->epoch || owns == MEM_WRITE ||
		    (old & MEM_DIR_WRITER ? !c->unsure
					  : !(old & MEM_DIR_READERS)))
			return 0;
		guess = old;
	}
	return -EAGAIN;
}
