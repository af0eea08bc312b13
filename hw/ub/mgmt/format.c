/*
 * Formats of UB management: tables and fields (UB 2.0 §10.4.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "ub/mgmt_format.h"

const UbMgmtPlace ub_mgmt_places[UB_MF_NUM] = {
#define UB_X(symbol, structure, name, bit, bits, show) \
    [UB_MF_##symbol] = { bit, bits },
    UB_MGMT_FIELDS(UB_X)
#undef UB_X
};

const char *ub_mgmt_status_name(unsigned status)
{
    static const struct {
        unsigned value;
        const char *name;
    } names[] = {
#define UB_X(symbol, value, name) { value, name },
        UB_MGMT_STATUSES(UB_X)
#undef UB_X
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        if (names[i].value == status) {
            return names[i].name;
        }
    }
    return "reserved";
}

const UbMgmtMessage *ub_mgmt_message(unsigned code, unsigned sub)
{
    static const UbMgmtMessage messages[] = {
#define UB_X(symbol, code, sub, name, shortest, longest, taker, right, ...) \
        { (code) << 4 | (sub), UB_MGMT_##taker, UB_MGMT_##right, shortest,   \
          longest, name },
        UB_MGMT_MESSAGES(UB_X)
#undef UB_X
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(messages); i++) {
        if (messages[i].id == (code << 4 | sub)) {
            return &messages[i];
        }
    }
    return NULL;
}

/* ---- Fields ---- */

/* Bytes that a field is in, and how far its last bit is from their end. */
static const uint8_t *span_of(const uint8_t *p, UbMgmtPlace f, unsigned *bytes,
                              unsigned *shift)
{
    unsigned first = f.bit / 8, last = (f.bit + f.bits - 1) / 8;

    *bytes = last - first + 1;
    *shift = 8 * (last + 1) - f.bit - f.bits;
    return p + first;
}

static uint64_t mask_of(UbMgmtPlace f)
{
    return (1ull << f.bits) - 1;
}

uint32_t ub_mgmt_get(const uint8_t *p, UbMgmtField field)
{
    UbMgmtPlace f = ub_mgmt_places[field];
    unsigned bytes, shift;
    uint64_t v = 0;

    p = span_of(p, f, &bytes, &shift);
    for (unsigned i = 0; i < bytes; i++) {
        v = v << 8 | p[i];
    }
    return v >> shift & mask_of(f);
}

void ub_mgmt_put(uint8_t *p, UbMgmtField field, uint32_t value)
{
    UbMgmtPlace f = ub_mgmt_places[field];
    unsigned bytes, shift;
    uint8_t *to = p + f.bit / 8;
    uint64_t mask, v;

    span_of(p, f, &bytes, &shift);
    mask = mask_of(f) << shift;
    v = (uint64_t)value << shift & mask;
    for (unsigned i = bytes; i-- > 0; mask >>= 8, v >>= 8) {
        to[i] = (to[i] & ~mask) | v;
    }
}

UbId ub_mgmt_get_id(const uint8_t *p, UbMgmtField f)
{
    return ub_id_get(p + ub_mgmt_places[f].bit / 8);
}

void ub_mgmt_put_id(uint8_t *p, UbMgmtField f, UbId id)
{
    ub_id_put(p + ub_mgmt_places[f].bit / 8, id);
}

/* ---- MGMTETAH ---- */

UbMgmtEtah ub_mgmt_etah_get(const uint8_t p[UB_MGMT_ETAH])
{
    return (UbMgmtEtah) {
        .code = ub_mgmt_get(p, UB_MF_ETAH_CODE),
        .sub = ub_mgmt_get(p, UB_MF_ETAH_SUB),
        .rsp = ub_mgmt_get(p, UB_MF_ETAH_RSP),
        .status = ub_mgmt_get(p, UB_MF_ETAH_STATUS),
        .len = ub_mgmt_get(p, UB_MF_ETAH_LEN),
    };
}

void ub_mgmt_etah_put(uint8_t p[UB_MGMT_ETAH], UbMgmtEtah e)
{
    memset(p, 0, UB_MGMT_ETAH);
    ub_mgmt_put(p, UB_MF_ETAH_CODE, e.code);
    ub_mgmt_put(p, UB_MF_ETAH_SUB, e.sub);
    ub_mgmt_put(p, UB_MF_ETAH_RSP, e.rsp);
    ub_mgmt_put(p, UB_MF_ETAH_STATUS, e.status);
    ub_mgmt_put(p, UB_MF_ETAH_LEN, e.len);
}
