/*
 * What a provider of the public library liburma sees of it: structures and the
 * table of operations, declared anew from their sizes and offsets, which are
 * asserted below.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBC_LIBURMA_H
#define UBC_LIBURMA_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define URMA_FAIL 0x1000            /* general failure; else errno values */

typedef union urma_eid {
    uint8_t raw[16];
    uint64_t half[2];
} urma_eid;

typedef struct urma_jetty_id {
    urma_eid eid;
    uint32_t uasid, id;
} urma_jetty_id;

typedef struct urma_token {
    uint32_t token;
} urma_token;

typedef struct urma_provider_ops urma_provider_ops;
typedef struct urma_ops urma_ops;

typedef struct urma_device {
    char name[64], path[4096];
    int type;
    urma_provider_ops *ops;
    void *sysfs_dev;
} urma_device;

typedef struct urma_context {
    urma_device *dev;
    const urma_ops *ops;
    int dev_fd, async_fd;
    pthread_mutex_t mutex;
    urma_eid eid;
    uint32_t eid_index, uasid;
    uint64_t ref;
    int aggr_mode;
} urma_context;

typedef struct urma_jfce {
    urma_context *urma_ctx;
    int fd;
    uint64_t ref;
} urma_jfce;

typedef struct urma_jfc_cfg {
    uint32_t depth, flag, ceqn;
    urma_jfce *jfce;
    uint64_t user_ctx;
} urma_jfc_cfg;

typedef struct urma_queue_opt {
    uint64_t mask;
    bool is_actived;
    uint64_t rest[8];
} urma_queue_opt;

typedef struct urma_jfc {
    urma_context *urma_ctx;
    urma_jetty_id jfc_id;
    urma_jfc_cfg cfg;
    uint64_t handle;
    pthread_mutex_t event_mutex;
    pthread_cond_t event_cond;
    uint32_t comp_events_acked, async_events_acked;
    urma_queue_opt opt;
} urma_jfc;

typedef struct urma_jfs_cfg {
    uint32_t depth, flag, trans_mode;
    uint8_t priority, max_sge, max_rsge;
    uint32_t max_inline_data;
    uint8_t rnr_retry, err_timeout;
    urma_jfc *jfc;
    uint64_t user_ctx;
} urma_jfs_cfg;

typedef struct urma_jfs {
    urma_context *urma_ctx;
    urma_jetty_id jfs_id;
    urma_jfs_cfg cfg;
    uint64_t handle;
    pthread_mutex_t event_mutex;
    pthread_cond_t event_cond;
    uint32_t async_events_acked;
    urma_queue_opt opt;
} urma_jfs;

typedef struct urma_jfr_cfg {
    uint32_t id, depth, flag, trans_mode;
    uint8_t max_sge, min_rnr_timer;
    urma_jfc *jfc;
    urma_token token;
    uint64_t user_ctx;
} urma_jfr_cfg;

typedef struct urma_jfr {
    urma_context *urma_ctx;
    urma_jetty_id jfr_id;
    urma_jfr_cfg cfg;
    uint64_t handle;
    pthread_mutex_t event_mutex;
    pthread_cond_t event_cond;
    uint32_t async_events_acked;
    urma_queue_opt opt;
} urma_jfr;

typedef struct urma_jetty_grp_cfg {
    char name[64];
    uint32_t flag;
    urma_token token;
    uint32_t id, policy;
    uint64_t user_ctx;
} urma_jetty_grp_cfg;

typedef struct urma_jetty_grp {
    urma_context *urma_ctx;
    urma_jetty_id jetty_grp_id;
    urma_jetty_grp_cfg cfg;
    uint32_t jetty_cnt;             /* these three are the library's */
    void *jetty_list;
    pthread_mutex_t list_mutex;
    uint64_t handle;
    pthread_mutex_t event_mutex;
    pthread_cond_t event_cond;
    uint32_t async_events_acked;
} urma_jetty_grp;

typedef struct urma_jetty_cfg {
    uint32_t id, flag;
    urma_jfs_cfg jfs_cfg;
    urma_jfr *jfr;                  /* shared */
    urma_jfc *jfc;
    urma_jetty_grp *jetty_grp;
    uint64_t user_ctx;
} urma_jetty_cfg;

typedef struct urma_jetty_opt {
    bool is_actived;
    uint64_t rest[14];
} urma_jetty_opt;

