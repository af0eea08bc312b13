/*
 * Formats of UB management: MGMTETAH and the messages behind it, and the Scan
 * Header and Scan PDU of enumeration (UB 2.0 §10.4.3).
 *
 * The lists UB_MGMT_MESSAGES and UB_MGMT_FIELDS are the one description of
 * these formats: the cores, their tests and the dissector are made of them.
 *
 * Numbers are big-endian.  A field's bit 0 is bit 7 of byte 0.  Identities of
 * 128 bits travel with their least significant 32 bits first, each word
 * big-endian.  Nothing in here keeps state, allocates or trusts what it reads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_MGMT_FORMAT_H
#define UB_MGMT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/bytes.h"

#define UB_MGMT_TAOPCODE 0x10 /* BTAH.TAOpcode of a management message */
#define UB_MGMT_UPI 0x7fff    /* partition of the UBFM */
#define UB_MGMT_EID_SHORT 0xfffffu /* of an EID: what messages have of it */
#define UB_MGMT_ETAH 4        /* bytes of MGMTETAH */
#define UB_MGMT_PDU_MAX 1024
#define UB_MGMT_MAX (UB_MGMT_ETAH + UB_MGMT_PDU_MAX)
#define UB_SCAN_MAX 1024      /* Scan Header and Scan PDU together */

/* ---------------------------------------------------------- identities -- */

/* A GUID or EID: w[0] has bits 31:0. */
typedef struct UbId {
    uint32_t w[4];
} UbId;

static inline UbId ub_id_get(const uint8_t *p)
{
    return (UbId) { { get_be32(p), get_be32(p + 4), get_be32(p + 8),
                      get_be32(p + 12) } };
}

static inline void ub_id_put(uint8_t *p, UbId id)
{
    for (unsigned i = 0; i < 4; i++) {
        put_be32(p + 4 * i, id.w[i]);
    }
}

static inline bool ub_id_same(UbId a, UbId b)
{
    return !memcmp(&a, &b, sizeof(a));
}

static inline bool ub_id_zero(UbId id)
{
    return !(id.w[0] | id.w[1] | id.w[2] | id.w[3]);
}

/* -------------------------------------------------------------- status -- */

/* §10.4.3.1: X(symbol, value, name). */
#define UB_MGMT_STATUSES(X)                            \
    X(OK, 0x00, "success")                             \
    X(OVERREACH, 0x01, "management overreach")         \
    X(NO_TARGET, 0x02, "target does not exist")        \
    X(BAD_CODE, 0x03, "message code error")            \
    X(BAD_LENGTH, 0x04, "message length error")        \
    X(NO_RESOURCE, 0x20, "no resource")                \
    X(NO_PERMISSION, 0x21, "permission error")         \
    X(BAD_ADDRESS, 0x22, "address error")              \
    X(BUSY, 0x23, "busy")                              \
    X(EXISTS, 0x24, "object exists")                   \
    X(ABSENT, 0x25, "object does not exist")           \
    X(BAD_PARAMETER, 0x26, "parameter error")          \
    X(EXECUTION, 0x27, "execution error")              \
    X(UNKNOWN, 0xff, "unknown error")

typedef enum UbMgmtStatus {
#define UB_X(symbol, value, name) UB_MGMT_##symbol = value,
    UB_MGMT_STATUSES(UB_X)
#undef UB_X
} UbMgmtStatus;

/* Its name, or "reserved". */
const char *ub_mgmt_status_name(unsigned status);

/* ------------------------------------------------------------ messages -- */

/* Who deals with a request that reaches a node. */
typedef enum UbMgmtTaker {
    UB_MGMT_BY_DEVICE, /* answered by the node */
    UB_MGMT_BY_HOST,   /* answered by software, through a message queue */
    UB_MGMT_EVENT,     /* told to software; nobody answers (§10.4.3.4) */
    UB_MGMT_VENDOR,    /* software's; whether it answers is its own affair */
} UbMgmtTaker;

/* Who may ask it: Mgmt and UPI of the packet (§10.4.1). */
typedef enum UbMgmtRight {
    UB_MGMT_ANYBODY, /* of the partition, or the UBFM */
    UB_MGMT_MANAGER, /* the UBFM */
    UB_MGMT_READER,  /* anybody reads, the UBFM writes */
} UbMgmtRight;

