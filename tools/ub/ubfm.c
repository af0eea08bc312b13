/*
 * ubfm: manage a UB fabric from a guest: addresses, identities, routes; once, or
 * for as long as it runs; and lend Entities of its nodes to others.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>

#include "ub/fm_matt.h"
#include "ubfm-allow.h"
#include "ubfm-pairs.h"
#include "ubfm-part.h"
#include "ubfm-plug.h"

static const char usage[] =
    "usage: ubfm [OPTION...] [DEVICE] [COMMAND]\n"
    "\n"
    "Find the nodes of a UB fabric, give each a CNA, an EID and a partition, and\n"
    "write the routes of its switches and controllers.  Or, in a fabric that has\n"
    "all this, COMMAND, and print what can be lent and whose it is:\n"
    "\n"
    UBFM_POOL_USAGE
    "\n"
    "NODE and USER are GUIDs, as they are printed, or CNAs (a number).\n"
    "\n"
    "  -s, --service         stay, and do so again when links come and go\n"
    "  -i, --interval=S      look anew after S seconds at the latest (30)\n"
    "  -f, --format=FORMAT   text, json or svg (text)\n"
    "  -o, --output=FILE     write there, anew after each change (stdout)\n"
    "  -c, --first-cna=N     the lowest CNA that is given (1)\n"
    "  -e, --eid-prefix=HEX  32 digits, of which the last five become the CNA (0)\n"
    "  -u, --upi=N           the partition of all nodes (as they have it); of what\n"
    "                        is lent (its User's)\n"
    "  -a, --allow=FILE      patterns of GUIDs, one in a line: others get neither\n"
    "                        address nor routes; SIGHUP has it read again\n"
    "  -p, --partitions=FILE lines with a pattern of GUIDs, or one, / and a port of a\n"
    "                        switch, and an NPI: others pass nothing of packets with\n"
    "                        NPI; SIGHUP has it read again\n"
    "  -C, --channels=FILE   lines with two patterns of GUIDs, who may have TP channels\n"
    "                        with whom, of nodes that leave that to the manager; SIGHUP\n"
    "                        has it read again\n"
    "  -n, --nodes=N         no more than so many nodes are looked at (1024; 4096 at\n"
    "                        most)\n"
    "  -w, --window=S        a second press of a slot's button calls off the first\n"
    "                        (5)\n"
    "  -t, --timeout=S       a User that says nothing for so long is silent (10)\n"
    "  DEVICE                with a slash in it; default: /dev/ubmsg0\n"
    "\n"
    "Exit status: 0; 1 the device or its controller does not answer, or there is\n"
    "no place for the output; 2 usage; 3 a node refused something, or does not\n"
    "answer, or there is more than is looked at.\n";

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)

static const char cut_short[] = "ubfm: ended in the middle\n";
static const char deaf[] =
    "ubfm: the controller does not answer; is its guest the manager?\n";

typedef void Print(const UbFm *fm, FILE *out);

typedef struct Options {
    bool service;
    unsigned interval, window, nodes, upi;
    Print *print;
    const char *output, *device, *allow, *partitions, *channels;
    UbFmPlan plan;
    UbfmParts parts;
    UbfmPairs pairs;
    UbfmPool pool;
    char **command;         /* words, or NULL */
    int words;
} Options;

static volatile sig_atomic_t ended, reread;

static void end(int signal)
{
    ended = 1;
}

