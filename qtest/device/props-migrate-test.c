/*
 * Properties and migration: a destination that was given another value than the
 * source refuses, and names the property.  Every property with a default is
 * tried, so that a new one is compared, or is said here to be the host's own.  And
 * streams whose lengths are none.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "libqtest.h"
#include "qobject/qbool.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "qobject/qnum.h"
#include "qobject/qstring.h"
#include "../deadline.h"

#define MACHINE "-M q35 -nodefaults -display none "

/* A value that is not the default one, where that is neither a truth value nor
 * a number that may be one more. */
typedef struct Other {
    const char *name;
    const char *value;       /* more properties may follow */
} Other;

typedef struct Kind {
    const char *device;
    const char *const *local;
    const Other *other;
    const char *tag;            /* that its image begins with */
    const char *frames;         /* the section of frames that wait */
} Kind;

static const char *const mthca_local[] = {
    "shm", "inline-budget", "guid", "lid", NULL
};
static const Other mthca_other[] = {
    { "gid-prefix", "1" }, { "lid-net", "0x0b000000" }, { "ud-grh", "ipv4" },
    { "sm", "auto" }, { NULL }
};

static const char *const ncic_local[] = { "tx-inline", NULL };
static const Other ncic_other[] = {
    { "layout", "doc" }, { "eth-flags", "doc" }, { "eth-arm", "oneshot" },
    { "roce-ports", "destination" }, { "queues", "8" },
    { "rdma-ip", "10.1.1.1" }, { "rdma-ud-grh", "ib" },
    { "rdma-lid-net", "0x0b000000" }, { "rdma-local-error", "protection" },
    { "rdma-error-cqe", "document" }, { NULL }
};

static const char *const rclink_local[] = { "shm", "inline-budget", NULL };
static const Other rclink_other[] = {
    { "qps", "8" }, { "type1-vcs", "2" }, { "ost1", "8" }, { "ost2", "8" },
    { "speed", "200" }, { "rh-order", "le" }, { "gen2-order", "slap" },
    { "lite-xpu", "high" }, { "cfg160", "packed" }, { "icrc", "roce" },
    { "udp-csum", "ffff" }, { NULL }
};

static const char *const ubc_local[] = {
    "shm", "inline-turn", "poll-looks", "poll-pause", "poll-time", "window-again", "pcap-blocks", "cip-migrate-keys", NULL
};
static const Other ubc_other[] = {
    { "contexts", "16" }, { "phy-mode", "1" }, { "usi", "1" },
    { "window", "1M" }, { "rights", "user" }, { "npi-mode", "open" },
    { "period0", "2560" }, { "period1", "1280" }, { "lanes", "4" },
    { "max-rate", "1" }, { "crc-cover", "bytes" }, { "cip-window", "64" },
    { "fec", "off" }, { "fec-min", "t2" }, { "port-type", "primary" },
    { "scrambler", "off" }, { "fault-credit", "overrun" },
    { "net-mtu", "4096" }, { "net-sl-vl", "1=1" }, { "net-dscp-sl", "1=1" },
    { "net-sl-dscp", "1=1" }, { "net-vl-weight", "1=2" },
    { "net-vl-out", "1=2" }, { "net-route-default", "1" },
    { "tp-rto-static", "0=600" }, { "tp-ooo-window", "2048" },
    { "tp-mark", "on,tp-selective=on,tp-ooo=on" },
    { "tp-selective", "on,tp-ooo=on" }, { "tp-fast", "off,tp-ooo=on" },
    { "tp-spray", "on,tp-ooo=on" }, { "tp-results", "2048" },
    { "tp-setup-nlp", "14" }, { "tp-sack-bits", "512" },
    { "ta-slice", "8192" }, { "ta-max-len", "65536" }, { "ta-mtu", "4096" },
    { "ta-window", "512" }, { "ta-aggregate", "31" },
    { "ta-tassn-start", "4096" }, { NULL }
};

static const Kind kinds[] = {
    { "ncic-nic", ncic_local, ncic_other, "NCIC" },
    { "ncic-mthca", mthca_local, mthca_other, "PROP", "ncic-mthca/frames" },
    { "rclink", rclink_local, rclink_other, "PROP", "rclink/frames" },
    { "ubc", ubc_local, ubc_other, "PROP" },
};

