/*
 * Attributes of URMA commands: the table against the public list, and what the
 * kernel makes of good and bad ones.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <stdio.h>

#include "tlv.h"

static const struct urma_field *field_of(const struct urma_spec *spec,
                                         unsigned type)
{
    for (unsigned i = 0; i < spec->fields; i++) {
        if (spec->field[i].type == type) {
            return &spec->field[i];
        }
    }
    return NULL;
}

static void line_check(char **words)
{
    bool event = words[0][0] == 'e';
    unsigned command = atoi(words[0] + event), n = 0;
    const struct urma_spec *spec;

    g_assert_cmpuint(command, <, event ? URMA_EVENT_COMMANDS : URMA_COMMANDS);
    spec = event ? &urma_event_specs[command] : &urma_specs[command];
    g_assert_nonnull(spec->name);
    for (char **w = words + 1; *w; w++, n++) {
        unsigned type, size, count = 0, stride = 0;
        const struct urma_field *f;

        g_assert_cmpint(sscanf(*w, "%x:%u*%u/%u", &type, &size, &count,
                               &stride), >=, 2);
        f = field_of(spec, type);
        if (!f) {
            g_error("%s has no attribute %02x", spec->name, type);
        }
        g_assert_cmpuint(f->size, ==, size);
        g_assert_cmpuint(f->count, ==, count);
        g_assert_cmpuint(f->stride, ==, stride);
        g_assert_cmpuint(f->at + f->size, <=, spec->bytes);
    }
    g_assert_cmpuint(spec->fields, ==, n);
}

static void test_table(void)
{
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;
    unsigned n = 0, known = 0;

    g_assert_true(g_file_get_contents(ATTRIBUTES, &text, NULL, NULL));
    lines = g_strsplit(text, "\n", -1);
    for (char **l = lines; *l; l++) {
        g_auto(GStrv) words = g_strsplit(*l, " ", -1);

        if (words[0] && words[0][0] != '#') {
            line_check(words);
            n++;
        }
    }
    for (unsigned i = 0; i < URMA_COMMANDS; i++) {
        known += urma_specs[i].name != NULL;
    }
    for (unsigned i = 0; i < URMA_EVENT_COMMANDS; i++) {
        known += urma_event_specs[i].name != NULL;
    }
    g_assert_cmpuint(n, ==, known);
}

/* Attributes as a library makes them, for the structure at @args. */
static unsigned attrs_make(struct urma_attr *attr,
                           const struct urma_spec *spec, void *args)
{
    for (unsigned i = 0; i < spec->fields; i++) {
        const struct urma_field *f = &spec->field[spec->fields - 1 - i];

        attr[i] = (struct urma_attr) {
            .type = f->type, .size = f->size,
            .elements = f->count ? f->count | f->stride << 12 : 1,
            .data = (uintptr_t)args + f->at,
        };
    }
    return spec->fields;
}

static void test_round(void)
{
    const struct urma_spec *spec = &urma_specs[URMA_CREATE_JFC];
    struct urma_jfc_cmd user = { .depth = 77, .flag = 1, .jfce_fd = -1,
                                 .cookie = 0x1234567890, .ceqn = 3 };
    struct urma_jfc_cmd kernel = { 0 };
    struct urma_attr attr[32];
    unsigned n = attrs_make(attr, spec, &user);

    /* Attributes that the kernel does not know are ignored. */
    attr[n++] = (struct urma_attr) { .type = 0x70, .size = 1 };
    g_assert_cmpint(urma_tlv_get(spec, attr, n, &kernel), ==, 0);
    g_assert_cmpuint(kernel.depth, ==, 77);
    g_assert_cmpint(kernel.jfce_fd, ==, -1);
    g_assert_cmphex(kernel.cookie, ==, 0x1234567890);
    g_assert_cmpuint(kernel.handle, ==, 0);
    kernel.id = 5;
    kernel.depth = 128;
    kernel.handle = 9;
    kernel.cookie = 0;
    g_assert_cmpint(urma_tlv_put(spec, attr, n, &kernel), ==, 0);
    g_assert_cmpuint(user.id, ==, 5);
    g_assert_cmpuint(user.depth, ==, 128);
    g_assert_cmpuint(user.handle, ==, 9);
    g_assert_cmphex(user.cookie, ==, 0x1234567890);
}

