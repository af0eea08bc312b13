/*
 * The provider of liburma against a kernel and an engine that are this file:
 * what it writes into queues, and what it makes of completions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "core/bytes.h"
#include "tlv.h"
#include "ubc.h"

#define CQ_LOG2 4
#define SQ_LOG2 4
#define RQ_LOG2 3
#define RQ_STRIDE 1
#define ROW 0x12345
#define RING_BYTES 4096
#define HANDLES 64

/* ---- Kernel and engine ------------------------------------------------------------ */

static struct {
    urma_provider_ops *registered;
    uint8_t *ring[HANDLES];         /* by handle; 0: doorbells */
    unsigned handles;
    uint32_t ids;
    struct {
        unsigned offset;
        uint64_t value;
    } bell;
    unsigned bells;
    uint32_t comp_events;           /* what DELETE_JFC says */
    uint64_t cookie;                /* of the JFC */
    unsigned commands;
    struct urma_jetty_cmd jetty;    /* the last one made */
    struct urma_group_cmd group;
    struct urma_user_ctl_cmd control;
    uint64_t controlled;            /* handle */
    int control_errno;
    bool gone;                      /* the device: nothing can be deleted */
    UbcCtx *ctx;                    /* whose lock … */
    unsigned calls, unlocked;       /* … these makings and deletions had, or not */
} host;

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
                          unsigned stride)
{
    struct urma_queue_private shape = { .log2 = log2, .stride = stride,
                                        .bytes = RING_BYTES, .blocks = 2 };

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
    if (host.gone && (command == URMA_DELETE_JFC ||
                      command == URMA_DELETE_JETTY)) {
        errno = EIO;
        return -1;
    }
    switch (command) {
    case URMA_CREATE_CTX:
        udata_put(&ctx->udata, &page, sizeof(page));
        ctx->async_fd = 50;
        return 0;
    case URMA_CREATE_JFC:
        jfc->depth = 1 << CQ_LOG2;
        jfc->id = 3;
        host.cookie = jfc->cookie;
        jfc->handle = ring_make(&jfc->udata, CQ_LOG2, 0);
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
        q->handle = ring_make(&q->udata, SQ_LOG2, 0);
        return 0;
    case URMA_CREATE_JFR:
        q->id = 2000 + host.ids++;
        q->handle = ring_make(&q->udata, RQ_LOG2, RQ_STRIDE);
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

static int event_run(unsigned command, void *args)
{
    struct urma_wait_cmd *w = args;

    g_assert_cmpuint(command, ==, URMA_WAIT_JFCE);
    if (!w->timeout) {
        errno = EAGAIN;
        return -1;
    }
    w->count = 1;
    w->cookie[0] = host.cookie;
    return 0;
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
    if (!offset) {
        host.ring[0] = g_malloc0(RING_BYTES);
    }
    return host.ring[offset >> URMA_MMAP_SHIFT];
}

void ubc_os_unmap(void *at, size_t bytes)
{
    g_free(at);
}

void ubc_os_close(int fd)
{
}

void ubc_os_bell(uint8_t *page, unsigned offset, uint64_t value)
{
    g_assert_true(page == host.ring[0]);
    host.bell.offset = offset;
    host.bell.value = value;
    host.bells++;
}

/* ---- A context with everything ------------------------------------------------------ */

typedef struct Bed {
    urma_device dev;
    urma_context *ctx;
    const urma_ops *ops;
    urma_jfc *jfc;
    urma_jfr *jfr;
    urma_jetty *jetty;
    urma_target_jetty *target;
    urma_token_id *token;
    urma_target_seg *seg, *remote;
    uint8_t *cq, *sq, *rq;
    uint16_t cq_pi;
    uint8_t data[512];
} Bed;

static void bed_open(Bed *b)
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

static void bed_close(Bed *b)
{
    g_assert_cmpint(b->ops->unimport_seg(b->remote), ==, 0);
    g_assert_cmpint(b->ops->unregister_seg(b->seg), ==, 0);
    g_assert_cmpint(b->ops->free_token_id(b->token), ==, 0);
    g_assert_cmpint(b->ops->unimport_jetty(b->target), ==, 0);
    g_assert_cmpint(b->ops->delete_jetty(b->jetty), ==, 0);
    g_assert_cmpint(b->ops->delete_jfr(b->jfr), ==, 0);
    g_assert_cmpint(b->ops->delete_jfc(b->jfc), ==, 0);
    g_assert_cmpint(host.registered->delete_context(b->ctx), ==, 0);
}

/* What the engine would write. */
static void complete(Bed *b, uint32_t w0, unsigned status, uint32_t queue,
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

static urma_sge local(Bed *b, unsigned off, uint32_t len)
{
    return (urma_sge) { .addr = (uintptr_t)b->data + off, .len = len,
                        .tseg = b->seg };
}

static urma_sge remote(Bed *b, uint64_t addr, uint32_t len)
{
    return (urma_sge) { .addr = addr, .len = len, .tseg = b->remote };
}

static int post(Bed *b, urma_jfs_wr *wr)
{
    urma_jfs_wr *bad = NULL;
    int err;

    wr->tjetty = b->target;
    err = b->ops->post_jetty_send_wr(b->jetty, wr, &bad);
    g_assert_true(!err || bad == wr);
    return err;
}

/* ---- Entries --------------------------------------------------------------------------- */

static void word0_check(const uint8_t *e, uint32_t want)
{
    g_assert_cmphex(get_le32(e), ==, want);
    g_assert_cmphex(get_le32(e + UBQ_SQE_DEST), ==, ROW);
}

static void test_write(void)
{
    Bed b;
    urma_sge src[3], dst;
    urma_jfs_wr wr = {
        .opcode = URMA_WR_WRITE,
        .flag = 2 | URMA_WR_COMPLETE | URMA_WR_FENCE | URMA_WR_COMP_ORDER,
        .rw = { .src = { src, 3 }, .dst = { &dst, 1 } },
    };

    bed_open(&b);
    for (unsigned i = 0; i < 3; i++) {
        src[i] = local(&b, 100 * i, 10 + i);
    }
    dst = remote(&b, 0x123456789a, 33);
    g_assert_cmpint(post(&b, &wr), ==, 0);
    word0_check(b.sq, 0x03 | 1 << 8 | 3 << 12 | 2 << 20 |
                      UBQ_SQE_ORDERED_CQE | UBQ_SQE_FENCE | UBQ_SQE_CQE |
                      UBQ_SQE_TOKEN | UBQ_SQE_OWNER);
    g_assert_cmphex(get_le32(b.sq + UBQ_SQE_TARGET), ==, 0x555);
    g_assert_cmphex(get_le32(b.sq + UBQ_SQE_TOKEN_VALUE), ==, 0xfeed);
    g_assert_cmphex(get_le64(b.sq + UBQ_SQE_ADDR), ==, 0x123456789a);
    g_assert_cmpuint(get_le32(b.sq + UBQ_SQE_LENGTH), ==, 33);
    g_assert_cmphex(get_le64(b.sq + UBQ_SQE_ELEMENT), ==, src[0].addr);
    g_assert_cmphex(get_le64(b.sq + 64), ==, src[1].addr);
    g_assert_cmpuint(get_le32(b.sq + 64 + 16 + 8), ==, 12);
    g_assert_cmpuint(host.bell.offset, ==, UBQ_BELL_SQ);
    g_assert_cmphex(host.bell.value, ==, 2001 | 2ull << 32);
    bed_close(&b);
}

static void test_notify(void)
{
    Bed b;
    urma_sge src[2], dst[2];
    urma_jfs_wr wr = {
        .opcode = URMA_WR_WRITE_NOTIFY,
        .rw = { .src = { src, 2 }, .dst = { dst, 2 }, .notify_data = 0x99 },
    };
    urma_user_tseg user = { .attr = 1, .token_id = 0x666, .token = { 0xaa } };

    bed_open(&b);
    src[0] = local(&b, 0, 1);
    src[1] = local(&b, 9, 2);
    dst[0] = remote(&b, 0x1000, 3);
    dst[1] = (urma_sge) { .addr = 0x2000, .len = 8, .user_tseg = &user };
    g_assert_cmpint(post(&b, &wr), ==, 0);
    word0_check(b.sq, 0x05 | 1 << 8 | 2 << 12 | UBQ_SQE_TOKEN |
                      UBQ_SQE_OWNER);
    g_assert_cmphex(get_le64(b.sq + UBQ_SQE_IMM), ==, 0x99);
    g_assert_cmphex(get_le64(b.sq + UBQ_SQE_NOTIFY), ==, 0x2000);
    g_assert_cmphex(get_le32(b.sq + 64), ==, 0x666);
    g_assert_cmphex(get_le32(b.sq + 68), ==, 0xaa);
    g_assert_cmphex(get_le64(b.sq + 80), ==, src[1].addr);
    wr.opcode = URMA_WR_WRITE_IMM;
    g_assert_cmpint(post(&b, &wr), ==, 0);
    word0_check(b.sq + 128, 0x04 | 1 << 8 | 2 << 12 | UBQ_SQE_TOKEN |
                            UBQ_SQE_OWNER);
    g_assert_cmphex(get_le64(b.sq + 128 + UBQ_SQE_NOTIFY), ==,
                    0x4242 | 0xfeedull << 32);
    bed_close(&b);
}

static void test_atomic(void)
{
    static const struct {
        uint32_t opcode, hw;
        uint64_t first, second;
    } ops[] = {
        { URMA_WR_CAS, 0x07, 1, 2 }, { URMA_WR_SWAP, 0x08, 2, 2 },
        { URMA_WR_FADD, 0x0b, 1, 0 }, { URMA_WR_FSUB, 0x0c, 1, 0 },
        { URMA_WR_FAND, 0x0d, 1, 0 }, { URMA_WR_FOR, 0x0e, 1, 0 },
        { URMA_WR_FXOR, 0x0f, 1, 0 },
    };
    Bed b;

    bed_open(&b);
    for (unsigned i = 0; i < G_N_ELEMENTS(ops); i++) {
        urma_sge dst = remote(&b, 0x800, 8), src = local(&b, 16, 8);
        urma_jfs_wr wr = {
            .opcode = ops[i].opcode,
            .atomic = { .dst = &dst, .src = &src, .operand = { 1, 2 } },
        };
        const uint8_t *e = b.sq + 128 * i;

        g_assert_cmpint(post(&b, &wr), ==, 0);
        word0_check(e, ops[i].hw | 1 << 8 | 1 << 12 | UBQ_SQE_INLINE |
                       UBQ_SQE_TOKEN | UBQ_SQE_OWNER);
        g_assert_cmpuint(get_le32(e + UBQ_SQE_LENGTH), ==, 8);
        g_assert_cmphex(get_le64(e + UBQ_SQE_ELEMENT), ==, src.addr);
        g_assert_cmphex(get_le64(e + 64), ==, ops[i].first);
        g_assert_cmphex(get_le64(e + 72), ==, ops[i].second);
    }
    bed_close(&b);
}

static void test_send(void)
{
    Bed b;
    urma_sge src[2];
    urma_jfs_wr wr = {
        .opcode = URMA_WR_SEND_IMM,
        .flag = URMA_WR_INLINE | URMA_WR_SOLICITED,
        .send = { .src = { src, 2 }, .imm_data = 0x1234567890 },
    };

    bed_open(&b);
    memset(b.data, 0x11, 20);
    memset(b.data + 20, 0x22, 50);
    src[0] = local(&b, 0, 20);
    src[1] = local(&b, 20, 50);
    g_assert_cmpint(post(&b, &wr), ==, 0);
    word0_check(b.sq, 0x01 | 2 << 8 | UBQ_SQE_SOLICITED | UBQ_SQE_INLINE |
                      UBQ_SQE_TOKEN | UBQ_SQE_OWNER);
    g_assert_cmphex(get_le32(b.sq + UBQ_SQE_TARGET), ==, 0x4242);
    g_assert_cmphex(get_le64(b.sq + UBQ_SQE_IMM), ==, 0x1234567890);
    g_assert_cmpmem(b.sq + 64, 70, b.data, 70);
    wr = (urma_jfs_wr) { .opcode = URMA_WR_NOP, .flag = URMA_WR_COMPLETE };
    g_assert_cmpint(post(&b, &wr), ==, 0);
    g_assert_cmphex(get_le32(b.sq + 192), ==,
                    UBQ_OP_NOP | UBQ_SQE_CQE | UBQ_SQE_OWNER);
    bed_close(&b);
}

static void test_bad_requests(void)
{
    Bed b;
    urma_sge src, dst, none = { .addr = 1, .len = 8 };
    urma_jfs_wr wr = { .opcode = URMA_WR_READ,
                       .rw = { .src = { &dst, 1 }, .dst = { &src, 1 } } };

    bed_open(&b);
    host.bells = 0;
    src = local(&b, 0, 600);
    dst = remote(&b, 0, 600);
    for (uint32_t opcode = 0; opcode < 256; opcode++) {
        bool known = opcode <= 2 || opcode == 0x10 ||
                     (opcode >= 0x20 && opcode <= 0x26) || opcode == 0x40 ||
                     opcode == 0x41 || opcode == 0x51;

        wr.opcode = opcode;
        wr.flag = 3;                    /* there is no such order */
        g_assert_cmpint(post(&b, &wr), ==, EINVAL);
        wr.flag = 0;
        if (!known) {
            g_assert_cmpint(post(&b, &wr), ==, EINVAL);
        }
    }
    wr.opcode = URMA_WR_READ;
    wr.rw.src.sge = &none;              /* of no segment */
    g_assert_cmpint(post(&b, &wr), ==, EINVAL);
    wr = (urma_jfs_wr) { .opcode = URMA_WR_WRITE, .flag = URMA_WR_INLINE,
                         .rw = { .src = { &src, 1 }, .dst = { &dst, 1 } } };
    g_assert_cmpint(post(&b, &wr), ==, EINVAL);     /* too much inline */
    wr.flag = 0;
    wr.rw.src.num_sge = UBQ_ELEMENTS_MAX + 1;
    g_assert_cmpint(post(&b, &wr), ==, EINVAL);
    wr = (urma_jfs_wr) { .opcode = URMA_WR_CAS,
                         .atomic = { .dst = &dst, .src = &src } };
    g_assert_cmpint(post(&b, &wr), ==, EINVAL);     /* of 600 bytes */
    g_assert_cmpuint(host.bells, ==, 0);
    bed_close(&b);
}

/* ---- Rings -------------------------------------------------------------------------------- */

static void write_small(Bed *b, uint64_t user_ctx, int want)
{
    urma_sge src = local(b, 0, 4), dst = remote(b, 0, 4);
    urma_jfs_wr wr = {
        .opcode = URMA_WR_WRITE, .user_ctx = user_ctx,
        .rw = { .src = { &src, 1 }, .dst = { &dst, 1 } },
    };

    g_assert_cmpint(post(b, &wr), ==, want);
}

/* Full, freed by one completion for all before it, owner of the next lap. */
static void test_ring(void)
{
    urma_cr cr;
    Bed b;

    bed_open(&b);
    for (unsigned lap = 0; lap < 5; lap++) {
        for (unsigned i = 0; i < 16; i++) {
            write_small(&b, 1000 * lap + i, 0);
            g_assert_cmphex(get_le32(b.sq + 64 * i) & UBQ_SQE_OWNER, ==,
                            lap % 2 ? 0 : UBQ_SQE_OWNER);
        }
        write_small(&b, 0, ENOMEM);
        g_assert_cmpint(b.ops->poll_jfc(b.jfc, 1, &cr), ==, 0);
        complete(&b, 3, UBQ_STATUS_OK, 2001, 16 * lap + 9, 0);
        g_assert_cmpint(b.ops->poll_jfc(b.jfc, 1, &cr), ==, 1);
        g_assert_cmpuint(cr.user_ctx, ==, 1000 * lap + 9);
        g_assert_cmpuint(cr.status, ==, URMA_CR_SUCCESS);
        g_assert_cmpuint(cr.completion_len, ==, 4);
        g_assert_cmpuint(cr.local_id, ==, 2001);
        g_assert_cmpuint(cr.flag, ==, URMA_CR_JETTY);
        g_assert_true(cr.user_data == (uintptr_t)b.jetty);
        complete(&b, 3, UBQ_STATUS_OK, 2001, 16 * lap + 15, 0);
        g_assert_cmpint(b.ops->poll_jfc(b.jfc, 8, &cr), ==, 1);
    }
    bed_close(&b);
}

/* An entry of two blocks over the end of the ring. */
static void test_wrap(void)
{
    urma_sge src[2], dst;
    urma_jfs_wr wr = { .opcode = URMA_WR_WRITE,
                       .rw = { .src = { src, 2 }, .dst = { &dst, 1 } } };
    urma_cr cr;
    Bed b;

    bed_open(&b);
    for (unsigned i = 0; i < 15; i++) {
        write_small(&b, i, 0);
    }
    complete(&b, 3, UBQ_STATUS_OK, 2001, 14, 0);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 1, &cr), ==, 1);
    src[0] = local(&b, 0, 1);
    src[1] = local(&b, 7, 1);
    dst = remote(&b, 0, 2);
    g_assert_cmpint(post(&b, &wr), ==, 0);
    g_assert_cmphex(get_le32(b.sq + 15 * 64), ==,
                    3 | 1 << 8 | 2 << 12 | UBQ_SQE_TOKEN | UBQ_SQE_OWNER);
    g_assert_cmphex(get_le64(b.sq), ==, src[1].addr);
    g_assert_cmphex(host.bell.value, ==, 2001 | 17ull << 32);
    bed_close(&b);
}

static void recv_post(Bed *b, uint64_t user_ctx, int want)
{
    urma_sge sge = local(b, user_ctx % 100, 33);
    urma_jfr_wr wr = { .src = { &sge, 1 }, .user_ctx = user_ctx }, *bad;

    g_assert_cmpint(b->ops->post_jetty_recv_wr(b->jetty, &wr, &bad), ==, want);
}

/* Messages may end in another order than they began. */
static void test_receive(void)
{
    urma_cr cr;
    Bed b;

    bed_open(&b);
    for (unsigned i = 0; i < 8; i++) {
        recv_post(&b, 10 + i, 0);
    }
    recv_post(&b, 0, ENOMEM);
    g_assert_cmphex(get_le64(b.rq + 32 * 3), ==, (uintptr_t)b.data + 13);
    g_assert_cmpuint(get_le32(b.rq + 32 * 3 + 8), ==, 33);
    g_assert_cmpuint(get_le32(b.rq + 32 * 3 + 24), ==, 0);
    g_assert_cmpuint(host.bell.offset, ==, UBQ_BELL_RQ);
    g_assert_cmphex(host.bell.value, ==, 2000 | 8ull << 32);
    complete(&b, 0x01 | UBQ_CQE_RECEIVE | UBQ_CQE_IMM, UBQ_STATUS_OK, 2001, 1,
             2000);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 4, &cr), ==, 1);
    g_assert_cmpuint(cr.user_ctx, ==, 11);
    g_assert_cmpuint(cr.opcode, ==, URMA_CR_SEND_IMM);
    g_assert_cmpuint(cr.flag, ==, URMA_CR_RECEIVE | URMA_CR_JETTY);
    g_assert_cmpuint(cr.completion_len, ==, 123);
    g_assert_cmphex(cr.imm_data, ==, 0xabcdef);
    g_assert_cmpuint(cr.remote_id.id, ==, 0x777);
    g_assert_cmphex(cr.remote_id.eid.raw[0], ==, 0xe1);
    recv_post(&b, 0, ENOMEM);           /* the first is still out */
    complete(&b, 0x00 | UBQ_CQE_RECEIVE, UBQ_STATUS_OK, 2000, 0, 2000);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 4, &cr), ==, 1);
    g_assert_cmpuint(cr.user_ctx, ==, 10);
    g_assert_cmpuint(cr.opcode, ==, URMA_CR_SEND);
    g_assert_cmpuint(cr.flag, ==, URMA_CR_RECEIVE);
    recv_post(&b, 18, 0);
    recv_post(&b, 19, 0);
    recv_post(&b, 0, ENOMEM);
    bed_close(&b);
}

