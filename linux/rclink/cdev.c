// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * RC Link driver: TYPE1 and TYPE2 for programs (rclink_uapi.h).
 */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/interrupt.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/uaccess.h>

#include "rclink.h"
#include "rclink_uapi.h"

static const u8 rclink_ring_vector[RCL_RINGS] = {
	[RCL_RING_TX] = RCL_VEC_TX, [RCL_RING_RX1] = RCL_VEC_RX1,
	[RCL_RING_RX2] = RCL_VEC_RX2, [RCL_RING_EVENT] = RCL_VEC_EVENT,
};

static irqreturn_t rclink_ring_irq(int irq, void *data)
{
	struct rclink *rc = data;

	atomic_inc(&rc->rang);
	wake_up_interruptible(&rc->wait);
	return IRQ_HANDLED;
}

static struct rclink *rclink_of(struct file *file)
{
	return container_of(file->private_data, struct rclink, misc);
}

/* All that programs see of the port is as after a reset; TYPE3 goes on. */
static void rclink_cdev_reset(struct rclink *rc)
{
	unsigned int n;

	writeq(0, rc->bar + RCL_RDMA_EN);
	for (n = 0; n < RCL_RINGS; n++)
		writel(0, rc->bar + RCL_RING(n) + RCL_RING_CTRL);
	rclink_set(rc, RCL_SOFT_RESET, RCL_RESET_TYPE1 | RCL_RESET_TYPE2);
}

static void rclink_ring_set(struct rclink *rc, unsigned int n)
{
	void __iomem *r = rc->bar + RCL_RING(n);
	u64 base = rc->area_addr + RCLINK_RING_AT(n);
	u64 shadow = rc->area_addr + RCLINK_SHADOW_AT(n);

	writel(lower_32_bits(base), r + RCL_RING_BASE_LO);
	writel(upper_32_bits(base), r + RCL_RING_BASE_HI);
	writel(RCLINK_LOG, r + RCL_RING_SIZE);
	writel(lower_32_bits(shadow), r + RCL_RING_SHADOW_LO);
	writel(upper_32_bits(shadow), r + RCL_RING_SHADOW_HI);
	writel(RCL_RING_EN | RCL_RING_SHADOW, r + RCL_RING_CTRL);
}

static int rclink_cdev_open(struct inode *inode, struct file *file)
{
	struct rclink *rc = rclink_of(file);
	unsigned int n;
	int err = 0;

	if (!capable(CAP_SYS_RAWIO))
		return -EPERM;
	mutex_lock(&rc->lock);
	if (rc->opened) {
		err = -EBUSY;
		goto out;
	}
	rc->area = dma_alloc_coherent(&rc->pdev->dev, RCLINK_AREA,
				      &rc->area_addr, GFP_KERNEL);
	if (!rc->area) {
		err = -ENOMEM;
		goto out;
	}
	rc->opened = true;
	rclink_cdev_reset(rc);
	for (n = 0; n < RCL_RINGS; n++)
		rclink_ring_set(rc, n);
out:
	mutex_unlock(&rc->lock);
	return err;
}

/* The last mapping is gone as well. */
static int rclink_cdev_release(struct inode *inode, struct file *file)
{
	struct rclink *rc = rclink_of(file);

	mutex_lock(&rc->lock);
	rclink_cdev_reset(rc);
	dma_free_coherent(&rc->pdev->dev, RCLINK_AREA, rc->area,
			  rc->area_addr);
	rc->area = NULL;
	rc->opened = false;
	mutex_unlock(&rc->lock);
	return 0;
}

static bool rclink_reg_allowed(u32 reg)
{
	return !(reg & 7) && reg < 0x4000 && reg != RCL_SOFT_RESET &&
	       (reg < 0x1000 || reg >= 0x2000) && reg != RCL_QP_ID_SET;
}

