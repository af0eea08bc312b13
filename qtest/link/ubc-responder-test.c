/*
 * A program that speaks for a node: device authentication and vendor-defined
 * messages between a guest and a program beside another machine (UB 2.0 §10.4.3.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-msg.h"
#include "ub/responder.h"
#include <sys/socket.h>
#include <sys/un.h>

#define SPDM_ASK 0x1au  /* byte 0 of MGMTETAH */
#define SPDM_ANSWER 0x1bu

/* Machine A is the UBFM; beside B there is a program. */
typedef struct Bed {
    Link link;
    Guest a, b;
    char *path;
    int fd;             /* the program's stream */
    uint8_t frame[UB_RESPONDER_MAX]; /* the last that it took ... */
    unsigned len;       /* ... and its length */
    uint32_t tag;
} Bed;

/* ---- The program ---- */

static QDict *management(QUbc *d)
{
    QDict *rsp = qtest_qmp(d->qts, "{ 'execute': 'query-ub-management' }");
    const QListEntry *e = qlist_first(qdict_get_qlist(rsp, "return"));
    QDict *info = qobject_to(QDict, qlist_entry_obj(e));

    qobject_ref(info);
    qobject_unref(rsp);
    return info;
}

static bool is_open(QUbc *d)
{
    QDict *info = management(d);
    bool open = qdict_get_bool(info, "responder-open");

    qobject_unref(info);
    return open;
}

static int64_t counter(QUbc *d, const char *list, const char *name)
{
    QDict *info = management(d);
    int64_t value = -1;

    for (const QListEntry *e = qlist_first(qdict_get_qlist(info, list)); e;
         e = qlist_next(e)) {
        const QDict *c = qobject_to(QDict, qlist_entry_obj(e));

        if (!strcmp(qdict_get_str(c, "name"), name)) {
            value = qdict_get_int(c, "value");
        }
    }
    qobject_unref(info);
    g_assert_cmpint(value, >=, 0);
    return value;
}

static void program_start(Bed *bed)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    struct timeval patience = {
        .tv_sec = test_patience(120) / G_USEC_PER_SEC,
    };

    g_strlcpy(at.sun_path, bed->path, sizeof(at.sun_path));
    bed->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    g_assert_cmpint(connect(bed->fd, (struct sockaddr *)&at, sizeof(at)), ==, 0);
    g_assert_cmpint(setsockopt(bed->fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
                               sizeof(patience)), ==, 0);
    QUBC_WAIT(is_open(bed->link.b));
}

static void program_end(Bed *bed)
{
    close(bed->fd);
    QUBC_WAIT(!is_open(bed->link.b));
}

static void write_all(Bed *bed, const void *data, size_t len)
{
    g_assert_cmpint(send(bed->fd, data, len, MSG_NOSIGNAL), ==, len);
}

static void read_all(Bed *bed, void *data, size_t len)
{
    g_assert_cmpint(recv(bed->fd, data, len, MSG_WAITALL), ==, len);
}

/* Its next frame. */
static void program_take(Bed *bed)
{
    uint8_t len[4];

    read_all(bed, len, sizeof(len));
    bed->len = ldl_be_p(len);
    g_assert_cmpuint(bed->len, >=, UB_RESPONDER_HEAD + UB_MGMT_ETAH);
    g_assert_cmpuint(bed->len, <=, sizeof(bed->frame));
    read_all(bed, bed->frame, bed->len);
    bed->tag = ldl_be_p(bed->frame);
}

/* A message of @n words to @cna and @eid. */
static void program_send(Bed *bed, uint32_t tag, uint32_t cna, uint32_t eid,
                         uint8_t head, uint8_t status, const uint32_t *pdu,
                         unsigned n)
{
    g_autofree uint8_t *frame = g_malloc0(4 + UB_RESPONDER_MAX);
    uint8_t *etah = frame + 4 + UB_RESPONDER_HEAD;

    stl_be_p(frame, UB_RESPONDER_HEAD + UB_MGMT_ETAH + 4 * n);
    stl_be_p(frame + 4, tag);
    stl_be_p(frame + 8, 0xffffffff); /* not its to say */
    stl_be_p(frame + 12, cna);
    stl_be_p(frame + 16, eid);
    stl_be_p(frame + 20, 0xffffffff);
    stl_be_p(etah, head << 24 | status << 16 | 4 * n);
    for (unsigned i = 0; i < n; i++) {
        stl_be_p(etah + 4 + 4 * i, pdu[i]);
    }
    write_all(bed, frame, 4 + UB_RESPONDER_HEAD + UB_MGMT_ETAH + 4 * n);
}

