/*
 * Inputs for QEMU's generic fuzzer that bring an RDMA function up: tables,
 * region, queues, two connected QPs, a request.  A fuzzer that begins there
 * need not find a dozen right mailboxes by chance.
 *
 * usage: write-seeds ncic-nic|ncic-mthca FILE
 *
 * An input is a series of records {operation, operands} with "FUZZ" between
 * them.  What the function reads by DMA is filled from patterns, so a command
 * is: forget the patterns, its mailbox as the only one, the registers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <string.h>

#include "ncic/ncic_hw.h"
#include "../../lib/mthca_build.h"
#include "../../lib/native_build.h"

/* Operations of generic_fuzz.c */
enum { OP_WRITE = 3, OP_ADD_PATTERN = 7, OP_CLEAR_PATTERNS = 8,
       OP_CLOCK_STEP = 9 };
enum { LONG = 2, QUAD = 3 };            /* access sizes */

/* Guest memory: any address will do. */
enum { IN = 0x10000, OUT = 0x11000, CQ = 0x12000, EQ = 0x13000, SQ = 0x14000,
       RQ = 0x16000, DATA = 0x20000, ICM = 0x40000, PAGE = 0x1000 };
enum { PD = 3, CQN = 2, EQN = 1, MR_CQ = 1, MR_DATA, MR_SQ, MR_RQ, QPN = 4 };
#define IP 0x0a000001u

static FILE *out;

static void record(uint8_t op, const void *operands, size_t len)
{
    fputc(op, out);
    fwrite(operands, 1, len, out);
    fwrite("FUZZ", 1, 4, out);
}

/* @region counts the ranges of MMIO that belong to the function. */
static void write_reg(uint8_t size, uint8_t region, uint32_t off,
                      uint64_t val)
{
    uint8_t o[16] = { size, region };

    put_le32(o + 4, off);
    put_le64(o + 8, val);
    record(OP_WRITE, o, sizeof(o));
}

/* The next reads by DMA see @data again and again. */
static void pattern(const uint8_t *data, size_t len)
{
    uint8_t p[2 + 1024] = { 0 };

    memcpy(p + 2, data, len);
    record(OP_ADD_PATTERN, p, 2 + len);
}

static void no_patterns(void)
{
    record(OP_CLEAR_PATTERNS, NULL, 0);
}

static void step(void)
{
    record(OP_CLOCK_STEP, NULL, 0);
}

/* ---- ncic-nic ----------------------------------------------------------- */

/* BAR0 up to the MSI-X table, table, gap, PBA, the rest; BAR2 */
enum { NIC_REST = 4, NIC_REST_OFF = NCIC_MSIX_PBA + 8, NIC_UAR = 5 };

static uint8_t box[1024];

static uint8_t *fresh(void)
{
    return memset(box, 0, sizeof(box));
}

static void nic_command(uint16_t op, uint32_t mod, uint8_t op_mod,
                        uint64_t in, size_t len)
{
    const uint32_t regs[] = {
        in >> 32, in, mod, 0, OUT, 0xffff0000,
        NRH_GO | op_mod << NRH_OPMOD_SHIFT | op,
    };

    no_patterns();
    if (len) {
        pattern(box, len);
    }
    for (unsigned i = 0; i < sizeof(regs) / sizeof(regs[0]); i++) {
        write_reg(LONG, NIC_REST, NCIC_HCR - NIC_REST_OFF + i * 4, regs[i]);
    }
}

static void nic_region(uint32_t key, uint64_t start, uint64_t addr,
                       uint32_t pages)
{
    nrb_mtt_first(fresh(), key * 64);
    for (uint32_t i = 0; i < pages; i++) {
        nrb_mtt_page(box, i, addr + i * PAGE);
    }
    nic_command(NRC_WRITE_MTT, pages, 0, IN, 0x20 + 8 * ((pages + 3) & ~3u));
    nrb_region(fresh(), &(NrbRegion) {
        .flags = NRM_LOCAL_WRITE | NRM_REMOTE_WRITE | NRM_REMOTE_READ |
                 NRM_REMOTE_ATOMIC,
        .key = key, .pd = PD, .start = start, .length = pages * PAGE,
        .mtt = key * 64,
    });
    nic_command(NRC_SW2HW_MPT, key, 0, IN, NR_MPT_BYTES);
}

