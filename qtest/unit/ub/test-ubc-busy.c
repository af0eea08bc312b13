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
static void test_goes_on(void)
{
    Side *a = &two[0], *b = &two[1];

    busy_begin(&busy);
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
static void test_damaged(void)
{
    static const uint32_t odd[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff,
                                    0xffff, 0x10000, 0x100 };
    const unsigned tries = g_test_slow() ? 20000 : 3000;
    g_autoptr(GArray) begin = NULL;
    unsigned taken = 0;

    busy_begin(&busy);
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
static void test_format(void)
{
    static const struct {
        size_t len;
        const char *sum;
    } want[2] = {
        { 184484, "7a359ae140871fa13864cd25a4cbb9e2"
                  "7ed2b343608339096244c05431495c54" },
        { 184484, "7c49751f19c710591b779f45355e8a81"
                  "4add29cb7ac49dab2a3b5b1f7614c472" },
    };
    busy_begin(&busy);
    for (unsigned i = 0; i < 2; i++) {
        format_is(busy.image[i], busy.len[i], want[i].len, want[i].sum);
    }
    busy_end(&busy);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ubc/busy/goes-on", test_goes_on);
    g_test_add_func("/ub/ubc/busy/damaged", test_damaged);
    g_test_add_func("/ub/ubc/busy/format", test_format);
    return g_test_run();
}
