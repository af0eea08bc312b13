/*
 * CIP: policies, keys, numbers; sealing and opening (UB 2.0 §11.5.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE             /* explicit_bzero */
#endif
#include <glib.h>
#include <string.h>

#include "core/bytes.h"
#include "gcm.h"
#include "internal.h"

typedef struct Key {
    Gcm *gcm;                   /* NULL: the slot is empty */
    uint8_t key[UB_CIP_KEY_MAX], iv[UB_CIP_IV_LEN];
    uint64_t sn;                /* TX: next; RX: the highest that came */
    uint64_t *map;              /* RX: bit SN % window, of the last of them */
} Key;

typedef struct Policy {
    bool set;
    UbCipPolicy is;
    Key key[UB_CIP_WAYS][UB_CIP_SLOTS];
    int use;
} Policy;

/* Keys that an Entity remembers to have been used up. */
#define SPENT 256

typedef struct Entity {
    unsigned mode;
    Policy policy[UB_CIP_POLICIES];
    uint8_t spent[SPENT][GCM_PRINT];    /* a ring */
    unsigned spent_next;
} Entity;

struct UbCip {
    UbCipConfig cfg;
    Entity *entity[UB_SEC_ENTITIES];    /* NULL: nothing was ever set */
    unsigned entities;                  /* of them */
    uint64_t count[UB_CIP_COUNTERS];
};

/* ---- settings ---- */

void ub_cip_config_init(UbCipConfig *cfg)
{
    *cfg = (UbCipConfig) { .window = UB_CIP_WINDOW_MAX,
                           .sn_last = UINT32_MAX };
}

const char *ub_cip_config_check(const UbCipConfig *cfg)
{
    if (cfg->window < UB_CIP_WINDOW_MIN || cfg->window > UB_CIP_WINDOW_MAX ||
        cfg->window & (cfg->window - 1)) {
        return "the window of CIP is a power of two, 64 to 65536 packets";
    }
    return cfg->sn_last ? NULL : "the last SN of CIP is 1 at least";
}

UbCip *ub_cip_new(void)
{
    UbCip *cip;

    if (!gcm_ready()) {
        return NULL;
    }
    cip = g_new0(UbCip, 1);
    ub_cip_config_init(&cip->cfg);
    return cip;
}

void ub_cip_free(UbCip *cip)
{
    if (cip) {
        ub_cip_reset(cip);
        g_free(cip);
    }
}

void ub_cip_configure(UbCip *cip, const UbCipConfig *cfg)
{
    cip->cfg = *cfg;
}

const UbCipConfig *ub_cip_config(const UbCip *cip)
{
    return &cip->cfg;
}

/* ---- keys ---- */

/* A key that has sealed or opened must not come back: its numbers would begin
 * again. */
static void key_spent(Entity *e, const Policy *p, const Key *k, UbCipWay way)
{
    if (k->sn > (way == UB_CIP_TX)) {
        gcm_print(p->is.suite, k->key, k->iv, e->spent[e->spent_next]);
        e->spent_next = (e->spent_next + 1) % SPENT;
    }
}

static void key_erase(UbCip *cip, Entity *e, Policy *p, UbCipWay way,
                      unsigned slot)
{
    Key *k = &p->key[way][slot];

    if (k->gcm) {
        key_spent(e, p, k, way);
        gcm_free(k->gcm);
        g_free(k->map);
        explicit_bzero(k, sizeof(*k));
        cip->count[UB_CIPC_KEYS_ERASED]++;
    }
}

static void policy_erase(UbCip *cip, Entity *e, Policy *p)
{
    for (unsigned way = 0; way < UB_CIP_WAYS; way++) {
        for (unsigned i = 0; i < UB_CIP_SLOTS; i++) {
            key_erase(cip, e, p, way, i);
        }
    }
    *p = (Policy) { .use = -1 };
}

