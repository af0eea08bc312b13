/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attributes of a command to and from its structure.
 */
#ifndef URMA_TLV_H
#define URMA_TLV_H

#include "abi.h"

/* Take the inputs of @spec out of @n attributes into @args (zeroes before), and
 * check that every output has room.  0 or a negative errno. */
int urma_tlv_get(const struct urma_spec *spec, const struct urma_attr *attr,
		 u32 n, void *args);
/* Bring the outputs of @args to where the attributes say. */
int urma_tlv_put(const struct urma_spec *spec, const struct urma_attr *attr,
		 u32 n, const void *args);
/* Whether so many bytes can be the attributes of a command. */
int urma_tlv_length(u32 bytes, u32 max);

#endif
