/*
 * The transport layer's settings by name.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define MEMBER(name, kind, n, member, min, max, text) \
    { name, CORE_OPTION_##kind, n, false, false, offsetof(UbTpConfig, member), \
      min, max, text }
#define FLAG(name, member, text) MEMBER(name, BOOL, 0, member, 0, 1, text)

/* Of a clock, 0 is left to whoever knows a pair for all. */
#define CLOCK(name, clock_, what) \
    MEMBER(name "-scale", U32, 0, clock[clock_].scale, 0, 1000000, \
           "multiplies " what "; 0: as tp-time-scale says"), \
    MEMBER(name "-floor", US, 0, clock[clock_].floor_ns, 0, \
           UINT64_C(3600000000), \
           "microseconds that they are at least; 0: as tp-time-floor says")

_Static_assert(sizeof(UbTpAskAck) == 4, "an enumeration has 32 bits");

static const CoreOption options[] = {
    CLOCK("rto", UB_TPC_RTO, "retransmission time-outs"),
    CLOCK("ack", UB_TPC_ACK, "delays of acknowledgements"),
    CLOCK("fake", UB_TPC_FAKE, "periods of Fake packets"),
    CLOCK("cnp", UB_TPC_CNP, "times between CNPs"),
    CLOCK("cc", UB_TPC_CC, "periods of congestion control"),
    CLOCK("setup", UB_TPC_SETUP, "time-outs of in-band set-up"),
    MEMBER("rto-static", U32, 4, rto_static_us, 1, UINT32_MAX,
           "the four static retransmission time-outs, in microseconds"),
    MEMBER("ack-delay", U32, 0, ack_delay_us, 0, UINT32_MAX,
           "microseconds that a TPACK waits for others; 0: the turn"),
    MEMBER("fake-period", U32, 0, fake_us, 0, UINT32_MAX,
           "microseconds from one Fake packet to the next; 0: none"),
    MEMBER("cnp-period", U32, 0, cnp_us, 0, UINT32_MAX,
           "microseconds from one CNP to the next"),
    MEMBER("setup-time", U32, 0, setup_us, 1, UINT32_MAX,
           "microseconds until an in-band request is sent again"),
    MEMBER("setup-tries", U8, 0, setup_tries, 1, UINT8_MAX,
           "how often it is sent"),
    MEMBER("setup-nlp", U8, 0, setup_nlp, UB_TPH_CIP + 1, 15,
           "NLP of in-band set-up, a reserved code"),
    MEMBER("channels", U32, 0, max_channels, 1, 1u << 20,
           "channels of RTP that there can be"),
    MEMBER("groups", U32, 0, max_groups, 0, 1u << 20,
           "groups of them"),
    MEMBER("hold-bytes", U32, 0, hold_bytes, 0, UINT32_MAX,
           "bytes that packets out of order may take"),
    MEMBER("unsent", U32, 0, unsent, 1, 32768,
           "packets of a channel that wait for their first way out"),
    MEMBER("results", U32, 0, results, 16, 32768,
           "answers that a channel remembers, a power of two"),
    FLAG("sack-hides", sack_hides,
         "a TPSACK shows what is withheld as missing"),
    FLAG("sack-lsb-first", sack_lsb_first,
         "maps of TPSACKs begin with bit 0 of byte 0, not with words"),
    FLAG("msn-check", msn_check, "PSN and TPMSN must fit"),
    FLAG("cc-on", cc_on, "power-on value of CC_EN"),
    MEMBER("cw-init", U32, 0, cc_param.cw_init, 1, UINT32_MAX,
           "bytes of a congestion window at first"),
    MEMBER("cw-min", U32, 0, cc_param.cw_min, 1, UINT32_MAX, "at least"),
    MEMBER("cw-max", U32, 0, cc_param.cw_max, 1, UINT32_MAX, "at most"),
    MEMBER("ldcp-add", U32, 0, cc_param.ldcp_add, 0, UINT32_MAX,
           "LDCP: bytes more for a window without marks"),
    MEMBER("ldcp-cut", U32, 0, cc_param.ldcp_cut, 0, 1024,
           "LDCP: part of a window that is cut if all of it is marked, of 1024"),
    MEMBER("rate-max", U64, 0, cc_param.rate_max, 1, UINT64_C(1) << 56,
           "DCQCN: bytes a second at most"),
    MEMBER("rate-min", U64, 0, cc_param.rate_min, 1, UINT64_C(1) << 56,
           "DCQCN: bytes a second at least"),
    MEMBER("dcqcn-g", U32, 0, cc_param.dcqcn_g, 0, 1024,
           "DCQCN: weight of a CNP, of 1024"),
    MEMBER("dcqcn-alpha", U32, 0, cc_param.dcqcn_alpha_us, 1, 1000000,
           "DCQCN: microseconds from one update of alpha to the next"),
    MEMBER("dcqcn-rate", U32, 0, cc_param.dcqcn_rate_us, 1, 1000000,
           "DCQCN: microseconds from one increase to the next"),
    MEMBER("dcqcn-ai", U64, 0, cc_param.dcqcn_ai, 0, UINT64_C(1) << 56,
           "DCQCN: additive increase, in bytes a second"),
    MEMBER("dcqcn-hai", U64, 0, cc_param.dcqcn_hai, 0, UINT64_C(1) << 56,
           "DCQCN: hyper increase, in bytes a second"),
    MEMBER("dcqcn-fast", U32, 0, cc_param.dcqcn_fast, 0, UINT32_MAX,
           "DCQCN: periods of fast recovery"),
    MEMBER("caqm-unit", U32, 0, cc_param.caqm_unit, 1, UINT32_MAX,
           "CAQM: bytes of a step of Hint"),
    MEMBER("caqm-want", U32, 0, cc_param.caqm_want, 0, 255,
           "CAQM: steps that are asked for"),
    MEMBER("caqm-cut", U32, 0, cc_param.caqm_cut, 0, UINT32_MAX,
           "CAQM: bytes less for a marked packet"),
    MEMBER("cc-user", U8, 0, cc_user, 0, UB_CC_USERS - 1,
           "a user's algorithm: none (0), AIMD (1)"),
    FLAG("ctp-spray", ctp_spray, "CTP: LBF by packet, not by destination"),
    FLAG("ctp-throttle", ctp_throttle, "CTP: CNPs are heeded"),
    MEMBER("ctp-flows", U32, 0, ctp_flows, 0, 1u << 20,
           "CTP: throttled destinations that are remembered"),
    /* What a channel has that nobody says it of. */
    FLAG("mark", attr.mark, "channels: MarkPSN"),
    FLAG("selective", attr.selective, "channels: selective retransmission"),
    FLAG("fast", attr.fast, "channels: fast retransmission"),
    FLAG("spray", attr.spray, "channels: LBF or UDP source port by packet"),
    FLAG("ooo", attr.ooo, "channels: packets are received out of order"),
    MEMBER("ooo-window", U16, 0, attr.ooo_window, 128, 2048,
           "channels: how far out of order: 128, 256, 512, 1024, 2048"),
    FLAG("rto-dynamic", attr.rto_dynamic, "channels: dynamic time-outs"),
    MEMBER("rto-code", U8, 0, attr.rto_code, 0, 3,
           "channels: which of tp-rto-static"),
    MEMBER("rto-base", U32, 0, attr.rto_base_us, 4, 2097152,
           "channels: base of dynamic time-outs, in microseconds"),
    MEMBER("rto-shift", U8, 0, attr.rto_shift, 0, 32,
           "channels: N of base * 2^(N * times)"),
    MEMBER("retries", U8, 0, attr.retries, 0, UINT8_MAX,
           "channels: time-outs in a row that are followed by another try"),
    MEMBER("window", U16, 0, attr.tx_window, 1, 32768,
           "channels: packets under way"),
    MEMBER("ask", U32, 0, attr.ask, 0, UB_TP_ASKS - 1,
           "channels: A in one of half a window (0), in the last of operations "
           "too (1), in all (2)"),
    MEMBER("ack-every", U16, 0, attr.ack_every, 1, UINT16_MAX,
           "channels: packets for one TPACK"),
    MEMBER("sack-every", U16, 0, attr.sack_every, 1, UINT16_MAX,
           "channels: packets out of order for one TPSACK"),
    MEMBER("sack-bits", U16, 0, attr.sack_bits, UB_SACK_BITS_MIN,
           UB_SACK_BITS_MAX, "channels: longest map of a TPSACK"),
    MEMBER("cc", U8, 0, attr.cc, 0, UB_CC_USER,
           "channels: congestion control: none (0), LDCP (1), DCQCN (2), CAQM "
           "(3), as tp-cc-user says (4)"),
    MEMBER("cw-unit", U32, 0, attr.cw_unit, 1, UINT32_MAX,
           "channels: bytes that windows are counted in"),
};

const CoreOption *ub_tp_options(unsigned *n)
{
    *n = G_N_ELEMENTS(options);
    return options;
}
