/*
 * The transaction engines of two emulators, joined by a link and driven by their
 * queues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qobject/qjson.h"
#include "ubc-eng.h"
#include "ub/tah.h"

#define ALL_RIGHTS (UBQ_SEG_READ | UBQ_SEG_WRITE | UBQ_SEG_ATOMIC | \
                    UBQ_SEG_TOKEN)
#define IMMEDIATE 0x123456789abcull

/* ---- What the driver needs ------------------------------------------------------- */

static uint32_t eng_read(void *opaque, uint32_t offset)
{
    return qubc_read(((Eng *)opaque)->q, offset);
}

static void eng_write(void *opaque, uint32_t offset, uint32_t value)
{
    qubc_write(((Eng *)opaque)->q, offset, value);
}

static void eng_bell(void *opaque, uint32_t page, uint32_t offset,
                     uint64_t value)
{
    Eng *e = opaque;

    qpci_io_writeq(e->q->pci, e->pages, page * UBQ_PAGE + offset, value);
}

static void eng_progress(void *opaque)
{
    g_usleep(100);
}

/* ---- Life ------------------------------------------------------------------------- */

UbqPeer eng_peer(unsigned n, unsigned cfg)
{
    UbqPeer p = { .cna = n, .eid = { [15] = n }, .ip = { 10, 0, 0, n },
                  .upi = 1, .cfg = cfg };

    if (cfg == UB_LPH_IPV6) {
        memset(p.ip, 0, sizeof(p.ip));
        p.ip[0] = 0xfd;
        p.ip[15] = n;
    }
    return p;
}

/* Who we are: registers of CFG0_BASIC, as a manager writes them. */
static void eng_identify(Eng *e)
{
    qubc_cfg_write(e->q, UB_CFG0_PRIMARY_CNA, e->n);
    qubc_cfg_write(e->q, UB_CFG0_EID, e->n);
    qubc_cfg_write(e->q, UB_CFG0_UPI, 1);
}

void eng_open(Eng *e, QUbc *q, unsigned n)
{
    *e = (Eng){ .q = q, .n = n, .pages = qpci_iomap(q->pci, 2, NULL) };
    e->drv = (UbqDrv){
        .memory = q->ram->at,
        .brk = ENG_HEAP,
        .end = q->ram->size,
        .opaque = e,
        .reg_read = eng_read,
        .reg_write = eng_write,
        .bell = eng_bell,
        .progress = eng_progress,
    };
    ubq_open(&e->drv);
    eng_identify(e);
    e->room = ubq_alloc(&e->drv, ENG_ROOM, 4096);
}

static void own_ip(Eng *e, unsigned cfg)
{
    UbqPeer own = eng_peer(e->n, cfg);

    g_assert_cmpuint(ubq_ip_add(&e->drv, &own), ==, UBQ_RESULT_OK);
}

void eng_queue(Eng *e, const EngPlan *plan)
{
    unsigned cfg = plan->cfg ? plan->cfg
                             : plan->carrier == ENG_UTP ? UB_LPH_IPV4 : 0;
    UbqPeer p = eng_peer(3 - e->n, cfg);

    ubq_cq_open(&e->cq, &e->drv, 8);
    ubq_queue_open(&e->queue, &e->drv, &e->cq, &e->cq, plan->mode,
                   plan->flags);
    if (ub_lph_is_ip(cfg)) {
        own_ip(e, cfg);
    }
    if (plan->carrier == ENG_RTP && !plan->in_band) {
        ubq_channel(&e->drv, ENG_TPN, &p, 99 + e->n, 102 - e->n);
    }
    ubq_dest(&e->drv, ENG_DEST, plan->carrier, ENG_TPN, &p);
    ubq_segment(&e->drv, ENG_SEGMENT, e->room, ENG_ROOM, ALL_RIGHTS,
                ENG_TOKEN);
}

