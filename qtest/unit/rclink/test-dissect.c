/*
 * RC Link: captures as others read them: tshark by itself, and with
 * tools/rclink/rclink.lua.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib/gstdio.h>

#include "wire/capture.h"
#include "rig.h"

#define GEN1 (UINT64_C(1) << RCL_CFG_GEN1 | UINT64_C(1) << RCL_CFG_GEN1_TC)

static const char *script;
static char *dir;

/* What else than its format a port's frames depend on. */
typedef struct Variant {
    const char *options;        /* preferences of the dissector */
    uint64_t cfg;               /* bits of AFH_CFG_EN */
    uint64_t vlan, ctrl;
    bool credits;               /* CBFC is on */
    bool damage;                /* a byte of each payload is wrong */
} Variant;

typedef struct Keeper {
    WireCapture *c;
    bool damage;
} Keeper;

static bool keep(Rig *r, unsigned from, const uint8_t *frame, size_t len)
{
    const Keeper *k = r->pass_opaque;
    g_autofree uint8_t *copy = g_memdup2(frame, len);

    copy[len - 8] ^= k->damage;
    wire_capture_frame(k->c, r->now, copy, len);
    return true;
}

static void variant_set(RigEnd *e, const Variant *v)
{
    if (v->credits) {
        rig_set(e, RCL_XON_THR_RDMA, UINT64_C(0x7f) << 32);
        for (unsigned n = 0; n < 8; n++) {
            rig_set(e, RCL_MAC_CBFC_CFG(n), 256 | UINT64_C(40) << 22);
        }
        rig_set(e, RCL_AFH_CFG_EN, (rig_get(e, RCL_AFH_CFG_EN) &
                                    ~(UINT64_C(1) << RCL_CFG_STOP_CBFC)) |
                                   UINT64_C(0x3f) << RCL_CFG_CBFC_BANK0 |
                                   UINT64_C(1) << RCL_CFG_CBFC_TYPE2 |
                                   UINT64_C(0x249) << RCL_CFG_UF_TYPE1);
        rig_set(e, RCL_CBFC_RST, 0x22);         /* VCs of bank 1 and TYPE2 */
    }
    rig_set(e, RCL_AFH_CFG_EN, rig_get(e, RCL_AFH_CFG_EN) | v->cfg);
    rig_set(e, RCL_VLAN_CTRL, v->vlan);
    rig_set(e, RCL_CTRL, v->ctrl);
}

/* Traffic of one format in a file: two requests, their acknowledgement, a
 * multicast. */
static char *traffic(const char *name, uint64_t format, const Variant *v)
{
    char *path = g_build_filename(dir, name, NULL);
    Rig *r = rig_new(2, NULL);
    WireCapture *c = wire_capture_new(path);
    Keeper k = { c, v->damage };

    g_assert_nonnull(c);
    for (unsigned i = 0; i < 2; i++) {
        rig_up(&r->e[i], format);
        rig_set(&r->e[i], RCL_AFH_CFG_EN, rig_get(&r->e[i], RCL_AFH_CFG_EN) |
                UINT64_C(0x1ac688) << RCL_CFG_VC_MAP);
        variant_set(&r->e[i], v);
    }
    rig_connect(r, 5, 0xfff);
    rig_settle(r);
    r->pass = keep;
    r->pass_opaque = &k;
    rig_post(&r->e[0], 5, 70, 1, 0);
    rig_post(&r->e[0], 5, 1344, 2, RCL_E_FACK);
    rig_settle(r);
    rig_post(&r->e[0], 0, 101, 3, RCL_ETYPE2 | 2 << RCL_E_GROUP_SHIFT);
    rig_settle(r);
    if (v->credits) {
        rig_pass(r, 300000);    /* what was used is told after 256 us */
    }
    g_assert_cmpint(wire_capture_flush(c), ==, 0);
    wire_capture_free(c);
    rig_free(r);
    return path;
}

/* tshark's lines about a file; words are its further arguments.  Truth values are
 * 1 and 0, for which newer ones say True and False. */
