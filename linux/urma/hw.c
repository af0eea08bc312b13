// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * URMA: the engine's event queue, and what the engine can do.
 */
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>

#include "ub_urma.h"

#define EQ_LOG2		12
#define EQ_BYTES	(UBQ_EQE << EQ_LOG2)
#define EQ		0	/* channels report to this one, so all do */
#define EID_INDEX	0	/* there is no other */

static void hw_wr(struct urma_dev *dev, u32 reg, u32 value)
{
	ub_wr(dev->core->bar, reg, value);
}

static u32 hw_rd(struct urma_dev *dev, u32 reg)
{
	return ub_rd(dev->core->bar, reg);
}

/* ---- events ---- */

static void eq_object(struct urma_dev *dev, unsigned int event, u32 id,
		      u32 data)
{
	struct urma_group *g;
	struct urma_queue *q;
	struct urma_jfc *jfc;
	unsigned long flags;

	switch (event) {
	case UBQ_EVENT_COMPLETION:
	case UBQ_EVENT_JFC_CHECK:
		xa_lock_irqsave(&dev->jfcs, flags);
		jfc = xa_load(&dev->jfcs, id);
		if (jfc && event == UBQ_EVENT_COMPLETION)
			urma_jfc_completion(jfc);
		else if (jfc)
			urma_async_event(jfc->async, URMA_EVENT_JFC_ERR,
					 jfc->obj.cookie, &jfc->obj);
		xa_unlock_irqrestore(&dev->jfcs, flags);
		break;
	case UBQ_EVENT_QUEUE_STATE:
	case UBQ_EVENT_RQ_LIMIT:
	case UBQ_EVENT_RQ_ERROR:
		xa_lock_irqsave(&dev->queues, flags);
		q = xa_load(&dev->queues, id);
		if (q)
			urma_queue_event(q, event, data);
		xa_unlock_irqrestore(&dev->queues, flags);
		break;
	case UBQ_EVENT_GROUP_ERROR:
		xa_lock_irqsave(&dev->groups, flags);
		g = xa_load(&dev->groups, id);
		if (g)
			urma_async_event(g->async, URMA_EVENT_JETTY_GRP_ERR,
					 g->obj.cookie, &g->obj);
		xa_unlock_irqrestore(&dev->groups, flags);
		break;
	case UBQ_EVENT_PORT_UP:
		urma_async_all(dev, URMA_EVENT_PORT_ACTIVE, id);
		break;
	case UBQ_EVENT_PORT_DOWN:
		urma_async_all(dev, URMA_EVENT_PORT_DOWN, id);
		break;
	case UBQ_EVENT_EID:
		urma_async_all(dev, URMA_EVENT_EID_CHANGE, EID_INDEX);
		break;
	case UBQ_EVENT_FATAL:
		urma_async_all(dev, URMA_EVENT_DEV_FATAL, 0);
		break;
	default:
		/* Channels are looked at when they are needed next. */
		break;
	}
}

/* Some were lost: everybody looks. */
static void eq_lost(struct urma_dev *dev)
{
	struct urma_jfc *jfc;
	unsigned long id, flags;

	xa_lock_irqsave(&dev->jfcs, flags);
	xa_for_each(&dev->jfcs, id, jfc)
		urma_jfc_completion(jfc);
	xa_unlock_irqrestore(&dev->jfcs, flags);
}

static bool eq_next(struct urma_eq *eq, u32 *w0, u32 *object, u32 *data)
{
	const __le32 *e = (const __le32 *)(eq->ring +
		(eq->ci & ((1 << EQ_LOG2) - 1)) * UBQ_EQE);
	u32 want = eq->ci >> EQ_LOG2 & 1 ? 0 : UBQ_EQE_OWNER;

	*w0 = le32_to_cpu(READ_ONCE(e[0]));
	if ((*w0 ^ want) & UBQ_EQE_OWNER)
		return false;
	dma_rmb();
	*object = le32_to_cpu(e[1]);
	*data = le32_to_cpu(e[3]);
	eq->ci++;
	return true;
}

