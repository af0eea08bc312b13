// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * URMA: memory of queues, and programs' mappings of it and of doorbells.
 *
 * Pages are put into mappings as they are touched, so that those of a device
 * that is gone can be taken away for good: what is touched later is a page that
 * leads nowhere.
 */
#include <linux/dma-mapping.h>
#include <linux/vmalloc.h>

#include "ub_urma.h"

/* In units of which the offsets of mappings count. */
#define MMAP_UNITS	(PAGE_SHIFT - URMA_MMAP_SHIFT)

#define RECORD_BYTES	64	/* a line of its own */

/* Behind the entries, or in one page more: the ring's size stays a power of 2. */
static int record_place(struct urma_ring *ring, size_t behind)
{
	ring->record = ALIGN(behind, RECORD_BYTES);
	if (ring->record + RECORD_BYTES <= ring->bytes)
		return 0;
	ring->tail = dma_alloc_coherent(ring->dev->dma, PAGE_SIZE,
					&ring->tail_dma, GFP_KERNEL_ACCOUNT);
	if (!ring->tail)
		return -ENOMEM;
	ring->record = ring->bytes;
	ring->bytes += PAGE_SIZE;
	return 0;
}

dma_addr_t urma_ring_record(const struct urma_ring *ring)
{
	return ring->tail ? ring->tail_dma : ring->dma + ring->record;
}

/* Give back the memory, which nobody maps. */
static void ring_empty(struct urma_ring *ring)
{
	if (ring->cpu)
		dma_free_coherent(ring->dev->dma, ring->entries, ring->cpu,
				  ring->dma);
	ring->cpu = NULL;
	if (ring->tail)
		dma_free_coherent(ring->dev->dma, PAGE_SIZE, ring->tail,
				  ring->tail_dma);
	ring->tail = NULL;
}

struct urma_ring *urma_ring_new(struct urma_dev *dev, size_t bytes,
				bool record)
{
	struct urma_ring *ring = kzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);

	if (!ring)
		return NULL;
	kref_init(&ring->kref);
	ring->dev = dev;
	ring->bytes = ring->entries = PAGE_ALIGN(bytes);
	ring->cpu = dma_alloc_coherent(dev->dma, ring->bytes, &ring->dma,
				       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!ring->cpu || (record && record_place(ring, bytes))) {
		ring_empty(ring);
		kfree(ring);
		return NULL;
	}
	kref_get(&dev->kref);
	spin_lock(&dev->rings_lock);
	list_add(&ring->list, &dev->rings);
	spin_unlock(&dev->rings_lock);
	return ring;
}

static void ring_release(struct kref *kref)
{
	struct urma_ring *ring = container_of(kref, struct urma_ring, kref);
	struct urma_dev *dev = ring->dev;

	spin_lock(&dev->rings_lock);
	list_del(&ring->list);
	spin_unlock(&dev->rings_lock);
	ring_empty(ring);
	kfree(ring);
	urma_dev_put(dev);
}

void urma_ring_put(struct urma_ring *ring)
{
	if (ring)
		kref_put(&ring->kref, ring_release);
}

void urma_ring_keep(struct urma_ring *ring)
{
	struct urma_dev *dev = ring->dev;

	spin_lock(&dev->rings_lock);
	ring->kept = true;
	spin_unlock(&dev->rings_lock);
}

static void vma_close(struct vm_area_struct *vma)
{
	urma_ring_put(vma->vm_private_data);
}

static void vma_open(struct vm_area_struct *vma)
{
	struct urma_ring *ring = vma->vm_private_data;

	if (ring)
		kref_get(&ring->kref);
}

static unsigned long ring_pfn(const struct urma_ring *ring,
			      unsigned long offset)
{
	void *at = offset < ring->entries ? ring->cpu + offset : ring->tail;

	return is_vmalloc_addr(at) ? vmalloc_to_pfn(at)
				   : page_to_pfn(virt_to_page(at));
}

/* Without a ring it is the doorbell page. */
static vm_fault_t vma_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct urma_ring *ring = vma->vm_private_data;
	struct urma_file *f = vma->vm_file->private_data;
	struct urma_dev *dev = f->dev;
	unsigned long offset = (vmf->address & PAGE_MASK) - vma->vm_start;
	unsigned long pfn;
	vm_fault_t ret;

	down_read(&dev->map);
	if (f->cut || (ring && offset >= ring->bytes))
		pfn = page_to_pfn(f->sink);
	else if (ring)
		pfn = ring_pfn(ring, offset);
	else
		pfn = PHYS_PFN(dev->bells + f->page * (phys_addr_t)UBQ_PAGE);
	if (!ring && pfn != page_to_pfn(f->sink))
		ret = vmf_insert_pfn_prot(vma, vmf->address, pfn,
					  pgprot_noncached(vma->vm_page_prot));
	else
		ret = vmf_insert_pfn(vma, vmf->address, pfn);
	up_read(&dev->map);
	return ret;
}

static int vma_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -EINVAL;
}

static const struct vm_operations_struct vma_ops = {
	.open = vma_open,
	.close = vma_close,
	.fault = vma_fault,
	.may_split = vma_may_split,
};

int urma_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct urma_file *f = file->private_data;
	unsigned long bytes = vma->vm_end - vma->vm_start;
	unsigned long handle = vma->vm_pgoff << MMAP_UNITS;
	struct urma_ring *ring = NULL;
	struct urma_obj *obj;

	if (!(vma->vm_flags & VM_SHARED) || vma->vm_flags & VM_EXEC)
		return -EINVAL;
	if (handle) {
		xa_lock(&f->objs);
		obj = xa_load(&f->objs, handle);
		ring = obj ? obj->ring : NULL;
		if (ring)
			kref_get(&ring->kref);
		xa_unlock(&f->objs);
		if (!ring || bytes > ring->bytes) {
			urma_ring_put(ring);
			return -EINVAL;
		}
	} else if (bytes > PAGE_SIZE || !smp_load_acquire(&f->context)) {
		return -EINVAL;
	}
	vma->vm_private_data = ring;
	vma->vm_ops = &vma_ops;
	urma_vma_flags(vma, VM_PFNMAP | VM_IO | VM_DONTEXPAND | VM_DONTDUMP |
			    VM_DONTCOPY);
	return 0;
}

void urma_unmap_all(struct urma_dev *dev)
{
	unmap_mapping_range(dev->inode->i_mapping, 0, 0, 1);
}

static struct urma_ring *ring_full(struct urma_dev *dev)
{
	struct urma_ring *ring;

	list_for_each_entry(ring, &dev->rings, list)
		if (ring->cpu && kref_get_unless_zero(&ring->kref))
			return ring;
	return NULL;
}

/* Rings that only mappings keep, or the device kept: what they had goes with it. */
void urma_rings_empty(struct urma_dev *dev)
{
	struct urma_ring *ring;
	bool kept;

	do {
		spin_lock(&dev->rings_lock);
		ring = ring_full(dev);
		kept = ring && ring->kept;
		if (kept)
			ring->kept = false;
		spin_unlock(&dev->rings_lock);
		if (ring) {
			ring_empty(ring);
			urma_ring_put(ring);
		}
		if (kept)
			urma_ring_put(ring);
	} while (ring);
}