static uint32_t word(const Bed *bed, unsigned at)
{
    return ldl_be_p(bed->frame + at);
}

/* ---- The bed ---- */

static void identities(Bed *bed)
{
    uint32_t neighbor[4];

    guest_open(&bed->a, bed->link.a);
    meet(&bed->a, bed->link.b, neighbor);
    qubc_cfg_write(bed->link.a, UB_CFG0_EID, 0x91);
    qubc_cfg_write(bed->link.b, UB_CFG0_EID, 0x92);
    qubc_cfg_write(bed->link.a, UB_CFG0_UPI, 0x5);
    qubc_cfg_write(bed->link.b, UB_CFG0_UPI, 0x5);
}

static char *listens(const char *path)
{
    return g_strdup_printf("-chardev socket,id=r,path=%s,server=on,wait=off",
                           path);
}

static void bed_start(Bed *bed, const char *kinds)
{
    g_autofree char *props = g_strconcat(PATIENT ",responder=r", kinds, NULL);
    g_autofree char *more = NULL;

    *bed = (Bed) { .link = { .props = PATIENT } };
    link_prepare(&bed->link);
    bed->path = g_build_filename(bed->link.dir, "program", NULL);
    more = listens(bed->path);
    bed->link.a = start_server(&bed->link);
    bed->link.props = props;
    bed->link.more = more;
    bed->link.b = start_client(&bed->link);
    link_open(&bed->link);
    identities(bed);
    program_start(bed);
}

static void bed_stop(Bed *bed)
{
    close(bed->fd);
    qubc_stop(bed->link.a);
    qubc_stop(bed->link.b);
    unlink(bed->path);
    unlink(bed->link.path);
    rmdir(bed->link.dir);
    g_free(bed->path);
    g_free(bed->link.path);
    g_free(bed->link.dir);
}

static const To manager = { 0x22, 0x92 }, user = { 0x22, 0x92, true };

/* A asks, the program answers, A has it. */
static void authenticate(Bed *bed, uint32_t value)
{
    const uint32_t ask[] = { 0x10840000 | value, value }, answer[] = { ~value };

    send_message(&bed->a, manager, UB_MGMT_MSG_SPDM, ask, sizeof(ask));
    program_take(bed);
    g_assert_cmphex(word(bed, 24), ==, ask[0]);
    g_assert_cmphex(word(bed, 28), ==, ask[1]);
    program_send(bed, bed->tag, 0, 0, SPDM_ANSWER, 0, answer, 1);
    take_answer(&bed->a);
    g_assert_cmphex(bed->a.status, ==, 0);
    g_assert_cmphex(bed->a.packet[7], ==, SPDM_ANSWER << 24 | 4);
    g_assert_cmphex(bed->a.packet[8], ==, ~value);
}

/* ---- It is asked ---- */

static void test_asked(void)
{
    const uint32_t vendor[] = { 0, 0x12340000, 0xabcdef }, foreign[2] = { 0 };
    Bed bed;

    bed_start(&bed, "");
    for (uint32_t i = 0; i < 20; i++) {
        authenticate(&bed, i);
    }
    /* Who asks is told as the packet has it. */
    g_assert_cmphex(word(&bed, 4), ==, 0xffff0000);
    g_assert_cmphex(word(&bed, 8), ==, 0x11);
    g_assert_cmphex(word(&bed, 12), ==, 0x91);
    g_assert_cmphex(word(&bed, 16), ==, 0x92);
    send_message(&bed.a, user, UB_MGMT_MSG_SPDM, vendor, 4);
    program_take(&bed);
    g_assert_cmphex(word(&bed, 4), ==, 0x00050000);
    program_send(&bed, bed.tag, 0, 0, SPDM_ANSWER, UB_MGMT_EXECUTION, NULL, 0);
    take_answer(&bed.a);
    g_assert_cmphex(bed.a.packet[7], ==, SPDM_ANSWER << 24 | 0x270000);
    /* A vendor's message has the vendor's number, or does not get there. */
    g_assert_cmphex(ask(&bed.a, user, UB_MGMT_MSG_VDM_VENDOR, foreign, 8), ==,
                    UB_MGMT_BAD_PARAMETER);
    send_message(&bed.a, user, UB_MGMT_MSG_VDM_VENDOR, vendor, 12);
    program_take(&bed);
    g_assert_cmphex(bed.frame[20], ==, 0xf6);
    g_assert_cmphex(word(&bed, 32), ==, 0xabcdef);
    /* MCTP and those of the specification need no answer; the program asks in
     * its turn. */
    send_message(&bed.a, user, UB_MGMT_MSG_VDM_MCTP, vendor, 12);
    program_take(&bed);
    g_assert_cmphex(bed.frame[20], ==, 0x06);
    send_message(&bed.a, user, UB_MGMT_MSG_VDM_BUS, vendor, 4);
    program_take(&bed);
    g_assert_cmphex(bed.frame[20], ==, 0x16);
    g_assert_cmpint(counter(bed.link.b, "responder", "asked"), ==, 24);
    bed_stop(&bed);
}

