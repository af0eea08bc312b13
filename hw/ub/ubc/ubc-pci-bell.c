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
#include <sched.h>
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

static bool main_loops(const UbcPci *s)
{
    return s->ctx == qemu_get_aio_context();
}

int64_t ubc_pci_bells(UbcPci *s)
{
    int64_t now = ubc_pci_now(s);

    ubc_pci_hold(s);
    bells_take(s, now);
    s->holds = false;
    return now;
}

/* The reader of a capture may be late. */
bool ubc_pci_anybodys_turn(const UbcPci *s)
{
    return s->inline_turn && !s->capture && ubc_pci_wires_shared(s);
}

/* Whether this thread may have a turn; then it has the lock. */
static bool turn_begin(UbcPci *s)
{
    if (!s->inline_turn || !ubc_pci_first_hand(s) ||
        qemu_mutex_trylock(&s->lock)) {
        return false;
    }
    if (ubc_pci_anybodys_turn(s) || (!s->capture && main_loops(s))) {
        return true;
    }
    qemu_mutex_unlock(&s->lock);
    return false;
}

/* Other processors go on meanwhile, unless the core is a matter of the main loop's,
 * which needs the big lock. */
static void turn_alone(UbcPci *s)
{
    if (!main_loops(s)) {
        rcu_read_lock(); /* its memory stays until the access returns */
        bql_unlock(); /* who takes the device away waits for the lock */
    }
}

static void turn_end(UbcPci *s)
{
    qemu_mutex_unlock(&s->lock);
    if (!main_loops(s)) {
        bql_lock();
        rcu_read_unlock();
    }
}

/*
 * To wake another thread takes longer than most messages, and a processor of the guest
 * that waits for one has nothing better to do.  Where requests are under way already the
 * other thread is awake soon, or the processor looks again, and takes many doorbells in
 * one turn.
 */
void ubc_pci_bell_turn(UbcPci *s)
{
    if (turn_begin(s)) {
        if (ubc_resting(s->ubc)) {
            turn_alone(s);
            s->inline_turns++;
            ubc_pci_turn(s, ubc_pci_bells(s));
            turn_end(s);
            return;
        }
        qemu_mutex_unlock(&s->lock);
    }
    if (!ubc_look_on(&s->look)) {
        qemu_bh_schedule(s->run_bh);
    }
}

/* ---- Processors that poll ------------------------------------------------------ */

static int64_t look_now(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_REALTIME);
}

/* A test's accesses come one by one, and it tells the time. */
static bool may_poll(const UbcPci *s)
{
    return current_cpu || !main_loops(s);
}

static void look_begin(UbcPci *s, int64_t now)
{
    if (ubc_look_begin(&s->look, now)) {
        timer_mod_ns(s->look_timer, now + s->look.conf.time);
    }
}

/* One that cannot look wakes nobody each time that it finds nothing. */
static void look_later(UbcPci *s)
{
    if (!timer_pending(s->look_timer)) {
        timer_mod_ns(s->look_timer, look_now() + s->look.conf.time);
    }
}

/* Under the lock: the core has something to do, or somebody has to be told when. */
static bool turn_due(const UbcPci *s, int64_t now)
{
    return s->kicked || s->due <= now || (s->due_looked && !s->look.on);
}

/* Under the lock: what came and what was asked for has its turn; @again: this thread looks
 * again soon, and need not be woken.  Whether there was one. */
static bool look(UbcPci *s, bool again)
{
    int64_t now;

    ubc_pci_hold(s);
    bells_take(s, ubc_pci_now(s));
    ubc_pci_wires_look(s, again);
    s->holds = false;
    now = ubc_pci_now(s);
    if (!turn_due(s, now)) {
        return false;
    }
    ubc_pci_turn(s, now);
    return true;
}

void ubc_pci_bell_look(UbcPci *s)
{
    if (!may_poll(s)) {
        qemu_bh_schedule(s->run_bh);
        return;
    }
    if (!turn_begin(s)) {
        look_later(s);
        return;
    }
    look_begin(s, look_now());
    turn_alone(s);
    s->look_turns += look(s, s->look.on);
    ubc_look_end(&s->look, look_now());
    turn_end(s);
}

void ubc_pci_look_over(void *opaque)
{
    UbcPci *s = opaque;
    int64_t again;

    qemu_mutex_lock(&s->lock);
    again = ubc_look_watch(&s->look, look_now());
    if (again) {
        timer_mod_ns(s->look_timer, again);
    }
    qemu_mutex_unlock(&s->lock);
    if (!again) {
        ubc_pci_wires_wake(s);
        qemu_bh_schedule(s->run_bh);
    }
}

/* ---- Processors that wait ------------------------------------------------------ */

/* So long it looks before it sleeps: to be woken, and to wake the core's thread first,
 * takes as long as most answers. */
#define WAIT_NS 100000

void ubc_pci_wait_look(UbcPci *s, const bool *ended)
{
    int64_t end = look_now() + WAIT_NS;

    for (look(s, true); !*ended && look_now() < end; look(s, true)) {
        qemu_mutex_unlock(&s->lock);
        sched_yield(); /* the peer may be on this core */
        qemu_mutex_lock(&s->lock);
    }
    look(s, s->look.on);
}

/* ---- The lock ------------------------------------------------------------------- */

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
    return ubc_pci_bells(s);
}
