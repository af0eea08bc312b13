/*
 * ncic-mthca: the agents that firmware embeds: subnet management and
 * performance management (MAD_IFC).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* Management datagram header */
#define MAD_CLASS       1
#define MAD_METHOD      3
#define MAD_STATUS      4
#define MAD_ATTR        16
#define MAD_MOD         20
#define MAD_MKEY        24
#define MAD_DATA        64
#define MAD_BYTES       256

enum { CLASS_LID = 0x01, CLASS_PERF = 0x04, CLASS_DIRECTED = 0x81 };
enum { METHOD_GET = 1, METHOD_SET = 2, METHOD_TRAP_REPRESS = 7,
       METHOD_GET_RESP = 0x81 };
enum { MAD_OK = 0, MAD_BAD_CLASS = 1 << 2, MAD_BAD_METHOD = 2 << 2,
       MAD_BAD_ATTR = 3 << 2, MAD_BAD_FIELD = 7 << 2 };

/* @d: 64 (SMP) or 192 bytes of attribute data; for Set holds the request. */
typedef uint16_t MadFn(Mthca *m, uint32_t mod, uint8_t *d, bool set);

typedef struct MadAttr {
    uint8_t class;          /* CLASS_LID stands for both SMP classes */
    uint16_t attr;
    bool settable;
    MadFn *fn;
} MadAttr;

static uint16_t node_desc(Mthca *m, uint32_t mod, uint8_t *d, bool set)
{
    memcpy(d, m->port.node_desc, 64);
    return MAD_OK;
}

static uint16_t node_info(Mthca *m, uint32_t mod, uint8_t *d, bool set)
{
    d[0] = 1;               /* base version */
    d[1] = 1;               /* class version */
    d[2] = 1;               /* channel adapter */
    d[3] = 1;               /* ports */
    put_be64(d + 4, m->cfg.guid);
    put_be64(d + 12, m->cfg.guid);
    memcpy(d + 20, m->port.guid[0], 8);
    put_be16(d + 28, MTHCA_MAX_PKEYS);
    put_be16(d + 30, MTHCA_PCI_DEVICE_SINAI);
    put_be32(d + 32, 0xa0);
    put_be32(d + 36, 1u << 24 | 0x0002c9);  /* port 1, vendor */
    return MAD_OK;
}

static uint16_t guid_info(Mthca *m, uint32_t mod, uint8_t *d, bool set)
{
    if (mod >= MTHCA_MAX_GIDS / 8) {
        return MAD_BAD_FIELD;
    }
    if (set) {
        /* GUID 0 is the port's own and stays. */
        unsigned skip = mod ? 0 : 1;

        memcpy(m->port.guid[mod * 8 + skip], d + skip * 8, (8 - skip) * 8);
        mthca_port_apply(m);
    }
    memcpy(d, m->port.guid[mod * 8], 64);
    return MAD_OK;
}

/* Port state in a Set: 0 = leave. */
static uint16_t set_state(Mthca *m, const uint8_t *d)
{
    uint8_t now = mthca_port_state(m), want = d[32] & 0xf;
    uint8_t phys = d[33] >> 4;

    if (want == PORT_DOWN && now != PORT_DOWN) {
        /* Down through the subnet manager: the link trains again at once. */
        mthca_port_state_set(m, PORT_DOWN, PHYS_POLLING);
        if (phys != PHYS_DISABLED) {
            mthca_port_up(m);
        }
        return MAD_OK;
    }
    if (want == 0 || want == now) {
        return MAD_OK;
    }
    if ((want == PORT_ARMED && now == PORT_INIT) ||
        (want == PORT_ACTIVE && now == PORT_ARMED)) {
        mthca_port_state_set(m, want, PHYS_LINKUP);
        return MAD_OK;
    }
    return MAD_BAD_FIELD;
}

