/*
 * What a monitor is told of a controller: the guest and the peer choose how often it
 * changes, so the last state is told, and not more often than a reader can follow.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "ubc-pci.h"

/* Between two tellings, in the host's time. */
#define PAUSE_MS 100

static void news_tell(void *opaque)
{
    UbcNews *n = opaque;
    int64_t now = qemu_clock_get_ms(QEMU_CLOCK_REALTIME);

    if (now >= n->next) {
        n->next = now + PAUSE_MS;
        if (n->tell(n->owner)) {
            return;
        }
    }
    timer_mod(n->timer, n->next);
}

void ubc_pci_news_init(UbcNews *n, bool (*tell)(UbcPci *s), UbcPci *s)
{
    n->tell = tell;
    n->owner = s;
    n->next = 0;
    n->timer = timer_new_ms(QEMU_CLOCK_REALTIME, news_tell, n);
    n->bh = qemu_bh_new(news_tell, n);
}

void ubc_pci_news_free(UbcNews *n)
{
    qemu_bh_delete(n->bh);
    timer_free(n->timer);
    n->bh = NULL;
}

void ubc_pci_news(UbcNews *n)
{
    if (n->bh) {
        qemu_bh_schedule(n->bh);
    }
}
