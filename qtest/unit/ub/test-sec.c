/*
 * UPIH, EIDH, CIPH: known bytes, whom a packet is for, and who may not enter.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <glib.h>
#include <string.h>

#include "core/bytes.h"
#include "ub/sec.h"

typedef struct World {
    CorePacketPool *pool;
    UbSec *sec;
    UbEid me, you;
} World;

static void world_init(World *w)
{
    w->pool = core_packet_pool_new(128, 0);
    w->sec = ub_sec_new(true);
    for (unsigned i = 0; i < UB_EID_LEN; i++) {
        w->me.b[i] = 0x10 + i;
        w->you.b[i] = 0xa0 + i;
    }
    ub_sec_set_entity(w->sec, 3, &w->me, 0x123456);
}

static void world_free(World *w)
{
    g_assert_cmpuint(core_packet_pool_used(w->pool), ==, 0);
    core_packet_pool_free(w->pool);
    ub_sec_free(w->sec);
}

static CorePacket *bytes(World *w, const char *hex)
{
    uint8_t buf[128];
    uint32_t n = 0;
    CorePacket *pkt;

    for (; *hex; hex++) {
        if (*hex != ' ') {
            buf[n++] = g_ascii_xdigit_value(hex[0]) << 4 |
                       g_ascii_xdigit_value(hex[1]);
            hex++;
        }
    }
    pkt = core_packet_alloc(w->pool, n);
    memcpy(core_packet_data(pkt), buf, n);
    return pkt;
}

static void same(CorePacket *pkt, World *w, const char *hex)
{
    CorePacket *want = bytes(w, hex);

    g_assert_cmpmem(core_packet_data(pkt), pkt->len, core_packet_data(want),
                    want->len);
    core_packet_free(want);
}

#define EID_YOU "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf"
#define EID_ME "101112131415161718191a1b1c1d1e1f"

/* §B.3, §B.4: both forms, there and back. */
static void test_forms(void)
{
    World w;
    CorePacket *pkt;
    UbSecHead h, back;
    unsigned entity;

    world_init(&w);
    h = (UbSecHead) { .form = UB_SEC_WIDE, .upi = 0xff123456, .seid = w.you,
                      .deid = w.me };
    pkt = bytes(&w, "cafe");
    g_assert_cmpint(ub_sec_push(w.sec, &h, pkt), ==, UB_SEC_WIDE);
    same(pkt, &w, "00123456" EID_YOU EID_ME "cafe");
    g_assert_cmpint(ub_sec_pull(w.sec, UB_SEC_WIDE, true, false, pkt, &back,
                                &entity), ==, UB_SEC_GOOD);
    g_assert_cmpuint(entity, ==, 3);
    g_assert_cmpuint(back.upi, ==, 0x123456);
    g_assert_true(ub_eid_same(&back.seid, &w.you));
    g_assert_true(ub_eid_same(&back.deid, &w.me));
    same(pkt, &w, "cafe");
    g_assert_cmpuint(ub_sec_size(&h), ==, 36);

    h.form = UB_SEC_SHORT;
    h.upi = 0x8000 | 0x3456;
    g_assert_cmpint(ub_sec_push(w.sec, &h, pkt), ==, UB_SEC_SHORT);
    same(pkt, &w, "3456 daeafd1e1f cafe");
    g_assert_cmpint(ub_sec_pull(w.sec, UB_SEC_SHORT, true, false, pkt, &back,
                                &entity), ==, UB_SEC_GOOD);
    g_assert_cmpuint(entity, ==, 3);
    g_assert_cmpuint(ub_eid_short(&back.seid), ==, 0xdaeaf);
    g_assert_cmpuint(ub_eid_short(&back.deid), ==, 0xd1e1f);
    g_assert_cmpuint(ub_sec_size(&h), ==, 7);
    ub_sec_reply(&h, &back);
    g_assert_cmpuint(ub_eid_short(&h.deid), ==, 0xdaeaf);
    g_assert_cmpuint(ub_eid_short(&h.seid), ==, 0xd1e1f);
    g_assert_cmpuint(h.upi, ==, 0x3456);

    h.form = UB_SEC_NONE;
    g_assert_cmpint(ub_sec_push(w.sec, &h, pkt), ==, UB_SEC_NONE);
    same(pkt, &w, "cafe");
    core_packet_free(pkt);
    world_free(&w);
}

