/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface of URMA between programs and kernel: commands as lists of
 * attributes, each by its number, size and place in a structure.
 *
 * One table serves the module, which reads attributes into such a structure,
 * the provider library, which makes attributes of one, and their tests.  The
 * structures are ours; only numbers and sizes of attributes are the interface.
 */
#ifndef URMA_ABI_H
#define URMA_ABI_H

#include "os.h"

/* Request codes: type, number, direction and size of struct urma_hdr. */
#define URMA_IOC_DEVICE	0xc0105501u	/* on /dev/uburma/NAME */
#define URMA_IOC_EVENT	0xc0104500u	/* on descriptors of events */

struct urma_hdr {
	u32 command;
	u32 args_len;		/* bytes of attributes */
	u64 args_addr;
};

struct urma_attr {
	u8 type;
	u8 flag;
	u16 size;
	u32 elements;		/* count [11:0], stride [23:12] */
	u64 data;
};

#define URMA_ATTRS_MAX		128	/* and of event commands: */
#define URMA_EVENT_ATTRS_MAX	16
#define URMA_ATTR_OUT		0x80	/* types from here on come back */

enum urma_command {
	URMA_CREATE_CTX = 1,
	URMA_ALLOC_TOKEN_ID,
	URMA_FREE_TOKEN_ID,
	URMA_REGISTER_SEG,
	URMA_UNREGISTER_SEG,
	URMA_IMPORT_SEG,
	URMA_UNIMPORT_SEG,
	URMA_CREATE_JFS,
	URMA_MODIFY_JFS,
	URMA_QUERY_JFS,
	URMA_DELETE_JFS,
	URMA_CREATE_JFR,
	URMA_MODIFY_JFR,
	URMA_QUERY_JFR,
	URMA_DELETE_JFR,
	URMA_CREATE_JFC,
	URMA_MODIFY_JFC,
	URMA_DELETE_JFC,
	URMA_CREATE_JFCE,
	URMA_IMPORT_JFR,
	URMA_UNIMPORT_JFR,
	URMA_CREATE_JETTY,
	URMA_MODIFY_JETTY,
	URMA_QUERY_JETTY,
	URMA_DELETE_JETTY,
	URMA_IMPORT_JETTY,
	URMA_UNIMPORT_JETTY,
	URMA_BIND_JETTY = 32,
	URMA_UNBIND_JETTY,
	URMA_CREATE_JETTY_GRP,
	URMA_DESTROY_JETTY_GRP,
	URMA_USER_CTL,
	URMA_GET_EID_LIST,
	URMA_QUERY_DEV_ATTR = 40,
	URMA_COMMANDS,
};

enum urma_event_command {
	URMA_WAIT_JFCE = 1,
	URMA_GET_ASYNC_EVENT,
	URMA_EVENT_COMMANDS,
};

#define URMA_NAME_MAX	64
#define URMA_EIDS_MAX	1024
#define URMA_PORTS_MAX	8
#define URMA_WAIT_MAX	16
#define URMA_MEMBERS_MAX	32	/* of a group */
#define URMA_WELL_KNOWN_MAX	1023
#define URMA_NO_TPN	0xffffffffu

/* ---- what a program and the kernel tell each other beside the attributes ---- */

struct urma_udata {
	u64 in_addr;
	u32 in_len;
	u32 pad0;
	u64 out_addr;
	u32 out_len;
	u32 pad1;
};

/*
 * Ours: CREATE_CTX, of queues (JFC, JFS, JFR, jetty) and of imported targets.
 * Memory of a queue is mapped at the offset (its handle * 4 KiB), the page of
 * doorbells at 0.
 */
#define URMA_PRIVATE_VERSION	1
#define URMA_MMAP_SHIFT		12

struct urma_ctx_private {
	u32 version;
	u32 bell_bytes;
};

struct urma_queue_private {
	u32 log2;		/* entries of the ring; of send queues: blocks */
	u32 stride;		/* receive queues: log2 of the elements of one */
	u32 bytes;		/* to be mapped */
	u32 blocks;		/* send queues: of the longest entry */
	u32 record;		/* receive queues: where in what is mapped the record
				 * of what was posted is (UBQ_Q_RECORD); 0: none */
	u32 pad;
};

