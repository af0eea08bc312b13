/*
 * ub-node: requests, what comes, commands.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ub-node.h"

enum {
    RCID = 1,                   /* of the queue of mode 0; others follow */
    /* Rows of the table of destinations: of a CNA, by the carrier. */
    ROWS = 1 << 16,
};

#define NS_PER_MS   1000000
#define ADVANCE_MS  INT64_C(1000000000000)  /* 30 years: no overflow of ns */

typedef struct Work {
    UbTaRequest req;
    uint8_t *data;
    json_t *id;
} Work;

/* In the order of UbTpMode, UbTaMode, UbTaOrder. */
static const char *const carriers[] = { "rtp", "ctp", "utp", "bypass" };
static const char *const modes[] = { "roi", "rot", "rol", "uno" };
static const char *const orders[] = { "no", "ro", "so" };

/* Where @word is, or -1. */
static int among(const char *word, const char *const *words, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (!strcmp(word, words[i])) {
            return i;
        }
    }
    return -1;
}

static UbTa *layer(Endpoint *e)
{
    return ub_node_ta(e->node);
}

/* ---- answers ---- */

static void say_error(const char *why, json_t *id)
{
    node_say(json_pack("{s:{s:s}}", "error", "desc", why), id);
}

static json_t *hex_of(const uint8_t *p, uint32_t len)
{
    g_autoptr(GString) s = g_string_sized_new(2 * len);

    for (uint32_t i = 0; i < len; i++) {
        g_string_append_printf(s, "%02x", p[i]);
    }
    return json_string(s->str);
}

/* ---- above the transaction layer ---- */

static UbTaData op_gather(void *opaque, const UbTaRequest *req, uint32_t off,
                          void *buf, uint32_t len)
{
    memcpy(buf, ((Work *)req->user)->data + off, len);
    return UB_TA_DATA_OK;
}

static UbTaData op_scatter(void *opaque, const UbTaRequest *req, uint32_t off,
                           const void *buf, uint32_t len)
{
    memcpy(((Work *)req->user)->data + off, buf, len);
    return UB_TA_DATA_OK;
}

static void op_done(void *opaque, UbTaRequest *req, UbTaStatus status)
{
    Work *w = req->user;
    uint8_t kind = ub_ta_op(req->opcode)->kind;
    json_t *r = json_pack("{s:s}", "status", ub_ta_status_name(status));

    if (!status && (kind == UB_TA_FETCH || kind == UB_TA_ATOMIC)) {
        json_object_set_new(r, "data", hex_of(w->data, req->len));
    }
    node_say(json_pack("{s:o}", "return", r), w->id);
    json_decref(w->id);
    g_free(w->data);
    g_free(w);
}

static UbAccessResult op_access(void *opaque, UbAccess *a, UbSpan *out,
                                unsigned max, unsigned *n)
{
    return ub_segments_access(((Endpoint *)opaque)->segments, a, out, max, n);
}

static UbRecvResult op_receive(void *opaque, const UbRecvAsk *ask,
                               UbRecvBuf *buf)
{
    Endpoint *e = opaque;

    if (ask->tc_id) {
        return UB_RECV_UNSUPPORTED;
    }
    if (e->taken == e->posted) {
        return UB_RECV_EMPTY;
    }
    buf->rqe = e->taken++ % BUFFERS;
    buf->len = BUFFER;
    return UB_RECV_OK;
}

static bool op_place(void *opaque, uint64_t rqe, uint32_t off,
                     const void *buf, uint32_t len)
{
    memcpy(((Endpoint *)opaque)->buffers + rqe * BUFFER + off, buf, len);
    return true;
}

static void op_received(void *opaque, const UbRecvDone *done)
{
    Endpoint *e = opaque;
    json_t *m = json_pack("{s:s, s:I}", "status",
                          ub_ta_status_name(done->status), "from",
                          (json_int_t)done->who);

    json_object_set_new(m, "data", hex_of(e->buffers + done->rqe * BUFFER,
                                          MIN(done->len, BUFFER)));
    json_array_append_new(e->received, m);
}

static void op_kick(void *opaque)
{
    prog.kicked = true;
}

const UbTaOps node_ta_ops = {
    .gather = op_gather, .scatter = op_scatter, .done = op_done,
    .access = op_access, .receive = op_receive, .place = op_place,
    .received = op_received, .kick = op_kick,
};