/* What a packet says of its sender, and nothing beyond its end. */
static void test_peek(void)
{
    static const struct {
        const char *bytes;
        unsigned nlp;
        bool ctp, there, cip;
        uint32_t upi;
    } rows[] = {
        { "3456 daeafd1e1f", UB_SEC_SHORT, true, true, false, 0x3456 },
        { "b456 daeafd1e1f", UB_SEC_SHORT, true, true, false, 0x3456 },
        { "3456 daeafd1e1f", UB_SEC_SHORT, false, false, false, 0 },
        { "3456 daeafd1e", UB_SEC_SHORT, true, false, false, 0 },
        { "ff123456" EID_YOU EID_ME, UB_SEC_WIDE, false, true, false, 0x123456 },
        { "00123456" EID_YOU EID_ME, UB_SEC_WIDE, true, true, false, 0x123456 },
        { "00123456" EID_YOU "1011", UB_SEC_WIDE, true, false, false, 0 },
        { "cafe", UB_SEC_NONE, true, false, false, 0 },
        { "00abcdef 00000001 00123456" EID_YOU EID_ME, UB_SEC_CIPH, false, true,
          true, 0x123456 },
        { "10abcdef 00000001 3456 daeafd1e1f", UB_SEC_CIPH, true, true, true,
          0x3456 },
        { "10abcdef 00000001 3456 daeafd1e1f", UB_SEC_CIPH, false, false, false,
          0 },
        { "20abcdef 00000001 cafe", UB_SEC_CIPH, true, false, false, 0 },
        { "30abcdef 00000001 3456 daeafd1e1f", UB_SEC_CIPH, true, false, false,
          0 },
        { "10abcdef 000000", UB_SEC_CIPH, true, false, false, 0 },
        { "10abcdef 00000001 3456 daeafd1e", UB_SEC_CIPH, true, false, false, 0 },
        { "00abcdef 00000001 00123456" EID_YOU "1011", UB_SEC_CIPH, true, false,
          false, 0 },
        { "3456 daeafd1e1f", 4, true, false, false, 0 },
    };
    World w;

    world_init(&w);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        CorePacket *pkt = bytes(&w, rows[i].bytes);
        g_autofree uint8_t *copy = g_memdup2(core_packet_data(pkt), pkt->len);
        UbSecHead h;

        g_assert_cmpint(ub_sec_peek(rows[i].nlp, rows[i].ctp, copy, pkt->len,
                                    &h), ==, rows[i].there);
        if (rows[i].there) {
            g_assert_cmphex(h.upi, ==, rows[i].upi);
            g_assert_cmpint(h.cip, ==, rows[i].cip);
            g_assert_cmphex(ub_eid_short(&h.seid), ==, 0xdaeaf);
            g_assert_cmphex(ub_eid_short(&h.deid), ==, 0xd1e1f);
            g_assert_cmpint(h.form == UB_SEC_WIDE && ub_eid_same(&h.seid, &w.you),
                            ==, h.form == UB_SEC_WIDE);
        }
        core_packet_free(pkt);
    }
    world_free(&w);
}

static UbSecFault pull(World *w, unsigned nlp, bool ctp, bool mgmt,
                       const char *hex)
{
    CorePacket *pkt = bytes(w, hex);
    UbSecHead h;
    unsigned entity;
    UbSecFault fault = ub_sec_pull(w->sec, nlp, ctp, mgmt, pkt, &h, &entity);

    core_packet_free(pkt);
    return fault;
}