static void test_statuses(void)
{
    static const uint16_t hw[] = {
        [URMA_CR_OPCODE] = UBQ_STATUS_OPCODE,
        [URMA_CR_LOCAL_LENGTH] = UBQ_STATUS_LOCAL_LENGTH,
        [URMA_CR_LOCAL_ACCESS] = UBQ_STATUS_LOCAL_ACCESS,
        [URMA_CR_REMOTE_LENGTH] = UBQ_STATUS_REMOTE_LENGTH,
        [URMA_CR_REMOTE_UNSUPPORTED] = UBQ_STATUS_UNSUPPORTED,
        [URMA_CR_REMOTE_ABORT] = UBQ_STATUS_ABORT,
        [URMA_CR_ACK_TIMEOUT] = UBQ_STATUS_TIMEOUT,
        [URMA_CR_RNR] = UBQ_STATUS_RNR,
        [URMA_CR_FLUSHED] = UBQ_STATUS_FLUSHED,
        [URMA_CR_LOCAL_POISON] = UBQ_STATUS_LOCAL_POISON,
        [URMA_CR_REMOTE_POISON] = UBQ_STATUS_REMOTE_POISON,
    };
    urma_cr cr;
    Bed b;

    bed_open(&b);
    for (unsigned i = 0; i < G_N_ELEMENTS(hw); i++) {
        if (!hw[i]) {
            continue;
        }
        write_small(&b, i, 0);
        complete(&b, 3, hw[i], 2001, 15, 0);
        g_assert_cmpint(b.ops->poll_jfc(b.jfc, 1, &cr), ==, 1);
        g_assert_cmpuint(cr.status, ==, i);
    }
    complete(&b, 3, 0x0909, 2001, 0, 0);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 1, &cr), ==, 1);
    g_assert_cmpuint(cr.status, ==, URMA_CR_UNHANDLED);
    complete(&b, UBQ_OP_NOP, UBQ_STATUS_FLUSH_DONE, 2001, 5, 0);
    complete(&b, UBQ_OP_NOP, UBQ_STATUS_SUSPEND_DONE, 2001, 5, 0);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 1, &cr), ==, 1);
    g_assert_cmpuint(cr.status, ==, URMA_CR_FLUSH_DONE);
    g_assert_cmpuint(cr.flag, ==, URMA_CR_JETTY | URMA_CR_FLUSH_ENDED);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 1, &cr), ==, 1);
    g_assert_cmpuint(cr.status, ==, URMA_CR_SUSPEND_DONE);
    bed_close(&b);
}

