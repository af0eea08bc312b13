// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * URMA: send queues (JFS), receive queues (JFR), and both (jetty).
 *
 * All three are queues of the engine, in one space of numbers.
 */
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "ub_urma.h"

#define LOG2_MAX	15
#define RNR_TIMER_MAX	19
#define NOTIFY_BYTES	16
#define ATOMIC_BYTES	16	/* both operands of 8 bytes */

/* ---- shapes ---- */

/* Blocks of the longest entry: elements behind the first, or inline data, and
 * what a notification has. */
static u32 send_blocks(const struct urma_jetty_cmd *a)
{
	u32 more = max_t(u32, a->send_sge, 1) - 1;
	u32 bytes = max3(more * UBQ_ELEMENT, a->inline_max,
			 (u32)ATOMIC_BYTES) + NOTIFY_BYTES;

	return 1 + DIV_ROUND_UP(bytes, UBQ_BLOCK);
}

static int send_shape(struct urma_dev *dev, struct urma_queue *q)
{
	const struct urma_jetty_cmd *a = &q->cfg;
	u64 blocks;

	if (!a->send_depth || a->send_depth > 1u << LOG2_MAX ||
	    a->send_sge > dev->caps.elements ||
	    a->inline_max > dev->caps.inline_max)
		return -EINVAL;
	blocks = (u64)a->send_depth * send_blocks(a);
	if (blocks > 1u << LOG2_MAX)
		return -ENOMEM;
	q->shape.log2 = max(ilog2(roundup_pow_of_two((u32)blocks)), 1);
	q->shape.blocks = send_blocks(a);
	q->shape.bytes = UBQ_BLOCK << q->shape.log2;
	return 0;
}

static int recv_shape(struct urma_dev *dev, struct urma_queue *q)
{
	const struct urma_jetty_cmd *a = &q->cfg;
	u32 elements = max_t(u32, a->recv_sge, 1);

	if (!a->recv_depth || a->recv_depth > 1u << LOG2_MAX ||
	    elements > dev->caps.recv_elements)
		return -EINVAL;
	q->shape.stride = ilog2(roundup_pow_of_two(elements));
	q->shape.log2 = max(ilog2(roundup_pow_of_two(a->recv_depth)), 1);
	q->shape.bytes = UBQ_ELEMENT << (q->shape.stride + q->shape.log2);
	return 0;
}

/* ---- making ---- */

/* Service mode: the order that was asked for, or that goes with the mode. */
static int queue_mode(u32 trans_mode, u32 order)
{
	switch (trans_mode) {
	case URMA_RM:
		return order == URMA_OT ? 1 :
		       order == URMA_ORDER_DEFAULT || order == URMA_OI ? 0 :
		       -EINVAL;
	case URMA_RC:
		return order == URMA_OT ? 1 :
		       order == URMA_ORDER_DEFAULT || order == URMA_OL ? 2 :
		       -EINVAL;
	case URMA_UM:
		return order == URMA_ORDER_DEFAULT || order == URMA_NO ? 3 :
		       -EINVAL;
	default:
		return -EINVAL;
	}
}

static void recv_token(struct ub_cmd *cmd,
		       const struct urma_jetty_cmd *jfr, u32 *flags)
{
	if (jfr->recv_flag & URMA_TOKEN_POLICY)
		*flags |= UBQ_Q_TOKEN;
	ub_put32(cmd, UBQ_Q_TOKEN_VALUE, jfr->token);
	ub_put8(cmd, UBQ_Q_RNR_TIMER,
		  min_t(u8, jfr->rnr_timer, RNR_TIMER_MAX));
}

#define TRIES_FOR_EVER	0xff
#define RNR_RETRY_FOR_EVER	7
#define TIMEOUTS_PER_GEAR	5
#define TIMEOUT_OWN	14	/* from here on, the engine's */

/* How often, and for how long: an err_timeout of 0 says nothing, the short ones are
 * three gears, and no other ends a request before its channel is given up. */
