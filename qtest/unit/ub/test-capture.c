/*
 * The pcapng writer: files read back by an independent reader, the count of
 * DLLDBs that tells LPH from LBH, and errors.
 *
 * With the argument --sample FILE the program writes a file with one of each
 * thing that can be captured, for the test of the dissector.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/fifo.h"
#include "core/bytes.h"
#include "ub/capture.h"
#include "ub/dll_format.h"
#include "lmb.h"

static const UbBlockFormat crc = { .mode = UB_MODE_CRC };
static const UbBlockFormat non_crc = { .mode = UB_MODE_NON_CRC };

/* ---- A reader ----------------------------------------------------------------- */

typedef struct Reader {
    char *name;
    uint8_t *data;
    gsize len, at;
} Reader;

typedef struct Rec {
    unsigned interface, direction;
    uint64_t time;
    const uint8_t *data; /* pseudo header and what follows */
    uint32_t len;
} Rec;

static UbCapture *begin(Reader *r, unsigned ports, int64_t base)
{
    int fd = g_file_open_tmp("ub-capture-XXXXXX", &r->name, NULL);
    UbCapture *c;

    g_assert_cmpint(fd, >=, 0);
    g_close(fd, NULL);
    c = ub_capture_new(r->name, "ub0", ports, base);
    g_assert_nonnull(c);
    return c;
}

/* The next pcapng block of the file; checks both of its lengths. */
static const uint8_t *next(Reader *r, uint32_t *type, uint32_t *len)
{
    const uint8_t *b = r->data + r->at;

    if (r->at == r->len) {
        return NULL;
    }
    g_assert_cmpuint(r->len - r->at, >=, 12);
    *type = get_le32(b);
    *len = get_le32(b + 4);
    g_assert_cmpuint(*len % 4, ==, 0);
    g_assert_cmpuint(*len, >=, 12);
    g_assert_cmpuint(*len, <=, r->len - r->at);
    g_assert_cmpuint(get_le32(b + *len - 4), ==, *len);
    r->at += *len;
    return b;
}

/* The value of an option; the options are at @at … @end. */
static const uint8_t *option(const uint8_t *at, const uint8_t *end,
                             unsigned code, unsigned *len)
{
    *len = 0;
    while (at + 4 <= end && get_le16(at)) {
        *len = get_le16(at + 2);
        for (unsigned k = *len; k % 4; k++) {
            g_assert_cmphex(at[4 + k], ==, 0);          /* padding */
        }
        if (get_le16(at) == code) {
            return at + 4;
        }
        at += 4 + ((*len + 3) & ~3u);
    }
    return NULL;
}

static void finish(Reader *r, UbCapture *c, unsigned ports)
{
    const uint8_t *b, *o;
    uint32_t type, len;
    unsigned n;

    g_assert_cmpint(ub_capture_flush(c), ==, 0);
    ub_capture_free(c);
    g_assert_true(g_file_get_contents(r->name, (char **)&r->data, &r->len,
                                      NULL));
    b = next(r, &type, &len);
    g_assert_cmphex(type, ==, 0x0a0d0d0a);
    g_assert_cmphex(get_le32(b + 8), ==, 0x1a2b3c4d);
    g_assert_cmpuint(get_le16(b + 12), ==, 1);
    g_assert_cmpuint(get_le16(b + 14), ==, 0);
    g_assert_cmphex(get_le64(b + 16), ==, UINT64_MAX);  /* not said */
    o = option(b + 24, b + len - 4, 4, &n);
    g_assert_cmpmem(o, n, "UnifiedBus controller model", 27);
    for (unsigned i = 0; i < ports; i++) {
        g_autofree char *name = g_strdup_printf("ub0 port %u", i);

        b = next(r, &type, &len);
        g_assert_cmpuint(type, ==, 1);
        g_assert_cmpuint(get_le16(b + 8), ==, 147);
        g_assert_cmpuint(get_le16(b + 10), ==, 0);
        g_assert_cmpuint(get_le32(b + 12), ==, 0);      /* no limit */
        o = option(b + 16, b + len - 4, 2, &n);
        g_assert_cmpmem(o, n, name, strlen(name));
        o = option(b + 16, b + len - 4, 9, &n);
        g_assert_cmpuint(n, ==, 1);
        g_assert_cmpuint(*o, ==, 9);
    }
}

