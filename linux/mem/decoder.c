// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB memory: the decoder's tables, its queues and the window (docs/specs/
 * ub-window.rst).
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/pci.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "ub_mem.h"
#include "ub/cfg_regs.h"

#define WINDOW_BAR	4
#define CMDS_LOG2	6
#define CMDS_BYTES	(UB_LDS_QUEUE_ENTRY << CMDS_LOG2)
#define CMDS_MASK	((2u << CMDS_LOG2) - 1)
#define EVENTS_LOG2	UB_LDS_QUEUE_LOG2_MAX
#define EVENTS_BYTES	(UB_LDS_QUEUE_ENTRY << EVENTS_LOG2)
#define L1_MIBS		4096u
#define L1_BYTES	(L1_MIBS * UB_LDS_ENTRY)
/* Longer than the device lets an access wait. */
#define ACCESS_MS	60000
#define SPINS		100

static u32 reg_rd(struct mem_dev *dev, u32 dw)
{
	return ub_config_read(dev->core,
			      UB_CFG_CAP(UB_CFG1_BASE, UB_CAP_DECODER) + dw);
}

static void reg_wr(struct mem_dev *dev, u32 dw, u32 value)
{
	ub_config_write(dev->core,
			UB_CFG_CAP(UB_CFG1_BASE, UB_CAP_DECODER) + dw, value);
}

static void reg_wr64(struct mem_dev *dev, u32 dw, u64 value)
{
	reg_wr(dev, dw, lower_32_bits(value));
	reg_wr(dev, dw + 1, upper_32_bits(value));
}

static u32 own_dw(unsigned int dw)
{
	return UB_CFG_CAP(UB_CFG1_BASE, UB_LDS_CAP) + dw;
}

/* ---- commands ---- */

static void cmd_put(struct mem_decoder *d, u64 q0, u64 q1)
{
	__le64 *at = d->cmds + 2 * (d->pi & ((1 << CMDS_LOG2) - 1));

	at[0] = cpu_to_le64(q0);
	at[1] = cpu_to_le64(q1);
	d->pi++;
}

/* Whether all commands are over, or never will be. */
static bool cmds_over(struct mem_dev *dev)
{
	struct mem_decoder *d = &dev->decoder;
	u32 cons = reg_rd(dev, UB_DECODER_CMDQ_CONS);

	if (cons & UB_DECODER_CMDQ_CONS__CMDQ_ERR) {
		dev_err(dev->dma, "decoder commands fail, CONS %x\n", cons);
		d->broken = true;
	}
	return d->broken || !((cons ^ d->pi) & CMDS_MASK);
}

/* With the lock: MiBs are forgotten, which waits for no peer. */
static void cmds_forget(struct mem_dev *dev, unsigned int first, unsigned int n)
{
	unsigned long end = jiffies + msecs_to_jiffies(ACCESS_MS);
	struct mem_decoder *d = &dev->decoder;

	if (d->broken)
		return;
	cmd_put(d, UB_LDS_CMD_INVALIDATE | (u64)first << 32, first + n - 1);
	dma_wmb();
	reg_wr(dev, UB_DECODER_CMDQ_PROD, d->pi & CMDS_MASK);
	while (!cmds_over(dev)) {
		if (time_after(jiffies, end)) {
			dev_err(dev->dma, "decoder commands are not served\n");
			d->broken = true;
		}
		usleep_range(20, 200);
	}
}

/* ---- events ---- */

static void event_take(struct mem_dev *dev, u64 q0, u64 q1)
{
	struct mem_import *im = mem_import_at(dev, q0 >> 32 & 0xfffffff);

	atomic64_inc(&dev->failed);
	/* Where the UBFM's table leads is everybody's that has the device. */
	if (dev->decoder.managed && q1 & UB_LDS_EVENT_STORE)
		dev->text.failed_stores++;
	if (!im)
		return;
	if (q1 & UB_LDS_EVENT_STORE) {
		im->failed_stores++;
		im->file->failed_stores++;
	} else {
		im->failed_loads++;
	}
	im->last_event = q0 & 0xff;
	im->last_status = q1 & 0xffff;
}

