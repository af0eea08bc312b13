/*
 * ubfm: manage a UB fabric from a guest: addresses, identities, routes; once, or
 * for as long as it runs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>

#include "ubmsg.h"

static const char usage[] =
    "usage: ubfm [OPTION...] [DEVICE]\n"
    "\n"
    "Find the nodes of a UB fabric, give each a CNA, an EID and a partition, and\n"
    "write the routes of its switches and controllers.\n"
    "\n"
    "  -s, --service         stay, and do so again when links come and go\n"
    "  -i, --interval=S      look anew after S seconds at the latest (30)\n"
    "  -f, --format=FORMAT   text, json or svg (text)\n"
    "  -o, --output=FILE     write there, anew after each change (stdout)\n"
    "  -c, --first-cna=N     the lowest CNA that is given (1)\n"
    "  -e, --eid-prefix=HEX  32 digits, of which the last five become the CNA (0)\n"
    "  -u, --upi=N           the partition of all nodes (as they have it)\n"
    "  DEVICE                default: /dev/ubmsg0\n"
    "\n"
    "Exit status: 0; 1 the device or its controller does not answer, or there is\n"
    "no place for the output; 2 usage; 3 a node refused something, or does not\n"
    "answer.\n";

typedef void Print(const UbFm *fm, FILE *out);

typedef struct Options {
    bool service;
    unsigned interval;
    Print *print;
    const char *output, *device;
    UbFmPlan plan;
} Options;

static volatile sig_atomic_t ended;

static void end(int signal)
{
    ended = 1;
}

/* ---- Options ---- */

static bool take_number(const char *text, unsigned long most, unsigned *value)
{
    char *rest;
    unsigned long n = strtoul(text, &rest, 0);

    *value = n;
    return *text && !*rest && n <= most;
}

static bool take_prefix(const char *text, UbId *id)
{
    return strlen(text) == 32 && strspn(text, "0123456789abcdefABCDEF") == 32 &&
           sscanf(text, "%8x%8x%8x%8x", &id->w[3], &id->w[2], &id->w[1],
                  &id->w[0]) == 4;
}

static bool take_format(const char *text, Print **print)
{
    static const struct {
        const char *name;
        Print *print;
    } formats[] = {
        { "text", ub_fm_text }, { "json", ub_fm_json }, { "svg", ub_fm_svg },
    };

    for (unsigned i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (!strcmp(formats[i].name, text)) {
            *print = formats[i].print;
            return true;
        }
    }
    return false;
}

/* 0: go on; else exit with this less one. */
static int take_options(int argc, char **argv, Options *o)
{
    static const struct option options[] = {
        { "service", no_argument, NULL, 's' },
        { "interval", required_argument, NULL, 'i' },
        { "format", required_argument, NULL, 'f' },
        { "output", required_argument, NULL, 'o' },
        { "first-cna", required_argument, NULL, 'c' },
        { "eid-prefix", required_argument, NULL, 'e' },
        { "upi", required_argument, NULL, 'u' },
        { "help", no_argument, NULL, 'h' },
        { 0 },
    };
    unsigned upi = 0;
    bool good = true;
    int c;

    while (good &&
           (c = getopt_long(argc, argv, "si:f:o:c:e:u:h", options, NULL)) != -1) {
        switch (c) {
        case 's':
            o->service = true;
            break;
        case 'i':
            good = take_number(optarg, 86400, &o->interval);
            break;
        case 'f':
            good = take_format(optarg, &o->print);
            break;
        case 'o':
            o->output = optarg;
            break;
        case 'c':
            good = take_number(optarg, 0xffff, &o->plan.first_cna);
            break;
        case 'e':
            good = take_prefix(optarg, &o->plan.eid_prefix);
            break;
        case 'u':
            good = take_number(optarg, UB_MGMT_UPI - 1, &upi);
            break;
        case 'h':
            fputs(usage, stdout);
            return 1;
        default:
            good = false;
        }
    }
    if (!good || argc - optind > 1) {
        fputs(usage, stderr);
        return 3;
    }
    o->plan.upi = upi;
    if (optind < argc) {
        o->device = argv[optind];
    }
    return 0;
}

/* ---- Output ---- */

