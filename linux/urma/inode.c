// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * URMA: an inode for each device, that all mappings of its memory are of.
 *
 * Not that of the node: a device outlives nodes, and the file systems that they
 * are in.
 */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>

#include "ub_urma.h"

#define URMA_MAGIC	0x75726d61

static struct vfsmount *urma_mount;
static int urma_mounts;

static int fs_context(struct fs_context *fc)
{
	return init_pseudo(fc, URMA_MAGIC) ? 0 : -ENOMEM;
}

/* Without an owner: a mount that devices hold is no use of the module; it ends, at
 * once, with the last device. */
static struct file_system_type urma_fs = {
	.name = "ub_urma",
	.init_fs_context = fs_context,
	.kill_sb = kill_anon_super,
};

struct inode *urma_inode_new(void)
{
	struct inode *inode;
	int err;

	err = simple_pin_fs(&urma_fs, &urma_mount, &urma_mounts);
	if (err)
		return ERR_PTR(err);
	inode = alloc_anon_inode(urma_mount->mnt_sb);
	if (IS_ERR(inode))
		simple_release_fs(&urma_mount, &urma_mounts);
	return inode;
}

void urma_inode_free(struct inode *inode)
{
	iput(inode);
	simple_release_fs(&urma_mount, &urma_mounts);
}
