/*
 * What a device puts on the wire: packets of its queues, as it captures them, are
 * compared with the drawings of UB 2.0 §5.2, §6.2 and §7.2, field by field.  The
 * places are written down here anew: no code of the device reads or makes them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-watch.h"
#include "ub/tah.h"
#include "ub/tp_format.h"

#define LEN 10000u      /* three packets of RTP */
#define MTU 4096u
#define UPI32 (4 + 32)  /* UPIH, EIDH of 256 bits */

static uint32_t word(const uint8_t *p)
{
    return ldl_be_p(p);     /* which is signed */
}

/* ---- What all have ----------------------------------------------------------------- */

/* CRC-32 of @len bytes at @p, those of @mask as ones, bit by bit. */
static uint32_t crc32_masked(const uint8_t *p, uint32_t len, const uint8_t *mask,
                             uint32_t masked)
{
    uint32_t crc = ~0u;

    for (uint32_t i = 0; i < len; i++) {
        crc ^= p[i] | (i < masked ? mask[i] : 0);
        for (unsigned b = 0; b < 8; b++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
        }
    }
    return ~crc;
}

static void check_icrc(const Seen *s)
{
    uint32_t from = ub_lph_is_ip(s->cfg) ? UB_IPEXT_SIZE : 0, masked = 10;
    uint8_t mask[64] = { 0 };

    switch (s->cfg) {
    case UB_LPH_CNA16:          /* CCI, LBF */
        memset(mask + 4, 0xff, 3);
        break;
    case UB_LPH_CNA24:
        memset(mask + 6, 0xff, 3);
        break;
    case UB_LPH_IPV4:           /* TOS, TTL, both checksums */
        mask[1] = mask[8] = mask[10] = mask[11] = 0xff;
        mask[26] = mask[27] = 0xff;
        masked = 28;
        break;
    case UB_LPH_IPV6:           /* Traffic Class, Flow Label, Hop Limit */
        mask[0] = 0x0f;
        mask[1] = mask[2] = mask[3] = mask[7] = 0xff;
        mask[46] = mask[47] = 0xff;
        masked = 48;
        break;
    }
    g_assert_cmphex(crc32_masked(s->p + from, s->len - from - 4, mask, masked),
                    ==, (uint32_t)ldl_le_p(s->p + s->len - 4));
}

/* The NTH; what follows it. */
static const uint8_t *check_nth(const Seen *s, unsigned from, unsigned to,
                                unsigned nlp)
{
    unsigned wide = s->cfg == UB_LPH_CNA24;
    const uint8_t *p = s->p;

    if (wide) {
        g_assert_cmphex(p[0] << 16 | p[1] << 8 | p[2], ==, from);
        g_assert_cmphex(p[3] << 16 | p[4] << 8 | p[5], ==, to);
        p += 6;
    } else {
        g_assert_cmphex(lduw_be_p(p), ==, from);
        g_assert_cmphex(lduw_be_p(p + 2), ==, to);
        p += 4;
    }
    g_assert_cmphex(p[3] & 0x0f, ==, nlp);      /* Mgmt is 0 */
    return p + 4;
}

typedef struct Rtph {
    unsigned opcode, last, ver, pad, nlp, src, dst, a, f, psn, rspst, info, msn;
} Rtph;

static Rtph rtph(const uint8_t *p)
{
    Rtph h = {
        .opcode = p[0] & 0x7f, .last = p[0] >> 7, .ver = p[1] >> 6,
        .pad = p[1] >> 4 & 3, .nlp = p[1] & 15,
        .src = p[2] << 16 | p[3] << 8 | p[4], .dst = p[5] << 16 | p[6] << 8 | p[7],
        .a = p[8] >> 7, .f = p[8] >> 6 & 1,
        .psn = p[9] << 16 | p[10] << 8 | p[11],
        .rspst = p[12] >> 5, .info = p[12] & 31,
        .msn = p[13] << 16 | p[14] << 8 | p[15],
    };

    g_assert_cmpuint(h.ver, ==, 0);
    g_assert_cmphex(p[8] & 0x3f, ==, 0);
    return h;
}