static QList *properties(QTestState *qts, const char *device)
{
    QDict *rsp = qtest_qmp(qts, "{ 'execute': 'device-list-properties',"
                           " 'arguments': { 'typename': %s } }", device);
    QList *list = qdict_get_qlist(rsp, "return");

    g_assert_nonnull(list);
    qobject_ref(list);
    qobject_unref(rsp);
    return list;
}

static bool lists(QList *list, const char *name)
{
    const QListEntry *e;

    QLIST_FOREACH_ENTRY(list, e) {
        QDict *d = qobject_to(QDict, qlist_entry_obj(e));

        if (!strcmp(qdict_get_str(d, "name"), name)) {
            return true;
        }
    }
    return false;
}

static const Other *other_of(const Kind *k, const char *name)
{
    for (const Other *o = k->other; o->name; o++) {
        if (!strcmp(o->name, name)) {
            return o;
        }
    }
    return NULL;
}

/* "name=value" of another value than the default of property @d. */
static char *another(const Kind *k, QDict *d)
{
    const char *name = qdict_get_str(d, "name");
    QObject *value = qdict_get(d, "default-value");
    const Other *o = other_of(k, name);
    QBool *flag = qobject_to(QBool, value);
    QNum *num = qobject_to(QNum, value);
    uint64_t u;

    if (o) {
        return g_strdup_printf("%s=%s", name, o->value);
    }
    if (flag) {
        return g_strdup_printf("%s=%s", name,
                               qbool_get_bool(flag) ? "off" : "on");
    }
    if (num && qnum_get_try_uint(num, &u)) {
        return g_strdup_printf("%s=%" PRIu64, name,
                               u == UINT32_MAX || u == 255 ? u - 1 : u + 1);
    }
    g_test_message("%s.%s: what else may it be?", k->device, name);
    g_test_fail();
    return NULL;
}

/* The migration of @qts comes to its end. */
static void wait_migrated(QTestState *qts)
{
    int64_t end = test_deadline(120);
    bool done = false;

    while (!done) {
        QDict *rsp = qtest_qmp(qts, "{ 'execute': 'query-migrate' }");
        QDict *ret = qdict_get_qdict(rsp, "return");
        const char *status = qdict_get_try_str(ret, "status");

        g_assert_cmpstr(status, !=, "failed");
        done = !g_strcmp0(status, "completed");
        qobject_unref(rsp);
        g_assert_true(done || g_get_monotonic_time() < end);
    }
}

static char *save(const Kind *k)
{
    QTestState *qts = qtest_initf(MACHINE "-device %s,id=d", k->device);
    char *file = g_strdup_printf("%s/props-%d", g_get_tmp_dir(), getpid());
    g_autofree char *uri = g_strdup_printf("file:%s", file);

    qtest_qmp_assert_success(qts, "{ 'execute': 'migrate', 'arguments': {"
                             " 'uri': %s } }", uri);
    wait_migrated(qts);
    qtest_quit(qts);
    return file;
}

/* An emulator with the same properties takes @file. */
static void load(const Kind *k, const char *file)
{
    QTestState *qts = qtest_initf(MACHINE "-device %s,id=d -incoming file:%s",
                                  k->device, file);

    wait_migrated(qts);
    qtest_quit(qts);
}

/* What the emulator says that is given @props and should not take @file.  It says so,
 * and ends in order. */
static char *refused(const Kind *k, const char *file, const char *props)
{
    g_autofree char *line = g_strdup_printf(
        "timeout %d %s " MACHINE "-accel qtest -S -device %s,id=d%s%s "
        "-incoming file:%s", (int)(test_patience(120) / G_USEC_PER_SEC),
        getenv("QTEST_QEMU_BINARY"), k->device, *props ? "," : "", props, file);
    g_auto(GStrv) argv = g_strsplit(line, " ", 0);
    char *said = NULL;
    int status;

    g_assert_true(g_spawn_sync(NULL, argv, NULL,
                               G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL,
                               NULL, NULL, NULL, &said, &status, NULL));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_FAILURE) {
        g_test_message("%s: status %x: %s", k->device, status, said);
        g_test_fail();
    }
    return said;
}

