/*
 * CIP: images, with keys and without (UB 2.0 §11.5).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <glib.h>
#include <string.h>

#include "cip-bed.h"

static uint8_t *save(UbSec *sec, size_t *len)
{
    CoreImage *im = core_image_save(0);
    uint8_t *data;

    ub_sec_image(sec, im);
    data = core_image_take(im, len);
    core_image_free(im);
    return data;
}

static const char *load(UbSec *sec, const uint8_t *data, size_t len)
{
    CoreImage *im = core_image_load(data, len, 0);
    const char *why;

    ub_sec_image(sec, im);
    why = core_image_done(im);
    core_image_free(im);
    return why;
}

static bool contains(const uint8_t *data, size_t len, const uint8_t *what,
                     size_t n)
{
    return memmem(data, len, what, n);
}

static UbSec *make_other(const World *w)
{
    UbSec *sec = ub_sec_new(true);

    ub_cip_configure(cip_of(sec), &w->cfg);
    return sec;
}

/* Without being asked for, keys stay: who was moved is cold. */
static void test_cold(void)
{
    g_autofree uint8_t *data = NULL;
    CorePacket *late;
    UbCipView view;
    size_t len;
    World w;

    world_up(&w);
    heard(&w, say_sealed(&w));
    late = say_sealed(&w);
    data = save(w.me, &len);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_false(contains(data, len, w.key[i], 8));
    }
    g_assert_false(contains(data, len, w.iv, sizeof(w.iv)));
    ub_sec_free(w.me);
    w.me = make_other(&w);
    g_assert_null(load(w.me, data, len));
    g_assert_cmpuint(ub_cip_mode(cip_of(w.me), ME), ==, UB_CIP_ON);
    g_assert_true(ub_cip_view(cip_of(w.me), ME, POLICY, &view));
    g_assert_cmpint(view.use, ==, -1);
    g_assert_cmpuint(view.policy.peer_policy, ==, POLICY);
    g_assert_cmpuint(view.policy.clear, ==, 1);
    g_assert_true(ub_eid_same(&view.policy.peer, &w.your_eid));
    /* Both ways are refused, and told. */
    dropped(&w, UB_SEC_CIPH, late, UB_SEC_CIP, UB_CIPC_RX_NO_KEY);
    {
        UbSecHead h = { .form = UB_SEC_WIDE, .upi = UPI, .seid = w.my_eid,
                        .deid = w.your_eid };
        CorePacket *pkt = body(&w);

        g_assert_cmpint(ub_sec_push(w.me, &h, pkt), ==, -1);
        core_packet_free(pkt);
    }
    g_assert_cmpuint(count(w.me, UB_CIPC_TX_NO_KEY), ==, 1);
    /* Until there are keys again. */
    w.key[0][9]++;
    w.back[0][9]++;
    put_keys(&w, 0);
    use(&w, 0);
    heard(&w, say_sealed(&w));
    world_free(&w);
}

/* With keys go numbers and window: nothing comes twice. */
static void test_warm(void)
{
    g_autofree uint8_t *data = NULL, *yours = NULL;
    CorePacket *came, *late, *next;
    size_t len, your_len;
    World w;

    world_up(&w);
    w.cfg.migrate = true;
    ub_cip_configure(cip_of(w.you), &w.cfg);
    ub_cip_configure(cip_of(w.me), &w.cfg);
    came = say_sealed(&w);
    late = say_sealed(&w);
    heard(&w, copy(&w, came));
    heard(&w, say_sealed(&w));
    data = save(w.me, &len);
    yours = save(w.you, &your_len);
    g_assert_true(contains(data, len, w.key[1], 32));
    ub_sec_free(w.me);
    ub_sec_free(w.you);
    w.me = make_other(&w);
    w.you = make_other(&w);
    g_assert_null(load(w.me, data, len));
    g_assert_null(load(w.you, yours, your_len));
    next = say_sealed(&w);
    g_assert_cmpuint(get_be32(core_packet_data(next) + 4), ==, 4);
    dropped(&w, UB_SEC_CIPH, came, UB_SEC_CIP, UB_CIPC_RX_REPLAY);
    heard(&w, next);
    heard(&w, late);
    world_free(&w);
}