/* Those that are there. */
static void events_take(struct mem_dev *dev)
{
	const u32 mask = (2u << EVENTS_LOG2) - 1;
	struct mem_decoder *d = &dev->decoder;
	unsigned int n = 0;
	unsigned long flags;
	u32 prod, resp;

	spin_lock_irqsave(&d->event_lock, flags);
	prod = reg_rd(dev, UB_DECODER_EVENTQ_PROD);
	/* All ones: the device is gone. */
	if (!d->events || prod == ~0u)
		goto out;
	dma_rmb();
	for (; (d->ci ^ prod) & mask; d->ci++, n++, d->owed++) {
		const __le64 *e = d->events + 2 * (d->ci & mask >> 1);

		event_take(dev, le64_to_cpu(e[0]), le64_to_cpu(e[1]));
	}
	resp = prod & UB_DECODER_EVENTQ_PROD__EVENTQ_OVFL_ERR;
	if (n || resp != (reg_rd(dev, UB_DECODER_EVENTQ_CONS) &
			  UB_DECODER_EVENTQ_CONS__EVENTQ_OVFL_ERR_RESP)) {
		if (resp != (reg_rd(dev, UB_DECODER_EVENTQ_CONS) &
			     UB_DECODER_EVENTQ_CONS__EVENTQ_OVFL_ERR_RESP))
			d->lost++;
		reg_wr(dev, UB_DECODER_EVENTQ_CONS, (d->ci & mask) | resp);
	}
out:
	/* An interrupt stands for some of them. */
	d->owed = min(d->owed, 1u << EVENTS_LOG2);
	spin_unlock_irqrestore(&d->event_lock, flags);
}

/* Others share the vector.  Each event has an interrupt, of which some come when it
 * was taken before, by who asked or with another: they are ours, too. */
static irqreturn_t event_irq(int irq, void *opaque)
{
	struct mem_dev *dev = opaque;
	bool ours;

	events_take(dev);
	spin_lock(&dev->decoder.event_lock);
	ours = dev->decoder.owed;
	dev->decoder.owed -= ours;
	spin_unlock(&dev->decoder.event_lock);
	return ours ? IRQ_HANDLED : IRQ_NONE;
}

/* ---- tables ---- */

int mem_window_get(struct mem_dev *dev, unsigned int n)
{
	struct mem_decoder *d = &dev->decoder;
	unsigned long at;

	mutex_lock(&d->lock);
	at = bitmap_find_next_zero_area(d->used, d->mibs, 0, n, 0);
	if (at < d->mibs)
		bitmap_set(d->used, at, n);
	mutex_unlock(&d->lock);
	return at < d->mibs ? (int)at : -ENOSPC;
}

void mem_window_put(struct mem_dev *dev, unsigned int first, unsigned int n)
{
	mutex_lock(&dev->decoder.lock);
	bitmap_clear(dev->decoder.used, first, n);
	mutex_unlock(&dev->decoder.lock);
}

static int l1_make(struct mem_dev *dev, unsigned int i)
{
	struct mem_decoder *d = &dev->decoder;

	if (d->l1[i])
		return 0;
	d->l1[i] = dma_alloc_coherent(dev->dma, L1_BYTES, &d->l1_dma[i],
				      GFP_KERNEL);
	if (!d->l1[i])
		return -ENOMEM;
	dma_wmb();
	/* Eight of them are a Bulk Entry: l0 is an array of L0 PTEs. */
	WRITE_ONCE(d->l0[i], cpu_to_le64(d->l1_dma[i] | UB_LDS_TYPE_TABLE));
	return 0;
}

static __le64 *entry_of(struct mem_decoder *d, unsigned int mib)
{
	return (__le64 *)(d->l1[mib / L1_MIBS] +
			  mib % L1_MIBS * UB_LDS_ENTRY);
}

static void entry_set(__le64 *e, const struct mem_target *to, u64 uba)
{
	unsigned int i;

	for (i = 1; i < UB_LDS_ENTRY / 8; i++)
		e[i] = 0;
	e[1] = cpu_to_le64((u64)to->row << UB_LDS_DEST_SHIFT |
			   (u64)to->order << UB_LDS_ORDER_SHIFT);
	e[4] = cpu_to_le64(to->token_id | (u64)to->value << 32);
	dma_wmb();
	WRITE_ONCE(e[0], cpu_to_le64(uba | UB_LDS_TYPE_PAGE |
				     (to->check ? UB_LDS_TOKEN_VLD : 0)));
}