/* What the program does not speak is the guest's. */
static void test_kinds(void)
{
    const uint32_t pdu[] = { 0x55 };
    Bed bed;

    bed_start(&bed, ",responder-kinds=mctp:spdm");
    guest_open(&bed.b, bed.link.b);
    send_message(&bed.a, user, UB_MGMT_MSG_VDM_BUS, pdu, 4);
    take_request(&bed.b, 3);
    g_assert_cmphex(bed.b.packet[8], ==, 0x55);
    authenticate(&bed, 1);
    bed_stop(&bed);
}

/* ---- It asks ---- */

static void test_asks(void)
{
    const uint32_t pdu[] = { 0x11223344, 0x55667788 };
    const uint32_t write[] = { 0xf0, UB_CFG0_UEID, 0, 0x99 };
    Bed bed;

    bed_start(&bed, "");
    program_send(&bed, 7, 0x11, 0x91, SPDM_ASK, 0, pdu, 2);
    take_request(&bed.a, 5);
    /* It is its node, in the partition of that, and not the UBFM. */
    g_assert_cmphex(bed.a.packet[1] >> 16, ==, 0x22);
    g_assert_cmphex(bed.a.packet[2] & 8, ==, 0);
    g_assert_cmphex(bed.a.packet[3] >> 8 & 0x7fff, ==, 5);
    g_assert_cmphex(bed.a.packet[8], ==, pdu[0]);
    answer(&bed.a, 0);
    program_take(&bed);
    g_assert_cmphex(bed.tag, ==, 7);
    g_assert_cmphex(word(&bed, 8), ==, 0x11);
    g_assert_cmphex(word(&bed, 20), ==, SPDM_ANSWER << 24);
    /* No other message is its to send, be it to its own node. */
    program_send(&bed, 8, 0x11, 0x91, 0x14, 0, write, 4);
    program_take(&bed);
    g_assert_cmphex(bed.tag, ==, 8);
    g_assert_cmphex(word(&bed, 20), ==, 0x15010000);
    program_send(&bed, 9, 0x22, 0x92, 0x14, 0, write, 4);
    program_take(&bed);
    g_assert_cmphex(word(&bed, 20), ==, 0x15010000);
    g_assert_cmphex(qubc_cfg_read(bed.link.a, UB_CFG0_UEID), ==, 0);
    g_assert_cmphex(qubc_cfg_read(bed.link.b, UB_CFG0_UEID), ==, 0);
    /* The same tag has to wait for its answer; one has 16 bits. */
    program_send(&bed, 10, 0x11, 0x91, SPDM_ASK, 0, pdu, 2);
    program_send(&bed, 10, 0x11, 0x91, SPDM_ASK, 0, pdu, 2);
    program_take(&bed);
    g_assert_cmphex(word(&bed, 20), ==, SPDM_ANSWER << 24 | 0x200000);
    program_send(&bed, 0x10000, 0x11, 0x91, SPDM_ASK, 0, pdu, 2);
    program_take(&bed);
    g_assert_cmphex(bed.tag, ==, 0x10000);
    g_assert_cmphex(word(&bed, 20), ==, SPDM_ANSWER << 24 | 0x260000);
    g_assert_cmpint(counter(bed.link.b, "responder", "refused"), ==, 4);
    g_assert_cmpint(counter(bed.link.b, "responder", "asks"), ==, 2);
    bed_stop(&bed);
}

/* ---- Bounds, death, bad input ---- */