/*
 * Table of §10.4.3.3: X(symbol, code, sub code, name, shortest and longest
 * request PDU, taker, right, structures of request and response PDU).  What is
 * not here is reserved.
 */
#define UB_MGMT_MESSAGES(X)                                                   \
    X(ERROR_CE, 0, 0, "Correctable error", 8, 8, EVENT, ANYBODY, ERROR, NONE) \
    X(ERROR_NFUE, 0, 1, "Non-fatal uncorrectable error", 8, 8, EVENT,         \
      ANYBODY, ERROR, NONE)                                                   \
    X(ERROR_FUE, 0, 2, "Fatal uncorrectable error", 8, 8, EVENT, ANYBODY,     \
      ERROR, NONE)                                                            \
    X(LINK_UP, 1, 0, "Link up", 8, 8, EVENT, ANYBODY, LINK, NONE)             \
    X(LINK_DOWN, 1, 1, "Link down", 8, 8, EVENT, ANYBODY, LINK, NONE)         \
    X(PLUG_BUTTON, 1, 2, "Hot-plug button", 8, 8, EVENT, ANYBODY, PLUG, NONE) \
    X(PLUG_PRESENCE, 1, 3, "Hot-plug presence changed", 8, 8, EVENT, ANYBODY, \
      PLUG, NONE)                                                             \
    X(CFG0_READ, 2, 0, "CFG0 read", 16, 16, BY_DEVICE, ANYBODY, CFG,          \
      CFG_DONE)                                                               \
    X(CFG0_WRITE, 2, 1, "CFG0 write", 16, 16, BY_DEVICE, READER, CFG,         \
      CFG_DONE)                                                               \
    X(CFG1_READ, 2, 2, "CFG1 read", 16, 16, BY_DEVICE, ANYBODY, CFG,          \
      CFG_DONE)                                                               \
    X(CFG1_WRITE, 2, 3, "CFG1 write", 16, 16, BY_DEVICE, ANYBODY, CFG,        \
      CFG_DONE)                                                               \
    X(VDM_MCTP, 3, 0, "MCTP", 0, 1024, VENDOR, ANYBODY, NONE, NONE)           \
    X(VDM_BUS, 3, 1, "Unified virtual bus", 0, 1024, VENDOR, ANYBODY, NONE,   \
      NONE)                                                                   \
    X(VDM_VENDOR, 3, 15, "Vendor message", 8, 1024, VENDOR, ANYBODY, VENDOR,  \
      VENDOR)                                                                 \
    X(RESOURCE, 4, 1, "Resource space", 4, 28, BY_DEVICE, ANYBODY, RESOURCE,  \
      RESOURCE_DONE)                                                          \
    X(ENTITY_INFO, 4, 2, "Entity information", 0, 0, BY_DEVICE, ANYBODY,      \
      NONE, ENTITY_DONE)                                                      \
    X(NEIGHBOR, 4, 7, "Link neighbour query", 4, 516, BY_DEVICE, MANAGER,     \
      NEIGHBOR, PORT_INFO)                                                    \
    X(SPDM, 5, 1, "Device authentication", 0, 1024, BY_HOST, ANYBODY, NONE,   \
      NONE)                                                                   \
    X(TOKEN_CHECK, 5, 2, "Token check configuration", 4, 4, BY_DEVICE,        \
      ANYBODY, TOKEN, TOKEN_DONE)                                             \
    X(REGISTER, 6, 0, "Entity registration", 92, 92, BY_HOST, MANAGER,        \
      REGISTER, NONE)                                                         \
    X(DEREGISTER, 6, 1, "Entity deregistration", 20, 20, BY_HOST, MANAGER,    \
      DEREGISTER, NONE)                                                       \
    X(BI_CREATE, 6, 2, "Bus instance create", 36, 36, BY_DEVICE, MANAGER,     \
      BI_CREATE, NONE)                                                        \
    X(BI_DESTROY, 6, 3, "Bus instance destroy", 16, 16, BY_DEVICE, MANAGER,   \
      BI_DESTROY, NONE)                                                       \
    X(CFG_COMPLETE, 6, 4, "Configuration completion notification", 36, 36,    \
      BY_HOST, MANAGER, CFG_COMPLETE, NONE)                                   \
    X(PORT_RESET, 6, 5, "Port reset notification", 4, 4, BY_HOST, MANAGER,    \
      PORT_RESET, NONE)

