/*
 * Two engines of queues, joined.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "ends.h"

#define DELAY 1000 /* ns of the wire */

static bool memory_good(const End *e, uint64_t addr, uint32_t len)
{
    return addr <= END_MEMORY && len <= END_MEMORY - addr;
}

static bool memory_read(void *opaque, uint64_t addr, void *buf, uint32_t len)
{
    End *e = opaque;

    if (!memory_good(e, addr, len)) {
        return false;
    }
    memcpy(buf, e->memory + addr, len);
    if (e->touched) {
        e->touched(e, addr, len, false);
    }
    return true;
}

static bool memory_write(void *opaque, uint64_t addr, const void *buf,
                         uint32_t len)
{
    End *e = opaque;

    if (!memory_good(e, addr, len)) {
        return false;
    }
    memcpy(e->memory + addr, buf, len);
    if (e->touched) {
        e->touched(e, addr, len, true);
    }
    return true;
}

static bool memory_exchange(void *opaque, uint64_t addr, void *was, const void *now,
                            uint32_t len, bool *same)
{
    uint8_t there[8];

    if (!memory_read(opaque, addr, there, len)) {
        return false;
    }
    *same = !memcmp(there, was, len);
    memcpy(was, there, len);
    return !*same || memory_write(opaque, addr, now, len);
}

static void end_interrupt(void *opaque, unsigned vector)
{
    End *e = opaque;

    e->interrupts++;
    e->vector = vector;
}

static void end_kick(void *opaque)
{
    End *e = opaque;

    e->kicks++;
}

static void end_guest_error(void *opaque, const char *what)
{
    End *e = opaque;

    e->guest_errors++;
    e->last_error = what;
}

static int64_t command_now;

static unsigned end_other_command(void *opaque, unsigned opcode,
                                  uint8_t cmd[UBQ_CMD])
{
    End *e = opaque;

    return ub_node_command(e->node, command_now, opcode, cmd);
}

static void end_trace(void *opaque, UbUrmaTrace what, uint32_t id, uint32_t a,
                      uint32_t b)
{
    End *e = opaque;

    e->trace[what].n++;
    e->trace[what].id = id;
    e->trace[what].a = a;
    e->trace[what].b = b;
}

static void end_message(void *opaque, int64_t now, const UbTaMessage *m)
{
    End *e = opaque;

    e->messages++;
    e->msn = m->msn;
}

static const UbUrmaOps urma_ops = {
    .read = memory_read,
    .write = memory_write,
    .exchange = memory_exchange,
    .interrupt = end_interrupt,
    .kick = end_kick,
    .guest_error = end_guest_error,
    .command = end_other_command,
    .trace = end_trace,
    .message = end_message,
};

static bool wire_room(void *opaque, unsigned port, unsigned vl)
{
    return true;
}

/* As a link does it: the bytes go over, not the packet. */
static bool wire_send(void *opaque, unsigned port, CorePacket *pkt)
{
    End *e = opaque;
    CorePacket *copy;

    if (e->peer->lose && e->peer->lose(e->peer, pkt)) {
        core_packet_free(pkt);
        return true;
    }
    copy = core_packet_alloc(pkt->pool, pkt->len);
    memcpy(core_packet_data(copy), core_packet_data(pkt), pkt->len);
    *ub_meta(copy) = (UbPktMeta){ .vl = ub_meta(pkt)->vl,
                                  .lph_cfg = ub_meta(pkt)->lph_cfg,
                                  .rt = ub_meta(pkt)->rt };
    core_packet_free(pkt);
    g_queue_push_tail(&e->peer->in, copy);
    return true;
}

static void wire_kick(void *opaque)
{
}

static const UbNetOps net_ops = {
    .room = wire_room,
    .send = wire_send,
    .kick = wire_kick,
};

bool ends_late;

static UbAccessResult late_access(void *opaque, UbAccess *a, UbSpan *out,
                                  unsigned max, unsigned *n)
{
    a->ticket = 5;
    return ends_late ? UB_ACCESS_LATER
                     : ub_urma_ta_ops.access(opaque, a, out, max, n);
}

static UbTaOps ta_ops;

static void channel_error(void *opaque, uint32_t tpn, UbTpError error)
{
    End *e = opaque;

    ub_urma_event(e->urma, 0, 0x0200 | error, tpn, 0, 0);
}

static void channel_up(void *opaque, uint32_t tpn, UbTpResult result)
{
    End *e = opaque;

    ub_urma_event(e->urma, 0, UBQ_EVENT_CHANNEL_UP, tpn, 0,
                  ub_node_result(result));
}

static void imported(void *opaque, uint32_t row, unsigned result)
{
    End *e = opaque;

    ub_urma_event(e->urma, 0, UBQ_EVENT_IMPORTED, row, 0, result);
}

