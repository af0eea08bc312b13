/*
 * The decoder's table where it is the UBFM's and in the device (UB 2.0 §10.4.7): what
 * its entries say and must not say, what happens to accesses when they change.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "lds-bed.h"

#define FIRST 16u       /* MiB of the window that entries begin with */
#define AT (FIRST * MIB)
#define TOKEN_DWORD 13

static uint32_t matt_dw(unsigned dw)
{
    return UB_CFG_CAP(UB_CFG1_BASE, UB_LDS_MATT_CAP) + dw;
}

static void put(Bed *b, unsigned dw, uint32_t value)
{
    g_assert_true(ub_space_write(b->space, b->p->now, matt_dw(dw), value, 15));
}

static void put64(Bed *b, unsigned dw, uint64_t value)
{
    put(b, dw, value);
    put(b, dw + 1, value >> 32);
}

static unsigned place(unsigned n, unsigned word)
{
    return UB_LDS_MATT_ENTRY(n) + 2 * word;
}

/* Entry @n: MiBs @first to @last are the memory of node @to from @uba on. */
static void put_entry(Bed *b, unsigned n, uint32_t first, uint32_t last,
                      unsigned to, uint64_t uba)
{
    const UbEid *deid = &b->p->end[to].eid;

    put(b, place(n, 0), 0);
    put64(b, place(n, 1), first | (uint64_t)last << 32);
    put64(b, place(n, 2), uba);
    put64(b, place(n, 3), to + 1);
    put64(b, place(n, 4), get_be64(deid->b + 8));
    put64(b, place(n, 5), get_be64(deid->b));
    put64(b, place(n, 6), PAIR_TOKEN_ID | (uint64_t)PAIR_TOKEN << 32);
    put(b, place(n, 7), PAIR_UPI);
    put(b, place(n, 0), UB_LDS_TYPE_RANGE | UB_LDS_TOKEN_VLD);
}

static Bed *managed_bed(unsigned nodes)
{
    UbLdsConfig cfg;

    bed_config(&cfg);
    cfg.managed = true;
    return bed_new_with(&cfg, pair_new(nodes, NULL), ROW_CTP);
}

static uint8_t *memory(Bed *b, unsigned node)
{
    return b->p->end[node].mem;
}

/* What is in memory leads nowhere; an entry does, with its place in the range. */
static void test_walk(void)
{
    Bed *b = managed_bed(3);
    UbLdsRoute route;
    UbLdsState state;
    UbLdsMap map;

    g_assert_cmphex(bed_load(b, AT, 8), ==, UINT64_MAX);
    bed_event_is(b, 0, UB_LDS_EVENT_RANGE, AT, false, 0);
    put_entry(b, 63, FIRST, FIRST, 1, PAIR_UBA);
    bed_store(b, AT + 0x1238, 8, 0x1122334455667788);
    g_assert_cmphex(bed_load(b, AT + 0x1238, 8), ==, 0x1122334455667788);
    g_assert_cmphex(get_le64(memory(b, 1) + 0x1238), ==, 0x1122334455667788);
    g_assert_cmpuint(b->guest_errors, ==, 0);
    /* Of two entries the first counts. */
    put_entry(b, 2, FIRST - 1, FIRST + 1, 2, PAIR_UBA - MIB);
    put_le64(memory(b, 2) + 0x1238, 99);
    g_assert_cmphex(bed_load(b, AT + 0x1238, 8), ==, 99);
    /* MiBs are PA[43:20]: beyond the 32768 of a PTRE, too. */
    put_entry(b, 0, 0x123456, 0x123457, 1, 0x7700000000);
    bed_set64(b, UB_DECODER_MMIO_BA, BED_BASE - (0x123457ull << 20));
    ub_lds_route(b->l, 0x18, &route);
    g_assert_cmphex(route.event, ==, 0);
    g_assert_cmphex(route.uba, ==, 0x7700000000 + MIB + 0x18);
    ub_lds_route(b->l, MIB, &route);
    g_assert_cmphex(route.event, ==, UB_LDS_EVENT_RANGE);
    g_assert_true(ub_lds_map(b->l, 0, &map));
    g_assert_cmphex(map.first, ==, 0x123456);
    g_assert_cmphex(map.last, ==, 0x123457);
    g_assert_cmphex(map.uba, ==, 0x7700000000);
    g_assert_cmphex(map.cna, ==, 2);
    g_assert_cmphex(map.upi, ==, PAIR_UPI);
    g_assert_cmphex(map.token_id, ==, PAIR_TOKEN_ID);
    g_assert_true(ub_eid_same(&map.deid, &b->p->end[1].eid));
    ub_lds_state(b->l, &state);
    g_assert_cmpuint(state.maps, ==, 3);
    g_assert_false(ub_lds_map(b->l, 1, &map));
    g_assert_false(ub_lds_map(b->l, UB_LDS_MATT_ENTRIES, &map));
    bed_free(b);
}

