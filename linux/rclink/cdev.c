// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * RC Link driver: TYPE1 and TYPE2 for programs (rclink_uapi.h).
 *
 * What a program has open outlives the device: the object is counted, its memory
 * stays until the last reference to the file goes, and the registers that it has
 * mapped become a page that nobody reads.
 */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/interrupt.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#include "rclink.h"
#include "rclink_uapi.h"

/* In the rings' piece, behind what programs use: stands for the registers
 * of a device that is gone. */
#define RCLINK_SPARE_AT		PAGE_ALIGN(RCLINK_RINGS_BYTES)

/* The port's registers that a program may set, to be put back behind it. */
static const u16 rclink_kept[] = {
	RCL_XON_THR_RDMA, RCL_MAC_ADDR, RCL_XON_THR_NON_RDMA, RCL_IP_ADDR,
	RCL_VLAN_CTRL, RCL_RETRY_TIMER_CFG, RCL_DEST_IP_MEM2,
	RCL_DEST_MAC_MEM2, RCL_UDP_PORT_MEM2, RCL_AFH_CFG_EN,
	RCL_TYPE2_DA(0), RCL_TYPE2_DA(1), RCL_TYPE2_DA(2), RCL_TYPE2_DA(3),
	RCL_TYPE2_DA(4), RCL_TYPE2_DA(5), RCL_TYPE2_DA(6), RCL_TYPE2_DA(7),
	RCL_TRAFFIC_CLASS, RCL_CTRL, RCL_CC_WINDOW, RCL_CNP_THR, RCL_NOCNP,
	RCL_RNR_CODE, RCL_TYPE2_RATE, RCL_INTR_MASK, RCL_FLOW_STOP,
	RCL_EVENT_MASK, RCL_QP_ID_SET,
	RCL_MAC_CBFC_CFG(0), RCL_MAC_CBFC_CFG(1), RCL_MAC_CBFC_CFG(2),
	RCL_MAC_CBFC_CFG(3), RCL_MAC_CBFC_CFG(4), RCL_MAC_CBFC_CFG(5),
	RCL_MAC_CBFC_CFG(6), RCL_MAC_CBFC_CFG(7),
};

struct rclink_piece {
	struct page *pages;
	dma_addr_t bus;
	size_t bytes;
};

struct rclink_cdev {
	struct kref ref;
	struct miscdevice misc;
	char name[24];
	struct rw_semaphore gone;	/* held for reading while rc is used */
	struct rclink *rc;		/* NULL: the device is gone */
	bool away;			/* the port is being reset */
	bool over;			/* it was, under @file */
	struct mutex lock;	/* QP_ID_SET and its windows, and @file */
	struct file *file;
	wait_queue_head_t wait;
	atomic_t rang, seen;	/* messages of rings; those that were read */
	struct rclink_piece piece[RCLINK_PIECES];
	u64 kept[ARRAY_SIZE(rclink_kept)];
};

static const u8 rclink_ring_vector[RCL_RINGS] = {
	[RCL_RING_TX] = RCL_VEC_TX, [RCL_RING_RX1] = RCL_VEC_RX1,
	[RCL_RING_RX2] = RCL_VEC_RX2, [RCL_RING_EVENT] = RCL_VEC_EVENT,
};

static irqreturn_t rclink_ring_irq(int irq, void *data)
{
	struct rclink_cdev *c = data;

	atomic_inc(&c->rang);
	wake_up_interruptible(&c->wait);
	return IRQ_HANDLED;
}

static void rclink_cdev_free(struct kref *ref)
{
	kfree(container_of(ref, struct rclink_cdev, ref));
}

/* ---- the port ---- */

/* All that programs see of the port is as after a reset; TYPE3 goes on. */
static void rclink_cdev_reset(struct rclink_cdev *c)
{
	struct rclink *rc = c->rc;
	unsigned int n;

	rclink_set(rc, RCL_RDMA_EN, 0);
	for (n = 0; n < RCL_RINGS; n++)
		writel(0, rc->bar + RCL_RING(n) + RCL_RING_CTRL);
	rclink_set(rc, RCL_SOFT_RESET, RCL_RESET_TYPE1 | RCL_RESET_TYPE2);
	rclink_set(rc, RCL_CBFC_RESET, 1);
	/* One after the other, what they say together is none of CBFC's. */
	rclink_set(rc, RCL_AFH_CFG_EN, rclink_get(rc, RCL_AFH_CFG_EN) |
				       BIT(RCL_CFG_STOP_CBFC));
	for (n = 0; n < ARRAY_SIZE(rclink_kept); n++)
		if (rclink_get(rc, rclink_kept[n]) != c->kept[n])
			rclink_set(rc, rclink_kept[n], c->kept[n]);
	rclink_set(rc, RCL_INTR_STATUS, rclink_get(rc, RCL_INTR_STATUS));
	rclink_set(rc, RCL_ERR_STATUS, rclink_get(rc, RCL_ERR_STATUS));
}

