/*
 * Messages that the node answers itself, but those of configuration
 * (UB 2.0 §10.4.3.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/random.h"
#include "internal.h"

/* ---- Entities and resource spaces ---- */

#define SPACES 3 /* ERS0 to ERS2 */

static uint32_t cfg1(uint32_t dw)
{
    return UB_CFG1_BASE + dw;
}

/* The Entity that is asked, by its DEID; Entity 0 where that is none yet.  -1: a bus
 * instance, which has no resource spaces: Entity 0's are another partition's. */
static int asked(const UbMgmt *m, const UbMgmtCall *c)
{
    int entity = c->from->deid ? ub_mgmt_entity_of(m, c->from->deid) : 0;

    if (entity < 0 && ub_mgmt_instance_of(m, c->from->deid)) {
        return -1;
    }
    return MAX(entity, 0);
}

static UbMgmtStatus get_resource(UbMgmt *m, UbMgmtCall *c)
{
    int entity = asked(m, c);
    UbSpace *space = entity < 0 ? NULL : ub_mgmt_entity(m, entity);

    if (!space) {
        return UB_MGMT_NO_TARGET;
    }
    for (unsigned i = 0; i < SPACES; i++) {
        uint8_t *p = c->out + 12 * i;

        put_be32(p, ub_space_read(space, cfg1(UB_CFG1_ERS0_SS + i)));
        put_be32(p + 4, ub_space_read(space, cfg1(UB_CFG1_ERS0_SA + 2 * i)));
        put_be32(p + 8,
                 ub_space_read(space, cfg1(UB_CFG1_ERS0_SA + 2 * i + 1)));
    }
    c->out_len = 12 * SPACES;
    return UB_MGMT_OK;
}

/* The only addresses of resource spaces that can be set are the UBAs of Entity 0,
 * which the others follow. */
static UbMgmtStatus set_resource(UbMgmt *m, UbMgmtCall *c)
{
    if (!c->from->mgmt) {
        return UB_MGMT_NO_PERMISSION;
    }
    if (asked(m, c) < 0) {
        return UB_MGMT_NO_TARGET;
    }
    if (asked(m, c) ||
        !(ub_mgmt_reg(m, cfg1(UB_CFG1_SUPPORTED_FEATURE)) &
          UB_CFG1_SUPPORTED_FEATURE__UBA_SUPPORT)) {
        return UB_MGMT_BAD_PARAMETER;
    }
    for (unsigned i = 0; i < 2 * SPACES; i++) {
        ub_space_write(m->space, c->now, cfg1(UB_CFG1_ERS0_UBA + i),
                       get_be32(c->pdu + 4 + 4 * i), 0xf);
    }
    return UB_MGMT_OK;
}

static UbMgmtStatus resource(UbMgmt *m, UbMgmtCall *c)
{
    bool set = ub_mgmt_get(c->pdu, UB_MF_RESOURCE_OPCODE);

    if (c->len != (set ? 28 : 4)) {
        return UB_MGMT_BAD_LENGTH;
    }
    return set ? set_resource(m, c) : get_resource(m, c);
}

static UbMgmtStatus entity_info(UbMgmt *m, UbMgmtCall *c)
{
    ub_mgmt_put(c->out, UB_MF_ENTITY_MUES, m->cfg.mues);
    ub_mgmt_put(c->out, UB_MF_ENTITY_ALL, ub_mgmt_entities(m));
    for (unsigned i = 0; i < m->cfg.mues; i++) {
        put_be16(c->out + 8 + 4 * i, m->cfg.mue[i].last);
        put_be16(c->out + 10 + 4 * i, m->cfg.mue[i].first);
    }
    c->out_len = 8 + 4 * m->cfg.mues;
    return UB_MGMT_OK;
}

/* ---- Neighbours ---- */