int mem_window_set(struct mem_dev *dev, unsigned int first, unsigned int n,
		   const struct mem_target *to)
{
	struct mem_decoder *d = &dev->decoder;
	unsigned int i;
	int err;

	mutex_lock(&d->lock);
	/* What it remembers of them may be those who had them before. */
	err = d->broken ? -EIO : 0;
	for (i = first / L1_MIBS; !err && i <= (first + n - 1) / L1_MIBS; i++)
		err = l1_make(dev, i);
	for (i = 0; !err && i < n; i++)
		entry_set(entry_of(d, first + i), to, to->uba + i * MEM_MIB);
	dma_wmb();
	mutex_unlock(&d->lock);
	return err;
}

void mem_window_clear(struct mem_dev *dev, unsigned int first, unsigned int n)
{
	struct mem_decoder *d = &dev->decoder;
	unsigned int i;
	bool lost;

	mutex_lock(&d->lock);
	for (i = first; i < first + n; i++)
		if (d->l1[i / L1_MIBS])
			WRITE_ONCE(*entry_of(d, i), 0);
	cmds_forget(dev, first, n);
	lost = d->broken;
	mutex_unlock(&d->lock);
	/* What failed meanwhile is still the old owner's. */
	if (lost || mem_window_done(dev, first, n, false) != -ETIMEDOUT)
		return;
	dev_err(dev->dma, "accesses do not end\n");
	mutex_lock(&d->lock);
	d->broken = true;
	mutex_unlock(&d->lock);
}

/* ---- the control page ---- */

/* The oldest access to MiBs that is not over, by its number; all ones: the device is
 * gone. */
static u64 window_oldest(struct mem_decoder *d, unsigned int first,
			 unsigned int n)
{
	u64 oldest;

	mutex_lock(&d->lock);
	writeq(first | (u64)(first + n - 1) << 32, d->control + UB_LDS_OLDEST);
	oldest = readq(d->control + UB_LDS_OLDEST);
	mutex_unlock(&d->lock);
	return oldest;
}

/* Nobody's but theirs are waited for: another peer may be silent.  Nor does a processor
 * stand still meanwhile, as it would with a load of the fence. */
static int done_wait(struct mem_decoder *d, unsigned int first, unsigned int n,
		     bool killable)
{
	unsigned long end = jiffies + msecs_to_jiffies(ACCESS_MS);
	u64 upto = readq(d->control + UB_LDS_MADE), oldest;
	unsigned int spins;

	for (spins = 0;; spins++) {
		oldest = window_oldest(d, first, n);
		if (oldest >= upto)
			return oldest == ~0ull ? -EIO : 0;
		if (killable && fatal_signal_pending(current))
			return -EINTR;
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		if (spins > SPINS)
			usleep_range(20, 200);
	}
}

int mem_window_done(struct mem_dev *dev, unsigned int first, unsigned int n,
		    bool killable)
{
	int err = done_wait(&dev->decoder, first, n, killable);

	events_take(dev);
	return err;
}

/* What a slot says when its command is over.  A load of SLOT_WAIT would stop the
 * processor, and ends early, with the command under way, when the machine is stopped. */
static u64 slot_wait(void __iomem *slot)
{
	unsigned long end = jiffies + msecs_to_jiffies(ACCESS_MS);
	unsigned int spins;
	u64 status;

	for (spins = 0;; spins++) {
		status = readq(slot + UB_LDS_SLOT_STATUS);
		/* All ones: the device is gone. */
		if (!(status & UB_LDS_SLOT_BUSY) || status == ~0ull ||
		    time_after(jiffies, end))
			return status;
		if (spins > SPINS)
			usleep_range(20, 200);
	}
}

/* One that nobody has, and that the device is not at any more, or -EIO.  The semaphore
 * has let us in, as many as there are, in the order in which we came. */
static int slot_take(struct mem_decoder *d)
{
	unsigned int n;
	u64 status;

	for (n = 0; n < UB_LDS_SLOTS; n++) {
		if (test_and_set_bit(n, d->slots_used))
			continue;
		status = readq(d->control + UB_LDS_SLOT(n) + UB_LDS_SLOT_STATUS);
		/* One that was not answered would be taken for ours. */
		if (!(status & UB_LDS_SLOT_BUSY) || status == ~0ull)
			return n;
		clear_bit_unlock(n, d->slots_used);
	}
	return -EIO;
}

