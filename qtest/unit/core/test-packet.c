/*
 * Packets: room in front and behind, references, the release hook, the pool.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/packet.h"

static void test_pool(void)
{
    CorePacketPool *pool = core_packet_pool_new(32, 3);
    CorePacket *a = core_packet_alloc(pool, 100);
    CorePacket *b = core_packet_alloc(pool, 5000);
    CorePacket *c = core_packet_alloc(pool, 50000);

    g_assert_nonnull(a);
    g_assert_nonnull(b);
    g_assert_nonnull(c);
    g_assert_null(core_packet_alloc(pool, 1));
    g_assert_cmpuint(core_packet_pool_used(pool), ==, 3);
    core_packet_free(a);
    a = core_packet_alloc(pool, 256);
    g_assert_cmpuint(a->len, ==, 256);
    core_packet_free(c);
    g_assert_null(core_packet_alloc(pool, (1 << 20) + 1));
    core_packet_pool_free(pool); /* a and b outlive it */
    memset(core_packet_data(b), 1, b->len);
    core_packet_free(b);
    core_packet_free(a);
    core_packet_free(NULL);
    core_packet_pool_free(NULL);
}

static void test_room(void)
{
    static const uint32_t lens[] = { 0, 1, 256, 257, 2048, 10240, 10241, 1 << 20 };
    CorePacketPool *pool = core_packet_pool_new(320, 0);

    for (unsigned i = 0; i < G_N_ELEMENTS(lens); i++) {
        CorePacket *pkt = core_packet_alloc(pool, lens[i]);
        uint8_t *data = core_packet_data(pkt), *p;

        memset(data, 0xaa, lens[i]);
        p = core_packet_push(pkt, 320);
        g_assert_true(p == data - 320);
        g_assert_cmpuint(pkt->len, ==, lens[i] + 320);
        g_assert_null(core_packet_push(pkt, 1));
        memset(p, 0xbb, 320);
        p = core_packet_put(pkt, CORE_PACKET_TAILROOM);
        g_assert_true(p == data + lens[i]);
        memset(p, 0xcc, CORE_PACKET_TAILROOM);
        g_assert_true(core_packet_pull(pkt, 320) == core_packet_data(pkt) - 320);
        g_assert_null(core_packet_pull(pkt, pkt->len + 1));
        for (uint32_t j = 0; j < lens[i]; j++) {
            g_assert_cmphex(data[j], ==, 0xaa);
        }
        g_assert_true(core_packet_trim(pkt, CORE_PACKET_TAILROOM));
        g_assert_cmpuint(pkt->len, ==, lens[i]);
        g_assert_false(core_packet_trim(pkt, lens[i] + 1));
        g_assert_cmpuint(pkt->len, ==, lens[i]);
        g_assert_true(core_packet_trim(pkt, lens[i]));
        g_assert_cmpuint(pkt->len, ==, 0);
        core_packet_free(pkt);
    }
    core_packet_pool_free(pool);
}

/* A trailer never runs over the end, whatever room there was in front. */
static void test_no_room(void)
{
    CorePacketPool *pool = core_packet_pool_new(0, 0);
    CorePacket *pkt = core_packet_alloc(pool, 256);

    g_assert_null(core_packet_push(pkt, 1));
    g_assert_null(core_packet_put(pkt, CORE_PACKET_TAILROOM + 1));
    g_assert_nonnull(core_packet_put(pkt, CORE_PACKET_TAILROOM));
    g_assert_null(core_packet_put(pkt, 1));
    g_assert_null(core_packet_put(pkt, UINT32_MAX));
    g_assert_cmpuint(pkt->len, ==, 256 + CORE_PACKET_TAILROOM);
    core_packet_free(pkt);
    core_packet_pool_free(pool);
}

static unsigned releases;

static void count(CorePacket *pkt)
{
    unsigned *owner = pkt->release_opaque;

    ++*owner;
    releases++;
    /* Still whole. */
    g_assert_cmpuint(pkt->len, ==, 3);
    g_assert_cmpmem(core_packet_data(pkt), 3, "abc", 3);
    g_assert_cmpuint(pkt->cb[7], ==, 77);
    g_assert_cmpuint(core_packet_pool_used(pkt->pool), ==, 1);
}

/* The hook runs once, with the last reference, whoever drops it. */
static void test_released(void)
{
    CorePacketPool *pool = core_packet_pool_new(16, 0);
    CorePacket *pkt = core_packet_alloc(pool, 3), *again;
    unsigned owner = 0;

    for (unsigned i = 0; i < CORE_PACKET_CB / 8; i++) {
        g_assert_cmpuint(pkt->cb[i], ==, 0);
        pkt->cb[i] = 70 + i;
    }
    memcpy(core_packet_data(pkt), "abc", 3);
    pkt->released = count;
    pkt->release_opaque = &owner;
    g_assert_true(core_packet_ref(pkt) == pkt);
    g_assert_true(core_packet_ref(pkt) == pkt);
    core_packet_free(pkt);
    core_packet_free(pkt);
    g_assert_cmpuint(owner, ==, 0);
    g_assert_cmpuint(core_packet_pool_used(pool), ==, 1);
    core_packet_free(pkt);
    g_assert_cmpuint(owner, ==, 1);
    g_assert_cmpuint(core_packet_pool_used(pool), ==, 0);
    /* What comes from the pool again has nothing of it. */
    again = core_packet_alloc(pool, 3);
    g_assert_null(again->released);
    for (unsigned i = 0; i < CORE_PACKET_CB / 8; i++) {
        g_assert_cmpuint(again->cb[i], ==, 0);
    }
    core_packet_free(again);
    g_assert_cmpuint(releases, ==, 1);
    core_packet_pool_free(pool);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/packet/pool", test_pool);
    g_test_add_func("/core/packet/room", test_room);
    g_test_add_func("/core/packet/no-room", test_no_room);
    g_test_add_func("/core/packet/released", test_released);
    return g_test_run();
}
