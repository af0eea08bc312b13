// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB controllers: tables of the UMMU.
 *
 * One configuration entry for all Entities; its TokenIDs are in a table of two
 * levels.  A space has translation tables of four levels, a page each, which all
 * TokenIDs that lead there share; the permission entry of each says who may do
 * what and where.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "ub_engine.h"
#include "ub/ummu_hw.h"

#define TAG		0
#define TOKENS_LOG2	16
#define L2_TOKENS	64
#define L1_ENTRIES	((1 << TOKENS_LOG2) / L2_TOKENS)
#define L2_BYTES	(L2_TOKENS * (UBM_TCTE + UBM_MAPTE))
#define L2_MAPT		(L2_TOKENS * UBM_TCTE)
#define CMDS_LOG2	6
#define CMD_BYTES	(UBM_CMD << CMDS_LOG2)
#define CMD_TIMEOUT_MS	10000
#define SPACE_BITS		48
#define LEVELS		4
#define LEVEL_BITS	9
#define ENTRIES		(1 << LEVEL_BITS)
#define PAGE_4K		12
#define CR0_ON		(UBM_CR0_ENABLE | UBM_CR0_MAPT | UBM_CR0_EVTQ)

struct ub_ummu {
	bool on;
	struct mutex lock;
	u8 *ring;		/* commands */
	dma_addr_t ring_dma;
	u32 pi;
	__le64 *tect;
	dma_addr_t tect_dma;
	__le64 *l1;		/* TokenIDs by 64 */
	dma_addr_t l1_dma;
	u8 **l2;
	dma_addr_t *l2_dma;
	struct ida tokens;
};

/* A translation table, and what is below it: tables, or on the last level how
 * many segments have the page. */
struct ub_table {
	__le64 *pte;
	dma_addr_t dma;
	unsigned int used;
	union {
		struct ub_table *child[ENTRIES];
		u32 users[ENTRIES];
	};
};

static void ummu_wr(struct ub_core *core, u32 reg, u32 value)
{
	ub_wr(core->bar, UBM_WINDOW + reg, value);
}

static void ummu_wr64(struct ub_core *core, u32 reg, u64 value)
{
	ummu_wr(core, reg, lower_32_bits(value));
	ummu_wr(core, reg + 4, upper_32_bits(value));
}

static u32 ummu_rd(struct ub_core *core, u32 reg)
{
	return ub_rd(core->bar, UBM_WINDOW + reg);
}

static u64 field(u64 mask, u64 value)
{
	return value << __builtin_ctzll(mask) & mask;
}

/* ---- commands ---- */

static void ummu_put(struct ub_core *core, u64 q0, u64 q1, u64 q2)
{
	struct ub_ummu *u = core->ummu;
	__le64 *at = (__le64 *)(u->ring + (u->pi & ((1 << CMDS_LOG2) - 1)) *
					  UBM_CMD);

	at[0] = cpu_to_le64(q0);
	at[1] = cpu_to_le64(q1);
	at[2] = cpu_to_le64(q2);
	at[3] = 0;
	u->pi++;
}

/* All commands are done after this. */
static int ummu_sync(struct ub_core *core)
{
	unsigned long end = jiffies + msecs_to_jiffies(CMD_TIMEOUT_MS);
	const u32 mask = (2u << CMDS_LOG2) - 1;
	struct ub_ummu *u = core->ummu;
	u32 cons;

	ummu_put(core, UBM_CMD_SYNC, 0, 0);
	ummu_wr(core, UBM_CMDQ(0) + UBM_CMDQ_PROD,
		(u->pi & mask) | UBM_Q_ENABLE);
	for (;;) {
		cons = ummu_rd(core, UBM_CMDQ(0) + UBM_CMDQ_CONS);
		if ((cons & mask) == (u->pi & mask))
			return 0;
		if (cons & UBM_CONS_REASON || time_after(jiffies, end)) {
			/* What it remembers would lead to pages given back:
			 * it lets nobody in until the next start. */
			dev_err(&core->pdev->dev, "UMMU commands fail, CONS %x\n",
				cons);
			ummu_wr(core, UBM_CR0, 0);
			u->on = false;
			return -EIO;
		}
		usleep_range(20, 200);
	}
}

