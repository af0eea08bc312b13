/*
 * ubc: every field of appendix D is what docs/conformance/ub-appD-fields.csv says
 * it is: written values come back, the device changes what it shows, and what is
 * fixed, reserved or not announced stays as it is.
 *
 * A wire joins the controller's two ports, so that links come up and fail.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "../link/ubc-driver.h"
#include "ub/errors.h"
#include "ub/lds_hw.h"

#define PORTS 2
#define WORDS 28 /* of the longest field */
#define COMMON "ports=2,route-entries=4,forward=on,entities=bus:urma"

typedef enum Class { RW, ACT, W1C, STATE, FIXED, ABSENT, RESERVED } Class;

typedef struct Field {
    char *name;
    char *space;
    uint32_t base, dw;
    unsigned entity;        /* that has it */
    unsigned lsb, bits;
    Class class;
    bool has_value;
    uint32_t value;
    bool walked;            /* a change must be seen here */
    bool port;
    bool known;             /* `first` is filled in */
    bool sticky;            /* only a device reset resets it */
    uint32_t power_on[WORDS], before[WORDS];
    bool changed, there;
    uint32_t first[PORTS][WORDS];
} Field;

static Field *fields;
static unsigned n_fields;
static unsigned mistakes;

/* Say what is wrong; all of it is told before the test fails. */
G_GNUC_PRINTF(1, 2)
static void wrong(const char *format, ...)
{
    va_list args;
    g_autofree char *text = NULL;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    g_test_message("%s", text);
    mistakes++;
}

/* ---- The table --------------------------------------------------------------------- */

static Class class_of(const char *text)
{
    static const char *const names[] = {
        [RW] = "rw", [ACT] = "act", [W1C] = "w1c", [STATE] = "state",
        [FIXED] = "fixed", [ABSENT] = "absent", [RESERVED] = "reserved",
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        if (!strcmp(names[i], text)) {
            return i;
        }
    }
    g_error("no class '%s'", text);
}

/* Table 10-6; of port 0. */
static uint32_t base_of(const char *space)
{
    uint32_t base = g_str_has_prefix(space, "CFG0") ? UB_CFG0_BASE
                    : g_str_has_prefix(space, "CFG1") ? UB_CFG1_BASE
                    : g_str_has_prefix(space, "PORT") ? UB_CFG_PORT_BASE(0)
                    : UB_CFG_ROUTE_BASE;
    const char *cap = strstr(space, "_CAP");

    return cap ? UB_CFG_CAP(base, atoi(cap + 4)) : base;
}

static void load_field(Field *f, char **column)
{
    unsigned msb = *column[4] == 'Y' ? PORTS - 1 : atoi(column[4]);
    bool whole = !*column[4]; /* a figure's, without bits */

    f->name = g_strdup_printf("%s %s: %s", column[0], column[1], column[3]);
    f->space = g_strdup(column[0]);
    f->base = base_of(column[0]);
    /* The bus controller has the other type. */
    f->entity = strstr(column[0], "INT_TYPE2") ? 1 : 0;
    f->dw = strtoul(column[2], NULL, 0) / 4 +
            (g_str_has_prefix(column[1], "Routing Table Entry") ? 1 : 0);
    f->lsb = atoi(column[5]);
    f->bits = whole ? 32 : msb + 1 - f->lsb;
    f->dw += f->lsb / 32;
    f->lsb %= 32;
    f->class = class_of(column[6]);
    f->has_value = *column[7] && strcmp(column[7], "any");
    f->value = strtoul(column[7], NULL, 16);
    f->walked = !strcmp(column[9], "/ubc-fields/walk");
    f->port = g_str_has_prefix(column[0], "PORT");
    g_assert_cmpuint(f->lsb + f->bits, <=, 32 * WORDS);
}

static void load_table(void)
{
    const char *docs = g_getenv("FABRIC_DOCS");
    g_autofree char *path = g_build_filename(docs ?: "docs", "conformance",
                                             "ub-appD-fields.csv", NULL);
    g_autofree char *document = g_build_filename(docs ?: "docs", "..", "hw",
                                                 "ub", "space",
                                                 "registers.csv", NULL);
    g_autofree char *text = NULL, *more = NULL;
    g_auto(GStrv) line = NULL, theirs = NULL;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_true(g_file_get_contents(document, &more, NULL, NULL));
    line = g_strsplit(text, "\n", 0);
    theirs = g_strsplit(more, "\n", 0);
    fields = g_new0(Field, g_strv_length(line));
    for (unsigned i = 1; line[i] && *line[i]; i++) {
        g_auto(GStrv) column = g_strsplit(line[i], ",", 12);
        g_auto(GStrv) access = g_strsplit(theirs[i], ",", 9);

        g_assert_cmpuint(g_strv_length(column), ==, 12);
        /* The attribute of the same field: RWS, RW1CS, ROS (Table 10-7). */
        g_assert_cmpstr(access[0], ==, column[0]);
        g_assert_cmpstr(access[4], ==, column[3]);
        load_field(&fields[n_fields], column);
        fields[n_fields++].sticky = g_str_has_prefix(access[7], "RWS") ||
                                    g_str_has_prefix(access[7], "RW1CS");
    }
    /* All of the document's. */
    g_assert_cmpuint(n_fields, ==, 1046);
}