void ub_cip_reset_entity(UbCip *cip, unsigned entity)
{
    Entity *e = entity < UB_SEC_ENTITIES ? cip->entity[entity] : NULL;

    if (e) {
        for (unsigned i = 0; i < UB_CIP_POLICIES; i++) {
            policy_erase(cip, e, &e->policy[i]);
        }
        g_free(e);
        cip->entity[entity] = NULL;
        cip->entities--;
    }
}

void ub_cip_reset(UbCip *cip)
{
    for (unsigned i = 0; i < UB_SEC_ENTITIES; i++) {
        ub_cip_reset_entity(cip, i);
    }
}

static Entity *entity_make(UbCip *cip, unsigned entity)
{
    Entity *e = cip->entity[entity % UB_SEC_ENTITIES];

    if (!e) {
        e = g_new0(Entity, 1);
        for (unsigned i = 0; i < UB_CIP_POLICIES; i++) {
            e->policy[i].use = -1;
        }
        cip->entity[entity % UB_SEC_ENTITIES] = e;
        cip->entities++;
    }
    return e;
}

static Policy *policy_of(const UbCip *cip, unsigned entity, unsigned policy)
{
    Entity *e = entity < UB_SEC_ENTITIES ? cip->entity[entity] : NULL;

    return e && policy < UB_CIP_POLICIES && e->policy[policy].set
           ? &e->policy[policy] : NULL;
}

void ub_cip_set_mode(UbCip *cip, unsigned entity, unsigned mode)
{
    if (mode || cip->entity[entity % UB_SEC_ENTITIES]) {
        entity_make(cip, entity)->mode = mode & UB_CIP_MODES;
    }
}

unsigned ub_cip_mode(const UbCip *cip, unsigned entity)
{
    const Entity *e = cip->entity[entity % UB_SEC_ENTITIES];

    return e ? e->mode : 0;
}

static bool policy_good(const UbCipPolicy *p)
{
    return p->suite > UB_CIP_NO_SUITE && p->suite < UB_CIP_SUITES &&
           p->clear <= UB_CIP_CLEAR_MAX && p->peer_policy < UB_CIP_PEERS;
}

UbCipResult ub_cip_set_policy(UbCip *cip, unsigned entity, unsigned policy,
                              const UbCipPolicy *p)
{
    Entity *e;
    Policy *to;

    if (policy >= UB_CIP_POLICIES || entity >= UB_SEC_ENTITIES ||
        (!p && !policy_of(cip, entity, policy))) {
        return UB_CIP_NO_POLICY;
    }
    if (p && !policy_good(p)) {
        return UB_CIP_BAD_POLICY;
    }
    e = entity_make(cip, entity);
    to = &e->policy[policy];
    policy_erase(cip, e, to);
    if (p) {
        to->is = *p;
        to->set = true;
    }
    return UB_CIP_OK;
}

static void key_put(UbCip *cip, Entity *e, Policy *p, UbCipWay way,
                    unsigned slot, const uint8_t *key, const uint8_t *iv)
{
    size_t len = ub_cip_key_len(p->is.suite);
    Key *k = &p->key[way][slot];

    key_erase(cip, e, p, way, slot);
    memcpy(k->key, key, len);
    memcpy(k->iv, iv, UB_CIP_IV_LEN);
    k->gcm = gcm_new(p->is.suite, key);
    k->sn = way == UB_CIP_TX;
    k->map = way == UB_CIP_RX ? g_new0(uint64_t, cip->cfg.window / 64) : NULL;
}

static bool policy_knows(const Policy *p, unsigned suite, const uint8_t *key,
                         const uint8_t *iv)
{
    const Key *keys = &p->key[0][0];

    for (unsigned i = 0; i < UB_CIP_WAYS * UB_CIP_SLOTS; i++) {
        const Key *k = &keys[i];

        if (k->gcm && p->is.suite == suite &&
            !memcmp(k->key, key, ub_cip_key_len(suite)) &&
            !memcmp(k->iv, iv, GCM_IV_FIXED)) {
            return true;
        }
    }
    return false;
}

