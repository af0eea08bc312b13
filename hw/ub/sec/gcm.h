/*
 * Authenticated encryption by Galois/Counter Mode, from the library of ciphers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_SEC_GCM_H
#define HW_UB_SEC_GCM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ub/cip.h"

#define GCM_TAG 16
#define GCM_PRINT 16
/* Bytes of an IV that tell one set of nonces from another: the rest is XORed with
 * all there is of SN. */
#define GCM_IV_FIXED 8

typedef struct Gcm Gcm;

/* The library is there and has what is needed. */
bool gcm_ready(void);
/* Bytes of a key of @suite. */
size_t gcm_key_len(UbCipSuite suite);
Gcm *gcm_new(UbCipSuite suite, const uint8_t *key);
/* What a key and the first bytes of its IV can be known by, and not be made of. */
void gcm_print(UbCipSuite suite, const uint8_t *key, const uint8_t *iv,
               uint8_t print[GCM_PRINT]);
/* The key is wiped.  NULL is ignored. */
void gcm_free(Gcm *gcm);
/* Encrypt @len bytes where they are, and make the tag of these and of @aad. */
void gcm_seal(Gcm *gcm, const uint8_t iv[UB_CIP_IV_LEN], const uint8_t *aad,
              size_t aad_len, uint8_t *data, size_t len, uint8_t tag[GCM_TAG]);
/* Decrypt them, and make the tag that they should have had. */
void gcm_open(Gcm *gcm, const uint8_t iv[UB_CIP_IV_LEN], const uint8_t *aad,
              size_t aad_len, uint8_t *data, size_t len, uint8_t tag[GCM_TAG]);

#endif
