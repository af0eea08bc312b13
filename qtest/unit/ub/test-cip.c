/*
 * CIP (UB 2.0 §11.5): known answers of the ciphers and of whole packets, what is
 * dropped and why, numbers, keys.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <glib.h>
#include <string.h>

#include "cip-bed.h"

/* ---- the ciphers ---- */

typedef struct Vector {
    UbCipSuite suite;
    const char *key, *iv, *aad, *plain, *cipher, *tag;
} Vector;

#define ZERO32 "00000000000000000000000000000000"
#define MCGREW_KEY "feffe9928665731c6d6a8f9467308308"

static const Vector vectors[] = {
    /* McGrew and Viega, test cases 13, 14 and 16. */
    { UB_CIP_AES_256_GCM, ZERO32 ZERO32, "000000000000000000000000", "", "", "",
      "530f8afbc74536b9a963b4f1c4cb738b" },
    { UB_CIP_AES_256_GCM, ZERO32 ZERO32, "000000000000000000000000", "", ZERO32,
      "cea7403d4d606b6e074ec5d3baf39d18", "d0d1c8a799996bf0265b98b5d48ab919" },
    { UB_CIP_AES_256_GCM, MCGREW_KEY MCGREW_KEY, "cafebabefacedbaddecaf888",
      "feedfacedeadbeeffeedfacedeadbeefabaddad2",
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
      "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
      "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
      "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
      "76fc6ece0f4e1768cddf8853bb2d551b" },
    /* RFC 8998, A.1. */
    { UB_CIP_SM4_128_GCM, "0123456789abcdeffedcba9876543210",
      "00001234567800000000abcd", "feedfacedeadbeeffeedfacedeadbeefabaddad2",
      "aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbccccccccccccccccdddddddddddddddd"
      "eeeeeeeeeeeeeeeeffffffffffffffffeeeeeeeeeeeeeeeeaaaaaaaaaaaaaaaa",
      "17f399f08c67d5ee19d0dc9969c4bb7d5fd46fd3756489069157b282bb200735"
      "d82710ca5c22f0ccfa7cbf93d496ac15a56834cbcf98c397b4024a2691233b8d",
      "83de3541e4c2b58177e065a9bf7b62ec" },
};

static void test_vectors(void)
{
    g_assert_true(gcm_ready());
    g_assert_cmpuint(gcm_key_len(UB_CIP_SUITES), ==, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(vectors); i++) {
        const Vector *v = &vectors[i];
        uint8_t key[32], iv[12], aad[32], plain[64], cipher[64], want[16],
                got[16], data[64];
        size_t aad_len = unhex(v->aad, aad), len = unhex(v->plain, plain);
        Gcm *gcm;

        g_assert_cmpuint(unhex(v->key, key), ==, gcm_key_len(v->suite));
        unhex(v->iv, iv);
        unhex(v->cipher, cipher);
        unhex(v->tag, want);
        gcm = gcm_new(v->suite, key);
        for (unsigned again = 0; again < 2; again++) {
            memcpy(data, plain, len);
            gcm_seal(gcm, iv, aad, aad_len, data, len, got);
            g_assert_cmpmem(data, len, cipher, len);
            g_assert_cmpmem(got, 16, want, 16);
            gcm_open(gcm, iv, aad, aad_len, data, len, got);
            g_assert_cmpmem(data, len, plain, len);
            g_assert_cmpmem(got, 16, want, 16);
        }
        gcm_free(gcm);
    }
    gcm_free(NULL);
}

/* ---- whole packets ---- */

static void same(World *w, CorePacket *pkt, const char *hex)
{
    uint8_t want[256];
    size_t n = unhex(hex, want);

    g_assert_cmpmem(core_packet_data(pkt), pkt->len, want, n);
}

#define EIDS "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf101112131415161718191a1b1c1d1e1f"

/* Made by another library: CIPH, AAD, nonce, what is hidden, ICV. */
static void test_packets(void)
{
    CorePacket *pkt;
    UbSecHead h;
    World w;

    world_up(&w);
    pkt = say_sealed(&w);
    same(&w, pkt, "0000000b00000001 00123456" EIDS "80818283"
         "e18d39b5508654bf1176656978648293 a58cccd059458882406a2929");
    heard(&w, pkt);
    pkt = say_sealed(&w);
    same(&w, pkt, "0000000b00000002 00123456" EIDS "80818283"
         "2f118037722d958a12bb0dbcdbbd6a45 854546fca8c8dff7970f2ade");
    heard(&w, pkt);
    world_free(&w);

    /* SM4, the short form, all of the TAH hidden; slot 0 of policy 3. */
    world_init(&w);
    w.policy.suite = UB_CIP_SM4_128_GCM;
    w.policy.clear = 0;
    ub_cip_set_mode(cip_of(w.you), 0, UB_CIP_ON);
    ub_cip_set_mode(cip_of(w.me), ME, UB_CIP_ON);
    put_policies(&w);
    memcpy(w.key[0], w.key[1], sizeof(w.key[0]));
    w.key[1][0] = 0xaa;
    put_keys(&w, 0);
    use(&w, 0);
    w.policy.peer_policy = 3;
    g_assert_cmpint(ub_cip_set_policy(cip_of(w.you), 0, POLICY, &w.policy), ==,
                    UB_CIP_OK);
    g_assert_cmpint(ub_cip_set_key(cip_of(w.you), 0, POLICY, UB_CIP_RX, 0,
                                   w.key[1], w.iv), ==, UB_CIP_OK);
    g_assert_cmpint(ub_cip_set_key(cip_of(w.you), 0, POLICY, UB_CIP_TX, 0,
                                   w.key[0], w.iv), ==, UB_CIP_OK);
    g_assert_cmpint(ub_cip_use(cip_of(w.you), 0, POLICY, 0), ==, UB_CIP_OK);
    pkt = say(&w, UB_SEC_SHORT, UB_SEC_CIPH);
    same(&w, pkt, "1000000600000001 3456daeafd1e1f"
         "a60e1c0e9b3d88d11f4c36b992596007c46e4186 809a73265796377fd4f63319");
    core_packet_free(pkt);
    world_free(&w);

    /* Without EIDH, nothing hidden, the highest CIP ID of slot 0; the last bytes
     * of the tag. */
    world_init(&w);
    w.cfg.icv_last = true;
    ub_cip_configure(cip_of(w.you), &w.cfg);
    ub_cip_set_mode(cip_of(w.you), 0, UB_CIP_ON);
    w.policy.hide = false;
    w.policy.peer_policy = UB_CIP_PEERS - 1;
    g_assert_cmpint(ub_cip_set_policy(cip_of(w.you), 0, 0, &w.policy), ==,
                    UB_CIP_OK);
    g_assert_cmpint(ub_cip_set_key(cip_of(w.you), 0, 0, UB_CIP_RX, 0, w.key[0],
                                   w.iv), ==, UB_CIP_OK);
    g_assert_cmpint(ub_cip_set_key(cip_of(w.you), 0, 0, UB_CIP_TX, 0, w.key[1],
                                   w.iv), ==, UB_CIP_OK);
    g_assert_cmpint(ub_cip_use(cip_of(w.you), 0, 0, 0), ==, UB_CIP_OK);
    h = head_of(&w, UB_SEC_NONE);
    pkt = body(&w);
    g_assert_cmpint(ub_sec_push(w.you, &h, pkt), ==, UB_SEC_CIPH);
    same(&w, pkt, "20fffffe00000001 808182838485868788898a8b8c8d8e8f90919293"
         "4329287c31af084ac36495c4");
    core_packet_free(pkt);
    world_free(&w);
}

