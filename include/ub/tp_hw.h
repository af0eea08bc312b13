/*
 * CFG0_CAP243: the nodes with which a node may have TP channels, where the UBFM decides
 * that (UB 2.0 §10.4.6): property channels-managed of ubc.
 *
 * The document's flow has no message; the list is what comes of it.  Only the UBFM reads
 * and writes it.  This file is for software, too: plain C, no includes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_TP_HW_H
#define UB_TP_HW_H

#define UB_TPR_CAP 243

/* Dwords of the slice. */
#define UB_TPR_HEADER 0
#define UB_TPR_MAGIC 1          /* RO: whose slice this is */
#define UB_TPR_MAGIC__VALUE 0x55425450u
#define UB_TPR_SIZE 2           /* RO: entries */
#define UB_TPR_COUNT 3          /* RO: entries that name somebody */
#define UB_TPR_DENIED 4         /* RO: requests for channels that were refused, */
#define UB_TPR_LAST 5           /* RO: the last of them with this CNA; 0: by IP */
#define UB_TPR_PEER(n) (16u + (n)) /* RW: a CNA, 24 bits; 0: nobody */
#define UB_TPR_PEER__CNA 0x00ffffffu
#define UB_TPR_PEERS 240u
#define UB_TPR_USED UB_TPR_PEER(UB_TPR_PEERS)

#endif
