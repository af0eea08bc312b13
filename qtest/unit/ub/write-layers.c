/*
 * Writes a capture with one packet of each kind that the layers above the link
 * have, made by the builders of the cores, for the test of the dissector:
 * write-layers --sample FILE.  check-dissector.py knows what is in it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "ub/capture.h"
#include "ub/mgmt_net.h"
#include "ub/net_format.h"
#include "ub/sec.h"
#include "ub/tah.h"
#include "ub/tp_format.h"
#include "urpc_plog.h"

typedef struct Writer {
    UbCapture *capture;
    CorePacketPool *pool;
    UbSec *sec;
    int64_t now;
} Writer;

static const UbRtph rtph_base = {
    .opcode = UB_TPOP_DATA, .last = true, .src = 0x123456, .dst = 0xabcdef,
    .ack_req = true, .psn = 10, .msn = 7,
};

static const UbSecHead sec_head = {
    .upi = 0x1234, .seid.b = { [12] = 0xff, 0xfa, 0xbc, 0xde },
    .deid.b = { [0] = 0x80, [13] = 0x01, 0x23, 0x45 },
};

/* ---- From the network layer down ---- */

static void put_icrc(unsigned cfg, CorePacket *pkt, unsigned skip)
{
    uint32_t icrc = ub_icrc(cfg, core_packet_data(pkt) + skip, pkt->len - skip);

    ub_icrc_put(core_packet_put(pkt, UB_ICRC_SIZE), icrc);
}

static void write_packet(Writer *w, unsigned cfg, CorePacket *pkt)
{
    ub_capture_packet(w->capture, w->now += 1000, 0, true, cfg, 0,
                      core_packet_data(pkt), pkt->len);
    core_packet_free(pkt);
}

static void write_cna(Writer *w, unsigned cfg, unsigned nlp, CorePacket *pkt)
{
    UbNth h = { .scna = 0x11, .dcna = 0x22, .cci = 0x8002, .lbf = 0x5a,
                .sl = 3, .nlp = nlp };

    if (cfg == UB_LPH_CNA24) {
        ub_nth24_put(core_packet_push(pkt, UB_NTH24_SIZE), &h);
    } else {
        ub_nth16_put(core_packet_push(pkt, UB_NTH16_SIZE), &h);
    }
    if (cfg != UB_LPH_BYPASS) {
        put_icrc(cfg, pkt, 0);
    }
    write_packet(w, cfg, pkt);
}

static void write_ip(Writer *w, unsigned cfg, CorePacket *pkt)
{
    UbIpPath path = { .src = { 10, 0, 0, 1 }, .dst = { 10, 0, 0, 2 } };
    unsigned size = (cfg == UB_LPH_IPV4 ? UB_IPV4_SIZE : UB_IPV6_SIZE) +
                    UB_UDP_SIZE;
    uint32_t payload = pkt->len + UB_ICRC_SIZE;

    ub_ip_put(core_packet_push(pkt, size), cfg, &path, 0, 0xc000, payload);
    ub_ipext_put(core_packet_push(pkt, UB_IPEXT_SIZE), 0, UB_NPI_DEFAULT);
    put_icrc(cfg, pkt, UB_IPEXT_SIZE);
    write_packet(w, cfg, pkt);
}

/* ---- Packets ---- */

static CorePacket *payload(Writer *w, unsigned len)
{
    CorePacket *pkt = core_packet_alloc(w->pool, len);

    for (unsigned i = 0; i < len; i++) {
        core_packet_data(pkt)[i] = 0xa0 + i;
    }
    return pkt;
}

static void push_tah(CorePacket *pkt, const UbTahForm *form, UbTah *t)
{
    static uint8_t be[128];

    t->ext = ub_tah_exts(form, t);
    if (t->ext & UB_EXT_BIT(UB_EXT_BE)) {
        memset(be, 0xff, sizeof(be));
        t->be = be;
        t->be_len = ub_tah_be_size(t->length);
    }
    ub_tah_build(form, t, core_packet_push(pkt, ub_tah_size(form, t)));
}

