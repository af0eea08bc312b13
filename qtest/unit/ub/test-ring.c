/*
 * Descriptor rings of ubc.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <stdio.h>

#include "core/bytes.h"
#include "../../../hw/ub/ubc/ring.h"

#define MEM 0x20000

typedef struct Guest {
    uint8_t mem[MEM];
    unsigned reads, interrupts, errors;
    const char *what;
    UbRing ring;
} Guest;

static bool rd(void *opaque, uint64_t addr, void *buf, uint32_t len)
{
    Guest *g = opaque;

    g->reads++;
    if (addr > MEM || len > MEM - addr) {
        return false;
    }
    memcpy(buf, g->mem + addr, len);
    return true;
}

static bool wr(void *opaque, uint64_t addr, const void *buf, uint32_t len)
{
    Guest *g = opaque;

    if (addr > MEM || len > MEM - addr) {
        return false;
    }
    memcpy(g->mem + addr, buf, len);
    return true;
}

static void guest_error(void *opaque, const char *what)
{
    Guest *g = opaque;

    g->errors++;
    g->what = what;
}

static void interrupt(void *opaque, unsigned vector)
{
    Guest *g = opaque;

    g_assert_cmpuint(vector, ==, 7);
    g->interrupts++;
}

static const UbRingOps ops = { rd, wr, guest_error, interrupt };

static Guest *guest(unsigned log2, uint32_t base)
{
    Guest *g = g_new0(Guest, 1);

    ub_ring_init(&g->ring, &ops, g);
    ub_ring_reg_write(&g->ring, UBC_RING_VECTOR, 7);
    ub_ring_reg_write(&g->ring, UBC_RING_BASE_LO, base);
    ub_ring_reg_write(&g->ring, UBC_RING_SIZE, log2);
    ub_ring_reg_write(&g->ring, UBC_RING_CTRL, UBC_RING_ENABLE);
    return g;
}

static uint8_t *desc(Guest *g, unsigned i, unsigned log2)
{
    return g->mem + g->ring.base + (i & ((1u << log2) - 1)) * UBC_DESC_SIZE;
}

/* Every size, many times around, at every fill level. */
static void test_wrap(void)
{
    for (unsigned log2 = 4; log2 <= 12; log2++) {
        const unsigned n = 1u << log2;
        Guest *g = guest(log2, 0x1000);
        uint16_t head = 0, tail = 0;

        for (unsigned round = 0; round < 200000 / n + 40; round++) {
            unsigned add = 1 + round * 7 % n;

            for (unsigned i = 0; i < add; i++, head++) {
                uint8_t *d = desc(g, head, log2);

                put_le64(d, 0x100000000ull + head);
                put_le32(d + 8, head + 1);
                put_le16(d + 12, head & 0xff);
                put_le16(d + 14, 0);
            }
            g_assert_true(ub_ring_reg_write(&g->ring, UBC_RING_HEAD, head));
            while (tail != head) {
                const UbRingDesc *d = ub_ring_next(&g->ring);
                uint8_t *raw = desc(g, tail, log2);

                g_assert_nonnull(d);
                g_assert_cmphex(d->addr, ==, 0x100000000ull + tail);
                g_assert_cmpuint(d->len, ==, tail + 1u);
                g_assert_cmpuint(d->flags, ==, tail & 0xff);
                g_assert_true(ub_ring_complete(&g->ring, tail, 0x34, 0x2000));
                g_assert_cmpuint(get_le32(raw + 8), ==, tail);
                g_assert_cmphex(get_le16(raw + 12), ==, 0x34);
                g_assert_cmphex(get_le16(raw + 14), ==, 0xa000);
                tail++;
            }
            g_assert_null(ub_ring_next(&g->ring));
        }
        g_assert_cmpuint(g->errors, ==, 0);
        g_free(g);
    }
}

static void test_arm(void)
{
    Guest *g = guest(4, 0);

    ub_ring_reg_write(&g->ring, UBC_RING_ARM, 0);
    g_assert_cmpuint(g->interrupts, ==, 0);
    g_assert_cmphex(ub_ring_reg_read(&g->ring, UBC_RING_ARM), ==,
                    UBC_RING_ARMED);
    ub_ring_reg_write(&g->ring, UBC_RING_HEAD, 3);
    for (unsigned i = 0; i < 2; i++) {
        ub_ring_next(&g->ring);
        ub_ring_complete(&g->ring, 0, 0, 0);
    }
    ub_ring_notify(&g->ring);
    g_assert_cmpuint(g->interrupts, ==, 1);
    ub_ring_notify(&g->ring);
    g_assert_cmpuint(g->interrupts, ==, 1);
    /* Armed too late for what was there already: at once. */
    ub_ring_reg_write(&g->ring, UBC_RING_ARM, 1);
    g_assert_cmpuint(g->interrupts, ==, 2);
    ub_ring_reg_write(&g->ring, UBC_RING_ARM, 2);
    g_assert_cmpuint(g->interrupts, ==, 2);
    g_free(g);
}

