/*
 * Isolation by a switch (UB 2.0 §5.3.3, appendix F): it filters NPIs at its edge, replaces
 * them, and tells controllers theirs; what it takes of CFG 5.  Two engines send messages
 * over IP by UTP: who is not to hear one does not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-raw.h"
#include "ubc-msg.h"
#include "qobject/qjson.h"
#include "ubc-watch.h"
#include "switch-fabric.h"
#include "ub/net_hw.h"
#include "ub/tah.h"

#define LEN 64u
#define LOW UB_NPI_LOW

typedef struct Bed {
    Fabric f;
    uint64_t sent;      /* messages from node 1 to node 2, each with its number */
    uint32_t flags;     /* UBQ_SQE_* of them */
    Guest fm;           /* node 1's software manages */
} Bed;

G_GNUC_PRINTF(2, 3)
static QDict *ask_switch(Bed *b, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list va;

    va_start(va, format);
    text = g_strdup_vprintf(format, va);
    va_end(va);
    return switch_command(&b->f.sw, text);
}

#define TELL(b, ...) qobject_unref(ask_switch(b, __VA_ARGS__))

static void start(Bed *b, const char *props)
{
    memset(b, 0, sizeof(*b));
    fabric_start(&b->f, props);
    fabric_engines(&b->f, &(EngPlan){ .carrier = ENG_UTP, .mode = UB_UNO });
}

static uint64_t net(Bed *b, unsigned node, const char *name)
{
    return eng_counter(&b->f.e[node], "network", name);
}

static void send_one(Bed *b)
{
    Eng *a = &b->f.e[0];
    uint8_t *s = ubq_sqe(&a->queue, 1);

    ubq_sqe_put(s, UB_TA_SEND_IMM, ENG_DEST, a->room, LEN);
    put_le32(s + UBQ_SQE_TARGET, b->f.e[1].queue.id);
    put_le64(s + UBQ_SQE_IMM, ++b->sent);
    put_le32(s, get_le32(s) | b->flags);
    ubq_post(&a->queue, s, 1);
    eng_complete(a, UBQ_STATUS_OK);
}

static void arrives(Bed *b)
{
    Eng *to = &b->f.e[1];

    ubq_recv(&to->queue, to->room, 4096);
    send_one(b);
    /* And none of those that were not to come. */
    g_assert_cmpuint(get_le64(eng_complete(to, UBQ_STATUS_OK) + UBQ_CQE_IMMEDIATE),
                     ==, b->sent);
}

/* The switch drops it at this port. */
static void dropped(Bed *b, unsigned port, const char *counter)
{
    uint64_t was = switch_counter(&b->f.sw, port, counter);

    send_one(b);
    QUBC_WAIT(switch_counter(&b->f.sw, port, counter) == was + 1);
    g_assert_null(ubq_cq_poll(&b->f.e[1].cq));
}

static void filtered(Bed *b, unsigned port)
{
    dropped(b, port, "drop-npi");
}

/* The receiver drops it. */
static void refused(Bed *b)
{
    uint64_t was = net(b, 1, "drop-npi");

    send_one(b);
    QUBC_WAIT(net(b, 1, "drop-npi") == was + 1);
    g_assert_null(ubq_cq_poll(&b->f.e[1].cq));
}

/* It does not leave. */
static void unsent(Bed *b, const char *counter)
{
    uint64_t was = net(b, 0, counter);

    send_one(b);
    QUBC_WAIT(net(b, 0, counter) == was + 1);
}

/* What software has got by its ring. */
static uint64_t software(Bed *b, unsigned node)
{
    return qubc_counter(b->f.q[node], 0, UBC_CNT_RX_PACKETS);
}

/* ---- NPIC (§F.2.5) --------------------------------------------------------------------- */