/* What has led somewhere is forgotten with its entry, from the first MiB on. */
static void test_first(void)
{
    Bed *b = managed_bed(2);

    bed_set64(b, UB_DECODER_MATT_BA, BED_L0 | 1ull << 40);
    g_assert_cmphex(bed_get(b, UB_DECODER_MATT_BA), ==, 0);
    g_assert_cmphex(bed_get(b, UB_DECODER_MATT_BA + 1), ==, 0);
    put_entry(b, 0, 0, 0, 1, PAIR_UBA);
    put_le64(memory(b, 1), 77);
    g_assert_cmphex(bed_load(b, 0, 8), ==, 77);
    put(b, place(0, 0), 0);
    g_assert_cmphex(bed_load(b, 0, 8), ==, UINT64_MAX);
    bed_free(b);
}

/* The option of §9.5: UBA_BASE + PA[34:0]. */
static void test_literal(void)
{
    UbLdsConfig cfg;
    UbLdsRoute route;
    Bed *b;

    bed_config(&cfg);
    cfg.managed = cfg.uba_literal = true;
    b = bed_new_with(&cfg, pair_new(2, NULL), ROW_CTP);
    put_entry(b, 0, 0x8005, 0x8006, 1, 0x1000000);
    bed_set64(b, UB_DECODER_MMIO_BA, BED_BASE - (0x8006ull << 20));
    ub_lds_route(b->l, 0x18, &route);
    g_assert_cmphex(route.event, ==, 0);
    g_assert_cmphex(route.uba, ==, 0x1000000 + 6 * MIB + 0x18);
    bed_free(b);
}

/* What no entry may say ends accesses, and is told. */
static void test_entries(void)
{
    static const struct {
        unsigned dw;
        uint32_t value, event;
    } bad[] = {
        { 0, UB_LDS_TYPE_TABLE, UB_LDS_EVENT_ENTRY },
        { 0, UB_LDS_TYPE_PAGE, UB_LDS_EVENT_ENTRY },
        { 2, FIRST + 2, UB_LDS_EVENT_RANGE },           /* ends before it begins */
        { 3, FIRST - 1, UB_LDS_EVENT_RANGE },
        { 6, 0, UB_LDS_EVENT_ENTRY },                   /* nobody's CNA */
        { 6, 0xffffff, UB_LDS_EVENT_ENTRY },            /* nobody can go there */
        { 7, 3u << 20, UB_LDS_EVENT_ENTRY },            /* order */
        { 7, 2u << 30, UB_LDS_EVENT_ENTRY },            /* EE_bits */
        { 7, 3u << 30, UB_LDS_EVENT_ENTRY },            /* no TEE here */
        { 14, PAIR_UPI ^ 1, UB_LDS_EVENT_ENTRY },       /* another partition */
    };
    Bed *b = managed_bed(2);

    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        put_entry(b, 0, FIRST, FIRST, 1, PAIR_UBA);
        g_assert_cmphex(bed_load(b, AT, 8), !=, UINT64_MAX);
        put(b, UB_LDS_MATT_ENTRY(0) + bad[i].dw, bad[i].value);
        g_assert_cmphex(bed_load(b, AT, 8), ==, UINT64_MAX);
        bed_event_is(b, i, bad[i].event, AT, false, 0);
    }
    bed_free(b);
}

