/*
 * A machine with one ncic-mthca, a peer at its wire, and a queue pair.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/un.h>
#include "mthca-rig.h"
#include "../deadline.h"

/* ---- the peer ----------------------------------------------------------- */

gint64 rig_deadline(void)
{
    return test_deadline(SECONDS);
}

int peer_connect(const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    gint64 limit = rig_deadline();

    g_strlcpy(a.sun_path, path, sizeof(a.sun_path));
    while (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
        g_usleep(1000);
    }
    return fd;
}

void peer_write(int fd, const void *data, size_t len)
{
    const uint8_t *p = data;

    while (len) {
        ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

        g_assert_cmpint(n, >, 0);
        p += n;
        len -= n;
    }
}

bool peer_read(int fd, void *buf, size_t len)
{
    uint8_t *p = buf;

    while (len) {
        GPollFD poll = { .fd = fd, .events = G_IO_IN };
        ssize_t n;

        g_assert_cmpint(g_poll(&poll, 1, test_patience(SECONDS) / 1000), ==, 1);
        n = recv(fd, p, len, 0);
        if (n == 0 || (n < 0 && errno == ECONNRESET)) {
            return false;
        }
        g_assert_cmpint(n, >, 0);
        p += n;
        len -= n;
    }
    return true;
}

size_t peer_frame(int fd, uint8_t *frame)
{
    uint8_t head[PREFIX];
    uint32_t len;

    if (!peer_read(fd, head, sizeof(head))) {
        return 0;
    }
    len = ldl_be_p(head);
    g_assert_cmpuint(len, <=, MAX_FRAME);
    return peer_read(fd, frame, len) ? len : 0;
}

bool peer_consumed(int fd)
{
    int left;

    g_assert_cmpint(ioctl(fd, SIOCOUTQ, &left), ==, 0);
    return !left;
}

void peer_flush(int fd)
{
    gint64 limit = rig_deadline();

    while (!peer_consumed(fd)) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
        g_usleep(100);
    }
}

void put_arp(uint8_t *p, uint32_t n)
{
    uint8_t *f = p + PREFIX, *a = f + ETH;

    stl_be_p(p, ARP);
    memset(f, 0xff, 6);
    stw_be_p(f + 6, 0x0200);
    stl_be_p(f + 8, n);
    stw_be_p(f + 12, 0x0806);
    stl_be_p(a, 0x00010800);
    stl_be_p(a + 4, 0x06040001);
    memcpy(a + 8, f + 6, 6);
    stl_be_p(a + 14, 0x0a4c0002 + n);
    memset(a + 18, 0, 6);
    stl_be_p(a + 24, 0x0a4c0001);
}

void send_arp(int fd, uint32_t n)
{
    uint8_t p[PREFIX + ARP];

    put_arp(p, n);
    peer_write(fd, p, sizeof(p));
}

void expect_answer(int fd, uint32_t n)
{
    g_autofree uint8_t *f = g_malloc(MAX_FRAME);

    do {
        g_assert_cmpuint(peer_frame(fd, f), ==, ARP);
        g_assert_cmphex(lduw_be_p(f + 12), ==, 0x0806);
    } while (lduw_be_p(f + ETH + 6) == 1);
    g_assert_cmphex(lduw_be_p(f + ETH + 6), ==, 2);
    g_assert_cmphex(ldl_be_p(f + ETH + 14), ==, 0x0a4c0001);
    g_assert_cmphex(ldl_be_p(f + ETH + 24), ==, 0x0a4c0002 + n);
}

/* ---- the machine -------------------------------------------------------- */

Fixture *rig_start(const char *path, const char *props, const char *more)
{
    g_autofree char *words =
        g_strdup_printf("-chardev socket,id=w,path=%s,server=on,wait=off "
                        "-device ncic-mthca,id=nic,addr=4,chardev=w,lid=1,"
                        "mac=52:54:00:12:34:56%s %s", path, props, more);

    return fixture_start_words(words, *more);
}

void wait_port(Fixture *f, unsigned state)
{
    gint64 limit = rig_deadline();

    while (fixture_counter(f, "port-state") != state) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
        g_usleep(1000);
    }
}

Rig rig_begin(const char *props)
{
    Rig r = { .dir = g_dir_make_tmp("mthca-XXXXXX", NULL) };

    r.path = g_build_filename(r.dir, "wire", NULL);
    r.h = hca_begin_on(rig_start(r.path, props, ""));
    hca_init(r.h);
    hca_port_up(r.h);
    g_assert_cmpuint(fixture_counter(r.h->f, "port-state"), ==, PORT_DOWN);
    r.fd = peer_connect(r.path);
    wait_port(r.h->f, PORT_ACTIVE);
    return r;
}

