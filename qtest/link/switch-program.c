/*
 * ub-switch as a process of a test.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qobject/qjson.h"
#include "qobject/qlist.h"
#include "switch-program.h"
#include "../deadline.h"
#include <glib/gstdio.h>
#include <sys/prctl.h>
#include <sys/un.h>

const char *switch_program(void)
{
    const char *path = g_getenv("FABRIC_UB_SWITCH");

    return path && g_file_test(path, G_FILE_TEST_IS_EXECUTABLE) ? path : NULL;
}

/* The next line, without its end. */
static char *read_line(int fd)
{
    GString *line = g_string_new(NULL);
    char c;

    for (;;) {
        ssize_t n = recv(fd, &c, 1, 0);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n != 1) {
            g_error("the switch does not answer: %s",
                    n ? strerror(errno) : "closed");
        }
        if (c == '\n') {
            return g_string_free(line, false);
        }
        g_string_append_c(line, c);
    }
}

static int open_control(const char *path)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    gint64 limit = test_deadline(30);
    /* An answer comes at once, whatever else goes on. */
    struct timeval patience = { .tv_sec = test_patience(10) / G_USEC_PER_SEC };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    g_strlcpy(un.sun_path, path, sizeof(un.sun_path));
    while (connect(fd, (struct sockaddr *)&un, sizeof(un)) < 0) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
        g_usleep(1000);
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    return fd;
}

static void end_with_parent(gpointer unused)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static char *file_of(const SwitchProgram *s, const char *name)
{
    return s->first ? g_strdup_printf("%s/%s.%u", s->dir, name, s->first)
                    : g_build_filename(s->dir, name, NULL);
}

static void add_address(GPtrArray *argv, const SwitchProgram *s, const char *option,
                        const char *address)
{
    g_auto(GStrv) parts = g_strsplit(address ? address : "", "@", -1);
    g_autofree char *whole = g_strjoinv(s->dir, parts);

    if (address) {
        g_ptr_array_add(argv, g_strconcat(option, whole, NULL));
    }
}

void switch_again(SwitchProgram *s)
{
    g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *control = file_of(s, "control");
    g_autofree char *config = file_of(s, "config");
    g_autofree char *greeting = NULL;
    g_autoptr(GError) e = NULL;

    g_ptr_array_add(argv, g_strdup(switch_program()));
    for (unsigned i = 0; i < s->ports; i++) {
        g_ptr_array_add(argv, s->tls && !i
                        ? g_strdup("--port=tls:127.0.0.1:0")
                        : g_strdup_printf("--port=unix:%s/port%u", s->dir,
                                          s->first + i));
    }
    add_address(argv, s, "--port=", s->link);
    add_address(argv, s, "--ethernet=", s->ethernet);
    if (s->tls) {
        g_ptr_array_add(argv, g_strdup_printf("--tls-creds=psk:%s/keys",
                                              s->dir));
        g_ptr_array_add(argv, g_strdup("--tls-patience=3600"));
    }
    g_ptr_array_add(argv, g_strconcat("--control=", control, NULL));
    if (s->config) {
        g_assert_true(g_file_set_contents(config, s->config, -1, NULL));
        g_ptr_array_add(argv, g_strconcat("--config=", config, NULL));
    }
    g_ptr_array_add(argv, NULL);
    g_spawn_async(NULL, (char **)argv->pdata, NULL,
                  G_SPAWN_DO_NOT_REAP_CHILD, end_with_parent, NULL, &s->pid,
                  &e);
    g_assert_no_error(e);
    s->control = open_control(control);
    greeting = read_line(s->control);
    g_assert_nonnull(strstr(greeting, "ub-switch"));
}

void switch_start(SwitchProgram *s, const char *dir, unsigned ports,
                  const char *config, bool tls)
{
    *s = (SwitchProgram) {
        .dir = g_strdup(dir), .ports = ports, .config = config, .tls = tls,
    };
    if (tls) {
        g_autofree char *keys = file_of(s, "keys");
        g_autofree char *file = g_build_filename(keys, "keys.psk", NULL);

        g_assert_cmpint(g_mkdir(keys, 0700), ==, 0);
        g_assert_true(g_file_set_contents(
            file, "qemu:9a3bc5d7e1f02468ace013579bdf8642\n", -1, NULL));
    }
    switch_again(s);
}

