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
    UbSlice *slice;
    UbSliceWrite last;
} Calls;

static void written(void *opaque, UbSlice *slice, const UbSliceWrite *w)
{
    Calls *c = opaque;

    c->writes++;
    c->slice = slice;
    c->last = *w;
}

static void refresh(void *opaque, UbSlice *slice, unsigned dw)
{
    Calls *c = opaque;

    c->refreshes++;
    if (dw == 0xc0) {
        ub_slice_set(slice, dw, 3, 3);
    }
}

static const UbSliceOps ops = { written, refresh };

/* Every slice of the table for two ports but one, whose owner is missing. */
static UbSpace *space(Calls *c)
{
    UbSpace *cfg = ub_space_new(2);

    memset(c, 0, sizeof(*c));
    g_assert_nonnull(cfg);
    for (int basic = 1; basic >= 0; basic--) {
        for (unsigned i = 0; i < ub_space_slice_count; i++) {
            const UbSpaceSlice *s = &ub_space_slices[i];

            if (basic != !s->cap || !g_strcmp0(s->name, "CFG1_CAP6_UB_MEM")) {
                continue;
            }
            for (unsigned p = 0; p < (s->space == UB_SPACE_PORT ? 2 : 1); p++) {
                g_assert_nonnull(ub_space_attach(cfg, s->space, p, s->cap,
                                                 &ops, c));
            }
        }
    }
    return cfg;
}

/* A space with the BASIC and LINK slices of its one port. */
static UbSlice *link_slice(UbSpace **cfg, Calls *c)
{
    memset(c, 0, sizeof(*c));
    *cfg = ub_space_new(1);
    ub_space_attach(*cfg, UB_SPACE_PORT, 0, 0, NULL, NULL);
    return ub_space_attach(*cfg, UB_SPACE_PORT, 0, UB_CAP_LINK, &ops, c);
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
    UbSpace *cfg;
    Calls c;
    UbSlice *s = link_slice(&cfg, &c);
    const uint32_t link = 0x20100;

    /* RW by bytes; the callback says what changed. */
    g_assert_true(ub_space_write(cfg, 77, link + 0x68, 0x11223344, 0x2));
    g_assert_cmphex(ub_slice_get(s, 0x68), ==, 0x3340);
    g_assert_cmpint(c.writes, ==, 1);
    g_assert_true(c.slice == s);
    g_assert_cmphex(c.last.dw, ==, 0x68);
    g_assert_cmpint(c.last.now, ==, 77);
    g_assert_cmphex(c.last.value, ==, 0x3340);
    g_assert_cmphex(c.last.changed, ==, 0x3300);
    /* RO and undefined: no effect, no error. */
    g_assert_false(ub_space_write(cfg, 77, link + 0xa0, ~0u, 0xf));
    g_assert_false(ub_space_write(cfg, 77, link + 0xff, ~0u, 0xf));
    g_assert_cmphex(ub_space_read(cfg, link + 0xff), ==, 0);
    g_assert_cmpint(c.writes, ==, 1);
    /* Write 1 to act: reads 0, its neighbours are kept. */
    ub_space_write(cfg, 77, link + 0x90, 0x80010105, 0xf);
    g_assert_cmphex(c.last.trigger, ==, 0x80000000);
    g_assert_cmphex(ub_slice_get(s, 0x90), ==, 0x00010105);
    /* Live status. */
    g_assert_cmphex(ub_space_read(cfg, link + 0xc0), ==, 3);
    /* Beyond the slice an owner reads 0 and writes nothing. */
    g_assert_cmphex(ub_slice_get(s, 0xc7), ==, 0);
    ub_slice_set(s, 0xc7, ~0u, ~0u);
    ub_slice_init(s, 0x100, ~0u, ~0u);
    g_assert_cmphex(ub_slice_get(s, 0xc7), ==, 0);
    ub_space_free(cfg);
}

static void refresh_count(void *opaque, UbSlice *slice, unsigned dw)
{
    ub_slice_set(slice, dw, ~0u, 0xa5a5);
}

/* Writing 1 clears bits of the value that a read would have given. */
static void test_clear_live(void)
{
    static const UbSliceOps live = { NULL, refresh_count };
    UbSpace *cfg = ub_space_new(1);
    UbSlice *s;

    ub_space_attach(cfg, UB_SPACE_PORT, 0, 0, NULL, NULL);
    s = ub_space_attach(cfg, UB_SPACE_PORT, 0, UB_CAP_LINK_LOG, &live, NULL);
    g_assert_true(ub_space_write(cfg, 77, 0x20205, 0xa500, 0xf));
    g_assert_cmphex(ub_slice_get(s, 5), ==, 0x00a5);
    ub_space_free(cfg);
}