typedef enum UbMgmtId {
#define UB_X(symbol, code, sub, ...) UB_MGMT_MSG_##symbol = (code) << 4 | (sub),
    UB_MGMT_MESSAGES(UB_X)
#undef UB_X
} UbMgmtId;

typedef struct UbMgmtMessage {
    uint8_t id;    /* UbMgmtId: code << 4 | sub code */
    uint8_t taker; /* UbMgmtTaker */
    uint8_t right; /* UbMgmtRight */
    uint16_t shortest, longest;
    const char *name;
} UbMgmtMessage;

/* The row of the table, or NULL: reserved. */
const UbMgmtMessage *ub_mgmt_message(unsigned code, unsigned sub);

/* MGMTETAH. */
typedef struct UbMgmtEtah {
    uint8_t code, sub;
    bool rsp;
    uint8_t status;
    uint16_t len; /* PDU Length, bytes */
} UbMgmtEtah;

UbMgmtEtah ub_mgmt_etah_get(const uint8_t p[UB_MGMT_ETAH]);
void ub_mgmt_etah_put(uint8_t p[UB_MGMT_ETAH], UbMgmtEtah e);

/* -------------------------------------------------------------- fields -- */

/*
 * X(symbol, structure, name, bit, bits, show).  `show` is for the dissector:
 * dec, hex, flag, id (128 bits), or a list of names.
 */