/* ---- commands ---- */

bool node_queues(Endpoint *e)
{
    for (unsigned i = 0; i < UB_TA_MODES; i++) {
        UbTaQueueConfig queue = { .rcid = RCID + i, .mode = i };

        e->queue[i] = ub_ta_queue_new(layer(e), &queue);
        if (!e->queue[i]) {
            return false;
        }
    }
    return true;
}

static bool get_hex(const char *text, uint8_t *out, size_t len)
{
    for (size_t i = 0; i < 2 * len; i++) {
        int digit = g_ascii_xdigit_value(text[i]);

        if (digit < 0) {
            return false;
        }
        out[i / 2] = out[i / 2] << 4 | digit;
    }
    return true;
}

/* 10.0.0.0 and the CNA. */
void node_ip(uint32_t cna, uint8_t ip[16])
{
    memset(ip, 0, 16);
    ip[0] = 10;
    ip[2] = cna >> 8;
    ip[3] = cna;
}

/* The way by a carrier but RTP, whose channel has it. */
static void carrier_way(UbTpMode mode, unsigned cna, UbTaDest *d)
{
    static const uint8_t cfgs[] = {
        [UB_TP_CTP] = UB_LPH_CNA16, [UB_TP_UTP] = UB_LPH_IPV4,
        [UB_TP_BYPASS] = UB_LPH_BYPASS,
    };
    static const uint8_t forms[] = {
        [UB_TP_CTP] = UB_SEC_SHORT, [UB_TP_UTP] = UB_SEC_WIDE,
        [UB_TP_BYPASS] = UB_SEC_NONE,
    };

    ub_flow_init(&d->tp.flow, cfgs[mode]);
    d->sec.form = forms[mode];
    if (mode == UB_TP_UTP) {
        node_ip(cna, d->tp.flow.ip.dst);
        d->tp.flow.lbf = 0xc000;
    } else {
        d->tp.flow.dcna = cna;
    }
}

/* The row of a peer, made if need be. */
static bool find_row(Endpoint *e, const char *carrier, unsigned cna,
                     uint32_t *row)
{
    int mode = among(carrier, carriers, G_N_ELEMENTS(carriers));
    UbTaDest d = { .sl_writeback = UB_TA_SAME_SL, .mtu = 4096 };
    uint32_t upi;

    if (mode < 0) {
        return false;
    }
    *row = cna + mode * ROWS;
    if (ub_ta_dest(layer(e), *row)) {
        return true;
    }
    if (mode == UB_TP_RTP) {
        return false;           /* made by "channel" */
    }
    d.sec.seid = *ub_sec_entity(ub_node_sec(e->node), 0, &upi);
    d.sec.deid = ub_eid_of_short(cna);
    d.sec.upi = upi;
    d.tp.mode = mode;
    carrier_way(mode, cna, &d);
    return ub_ta_set_dest(layer(e), *row, &d);
}

/* A channel to a peer; both ends are told. */
static const char *do_channel(Endpoint *e, json_t *args, json_t *id)
{
    int cna = 0, tpn = 0, peer = 0;
    UbTaDest d = { .sl_writeback = UB_TA_SAME_SL, .mtu = 4096 };
    uint32_t number, upi;
    UbTpAttr a;

    if (json_unpack(args, "{s:i, s:i, s:i}", "to", &cna, "tpn", &tpn,
                    "peer-tpn", &peer) || cna < 1 || cna > 0xffff) {
        return "channel wants to, tpn, peer-tpn";
    }
    number = tpn;
    ub_tp_attr_init(ub_node_tp(e->node), &a);
    ub_flow_init(&a.flow, UB_LPH_CNA24);
    a.flow.dcna = cna;
    a.dst_tpn = peer;
    a.tx_psn = a.rx_psn = 0;
    a.mtu = 4096;
    if (ub_tp_create(ub_node_tp(e->node), &number, &a) != UB_TPR_OK ||
        ub_tp_activate(ub_node_tp(e->node), number) != UB_TPR_OK) {
        return "no such channel can be";
    }
    d.tp.mode = UB_TP_RTP;
    d.tp.tpn = number;
    d.tp.flow = a.flow;
    d.sec.form = UB_SEC_WIDE;
    d.sec.seid = *ub_sec_entity(ub_node_sec(e->node), 0, &upi);
    d.sec.deid = ub_eid_of_short(cna);
    d.sec.upi = upi;
    ub_ta_set_dest(layer(e), UB_TP_RTP * ROWS + cna, &d);
    node_say(json_pack("{s:{}}", "return"), id);
    return NULL;
}

