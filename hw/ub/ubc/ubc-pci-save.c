/*
 * ubc: migration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/units.h"
#include "qemu/error-report.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "migration/vmstate.h"
#include "ubc-pci.h"

static int ubc_pci_pre_save(void *opaque)
{
    UbcPci *s = opaque;
    size_t len;

    g_free(s->blob);
    ubc_pci_lock(s);
    s->blob = ubc_save(s->ubc, ubc_pci_now(s), &len);
    s->blob = core_props_prepend(OBJECT(s), &ubc_core_props, s->blob, &len);
    qemu_mutex_unlock(&s->lock);
    s->blob_len = len;
    return 0;
}

static int ubc_pci_post_load(void *opaque, int version)
{
    UbcPci *s = opaque;
    const char *broken = core_props_check(OBJECT(s), &ubc_core_props, s->blob,
                                          s->blob_len);

    ubc_pci_lock(s);
    if (!broken) {
        broken = ubc_load(s->ubc, ubc_pci_now(s), s->blob, s->blob_len);
    }
    qemu_mutex_unlock(&s->lock);
    ubc_pci_update_master(s);
    g_clear_pointer(&s->blob, g_free);
    if (broken) {
        error_report("%s: %s", ubc_pci_id(s), broken);
        return -EINVAL;
    }
    qemu_bh_schedule(s->run_bh);
    qemu_bh_schedule(s->irq_bh);
    return 0;
}

/* All credit of all ports in packets that wait is less. */
static bool blob_len_valid(void *opaque, int version)
{
    return ((UbcPci *)opaque)->blob_len <= 256 * MiB;
}

const VMStateDescription ubc_pci_vmstate = {
    .name = TYPE_UBC,
    .version_id = 2,
    .minimum_version_id = 2,
    .pre_save = ubc_pci_pre_save,
    .post_load = ubc_pci_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, UbcPci),
        VMSTATE_STRUCT(parent_obj.exp.aer_log, UbcPci, 0,
                       vmstate_pcie_aer_log, PCIEAERLog),
        VMSTATE_MSIX(parent_obj, UbcPci),
        VMSTATE_UINT32_ARRAY(irqs, UbcPci, UBC_VECTORS / 32),
        VMSTATE_UINT32(blob_len, UbcPci),
        VMSTATE_VALIDATE("image is too long", blob_len_valid),
        VMSTATE_VBUFFER_ALLOC_UINT32(blob, UbcPci, 2, NULL, blob_len),
        VMSTATE_END_OF_LIST()
    },
};