/* A transaction of each opcode, with values in all headers. */
static UbTah tah_of(uint8_t opcode)
{
    const UbTaOpInfo *op = ub_ta_op(opcode);

    return (UbTah) {
        .opcode = opcode, .ee = UB_EE_NORMAL, .tassn = 0x4321,
        .tv_en = op->may >> UB_EXT_TV & 1, .ud_flag = op->may >> UB_EXT_UD & 1,
        .mt_en = op->ext >> UB_EXT_MT & 1, .order = UB_TA_SO, .fce = true,
        .rspst = UB_TAH_RNR, .rspinfo = 9, .rc_id = 0xabcde, .ud = 0x00200000,
        .hint = 0x5a, .tc_type = UB_TC_GROUP, .tc_id = 0x12345,
        .taid = 0xbeef, .offset = 4, .addr = 0x123456780, .token_id = 0xfedcb,
        .length = 64, .imm = 0x1122334455667788, .imm_token = 0xdeadbeef,
        .msg_len = 0x3000, .ntf_addr = 0x10, .ntf_token_id = 0x123,
        .ntf_token = 0xcafef00d, .ntf_data = 0x0102030405060708,
        .mgmt_code = 4, .mgmt_sub = 2, .token = 0x55667788, .affinity = 1,
    };
}

static void write_opcodes(Writer *w, unsigned cfg, bool compact)
{
    UbTahForm form = { .compact = compact, .tasks = true };

    for (unsigned opcode = 0; opcode < UB_TA_OPCODES; opcode++) {
        const UbTaOpInfo *op = ub_ta_op(opcode);
        CorePacket *pkt;
        UbTah t = tah_of(opcode);

        if (!op->name || (compact && !op->bypass)) {
            continue;
        }
        pkt = payload(w, op->payload && opcode != UB_TA_MANAGEMENT ? 64 : 0);
        push_tah(pkt, &form, &t);
        if (!compact) {
            ub_ctph_put(core_packet_push(pkt, 1),
                        &(UbCtph) { .nlp = UB_TPH_TAH, .pad = 3 });
            memset(core_packet_put(pkt, 3), 0, 3);
        }
        write_cna(w, cfg, UB_NLP_CTPH, pkt);
    }
}

static void push_rtph(CorePacket *pkt, unsigned opcode, unsigned nlp)
{
    UbRtph h = rtph_base;

    h.opcode = opcode;
    h.nlp = nlp;
    h.pad = ub_tp_pad(pkt->len);
    memset(core_packet_put(pkt, h.pad), 0, h.pad);
    ub_rtph_put(core_packet_push(pkt, UB_RTPH_LEN), &h);
}

static CorePacket *write_of(Writer *w, unsigned form, unsigned len)
{
    CorePacket *pkt = payload(w, len);
    UbSecHead h = sec_head;
    UbTah t = tah_of(UB_TA_WRITE);

    t.length = len;
    push_tah(pkt, &(UbTahForm) { .tasks = true }, &t);
    h.form = form;
    ub_sec_push(w->sec, &h, pkt);
    return pkt;
}