/* §10.3.2, §11.3.1: partitions, the UBFM, Entities. */
static void test_rules(void)
{
    World w;
    UbEid zero = { 0 };

    world_init(&w);
    g_assert_cmpint(pull(&w, UB_SEC_SHORT, true, false, "3456 daeafd1e1f"),
                    ==, UB_SEC_GOOD);
    g_assert_cmpint(pull(&w, UB_SEC_SHORT, true, false, "3457 daeafd1e1f"),
                    ==, UB_SEC_UPI);
    g_assert_cmpint(pull(&w, UB_SEC_SHORT, true, false, "3456 daeafd1e1e"),
                    ==, UB_SEC_NO_ENTITY);
    g_assert_cmpint(pull(&w, UB_SEC_SHORT, true, false, "3456 daeafd1e"),
                    ==, UB_SEC_SHORT_PACKET);
    /* Form 2 stands behind a CTPH only; 4 and above are nothing. */
    g_assert_cmpint(pull(&w, UB_SEC_SHORT, false, false, "3456 daeafd1e1f"),
                    ==, UB_SEC_NLP);
    g_assert_cmpint(pull(&w, 4, true, false, "3456 daeafd1e1f"), ==,
                    UB_SEC_NLP);
    g_assert_cmpint(pull(&w, UB_SEC_WIDE, false, false,
                         "00123456" EID_YOU EID_ME), ==, UB_SEC_GOOD);
    g_assert_cmpint(pull(&w, UB_SEC_WIDE, false, false,
                         "00003456" EID_YOU EID_ME), ==, UB_SEC_UPI);
    g_assert_cmpint(pull(&w, UB_SEC_WIDE, false, false,
                         "00123456" EID_YOU EID_YOU), ==, UB_SEC_NO_ENTITY);
    /* The UBFM and answers to it. */
    g_assert_cmpint(pull(&w, UB_SEC_SHORT, true, true, "7fff daeafd1e1f"),
                    ==, UB_SEC_GOOD);
    g_assert_cmpint(pull(&w, UB_SEC_SHORT, true, false, "7fff daeafd1e1f"),
                    ==, UB_SEC_GOOD);
    g_assert_cmpint(pull(&w, UB_SEC_SHORT, true, true, "3456 daeafd1e1f"),
                    ==, UB_SEC_MANAGER);
    /* UPI 0: nothing, even if both have it. */
    ub_sec_set_entity(w.sec, 3, &w.me, 0);
    g_assert_cmpint(pull(&w, UB_SEC_SHORT, true, false, "0000 daeafd1e1f"),
                    ==, UB_SEC_UPI);
    /* The short EID 0 names nobody. */
    ub_sec_set_entity(w.sec, 4, &zero, 5);
    g_assert_cmpint(pull(&w, UB_SEC_SHORT, true, false, "0005 daeaf00000"),
                    ==, UB_SEC_NO_ENTITY);
    ub_sec_set_entity(w.sec, 3, NULL, 0);
    g_assert_null(ub_sec_entity(w.sec, 3, NULL));
    g_assert_cmpint(pull(&w, UB_SEC_SHORT, true, false, "3456 daeafd1e1f"),
                    ==, UB_SEC_NO_ENTITY);
    /* The UBFM reaches Entity 0 of a node that has no EID yet, and nobody else
     * does. */
    g_assert_cmpint(pull(&w, UB_SEC_SHORT, true, true, "7fff daeaf00000"), ==,
                    UB_SEC_GOOD);
    g_assert_cmpint(pull(&w, UB_SEC_SHORT, true, false, "7fff daeaf00000"), ==,
                    UB_SEC_GOOD);
    g_assert_cmpint(pull(&w, UB_SEC_SHORT, true, false, "3456 daeaf00000"), ==,
                    UB_SEC_NO_ENTITY);
    /* No headers at all. */
    g_assert_cmpint(pull(&w, UB_SEC_NONE, false, false, ""), ==, UB_SEC_GOOD);
    g_assert_cmpint(pull(&w, UB_SEC_NONE, false, true, ""), ==,
                    UB_SEC_MANAGER);
    world_free(&w);
    w.sec = ub_sec_new(false);
    w.pool = core_packet_pool_new(128, 0);
    g_assert_cmpint(pull(&w, UB_SEC_NONE, false, false, ""), ==,
                    UB_SEC_NO_ENTITY);
    for (unsigned i = 0; i < UB_SEC_FAULTS; i++) {
        g_assert_nonnull(ub_sec_fault_name(i));
    }
    world_free(&w);
}