/* Padding: a multiple of 4 from the TPH to the ICRC, of zeroes. */
static void check_padding(const Seen *s, const uint8_t *tph, unsigned pad)
{
    uint32_t len = s->p + s->len - 4 - tph;

    g_assert_cmpuint(len % 4, ==, 0);
    for (unsigned i = 0; i < pad; i++) {
        g_assert_cmphex(s->p[s->len - 5 - i], ==, 0);
    }
}

/* UPIH of 32 bits, EIDH of 256; the TAH. */
static const uint8_t *check_wide(const uint8_t *p, unsigned from, unsigned to)
{
    g_assert_cmphex(word(p), ==, 1);
    g_assert_cmphex(p[4 + 15], ==, from);
    g_assert_cmphex(p[4 + 31], ==, to);
    return p + UPI32;
}

/* BTAH of a Write, full; MAETAH; TVETAH; the data. */
static const uint8_t *check_write(const uint8_t *p, const Eng *e, uint64_t addr,
                                  uint32_t len, bool poison)
{
    g_assert_cmphex(p[0], ==, UB_TA_WRITE);
    /* TAver 0, EE_bits 01, TV_EN. */
    g_assert_cmphex(p[1], ==, 0x18 | (poison ? 4 : 0));
    g_assert_cmphex(p[4] & 0x8b, ==, 0);        /* No_TAACK, MT_EN, Retry, Alloc */
    g_assert_cmphex(word(p + 4) & 0xfffff, ==, e->queue.id);
    p += 8;
    g_assert_cmphex(ldq_be_p(p), ==, addr);
    g_assert_cmphex(word(p + 8), ==, ENG_SEGMENT << 8);
    g_assert_cmphex(word(p + 12), ==, len);
    g_assert_cmphex(word(p + 16), ==, ENG_TOKEN);
    return p + 20;
}

static void write_once(Eng *e, uint32_t len)
{
    ubq_post(&e->queue, eng_sqe(e, UB_TA_WRITE, 0, len, 1), 1);
    eng_complete(e, UBQ_STATUS_OK);
}

/* Nothing that its channel has sent waits for an acknowledgement. */
static bool all_answered(Eng *e)
{
    g_autofree char *n = eng_object(e, "channels", ENG_TPN, "in-flight");

    return !strcmp(n, "0");
}

static void check_data(const uint8_t *p, uint32_t off, uint32_t len)
{
    for (uint32_t i = off; i < off + len; i++) {
        g_assert_cmphex(p[i - off], ==, (uint8_t)(i * 7 + (i >> 8) + 1));
    }
}

/* ---- Cases ------------------------------------------------------------------------- */