static void token_changed(struct ub_core *core, u32 id)
{
	u64 token = field(UBM_CMD_TOKEN, id);

	if (!core->ummu->on)
		return;
	ummu_put(core, UBM_CMD_CFGI_TCT | token, 0, TAG);
	ummu_put(core, UBM_CMD_PLBI_EID_TID | token, 0, TAG);
	ummu_put(core, UBM_CMD_TLBI_OS_TID | token, 0, TAG);
	ummu_sync(core);
}

bool ub_ummu_on(struct ub_core *core)
{
	return core->ummu && core->ummu->on;
}
EXPORT_SYMBOL_GPL(ub_ummu_on);

void ub_ummu_flush(struct ub_core *core)
{
	mutex_lock(&core->ummu->lock);
	if (core->ummu->on) {
		ummu_put(core, UBM_CMD_TLBI_NS_ALL, 0, 0);
		ummu_sync(core);
	}
	mutex_unlock(&core->ummu->lock);
}
EXPORT_SYMBOL_GPL(ub_ummu_flush);

/* ---- translation tables ---- */

static struct ub_table *table_new(struct ub_core *core)
{
	struct ub_table *t = kvzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);

	if (!t)
		return NULL;
	t->pte = dma_alloc_coherent(&core->pdev->dev, ENTRIES * 8, &t->dma,
				    GFP_KERNEL_ACCOUNT);
	if (t->pte)
		return t;
	kvfree(t);
	return NULL;
}

static void table_free(struct ub_core *core, struct ub_table *t)
{
	dma_free_coherent(&core->pdev->dev, ENTRIES * 8, t->pte, t->dma);
	kvfree(t);
}

static unsigned int table_index(u64 va, unsigned int level)
{
	return va >> (PAGE_4K + LEVEL_BITS * (LEVELS - 1 - level)) &
	       (ENTRIES - 1);
}

static void pte_set(struct ub_table *t, unsigned int i, u64 value)
{
	WRITE_ONCE(t->pte[i], cpu_to_le64(value));
}

/* The tables on the way to @va, path[0] is the root; made if @make. */
static int table_walk(struct ub_core *core, struct ub_table *root, u64 va,
		      struct ub_table *path[LEVELS], bool make)
{
	unsigned int level, i;

	path[0] = root;
	for (level = 0; level + 1 < LEVELS; level++) {
		i = table_index(va, level);
		if (!path[level]->child[i]) {
			struct ub_table *t = make ? table_new(core) : NULL;

			if (!t)
				return make ? -ENOMEM : -ENOENT;
			path[level]->child[i] = t;
			path[level]->used++;
			/* Its entries are zero before it is there. */
			dma_wmb();
			pte_set(path[level], i,
				t->dma | UBM_PTE_VALID | UBM_PTE_TABLE);
		}
		path[level + 1] = path[level]->child[i];
	}
	return 0;
}

/* Tables without entries go; the caller has them forgotten by the device. */
static void table_prune(struct ub_core *core, struct ub_table **path, u64 va)
{
	unsigned int level, i;

	for (level = LEVELS - 1; level && !path[level]->used; level--) {
		i = table_index(va, level - 1);
		pte_set(path[level - 1], i, 0);
		path[level - 1]->child[i] = NULL;
		path[level - 1]->used--;
		ub_ummu_flush(core);
		table_free(core, path[level]);
	}
}

