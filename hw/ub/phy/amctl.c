/*
 * AMCTL: build, correct and decode (UB 2.0 §3.2.4.2, Tables 3-7 to 3-10).
 *
 * Wire order is decided here once: within each 4-symbol half the code word of
 * bits [63:48] goes first, Byte_A before Byte_B.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "amctl.h"
#include "linecode.h"
#include "ub/lanes.h"

typedef struct CwPair {
    uint8_t first, second;
} CwPair;

static const CwPair body_pair = { 21, 28 };
static const CwPair end_pair = { 22, 22 };

static const CwPair lid_pair[UB_AMCTL_LIDS] = {
    { 3, 3 }, { 3, 8 }, { 3, 9 }, { 3, 10 }, { 3, 21 }, { 3, 22 },
    { 3, 23 }, { 3, 28 }, [UB_AMCTL_LID_NULL] = { 21, 3 },
};

static const CwPair type_pair[UB_AMCTL_TYPES] = {
    [UB_AMCTL_FEC] = { 3, 8 },        [UB_AMCTL_LWS] = { 8, 9 },
    [UB_AMCTL_EI] = { 9, 10 },        [UB_AMCTL_PERIOD] = { 10, 21 },
    [UB_AMCTL_REMOTE_TX] = { 21, 22 }, [UB_AMCTL_TYPE_RSV5] = { 22, 23 },
    [UB_AMCTL_TYPE_RSV6] = { 23, 28 }, [UB_AMCTL_NONE] = { 28, 3 },
};

static const CwPair detail_pair[UB_AMCTL_DETAILS] = {
    { 3, 9 },   { 8, 10 },  { 9, 21 },  { 10, 22 },
    { 21, 23 }, { 22, 28 }, { 23, 3 },  { 28, 8 },
};

/* By lane-order word: nearest payload, -1 beyond correction; and one bit that
 * tells a word with wrong bits from an exact one. */
static int8_t nearest[1 << 16];
static uint8_t dirty[(1 << 16) / 8];
static uint16_t lane_word[32];

static void reach(unsigned errors)
{
    for (unsigned cw = 0; cw < 32; cw++) {
        uint16_t w = lane_word[cw] ^ ub_ebch_to_lane(errors);

        nearest[w] = cw;
        nearest[w ^ 1] = cw; /* the parity bit keeps its place on the lane */
    }
}

static void tables_build(void)
{
    memset(nearest, -1, sizeof(nearest));
    memset(dirty, 0xff, sizeof(dirty));
    for (unsigned cw = 0; cw < 32; cw++) {
        lane_word[cw] = ub_ebch_to_lane(ub_ebch_encode(cw));
    }
    /* The words within reach of one code word are its images under every
     * correctable pattern: up to three of 15 bits, with or without bit 0. */
    for (unsigned a = 1; a < 17; a++) {
        for (unsigned b = 1; b < 17; b++) {
            for (unsigned c = 1; c < 17; c++) {
                reach((1u << a | 1u << b | 1u << c) & 0xffff);
            }
        }
    }
    for (unsigned cw = 0; cw < 32; cw++) {
        dirty[lane_word[cw] / 8] &= ~(1u << lane_word[cw] % 8);
    }
}

static void tables_init(void)
{
    static gsize once;

    if (g_once_init_enter(&once)) {
        tables_build();
        g_once_init_leave(&once, 1);
    }
}

unsigned ub_amctl_lws(unsigned width)
{
    switch (width) {
    case 1:
        return UB_AMCTL_LWS_X1;
    case 2:
        return UB_AMCTL_LWS_X2;
    case 4:
        return UB_AMCTL_LWS_X4;
    case 8:
        return UB_AMCTL_LWS_X8;
    default:
        return UB_AMCTL_LWS_X0;
    }
}

unsigned ub_amctl_lws_width(unsigned detail)
{
    return detail >= UB_AMCTL_LWS_X1 && detail <= UB_AMCTL_LWS_X8 ?
           1u << (detail - UB_AMCTL_LWS_X1) : 0;
}

static uint8_t *put_pairs(uint8_t *out, CwPair pair, unsigned times)
{
    const uint16_t words[2] = { lane_word[pair.first],
                                lane_word[pair.second] };

    while (times--) {
        for (unsigned i = 0; i < 2; i++) {
            *out++ = words[i] >> 8;
            *out++ = words[i];
        }
    }
    return out;
}

void ub_amctl_encode(uint8_t out[UB_AMCTL_SYMBOLS], unsigned lid,
                     unsigned type, unsigned detail)
{
    tables_init();
    if (lid >= UB_AMCTL_LIDS) {
        lid = UB_AMCTL_LID_NULL;
    }
    if (type >= UB_AMCTL_TYPES || detail >= UB_AMCTL_DETAILS) {
        type = UB_AMCTL_NONE;
        detail = 0;
    }
    out = put_pairs(out, body_pair, 3);
    out = put_pairs(out, end_pair, 1);
    out = put_pairs(out, lid_pair[lid], 2);
    out = put_pairs(out, type_pair[type], 2);
    put_pairs(out, detail_pair[detail], 2);
}

static unsigned word_at(const uint8_t *in)
{
    return in[0] << 8 | in[1];
}

/* Corrected payload of the word at `in`; counts what it cost in *a. */
static int get_cw(UbAmctl *a, const uint8_t *in)
{
    unsigned w = word_at(in);
    int cw = nearest[w];

    if (cw < 0) {
        a->failed++;
    } else if (dirty[w / 8] >> w % 8 & 1) {
        a->fixed++;
    }
    return cw;
}