typedef struct urma_target_jetty {
    urma_context *urma_ctx;
    urma_jetty_id id;
    uint64_t handle;
    uint32_t trans_mode, tpn, type, flag, policy, tp_type;
} urma_target_jetty;

typedef struct urma_jetty {
    urma_context *urma_ctx;
    urma_jetty_id jetty_id;
    urma_target_jetty *remote_jetty;
    urma_jetty_cfg cfg;
    uint64_t handle;
    pthread_mutex_t event_mutex;
    pthread_cond_t event_cond;
    uint32_t async_events_acked;
    urma_jetty_opt opt;
} urma_jetty;

typedef struct urma_rjetty {
    urma_jetty_id jetty_id;
    uint32_t trans_mode, policy, type, flag, tp_type;
} urma_rjetty;

typedef struct urma_rjfr {
    urma_jetty_id jfr_id;
    uint32_t trans_mode, flag, tp_type;
} urma_rjfr;

typedef struct __attribute__((packed)) urma_ubva {
    urma_eid eid;
    uint32_t uasid;
    uint64_t va;
} urma_ubva;

typedef struct urma_seg {
    urma_ubva ubva;
    uint64_t len;
    uint32_t attr, token_id;
} urma_seg;

typedef struct urma_token_id {
    urma_context *urma_ctx;
    uint32_t token_id;
    uint64_t handle, ref;
    uint32_t flag;
} urma_token_id;

typedef struct urma_seg_cfg {
    uint64_t va, len;
    urma_token_id *token_id;
    urma_token token;
    uint32_t flag;
    uint64_t user_ctx, iova;
} urma_seg_cfg;

typedef struct urma_target_seg {
    urma_seg seg;
    uint64_t user_ctx, mva;
    urma_context *urma_ctx;
    urma_token_id *token_id;
    uint64_t handle;
} urma_target_seg;

typedef struct urma_user_tseg {
    uint32_t attr, token_id;
    urma_token token;
} urma_user_tseg;

typedef struct urma_sge {
    uint64_t addr;
    uint32_t len;
    urma_target_seg *tseg;
    urma_user_tseg *user_tseg;
} urma_sge;

typedef struct urma_sg {
    urma_sge *sge;
    uint32_t num_sge;
} urma_sg;

typedef struct urma_rw_wr {
    urma_sg src, dst;
    uint8_t target_hint;
    uint64_t notify_data;
} urma_rw_wr;

typedef struct urma_send_wr {
    urma_sg src;
    uint8_t target_hint;
    uint64_t imm_data;
    urma_target_seg *tseg;
} urma_send_wr;

typedef struct urma_atomic_wr {     /* CAS: compare, swap; others: operand */
    urma_sge *dst, *src;
    uint64_t operand[2];
} urma_atomic_wr;

typedef struct urma_jfs_wr {
    uint32_t opcode, flag;
    urma_target_jetty *tjetty;
    uint64_t user_ctx;
    union {
        urma_rw_wr rw;
        urma_send_wr send;
        urma_atomic_wr atomic;
    };
    struct urma_jfs_wr *next;
} urma_jfs_wr;

typedef struct urma_jfr_wr {
    urma_sg src;
    uint64_t user_ctx;
    struct urma_jfr_wr *next;
} urma_jfr_wr;

typedef struct urma_cr {
    uint32_t status;
    uint64_t user_ctx;
    uint32_t opcode;
    uint8_t flag;
    uint32_t completion_len, local_id;
    urma_jetty_id remote_id;
    uint64_t imm_data;
    uint32_t tpn;
    uintptr_t user_data;
} urma_cr;

typedef struct urma_async_event {
    const urma_context *urma_ctx;
    union {
        urma_jfc *jfc;
        urma_jfs *jfs;
        urma_jfr *jfr;
        urma_jetty *jetty;
        urma_jetty_grp *jetty_grp;
        uint32_t number;
    };
    uint32_t event_type;
    void *priv;
} urma_async_event;

typedef struct urma_jfc_attr {
    uint32_t mask;
    uint16_t moderate_count, moderate_period;
} urma_jfc_attr;

typedef struct urma_jfs_attr {
    uint32_t mask, state;
} urma_jfs_attr;

typedef struct urma_recv_attr {     /* of JFRs and jetties */
    uint32_t mask, rx_threshold, state;
} urma_recv_attr;

typedef struct urma_user_ctl_in {
    uint64_t addr;
    uint32_t len, opcode;
} urma_user_ctl_in;

typedef struct urma_user_ctl_out {
    uint64_t addr;
    uint32_t len, reserved;
} urma_user_ctl_out;

