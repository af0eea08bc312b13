/*
 * Settings of a node by name: the layers' lists as one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "ub/node_options.h"

static const struct {
    const char *prefix;
    size_t at;
    const CoreOption *(*list)(unsigned *n);
} layers[] = {
    { "net-", offsetof(UbNodeConfig, net), ub_net_options },
    { "tp-", offsetof(UbNodeConfig, tp), ub_tp_options },
    { "ta-", offsetof(UbNodeConfig, ta), ub_ta_options },
};

static CoreOption *join(unsigned *all)
{
    CoreOption *list = NULL;

    *all = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(layers); i++) {
        unsigned n;
        const CoreOption *o = layers[i].list(&n);

        list = g_renew(CoreOption, list, *all + n);
        for (unsigned j = 0; j < n; j++) {
            CoreOption *to = &list[(*all)++];

            *to = o[j];
            to->at += layers[i].at;
            if (!to->plain) {
                to->name = g_strconcat(layers[i].prefix, o[j].name, NULL);
            }
        }
    }
    return list;
}

const CoreOption *ub_node_options(unsigned *n)
{
    static gsize once;
    static const CoreOption *list;
    static unsigned len;

    if (g_once_init_enter(&once)) {
        list = join(&len);
        g_once_init_leave(&once, 1);
    }
    *n = len;
    return list;
}

const CoreOption *ub_node_option(const char *name)
{
    unsigned n;
    const CoreOption *o = ub_node_options(&n);

    for (unsigned i = 0; i < n; i++) {
        if (!strcmp(o[i].name, name)) {
            return &o[i];
        }
    }
    return NULL;
}

bool ub_node_option_set(UbNodeConfig *cfg, const char *text, char **why)
{
    const char *is = strchr(text, '=');
    g_autofree char *name = is ? g_strndup(text, is - text) : NULL;
    const CoreOption *o = name ? ub_node_option(name) : NULL;

    if (!is) {
        *why = g_strdup("a setting is NAME=VALUE");
        return false;
    }
    if (!o) {
        *why = g_strdup_printf("no setting \"%.64s\"", name);
        return false;
    }
    return core_option_parse(o, cfg, is + 1, why);
}

void ub_node_options_copy(UbNodeConfig *to, const UbNodeConfig *from)
{
    unsigned n;
    const CoreOption *o = ub_node_options(&n);

    for (unsigned i = 0; i < n; i++) {
        core_option_copy(&o[i], to, from);
    }
}

void ub_node_options_no_clocks(UbNodeConfig *cfg)
{
    memset(cfg->tp.clock, 0, sizeof(cfg->tp.clock));
}

void ub_node_options_clocks(UbNodeConfig *cfg, UbTpScale all)
{
    for (unsigned i = 0; i < UB_TPC_NUM; i++) {
        UbTpScale *s = &cfg->tp.clock[i];

        s->scale = s->scale ? s->scale : all.scale;
        s->floor_ns = s->floor_ns ? s->floor_ns : all.floor_ns;
    }
}
