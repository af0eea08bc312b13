/*
 * CIP (UB 2.0 §11.5.2, §B.2) as it passes the wire: what one end has sealed is opened
 * here, and what is sealed here, well or badly, is for the other end to judge.  Places
 * and values are written down anew, and the ciphers are the library's: no code of the
 * device reads or makes anything.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-cip-drv.h"
#include "ubc-raw.h"
#include "ubc-watch.h"
#include "ub/tah.h"
#include <gcrypt.h>

enum { CIPH = 8, ICV = 12, WIDE = 36, NARROW = 7 };
enum { NLP_WIDE, NLP_NARROW, NLP_TAH, NLP_RESERVED };
enum { SERIAL = 1, LEN = 1024 };

/* ---- the ciphers ---------------------------------------------------------------------- */

/* §11.5.2.4: authenticated up to @clear, and hidden from there on. */
static void gcm(unsigned suite, bool seal, const uint8_t *key, const uint8_t *iv,
                  uint8_t *p, uint32_t clear, uint32_t len, uint8_t tag[16])
{
    int algo = suite == SM4 ? GCRY_CIPHER_SM4 : GCRY_CIPHER_AES256;
    gcry_cipher_hd_t h;

    g_assert_false(gcry_cipher_open(&h, algo, GCRY_CIPHER_MODE_GCM, 0));
    g_assert_false(gcry_cipher_setkey(h, key, gcry_cipher_get_algo_keylen(algo)));
    g_assert_false(gcry_cipher_setiv(h, iv, 12));
    g_assert_false(gcry_cipher_authenticate(h, p, clear));
    if (len > clear) {
        g_assert_false((seal ? gcry_cipher_encrypt : gcry_cipher_decrypt)(
            h, p + clear, len - clear, NULL, 0));
    }
    g_assert_false(gcry_cipher_gettag(h, tag, 16));
    gcry_cipher_close(h);
}

static void from_hex(const char *hex, uint8_t *out)
{
    for (; *hex; hex += 2) {
        *out++ = g_ascii_xdigit_value(hex[0]) << 4 | g_ascii_xdigit_value(hex[1]);
    }
}