/*
 * USER_CTL: what goes in is the handle (u64) of a JFS, JFR or jetty.
 * DRAIN: requests that have not begun come back as flushed; the queue is suspended
 * or in error.  PROGRESS: struct urma_progress comes out.
 */
enum urma_control { URMA_CTL_DRAIN = 1, URMA_CTL_PROGRESS };

struct urma_progress {
	u32 state;		/* UBQ_STATE_* */
	u16 send_posted, send_done, recv_posted, recv_done;	/* in blocks */
	u32 group;		/* that it is a member of, or UBQ_NEW */
};

struct urma_target_private {
	u32 row;		/* of the table of destinations */
	u32 pad;
};

/* ---- commands ---- */

struct urma_create_ctx {
	u8 eid[16];
	u32 eid_index;
	struct urma_udata udata;
	s32 async_fd;
};

struct urma_token_cmd {
	u64 handle;
	u32 token_id;
	u32 flag;
	struct urma_udata udata;
};

struct urma_seg_cmd {
	u64 va, len, mva;
	u64 token_handle;
	u32 token_id, token, flag;
	u8 eid[16];
	struct urma_udata udata;
	u64 handle;
};

/* What has a handle and no more; of queries all that is asked. */
struct urma_handle_cmd {
	u64 handle;
	u32 async_events, comp_events;
};

struct urma_jfc_cmd {
	u32 depth, flag;
	s32 jfce_fd;
	u64 cookie;
	u32 ceqn;
	struct urma_udata udata;
	u32 id;
	u64 handle;
	u32 mask;
	u16 count, period;
};

struct urma_jetty_cmd {
	u32 id, flag;
	u32 send_depth, send_flag, trans_mode;
	u8 priority, send_sge, send_rsge, retry_cnt, rnr_retry, err_timeout;
	u32 inline_max;
	u32 send_jfc_id;
	u64 send_jfc;
	u32 recv_depth, recv_flag;
	u8 recv_sge, rnr_timer;
	u32 recv_jfc_id;
	u64 recv_jfc;
	u32 token;
	u32 jfr_id;
	u64 jfr;
	u64 group;
	u8 in_group;
	u64 cookie;
	struct urma_udata udata;
	u64 handle;
	u32 mask, rx_threshold, state;
};

struct urma_target_cmd {
	u8 eid[16];
	u32 id, flag, token, trans_mode, policy, type, tp_type;
	struct urma_udata udata;
	u32 tpn;
	u64 handle;
};

struct urma_bind_cmd {
	u64 jetty, target;
	struct urma_udata udata;
	u32 tpn;
};

struct urma_group_cmd {
	char name[URMA_NAME_MAX];
	u32 token, id, policy, flag;
	u64 cookie;
	struct urma_udata udata;
	u64 handle;
	u32 async_events;
};

struct urma_user_ctl_cmd {
	u64 in_addr, out_addr;
	u32 in_len, out_len, opcode;
	struct urma_udata udrv;
};

struct urma_eid_entry {
	u8 eid[16];
	u32 index;
	u32 pad;
};

struct urma_eid_list {
	u32 max, count;
	struct urma_eid_entry list[URMA_EIDS_MAX];
};

struct urma_port {
	u32 max_mtu, state, active_width, active_speed, active_mtu;
};

struct urma_sl {
	u32 sl, tp_type;
};