int ub_space_map(struct ub_core *core, struct ub_space *space, u64 va,
		   dma_addr_t page)
{
	struct ub_table *path[LEVELS], *last;
	u64 pte = page | UBM_PTE_VALID | UBM_PTE_TABLE | UBM_PTE_USER |
		  UBM_PTE_AF;
	unsigned int i = table_index(va, LEVELS - 1);
	int err;

	if (va >> SPACE_BITS)
		return -EINVAL;
	err = table_walk(core, space->root, va, path, true);
	if (err)
		return err;
	last = path[LEVELS - 1];
	/* What was mapped there in the meantime is not what the program means. */
	if (last->users[i] && le64_to_cpu(last->pte[i]) != pte)
		return -EEXIST;
	if (!last->users[i]++) {
		last->used++;
		pte_set(last, i, pte);
	}
	return 0;
}
EXPORT_SYMBOL_GPL(ub_space_map);

void ub_space_unmap(struct ub_core *core, struct ub_space *space, u64 va)
{
	unsigned int i = table_index(va, LEVELS - 1);
	struct ub_table *path[LEVELS], *last;

	if (table_walk(core, space->root, va, path, false))
		return;
	last = path[LEVELS - 1];
	if (!last->users[i] || --last->users[i])
		return;
	pte_set(last, i, 0);
	last->used--;
	table_prune(core, path, va);
}
EXPORT_SYMBOL_GPL(ub_space_unmap);

int ub_space_init(struct ub_core *core, struct ub_space *space)
{
	space->root = table_new(core);
	return space->root ? 0 : -ENOMEM;
}
EXPORT_SYMBOL_GPL(ub_space_init);

/* Depth first; four levels are no recursion to worry about. */
static void table_drop(struct ub_core *core, struct ub_table *t,
		       unsigned int level)
{
	unsigned int i;

	for (i = 0; level + 1 < LEVELS && i < ENTRIES; i++)
		if (t->child[i])
			table_drop(core, t->child[i], level + 1);
	table_free(core, t);
}

/* No TokenID leads there any more. */
void ub_space_free(struct ub_core *core, struct ub_space *space)
{
	if (space->root)
		table_drop(core, space->root, 0);
	space->root = NULL;
}
EXPORT_SYMBOL_GPL(ub_space_free);

/* ---- TokenIDs ---- */

static __le64 *tcte_of(struct ub_ummu *u, u32 id)
{
	return (__le64 *)(u->l2[id / L2_TOKENS] + id % L2_TOKENS * UBM_TCTE);
}

static __le32 *mapte_of(struct ub_ummu *u, u32 id)
{
	return (__le32 *)(u->l2[id / L2_TOKENS] + L2_MAPT +
			  id % L2_TOKENS * UBM_MAPTE);
}

static int l2_make(struct ub_core *core, u32 i)
{
	struct ub_ummu *u = core->ummu;

	if (u->l2[i])
		return 0;
	u->l2[i] = dma_alloc_coherent(&core->pdev->dev, L2_BYTES,
				      &u->l2_dma[i], GFP_KERNEL);
	if (!u->l2[i])
		return -ENOMEM;
	dma_wmb();
	WRITE_ONCE(u->l1[i], cpu_to_le64(u->l2_dma[i] | UBM_TCT_L1_V));
	return 0;
}

int ub_token_new(struct ub_core *core, struct ub_space *space, u32 *id)
{
	struct ub_ummu *u = core->ummu;
	int err, n;
	__le64 *t;
	u64 mapt;

	if (!ub_ummu_on(core))
		return -EOPNOTSUPP;
	/* 0 stands for none in elements. */
	n = ida_alloc_range(&u->tokens, 1, ub_share(1 << TOKENS_LOG2) - 1,
			    GFP_KERNEL_ACCOUNT);
	if (n < 0)
		return n;
	mutex_lock(&u->lock);
	err = l2_make(core, n / L2_TOKENS);
	if (err) {
		mutex_unlock(&u->lock);
		ida_free(&u->tokens, n);
		return err;
	}
	*id = n;
	memset(mapte_of(u, n), 0, UBM_MAPTE);
	mapt = u->l2_dma[n / L2_TOKENS] + L2_MAPT + n % L2_TOKENS * UBM_MAPTE;
	t = tcte_of(u, n);
	t[1] = cpu_to_le64(field(UBM_TCTE_SZ, 64 - SPACE_BITS));
	t[2] = cpu_to_le64(space->root->dma & UBM_TCTE_MATTBA);
	t[3] = cpu_to_le64(mapt & UBM_TCTE_MAPT_BBA);
	t[4] = 0;
	dma_wmb();
	WRITE_ONCE(t[0], cpu_to_le64(UBM_TCTE_V | field(UBM_TCTE_GPAS, 5) |
				     UBM_TCTE_MAPT_EN | UBM_TCTE_FBR));
	token_changed(core, n);
	mutex_unlock(&u->lock);
	return 0;
}
EXPORT_SYMBOL_GPL(ub_token_new);

