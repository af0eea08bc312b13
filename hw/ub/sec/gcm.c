/*
 * AES-256-GCM and SM4-GCM of libgcrypt.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE             /* explicit_bzero */
#endif
#include <gcrypt.h>
#include <glib.h>
#include <string.h>

#include "gcm.h"

struct Gcm {
    gcry_cipher_hd_t hd;
};

static const struct {
    int algo;
    size_t key;
} suites[UB_CIP_SUITES] = {
    [UB_CIP_AES_256_GCM] = { GCRY_CIPHER_AES256, 32 },
    [UB_CIP_SM4_128_GCM] = { GCRY_CIPHER_SM4, 16 },
};

bool gcm_ready(void)
{
    static gsize done;
    static bool good;

    if (g_once_init_enter(&done)) {
        /* Who else in this process uses the library may have begun. */
        if (!gcry_control(GCRYCTL_INITIALIZATION_FINISHED_P)) {
            gcry_check_version(NULL);
            gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
            gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
        }
        good = true;
        for (unsigned i = UB_CIP_NO_SUITE + 1; i < UB_CIP_SUITES; i++) {
            good &= !gcry_cipher_test_algo(suites[i].algo) &&
                    gcry_cipher_get_algo_keylen(suites[i].algo) ==
                    suites[i].key;
        }
        good &= !gcry_md_test_algo(GCRY_MD_SHA256);
        g_once_init_leave(&done, 1);
    }
    return good;
}

size_t gcm_key_len(UbCipSuite suite)
{
    return suite < UB_CIP_SUITES ? suites[suite].key : 0;
}

Gcm *gcm_new(UbCipSuite suite, const uint8_t *key)
{
    Gcm *gcm = g_new0(Gcm, 1);

    if (gcry_cipher_open(&gcm->hd, suites[suite].algo, GCRY_CIPHER_MODE_GCM,
                         0) ||
        gcry_cipher_setkey(gcm->hd, key, suites[suite].key)) {
        g_error("libgcrypt has lost a cipher that it had");
    }
    return gcm;
}

void gcm_print(UbCipSuite suite, const uint8_t *key, const uint8_t *iv,
               uint8_t print[GCM_PRINT])
{
    uint8_t in[1 + UB_CIP_KEY_MAX + GCM_IV_FIXED] = { suite }, hash[32];

    memcpy(in + 1, key, suites[suite].key);
    memcpy(in + 1 + UB_CIP_KEY_MAX, iv, GCM_IV_FIXED);
    gcry_md_hash_buffer(GCRY_MD_SHA256, hash, in, sizeof(in));
    explicit_bzero(in, sizeof(in));
    memcpy(print, hash, GCM_PRINT);
}

void gcm_free(Gcm *gcm)
{
    if (gcm) {
        gcry_cipher_close(gcm->hd);
        g_free(gcm);
    }
}

/* No step can fail for what comes from outside: lengths and order are ours. */
static void check(gcry_error_t err)
{
    if (err) {
        g_error("libgcrypt: %s", gcry_strerror(err));
    }
}

static void begin(Gcm *gcm, const uint8_t *iv, const uint8_t *aad,
                  size_t aad_len)
{
    check(gcry_cipher_setiv(gcm->hd, iv, UB_CIP_IV_LEN));
    check(gcry_cipher_authenticate(gcm->hd, aad, aad_len));
}

void gcm_seal(Gcm *gcm, const uint8_t iv[UB_CIP_IV_LEN], const uint8_t *aad,
              size_t aad_len, uint8_t *data, size_t len, uint8_t tag[GCM_TAG])
{
    begin(gcm, iv, aad, aad_len);
    if (len) {
        check(gcry_cipher_encrypt(gcm->hd, data, len, NULL, 0));
    }
    check(gcry_cipher_gettag(gcm->hd, tag, GCM_TAG));
}

void gcm_open(Gcm *gcm, const uint8_t iv[UB_CIP_IV_LEN], const uint8_t *aad,
              size_t aad_len, uint8_t *data, size_t len, uint8_t tag[GCM_TAG])
{
    begin(gcm, iv, aad, aad_len);
    if (len) {
        check(gcry_cipher_decrypt(gcm->hd, data, len, NULL, 0));
    }
    check(gcry_cipher_gettag(gcm->hd, tag, GCM_TAG));
}
