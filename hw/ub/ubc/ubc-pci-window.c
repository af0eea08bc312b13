/*
 * ubc: BAR4, the window for loads and stores of other nodes' memory.
 *
 * A load waits for the fabric.  Meanwhile the lock of the device and the big lock
 * of the emulator are free, so that the answer can come and other processors go
 * on; the window stands outside the guard against reentrancy, or their accesses
 * would be refused.  Order of locks: that of the device inside the big one, which
 * is never asked for while the other is held.
 *
 * Who may wait is who holds nothing but what is given up here:
 * - A processor, in its own access.
 * - A test (qtest), whose accesses are made in the main loop.  Where the ports run
 *   in an IOThread it waits like a processor; else by running the main loop.
 * All others do not: devices that reach for the window, even on behalf of a
 * processor that wrote to their register, bottom halves, timers, the monitor, gdb.
 * Their loads bring all ones, their stores are lost if there is no room.
 *
 * For a short while who loads looks for the answer itself, where any thread may have the
 * core's turns; then it sleeps.
 *
 * Who waits looks up now and then, since nobody tells it that the machine is to
 * stop: who stops it waits for the processor.  Stores are then taken, room or not.  A
 * processor that loads, if its code is translated, goes back to before the instruction,
 * which makes the same access again when the machine goes on, here or where it has moved
 * to; another one gets all ones.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/coroutine.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "exec/cpu-common.h"
#if defined(__has_include) && __has_include("accel/tcg/cpu-loop.h")
#include "accel/tcg/cpu-loop.h"
#endif
#include "hw/core/cpu.h"
#include "hw/pci/pci.h"
#include "qapi/error.h"
#include "system/replay.h"
#include "system/qtest.h"
#include "system/runstate.h"
#include "system/tcg.h"
#include "ubc-pci.h"

/* How often who waits looks up. */
#define LOOK_MS 5
/* How long a load may go on when the machine is to stop. */
#define STOP_US 100000
/* What beyond its time-out ends a load though the device's clock stands. */
#define LATE_US 2000000

typedef enum Waiter { CANNOT_WAIT, WAITS, RUNS_MAIN_LOOP } Waiter;

/*
 * Whether whoever accesses does it itself, not a device within an access of theirs.
 * What a device does takes its own read lock of RCU, inside that of the processor
 * that runs translated code, or of the access that the accelerator hands over; an
 * instruction that is alone in the machine has none.
 */
static bool at_first_hand(void)
{
    bool alone = current_cpu && cpu_in_exclusive_context(current_cpu);

    return get_ptr_rcu_reader()->depth == (alone ? 0 : 1) &&
           !qemu_in_coroutine();
}

/* Commands of a test come by a character device, not by what runs bottom halves
 * and the monitor's commands. */
static bool is_test(void)
{
    GSource *now = g_main_current_source();
    g_autoptr(GSource) halves = aio_get_g_source(qemu_get_aio_context());
    g_autoptr(GSource) handlers = iohandler_get_g_source();

    return qtest_enabled() && now && now != halves && now != handlers;
}

bool ubc_pci_first_hand(const UbcPci *s)
{
    return at_first_hand() && (current_cpu || (!s->window_nested && is_test()));
}

static Waiter who_waits(const UbcPci *s)
{
    if (!ubc_pci_first_hand(s)) {
        return CANNOT_WAIT;
    }
    return current_cpu || s->ctx != qemu_get_aio_context() ? WAITS
                                                           : RUNS_MAIN_LOOP;
}

/* Whether the machine is to stop, which waits for its processors; a test's access
 * stands in the way of what the main loop was asked for. */
static bool stop_asked(void)
{
    return current_cpu ? qatomic_read(&current_cpu->stop)
                       : !runstate_is_running() ||
                         qemu_reset_requested_get() ||
                         qemu_shutdown_requested_get();
}

/*
 * Where in translated code the access is made, whose instruction can begin anew, since
 * it is a processor's at first hand; else 0.  One that is alone in the machine is left by
 * another way, on which its flags would be lost, and a recorded run counts instructions.
 */
static uintptr_t access_pc(const UbcPci *s)
{
    return s->window_props.again && current_cpu && tcg_enabled() &&
           current_cpu->running && !cpu_in_exclusive_context(current_cpu) &&
           replay_mode == REPLAY_MODE_NONE ? current_cpu->mem_io_pc : 0;
}

/* Whether it must go on without an answer. */
static bool must_end(const UbcPci *s, int64_t begun, int64_t *stop)
{
    int64_t now = g_get_monotonic_time();

    if (!stop_asked()) {
        *stop = now + STOP_US;
    }
    return now >= *stop ||
           now >= begun + s->window_props.timeout * INT64_C(1000) + LATE_US;
}

