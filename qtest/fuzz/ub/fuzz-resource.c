/*
 * Fuzzer of resource spaces: Entities of a controller that software moves, opens, closes,
 * resets and protects by tokens, reached by a hostile User at any address, and with
 * interrupt tables that it writes (UB 2.0 §10.3.4, §10.4.2).
 *
 * What is granted must lie within its space; what is refused must move nothing; memory
 * is reached within its bounds alone (the bed below checks that).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

/* What is tried this often has nothing to say. */
#undef g_test_message
#define g_test_message(...) ((void)sizeof(g_strdup_printf(__VA_ARGS__)))

#include "../../unit/ub/ubc-resource-bed.h"

#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A place near the beginning or the end of a space, or anywhere. */
static uint64_t place(Input *in, unsigned entity)
{
    unsigned how = next(in), s = how % 4;
    uint64_t at = s < UB_ERS_SPACES ? uba(entity % 3, s) : 0;

    at += how & 4 ? (int64_t)(int8_t)next(in) : how & 8 ? next32(in) & 0x3ffff
          : 0;
    if (how & 16) {
        at += how & 32 ? 0x10000 : STORE;
    }
    return how >= 0xe0 ? (uint64_t)next32(in) << 32 | next32(in) : at;
}

static void step_access(Input *in)
{
    Ubc *ubc = two[1].ubc;
    unsigned how = next(in);
    UbAccess a = {
        .kind = how & 3, .token_en = how & 4, .e_bit = how & 8,
        .poison = (how & 0x30) == 0x30, .bare = (how & 0xc0) == 0xc0,
        .cfg = next(in) % 8 ? UB_LPH_CNA16 : next(in) & 15,
        .entity = next(in) & 3, .token_id = 0x4321,
    };
    UbSpan span = { 0 };
    UbAccessResult result = UB_ACCESS_DENIED;
    unsigned n = 0, space;
    uint8_t buf[256];

    a.addr = place(in, a.entity);
    a.len = next(in) + 1;
    a.token = next(in) & 1 ? next32(in) : 0;
    if (!ubc_resource_access(ubc, &a, &span, &n, &result)) {
        demand(!n && !span.len);
        return;
    }
    demand(a.entity < 3 && a.cfg == UB_LPH_CNA16 && !a.bare);
    if (result != UB_ACCESS_OK) {
        demand(!n);
        return;
    }
    demand(n == 1 && span.len == a.len && span.region && !a.poison &&
           a.kind != UB_ACCESS_ATOMIC);
    space = (span.region - UBC_REGION_ERS(0, 0)) % UB_ERS_SPACES;
    demand(span.region == UBC_REGION_ERS(a.entity, space));
    /* As the registers say. */
    demand(get1(a.entity, UB_CFG1_ERS_ACCESS_EN) & 1);
    demand(a.addr - uba(a.entity, space) == span.bus);
    demand(span.bus + span.len <= (uint64_t)get1(a.entity,
                                                 UB_CFG1_ERS0_SS + space) <<
           (get1(0, UB_CFG1_SYS_PGS) & 1 ? 16 : 12));
    for (unsigned i = 0; i < a.len; i++) {
        buf[i] = next(in);
    }
    ubc_resource_region(ubc, span.region, span.bus, buf, span.len,
                        a.kind == UB_ACCESS_WRITE);
}

static void step_register(Input *in)
{
    static const uint32_t dws[] = {
        UB_CFG1_ERS_ACCESS_EN, UB_CFG1_SYS_PGS, UB_CFG1_ERS0_UBA,
        UB_CFG1_ERS0_UBA + 1, UB_CFG1_ERS1_UBA, UB_CFG1_ERS1_UBA + 1,
        UB_CFG1_ERS0_UBA + 4, UB_CFG1_ERS0_UBA + 5, UB_CFG1_DEV_TOKEN_ID,
        UB_CFG1_ELR, UB_CFG1_BUS_EN,
    };
    unsigned which = next(in), entity = next(in) % 3;
    uint32_t value = which & 0x80 ? next32(in) : next(in);

    if (which & 0x40) {
        put(1, entity, which & 1 ? UB_CFG0_UPI : which & 2 ? UB_CFG0_UEID
                       : which & 4 ? UB_CFG0_UCNA : UB_CFG0_EID, value);
    } else if (which & 0x20) {
        put1(entity, UB_CFG_CAP(0, UB_CAP_INT_TYPE2) + which % 16, value);
    } else {
        put1(entity, dws[which % G_N_ELEMENTS(dws)], value);
    }
}

static void step_interrupt(Input *in)
{
    unsigned entity = next(in) % 3;
    uint8_t pdu[UB_USI_SIZE];

    if (next(in) & 1) {
        ubc_usi_raise(two[1].ubc, entity, next32(in));
    } else {
        for (unsigned i = 0; i < sizeof(pdu); i++) {
            pdu[i] = next(in);
        }
        ubc_resource_region(two[1].ubc, UBC_REGION_USI, next(in) & 7, pdu,
                            next(in) & 7 ? sizeof(pdu) : 4, next(in) & 7);
    }
}

static void step_time(Input *in)
{
    run_until(&two[0], &two[1], never, SECOND / 1000 * (1 + next(in) % 4));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const steps[])(Input *in) = {
        step_access, step_access, step_access, step_access,
        step_register, step_register, step_interrupt, step_time,
    };
    static bool there;
    Input in = { data, data + size };

    /* Links take long to come up: they stay, and Entities begin anew. */
    if (!there) {
        up(UBC_USI_TYPE2);
        there = true;
    }
    for (unsigned i = 3; i-- > 0;) {
        put1(i, UB_CFG1_ELR, 1);
    }
    put(1, 0, UB_CFG0_EID, 2);
    put(1, 0, UB_CFG0_UPI, 1);
    memset(two[1].store, 0, STORE);
    lend();
    while (in.p < in.end) {
        steps[next(&in) % G_N_ELEMENTS(steps)](&in);
    }
    run_until(&two[0], &two[1], never, SECOND / 1000);
    return 0;
}
