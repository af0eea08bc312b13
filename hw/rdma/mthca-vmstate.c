/*
 * ncic-mthca: migration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/units.h"
#include "hw/pci/msix.h"
#include "migration/vmstate.h"
#include "mthca-pci.h"

static int mthca_pre_save(void *opaque)
{
    NcicMthca *s = opaque;
    size_t len;

    g_free(s->state);
    s->state = mthca_save(s->core, rdma_shell_now(), &len);
    s->state = core_props_prepend(OBJECT(s), &mthca_core_props, s->state, &len);
    s->state_len = len;
    wire_end_pre_save(&s->end);
    return 0;
}

static int mthca_post_save(void *opaque)
{
    NcicMthca *s = opaque;

    g_clear_pointer(&s->state, g_free);
    s->state_len = 0;
    wire_end_post_save(&s->end);
    return 0;
}

static int mthca_post_load(void *opaque, int version_id)
{
    NcicMthca *s = opaque;
    const char *error = core_props_check(OBJECT(s), &mthca_core_props,
                                         s->state, s->state_len);
    bool ok;

    if (!error) {
        error = mthca_load(s->core, rdma_shell_now(), s->state, s->state_len);
    }
    if (error) {
        error_report("%s: state of the adapter: %s", mthca_id(s), error);
    }
    ok = !error && wire_end_post_load(&s->end);
    mthca_post_save(s);
    wire_end_load_link(&s->end, mthca_link(s->core));
    rdma_qmp_port(s->qmp);
    return ok ? 0 : -EINVAL;
}

/* All objects with all that they can have are less. */
static bool mthca_state_len_valid(void *opaque, int version_id)
{
    return ((NcicMthca *)opaque)->state_len <= 1 * GiB;
}

static bool mthca_frames_needed(void *opaque)
{
    NcicMthca *s = opaque;

    return wire_end_frames_needed(&s->end);
}

/* Frames that the stalled peer at the end of a chardev did not take yet. */
static const VMStateDescription mthca_vmstate_frames = {
    .name = TYPE_NCIC_MTHCA "/frames",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = mthca_frames_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_WIRE_END_FRAMES(end, NcicMthca),
        VMSTATE_END_OF_LIST()
    },
};

const VMStateDescription mthca_vmstate = {
    .name = TYPE_NCIC_MTHCA,
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = mthca_pre_save,
    .post_save = mthca_post_save,
    .post_load = mthca_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, NcicMthca),
        VMSTATE_MSIX(parent_obj, NcicMthca),
        VMSTATE_UINT32(state_len, NcicMthca),
        VMSTATE_VALIDATE("image is too long", mthca_state_len_valid),
        VMSTATE_VBUFFER_ALLOC_UINT32(state, NcicMthca, 1, NULL, state_len),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription * const []) {
        &mthca_vmstate_frames,
        NULL
    },
};
