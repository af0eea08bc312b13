/*
 * Network isolation by controllers that do not forward, of packets that software
 * writes whole (UB 2.0 §5.3.3, §F.2.5): property guard=on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-eng.h"
#include "qapi/error.h"
#include "qobject/qjson.h"
#include "ub/cfg_regs.h"
#include "ub/sec.h"
#include "ub/tp_format.h"

#define GUID_A "00112233425566778899aabbccddee01"
#define GUID_B "00112233425566778899aabbccddee02"
#define LOW UB_NPI_LOW
#define HEAD (UB_IPEXT_SIZE + UB_IPV6_SIZE)
#define LEN (HEAD + 16 + UB_ICRC_SIZE)

typedef struct Pair {
    Link link;
    Eng a, b;           /* for their counters */
} Pair;

static void start(Pair *p, const char *a, const char *b)
{
    *p = (Pair) { 0 };
    link_prepare(&p->link);
    p->link.props = a;
    p->link.a = p->a.q = start_server(&p->link);
    p->link.props = b;
    p->link.b = p->b.q = start_client(&p->link);
    qubc_pair_write(p->link.a, 0, UBC_PAIR_CFGS, 0xffff);
    qubc_pair_write(p->link.b, 0, UBC_PAIR_CFGS, 0xffff);
    link_open(&p->link);
}

/* The status of its descriptor. */
static unsigned send_bytes(QUbc *d, unsigned cfg, const uint8_t *data,
                           uint32_t len)
{
    uint16_t n = d->port[0].tx_head;
    uint32_t at = QUBC_TX_BUF(0) + n % QUBC_RING * QUBC_BUF;

    memcpy(d->ram->at + at, data, len);
    qubc_post(d, 0, UBC_RING_TX, at, len, cfg);
    qubc_doorbell(d, 0, UBC_RING_TX);
    QUBC_WAIT(qubc_status(d, 0, UBC_RING_TX, n) & UBC_DESC_DONE);
    return qubc_status(d, 0, UBC_RING_TX, n) & ~UBC_DESC_DONE;
}

/* An IPv6 packet that says this NPI. */
static unsigned send_npi(QUbc *d, uint32_t npi)
{
    uint8_t p[LEN] = { 0 };

    ub_ipext_put(p, 0, npi);
    p[UB_IPEXT_SIZE] = 0x60;
    put_be16(p + UB_IPEXT_SIZE + 4, LEN - HEAD);
    p[UB_IPEXT_SIZE + 6] = 59;  /* no next header */
    p[UB_IPEXT_SIZE + 7] = 64;
    p[UB_IPEXT_SIZE + 23] = 1;
    p[UB_IPEXT_SIZE + 39] = 2;
    return send_bytes(d, UB_LPH_IPV6, p, LEN);
}

/* The next packet that came. */
static const uint8_t *next(QUbc *d, unsigned cfg, uint32_t len)
{
    QUbcPort *p = &d->port[0];
    uint16_t n = p->rx_tail++;
    uint32_t desc = QUBC_RX_RING(0) + n % QUBC_RING * UBC_DESC_SIZE;

    QUBC_WAIT(qubc_status(d, 0, UBC_RING_RX, n) & UBC_DESC_DONE);
    g_assert_cmpuint(ldl_le_p(d->ram->at + desc + 8), ==, len);
    g_assert_cmphex(lduw_le_p(d->ram->at + desc + 12) & UBC_DESC_CFG, ==, cfg);
    return d->ram->at + QUBC_RX_BUF(0) + n % QUBC_RING * QUBC_BUF;
}

static void arrives(Pair *p, uint32_t written, uint32_t npi)
{
    g_assert_cmphex(send_npi(p->link.a, written), ==, 0);
    g_assert_cmphex(ub_ipext_npi(next(p->link.b, UB_LPH_IPV6, LEN)), ==, npi);
}

