// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB memory: a program's memory for peers, its TokenID and TokenValues.
 *
 * Peers see addresses that begin at UBA, whatever they are in the program: they say
 * nothing of where that has its memory.
 */
#include <linux/dma-mapping.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "ub_mem.h"

#define UBA	MEM_MIB

static struct mem_export *export_of(struct mem_file *f, const char *token_id)
{
	struct mem_export *ex;
	u32 id;

	if (kstrtou32(token_id, 0, &id))
		return NULL;
	list_for_each_entry(ex, &f->exports, list)
		if (ex->token_id == id)
			return ex;
	return NULL;
}

/* What who imports it writes. */
int mem_export_text(struct mem_file *f, const struct mem_export *ex, u32 value,
		    char *to, size_t size)
{
	char token[16] = "-";
	u8 eid[16];

	ub_own_eid(f->dev->core, eid);
	if (ex->grant.check)
		snprintf(token, sizeof(token), "%#x", value);
	return scnprintf(to, size, "%*phN %#x %#llx %#llx %s\n", 16, eid,
			 ex->token_id, ex->region.uba, ex->region.len, token);
}

static void tell(struct mem_file *f, const struct mem_export *ex, u32 value)
{
	f->len = mem_export_text(f, ex, value, f->answer, sizeof(f->answer));
}

static int rights_get(const char *word, u32 *rights)
{
	*rights = 0;
	for (; *word; word++)
		switch (*word) {
		case 'r':
			*rights |= UB_GRANT_READ;
			break;
		case 'w':
			*rights |= UB_GRANT_WRITE;
			break;
		case 'a':
			*rights |= UB_GRANT_ATOMIC;
			break;
		default:
			return -EINVAL;
		}
	return *rights ? 0 : -EINVAL;
}

static int token_get(const char *word, bool *check, u32 *value)
{
	*check = !word || strcmp(word, "-");
	*value = *check ? get_random_u32() : 0;
	return word && *check && strcmp(word, "random")
		       ? kstrtou32(word, 0, value) : 0;
}

static void export_free(struct mem_file *f, struct mem_export *ex)
{
	ub_region_end(f->dev->core, &ex->region);
	if (ex->directory) {
		ub_space_unmap(f->dev->core, &ex->space, UBA - MEM_DIR_BYTES);
		ub_ummu_flush(f->dev->core);
		dma_free_coherent(f->dev->dma, MEM_DIR_BYTES, ex->directory,
				  ex->directory_dma);
	}
	ub_space_free(f->dev->core, &ex->space);
	kfree(ex);
}

/* The page in front of it, which any who may read may change as well. */
static int directory_add(struct mem_file *f, struct mem_export *ex)
{
	ex->directory = dma_alloc_coherent(f->dev->dma, MEM_DIR_BYTES,
					   &ex->directory_dma,
					   GFP_KERNEL_ACCOUNT);
	if (!ex->directory)
		return -ENOMEM;
	ex->grant.uba -= MEM_DIR_BYTES;
	ex->grant.len += MEM_DIR_BYTES;
	ex->grant.rights |= UB_GRANT_ATOMIC;
	return ub_space_map(f->dev->core, &ex->space, ex->grant.uba,
			    ex->directory_dma);
}

static int export_begin(struct mem_file *f, struct mem_export *ex, u64 va,
			bool shared)
{
	struct ub_core *core = f->dev->core;
	int gone, err;

	mem_file_unlock(f);
	err = ub_region_pin(&ex->region, va, ex->grant.len);
	gone = mem_file_relock(f);
	if (!err)
		err = gone;
	if (!err)
		err = ub_space_init(core, &ex->space);
	if (!err)
		err = ub_region_map(core, &ex->region, &ex->space,
				    ex->grant.uba);
	if (!err && shared)
		err = directory_add(f, ex);
	if (!err)
		err = ub_token_new(core, &ex->space, &ex->token_id);
	if (!err)
		ub_token_grant(core, ex->token_id, &ex->grant);
	return err;
}

