/*
 * CFG0_BASIC and CFG1_BASIC of each Entity, and the slices of the configuration
 * space that no port or layer owns (UB 2.0 §D.1 to §D.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/bytes.h"
#include "internal.h"

/* Of its fields of four bits. */
#define JETTY_CODE_MAX 15u

/* ---- Writes ---------------------------------------------------------------------- */

/* A transport MTU that is reserved, or above what is supported. */
bool ubc_wrong_mtu(const Ubc *ubc, uint32_t code)
{
    uint32_t bytes = ub_mtu_bytes(code);

    return !bytes || bytes > ubc->conf.node.net.mtu;
}

static void written_cfg0(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    Ubc *ubc = opaque;

    if (w->dw == UB_CFG0_DEV_RST && w->trigger) {
        ubc->reset_pending = true;
    }
    if (w->dw == UB_CFG0_MTU_CFG && ubc_wrong_mtu(ubc, w->value)) {
        ub_slice_set(s, w->dw, ~0u, w->value ^ w->changed);
        ubc_guest_error(ubc, -1, "MTU_CFG that the controller does not have");
    }
    ubc_kick(ubc);      /* who we are may be another */
}

/* Entity-level reset; what is done is done before anybody can ask. */
static void reset_entity(Ubc *ubc, unsigned entity, UbSlice *cfg1,
                         const UbSliceWrite *w)
{
    if (w->dw == UB_CFG1_ELR && w->trigger) {
        ub_space_reset(ubc_space_of(ubc, entity), UB_SPACE_RESET_ENTITY, 0);
        ubc_window_reset_entity(ubc, entity);
        ubc_cip_reset_entity(ubc, entity);
        ubc_usi_reset_entity(ubc, entity);
        ub_mgmt_reset_entity(ubc->mgmt, entity);
        ub_slice_set(cfg1, UB_CFG1_ELR_DONE, 1, 1);
    }
}

static void written_cfg1(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    Ubc *ubc = opaque;

    reset_entity(ubc, 0, s, w);
    ubc_above_kick(ubc);    /* BUS_EN */
}

static void refresh_cfg1(void *opaque, UbSlice *s, unsigned dw)
{
    ubc_resource_refresh(opaque, 0, dw);
}

static void written_entity0(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    UbcEntity *e = opaque;

    ubc_kick(e->ubc);
}

static void written_entity1(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    UbcEntity *e = opaque;

    reset_entity(e->ubc, e->index, s, w);
    ub_urma_entity(e->ubc->urma, e->index);     /* BUS_EN */
    ubc_above_kick(e->ubc);
}

static void refresh_entity1(void *opaque, UbSlice *s, unsigned dw)
{
    UbcEntity *e = opaque;

    ubc_resource_refresh(e->ubc, e->index, dw);
}

/* ---- What is fixed --------------------------------------------------------------- */

/* 128 bits, most significant byte first, in four dwords from the least one on. */
static void init_128(UbSlice *s, unsigned dw, const uint8_t value[16])
{
    for (unsigned i = 0; i < 4; i++) {
        ub_slice_init(s, dw + i, ~0u, get_be32(value + 12 - 4 * i));
    }
}

/* The GUID of an Entity: the controller's, with the next sequence numbers; and a
 * module that is the controller. */
static void init_guid(UbSlice *s, const uint8_t first[16], unsigned entity)
{
    uint8_t guid[16];

    memcpy(guid, first, sizeof(guid));
    put_be32(guid + 12, get_be32(first + 12) + entity);
    init_128(s, UB_CFG0_GUID, guid);
    ub_slice_init(s, UB_CFG0_MODULE, ~0u, get_be32(guid));
}