/* The GUID of the neighbour at a port. */
static char *guid_of(Bed *b, unsigned port)
{
    QDict *answer = ask_switch(b, "{ 'execute': 'query-ports' }");
    const QListEntry *row = qlist_first(qdict_get_qlist(answer, "return"));
    char *guid;

    while (port--) {
        row = qlist_next(row);
    }
    guid = g_strdup(qdict_get_str(qobject_to(QDict, qlist_entry_obj(row)),
                                  "neighbor-guid"));
    qobject_unref(answer);
    return guid;
}

/* The switch tells a node its NPI; 0: it has none. */
static void tell_npi(Bed *b, unsigned node, uint32_t npi)
{
    g_autofree char *guid = guid_of(b, node);
    uint64_t was = net(b, node, "npic");

    TELL(b, "{ 'execute': 'npi-configure', 'arguments': { 'port': %u,"
         " 'guid': '%s', 'npi': %u } }", node, guid, npi);
    QUBC_WAIT(net(b, node, "npic") == was + 1);
}

/* Figure 5-8's truth table: the IDs are the same, and not both have low permission. */
static void test_truth(void)
{
    static const struct { uint32_t from, to; bool pass; } rows[] = {
        { 0x10, 0x10, true }, { 0x10, LOW | 0x10, true },
        { LOW | 0x10, 0x10, true }, { LOW | 0x10, LOW | 0x10, false },
        { 0x10, 0x11, false }, { 0x11, LOW | 0x10, false },
        { LOW | 0x11, 0x10, false }, { 0xffffff, 0xffffff, true },
        { 0xfffffe, 0xffffff, false }, { 1, 1, true },
    };
    Bed b;

    start(&b, "");
    arrives(&b);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_test_message("%x to %x", rows[i].from, rows[i].to);
        tell_npi(&b, 0, rows[i].from);
        tell_npi(&b, 1, rows[i].to);
        if (rows[i].pass) {
            arrives(&b);
        } else {
            refused(&b);
        }
    }
    /* Of another GUID it is not for us, though it ends here. */
    TELL(&b, "{ 'execute': 'npi-configure', 'arguments': { 'port': 1,"
         " 'guid': '00000000000000000000000000000001', 'npi': 77 } }");
    QUBC_WAIT(net(&b, 1, "npic") == G_N_ELEMENTS(rows) + 1);
    arrives(&b);
    /* Nor is any for software, whose ring takes all of CFG 5 else. */
    g_assert_cmpuint(software(&b, 0) + software(&b, 1), ==, 0);
    /* Who has none sends nothing over IP. */
    tell_npi(&b, 0, 0);
    unsent(&b, "drop-npi-invalid");
    tell_npi(&b, 0, 1);
    arrives(&b);
    fabric_stop(&b.f);
}

/* A controller that is told not to listen: it stays what it was, and software gets
 * NPIC. */
static void test_npic_off(void)
{
    g_autofree char *guid = NULL;
    uint64_t was;
    Bed b;

    start(&b, ",net-npic=off");
    guid = guid_of(&b, 1);
    was = software(&b, 1);
    TELL(&b, "{ 'execute': 'npi-configure', 'arguments': { 'port': 1,"
         " 'guid': '%s', 'npi': 77 } }", guid);
    QUBC_WAIT(software(&b, 1) == was + 1);
    g_assert_cmpuint(net(&b, 1, "npic"), ==, 0);
    arrives(&b);
    fabric_stop(&b.f);
}

/* ---- At the edge of a switch ------------------------------------------------------------- */

/* Both ways out of the list of a port; several NPIs; none is all. */
static void test_filter(void)
{
    Bed b;

    start(&b, "");
    for (unsigned port = 0; port < 2; port++) {
        arrives(&b);
        TELL(&b, "{ 'execute': 'npi-allow', 'arguments': { 'port': %u,"
             " 'npi': 5 } }", port);
        filtered(&b, port);
        /* Another permission is another NPI. */
        TELL(&b, "{ 'execute': 'npi-allow', 'arguments': { 'port': %u,"
             " 'npi': %u } }", port, LOW | 1);
        filtered(&b, port);
        TELL(&b, "{ 'execute': 'npi-allow', 'arguments': { 'port': %u,"
             " 'npi': 1 } }", port);
        arrives(&b);
        TELL(&b, "{ 'execute': 'npi-clear', 'arguments': { 'port': %u } }", port);
        arrives(&b);
    }
    fabric_stop(&b.f);
}

