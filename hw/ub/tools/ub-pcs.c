/*
 * ub-pcs: the UB physical coding sublayer on the command line, to check
 * lanes of a simulation or a capture against the model.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "pcs.h"
#include "ub/scrambler.h"

#define NO_PERIOD UB_PCS_PERIOD_MAX /* more columns than any file has */
#define RUN 4096                    /* symbols per lane of a run */

enum { EXIT_OK, EXIT_BAD_DATA, EXIT_USAGE };

static struct {
    int width, codecs;
    char *fec, *scrambler, *period, *in, *out, *type, *detail;
    int lane;
    gboolean binary, pam4, precode;
} opt = { .width = 8, .codecs = 1 };

typedef struct Name {
    const char *name;
    unsigned value;
} Name;

static const Name fec_names[] = {
    { "off", UB_FEC_OFF }, { "t2", UB_FEC_T2 }, { "t4", UB_FEC_T4 }, { 0 },
};

static bool find(const Name *names, const char *name, unsigned *value)
{
    for (; names->name; names++) {
        if (!strcmp(names->name, name)) {
            *value = names->value;
            return true;
        }
    }
    return false;
}

static int complain(int status, const char *format, ...) G_GNUC_PRINTF(2, 3);

static int complain(int status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fprintf(stderr, "ub-pcs: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    return status;
}

/* Mode and parameters from the options; NULL or what is wrong. */
static const char *settings(UbPcsMode *m, UbPcsParams *p, bool *marked)
{
    const char *wrong;
    unsigned fec = UB_FEC_T4;
    int scrambler;

    ub_pcs_params_init(p);
    if (opt.fec && !find(fec_names, opt.fec, &fec)) {
        return "--fec is off, t2 or t4";
    }
    *m = (UbPcsMode) {
        .width = opt.width >= 1 && opt.width <= 8 ? opt.width : 0,
        .fec = fec,
        .codecs = opt.codecs >= 1 && opt.codecs <= 2 ? opt.codecs : 0,
        .pam4 = opt.pam4,
        .precode = opt.precode,
    };
    wrong = ub_pcs_mode_check(m);
    if (wrong) {
        return wrong;
    }
    scrambler = ub_scrambler_find(opt.scrambler ? opt.scrambler : "prbs23");
    if (scrambler < 0) {
        return "--scrambler is off, prbs23 or pcie23";
    }
    p->scrambler = scrambler;
    *marked = !opt.period || strcmp(opt.period, "none");
    if (!*marked) {
        p->period[0] = NO_PERIOD;
    } else if (opt.period) {
        guint64 period;

        if (!g_ascii_string_to_unsigned(opt.period, 10, 1, UINT32_MAX,
                                        &period, NULL)) {
            return "--amctl-period is a number of symbols or none";
        }
        p->period[0] = period;
    }
    p->confirm = 0; /* a dump begins with the AMCTL that starts the data */
    p->unlock = UINT8_MAX;
    p->skew = UB_PCS_SKEW;
    return ub_pcs_params_check(p);
}

/* ------------------------------------------------------------ lane dumps -- */

typedef struct Lanes {
    GByteArray *lane[UB_LANES];
    unsigned count;
} Lanes;

static void lanes_init(Lanes *l, unsigned count)
{
    l->count = count;
    for (unsigned i = 0; i < count; i++) {
        l->lane[i] = g_byte_array_new();
    }
}

static void lanes_free(Lanes *l)
{
    for (unsigned i = 0; i < l->count; i++) {
        g_byte_array_unref(l->lane[i]);
    }
}

static void lanes_append(Lanes *l, const UbLaneRun *run)
{
    for (unsigned i = 0; i < l->count; i++) {
        g_byte_array_append(l->lane[i], run->lane[i], run->n);
    }
}

/* Hex: a line per lane.  Binary: the lanes one after the other. */
static GByteArray *lanes_format(const Lanes *l, size_t skip)
{
    GByteArray *out = g_byte_array_new();

    for (unsigned i = 0; i < l->count; i++) {
        for (size_t k = skip; k < l->lane[i]->len; k++) {
            uint8_t sym = l->lane[i]->data[k];
            char hex[3];

            if (opt.binary) {
                g_byte_array_append(out, &sym, 1);
                continue;
            }
            snprintf(hex, sizeof(hex), "%02x", sym);
            g_byte_array_append(out, (const uint8_t *)hex, 2);
        }
        if (!opt.binary) {
            g_byte_array_append(out, (const uint8_t *)"\n", 1);
        }
    }
    return out;
}

static const char *parse_hex(Lanes *l, const char *text, size_t size)
{
    unsigned lane = 0;
    int high = -1;

    for (size_t i = 0; i < size; i++) {
        int digit = g_ascii_xdigit_value(text[i]);

        if (text[i] == '\n') {
            if (high >= 0) {
                return "a lane ends within a symbol";
            }
            lane++;
        } else if (g_ascii_isspace(text[i])) {
            continue;
        } else if (digit < 0) {
            return "a character is no hex digit";
        } else if (lane >= l->count) {
            return "more lanes than --width";
        } else if (high < 0) {
            high = digit;
        } else {
            uint8_t sym = high << 4 | digit;

            g_byte_array_append(l->lane[lane], &sym, 1);
            high = -1;
        }
    }
    return high >= 0 ? "a lane ends within a symbol" : NULL;
}

static const char *lanes_parse(Lanes *l, const char *text, size_t size)
{
    const char *wrong = NULL;

    if (opt.binary) {
        if (size % l->count) {
            return "the size is no multiple of the width";
        }
        for (unsigned i = 0; i < l->count; i++) {
            g_byte_array_append(l->lane[i], (const uint8_t *)text +
                                i * (size / l->count), size / l->count);
        }
    } else {
        wrong = parse_hex(l, text, size);
    }
    for (unsigned i = 1; !wrong && i < l->count; i++) {
        if (l->lane[i]->len != l->lane[0]->len) {
            return "lanes differ in length";
        }
    }
    return wrong;
}

static bool read_file(char **data, gsize *size)
{
    g_autoptr(GError) err = NULL;

    if (!opt.in || !opt.out) {
        complain(EXIT_USAGE, "--in FILE and --out FILE are needed");
        return false;
    }
    if (!g_file_get_contents(opt.in, data, size, &err)) {
        complain(EXIT_BAD_DATA, "%s", err->message);
        return false;
    }
    return true;
}

static int write_file(const void *data, gsize size)
{
    g_autoptr(GError) err = NULL;

    if (!g_file_set_contents(opt.out, data, size, &err)) {
        return complain(EXIT_BAD_DATA, "%s", err->message);
    }
    return EXIT_OK;
}

/* ---------------------------------------------------------------- encode -- */

static void run_init(UbLaneRun *run)
{
    *run = (UbLaneRun) { .cap = RUN };
    for (unsigned i = 0; i < UB_LANES; i++) {
        run->lane[i] = g_malloc(RUN);
    }
}

static void run_free(UbLaneRun *run)
{
    for (unsigned i = 0; i < UB_LANES; i++) {
        g_free(run->lane[i]);
    }
}

static void ship(Lanes *to, UbLaneRun *run)
{
    lanes_append(to, run);
    run->n = run->mask = 0;
}

static void encode_lanes(Lanes *l, const UbPcsMode *m, const UbPcsParams *p,
                         const char *data, size_t flits)
{
    UbPcsTx *tx = ub_pcs_tx_new(p);
    size_t done = 0;
    UbLaneRun run;

    run_init(&run);
    ub_pcs_tx_train(tx, m->width, m->pam4, m->precode, NULL);
    ub_pcs_tx_sdf(tx, m, &run);
    while (done < flits) {
        done += ub_pcs_tx_flits(tx, (const uint8_t *)data + done * UB_FLIT,
                                flits - done, &run);
        ship(l, &run);
    }
    if (ub_pcs_tx_missing(tx)) {
        fprintf(stderr, "ub-pcs: padded with %u Null Block(s) to a whole "
                "frame\n", ub_pcs_tx_missing(tx));
    }
    while (!ub_pcs_tx_flush(tx, &run)) {
        ship(l, &run);
    }
    ship(l, &run);
    run_free(&run);
    ub_pcs_tx_free(tx);
}

static int encode(const UbPcsMode *m, const UbPcsParams *p, bool marked)
{
    g_autoptr(GByteArray) dump = NULL;
    g_autofree char *data = NULL;
    gsize size;
    Lanes l;

    if (!read_file(&data, &size)) {
        return opt.in && opt.out ? EXIT_BAD_DATA : EXIT_USAGE;
    }
    if (size % UB_FLIT) {
        return complain(EXIT_BAD_DATA, "%zu bytes are no multiple of the %d "
                        "of a flit", size, UB_FLIT);
    }
    lanes_init(&l, m->width);
    encode_lanes(&l, m, p, data, size / UB_FLIT);
    dump = lanes_format(&l, marked ? 0 : UB_AMCTL_SYMBOLS);
    lanes_free(&l);
    return write_file(dump->data, dump->len);
}

/* ---------------------------------------------------------------- decode -- */

typedef struct Decoded {
    GByteArray *flits;
    uint64_t words, failed;
    unsigned codecs;
    bool started;
} Decoded;

static void on_flits(void *opaque, const uint8_t *flits, size_t n, bool ok)
{
    Decoded *d = opaque;

    g_byte_array_append(d->flits, flits, n * UB_FLIT);
}

static void on_word(void *opaque, unsigned codec, int fixed)
{
    Decoded *d = opaque;

    printf("frame %" G_GUINT64_FORMAT " codec %c ", d->words / d->codecs,
           'A' + codec);
    if (fixed < 0) {
        printf("failed\n");
        d->failed++;
    } else {
        printf("corrected %d\n", fixed);
    }
    d->words++;
}

static void on_event(void *opaque, UbPcsEvent ev, unsigned lane, uint32_t arg)
{
    Decoded *d = opaque;

    switch (ev) {
    case UB_PCS_SDF:
        d->started = true;
        break;
    case UB_PCS_MISS:
        fprintf(stderr, "ub-pcs: lane %u misses an AMCTL\n", lane);
        break;
    case UB_PCS_POLARITY:
        fprintf(stderr, "ub-pcs: lane %u is %s\n", lane,
                arg ? "inverted" : "straight");
        break;
    case UB_PCS_LOCK:
        if (arg) {
            fprintf(stderr, "ub-pcs: lane %u is shifted by %u bits\n", lane,
                    arg);
        }
        break;
    case UB_PCS_LANE_MAP:
        fprintf(stderr, "ub-pcs: lanes are re-ordered by LID\n");
        break;
    case UB_PCS_SKEW_OVERFLOW:
        fprintf(stderr, "ub-pcs: lanes are too far apart\n");
        break;
    default:
        break;
    }
}

/* The AMCTL that a dump without AMCTLs lacks. */
static void feed_start(UbPcsRx *rx, const UbPcsMode *m, const UbPcsParams *p)
{
    UbPcsTx *tx = ub_pcs_tx_new(p);
    UbLaneRun run;

    run_init(&run);
    ub_pcs_tx_train(tx, m->width, m->pam4, m->precode, NULL);
    ub_pcs_tx_sdf(tx, m, &run);
    ub_pcs_rx(rx, &run);
    run_free(&run);
    ub_pcs_tx_free(tx);
}

static int decode(const UbPcsMode *m, const UbPcsParams *p, bool marked)
{
    static const UbPcsRxOps ops = {
        .flits = on_flits, .event = on_event, .word = on_word,
    };
    Decoded d = { .codecs = m->codecs };
    UbLaneRun run = { .mask = (1u << m->width) - 1 };
    g_autofree char *text = NULL;
    const char *wrong;
    UbPcsRx *rx;
    gsize size;
    Lanes l;
    int status;

    if (!read_file(&text, &size)) {
        return opt.in && opt.out ? EXIT_BAD_DATA : EXIT_USAGE;
    }
    lanes_init(&l, m->width);
    wrong = lanes_parse(&l, text, size);
    if (wrong) {
        lanes_free(&l);
        return complain(EXIT_BAD_DATA, "%s: %s", opt.in, wrong);
    }
    d.flits = g_byte_array_new();
    rx = ub_pcs_rx_new(p, &ops, &d);
    ub_pcs_rx_enable(rx, run.mask, m->pam4, m->precode);
    ub_pcs_rx_set_fec(rx, m->fec, m->codecs);
    if (!marked) {
        feed_start(rx, m, p);
    }
    run.n = run.cap = l.lane[0]->len;
    for (unsigned i = 0; i < m->width; i++) {
        run.lane[i] = l.lane[i]->data;
    }
    ub_pcs_rx(rx, &run);
    status = write_file(d.flits->data, d.flits->len);
    if (!d.started) {
        status = complain(EXIT_BAD_DATA, "no lane alignment: an AMCTL with "
                          "SDF on each of %u lanes is needed", m->width);
    } else if (d.failed) {
        status = complain(EXIT_BAD_DATA, "%" G_GUINT64_FORMAT " of %"
                          G_GUINT64_FORMAT " code words failed", d.failed,
                          d.words);
    }
    ub_pcs_rx_free(rx);
    g_byte_array_unref(d.flits);
    lanes_free(&l);
    return status;
}

/* ----------------------------------------------------------------- amctl -- */

static int amctl(void)
{
    unsigned type = UB_AMCTL_NONE, detail = 0;
    uint8_t m[UB_AMCTL_SYMBOLS];

    if (opt.lane < -1 || opt.lane >= UB_LANES) {
        return complain(EXIT_USAGE, "--lane is 0-7, or -1 for NULL");
    }
    if (opt.type) {
        for (type = 0; type < UB_AMCTL_TYPES; type++) {
            if (!strcmp(opt.type, ub_amctl_type_name(type))) {
                break;
            }
        }
    }
    if (opt.detail && type < UB_AMCTL_TYPES) {
        const char *d = opt.detail;

        /* SDF and EDF by their names too. */
        if (type == UB_AMCTL_LWS && !strcmp(d, "edf")) {
            d = "x0";
        } else if (type == UB_AMCTL_LWS && g_str_has_prefix(d, "sdf-")) {
            d += 4;
        }
        for (detail = 0; detail < UB_AMCTL_DETAILS; detail++) {
            if (!strcmp(d, ub_amctl_detail_name(type, detail))) {
                break;
            }
        }
    }
    if (type >= UB_AMCTL_TYPES || detail >= UB_AMCTL_DETAILS) {
        fprintf(stderr, "ub-pcs: --type and --detail are one of\n");
        for (type = 0; type < UB_AMCTL_TYPES; type++) {
            fprintf(stderr, "  %-10s", ub_amctl_type_name(type));
            for (detail = 0; detail < UB_AMCTL_DETAILS; detail++) {
                fprintf(stderr, " %s", ub_amctl_detail_name(type, detail));
            }
            fprintf(stderr, "\n");
        }
        return EXIT_USAGE;
    }
    ub_amctl_encode(m, opt.lane < 0 ? UB_AMCTL_LID_NULL : opt.lane, type,
                    detail);
    if (opt.binary) {
        fwrite(m, 1, sizeof(m), stdout);
        return EXIT_OK;
    }
    for (unsigned i = 0; i < sizeof(m); i++) {
        printf("%02x", m[i]);
    }
    printf("\n");
    return EXIT_OK;
}

static const GOptionEntry entries[] = {
    { "width", 0, 0, G_OPTION_ARG_INT, &opt.width, "lanes: 1, 2, 4, 8 (8)",
      "N" },
    { "fec", 0, 0, G_OPTION_ARG_STRING, &opt.fec, "off, t2 or t4 (t4)",
      "MODE" },
    { "codecs", 0, 0, G_OPTION_ARG_INT, &opt.codecs,
      "1, or 2 interleaved (1)", "N" },
    { "scrambler", 0, 0, G_OPTION_ARG_STRING, &opt.scrambler,
      "off, prbs23 or pcie23 (prbs23)", "NAME" },
    { "amctl-period", 0, 0, G_OPTION_ARG_STRING, &opt.period,
      "symbols between AMCTLs, or none (1280)", "N|none" },
    { "in", 0, 0, G_OPTION_ARG_FILENAME, &opt.in, "input", "FILE" },
    { "out", 0, 0, G_OPTION_ARG_FILENAME, &opt.out, "output", "FILE" },
    { "binary", 0, 0, G_OPTION_ARG_NONE, &opt.binary,
      "lane dumps and AMCTLs as bytes, lane after lane, not as hex lines",
      NULL },
    { "pam4", 0, 0, G_OPTION_ARG_NONE, &opt.pam4,
      "PAM4 levels: Gray coding", NULL },
    { "precode", 0, 0, G_OPTION_ARG_NONE, &opt.precode, "precoding", NULL },
    { "lane", 0, 0, G_OPTION_ARG_INT, &opt.lane,
      "amctl: LID 0-7, -1 for NULL (0)", "N" },
    { "type", 0, 0, G_OPTION_ARG_STRING, &opt.type,
      "amctl: CTRL_TYPE (none)", "NAME" },
    { "detail", 0, 0, G_OPTION_ARG_STRING, &opt.detail,
      "amctl: CTRL_DETAIL", "NAME" },
    { NULL },
};

static const char summary[] =
    "encode  flits (raw bytes, a multiple of 20) to a lane dump: a line of\n"
    "        hex per lane, lane 0 first, symbols in transmission order.  It\n"
    "        begins with the AMCTL with SDF, unless --amctl-period none.\n"
    "decode  a lane dump back to flits, with a line per code word\n"
    "amctl   print one AMCTL";

int main(int argc, char **argv)
{
    g_autoptr(GOptionContext) ctx =
        g_option_context_new("encode|decode|amctl");
    g_autoptr(GError) err = NULL;
    const char *verb, *wrong;
    UbPcsParams p;
    UbPcsMode m;
    bool marked;

    g_option_context_set_summary(ctx, summary);
    g_option_context_add_main_entries(ctx, entries, NULL);
    if (!g_option_context_parse(ctx, &argc, &argv, &err)) {
        return complain(EXIT_USAGE, "%s", err->message);
    }
    verb = argc == 2 ? argv[1] : "";
    if (!strcmp(verb, "amctl")) {
        return amctl();
    }
    wrong = settings(&m, &p, &marked);
    if (wrong) {
        return complain(EXIT_USAGE, "%s", wrong);
    }
    if (!strcmp(verb, "encode")) {
        return encode(&m, &p, marked);
    }
    if (!strcmp(verb, "decode")) {
        return decode(&m, &p, marked);
    }
    return complain(EXIT_USAGE, "say encode, decode or amctl (--help)");
}
