/*
 * Resource spaces of Entities and the tables of their interrupts (UB 2.0 §10.3.4,
 * §10.4.2): what software and Users find there.  Constants only; all of it is
 * little-endian but the USI, which is a packet's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_RESOURCE_HW_H
#define UB_RESOURCE_HW_H

#define UB_ERS_SPACES 3
/* Every space has a multiple of the largest SYS_PGS. */
#define UB_ERS_GRAIN 0x10000u

/* Device-internal places: ERS0 and ERS2 of Entity n, and where ERS1s begin. */
#define UB_ERS0_SA(n) ((n) * UB_ERS_GRAIN)
#define UB_ERS2_SA(n) (0x100000u + (n) * UB_ERS_GRAIN)
#define UB_ERS1_SA 0x200000u

/* ---- ERS0: tables of Type 2 interrupts --------------------------------------------- */

#define UB_USI_VECTORS 32
#define UB_USI_ADDRESSES 32
#define UB_USI_VECTOR_TABLE 0x0000u  /* bytes from the beginning of ERS0 */
#define UB_USI_ADDRESS_TABLE 0x1000u
#define UB_USI_PENDING_TABLE 0x2000u /* read only */

#define UB_USI_VECTOR_SIZE 8         /* of an entry */
#define UB_USI_VECTOR_DATA 0x0
#define UB_USI_VECTOR_CTL 0x4
#define UB_USI_VECTOR_INDEX 0x0000ffffu /* of CTL */
#define UB_USI_VECTOR_MASK 0x00010000u

#define UB_USI_ADDRESS_SIZE 32
#define UB_USI_ADDRESS_UBA 0x00      /* 64 bits */
#define UB_USI_ADDRESS_CTL 0x08
#define UB_USI_ADDRESS_TOKEN 0x000fffffu /* of CTL */
#define UB_USI_ADDRESS_VALID 0x00100000u
#define UB_USI_ADDRESS_DEID 0x0c     /* 128 bits, the least dword first */

/* ---- ERS2: registers of our own, 32 bits each -------------------------------------- */

#define UB_ERS2_ID 0x00
#define UB_ERS2_ID_VALUE 0x31535245u /* "ERS1" */
#define UB_ERS2_CLASS 0x04   /* RO: Class Code */
#define UB_ERS2_VECTORS 0x08 /* RO: interrupt vectors; 0: none */
#define UB_ERS2_RING 0x0c    /* WO: the vector of this number is raised */
#define UB_ERS2_SENT 0x10    /* RO: USIs that arrived, saturating */
#define UB_ERS2_LOST 0x14    /* RO: USIs that nobody took, saturating */
#define UB_ERS2_SIZE_LO 0x18 /* RO: bytes of memory in ERS1 */
#define UB_ERS2_SIZE_HI 0x1c
#define UB_ERS2_END 0x20

/* ---- USI: its bytes in a Write (figure 10-12), most significant byte first --------- */

#define UB_USI_SIZE 8
#define UB_USI_ID 0   /* Interrupt ID */
#define UB_USI_DATA 4 /* Interrupt Data */

#endif
