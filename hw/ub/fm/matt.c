/*
 * Decoders that are the manager's (UB 2.0 §10.4.7): entries of their tables, by
 * configuration messages.
 *
 * An entry is valid by its first dword, which is cleared first and written last: no
 * access goes by half of one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ub/cfg_regs.h"
#include "ub/fm_matt.h"
#include "ub/lds_hw.h"

#define DWORDS (UB_LDS_ENTRY / 4)
#define TOKEN 13 /* dword of the TokenValue */

static uint32_t place(uint32_t dw)
{
    return UB_CFG_CAP(UB_CFG1_BASE, UB_LDS_MATT_CAP) + dw;
}

static int get(UbFm *fm, unsigned node, uint32_t dw, uint32_t *value)
{
    return fm->ops->read(fm->opaque, ub_fm_at(fm, node), dw, value);
}

static int put(UbFm *fm, unsigned node, uint32_t dw, uint32_t value)
{
    return fm->ops->write(fm->opaque, ub_fm_at(fm, node), dw, value);
}

/* ---- Entries as registers ---- */

static void pack(const UbFmMap *map, uint32_t e[DWORDS])
{
    const uint32_t words[DWORDS] = {
        UB_LDS_TYPE_RANGE | (map->check ? UB_LDS_TOKEN_VLD : 0), 0,
        map->first, map->last, map->uba, map->uba >> 32, map->cna, 0,
        map->eid.w[0], map->eid.w[1], map->eid.w[2], map->eid.w[3],
        map->token_id, map->check ? map->token : 0,
    };

    memcpy(e, words, sizeof(words));
}

static UbFmMap unpack(const uint32_t e[DWORDS])
{
    return (UbFmMap) {
        .first = e[2], .last = e[3], .uba = e[4] | (uint64_t)e[5] << 32,
        .cna = e[6], .eid = { .w = { e[8], e[9], e[10], e[11] } },
        .token_id = e[12], .token = e[TOKEN],
        .check = e[0] & UB_LDS_TOKEN_VLD,
    };
}

/* What registers keep of it is what was asked for, and its addresses ascend. */
static bool good(const UbFmMap *map)
{
    return map->first <= map->last && map->last <= UB_LDS_MATT_MIB && map->cna &&
           map->cna <= UB_LDS_MATT_CNA && !(map->uba & ~UB_LDS_UBA) &&
           map->uba <= -((uint64_t)(map->last - map->first + 1) << UB_LDS_PAGE_BITS) &&
           map->token_id <= 0xfffff;
}

/* ---- What can be asked and done ---- */

int ub_fm_map_size(UbFm *fm, unsigned node, unsigned *entries)
{
    uint32_t features, header = 0, size = 0;
    int status = get(fm, node, UB_CFG1_BASE + UB_CFG1_SUPPORTED_FEATURE, &features);

    if (!status && !(features &
                     UB_CFG1_SUPPORTED_FEATURE__DECODER_MATT_JURISDICTION)) {
        status = UB_MGMT_NO_PERMISSION;
    }
    /* A slice of vendors: of another maker's something else may be there. */
    status = status ? status : get(fm, node, place(0), &header);
    if (!status && header == UB_LDS_MATT_USED << 4) {
        status = get(fm, node, place(UB_LDS_MATT_SIZE), &size);
    }
    /* What a node says of itself bounds nothing. */
    *entries = size < UB_LDS_MATT_ENTRIES ? size : UB_LDS_MATT_ENTRIES;
    return status;
}

int ub_fm_map_get(UbFm *fm, unsigned node, unsigned i, UbFmMap *map)
{
    uint32_t e[DWORDS] = { 0 };
    int status = get(fm, node, place(UB_LDS_MATT_ENTRY(i)), &e[0]);

    if (!status && !(e[0] & UB_LDS_TYPE)) {
        return UB_MGMT_ABSENT;
    }
    for (unsigned k = 1; k < DWORDS && !status; k++) {
        status = get(fm, node, place(UB_LDS_MATT_ENTRY(i) + k), &e[k]);
    }
    *map = unpack(e);
    return status;
}

/* An entry that is empty, of those of a table in which nothing has MiBs of @map. */
static int find_room(UbFm *fm, unsigned node, const UbFmMap *map, unsigned *entry)
{
    unsigned entries;
    int status = ub_fm_map_size(fm, node, &entries);
    bool found = false;

    for (unsigned i = 0; i < entries && !status; i++) {
        UbFmMap has;

        status = ub_fm_map_get(fm, node, i, &has);
        if (status == UB_MGMT_ABSENT) {
            *entry = found ? *entry : i;
            found = true;
            status = UB_MGMT_OK;
        } else if (!status && has.first <= map->last && map->first <= has.last) {
            status = UB_MGMT_EXISTS;
        }
    }
    return status ? status : found ? UB_MGMT_OK : UB_MGMT_NO_RESOURCE;
}

int ub_fm_map_add(UbFm *fm, unsigned node, const UbFmMap *map)
{
    uint32_t e[DWORDS];
    unsigned i = 0;
    int status = good(map) ? find_room(fm, node, map, &i) : UB_MGMT_BAD_PARAMETER;

    pack(map, e);
    for (unsigned k = DWORDS; k-- && !status;) {
        status = put(fm, node, place(UB_LDS_MATT_ENTRY(i) + k), e[k]);
    }
    return status;
}