void ub_token_free(struct ub_core *core, u32 id)
{
	struct ub_ummu *u = core->ummu;

	mutex_lock(&u->lock);
	WRITE_ONCE(*tcte_of(u, id), 0);
	WRITE_ONCE(*mapte_of(u, id), 0);
	token_changed(core, id);
	mutex_unlock(&u->lock);
	ida_free(&u->tokens, id);
}
EXPORT_SYMBOL_GPL(ub_token_free);

void ub_token_grant(struct ub_core *core, u32 id, const struct ub_grant *grant)
{
	struct ub_ummu *u = core->ummu;
	u64 limit = grant->uba + grant->len - 1;
	u32 w0 = UBM_MAPTE_V;
	__le32 *m;

	if (grant->rights & UB_GRANT_READ)
		w0 |= UBM_MAPTE_READ;
	if (grant->rights & UB_GRANT_WRITE)
		w0 |= UBM_MAPTE_WRITE;
	if (grant->rights & UB_GRANT_ATOMIC)
		w0 |= UBM_MAPTE_ATOMIC;
	mutex_lock(&u->lock);
	m = mapte_of(u, id);
	WRITE_ONCE(m[0], 0);
	if (grant->rights) {
		m[2] = cpu_to_le32(lower_32_bits(grant->uba));
		m[3] = cpu_to_le32((upper_32_bits(grant->uba) & 0xffff) |
				   (grant->check ? UBM_MAPTE_TOKEN_CHK : 0));
		m[4] = cpu_to_le32(lower_32_bits(limit));
		m[5] = cpu_to_le32(upper_32_bits(limit) & 0xffff);
		m[6] = cpu_to_le32(grant->value);
		m[7] = cpu_to_le32(grant->other);
		dma_wmb();
		WRITE_ONCE(m[0], cpu_to_le32(w0));
	}
	token_changed(core, id);
	mutex_unlock(&u->lock);
}
EXPORT_SYMBOL_GPL(ub_token_grant);

void ub_token_values(struct ub_core *core, u32 id, u32 value, u32 other)
{
	struct ub_ummu *u = core->ummu;
	__le32 *m;

	mutex_lock(&u->lock);
	m = mapte_of(u, id);
	WRITE_ONCE(m[6], cpu_to_le32(value));
	WRITE_ONCE(m[7], cpu_to_le32(other));
	token_changed(core, id);
	mutex_unlock(&u->lock);
}
EXPORT_SYMBOL_GPL(ub_token_values);

/* ---- life ---- */

static int ummu_alloc(struct ub_core *core)
{
	struct ub_ummu *u = kzalloc(sizeof(*u), GFP_KERNEL);

	if (!u)
		return -ENOMEM;
	mutex_init(&u->lock);
	ida_init(&u->tokens);
	core->ummu = u;
	u->ring = dma_alloc_coherent(&core->pdev->dev, CMD_BYTES, &u->ring_dma,
				     GFP_KERNEL);
	u->tect = dma_alloc_coherent(&core->pdev->dev, UBM_TECTE, &u->tect_dma,
				     GFP_KERNEL);
	u->l1 = dma_alloc_coherent(&core->pdev->dev, L1_ENTRIES * 8, &u->l1_dma,
				   GFP_KERNEL);
	u->l2 = kvcalloc(L1_ENTRIES, sizeof(*u->l2), GFP_KERNEL);
	u->l2_dma = kvcalloc(L1_ENTRIES, sizeof(*u->l2_dma), GFP_KERNEL);
	return u->ring && u->tect && u->l1 && u->l2 && u->l2_dma ? 0 : -ENOMEM;
}