struct urma_dev_attr {
	char name[URMA_NAME_MAX];
	u8 guid[16];
	u32 feature, max_jfc, max_jfs, max_jfr, max_jetty, max_jetty_grp;
	u32 max_jetty_in_jetty_grp;
	u32 max_jfc_depth, max_jfs_depth, max_jfr_depth;
	u32 max_inline, max_jfs_sge, max_jfs_rsge, max_jfr_sge;
	u64 max_msg_size;
	u32 max_read_size, max_write_size, max_cas_size, max_swap_size;
	u32 max_add_size, max_sub_size, max_and_size, max_or_size, max_xor_size;
	u32 atomic_feat;
	u16 trans_mode, reserved, congestion_ctrl_alg;
	u32 ceq_cnt, max_tp_in_tpg, max_eid_cnt;
	u64 page_size_cap;
	u32 max_oor_cnt, mn, max_netaddr_cnt;
	u8 port_cnt;
	struct urma_port port[URMA_PORTS_MAX];
	u32 reserved_jetty_min, reserved_jetty_max;
	u32 rm_order_cap, rc_order_cap, rm_tp_cap, rc_tp_cap, um_tp_cap;
	u32 tp_feature;
	struct urma_sl priority[16];
};

struct urma_wait_cmd {
	u32 max;
	s32 timeout;
	u32 count;
	u64 cookie[URMA_WAIT_MAX];
};

struct urma_async_cmd {
	u32 type;
	u64 data;
};

/* ---- tables ---- */

struct urma_field {
	u8 type;
	u16 size;
	u16 at;			/* in the structure */
	u16 count, stride;	/* of an array of structures; else 0 */
};

struct urma_spec {
	const char *name;	/* NULL: there is no such command */
	u32 bytes;		/* of the structure */
	u32 fields;
	const struct urma_field *field;
	bool early;		/* may come before CREATE_CTX */
};

extern const struct urma_spec urma_specs[URMA_COMMANDS];
extern const struct urma_spec urma_event_specs[URMA_EVENT_COMMANDS];

/* ---- values ---- */

enum { URMA_RM = 1, URMA_RC = 2, URMA_UM = 4 };
enum { URMA_ORDER_DEFAULT, URMA_OT, URMA_OI, URMA_OL, URMA_NO };
enum { URMA_RTP, URMA_CTP, URMA_UTP };
enum { URMA_TARGET_JFR, URMA_TARGET_JETTY, URMA_TARGET_GROUP };
enum { URMA_RESET, URMA_READY, URMA_SUSPENDED, URMA_ERROR };
enum { URMA_JFR_RESET, URMA_JFR_READY, URMA_JFR_ERROR };

#define URMA_TOKEN_POLICY	7u	/* flags of JFRs, segments, imports */
#define URMA_JFS_SUSPEND	(1u << 1)
#define URMA_JFS_ORDER		0x000007f8u
#define URMA_JFS_ORDER_SHIFT	3
#define URMA_JFR_ORDER		0x00001fe0u
#define URMA_JFR_ORDER_SHIFT	5
#define URMA_JETTY_SHARE_JFR	1u
#define URMA_SEG_ACCESS		0x000007e0u
#define URMA_SEG_ACCESS_SHIFT	5
#define URMA_SEG_USER_IOVA	(1u << 12)
#define URMA_SEG_TOKEN_ID	(1u << 13)

#define URMA_ACCESS_LOCAL	1u
#define URMA_ACCESS_READ	2u
#define URMA_ACCESS_WRITE	4u
#define URMA_ACCESS_ATOMIC	8u

#define URMA_MODIFY_JFC_COUNT	1u
#define URMA_MODIFY_JFC_PERIOD	2u
#define URMA_MODIFY_JFS_STATE	1u
#define URMA_MODIFY_THRESHOLD	1u	/* of JFRs and jetties */
#define URMA_MODIFY_STATE	2u

enum urma_async_type {
	URMA_EVENT_JFC_ERR,
	URMA_EVENT_JFS_ERR,
	URMA_EVENT_JFR_ERR,
	URMA_EVENT_JFR_LIMIT,
	URMA_EVENT_JETTY_ERR,
	URMA_EVENT_JETTY_LIMIT,
	URMA_EVENT_JETTY_GRP_ERR,
	URMA_EVENT_PORT_ACTIVE,
	URMA_EVENT_PORT_DOWN,
	URMA_EVENT_DEV_FATAL,
	URMA_EVENT_EID_CHANGE,
	URMA_EVENT_ELR_ERR,
	URMA_EVENT_ELR_DONE,
};

#endif