/* Its status. */
static u64 slot_run(void __iomem *slot, u64 offset, u32 opcode,
		    unsigned int bytes, const u64 *a, const u64 *b, u64 *result)
{
	unsigned int words = DIV_ROUND_UP(bytes, 8), i;
	u64 status;

	for (i = 0; i < words; i++) {
		writeq(a[i], slot + UB_LDS_SLOT_DATA + 8 * i);
		writeq(b[i], slot + UB_LDS_SLOT_DATA2 + 8 * i);
	}
	writeq(offset, slot + UB_LDS_SLOT_ADDR);
	writeq(opcode | (u64)bytes << 8, slot + UB_LDS_SLOT_GO);
	status = slot_wait(slot);
	for (i = 0; i < words; i++)
		result[i] = readq(slot + UB_LDS_SLOT_RESULT + 8 * i);
	return status;
}

/* Nobody has answered. */
static bool slot_silent(u64 status)
{
	return status & UB_LDS_SLOT_BUSY ||
	       (status >> UB_LDS_SLOT_EVENT_SHIFT & 0xff) ==
	       UB_LDS_EVENT_TIMEOUT;
}

int mem_slot(struct mem_dev *dev, struct mem_dest *to, u64 offset, u32 opcode,
	     unsigned int bytes, const u64 *a, const u64 *b, u64 *result)
{
	struct mem_decoder *d = &dev->decoder;
	unsigned int vain = READ_ONCE(to->vain);
	u64 status = 0;
	int n;

	mutex_lock(&to->slot);
	/* Who waited while another one asked in vain has waited as long. */
	if (vain == to->vain) {
		down(&d->slots);
		n = slot_take(d);
		if (n >= 0) {
			status = slot_run(d->control + UB_LDS_SLOT(n), offset,
					  opcode, bytes, a, b, result);
			clear_bit_unlock(n, d->slots_used);
		}
		up(&d->slots);
		if (slot_silent(status))
			WRITE_ONCE(to->vain, to->vain + 1);
	}
	mutex_unlock(&to->slot);
	events_take(dev);
	return status == UB_LDS_SLOT_DONE ? 0 : -EIO;
}

/* ---- life ---- */

static int decoder_alloc(struct mem_dev *dev)
{
	struct mem_decoder *d = &dev->decoder;

	d->l0 = dma_alloc_coherent(dev->dma, UB_LDS_L0_BYTES, &d->l0_dma,
				   GFP_KERNEL);
	d->cmds = dma_alloc_coherent(dev->dma, CMDS_BYTES, &d->cmds_dma,
				     GFP_KERNEL);
	d->events = dma_alloc_coherent(dev->dma, EVENTS_BYTES, &d->events_dma,
				       GFP_KERNEL);
	d->l1 = kvcalloc(d->l1s, sizeof(*d->l1), GFP_KERNEL);
	d->l1_dma = kvcalloc(d->l1s, sizeof(*d->l1_dma), GFP_KERNEL);
	d->used = bitmap_zalloc(d->mibs, GFP_KERNEL);
	d->control = ioremap(d->window + d->bytes - UB_LDS_CONTROL,
			     UB_LDS_CONTROL);
	return d->l0 && d->cmds && d->events && d->l1 && d->l1_dma && d->used &&
	       d->control ? 0 : -ENOMEM;
}

static int decoder_find(struct mem_dev *dev)
{
	struct mem_decoder *d = &dev->decoder;
	struct pci_dev *pdev = dev->core->pdev;
	u64 bytes = ub_config_read(dev->core, own_dw(UB_LDS_VD_WINDOW)) |
		    (u64)ub_config_read(dev->core,
					own_dw(UB_LDS_VD_WINDOW + 1)) << 32;

	d->window = pci_resource_start(pdev, WINDOW_BAR);
	d->bytes = pci_resource_len(pdev, WINDOW_BAR);
	/* A machine with few addresses has not given it a place. */
	if (!d->window || d->bytes != bytes || d->bytes <= MEM_MIB ||
	    d->bytes > 1ull << UB_LDS_PA_BITS) {
		dev_err(dev->dma, "no window\n");
		return -ENODEV;
	}
	d->mibs = (d->bytes >> UB_LDS_PAGE_BITS) - 1;
	d->l1s = DIV_ROUND_UP(d->mibs, L1_MIBS);
	return decoder_alloc(dev);
}