static void write_transport(Writer *w)
{
    static const unsigned acks[] = { UB_TPOP_ACK, UB_TPOP_ACK_CC, UB_TPOP_SACK,
                                     UB_TPOP_SACK_CC, UB_TPOP_CNP };
    CorePacket *pkt = write_of(w, UB_SEC_WIDE, 5);

    push_rtph(pkt, UB_TPOP_DATA, UB_TPH_UPI32);
    write_cna(w, UB_LPH_CNA24, UB_NLP_RTPH, pkt);
    for (unsigned i = 0; i < G_N_ELEMENTS(acks); i++) {
        const UbTpOpInfo *op = &ub_tp_ops[acks[i]];
        UbSaetph s = { .size = 0, .max_rcv = 13, .map = { 0xd } };
        UbCetph c = { .ack_seq = 1000, .ce_seq = 50, .ecn = 3, .loc = true };

        pkt = payload(w, 0);
        if (op->saetph) {
            ub_saetph_put(core_packet_push(pkt, ub_saetph_len(0)), &s);
        }
        if (op->cetph == UB_CETPH_LEN) {
            ub_cetph_put_ldcp(core_packet_push(pkt, UB_CETPH_LEN), &c);
        } else if (op->cetph) {
            ub_cetph_put_cnp(core_packet_push(pkt, UB_CETPH_CNP_LEN), &c);
        }
        push_rtph(pkt, acks[i], 0);
        write_cna(w, UB_LPH_CNA24, UB_NLP_RTPH, pkt);
    }
    pkt = payload(w, 0);
    ub_cetph_put_cnp(core_packet_push(pkt, UB_CETPH_CNP_LEN),
                     &(UbCetph) { .ecn = 1 });
    ub_ctph_put(core_packet_push(pkt, 1),
                &(UbCtph) { .opcode = UB_CTPOP_CNP, .pad = 3 });
    memset(core_packet_put(pkt, 3), 0, 3);
    write_cna(w, UB_LPH_CNA24, UB_NLP_CTPH, pkt);
    /* Over IP, which the dissectors of IP and UDP lead to. */
    pkt = write_of(w, UB_SEC_WIDE, 4);
    push_rtph(pkt, UB_TPOP_UNRELIABLE, UB_TPH_UPI32);
    write_ip(w, UB_LPH_IPV4, pkt);
    pkt = write_of(w, UB_SEC_WIDE, 4);
    push_rtph(pkt, UB_TPOP_DATA, UB_TPH_UPI32);
    write_ip(w, UB_LPH_IPV6, pkt);
    /* What is behind a CIPH is nobody's to read. */
    pkt = payload(w, 12);
    memcpy(core_packet_push(pkt, UB_CIPH_LEN), "\x10\0\x12\x34\0\0\0\x07", 8);
    ub_ctph_put(core_packet_push(pkt, 1), &(UbCtph) { .nlp = UB_TPH_CIP });
    write_cna(w, UB_LPH_CNA16, UB_NLP_CTPH, pkt);
}

/* ---- Management ---- */

static const UbMgmtAddr addr = { .seid = 0xabcde, .deid = 0x12345,
                                 .upi = UB_MGMT_UPI, .msn = 0x77,
                                 .queue = 3 };

static void write_message(Writer *w, UbMgmtId id, bool rsp, unsigned len)
{
    CorePacket *pkt = core_packet_alloc(w->pool, UB_MGMT_MESSAGE_HEAD +
                                        UB_MGMT_ETAH + len);
    uint8_t *p = core_packet_data(pkt);

    memset(p, 0, pkt->len);
    for (unsigned i = 0; i < len; i++) {
        p[UB_MGMT_MESSAGE_HEAD + UB_MGMT_ETAH + i] = i;
    }
    ub_mgmt_head_put(p, UB_MGMT_KIND_MESSAGE, &addr);
    ub_mgmt_etah_put(p + UB_MGMT_MESSAGE_HEAD,
                     (UbMgmtEtah) { .code = id >> 4, .sub = id & 15,
                                    .rsp = rsp, .len = len });
    write_cna(w, UB_LPH_CNA16, UB_NLP_CTPH, pkt);
}

/* All, with their longest PDU. */
static void write_messages(Writer *w)
{
    for (unsigned code = 0; code < 8; code++) {
        for (unsigned sub = 0; sub < 16; sub++) {
            const UbMgmtMessage *m = ub_mgmt_message(code, sub);

            if (m) {
                write_message(w, m->id, false, MIN(m->longest, 92));
            }
        }
    }
    write_message(w, UB_MGMT_MSG_CFG0_READ, true, 16);
    write_message(w, UB_MGMT_MSG_RESOURCE, true, 36);
}