static void init_identity(Ubc *ubc)
{
    const UbcConfig *c = &ubc->conf;
    UbSlice *s = ubc->cfg0;

    init_guid(s, c->guid, 0);
    init_128(s, UB_CFG0_EID, c->eid);
    init_128(s, UB_CFG0_UBFM_EID, c->fm_eid);
    ub_slice_init(s, UB_CFG0_PRIMARY_CNA, UB_CFG0_PRIMARY_CNA__ALL, c->cna);
    ub_slice_init(s, UB_CFG0_UBFM_CNA, UB_CFG0_UBFM_CNA__ALL, c->fm_cna);
    ub_slice_init(s, UB_CFG0_UPI, UB_CFG0_UPI__ALL, c->upi);
}

/* Registers of what is not there: no table of (EID, UPI). */
static void fix_missing(UbSlice *cfg0, UbSlice *cfg1)
{
    ub_slice_fix(cfg0, UB_CFG0_TRUST_EN, ~0u, 0);
    for (unsigned i = 0; i < 2; i++) {
        ub_slice_fix(cfg1, UB_CFG1_EID_UPI_TAB + i, ~0u, 0);
    }
}

static void init_features(Ubc *ubc)
{
    int mtu = ub_mtu_code(ubc->conf.node.net.mtu);

    /* The BASIC slice shows Entity 0 first: numbers of Entities and ports. */
    ub_slice_init(ubc->cfg0, UB_CFG0_TOTAL_NUMBER_OF_PORTS, ~0u,
                  ubc->conf.entities << 16 | ubc->ports);
    ub_slice_init(ubc->cfg0, UB_CFG0_SUPPORTED_FEATURE,
                  UB_CFG0_SUPPORTED_FEATURE__ENTITY_AVAILABLE |
                  UB_CFG0_SUPPORTED_FEATURE__MTU_SUPPORTED |
                  UB_CFG0_SUPPORTED_FEATURE__CC_SUPPORTED,
                  UB_CFG0_SUPPORTED_FEATURE__ENTITY_AVAILABLE |
                  UB_SPACE_PUT(UB_CFG0_SUPPORTED_FEATURE__MTU_SUPPORTED, mtu) |
                  UB_CFG0_SUPPORTED_FEATURE__CC_SUPPORTED);
    ub_slice_init(ubc->cfg0, UB_CFG0_MTU_CFG, UB_CFG0_MTU_CFG__ALL, mtu);
    ub_slice_init(ubc->cfg0, UB_CFG0_CC_EN, UB_CFG0_CC_EN__ALL,
                  ubc->conf.node.tp.cc_on);
    ub_slice_init(ubc->cfg1, UB_CFG1_BUS_EN, UB_CFG1_BUS_EN__BUS_ACCESS_EN,
                  ubc->conf.bus_en);
}

/* A number of objects as CFG1_CAP2_JETTY has it, 8 * 2^n: at most what there
 * is. */
static uint32_t jetty_code(uint32_t objects)
{
    uint32_t code = 0;

    while (code < JETTY_CODE_MAX && objects >= 16u << code) {
        code++;
    }
    return code;
}

/* How many objects of each kind queues may be made of (§D.4.2). */
static void init_jetty(UbSpace *space, const UbUrmaConfig *c)
{
    UbSlice *s = ub_space_attach(space, UB_SPACE_CFG1, 0, UB_CAP_JETTY, NULL,
                                 NULL);
    uint32_t queues = jetty_code(c->queues);

    ub_slice_init(s, UB_JETTY_JETTY, ~0u,
                  UB_SPACE_PUT(UB_JETTY_JETTY__EVENT_QUEUE_NUMBER, c->eqs) |
                  UB_SPACE_PUT(UB_JETTY_JETTY__JFR_MAX_NUMBER, queues) |
                  UB_SPACE_PUT(UB_JETTY_JETTY__JFC_MAX_NUMBER,
                               jetty_code(c->cqs)) |
                  UB_SPACE_PUT(UB_JETTY_JETTY__JFS_AND_JETTY_MAX_NUMBER,
                               queues));
}

/* ---- Other Entities -------------------------------------------------------------- */

