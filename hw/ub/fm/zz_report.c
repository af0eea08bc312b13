/*
 * A fabric as text and as JSON.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ub/fm.h"

const char *ub_fm_guid_text(UbId g, char text[UB_FM_GUID_TEXT])
{
    snprintf(text, UB_FM_GUID_TEXT, "%04x-%04x-%x-%x-%06x-%08x%08x",
             g.w[3] >> 16, g.w[3] & 0xffff, g.w[2] >> 28, g.w[2] >> 24 & 0xf,
             g.w[2] & 0xffffff, g.w[1], g.w[0]);
    return text;
}

const char *ub_fm_kind(const UbFmNode *n)
{
    static const char *const kinds[16] = {
        "bus-instance", "controller", "controller", "switch", "switch",
    };
    const char *kind = kinds[n->guid.w[2] >> 24 & 0xf];

    return kind ? kind : "unknown";
}

const char *ub_fm_eid_text(UbId id, char text[UB_FM_EID_TEXT])
{
    snprintf(text, UB_FM_EID_TEXT, "%08x%08x%08x%08x", id.w[3], id.w[2], id.w[1], id.w[0]);
    return text;
}

const char *ub_fm_error_text(const UbFm *fm, uint32_t scna, const uint8_t *data,
                             size_t len, char text[UB_FM_ERROR_TEXT])
{
    static const char *const severities[] = {
        "correctable error", "non-fatal error", "fatal error",
    };
    char who[UB_FM_GUID_TEXT], where[16] = "";
    const uint8_t *pdu = data + UB_MGMT_ETAH;
    UbMgmtEtah e;

    if (len != UB_MGMT_ETAH + 8) {
        return NULL;
    }
    e = ub_mgmt_etah_get(data);
    if (e.rsp || e.code != UB_MGMT_MSG_ERROR_CE >> 4 ||
        e.sub >= sizeof(severities) / sizeof(severities[0])) {
        return NULL;
    }
    snprintf(who, sizeof(who), "CNA %#x", scna);
    for (unsigned i = 0; i < fm->nodes; i++) {
        if (scna && fm->node[i].cna == scna) {
            ub_fm_guid_text(fm->node[i].guid, who);
        }
    }
    if (!ub_mgmt_get(pdu, UB_MF_ERROR_EL)) {
        snprintf(where, sizeof(where), " port %u",
                 (unsigned)ub_mgmt_get(pdu, UB_MF_ERROR_PORT));
    }
    snprintf(text, UB_FM_ERROR_TEXT, "%s%s: %s", who, where,
             severities[e.sub]);
    return text;
}

/* Why no packets go there. */
static const char *port_note(const UbFm *fm, const UbFmPort *p)
{
    int peer = ub_fm_find(fm, p->peer_guid);

    return p->peer >= 0 ? ""
           : peer >= 0 && fm->node[peer].stranger ? " (not admitted)"
           : p->boundary ? " (boundary)"
           : p->beyond ? " (not looked at: there are too many)"
           : " (no answer)";
}

static void text_port(const UbFm *fm, unsigned i, const UbFmPort *p, FILE *out)
{
    char guid[UB_FM_GUID_TEXT];

    if (!p->up) {
        return;
    }
    fprintf(out, "    port %u: %s port %u%s\n", i,
            ub_fm_guid_text(p->peer_guid, guid), p->peer_port,
            port_note(fm, p));
}

void ub_fm_text(const UbFm *fm, FILE *out)
{
    char guid[UB_FM_GUID_TEXT], eid[UB_FM_EID_TEXT];

    for (unsigned i = 0; i < fm->nodes; i++) {
        const UbFmNode *n = &fm->node[i];
        unsigned up = 0;

        if (n->stranger) {
            fprintf(out, "%s %s\n    hops %u, not admitted\n", ub_fm_kind(n),
                    ub_fm_guid_text(n->guid, guid), n->way.hops);
            continue;
        }
        for (unsigned p = 0; p < n->ports; p++) {
            up += n->port[p].up;
        }
        fprintf(out, "%s %s%s\n", ub_fm_kind(n), ub_fm_guid_text(n->guid, guid),
                i ? "" : " (this one)");
        fprintf(out, "    hops %u, CNA 0x%x, class 0x%04x, %u of %u ports up\n",
                n->way.hops, n->cna, n->class_code, up, n->ports);
        if (n->reached) {
            fprintf(out, "    EID %s, UPI 0x%x, %u Entities%s\n",
                    ub_fm_eid_text(n->eid, eid), n->upi, n->entities,
                    n->forwards ? ", forwards" : "");
        }
        for (unsigned p = 0; p < n->ports; p++) {
            text_port(fm, p, &n->port[p], out);
        }
    }
}

static void json_port(unsigned i, const UbFmPort *p, bool first, FILE *out)
{
    char guid[UB_FM_GUID_TEXT];

    fprintf(out, "%s\n      {\"port\": %u, \"up\": %s, \"boundary\": %s",
            first ? "" : ",", i, p->up ? "true" : "false",
            p->boundary ? "true" : "false");
    if (p->up) {
        fprintf(out, ", \"peer-guid\": \"%s\", \"peer-port\": %u, "
                "\"peer-answers\": %s", ub_fm_guid_text(p->peer_guid, guid),
                p->peer_port, p->peer >= 0 ? "true" : "false");
    }
    fputc('}', out);
}

static void json_route(const UbFm *fm, unsigned i, FILE *out)
{
    const char *comma = "";

    fputs(",\n    \"routes\": {", out);
    for (unsigned cna = 0; cna < fm->cnas; cna++) {
        uint64_t ports = ub_fm_route(fm, i, cna);

        if (ports) {
            fprintf(out, "%s\"%u\": \"0x%llx\"", comma, cna,
                    (unsigned long long)ports);
            comma = ", ";
        }
    }
    fputc('}', out);
}

void ub_fm_json(const UbFm *fm, FILE *out)
{
    char guid[UB_FM_GUID_TEXT], eid[UB_FM_EID_TEXT];

    fputs("{\"nodes\": [", out);
    for (unsigned i = 0; i < fm->nodes; i++) {
        const UbFmNode *n = &fm->node[i];

        fprintf(out, "%s\n  {\"guid\": \"%s\", \"kind\": \"%s\", \"own\": %s, "
                "\"admitted\": %s, \"hops\": %u, \"cna\": %u, "
                "\"class\": %u, \"mtu\": %u",
                i ? "," : "", ub_fm_guid_text(n->guid, guid), ub_fm_kind(n),
                i ? "false" : "true", n->stranger ? "false" : "true",
                n->way.hops, n->cna, n->class_code,
                n->mtu);
        if (n->reached) {
            fprintf(out, ",\n    \"eid\": \"%s\", \"upi\": %u, "
                    "\"entities\": %u, \"forwards\": %s",
                    ub_fm_eid_text(n->eid, eid), n->upi, n->entities,
                    n->forwards ? "true" : "false");
        }
        if (n->route) {
            json_route(fm, i, out);
        }
        fputs(",\n    \"ports\": [", out);
        for (unsigned p = 0; p < n->ports; p++) {
            json_port(p, &n->port[p], !p, out);
        }
        fputs("]}", out);
    }
    fprintf(out, "\n],\n \"beyond\": {\"neighbours\": %u, \"ports\": %u}}\n",
            fm->beyond.neighbours, fm->beyond.ports);
}
