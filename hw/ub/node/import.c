/*
 * Imports: rows of the table of destinations with the channels that they need, made
 * and shared on demand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "core/bytes.h"
#include "internal.h"

#define IMPORTS_MAX 65536u
/* Of one channel, so that what happens to it takes little time. */
#define ROWS_MAX 4096u
/* The parameters that say who and how: from UBQ_DST_WAY up to UBQ_IMP_FLAGS. */
#define KEY_LEN (UBQ_IMP_FLAGS + 1 - UBQ_DST_WAY)
#define KEY(field) ((field) - UBQ_DST_WAY)

typedef struct Import Import;

/* A channel of one or several rows. */
typedef struct Channel {
    uint8_t key[UBQ_DST_CARRIER - UBQ_DST_WAY + 1];     /* way, mode */
    uint32_t tpn;
    Import *rows;
    uint32_t count;             /* of them */
    bool up, own;
} Channel;

struct Import {
    uint8_t key[KEY_LEN];
    uint32_t row;
    uint32_t users;
    Channel *channel;           /* NULL: not of RTP */
    Import *next, **link;       /* of the same channel; what leads to it */
};

struct NodeImports {
    GHashTable *rows;           /* Import by row */
    GHashTable *keys;           /* those that may be shared, by key */
    GHashTable *tpns;           /* Channel by TPN */
    GHashTable *ways;           /* those that may be shared, by key */
    uint32_t hint;              /* where a free row may be */
};

static guint bytes_hash(const uint8_t *p, unsigned n)
{
    guint h = 2166136261u;

    while (n--) {
        h = (h ^ *p++) * 16777619u;
    }
    return h;
}

static guint import_hash(gconstpointer p)
{
    return bytes_hash(p, KEY_LEN);
}

static gboolean import_same(gconstpointer a, gconstpointer b)
{
    return !memcmp(a, b, KEY_LEN);
}

static guint channel_hash(gconstpointer p)
{
    return bytes_hash(p, sizeof(((Channel *)0)->key));
}

static gboolean channel_same(gconstpointer a, gconstpointer b)
{
    return !memcmp(a, b, sizeof(((Channel *)0)->key));
}

NodeImports *node_imports_new(void)
{
    NodeImports *all = g_new0(NodeImports, 1);

    all->rows = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    all->keys = g_hash_table_new(import_hash, import_same);
    all->tpns = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    all->ways = g_hash_table_new(channel_hash, channel_same);
    return all;
}

void node_imports_reset(NodeImports *all)
{
    g_hash_table_remove_all(all->keys);
    g_hash_table_remove_all(all->ways);
    g_hash_table_remove_all(all->rows);
    g_hash_table_remove_all(all->tpns);
    all->hint = 0;
}

void node_imports_free(NodeImports *all)
{
    g_hash_table_unref(all->keys);
    g_hash_table_unref(all->ways);
    g_hash_table_unref(all->rows);
    g_hash_table_unref(all->tpns);
    g_free(all);
}

static Import *import_of(NodeImports *all, uint32_t row)
{
    return g_hash_table_lookup(all->rows, GUINT_TO_POINTER(row));
}

static Channel *channel_of(NodeImports *all, uint32_t tpn)
{
    return g_hash_table_lookup(all->tpns, GUINT_TO_POINTER(tpn));
}

bool node_import_has_row(UbNode *node, uint32_t row)
{
    return import_of(node_imports(node), row);
}

bool node_import_has_channel(UbNode *node, uint32_t tpn)
{
    return channel_of(node_imports(node), tpn);
}

/* ---- Channels --------------------------------------------------------------------- */

static void channel_link(NodeImports *all, Channel *ch)
{
    g_hash_table_insert(all->tpns, GUINT_TO_POINTER(ch->tpn), ch);
    if (!ch->own) {
        g_hash_table_insert(all->ways, ch->key, ch);
    }
}

static void channel_free(NodeImports *all, Channel *ch)
{
    if (!ch->own) {
        g_hash_table_remove(all->ways, ch->key);
    }
    g_hash_table_remove(all->tpns, GUINT_TO_POINTER(ch->tpn));
}

