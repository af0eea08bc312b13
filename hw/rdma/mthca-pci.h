/*
 * ncic-mthca: what the files of its PCIe function share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_RDMA_MTHCA_PCI_H
#define HW_RDMA_MTHCA_PCI_H

#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "hw/pci/pci_device.h"
#include "core/fault.h"
#include "core/pci_master.h"
#include "core/props.h"
#include "rdma/mthca.h"
#include "rdma/props.h"
#include "rdma/qmp.h"
#include "rdma/shell.h"
#include "wire/end.h"

#define TYPE_NCIC_MTHCA "ncic-mthca"
OBJECT_DECLARE_SIMPLE_TYPE(NcicMthca, NCIC_MTHCA)

struct NcicMthca {
    PCIDevice parent_obj;
    PciMaster master;
    MemoryRegion bar0, bar2;
    WireEnd end;

    QEMUBH *bh;
    QEMUTimer *timer;
    VMChangeStateEntry *vmstate_entry;
    Mthca *core;
    MthcaConfig cfg;
    RdmaQmp *qmp;
    bool kicked;                /* while end.working: who is in the core looks
                                 * at this, instead of the bottom half */
    uint32_t burst;             /* frames that came since the engine worked */
    bool ack_waits;             /* for a doorbell that takes it along */
    bool answers;               /* the guest's doorbells follow input */
    int64_t input_at;           /* since when an ACK waits or last did */
    uint64_t inline_polls;      /* doorbells whose work was done at once */

    /* properties */
    int sm;                     /* index of rdma_sm_info */
    uint16_t lid;
    uint64_t guid;
    uint64_t gid_prefix;
    bool roce_gid;
    bool udp_csum_need, uar_check;
    RdmaSwitches sw;
    CoreFaultPlan fault[2];     /* of the core that is to come: in, out */
    uint32_t inline_budget;

    /* migration: the core's block, while it travels */
    uint32_t state_len;
    uint8_t *state;
};

/* Packets of a turn of the bottom half. */
#define MTHCA_TURN 256

/*
 * Frames of a long burst of input after which the engine works before it is over: a
 * quarter of what a peer of our kind has under way (swpb_packets) until it is
 * acknowledged.  So it sends on while we still read, and neither waits for the other.
 */
#define MTHCA_BURST 128

/*
 * A doorbell that follows input so soon is taken for its answer.  Far below
 * the delay of ACKs that the adapter announces (134 ms), and above a round trip
 * between two guests: a shorter wait would end in the peer's next message.
 */
#define MTHCA_ANSWER_NS (500 * SCALE_US)

static inline const char *mthca_id(NcicMthca *s)
{
    const char *id = DEVICE(s)->id;

    return id ? id : TYPE_NCIC_MTHCA;
}

/* ---- mthca-wire.c ---- */

/* The engine works, for @packets at most, and says when it wants to again. */
void mthca_work(NcicMthca *s, unsigned packets);
/* The wire, by the properties; wire_end_free() gives it up. */
void mthca_wire_init(NcicMthca *s);
/* RdmaOps.wire_tx. */
bool mthca_wire_tx(void *opaque, const struct iovec *frames, unsigned n);

/* ---- mthca-props.c ---- */

void mthca_class_props(ObjectClass *klass);
/* Those that the ends of a migration must agree on. */
extern const CoreProps mthca_core_props;
/* What the properties say as the core's configuration; false: they cannot be
 * so. */
bool mthca_config(NcicMthca *s, Error **errp);
/* Counters as properties; they point into the core. */
void mthca_add_counters(NcicMthca *s);
void mthca_remove_counters(NcicMthca *s);

/* ---- mthca-vmstate.c ---- */

extern const VMStateDescription mthca_vmstate;

#endif