/* A slice exists if and only if it has an owner, and the bitmap says so. */
static void test_attach(void)
{
    UbSpace *cfg = ub_space_new(2);
    UbSlice *s;

    /* BASIC first, once, and only of ports and slices that there are. */
    g_assert_null(ub_space_attach(cfg, UB_SPACE_PORT, 1, UB_CAP_LINK, NULL,
                                  NULL));
    g_assert_nonnull(ub_space_attach(cfg, UB_SPACE_PORT, 1, 0, NULL, NULL));
    g_assert_null(ub_space_attach(cfg, UB_SPACE_PORT, 1, 0, NULL, NULL));
    g_assert_null(ub_space_attach(cfg, UB_SPACE_PORT, 2, 0, NULL, NULL));
    g_assert_null(ub_space_attach(cfg, UB_SPACE_CFG0, 1, 0, NULL, NULL));
    g_assert_null(ub_space_attach(cfg, UB_SPACE_PORT, 1, 3, NULL, NULL));
    g_assert_cmphex(ub_space_read(cfg, 0x20000), ==, 0);
    g_assert_cmphex(ub_space_read(cfg, 0x30000), ==, 0x11 << 4);
    g_assert_cmphex(ub_space_read(cfg, 0x30001), ==, 0);
    s = ub_space_attach(cfg, UB_SPACE_PORT, 1, UB_CAP_LINK, NULL, NULL);
    g_assert_nonnull(s);
    g_assert_null(ub_space_attach(cfg, UB_SPACE_PORT, 1, UB_CAP_LINK, NULL,
                                  NULL));
    g_assert_cmphex(ub_space_read(cfg, 0x30001), ==, 1 << 1);
    g_assert_nonnull(ub_space_attach(cfg, UB_SPACE_PORT, 1, UB_CAP_PORT_VD,
                                     NULL, NULL));
    g_assert_cmphex(ub_space_read(cfg, 0x30001 + 240 / 32), ==, 1u << 16);
    /* The bitmap outlives a reset, storage does not. */
    ub_space_write(cfg, 77, PORT1_LINK + 0x68, 0x99, 0xf);
    ub_space_reset(cfg, UB_SPACE_RESET_DEVICE, 0);
    g_assert_cmphex(ub_space_read(cfg, 0x30001), ==, 1 << 1);
    g_assert_cmphex(ub_slice_get(s, 0x68), ==, 0x40);
    ub_space_free(cfg);
}

typedef struct Members {
    bool flag;
    uint8_t byte, nibbles[10];
    uint16_t half, halves[16];
    uint32_t word;
    uint64_t twice;
    uint8_t lanes[8];
} Members;

static const UbField fields[] = {
    UB_FIELD(Members, flag, UB_LINK_DL_CFG_DW0, RXBUF_VL_SHARE_CFG),
    UB_FIELD(Members, byte, UB_LINK_DL_CFG_DW9, FLOW_CTRL_SIZE_CFG),
    UB_FIELD(Members, half, UB_LINK_DL_CFG_DW10, RETRY_BUF_DEPTH),
    UB_FIELD(Members, twice, UB_LINK_DL_RETRY_CFG, WAIT_RETRY_ACK_TIMEOUT_L),
    UB_FIELD(Members, word, UB_LINK_DL_CFG_DW1, CTRL_CREDIT_GRAIN_SIZE_CFG_0),
    UB_FIELD_ARRAY(Members, nibbles, UB_LINK_PHY_CTL_6, 4),
    UB_FIELD_ARRAY(Members, halves, UB_LINK_DL_CREDIT, 16),
    /* every other nibble */
    { UB_LINK_DL_CFG_DW2, 4, 4, 8, 8, offsetof(Members, lanes), 1 },
};

