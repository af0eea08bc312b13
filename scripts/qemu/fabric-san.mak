# SPDX-License-Identifier: GPL-2.0-or-later
#
# The devices of the sanitizer build: the machines that the device tests and
# fuzzers use, and ours.
CONFIG_PCI_DEVICES=n
CONFIG_I440FX=y
CONFIG_Q35=y
CONFIG_NCIC_NIC=y
CONFIG_NCIC_RDMA=y
CONFIG_NCIC_MTHCA=y
CONFIG_UBC=y
CONFIG_RCLINK=y
CONFIG_PCI_TESTDEV=y
# A function whose BAR is memory, and a device that takes messages, for ncic-misuse-test.
CONFIG_IVSHMEM_DEVICE=y
CONFIG_HPET=y
CONFIG_PCIE_PORT=y
CONFIG_E1000E_PCI_EXPRESS=y
# What a guest is driven by, and what its second wire is.
CONFIG_SERIAL_ISA=y
CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_SERIAL=y
CONFIG_VIRTIO_NET=y
