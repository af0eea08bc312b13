/*
 * A ring of messages in the receiver's memory.  Uncached the sender writes it from
 * another node, and loads from there only when the ring seems full; cached each end does
 * what it can while it is the owner of all of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>
#include <time.h>

#include "perf.h"

/* Indexes count messages, and are a page away from each other and from the slots. */
#define SENT 0
#define RECEIVED 4096
#define SLOTS 8192
#define WORDS 8 /* of a slot */
#define SLOT (WORDS * 8)
#define PATIENCE_NS 120000000000ll

static unsigned slots_of(size_t len)
{
    return (len - SLOTS) / SLOT;
}

static uint64_t word_of(unsigned message, unsigned word)
{
    return (message + 1) * 0x9e3779b97f4a7c15ull + word;
}

/* The other one has a processor of the host, too. */
static void pause_us(long us)
{
    nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
}

static void slot_put(const UbMem *m, unsigned n)
{
    size_t at = SLOTS + (size_t)(n % slots_of(m->len)) * SLOT;

    for (unsigned i = 0; i < WORDS; i++) {
        store(m, at + i * 8, word_of(n, i));
    }
}

void ring_receive(void *memory, size_t len, unsigned messages)
{
    volatile uint64_t *sent = (void *)((uint8_t *)memory + SENT);
    volatile uint64_t *received = (void *)((uint8_t *)memory + RECEIVED);
    volatile uint64_t *slot = (void *)((uint8_t *)memory + SLOTS);
    int64_t end = now_ns() + PATIENCE_NS;

    for (unsigned n = 0; n < messages; n++) {
        volatile uint64_t *w = slot + (size_t)(n % slots_of(len)) * WORDS;

        while (__atomic_load_n(sent, __ATOMIC_ACQUIRE) <= n) {
            if (now_ns() > end) {
                die("message %u does not come", n);
            }
            pause_us(100);
        }
        for (unsigned i = 0; i < WORDS; i++) {
            is("message", w[i], word_of(n, i));
        }
        __atomic_store_n(received, n + 1, __ATOMIC_RELEASE);
    }
}

void ring_send(const UbMem *m, unsigned messages)
{
    int64_t end = now_ns() + PATIENCE_NS;
    unsigned slots = slots_of(m->len);
    uint64_t received = 0;

    for (unsigned n = 0; n < messages; n++) {
        while (n - received >= slots) {
            received = load(m, RECEIVED);
            if (received > n) {
                die("%llu messages were received of %u",
                    (unsigned long long)received, n);
            }
            if (now_ns() > end) {
                die("message %u finds no room", n);
            }
        }
        slot_put(m, n);
        /* Strong order: it is not there before the message. */
        store(m, SENT, n + 1);
    }
    if (ubmem_fence(m)) {
        die("messages were lost");
    }
}

void ring_put(const UbMem *m, unsigned messages)
{
    int64_t end = now_ns() + PATIENCE_NS;

    for (unsigned n = 0; n < messages;) {
        unsigned before = n;

        own(m, "write");
        while (n < messages && n - load(m, RECEIVED) < slots_of(m->len)) {
            slot_put(m, n++);
        }
        store(m, SENT, n);
        own(m, "invalid");
        if (n == before) {
            if (now_ns() > end) {
                die("message %u finds no room", n);
            }
            pause_us(1000);
        }
    }
}

void ring_take(const UbMem *m, unsigned messages)
{
    int64_t end = now_ns() + PATIENCE_NS;

    for (unsigned n = 0; n < messages;) {
        unsigned before = n;

        own(m, "write");
        while (n < load(m, SENT)) {
            size_t at = SLOTS + (size_t)(n % slots_of(m->len)) * SLOT;

            for (unsigned i = 0; i < WORDS; i++) {
                is("message", load(m, at + i * 8), word_of(n, i));
            }
            n++;
        }
        store(m, RECEIVED, n);
        own(m, "invalid");
        if (n == before) {
            if (now_ns() > end) {
                die("message %u does not come", n);
            }
            pause_us(1000);
        }
    }
}