static void test_fields(void)
{
    UbSpace *cfg;
    Calls c;
    UbSlice *s = link_slice(&cfg, &c);
    const Members in = {
        .flag = true, .byte = 0xab, .half = 0xcdef, .word = 0x12345678,
        .twice = 0x89abcdef, .nibbles = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 },
        .halves = { [0] = 0x1111, [1] = 0x2222, [15] = 0xffff },
        .lanes = { 1, 2, 3, 4, 5, 6, 7, 8 },
    };
    Members out;

    memset(&out, 0xee, sizeof(out));
    ub_slice_set(s, UB_LINK_DL_CFG_DW0, ~0u, 0);
    ub_slice_set(s, UB_LINK_DL_CFG_DW2, ~0u, 0x0f0f0f0f);
    ub_slice_set_fields(s, fields, G_N_ELEMENTS(fields), &in);
    g_assert_cmphex(ub_slice_get(s, 0x40), ==, 0x00010000);
    g_assert_cmphex(ub_slice_get(s, 0x41), ==, 0x12345678);
    g_assert_cmphex(ub_slice_get(s, 0x42), ==, 0x4f3f2f1f);
    g_assert_cmphex(ub_slice_get(s, 0x43) & 0xf0f0f0f0, ==, 0x80706050);
    g_assert_cmphex(ub_slice_get(s, 0x49), ==, 0x01ab00ff);
    g_assert_cmphex(ub_slice_get(s, 0x4a), ==, 0xcdef);
    g_assert_cmphex(ub_slice_get(s, 0x60), ==, 0x22221111);
    g_assert_cmphex(ub_slice_get(s, 0x67), ==, 0xffff0000);
    g_assert_cmphex(ub_slice_get(s, 0x68), ==, 0x89abcdef);
    g_assert_cmphex(ub_slice_get(s, 0x95), ==, 0x87654321);
    g_assert_cmphex(ub_slice_get(s, 0x96), ==, 0xa9);
    g_assert_true(ub_slice_get_fields(s, fields, G_N_ELEMENTS(fields), &out));
    g_assert_true(out.flag == in.flag && out.byte == in.byte &&
                  out.half == in.half && out.word == in.word &&
                  out.twice == in.twice);
    g_assert_cmpmem(out.nibbles, 10, in.nibbles, 10);
    g_assert_cmpmem(out.halves, 32, in.halves, 32);
    g_assert_cmpmem(out.lanes, 8, in.lanes, 8);
    /* 20 bits into 16: said, and as near as can be. */
    ub_slice_set(s, UB_LINK_DL_CFG_DW10, ~0u, 0x10001);
    g_assert_false(ub_slice_get_fields(s, fields, G_N_ELEMENTS(fields), &out));
    g_assert_cmphex(out.half, ==, 0xffff);
    /* Set is for now, init for after resets, too. */
    ub_space_reset(cfg, UB_SPACE_RESET_DEVICE, 0);
    g_assert_cmphex(ub_slice_get(s, 0x95), ==, 0);
    ub_slice_init_fields(s, fields, G_N_ELEMENTS(fields), &in);
    ub_space_reset(cfg, UB_SPACE_RESET_DEVICE, 0);
    g_assert_cmphex(ub_slice_get(s, 0x95), ==, 0x87654321);
    ub_space_free(cfg);
}

static void test_reset_domains(void)
{
    Calls c;
    UbSpace *cfg = ub_space_new(2);
    UbSlice *cfg0 = ub_space_attach(cfg, UB_SPACE_CFG0, 0, 0, &ops, &c);
    UbSlice *cfg1 = ub_space_attach(cfg, UB_SPACE_CFG1, 0, 0, &ops, &c);
    UbSlice *basic[2], *link[2], *err = NULL;
    uint32_t sticky = 0;
    unsigned at = 0;

    for (unsigned p = 0; p < 2; p++) {
        basic[p] = ub_space_attach(cfg, UB_SPACE_PORT, p, 0, &ops, &c);
        link[p] = ub_space_attach(cfg, UB_SPACE_PORT, p, UB_CAP_LINK, &ops, &c);
        err = ub_space_attach(cfg, UB_SPACE_PORT, p, UB_CAP_PORT_ERR, &ops, &c);
    }
    ub_slice_init(basic[1], UB_PORT_INFO, UB_PORT_INFO__PORT_INDEX, 1);
    ub_space_write(cfg, 77, PORT1_LINK + 0x68, 0x99, 0xf);
    ub_space_write(cfg, 77, PORT1_LINK - 0x10000 + 0x68, 0x98, 0xf);
    ub_space_write(cfg, 77, 0x1a, 0x1234, 0xf); /* CFG0 Primary CNA */
    for (unsigned dw = 1; dw < 0x1e && !sticky; dw++) {
        const UbSpaceDword *d = ub_space_dword(cfg, 0x31500 + dw);

        if (d && d->sticky) {
            at = dw;
            sticky = d->sticky;
            ub_slice_set(err, dw, sticky, ~0u);
        }
    }
    g_assert_cmphex(sticky, !=, 0);
    ub_slice_set(cfg1, 0x10, ~0u, 77);
    ub_space_reset(cfg, UB_SPACE_RESET_PORT, 1);
    g_assert_cmphex(ub_slice_get(basic[1], 9), ==, 1);
    g_assert_cmphex(ub_slice_get(link[1], 0x68), ==, 0x40);
    g_assert_cmphex(ub_slice_get(link[0], 0x68), ==, 0x98);
    g_assert_cmphex(ub_slice_get(cfg0, 0x1a), ==, 0x1234);
    g_assert_cmphex(ub_slice_get(err, at), ==, sticky);
    g_assert_cmphex(ub_slice_get(cfg1, 0x10), ==, 77);
    /* Port 0 is not what has no port. */
    ub_space_reset(cfg, UB_SPACE_RESET_PORT, 0);
    g_assert_cmphex(ub_slice_get(link[0], 0x68), ==, 0x40);
    g_assert_cmphex(ub_slice_get(cfg0, 0x1a), ==, 0x1234);
    g_assert_cmphex(ub_slice_get(cfg1, 0x10), ==, 77);
    ub_space_reset(cfg, UB_SPACE_RESET_ENTITY, 0);
    g_assert_cmphex(ub_slice_get(cfg1, 0x10), !=, 77);
    g_assert_cmphex(ub_slice_get(cfg0, 0x1a), ==, 0x1234);
    ub_space_reset(cfg, UB_SPACE_RESET_DEVICE, 0);
    g_assert_cmphex(ub_slice_get(cfg0, 0x1a), ==, 0);
    g_assert_cmphex(ub_slice_get(err, at), ==, 0);
    ub_space_free(cfg);
}