static void rclink_ring_set(struct rclink_cdev *c, unsigned int n)
{
	u64 base = c->piece[RCLINK_PIECE_RINGS].bus;
	void __iomem *r = c->rc->bar + RCL_RING(n);
	u64 shadow = base + RCLINK_SHADOW_AT(n);

	base += RCLINK_RING_AT(n);
	writel(lower_32_bits(base), r + RCL_RING_BASE_LO);
	writel(upper_32_bits(base), r + RCL_RING_BASE_HI);
	writel(n == RCL_RING_EVENT ? RCLINK_LOG_EVENTS : RCLINK_LOG,
	       r + RCL_RING_SIZE);
	writel(lower_32_bits(shadow), r + RCL_RING_SHADOW_LO);
	writel(upper_32_bits(shadow), r + RCL_RING_SHADOW_HI);
	writel(RCL_RING_EN | RCL_RING_SHADOW, r + RCL_RING_CTRL);
}

/* ---- memory ---- */

static void rclink_unmap_pieces(struct rclink_cdev *c)
{
	unsigned int n;

	for (n = 0; n < RCLINK_PIECES; n++)
		dma_unmap_page(&c->rc->pdev->dev, c->piece[n].bus,
			       c->piece[n].bytes, DMA_BIDIRECTIONAL);
}

static void rclink_free_pieces(struct rclink_cdev *c, unsigned int n)
{
	while (n--)
		__free_pages(c->piece[n].pages, get_order(c->piece[n].bytes));
}

static int rclink_alloc_piece(struct rclink_cdev *c, unsigned int n)
{
	struct device *dev = &c->rc->pdev->dev;
	struct rclink_piece *p = &c->piece[n];
	int err = -ENOMEM;

	p->bytes = n == RCLINK_PIECE_RINGS ? RCLINK_SPARE_AT + PAGE_SIZE :
		   PAGE_ALIGN(RCLINK_BUFFERS_BYTES);
	p->pages = alloc_pages(GFP_KERNEL | __GFP_ZERO, get_order(p->bytes));
	if (!p->pages)
		return err;
	p->bus = dma_map_page(dev, p->pages, 0, p->bytes, DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dev, p->bus))
		goto err_free;
	/* A program has no way to synchronise caches. */
	if (!dma_need_sync(dev, p->bus))
		return 0;
	err = -EOPNOTSUPP;
	dma_unmap_page(dev, p->bus, p->bytes, DMA_BIDIRECTIONAL);
err_free:
	__free_pages(p->pages, get_order(p->bytes));
	return err;
}

static int rclink_alloc_pieces(struct rclink_cdev *c)
{
	unsigned int n, i;
	int err;

	for (n = 0; n < RCLINK_PIECES; n++) {
		err = rclink_alloc_piece(c, n);
		if (!err)
			continue;
		for (i = 0; i < n; i++)
			dma_unmap_page(&c->rc->pdev->dev, c->piece[i].bus,
				       c->piece[i].bytes, DMA_BIDIRECTIONAL);
		rclink_free_pieces(c, n);
		return err;
	}
	return 0;
}

/* ---- the file ---- */

static int rclink_cdev_begin(struct rclink_cdev *c, struct file *file)
{
	unsigned int n;
	int err;

	if (!c->rc || c->away)
		return -ENODEV;
	if (c->file)
		return -EBUSY;
	err = rclink_alloc_pieces(c);
	if (err)
		return err;
	rclink_cdev_reset(c);
	for (n = 0; n < RCL_RINGS; n++)
		rclink_ring_set(c, n);
	atomic_set(&c->seen, atomic_read(&c->rang));
	c->file = file;
	kref_get(&c->ref);
	return 0;
}

static int rclink_cdev_open(struct inode *inode, struct file *file)
{
	/* misc_open() holds the lock that rclink_cdev_exit() waits for. */
	struct rclink_cdev *c = container_of(file->private_data,
					     struct rclink_cdev, misc);
	int err;

	if (!capable(CAP_SYS_RAWIO))
		return -EPERM;
	file->private_data = c;
	down_read(&c->gone);
	mutex_lock(&c->lock);
	err = rclink_cdev_begin(c, file);
	mutex_unlock(&c->lock);
	up_read(&c->gone);
	return err;
}

/* The last mapping is gone as well. */
static int rclink_cdev_release(struct inode *inode, struct file *file)
{
	struct rclink_cdev *c = file->private_data;

	down_read(&c->gone);
	mutex_lock(&c->lock);
	if (c->rc) {
		if (!c->away)
			rclink_cdev_reset(c);
		rclink_unmap_pieces(c);
	}
	rclink_free_pieces(c, RCLINK_PIECES);
	c->file = NULL;
	c->over = false;
	mutex_unlock(&c->lock);
	up_read(&c->gone);
	kref_put(&c->ref, rclink_cdev_free);
	return 0;
}

