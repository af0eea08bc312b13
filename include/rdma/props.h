/*
 * Switches of an RDMA engine as properties of the devices that have one.  QEMU
 * only.  Reasons: docs/decisions/rdma-transport.rst, rdma-native.rst.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RDMA_PROPS_H
#define RDMA_PROPS_H

#include "core/qemu_qdev.h"
#include "rdma/core.h"
#include "rdma/native.h"

/*
 * X(field of RdmaConfig, name, default natively, default of ncic-mthca,
 * description, ...): all that are truth values.
 */
#define RDMA_SWITCHES(X, ...)                                               \
    X(ack_coalesce, "ack-coalesce", true, true,                             \
      "one acknowledgement for a burst of input", __VA_ARGS__)              \
    X(retx_one, "retx-one", false, false,                                   \
      "a time-out repeats one packet, not all", __VA_ARGS__)                \
    X(retx_range, "retx-range", false, false,                               \
      "a lost response is asked for up to the one that came",               \
      __VA_ARGS__)                                                          \
    X(nak_fatal, "nak-fatal", true, true,                                   \
      "NAK invalid request or remote access ends the QP", __VA_ARGS__)      \
    X(nak_counts, "nak-counts", true, true,                                 \
      "a sequence NAK uses up a retry", __VA_ARGS__)                        \
    X(resp_fatal, "resp-fatal", true, true,                                 \
      "who sends such a NAK goes to state ERR", __VA_ARGS__)                \
    X(send_se_always, "send-se-always", false, false,                       \
      "every packet has the solicited event bit", __VA_ARGS__)              \
    X(sqe, "sqe", true, true,                                               \
      "send errors of UC and UD go to state SQE, not ERR", __VA_ARGS__)     \
    X(atomics, "atomics", true, true, "atomics work", __VA_ARGS__)          \
    X(qkey_check, "qkey-check", true, true,                                 \
      "compare Q_Keys of received datagrams", __VA_ARGS__)                  \
    X(qkey_zero_any, "qkey-zero-any", true, false,                          \
      "a QP with Q_Key 0 takes any", __VA_ARGS__)                           \
    X(pkey_check, "pkey-check", false, true,                                \
      "compare P_Keys of received packets", __VA_ARGS__)                    \
    X(accept_any_ip, "accept-any-ip", true, false,                          \
      "take packets for any IPv4 address", __VA_ARGS__)                     \
    X(source_check, "source-check", true, true,                             \
      "a connected QP takes packets from its peer's address only",          \
      __VA_ARGS__)                                                          \
    X(shared_buffers, "shared-buffers", true, false,                        \
      "packet buffers are one set for all QPs, not one for each",           \
      __VA_ARGS__)                                                          \
    X(len_nak_op, "len-nak-op", true, false,                                \
      "a Send too long is a remote operational error, not an invalid "      \
      "request", __VA_ARGS__)                                               \
    X(icrc, "icrc", true, true, "packets have an ICRC", __VA_ARGS__)        \
    X(icrc_check, "icrc-check", true, true,                                 \
      "drop packets whose ICRC is wrong", __VA_ARGS__)                      \
    X(udp_csum, "udp-csum", true, false,                                    \
      "compute UDP checksums of sent packets", __VA_ARGS__)

/*
 * X(field of RdmaConfig, name, default natively, default of ncic-mthca, least,
 * greatest, description, ...): all that are numbers.
 */
#define RDMA_NUMBERS(X, ...)                                                \
    X(swpb_packets, "swpb-packets", 512, 512, 1, UINT32_MAX,                \
      "Send/Write packets in flight", __VA_ARGS__)                          \
    X(swpb_units, "swpb-units", 4096, 65536, 1, UINT32_MAX,                 \
      "32-byte units of their payload", __VA_ARGS__)                        \
    X(rpb_packets, "rpb-packets", 512, 512, 1, UINT32_MAX,                  \
      "Reads and atomics in flight", __VA_ARGS__)                           \
    X(reb_entries, "reb-entries", 16384, 16384, 1, UINT32_MAX,              \
      "scatter entries of Reads in flight", __VA_ARGS__)                    \
    X(loss_timeout_us, "loss-us", 100000, 0, 0, UINT32_MAX,                 \
      "loss timer of a QP without ACK timeout; 0 = none", __VA_ARGS__)      \
    X(time_scale, "time-scale", 1, 1, 1, RDMA_TIME_SCALE_MAX,               \
      "factor of all transport timers", __VA_ARGS__)

/* X(field of NativeConfig, name, default, description, ...) */
#define NATIVE_SWITCHES(X, ...)                                             \
    X(state_rtl, "state-rtl", false,                                        \
      "QP state codes of the hardware sources: SQD 4, SQE 5", __VA_ARGS__)  \
    X(devlim_rtl, "devlim-rtl", false,                                      \
      "device limits of the hardware sources", __VA_ARGS__)                 \
    X(nop_bad_op, "nop-bad-op", false,                                      \
      "the NOP command is refused", __VA_ARGS__)                            \
    X(psn_always, "psn-always", false,                                      \
      "each QP command takes the PSNs", __VA_ARGS__)                        \
    X(rnr0_none, "rnr0-none", false,                                        \
      "RNR retry 0 means none, not for ever", __VA_ARGS__)                  \
    X(mpt_phys, "mpt-phys", false,                                          \
      "regions with the flag PHYSICAL hold bus addresses", __VA_ARGS__)     \
    X(cq_check_owner, "cq-check-owner", false,                              \
      "a completion that finds its place taken is a CQ error",              \
      __VA_ARGS__)                                                          \
    X(uar_check, "uar-check", false,                                        \
      "only its own UAR page rings a QP and arms a CQ", __VA_ARGS__)

