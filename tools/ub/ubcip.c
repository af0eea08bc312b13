/*
 * ubcip: set up CIP (UB 2.0 §11.5) on this guest's controller by the registers of
 * its Entity 0 (docs/specs/ub-cip.rst).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE /* explicit_bzero */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <glob.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "ub/cfg_regs.h"
#include "ub/cip_hw.h"

#define CONTROLLERS "/sys/class/net/*/device/../ub/config"
#define SLICE UB_CFG_CAP(UB_CFG1_BASE, UB_CIP_CAP)
#define EID_LEN 16
#define KEY_LEN (4 * (UB_CIP_COMMAND - UB_CIP_KEY))
#define IV_LEN (4 * (UB_CIP_KEY - UB_CIP_IV))
#define LINE 256

static const char usage[] =
    "usage: ubcip [-c FILE] COMMAND\n"
    "\n"
    "Encrypt what this guest's UB controller says to others (CIP, UB 2.0 11.5).\n"
    "\n"
    "  make EID EID               print new keys for a channel between two Entities,\n"
    "                             a line for each direction; both ends need them\n"
    "  policy [-s SUITE] [-a] [-l DWORDS] N EID M\n"
    "                             policy N is for that peer, whose policy M is for us;\n"
    "                             SUITE: aes (default) or sm4; -a: authenticate\n"
    "                             alone; -l: dwords of the TAH in clear (1)\n"
    "  keys N EID SLOT KEYS       keys for what that peer sends and what it is sent,\n"
    "                             from the file KEYS (-: standard input) to a slot\n"
    "  use N SLOT                 send by that slot from now on\n"
    "  erase N SLOT               erase both keys of a slot\n"
    "  clear N                    no policy any more\n"
    "  mode off|on[,mixed][,manager]\n"
    "                             on: nothing in clear; mixed: but with peers that no\n"
    "                             policy is for; manager: nor what the UBFM says\n"
    "  show                       mode and policies\n"
    "\n"
    "  -c FILE  configuration space, default: that of the one controller there is\n"
    "           (" CONTROLLERS ")\n"
    "\n"
    "For a channel: policy and keys at both ends, then use at both, then mode.  New\n"
    "keys under traffic: keys of the other slot at both ends, then use at both; then\n"
    "erase the old ones.\n"
    "\n"
    "Exit status: 0; 1 no controller, or it has no CIP; 2 usage; 3 the controller\n"
    "refused it.\n";

static const char *const results[] = {
    [UB_CIP_R_OK] = "good",
    [UB_CIP_R_NO_POLICY] = "no such policy",
    [UB_CIP_R_BAD_POLICY] = "a field of the policy is out of range",
    [UB_CIP_R_NO_KEY] = "the slot is empty",
    [UB_CIP_R_RX_FIRST] = "the slot cannot receive yet",
    [UB_CIP_R_REUSED] = "this key has been in use; make new ones",
    [UB_CIP_R_NO_COMMAND] = "no such command",
    [UB_CIP_R_INCOMPLETE] = "the key was not written whole",
};

/* By their numbers in POLICY.SUITE. */
static const char *const suites[] = { [1] = "aes", [2] = "sm4" };

enum { OK, NO_DEVICE, BAD_USAGE, REFUSED };
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int config = -1;

__attribute__((format(printf, 2, 3), noreturn))
static void fail(int status, const char *format, ...)
{
    va_list ap;

    fputs("ubcip: ", stderr);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(status);
}

/* ---- registers ---- */

static uint32_t get(unsigned dw)
{
    uint8_t b[4];

    if (pread(config, b, sizeof(b), 4 * (SLICE + dw)) != sizeof(b)) {
        fail(NO_DEVICE, "the configuration space cannot be read: %s",
             strerror(errno));
    }
    return b[0] | b[1] << 8 | b[2] << 16 | (uint32_t)b[3] << 24;
}

static void put(unsigned dw, uint32_t value)
{
    uint8_t b[4] = { value, value >> 8, value >> 16, value >> 24 };

    if (pwrite(config, b, sizeof(b), 4 * (SLICE + dw)) != sizeof(b)) {
        fail(NO_DEVICE, "the configuration space cannot be written: %s",
             strerror(errno));
    }
}