/* export ADDRESS BYTES RIGHTS [TOKEN [shared]] */
int mem_export(struct mem_file *f, unsigned int argc, char **argv)
{
	struct mem_export *ex;
	struct ub_grant g = { .uba = UBA };
	u64 va;
	int err;

	if (argc < 4 || argc > 6 || kstrtou64(argv[1], 0, &va) ||
	    kstrtou64(argv[2], 0, &g.len) || rights_get(argv[3], &g.rights) ||
	    token_get(argc > 4 ? argv[4] : NULL, &g.check, &g.value) ||
	    /* Who may change the directory by atomics may so all of it. */
	    (argc > 5 && (strcmp(argv[5], "shared") ||
			  !(g.rights & UB_GRANT_WRITE))) ||
	    !g.len || !PAGE_ALIGNED(va | g.len) || va + g.len < va)
		return -EINVAL;
	if (!ub_ummu_on(f->dev->core))
		return -EOPNOTSUPP;
	ex = kzalloc(sizeof(*ex), GFP_KERNEL_ACCOUNT);
	if (!ex)
		return -ENOMEM;
	g.other = g.value;
	ex->grant = g;
	err = export_begin(f, ex, va, argc > 5);
	if (err) {
		export_free(f, ex);
		return err;
	}
	list_add_tail(&ex->list, &f->exports);
	atomic_inc(&f->dev->exports);
	tell(f, ex, g.value);
	return 0;
}

/* Nobody is let in any more and all who were have left, before its pages go
 * (UB 2.0 §8.2.1). */
static void export_end(struct mem_file *f, struct mem_export *ex)
{
	ub_token_free(f->dev->core, ex->token_id);
	list_del(&ex->list);
	atomic_dec(&f->dev->exports);
	export_free(f, ex);
}

int mem_unexport(struct mem_file *f, unsigned int argc, char **argv)
{
	struct mem_export *ex = argc == 2 ? export_of(f, argv[1]) : NULL;

	if (!ex)
		return -EINVAL;
	export_end(f, ex);
	return 0;
}

/* rotate TOKENID [TOKEN]: both values hold, until it is settled (UB 2.0 §11.4.4). */
int mem_rotate(struct mem_file *f, unsigned int argc, char **argv)
{
	struct mem_export *ex = argc == 2 || argc == 3 ? export_of(f, argv[1])
						       : NULL;
	bool check;
	u32 value;

	if (!ex || !ex->grant.check ||
	    token_get(argc > 2 ? argv[2] : NULL, &check, &value) || !check)
		return -EINVAL;
	if (ex->grant.other != ex->grant.value)
		return -EBUSY;
	ex->grant.other = value;
	ub_token_values(f->dev->core, ex->token_id, ex->grant.value, value);
	tell(f, ex, value);
	return 0;
}

/* settle TOKENID: only the new one holds. */
int mem_settle(struct mem_file *f, unsigned int argc, char **argv)
{
	struct mem_export *ex = argc == 2 ? export_of(f, argv[1]) : NULL;

	if (!ex)
		return -EINVAL;
	ex->grant.value = ex->grant.other;
	ub_token_values(f->dev->core, ex->token_id, ex->grant.value,
			ex->grant.value);
	tell(f, ex, ex->grant.value);
	return 0;
}

/* reclaim TOKENID: nobody owns it, whatever became of who did; in another epoch. */
int mem_reclaim(struct mem_file *f, unsigned int argc, char **argv)
{
	struct mem_export *ex = argc == 2 ? export_of(f, argv[1]) : NULL;
	__le64 *word;

	if (!ex || !ex->directory)
		return -EINVAL;
	word = ex->directory;
	WRITE_ONCE(*word, cpu_to_le64((le64_to_cpu(READ_ONCE(*word)) +
				       MEM_DIR_EPOCH_1) & MEM_DIR_EPOCH));
	return 0;
}

void mem_exports_end(struct mem_file *f)
{
	struct mem_export *ex, *next;

	list_for_each_entry_safe(ex, next, &f->exports, list)
		export_end(f, ex);
}
