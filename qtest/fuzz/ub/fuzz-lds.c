/*
 * Fuzzer of loads and stores: accesses to the window, command slots, tables, commands
 * and registers of hostile software, a peer that is late or silent, links that come
 * and go, images.
 *
 * The input is a little program; the window begins with tables that work, or little
 * would be reached: the driver's in memory, or the UBFM's in the device (§10.4.7).  However it ends, everybody who waits is let go, and nothing is
 * under way for longer than an access may take.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

/* There is no test that it could be a message of. */
#undef g_test_message
#define g_test_message(...) ((void)0)
#include "lds-bed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WAITS = 16, STEPS = 256 };

typedef struct Fuzz {
    const uint8_t *p, *end;
    Bed *b;
    UbLdsWait wait[WAITS];
    bool waits[WAITS];
    uint32_t pi;
} Fuzz;

static Fuzz f;
static bool silent, managed;

static uint64_t next(unsigned bytes)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < bytes; i++) {
        v |= (uint64_t)(f.p < f.end ? *f.p++ : 0) << 8 * i;
    }
    return v;
}

static bool heard(Pair *p, Wire *w)
{
    return !silent;
}

/* Where in the window: mostly the peer's memory and the control page. */
static uint64_t place(void)
{
    uint64_t at = next(3);

    switch (next(1) % 4) {
    case 0:
        return BED_CONTROL + at % UB_LDS_CONTROL;
    case 1:
        return at * 64;
    default:
        return 16 * MIB + at % PAIR_MEM;
    }
}

/* One that does not wait now, or nobody who could. */
static UbLdsWait *waiter(unsigned *i)
{
    *i = next(1) % WAITS;
    return f.waits[*i] && !f.wait[*i].ended ? NULL : &f.wait[*i];
}

static void waits(unsigned i, const UbLdsWait *w, bool done)
{
    if (w) {
        f.waits[i] = !done;
    }
}

static void do_load(void)
{
    unsigned i, len = next(1) % 10;
    UbLdsWait *w = waiter(&i);
    uint64_t value;

    waits(i, w, ub_lds_load(f.b->l, f.b->p->now, place(), len, w, &value));
}

static void do_store(void)
{
    unsigned i, len = next(1) % 10;
    UbLdsWait *w = waiter(&i);
    uint64_t at = place();

    waits(i, w, ub_lds_store(f.b->l, f.b->p->now, at, len, next(8), w));
}

/* A command in a slot, all at once. */
static void do_slot(void)
{
    unsigned n = next(1) % 4;
    uint64_t slot = BED_CONTROL + UB_LDS_SLOT(n), value;

    bed_store(f.b, slot + UB_LDS_SLOT_ADDR, 8, place());
    bed_store(f.b, slot + UB_LDS_SLOT_GO, 8, next(3));
    ub_lds_load(f.b->l, f.b->p->now, slot + UB_LDS_SLOT_WAIT, 8, NULL, &value);
}

static uint32_t matt_dw(unsigned n, unsigned dw)
{
    return UB_CFG_CAP(UB_CFG1_BASE, UB_LDS_MATT_CAP) + UB_LDS_MATT_ENTRY(n) + dw;
}

/* Entry @n: @mibs of the window from @first on are the peer's memory. */
static void entry_put(unsigned n, uint32_t first, uint32_t mibs)
{
    const UbEid *deid = &f.b->p->end[1].eid;
    const uint32_t entry[16] = {
        UB_LDS_TYPE_RANGE | UB_LDS_TOKEN_VLD, 0, first, first + mibs,
        PAIR_UBA, 0, 2, 0,
        get_be32(deid->b + 12), get_be32(deid->b + 8), get_be32(deid->b + 4),
        get_be32(deid->b), PAIR_TOKEN_ID, PAIR_TOKEN, PAIR_UPI, 0,
    };

    for (unsigned k = G_N_ELEMENTS(entry); k--;) {
        ub_space_write(f.b->space, f.b->p->now, matt_dw(n, k), entry[k], 15);
    }
}

/* An entry as it was, or anything in it; by a stream, what could not be written. */
static void do_entry(void)
{
    unsigned n = next(1), k = next(1) % 16;

    if (n & 0x80) {
        entry_put(n % UB_LDS_MATT_ENTRIES, 16 - n % 3, n % 4);
    } else {
        ub_space_write(f.b->space, f.b->p->now, matt_dw(n % 4, k), next(4), next(1));
    }
}

static void do_words(void)
{
    uint32_t *w = ub_space_state(f.b->space);

    w[next(2) % ub_space_state_words(f.b->space)] ^= next(4);
}

static void do_table(void)
{
    static const uint32_t tables[] = { BED_L0, BED_L1, BED_CMDQ, BED_EVENTQ };
    uint32_t at;

    if (managed) {
        do_entry();
        return;
    }
    at = tables[next(1) % G_N_ELEMENTS(tables)] + next(2) % 0x8000;
    put_le64(f.b->mem + at, next(8));
}

