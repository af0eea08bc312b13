/*
 * Where linux/ub/pool.c says that an Entity is which was lent, also while another one
 * takes its place.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <stddef.h>
#include <linux/slab.h>

#include "../../../linux/ub/ub_msg_uapi.h"

/* What bus.h and its own declare, without the kernel. */
#define BUS_H
#define U16_MAX 0xffff
#define READ_ONCE(x) (x)
#define container_of container
#define INIT_WORK(work, f) ((work)->func = (f))
#define queue_work(queue, work) ((work)->queued = true)
#define cancel_work_sync(work) ((work)->queued = false)

struct mutex {
    unsigned held;
};

static void mutex_lock(struct mutex *m)
{
    g_assert_cmpuint(m->held++, ==, 0);
}

static void mutex_unlock(struct mutex *m)
{
    g_assert_cmpuint(m->held--, ==, 1);
}

struct work_struct {
    void (*func)(struct work_struct *work);
    bool queued;
};

struct ub_entity_info {
    u32 guid[4], eid[4], cna;
    u16 upi, class_code, index, entities, ports;
};

struct ub_entity {
    struct list_head list;
    bool lent;
    struct ub_entity_info info;
};

struct ub_msg_item {
    struct ub_msg msg;
    u8 data[UB_MSG_MAX];
};

struct ub_msg_client {
    struct ub_msg_item *item;   /* what has come, one */
    unsigned backlog;
    u8 status[4];               /* of answers */
    unsigned answers;
};

struct ub_core {
    struct ub_fabric *fabric;
    void *msgs;
};

struct ub_fabric {
    struct ub_core *core;
    struct mutex lock, change;
    struct list_head entities;
    const struct ub_entity_info *coming;
    struct ub_msg_client *pool;
    struct work_struct pool_work;
};

static u32 ub_config_read(struct ub_core *core, u32 dw);
static int ub_scan_lent(struct ub_fabric *fabric, const struct ub_entity_info *info,
                        u32 dw, bool write, u8 bytes, u32 *value);
static struct ub_entity *ub_entity_new(struct ub_fabric *fabric,
                                       const struct ub_entity_info *info);
static int ub_entity_add(struct ub_entity *e);
static void ub_entity_drop(struct ub_entity *e);
static struct ub_entity *ub_entity_find(struct ub_fabric *fabric, const u32 *guid,
                                        unsigned index);
static void ub_fabric_look(struct ub_fabric *fabric);
static struct ub_msg_client *ub_msg_open(void *msgs);
static void ub_msg_close(struct ub_msg_client *client);
static void ub_msg_give(struct ub_msg_client *client, const struct ub_msg *msg,
                        const u8 *data, bool answer);
static struct ub_msg_item *ub_msg_take(struct ub_msg_client *client);
static int ub_msg_send(struct ub_msg_client *client, const struct ub_msg *msg,
                       const u8 *data);
static struct ub_msg ub_msg_back(const struct ub_msg *request);
int ub_lent_cna(struct ub_core *core, const u8 eid[16], u32 *cna);
bool ub_pool_take(struct ub_core *core, const struct ub_msg *msg, const u8 *data);
int ub_pool_init(struct ub_fabric *fabric);
void ub_pool_exit(struct ub_fabric *fabric);

#include "../../../linux/ub/pool.c"

/* ---- The rest of the driver, and of the fabric ---------------------------------------- */

enum { UPI = 0x123, OWN_EID = 0xe0, CNA = 0x22, NEW_CNA = 0x33, CLASS = 0x2345 };

static const u8 eid[16] = { 0xfd, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0xa, 0xb, 0xc };

static struct {
    struct ub_core core;
    struct ub_fabric fabric;
    struct ub_msg_client client;
    struct ub_entity entity[4];
    unsigned used;
    bool silent, full;
    unsigned dropped, looks;
    /* What who asked at these moments was told: 0 if nothing. */
    u32 at_scan, at_drop, at_add;
} world;

