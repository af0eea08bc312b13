/*
 * One emulator with one device under test
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <sys/un.h>
#include "libqos/malloc-pc.h"
#include "libqos/pci-pc.h"
#include "qobject/qdict.h"
#include "ncic-fixture.h"
#include "../deadline.h"

#define SLOT 4

static Fixture *prepare(void)
{
    Fixture *f = g_new0(Fixture, 1);
    int fd;

    qncic_wire_open(&f->wire);
    fd = g_file_open_tmp("ncic-XXXXXX.log", &f->log, NULL);
    g_assert_cmpint(fd, >=, 0);
    close(fd);
    return f;
}

static void launch(Fixture *f, const char *words)
{
    f->qts = qtest_initf("-M q35 -nodefaults -d guest_errors,invalid_mem -D %s "
                         "%s", f->log, words);
}

static Fixture *start(const char *model, const char *props, const char *more)
{
    Fixture *f = prepare();
    g_autofree char *words =
        g_strdup_printf("-netdev socket,fd=%d,id=hs0 "
                        "-device %s,id=nic,netdev=hs0,addr=%d,"
                        "mac=52:54:00:12:34:56%s%s %s",
                        f->wire.theirs, model, SLOT, *props ? "," : "",
                        props, more);

    launch(f, words);
    return f;
}

void fixture_find(Fixture *f)
{
    pc_alloc_init(&f->alloc, f->qts, ALLOC_NO_FLAGS);
    f->bus = qpci_new_pc(f->qts, &f->alloc);
    f->pci = qpci_device_find(f->bus, QPCI_DEVFN(SLOT, 0));
    g_assert_nonnull(f->pci);
}

Fixture *fixture_start_model(const char *model, const char *props,
                             const char *more)
{
    Fixture *f = start(model, props, more);

    fixture_find(f);
    return f;
}

Fixture *fixture_start_words(const char *words, bool incoming)
{
    Fixture *f = prepare();

    launch(f, words);
    if (!incoming) {
        fixture_find(f);
    }
    return f;
}

Fixture *fixture_start(const char *props, const char *more)
{
    Fixture *f = fixture_start_model("ncic-nic", props, more);

    qncic_init(&f->nic, f->qts, f->pci, &f->alloc);
    return f;
}

/* Takes over the driver's knowledge after migration. */
static void adopt(Fixture *f, const Fixture *from)
{
    fixture_find(f);
    f->nic = from->nic;
    f->nic.qts = f->qts;
    f->nic.pci = f->pci;
    f->nic.bus = f->bus;
    f->nic.alloc = &f->alloc;
}

void fixture_wait_migration(QTestState *qts)
{
    gint64 limit = test_deadline(60);

    for (;;) {
        QDict *rsp = qtest_qmp(qts, "{ 'execute': 'query-migrate' }");
        const char *status =
            qdict_get_try_str(qdict_get_qdict(rsp, "return"), "status");
        bool done = !g_strcmp0(status, "completed");

        g_assert_cmpstr(status, !=, "failed");
        qobject_unref(rsp);
        if (done) {
            return;
        }
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
        g_usleep(10000);
    }
}

Fixture *fixture_migrate(Fixture *from, const char *model, const char *props)
{
    g_autofree char *dir = g_dir_make_tmp("ncic-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "migrate", NULL);
    g_autofree char *uri = g_strdup_printf("unix:%s", path);
    g_autofree char *more = g_strdup_printf("-incoming %s", uri);
    Fixture *to = start(model, props, more);

    qtest_qmp_assert_success(from->qts, "{ 'execute': 'migrate',"
                             " 'arguments': { 'uri': %s } }", uri);
    fixture_wait_migration(from->qts);
    qtest_qmp_eventwait(to->qts, "RESUME");
    adopt(to, from);
    unlink(path);
    rmdir(dir);
    return to;
}

void fixture_stop(Fixture *f)
{
    g_free(f->pci);
    if (f->bus) {
        qpci_free_pc(f->bus);
        alloc_destroy(&f->alloc);
    }
    qtest_quit(f->qts);
    qncic_wire_close(&f->wire);
    unlink(f->log);
    g_free(f->log);
    g_free(f);
}

int fixture_listen(const char *path)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un a = { .sun_family = AF_UNIX };

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpuint(g_strlcpy(a.sun_path, path, sizeof(a.sun_path)), <,
                     sizeof(a.sun_path));
    unlink(path);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&a, sizeof(a)), ==, 0);
    g_assert_cmpint(listen(fd, 1), ==, 0);
    return fd;
}

int fixture_accept(int fd)
{
    int one = accept(fd, NULL, NULL);

    g_assert_cmpint(one, >=, 0);
    return one;
}

void fixture_unplug(QTestState *qts, const char *id)
{
    qtest_qmp_device_del_send(qts, id);
    qtest_system_reset_nowait(qts);
    qtest_qmp_eventwait(qts, "DEVICE_DELETED");
}

bool fixture_logged(Fixture *f, const char *text)
{
    g_autofree char *all = NULL;
    bool found;
    gsize len;

    g_assert_true(g_file_get_contents(f->log, &all, &len, NULL));
    g_assert_cmpuint(len, >=, f->log_seen);
    found = strstr(all + f->log_seen, text);
    f->log_seen = len;
    return found;
}

uint64_t fixture_counter(Fixture *f, const char *name)
{
    QDict *rsp = qtest_qmp(f->qts, "{ 'execute': 'qom-get', 'arguments': {"
                           " 'path': 'nic', 'property': %s } }", name);
    uint64_t value;

    g_assert_true(qdict_haskey(rsp, "return"));
    value = qdict_get_int(rsp, "return");
    qobject_unref(rsp);
    return value;
}

void fixture_wait_counter(Fixture *f, const char *name, uint64_t least)
{
    gint64 limit = test_deadline(10);

    while (fixture_counter(f, name) < least) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
        g_usleep(1000);
    }
}