/* NTH of 16-bit CNAs, CTPH: a packet is a slice. */
static void test_ctp(void)
{
    Watch w;

    watch_start(&w, &(EngPlan){ .carrier = ENG_CTP }, "");
    eng_fill(&w.p.a, LEN, 1);
    write_once(&w.p.a, LEN - 1);
    watch_look(&w);
    g_assert_cmpuint(watch_packets(w.sent, UB_LPH_CNA16), ==, 3);
    for (unsigned i = 0; i < 3; i++) {
        uint32_t off = i * MTU, len = MIN(LEN - 1 - off, MTU);
        const Seen *s = watch_packet(w.sent, UB_LPH_CNA16, i);
        const uint8_t *tph = check_nth(s, 1, 2, UB_NLP_CTPH), *p;
        unsigned pad = tph[0] >> 4 & 3;

        check_icrc(s);
        g_assert_cmpuint(tph[0] >> 6, ==, UB_CTPOP_DATA);
        g_assert_cmpuint(tph[0] & 15, ==, UB_TPH_UPI32);
        p = check_wide(tph + 1, 1, 2);
        g_assert_cmpuint(lduw_be_p(p + 2), ==, lduw_be_p(watch_packet(
            w.sent, UB_LPH_CNA16, 0)->p + (p - s->p) + 2) + i);
        p = check_write(p, &w.p.a, ENG_UBA + off, len, false);
        check_data(p, off, len);
        check_padding(s, tph, pad);
        g_assert_true(p + len + pad + 4 == s->p + s->len);
        g_assert_cmpuint(s->len % 4, ==, 0);
    }
    /* TAACKs: to the source of the requests. */
    for (unsigned i = 0; i < watch_packets(w.came, UB_LPH_CNA16); i++) {
        const Seen *s = watch_packet(w.came, UB_LPH_CNA16, i);
        const uint8_t *p = check_nth(s, 2, 1, UB_NLP_CTPH);

        check_icrc(s);
        p = check_wide(p + 1, 2, 1);
        g_assert_cmphex(p[0], ==, UB_TA_TAACK);
        g_assert_cmphex(p[1], ==, 0);           /* TAver, SV, Poison */
        g_assert_cmpuint(p[4] >> 5, ==, UB_TAH_OK);
        g_assert_cmphex(word(p + 4) & 0x2fffff, ==, w.p.a.queue.id);
    }
    watch_end(&w);
}

/* RTPH over a carrier's path: @tph of each packet. */
static void check_rtp(Watch *w, unsigned cfg, uint32_t head)
{
    unsigned acks = 0, data = 0;

    for (unsigned i = 0; i < watch_packets(w->sent, cfg); i++) {
        const Seen *s = watch_packet(w->sent, cfg, i);
        Rtph h = rtph(s->p + head);

        check_icrc(s);
        g_assert_cmpuint(h.src, ==, ENG_TPN);
        g_assert_cmpuint(h.dst, ==, ENG_TPN);
        if (h.opcode != UB_TPOP_DATA) {
            acks++;                             /* of the TAACK */
            continue;
        }
        g_assert_cmpuint(h.psn, ==, 100 + data);
        g_assert_cmpuint(h.last, ==, data == 2);
        g_assert_cmpuint(h.nlp, ==, UB_TPH_UPI32);
        g_assert_cmpuint(h.f, ==, 0);
        g_assert_cmpuint(h.msn, ==, rtph(watch_packet(w->sent, cfg, 0)->p + head).msn);
        check_padding(s, s->p + head, h.pad);
        if (!data) {
            const uint8_t *p = check_wide(s->p + head + 16, 1, 2);

            check_data(check_write(p, &w->p.a, ENG_UBA, LEN - 1, false), 0, MTU);
        }
        data++;
    }
    g_assert_cmpuint(data, ==, 3);
    g_assert_cmpuint(acks, >=, 1);
    data = acks = 0;
    for (unsigned i = 0; i < watch_packets(w->came, cfg); i++) {
        const Seen *s = watch_packet(w->came, cfg, i);
        Rtph h = rtph(s->p + head);
        const uint8_t *p;

        check_icrc(s);
        if (h.opcode != UB_TPOP_DATA) {
            /* Acknowledges a PSN of ours, and takes none. */
            g_assert_cmpuint(h.opcode, ==, UB_TPOP_ACK);
            g_assert_cmpuint(h.rspst, ==, UB_RTPH_ACK);
            g_assert_cmpuint(h.psn, >=, 100);
            g_assert_cmpuint(h.psn, <=, 102);
            g_assert_cmpuint(s->len, ==, head + 16 + 4);
            acks++;
            continue;
        }
        g_assert_cmpuint(h.psn, ==, 101 + data++);
        p = check_wide(s->p + head + 16, 2, 1);
        g_assert_cmphex(p[0], ==, UB_TA_TAACK);
        g_assert_cmpuint(p[4] >> 5, ==, UB_TAH_OK);
    }
    g_assert_cmpuint(data, ==, 1);
    g_assert_cmpuint(acks, >=, 1);
}