static UbMgmtStatus neighbor(UbMgmt *m, UbMgmtCall *c)
{
    bool list = ub_mgmt_get(c->pdu, UB_MF_NEIGHBOR_D);
    unsigned n = ub_mgmt_get(c->pdu, UB_MF_NEIGHBOR_PORTS);
    const uint8_t *ports = c->pdu + 4;
    unsigned first = 0;

    if (c->len < 4 + (list ? (n + 1) / 2 * 4 : 4)) {
        return UB_MGMT_BAD_LENGTH;
    }
    if (!list) {
        first = get_be16(ports);
        if (get_be16(ports + 2) < first) {
            return UB_MGMT_BAD_PARAMETER;
        }
        n = get_be16(ports + 2) - first + 1;
    }
    if (n * UB_TLV_PORT_INFO_SIZE > UB_MGMT_PDU_MAX) {
        return UB_MGMT_BAD_PARAMETER;
    }
    for (unsigned i = 0; i < n; i++) {
        unsigned port = list ? get_be16(ports + 2 * i) : first + i;

        if (port >= m->cfg.ports) {
            return UB_MGMT_BAD_PARAMETER;
        }
        ub_mgmt_port_info(m, port, c->out + UB_TLV_PORT_INFO_SIZE * i);
    }
    c->out_len = n * UB_TLV_PORT_INFO_SIZE;
    return UB_MGMT_OK;
}

/* ---- Tokens ---- */

static UbMgmtStatus token_check(UbMgmt *m, UbMgmtCall *c)
{
    int entity = asked(m, c);

    if (entity < 0) {
        return UB_MGMT_NO_TARGET;
    }
    if (entity >= UB_MGMT_TOKENS) {
        return UB_MGMT_NO_RESOURCE;
    }
    m->token[entity].check = ub_mgmt_get(c->pdu, UB_MF_TOKEN_ENABLE);
    if (m->token[entity].check) {
        m->token[entity].value = core_random(&m->random);
        ub_mgmt_put(c->out, UB_MF_TOKEN_ID,
                    ub_space_read(ub_mgmt_entity(m, entity),
                                  cfg1(UB_CFG1_DEV_TOKEN_ID)));
        ub_mgmt_put(c->out, UB_MF_TOKEN_VALUE, m->token[entity].value);
        c->out_len = 8;
    }
    return UB_MGMT_OK;
}

bool ub_mgmt_token(const UbMgmt *m, unsigned entity, uint32_t *token_id,
                   uint32_t *value)
{
    UbSpace *space = entity < UB_MGMT_TOKENS ? ub_mgmt_entity(m, entity) : NULL;

    if (!space || !m->token[entity].check) {
        return false;
    }
    *token_id = ub_space_read(space, cfg1(UB_CFG1_DEV_TOKEN_ID));
    *value = m->token[entity].value;
    return true;
}

void ub_mgmt_reset_entity(UbMgmt *m, unsigned entity)
{
    if (entity < UB_MGMT_TOKENS) {
        m->token[entity].check = false;
    }
}

/* ---- Bus instances ---- */

/* The place of a GUID, or -1. */
static int find_instance(const UbMgmt *m, UbId guid)
{
    for (unsigned i = 0; i < UB_MGMT_BUS_INSTANCES; i++) {
        if (ub_id_same(m->instance[i].guid, guid)) {
            return i;
        }
    }
    return -1;
}

/* A place that is free, and of whose last instance nothing is left; or -1. */
static int free_place(const UbMgmt *m)
{
    for (unsigned i = 0; i < UB_MGMT_BUS_INSTANCES; i++) {
        if (!ub_mgmt_bus_instance(m, i) &&
            !(m->ops->instance_busy && m->ops->instance_busy(m->opaque, i))) {
            return i;
        }
    }
    return -1;
}

const UbBusInstance *ub_mgmt_instance_of(const UbMgmt *m, uint32_t eid)
{
    for (unsigned i = 0; i < UB_MGMT_BUS_INSTANCES; i++) {
        const UbBusInstance *b = ub_mgmt_bus_instance(m, i);

        if (b && (b->eid.w[0] & UB_MGMT_EID_SHORT) == eid) {
            return b;
        }
    }
    return NULL;
}

