/*
 * Bus instances: two controllers that a manager has given entries for virtual machines
 * (UB 2.0 §10.4.3.3, §10.5.1), what these send and receive, and Trust_EN (§D.1.15).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ub/net_format.h"
#include "ub/tp_format.h"
#include "ubc-resource-bed.h"

#define VM_UPI 5u
#define VM_EID(node) (0x20001u + (node))
#define ROW_VM 30u          /* from a virtual machine of a node to one of the other */
#define ROW_HOST 31u        /* from the host to that */
#define SEGMENT 7u          /* that ask() names */
#define UBA 0x10000u
#define TRUST UB_CFG0_TRUST_EN
#define TABLE 0x8000u       /* of pairs, in node 1's memory */

static unsigned answer_status;

static void on_answer(void *opaque, const uint8_t *data, size_t len, unsigned status)
{
    answer_status = status;
}

static bool has_answer(Side *a, Side *b)
{
    return answer_status != ~0u;
}

/* The manager, which is node 0's, asks a node. */
static unsigned manager(unsigned node, unsigned id, const uint8_t *pdu, size_t len)
{
    const UbMgmtAddr to = { .dcna = node + 1, .scna = 1, .seid = 1,
                            .upi = UB_MGMT_UPI, .mgmt = true };

    answer_status = ~0u;
    g_assert_true(ub_mgmt_request(two[0].ubc->mgmt, now, &to, id, pdu, len,
                                  on_answer, NULL));
    two[0].next = now;
    g_assert_true(run_until(&two[0], &two[1], has_answer, 60 * SECOND));
    return answer_status;
}

/* An instance whose GUID ends with @n. */
static unsigned create(unsigned node, uint32_t n, uint32_t eid, unsigned upi)
{
    uint8_t pdu[36] = { 0 };

    put_be32(pdu, n);
    put_be32(pdu + 12, 0xcc080001);
    put_be32(pdu + 16, eid);
    put_be32(pdu + 28, 0xfd000000);
    put_be16(pdu + 34, upi);
    return manager(node, UB_MGMT_MSG_BI_CREATE, pdu, sizeof(pdu));
}

static unsigned destroy(unsigned node, uint32_t n)
{
    uint8_t pdu[16] = { 0 };

    put_be32(pdu, n);
    put_be32(pdu + 12, 0xcc080001);
    return manager(node, UB_MGMT_MSG_BI_DESTROY, pdu, sizeof(pdu));
}

static unsigned query(unsigned node, unsigned i, uint8_t cmd[UBQ_CMD])
{
    ubq_cmd_init(cmd, i, 0);
    return ubq_command(&drv[node], UBQ_OP_INSTANCE_QUERY, cmd);
}

/* UBQ_INS_ALIVE of an instance that is there. */
static bool alive(unsigned node, unsigned i)
{
    uint8_t cmd[UBQ_CMD];

    g_assert_cmpuint(query(node, i, cmd), ==, UBQ_RESULT_OK);
    return get_le16(cmd + UBQ_INS_FLAGS) == UBQ_INS_ALIVE;
}

static unsigned segment(unsigned node, uint32_t token_id, unsigned entity)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, token_id, 0);
    put_le64(cmd + UBQ_SEG_UBA, UBA);
    put_le64(cmd + UBQ_SEG_BASE, room[node]);
    put_le64(cmd + UBQ_SEG_LENGTH, 4096);
    put_le32(cmd + UBQ_SEG_ACCESS, UBQ_SEG_READ | UBQ_SEG_WRITE);
    put_le16(cmd + UBQ_SEG_ENTITY, entity);
    return ubq_command(&drv[node], UBQ_OP_SEGMENT_SET, cmd);
}

/* A row by CTP to the instance of the other node. */
static unsigned dest(unsigned node, uint32_t row, unsigned from, unsigned form,
                     uint32_t upi)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, row, 0);
    cmd[UBQ_DST_WAY + UBQ_WAY_CFG] = UB_LPH_CNA16;
    cmd[UBQ_DST_WAY + UBQ_WAY_PORT] = 0xff;
    put_le32(cmd + UBQ_DST_WAY + UBQ_WAY_DCNA, 2 - node);
    cmd[UBQ_DST_CARRIER] = 1;
    cmd[UBQ_DST_FORM] = form;
    put_le16(cmd + UBQ_DST_MTU, 4096);
    put_le32(cmd + UBQ_DST_UPI, upi);
    cmd[UBQ_DST_DEID] = 0xfd;
    cmd[UBQ_DST_DEID + 13] = VM_EID(!node) >> 16;
    cmd[UBQ_DST_DEID + 15] = VM_EID(!node);
    put_le16(cmd + UBQ_DST_ENTITY, from);
    return ubq_command(&drv[node], UBQ_OP_DEST_SET, cmd);
}