int mem_decoder_start(struct mem_dev *dev)
{
	u32 vector = ub_core_engine_vector(dev->core, UB_MEM);
	struct mem_decoder *d = &dev->decoder;
	int err = d->control ? 0 : decoder_find(dev);

	if (err)
		return err;
	d->pi = d->ci = 0;
	d->broken = false;
	d->managed = ub_config_read(dev->core,
				    UB_CFG1_BASE + UB_CFG1_SUPPORTED_FEATURE) &
		     UB_CFG1_SUPPORTED_FEATURE__DECODER_MATT_JURISDICTION;
	ub_config_write(dev->core, own_dw(UB_LDS_VD_VECTOR), vector);
	reg_wr(dev, UB_DECODER_CTRL, 0);
	if (!d->managed)
		reg_wr64(dev, UB_DECODER_MATT_BA, d->l0_dma);
	reg_wr64(dev, UB_DECODER_MMIO_BA,
		 pci_bus_address(dev->core->pdev, WINDOW_BAR));
	reg_wr(dev, UB_DECODER_CMDQ_CFG, 0);
	reg_wr64(dev, UB_DECODER_CMDQ_BASE_ADDR, d->cmds_dma);
	reg_wr(dev, UB_DECODER_CMDQ_CONS, 0);
	reg_wr(dev, UB_DECODER_CMDQ_PROD, 0);
	reg_wr(dev, UB_DECODER_CMDQ_CFG, CMDS_LOG2 << 8);
	reg_wr(dev, UB_DECODER_CMDQ_CFG,
	       CMDS_LOG2 << 8 | UB_DECODER_CMDQ_CFG__CMDQ_EN);
	reg_wr(dev, UB_DECODER_EVENTQ_CFG, 0);
	reg_wr64(dev, UB_DECODER_EVENTQ_BASE_ADDR, d->events_dma);
	reg_wr(dev, UB_DECODER_EVENTQ_PROD, 0);
	reg_wr(dev, UB_DECODER_EVENTQ_CONS, 0);
	reg_wr(dev, UB_DECODER_EVENTQ_CFG, EVENTS_LOG2 << 8);
	reg_wr(dev, UB_DECODER_EVENTQ_CFG,
	       EVENTS_LOG2 << 8 | UB_DECODER_EVENTQ_CFG__EVENTQ_EN);
	err = request_irq(ub_core_irq(dev->core, vector), event_irq,
			  IRQF_SHARED, KBUILD_MODNAME, dev);
	if (err)
		return err;
	d->irq = ub_core_irq(dev->core, vector);
	reg_wr(dev, UB_DECODER_CTRL, UB_DECODER_CTRL__DECODER_EN);
	return 0;
}

void mem_decoder_stop(struct mem_dev *dev)
{
	struct mem_decoder *d = &dev->decoder;

	if (!d->control)
		return;
	reg_wr(dev, UB_DECODER_CTRL, 0);
	reg_wr(dev, UB_DECODER_CMDQ_CFG, CMDS_LOG2 << 8);
	reg_wr(dev, UB_DECODER_EVENTQ_CFG, EVENTS_LOG2 << 8);
	/* The device does not write to the ring after this. */
	reg_rd(dev, UB_DECODER_EVENTQ_CFG);
	if (d->irq)
		free_irq(d->irq, dev);
	d->irq = 0;
	d->broken = true;
}

void mem_decoder_free(struct mem_dev *dev)
{
	struct mem_decoder *d = &dev->decoder;
	unsigned int i;

	for (i = 0; d->l1 && d->l1_dma && i < d->l1s; i++)
		if (d->l1[i])
			dma_free_coherent(dev->dma, L1_BYTES, d->l1[i],
					  d->l1_dma[i]);
	if (d->events)
		dma_free_coherent(dev->dma, EVENTS_BYTES, d->events,
				  d->events_dma);
	if (d->cmds)
		dma_free_coherent(dev->dma, CMDS_BYTES, d->cmds, d->cmds_dma);
	if (d->l0)
		dma_free_coherent(dev->dma, UB_LDS_L0_BYTES, d->l0, d->l0_dma);
	if (d->control)
		iounmap(d->control);
	bitmap_free(d->used);
	kvfree(d->l1_dma);
	kvfree(d->l1);
	d->l0 = d->cmds = d->events = NULL;
	d->control = NULL;
	d->used = NULL;
	d->l1_dma = NULL;
	d->l1 = NULL;
}
