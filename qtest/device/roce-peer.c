/*
 * A RoCEv2 node that is the test itself
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "roce-peer.h"

enum { ETH = 14, IP = 20, UDP = 8, BTH = 12, ICRC = 4 };

static uint32_t crc32_bits(uint32_t crc, const uint8_t *p, size_t len)
{
    while (len--) {
        crc ^= *p++;
        for (int i = 0; i < 8; i++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
        }
    }
    return crc;
}

uint32_t roce_peer_icrc(const uint8_t *ip, size_t len)
{
    static const uint8_t variant[] = { 1, 8, 10, 11, 26, 27, 32 };
    g_autofree uint8_t *m = g_memdup2(ip, len);
    uint8_t ones[8];

    memset(ones, 0xff, sizeof(ones));
    for (size_t i = 0; i < ARRAY_SIZE(variant); i++) {
        m[variant[i]] = 0xff;
    }
    return ~crc32_bits(crc32_bits(0xffffffff, ones, 8), m, len);
}

static void put_mac(uint8_t *p, uint64_t mac)
{
    stw_be_p(p, mac >> 32);
    stl_be_p(p + 2, mac);
}

static void eth_header(RocePeer *p, uint8_t *f, uint16_t type)
{
    put_mac(f, p->dev_mac);
    put_mac(f + 6, p->mac);
    stw_be_p(f + 12, type);
}

void roce_peer_send(RocePeer *p, uint8_t opcode, uint32_t qpn, uint32_t psn,
                    const void *ext, size_t len, uint32_t flip)
{
    size_t total = IP + UDP + BTH + len + ICRC;
    g_autofree uint8_t *f = g_malloc0(ETH + total);
    uint8_t *ip = f + ROCE_PEER_IP, *bth = f + ROCE_PEER_BTH;
    uint32_t sum = 0;

    eth_header(p, f, 0x0800);
    ip[0] = 0x45;
    stw_be_p(ip + 2, total);
    ip[8] = 64;
    ip[9] = 17;
    stl_be_p(ip + 12, p->ip);
    stl_be_p(ip + 16, p->dev_ip);
    for (int i = 0; i < IP; i += 2) {
        sum += lduw_be_p(ip + i);
    }
    stw_be_p(ip + 10, ~(sum + (sum >> 16)));
    stw_be_p(ip + 20, p->sport ? p->sport : 4791);
    stw_be_p(ip + 22, 4791);
    stw_be_p(ip + 24, total - IP);
    bth[0] = opcode;
    stw_be_p(bth + 2, 0xffff);
    stl_be_p(bth + 4, qpn);
    stl_be_p(bth + 8, 0x80000000 | psn);
    memcpy(bth + BTH, ext, len);
    stl_le_p(bth + BTH + len, roce_peer_icrc(ip, total - ICRC) ^ flip);
    qncic_wire_send(p->wire, f, ETH + total);
}

void roce_peer_ack(RocePeer *p, uint32_t qpn, uint32_t psn)
{
    uint8_t aeth[4];

    stl_be_p(aeth, 0x1f000001);
    roce_peer_send(p, 0x11, qpn, psn, aeth, sizeof(aeth), 0);
}

/* Who has @p's address?  It has. */
static void answer_arp(RocePeer *p, const uint8_t *ask)
{
    uint8_t f[42] = { 0 };

    if (lduw_be_p(ask + 20) != 1 || (uint32_t)ldl_be_p(ask + 38) != p->ip) {
        return;
    }
    eth_header(p, f, 0x0806);
    memcpy(f + 14, ask + 14, 6);
    stw_be_p(f + 20, 2);
    put_mac(f + 22, p->mac);
    stl_be_p(f + 28, p->ip);
    memcpy(f + 32, ask + 22, 10);
    qncic_wire_send(p->wire, f, sizeof(f));
}

size_t roce_peer_recv(RocePeer *p, uint8_t *frame, int ms)
{
    for (;;) {
        size_t len = qncic_wire_recv(p->wire, NULL, frame, ms);

        if (!len || lduw_be_p(frame + 12) == 0x0800) {
            return len;
        }
        if (lduw_be_p(frame + 12) == 0x0806) {
            answer_arp(p, frame);
        }
    }
}