/* Objects in steps: with options between what makes them and what has them work. */
struct urma_steps {
    int (*alloc)(urma_context *, void *, void **);
    int (*set_opt)(void *, uint64_t, void *, uint32_t);
    int (*active)(void *);
    int (*get_opt)(void *, uint64_t, void *, uint32_t);
    int (*deactive)(void *);
    int (*free)(void *);
};

/* The table of operations; what is void * is not offered. */
struct urma_ops {
    const char *name;
    urma_jfc *(*create_jfc)(urma_context *, urma_jfc_cfg *);
    int (*modify_jfc)(urma_jfc *, urma_jfc_attr *);
    int (*delete_jfc)(urma_jfc *);
    int (*delete_jfc_batch)(urma_jfc **, int, urma_jfc **);
    struct urma_steps jfc_steps;
    urma_jfs *(*create_jfs)(urma_context *, urma_jfs_cfg *);
    int (*modify_jfs)(urma_jfs *, urma_jfs_attr *);
    int (*query_jfs)(urma_jfs *, urma_jfs_cfg *, urma_jfs_attr *);
    int (*flush_jfs)(urma_jfs *, int, urma_cr *);
    int (*delete_jfs)(urma_jfs *);
    int (*delete_jfs_batch)(urma_jfs **, int, urma_jfs **);
    struct urma_steps jfs_steps;
    urma_jfr *(*create_jfr)(urma_context *, urma_jfr_cfg *);
    int (*modify_jfr)(urma_jfr *, urma_recv_attr *);
    int (*query_jfr)(urma_jfr *, urma_jfr_cfg *, urma_recv_attr *);
    int (*delete_jfr)(urma_jfr *);
    int (*delete_jfr_batch)(urma_jfr **, int, urma_jfr **);
    urma_target_jetty *(*import_jfr)(urma_context *, urma_rjfr *,
                                     urma_token *);
    int (*unimport_jfr)(urma_target_jetty *);
    void *advise_jfr[3];
    struct urma_steps jfr_steps;
    urma_jetty *(*create_jetty)(urma_context *, urma_jetty_cfg *);
    int (*modify_jetty)(urma_jetty *, urma_recv_attr *);
    int (*query_jetty)(urma_jetty *, urma_jetty_cfg *, urma_recv_attr *);
    int (*flush_jetty)(urma_jetty *, int, urma_cr *);
    int (*delete_jetty)(urma_jetty *);
    int (*delete_jetty_batch)(urma_jetty **, int, urma_jetty **);
    urma_target_jetty *(*import_jetty)(urma_context *, urma_rjetty *,
                                       urma_token *);
    int (*unimport_jetty)(urma_target_jetty *);
    void *advise_jetty[3];
    int (*bind_jetty)(urma_jetty *, urma_target_jetty *);
    int (*unbind_jetty)(urma_jetty *);
    struct urma_steps jetty_steps;
    urma_jetty_grp *(*create_jetty_grp)(urma_context *, urma_jetty_grp_cfg *);
    int (*delete_jetty_grp)(urma_jetty_grp *);
    urma_jfce *(*create_jfce)(urma_context *);
    int (*delete_jfce)(urma_jfce *);
    void *tp[5];                    /* get_tpn ... get_tp_attr */
    void *ex[3];                    /* import_jetty_ex ... bind_jetty_ex */
    urma_token_id *(*alloc_token_id)(urma_context *);
    void *alloc_token_id_ex;
    int (*free_token_id)(urma_token_id *);
    urma_target_seg *(*register_seg)(urma_context *, urma_seg_cfg *);
    int (*unregister_seg)(urma_target_seg *);
    urma_target_seg *(*import_seg)(urma_context *, urma_seg *, urma_token *,
                                   uint64_t, uint32_t);
    int (*unimport_seg)(urma_target_seg *);
    int (*get_async_event)(urma_context *, urma_async_event *);
    void (*ack_async_event)(urma_async_event *);
    int (*user_ctl)(urma_context *, urma_user_ctl_in *, urma_user_ctl_out *);
    int (*post_jfs_wr)(urma_jfs *, urma_jfs_wr *, urma_jfs_wr **);
    int (*post_jfr_wr)(urma_jfr *, urma_jfr_wr *, urma_jfr_wr **);
    int (*post_jetty_send_wr)(urma_jetty *, urma_jfs_wr *, urma_jfs_wr **);
    int (*post_jetty_recv_wr)(urma_jetty *, urma_jfr_wr *, urma_jfr_wr **);
    int (*poll_jfc)(urma_jfc *, int, urma_cr *);
    int (*rearm_jfc)(urma_jfc *, bool);
    int (*wait_jfc)(urma_jfce *, uint32_t, int, urma_jfc *[]);
    void (*ack_jfc)(urma_jfc *[], uint32_t[], uint32_t);
    void *async[8];                 /* import_jetty_async ... ack_notify */
    void *addresses[4];             /* get_eid_by_ip ... get_dmac */
};

