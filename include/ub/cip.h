/*
 * Confidentiality and integrity of what Entities say to each other (CIP, UB 2.0
 * §11.5): a packet of the transaction layer is sealed by its Entity and opened by
 * the Entity that it is for.
 *
 * An Entity has policies, by number.  A policy is for one peer and has a cipher
 * suite, what of a packet is hidden, and two key slots each way.  A packet names
 * the policy and the slot of its receiver: CIP ID is policy << 1 | slot.
 *
 *     TPH | CIPH | UPIH EIDH | TAH data | ICV | padding ICRC
 *         |<------- authenticated ----->|
 *                              |<-hidden|     from dword @clear of the TAH on
 *
 * CIPH is 8 bytes, most significant first: NLP 4, 0 4, CIP ID 24, SN 32.  The
 * nonce is the IV of the key, its last 32 bits XORed with SN, which counts the
 * packets of a key from 1 on.  The ICV is 12 bytes of the tag.  (The document
 * gives neither; docs/decisions/ub-sec.rst.)
 *
 * Keys come in and never go out; only a migration stream has them, if the
 * configuration says so.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_CIP_H
#define UB_CIP_H

#include "ub/sec.h"

enum {
    UB_CIP_POLICIES = 16,       /* of an Entity */
    UB_CIP_SLOTS = 2,           /* each way */
    UB_CIP_KEY_MAX = 32,        /* bytes */
    UB_CIP_IV_LEN = 12,
    UB_CIP_ICV_LEN = 12,
    UB_CIP_CLEAR_MAX = 15,      /* dwords */
    UB_CIP_PEERS = 1 << 23,     /* numbers of policies that a CIP ID can name */
    UB_CIP_WINDOW_MIN = 64,     /* packets, a power of two */
    UB_CIP_WINDOW_MAX = 65536,
};

typedef enum UbCipSuite {
    UB_CIP_NO_SUITE,
    UB_CIP_AES_256_GCM,         /* NIST SP 800-38D; keys of 32 bytes */
    UB_CIP_SM4_128_GCM,         /* GM/T 0002-2012; of 16 */
    UB_CIP_SUITES
} UbCipSuite;

typedef enum UbCipWay { UB_CIP_RX, UB_CIP_TX, UB_CIP_WAYS } UbCipWay;

/* Of an Entity; 0: CIP is off, packets with a CIPH are dropped. */
enum {
    UB_CIP_ON = 1 << 0,         /* what is not sealed is dropped, and not sent */
    UB_CIP_MIXED = 1 << 1,      /* but with peers that no policy is for */
    UB_CIP_MANAGER = 1 << 2,    /* what the UBFM says and hears is sealed, too */
    UB_CIP_MODES = 7,
};

typedef struct UbCipConfig {
    uint32_t window;            /* replay: so far may a packet come behind */
    uint32_t sn_last;           /* after it a key is exhausted */
    bool icv_last;              /* the ICV is the last bytes of the tag, else the
                                 * first */
    bool migrate;               /* keys are in the migration stream */
} UbCipConfig;

typedef struct UbCipPolicy {
    UbEid peer;                 /* all 0: of packets without EIDH */
    uint32_t peer_policy;       /* number of the peer's policy for us */
    uint8_t suite;              /* UbCipSuite */
    bool hide;                  /* else nothing is encrypted */
    uint8_t clear;              /* dwords of the TAH that stay readable */
} UbCipPolicy;

/* Answers to what is asked of policies and keys. */
typedef enum UbCipResult {
    UB_CIP_OK,
    UB_CIP_NO_POLICY,           /* no such number, or it has not been set */
    UB_CIP_BAD_POLICY,          /* a field of it is out of range */
    UB_CIP_NO_KEY,              /* the slot is empty */
    UB_CIP_RX_FIRST,            /* sending before the slot can receive */
    UB_CIP_REUSED,              /* the Entity has, or had, this key and IV[0..7] */
    UB_CIP_NO_COMMAND,
    UB_CIP_INCOMPLETE,          /* of key and IV not all has been written */
    UB_CIP_RESULTS
} UbCipResult;