/* It leaves a, and b does not take it. */
static void filtered(Pair *p, uint32_t written)
{
    uint64_t before = eng_counter(&p->b, "network", "drop-npi");

    g_assert_cmphex(send_npi(p->link.a, written), ==, 0);
    QUBC_WAIT(eng_counter(&p->b, "network", "drop-npi") == before + 1);
}

/* It does not leave a. */
static void refused(Pair *p, uint32_t written, const char *counter)
{
    uint64_t before = eng_counter(&p->a, "network", counter);

    g_assert_cmphex(send_npi(p->link.a, written), ==, UBC_DESC_ERROR);
    g_assert_cmpuint(eng_counter(&p->a, "network", counter), ==, before + 1);
}

/* @from tells its neighbour, who has a GUID that ends with @last, its NPI. */
static void configure(Eng *from, Eng *to, uint8_t last, unsigned opcode,
                      uint32_t npi)
{
    static const uint8_t guid[16] = { 0x00, 0x11, 0x22, 0x33, 0x42, 0x55, 0x66,
                                      0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd,
                                      0xee };
    uint8_t p[UB_CONTROL_SIZE + UB_NPIC_HEADER + UB_NPIC_PAIR] = { 0 };
    uint8_t *pdu = p + UB_CONTROL_SIZE;
    uint64_t before = eng_counter(to, "network", "npic");

    put_be16(p, UB_CONTROL_NPIC);
    pdu[0] = opcode;
    put_be16(pdu + 2, 1);
    memcpy(pdu + UB_NPIC_HEADER, guid, 16);
    pdu[UB_NPIC_HEADER + 15] = last;
    put_be32(pdu + UB_NPIC_HEADER + 16, npi);
    g_assert_cmphex(send_bytes(from->q, UB_LPH_CONTROL, p, sizeof(p)), ==, 0);
    QUBC_WAIT(eng_counter(to, "network", "npic") == before + 1);
}

/* §5.3.3, the truth table of two ends; §F.2.5, NPIC. */
static void test_strict(void)
{
    Pair p;

    start(&p, "guard=on,npi=0x10,guid=" GUID_A,
          "guard=on,npi=0x10,guid=" GUID_B);
    arrives(&p, 0xabc, 0x10);
    arrives(&p, 0, 0x10);               /* whatever software wrote */
    configure(&p.a, &p.b, 2, UB_NPIC_CONFIGURE, LOW | 0x10);
    arrives(&p, 0xabc, 0x10);
    configure(&p.a, &p.b, 2, UB_NPIC_CONFIGURE, 0x11);
    filtered(&p, 0x11);
    configure(&p.a, &p.b, 1, UB_NPIC_CONFIGURE, 0x10);  /* another's */
    filtered(&p, 0x11);
    configure(&p.a, &p.b, 2, UB_NPIC_CONFIGURE, LOW | 0x10);
    configure(&p.b, &p.a, 1, UB_NPIC_CONFIGURE, LOW | 0x10);
    filtered(&p, 0x10);                 /* both low */
    configure(&p.a, &p.b, 2, UB_NPIC_CONFIGURE, 0x10);
    arrives(&p, 0x10, LOW | 0x10);
    configure(&p.a, &p.b, 2, UB_NPIC_CLEAR, 0);
    filtered(&p, 0x10);
    configure(&p.b, &p.a, 1, UB_NPIC_CLEAR, 0);
    refused(&p, 0x10, "drop-npi-invalid");
    link_stop(&p.link);
}

static void test_loose(void)
{
    Pair p;

    start(&p, "guard=on,npi-mode=loose,npis=0x20:0x30:0x1000040",
          "guard=on,npi-mode=loose,npis=0x20:0x1000040");
    arrives(&p, 0x20, 0x20);
    filtered(&p, 0x30);
    refused(&p, 0x21, "drop-npi");
    refused(&p, 0x40, "drop-npi");
    filtered(&p, LOW | 0x40);
    arrives(&p, 0x20, 0x20);
    link_stop(&p.link);
}