/* Each form, each suite, each amount that stays readable, there and back. */
static void test_forms(void)
{
    for (unsigned suite = 1; suite < UB_CIP_SUITES; suite++) {
        for (unsigned clear = 0; clear <= UB_CIP_CLEAR_MAX; clear++) {
            for (unsigned hide = 0; hide < 2; hide++) {
                CorePacket *pkt;
                unsigned shown;
                World w;

                world_init(&w);
                w.policy.suite = suite;
                w.policy.clear = clear;
                w.policy.hide = hide;
                ub_cip_set_mode(cip_of(w.you), 0, UB_CIP_ON);
                ub_cip_set_mode(cip_of(w.me), ME, UB_CIP_ON);
                put_policies(&w);
                put_keys(&w, 0);
                use(&w, 0);
                pkt = say_sealed(&w);
                g_assert_cmpuint(pkt->len, ==, UB_CIPH_LEN + 36 + BODY +
                                               UB_CIP_ICV_LEN);
                shown = 0;
                while (shown < BODY && core_packet_data(pkt)
                       [UB_CIPH_LEN + 36 + shown] == 0x80 + shown) {
                    shown++;
                }
                /* A byte is hidden by itself once in 256 times: not in these. */
                g_assert_cmpuint(shown, ==, hide ? MIN(4 * clear, BODY) : BODY);
                heard(&w, pkt);
                heard(&w, say(&w, UB_SEC_SHORT, UB_SEC_CIPH));
                world_free(&w);
            }
        }
    }
}

/* ---- what is dropped (§11.5.2.5) ---- */

/* No bit of a packet can be changed. */
static void test_tamper(void)
{
    CorePacket *pkt, *bad;
    uint32_t bits;
    World w;

    world_up(&w);
    pkt = say_sealed(&w);
    bits = 8 * pkt->len;
    for (uint32_t i = 0; i < bits; i++) {
        bad = copy(&w, pkt);
        core_packet_data(bad)[i / 8] ^= 1 << i % 8;
        g_assert_cmpint(hear(&w, UB_SEC_CIPH, bad), !=, UB_SEC_GOOD);
    }
    /* None can be taken away or added. */
    for (uint32_t n = 1; n <= pkt->len; n++) {
        bad = copy(&w, pkt);
        core_packet_trim(bad, n);
        g_assert_cmpint(hear(&w, UB_SEC_CIPH, bad), !=, UB_SEC_GOOD);
    }
    bad = copy(&w, pkt);
    *core_packet_put(bad, 1) = 0;
    g_assert_cmpint(hear(&w, UB_SEC_CIPH, bad), ==, UB_SEC_CIP);
    g_assert_cmpuint(count(w.me, UB_CIPC_OPENED), ==, 0);
    /* What was tried has moved no window. */
    heard(&w, pkt);
    world_free(&w);
}

