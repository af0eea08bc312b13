/*
 * A program that speaks for a node: what it is asked and asks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "ub/responder.h"

/* A request that the program has. */
typedef struct Pending {
    bool used;
    bool silent;        /* it need not be answered */
    uint8_t head;       /* byte 0 of its MGMTETAH */
    uint32_t tag;
    int64_t at;         /* its place may be taken */
    UbMgmtAddr from;
} Pending;

typedef struct Frame {
    size_t len;
    uint8_t data[];
} Frame;

struct UbResponder {
    UbMgmt *mgmt;
    const UbResponderOps *ops;
    void *opaque;
    unsigned kinds;
    int64_t patience;
    bool open;
    uint32_t tag;       /* of the next request at least; its place is the remainder */
    Pending pending[UB_RESPONDER_FRAMES];
    GQueue out;         /* of Frame */
    uint64_t counter[UB_RESPONDER_CNT_NUM];
};

/* ---- Kinds ---- */

static const struct {
    const char *name;
    uint8_t id;
} kinds[UB_RESPONDER_KINDS] = {
    [UB_RESPONDER_MCTP] = { "mctp", UB_MGMT_MSG_VDM_MCTP },
    [UB_RESPONDER_BUS] = { "bus", UB_MGMT_MSG_VDM_BUS },
    [UB_RESPONDER_VENDOR] = { "vendor", UB_MGMT_MSG_VDM_VENDOR },
    [UB_RESPONDER_SPDM] = { "spdm", UB_MGMT_MSG_SPDM },
};

unsigned ub_responder_kinds(const char *text)
{
    g_auto(GStrv) words = g_strsplit(text, ":", 0);
    unsigned mask = 0;

    for (char **word = words; *word; word++) {
        unsigned i = 0;

        while (i < UB_RESPONDER_KINDS && strcmp(*word, kinds[i].name)) {
            i++;
        }
        if (i == UB_RESPONDER_KINDS) {
            return 0;
        }
        mask |= 1u << i;
    }
    return mask;
}

/* The row of a message that the program may speak, or NULL. */
static const UbMgmtMessage *spoken(const UbResponder *r, const uint8_t *data)
{
    UbMgmtEtah e = ub_mgmt_etah_get(data);

    for (unsigned i = 0; i < UB_RESPONDER_KINDS; i++) {
        if (r->kinds & 1u << i && kinds[i].id == (e.code << 4 | e.sub)) {
            return ub_mgmt_message(e.code, e.sub);
        }
    }
    return NULL;
}

/* ---- Life ---- */

UbResponder *ub_responder_new(UbMgmt *mgmt, unsigned mask, int64_t patience,
                              const UbResponderOps *ops, void *opaque)
{
    UbResponder *r = g_new0(UbResponder, 1);

    r->mgmt = mgmt;
    r->kinds = mask;
    r->patience = patience;
    r->ops = ops;
    r->opaque = opaque;
    g_queue_init(&r->out);
    return r;
}

void ub_responder_free(UbResponder *r)
{
    if (r) {
        g_queue_clear_full(&r->out, g_free);
        g_free(r);
    }
}

void ub_responder_reset(UbResponder *r)
{
    ub_mgmt_host_forget(r->mgmt, UB_RESPONDER_QUEUE);
    memset(r->pending, 0, sizeof(r->pending));
}

/* ---- Counters ---- */

static void count(UbResponder *r, UbResponderCounter counter)
{
    r->counter[counter]++;
}

static void blame(UbResponder *r, UbResponderCounter counter, const char *text)
{
    count(r, counter);
    r->ops->rule(r->opaque, text);
}

uint64_t ub_responder_counter(const UbResponder *r, UbResponderCounter counter)
{
    return r->counter[counter];
}

const char *ub_responder_counter_name(unsigned counter)
{
    static const char *const names[] = {
#define UB_X(symbol, name) name,
        UB_RESPONDER_COUNTERS(UB_X)
#undef UB_X
    };

    return counter < UB_RESPONDER_CNT_NUM ? names[counter] : NULL;
}

/* ---- Frames for the program ---- */

