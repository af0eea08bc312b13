/*
 * linux/ub/channel.c above two nodes, in virtual time: a channel outlives a peer that has
 * no turn for as long as the transport says, and is one for all who need it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <stddef.h>
#include <linux/slab.h>

#include "ub/node.h"

/* What ub_engine.h and the kernel's own declare. */
#define UB_ENGINE_H
#define GFP_KERNEL_ACCOUNT GFP_KERNEL
#define EXPORT_SYMBOL_GPL(f) G_STATIC_ASSERT(sizeof(&(f)))
#define READ_ONCE(x) (x)
#define ERR_PTR(err) ((void *)(intptr_t)(err))
#define IS_ERR(p) ((intptr_t)(p) < 0 && (intptr_t)(p) > -4096)
#define PTR_ERR(p) ((int)(intptr_t)(p))
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)
#define jiffies ((unsigned long)(world.now / NS_PER_MS))
#define msecs_to_jiffies(ms) (ms)
#define time_after(a, b) ((long)((b) - (a)) < 0)
#define usleep_range(least, most) run_for((most) * INT64_C(1000))
#define current NULL
#define fatal_signal_pending(task) false
#define mutex_init(m) ((m)->held = 0)
#define mutex_lock(m) g_assert_cmpuint((m)->held++, ==, 0)
#define mutex_lock_killable(m) ((m)->held++)
#define mutex_unlock(m) g_assert_cmpuint((m)->held--, ==, 1)

enum { UB_CFG_CNA24 = UB_LPH_CNA24, MTU = 4096 };

struct mutex {
    unsigned held;
};

struct ub_core;

struct ub_cmd {
    u8 b[UBQ_CMD];
};

struct ub_place {
    u32 ip_cfg, cna;
    u8 ip[16];
};

struct ub_channel;

struct ub_dest {
    struct list_head list;
    struct ub_channel *channel;
};

struct ub_dests {
    struct ub_core *core;
    struct mutex lock;
    struct list_head list, channels;
    bool ending;
};

struct ub_channel *ub_channel_get(struct ub_dests *t, const struct ub_place *place);
void ub_channel_put(struct ub_channel *c);
u32 ub_channel_tpn(const struct ub_channel *c);
u32 ub_channel_mtu(const struct ub_channel *c);
void ub_channels_stop(struct ub_dests *t);

/* ---- Two nodes: the driver's, and the peer ---- */

static struct {
    UbNode *node[2];
    GQueue came[2];             /* CorePacket * */
    CorePacketPool *pool;
    int64_t now;
    bool starved;               /* the peer has no turn, and what comes waits */
    int64_t from, late;         /* the driver's node has none between these */
    bool timers_first;          /* times are looked at before what has come */
    int64_t deaf;               /* what the peer sends before is lost */
    struct ub_dests dests;
    unsigned rows;              /* that were set or cleared */
} world;

static void run_for(int64_t ns);

static bool wire_room(void *opaque, unsigned port, unsigned vl)
{
    return true;
}

static bool wire_send(void *opaque, unsigned port, CorePacket *pkt)
{
    CorePacket *copy = core_packet_alloc(world.pool, pkt->len);

    memcpy(core_packet_data(copy), core_packet_data(pkt), pkt->len);
    *ub_meta(copy) = *ub_meta(pkt);
    core_packet_free(pkt);
    if (opaque == &world.node[1] && world.now < world.deaf) {
        core_packet_free(copy);
    } else {
        g_queue_push_tail(&world.came[opaque == &world.node[0]], copy);
    }
    return true;
}

static void wire_kick(void *opaque) { }

static void take(unsigned i)
{
    CorePacket *pkt;

    while ((pkt = g_queue_pop_head(&world.came[i]))) {
        ub_node_rx(world.node[i], world.now, 0, pkt);
    }
}

static bool is_late(void)
{
    return world.now >= world.from && world.now < world.late;
}

static int64_t turn(unsigned i)
{
    if (i == 1 && world.starved) {
        return INT64_MAX;
    }
    if (i == 0 && is_late()) {
        return world.late;
    }
    if (world.timers_first) {
        ub_node_run(world.node[i], world.now, 256);
    }
    take(i);
    return ub_node_run(world.node[i], world.now, 256);
}

static void run_for(int64_t ns)
{
    int64_t end = world.now + ns;

    while (world.now < end) {
        int64_t a = turn(0), b = turn(1);

        if (g_queue_is_empty(&world.came[0]) || is_late()) {
            world.now = CLAMP(MIN(a, b), world.now, end);
        }
    }
}

