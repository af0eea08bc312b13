/*
 * Configuration space (UB 2.0 appendix D): known answers are literal numbers
 * of the document's tables.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "ub/space.h"

#define PORT1_LINK (0x30000 + 0x100) /* PORT1, capability 1 */

typedef struct Calls {
    unsigned writes, refreshes;
    uint32_t dw, now, changed, trigger;
    int port;
    unsigned cap;
    UbSpace *cfg;
} Calls;

static void written(void *opaque, uint32_t dw, int port, unsigned cap,
                    uint32_t now, uint32_t changed, uint32_t trigger)
{
    Calls *c = opaque;

    c->writes++;
    c->dw = dw;
    c->port = port;
    c->cap = cap;
    c->now = now;
    c->changed = changed;
    c->trigger = trigger;
}

static void refresh(void *opaque, uint32_t dw, int port, unsigned cap)
{
    Calls *c = opaque;

    c->refreshes++;
    if (dw == PORT1_LINK + 0xc0) {
        ub_space_set(c->cfg, dw, 3, 3);
    }
}

static const UbSpaceOps ops = { written, refresh };

static bool no_unused(const UbSpaceSlice *s)
{
    return g_strcmp0(s->name, "CFG1_CAP6_UB_MEM") != 0;
}

static UbSpace *space(Calls *c)
{
    memset(c, 0, sizeof(*c));
    c->cfg = ub_space_new(2, no_unused, &ops, c);
    g_assert_nonnull(c->cfg);
    return c->cfg;
}

/* Table 10-6 places and Table 10-5 headers, used sizes of D.1 to D.6. */
static void test_places(void)
{
    static const struct {
        uint32_t dw, header;
    } want[] = {
        { 0x00000000, 0x2c << 4 }, /* CFG0_BASIC */
        { 0x00000300, 0x1e << 4 }, /* DEVICE_ERR_RECORD */
        { 0x00000400, 0x32 << 4 }, /* DEVICE_ERR_INFO, off by one repaired */
        { 0x00000500, 0x1c << 4 }, /* EMQ, off by one repaired */
        { 0x00010000, 0x30 << 4 }, /* CFG1_BASIC */
        { 0x00010100, 0x25 << 4 }, /* DECODER */
        { 0x00010600, 0 },         /* UB_MEM left out */
        { 0x00020000, 0x11 << 4 }, /* PORT0_BASIC */
        { 0x00020100, 0xc7 << 4 }, /* PORT0 LINK */
        { 0x00030100, 0xc7 << 4 }, /* PORT1 LINK */
        { 0x00030400, 0x0a << 4 }, /* PORT1 DATA_RATE1 */
        { 0x00030e00, 0x0c << 4 }, /* PORT1 EYE_MONITOR, 8 lanes */
        { 0x00040000, 0 },         /* there is no port 2 */
        { 0xf0000000, 0 },         /* nor a route table */
    };
    Calls c;
    UbSpace *cfg = space(&c);

    for (unsigned i = 0; i < G_N_ELEMENTS(want); i++) {
        g_assert_cmphex(ub_space_read(cfg, want[i].dw), ==, want[i].header);
    }
    /* Bitmaps: CFG0 capabilities 3, 4, 5; CFG1 1-4; PORT 1, 2, 4-12, ... */
    g_assert_cmphex(ub_space_read(cfg, 0x2), ==, 0x38);
    g_assert_cmphex(ub_space_read(cfg, 0x10001), ==, 0x1e);
    g_assert_cmphex(ub_space_read(cfg, 0x20001), ==, 0x0030dff6);
    g_assert_cmphex(ub_space_read(cfg, 0x20001 + 240 / 32), ==, 1u << 16);
    ub_space_free(cfg);
}

/* Reset values that the tables print (D.6.2). */
static void test_reset_values(void)
{
    static const struct {
        uint32_t dw, value;
    } want[] = {
        { 0x40, 0x00010120 }, /* share 1, ctrl ack 1, data ack 0x20 */
        { 0x41, 0x01010101 }, { 0x44, 0x01010101 },
        { 0x45, 0x04040404 }, { 0x48, 0x04040404 },
        { 0x49, 0x010800ff }, { 0x4a, 0 }, { 0x4b, 0x0001 },
        { 0x68, 0x40 }, { 0x94, 0xfff00000 },
        { 0x97, 0x11111111 }, { 0x98, 0x11 },
    };
    Calls c;
    UbSpace *cfg = space(&c);

    for (unsigned i = 0; i < G_N_ELEMENTS(want); i++) {
        g_assert_cmphex(ub_space_read(cfg, PORT1_LINK + want[i].dw), ==,
                        want[i].value);
    }
    ub_space_free(cfg);
}

