/*
 * RC Link devices of an emulator that has none.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/qapi-commands-rclink.h"
#include "qapi/type-helpers.h"

RclinkInfoList *qmp_query_rclink(Error **errp)
{
    return NULL;
}

HumanReadableText *qmp_x_query_rclink(Error **errp)
{
    g_autoptr(GString) buf = g_string_new("");

    return human_readable_text_from_str(buf);
}