static int clear(UbFm *fm, unsigned node, unsigned i)
{
    int status = put(fm, node, place(UB_LDS_MATT_ENTRY(i)), 0);

    return status ? status : put(fm, node, place(UB_LDS_MATT_ENTRY(i) + TOKEN), 0);
}

int ub_fm_map_remove(UbFm *fm, unsigned node, uint32_t first)
{
    unsigned entries;
    int status = ub_fm_map_size(fm, node, &entries);

    for (unsigned i = 0; i < entries && !status; i++) {
        UbFmMap has;

        status = ub_fm_map_get(fm, node, i, &has);
        if (!status && has.first == first) {
            return clear(fm, node, i);
        }
        status = status == UB_MGMT_ABSENT ? UB_MGMT_OK : status;
    }
    return status ? status : UB_MGMT_ABSENT;
}

/* ---- Homes that are gone ---- */

static int with_cna(const UbFm *fm, uint32_t cna)
{
    for (unsigned i = 0; fm && i < fm->nodes; i++) {
        if (fm->node[i].cna == cna && !fm->node[i].stranger) {
            return i;
        }
    }
    return UB_FM_NONE;
}

/* Nobody has it any more, or another one than then; what leads to one that has only just
 * got it, as when a manager begins, was for somebody else. */
static bool is_lost(const UbFm *fm, const UbFm *settled, uint32_t cna)
{
    int has = with_cna(fm, cna), was = with_cna(settled, cna);

    return has < 0 || fm->node[has].given ||
           (was >= 0 && !ub_id_same(fm->node[has].guid, settled->node[was].guid));
}

/* Its table could not be looked at when CNAs became others', and was not since.  Who is
 * not in a fabric in which somebody was silent may have been there all the same. */
static bool is_new(const UbFm *settled, const UbFmNode *n)
{
    int was;

    if (!settled || n->mapped) {
        return false;
    }
    was = ub_fm_find(settled, n->guid);
    return was < 0 ? !settled->unanswered : settled->node[was].stranger;
}

static unsigned drop_at(UbFm *fm, const UbFm *settled, unsigned node)
{
    bool fresh = is_new(settled, &fm->node[node]);
    unsigned entries, failed = 0;
    int size;

    if (fm->unanswered && !fresh) {
        return 0;           /* who is silent may be a home */
    }
    size = ub_fm_map_size(fm, node, &entries);
    if (size) {
        return size < 0;    /* or there are none that are ours */
    }
    for (unsigned i = 0; i < entries; i++) {
        UbFmMap map;
        int status = ub_fm_map_get(fm, node, i, &map);

        if (!status && (fresh || is_lost(fm, settled, map.cna))) {
            status = clear(fm, node, i);
        }
        failed += status && status != UB_MGMT_ABSENT;
        if (status < 0) {
            break;          /* the others would only take as long */
        }
    }
    fm->node[node].mapped |= fresh && !failed;
    return failed;
}

unsigned ub_fm_maps_drop(UbFm *fm, const UbFm *settled)
{
    unsigned failed = fm->unanswered;

    for (unsigned i = 0; i < fm->nodes; i++) {
        const UbFmNode *n = &fm->node[i];

        /* Who refused something else may have a table. */
        if (!n->stranger && (!i || n->cna)) {
            failed += drop_at(fm, settled, i);
        }
    }
    for (unsigned i = 0; i < fm->nodes && !failed; i++) {
        fm->node[i].given = false;
    }
    return failed;
}

/* ---- Output ---- */

static void text_line(const UbFmMap *m, bool first, FILE *out)
{
    char eid[UB_FM_EID_TEXT];

    fprintf(out, "MiB %u to %u: CNA 0x%x, EID %s, UBA 0x%llx, TokenID %u%s\n",
            m->first, m->last, m->cna, ub_fm_eid_text(m->eid, eid),
            (unsigned long long)m->uba, m->token_id, m->check ? ", with token" : "");
}

static void json_line(const UbFmMap *m, bool first, FILE *out)
{
    char eid[UB_FM_EID_TEXT];

    fprintf(out, "%s\n  {\"first\": %u, \"last\": %u, \"cna\": %u, \"eid\": \"%s\", "
            "\"uba\": %llu, \"token-id\": %u, \"token\": %s}", first ? "" : ",",
            m->first, m->last, m->cna, ub_fm_eid_text(m->eid, eid),
            (unsigned long long)m->uba, m->token_id, m->check ? "true" : "false");
}

static int print(UbFm *fm, unsigned node, FILE *out,
                 void (*line)(const UbFmMap *, bool first, FILE *out))
{
    unsigned entries, n = 0;
    int status = ub_fm_map_size(fm, node, &entries);

    for (unsigned i = 0; i < entries && !status; i++) {
        UbFmMap map;

        status = ub_fm_map_get(fm, node, i, &map);
        if (!status) {
            line(&map, !n++, out);
        }
        status = status == UB_MGMT_ABSENT ? UB_MGMT_OK : status;
    }
    return status;
}

int ub_fm_maps_text(UbFm *fm, unsigned node, FILE *out)
{
    return print(fm, node, out, text_line);
}

int ub_fm_maps_json(UbFm *fm, unsigned node, FILE *out)
{
    int status;

    fputs("{\"maps\": [", out);
    status = print(fm, node, out, json_line);
    fputs("\n]}\n", out);
    return status;
}
