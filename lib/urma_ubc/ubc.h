/*
 * Provider of liburma for the transaction engine of ubc: objects and what its
 * files offer each other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBC_PROVIDER_H
#define UBC_PROVIDER_H

#include "abi.h"
#include "liburma.h"
#include "ub/urma_hw.h"

#define UBC_IDS (1u << 20)
#define UBC_ID_LOW 10               /* bits of the second level */
#define UBC_RECORD 8                /* bytes; le16 at … */
#define UBC_RECORD_RQ 4             /* … this one: receive entries */

/* What is posted and not completed. */
typedef struct UbcSlot {
    uint64_t user_ctx;
    uint32_t bytes;
    uint16_t blocks;
    bool done;                      /* receive entries end in any order */
} UbcSlot;

/* A send or a receive queue in shared memory; indexes wrap at 2^16. */
typedef struct UbcRing {
    uint8_t *at;
    size_t bytes;
    uint32_t id;                    /* the queue's */
    unsigned log2, stride, max_blocks;
    uint16_t pi, ci;
    uint8_t *record;                /* of a receive queue: pi for the engine, or NULL */
    bool stopped;                   /* in Error: it does not look there unasked */
    UbcSlot *slot;
    bool lock_free;
    pthread_mutex_t lock;
} UbcRing;

/* Events that the program was given, of an object that may have some.  The kernel
 * counts them, too, but does not say how many when the device has gone. */
typedef struct UbcGiven {
    struct UbcGiven *next, **at;    /* in the context; at: NULL if in no list */
    void *object;                   /* of liburma */
    uint32_t comp, async;
} UbcGiven;

/* What a completion is of; looked up by the engine's number. */
typedef struct UbcOwner {
    UbcRing *sq, *rq;
    void *object;                   /* of liburma */
    bool jetty;
} UbcOwner;

typedef struct UbcCtx {
    urma_context base;
    uint8_t *bells;
    size_t bell_bytes;
    pthread_mutex_t lock;           /* of owners and objects */
    UbcOwner **owner[UBC_IDS >> UBC_ID_LOW];
    UbcGiven *jfcs, *others;        /* all objects that may have events */
} UbcCtx;

typedef struct UbcJfc {
    urma_jfc base;
    uint8_t *at;
    size_t bytes;
    unsigned log2;
    unsigned late;                  /* so many read that the engine is told */
    uint16_t ci, told;              /* read; what the engine knows of */
    unsigned vain;                  /* polls that found nothing */
    bool lock_free;
    pthread_mutex_t lock;
    UbcGiven given;
} UbcJfc;

typedef struct UbcJfs {
    urma_jfs base;
    UbcRing sq;
    UbcOwner owner;
    UbcGiven given;
} UbcJfs;

typedef struct UbcJfr {
    urma_jfr base;
    UbcRing rq;
    UbcOwner owner;
    UbcGiven given;
} UbcJfr;

typedef struct UbcJetty {
    urma_jetty base;
    UbcRing sq;
    UbcOwner owner;
    UbcGiven given;
} UbcJetty;

typedef struct UbcGroup {
    urma_jetty_grp base;
    UbcGiven given;
} UbcGroup;

typedef struct UbcTarget {
    urma_target_jetty base;
    uint32_t row;                   /* of the table of destinations */
    bool token_en;
    uint32_t token;
} UbcTarget;

/* Own or imported. */
typedef struct UbcSeg {
    urma_target_seg base;
    bool token_en;
    uint32_t token;
} UbcSeg;

/* os.c: the operating system, which tests replace. */
int ubc_os_ioctl(int fd, unsigned long request, void *arg);
void *ubc_os_map(int fd, uint64_t offset, size_t bytes);
void ubc_os_unmap(void *at, size_t bytes);
void ubc_os_close(int fd);
/* A doorbell: all that was written before is there first. */
void ubc_os_bell(uint8_t *page, unsigned offset, uint64_t value);

/* call.c: 0 or -1 and errno. */
int ubc_call(const urma_context *ctx, enum urma_command command, void *args);
int ubc_event_call(int fd, enum urma_event_command command, void *args);
/* An errno as liburma's status. */
int ubc_status(int result);
void ubc_udata(struct urma_udata *u, void *out, size_t bytes);
int ubc_user_ctl(urma_context *ctx, urma_user_ctl_in *in,
                 urma_user_ctl_out *out);