struct urma_provider_ops {
    const char *name;
    struct {
        uint32_t version;
        int transport_type;
    } attr;
    const void *match_table;
    int (*init)(void *);
    int (*uninit)(void);
    void *query_device;
    urma_context *(*create_context)(urma_device *, uint32_t, int);
    int (*delete_context)(urma_context *);
    void *get_uasid;
};

/* Of liburma. */
int urma_register_provider_ops(urma_provider_ops *ops);
int urma_unregister_provider_ops(urma_provider_ops *ops);

/* ---- Values ------------------------------------------------------------------- */

enum {
    URMA_WR_WRITE = 0x00, URMA_WR_WRITE_IMM = 0x01, URMA_WR_WRITE_NOTIFY = 0x02,
    URMA_WR_READ = 0x10, URMA_WR_CAS = 0x20, URMA_WR_SWAP = 0x21,
    URMA_WR_FADD = 0x22, URMA_WR_FSUB = 0x23, URMA_WR_FAND = 0x24,
    URMA_WR_FOR = 0x25, URMA_WR_FXOR = 0x26, URMA_WR_SEND = 0x40,
    URMA_WR_SEND_IMM = 0x41, URMA_WR_NOP = 0x51,
};

#define URMA_WR_PLACE_ORDER 0x003u
#define URMA_WR_COMP_ORDER 0x004u
#define URMA_WR_FENCE 0x008u
#define URMA_WR_SOLICITED 0x010u
#define URMA_WR_COMPLETE 0x020u
#define URMA_WR_INLINE 0x040u

enum {
    URMA_CR_SUCCESS, URMA_CR_OPCODE, URMA_CR_LOCAL_LENGTH,
    URMA_CR_LOCAL_OPERATION, URMA_CR_LOCAL_ACCESS, URMA_CR_REMOTE_LENGTH,
    URMA_CR_REMOTE_UNSUPPORTED, URMA_CR_REMOTE_OPERATION,
    URMA_CR_REMOTE_ABORT, URMA_CR_ACK_TIMEOUT, URMA_CR_RNR,
    URMA_CR_FLUSHED, URMA_CR_SUSPEND_DONE, URMA_CR_FLUSH_DONE,
    URMA_CR_UNHANDLED, URMA_CR_LOCAL_POISON, URMA_CR_REMOTE_POISON,
};

enum { URMA_CR_SEND, URMA_CR_SEND_IMM, URMA_CR_SEND_INV, URMA_CR_WRITE_IMM };

#define URMA_CR_RECEIVE 1u
#define URMA_CR_JETTY 2u
#define URMA_CR_SUSPENDED 4u
#define URMA_CR_FLUSH_ENDED 8u

#define URMA_JFC_NON_BLOCKING 4u
#define URMA_LOCK_FREE 1u           /* JFC, JFS */
#define URMA_JFR_LOCK_FREE 0x10u

/* ---- Sizes and offsets -------------------------------------------------------- */