/*
 * Two that seal by one key and one IV share nonces, whatever the last 32 bits of the
 * IV are: SN is XORed with these and becomes any of them (SP 800-38D, 8: never twice).
 * So do both ends of a channel whose directions have one key, and a key that begins
 * anew after it was used; that would let come again what came, too.
 */
static bool key_known(const Entity *e, const Policy *for_p, const uint8_t *key,
                      const uint8_t *iv)
{
    unsigned suite = for_p->is.suite;
    uint8_t print[GCM_PRINT];

    for (unsigned i = 0; i < UB_CIP_POLICIES; i++) {
        if (policy_knows(&e->policy[i], suite, key, iv)) {
            return true;
        }
    }
    gcm_print(suite, key, iv, print);
    for (unsigned i = 0; i < SPENT; i++) {
        if (!memcmp(e->spent[i], print, GCM_PRINT)) {
            return true;
        }
    }
    return false;
}

UbCipResult ub_cip_set_key(UbCip *cip, unsigned entity, unsigned policy,
                           UbCipWay way, unsigned slot,
                           const uint8_t key[UB_CIP_KEY_MAX],
                           const uint8_t iv[UB_CIP_IV_LEN])
{
    Policy *p = policy_of(cip, entity, policy);

    if (!p || way >= UB_CIP_WAYS || slot >= UB_CIP_SLOTS) {
        return UB_CIP_NO_POLICY;
    }
    if (key_known(cip->entity[entity], p, key, iv)) {
        return UB_CIP_REUSED;
    }
    key_put(cip, cip->entity[entity], p, way, slot, key, iv);
    cip->count[UB_CIPC_KEYS_SET]++;
    return UB_CIP_OK;
}

UbCipResult ub_cip_erase_key(UbCip *cip, unsigned entity, unsigned policy,
                             UbCipWay way, unsigned slot)
{
    Policy *p = policy_of(cip, entity, policy);

    if (!p || way >= UB_CIP_WAYS || slot >= UB_CIP_SLOTS) {
        return UB_CIP_NO_POLICY;
    }
    if (!p->key[way][slot].gcm) {
        return UB_CIP_NO_KEY;
    }
    key_erase(cip, cip->entity[entity], p, way, slot);
    if (way == UB_CIP_TX && p->use == (int)slot) {
        p->use = -1;
    }
    return UB_CIP_OK;
}

UbCipResult ub_cip_use(UbCip *cip, unsigned entity, unsigned policy,
                       unsigned slot)
{
    Policy *p = policy_of(cip, entity, policy);

    if (!p || slot >= UB_CIP_SLOTS) {
        return UB_CIP_NO_POLICY;
    }
    if (!p->key[UB_CIP_TX][slot].gcm) {
        return UB_CIP_NO_KEY;
    }
    /* §11.5.2.1: the receiving side is set up before the sending one. */
    if (!p->key[UB_CIP_RX][slot].gcm) {
        return UB_CIP_RX_FIRST;
    }
    p->use = slot;
    return UB_CIP_OK;
}

/* ---- views ---- */

bool ub_cip_view(const UbCip *cip, unsigned entity, unsigned policy,
                 UbCipView *view)
{
    const Policy *p = policy_of(cip, entity, policy);

    *view = (UbCipView) { .use = -1 };
    if (!p) {
        return false;
    }
    view->set = true;
    view->policy = p->is;
    view->use = p->use;
    for (unsigned way = 0; way < UB_CIP_WAYS; way++) {
        for (unsigned i = 0; i < UB_CIP_SLOTS; i++) {
            view->keyed[way][i] = p->key[way][i].gcm;
            view->sn[way][i] = p->key[way][i].sn;
        }
    }
    return true;
}

uint64_t ub_cip_counter(const UbCip *cip, UbCipCounter c)
{
    return c < UB_CIP_COUNTERS ? cip->count[c] : 0;
}