/* What comes in has the NPI of its port, whatever its sender says; the ICRC still fits. */
static void test_replace(void)
{
    g_autoptr(GArray) in = g_array_new(false, false, sizeof(Seen));
    g_autoptr(GArray) out = g_array_new(false, false, sizeof(Seen));
    g_autoptr(GArray) none = g_array_new(false, false, sizeof(Seen));
    g_autofree char *file = NULL;
    g_autofree gchar *seen = NULL;
    gsize size;
    Bed b;

    start(&b, "");
    file = g_strdup_printf("%s/capture", b.f.dir);
    TELL(&b, "{ 'execute': 'npi-replace', 'arguments': { 'port': 0, 'npi': 7 } }");
    refused(&b);
    tell_npi(&b, 1, 7);
    TELL(&b, "{ 'execute': 'capture-start', 'arguments': { 'file': '%s' } }", file);
    arrives(&b);
    TELL(&b, "{ 'execute': 'capture-stop' }");
    g_assert_cmpuint(switch_counter(&b.f.sw, 0, "npi-replaced"), ==, 2);
    /* The list is of what they say. */
    TELL(&b, "{ 'execute': 'npi-allow', 'arguments': { 'port': 0, 'npi': 7 } }");
    filtered(&b, 0);
    TELL(&b, "{ 'execute': 'npi-allow', 'arguments': { 'port': 0, 'npi': 1 } }");
    TELL(&b, "{ 'execute': 'npi-allow', 'arguments': { 'port': 1, 'npi': 7 } }");
    arrives(&b);
    TELL(&b, "{ 'execute': 'npi-replace', 'arguments': { 'port': 0, 'npi': 0 } }");
    TELL(&b, "{ 'execute': 'npi-clear', 'arguments': { 'port': 1 } }");
    refused(&b);
    tell_npi(&b, 1, 1);
    arrives(&b);
    g_assert_true(g_file_get_contents(file, &seen, &size, NULL));
    watch_read(seen, size, 0, none, in);
    watch_read(seen, size, 1, out, none);
    unlink(file);
    fabric_stop(&b.f);
    g_assert_cmpuint(watch_packets(in, UB_LPH_IPV4), ==, 1);
    g_assert_cmpuint(watch_packets(out, UB_LPH_IPV4), ==, 1);
    g_assert_cmphex(ub_ipext_npi(watch_packet(in, UB_LPH_IPV4, 0)->p), ==, 1);
    g_assert_cmphex(ub_ipext_npi(watch_packet(out, UB_LPH_IPV4, 0)->p), ==, 7);
}

/* A controller with a list: through the switch come those that both have. */
static void test_loose(void)
{
    Bed b;

    start(&b, ",npi-mode=loose,npi=0x20,npis=0x20:0x30");
    arrives(&b);
    TELL(&b, "{ 'execute': 'npi-replace', 'arguments': { 'port': 0, 'npi': 48 } }");
    arrives(&b);
    TELL(&b, "{ 'execute': 'npi-replace', 'arguments': { 'port': 0, 'npi': %u } }",
         LOW | 0x30);
    arrives(&b);
    TELL(&b, "{ 'execute': 'npi-replace', 'arguments': { 'port': 0, 'npi': 64 } }");
    refused(&b);
    fabric_stop(&b.f);
}