/* context.c.  A number may be another queue's as soon as the kernel has deleted its
 * own, so both are done under one lock: call and owner, or call and forgetting. */
void ubc_ctx_lock(urma_context *ctx);
void ubc_ctx_unlock(urma_context *ctx);
/* With the lock. */
int ubc_owner_set(UbcCtx *ctx, uint32_t id, UbcOwner *owner);
void ubc_owner_clear(UbcCtx *ctx, uint32_t id);
/* Without: NULL, or whose it is until the queue's completions are forgotten. */
UbcOwner *ubc_owner(UbcCtx *ctx, uint32_t id);
urma_context *ubc_create_context(urma_device *dev, uint32_t eid_index,
                                 int dev_fd);
int ubc_delete_context(urma_context *ctx);

/* ring.c */
int ubc_ring_open(UbcRing *r, const urma_context *ctx, uint64_t handle,
                  uint32_t id, const struct urma_queue_private *shape,
                  unsigned entry, bool lock_free);
void ubc_ring_close(UbcRing *r);
void ubc_ring_lock(UbcRing *r);
void ubc_ring_unlock(UbcRing *r);
/* After a reset of the queue: nothing was posted. */
void ubc_ring_reset(UbcRing *r);
static inline uint32_t ubc_ring_mask(const UbcRing *r)
{
    return (1u << r->log2) - 1;
}

/* posted.c: how the engine hears of what was put into a ring.  With the ring's lock. */
void ubc_sent_tell(const urma_context *ctx, const UbcRing *r);
void ubc_recv_tell(const urma_context *ctx, const UbcRing *r);
/* Receive entries of a queue in Error come back as flushed, but only when a doorbell
 * says that there are some.  Without the ring's lock: it is in Error. */
void ubc_recv_stop(const urma_context *ctx, UbcRing *r);

/* sqe.c: an entry for @wr to @t in @e, of UBQ_SQE_BLOCKS_MAX blocks; *@blocks and
 * *@bytes.  0 or an errno. */
int ubc_sqe_build(uint8_t *e, const urma_jfs_wr *wr, const UbcTarget *t,
                  unsigned *blocks, uint32_t *bytes);

/* post.c */
int ubc_post_jfs_wr(urma_jfs *jfs, urma_jfs_wr *wr, urma_jfs_wr **bad);
int ubc_post_jfr_wr(urma_jfr *jfr, urma_jfr_wr *wr, urma_jfr_wr **bad);
int ubc_post_jetty_send_wr(urma_jetty *jetty, urma_jfs_wr *wr,
                           urma_jfs_wr **bad);
int ubc_post_jetty_recv_wr(urma_jetty *jetty, urma_jfr_wr *wr,
                           urma_jfr_wr **bad);

/* poll.c */
int ubc_poll_jfc(urma_jfc *jfc, int cr_cnt, urma_cr *cr);
int ubc_rearm_jfc(urma_jfc *jfc, bool solicited_only);
/* Requests of a queue that came back as flushed and were not polled, at most @n:
 * as completions into @cr.  Returns how many. */
int ubc_jfc_flushed(urma_jfc *jfc, uint32_t id, int n, urma_cr *cr);
/* Which completions that were not polled are nobody's from now on. */
typedef enum UbcForget {
    UBC_FORGET_SENT,    /* queue @id was reset: its requests; messages stay */
    UBC_FORGET_QUEUE,   /* it is gone: all, receive entries are free again */
    UBC_FORGET_RQ,      /* JFR @id was reset: all that took its entries */
} UbcForget;

/* Reads and marks entries of the ring under the JFC's lock, which one made with
 * URMA_LOCK_FREE has not: its program must not poll it meanwhile.  The reset of a JFR
 * does this to every JFC of the context. */
void ubc_jfc_forget(urma_jfc *jfc, uint32_t id, UbcForget which);

/* jfc.c */
urma_jfc *ubc_create_jfc(urma_context *ctx, urma_jfc_cfg *cfg);
int ubc_modify_jfc(urma_jfc *jfc, urma_jfc_attr *attr);
int ubc_delete_jfc(urma_jfc *jfc);
int ubc_delete_jfc_batch(urma_jfc **jfc, int n, urma_jfc **bad);

/* events.c.  The kernel names the object of an event by its address, which may have
 * been freed meanwhile: an event of what is in no list is dropped. */
