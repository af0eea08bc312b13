/*
 * What passes a wire.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-watch.h"

#define BLOCK_PACKET 6  /* Enhanced Packet Block of pcapng */

void watch_pair(Watch *w, EngPair *p, const EngPlan *plan, const char *more)
{
    EngPlan with = *plan;
    g_autofree char *props = NULL;

    *w = (Watch) { .pair = p, .dir = g_dir_make_tmp("ubh-XXXXXX", NULL) };
    w->path = g_build_filename(w->dir, "a.pcap", NULL);
    props = g_strdup_printf("pcap=%s%s", w->path, more);
    /* One end only, or they would share the file. */
    with.props = more[0] ? more + 1 : NULL;
    eng_start_apart(p, &with, props);
}

void watch_start(Watch *w, const EngPlan *plan, const char *more)
{
    watch_pair(w, &w->p, plan, more);
}

void watch_read(const gchar *file, gsize size, unsigned port, GArray *sent,
                GArray *came)
{
    for (uint32_t at = 0, all; at + 12 <= size; at += all) {
        const uint8_t *b = (const uint8_t *)file + at, *r = b + 28;

        all = ldl_le_p(b + 4);
        g_assert_cmpuint(all, >=, 12);
        if (ldl_le_p(b) == BLOCK_PACKET && r[1] == 0 && r[3] == port) {
            Seen s = { .cfg = r[5], .vl = r[4], .p = r + 8,
                       .len = ldl_le_p(b + 20) - 8 };

            g_array_append_val(r[2] & 1 ? sent : came, s);
        }
    }
}

void watch_look(Watch *w)
{
    gsize size;

    eng_stop(w->pair);
    g_assert_true(g_file_get_contents(w->path, &w->file, &size, NULL));
    w->sent = g_array_new(false, false, sizeof(Seen));
    w->came = g_array_new(false, false, sizeof(Seen));
    watch_read(w->file, size, 0, w->sent, w->came);
    unlink(w->path);
    rmdir(w->dir);
}

void watch_end(Watch *w)
{
    g_array_free(w->sent, true);
    g_array_free(w->came, true);
    g_free(w->file);
    g_free(w->path);
    g_free(w->dir);
}

/* The @n-th packet of @cfg. */
const Seen *watch_packet(const GArray *list, unsigned cfg, unsigned n)
{
    for (guint i = 0; i < list->len; i++) {
        const Seen *s = &g_array_index(list, Seen, i);

        if (s->cfg == cfg && !n--) {
            return s;
        }
    }
    g_assert_not_reached();
}

unsigned watch_packets(const GArray *list, unsigned cfg)
{
    unsigned n = 0;

    for (guint i = 0; i < list->len; i++) {
        n += g_array_index(list, Seen, i).cfg == cfg;
    }
    return n;
}
