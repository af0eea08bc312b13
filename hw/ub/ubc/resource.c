/*
 * Resource spaces of Entities (UB 2.0 §10.4.2, §D.3.4 to §D.3.12): what Users reach
 * by Reads and Writes of LPH.CFG 6.
 *
 * ERS0 has the tables of interrupts, ERS1 the memory of a memory Entity, ERS2 a few
 * registers of our own.  Their places in the device are fixed; where they are in a
 * User's sight Entity 0 says by its UBAs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "core/bytes.h"
#include "internal.h"

bool ubc_resource_there(const Ubc *ubc)
{
    return ubc->conf.entities > 1;
}

const char *ubc_resource_check(const UbcConfig *conf)
{
    for (unsigned i = 0; i < conf->entities; i++) {
        bool mem = conf->entity[i] == UBC_ENTITY_MEM;

        if (mem != !!conf->entity_mem[i] ||
            conf->entity_mem[i] % UB_ERS_GRAIN ||
            conf->entity_mem[i] >> 44) {
            return "a memory Entity, and no other, has memory: a multiple of "
                   "64 KiB below 16 TiB";
        }
    }
    return conf->usi < UBC_USI_TYPES ? NULL
           : "interrupts of Entities are of type 1 or 2, or there are none";
}

/* ---- Where they are ------------------------------------------------------------------ */

static uint64_t size_of(const Ubc *ubc, unsigned entity, unsigned s)
{
    const uint64_t sizes[UB_ERS_SPACES] = {
        ubc->usi[entity].type2 ? UB_ERS_GRAIN : 0,
        ubc->conf.entity_mem[entity],
        UB_ERS_GRAIN,
    };

    return sizes[s];
}

/* The place of a space in the device. */
static uint64_t start_of(const Ubc *ubc, unsigned entity, unsigned s)
{
    uint64_t at = UB_ERS1_SA;

    if (s != 1) {
        return s ? UB_ERS2_SA(entity) : UB_ERS0_SA(entity);
    }
    for (unsigned i = 0; i < entity; i++) {
        at += ubc->conf.entity_mem[i];
    }
    return at;
}

static uint64_t get64(const UbSlice *s, unsigned dw)
{
    return (uint64_t)ub_slice_get(s, dw + 1) << 32 | ub_slice_get(s, dw);
}

/* Its place for a User: what Entity 0 says, and in other Entities the way from
 * there (§D.3.10). */
static uint64_t uba_of(const Ubc *ubc, unsigned entity, unsigned s)
{
    return get64(ubc->cfg1, UB_CFG1_ERS0_UBA + 2 * s) +
           (entity ? start_of(ubc, entity, s) : 0);
}

/* log2 of the unit of sizes. */
static unsigned granule(const Ubc *ubc)
{
    return ub_slice_get(ubc->cfg1, UB_CFG1_SYS_PGS) &
           UB_CFG1_SYS_PGS__SYSTEM_PAGE_GRANULE_SIZE ? 16 : 12;
}

void ubc_resource_init(Ubc *ubc, unsigned entity)
{
    static const uint32_t there[UB_ERS_SPACES] = {
        UB_CFG1_SUPPORTED_FEATURE__ERS0S, UB_CFG1_SUPPORTED_FEATURE__ERS1S,
        UB_CFG1_SUPPORTED_FEATURE__ERS2S,
    };
    UbSlice *cfg1 = ubc_cfg1(ubc, entity);

    if (!ubc_resource_there(ubc)) {
        for (unsigned i = 0; i < 2 * UB_ERS_SPACES; i++) {
            ub_slice_fix(cfg1, UB_CFG1_ERS0_UBA + i, ~0u, 0);
        }
        ub_slice_fix(cfg1, UB_CFG1_SYS_PGS, ~0u, 0);
        ub_slice_fix(cfg1, UB_CFG1_ERS_ACCESS_EN, ~0u, 0);
        return;
    }
    ub_slice_init(cfg1, UB_CFG1_SUPPORTED_FEATURE,
                  UB_CFG1_SUPPORTED_FEATURE__UBA_SUPPORT, ~0u);
    for (unsigned s = 0; s < UB_ERS_SPACES; s++) {
        uint64_t at = start_of(ubc, entity, s);

        if (size_of(ubc, entity, s)) {
            ub_slice_init(cfg1, UB_CFG1_SUPPORTED_FEATURE, there[s], ~0u);
            ub_slice_init(cfg1, UB_CFG1_ERS0_SA + 2 * s, ~0u, at);
            ub_slice_init(cfg1, UB_CFG1_ERS0_SA + 2 * s + 1, ~0u, at >> 32);
        }
    }
}

void ubc_resource_refresh(Ubc *ubc, unsigned entity, unsigned dw)
{
    UbSlice *cfg1 = ubc_cfg1(ubc, entity);

    if (!ubc_resource_there(ubc)) {
        return;
    }
    if (dw >= UB_CFG1_ERS0_SS && dw <= UB_CFG1_ERS2_SS) {
        ub_slice_set(cfg1, dw, ~0u, size_of(ubc, entity, dw - UB_CFG1_ERS0_SS)
                                    >> granule(ubc));
    } else if (entity && dw == UB_CFG1_SYS_PGS) {
        ub_slice_set(cfg1, dw, ~0u, ub_slice_get(ubc->cfg1, dw));
    } else if (entity && dw >= UB_CFG1_ERS0_UBA &&
               dw < UB_CFG1_ERS0_UBA + 2 * UB_ERS_SPACES) {
        unsigned s = (dw - UB_CFG1_ERS0_UBA) / 2;
        uint64_t uba = size_of(ubc, entity, s) ? uba_of(ubc, entity, s) : 0;

        ub_slice_set(cfg1, dw, ~0u, dw & 1 ? uba >> 32 : uba);
    }
}