static unsigned vm_dest(unsigned node, unsigned form)
{
    return dest(node, ROW_VM, UB_SEC_INSTANCE(0), form, VM_UPI);
}

/* A write by a row of a node to the other's segment, and what became of it there. */
static unsigned write_by(unsigned node, uint32_t row, uint8_t value)
{
    memset(drv[node].memory + room[node], value, 64);
    memset(drv[!node].memory + room[!node], 0, 64);
    return ask(node, UB_TA_WRITE, row, UBA, 64, NULL);
}

static bool arrived(unsigned node, uint8_t value)
{
    return drv[!node].memory[room[!node] + 63] == value;
}

static void machines_up(uint32_t table)
{
    bed_table = table;
    up(UBC_USI_TYPE1);
    bed_table = 0;
    for (unsigned i = 0; i < 2; i++) {
        wr(&two[i], UBQ_EQ(0) + UBQ_EQ_CTRL, UBQ_EQ_ENABLE | UBQ_EQ_DEVICE);
        g_assert_cmphex(create(i, 0x100 + i, VM_EID(i), VM_UPI), ==, UB_MGMT_OK);
        g_assert_cmpuint(segment(i, SEGMENT, UB_SEC_INSTANCE(0)), ==,
                         UBQ_RESULT_OK);
    }
}

/* The last event of an instance, of those that wait. */
static bool last_event(unsigned node, uint32_t *object, uint32_t *data)
{
    const uint8_t *e;
    bool any = false;

    while ((e = ubq_eq_poll(&drv[node]))) {
        uint32_t w = get_le32(e);

        if (((w & UBQ_EQE_TYPE) << 8 | (w & UBQ_EQE_SUB) >> 8) ==
            UBQ_EVENT_INSTANCE) {
            *object = get_le32(e + 4);
            *data = get_le32(e + 12);
            any = true;
        }
    }
    return any;
}

/* ---- Virtual machines ---- */

static void test_machines(void)
{
    static const uint8_t guid[16] = { 0xcc, 0x08, 0x00, 0x01, [14] = 0x01, 0x01 };
    static const uint8_t eid[16] = { 0xfd, [13] = 0x02, 0x00, 0x02 };
    uint32_t object = 9, data = 9;
    uint8_t cmd[UBQ_CMD];

    machines_up(0);
    g_assert_true(last_event(1, &object, &data));
    g_assert_cmpuint(object, ==, 0);
    g_assert_cmpuint(data, ==, 1);
    g_assert_cmpuint(query(1, 0, cmd), ==, UBQ_RESULT_OK);
    g_assert_cmpmem(cmd + UBQ_INS_GUID, 16, guid, 16);
    g_assert_cmpmem(cmd + UBQ_INS_EID, 16, eid, 16);
    g_assert_cmpuint(get_le32(cmd + UBQ_INS_UPI), ==, VM_UPI);
    g_assert_cmpuint(get_le16(cmd + UBQ_INS_ENTITY), ==, UB_SEC_INSTANCE(0));
    g_assert_cmpuint(get_le16(cmd + UBQ_INS_FLAGS), ==, UBQ_INS_ALIVE);
    g_assert_cmpuint(query(1, 1, cmd), ==, UBQ_RESULT_NO_OBJECT);
    g_assert_cmpuint(query(1, UBQ_INSTANCES, cmd), ==, UBQ_RESULT_NO_OBJECT);

    /* One writes memory of the other, in either form of headers. */
    for (unsigned form = UB_SEC_WIDE; form <= UB_SEC_SHORT; form++) {
        for (unsigned i = 0; i < 2; i++) {
            g_assert_cmpuint(vm_dest(i, form), ==, UBQ_RESULT_OK);
            g_assert_cmphex(write_by(i, ROW_VM, 0x5a + form), ==, UB_TAS_OK);
            g_assert_true(arrived(i, 0x5a + form));
        }
    }
    /* What is an Entity's is not its, nor the other way round. */
    g_assert_cmpuint(segment(1, SEGMENT, 0), ==, UBQ_RESULT_OK);
    g_assert_cmphex(write_by(0, ROW_VM, 0x66), !=, UB_TAS_OK);
    g_assert_false(arrived(0, 0x66));
    g_assert_cmpuint(segment(1, SEGMENT, UB_SEC_INSTANCE(0)), ==, UBQ_RESULT_OK);
    g_assert_cmphex(write_by(0, ROW_VM, 0x66), ==, UB_TAS_OK);
    g_assert_cmpuint(segment(1, SEGMENT + 1, UB_SEC_TARGETS), ==,
                     UBQ_RESULT_PARAMETER);
    /* The host is of another partition: its packets end at the other node. */
    g_assert_cmpuint(dest(0, ROW_HOST, 0, UB_SEC_WIDE, 1), ==, UBQ_RESULT_OK);
    g_assert_cmphex(write_by(0, ROW_HOST, 0x67), ==, UB_TAS_TIMEOUT);
    g_assert_false(arrived(0, 0x67));
    g_assert_cmpuint(ub_ta_counter(ub_node_ta(two[1].ubc->node),
                                   UB_TAC_DROP_UPI), >, 0);
    down();
}

