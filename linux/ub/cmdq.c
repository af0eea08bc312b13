// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB controllers: the queue of commands of the transaction engine, and what is
 * the same in many of them.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "bus.h"
#include "ub_engine.h"
#include "ub/cfg_regs.h"

#define CMD_LOG2	4
#define CMD_BYTES	(UBQ_CMD << CMD_LOG2)
/* The engine answers at once; an emulator may have to be scheduled. */
#define CMD_TIMEOUT_MS	20000
#define CMD_SPINS	50

#define CNA_BYTES	3	/* of an EID, its last ones */
#define ANY_PORT	0xff

static const int errors[UBQ_RESULTS] = {
	[UBQ_RESULT_OK] = 0,
	[UBQ_RESULT_OPCODE] = -EOPNOTSUPP,
	[UBQ_RESULT_NO_OBJECT] = -ENOENT,
	[UBQ_RESULT_IN_USE] = -EBUSY,
	[UBQ_RESULT_FULL] = -ENOSPC,
	[UBQ_RESULT_PARAMETER] = -EINVAL,
	[UBQ_RESULT_STATE] = -EBUSY,
	[UBQ_RESULT_REFUSED] = -ECONNREFUSED,
	[UBQ_RESULT_TIMEOUT] = -ETIMEDOUT,
};

/* ---- commands ---- */

void ub_cmd_init(struct ub_cmd *cmd, u32 object, u32 mask)
{
	memset(cmd, 0, sizeof(*cmd));
	ub_put32(cmd, UBQ_CMD_OBJECT, object);
	ub_put32(cmd, UBQ_CMD_MASK, mask);
}
EXPORT_SYMBOL_GPL(ub_cmd_init);

u32 ub_cmd_object(const struct ub_cmd *cmd)
{
	return ub_get32(cmd, UBQ_CMD_OBJECT);
}
EXPORT_SYMBOL_GPL(ub_cmd_object);

u32 ub_bell_pages(struct ub_core *core, const struct ub_cmd *caps)
{
	return min_t(u64, ub_get32(caps, UBQ_CAP_PAGES),
		     pci_resource_len(core->pdev, UB_BELL_BAR) / UBQ_PAGE);
}
EXPORT_SYMBOL_GPL(ub_bell_pages);

static int cmd_wait(struct ub_core *core, const u8 *at, u32 *result)
{
	unsigned long end = jiffies + msecs_to_jiffies(CMD_TIMEOUT_MS);
	unsigned int spins;

	for (spins = 0;; spins++) {
		*result = le32_to_cpu(READ_ONCE(*(const __le32 *)
						(at + UBQ_CMD_RESULT)));
		if (*result & UBQ_DONE)
			return 0;
		if (time_after(jiffies, end))
			return -EIO;
		/* It cannot read or answer, or is not there (~0). */
		if (spins % CMD_SPINS == CMD_SPINS - 1 &&
		    ub_rd(core->bar, UBQ_CMD_WINDOW + UBQ_CMD_CTRL) &
			    UBQ_CMD_ERROR)
			return -EIO;
		if (spins < CMD_SPINS)
			cpu_relax();
		else
			usleep_range(20, 200);
	}
}

int ub_cmd_run(struct ub_core *core, unsigned int opcode, struct ub_cmd *cmd)
{
	struct ub_cmdq *q = core->cmdq;
	u32 result;
	int err;
	u8 *at;

	mutex_lock(&q->lock);
	if (q->broken) {
		err = -EIO;
		goto out;
	}
	at = q->ring + (q->pi++ & ((1 << CMD_LOG2) - 1)) * UBQ_CMD;
	ub_put16(cmd, UBQ_CMD_OPCODE, opcode);
	ub_put32(cmd, UBQ_CMD_RESULT, 0);
	memcpy(at, cmd, UBQ_CMD);
	ub_wr(core->bar, UBQ_CMD_WINDOW + UBQ_CMD_PI, q->pi);
	err = cmd_wait(core, at, &result);
	if (err) {
		dev_err(&core->pdev->dev, "command %x is not answered\n",
			opcode);
		q->broken = true;
		goto out;
	}
	dma_rmb();
	memcpy(cmd, at, UBQ_CMD);
	result &= ~UBQ_DONE;
	err = result < UBQ_RESULTS ? errors[result] : -EIO;
out:
	mutex_unlock(&q->lock);
	return err;
}
EXPORT_SYMBOL_GPL(ub_cmd_run);

/* ---- who is where ---- */

void ub_own_eid(struct ub_core *core, u8 eid[16])
{
	unsigned int i;

	/* The first dword is the least significant one. */
	for (i = 0; i < 4; i++)
		put_unaligned_be32(ub_config_read(core, UB_CFG0_EID + 3 - i),
				   eid + 4 * i);
}
EXPORT_SYMBOL_GPL(ub_own_eid);

u32 ub_own_upi(struct ub_core *core)
{
	return ub_config_read(core, UB_CFG0_UPI) & UB_CFG0_UPI__ALL;
}
EXPORT_SYMBOL_GPL(ub_own_upi);

/* MTU_CFG (UB 2.0, D.1.13). */
u32 ub_mtu_bytes(u32 code)
{
	static const u32 bytes[] = { 1024, 4096, 8192 };

	return bytes[code < ARRAY_SIZE(bytes) ? code : 0];
}
EXPORT_SYMBOL_GPL(ub_mtu_bytes);

