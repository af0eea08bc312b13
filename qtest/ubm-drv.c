/*
 * A driver for the UMMU.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubm-drv.h"

#define CMDQ_LOG2 4
#define EVTQ_LOG2 4

uint64_t ubm_alloc(UbmDrv *d, uint64_t bytes, uint64_t align)
{
    uint64_t at = (d->brk + align - 1) / align * align;

    g_assert_cmpuint(at + bytes, <=, d->end);
    d->brk = at + bytes;
    memset(d->memory + at, 0, bytes);
    return at;
}

void ubm_write64(UbmDrv *d, uint32_t reg, uint64_t value)
{
    d->reg_write(d->opaque, reg, value);
    d->reg_write(d->opaque, reg + 4, value >> 32);
}

uint64_t ubm_word(const UbmDrv *d, uint64_t at)
{
    return get_le64(d->memory + at);
}

void ubm_word_put(UbmDrv *d, uint64_t at, uint64_t value)
{
    put_le64(d->memory + at, value);
}

void ubm_open(UbmDrv *d, unsigned tct_num)
{
    d->tct_num = tct_num;
    d->tect = ubm_alloc(d, UBM_TECTE, 64);
    d->tct = ubm_alloc(d, UBM_TCTE << tct_num, 64);
    d->cmdq = ubm_alloc(d, UBM_CMD << CMDQ_LOG2, 4096);
    d->evtq = ubm_alloc(d, UBM_EVT << EVTQ_LOG2, 4096);
    d->cmd_pi = d->evt_ci = 0;
    ubm_word_put(d, d->tect, UBM_TECTE_V | 5 << 1 | 3 << 15 |
                 UBM_TECTE_MAPT_EN);
    ubm_word_put(d, d->tect + 8, d->tct | tct_num);
    ubm_write64(d, UBM_TECT_BASE, d->tect);
    d->reg_write(d->opaque, UBM_TECT_CFG, 0);
    d->reg_write(d->opaque, UBM_DEFAULT, UBM_DEFAULT_ALL | UBM_DEFAULT_BARE);
    ubm_write64(d, UBM_CMDQ(0), d->cmdq | CMDQ_LOG2);
    d->reg_write(d->opaque, UBM_CMDQ(0) + UBM_CMDQ_CONS, 0);
    d->reg_write(d->opaque, UBM_CMDQ(0) + UBM_CMDQ_PROD, UBM_Q_ENABLE);
    ubm_write64(d, UBM_EVTQ_BASE, d->evtq | EVTQ_LOG2);
    d->reg_write(d->opaque, UBM_EVTQ_PROD, 0);
    d->reg_write(d->opaque, UBM_EVTQ_CONS, 0);
    d->reg_write(d->opaque, UBM_IRQ_ENABLE, UBM_IRQ_EVTQ | UBM_IRQ_GERROR);
    d->reg_write(d->opaque, UBM_CR0, UBM_CR0_ENABLE | UBM_CR0_EVTQ |
                 UBM_CR0_MAPT);
    g_assert_cmphex(d->reg_read(d->opaque, UBM_CR0ACK), ==,
                    UBM_CR0_ENABLE | UBM_CR0_EVTQ | UBM_CR0_MAPT);
}

static uint64_t tcte_of(const UbmDrv *d, uint32_t token_id)
{
    return d->tct + (uint64_t)token_id * UBM_TCTE;
}

uint64_t ubm_context(UbmDrv *d, uint32_t token_id, uint64_t q0)
{
    uint64_t at = tcte_of(d, token_id);

    ubm_word_put(d, at, UBM_TCTE_V | 5 << 3 | UBM_TCTE_FBR | q0);
    ubm_word_put(d, at + 8, 16);
    ubm_word_put(d, at + 16, ubm_alloc(d, 4096, 4096));
    return at;
}

uint64_t ubm_desc(UbmDrv *d, uint64_t root, uint64_t uba, unsigned level)
{
    uint64_t table = root;

    for (unsigned l = 0;; l++) {
        uint64_t at = table + 8 * (uba >> (39 - 9 * l) & 511);

        if (l == level) {
            return at;
        }
        if (!(ubm_word(d, at) & UBM_PTE_VALID)) {
            ubm_word_put(d, at, ubm_alloc(d, 4096, 4096) | 3);
        }
        table = ubm_word(d, at) & UBM_PTE_ADDR;
    }
}

void ubm_map(UbmDrv *d, uint32_t token_id, uint64_t uba, uint64_t pa,
             uint64_t len, uint64_t flags)
{
    uint64_t root = ubm_word(d, tcte_of(d, token_id) + 16);

    for (uint64_t off = 0; off < len; off += 4096) {
        ubm_word_put(d, ubm_desc(d, root, uba + off, 3),
                     (pa + off) | 3 | UBM_PTE_AF | UBM_PTE_USER | flags);
    }
}

void ubm_mapte(UbmDrv *d, uint64_t at, uint32_t w0, uint64_t base,
               uint64_t limit, uint32_t token)
{
    uint8_t *e = d->memory + at;

    put_le32(e, w0);
    put_le64(e + UBM_MAPTE_BASE, base | (token ? 1ull << 63 : 0));
    put_le64(e + UBM_MAPTE_LIMIT, limit);
    put_le32(e + UBM_MAPTE_TOKEN0, token);
    put_le32(e + UBM_MAPTE_TOKEN1, token);
}

uint64_t ubm_single(UbmDrv *d, uint32_t token_id, uint32_t w0, uint64_t base,
                    uint64_t limit, uint32_t token)
{
    uint64_t at = ubm_alloc(d, 4096, 4096), tcte = tcte_of(d, token_id);

    ubm_mapte(d, at, w0, base, limit, token);
    ubm_word_put(d, tcte + 24, at);
    ubm_word_put(d, tcte, (ubm_word(d, tcte) | UBM_TCTE_MAPT_EN) &
                 ~UBM_TCTE_MAPT_MODE);
    return at;
}

void ubm_multi(UbmMapt *m, UbmDrv *d, uint32_t token_id, unsigned rtgs,
               unsigned log2)
{
    uint64_t tcte = tcte_of(d, token_id);

    *m = (UbmMapt){ .d = d, .log2 = log2, .used = 1, .last = 4 - rtgs };
    m->block = ubm_alloc(d, 4096ull << log2, 4096);
    ubm_word_put(d, tcte + 24, m->block | (uint64_t)log2 << 60);
    ubm_word_put(d, tcte, (ubm_word(d, tcte) & ~UBM_TCTE_RTGS) |
                 UBM_TCTE_MAPT_EN | UBM_TCTE_MAPT_MODE | rtgs << 17);
}

uint64_t ubm_multi_entry(UbmMapt *m, uint64_t uba, unsigned level)
{
    uint64_t table = 0;

    for (unsigned l = 0;; l++) {
        uint64_t at = m->block + table +
                      UBM_MAPTE * (uba >> (39 - 9 * l) & 511);
        uint8_t *e = m->d->memory + at;

        if (l == level) {
            return at;
        }
        if (!(get_le32(e) & UBM_MAPTE_V)) {
            uint32_t offset = 512 * m->used++;

            g_assert_cmpuint(m->used * UBM_MAPT_TABLE, <=, 4096u << m->log2);
            /* No grant of its own: an empty range. */
            ubm_mapte(m->d, at, UBM_MAPTE_V | offset << 12, 1, 0, 0);
            put_le32(e + 4, offset >> 20);
        }
        table = (get_le32(e) >> 12 |
                 (uint64_t)(get_le32(e + 4) & UBM_MAPTE_NEXT_HI) << 20) * 32;
    }
}

