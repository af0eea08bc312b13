/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * URMA for the transaction engine of UB controllers.
 *
 * A device has a node; each open file of it is a context with a page of
 * doorbells, a page table of the memory that it registered, and objects under
 * handles.  Programs fill queues and ring by themselves; the module makes and
 * ends objects.
 *
 * Locks, outer first: urma_dev.life (commands read it, the end of the device
 * writes it), urma_file.lock or urma_dev.files_lock, urma_channel.lock,
 * that of urma_dev.dests, those of ub_core; apart from them mmap_lock, urma_dev.map
 * (page faults); spinlocks of events are innermost.  Memory of programs is
 * touched with none of them: a program may make its page faults last for ever.
 */
#ifndef UB_URMA_H
#define UB_URMA_H

#include <linux/cdev.h>
#include <linux/idr.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/version.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "abi.h"
#include "tlv.h"
#include "ub_engine.h"
#include "ub/urma_hw.h"

#define URMA_DRIVER	"ubc"	/* what the provider calls itself */
#define URMA_DEVICES	64
#define URMA_EVENTS_MAX	1024	/* that a context may leave unread */

struct urma_dev;
struct urma_file;

/* ---- hw.c: commands and events of the engine ---- */

struct urma_eq {
	u8 *ring;
	dma_addr_t dma;
	u16 ci;
	u32 lost;
};

struct urma_caps {
	u32 queues, cqs, pages, inline_max, elements, recv_elements, channels;
	u32 groups, members;	/* of jetties; of one group */
	u64 length;
};

int urma_hw_start(struct urma_dev *dev);
void urma_hw_stop(struct urma_dev *dev);
void urma_hw_free(struct urma_dev *dev);

/* Commands are ub_core's, cmdq.c. */
#define urma_cmd_run(dev, opcode, cmd) ub_cmd_run((dev)->core, opcode, cmd)

/* ---- ring.c: memory that device and program share ---- */

struct urma_ring {
	struct kref kref;
	struct urma_dev *dev;
	struct list_head list;		/* of the device's */
	void *cpu;		/* NULL: the device is gone */
	dma_addr_t dma;
	void *tail;		/* the last page, if it is one of its own: the record */
	dma_addr_t tail_dma;
	size_t bytes, entries;	/* that are mapped; of them without the tail */
	size_t record;		/* offset; 0: none */
	bool kept;		/* until the device goes: it may still write */
};

struct urma_ring *urma_ring_new(struct urma_dev *dev, size_t bytes,
				bool record);
dma_addr_t urma_ring_record(const struct urma_ring *ring);
void urma_ring_put(struct urma_ring *ring);
/* Instead of the last put: the device did not let go of it. */
void urma_ring_keep(struct urma_ring *ring);
int urma_mmap(struct file *file, struct vm_area_struct *vma);
/* Pages of all mappings go; they come again as they are touched. */
void urma_unmap_all(struct urma_dev *dev);
void urma_rings_empty(struct urma_dev *dev);

/* ---- event.c ---- */

/* Completion events of one descriptor. */
struct urma_jfce {
	struct kref kref;
	spinlock_t lock;
	wait_queue_head_t wait;
	struct list_head ready;		/* JFCs that have events */
	struct urma_file *file;		/* only to be compared */
	struct list_head list;		/* of the context's */
	bool dead;			/* nothing reports to it any more */
};

/* Asynchronous events of a context. */
struct urma_async {
	struct kref kref;
	struct list_head list;	/* of the device's */
	spinlock_t lock;
	wait_queue_head_t wait;
	struct list_head events;
	unsigned int n, lost;
};

struct urma_obj;

int urma_jfce_fd(struct urma_file *f);
/* The context ends: who waits for completions is told. */
void urma_jfces_end(struct urma_file *f);
struct urma_jfce *urma_jfce_get(struct urma_file *f, int fd);
void urma_jfce_put(struct urma_jfce *jfce);
int urma_async_fd(struct urma_file *f);
/* The context's end of it: nothing reports to it any more. */
void urma_async_end(struct urma_file *f);
/* Any context. */
void urma_async_event(struct urma_async *async, u32 type, u64 data,
		      struct urma_obj *obj);
/* The same, to all contexts of the device, also those that ended. */
void urma_async_all(struct urma_dev *dev, u32 type, u64 data);
/* Forget those of @obj that were not read. */
void urma_async_purge(struct urma_async *async, struct urma_obj *obj);

