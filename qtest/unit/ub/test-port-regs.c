/*
 * Registers of a port (UB 2.0 §D.5, §D.6), one by one: what they are at
 * power-on and while a link is up, dword by dword; and what a write of each
 * field changes in the layers, with places and widths as the tables print them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"
#include "port-pair.h"
#include "ub/inject.h"

/* Offsets of a port's slices (Table 10-6). */
enum {
    LINK = 0x100, RATE2 = 0x500, RATE4 = 0x700, RATE8 = 0xb00, EYE = 0xe00,
    QDLWS = 0xf00, LMSM_ST = 0x1400,
};

typedef struct Word {
    uint32_t dw, value;
} Word;

/* Distinct values wherever a register has room for them. */
static void distinct(UbPortConfig *c)
{
    UbLmsmConfig *l = &c->phy.lmsm;

    c->dll.wish.packet_min_interval = 3;
    c->dll.wish.feature_id = 0x21;
    c->dll.wish.ctrl_ack_grain = 2;
    c->dll.wish.data_ack_grain = 4;
    for (unsigned i = 0; i < UB_VLS; i++) {
        c->dll.wish.ctrl_credit_grain[i] = 1 + i % 2;
        c->dll.wish.data_credit_grain[i] = 1 << i % 3;
        c->dll.init_credit[i] = 256 + i;
    }
    c->dll.mark_err = 1;
    for (unsigned i = 0; i < 15; i++) {
        c->guid[i] = 0x10 + i;
    }
    l->max_width = 4;
    l->target_tx = l->target_rx = 4;
    for (unsigned r = 1; r < UB_DATA_RATES; r++) {
        for (unsigned i = 0; i < UB_LANES; i++) {
            l->local_preset[r][i] = (r + i) % 8;
            l->remote_preset[r][i] = (r + 2 * i) % 8;
        }
    }
}

static uint32_t get(End *e, uint32_t dw)
{
    return ub_space_read(e->space, UB_CFG_PORT_BASE(e->index) + dw);
}

static bool set_bytes(End *e, uint32_t dw, uint32_t v, uint8_t byte_en)
{
    return ub_space_write(e->space, now, UB_CFG_PORT_BASE(e->index) + dw, v,
                          byte_en);
}

static void set(End *e, uint32_t dw, uint32_t v)
{
    g_assert_true(set_bytes(e, dw, v, 0xf));
}

/* Every dword of the port but those in `want` is 0. */
static void check_words(End *e, const char *name, const Word *want, unsigned n)
{
    const bool make = g_getenv("PORT_WORDS") != NULL;
    unsigned at = 0;

    for (uint32_t dw = 0; dw < 0x10000; dw++) {
        uint32_t v = get(e, dw), expected = 0;

        if (at < n && want[at].dw == dw) {
            expected = want[at++].value;
        }
        if (make && v) {
            g_print("#%s     { 0x%04x, 0x%08x },\n", name, dw, v);
        } else if (!make && v != expected) {
            g_error("%s: dword 0x%x is 0x%x and not 0x%x", name, dw, v,
                    expected);
        }
    }
}

