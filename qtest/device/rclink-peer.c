/*
 * rclink: one device, and a peer that puts every frame together by hand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "libqos/pci-pc.h"
#include <poll.h>
#include <sys/un.h>
#include "rclink-peer.h"
#include "../deadline.h"

const uint8_t self[6] = { 2, 0, 0, 0, 0, 0x0a };
const uint8_t peer[6] = { 2, 0, 0, 0, 0, 0x0b };

/* ---- life ---- */

Rig rig_start(const char *props, uint64_t format)
{
    Rig g = { .dir = g_dir_make_tmp("rclink-XXXXXX", NULL) };
    struct sockaddr_un a = { .sun_family = AF_UNIX };

    g.path = g_build_filename(g.dir, "wire", NULL);
    g.r = rcl_start(g.path, true, 0, props, "");
    g.fd = socket(AF_UNIX, SOCK_STREAM, 0);
    g_strlcpy(a.sun_path, g.path, sizeof(a.sun_path));
    g_assert_cmpint(connect(g.fd, (struct sockaddr *)&a, sizeof(a)), ==, 0);
    rcl_wait_link(g.r, true);
    rcl_up(g.r, format);
    rcl_qp(g.r, QP, 1, QP, 0);
    return g;
}

Rig rig_start_netdev(const char *props, uint64_t format)
{
    Rig g = { .dir = g_dir_make_tmp("rclink-XXXXXX", NULL) };
    int fd;

    g.path = g_build_filename(g.dir, "wire", NULL);
    g.r = rcl_start_netdev(g.path, false, 0, props);
    fd = fixture_listen(g.path);
    g.fd = fixture_accept(fd);
    close(fd);
    /* Until then the netdev throws away what it is given; and the monitor has to be there
     * before, or does not tell. */
    qtest_qmp_eventwait(g.r->f->qts, "NETDEV_STREAM_CONNECTED");
    rcl_wait_link(g.r, true);
    rcl_up(g.r, format);
    rcl_qp(g.r, QP, 1, QP, 0);
    return g;
}

void rig_stop(Rig *g)
{
    close(g->fd);
    rcl_stop(g->r);
    unlink(g->path);
    rmdir(g->dir);
    g_free(g->path);
    g_free(g->dir);
}

uint64_t counter(Rig *g, const char *name)
{
    return rcl_counter(g->r, name);
}

void wait_counter(Rig *g, const char *name, uint64_t n)
{
    g_autofree char *full = g_strdup_printf("counter-%s", name);

    fixture_wait_counter(g->r->f, full, n);
}

/* ---- frames ---- */

/* A bit at a time. */
uint32_t crc32_of(const uint8_t *p, size_t len)
{
    uint32_t crc = UINT32_MAX;

    while (len--) {
        crc ^= *p++;
        for (int k = 0; k < 8; k++) {
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
        }
    }
    return ~crc;
}

void wire_put(Rig *g, const uint8_t *frame, size_t len)
{
    uint8_t buf[4 + 2048];

    stl_be_p(buf, len);
    memcpy(buf + 4, frame, len);
    g_assert_cmpint(send(g->fd, buf, 4 + len, MSG_NOSIGNAL), ==, 4 + len);
}

static void read_all(Rig *g, void *buf, size_t len)
{
    gint64 limit = test_deadline(20);
    struct pollfd p = { .fd = g->fd, .events = POLLIN };

    while (len) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
        if (poll(&p, 1, 100) > 0) {
            ssize_t n = read(g->fd, buf, len);

            g_assert_cmpint(n, >, 0);
            buf = (uint8_t *)buf + n;
            len -= n;
        }
    }
}

void wire_get(Rig *g, Got *got)
{
    uint8_t head[4], *rh;

    memset(got, 0, sizeof(*got));
    read_all(g, head, 4);
    got->len = ldl_be_p(head);
    g_assert_cmpuint(got->len, >=, MIN_FRAME);
    g_assert_cmpuint(got->len, <=, sizeof(got->frame));
    read_all(g, got->frame, got->len);
    got->type = lduw_be_p(got->frame + 12);
    rh = got->frame + HEAD;
    got->data = rh + RH;
    got->opcode = rh[0] >> 6;
    got->fack = rh[0] >> 5 & 1;
    got->pad = rh[0] >> 3 & 3;
    got->ts_en = rh[0] & 1;
    got->ts = lduw_be_p(rh + 1);
    got->pkey = rh[3];
    got->field = rh[4] >> 1;
    got->psn = (rh[4] & 1) << 11 | rh[5] << 3 | rh[6] >> 5;
    got->qp = (rh[6] & 0x1f) << 8 | rh[7];
}

bool wire_quiet(Rig *g)
{
    struct pollfd p = { .fd = g->fd, .events = POLLIN };

    rcl_get(g->r, RCL_STATUS);
    return poll(&p, 1, 30) == 0;
}

size_t frame_make(uint8_t *f, unsigned opcode, unsigned flags,
                  unsigned field, unsigned psn, unsigned qp, size_t len)
{
    uint8_t *rh = f + HEAD;
    size_t n = HEAD + RH + len;

    memset(f, 0, MIN_FRAME);
    memcpy(f, self, 6);
    memcpy(f + 6, peer, 6);
    stw_be_p(f + 12, 0x88b5);
    rh[0] = opcode << 6 | flags;
    stw_be_p(rh + 1, 0x1234);
    rh[3] = PKEY;
    rh[4] = field << 1 | psn >> 11;
    rh[5] = psn >> 3;
    rh[6] = psn << 5 | qp >> 8;
    rh[7] = qp;
    for (size_t i = 0; i < len; i++) {
        rh[RH + i] = psn + i;
    }
    stl_le_p(f + n, crc32_of(rh, RH + len));
    return MAX(n + ICRC, MIN_FRAME);
}

void request(Rig *g, unsigned psn, unsigned flags, size_t len)
{
    uint8_t f[2048];

    wire_put(g, f, frame_make(f, SEND, flags | TS, len + RH < 128 ? len + RH
                                                                  : 0,
                              psn, QP, len));
}

void answer(Rig *g, unsigned field, unsigned psn)
{
    uint8_t f[2048];

    wire_put(g, f, frame_make(f, ACK, 0, field, psn, QP, 0));
}

void expect_irq(Rig *g, uint64_t info)
{
    uint8_t ev[RCL_RING_ENTRY];

    rcl_event_wait(g->r, RCL_EV_IRQ, ev);
    g_assert_cmphex(ldq_le_p(ev + 8), ==, info);
}

void recover(Rig *g, unsigned psn)
{
    Got got;

    rcl_set(g->r, RCL_QP_ID_SET, QP);
    rcl_set(g->r, RCL_TX_SPEED_MEM, 0);
    rcl_set(g->r, RCL_QP_CONTROL_STATUS, RCL_QP_FREE_BUF);
    g_assert_cmphex(rcl_get(g->r, RCL_QP_CONTROL_STATUS), ==, 0);
    g_assert_cmpuint(rcl_get(g->r, RCL_OST_FREE) & 0xffff, ==, 512);
    rcl_qp(g->r, QP, 1, QP, psn);
    rcl_post(g->r, QP, 64, 0, 0);
    wire_get(g, &got);
    g_assert_cmphex(got.psn, ==, psn);
}

void expect_answer(Rig *g, unsigned field, unsigned psn)
{
    Got got;

    wire_get(g, &got);
    g_assert_cmpuint(got.opcode, ==, ACK);
    g_assert_cmphex(got.field, ==, field);
    g_assert_cmphex(got.psn, ==, psn);
}