static void read_again(int signal)
{
    reread = 1;
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

/* One of them, with its argument in optarg. */
static bool take_option(Options *o, int c)
{
    switch (c) {
    case 's':
        o->service = true;
        return true;
    case 'i':
        return take_number(optarg, 86400, &o->interval);
    case 'f':
        return take_format(optarg, &o->print);
    case 'o':
        o->output = optarg;
        return true;
    case 'c':
        return take_number(optarg, 0xffff, &o->plan.first_cna);
    case 'e':
        return take_prefix(optarg, &o->plan.eid_prefix);
    case 'u':
        return take_number(optarg, UB_MGMT_UPI - 1, &o->upi);
    case 'a':
        o->allow = optarg;
        return true;
    case 't':
        return take_number(optarg, 3600, &o->pool.timeout) && o->pool.timeout;
    case 'w':
        return take_number(optarg, 3600, &o->window);
    case 'p':
        o->partitions = optarg;
        return true;
    case 'C':
        o->channels = optarg;
        return true;
    case 'n':
        return take_number(optarg, UB_FM_NODES_MOST, &o->nodes) && o->nodes;
    default:
        return false;
    }
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
        { "allow", required_argument, NULL, 'a' },
        { "timeout", required_argument, NULL, 't' },
        { "window", required_argument, NULL, 'w' },
        { "nodes", required_argument, NULL, 'n' },
        { "partitions", required_argument, NULL, 'p' },
        { "channels", required_argument, NULL, 'C' },
        { "help", no_argument, NULL, 'h' },
        { 0 },
    };
    bool good = true;
    int c;

    while (good &&
           (c = getopt_long(argc, argv, "si:f:o:c:e:u:a:t:w:n:p:C:h", options, NULL)) != -1) {
        if (c == 'h') {
            fputs(usage, stdout);
            return 1;
        }
        good = take_option(o, c);
    }
    if (good && optind < argc && strchr(argv[optind], '/')) {
        o->device = argv[optind++];
    }
    o->words = argc - optind;
    o->command = o->words ? argv + optind : NULL;
    if (good && o->command) {
        good = !o->service && !o->output && o->print != ub_fm_svg &&
               ubfm_pool_knows(o->words, o->command);
    }
    if (!good) {
        fputs(usage, stderr);
        return 3;
    }
    o->plan.upi = o->pool.upi = o->upi;
    o->pool.eid_prefix = o->plan.eid_prefix;
    o->pool.json = o->print == ub_fm_json;
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

static unsigned count_strangers(const UbFm *fm)
{
    unsigned n = 0;

    for (unsigned i = 0; i < fm->nodes; i++) {
        n += fm->node[i].stranger;
    }
    return n;
}

/* What is not kept, and who has brought the most of it. */
static void tell_beyond(const UbFm *fm)
{
    char guid[UB_FM_GUID_TEXT];
    unsigned who = 0;

    for (unsigned i = 1; i < fm->nodes; i++) {
        who = fm->node[i].beyond > fm->node[who].beyond ? i : who;
    }
    if (fm->beyond.neighbours) {
        fprintf(stderr, "ubfm: %u neighbours are not looked at, there are too many: "
                "%u of %s\n", fm->beyond.neighbours, fm->node[who].beyond,
                ub_fm_guid_text(fm->node[who].guid, guid));
    }
    if (fm->beyond.ports) {
        fprintf(stderr, "ubfm: %u nodes claim more ports than there is room for\n",
                fm->beyond.ports);
    }
}

static unsigned all_beyond(const UbFm *fm)
{
    return fm->beyond.neighbours + fm->beyond.ports;
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
    if (fm->layers > 1) {
        fprintf(stderr, "ubfm: maps of VLs: %u layers of %u, %u nodes by a tree\n",
                fm->layers, fm->classes, fm->trees);
    }
    if (count_strangers(fm)) {
        fprintf(stderr, "ubfm: %u nodes are not admitted\n",
                count_strangers(fm));
    }
    tell_beyond(fm);
    if (refused || fm->unanswered) {
        fprintf(stderr, "ubfm: %u nodes refused something, %u do not answer\n",
                refused, fm->unanswered);
    }
}

/* ---- Work ---- */

/* A fabric to look at, of those who are allowed. */
static UbFm *new_fabric(UbmsgDev *d, const Options *o, UbfmAllow *allow)
{
    UbFm *fm = ub_fm_new(&ubmsg_fm_ops, d);

    fm->most = o->nodes;
    fm->admit = ubfm_admits;
    fm->admitting = allow;
    return fm;
}

/* A list that cannot be read leaves the one before. */
static bool read_lists(Options *o, UbfmAllow *allow)
{
    const char *bad =
        o->allow && !ubfm_allow_read(allow, o->allow) ? o->allow
        : o->partitions && !ubfm_parts_read(&o->parts, o->partitions) ? o->partitions
        : o->channels && !ubfm_pairs_read(&o->pairs, o->channels) ? o->channels : NULL;

    if (bad) {
        fprintf(stderr, "ubfm: %s: %s\n", bad, strerror(errno));
        return false;
    }
    o->plan.npi = o->parts.listed ? ubfm_npi : NULL;
    o->plan.npi_opaque = &o->parts;
    o->plan.channels = o->pairs.listed ? ubfm_channels : NULL;
    o->plan.channels_opaque = &o->pairs;
    return true;
}

/* What happened to slots; when time is to bring something about. */
static int64_t serve_slots(UbmsgDev *d, UbfmPlug *plug, UbFm *fm)
{
    int64_t next;

    ubmsg_lock(d, true);
    next = ubfm_plug_turn(plug, fm);
    ubmsg_lock(d, false);
    return next;
}

/* What nodes said of errors meanwhile. */
static void tell_errors(UbmsgDev *d, UbfmPlug *plug, const UbFm *fm)
{
    char text[UB_FM_ERROR_TEXT];
    UbmsgPlug event;

    while (ubmsg_error(d, &event)) {
        if (ub_fm_error_text(fm, event.scna, event.data, sizeof(event.data),
                             text) && ubfm_may_print(&plug->pace)) {
            fprintf(stderr, "ubfm: %s\n", text);
        }
    }
    if (d->errors.lost && ubfm_may_print(&plug->pace)) {
        fprintf(stderr, "ubfm: %u more errors\n", d->errors.lost);
        d->errors.lost = 0;
    }
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Until something happens: an event, time, a signal. */
static void wait_events(UbmsgDev *d, UbfmPlug *plug, UbFm *fm, unsigned seconds)
{
    const int64_t together = 50 * MS;   /* several events come together */
    int64_t now = ubfm_now(), next;
    int64_t end = d->events ? now : now + seconds * SECOND;

    do {
        d->events = 0;
        next = serve_slots(d, plug, fm);
        tell_errors(d, plug, fm);
        now = ubfm_now();
        if (ended || reread) {
            return;
        }
        /* What came meanwhile is not waited for. */
        if (d->events) {
            end = earlier(end, now + together);
        }
        /* The message of a link may be lost. */
        if (plug->acted) {
            plug->acted = false;
            end = earlier(end, now + SECOND);
        }
        next = earlier(next, end);
        if (ubmsg_event(d, next > now ? (next - now + MS - 1) / MS : 0)) {
            end = earlier(end, ubfm_now() + together);
        }
    } while (!ended && !reread && !d->gone && ubfm_now() < end);
}

/* What a manager knows from one turn to the next. */
typedef struct Manager {
    UbFm *before;
    UbFm *settled;          /* what was there when no map was owed last, or at first; it
                             * may be @before */
    UbfmPlug plug;
    int status;
} Manager;

/* @fm is what is there now. */
static void remember(Manager *m, UbFm *fm, bool settled)
{
    if (m->before != m->settled) {
        ub_fm_free(m->before);
    }
    if (settled || !m->settled) {
        ub_fm_free(m->settled);
        m->settled = fm;
    }
    m->before = fm;
}

/* The fabric is another than before, or not all was done: it is brought up, and told; false:
 * that cannot be. */
static bool bring_up(UbmsgDev *d, const Options *o, Manager *m, UbFm *fm)
{
    unsigned refused, owed = 0;

    fm->held = m->settled;
    refused = ub_fm_bring_up(fm, &o->plan, m->before);
    fm->held = NULL;
    if (ubfm_may_print(&m->plug.pace)) {
        tell_changes(fm, m->before, refused);
    }
    if (o->service) {
        refused += ubfm_pool_recover(d, fm, &o->pool);
        owed = ub_fm_maps_drop(fm, m->settled);
        refused += owed;
        refused += ubfm_plug_survey(&m->plug, fm);
    }
    /* A service that is told to end did what it could. */
    if (!ended || !o->service) {
        m->status = refused || fm->unanswered || all_beyond(fm) ? 3 : 0;
    }
    if (!print_fabric(fm, o)) {
        fprintf(stderr, "ubfm: %s: %s\n", o->output, strerror(errno));
        ub_fm_free(fm);
        m->status = 1;
        return false;
    }
    remember(m, fm, !owed);
    return true;
}

/* One manager at a time does something: others of this guest wait. */
static int manage(UbmsgDev *d, Options *o, UbfmAllow *allow)
{
    bool again = false;     /* lists are others */
    Manager m = { 0 };

    ubfm_plug_init(&m.plug, d, &o->pool, o->window);
    do {
        bool changed;
        UbFm *fm;

        if (reread) {
            reread = 0;
            again = read_lists(o, allow);
        }
        ubmsg_lock(d, true);
        ubmsg_fresh(d);
        fm = new_fabric(d, o, allow);
        if (!ub_fm_discover(fm)) {
            fputs(ended ? cut_short : deaf, stderr);
            ub_fm_free(fm);
            m.status = o->service && ended ? m.status : 1;
            break;
        }
        changed = again || !m.before || !ub_fm_same(fm, m.before) ||
                  ub_fm_forgotten(fm);
        again = false;
        if (!changed && !m.status) {
            ub_fm_free(fm);
        } else if (!bring_up(d, o, &m, fm)) {
            break;
        }
        ubmsg_lock(d, false);
        if (o->service) {
            /* A node that is new did not know whom to tell of its links. */
            wait_events(d, &m.plug, m.before, changed ? 1 : o->interval);
        }
    } while (o->service && !ended && !d->gone);
    remember(&m, NULL, true);
    ubfm_plug_free(&m.plug);
    return d->gone ? 1 : m.status;
}

/* What was said of a fabric that is managed already. */
static int obey(UbmsgDev *d, const Options *o, UbfmAllow *allow)
{
    UbFm *fm = new_fabric(d, o, allow);
    int status = 1;

    ubmsg_lock(d, true);
    if (ub_fm_discover(fm)) {
        ub_fm_inquire(fm);
        status = ubfm_pool_command(d, fm, &o->pool, o->words, o->command);
    } else {
        fputs(ended ? cut_short : deaf, stderr);
    }
    ubmsg_lock(d, false);
    ub_fm_free(fm);
    return d->gone ? 1 : status;
}

int main(int argc, char **argv)
{
    Options o = { .interval = 30, .window = 5, .pool.timeout = 10, .print = ub_fm_text,
                  .device = "/dev/ubmsg0" };
    struct sigaction action = { .sa_handler = end }, again = {
        .sa_handler = read_again };
    UbfmAllow allow = { 0 };
    sigset_t ours, before;
    UbmsgDev d;
    int status;

    ub_fm_plan_init(&o.plan);
    status = take_options(argc, argv, &o);
    if (status) {
        return status - 1;
    }
    if (!read_lists(&o, &allow)) {
        return 1;
    }
    if (!ubmsg_open(&d, o.device, o.service)) {
        fprintf(stderr, "ubfm: %s: %s\n", o.device, strerror(errno));
        return 1;
    }
    /* They come when it waits, and not shortly before. */
    sigemptyset(&ours);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGHUP);
    sigprocmask(SIG_BLOCK, &ours, &before);
    d.signals = &before;
    d.ended = &ended;
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &again, NULL);
    status = o.command ? obey(&d, &o, &allow) : manage(&d, &o, &allow);
    ubmsg_close(&d);
    ubfm_allow_free(&allow);
    ubfm_parts_free(&o.parts);
    ubfm_pairs_free(&o.pairs);
    return status;
}
