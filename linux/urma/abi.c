// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Commands of URMA: which attributes each has.
 *
 * A command must bring every input here, and room for every output; attributes
 * that are not here are ignored.  So a row too many shuts out every library.
 */
#include "abi.h"

static_assert(sizeof(struct urma_hdr) == 16, "header");
static_assert(sizeof(struct urma_attr) == 16, "attribute");
static_assert(sizeof(struct urma_udata) == 32, "udata");
static_assert(sizeof(struct urma_eid_entry) == 24, "EID entry");
static_assert(sizeof(struct urma_port) == 20, "port");

#define F(s, number, name) \
	{ number, sizeof_field(struct s, name), offsetof(struct s, name) }

static const struct urma_field create_ctx[] = {
#define C(n, name) F(urma_create_ctx, n, name)
	C(0x00, eid), C(0x01, eid_index), C(0x02, udata),
	C(0x80, async_fd), C(0x81, udata),
#undef C
};

#define T(n, name) F(urma_token_cmd, n, name)
static const struct urma_field alloc_token_id[] = {
	T(0x00, udata), T(0x01, flag),
	T(0x80, token_id), T(0x81, handle), T(0x82, udata),
};

static const struct urma_field free_token_id[] = {
	T(0x00, handle), T(0x01, token_id),
};

#define S(n, name) F(urma_seg_cmd, n, name)
static const struct urma_field register_seg[] = {
	S(0x00, va), S(0x01, len), S(0x02, token_id), S(0x03, token_handle),
	S(0x04, token), S(0x05, flag), S(0x06, udata),
	S(0x80, token_id), S(0x81, handle), S(0x82, udata),
};

static const struct urma_field import_seg[] = {
	S(0x00, eid), S(0x01, va), S(0x02, len), S(0x03, flag), S(0x04, token),
	S(0x05, token_id), S(0x06, mva), S(0x07, udata),
	S(0x80, handle), S(0x81, udata),
};

#define H(n, name) F(urma_handle_cmd, n, name)
static const struct urma_field handle_only[] = { H(0x00, handle) };
static const struct urma_field delete_queue[] = {
	H(0x00, handle), H(0x80, async_events),
};
static const struct urma_field delete_jfc[] = {
	H(0x00, handle), H(0x80, comp_events), H(0x81, async_events),
};

#define J(n, name) F(urma_jetty_cmd, n, name)
static const struct urma_field create_jfs[] = {
	J(0x00, send_depth), J(0x01, send_flag), J(0x02, trans_mode),
	J(0x03, priority), J(0x04, send_sge), J(0x05, send_rsge),
	J(0x06, inline_max), J(0x07, retry_cnt), J(0x08, rnr_retry),
	J(0x09, err_timeout), J(0x0a, send_jfc_id), J(0x0b, send_jfc),
	J(0x0c, cookie), J(0x0d, udata),
	J(0x80, id), J(0x81, send_depth), J(0x82, send_sge),
	J(0x83, send_rsge), J(0x84, inline_max), J(0x85, handle),
	J(0x86, udata),
};

static const struct urma_field modify_jfs[] = {
	J(0x00, handle), J(0x01, mask), J(0x02, state), J(0x03, udata),
	J(0x80, udata),
};

static const struct urma_field query_jfs[] = {
	J(0x00, handle),
	J(0x80, send_depth), J(0x81, send_flag), J(0x82, trans_mode),
	J(0x83, priority), J(0x84, send_sge), J(0x85, send_rsge),
	J(0x86, inline_max), J(0x87, retry_cnt), J(0x88, rnr_retry),
	J(0x89, err_timeout), J(0x8a, state),
};

static const struct urma_field create_jfr[] = {
	J(0x00, recv_depth), J(0x01, recv_flag), J(0x02, trans_mode),
	J(0x03, recv_sge), J(0x04, rnr_timer), J(0x05, recv_jfc_id),
	J(0x06, recv_jfc), J(0x07, token), J(0x08, id), J(0x09, cookie),
	J(0x0a, udata),
	J(0x80, id), J(0x81, recv_depth), J(0x82, recv_sge), J(0x83, handle),
	J(0x84, udata),
};

