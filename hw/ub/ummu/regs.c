/*
 * The UMMU: registers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define PF_TIMER_MAX 19
#define USER_LOG2 7             /* of UBM_UQS */
#define CMDQS_LOG2 3            /* of UBM_CMDQS */

/* When a register takes what is written. */
enum { ALWAYS, WHILE_OFF, WHILE_EVTQ_OFF, NEVER };

typedef struct Reg {
    uint16_t at, member;        /* of struct UbUmmu: 32 bits */
    uint32_t mask;              /* bits that can be written */
    uint8_t when;
    /* What follows from the write; NULL: nothing. */
    void (*set)(UbUmmu *u, uint32_t value);
} Reg;

static void cr0_set(UbUmmu *u, uint32_t value)
{
    if (value & UBM_CR0_EVTQ && !(u->cr0 & UBM_CR0_EVTQ)) {
        if ((u->evtq.base & 0x1f) > UBM_EVTQ_LOG2_MAX) {
            ummu_guest_error(u, "UMMU event queue of a size that does not "
                             "exist");
            value &= ~UBM_CR0_EVTQ;
        }
        memset(u->merge, 0, sizeof(u->merge));
    }
    if ((value ^ u->cr0) & (UBM_CR0_ENABLE | UBM_CR0_MAPT)) {
        ummu_drop_all(u);
    }
    u->cr0 = value;
}

/* A table of a size that does not exist is not taken. */
static void tect_set(UbUmmu *u, bool tee, uint32_t cfg)
{
    if (!ummu_tect_good(cfg)) {
        ummu_guest_error(u, "UMMU configuration table of a size or format that "
                         "does not exist");
        return;
    }
    u->tect[tee].cfg = cfg;
}

static void tect_cfg_set(UbUmmu *u, uint32_t value)
{
    tect_set(u, false, value);
}

static void tee_cfg_set(UbUmmu *u, uint32_t value)
{
    tect_set(u, true, value);
}

static void gerrorn_set(UbUmmu *u, uint32_t value)
{
    u->gerrorn = value;
}

static void vector_set(UbUmmu *u, uint32_t *vector, uint32_t value)
{
    if (value >= u->cfg.vectors) {
        ummu_guest_error(u, "UMMU interrupt with a vector beyond the table");
        return;
    }
    *vector = value;
}

static void evtq_vector_set(UbUmmu *u, uint32_t value)
{
    vector_set(u, &u->evtq_vector, value);
}

static void gerr_vector_set(UbUmmu *u, uint32_t value)
{
    vector_set(u, &u->gerr_vector, value);
}

static void release_set(UbUmmu *u, uint32_t value)
{
    if (value) {
        ummu_user_release(u, u->release_id);
    }
}

static void default_set(UbUmmu *u, uint32_t value)
{
    u->fallback = value;
    u->known.good = false;
}

static void timer_set(UbUmmu *u, uint32_t value)
{
    if (value > PF_TIMER_MAX) {
        ummu_guest_error(u, "Page Fault timer that does not exist");
        return;
    }
    u->pf_timer = value;
}