static void do_register(void)
{
    bed_set(f.b, next(1) % 32, next(4));
}

static void do_command(void)
{
    uint8_t *at = f.b->mem + BED_CMDQ + f.pi % 16 * 16;

    put_le64(at, next(8));
    put_le64(at + 8, next(3));
    f.pi++;
    bed_set(f.b, UB_DECODER_CMDQ_PROD, (f.pi & 31) | (next(1) & 1) << 16);
}

static void do_run(void)
{
    pair_run_for(f.b->p, (int64_t)next(2) * 1000 + 1);
    ub_lds_run(f.b->l, f.b->p->now);
}

static void do_world(void)
{
    unsigned what = next(1);
    UbSegment *s = ub_segments_find(f.b->p->end[1].segments, 0, PAIR_TOKEN_ID,
                                    PAIR_UBA);

    s->pages = what & 1 ? UB_SEGMENT_FAULT : UB_SEGMENT_THERE;
    s->timer = what >> 1 & 7;
    silent = what & 0x10;
    ub_lds_link(f.b->l, f.b->p->now, what >> 5 & 1, what & 0x40);
    ub_lds_pause(f.b->l, f.b->p->now, what & 0x80 && next(1) & 1);
}

static void do_cancel(void)
{
    unsigned i = next(1) % WAITS;

    if (f.waits[i]) {
        ub_lds_cancel(f.b->l, f.b->p->now, &f.wait[i]);
    }
}

static void do_reset(void)
{
    ub_ta_reset(f.b->p->end[0].ta);
    ub_space_reset(f.b->space, UB_SPACE_RESET_DEVICE, f.b->p->now);
    ub_lds_reset(f.b->l, f.b->p->now);
    f.pi = 0;
    bed_enable(f.b);
    if (managed) {
        entry_put(1, 16, 1);
    }
}

/* Of the Entity; the transaction layer goes on. */
static void do_elr(void)
{
    ub_space_reset(f.b->space, UB_SPACE_RESET_ENTITY, 0);
    ub_lds_reset_entity(f.b->l);
    if (next(1) & 1) {
        bed_enable(f.b);
    }
}

/* Saved, changed, loaded: what is left of the transaction layer is nothing. */
static void do_image(void)
{
    CoreImage *im = core_image_save(f.b->p->now);
    g_autofree uint8_t *data = NULL;
    size_t len;

    ub_lds_image(f.b->l, im);
    data = core_image_take(im, &len);
    core_image_free(im);
    for (unsigned n = next(1) % 4; n; n--) {
        data[next(2) % len] ^= next(1);
    }
    ub_ta_reset(f.b->p->end[0].ta);
    for (unsigned n = managed ? next(1) % 4 : 0; n; n--) {
        do_words();
    }
    im = core_image_load(data, next(1) & 1 ? len : len / 2, f.b->p->now);
    ub_lds_image(f.b->l, im);
    if (core_image_done(im) || ub_lds_loaded(f.b->l)) {
        do_reset();
    }
    core_image_free(im);
}

static void step(void)
{
    static void (*const steps[])(void) = {
        do_load, do_store, do_slot, do_table, do_register, do_command, do_run,
        do_world, do_cancel, do_reset, do_image, do_run, do_load, do_store,
        do_slot, do_store,
    };
    unsigned i = next(1);

    if (i == 0xee) {
        do_elr();
    } else {
        steps[i % G_N_ELEMENTS(steps)]();
    }
}

/* Nothing lasts. */
static void end(void)
{
    UbLdsState s;

    ub_lds_pause(f.b->l, f.b->p->now, false);
    for (unsigned i = 0; i < 3; i++) {
        pair_run_for(f.b->p, 2 * BED_TIMEOUT);
        ub_lds_run(f.b->l, f.b->p->now);
    }
    ub_lds_state(f.b->l, &s);
    g_assert_cmpuint(s.under_way, ==, 0);
    ub_lds_cancel_all(f.b->l, f.b->p->now);
    for (unsigned i = 0; i < WAITS; i++) {
        g_assert_true(!f.waits[i] || f.wait[i].ended);
    }
    bed_free(f.b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t rows[] = { ROW_BYPASS, ROW_CTP, ROW_CTP7, ROW_RTP };
    UbLdsConfig cfg;
    unsigned how;

    f = (Fuzz){ .p = data, .end = data + size };
    silent = false;
    how = next(1);
    bed_config(&cfg);
    cfg.managed = managed = how & 0x10;
    cfg.uba_literal = managed && how & 0x20;
    f.b = bed_new_with(&cfg, pair_new(2, NULL), rows[how % G_N_ELEMENTS(rows)]);
    if (managed) {
        entry_put(1, 16, 1);
    }
    f.b->p->filter = heard;
    for (unsigned i = 0; i < STEPS && f.p < f.end; i++) {
        step();
    }
    end();
    return 0;
}