static void send_tries(struct ub_cmd *cmd, const struct urma_jetty_cmd *jfs)
{
	ub_put8(cmd, UBQ_Q_TRIES, jfs->rnr_retry < RNR_RETRY_FOR_EVER ?
				  jfs->rnr_retry + 1 : TRIES_FOR_EVER);
	if (jfs->err_timeout && jfs->err_timeout < TIMEOUT_OWN)
		ub_put8(cmd, UBQ_Q_ACK_TIMEOUT,
			1 + jfs->err_timeout / TIMEOUTS_PER_GEAR);
}

static int queue_state(struct urma_dev *dev, struct urma_queue *q, u32 state)
{
	struct ub_cmd cmd;

	ub_cmd_init(&cmd, q->id, UBQ_QM_STATE);
	ub_put8(&cmd, UBQ_Q_STATE, state);
	return urma_cmd_run(dev, UBQ_OP_QUEUE_MODIFY, &cmd);
}

static int queue_join(struct urma_dev *dev, struct urma_queue *q)
{
	struct ub_cmd cmd;

	ub_cmd_init(&cmd, q->id, 0);
	ub_put32(&cmd, UBQ_JG_GROUP, q->group->id);
	return urma_cmd_run(dev, UBQ_OP_JGROUP_JOIN, &cmd);
}

static int queue_make(struct urma_file *f, struct urma_queue *q, int mode)
{
	const struct urma_jetty_cmd *recv = q->jfr ? &q->jfr->cfg : &q->cfg;
	u32 flags = UBQ_Q_IN_ORDER | UBQ_Q_TRANSLATE | UBQ_Q_DONE;
	struct ub_cmd cmd;
	int err;

	ub_cmd_init(&cmd, q->cfg.id ? q->cfg.id : UBQ_NEW, 0);
	ub_put32(&cmd, UBQ_Q_RQ_SHARED, q->jfr ? q->jfr->id : UBQ_NEW);
	if (q->send) {
		ub_put64(&cmd, UBQ_Q_SQ_BASE, q->obj.ring->dma);
		ub_put8(&cmd, UBQ_Q_SQ_LOG2, q->shape.log2);
		ub_put32(&cmd, UBQ_Q_SEND_CQ, q->send->id);
		send_tries(&cmd, &q->cfg);
		if (q->cfg.send_flag & URMA_JFS_SUSPEND)
			flags |= UBQ_Q_SUSPEND;
	} else {
		ub_put64(&cmd, UBQ_Q_RQ_BASE, q->obj.ring->dma);
		ub_put8(&cmd, UBQ_Q_RQ_LOG2, q->shape.log2);
		ub_put8(&cmd, UBQ_Q_RQ_STRIDE, q->shape.stride);
		if (q->obj.ring->record)
			ub_put64(&cmd, UBQ_Q_RECORD,
				 urma_ring_record(q->obj.ring));
	}
	if (q->recv) {
		ub_put32(&cmd, UBQ_Q_RECV_CQ, q->recv->id);
		recv_token(&cmd, recv, &flags);
	}
	ub_put8(&cmd, UBQ_Q_MODE, mode);
	ub_put16(&cmd, UBQ_Q_PAGE, f->page);
	ub_put32(&cmd, UBQ_Q_FLAGS, flags);
	ub_put32(&cmd, UBQ_Q_LOCAL, f->token);
	err = urma_cmd_run(f->dev, UBQ_OP_QUEUE_CREATE, &cmd);
	if (err)
		return err;
	q->id = ub_cmd_object(&cmd);
	if (q->id == UBQ_NEW)
		return -EIO;
	err = xa_err(xa_store_irq(&f->dev->queues, q->id, q,
				  GFP_KERNEL_ACCOUNT));
	if (!err && q->group)
		err = queue_join(f->dev, q);
	return err ? err : queue_state(f->dev, q, UBQ_STATE_READY);
}

static void queue_refer(struct urma_queue *q, int step)
{
	if (q->send)
		q->send->obj.users += step;
	if (q->recv)
		q->recv->obj.users += step;
	if (q->jfr)
		q->jfr->obj.users += step;
	if (q->group)
		q->group->obj.users += step;
}

/* Who is told of @jfr's threshold; instead of @old only, if there is one.  The
 * lock is that of events.
 */