/* With the lock: whether it is a store, which is taken before the machine stops. */
static bool stored_anyway(UbcPci *s, UbLdsWait *w)
{
    return stop_asked() &&
           ub_lds_store_anyway(ubc_window(s->ubc), ubc_pci_now(s), w);
}

static gboolean look_up(gpointer opaque)
{
    return G_SOURCE_CONTINUE;
}

/* Without the lock, but the big one, which others have while the loop sleeps; the
 * same afterwards. */
static void run_main_loop(UbcPci *s, UbLdsWait *w)
{
    int64_t begun = g_get_monotonic_time(), stop = begun + STOP_US;

    /* Without anything to do the loop would sleep. */
    guint tick = g_timeout_add(LOOK_MS, look_up, NULL);

    s->window_nested = true;
    while (!w->ended) {
        main_loop_wait(false);
        if (!w->ended && must_end(s, begun, &stop)) {
            ubc_pci_lock(s);
            if (!stored_anyway(s, w)) {
                ub_lds_cancel(ubc_window(s->ubc), ubc_pci_now(s), w);
            }
            qemu_mutex_unlock(&s->lock);
        }
    }
    s->window_nested = false;
    g_source_remove(tick);
}

/* The same, with the lock when it begins.  True: the machine is to stop, and the
 * access, which is made at @pc, was withdrawn. */
static bool wait_locked(UbcPci *s, UbLdsWait *w, uintptr_t pc, bool looks)
{
    int64_t begun = g_get_monotonic_time(), stop = begun + STOP_US;
    bool again = false;

    s->window_waiting++;
    rcu_read_lock(); /* the device may go, its memory not before the access returns */
    bql_unlock();
    if (looks) {
        ubc_pci_wait_look(s, &w->ended);
    }
    while (!w->ended) {
        qemu_cond_timedwait(&s->window_cond, &s->lock, LOOK_MS);
        if (w->ended || stored_anyway(s, w)) {
            break;
        }
        if (pc && stop_asked()) {
            again = true;
            ub_lds_withdraw(ubc_window(s->ubc), ubc_pci_now(s), w);
        } else if (must_end(s, begun, &stop)) {
            ub_lds_cancel(ubc_window(s->ubc), ubc_pci_now(s), w);
        }
    }
    s->window_waiting--;
    qemu_cond_broadcast(&s->window_cond); /* who takes the device away */
    qemu_mutex_unlock(&s->lock);
    bql_lock();
    rcu_read_unlock();
    return again;
}

/*
 * The same.  Where any thread may have the core's turns, or the core runs in the main loop,
 * it has one here, which sends the question: no other thread, no other round of the loop
 * has to come first.
 * It does not return, if the instruction is to begin anew.
 */
static void window_wait(UbcPci *s, UbLdsWait *w, Waiter how, bool looks,
                        int64_t now)
{
    uintptr_t pc = access_pc(s);
    Object *obj = OBJECT(s);
    bool again = false;

    object_ref(obj);
    looks = looks && ubc_pci_anybodys_turn(s);
    if (!looks) {
        if (s->kicked && s->ctx == qemu_get_aio_context()) {
            ubc_pci_turn(s, now);
        }
        ubc_pci_let_go(s);
    }
    if (how == WAITS) {
        again = wait_locked(s, w, pc, looks);
    } else {
        if (looks) {
            ubc_pci_wait_look(s, &w->ended);
        }
        qemu_mutex_unlock(&s->lock);
        run_main_loop(s, w);
    }
    object_unref(obj);
    if (again) {
        /* It gives the big lock up. */
        cpu_loop_exit_restore(current_cpu, pc);
    }
}

/* The decoder takes addresses of the host.  False: the device is gone. */
static bool window_lock(UbcPci *s, int64_t *now)
{
    if (!s->ubc) {
        return false;
    }
    *now = ubc_pci_lock(s);
    ubc_pci_hold(s);
    ub_lds_set_base(ubc_window(s->ubc), pci_get_bar_addr(&s->parent_obj, 4));
    return true;
}

/* It need not wait. */
static void window_unlock(UbcPci *s)
{
    ubc_pci_let_go(s);
    qemu_mutex_unlock(&s->lock);
}

static MemTxResult window_read(void *opaque, hwaddr addr, uint64_t *value,
                               unsigned size, MemTxAttrs attrs)
{
    UbcPci *s = opaque;
    Waiter how = who_waits(s);
    UbLdsWait w = { .user = s };
    int64_t now;

    *value = UINT64_MAX;
    if (!window_lock(s, &now)) {
        return MEMTX_OK;
    }
    if (ubc_window_load(s->ubc, addr, size, how ? &w : NULL, value,
                        now)) {
        window_unlock(s);
    } else {
        window_wait(s, &w, how, true, now);
        *value = w.value;
    }
    return MEMTX_OK;
}