/* The UBFM's slice is marked as its own, its tokens as not for others; the registers of
 * the driver's table are not there. */
static void test_registers(void)
{
    Bed *b = managed_bed(2);
    uint32_t writes = ub_lds_counter(b->l, UB_LDS_TABLE_WRITES_COUNT);
    Bed *other;

    g_assert_cmphex(ub_space_read(b->space, matt_dw(0)), ==, UB_LDS_MATT_USED << 4);
    g_assert_cmpuint(ub_space_read(b->space, matt_dw(UB_LDS_MATT_SIZE)), ==,
                     UB_LDS_MATT_ENTRIES);
    g_assert_cmphex(ub_space_read(b->space, UB_CFG1_BASE + UB_CFG1_CAP_BITMAP +
                                  UB_LDS_MATT_CAP / 32) >> UB_LDS_MATT_CAP % 32 & 1,
                    ==, 1);
    bed_set64(b, UB_DECODER_MATT_BA, UINT64_MAX);
    g_assert_cmphex(bed_get(b, UB_DECODER_MATT_BA), ==, 0);
    g_assert_cmphex(bed_get(b, UB_DECODER_MATT_BA + 1), ==, 0);
    for (unsigned dw = 0; dw < UB_LDS_MATT_USED; dw++) {
        bool token = dw >= UB_LDS_MATT_ENTRY(0) && dw % 16 == TOKEN_DWORD;

        g_assert_true(ub_space_managed(b->space, matt_dw(dw)));
        g_assert_cmphex(ub_space_hidden(b->space, matt_dw(dw)), ==,
                        token ? ~0u : 0);
    }
    g_assert_false(ub_space_managed(b->space, matt_dw(UB_LDS_MATT_USED)));
    g_assert_false(ub_space_managed(b->space, bed_dw(UB_DECODER_CTRL)));
    g_assert_cmphex(ub_space_hidden(b->space, bed_dw(UB_DECODER_CTRL)), ==, 0);
    /* What is reserved of an entry. */
    for (unsigned k = 0; k < 16; k++) {
        static const uint32_t left[16] = {
            0x103, 0, 0xffffff, 0xffffff, 0xfffff000, ~0u, 0xffffff, 0xc0300000,
            ~0u, ~0u, ~0u, ~0u, 0xfffff, ~0u, 0xffff, 0,
        };
        uint32_t at = matt_dw(UB_LDS_MATT_ENTRY(63) + k);

        g_assert_true(ub_space_write(b->space, 0, at, ~0u, 15) == !!left[k]);
        g_assert_cmphex(ub_space_read(b->space, at), ==, left[k]);
        writes += !!left[k];
    }
    bed_count(b, UB_LDS_TABLE_WRITES_COUNT, writes);
    /* Reset. */
    ub_space_reset(b->space, UB_SPACE_RESET_DEVICE, 0);
    ub_lds_reset(b->l, b->p->now);
    g_assert_cmphex(ub_space_read(b->space, matt_dw(UB_LDS_MATT_ENTRY(63))), ==, 0);
    g_assert_cmpuint(ub_space_read(b->space, matt_dw(UB_LDS_MATT_SIZE)), ==,
                     UB_LDS_MATT_ENTRIES);
    bed_free(b);
    /* Where the table is the driver's there is none of this. */
    other = bed_new(ROW_CTP);
    g_assert_cmphex(ub_space_read(other->space, matt_dw(0)), ==, 0);
    g_assert_false(ub_space_managed(other->space, matt_dw(0)));
    g_assert_cmphex(bed_get(other, UB_DECODER_MATT_BA), ==, BED_L0);
    bed_free(other);
}

/* What is under way by an entry that changes ends, and nothing of it goes to whom the
 * entry names now; what is under way by others goes on. */