static const Word power_on[] = {
     { 0x0000, 0x00000110 },  { 0x0001, 0x0030c8a6 },
     { 0x0008, 0x00010000 },
     { 0x0009, 0x00000003 },  { 0x0100, 0x00000c70 },
     { 0x0101, 0x00010021 },  { 0x0102, 0x00000204 },
     { 0x0103, 0x02010201 },  { 0x0104, 0x02010201 },
     { 0x0105, 0x02010201 },  { 0x0106, 0x02010201 },
     { 0x0107, 0x01040201 },  { 0x0108, 0x02010402 },
     { 0x0109, 0x04020104 },  { 0x010a, 0x01040201 },
     { 0x010b, 0x030800ff },  { 0x010c, 0x00008000 },
     { 0x0120, 0x07030848 },  { 0x0121, 0x00000115 },
     { 0x0122, 0x00000f01 },  { 0x0140, 0x00010204 },
     { 0x0141, 0x02010201 },  { 0x0142, 0x02010201 },
     { 0x0143, 0x02010201 },  { 0x0144, 0x02010201 },
     { 0x0145, 0x01040201 },  { 0x0146, 0x02010402 },
     { 0x0147, 0x04020104 },  { 0x0148, 0x01040201 },
     { 0x0149, 0x030800ff },  { 0x014a, 0x00008000 },
     { 0x014b, 0x00000021 },  { 0x0160, 0x01010100 },
     { 0x0161, 0x01030102 },  { 0x0162, 0x01050104 },
     { 0x0163, 0x01070106 },  { 0x0164, 0x01090108 },
     { 0x0165, 0x010b010a },  { 0x0166, 0x010d010c },
     { 0x0167, 0x010f010e },  { 0x0168, 0x00000040 },
     { 0x0181, 0x00000001 },  { 0x0190, 0x01040408 },
     { 0x0191, 0x00080010 },  { 0x0194, 0xfff00000 },
     { 0x0195, 0x22222222 },  { 0x0196, 0x00000002 },
     { 0x0197, 0x11111111 },  { 0x0198, 0x00000011 },
     { 0x01c1, 0x00c04040 },  { 0x0200, 0x00000110 },
     { 0x0500, 0x000000a0 },  { 0x0501, 0x05644322 },
     { 0x0502, 0x01604726 },  { 0x0700, 0x000000a0 },
     { 0x0701, 0x27066544 },  { 0x0702, 0x23026140 },
     { 0x0b00, 0x000000a0 },  { 0x0b01, 0x63422100 },
     { 0x0b02, 0x67462504 },  { 0x0e00, 0x000000c0 },
     { 0x0f00, 0x00000040 },  { 0x0f01, 0x00000001 },
     { 0x1400, 0x00000050 },  { 0x1402, 0xffffffff },
     { 0x1500, 0x000001e0 },  { 0x151a, 0x00300000 },
     { 0x151c, 0xf04fffff },
     { 0xf000, 0x00000020 },
};