/* Of JFRs and of jetties. */
static const struct urma_field modify_recv[] = {
	J(0x00, handle), J(0x01, mask), J(0x02, rx_threshold), J(0x03, state),
	J(0x04, udata),
	J(0x80, udata),
};

static const struct urma_field query_jfr[] = {
	J(0x00, handle),
	J(0x80, recv_depth), J(0x81, recv_flag), J(0x82, trans_mode),
	J(0x83, recv_sge), J(0x84, rnr_timer), J(0x85, token), J(0x86, id),
	J(0x87, rx_threshold), J(0x88, state),
};

static const struct urma_field create_jetty[] = {
	J(0x00, id), J(0x01, flag), J(0x02, send_depth), J(0x03, send_flag),
	J(0x04, trans_mode), J(0x05, priority), J(0x06, send_sge),
	J(0x07, send_rsge), J(0x08, inline_max), J(0x09, rnr_retry),
	J(0x0a, err_timeout), J(0x0b, send_jfc_id), J(0x0c, send_jfc),
	J(0x0d, recv_depth), J(0x0e, recv_flag), J(0x0f, recv_sge),
	J(0x10, rnr_timer), J(0x11, recv_jfc_id), J(0x12, recv_jfc),
	J(0x13, token), J(0x14, jfr_id), J(0x15, jfr), J(0x16, group),
	J(0x17, in_group), J(0x18, cookie), J(0x19, udata),
	J(0x80, id), J(0x81, handle), J(0x82, send_depth), J(0x83, recv_depth),
	J(0x84, send_sge), J(0x85, send_rsge), J(0x86, recv_sge),
	J(0x87, inline_max), J(0x88, udata),
};

static const struct urma_field query_jetty[] = {
	J(0x00, handle),
	J(0x80, id), J(0x81, flag), J(0x82, send_depth), J(0x83, recv_depth),
	J(0x84, send_flag), J(0x85, recv_flag), J(0x86, trans_mode),
	J(0x87, send_sge), J(0x88, send_rsge), J(0x89, recv_sge),
	J(0x8a, inline_max), J(0x8b, priority), J(0x8c, retry_cnt),
	J(0x8d, rnr_retry), J(0x8e, err_timeout), J(0x8f, rnr_timer),
	J(0x90, jfr_id), J(0x91, token), J(0x92, rx_threshold), J(0x93, state),
};

#define Q(n, name) F(urma_jfc_cmd, n, name)
static const struct urma_field create_jfc[] = {
	Q(0x00, depth), Q(0x01, flag), Q(0x02, jfce_fd), Q(0x03, cookie),
	Q(0x04, ceqn), Q(0x05, udata),
	Q(0x80, id), Q(0x81, depth), Q(0x82, handle), Q(0x83, udata),
};

static const struct urma_field modify_jfc[] = {
	Q(0x00, handle), Q(0x01, mask), Q(0x02, count), Q(0x03, period),
	Q(0x04, udata),
	Q(0x80, udata),
};

static const struct urma_field create_jfce[] = { Q(0x80, jfce_fd) };

#define R(n, name) F(urma_target_cmd, n, name)
static const struct urma_field import_jfr[] = {
	R(0x00, eid), R(0x01, id), R(0x02, flag), R(0x03, token),
	R(0x04, trans_mode), R(0x05, tp_type), R(0x06, udata),
	R(0x80, tpn), R(0x81, handle), R(0x82, udata),
};

static const struct urma_field import_jetty[] = {
	R(0x00, eid), R(0x01, id), R(0x02, flag), R(0x03, token),
	R(0x04, trans_mode), R(0x05, policy), R(0x06, type), R(0x07, tp_type),
	R(0x08, udata),
	R(0x80, tpn), R(0x81, handle), R(0x82, udata),
};

#define B(n, name) F(urma_bind_cmd, n, name)
static const struct urma_field bind_jetty[] = {
	B(0x00, jetty), B(0x01, target), B(0x02, udata),
	B(0x80, tpn), B(0x81, udata),
};
/* The public library sends the target too; the jetty knows it. */
static const struct urma_field unbind_jetty[] = { B(0x00, jetty) };

#define G(n, name) F(urma_group_cmd, n, name)
static const struct urma_field create_group[] = {
	G(0x00, name), G(0x01, token), G(0x02, id), G(0x03, policy),
	G(0x04, flag), G(0x05, cookie), G(0x06, udata),
	G(0x80, id), G(0x81, handle), G(0x82, udata),
};

