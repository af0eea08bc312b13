/*
 * What was asked and has no answer yet.  There is a bound: more is refused.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

UbMgmtWait *ub_mgmt_wait(UbMgmt *m, UbMgmtKind kind, uint32_t queue,
                         uint16_t msn, int64_t at)
{
    UbMgmtWait *w;

    if (m->waiting == m->cfg.outstanding) {
        return NULL;
    }
    w = &m->wait[m->waiting++];
    *w = (UbMgmtWait) {
        .kind = kind, .queue = queue, .msn = msn, .at = at,
    };
    return w;
}

UbMgmtWait *ub_mgmt_waiter(UbMgmt *m, UbMgmtKind kind, uint32_t queue,
                           uint16_t msn)
{
    for (unsigned i = 0; i < m->waiting; i++) {
        UbMgmtWait *w = &m->wait[i];

        if (w->msn == msn && w->queue == queue && w->kind == kind &&
            !w->over) {
            return w;
        }
    }
    return NULL;
}

void ub_mgmt_wait_end(UbMgmt *m, UbMgmtWait *w)
{
    g_free(w->data);
    *w = m->wait[--m->waiting];
}

void ub_mgmt_wait_all_end(UbMgmt *m)
{
    while (m->waiting) {
        ub_mgmt_wait_end(m, &m->wait[m->waiting - 1]);
    }
}

unsigned ub_mgmt_waiting(const UbMgmt *m)
{
    return m->waiting;
}