typedef enum UbCipCounter {
    UB_CIPC_SEALED,
    UB_CIPC_OPENED,
    UB_CIPC_TX_NO_POLICY,       /* not sent: no policy is for the peer, or CFG 9 */
    UB_CIPC_TX_NO_KEY,          /* its policy sends by no key */
    UB_CIPC_TX_EXHAUSTED,       /* the key has no numbers left */
    UB_CIPC_RX_OFF,             /* dropped: CIPH where CIP is off */
    UB_CIPC_RX_MISSING,         /* none where one is expected */
    UB_CIPC_RX_POLICY,          /* CIP ID of no policy */
    UB_CIPC_RX_NO_KEY,
    UB_CIPC_RX_PEER,            /* from another than the policy is for */
    UB_CIPC_RX_SHORT,           /* no room for an ICV */
    UB_CIPC_RX_REPLAY,          /* came before, or SN 0 */
    UB_CIPC_RX_OLD,             /* behind the window */
    UB_CIPC_RX_ICV,
    UB_CIPC_KEYS_SET,
    UB_CIPC_KEYS_ERASED,
    UB_CIP_COUNTERS
} UbCipCounter;

/* What may be known of a policy. */
typedef struct UbCipView {
    bool set;
    UbCipPolicy policy;
    bool keyed[UB_CIP_WAYS][UB_CIP_SLOTS];
    /* TX: the next SN, beyond sn_last: exhausted; RX: the highest that came. */
    uint64_t sn[UB_CIP_WAYS][UB_CIP_SLOTS];
    int use;                    /* slot that is sent by, or -1 */
} UbCipView;

void ub_cip_config_init(UbCipConfig *cfg);
/* NULL, or the rule that is broken. */
const char *ub_cip_config_check(const UbCipConfig *cfg);

/* Nothing is on, no policies; NULL: the library of ciphers is not usable. */
UbCip *ub_cip_new(void);
void ub_cip_free(UbCip *cip);
/* Before anything is set. */
void ub_cip_configure(UbCip *cip, const UbCipConfig *cfg);
const UbCipConfig *ub_cip_config(const UbCip *cip);
/* CIP of an Entity, or of all, is off, its keys and policies are erased. */
void ub_cip_reset_entity(UbCip *cip, unsigned entity);
void ub_cip_reset(UbCip *cip);

/* UB_CIP_ON and so on. */
void ub_cip_set_mode(UbCip *cip, unsigned entity, unsigned mode);
unsigned ub_cip_mode(const UbCip *cip, unsigned entity);
/* Set a policy, NULL: it goes.  Keys that it had are erased. */
UbCipResult ub_cip_set_policy(UbCip *cip, unsigned entity, unsigned policy,
                              const UbCipPolicy *p);
/*
 * Put a key into a slot; numbers and window begin anew.  One that the Entity has in
 * any slot of any policy, in either direction, with the same first 8 bytes of the
 * IV is refused, and so are the last 256 that sealed or opened something.
 */
UbCipResult ub_cip_set_key(UbCip *cip, unsigned entity, unsigned policy,
                           UbCipWay way, unsigned slot,
                           const uint8_t key[UB_CIP_KEY_MAX],
                           const uint8_t iv[UB_CIP_IV_LEN]);
UbCipResult ub_cip_erase_key(UbCip *cip, unsigned entity, unsigned policy,
                             UbCipWay way, unsigned slot);
/* From now on the policy sends by this slot. */
UbCipResult ub_cip_use(UbCip *cip, unsigned entity, unsigned policy,
                       unsigned slot);
/* False: there is no such policy. */
bool ub_cip_view(const UbCip *cip, unsigned entity, unsigned policy,
                 UbCipView *view);
uint64_t ub_cip_counter(const UbCip *cip, UbCipCounter c);
const char *ub_cip_counter_name(UbCipCounter c);
/* Bytes of its keys; 0: there is no such suite. */
size_t ub_cip_key_len(UbCipSuite suite);
const char *ub_cip_suite_name(UbCipSuite suite);

#define UB_CIP_TAG CORE_TAG('C', 'I', 'P', ' ')
/* Something was set since the last reset, and is to be told in an image. */
bool ub_cip_touched(const UbCip *cip);
void ub_cip_image(UbCip *cip, CoreImage *im);

#endif