static const struct urma_field destroy_group[] = {
	G(0x00, handle), G(0x80, async_events),
};

#define U(n, name) F(urma_user_ctl_cmd, n, name)
static const struct urma_field user_ctl[] = {
	U(0x00, in_addr), U(0x01, in_len), U(0x02, opcode), U(0x03, out_addr),
	U(0x04, out_len), U(0x05, udrv),
};

#define E(n, name) F(urma_eid_list, n, name)
static const struct urma_field eid_list[] = {
	E(0x00, max), E(0x80, count), E(0x81, list),
};

#define D(n, name) F(urma_dev_attr, n, name)
#define P(n, name) \
	{ n, sizeof_field(struct urma_port, name), \
	  offsetof(struct urma_dev_attr, port[0].name), URMA_PORTS_MAX, \
	  sizeof(struct urma_port) }
static const struct urma_field dev_attr[] = {
	D(0x00, name),
	D(0x80, guid), D(0x81, feature), D(0x82, max_jfc), D(0x83, max_jfs),
	D(0x84, max_jfr), D(0x85, max_jetty), D(0x86, max_jetty_grp),
	D(0x87, max_jetty_in_jetty_grp), D(0x88, max_jfc_depth),
	D(0x89, max_jfs_depth), D(0x8a, max_jfr_depth), D(0x8b, max_inline),
	D(0x8c, max_jfs_sge), D(0x8d, max_jfs_rsge), D(0x8e, max_jfr_sge),
	D(0x8f, max_msg_size), D(0x90, max_read_size), D(0x91, max_write_size),
	D(0x92, max_cas_size), D(0x93, max_swap_size), D(0x94, max_add_size),
	D(0x95, max_sub_size), D(0x96, max_and_size), D(0x97, max_or_size),
	D(0x98, max_xor_size), D(0x99, atomic_feat), D(0x9a, trans_mode),
	D(0x9b, reserved), D(0x9c, congestion_ctrl_alg), D(0x9d, ceq_cnt),
	D(0x9e, max_tp_in_tpg), D(0x9f, max_eid_cnt), D(0xa0, page_size_cap),
	D(0xa1, max_oor_cnt), D(0xa2, mn), D(0xa3, max_netaddr_cnt),
	D(0xa4, port_cnt), P(0xa5, max_mtu), P(0xa6, state),
	P(0xa7, active_width), P(0xa8, active_speed), P(0xa9, active_mtu),
	D(0xaa, reserved_jetty_min), D(0xab, reserved_jetty_max),
	D(0xac, rm_order_cap), D(0xad, rc_order_cap), D(0xae, rm_tp_cap),
	D(0xaf, rc_tp_cap), D(0xb0, um_tp_cap), D(0xb1, tp_feature),
	D(0xb2, priority),
};

#define SPEC(label, s, list) \
	{ .name = label, .bytes = sizeof(struct s), \
	  .fields = ARRAY_SIZE(list), .field = list }