static void write_scan(Writer *w, unsigned type, unsigned hops, bool r,
                       unsigned cmd, unsigned op, unsigned len)
{
    unsigned path = ub_scan_path_bytes(type, hops);
    unsigned head = UB_MGMT_SCAN_HEAD + UB_SCAN_HEADER + path * (r ? 2 : 1);
    CorePacket *pkt = core_packet_alloc(w->pool, head + len);
    uint8_t *p = core_packet_data(pkt), *s = p + UB_MGMT_SCAN_HEAD;

    memset(p, 0, pkt->len);
    ub_mgmt_head_put(p, UB_MGMT_KIND_SCAN, &addr);
    ub_mgmt_put(s, UB_MF_SCAN_R, r);
    ub_mgmt_put(s, UB_MF_SCAN_TYPE, type);
    ub_mgmt_put(s, UB_MF_SCAN_HOPS, hops);
    ub_mgmt_put(s, UB_MF_SCAN_STEP, 1);
    for (unsigned i = 0; i < hops; i++) {
        ub_scan_set_hop(s + 4, type, i, i + 1);
        if (r) {
            ub_scan_set_hop(s + 4 + path, type, i, 15 - i);
        }
    }
    s = p + head;
    ub_mgmt_put(s, UB_MF_PDU_VERSION, 1);
    ub_mgmt_put(s, UB_MF_PDU_CMD, cmd);
    ub_mgmt_put(s, UB_MF_PDU_OPCODE, op);
    ub_mgmt_put(s, UB_MF_PDU_QUEUE, 3);
    ub_mgmt_put(s, UB_MF_PDU_LENGTH, len / 4);
    ub_mgmt_put(s, UB_MF_PDU_MSN, 0x1234);
    ub_mgmt_put_id(s, UB_MF_PDU_GUID,
                   (UbId) { { 0x33, 0x22, 0x02000000, 0xe0fca120 } });
    if (cmd == UB_SCAN_NA_CONFIG && op) {
        ub_mgmt_put(s, UB_MF_NA_CFG_PORT, 6);
        ub_mgmt_put(s, UB_MF_NA_CFG_CNA, 0xabcdef);
    } else if (cmd == UB_SCAN_NA_QUERY && op) {
        ub_mgmt_put(s, UB_MF_NA_QUERY_PORT, 6);
    } else if (cmd == UB_SCAN_NA_QUERY) {
        ub_mgmt_put(s, UB_MF_NA_DONE_CNA, 0x123456);
    } else if (cmd == UB_SCAN_TOPOLOGY && !op) {
        s += UB_SCAN_PDU;
        put_be32(s, 0x00040201);
        put_be32(s + 4, 0x01080009);
        put_be32(s + 8, 0x00010000);
        put_be32(s + 12, 0x04082101);
        put_be32(s + 16, 0x0000beef);
        put_be32(s + 20, 0x021c0300);
        put_be32(s + 24, 0x00040005);
        put_be32(s + 32, 0x77);
    }
    write_cna(w, UB_LPH_CNA16, UB_NLP_SCAN, pkt);
}

static void write_scans(Writer *w)
{
    write_scan(w, 0, 9, true, UB_SCAN_TOPOLOGY, 1, 24);
    write_scan(w, 1, 3, true, UB_SCAN_NA_CONFIG, 3, 32);
    write_scan(w, 2, 2, true, UB_SCAN_NA_QUERY, 3, 28);
    write_scan(w, 2, 2, false, UB_SCAN_NA_QUERY, 0, 28);
    write_scan(w, 0, 1, false, UB_SCAN_NA_CONFIG, 0, 24);
    write_scan(w, 0, 1, false, UB_SCAN_TOPOLOGY, 0, 24 + 48);
}

/* What does not fit. */
static void write_broken(Writer *w)
{
    CorePacket *pkt = write_of(w, UB_SEC_WIDE, 4);

    push_rtph(pkt, UB_TPOP_DATA, UB_TPH_UPI32);
    ub_nth24_put(core_packet_push(pkt, UB_NTH24_SIZE), &(UbNth) { .nlp = 2 });
    put_icrc(UB_LPH_CNA24, pkt, 0);
    core_packet_data(pkt)[20] ^= 1;
    write_packet(w, UB_LPH_CNA24, pkt);
    pkt = write_of(w, UB_SEC_WIDE, 0);
    push_rtph(pkt, UB_TPOP_DATA, UB_TPH_UPI32);
    core_packet_trim(pkt, pkt->len - 70);
    write_cna(w, UB_LPH_CNA24, UB_NLP_RTPH, pkt);
}

/* ---- Remote calls ---- */

/* A Send of these bytes; @offset: where they are in their message. */
static void write_send(Writer *w, const uint8_t *p, uint32_t len, uint32_t offset)
{
    UbTahForm form = { .tasks = true };
    UbTah t = tah_of(UB_TA_SEND);
    CorePacket *pkt = core_packet_alloc(w->pool, len);

    memcpy(core_packet_data(pkt), p, len);
    t.offset = offset;
    push_tah(pkt, &form, &t);
    ub_ctph_put(core_packet_push(pkt, 1), &(UbCtph) { .nlp = UB_TPH_TAH });
    write_cna(w, UB_LPH_CNA24, UB_NLP_CTPH, pkt);
}

