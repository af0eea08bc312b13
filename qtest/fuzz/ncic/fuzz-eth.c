/*
 * Fuzzer of the Ethernet engine's core: registers, descriptors and frames in
 * any order, descriptor reads that answer late or never.
 *
 * The input is a list of steps, one byte of kind and its operands; operands that
 * are missing end it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>
#include "../../unit/ncic/harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Input {
    const uint8_t *p;
    size_t left;
} Input;

static uint32_t take(Input *in, unsigned bytes)
{
    uint32_t v = 0;

    while (bytes-- && in->left) {
        v = v << 8 | *in->p++;
        in->left--;
    }
    return v;
}

static bool drop_payload(void *opaque, const NcicRoceDesc *d,
                         const uint8_t *payload)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < d->length; i++) {
        sum += payload[i];
    }
    return sum & 1;
}

static const NcicRoceSink sink = { .rx = drop_payload };

static void forget_sent(Rig *r)
{
    for (unsigned i = 0; i < r->n_sent; i++) {
        g_byte_array_unref(r->sent[i]);
    }
    r->n_sent = 0;
}

static void frame_in(Rig *r, Input *in)
{
    g_autofree uint8_t *f = NULL;
    size_t len = take(in, 2);
    size_t n = MIN(len, in->left);

    f = g_malloc0(MAX(len, 1));
    memcpy(f, in->p, n);
    in->p += n;
    in->left -= n;
    ncic_eth_rx(&r->eth, f, len);
}

static void step(Rig *r, Input *in)
{
    uint8_t kind = take(in, 1);
    uint32_t a, i;

    switch (kind % 12) {
    case 0:
    case 1:
    case 2:
        a = take(in, 2) % 0x3000 & ~3u;
        rig_write(r, NCIC_NCSR + a, take(in, 4));
        break;
    case 3:
        (void)rig_read(r, NCIC_NCSR + (take(in, 2) % 0x3000 & ~3u));
        break;
    case 4:
        rig_queue(r, take(in, 1) & 1, take(in, 1) & 3, take(in, 1) % 12);
        break;
    case 5:
        a = take(in, 2);
        rig_desc(r, a & 1, a >> 1 & 3, 11, a >> 3,
                 MEM_BASE + (take(in, 4) % (MEM_SIZE + 0x1000)), take(in, 2),
                 take(in, 1), take(in, 1));
        break;
    case 6:
    case 7:
        frame_in(r, in);
        break;
    case 8:
        ncic_eth_tx_run(&r->eth, take(in, 1) + 1);
        forget_sent(r);
        break;
    case 9:
        r->async = take(in, 1) & 1;
        for (i = take(in, 1); r->n_wait && i; i--) {
            rig_answer(r, i % r->n_wait);
        }
        if (r->n_wait > 200) {
            r->n_wait = 0;
        }
        break;
    case 10:
        r->tx_result = take(in, 1) % 3;
        r->dma_off = take(in, 1) == 7;
        ncic_eth_tx_resume(&r->eth);
        ncic_eth_restart(&r->eth);
        break;
    case 11:
        if (take(in, 1) < 8) {
            ncic_eth_reset(&r->eth);
        } else {
            ncic_roce_attach(&r->eth, take(in, 1) & 1 ? &sink : NULL, r);
            ncic_eth_set_link(&r->eth, take(in, 1) & 1);
        }
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t mtu[] = { 1500, 9000, 68, 65517 };
    Input in = { data, size };
    NcicEthConfig cfg = rig_config();
    uint8_t how = take(&in, 1);
    Rig r;

    cfg.queues = (how & 31) + 1;
    cfg.mtu = mtu[how >> 6];
    cfg.irq_coalesce = how & 32;
    cfg.arm_oneshot = take(&in, 1) == 1;
    cfg.doc_flags = take(&in, 1) == 1;
    rig_init(&r, &cfg);
    while (in.left) {
        step(&r, &in);
    }
    forget_sent(&r);
    rig_fini(&r);
    return 0;
}
