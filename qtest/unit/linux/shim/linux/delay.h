/*
 * What tests need of it they have themselves.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <linux/slab.h>