void eng_link_up(EngPair *p)
{
    qubc_port_write(p->link.a, 0, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    qubc_port_write(p->link.b, 0, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    wait_up(&p->link);
}

static void connect_in_band(EngPair *p)
{
    UbqPeer peer = eng_peer(2, p->plan.cfg);
    const uint8_t *e;

    ubq_channel_connect(&p->a.drv, ENG_TPN, &peer);
    e = eng_event(&p->a, UBQ_EVENT_CHANNEL_UP);
    g_assert_cmpuint(get_le32(e + 4), ==, ENG_TPN);
    g_assert_cmpuint(get_le32(e + 12), ==, UBQ_RESULT_OK);
}

static char *props_of(const Link *l)
{
    return g_strconcat("chardev0=w", l->props ? "," : "", l->props, NULL);
}

static QUbc *start_unplug(const Link *l)
{
    g_autofree char *chardev = client(l->path);
    g_autofree char *props = props_of(l);
    g_autofree char *more = g_strdup_printf("%s %s", chardev, l->more ?: "");
    QUbc *d = qubc_start("pc", props, more);

    qubc_attach(d);
    return d;
}

void eng_start_apart(EngPair *p, const EngPlan *plan, const char *props)
{
    memset(p, 0, sizeof(*p));
    p->plan = *plan;
    p->link.props = props;
    p->link.more = plan->more;
    link_prepare(&p->link);
    p->link.a = start_server(&p->link);
    p->link.props = plan->props;
    p->link.b = plan->unplug ? start_unplug(&p->link)
                             : start_client(&p->link);
    eng_open(&p->a, p->link.a, 1);
    eng_open(&p->b, p->link.b, 2);
    eng_link_up(p);
    eng_queue(&p->a, plan);
    eng_queue(&p->b, plan);
    if (plan->in_band) {
        connect_in_band(p);
    }
}

void eng_start(EngPair *p, const EngPlan *plan)
{
    eng_start_apart(p, plan, plan->props);
}

void eng_channel(Eng *e, const EngChannel *c)
{
    UbqPeer peer = eng_peer(3 - e->n, 0);
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, ENG_TPN, 0);
    cmd[UBQ_CH_WAY + UBQ_WAY_CFG] = UB_LPH_CNA24;
    cmd[UBQ_CH_WAY + UBQ_WAY_PORT] = 0xff;
    cmd[UBQ_CH_WAY + UBQ_WAY_RT] = c->rt;
    put_le32(cmd + UBQ_CH_WAY + UBQ_WAY_DCNA, peer.cna);
    put_le32(cmd + UBQ_CH_PEER, ENG_TPN);
    put_le32(cmd + UBQ_CH_TX_PSN, c->tx);
    put_le32(cmd + UBQ_CH_RX_PSN, c->rx);
    put_le16(cmd + UBQ_CH_MTU, c->mtu);
    put_le16(cmd + UBQ_CH_FLAGS, c->flags);
    put_le16(cmd + UBQ_CH_OOO_WINDOW, c->ooo_window);
    put_le16(cmd + UBQ_CH_TX_WINDOW, c->tx_window);
    put_le16(cmd + UBQ_CH_ACK_EVERY, c->ack_every);
    put_le16(cmd + UBQ_CH_SACK_EVERY, c->sack_every);
    put_le16(cmd + UBQ_CH_SACK_BITS, c->sack_bits);
    put_le32(cmd + UBQ_CH_RTO_BASE, c->rto);
    cmd[UBQ_CH_ASK] = c->ask;
    cmd[UBQ_CH_RETRIES] = c->retries;
    cmd[UBQ_CH_RTO_CODE] = c->rto_code;
    cmd[UBQ_CH_RTO_SHIFT] = c->rto_shift;
    cmd[UBQ_CH_CC] = c->cc;
    g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_CHANNEL_CREATE, cmd), ==,
                     UBQ_RESULT_OK);
    ubq_cmd_init(cmd, ENG_TPN, 0);
    g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_CHANNEL_ACTIVATE, cmd), ==,
                     UBQ_RESULT_OK);
    ubq_dest(&e->drv, ENG_DEST, ENG_RTP, ENG_TPN, &peer);
}

void eng_hasty(Eng *e)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, ENG_TPN, UBQ_CHM_RTO);
    cmd[UBQ_CH_WAY + UBQ_WAY_CFG] = UB_LPH_CNA24;
    put_le16(cmd + UBQ_CH_FLAGS, UBQ_CH_RTO_DYNAMIC);
    cmd[UBQ_CH_RETRIES] = 3;
    put_le32(cmd + UBQ_CH_RTO_BASE, 16384);
    cmd[UBQ_CH_RTO_SHIFT] = 1;
    g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_CHANNEL_MODIFY, cmd), ==,
                     UBQ_RESULT_OK);
}

