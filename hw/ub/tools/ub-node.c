/*
 * ub-node: bare endpoints of a UB fabric in one process, each a port on a socket,
 * the network, transport and transaction layers, memory and receive buffers, all of
 * them driven by commands.  docs/specs/ub-node.rst.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <glib.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/bytes.h"
#include "ub/node.h"
#include "ub/port.h"
#include "ub/host_segment.h"
#include "ub/space.h"
#include "wire/fd.h"

enum {
    ENDPOINTS = 64,
    MEMORY = 1 << 20,           /* bytes of an endpoint's segment, TokenID 1 */
    BUFFER = 1 << 16,           /* of a receive buffer */
    BUFFERS = 16,
    RCID = 1,
    LINE = 4 << 20,             /* no command is longer */
    ANSWERS = 16 << 20,         /* bytes that a client may leave unread */
    /* Rows of the table of destinations: of a CNA, by the carrier. */
    ROW_CTP = 0, ROW_BYPASS = 1 << 16, ROW_RTP = 2 << 16,
    RETRY_MS = 100,
};

#define ADVANCE_MS  INT64_C(1000000000000)  /* 30 years: no overflow of ns */

typedef struct Endpoint {
    unsigned index;
    char *path;
    bool listens, open, touched;
    int listener;
    int64_t retry;              /* when to connect again */
    WireFd *wire;
    UbSpace *space;
    CorePacketPool *pool;
    UbPort *port;
    UbNode *node;
    UbSegments *segments;
    UbTaQueue *queue;
    uint32_t cna;
    uint8_t *memory, *buffers;
    uint64_t posted, taken;     /* receive buffers */
    json_t *received;
} Endpoint;

typedef struct Work {
    UbTaRequest req;
    uint8_t *data;
    json_t *id;
} Work;

static Endpoint *endpoint[ENDPOINTS];
static unsigned endpoints;
static int64_t now;
static int64_t ahead;           /* what the layers above the ports have skipped */
static int control = -1, client = -1;
static GByteArray *input, *output;
static int tp_scale = 1, ta_scale = 1000, dll_scale = 1000, phy_scale = 10;
static bool kicked;
static volatile sig_atomic_t stopped;

static int64_t clock_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static UbTa *layer(Endpoint *e)
{
    return ub_node_ta(e->node);
}

/* ---- answers ---- */

static void drop_client(void)
{
    close(client);
    client = -1;
    g_byte_array_set_size(input, 0);
    g_byte_array_set_size(output, 0);
}