/* ---- Access ------------------------------------------------------------------------- */

static uint32_t get(QUbc *d, uint32_t dw)
{
    qubc_write(d, UBC_CFG_ADDR, dw);
    return qubc_read(d, UBC_CFG_DATA);
}

static void put(QUbc *d, uint32_t dw, uint32_t value)
{
    qubc_write(d, UBC_CFG_ADDR, dw);
    qubc_write(d, UBC_CFG_DATA, value);
}

/* The Entity of a field, and Entity 0 again. */
static void enter(QUbc *d, const Field *f)
{
    if (f->entity) {
        qubc_write(d, UBC_CFG_ENTITY, f->entity);
    }
}

static void leave(QUbc *d, const Field *f)
{
    if (f->entity) {
        qubc_write(d, UBC_CFG_ENTITY, 0);
    }
}

static uint32_t base_at(const Field *f, unsigned port)
{
    return f->base + (f->port ? port * 0x10000 : 0);
}

static unsigned words_of(const Field *f)
{
    return (f->lsb + f->bits + 31) / 32;
}

/* The bits of the field in its dword @i. */
static uint32_t mask_of(const Field *f, unsigned i)
{
    unsigned from = i ? 0 : f->lsb, end = MIN(f->lsb + f->bits - 32 * i, 32);

    return (end == 32 ? ~0u : (1u << end) - 1) & ~((1u << from) - 1);
}

static uint32_t read_field(QUbc *d, const Field *f, unsigned port, unsigned i)
{
    uint32_t value;

    enter(d, f);
    value = get(d, base_at(f, port) + f->dw + i) & mask_of(f, i);
    leave(d, f);
    return value;
}

/* Bits of a dword whose writing would do something else. */
static uint32_t other_acts(const Field *f, unsigned i)
{
    uint32_t acts = 0;

    for (unsigned k = 0; k < n_fields; k++) {
        const Field *g = &fields[k];

        if (g->base == f->base && (g->class == ACT || g->class == W1C) &&
            f->dw + i >= g->dw && f->dw + i < g->dw + words_of(g)) {
            acts |= mask_of(g, f->dw + i - g->dw);
        }
    }
    return acts;
}

/* Write only bits of this field, of a dword that keeps its others. */
static void write_field(QUbc *d, const Field *f, unsigned i, uint32_t value)
{
    uint32_t dw = f->base + f->dw + i, mask = mask_of(f, i), keep;

    enter(d, f);
    keep = get(d, dw) & ~mask & ~other_acts(f, i);
    put(d, dw, keep | (value & mask));
    leave(d, f);
}

static bool is_there(QUbc *d, const Field *f)
{
    bool there;

    enter(d, f);
    there = get(d, f->base) != 0;
    leave(d, f);
    return there;
}

/* ---- Steps -------------------------------------------------------------------------- */

/* Look at every field: has it another value than at first? */
static void sample(QUbc *d)
{
    for (unsigned k = 0; k < n_fields; k++) {
        Field *f = &fields[k];

        if (f->class != STATE && f->class != W1C) {
            continue;
        }
        for (unsigned p = 0; p < (f->port ? PORTS : 1); p++) {
            for (unsigned i = 0; i < words_of(f); i++) {
                uint32_t v = read_field(d, f, p, i);

                if (!f->known) {
                    f->first[p][i] = v;
                }
                f->changed |= v != f->first[p][i] || v != f->first[0][i];
            }
        }
        f->known = true;
    }
}

static void check_still(QUbc *d, const Field *f)
{
    for (unsigned i = 0; i < words_of(f); i++) {
        uint32_t was = read_field(d, f, 0, i), mask = mask_of(f, i);
        bool nothing = f->class == ABSENT || f->class == RESERVED;

        if (nothing && was) {
            wrong("%s is not 0 but %x", f->name, was);
        }
        if (f->class == FIXED && f->has_value &&
            was != (f->value << f->lsb & mask)) {
            wrong("%s is %x", f->name, was);
        }
        write_field(d, f, i, ~was);
        if (read_field(d, f, 0, i) != was) {
            wrong("%s was written: %x", f->name, read_field(d, f, 0, i));
        }
    }
}