const struct urma_spec urma_specs[URMA_COMMANDS] = {
	[URMA_CREATE_CTX] = {
		"CREATE_CTX", sizeof(struct urma_create_ctx),
		ARRAY_SIZE(create_ctx), create_ctx, true },
	[URMA_ALLOC_TOKEN_ID] =
		SPEC("ALLOC_TOKEN_ID", urma_token_cmd, alloc_token_id),
	[URMA_FREE_TOKEN_ID] =
		SPEC("FREE_TOKEN_ID", urma_token_cmd, free_token_id),
	[URMA_REGISTER_SEG] = SPEC("REGISTER_SEG", urma_seg_cmd, register_seg),
	[URMA_UNREGISTER_SEG] =
		SPEC("UNREGISTER_SEG", urma_handle_cmd, handle_only),
	[URMA_IMPORT_SEG] = SPEC("IMPORT_SEG", urma_seg_cmd, import_seg),
	[URMA_UNIMPORT_SEG] =
		SPEC("UNIMPORT_SEG", urma_handle_cmd, handle_only),
	[URMA_CREATE_JFS] = SPEC("CREATE_JFS", urma_jetty_cmd, create_jfs),
	[URMA_MODIFY_JFS] = SPEC("MODIFY_JFS", urma_jetty_cmd, modify_jfs),
	[URMA_QUERY_JFS] = SPEC("QUERY_JFS", urma_jetty_cmd, query_jfs),
	[URMA_DELETE_JFS] = SPEC("DELETE_JFS", urma_handle_cmd, delete_queue),
	[URMA_CREATE_JFR] = SPEC("CREATE_JFR", urma_jetty_cmd, create_jfr),
	[URMA_MODIFY_JFR] = SPEC("MODIFY_JFR", urma_jetty_cmd, modify_recv),
	[URMA_QUERY_JFR] = SPEC("QUERY_JFR", urma_jetty_cmd, query_jfr),
	[URMA_DELETE_JFR] = SPEC("DELETE_JFR", urma_handle_cmd, delete_queue),
	[URMA_CREATE_JFC] = SPEC("CREATE_JFC", urma_jfc_cmd, create_jfc),
	[URMA_MODIFY_JFC] = SPEC("MODIFY_JFC", urma_jfc_cmd, modify_jfc),
	[URMA_DELETE_JFC] = SPEC("DELETE_JFC", urma_handle_cmd, delete_jfc),
	[URMA_CREATE_JFCE] = SPEC("CREATE_JFCE", urma_jfc_cmd, create_jfce),
	[URMA_IMPORT_JFR] = SPEC("IMPORT_JFR", urma_target_cmd, import_jfr),
	[URMA_UNIMPORT_JFR] =
		SPEC("UNIMPORT_JFR", urma_handle_cmd, handle_only),
	[URMA_CREATE_JETTY] =
		SPEC("CREATE_JETTY", urma_jetty_cmd, create_jetty),
	[URMA_MODIFY_JETTY] =
		SPEC("MODIFY_JETTY", urma_jetty_cmd, modify_recv),
	[URMA_QUERY_JETTY] = SPEC("QUERY_JETTY", urma_jetty_cmd, query_jetty),
	[URMA_DELETE_JETTY] =
		SPEC("DELETE_JETTY", urma_handle_cmd, delete_queue),
	[URMA_IMPORT_JETTY] =
		SPEC("IMPORT_JETTY", urma_target_cmd, import_jetty),
	[URMA_UNIMPORT_JETTY] =
		SPEC("UNIMPORT_JETTY", urma_handle_cmd, handle_only),
	[URMA_BIND_JETTY] = SPEC("BIND_JETTY", urma_bind_cmd, bind_jetty),
	[URMA_UNBIND_JETTY] = SPEC("UNBIND_JETTY", urma_bind_cmd, unbind_jetty),
	[URMA_CREATE_JETTY_GRP] =
		SPEC("CREATE_JETTY_GRP", urma_group_cmd, create_group),
	[URMA_DESTROY_JETTY_GRP] =
		SPEC("DESTROY_JETTY_GRP", urma_group_cmd, destroy_group),
	[URMA_USER_CTL] = SPEC("USER_CTL", urma_user_ctl_cmd, user_ctl),
	[URMA_GET_EID_LIST] = {
		"GET_EID_LIST", sizeof(struct urma_eid_list),
		ARRAY_SIZE(eid_list), eid_list, true },
	[URMA_QUERY_DEV_ATTR] = {
		"QUERY_DEV_ATTR", sizeof(struct urma_dev_attr),
		ARRAY_SIZE(dev_attr), dev_attr, true },
};

#define W(n, name) F(urma_wait_cmd, n, name)
static const struct urma_field wait_jfce[] = {
	W(0x00, max), W(0x01, timeout), W(0x80, count), W(0x81, cookie),
};

#define A(n, name) F(urma_async_cmd, n, name)
static const struct urma_field get_async_event[] = {
	A(0x80, type), A(0x81, data),
};

const struct urma_spec urma_event_specs[URMA_EVENT_COMMANDS] = {
	[URMA_WAIT_JFCE] = SPEC("WAIT_JFCE", urma_wait_cmd, wait_jfce),
	[URMA_GET_ASYNC_EVENT] =
		SPEC("GET_ASYNC_EVENT", urma_async_cmd, get_async_event),
};