/* ---- objects ---- */

enum urma_kind {
	URMA_JFC,
	URMA_JFS,
	URMA_JFR,
	URMA_JETTY,
	URMA_GROUP,
	URMA_TOKEN,
	URMA_SEG,
	URMA_REMOTE_SEG,
	URMA_TARGET,
	URMA_KINDS,
};

/* First in each of them. */
struct urma_obj {
	enum urma_kind kind;
	u64 handle;
	u64 cookie;
	unsigned int users;	/* objects that refer to it */
	u32 async_reported;
	struct urma_ring *ring;	/* what is mapped at the handle's offset */
};

struct urma_jfc {
	struct urma_obj obj;
	u32 id, depth;
	struct urma_jfce *jfce;
	struct urma_async *async;
	struct list_head ready;	/* in jfce */
	unsigned int events;	/* not read */
	u32 comp_reported;
	u16 count;
	u32 period;
};

/* JFS, JFR, jetty. */
struct urma_queue {
	struct urma_obj obj;
	u32 id;
	struct urma_async *async;
	struct urma_jfc *send, *recv;
	struct urma_queue *jfr;
	struct urma_target *bound;
	struct urma_group *group;
	struct urma_queue *limiter;	/* JFR: the jetty that set its threshold */
	struct urma_jetty_cmd cfg;
	struct urma_queue_private shape;
};

/* Of jetties. */
struct urma_group {
	struct urma_obj obj;
	u32 id;
	struct urma_async *async;
};

struct urma_token {
	struct urma_obj obj;
	u32 id;
	struct urma_seg *seg;
};

struct urma_seg {
	struct urma_obj obj;
	struct urma_token *token;
	struct ub_region region;
};

struct urma_target {
	struct urma_obj obj;
	struct urma_dest *dest;
	u8 eid[16];
	u32 id, trans_mode;
};

/* ---- contexts ---- */

struct urma_file {
	struct list_head list;	/* of the device's */
	struct urma_dev *dev;
	struct mutex lock;	/* commands, one at a time */
	bool context;
	bool dead;		/* it has ended */
	bool cut;		/* mappings lead to sink; under map */
	struct xarray objs;
	struct list_head jfces;	/* under the lock of event.c */
	struct urma_async *async;
	u32 page;		/* of doorbells */
	u32 token;		/* under which its queues find their memory */
	struct ub_space space;
	struct page *sink;	/* what mappings lead to when all is gone */
};

/* ---- target.c: ways to peers ---- */

struct urma_dest {
	struct ub_dest way;
};

/* Whether our EID is an address of IP, which @ip becomes, and peers' are. */
bool urma_ip_paths(struct urma_dev *dev, struct ub_place *ip);
/* Then the engine hears at it, and no more at another that our EID was before. */
void urma_own_ip(struct urma_dev *dev);
/* The engine forgot all channels and destinations. */
void urma_paths_stop(struct urma_dev *dev);

/* ---- the device ---- */

struct urma_dev {
	struct kref kref;
	struct ub_core *core;
	struct device *dma;
	u32 minor;
	char name[URMA_NAME_MAX];
	struct cdev *cdev;
	struct device *node, *sysfs;
	struct kobject *priorities;	/* a folder of sysfs */
	struct rw_semaphore life, map;
	bool gone;		/* for good; under life */
	bool stopped;		/* until resume; under life */
	struct list_head files;
	struct mutex files_lock;
	struct list_head asyncs;	/* of contexts */
	spinlock_t asyncs_lock;		/* outside those of the asyncs */
	spinlock_t rings_lock;
	struct list_head rings;
	struct inode *inode;	/* ours: files map it, whatever node they opened */
	struct urma_caps caps;
	struct urma_eq eq;
	int irq;
	phys_addr_t bells;
	struct xarray jfcs, queues, groups;	/* by number, for events */
	struct ub_dests dests;
	struct ub_place ip;	/* that the engine hears at; under its lock */
};

/* main.c */
void urma_dev_put(struct urma_dev *dev);
struct urma_dev *urma_dev_find(unsigned int minor);
void urma_eid(struct urma_dev *dev, u8 eid[16]);
u32 urma_upi(struct urma_dev *dev);
void urma_guid(struct urma_dev *dev, u8 guid[16]);

/* inode.c: an inode without a name, to have mappings of, or an error. */
struct inode *urma_inode_new(void);
void urma_inode_free(struct inode *inode);