static void channel_join(Channel *ch, Import *i)
{
    i->channel = ch;
    i->next = ch->rows;
    i->link = &ch->rows;
    if (i->next) {
        i->next->link = &i->next;
    }
    ch->rows = i;
    ch->count++;
}

static void channel_leave(Import *i)
{
    *i->link = i->next;
    if (i->next) {
        i->next->link = i->link;
    }
    i->channel->count--;
}

/* A channel by @flow in the making, of number *@tpn. */
static unsigned channel_connect(UbNode *node, int64_t now, const UbTaDest *dest,
                                uint32_t *tpn)
{
    UbTp *tp = ub_node_tp(node);
    UbTpAttr attr;
    UbTpResult r;

    ub_tp_attr_init(tp, &attr);
    attr.flow = dest->tp.flow;
    attr.mtu = dest->mtu;
    *tpn = UB_TP_NONE;
    r = ub_tp_create(tp, tpn, &attr);
    if (r == UB_TPR_OK) {
        r = ub_tp_connect(tp, *tpn, now);
        if (r != UB_TPR_OK) {
            ub_tp_destroy(tp, *tpn, now);
        }
    }
    return ub_node_result(r);
}

/* The channel for a new row: one that is there, or a new one.  UBQ_RESULT_*. */
static unsigned channel_find(UbNode *node, int64_t now, const uint8_t *key,
                             const UbTaDest *dest, Channel **found)
{
    NodeImports *all = node_imports(node);
    Channel want = { .own = key[KEY(UBQ_IMP_FLAGS)] & UBQ_IMP_OWN };
    unsigned result;

    memcpy(want.key, key, sizeof(want.key) - 1);
    want.key[sizeof(want.key) - 1] = key[KEY(UBQ_IMP_MODE)];
    *found = want.own ? NULL : g_hash_table_lookup(all->ways, want.key);
    if (*found) {
        return (*found)->count < ROWS_MAX ? UBQ_RESULT_OK : UBQ_RESULT_FULL;
    }
    result = channel_connect(node, now, dest, &want.tpn);
    if (result == UBQ_RESULT_OK) {
        *found = g_memdup2(&want, sizeof(want));
        channel_link(all, *found);
    }
    return result;
}

static bool channel_dead(UbNode *node, const Channel *ch)
{
    UbTpInfo info;

    return ub_tp_query(ub_node_tp(node), ch->tpn, NULL, &info) != UB_TPR_OK ||
           info.state == UB_TP_RESET || info.state == UB_TP_ERROR;
}

/* ---- Rows --------------------------------------------------------------------------- */

static void import_link(NodeImports *all, Import *i)
{
    g_hash_table_insert(all->rows, GUINT_TO_POINTER(i->row), i);
    if (!(i->key[KEY(UBQ_IMP_FLAGS)] & UBQ_IMP_OWN)) {
        g_hash_table_insert(all->keys, i->key, i);
    }
}

/* @row, or one that nothing has. */
static unsigned row_find(UbNode *node, uint32_t *row)
{
    NodeImports *all = node_imports(node);
    UbTa *ta = ub_node_ta(node);

    if (*row != UBQ_NEW) {
        return *row >= UB_TA_DESTS ? UBQ_RESULT_PARAMETER :
               ub_ta_dest(ta, *row) ? UBQ_RESULT_IN_USE : UBQ_RESULT_OK;
    }
    *row = ub_ta_dest_vacant(ta, all->hint);
    all->hint = *row + 1;
    return *row < UB_TA_DESTS ? UBQ_RESULT_OK : UBQ_RESULT_FULL;
}

static void import_answer(UbNode *node, const Import *i, uint8_t *cmd)
{
    cmd[UBQ_IMP_STATE] = i->channel && !i->channel->up;
    put_le32(cmd + UBQ_IMP_CHANNEL, i->channel ? i->channel->tpn : UBQ_NEW);
}

static void row_write(UbNode *node, const Import *i)
{
    UbTaDest dest = *ub_ta_dest(ub_node_ta(node), i->row);

    dest.tp.tpn = i->channel->tpn;
    ub_ta_set_dest(ub_node_ta(node), i->row, &dest);
}