/* So many it may have, and one more is refused. */
static void test_full(void)
{
    uint32_t pdu[256] = { 0 }, tags[UB_RESPONDER_FRAMES];
    Bed bed;

    bed_start(&bed, "");
    for (unsigned i = 0; i < UB_RESPONDER_FRAMES; i++) {
        pdu[255] = i;
        send_message(&bed.a, manager, UB_MGMT_MSG_SPDM, pdu, sizeof(pdu));
        QUBC_WAIT(counter(bed.link.b, "responder", "asked") == i + 1);
    }
    g_assert_cmphex(ask(&bed.a, manager, UB_MGMT_MSG_SPDM, pdu, sizeof(pdu)), ==,
                    UB_MGMT_NO_RESOURCE);
    g_assert_cmpint(counter(bed.link.b, "responder", "full"), ==, 1);
    for (unsigned i = 0; i < UB_RESPONDER_FRAMES; i++) {
        program_take(&bed);
        g_assert_cmpuint(bed.len, ==, UB_RESPONDER_MAX);
        g_assert_cmpuint(word(&bed, UB_RESPONDER_MAX - 4), ==, i);
        tags[i] = bed.tag;
    }
    for (unsigned i = UB_RESPONDER_FRAMES; i-- > 0;) {
        pdu[255] = ~i;
        program_send(&bed, tags[i], 0, 0, SPDM_ANSWER, 0, pdu, 256);
        take_answer(&bed.a);
        g_assert_cmphex(bed.a.packet[8 + 255], ==, ~i);
    }
    authenticate(&bed, 3);
    bed_stop(&bed);
}

static void test_death(void)
{
    const uint32_t pdu[] = { 1 };
    Bed bed;

    bed_start(&bed, "");
    send_message(&bed.a, manager, UB_MGMT_MSG_SPDM, pdu, 4);
    program_take(&bed);
    program_end(&bed);
    take_answer(&bed.a);
    g_assert_cmphex(bed.a.packet[7], ==, SPDM_ANSWER << 24 | 0x200000);
    g_assert_cmpint(counter(bed.link.b, "responder", "gone"), ==, 1);
    /* Nobody answers, then the guest does. */
    g_assert_cmphex(ask(&bed.a, manager, UB_MGMT_MSG_SPDM, pdu, 4), ==,
                    UB_MGMT_NO_RESOURCE);
    guest_open(&bed.b, bed.link.b);
    send_message(&bed.a, manager, UB_MGMT_MSG_SPDM, pdu, 4);
    take_request(&bed.b, 5);
    answer(&bed.b, UB_MGMT_BUSY);
    take_answer(&bed.a);
    g_assert_cmphex(bed.a.packet[7], ==, SPDM_ANSWER << 24 | 0x230000);
    program_start(&bed);
    authenticate(&bed, 2);
    /* A reset of the device leaves it connected; what it was asked is void. */
    send_message(&bed.a, manager, UB_MGMT_MSG_SPDM, pdu, 4);
    program_take(&bed);
    qubc_write(bed.link.b, UBC_CTRL, UBC_CTRL_RESET);
    program_send(&bed, bed.tag, 0, 0, SPDM_ANSWER, 0, pdu, 1);
    QUBC_WAIT(counter(bed.link.b, "responder", "drop-tag") == 1);
    bed_stop(&bed);
}

static void test_hostile(void)
{
    static const uint32_t lengths[] = { 0, 4, 23, 1049, 4096 };
    uint8_t junk[4 + 4096] = { 0 };
    const uint32_t pdu[] = { 1 };
    int64_t unheard;
    Bed bed;

    bed_start(&bed, "");
    for (unsigned i = 0; i < G_N_ELEMENTS(lengths); i++) {
        stl_be_p(junk, lengths[i]);
        write_all(&bed, junk, 4 + lengths[i]);
    }
    QUBC_WAIT(counter(bed.link.b, "responder", "drop-short") == 5);
    /* Answers to what nobody asked, and of another message than was asked. */
    program_send(&bed, 0xdeadbeef, 0, 0, SPDM_ANSWER, 0, pdu, 1);
    send_message(&bed.a, manager, UB_MGMT_MSG_SPDM, pdu, 4);
    program_take(&bed);
    program_send(&bed, bed.tag, 0, 0, 0x07, 0, pdu, 1);
    QUBC_WAIT(counter(bed.link.b, "responder", "drop-tag") == 2);
    program_send(&bed, bed.tag, 0, 0, SPDM_ANSWER, 0, pdu, 1);
    take_answer(&bed.a);
    program_send(&bed, bed.tag, 0, 0, SPDM_ANSWER, 0, pdu, 1);
    QUBC_WAIT(counter(bed.link.b, "responder", "drop-tag") == 3);
    /* Whatever frames have. */
    for (unsigned i = 0; i < 1000; i++) {
        unsigned len = g_test_rand_int_range(24, 80);

        for (unsigned j = 4; j < 4 + len; j++) {
            junk[j] = g_test_rand_int();
        }
        stl_be_p(junk, len);
        stl_be_p(junk + 12, 0x8000 | i); /* nobody has it */
        stw_be_p(junk + 26, i & 1 ? len - 24 : g_test_rand_int() & 0xfff);
        write_all(&bed, junk, 4 + len);
    }
    program_end(&bed);
    program_start(&bed);
    authenticate(&bed, 4);
    /* A length that no frame has ends the stream. */
    unheard = counter(bed.link.b, "responder", "asked");
    stl_be_p(junk, 0xffffffff);
    write_all(&bed, junk, 4);
    g_assert_cmpint(recv(bed.fd, junk, 1, 0), ==, 0);
    program_end(&bed);
    program_start(&bed);
    authenticate(&bed, 5);
    g_assert_cmpint(counter(bed.link.b, "responder", "asked"), ==, unheard + 1);
    exchange(&bed.link, 100);
    bed_stop(&bed);
}