static int reap(SwitchProgram *s)
{
    int status;

    g_assert_cmpint(waitpid(s->pid, &status, 0), ==, s->pid);
    close(s->control);
    s->pid = 0;
    return status;
}

void switch_kill(SwitchProgram *s)
{
    kill(s->pid, SIGKILL);
    g_assert_true(WIFSIGNALED(reap(s)));
}

void switch_stop(SwitchProgram *s)
{
    qobject_unref(switch_command(s, "{ 'execute': 'quit' }"));
    g_assert_cmphex(reap(s), ==, 0);
    for (unsigned i = 0; i < s->ports; i++) {
        g_autofree char *name = g_strdup_printf("%s/port%u", s->dir,
                                                s->first + i);

        unlink(name);
    }
    if (s->config) {
        g_autofree char *config = file_of(s, "config");

        unlink(config);
    }
    if (s->tls) {
        g_autofree char *keys = file_of(s, "keys");
        g_autofree char *file = g_build_filename(keys, "keys.psk", NULL);

        unlink(file);
        rmdir(keys);
    }
    g_free(s->dir);
}

/* The whole answer. */
static QDict *ask(SwitchProgram *s, const char *text)
{
    QObject *request = qobject_from_json(text, &error_abort);
    g_autoptr(GString) line = qobject_to_json(request);

    qobject_unref(request);
    g_string_append_c(line, '\n');
    g_assert_cmpint(send(s->control, line->str, line->len, MSG_NOSIGNAL), ==,
                    line->len);
    for (;;) {
        g_autofree char *got = read_line(s->control);
        QDict *answer = qobject_to(QDict,
                                   qobject_from_json(got, &error_abort));

        if (!qdict_haskey(answer, "event")) {
            return answer;
        }
        qobject_unref(answer);
    }
}

QDict *switch_command(SwitchProgram *s, const char *text)
{
    QDict *answer = ask(s, text);

    if (!qdict_haskey(answer, "return")) {
        g_error("%s: %s", text,
                qdict_get_str(qdict_get_qdict(answer, "error"), "desc"));
    }
    return answer;
}

static uint64_t counter_of(SwitchProgram *s, unsigned port, const char *group,
                           const char *name)
{
    g_autofree char *text = g_strdup_printf(
        "{ 'execute': 'query-counters', 'arguments': { 'port': %u } }", port);
    QDict *answer = switch_command(s, text);
    QObject *row = qlist_peek(qdict_get_qlist(answer, "return"));
    uint64_t value = qdict_get_int(
        qdict_get_qdict(qobject_to(QDict, row), group), name);

    qobject_unref(answer);
    return value;
}

uint64_t switch_counter(SwitchProgram *s, unsigned port, const char *name)
{
    return counter_of(s, port, "counters", name);
}

uint64_t switch_ether_counter(SwitchProgram *s, unsigned port,
                              const char *name)
{
    return counter_of(s, port, "ethernet", name);
}

/* A member of "wire" of a port; the caller's. */
static char *wire_of(SwitchProgram *s, unsigned port, const char *name)
{
    QDict *answer = switch_command(s, "{ 'execute': 'query-ports' }");
    const QListEntry *row = qlist_first(qdict_get_qlist(answer, "return"));
    char *value;

    while (port--) {
        row = qlist_next(row);
    }
    value = g_strdup(qdict_get_str(
        qdict_get_qdict(qobject_to(QDict, qlist_entry_obj(row)), "wire"),
        name));
    qobject_unref(answer);
    return value;
}

unsigned switch_tcp(SwitchProgram *s)
{
    g_autofree char *address = wire_of(s, 0, "address");

    return atoi(strrchr(address, ':') + 1);
}

char *switch_wire(SwitchProgram *s, unsigned port)
{
    return wire_of(s, port, "kind");
}

unsigned switch_ports_up(SwitchProgram *s)
{
    QDict *answer = switch_command(s, "{ 'execute': 'query-status' }");
    unsigned n = qlist_size(qdict_get_qlist(qdict_get_qdict(answer, "return"),
                                            "up"));

    qobject_unref(answer);
    return n;
}

uint64_t switch_memory(const SwitchProgram *s)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/statm", (int)s->pid);
    g_autofree char *text = NULL;
    unsigned long size, resident;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpint(sscanf(text, "%lu %lu", &size, &resident), ==, 2);
    return (uint64_t)resident * getpagesize();
}
