/*
 * The provider of liburma: events and who waits for them, groups, and calls that go
 * through to the kernel.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bed.h"

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
    jfce.urma_ctx = b.ctx;
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
    urma_jetty_grp_cfg few = { .name = "few", .flag = 1 };
    urma_jetty_grp *group;
    urma_jfce jfce = { .fd = 8 };
    urma_jfc *jfc = NULL;
    GThread *thread;
    Bed b;

    bed_open(&b);
    jfce.urma_ctx = b.ctx;
    g_assert_cmpint(b.ops->wait_jfc(&jfce, 1, 9, &jfc), ==, 1);
    group = b.ops->create_jetty_grp(b.ctx, &few);
    g_assert_nonnull(group);
    host.gone = true;
    acked = 0;
    g_assert_cmpint(b.ops->delete_jetty(b.jetty), ==, 0);
    g_assert_cmpint(b.ops->delete_jetty_grp(group), ==, 0);
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

/* The kernel counted an event whose thread comes back late: the JFC stays until it
 * has it and acknowledges. */
static gpointer take_late(gpointer ctx)
{
    urma_jfce jfce = { .fd = 8, .urma_ctx = ctx };
    urma_jfc *jfc = NULL;
    uint32_t one = 1;

    while (!g_atomic_int_get(&host.deleted)) {
        g_thread_yield();
    }
    g_assert_cmpint(ubc_wait_jfc(&jfce, 1, 9, &jfc), ==, 1);
    g_atomic_int_set(&acked, 1);
    ubc_ack_jfc(&jfc, &one, 1);
    return NULL;
}

static void test_events_late(void)
{
    urma_jfc_cfg cfg = { .depth = 10 };
    GThread *thread;
    urma_jfc *jfc;
    Bed b;

    bed_open(&b);
    jfc = b.ops->create_jfc(b.ctx, &cfg);   /* whose cookie the kernel has */
    host.comp_events = 1;
    g_atomic_int_set(&acked, 0);
    thread = g_thread_new("late", take_late, b.ctx);
    g_assert_cmpint(b.ops->delete_jfc(jfc), ==, 0);
    g_assert_cmpint(g_atomic_int_get(&acked), ==, 1);
    g_thread_join(thread);
    host.comp_events = 0;
    bed_close(&b);
}

/* An event of what has been freed is nobody's: nothing is written there. */
static void test_events_freed(void)
{
    urma_jfce jfce = { .fd = 8 };
    urma_jfc_cfg cfg = { .depth = 10 };
    urma_jfc *jfc, *got = NULL;
    Bed b;

    bed_open(&b);
    jfce.urma_ctx = b.ctx;
    jfc = b.ops->create_jfc(b.ctx, &cfg);
    g_assert_cmpint(b.ops->wait_jfc(&jfce, 1, 9, &got), ==, 1);
    g_assert_true(got == jfc);
    host.comp_events = 1;
    ubc_ack_jfc(&got, &host.comp_events, 1);
    g_assert_cmpint(b.ops->delete_jfc(jfc), ==, 0);
    host.comp_events = 0;
    g_assert_cmpint(b.ops->wait_jfc(&jfce, 1, 9, &got), ==, 0);
    bed_close(&b);
}

static void async_say(uint32_t type, const void *object)
{
    g_assert_cmpuint(host.asyncs, <, G_N_ELEMENTS(host.async));
    host.async[host.asyncs++] = (struct urma_async_cmd) {
        .type = type, .data = (uintptr_t)object,
    };
}

