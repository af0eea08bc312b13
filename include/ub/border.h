/*
 * The border of a UB Domain (UB 2.0 §11.4.2): which packets by IP addresses may enter.
 *
 * Of requests only those enter that have E_Bit 0 and carry a TokenValue.  What asks for
 * nothing is not judged: responses, acknowledgements and notifications of congestion
 * belong to what somebody within the Domain has asked for, and the set-up of a channel
 * has neither memory nor a queue in it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_BORDER_H
#define UB_BORDER_H

#include <stdint.h>

/*
 * The packet behind IP and UDP at @p, which begins with RTPH or UTPH, of @len bytes.
 * NULL: it may enter, or the rule that keeps it out, a string that lives for ever.
 *
 * Of a packet with CIPH the BTAH is looked at as it stands: a policy that lets packets
 * pass a border leaves it readable, and nobody on the way can change it (§11.5.2.2).
 */
const char *ub_border_judge(const uint8_t *p, uint32_t len);

#endif