#define UB_MGMT_FIELDS(X)                                              \
    X(ETAH_SUB, MGMTETAH, "Sub Code", 0, 4, dec)                       \
    X(ETAH_CODE, MGMTETAH, "Code", 4, 3, mgmt_code)                    \
    X(ETAH_RSP, MGMTETAH, "RSP", 7, 1, flag)                           \
    X(ETAH_STATUS, MGMTETAH, "Status", 8, 8, mgmt_status)              \
    X(ETAH_LEN, MGMTETAH, "PDU Length", 20, 12, dec)                   \
    X(SCAN_R, SCAN, "R", 11, 1, flag)                                  \
    X(SCAN_TYPE, SCAN, "Type", 12, 4, dec)                             \
    X(SCAN_HOPS, SCAN, "Hops", 16, 8, dec)                             \
    X(SCAN_STEP, SCAN, "Step", 24, 8, dec)                             \
    X(PDU_VERSION, SCAN_PDU, "Version", 0, 8, dec)                     \
    X(PDU_CMD, SCAN_PDU, "CMD", 8, 8, scan_cmd)                        \
    X(PDU_OPCODE, SCAN_PDU, "Opcode", 16, 8, dec)                      \
    X(PDU_STATUS, SCAN_PDU, "Slice_ID or Status", 24, 8, hex)          \
    X(PDU_QUEUE, SCAN_PDU, "MSGQ_ID", 32, 8, dec)                      \
    X(PDU_LENGTH, SCAN_PDU, "Length", 40, 8, dec)                      \
    X(PDU_MSN, SCAN_PDU, "MSN", 48, 16, hex)                           \
    X(PDU_GUID, SCAN_PDU, "GUID", 64, 128, id)                         \
    X(NA_CFG_PORT, SCAN_NA_CFG, "Port_idx", 192, 16, dec)              \
    X(NA_CFG_CNA, SCAN_NA_CFG, "CNA", 232, 24, hex)                    \
    X(NA_QUERY_PORT, SCAN_NA_QUERY, "Port_idx", 208, 16, dec)          \
    X(NA_DONE_CNA, SCAN_NA_DONE, "CNA", 200, 24, hex)                  \
    X(TLV_TYPE, TLV, "Type", 0, 8, scan_tlv)                           \
    X(TLV_LENGTH, TLV, "Length", 8, 8, dec)                            \
    X(SLICE_TOTAL, SLICE_INFO, "Total_slice", 16, 8, dec)              \
    X(SLICE_ID, SLICE_INFO, "Slice_ID", 24, 8, dec)                    \
    X(PORTS_TOTAL, PORT_NUM, "Total_num_ports", 16, 16, dec)           \
    X(PORTS_HERE, PORT_NUM, "Num_port_TLV", 32, 16, dec)               \
    X(PORT_T, PORT_INFO, "T", 20, 1, flag)                             \
    X(PORT_W, PORT_INFO, "W", 21, 1, flag)                             \
    X(PORT_B, PORT_INFO, "B", 22, 1, flag)                             \
    X(PORT_S, PORT_INFO, "S", 23, 1, flag)                             \
    X(PORT_LOCAL, PORT_INFO, "Local_port_idx", 32, 16, dec)            \
    X(PORT_REMOTE, PORT_INFO, "Remote_port_idx", 48, 16, dec)          \
    X(PORT_GUID, PORT_INFO, "Remote_GUID", 96, 128, id)                \
    X(CAP_SUP_MTU, CAP_INFO, "Sup_MTU", 17, 3, dec)                    \
    X(CAP_MTU, CAP_INFO, "MTU", 21, 3, dec)                            \
    X(CAP_DA, CAP_INFO, "DA", 31, 1, flag)                             \
    X(CAP_CLASS, CAP_INFO, "Class Code", 48, 16, hex)                  \
    X(ERROR_CNA, ERROR, "SCNA", 8, 24, hex)                            \
    X(ERROR_EL, ERROR, "EL", 32, 1, flag)                              \
    X(ERROR_PORT, ERROR, "Port_idx", 48, 16, dec)                      \
    X(LINK_CNA, LINK, "SCNA", 8, 24, hex)                              \
    X(LINK_PORT, LINK, "Port_idx", 48, 16, dec)                        \
    X(PLUG_SLOT, PLUG, "Slot_idx", 16, 16, dec)                        \
    X(CFG_ENTITY, CFG, "Entity_idx", 0, 16, dec)                       \
    X(CFG_BYTE_EN, CFG, "Byte_En", 24, 4, hex)                         \
    X(CFG_ADDRESS, CFG, "Request Address", 32, 32, hex)                \
    X(CFG_DATA, CFG, "Data", 96, 32, hex)                              \
    X(CFG_DONE_DATA, CFG_DONE, "Data", 0, 32, hex)                     \
    X(VENDOR_VERSION, VENDOR, "Version", 0, 4, dec)                    \
    X(VENDOR_TYPE, VENDOR, "Type", 4, 4, dec)                          \
    X(VENDOR_VENDOR, VENDOR, "Vendor ID", 32, 16, hex)                 \
    X(VENDOR_DEVICE, VENDOR, "Device ID", 48, 16, hex)                 \
    X(RESOURCE_OPCODE, RESOURCE, "Opcode", 31, 1, flag)                \
    X(RESOURCE_SA0_LO, RESOURCE, "ERS0_SA0", 32, 32, hex)              \
    X(RESOURCE_SA0_HI, RESOURCE, "ERS0_SA1", 64, 32, hex)              \
    X(RESOURCE_SA1_LO, RESOURCE, "ERS1_SA0", 96, 32, hex)              \
    X(RESOURCE_SA1_HI, RESOURCE, "ERS1_SA1", 128, 32, hex)             \
    X(RESOURCE_SA2_LO, RESOURCE, "ERS2_SA0", 160, 32, hex)             \
    X(RESOURCE_SA2_HI, RESOURCE, "ERS2_SA1", 192, 32, hex)             \
    X(RES_DONE_SS0, RESOURCE_DONE, "ERS0_SS", 0, 32, hex)              \
    X(RES_DONE_SA0_LO, RESOURCE_DONE, "ERS0_SA0", 32, 32, hex)         \
    X(RES_DONE_SA0_HI, RESOURCE_DONE, "ERS0_SA1", 64, 32, hex)         \
    X(RES_DONE_SS1, RESOURCE_DONE, "ERS1_SS", 96, 32, hex)             \
    X(RES_DONE_SA1_LO, RESOURCE_DONE, "ERS1_SA0", 128, 32, hex)        \
    X(RES_DONE_SA1_HI, RESOURCE_DONE, "ERS1_SA1", 160, 32, hex)        \
    X(RES_DONE_SS2, RESOURCE_DONE, "ERS2_SS", 192, 32, hex)            \
    X(RES_DONE_SA2_LO, RESOURCE_DONE, "ERS2_SA0", 224, 32, hex)        \
    X(RES_DONE_SA2_HI, RESOURCE_DONE, "ERS2_SA1", 256, 32, hex)        \
    X(ENTITY_MUES, ENTITY_DONE, "MUE nums", 32, 16, dec)               \
    X(ENTITY_ALL, ENTITY_DONE, "Entity nums", 48, 16, dec)             \
    X(NEIGHBOR_D, NEIGHBOR, "D", 0, 1, flag)                           \
    X(NEIGHBOR_PORTS, NEIGHBOR, "Port_num", 8, 8, dec)                 \
    X(TOKEN_ENABLE, TOKEN, "Check_En", 31, 1, flag)                    \
    X(TOKEN_ID, TOKEN_DONE, "TokenID", 12, 20, hex)                    \
    X(TOKEN_VALUE, TOKEN_DONE, "TokenValue", 32, 32, hex)              \
    X(REGISTER_UPI, REGISTER, "UPI", 1, 15, hex)                       \
    X(REGISTER_ENTITY, REGISTER, "Entity_idx", 16, 16, dec)            \
    X(REGISTER_EID, REGISTER, "EID", 32, 128, id)                      \
    X(REGISTER_GUID, REGISTER, "GUID", 160, 128, id)                   \
    X(REGISTER_CNA, REGISTER, "CNA", 296, 24, hex)                     \
    X(REGISTER_UEID, REGISTER, "UEID", 320, 128, id)                   \
    X(REGISTER_SS0, REGISTER, "ERS0_SS", 448, 32, hex)                 \
    X(REGISTER_SA0_LO, REGISTER, "ERS0_SA0", 480, 32, hex)             \
    X(REGISTER_SA0_HI, REGISTER, "ERS0_SA1", 512, 32, hex)             \
    X(REGISTER_SS1, REGISTER, "ERS1_SS", 544, 32, hex)                 \
    X(REGISTER_SA1_LO, REGISTER, "ERS1_SA0", 576, 32, hex)             \
    X(REGISTER_SA1_HI, REGISTER, "ERS1_SA1", 608, 32, hex)             \
    X(REGISTER_SS2, REGISTER, "ERS2_SS", 640, 32, hex)                 \
    X(REGISTER_SA2_LO, REGISTER, "ERS2_SA0", 672, 32, hex)             \
    X(REGISTER_SA2_HI, REGISTER, "ERS2_SA1", 704, 32, hex)             \
    X(DEREGISTER_EID, DEREGISTER, "EID", 0, 128, id)                   \
    X(DEREGISTER_REASON, DEREGISTER, "Reason", 152, 8, dec)            \
    X(BI_CREATE_GUID, BI_CREATE, "GUID", 0, 128, id)                   \
    X(BI_CREATE_EID, BI_CREATE, "EID", 128, 128, id)                   \
    X(BI_CREATE_UPI, BI_CREATE, "UPI", 273, 15, hex)                   \
    X(BI_DESTROY_GUID, BI_DESTROY, "GUID", 0, 128, id)                 \
    X(CFG_COMPLETE_F, CFG_COMPLETE, "F", 31, 1, flag)                  \
    X(CFG_COMPLETE_GUID, CFG_COMPLETE, "GUID", 32, 128, id)            \
    X(CFG_COMPLETE_EID, CFG_COMPLETE, "EID", 160, 128, id)             \
    X(PORT_RESET_PORT, PORT_RESET, "Port_idx", 0, 16, dec)             \
    X(PORT_RESET_T, PORT_RESET, "T", 31, 1, flag)

