/*
 * The floors of a node joined: life, turns, migration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* ---- Network below transport ---------------------------------------------------- */

static void net_rx(void *opaque, int64_t now, CorePacket *pkt,
                   const UbFlow *flow)
{
    UbNode *node = opaque;

    node->stirred = true;
    ub_ta_time(node->ta, now);
    ub_tp_rx(node->tp, flow, pkt, now);
}

static void net_room(void *opaque, int64_t now, unsigned port, unsigned vl)
{
    UbNode *node = opaque;

    node->stirred = true;
    ub_ta_time(node->ta, now);
    ub_tp_space(node->tp, now);
}

static const UbNetUpper net_upper = { net_rx, net_room };

static UbSend tp_send(void *opaque, int64_t now, const UbFlow *flow,
                      CorePacket *pkt)
{
    UbNode *node = opaque;

    return ub_net_send(node->net, now, flow, pkt);
}

static const UbTpLower tp_lower = { tp_send };

/* ---- Transport below transaction layer ------------------------------------------- */

static UbTpAnswer tp_rx(void *opaque, const UbTpRx *rx, CorePacket *pkt)
{
    UbNode *node = opaque;

    node->stirred = true;
    return ub_ta_rx(node->ta, rx, pkt);
}

static void tp_acked(void *opaque, uint32_t tpn, uint64_t cookie,
                     UbTpAnswer answer)
{
    UbNode *node = opaque;

    node->stirred = true;
    ub_ta_acked(node->ta, tpn, cookie, answer);
}

static void tp_room(void *opaque, uint32_t tpn)
{
    UbNode *node = opaque;

    node->stirred = true;
    ub_ta_room(node->ta, tpn);
}

static void tp_error(void *opaque, uint32_t tpn, UbTpError error)
{
    UbNode *node = opaque;

    if (node->ops.tp_error) {
        node->ops.tp_error(node->opaque, tpn, error);
    }
}

static bool tp_accept(void *opaque, const UbFlow *from, UbTpAttr *attr)
{
    UbNode *node = opaque;

    return node->cfg.accept;
}

static void tell_imported(UbNode *node, uint32_t row, unsigned result)
{
    if (node->ops.imported) {
        node->ops.imported(node->opaque, row, result);
    }
}

static void tp_connected(void *opaque, uint32_t tpn, UbTpResult result)
{
    UbNode *node = opaque;

    if (!node_import_connected(node, tpn, result, tell_imported) &&
        node->ops.tp_connected) {
        node->ops.tp_connected(node->opaque, tpn, result);
    }
}

static void tp_ended(void *opaque, uint32_t tpn)
{
    UbNode *node = opaque;

    ub_ta_ended(node->ta, tpn);
}

static const UbTpUpper tp_upper = {
    .rx = tp_rx,
    .acked = tp_acked,
    .error = tp_error,
    .room = tp_room,
    .accept = tp_accept,
    .connected = tp_connected,
    .ended = tp_ended,
};

/* ---- Life --------------------------------------------------------------------------- */

void ub_node_config_init(UbNodeConfig *cfg)
{
    *cfg = (UbNodeConfig){ .accept = true };
    ub_net_config_init(&cfg->net);
    ub_tp_config_init(&cfg->tp);
    ub_ta_config_init(&cfg->ta);
    ub_cip_config_init(&cfg->cip);
}

static UbTpConfig tp_config(const UbNodeConfig *cfg, UbNode *node)
{
    UbTpConfig tp = cfg->tp;

    tp.upper = &tp_upper;
    tp.lower = &tp_lower;
    tp.upper_opaque = tp.lower_opaque = node;
    return tp;
}

const char *ub_node_config_check(const UbNodeConfig *cfg)
{
    UbTpConfig tp = tp_config(cfg, NULL);
    const char *why = ub_net_config_check(&cfg->net);

    if (!why) {
        why = ub_tp_config_fault(&tp);
    }
    if (!why) {
        why = ub_cip_config_check(&cfg->cip);
    }
    return why ? why : ub_ta_config_check(&cfg->ta);
}