static const Word linked[] = {
     { 0x0000, 0x00000110 },  { 0x0001, 0x0030c8a6 },
     { 0x0008, 0x00010000 },
     { 0x0009, 0x00000003 },  { 0x000a, 0x00000002 },
     { 0x000b, 0x1c1d1e02 },  { 0x000c, 0x18191a1b },
     { 0x000d, 0x14151617 },  { 0x000e, 0x10111213 },
     { 0x0100, 0x00000c70 },  { 0x0101, 0x00010021 },
     { 0x0102, 0x00000204 },  { 0x0103, 0x02010201 },
     { 0x0104, 0x02010201 },  { 0x0105, 0x02010201 },
     { 0x0106, 0x02010201 },  { 0x0107, 0x01040201 },
     { 0x0108, 0x02010402 },  { 0x0109, 0x04020104 },
     { 0x010a, 0x01040201 },  { 0x010b, 0x030800ff },
     { 0x010c, 0x00008000 },  { 0x0120, 0x07030848 },
     { 0x0121, 0x00000115 },  { 0x0122, 0x00000f01 },
     { 0x0140, 0x00010204 },  { 0x0141, 0x02010201 },
     { 0x0142, 0x02010201 },  { 0x0143, 0x02010201 },
     { 0x0144, 0x02010201 },  { 0x0145, 0x01040201 },
     { 0x0146, 0x02010402 },  { 0x0147, 0x04020104 },
     { 0x0148, 0x01040201 },  { 0x0149, 0x030800ff },
     { 0x014a, 0x00008000 },  { 0x014b, 0x00000021 },
     { 0x0160, 0x01010100 },  { 0x0161, 0x01030102 },
     { 0x0162, 0x01050104 },  { 0x0163, 0x01070106 },
     { 0x0164, 0x01090108 },  { 0x0165, 0x010b010a },
     { 0x0166, 0x010d010c },  { 0x0167, 0x010f010e },
     { 0x0168, 0x00000040 },  { 0x0181, 0x00000001 },
     { 0x0190, 0x01040408 },  { 0x0191, 0x00080010 },
     { 0x0194, 0xfff00000 },  { 0x0195, 0x22222222 },
     { 0x0196, 0x00000002 },  { 0x0197, 0x11111111 },
     { 0x0198, 0x00000011 },  { 0x01a0, 0x00000001 },
     { 0x01a1, 0x00000204 },  { 0x01a2, 0x02010201 },
     { 0x01a3, 0x02010201 },  { 0x01a4, 0x02010201 },
     { 0x01a5, 0x02010201 },  { 0x01a6, 0x01040201 },
     { 0x01a7, 0x02010402 },  { 0x01a8, 0x04020104 },
     { 0x01a9, 0x01040201 },  { 0x01aa, 0x030800ff },
     { 0x01ab, 0x00008000 },  { 0x01ac, 0x00000003 },
     { 0x01c0, 0x00000003 },  { 0x01c1, 0x10904048 },
     { 0x01c2, 0x0000112c },  { 0x01c3, 0x8404000a },
     { 0x0200, 0x00000110 },  { 0x0500, 0x000000a0 },
     { 0x0501, 0x05644322 },  { 0x0502, 0x01604726 },
     { 0x0700, 0x000000a0 },  { 0x0701, 0x27066544 },
     { 0x0702, 0x23026140 },  { 0x0b00, 0x000000a0 },
     { 0x0b01, 0x63422100 },  { 0x0b02, 0x67462504 },
     { 0x0b06, 0x00004b1f },  { 0x0b07, 0x76544654 },
     { 0x0e00, 0x000000c0 },  { 0x0f00, 0x00000040 },
     { 0x0f01, 0x00000001 },  { 0x1400, 0x00000050 },
     { 0x1402, 0xffffffff },  { 0x1500, 0x000001e0 },
     { 0x151a, 0x00300000 },  { 0x151c, 0xf04fffff },
     { 0xf000, 0x00000020 },
};

static void test_power_on(void)
{
    End two[2], *a = &two[0], *b = &two[1];

    now = 1000;
    adjust = distinct;
    end_init(a, b, 0);
    end_init(b, a, 3);
    check_words(b, "power-on", power_on, G_N_ELEMENTS(power_on));
    end_free(a);
    end_free(b);
}

static void up(End *a, End *b, void (*with)(UbPortConfig *conf))
{
    now = 1000;
    adjust = with;
    end_init(a, b, 2);
    end_init(b, a, 3);
    plug(a, true);
    ub_port_enable(a->port, now, true);
    ub_port_enable(b->port, now, true);
    g_assert_true(run_until(a, both_up, 60 * SECOND));
    run_until(a, never, 20 * SECOND);
}

static void test_linked(void)
{
    End two[2], *a = &two[0], *b = &two[1];

    up(a, b, distinct);
    check_words(b, "linked", linked, G_N_ELEMENTS(linked));
    end_free(a);
    end_free(b);
}

static void precode_8(UbPortConfig *c)
{
    c->phy.lmsm.precode = 0x0100;
}

static void precode_not_8(UbPortConfig *c)
{
    c->phy.lmsm.precode = 0xfef0;
}

/* PHY Link Status 2, and the slice of the rate, say whether the rate that the link has is
 * precoded. */
