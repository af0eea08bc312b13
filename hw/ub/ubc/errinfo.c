/*
 * DEVICE_ERR_INFO: headers of packets that were dropped for an error (UB 2.0 §D.2.3).
 *
 * A queue as those of error messages are: PI is ours, CI software's; equal they mean
 * that it is empty, so that it holds one entry less than its depth.  The information
 * registers show the entry at CI.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/bytes.h"
#include "internal.h"
#include "ub/dll_format.h"

/* Dwords of an entry: the error, the header, and two of our own. */
#define SPEC 2
#define HEADER 26
#define VENDOR 2
#define ENTRY (SPEC + HEADER + VENDOR)

_Static_assert(UB_ERR_INFO_VENDOR_DEFINED_ERROR_INFO -
               UB_ERR_INFO_SPEC_DEFINED_ERROR_INFO == SPEC + HEADER,
               "the registers are side by side");

/* Bit 63 of the first two: an error of the device. */
#define DEVICE_LEVEL 0x80000000u

static void show(Ubc *ubc)
{
    UbcErrorInfo *e = &ubc->error_info;
    const uint32_t *entry = e->entry + e->ci * ENTRY;
    bool empty = e->ci == e->pi;

    ub_slice_set(e->slice, UB_ERR_INFO_ERROR_INFO_CI, ~0u, e->ci);
    ub_slice_set(e->slice, UB_ERR_INFO_ERROR_INFO_PI, ~0u, e->pi);
    ub_slice_set(e->slice, UB_ERR_INFO_ERROR_INFO_CTL,
                 UB_ERR_INFO_ERROR_INFO_CTL__ERROR_INFO_OVERFLOW,
                 e->overflow ? ~0u : 0);
    for (unsigned i = 0; i < ENTRY; i++) {
        ub_slice_set(e->slice, UB_ERR_INFO_SPEC_DEFINED_ERROR_INFO + i, ~0u,
                     empty ? 0 : entry[i]);
    }
}

static uint32_t used(const Ubc *ubc, uint32_t to)
{
    uint32_t depth = ubc->conf.err_info;

    return (to + depth - ubc->error_info.ci) % depth;
}

/* Software consumes what there is, and nothing else; then there is room again. */
static void written(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    Ubc *ubc = opaque;
    UbcErrorInfo *e = &ubc->error_info;

    if (w->dw != UB_ERR_INFO_ERROR_INFO_CI) {
        return;
    }
    if (w->value < ubc->conf.err_info && w->value != e->ci &&
        used(ubc, w->value) <= used(ubc, e->pi)) {
        e->ci = w->value;
        e->overflow = false;
    }
    show(ubc);
}

const char *ubc_error_info_check(const UbcConfig *conf)
{
    return conf->err_info == 1 || conf->err_info > UBC_MAX_ERR_INFO
           ? "a queue of error information has a depth of 2 to 1024, or 0: there "
             "is none" : NULL;
}

void ubc_error_info_init(Ubc *ubc)
{
    static const UbSliceOps ops = { written, NULL };
    UbcErrorInfo *e = &ubc->error_info;

    if (!ubc->conf.err_info) {
        return;
    }
    e->slice = ub_space_attach(ubc->space, UB_SPACE_CFG0, 0, UB_CAP_ERR_INFO,
                               &ops, ubc);
    e->entry = g_new0(uint32_t, ENTRY * ubc->conf.err_info);
    ub_slice_init(e->slice, UB_ERR_INFO_ERROR_INFO_CTL,
                  UB_ERR_INFO_ERROR_INFO_CTL__ERROR_INFO_QUEUE_DEPTH,
                  UB_SPACE_PUT(
                      UB_ERR_INFO_ERROR_INFO_CTL__ERROR_INFO_QUEUE_DEPTH,
                      ubc->conf.err_info));
}

void ubc_error_info_free(Ubc *ubc)
{
    g_free(ubc->error_info.entry);
}

void ubc_error_info_reset(Ubc *ubc)
{
    UbcErrorInfo *e = &ubc->error_info;

    e->ci = e->pi = 0;
    e->overflow = false;
    if (e->slice) {
        show(ubc);
    }
}

/* The packet from its LPH on, as far as there is room. */
static void put_header(uint32_t *to, CorePacket *pkt)
{
    const UbPktMeta *m = ub_meta(pkt);
    uint8_t bytes[4 * HEADER] = { 0 };
    uint32_t room = sizeof(bytes) - UB_LPH_SIZE;

    put_be32(bytes, ub_lph(m->vl, m->lph_cfg, m->rt, pkt->len));
    memcpy(bytes + UB_LPH_SIZE, core_packet_data(pkt), MIN(pkt->len, room));
    for (unsigned i = 0; i < HEADER; i++) {
        to[i] = get_le32(bytes + 4 * i);
    }
}

void ubc_error_info_note(Ubc *ubc, uint32_t bits, int port, CorePacket *pkt)
{
    UbcErrorInfo *e = &ubc->error_info;
    uint32_t *entry, next;

    if (!e->slice) {
        return;
    }
    next = (e->pi + 1) % ubc->conf.err_info;
    if (next == e->ci) {
        e->overflow = true;
        show(ubc);
        return;
    }
    entry = e->entry + e->pi * ENTRY;
    entry[0] = bits;
    entry[1] = port < 0 ? DEVICE_LEVEL : 0;
    put_header(entry + SPEC, pkt);
    entry[SPEC + HEADER] = port < 0 ? 0 : port;
    entry[SPEC + HEADER + 1] = pkt->len;
    e->pi = next;
    show(ubc);
}

void ubc_error_info_image(Ubc *ubc, CoreImage *im)
{
    const uint32_t tag = CORE_TAG('E', 'R', 'R', 'I');
    UbcErrorInfo *e = &ubc->error_info;
    uint32_t depth = ubc->conf.err_info;

    if (!core_image_optional(im, tag, depth)) {
        core_image_check(im, !depth, "there is no error information");
        return;
    }
    core_image_begin(im, tag, 1);
    core_image_same(im, depth, "another queue of error information");
    core_image_int(im, &e->ci);
    core_image_int(im, &e->pi);
    core_image_flag(im, &e->overflow);
    if (!core_image_check(im, depth && e->ci < depth && e->pi < depth,
                          "error information beyond its queue")) {
        e->ci = e->pi = 0;
    }
    for (uint32_t i = e->ci; i != e->pi && !core_image_error(im);
         i = (i + 1) % depth) {
        for (unsigned w = 0; w < ENTRY; w++) {
            core_image_int(im, &e->entry[i * ENTRY + w]);
        }
    }
    core_image_end(im);
    if (core_image_loading(im) && !core_image_error(im)) {
        show(ubc);
    }
}