static const uint16_t class_codes[] = {
    [UBC_ENTITY_BUS] = 0x0000,
    [UBC_ENTITY_URMA] = 0x0002, /* UB network controller */
    [UBC_ENTITY_MEM] = 0x0001,  /* LPC memory controller */
    [UBC_ENTITY_OTHER] = 0x00ff,
};

static void init_entity(Ubc *ubc, unsigned index)
{
    static const UbSliceOps cfg0_ops = { written_entity0, NULL };
    static const UbSliceOps cfg1_ops = { written_entity1, refresh_entity1 };
    UbcEntity *e = &ubc->entity[index];

    *e = (UbcEntity) { .ubc = ubc, .index = index,
                       .space = ub_space_new_entity() };
    e->cfg0 = ub_space_attach(e->space, UB_SPACE_CFG0, 0, 0, &cfg0_ops, e);
    e->cfg1 = ub_space_attach(e->space, UB_SPACE_CFG1, 0, 0, &cfg1_ops, e);
    init_guid(e->cfg0, ubc->conf.guid, index);
    ub_slice_init(e->cfg0, UB_CFG0_TOTAL_NUMBER_OF_PORTS, ~0u, ubc->ports);
    ub_slice_init(e->cfg0, UB_CFG0_SUPPORTED_FEATURE,
                  UB_CFG0_SUPPORTED_FEATURE__ENTITY_AVAILABLE, ~0u);
    ub_slice_init(e->cfg1, UB_CFG1_CLASS_CODE, UB_CFG1_CLASS_CODE__ALL,
                  class_codes[ubc->conf.entity[index]]);
    fix_missing(e->cfg0, e->cfg1);
    if (ubc->conf.entity[index] == UBC_ENTITY_URMA) {
        init_jetty(e->space, &ubc->conf.urma);
    }
    ub_slice_init(e->cfg1, UB_CFG1_BUS_EN, UB_CFG1_BUS_EN__BUS_ACCESS_EN,
                  ubc->conf.bus_en);
    ubc_usi_init(ubc, index);
    ubc_resource_init(ubc, index);
}

/* ---- Error injection -------------------------------------------------------------- */

#define INJECT_CAP 240
#define INJECT_DW 1
#define INJECT_USED 2

static void written_inject(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    ubc_manage_device_errors(opaque, w->trigger & UB_ERRORS_ALL);
}

/* A slice of our own (docs/specs/ubc.rst). */
static void attach_inject(Ubc *ubc)
{
    static const UbSliceOps ops = { written_inject, NULL };
    static const UbSpaceDword dwords[] = {
        { .dw = 0, .reset = INJECT_USED << 4, .name = "Slice Header" },
        { .dw = INJECT_DW, .trigger = UB_ERRORS_ALL,
          .name = "Error Injection" },
    };
    static const UbSpaceSlice slice = {
        "CFG0_CAP240_VD", UB_SPACE_CFG0, INJECT_CAP, INJECT_USED,
        dwords, G_N_ELEMENTS(dwords),
    };

    ub_space_attach_at(ubc->space, UB_CFG_CAP(UB_CFG0_BASE, INJECT_CAP),
                       &slice, &ops, ubc);
}

/* ---- Life ------------------------------------------------------------------------ */

void ubc_space_init(Ubc *ubc)
{
    static const UbSliceOps cfg0_ops = { written_cfg0, NULL };
    static const UbSliceOps cfg1_ops = { written_cfg1, refresh_cfg1 };
    UbSpace *space = ub_space_new(ubc->ports);

    ubc->space = space;
    ubc->cfg0 = ub_space_attach(space, UB_SPACE_CFG0, 0, 0, &cfg0_ops, ubc);
    ubc->cfg1 = ub_space_attach(space, UB_SPACE_CFG1, 0, 0, &cfg1_ops, ubc);
    ub_error_record_init(&ubc->errors,
                         ub_space_attach(space, UB_SPACE_CFG0, 0,
                                         UB_CAP_DEV_ERR, NULL, NULL),
                         ubc->conf.err_severity);
    ubc_error_info_init(ubc);
    attach_inject(ubc);
    init_features(ubc);
    init_identity(ubc);
    if (!ubc_partition_init(ubc)) {
        fix_missing(ubc->cfg0, ubc->cfg1);
    }
    init_jetty(space, &ubc->conf.urma);
    ubc->usi = g_new0(UbcUsi, ubc->conf.entities);
    ubc_usi_init(ubc, 0);
    ubc_resource_init(ubc, 0);
    ubc->entity = g_new0(UbcEntity, ubc->conf.entities);
    for (unsigned i = 1; i < ubc->conf.entities; i++) {
        init_entity(ubc, i);
    }
    ubc_cip_init(ubc);
}

