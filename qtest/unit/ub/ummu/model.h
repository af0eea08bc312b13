/*
 * What UB 2.0 chapter 9 says of one byte of an access, slowly and by itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UMMU_MODEL_H
#define UMMU_MODEL_H

#include "bed.h"

/* The answer to @a: UBM_WHY_* of the first byte that is refused, or 0 and where
 * each of the a->len bytes is. */
unsigned model_ask(const Bed *b, const UbUmmuAccess *a, uint64_t *pa);

#endif
