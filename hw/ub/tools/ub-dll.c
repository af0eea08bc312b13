/*
 * ub-dll: the UB data link layer on the command line, to check flits of a
 * simulation or a capture against the model.
 *
 *   ub-dll crc30 FILE     CRC30 of the bytes of FILE
 *   ub-dll pack           packets to flits
 *   ub-dll unpack         flits to packets and control blocks
 *
 * Packets as text: one a line, "vl=N cfg=N rt=N error=N: HEX"; what is left
 * out comes from the options, a line of mere HEX is all payload.  '#' starts
 * a comment.  Packets as bytes: per packet VL, CFG, RT, ERROR_FLAG (one byte
 * each), payload length (four, big-endian), payload.  Flits as text: 40 digits
 * a line; as bytes: 20 each, which is what ub-pcs takes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "ub/dll_format.h"

enum { EXIT_OK, EXIT_BAD_DATA, EXIT_USAGE };

static struct {
    char *in, *out, *mode, *cover;
    int vl, cfg, rt;
    gboolean error, packets_binary, flits_binary;
} opt = { .cfg = 6 };

static FILE *out;

static int complain(int status, const char *format, ...) G_GNUC_PRINTF(2, 3);

static int complain(int status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fprintf(stderr, "ub-dll: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    return status;
}

static bool read_all(const char *name, char **data, gsize *len)
{
    g_autoptr(GError) err = NULL;

    if (!g_file_get_contents(name ? name : "/dev/stdin", data, len, &err)) {
        complain(EXIT_USAGE, "%s", err->message);
        return false;
    }
    return true;
}

/* Hexadecimal digits up to the end of the line, blanks allowed; -1: bad. */
static int unhex(const char *text, uint8_t *bytes, int max)
{
    int n = 0;

    for (; *text && *text != '#'; text++) {
        if (g_ascii_isspace(*text)) {
            continue;
        }
        if (!g_ascii_isxdigit(text[0]) || !g_ascii_isxdigit(text[1]) ||
            n == max) {
            return -1;
        }
        bytes[n++] = g_ascii_xdigit_value(text[0]) << 4 |
                     g_ascii_xdigit_value(text[1]);
        text++;
    }
    return n;
}

static void put_hex(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "%02x", bytes[i]);
    }
}

/* ----------------------------------------------------------- crc30 ------ */

static int do_crc30(const char *name)
{
    g_autofree char *data = NULL;
    gsize len;

    if (!read_all(name, &data, &len)) {
        return EXIT_USAGE;
    }
    printf("%08x\n", ub_crc30(UB_CRC30_INIT, data, len));
    return EXIT_OK;
}

/* ------------------------------------------------------------ pack ------ */

typedef struct Packet {
    unsigned vl, cfg, rt, error;
    uint8_t payload[UB_PAYLOAD_MAX_NON_CRC];
    int len;
} Packet;

static bool emit(const UbBlockFormat *f, const Packet *p, const char *what,
                 unsigned number)
{
    static uint8_t flits[UB_DLLDP_FLITS * UB_FLIT_SIZE];
    unsigned n;

    if (p->vl >= UB_VLS || p->rt > 3 || p->error > 1 ||
        !ub_lph_cfg_is_dlldp(p->cfg)) {
        complain(EXIT_BAD_DATA, "%s %u: VL, CFG, RT or ERROR_FLAG is out of "
                 "range", what, number);
        return false;
    }
    n = ub_pack_packet(*f, p->vl, p->cfg, p->rt, p->payload, p->len, p->error,
                       flits, UB_DLLDP_FLITS);
    if (!n) {
        complain(EXIT_BAD_DATA, "%s %u: %d bytes of payload, 1 … %u are "
                 "possible", what, number, p->len, ub_payload_max(f->mode));
        return false;
    }
    for (unsigned i = 0; i < n; i++) {
        if (opt.flits_binary) {
            fwrite(flits + i * UB_FLIT_SIZE, UB_FLIT_SIZE, 1, out);
        } else {
            put_hex(flits + i * UB_FLIT_SIZE, UB_FLIT_SIZE);
            fputc('\n', out);
        }
    }
    return true;
}

