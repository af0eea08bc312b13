/*
 * CFG1_CAP241, the registers of CIP: what makes a key, what no key is made of, and
 * images whose parts disagree.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"
#include "ub/cip_hw.h"
#include "ubc-pair.h"

#define SLICE UB_CFG_CAP(UB_CFG1_BASE, UB_CIP_CAP)
#define AES 1u
#define SM4 2u
#define IVS (UB_CIP_IV_LEN / 4)
#define KEYS (UB_CIP_KEY_MAX / 4)

static UbcConfig conf;

static void put(Side *s, unsigned dw, uint32_t value)
{
    wr(s, UBC_CFG_WINDOW + 4 * (SLICE + dw), value);
}

static uint32_t get(Side *s, unsigned dw)
{
    return cfg(s, SLICE + dw);
}

static unsigned command(Side *s, unsigned code)
{
    put(s, UB_CIP_COMMAND, code);
    return get(s, UB_CIP_RESULT);
}

static void begin(Side *s, unsigned suite)
{
    ubc_config_init(&conf);
    conf.cip = true;
    now = 1000;
    side_init(s, s + 1, &conf);
    put(s, UB_CIP_SELECT, 3);
    put(s, UB_CIP_POLICY, suite);
    g_assert_cmpuint(command(s, UB_CIP_CMD_SET_POLICY), ==, UB_CIP_R_OK);
}

/* IV and @keys dwords of the key, but dword @missing of the slice. */
static void stage(Side *s, unsigned keys, unsigned missing)
{
    for (unsigned i = 0; i < IVS + keys; i++) {
        if (UB_CIP_IV + i != missing) {
            put(s, UB_CIP_IV + i, 0x01010101u * (i + 1));
        }
    }
}

static unsigned keyed(Side *s)
{
    return UB_SPACE_GET(UB_CIP_STATE__RX_KEYED, get(s, UB_CIP_STATE));
}

/* All of IV and key, by one command's time, or there is no key: never one of
 * zeroes. */
static void test_whole(void)
{
    static const struct { unsigned suite, keys; } suites[] = {
        { AES, 8 }, { SM4, 4 },
    };
    Side *s = &two[0];

    for (unsigned n = 0; n < G_N_ELEMENTS(suites); n++) {
        unsigned keys = suites[n].keys;

        begin(s, suites[n].suite);
        g_assert_cmpuint(command(s, UB_CIP_CMD_SET_KEY), ==,
                         UB_CIP_R_INCOMPLETE);
        for (unsigned i = 0; i < IVS + keys; i++) {
            stage(s, keys, UB_CIP_IV + i);
            g_assert_cmpuint(command(s, UB_CIP_CMD_SET_KEY), ==,
                             UB_CIP_R_INCOMPLETE);
            g_assert_cmphex(keyed(s), ==, 0);
            /* Nor is it after the rest has come: the command has wiped it. */
            put(s, UB_CIP_IV + i, 1);
            g_assert_cmpuint(command(s, UB_CIP_CMD_SET_KEY), ==,
                             UB_CIP_R_INCOMPLETE);
        }
        /* Another command, or one that failed, between. */
        for (unsigned code = 0; code < 8; code++) {
            if (code != UB_CIP_CMD_SET_KEY && code != UB_CIP_CMD_SET_POLICY &&
                code != UB_CIP_CMD_CLEAR_POLICY) {
                stage(s, keys, 0);
                g_assert_cmpuint(command(s, code), !=, UB_CIP_R_OK);
                g_assert_cmpuint(command(s, UB_CIP_CMD_SET_KEY), ==,
                                 UB_CIP_R_INCOMPLETE);
            }
        }
        put(s, UB_CIP_SELECT, 4);
        stage(s, keys, 0);
        g_assert_cmpuint(command(s, UB_CIP_CMD_SET_KEY), ==,
                         UB_CIP_R_NO_POLICY);
        put(s, UB_CIP_SELECT, 3);
        g_assert_cmpuint(command(s, UB_CIP_CMD_SET_KEY), ==,
                         UB_CIP_R_INCOMPLETE);
        g_assert_cmphex(keyed(s), ==, 0);
        stage(s, keys, 0);
        g_assert_cmpuint(command(s, UB_CIP_CMD_SET_KEY), ==, UB_CIP_R_OK);
        g_assert_cmphex(keyed(s), ==, 1);
        side_free(s);
    }
}

