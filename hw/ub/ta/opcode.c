/*
 * The opcodes of the transaction layer (UB 2.0 tables 7-1, 7-2, 7-4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ub/tah.h"

#define UD UB_EXT_BIT(UB_EXT_UD)
#define MT UB_EXT_BIT(UB_EXT_MT)
#define TAID UB_EXT_BIT(UB_EXT_TAID)
#define OFST UB_EXT_BIT(UB_EXT_OFST)
#define MA UB_EXT_BIT(UB_EXT_MA)
#define IMM UB_EXT_BIT(UB_EXT_IMM)
#define NTF UB_EXT_BIT(UB_EXT_NTF)
#define MGMT UB_EXT_BIT(UB_EXT_MGMT)
#define TV UB_EXT_BIT(UB_EXT_TV)
#define BE UB_EXT_BIT(UB_EXT_BE)

#define ROI (1u << UB_ROI)
#define ROT (1u << UB_ROT)
#define ROL (1u << UB_ROL)
#define UNO (1u << UB_UNO)
#define RELIABLE (ROI | ROT | ROL)

#define ATOMIC(id, label) \
    [id] = { .name = label, .kind = UB_TA_ATOMIC, .ext = MA, \
             .may = UD | TAID | TV, .modes = RELIABLE, \
             .response = UB_TA_ATOMIC_RESPONSE, .payload = true, \
             .single = true, .compact = true, .bypass = true }

const UbTaOpInfo ub_ta_ops[UB_TA_OPCODES + 1] = {
    [UB_TA_SEND] = {
        .name = "Send", .kind = UB_TA_MESSAGE, .ext = MT | OFST,
        .may = UD | TV, .modes = RELIABLE | UNO, .response = UB_TA_TAACK,
        .payload = true, .rqe = true,
    },
    [UB_TA_SEND_IMM] = {
        .name = "Send_with_immediate", .kind = UB_TA_MESSAGE,
        .ext = MT | OFST | IMM, .may = UD | TV, .modes = RELIABLE | UNO,
        .response = UB_TA_TAACK, .payload = true, .rqe = true,
    },
    [UB_TA_WRITE] = {
        .name = "Write", .kind = UB_TA_MEMORY, .ext = MA, .may = UD | TV,
        .modes = RELIABLE, .response = UB_TA_TAACK, .payload = true,
        .compact = true, .bypass = true,
    },
    [UB_TA_WRITE_IMM] = {
        .name = "Write_with_immediate", .kind = UB_TA_MEMORY,
        .ext = MT | MA | IMM, .may = UD | TV, .modes = RELIABLE,
        .response = UB_TA_TAACK, .payload = true, .rqe = true,
    },
    [UB_TA_WRITE_NOTIFY] = {
        .name = "Write_with_notify", .kind = UB_TA_MEMORY, .ext = MA | NTF,
        .may = UD | TV, .modes = RELIABLE, .response = UB_TA_TAACK,
        .payload = true,
    },
    [UB_TA_READ] = {
        .name = "Read", .kind = UB_TA_FETCH, .ext = MA,
        .may = UD | TAID | OFST | TV, .modes = RELIABLE,
        .response = UB_TA_READ_RESPONSE, .compact = true, .bypass = true,
    },
    ATOMIC(UB_TA_ATOMIC_CAS, "Atomic_compare_swap"),
    ATOMIC(UB_TA_ATOMIC_SWAP, "Atomic_swap"),
    ATOMIC(UB_TA_ATOMIC_STORE, "Atomic_store"),
    ATOMIC(UB_TA_ATOMIC_LOAD, "Atomic_load"),
    ATOMIC(UB_TA_FETCH_ADD, "Atomic_fetch_add"),
    ATOMIC(UB_TA_FETCH_SUB, "Atomic_fetch_sub"),
    ATOMIC(UB_TA_FETCH_AND, "Atomic_fetch_and"),
    ATOMIC(UB_TA_FETCH_OR, "Atomic_fetch_or"),
    ATOMIC(UB_TA_FETCH_XOR, "Atomic_fetch_xor"),
    [UB_TA_MANAGEMENT] = {
        .name = "Management", .kind = UB_TA_MANAGE, .ext = MGMT, .may = UD,
        .modes = UNO, .payload = true, .single = true,
    },
    [UB_TA_TAACK] = {
        .name = "TAACK", .kind = UB_TA_RESPONSE, .compact = true,
        .bypass = true,
    },
    [UB_TA_READ_RESPONSE] = {
        .name = "Read_response", .kind = UB_TA_RESPONSE, .may = TAID | OFST,
        .payload = true, .compact = true, .bypass = true,
    },
    [UB_TA_ATOMIC_RESPONSE] = {
        .name = "Atomic_response", .kind = UB_TA_RESPONSE, .may = TAID,
        .payload = true, .compact = true, .bypass = true,
    },
    [UB_TA_WRITE_BE] = {
        .name = "Write_with_be", .kind = UB_TA_MEMORY, .ext = MA | BE,
        .may = UD | TV, .modes = RELIABLE, .response = UB_TA_TAACK,
        .payload = true, .single = true, .compact = true, .bypass = true,
    },
    [UB_TA_PREFETCH] = {
        .name = "Prefetch_tgt", .kind = UB_TA_MAINTAIN, .ext = MA,
        .may = UD, .modes = UNO, .single = true, .compact = true,
        .bypass = true,
    },
    [UB_TA_WRITEBACK] = {
        .name = "Writeback", .kind = UB_TA_MEMORY, .ext = MA,
        .may = UD | TV, .modes = ROI | ROL, .response = UB_TA_TAACK,
        .payload = true, .single = true, .compact = true,
    },
    [UB_TA_WRITEBACK_BE] = {
        .name = "Writeback_with_be", .kind = UB_TA_MEMORY, .ext = MA | BE,
        .may = UD | TV, .modes = ROI | ROL, .response = UB_TA_TAACK,
        .payload = true, .single = true, .compact = true,
    },
};