/* A toy cipher: inverts, and appends the sum as its integrity value. */
/* §11.5.2.3, §11.5.2.5: what a CIPH must be where CIP is off; test-cip has the
 * rest. */
static void test_ciph(void)
{
    World w;

    world_init(&w);
    g_assert_cmpint(pull(&w, UB_SEC_CIPH, true, false, "20000000 00000000"),
                    ==, UB_SEC_CIP_OFF);
    for (unsigned nlp = 3; nlp < 16; nlp++) {
        g_autofree char *head = g_strdup_printf("%x0000000 00000000", nlp);

        g_assert_cmpint(pull(&w, UB_SEC_CIPH, true, false, head), ==,
                        UB_SEC_NLP);
    }
    g_assert_cmpint(pull(&w, UB_SEC_CIPH, true, false, "20000000 000000"),
                    ==, UB_SEC_SHORT_PACKET);
    /* The short form is of CTP alone (§6.2.4), behind a CIPH too. */
    g_assert_cmpint(pull(&w, UB_SEC_CIPH, false, false,
                         "10000000 00000000 3456 daeafd1e1f"), ==, UB_SEC_NLP);
    g_assert_cmpint(pull(&w, UB_SEC_CIPH, true, false,
                         "10000000 00000000 3456 daeafd1e"), ==,
                    UB_SEC_SHORT_PACKET);
    /* The partition comes first (§11.5.2.4). */
    g_assert_cmpint(pull(&w, UB_SEC_CIPH, true, false,
                         "10000000 00000000 3457 daeafd1e1f"), ==, UB_SEC_UPI);
    g_assert_cmpint(pull(&w, UB_SEC_CIPH, true, false,
                         "10000000 00000000 3456 daeafd1e1f"), ==,
                    UB_SEC_CIP_OFF);
    world_free(&w);
}