static bool rclink_reg_allowed(u32 reg)
{
	return !(reg & 7) && reg < 0x4000 && reg != RCL_SOFT_RESET &&
	       (reg < 0x1000 || reg >= 0x2000) && reg != RCL_QP_ID_SET;
}

static void rclink_cdev_info(struct rclink_cdev *c, struct rclink_info *info)
{
	unsigned int n;

	info->limits = rclink_get(c->rc, RCL_LIMITS);
	info->mac = rclink_get(c->rc, RCL_MAC_ADDR) & GENMASK_ULL(47, 0);
	for (n = 0; n < RCLINK_PIECES; n++)
		info->bus[n] = c->piece[n].bus;
}

static void rclink_cdev_reg(struct rclink_cdev *c, bool set,
			    struct rclink_reg *reg)
{
	struct rclink *rc = c->rc;

	mutex_lock(&c->lock);
	if (reg->reg >= 0x2000 && reg->reg < 0x3000)
		rclink_set(rc, RCL_QP_ID_SET, reg->qp);
	if (set)
		rclink_set(rc, reg->reg, reg->value);
	else
		reg->value = rclink_get(rc, reg->reg);
	mutex_unlock(&c->lock);
}

static long rclink_cdev_ioctl(struct file *file, unsigned int cmd,
			      unsigned long arg)
{
	struct rclink_cdev *c = file->private_data;
	void __user *user = (void __user *)arg;
	union {
		struct rclink_info info;
		struct rclink_reg reg;
	} u = {};
	bool there;

	if (cmd != RCLINK_IOC_INFO && cmd != RCLINK_IOC_GET &&
	    cmd != RCLINK_IOC_SET)
		return -ENOTTY;
	/* Not under @gone: a fault in our own mapping takes it. */
	if (cmd != RCLINK_IOC_INFO) {
		if (copy_from_user(&u.reg, user, sizeof(u.reg)))
			return -EFAULT;
		if (!rclink_reg_allowed(u.reg.reg))
			return -EINVAL;
	}
	down_read(&c->gone);
	there = c->rc && !c->over;
	if (there && cmd == RCLINK_IOC_INFO)
		rclink_cdev_info(c, &u.info);
	else if (there)
		rclink_cdev_reg(c, cmd == RCLINK_IOC_SET, &u.reg);
	up_read(&c->gone);
	if (!there)
		return -EIO;
	if (cmd == RCLINK_IOC_SET)
		return 0;
	return copy_to_user(user, &u, _IOC_SIZE(cmd)) ? -EFAULT : 0;
}

/* The page behind an offset of the file: 0 if there is none. */
static unsigned long rclink_pfn(struct rclink_cdev *c, unsigned long off)
{
	unsigned int n = off >> 24;

	if (off == RCLINK_MAP_REGS && c->rc && !c->over)
		return (pci_resource_start(c->rc->pdev, 0) + RCL_RING(0)) >>
		       PAGE_SHIFT;
	if (off == RCLINK_MAP_REGS)	/* the spare page of the rings' piece */
		return page_to_pfn(c->piece[RCLINK_PIECE_RINGS].pages) +
		       (RCLINK_SPARE_AT >> PAGE_SHIFT);
	off &= RCLINK_MAP(1) - 1;
	if (n >= RCLINK_PIECES || off >= c->piece[n].bytes)
		return 0;
	return page_to_pfn(c->piece[n].pages) + (off >> PAGE_SHIFT);
}

static vm_fault_t rclink_cdev_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct rclink_cdev *c = vma->vm_private_data;
	vm_fault_t ret = VM_FAULT_SIGBUS;
	unsigned long pfn;

	down_read(&c->gone);
	pfn = rclink_pfn(c, vmf->pgoff << PAGE_SHIFT);
	if (pfn)
		ret = vmf_insert_pfn(vma, vmf->address, pfn);
	up_read(&c->gone);
	return ret;
}

static const struct vm_operations_struct rclink_vm_ops = {
	.fault = rclink_cdev_fault,
};