/* "vl=1 cfg=6: HEX", "HEX" or a comment.  1: packet, 0: nothing, -1: bad. */
static int parse_line(const char *line, Packet *p)
{
    const char *colon = strchr(line, ':');

    *p = (Packet) {
        .vl = opt.vl, .cfg = opt.cfg, .rt = opt.rt, .error = opt.error,
    };
    if (line[0] == '#') {
        return 0;
    }
    if (colon) {
        g_autofree char *head = g_strndup(line, colon - line);
        g_auto(GStrv) words = g_strsplit_set(head, " \t", -1);

        for (char **w = words; *w; w++) {
            const struct {
                const char *key;
                unsigned *value;
            } keys[] = { { "vl=", &p->vl }, { "cfg=", &p->cfg },
                         { "rt=", &p->rt }, { "error=", &p->error } };
            bool found = !**w;

            for (size_t i = 0; i < G_N_ELEMENTS(keys) && !found; i++) {
                if (g_str_has_prefix(*w, keys[i].key)) {
                    guint64 v;

                    found = g_ascii_string_to_unsigned(
                        *w + strlen(keys[i].key), 10, 0, 255, &v, NULL);
                    *keys[i].value = found ? v : 255;
                }
            }
            if (!found) {
                return -1;
            }
        }
        line = colon + 1;
    }
    p->len = unhex(line, p->payload, sizeof(p->payload));
    return p->len < 0 ? -1 : p->len > 0 || colon;
}

static int do_pack(const UbBlockFormat *f)
{
    static Packet p;
    g_autofree char *data = NULL;
    unsigned number = 0;
    gsize len;

    if (!read_all(opt.in, &data, &len)) {
        return EXIT_USAGE;
    }
    if (opt.packets_binary) {
        const uint8_t *at = (const uint8_t *)data, *end = at + len;

        while (at < end) {
            uint32_t n;

            number++;
            if (end - at < 8 || (n = get_be32(at + 4)) > end - at - 8) {
                return complain(EXIT_BAD_DATA, "packet %u is cut off", number);
            }
            p = (Packet) { at[0], at[1], at[2], at[3] };
            p.len = n;
            if (n <= sizeof(p.payload)) {
                memcpy(p.payload, at + 8, n);
            }
            if (!emit(f, &p, "packet", number)) {
                return EXIT_BAD_DATA;
            }
            at += 8 + n;
        }
        return EXIT_OK;
    }
    for (char *line = data, *next; line; line = next) {
        int kind;

        next = strchr(line, '\n');
        if (next) {
            *next++ = 0;
        }
        number++;
        kind = parse_line(line, &p);
        if (kind < 0) {
            return complain(EXIT_BAD_DATA, "line %u is not a packet, or it "
                            "is too long", number);
        }
        if (kind && !emit(f, &p, "line", number)) {
            return EXIT_BAD_DATA;
        }
    }
    return EXIT_OK;
}

/* ---------------------------------------------------------- unpack ------ */

static void print_control(const uint8_t *b, unsigned flits)
{
    const UbDllcbInfo *info = ub_dllcb_info(ub_lch_type(b));
    UbRetryReq rq = ub_get_retry_req(b);
    UbRetryAck ra = ub_get_retry_ack(b);

    fprintf(out, "# %s", info ? info->name : "DLLCB of unknown type");
    switch (ub_lch_type(b)) {
    case UB_CB_RETRY_REQ:
        fprintf(out, " RcvPtr=%u NUM_PHY_REINIT=%u NUM_RETRY=%u", rq.rcv_ptr,
                rq.num_phy_reinit, rq.num_retry);
        break;
    case UB_CB_RETRY_ACK:
        fprintf(out, " RdPtr=%u WrPtr=%u NumFreeBuf=%u NUM_RETRY=%u",
                ra.rd_ptr, ra.wr_ptr, ra.num_free_buf, ra.num_retry);
        break;
    case UB_CB_CRD_ACK:
        if (flits == 2) {
            UbCrdAck ca = ub_get_crd_ack(b);

            fprintf(out, " T=%d SD=%d ACK_NUM=%u", ca.initial, ca.send_done,
                    ca.ack_num);
            for (unsigned vl = 0; vl < UB_VLS; vl++) {
                if (ca.crd_num[vl]) {
                    fprintf(out, " VL%u=%u", vl, ca.crd_num[vl]);
                }
            }
        }
        break;
    case UB_CB_PARAM_EXCHG:
        for (unsigned i = 0; i < flits; i++) {
            fprintf(out, " %08x", ub_get_param_exchg(b, i));
        }
        break;
    case UB_CB_LANE_MANAGE:
        fprintf(out, " CMD=");
        put_hex(b + 4, 8);
        break;
    case UB_CB_BLOCK_MODE_CHG:
        fprintf(out, " TYPE=%s", (b[3] & 15) == UB_BMC_REQ ? "REQ" :
                (b[3] & 15) == UB_BMC_ACK ? "ACK" : "reserved");
        break;
    case UB_CB_INIT:
        if (flits >= UB_INIT_FLITS) {
            UbDllParams i = ub_get_init(b);

            fprintf(out, " FEATURE_ID=%u RXBUF_VL_SHARE=%u "
                    "DATA_ACK_GRAIN_SIZE=%02x CTRL_ACK_GRAIN_SIZE=%02x "
                    "FLOW_CTRL_SIZE=%02x VL_ENABLE=%04x RETRY_BUF_DEPTH=%u "
                    "PACKET_MIN_INTERVAL=%u", i.feature_id, i.rxbuf_vl_share,
                    i.data_ack_grain, i.ctrl_ack_grain, i.flow_ctrl_size,
                    i.vl_enable, i.retry_buf_depth, i.packet_min_interval);
        }
        break;
    }
    fputc('\n', out);
}