static void write_urpc_request(Writer *w)
{
    UrpcRequest r = { .version = 1, .ack = 1, .dma_count = 2,
                      .function = 0x002001800003, .total = 0x1234,
                      .id = 0x55667788, .channel = 0xabcdef,
                      .defined = URPC_PLOG };
    UrpcDma dma = { 0x123456789abc0, 4096, 0xcafef00d };
    UrpcPlogSge e = { .address = 0x1000, .size = 0x123456,
                      .token_id = 0xabcde, .eid_index = 0x987,
                      .sgl_type = URPC_SGL_DO, .token = 0x11223344 };
    UrpcPlogArgs args = { .mode = URPC_PUSH_PULL, .channel = 0x123456,
                          .queue = 7, .queue_token = 0x99, .early = true,
                          .redirect = true, .unscheduled = true,
                          .user_head = "user", .user_head_len = 4,
                          .data = "data", .len = 4, .sge = &e, .count = 1 };
    uint8_t p[512];
    uint32_t at = URPC_REQUEST_SIZE + 2 * URPC_DMA_SIZE;

    urpc_put(URPC_LITTLE, URPC_KIND_REQUEST, p, &r);
    for (unsigned i = 0; i < 2; i++, dma.size++) {
        urpc_put(URPC_LITTLE, URPC_KIND_DMA, p + 20 + 16 * i, &dma);
    }
    at += urpc_plog_build(URPC_LITTLE, &args, p + at, sizeof(p) - at);
    write_send(w, p, at, 0);
    /* A later packet of a message, a head that is cut off, another version. */
    write_send(w, p, 24, 4096);
    write_send(w, p, 20, 0);
    p[0] = 0x20;
    write_send(w, p, 20, 0);
}

static void write_urpc_answers(Writer *w)
{
    UrpcAck a = { .version = 1, .type = URPC_ACK, .range = 3, .id = 0x55667788,
                  .channel = 0xabcdef };
    UrpcResponse r = { .version = 1, .type = URPC_ACK_RESPONSE, .range = 3,
                       .id = 0x55667788, .channel = 0xabcdef, .total = 18,
                       .defined = URPC_COMPUTE };
    UrpcPlogResponse h = { .version = 1, .mode = URPC_WRITE_IMM,
                           .head_offset = 20, .data_offset = 22,
                           .dma_count = 2, .channel = 0x123456 };
    uint8_t p[64] = { 0 };

    urpc_put(URPC_LITTLE, URPC_KIND_ACK, p, &a);
    write_send(w, p, URPC_ACK_SIZE, 0);
    urpc_put(URPC_LITTLE, URPC_KIND_RESPONSE, p, &r);
    urpc_put_number(URPC_LITTLE, p + 16, 4, 1);
    urpc_put_number(URPC_LITTLE, p + 20, 4, 2);
    memcpy(p + 24, "ab", 2);
    write_send(w, p, 26, 0);
    r.type = URPC_RESPONSE;
    r.status = URPC_BAD_HEAD;
    r.range = 1;
    r.total = 16 + 25;
    r.defined = URPC_PLOG;
    urpc_put(URPC_LITTLE, URPC_KIND_RESPONSE, p, &r);
    urpc_put(URPC_LITTLE, URPC_KIND_PLOG_RESPONSE, p + 16, &h);
    memcpy(p + 36, "hhddd", 5);
    write_send(w, p, 41, 0);
}

int main(int argc, char **argv)
{
    Writer w = { 0 };

    if (argc != 3 || strcmp(argv[1], "--sample")) {
        return 2;
    }
    w.capture = ub_capture_new(argv[2], "ub0", 1, 0);
    w.pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
    w.sec = ub_sec_new(true);
    if (!w.capture) {
        return 1;
    }
    write_transport(&w);
    write_opcodes(&w, UB_LPH_CNA24, false);
    write_opcodes(&w, UB_LPH_BYPASS, true);
    write_messages(&w);
    write_scans(&w);
    write_urpc_request(&w);
    write_urpc_answers(&w);
    write_broken(&w);
    ub_sec_free(w.sec);
    core_packet_pool_free(w.pool);
    ub_capture_free(w.capture);
    return 0;
}