/* Which queue: the one of the mode, or the one that the carrier has. */
static int find_mode(const char *mode, const char *carrier)
{
    return mode ? among(mode, modes, G_N_ELEMENTS(modes))
           : strcmp(carrier, carriers[UB_TP_UTP]) ? UB_ROI : UB_UNO;
}

static const char *do_post(Endpoint *e, uint8_t opcode, json_t *args,
                           json_t *id)
{
    const char *carrier = "ctp", *data = "", *mode = NULL, *order = "no";
    int cna = 0, offset = 0, length = 0, sub = 0, fence = 0, which, rank;
    uint8_t kind = ub_ta_op(opcode)->kind;
    uint32_t row;
    Work *w;

    if (json_unpack(args, "{s:i, s?:s, s?:i, s?:i, s?:s, s?:i, s?:s, s?:s, s?:b}",
                    "to", &cna,
                    "carrier", &carrier, "offset", &offset, "length",
                    &length, "data", &data, "sub", &sub, "mode",
                    &mode, "order", &order, "fence", &fence) ||
        cna < 1 || cna > 0xffff || offset < 0 || length < 0 ||
        length > MEMORY || strlen(data) % 2 || strlen(data) > 2 * MEMORY) {
        return "to, carrier, offset, length, data: of these one is wrong";
    }
    which = find_mode(mode, carrier);
    rank = among(order, orders, G_N_ELEMENTS(orders));
    if (which < 0 || rank < 0) {
        return "mode is roi, rot, rol, uno, order is no, ro, so";
    }
    if (!find_row(e, carrier, cna, &row)) {
        return "no way by this carrier";
    }
    w = g_new0(Work, 1);
    w->req.len = kind == UB_TA_FETCH ? length
                 : strlen(data) / (kind == UB_TA_ATOMIC ? 4 : 2);
    w->data = g_malloc0(2 * w->req.len + 1);
    if (kind != UB_TA_FETCH && !get_hex(data, w->data, strlen(data) / 2)) {
        g_free(w->data);
        g_free(w);
        return "data are hexadecimal digits";
    }
    w->id = json_incref(id);
    w->req.user = w;
    w->req.dest = row;
    w->req.opcode = opcode;
    w->req.addr = offset;
    w->req.token_id = 1;
    w->req.sub = sub;
    w->req.order = rank;
    w->req.fence = fence;
    if (!ub_ta_post(layer(e), e->queue[which], &w->req)) {
        json_decref(w->id);
        g_free(w->data);
        g_free(w);
        return "the queue is full";
    }
    return NULL;                /* answered when it is done */
}

static const char *do_state(Endpoint *e, json_t *args, json_t *id)
{
    json_t *counters = json_object(), *messages = e->received;
    UbTaState s;

    ub_ta_state(layer(e), &s);
    for (unsigned i = 0; i < UB_TA_COUNTERS_NUM; i++) {
        json_object_set_new(counters, ub_ta_counter_name(i),
                            json_integer(ub_ta_counter(layer(e), i)));
    }
    e->received = json_array();
    node_say(json_pack("{s:{s:b, s:i, s:i, s:o, s:o}}", "return", "link",
                  ub_port_dll_up(e->port), "cna", (int)e->cna, "requests",
                  (int)s.requests, "received", messages, "counters",
                  counters), id);
    return NULL;
}

static const char *do_receive(Endpoint *e, json_t *args, json_t *id)
{
    int count = 1;

    json_unpack(args, "{s?:i}", "count", &count);
    if (count < 0 || count > BUFFERS ||
        e->posted + count - e->taken > BUFFERS) {
        return "there are 16 buffers";
    }
    e->posted += count;
    node_say(json_pack("{s:{}}", "return"), id);
    return NULL;
}

/* Time-outs of the layers above the ports come when the client says so; virtual
 * time is all layers', and goes on until then. */