static bool put_frame(UbResponder *r, uint32_t tag, const UbMgmtAddr *a,
                      const uint8_t *data, size_t len)
{
    Frame *f;

    if (r->out.length == UB_RESPONDER_FRAMES) {
        return false;
    }
    f = g_malloc(sizeof(*f) + UB_RESPONDER_HEAD + len);
    f->len = UB_RESPONDER_HEAD + len;
    put_be32(f->data, tag);
    put_be32(f->data + 4, (uint32_t)a->mgmt << 31 |
                          (uint32_t)(a->upi & 0x7fff) << 16);
    put_be32(f->data + 8, a->scna);
    put_be32(f->data + 12, a->seid);
    put_be32(f->data + 16, a->deid);
    memcpy(f->data + UB_RESPONDER_HEAD, data, len);
    g_queue_push_tail(&r->out, f);
    r->ops->frame(r->opaque);
    return true;
}

size_t ub_responder_take(UbResponder *r, uint8_t *frame)
{
    Frame *f = g_queue_pop_head(&r->out);
    size_t len = 0;

    if (f) {
        len = f->len;
        memcpy(frame, f->data, len);
        g_free(f);
    }
    return len;
}

/* ---- What it is asked ---- */

bool ub_responder_wants(const UbResponder *r, const uint8_t *data, size_t len)
{
    return r->open && len >= UB_MGMT_ETAH && !(data[0] & 1) && spoken(r, data);
}

/* It is free, or may be: who has it answers when it likes, or has had its time. */
static bool has_place(const Pending *p, int64_t now)
{
    return !p->used || p->silent || p->at <= now;
}

/* The place of the next tag; tags whose places are taken are left out.  NULL: all
 * are. */
static Pending *next_place(UbResponder *r, int64_t now)
{
    for (unsigned i = 0; i < UB_RESPONDER_FRAMES; i++) {
        Pending *p = &r->pending[(r->tag + i) % UB_RESPONDER_FRAMES];

        if (has_place(p, now)) {
            r->tag += i;
            return p;
        }
    }
    return NULL;
}

bool ub_responder_request(UbResponder *r, int64_t now, const UbMgmtAddr *a,
                          const uint8_t *data, size_t len)
{
    Pending *p = next_place(r, now);

    if (!p || !put_frame(r, r->tag, a, data, len)) {
        count(r, UB_RESPONDER_CNT_FULL);
        return false;
    }
    *p = (Pending) {
        .used = true, .silent = spoken(r, data)->taker == UB_MGMT_VENDOR,
        .head = data[0], .tag = r->tag++, .at = now + r->patience, .from = *a,
    };
    count(r, UB_RESPONDER_CNT_ASKED);
    return true;
}

/* To who asked. */
static void send_answer(UbResponder *r, int64_t now, Pending *p, uint8_t *data,
                        size_t len)
{
    UbMgmtAddr to = p->from;

    to.dcna = p->from.scna;
    to.deid = p->from.seid;
    p->used = false;
    ub_mgmt_host_send(r->mgmt, now, UB_MGMT_KIND_MESSAGE, &to, data, len);
}

/* ---- What it says ---- */

static void take_answer(UbResponder *r, int64_t now, const uint8_t *frame,
                        size_t len)
{
    uint32_t tag = get_be32(frame);
    Pending *p = &r->pending[tag % UB_RESPONDER_FRAMES];
    uint8_t data[UB_MGMT_MAX];

    len -= UB_RESPONDER_HEAD;
    memcpy(data, frame + UB_RESPONDER_HEAD, len);
    if (!p->used || p->tag != tag || data[0] != (p->head | 1)) {
        blame(r, UB_RESPONDER_CNT_DROP_TAG,
              "an answer to what was not asked, or too late");
        return;
    }
    count(r, UB_RESPONDER_CNT_ANSWERED);
    send_answer(r, now, p, data, len);
}

/* An answer to the program's own request, which nobody else gave. */
static bool refuse(UbResponder *r, uint32_t tag, const UbMgmtAddr *a,
                   uint8_t head, UbMgmtStatus status)
{
    uint8_t data[UB_MGMT_ETAH] = { head | 1, status };

    if (!put_frame(r, tag, a, data, sizeof(data))) {
        count(r, UB_RESPONDER_CNT_LOST);
        return false;
    }
    return true;
}

