/*
 * Messages of URPC (UB 2.0 appendix H) and the extension for storage logs, PLOG
 * (appendix I): one table says where each field is.  What builds and parses messages,
 * the dissector and the tests are made from it.
 *
 * A field is found in @bytes bytes from @byte on, read as one number, above its @shift
 * low bits.  Fields of whole bytes have the least significant byte first, or the most
 * significant one first (URPC_BIG): the document does not say which.  Others have one
 * place only: figure I-2 tells the parts of TokenID and EID Index apart, the low ones in
 * front.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef URPC_FORMAT_H
#define URPC_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum UrpcOrder {
    URPC_LITTLE, URPC_BIG,
} UrpcOrder;

enum {
    URPC_VERSION = 1,           /* of URPC and of PLOG */
    URPC_DMA_MAX = 63,          /* six bits */
    URPC_RANGE_MAX = 0xffff,
    URPC_PLOG_USER_HEAD = 192,
};

/* Table H-3. */
typedef enum UrpcType {
    URPC_REQUEST, URPC_ACK, URPC_RESPONSE, URPC_ACK_RESPONSE,
} UrpcType;

/* Table H-6. */
typedef enum UrpcStatus {
    URPC_OK,
    URPC_REFUSED,               /* the server does not want to */
    URPC_NO_FUNCTION,
    URPC_NO_BUFFER,             /* for the arguments */
    URPC_TIMEOUT,
    URPC_BAD_VERSION,
    URPC_BAD_HEAD,
    URPC_STATUSES,
} UrpcStatus;

/* Function Defined (table H-4). */
enum {
    URPC_PLAIN, URPC_COMPUTE, URPC_PLOG,
};

/* Function (figure H-1): UBPU Class, UBPU Subclass, P, Method. */
#define URPC_FUNCTION(unit, p, method) \
    ((uint64_t)(unit) << 24 | (uint64_t)(p) << 23 | (method))
#define URPC_UNIT(class, subclass) ((uint32_t)(class) << 12 | (subclass))
#define URPC_UNIT_STORAGE URPC_UNIT(0x002, 0x001)       /* table H-2 */
#define URPC_CUSTOM 0x800000u                           /* P: deployed */

/* Reserved P and Method (§H.2). */
enum {
    URPC_LIST_PUBLIC = 0x000000, URPC_LIST_CUSTOM = 0x800000,
    URPC_DEPLOY = 0x800001, URPC_DELETE = 0x800002, URPC_FIND = 0x800003,
};

/* Data Mode (table I-1). */
typedef enum UrpcMode {
    URPC_PUSH, URPC_PUSH_PULL, URPC_READ, URPC_WRITE, URPC_WRITE_IMM,
    URPC_READ_WRITE, URPC_MODES,
} UrpcMode;

enum {
    URPC_SGL_DO = 0x0b, URPC_SGL_SKIP = 0x1b,
    URPC_SGE_READ = 0, URPC_SGE_WRITE = 1,
};

/* X(structure, bytes) */
#define URPC_STRUCTURES(X)                                                      \
    X(REQUEST, 20) X(DMA, 16) X(ACK, 12) X(RESPONSE, 16)                        \
    X(PLOG_REQUEST, 44) X(PLOG_SGE, 32) X(PLOG_RESPONSE, 20)