/* Each outcome has its counter. */
static void test_outcomes(void)
{
    CorePacket *pkt;
    UbSecHead h;
    World w;

    world_up(&w);
    /* One is expected and there is none. */
    h = head_of(&w, UB_SEC_WIDE);
    pkt = body(&w);
    g_assert_cmpint(ub_sec_push_plain(w.you, &h, pkt), ==, UB_SEC_WIDE);
    dropped(&w, UB_SEC_WIDE, pkt, UB_SEC_CIP_OFF, UB_CIPC_RX_MISSING);
    /* CIP ID of no policy, of one that is not set, of an empty slot. */
    pkt = say_sealed(&w);
    put_be32(core_packet_data(pkt), UB_CIP_POLICIES << 1);
    dropped(&w, UB_SEC_CIPH, pkt, UB_SEC_CIP, UB_CIPC_RX_POLICY);
    pkt = say_sealed(&w);
    put_be32(core_packet_data(pkt), (POLICY + 1) << 1);
    dropped(&w, UB_SEC_CIPH, pkt, UB_SEC_CIP, UB_CIPC_RX_POLICY);
    g_assert_cmpint(ub_cip_erase_key(cip_of(w.me), ME, POLICY, UB_CIP_RX, 0),
                    ==, UB_CIP_OK);
    pkt = say_sealed(&w);
    core_packet_data(pkt)[3] ^= 1;
    dropped(&w, UB_SEC_CIPH, pkt, UB_SEC_CIP, UB_CIPC_RX_NO_KEY);
    /* Not from whom the policy is for. */
    pkt = say_sealed(&w);
    core_packet_data(pkt)[UB_CIPH_LEN + 4] ^= 1;
    dropped(&w, UB_SEC_CIPH, pkt, UB_SEC_CIP, UB_CIPC_RX_PEER);
    /* Less than an ICV. */
    pkt = say_sealed(&w);
    core_packet_trim(pkt, BODY + 1);
    dropped(&w, UB_SEC_CIPH, pkt, UB_SEC_CIP, UB_CIPC_RX_SHORT);
    pkt = say_sealed(&w);
    core_packet_trim(pkt, BODY);
    dropped(&w, UB_SEC_CIPH, pkt, UB_SEC_CIP, UB_CIPC_RX_ICV);
    pkt = say_sealed(&w);
    put_be32(core_packet_data(pkt) + 4, 0);
    dropped(&w, UB_SEC_CIPH, pkt, UB_SEC_CIP, UB_CIPC_RX_REPLAY);
    /* Another partition is not even looked at. */
    pkt = say_sealed(&w);
    core_packet_data(pkt)[UB_CIPH_LEN + 3] ^= 1;
    dropped(&w, UB_SEC_CIPH, pkt, UB_SEC_UPI, UB_CIP_COUNTERS);
    heard(&w, say_sealed(&w));
    /* Off: a CIPH is dropped, and what has none passes. */
    ub_cip_set_mode(cip_of(w.me), ME, 0);
    dropped(&w, UB_SEC_CIPH, say_sealed(&w), UB_SEC_CIP_OFF, UB_CIPC_RX_OFF);
    ub_cip_set_mode(cip_of(w.you), 0, 0);
    g_assert_cmpint(hear(&w, UB_SEC_WIDE, say(&w, UB_SEC_WIDE, UB_SEC_WIDE)),
                    ==, UB_SEC_GOOD);
    world_free(&w);
}

/* Who has to be sealed: peers with a policy, others, the UBFM. */
static void test_modes(void)
{
    static const UbEid none;
    CorePacket *pkt;
    UbSecHead h, back;
    unsigned entity;
    UbEid third;
    World w;

    world_up(&w);
    third = w.my_eid;
    third.b[0] ^= 1;
    ub_sec_set_entity(w.me, ME + 1, &third, UPI);
    /* Nobody is spoken to who has no policy ... */
    h = head_of(&w, UB_SEC_WIDE);
    h.deid = third;
    pkt = body(&w);
    g_assert_cmpint(ub_sec_push(w.you, &h, pkt), ==, -1);
    core_packet_free(pkt);
    g_assert_cmpuint(count(w.you, UB_CIPC_TX_NO_POLICY), ==, 1);
    /* ... but where the mode allows it. */
    ub_cip_set_mode(cip_of(w.you), 0, UB_CIP_ON | UB_CIP_MIXED);
    pkt = body(&w);
    g_assert_cmpint(ub_sec_push(w.you, &h, pkt), ==, UB_SEC_WIDE);
    g_assert_cmpint(ub_sec_pull(w.me, UB_SEC_WIDE, true, false, pkt, &back,
                                &entity), ==, UB_SEC_GOOD);
    g_assert_cmpuint(entity, ==, ME + 1);
    core_packet_free(pkt);
    /* Whom there is one for is never spoken to in the clear. */
    ub_cip_set_mode(cip_of(w.me), ME, UB_CIP_ON | UB_CIP_MIXED);
    h = head_of(&w, UB_SEC_WIDE);
    pkt = body(&w);
    g_assert_cmpint(ub_sec_push_plain(w.you, &h, pkt), ==, UB_SEC_WIDE);
    dropped(&w, UB_SEC_WIDE, pkt, UB_SEC_CIP_OFF, UB_CIPC_RX_MISSING);
    g_assert_cmpint(ub_cip_erase_key(cip_of(w.you), 0, POLICY, UB_CIP_TX, 1),
                    ==, UB_CIP_OK);
    g_assert_null(say(&w, UB_SEC_WIDE, -1));
    g_assert_cmpuint(count(w.you, UB_CIPC_TX_NO_KEY), ==, 1);
    /* Strangers are heard there, and not without it. */
    h.seid = third;
    pkt = body(&w);
    g_assert_cmpint(ub_sec_push_plain(w.you, &h, pkt), ==, UB_SEC_WIDE);
    g_assert_cmpint(hear(&w, UB_SEC_WIDE, pkt), ==, UB_SEC_GOOD);
    ub_cip_set_mode(cip_of(w.me), ME, UB_CIP_ON);
    pkt = body(&w);
    g_assert_cmpint(ub_sec_push_plain(w.you, &h, pkt), ==, UB_SEC_WIDE);
    dropped(&w, UB_SEC_WIDE, pkt, UB_SEC_CIP_OFF, UB_CIPC_RX_MISSING);

    /* The UBFM, who brings the keys. */
    h = (UbSecHead) { .form = UB_SEC_SHORT, .upi = UB_UPI_MANAGER,
                      .mgmt = true, .seid = w.your_eid, .deid = w.my_eid };
    pkt = message(&w);
    g_assert_cmpint(ub_sec_push(w.you, &h, pkt), ==, UB_SEC_SHORT);
    g_assert_cmpint(ub_sec_pull(w.me, UB_SEC_SHORT, true, true, pkt, &back,
                                &entity), ==, UB_SEC_GOOD);
    core_packet_free(pkt);
    /* Its UPI before something else, or nothing, is no message. */
    pkt = body(&w);
    g_assert_cmpint(ub_sec_push(w.you, &h, pkt), ==, -1);
    core_packet_free(pkt);
    for (unsigned mgmt = 0; mgmt < 2; mgmt++) {
        for (unsigned opcode = 0; opcode < 256; opcode++) {
            UbSecFault want = opcode == UB_SEC_OP_MANAGEMENT ? UB_SEC_GOOD
                                                             : UB_SEC_CIP_OFF;
            uint64_t missing = count(w.me, UB_CIPC_RX_MISSING);

            pkt = body(&w);
            core_packet_data(pkt)[0] = opcode;
            ub_sec_push_plain(w.you, &h, pkt);
            g_assert_cmpint(ub_sec_pull(w.me, UB_SEC_SHORT, true, mgmt, pkt,
                                        &back, &entity), ==, want);
            g_assert_cmpuint(count(w.me, UB_CIPC_RX_MISSING), ==,
                             missing + (want != UB_SEC_GOOD));
            core_packet_free(pkt);
        }
    }
    pkt = core_packet_alloc(w.pool, 0);
    ub_sec_push_plain(w.you, &h, pkt);
    dropped(&w, UB_SEC_SHORT, pkt, UB_SEC_CIP_OFF, UB_CIPC_RX_MISSING);
    ub_cip_set_mode(cip_of(w.me), ME, UB_CIP_ON | UB_CIP_MANAGER);
    pkt = message(&w);
    g_assert_cmpint(ub_sec_push(w.you, &h, pkt), ==, UB_SEC_SHORT);
    dropped(&w, UB_SEC_SHORT, pkt, UB_SEC_CIP_OFF, UB_CIPC_RX_MISSING);

    /* Without EIDH: Entity 0, by the policy for nobody in particular. */
    ub_cip_reset(cip_of(w.you));
    ub_cip_reset(cip_of(w.me));
    ub_sec_set_entity(w.me, 0, &w.my_eid, UPI);
    ub_cip_set_mode(cip_of(w.you), 0, UB_CIP_ON);
    w.policy.peer = none;
    w.policy.peer_policy = 2;
    for (unsigned i = 0; i < 2; i++) {
        UbCip *cip = cip_of(i ? w.me : w.you);

        ub_cip_set_mode(cip, 0, UB_CIP_ON);
        g_assert_cmpint(ub_cip_set_policy(cip, 0, 2, &w.policy), ==,
                        UB_CIP_OK);
        g_assert_cmpint(ub_cip_set_key(cip, 0, 2, UB_CIP_RX, 0, w.key[i],
                                       w.iv), ==, UB_CIP_OK);
        g_assert_cmpint(ub_cip_set_key(cip, 0, 2, UB_CIP_TX, 0, w.key[!i],
                                       w.iv), ==, UB_CIP_OK);
        g_assert_cmpint(ub_cip_use(cip, 0, 2, 0), ==, UB_CIP_OK);
    }
    heard(&w, say(&w, UB_SEC_NONE, UB_SEC_CIPH));
    dropped(&w, UB_SEC_NONE, body(&w), UB_SEC_CIP_OFF, UB_CIPC_RX_MISSING);
    world_free(&w);
}