/* In order of address. */
static void put_bytes(unsigned dw, const uint8_t *bytes, unsigned len)
{
    for (unsigned i = 0; i < len; i += 4) {
        put(dw + i / 4, bytes[i] | bytes[i + 1] << 8 | bytes[i + 2] << 16 |
                        (uint32_t)bytes[i + 3] << 24);
    }
}

static void command(unsigned code)
{
    unsigned result;

    put(UB_CIP_COMMAND, code);
    result = get(UB_CIP_RESULT);
    if (result != UB_CIP_R_OK) {
        fail(REFUSED, "%s", result < COUNT(results) ? results[result]
                                                    : "refused");
    }
}

/* A policy that LIMITS has no room for is told of here: SELECT is narrower. */
static void choose(unsigned policy, unsigned slot, bool tx)
{
    if (policy > UB_CIP_SELECT__POLICY) {
        fail(REFUSED, "%s", results[UB_CIP_R_NO_POLICY]);
    }
    put(UB_CIP_SELECT, policy | (slot ? UB_CIP_SELECT__SLOT : 0) |
                       (tx ? UB_CIP_SELECT__TX : 0));
}

/* The one controller that is here: each of its ports leads there. */
static char *find_config(void)
{
    glob_t found = { 0 };
    char *path = NULL;

    glob(CONTROLLERS, 0, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *real = realpath(found.gl_pathv[i], NULL);

        if (real && path && strcmp(real, path)) {
            fail(BAD_USAGE, "several UB controllers are here; choose by -c FILE");
        }
        if (path) {
            free(real);
        } else {
            path = real;
        }
    }
    globfree(&found);
    if (!path) {
        fail(NO_DEVICE, "no UB controller is here; choose by -c FILE");
    }
    return path;
}

/* Several programs would write over each other's SELECT: one at a time. */
static void open_config(const char *path)
{
    char *found = path ? NULL : find_config();

    path = path ? path : found;
    config = open(path, O_RDWR | O_CLOEXEC);
    if (config < 0) {
        fail(NO_DEVICE, "%s: %s", path, strerror(errno));
    }
    free(found);
    if (flock(config, LOCK_EX)) {
        fail(NO_DEVICE, "the configuration space cannot be locked: %s",
             strerror(errno));
    }
    if (!get(UB_CIP_HEADER)) {
        fail(NO_DEVICE, "the controller has no CIP (property cip=on)");
    }
}

/* ---- words ---- */

static unsigned number(const char *text, unsigned max)
{
    char *end;
    unsigned long n;

    errno = 0;
    n = strtoul(text, &end, 0);
    if (!isdigit((unsigned char)*text) || *end || errno || n > max) {
        fail(BAD_USAGE, "%s is no number from 0 to %u", text, max);
    }
    return n;
}

/* Hexadecimal digits, the most significant first. */
static bool parse_hex(uint8_t *bytes, unsigned len, const char *text)
{
    if (strlen(text) != 2 * len ||
        strspn(text, "0123456789abcdefABCDEF") != 2 * len) {
        return false;
    }
    for (unsigned i = 0; i < len; i++) {
        char digits[3] = { text[2 * i], text[2 * i + 1] };

        bytes[i] = strtoul(digits, NULL, 16);
    }
    return true;
}

static void parse_eid(uint8_t *eid, const char *text)
{
    if (!parse_hex(eid, EID_LEN, text)) {
        fail(BAD_USAGE, "%s is no EID of 32 hexadecimal digits", text);
    }
}

static void print_hex(const uint8_t *bytes, unsigned len)
{
    for (unsigned i = 0; i < len; i++) {
        printf("%02x", bytes[i]);
    }
}

/* ---- files of keys: for each direction EID of the sender, key, IV ---- */

static int cmd_make(char **words)
{
    uint8_t eid[2][EID_LEN], secret[2][KEY_LEN + IV_LEN];

    for (unsigned i = 0; i < 2; i++) {
        parse_eid(eid[i], words[i]);
    }
    if (!memcmp(eid[0], eid[1], EID_LEN)) {
        fail(BAD_USAGE, "an Entity has no channel to itself");
    }
    if (getrandom(secret, sizeof(secret), 0) != sizeof(secret)) {
        fail(NO_DEVICE, "no random bytes: %s", strerror(errno));
    }
    for (unsigned i = 0; i < 2; i++) {
        print_hex(eid[i], EID_LEN);
        putchar(' ');
        print_hex(secret[i], KEY_LEN);
        putchar(' ');
        print_hex(secret[i] + KEY_LEN, IV_LEN);
        putchar('\n');
    }
    explicit_bzero(secret, sizeof(secret));
    return fflush(stdout) ? NO_DEVICE : OK;
}