const char *ub_cip_counter_name(UbCipCounter c)
{
    static const char *const names[UB_CIP_COUNTERS] = {
        [UB_CIPC_SEALED] = "cip-sealed",
        [UB_CIPC_OPENED] = "cip-opened",
        [UB_CIPC_TX_NO_POLICY] = "cip-tx-no-policy",
        [UB_CIPC_TX_NO_KEY] = "cip-tx-no-key",
        [UB_CIPC_TX_EXHAUSTED] = "cip-tx-exhausted",
        [UB_CIPC_RX_OFF] = "cip-rx-off",
        [UB_CIPC_RX_MISSING] = "cip-rx-missing",
        [UB_CIPC_RX_POLICY] = "cip-rx-policy",
        [UB_CIPC_RX_NO_KEY] = "cip-rx-no-key",
        [UB_CIPC_RX_PEER] = "cip-rx-peer",
        [UB_CIPC_RX_SHORT] = "cip-rx-short",
        [UB_CIPC_RX_REPLAY] = "cip-rx-replay",
        [UB_CIPC_RX_OLD] = "cip-rx-old",
        [UB_CIPC_RX_ICV] = "cip-rx-icv",
        [UB_CIPC_KEYS_SET] = "cip-keys-set",
        [UB_CIPC_KEYS_ERASED] = "cip-keys-erased",
    };

    return c < UB_CIP_COUNTERS ? names[c] : NULL;
}

size_t ub_cip_key_len(UbCipSuite suite)
{
    return gcm_key_len(suite);
}

const char *ub_cip_suite_name(UbCipSuite suite)
{
    static const char *const names[UB_CIP_SUITES] = {
        [UB_CIP_NO_SUITE] = "none",
        [UB_CIP_AES_256_GCM] = "aes-256-gcm",
        [UB_CIP_SM4_128_GCM] = "sm4-128-gcm",
    };

    return suite < UB_CIP_SUITES ? names[suite] : NULL;
}

/* ---- packets ---- */

/* The peer's EID as a packet of @form has it. */
static bool is_peer(const UbCipPolicy *p, unsigned form, const UbEid *eid)
{
    static const UbEid none;

    return form == UB_SEC_WIDE ? ub_eid_same(&p->peer, eid)
           : form == UB_SEC_SHORT
             ? ub_eid_short(eid) && ub_eid_short(&p->peer) == ub_eid_short(eid)
           : ub_eid_same(&p->peer, &none);
}

static Policy *policy_for(Entity *e, unsigned form, const UbEid *eid)
{
    for (unsigned i = 0; i < UB_CIP_POLICIES; i++) {
        if (e->policy[i].set && is_peer(&e->policy[i].is, form, eid)) {
            return &e->policy[i];
        }
    }
    return NULL;
}

/* A message of the UBFM or to it; the UPI alone is anybody's to write, and reaches
 * memory with another opcode.  @tah: where it begins in the packet. */
static bool is_manager(const UbSecHead *h, CorePacket *pkt, uint32_t tah)
{
    return h->form == UB_SEC_SHORT && h->upi == UB_UPI_MANAGER &&
           pkt->len > tah &&
           core_packet_data(pkt)[tah] == UB_SEC_OP_MANAGEMENT;
}

/* That of an Entity; NULL: nothing was ever set, or it is a bus instance, which has
 * no registers that could. */
static Entity *entity_at(const UbCip *cip, int entity)
{
    return cip && entity >= 0 && entity < UB_SEC_ENTITIES ? cip->entity[entity]
                                                          : NULL;
}

/* The Entity, if such packets have to be sealed there. */
static Entity *entity_on(const UbCip *cip, int entity, const UbSecHead *h,
                         CorePacket *pkt, uint32_t tah)
{
    Entity *e = entity_at(cip, entity);

    return e && e->mode & UB_CIP_ON &&
           (e->mode & UB_CIP_MANAGER || !is_manager(h, pkt, tah)) ? e : NULL;
}

