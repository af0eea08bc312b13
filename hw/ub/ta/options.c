/*
 * The transaction layer's settings by name.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define MEMBER(name, kind, n, member, min, max, text) \
    { name, CORE_OPTION_##kind, n, false, false, offsetof(UbTaConfig, member), \
      min, max, text }
#define FLAG(name, member, text) MEMBER(name, BOOL, 0, member, 0, 1, text)
#define NUMBER(name, member, min, max, text) \
    MEMBER(name, U32, 0, member, min, max, text)
/* A bound of ub_ta_config_check(), in microseconds. */
#define LONGEST_US ((UINT64_C(1) << 40) / 1000)

static const CoreOption options[] = {
    NUMBER("slice", slice, 8192, 1 << 20,
           "bytes of a slice over RTP, a multiple of 8192"),
    NUMBER("max-len", max_len, 1, 1u << 31, "bytes of one request"),
    NUMBER("mtu", mtu, 1024, 8192,
           "payload of a packet of responses: 1024, 4096 or 8192; of ubc 8192 by "
           "default, and MTU_CFG at most"),
    NUMBER("window", window, 64, 4096,
           "slices in flight between a queue and a peer, a power of two; both "
           "ends should have the same"),
    NUMBER("reserve", reserve, 0, 2047, "of them, for Writebacks alone"),
    NUMBER("depth", depth, 1, UINT32_MAX, "requests posted to a queue"),
    NUMBER("quantum", quantum, 1, UINT32_MAX,
           "packets of a queue before it is another's turn"),
    NUMBER("peers", peers, 1, 1u << 20, "pairs of queue and peer, as initiator"),
    NUMBER("contexts", contexts, 1, 1u << 20, "the same as target"),
    NUMBER("partial", partial, 1, 1u << 20,
           "messages and slices that have begun and are not yet whole"),
    NUMBER("answers", answers, 1, 1u << 20,
           "responses that wait for the transport"),
    NUMBER("scs", scs, 0, 65536, "sequence contexts of the target; 0: none"),
    NUMBER("sc-buffer", sc_buffer, 0, 1u << 20,
           "packets that they hold back; 0: what comes too early is refused"),
    NUMBER("parked", parked, 0, 1u << 20, "page faults that are answered later"),
    MEMBER("aggregate", U8, 0, aggregate, 1, UB_TAH_AGGREGATE,
           "responses in one TAACK"),
    FLAG("no-taack", no_taack, "ROL over CTP asks for no TAACK"),
    FLAG("uno-no-taack", uno_no_taack, "UNO over CTP says so too"),
    FLAG("accepted", accepted, "good Writes are answered with RSPST 101"),
    FLAG("dedupe", dedupe,
         "over CTP and Bypass a request that came twice is executed once"),
    FLAG("compact6", compact6, "memory operations of CFG 6 are compact"),
    FLAG("tasks", tasks, "TAIDETAH and OFSTETAH are there"),
    FLAG("token-high", token_high,
         "compact: TokenID in bits 27:8 of its word, not 19:0"),
    FLAG("cas-swapped", cas_swapped, "CAS compares with Operand2"),
    FLAG("clr-text", clr_text,
         "sub-operations 1 and 2 by their description, not their name"),
    FLAG("store-default-add", store_default_add,
         "Atomic_store and Atomic_load without UDETAH add"),
    FLAG("read-offset-request", read_offset_request,
         "every Read_response has the offset of its request"),
    FLAG("notify-be", notify_be,
         "notify data are put down most significant byte first"),
    FLAG("rsp-type-keep", rsp_type_keep,
         "responses to an SC keep INI_RC_Type 10"),
    { "poison-send", CORE_OPTION_BOOL, 0, true, false,
      offsetof(UbTaConfig, poison_send), 0, 1,
      "poisoned data go out marked; otherwise their request fails" },
    MEMBER("retries", U8, 0, retries, 0, UINT8_MAX,
           "how often RNR and Page Fault are followed by another try; 255: for "
           "ever"),
    MEMBER("rnr-timer", U8, 0, rnr_timer, 0, UB_TAH_TIMER_MAX,
           "RNR_Timer of a target without room: 2^n times 2 us"),
    MEMBER("ack-timeout", US, 0, ack_timeout, 1, LONGEST_US,
           "microseconds of the TA acknowledgement time-out, before "
           "ta-time-scale and ta-time-floor, as the two that follow"),
    MEMBER("dup-life", US, 0, dup_life, 0, LONGEST_US,
           "microseconds that a target remembers a silent peer"),
    MEMBER("hold-time", US, 0, hold_time, 1, LONGEST_US,
           "microseconds that a target waits for what must come before"),
    MEMBER("tassn-start", U16, 0, tassn_start, 0, 61440,
           "first TASSN to a peer, a multiple of 4096"),
};

const CoreOption *ub_ta_options(unsigned *n)
{
    *n = G_N_ELEMENTS(options);
    return options;
}
