/*
 * What tests of the provider of liburma share: see bed.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bed.h"
#include "tlv.h"

/* ---- Kernel and engine ------------------------------------------------------------ */

Host host;

int urma_register_provider_ops(urma_provider_ops *ops)
{
    host.registered = ops;
    return 0;
}

int urma_unregister_provider_ops(urma_provider_ops *ops)
{
    host.registered = NULL;
    return 0;
}

static void udata_put(const struct urma_udata *u, const void *data, size_t n)
{
    g_assert_cmpuint(u->out_len, ==, n);
    memcpy((void *)(uintptr_t)u->out_addr, data, n);
}

static uint64_t ring_make(const struct urma_udata *u, unsigned log2,
                          unsigned stride, uint32_t record)
{
    struct urma_queue_private shape = { .log2 = log2, .stride = stride,
                                        .bytes = RING_BYTES, .blocks = 2,
                                        .record = record };

    host.handles++;
    g_assert_cmpuint(host.handles, <, HANDLES);
    host.ring[host.handles] = g_malloc0(RING_BYTES);
    udata_put(u, &shape, sizeof(shape));
    return host.handles;
}

/* Who makes a queue, or deletes one, has the lock that its number is under. */
static void lock_look(unsigned command)
{
    static const unsigned of[] = {
        URMA_CREATE_JFS, URMA_CREATE_JFR, URMA_CREATE_JETTY,
        URMA_DELETE_JFS, URMA_DELETE_JFR, URMA_DELETE_JETTY,
    };

    for (unsigned i = 0; host.ctx && i < G_N_ELEMENTS(of); i++) {
        if (command == of[i]) {
            host.calls++;
            if (!pthread_mutex_trylock(&host.ctx->lock)) {
                host.unlocked++;
                pthread_mutex_unlock(&host.ctx->lock);
            }
        }
    }
}

static int command_run(unsigned command, void *args)
{
    struct urma_create_ctx *ctx = args;
    struct urma_jfc_cmd *jfc = args;
    struct urma_jetty_cmd *q = args;
    struct urma_target_cmd *t = args;
    struct urma_token_cmd *token = args;
    struct urma_seg_cmd *seg = args;
    struct urma_handle_cmd *h = args;
    struct urma_group_cmd *g = args;
    struct urma_user_ctl_cmd *ctl = args;
    const struct urma_ctx_private page = { URMA_PRIVATE_VERSION, RING_BYTES };
    const struct urma_target_private row = { .row = ROW };

    lock_look(command);
    g_atomic_int_add(&host.deleted, command == URMA_DELETE_JFC);
    if (host.gone && (command == URMA_DELETE_JFC ||
                      command == URMA_DELETE_JETTY ||
                      command == URMA_DESTROY_JETTY_GRP)) {
        errno = EIO;
        return -1;
    }
    switch (command) {
    case URMA_CREATE_CTX:
        udata_put(&ctx->udata, &page, sizeof(page));
        ctx->async_fd = ASYNC_FD;
        return 0;
    case URMA_CREATE_JFC:
        host.jfc_depth = jfc->depth;
        jfc->depth = 1 << CQ_LOG2;
        jfc->id = 3;
        host.cookie = jfc->cookie;
        jfc->handle = ring_make(&jfc->udata, CQ_LOG2, 0, 0);
        return 0;
    case URMA_CREATE_JETTY_GRP:
        g->id = 0x999;
        g->handle = 40;
        host.group = *g;
        return 0;
    case URMA_DESTROY_JETTY_GRP:
        g_assert_cmpuint(g->handle, ==, 40);
        g->async_events = 1;
        return 0;
    case URMA_USER_CTL:
        host.control = *ctl;
        memcpy(&host.controlled, (void *)(uintptr_t)ctl->in_addr, 8);
        errno = host.control_errno;
        return host.control_errno ? -1 : 0;
    case URMA_CREATE_JFS:
    case URMA_CREATE_JETTY:
        host.jetty = *q;
        q->id = 2000 + host.ids++;
        q->handle = ring_make(&q->udata, SQ_LOG2, 0, 0);
        return 0;
    case URMA_CREATE_JFR:
        q->id = 2000 + host.ids++;
        q->handle = ring_make(&q->udata, RQ_LOG2, RQ_STRIDE,
                              host.record);
        return 0;
    case URMA_IMPORT_JETTY:
        udata_put(&t->udata, &row, sizeof(row));
        t->handle = 60;
        return 0;
    case URMA_ALLOC_TOKEN_ID:
        token->token_id = 77;
        return 0;
    case URMA_REGISTER_SEG:
        g_assert_cmpuint(seg->token_id, ==, 77);
        return 0;
    case URMA_DELETE_JFC:
        h->comp_events = host.comp_events;
        return 0;
    default:
        return 0;
    }
}