Rig rig_begin_netdev(const char *more)
{
    Rig r = { .dir = g_dir_make_tmp("mthca-XXXXXX", NULL) };
    g_autofree char *words = NULL;
    int fd;

    r.path = g_build_filename(r.dir, "wire", NULL);
    words = g_strdup_printf("-netdev stream,id=w,server=off,addr.type=unix,"
                            "addr.path=%s,reconnect-ms=10 "
                            "-device ncic-mthca,id=nic,addr=4,netdev=w,lid=1,"
                            "mac=52:54:00:12:34:56%s", r.path, more);
    r.h = hca_begin_on(fixture_start_words(words, false));
    fd = fixture_listen(r.path);
    r.fd = fixture_accept(fd);
    close(fd);
    /* Until then the netdev throws away what it is given; and the monitor has to be there
     * before, or does not tell. */
    qtest_qmp_eventwait(r.h->f->qts, "NETDEV_STREAM_CONNECTED");
    hca_init(r.h);
    hca_port_up(r.h);
    wait_port(r.h->f, PORT_ACTIVE);
    return r;
}

void rig_free(Rig *r)
{
    close(r->fd);
    unlink(r->path);
    rmdir(r->dir);
    g_free(r->path);
    g_free(r->dir);
}

void rig_end(Rig *r)
{
    hca_end(r->h);
    rig_free(r);
}

/* ---- a queue pair ------------------------------------------------------- */

static void run(Hca *h, uint16_t op, uint32_t mod, uint8_t *box)
{
    hca_put_box(h, box, MTHCA_MAILBOX_SIZE);
    g_assert_cmphex(hca_cmd(h, op, mod), ==, MTHCA_ST_OK);
    memset(box, 0, MTHCA_MAILBOX_SIZE);
}

Qp qp_new(Hca *h)
{
    Qp q = { .base = guest_alloc(&h->f->alloc, DATA + DATA_BYTES) };
    const MtbQp attr = {
        .service = MTHCA_ST_RC, .mtu = 4, .qpn = QPN, .peer_qpn = QPN,
        .uar = UAR, .cqn = CQN, .key = KEY, .log_sq = 4,
        .log_sq_stride = LOG_STRIDE, .log_rq = 4, .log_rq_stride = LOG_STRIDE,
        .sq = q.base + SQ, .rq = q.base + RQ, .dlid = 2,
    };
    uint8_t m[MTHCA_MAILBOX_SIZE] = { 0 };

    mtb_map_icm(m, 0, UAR << 12, q.base + DB);
    run(h, MTHCA_CMD_MAP_ICM, 1, m);
    mtb_region(m, KEY >> 8, 0, 0, UINT64_MAX);
    run(h, MTHCA_CMD_SW2HW_MPT, KEY >> 8, m);
    mtb_cq(m, q.base + CQ, 6, UAR, 0, KEY, 0, 1);
    run(h, MTHCA_CMD_SW2HW_CQ, CQN, m);
    mtb_rst2init(m, &attr);
    run(h, MTHCA_CMD_RST2INIT_QP, QPN, m);
    mtb_init2rtr(m, &attr);
    run(h, MTHCA_CMD_INIT2RTR_QP, QPN, m);
    mtb_rtr2rts(m, &attr);
    run(h, MTHCA_CMD_RTR2RTS_QP, QPN, m);
    return q;
}

void qp_write(Hca *h, Qp *q, unsigned packets)
{
    uint8_t w[1 << LOG_STRIDE] = { 0 };
    uint64_t db = mtb_doorbell(QPN, 1, q->head, MTHCA_WQE_RDMA_WRITE, 3);

    stl_be_p(w + 8, MTHCA_NEXT_CQ_UPDATE | 1);
    mtb_data(mtb_raddr(w + 16, q->base + DATA, KEY), q->base + DATA,
             packets * MTU, KEY);
    qtest_memwrite(h->qts, q->base + SQ + q->head++ % 16 * sizeof(w), w,
                   sizeof(w));
    hca_doorbell(h, UAR * MTHCA_UAR_PAGE + MTHCA_UAR_SEND, db >> 32, db);
}

uint32_t expect_packets(int fd, uint32_t psn, uint32_t count)
{
    g_autofree uint8_t *f = g_malloc(MAX_FRAME);
    size_t len;

    while (count && (len = peer_frame(fd, f))) {
        if (lduw_be_p(f + 12) == 0x0806) {
            continue;
        }
        g_assert_cmpuint(len, >=, BTH + 12 + MTU + 4);
        g_assert_cmphex(ldl_be_p(f + BTH + 8) & 0xffffff, ==, psn);
        psn++;
        count--;
    }
    return psn;
}
