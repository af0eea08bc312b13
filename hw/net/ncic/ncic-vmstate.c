/*
 * NCIC NIC: migration state
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/units.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "migration/vmstate.h"
#include "ncic-pci.h"

/* More than any two engines have. */
#define IMAGE_MAX (64 * MiB)

/* The RDMA engine's block, which is its own affair. */
static void image_rdma(NcicRdma *r, CoreImage *im)
{
    g_autofree uint8_t *block = NULL;
    size_t len = 0;
    uint32_t n;

    core_image_begin(im, CORE_TAG('R', 'D', 'M', 'A'), 1);
    if (!core_image_loading(im)) {
        block = ncic_rdma_save(r, &len);
    }
    n = len;
    core_image_count(im, &n, core_image_loading(im) ? core_image_left(im)
                                                    : IMAGE_MAX,
                     "the RDMA engine's state is cut short");
    if (core_image_loading(im)) {
        block = g_malloc(n);
    }
    core_image_bytes(im, block, n);
    if (core_image_loading(im) && !core_image_error(im)) {
        const char *wrong = ncic_rdma_load(r, block, n);

        core_image_check(im, !wrong, wrong);
    }
    core_image_end(im);
}

static void ncic_image(NcicState *s, CoreImage *im)
{
    core_image_begin(im, CORE_TAG('N', 'C', 'I', 'C'), 1);
    core_props_image(OBJECT(s), &ncic_core_props, im);
    core_image_same(im, s->rdma != NULL,
                 "one side has an RDMA engine, the other has none");
    for (unsigned v = 0; v < NCIC_MSIX_VECTORS_MAX; v += 32) {
        uint32_t word = 0;

        for (unsigned i = 0; i < 32; i++) {
            word |= (uint32_t)test_bit(v + i, s->irq_waiting) << i;
        }
        core_image_int(im, &word);
        for (unsigned i = 0; i < 32; i++) {
            if (word >> i & 1 && v + i < s->vectors) {
                set_bit(v + i, s->irq_waiting);
            } else {
                clear_bit(v + i, s->irq_waiting);
            }
        }
    }
    ncic_eth_image(&s->eth, im);
    if (s->rdma) {
        image_rdma(s->rdma, im);
    }
    core_image_end(im);
}

static int ncic_pre_save(void *opaque)
{
    NcicState *s = opaque;
    CoreImage *im = core_image_save(qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL));
    size_t len;

    ncic_image(s, im);
    g_free(s->image);
    s->image = core_image_take(im, &len);
    s->image_len = len;
    core_image_free(im);
    return 0;
}

static int ncic_post_save(void *opaque)
{
    NcicState *s = opaque;

    g_clear_pointer(&s->image, g_free);
    return 0;
}

static bool image_len_valid(void *opaque, int version_id)
{
    return ((NcicState *)opaque)->image_len <= IMAGE_MAX;
}

static int ncic_post_load(void *opaque, int version_id)
{
    NcicState *s = opaque;
    CoreImage *im = core_image_load(s->image, s->image_len,
                                    qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL));
    const char *wrong;

    ncic_image(s, im);
    wrong = core_image_done(im);
    if (wrong) {
        error_report("%s: migration: %s", ncic_id(s), wrong);
    }
    core_image_free(im);
    ncic_post_save(s);
    if (wrong) {
        ncic_reset_engines(s, "a bad image");
        return -EINVAL;
    }
    /* Rings are mapped again on first use. */
    for (unsigned dir = 0; dir < NCIC_DIRS; dir++) {
        for (unsigned q = 0; q < s->queues; q++) {
            ncic_dma_ring_changed(s, dir, q);
        }
    }
    /* The link is the source's, as with QEMU's other NICs: a driver is not told
     * of a change that it was not told of. */
    qemu_get_queue(s->nic)->link_down =
        !(s->eth.ncsr[NCIC_R_LINK_STATUS] & NCIC_LINK_UP);
    return 0;
}

const VMStateDescription vmstate_ncic = {
    .name = "ncic-nic",
    .version_id = 2,
    .minimum_version_id = 2,
    .pre_save = ncic_pre_save,
    .post_save = ncic_post_save,
    .post_load = ncic_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, NcicState),
        VMSTATE_STRUCT(parent_obj.exp.aer_log, NcicState, 0,
                       vmstate_pcie_aer_log, PCIEAERLog),
        VMSTATE_MSIX(parent_obj, NcicState),
        VMSTATE_UINT32(image_len, NcicState),
        VMSTATE_VALIDATE("image is too long", image_len_valid),
        VMSTATE_VBUFFER_ALLOC_UINT32(image, NcicState, 2, NULL, image_len),
        VMSTATE_END_OF_LIST()
    },
};