static void limiter_set(struct urma_dev *dev, struct urma_queue *jfr,
			struct urma_queue *q, const struct urma_queue *old)
{
	xa_lock_irq(&dev->queues);
	if (!old || jfr->limiter == old)
		jfr->limiter = q;
	xa_unlock_irq(&dev->queues);
}

/* The threshold that @q asked for goes with it: its JFR never wanted to hear of one.
 * What is on its way is dropped, see urma_queue_event(). */
static void limit_end(struct urma_dev *dev, struct urma_queue *q)
{
	struct ub_cmd cmd;

	if (!q->jfr || q->jfr->limiter != q)
		return;
	WRITE_ONCE(q->jfr->cfg.rx_threshold, 0);
	ub_cmd_init(&cmd, q->jfr->id, UBQ_QM_RQ_LIMIT);
	urma_cmd_run(dev, UBQ_OP_QUEUE_MODIFY, &cmd);
}

/* No event is the queue's any more. */
static void queue_forget(struct urma_file *f, struct urma_queue *q)
{
	if (q->id != UBQ_NEW)
		xa_erase_irq(&f->dev->queues, q->id);
	if (q->jfr)
		limiter_set(f->dev, q->jfr, NULL, q);
	urma_async_purge(f->async, &q->obj);
}

/* Of a queue that may be half made. */
void urma_queue_end(struct urma_file *f, struct urma_queue *q, bool engine)
{
	struct ub_cmd cmd;

	if (engine)
		limit_end(f->dev, q);
	queue_forget(f, q);
	if (q->id != UBQ_NEW) {
		ub_cmd_init(&cmd, q->id, 0);
		if (engine &&
		    urma_cmd_run(f->dev, UBQ_OP_QUEUE_DESTROY, &cmd)) {
			urma_ring_keep(q->obj.ring);
			q->obj.ring = NULL;
		}
	}
	if (q->bound)
		q->bound->obj.users--;
	queue_refer(q, -1);
	urma_ring_put(q->obj.ring);
	kfree(q);
}

static bool records = true;
module_param(records, bool, 0644);
MODULE_PARM_DESC(records,
		 "receive queues made from now on need no doorbells (default: Y)");

/* Whether the library will learn that there is a record, and keep it. */
static bool record_known(const struct urma_jetty_cmd *a)
{
	return records && a->udata.out_addr &&
	       a->udata.out_len >= offsetofend(struct urma_queue_private,
					       record);
}

/* @q has what it refers to and its shape; on failure it is gone. */
static int queue_finish(struct urma_file *f, struct urma_queue *q,
			enum urma_kind kind, u32 order,
			struct urma_jetty_cmd *a)
{
	int mode = queue_mode(a->trans_mode, order);
	int err = mode < 0 ? mode : -ENOMEM;

	queue_refer(q, 1);
	if (mode < 0)
		goto end;
	q->obj.ring = urma_ring_new(f->dev, q->shape.bytes,
				    kind == URMA_JFR && record_known(a));
	if (!q->obj.ring)
		goto end;
	q->shape.bytes = q->obj.ring->bytes;
	q->shape.record = q->obj.ring->record;
	q->obj.kind = kind;
	q->obj.cookie = a->cookie;
	err = queue_make(f, q, mode);
	if (!err)
		err = urma_obj_add(f, &q->obj, kind, a->cookie);
	if (err)
		goto end;
	urma_private_put(a, &a->udata, &q->shape, sizeof(q->shape));
	a->id = q->id;
	a->handle = q->obj.handle;
	return 0;

end:
	urma_queue_end(f, q, true);
	return err;
}

/* Numbers that peers know without asking are not for everybody. */
static bool id_is_free(u32 id)
{
	return !id || id > URMA_WELL_KNOWN_MAX ||
	       capable(CAP_NET_BIND_SERVICE);
}

static struct urma_queue *queue_new(struct urma_file *f,
				    const struct urma_jetty_cmd *a)
{
	struct urma_queue *q = kzalloc(sizeof(*q), GFP_KERNEL_ACCOUNT);

	if (q) {
		q->id = UBQ_NEW;
		q->async = f->async;
		q->cfg = *a;
	}
	return q;
}

