/*
 * Two controllers with three links each to one switch, which counts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-multi.h"
#include "ub/cfg_regs.h"
#include "ub/net_format.h"
#include "ub/tah.h"

#define HOLD_US 100000      /* much less than a target waits for what is missing */
#define PROPS "ports=3,chardev0=w0,chardev1=w1,chardev2=w2,route-entries=64," \
              "net-exact=on," QUBC_STEPPED

/* ---- Life --------------------------------------------------------------------------- */

unsigned multi_switch_port(unsigned end, unsigned port)
{
    return end * MULTI_PORTS + port;
}

void multi_tell(Multi *m, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list va;

    va_start(va, format);
    text = g_strdup_vprintf(format, va);
    va_end(va);
    qobject_unref(switch_command(&m->sw, text));
}

void multi_route(Multi *m, unsigned cna, const char *ports)
{
    multi_tell(m, "{ 'execute': 'route-set', 'arguments':"
               " { 'cna': %u, 'ports': %s } }", cna, ports);
}

bool multi_all_up(Multi *m)
{
    for (unsigned i = 0; i < 2 * MULTI_PORTS; i++) {
        qubc_pass(m->q[i / MULTI_PORTS]);
        if (!qubc_up(m->q[i / MULTI_PORTS], i % MULTI_PORTS)) {
            return false;
        }
    }
    return switch_ports_up(&m->sw) == 2 * MULTI_PORTS;
}

void multi_start(Multi *m, const char *more)
{
    g_autofree char *props = g_strconcat(PROPS, more, NULL);

    memset(m, 0, sizeof(*m));
    m->dir = g_dir_make_tmp("ubsw-XXXXXX", NULL);
    g_assert_nonnull(m->dir);
    switch_start(&m->sw, m->dir, 2 * MULTI_PORTS, NULL, false);
    multi_route(m, 1, "[0, 1, 2]");
    multi_route(m, 2, "[3, 4, 5]");
    for (unsigned end = 0; end < 2; end++) {
        g_autoptr(GString) words = g_string_new(NULL);

        for (unsigned p = 0; p < MULTI_PORTS; p++) {
            g_autofree char *port = g_strdup_printf("[%u]", multi_switch_port(end, p));

            g_string_append_printf(words, "-chardev socket,id=w%u,path=%s/port%u,"
                                   "reconnect-ms=100 ", p, m->dir,
                                   multi_switch_port(end, p));
            multi_route(m, MULTI_CNA(end, p), port);
        }
        m->q[end] = qubc_start_attached(props, words->str);
        eng_open(&m->e[end], m->q[end], end + 1);
        for (unsigned p = 0; p < MULTI_PORTS; p++) {
            qubc_port_write(m->q[end], p, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
        }
    }
    QUBC_WAIT(multi_all_up(m));
    for (unsigned end = 0; end < 2; end++) {
        eng_queue(&m->e[end], &(EngPlan){ .carrier = ENG_CTP });
    }
}

void multi_stop(Multi *m)
{
    qubc_stop(m->q[0]);
    qubc_stop(m->q[1]);
    switch_stop(&m->sw);
    g_assert_cmpint(rmdir(m->dir), ==, 0);
    g_free(m->dir);
}

/* ---- Registers beyond the window ------------------------------------------------------ */

void multi_register_set(Eng *e, uint32_t dw, uint32_t value)
{
    qubc_write(e->q, UBC_CFG_ADDR, dw);
    qubc_write(e->q, UBC_CFG_DATA, value);
}

void multi_port_cna(Eng *e, unsigned port, uint32_t cna)
{
    multi_register_set(e, UB_CFG_PORT_BASE(port) + UB_PORT_CNA, cna);
}

void multi_enable(Multi *m, unsigned end, unsigned port, bool on)
{
    qubc_port_write(m->q[end], port, UBC_PORT_CTRL, on ? UBC_PORT_CTRL_ENABLE : 0);
}

/* ---- Traffic ------------------------------------------------------------------------ */

void multi_lead(Eng *e, const MultiWay *w)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, ENG_DEST, 0);
    cmd[UBQ_DST_WAY + UBQ_WAY_CFG] = w->grouped ? UB_LPH_CNA24 : UB_LPH_CNA16;
    cmd[UBQ_DST_WAY + UBQ_WAY_PORT] = 0xff;
    cmd[UBQ_DST_WAY + UBQ_WAY_RT] = w->rt;
    cmd[UBQ_DST_WAY + UBQ_WAY_LBF] = w->lbf;
    put_le32(cmd + UBQ_DST_WAY + UBQ_WAY_DCNA, w->dcna ? w->dcna : 3 - e->n);
    put_le32(cmd + UBQ_DST_WAY + UBQ_WAY_SCNA, w->scna);
    cmd[UBQ_DST_CARRIER] = w->grouped ? ENG_RTP : ENG_CTP;
    cmd[UBQ_DST_FORM] = 1;
    put_le16(cmd + UBQ_DST_MTU, 4096);
    put_le32(cmd + UBQ_DST_CHANNEL, w->group);
    put_le32(cmd + UBQ_DST_FLAGS, w->grouped ? UBQ_DST_GROUP : 0);
    put_le32(cmd + UBQ_DST_UPI, 1);
    cmd[UBQ_DST_DEID + 15] = 3 - e->n;
    g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_DEST_SET, cmd), ==,
                     UBQ_RESULT_OK);
}

