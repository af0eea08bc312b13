// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB memory: programs' mappings of the window, and of pages that are cached.
 *
 * Pages are put into mappings as they are touched, so that those of an import that
 * is gone can be taken away: what is touched later is SIGBUS.
 */
#include <linux/fs.h>
#include <linux/version.h>

#include "ub_mem.h"

/* Those of sysfs are everybody's that has the device. */
static bool may_map(const struct mem_file *f, const struct mem_import *im)
{
	return im->file == f || im->file == &f->dev->text;
}

/* With dev->map: whether MiBs that the UBFM's table may lead somewhere were mapped;
 * what it leads nowhere is as an import whose peer is gone. */
static bool may_map_managed(const struct mem_file *f)
{
	return f->dev->decoder.managed && !f->dead;
}

/* With dev->map: the import that was mapped there, if it still is. */
static struct mem_import *import_of(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct mem_file *f = vma->vm_file->private_data;
	struct mem_import *im;

	if (f->dead)
		return NULL;
	im = xa_load(&f->dev->imports,
		     ((u64)vmf->pgoff << PAGE_SHIFT) / MEM_MIB);
	return im && may_map(f, im) &&
	       im->id == (uintptr_t)vma->vm_private_data ? im : NULL;
}

static vm_fault_t window_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct mem_file *f = vma->vm_file->private_data;
	u64 at = (u64)vmf->pgoff << PAGE_SHIFT;
	struct mem_dev *dev = f->dev;
	vm_fault_t ret = VM_FAULT_SIGBUS;

	down_read(&dev->map);
	if (may_map_managed(f) || import_of(vmf))
		ret = vmf_insert_pfn_prot(vma, vmf->address,
					  PHYS_PFN(dev->decoder.window + at),
					  pgprot_noncached(vma->vm_page_prot));
	up_read(&dev->map);
	return ret;
}

static const struct vm_operations_struct window_ops = {
	.fault = window_fault,
};

/* Others' imports may come and go while a page is read. */
static vm_fault_t cache_call(struct vm_fault *vmf,
			     vm_fault_t (*call)(struct mem_cache *c,
						struct vm_fault *vmf,
						unsigned long i))
{
	struct mem_file *f = vmf->vma->vm_file->private_data;
	struct mem_cache *c = NULL;
	struct mem_import *im;
	unsigned long i = 0;
	vm_fault_t ret;

	down_read(&f->dev->map);
	im = import_of(vmf);
	if (im) {
		c = im->cache;
		i = vmf->pgoff - (im->first * MEM_MIB >> PAGE_SHIFT);
		kref_get(&c->ref);
	}
	up_read(&f->dev->map);
	if (!c)
		return VM_FAULT_SIGBUS;
	ret = call(c, vmf, i);
	mem_cache_put(c);
	return ret;
}

static vm_fault_t cache_fault(struct vm_fault *vmf)
{
	return cache_call(vmf, mem_cache_fault);
}

static vm_fault_t cache_mkwrite(struct vm_fault *vmf)
{
	return cache_call(vmf, mem_cache_mkwrite);
}

static const struct vm_operations_struct cache_ops = {
	.fault = cache_fault,
	.page_mkwrite = cache_mkwrite,
};

/* The file heeds what is stored to imports of sysfs, from now on. */
static void heed_text(struct mem_file *f)
{
	struct mem_dev *dev = f->dev;

	spin_lock_irq(&dev->decoder.event_lock);
	if (!f->maps_text)
		f->told_text = dev->text.failed_stores;
	WRITE_ONCE(f->maps_text, true);
	spin_unlock_irq(&dev->decoder.event_lock);
}

int mem_mmap(struct file *file, struct vm_area_struct *vma)
{
	vm_flags_t flags = VM_DONTEXPAND | VM_DONTDUMP;
	u64 from = (u64)vma->vm_pgoff << PAGE_SHIFT;
	u64 end = from + vma->vm_end - vma->vm_start;
	struct mem_file *f = file->private_data;
	struct mem_dev *dev = f->dev;
	struct mem_import *im;
	int err = -EINVAL;

	if (!(vma->vm_flags & VM_SHARED) || vma->vm_flags & VM_EXEC)
		return -EINVAL;
	down_read(&dev->map);
	im = f->dead ? NULL : xa_load(&dev->imports, from / MEM_MIB);
	if (may_map_managed(f) && from < end &&
	    end <= dev->decoder.mibs * MEM_MIB) {
		vma->vm_ops = &window_ops;
		flags |= VM_PFNMAP | VM_IO;
		err = 0;
	} else if (im && may_map(f, im) && im->id &&
	    end <= im->first * MEM_MIB + im->len) {
		/* Another import that comes there is another one. */
		vma->vm_private_data = (void *)(uintptr_t)im->id;
		vma->vm_ops = im->cache ? &cache_ops : &window_ops;
		flags |= im->cache ? 0 : VM_PFNMAP | VM_IO;
		if (im->file != f)
			heed_text(f);
		err = 0;
	}
	up_read(&dev->map);
	if (err)
		return err;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_mod(vma, flags, VM_MAYEXEC);
#else
	vma->vm_flags = (vma->vm_flags | flags) & ~VM_MAYEXEC;
#endif
	return 0;
}

void mem_unmap(struct mem_dev *dev, u64 from, u64 len)
{
	/* The last file may be closed meanwhile: what sysfs has stays. */
	down_read(&dev->mapped);
	if (dev->inode)
		unmap_mapping_range(dev->inode->i_mapping, from, len, 1);
	up_read(&dev->mapped);
}