u32 ub_own_mtu(struct ub_core *core)
{
	return ub_mtu_bytes(ub_config_read(core, UB_CFG0_MTU_CFG) &
			    UB_CFG0_MTU_CFG__ALL);
}
EXPORT_SYMBOL_GPL(ub_own_mtu);

int ub_eid_cna(struct ub_core *core, const u8 eid[16], u32 *cna)
{
	u8 own[16];

	/* The EID of an Entity has its number where a CNA may have bits. */
	if (!ub_lent_cna(core, eid, cna))
		return 0;
	ub_own_eid(core, own);
	if (memcmp(own, eid, 16 - CNA_BYTES))
		return -EHOSTUNREACH;
	*cna = eid[13] << 16 | eid[14] << 8 | eid[15];
	return *cna ? 0 : -EHOSTUNREACH;
}
EXPORT_SYMBOL_GPL(ub_eid_cna);

static bool own_ends_in_cna(struct ub_core *core, const u8 own[16])
{
	u32 cna = ub_config_read(core, UB_CFG0_PRIMARY_CNA) &
		  UB_CFG0_PRIMARY_CNA__ALL;

	return (u32)(own[13] << 16 | own[14] << 8 | own[15]) == cna;
}

/* The form that an EID has as an address of IP, or 0. */
static u8 ip_cfg_of(const u8 eid[16])
{
	static const u8 mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (!memcmp(eid, mapped, sizeof(mapped)))
		return UB_CFG_IPV4;
	return eid[0] >> 5 == 1 ? UB_CFG_IPV6 : 0;	/* 2000::/3 */
}

int ub_eid_place(struct ub_core *core, const u8 eid[16], struct ub_place *place)
{
	u8 own[16], cfg = ip_cfg_of(eid);

	memset(place, 0, sizeof(*place));
	ub_own_eid(core, own);
	if (!cfg || cfg != ip_cfg_of(own) ||
	    (cfg == UB_CFG_IPV6 && own_ends_in_cna(core, own)))
		return ub_eid_cna(core, eid, &place->cna);
	place->ip_cfg = cfg;
	if (cfg == UB_CFG_IPV4)
		memcpy(place->ip, eid + 12, 4);
	else
		memcpy(place->ip, eid, 16);
	return 0;
}
EXPORT_SYMBOL_GPL(ub_eid_place);

void ub_put_way(struct ub_cmd *cmd, unsigned int at, u32 cfg,
		const struct ub_place *place)
{
	ub_put8(cmd, at + UBQ_WAY_CFG, cfg);
	ub_put8(cmd, at + UBQ_WAY_PORT, ANY_PORT);
	ub_put32(cmd, at + UBQ_WAY_DCNA, place->cna);
	memcpy(cmd->b + at + UBQ_WAY_DIP, place->ip, sizeof(place->ip));
}
EXPORT_SYMBOL_GPL(ub_put_way);

/* ---- life ---- */

static int cmdq_new(struct ub_core *core)
{
	struct ub_cmdq *q = kzalloc(sizeof(*q), GFP_KERNEL);

	if (!q)
		return -ENOMEM;
	q->ring = dma_alloc_coherent(&core->pdev->dev, CMD_BYTES, &q->dma,
				     GFP_KERNEL);
	if (!q->ring) {
		kfree(q);
		return -ENOMEM;
	}
	mutex_init(&q->lock);
	ida_init(&q->rows);
	ida_init(&q->pages);
	q->broken = true;
	core->cmdq = q;
	return 0;
}

/* The device was reset before. */
int ub_cmdq_start(struct ub_core *core)
{
	int err = core->cmdq ? 0 : cmdq_new(core);
	struct ub_cmdq *q = core->cmdq;

	if (err)
		return err;
	mutex_lock(&q->lock);
	memset(q->ring, 0, CMD_BYTES);
	q->pi = 0;
	ub_wr(core->bar, UBQ_CMD_WINDOW + UBQ_CMD_CTRL, 0);
	ub_wr(core->bar, UBQ_CMD_WINDOW + UBQ_CMD_BASE_LO,
	      lower_32_bits(q->dma));
	ub_wr(core->bar, UBQ_CMD_WINDOW + UBQ_CMD_BASE_HI,
	      upper_32_bits(q->dma));
	ub_wr(core->bar, UBQ_CMD_WINDOW + UBQ_CMD_SIZE, CMD_LOG2);
	ub_wr(core->bar, UBQ_CMD_WINDOW + UBQ_CMD_VECTOR,
	      ub_core_engine_vector(core, UB_URMA));
	ub_wr(core->bar, UBQ_CMD_WINDOW + UBQ_CMD_CTRL, UBQ_CMD_ENABLE);
	q->broken = false;
	mutex_unlock(&q->lock);
	return 0;
}

/* The registers may be gone with the device. */
void ub_cmdq_stop(struct ub_core *core)
{
	struct ub_cmdq *q = core->cmdq;

	if (!q)
		return;
	mutex_lock(&q->lock);
	q->broken = true;
	ub_wr(core->bar, UBQ_CMD_WINDOW + UBQ_CMD_CTRL, 0);
	/* The device does not write to the ring after this. */
	ub_rd(core->bar, UBQ_CMD_WINDOW + UBQ_CMD_CTRL);
	mutex_unlock(&q->lock);
}

void ub_cmdq_free(struct ub_core *core)
{
	struct ub_cmdq *q = core->cmdq;

	if (!q)
		return;
	core->cmdq = NULL;
	dma_free_coherent(&core->pdev->dev, CMD_BYTES, q->ring, q->dma);
	ida_destroy(&q->rows);
	ida_destroy(&q->pages);
	kfree(q);
}