/* They are those of SP 800-38D (case 14 of its authors) and of RFC 8998, A.1. */
static void test_ciphers(void)
{
    static const struct {
        unsigned suite;
        const char *key, *iv, *aad, *plain, *cipher, *tag;
    } known[] = {
        { AES, "0000000000000000000000000000000000000000000000000000000000000000",
          "000000000000000000000000", "", "00000000000000000000000000000000",
          "cea7403d4d606b6e074ec5d3baf39d18", "d0d1c8a799996bf0265b98b5d48ab919" },
        { SM4, "0123456789abcdeffedcba9876543210", "00001234567800000000abcd",
          "feedfacedeadbeeffeedfacedeadbeefabaddad2",
          "aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbccccccccccccccccdddddddddddddddd"
          "eeeeeeeeeeeeeeeeffffffffffffffffeeeeeeeeeeeeeeeeaaaaaaaaaaaaaaaa",
          "17f399f08c67d5ee19d0dc9969c4bb7d5fd46fd3756489069157b282bb200735"
          "d82710ca5c22f0ccfa7cbf93d496ac15a56834cbcf98c397b4024a2691233b8d",
          "83de3541e4c2b58177e065a9bf7b62ec" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(known); i++) {
        uint8_t key[32], iv[12], p[128], want[128], tag[16], right[16];
        uint32_t aad = strlen(known[i].aad) / 2, n = strlen(known[i].plain) / 2;

        from_hex(known[i].key, key);
        from_hex(known[i].iv, iv);
        from_hex(known[i].aad, p);
        from_hex(known[i].plain, p + aad);
        from_hex(known[i].cipher, want);
        from_hex(known[i].tag, right);
        gcm(known[i].suite, true, key, iv, p, aad, aad + n, tag);
        g_assert_cmpmem(p + aad, n, want, n);
        g_assert_cmpmem(tag, 16, right, 16);
    }
}

/* The key of what @from sends, and its nonce for @sn. */
static void key_of(unsigned from, uint32_t serial, uint32_t sn, uint8_t key[32],
                   uint8_t iv[12])
{
    for (unsigned i = 0; i < 8; i++) {
        stl_le_p(key + 4 * i, cip_key_word(from, i, serial));
    }
    for (unsigned i = 0; i < 3; i++) {
        stl_le_p(iv + 4 * i, cip_iv_word(i, serial));
    }
    stl_be_p(iv + 8, ldl_be_p(iv + 8) ^ sn);
}

/* ---- what is sealed --------------------------------------------------------------------- */

typedef struct Way {
    unsigned carrier, suite;
    unsigned form;      /* UBQ_DST_FORM */
    unsigned nlp;       /* of the CIPH */
} Way;

static const Way ways[] = {
    { ENG_RTP, AES, 1, NLP_WIDE }, { ENG_RTP, SM4, 0, NLP_TAH },
    { ENG_CTP, AES, 2, NLP_NARROW }, { ENG_CTP, SM4, 1, NLP_WIDE },
    { ENG_CTP, AES, 0, NLP_TAH },
};

static const uint32_t body_of[] = { WIDE, NARROW, 0 };

/* The next sealed packet of @list behind @at: its CIPH, and the bytes up to the ICV. */
static const uint8_t *next_sealed(const GArray *list, const Way *w, guint *at,
                                  uint32_t *len)
{
    bool rtp = w->carrier == ENG_RTP;
    unsigned cfg = rtp ? UB_LPH_CNA24 : UB_LPH_CNA16;
    uint32_t nth = rtp ? UB_NTH24_SIZE : UB_NTH16_SIZE;

    while (*at < list->len) {
        const Seen *s = &g_array_index(list, Seen, (*at)++);
        const uint8_t *t = s->p + nth;
        unsigned nlp, pad;

        if (s->cfg != cfg || (s->p[nth - 1] & 7) != (rtp ? 2 : 0)) {
            continue;
        }
        if (rtp && (t[0] & 0x7f) != 1) {
            continue;           /* an acknowledgement of the transport layer */
        }
        pad = rtp ? t[1] >> 4 & 3 : t[0] >> 4 & 3;
        nlp = rtp ? t[1] & 15 : t[0] & 15;
        g_assert_cmpuint(nlp, ==, 3);   /* none goes without */
        t += rtp ? 16 : 1;
        *len = s->len - (t - s->p) - pad - ICV - UB_ICRC_SIZE;
        g_assert_cmpuint(*len, <, s->len);
        return t;
    }
    return NULL;
}

/* All that @from has sent is sealed as it should be; returns how many have @data. */
static unsigned check_sealed(const GArray *list, const Way *w, unsigned from,
                             const uint8_t *data)
{
    const uint8_t *t, *first[2][4096] = { { NULL } };
    uint32_t last[2] = { 0 }, len;
    unsigned with = 0;
    guint at = 0;

    while ((t = next_sealed(list, w, &at, &len))) {
        uint32_t id = ldl_be_p(t) & 0xffffff, sn = ldl_be_p(t + 4);
        uint32_t clear = CIPH + body_of[w->nlp] + 4;
        uint8_t key[32], iv[12], tag[16];
        g_autofree uint8_t *p = g_memdup2(t, len);
        unsigned slot = id & 1;

        g_assert_cmphex(t[0], ==, w->nlp << 4);
        g_assert_cmphex(id >> 1, ==, NUMBER);
        g_assert_cmpuint(sn, <, G_N_ELEMENTS(first[0]));
        if (sn <= last[slot]) {
            /* By RTP again: the same bytes, or a key stream came twice. */
            g_assert_cmpmem(t, len + ICV, first[slot][sn], len + ICV);
            continue;
        }
        g_assert_cmpuint(sn, ==, last[slot] + 1);
        last[slot] = sn;
        first[slot][sn] = t;
        key_of(from, SERIAL + slot, sn, key, iv);
        gcm(w->suite, false, key, iv, p, clear, len, tag);
        g_assert_cmpmem(t + len, ICV, tag, ICV);
        if (memmem(p + clear, len - clear, data, LEN)) {
            g_assert_null(memmem(t, len, data, 16));
            with++;
        }
    }
    /* By each slot. */
    g_assert_cmpuint(last[0], >=, 2);
    g_assert_cmpuint(last[1], >=, 2);
    return with;
}

/* Both suites, all forms, two keys one after the other. */
static void test_sealed(void)
{
    const uint32_t nobody[4] = { 0 };

    for (unsigned i = 0; i < G_N_ELEMENTS(ways); i++) {
        const Way *way = &ways[i];
        uint8_t data[LEN];
        Eng *end[2];
        Watch w;

        watch_start(&w, &(EngPlan){ .carrier = way->carrier }, ",cip=on," STEADY);
        end[0] = &w.p.a;
        end[1] = &w.p.b;
        for (unsigned n = 0; n < 2; n++) {
            cip_turn_on(end[n], way->suite);
            if (!way->form) {
                cip_set_policy_for(end[n], way->suite, nobody);
            }
            eng_dest_put(end[n], UBQ_DST_FORM, way->form);
        }
        for (unsigned slot = 0; slot < 2; slot++) {
            cip_key_both(&w.p, slot, SERIAL + slot);
            cip_use_both(&w.p, slot);
            eng_write_read(&w.p, LEN, i);
            eng_write_read(&w.p, LEN, i);
        }
        eng_fill(&w.p.a, LEN, i);
        memcpy(data, w.p.a.drv.memory + w.p.a.room, LEN);
        watch_look(&w);
        /* Writes, and responses to Reads. */
        g_assert_cmpuint(check_sealed(w.sent, way, 1, data), ==, 4);
        g_assert_cmpuint(check_sealed(w.came, way, 2, data), ==, 4);
        watch_end(&w);
    }
}

/* ---- which policy (§11.5.2.3) --------------------------------------------------------------- */

/* The policy is that of the DEID as the packet has it: of 128 bits, or of 20. */
static void test_by_deid(void)
{
    const uint32_t like_b[4] = { 0x7f000002, 0, 0, 0xfd000000 };
    EngPlan plan = { .carrier = ENG_CTP, .props = "cip=on" };
    EngPair p;

    eng_start(&p, &plan);
    cip_put(&p.a, UB_CIP_CTRL, UB_CIP_CTRL__ON);
    cip_set_policy_for(&p.a, AES, like_b);
    cip_turn_on(&p.b, AES);
    cip_key_both(&p, 0, SERIAL);
    cip_use_both(&p, 0);
    ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, LEN, 1), 1);
    eng_complete(&p.a, UBQ_STATUS_OPCODE);
    g_assert_cmpuint(eng_counter(&p.a, "cip", "cip-tx-no-policy"), >=, 1);
    g_assert_cmpuint(eng_counter(&p.a, "cip", "cip-sealed"), ==, 0);
    eng_dest_put(&p.a, UBQ_DST_FORM, 2);
    eng_write_read(&p, LEN, 1);
    eng_stop(&p);
}

