/*
 * ub-node: what it says to its client.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ub-node.h"

void node_drop_client(void)
{
    close(prog.client);
    prog.client = -1;
    g_byte_array_set_size(prog.input, 0);
    g_byte_array_set_size(prog.output, 0);
}

void node_flush_client(void)
{
    ssize_t n;

    if (!prog.output->len) {
        return;
    }
    n = send(prog.client, prog.output->data, prog.output->len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
        g_byte_array_remove_range(prog.output, 0, n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        node_drop_client();
    }
}

void node_say(json_t *answer, json_t *id)
{
    char *line;

    if (id) {
        json_object_set(answer, "id", id);
    }
    line = json_dumps(answer, JSON_COMPACT);
    json_decref(answer);
    if (prog.client >= 0) {
        g_byte_array_append(prog.output, (uint8_t *)line, strlen(line));
        g_byte_array_append(prog.output, (const uint8_t *)"\n", 1);
        if (prog.output->len > ANSWERS) {
            node_drop_client();
        } else {
            node_flush_client();
        }
    }
    free(line);
}