static void test_kind(const void *opaque)
{
    const Kind *k = opaque;
    QTestState *qts = qtest_init(MACHINE);
    g_autofree char *file = save(k);
    QList *list = properties(qts, k->device);
    QList *base = properties(qts, "pci-testdev");
    const QListEntry *e;
    unsigned tried = 0;

    load(k, file);
    QLIST_FOREACH_ENTRY(list, e) {
        QDict *d = qobject_to(QDict, qlist_entry_obj(e));
        const char *name = qdict_get_str(d, "name");
        g_autofree char *props = NULL, *said = NULL, *why = NULL;

        if (!qdict_haskey(d, "default-value") || lists(base, name) ||
            g_strv_contains(k->local, name)) {
            continue;
        }
        props = another(k, d);
        why = g_strdup_printf("property '%s' differs", name);
        if (props) {
            said = refused(k, file, props);
            /* Some are in the configuration space, which QEMU compares. */
            if (!strstr(said, why) && !strstr(said, "Bad config data")) {
                g_test_message("%s with %s: %s", k->device, props,
                               *said ? said : "taken");
                g_test_fail();
            }
        }
        tried++;
    }
    g_assert_cmpuint(tried, >, 5);
    qobject_unref(list);
    qobject_unref(base);
    unlink(file);
    qtest_quit(qts);
}

/* ---- lengths ---- */

static void expect_too_long(const Kind *k, const char *file, const char *data,
                            size_t len)
{
    g_autofree char *said = NULL;

    g_assert_true(g_file_set_contents(file, data, len, NULL));
    said = refused(k, file, "");
    if (!strstr(said, "too long")) {
        g_test_message("%s: %s", k->device, said);
        g_test_fail();
    }
}

/* Have a section of @len bytes of waiting frames, of which 4 are there, follow what
 * ends at @at. */
static char *with_frames(const Kind *k, const char *data, size_t *total,
                         size_t at, uint32_t len)
{
    size_t name = strlen(k->frames), more = 2 + name + 4 + 4 + 4;
    char *all = g_malloc0(*total + more), *p = all + at;

    memcpy(all, data, at);
    p[0] = 5;                           /* a subsection */
    p[1] = name;
    memcpy(p + 2, k->frames, name);
    stl_be_p(p + 2 + name, 1);          /* version */
    stl_be_p(p + 6 + name, len);
    memcpy(p + more, data + at, *total - at);
    *total += more;
    return all;
}

/* What a stream says is so long that nobody has memory for it, or that it is
 * negative: it is refused, before there is memory for it. */
static void test_lengths(const void *opaque)
{
    static const uint32_t lengths[] = {
        INT32_MAX, UINT32_C(1) << 31, UINT32_MAX,
    };
    const Kind *k = opaque;
    g_autofree char *file = save(k), *data = NULL, *none = NULL, *said = NULL;
    size_t total, at;
    uint32_t len;

    g_assert_true(g_file_get_contents(file, &data, &total, NULL));
    for (at = 0; memcmp(data + at, k->tag, 4); at++) {
        g_assert_cmpuint(at + 4, <, total);
    }
    len = ldl_be_p(data + at - 4);
    g_assert_cmpuint(len, <, total - at);
    for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
        stl_be_p(data + at - 4, lengths[i]);
        expect_too_long(k, file, data, total);
    }
    /* Nor is there a state of no bytes. */
    stl_be_p(data + at - 4, 0);
    none = g_memdup2(data, total);
    memmove(none + at, none + at + len, total - at - len);
    g_assert_true(g_file_set_contents(file, none, total - len, NULL));
    said = refused(k, file, "");
    g_assert_cmpuint(strlen(said), >, 0);
    stl_be_p(data + at - 4, len);
    for (size_t i = 0; k->frames && i < ARRAY_SIZE(lengths); i++) {
        size_t size = total;
        g_autofree char *all = with_frames(k, data, &size, at + len,
                                           lengths[i]);

        expect_too_long(k, file, all, size);
    }
    if (k->frames) {
        g_autofree char *all = with_frames(k, data, &total, at + len, 4);

        g_assert_true(g_file_set_contents(file, all, total, NULL));
        load(k, file);
    }
    unlink(file);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        g_autofree char *path = g_strdup_printf("/props-migrate/%s",
                                                kinds[i].device);
        g_autofree char *lengths = g_strdup_printf("%s/lengths", path);

        qtest_add_data_func(path, &kinds[i], test_kind);
        qtest_add_data_func(lengths, &kinds[i], test_lengths);
    }
    return g_test_run();
}