static int async_run(struct urma_async_cmd *a)
{
    if (host.async_at == host.asyncs) {
        errno = EAGAIN;
        return -1;
    }
    *a = host.async[host.async_at++];
    return 0;
}

static int event_run(unsigned command, void *args)
{
    struct urma_wait_cmd *w = args;

    if (command == URMA_GET_ASYNC_EVENT) {
        return async_run(args);
    }
    g_assert_cmpuint(command, ==, URMA_WAIT_JFCE);
    if (!w->timeout) {
        errno = EAGAIN;
        return -1;
    }
    w->count = 1;
    w->cookie[0] = host.cookie;
    return 0;
}

/* Elements of an array are as far apart as the structure has them. */
static void strides_look(const struct urma_spec *spec,
                         const struct urma_attr *attr, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < spec->fields; k++) {
            const struct urma_field *f = &spec->field[k];

            if (f->type == attr[i].type && f->count) {
                g_assert_cmpuint(attr[i].elements, ==,
                                 f->count | (uint32_t)f->stride << 12);
                host.arrays++;
            }
        }
    }
}

int ubc_os_ioctl(int fd, unsigned long request, void *arg)
{
    const struct urma_hdr *hdr = arg;
    const struct urma_attr *attr = (void *)(uintptr_t)hdr->args_addr;
    uint32_t n = hdr->args_len / sizeof(*attr);
    bool event = request == URMA_IOC_EVENT;
    const struct urma_spec *spec = event ? &urma_event_specs[hdr->command]
                                         : &urma_specs[hdr->command];
    g_autofree void *args = g_malloc0(spec->bytes);
    int result;

    host.commands++;
    strides_look(spec, attr, n);
    g_assert_cmpint(urma_tlv_get(spec, attr, n, args), ==, 0);
    result = event ? event_run(hdr->command, args)
                   : command_run(hdr->command, args);
    if (!result) {
        g_assert_cmpint(urma_tlv_put(spec, attr, n, args), ==, 0);
    }
    return result;
}

void *ubc_os_map(int fd, uint64_t offset, size_t bytes)
{
    g_assert_cmpuint(bytes, ==, RING_BYTES);
    host.maps++;
    if (!offset) {
        host.ring[0] = g_malloc0(RING_BYTES);
    }
    return host.ring[offset >> URMA_MMAP_SHIFT];
}

void ubc_os_unmap(void *at, size_t bytes)
{
    host.maps -= at != NULL;
    g_free(at);
}

void ubc_os_close(int fd)
{
    host.closed = fd;
}

void ubc_os_bell(uint8_t *page, unsigned offset, uint64_t value)
{
    g_assert_true(page == host.ring[0]);
    host.bell.offset = offset;
    host.bell.value = value;
    host.bells++;
}

/* ---- A context with everything ------------------------------------------------------ */

