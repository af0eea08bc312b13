/*
 * Names of the counters.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define AT(field, name) { name, offsetof(UbTpCounters, field) }

static const struct {
    const char *name;
    size_t at;
} names[] = {
    AT(tx_packets[UB_TP_RTP], "tx-rtp"),
    AT(tx_packets[UB_TP_CTP], "tx-ctp"),
    AT(tx_packets[UB_TP_UTP], "tx-utp"),
    AT(tx_packets[UB_TP_BYPASS], "tx-bypass"),
    AT(rx_packets[UB_TP_RTP], "rx-rtp"),
    AT(rx_packets[UB_TP_CTP], "rx-ctp"),
    AT(rx_packets[UB_TP_UTP], "rx-utp"),
    AT(rx_packets[UB_TP_BYPASS], "rx-bypass"),
    AT(tx_resent, "tx-resent"),
    AT(tx_ack, "tx-tpack"),
    AT(tx_nak, "tx-tpnak"),
    AT(tx_sack, "tx-tpsack"),
    AT(tx_cnp, "tx-cnp"),
    AT(tx_fake, "tx-fake"),
    AT(rx_ack, "rx-tpack"),
    AT(rx_nak, "rx-tpnak"),
    AT(rx_sack, "rx-tpsack"),
    AT(rx_cnp, "rx-cnp"),
    AT(rx_fake, "rx-fake"),
    AT(rx_duplicate, "rx-duplicate"),
    AT(rx_ooo, "rx-out-of-order"),
    AT(rx_held, "rx-held"),
    AT(timeouts, "timeouts"),
    AT(gave_up, "gave-up"),
    AT(results, "answers"),
    AT(setup_tx, "tx-setup"),
    AT(setup_rx, "rx-setup"),
    AT(drop_short, "drop-short"),
    AT(drop_version, "drop-version"),
    AT(drop_opcode, "drop-opcode"),
    AT(drop_mode, "drop-mode"),
    AT(drop_no_channel, "drop-no-channel"),
    AT(drop_state, "drop-state"),
    AT(drop_peer, "drop-peer"),
    AT(drop_ooo, "drop-out-of-order"),
    AT(drop_hold, "drop-hold"),
    AT(drop_invalid, "drop-invalid-psn"),
    AT(drop_msn, "drop-tpmsn"),
    AT(drop_bad_ack, "drop-bad-tpack"),
    AT(drop_bad_sack, "drop-bad-tpsack"),
    AT(drop_setup, "drop-setup"),
    AT(drop_lost, "drop-not-active"),
    AT(drop_room, "drop-no-room"),
    AT(drop_flushed, "drop-flushed"),   /* of a channel that ended */
    AT(drop_refused, "drop-refused"),   /* the rest of what was refused */
    AT(drop_answer, "drop-answer"),     /* nobody waits for it any more */
    AT(drop_busy, "drop-busy"),         /* CNP, set-up, answer again: no room */
};

const char *ub_tp_counter(const UbTp *tp, unsigned i, uint64_t *value)
{
    if (i >= G_N_ELEMENTS(names)) {
        return NULL;
    }
    *value = *(const uint64_t *)((const char *)&tp->count + names[i].at);
    return names[i].name;
}
