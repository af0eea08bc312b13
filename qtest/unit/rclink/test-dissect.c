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

static bool keep(Rig *r, unsigned from, const uint8_t *frame, size_t len)
{
    wire_capture_frame(r->pass_opaque, r->now, frame, len);
    return true;
}

/* Traffic of one format in a file: two requests, their acknowledgement, a
 * multicast. */
static char *traffic(const char *name, uint64_t format)
{
    char *path = g_build_filename(dir, name, NULL);
    Rig *r = rig_new(2, NULL);
    WireCapture *c = wire_capture_new(path);

    g_assert_nonnull(c);
    rig_up(&r->e[0], format);
    rig_up(&r->e[1], format);
    rig_connect(r, 5, 0xfff);
    r->pass = keep;
    r->pass_opaque = c;
    rig_post(&r->e[0], 5, 70, 1, 0);
    rig_post(&r->e[0], 5, 1344, 2, RCL_E_FACK);
    rig_settle(r);
    rig_post(&r->e[0], 0, 101, 3, RCL_ETYPE2 | 2 << RCL_E_GROUP_SHIFT);
    rig_settle(r);
    g_assert_cmpint(wire_capture_flush(c), ==, 0);
    wire_capture_free(c);
    rig_free(r);
    return path;
}

/* tshark's lines about a file; words are its further arguments. */
static GStrv dissect(const char *path, const char *words)
{
    g_autofree char *cmd = g_strdup_printf("tshark -r %s %s", path, words);
    g_autofree char *out = NULL, *err = NULL;
    g_autoptr(GError) error = NULL;
    int status;

    if (!g_spawn_command_line_sync(cmd, &out, &err, &status, &error)) {
        g_test_message("%s", error->message);
        g_assert_not_reached();
    }
    g_test_message("%s\n%s%s", cmd, out, err);
    g_assert_cmpint(status, ==, 0);
    g_strchomp(out);
    return g_strsplit(out, "\n", -1);
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
                                    UINT64_C(1) << RCL_CFG_STANDARD);
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

static void dissect_format(const char *name, uint64_t format,
                           const char *const *want, unsigned n)
{
    g_autofree char *path = traffic(name, format);
    g_autofree char *words = g_strdup_printf(
        "-X lua_script:%s -o rclink.format:%s " FIELDS, script, name);
    g_auto(GStrv) out = dissect(path, words);

    expect(out, want, n);
    g_unlink(path);
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
    rc = g_test_run();
    g_rmdir(dir);
    g_free(dir);
    return rc;
}