/* The two ends of a migration have to agree; a stream may hold anything. */
static void test_bad_image(void)
{
    g_autofree uint8_t *data = NULL;
    size_t len;
    World w;

    for (unsigned migrate = 0; migrate < 2; migrate++) {
        UbSec *other;

        world_up(&w);
        w.cfg.migrate = migrate;
        ub_cip_configure(cip_of(w.me), &w.cfg);
        heard(&w, say_sealed(&w));
        g_free(data);
        data = save(w.me, &len);
        w.cfg.migrate = !migrate;
        other = make_other(&w);
        g_assert_nonnull(load(other, data, len));
        g_assert_false(ub_cip_touched(cip_of(other)));
        ub_sec_free(other);
        w.cfg.migrate = migrate;
        w.cfg.window = 128;
        other = make_other(&w);
        g_assert_nonnull(load(other, data, len));
        ub_sec_free(other);
        w.cfg.window = 64;
        w.cfg.icv_last = true;
        other = make_other(&w);
        g_assert_nonnull(load(other, data, len));
        g_assert_false(ub_cip_touched(cip_of(other)));
        ub_sec_free(other);
        w.cfg.icv_last = false;
        w.cfg.sn_last--;
        other = make_other(&w);
        g_assert_nonnull(load(other, data, len));
        ub_sec_free(other);
        w.cfg.sn_last++;
        other = make_other(&w);
        g_assert_null(load(other, data, len));
        ub_sec_free(other);
        for (size_t i = 0; i < len; i++) {
            static const uint8_t flips[] = { 0x01, 0x80, 0xff };

            for (unsigned f = 0; f < G_N_ELEMENTS(flips); f++) {
                data[i] ^= flips[f];
                other = make_other(&w);
                if (load(other, data, len)) {
                    g_assert_false(ub_cip_touched(cip_of(other)));
                }
                data[i] ^= flips[f];
                ub_sec_free(other);
            }
        }
        for (size_t n = 0; n < len; n += 7) {
            other = make_other(&w);
            g_assert_nonnull(load(other, data, n));
            ub_sec_free(other);
        }
        world_free(&w);
    }
}

/* Each policy goes, by its number; none of them sends by anything then. */
static void test_each(void)
{
    g_autofree uint8_t *data = NULL;
    UbCipView view;
    size_t len;
    World w;

    world_init(&w);
    for (unsigned i = 0; i < UB_CIP_POLICIES; i++) {
        w.policy.clear = i % (UB_CIP_CLEAR_MAX + 1);
        w.policy.peer_policy = 100 + i;
        g_assert_cmpint(ub_cip_set_policy(cip_of(w.me), ME, i, &w.policy), ==,
                        UB_CIP_OK);
    }
    data = save(w.me, &len);
    ub_sec_free(w.me);
    w.me = make_other(&w);
    g_assert_null(load(w.me, data, len));
    for (unsigned i = 0; i < UB_CIP_POLICIES; i++) {
        g_assert_true(ub_cip_view(cip_of(w.me), ME, i, &view));
        g_assert_cmpint(view.use, ==, -1);
        g_assert_cmpuint(view.policy.clear, ==, i % (UB_CIP_CLEAR_MAX + 1));
        g_assert_cmpuint(view.policy.peer_policy, ==, 100 + i);
    }
    world_free(&w);
}