/* A virtual machine says its own UPI, and nothing else. */
static void test_own_partition(void)
{
    machines_up(0);
    g_assert_cmpuint(dest(0, ROW_VM, UB_SEC_INSTANCE(0), UB_SEC_WIDE, VM_UPI + 1),
                     ==, UBQ_RESULT_PARAMETER);
    g_assert_cmpuint(dest(0, ROW_VM, UB_SEC_INSTANCE(0), UB_SEC_WIDE, 0), ==,
                     UBQ_RESULT_PARAMETER);
    g_assert_cmpuint(dest(0, ROW_VM, UB_SEC_INSTANCE(0), UB_SEC_NONE, VM_UPI), ==,
                     UBQ_RESULT_PARAMETER);
    g_assert_cmpuint(dest(0, ROW_VM, UB_SEC_INSTANCE(0), UB_SEC_SHORT,
                          UB_MGMT_UPI), ==, UBQ_RESULT_PARAMETER);
    g_assert_cmpuint(dest(0, ROW_VM, UB_SEC_INSTANCE(1), UB_SEC_WIDE, VM_UPI), ==,
                     UBQ_RESULT_PARAMETER);
    g_assert_cmpuint(dest(0, ROW_VM, UB_SEC_TARGETS, UB_SEC_WIDE, VM_UPI), ==,
                     UBQ_RESULT_PARAMETER);
    g_assert_cmpuint(vm_dest(0, UB_SEC_WIDE), ==, UBQ_RESULT_OK);
    g_assert_cmphex(write_by(0, ROW_VM, 1), ==, UB_TAS_OK);
    down();
}

/* One that is gone neither sends nor receives, and its rows are nobody else's. */
static void test_gone(void)
{
    uint32_t object = 9, data = 9;
    uint8_t cmd[UBQ_CMD];

    machines_up(0);
    g_assert_cmpuint(vm_dest(0, UB_SEC_WIDE), ==, UBQ_RESULT_OK);
    g_assert_cmphex(write_by(0, ROW_VM, 1), ==, UB_TAS_OK);
    g_assert_true(last_event(0, &object, &data));
    g_assert_cmphex(destroy(0, 0x100), ==, UB_MGMT_OK);
    g_assert_cmphex(destroy(0, 0x100), ==, UB_MGMT_ABSENT);
    g_assert_true(last_event(0, &object, &data));
    g_assert_cmpuint(object, ==, 0);
    g_assert_cmpuint(data, ==, 0);
    g_assert_cmpuint(query(0, 0, cmd), ==, UBQ_RESULT_NO_OBJECT);
    g_assert_cmphex(write_by(0, ROW_VM, 2), ==, UB_TAS_OPCODE);
    g_assert_false(arrived(0, 2));
    g_assert_cmpuint(vm_dest(0, UB_SEC_WIDE), ==, UBQ_RESULT_PARAMETER);
    /* Another in its place. */
    ubq_cmd_init(cmd, SEGMENT, 0);
    g_assert_cmpuint(ubq_command(&drv[0], UBQ_OP_SEGMENT_CLEAR, cmd), ==,
                     UBQ_RESULT_OK);
    g_assert_cmphex(create(0, 0x102, VM_EID(2), VM_UPI), ==, UB_MGMT_OK);
    g_assert_cmphex(write_by(0, ROW_VM, 3), ==, UB_TAS_OPCODE);
    g_assert_cmpuint(vm_dest(0, UB_SEC_WIDE), ==, UBQ_RESULT_OK);
    g_assert_cmphex(write_by(0, ROW_VM, 3), ==, UB_TAS_OK);
    /* The one that is asked goes. */
    g_assert_cmphex(destroy(1, 0x101), ==, UB_MGMT_OK);
    g_assert_cmphex(write_by(0, ROW_VM, 4), ==, UB_TAS_TIMEOUT);
    g_assert_false(arrived(0, 4));
    down();
}

/* Nobody comes where something of another is left: who speaks to the new one does not
 * reach that one's memory. */
