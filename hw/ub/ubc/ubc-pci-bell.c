/*
 * Doorbells of ubc: they do not wait for the lock.
 *
 * An IOThread holds the lock while it codes thousands of flits; a processor of
 * the guest that rang would stand there, and the emulator's big lock with it.  A
 * doorbell is one word, of which only the last value counts: it is left where
 * the next holder of the lock, at the latest the run that it asks for, finds it
 * first.  So all registers behave as if it had been written at once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/host-utils.h"
#include "ubc-pci.h"

/* Doorbells of a port, and where they are in it. */
static const uint32_t bells[] = {
    UBC_RING_TX + UBC_RING_HEAD, UBC_RING_TX + UBC_RING_ARM,
    UBC_RING_RX + UBC_RING_HEAD, UBC_RING_RX + UBC_RING_ARM,
};

#define BELLS ARRAY_SIZE(bells)
#define RUNG (1u << 31)

QEMU_BUILD_BUG_ON(UBC_MAX_PORTS * BELLS > UBC_BELLS);
QEMU_BUILD_BUG_ON(UBC_BELLS > 32);

bool ubc_pci_bell(UbcPci *s, hwaddr addr, uint64_t value)
{
    const uint32_t stride = UBC_PORT(1) - UBC_PORT(0);
    hwaddr port = (addr - UBC_PORT(0)) / stride;

    if (addr < UBC_PORT(0) || port >= s->ports || value > UINT16_MAX) {
        return false;
    }
    for (unsigned i = 0; i < BELLS; i++) {
        if (addr == UBC_PORT(port) + bells[i]) {
            qatomic_xchg(&s->bell[port * BELLS + i], RUNG | value);
            qatomic_or(&s->rung, 1u << (port * BELLS + i));
            qemu_bh_schedule(s->run_bh);
            return true;
        }
    }
    return false;
}

static void bells_take(UbcPci *s)
{
    uint32_t rung = qatomic_read(&s->rung) ? qatomic_xchg(&s->rung, 0) : 0;

    for (; rung; rung &= rung - 1) {
        unsigned n = ctz32(rung);
        uint32_t value = qatomic_xchg(&s->bell[n], 0);

        if (value & RUNG) {
            ubc_write(s->ubc, UBC_PORT(n / BELLS) + bells[n % BELLS],
                      value & ~RUNG, ubc_pci_now(s));
        }
    }
}

void ubc_pci_lock(UbcPci *s)
{
    qemu_mutex_lock(&s->lock);
    bells_take(s);
}

void ubc_pci_lock_run(UbcPci *s)
{
    qemu_mutex_lock(&s->lock);
    s->runs = true;
    bells_take(s);
    s->runs = false;
}
