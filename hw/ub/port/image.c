/*
 * One link end: migration.  The link itself does not migrate: the byte stream
 * is a new one, so both ends train again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "internal.h"

void ub_port_set_guid(UbPort *p, const uint8_t guid[16])
{
    memcpy(p->conf.guid, guid, sizeof(p->conf.guid));
    ub_wire_set_guid(p->wire, guid);
}

void ub_port_image(UbPort *p, CoreImage *im)
{
    bool enabled = p->enabled;
    bool retrain = p->link_wish == PORT_WISH_RETRAIN;

    core_image_begin(im, CORE_TAG('P', 'O', 'R', 'T'), 1);
    core_image_flag(im, &enabled);
    core_image_flag(im, &retrain);
    core_image_end(im);
    if (core_image_loading(im) && !core_image_error(im)) {
        p->enabled = enabled;
        ub_port_restart(p, core_image_now(im));
        if (retrain) {
            port_link_retrain(p);
        }
    }
}