/* Another channel in the place of one that has failed, for the rows that it had. */
static unsigned import_again(UbNode *node, int64_t now, Import *i)
{
    NodeImports *all = node_imports(node);
    Channel *ch = i->channel;
    uint32_t tpn;
    unsigned result;

    result = channel_connect(node, now, ub_ta_dest(ub_node_ta(node), i->row),
                             &tpn);
    if (result != UBQ_RESULT_OK) {
        return result;
    }
    node_channel_destroy(node, ch->tpn, now);
    g_hash_table_steal(all->tpns, GUINT_TO_POINTER(ch->tpn));
    ch->tpn = tpn;
    ch->up = false;
    g_hash_table_insert(all->tpns, GUINT_TO_POINTER(tpn), ch);
    for (const Import *row = ch->rows; row; row = row->next) {
        row_write(node, row);
    }
    return UBQ_RESULT_OK;
}

static unsigned import_share(UbNode *node, int64_t now, Import *i,
                             uint32_t *row, uint8_t *cmd)
{
    unsigned result = UBQ_RESULT_OK;

    if (*row != UBQ_NEW && *row != i->row) {
        return UBQ_RESULT_IN_USE;
    }
    if (i->channel && channel_dead(node, i->channel)) {
        result = import_again(node, now, i);
    }
    if (result == UBQ_RESULT_OK) {
        i->users++;
        *row = i->row;
        import_answer(node, i, cmd);
    }
    return result;
}

unsigned node_import(UbNode *node, int64_t now, uint32_t *row, uint8_t *cmd)
{
    NodeImports *all = node_imports(node);
    Import want = { .users = 1 }, *i;
    Channel *ch = NULL;
    unsigned result;
    UbTaDest dest;

    memcpy(want.key, cmd + UBQ_DST_WAY, KEY_LEN);
    memset(want.key + KEY(UBQ_DST_CHANNEL), 0, 4);
    if (want.key[KEY(UBQ_IMP_MODE)] >= UB_TA_MODES ||
        want.key[KEY(UBQ_IMP_FLAGS)] & ~UBQ_IMP_OWN ||
        get_le32(cmd + UBQ_DST_FLAGS) & UBQ_DST_GROUP ||
        !node_dest_get(node, cmd, &dest)) {
        return UBQ_RESULT_PARAMETER;
    }
    i = g_hash_table_lookup(all->keys, want.key);
    if (i && !(want.key[KEY(UBQ_IMP_FLAGS)] & UBQ_IMP_OWN)) {
        return import_share(node, now, i, row, cmd);
    }
    if (g_hash_table_size(all->rows) >= IMPORTS_MAX) {
        return UBQ_RESULT_FULL;
    }
    result = row_find(node, row);
    if (result == UBQ_RESULT_OK && dest.tp.mode == UB_TP_RTP) {
        result = channel_find(node, now, want.key, &dest, &ch);
    }
    if (result != UBQ_RESULT_OK) {
        return result;
    }
    dest.tp.tpn = ch ? ch->tpn : 0;
    want.row = *row;
    i = g_memdup2(&want, sizeof(want));
    if (ch) {
        channel_join(ch, i);
    }
    import_link(all, i);
    if (!ub_ta_set_dest(ub_node_ta(node), i->row, &dest)) {
        node_unimport(node, now, i->row);
        return UBQ_RESULT_PARAMETER;
    }
    if (i->channel && channel_dead(node, i->channel)) {
        result = import_again(node, now, i);
    }
    if (result != UBQ_RESULT_OK) {
        node_unimport(node, now, i->row);
        return result;
    }
    import_answer(node, i, cmd);
    return UBQ_RESULT_OK;
}

unsigned node_unimport(UbNode *node, int64_t now, uint32_t row)
{
    NodeImports *all = node_imports(node);
    Import *i = import_of(all, row);
    Channel *ch;

    if (!i) {
        return UBQ_RESULT_NO_OBJECT;
    }
    if (--i->users) {
        return UBQ_RESULT_OK;
    }
    ch = i->channel;
    if (ch) {
        channel_leave(i);
    }
    if (g_hash_table_lookup(all->keys, i->key) == i) {
        g_hash_table_remove(all->keys, i->key);
    }
    g_hash_table_remove(all->rows, GUINT_TO_POINTER(row));
    ub_ta_set_dest(ub_node_ta(node), row, NULL);
    if (ch && !ch->rows) {
        uint32_t tpn = ch->tpn;

        channel_free(all, ch);
        node_channel_destroy(node, tpn, now);
    }
    return UBQ_RESULT_OK;
}