static void test_left(void)
{
    uint8_t cmd[UBQ_CMD];

    machines_up(0);
    g_assert_cmphex(destroy(1, 0x101), ==, UB_MGMT_OK);
    g_assert_cmphex(create(1, 0x111, VM_EID(1), 6), ==, UB_MGMT_OK);
    g_assert_cmpuint(query(1, 0, cmd), ==, UBQ_RESULT_NO_OBJECT);
    g_assert_true(alive(1, 1));
    put(0, 0, UB_CFG0_UPI, 6);
    g_assert_cmpuint(dest(0, ROW_HOST, 0, UB_SEC_WIDE, 6), ==, UBQ_RESULT_OK);
    g_assert_cmphex(write_by(0, ROW_HOST, 7), ==, UB_TAS_ABORT);
    g_assert_false(arrived(0, 7));
    /* Its own is. */
    g_assert_cmpuint(segment(1, SEGMENT, UB_SEC_INSTANCE(1)), ==, UBQ_RESULT_OK);
    g_assert_cmphex(write_by(0, ROW_HOST, 8), ==, UB_TAS_OK);
    g_assert_true(arrived(0, 8));

    /* So it is with groups and queues; the lowest place that is free is next. */
    ubq_cmd_init(cmd, 0, 0);
    put_le16(cmd + UBQ_JG_ENTITY, UB_SEC_INSTANCE(0));
    g_assert_cmpuint(ubq_command(&drv[1], UBQ_OP_JGROUP_CREATE, cmd), ==,
                     UBQ_RESULT_OK);
    g_assert_cmphex(create(1, 0x112, VM_EID(2), 6), ==, UB_MGMT_OK);
    g_assert_cmpuint(query(1, 0, cmd), ==, UBQ_RESULT_NO_OBJECT);
    g_assert_true(alive(1, 2));
    ubq_cmd_init(cmd, 0, 0);
    g_assert_cmpuint(ubq_command(&drv[1], UBQ_OP_JGROUP_DESTROY, cmd), ==,
                     UBQ_RESULT_OK);
    g_assert_false(ub_urma_entity_used(two[1].ubc->urma, UB_SEC_INSTANCE(0)));
    g_assert_true(ub_urma_entity_used(two[1].ubc->urma, 0)); /* the bed's queue */
    g_assert_cmphex(create(1, 0x113, VM_EID(3), 6), ==, UB_MGMT_OK);
    g_assert_true(alive(1, 0));
    down();
}

/* Software does not make up an Entity that has the EID of an instance; when the manager
 * gives an instance the EID of one, that one is gone. */
static void test_rivals(void)
{
    UbSec *sec;
    uint8_t cmd[UBQ_CMD];
    unsigned errors;

    machines_up(0);
    sec = ub_node_sec(two[1].ubc->node);
    ubq_cmd_init(cmd, 9, 0);
    cmd[UBQ_ENT_EID] = 0xee;    /* the same in 20 bits alone */
    put_be32(cmd + UBQ_ENT_EID + 12, 0xabc00000 | VM_EID(1));
    put_le32(cmd + UBQ_ENT_UPI, VM_UPI);
    errors = two[1].guest_errors;
    g_assert_cmpuint(ubq_command(&drv[1], UBQ_OP_ENTITY_SET, cmd), ==,
                     UBQ_RESULT_PARAMETER);
    g_assert_cmpuint(two[1].guest_errors, ==, errors + 1);
    ubq_cmd_init(cmd, 9, 0);
    put_be32(cmd + UBQ_ENT_EID + 12, VM_EID(4));
    put_le32(cmd + UBQ_ENT_UPI, VM_UPI);
    g_assert_cmpuint(ubq_command(&drv[1], UBQ_OP_ENTITY_SET, cmd), ==,
                     UBQ_RESULT_OK);
    g_assert_nonnull(ub_sec_entity(sec, 9, NULL));
    g_assert_cmphex(create(1, 0x121, VM_EID(5), VM_UPI), ==, UB_MGMT_OK);
    g_assert_nonnull(ub_sec_entity(sec, 9, NULL));
    g_assert_cmphex(create(1, 0x122, VM_EID(4), VM_UPI), ==, UB_MGMT_OK);
    g_assert_null(ub_sec_entity(sec, 9, NULL));
    g_assert_nonnull(ub_sec_entity(sec, 0, NULL));
    down();
}