static void test_access(void)
{
    Calls c;
    UbSpace *cfg = space(&c);

    /* RW by bytes; the callback says what changed. */
    g_assert_true(ub_space_write(cfg, PORT1_LINK + 0x68, 0x11223344, 0x2));
    g_assert_cmphex(ub_space_get(cfg, PORT1_LINK + 0x68), ==, 0x3340);
    g_assert_cmpint(c.writes, ==, 1);
    g_assert_cmpint(c.port, ==, 1);
    g_assert_cmpint(c.cap, ==, 1);
    g_assert_cmphex(c.changed, ==, 0x3300);
    /* RO and undefined: no effect, no error. */
    g_assert_false(ub_space_write(cfg, PORT1_LINK + 0xa0, ~0u, 0xf));
    g_assert_false(ub_space_write(cfg, PORT1_LINK + 0xff, ~0u, 0xf));
    g_assert_cmphex(ub_space_read(cfg, PORT1_LINK + 0xff), ==, 0);
    g_assert_cmpint(c.writes, ==, 1);
    /* Write 1 to act: reads 0, its neighbours are kept. */
    ub_space_write(cfg, PORT1_LINK + 0x90, 0x80010105, 0xf);
    g_assert_cmphex(c.trigger, ==, 0x80000000);
    g_assert_cmphex(ub_space_get(cfg, PORT1_LINK + 0x90), ==, 0x00010105);
    /* W1C. */
    ub_space_set(cfg, PORT1_LINK + 0x100 + 0x5, ~0u, 0xa5a5);
    ub_space_write(cfg, PORT1_LINK + 0x100 + 0x5, 0xa500, 0xf);
    g_assert_cmphex(ub_space_get(cfg, PORT1_LINK + 0x100 + 0x5), ==, 0x00a5);
    /* Live status. */
    g_assert_cmphex(ub_space_read(cfg, PORT1_LINK + 0xc0), ==, 3);
    ub_space_free(cfg);
}

static void test_reset_domains(void)
{
    const uint32_t record = 0x31500; /* PORT1 PORT_ERR_RECORD */
    uint32_t sticky = 0;
    Calls c;
    UbSpace *cfg = space(&c);

    g_assert_true(ub_space_init(cfg, 0x30009, 0xffff, 1)); /* Port Index 1 */
    ub_space_write(cfg, PORT1_LINK + 0x68, 0x99, 0xf);
    ub_space_write(cfg, PORT1_LINK - 0x10000 + 0x68, 0x98, 0xf);
    ub_space_write(cfg, 0x1a, 0x1234, 0xf); /* CFG0 Primary CNA */
    for (unsigned dw = 1; dw < 0x1e; dw++) {
        const UbSpaceDword *d = ub_space_dword(cfg, record + dw);

        if (d && d->sticky) {
            sticky = record + dw;
            ub_space_set(cfg, sticky, d->sticky, ~0u);
            break;
        }
    }
    g_assert_cmphex(sticky, !=, 0);
    ub_space_reset(cfg, UB_SPACE_RESET_PORT, 1);
    g_assert_cmphex(ub_space_get(cfg, 0x30009), ==, 1);
    g_assert_cmphex(ub_space_get(cfg, PORT1_LINK + 0x68), ==, 0x40);
    g_assert_cmphex(ub_space_get(cfg, PORT1_LINK - 0x10000 + 0x68), ==, 0x98);
    g_assert_cmphex(ub_space_get(cfg, 0x1a), ==, 0x1234);
    g_assert_cmphex(ub_space_get(cfg, sticky), !=, 0);
    ub_space_reset(cfg, UB_SPACE_RESET_DEVICE, 0);
    g_assert_cmphex(ub_space_get(cfg, 0x1a), ==, 0);
    g_assert_cmphex(ub_space_get(cfg, sticky), ==, 0);
    ub_space_free(cfg);
}

/* Every row of the table lies in its slice, once, and its masks are apart. */
static void test_table(void)
{
    for (unsigned i = 0; i < ub_space_slice_count; i++) {
        const UbSpaceSlice *s = &ub_space_slices[i];

        for (unsigned j = 0; j < s->count; j++) {
            const UbSpaceDword *d = &s->dwords[j];

            g_assert_cmpuint(d->dw, <, s->used);
            g_assert_true(j == 0 || d->dw > d[-1].dw);
            g_assert_cmphex(d->rw & d->w1c, ==, 0);
            g_assert_cmphex((d->rw | d->w1c) & d->trigger, ==, 0);
        }
    }
    g_assert_null(ub_space_new(0, NULL, &ops, NULL));
    g_assert_null(ub_space_new(9, NULL, &ops, NULL));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/cfg/places", test_places);
    g_test_add_func("/ub/cfg/reset-values", test_reset_values);
    g_test_add_func("/ub/cfg/access", test_access);
    g_test_add_func("/ub/cfg/reset-domains", test_reset_domains);
    g_test_add_func("/ub/cfg/table", test_table);
    return g_test_run();
}