static void test_misuse(void)
{
    static const struct {
        uint32_t base, size, head;
        const char *what;
    } bad[] = {
        { 0x1000, 3, 0, "ring enabled with a size that does not exist" },
        { 0x1000, 13, 0, "ring enabled with a size that does not exist" },
        { 0x1000, ~0u, 0, "ring enabled with a size that does not exist" },
        { 0x1008, 4, 0, "ring enabled with an unaligned base" },
        { 0x1000, 4, 17, "ring head beyond the size of the ring" },
        { 0x1000, 4, 0x10000, "ring head beyond the size of the ring" },
    };
    Guest *g;

    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        g = guest(bad[i].size, bad[i].base);
        if (bad[i].head) {
            g_assert_false(ub_ring_reg_write(&g->ring, UBC_RING_HEAD,
                                             bad[i].head));
        }
        g_assert_cmpstr(g->what, ==, bad[i].what);
        g_assert_cmpuint(g->errors, ==, 1);
        g_assert_cmphex(ub_ring_reg_read(&g->ring, UBC_RING_CTRL), ==,
                        UBC_RING_ERROR);
        g_assert_null(ub_ring_next(&g->ring));
        /* Usable again. */
        ub_ring_reg_write(&g->ring, UBC_RING_CTRL, 0);
        ub_ring_reg_write(&g->ring, UBC_RING_BASE_LO, 0x1000);
        ub_ring_reg_write(&g->ring, UBC_RING_SIZE, 4);
        g_assert_true(ub_ring_reg_write(&g->ring, UBC_RING_CTRL,
                                        UBC_RING_ENABLE));
        ub_ring_reg_write(&g->ring, UBC_RING_HEAD, 16);
        g_assert_nonnull(ub_ring_next(&g->ring));
        g_free(g);
    }
    /* Base and size are fixed while enabled; TAIL never is writable. */
    g = guest(4, 0x1000);
    ub_ring_reg_write(&g->ring, UBC_RING_SIZE, 5);
    ub_ring_reg_write(&g->ring, UBC_RING_BASE_HI, 5);
    ub_ring_reg_write(&g->ring, UBC_RING_TAIL, 5);
    g_assert_cmpuint(g->errors, ==, 3);
    g_assert_cmpuint(ub_ring_reg_read(&g->ring, UBC_RING_SIZE), ==, 4);
    g_assert_cmpuint(ub_ring_reg_read(&g->ring, UBC_RING_BASE_HI), ==, 0);
    g_assert_cmpuint(ub_ring_reg_read(&g->ring, UBC_RING_TAIL), ==, 0);
    g_free(g);
    /* A ring that is nowhere stops. */
    g = guest(4, 0x7fffff00);
    ub_ring_reg_write(&g->ring, UBC_RING_HEAD, 1);
    g_assert_null(ub_ring_next(&g->ring));
    g_assert_cmphex(ub_ring_reg_read(&g->ring, UBC_RING_CTRL), ==,
                    UBC_RING_ERROR);
    /* And the doorbell of a stopped ring is the driver's error. */
    ub_ring_reg_write(&g->ring, UBC_RING_HEAD, 2);
    g_assert_cmpstr(g->what, ==, "doorbell of a ring not enabled");
    g_free(g);
}

/* Descriptors come in batches, and again after migration. */
static void test_batch(void)
{
    Guest *g = guest(6, 0);

    ub_ring_reg_write(&g->ring, UBC_RING_HEAD, 64);
    for (unsigned i = 0; i < 64; i++) {
        g_assert_nonnull(ub_ring_next(&g->ring));
        ub_ring_complete(&g->ring, 0, 0, 0);
    }
    g_assert_cmpuint(g->reads, ==, 2);
    ub_ring_reg_write(&g->ring, UBC_RING_HEAD, 70);
    ub_ring_next(&g->ring);
    put_le64(desc(g, 64, 6), 0x77);
    ub_ring_refetch(&g->ring);
    g_assert_cmphex(ub_ring_next(&g->ring)->addr, ==, 0x77);
    g_free(g);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ring/wrap", test_wrap);
    g_test_add_func("/ub/ring/arm", test_arm);
    g_test_add_func("/ub/ring/misuse", test_misuse);
    g_test_add_func("/ub/ring/batch", test_batch);
    return g_test_run();
}