void ubc_space_free(Ubc *ubc)
{
    ubc_cip_free(ubc);
    ubc_error_info_free(ubc);
    for (unsigned i = 1; i < ubc->conf.entities; i++) {
        ub_space_free(ubc->entity[i].space);
    }
    g_free(ubc->entity);
    g_free(ubc->usi);
    ub_space_free(ubc->space);
}

void ubc_space_reset(Ubc *ubc)
{
    ubc_cip_reset(ubc);
    for (unsigned i = 0; i < ubc->conf.entities; i++) {
        ub_space_reset(ubc_space_of(ubc, i), UB_SPACE_RESET_DEVICE, 0);
    }
    ubc_error_info_reset(ubc);
}

UbSpace *ubc_space_of(Ubc *ubc, unsigned entity)
{
    return !entity ? ubc->space
           : entity < ubc->conf.entities ? ubc->entity[entity].space : NULL;
}

/* ---- The guest's accesses --------------------------------------------------------- */

uint32_t ubc_space_read(Ubc *ubc, unsigned entity, uint32_t dw)
{
    UbSpace *space = ubc_space_of(ubc, entity);

    return ub_space_read(space, dw) & ~ub_space_hidden(space, dw);
}

void ubc_space_write(Ubc *ubc, unsigned entity, uint32_t dw, uint32_t value)
{
    if (ubc->conf.read_only &&
        (dw < UB_CFG1_BASE || dw >= UB_CFG_PORT_BASE(0))) {
        ubc_guest_error(ubc, -1, "CFG0 is the manager's to write");
    } else if (ub_space_managed(ubc_space_of(ubc, entity), dw)) {
        ubc_guest_error(ubc, -1, "registers that are the UBFM's to write");
    } else {
        ub_space_write(ubc_space_of(ubc, entity), ubc->now, dw, value, 0xf);
    }
}

void ubc_space_image(Ubc *ubc, CoreImage *im)
{
    const uint32_t tag = CORE_TAG('E', 'N', 'T', 'S');

    if (!core_image_optional(im, tag, ubc->conf.entities > 1)) {
        return;
    }
    core_image_begin(im, tag, 1);
    core_image_int(im, &ubc->cfg_entity);
    if (!core_image_check(im, ubc->cfg_entity < ubc->conf.entities,
                          "a register names an Entity that does not exist")) {
        ubc->cfg_entity = 0;
    }
    for (unsigned i = 1; i < ubc->conf.entities; i++) {
        uint32_t *words = ub_space_state(ubc->entity[i].space);
        unsigned n = ub_space_state_words(ubc->entity[i].space);

        for (unsigned w = 0; w < n && !core_image_error(im); w++) {
            core_image_int(im, &words[w]);
        }
    }
    core_image_end(im);
}

void ubc_set_guid(Ubc *ubc, const uint8_t guid[16])
{
    memcpy(ubc->conf.guid, guid, sizeof(ubc->conf.guid));
    for (unsigned i = 0; i < ubc->conf.entities; i++) {
        init_guid(i ? ubc->entity[i].cfg0 : ubc->cfg0, guid, i);
    }
    for (unsigned i = 0; i < ubc->ports; i++) {
        ub_port_set_guid(ubc->end[i].port, guid);
    }
}