static void test_precode(void)
{
    for (unsigned on = 0; on < 2; on++) {
        End two[2], *a = &two[0], *b = &two[1];

        up(a, b, on ? precode_8 : precode_not_8);
        g_assert_cmphex(get(b, LINK + 0xc1) & 0xf, ==, 8);     /* Data Rate */
        g_assert_cmphex(get(b, LINK + 0xc2) & 0xc, ==, on ? 0xc : 0);
        g_assert_cmphex(get(b, RATE8 + UB_RATE_STATE_1) &
                        UB_RATE_STATE_1__CUR_PRECODE_STATE, ==, on ? 0x300 : 0);
        end_free(a);
        end_free(b);
    }
}

/* ---- What a write does ---------------------------------------------------- */

typedef enum Of { DLL, PHY } Of;

/* `n` fields of `bits` bits, from bit `lsb` of dword `dw` on one each `step`
 * bits, and the member each is; written with `value` and what follows modulo
 * `wrap`. */
typedef struct Row {
    uint16_t dw;
    uint8_t lsb, bits, step, n;
    Of of;
    uint16_t at;
    uint8_t size;
    uint32_t value, wrap;
} Row;

#define D(dw, lsb, bits, member, value) \
    { dw, lsb, bits, 0, 1, DLL, offsetof(UbDllConfig, member), \
      sizeof(((UbDllConfig *)0)->member), value, 1 }
#define D_ARRAY(dw, bits, member, value, wrap) \
    { dw, 0, bits, bits, UB_VLS, DLL, offsetof(UbDllConfig, member), \
      sizeof(((UbDllConfig *)0)->member[0]), value, wrap }
#define P(dw, lsb, bits, member, value) \
    { dw, lsb, bits, 0, 1, PHY, offsetof(UbLmsmConfig, member), \
      sizeof(((UbLmsmConfig *)0)->member), value, 1 }
#define P_ARRAY(dw, lsb, bits, step, n, member, value, wrap) \
    { dw, lsb, bits, step, n, PHY, offsetof(UbLmsmConfig, member), \
      sizeof(((UbLmsmConfig *)0)->member[0]), value, wrap }

static const Row rows[] = {
    /* Data Link Configuration, Remote Init Credit, Performance, MarkErr. */
    D(LINK + 0x40, 16, 1, wish.rxbuf_vl_share, 0),
    D(LINK + 0x40, 8, 8, wish.ctrl_ack_grain, 4),
    D(LINK + 0x40, 0, 8, wish.data_ack_grain, 8),
    D_ARRAY(LINK + 0x41, 8, wish.ctrl_credit_grain, 1, 2),
    D_ARRAY(LINK + 0x45, 8, wish.data_credit_grain, 1, 2),
    D(LINK + 0x49, 24, 8, wish.packet_min_interval, 9),
    D(LINK + 0x49, 16, 8, wish.flow_ctrl_size, 4),
    D(LINK + 0x49, 0, 16, wish.vl_enable, 0x0f),
    D(LINK + 0x4a, 0, 20, wish.retry_buf_depth, 4096),
    D(LINK + 0x4b, 0, 16, wish.feature_id, 0x12),
    D_ARRAY(LINK + 0x60, 16, init_credit, 512, 200),
    D(LINK + 0x70, 0, 16, ack_return, 20),
    D(LINK + 0x70, 16, 16, ack_force, 40),
    D_ARRAY(LINK + 0x71, 16, crd_force, 60, 7),
    D_ARRAY(LINK + 0x79, 16, crd_return, 30, 7),
    D(LINK + 0x81, 0, 1, mark_err, 0),
    /* PHY Link Control (Tables D-117 to D-127). */
    P(LINK + 0x90, 0, 4, target_rate, 4),
    P(LINK + 0x90, 8, 6, target_tx, 2),
    P(LINK + 0x90, 16, 6, target_rx, 2),
    P(LINK + 0x91, 4, 2, eq_mode, 1),
    P(LINK + 0x91, 18, 1, bypass_probe, 1),
    P(LINK + 0x91, 19, 1, port_nego, 0),
    P(LINK + 0x94, 16, 16, precode, 0x1230),
    P_ARRAY(LINK + 0x95, 0, 4, 4, 9, fec_mode, 0, 3),
    P_ARRAY(LINK + 0x97, 0, 4, 4, 9, crc_mode, 0, 2),
    P(LINK + 0x99, 0, 16, interleave, 0x0104),
    P(LINK + 0x9a, 0, 16, skip_coarse, 0x0112),
    /* DATA_RATE Control 1 and 2: presets of lanes 0 to 3, 4 to 7. */
    P_ARRAY(RATE2 + 1, 0, 4, 8, 8, local_preset[2], 1, 5),
    P_ARRAY(RATE2 + 1, 4, 4, 8, 8, remote_preset[2], 2, 4),
    P_ARRAY(RATE4 + 1, 0, 4, 8, 8, local_preset[4], 1, 6),
    P_ARRAY(RATE8 + 1, 4, 4, 8, 8, remote_preset[8], 1, 3),
    /* QDLWS Control, LMSM_ST Control 1. */
    P(QDLWS + 2, 0, 1, qdlws, 1),
    P(QDLWS + 2, 1, 1, qdlws_tx, 1),
    P(QDLWS + 2, 2, 1, qdlws_rx, 1),
    P(LMSM_ST + 2, 0, 32, timeout_enable, 0x12345678),
};

