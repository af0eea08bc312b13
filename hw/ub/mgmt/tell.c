/*
 * A node's management: its identity, what it sends, what it counts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

void ub_mgmt_count(UbMgmt *m, UbMgmtCounter counter)
{
    m->counter[counter]++;
}

void ub_mgmt_blame(UbMgmt *m, UbMgmtCounter counter, const char *text)
{
    ub_mgmt_count(m, counter);
    if (m->ops->rule) {
        m->ops->rule(m->opaque, text);
    }
}

uint64_t ub_mgmt_counter(const UbMgmt *m, UbMgmtCounter counter)
{
    return m->counter[counter];
}

const char *ub_mgmt_counter_name(unsigned counter)
{
    static const char *const names[] = {
#define UB_X(symbol, name) name,
        UB_MGMT_COUNTERS(UB_X)
#undef UB_X
    };

    return counter < UB_MGMT_CNT_NUM ? names[counter] : NULL;
}

/* ---- Identity ---- */

uint32_t ub_mgmt_reg(UbMgmt *m, uint32_t dw)
{
    return ub_space_read(m->space, dw);
}

UbId ub_mgmt_reg_id(UbSpace *space, uint32_t dw)
{
    UbId id;

    for (unsigned i = 0; i < 4; i++) {
        id.w[i] = ub_space_read(space, dw + i);
    }
    return id;
}

unsigned ub_mgmt_entities(const UbMgmt *m)
{
    return UB_SPACE_GET(UB_CFG0_TOTAL_NUMBER_OF_ENTITIES__ALL,
                        ub_space_read(m->space,
                                      UB_CFG0_TOTAL_NUMBER_OF_ENTITIES));
}

UbSpace *ub_mgmt_entity(const UbMgmt *m, unsigned entity)
{
    if (!entity) {
        return m->space;
    }
    return m->ops->space && entity < ub_mgmt_entities(m)
           ? m->ops->space(m->opaque, entity) : NULL;
}

int ub_mgmt_entity_of(const UbMgmt *m, uint32_t eid)
{
    unsigned n = ub_mgmt_entities(m);

    for (unsigned i = 0; i < n; i++) {
        UbSpace *space = ub_mgmt_entity(m, i);

        if (space && (ub_space_read(space, UB_CFG0_EID) & 0xfffffu) == eid) {
            return i;
        }
    }
    return -1;
}

static uint32_t port_cna(const UbMgmt *m, unsigned port)
{
    return m->cfg.port_cna
           ? ub_space_read(m->space, UB_CFG_PORT_BASE(port) + UB_PORT_CNA) : 0;
}

uint32_t ub_mgmt_source(UbMgmt *m)
{
    return ub_mgmt_reg(m, UB_CFG0_PRIMARY_CNA);
}

bool ub_mgmt_own_cna(const UbMgmt *m, uint32_t cna)
{
    if (!cna) {
        return false;
    }
    if (cna == ub_space_read(m->space, UB_CFG0_PRIMARY_CNA)) {
        return true;
    }
    for (unsigned i = 0; i < m->cfg.ports; i++) {
        if (cna == port_cna(m, i)) {
            return true;
        }
    }
    return false;
}

/* ---- Sending ---- */

bool ub_mgmt_send(UbMgmt *m, int64_t now, const UbMgmtAddr *a,
                  const uint8_t *data, size_t len)
{
    if (!m->ops->message(m->opaque, now, a, data, len)) {
        ub_mgmt_count(m, UB_MGMT_CNT_DROP_UNSENT);
        return false;
    }
    return true;
}

bool ub_mgmt_send_scan(UbMgmt *m, int64_t now, unsigned port,
                       const UbMgmtAddr *a, const uint8_t *data, size_t len)
{
    if (port >= m->cfg.ports || !m->ops->port_up(m->opaque, port)) {
        ub_mgmt_count(m, UB_MGMT_CNT_DROP_PORT);
        return false;
    }
    if (!m->ops->scan(m->opaque, now, port, a, data, len)) {
        ub_mgmt_count(m, UB_MGMT_CNT_DROP_UNSENT);
        return false;
    }
    return true;
}

bool ub_mgmt_to_host(UbMgmt *m, const UbMgmtAddr *a, const uint8_t *data,
                     size_t len)
{
    if (m->ops->deliver && m->ops->deliver(m->opaque, -1, UB_MGMT_KIND_MESSAGE,
                                           a, data, len)) {
        return true;
    }
    ub_mgmt_count(m, UB_MGMT_CNT_DROP_NO_QUEUE);
    return false;
}
