// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB controllers: what the UMMU refuses peers, for the owner of the memory.
 *
 * The UMMU writes an event for each refusal to a ring and interrupts when the ring
 * was empty; a work reads it.  So a peer that is refused all the time costs one
 * interrupt and one turn of the work for as many events as have gathered, a bounded
 * number of lines in the log, and, when the ring is full, events that are counted as
 * lost.  Counters: "ummu" in the device's sysfs folder (docs/specs/ub-mem.rst).
 */
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/slab.h>

#include "ub_engine.h"
#include "ub/ummu_hw.h"

#define RING_LOG2	8
#define RING_BYTES	(UBM_EVT << RING_LOG2)
#define INDEX_MASK	((2u << RING_LOG2) - 1)
#define CODES		(UBM_EVT_E_BIT + 1)
#define VECTOR		0	/* the controller's */

struct ub_refusals {
	struct ub_core *core;
	struct work_struct work;
	u8 *ring;
	dma_addr_t dma;
	u32 ci, seen_lost;
	bool on;
	atomic64_t all, lost, of_code[CODES];
};

static const char *const decisions[] = {
#define TEXT(n, id, text) [n] = text,
	UBM_WHYS(TEXT)
#undef TEXT
};

static void ummu_wr(struct ub_core *core, u32 reg, u32 value)
{
	ub_wr(core->bar, UBM_WINDOW + reg, value);
}

static u32 ummu_rd(struct ub_core *core, u32 reg)
{
	return ub_rd(core->bar, UBM_WINDOW + reg);
}

/* ---- events ---- */

static void event_take(struct ub_refusals *r, const __le64 *e)
{
	u64 q0 = le64_to_cpu(e[0]), addr = le64_to_cpu(e[UBM_EVT_ADDR / 8]);
	u32 code = q0 & UBM_EVT_CODE, why = le64_to_cpu(e[1]) >> 32;
	u32 token_id = q0 >> __builtin_ctzll(UBM_EVT_TOKEN) & 0xfffff;
	const char *text = why < ARRAY_SIZE(decisions) ? decisions[why] : NULL;

	atomic64_inc(&r->all);
	if (code < CODES)
		atomic64_inc(&r->of_code[code]);
	dev_warn_ratelimited(&r->core->pdev->dev,
			     "%s at %#llx of TokenID %#x by %s refused: %s (decision %u, event %#x)\n",
			     q0 & UBM_EVT_READ ? "read" : "write", addr,
			     token_id, q0 & UBM_EVT_LOCAL ? "a queue" : "a peer",
			     text ?: "?", why, code);
}

/* What is wrong with the UMMU itself: told also when it was stopped because of that. */
static void errors_take(struct ub_core *core)
{
	u32 gerror = ummu_rd(core, UBM_GERROR);
	u32 known = ummu_rd(core, UBM_GERRORN);

	if (gerror == known)
		return;
	dev_err_ratelimited(&core->pdev->dev, "errors of the UMMU: %#x\n",
			    gerror ^ known);
	ummu_wr(core, UBM_GERRORN, gerror);
}

/* After CONS: what finds no room from now on is an overflow of its own. */
static void lost_take(struct ub_refusals *r)
{
	u32 lost = ummu_rd(r->core, UBM_LOST);

	if (lost == r->seen_lost)
		return;
	atomic64_add(lost - r->seen_lost, &r->lost);
	r->seen_lost = lost;
	dev_warn_ratelimited(&r->core->pdev->dev,
			     "events of the UMMU are lost\n");
}

/* All that are there now; what comes meanwhile has another interrupt, when CONS says
 * how far this one has read. */
static void events_take(struct work_struct *work)
{
	struct ub_refusals *r = container_of(work, struct ub_refusals, work);
	struct ub_core *core = r->core;
	u32 prod = ummu_rd(core, UBM_EVTQ_PROD);

	/* It is gone: all ones. */
	if (prod == ~0u)
		return;
	errors_take(core);
	/* It was reset. */
	if (!(ummu_rd(core, UBM_CR0ACK) & UBM_CR0_EVTQ))
		return;
	dma_rmb();
	for (; (r->ci ^ prod) & INDEX_MASK; r->ci++)
		event_take(r, (const __le64 *)
			   (r->ring + (r->ci & INDEX_MASK >> 1) * UBM_EVT));
	ummu_wr(core, UBM_EVTQ_CONS, (r->ci & INDEX_MASK) |
				     (prod & UBM_EVTQ_OVERFLOW));
	lost_take(r);
}

irqreturn_t ub_refusals_irq(struct ub_core *core)
{
	struct ub_refusals *r = READ_ONCE(core->refusals);
	u32 prod;

	if (!r || !READ_ONCE(r->on))
		return IRQ_NONE;
	prod = ummu_rd(core, UBM_EVTQ_PROD);
	if (prod == ~0u ||
	    (prod == ummu_rd(core, UBM_EVTQ_CONS) &&
	     ummu_rd(core, UBM_GERROR) == ummu_rd(core, UBM_GERRORN)))
		return IRQ_NONE;
	schedule_work(&r->work);
	return IRQ_HANDLED;
}