typedef enum UbMgmtField {
#define UB_X(symbol, ...) UB_MF_##symbol,
    UB_MGMT_FIELDS(UB_X)
#undef UB_X
    UB_MF_NUM
} UbMgmtField;

/* Where a field is. */
typedef struct UbMgmtPlace {
    uint16_t bit;
    uint8_t bits;
} UbMgmtPlace;

extern const UbMgmtPlace ub_mgmt_places[UB_MF_NUM];

/* A field of up to 32 bits of the structure at @p. */
uint32_t ub_mgmt_get(const uint8_t *p, UbMgmtField f);
/* Set it to the low bits of @v. */
void ub_mgmt_put(uint8_t *p, UbMgmtField f, uint32_t v);
/* An identity of the structure at @p. */
UbId ub_mgmt_get_id(const uint8_t *p, UbMgmtField f);
void ub_mgmt_put_id(uint8_t *p, UbMgmtField f, UbId id);

/* --------------------------------------------------------- enumeration -- */

/* X(symbol, CMD, name). */
#define UB_SCAN_CMDS(X)                        \
    X(TOPOLOGY, 0, "Topology query")           \
    X(NA_CONFIG, 1, "Network address configuration") \
    X(NA_QUERY, 2, "Network address query")

typedef enum UbScanCmd {
#define UB_X(symbol, value, name) UB_SCAN_##symbol = value,
    UB_SCAN_CMDS(UB_X)
#undef UB_X
} UbScanCmd;