/* A file is there whole, or as it was before. */
static bool print_fabric(const UbFm *fm, const Options *o)
{
    char name[4096];
    FILE *out;
    bool good;

    if (!o->output) {
        o->print(fm, stdout);
        return !fflush(stdout);
    }
    if (snprintf(name, sizeof(name), "%s.new", o->output) >=
        (int)sizeof(name)) {
        return false;
    }
    out = fopen(name, "w");
    if (!out) {
        return false;
    }
    o->print(fm, out);
    good = !ferror(out);
    return !fclose(out) && good && !rename(name, o->output);
}

static unsigned count_links(const UbFm *fm)
{
    unsigned ends = 0;

    for (unsigned i = 0; i < fm->nodes; i++) {
        for (unsigned p = 0; p < fm->node[i].ports; p++) {
            ends += fm->node[i].port[p].peer >= 0;
        }
    }
    return ends / 2;
}

/* Nodes of @a that @b does not have. */
static void tell_missing(const UbFm *a, const UbFm *b, const char *what)
{
    char guid[UB_FM_GUID_TEXT];

    for (unsigned i = 0; i < a->nodes; i++) {
        if (ub_fm_find(b, a->node[i].guid) < 0) {
            fprintf(stderr, "ubfm: %s %s\n", what,
                    ub_fm_guid_text(a->node[i].guid, guid));
        }
    }
}

static void tell_changes(const UbFm *fm, const UbFm *before, unsigned refused)
{
    if (before) {
        tell_missing(before, fm, "lost");
        tell_missing(fm, before, "new");
    }
    fprintf(stderr, "ubfm: %u nodes, %u links, %u registers written%s\n",
            fm->nodes, count_links(fm), fm->written,
            fm->tree ? ", routes by a tree" : "");
    if (refused || fm->unanswered) {
        fprintf(stderr, "ubfm: %u nodes refused something, %u do not answer\n",
                refused, fm->unanswered);
    }
}

/* ---- Work ---- */

/* Until something happens: an event, time, a signal. */
static void wait_events(UbmsgDev *d, unsigned seconds)
{
    uint8_t data[UB_MSG_MAX];
    struct ub_msg msg;
    int ms = d->events ? 0 : 1000 * (int)seconds;

    d->events = 0;
    /* Several come together. */
    while (!ended && ubmsg_event(d, ms, &msg, data)) {
        ms = 50;
    }
}

static int manage(UbmsgDev *d, const Options *o)
{
    UbFm *before = NULL, *fm;
    int status = 0;

    do {
        unsigned refused = 0;
        bool changed;

        fm = ub_fm_new(&ubmsg_fm_ops, d);
        if (!ub_fm_discover(fm)) {
            fputs("ubfm: the controller does not answer; is its guest the "
                  "manager?\n", stderr);
            ub_fm_free(fm);
            status = 1;
            break;
        }
        changed = !before || !ub_fm_same(fm, before);
        if (changed || status) {
            refused = ub_fm_bring_up(fm, &o->plan, before);
            tell_changes(fm, before, refused);
            status = refused || fm->unanswered ? 3 : 0;
            if (!print_fabric(fm, o)) {
                fprintf(stderr, "ubfm: %s: %s\n", o->output, strerror(errno));
                ub_fm_free(fm);
                status = 1;
                break;
            }
            ub_fm_free(before);
            before = fm;
        } else {
            ub_fm_free(fm);
        }
        if (o->service) {
            /* A node that is new did not know whom to tell of its links. */
            wait_events(d, changed ? 1 : o->interval);
        }
    } while (o->service && !ended && !d->gone);
    ub_fm_free(before);
    return d->gone ? 1 : status;
}

int main(int argc, char **argv)
{
    Options o = { .interval = 30, .print = ub_fm_text,
                  .device = "/dev/ubmsg0" };
    struct sigaction action = { .sa_handler = end };
    UbmsgDev d;
    int status;

    ub_fm_plan_init(&o.plan);
    status = take_options(argc, argv, &o);
    if (status) {
        return status - 1;
    }
    if (!ubmsg_open(&d, o.device, o.service)) {
        fprintf(stderr, "ubfm: %s: %s\n", o.device, strerror(errno));
        return 1;
    }
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    status = manage(&d, &o);
    ubmsg_close(&d);
    return status;
}