static GStrv dissect(const char *path, const char *words)
{
    g_autofree char *cmd = g_strdup_printf("tshark -r %s %s", path, words);
    g_autofree char *out = NULL, *err = NULL;
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) said = NULL;
    int status;

    if (!g_spawn_command_line_sync(cmd, &out, &err, &status, &error)) {
        g_test_message("%s", error->message);
        g_assert_not_reached();
    }
    g_test_message("%s\n%s%s", cmd, out, err);
    g_assert_cmpint(status, ==, 0);
    said = g_string_new(g_strchomp(out));
    g_string_replace(said, "True", "1", 0);
    g_string_replace(said, "False", "0", 0);
    return g_strsplit(said->str, "\n", -1);
}

static void expect(GStrv lines, const char *const *want, unsigned n)
{
    g_assert_cmpuint(g_strv_length(lines), ==, n);
    for (unsigned i = 0; i < n; i++) {
        g_assert_cmpstr(lines[i], ==, want[i]);
    }
}

/* What a tool that knows nothing of RC Link makes of the Standard format. */
static void test_plain(void)
{
    static const char *const want[] = {
        "10.0.0.1,10.0.0.2,0x1234,64,1,49152,4791,92,0x0000",
        "10.0.0.1,10.0.0.2,0x1234,64,1,49152,4791,1364,0x0000",
        "10.0.0.2,10.0.0.1,0x1234,64,1,49152,4791,20,0x0000",
        "10.0.0.1,224.0.1.1,0x1234,64,1,49408,4792,120,0x0000",
    };
    g_autofree char *path = traffic("plain.pcap",
                                    UINT64_C(1) << RCL_CFG_STANDARD,
                                    &(Variant) { 0 });
    g_auto(GStrv) out = dissect(path, "-o ip.check_checksum:TRUE -T fields "
        "-E separator=, -e ip.src -e ip.dst -e ip.id -e ip.ttl "
        "-e ip.checksum.status -e udp.srcport -e udp.dstport "
        "-e udp.length -e udp.checksum");
    /* The port of RoCEv2, which this is not. */
    g_auto(GStrv) bad = dissect(path, "-o ip.check_checksum:TRUE "
                                "--disable-protocol infiniband "
                                "-Y _ws.malformed||ip.checksum.status==0");

    expect(out, want, G_N_ELEMENTS(want));
    g_assert_cmpstr(bad[0] ? bad[0] : "", ==, "");
    g_unlink(path);
}

#define FIELDS "-T fields -E separator=, -e rclink.type -e rclink.opcode "   \
               "-e rclink.psn -e rclink.qp -e rclink.fack -e rclink.size "   \
               "-e rclink.syndrome -e rclink.icrc_good"

static void dissect_fields(const char *name, uint64_t format, const Variant *v,
                           const char *fields, const char *const *want,
                           unsigned n)
{
    g_autofree char *path = traffic(name, format, v);
    g_autofree char *words = g_strdup_printf(
        "-X lua_script:%s -o rclink.format:%s %s %s", script, name,
        v->options ?: "", fields);
    g_auto(GStrv) out = dissect(path, words);

    expect(out, want, n);
    g_unlink(path);
}

static void dissect_format(const char *name, uint64_t format,
                           const char *const *want, unsigned n)
{
    dissect_fields(name, format, &(Variant) { 0 }, FIELDS, want, n);
}

static void test_formats(void)
{
    static const char *const want[] = {
        "1,0,4095,5,0,70,,1", "1,0,0,5,1,1344,,1", "1,1,0,5,0,0,0x1f,1",
        "2,0,0,0,0,101,,",
    };
    static const char *const lite[] = {
        "1,,,,,70,,", "1,,,,,1344,,", "2,,,,,101,,",
    };

    dissect_format("standard", UINT64_C(1) << RCL_CFG_STANDARD, want, 4);
    dissect_format("gen1", GEN1, want, 4);
    dissect_format("gen2", UINT64_C(1) << RCL_CFG_GEN2, want, 4);
    dissect_format("lite", UINT64_C(1) << RCL_CFG_LITE, lite, 3);
}

/* Names of the formats that have RH, as the preference has them. */
static const struct {
    const char *name;
    uint64_t format;
} with_rh[] = {
    { "standard", UINT64_C(1) << RCL_CFG_STANDARD }, { "gen1", GEN1 },
    { "gen1", UINT64_C(1) << RCL_CFG_GEN1 },
    { "gen2", UINT64_C(1) << RCL_CFG_GEN2 },
};