/* ---- what is forged --------------------------------------------------------------------------- */

/* A Write of 16 bytes by CTP, as b sends it to a. */
typedef struct Forged {
    unsigned nlp, id, sn, upi, pad;
    unsigned sealed_by;         /* whose key */
    unsigned seid, deid;
    uint32_t flip;              /* bit of what is sealed, 1 on; 0: none */
    unsigned fill, tassn;
    bool cut;                   /* ends before there is room for an ICV */
} Forged;

#define HONEST(...) (Forged){ .id = NUMBER << 1, .upi = 1, .sealed_by = 2, \
                              .seid = 2, .deid = 1, __VA_ARGS__ }

enum { HEAD = UB_NTH16_SIZE + 1, TAH = RAW_TAH, DATA = 16 };

/* Bytes from the CIPH to the ICV, included. */
static uint32_t sealed_len(const Forged *f)
{
    return CIPH + (f->nlp == NLP_NARROW ? NARROW : WIDE) + TAH + DATA + ICV;
}

static void forge(EngPair *p, const Forged *f)
{
    const UbNth nth = { .scna = 2, .dcna = 1, .nlp = UB_NLP_CTPH };
    uint8_t b[256] = { 0 }, *c = b + HEAD, *s = c + CIPH, *t, key[32], iv[12], tag[16];
    uint32_t body = f->nlp == NLP_NARROW ? NARROW : WIDE, pad;
    uint32_t len = f->cut ? CIPH + body : sealed_len(f);

    pad = -(len + 1) & 3;
    ub_nth16_put(b, &nth);
    b[UB_NTH16_SIZE] = pad << 4 | 3;            /* CTPH: a CIPH follows */
    stl_be_p(c, f->nlp << 28 | f->id);
    stl_be_p(c + 4, f->sn);
    if (body == WIDE) {
        stl_be_p(s, f->upi);
        stl_be_p(s + 16, f->seid);
        stl_be_p(s + 32, f->deid);
    } else {
        uint64_t pair = (uint64_t)f->seid << 20 | f->deid;

        stw_be_p(s, f->upi);
        s[2] = pair >> 32;
        stl_be_p(s + 3, pair);
    }
    t = s + body;
    raw_request(t, UB_TA_WRITE, 1, f->tassn, p->b.queue.id, 0, DATA);
    memset(t + TAH, f->fill, DATA);
    key_of(f->sealed_by, SERIAL, f->sn, key, iv);
    gcm(AES, true, key, iv, c, CIPH + body + 4, CIPH + body + TAH + DATA, tag);
    memcpy(t + TAH + DATA, tag, ICV);
    if (f->flip) {
        c[(f->flip - 1) / 8] ^= 1u << (f->flip - 1) % 8;
    }
    memset(c + len, 0, 4);
    raw_seal(UB_LPH_CNA16, b, HEAD + len + pad);
    raw_send(&p->b, UB_LPH_CNA16, b, HEAD + len + pad + UB_ICRC_SIZE);
}