/* ---- numbers ---- */

/* Packets overtake others by less than the window; none comes twice. */
static void test_replay(void)
{
    enum { N = 300 };
    CorePacket *pkt[N + 1];
    World w;

    world_up(&w);
    for (unsigned i = 1; i <= N; i++) {
        pkt[i] = say_sealed(&w);
    }
    /* In pairs, the later one first. */
    for (unsigned i = 1; i < 64; i += 2) {
        heard(&w, copy(&w, pkt[i + 1]));
        heard(&w, copy(&w, pkt[i]));
    }
    for (unsigned i = 1; i <= 64; i++) {
        dropped(&w, UB_SEC_CIPH, copy(&w, pkt[i]), UB_SEC_CIP,
                UB_CIPC_RX_REPLAY);
    }
    heard(&w, copy(&w, pkt[65]));
    dropped(&w, UB_SEC_CIPH, copy(&w, pkt[1]), UB_SEC_CIP, UB_CIPC_RX_OLD);
    dropped(&w, UB_SEC_CIPH, copy(&w, pkt[2]), UB_SEC_CIP, UB_CIPC_RX_REPLAY);
    /* One far ahead: those just within the window may come yet. */
    heard(&w, copy(&w, pkt[100]));
    dropped(&w, UB_SEC_CIPH, copy(&w, pkt[36]), UB_SEC_CIP, UB_CIPC_RX_OLD);
    for (unsigned i = 37; i < 100; i++) {
        if (i <= 65) {
            dropped(&w, UB_SEC_CIPH, copy(&w, pkt[i]), UB_SEC_CIP,
                    UB_CIPC_RX_REPLAY);
        } else {
            heard(&w, copy(&w, pkt[i]));
        }
    }
    /* A window and more, and exactly a window. */
    heard(&w, copy(&w, pkt[N]));
    heard(&w, copy(&w, pkt[N - 63]));
    dropped(&w, UB_SEC_CIPH, copy(&w, pkt[N - 64]), UB_SEC_CIP,
            UB_CIPC_RX_OLD);
    for (unsigned i = N - 62; i < N; i++) {
        heard(&w, copy(&w, pkt[i]));
    }
    for (unsigned i = 1; i <= N; i++) {
        g_assert_cmpint(hear(&w, UB_SEC_CIPH, copy(&w, pkt[i])), ==,
                        UB_SEC_CIP);
        core_packet_free(pkt[i]);
    }
    world_free(&w);
}

