// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB memory: export and import by text in sysfs.
 *
 * What is made here is the device's: it outlives the program that wrote, and whoever has
 * the device node may map imports.  Each file has one command, whose words it leaves out.
 */
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/string.h>

#include "ub_mem.h"

/* Bytes that a line has at most.  What has no room in a page is not begun. */
#define LINE_BYTES	128

static struct mem_file *file_of(struct device *dev)
{
	return &container_of(dev_get_drvdata(dev), struct mem_dev, misc)->text;
}

static ssize_t run(struct device *dev, const char *command, const char *words,
		   size_t bytes)
{
	char text[MEM_TEXT];
	int err;

	if (snprintf(text, sizeof(text), "%s %s", command, words) >=
	    sizeof(text))
		return -EINVAL;
	err = mem_command(file_of(dev), text);
	return err ? err : bytes;
}

static ssize_t export_store(struct device *dev, struct device_attribute *attr,
			    const char *words, size_t bytes)
{
	return run(dev, "export", words, bytes);
}

/* Descriptors. */
static ssize_t export_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	struct mem_file *f = file_of(dev);
	struct mem_export *ex;
	int err = mem_file_lock(f);
	size_t n = 0;

	if (err)
		return err;
	list_for_each_entry(ex, &f->exports, list)
		if (PAGE_SIZE - n >= LINE_BYTES)
			n += mem_export_text(f, ex, ex->grant.other, buf + n,
					     PAGE_SIZE - n);
	mem_file_unlock(f);
	return n;
}
static DEVICE_ATTR_ADMIN_RW(export);

static ssize_t unexport_store(struct device *dev,
			      struct device_attribute *attr, const char *words,
			      size_t bytes)
{
	return run(dev, "unexport", words, bytes);
}

static ssize_t import_store(struct device *dev, struct device_attribute *attr,
			    const char *words, size_t bytes)
{
	return run(dev, "import", words, bytes);
}

/* Offsets for mmap, and bytes. */
static ssize_t import_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	struct mem_file *f = file_of(dev);
	struct mem_import *im;
	int err = mem_file_lock(f);
	size_t n = 0;

	if (err)
		return err;
	list_for_each_entry(im, &f->imports, list)
		if (PAGE_SIZE - n >= LINE_BYTES)
			n += scnprintf(buf + n, PAGE_SIZE - n, "%#llx %#llx\n",
				       im->first * MEM_MIB, im->len);
	mem_file_unlock(f);
	return n;
}
static DEVICE_ATTR_ADMIN_RW(import);

static ssize_t unimport_store(struct device *dev,
			      struct device_attribute *attr, const char *words,
			      size_t bytes)
{
	return run(dev, "unimport", words, bytes);
}

/* Any other command on them, as to an open file, and its answer. */
static ssize_t command_store(struct device *dev, struct device_attribute *attr,
			     const char *words, size_t bytes)
{
	return run(dev, "", words, bytes);
}

static ssize_t command_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	struct mem_file *f = file_of(dev);
	int err = mem_file_lock(f);
	size_t n;

	if (err)
		return err;
	n = f->len;
	memcpy(buf, f->answer, n);
	mem_file_unlock(f);
	return n;
}
static DEVICE_ATTR_ADMIN_RW(command);

static struct device_attribute dev_attr_unexport =
	__ATTR(unexport, 0200, NULL, unexport_store);
static struct device_attribute dev_attr_unimport =
	__ATTR(unimport, 0200, NULL, unimport_store);

static struct attribute *text_attrs[] = {
	&dev_attr_export.attr,
	&dev_attr_unexport.attr,
	&dev_attr_import.attr,
	&dev_attr_unimport.attr,
	&dev_attr_command.attr,
	NULL
};

const struct attribute_group mem_text_group = {
	.attrs = text_attrs,
};

int mem_text_sync(struct mem_dev *dev)
{
	struct mem_file *f = &dev->text;
	int err;

	mutex_lock_nested(&f->lock, SINGLE_DEPTH_NESTING);
	err = mem_imports_sync(f);
	mutex_unlock(&f->lock);
	return err;
}
