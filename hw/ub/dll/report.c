/*
 * What the other files of the UB data link layer tell the outside: changes of
 * state, errors and peer errors (UB 2.0 §4.8), work to be done.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* Table 10-14; bit n - 1 of the status registers is error C.n. */
static const UbDllErrorInfo errors[UB_DLL_ERRORS] = {
    [UB_DLL_ERR_RETRY_ACK_TIMEOUT] = { "DL Retry ACK Timeout", 19, 18, true },
    [UB_DLL_ERR_RETRY_ROLLOVER] = { "DL Retry Rollover", 20, 19, true },
    [UB_DLL_ERR_PROTOCOL] = { "DL Protocol Error", 21, 20, false },
    [UB_DLL_ERR_RETRY] = { "DL Retry Error", 22, 21, false },
    [UB_DLL_ERR_PACKET_LENGTH] = { "Packet Length Error", 24, 23, false },
    [UB_DLL_ERR_RX_OVERFLOW] = { "Receive Buffer Overflow", 29, 28, false },
    [UB_DLL_ERR_FC_OVERFLOW] = { "Flow Control Overflow", 30, 29, false },
};

const UbDllErrorInfo *ub_dll_error_info(UbDllError err)
{
    return (unsigned)err < UB_DLL_ERRORS ? &errors[err] : NULL;
}

const char *ub_dll_state_name(UbDllMachine machine, unsigned state)
{
    static const char *const names[UB_DLL_MACHINES][9] = {
        [UB_DLL_SM] = { "DLL_Disabled", "DLL_Param_Init", "DLL_Credit_Init",
                        "DLL_Normal" },
        [UB_RETRY_REQ_SM] = { "NORMAL", "REQ", "WAIT", "RETRAIN", "ERROR" },
        [UB_RETRY_ACK_SM] = { "NORMAL", "ACK" },
        [UB_BMC_SM] = { "IDLE", "DRAIN", "REQ_SENT", "ACKING", "QUIET",
                        "PEER_DRAIN", "PEER_WAIT", "PEER_ACKING", "READY" },
    };

    if ((unsigned)machine >= UB_DLL_MACHINES || state >= 9 ||
        !names[machine][state]) {
        return "?";
    }
    return names[machine][state];
}

void dll_set_state(UbDll *d, UbDllMachine machine, unsigned state,
                   const char *cause)
{
    uint8_t *const at[UB_DLL_MACHINES] = {
        [UB_DLL_SM] = &d->v.state,
        [UB_RETRY_REQ_SM] = &d->v.req_state,
        [UB_RETRY_ACK_SM] = &d->v.ack_state,
        [UB_BMC_SM] = &d->v.bmc,
    };
    unsigned from = *at[machine];

    *at[machine] = state;
    if (from != state && d->ops.transition) {
        d->ops.transition(d->opaque, machine, from, state, cause);
    }
}

/* §4.8: report; the uncorrectable ones stop the layer until reset. */
void dll_error(UbDll *d, UbDllError err, const char *what)
{
    bool fatal = !errors[err].correctable && err != UB_DLL_ERR_PACKET_LENGTH;
    bool was_up = d->v.state == UB_DLL_NORMAL && !d->v.fatal;

    d->stats.errors[err]++;
    d->v.fatal = d->v.fatal || fatal;
    if (d->ops.error) {
        d->ops.error(d->opaque, err, fatal, what);
    }
    if (fatal && was_up && d->ops.status) {
        d->ops.status(d->opaque, false);
    }
}

void dll_peer_error(UbDll *d, const char *what)
{
    d->stats.peer_errors++;
    if (d->ops.peer_error) {
        d->ops.peer_error(d->opaque, what);
    }
    if (d->cfg.undefined_fatal) {
        dll_error(d, UB_DLL_ERR_PROTOCOL, what);
    }
}

void dll_kick(UbDll *d)
{
    if (d->ops.kick) {
        d->ops.kick(d->opaque);
    }
}
