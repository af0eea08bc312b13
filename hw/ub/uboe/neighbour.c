/*
 * Neighbours on Ethernet: who has an address, how long that is sure, and packets
 * that wait for an answer.
 *
 * The table is bounded; one more displaces the row that would go first by itself,
 * never one that was set.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "internal.h"

static unsigned key_hash(const void *p)
{
    const uint8_t *b = p;
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < sizeof(NeighbourKey); i++) {
        hash = (hash ^ b[i]) * 16777619u;
    }
    return hash;
}

static int key_equal(const void *a, const void *b)
{
    return !memcmp(a, b, sizeof(NeighbourKey));
}

static void lose_held(UbUboe *u, Neighbour *n)
{
    while (n->held) {
        CorePacket *pkt = n->held;

        n->held = pkt->next;
        uboe_count(u, UB_UBOE_DROP_UNRESOLVED);
        core_packet_free(pkt);
    }
    n->held_tail = &n->held;
    u->helds -= n->helds;
    n->helds = 0;
}

void neighbours_init(UbUboe *u)
{
    u->neighbours = g_hash_table_new_full(key_hash, key_equal, NULL, g_free);
    u->due = INT64_MAX;
}

void neighbours_forget(UbUboe *u, bool fixed_too)
{
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, u->neighbours);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        Neighbour *n = value;

        lose_held(u, n);
        if (fixed_too || !n->fixed) {
            g_hash_table_iter_remove(&iter);
        }
    }
    u->due = INT64_MAX;
}

/* Whether @a is displaced before @b: what is known and nobody sends to first, a
 * question under way and what waits for it last of all. */
static bool goes_before(const Neighbour *a, const Neighbour *b)
{
    bool idle_a = a->known && !a->used, idle_b = b->known && !b->used;

    return idle_a != idle_b ? idle_a : a->due < b->due;
}

/* Room for one more; false: all were set. */
static bool make_place(UbUboe *u)
{
    Neighbour *first = NULL;
    GHashTableIter iter;
    gpointer value;

    if (g_hash_table_size(u->neighbours) < UB_UBOE_NEIGHBOURS) {
        return true;
    }
    g_hash_table_iter_init(&iter, u->neighbours);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        Neighbour *n = value;

        if (!n->fixed && (!first || goes_before(n, first))) {
            first = n;
        }
    }
    if (!first) {
        return false;
    }
    lose_held(u, first);
    g_hash_table_remove(u->neighbours, &first->key);
    return true;
}

/* A new row; NULL: there is no place.  It is not known yet. */
static Neighbour *add(UbUboe *u, const NeighbourKey *key)
{
    Neighbour *n;

    if (!make_place(u)) {
        return NULL;
    }
    n = g_new0(Neighbour, 1);
    n->key = *key;
    n->held_tail = &n->held;
    g_hash_table_insert(u->neighbours, &n->key, n);
    return n;
}

static void ask(UbUboe *u, int64_t now, Neighbour *n)
{
    EtherTalk t = { .cfg = n->key.cfg };
    uint8_t frame[ETHER_TALK_MAX];

    n->asked++;
    n->due = now + u->conf.retry;
    u->due = MIN(u->due, n->due);
    memcpy(t.ip, n->asker, 16);
    memcpy(t.target, n->key.ip, 16);
    uboe_count(u, UB_UBOE_ASKED);
    uboe_frame(u, frame, ether_talk_put(frame, &t, u->conf.mac, n->key.vlan));
}

Neighbour *neighbour_need(UbUboe *u, int64_t now, const NeighbourKey *key,
                          const uint8_t *asker)
{
    Neighbour *n = g_hash_table_lookup(u->neighbours, key);

    if (!n) {
        n = add(u, key);
        if (!n) {
            return NULL;
        }
        memcpy(n->asker, asker, 16);
        ask(u, now, n);
        u->ops.kick(u->opaque);
    }
    memcpy(n->asker, asker, 16);
    n->used = true;
    return n;
}

/* A copy of what waits: the packet itself keeps the credits of the UB link it came
 * by until it is freed. */
void neighbour_hold(UbUboe *u, Neighbour *n, CorePacket *pkt)
{
    CorePacket *copy;

    if (n->helds == HELD_MAX || u->helds == HELD_ALL) {
        uboe_count(u, UB_UBOE_DROP_HELD);
        core_packet_free(pkt);
        return;
    }
    copy = core_packet_alloc(u->pool, pkt->len);
    if (!copy) {
        uboe_count(u, UB_UBOE_DROP_NO_ROOM);
        core_packet_free(pkt);
        return;
    }
    memcpy(core_packet_data(copy), core_packet_data(pkt), pkt->len);
    ub_meta(copy)->lph_cfg = ub_meta(pkt)->lph_cfg;
    core_packet_free(pkt);
    *n->held_tail = copy;
    n->held_tail = &copy->next;
    n->helds++;
    u->helds++;
}