static bool next_rec(Reader *r, Rec *rec)
{
    uint32_t type, len;
    const uint8_t *b = next(r, &type, &len), *o;
    unsigned n;

    if (!b) {
        return false;
    }
    g_assert_cmpuint(type, ==, 6);
    rec->interface = get_le32(b + 8);
    rec->time = (uint64_t)get_le32(b + 12) << 32 | get_le32(b + 16);
    rec->len = get_le32(b + 20);
    g_assert_cmpuint(rec->len, ==, get_le32(b + 24));
    g_assert_cmpuint(rec->len, >=, UB_CAPTURE_HEADER);
    rec->data = b + 28;
    o = option(b + 28 + ((rec->len + 3) & ~3u), b + len - 4, 2, &n);
    g_assert_nonnull(o);
    g_assert_cmpuint(n, ==, 4);
    rec->direction = get_le32(o) & 3;
    return true;
}

static void end(Reader *r)
{
    Rec rec;

    g_assert_false(next_rec(r, &rec));
    g_unlink(r->name);
    g_free(r->name);
    g_free(r->data);
}

static void check_head(const Rec *rec, unsigned kind, unsigned flags,
                       unsigned port, unsigned vl, unsigned cfg,
                       unsigned count)
{
    const uint8_t head[UB_CAPTURE_HEADER] = {
        1, kind, flags, port, vl, cfg, count >> 8, count,
    };

    g_assert_cmpuint(rec->interface, ==, port);
    g_assert_cmpuint(rec->direction, ==, flags & 1 ? 2 : 1);
    g_assert_cmpmem(rec->data, sizeof(head), head, sizeof(head));
}

/* ---- Tests -------------------------------------------------------------------- */

static void test_records(void)
{
    const int64_t base = 1700000000000000000ll;
    uint8_t data[10142];
    uint8_t ltb[16] = { 0 };
    Reader r = { 0 };
    UbCapture *c = begin(&r, 2, base);
    Rec rec;

    for (unsigned i = 0; i < sizeof(data); i++) {
        data[i] = i * 7;
    }
    for (unsigned len = 1; len < 6; len++) { /* each padding */
        ub_capture_packet(c, len, 1, len & 1, 7, 3, data, len);
    }
    ub_capture_packet(c, 5000000000ll, 0, true, 9, 15, data, sizeof(data));
    ub_capture_training(c, 7, 1, false, 6, ltb, 3);
    ub_capture_training(c, 7, 1, true, 6, ltb, 70000);
    ub_capture_packet(c, 0, 2, true, 7, 0, data, 4); /* no such port */
    ub_capture_training(c, 0, 2, true, 6, ltb, 1);
    finish(&r, c, 2);
    for (unsigned len = 1; len < 6; len++) {
        g_assert_true(next_rec(&r, &rec));
        check_head(&rec, 0, len & 1, 1, 3, 7, 0);
        g_assert_cmpuint(rec.time, ==, base + len);
        g_assert_cmpmem(rec.data + 8, rec.len - 8, data, len);
        for (unsigned k = rec.len; k % 4; k++) {
            g_assert_cmphex(rec.data[k], ==, 0);
        }
    }
    g_assert_true(next_rec(&r, &rec));
    check_head(&rec, 0, 1, 0, 15, 9, 0);
    g_assert_cmpuint(rec.time, ==, base + 5000000000ll);
    g_assert_cmpmem(rec.data + 8, rec.len - 8, data, sizeof(data));
    g_assert_true(next_rec(&r, &rec));
    check_head(&rec, 2, 0, 1, 6, 0, 3);
    g_assert_cmpmem(rec.data + 8, rec.len - 8, ltb, 16);
    g_assert_true(next_rec(&r, &rec));
    check_head(&rec, 2, 1, 1, 6, 0, 65535);
    end(&r);
}