/* As the UBFM may write: some bytes of a dword, which make no dword. */
static void test_bytes(void)
{
    Side *s = &two[0];

    begin(s, AES);
    for (unsigned i = 0; i < IVS + KEYS; i++) {
        for (uint8_t en = 1; en < 15; en++) {
            unsigned errors = s->guest_errors;

            /* Before and after the whole of it. */
            stage(s, KEYS, UB_CIP_IV + i);
            ub_space_write(s->ubc->space, now, SLICE + UB_CIP_IV + i, ~0u, en);
            ub_space_write(s->ubc->space, now, SLICE + UB_CIP_IV + i, ~0u,
                           ~en & 0xf);
            g_assert_cmpuint(command(s, UB_CIP_CMD_SET_KEY), ==,
                             UB_CIP_R_INCOMPLETE);
            stage(s, KEYS, 0);
            ub_space_write(s->ubc->space, now, SLICE + UB_CIP_IV + i, ~0u, en);
            g_assert_cmpuint(command(s, UB_CIP_CMD_SET_KEY), ==,
                             UB_CIP_R_INCOMPLETE);
            g_assert_cmphex(get(s, UB_CIP_IV + i), ==, 0);
            g_assert_cmpuint(s->guest_errors, ==, errors + 3);
        }
    }
    /* No bytes at all change nothing, and all of them mend it. */
    stage(s, KEYS, 0);
    ub_space_write(s->ubc->space, now, SLICE + UB_CIP_KEY, ~0u, 1);
    ub_space_write(s->ubc->space, now, SLICE + UB_CIP_KEY, 5, 0xf);
    ub_space_write(s->ubc->space, now, SLICE + UB_CIP_KEY, ~0u, 0);
    g_assert_cmpuint(command(s, UB_CIP_CMD_SET_KEY), ==, UB_CIP_R_OK);
    side_free(s);
}

/* ---- migration ---- */

/* @data in another controller, which takes the place of that of @s, if it can. */
static const char *load(Side *s, const uint8_t *data, size_t len)
{
    const char *why = NULL, *refused;
    UbcConfig c = conf;
    Ubc *ubc;

    c.guid[15] = 9;
    ubc = ubc_new(&c, &ops, s, &why);
    g_assert_cmpstr(why, ==, NULL);
    refused = ubc_load(ubc, now, data, len);
    if (refused) {
        ubc_free(ubc);
    } else {
        ubc_free(s->ubc);
        s->ubc = ubc;
    }
    return refused;
}

/* What was staged stays behind, and also what was staged where it goes to. */
static void test_moved(void)
{
    g_autofree uint8_t *data = NULL;
    Side *s = &two[0];
    size_t len;

    begin(s, AES);
    stage(s, KEYS, UB_CIP_KEY);
    data = ubc_save(s->ubc, now, &len);
    g_assert_cmpstr(load(s, data, len), ==, NULL);
    put(s, UB_CIP_KEY, 7);
    g_assert_cmpuint(command(s, UB_CIP_CMD_SET_KEY), ==, UB_CIP_R_INCOMPLETE);
    stage(s, KEYS, UB_CIP_KEY);
    g_assert_cmpstr(ubc_load(s->ubc, now, data, len), ==, NULL);
    put(s, UB_CIP_KEY, 7);
    g_assert_cmpuint(command(s, UB_CIP_CMD_SET_KEY), ==, UB_CIP_R_INCOMPLETE);
    stage(s, KEYS, 0);
    g_assert_cmpuint(command(s, UB_CIP_CMD_SET_KEY), ==, UB_CIP_R_OK);
    side_free(s);
}

/* An image may not show ON and send in the clear.  Two images differ only in CTRL
 * and the mode: either alone is refused. */
static void test_forged(void)
{
    g_autofree uint8_t *on = NULL, *off = NULL;
    Side *s = &two[0];
    unsigned differ = 0;
    size_t len, other;

    begin(s, AES);
    put(s, UB_CIP_CTRL, UB_CIP_CTRL__ON);
    on = ubc_save(s->ubc, now, &len);
    put(s, UB_CIP_CTRL, 0);
    off = ubc_save(s->ubc, now, &other);
    g_assert_cmpuint(len, ==, other);
    for (size_t i = 0; i < len; i++) {
        if (on[i] != off[i]) {
            uint8_t was = on[i];

            differ++;
            on[i] = off[i];
            g_assert_nonnull(load(s, on, len));
            on[i] = was;
        }
    }
    g_assert_cmpuint(differ, ==, 2);
    g_assert_cmpstr(load(s, on, len), ==, NULL);
    g_assert_cmphex(get(s, UB_CIP_CTRL), ==, UB_CIP_CTRL__ON);
    g_assert_cmpstr(load(s, off, len), ==, NULL);
    g_assert_cmphex(get(s, UB_CIP_CTRL), ==, 0);
    side_free(s);
}

