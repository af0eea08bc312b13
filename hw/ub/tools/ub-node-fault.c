/*
 * ub-node: commands on faults between the network layer and the port.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "ub-node.h"

static const char *const actions[CORE_FAULT_NUM] = {
    "none", "drop", "duplicate", "reorder", "corrupt", "delay",
};
static const char *const kinds[UB_FAULT_KINDS] = {
    "rtp", "ctp", "utp", "bypass", "scan", "control", "ip",
};

/* The longest that a packet is held, in microseconds. */
#define LONGEST_US 60000000

/* A number of @args, in its limits; others are what is wrong with @name. */
static bool number(json_t *args, const char *name, uint64_t max, uint64_t *out)
{
    const json_t *v = json_object_get(args, name);

    if (!v) {
        return true;
    }
    *out = json_integer_value(v);
    return json_is_integer(v) && json_integer_value(v) >= 0 && *out <= max;
}

/* A word of @args as its place among @words. */
static bool word(json_t *args, const char *name, const char *const *words,
                 unsigned n, uint64_t *out)
{
    const char *v = json_string_value(json_object_get(args, name));

    if (!json_object_get(args, name)) {
        return true;
    }
    for (unsigned i = 0; v && i < n; i++) {
        if (!strcmp(v, words[i])) {
            *out = i;
            return true;
        }
    }
    return false;
}

static bool out_of(json_t *args, bool *out)
{
    const json_t *v = json_object_get(args, "out");

    *out = json_is_true(v);
    return !v || json_is_boolean(v);
}

static bool get_plan(json_t *args, UbFaultPlan *p)
{
    uint64_t seed = 0, nth = 0, every = 0, depth = 0, delay = 0, action = 0;
    uint64_t kind = p->kind, tp = p->tp_opcode, ta = p->ta_opcode;
    uint64_t psn = p->psn, last = p->psn_last;
    uint64_t queue = p->queue, target = p->target_queue;

    if (!number(args, "seed", UINT32_MAX, &seed) ||
        !number(args, "nth", INT64_MAX, &nth) ||
        !number(args, "every", INT64_MAX, &every) ||
        !number(args, "reorder-depth", 64, &depth) ||
        !number(args, "delay-us", LONGEST_US, &delay) ||
        !number(args, "tp-opcode", UB_FAULT_ANY, &tp) ||
        !number(args, "ta-opcode", UB_FAULT_ANY, &ta) ||
        !number(args, "psn", UINT32_MAX, &psn) ||
        !number(args, "psn-last", UINT32_MAX, &last) ||
        !number(args, "queue", UINT32_MAX, &queue) ||
        !number(args, "target-queue", UINT32_MAX, &target) ||
        !word(args, "action", actions, G_N_ELEMENTS(actions), &action) ||
        !word(args, "kind", kinds, G_N_ELEMENTS(kinds), &kind)) {
        return false;
    }
    for (unsigned i = 1; i < CORE_FAULT_NUM; i++) {
        g_autofree char *name = g_strconcat(actions[i], "-ppm", NULL);
        uint64_t ppm = 0;

        if (!number(args, name, 1000000, &ppm)) {
            return false;
        }
        p->plan.ppm[i] = ppm;
    }
    p->plan.seed = seed;
    p->plan.nth = nth;
    p->plan.every = every;
    p->plan.reorder_depth = depth;
    p->plan.delay_us = delay;
    p->plan.nth_action = action;
    p->kind = kind;
    p->tp_opcode = tp;
    p->ta_opcode = ta;
    p->psn = psn;
    p->psn_last = last;
    p->queue = queue;
    p->target_queue = target;
    return true;
}

const char *node_fault_set(Endpoint *e, json_t *args, json_t *id)
{
    UbFaultPlan plan;
    const char *why;
    bool out;

    ub_fault_plan_init(&plan);
    if (!out_of(args, &out) || !get_plan(args, &plan)) {
        return "a value of the faults is out of its limits, or none at all";
    }
    why = ub_fault_plan_check(&plan);
    if (why) {
        return why;
    }
    ub_node_set_fault(e->node, out, &plan);
    prog.kicked = true;
    node_say(json_pack("{s:{}}", "return"), id);
    return NULL;
}

const char *node_fault_query(Endpoint *e, json_t *args, json_t *id)
{
    uint64_t done[CORE_FAULT_NUM] = { 0 };
    json_t *r = json_object();
    UbFaultPlan plan;
    bool out;

    if (!out_of(args, &out)) {
        json_decref(r);
        return "out is a truth value";
    }
    json_object_set_new(r, "on", json_boolean(ub_node_fault(e->node, out,
                                                            &plan, done)));
    for (unsigned i = 1; i < CORE_FAULT_NUM; i++) {
        json_object_set_new(r, actions[i], json_integer(done[i]));
    }
    node_say(json_pack("{s:o}", "return", r), id);
    return NULL;
}
