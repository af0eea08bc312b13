/*
 * Speed of the data link layer on one core: CRC30 over full blocks by each
 * implementation, and packets from one end to the other (transmit and receive
 * together, acknowledgements and credits flowing back), beside memcpy of the
 * same bytes.  GB/s of payload; timings decide nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ub/dll.h"

#define CHUNK 1536 /* flits handed over at a time */

static double seconds;

/* CPU time of this thread, so that a busy machine does not count. */
static gint64 cpu_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return ts.tv_sec * G_USEC_PER_SEC + ts.tv_nsec / 1000;
}

static double rate(double bytes, gint64 start)
{
    return bytes / 1e3 / (cpu_us() - start);
}

static bool running(gint64 start)
{
    return cpu_us() - start < seconds * 1e6;
}

static void bench_crc(const char *name)
{
    uint8_t block[UB_BLOCK_SIZE];
    gint64 start;
    double bytes = 0;
    uint32_t sum = 0;

    if (!ub_crc30_select(name)) {
        printf("crc30 %-8s not usable here\n", name);
        return;
    }
    memset(block, 0x5a, sizeof(block));
    start = cpu_us();
    do {
        for (unsigned n = 0; n < 1000; n++) {
            block[0] = sum;
            sum += ub_crc30_block(block, UB_BLOCK_FLITS, UB_CRC_COVER_INFO);
        }
        bytes += 1000.0 * sizeof(block);
    } while (running(start));
    printf("crc30 %-8s %6.2f GB/s  (%08x)\n", name, rate(bytes, start), sum);
}

static uint64_t got;

static void deliver(void *opaque, CorePacket *pkt)
{
    got += pkt->len;
    core_packet_free(pkt);
}

static void move(UbDll *from, UbDll *to, double *tx, double *rx)
{
    static uint8_t flits[CHUNK * UB_FLIT_SIZE];
    gint64 t0 = cpu_us(), t1, t2;
    size_t n = ub_dll_tx(from, 0, flits, CHUNK);

    t1 = cpu_us();
    ub_dll_rx(to, 0, flits, n, NULL);
    t2 = cpu_us();
    *tx += t1 - t0;
    *rx += t2 - t1;
}

static void bench_link(UbBlockMode mode, unsigned len)
{
    static const UbDllOps ops = { .deliver = deliver };
    CorePacketPool *pool = core_packet_pool_new(0, 0);
    double tx = 0, rx = 0, bytes = 0;
    UbDllConfig cfg;
    UbDll *e[2];
    gint64 start;

    ub_dll_config_init(&cfg);
    cfg.credit_timeout = 0;
    for (unsigned i = 0; i < 2; i++) {
        e[i] = ub_dll_new(&cfg, &ops, NULL, pool);
        ub_dll_phy_up(e[i], 0);
        ub_dll_phy_active(e[i], 0, mode, true);
    }
    for (unsigned n = 0; n < 100; n++) {
        move(e[0], e[1], &tx, &rx);
        move(e[1], e[0], &tx, &rx);
    }
    got = 0;
    tx = rx = 0;
    start = cpu_us();
    do {
        for (unsigned n = 0; n < CHUNK * 16 / len + 1; n++) {
            CorePacket *pkt = core_packet_alloc(pool, len);

            ub_meta(pkt)->lph_cfg = 6;
            if (!ub_dll_send(e[0], pkt)) {
                core_packet_free(pkt);
                break;
            }
        }
        move(e[0], e[1], &tx, &rx);
        move(e[1], e[0], &tx, &rx);
    } while (running(start));
    bytes = got;
    printf("%-7s %5u B  %6.2f GB/s both ends, transmit %6.2f, receive %6.2f, "
           "%.2f Mpacket/s\n", mode ? "non-crc" : "crc", len,
           rate(bytes, start), bytes / 1e3 / tx, bytes / 1e3 / rx,
           bytes / len / (cpu_us() - start));
    ub_dll_free(e[0]);
    ub_dll_free(e[1]);
    core_packet_pool_free(pool);
}

static void bench_memcpy(void)
{
    g_autofree uint8_t *a = g_malloc0(1 << 20), *b = g_malloc0(1 << 20);
    gint64 start = cpu_us();
    double bytes = 0;

    do {
        memcpy(a, b, 1 << 20);
        __asm__ volatile("" : : "r"(a), "r"(b) : "memory");
        bytes += 1 << 20;
    } while (running(start));
    printf("memcpy         %6.2f GB/s\n", rate(bytes, start));
}

int main(int argc, char **argv)
{
    static const unsigned lens[] = { 64, 256, 1500, 4096, 9000 };
    const char *best = ub_crc30_impl();

    seconds = argc > 1 ? g_ascii_strtod(argv[1], NULL) : 0.3;
    bench_memcpy();
    bench_crc("slice8");
    bench_crc("pclmul");
    bench_crc("vpclmul");
    ub_crc30_select(best);
    for (unsigned mode = 0; mode < 2; mode++) {
        for (size_t i = 0; i < G_N_ELEMENTS(lens); i++) {
            bench_link(mode, lens[i]);
        }
    }
    return 0;
}