/* Completions of what is gone are skipped, those of others are not. */
static void test_forget(void)
{
    urma_cr cr[4];
    Bed b;

    bed_open(&b);
    write_small(&b, 1, 0);
    recv_post(&b, 2, 0);
    complete(&b, 3, UBQ_STATUS_OK, 2001, 0, 0);
    complete(&b, UBQ_CQE_RECEIVE, UBQ_STATUS_OK, 2000, 0, 2000);
    complete(&b, 3, UBQ_STATUS_OK, 0xabcde, 0, 0);   /* nobody's */
    ubc_jfc_forget(b.jfc, 2001, UBC_FORGET_QUEUE);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 4, cr), ==, 1);
    g_assert_cmpuint(cr[0].user_ctx, ==, 2);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 4, cr), ==, 0);
    bed_close(&b);
}

static urma_jetty *jetty_more(Bed *b, urma_jfc *recv)
{
    urma_jetty_cfg cfg = {
        .flag = URMA_JETTY_SHARE_JFR, .jfr = b->jfr, .jfc = recv,
        .jfs_cfg = { .depth = 8, .jfc = b->jfc, .trans_mode = URMA_RM },
    };
    urma_jetty *jetty = b->ops->create_jetty(b->ctx, &cfg);

    g_assert_nonnull(jetty);
    return jetty;
}