/* X(structure, member, "Name", byte, bytes, shift, bits, shown as) */
#define URPC_FIELDS(X)                                                          \
    X(REQUEST, version, "Version", 0, 1, 4, 4, dec)                             \
    X(REQUEST, type, "Type", 0, 1, 0, 4, urpc_type)                             \
    X(REQUEST, ack, "Ack", 1, 1, 7, 1, dec)                                     \
    X(REQUEST, dma_count, "Argument DMA Count", 1, 1, 0, 6, dec)                \
    X(REQUEST, function, "Function", 2, 6, 0, 48, hex)                          \
    X(REQUEST, total, "Request Total Size", 8, 4, 0, 32, dec)                   \
    X(REQUEST, id, "Request ID", 12, 4, 0, 32, hex)                             \
    X(REQUEST, channel, "Client's URPC Channel", 16, 3, 0, 24, hex)             \
    X(REQUEST, defined, "Function Defined", 19, 1, 0, 8, urpc_defined)          \
    X(DMA, size, "Argument DMA's Size", 0, 4, 0, 32, dec)                       \
    X(DMA, address, "Argument DMA's UB Address", 4, 8, 0, 64, hex)              \
    X(DMA, token, "Argument DMA's UB Token", 12, 4, 0, 32, hex)                 \
    X(ACK, version, "Version", 0, 1, 4, 4, dec)                                 \
    X(ACK, type, "Type", 0, 1, 0, 4, urpc_type)                                 \
    X(ACK, range, "Request ID Range", 2, 2, 0, 16, dec)                         \
    X(ACK, id, "Request ID", 4, 4, 0, 32, hex)                                  \
    X(ACK, channel, "Client's URPC Channel", 8, 3, 0, 24, hex)                  \
    X(RESPONSE, version, "Version", 0, 1, 4, 4, dec)                            \
    X(RESPONSE, type, "Type", 0, 1, 0, 4, urpc_type)                            \
    X(RESPONSE, status, "Status", 1, 1, 0, 8, urpc_status)                      \
    X(RESPONSE, range, "Request ID Range", 2, 2, 0, 16, dec)                    \
    X(RESPONSE, id, "Request ID", 4, 4, 0, 32, hex)                             \
    X(RESPONSE, channel, "Client's URPC Channel", 8, 3, 0, 24, hex)             \
    X(RESPONSE, defined, "Function Defined", 11, 1, 0, 8, urpc_defined)         \
    X(RESPONSE, total, "Response Total Size", 12, 4, 0, 32, dec)                \
    X(PLOG_REQUEST, version, "Version", 0, 1, 4, 4, dec)                        \
    X(PLOG_REQUEST, mode, "Data Mode", 0, 1, 0, 4, urpc_mode)                   \
    X(PLOG_REQUEST, head_offset, "User Head Offset", 1, 1, 0, 8, dec)           \
    X(PLOG_REQUEST, data_offset, "User Data Offset", 2, 2, 0, 16, dec)          \
    X(PLOG_REQUEST, dma_count, "DMA's Count", 4, 2, 0, 16, dec)                 \
    X(PLOG_REQUEST, queue, "Local Queue ID", 6, 2, 0, 16, hex)                  \
    X(PLOG_REQUEST, channel, "Server's URPC Channel", 8, 3, 0, 24, hex)         \
    X(PLOG_REQUEST, redirect, "DMA Redirect", 11, 1, 7, 1, dec)                 \
    X(PLOG_REQUEST, early, "Early RSP", 11, 1, 6, 1, dec)                       \
    X(PLOG_REQUEST, flow, "FC", 11, 1, 4, 2, dec)                               \
    X(PLOG_REQUEST, queue_token, "Local Queue TokenValue", 12, 4, 0, 32, hex)   \
    X(PLOG_SGE, address, "Data DMA's UB Address", 0, 8, 0, 64, hex)             \
    X(PLOG_SGE, size, "Data DMA's Size", 8, 3, 0, 24, dec)                      \
    X(PLOG_SGE, token_id, "Data DMA's UB TokenID", 11, 3, 0, 20, hex)           \
    X(PLOG_SGE, eid_index, "Data DMA's UB EID Index", 13, 2, 4, 12, hex)        \
    X(PLOG_SGE, sgl_type, "Data DMA's SGL Type", 15, 1, 0, 8, hex)              \
    X(PLOG_SGE, token, "Data DMA's UB TokenValue", 16, 4, 0, 32, hex)           \
    X(PLOG_SGE, flag, "Data DMA's Flag", 23, 1, 0, 4, dec)                      \
    X(PLOG_RESPONSE, version, "Version", 0, 1, 4, 4, dec)                       \
    X(PLOG_RESPONSE, mode, "Data Mode", 0, 1, 0, 4, urpc_mode)                  \
    X(PLOG_RESPONSE, head_offset, "User Head Offset", 1, 1, 0, 8, dec)          \
    X(PLOG_RESPONSE, data_offset, "User Data Offset", 2, 2, 0, 16, dec)         \
    X(PLOG_RESPONSE, dma_count, "DMA's Count", 4, 2, 0, 16, dec)                \
    X(PLOG_RESPONSE, channel, "Server's URPC Channel", 8, 3, 0, 24, hex)