UbNode *ub_node_new(const UbNodeConfig *cfg, const UbNodeOps *ops,
                    void *opaque)
{
    UbNode *node;

    if (ub_node_config_check(cfg)) {
        return NULL;
    }
    node = g_new0(UbNode, 1);
    node->cfg = *cfg;
    node->cfg.tp = tp_config(cfg, node);
    node->ops = *ops;
    node->opaque = opaque;
    ub_fault_plan_init(&node->fault[0].plan);
    ub_fault_plan_init(&node->fault[1].plan);
    node->net = ub_net_new(&node->cfg.net, ops->net, ops->net_opaque);
    node->tp = ub_tp_new(&node->cfg.tp);
    node->sec = ub_sec_new(cfg->bare);
    if (ub_sec_cip(node->sec)) {
        ub_cip_configure(ub_sec_cip(node->sec), &cfg->cip);
    }
    node->imports = node_imports_new();
    node->ta = ub_ta_new(&node->cfg.ta, ops->ta, ops->ta_opaque,
                         &ub_ta_over_tp, node->tp, node->sec);
    ub_net_set_upper(node->net, UB_NET_TP, &net_upper, node);
    ub_net_set_upper(node->net, UB_NET_TA, &net_upper, node);
    return node;
}

void ub_node_free(UbNode *node)
{
    if (node) {
        ub_ta_free(node->ta);
        ub_tp_free(node->tp);
        ub_net_free(node->net);
        ub_sec_free(node->sec);
        node_imports_free(node->imports);
        g_free(node);
    }
}

void ub_node_reset(UbNode *node, int64_t now)
{
    node_imports_reset(node->imports);
    ub_ta_reset(node->ta);
    ub_tp_reset(node->tp);
    ub_net_reset(node->net, now);
    for (unsigned i = 0; i < UB_SEC_TARGETS; i++) {
        ub_sec_set_entity(node->sec, i, NULL, 0);
    }
    if (ub_sec_cip(node->sec)) {
        ub_cip_reset(ub_sec_cip(node->sec));
    }
}

const UbNodeConfig *ub_node_config(const UbNode *node)
{
    return &node->cfg;
}

NodeImports *node_imports(UbNode *node)
{
    return node->imports;
}

UbNet *ub_node_net(UbNode *node)
{
    return node->net;
}

UbTp *ub_node_tp(UbNode *node)
{
    return node->tp;
}

UbSec *ub_node_sec(UbNode *node)
{
    return node->sec;
}

UbTa *ub_node_ta(UbNode *node)
{
    return node->ta;
}

void ub_node_rx(UbNode *node, int64_t now, unsigned port, CorePacket *pkt)
{
    ub_net_rx(node->net, now, port, pkt);
}

void ub_node_room(UbNode *node, int64_t now, unsigned port, unsigned vl)
{
    ub_net_room(node->net, now, port, vl);
}

/*
 * From the top down, so that what the transaction layer makes leaves in the same
 * turn, with the acknowledgements that it owes.
 */
int64_t ub_node_run(UbNode *node, int64_t now, unsigned budget)
{
    int64_t next, at;

    next = ub_ta_run(node->ta, now, budget);
    node->stirred = false;
    at = ub_tp_run(node->tp, now, budget);
    next = MIN(next, at);
    at = ub_net_run(node->net, now, budget);
    return node->stirred ? now : MIN(next, at);
}

void ub_node_image(UbNode *node, CoreImage *im,
                   UbTaRequest *(*adopt)(void *opaque, uint32_t rcid,
                                         uint64_t id))
{
    unsigned version = core_image_begin(im, CORE_TAG('N', 'O', 'D', 'E'), 2);

    ub_net_image(node->net, im);
    ub_tp_image(node->tp, im);
    ub_sec_image(node->sec, im);
    ub_ta_image(node->ta, im, adopt);
    if (version >= 2) {
        node_imports_image(node, im);
    }
    core_image_end(im);
}