void bed_open(Bed *b)
{
    urma_jfc_cfg jfc = { .depth = 10 };
    urma_jfr_cfg jfr = { .depth = 8, .trans_mode = URMA_RM, .max_sge = 2 };
    urma_jetty_cfg jetty = { .flag = URMA_JETTY_SHARE_JFR };
    urma_rjetty peer = { .jetty_id.id = 0x4242, .trans_mode = URMA_RM,
                         .type = URMA_TARGET_JETTY, .flag = 1 };
    urma_seg_cfg seg = { .len = sizeof(b->data), .flag = 1 };
    urma_seg remote = { .token_id = 0x555, .attr = 1 };
    urma_token token = { 0xfeed };

    memset(b, 0, sizeof(*b));
    host.handles = host.ids = host.comp_events = 0;
    host.asyncs = host.async_at = 0;
    g_atomic_int_set(&host.deleted, 0);
    g_assert_nonnull(host.registered);
    b->ctx = host.registered->create_context(&b->dev, 0, 9);
    g_assert_nonnull(b->ctx);
    b->ops = b->ctx->ops;
    b->jfc = b->ops->create_jfc(b->ctx, &jfc);
    b->cq = host.ring[1];
    jfr.jfc = b->jfc;
    b->jfr = b->ops->create_jfr(b->ctx, &jfr);
    b->rq = host.ring[2];
    jetty.jfr = b->jfr;
    jetty.jfs_cfg = (urma_jfs_cfg) { .depth = 8, .jfc = b->jfc,
                                     .trans_mode = URMA_RM };
    b->jetty = b->ops->create_jetty(b->ctx, &jetty);
    b->sq = host.ring[3];
    b->target = b->ops->import_jetty(b->ctx, &peer, &token);
    b->token = b->ops->alloc_token_id(b->ctx);
    seg.token_id = b->token;
    seg.va = (uintptr_t)b->data;
    b->seg = b->ops->register_seg(b->ctx, &seg);
    b->remote = b->ops->import_seg(b->ctx, &remote, &token, 0, 0);
    g_assert_true(b->jetty && b->target && b->seg && b->remote);
    g_assert_cmpuint(b->jfr->jfr_id.id, ==, 2000);
    g_assert_cmpuint(b->jetty->jetty_id.id, ==, 2001);
}

void bed_close(Bed *b)
{
    g_assert_cmpint(b->ops->unimport_seg(b->remote), ==, 0);
    g_assert_cmpint(b->ops->unregister_seg(b->seg), ==, 0);
    g_assert_cmpint(b->ops->free_token_id(b->token), ==, 0);
    g_assert_cmpint(b->ops->unimport_jetty(b->target), ==, 0);
    g_assert_cmpint(b->ops->delete_jetty(b->jetty), ==, 0);
    g_assert_cmpint(b->ops->delete_jfr(b->jfr), ==, 0);
    g_assert_cmpint(b->ops->delete_jfc(b->jfc), ==, 0);
    host.closed = -1;
    g_assert_cmpint(host.registered->delete_context(b->ctx), ==, 0);
    g_assert_cmpint(host.closed, ==, ASYNC_FD);
    g_assert_cmpint(host.maps, ==, 0);
}

/* What the engine would write. */
void complete(Bed *b, uint32_t w0, unsigned status, uint32_t queue,
              uint32_t index, uint32_t rq)
{
    uint8_t *e = b->cq + (b->cq_pi & ((1u << CQ_LOG2) - 1)) * UBQ_CQE;
    bool odd = b->cq_pi++ >> CQ_LOG2 & 1;

    put_le32(e + UBQ_CQE_QUEUE, queue);
    put_le32(e + UBQ_CQE_INDEX, index);
    put_le32(e + UBQ_CQE_BYTES, 123);
    put_le64(e + UBQ_CQE_IMMEDIATE, 0xabcdef);
    put_le32(e + UBQ_CQE_REMOTE, 0x777);
    put_le32(e + UBQ_CQE_RQ, rq);
    memset(e + UBQ_CQE_EID, 0xe1, 16);
    put_le32(e, w0 | status >> 8 << 16 | (status & 0xff) << 8 |
                (odd ? 0 : UBQ_CQE_OWNER));
}

urma_sge local(Bed *b, unsigned off, uint32_t len)
{
    return (urma_sge) { .addr = (uintptr_t)b->data + off, .len = len,
                        .tseg = b->seg };
}

urma_sge remote(Bed *b, uint64_t addr, uint32_t len)
{
    return (urma_sge) { .addr = addr, .len = len, .tseg = b->remote };
}

int post(Bed *b, urma_jfs_wr *wr)
{
    urma_jfs_wr *bad = NULL;
    int err;

    wr->tjetty = b->target;
    err = b->ops->post_jetty_send_wr(b->jetty, wr, &bad);
    g_assert_true(!err || bad == wr);
    return err;
}

void word0_check(const uint8_t *e, uint32_t want)
{
    g_assert_cmphex(get_le32(e), ==, want);
    g_assert_cmphex(get_le32(e + UBQ_SQE_DEST), ==, ROW);
}