/* One packet of @len bytes as blocks, from DLLDB @from on. */
static void put_packet(UbCapture *c, UbBlockFormat f, bool sent, unsigned len,
                       unsigned from)
{
    static const uint8_t payload[2000];
    uint8_t block[UB_BLOCK_SIZE];
    UbPlength shape;

    g_assert_true(ub_plength_of(f.mode, len, &shape));
    for (unsigned i = from; i < shape.blocks; i++) {
        unsigned n = ub_pack_dlldb(f, ub_lph(5, 7, 0, ub_plength_pack(shape)),
                                   shape, i, payload, len, false, block);

        ub_capture_block(c, 1, 0, sent, block, n);
    }
}

static void put_control(UbCapture *c, bool sent, unsigned type)
{
    const UbDllParams params = { 0 };
    uint8_t block[UB_BLOCK_SIZE];
    unsigned n = type == UB_CB_INIT ? ub_put_init(crc, block, &params, 5)
                                    : ub_put_simple(crc, block, type);

    ub_capture_block(c, 1, 0, sent, block, n);
}

enum {
    B = UB_CAPTURE_F_BCRC,
    S = UB_CAPTURE_F_SENT,
    F = UB_CAPTURE_F_FIRST,
    L = UB_CAPTURE_F_LATER,
};

static void test_place(void)
{
    static const struct {
        unsigned flags, cfg, flits;
    } want[] = {
        { S | B | F, 7, 32 }, { B | F, 7, 1 }, /* directions apart */
        { S | B | L, 7, 32 }, { S | B, 0, 1 }, { S | B | L, 7, 2 },
        { S | B | F, 7, 1 },
        /* A replay from inside a DLLDP is known again after a short block. */
        { S | B, 0, 1 }, { S | B, 7, 32 }, { S | B, 7, 2 },
        { S | B | F, 7, 32 }, { S | B | L, 7, 32 }, { S | B | L, 7, 2 },
        /* A new link begins inside a DLLDP of the old one. */
        { S | B | F, 7, 32 }, { S | B, 0, 5 }, { S | B | F, 7, 1 },
        /* A replay from within a DLLDP that had begun: the rest of that is void. */
        { S | B | F, 7, 32 }, { S | B, 0, 1 }, { S | B, 7, 2 },
        { S | B | F, 7, 1 },
        { F, 7, 32 }, { L, 7, 1 },
    };
    static const uint8_t payload[2000];
    uint8_t block[UB_BLOCK_SIZE];
    Reader r = { 0 };
    UbCapture *c = begin(&r, 1, 0);
    UbPlength shape;
    uint32_t lph;
    Rec rec;

    g_assert_true(ub_plength_of(UB_MODE_CRC, 1300, &shape));
    g_assert_cmpuint(shape.blocks, ==, 3);
    lph = ub_lph(5, 7, 0, ub_plength_pack(shape));
    for (unsigned i = 0; i < 3; i++) {
        unsigned n = ub_pack_dlldb(crc, lph, shape, i, payload, 1300, false,
                                   block);

        ub_capture_block(c, 1, 0, true, block, n);
        if (i == 0) {
            put_packet(c, crc, false, 10, 0);
        } else if (i == 1) {
            put_control(c, true, UB_CB_NOB);
        }
    }
    put_packet(c, crc, true, 10, 0);
    put_control(c, true, UB_CB_RETRY_ACK);
    put_packet(c, crc, true, 1300, 1);
    put_packet(c, crc, true, 1300, 0);
    ub_pack_dlldb(crc, lph, shape, 0, payload, 1300, false, block);
    ub_capture_block(c, 1, 0, true, block, 32);
    put_control(c, true, UB_CB_INIT);
    put_packet(c, crc, true, 10, 0);
    ub_pack_dlldb(crc, lph, shape, 0, payload, 1300, false, block);
    ub_capture_block(c, 1, 0, true, block, 32);
    put_control(c, true, UB_CB_RETRY_ACK);
    put_packet(c, crc, true, 1300, 2);
    put_packet(c, crc, true, 10, 0);
    put_packet(c, non_crc, false, 636, 0);
    finish(&r, c, 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(want); i++) {
        g_assert_true(next_rec(&r, &rec));
        check_head(&rec, 1, want[i].flags, 0, want[i].cfg ? 5 : 0,
                   want[i].cfg, want[i].flits);
        g_assert_cmpuint(rec.len, ==, 8 + want[i].flits * UB_FLIT_SIZE);
    }
    end(&r);
}