typedef struct Keys {
    uint8_t key[2][KEY_LEN], iv[2][IV_LEN]; /* of the peer; ours */
    unsigned lines[2];
} Keys;

static bool parse_line(Keys *k, const uint8_t *peer, char *line)
{
    char *eid = strtok(line, " \t\n"), *key = strtok(NULL, " \t\n");
    char *iv = strtok(NULL, " \t\n");
    uint8_t sender[EID_LEN];
    bool ours;

    if (!eid) {
        return true;
    }
    if (!key || !iv || strtok(NULL, " \t\n") ||
        !parse_hex(sender, EID_LEN, eid)) {
        return false;
    }
    ours = memcmp(sender, peer, EID_LEN);
    k->lines[ours]++;
    return parse_hex(k->key[ours], KEY_LEN, key) &&
           parse_hex(k->iv[ours], IV_LEN, iv);
}

static void read_keys(Keys *k, const uint8_t *peer, const char *path)
{
    FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
    char line[LINE];
    bool good = true;

    if (!f) {
        fail(BAD_USAGE, "%s: %s", path, strerror(errno));
    }
    setvbuf(f, NULL, _IONBF, 0); /* no copies of keys in buffers */
    while (good && fgets(line, sizeof(line), f)) {
        good = parse_line(k, peer, line);
    }
    explicit_bzero(line, sizeof(line));
    if (!good || k->lines[0] != 1 || k->lines[1] != 1) {
        explicit_bzero(k, sizeof(*k));
        fail(BAD_USAGE, "%s: not the two lines of \"ubcip make\" with that "
             "peer", path);
    }
    if (f != stdin) {
        fclose(f);
    }
}

/* To receive by first (§11.5.2.1). */
static int cmd_keys(char **words)
{
    unsigned policy = number(words[0], UB_CIP_SELECT__POLICY);
    unsigned slot = number(words[2], 1);
    uint8_t peer[EID_LEN];
    Keys k = { 0 };

    parse_eid(peer, words[1]);
    read_keys(&k, peer, words[3]);
    for (unsigned tx = 0; tx < 2; tx++) {
        choose(policy, slot, tx);
        put_bytes(UB_CIP_KEY, k.key[tx], KEY_LEN);
        put_bytes(UB_CIP_IV, k.iv[tx], IV_LEN);
        explicit_bzero(k.key[tx], KEY_LEN);
        explicit_bzero(k.iv[tx], IV_LEN);
        command(UB_CIP_CMD_SET_KEY);
    }
    return OK;
}

/* ---- the other commands ---- */

static int cmd_use(char **words)
{
    choose(number(words[0], UB_CIP_SELECT__POLICY), number(words[1], 1), true);
    command(UB_CIP_CMD_USE);
    return OK;
}

static int cmd_erase(char **words)
{
    for (unsigned tx = 2; tx-- > 0; ) {
        choose(number(words[0], UB_CIP_SELECT__POLICY), number(words[1], 1),
               tx);
        command(UB_CIP_CMD_ERASE_KEY);
    }
    return OK;
}

static int cmd_clear(char **words)
{
    choose(number(words[0], UB_CIP_SELECT__POLICY), 0, false);
    command(UB_CIP_CMD_CLEAR_POLICY);
    return OK;
}

static uint32_t suite = 1, hide = UB_CIP_POLICY__HIDE, clear_dwords = 1;

static int cmd_policy(char **words)
{
    uint8_t eid[EID_LEN];

    parse_eid(eid, words[1]);
    choose(number(words[0], UB_CIP_SELECT__POLICY), 0, false);
    for (unsigned i = 0; i < EID_LEN / 4; i++) {
        const uint8_t *b = eid + EID_LEN - 4 * (i + 1);

        put(UB_CIP_PEER_EID + i, (uint32_t)b[0] << 24 | b[1] << 16 |
                                 b[2] << 8 | b[3]);
    }
    put(UB_CIP_PEER_POLICY, number(words[2], 0x7fffff));
    put(UB_CIP_POLICY, suite | hide | clear_dwords << 8);
    command(UB_CIP_CMD_SET_POLICY);
    return OK;
}