bool node_import_connected(UbNode *node, uint32_t tpn, UbTpResult result,
                           void (*tell)(UbNode *node, uint32_t row,
                                        unsigned result))
{
    NodeImports *all = node_imports(node);
    Channel *ch = channel_of(all, tpn);

    if (!ch) {
        return false;
    }
    ch->up = result == UB_TPR_OK;
    for (const Import *i = ch->rows; i; i = i->next) {
        tell(node, i->row, ub_node_result(result));
    }
    return true;
}

/* ---- Migration ------------------------------------------------------------------------ */

static void channel_image(UbNode *node, CoreImage *im, Channel *ch)
{
    core_image_bytes(im, ch->key, sizeof(ch->key));
    core_image_int(im, &ch->tpn);
    core_image_flag(im, &ch->up);
    core_image_flag(im, &ch->own);
    core_image_check(im, ub_tp_query(ub_node_tp(node), ch->tpn, NULL, NULL) ==
                     UB_TPR_OK, "import by a channel that does not exist");
}

static void import_image(UbNode *node, CoreImage *im, Import *i)
{
    uint32_t tpn = i->channel ? i->channel->tpn : UBQ_NEW;

    core_image_bytes(im, i->key, KEY_LEN);
    core_image_int(im, &i->row);
    core_image_int(im, &i->users);
    core_image_int(im, &tpn);
    if (core_image_loading(im) && tpn != UBQ_NEW) {
        i->channel = channel_of(node_imports(node), tpn);
        core_image_check(im, i->channel, "import by another's channel");
    }
    core_image_check(im, i->users && i->row < UB_TA_DESTS &&
                     ub_ta_dest(ub_node_ta(node), i->row),
                     "import without users or row");
}

static void channels_load(UbNode *node, CoreImage *im, uint32_t n)
{
    NodeImports *all = node_imports(node);

    while (n-- && !core_image_error(im)) {
        Channel *ch = g_new0(Channel, 1);

        channel_image(node, im, ch);
        core_image_check(im, !channel_of(all, ch->tpn) &&
                         (ch->own || !g_hash_table_contains(all->ways, ch->key)),
                         "two channels of one number or way");
        if (core_image_error(im)) {
            g_free(ch);
        } else {
            channel_link(all, ch);
        }
    }
}

static void imports_load(UbNode *node, CoreImage *im, uint32_t n)
{
    NodeImports *all = node_imports(node);

    while (n-- && !core_image_error(im)) {
        Import *i = g_new0(Import, 1);

        import_image(node, im, i);
        core_image_check(im, !i->channel || i->channel->count < ROWS_MAX,
                         "more imports of a channel than there may be");
        core_image_check(im, !import_of(all, i->row) &&
                         !g_hash_table_contains(all->keys, i->key),
                         "two imports of one row, or of the same");
        if (core_image_error(im)) {
            g_free(i);
        } else {
            if (i->channel) {
                channel_join(i->channel, i);
            }
            import_link(all, i);
        }
    }
}

void node_imports_image(UbNode *node, CoreImage *im)
{
    NodeImports *all = node_imports(node);
    uint32_t n = g_hash_table_size(all->tpns);
    GHashTableIter it;
    gpointer p;

    core_image_count(im, &n, IMPORTS_MAX, "more channels than imports");
    if (core_image_loading(im)) {
        node_imports_reset(all);
        channels_load(node, im, n);
    } else {
        g_hash_table_iter_init(&it, all->tpns);
        while (g_hash_table_iter_next(&it, NULL, &p)) {
            channel_image(node, im, p);
        }
    }
    n = g_hash_table_size(all->rows);
    core_image_count(im, &n, IMPORTS_MAX, "more imports than there may be");
    if (core_image_loading(im)) {
        imports_load(node, im, n);
    } else {
        g_hash_table_iter_init(&it, all->rows);
        while (g_hash_table_iter_next(&it, NULL, &p)) {
            import_image(node, im, p);
        }
    }
    if (core_image_error(im)) {
        node_imports_reset(all);
    }
}