/* ---- A machine that stands, or moves ---- */

static void test_stop(void)
{
    const uint32_t pdu[] = { 1 };
    Bed bed;

    bed_start(&bed, "");
    qtest_qmp_assert_success(bed.link.b->qts, "{ 'execute': 'stop' }");
    send_message(&bed.a, manager, UB_MGMT_MSG_SPDM, pdu, 4);
    program_take(&bed);
    program_send(&bed, bed.tag, 0, 0, SPDM_ANSWER, 0, pdu, 1);
    /* A command is a turn of the main loop, which would have taken it. */
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpint(counter(bed.link.b, "responder", "answered"), ==, 0);
    }
    qtest_qmp_assert_success(bed.link.b->qts, "{ 'execute': 'cont' }");
    take_answer(&bed.a);
    g_assert_cmphex(bed.a.packet[7], ==, SPDM_ANSWER << 24 | 4);
    authenticate(&bed, 6);
    bed_stop(&bed);
}

/* On the other side there is another program: it was asked nothing, and what the
 * first one asked is not for it. */
static void test_migrate(void)
{
    const uint32_t pdu[] = { 1 };
    g_autofree char *first = NULL, *path = NULL, *uri = NULL, *chr = NULL;
    g_autofree char *more = NULL, *way = NULL;
    uint32_t tag;
    QUbc *c;
    Bed bed;

    bed_start(&bed, "");
    send_message(&bed.a, manager, UB_MGMT_MSG_SPDM, pdu, 4);
    program_take(&bed);
    tag = bed.tag;
    program_send(&bed, 7, 0x11, 0x91, SPDM_ASK, 0, pdu, 1);
    take_request(&bed.a, 5);

    first = bed.path;
    bed.path = g_build_filename(bed.link.dir, "other", NULL);
    path = g_build_filename(bed.link.dir, "migrate", NULL);
    uri = g_strdup_printf("unix:%s", path);
    chr = client(bed.link.path);
    way = listens(bed.path);
    more = g_strdup_printf("%s %s -incoming %s", chr, way, uri);
    c = qubc_start("q35", "chardev0=w," PATIENT ",responder=r", more);
    qtest_qmp_assert_success(bed.link.b->qts, "{ 'execute': 'migrate',"
                             " 'arguments': { 'uri': %s } }", uri);
    QUBC_WAIT(qubc_migrated(bed.link.b));
    qtest_qmp_eventwait(c->qts, "RESUME");
    qubc_adopt(c, bed.link.b);
    qubc_stop(bed.link.b);
    close(bed.fd);
    bed.link.b = c;
    wait_up(&bed.link);
    program_start(&bed);

    answer(&bed.a, 0);
    QUBC_WAIT(counter(c, "messages", "drop-unasked") == 1);
    program_send(&bed, tag, 0, 0, SPDM_ANSWER, 0, pdu, 1);
    QUBC_WAIT(counter(c, "responder", "drop-tag") == 1);
    authenticate(&bed, 7);
    unlink(path);
    unlink(first);
    bed_stop(&bed);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-responder/asked", test_asked);
    qtest_add_func("/ubc-responder/kinds", test_kinds);
    qtest_add_func("/ubc-responder/asks", test_asks);
    qtest_add_func("/ubc-responder/full", test_full);
    qtest_add_func("/ubc-responder/death", test_death);
    qtest_add_func("/ubc-responder/hostile", test_hostile);
    qtest_add_func("/ubc-responder/stop", test_stop);
    qtest_add_func("/ubc-responder/migrate", test_migrate);
    return g_test_run();
}