void eng_begin_anew(Eng *e)
{
    qubc_write(e->q, UBC_CTRL, UBC_CTRL_RESET);
    eng_open(e, e->q, e->n);
    qubc_port_write(e->q, 0, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
}

void eng_move(EngPair *p)
{
    g_autofree char *path = g_build_filename(p->link.dir, "migrate", NULL);
    g_autofree char *uri = g_strdup_printf("unix:%s", path);
    g_autofree char *chr = client(p->link.path);
    g_autofree char *more = g_strdup_printf("%s %s -incoming %s", chr,
                                            p->link.more ?: "", uri);
    g_autofree char *props = props_of(&p->link);
    QUbc *c = qubc_start("q35", props, more);

    qtest_qmp_assert_success(p->link.b->qts, "{ 'execute': 'migrate',"
                             " 'arguments': { 'uri': %s } }", uri);
    QUBC_WAIT(qubc_migrated(p->link.b));
    qtest_qmp_eventwait(c->qts, "RESUME");
    qubc_adopt(c, p->link.b);
    qubc_stop(p->link.b);
    p->link.b = p->b.q = c;
    p->b.drv.memory = c->ram->at;
    unlink(path);
}

void eng_migrate(EngPair *p)
{
    eng_move(p);
    wait_up(&p->link);
}

void eng_stop(EngPair *p)
{
    link_stop(&p->link);
}

/* ---- What comes ----------------------------------------------------------------------- */

const uint8_t *eng_next(Eng *e)
{
    const uint8_t *c = NULL;

    QUBC_WAIT((c = ubq_cq_poll(&e->cq)));
    return c;
}

const uint8_t *eng_complete(Eng *e, unsigned status)
{
    const uint8_t *c = eng_next(e);

    g_assert_cmphex(ubq_cqe_status(c), ==, status);
    return c;
}

void eng_row_put(Eng *e, unsigned row, unsigned at, const void *bytes, unsigned n)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, row, 0);
    g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_DEST_QUERY, cmd), ==,
                     UBQ_RESULT_OK);
    put_le32(cmd + UBQ_CMD_RESULT, 0);
    memcpy(cmd + at, bytes, n);
    g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_DEST_SET, cmd), ==,
                     UBQ_RESULT_OK);
}

void eng_dest_put(Eng *e, unsigned at, uint8_t value)
{
    eng_row_put(e, ENG_DEST, at, &value, 1);
}

const uint8_t *eng_event(Eng *e, unsigned event)
{
    const uint8_t *c = NULL;

    QUBC_WAIT((c = ubq_eq_poll(&e->drv)));
    g_assert_cmphex((get_le32(c) & UBQ_EQE_TYPE) << 8 |
                    (get_le32(c) & UBQ_EQE_SUB) >> 8, ==, event);
    return c;
}

/* ---- Data ------------------------------------------------------------------------------- */

void eng_ask_answers(Eng *e)
{
    uint8_t flags[4];

    put_le32(flags, UBQ_DST_ANSWERS);
    eng_row_put(e, ENG_DEST, UBQ_DST_FLAGS, flags, sizeof(flags));
}

void eng_fill(Eng *e, uint32_t len, uint32_t seed)
{
    for (uint32_t i = 0; i < len; i++) {
        e->drv.memory[e->room + i] = i * 7 + (i >> 8) + seed;
    }
}

void eng_check(Eng *e, uint32_t len, uint32_t seed)
{
    for (uint32_t i = 0; i < len; i++) {
        g_assert_cmphex(e->drv.memory[e->room + i], ==,
                        (uint8_t)(i * 7 + (i >> 8) + seed));
    }
}

uint8_t *eng_sqe(Eng *e, unsigned opcode, uint32_t flags, uint32_t len,
                 unsigned blocks)
{
    uint8_t *s = ubq_sqe(&e->queue, blocks);

    ubq_sqe_put(s, opcode | UBQ_SQE_TOKEN | flags, ENG_DEST, e->room, len);
    put_le32(s + UBQ_SQE_TARGET, ENG_SEGMENT);
    put_le32(s + UBQ_SQE_TOKEN_VALUE, ENG_TOKEN);
    put_le64(s + UBQ_SQE_ADDR, ENG_UBA);
    return s;
}

void eng_write_read_to(Eng *a, Eng *b, uint32_t len, uint32_t seed)
{
    eng_fill(a, len, seed);
    memset(b->drv.memory + b->room, 0, len);
    ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, 0, len, 1), 1);
    eng_complete(a, UBQ_STATUS_OK);
    eng_check(b, len, seed);
    memset(a->drv.memory + a->room, 0, len);
    ubq_post(&a->queue, eng_sqe(a, UB_TA_READ, 0, len, 1), 1);
    g_assert_cmpuint(get_le32(eng_complete(a, UBQ_STATUS_OK) + UBQ_CQE_BYTES),
                     ==, len);
    eng_check(a, len, seed);
}

void eng_write_read(EngPair *p, uint32_t len, uint32_t seed)
{
    eng_write_read_to(&p->a, &p->b, len, seed);
}