/* NTH of 24-bit CNAs, RTPH: a slice of three packets. */
static void test_rtp(void)
{
    Watch w;

    watch_start(&w, &(EngPlan){ .carrier = ENG_RTP }, "");
    eng_fill(&w.p.a, LEN, 1);
    write_once(&w.p.a, LEN - 1);
    QUBC_WAIT(all_answered(&w.p.b));
    watch_look(&w);
    for (unsigned i = 0; i < watch_packets(w.sent, UB_LPH_CNA24); i++) {
        check_nth(watch_packet(w.sent, UB_LPH_CNA24, i), 1, 2, UB_NLP_RTPH);
    }
    for (unsigned i = 0; i < watch_packets(w.came, UB_LPH_CNA24); i++) {
        check_nth(watch_packet(w.came, UB_LPH_CNA24, i), 2, 1, UB_NLP_RTPH);
    }
    check_rtp(&w, UB_LPH_CNA24, UB_NTH24_SIZE);
    watch_end(&w);
}

/* IP headers: no options, no fragments, lengths to the ICRC, UDP. */
static void check_ip(const Seen *s, bool mine)
{
    const uint8_t *p = s->p + UB_IPEXT_SIZE, *udp;
    uint32_t len = s->len - UB_IPEXT_SIZE, sum = 0;

    g_assert_cmphex(word(s->p + 2), ==, UB_NPI_DEFAULT);
    if (s->cfg == UB_LPH_IPV4) {
        g_assert_cmphex(p[0], ==, 0x45);
        g_assert_cmpuint(lduw_be_p(p + 2), ==, len);
        g_assert_cmphex(lduw_be_p(p + 6) & 0x3fff, ==, 0);
        g_assert_cmpuint(p[9], ==, 17);
        for (unsigned i = 0; i < 20; i += 2) {
            sum += lduw_be_p(p + i);
        }
        g_assert_cmphex((sum & 0xffff) + (sum >> 16), ==, 0xffff);
        g_assert_cmphex(word(p + 12), ==, 0x0a000002 - mine);
        g_assert_cmphex(word(p + 16), ==, 0x0a000001 + mine);
        udp = p + 20;
    } else {
        g_assert_cmphex(p[0] >> 4, ==, 6);
        g_assert_cmpuint(lduw_be_p(p + 4), ==, len - 40);
        g_assert_cmpuint(p[6], ==, 17);
        g_assert_cmpuint(p[23], ==, 2 - mine);
        g_assert_cmpuint(p[39], ==, 1 + mine);
        udp = p + 40;
    }
    g_assert_cmpuint(lduw_be_p(udp + 2), ==, 4792);
    g_assert_cmpuint(lduw_be_p(udp + 4), ==, s->p + s->len - udp);
    g_assert_cmphex(lduw_be_p(udp + 6), ==, 0);
}

static void test_rtp_ip(const void *opaque)
{
    unsigned cfg = GPOINTER_TO_UINT(opaque);
    Watch w;

    watch_start(&w, &(EngPlan){ .carrier = ENG_RTP, .cfg = cfg }, "");
    eng_fill(&w.p.a, LEN, 1);
    write_once(&w.p.a, LEN - 1);
    QUBC_WAIT(all_answered(&w.p.b));
    watch_look(&w);
    for (unsigned i = 0; i < watch_packets(w.sent, cfg); i++) {
        check_ip(watch_packet(w.sent, cfg, i), true);
    }
    for (unsigned i = 0; i < watch_packets(w.came, cfg); i++) {
        check_ip(watch_packet(w.came, cfg, i), false);
    }
    check_rtp(&w, cfg, cfg == UB_LPH_IPV4 ? UB_IPV4_PATH_SIZE
                                          : UB_IPV6_PATH_SIZE);
    watch_end(&w);
}