static void test_errors(void)
{
    static const uint8_t data[4096];
    UbCapture *c;

    g_assert_null(ub_capture_new("/nonexistent/x.pcapng", "ub0", 1, 0));
    g_assert_cmpint(errno, ==, ENOENT);
    if (!g_file_test("/dev/full", G_FILE_TEST_EXISTS)) {
        g_test_skip("no /dev/full");
        return;
    }
    /* An error while flushing, and one while the buffer runs over. */
    for (unsigned many = 0; many < 2; many++) {
        c = ub_capture_new("/dev/full", "ub0", 1, 0);
        g_assert_nonnull(c);
        for (unsigned i = 0; i < (many ? 200 : 1); i++) {
            ub_capture_packet(c, i, 0, true, 7, 0, data, sizeof(data));
        }
        g_assert_cmpint(ub_capture_flush(c), ==, ENOSPC);
        g_assert_cmpint(ub_capture_flush(c), ==, 0);
        ub_capture_packet(c, 0, 0, true, 7, 0, data, sizeof(data));
        put_control(c, true, UB_CB_NULL);
        g_assert_cmpint(ub_capture_flush(c), ==, 0);
        ub_capture_free(c);
    }
    ub_capture_free(NULL);
}

/* Nobody reads: refused.  Somebody does: a burst that is longer than the FIFO has not
 * an end before its end. */