/* Whether an EID is somebody's here, as 20 bits show it. */
static bool eid_taken(const UbMgmt *m, UbId eid)
{
    uint32_t low = eid.w[0] & UB_MGMT_EID_SHORT;

    return ub_mgmt_instance_of(m, low) || ub_mgmt_entity_of(m, low) >= 0;
}

/* A GUID of type 0 (§C.3); an EID that packets can name; a partition that is one. */
bool ub_mgmt_instance_good(const UbBusInstance *b)
{
    return !ub_id_zero(b->guid) && !(b->guid.w[2] >> 24 & 0xf) &&
           b->eid.w[0] & UB_MGMT_EID_SHORT && b->upi && b->upi < UB_MGMT_UPI;
}

static UbMgmtStatus create_instance(UbMgmt *m, UbMgmtCall *c)
{
    UbBusInstance b = {
        .guid = ub_mgmt_get_id(c->pdu, UB_MF_BI_CREATE_GUID),
        .eid = ub_mgmt_get_id(c->pdu, UB_MF_BI_CREATE_EID),
        .upi = ub_mgmt_get(c->pdu, UB_MF_BI_CREATE_UPI),
    };
    int i;

    if (!m->ops->instance) {
        return UB_MGMT_BAD_CODE;    /* no bus controller, as a switch */
    }
    if (!ub_mgmt_instance_good(&b)) {
        return UB_MGMT_BAD_PARAMETER;
    }
    if (find_instance(m, b.guid) >= 0 || eid_taken(m, b.eid)) {
        return UB_MGMT_EXISTS;
    }
    i = free_place(m);
    if (i < 0) {
        return UB_MGMT_NO_RESOURCE;
    }
    m->instance[i] = b;
    m->ops->instance(m->opaque, i);
    return UB_MGMT_OK;
}

static UbMgmtStatus destroy_instance(UbMgmt *m, UbMgmtCall *c)
{
    UbId guid = ub_mgmt_get_id(c->pdu, UB_MF_BI_DESTROY_GUID);
    int i = ub_id_zero(guid) ? -1 : find_instance(m, guid);

    if (!m->ops->instance) {
        return UB_MGMT_BAD_CODE;
    }
    if (i < 0) {
        return UB_MGMT_ABSENT;
    }
    m->instance[i] = (UbBusInstance) { 0 };
    m->ops->instance(m->opaque, i);
    return UB_MGMT_OK;
}

const UbBusInstance *ub_mgmt_bus_instance(const UbMgmt *m, unsigned i)
{
    return i < UB_MGMT_BUS_INSTANCES && !ub_id_zero(m->instance[i].guid)
           ? &m->instance[i] : NULL;
}

/* ---- The table ---- */

UbMgmtHandler *ub_mgmt_handler(UbMgmtId id)
{
    static UbMgmtHandler *const handlers[128] = {
        [UB_MGMT_MSG_CFG0_READ] = ub_mgmt_config_access,
        [UB_MGMT_MSG_CFG0_WRITE] = ub_mgmt_config_access,
        [UB_MGMT_MSG_CFG1_READ] = ub_mgmt_config_access,
        [UB_MGMT_MSG_CFG1_WRITE] = ub_mgmt_config_access,
        [UB_MGMT_MSG_RESOURCE] = resource,
        [UB_MGMT_MSG_ENTITY_INFO] = entity_info,
        [UB_MGMT_MSG_NEIGHBOR] = neighbor,
        [UB_MGMT_MSG_TOKEN_CHECK] = token_check,
        [UB_MGMT_MSG_BI_CREATE] = create_instance,
        [UB_MGMT_MSG_BI_DESTROY] = destroy_instance,
    };

    return handlers[id];
}
