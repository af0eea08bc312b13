/*
 * Fuzzer of the data link layer's receive path.
 *
 * The input is a little program: a byte of options, then steps.  A step either
 * hands raw bytes to the receiver as flits, or lets the link do something that
 * brings it on (a good control block, a retry set, time), so that states
 * behind the handshake are reached.  CRCs of some flits are made right, or
 * hardly any would get past the check.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "ub/dll.h"

#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every other packet is kept to the end, some of them. */
static CorePacket *kept[32];
static unsigned keeps;

static void deliver(void *opaque, CorePacket *pkt)
{
    unsigned *packets = opaque;

    if (++*packets & 1 || keeps == G_N_ELEMENTS(kept)) {
        core_packet_free(pkt);
    } else {
        kept[keeps++] = pkt;
    }
}

/* What a shell may do inside callbacks. */
static struct {
    UbDll *dll;
    unsigned mode;
    bool rash;
} shell;

static void error(void *opaque, UbDllError err, bool fatal, const char *what)
{
    if (fatal && shell.rash) {
        ub_dll_reset(shell.dll, 0);
    }
}

static void retrain(void *opaque)
{
    if (shell.rash) {
        ub_dll_phy_retrain(shell.dll, 0);
        ub_dll_phy_active(shell.dll, 0, shell.mode, true);
    }
}

static unsigned set_of(UbBlockFormat f, uint8_t *out, unsigned type,
                       unsigned ptr)
{
    UbRetryReq req = { ptr, 0, 1 };
    UbRetryAck ack = { 1, 100, ptr, ptr };

    ub_put_simple(f, out, UB_CB_RETRY_IDLE);
    for (unsigned i = 1; i < UB_RETRY_SET; i++) {
        if (type == UB_CB_RETRY_REQ) {
            ub_put_retry_req(f, out + i * UB_FLIT_SIZE, &req);
        } else {
            ub_put_retry_ack(f, out + i * UB_FLIT_SIZE, &ack);
        }
    }
    return UB_RETRY_SET;
}

/* One block with the header and the bytes of the input, sealed. */
static unsigned block_of(UbBlockFormat f, uint8_t *out, Input *in)
{
    unsigned flits;

    memset(out, 0, UB_BLOCK_SIZE);
    for (unsigned i = 0; i < 4 + next(in) % 16; i++) {
        out[i] = next(in);
    }
    flits = ub_block_cfg(out) ? ub_plength_unpack(ub_lph_plength(
                                get_be32(out))).last_flits
                              : ub_lch_flits(out);
    ub_seal_block(f, out, flits, true, false);
    return flits;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const UbDllOps ops = {
        .deliver = deliver,
        .error = error,
        .retrain = retrain,
    };
    Input in = { data, data + size };
    CorePacketPool *pool = core_packet_pool_new(0, 64);
    unsigned options = next(&in), packets = 0, n;
    uint8_t buf[64 * UB_FLIT_SIZE], ok[64];
    UbBlockFormat f = { options & 1, UB_CRC_COVER_INFO };
    int64_t now = 0;
    UbDllConfig cfg;
    UbDllStatus st;
    UbDll *dll;

    ub_dll_config_init(&cfg);
    cfg.wish.retry_buf_depth = 128;
    cfg.undefined_fatal = options >> 1 & 1;
    cfg.tx_share = options >> 2 & 1;
    cfg.wish.rxbuf_vl_share = options >> 3 & 1;
    cfg.down_recovers = 1;
    cfg.retry_set_run = options & 16 ? 2 : 32;
    dll = ub_dll_new(&cfg, &ops, &packets, pool);
    shell.dll = dll;
    shell.mode = f.mode;
    shell.rash = options >> 5 & 1;
    ub_dll_phy_up(dll, now);
    ub_dll_phy_active(dll, now, f.mode, true);

    for (unsigned step = 0; in.p < in.end && step < 300; step++) {
        unsigned op = next(&in);

        ub_dll_status(dll, &st);
        memset(ok, 1, sizeof(ok));
        switch (op % 12) {
        case 0: /* raw bytes, some with a bad FEC verdict */
            n = 1 + next(&in) % 40;
            for (unsigned i = 0; i < n * UB_FLIT_SIZE; i++) {
                buf[i] = next(&in);
            }
            ok[next(&in) % 64] = 0;
            ub_dll_rx(dll, now, buf, n, ok);
            break;
        case 1:
            n = set_of(f, buf, UB_CB_RETRY_REQ, st.wr_ptr - next(&in) % 4);
            ub_dll_rx(dll, now, buf, n, NULL);
            break;
        case 2:
            n = set_of(f, buf, UB_CB_RETRY_ACK, st.rcv_ptr - next(&in) % 4);
            ub_dll_rx(dll, now, buf, n, NULL);
            break;
        case 3:
            n = ub_put_init(f, buf, &cfg.wish, 5);
            ub_dll_rx(dll, now, buf, n, NULL);
            break;
        case 4:
            n = ub_put_crd_ack(f, buf, &(UbCrdAck) {
                .initial = op & 16, .send_done = op & 32,
                .ack_num = next(&in) % 8, .crd_num = { next(&in) % 64, 3 } });
            ub_dll_rx(dll, now, buf, n, NULL);
            break;
        case 5:
        case 6:
            n = block_of(f, buf, &in);
            ub_dll_rx(dll, now, buf, n, NULL);
            break;
        case 7:
            n = ub_pack_packet(f, op >> 4 & 7, 6, 0, data,
                               size < 600 ? size : 600, false, buf, 64);
            ub_dll_rx(dll, now, buf, n, NULL);
            break;
        case 8: {
            CorePacket *pkt = core_packet_alloc(pool, 1 + next(&in) * 16);

            if (pkt) {
                memset(core_packet_data(pkt), op, pkt->len);
                ub_meta(pkt)->vl = op >> 4;
                ub_meta(pkt)->lph_cfg = 6;
                if (!ub_dll_send(dll, pkt)) {
                    core_packet_free(pkt);
                }
            }
            break;
        }
        case 9:
            now += 10000 << (op >> 4 & 7);
            ub_dll_poll(dll, now);
            break;
        case 10:
            if (op & 16) {
                ub_dll_phy_retrain(dll, now);
                f.mode = (op & 32) ? !f.mode : f.mode;
                ub_dll_phy_active(dll, now, f.mode, true);
            } else if (op & 64) {
                ub_dll_phy_down(dll, now);
                ub_dll_phy_up(dll, now);
                ub_dll_phy_active(dll, now, f.mode, true);
            } else {
                ub_dll_mode_change(dll, now);
            }
            break;
        default:
            ub_dll_tx(dll, now, buf, 1 + (op >> 4) * 4);
            break;
        }
        ub_dll_status(dll, &st);
        /* An invariant of ours, not of the peer. */
        demand(st.num_free_buf <= st.depth && st.wr_ptr < st.depth &&
               st.tail_ptr < st.depth);
    }
    ub_dll_free(dll);
    while (keeps) {
        core_packet_free(kept[--keeps]);
    }
    demand(!core_packet_pool_used(pool));
    core_packet_pool_free(pool);
    return 0;
}