/* attr.c */
void urma_dev_attr_fill(struct urma_dev *dev, struct urma_dev_attr *a);

/* sysfs.c */
extern const struct attribute_group *urma_groups[];
int urma_priorities_add(struct urma_dev *dev);
void urma_priorities_del(struct urma_dev *dev);

/* file.c */
extern const struct file_operations urma_fops;
/* A context has no objects any more, @engine: of the engine neither. */
void urma_file_end(struct urma_file *f, bool engine);
int urma_obj_add(struct urma_file *f, struct urma_obj *obj,
		 enum urma_kind kind, u64 cookie);
void *urma_obj_get(struct urma_file *f, u64 handle, enum urma_kind kind);
/* Nobody else refers to it: it has no handle any more. */
int urma_obj_take(struct urma_file *f, struct urma_obj *obj);

#define URMA_REPLY_MAX	24

/* A call of a command, around the structure of its attributes. */
struct urma_call {
	struct urma_seg *seg;		/* REGISTER_SEG: pinned before */
	u64 in[2];			/* USER_CTL: what was behind the pointer */
	u64 reply_addr;
	u32 reply_bytes;
	u8 reply[URMA_REPLY_MAX];
	u64 args[];
};

static inline struct urma_call *urma_call_of(void *args)
{
	return container_of(args, struct urma_call, args[0]);
}

/* Copied to the program when the call has gone well and no lock is held. */
void urma_private_put(void *args, const struct urma_udata *udata,
		      const void *data, size_t bytes);

/* Before the command, without locks, what touches the program's memory. */
int urma_register_seg_pin(struct urma_file *f, void *args);
void urma_register_seg_unpin(struct urma_file *f, struct urma_call *call);

/* Commands; in jfc.c, jetty.c, group.c, mem.c, target.c. */
int urma_create_jfc(struct urma_file *f, void *args);
int urma_modify_jfc(struct urma_file *f, void *args);
int urma_delete_jfc(struct urma_file *f, void *args);
int urma_create_jfs(struct urma_file *f, void *args);
int urma_create_jfr(struct urma_file *f, void *args);
int urma_create_jetty(struct urma_file *f, void *args);
int urma_modify_jfs(struct urma_file *f, void *args);
int urma_modify_jfr(struct urma_file *f, void *args);
int urma_modify_jetty(struct urma_file *f, void *args);
int urma_query_jfs(struct urma_file *f, void *args);
int urma_query_jfr(struct urma_file *f, void *args);
int urma_query_jetty(struct urma_file *f, void *args);
int urma_delete_jfs(struct urma_file *f, void *args);
int urma_delete_jfr(struct urma_file *f, void *args);
int urma_delete_jetty(struct urma_file *f, void *args);
int urma_alloc_token(struct urma_file *f, void *args);
int urma_free_token(struct urma_file *f, void *args);
int urma_register_seg(struct urma_file *f, void *args);
int urma_unregister_seg(struct urma_file *f, void *args);
int urma_import_seg(struct urma_file *f, void *args);
int urma_unimport_seg(struct urma_file *f, void *args);
int urma_import_jfr(struct urma_file *f, void *args);
int urma_import_jetty(struct urma_file *f, void *args);
int urma_unimport(struct urma_file *f, void *args);
int urma_bind_jetty(struct urma_file *f, void *args);
int urma_unbind_jetty(struct urma_file *f, void *args);
int urma_create_group(struct urma_file *f, void *args);
int urma_destroy_group(struct urma_file *f, void *args);
int urma_user_ctl(struct urma_file *f, void *args);

/* Ends of objects, @engine: it is told, too. */
void urma_jfc_end(struct urma_file *f, struct urma_jfc *jfc, bool engine);
void urma_queue_end(struct urma_file *f, struct urma_queue *q, bool engine);
void urma_seg_end(struct urma_file *f, struct urma_seg *seg, bool engine);
void urma_token_end(struct urma_file *f, struct urma_token *token, bool engine);
void urma_target_end(struct urma_file *f, struct urma_target *t);
void urma_group_end(struct urma_file *f, struct urma_group *g, bool engine);

/* Events of the engine, from its interrupt. */
void urma_jfc_completion(struct urma_jfc *jfc);
void urma_queue_event(struct urma_queue *q, unsigned int event, u32 data);

static inline void urma_vma_flags(struct vm_area_struct *vma, vm_flags_t flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_set(vma, flags);
#else
	vma->vm_flags |= flags;
#endif
}

#endif