static void command_put(UbmDrv *d, uint64_t q0, uint64_t q1, uint64_t q2,
                        uint64_t q3)
{
    uint64_t at = d->cmdq + UBM_CMD * (d->cmd_pi & ((1u << CMDQ_LOG2) - 1));

    ubm_word_put(d, at, q0);
    ubm_word_put(d, at + 8, q1);
    ubm_word_put(d, at + 16, q2);
    ubm_word_put(d, at + 24, q3);
    d->cmd_pi = (d->cmd_pi + 1) & ((2u << CMDQ_LOG2) - 1);
}

void ubm_command(UbmDrv *d, uint64_t q0, uint64_t q1, uint64_t q2, uint64_t q3)
{
    uint32_t cons;

    command_put(d, q0, q1, q2, q3);
    command_put(d, UBM_CMD_SYNC, 0, 0, 0);
    d->reg_write(d->opaque, UBM_CMDQ(0) + UBM_CMDQ_PROD,
                 UBM_Q_ENABLE | d->cmd_pi);
    do {
        d->progress(d->opaque);
        cons = d->reg_read(d->opaque, UBM_CMDQ(0) + UBM_CMDQ_CONS);
        g_assert_false(cons & UBM_Q_ERROR);
    } while ((cons & UBM_Q_INDEX) != d->cmd_pi);
}

void ubm_flush(UbmDrv *d, uint32_t token_id)
{
    uint64_t token = (uint64_t)token_id << 12;

    ubm_command(d, UBM_CMD_CFGI_TCT | token, 0, 0, 0);
    ubm_command(d, UBM_CMD_TLBI_OS_TID | token, 0, 0, 0);
    ubm_command(d, UBM_CMD_PLBI_EID_TID | token, 0, 0, 0);
}

const uint8_t *ubm_event(UbmDrv *d)
{
    uint32_t prod = d->reg_read(d->opaque, UBM_EVTQ_PROD);
    const uint8_t *e = d->memory + d->evtq +
                       UBM_EVT * (d->evt_ci & ((1u << EVTQ_LOG2) - 1));

    if ((prod & UBM_Q_INDEX) == d->evt_ci) {
        return NULL;
    }
    d->evt_ci = (d->evt_ci + 1) & ((2u << EVTQ_LOG2) - 1);
    d->reg_write(d->opaque, UBM_EVTQ_CONS,
                 d->evt_ci | (prod & UBM_EVTQ_OVERFLOW));
    return e;
}