static bool all_are(EngPair *p, unsigned value)
{
    const uint8_t *at = p->a.drv.memory + p->a.room;

    for (unsigned i = 0; i < DATA; i++) {
        if (at[i] != value) {
            return false;
        }
    }
    return true;
}

static uint64_t count(EngPair *p, const char *floor, const char *name)
{
    return eng_counter(&p->a, floor, name);
}

/* It is dropped for this reason, and no other is counted. */
static void refuse(EngPair *p, const Forged *f, const char *floor, const char *why)
{
    static const char *const cip[] = {
        "cip-opened", "cip-rx-off", "cip-rx-missing", "cip-rx-policy",
        "cip-rx-no-key", "cip-rx-peer", "cip-rx-short", "cip-rx-replay",
        "cip-rx-old", "cip-rx-icv",
    };
    uint64_t before = count(p, floor, why), was[G_N_ELEMENTS(cip)];

    for (unsigned i = 0; i < G_N_ELEMENTS(cip); i++) {
        was[i] = count(p, "cip", cip[i]);
    }
    forge(p, f);
    QUBC_WAIT(count(p, floor, why) == before + 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(cip); i++) {
        g_assert_cmpuint(count(p, "cip", cip[i]), ==,
                         was[i] + !strcmp(cip[i], why));
    }
}

static void forge_start(EngPair *p)
{
    EngPlan plan = { .carrier = ENG_CTP, .props = "cip=on," STEADY };

    eng_start(p, &plan);
    cip_bring_up(p, AES);
    memset(p->a.drv.memory + p->a.room, 0xee, DATA);
    raw_open(&p->b);
}

