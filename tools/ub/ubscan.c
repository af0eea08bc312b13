/*
 * ubscan: list the controllers and switches of a UB fabric by its own protocol.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>

#include "ubmsg.h"

static const char usage[] =
    "usage: ubscan [--json] [--scan-only] [DEVICE]\n"
    "\n"
    "List the controllers and switches of a UB fabric: what scans find, and what\n"
    "configuration messages tell of those that have a CNA and a route.\n"
    "\n"
    "  -j, --json       machine-readable\n"
    "  -s, --scan-only  no configuration messages\n"
    "  DEVICE           default: /dev/ubmsg0\n"
    "\n"
    "Exit status: 0; 1 the device or its controller does not answer; 2 usage;\n"
    "3 a node did not answer that a neighbour names.\n";

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "json", no_argument, NULL, 'j' },
        { "scan-only", no_argument, NULL, 's' },
        { "help", no_argument, NULL, 'h' },
        { 0 },
    };
    bool json = false, scan_only = false;
    const char *path = "/dev/ubmsg0";
    unsigned unanswered;
    UbmsgDev d;
    UbFm *fm;
    int c;

    while ((c = getopt_long(argc, argv, "jsh", options, NULL)) != -1) {
        switch (c) {
        case 'j':
            json = true;
            break;
        case 's':
            scan_only = true;
            break;
        default:
            fputs(usage, c == 'h' ? stdout : stderr);
            return c == 'h' ? 0 : 2;
        }
    }
    if (argc - optind > 1) {
        fputs(usage, stderr);
        return 2;
    }
    if (optind < argc) {
        path = argv[optind];
    }
    if (!ubmsg_open(&d, path, false)) {
        fprintf(stderr, "ubscan: %s: %s\n", path, strerror(errno));
        return 1;
    }
    fm = ub_fm_new(&ubmsg_fm_ops, &d);
    if (!ub_fm_discover(fm)) {
        fprintf(stderr, "ubscan: %s: the controller does not answer; is its "
                "guest the manager?\n", path);
        ub_fm_free(fm);
        return 1;
    }
    if (!scan_only) {
        d.tries = 1;
        ub_fm_inquire(fm);
    }
    (json ? ub_fm_json : ub_fm_text)(fm, stdout);
    unanswered = fm->unanswered;
    ub_fm_free(fm);
    ubmsg_close(&d);
    return unanswered ? 3 : 0;
}
