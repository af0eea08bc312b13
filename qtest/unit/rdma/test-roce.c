/*
 * RoCEv2 formats: the table of BTH opcodes, CRC, ICRC, checksums, PSNs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "rdma/roce.h"
#include "rdma/types.h"

/* Header bytes of IB 1.3 table 38, 0 = not an opcode of RC / UC / UD. */
static const uint8_t hdr_len[3][32] = {
    { 12, 12, 12, 16, 12, 16, 28, 12, 12, 16, 28, 32, 28, 16, 12, 16,
      16, 16, 24, 40, 40, 0, 16, 16 },
    { 12, 12, 12, 16, 12, 16, 28, 12, 12, 16, 28, 32 },
    { 0, 0, 0, 0, 20, 24 },
};

static void test_opcodes(void)
{
    static const uint8_t services[] = { RDMA_RC, RDMA_UC, RDMA_UD };
    unsigned named = 0;

    for (int s = 0; s < 3; s++) {
        for (int op = 0; op < 32; op++) {
            const RoceOp *o = &roce_ops[ROCE_OP(services[s], op)];

            g_assert_cmpuint(o->hdr_len, ==, hdr_len[s][op]);
            g_assert_cmpint(o->name != NULL, ==, hdr_len[s][op] != 0);
        }
    }
    for (int i = 0; i < 256; i++) {
        const RoceOp *o = &roce_ops[i];
        unsigned len = ROCE_BTH_BYTES;

        if (!o->name) {
            g_assert_cmpuint(o->flags, ==, 0);
            continue;
        }
        named++;
        /* Headers follow each other without gaps, in this order. */
#define HDR(field, bytes)                           \
        if (o->field) {                             \
            g_assert_cmpuint(o->field, ==, len);    \
            len += bytes;                           \
        }
        HDR(deth, ROCE_DETH_BYTES)
        HDR(reth, ROCE_RETH_BYTES)
        HDR(atomic, ROCE_ATOMIC_BYTES)
        HDR(aeth, ROCE_AETH_BYTES)
        HDR(atomack, ROCE_ATOMACK_BYTES)
        HDR(imm, ROCE_IMM_BYTES)
        HDR(ieth, ROCE_IETH_BYTES)
#undef HDR
        g_assert_cmpuint(o->hdr_len, ==, len);
        g_assert_cmpint(!!(o->flags & ROCE_F_REQUEST), !=,
                        !!(o->flags & ROCE_F_RESPONSE));
        g_assert_cmpint(!!(o->flags & ROCE_F_IMM), ==, o->imm != 0);
        g_assert_cmpint(!!(o->flags & ROCE_F_INV), ==, o->ieth != 0);
    }
    g_assert_cmpuint(named, ==, 23 + 12 + 2);
}

static uint32_t bitwise_crc(uint32_t crc, const uint8_t *p, size_t len)
{
    while (len--) {
        crc ^= *p++;
        for (int i = 0; i < 8; i++) {
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
        }
    }
    return crc;
}

/* @len bytes of @p are at @off of @copy, and nothing else was touched. */
static void check_copy(const uint8_t *copy, size_t off, const uint8_t *p, size_t len)
{
    g_assert_cmpmem(copy + off, len, p, len);
    g_assert_cmphex(copy[off + len], ==, 0xa5);
    g_assert_true(!off || copy[off - 1] == 0xa5);
}

/* Each way to calculate that this processor has, behind a head and without. */
static void check_crc(void)
{
    enum { BYTES = 600, HEAD = 48 };
    uint8_t buf[HEAD + BYTES], copy[BYTES + 1];
    GRand *r = g_rand_new_with_seed(1);

    /* The check value every catalogue of CRCs gives for CRC-32. */
    g_assert_cmphex(~core_crc32(~0u, "123456789", 9), ==, 0xcbf43926);
    for (int i = 0; i < sizeof(buf); i++) {
        buf[i] = g_rand_int(r);
    }
    for (size_t off = 0; off < 17; off++) {
        for (size_t len = 0; len + off <= BYTES; len++) {
            uint32_t seed = g_rand_int(r);
            const uint8_t *p = buf + HEAD + off;
            size_t head = len % 4 * 16;

            g_assert_cmphex(core_crc32(seed, p, len), ==,
                            bitwise_crc(seed, p, len));
            g_assert_cmphex(core_crc32_generic(seed, p, len), ==,
                            bitwise_crc(seed, p, len));
            g_assert_cmphex(core_crc32_head(seed, buf, head, p, len), ==,
                            bitwise_crc(bitwise_crc(seed, buf, head), p,
                                        len));
            memset(copy, 0xa5, sizeof(copy));
            g_assert_cmphex(core_crc32_copy(seed, NULL, copy + off, p, len),
                            ==, bitwise_crc(seed, p, len));
            check_copy(copy, off, p, len);
            memset(copy, 0xa5, sizeof(copy));
            g_assert_cmphex(core_crc32_copy(seed, buf + 3, copy + off, p, len),
                            ==, bitwise_crc(bitwise_crc(seed, buf + 3, 8), p,
                                            len));
            check_copy(copy, off, p, len);
        }
    }
    g_rand_free(r);
}