static void check_written(QUbc *d, const Field *f)
{
    for (unsigned i = 0; i < words_of(f); i++) {
        uint32_t was = read_field(d, f, 0, i), mask = mask_of(f, i);
        uint32_t other = f->has_value ? f->value << f->lsb & mask : ~was & mask;

        write_field(d, f, i, other);
        if (read_field(d, f, 0, i) != other) {
            wrong("%s does not keep %x, but %x", f->name, other,
                    read_field(d, f, 0, i));
        }
        if (was == other) {
            wrong("%s is %x already", f->name, was);
        }
        write_field(d, f, i, was);
        if (read_field(d, f, 0, i) != was) {
            wrong("%s does not go back to %x", f->name, was);
        }
    }
}

/* What can be seen of a controller whose links are down. */
static void walk_registers(QUbc *d)
{
    for (unsigned k = 0; k < n_fields; k++) {
        Field *f = &fields[k];
        bool there = is_there(d, f);

        if (f->class == ABSENT) {
            g_assert_false(there);
        }
        f->there |= there;
        if (f->class == FIXED && !there) {
            continue; /* of a data rate that the other mode has */
        }
        if (f->class == RW && there) {
            check_written(d, f);
        } else if (f->class != W1C && f->class != ACT &&
                   (f->class != STATE || !strstr(f->name, "Consumer"))) {
            check_still(d, f);
        }
    }
}

/* A bit of a capability bitmap and the header of its slice say the same. */
static void check_bitmaps(QUbc *d)
{
    static const struct {
        uint32_t base, bitmap;
    } basics[] = {
        { UB_CFG0_BASE, UB_CFG0_CAP_BITMAP },
        { UB_CFG1_BASE, UB_CFG1_CAP_BITMAP },
        { UB_CFG_PORT_BASE(0), UB_PORT_CAP_BITMAP },
        { UB_CFG_PORT_BASE(1), UB_PORT_CAP_BITMAP },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(basics); i++) {
        for (unsigned cap = 1; cap < 256; cap++) {
            uint32_t word = get(d, basics[i].base + basics[i].bitmap + cap / 32);

            g_assert_cmpuint(word >> cap % 32 & 1, ==,
                             !!get(d, UB_CFG_CAP(basics[i].base, cap)));
        }
        g_assert_cmpuint(get(d, basics[i].base + basics[i].bitmap) & 1, ==, 0);
    }
}

/* ---- What makes a controller show something --------------------------------------------- */

typedef struct Loop {
    char *dir, *path;
    QUbc *d;
} Loop;

static void loop_start(Loop *l, const char *mode)
{
    g_autofree char *more = NULL, *props = NULL;

    l->dir = g_dir_make_tmp("ubc-XXXXXX", NULL);
    l->path = g_build_filename(l->dir, "wire", NULL);
    more = g_strdup_printf("-chardev socket,id=w0,path=%s,server=on,wait=off "
                           "-chardev socket,id=w1,path=%s,reconnect-ms=100",
                           l->path, l->path);
    props = g_strdup_printf(COMMON ",chardev0=w0,chardev1=w1,%s", mode);
    l->d = qubc_start_attached(props, more);
}

static void loop_stop(Loop *l)
{
    qubc_stop(l->d);
    unlink(l->path);
    rmdir(l->dir);
    g_free(l->path);
    g_free(l->dir);
}

