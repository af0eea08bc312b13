/*
 * Hostile migration streams for a controller whose engine is at work: Writes, Reads,
 * messages over a channel and by CTP, one that finds no receive entry, raw packets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "../../lib/format.h"
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
        { { 184998, "9873225683966f06e1fa3f6a9ba60333"
                    "009c6ffa506a21d28f57c86149e1ee3c" },
          { 184998, "2a9e4e96fed11dc5689b5e23611b171a"
                    "9a9ae94c9c6ee5bc938fe0185f37c5a5" } },
        { { 167966, "7475628a0f988dd59bc7b92becf35e5b"
                    "5a2ddeb7d71617895047acfeb15b8968" },
          { 218784, "9fc69bae98639e7400d6d7a28eb97963"
                    "61bb399c9d205f15233877298de1e4d5" } },
    };
    unsigned m = GPOINTER_TO_UINT(moment);

    busy_begin(&busy, m);
    for (unsigned i = 0; i < 2; i++) {
        format_is(busy.image[i], busy.len[i], want[m][i].len, want[m][i].sum);
    }
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