/* Random order, with repetitions, against a set of what came. */
static void try_window(uint32_t window)
{
    enum { N = 4000 };
    g_autofree bool *came = g_new0(bool, N + 1);
    CorePacket **pkt = g_new0(CorePacket *, N + 1);
    uint32_t rng = 12345, top = 0, head, sn, late = 0;
    UbCipCounter want;
    World w;

    world_up_with(&w, window);
    for (unsigned i = 1; i <= N; i++) {
        pkt[i] = say_sealed(&w);
    }
    for (unsigned i = 0; i < 5 * N; i++) {
        rng = rng * 1664525u + 1013904223u;
        /* Mostly near the head, which moves slowly, and by a window and more at times;
         * sometimes anywhere behind it. */
        head = i / 8 + i / 5000 * (window + 3) + (rng >> 16) % (window + 26);
        sn = (rng >> 8) % 64 ? head : (rng >> 14) % (head + 1);
        sn = MIN(MAX(sn, 1), N);
        want = sn > top ? UB_CIPC_OPENED
               : top - sn >= w.cfg.window ? UB_CIPC_RX_OLD
               : came[sn] ? UB_CIPC_RX_REPLAY : UB_CIPC_OPENED;
        if (want == UB_CIPC_OPENED) {
            heard(&w, copy(&w, pkt[sn]));
            came[sn] = true;
            late += sn < top;
            top = MAX(top, sn);
        } else {
            dropped(&w, UB_SEC_CIPH, copy(&w, pkt[sn]), UB_SEC_CIP, want);
        }
    }
    /* Many were overtaken, and came. */
    g_assert_cmpuint(late, >, N / 4);
    for (unsigned i = 1; i <= N; i++) {
        core_packet_free(pkt[i]);
    }
    g_free(pkt);
    world_free(&w);
}

/* Windows of one word and of several. */
static void test_window(void)
{
    try_window(64);
    try_window(128);
    try_window(512);
}

/* The last number is used, and none after it. */
static void test_exhausted(void)
{
    UbCipView view;
    World w;

    world_up(&w);
    w.cfg.sn_last = 10;
    ub_cip_configure(cip_of(w.you), &w.cfg);
    for (unsigned i = 0; i < 10; i++) {
        heard(&w, say_sealed(&w));
    }
    g_assert_null(say(&w, UB_SEC_WIDE, -1));
    g_assert_cmpuint(count(w.you, UB_CIPC_TX_EXHAUSTED), ==, 1);
    g_assert_true(ub_cip_view(cip_of(w.you), 0, POLICY, &view));
    g_assert_cmpuint(view.sn[UB_CIP_TX][1], ==, 11);
    /* The other slot goes on. */
    use(&w, 0);
    heard(&w, say_sealed(&w));
    world_free(&w);
}

/* ---- keys ---- */

/* A key changes while packets of both are under way. */
static void test_rekey(void)
{
    CorePacket *old[8];
    uint8_t fresh[UB_CIP_KEY_MAX] = { 0x77 };
    World w;

    world_up(&w);
    for (unsigned i = 0; i < 8; i++) {
        old[i] = say_sealed(&w);
    }
    /* The receiver first; then the sender goes over. */
    g_assert_cmpint(ub_cip_set_key(cip_of(w.me), ME, POLICY, UB_CIP_RX, 0,
                                   fresh, w.iv), ==, UB_CIP_OK);
    g_assert_cmpint(ub_cip_set_key(cip_of(w.you), 0, POLICY, UB_CIP_TX, 0,
                                   fresh, w.iv), ==, UB_CIP_OK);
    heard(&w, old[0]);
    g_assert_cmpint(ub_cip_use(cip_of(w.you), 0, POLICY, 0), ==, UB_CIP_OK);
    for (unsigned i = 1; i < 4; i++) {
        CorePacket *pkt = say_sealed(&w);

        g_assert_cmphex(get_be32(core_packet_data(pkt)), ==, POLICY << 1);
        g_assert_cmpuint(get_be32(core_packet_data(pkt) + 4), ==, i);
        heard(&w, pkt);
        heard(&w, old[i]);
    }
    /* With the old key gone, what it sealed is nothing. */
    g_assert_cmpint(ub_cip_erase_key(cip_of(w.me), ME, POLICY, UB_CIP_RX, 1),
                    ==, UB_CIP_OK);
    dropped(&w, UB_SEC_CIPH, old[4], UB_SEC_CIP, UB_CIPC_RX_NO_KEY);
    /* Nor with another in its place. */
    fresh[0]++;
    g_assert_cmpint(ub_cip_set_key(cip_of(w.me), ME, POLICY, UB_CIP_RX, 1,
                                   fresh, w.iv), ==, UB_CIP_OK);
    dropped(&w, UB_SEC_CIPH, old[5], UB_SEC_CIP, UB_CIPC_RX_ICV);
    core_packet_free(old[6]);
    core_packet_free(old[7]);
    world_free(&w);
}