/* Index in `set` of the pair in the half at `in`, or -1. */
static int get_half(UbAmctl *a, const uint8_t *in, const CwPair *set,
                    unsigned size)
{
    int first = get_cw(a, in), second = get_cw(a, in + 2);

    for (unsigned i = 0; i < size; i++) {
        if (set[i].first == first && set[i].second == second) {
            return i;
        }
    }
    return -1;
}

/* One good half is enough; two good ones must agree (§3.2.4.2). */
static uint8_t get_either(UbAmctl *a, const uint8_t *in, const CwPair *set,
                          unsigned size)
{
    int first = get_half(a, in, set, size);
    int second = get_half(a, in + 4, set, size);

    if (first < 0) {
        return second < 0 ? UB_AMCTL_BAD : second;
    }
    return second < 0 || second == first ? first : UB_AMCTL_BAD;
}

static unsigned body_words(const uint8_t *in)
{
    unsigned good = 0;

    for (unsigned i = 0; i < UB_AMCTL_BODY; i += 4) {
        good += nearest[word_at(in + i)] == body_pair.first;
        good += nearest[word_at(in + i + 2)] == body_pair.second;
    }
    return good;
}

bool ub_amctl_decode(UbAmctl *a, const uint8_t in[UB_AMCTL_SYMBOLS])
{
    int lid, lid2;

    tables_init();
    memset(a, 0, sizeof(*a));
    for (unsigned i = 0; i < UB_AMCTL_BODY; i += 2) {
        get_cw(a, in + i);
    }
    a->body = body_words(in);
    a->end_ok = get_half(a, in + UB_AMCTL_BODY, &end_pair, 1) == 0;
    lid = get_half(a, in + 16, lid_pair, UB_AMCTL_LIDS);
    lid2 = get_half(a, in + 20, lid_pair, UB_AMCTL_LIDS);
    a->lid = lid >= 0 && lid == lid2 ? lid : UB_AMCTL_BAD;
    a->type = get_either(a, in + 24, type_pair, UB_AMCTL_TYPES);
    a->detail = get_either(a, in + 32, detail_pair, UB_AMCTL_DETAILS);
    return a->end_ok;
}

bool ub_amctl_end(const uint8_t in[UB_AMCTL_LOCK])
{
    tables_init();
    return nearest[word_at(in + UB_AMCTL_BODY)] == end_pair.first &&
           nearest[word_at(in + UB_AMCTL_BODY + 2)] == end_pair.second;
}

bool ub_amctl_lock_exact(const uint8_t in[UB_AMCTL_LOCK])
{
    tables_init();
    return word_at(in + UB_AMCTL_BODY) == lane_word[end_pair.first] &&
           word_at(in + UB_AMCTL_BODY + 2) == lane_word[end_pair.second] &&
           body_words(in) >= 4;
}

static const char *const type_names[UB_AMCTL_TYPES] = {
    "fec", "lws", "ei", "period", "remote-tx", "reserved5", "reserved6",
    "none",
};

/* Details that mean something, by type; the others are "reservedN". */
static const char *const detail_names[UB_AMCTL_TYPES][UB_AMCTL_DETAILS] = {
    [UB_AMCTL_FEC] = { [6] = "close", [7] = "open" },
    [UB_AMCTL_LWS] = { "x0", "x1", "x2", "x4", "x8" },
    [UB_AMCTL_EI] = { [5] = "eei" },
    [UB_AMCTL_PERIOD] = { "period0", "period1" },
    [UB_AMCTL_REMOTE_TX] = { [1] = "x1", [2] = "x2", [3] = "x4", [4] = "x8" },
    [UB_AMCTL_NONE] = { "none" },
};

static const char *const reserved_names[UB_AMCTL_DETAILS] = {
    "reserved0", "reserved1", "reserved2", "reserved3",
    "reserved4", "reserved5", "reserved6", "reserved7",
};

const char *ub_amctl_type_name(unsigned type)
{
    return type < UB_AMCTL_TYPES ? type_names[type] : "bad";
}

const char *ub_amctl_detail_name(unsigned type, unsigned detail)
{
    if (type >= UB_AMCTL_TYPES || detail >= UB_AMCTL_DETAILS) {
        return "bad";
    }
    return detail_names[type][detail] ? detail_names[type][detail] :
           reserved_names[detail];
}

/* §3.3.2 sends AMCTLs Gray coded with PAM4, so both forms are looked for. */
unsigned ub_lane_spoil_amctls(uint8_t *sym, size_t n, unsigned most)
{
    uint8_t mark[2][UB_AMCTL_SYMBOLS];
    unsigned spoiled = 0;

    if (!most) {
        return 0;
    }
    ub_amctl_encode(mark[0], 0, UB_AMCTL_NONE, 0);
    ub_gray(mark[1], mark[0], UB_AMCTL_SYMBOLS);
    for (size_t i = 0; i + UB_AMCTL_SYMBOLS <= n && spoiled < most; i++) {
        if (memcmp(sym + i, mark[0], UB_AMCTL_LOCK) &&
            memcmp(sym + i, mark[1], UB_AMCTL_LOCK)) {
            continue;
        }
        for (unsigned j = UB_AMCTL_BODY; j < UB_AMCTL_LOCK; j++) {
            sym[i + j] ^= 0xff;
        }
        spoiled++;
        i += UB_AMCTL_SYMBOLS - 1;
    }
    return spoiled;
}