/* Again after a reset, too: tables stay, the engine forgot where they are. */
int ub_ummu_start(struct ub_core *core)
{
	struct ub_ummu *u;
	int err;

	if (!(ub_rd(core->bar, UBC_CAPS) & UBC_CAPS_UMMU))
		return 0;
	err = core->ummu ? 0 : ummu_alloc(core);
	if (err)
		return err;
	u = core->ummu;
	u->tect[0] = cpu_to_le64(UBM_TECTE_V | field(UBM_TECTE_ST_MODE, 5) |
				 UBM_TECTE_MAPT_EN);
	u->tect[1] = cpu_to_le64(field(UBM_TECTE_TCT_NUM, TOKENS_LOG2) |
				 (u->l1_dma & UBM_TECTE_TCT_PTR) |
				 field(UBM_TECTE_TCT_FMT, 1));
	u->pi = 0;
	ummu_wr64(core, UBM_TECT_BASE, u->tect_dma);
	ummu_wr(core, UBM_TECT_CFG, 0);
	ummu_wr(core, UBM_DEFAULT, UBM_DEFAULT_ALL | UBM_DEFAULT_BARE | TAG);
	ummu_wr64(core, UBM_CMDQ(0) + UBM_CMDQ_BASE, u->ring_dma | CMDS_LOG2);
	ummu_wr(core, UBM_CMDQ(0) + UBM_CMDQ_CONS, 0);
	ummu_wr(core, UBM_CMDQ(0) + UBM_CMDQ_PROD, UBM_Q_ENABLE);
	err = ub_refusals_start(core);
	if (err)
		return err;
	ummu_wr(core, UBM_CR0, CR0_ON);
	if (ummu_rd(core, UBM_CR0ACK) != CR0_ON) {
		dev_err(&core->pdev->dev, "the UMMU does not start\n");
		return -EIO;
	}
	u->on = true;
	return 0;
}

void ub_ummu_stop(struct ub_core *core)
{
	if (!core->ummu)
		return;
	ub_refusals_stop(core);
	mutex_lock(&core->ummu->lock);
	if (core->ummu->on) {
		/* Nothing is let in until somebody else sets it up. */
		ummu_wr(core, UBM_CR0, 0);
		ummu_wr(core, UBM_CMDQ(0) + UBM_CMDQ_PROD, 0);
	}
	core->ummu->on = false;
	mutex_unlock(&core->ummu->lock);
}

void ub_ummu_free(struct ub_core *core)
{
	struct ub_ummu *u = core->ummu;
	unsigned int i;

	ub_refusals_free(core);
	if (!u)
		return;
	core->ummu = NULL;
	for (i = 0; u->l2 && u->l2_dma && i < L1_ENTRIES; i++)
		if (u->l2[i])
			dma_free_coherent(&core->pdev->dev, L2_BYTES, u->l2[i],
					  u->l2_dma[i]);
	kvfree(u->l2);
	kvfree(u->l2_dma);
	if (u->l1)
		dma_free_coherent(&core->pdev->dev, L1_ENTRIES * 8, u->l1,
				  u->l1_dma);
	if (u->tect)
		dma_free_coherent(&core->pdev->dev, UBM_TECTE, u->tect,
				  u->tect_dma);
	if (u->ring)
		dma_free_coherent(&core->pdev->dev, CMD_BYTES, u->ring,
				  u->ring_dma);
	ida_destroy(&u->tokens);
	kfree(u);
}