static u32 where(void)
{
    u32 cna = 0;
    int err = ub_lent_cna(&world.core, eid, &cna);

    g_assert_true(err == 0 || err == -ENOENT);
    g_assert_true(!err == !!cna);
    return cna;
}

static u32 ub_config_read(struct ub_core *core, u32 dw)
{
    return dw == UB_CFG0_UPI ? UPI : OWN_EID + dw - UB_CFG0_EID;
}

static int ub_scan_lent(struct ub_fabric *fabric, const struct ub_entity_info *info,
                        u32 dw, bool write, u8 bytes, u32 *value)
{
    world.at_scan = where();
    if (world.silent) {
        return -ETIMEDOUT;
    }
    *value = dw == UB_CFG1_BASE + UB_CFG1_CLASS_CODE ? CLASS
             : info->guid[dw - UB_CFG0_GUID];
    return 0;
}

static struct ub_entity *ub_entity_new(struct ub_fabric *fabric,
                                       const struct ub_entity_info *info)
{
    struct ub_entity *e = &world.entity[world.used++ % 4];

    *e = (struct ub_entity) { .info = *info };
    return e;
}

static int ub_entity_add(struct ub_entity *e)
{
    world.at_add = where();
    if (world.full) {
        return -EBUSY;
    }
    list_add_tail(&e->list, &world.fabric.entities);
    return 0;
}

static void ub_entity_drop(struct ub_entity *e)
{
    e->list.prev->next = e->list.next;
    e->list.next->prev = e->list.prev;
    world.dropped++;
    world.at_drop = where();
}

static struct ub_entity *ub_entity_find(struct ub_fabric *fabric, const u32 *guid,
                                        unsigned index)
{
    struct ub_entity *e;

    list_for_each_entry(e, &fabric->entities, list) {
        if (!memcmp(e->info.guid, guid, sizeof(e->info.guid)) &&
            e->info.index == index) {
            return e;
        }
    }
    return NULL;
}

static void ub_fabric_look(struct ub_fabric *fabric)
{
    world.looks++;
}

static struct ub_msg_client *ub_msg_open(void *msgs)
{
    return &world.client;
}

static void ub_msg_close(struct ub_msg_client *client) { }

static void ub_msg_give(struct ub_msg_client *client, const struct ub_msg *msg,
                        const u8 *data, bool answer)
{
    client->item = kzalloc(sizeof(*client->item), GFP_KERNEL);
    client->item->msg = *msg;
    memcpy(client->item->data, data, msg->len);
}

static struct ub_msg_item *ub_msg_take(struct ub_msg_client *client)
{
    struct ub_msg_item *item = client->item;

    client->item = NULL;
    return item;
}

static int ub_msg_send(struct ub_msg_client *client, const struct ub_msg *msg,
                       const u8 *data)
{
    g_assert_cmpuint(msg->len, ==, 4);
    client->status[client->answers++ % 4] = data[1];
    return 0;
}

static struct ub_msg ub_msg_back(const struct ub_msg *request)
{
    return *request;
}

static void start(void)
{
    memset(&world, 0, sizeof(world));
    world.fabric.core = &world.core;
    INIT_LIST_HEAD(&world.fabric.entities);
    g_assert_cmpint(ub_pool_init(&world.fabric), ==, 0);
    world.core.fabric = &world.fabric;
}

static void stop(void)
{
    g_assert_null(world.fabric.coming);
    g_assert_cmpuint(world.fabric.lock.held + world.fabric.change.held, ==, 0);
    ub_pool_exit(&world.fabric);
}

/* A message of the UBFM; returns the status of the answer. */
static u8 ask(const u8 *data, unsigned len)
{
    struct ub_msg msg = { .len = len };
    unsigned before = world.client.answers;

    g_assert_true(ub_pool_take(&world.core, &msg, data));
    g_assert_true(world.fabric.pool_work.queued);
    world.fabric.pool_work.queued = false;
    world.fabric.pool_work.func(&world.fabric.pool_work);
    g_assert_cmpuint(world.client.answers, ==, before + 1);
    return world.client.status[before % 4];
}

