/*
 * Hostile migration streams for a controller whose engine is at work: Writes, Reads,
 * messages over a channel and by CTP, one that finds no receive entry, raw packets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "../../lib/format.h"
#include "net-older.h"
#include "ub/net_hw.h"
#include "ubc-pair.h"
#include "ubc-busy.h"

static Busy busy;

static unsigned completions(void)
{
    unsigned n = 0;

    while (ubq_cq_poll(&busy.cq[1])) {
        n++;
    }
    return n;
}

static bool something_ends(Side *a, Side *b)
{
    return completions() > 0;
}

/* The picture itself: it is of something busy, it is taken, and the work goes on
 * where it was. */
static void test_goes_on(gconstpointer moment)
{
    Side *a = &two[0], *b = &two[1];

    busy_begin(&busy, GPOINTER_TO_UINT(moment));
    g_test_message("image of %zu bytes", busy.len[1]);
    g_assert_null(ubc_load(a->ubc, now, busy.image[0], busy.len[0]));
    g_assert_null(ubc_load(b->ubc, now, busy.image[1], busy.len[1]));
    ubc_bus_master(b->ubc, true);
    g_test_message("%u ended before", completions());
    connect(a, b);
    g_assert_true(run_until(a, b, something_ends, 10 * SECOND));
    g_assert_cmpuint(b->guest_errors, ==, 0);
    busy_end(&busy);
}

/* Where sections of the image begin: most of its bytes are packets, behind which the
 * structures would be hit too seldom. */
static GArray *sections(const uint8_t *image, size_t len)
{
    GArray *at = g_array_new(false, false, sizeof(size_t));

    for (size_t i = 0; i + 4 < len; i++) {
        unsigned n = 0;

        while (n < 4 && (g_ascii_isupper(image[i + n]) || image[i + n] == ' ')) {
            n++;
        }
        if (n == 4) {
            g_array_append_val(at, i);
        }
    }
    return at;
}

static size_t place(const GArray *begin, size_t len)
{
    size_t at = g_test_rand_int_range(0, len);

    if (g_test_rand_int_range(0, 4)) {
        at = g_array_index(begin, size_t,
                           g_test_rand_int_range(0, begin->len)) +
             g_test_rand_int_range(0, 300);
    }
    return at % (len - 4);
}

/* Changed in one to four places, now and then cut short: refused or harmless, alone
 * and beside a peer that believes in it. */
static void test_damaged(gconstpointer moment)
{
    static const uint32_t odd[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff,
                                    0xffff, 0x10000, 0x100 };
    const unsigned tries = g_test_slow() ? 20000 : 1500;
    g_autoptr(GArray) begin = NULL;
    unsigned taken = 0;

    busy_begin(&busy, GPOINTER_TO_UINT(moment));
    begin = sections(busy.image[1], busy.len[1]);
    g_assert_cmpuint(begin->len, >, 20);
    for (unsigned i = 0; i < tries; i++) {
        g_autofree uint8_t *bad = g_memdup2(busy.image[1], busy.len[1]);
        unsigned n = g_test_rand_int_range(1, 5);
        size_t len = busy.len[1], at = 0;

        while (n--) {
            at = place(begin, len);
            if (g_test_rand_int_range(0, 2)) {
                bad[at] = g_test_rand_int();
            } else {
                put_be32(bad + at, odd[g_test_rand_int_range(0, 8)]);
            }
        }
        taken += busy_try(&busy, bad, g_test_rand_int_range(0, 20) ? len : at,
                          !(i % 50));
    }
    g_test_message("%u of %u taken", taken, tries);
    g_assert_cmpuint(taken, >, tries / 20);
    g_assert_cmpuint(taken, <, tries);
    g_assert_true(busy_try(&busy, busy.image[1], busy.len[1], true));
    busy_end(&busy);
}

