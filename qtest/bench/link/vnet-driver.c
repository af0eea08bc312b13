/*
 * virtio-net in an emulator that qtest drives.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/bswap.h"
#include "standard-headers/linux/virtio_config.h"
#include "standard-headers/linux/virtio_net.h"
#include "standard-headers/linux/virtio_ring.h"
#include "vnet-driver.h"

#define RAM (64u << 20)
#define SLOT 4
#define RX_BUF 0x1800000u
#define TX_BUF 0x2800000u
#define BUF 0x4000u
#define HDR sizeof(struct virtio_net_hdr_v1)

static struct vring_desc *desc(QVnet *d, QVnetQueue *q, unsigned i)
{
    return (struct vring_desc *)(d->ram->at + q->vq->desc) + i;
}

static struct vring_avail *avail(QVnet *d, QVnetQueue *q)
{
    return (struct vring_avail *)(d->ram->at + q->vq->avail);
}

static struct vring_used *used(QVnet *d, QVnetQueue *q)
{
    return (struct vring_used *)(d->ram->at + q->vq->used);
}

/* Descriptor i always stands for buffer i, so slots are reposted as they
 * are. */
static void post(QVnet *d, QVnetQueue *q, unsigned slot, uint64_t addr,
                 uint32_t len, uint16_t flags)
{
    struct vring_desc *t = desc(d, q, slot);

    t->addr = cpu_to_le64(addr);
    t->len = cpu_to_le32(len);
    t->flags = cpu_to_le16(flags);
    t->next = 0;
    avail(d, q)->ring[q->avail % q->vq->size] = cpu_to_le16(slot);
    q->avail++;
}

static void publish(QVnet *d, QVnetQueue *q)
{
    smp_wmb();
    qatomic_set(&avail(d, q)->idx, cpu_to_le16(q->avail));
    smp_mb();
    d->dev->vdev.bus->virtqueue_kick(&d->dev->vdev, q->vq);
}

static void queue_init(QVnet *d, QVnetQueue *q, unsigned index)
{
    q->vq = qvirtqueue_setup(&d->dev->vdev, &d->alloc, index);
    g_assert_cmpuint(q->vq->used + 0x10000, <, RX_BUF);
    avail(d, q)->flags = cpu_to_le16(VRING_AVAIL_F_NO_INTERRUPT);
}

QVnet *qvnet_start(const char *netdev)
{
    QPCIAddress addr = { .devfn = QPCI_DEVFN(SLOT, 0) };
    QVnet *d = g_new0(QVnet, 1);
    g_autofree char *memory = NULL;
    uint64_t features;

    d->ram = shared_ram_new(RAM);
    memory = shared_ram_options(d->ram, "q35");
    d->qts = qtest_initf("%s -nodefaults -netdev %s "
                         "-device virtio-net-pci,netdev=n0,addr=%u", memory,
                         netdev, SLOT);
    pc_alloc_init(&d->alloc, d->qts, ALLOC_NO_FLAGS);
    d->bus = qpci_new_pc(d->qts, &d->alloc);
    d->dev = virtio_pci_new(d->bus, &addr);
    g_assert_nonnull(d->dev);
    qvirtio_pci_device_enable(d->dev);
    qvirtio_reset(&d->dev->vdev);
    qvirtio_set_acknowledge(&d->dev->vdev);
    qvirtio_set_driver(&d->dev->vdev);
    /* No offloads, no merged buffers, no event index. */
    features = qvirtio_get_features(&d->dev->vdev);
    qvirtio_set_features(&d->dev->vdev, features &
                         (1ull << VIRTIO_F_VERSION_1));
    queue_init(d, &d->rx, 0);
    queue_init(d, &d->tx, 1);
    qvirtio_set_driver_ok(&d->dev->vdev);
    for (unsigned i = 0; i < d->rx.vq->size; i++) {
        post(d, &d->rx, i, RX_BUF + i * BUF, BUF, VRING_DESC_F_WRITE);
    }
    publish(d, &d->rx);
    /* To all stations, so that no filter looks closer. */
    memset(d->ram->at + TX_BUF + HDR, 0xff, 6);
    return d;
}

void qvnet_stop(QVnet *d)
{
    qtest_quit(d->qts);
    g_free(d->rx.vq);
    g_free(d->tx.vq);
    g_free(d->dev->pdev);
    g_free(d->dev);
    qpci_free_pc(d->bus);
    alloc_destroy(&d->alloc);
    shared_ram_free(d->ram);
    g_free(d);
}

unsigned qvnet_send(QVnet *d, unsigned n, uint32_t len)
{
    QVnetQueue *q = &d->tx;
    uint16_t done = le16_to_cpu(qatomic_load_acquire(&used(d, q)->idx));
    unsigned sent = 0;

    q->used = done;
    while (sent < n && (uint16_t)(q->avail - q->used) < q->vq->size) {
        post(d, q, q->avail % q->vq->size, TX_BUF, HDR + len, 0);
        sent++;
    }
    if (sent) {
        publish(d, q);
    }
    return sent;
}

unsigned qvnet_reap(QVnet *d)
{
    QVnetQueue *q = &d->rx;
    uint16_t done = le16_to_cpu(qatomic_load_acquire(&used(d, q)->idx));
    unsigned got = 0;

    while (q->used != done) {
        struct vring_used_elem *e = &used(d, q)->ring[q->used % q->vq->size];
        unsigned slot = le32_to_cpu(e->id);

        d->bytes += le32_to_cpu(e->len) - HDR;
        d->packets++;
        q->used++;
        got++;
        post(d, q, slot, RX_BUF + slot * BUF, BUF, VRING_DESC_F_WRITE);
    }
    if (got) {
        publish(d, q);
    }
    return got;
}
