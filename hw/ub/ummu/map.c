/*
 * The UMMU: which TECTE an EID has.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static guint eid_hash(gconstpointer key)
{
    const uint8_t *eid = key;
    uint64_t h = (get_be64(eid) ^ get_be64(eid + 8) * 0x9e3779b97f4a7c15ull) *
                 0x9e3779b97f4a7c15ull;

    return h >> 32;
}

static gboolean eid_same(gconstpointer a, gconstpointer b)
{
    return !memcmp(a, b, 16);
}

void ummu_map_new(UbUmmu *u)
{
    u->map = g_hash_table_new_full(eid_hash, eid_same, g_free, NULL);
}

bool ummu_map_set(UbUmmu *u, const uint8_t eid[16], uint16_t tag)
{
    if (g_hash_table_size(u->map) >= UBM_MAPPINGS &&
        !g_hash_table_contains(u->map, eid)) {
        return false;
    }
    g_hash_table_replace(u->map, g_memdup2(eid, 16),
                         GUINT_TO_POINTER(tag + 1u));
    u->known.good = false;
    return true;
}

bool ummu_map_remove(UbUmmu *u, const uint8_t eid[16])
{
    u->known.good = false;
    return g_hash_table_remove(u->map, eid);
}

/* The tag of @eid and 1, or 0: none. */
static uint32_t tag_find(const UbUmmu *u, const uint8_t eid[16])
{
    uint32_t found = GPOINTER_TO_UINT(g_hash_table_lookup(u->map, eid));

    return found || !(u->fallback & UBM_DEFAULT_ALL)
           ? found : (u->fallback & UBM_DEFAULT_TAG) + 1;
}

bool ub_ummu_tag(const UbUmmu *u, const uint8_t eid[16], uint16_t *tag)
{
    uint32_t found = tag_find(u, eid);

    *tag = found - 1;
    return found;
}

static bool tag_use(UmmuLook *k, uint32_t tag)
{
    k->tag = tag;
    k->tag_known = true;
    return true;
}

bool ummu_map_find(UmmuLook *k)
{
    UbUmmu *u = k->u;
    unsigned entity = k->a->entity;
    uint8_t eid[16];
    uint32_t found;

    if (ummu_map_known(u, k->a, &found)) {
        return tag_use(k, found);
    }
    found = !k->a->bare && u->ops.eid(u->opaque, entity, eid) ? tag_find(u, eid)
                                                              : 0;
    if (!found) {
        return ummu_refuse(k, UBM_WHY_EID);
    }
    if (!k->quiet) {
        u->known.good = true;
        u->known.entity = entity;
        memcpy(u->known.eid, eid, 16);
        u->known.tag = found - 1;
    }
    return tag_use(k, found - 1);
}
