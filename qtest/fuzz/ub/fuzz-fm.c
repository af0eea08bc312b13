/*
 * Fuzzer of a fabric manager: what hostile nodes answer to its scans, its reads and
 * writes of registers and its messages, and what they tell it of slots and errors.
 *
 * Answers are drawn from the input.  Topologies are mostly made whole, of a few nodes, so
 * that there are fabrics, with loops and links that only one end knows.  When the input
 * is at its end nobody answers any more.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "ub/cfg_regs.h"
#include "ub/fm_matt.h"
#include "ub/fm_plug.h"
#include "ub/fm_pool.h"

#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NODES 16u /* that there are names for */

static FILE *nowhere;

/* Nobody answers, or with a status, or 0: an answer follows. */
static int status_of(Input *in)
{
    unsigned b;

    if (in->p >= in->end) {
        return -1;
    }
    b = next(in);
    return b == 0xff ? -1 : b >= 0xf0 ? (int)(b & 15) + 1 : 0;
}

static UbId guid_of(unsigned node)
{
    unsigned type = node % NODES < 6 ? 3 : 2;

    return (UbId) { { 1 + node % NODES, 0, type << 24, 0xcc080001 } };
}

/* ---- Answers ---- */

static uint8_t *put_tlv(uint8_t *at, unsigned type, unsigned len)
{
    memset(at, 0, len);
    ub_mgmt_put(at, UB_MF_TLV_TYPE, type);
    ub_mgmt_put(at, UB_MF_TLV_LENGTH, len);
    return at;
}

static unsigned put_topology(Input *in, uint8_t *at)
{
    unsigned len = 0, told = next(in) % 7, ports = next(in) % 9;

    put_tlv(at, UB_TLV_SLICE_INFO, UB_TLV_SLICE_INFO_SIZE);
    ub_mgmt_put(at, UB_MF_SLICE_TOTAL, 1 + (told == 6));
    len += UB_TLV_SLICE_INFO_SIZE;
    put_tlv(at + len, UB_TLV_PORT_NUM, UB_TLV_PORT_NUM_SIZE);
    ub_mgmt_put(at + len, UB_MF_PORTS_TOTAL, ports == 8 ? next32(in) & 0x7ff
                                                        : ports);
    len += UB_TLV_PORT_NUM_SIZE;
    for (unsigned i = 0; i < told; i++) {
        uint8_t *p = put_tlv(at + len, UB_TLV_PORT_INFO, UB_TLV_PORT_INFO_SIZE);
        unsigned b = next(in), peer = next(in);

        ub_mgmt_put(p, UB_MF_PORT_LOCAL, b & 7);
        ub_mgmt_put(p, UB_MF_PORT_S, b >> 3 & 1);
        ub_mgmt_put(p, UB_MF_PORT_B, (b >> 4 & 7) == 7);
        ub_mgmt_put(p, UB_MF_PORT_REMOTE, peer >> 4 & 7);
        ub_mgmt_put_id(p, UB_MF_PORT_GUID, guid_of(peer & 15));
        len += UB_TLV_PORT_INFO_SIZE;
    }
    return len;
}

static int ask_scan(void *opaque, const UbScanWay *way, const UbScanAsk *ask,
                    uint8_t *pdu, unsigned *len)
{
    Input *in = opaque;
    int status = status_of(in);
    unsigned how;

    memset(pdu, 0, UB_SCAN_MAX);
    *len = 0;
    if (status) {
        return status;
    }
    how = next(in);
    *len = UB_SCAN_PDU;
    ub_mgmt_put_id(pdu, UB_MF_PDU_GUID, how & 0x80 ? guid_of(next(in))
                   : way->hops ? ask->guid : guid_of(15));
    if ((how & 0x70) == 0x70) {
        unsigned n = next(in);

        for (unsigned i = 0; i < n; i++) {
            pdu[*len + i] = next(in);
        }
        *len = how & 1 ? *len + n : n % UB_SCAN_PDU;
    } else if (ask->cmd == UB_SCAN_TOPOLOGY) {
        *len += put_topology(in, pdu + *len);
    } else {
        ub_mgmt_put(pdu, UB_MF_NA_DONE_CNA, (how & 0xc) == 0xc ? next32(in) : next(in) & 31);
        *len += 4;
    }
    demand(*len <= UB_SCAN_MAX);
    return 0;
}