/* What traces leave out: IV and KEY, by both ways to them, and nothing else. */
static void test_secret(void)
{
    Side *s = &two[0];

    begin(s, AES);
    for (unsigned dw = 0; dw < UB_CFG_SLICE; dw++) {
        bool secret = dw >= UB_CIP_IV && dw < UB_CIP_COMMAND;

        g_assert_true(ubc_secret(s->ubc, UBC_CFG_WINDOW + 4 * (SLICE + dw)) ==
                      secret);
        g_assert_false(ubc_secret(s->ubc, UBC_CFG_WINDOW + 4 * dw));
        wr(s, UBC_CFG_ADDR, SLICE + dw);
        g_assert_true(ubc_secret(s->ubc, UBC_CFG_DATA) == secret);
        g_assert_false(ubc_secret(s->ubc, UBC_CFG_ADDR));
    }
    side_free(s);
}

/* What registers make of a policy, and what they show of its keys. */
static void test_registers(void)
{
    static const uint8_t peer[16] = { 0xfd, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
                                      15 };
    const uint32_t tx = UB_CIP_SELECT__TX, slot = UB_CIP_SELECT__SLOT;
    Side *s = &two[0];
    UbCip *cip;
    UbCipView v;

    begin(s, AES);
    cip = ub_sec_cip(ub_node_sec(s->ubc->node));
    for (unsigned i = 0; i < 4; i++) {
        put(s, UB_CIP_PEER_EID + i, get_be32(peer + 12 - 4 * i));
    }
    put(s, UB_CIP_PEER_POLICY, 0x123456);
    put(s, UB_CIP_POLICY, SM4 | UB_CIP_POLICY__HIDE | 5u << 8);
    g_assert_cmpuint(command(s, UB_CIP_CMD_SET_POLICY), ==, UB_CIP_R_OK);
    g_assert_cmphex(get(s, UB_CIP_COMMAND), ==, 0);
    g_assert_true(ub_cip_view(cip, 0, 3, &v));
    g_assert_cmpmem(v.policy.peer.b, 16, peer, 16);
    g_assert_cmphex(v.policy.peer_policy, ==, 0x123456);
    g_assert_cmpuint(v.policy.suite, ==, SM4);
    g_assert_true(v.policy.hide);
    g_assert_cmpuint(v.policy.clear, ==, 5);
    /* The next number of a key to send by, the highest that came of another. */
    put(s, UB_CIP_SELECT, 3 | slot);
    stage(s, 4, 0);
    g_assert_cmpuint(command(s, UB_CIP_CMD_SET_KEY), ==, UB_CIP_R_OK);
    g_assert_cmphex(get(s, UB_CIP_SN), ==, 0);
    put(s, UB_CIP_SELECT, 3 | slot | tx);
    g_assert_cmphex(get(s, UB_CIP_SN), ==, 0);
    stage(s, 4, UB_CIP_KEY);
    put(s, UB_CIP_KEY, 7);
    g_assert_cmpuint(command(s, UB_CIP_CMD_SET_KEY), ==, UB_CIP_R_OK);
    g_assert_cmphex(get(s, UB_CIP_SN), ==, 1);
    put(s, UB_CIP_SELECT, 3 | tx);
    g_assert_cmphex(get(s, UB_CIP_SN), ==, 0);
    g_assert_cmphex(get(s, UB_CIP_STATE), ==, UB_CIP_STATE__SET | 0x04 | 0x10);
    side_free(s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ubc/cip/whole", test_whole);
    g_test_add_func("/ubc/cip/bytes", test_bytes);
    g_test_add_func("/ubc/cip/moved", test_moved);
    g_test_add_func("/ubc/cip/forged-image", test_forged);
    g_test_add_func("/ubc/cip/secret", test_secret);
    g_test_add_func("/ubc/cip/registers", test_registers);
    return g_test_run();
}
