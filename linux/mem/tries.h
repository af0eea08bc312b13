/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UB memory: page faults that have asked the peer in vain.
 *
 * A fault that asks gives mmap_lock up, and can say what became of it by its next try
 * alone.  Until then it is noted here, by who asked for which page: another one's, of
 * another thread or by another mapping, asks for itself.  Whoever never comes back, as
 * it was killed or has a signal to handle, makes room for later ones; a fault that is
 * not noted any more asks once more.
 */
#ifndef MEM_TRIES_H
#define MEM_TRIES_H

#define MEM_TRIES	32

struct mem_tries {
	struct {
		const void *who;	/* NULL: free */
		unsigned long page;
	} of[MEM_TRIES];
	unsigned int next;	/* that is given up for another one */
};

/* Whether the last try of @who for @page was in vain; it is forgotten. */
static inline int mem_try_failed(struct mem_tries *t, const void *who,
				 unsigned long page)
{
	unsigned int i;

	for (i = 0; i < MEM_TRIES; i++)
		if (t->of[i].who == who && t->of[i].page == page) {
			t->of[i].who = (void *)0;
			return 1;
		}
	return 0;
}

/* A try of @who for @page has ended, in vain or not. */
static inline void mem_try_ended(struct mem_tries *t, const void *who,
				 unsigned long page, int failed)
{
	unsigned int i;

	mem_try_failed(t, who, page);
	if (!failed)
		return;
	for (i = 0; i < MEM_TRIES && t->of[i].who; i++)
		;
	if (i == MEM_TRIES)
		i = t->next++ % MEM_TRIES;
	t->of[i].who = who;
	t->of[i].page = page;
}

#endif