static int ask_read(void *opaque, uint32_t cna, uint32_t dw, uint32_t *value)
{
    Input *in = opaque;
    int status = status_of(in);
    unsigned how = status ? 0 : next(in);

    *value = how >= 0xf0 ? next32(in) : how >= 0x80 ? 1u << (how & 31) : how & 7;
    return status;
}

static int ask_write(void *opaque, uint32_t cna, uint32_t dw, uint32_t value)
{
    return status_of(opaque);
}

static int ask_message(void *opaque, uint32_t cna, UbMgmtId id,
                       const uint8_t *pdu, unsigned len, uint8_t *answer,
                       unsigned *answer_len)
{
    Input *in = opaque;
    int status = status_of(in);
    unsigned n = 0, sum = 0;

    for (unsigned i = 0; i < len; i++) {
        sum += pdu[i];
    }
    memset(answer, sum & 1, 64);
    if (!status) {
        n = next(in) % 24;
        for (unsigned i = 0; i < n; i++) {
            answer[i] = next(in);
        }
    }
    *answer_len = n;
    return status;
}

static const UbFmOps ops = {
    .scan = ask_scan, .read = ask_read, .write = ask_write,
    .message = ask_message,
};

/* ---- What must hold of any fabric ---- */

static void check_fabric(const UbFm *fm)
{
    demand(fm->nodes <= UB_FM_NODES);
    for (unsigned i = 0; i < fm->nodes; i++) {
        const UbFmNode *n = &fm->node[i];

        demand(n->from < (int)i && (i == 0) == (n->from < 0));
        demand(n->ports <= UB_FM_PORTS && (!n->stranger || !n->ports));
        demand(ub_fm_find(fm, n->guid) == (int)i);
        for (unsigned p = 0; p < n->ports; p++) {
            demand(n->port[p].peer < (int)fm->nodes);
            demand(n->port[p].peer < 0 || n->port[p].up);
        }
    }
}

/* Routes lead to nodes that are there; never to a stranger, never in rings. */
static void check_routes(const UbFm *fm)
{
    for (unsigned i = 0; i < fm->nodes; i++) {
        const UbFmNode *n = &fm->node[i];

        for (unsigned cna = 0; cna < fm->cnas; cna++) {
            uint64_t ports = ub_fm_route(fm, i, cna);

            for (; ports; ports &= ports - 1) {
                unsigned p = __builtin_ctzll(ports);

                demand(p < n->ports && n->port[p].peer >= 0);
                demand(!fm->node[n->port[p].peer].stranger);
            }
        }
        for (unsigned j = 0; j < i; j++) {
            demand(!n->cna || n->stranger || fm->node[j].stranger ||
                   n->cna != fm->node[j].cna);
        }
    }
    demand(ub_fm_is_ring_free(fm));
}

static bool admit(void *admitting, UbId guid)
{
    return guid.w[0] != *(const unsigned *)admitting;
}

static UbFm *bring_up(Input *in, UbFm *before, const unsigned *banned)
{
    UbFm *fm = ub_fm_new(&ops, in);
    unsigned how = next(in);
    UbFmPlan plan;

    ub_fm_plan_init(&plan);
    plan.first_cna = how >= 0xf0 ? 0xfff0 | next(in) : how & 3;
    plan.upi = how >> 4 & 3;
    if (how & 8) {
        fm->admit = admit;
        fm->admitting = (void *)banned;
    }
    if (!ub_fm_discover(fm)) {
        ub_fm_free(fm);
        return before;
    }
    check_fabric(fm);
    if (before) {
        ub_fm_same(fm, before);
    }
    ub_fm_forgotten(fm);
    ub_fm_bring_up(fm, &plan, before);
    check_fabric(fm);
    check_routes(fm);
    ub_fm_text(fm, nowhere);
    ub_fm_json(fm, nowhere);
    ub_fm_svg(fm, nowhere);
    ub_fm_free(before);
    return fm;
}