static uint16_t set_port_info(Mthca *m, const uint8_t *d)
{
    uint8_t *i = m->port.info;
    uint16_t lid = get_be16(d + 16);

    if (lid >= RDMA_LID_MULTICAST || get_be16(d + 18) >= RDMA_LID_MULTICAST) {
        return MAD_BAD_FIELD;
    }
    memcpy(i, d, 16);                   /* M_Key, GID prefix */
    put_be16(i + 16, lid);
    memcpy(i + 18, d + 18, 2);          /* SM LID */
    memcpy(i + 26, d + 26, 2);          /* M_Key lease */
    if (d[29] && d[29] != 0xff) {
        i[29] = d[29];
    }
    if (d[33] & 0xf) {
        i[33] = (i[33] & 0xf0) | (d[33] & 0xf);
    }
    i[34] = (i[34] & 0x38) | (d[34] & 0xc7);    /* protect bits, LMC */
    if ((d[35] & 0xf) && (d[35] & 0xf) != 0xf) {
        i[35] = (i[35] & 0xf0) | (d[35] & 0xf);
    }
    if (d[36] >> 4 >= 1 && d[36] >> 4 <= (i[41] & 0xf)) {
        i[36] = d[36];                  /* neighbour MTU, SM SL */
    } else {
        i[36] = (i[36] & 0xf0) | (d[36] & 0xf);
    }
    i[38] = d[38];
    if (d[43] >> 4 == 1) {
        i[43] = d[43];
    }
    memcpy(i + 44, d + 44, 6);          /* violation counters */
    i[51] = d[51] & 0x1f;               /* subnet timeout; re-register is not
                                         * kept */
    i[53] = d[53];
    mthca_port_apply(m);
    return set_state(m, d);
}

static uint16_t port_info(Mthca *m, uint32_t mod, uint8_t *d, bool set)
{
    uint16_t st = MAD_OK;

    if ((mod & 0xff) > 1) {
        return MAD_BAD_FIELD;
    }
    mthca_port_violations(m);
    if (set) {
        st = set_port_info(m, d);
    }
    memcpy(d, m->port.info, 64);
    return st;
}

static uint16_t pkey_table(Mthca *m, uint32_t mod, uint8_t *d, bool set)
{
    uint16_t *table;

    mod &= 0xffff;
    if (mod >= MTHCA_MAX_PKEYS / 32) {
        return MAD_BAD_FIELD;
    }
    table = &m->port.pkey[mod * 32];
    if (set) {
        for (unsigned i = 0; i < 32; i++) {
            table[i] = get_be16(d + i * 2);
        }
        mthca_port_apply(m);
    }
    for (unsigned i = 0; i < 32; i++) {
        put_be16(d + i * 2, table[i]);
    }
    return MAD_OK;
}

static uint16_t sl_to_vl(Mthca *m, uint32_t mod, uint8_t *d, bool set)
{
    if (set) {
        memcpy(m->port.sl2vl, d, 8);
    }
    memcpy(d, m->port.sl2vl, 8);
    return MAD_OK;
}

static uint16_t vl_arb(Mthca *m, uint32_t mod, uint8_t *d, bool set)
{
    uint32_t block = mod >> 16;

    if (block < 1 || block > 4) {
        return MAD_BAD_FIELD;
    }
    if (set) {
        memcpy(m->port.vlarb[block - 1], d, 64);
    }
    memcpy(d, m->port.vlarb[block - 1], 64);
    return MAD_OK;
}

static uint16_t pma_class_info(Mthca *m, uint32_t mod, uint8_t *d, bool set)
{
    d[0] = 1;
    d[1] = 1;
    d[7] = 0x10;            /* response time */
    return MAD_OK;
}

static uint16_t pma_samples(Mthca *m, uint32_t mod, uint8_t *d, bool set)
{
    memset(d, 0, 64);
    d[1] = 1;
    return MAD_OK;
}

static uint32_t saturate(uint64_t v, unsigned bits)
{
    uint64_t max = (1ull << bits) - 1;

    return v > max ? max : v;
}