/* Both layers' settings, to see what else changed. */
typedef struct Settings {
    UbDllConfig dll;
    UbLmsmConfig phy;
} Settings;

static void settings(End *e, Settings *s)
{
    s->dll = *ub_dll_config(e->port->dll);
    s->phy = *ub_phy_config(e->port->phy);
}

static uint32_t value_at(const uint8_t *p, unsigned size)
{
    uint16_t half;
    uint32_t word;

    if (size == 1) {
        return *p;
    } else if (size == 2) {
        memcpy(&half, p, 2);
        return half;
    }
    memcpy(&word, p, 4);
    return word;
}

/* Write one field; its member follows, and nothing else. */
static void check_write(End *e, const Row *r, unsigned k, uint32_t v)
{
    unsigned bit = r->lsb + k * r->step;
    uint32_t dw = r->dw + bit / 32, old = get(e, dw);
    uint32_t mask = (r->bits == 32 ? ~0u : (1u << r->bits) - 1) << bit % 32;
    Settings before, after;
    uint8_t *was, *is;

    settings(e, &before);
    set(e, dw, (old & ~mask) | v << bit % 32);
    settings(e, &after);
    g_assert_cmphex(get(e, dw), ==, (old & ~mask) | v << bit % 32);
    was = (r->of == DLL ? (uint8_t *)&before.dll : (uint8_t *)&before.phy) +
          r->at + k * r->size;
    is = (r->of == DLL ? (uint8_t *)&after.dll : (uint8_t *)&after.phy) +
         r->at + k * r->size;
    g_assert_cmphex(value_at(is, r->size), ==, v);
    memcpy(is, was, r->size);
    g_assert_cmpmem(&after, sizeof(after), &before, sizeof(before));
    g_assert_cmpuint(e->software, ==, 0);
    g_assert_true(e->asked || r->of == DLL);
}

static void test_writes(void)
{
    End two[2], *a = &two[0], *b = &two[1];
    Settings first, last;

    now = 1000;
    adjust = NULL;
    end_init(a, b, 0);
    end_init(b, a, 1);
    settings(a, &first);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        const Row *r = &rows[i];

        for (unsigned k = 0; k < r->n; k++) {
            g_test_message("row %u, element %u", i, k);
            check_write(a, r, k, r->value + k % r->wrap);
        }
    }
    settings(a, &last);
    g_assert_true(memcmp(&first, &last, sizeof(first)));
    /* Port Reset brings back what the port was made with. */
    set(a, UB_PORT_RST, 1);
    settings(a, &last);
    g_assert_cmpmem(&first, sizeof(first), &last, sizeof(last));
    g_assert_cmpuint(a->events[UB_PORT_RESET], ==, 1);
    end_free(a);
    end_free(b);
}