/* What a header must not do that another one may. */
static void test_borders(void)
{
    UbSecHead h = { .form = UB_SEC_CIPH }, tx, back;
    unsigned entity = 9;
    CorePacket *pkt;
    UbEid near, zero = { 0 };
    uint32_t upi;
    World w;

    world_init(&w);
    /* A form that there is not. */
    pkt = bytes(&w, "cafe");
    g_assert_cmpint(ub_sec_push(w.sec, &h, pkt), ==, -1);
    core_packet_free(pkt);
    /* No room in front. */
    for (unsigned room = 0; room < UB_UPIH16_LEN + UB_EIDH40_LEN; room++) {
        pkt = bytes(&w, "cafe");
        g_assert_nonnull(core_packet_push(pkt, pkt->off - room));
        h = (UbSecHead) { .form = UB_SEC_SHORT };
        g_assert_cmpint(ub_sec_push(w.sec, &h, pkt), ==, -1);
        core_packet_free(pkt);
    }

    /* The short form has 15 bits of an Entity's UPI. */
    ub_sec_set_entity(w.sec, 3, &w.me, 0x12b456);
    g_assert_cmpint(pull(&w, UB_SEC_SHORT, true, false, "3456 daeafd1e1f"), ==,
                    UB_SEC_GOOD);
    ub_sec_set_entity(w.sec, 3, &w.me, 0x123456);
    /* Every bit of a UPI, and no more. */
    ub_sec_set_entity(w.sec, 3, &w.me, 0xffffffff);
    g_assert_nonnull(ub_sec_entity(w.sec, 3, &upi));
    g_assert_cmphex(upi, ==, 0xffffff);
    h = (UbSecHead) { .form = UB_SEC_WIDE, .upi = 0xffffffff, .seid = w.you,
                      .deid = w.me };
    pkt = bytes(&w, "");
    g_assert_cmpint(ub_sec_push(w.sec, &h, pkt), ==, UB_SEC_WIDE);
    same(pkt, &w, "00ffffff" EID_YOU EID_ME);
    core_packet_free(pkt);
    h.form = UB_SEC_SHORT;
    pkt = bytes(&w, "");
    g_assert_cmpint(ub_sec_push(w.sec, &h, pkt), ==, UB_SEC_SHORT);
    same(pkt, &w, "7fff daeafd1e1f");
    core_packet_free(pkt);
    ub_sec_set_entity(w.sec, 3, &w.me, 0x123456);
    /* Reserved bits beside the UPI are ignored. */
    g_assert_cmpint(pull(&w, UB_SEC_WIDE, false, false,
                         "ff123456" EID_YOU EID_ME), ==, UB_SEC_GOOD);
    g_assert_cmpint(pull(&w, UB_SEC_SHORT, true, false, "b456 daeafd1e1f"), ==,
                    UB_SEC_GOOD);
    /* 20 bits in common are not enough for the wide form. */
    near = w.me;
    near.b[0]++;
    ub_sec_set_entity(w.sec, 3, &near, 0x123456);
    g_assert_cmpint(pull(&w, UB_SEC_WIDE, false, false,
                         "00123456" EID_YOU EID_ME), ==, UB_SEC_NO_ENTITY);
    g_assert_cmpint(pull(&w, UB_SEC_SHORT, true, false, "3456 daeafd1e1f"), ==,
                    UB_SEC_GOOD);
    /* The UBFM speaks in the short form only (§10.3.2). */
    ub_sec_set_entity(w.sec, 3, &w.me, 0x123456);
    g_assert_cmpint(pull(&w, UB_SEC_WIDE, true, true,
                         "00007fff" EID_YOU EID_ME), ==, UB_SEC_MANAGER);
    g_assert_cmpint(pull(&w, UB_SEC_WIDE, true, false,
                         "00007fff" EID_YOU EID_ME), ==, UB_SEC_UPI);
    g_assert_cmpint(pull(&w, UB_SEC_WIDE, true, true,
                         "00007fff" EID_YOU "00000000000000000000000000000000"),
                    ==, UB_SEC_NO_ENTITY);
    /* The first and the last Entity; Mgmt is told, and an answer has none. */
    ub_sec_set_entity(w.sec, 0, &zero, 1);
    ub_sec_set_entity(w.sec, 3, NULL, 0);
    ub_sec_set_entity(w.sec, UB_SEC_ENTITIES - 1, &w.me, 0x123456);
    pkt = bytes(&w, "7fff daeafd1e1f");
    g_assert_cmpint(ub_sec_pull(w.sec, UB_SEC_SHORT, true, true, pkt, &back,
                                &entity), ==, UB_SEC_GOOD);
    g_assert_cmpuint(entity, ==, UB_SEC_ENTITIES - 1);
    g_assert_true(back.mgmt);
    g_assert_cmpint(back.form, ==, UB_SEC_SHORT);
    core_packet_free(pkt);
    back.sn = 7;
    back.cip_id = 8;
    back.cip = true;
    ub_sec_reply(&tx, &back);
    g_assert_false(tx.mgmt || tx.cip);
    g_assert_cmpuint(tx.sn + tx.cip_id, ==, 0);
    pkt = bytes(&w, "7fff daeaf00000");
    g_assert_cmpint(ub_sec_pull(w.sec, UB_SEC_SHORT, true, true, pkt, &back,
                                &entity), ==, UB_SEC_GOOD);
    g_assert_cmpuint(entity, ==, 0);
    core_packet_free(pkt);
    /* No Entity: the number is 0 all the same. */
    entity = 9;
    pkt = bytes(&w, "3456 daeafd1e1e");
    g_assert_cmpint(ub_sec_pull(w.sec, UB_SEC_SHORT, true, false, pkt, &back,
                                &entity), ==, UB_SEC_NO_ENTITY);
    g_assert_cmpuint(entity, ==, 0);
    core_packet_free(pkt);
    g_assert_null(ub_sec_fault_name(UB_SEC_FAULTS));
    world_free(&w);
}

