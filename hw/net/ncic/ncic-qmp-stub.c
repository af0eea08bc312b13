/*
 * The NICs of an emulator that has no ncic-nic
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/qapi-commands-ncic.h"
#include "qapi/type-helpers.h"

NcicInfoList *qmp_query_ncic(Error **errp)
{
    return NULL;
}

HumanReadableText *qmp_x_query_ncic(Error **errp)
{
    g_autoptr(GString) buf = g_string_new("");

    return human_readable_text_from_str(buf);
}