/* ---- What is asked of the link ---------------------------------------------- */

static bool retrained(End *e)
{
    return e->events[UB_PORT_RETRAIN] > 0;
}

static void test_requests(void)
{
    const uint32_t c1 = LINK + 0x90, c2 = LINK + 0x91;
    End two[2], *a = &two[0], *b = &two[1];

    up(a, b, NULL);
    memset(a->events, 0, sizeof(a->events));
    memset(b->events, 0, sizeof(b->events));
    /* Written as they are, without a bit to act, they do nothing. */
    set(a, c1, get(a, c1));
    set(a, c2, get(a, c2));
    g_assert_false(run_until(a, retrained, SECOND));
    /* Equalization waits for the next change of the rate; Retrain Link does
     * not. */
    set(a, c2, get(a, c2) | 1 << 7);
    g_assert_cmphex(get(a, c2) & 1 << 7, ==, 0);
    g_assert_false(run_until(a, retrained, SECOND));
    set(a, c1, get(a, c1) | 1u << 31);
    g_assert_true(run_until(a, retrained, SECOND));
    run_until(a, never, 20 * SECOND);
    /* Another width without Retrain: not while QDLWS is off. */
    g_assert_cmpuint(a->software, ==, 0);
    set(a, c1, (get(a, c1) & ~0x003f3f00u) | 4 << 8 | 4 << 16 | 1 << 22);
    g_assert_cmpuint(a->software, ==, 1);
    set(a, c1, (get(a, c1) & ~0x003f3f00u) | 8 << 8 | 8 << 16);
    g_assert_cmpuint(a->software, ==, 1);
    /* Link Disable, and not any more. */
    g_assert_true(both_up(a));
    set(a, c2, get(a, c2) | 1 << 21);
    g_assert_true(run_until(a, both_down, 60 * SECOND));
    g_assert_false(run_until(a, both_up, 5 * SECOND));
    set(a, c2, get(a, c2) & ~(1u << 21));
    g_assert_true(run_until(a, both_up, 60 * SECOND));
    end_free(a);
    end_free(b);
}

/* The eye of a lane that is lit; the others' is no measurement. */
static void test_eyes(void)
{
    End two[2], *a = &two[0], *b = &two[1];

    up(a, b, distinct);
    set(a, EYE + 2, 0xff);
    for (unsigned i = 0; i < UB_LANES; i++) {
        uint32_t v = get(a, EYE + UB_EYE_LANE_N_STATE + i);

        g_assert_cmphex(v & 0xffff, ==, i < 4 ? 4 : 1);
        g_assert_true((v >> 16 != 0) == (i < 4));
        g_assert_cmphex(v >> 16, ==, i < 4 ? ub_phy_eye(a->port->phy, i) : 0);
    }
    end_free(a);
    end_free(b);
}

/* ---- LINK_LOG ------------------------------------------------------------------ */

enum { LOG = 0x200, LOGS = 4 };

/* Training blocks that came damaged up to now, as the logs count them. */
static void errors_of(End *e, uint64_t n[LOGS])
{
    static const unsigned kind[] = { UB_PHY_DLTB, UB_PHY_CLTB, UB_PHY_ELTB,
                                     UB_PHY_RLTB };
    UbPortStats st;

    ub_port_stats(e->port, &st);
    for (unsigned i = 0; i < LOGS; i++) {
        n[i] = st.phy.ltb_errors[kind[i]];
    }
}

static void train_anew(End *e)
{
    ub_port_restart(e->port, now);
    ub_port_restart(e->peer->port, now);
    run_until(e, never, 20 * (SECOND / 1000));
}

/* Training blocks of each kind have a log and an enable bit of their own; one
 * counts from when it is enabled until it is not, whether anybody looks or not. */