static void links_up(QUbc *d)
{
    for (unsigned p = 0; p < PORTS; p++) {
        qubc_port_write(d, p, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    }
    QUBC_WAIT(qubc_up(d, 0) && qubc_up(d, 1));
}

static void links_down(QUbc *d)
{
    for (unsigned p = 0; p < PORTS; p++) {
        qubc_port_write(d, p, UBC_PORT_CTRL, 0);
    }
    QUBC_WAIT(!qubc_up(d, 0) && !qubc_up(d, 1));
}

#define DEVICE_RECORD UB_CFG_CAP(UB_CFG0_BASE, UB_CAP_DEV_ERR)
#define PORT_RECORD(p) UB_CFG_PORT_CAP(p, UB_CAP_PORT_ERR)
#define EMQ(reg) (UB_CFG_CAP(UB_CFG0_BASE, UB_CAP_EMQ) + (reg))
#define DEVICE_INJECT (UB_CFG_CAP(UB_CFG0_BASE, 240) + 1)
#define PORT_INJECT(p) \
    (UB_CFG_PORT_CAP(p, UB_CAP_PORT_VD) + UB_PORT_VD_ERROR_INJECTION)

/* Every error of a record, by each severity, and cleared again. */
static void all_errors(QUbc *d, uint32_t record, uint32_t inject)
{
    static const struct {
        uint32_t ce_severity, uce_severity, ce, uce;
    } rows[] = {
        { ~0u, 0, UB_ERRORS_ALL & ~0x30000000u, 0x30000000u },
        { 0, ~0u, UB_ERRORS_ALL & ~0x38b00000u, 0x38b00000u },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        put(d, record + UB_PORT_ERR_CE_SEVERITY, rows[i].ce_severity);
        put(d, record + UB_PORT_ERR_UCE_SEVERITY, rows[i].uce_severity);
        put(d, record + UB_PORT_ERR_CE_MASK, 0);
        put(d, inject, ~0u);
        g_assert_cmphex(get(d, record + UB_PORT_ERR_CE_STATUS), ==, rows[i].ce);
        g_assert_cmphex(get(d, record + UB_PORT_ERR_UCE_STATUS), ==,
                        rows[i].uce);
        sample(d);
        put(d, record + UB_PORT_ERR_CE_STATUS, ~0u);
        put(d, record + UB_PORT_ERR_UCE_STATUS, ~0u);
        g_assert_cmphex(get(d, record + UB_PORT_ERR_CE_STATUS), ==, 0);
        g_assert_cmphex(get(d, record + UB_PORT_ERR_UCE_STATUS), ==, 0);
    }
}

/* Registers of the error message queues, by severity. */
static const struct {
    uint32_t ctl, status, ci, pi, info;
    uint32_t error, ce_severity, uce_severity;
} queues[] = {
    { UB_EMQ_CE_CTL, UB_EMQ_CE_STATUS, UB_EMQ_CE_CI, UB_EMQ_CE_PI,
      UB_EMQ_CE_INFO, 1u << 4, ~0u, 0 },
    { UB_EMQ_NFUE_CTL, UB_EMQ_NFUE_STATUS, UB_EMQ_NFUE_CI, UB_EMQ_NFUE_PI,
      UB_EMQ_NFUE_INFO, 1u << 28, ~0u, 0 },
    { UB_EMQ_FUE_CTL, UB_EMQ_FUE_STATUS, UB_EMQ_FUE_CI, UB_EMQ_FUE_PI,
      UB_EMQ_FUE_INFO, 1u << 28, ~0u, ~0u },
};

/* One error of a record into the queue @i. */
static void one_error(QUbc *d, unsigned i, uint32_t record, uint32_t inject)
{
    put(d, record + UB_PORT_ERR_CE_SEVERITY, queues[i].ce_severity);
    put(d, record + UB_PORT_ERR_UCE_SEVERITY, queues[i].uce_severity);
    put(d, record + UB_PORT_ERR_CE_STATUS, ~0u);
    put(d, record + UB_PORT_ERR_UCE_STATUS, ~0u);
    put(d, inject, queues[i].error);
}

static void error_queues(QUbc *d)
{
    put(d, UB_CFG0_PRIMARY_CNA, 0x123);
    put(d, EMQ(UB_EMQ_CTL), 7);
    for (unsigned i = 0; i < G_N_ELEMENTS(queues); i++) {
        uint32_t pi = get(d, EMQ(queues[i].pi));

        one_error(d, i, PORT_RECORD(1), PORT_INJECT(1));
        QUBC_WAIT(get(d, EMQ(queues[i].pi)) != pi);
        sample(d);
        /* Masked in the record: the next that comes is another's. */
        pi = get(d, EMQ(queues[i].pi));
        put(d, PORT_RECORD(1) + UB_PORT_ERR_CE_MASK, ~0u);
        put(d, PORT_RECORD(1) + UB_PORT_ERR_UCE_MASK, ~0u);
        one_error(d, i, PORT_RECORD(1), PORT_INJECT(1));
        put(d, PORT_RECORD(1) + UB_PORT_ERR_CE_MASK, 0);
        put(d, PORT_RECORD(1) + UB_PORT_ERR_UCE_MASK, 0);
        one_error(d, i, DEVICE_RECORD, DEVICE_INJECT);
        QUBC_WAIT(get(d, EMQ(queues[i].pi)) != pi);
        /* The entry of the device. */
        put(d, EMQ(queues[i].ci), pi);
        g_assert_cmphex(get(d, EMQ(queues[i].info)), ==, 0x123);
        g_assert_cmphex(get(d, EMQ(queues[i].info) + 1), ==, 1u << 31);
        sample(d);
        for (unsigned n = 0; !(get(d, EMQ(queues[i].status)) & 1u << 8); n++) {
            g_assert_cmpuint(n, <, 10000);
            one_error(d, i, DEVICE_RECORD, DEVICE_INJECT);
        }
        sample(d);
        put(d, EMQ(queues[i].status), ~0u);
        g_assert_cmphex(get(d, EMQ(queues[i].status)), ==, 0);
    }
}

/* An eye of a lane that is lit. */
static void look_at_eyes(QUbc *d)
{
    put(d, UB_CFG_PORT_CAP(0, UB_CAP_EYE) + UB_EYE_CTL_1, 0xff);
    sample(d);
}

static void entity_reset(QUbc *d)
{
    put(d, UB_CFG1_BASE + UB_CFG1_DEV_TOKEN_ID, 0x5);
    put(d, UB_CFG1_BASE + UB_CFG1_ELR, 1);
    g_assert_cmphex(get(d, UB_CFG1_BASE + UB_CFG1_DEV_TOKEN_ID), ==, 0);
    sample(d);
}

/* A new machine: what it shows at first. */
static void forget(QUbc *d)
{
    for (unsigned k = 0; k < n_fields; k++) {
        fields[k].known = false;
    }
    sample(d);
}

static void walk(const char *mode)
{
    Loop l;
    QUbc *d;

    loop_start(&l, mode);
    d = l.d;
    forget(d);
    check_bitmaps(d);
    walk_registers(d);
    put(d, UB_CFG_CAP(UB_CFG1_BASE, UB_LDS_CAP) + UB_LDS_VD_VECTOR, 3);
    sample(d);
    /* While nothing else can go wrong. */
    all_errors(d, DEVICE_RECORD, DEVICE_INJECT);
    for (unsigned p = 0; p < PORTS; p++) {
        all_errors(d, PORT_RECORD(p), PORT_INJECT(p));
    }
    error_queues(d);
    links_up(d);
    sample(d);
    look_at_eyes(d);
    entity_reset(d);
    links_down(d);
    sample(d);
    loop_stop(&l);
}

/* A link that trains to a rate below the highest. */
static void train(const char *mode)
{
    Loop l;

    loop_start(&l, mode);
    forget(l.d);
    links_up(l.d);
    sample(l.d);
    loop_stop(&l);
}

static void test_walk(void)
{
    walk("phy-mode=2");
    walk("phy-mode=1");
    train("phy-mode=2,max-rate=4");
    train("phy-mode=2,max-rate=2,precode=65535");
    train("phy-mode=1,max-rate=5");
    train("phy-mode=1,max-rate=3,precode=65535");
    for (unsigned k = 0; k < n_fields; k++) {
        const Field *f = &fields[k];

        if (f->class != ABSENT && !f->there) {
            wrong("%s: its slice is never there", f->name);
        } else if (f->walked && !f->changed &&
                   (f->class == STATE || f->class == W1C)) {
            wrong("%s never changed", f->name);
        }
    }
    g_assert_cmpuint(mistakes, ==, 0);
}

/* ---- Resets -------------------------------------------------------------------------- */

enum { ELR, PORT, DEVICE, RESETS };

static const uint32_t reset_trigger[RESETS] = {
    [ELR] = UB_CFG1_BASE + UB_CFG1_ELR,
    [PORT] = UB_CFG_PORT_BASE(0) + UB_PORT_RST,
    [DEVICE] = UB_CFG0_DEV_RST,
};

static void scribble(QUbc *d)
{
    put(d, UB_CFG0_UEID, 0x77);
    put(d, UB_CFG1_BASE + UB_CFG1_DEV_TOKEN_ID, 0x88);
    put(d, UB_CFG_PORT_BASE(0) + UB_PORT_CNA, 0x99);
    put(d, UB_CFG_PORT_BASE(1) + UB_PORT_CNA, 0xaa);
    put(d, PORT_RECORD(0) + UB_PORT_ERR_CE_MASK, 0);
    put(d, PORT_INJECT(0), 1u << 4);
    put(d, DEVICE_INJECT, 1u << 4);
}

/* What each kind of reset leaves: Table 10-7, §10.6.1. */
static void test_resets(void)
{
    static const struct {
        const char *what;
        uint32_t dw;
        bool left[RESETS];
    } rows[] = {
        { "UEID", UB_CFG0_UEID, { true, true, false } },
        { "DEV_TOKEN_ID", UB_CFG1_BASE + UB_CFG1_DEV_TOKEN_ID,
          { false, true, false } },
        { "CNA of port 0", UB_CFG_PORT_BASE(0) + UB_PORT_CNA,
          { true, false, false } },
        { "CNA of port 1", UB_CFG_PORT_BASE(1) + UB_PORT_CNA,
          { true, true, false } },
        /* Sticky. */
        { "errors of port 0", PORT_RECORD(0) + UB_PORT_ERR_CE_STATUS,
          { true, true, false } },
        { "errors of the device", DEVICE_RECORD + UB_PORT_ERR_CE_STATUS,
          { true, true, false } },
    };
    QUbc *d = qubc_start_attached(COMMON, "");

    for (unsigned r = 0; r < RESETS; r++) {
        scribble(d);
        put(d, reset_trigger[r], 1);
        /* A device reset is done by the next turn. */
        QUBC_WAIT(r != DEVICE || !get(d, UB_CFG0_UEID));
        g_assert_cmphex(get(d, reset_trigger[r]), ==, 0);
        for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
            if (!!get(d, rows[i].dw) != rows[i].left[r]) {
                g_error("%s is %x after reset %u", rows[i].what,
                        get(d, rows[i].dw), r);
            }
        }
    }
    qubc_stop(d);
}

