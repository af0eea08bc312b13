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
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "ubc-pci.h"

/* Doorbells of a ring pair, and where they are in it. */
static const uint32_t bells[] = {
    UBC_RING_TX + UBC_RING_HEAD, UBC_RING_TX + UBC_RING_ARM,
    UBC_RING_RX + UBC_RING_HEAD, UBC_RING_RX + UBC_RING_ARM,
};

#define BELLS ARRAY_SIZE(bells)
#define RUNG (1u << 31)

QEMU_BUILD_BUG_ON(UBC_PAIRS * BELLS != UBC_BELLS);
QEMU_BUILD_BUG_ON(UBC_BELLS / 32 > 32);

bool ubc_pci_bell(UbcPci *s, hwaddr addr, uint64_t value)
{
    const uint32_t stride = UBC_PAIR(1) - UBC_PAIR(0);

    if (addr < UBC_PAIR(0) || addr >= UBC_PAIR(UBC_PAIRS) ||
        value > UINT16_MAX) {
        return false;
    }
    addr -= UBC_PAIR(0);
    for (unsigned i = 0; i < BELLS; i++) {
        unsigned n = addr / stride * BELLS + i;

        if (addr % stride == bells[i]) {
            qatomic_xchg(&s->bell[n], RUNG | value);
            qatomic_or(&s->rung[n / 32], 1u << n % 32);
            qatomic_or(&s->rung_words, 1u << n / 32);
            qemu_bh_schedule(s->run_bh);
            return true;
        }
    }
    return false;
}

static void bells_of_word(UbcPci *s, unsigned word, int64_t now)
{
    uint32_t rung = qatomic_xchg(&s->rung[word], 0);

    for (; rung; rung &= rung - 1) {
        unsigned n = 32 * word + ctz32(rung);
        uint32_t value = qatomic_xchg(&s->bell[n], 0);

        if (value & RUNG) {
            ubc_write(s->ubc, UBC_PAIR(n / BELLS) + bells[n % BELLS],
                      value & ~RUNG, now);
        }
    }
}

static void bells_take(UbcPci *s, int64_t now)
{
    uint32_t words = qatomic_read(&s->rung_words)
                         ? qatomic_xchg(&s->rung_words, 0) : 0;

    for (; words; words &= words - 1) {
        bells_of_word(s, ctz32(words), now);
    }
    ubc_rung(s->ubc, now);
}

/* Under the lock; a turn follows. */
static int64_t bells_now(UbcPci *s)
{
    int64_t now = ubc_pci_now(s);

    ubc_pci_hold(s);
    bells_take(s, now);
    s->holds = false;
    return now;
}

/* Whether this thread may have the turn; then it has the lock. */
static bool bell_lock(UbcPci *s)
{
    if (!s->inline_turn || !ubc_pci_first_hand(s) ||
        qemu_mutex_trylock(&s->lock)) {
        return false;
    }
    /* The reader of a capture may be late. */
    if (ubc_resting(s->ubc) && !s->capture &&
        (s->ctx == qemu_get_aio_context() || ubc_pci_wires_shared(s))) {
        return true;
    }
    qemu_mutex_unlock(&s->lock);
    return false;
}

/*
 * To wake another thread takes longer than most messages, and a processor of the guest
 * that waits for one has nothing better to do.  Where requests are under way already the
 * other thread is awake soon, and takes many doorbells in one turn.  While the processor
 * works no other waits for it: the big lock is free, unless the core is a matter of the
 * main loop's, which needs it.
 */
void ubc_pci_bell_turn(UbcPci *s)
{
    bool main_loop = s->ctx == qemu_get_aio_context();

    if (!bell_lock(s)) {
        qemu_bh_schedule(s->run_bh);
        return;
    }
    if (!main_loop) {
        rcu_read_lock(); /* its memory stays until the access returns */
        bql_unlock(); /* who takes the device away waits for the lock */
    }
    ubc_pci_turn(s, bells_now(s));
    qemu_mutex_unlock(&s->lock);
    if (!main_loop) {
        bql_lock();
        rcu_read_unlock();
    }
}

int64_t ubc_pci_lock(UbcPci *s)
{
    int64_t now;

    qemu_mutex_lock(&s->lock);
    now = ubc_pci_now(s);
    bells_take(s, now);
    return now;
}

int64_t ubc_pci_lock_run(UbcPci *s)
{
    qemu_mutex_lock(&s->lock);
    return bells_now(s);
}