/* How many bytes, from the CIPH on, are readable; @body: UPIH and EIDH. */
static uint32_t clear_len(const UbCipPolicy *p, uint32_t body, uint32_t len)
{
    uint32_t clear = UB_CIPH_LEN + body + 4 * p->clear;

    return p->hide ? MIN(clear, len) : len;
}

static void nonce(const Key *k, uint32_t sn, uint8_t iv[UB_CIP_IV_LEN])
{
    memcpy(iv, k->iv, UB_CIP_IV_LEN);
    put_be32(iv + 8, get_be32(iv + 8) ^ sn);
}

/* The ICV in a tag. */
static const uint8_t *icv(const UbCip *cip, const uint8_t tag[GCM_TAG])
{
    return cip->cfg.icv_last ? tag + GCM_TAG - UB_CIP_ICV_LEN : tag;
}

static CipSealed refused(UbCip *cip, UbCipCounter c)
{
    cip->count[c]++;
    return CIP_REFUSED;
}

CipSealed cip_seal(UbCip *cip, int entity, const UbSecHead *h, uint32_t body,
                   CorePacket *pkt)
{
    static const uint8_t nlp[] = {
        [UB_SEC_NONE] = CIP_NLP_TAH,
        [UB_SEC_WIDE] = CIP_NLP_WIDE,
        [UB_SEC_SHORT] = CIP_NLP_SHORT,
    };
    Entity *e = entity_on(cip, entity, h, pkt, body);
    Policy *p = e ? policy_for(e, h->form, &h->deid) : NULL;
    uint8_t iv[UB_CIP_IV_LEN], tag[GCM_TAG], *ciph, *end;
    uint32_t len, clear;
    Key *k;

    if (!e || (!p && e->mode & UB_CIP_MIXED)) {
        return CIP_PLAIN;
    }
    if (!p || h->no_ciph) {
        return refused(cip, UB_CIPC_TX_NO_POLICY);
    }
    if (p->use < 0) {
        return refused(cip, UB_CIPC_TX_NO_KEY);
    }
    k = &p->key[UB_CIP_TX][p->use];
    if (k->sn > cip->cfg.sn_last) {
        return refused(cip, UB_CIPC_TX_EXHAUSTED);
    }
    ciph = core_packet_push(pkt, UB_CIPH_LEN);
    len = pkt->len;
    end = core_packet_put(pkt, UB_CIP_ICV_LEN);
    if (!ciph || !end) {
        return CIP_REFUSED;
    }
    put_be32(ciph, (uint32_t)nlp[h->form] << 28 |
                   p->is.peer_policy << 1 | p->use);
    put_be32(ciph + 4, k->sn);
    nonce(k, k->sn, iv);
    clear = clear_len(&p->is, body, len);
    gcm_seal(k->gcm, iv, ciph, clear, ciph + clear, len - clear, tag);
    memcpy(end, icv(cip, tag), UB_CIP_ICV_LEN);
    k->sn++;
    cip->count[UB_CIPC_SEALED]++;
    return CIP_SEALED;
}

bool cip_expects(UbCip *cip, int entity, const UbSecHead *h,
                 CorePacket *pkt)
{
    Entity *e = entity_on(cip, entity, h, pkt, 0);

    if (!e || (e->mode & UB_CIP_MIXED &&
               !policy_for(e, h->form, &h->seid))) {
        return false;
    }
    cip->count[UB_CIPC_RX_MISSING]++;
    return true;
}

/* ---- numbers ---- */

static bool map_get(const Key *k, uint32_t window, uint64_t sn)
{
    return k->map[sn % window / 64] >> sn % 64 & 1;
}