/* All that software can change, of Entity 0, of port 0 and of the route table, and all
 * that it clears. */
static bool in_sweep(const Field *f)
{
    return !f->entity && (f->class == RW || f->class == W1C);
}

static void take_all(QUbc *d, size_t where)
{
    for (unsigned k = 0; k < n_fields; k++) {
        Field *f = &fields[k];
        uint32_t *to = (uint32_t *)((char *)f + where);

        for (unsigned i = 0; i < words_of(f) && in_sweep(f); i++) {
            to[i] = read_field(d, f, 0, i);
        }
    }
}

/* Everything is another than at power-on, as far as it lets itself be. */
static void change_all(QUbc *d)
{
    for (unsigned k = 0; k < n_fields; k++) {
        Field *f = &fields[k];

        for (unsigned i = 0; i < words_of(f) && in_sweep(f) && f->class == RW;
             i++) {
            uint32_t mask = mask_of(f, i);

            write_field(d, f, i, f->has_value ? f->value << f->lsb & mask
                                              : ~f->power_on[i] & mask);
        }
    }
    put(d, DEVICE_INJECT, ~0u);
    put(d, PORT_INJECT(0), ~0u);
}

static bool reset_reaches(const Field *f, unsigned kind)
{
    return kind == DEVICE ||
           (!f->sticky && f->base >= UB_CFG1_BASE &&
            (kind == ELR ? f->base < UB_CFG_PORT_BASE(0)
                         : f->port));
}