static void nic(void)
{
    static const NrbTables t = {
        .qpc = 0, .cqc = 0x400000, .eqc = 0x600000, .mpt = 0x700000,
        .mtt = 0x900000,
    };
    static const uint64_t maps[] = { 0, 0x400000, 0x600000, 0x700000,
                                     0x900000 };
    static const uint16_t steps[] = { NRC_RST2INIT_QP, NRC_INIT2RTR_QP,
                                      NRC_RTR2RTS_QP };
    unsigned units;

    nrb_init_hca(fresh(), &t);
    nic_command(NRC_INIT_HCA, 0, 0, IN, 0x40);
    for (unsigned i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
        nrb_map_icm(fresh(), 0, maps[i], ICM + i * PAGE, 1);
        nic_command(NRC_MAP_ICM, 1, i < 3 ? NR_ICM_CONTEXTS : NR_ICM_TPT, IN,
                    0x20);
    }
    nic_region(MR_CQ, 0, CQ, 1);
    nic_region(MR_SQ, 0, SQ, 1);
    nic_region(MR_RQ, 0, RQ, 1);
    nic_region(MR_DATA, DATA, DATA, 8);
    nrb_cq(fresh(), CQN, 7, EQN, PD, MR_CQ);
    nic_command(NRC_SW2HW_CQ, CQN, 0, IN, NR_CQC_BYTES);
    nrb_eq(fresh(), EQ, 7, 1);
    nic_command(NRC_SW2HW_EQ, EQN, 0, IN, NR_EQC_BYTES);
    nic_command(NRC_MAP_EQ, EQN, 0, 0xffffffff, 0);
    for (unsigned q = 0; q < 2; q++) {
        for (unsigned s = 0; s < 3; s++) {
            nrb_qp(fresh(), &(NrbQp) {
                .qpn = QPN + q, .peer_qpn = QPN + 1 - q, .mtu = 1,
                .log_slot = 7, .pd = PD, .send_cqn = CQN, .recv_cqn = CQN,
                .sq_lkey = MR_SQ, .sq_bytes = PAGE, .rq_lkey = MR_RQ,
                .rq_bytes = PAGE, .sip = IP, .dip = IP,
            }, s + 1);
            nic_command(steps[s], QPN + q, 0, IN, NR_QP_MBOX_BYTES);
        }
    }
    /* The WQE, then bytes that make any completion entry free. */
    units = nrb_send(fresh(), &(NrbSend) {
        .op = NRB_WRITE, .addr = DATA, .len = 600, .lkey = MR_DATA,
        .raddr = DATA + 0x4000, .rkey = MR_DATA,
    });
    no_patterns();
    pattern(box, units * NR_UNIT);
    pattern((const uint8_t[]) { NRQ_OWNER_HW }, 1);
    write_reg(LONG, NIC_UAR, NRU_ARM_CQ, CQN);
    write_reg(QUAD, NIC_UAR, NRU_SQ_DB, nrb_doorbell(QPN, units, 0,
                                                     NRB_WRITE));
    step();
}

/* ---- ncic-mthca --------------------------------------------------------- */

/* BAR0 up to the MSI-X table, table, PBA, the rest; BAR2 */
enum { HCA_CSR = 0, HCA_UAR = 4 };
enum { UAR = 2, KEY = 0x10 };

static void hca_command(uint16_t op, uint32_t mod, uint64_t in, size_t len)
{
    const uint32_t regs[] = { in >> 32, in, mod, 0, OUT, 0xffff0000,
                              MTHCA_HCR_GO | op };

    no_patterns();
    if (len) {
        pattern(box, len);
    }
    for (unsigned i = 0; i < sizeof(regs) / sizeof(regs[0]); i++) {
        /* The function is big-endian. */
        write_reg(LONG, HCA_CSR, MTHCA_HCR_BASE + i * 4,
                  __builtin_bswap32(regs[i]));
    }
}