/* Its row and its channel say that responses ride in acknowledgements. */
static void ask_answers(Eng *e)
{
    uint8_t cmd[UBQ_CMD];

    eng_ask_answers(e);
    /* A channel of the same numbers, that brings them. */
    ubq_cmd_init(cmd, ENG_TPN, 0);
    g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_CHANNEL_QUERY, cmd), ==,
                     UBQ_RESULT_OK);
    g_assert_cmphex(get_le16(cmd + UBQ_CH_FLAGS) & UBQ_CH_ANSWERS, ==, 0);
    put_le16(cmd + UBQ_CH_FLAGS, get_le16(cmd + UBQ_CH_FLAGS) | UBQ_CH_ANSWERS);
    put_le32(cmd + UBQ_CMD_RESULT, 0);
    {
        uint8_t gone[UBQ_CMD];

        ubq_cmd_init(gone, ENG_TPN, 0);
        g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_CHANNEL_DEACTIVATE, gone),
                         ==, UBQ_RESULT_OK);
        ubq_cmd_init(gone, ENG_TPN, 0);
        g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_CHANNEL_DESTROY, gone), ==,
                         UBQ_RESULT_OK);
    }
    g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_CHANNEL_CREATE, cmd), ==,
                     UBQ_RESULT_OK);
    ubq_cmd_init(cmd, ENG_TPN, 0);
    g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_CHANNEL_ACTIVATE, cmd), ==,
                     UBQ_RESULT_OK);
    ubq_cmd_init(cmd, ENG_TPN, 0);
    g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_CHANNEL_QUERY, cmd), ==,
                     UBQ_RESULT_OK);
    g_assert_cmphex(get_le16(cmd + UBQ_CH_FLAGS) & UBQ_CH_ANSWERS, ==,
                    UBQ_CH_ANSWERS);
}

/* ROL: the last TPACK has the answer of the transaction layer, and no TAACK comes. */
static void test_rol(void)
{
    unsigned answers = 0;
    Watch w;

    watch_start(&w, &(EngPlan){ .carrier = ENG_RTP, .mode = UB_ROL }, "");
    ask_answers(&w.p.a);
    ask_answers(&w.p.b);
    eng_fill(&w.p.a, LEN, 1);
    write_once(&w.p.a, LEN - 1);
    watch_look(&w);
    for (unsigned i = 0; i < watch_packets(w.came, UB_LPH_CNA24); i++) {
        Rtph h = rtph(watch_packet(w.came, UB_LPH_CNA24, i)->p + UB_NTH24_SIZE);

        g_assert_cmpuint(h.opcode, ==, UB_TPOP_ACK);
        if (h.psn == 102) {
            g_assert_cmpuint(h.rspst, ==, UB_RTPH_TA);
            g_assert_cmpuint(h.info, ==, UB_RTPH_TA_GOOD);
            answers++;
        } else {
            g_assert_cmpuint(h.rspst, ==, UB_RTPH_ACK);
        }
    }
    g_assert_cmpuint(answers, ==, 1);
    watch_end(&w);
}