static UbNode *make_node(unsigned i)
{
    static const UbNetOps net = { .room = wire_room, .send = wire_send,
                                  .kick = wire_kick };
    static const UbTaOps ta = { 0 };
    const UbNodeOps ops = { .net = &net, .net_opaque = &world.node[i], .ta = &ta };
    UbEid eid = { { 0xfd, [15] = i + 1 } };
    UbNodeConfig cfg;
    UbNode *node;

    ub_node_config_init(&cfg);
    cfg.accept = true;
    node = ub_node_new(&cfg, &ops, NULL);
    g_assert_nonnull(node);
    ub_net_set_primary(ub_node_net(node), i + 1);
    ub_net_port_state(ub_node_net(node), 0, 0, 0xffff);
    ub_net_route_default(ub_node_net(node), 1);
    ub_sec_set_entity(ub_node_sec(node), 0, &eid, 1);
    return node;
}

/* ---- The rest of the driver ---- */

#include "cmd-put.h"

static u16 ub_get16(const struct ub_cmd *cmd, unsigned at)
{
    return get_le16(cmd->b + at);
}

static void ub_cmd_init(struct ub_cmd *cmd, u32 object, u32 mask)
{
    memset(cmd, 0, sizeof(*cmd));
    ub_put32(cmd, UBQ_CMD_OBJECT, object);
    ub_put32(cmd, UBQ_CMD_MASK, mask);
}

static u32 ub_cmd_object(const struct ub_cmd *cmd)
{
    return get_le32(cmd->b + UBQ_CMD_OBJECT);
}

static int ub_cmd_run(struct ub_core *core, unsigned opcode, struct ub_cmd *cmd)
{
    return ub_node_command(world.node[0], world.now, opcode, cmd->b) == UBQ_RESULT_OK
           ? 0 : -EIO;
}

static void ub_put_way(struct ub_cmd *cmd, unsigned at, u32 cfg,
                       const struct ub_place *place)
{
    ub_put8(cmd, at + UBQ_WAY_CFG, cfg);
    ub_put8(cmd, at + UBQ_WAY_PORT, UB_NET_ANY);
    ub_put32(cmd, at + UBQ_WAY_DCNA, place->cna);
}

static u32 ub_own_mtu(struct ub_core *core)
{
    return MTU;
}

static int ub_dest_set(struct ub_dests *t, const struct ub_dest *d)
{
    world.rows++;
    return 0;
}

static void ub_dest_clear(struct ub_dests *t, const struct ub_dest *d)
{
    world.rows++;
}

static void list_add(struct list_head *e, struct list_head *head)
{
    list_add_tail(e, head->next);
}

static void list_del(struct list_head *e)
{
    e->prev->next = e->next;
    e->next->prev = e->prev;
}

#include "../../../linux/ub/channel.c"

/* ---- Tests ---- */

static const struct ub_place there = { .cna = 2 };

static void start(void)
{
    memset(&world, 0, sizeof(world));
    world.pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
    for (unsigned i = 0; i < 2; i++) {
        world.node[i] = make_node(i);
    }
    INIT_LIST_HEAD(&world.dests.list);
    INIT_LIST_HEAD(&world.dests.channels);
}

static void stop(void)
{
    ub_channels_stop(&world.dests);
    for (unsigned i = 0; i < 2; i++) {
        g_queue_clear_full(&world.came[i], (GDestroyNotify)core_packet_free);
        ub_node_free(world.node[i]);
    }
    core_packet_pool_free(world.pool);
}

static struct ub_channel *get(void)
{
    struct ub_channel *c = ub_channel_get(&world.dests, &there);

    g_assert_false(IS_ERR(c));
    g_assert_cmpuint(ub_channel_mtu(c), ==, MTU);
    return c;
}

/* With the lock. */
static void put(struct ub_channel *c)
{
    mutex_lock(&world.dests.lock);
    ub_channel_put(c);
    mutex_unlock(&world.dests.lock);
}

static UbTpInfo info(u32 tpn)
{
    UbTpInfo i;

    g_assert_cmpint(ub_tp_query(ub_node_tp(world.node[0]), tpn, NULL, &i), ==,
                    UB_TPR_OK);
    return i;
}

static void send(u32 tpn)
{
    CorePacket *pkt = core_packet_alloc(world.pool, 64);
    const UbTpDest to = { .mode = UB_TP_RTP, .tpn = tpn };
    const UbTpTx tx = { .last = true };

    memset(core_packet_data(pkt), 0, pkt->len);
    g_assert_cmpint(ub_tp_send(ub_node_tp(world.node[0]), &to, pkt, &tx, world.now), ==,
                    UB_SENT);
}

static void count_one(void *opaque, uint32_t tpn)
{
    ++*(unsigned *)opaque;
}

static unsigned channels(unsigned i)
{
    unsigned n = 0;

    ub_tp_foreach(ub_node_tp(world.node[i]), count_one, &n);
    return n;
}