/* An address that is not its own does not leave a controller. */
static void test_spoof(void)
{
    Bed b;

    start(&b, "");
    for (unsigned own = 0; own < 2; own++) {
        const uint8_t ip[] = { 10, 0, 0, own ? 1 : 9 };

        eng_row_put(&b.f.e[0], ENG_DEST, UBQ_DST_WAY + UBQ_WAY_SIP, ip, sizeof(ip));
        if (own) {
            arrives(&b);
        } else {
            unsent(&b, "drop-spoof");
        }
    }
    fabric_stop(&b.f);
}

/* ---- By a manager's messages (CFG0_CAP242) ------------------------------------------------ */

#define SWITCH_CNA 0x33u

static void manage(Bed *b, const char *props)
{
    start(b, props);
    TELL(b, "{ 'execute': 'cna-set', 'arguments': { 'cna': %u } }", SWITCH_CNA);
    guest_open(&b->fm, b->f.q[0]);
}

static uint32_t reg_read(Bed *b, uint32_t cna, unsigned dw)
{
    g_assert_cmphex(config(&b->fm, cna, 0,
                           UB_CFG_CAP(UB_CFG0_BASE, UB_NETR_CAP) + dw, 0), ==, 0);
    return b->fm.packet[8];
}

static void reg_write(Bed *b, uint32_t cna, unsigned dw, uint32_t value)
{
    g_assert_cmphex(config(&b->fm, cna, 1,
                           UB_CFG_CAP(UB_CFG0_BASE, UB_NETR_CAP) + dw, value), ==,
                    0);
}

/* A port of the switch, what is to be done there, and that it was. */
static void of_port(Bed *b, unsigned port, unsigned dw, uint32_t value)
{
    reg_write(b, SWITCH_CNA, UB_NETR_SELECT, port);
    reg_write(b, SWITCH_CNA, dw, value);
    g_assert_cmphex(reg_read(b, SWITCH_CNA, UB_NETR_RESULT), ==, UB_NETR_R_OK);
}

/* Node @node, 0 or 1, is in partition @npi, as ubfm puts it there; it was in @was. */
static void into_partition(Bed *b, unsigned node, uint32_t npi, uint32_t was)
{
    of_port(b, node, UB_NETR_PORT, UB_NETR_PORT__CLOSED);
    if (was) {
        of_port(b, node, UB_NETR_REMOVE, was);
        of_port(b, node, UB_NETR_REMOVE, was | LOW);
    }
    of_port(b, node, UB_NETR_ADD, npi);
    of_port(b, node, UB_NETR_ADD, npi | LOW);
    of_port(b, node, UB_NETR_PORT, UB_NETR_PORT__CLOSED | npi);
    reg_write(b, node + 1, UB_NETR_NPI, npi);
    g_assert_cmphex(reg_read(b, node + 1, UB_NETR_NPI), ==, npi);
}

/* Two partitions are apart, whatever a node says of itself; closed ports refuse; who is
 * moved is where it was moved to. */
static void test_managed(void)
{
    Bed b;

    manage(&b, "," PATIENT);
    arrives(&b);
    g_assert_cmphex(reg_read(&b, SWITCH_CNA, UB_NETR_MAGIC), ==,
                    UB_NETR_MAGIC__VALUE);
    /* Nothing is known of who is there yet. */
    for (unsigned port = 2; port--;) {
        of_port(&b, port, UB_NETR_PORT, UB_NETR_PORT__CLOSED);
        filtered(&b, port);
    }
    into_partition(&b, 0, 5, 0);
    filtered(&b, 1);
    into_partition(&b, 1, 6, 0);
    filtered(&b, 1);
    /* Node 1 says that it is in the other one: its port does not let it. */
    reg_write(&b, 1, UB_NETR_NPI, 6);
    filtered(&b, 0);
    reg_write(&b, 1, UB_NETR_NPI, 5);
    filtered(&b, 1);
    into_partition(&b, 1, 5, 6);
    arrives(&b);
    into_partition(&b, 0, 7, 5);
    filtered(&b, 1);
    into_partition(&b, 1, 7, 5);
    arrives(&b);
    /* Of two low members neither hears the other, though both ports let it pass. */
    reg_write(&b, 1, UB_NETR_NPI, 7 | LOW);
    arrives(&b);
    of_port(&b, 0, UB_NETR_PORT, UB_NETR_PORT__CLOSED | 7 | LOW);
    reg_write(&b, 2, UB_NETR_NPI, 7 | LOW);
    refused(&b);
    fabric_stop(&b.f);
}