/* What may be asked, and in which order. */
static void test_commands(void)
{
    UbCipView view;
    UbCipPolicy bad;
    UbCip *cip;
    World w;

    world_init(&w);
    cip = cip_of(w.you);
    g_assert_false(ub_cip_touched(cip));
    ub_cip_set_mode(cip, 0, 0);
    g_assert_false(ub_cip_touched(cip));
    g_assert_cmpint(ub_cip_use(cip, 0, POLICY, 0), ==, UB_CIP_NO_POLICY);
    g_assert_cmpint(ub_cip_set_key(cip, 0, POLICY, UB_CIP_RX, 0, w.key[0],
                                   w.iv), ==, UB_CIP_NO_POLICY);
    g_assert_cmpint(ub_cip_erase_key(cip, 0, POLICY, UB_CIP_RX, 0), ==,
                    UB_CIP_NO_POLICY);
    g_assert_cmpint(ub_cip_set_policy(cip, 0, POLICY, NULL), ==,
                    UB_CIP_NO_POLICY);
    g_assert_cmpint(ub_cip_set_policy(cip, 0, UB_CIP_POLICIES, &w.policy), ==,
                    UB_CIP_NO_POLICY);
    g_assert_cmpint(ub_cip_set_policy(cip, UB_SEC_ENTITIES, 0, &w.policy), ==,
                    UB_CIP_NO_POLICY);
    bad = w.policy;
    bad.suite = UB_CIP_NO_SUITE;
    g_assert_cmpint(ub_cip_set_policy(cip, 0, 0, &bad), ==, UB_CIP_BAD_POLICY);
    bad.suite = UB_CIP_SUITES;
    g_assert_cmpint(ub_cip_set_policy(cip, 0, 0, &bad), ==, UB_CIP_BAD_POLICY);
    bad = w.policy;
    bad.clear = UB_CIP_CLEAR_MAX + 1;
    g_assert_cmpint(ub_cip_set_policy(cip, 0, 0, &bad), ==, UB_CIP_BAD_POLICY);
    bad = w.policy;
    bad.peer_policy = UB_CIP_PEERS;
    g_assert_cmpint(ub_cip_set_policy(cip, 0, 0, &bad), ==, UB_CIP_BAD_POLICY);
    g_assert_false(ub_cip_touched(cip));
    put_policies(&w);
    g_assert_true(ub_cip_touched(cip));
    g_assert_cmpint(ub_cip_set_key(cip, 0, POLICY, UB_CIP_WAYS, 0, w.key[0],
                                   w.iv), ==, UB_CIP_NO_POLICY);
    g_assert_cmpint(ub_cip_set_key(cip, 0, POLICY, UB_CIP_RX, UB_CIP_SLOTS,
                                   w.key[0], w.iv), ==, UB_CIP_NO_POLICY);
    /* Receiving before sending. */
    g_assert_cmpint(ub_cip_use(cip, 0, POLICY, 0), ==, UB_CIP_NO_KEY);
    g_assert_cmpint(ub_cip_set_key(cip, 0, POLICY, UB_CIP_TX, 0, w.key[0],
                                   w.iv), ==, UB_CIP_OK);
    g_assert_cmpint(ub_cip_use(cip, 0, POLICY, 0), ==, UB_CIP_RX_FIRST);
    g_assert_cmpint(ub_cip_set_key(cip, 0, POLICY, UB_CIP_RX, 1, w.key[1],
                                   w.iv), ==, UB_CIP_OK);
    g_assert_cmpint(ub_cip_use(cip, 0, POLICY, 0), ==, UB_CIP_RX_FIRST);
    g_assert_cmpint(ub_cip_set_key(cip, 0, POLICY, UB_CIP_RX, 0, w.back[0],
                                   w.iv), ==, UB_CIP_OK);
    g_assert_cmpint(ub_cip_use(cip, 0, POLICY, 0), ==, UB_CIP_OK);
    /* The same key again would begin its numbers again. */
    for (unsigned slot = 0; slot < UB_CIP_SLOTS; slot++) {
        g_assert_cmpint(ub_cip_set_key(cip, 0, POLICY, UB_CIP_TX, slot,
                                       w.key[0], w.iv), ==, UB_CIP_REUSED);
        g_assert_cmpint(ub_cip_set_key(cip, 0, POLICY, UB_CIP_RX, slot,
                                       w.key[1], w.iv), ==, UB_CIP_REUSED);
    }
    w.iv[0]++;
    g_assert_cmpint(ub_cip_set_key(cip, 0, POLICY, UB_CIP_TX, 1, w.key[0],
                                   w.iv), ==, UB_CIP_OK);
    g_assert_true(ub_cip_view(cip, 0, POLICY, &view));
    g_assert_true(view.set && view.keyed[UB_CIP_TX][1]);
    g_assert_cmpint(view.use, ==, 0);
    g_assert_cmpuint(view.sn[UB_CIP_TX][0], ==, 1);
    g_assert_cmpuint(view.sn[UB_CIP_RX][0], ==, 0);
    /* Of no direction, of no slot: nothing is erased. */
    g_assert_cmpint(ub_cip_erase_key(cip, 0, POLICY, UB_CIP_WAYS, 0), ==,
                    UB_CIP_NO_POLICY);
    for (unsigned way = 0; way < UB_CIP_WAYS; way++) {
        g_assert_cmpint(ub_cip_erase_key(cip, 0, POLICY, way, UB_CIP_SLOTS), ==,
                        UB_CIP_NO_POLICY);
    }
    g_assert_cmpuint(count(w.you, UB_CIPC_KEYS_ERASED), ==, 0);
    /* Erasing what is used leaves nothing to send by, erasing another does not. */
    g_assert_cmpint(ub_cip_erase_key(cip, 0, POLICY, UB_CIP_TX, 1), ==,
                    UB_CIP_OK);
    g_assert_true(ub_cip_view(cip, 0, POLICY, &view));
    g_assert_cmpint(view.use, ==, 0);
    g_assert_cmpint(ub_cip_erase_key(cip, 0, POLICY, UB_CIP_TX, 0), ==,
                    UB_CIP_OK);
    g_assert_cmpint(ub_cip_erase_key(cip, 0, POLICY, UB_CIP_TX, 0), ==,
                    UB_CIP_NO_KEY);
    g_assert_true(ub_cip_view(cip, 0, POLICY, &view));
    g_assert_cmpint(view.use, ==, -1);
    /* A policy that is set again has no keys; one that goes is gone. */
    put_policies(&w);
    g_assert_true(ub_cip_view(cip, 0, POLICY, &view));
    g_assert_false(view.keyed[UB_CIP_TX][1] || view.keyed[UB_CIP_RX][1]);
    g_assert_cmpuint(count(w.you, UB_CIPC_KEYS_SET), ==, 4);
    g_assert_cmpuint(count(w.you, UB_CIPC_KEYS_ERASED), ==, 4);
    g_assert_cmpint(ub_cip_set_policy(cip, 0, POLICY, NULL), ==, UB_CIP_OK);
    g_assert_false(ub_cip_view(cip, 0, POLICY, &view));
    g_assert_false(ub_cip_view(cip, UB_SEC_ENTITIES, 0, &view));
    ub_cip_reset_entity(cip, UB_SEC_ENTITIES);
    ub_cip_reset_entity(cip, 0);
    g_assert_false(ub_cip_touched(cip));
    for (unsigned i = 0; i < UB_CIP_COUNTERS; i++) {
        g_assert_nonnull(ub_cip_counter_name(i));
    }
    g_assert_null(ub_cip_counter_name(UB_CIP_COUNTERS));
    g_assert_cmpuint(ub_cip_counter(cip, UB_CIP_COUNTERS), ==, 0);
    g_assert_null(ub_cip_suite_name(UB_CIP_SUITES));
    g_assert_cmpstr(ub_cip_suite_name(UB_CIP_SM4_128_GCM), ==, "sm4-128-gcm");
    world_free(&w);
}