static void test_changed(void)
{
    Bed *b = managed_bed(3);
    UbLdsWait w = { 0 }, v = { 0 };
    uint64_t value;

    put_entry(b, 0, FIRST, FIRST, 1, PAIR_UBA);
    put_entry(b, 1, FIRST + 1, FIRST + 1, 1, PAIR_UBA);
    put_le64(memory(b, 1) + 64, 0x77);
    put_le64(memory(b, 2) + 64, 0x88);
    b->p->filter = bed_lose_all;
    bed_store(b, AT + 8, 8, 6);             /* by entry 0, posted */
    bed_run(b, 2 * b->cfg.combine);
    g_assert_false(ub_lds_load(b->l, b->p->now, AT + 64, 8, &w, &value));
    g_assert_false(ub_lds_load(b->l, b->p->now, AT + MIB + 64, 8, &v, &value));
    bed_store(b, AT + 0x1000, 8, 7);        /* by entry 0, not yet gone */
    put_entry(b, 0, FIRST, FIRST, 2, PAIR_UBA);
    bed_turn(b);
    g_assert_true(w.ended);
    g_assert_cmphex(w.value, ==, UINT64_MAX);
    g_assert_false(v.ended);
    bed_count(b, UB_LDS_STOPPED_COUNT, 3);
    b->p->filter = NULL;
    bed_wait(b, &v);
    g_assert_cmphex(v.value, ==, 0x77);
    g_assert_cmphex(bed_load(b, AT + 64, 8), ==, 0x88);
    g_assert_cmphex(bed_fence(b), ==, 2);   /* stores that failed */
    g_assert_cmphex(get_le64(memory(b, 2) + 8), ==, 0);
    g_assert_cmphex(get_le64(memory(b, 1) + 0x1000), ==, 0);
    g_assert_cmphex(get_le64(memory(b, 2) + 0x1000), ==, 0);
    /* The same without a turn between: who comes first after the change sees to it. */
    bed_store(b, AT + 0x1000, 8, 9);
    put_entry(b, 0, FIRST, FIRST, 1, PAIR_UBA);
    g_assert_cmphex(bed_load(b, AT + 64, 8), ==, 0x77);
    bed_run(b, 2 * b->cfg.combine);
    g_assert_cmphex(get_le64(memory(b, 1) + 0x1000), ==, 0);
    g_assert_cmphex(get_le64(memory(b, 2) + 0x1000), ==, 0);
    bed_count(b, UB_LDS_STOPPED_COUNT, 4);
    bed_free(b);
}

/* A store under way arrives from where its device has moved to, by a row made anew; by an
 * entry that is no more, it fails. */
static void test_migrate(void)
{
    for (unsigned i = 0; i < 4; i++) {
        const unsigned gone = i % 2, n = i < 2 ? 5 : 0;
        Bed *b = managed_bed(2);
        size_t len, ta_len;
        g_autofree uint8_t *data = NULL, *ta = NULL;

        put_entry(b, n, FIRST, FIRST, 1, PAIR_UBA);
        bed_store(b, AT + 8, 8, 0x55aa);
        data = bed_save(b, &len);
        ta = pair_save(b->p, 0, &ta_len);
        if (gone) {
            put(b, UB_LDS_MATT_ENTRY(n), 0);
        }
        g_assert_cmpstr(bed_restore(b, data, len), ==, NULL);
        g_assert_cmpstr(pair_load(b->p, 0, ta, ta_len), ==, NULL);
        ub_lds_bind(b->l, b->p->end[0].ta);
        g_assert_null(ub_ta_dest(b->p->end[0].ta, UB_TA_DESTS + UB_TA_LDS_DESTS + n));
        g_assert_cmpstr(ub_lds_loaded(b->l), ==, NULL);
        g_assert_true((ub_ta_dest(b->p->end[0].ta, UB_TA_DESTS + UB_TA_LDS_DESTS + n) ==
                       NULL) == !!gone);
        bed_run(b, 4 * BED_TIMEOUT);
        g_assert_cmphex(bed_fence(b), ==, gone);
        g_assert_cmphex(get_le64(memory(b, 1) + 8), ==, gone ? 0 : 0x55aa);
        bed_free(b);
    }
}

