/*
 * A hostile migration stream for ncic-mthca, by libFuzzer: the image of a busy
 * adapter (QPs of each service, an SRQ, Reads, inline data under way), changed
 * where the input says: records of three bytes of place and one of value.  What
 * is taken has to work on, what is refused leaves an adapter that can be reset.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>
#include <string.h>

#include "../../unit/rdma/mthca-end.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void stir(MGuest *g)
{
    for (int i = 0; i < 16; i++) {
        g->now += 1 << (i + 14);
        rdma_poll(mthca_rdma(g->m), g->now);
    }
    g_ptr_array_set_size(g->wire, 0);
}

static void go_on(MGuest *g)
{
    mthca_link_set(g->m, true);
    stir(g);
    for (uint32_t qpn = ME_QPN; qpn < ME_QPN + 3; qpn++) {
        mthca_uar_write(g->m, ME_UAR * MTHCA_UAR_PAGE + MTHCA_UAR_SEND,
                        mtb_doorbell(qpn, 1, 4, MTHCA_WQE_SEND, 2), 8);
        stir(g);
        mcmd_box(g, MTHCA_CMD_QUERY_QP, qpn, 0);
        min_box(g);
        mcmd_box(g, MTHCA_CMD_2ERR_QP, qpn, 0);
        stir(g);
        mcmd_box(g, MTHCA_CMD_ERR2RST_QP, qpn, 3);
    }
    mcmd_box(g, MTHCA_CMD_QUERY_SRQ, ME_SRQN, 0);
    mcmd_box(g, MTHCA_CMD_HW2SW_SRQ, ME_SRQN, 0);
    mcmd_box(g, MTHCA_CMD_CLOSE_HCA, 0, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MEMORY = ME_DATA + 0x2000 };
    static uint8_t *image, *memory;
    static size_t len;
    static MGuest *g;
    Input in = { data, data + size };
    g_autofree uint8_t *copy = NULL;

    if (!image) {
        MEnd e = mend_busy();

        image = mthca_save(e.g->m, e.g->now, &len);
        memory = g_memdup2(e.g->mem, MEMORY);
        mend_free(&e);
        g = mguest_new(1, false);
    }
    copy = g_memdup2(image, len);
    while (in.p < in.end) {
        uint32_t at = take(&in, 3);

        copy[at % len] = take(&in, 1);
    }
    memcpy(g->mem, memory, MEMORY);
    g->now = 1;
    if (!mthca_load(g->m, g->now, copy, len)) {
        go_on(g);
    }
    mthca_reset(g->m);
    return 0;
}
