/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The transaction engine of UB controllers: what ub_core offers to those who
 * share it, "ub_core.urma" and "ub_core.mem".
 *
 * ub_core has the queue of commands, the tables of the UMMU and the numbers of
 * rows of the table of destinations.  All of it works from before a part is
 * there until after it has gone, and between a part's resume and suspend; a reset
 * of the function loses what commands have made.  Functions may sleep and return
 * 0 or an errno, unless another thing is said.
 */
#ifndef UB_ENGINE_H
#define UB_ENGINE_H

#include <linux/capability.h>
#include <linux/idr.h>
#include <linux/interrupt.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>

#include "ub_core.h"
#include "ub/urma_hw.h"

#define UB_ROW_MAX ((1 << 20) - 1)
#define UB_BELL_BAR 2

/* Of @n numbers that the controller has, those that the caller may take.  Everybody may
 * open a node: some are kept for who may go beyond limits, the parts among them.  A
 * command of urma or mem asks, or the start of a part. */
static inline u32 ub_share(u32 n)
{
	u32 kept = capable(CAP_SYS_RESOURCE) ? 0 : max_t(u32, n / 16, 1);

	return n - min(n, kept);
}

/* ---- cmdq.c ---- */

struct ub_cmdq {
	struct mutex lock;
	u8 *ring;
	dma_addr_t dma;
	u16 pi;
	bool broken;
	struct ida rows;	/* of the table of destinations; 1 to UB_ROW_MAX */
	struct ida pages;	/* of doorbells; what CAPS says */
};

/* A command: parameters from byte 16 on. */
struct ub_cmd {
	u8 b[UBQ_CMD] __aligned(8);
};

void ub_cmd_init(struct ub_cmd *cmd, u32 object, u32 mask);
/* 0 or an errno that stands for the result; answers are in @cmd. */
int ub_cmd_run(struct ub_core *core, unsigned int opcode, struct ub_cmd *cmd);
u32 ub_cmd_object(const struct ub_cmd *cmd);

/* Pages of doorbells that there are: as CAPS says, and the BAR has; maybe none. */
u32 ub_bell_pages(struct ub_core *core, const struct ub_cmd *caps);

static inline void ub_put8(struct ub_cmd *cmd, unsigned int at, u8 v)
{
	cmd->b[at] = v;
}

static inline void ub_put16(struct ub_cmd *cmd, unsigned int at, u16 v)
{
	*(__le16 *)(cmd->b + at) = cpu_to_le16(v);
}

static inline void ub_put32(struct ub_cmd *cmd, unsigned int at, u32 v)
{
	*(__le32 *)(cmd->b + at) = cpu_to_le32(v);
}

static inline void ub_put64(struct ub_cmd *cmd, unsigned int at, u64 v)
{
	*(__le64 *)(cmd->b + at) = cpu_to_le64(v);
}

static inline u16 ub_get16(const struct ub_cmd *cmd, unsigned int at)
{
	return le16_to_cpu(*(const __le16 *)(cmd->b + at));
}

static inline u32 ub_get32(const struct ub_cmd *cmd, unsigned int at)
{
	return le32_to_cpu(*(const __le32 *)(cmd->b + at));
}

static inline u64 ub_get64(const struct ub_cmd *cmd, unsigned int at)
{
	return le64_to_cpu(*(const __le64 *)(cmd->b + at));
}

/* Who the controller is: Entity 0, EIDs with the most significant byte first. */
void ub_own_eid(struct ub_core *core, u8 eid[16]);
u32 ub_own_upi(struct ub_core *core);
/* Bytes of payload that a packet has at most, as the fabric's management set it, and
 * those of a code of that register. */
u32 ub_own_mtu(struct ub_core *core);
u32 ub_mtu_bytes(u32 code);
/* Where an EID is: of an Entity that is lent to us, as the UBFM says; else the
 * address in it, if it has our prefix, or -EHOSTUNREACH. */
int ub_eid_cna(struct ub_core *core, const u8 eid[16], u32 *cna);

/* Forms of addresses: LPH.CFG. */
enum { UB_CFG_IPV4 = 3, UB_CFG_IPV6 = 4, UB_CFG_CNA16 = 6, UB_CFG_CNA24 = 7,
       UB_CFG_BYPASS = 9 };

/* An address, of a CNA path or of an IP path. */
struct ub_place {
	u32 ip_cfg;		/* UB_CFG_IPV4, _IPV6; 0: it has a CNA */
	u32 cna;
	u8 ip[16];		/* IPv4: the first 4 */
};

/* Where an EID is, if IP paths are gone as well: IPv4 if ours and it are addresses of
 * IPv4 within IPv6, IPv6 if both are global addresses and ours does not end in our
 * CNA, else as ub_eid_cna() says.  Or -EHOSTUNREACH. */
int ub_eid_place(struct ub_core *core, const u8 eid[16], struct ub_place *place);
/* The way there into a command, with the form of addresses @cfg. */
void ub_put_way(struct ub_cmd *cmd, unsigned int at, u32 cfg,
		const struct ub_place *place);

/* ---- dest.c: rows of the table of destinations ---- */

/* UBQ_DST_CARRIER. */
enum { UB_RTP, UB_CTP, UB_UTP, UB_BYPASS };

struct ub_channel;

/* A row, within a structure of its part's. */
struct ub_dest {
	struct list_head list;
	unsigned int users;
	u32 row, carrier;
	struct ub_place place;	/* compared as memory, and has no gaps */
	struct ub_channel *channel;	/* of RTP */
	u8 eid[16];
};

