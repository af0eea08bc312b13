/*
 * Entities that can be lent, and whose they are, as text and as JSON.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ub/fm_pool.h"

/* The User's GUID, or NULL: nobody's, or its User is not there. */
static const char *user_text(const UbFm *fm, const UbFmEntity *e,
                             char text[UB_FM_GUID_TEXT])
{
    for (unsigned i = 0; e->ucna && i < fm->nodes; i++) {
        if (fm->node[i].cna == e->ucna) {
            return ub_fm_guid_text(fm->node[i].guid, text);
        }
    }
    return NULL;
}

/* Another Entity of a node; of one that was silent the others would only take as
 * long. */
static bool look_on(UbFmPool *p, unsigned node, unsigned entity, UbFmEntity *e,
                    int *status)
{
    if (*status >= 0) {
        *status = ub_fm_pool_look(p, node, entity, e);
    }
    return !*status;
}

unsigned ub_fm_pool_text(UbFmPool *p, FILE *out)
{
    char guid[UB_FM_GUID_TEXT], user[UB_FM_GUID_TEXT], eid[UB_FM_EID_TEXT];
    const UbFm *fm = p->fm;
    unsigned silent = 0;

    for (unsigned node = 0; node < fm->nodes; node++) {
        const UbFmNode *n = &fm->node[node];

        int status = 0;

        for (unsigned i = 1; i < ub_fm_pool_entities(fm, node); i++) {
            UbFmEntity e;
            const char *name;

            fprintf(out, "%s %u: ", ub_fm_guid_text(n->guid, guid), i);
            if (!look_on(p, node, i, &e, &status)) {
                fputs("does not say\n", out);
                silent++;
                continue;
            }
            fprintf(out, "%s, class 0x%04x", ub_fm_guid_text(e.guid, guid),
                    e.class_code);
            if (!e.ucna) {
                fputs(", free\n", out);
                continue;
            }
            name = user_text(fm, &e, user);
            fprintf(out, "\n    EID %s, UPI 0x%x, lent to CNA 0x%x, %s\n",
                    ub_fm_eid_text(e.eid, eid), e.upi, e.ucna,
                    name ? name : "which is gone");
        }
    }
    return silent;
}

static void json_entity(const UbFm *fm, const UbFmEntity *e, FILE *out)
{
    char guid[UB_FM_GUID_TEXT], eid[UB_FM_EID_TEXT];
    const char *name;

    fprintf(out, ", \"guid\": \"%s\", \"class\": %u, \"lent\": %s",
            ub_fm_guid_text(e->guid, guid), e->class_code,
            e->ucna ? "true" : "false");
    if (!e->ucna) {
        return;
    }
    fprintf(out, ",\n    \"eid\": \"%s\", \"upi\": %u, \"user-cna\": %u",
            ub_fm_eid_text(e->eid, eid), e->upi, e->ucna);
    name = user_text(fm, e, guid);
    if (name) {
        fprintf(out, ", \"user\": \"%s\"", name);
    }
}

unsigned ub_fm_pool_json(UbFmPool *p, FILE *out)
{
    char guid[UB_FM_GUID_TEXT];
    const UbFm *fm = p->fm;
    const char *comma = "";
    unsigned silent = 0;

    fputs("{\"entities\": [", out);
    for (unsigned node = 0; node < fm->nodes; node++) {
        const UbFmNode *n = &fm->node[node];
        int status = 0;

        for (unsigned i = 1; i < ub_fm_pool_entities(fm, node); i++) {
            UbFmEntity e;
            bool says = look_on(p, node, i, &e, &status);

            fprintf(out, "%s\n  {\"node\": \"%s\", \"cna\": %u, \"index\": %u, "
                    "\"answers\": %s", comma, ub_fm_guid_text(n->guid, guid),
                    n->cna, i, says ? "true" : "false");
            comma = ",";
            silent += !says;
            if (says) {
                json_entity(fm, &e, out);
            }
            fputc('}', out);
        }
    }
    fputs("\n]}\n", out);
    return silent;
}