/* Each kind of reset puts back what is in its domain, but for sticky bits, and leaves the
 * rest: of every field. */
static void test_sweep(void)
{
    QUbc *d = qubc_start_attached(COMMON, "");
    unsigned changed = 0, sticky = 0;

    take_all(d, offsetof(Field, power_on));
    for (unsigned r = 0; r < RESETS; r++) {
        change_all(d);
        take_all(d, offsetof(Field, before));
        put(d, reset_trigger[r], 1);
        QUBC_WAIT(r != DEVICE || !get(d, UB_CFG0_UEID));
        for (unsigned k = 0; k < n_fields; k++) {
            const Field *f = &fields[k];

            for (unsigned i = 0; i < words_of(f) && in_sweep(f); i++) {
                uint32_t now = read_field(d, f, 0, i);
                uint32_t want = reset_reaches(f, r) ? f->power_on[i]
                                                    : f->before[i];

                changed += f->before[i] != f->power_on[i];
                sticky += f->sticky && f->before[i] != f->power_on[i];
                if (now != want) {
                    wrong("%s is %x after reset %u, not %x", f->name, now, r,
                          want);
                }
            }
        }
        put(d, reset_trigger[DEVICE], 1);
        QUBC_WAIT(!get(d, UB_CFG0_UEID));
    }
    g_assert_cmpuint(changed, >, 3 * 250);
    g_assert_cmpuint(sticky, >, 3 * 20);
    g_assert_cmpuint(mistakes, ==, 0);
    qubc_stop(d);
}

/* ---- Properties that make more of it ----------------------------------------------------- */