#define AT(f) offsetof(struct UbUmmu, f)
/* The halves of a 64-bit member. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LO(f) AT(f)
#define HI(f) (AT(f) + 4)
#else
#define LO(f) (AT(f) + 4)
#define HI(f) AT(f)
#endif
#define KEPT(i) AT(kept[UMMU_KEPT_##i])

static const Reg regs[] = {
    { UBM_CR0, AT(cr0), UBM_CR0_ALL, ALWAYS, cr0_set },
    { UBM_CR0ACK, AT(cr0), 0, NEVER },
    { UBM_CR1, KEPT(CR1), 0xffff, ALWAYS },
    { UBM_CR2, KEPT(CR2), 0x7f, ALWAYS },
    { UBM_CR3, KEPT(CR3), 0xffffff, ALWAYS },
    { UBM_GBPA, AT(gbpa), ~UBM_GBPA_UPDATE, ALWAYS },
    { UBM_TECT_BASE, LO(tect[0].base), ~0x3fu, WHILE_OFF },
    { UBM_TECT_BASE + 4, HI(tect[0].base), 0x800fffff, WHILE_OFF },
    { UBM_TECT_CFG, AT(tect[0].cfg), 0x1fff, WHILE_OFF, tect_cfg_set },
    { UBM_EVTQ_BASE, LO(evtq.base), ~0x20u, WHILE_EVTQ_OFF },
    { UBM_EVTQ_BASE + 4, HI(evtq.base), 0x800fffff, WHILE_EVTQ_OFF },
    { UBM_EVTQ_PROD, AT(evtq.prod), UBM_Q_INDEX | UBM_EVTQ_OVERFLOW,
      WHILE_EVTQ_OFF },
    { UBM_EVTQ_CONS, AT(evtq.cons), UBM_Q_INDEX | UBM_EVTQ_OVERFLOW, ALWAYS,
      ummu_evtq_read },
    { UBM_EVTQ_USI_ADDR, KEPT(EVTQ_ADDR_LO), ~3u, ALWAYS },
    { UBM_EVTQ_USI_ADDR + 4, KEPT(EVTQ_ADDR_HI), 0xfffff, ALWAYS },
    { UBM_EVTQ_USI_DATA, AT(evtq_vector), ~0u, ALWAYS, evtq_vector_set },
    { UBM_EVTQ_USI_ATTR, KEPT(EVTQ_ATTR), 0x3f, ALWAYS },
    { UBM_IRQ_ENABLE, AT(irq_enable), UBM_IRQ_GERROR | UBM_IRQ_EVTQ, ALWAYS },
    { UBM_GERROR, AT(gerror), 0, NEVER },
    { UBM_GERRORN, AT(gerrorn), UBM_GERROR_ALL, ALWAYS, gerrorn_set },
    { UBM_GERROR_USI_ADDR, KEPT(GERR_ADDR_LO), ~3u, ALWAYS },
    { UBM_GERROR_USI_ADDR + 4, KEPT(GERR_ADDR_HI), 0xfffff, ALWAYS },
    { UBM_GERROR_USI_DATA, AT(gerr_vector), ~0u, ALWAYS, gerr_vector_set },
    { UBM_GERROR_USI_ATTR, KEPT(GERR_ATTR), 0x3f, ALWAYS },
    { UBM_UQ_CTX, LO(user_ctx), ~0x20u, ALWAYS },
    { UBM_UQ_CTX + 4, HI(user_ctx), 0x800fffff, ALWAYS },
    { UBM_UQ_CTX_ATTR, KEPT(UQ_ATTR), 0x3f, ALWAYS },
    { UBM_UQ_RELEASE_ID, AT(release_id), 0x7fffffff, ALWAYS },
    { UBM_DEFAULT, AT(fallback),
      UBM_DEFAULT_TAG | UBM_DEFAULT_ALL | UBM_DEFAULT_BARE, ALWAYS,
      default_set },
    { UBM_PF_TIMER, AT(pf_timer), 0x1f, ALWAYS, timer_set },
    { UBM_TEE_BASE, LO(tect[1].base), ~0x3fu, WHILE_OFF },
    { UBM_TEE_BASE + 4, HI(tect[1].base), 0x800fffff, WHILE_OFF },
    { UBM_TEE_CFG, AT(tect[1].cfg), 0x1fff | UBM_TEE_CFG_ENABLE, WHILE_OFF,
      tee_cfg_set },
    { UBM_TEE_MEM, LO(tee_mem), ~0xfffu, WHILE_OFF },
    { UBM_TEE_MEM + 4, HI(tee_mem), ~0u, WHILE_OFF },
    { UBM_TEE_MEM_SIZE, LO(tee_size), ~0xfffu, WHILE_OFF },
    { UBM_TEE_MEM_SIZE + 4, HI(tee_size), ~0u, WHILE_OFF },
    { UBM_LOST, AT(lost), 0, NEVER },
    { UBM_MERGED, AT(merged), 0, NEVER },
};

static const Reg *reg_find(uint32_t at)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(regs); i++) {
        if (regs[i].at == at) {
            return &regs[i];
        }
    }
    return NULL;
}

/* ---- What is fixed ------------------------------------------------------------------------- */

static uint32_t cap0(void)
{
    return 128 | 20 << 8 | UBM_CAP0_PERM_OVR | UBM_CAP0_TCT_2LEVEL | 1 << 17 |
           UBM_CAP0_TECT_2LEVEL;
}