static void print_packet(uint32_t lph, bool error, const uint8_t *payload,
                         unsigned len)
{
    if (opt.packets_binary) {
        uint8_t head[8] = { ub_lph_vl(lph), ub_lph_cfg(lph), ub_lph_rt(lph),
                            error };

        put_be32(head + 4, len);
        fwrite(head, sizeof(head), 1, out);
        fwrite(payload, len, 1, out);
        return;
    }
    fprintf(out, "vl=%u cfg=%u rt=%u error=%d: ", ub_lph_vl(lph),
            ub_lph_cfg(lph), ub_lph_rt(lph), error);
    put_hex(payload, len);
    fputc('\n', out);
}

/* Flits of the file as bytes, or NULL. */
static GByteArray *read_flits(void)
{
    g_autoptr(GByteArray) flits = g_byte_array_new();
    g_autofree char *data = NULL;
    uint8_t flit[UB_FLIT_SIZE];
    unsigned number = 0;
    gsize len;

    if (!read_all(opt.in, &data, &len)) {
        return NULL;
    }
    if (opt.flits_binary) {
        if (len % UB_FLIT_SIZE) {
            complain(EXIT_BAD_DATA, "the file is no multiple of 20 bytes");
            return NULL;
        }
        g_byte_array_append(flits, (const uint8_t *)data, len);
        return g_steal_pointer(&flits);
    }
    for (char *line = data, *next; line; line = next) {
        int n;

        next = strchr(line, '\n');
        if (next) {
            *next++ = 0;
        }
        number++;
        n = unhex(line, flit, UB_FLIT_SIZE);
        if (n && n != UB_FLIT_SIZE) {
            complain(EXIT_BAD_DATA, "line %u is not a flit of 40 digits",
                     number);
            return NULL;
        }
        g_byte_array_append(flits, flit, n);
    }
    return g_steal_pointer(&flits);
}

/* A packet under way, and what was wrong so far. */
typedef struct Unpack {
    uint32_t lph;
    UbPlength shape;
    bool in_pkt;
    unsigned index;         /* of its next block */
    int len;                /* of its payload; below 0: it has none that could be */
    unsigned bad;
    uint8_t payload[UB_PAYLOAD_MAX_NON_CRC];
} Unpack;

/* How many flits the block of a packet has; a first one begins it. */
static unsigned packet_flits(Unpack *u, const UbBlockFormat *f, const uint8_t *b)
{
    if (!u->in_pkt) {
        u->lph = get_be32(b);
        u->shape = ub_plength_unpack(ub_lph_plength(u->lph));
        u->len = ub_plength_payload(f->mode, u->shape);
        u->index = 0;
    }
    return u->index + 1u == u->shape.blocks ? u->shape.last_flits : UB_BLOCK_FLITS;
}

/* A block of @n flits, which are the file's from number @at on. */
static void packet_block(Unpack *u, const UbBlockFormat *f, const uint8_t *b,
                         unsigned n, unsigned at)
{
    bool last = u->index + 1u == u->shape.blocks;

    if (u->len >= 0) {
        UbBlockSlice s = ub_block_slice(f->mode, u->index, u->len);

        memcpy(u->payload + s.in_packet, b + s.in_block, s.bytes);
    }
    u->in_pkt = !last;
    u->index++;
    if (last && u->len < 0) {
        complain(EXIT_BAD_DATA, "flit %u: PLENGTH %04x is reserved or "
                 "does not fit", at, ub_lph_plength(u->lph));
        u->bad++;
    } else if (last) {
        print_packet(u->lph, ub_block_error_flag(f->mode, b, n), u->payload,
                     u->len);
    }
}