static void test_refused(void)
{
    static const struct {
        uint32_t n, type, eid;
        unsigned upi, want;
    } rows[] = {
        { 0x200, 1, VM_EID(5), 5, UB_MGMT_BAD_PARAMETER },
        { 0x200, 0, 0x70000000, 5, UB_MGMT_BAD_PARAMETER },
        { 0x200, 0, VM_EID(5), 0, UB_MGMT_BAD_PARAMETER },
        { 0x200, 0, VM_EID(5), UB_MGMT_UPI, UB_MGMT_BAD_PARAMETER },
        { 0x101, 0, VM_EID(5), 5, UB_MGMT_EXISTS },
        { 0x200, 0, VM_EID(1), 6, UB_MGMT_EXISTS },
        { 0x200, 0, 0x700000 | VM_EID(1), 6, UB_MGMT_EXISTS },
        { 0x200, 0, EID(URMA), 5, UB_MGMT_EXISTS },
        { 0x200, 0, VM_EID(5), 5, UB_MGMT_OK },
    };
    uint8_t none[16] = { 0 };

    machines_up(0);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        uint8_t pdu[36] = { 0 };

        put_be32(pdu, rows[i].n);
        put_be32(pdu + 8, rows[i].type << 24);
        put_be32(pdu + 12, 0xcc080001);
        put_be32(pdu + 16, rows[i].eid);
        put_be16(pdu + 34, rows[i].upi);
        g_assert_cmphex(manager(1, UB_MGMT_MSG_BI_CREATE, pdu, sizeof(pdu)), ==,
                        rows[i].want);
    }
    g_assert_cmphex(manager(1, UB_MGMT_MSG_BI_DESTROY, none, 16), ==,
                    UB_MGMT_ABSENT);
    for (unsigned i = 2; i < UB_MGMT_BUS_INSTANCES; i++) {
        g_assert_cmphex(create(1, 0x300 + i, 0x30000 + i, 5), ==, UB_MGMT_OK);
    }
    g_assert_cmphex(create(1, 0x400, 0x40000, 5), ==, UB_MGMT_NO_RESOURCE);
    g_assert_true(alive(1, UB_MGMT_BUS_INSTANCES - 1));
    down();
}

/* ---- Trust_EN ---- */

/* A packet that software of node 1 writes whole: as it says an instance. */
static const char *raw_says(uint32_t upi, uint32_t eid)
{
    Ubc *ubc = two[1].ubc;
    CorePacket *pkt = core_packet_alloc(ubc->pool, UB_NTH16_SIZE + UB_CTPH_LEN + 8);
    uint8_t *p = core_packet_data(pkt), *s = p + UB_NTH16_SIZE + UB_CTPH_LEN;
    UbNth h = { .scna = 2, .dcna = 1, .nlp = UB_NLP_CTPH };
    const char *why;

    memset(p, 0, pkt->len);
    ub_nth16_put(p, &h);
    p[UB_NTH16_SIZE] = UB_CTPOP_DATA << 6 | UB_TPH_UPI16;
    put_be16(s, upi);
    put_be24(s + 2, eid << 4);
    ub_meta(pkt)->lph_cfg = UB_LPH_CNA16;
    why = ubc_partition_tx(ubc, pkt);
    core_packet_free(pkt);
    return why;
}

/* Packets of all carriers that say who sends them, up to their UPIH and EIDH. */
typedef struct Raw {
    uint8_t byte[160];
    uint32_t len;
    uint32_t tph, sec;      /* where these begin */
} Raw;

static const struct {
    uint8_t cfg, nlp, tph, sec;
} carriers[] = {
    { UB_LPH_CNA16, UB_NLP_CTPH, UB_TPH_UPI16, UB_TPH_UPI16 },
    { UB_LPH_CNA16, UB_NLP_CTPH, UB_TPH_UPI32, UB_TPH_UPI32 },
    { UB_LPH_CNA24, UB_NLP_CTPH, UB_TPH_UPI32, UB_TPH_UPI32 },
    { UB_LPH_CNA24, UB_NLP_CTPH, UB_TPH_CIP, UB_TPH_UPI16 },
    { UB_LPH_CNA24, UB_NLP_RTPH, UB_TPH_UPI32, UB_TPH_UPI32 },
    { UB_LPH_CNA24, UB_NLP_RTPH, UB_TPH_CIP, UB_TPH_UPI32 },
    { UB_LPH_IPV4, UB_NLP_CTPH, UB_TPH_UPI32, UB_TPH_UPI32 },
    { UB_LPH_IPV6, UB_NLP_CTPH, UB_TPH_UPI32, UB_TPH_UPI32 },
};

static Raw raw_by(unsigned i, uint32_t upi)
{
    unsigned cfg = carriers[i].cfg;
    UbNth nth = { .scna = 2, .dcna = 1, .nlp = carriers[i].nlp };
    bool ip = ub_lph_is_ip(cfg), ctp = !ip && nth.nlp == UB_NLP_CTPH;
    UbRtph rtph = { .opcode = i % 2 ? UB_TPOP_DATA : UB_TPOP_UNRELIABLE,
                    .nlp = carriers[i].tph };
    UbCtph ctph = { .opcode = UB_CTPOP_DATA, .nlp = carriers[i].tph };
    UbIpPath path = { .src = { 10, 0, 0, 1 }, .dst = { 10, 0, 0, 2 } };
    Raw r = { .tph = cfg == UB_LPH_CNA16 ? UB_NTH16_SIZE
                     : cfg == UB_LPH_CNA24 ? UB_NTH24_SIZE
                     : cfg == UB_LPH_IPV4 ? UB_IPV4_PATH_SIZE
                                          : UB_IPV6_PATH_SIZE };
    uint8_t *p = r.byte;

    if (cfg == UB_LPH_CNA16) {
        ub_nth16_put(p, &nth);
    } else if (cfg == UB_LPH_CNA24) {
        ub_nth24_put(p, &nth);
    } else {
        ub_ip_put(p + UB_IPEXT_SIZE, cfg, &path, 0, 7,
                  UB_RTPH_LEN + UB_UPIH32_LEN + UB_EIDH256_LEN + 4);
    }
    if (ctp) {
        ub_ctph_put(p + r.tph, &ctph);
    } else {
        ub_rtph_put(p + r.tph, &rtph);
    }
    r.sec = r.tph + (ctp ? UB_CTPH_LEN : UB_RTPH_LEN);
    if (carriers[i].tph == UB_TPH_CIP) {
        p[r.sec] = (carriers[i].sec == UB_TPH_UPI16) << 4;
        r.sec += UB_CIPH_LEN;
    }
    if (carriers[i].sec == UB_TPH_UPI16) {
        put_be16(p + r.sec, upi);
        r.len = r.sec + UB_UPIH16_LEN + UB_EIDH40_LEN;
    } else {
        put_be32(p + r.sec, upi);
        r.len = r.sec + UB_UPIH32_LEN + UB_EIDH256_LEN;
    }
    return r;
}

