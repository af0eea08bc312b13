/*
 * Hot-plug slots of a fabric, as ubfm deals with them (UB 2.0 appendix G).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <time.h>

#include "ubfm-plug.h"

int64_t ubfm_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

bool ubfm_may_print(UbfmPace *p)
{
    unsigned left_out;

    if (!ubfm_pace(p, ubfm_now(), &left_out)) {
        return false;
    }
    if (left_out) {
        fprintf(stderr, "ubfm: %u lines left out\n", left_out);
    }
    return true;
}

static void log_slot(void *opaque, const UbFmSlot *s, const char *what,
                     int status)
{
    UbfmPlug *p = opaque;
    char guid[UB_FM_GUID_TEXT];

    p->acted = true;
    if (!ubfm_may_print(&p->pace)) {
        return;
    }
    fprintf(stderr, "ubfm: %s slot %u: %s%s%s\n",
            ub_fm_guid_text(s->guid, guid), s->slot, what, status ? ": " : "",
            !status ? "" : status < 0 ? "no answer"
            : ub_mgmt_status_name(status));
}

/* What is lent goes back to where it came from; who does not answer is not waited
 * for. */
static int release(void *opaque, UbFm *fm, const bool *leaves, bool gone)
{
    UbfmPlug *p = opaque;
    UbFmPool pool = ubfm_pool_start(p->dev, fm, p->pool);

    ub_fm_pool_release(&pool, leaves, gone);
    return 0;
}

void ubfm_plug_init(UbfmPlug *p, UbmsgDev *d, const UbfmPool *pool,
                    unsigned window)
{
    ub_fm_plug_init(&p->core);
    p->core.window = window * INT64_C(1000000000);
    p->core.release = release;
    p->core.tell = log_slot;
    p->core.opaque = p;
    p->dev = d;
    p->pool = pool;
    p->acted = false;
    p->pace = (UbfmPace) { 0 };
}

void ubfm_plug_free(UbfmPlug *p)
{
    ub_fm_plug_free(&p->core);
}

unsigned ubfm_plug_survey(UbfmPlug *p, UbFm *fm)
{
    return ub_fm_plug_survey(&p->core, fm, ubfm_now());
}

int64_t ubfm_plug_turn(UbfmPlug *p, UbFm *fm)
{
    UbmsgPlug event;

    while (ubmsg_plug(p->dev, &event)) {
        ub_fm_plug_event(&p->core, fm, ubfm_now(), event.scna, event.data,
                         sizeof(event.data));
    }
    return ub_fm_plug_run(&p->core, fm, ubfm_now());
}