/* What fields are with slots=1+ and eid-upi=8 that are fixed or absent without. */
static const struct {
    const char *space, *field;
    Class class;
    int value;              /* -1: any */
} with[] = {
    { "CFG0_BASIC", "Trust_EN", RW, -1 },
    { "CFG1_BASIC", "EID_UPI_TAB", RW, -1 },
    { "CFG1_BASIC", "EID_UPI_TEN", FIXED, 8 },
    { "CFG0_CAP2_SHP", "Slice Used Size", FIXED, -1 },
    { "CFG0_CAP2_SHP", "Slice Version", FIXED, 0 },
    { "CFG0_CAP2_SHP", "Slot Number", FIXED, 1 },
    { "CFG0_CAP2_SHP", "PWCS", FIXED, 1 },
    { "CFG0_CAP2_SHP", "PDSS", FIXED, 1 },
    { "CFG0_CAP2_SHP", "PLPS", FIXED, 1 },
    { "CFG0_CAP2_SHP", "WLPS", FIXED, 1 },
    { "CFG0_CAP2_SHP", "PPS", FIXED, 1 },
    { "CFG0_CAP2_SHP", "Slot End Port Index", FIXED, 1 },
    { "CFG0_CAP2_SHP", "Slot Start Port Index", FIXED, 1 },
    { "CFG0_CAP2_SHP", "PP_CTRL", RW, -1 },
    { "CFG0_CAP2_SHP", "WL_CTRL", RW, 1 },
    { "CFG0_CAP2_SHP", "PL_CTRL", RW, 1 },
    { "CFG0_CAP2_SHP", "MS_CTRL", RW, -1 },
    { "CFG0_CAP2_SHP", "PD_CTRL", RW, -1 },
    { "CFG0_CAP2_SHP", "PDS_CTRL", RW, -1 },
    { "CFG0_CAP2_SHP", "PW_CTRL", RW, -1 },
    { "CFG0_CAP2_SHP", "PP_ST", STATE, -1 },
    { "CFG0_CAP2_SHP", "PD_ST", STATE, -1 },
    { "CFG0_CAP2_SHP", "PDSC_ST", STATE, -1 },
    { "CFG0_CAP2_SHP", "RSVD", RESERVED, -1 },
};

static void test_with(void)
{
    QUbc *d = qubc_start_attached(COMMON ",slots=1+,eid-upi=8", "");
    unsigned walked = 0;

    check_bitmaps(d);
    for (unsigned k = 0; k < n_fields; k++) {
        Field f = fields[k];
        unsigned w = 0;

        while (w < G_N_ELEMENTS(with) &&
               (strcmp(f.space, with[w].space) ||
                !g_str_has_suffix(f.name, with[w].field))) {
            w++;
        }
        if (w == G_N_ELEMENTS(with)) {
            /* Nothing else of that slice. */
            g_assert_cmpstr(f.space, !=, "CFG0_CAP2_SHP");
            continue;
        }
        if (f.class != ABSENT && with[w].class == RESERVED) {
            continue;       /* of another slice */
        }
        walked++;
        f.class = with[w].class;
        f.has_value = with[w].value >= 0;
        f.value = with[w].value;
        g_assert_true(is_there(d, &f));
        if (f.class == RW) {
            check_written(d, &f);
        } else {
            check_still(d, &f);
        }
    }
    g_assert_cmpuint(walked, >=, G_N_ELEMENTS(with));
    g_assert_cmpuint(mistakes, ==, 0);
    qubc_stop(d);
}

/* ---- Entities ------------------------------------------------------------------------- */