/* Packets of more length, against the portable version, which the bitwise one has
 * approved. */
static void check_long_crc(void)
{
    enum { BYTES = 4700, HEAD = 16 };
    g_autofree uint8_t *buf = g_malloc(HEAD + BYTES);
    g_autofree uint8_t *copy = g_malloc(BYTES + 1);
    GRand *r = g_rand_new_with_seed(2);

    for (int i = 0; i < HEAD + BYTES; i++) {
        buf[i] = g_rand_int(r);
    }
    for (size_t len = 600; len < BYTES - 3; len += len < 1500 ? 1 : 13) {
        size_t off = len % 3, head = len % 2 * HEAD;
        uint32_t seed = g_rand_int(r);
        const uint8_t *p = buf + HEAD + off;
        uint32_t want = core_crc32_generic(seed, p, len);

        g_assert_cmphex(core_crc32(seed, p, len), ==, want);
        g_assert_cmphex(core_crc32_head(seed, buf, head, p, len), ==,
                        core_crc32_generic(core_crc32_generic(seed, buf, head),
                                           p, len));
        memset(copy, 0xa5, BYTES + 1);
        g_assert_cmphex(core_crc32_copy(seed, NULL, copy + off, p, len), ==,
                        want);
        check_copy(copy, off, p, len);
        memset(copy, 0xa5, BYTES + 1);
        g_assert_cmphex(core_crc32_copy(seed, buf + 5, copy + off, p, len), ==,
                        core_crc32_generic(core_crc32_generic(seed, buf + 5, 8),
                                           p, len));
        check_copy(copy, off, p, len);
    }
    g_rand_free(r);
}

static void test_crc(void)
{
    static const char *const ways[] = { "tables", "clmul", "vpclmul",
                                        "zpclmul", "gfni" };

    g_assert_false(core_crc32_use("none"));
    for (int i = 0; i < G_N_ELEMENTS(ways); i++) {
        if (core_crc32_use(ways[i])) {
            check_crc();
            check_long_crc();
        } else {
            g_test_message("not here: %s", ways[i]);
        }
    }
    g_assert_true(core_crc32_use(NULL));
    check_crc();
}

/*
 * Two packets whose ICRC is published: a UC SEND Only captured on a ConnectX
 * loopback and a congestion notification captured from a ConnectX-4 Lx (both
 * in scapy's regression tests for RoCE).  The ICRC is written as it follows
 * on the wire.
 */
static void test_icrc_captures(void)
{
    static const uint8_t uc_send[] = {
        0x45, 0x01, 0x00, 0x40, 0x04, 0x78, 0x40, 0x00, 0x40, 0x11,
        0xb4, 0xd5, 0xc0, 0xa8, 0x00, 0x07, 0xc0, 0xa8, 0x00, 0x07,
        0xc0, 0x00, 0x12, 0xb7, 0x00, 0x2c, 0x00, 0x00,
        0x24, 0x60, 0xff, 0xff, 0x00, 0x00, 0x00, 0xd3, 0x00, 0xcf,
        0x17, 0x10,
        0x46, 0x30, 0x81, 0x8b, 0xe2, 0x89, 0x35, 0xd9, 0x0e, 0x9a,
        0x95, 0x50, 0x54, 0x01, 0xbe, 0x88, 0x5e, 0x50, 0x00, 0x00,
    };
    static const uint8_t cnp[] = {
        0x45, 0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00, 0x40, 0x11,
        0x91, 0x61, 0x0a, 0x00, 0x11, 0x01, 0x0a, 0x00, 0x12, 0x01,
        0x00, 0x00, 0x12, 0xb7, 0x00, 0x28, 0x00, 0x00,
        0x81, 0x00, 0xff, 0xff, 0x40, 0x00, 0x01, 0x18, 0x00, 0x00,
        0x00, 0x00,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    };
    uint8_t wire[4];

    put_le32(wire, roce_icrc(uc_send, sizeof(uc_send)));
    g_assert_cmphex(get_be32(wire), ==, 0x78f353f3);
    put_le32(wire, roce_icrc(cnp, sizeof(cnp)));
    g_assert_cmphex(get_be32(wire), ==, 0x82fd002a);
}