/* Every row of the table lies in its slice, once, and its masks are apart. */
/* DE0_EO and DEN_RO of Table 10-7: what Entity 0 alone has, or may write. */
static void test_entity(void)
{
    UbSpace *cfg = ub_space_new_entity();
    UbSlice *s = ub_space_attach(cfg, UB_SPACE_CFG0, 0, 0, NULL, NULL);

    g_assert_null(ub_space_attach(cfg, UB_SPACE_PORT, 0, 0, NULL, NULL));
    ub_space_attach(cfg, UB_SPACE_CFG0, 0, UB_CAP_DEV_ERR, NULL, NULL);
    /* Both. */
    g_assert_true(ub_space_write(cfg, 0, 0x1f, ~0u, 0xf));
    g_assert_cmphex(ub_space_read(cfg, 0x1f), ==, 0x7fff);
    /* Read-only: MTU_CFG as the table has it. */
    g_assert_false(ub_space_write(cfg, 0, 0x23, 0, 0xf));
    g_assert_cmphex(ub_space_read(cfg, 0x23), ==, 1);
    /* Not there: DEV_RST, UBFM_CNA, a mask that resets to 1. */
    g_assert_false(ub_space_write(cfg, 0, 0x21, 1, 0xf));
    g_assert_false(ub_space_write(cfg, 0, 0x26, ~0u, 0xf));
    g_assert_cmphex(ub_space_read(cfg, 0x31a), ==, 0);
    g_assert_false(ub_space_write(cfg, 0, 0x31a, ~0u, 0xf));
    g_assert_cmphex(ub_space_read(cfg, 0x31a), ==, 0);
    /* What is fixed stays, whoever writes, also by reset. */
    ub_slice_fix(s, 0x1f, 0xff, 0x12);
    g_assert_true(ub_space_write(cfg, 0, 0x1f, 0, 0xf));
    g_assert_cmphex(ub_space_read(cfg, 0x1f), ==, 0x12);
    ub_space_reset(cfg, UB_SPACE_RESET_DEVICE, 0);
    g_assert_cmphex(ub_space_read(cfg, 0x1f), ==, 0x12);
    ub_slice_fix(s, 0x1f, ~0u, 0x34);
    g_assert_false(ub_space_write(cfg, 0, 0x1f, 0, 0xf));
    g_assert_cmphex(ub_space_read(cfg, 0x1f), ==, 0x34);
    ub_slice_fix(s, 0x2c, ~0u, 1); /* beyond the slice */
    g_assert_cmphex(ub_space_read(cfg, 0x2c), ==, 0);
    ub_space_free(cfg);
    /* Entity 0 has them. */
    cfg = ub_space_new(1);
    ub_space_attach(cfg, UB_SPACE_CFG0, 0, 0, NULL, NULL);
    g_assert_true(ub_space_write(cfg, 0, 0x23, 0, 0xf));
    g_assert_cmphex(ub_space_read(cfg, 0x23), ==, 0);
    g_assert_true(ub_space_write(cfg, 0, 0x26, ~0u, 0xf));
    g_assert_cmphex(ub_space_read(cfg, 0x26), ==, 0xffffff);
    ub_space_free(cfg);
}

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
    g_assert_null(ub_space_new(0));
    g_assert_null(ub_space_new(UB_SPACE_MAX_PORTS + 1));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/space/places", test_places);
    g_test_add_func("/ub/space/reset-values", test_reset_values);
    g_test_add_func("/ub/space/access", test_access);
    g_test_add_func("/ub/space/clear-live", test_clear_live);
    g_test_add_func("/ub/space/attach", test_attach);
    g_test_add_func("/ub/space/fields", test_fields);
    g_test_add_func("/ub/space/reset-domains", test_reset_domains);
    g_test_add_func("/ub/space/entity", test_entity);
    g_test_add_func("/ub/space/table", test_table);
    return g_test_run();
}