/* A border of the Domain at a port: what brings no TokenValue does not enter by it. */
static void test_border(void)
{
    Bed b;

    manage(&b, "," PATIENT);
    arrives(&b);
    of_port(&b, 0, UB_NETR_BORDER, UB_NETR_BORDER__TOKEN);
    dropped(&b, 0, "drop-border");
    b.flags = UBQ_SQE_TOKEN | UBQ_SQE_EXCLUSIVE;
    dropped(&b, 0, "drop-border");
    b.flags = UBQ_SQE_TOKEN;
    arrives(&b);
    /* Out of the Domain by it goes all. */
    of_port(&b, 0, UB_NETR_BORDER, 0);
    of_port(&b, 1, UB_NETR_BORDER, UB_NETR_BORDER__TOKEN);
    b.flags = 0;
    arrives(&b);
    /* By the switch's own commands the same. */
    TELL(&b, "{ 'execute': 'border-set', 'arguments': { 'port': 0, 'on': true } }");
    g_assert_cmphex((reg_write(&b, SWITCH_CNA, UB_NETR_SELECT, 0),
                     reg_read(&b, SWITCH_CNA, UB_NETR_BORDER)), ==,
                    UB_NETR_BORDER__TOKEN);
    dropped(&b, 0, "drop-border");
    TELL(&b, "{ 'execute': 'border-set', 'arguments': { 'port': 0, 'on': false,"
         " 'plain': true } }");
    arrives(&b);
    fabric_stop(&b.f);
}

/* The same where it arrives: a controller has a border, by its setting and by a message. */
static void test_border_node(void)
{
    uint64_t was;
    Bed b;

    manage(&b, ",net-border-ports=1," PATIENT);
    b.flags = UBQ_SQE_TOKEN;
    arrives(&b);
    b.flags = 0;
    was = net(&b, 1, "drop-border");
    send_one(&b);
    QUBC_WAIT(net(&b, 1, "drop-border") == was + 1);
    g_assert_null(ubq_cq_poll(&b.f.e[1].cq));
    reg_write(&b, 2, UB_NETR_SELECT, 0);
    g_assert_cmphex(reg_read(&b, 2, UB_NETR_BORDER), ==, UB_NETR_BORDER__TOKEN);
    reg_write(&b, 2, UB_NETR_BORDER, 0);
    arrives(&b);
    fabric_stop(&b.f);
}

/* ---- CFG 5 at a switch (§F.2) ------------------------------------------------------------ */

static bool has_route(Bed *b, const char *prefix)
{
    QDict *answer = ask_switch(b, "{ 'execute': 'query-routes' }");
    g_autoptr(GString) text = qobject_to_json(QOBJECT(answer));
    bool is = strstr(text->str, prefix);

    qobject_unref(answer);
    return is;
}

/* Node 1 sends a packet of a protocol; the switch has it. */
static void send_control(Bed *b, unsigned protocol, const uint8_t *pdu, uint32_t len)
{
    uint8_t p[UB_CONTROL_SIZE + 32] = { 0 };
    uint64_t was = switch_counter(&b->f.sw, 0, "rx-packets");

    put_be16(p, protocol);
    p[17] = 0xff;
    p[33] = 2;
    memcpy(p + UB_CONTROL_SIZE, pdu, len);
    raw_send(&b->f.e[0], UB_LPH_CONTROL, p, UB_CONTROL_SIZE + len);
    QUBC_WAIT(switch_counter(&b->f.sw, 0, "rx-packets") == was + 1);
}