static irqreturn_t eq_irq(int irq, void *opaque)
{
	struct urma_dev *dev = opaque;
	u32 w0, object, data, lost;
	bool any = false;

	while (eq_next(&dev->eq, &w0, &object, &data)) {
		any = true;
		eq_object(dev, (w0 & UBQ_EQE_TYPE) << 8 |
			       (w0 & UBQ_EQE_SUB) >> 8, object, data);
	}
	if (!any)
		return IRQ_NONE;
	hw_wr(dev, UBQ_EQ(EQ) + UBQ_EQ_CI, dev->eq.ci);
	/* After CI: what found no room until then is in it, and nothing might follow. */
	lost = hw_rd(dev, UBQ_EQ(EQ) + UBQ_EQ_LOST);
	if (lost != dev->eq.lost) {
		dev->eq.lost = lost;
		eq_lost(dev);
	}
	hw_wr(dev, UBQ_EQ(EQ) + UBQ_EQ_ARM, dev->eq.ci);
	return IRQ_HANDLED;
}

/* ---- life ---- */

static int caps_read(struct urma_dev *dev)
{
	struct urma_caps *caps = &dev->caps;
	struct ub_cmd cmd;
	int err;

	ub_cmd_init(&cmd, 0, 0);
	err = urma_cmd_run(dev, UBQ_OP_CAPS, &cmd);
	if (err)
		return err;
	caps->queues = ub_get32(&cmd, UBQ_CAP_QUEUES);
	caps->cqs = ub_get32(&cmd, UBQ_CAP_CQS);
	caps->pages = ub_bell_pages(dev->core, &cmd);
	if (!caps->pages)
		return -EIO;
	caps->inline_max = ub_get32(&cmd, UBQ_CAP_INLINE);
	caps->elements = ub_get16(&cmd, UBQ_CAP_ELEMENTS);
	caps->recv_elements = ub_get16(&cmd, UBQ_CAP_ELEMENTS + 2);
	caps->channels = ub_get32(&cmd, UBQ_CAP_CHANNELS);
	caps->length = ub_get64(&cmd, UBQ_CAP_LENGTH);
	caps->groups = ub_get32(&cmd, UBQ_CAP_JGROUPS);
	caps->members = min_t(u32, ub_get32(&cmd, UBQ_CAP_JMEMBERS),
			      URMA_MEMBERS_MAX);
	return 0;
}

/* The device was reset before. */
int urma_hw_start(struct urma_dev *dev)
{
	u32 vector = ub_core_engine_vector(dev->core, UB_URMA);
	int err;

	if (!dev->eq.ring)
		dev->eq.ring = dma_alloc_coherent(dev->dma, EQ_BYTES,
						  &dev->eq.dma, GFP_KERNEL);
	if (!dev->eq.ring)
		return -ENOMEM;
	memset(dev->eq.ring, 0, EQ_BYTES);
	dev->eq.ci = 0;
	dev->eq.lost = hw_rd(dev, UBQ_EQ(EQ) + UBQ_EQ_LOST);
	hw_wr(dev, UBQ_EQ(EQ) + UBQ_EQ_CTRL, 0);
	hw_wr(dev, UBQ_EQ(EQ) + UBQ_EQ_BASE_LO, lower_32_bits(dev->eq.dma));
	hw_wr(dev, UBQ_EQ(EQ) + UBQ_EQ_BASE_HI, upper_32_bits(dev->eq.dma));
	hw_wr(dev, UBQ_EQ(EQ) + UBQ_EQ_SIZE, EQ_LOG2);
	hw_wr(dev, UBQ_EQ(EQ) + UBQ_EQ_VECTOR, vector);
	hw_wr(dev, UBQ_EQ(EQ) + UBQ_EQ_CTRL,
	      UBQ_EQ_ENABLE | UBQ_EQ_DEVICE);
	err = caps_read(dev);
	if (err)
		return err;
	dev->irq = ub_core_irq(dev->core, vector);
	err = request_irq(dev->irq, eq_irq, IRQF_SHARED, KBUILD_MODNAME, dev);
	if (err) {
		dev->irq = 0;
		return err;
	}
	hw_wr(dev, UBQ_EQ(EQ) + UBQ_EQ_ARM, 0);
	return 0;
}

/* Idempotent; the registers may be gone with the device. */
void urma_hw_stop(struct urma_dev *dev)
{
	if (dev->irq)
		free_irq(dev->irq, dev);
	dev->irq = 0;
	if (!dev->eq.ring)
		return;
	hw_wr(dev, UBQ_EQ(EQ) + UBQ_EQ_CTRL, 0);
	/* The device does not write to the ring after this. */
	hw_rd(dev, UBQ_EQ(EQ) + UBQ_EQ_CTRL);
}

void urma_hw_free(struct urma_dev *dev)
{
	if (dev->eq.ring)
		dma_free_coherent(dev->dma, EQ_BYTES, dev->eq.ring,
				  dev->eq.dma);
	dev->eq.ring = NULL;
}