void eng_send_recv_to(Eng *a, Eng *b, uint32_t len)
{
    const uint8_t *c;
    uint8_t *s;

    eng_fill(a, len, 3);
    ubq_recv(&b->queue, b->room, ENG_ROOM);
    s = ubq_sqe(&a->queue, 1);
    ubq_sqe_put(s, UB_TA_SEND_IMM, ENG_DEST, a->room, len);
    put_le32(s + UBQ_SQE_TARGET, b->queue.id);
    put_le64(s + UBQ_SQE_IMM, IMMEDIATE);
    ubq_post(&a->queue, s, 1);
    eng_complete(a, UBQ_STATUS_OK);
    c = eng_complete(b, UBQ_STATUS_OK);
    g_assert_cmpuint(get_le32(c + UBQ_CQE_BYTES), ==, len);
    g_assert_cmphex(get_le64(c + UBQ_CQE_IMMEDIATE), ==, IMMEDIATE);
    g_assert_cmpuint(c[UBQ_CQE_EID + 15], ==, a->n);
    eng_check(b, len, 3);
}

void eng_send_recv(EngPair *p, uint32_t len)
{
    eng_send_recv_to(&p->a, &p->b, len);
}

void eng_fetch_add_to(Eng *a, Eng *b)
{
    uint8_t *s;

    put_le64(b->drv.memory + b->room, 40);
    s = eng_sqe(a, UB_TA_FETCH_ADD, UBQ_SQE_INLINE, 8, 2);
    put_le64(s + UBQ_BLOCK, 2);
    ubq_post(&a->queue, s, 2);
    eng_complete(a, UBQ_STATUS_OK);
    g_assert_cmpuint(get_le64(a->drv.memory + a->room), ==, 40);
    g_assert_cmpuint(get_le64(b->drv.memory + b->room), ==, 42);
}

void eng_fetch_add(EngPair *p)
{
    eng_fetch_add_to(&p->a, &p->b);
}

/* ---- The monitor ------------------------------------------------------------------------- */

/* The device's row of query-ub-engines; the caller unrefs *rsp. */
static QDict *engine_of(Eng *e, QDict **rsp)
{
    *rsp = qtest_qmp(e->q->qts, "{ 'execute': 'query-ub-engines' }");
    return qobject_to(QDict, qlist_entry_obj(
        qlist_first(qdict_get_qlist(*rsp, "return"))));
}

static uint64_t counter_in(const QList *list, const char *name)
{
    const QListEntry *at;

    QLIST_FOREACH_ENTRY(list, at) {
        QDict *c = qobject_to(QDict, qlist_entry_obj(at));

        if (!strcmp(qdict_get_str(c, "name"), name)) {
            return qdict_get_int(c, "value");
        }
    }
    return 0;
}

uint64_t eng_counter(Eng *e, const char *floor, const char *name)
{
    QDict *rsp;
    uint64_t value = counter_in(qdict_get_qlist(engine_of(e, &rsp), floor),
                                name);

    qobject_unref(rsp);
    return value;
}

uint64_t eng_faults(Eng *e, bool out, const char *action)
{
    const QListEntry *at;
    uint64_t value = 0;
    QDict *rsp;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(engine_of(e, &rsp), "faults"), at) {
        QDict *f = qobject_to(QDict, qlist_entry_obj(at));

        if (qdict_get_bool(f, "out") == out) {
            value = counter_in(qdict_get_qlist(f, "done"), action);
        }
    }
    qobject_unref(rsp);
    return value;
}

char *eng_object(Eng *e, const char *list, unsigned number, const char *key)
{
    const QListEntry *at;
    char *value = NULL;
    QDict *rsp;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(engine_of(e, &rsp), list), at) {
        QDict *o = qobject_to(QDict, qlist_entry_obj(at));

        if (qdict_get_int(o, "number") == number) {
            QObject *v = qdict_get(o, key);

            value = qobject_type(v) == QTYPE_QSTRING
                    ? g_strdup(qdict_get_str(o, key))
                    : g_strdup_printf("%" PRId64, qdict_get_int(o, key));
        }
    }
    qobject_unref(rsp);
    return value;
}

void eng_set_faults(Eng *e, bool out, const char *plan)
{
    g_autofree char *args =
        g_strdup_printf("{ 'device': 'ub0', 'out': %s, 'plan': { %s } }",
                        out ? "true" : "false", plan);
    QObject *json = qobject_from_json(args, &error_abort);

    qtest_qmp_assert_success(e->q->qts, "{ 'execute': 'ub-packet-faults',"
                             " 'arguments': %p }", json);
}