static void set(Bed *b, const char *settings)
{
    TELL(b, "{ 'execute': 'configure', 'arguments': { %s } }", settings);
}

static void test_ip_notify(void)
{
    static const uint8_t first[] = { 0x10, 24, 10, 9, 9, 9 };
    static const uint8_t second[] = { 0x10, 24, 10, 9, 9, 10 };
    static const uint8_t odd[] = { 0xf0, 24, 10, 9, 9, 11 };
    Bed b;

    start(&b, "");
    set(&b, "'ip-notify': false");
    send_control(&b, UB_CONTROL_IP_NOTIFY, first, sizeof(first));
    g_assert_false(has_route(&b, "10.9.9.9/32"));
    QUBC_WAIT(switch_counter(&b.f.sw, 0, "drop-not-passed") == 1);
    set(&b, "'ip-notify': true");
    g_assert_false(has_route(&b, "10.9.9.9/32"));
    send_control(&b, UB_CONTROL_IP_NOTIFY, second, sizeof(second));
    QUBC_WAIT(has_route(&b, "10.9.9.10/32"));
    g_assert_false(has_route(&b, "10.9.9.9/32"));
    g_assert_cmpuint(switch_counter(&b.f.sw, 0, "drop-control"), ==, 0);
    send_control(&b, UB_CONTROL_IP_NOTIFY, odd, sizeof(odd));
    QUBC_WAIT(switch_counter(&b.f.sw, 0, "drop-control") == 1);
    g_assert_cmpuint(switch_counter(&b.f.sw, 0, "drop-not-passed"), ==, 1);
    fabric_stop(&b.f);
}

/* DHCP: to all other edge ports, which neighbours are or are said to be. */
static void test_pass_dhcp(void)
{
    static const struct { const char *settings; bool passes; } rows[] = {
        { "'pass-dhcp': true", true },
        { "'pass-dhcp': false", false },
        { "'pass-dhcp': true, 'edge-auto': false, 'edge-ports': [0]", false },
        { "'edge-ports': [0, 1]", true },
        { "'edge-ports': []", false },
        { "'edge-auto': true", true },
    };
    static const uint8_t pdu[20] = { 1, 2, 3 };
    uint64_t want, ended = 0;
    Bed b;

    start(&b, "");
    want = software(&b, 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_test_message("%s", rows[i].settings);
        set(&b, rows[i].settings);
        send_control(&b, i & 1 ? UB_CONTROL_DHCPV6 : UB_CONTROL_DHCPV4, pdu,
                     sizeof(pdu));
        want += rows[i].passes;
        ended += !rows[i].passes;
        QUBC_WAIT(software(&b, 1) == want);
        QUBC_WAIT(switch_counter(&b.f.sw, 0, "drop-not-passed") == ended);
    }
    fabric_stop(&b.f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!switch_program()) {
        g_print("1..0 # SKIP ub-switch is not built\n");
        return 0;
    }
    qtest_add_func("/ubc-isolation/truth", test_truth);
    qtest_add_func("/ubc-isolation/npic-off", test_npic_off);
    qtest_add_func("/ubc-isolation/filter", test_filter);
    qtest_add_func("/ubc-isolation/replace", test_replace);
    qtest_add_func("/ubc-isolation/loose", test_loose);
    qtest_add_func("/ubc-isolation/spoof", test_spoof);
    qtest_add_func("/ubc-isolation/managed", test_managed);
    qtest_add_func("/ubc-isolation/border", test_border);
    qtest_add_func("/ubc-isolation/border-node", test_border_node);
    qtest_add_func("/ubc-isolation/ip-notify", test_ip_notify);
    qtest_add_func("/ubc-isolation/pass-dhcp", test_pass_dhcp);
    return g_test_run();
}
