/*
 * Fuzzer of RC Link's frames: what is taken apart lies within the frame, and
 * what was put together comes apart as it was.
 *
 * The input is a byte for the format, one for the settings, and a frame.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/bytes.h"
#include "rclink/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool within(const uint8_t *p, size_t n, const uint8_t *buf, size_t len)
{
    return p >= buf && n <= len && p - buf <= len - n;
}

/* The same packet once more, through the sender's side. */
static void again(const RclLayout *l, const RclView *v)
{
    g_autofree uint8_t *frame = g_malloc(RCL_FRAME_MAX);
    g_autofree uint8_t *scratch = g_malloc(RCL_FRAME_MAX);
    g_autofree uint8_t *payload = g_memdup2(v->data, v->len);
    RclHead h = {
        .kind = v->kind, .da = v->da, .dport = v->kind == RCL_TYPE1 ?
        RCL_UDP_PORT : l->type2_dport, .rh = v->rh,
        .tc = v->kind == RCL_TYPE1 ? l->tc1[v->bank] : l->tc2,
    };
    RclView w;
    size_t len = rcl_frame_put(l, &h, payload, v->len, frame);

    g_assert_cmpuint(len, >=, RCL_FRAME_MIN);
    g_assert_cmpuint(len, <=, RCL_FRAME_MAX);
    g_assert_cmpint(rcl_frame_get(l, frame, len, scratch, &w), ==, RCL_TAKE);
    g_assert_cmpint(w.kind, ==, v->kind);
    if (l->format == RCL_LITE) {
        g_assert_cmpuint(w.len, >=, v->len);    /* padding is not told */
    } else {
        g_assert_cmpint(w.rh.opcode, ==, v->rh.opcode);
        g_assert_cmpint(w.rh.psn, ==, v->rh.psn);
        g_assert_cmpint(w.rh.qp, ==, v->rh.qp);
    }
    g_assert_cmpmem(w.data, v->len, v->data, v->len);
}

/* Make a frame of TYPE1 or TYPE2 of what is long enough, but for @more. */
static void shape(const RclLayout *l, uint8_t more, uint8_t *f, size_t len)
{
    unsigned at = l->vlan ? 16 : 12;
    bool type2 = more & 32;
    uint32_t sum = 0;

    if (more & 64 || len < at + 38) {
        return;
    }
    if (l->vlan) {
        put_be16(f + 12, l->tpid);
    }
    put_be16(f + at, l->format == RCL_STANDARD ? 0x0800 :
                     type2 ? l->mac_type2 : l->mac_type1);
    f[l->slap ? 0 : 6] |= l->format >= RCL_GEN2 ? RCL_KEY_W : 0;
    if (l->format != RCL_STANDARD) {
        return;
    }
    f += at + 2;
    len -= at + 2;
    f[0] = 0x45;
    f[9] = 17;
    put_be16(f + 2, len);
    put_be16(f + 6, 0x4000);
    put_be16(f + 10, 0);
    for (unsigned i = 0; i < 20; i += 2) {
        sum += get_be16(f + i);
    }
    sum = (sum & 0xffff) + (sum >> 16);
    put_be16(f + 10, ~((sum & 0xffff) + (sum >> 16)));
    put_be16(f + 22, type2 ? l->type2_dport : RCL_UDP_PORT);
    put_be16(f + 24, len - 20);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree uint8_t *scratch = g_malloc(RCL_FRAME_MAX), *frame = NULL;
    uint8_t how, more;
    RclLayout l;
    RclView v;

    if (size < 2) {
        return 0;
    }
    how = data[0];
    more = data[1];
    data += 2;
    size -= 2;
    l = (RclLayout) {
        .format = how & 3, .rh_order = (how >> 2) % 3, .slap = how & 64,
        .icrc = how & 128, .gen1_tc = more & 1, .lite_high = more & 2,
        .icrc_roce = more & 4, .vlan = more & 8, .vlan_pri = true,
        .tpid = more & 16 ? 0x88a8 : 0x8100, .mac = 0x02000000000a,
        .mac_type1 = 0x88b5, .mac_type2 = 0x88b6, .ttl = 64,
        .type2_dport = 4792, .tc1 = { 2, 6, 10, 14 }, .tc2 = 0x1a, .vcs = 4,
    };
    if (size > 9216) {
        size = 9216;
    }
    frame = g_memdup2(data, size);      /* its end is the end of memory */
    shape(&l, more, frame, size);
    if (rcl_frame_get(&l, frame, size, scratch, &v) != RCL_TAKE ||
        v.kind > RCL_TYPE2) {
        return 0;
    }
    g_assert_true(within(v.data, v.len, frame, size) ||
                  within(v.data, v.len, scratch, RCL_FRAME_MAX));
    g_assert_cmpuint(v.len, <=, RCL_FRAME_MAX);
    if (v.len <= RCL_PAYLOAD_MAX && v.len >= (v.rh.opcode == RCL_OP_SEND ?
                                              RCL_MOVED_MAX : 0)) {
        again(&l, &v);
    }
    return 0;
}