/* Into a list of the context: before it may have events. */
void ubc_given_add(urma_context *ctx, UbcGiven **list, UbcGiven *given,
                   void *object);
/* Out of it, if it is in one.  With the context's lock: no more are counted, so
 * @given may be read, or freed. */
void ubc_given_remove(UbcGiven *given);
/* The same, without the lock. */
void ubc_given_end(urma_context *ctx, UbcGiven *given);
urma_jfce *ubc_create_jfce(urma_context *ctx);
int ubc_delete_jfce(urma_jfce *jfce);
int ubc_wait_jfc(urma_jfce *jfce, uint32_t n, int timeout, urma_jfc *jfc[]);
void ubc_ack_jfc(urma_jfc *jfc[], uint32_t n_events[], uint32_t n);
int ubc_get_async_event(urma_context *ctx, urma_async_event *event);
void ubc_ack_async_event(urma_async_event *event);
/* Until the program has acknowledged so many.  Where the kernel said how many, the
 * object stays in its list as long: a thread may have one yet to count and return. */
void ubc_events_wait(pthread_mutex_t *lock, pthread_cond_t *cond,
                     const uint32_t *acked, uint32_t reported);

/* queue.c */
urma_jfs *ubc_create_jfs(urma_context *ctx, urma_jfs_cfg *cfg);
int ubc_modify_jfs(urma_jfs *jfs, urma_jfs_attr *attr);
int ubc_query_jfs(urma_jfs *jfs, urma_jfs_cfg *cfg, urma_jfs_attr *attr);
int ubc_flush_jfs(urma_jfs *jfs, int cr_cnt, urma_cr *cr);
int ubc_delete_jfs(urma_jfs *jfs);
int ubc_delete_jfs_batch(urma_jfs **jfs, int n, urma_jfs **bad);
urma_jfr *ubc_create_jfr(urma_context *ctx, urma_jfr_cfg *cfg);
int ubc_modify_jfr(urma_jfr *jfr, urma_recv_attr *attr);
int ubc_query_jfr(urma_jfr *jfr, urma_jfr_cfg *cfg, urma_recv_attr *attr);
int ubc_delete_jfr(urma_jfr *jfr);
int ubc_delete_jfr_batch(urma_jfr **jfr, int n, urma_jfr **bad);
/* Have the engine give back what has not begun, and take it: how many, or -1. */
int ubc_queue_flush(urma_context *ctx, urma_jfc *jfc, uint64_t handle,
                    uint32_t id, int n, urma_cr *cr);

/* jetty.c */
urma_jetty *ubc_create_jetty(urma_context *ctx, urma_jetty_cfg *cfg);
int ubc_modify_jetty(urma_jetty *jetty, urma_recv_attr *attr);
int ubc_query_jetty(urma_jetty *jetty, urma_jetty_cfg *cfg,
                    urma_recv_attr *attr);
int ubc_flush_jetty(urma_jetty *jetty, int cr_cnt, urma_cr *cr);
int ubc_delete_jetty(urma_jetty *jetty);
int ubc_delete_jetty_batch(urma_jetty **jetty, int n, urma_jetty **bad);
int ubc_bind_jetty(urma_jetty *jetty, urma_target_jetty *target);
int ubc_unbind_jetty(urma_jetty *jetty);

/* group.c */
urma_jetty_grp *ubc_create_jetty_grp(urma_context *ctx,
                                     urma_jetty_grp_cfg *cfg);
int ubc_delete_jetty_grp(urma_jetty_grp *group);

/* memory.c */
urma_token_id *ubc_alloc_token_id(urma_context *ctx);
int ubc_free_token_id(urma_token_id *token);
urma_target_seg *ubc_register_seg(urma_context *ctx, urma_seg_cfg *cfg);
int ubc_unregister_seg(urma_target_seg *seg);
urma_target_seg *ubc_import_seg(urma_context *ctx, urma_seg *seg,
                                urma_token *token, uint64_t addr,
                                uint32_t flag);
int ubc_unimport_seg(urma_target_seg *seg);

/* target.c */
urma_target_jetty *ubc_import_jfr(urma_context *ctx, urma_rjfr *rjfr,
                                  urma_token *token);
urma_target_jetty *ubc_import_jetty(urma_context *ctx, urma_rjetty *rjetty,
                                    urma_token *token);
int ubc_unimport(urma_target_jetty *target);

#endif