static void test_logs(void)
{
    const UbLaneFault noise = { .ber = 1e-3 };

    for (unsigned k = 0; k < LOGS; k++) {
        uint64_t before[LOGS], after[LOGS];
        End two[2], *b = &two[1];

        now = 1000;
        adjust = NULL;
        end_init(&two[0], b, 0);
        end_init(b, &two[0], 0);
        for (unsigned lane = 0; lane < UB_LANES; lane++) {
            g_assert_true(ub_inject_lane(ub_port_inject(two[0].port), lane,
                                         &noise));
        }
        plug(b, true);
        for (unsigned i = 0; i < 2; i++) {
            ub_port_enable(two[i].port, now, true);
        }
        train_anew(b);
        errors_of(b, before);
        set(b, LOG + UB_LINK_LOG_LTB_ERROR_COUNT_CTL, 2 << k);
        train_anew(b);
        errors_of(b, after);
        set(b, LOG + UB_LINK_LOG_LTB_ERROR_COUNT_CTL, 0);
        train_anew(b);
        for (unsigned i = 0; i < LOGS; i++) {
            uint32_t v = get(b, LOG + UB_LINK_LOG_LTB_ERROR_LOG_1 + i);

            g_assert_cmpuint(before[i], >, 0);
            g_assert_cmpuint(after[i], >, before[i]);
            g_assert_cmpuint(v, ==, i == k ? after[i] - before[i] : 0);
        }
        end_free(&two[0]);
        end_free(b);
    }
}

static void slow(UbPortConfig *conf)
{
    conf->dll_time_scale = 3;
}

/* What waits for an answer waits longer where hosts take longer; the register says
 * what it is without. */
static void test_scale(void)
{
    End two[2];
    const UbDllConfig *dll;
    UbPortConfig conf;

    ub_port_config_init(&conf);
    adjust = slow;
    end_init(&two[0], &two[1], 0);
    end_init(&two[1], &two[0], 0);
    adjust = NULL;
    dll = ub_dll_config(two[0].port->dll);
    g_assert_cmpint(dll->block_timeout, ==, 3 * conf.dll.block_timeout);
    g_assert_cmpint(dll->wait_timeout, ==,
                    3000 * (conf.dll.wait_timeout / 1000));
    g_assert_cmpint(get(&two[0], LINK + UB_LINK_DL_RETRY_CFG), ==,
                    conf.dll.wait_timeout / 1000);
    end_free(&two[0]);
    end_free(&two[1]);
}

static void shares(UbPortConfig *conf)
{
    conf->dll.vl_strict = 1 << 2;
    conf->dll.vl_weight[1] = 3;
    conf->dll.vl_weight[4] = 1000;
}

/* What the floor above says of VLs, with what the port has of its own; writes of other
 * registers and a reset leave it. */
static void test_schedule(void)
{
    uint16_t weight[UB_VLS] = { 5, 2, [4] = 1000 }, zeroes[UB_VLS] = { 0 };
    const UbDllConfig *dll;
    End two[2];

    adjust = shares;
    end_init(&two[0], &two[1], 0);
    adjust = NULL;
    dll = ub_dll_config(two[0].port->dll);
    g_assert_cmphex(dll->vl_strict, ==, 4);
    g_assert_cmpuint(dll->vl_weight[1], ==, 3);
    ub_port_schedule(two[0].port, 1 << 7, weight);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmphex(dll->vl_strict, ==, 0x84);
        g_assert_cmpuint(dll->vl_weight[0], ==, 5);
        g_assert_cmpuint(dll->vl_weight[1], ==, 6);
        g_assert_cmpuint(dll->vl_weight[2], ==, 1);
        g_assert_cmpuint(dll->vl_weight[4], ==, UINT16_MAX);
        if (i == 0) {
            set(&two[0], LINK + UB_LINK_DL_RETRY_CFG, 99);
        } else {
            ub_port_reset(two[0].port, now);
        }
    }
    ub_port_schedule(two[0].port, 0, zeroes);
    g_assert_cmphex(dll->vl_strict, ==, 4);
    g_assert_cmpuint(dll->vl_weight[0], ==, 1);
    g_assert_cmpuint(dll->vl_weight[1], ==, 3);
    g_assert_cmpuint(dll->vl_weight[4], ==, 1000);
    end_free(&two[0]);
}

