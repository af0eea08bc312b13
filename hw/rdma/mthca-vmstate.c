/*
 * ncic-mthca: migration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "hw/pci/msix.h"
#include "migration/vmstate.h"
#include "mthca-pci.h"

static int mthca_pre_save(void *opaque)
{
    NcicMthca *s = opaque;
    size_t len;

    g_free(s->state);
    s->state = mthca_save(s->core, rdma_shell_now(), &len);
    s->state_len = len;
    g_free(s->frames);
    s->frames = s->wire ? wire_stream_save(s->wire, &s->frames_len) : NULL;
    return 0;
}

static int mthca_post_save(void *opaque)
{
    NcicMthca *s = opaque;

    g_clear_pointer(&s->state, g_free);
    g_clear_pointer(&s->frames, g_free);
    s->state_len = s->frames_len = 0;
    return 0;
}

static int mthca_post_load(void *opaque, int version_id)
{
    NcicMthca *s = opaque;
    const char *error = mthca_load(s->core, rdma_shell_now(), s->state,
                                   s->state_len);
    bool ok = !error;

    if (error) {
        error_report("%s: state of the adapter: %s", mthca_id(s), error);
    }
    if (ok && s->wire) {
        ok = wire_stream_load(s->wire, s->frames, s->frames_len);
        rdma_wire_stop(mthca_rdma(s->core), wire_stream_blocked(s->wire));
    }
    mthca_post_save(s);
    if (s->nic) {
        /* As with other NICs, the state of the link travels with the guest;
         * that of a chardev is whether somebody is connected here. */
        qemu_get_queue(s->nic)->link_down = !mthca_link(s->core);
    }
    rdma_qmp_port(s->qmp);
    return ok ? 0 : -EINVAL;
}

static bool mthca_frames_needed(void *opaque)
{
    NcicMthca *s = opaque;

    return s->wire && wire_stream_blocked(s->wire);
}

/* Frames that the stalled peer at the end of a chardev did not take yet. */
static const VMStateDescription mthca_vmstate_frames = {
    .name = TYPE_NCIC_MTHCA "/frames",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = mthca_frames_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(frames_len, NcicMthca),
        VMSTATE_VBUFFER_ALLOC_UINT32(frames, NcicMthca, 1, NULL, frames_len),
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
        VMSTATE_VBUFFER_ALLOC_UINT32(state, NcicMthca, 1, NULL, state_len),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription * const []) {
        &mthca_vmstate_frames,
        NULL
    },
};
