/*
 * Faults on the command line: what -device gives is what the device begins with,
 * for every property fault-* that needs no running device.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "libqtest.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "qobject/qnum.h"
#include "qobject/qstring.h"

#define MACHINE "-M q35 -nodefaults -display none "

static const char *const devices[] = { "ncic-nic", "ncic-mthca", "rclink", "ubc" };

/* Of a queue until the next reset, such as that which begins its life. */
static bool until_reset(const char *name)
{
    return strstr(name, "fault-tx-");
}

/* Not those that have a "default". */
static bool of_faults(const char *name)
{
    return g_str_has_prefix(name, "fault-") || strstr(name, "-fault-");
}

/* A value that each of them can have, and does not have by itself. */
static const char *value_of(const char *name, const char *type)
{
    return !strcmp(type, "UbcFaultCredit") ? "overrun" :
           strstr(name, "action") || !strcmp(type, "uint8") ? "1" : "5";
}

/* What QMP says of it, as text. */
static char *text_of(QObject *value)
{
    QString *text = qobject_to(QString, value);

    return text ? g_strdup(qstring_get_str(text)) :
           g_strdup_printf("%" PRId64, qnum_get_int(qobject_to(QNum, value)));
}

static void test_device(const void *opaque)
{
    const char *device = opaque;
    g_autofree char *line = NULL;
    g_autoptr(GString) props = g_string_new(NULL);
    QTestState *qts = qtest_init(MACHINE);
    QDict *rsp = qtest_qmp(qts, "{ 'execute': 'device-list-properties',"
                           " 'arguments': { 'typename': %s } }", device);
    QList *list = qdict_get_qlist(rsp, "return");
    const QListEntry *e;
    unsigned seen = 0;

    qtest_quit(qts);
    QLIST_FOREACH_ENTRY(list, e) {
        QDict *d = qobject_to(QDict, qlist_entry_obj(e));
        const char *name = qdict_get_str(d, "name");

        if (of_faults(name) && !until_reset(name)) {
            g_string_append_printf(props, ",%s=%s", name,
                                   value_of(name, qdict_get_str(d, "type")));
        }
    }
    qts = qtest_initf(MACHINE "-device %s,id=d%s", device, props->str);
    QLIST_FOREACH_ENTRY(list, e) {
        QDict *d = qobject_to(QDict, qlist_entry_obj(e));
        const char *name = qdict_get_str(d, "name");
        g_autofree char *text = NULL;
        QDict *got;

        if (!of_faults(name) || until_reset(name)) {
            continue;
        }
        got = qtest_qmp(qts, "{ 'execute': 'qom-get', 'arguments': { 'path':"
                        " '/machine/peripheral/d', 'property': %s } }", name);
        text = text_of(qdict_get(got, "return"));
        g_assert_cmpstr(text, ==, value_of(name, qdict_get_str(d, "type")));
        qobject_unref(got);
        seen++;
    }
    g_assert_cmpuint(seen, >=, 22);     /* in and out of one wire */
    qobject_unref(rsp);
    qtest_quit(qts);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
        g_autofree char *path = g_strdup_printf("/faults-props/%s", devices[i]);

        qtest_add_data_func(path, devices[i], test_device);
    }
    return g_test_run();
}