static void end_open(Ends *ends, End *e, unsigned n)
{
    UbNodeConfig cfg;
    UbUrmaConfig urma;
    UbNodeOps ops = {
        .net = &net_ops, .net_opaque = e,
        .ta = &ta_ops,
        .tp_error = channel_error,
        .tp_connected = channel_up,
        .imported = imported,
    };
    UbEid eid = { .b = { [15] = n + 1 } };

    e->memory = g_malloc0(END_MEMORY);
    e->ends = ends;
    g_queue_init(&e->in);
    ub_urma_config_init(&urma);
    urma.queues = urma.cqs = urma.segments = 256;
    urma.groups = 8;
    urma.members = 4;
    e->urma = ub_urma_new(&urma, &urma_ops, e);
    ub_node_config_init(&cfg);
    cfg.bare = true;
    cfg.tp.seed = n + 1;
    cfg.ta.retries = UINT8_MAX; /* for ever */
    ops.ta_opaque = e->urma;
    g_assert_null(ub_node_config_check(&cfg));
    e->node = ub_node_new(&cfg, &ops, e);
    ub_urma_bind(e->urma, ub_node_ta(e->node));
    ub_net_set_primary(ub_node_net(e->node), n + 1);
    ub_net_port_state(ub_node_net(e->node), ends->now, 0, 0xffff);
    ub_net_route_default(ub_node_net(e->node), 1);
    ub_sec_set_entity(ub_node_sec(e->node), 0, &eid, 1);
    ub_net_ip_add(ub_node_net(e->node), UB_LPH_IPV4,
                  (uint8_t[16]){ 10, 0, 0, n + 1 });
    ub_net_ip_route(ub_node_net(e->node), UB_LPH_IPV4,
                    (uint8_t[16]){ 10 }, 8, 1);
}

static uint32_t drv_reg_read(void *opaque, uint32_t offset)
{
    return ub_urma_reg_read(((End *)opaque)->urma, offset);
}

static void drv_reg_write(void *opaque, uint32_t offset, uint32_t value)
{
    ub_urma_reg_write(((End *)opaque)->urma, offset, value);
}

static void drv_bell(void *opaque, uint32_t page, uint32_t offset,
                     uint64_t value)
{
    ub_urma_bell(((End *)opaque)->urma, page, offset, value);
}

static void drv_progress(void *opaque)
{
    End *e = opaque;

    command_now = e->ends->now;
    ub_urma_run(e->urma, e->ends->now, 64);
}

static void driver_open(Ends *ends, End *e)
{
    e->drv = (UbqDrv){
        .memory = e->memory,
        .brk = 4096,
        .end = END_MEMORY,
        .opaque = e,
        .reg_read = drv_reg_read,
        .reg_write = drv_reg_write,
        .bell = drv_bell,
        .progress = drv_progress,
    };
    ubq_open(&e->drv);
}

void ends_start(Ends *ends)
{
    ends_late = false;
    ta_ops = ub_urma_ta_ops;
    ta_ops.access = late_access;
    memset(ends, 0, sizeof(*ends));
    ends->now = 1000000;
    for (unsigned i = 0; i < 2; i++) {
        ends->end[i].peer = &ends->end[!i];
        end_open(ends, &ends->end[i], i);
        driver_open(ends, &ends->end[i]);
    }
}

void ends_stop(Ends *ends)
{
    for (unsigned i = 0; i < 2; i++) {
        End *e = &ends->end[i];
        CorePacket *pkt;

        while ((pkt = g_queue_pop_head(&e->in))) {
            core_packet_free(pkt);
        }
        ub_urma_free(e->urma);
        ub_node_free(e->node);
        g_free(e->memory);
    }
}

static int64_t end_turn(Ends *ends, End *e)
{
    int64_t next, at;
    CorePacket *pkt;

    while ((pkt = g_queue_pop_head(&e->in))) {
        ub_node_rx(e->node, ends->now, 0, pkt);
    }
    command_now = ends->now;
    next = ub_urma_run(e->urma, ends->now, 64);
    at = ub_node_run(e->node, ends->now, 64);
    return MIN(next, at);
}

void ends_run(Ends *ends, int64_t ns)
{
    int64_t end = ends->now + ns;

    for (unsigned idle = 0; ends->now <= end && idle < 4;) {
        int64_t next = INT64_MAX, at;

        for (unsigned i = 0; i < 2; i++) {
            at = end_turn(ends, &ends->end[i]);
            next = MIN(next, at);
        }
        if (ends->end[0].in.length || ends->end[1].in.length) {
            next = MIN(next, ends->now + DELAY);
        }
        if (next > end) {
            break;
        }
        idle = next > ends->now ? 0 : idle;
        ends->now = MAX(next, ends->now + 1);
    }
    ends->now = MAX(ends->now, end);
}

UbqPeer end_peer(const End *e)
{
    uint8_t cna = ub_net_primary(ub_node_net(e->peer->node));

    return (UbqPeer){ .cna = cna, .eid = { [15] = cna },
                      .ip = { 10, 0, 0, cna }, .upi = 1 };
}

void ends_channel(Ends *ends, uint32_t tpn)
{
    for (unsigned i = 0; i < 2; i++) {
        UbqPeer peer = end_peer(&ends->end[i]);

        ubq_channel(&ends->end[i].drv, tpn, &peer, 0xfffff0 + i,
                    0xfffff0 + !i);
    }
}