/* ---- Who may ------------------------------------------------------------------------- */

/* The space that @addr is in, or UB_ERS_SPACES. */
static unsigned space_at(const Ubc *ubc, unsigned entity, uint64_t addr)
{
    unsigned s = 0;

    while (s < UB_ERS_SPACES && addr - uba_of(ubc, entity, s) >=
                                size_of(ubc, entity, s)) {
        s++;
    }
    return s;
}

/* The check that a User asked for (§10.4.3.3); Exclusive is no way round it. */
static bool token_good(const Ubc *ubc, const UbAccess *a)
{
    uint32_t id, value;

    return !ub_mgmt_token(ubc->mgmt, a->entity, &id, &value) ||
           (a->token_en && a->token_id == id && a->token == value);
}

bool ubc_resource_access(Ubc *ubc, const UbAccess *a, UbSpan *out, unsigned *n,
                         UbAccessResult *result)
{
    unsigned s;
    uint64_t at;

    if (!ubc_resource_there(ubc) || a->cfg != UB_LPH_CNA16 || a->bare ||
        a->entity >= ubc->conf.entities ||
        !ub_slice_get(ubc_cfg1(ubc, a->entity), UB_CFG1_ERS_ACCESS_EN)) {
        return false;
    }
    s = space_at(ubc, a->entity, a->addr);
    if (s == UB_ERS_SPACES) {
        return false;
    }
    at = a->addr - uba_of(ubc, a->entity, s);
    *result = UB_ACCESS_UNSUPPORTED;
    if (a->kind == UB_ACCESS_ATOMIC) {
        ubc->ops.peer_error(ubc->opaque, 0, "an atomic in a resource space");
    } else if (a->len > size_of(ubc, a->entity, s) - at) {
        ubc->ops.peer_error(ubc->opaque, 0,
                            "an access beyond the end of a resource space");
    } else if (!token_good(ubc, a)) {
        ubc->ops.peer_error(ubc->opaque, 0,
                            "an access to a resource space without its token");
    } else if (a->poison) {
        *result = UB_ACCESS_DENIED;
    } else {
        *out = (UbSpan) { .region = UBC_REGION_ERS(a->entity, s), .bus = at,
                          .len = a->len };
        *n = 1;
        *result = UB_ACCESS_OK;
    }
    return true;
}

/* ---- What is there -------------------------------------------------------------------- */

static uint32_t reg_get(const Ubc *ubc, unsigned entity, uint64_t at)
{
    const UbcUsi *u = &ubc->usi[entity];

    switch (at) {
    case UB_ERS2_ID:
        return UB_ERS2_ID_VALUE;
    case UB_ERS2_CLASS:
        return ub_slice_get(ubc_cfg1(ubc, entity), UB_CFG1_CLASS_CODE);
    case UB_ERS2_VECTORS:
        return u->type1 || u->type2 ? UB_USI_VECTORS : 0;
    case UB_ERS2_SENT:
        return u->sent;
    case UB_ERS2_LOST:
        return u->lost;
    case UB_ERS2_SIZE_LO:
        return ubc->conf.entity_mem[entity];
    case UB_ERS2_SIZE_HI:
        return ubc->conf.entity_mem[entity] >> 32;
    default:
        return 0;
    }
}

/* Whole registers; what is none reads 0 and keeps nothing (§10.4.1.4). */
static bool registers(Ubc *ubc, unsigned entity, uint64_t at, uint8_t *buf,
                      uint32_t len, bool write)
{
    if (at % 4 || len % 4) {
        ubc->ops.peer_error(ubc->opaque, 0, "an access to a part of a register");
        return false;
    }
    for (uint32_t i = 0; i < len; i += 4) {
        if (!write) {
            put_le32(buf + i, reg_get(ubc, entity, at + i));
        } else if (at + i == UB_ERS2_RING) {
            ubc_usi_raise(ubc, entity, get_le32(buf + i));
        }
    }
    return true;
}

bool ubc_resource_region(Ubc *ubc, uint32_t region, uint64_t at, void *buf,
                         uint32_t len, bool write)
{
    unsigned entity = (region - UBC_REGION_ERS(0, 0)) / UB_ERS_SPACES;

    if (region == UBC_REGION_USI) {
        return write && !at && len == UB_USI_SIZE && ubc_usi_take(ubc, buf);
    }
    switch ((region - UBC_REGION_ERS(0, 0)) % UB_ERS_SPACES) {
    case 0:
        ubc_usi_table(ubc, entity, at, buf, len, write);
        return true;
    case 1:
        ubc->ops.memory(ubc->opaque, entity, at, buf, len, write);
        return true;
    default:
        return registers(ubc, entity, at, buf, len, write);
    }
}