static void test_icrc_variant_fields(void)
{
    uint8_t p[60] = { 0x45, 0, 0, 60 }, q[60];
    static const uint8_t variant[] = { 1, 8, 10, 11, 26, 27, 32 };
    uint32_t icrc = roce_icrc(p, sizeof(p));

    for (int i = 0; i < sizeof(p); i++) {
        bool masked = memchr(variant, i, sizeof(variant)) != NULL;

        memcpy(q, p, sizeof(p));
        q[i] ^= 0x21;
        if (masked) {
            g_assert_cmphex(roce_icrc(q, sizeof(q)), ==, icrc);
        } else {
            g_assert_cmphex(roce_icrc(q, sizeof(q)), !=, icrc);
        }
    }
}

static void test_csum(void)
{
    /* The worked example of RFC 1071 §3. */
    static const uint8_t rfc[] = { 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5,
                                   0xf6, 0xf7 };
    uint8_t buf[100];

    g_assert_cmphex(core_csum_done(core_csum_add(0, rfc, 8)), ==,
                    (uint16_t)~0xddf2);
    for (int len = 0; len <= sizeof(buf); len++) {
        uint32_t sum = 0;

        for (int i = 0; i < len; i++) {
            buf[i] = i * 37 + 11;
            sum += i & 1 ? buf[i] : buf[i] << 8;
        }
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        g_assert_cmphex(core_csum_done(core_csum_add(0, buf, len)), ==,
                        (uint16_t)~sum);
    }
}

static void test_psn(void)
{
    g_assert_cmpint(psn_diff(0, 0xffffff), ==, 1);
    g_assert_cmpint(psn_diff(0xffffff, 0), ==, -1);
    g_assert_cmpint(psn_diff(0x800000, 0), ==, -0x800000);
    g_assert_cmpint(psn_diff(0x7fffff, 0), ==, 0x7fffff);
    g_assert_cmphex(psn_add(0xfffffe, 3), ==, 1);
    /* IB 1.3 table 45: first, some, last. */
    g_assert_cmpint(roce_rnr_ns(0), ==, 655360000);
    g_assert_cmpint(roce_rnr_ns(1), ==, 10000);
    g_assert_cmpint(roce_rnr_ns(12), ==, 640000);
    g_assert_cmpint(roce_rnr_ns(31), ==, 491520000);
}

static void test_fields(void)
{
    uint8_t h[ROCE_HDR_MAX];

    bth_put(h, 0x64, true, 3, 0x8001, 0x123456, true, 0xabcdef);
    g_assert_cmphex(get_be32(h), ==, 0x64b08001);
    g_assert_cmphex(get_be32(h + 4), ==, 0x00123456);
    g_assert_cmphex(get_be32(h + 8), ==, 0x80abcdef);
    g_assert_true(bth_se(h) && bth_ackreq(h) && !bth_migreq(h));
    g_assert_cmpuint(bth_pad(h), ==, 3);
    aeth_put(h, AETH_NAK | NAK_REMOTE_ACCESS, 0x654321);
    g_assert_cmphex(get_be32(h), ==, 0x62654321);
    atomic_put(h, 1, 2, 3, 4);
    g_assert_cmphex(get_be64(h + 12), ==, 3);
    g_assert_cmphex(get_be64(h + 20), ==, 4);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/roce/opcodes", test_opcodes);
    g_test_add_func("/roce/crc", test_crc);
    g_test_add_func("/roce/icrc/captures", test_icrc_captures);
    g_test_add_func("/roce/icrc/variant-fields", test_icrc_variant_fields);
    g_test_add_func("/roce/csum", test_csum);
    g_test_add_func("/roce/psn", test_psn);
    g_test_add_func("/roce/fields", test_fields);
    return g_test_run();
}