/* A message that nobody polled before its jetty went gives its entry back. */
static void test_forget_receive(void)
{
    urma_jetty *gone;
    urma_cr cr[4];
    Bed b;

    bed_open(&b);
    gone = jetty_more(&b, NULL);
    for (unsigned i = 0; i < 8; i++) {
        recv_post(&b, 10 + i, 0);
    }
    complete(&b, UBQ_CQE_RECEIVE, UBQ_STATUS_OK, gone->jetty_id.id, 0, 2000);
    complete(&b, 3, UBQ_STATUS_OK, gone->jetty_id.id, 0, 0);
    recv_post(&b, 0, ENOMEM);
    g_assert_cmpint(b.ops->delete_jetty(gone), ==, 0);
    recv_post(&b, 18, 0);
    complete(&b, UBQ_CQE_RECEIVE, UBQ_STATUS_OK, 2001, 1, 2000);
    /* And one that is told of only now. */
    complete(&b, UBQ_CQE_RECEIVE, UBQ_STATUS_OK, 0xabcde, 2, 2000);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 4, cr), ==, 1);
    g_assert_cmpuint(cr[0].user_ctx, ==, 11);
    recv_post(&b, 19, 0);
    recv_post(&b, 20, 0);
    recv_post(&b, 0, ENOMEM);
    /* Each of them once. */
    for (unsigned i = 3; i < 8; i++) {
        complete(&b, UBQ_CQE_RECEIVE, UBQ_STATUS_OK, 2001, i, 2000);
    }
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 4, cr), ==, 4);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 4, cr), ==, 1);
    for (unsigned i = 0; i < 5; i++) {
        recv_post(&b, 30 + i, 0);
    }
    recv_post(&b, 0, ENOMEM);
    bed_close(&b);
}