/* UTPH: no numbers at all. */
static void test_utp(void)
{
    static const uint8_t none[14];
    const uint8_t *p;
    const Seen *s;
    uint8_t *e;
    Watch w;

    watch_start(&w, &(EngPlan){ .carrier = ENG_UTP, .mode = UB_UNO }, "");
    eng_fill(&w.p.a, 1001, 1);
    ubq_recv(&w.p.b.queue, w.p.b.room, ENG_ROOM);
    e = ubq_sqe(&w.p.a.queue, 1);
    ubq_sqe_put(e, UB_TA_SEND, ENG_DEST, w.p.a.room, 1001);
    put_le32(e + UBQ_SQE_TARGET, w.p.b.queue.id);
    ubq_post(&w.p.a.queue, e, 1);
    eng_complete(&w.p.a, UBQ_STATUS_OK);
    eng_complete(&w.p.b, UBQ_STATUS_OK);
    watch_look(&w);
    g_assert_cmpuint(watch_packets(w.sent, UB_LPH_IPV4), ==, 1);
    g_assert_cmpuint(watch_packets(w.came, UB_LPH_IPV4), ==, 0);
    s = watch_packet(w.sent, UB_LPH_IPV4, 0);
    check_ip(s, true);
    check_icrc(s);
    p = s->p + UB_IPV4_PATH_SIZE;
    g_assert_cmphex(p[0], ==, 0x80 | UB_TPOP_UNRELIABLE);
    g_assert_cmphex(p[1] & 0xcf, ==, UB_TPH_UPI32);
    g_assert_cmpmem(p + 2, 14, none, 14);
    check_padding(s, p, p[1] >> 4 & 3);
    p = check_wide(p + 16, 1, 2);
    /* MTETAH names the queue, OFSTETAH the beginning. */
    g_assert_cmphex(p[0], ==, UB_TA_SEND);
    g_assert_cmphex(p[4] & 8, ==, 8);           /* MT_EN */
    g_assert_cmphex(word(p + 8) & 0xfffff, ==, w.p.b.queue.id);
    g_assert_cmphex(word(p + 12), ==, 0);
    check_data(p + 16 + (p[1] & 8 ? 4 : 0), 0, 1001);
    watch_end(&w);
}

/* No TPH, no ICRC, compact headers. */
static void test_bypass(void)
{
    const uint8_t *p;
    const Seen *s;
    Watch w;

    watch_start(&w, &(EngPlan){ .carrier = ENG_BYPASS }, "");
    eng_fill(&w.p.a, 256, 1);
    ubq_post(&w.p.a.queue, eng_sqe(&w.p.a, UB_TA_WRITE, 0, 256, 1), 1);
    eng_complete(&w.p.a, UBQ_STATUS_OK);
    watch_look(&w);
    s = watch_packet(w.sent, UB_LPH_BYPASS, 0);
    p = check_nth(s, 1, 2, UB_NLP_TAH);
    g_assert_cmphex(p[0], ==, UB_TA_WRITE);
    g_assert_cmphex(p[1], ==, 0x18);
    /* MAETAH: the address to 64 bytes, the length as a code (64 << code). */
    g_assert_cmphex(ldq_be_p(p + 4) & ~0x3full, ==, ENG_UBA);
    g_assert_cmpuint(64u << (p[11] & 7), ==, 256);
    g_assert_cmphex(word(p + 12) & 0xfffff, ==, ENG_SEGMENT);
    g_assert_cmphex(word(p + 16), ==, ENG_TOKEN);
    check_data(p + 20, 0, 256);
    g_assert_true(p + 20 + 256 == s->p + s->len);
    s = watch_packet(w.came, UB_LPH_BYPASS, 0);
    p = check_nth(s, 2, 1, UB_NLP_TAH);
    g_assert_cmphex(p[0], ==, UB_TA_TAACK);
    g_assert_cmphex(p[1], ==, 0);
    g_assert_cmpuint(s->len, ==, UB_NTH16_SIZE + 4);
    watch_end(&w);
}

