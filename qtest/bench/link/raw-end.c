/*
 * Raw packets as fast as they go, by the rings of ubc's port 0.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "raw-end.h"

#define RX_BUFS 128u   /* fit between QUBC_RX_BUF and the next port's */
/* Descriptors that are worth a doorbell while the device has others: each is a
 * round trip of qtest's. */
#define BELL 32

/* Tell ubc of new descriptors, if they are many or it has no others. */
static void tell(RawEnd *e, unsigned ring, uint16_t head, uint16_t tail)
{
    uint16_t *told = &e->told[ring == UBC_RING_RX];

    if ((uint16_t)(head - *told) >= BELL || (head != *told && tail == *told)) {
        qubc_doorbell(e->ubc, 0, ring);
        *told = head;
    }
}

unsigned raw_send(RawEnd *e, unsigned n, uint32_t len)
{
    QUbcPort *p = &e->ubc->port[0];
    unsigned sent = 0;

    while (p->tx_tail != p->tx_head) {
        uint16_t status = qubc_status(e->ubc, 0, UBC_RING_TX, p->tx_tail);

        if (!(status & UBC_DESC_DONE)) {
            break;
        }
        g_assert_cmphex(status, ==, UBC_DESC_DONE);
        p->tx_tail++;
    }
    while (sent < n && (uint16_t)(p->tx_head - p->tx_tail) < QUBC_RING) {
        qubc_post(e->ubc, 0, UBC_RING_TX, QUBC_TX_BUF(0), len, 3);
        sent++;
    }
    tell(e, UBC_RING_TX, p->tx_head, p->tx_tail);
    return sent;
}

static void give(RawEnd *e)
{
    QUbcPort *p = &e->ubc->port[0];

    while ((uint16_t)(p->rx_head - p->rx_tail) < QUBC_RING) {
        qubc_post(e->ubc, 0, UBC_RING_RX,
                  QUBC_RX_BUF(0) + p->rx_head % RX_BUFS * RAW_BUF, RAW_BUF, 0);
    }
    tell(e, UBC_RING_RX, p->rx_head, p->rx_tail);
}

unsigned raw_reap(RawEnd *e)
{
    QUbcPort *p = &e->ubc->port[0];
    unsigned got = 0;

    while (p->rx_tail != p->rx_head) {
        uint16_t status = qubc_status(e->ubc, 0, UBC_RING_RX, p->rx_tail);

        if (!(status & UBC_DESC_DONE)) {
            break;
        }
        g_assert_cmphex(status, ==, UBC_DESC_DONE);
        e->bytes += ldl_le_p(e->ubc->ram->at + QUBC_RX_RING(0) +
                             p->rx_tail % QUBC_RING * UBC_DESC_SIZE + 8);
        p->rx_tail++;
        got++;
    }
    e->packets += got;
    if (got) {
        give(e);
    }
    return got;
}

void raw_open(RawEnd *e, QUbc *d)
{
    *e = (RawEnd) { .ubc = d };
    qubc_ring_open(d, 0, UBC_RING_TX, QUBC_TX_RING(0));
    qubc_ring_open(d, 0, UBC_RING_RX, QUBC_RX_RING(0));
    give(e);
    qubc_port_write(d, 0, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
}