/* Storage of the properties, a member of the device's state. */
typedef struct RdmaSwitches {
#define RDMA_SWITCH_FIELD(field, ...) bool field;
    RDMA_SWITCHES(RDMA_SWITCH_FIELD)
#undef RDMA_SWITCH_FIELD
#define RDMA_NUMBER_FIELD(field, ...) uint32_t field;
    RDMA_NUMBERS(RDMA_NUMBER_FIELD)
#undef RDMA_NUMBER_FIELD
    bool ack_every_packet;
    uint32_t lid_net;
    int ud_grh;                 /* RdmaGrh */
    uint16_t udp_sport;
} RdmaSwitches;

typedef struct NativeSwitches {
#define NATIVE_SWITCH_FIELD(field, ...) bool field;
    NATIVE_SWITCHES(NATIVE_SWITCH_FIELD)
#undef NATIVE_SWITCH_FIELD
    int local_error;            /* index of rdma_local_error_info */
    int err_cqe;                /* NativeErrCqe */
} NativeSwitches;

/* Types of the enumerations. */
extern const PropertyInfo rdma_grh_info;            /* ib, none, ipv4 */
extern const PropertyInfo rdma_local_error_info;    /* access, protection */
extern const PropertyInfo rdma_error_cqe_info;      /* driver, document, rtl */
extern const PropertyInfo rdma_sm_info;             /* none, auto */

/* The properties, elements of a Property table; @member is an RdmaSwitches, a
 * NativeSwitches of @state, @prefix a string. */
#define RDMA_SWITCH_PROP_NATIVE(field, name, native, mthca, text, prefix,   \
                                state, member)                              \
    DEFINE_PROP_BOOL(prefix name, state, member.field, native),
#define RDMA_SWITCH_PROP_MTHCA(field, name, native, mthca, text, prefix,    \
                               state, member)                               \
    DEFINE_PROP_BOOL(prefix name, state, member.field, mthca),
#define RDMA_NUMBER_PROP_NATIVE(field, name, native, mthca, min, max, text, \
                                prefix, state, member)                      \
    DEFINE_PROP_UINT32(prefix name, state, member.field, native),
#define RDMA_NUMBER_PROP_MTHCA(field, name, native, mthca, min, max, text,  \
                               prefix, state, member)                       \
    DEFINE_PROP_UINT32(prefix name, state, member.field, mthca),
#define RDMA_OTHER_PROPS(prefix, state, member, grh, every)                 \
    DEFINE_PROP_BOOL(prefix "ack-every-packet", state,                      \
                     member.ack_every_packet, every),                       \
    DEFINE_PROP_UINT32(prefix "lid-net", state, member.lid_net,             \
                       10u << 24 | 76 << 16),                               \
    DEFINE_PROP_SIGNED(prefix "ud-grh", state, member.ud_grh, grh,          \
                       rdma_grh_info, int),                                 \
    DEFINE_PROP_UINT16(prefix "udp-sport", state, member.udp_sport, 4791)
#define NATIVE_SWITCH_PROP(field, name, value, text, prefix, state, member) \
    DEFINE_PROP_BOOL(prefix name, state, member.field, value),

#define DEFINE_RDMA_SWITCH_PROPS_NATIVE(prefix, state, member)              \
    RDMA_SWITCHES(RDMA_SWITCH_PROP_NATIVE, prefix, state, member)           \
    RDMA_NUMBERS(RDMA_NUMBER_PROP_NATIVE, prefix, state, member)            \
    RDMA_OTHER_PROPS(prefix, state, member, RDMA_GRH_NONE, true)
#define DEFINE_RDMA_SWITCH_PROPS_MTHCA(prefix, state, member)               \
    RDMA_SWITCHES(RDMA_SWITCH_PROP_MTHCA, prefix, state, member)            \
    RDMA_NUMBERS(RDMA_NUMBER_PROP_MTHCA, prefix, state, member)             \
    RDMA_OTHER_PROPS(prefix, state, member, RDMA_GRH_IB, false)
#define DEFINE_NATIVE_SWITCH_PROPS(prefix, state, member)                   \
    NATIVE_SWITCHES(NATIVE_SWITCH_PROP, prefix, state, member)              \
    DEFINE_PROP_SIGNED(prefix "local-error", state, member.local_error, 0,  \
                       rdma_local_error_info, int),                         \
    DEFINE_PROP_SIGNED(prefix "error-cqe", state, member.err_cqe,           \
                       NATIVE_ERR_CQE_DRV, rdma_error_cqe_info, int)

/* Their descriptions, in -device help. */
void rdma_switches_describe(ObjectClass *klass, const char *prefix);
void native_switches_describe(ObjectClass *klass, const char *prefix);
/* Whether all is within its limits; an error names the property. */
bool rdma_switches_check(const RdmaSwitches *s, const char *prefix,
                         Error **errp);
/* Put what was set into the configuration of an engine. */
void rdma_switches_apply(const RdmaSwitches *s, RdmaConfig *cfg);
void native_switches_apply(const NativeSwitches *s, NativeConfig *cfg);

#endif