static void test_async_freed(void)
{
    urma_jfc_cfg cfg = { .depth = 10 };
    urma_jfr_cfg recv = { .depth = 8, .trans_mode = URMA_RM };
    urma_async_event event;
    urma_jfc *jfc;
    urma_jfr *jfr;
    Bed b;

    bed_open(&b);
    recv.jfc = b.jfc;
    jfc = b.ops->create_jfc(b.ctx, &cfg);
    jfr = b.ops->create_jfr(b.ctx, &recv);
    async_say(URMA_EVENT_JFR_LIMIT, jfr);
    async_say(URMA_EVENT_JFC_ERR, jfc);
    async_say(URMA_EVENT_JETTY_ERR, b.jetty);
    g_assert_cmpint(b.ops->delete_jfr(jfr), ==, 0);
    g_assert_cmpint(b.ops->delete_jfc(jfc), ==, 0);
    g_assert_cmpint(b.ops->get_async_event(b.ctx, &event), ==, 0);
    g_assert_cmpuint(event.event_type, ==, URMA_EVENT_JETTY_ERR);
    g_assert_true(event.jetty == b.jetty);
    g_assert_cmpuint(((UbcJetty *)b.jetty)->given.async, ==, 1);
    g_assert_cmpint(b.ops->get_async_event(b.ctx, &event), !=, 0);
    bed_close(&b);
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

/* Many at a time, and no more; the first that cannot be deleted is told. */
static void test_batch(void)
{
    urma_jetty *jetty[3], *bad = NULL;
    urma_jfc *jfc[3], *bad_jfc = NULL;
    urma_jfr *jfr, *bad_jfr = NULL;
    urma_jfc_cfg cfg = { .depth = 10 };
    Bed b;

    bed_open(&b);
    for (unsigned i = 0; i < 3; i++) {
        jetty[i] = b.ops->create_jetty(b.ctx, &b.jetty->cfg);
        jfc[i] = b.ops->create_jfc(b.ctx, &cfg);
        g_assert(jetty[i] && jfc[i]);
    }
    g_assert_cmpint(b.ops->delete_jetty_batch(jetty, 2, &bad), ==, 0);
    g_assert_cmpint(b.ops->delete_jfc_batch(jfc, 2, &bad_jfc), ==, 0);
    g_assert(!bad && !bad_jfc);
    /* The third ones are there still. */
    g_assert_cmpint(b.ops->delete_jetty_batch(&jetty[2], 1, &bad), ==, 0);
    g_assert_cmpint(b.ops->delete_jfc_batch(&jfc[2], 1, &bad_jfc), ==, 0);
    g_assert_cmpint(b.ops->delete_jetty_batch(jetty, 0, &bad), ==, 0);
    jfr = b.ops->create_jfr(b.ctx, &b.jfr->cfg);
    g_assert_nonnull(jfr);
    g_assert_cmpint(b.ops->delete_jfr_batch(&jfr, 1, &bad_jfr), ==, 0);
    bed_close(&b);
}

/* Attributes that are arrays. */
static void test_arrays(void)
{
    struct urma_dev_attr attr = { 0 };
    Bed b;

    bed_open(&b);
    host.arrays = 0;
    g_assert_cmpint(ubc_call(b.ctx, URMA_QUERY_DEV_ATTR, &attr), ==, 0);
    g_assert_cmpuint(host.arrays, >, 0);
    g_assert_cmpint(b.ctx->async_fd, ==, ASYNC_FD);
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

static void steps_refuse(const struct urma_steps *steps, urma_context *ctx)
{
    void *object = ctx;
    uint32_t depth = 8;

    errno = 0;
    g_assert_cmpint(steps->alloc(ctx, &depth, &object), ==, ENOSYS);
    g_assert_cmpint(errno, ==, ENOSYS);
    g_assert_null(object);
    g_assert_cmpint(steps->alloc(ctx, NULL, NULL), ==, ENOSYS);
    g_assert_cmpint(steps->set_opt(ctx, 1, &depth, 4), ==, ENOSYS);
    g_assert_cmpint(steps->get_opt(ctx, 1, &depth, 4), ==, ENOSYS);
    g_assert_cmpuint(depth, ==, 8);
    g_assert_cmpint(steps->active(ctx), ==, ENOSYS);
    g_assert_cmpint(steps->deactive(ctx), ==, ENOSYS);
    g_assert_cmpint(steps->free(ctx), ==, ENOSYS);
}

/* Objects in steps are refused, whichever way a program begins. */
static void test_steps(void)
{
    Bed b;

    bed_open(&b);
    steps_refuse(&b.ops->jfc_steps, b.ctx);
    steps_refuse(&b.ops->jfs_steps, b.ctx);
    steps_refuse(&b.ops->jfr_steps, b.ctx);
    steps_refuse(&b.ops->jetty_steps, b.ctx);
    bed_close(&b);
}

/* What is of the device has a number, and belongs to no object. */
static void test_async_device(void)
{
    static const uint32_t types[] = {
        URMA_EVENT_PORT_ACTIVE, URMA_EVENT_PORT_DOWN, URMA_EVENT_EID_CHANGE,
        URMA_EVENT_ELR_DONE,
    };
    urma_async_event event;
    Bed b;

    bed_open(&b);
    for (unsigned i = 0; i < G_N_ELEMENTS(types); i++) {
        async_say(types[i], (void *)(uintptr_t)(i + 1));
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(types); i++) {
        g_assert_cmpint(b.ops->get_async_event(b.ctx, &event), ==, 0);
        g_assert_cmpuint(event.event_type, ==, types[i]);
        g_assert_cmpuint(event.number, ==, i + 1);
        g_assert_true(event.urma_ctx == b.ctx);
        b.ops->ack_async_event(&event);
    }
    bed_close(&b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/urma-provider/events", test_events);
    g_test_add_func("/urma-provider/events-gone", test_events_gone);
    g_test_add_func("/urma-provider/events-late", test_events_late);
    g_test_add_func("/urma-provider/events-freed", test_events_freed);
    g_test_add_func("/urma-provider/async-freed", test_async_freed);
    g_test_add_func("/urma-provider/async-device", test_async_device);
    g_test_add_func("/urma-provider/steps", test_steps);
    g_test_add_func("/urma-provider/group", test_group);
    g_test_add_func("/urma-provider/batch", test_batch);
    g_test_add_func("/urma-provider/arrays", test_arrays);
    g_test_add_func("/urma-provider/control", test_control);
    return g_test_run();
}