/* An image of one key, which has come to @sn. */
static uint8_t *write_key(const World *w, UbCipWay way, uint64_t sn, size_t *len)
{
    CoreImage *im = core_image_save(0);
    bool yes = true, no = false;
    uint8_t index = ME, suite = UB_CIP_AES_256_GCM, clear = 0, *data;
    uint32_t one = 1, peer_policy = 0;
    unsigned mode = UB_CIP_ON;
    uint64_t map = 0;
    int8_t use = -1;
    UbEid peer = w->your_eid;
    uint8_t key[UB_CIP_KEY_MAX] = { 1 }, iv[UB_CIP_IV_LEN] = { 2 };

    core_image_begin(im, UB_CIP_TAG, 2);
    core_image_same(im, w->cfg.migrate, "");
    core_image_same(im, w->cfg.window, "");
    core_image_same(im, w->cfg.icv_last, "");
    core_image_same(im, w->cfg.sn_last, "");
    core_image_count(im, &one, 1, "");
    core_image_int(im, &index);
    core_image_int(im, &mode);
    for (unsigned i = 0; i < UB_CIP_POLICIES; i++) {
        core_image_flag(im, i ? &no : &yes);
        if (i) {
            continue;
        }
        core_image_bytes(im, &peer, sizeof(peer));
        core_image_int(im, &peer_policy);
        core_image_int(im, &suite);
        core_image_flag(im, &no);
        core_image_int(im, &clear);
        core_image_int(im, &use);
        for (unsigned k = 0; k < UB_CIP_WAYS * UB_CIP_SLOTS; k++) {
            core_image_flag(im, k == way * UB_CIP_SLOTS ? &yes : &no);
            if (k != way * UB_CIP_SLOTS) {
                continue;
            }
            core_image_bytes(im, key, sizeof(key));
            core_image_bytes(im, iv, sizeof(iv));
            core_image_int(im, &sn);
            if (way == UB_CIP_RX) {
                core_image_int(im, &map);
            }
        }
    }
    core_image_end(im);
    data = core_image_take(im, len);
    core_image_free(im);
    return data;
}

/* Numbers of a key: of one to send by the next, which there may be none of any more; of
 * one to open by the highest, which may be none yet. */
static void test_numbers(void)
{
    static const struct {
        uint64_t sn;
        bool good[UB_CIP_WAYS];
    } rows[] = {
        { 0, { [UB_CIP_RX] = true, [UB_CIP_TX] = false } },
        { 1, { true, true } },
        { UINT32_MAX, { true, true } },
        { UINT64_C(1) << 32, { [UB_CIP_RX] = false, [UB_CIP_TX] = true } },
        { (UINT64_C(1) << 32) + 1, { false, false } },
        { UINT64_MAX, { false, false } },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        for (unsigned way = 0; way < UB_CIP_WAYS; way++) {
            g_autofree uint8_t *data = NULL;
            UbCipView view;
            CoreImage *im;
            size_t len;
            World w;

            world_init(&w);
            w.cfg.migrate = true;
            ub_cip_configure(cip_of(w.me), &w.cfg);
            data = write_key(&w, way, rows[i].sn, &len);
            im = core_image_load(data, len, 0);
            ub_cip_image(cip_of(w.me), im);
            g_assert_cmpint(!core_image_done(im), ==, rows[i].good[way]);
            core_image_free(im);
            g_assert_cmpint(ub_cip_touched(cip_of(w.me)), ==, rows[i].good[way]);
            if (rows[i].good[way]) {
                g_assert_true(ub_cip_view(cip_of(w.me), ME, 0, &view));
                g_assert_cmpuint(view.sn[way][0], ==, rows[i].sn);
            }
            world_free(&w);
        }
    }
}

/* Who never had anything to do with CIP has a stream that says nothing of it. */
static void test_untouched(void)
{
    g_autofree uint8_t *data = NULL;
    size_t len;
    World w;

    world_init(&w);
    data = save(w.me, &len);
    g_assert_false(contains(data, len, (const uint8_t *)"CIP ", 4));
    world_free(&w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/cip/cold", test_cold);
    g_test_add_func("/ub/cip/warm", test_warm);
    g_test_add_func("/ub/cip/image-bad", test_bad_image);
    g_test_add_func("/ub/cip/image-each", test_each);
    g_test_add_func("/ub/cip/image-numbers", test_numbers);
    g_test_add_func("/ub/cip/untouched", test_untouched);
    return g_test_run();
}