static void test_fifo(void)
{
    static const uint8_t data[4096];
    g_autofree char *dir = g_dir_make_tmp("ub-capture-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "fifo", NULL);
    GThread *reader;
    UbCapture *c;
    int fd;

    g_assert_cmpint(mkfifo(path, 0600), ==, 0);
    g_assert_null(ub_capture_new(path, "ub0", 1, 0));
    g_assert_cmpint(errno, ==, ENXIO);
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    g_assert_cmpint(fd, >=, 0);
    c = ub_capture_new(path, "ub0", 1, 0);
    g_assert_nonnull(c);
    /* It waits now, and the writer for it. */
    g_assert_cmpint(fcntl(fd, F_SETFL, 0), ==, 0);
    reader = g_thread_new("reader", fifo_read, GINT_TO_POINTER(fd));
    for (unsigned i = 0; i < 2000; i++) {
        ub_capture_packet(c, i, 0, true, 7, 0, data, sizeof(data));
    }
    g_assert_cmpint(ub_capture_flush(c), ==, 0);
    ub_capture_free(c);
    g_assert_cmpuint((uintptr_t)g_thread_join(reader), >, 2000 * sizeof(data));
    close(fd);
    g_unlink(path);
    g_rmdir(dir);
}

/* ---- The sample ------------------------------------------------------------------ */

static void sample_packets(UbCapture *c)
{
    static const uint8_t ip[] = {
        0x00, 0x11, 0x01, 0x00, 0x00, 0x07, /* CCI 0x11, NPI 0x1000007 */
        0x45, 0, 0, 32, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        0x30, 0x39, 0x4e, 0x20, 0, 12, 0, 0, 'p', 'i', 'n', 'g',
    };
    static const uint8_t cna24[] = {
        0x12, 0x34, 0x56, 0xab, 0xcd, 0xef, 0xbe, 0xef, 0x77, 0xa2, 1, 2, 3,
    };
    static const uint8_t cna16[] = {
        0x12, 0x34, 0xab, 0xcd, 0xbe, 0xef, 0x66, 0x39, 9, 9,
    };
    uint8_t manage[40] = { 0x88, 0xcc };

    for (unsigned i = 0; i < 32; i++) {
        manage[2 + i] = i;
    }
    ub_capture_packet(c, 1000, 0, true, 3, 2, ip, sizeof(ip));
    ub_capture_packet(c, 2000, 1, false, 7, 1, cna24, sizeof(cna24));
    ub_capture_packet(c, 3000, 0, true, 6, 0, cna16, sizeof(cna16));
    ub_capture_packet(c, 4000, 0, true, 5, 0, manage, sizeof(manage));
    /* Shorter than its header. */
    ub_capture_packet(c, 5000, 0, true, 7, 0, cna24, 4);
}

static void sample_controls(UbCapture *c, UbBlockFormat f)
{
    static const uint8_t types[] = {
        UB_CB_NULL, UB_CB_NOB, UB_CB_RETRY_IDLE,
    };
    const UbRetryReq req = { 0x1234, 5, 6 };
    const UbRetryAck ack = { 7, 0x2345, 0x3456, 0x4567 };
    const uint32_t words[] = { 0x01020304, 0x05060708 };
    const UbLaneManage lm = {
        .req = true, .power_down = true, .change_tlw = true, .rsp = true,
        .rsp_rlw = true, .tlw = 4, .rlw = 8,
    };
    UbCrdAck ca = { .initial = true, .send_done = true, .ack_num = 0x321 };
    UbDllParams p = {
        .feature_id = 0xfeed, .vl_enable = 0x8001, .retry_buf_depth = 8192,
        .rxbuf_vl_share = 1, .data_ack_grain = 16, .ctrl_ack_grain = 4,
        .flow_ctrl_size = 2, .packet_min_interval = 3,
    };
    uint8_t block[UB_BLOCK_SIZE];

    for (unsigned vl = 0; vl < UB_VLS; vl++) {
        ca.crd_num[vl] = 10 + vl;
        p.ctrl_credit_grain[vl] = 0x20 + vl;
        p.data_credit_grain[vl] = 0x40 + vl;
    }
#define PUT(call) ub_capture_block(c, 6000, 1, false, block, call)
    for (unsigned i = 0; i < G_N_ELEMENTS(types); i++) {
        PUT(ub_put_simple(f, block, types[i]));
    }
    PUT(ub_put_retry_req(f, block, &req));
    PUT(ub_put_retry_ack(f, block, &ack));
    PUT(ub_put_crd_ack(f, block, &ca));
    PUT(ub_put_param_exchg(f, block, words, 2));
    PUT(ub_put_lane_manage(f, block, &lm));
    PUT(ub_put_block_mode_chg(f, block, UB_BMC_ACK));
    PUT(ub_put_init(f, block, &p, 5));
    PUT(ub_put_simple(f, block, 0x77)); /* of no table */
#undef PUT
}

static void sample_training(UbCapture *c)
{
    static const UbLtbType types[] = {
        UB_LTB_DISC_ACTIVE, UB_LTB_CONF_CHECK, UB_LTB_RETR_CONFIRM,
        UB_LTB_EQUALIZATION,
    };
    uint8_t ltb[UB_LMB_SYMBOLS];

    for (unsigned i = 0; i < G_N_ELEMENTS(types); i++) {
        ub_ltb_init(ltb, types[i]);
        ub_ltb_set_link_id(ltb, 0xff);
        ub_ltb_set_lane_id(ltb, 3);
        if (types[i] == UB_LTB_DISC_ACTIVE) {
            ub_ltb_set_max_width(ltb, ub_max_width_code(8));
            ub_ltb_set_random(ltb, 0x55);
            ub_ltb_set_port_type(ltb, 1);
        }
        ub_ltb_seal(ltb);
        ub_capture_training(c, 7000, 0, true, i, ltb, 100 + i);
    }
    ltb[13] ^= 1;
    ub_capture_training(c, 8000, 0, false, 7, ltb, 1);
}

static int write_sample(const char *path)
{
    UbCapture *c = ub_capture_new(path, "ub0", 2, 1700000000000000000ll);

    if (!c) {
        return 1;
    }
    sample_packets(c);
    sample_controls(c, crc);
    sample_controls(c, non_crc);
    put_packet(c, crc, true, 1300, 0);
    put_packet(c, non_crc, true, 700, 0);
    put_control(c, true, UB_CB_RETRY_ACK);
    put_packet(c, crc, true, 1300, 2);
    sample_training(c);
    ub_capture_free(c);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "--sample")) {
        return write_sample(argv[2]);
    }
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/capture/records", test_records);
    g_test_add_func("/ub/capture/place", test_place);
    g_test_add_func("/ub/capture/errors", test_errors);
    g_test_add_func("/ub/capture/fifo", test_fifo);
    return g_test_run();
}