/* Addresses of others do not leave. */
static void test_spoof(void)
{
    uint8_t wide[32] = { 0 }, narrow[32] = { 0 };
    UbNth h = { .scna = 5, .dcna = 2, .nlp = 7 };
    Pair p;

    start(&p, "guard=on,cna=1", "guard=off,cna=2");
    g_assert_true(qubc_read(p.a.q, UBC_CAPS) & UBC_CAPS_GUARD);
    g_assert_false(qubc_read(p.b.q, UBC_CAPS) & UBC_CAPS_GUARD);
    ub_nth24_put(wide, &h);
    ub_nth16_put(narrow, &h);
    g_assert_cmphex(send_bytes(p.link.a, UB_LPH_CNA24, wide, 32), ==,
                    UBC_DESC_ERROR);
    g_assert_cmphex(send_bytes(p.link.a, UB_LPH_BYPASS, narrow, 32), ==,
                    UBC_DESC_ERROR);
    g_assert_cmpuint(eng_counter(&p.a, "network", "drop-spoof"), ==, 2);
    g_assert_cmphex(send_bytes(p.link.a, UB_LPH_CNA24, wide, 9), ==,
                    UBC_DESC_ERROR);
    g_assert_cmpuint(eng_counter(&p.a, "network", "drop-short"), ==, 1);
    h.scna = 1;
    ub_nth24_put(wide, &h);
    g_assert_cmphex(send_bytes(p.link.a, UB_LPH_CNA24, wide, 32), ==, 0);
    g_assert_cmpmem(next(p.link.b, UB_LPH_CNA24, 32), 32, wide, 32);
    /* Without guard software says what it likes. */
    h.scna = 5;
    ub_nth24_put(wide, &h);
    g_assert_cmphex(send_bytes(p.link.b, UB_LPH_CNA24, wide, 32), ==, 0);
    g_assert_cmpmem(next(p.link.a, UB_LPH_CNA24, 32), 32, wide, 32);
    link_stop(&p.link);
}

/* ---- UPIs of virtual machines (§D.1.15, §D.3.16) ---- */

#define TABLE 0x0e00000u    /* of the guest's memory, in front of its rings */
#define VM_UPI 0x1234u
#define CTP_LEN (UB_NTH16_SIZE + UB_CTPH_LEN + 40)

static const uint8_t vm_eid[16] = { 0xfd, 0x01, [13] = 0x0a, 0xbc, 0xde };

static void put_entry(QUbc *d, unsigned n, const uint8_t eid[16], uint32_t upi,
                      uint32_t flags)
{
    uint8_t *p = d->ram->at + TABLE + n * UBC_EID_UPI_ENTRY;

    memset(p, 0, UBC_EID_UPI_ENTRY);
    memcpy(p + UBC_EID_UPI_EID, eid, 16);
    stl_le_p(p + UBC_EID_UPI_UPI, upi);
    stl_le_p(p + UBC_EID_UPI_FLAGS, flags);
}

/* Headers of 16 and 40 bits behind a CTPH. */
static unsigned send_short(QUbc *d, uint32_t upi, const uint8_t eid[16])
{
    uint8_t p[CTP_LEN] = { 0 };
    UbNth h = { .scna = 1, .dcna = 2, .nlp = UB_NLP_CTPH };
    uint8_t *s = p + UB_NTH16_SIZE + UB_CTPH_LEN;

    ub_nth16_put(p, &h);
    p[UB_NTH16_SIZE] = UB_CTPOP_DATA << 6 | UB_TPH_UPI16;
    put_be16(s, upi);
    put_be16(s + 2, eid[13] << 12 | eid[14] << 4 | eid[15] >> 4);
    s[4] = eid[15] << 4;
    return send_bytes(d, UB_LPH_CNA16, p, sizeof(p));
}