/* Tags, with the priority of each flow: bank 1, ACK, TYPE2. */
static void test_tags(void)
{
    static const char *const want[] = {
        "291,1,1,0,4095,5,0,70,,1", "291,1,1,0,0,5,1,1344,,1",
        "291,4,1,1,0,5,0,0,0x1f,1", "291,5,2,0,0,0,0,101,,",
    };
    static const Variant tag = {
        .vlan = 0x81000000 | 0x123 << 4 | 1,
        .cfg = UINT64_C(1) << RCL_CFG_VLAN_PRI,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(with_rh); i++) {
        dissect_fields(with_rh[i].name, with_rh[i].format, &tag,
                       "-T fields -E separator=, -e vlan.id -e vlan.priority "
                       "-e rclink.type -e rclink.opcode -e rclink.psn "
                       "-e rclink.qp -e rclink.fack -e rclink.size "
                       "-e rclink.syndrome -e rclink.icrc_good", want,
                       G_N_ELEMENTS(want));
    }
}

/* An ICRC that is not there, and one that is wrong. */
static void test_icrc(void)
{
    static const char *const none[] = {
        "1,0,4095,5,0,70,,", "1,0,0,5,1,1344,,", "1,1,0,5,0,0,0x1f,",
        "2,0,0,0,0,101,,",
    };
    static const Variant removed = {
        .ctrl = RCL_CTRL_REMOVE_ICRC, .options = "-o rclink.icrc:FALSE",
    };
    static const Variant damaged = { .damage = true };

    for (unsigned i = 0; i < G_N_ELEMENTS(with_rh); i++) {
        g_autofree char *path = traffic("bad.pcap", with_rh[i].format,
                                        &damaged);
        g_autofree char *words = g_strdup_printf(
            "-X lua_script:%s -o rclink.format:%s -Y rclink.bad_icrc "
            "-T fields -e rclink.size", script, with_rh[i].name);
        g_auto(GStrv) bad = dissect(path, words);

        g_assert_cmpstr(bad[0], ==, "70");
        g_assert_cmpstr(bad[1], ==, "1344");
        g_unlink(path);
        dissect_fields(with_rh[i].name, with_rh[i].format, &removed, FIELDS,
                       none, G_N_ELEMENTS(none));
    }
}

/* Updates of credits among the others, which are no format's. */
static void test_credits(void)
{
    g_autofree char *path = traffic("cbfc.pcap", GEN1,
                                    &(Variant) { .credits = true });
    g_autofree char *words = g_strdup_printf(
        "-X lua_script:%s -o rclink.format:gen1 -Y rclink.cbfc -T fields "
        "-E separator=, -e rclink.cbfc -e rclink.vc1 -e rclink.vc5 "
        "-e rclink.vc0", script);
    g_auto(GStrv) out = dissect(path, words);

    /* Of VC 1 and 5 what has left buffers, then what was used; VC 0 was not set
     * up. */
    g_assert_cmpstr(out[0], ==, "2,7,,");
    g_assert_cmpstr(out[1], ==, "2,,1,");
    g_assert_true(g_strv_contains((const char *const *)out, "3,7,1,"));
    g_unlink(path);
}

int main(int argc, char **argv)
{
    g_autofree char *tshark = g_find_program_in_path("tshark");
    int rc;

    g_test_init(&argc, &argv, NULL);
    script = argc > 1 ? argv[1] : NULL;
    if (!tshark || !script) {
        g_print("1..0 # SKIP tshark is not installed\n");
        return 0;
    }
    dir = g_dir_make_tmp("rclink-XXXXXX", NULL);
    g_test_add_func("/rclink/dissect/plain", test_plain);
    g_test_add_func("/rclink/dissect/formats", test_formats);
    g_test_add_func("/rclink/dissect/tags", test_tags);
    g_test_add_func("/rclink/dissect/icrc", test_icrc);
    g_test_add_func("/rclink/dissect/credits", test_credits);
    rc = g_test_run();
    g_rmdir(dir);
    g_free(dir);
    return rc;
}
