/*
 * A hostile migration stream for ncic-nic's RDMA engine, by libFuzzer: the image
 * of a busy engine (QPs of each service, a chain of requests, inline data,
 * doorbells not yet served), changed where the input says: records of three bytes
 * of place and one of value.  What is taken has to work on, what is refused leaves
 * an engine that can be reset.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>
#include <string.h>

#include "../../unit/rdma/native-side.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void stir(Side *s)
{
    for (int i = 0; i < 12; i++) {
        s->now += 1 << (i + 16);
        side_settles(s);
    }
    g_ptr_array_set_size(s->wire, 0);
}

static void go_on(Side *s)
{
    stir(s);
    side_ring(s, 0, 48, RDMA_OP_WRITE);
    side_cq(s, CQN, 5);
    for (uint32_t qpn = QPN; qpn < QPN + 3; qpn++) {
        side_query(s, NRC_QUERY_QP, qpn);
        side_mbox(s);
        side_cmd(s, NRC_2ERR_QP, qpn, 0);
        stir(s);
        side_hcr(s, 0, qpn, 0, NRC_2RST_QP, 3);
    }
    side_hcr(s, 0, CQN, 0, NRC_HW2SW_CQ, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t *image, *memory;
    static size_t len;
    static Side *s;
    Input in = { data, data + size };
    g_autofree uint8_t *copy = NULL;

    if (!image) {
        Side *full = side_busy();

        image = native_save(full->n, full->now, &len);
        memory = g_memdup2(full->mem, MEM_SIZE);
        side_free(full);
        s = side_new(1, NULL);
    }
    copy = g_memdup2(image, len);
    while (in.p < in.end) {
        uint32_t at = take(&in, 3);

        copy[at % len] = take(&in, 1);
    }
    memcpy(s->mem, memory, MEM_SIZE);
    s->now = 1;
    if (!native_load(s->n, s->now, copy, len)) {
        go_on(s);
    }
    native_reset(s->n);
    g_array_set_size(s->msix, 0);
    return 0;
}