static UbCipResult try_key(World *w, unsigned policy, UbCipWay way,
                           unsigned slot, const uint8_t *key)
{
    return ub_cip_set_key(cip_of(w->you), 0, policy, way, slot, key, w->iv);
}

/* Nothing is ever sealed by a key and nonce of something else: the last 32 bits of
 * an IV say nothing, as SN takes each value of them. */
static void test_nonces(void)
{
    uint8_t fresh[UB_CIP_KEY_MAX] = { 0x77 };
    UbCipPolicy other;
    World w;
    const struct {
        unsigned policy;
        UbCipWay way;
        const uint8_t *key;
    } tries[] = {
        /* The other slot, the other way, another policy. */
        { POLICY, UB_CIP_TX, w.key[1] }, { POLICY, UB_CIP_RX, w.back[1] },
        { POLICY, UB_CIP_RX, w.key[1] }, { POLICY, UB_CIP_TX, w.back[1] },
        { POLICY + 1, UB_CIP_TX, w.key[1] },
        { POLICY + 1, UB_CIP_RX, w.key[1] },
    };

    world_up(&w);
    other = w.policy;
    other.peer.b[0] ^= 1;
    for (unsigned i = 0; i < UB_CIP_IV_LEN; i++) {
        for (unsigned t = 0; t < G_N_ELEMENTS(tries); t++) {
            g_assert_cmpint(ub_cip_set_policy(cip_of(w.you), 0, POLICY,
                                              &w.policy), ==, UB_CIP_OK);
            g_assert_cmpint(ub_cip_set_policy(cip_of(w.you), 0, POLICY + 1,
                                              &other), ==, UB_CIP_OK);
            g_assert_cmpint(try_key(&w, POLICY, UB_CIP_RX, 1, w.back[1]), ==,
                            UB_CIP_OK);
            g_assert_cmpint(try_key(&w, POLICY, UB_CIP_TX, 1, w.key[1]), ==,
                            UB_CIP_OK);
            w.iv[i]++;
            g_assert_cmpint(try_key(&w, tries[t].policy, tries[t].way, 0,
                                    tries[t].key), ==,
                            i < 8 ? UB_CIP_OK : UB_CIP_REUSED);
            w.iv[i]--;
        }
    }
    /* Another cipher makes other streams of it. */
    other.suite = UB_CIP_SM4_128_GCM;
    g_assert_cmpint(ub_cip_set_policy(cip_of(w.you), 0, POLICY + 1, &other),
                    ==, UB_CIP_OK);
    g_assert_cmpint(try_key(&w, POLICY + 1, UB_CIP_TX, 0, w.key[1]), ==,
                    UB_CIP_OK);
    /* The two ends of a channel are different Entities, and it works. */
    use(&w, 1);
    heard(&w, say_sealed(&w));

    /* What has sealed does not come back: after another key, after none, in
     * another slot, after the policy was set again. */
    g_assert_cmpint(try_key(&w, POLICY, UB_CIP_TX, 1, fresh), ==, UB_CIP_OK);
    w.iv[11]++;
    g_assert_cmpint(try_key(&w, POLICY, UB_CIP_TX, 1, w.key[1]), ==,
                    UB_CIP_REUSED);
    g_assert_cmpint(try_key(&w, POLICY, UB_CIP_TX, 0, w.key[1]), ==,
                    UB_CIP_REUSED);
    g_assert_cmpint(ub_cip_set_policy(cip_of(w.you), 0, POLICY, &w.policy), ==,
                    UB_CIP_OK);
    g_assert_cmpint(try_key(&w, POLICY, UB_CIP_TX, 0, w.key[1]), ==,
                    UB_CIP_REUSED);
    /* Those that did nothing may. */
    g_assert_cmpint(try_key(&w, POLICY, UB_CIP_TX, 1, fresh), ==, UB_CIP_OK);
    g_assert_cmpint(try_key(&w, POLICY, UB_CIP_TX, 0, w.key[0]), ==,
                    UB_CIP_OK);
    /* Nor does what has opened: all of it could come again. */
    g_assert_cmpint(ub_cip_erase_key(cip_of(w.me), ME, POLICY, UB_CIP_RX, 1),
                    ==, UB_CIP_OK);
    g_assert_cmpint(ub_cip_set_key(cip_of(w.me), ME, POLICY, UB_CIP_RX, 1,
                                   w.key[1], w.iv), ==, UB_CIP_REUSED);
    /* A reset forgets. */
    ub_cip_reset_entity(cip_of(w.you), 0);
    g_assert_cmpint(ub_cip_set_policy(cip_of(w.you), 0, POLICY, &w.policy), ==,
                    UB_CIP_OK);
    g_assert_cmpint(try_key(&w, POLICY, UB_CIP_TX, 0, w.key[1]), ==,
                    UB_CIP_OK);
    world_free(&w);
}

/* All that have sealed are remembered, not the last one alone. */
static void test_spent(void)
{
    uint8_t fresh[UB_CIP_KEY_MAX] = { 0 };
    World w;

    world_up(&w);
    for (unsigned i = 0; i < 4; i++) {
        fresh[0] = i;
        g_assert_cmpint(try_key(&w, POLICY, UB_CIP_TX, 0, fresh), ==,
                        UB_CIP_OK);
        use(&w, 0);
        core_packet_free(say_sealed(&w));
    }
    for (unsigned i = 0; i < 4; i++) {
        fresh[0] = i;
        g_assert_cmpint(try_key(&w, POLICY, UB_CIP_TX, 0, fresh), ==,
                        UB_CIP_REUSED);
    }
    world_free(&w);
}

/* A key that has sealed is known again by each byte of it and of IV[0..7], and by its
 * cipher; what is behind them is not of it. */