/* Headers of 32 and 256 bits behind a RTPH; over UDP, or a NTH. */
static unsigned send_wide(QUbc *d, bool ip, bool cip, uint32_t upi,
                          const uint8_t eid[16])
{
    uint8_t p[160] = { 0 };
    UbNth h = { .scna = 1, .dcna = 2, .nlp = UB_NLP_RTPH };
    uint8_t *s = p + (ip ? UB_IPV6_PATH_SIZE : UB_NTH24_SIZE);

    if (ip) {
        ub_ipext_put(p, 0, 1);
        p[UB_IPEXT_SIZE] = 0x60;
        put_be16(p + UB_IPEXT_SIZE + 4, sizeof(p) - HEAD);
        p[UB_IPEXT_SIZE + 6] = 17;
        put_be16(p + HEAD + 2, UB_UDP_PORT);
        put_be16(p + HEAD + 4, sizeof(p) - HEAD);
    } else {
        ub_nth24_put(p, &h);
    }
    s[0] = UB_TPOP_DATA;
    s[1] = cip ? UB_TPH_CIP : UB_TPH_UPI32;
    s += UB_RTPH_LEN + (cip ? UB_CIPH_LEN : 0);
    put_be32(s, upi);
    memcpy(s + 4, eid, 16);
    return send_bytes(d, ip ? UB_LPH_IPV6 : UB_LPH_CNA24, p, sizeof(p));
}

/* All ways of it agree. */
static void says(Pair *p, uint32_t upi, const uint8_t eid[16], bool may)
{
    unsigned want = may ? 0 : UBC_DESC_ERROR;
    uint64_t before = eng_counter(&p->a, "network", "drop-spoof");

    g_assert_cmphex(send_short(p->link.a, upi, eid), ==, want);
    g_assert_cmphex(send_wide(p->link.a, false, false, upi, eid), ==, want);
    g_assert_cmphex(send_wide(p->link.a, false, true, upi, eid), ==, want);
    g_assert_cmphex(send_wide(p->link.a, true, false, upi, eid), ==, want);
    g_assert_cmpuint(eng_counter(&p->a, "network", "drop-spoof"), ==,
                     before + (may ? 0 : 4));
}

#define TRUST (UB_CFG0_BASE + UB_CFG0_TRUST_EN)
#define TAB (UB_CFG1_BASE + UB_CFG1_EID_UPI_TAB)
#define TEN (UB_CFG1_BASE + UB_CFG1_EID_UPI_TEN)