static bool leaves(unsigned i, const Raw *r, uint32_t len)
{
    CorePacket *pkt = core_packet_alloc(two[1].ubc->pool, r->len);
    bool good;

    memcpy(core_packet_data(pkt), r->byte, r->len);
    core_packet_trim(pkt, r->len - len);
    ub_meta(pkt)->lph_cfg = carriers[i].cfg;
    good = !ubc_partition_tx(two[1].ubc, pkt);
    core_packet_free(pkt);
    return good;
}

/* Whatever it goes by, a packet of another's UPI does not leave; what does not say one is
 * not asked. */
static void test_carriers(void)
{
    machines_up(4);
    for (unsigned i = 0; i < G_N_ELEMENTS(carriers); i++) {
        Raw own = raw_by(i, 1), other = raw_by(i, VM_UPI), r;

        g_assert_true(leaves(i, &own, own.len));
        g_assert_false(leaves(i, &other, other.len));
        /* The UBFM's is one of 16 bits. */
        r = raw_by(i, UB_UPI_MANAGER);
        g_assert_true(leaves(i, &r, r.len) == (carriers[i].sec == UB_TPH_UPI16));
        /* One that ends before the end of its EIDH says nothing. */
        for (uint32_t len = other.tph; len < other.len; len++) {
            g_assert_true(leaves(i, &other, len));
        }
        /* Neither does an acknowledgement or CNP, nor a reserved code. */
        for (unsigned code = 2; code < 128; code++) {
            bool ctp = other.sec - other.tph < UB_RTPH_LEN;

            r = other;
            r.byte[r.tph] = ctp ? (code & 3) << 6 | (r.byte[r.tph] & 15) : code;
            if (!ctp || code & 3) {
                g_assert_true(leaves(i, &r, r.len));
            }
        }
        if (ub_lph_is_ip(carriers[i].cfg)) {
            r = other;
            r.byte[r.tph - 5] ^= 1;         /* another UDP port */
            g_assert_true(leaves(i, &r, r.len));
        }
        if (carriers[i].cfg == UB_LPH_IPV4) {
            r = other;
            r.byte[UB_IPEXT_SIZE + 6] = 0x20;   /* the first of fragments */
            g_assert_true(leaves(i, &r, r.len));
        }
    }
    down();
}

static void test_trust(void)
{
    machines_up(4);
    g_assert_cmpuint(vm_dest(0, UB_SEC_WIDE), ==, UBQ_RESULT_OK);
    /* Untrusted it is as if it were not there. */
    g_assert_false(alive(1, 0));
    g_assert_cmpuint(vm_dest(1, UB_SEC_WIDE), ==, UBQ_RESULT_PARAMETER);
    g_assert_cmphex(write_by(0, ROW_VM, 1), ==, UB_TAS_TIMEOUT);
    g_assert_false(arrived(0, 1));
    g_assert_nonnull(raw_says(VM_UPI, VM_EID(1)));
    put(1, 0, TRUST, 1);
    g_assert_true(alive(1, 0));
    g_assert_null(raw_says(VM_UPI, VM_EID(1)));
    g_assert_nonnull(raw_says(VM_UPI + 1, VM_EID(1)));
    g_assert_nonnull(raw_says(VM_UPI, VM_EID(2)));
    g_assert_cmpuint(vm_dest(1, UB_SEC_WIDE), ==, UBQ_RESULT_OK);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmphex(write_by(i, ROW_VM, 2), ==, UB_TAS_OK);
        g_assert_true(arrived(i, 2));
    }
    put(1, 0, TRUST, 0);
    g_assert_cmphex(write_by(1, ROW_VM, 3), ==, UB_TAS_OPCODE);
    g_assert_cmphex(write_by(0, ROW_VM, 3), ==, UB_TAS_TIMEOUT);
    g_assert_false(arrived(0, 3));
    g_assert_false(alive(1, 0));
    /* The last one is asked, too. */
    for (unsigned i = 1; i < UB_SEC_INSTANCES; i++) {
        g_assert_cmphex(create(1, 0x500 + i, 0x50000 + i, 9), ==, UB_MGMT_OK);
    }
    g_assert_nonnull(raw_says(9, 0x5000f));
    put(1, 0, TRUST, 1);
    g_assert_true(alive(1, UB_SEC_INSTANCES - 1));
    g_assert_null(raw_says(9, 0x5000f));
    g_assert_nonnull(raw_says(9, 0x50010));
    put(1, 0, TRUST, 0);
    /* Of the controller's own UPI it asks for no trust. */
    put(1, URMA, UB_CFG0_UPI, VM_UPI);
    g_assert_true(alive(1, 0));
    g_assert_cmphex(write_by(0, ROW_VM, 4), ==, UB_TAS_OK);
    g_assert_cmphex(write_by(1, ROW_VM, 4), ==, UB_TAS_OK);
    down();
}