/* Of a jetty that is reset what it received stays, with one JFC for both. */
static void test_reset_jetty(void)
{
    urma_recv_attr reset = { .mask = URMA_MODIFY_STATE, .state = URMA_RESET };
    urma_cr cr[4];
    Bed b;

    bed_open(&b);
    write_small(&b, 1, 0);
    for (unsigned i = 0; i < 8; i++) {
        recv_post(&b, 10 + i, 0);
    }
    complete(&b, 3, UBQ_STATUS_OK, 2001, 0, 0);
    complete(&b, UBQ_CQE_RECEIVE, UBQ_STATUS_OK, 2001, 0, 2000);
    g_assert_cmpint(b.ops->modify_jetty(b.jetty, &reset), ==, 0);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 4, cr), ==, 1);
    g_assert_cmpuint(cr[0].user_ctx, ==, 10);
    g_assert_cmpuint(cr[0].flag, ==, URMA_CR_RECEIVE | URMA_CR_JETTY);
    recv_post(&b, 18, 0);
    recv_post(&b, 0, ENOMEM);
    bed_close(&b);
}

/* A JFR that is reset: what was told of its entries is of no use in any JFC, also
 * where another JFC came later and has gone. */
static void test_reset_jfr(void)
{
    urma_recv_attr reset = { .mask = URMA_MODIFY_STATE,
                             .state = URMA_JFR_RESET };
    urma_jfc_cfg cfg = { .depth = 10 };
    urma_jfc *other, *later;
    urma_jetty *jetty;
    uint8_t *cq;
    urma_cr cr[4];
    Bed b, elsewhere;

    bed_open(&b);
    other = b.ops->create_jfc(b.ctx, &cfg);
    cq = host.ring[host.handles];
    later = b.ops->create_jfc(b.ctx, &cfg);
    jetty = jetty_more(&b, other);
    for (unsigned i = 0; i < 8; i++) {
        recv_post(&b, 10 + i, 0);
    }
    complete(&b, UBQ_CQE_RECEIVE, UBQ_STATUS_OK, 2001, 0, 2000);
    elsewhere = b;
    elsewhere.cq = cq;
    elsewhere.cq_pi = 0;
    complete(&elsewhere, UBQ_CQE_RECEIVE, UBQ_STATUS_OK, jetty->jetty_id.id, 1,
             2000);
    complete(&b, 3, UBQ_STATUS_OK, 2001, 0, 0);
    g_assert_cmpint(b.ops->delete_jfc(later), ==, 0);
    g_assert_cmpint(b.ops->modify_jfr(b.jfr, &reset), ==, 0);
    g_assert_cmpint(b.ops->poll_jfc(other, 4, cr), ==, 0);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 4, cr), ==, 1);
    g_assert_cmpuint(cr[0].flag, ==, URMA_CR_JETTY);    /* what was sent */
    for (unsigned i = 0; i < 8; i++) {
        recv_post(&b, 30 + i, 0);
    }
    recv_post(&b, 0, ENOMEM);
    g_assert_cmpint(b.ops->delete_jetty(jetty), ==, 0);
    g_assert_cmpint(b.ops->delete_jfc(other), ==, 0);
    bed_close(&b);
}