void multi_post(Eng *e, uint8_t value)
{
    memset(e->drv.memory + e->room, value, MULTI_LEN);
    ubq_post(&e->queue, eng_sqe(e, UB_TA_WRITE, 0, MULTI_LEN, 1), 1);
}

void multi_write(Multi *m, uint8_t value)
{
    multi_post(&m->e[0], value);
    eng_complete(&m->e[0], UBQ_STATUS_OK);
    g_assert_cmphex(m->e[1].drv.memory[m->e[1].room], ==, value);
}

MultiCounts multi_counts(Multi *m, unsigned end)
{
    MultiCounts c;

    for (unsigned p = 0; p < MULTI_PORTS; p++) {
        c.from[p] = switch_counter(&m->sw, multi_switch_port(end, p), "rx-packets");
        c.to[p] = switch_counter(&m->sw, multi_switch_port(end, p), "forwarded");
    }
    return c;
}

unsigned multi_used(Multi *m, unsigned end, const MultiCounts *was, bool to,
                    uint64_t *all)
{
    MultiCounts now = multi_counts(m, end);
    unsigned ports = 0;

    *all = 0;
    for (unsigned p = 0; p < MULTI_PORTS; p++) {
        uint64_t n = to ? now.to[p] - was->to[p] : now.from[p] - was->from[p];

        ports |= n ? 1u << p : 0;
        *all += n;
    }
    return ports;
}

void multi_first_last(Multi *m, unsigned n)
{
    Eng *a = &m->e[0], *b = &m->e[1];

    eng_set_faults(b, false, "'ta-opcode': 1, 'nth': 1, 'action': 'delay',"
                   " 'delay-us': " G_STRINGIFY(HOLD_US));
    for (unsigned i = 0; i < n; i++) {
        uint8_t *s = ubq_sqe(&a->queue, 1);

        ubq_recv(&b->queue, b->room + i * 4096, 4096);
        ubq_sqe_put(s, UB_TA_SEND_IMM | UBQ_SQE_ORDERED_CQE, ENG_DEST, a->room, MULTI_LEN);
        put_le32(s + UBQ_SQE_TARGET, b->queue.id);
        put_le64(s + UBQ_SQE_IMM, i);
        ubq_post(&a->queue, s, 1);
        if (!i) {
            QUBC_WAIT(eng_faults(b, false, "delay") == 1);
        }
    }
    QUBC_WAIT(eng_counter(b, "transaction", "rx-requests") == n - 1);
    g_assert_null(ubq_cq_poll(&b->cq));
    qtest_clock_step(b->q->qts, HOLD_US * 1000ll);
    for (unsigned i = 0; i < n; i++) {
        const uint8_t *c = eng_complete(b, UBQ_STATUS_OK);

        g_assert_cmpuint(get_le64(c + UBQ_CQE_IMMEDIATE), ==, i);
    }
    for (unsigned i = 0; i < n; i++) {
        eng_complete(a, UBQ_STATUS_OK);
    }
}