static void pair_put(unsigned i, uint32_t upi, uint32_t flags)
{
    uint8_t *e = two[1].mem + TABLE + i * UBC_EID_UPI_ENTRY;

    memset(e, 0, UBC_EID_UPI_ENTRY);
    put_be32(e + UBC_EID_UPI_EID + 12, VM_EID(7));
    put_le32(e + UBC_EID_UPI_UPI, upi);
    put_le32(e + UBC_EID_UPI_FLAGS, flags);
}

/* All entries of a table count that are valid, and none behind it. */
static void test_table(void)
{
    const unsigned entries = 70;

    machines_up(entries);
    put(1, 0, TRUST, 1);
    g_assert_nonnull(raw_says(9, VM_EID(7)));
    put1(0, UB_CFG1_EID_UPI_TAB, TABLE);
    for (unsigned i = 0; i <= entries; i++) {
        pair_put(i, 9, UBC_EID_UPI_VALID);
        g_assert_true(!raw_says(9, VM_EID(7)) == (i < entries));
        g_assert_nonnull(raw_says(10, VM_EID(7)));
        g_assert_nonnull(raw_says(9, VM_EID(8)));
        pair_put(i, 9, ~UBC_EID_UPI_VALID);
        g_assert_nonnull(raw_says(9, VM_EID(7)));
    }
    down();
}

static unsigned make_up(unsigned node, uint32_t upi, uint8_t last)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, 9, 0);
    cmd[UBQ_ENT_EID] = 0xfd;
    cmd[UBQ_ENT_EID + 15] = last;
    put_le32(cmd + UBQ_ENT_UPI, upi);
    return ubq_command(&drv[node], UBQ_OP_ENTITY_SET, cmd);
}

static bool made_up(void)
{
    ubc_net_follow(two[1].ubc);
    return ub_sec_entity(ub_node_sec(two[1].ubc->node), 9, NULL);
}

/* Nor do Entities say another UPI than theirs, by rows or by names that software makes
 * up, but for pairs of the table. */