/* ---- attributes ---- */

struct code_attribute {
	struct device_attribute attr;
	u32 code;
};

static ssize_t counter_show(struct device *dev, char *buf, u32 code)
{
	struct ub_core *core = dev_get_drvdata(dev);
	struct ub_refusals *r = core->refusals;

	return sysfs_emit(buf, "%lld\n", (long long)
			  atomic64_read(code ? &r->of_code[code] : &r->all));
}

static ssize_t code_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	return counter_show(dev, buf,
			    container_of(attr, struct code_attribute,
					 attr)->code);
}

static ssize_t lost_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	struct ub_core *core = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%lld\n",
			  (long long)atomic64_read(&core->refusals->lost));
}
static DEVICE_ATTR_RO(lost);

/* Accesses that were refused: all, and by event. */
#define CODE_ATTRS(X) \
	X(refused, 0) \
	X(type, UBM_EVT_TYPE) \
	X(bad_eid, UBM_EVT_BAD_EID) \
	X(tect_fetch, UBM_EVT_TECT_FETCH) \
	X(bad_tecte, UBM_EVT_BAD_TECTE) \
	X(bad_token, UBM_EVT_BAD_TOKEN) \
	X(tct_fetch, UBM_EVT_TCT_FETCH) \
	X(bad_tcte, UBM_EVT_BAD_TCTE) \
	X(walk, UBM_EVT_WALK) \
	X(translation, UBM_EVT_TRANSLATION) \
	X(size, UBM_EVT_SIZE) \
	X(access_flag, UBM_EVT_ACCESS_FLAG) \
	X(permission, UBM_EVT_PERMISSION) \
	X(mapt_walk, UBM_EVT_MAPT_WALK) \
	X(mapt_config, UBM_EVT_MAPT_CONFIG) \
	X(mapt, UBM_EVT_MAPT) \
	X(e_bit, UBM_EVT_E_BIT)

#define CODE_ATTR(name, number) \
	static struct code_attribute attr_##name = { \
		__ATTR(name, 0444, code_show, NULL), number };
CODE_ATTRS(CODE_ATTR)

static struct attribute *refusal_attrs[] = {
#define CODE_ATTR_AT(name, number) &attr_##name.attr.attr,
	CODE_ATTRS(CODE_ATTR_AT)
	&dev_attr_lost.attr,
	NULL
};

static umode_t refusal_visible(struct kobject *kobj, struct attribute *attr,
			       int n)
{
	struct ub_core *core = dev_get_drvdata(kobj_to_dev(kobj));

	return core->refusals ? attr->mode : 0;
}

const struct attribute_group ub_refusal_group = {
	.name = "ummu",
	.attrs = refusal_attrs,
	.is_visible = refusal_visible,
};

/* ---- life ---- */

static int refusals_new(struct ub_core *core)
{
	struct ub_refusals *r = kzalloc(sizeof(*r), GFP_KERNEL);

	if (!r)
		return -ENOMEM;
	r->core = core;
	INIT_WORK(&r->work, events_take);
	r->ring = dma_alloc_coherent(&core->pdev->dev, RING_BYTES, &r->dma,
				     GFP_KERNEL);
	if (!r->ring) {
		kfree(r);
		return -ENOMEM;
	}
	WRITE_ONCE(core->refusals, r);
	return 0;
}

int ub_refusals_start(struct ub_core *core)
{
	int err = core->refusals ? 0 : refusals_new(core);
	struct ub_refusals *r = core->refusals;

	if (err)
		return err;
	r->ci = 0;
	r->seen_lost = ummu_rd(core, UBM_LOST);
	ummu_wr(core, UBM_EVTQ_BASE, lower_32_bits(r->dma) | RING_LOG2);
	ummu_wr(core, UBM_EVTQ_BASE + 4, upper_32_bits(r->dma));
	ummu_wr(core, UBM_EVTQ_PROD, 0);
	ummu_wr(core, UBM_EVTQ_CONS, 0);
	ummu_wr(core, UBM_EVTQ_USI_DATA, VECTOR);
	ummu_wr(core, UBM_GERROR_USI_DATA, VECTOR);
	ummu_wr(core, UBM_IRQ_ENABLE, UBM_IRQ_EVTQ | UBM_IRQ_GERROR);
	WRITE_ONCE(r->on, true);
	return 0;
}

void ub_refusals_stop(struct ub_core *core)
{
	struct ub_refusals *r = core->refusals;

	if (!r)
		return;
	ummu_wr(core, UBM_IRQ_ENABLE, 0);
	/* What is in the ring is still told. */
	WRITE_ONCE(r->on, false);
	synchronize_irq(ub_core_irq(core, VECTOR));
	schedule_work(&r->work);
	flush_work(&r->work);
}

void ub_refusals_free(struct ub_core *core)
{
	struct ub_refusals *r = core->refusals;

	if (!r)
		return;
	WRITE_ONCE(core->refusals, NULL);
	/* Others share the vector: who has looked at it before is through. */
	synchronize_irq(ub_core_irq(core, VECTOR));
	dma_free_coherent(&core->pdev->dev, RING_BYTES, r->ring, r->dma);
	kfree(r);
}