/* A number that the kernel has given back may be another thread's at once. */
static void test_numbers(void)
{
    urma_jfs_cfg cfg = { .depth = 8, .trans_mode = URMA_RM };
    urma_jfr_cfg recv = { .depth = 8, .trans_mode = URMA_RM };
    urma_jfs *jfs;
    urma_jfr *jfr;
    Bed b;

    bed_open(&b);
    host.ctx = (UbcCtx *)b.ctx;
    host.calls = host.unlocked = 0;
    cfg.jfc = recv.jfc = b.jfc;
    jfs = b.ops->create_jfs(b.ctx, &cfg);
    jfr = b.ops->create_jfr(b.ctx, &recv);
    g_assert_cmpint(b.ops->delete_jetty(jetty_more(&b, NULL)), ==, 0);
    g_assert_cmpint(b.ops->delete_jfs(jfs), ==, 0);
    g_assert_cmpint(b.ops->delete_jfr(jfr), ==, 0);
    g_assert_cmpuint(host.calls, ==, 6);
    g_assert_cmpuint(host.unlocked, ==, 0);
    host.ctx = NULL;
    bed_close(&b);
}

/* The engine hears how far we are every quarter, and when we arm. */
static void test_doorbells(void)
{
    urma_jfs_wr wr[3] = { { .opcode = URMA_WR_NOP, .next = &wr[1] },
                          { .opcode = URMA_WR_NOP, .next = &wr[2] },
                          { .opcode = 0x99 } }, *bad = NULL;
    urma_cr cr[16];
    Bed b;

    bed_open(&b);
    host.bells = 0;
    host.commands = 0;
    g_assert_cmpint(b.ops->post_jetty_send_wr(b.jetty, wr, &bad), ==, EINVAL);
    g_assert_true(bad == &wr[2]);
    g_assert_cmpuint(host.bells, ==, 1);    /* one for the list */
    g_assert_cmphex(host.bell.value, ==, 2001 | 2ull << 32);
    for (unsigned i = 0; i < 3; i++) {
        complete(&b, UBQ_OP_NOP, UBQ_STATUS_OK, 2001, 1, 0);
    }
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 16, cr), ==, 3);
    g_assert_cmpuint(host.bells, ==, 1);
    complete(&b, UBQ_OP_NOP, UBQ_STATUS_OK, 2001, 1, 0);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 16, cr), ==, 1);
    g_assert_cmpuint(host.bells, ==, 2);
    g_assert_cmphex(host.bell.value, ==, 3 | 4ull << 32);
    g_assert_cmpint(b.ops->rearm_jfc(b.jfc, true), ==, 0);
    g_assert_cmpuint(host.bell.offset, ==, UBQ_BELL_CQ);
    g_assert_cmphex(host.bell.value, ==, 3 | 4ull << 32 | 1ull << 48);
    g_assert_cmpint(b.ops->rearm_jfc(b.jfc, false), ==, 0);
    g_assert_cmphex(host.bell.value, ==, 3 | 4ull << 32 | 2ull << 48);
    g_assert_cmpuint(host.commands, ==, 0); /* no call of the kernel */
    bed_close(&b);
}

