/*
 * The other value of each switch of the native interface, for side_new().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef QTEST_NATIVE_TWEAK_H
#define QTEST_NATIVE_TWEAK_H

#include "rdma/native.h"

#define TWEAK(name, what) \
    static inline void tweak_##name(NativeConfig *cfg) { what; }
TWEAK(state_rtl, cfg->state_rtl = true)
TWEAK(devlim_rtl, cfg->devlim_rtl = true)
TWEAK(nop_bad_op, cfg->nop_bad_op = true)
TWEAK(psn_always, cfg->psn_always = true)
TWEAK(rnr0_none, cfg->rnr0_none = true)
TWEAK(mpt_phys, cfg->mpt_phys = true)
TWEAK(uar_check, cfg->uar_check = true)
TWEAK(err_doc, cfg->err_cqe = NATIVE_ERR_CQE_DOC)
TWEAK(err_rtl, cfg->err_cqe = NATIVE_ERR_CQE_RTL)
TWEAK(lerr, cfg->lerr = 0x04)
TWEAK(no_eqe, cfg->eqe = false)
TWEAK(strict_cmd, cfg->strict_cmd = false)
TWEAK(strict_qp, cfg->strict_qp = false)
TWEAK(check_owner, cfg->cq_check_owner = true)
#undef TWEAK

#endif