static long rclink_cdev_ioctl(struct file *file, unsigned int cmd,
			      unsigned long arg)
{
	struct rclink *rc = rclink_of(file);
	void __user *user = (void __user *)arg;
	struct rclink_info info = {};
	struct rclink_reg reg;

	if (cmd == RCLINK_IOC_INFO) {
		info.area = rc->area_addr;
		info.limits = rclink_get(rc, RCL_LIMITS);
		return copy_to_user(user, &info, sizeof(info)) ? -EFAULT : 0;
	}
	if (cmd != RCLINK_IOC_GET && cmd != RCLINK_IOC_SET)
		return -ENOTTY;
	if (copy_from_user(&reg, user, sizeof(reg)))
		return -EFAULT;
	if (!rclink_reg_allowed(reg.reg))
		return -EINVAL;
	mutex_lock(&rc->lock);
	if (reg.reg >= 0x2000 && reg.reg < 0x3000)
		rclink_set(rc, RCL_QP_ID_SET, reg.qp);
	if (cmd == RCLINK_IOC_SET)
		rclink_set(rc, reg.reg, reg.value);
	else
		reg.value = rclink_get(rc, reg.reg);
	mutex_unlock(&rc->lock);
	if (cmd == RCLINK_IOC_GET && copy_to_user(user, &reg, sizeof(reg)))
		return -EFAULT;
	return 0;
}

static int rclink_cdev_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct rclink *rc = rclink_of(file);
	unsigned long len = vma->vm_end - vma->vm_start;
	phys_addr_t bar = pci_resource_start(rc->pdev, 0) + RCL_RING(0);

	if (vma->vm_pgoff == RCLINK_MAP_RINGS >> PAGE_SHIFT) {
		if (len != PAGE_SIZE || PAGE_SIZE > 0x4000)
			return -EINVAL;
		vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
		return io_remap_pfn_range(vma, vma->vm_start,
					  bar >> PAGE_SHIFT, len,
					  vma->vm_page_prot);
	}
	if (vma->vm_pgoff || len > PAGE_ALIGN(RCLINK_AREA))
		return -EINVAL;
	return dma_mmap_coherent(&rc->pdev->dev, vma, rc->area,
				 rc->area_addr, RCLINK_AREA);
}

static __poll_t rclink_cdev_poll(struct file *file, poll_table *wait)
{
	struct rclink *rc = rclink_of(file);

	poll_wait(file, &rc->wait, wait);
	return atomic_xchg(&rc->rang, 0) ? EPOLLIN | EPOLLRDNORM : 0;
}

static const struct file_operations rclink_fops = {
	.owner = THIS_MODULE,
	.open = rclink_cdev_open,
	.release = rclink_cdev_release,
	.unlocked_ioctl = rclink_cdev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = rclink_cdev_mmap,
	.poll = rclink_cdev_poll,
};

static void rclink_free_ring_irqs(struct rclink *rc, unsigned int n)
{
	while (n--)
		pci_free_irq(rc->pdev, rclink_ring_vector[n], rc);
}

int rclink_cdev_init(struct rclink *rc)
{
	unsigned int n;
	int err;

	init_waitqueue_head(&rc->wait);
	for (n = 0; n < RCL_RINGS; n++) {
		err = pci_request_irq(rc->pdev, rclink_ring_vector[n],
				      rclink_ring_irq, NULL, rc,
				      RCLINK_NAME "-ring%u", n);
		if (err)
			goto err_irqs;
	}
	snprintf(rc->misc_name, sizeof(rc->misc_name), "rclink-%s",
		 pci_name(rc->pdev));
	rc->misc.minor = MISC_DYNAMIC_MINOR;
	rc->misc.name = rc->misc_name;
	rc->misc.fops = &rclink_fops;
	rc->misc.parent = &rc->pdev->dev;
	rc->misc.mode = 0600;
	err = misc_register(&rc->misc);
	if (err)
		goto err_irqs;
	return 0;

err_irqs:
	rclink_free_ring_irqs(rc, n);
	return err;
}

void rclink_cdev_exit(struct rclink *rc)
{
	misc_deregister(&rc->misc);
	rclink_free_ring_irqs(rc, RCL_RINGS);
}