/* A reset of Entity 0 empties the table, and what is under way by it ends. */
static void test_elr(void)
{
    Bed *b = managed_bed(2);
    UbLdsWait w = { 0 };
    uint64_t value;

    put_entry(b, 3, FIRST, FIRST, 1, PAIR_UBA);
    g_assert_cmphex(bed_load(b, AT, 8), !=, UINT64_MAX);
    b->p->filter = bed_lose_all;
    g_assert_false(ub_lds_load(b->l, b->p->now, AT + 64, 8, &w, &value));
    bed_store(b, AT + 0x1000, 8, 7);        /* not yet gone */
    bed_turn(b);
    ub_space_reset(b->space, UB_SPACE_RESET_ENTITY, 0);
    ub_lds_reset_entity(b->l);
    g_assert_true(b->kicked);
    bed_turn(b);
    g_assert_true(w.ended);
    g_assert_cmphex(w.value, ==, UINT64_MAX);
    bed_count(b, UB_LDS_STOPPED_COUNT, 2);
    b->p->filter = NULL;
    bed_run(b, 4 * BED_TIMEOUT);
    g_assert_cmphex(get_le64(memory(b, 1) + 0x1000), ==, 0);
    g_assert_cmphex(bed_fence(b), ==, 1);
    bed_enable(b);
    g_assert_cmphex(bed_load(b, AT + 64, 8), ==, UINT64_MAX);
    bed_event_is(b, 0, UB_LDS_EVENT_RANGE, AT + 64, false, 0);
    bed_free(b);
}

/* The words of entry @n as a migration stream loads them, past all rules of writes. */
static uint32_t *words(Bed *b, unsigned n)
{
    const uint32_t mark = 0x5ca1ab1e;
    uint32_t *w = ub_space_state(b->space);
    unsigned i = 0;

    put(b, place(n, 4), mark);
    while (w[i] != mark) {
        g_assert_cmpuint(++i, <, ub_space_state_words(b->space));
    }
    return w + i - 8;
}

/* What is reserved in an entry is nothing, whatever a stream says. */
static void test_stream(void)
{
    Bed *b = managed_bed(2);
    uint32_t *w, is[16];
    UbLdsMap map;

    w = words(b, 0);
    put_entry(b, 0, FIRST, FIRST, 1, PAIR_UBA);
    memcpy(is, w, sizeof(is));
    for (unsigned k = 0; k < 16; k++) {
        static const uint32_t more[16] = {
            0xfffffefc, ~0u, 0xff000000, 0xff000000, 0xfff, 0, 0xff000000, 0x3fcfffff,
            0, 0, 0, 0, 0xfff00000, 0, 0xffff0000, ~0u,
        };

        w[k] = is[k] | more[k];
        ub_lds_reset(b->l, b->p->now);
        put_le64(memory(b, 1) + 8, 0x100 + k);
        g_assert_cmphex(bed_load(b, AT + 8, 8), ==, 0x100 + k);
        w[k] = is[k];
    }
    for (unsigned k = 0; k < 16; k++) {
        w[k] = ~0u;
    }
    ub_lds_reset(b->l, b->p->now);
    g_assert_cmphex(bed_load(b, AT, 8), ==, UINT64_MAX);
    g_assert_true(ub_lds_map(b->l, 0, &map));
    g_assert_cmphex(map.first, ==, 0xffffff);
    g_assert_cmphex(map.last, ==, 0xffffff);
    g_assert_cmphex(map.cna, ==, 0xffffff);
    g_assert_cmphex(map.uba, ==, 0xfffffffffffff000);
    /* All of the window, and addresses that wrap. */
    w[2] = 0;
    memcpy(w + 6, is + 6, 10 * sizeof(*w));
    for (unsigned i = 0; i < 4; i++) {
        w[0] = i;
        ub_lds_reset(b->l, b->p->now);
        g_assert_cmphex(bed_load(b, AT, 8), ==, UINT64_MAX);
        bed_event_is(b, 1 + i, i == UB_LDS_TYPE_RANGE ? UB_LDS_EVENT_REMOTE :
                     i ? UB_LDS_EVENT_ENTRY : UB_LDS_EVENT_RANGE, AT, false,
                     i == UB_LDS_TYPE_RANGE ? UB_TAS_ABORT : 0);
    }
    bed_free(b);
}