/* A Set clears: counting starts again from the present values. */
static uint16_t pma_counters(Mthca *m, uint32_t mod, uint8_t *d, bool set)
{
    const RdmaCounters *now = rdma_counters(m->rdma);
    RdmaCounters *base = &m->port.base;

    if (d[1] != 1 && d[1] != 0xff) {
        return MAD_BAD_FIELD;
    }
    if (set) {
        *base = *now;
    }
#define DELTA(f) (now->f - base->f)
    memset(d + 4, 0, 60);
    put_be16(d + 8, saturate(DELTA(rx_bad_icrc) + DELTA(rx_short) +
                             DELTA(rx_bad_ip), 16));
    put_be16(d + 14, saturate(DELTA(tx_dropped), 16));
    put_be32(d + 24, saturate(DELTA(tx_bytes) / 4, 32));
    put_be32(d + 28, saturate(DELTA(rx_bytes) / 4, 32));
    put_be32(d + 32, saturate(DELTA(tx_frames), 32));
    put_be32(d + 36, saturate(DELTA(rx_frames), 32));
#undef DELTA
    return MAD_OK;
}

static const MadAttr mad_attrs[] = {
    { CLASS_LID, 0x10, false, node_desc },
    { CLASS_LID, 0x11, false, node_info },
    { CLASS_LID, 0x14, true, guid_info },
    { CLASS_LID, 0x15, true, port_info },
    { CLASS_LID, 0x16, true, pkey_table },
    { CLASS_LID, 0x17, true, sl_to_vl },
    { CLASS_LID, 0x18, true, vl_arb },
    { CLASS_PERF, 0x01, false, pma_class_info },
    { CLASS_PERF, 0x10, true, pma_samples },
    { CLASS_PERF, 0x12, true, pma_counters },
};

static const MadAttr *mad_attr(uint8_t class, uint16_t attr)
{
    for (size_t i = 0; i < G_N_ELEMENTS(mad_attrs); i++) {
        if (mad_attrs[i].class == class && mad_attrs[i].attr == attr) {
            return &mad_attrs[i];
        }
    }
    return NULL;
}

/* M_Key protection (IB 1.3 14.2.4): may this SMP pass? */
static bool mkey_ok(Mthca *m, const uint8_t *mad, bool set)
{
    uint64_t key = get_be64(m->port.info);
    unsigned protect = m->port.info[34] >> 6;

    return !key || get_be64(mad + MAD_MKEY) == key || (!set && protect < 2);
}

uint8_t mthca_mad_ifc(Mthca *m, MthcaCmd *c)
{
    uint8_t *out = c->out, class = c->in[MAD_CLASS];
    bool smp = class == CLASS_LID || class == CLASS_DIRECTED;
    bool set = c->in[MAD_METHOD] == METHOD_SET;
    uint16_t status;
    const MadAttr *a;

    m->counters.mads++;
    if (c->in[0] != 1 || (c->in[MAD_METHOD] != METHOD_GET && !set &&
                          c->in[MAD_METHOD] != METHOD_TRAP_REPRESS)) {
        m->counters.mads_dropped++;
        return MTHCA_ST_BAD_PKT;
    }
    if (smp && !(c->op_mod & 1) && !mkey_ok(m, c->in, set)) {
        uint8_t *viol = m->port.info + 44;

        put_be16(viol, MIN(get_be16(viol) + 1, 0xffff));
        m->counters.mads_dropped++;
        return MTHCA_ST_BAD_PKT;
    }
    memcpy(out, c->in, MAD_BYTES);
    out[MAD_METHOD] = METHOD_GET_RESP;
    if (c->in[MAD_METHOD] == METHOD_TRAP_REPRESS) {
        put_be16(out + MAD_STATUS, 0);
        return MTHCA_ST_OK;
    }
    a = mad_attr(smp ? CLASS_LID : class, get_be16(c->in + MAD_ATTR));
    if (!a) {
        status = MAD_BAD_ATTR;
    } else if (set && !a->settable) {
        status = MAD_BAD_METHOD;
    } else {
        if (!set && smp) {
            memset(out + MAD_DATA, 0, 64);
        }
        status = a->fn(m, get_be32(c->in + MAD_MOD), out + MAD_DATA, set);
    }
    put_be16(out + MAD_STATUS, status);
    return MTHCA_ST_OK;
}