/* What waits for the client, as far as it takes it. */
static void flush_client(void)
{
    ssize_t n;

    if (!output->len) {
        return;
    }
    n = send(client, output->data, output->len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
        g_byte_array_remove_range(output, 0, n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        drop_client();
    }
}

/* Takes @answer; a client that does not read is let go. */
static void say(json_t *answer, json_t *id)
{
    char *line;

    if (id) {
        json_object_set(answer, "id", id);
    }
    line = json_dumps(answer, JSON_COMPACT);
    json_decref(answer);
    if (client >= 0) {
        g_byte_array_append(output, (uint8_t *)line, strlen(line));
        g_byte_array_append(output, (const uint8_t *)"\n", 1);
        if (output->len > ANSWERS) {
            drop_client();
        } else {
            flush_client();
        }
    }
    free(line);
}

static void say_error(const char *why, json_t *id)
{
    say(json_pack("{s:{s:s}}", "error", "desc", why), id);
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
    say(json_pack("{s:o}", "return", r), w->id);
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
    kicked = true;
}

static const UbTaOps ta_ops = {
    .gather = op_gather, .scatter = op_scatter, .done = op_done,
    .access = op_access, .receive = op_receive, .place = op_place,
    .received = op_received, .kick = op_kick,
};

/* ---- port below the network ---- */

static bool net_room(void *opaque, unsigned port, unsigned vl)
{
    return ub_port_room(((Endpoint *)opaque)->port, vl) == UB_PORT_SENT;
}

static bool net_send(void *opaque, unsigned port, CorePacket *pkt)
{
    return ub_port_send(((Endpoint *)opaque)->port, now, pkt) == UB_PORT_SENT;
}

static const UbNetOps net_ops = {
    .room = net_room, .send = net_send, .kick = op_kick,
};

static void port_rx(void *opaque, CorePacket *pkt)
{
    ub_node_rx(((Endpoint *)opaque)->node, now + ahead, 0, pkt);
}

static void port_event(void *opaque, UbPortEvent event)
{
    Endpoint *e = opaque;

    if (event == UB_PORT_LINK) {
        ub_net_port_state(ub_node_net(e->node), now + ahead, 0,
                          ub_port_vls(e->port));
    }
    kicked = true;
}

static void port_space(void *opaque, unsigned vl)
{
    ub_node_room(((Endpoint *)opaque)->node, now + ahead, 0, vl);
}

static size_t port_wire_send(void *opaque, const uint8_t *data, size_t len)
{
    Endpoint *e = opaque;

    e->touched = true;
    return e->wire ? wire_pipe_send(wire_fd_pipe(e->wire), data, len) : 0;
}

static void port_wire_close(void *opaque)
{
    Endpoint *e = opaque;

    e->touched = true;
    if (e->wire) {
        wire_pipe_close(wire_fd_pipe(e->wire));
    }
}

static void port_rule(void *opaque, UbBreaker who, const char *text)
{
    g_printerr("endpoint %u: %s\n", ((Endpoint *)opaque)->index, text);
}

static const UbPortOps port_ops = {
    .rx = port_rx, .event = port_event, .tx_space = port_space,
    .kick = op_kick, .wire_send = port_wire_send,
    .wire_close = port_wire_close, .rule = port_rule,
};

/* ---- sockets ---- */

static void pipe_state(void *opaque, bool open)
{
    Endpoint *e = opaque;

    e->open = open;
    if (open) {
        ub_port_wire_connected(e->port, now);
    } else {
        ub_port_wire_disconnected(e->port, now);
    }
}

static bool pipe_input(void *opaque, const uint8_t *data, size_t len)
{
    Endpoint *e = opaque;

    ub_port_wire_receive(e->port, now, data, len);
    return e->open;
}

static void pipe_room(void *opaque)
{
    ub_port_wire_room(((Endpoint *)opaque)->port, now);
}

static void pipe_broken(void *opaque, const char *rule)
{
    g_printerr("endpoint %u: peer: %s\n", ((Endpoint *)opaque)->index, rule);
}

static const WirePipeOps pipe_ops = {
    .state = pipe_state, .input = pipe_input, .room = pipe_room,
    .broken = pipe_broken,
};

static int open_socket(const char *path, bool listens)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    g_strlcpy(a.sun_path, path, sizeof(a.sun_path));
    if (listens) {
        unlink(path);
    }
    if (fd >= 0 && (strlen(path) >= sizeof(a.sun_path) ||
                    (listens ? bind(fd, (struct sockaddr *)&a, sizeof(a)) ||
                               listen(fd, 1)
                             : connect(fd, (struct sockaddr *)&a,
                                       sizeof(a))))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void take_wire(Endpoint *e, int fd)
{
    if (fd < 0) {
        e->retry = now + RETRY_MS * INT64_C(1000000);
    } else if (e->wire) {
        close(fd);
    } else {
        e->wire = wire_fd_new(fd, &pipe_ops, e, true);
        e->retry = INT64_MAX;
        e->touched = true;
    }
}

static void run_wire(Endpoint *e)
{
    e->touched = false;
    if (e->wire && !wire_fd_run(e->wire)) {
        wire_fd_free(e->wire);
        e->wire = NULL;
        e->retry = e->listens ? INT64_MAX : now + RETRY_MS * INT64_C(1000000);
    }
}

/* ---- commands ---- */

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

/* The row of a peer, made if need be. */
static bool find_row(Endpoint *e, const char *carrier, unsigned cna,
                     uint32_t *row)
{
    UbTaDest d = { .sl_writeback = UB_TA_SAME_SL, .mtu = 4096 };
    bool rtp = !strcmp(carrier, "rtp"), bypass = !strcmp(carrier, "bypass");
    uint32_t upi;

    if (!rtp && !bypass && strcmp(carrier, "ctp")) {
        return false;
    }
    *row = cna + (bypass ? ROW_BYPASS : rtp ? ROW_RTP : ROW_CTP);
    if (ub_ta_dest(layer(e), *row)) {
        return true;
    }
    if (rtp) {
        return false;           /* made by "channel" */
    }
    d.sec.seid = *ub_sec_entity(ub_node_sec(e->node), 0, &upi);
    d.sec.deid = ub_eid_of_short(cna);
    d.sec.upi = upi;
    d.sec.form = bypass ? UB_SEC_NONE : UB_SEC_SHORT;
    d.tp.mode = bypass ? UB_TP_BYPASS : UB_TP_CTP;
    ub_flow_init(&d.tp.flow, bypass ? UB_LPH_BYPASS : UB_LPH_CNA16);
    d.tp.flow.dcna = cna;
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
    ub_ta_set_dest(layer(e), ROW_RTP + cna, &d);
    say(json_pack("{s:{}}", "return"), id);
    return NULL;
}

static const char *do_post(Endpoint *e, uint8_t opcode, json_t *args,
                           json_t *id)
{
    const char *carrier = "ctp", *data = "";
    int cna = 0, offset = 0, length = 0, sub = 0;
    uint8_t kind = ub_ta_op(opcode)->kind;
    uint32_t row;
    Work *w;

    if (json_unpack(args, "{s:i, s?:s, s?:i, s?:i, s?:s, s?:i}", "to", &cna,
                    "carrier", &carrier, "offset", &offset, "length",
                    &length, "data", &data, "sub", &sub) ||
        cna < 1 || cna > 0xffff || offset < 0 || length < 0 ||
        length > MEMORY || strlen(data) % 2 || strlen(data) > 2 * MEMORY) {
        return "to, carrier, offset, length, data: of these one is wrong";
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
    if (!ub_ta_post(layer(e), e->queue, &w->req)) {
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
    say(json_pack("{s:{s:b, s:i, s:i, s:o, s:o}}", "return", "link",
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
    say(json_pack("{s:{}}", "return"), id);
    return NULL;
}

/* Time-outs of the layers above the ports come when the client says so. */
static const char *do_advance(json_t *args, json_t *id)
{
    json_int_t ms = 0;

    if (json_unpack(args, "{s:I}", "ms", &ms) || ms < 0 ||
        ms > ADVANCE_MS - ahead / 1000000) {
        return "advance wants ms, not above 10^12 in all";
    }
    ahead += ms * 1000000;
    kicked = true;
    say(json_pack("{s:{}}", "return"), id);
    return NULL;
}

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
    if (index < 0 || (unsigned)index >= endpoints) {
        return "there is no such endpoint";
    }
    if (!strcmp(name, "quit")) {
        stopped = 1;
        return NULL;
    } else if (!strcmp(name, "state")) {
        return do_state(endpoint[index], args, id);
    } else if (!strcmp(name, "receive")) {
        return do_receive(endpoint[index], args, id);
    } else if (!strcmp(name, "channel")) {
        return do_channel(endpoint[index], args, id);
    } else if (!strcmp(name, "advance")) {
        return do_advance(args, id);
    }
    for (unsigned op = 0; op < UB_TA_OPCODES; op++) {
        const UbTaOpInfo *info = ub_ta_op(op);

        if (info->name && info->modes & 1u << UB_ROI &&
            !g_ascii_strcasecmp(name, info->name)) {
            return do_post(endpoint[index], op, args, id);
        }
    }
    return "no such command";
}

static void take_line(const char *line, size_t len)
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

static void read_client(void)
{
    uint8_t buf[65536], *end;
    ssize_t n = recv(client, buf, sizeof(buf), MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0 || input->len + n > LINE) {
        drop_client();
        return;
    }
    g_byte_array_append(input, buf, n);
    while (client >= 0 && input->len &&
           (end = memchr(input->data, '\n', input->len))) {
        size_t len = end - input->data;
        g_autofree char *line = g_strndup((char *)input->data, len);

        g_byte_array_remove_range(input, 0, len + 1);
        take_line(line, strlen(line));
    }
}

/* ---- life ---- */

static const char *make_endpoint(const char *spec, unsigned cna)
{
    Endpoint *e = endpoint[endpoints] = g_new0(Endpoint, 1);
    UbTaQueueConfig queue = { .rcid = RCID, .mode = UB_ROI };
    UbSegment s = { .token_id = 1, .len = MEMORY, .rights = 7, .bare = true };
    UbNodeOps ops = { .net = &net_ops, .net_opaque = e, .ta = &ta_ops,
                      .ta_opaque = e };
    UbEid eid = ub_eid_of_short(cna);
    const char *why = NULL;
    UbPortConfig pc;
    UbNodeConfig nc;

    e->index = endpoints++;
    e->cna = cna;
    e->listener = -1;
    e->listens = !g_str_has_prefix(spec, "connect:");
    e->path = g_strdup(e->listens ? spec : spec + strlen("connect:"));
    e->retry = e->listens ? INT64_MAX : 0;
    if (e->listens) {
        e->listener = open_socket(e->path, true);
        if (e->listener < 0) {
            return "no socket there";
        }
    }
    e->received = json_array();
    e->memory = g_malloc0(MEMORY);
    e->buffers = g_malloc0(BUFFER * BUFFERS);
    e->segments = ub_segments_new(4);
    s.host = e->memory;
    ub_segments_add(e->segments, &s);
    ub_node_config_init(&nc);
    nc.bare = true;
    nc.net.ports = 1;
    nc.ta.scale = ta_scale;
    for (unsigned i = 0; i < UB_TPC_NUM; i++) {
        nc.tp.clock[i].scale = tp_scale;
    }
    e->node = ub_node_new(&nc, &ops, e);
    e->space = ub_space_new(1);
    e->pool = core_packet_pool_new(UB_PACKET_HEADROOM, 65536);
    ub_port_config_init(&pc);
    if (getrandom(&pc.session, 8, 0) != 8) {
        return "no random numbers";
    }
    pc.phy.lmsm.seed = pc.session;
    pc.phy.lmsm.time_scale = phy_scale;
    pc.dll_time_scale = dll_scale;
    e->port = ub_port_new(&pc, e->space, e->pool, &port_ops, e, &why);
    if (!e->port || !e->node) {
        return why ? why : "the node cannot be";
    }
    ub_sec_set_entity(ub_node_sec(e->node), 0, &eid, 1);
    ub_net_set_primary(ub_node_net(e->node), cna);
    e->queue = ub_ta_queue_new(layer(e), &queue);
    ub_port_enable(e->port, now, true);
    return NULL;
}

static void free_endpoint(Endpoint *e)
{
    ub_node_free(e->node);
    ub_port_free(e->port);
    core_packet_pool_free(e->pool);
    ub_space_free(e->space);
    ub_segments_free(e->segments);
    if (e->wire) {
        wire_fd_free(e->wire);
    }
    if (e->listener >= 0) {
        close(e->listener);
        unlink(e->path);
    }
    json_decref(e->received);
    g_free(e->memory);
    g_free(e->buffers);
    g_free(e->path);
    g_free(e);
}

/* One turn; when to come back. */
static int64_t turn(void)
{
    int64_t next = INT64_MAX;

    kicked = false;
    for (unsigned i = 0; i < endpoints; i++) {
        Endpoint *e = endpoint[i];
        int64_t at;

        if (e->retry <= now) {
            take_wire(e, open_socket(e->path, false));
        }
        if (e->wire && (e->touched || wire_fd_busy(e->wire))) {
            run_wire(e);
        }
        at = ub_node_run(e->node, now + ahead, 256);
        next = MIN(next, at == INT64_MAX ? at : at - ahead);
        at = ub_port_run(e->port, now);
        next = MIN(next, at);
        next = MIN(next, e->retry);
        if (e->wire && (e->touched || wire_fd_busy(e->wire))) {
            kicked = true;
        }
    }
    return kicked ? now : next;
}

static void wait_for_work(int64_t next)
{
    struct pollfd p[2 * ENDPOINTS + 2];
    unsigned n = 0;
    int64_t wait = next == INT64_MAX ? 1000000000 : MAX(next - clock_now(), 0);
    struct timespec ts = { wait / 1000000000, wait % 1000000000 };

    for (unsigned i = 0; i < endpoints; i++) {
        Endpoint *e = endpoint[i];

        p[n++] = (struct pollfd) { e->listener, POLLIN, 0 };
        p[n++] = (struct pollfd) {
            e->wire ? wire_fd_descriptor(e->wire) : -1,
            e->wire ? wire_fd_events(e->wire) : 0, 0
        };
    }
    p[n++] = (struct pollfd) { control, POLLIN, 0 };
    p[n++] = (struct pollfd) { client, output->len ? POLLIN | POLLOUT
                                                   : POLLIN, 0 };
    if (ppoll(p, n, &ts, NULL) < 0) {
        return;
    }
    now = clock_now();
    for (unsigned i = 0; i < endpoints; i++) {
        Endpoint *e = endpoint[i];

        if (p[2 * i].revents) {
            take_wire(e, accept4(e->listener, NULL, NULL, SOCK_CLOEXEC));
        }
        if (p[2 * i + 1].revents) {
            run_wire(e);
        }
    }
    if (client >= 0 && p[n - 1].revents & POLLOUT) {
        flush_client();
    }
    if (client >= 0 && p[n - 1].revents & ~POLLOUT) {
        read_client();
    }
    if (p[n - 2].revents) {
        int fd = accept4(control, NULL, NULL, SOCK_CLOEXEC);

        if (client >= 0) {
            close(fd);
        } else {
            client = fd;
        }
    }
}

static void on_signal(int sig)
{
    stopped = 1;
}

int main(int argc, char **argv)
{
    g_auto(GStrv) ports = NULL;
    g_autofree char *path = NULL;
    int cna = 1;
    const GOptionEntry entries[] = {
        { "port", 'p', 0, G_OPTION_ARG_STRING_ARRAY, &ports,
          "One more endpoint, whose port listens at a unix socket, or behind "
          "connect: connects to one", "[connect:]PATH" },
        { "control", 'c', 0, G_OPTION_ARG_FILENAME, &path,
          "Unix socket for commands", "PATH" },
        { "cna", 0, 0, G_OPTION_ARG_INT, &cna,
          "CNA and EID of the first endpoint (1); others count on", "N" },
        { "time-scale", 0, 0, G_OPTION_ARG_INT, &phy_scale,
          "Multiplies the times of the physical layer (10)", "N" },
        { "dll-time-scale", 0, 0, G_OPTION_ARG_INT, &dll_scale,
          "Multiplies the times of the data link layer (1000)", "N" },
        { "tp-time-scale", 0, 0, G_OPTION_ARG_INT, &tp_scale,
          "Multiplies the times of the transport layer (1)", "N" },
        { "ta-time-scale", 0, 0, G_OPTION_ARG_INT, &ta_scale,
          "Multiplies the times of the transaction layer, in thousandths "
          "(1000)", "N" },
        { NULL },
    };
    g_autoptr(GOptionContext) c = g_option_context_new("- UB endpoints");
    g_autoptr(GError) error = NULL;
    unsigned n;

    g_option_context_add_main_entries(c, entries, NULL);
    if (!g_option_context_parse(c, &argc, &argv, &error)) {
        g_printerr("ub-node: %s\n", error->message);
        return 1;
    }
    n = ports ? g_strv_length(ports) : 0;
    if (!n || n > ENDPOINTS || !path || cna < 1 || cna + n > 0x10000 ||
        phy_scale < 1 || dll_scale < 1 || tp_scale < 1 || ta_scale < 1) {
        g_printerr("ub-node: 1 to 64 --port, --control, --cna from 1, scales "
                   "from 1\n");
        return 1;
    }
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    input = g_byte_array_new();
    output = g_byte_array_new();
    now = clock_now();
    for (unsigned i = 0; i < n; i++) {
        const char *why = make_endpoint(ports[i], cna + i);

        if (why) {
            g_printerr("ub-node: %s: %s\n", ports[i], why);
            return 1;
        }
    }
    control = open_socket(path, true);
    if (control < 0) {
        g_printerr("ub-node: no control socket at %s\n", path);
        return 1;
    }
    while (!stopped) {
        wait_for_work(turn());
    }
    for (unsigned i = 0; i < endpoints; i++) {
        free_endpoint(endpoint[i]);
    }
    close(control);
    unlink(path);
    g_byte_array_unref(input);
    g_byte_array_unref(output);
    return 0;
}