/* Read and its responses, an atomic, and the Poison of each. */
static void test_responses(void)
{
    uint8_t cmd[UBQ_CMD];
    unsigned reads = 0, adds = 0;
    uint32_t last = 0;
    Watch w;
    Eng *a = &w.p.a, *b = &w.p.b;
    uint8_t *s;

    /* Less than the channel allows, 8192: a property says so. */
    watch_start(&w, &(EngPlan){ .carrier = ENG_RTP }, ",ta-mtu=4096");
    eng_fill(b, LEN, 1);
    ubq_cmd_init(cmd, 0, 0);
    put_le64(cmd + UBQ_POISON_BASE, b->room + MTU);
    put_le64(cmd + UBQ_POISON_LENGTH, 1);
    put_le32(cmd + UBQ_POISON_ACTION, UBQ_POISON_SET);
    g_assert_cmpuint(ubq_command(&b->drv, UBQ_OP_POISON, cmd), ==, UBQ_RESULT_OK);
    s = eng_sqe(a, UB_TA_FETCH_ADD, UBQ_SQE_INLINE, 8, 2);
    put_le64(s + UBQ_BLOCK, 0);
    ubq_post(&a->queue, s, 2);
    eng_complete(a, UBQ_STATUS_OK);
    ubq_post(&a->queue, eng_sqe(a, UB_TA_READ, 0, LEN, 1), 1);
    eng_complete(a, UBQ_STATUS_REMOTE_POISON);
    watch_look(&w);
    for (unsigned i = 0; i < watch_packets(w.came, UB_LPH_CNA24); i++) {
        const Seen *seen = watch_packet(w.came, UB_LPH_CNA24, i);
        const uint8_t *p = seen->p + UB_NTH24_SIZE;
        const Rtph h = rtph(p);

        /* On a busy machine some are sent again. */
        if (h.opcode != UB_TPOP_DATA ||
            (reads + adds && ((h.psn - last - 1) & UB_PSN_MASK) > UB_PSN_MASK / 2)) {
            continue;
        }
        last = h.psn;
        p = check_wide(p + 16, 2, 1);
        g_assert_cmpuint(p[4] >> 5, ==, UB_TAH_OK);
        g_assert_cmphex(word(p + 4) & 0xfffff, ==, a->queue.id);
        if (p[0] == UB_TA_ATOMIC_RESPONSE) {
            adds++;
            g_assert_cmphex(p[1], ==, 0);
        } else if (p[0] == UB_TA_READ_RESPONSE) {
            g_assert_cmphex(p[1], ==, reads == 1 ? 4 : 0);
            reads++;
        }
    }
    g_assert_cmpuint(adds, ==, 1);
    g_assert_cmpuint(reads, ==, 3);
    watch_end(&w);
}

/* A port with a CNA of its own: the source of requests, and where answers go. */
static void test_source(void)
{
    Watch w;

    watch_start(&w, &(EngPlan){ .carrier = ENG_CTP }, "");
    qubc_stop(w.p.link.b);
    w.p.link.props = "port-cna=0x22";
    w.p.link.b = start_client(&w.p.link);
    eng_open(&w.p.b, w.p.link.b, 2);
    eng_link_up(&w.p);
    eng_queue(&w.p.b, &w.p.plan);
    eng_fill(&w.p.b, 64, 1);
    write_once(&w.p.b, 64);
    watch_look(&w);
    check_nth(watch_packet(w.came, UB_LPH_CNA16, 0), 0x22, 1, UB_NLP_CTPH);
    check_nth(watch_packet(w.sent, UB_LPH_CNA16, 0), 1, 0x22, UB_NLP_CTPH);
    watch_end(&w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-headers/ctp", test_ctp);
    qtest_add_func("/ubc-headers/rtp", test_rtp);
    qtest_add_data_func("/ubc-headers/rtp-ipv4", GUINT_TO_POINTER(UB_LPH_IPV4),
                        test_rtp_ip);
    qtest_add_data_func("/ubc-headers/rtp-ipv6", GUINT_TO_POINTER(UB_LPH_IPV6),
                        test_rtp_ip);
    qtest_add_func("/ubc-headers/rol", test_rol);
    qtest_add_func("/ubc-headers/utp", test_utp);
    qtest_add_func("/ubc-headers/bypass", test_bypass);
    qtest_add_func("/ubc-headers/responses", test_responses);
    qtest_add_func("/ubc-headers/source", test_source);
    return g_test_run();
}