/* The peer has no turn for a while, in which the transport asks again and again. */
static void test_patient(void)
{
    static const unsigned seconds[] = { 1, 2, 5, 20, 60 };
    struct ub_channel *c;
    u32 tpn;

    start();
    c = get();
    tpn = ub_channel_tpn(c);
    for (unsigned i = 0; i < G_N_ELEMENTS(seconds); i++) {
        world.starved = true;
        send(tpn);
        run_for(seconds[i] * NS_PER_S);
        g_assert_cmpint(info(tpn).state, ==, UB_TP_ACTIVE);
        g_assert_cmpuint(info(tpn).in_flight, ==, 1);
        g_assert_cmpuint(info(tpn).timeouts, >, 0);
        world.starved = false;
        run_for(10 * NS_PER_MS);
        g_assert_cmpuint(info(tpn).in_flight, ==, 0);
        g_assert_cmpuint(info(tpn).timeouts, ==, 0);
    }
    put(c);
    stop();
}

/* A peer that is gone is given up after 89 seconds; who then needs a channel has another
 * one, to which the rows lead. */
static void test_gone(void)
{
    struct ub_channel *c, *again;
    struct ub_dest row;
    u32 tpn;

    start();
    c = get();
    tpn = ub_channel_tpn(c);
    row.channel = c;
    list_add(&row.list, &world.dests.list);
    world.starved = true;
    send(tpn);
    run_for(85 * NS_PER_S);
    g_assert_cmpint(info(tpn).state, ==, UB_TP_ACTIVE);
    run_for(5 * NS_PER_S);
    g_assert_cmpint(info(tpn).state, ==, UB_TP_ERROR);
    g_assert_cmpint(PTR_ERR(ub_channel_get(&world.dests, &there)), ==, -EHOSTUNREACH);
    g_assert_cmpuint(ub_channel_tpn(c), ==, 0);
    world.starved = false;
    world.rows = 0;
    again = get();
    g_assert_true(again == c);
    g_assert_cmpuint(ub_channel_tpn(c), !=, tpn);
    g_assert_cmpuint(world.rows, ==, 1);
    send(ub_channel_tpn(c));
    run_for(10 * NS_PER_MS);
    g_assert_cmpuint(info(ub_channel_tpn(c)).in_flight, ==, 0);
    list_del(&row.list);
    put(again);
    put(c);
    stop();
}

/* As long as anybody needs it, it is the same for all; one that nobody needed meanwhile is
 * made anew. */
static void test_shared(void)
{
    struct ub_channel *c, *other;
    u32 tpn;

    start();
    c = get();
    tpn = ub_channel_tpn(c);
    other = get();
    g_assert_true(other == c);
    put(c);
    world.starved = true;
    send(tpn);
    run_for(2 * NS_PER_S);
    c = get();
    g_assert_cmpuint(ub_channel_tpn(c), ==, tpn);
    g_assert_cmpuint(info(tpn).in_flight, ==, 1);
    world.starved = false;
    run_for(10 * NS_PER_MS);
    g_assert_cmpuint(info(tpn).in_flight, ==, 0);
    put(c);
    put(other);
    c = get();
    g_assert_cmpuint(ub_channel_tpn(c), !=, tpn);
    g_assert_cmpint(ub_tp_query(ub_node_tp(world.node[0]), tpn, NULL, NULL), ==,
                    UB_TPR_NO_CHANNEL);
    put(c);
    stop();
}

/* The driver's own node asks, and then has no turn: what it finds after it is the reply
 * of a peer that has waited too long, or just not yet. */
static void test_late(void)
{
    static const struct {
        int64_t from, late, deaf;       /* ms */
    } cases[] = {
        { 0, 50 }, { 0, 150 }, { 0, 450 }, { 0, 590 }, { 0, 610 }, { 0, 1050 },
        { 0, 1150 }, { 0, 1500 }, { 0, 4000 },
        /* Who was heard meanwhile is not forgotten. */
        { 850, 1350, 840 }, { 850, 1450, 840 }, { 950, 1450, 940 },
    };

    for (unsigned i = 0; i < 2 * G_N_ELEMENTS(cases); i++) {
        struct ub_channel *c;

        start();
        world.timers_first = i % 2;
        world.from = cases[i / 2].from * NS_PER_MS;
        world.late = cases[i / 2].late * NS_PER_MS;
        world.deaf = cases[i / 2].deaf * NS_PER_MS;
        c = get();
        g_assert_cmpint(world.now, >=, world.late);
        send(ub_channel_tpn(c));
        run_for(10 * NS_PER_MS);
        g_assert_cmpuint(info(ub_channel_tpn(c)).in_flight, ==, 0);
        /* Nobody has a second one of it. */
        run_for(2 * NS_PER_S);
        g_assert_cmpuint(channels(1), ==, 1);
        put(c);
        stop();
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/linux/channel/patient", test_patient);
    g_test_add_func("/linux/channel/gone", test_gone);
    g_test_add_func("/linux/channel/shared", test_shared);
    g_test_add_func("/linux/channel/late", test_late);
    return g_test_run();
}