int urma_create_jfs(struct urma_file *f, void *args)
{
	struct urma_jetty_cmd *a = args;
	struct urma_jfc *send = urma_obj_get(f, a->send_jfc, URMA_JFC);
	struct urma_queue *q;
	int err;

	if (!send)
		return -EINVAL;
	q = queue_new(f, a);
	if (!q)
		return -ENOMEM;
	err = send_shape(f->dev, q);
	if (err) {
		kfree(q);
		return err;
	}
	q->send = send;
	return queue_finish(f, q, URMA_JFS, (a->send_flag & URMA_JFS_ORDER) >>
					    URMA_JFS_ORDER_SHIFT, a);
}

int urma_create_jfr(struct urma_file *f, void *args)
{
	struct urma_jetty_cmd *a = args;
	struct urma_jfc *recv = urma_obj_get(f, a->recv_jfc, URMA_JFC);
	struct urma_queue *q;
	int err;

	if (!recv || (a->recv_flag & URMA_TOKEN_POLICY) > 1)
		return -EINVAL;
	if (!id_is_free(a->id))
		return -EPERM;
	q = queue_new(f, a);
	if (!q)
		return -ENOMEM;
	err = recv_shape(f->dev, q);
	if (err) {
		kfree(q);
		return err;
	}
	q->recv = recv;
	return queue_finish(f, q, URMA_JFR, (a->recv_flag & URMA_JFR_ORDER) >>
					    URMA_JFR_ORDER_SHIFT, a);
}

int urma_create_jetty(struct urma_file *f, void *args)
{
	struct urma_jetty_cmd *a = args;
	struct urma_jfc *send = urma_obj_get(f, a->send_jfc, URMA_JFC);
	struct urma_queue *jfr = urma_obj_get(f, a->jfr, URMA_JFR);
	struct urma_jfc *recv = urma_obj_get(f, a->recv_jfc, URMA_JFC);
	struct urma_group *group = urma_obj_get(f, a->group, URMA_GROUP);
	struct urma_queue *q;
	int err;

	/* Receive entries of its own are another object, always. */
	if (!send || !jfr || !(a->flag & URMA_JETTY_SHARE_JFR) ||
	    (a->recv_jfc && !recv) || jfr->cfg.trans_mode != a->trans_mode)
		return -EINVAL;
	if (a->in_group && (!group || a->trans_mode == URMA_RC))
		return -EINVAL;
	if (!id_is_free(a->id))
		return -EPERM;
	q = queue_new(f, a);
	if (!q)
		return -ENOMEM;
	err = send_shape(f->dev, q);
	if (err) {
		kfree(q);
		return err;
	}
	q->send = send;
	q->recv = recv ? recv : jfr->recv;
	q->jfr = jfr;
	q->group = a->in_group ? group : NULL;
	q->cfg.jfr_id = jfr->id;
	a->recv_depth = q->cfg.recv_depth = jfr->cfg.recv_depth;
	a->recv_sge = q->cfg.recv_sge = jfr->cfg.recv_sge;
	return queue_finish(f, q, URMA_JETTY, (a->send_flag & URMA_JFS_ORDER) >>
					      URMA_JFS_ORDER_SHIFT, a);
}

/* ---- changes ---- */

/* By @q, the JFR itself or a jetty that receives by it: it is told. */
static int limit_set(struct urma_dev *dev, struct urma_queue *jfr,
		     struct urma_queue *q, u32 limit)
{
	u32 old = jfr->cfg.rx_threshold;
	struct ub_cmd cmd;
	int err;

	if (limit > jfr->cfg.recv_depth)
		return -EINVAL;
	limiter_set(dev, jfr, q == jfr ? NULL : q, NULL);
	/* The event may come before the answer. */
	WRITE_ONCE(jfr->cfg.rx_threshold, limit);
	ub_cmd_init(&cmd, jfr->id, UBQ_QM_RQ_LIMIT);
	ub_put16(&cmd, UBQ_Q_RQ_LIMIT, limit);
	err = urma_cmd_run(dev, UBQ_OP_QUEUE_MODIFY, &cmd);
	if (err)
		WRITE_ONCE(jfr->cfg.rx_threshold, old);
	return err;
}

