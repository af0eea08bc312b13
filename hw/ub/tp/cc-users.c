/*
 * Algorithms of users (UB 2.0 §6.6): who brings one adds its file and a row, and a
 * property says which one the channels with UB_CC_USER have.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static const UbCc *const users[UB_CC_USERS] = { NULL, &ub_cc_aimd };

const UbCc *ub_cc_user(unsigned n)
{
    return n < UB_CC_USERS ? users[n] : NULL;
}

const UbCc *cc_algo(const UbTpConfig *cfg, unsigned kind)
{
    return kind == UB_CC_USER && !cfg->cc[kind] ? ub_cc_user(cfg->cc_user)
                                                : cfg->cc[kind];
}