/* Opcodes of requests; those of responses are 0. */
#define UB_SCAN_OP_TOPOLOGY 1
#define UB_SCAN_OP_PRIMARY 2
#define UB_SCAN_OP_PORT 3
#define UB_SCAN_OP_ALL 4 /* configuration: Primary CNA and all Port CNAs */

/* X(symbol, type, name, bytes). */
#define UB_SCAN_TLVS(X)                  \
    X(SLICE_INFO, 0, "Slice_info", 4)    \
    X(PORT_NUM, 1, "Port_num", 8)        \
    X(PORT_INFO, 2, "Port_info", 28)     \
    X(CAP_INFO, 4, "Cap_info", 8)

#define UB_X(symbol, type, name, bytes) \
    UB_TLV_##symbol = type, UB_TLV_##symbol##_SIZE = bytes,
enum { UB_SCAN_TLVS(UB_X) };
#undef UB_X

#define UB_SCAN_VERSION 1
#define UB_SCAN_HEADER 4 /* bytes before the paths */
#define UB_SCAN_PDU 24   /* bytes that every Scan PDU has */

/* Bytes of each path of a Scan Header; 0 for a reserved Type. */
unsigned ub_scan_path_bytes(unsigned type, unsigned hops);
/* Port number @i of a path. */
unsigned ub_scan_hop(const uint8_t *path, unsigned type, unsigned i);
void ub_scan_set_hop(uint8_t *path, unsigned type, unsigned i, unsigned port);

/* A way through the fabric: the ports that a scan leaves by, from ours on, and
 * those of the way back. */
typedef struct UbScanWay {
    uint8_t hops;
    uint16_t forward[255], back[255];
} UbScanWay;

typedef struct UbScanAsk {
    UbScanCmd cmd;
    uint8_t opcode; /* UB_SCAN_OP_... */
    uint8_t slice;  /* topology query */
    uint16_t port;  /* with UB_SCAN_OP_PORT */
    uint32_t cna;   /* configuration */
    UbId guid;      /* of the node at the end; zeroes for our own */
} UbScanAsk;

/* Put Scan Header and Scan PDU of a request into @data, of UB_SCAN_MAX bytes, with
 * MSGQ_ID and MSN 0.  Returns their bytes; 0: the way is too long, or CMD is
 * reserved. */
unsigned ub_scan_put(uint8_t *data, const UbScanWay *way, const UbScanAsk *ask);

/* Bytes of a request's Scan PDU; 0: CMD is reserved. */
unsigned ub_scan_request_size(unsigned cmd);

/* A Scan Header and Scan PDU, as they lie in a packet. */
typedef struct UbScan {
    bool r;
    uint8_t type, hops, step;
    const uint8_t *forward, *back; /* paths; @back is NULL without R */
    unsigned path;                 /* bytes of each */
    const uint8_t *pdu;
    unsigned pdu_len;
} UbScan;

/* NULL, or the rule that the @len bytes at @data break. */
const char *ub_scan_parse(UbScan *s, const uint8_t *data, size_t len);

typedef enum UbScanNext {
    UB_SCAN_HERE,    /* this node is the destination */
    UB_SCAN_FORWARD, /* it goes on out of a port */
    UB_SCAN_ASTRAY,  /* it is beyond its destination */
} UbScanNext;

/* What a node does first with a packet that it received: one Step more.  @port:
 * where to, for UB_SCAN_FORWARD.  The ICRC has to be made anew. */
UbScanNext ub_scan_advance(UbScan *s, uint8_t *data, unsigned *port);

#endif