static const char *do_advance(Endpoint *e, json_t *args, json_t *id)
{
    json_int_t ms = 0;
    int64_t gone = prog.virtual_time ? prog.now : prog.ahead;

    if (json_unpack(args, "{s:I}", "ms", &ms) || ms < 0 ||
        ms > ADVANCE_MS - gone / NS_PER_MS) {
        return "advance wants ms, not above 10^12 in all";
    }
    if (prog.goal > prog.now) {
        return "time is under way";
    }
    if (prog.virtual_time) {
        prog.goal = prog.now + ms * NS_PER_MS;
        prog.goal_id = json_incref(id);
        prog.arriving = true;
    } else {
        prog.ahead += ms * NS_PER_MS;
        node_say(json_pack("{s:{}}", "return"), id);
    }
    prog.kicked = true;
    return NULL;
}

void node_arrived(void)
{
    prog.arriving = false;
    node_say(json_pack("{s:{s:I}}", "return", "ns", (json_int_t)prog.now),
             prog.goal_id);
    json_decref(prog.goal_id);
    prog.goal_id = NULL;
}

/* What every setting has, as --set takes it. */
static const char *do_settings(Endpoint *e, json_t *args, json_t *id)
{
    json_t *all = json_object();
    unsigned n;
    const CoreOption *o = ub_node_options(&n);

    for (; n--; o++) {
        g_autofree char *text = core_option_text(o, ub_node_config(e->node));

        json_object_set_new(all, o->name, json_string(text));
    }
    node_say(json_pack("{s:o}", "return", all), id);
    return NULL;
}

static const char *do_capture_start(Endpoint *e, json_t *args, json_t *id)
{
    const char *file = NULL;
    UbCapture *c;

    if (json_unpack(args, "{s:s}", "file", &file)) {
        return "capture-start wants file";
    }
    c = ub_capture_new(file, "ub-node", prog.endpoints,
                       prog.virtual_time ? 0 : g_get_real_time() * 1000 -
                                               prog.now);
    if (!c) {
        return strerror(errno);
    }
    ub_capture_free(prog.capture);
    prog.capture = c;
    node_say(json_pack("{s:{}}", "return"), id);
    return NULL;
}

static const char *do_capture_stop(Endpoint *e, json_t *args, json_t *id)
{
    ub_capture_free(prog.capture);
    prog.capture = NULL;
    node_say(json_pack("{s:{}}", "return"), id);
    return NULL;
}

static const char *do_quit(Endpoint *e, json_t *args, json_t *id)
{
    prog.stopped = true;
    return NULL;
}

static const struct {
    const char *name;
    const char *(*run)(Endpoint *e, json_t *args, json_t *id);
} commands[] = {
    { "quit", do_quit },
    { "state", do_state },
    { "settings", do_settings },
    { "receive", do_receive },
    { "channel", do_channel },
    { "advance", do_advance },
    { "fault-set", node_fault_set },
    { "fault-query", node_fault_query },
    { "capture-start", do_capture_start },
    { "capture-stop", do_capture_stop },
};

static const char *obey(json_t *cmd, json_t *id)
{
    const char *name = NULL;
    json_t *args = NULL;
    int index = 0;

    if (json_unpack(cmd, "{s:s, s?:o}", "execute", &name, "arguments",
                    &args)) {
        return "a command is {\"execute\": NAME, \"arguments\": {...}}";
    }
    if (args && json_unpack(args, "{s?:i}", "endpoint", &index)) {
        return "endpoint is a number";
    }
    if (index < 0 || (unsigned)index >= prog.endpoints) {
        return "there is no such endpoint";
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(commands); i++) {
        if (!strcmp(name, commands[i].name)) {
            return commands[i].run(prog.endpoint[index], args, id);
        }
    }
    for (unsigned op = 0; op < UB_TA_OPCODES; op++) {
        const UbTaOpInfo *info = ub_ta_op(op);

        if (info->name && info->modes &&
            !g_ascii_strcasecmp(name, info->name)) {
            return do_post(prog.endpoint[index], op, args, id);
        }
    }
    return "no such command";
}

void node_line(const char *line, size_t len)
{
    json_t *cmd = json_loadb(line, len, 0, NULL), *id;
    const char *why;

    id = cmd ? json_incref(json_object_get(cmd, "id")) : NULL;
    why = cmd ? obey(cmd, id) : "no JSON";
    if (why) {
        say_error(why, id);
    }
    json_decref(id);
    json_decref(cmd);
}