static uint32_t cap1(void)
{
    return UBM_EVTQ_LOG2_MAX | UBM_CAP1_EVTQ | UBM_CMDQ_LOG2_MAX << 10 |
           CMDQS_LOG2 << 14 | UBM_CAP1_CMDQ | (uint32_t)UMMU_STALLS << 20;
}

static uint32_t cap2(const UbUmmu *u)
{
    return UBM_CAP2_RANGE_TLBI | 5 << 3 | UBM_CAP2_GRAN4K | UBM_CAP2_GRAN16K |
           UBM_CAP2_GRAN64K | UBM_CAP2_S1 | 2 << 14 |
           (u->cfg.stage2 ? UBM_CAP2_S2 : 0);
}

static uint32_t cap3(void)
{
    return UBM_CAP3_COHERENT | UBM_CAP3_MTM | 2 << 8 | UBM_CAP3_USI |
           UBM_CAP3_TERM;
}

static uint32_t cap4(const UbUmmu *u)
{
    return USER_LOG2 | UBM_UQ_LOG2_MAX << 8 | UBM_UQ_LOG2_MAX << 12 |
           (u->cfg.positive ? UBM_CAP4_PPLB : 0);
}

static uint32_t cap5(void)
{
    return UBM_CAP5_MAPT | 3 << 1 | UBM_CAP5_2M | UBM_CAP5_4K |
           UBM_CAP5_TOKEN | UBM_CAP5_RANGE_PLBI;
}

static uint32_t fixed_read(const UbUmmu *u, uint32_t at)
{
    switch (at) {
    case UBM_IIDR:
        return UBM_IIDR_PROD;
    case UBM_AIDR:
        return UBM_AIDR_VALUE;
    case UBM_CAP(0):
        return cap0();
    case UBM_CAP(1):
        return cap1();
    case UBM_CAP(2):
        return cap2(u);
    case UBM_CAP(3):
        return cap3();
    case UBM_CAP(4):
        return cap4(u);
    case UBM_CAP(5):
        return cap5();
    case UBM_CAP(6):
        return UBM_MTMS - 1;
    default:
        return 0;
    }
}

/* ---- The window ------------------------------------------------------------------------------ */

static bool cmdq_at(uint32_t at)
{
    return at >= UBM_CMDQ(0) && at < UBM_CMDQ(UBM_CMDQS);
}

static uint32_t mtm_read(const UbUmmu *u, uint32_t at)
{
    uint32_t off = at - UBM_MTM(0);
    uint64_t v = u->mtm[off / 16][off / 8 % 2];

    return off % 8 ? v >> 32 : v;
}

uint32_t ub_ummu_reg_read(const UbUmmu *u, uint32_t at)
{
    const Reg *r;

    if (at % 4) {
        return 0;
    }
    if (at >= UBM_UQ(0)) {
        return ummu_user_read(u, at);
    }
    if (cmdq_at(at)) {
        return ummu_cmdq_read(u, (at - UBM_CMDQ(0)) / 16, at % 16);
    }
    if (at >= UBM_MTM(0) && at < UBM_MTM(UBM_MTMS)) {
        return mtm_read(u, at);
    }
    r = reg_find(at);
    return r ? *(const uint32_t *)((const char *)u + r->member)
             : fixed_read(u, at);
}

static bool may_write(UbUmmu *u, const Reg *r)
{
    return r->when == ALWAYS ||
           (r->when == WHILE_OFF && !(u->cr0 & UBM_CR0_ENABLE)) ||
           (r->when == WHILE_EVTQ_OFF && !(u->cr0 & UBM_CR0_EVTQ));
}

void ub_ummu_reg_write(UbUmmu *u, uint32_t at, uint32_t value)
{
    const Reg *r = at % 4 ? NULL : reg_find(at);

    if (at >= UBM_UQ(0)) {
        ummu_user_write(u, at, value);
    } else if (at % 4 == 0 && cmdq_at(at)) {
        ummu_cmdq_write(u, (at - UBM_CMDQ(0)) / 16, at % 16, value);
    } else if (at == UBM_UQ_RELEASE) {
        release_set(u, value & 1);
    } else if (!r || !may_write(u, r)) {
        ummu_guest_error(u, r ? "register of the UMMU written that is fixed now"
                              : "register of the UMMU that is not there");
    } else if (r->set) {
        r->set(u, value & r->mask);
    } else {
        *(uint32_t *)((char *)u + r->member) = value & r->mask;
    }
}