/* Pages come by faults: so no register comes after the device has gone. */
static int rclink_cdev_mmap(struct file *file, struct vm_area_struct *vma)
{
	/* The rings' registers are at an offset that has to be a page's. */
	if (PAGE_SIZE > 0x4000 || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_set(vma, VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
#else
	vma->vm_flags |= VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP;
#endif
	if (vma->vm_pgoff << PAGE_SHIFT == RCLINK_MAP_REGS) {
		if (vma->vm_end - vma->vm_start != PAGE_SIZE)
			return -EINVAL;
		vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
	} else if (vma->vm_pgoff << PAGE_SHIFT > RCLINK_MAP_REGS ||
		   (vma->vm_pgoff << PAGE_SHIFT) + vma->vm_end -
		   vma->vm_start > RCLINK_MAP_REGS) {
		return -EINVAL;
	}
	vma->vm_private_data = file->private_data;
	vma->vm_ops = &rclink_vm_ops;
	return 0;
}

static __poll_t rclink_cdev_poll(struct file *file, poll_table *wait)
{
	struct rclink_cdev *c = file->private_data;

	poll_wait(file, &c->wait, wait);
	if (!READ_ONCE(c->rc) || READ_ONCE(c->over))
		return EPOLLHUP | EPOLLERR;
	return atomic_read(&c->rang) != atomic_read(&c->seen) ?
	       EPOLLIN | EPOLLRDNORM : 0;
}

static ssize_t rclink_cdev_read(struct file *file, char __user *user,
				size_t len, loff_t *off)
{
	struct rclink_cdev *c = file->private_data;
	int now, seen;
	u32 num;

	if (!READ_ONCE(c->rc) || READ_ONCE(c->over))
		return -EIO;
	if (len < sizeof(num))
		return -EINVAL;
	/* Messages were seen when the program has their number. */
	do {
		seen = atomic_read(&c->seen);
		now = atomic_read(&c->rang);
		num = (u32)now - seen;
		if (copy_to_user(user, &num, sizeof(num)))
			return -EFAULT;
	} while (atomic_cmpxchg(&c->seen, seen, now) != seen);
	return sizeof(num);
}

static const struct file_operations rclink_fops = {
	.owner = THIS_MODULE,
	.open = rclink_cdev_open,
	.release = rclink_cdev_release,
	.unlocked_ioctl = rclink_cdev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = rclink_cdev_mmap,
	.poll = rclink_cdev_poll,
	.read = rclink_cdev_read,
	.llseek = noop_llseek,
};

/* ---- life ---- */

static void rclink_free_ring_irqs(struct rclink *rc, unsigned int n)
{
	while (n--)
		pci_free_irq(rc->pdev, rclink_ring_vector[n], rc->cdev);
}

int rclink_cdev_init(struct rclink *rc)
{
	struct rclink_cdev *c = kzalloc(sizeof(*c), GFP_KERNEL);
	unsigned int n;
	int err;

	if (!c)
		return -ENOMEM;
	kref_init(&c->ref);
	init_rwsem(&c->gone);
	mutex_init(&c->lock);
	init_waitqueue_head(&c->wait);
	c->rc = rc;
	rc->cdev = c;
	for (n = 0; n < ARRAY_SIZE(rclink_kept); n++)
		c->kept[n] = rclink_get(rc, rclink_kept[n]);
	for (n = 0; n < RCL_RINGS; n++) {
		err = pci_request_irq(rc->pdev, rclink_ring_vector[n],
				      rclink_ring_irq, NULL, c,
				      RCLINK_NAME "-ring%u", n);
		if (err)
			goto err_irqs;
	}
	snprintf(c->name, sizeof(c->name), "rclink-%s", pci_name(rc->pdev));
	c->misc.minor = MISC_DYNAMIC_MINOR;
	c->misc.name = c->name;
	c->misc.fops = &rclink_fops;
	c->misc.parent = &rc->pdev->dev;
	c->misc.mode = 0600;
	err = misc_register(&c->misc);
	if (err)
		goto err_irqs;
	return 0;

err_irqs:
	rclink_free_ring_irqs(rc, n);
	kref_put(&c->ref, rclink_cdev_free);
	return err;
}

void rclink_cdev_away(struct rclink *rc, bool away)
{
	struct rclink_cdev *c = rc->cdev;

	down_write(&c->gone);
	c->away = away;
	if (away && c->file) {
		c->over = true;
		unmap_mapping_range(c->file->f_mapping, RCLINK_MAP_REGS,
				    PAGE_SIZE, 1);
		rclink_cdev_reset(c);
	}
	up_write(&c->gone);
	wake_up_interruptible(&c->wait);
}

void rclink_cdev_exit(struct rclink *rc)
{
	struct rclink_cdev *c = rc->cdev;

	misc_deregister(&c->misc);
	down_write(&c->gone);
	/* Nobody opens it any more.  Who has it open keeps the memory. */
	if (c->file) {
		unmap_mapping_range(c->file->f_mapping, RCLINK_MAP_REGS,
				    PAGE_SIZE, 1);
		rclink_cdev_reset(c);
		rclink_unmap_pieces(c);
	}
	rclink_free_ring_irqs(rc, RCL_RINGS);
	c->rc = NULL;
	up_write(&c->gone);
	wake_up_interruptible(&c->wait);
	kref_put(&c->ref, rclink_cdev_free);
}