static void test_partitions(void)
{
    uint8_t other[16] = { 0xfd, 0x01, [13] = 0x0a, 0xbc, 0xdf };
    uint8_t p[CTP_LEN] = { 0 };
    UbNth h = { .scna = 1, .dcna = 2, .nlp = 7 };
    QUbc *a;
    Pair pair;

    start(&pair, "eid-upi=40,upi=7", "cna=2");
    a = pair.link.a;
    g_assert_cmphex(qubc_cfg_read(a, TEN), ==, 40);
    qubc_cfg_write(a, TEN, 41);
    g_assert_cmphex(qubc_cfg_read(a, TEN), ==, 40);
    memset(a->ram->at + TABLE, 0, 64 * UBC_EID_UPI_ENTRY);
    put_entry(a, 39, vm_eid, VM_UPI, UBC_EID_UPI_VALID);
    put_entry(a, 40, other, VM_UPI, UBC_EID_UPI_VALID);     /* beyond it */
    put_entry(a, 3, other, VM_UPI + 1, UBC_EID_UPI_VALID);
    qubc_cfg_write(a, TAB, TABLE);
    qubc_cfg_write(a, TAB + 1, 0);
    /* Not trusted: its own UPI and nothing else. */
    says(&pair, 7, vm_eid, true);
    says(&pair, VM_UPI, vm_eid, false);
    qubc_cfg_write(a, TRUST, 1);
    g_assert_cmphex(qubc_cfg_read(a, TRUST), ==, 1);
    says(&pair, 7, vm_eid, true);
    says(&pair, VM_UPI, vm_eid, true);
    says(&pair, VM_UPI + 1, other, true);
    says(&pair, VM_UPI, other, false);      /* pairs, not numbers */
    says(&pair, VM_UPI + 1, vm_eid, false);
    says(&pair, 0, vm_eid, false);
    /* What is taken out holds at once. */
    put_entry(a, 39, vm_eid, VM_UPI, 0);
    says(&pair, VM_UPI, vm_eid, false);
    put_entry(a, 0, vm_eid, VM_UPI, UBC_EID_UPI_VALID);
    says(&pair, VM_UPI, vm_eid, true);
    qubc_cfg_write(a, TRUST, 0);
    says(&pair, VM_UPI, vm_eid, false);
    qubc_cfg_write(a, UB_CFG0_BASE + UB_CFG0_UPI, VM_UPI);
    says(&pair, VM_UPI, vm_eid, true);
    says(&pair, 7, vm_eid, false);
    /* No table, or one that is nowhere. */
    qubc_cfg_write(a, TRUST, 1);
    qubc_cfg_write(a, TAB, 0);
    qubc_cfg_write(a, TAB + 1, 0);
    says(&pair, VM_UPI + 1, other, false);
    qubc_cfg_write(a, TAB + 1, 0x40000000);
    says(&pair, VM_UPI + 1, other, false);
    /* The UBFM's, which has a rule of its own; and what has no UPI. */
    g_assert_cmphex(send_short(a, UB_UPI_MANAGER, other), ==, 0);
    ub_nth16_put(p, &h);
    g_assert_cmphex(send_bytes(a, UB_LPH_CNA16, p, sizeof(p)), ==, 0);
    /* Without a table nobody looks. */
    g_assert_cmphex(qubc_cfg_read(pair.link.b, TEN), ==, 0);
    qubc_cfg_write(pair.link.b, TRUST, 1);
    g_assert_cmphex(qubc_cfg_read(pair.link.b, TRUST), ==, 0);
    g_assert_cmphex(send_short(pair.link.b, VM_UPI, vm_eid), ==, 0);
    link_stop(&pair.link);
}

static void test_properties(void)
{
    static const struct {
        const char *set, *says;
    } bad[] = {
        { "'mgmt-timeout': 0", "answer to a management message" },
        { "'eid-upi': 1025", "(EID, UPI)" },
        { "'npi-mode': 'tight'", "npi-mode" },
        { "'npi': 33554432", "npi" },
        { "'npis': '1:0'", "npis" },
        { "'npis': '0x2000001'", "npis" },
        { "'npis': 'a'", "npis" },
        { "'npis': '1:2:3:4:5:6:7:8:9:10:11:12:13:14:15:16:17'", "npis" },
    };
    QUbc *d = qubc_start_attached("contexts=4", "-device "
                                  "pcie-root-port,id=rp0,chassis=1,slot=1");

    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *args = g_strdup_printf(
            "{ 'driver': 'ubc', 'id': 'ub1', 'bus': 'rp0', %s }", bad[i].set);
        QDict *rsp = qtest_qmp_assert_failure_ref(
            d->qts, "{ 'execute': 'device_add', 'arguments': %p }",
            qobject_from_json(args, &error_abort));

        g_assert_nonnull(strstr(qdict_get_str(rsp, "desc"), bad[i].says));
        qobject_unref(rsp);
    }
    qubc_stop(d);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-guard/strict", test_strict);
    qtest_add_func("/ubc-guard/loose", test_loose);
    qtest_add_func("/ubc-guard/spoof", test_spoof);
    qtest_add_func("/ubc-guard/partitions", test_partitions);
    qtest_add_func("/ubc-guard/properties", test_properties);
    return g_test_run();
}