static gint acked;

static gpointer ack_later(gpointer jfc)
{
    uint32_t one = 1;
    urma_jfc *list = jfc;

    g_usleep(20000);
    g_atomic_int_set(&acked, 1);
    ubc_ack_jfc(&list, &one, 1);
    return NULL;
}

/* A JFC goes when its events are acknowledged. */
static void test_events(void)
{
    urma_jfce jfce = { .fd = 8 };
    urma_jfc *jfc = NULL;
    GThread *thread;
    Bed b;

    bed_open(&b);
    g_assert_cmpint(b.ops->wait_jfc(&jfce, 1, 0, &jfc), ==, 0);
    g_assert_cmpint(b.ops->wait_jfc(&jfce, 1, 9, &jfc), ==, 1);
    g_assert_true(jfc == b.jfc);
    host.comp_events = 1;
    thread = g_thread_new("ack", ack_later, b.jfc);
    bed_close(&b);
    g_thread_join(thread);
}

/* So it does when the device has gone, and the kernel does not say how many. */
static void test_events_gone(void)
{
    urma_jfce jfce = { .fd = 8 };
    urma_jfc *jfc = NULL;
    GThread *thread;
    Bed b;

    bed_open(&b);
    g_assert_cmpint(b.ops->wait_jfc(&jfce, 1, 9, &jfc), ==, 1);
    host.gone = true;
    acked = 0;
    g_assert_cmpint(b.ops->delete_jetty(b.jetty), ==, 0);
    g_assert_cmpint(b.ops->delete_jfr(b.jfr), ==, 0);
    thread = g_thread_new("ack", ack_later, b.jfc);
    g_assert_cmpint(b.ops->delete_jfc(b.jfc), ==, 0);
    g_assert_cmpint(g_atomic_int_get(&acked), ==, 1);
    g_thread_join(thread);
    host.gone = false;
    b.ops->unimport_seg(b.remote);
    b.ops->unregister_seg(b.seg);
    b.ops->free_token_id(b.token);
    b.ops->unimport_jetty(b.target);
    g_assert_cmpint(host.registered->delete_context(b.ctx), ==, 0);
}

/* A group's jetty names it; messages to a group say so, with their hint. */
static void test_group(void)
{
    urma_jetty_grp_cfg cfg = { .name = "many", .flag = 1, .token = { 5 },
                               .policy = 1, .id = 0 };
    urma_rjetty peer = { .jetty_id.id = 0x4343, .trans_mode = URMA_RM,
                         .type = URMA_TARGET_GROUP };
    urma_jetty_cfg jetty = { .flag = URMA_JETTY_SHARE_JFR };
    urma_async_event event = { .event_type = URMA_EVENT_JETTY_GRP_ERR };
    urma_target_jetty *single;
    urma_jetty_grp *g;
    urma_jetty *member;
    urma_sge src, dst;
    urma_jfs_wr wr = { .opcode = URMA_WR_SEND,
                       .send = { .src = { &src, 1 }, .target_hint = 0xa5 } };
    Bed b;

    bed_open(&b);
    g = b.ops->create_jetty_grp(b.ctx, &cfg);
    g_assert_nonnull(g);
    g_assert_cmpuint(g->jetty_grp_id.id, ==, 0x999);
    g_assert_cmpstr(host.group.name, ==, "many");
    g_assert_cmpuint(host.group.policy, ==, 1);
    g_assert_cmpuint(host.group.token, ==, 5);
    g_assert_cmphex(host.group.cookie, ==, (uintptr_t)g);
    g_assert_false(host.jetty.in_group);    /* the bed's */
    jetty.jetty_grp = g;
    jetty.jfr = b.jfr;
    jetty.jfs_cfg = (urma_jfs_cfg) { .depth = 8, .jfc = b.jfc,
                                     .trans_mode = URMA_RM };
    member = b.ops->create_jetty(b.ctx, &jetty);
    g_assert_nonnull(member);
    g_assert_true(host.jetty.in_group);
    g_assert_cmpuint(host.jetty.group, ==, 40);
    single = b.target;
    b.target = b.ops->import_jetty(b.ctx, &peer, NULL);
    src = local(&b, 0, 8);
    dst = remote(&b, 0, 8);
    g_assert_cmpint(post(&b, &wr), ==, 0);
    word0_check(b.sq, 0x00 | 1 << 12 | UBQ_SQE_GROUP | UBQ_SQE_OWNER);
    g_assert_cmphex(get_le32(b.sq + UBQ_SQE_W5), ==, 0xa500);
    wr = (urma_jfs_wr) {
        .opcode = URMA_WR_WRITE_IMM,
        .rw = { .src = { &src, 1 }, .dst = { &dst, 1 }, .target_hint = 7 },
    };
    g_assert_cmpint(post(&b, &wr), ==, 0);
    g_assert_cmphex(get_le32(b.sq + 64) & UBQ_SQE_GROUP, ==, UBQ_SQE_GROUP);
    g_assert_cmphex(get_le32(b.sq + 64 + UBQ_SQE_W5), ==, 0x700);
    g_assert_cmpint(b.ops->unimport_jetty(b.target), ==, 0);
    b.target = single;
    g_assert_cmpint(b.ops->delete_jetty(member), ==, 0);
    /* It goes when its event is acknowledged. */
    event.jetty_grp = g;
    b.ops->ack_async_event(&event);
    g_assert_cmpint(b.ops->delete_jetty_grp(g), ==, 0);
    bed_close(&b);
}

