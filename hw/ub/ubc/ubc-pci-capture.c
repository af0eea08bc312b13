/*
 * ubc: packets, blocks and training captured to a file.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "ubc-pci.h"

static void on_capture_packet(void *opaque, unsigned port, bool sent,
                              unsigned cfg, unsigned vl, const uint8_t *data,
                              size_t len)
{
    UbcPci *s = opaque;

    ub_capture_packet(s->capture, ubc_pci_now(s), port, sent, cfg, vl, data, len);
}

static void on_capture_block(void *opaque, unsigned port, bool sent,
                             const uint8_t *block, unsigned flits)
{
    UbcPci *s = opaque;

    ub_capture_block(s->capture, ubc_pci_now(s), port, sent, block, flits);
}

static void on_capture_training(void *opaque, unsigned port, bool sent,
                                unsigned lane, const uint8_t ltb[UB_LTB],
                                unsigned n)
{
    UbcPci *s = opaque;

    ub_capture_training(s->capture, ubc_pci_now(s), port, sent, lane, ltb, n);
}

/* Readers can follow the file, and it is whole if the process is killed. */
void ubc_pci_capture_flush(UbcPci *s)
{
    int error = s->capture ? ub_capture_flush(s->capture) : 0;

    if (error) {
        warn_report("%s: the capture in '%s' ends here: %s", ubc_pci_id(s),
                    s->pcap, strerror(error));
    }
}

/* The device's clock, as time since 1970, so that captures of several
 * processes can be merged. */
bool ubc_pci_capture_start(UbcPci *s, UbcOps *ops, Error **errp)
{
    if (!s->pcap) {
        return true;
    }
    s->capture = ub_capture_new(s->pcap, ubc_pci_id(s),
                                MIN(s->ports, UBC_MAX_PORTS) +
                                s->cfg.ethernet.on,
                                qemu_clock_get_ns(QEMU_CLOCK_HOST) -
                                ubc_pci_now(s));
    if (!s->capture) {
        error_setg_file_open(errp, errno, s->pcap);
        return false;
    }
    ops->capture_packet = on_capture_packet;
    if (s->pcap_blocks) {
        ops->capture_block = on_capture_block;
        ops->capture_training = on_capture_training;
    }
    return true;
}