/* Each end's, with all that it is in the middle of. */
static void test_format(gconstpointer moment)
{
    static const struct {
        size_t len;
        const char *sum;
    } want[BUSY_MOMENTS][2] = {
        { { 185417, "789ff841438e8b77a9c67839e53cb796"
                    "4b2ea542fc556458382b9702558d26b5" },
          { 185417, "c9fbf86c99f3e2cc834d4a8325f1ab09"
                    "244fce0a190ee3005ff388bc5d005df4" } },
        { { 168387, "6de3a73a29bf09e709381295fa60ed77"
                    "3987653ff1183f875ffe4cbcf113f862" },
          { 219205, "ef65c35aa6c79d9712846c7d47a7af61"
                    "db0f251b039dd181eb7e11e82fb230b1" } },
    };
    unsigned m = GPOINTER_TO_UINT(moment);

    busy_begin(&busy, m);
    for (unsigned i = 0; i < 2; i++) {
        format_is(busy.image[i], busy.len[i], want[m][i].len, want[m][i].sum);
    }
    busy_end(&busy);
}

/* ---- A build before this one ---- */

#define UBC_OLDER 3u    /* without CFG0_CAP242, whose section of the net was version 1 */

/* Sections that have all of @len bytes at @at of @all: they get smaller by @less. */
static void shrink_around(uint8_t *image, size_t all, size_t at, size_t len,
                          size_t less)
{
    for (size_t i = 0; i < at; i++) {
        uint32_t size = get_be32(image + i + 6);
        bool named = true;

        for (unsigned n = 0; n < 4; n++) {
            named = named && (g_ascii_isupper(image[i + n]) ||
                              image[i + n] == ' ');
        }
        if (named && get_be16(image + i + 4) && i + OLDER_HEADER <= at &&
            size <= all - i - OLDER_HEADER &&
            i + OLDER_HEADER + size >= at + len) {
            put_be32(image + i + 6, size - less);
        }
    }
}

/* Where a big-endian word is, the only one. */
static size_t find_word(const uint8_t *image, size_t len, uint32_t word)
{
    size_t at = 0;
    unsigned found = 0;

    for (size_t i = 0; i + 4 <= len; i++) {
        if (get_be32(image + i) == word) {
            at = i;
            found++;
        }
    }
    g_assert_cmpuint(found, ==, 1);
    return at;
}

/* Where the words of the configuration space begin, of which that at @at is one of the
 * last slice: a number of 64 bits is in front, which is theirs. */
static size_t words_begin(const uint8_t *image, size_t at)
{
    size_t end = at - 4 * UB_NETR_MAGIC + 4 * UB_NETR_USED;

    for (size_t i = at - 4; i >= 8; i -= 4) {
        if (get_be64(image + i - 8) == (end - i) / 4) {
            return i;
        }
    }
    g_assert_not_reached();
}

/* Whether the names of the two ends are at @p, one behind the other. */
static bool is_names(const uint8_t *p)
{
    return !get_be64(p) && !get_be64(p + 16) && get_be64(p + 8) + get_be64(p + 24) == 3 &&
           get_be64(p + 8) - 1 < 2;
}

#define TA_MORE (UB_TA_COUNTERS_NUM - UB_TAC_DROP_ENDED)
#define TP_FIRST (8 + 1 + 8 + 4 + 4 + 1)    /* in front of its counters */
#define TP_KEPT offsetof(UbTpCounters, drop_flushed)

/* The section at @at, of @version, loses the @gone bytes at @first in it. */
static size_t counters_older(uint8_t *image, size_t len, size_t at, size_t first,
                             size_t gone, unsigned version)
{
    g_assert_cmpuint(get_be16(image + at + 4), ==, version);
    put_be16(image + at + 4, version - 1);
    at += OLDER_HEADER + first;
    shrink_around(image, len, at, gone, gone);
    return older_cut(image, len, at, gone);
}

/* No header says whose it is, and there is no place for bus instances. */
static size_t sec_older(uint8_t *image, size_t len)
{
    const uint32_t one = 1 + UB_EID_LEN + 4, gone = UB_SEC_INSTANCES * one;
    size_t at = find_word(image, len, CORE_TAG('U', 'B', 'T', 'A'));

    len = counters_older(image, len, at, get_be32(image + at + 6) - 8 * TA_MORE,
                         8 * TA_MORE, 8);
    put_be16(image + at + 4, 5);
    for (size_t i = at + OLDER_HEADER;
         i + 2 * UB_EID_LEN < at + OLDER_HEADER + get_be32(image + at + 6); i++) {
        if (is_names(image + i)) {
            i += 2 * UB_EID_LEN;
            g_assert_cmpuint(image[i], ==, 1);      /* Entity 0 */
            shrink_around(image, len, i, 1, 1);
            len = older_cut(image, len, i, 1);
        }
    }
    at = find_word(image, len, CORE_TAG('U', 'B', 'T', 'P'));
    len = counters_older(image, len, at, TP_FIRST + TP_KEPT,
                         sizeof(UbTpCounters) - TP_KEPT, 2);
    at = find_word(image, len, CORE_TAG('S', 'E', 'C', ' '));
    g_assert_cmpuint(get_be16(image + at + 4), ==, 2);
    put_be16(image + at + 4, 1);
    at += OLDER_HEADER + UB_SEC_ENTITIES * one;
    shrink_around(image, len, at, gone, gone);
    return older_cut(image, len, at, gone);
}