#define UBC_SIZE(type, size) _Static_assert(sizeof(type) == size, #type)
#define UBC_AT(type, field, at) \
    _Static_assert(offsetof(type, field) == at, #type "." #field)

/* A mutex has 40 bytes on x86_64, 48 on arm64; nothing else differs. */
#define UBC_M (sizeof(pthread_mutex_t) - 40)

UBC_SIZE(urma_device, 4184);
UBC_SIZE(urma_context, 104 + UBC_M);
UBC_AT(urma_context, dev_fd, 16);
UBC_AT(urma_context, mutex, 24);
UBC_AT(urma_context, eid, 64 + UBC_M);
UBC_AT(urma_context, ref, 88 + UBC_M);
UBC_SIZE(urma_jetty_id, 24);
UBC_SIZE(urma_jfce, 24);
UBC_SIZE(urma_jfc_cfg, 32);
UBC_SIZE(urma_queue_opt, 80);
UBC_SIZE(urma_jfc, 248 + UBC_M);
UBC_AT(urma_jfc, handle, 64);
UBC_AT(urma_jfc, event_cond, 112 + UBC_M);
UBC_AT(urma_jfc, comp_events_acked, 160 + UBC_M);
UBC_AT(urma_jfc, opt, 168 + UBC_M);
UBC_SIZE(urma_jfs_cfg, 40);
UBC_AT(urma_jfs_cfg, jfc, 24);
UBC_SIZE(urma_jfs, 256 + UBC_M);
UBC_AT(urma_jfs, opt, 176 + UBC_M);
UBC_SIZE(urma_jfr_cfg, 48);
UBC_AT(urma_jfr_cfg, token, 32);
UBC_SIZE(urma_jfr, 264 + UBC_M);
UBC_AT(urma_jfr, opt, 184 + UBC_M);
UBC_SIZE(urma_jetty_grp_cfg, 88);
UBC_AT(urma_jetty_grp, jetty_list, 128);
UBC_AT(urma_jetty_grp, handle, 176 + UBC_M);
UBC_AT(urma_jetty_grp, async_events_acked, 272 + 2 * UBC_M);
UBC_SIZE(urma_user_ctl_in, 16);
UBC_SIZE(urma_user_ctl_out, 16);
UBC_SIZE(urma_jetty_cfg, 80);
UBC_AT(urma_jetty_cfg, jfr, 48);
UBC_SIZE(urma_jetty_opt, 120);
UBC_SIZE(urma_jetty, 344 + UBC_M);
UBC_AT(urma_jetty, remote_jetty, 32);
UBC_AT(urma_jetty, handle, 120);
UBC_AT(urma_jetty, opt, 224 + UBC_M);
UBC_SIZE(urma_rjetty, 48);
UBC_SIZE(urma_rjfr, 40);
UBC_SIZE(urma_target_jetty, 64);
UBC_AT(urma_target_jetty, tp_type, 60);
UBC_SIZE(urma_ubva, 28);
UBC_SIZE(urma_seg, 48);
UBC_AT(urma_seg, len, 32);
UBC_SIZE(urma_token_id, 40);
UBC_SIZE(urma_seg_cfg, 48);
UBC_SIZE(urma_target_seg, 88);
UBC_AT(urma_target_seg, urma_ctx, 64);
UBC_SIZE(urma_user_tseg, 12);
UBC_SIZE(urma_sge, 32);
UBC_SIZE(urma_sg, 16);
UBC_SIZE(urma_rw_wr, 48);
UBC_SIZE(urma_send_wr, 40);
UBC_SIZE(urma_atomic_wr, 32);
UBC_SIZE(urma_jfs_wr, 80);
UBC_AT(urma_jfs_wr, rw, 24);
UBC_SIZE(urma_jfr_wr, 32);
UBC_SIZE(urma_cr, 80);
UBC_AT(urma_cr, flag, 20);
UBC_AT(urma_cr, remote_id, 32);
UBC_AT(urma_cr, imm_data, 56);
UBC_AT(urma_cr, user_data, 72);
UBC_SIZE(urma_async_event, 32);
UBC_SIZE(urma_ops, 800);
UBC_AT(urma_ops, jfc_steps, 40);
UBC_AT(urma_ops, create_jfs, 88);
UBC_AT(urma_ops, jfs_steps, 136);
UBC_AT(urma_ops, create_jfr, 184);
UBC_AT(urma_ops, import_jfr, 224);
UBC_AT(urma_ops, jfr_steps, 264);
UBC_AT(urma_ops, create_jetty, 312);
UBC_AT(urma_ops, jetty_steps, 416);
UBC_AT(urma_ops, import_jetty, 360);
UBC_AT(urma_ops, bind_jetty, 400);
UBC_AT(urma_ops, create_jetty_grp, 464);
UBC_AT(urma_ops, create_jfce, 480);
UBC_AT(urma_ops, alloc_token_id, 560);
UBC_AT(urma_ops, free_token_id, 576);
UBC_AT(urma_ops, register_seg, 584);
UBC_AT(urma_ops, import_seg, 600);
UBC_AT(urma_ops, get_async_event, 616);
UBC_AT(urma_ops, post_jfs_wr, 640);
UBC_AT(urma_ops, poll_jfc, 672);
UBC_AT(urma_ops, ack_jfc, 696);
UBC_SIZE(urma_provider_ops, 72);
UBC_AT(urma_provider_ops, create_context, 48);

#endif
