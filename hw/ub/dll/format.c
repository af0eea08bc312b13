/*
 * Length rules and control block table of the UB data link layer (UB 2.0
 * §4.3.2.2.2, §4.3.3.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ub/dll_format.h"

unsigned ub_payload_max(UbBlockMode mode)
{
    return mode == UB_MODE_CRC ? UB_PAYLOAD_MAX_CRC : UB_PAYLOAD_MAX_NON_CRC;
}

/*
 * Blocks but the last are full.  In CRC mode every block ends with BCRC, so a
 * full block and a last block hold the same payload.  In Non-CRC mode only the
 * last one gives up a byte, to END; when payload fills the block to its last
 * byte, END needs one more block without payload.
 */
bool ub_plength_of(UbBlockMode mode, unsigned len, UbPlength *p)
{
    const unsigned first = ub_block_payload(mode, true);
    const unsigned next = ub_block_payload(mode, false);
    const unsigned tail = mode == UB_MODE_CRC ? 4 : 1;
    unsigned header, rest, end, bytes, flits;

    if (len < 1 || len > ub_payload_max(mode)) {
        return false;
    }
    if (UB_LPH_SIZE + len + tail <= UB_BLOCK_SIZE) {
        p->blocks = 1;
        header = UB_LPH_SIZE;
        rest = len;
    } else {
        unsigned more = len - first; /* payload behind the First Block */
        unsigned middle = mode == UB_MODE_CRC ? (more - 1) / next
                                              : more / next;

        p->blocks = 2 + middle;
        header = UB_LBH_SIZE;
        rest = more - middle * next;
    }
    flits = (header + rest + tail + UB_FLIT_SIZE - 1) / UB_FLIT_SIZE;
    p->last_flits = flits;
    if (!rest) {
        p->code = 19; /* ends with the flit before the last block */
        return true;
    }
    end = (header + rest + UB_FLIT_SIZE - 1) / UB_FLIT_SIZE;
    bytes = header + rest - (end - 1) * UB_FLIT_SIZE;
    bytes -= end == 1 ? header : 0;
    if (end == flits) {
        p->code = bytes <= 16 ? bytes - 1 : bytes + 11;
    } else if (mode == UB_MODE_CRC) {
        p->code = bytes >= 17 ? bytes - 1 : bytes + 11;
    } else {
        p->code = bytes == 16 ? 27 : bytes - 1;
    }
    return true;
}

/* Undo the code by the table, then demand that encoding gives it back: that
 * refuses reserved codes, absent last-but-one flits and codes that do not fit
 * the flit they point at. */
int ub_plength_payload(UbBlockMode mode, UbPlength p)
{
    const unsigned header = p.blocks == 1 ? UB_LPH_SIZE : UB_LBH_SIZE;
    unsigned bytes, end, len = 0;
    UbPlength back;
    bool last;

    if (p.code < 16) {
        bytes = p.code + 1;
        last = true;
    } else if (p.code < 20) {
        bytes = p.code + 1;
        last = false;
    } else if (p.code >= 24 && p.code <= 30) {
        bytes = p.code - 11;
        last = mode == UB_MODE_NON_CRC && p.code >= 28;
    } else {
        return -1;
    }
    if (p.blocks > 1) {
        len = ub_block_payload(mode, true) +
              (p.blocks - 2u) * ub_block_payload(mode, false);
    }
    end = last ? p.last_flits : p.last_flits - 1u;
    if (end) {
        len += (end - 1) * UB_FLIT_SIZE + bytes - (end == 1 ? 0 : header);
    }
    if (!ub_plength_of(mode, len, &back) || back.blocks != p.blocks ||
        back.last_flits != p.last_flits || back.code != p.code) {
        return -1;
    }
    return len;
}

UbBlockSlice ub_block_slice(UbBlockMode mode, unsigned index, unsigned len)
{
    const unsigned first = ub_block_payload(mode, true);
    const unsigned next = ub_block_payload(mode, false);
    unsigned start = index ? first + (index - 1) * next : 0;
    unsigned room = index ? next : first;

    return (UbBlockSlice) {
        .in_block = index ? UB_LBH_SIZE : UB_LPH_SIZE,
        .in_packet = start,
        .bytes = start >= len ? 0 : len - start < room ? len - start : room,
    };
}

static const UbDllcbInfo dllcb_table[] = {
    { UB_CB_NULL, 1, 1, false, "Null" },
    { UB_CB_NOB, 1, 1, true, "No_Operation" },
    { UB_CB_RETRY_IDLE, 1, 1, false, "Retry_Idle" },
    { UB_CB_RETRY_REQ, 1, 1, false, "Retry_Req" },
    { UB_CB_RETRY_ACK, 1, 1, false, "Retry_Ack" },
    { UB_CB_CRD_ACK, 2, 2, true, "Crd_Ack" },
    { UB_CB_PARAM_EXCHG, 1, 32, true, "Param_Exchg" },
    { UB_CB_LANE_MANAGE, 1, 1, true, "Lane_Manage" },
    { UB_CB_BLOCK_MODE_CHG, 1, 1, true, "Block_Mode_Chg" },
    { UB_CB_INIT, UB_INIT_FLITS, 32, true, "Init" },
};

const UbDllcbInfo *ub_dllcb_info(unsigned type)
{
    for (size_t i = 0; i < sizeof(dllcb_table) / sizeof(dllcb_table[0]); i++) {
        if (dllcb_table[i].type == type) {
            return &dllcb_table[i];
        }
    }
    return NULL;
}
