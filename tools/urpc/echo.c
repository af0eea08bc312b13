/*
 * A function that says what it was told.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "samples.h"

static void echo_run(void *opaque, UrpcCall *call, int64_t now)
{
    uint32_t len, more;
    const void *said = urpc_call_inline(call, &len);
    const void *args = urpc_call_args(call, &more);
    uint8_t *out = malloc((size_t)len + more + 1);

    if (!out) {
        urpc_reply(call, now, URPC_NO_BUFFER, NULL, 0);
        return;
    }
    memcpy(out, said, len);
    if (more) {
        memcpy(out + len, args, more);
    }
    urpc_reply(call, now, URPC_OK, out, len + more);
    free(out);
}

int sample_echo_add(UrpcFunctions *fns, uint32_t unit)
{
    UrpcFunction f = {
        .function = URPC_FUNCTION(unit, 0, SAMPLE_ECHO), .name = "echo",
        .defined = URPC_PLAIN, .run = echo_run,
    };

    return urpc_functions_add(fns, &f);
}