/* Those of a part; the functions below want the lock. */
struct ub_dests {
	struct ub_core *core;
	struct mutex lock;
	struct list_head list, channels;
	bool ending;		/* who waits for a channel shall not */
};

void ub_dests_init(struct ub_dests *t, struct ub_core *core);
/* The row that leads there, with one more user, or NULL.  The EID of a lent Entity may
 * have been at another address before. */
struct ub_dest *ub_dest_get(struct ub_dests *t, const u8 eid[16], u32 carrier,
			    const struct ub_place *place);
/* A new one with one user, its carrier, address and EID, and of RTP the channel, are
 * set. */
int ub_dest_add(struct ub_dests *t, struct ub_dest *d);
/* One user less; true: it was the last one, and the row is gone, of RTP with its use of
 * the channel. */
bool ub_dest_put(struct ub_dests *t, struct ub_dest *d);
/* The row leads there now, or nowhere. */
int ub_dest_set(struct ub_dests *t, const struct ub_dest *d);
void ub_dest_clear(struct ub_dests *t, const struct ub_dest *d);

/* ---- channel.c: channels of RTP ---- */

/* The channel to @place, set up, with one more user; it may take seconds, and whoever
 * wants others does not wait for it: without the lock. */
struct ub_channel *ub_channel_get(struct ub_dests *t,
				  const struct ub_place *place);
/* With the lock: one less needs it; NULL is none. */
void ub_channel_put(struct ub_channel *c);
/* Its number, and its MTU. */
u32 ub_channel_tpn(const struct ub_channel *c);
u32 ub_channel_mtu(const struct ub_channel *c);
/* The engine has forgotten all channels, and there are no rows any more. */
void ub_channels_stop(struct ub_dests *t);

/* ---- ummu.c: tables of the UMMU ---- */

struct ub_table;

/* Addresses (UBA) that lead to pages. */
struct ub_space {
	struct ub_table *root;
};

#define UB_GRANT_READ	1u
#define UB_GRANT_WRITE	2u
#define UB_GRANT_ATOMIC	4u

struct ub_grant {
	u64 uba, len;
	u32 rights;		/* UB_GRANT_*; 0: nothing */
	bool check;		/* peers bring one of the values */
	u32 value, other;	/* the same twice, but while it changes */
};

/* Whether there is one, and it works. */
bool ub_ummu_on(struct ub_core *core);
int ub_space_init(struct ub_core *core, struct ub_space *space);
/* No TokenID leads there any more. */
void ub_space_free(struct ub_core *core, struct ub_space *space);
/* The page of 4 KiB at @uba, or one more user of it. */
int ub_space_map(struct ub_core *core, struct ub_space *space, u64 uba,
		 dma_addr_t page);
void ub_space_unmap(struct ub_core *core, struct ub_space *space, u64 uba);
/* A TokenID that leads to @space and grants nothing yet. */
int ub_token_new(struct ub_core *core, struct ub_space *space, u32 *id);
/* Nobody is let in by it any more, who was has left. */
void ub_token_free(struct ub_core *core, u32 id);
/* What peers may do with it. */
void ub_token_grant(struct ub_core *core, u32 id, const struct ub_grant *grant);
/* Other values, and nobody who has one of those that stay is refused meanwhile. */
void ub_token_values(struct ub_core *core, u32 id, u32 value, u32 other);
/* Translations that were changed are not used any more. */
void ub_ummu_flush(struct ub_core *core);

/* ---- region.c: memory of a program that peers reach ---- */

struct ub_region {
	u64 va, len;
	struct page **pages;
	unsigned long n, accounted;
	struct mm_struct *mm;
	struct sg_table sgt;
	struct ub_space *space;	/* that it is mapped in, from … */
	u64 uba;
	unsigned long mapped;	/* … in units of 4 KiB */
};

/*
 * Pin @len bytes at @va of the current process, and map their pages in @space,
 * the first one at @uba (a multiple of the page size).  @region is zeroed; after
 * an error it wants ub_region_end() as well, which takes the pages out of the
 * space and gives them back.
 */
/* The two steps of ub_region_begin().  The first one makes page faults of the
 * program, which may last as long as it likes: it is done without locks that
 * others wait for. */
int ub_region_pin(struct ub_region *region, u64 va, u64 len);
int ub_region_map(struct ub_core *core, struct ub_region *region,
		  struct ub_space *space, u64 uba);
/* It leads there no more; the pages stay until ub_region_end(). */
void ub_region_unmap(struct ub_core *core, struct ub_region *region);
int ub_region_begin(struct ub_core *core, struct ub_region *region, u64 va,
		    u64 len, struct ub_space *space, u64 uba);
void ub_region_end(struct ub_core *core, struct ub_region *region);

/* ---- life, for ub_core ---- */

int ub_cmdq_start(struct ub_core *core);
void ub_cmdq_stop(struct ub_core *core);
void ub_cmdq_free(struct ub_core *core);
int ub_ummu_start(struct ub_core *core);
void ub_ummu_stop(struct ub_core *core);
void ub_ummu_free(struct ub_core *core);

/* ---- refusal.c: the UMMU's events, by the interrupt of the controller ---- */

/* Before the UMMU is enabled, after a reset too. */
int ub_refusals_start(struct ub_core *core);
/* Before it is disabled. */
void ub_refusals_stop(struct ub_core *core);
void ub_refusals_free(struct ub_core *core);
irqreturn_t ub_refusals_irq(struct ub_core *core);
extern const struct attribute_group ub_refusal_group;

#endif
