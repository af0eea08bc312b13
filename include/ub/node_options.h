/*
 * Settings of a node by name: those of its network, transport and transaction
 * layers in one list, "net-sl-vl", "tp-ack-delay", "ta-window" (a few are plain:
 * "icrc").  Properties of the controller and options of ub-node are made from it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_NODE_OPTIONS_H
#define UB_NODE_OPTIONS_H

#include "core/option.h"
#include "ub/node.h"

/* The list; @at is in UbNodeConfig.  It stays. */
const CoreOption *ub_node_options(unsigned *n);
/* Option @name, or NULL. */
const CoreOption *ub_node_option(const char *name);
/* "NAME=VALUE".  False: *@why (g_free()) says what is wrong with it. */
bool ub_node_option_set(UbNodeConfig *cfg, const char *text, char **why);
/* Their values into another configuration, which keeps all else. */
void ub_node_options_copy(UbNodeConfig *to, const UbNodeConfig *from);
/* Scales and floors of the transport's clocks: 0, for ub_node_options_clocks() to
 * say. */
void ub_node_options_no_clocks(UbNodeConfig *cfg);
/* Those that are 0 get @all's. */
void ub_node_options_clocks(UbNodeConfig *cfg, UbTpScale all);

#endif