static MemTxResult window_write(void *opaque, hwaddr addr, uint64_t value,
                                unsigned size, MemTxAttrs attrs)
{
    UbcPci *s = opaque;
    Waiter how = CANNOT_WAIT;
    UbLdsWait w = { .user = s };
    int64_t now;

    if (!window_lock(s, &now)) {
        return MEMTX_OK;
    }
    /* Nearly all need not; to find out costs more than a store. */
    if (!ub_lds_store_room(ubc_window(s->ubc))) {
        how = who_waits(s);
    }
    if (ubc_window_store(s->ubc, addr, size, value, how ? &w : NULL,
                         now)) {
        window_unlock(s);
    } else {
        /* Others are under way: to look for room brings them back no sooner. */
        window_wait(s, &w, how, false, now);
    }
    return MEMTX_OK;
}

static const MemoryRegionOps window_ops = {
    .read_with_attrs = window_read,
    .write_with_attrs = window_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8 },
    .impl = { .min_access_size = 1, .max_access_size = 8 },
};

void ubc_pci_window_ended(void *opaque, UbLdsWait *w)
{
    UbcPci *s = opaque;

    qemu_cond_broadcast(&s->window_cond);
}

/* ---- Life ------------------------------------------------------------------------- */

void ubc_pci_window_bar(UbcPci *s)
{
    qemu_cond_init(&s->window_cond);
    if (!ubc_window(s->ubc)) {
        return;
    }
    memory_region_init_io(&s->window, OBJECT(s), &window_ops, s, "ubc-window",
                          s->window_props.window);
    s->window.disable_reentrancy_guard = true;
    pci_register_bar(PCI_DEVICE(s), 4, PCI_BASE_ADDRESS_SPACE_MEMORY |
                     PCI_BASE_ADDRESS_MEM_TYPE_64 |
                     PCI_BASE_ADDRESS_MEM_PREFETCH, &s->window);
}

void ubc_pci_window_leave(UbcPci *s)
{
    UbLds *lds = ubc_window(s->ubc);

    qemu_mutex_lock(&s->lock);
    if (lds) {
        ub_lds_cancel_all(lds, ubc_pci_now(s));
    }
    while (s->window_waiting) {
        qemu_cond_wait(&s->window_cond, &s->lock);
    }
    qemu_mutex_unlock(&s->lock);
}

void ubc_pci_window_exit(UbcPci *s)
{
    qemu_cond_destroy(&s->window_cond);
}

/* ---- Properties --------------------------------------------------------------------- */

bool ubc_window_props_apply(const UbcWindowProps *p, UbcConfig *c,
                            Error **errp)
{
    const char *why;

    c->lds.window = p->window;
    c->lds.timeout = p->timeout * (int64_t)SCALE_MS;
    c->lds.grace = p->grace * (int64_t)SCALE_MS;
    c->lds.combine = p->combine;
    c->lds.mode = p->rol ? UB_ROL : UB_ROI;
    c->lds.uba_literal = p->literal;
    c->lds.tee = p->tee;
    c->lds.managed = p->managed;
    why = p->window ? ub_lds_config_check(&c->lds) : NULL;
    if (why) {
        error_setg(errp, "%s", why);
    }
    return !why;
}

static const struct {
    const char *name, *text;
} descriptions[] = {
    { "window", "size of BAR4, loads and stores of other nodes' memory: a power "
                "of two; 0: none" },
    { "window-timeout", "milliseconds that an access to the window may take" },
    { "window-grace", "milliseconds that one waits for a link that is down" },
    { "window-combine", "nanoseconds that a store waits for its neighbours" },
    { "window-rol", "accesses to the window are ROL, otherwise ROI" },
    { "window-uba-literal", "UBA is UBA_BASE + PA[34:0], otherwise + the place "
                            "in what the entry covers" },
    { "window-again", "a load that waits when the machine stops is made again when "
                      "it goes on, otherwise gets all ones" },
    { "window-tee", "entries of the decoder may be of a TEE" },
    { "window-managed", "the decoder's table is in the device, for the UBFM alone to "
                        "write, otherwise in memory and the driver's" },
};

void ubc_window_props_describe(ObjectClass *klass)
{
    for (unsigned i = 0; i < ARRAY_SIZE(descriptions); i++) {
        object_class_property_set_description(klass, descriptions[i].name,
                                              descriptions[i].text);
    }
}