/* What waited, the caller's. */
static CorePacket *take_held(UbUboe *u, Neighbour *n)
{
    CorePacket *held = n->held;

    n->held = NULL;
    n->held_tail = &n->held;
    u->helds -= n->helds;
    n->helds = 0;
    return held;
}

CorePacket *neighbour_tells(UbUboe *u, int64_t now, const NeighbourKey *key,
                            const uint8_t *mac, bool make)
{
    Neighbour *n = g_hash_table_lookup(u->neighbours, key);

    if (!n && make) {
        n = add(u, key);
    }
    if (!n || n->fixed) {
        return NULL;
    }
    if (!n->known || memcmp(n->mac, mac, UB_ETHER_MAC)) {
        uboe_count(u, UB_UBOE_LEARNED);
    }
    memcpy(n->mac, mac, UB_ETHER_MAC);
    n->known = true;
    n->used = false;
    n->asked = 0;
    n->due = now + u->conf.age;
    u->due = MIN(u->due, n->due);
    u->ops.kick(u->opaque);
    return take_held(u, n);
}

/* False: the row goes. */
static bool run_neighbour(UbUboe *u, int64_t now, Neighbour *n)
{
    if (n->fixed || n->due > now) {
        return true;
    }
    /* One that nobody sends to need not be asked again. */
    if (n->asked == ASK_MAX || (n->known && !n->asked && !n->used)) {
        return false;
    }
    ask(u, now, n);
    return true;
}

int64_t neighbours_run(UbUboe *u, int64_t now)
{
    GHashTableIter iter;
    gpointer value;

    if (u->due > now) {
        return u->due;
    }
    u->due = INT64_MAX;
    g_hash_table_iter_init(&iter, u->neighbours);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        Neighbour *n = value;

        if (!run_neighbour(u, now, n)) {
            lose_held(u, n);
            g_hash_table_iter_remove(&iter);
        } else if (!n->fixed) {
            u->due = MIN(u->due, n->due);
        }
    }
    return u->due;
}

/* ---- What the owner sets and sees -------------------------------------------------- */

const char *neighbour_remove(UbUboe *u, const NeighbourKey *key)
{
    Neighbour *n = g_hash_table_lookup(u->neighbours, key);

    if (!n) {
        return "there is no such neighbour";
    }
    lose_held(u, n);
    g_hash_table_remove(u->neighbours, key);
    return NULL;
}

const char *neighbour_set(UbUboe *u, const NeighbourKey *key,
                          const uint8_t *mac, CorePacket **held)
{
    Neighbour *n = g_hash_table_lookup(u->neighbours, key);

    if (!n) {
        n = add(u, key);
        if (!n) {
            return "there are 1024 neighbours at most";
        }
    }
    memcpy(n->mac, mac, UB_ETHER_MAC);
    n->known = n->fixed = true;
    n->asked = 0;
    n->due = INT64_MAX;
    *held = take_held(u, n);
    return NULL;
}

bool neighbour_restore(UbUboe *u, const UbUboeNeighbour *from, int64_t due)
{
    NeighbourKey key = { .vlan = from->vlan, .cfg = from->cfg };
    Neighbour *n;

    memcpy(key.ip, from->ip, ub_ip_bytes(from->cfg));
    n = g_hash_table_contains(u->neighbours, &key) ? NULL : add(u, &key);
    if (n) {
        memcpy(n->mac, from->mac, UB_ETHER_MAC);
        n->known = true;
        n->fixed = from->fixed;
        n->due = n->fixed ? INT64_MAX : due;
        u->due = MIN(u->due, n->due);
    }
    return n;
}

void ub_uboe_neighbours(UbUboe *u,
                        void (*fn)(void *opaque, const UbUboeNeighbour *n),
                        void *opaque)
{
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, u->neighbours);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const Neighbour *n = value;
        UbUboeNeighbour out = {
            .vlan = n->key.vlan, .cfg = n->key.cfg, .fixed = n->fixed,
            .known = n->known, .held = n->helds,
        };

        memcpy(out.ip, n->key.ip, 16);
        memcpy(out.mac, n->mac, UB_ETHER_MAC);
        fn(opaque, &out);
    }
}