int urma_modify_jfs(struct urma_file *f, void *args)
{
	struct urma_jetty_cmd *a = args;
	struct urma_queue *q = urma_obj_get(f, a->handle, URMA_JFS);

	if (!q || a->mask != URMA_MODIFY_JFS_STATE || a->state > URMA_ERROR)
		return -EINVAL;
	return queue_state(f->dev, q, a->state);
}

static int modify_recv(struct urma_file *f, struct urma_queue *q,
		       struct urma_queue *jfr, u32 state,
		       const struct urma_jetty_cmd *a)
{
	int err = 0;

	if (a->mask & ~(URMA_MODIFY_THRESHOLD | URMA_MODIFY_STATE))
		return -EINVAL;
	if (a->mask & URMA_MODIFY_THRESHOLD)
		err = limit_set(f->dev, jfr, q, a->rx_threshold);
	if (!err && a->mask & URMA_MODIFY_STATE)
		err = state > URMA_ERROR ? -EINVAL
					 : queue_state(f->dev, q, state);
	return err;
}

int urma_modify_jfr(struct urma_file *f, void *args)
{
	struct urma_jetty_cmd *a = args;
	struct urma_queue *q = urma_obj_get(f, a->handle, URMA_JFR);

	if (!q || (a->mask & URMA_MODIFY_STATE && a->state > URMA_JFR_ERROR))
		return -EINVAL;
	return modify_recv(f, q, q, a->state == URMA_JFR_ERROR ?
			   UBQ_STATE_ERROR : a->state, a);
}

/* The threshold is that of its JFR. */
int urma_modify_jetty(struct urma_file *f, void *args)
{
	struct urma_jetty_cmd *a = args;
	struct urma_queue *q = urma_obj_get(f, a->handle, URMA_JETTY);

	return q ? modify_recv(f, q, q->jfr, a->state, a) : -EINVAL;
}

static int query(struct urma_file *f, enum urma_kind kind,
		 struct urma_jetty_cmd *a)
{
	struct urma_queue *q = urma_obj_get(f, a->handle, kind);
	struct ub_cmd cmd;
	int err;

	if (!q)
		return -EINVAL;
	ub_cmd_init(&cmd, q->id, 0);
	err = urma_cmd_run(f->dev, UBQ_OP_QUEUE_QUERY, &cmd);
	if (err)
		return err;
	*a = q->cfg;
	a->id = q->id;
	a->state = cmd.b[UBQ_Q_STATE];
	if (q->jfr)
		a->rx_threshold = q->jfr->cfg.rx_threshold;
	return 0;
}

int urma_query_jfs(struct urma_file *f, void *args)
{
	return query(f, URMA_JFS, args);
}

int urma_query_jfr(struct urma_file *f, void *args)
{
	struct urma_jetty_cmd *a = args;
	int err = query(f, URMA_JFR, a);

	if (!err && a->state == UBQ_STATE_ERROR)
		a->state = URMA_JFR_ERROR;
	return err;
}

int urma_query_jetty(struct urma_file *f, void *args)
{
	return query(f, URMA_JETTY, args);
}

/* ---- USER_CTL ---- */

/* What has not begun comes back, as flushed. */
static int ctl_drain(struct urma_dev *dev, struct urma_queue *q, void *args)
{
	struct ub_cmd cmd;

	ub_cmd_init(&cmd, q->id, UBQ_QM_DRAIN);
	return urma_cmd_run(dev, UBQ_OP_QUEUE_MODIFY, &cmd);
}

/* How far the engine is. */
static int ctl_progress(struct urma_dev *dev, struct urma_queue *q, void *args)
{
	const struct urma_user_ctl_cmd *a = args;
	const struct urma_udata out = { .out_addr = a->out_addr,
					.out_len = a->out_len };
	struct urma_progress p;
	struct ub_cmd cmd;
	int err;

	ub_cmd_init(&cmd, q->id, 0);
	err = urma_cmd_run(dev, UBQ_OP_QUEUE_QUERY, &cmd);
	if (err)
		return err;
	p = (struct urma_progress) {
		.state = cmd.b[UBQ_Q_STATE],
		.send_posted = ub_get16(&cmd, UBQ_Q_SQ_PI),
		.send_done = ub_get16(&cmd, UBQ_Q_SQ_CI),
		.recv_posted = ub_get16(&cmd, UBQ_Q_RQ_PI),
		.recv_done = ub_get16(&cmd, UBQ_Q_RQ_CI),
		.group = ub_get32(&cmd, UBQ_Q_GROUP),
	};
	urma_private_put(args, &out, &p, sizeof(p));
	return 0;
}

