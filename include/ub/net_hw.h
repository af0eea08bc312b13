/*
 * CFG0_CAP242: what a manager decides of a node's network layer and appendix D has no
 * register for: partitions (NPI, UB 2.0 §5.3.3), maps of VLs (§5.3.6) and borders of the
 * UB Domain (§11.4.2).
 *
 * Registers are written as whole dwords; a part of one is not taken.  Those of a port
 * are of the port that SELECT names.  This file is for software, too: plain C, no
 * includes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_NET_HW_H
#define UB_NET_HW_H

#define UB_NETR_CAP 242

/* Dwords of the slice. */
#define UB_NETR_HEADER 0
#define UB_NETR_MAGIC 1         /* RO: whose slice this is */
#define UB_NETR_MAGIC__VALUE 0x55424e31u
#define UB_NETR_LIMITS 2        /* RO */
#define UB_NETR_LIMITS__VLS 0x000000ffu
#define UB_NETR_LIMITS__GROUPS 0x0000ff00u /* of ports, for maps of VLs */
#define UB_NETR_LIMITS__NPIS 0xffff0000u   /* of a list */

/* Partitions. */
#define UB_NETR_NPI 3           /* RW: the node's own, 25 bits */
#define UB_NETR_MODE 4          /* RO: 0 open, 1 strict, 2 loose */
#define UB_NETR_SELECT 5        /* RW: a port, or SENDERS */
#define UB_NETR_SELECT__ALL 0x000000ffu
#define UB_NETR_SENDERS 0xffu   /* the list of own senders (loose mode) */
#define UB_NETR_PORT 6          /* RW: of the port */
#define UB_NETR_PORT__REPLACE 0x01ffffffu /* NPI of what comes in; 0: its own */
#define UB_NETR_PORT__CLOSED 0x80000000u  /* also an empty list lets nothing pass */
#define UB_NETR_COUNT 7         /* RO: NPIs of the list, which pass the port */
#define UB_NETR_INDEX 8         /* RW: one of them */
#define UB_NETR_INDEX__ALL 0x0000ffffu
#define UB_NETR_ENTRY 9         /* RO: that; 0: there are fewer */
#define UB_NETR_ADD 10          /* WO: an NPI for the list */
#define UB_NETR_REMOVE 11       /* WO */
#define UB_NETR_RESULT 12       /* RO: of the last write of ADD, REMOVE, PORT or BORDER */
#define UB_NETR_R_OK 0u
#define UB_NETR_R_NO_PORT 1u
#define UB_NETR_R_BAD_NPI 2u    /* its ID is 0 */
#define UB_NETR_R_FULL 3u
#define UB_NETR_R_ABSENT 4u
#define UB_NETR_R_PART 5u       /* not a whole dword */

/* Border of the UB Domain (§11.4.2). */
#define UB_NETR_BORDER 24       /* RW: of the port */
#define UB_NETR_BORDER__TOKEN 0x1u /* of packets of IP, those alone enter that have E_Bit
                                 * 0 and a TokenValue, and those that ask for nothing */
#define UB_NETR_BORDER__PLAIN 0x2u /* and IP that is no UB packet */

/*
 * Maps of VLs, of what is forwarded: a packet that came by a port of in-group g and VL
 * v and leaves by a port of out-group h leaves by VL map[g][h][v].
 */
#define UB_NETR_GROUPS 4
#define UB_NETR_VL_GROUP 16     /* RW, 8 dwords: 4 bits for each port */
#define UB_NETR_VL_GROUP_DW(port) (UB_NETR_VL_GROUP + (port) / 8)
#define UB_NETR_VL_GROUP_SHIFT(port) ((port) % 8 * 4)
#define UB_NETR_VL_GROUP__IN 0x3u
#define UB_NETR_VL_GROUP__OUT 0xcu
#define UB_NETR_VL_MAP 32       /* RW, 32 dwords: 4 bits for each VL */
#define UB_NETR_VL_MAP_DW(in, out, vl) \
    (UB_NETR_VL_MAP + (in) * 8 + (out) * 2 + (vl) / 8)
#define UB_NETR_VL_MAP_SHIFT(vl) ((vl) % 8 * 4)
#define UB_NETR_USED 64

#endif