static void test_array(void)
{
    const struct urma_spec *spec = &urma_specs[URMA_QUERY_DEV_ATTR];
    struct urma_dev_attr *user = g_new0(struct urma_dev_attr, 1);
    struct urma_dev_attr *kernel = g_new0(struct urma_dev_attr, 1);
    struct urma_attr attr[URMA_ATTRS_MAX];
    unsigned n = attrs_make(attr, spec, user);

    g_assert_cmpint(urma_tlv_get(spec, attr, n, kernel), ==, 0);
    for (unsigned i = 0; i < URMA_PORTS_MAX; i++) {
        kernel->port[i].state = 10 + i;
        kernel->port[i].active_mtu = 20 + i;
    }
    g_assert_cmpint(urma_tlv_put(spec, attr, n, kernel), ==, 0);
    for (unsigned i = 0; i < URMA_PORTS_MAX; i++) {
        g_assert_cmpuint(user->port[i].state, ==, 10 + i);
        g_assert_cmpuint(user->port[i].active_mtu, ==, 20 + i);
        g_assert_cmpuint(user->port[i].max_mtu, ==, 0);
    }
    g_free(user);
    g_free(kernel);
}

/* Every attribute is needed, of its size, count and with memory behind it. */
static void test_bad(void)
{
    for (unsigned c = 0; c < URMA_COMMANDS; c++) {
        const struct urma_spec *spec = &urma_specs[c];
        g_autofree uint8_t *user = g_malloc0(spec->bytes + 8);
        g_autofree uint8_t *kernel = g_malloc0(spec->bytes + 8);
        struct urma_attr attr[URMA_ATTRS_MAX];
        unsigned n = spec->name ? attrs_make(attr, spec, user) : 0;

        for (unsigned i = 0; i < n; i++) {
            const struct urma_attr good = attr[i];
            bool in = good.type < URMA_ATTR_OUT;

            attr[i].type = 0x7f;
            g_assert_cmpint(urma_tlv_get(spec, attr, n, kernel), ==, -EINVAL);
            attr[i] = good;
            attr[i].size++;
            g_assert_cmpint(urma_tlv_get(spec, attr, n, kernel), ==, -EINVAL);
            attr[i] = good;
            attr[i].elements |= 1u << 24;
            g_assert_cmpint(urma_tlv_get(spec, attr, n, kernel), ==, -EINVAL);
            attr[i] = good;
            if (in) {
                attr[i].elements += 1;
                g_assert_cmpint(urma_tlv_get(spec, attr, n, kernel), ==,
                                -EINVAL);
            } else if ((good.elements & 0xfff) > 1) {
                attr[i].elements -= 1;
                g_assert_cmpint(urma_tlv_get(spec, attr, n, kernel), ==,
                                -EINVAL);
                attr[i].elements = good.elements & 0xfff;   /* no stride */
                g_assert_cmpint(urma_tlv_get(spec, attr, n, kernel), ==,
                                -EINVAL);
            }
            attr[i] = good;
            attr[i].data = 0;
            g_assert_cmpint(in ? urma_tlv_get(spec, attr, n, kernel)
                               : urma_tlv_put(spec, attr, n, kernel), ==,
                            -EFAULT);
            attr[i] = good;
        }
        if (n) {
            g_assert_cmpint(urma_tlv_get(spec, attr, n, kernel), ==, 0);
        }
    }
}

static void test_length(void)
{
    g_assert_cmpint(urma_tlv_length(0, 128), ==, -EINVAL);
    g_assert_cmpint(urma_tlv_length(4112, 128), ==, -EINVAL);
    g_assert_cmpint(urma_tlv_length(17, 128), ==, -ENOMEM);
    g_assert_cmpint(urma_tlv_length(128 * 16, 128), ==, -ENOMEM);
    g_assert_cmpint(urma_tlv_length(127 * 16, 128), ==, 0);
    g_assert_cmpint(urma_tlv_length(16 * 16, 16), ==, -ENOMEM);
    g_assert_cmpint(urma_tlv_length(16, 16), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/urma-abi/table", test_table);
    g_test_add_func("/urma-abi/round", test_round);
    g_test_add_func("/urma-abi/array", test_array);
    g_test_add_func("/urma-abi/bad", test_bad);
    g_test_add_func("/urma-abi/length", test_length);
    return g_test_run();
}