/* The image becomes one of version 3 of the controller; returns its length. */
static size_t ubc_older(uint8_t *image, size_t len)
{
    const uint32_t bitmap = UB_CFG0_CAP_BITMAP + UB_NETR_CAP / 32;
    g_autofree uint8_t *net = NULL;
    size_t at, first, less;
    uint32_t caps;

    len = sec_older(image, len);
    at = find_word(image, len, CORE_TAG('U', 'N', 'E', 'T'));
    net = g_memdup2(image + at, len - at);
    g_assert_cmpuint(get_be16(image + 4), ==, 4);
    less = len - at - net_older(net, len - at, 1);
    shrink_around(image, len, at, OLDER_HEADER + get_be32(image + at + 6), less);
    len -= less;
    memcpy(image + at, net, len - at);
    at = find_word(image, len, UB_NETR_MAGIC__VALUE);
    first = words_begin(image, at);
    put_be64(image + first - 8, get_be64(image + first - 8) - UB_NETR_USED);
    /* CFG0 is the first slice. */
    caps = get_be32(image + first + 4 * bitmap);
    g_assert_cmphex(caps >> UB_NETR_CAP % 32 & 1, ==, 1);
    put_be32(image + first + 4 * bitmap, caps & ~(1u << UB_NETR_CAP % 32));
    put_be32(image + 6, get_be32(image + 6) - 4 * UB_NETR_USED);
    put_be16(image + 4, UBC_OLDER);
    return older_cut(image, len, at - 4 * UB_NETR_MAGIC, 4 * UB_NETR_USED);
}

static uint32_t of_entity_0(Side *s, uint32_t dw)
{
    wr(s, UBC_CFG_ENTITY, 0);
    wr(s, UBC_CFG_ADDR, dw);
    return rd(s, UBC_CFG_DATA);
}

static uint32_t cap242(Side *s, unsigned dw)
{
    return of_entity_0(s, UB_CFG_CAP(UB_CFG0_BASE, UB_NETR_CAP) + dw);
}

/* It is byte for byte what that build wrote at this moment; it is taken, the work goes
 * on, and what it did not say is as after a reset. */
static void test_older(gconstpointer moment)
{
    static const struct {
        size_t len;
        const char *sum;
    } want[BUSY_MOMENTS][2] = {
        { { 184484, "2068b6e3a7d05f8ca8418e784116830d"
                    "53992a7c9487d9915617ac3b2fbc5025" },
          { 184484, "1a47498e9253528bce9e439e91aa093e"
                    "6eceaee9deeacc553a56377eec04967b" } },
        { { 167452, "b6b36373655b24d00a7b880eb55cba30"
                    "4b1018b0fa3ac348903badede264fdca" },
          { 218270, "81e89530b47f792f96a9ae8305a93cd7"
                    "801caa2b84870358015cc3247bf72b60" } },
    };
    unsigned m = GPOINTER_TO_UINT(moment);
    Side *a = &two[0], *b = &two[1];

    busy_begin(&busy, m);
    for (unsigned i = 0; i < 2; i++) {
        busy.len[i] = ubc_older(busy.image[i], busy.len[i]);
        format_is(busy.image[i], busy.len[i], want[m][i].len, want[m][i].sum);
    }
    busy_cfg(b, 0, UB_CFG_CAP(UB_CFG0_BASE, UB_NETR_CAP) + UB_NETR_BORDER,
             UB_NETR_BORDER__TOKEN);
    g_assert_cmphex(cap242(b, UB_NETR_BORDER), ==, UB_NETR_BORDER__TOKEN);
    g_assert_cmpstr(ubc_load(a->ubc, now, busy.image[0], busy.len[0]), ==,
                    NULL);
    g_assert_cmpstr(ubc_load(b->ubc, now, busy.image[1], busy.len[1]), ==,
                    NULL);
    g_assert_cmphex(of_entity_0(b, UB_CFG0_CAP_BITMAP + UB_NETR_CAP / 32) >>
                    UB_NETR_CAP % 32 & 1, ==, 1);
    g_assert_cmphex(cap242(b, UB_NETR_MAGIC), ==, UB_NETR_MAGIC__VALUE);
    g_assert_cmphex(cap242(b, UB_NETR_NPI), ==, 1);
    g_assert_cmphex(cap242(b, UB_NETR_BORDER) | cap242(b, UB_NETR_COUNT) |
                    cap242(b, UB_NETR_PORT), ==, 0);
    g_assert_cmphex(cap242(b, UB_NETR_VL_MAP_DW(2, 1, 0)), ==, 0x76543210);
    ubc_bus_master(b->ubc, true);
    completions();
    connect(a, b);
    g_assert_true(run_until(a, b, something_ends, 10 * SECOND));
    g_assert_cmpuint(b->guest_errors, ==, 0);
    /* What came before is not taken. */
    put_be16(busy.image[1] + 4, UBC_OLDER - 1);
    g_assert_nonnull(ubc_load(b->ubc, now, busy.image[1], busy.len[1]));
    busy_end(&busy);
}

