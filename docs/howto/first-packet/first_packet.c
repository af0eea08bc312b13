// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The driver of docs/howto/driver-tutorial.rst: finds an ncic-nic, brings up
 * transmit queue 0 and sends one frame.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/pci.h>

#include "ncic/ncic_hw.h"

#define LOG_RING	4	/* 16 descriptors, 16 completions */

struct first {
	u8 __iomem *bar;
	struct ncic_desc *desc;
	struct ncic_cpl *cpl;
	u8 *frame;
	dma_addr_t desc_dma, cpl_dma, frame_dma;
};

static void tx_write(struct first *f, u32 reg, u32 value)
{
	iowrite32(value, f->bar + NCIC_TXQ + reg);
}

static u32 tx_read(struct first *f, u32 reg)
{
	return ioread32(f->bar + NCIC_TXQ + reg);
}

/* Step 1: the first register. */
static int first_look(struct pci_dev *pdev, struct first *f)
{
	u32 id = ioread32(f->bar + NCIC_NCSR + NCIC_NCSR_FW_ID);
	u32 queues = ioread32(f->bar + NCIC_NCSR + NCIC_NCSR_TX_QUEUES);

	dev_info(&pdev->dev, "firmware id %#x, %u transmit queues\n", id,
		 queues);
	return id == 0xffff && queues ? 0 : -ENODEV;
}

/* Step 2: memory that the device reads and writes. */
static int first_memory(struct pci_dev *pdev, struct first *f)
{
	struct device *dev = &pdev->dev;
	int err = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(64));

	if (err)
		return err;
	f->desc = dmam_alloc_coherent(dev, sizeof(*f->desc) << LOG_RING,
				      &f->desc_dma, GFP_KERNEL);
	f->cpl = dmam_alloc_coherent(dev, sizeof(*f->cpl) << LOG_RING,
				     &f->cpl_dma, GFP_KERNEL);
	f->frame = dmam_alloc_coherent(dev, PAGE_SIZE, &f->frame_dma,
				       GFP_KERNEL);
	return f->desc && f->cpl && f->frame ? 0 : -ENOMEM;
}

/* Step 3: the queue, in the order of the programming guide. */
static void first_queue(struct first *f)
{
	iowrite32(NCIC_RESET_START, f->bar + NCIC_RESET);
	tx_write(f, NCIC_Q_CPL_BASE_LO, lower_32_bits(f->cpl_dma));
	tx_write(f, NCIC_Q_CPL_BASE_HI, upper_32_bits(f->cpl_dma));
	tx_write(f, NCIC_Q_CPL_LOG_SIZE, LOG_RING | NCIC_Q_ACTIVE);
	tx_write(f, NCIC_Q_CPL_INTR, NCIC_Q_CPL_ARMED);
	tx_write(f, NCIC_Q_BASE_LO, lower_32_bits(f->desc_dma));
	tx_write(f, NCIC_Q_BASE_HI, upper_32_bits(f->desc_dma));
	tx_write(f, NCIC_Q_CPL_INDEX, 0);
	tx_write(f, NCIC_Q_LOG_SIZE, LOG_RING | NCIC_Q_ACTIVE);
}

/* Step 4: the first packet, and the completion that tells of it. */
static int first_packet(struct pci_dev *pdev, struct first *f)
{
	static const char text[] = "the first packet";
	struct ethhdr *eth = (struct ethhdr *)f->frame;
	unsigned int i;

	eth_broadcast_addr(eth->h_dest);
	memset(eth->h_source, 0x02, ETH_ALEN);
	eth->h_proto = htons(0x88b5);	/* for experiments */
	memcpy(eth + 1, text, sizeof(text));
	f->desc[0].length = cpu_to_le16(sizeof(*eth) + sizeof(text));
	f->desc[0].addr = cpu_to_le64(f->frame_dma);
	wmb();				/* the descriptor before the doorbell */
	tx_write(f, NCIC_Q_HEAD, 1);
	for (i = 0; i < 1000 && !tx_read(f, NCIC_Q_CPL_HEAD); i++)
		usleep_range(100, 200);
	if (i == 1000)
		return -ETIMEDOUT;
	rmb();				/* the register before the memory */
	dev_info(&pdev->dev, "sent %u bytes, status %#x\n",
		 le16_to_cpu(f->cpl[0].length), le32_to_cpu(f->cpl[0].status));
	tx_write(f, NCIC_Q_CPL_TAIL, 1);
	return 0;
}

static int first_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct first *f = devm_kzalloc(&pdev->dev, sizeof(*f), GFP_KERNEL);
	int err;

	if (!f)
		return -ENOMEM;
	pci_set_drvdata(pdev, f);
	err = pcim_enable_device(pdev);
	if (err)
		return err;
	f->bar = pcim_iomap(pdev, NCIC_BAR_CSR, 0);
	if (!f->bar)
		return -ENOMEM;
	err = first_look(pdev, f);
	if (!err)
		err = first_memory(pdev, f);
	if (err)
		return err;
	pci_set_master(pdev);
	first_queue(f);
	return first_packet(pdev, f);
}

static void first_remove(struct pci_dev *pdev)
{
	struct first *f = pci_get_drvdata(pdev);

	/* When this has been written the device touches nothing of ours. */
	tx_write(f, NCIC_Q_LOG_SIZE, 0);
	tx_write(f, NCIC_Q_CPL_LOG_SIZE, 0);
	pci_clear_master(pdev);
}

/* Not announced by MODULE_DEVICE_TABLE: it is loaded by hand. */
static const struct pci_device_id first_ids[] = {
	{ PCI_DEVICE(NCIC_PCI_VENDOR_ID, NCIC_PCI_DEVICE_ID) },
	{ }
};

static struct pci_driver first_driver = {
	.name = "first_packet",
	.id_table = first_ids,
	.probe = first_probe,
	.remove = first_remove,
};
module_pci_driver(first_driver);

MODULE_DESCRIPTION("One packet on an NCIC NIC");
MODULE_LICENSE("GPL");