static void take_request(UbResponder *r, int64_t now, const uint8_t *frame,
                         size_t len)
{
    uint32_t tag = get_be32(frame);
    uint8_t data[UB_MGMT_MAX];
    UbMgmtAddr a = {
        .dcna = get_be32(frame + 8), .deid = get_be32(frame + 12) & 0xfffff,
        .queue = UB_RESPONDER_QUEUE, .msn = tag,
    }, whom = { .scna = a.dcna, .seid = a.deid };
    const UbMgmtMessage *row = spoken(r, frame + UB_RESPONDER_HEAD);
    UbMgmtStatus status = UB_MGMT_BAD_PARAMETER;
    const char *rule = "a request's tag has 16 bits";

    len -= UB_RESPONDER_HEAD;
    memcpy(data, frame + UB_RESPONDER_HEAD, len);
    if (!row) {
        rule = "a message that is not the program's to send";
        status = UB_MGMT_OVERREACH;
    } else if (tag <= 0xffff) {
        rule = ub_mgmt_host_send(r->mgmt, now, UB_MGMT_KIND_MESSAGE, &a, data,
                                 len);
        status = UB_MGMT_NO_RESOURCE;
    }
    if (rule) {
        blame(r, UB_RESPONDER_CNT_REFUSED, rule);
        refuse(r, tag, &whom, data[0], status);
    } else {
        count(r, UB_RESPONDER_CNT_ASKS);
    }
}

bool ub_responder_input(UbResponder *r, int64_t now, const uint8_t *frame,
                        size_t len)
{
    if (len < UB_RESPONDER_HEAD + UB_MGMT_ETAH || len > UB_RESPONDER_MAX) {
        blame(r, UB_RESPONDER_CNT_DROP_SHORT,
              "a frame has 24 to 1048 bytes");
        return false;
    }
    if (ub_mgmt_etah_get(frame + UB_RESPONDER_HEAD).len !=
        len - UB_RESPONDER_HEAD - UB_MGMT_ETAH) {
        blame(r, UB_RESPONDER_CNT_DROP_SHORT,
              "MGMTETAH: PDU Length is not that of the frame");
        return false;
    }
    if (frame[UB_RESPONDER_HEAD] & 1) {
        take_answer(r, now, frame, len);
    } else {
        take_request(r, now, frame, len);
    }
    return true;
}

/* ---- What comes back ---- */

bool ub_responder_answer(UbResponder *r, const UbMgmtAddr *a,
                         const uint8_t *data, size_t len)
{
    if (!put_frame(r, a->msn, a, data, len)) {
        count(r, UB_RESPONDER_CNT_LOST);
        return false;
    }
    return true;
}

bool ub_responder_failed(UbResponder *r, uint16_t msn, uint8_t code)
{
    const UbMgmtAddr nobody = { 0 };

    /* Lost or not, it is over. */
    refuse(r, msn, &nobody, code, UB_MGMT_UNKNOWN);
    return true;
}

/* ---- It comes and goes ---- */

bool ub_responder_is_open(const UbResponder *r)
{
    return r->open;
}

/* Who must have an answer has this one. */
static void abandon(UbResponder *r, int64_t now)
{
    for (unsigned i = 0; i < UB_RESPONDER_FRAMES; i++) {
        Pending *p = &r->pending[i];
        uint8_t data[UB_MGMT_ETAH] = { p->head | 1, UB_MGMT_NO_RESOURCE };

        if (p->used) {
            count(r, UB_RESPONDER_CNT_GONE);
        }
        if (p->used && !p->silent) {
            send_answer(r, now, p, data, sizeof(data));
        }
        p->used = false;
    }
}

void ub_responder_open(UbResponder *r, int64_t now, bool open)
{
    if (open == r->open) {
        return;
    }
    r->open = open;
    if (!open) {
        abandon(r, now);
        ub_mgmt_host_forget(r->mgmt, UB_RESPONDER_QUEUE);
        g_queue_clear_full(&r->out, g_free);
    }
}
