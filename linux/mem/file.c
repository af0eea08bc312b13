// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB memory: open files and their commands, which are lines of text.
 */
#include <linux/fs.h>
#include <linux/path.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "ub_mem.h"

#define WORDS 12

static const struct {
	const char *name;
	int (*run)(struct mem_file *f, unsigned int argc, char **argv);
} commands[] = {
	{ "export", mem_export },
	{ "unexport", mem_unexport },
	{ "rotate", mem_rotate },
	{ "settle", mem_settle },
	{ "import", mem_import },
	{ "unimport", mem_unimport },
	{ "own", mem_own },
	{ "reclaim", mem_reclaim },
	{ "atomic", mem_atomic },
	{ "status", mem_status },
};

void mem_answer(struct mem_file *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	f->len = vscnprintf(f->answer, sizeof(f->answer), format, args);
	va_end(args);
}

static int command_run(struct mem_file *f, unsigned int argc, char **argv)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(argv[0], commands[i].name))
			return commands[i].run(f, argc, argv);
	return -EINVAL;
}

static bool file_there(const struct mem_file *f)
{
	return !f->dev->gone && !f->dev->stopped && !f->dead;
}

int mem_file_lock(struct mem_file *f)
{
	if (down_read_killable(&f->dev->life))
		return -EINTR;
	if (mutex_lock_killable(&f->lock)) {
		up_read(&f->dev->life);
		return -EINTR;
	}
	if (file_there(f))
		return 0;
	mem_file_unlock(f);
	return -ENODEV;
}

void mem_file_unlock(struct mem_file *f)
{
	mutex_unlock(&f->lock);
	up_read(&f->dev->life);
}

int mem_file_relock(struct mem_file *f)
{
	down_read(&f->dev->life);
	mutex_lock(&f->lock);
	return file_there(f) ? 0 : -ENODEV;
}

/* ---- calls ---- */

int mem_command(struct mem_file *f, char *text)
{
	char *rest = text, *word, *argv[WORDS];
	unsigned int argc = 0;
	int err;

	while ((word = strsep(&rest, " \t\n")))
		if (*word) {
			if (argc == WORDS)
				return -EINVAL;
			argv[argc++] = word;
		}
	if (!argc)
		return -EINVAL;
	err = mem_file_lock(f);
	if (err)
		return err;
	f->len = 0;
	err = command_run(f, argc, argv);
	mem_file_unlock(f);
	return err;
}

static ssize_t file_write(struct file *file, const char __user *from,
			  size_t bytes, loff_t *pos)
{
	struct mem_file *f = file->private_data;
	char text[MEM_TEXT];
	int err;

	if (bytes >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, bytes))
		return -EFAULT;
	text[bytes] = 0;
	err = mem_command(f, text);
	/* The answer is read from its begin. */
	*pos = 0;
	return err ? err : bytes;
}

static ssize_t file_read(struct file *file, char __user *to, size_t bytes,
			 loff_t *pos)
{
	struct mem_file *f = file->private_data;
	char answer[MEM_TEXT];
	size_t len;

	if (mutex_lock_killable(&f->lock))
		return -EINTR;
	len = f->len;
	memcpy(answer, f->answer, len);
	mutex_unlock(&f->lock);
	/* Its page faults may last: without the lock. */
	return simple_read_from_buffer(to, bytes, pos, answer, len);
}

/* Clean and a fence; msync() of a mapping comes here as well. */
static int file_fsync(struct file *file, loff_t from, loff_t to, int datasync)
{
	struct mem_file *f = file->private_data;
	int err = mem_file_lock(f), text;

	if (err)
		return err;
	err = mem_imports_sync(f);
	/* Who maps nothing of sysfs does not wait for the peers of that. */
	text = READ_ONCE(f->maps_text) ? mem_text_sync(f->dev) : 0;
	err = err ?: text;
	/* By the UBFM's table its stores go anywhere. */
	if (!err && f->dev->decoder.managed)
		err = mem_window_done(f->dev, 0, f->dev->decoder.mibs, true);
	if (mem_imports_failed(f))
		err = -EIO;
	mem_file_unlock(f);
	return err;
}

/* ---- life ---- */

void mem_file_init(struct mem_file *f, struct mem_dev *dev)
{
	f->dev = dev;
	mutex_init(&f->lock);
	INIT_LIST_HEAD(&f->exports);
	INIT_LIST_HEAD(&f->imports);
}

void mem_file_end(struct mem_file *f)
{
	down_write(&f->dev->map);
	f->dead = true;
	up_write(&f->dev->map);
	/* Of other files it comes back by faults. */
	if (f->dev->decoder.managed)
		mem_unmap(f->dev, 0, f->dev->decoder.bytes);
	mem_imports_end(f);
	mem_exports_end(f);
}

static int file_open(struct inode *inode, struct file *file)
{
	struct mem_dev *dev = container_of(file->private_data, struct mem_dev,
					   misc);
	struct mem_file *f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);

	if (!f)
		return -ENOMEM;
	mem_file_init(f, dev);
	/* The node is taken away before the device goes. */
	mem_dev_get(dev);
	down_read(&dev->life);
	mutex_lock(&dev->files_lock);
	/* All mappings of a device are of one inode's, to be taken away. */
	if (list_empty(&dev->files)) {
		dev->path = file->f_path;
		path_get(&dev->path);
		down_write(&dev->mapped);
		dev->inode = inode;
		up_write(&dev->mapped);
	}
	file->f_mapping = dev->inode->i_mapping;
	spin_lock_irq(&dev->decoder.event_lock);
	f->told_lost = dev->decoder.lost;
	f->told_text = dev->text.failed_stores;
	spin_unlock_irq(&dev->decoder.event_lock);
	list_add(&f->list, &dev->files);
	mutex_unlock(&dev->files_lock);
	up_read(&dev->life);
	file->private_data = f;
	return 0;
}

static int file_close(struct inode *inode, struct file *file)
{
	struct mem_file *f = file->private_data;
	struct mem_dev *dev = f->dev;
	struct path last = { };

	down_read(&dev->life);
	if (!f->dead)
		mem_file_end(f);
	mutex_lock(&dev->files_lock);
	list_del(&f->list);
	if (list_empty(&dev->files)) {
		last = dev->path;
		down_write(&dev->mapped);
		dev->inode = NULL;
		up_write(&dev->mapped);
	}
	mutex_unlock(&dev->files_lock);
	up_read(&dev->life);
	path_put(&last);
	kfree(f);
	mem_dev_put(dev);
	return 0;
}

const struct file_operations mem_fops = {
	.owner = THIS_MODULE,
	.open = file_open,
	.release = file_close,
	.read = file_read,
	.write = file_write,
	.fsync = file_fsync,
	.mmap = mem_mmap,
	.llseek = default_llseek,
};
