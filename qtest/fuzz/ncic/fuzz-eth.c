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

/* An RDMA engine that reads what it gets and sends when it may. */
static bool take_frame(void *opaque, const uint8_t *frame, size_t len)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < len; i++) {
        sum += frame[i];
    }
    return sum & 1;
}

static void take_arp(void *opaque, const uint8_t *frame, size_t len)
{
    take_frame(opaque, frame, len);
}

static void tx_ready(void *opaque)
{
}

static const NcicRoceSink sink = { take_frame, take_arp, tx_ready };

static void roce_send(Rig *r, unsigned n, size_t len)
{
    g_autofree uint8_t *f = g_malloc0(MAX(len, 14));

    while (n--) {
        ncic_roce_tx(&r->eth, f, MAX(len, 14));
    }
    ncic_roce_turn_over(&r->eth);
}

/* What was saved is loaded, perhaps damaged. */
static void reload(Rig *r, Input *in)
{
    CoreImage *im = core_image_save(0);
    g_autofree uint8_t *data = NULL;
    size_t len;

    ncic_eth_image(&r->eth, im);
    data = core_image_take(im, &len);
    core_image_free(im);
    for (unsigned n = take(in, 1) & 3; n; n--) {
        uint32_t at = take(in, 2) % len;

        data[at] = take(in, 1);
    }
    im = core_image_load(data, len, 0);
    ncic_eth_image(&r->eth, im);
    if (core_image_done(im)) {
        ncic_eth_reset(&r->eth);
    }
    core_image_free(im);
    ncic_eth_restart(&r->eth);
}

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

    switch (kind % 14) {
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
        r->wire_full = take(in, 1) & 1;
        r->dma_off = take(in, 1) == 7;
        rig_wire_done(r, take(in, 1) & 1);
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
    case 12:
        i = take(in, 1);
        roce_send(r, i, take(in, 2));
        forget_sent(r);
        break;
    case 13:
        reload(r, in);
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
    cfg.rx_drop = take(&in, 1);
    cfg.roce_dest_only = how & 1;
    rig_init(&r, &cfg);
    while (in.left) {
        step(&r, &in);
    }
    forget_sent(&r);
    rig_fini(&r);
    return 0;
}
