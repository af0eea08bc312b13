/*
 * Fuzz the PCS receiver with what a hostile or broken peer may put on the
 * lanes: the input is a program of pieces - raw symbols, AMCTLs with any
 * command, good training and data, control calls, also out of callbacks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>
#include <string.h>

#include "pcs.h"

#define CAP 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Input {
    const uint8_t *p;
    size_t left;
} Input;

typedef struct Ctx {
    UbPcsRx *rx;
    Input in;
    unsigned sink;
} Ctx;

static unsigned take(Input *in)
{
    if (!in->left) {
        return 0;
    }
    in->left--;
    return *in->p++;
}

/* Calls that callbacks may make. */
static void meddle(Ctx *c)
{
    switch (take(&c->in) % 16) {
    case 0:
        ub_pcs_rx_relock(c->rx, take(&c->in));
        break;
    case 1:
        ub_pcs_rx_enable(c->rx, take(&c->in), take(&c->in) & 1, false);
        break;
    case 2:
        ub_pcs_rx_reset(c->rx);
        break;
    case 3:
        ub_pcs_rx_set_fec(c->rx, take(&c->in) % 3, 1 + take(&c->in) % 2);
        break;
    default:
        break;
    }
}

static void on_flits(void *opaque, const uint8_t *flits, size_t n, bool ok)
{
    Ctx *c = opaque;

    for (size_t i = 0; i < n * UB_FLIT; i++) {
        c->sink += flits[i];
    }
    meddle(c);
}

static void on_ltb(void *opaque, unsigned lane, const uint8_t ltb[UB_LTB])
{
    Ctx *c = opaque;

    for (unsigned i = 0; i < UB_LTB; i++) {
        c->sink += ltb[i];
    }
}

static void on_amctl(void *opaque, unsigned lane, const UbAmctl *a)
{
    meddle(opaque);
}

static void on_event(void *opaque, UbPcsEvent ev, unsigned lane, uint32_t arg)
{
    meddle(opaque);
}

static void raw(Input *in, UbLaneRun *run)
{
    run->mask = take(in);
    run->n = take(in) % 64;
    for (unsigned l = 0; l < UB_LANES; l++) {
        for (size_t i = 0; i < run->n; i++) {
            run->lane[l][i] = take(in);
        }
    }
}

static void amctls(Input *in, UbLaneRun *run)
{
    unsigned type = take(in), detail = take(in), hurt = take(in);

    run->mask = take(in);
    run->n = UB_AMCTL_SYMBOLS;
    for (unsigned l = 0; l < UB_LANES; l++) {
        ub_amctl_encode(run->lane[l], hurt & 1 ? take(in) : l, type, detail);
    }
    if (hurt & 2) {
        run->lane[hurt >> 2 & 7][hurt >> 5] ^= take(in);
    }
    if (hurt & 16) {
        run->n += take(in) * 4;
    }
}

/* A piece of what a well-behaved transmitter sends. */
static void good(Input *in, UbPcsTx *tx, UbLaneRun *run)
{
    static const uint8_t ltb[UB_LANES][UB_LTB], flits[64 * UB_FLIT];
    UbPcsMode m = *ub_pcs_tx_mode(tx);

    run->n = run->mask = 0;
    switch (take(in) % 12) {
    case 0:
        ub_pcs_tx_reset(tx);
        ub_pcs_tx_train(tx, 1 + take(in) % 8, take(in) & 1, take(in) & 1,
                        NULL);
        break;
    case 1:
    case 2:
        ub_pcs_tx_ltbs(tx, ltb, take(in), run);
        break;
    case 3:
        m.width = 1 << take(in) % 4;
        m.fec = take(in) % 3;
        m.codecs = 1 + take(in) % 2;
        ub_pcs_tx_sdf(tx, &m, run);
        break;
    case 4:
        ub_pcs_tx_edf(tx, run);
        break;
    case 5:
        ub_pcs_tx_width(tx, 1 << take(in) % 4, run);
        break;
    case 6:
        ub_pcs_tx_wake(tx, 1 + take(in) % 8, ltb);
        break;
    case 7:
        ub_pcs_tx_close(tx, run);
        break;
    case 8:
        ub_pcs_tx_prbs(tx, take(in) * 8, run);
        break;
    case 9:
        ub_pcs_tx_open(tx, run);
        break;
    case 10:
        ub_pcs_tx_command(tx, take(in), take(in), take(in));
        break;
    default:
        ub_pcs_tx_flits(tx, flits, take(in) % 64, run);
        break;
    }
    if (run->n && take(in) % 4 == 0) {
        run->lane[take(in) % 8][take(in) * 16 % run->n] ^= take(in);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const UbPcsRxOps ops = {
        .flits = on_flits, .ltb = on_ltb, .amctl = on_amctl,
        .event = on_event,
    };
    static uint8_t lanes[UB_LANES][CAP];
    Ctx c = { .in = { data, size } };
    UbLaneRun run = { .cap = CAP };
    UbPcsParams p;
    UbPcsTx *tx;

    ub_pcs_params_init(&p);
    p.confirm = take(&c.in) % 4;
    p.skew = take(&c.in) * 4;
    p.period[0] = 64 + take(&c.in) * 8;
    p.period[1] = 64;
    p.full_disorder = take(&c.in) & 1;
    p.hi_fec_ber = take(&c.in);
    for (unsigned l = 0; l < UB_LANES; l++) {
        run.lane[l] = lanes[l];
        memset(lanes[l], 0, CAP);
    }
    c.rx = ub_pcs_rx_new(&p, &ops, &c);
    tx = ub_pcs_tx_new(&p);
    ub_pcs_rx_enable(c.rx, 0xff, take(&c.in) & 1, take(&c.in) & 1);
    while (c.in.left) {
        switch (take(&c.in) % 8) {
        case 0:
            raw(&c.in, &run);
            break;
        case 1:
        case 2:
            amctls(&c.in, &run);
            break;
        case 3:
            meddle(&c);
            continue;
        default:
            good(&c.in, tx, &run);
            break;
        }
        ub_pcs_rx(c.rx, &run);
    }
    ub_pcs_rx_free(c.rx);
    ub_pcs_tx_free(tx);
    return 0;
}