/* ---- Pooling, slots, errors ---- */

static void maps(Input *in, UbFm *fm, unsigned node)
{
    UbFmMap map = { .first = next(in), .cna = 1 + next(in), .check = true };
    unsigned entries;

    map.last = map.first + (next(in) & 7);
    ub_fm_map_size(fm, node, &entries);
    demand(entries <= 64);
    if (next(in) & 1) {
        ub_fm_map_add(fm, node, &map);
    } else {
        ub_fm_map_remove(fm, node, map.first);
    }
    ub_fm_maps_text(fm, node, nowhere);
    ub_fm_maps_json(fm, node, nowhere);
}

static void pool(Input *in, UbFm *fm)
{
    UbFmPool p = { .fm = fm, .eid_prefix.w[3] = next(in) };
    unsigned how = next(in), node = next(in) % (fm->nodes + 1),
             user = next(in) % fm->nodes, reclaimed;
    bool *leaves = g_new0(bool, fm->nodes + 1);
    UbFmEntity e;

    ub_fm_pool_look(&p, node, how & 7, &e);
    node %= fm->nodes;
    if (how >> 6 == 2) {
        maps(in, fm, node);
    }
    switch (how >> 3 & 7) {
    case 0:
    case 1:
        ub_fm_pool_lend(&p, node, how & 7, user, 5);
        break;
    case 2:
        ub_fm_pool_take_back(&p, node, how & 7, UB_FM_NORMAL);
        break;
    case 3:
        ub_fm_pool_replace(&p, node, how & 7, user, next(in) & 7);
        break;
    case 4:
        ub_fm_pool_recover_all(&p, &reclaimed);
        break;
    case 5:
        leaves[node] = true;
        ub_fm_pool_release(&p, leaves, how & 1);
        break;
    case 6:
        ub_fm_pool_text(&p, nowhere);
        break;
    default:
        ub_fm_pool_json(&p, nowhere);
        break;
    }
    g_free(leaves);
}

static int release(void *opaque, UbFm *fm, const bool *leaves, bool gone)
{
    unsigned n = 0;

    for (unsigned i = 0; i < fm->nodes; i++) {
        n += leaves[i];
    }
    demand(n <= fm->nodes);
    return 0;
}

static void events(Input *in, UbFmPlug *plug, UbFm *fm, int64_t *now)
{
    uint8_t data[UB_MGMT_ETAH + 8];
    char text[UB_FM_ERROR_TEXT];
    uint32_t scna = next(in) & 31;

    for (unsigned i = 0; i < sizeof(data); i++) {
        data[i] = next(in);
    }
    ub_fm_error_text(fm, scna, data, sizeof(data), text);
    if (next(in) & 3) {
        ub_mgmt_etah_put(data, (UbMgmtEtah) {
            .code = UB_MGMT_MSG_PLUG_BUTTON >> 4,
            .sub = (UB_MGMT_MSG_PLUG_BUTTON & 15) + (data[0] & 1), .len = 8 });
        ub_mgmt_put(data + UB_MGMT_ETAH, UB_MF_PLUG_SLOT, data[5] & 3);
    }
    ub_fm_plug_event(plug, fm, *now, scna, data, sizeof(data));
    *now += (int64_t)next(in) << 27;
    demand(ub_fm_plug_run(plug, fm, *now) > *now);
    demand(plug->slots <= UB_FM_PLUG_MOST);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input in = { data, data + size };
    unsigned banned = next(&in) & 15;
    int64_t now = 1;
    UbFm *fm = NULL;
    UbFmPlug plug;

    nowhere = nowhere ? nowhere : fopen("/dev/null", "w");
    ub_fm_plug_init(&plug);
    plug.release = release;
    while (in.p < in.end) {
        unsigned what = next(&in) & 7;

        if (!fm || what < 2) {
            fm = bring_up(&in, fm, &banned);
        } else if (what < 5) {
            pool(&in, fm);
        } else if (what == 5) {
            ub_fm_plug_survey(&plug, fm, now);
        } else {
            events(&in, &plug, fm, &now);
        }
    }
    ub_fm_free(fm);
    ub_fm_plug_free(&plug);
    return 0;
}