/* Whether @sn may come: UB_CIPC_OPENED, or why not. */
static UbCipCounter sn_check(const UbCip *cip, const Key *k, uint32_t sn)
{
    uint32_t window = cip->cfg.window;

    if (!sn) {
        return UB_CIPC_RX_REPLAY;
    }
    if (sn > k->sn) {
        return UB_CIPC_OPENED;
    }
    if (k->sn - sn >= window) {
        return UB_CIPC_RX_OLD;
    }
    return map_get(k, window, sn) ? UB_CIPC_RX_REPLAY : UB_CIPC_OPENED;
}

static void sn_take(const UbCip *cip, Key *k, uint32_t sn)
{
    uint32_t window = cip->cfg.window;

    if (sn > k->sn) {
        if (sn - k->sn >= window) {
            memset(k->map, 0, window / 8);
        } else {
            for (uint64_t n = k->sn + 1; n < sn; n++) {
                k->map[n % window / 64] &= ~(UINT64_C(1) << n % 64);
            }
        }
        k->sn = sn;
    }
    k->map[sn % window / 64] |= UINT64_C(1) << sn % 64;
}

/* All of it is looked at, wherever they differ. */
static bool same_icv(const uint8_t *a, const uint8_t *b)
{
    uint8_t diff = 0;

    for (unsigned i = 0; i < UB_CIP_ICV_LEN; i++) {
        diff |= a[i] ^ b[i];
    }
    return !diff;
}

/* UB_CIPC_OPENED, or why not. */
static UbCipCounter open_by(UbCip *cip, Policy *p, Key *k, const UbSecHead *h,
                            uint32_t body, CorePacket *pkt)
{
    uint8_t iv[UB_CIP_IV_LEN], tag[GCM_TAG], *ciph = core_packet_data(pkt);
    UbCipCounter verdict;
    uint32_t len, clear;

    if (!k->gcm) {
        return UB_CIPC_RX_NO_KEY;
    }
    if (!is_peer(&p->is, h->form, &h->seid)) {
        return UB_CIPC_RX_PEER;
    }
    if (pkt->len < UB_CIPH_LEN + body + UB_CIP_ICV_LEN) {
        return UB_CIPC_RX_SHORT;
    }
    verdict = sn_check(cip, k, h->sn);
    if (verdict != UB_CIPC_OPENED) {
        return verdict;
    }
    core_packet_trim(pkt, UB_CIP_ICV_LEN);
    len = pkt->len;
    clear = clear_len(&p->is, body, len);
    nonce(k, h->sn, iv);
    gcm_open(k->gcm, iv, ciph, clear, ciph + clear, len - clear, tag);
    if (!same_icv(ciph + len, icv(cip, tag))) {
        return UB_CIPC_RX_ICV;
    }
    sn_take(cip, k, h->sn);
    return verdict;
}

UbSecFault cip_open(UbCip *cip, int entity, const UbSecHead *h, uint32_t body,
                    CorePacket *pkt)
{
    Entity *e = entity_at(cip, entity);
    UbCipCounter verdict;
    Policy *p;

    if (!e || !(e->mode & UB_CIP_ON)) {
        if (cip) {
            cip->count[UB_CIPC_RX_OFF]++;
        }
        return UB_SEC_CIP_OFF;
    }
    p = policy_of(cip, entity, h->cip_id >> 1);
    verdict = p ? open_by(cip, p, &p->key[UB_CIP_RX][h->cip_id & 1], h, body,
                          pkt)
                : UB_CIPC_RX_POLICY;
    cip->count[verdict]++;
    return verdict == UB_CIPC_OPENED ? UB_SEC_GOOD : UB_SEC_CIP;
}

/* ---- migration ---- */

bool ub_cip_touched(const UbCip *cip)
{
    return cip->entities;
}