static void test_entities(void)
{
    QUbc *d = qubc_start_attached(COMMON, "");
    uint32_t first[4];

    g_assert_cmphex(get(d, UB_CFG0_TOTAL_NUMBER_OF_PORTS), ==, 0x00020002);
    for (unsigned i = 0; i < 4; i++) {
        first[i] = get(d, UB_CFG0_GUID + i);
    }
    qubc_write(d, UBC_CFG_ENTITY, 2);
    g_assert_cmphex(qubc_read(d, UBC_CFG_ENTITY), ==, 0);
    g_assert_true(qubc_logged(d, "an Entity that does not exist"));
    qubc_write(d, UBC_CFG_ENTITY, 1);
    /* An Entity of its own, without what Entity 0 alone has. */
    g_assert_cmphex(get(d, UB_CFG0_TOTAL_NUMBER_OF_PORTS), ==, 2);
    g_assert_cmphex(get(d, UB_CFG0_GUID), ==, first[0] + 1);
    g_assert_cmphex(get(d, UB_CFG0_GUID + 3), ==, first[3]);
    g_assert_cmphex(get(d, UB_CFG1_BASE + UB_CFG1_CLASS_CODE), ==, 2);
    g_assert_cmphex(get(d, UB_CFG1_BASE + UB_CFG1_CAP_BITMAP), ==,
                    1u << UB_CAP_JETTY | 1u << UB_CAP_INT_TYPE2);
    g_assert_cmphex(get(d, UB_CFG_PORT_BASE(0)), ==, 0);
    g_assert_cmphex(get(d, UB_CFG_ROUTE_BASE), ==, 0);
    /* DEN_RO, DE0_EO, and what each Entity has. */
    for (unsigned i = 0; i < 2; i++) {
        static const struct {
            uint32_t dw;
            uint32_t got[2];
        } rows[] = {
            { UB_CFG0_EID, { 0x5, 0x5 } },
            { UB_CFG0_UPI, { 0x5, 0x5 } },
            { UB_CFG0_UCNA, { 0x5, 0x5 } },
            { UB_CFG0_PRIMARY_CNA, { 0x5, 0 } },
            { UB_CFG0_UBFM_EID, { 0x5, 0 } },
            { UB_CFG0_CC_EN, { 0x1, 0 } },
            { UB_CFG0_UBFM_CNA, { 0x5, 0 } },
            { UB_CFG1_BASE + UB_CFG1_DEV_TOKEN_ID, { 0x5, 0x5 } },
        };

        qubc_write(d, UBC_CFG_ENTITY, i);
        for (unsigned k = 0; k < G_N_ELEMENTS(rows); k++) {
            put(d, rows[k].dw, 5);
            g_assert_cmphex(get(d, rows[k].dw), ==, rows[k].got[i]);
        }
    }
    /* ELR is of one Entity; DEV_RST is of Entity 0 and of all. */
    put(d, UB_CFG1_BASE + UB_CFG1_ELR, 1);
    g_assert_cmphex(get(d, UB_CFG1_BASE + UB_CFG1_ELR_DONE), ==, 1);
    g_assert_cmphex(get(d, UB_CFG1_BASE + UB_CFG1_DEV_TOKEN_ID), ==, 0);
    g_assert_cmphex(get(d, UB_CFG0_EID), ==, 5);
    put(d, UB_CFG0_DEV_RST, 1);
    qubc_write(d, UBC_CFG_ENTITY, 0);
    g_assert_cmphex(get(d, UB_CFG1_BASE + UB_CFG1_DEV_TOKEN_ID), ==, 5);
    put(d, UB_CFG0_DEV_RST, 1);
    QUBC_WAIT(!get(d, UB_CFG0_EID));
    qubc_write(d, UBC_CFG_ENTITY, 1);
    g_assert_cmphex(get(d, UB_CFG0_EID), ==, 0);
    qubc_stop(d);
}

/* A User's BAR0 reads CFG0 and writes CFG1. */
static void test_rights(void)
{
    QUbc *d = qubc_start_attached(COMMON ",rights=user", "");

    put(d, UB_CFG0_EID, 5);
    put(d, UB_CFG_PORT_BASE(0) + UB_PORT_CNA, 5);
    put(d, UB_CFG_ROUTE_BASE + UB_ROUTE_DEFAULT_ROUTING_TABLE, 0);
    g_assert_cmphex(get(d, UB_CFG0_EID), ==, 0);
    g_assert_cmphex(get(d, UB_CFG_PORT_BASE(0) + UB_PORT_CNA), ==, 0);
    g_assert_cmphex(get(d, UB_CFG_ROUTE_BASE + UB_ROUTE_DEFAULT_ROUTING_TABLE),
                    !=, 0);
    g_assert_cmphex(qubc_read(d, UBC_GUEST_ERRORS), ==, 3);
    g_assert_true(qubc_logged(d, "CFG0 is the manager's to write"));
    qubc_cfg_write(d, UB_CFG0_UPI, 5);
    g_assert_cmphex(qubc_cfg_read(d, UB_CFG0_UPI), ==, 0);
    put(d, UB_CFG1_BASE + UB_CFG1_DEV_TOKEN_ID, 5);
    g_assert_cmphex(get(d, UB_CFG1_BASE + UB_CFG1_DEV_TOKEN_ID), ==, 5);
    qubc_stop(d);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    load_table();
    qtest_add_func("/ubc-fields/walk", test_walk);
    qtest_add_func("/ubc-fields/resets", test_resets);
    qtest_add_func("/ubc-fields/reset-sweep", test_sweep);
    qtest_add_func("/ubc-fields/with", test_with);
    qtest_add_func("/ubc-fields/entities", test_entities);
    qtest_add_func("/ubc-fields/rights", test_rights);
    return g_test_run();
}