/* The words of an EID or GUID stand least significant first. */
static void put_id(u8 *p, const u8 *id)
{
    for (unsigned i = 0; i < 4; i++) {
        memcpy(p + 4 * i, id + 12 - 4 * i, 4);
    }
}

static u8 lend(u32 cna, u8 serial)
{
    u8 data[4 + REGISTER_PDU] = { REGISTER << 4 }, *pdu = data + 4;

    put_be16(pdu, UPI);
    put_be16(pdu + 2, 1);
    put_id(pdu + 4, eid);
    pdu[20 + 3] = serial;
    put_be32(pdu + 36, cna);
    for (unsigned i = 0; i < 4; i++) {
        put_be32(pdu + 40 + 4 * i, OWN_EID + i);
    }
    return ask(data, sizeof(data));
}

static u8 take_back(void)
{
    u8 data[4 + DEREGISTER_PDU] = { 1 << 4 };

    put_id(data + 4, eid);
    return ask(data, sizeof(data));
}

/* ---- Tests -------------------------------------------------------------------------------- */

static void test_where(void)
{
    struct ub_entity *e;

    start();
    g_assert_cmphex(where(), ==, 0);
    g_assert_cmphex(lend(CNA, 7), ==, OK);
    g_assert_cmphex(where(), ==, CNA);
    /* One that is seen, not lent. */
    e = &world.entity[0];
    g_assert_true(e->lent);
    e->lent = false;
    g_assert_cmphex(where(), ==, 0);
    e->lent = true;
    g_assert_cmphex(lend(CNA, 7), ==, EXISTS);
    g_assert_cmphex(take_back(), ==, OK);
    g_assert_cmphex(where(), ==, 0);
    g_assert_cmphex(take_back(), ==, ABSENT);
    g_assert_cmpuint(world.looks, ==, 1);
    world.core.fabric = NULL;
    g_assert_cmphex(where(), ==, 0);
    stop();
}

/* Who asks for an EID while the Entity that has it is replaced is told of the new one;
 * until that has answered, of the old one. */
static void test_replaced(void)
{
    start();
    g_assert_cmphex(lend(CNA, 7), ==, OK);
    g_assert_cmphex(world.at_scan, ==, 0);
    g_assert_cmphex(world.at_add, ==, CNA);
    g_assert_cmphex(lend(NEW_CNA, 8), ==, OK);
    g_assert_cmphex(world.at_scan, ==, CNA);
    g_assert_cmpuint(world.dropped, ==, 1);
    g_assert_cmphex(world.at_drop, ==, NEW_CNA);
    g_assert_cmphex(world.at_add, ==, NEW_CNA);
    g_assert_cmphex(where(), ==, NEW_CNA);
    stop();
}

/* The same Entity is found elsewhere: the one that was seen before goes. */
static void test_moved(void)
{
    start();
    g_assert_cmphex(lend(CNA, 7), ==, OK);
    g_assert_cmphex(lend(NEW_CNA, 7), ==, OK);
    g_assert_cmpuint(world.dropped, ==, 1);
    g_assert_cmphex(world.at_drop, ==, NEW_CNA);
    g_assert_cmphex(where(), ==, NEW_CNA);
    stop();
}

/* Who does not answer takes nobody's place; what finds no room leaves none behind. */
static void test_fails(void)
{
    start();
    g_assert_cmphex(lend(CNA, 7), ==, OK);
    world.silent = true;
    g_assert_cmphex(lend(NEW_CNA, 8), ==, EXECUTION);
    g_assert_cmphex(where(), ==, CNA);
    g_assert_cmpuint(world.dropped, ==, 0);
    world.silent = false;
    world.full = true;
    g_assert_cmphex(lend(NEW_CNA, 8), ==, NO_RESOURCE);
    g_assert_cmphex(world.at_add, ==, NEW_CNA);
    g_assert_cmphex(where(), ==, 0);
    stop();
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/linux/lent/where", test_where);
    g_test_add_func("/linux/lent/replaced", test_replaced);
    g_test_add_func("/linux/lent/moved", test_moved);
    g_test_add_func("/linux/lent/fails", test_fails);
    return g_test_run();
}