/* What was flushed is taken out of the JFC, in order; the rest stays. */
static void test_flush(void)
{
    urma_cr cr[4];
    Bed b;

    bed_open(&b);
    for (unsigned i = 0; i < 5; i++) {
        write_small(&b, 10 + i, 0);
    }
    recv_post(&b, 20, 0);
    complete(&b, 3, UBQ_STATUS_OK, 2001, 0, 0);
    complete(&b, 3, UBQ_STATUS_FLUSHED, 2001, 1, 0);
    complete(&b, 3, UBQ_STATUS_FLUSHED, 2001, 2, 0);
    complete(&b, UBQ_CQE_RECEIVE, UBQ_STATUS_FLUSHED, 2000, 0, 2000);
    complete(&b, 3, UBQ_STATUS_FLUSHED, 2001, 3, 0);
    complete(&b, UBQ_OP_NOP, UBQ_STATUS_SUSPEND_DONE, 2001, 4, 0);
    host.control_errno = EBUSY;
    g_assert_cmpint(b.ops->flush_jetty(b.jetty, 4, cr), ==, -1);
    host.control_errno = 0;
    g_assert_cmpint(b.ops->flush_jetty(b.jetty, 2, cr), ==, 2);
    g_assert_cmpuint(host.control.opcode, ==, URMA_CTL_DRAIN);
    g_assert_cmpuint(host.controlled, ==, b.jetty->handle);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpuint(cr[i].status, ==, URMA_CR_FLUSHED);
        g_assert_cmpuint(cr[i].user_ctx, ==, 11 + i);
    }
    g_assert_cmpint(b.ops->flush_jetty(b.jetty, 4, cr), ==, 1);
    g_assert_cmpuint(cr[0].user_ctx, ==, 13);
    g_assert_cmpint(b.ops->flush_jetty(b.jetty, 4, cr), ==, 0);
    g_assert_cmpint(b.ops->poll_jfc(b.jfc, 4, cr), ==, 3);
    g_assert_cmpuint(cr[0].user_ctx, ==, 10);
    g_assert_cmpuint(cr[1].user_ctx, ==, 20);
    g_assert_cmpuint(cr[2].status, ==, URMA_CR_SUSPEND_DONE);
    bed_close(&b);
}

static void test_control(void)
{
    uint64_t handle = 0x123;
    struct urma_progress p;
    urma_user_ctl_in in = { (uintptr_t)&handle, 8, URMA_CTL_PROGRESS };
    urma_user_ctl_out out = { (uintptr_t)&p, sizeof(p), 0 };
    Bed b;

    bed_open(&b);
    g_assert_cmpint(b.ops->user_ctl(b.ctx, &in, &out), ==, 0);
    g_assert_cmpuint(host.control.opcode, ==, URMA_CTL_PROGRESS);
    g_assert_cmphex(host.control.out_addr, ==, (uintptr_t)&p);
    g_assert_cmpuint(host.control.out_len, ==, sizeof(p));
    g_assert_cmphex(host.controlled, ==, 0x123);
    host.control_errno = EINVAL;
    g_assert_cmpint(b.ops->user_ctl(b.ctx, &in, &out), ==, EINVAL);
    host.control_errno = EOPNOTSUPP;
    g_assert_cmpint(b.ops->user_ctl(b.ctx, &in, NULL), ==, URMA_FAIL);
    host.control_errno = 0;
    bed_close(&b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/urma-provider/write", test_write);
    g_test_add_func("/urma-provider/notify", test_notify);
    g_test_add_func("/urma-provider/atomic", test_atomic);
    g_test_add_func("/urma-provider/send", test_send);
    g_test_add_func("/urma-provider/bad-requests", test_bad_requests);
    g_test_add_func("/urma-provider/ring", test_ring);
    g_test_add_func("/urma-provider/wrap", test_wrap);
    g_test_add_func("/urma-provider/receive", test_receive);
    g_test_add_func("/urma-provider/statuses", test_statuses);
    g_test_add_func("/urma-provider/forget", test_forget);
    g_test_add_func("/urma-provider/forget-receive", test_forget_receive);
    g_test_add_func("/urma-provider/reset-jetty", test_reset_jetty);
    g_test_add_func("/urma-provider/reset-jfr", test_reset_jfr);
    g_test_add_func("/urma-provider/numbers", test_numbers);
    g_test_add_func("/urma-provider/doorbells", test_doorbells);
    g_test_add_func("/urma-provider/events", test_events);
    g_test_add_func("/urma-provider/events-gone", test_events_gone);
    g_test_add_func("/urma-provider/group", test_group);
    g_test_add_func("/urma-provider/flush", test_flush);
    g_test_add_func("/urma-provider/control", test_control);
    return g_test_run();
}
