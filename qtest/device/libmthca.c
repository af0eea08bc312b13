/*
 * libqos driver for ncic-mthca
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "libmthca.h"
#include "../deadline.h"

Hca *hca_begin_on(Fixture *f)
{
    Hca *h = g_new0(Hca, 1);
    uint64_t size;

    h->f = f;
    h->qts = f->qts;
    h->pci = f->pci;
    qpci_device_enable(h->pci);
    h->csr = qpci_iomap(h->pci, 0, &size);
    g_assert_cmphex(size, ==, MTHCA_BAR0_SIZE);
    h->uar = qpci_iomap(h->pci, 2, &size);
    g_assert_cmphex(size, ==, MTHCA_BAR2_SIZE);
    h->in = guest_alloc(&h->f->alloc, MTHCA_MAILBOX_SIZE);
    h->out = guest_alloc(&h->f->alloc, MTHCA_MAILBOX_SIZE);
    h->eq = guest_alloc(&h->f->alloc, 4096);
    h->msi = guest_alloc(&h->f->alloc, 4096);
    return h;
}

Hca *hca_begin(const char *props)
{
    return hca_begin_on(fixture_start_model("ncic-mthca", props, ""));
}

uint32_t hca_rd(Hca *h, uint32_t addr)
{
    return bswap32(qpci_io_readl(h->pci, h->csr, addr));
}

void hca_wr(Hca *h, uint32_t addr, uint32_t val)
{
    qpci_io_writel(h->pci, h->csr, addr, bswap32(val));
}

void hca_doorbell(Hca *h, uint32_t off, uint32_t hi, uint32_t lo)
{
    qpci_io_writeq(h->pci, h->uar, off, bswap64((uint64_t)hi << 32 | lo));
}

void hca_issue(Hca *h, uint16_t op, uint32_t mod, uint64_t in, uint64_t out,
               uint32_t flags)
{
    const uint32_t regs[] = { in >> 32, in, mod, out >> 32, out,
                              HCA_TOKEN << 16, MTHCA_HCR_GO | flags | op };

    g_assert_cmphex(hca_rd(h, MTHCA_HCR_BASE + MTHCA_HCR_CMD) & MTHCA_HCR_GO,
                    ==, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(regs); i++) {
        hca_wr(h, MTHCA_HCR_BASE + i * 4, regs[i]);
    }
}

uint8_t hca_cmd_at(Hca *h, uint16_t op, uint32_t mod, uint64_t in,
                   uint64_t out)
{
    gint64 end = test_deadline(10);
    uint32_t val;

    hca_issue(h, op, mod, in, out, 0);
    do {
        val = hca_rd(h, MTHCA_HCR_BASE + MTHCA_HCR_CMD);
    } while ((val & MTHCA_HCR_GO) && g_get_monotonic_time() < end);
    g_assert_cmphex(val & MTHCA_HCR_GO, ==, 0);
    g_assert_cmphex(val & 0xfff, ==, op);
    return val >> 24;
}

uint8_t hca_cmd(Hca *h, uint16_t op, uint32_t mod)
{
    return hca_cmd_at(h, op, mod, h->in, h->out);
}

uint32_t hca_out32(Hca *h, unsigned off)
{
    uint32_t val;

    qtest_memread(h->qts, h->out + off, &val, sizeof(val));
    return be32_to_cpu(val);
}

void hca_put_box(Hca *h, const uint8_t *box, size_t len)
{
    qtest_memset(h->qts, h->in, 0, MTHCA_MAILBOX_SIZE);
    qtest_memwrite(h->qts, h->in, box, len);
}

void hca_init(Hca *h)
{
    uint8_t in[0x200] = { 0 };

    in[0x37] = 10;              /* QPs, SRQs, CQs, EQs, as logarithms */
    in[0x4f] = 10;
    in[0x57] = 10;
    in[0x87] = 5;
    in[0xd3] = 8;               /* bytes of a multicast group, of hash */
    in[0xdb] = 8;
    in[0xfb] = 10;              /* regions */
    in[0x12a] = 11;             /* UARs */
    hca_put_box(h, in, sizeof(in));
    g_assert_cmphex(hca_cmd(h, MTHCA_CMD_RUN_FW, 0), ==, MTHCA_ST_OK);
    g_assert_cmphex(hca_cmd(h, MTHCA_CMD_INIT_HCA, 0), ==, MTHCA_ST_OK);
}

void hca_port_up(Hca *h)
{
    uint8_t m[MTHCA_MAILBOX_SIZE] = { 0 };

    mtb_init_ib(m);
    hca_put_box(h, m, sizeof(m));
    g_assert_cmphex(hca_cmd(h, MTHCA_CMD_INIT_IB, 1), ==, MTHCA_ST_OK);
}

void hca_prove_works(Hca *h)
{
    qtest_memset(h->qts, h->out, 0xff, MTHCA_MAILBOX_SIZE);
    g_assert_cmphex(hca_cmd(h, MTHCA_CMD_NOP, 0), ==, MTHCA_ST_OK);
    g_assert_cmphex(hca_cmd(h, MTHCA_CMD_QUERY_FW, 0), ==, MTHCA_ST_OK);
    g_assert_cmphex(hca_out32(h, 0), ==, MTHCA_FW_PAGES << 16 | 1);
    g_assert_cmphex(hca_out32(h, 4), ==, 940 << 16 | 2);
}

void hca_expect(Hca *h, const char *text)
{
    g_assert_true(fixture_logged(h->f, text));
    hca_prove_works(h);
}

void hca_end(Hca *h)
{
    hca_wr(h, MTHCA_RESET, 1);
    hca_init(h);
    hca_prove_works(h);
    fixture_stop(h->f);
    g_free(h);
}