/* Only where keys travel. */
static void image_key(UbCip *cip, CoreImage *im, Entity *e, Policy *p,
                      UbCipWay way, unsigned slot)
{
    Key *k = &p->key[way][slot];
    uint8_t key[UB_CIP_KEY_MAX], iv[UB_CIP_IV_LEN];
    bool there = k->gcm;

    core_image_flag(im, &there);
    if (!there) {
        return;
    }
    memcpy(key, k->key, sizeof(key));
    memcpy(iv, k->iv, sizeof(iv));
    core_image_bytes(im, key, sizeof(key));
    core_image_bytes(im, iv, sizeof(iv));
    if (core_image_loading(im) && !core_image_error(im)) {
        key_put(cip, e, p, way, slot, key, iv);
    }
    explicit_bzero(key, sizeof(key));
    core_image_int(im, &k->sn);
    core_image_check(im, way == UB_CIP_RX
                         ? k->sn <= UINT32_MAX
                         : k->sn && k->sn <= (uint64_t)UINT32_MAX + 1,
                     "a number of a CIP key is too large");
    for (uint32_t i = 0; k->map && i < cip->cfg.window / 64; i++) {
        core_image_int(im, &k->map[i]);
    }
}

static void image_policy(UbCip *cip, CoreImage *im, Entity *e, Policy *p)
{
    int8_t use = p->use;

    core_image_flag(im, &p->set);
    if (!p->set) {
        return;
    }
    core_image_bytes(im, &p->is.peer, sizeof(p->is.peer));
    core_image_int(im, &p->is.peer_policy);
    core_image_int(im, &p->is.suite);
    core_image_flag(im, &p->is.hide);
    core_image_int(im, &p->is.clear);
    if (!core_image_check(im, policy_good(&p->is),
                          "a CIP policy of the image cannot be")) {
        p->set = false;
        return;
    }
    if (!cip->cfg.migrate) {
        return;                 /* cold: nothing passes until keys come */
    }
    core_image_int(im, &use);
    for (unsigned way = 0; way < UB_CIP_WAYS; way++) {
        for (unsigned i = 0; i < UB_CIP_SLOTS; i++) {
            image_key(cip, im, e, p, way, i);
        }
    }
    if (core_image_check(im, use >= -1 && use < UB_CIP_SLOTS &&
                         (use < 0 || p->key[UB_CIP_TX][use].gcm),
                         "a CIP policy sends by a slot without a key")) {
        p->use = use;
    }
}

void ub_cip_image(UbCip *cip, CoreImage *im)
{
    uint32_t n = cip->entities;

    core_image_check(im, core_image_begin(im, UB_CIP_TAG, 2) == 2,
                     "CIP of a source that does not tell its settings");
    core_image_same(im, cip->cfg.migrate,
                    "CIP keys travel, or do not, unlike those of the source");
    core_image_same(im, cip->cfg.window,
                    "the source has another window of CIP");
    core_image_same(im, cip->cfg.icv_last,
                    "the source takes the ICV from the other end of the tag");
    core_image_same(im, cip->cfg.sn_last,
                    "keys of the source end after another SN");
    core_image_count(im, &n, UB_SEC_ENTITIES, "too many Entities have CIP");
    for (uint32_t i = 0, at = 0; i < n && !core_image_error(im); i++, at++) {
        uint8_t index;
        Entity *e;

        while (!core_image_loading(im) && !cip->entity[at]) {
            at++;
        }
        index = at;
        core_image_int(im, &index);
        if (!core_image_check(im, index < UB_SEC_ENTITIES &&
                              (!core_image_loading(im) ||
                               !cip->entity[index]),
                              "CIP of an Entity that cannot be")) {
            break;
        }
        e = entity_make(cip, index);
        core_image_int(im, &e->mode);
        core_image_check(im, e->mode <= UB_CIP_MODES,
                         "a mode of CIP that does not exist");
        for (unsigned k = 0; k < UB_CIP_POLICIES; k++) {
            image_policy(cip, im, e, &e->policy[k]);
        }
    }
    core_image_end(im);
    if (core_image_error(im)) {
        ub_cip_reset(cip);
    }
}