static void test_forged(void)
{
    static const struct {
        Forged f;
        const char *floor, *why;
    } bad[] = {
        /* §11.5.2.3: numbers of forms that are reserved, and another's. */
        { HONEST(.sn = 2, .nlp = NLP_RESERVED), "transaction", "drop-sec" },
        { HONEST(.sn = 2, .nlp = 7), "transaction", "drop-sec" },
        { HONEST(.sn = 2, .nlp = 15), "transaction", "drop-sec" },
        /* The CIP ID: of no policy, of a slot without a key. */
        { HONEST(.sn = 2, .id = (NUMBER + 1) << 1), "cip", "cip-rx-policy" },
        { HONEST(.sn = 2, .id = 0xfffffe), "cip", "cip-rx-policy" },
        { HONEST(.sn = 2, .id = NUMBER << 1 | 1), "cip", "cip-rx-no-key" },
        /* From another than the policy is for. */
        { HONEST(.sn = 2, .seid = 3), "cip", "cip-rx-peer" },
        { HONEST(.sn = 2, .nlp = NLP_NARROW, .seid = 3), "cip", "cip-rx-peer" },
        /* For nobody. */
        { HONEST(.sn = 2, .deid = 9), "transaction", "drop-entity" },
        /* §11.5.2.4: the partition first, whether the rest is good or not. */
        { HONEST(.sn = 2, .upi = 2), "transaction", "drop-upi" },
        { HONEST(.sn = 2, .upi = 2, .flip = 600), "transaction", "drop-upi" },
        { HONEST(.sn = 2, .upi = 2, .nlp = NLP_NARROW), "transaction", "drop-upi" },
        { HONEST(.sn = 1, .upi = 2), "transaction", "drop-upi" },
        /* Numbers. */
        { HONEST(.sn = 1), "cip", "cip-rx-replay" },
        { HONEST(.sn = 0), "cip", "cip-rx-replay" },
        /* The other direction's key. */
        { HONEST(.sn = 2, .sealed_by = 1), "cip", "cip-rx-icv" },
        { HONEST(.sn = 2, .cut = true), "cip", "cip-rx-short" },
    };
    EngPair p;

    forge_start(&p);
    forge(&p, &HONEST(.sn = 1, .fill = 0x11));
    QUBC_WAIT(all_are(&p, 0x11));
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        refuse(&p, &bad[i].f, bad[i].floor, bad[i].why);
    }
    g_assert_true(all_are(&p, 0x11));
    /* They have used no number up. */
    forge(&p, &HONEST(.sn = 2, .nlp = NLP_NARROW, .fill = 0x22, .tassn = 1));
    QUBC_WAIT(all_are(&p, 0x22));
    eng_stop(&p);
}

/* No bit from the CIPH to the end of the data may differ, nor one of the 96 of the
 * ICV: one of each byte, each in its turn. */
static void test_bits(void)
{
    Forged f = HONEST(.sn = 1, .fill = 0x33);
    uint32_t first = 8 * (CIPH + WIDE), end = 8 * sealed_len(&f);
    EngPair p;

    forge_start(&p);
    /* SN: others have no ICV for it. */
    f.flip = 8 * 7 + 5 + 1;
    refuse(&p, &f, "cip", "cip-rx-icv");
    for (uint32_t bit = first; bit < end; bit += 9 - (bit % 8 == 7 ? 8 : 0)) {
        f.flip = bit + 1;
        refuse(&p, &f, "cip", "cip-rx-icv");
    }
    g_assert_true(all_are(&p, 0xee));
    f.flip = 0;
    forge(&p, &f);
    QUBC_WAIT(all_are(&p, 0x33));
    eng_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    gcry_check_version(NULL);
    gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
    gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
    qtest_add_func("/ubc-cip-wire/ciphers", test_ciphers);
    qtest_add_func("/ubc-cip-wire/sealed", test_sealed);
    qtest_add_func("/ubc-cip-wire/by-deid", test_by_deid);
    qtest_add_func("/ubc-cip-wire/forged", test_forged);
    qtest_add_func("/ubc-cip-wire/bits", test_bits);
    return g_test_run();
}