/* An access by a row of the driver's is no access of such a device. */
static void test_images(void)
{
    Bed *from = bed_new(ROW_CTP), *to = managed_bed(2);
    size_t len;
    g_autofree uint8_t *data = NULL;

    bed_store(from, AT + 8, 8, 1);
    data = bed_save(from, &len);
    g_assert_cmpstr(bed_restore(to, data, len), ==, NULL);
    g_assert_cmpstr(ub_lds_loaded(to->l), ==,
                    "access to a destination that does not exist");
    ub_lds_reset(to->l, to->p->now);
    bed_free(from);
    bed_free(to);
}

/* The way to a peer is as it is now, whatever of it has changed. */
static void test_ways(void)
{
    Bed *b = managed_bed(2);
    UbTa *ta = b->p->end[0].ta;
    const uint32_t row = UB_TA_DESTS + UB_TA_LDS_DESTS + 3;
    UbTaDest first;

    put_entry(b, 3, FIRST, FIRST, 1, PAIR_UBA);
    g_assert_cmphex(bed_load(b, AT, 8), ==, 0);
    first = *ub_ta_dest(ta, row);
    for (unsigned i = 0; i < 7; i++) {
        UbTaDest other = first;
        const UbTaDest *is;

        other.tp.flow.cfg = i == 0 ? UB_LPH_CNA24 : first.tp.flow.cfg;
        other.tp.flow.scna ^= i == 1;
        other.tp.flow.dcna ^= i == 2;
        other.sec.form = i == 3 ? UB_SEC_WIDE : first.sec.form;
        other.sec.upi ^= i == 4;
        other.sec.seid.b[15] ^= i == 5;
        other.sec.deid.b[15] ^= i == 6;
        b->way = &other;
        bed_store(b, AT, 8, i);
        is = ub_ta_dest(ta, row);
        g_assert_cmpuint(is->tp.flow.cfg, ==, other.tp.flow.cfg);
        g_assert_cmpuint(is->tp.flow.scna, ==, other.tp.flow.scna);
        g_assert_cmpuint(is->tp.flow.dcna, ==, other.tp.flow.dcna);
        g_assert_cmpuint(is->sec.form, ==, other.sec.form);
        g_assert_cmpuint(is->sec.upi, ==, other.sec.upi);
        g_assert_true(ub_eid_same(&is->sec.seid, &other.sec.seid));
        g_assert_true(ub_eid_same(&is->sec.deid, &other.sec.deid));
        b->way = NULL;
        ub_lds_reset(b->l, b->p->now);
        ub_ta_reset(ta);
        g_assert_cmphex(bed_load(b, AT, 8), ==, 0);
    }
    bed_free(b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/lds/matt/walk", test_walk);
    g_test_add_func("/lds/matt/first", test_first);
    g_test_add_func("/lds/matt/literal", test_literal);
    g_test_add_func("/lds/matt/entries", test_entries);
    g_test_add_func("/lds/matt/registers", test_registers);
    g_test_add_func("/lds/matt/changed", test_changed);
    g_test_add_func("/lds/matt/migrate", test_migrate);
    g_test_add_func("/lds/matt/elr", test_elr);
    g_test_add_func("/lds/matt/stream", test_stream);
    g_test_add_func("/lds/matt/images", test_images);
    g_test_add_func("/lds/matt/ways", test_ways);
    return g_test_run();
}