/* Delimit as a receiver in NORMAL does (UB 2.0 §4.3.4.1). */
static int do_unpack(const UbBlockFormat *f)
{
    static Unpack u;
    g_autoptr(GByteArray) flits = read_flits();
    unsigned total;

    if (!flits) {
        return EXIT_BAD_DATA;
    }
    total = flits->len / UB_FLIT_SIZE;
    for (unsigned at = 0, n; at < total; at += n) {
        const uint8_t *b = flits->data + at * UB_FLIT_SIZE;
        bool control = !ub_block_cfg(b);

        n = control ? ub_lch_flits(b) : packet_flits(&u, f, b);
        if (n > total - at) {
            complain(EXIT_BAD_DATA, "flit %u: the block has %u flits, the "
                     "file ends after %u", at, n, total - at);
            return EXIT_BAD_DATA;
        }
        if (f->mode == UB_MODE_CRC && !ub_crc30_check(b, n, f->cover)) {
            complain(EXIT_BAD_DATA, "flit %u: CRC30 of a block of %u flits is "
                     "wrong", at, n);
            u.bad++;
            u.in_pkt = false;
        } else if (!control) {
            packet_block(&u, f, b, n, at);
        } else if (!opt.packets_binary) {
            print_control(b, n);
        }
    }
    if (u.in_pkt) {
        complain(EXIT_BAD_DATA, "the last packet is not complete");
        u.bad++;
    }
    return u.bad ? EXIT_BAD_DATA : EXIT_OK;
}

int main(int argc, char **argv)
{
    static const GOptionEntry entries[] = {
        { "in", 0, 0, G_OPTION_ARG_FILENAME, &opt.in,
          "read FILE, not standard input", "FILE" },
        { "out", 0, 0, G_OPTION_ARG_FILENAME, &opt.out,
          "write FILE, not standard output", "FILE" },
        { "mode", 0, 0, G_OPTION_ARG_STRING, &opt.mode,
          "encapsulation: crc (default) or non-crc", "MODE" },
        { "crc-cover", 0, 0, G_OPTION_ARG_STRING, &opt.cover,
          "CRC30 covers Reserved and ERROR_FLAG: info (default) or bytes",
          "WHAT" },
        { "vl", 0, 0, G_OPTION_ARG_INT, &opt.vl, "VL of packets", "N" },
        { "cfg", 0, 0, G_OPTION_ARG_INT, &opt.cfg, "CFG (default 6)", "N" },
        { "rt", 0, 0, G_OPTION_ARG_INT, &opt.rt, "routing type", "N" },
        { "error", 0, 0, G_OPTION_ARG_NONE, &opt.error, "set ERROR_FLAG",
          NULL },
        { "packets-binary", 0, 0, G_OPTION_ARG_NONE, &opt.packets_binary,
          "packets are bytes, not text", NULL },
        { "flits-binary", 0, 0, G_OPTION_ARG_NONE, &opt.flits_binary,
          "flits are bytes, not text", NULL },
        { NULL }
    };
    UbBlockFormat f = { UB_MODE_CRC, UB_CRC_COVER_INFO };
    g_autoptr(GOptionContext) context = g_option_context_new(
        "crc30 FILE | pack | unpack");
    g_autoptr(GError) err = NULL;
    int status;

    g_option_context_set_summary(context,
        "Packs packets into flits of the UB data link layer, and back.");
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &err)) {
        return complain(EXIT_USAGE, "%s", err->message);
    }
    if (opt.mode && !strcmp(opt.mode, "non-crc")) {
        f.mode = UB_MODE_NON_CRC;
    } else if (opt.mode && strcmp(opt.mode, "crc")) {
        return complain(EXIT_USAGE, "--mode is crc or non-crc");
    }
    if (opt.cover && !strcmp(opt.cover, "bytes")) {
        f.cover = UB_CRC_COVER_BYTES;
    } else if (opt.cover && strcmp(opt.cover, "info")) {
        return complain(EXIT_USAGE, "--crc-cover is info or bytes");
    }
    if (argc == 3 && !strcmp(argv[1], "crc30")) {
        return do_crc30(argv[2]);
    }
    if (argc != 2 || (strcmp(argv[1], "pack") && strcmp(argv[1], "unpack"))) {
        return complain(EXIT_USAGE, "say crc30 FILE, pack or unpack (--help "
                        "for more)");
    }
    out = opt.out ? fopen(opt.out, "wb") : stdout;
    if (!out) {
        return complain(EXIT_USAGE, "cannot write %s", opt.out);
    }
    status = !strcmp(argv[1], "pack") ? do_pack(&f) : do_unpack(&f);
    if (fflush(out) || ferror(out)) {
        return complain(EXIT_USAGE, "writing failed");
    }
    return status;
}