static void hca_doorbell(uint32_t off, uint64_t val)
{
    write_reg(QUAD, HCA_UAR, UAR * MTHCA_UAR_PAGE + off,
              __builtin_bswap64(val));
}

static void hca(void)
{
    enum { SLOT = 128, QP_BOX = 0x108 };

    hca_command(MTHCA_CMD_RUN_FW, 0, 0, 0);
    mtb_init_hca(fresh(), 0, 0x20000000);
    hca_command(MTHCA_CMD_INIT_HCA, 0, IN, 0x200);
    mtb_init_ib(fresh());
    hca_command(MTHCA_CMD_INIT_IB, 1, IN, 0x100);
    mtb_map_icm(fresh(), 0, (uint64_t)UAR << 18, ICM);
    hca_command(MTHCA_CMD_MAP_ICM, 1, IN, 16);
    mtb_region(fresh(), KEY, 0, 0, UINT64_MAX);
    hca_command(MTHCA_CMD_SW2HW_MPT, KEY, IN, 0x40);
    mtb_eq(fresh(), EQ, 6, 1, KEY << 8);
    hca_command(MTHCA_CMD_SW2HW_EQ, EQN, IN, 0x40);
    hca_command(MTHCA_CMD_MAP_EQ, EQN, 0xffffffff, 0);
    mtb_cq(fresh(), CQ, 6, UAR, EQN, KEY << 8, 0, 1);
    hca_command(MTHCA_CMD_SW2HW_CQ, CQN, IN, 0x40);
    for (unsigned q = 0; q < 2; q++) {
        const MtbQp attr = {
            .service = MTHCA_ST_RC, .mtu = 1, .qpn = 0x410 + q,
            .peer_qpn = 0x411 - q, .uar = UAR, .cqn = CQN, .key = KEY << 8,
            .log_sq = 4, .log_sq_stride = 7, .log_rq = 4, .log_rq_stride = 6,
            .sq = SQ + q * PAGE, .rq = RQ + q * PAGE, .sq_db = 2 + 2 * q,
            .rq_db = 3 + 2 * q, .dlid = 1,
        };

        mtb_rst2init(fresh(), &attr);
        hca_command(MTHCA_CMD_RST2INIT_QP, attr.qpn, IN, QP_BOX);
        mtb_init2rtr(fresh(), &attr);
        hca_command(MTHCA_CMD_INIT2RTR_QP, attr.qpn, IN, QP_BOX);
        mtb_rtr2rts(fresh(), &attr);
        hca_command(MTHCA_CMD_RTR2RTS_QP, attr.qpn, IN, QP_BOX);
    }
    put_be32(fresh() + 8, MTHCA_NEXT_CQ_UPDATE | 1);
    mtb_data(mtb_raddr(box + 16, DATA + 0x4000, KEY << 8), DATA, 600,
             KEY << 8);
    no_patterns();
    pattern(box, SLOT);
    hca_doorbell(MTHCA_UAR_CQ, (uint64_t)(2u << 24 | CQN) << 32);
    hca_doorbell(MTHCA_UAR_SEND,
                 mtb_doorbell(0x410, 1, 0, MTHCA_WQE_RDMA_WRITE, 3));
    step();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*write)(void);
    } devices[] = { { "ncic-nic", nic }, { "ncic-mthca", hca } };

    for (unsigned i = 0; argc == 3 && i < 2; i++) {
        if (strcmp(argv[1], devices[i].name) == 0) {
            out = fopen(argv[2], "wb");
            if (!out) {
                perror(argv[2]);
                return 1;
            }
            devices[i].write();
            return fclose(out) ? 1 : 0;
        }
    }
    fprintf(stderr, "usage: write-seeds ncic-nic|ncic-mthca FILE\n");
    return 2;
}
