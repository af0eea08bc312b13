/*
 * Pseudo-random numbers that are the same everywhere (splitmix64): for faults
 * and tests that must be repeatable, not for secrets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef CORE_RANDOM_H
#define CORE_RANDOM_H

#include <stdint.h>

/* The next number of the sequence that began with the seed in *@state. */
static inline uint64_t core_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

#endif