/* A UPI of an image that no register could hold. */
static void test_bad_image(void)
{
    static const uint8_t upi[] = { 0x00, 0x12, 0x34, 0x56 };
    UbSec *other = ub_sec_new(true);
    CoreImage *im = core_image_save(0);
    g_autofree uint8_t *data = NULL;
    size_t len;
    uint8_t *at;
    World w;

    world_init(&w);
    ub_sec_image(w.sec, im);
    data = core_image_take(im, &len);
    core_image_free(im);
    at = memmem(data, len, upi, sizeof(upi));
    g_assert_nonnull(at);
    at[0] = 1;
    im = core_image_load(data, len, 0);
    ub_sec_image(other, im);
    g_assert_cmpstr(core_image_done(im), ==,
                    "a UPI of the image is wider than 24 bits");
    core_image_free(im);
    ub_sec_free(other);
    world_free(&w);
}

/* What goes as a bus instance, or under guard as an Entity, is of who is there. */
static void test_senders(void)
{
    static const struct {
        unsigned form;
        uint32_t upi;
        int way;            /* without and with guard: of Entity 3, of the instance */
    } rows[] = {
        { UB_SEC_WIDE, 0x123456, 3 }, { UB_SEC_WIDE, 0x123457, 1 },
        { UB_SEC_SHORT, 0x3456, 3 }, { UB_SEC_SHORT, 0x3457, 1 },
        { UB_SEC_NONE, 0, 3 }, { UB_SEC_SHORT, UB_UPI_MANAGER, 3 },
    };
    World w;
    CorePacket *pkt;
    UbSecHead h, back;
    unsigned entity;
    UbEid vm;

    world_init(&w);
    vm = w.you;
    ub_sec_set_entity(w.sec, UB_SEC_INSTANCE(15), &vm, 0x123456);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        for (int guard = 0; guard < 2; guard++) {
            ub_sec_guard(w.sec, guard);
            h = (UbSecHead) { .form = rows[i].form, .upi = rows[i].upi,
                              .seid = w.me, .from = 1 + 3 };
            g_assert_cmpint(ub_sec_may_send(w.sec, &h), ==,
                            rows[i].way >> guard & 1);
            h.from = 0;
            g_assert_true(ub_sec_may_send(w.sec, &h));
            h.seid = vm;
            h.from = 1 + UB_SEC_INSTANCE(15);
            g_assert_cmpint(ub_sec_may_send(w.sec, &h), ==,
                            rows[i].way == 3 && rows[i].form != UB_SEC_NONE);
        }
    }
    ub_sec_guard(w.sec, false);
    /* Nobody of that name is there; and it says nothing but the end of what began. */
    h = (UbSecHead) { .form = UB_SEC_WIDE, .upi = 0x123456, .seid = w.me,
                      .from = 1 + UB_SEC_INSTANCE(15) };
    pkt = bytes(&w, "cafe");
    g_assert_cmpint(ub_sec_push(w.sec, &h, pkt), ==, -1);
    same(pkt, &w, "cafe");
    h.from = 1 + UB_SEC_INSTANCE(14);
    h.seid = vm;
    g_assert_cmpint(ub_sec_push(w.sec, &h, pkt), ==, -1);
    g_assert_cmpint(ub_sec_push_plain(w.sec, &h, pkt), ==, UB_SEC_WIDE);
    core_packet_free(pkt);

    /* What is for it is answered by it, while it is there. */
    for (unsigned form = UB_SEC_WIDE; form <= UB_SEC_SHORT; form++) {
        h = (UbSecHead) { .form = form, .upi = form == UB_SEC_WIDE ? 0x123456 : 0x3456,
                          .seid = w.me, .deid = vm, .from = 1 + 3 };
        pkt = bytes(&w, "cafe");
        g_assert_cmpint(ub_sec_push(w.sec, &h, pkt), ==, form);
        g_assert_cmpint(ub_sec_pull(w.sec, form, true, false, pkt, &back, &entity),
                        ==, UB_SEC_GOOD);
        g_assert_cmpuint(entity, ==, UB_SEC_INSTANCE(15));
        g_assert_cmpuint(back.from, ==, 1 + UB_SEC_INSTANCE(15));
        ub_sec_reply(&h, &back);
        g_assert_true(ub_sec_may_send(w.sec, &h));
        ub_sec_set_entity(w.sec, UB_SEC_INSTANCE(15), &w.me, 0x123456);
        g_assert_false(ub_sec_may_send(w.sec, &h));
        ub_sec_set_entity(w.sec, UB_SEC_INSTANCE(15), &vm, 0);
        g_assert_false(ub_sec_may_send(w.sec, &h));
        ub_sec_set_entity(w.sec, UB_SEC_INSTANCE(15), NULL, 0);
        g_assert_false(ub_sec_may_send(w.sec, &h));
        ub_sec_set_entity(w.sec, UB_SEC_INSTANCE(15), &vm, 0x123456);
        core_packet_free(pkt);
    }
    world_free(&w);
}