#define URPC_SIZE_OF(name, bytes) URPC_##name##_SIZE = bytes,
enum {
    URPC_STRUCTURES(URPC_SIZE_OF)
    URPC_SECURITY_AT = 16, URPC_SECURITY_SIZE = 28,     /* of PLOG_REQUEST */
};
#undef URPC_SIZE_OF

#define URPC_KIND_OF(name, bytes) URPC_KIND_##name,
typedef enum UrpcKind {
    URPC_STRUCTURES(URPC_KIND_OF)
    URPC_KINDS,
} UrpcKind;
#undef URPC_KIND_OF

/* The structures as numbers of the host. */
typedef struct UrpcRequest {
    uint64_t function;
    uint32_t total, id, channel;
    uint8_t version, type, ack, dma_count, defined;
} UrpcRequest;

typedef struct UrpcDma {
    uint64_t address;
    uint32_t size, token;
} UrpcDma;

typedef struct UrpcAck {
    uint32_t id, channel;
    uint16_t range;
    uint8_t version, type;
} UrpcAck;

typedef struct UrpcResponse {
    uint32_t id, channel, total;
    uint16_t range;
    uint8_t version, type, status, defined;
} UrpcResponse;

typedef struct UrpcPlogRequest {
    uint32_t channel, queue_token;
    uint16_t data_offset, dma_count, queue;
    uint8_t version, mode, head_offset, redirect, early, flow;
} UrpcPlogRequest;

typedef struct UrpcPlogSge {
    uint64_t address;
    uint32_t size, token_id, token;
    uint16_t eid_index;
    uint8_t sgl_type, flag;
} UrpcPlogSge;

typedef struct UrpcPlogResponse {
    uint32_t channel;
    uint16_t data_offset, dma_count;
    uint8_t version, mode, head_offset;
} UrpcPlogResponse;

/*
 * Write @s, the structure of @kind, to @p, or read it.  @p has the bytes of that kind.
 * What is reserved is written as zero and not read; a number too large for its field
 * loses its high bits.
 */
void urpc_put(UrpcOrder order, UrpcKind kind, uint8_t *p, const void *s);
void urpc_get(UrpcOrder order, UrpcKind kind, const uint8_t *p, void *s);
/* A number of @bytes bytes. */
void urpc_put_number(UrpcOrder order, uint8_t *p, unsigned bytes, uint64_t v);
uint64_t urpc_get_number(UrpcOrder order, const uint8_t *p, unsigned bytes);

/* A message taken apart; pointers are into its bytes. */
typedef struct UrpcMessage {
    UrpcRequest request;        /* URPC_REQUEST */
    UrpcResponse response;      /* URPC_RESPONSE, URPC_ACK_RESPONSE */
    UrpcAck ack;                /* URPC_ACK */
    const uint8_t *dma;         /* the table of a request, by its dma_count */
    const uint8_t *offsets;     /* of a response: range - 1 numbers, or NULL */
    const uint8_t *data;        /* Inline Data or Return Data */
    uint32_t len;
    uint8_t type;
} UrpcMessage;

enum {
    URPC_NOT_A_MESSAGE = -1,    /* too short for its head, or of an unknown type */
};

/*
 * Take a message apart.  URPC_OK; URPC_BAD_VERSION or URPC_BAD_HEAD (sizes do not fit):
 * its type, and id and channel of its head are there, so that it can be answered;
 * URPC_NOT_A_MESSAGE: nothing is.
 */
int urpc_parse(UrpcOrder order, const void *bytes, size_t len, UrpcMessage *m);
/* Row @i of a request's table. */
void urpc_message_dma(UrpcOrder order, const UrpcMessage *m, unsigned i,
                      UrpcDma *out);
/* The part of a response for the call @i of its range, the oldest being 0. */
const uint8_t *urpc_message_part(UrpcOrder order, const UrpcMessage *m, unsigned i,
                                 uint32_t *len);

#endif