static void other_phy(UbPortConfig *conf)
{
    UbLmsmConfig *l = &conf->phy.lmsm;

    l->phy_mode = UB_PHY_MODE_1;
    l->rates = 1;
    l->target_rate = 0;
    l->qdlws = l->qdlws_tx = l->qdlws_rx = true;
}

/* What most ports are not, and what they do not do at power-on. */
static void test_other_phy(void)
{
    End two[2];
    const UbLmsmConfig *l;

    adjust = other_phy;
    end_init(&two[0], &two[1], 0);
    adjust = NULL;
    g_assert_cmphex(get(&two[0], LINK + UB_LINK_PHY_CTL_1) &
                    UB_LINK_PHY_CTL_1__PHY_MODE_CTL, ==, 0);
    g_assert_cmphex(get(&two[0], QDLWS + UB_QDLWS_CTL), ==,
                    UB_QDLWS_CTL__GLOBAL_ENABLE_FOR_QDLWS |
                    UB_QDLWS_CTL__TX_QDLWS_ENABLE |
                    UB_QDLWS_CTL__RX_QDLWS_ENABLE);
    /* A reset keeps it, and what the registers say is what there is. */
    ub_port_restart(two[0].port, now);
    l = ub_phy_config(two[0].port->phy);
    g_assert_cmpint(l->phy_mode, ==, UB_PHY_MODE_1);
    g_assert_true(l->qdlws && l->qdlws_tx && l->qdlws_rx);
    end_free(&two[0]);
}

static void mode_1(UbPortConfig *conf)
{
    UbLmsmConfig *l = &conf->phy.lmsm;

    l->phy_mode = UB_PHY_MODE_1;
    l->rates = ub_phy_rates(UB_PHY_MODE_1);
    l->target_rate = 7;
}

/* A link of PHY Mode-1 at its highest rate, which has an odd number. */
static void test_mode_1(void)
{
    End two[2], *a = &two[0], *b = &two[1];

    up(a, b, mode_1);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t st = get(&two[i], LINK + UB_LINK_PHY_STATUS_1);

        g_assert_cmpuint(UB_SPACE_GET(UB_LINK_PHY_STATUS_1__CUR_LINK_SPEED,
                                      st), ==, 7);
        g_assert_cmpuint(UB_SPACE_GET(UB_LINK_PHY_STATUS_1__CUR_TX_LINK_WIDTH,
                                      st), ==, 8);
        g_assert_cmphex(get(&two[i], LINK + UB_LINK_PORT_LINK_STATUS_0), ==, 3);
    }
    end_free(a);
    end_free(b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/port/regs/power-on", test_power_on);
    g_test_add_func("/ub/port/regs/linked", test_linked);
    g_test_add_func("/ub/port/regs/precode", test_precode);
    g_test_add_func("/ub/port/regs/writes", test_writes);
    g_test_add_func("/ub/port/regs/requests", test_requests);
    g_test_add_func("/ub/port/regs/eyes", test_eyes);
    g_test_add_func("/ub/port/regs/logs", test_logs);
    g_test_add_func("/ub/port/regs/scale", test_scale);
    g_test_add_func("/ub/port/regs/schedule", test_schedule);
    g_test_add_func("/ub/port/regs/other-phy", test_other_phy);
    g_test_add_func("/ub/port/regs/mode-1", test_mode_1);
    return g_test_run();
}