/* Whether @image has a section. */
static bool has(const uint8_t *image, size_t len, const char *tag)
{
    for (size_t i = 0; i + 4 <= len; i++) {
        if (!memcmp(image + i, tag, 4)) {
            return true;
        }
    }
    return false;
}

/* The second moment is of what it says: sections that the first has not, faults and
 * commands of the UMMU that wait, an interrupt that is masked, and packets that came
 * to a function that may not write. */
static void test_translated(void)
{
    static const char *const tags[] = { "UMMU", "CAME", "MSGQ", "MGMT", "USI ",
                                        "CIP ", "ENTS" };
    const uint32_t t1 = UB_CFG_CAP(UB_CFG1_BASE, UB_CAP_INT_TYPE1);
    Side *s = &two[1];
    uint32_t cmdq;

    busy_begin(&busy, BUSY_TRANSLATED);
    for (unsigned t = 0; t < G_N_ELEMENTS(tags); t++) {
        g_test_message("%s", tags[t]);
        g_assert_true(has(busy.image[1], busy.len[1], tags[t]));
    }
    g_assert_null(ubc_load(s->ubc, now, busy.image[1], busy.len[1]));
    cmdq = rd(s, UBM_WINDOW + UBM_CMDQ(0) + UBM_CMDQ_PROD) ^
           rd(s, UBM_WINDOW + UBM_CMDQ(0) + UBM_CMDQ_CONS);
    g_assert_cmphex(cmdq & UBM_Q_INDEX, !=, 0);
    g_assert_cmphex(rd(s, UBM_WINDOW + UBM_EVTQ_PROD), !=,
                    rd(s, UBM_WINDOW + UBM_EVTQ_CONS));
    wr(s, UBC_CFG_ENTITY, 1);
    wr(s, UBC_CFG_ADDR, t1 + UB_INT_TYPE1_INTERRUPT_PENDING);
    g_assert_cmphex(rd(s, UBC_CFG_DATA), ==, 1 << 3);
    g_assert_cmphex(rd(s, BUSY_MSGQ + UB_MSGQ_SQ_PI), ==, 3);
    busy_end(&busy);
}

int main(int argc, char **argv)
{
    static const char *const moments[] = { "plain", "translated" };

    g_test_init(&argc, &argv, NULL);
    for (unsigned m = 0; m < BUSY_MOMENTS; m++) {
        static const struct {
            const char *name;
            void (*run)(gconstpointer moment);
        } tests[] = {
            { "goes-on", test_goes_on },
            { "damaged", test_damaged },
            { "format", test_format },
            { "older", test_older },
        };

        for (unsigned t = 0; t < G_N_ELEMENTS(tests); t++) {
            g_autofree char *path = g_strdup_printf("/ub/ubc/busy/%s/%s",
                                                    moments[m], tests[t].name);

            g_test_add_data_func(path, GUINT_TO_POINTER(m), tests[t].run);
        }
    }
    g_test_add_func("/ub/ubc/busy/translated/holds", test_translated);
    return g_test_run();
}