/* All are about a queue, whose handle is what was passed in. */
int urma_user_ctl(struct urma_file *f, void *args)
{
	static int (*const controls[])(struct urma_dev *, struct urma_queue *,
				       void *) = {
		[URMA_CTL_DRAIN] = ctl_drain,
		[URMA_CTL_PROGRESS] = ctl_progress,
	};
	const struct urma_user_ctl_cmd *a = args;
	u64 handle = urma_call_of(args)->in[0];
	struct urma_queue *q = NULL;
	enum urma_kind kind;

	if (a->opcode >= ARRAY_SIZE(controls) || !controls[a->opcode])
		return -EOPNOTSUPP;
	if (a->in_len != sizeof(handle))
		return -EINVAL;
	for (kind = URMA_JFS; !q && kind <= URMA_JETTY; kind++)
		q = urma_obj_get(f, handle, kind);
	return q ? controls[a->opcode](f->dev, q, args) : -EINVAL;
}

/* ---- ends ---- */

static int delete_queue(struct urma_file *f, enum urma_kind kind, void *args)
{
	struct urma_handle_cmd *a = args;
	struct urma_queue *q = urma_obj_get(f, a->handle, kind);
	int err;

	if (!q)
		return -EINVAL;
	err = urma_obj_take(f, &q->obj);
	if (err)
		return err;
	limit_end(f->dev, q);
	queue_forget(f, q);
	a->async_events = q->obj.async_reported;
	urma_queue_end(f, q, true);
	return 0;
}

int urma_delete_jfs(struct urma_file *f, void *args)
{
	return delete_queue(f, URMA_JFS, args);
}

int urma_delete_jfr(struct urma_file *f, void *args)
{
	return delete_queue(f, URMA_JFR, args);
}

int urma_delete_jetty(struct urma_file *f, void *args)
{
	return delete_queue(f, URMA_JETTY, args);
}

/* ---- events ---- */

#define NO_EVENT	(~0u)

/* Checks of send entries have a change of state behind them, and so have those of
 * receive entries: a JFR tells of the latter by its check alone.
 */
static u32 queue_event_type(const struct urma_queue *q, unsigned int event,
			    u32 data)
{
	static const u32 broken[URMA_KINDS] = {
		[URMA_JFS] = URMA_EVENT_JFS_ERR,
		[URMA_JFR] = URMA_EVENT_JFR_ERR,
		[URMA_JETTY] = URMA_EVENT_JETTY_ERR,
	};
	bool jfr = q->obj.kind == URMA_JFR;

	switch (event) {
	case UBQ_EVENT_RQ_LIMIT:
		return jfr ? URMA_EVENT_JFR_LIMIT : URMA_EVENT_JETTY_LIMIT;
	case UBQ_EVENT_RQ_ERROR:
		return jfr ? broken[URMA_JFR] : NO_EVENT;
	case UBQ_EVENT_QUEUE_STATE:
		return jfr || (data != UBQ_STATE_ERROR &&
			       data != UBQ_STATE_SUSPENDED) ?
		       NO_EVENT : broken[q->obj.kind];
	default:
		return NO_EVENT;
	}
}

void urma_queue_event(struct urma_queue *q, unsigned int event, u32 data)
{
	u32 type;

	if (event == UBQ_EVENT_RQ_LIMIT) {
		if (!READ_ONCE(q->cfg.rx_threshold))
			return;		/* nobody asks any more */
		q = q->limiter ?: q;
	}
	type = queue_event_type(q, event, data);
	if (type != NO_EVENT)
		urma_async_event(q->async, type, q->obj.cookie, &q->obj);
}