/* Before version 2 there were no bus instances. */
static void old_image(UbSec *sec, const uint8_t *data, size_t len)
{
    g_autofree uint8_t *old = g_memdup2(data, len);
    CoreImage *im;

    len -= UB_SEC_INSTANCES * (1 + UB_EID_LEN + 4);
    put_be16(old + 4, 1);
    put_be32(old + 6, len - 10);
    im = core_image_load(old, len, 0);
    ub_sec_image(sec, im);
    g_assert_null(core_image_done(im));
    core_image_free(im);
}

static void test_image(void)
{
    World w;
    UbSec *other = ub_sec_new(true);
    CoreImage *im = core_image_save(0);
    g_autofree uint8_t *data = NULL;
    size_t len;
    uint32_t upi;

    world_init(&w);
    ub_sec_set_entity(w.sec, 0, &w.you, 7);
    ub_sec_set_entity(w.sec, UB_SEC_ENTITIES - 1, &w.you, 0xffffff);
    ub_sec_set_entity(w.sec, UB_SEC_TARGETS - 1, &w.me, 6);
    ub_sec_image(w.sec, im);
    data = core_image_take(im, &len);
    core_image_free(im);
    im = core_image_load(data, len, 0);
    ub_sec_image(other, im);
    g_assert_null(core_image_done(im));
    core_image_free(im);
    g_assert_true(ub_eid_same(ub_sec_entity(other, 3, &upi), &w.me));
    g_assert_cmpuint(upi, ==, 0x123456);
    g_assert_true(ub_eid_same(ub_sec_entity(other, 0, &upi), &w.you));
    g_assert_cmpuint(upi, ==, 7);
    g_assert_nonnull(ub_sec_entity(other, UB_SEC_ENTITIES - 1, &upi));
    g_assert_cmpuint(upi, ==, 0xffffff);
    g_assert_null(ub_sec_entity(other, 2, NULL));
    g_assert_null(ub_sec_entity(other, 3 + UB_SEC_ENTITIES, NULL));
    g_assert_true(ub_eid_same(ub_sec_entity(other, UB_SEC_TARGETS - 1, &upi), &w.me));
    g_assert_cmpuint(upi, ==, 6);
    ub_sec_free(other);
    other = ub_sec_new(true);
    ub_sec_set_entity(other, UB_SEC_TARGETS - 1, &w.me, 6);
    old_image(other, data, len);
    g_assert_nonnull(ub_sec_entity(other, UB_SEC_ENTITIES - 1, NULL));
    g_assert_null(ub_sec_entity(other, UB_SEC_TARGETS - 1, NULL));
    ub_sec_free(other);
    world_free(&w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/sec/forms", test_forms);
    g_test_add_func("/ub/sec/peek", test_peek);
    g_test_add_func("/ub/sec/rules", test_rules);
    g_test_add_func("/ub/sec/ciph", test_ciph);
    g_test_add_func("/ub/sec/borders", test_borders);
    g_test_add_func("/ub/sec/senders", test_senders);
    g_test_add_func("/ub/sec/image", test_image);
    g_test_add_func("/ub/sec/image-bad", test_bad_image);
    return g_test_run();
}