static void test_spent_bytes(void)
{
    World w;

    for (UbCipSuite suite = UB_CIP_NO_SUITE + 1; suite < UB_CIP_SUITES; suite++) {
        unsigned len = ub_cip_key_len(suite);
        UbCipPolicy other;
        UbCipView view;

        world_up(&w);
        w.policy.suite = suite;
        other = w.policy;
        other.suite ^= UB_CIP_AES_256_GCM ^ UB_CIP_SM4_128_GCM;
        put_policies(&w);
        put_keys(&w, 0);
        put_keys(&w, 1);
        use(&w, 1);
        heard(&w, say_sealed(&w));
        g_assert_cmpint(ub_cip_set_policy(cip_of(w.you), 0, POLICY, &w.policy), ==,
                        UB_CIP_OK);
        for (unsigned i = 0; i < UB_CIP_KEY_MAX; i++) {
            w.key[1][i]++;
            g_assert_cmpint(try_key(&w, POLICY, UB_CIP_TX, 0, w.key[1]), ==,
                            i < len ? UB_CIP_OK : UB_CIP_REUSED);
            w.key[1][i]--;
        }
        for (unsigned i = 0; i < UB_CIP_IV_LEN; i++) {
            w.iv[i]++;
            g_assert_cmpint(try_key(&w, POLICY, UB_CIP_TX, 0, w.key[1]), ==,
                            i < 8 ? UB_CIP_OK : UB_CIP_REUSED);
            w.iv[i]--;
        }
        g_assert_cmpint(ub_cip_set_policy(cip_of(w.you), 0, POLICY + 1, &other), ==,
                        UB_CIP_OK);
        g_assert_cmpint(try_key(&w, POLICY + 1, UB_CIP_TX, 0, w.key[1]), ==,
                        UB_CIP_OK);
        /* There is no policy behind the last, whatever is remembered. */
        g_assert_false(ub_cip_view(cip_of(w.you), 0, UB_CIP_POLICIES, &view));
        world_free(&w);
    }
}

/* A slot that is none is none, with keys in all. */
static void test_no_slot(void)
{
    World w;

    world_up(&w);
    for (unsigned slot = 0; slot < UB_CIP_SLOTS + 2; slot++) {
        g_assert_cmpint(ub_cip_use(cip_of(w.me), ME, POLICY, slot), ==,
                        slot < UB_CIP_SLOTS ? UB_CIP_OK : UB_CIP_NO_POLICY);
    }
    world_free(&w);
}

static void test_config(void)
{
    static const struct { uint32_t window, last; bool good; } all[] = {
        { 64, 1, true }, { 65536, UINT32_MAX, true }, { 32, 1, false },
        { 131072, 1, false }, { 96, 1, false }, { 0, 1, false },
        { 64, 0, false },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
        UbCipConfig cfg = { .window = all[i].window, .sn_last = all[i].last };

        g_assert_cmpint(!ub_cip_config_check(&cfg), ==, all[i].good);
    }
}

/* No room for header or ICV: not sent, and no number is lost. */
static void test_room(void)
{
    UbSecHead h;
    CorePacket *pkt;
    UbCipView view;
    World w;

    world_up(&w);
    h = head_of(&w, UB_SEC_SHORT);
    for (unsigned room = 0; room < UB_CIPH_LEN + 7; room++) {
        pkt = body(&w);
        g_assert_nonnull(core_packet_push(pkt, pkt->off - room));
        g_assert_cmpint(ub_sec_push(w.you, &h, pkt), ==, -1);
        core_packet_free(pkt);
    }
    pkt = body(&w);
    g_assert_nonnull(core_packet_put(pkt, pkt->size - pkt->off - pkt->len -
                                          UB_CIP_ICV_LEN + 1));
    g_assert_cmpint(ub_sec_push(w.you, &h, pkt), ==, -1);
    core_packet_free(pkt);
    ub_cip_view(cip_of(w.you), 0, POLICY, &view);
    g_assert_cmpuint(view.sn[UB_CIP_TX][1], ==, 1);
    world_free(&w);
}

/* A bus instance, the first of them too, has no CIP of its own: it speaks plainly, and
 * hears what is plain. */
static void test_instance(void)
{
    UbSecHead h;
    CorePacket *pkt;
    World w;

    world_up(&w);
    for (unsigned i = 0; i < UB_SEC_INSTANCES; i += UB_SEC_INSTANCES - 1) {
        h = head_of(&w, UB_SEC_WIDE);
        h.seid.b[0]++;
        ub_sec_set_entity(w.you, UB_SEC_ENTITIES + i, &h.seid, UPI);
        pkt = body(&w);
        g_assert_cmpint(ub_sec_push(w.you, &h, pkt), ==, UB_SEC_WIDE);
        core_packet_free(pkt);
        ub_sec_set_entity(w.you, UB_SEC_ENTITIES + i, NULL, 0);
    }
    world_free(&w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/cip/vectors", test_vectors);
    g_test_add_func("/ub/cip/packets", test_packets);
    g_test_add_func("/ub/cip/forms", test_forms);
    g_test_add_func("/ub/cip/tamper", test_tamper);
    g_test_add_func("/ub/cip/outcomes", test_outcomes);
    g_test_add_func("/ub/cip/modes", test_modes);
    g_test_add_func("/ub/cip/replay", test_replay);
    g_test_add_func("/ub/cip/window", test_window);
    g_test_add_func("/ub/cip/exhausted", test_exhausted);
    g_test_add_func("/ub/cip/rekey", test_rekey);
    g_test_add_func("/ub/cip/commands", test_commands);
    g_test_add_func("/ub/cip/nonces", test_nonces);
    g_test_add_func("/ub/cip/spent", test_spent);
    g_test_add_func("/ub/cip/spent-bytes", test_spent_bytes);
    g_test_add_func("/ub/cip/no-slot", test_no_slot);
    g_test_add_func("/ub/cip/config", test_config);
    g_test_add_func("/ub/cip/instance", test_instance);
    g_test_add_func("/ub/cip/room", test_room);
    return g_test_run();
}