static void test_entities(void)
{
    uint8_t *entry = two[1].mem;
    unsigned errors;

    machines_up(4);
    entry = two[1].mem + TABLE;
    g_assert_cmpuint(dest(1, ROW_HOST, 0, UB_SEC_WIDE, VM_UPI), ==,
                     UBQ_RESULT_PARAMETER);
    g_assert_cmpuint(dest(0, ROW_HOST, 0, UB_SEC_WIDE, VM_UPI), ==,
                     UBQ_RESULT_OK);             /* nobody asks node 0 */
    g_assert_cmpuint(dest(1, ROW_HOST, 0, UB_SEC_SHORT, 1), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(dest(1, ROW_HOST, 0, UB_SEC_WIDE, 1), ==, UBQ_RESULT_OK);
    /* The row is of the UPI that it had. */
    put(1, 0, UB_CFG0_UPI, 3);
    g_assert_cmphex(write_by(1, ROW_HOST, 1), ==, UB_TAS_OPCODE);
    put(1, 0, UB_CFG0_UPI, 1);

    g_assert_cmpuint(make_up(0, 9, 0x44), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(make_up(1, 1, 0x44), ==, UBQ_RESULT_OK);
    errors = two[1].guest_errors;
    g_assert_cmpuint(make_up(1, 9, 0x44), ==, UBQ_RESULT_PARAMETER);
    g_assert_cmpuint(two[1].guest_errors, ==, errors + 1);
    put(1, 0, TRUST, 1);
    g_assert_cmpuint(make_up(1, 9, 0x44), ==, UBQ_RESULT_PARAMETER);
    entry[UBC_EID_UPI_EID] = 0xfd;
    entry[UBC_EID_UPI_EID + 15] = 0x44;
    put_le32(entry + UBC_EID_UPI_UPI, 9);
    put_le32(entry + UBC_EID_UPI_FLAGS, UBC_EID_UPI_VALID);
    put1(0, UB_CFG1_EID_UPI_TAB, TABLE);
    g_assert_cmpuint(make_up(1, 9, 0x45), ==, UBQ_RESULT_PARAMETER);
    g_assert_cmpuint(make_up(1, 9, 0x44), ==, UBQ_RESULT_OK);
    g_assert_true(made_up());
    put(1, 0, TRUST, 0);
    g_assert_false(made_up());
    /* Of our own partition they stay, until no Entity of ours is in it. */
    g_assert_cmpuint(make_up(1, 1, 0x44), ==, UBQ_RESULT_OK);
    for (unsigned e = 3; e--;) {
        g_assert_true(made_up());
        g_assert_true(made_up());
        put(1, e, UB_CFG0_UPI, 3);
    }
    g_assert_false(made_up());
    g_assert_cmpuint(make_up(1, 1, 0x44), ==, UBQ_RESULT_PARAMETER);
    g_assert_cmpuint(make_up(1, 0, 0x44), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(make_up(1, 3, 0x44), ==, UBQ_RESULT_OK);
    g_assert_true(made_up());
    down();
}

/* ---- Life ---- */

/* They keep their places and what they are in another process; a reset has none. */
static void test_life(void)
{
    g_autofree uint8_t *image = NULL;
    UbcConfig conf;
    const char *why = NULL;
    uint8_t cmd[UBQ_CMD];
    uint32_t upi = 0;
    size_t len;
    Ubc *other;

    machines_up(4);
    put(1, 0, TRUST, 1);
    g_assert_cmphex(create(1, 0x201, VM_EID(7), 8), ==, UB_MGMT_OK);
    g_assert_cmphex(create(1, 0x202, VM_EID(8), 9), ==, UB_MGMT_OK);
    g_assert_cmphex(destroy(1, 0x201), ==, UB_MGMT_OK);
    g_assert_cmpuint(vm_dest(0, UB_SEC_WIDE), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(vm_dest(1, UB_SEC_WIDE), ==, UBQ_RESULT_OK);
    image = ubc_save(two[1].ubc, now, &len);
    bed_table = 4;
    conf = config(1, UBC_USI_TYPE1);
    bed_table = 0;
    conf.guid[15] = 2;
    conf.session = conf.phy.lmsm.seed = 0x3333;
    other = ubc_new(&conf, &ops, &two[1], &why);
    g_assert_cmpstr(ubc_load(other, now, image, len), ==, NULL);
    cut(&two[0], &two[1]);
    ubc_free(two[1].ubc);
    two[1].ubc = other;
    ubc_bus_master(other, true);
    connect(&two[0], &two[1]);
    g_assert_true(run_until(&two[0], &two[1], both_up, 60 * SECOND));
    g_assert_true(alive(1, 0));
    g_assert_cmpuint(query(1, 1, cmd), ==, UBQ_RESULT_NO_OBJECT);
    g_assert_true(alive(1, 2));
    g_assert_nonnull(ub_sec_entity(ub_node_sec(other->node), UB_SEC_INSTANCE(2),
                                   &upi));
    g_assert_cmpuint(upi, ==, 9);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmphex(write_by(i, ROW_VM, 0x31), ==, UB_TAS_OK);
        g_assert_true(arrived(i, 0x31));
    }
    /* Its rows are asked there, too. */
    put(1, 0, TRUST, 0);
    g_assert_cmphex(write_by(1, ROW_VM, 0x32), ==, UB_TAS_OPCODE);
    g_assert_false(alive(1, 2));
    put(1, 0, TRUST, 1);
    wr(&two[1], UBC_CTRL, UBC_CTRL_RESET);
    pass();
    for (unsigned i = 0; i < UB_SEC_INSTANCES; i++) {
        g_assert_null(ub_mgmt_bus_instance(other->mgmt, i));
        g_assert_null(ub_sec_entity(ub_node_sec(other->node), UB_SEC_INSTANCE(i),
                                    NULL));
    }
    down();
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ubc/instance/machines", test_machines);
    g_test_add_func("/ubc/instance/own-partition", test_own_partition);
    g_test_add_func("/ubc/instance/gone", test_gone);
    g_test_add_func("/ubc/instance/left", test_left);
    g_test_add_func("/ubc/instance/rivals", test_rivals);
    g_test_add_func("/ubc/instance/refused", test_refused);
    g_test_add_func("/ubc/instance/carriers", test_carriers);
    g_test_add_func("/ubc/instance/trust", test_trust);
    g_test_add_func("/ubc/instance/table", test_table);
    g_test_add_func("/ubc/instance/entities", test_entities);
    g_test_add_func("/ubc/instance/life", test_life);
    return g_test_run();
}