/* By their bits of CTRL. */
static const struct { const char *name; uint32_t bit; } modes[] = {
    { "off", 0 }, { "on", UB_CIP_CTRL__ON },
    { "mixed", UB_CIP_CTRL__ON | UB_CIP_CTRL__MIXED },
    { "manager", UB_CIP_CTRL__ON | UB_CIP_CTRL__MANAGER },
};

static int cmd_mode(char **words)
{
    uint32_t ctrl = 0;

    for (char *w = strtok(words[0], ","); w; w = strtok(NULL, ",")) {
        unsigned i = 0;

        while (i < COUNT(modes) && strcmp(w, modes[i].name)) {
            i++;
        }
        if (i == COUNT(modes)) {
            fail(BAD_USAGE, "%s is no mode", w);
        }
        ctrl |= modes[i].bit;
    }
    put(UB_CIP_CTRL, ctrl);
    return OK;
}

static void show_slot(unsigned policy, unsigned slot, uint32_t state)
{
    for (unsigned tx = 0; tx < 2; tx++) {
        uint32_t sn;

        if (!(state & (tx ? 0x08u : 0x02u) << slot)) {
            continue;
        }
        choose(policy, slot, tx);
        sn = get(UB_CIP_SN);
        printf("  slot %u %s: ", slot, tx ? "sends" : "receives");
        if (sn == UINT32_MAX) {
            puts("exhausted");
        } else {
            printf("SN %u%s\n", sn,
                   tx && (state & UB_CIP_STATE__SENDS) &&
                   !(state & UB_CIP_STATE__SENDS_BY) == !slot ? ", in use"
                                                              : "");
        }
    }
}

/* The peer of a policy is told by the monitor: the registers have what was written
 * last. */
static int cmd_show(char **words)
{
    uint32_t ctrl = get(UB_CIP_CTRL), limits = get(UB_CIP_LIMITS);
    unsigned policies = limits & UB_CIP_LIMITS__POLICIES;

    printf("mode %s%s%s\n", ctrl & UB_CIP_CTRL__ON ? "on" : "off",
           ctrl & UB_CIP_CTRL__MIXED ? ",mixed" : "",
           ctrl & UB_CIP_CTRL__MANAGER ? ",manager" : "");
    for (unsigned i = 0; i < policies; i++) {
        uint32_t state;

        choose(i, 0, false);
        state = get(UB_CIP_STATE);
        if (state & UB_CIP_STATE__SET) {
            printf("policy %u\n", i);
            for (unsigned slot = 0; slot < 2; slot++) {
                show_slot(i, slot, state);
            }
        }
    }
    return OK;
}

static const struct {
    const char *name;
    int (*run)(char **words);
    int words;
    bool device;
} commands[] = {
    { "make", cmd_make, 2, false }, { "policy", cmd_policy, 3, true },
    { "keys", cmd_keys, 4, true }, { "use", cmd_use, 2, true },
    { "erase", cmd_erase, 2, true }, { "clear", cmd_clear, 1, true },
    { "mode", cmd_mode, 1, true }, { "show", cmd_show, 0, true },
};

static uint32_t suite_number(const char *name)
{
    for (unsigned i = 1; i < COUNT(suites); i++) {
        if (!strcmp(name, suites[i])) {
            return i;
        }
    }
    fail(BAD_USAGE, "%s is no suite", name);
}

int main(int argc, char **argv)
{
    const char *path = NULL;
    int c;

    /* Options of "policy" may stand behind it. */
    while ((c = getopt(argc, argv, "c:s:al:h")) != -1) {
        switch (c) {
        case 'c':
            path = optarg;
            break;
        case 's':
            suite = suite_number(optarg);
            break;
        case 'a':
            hide = 0;
            break;
        case 'l':
            clear_dwords = number(optarg, 15);
            break;
        default:
            fputs(usage, c == 'h' ? stdout : stderr);
            return c == 'h' ? OK : BAD_USAGE;
        }
    }
    argc -= optind;
    argv += optind;
    for (unsigned i = 0; argc && i < COUNT(commands); i++) {
        if (!strcmp(argv[0], commands[i].name) &&
            argc - 1 == commands[i].words) {
            if (commands[i].device) {
                open_config(path);
            }
            return commands[i].run(argv + 1);
        }
    }
    fputs(usage, stderr);
    return BAD_USAGE;
}
