/*
 * Asking the nodes of a fabric through /dev/ubmsgN.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE /* ppoll */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ub/cfg_regs.h"
#include "ubmsg.h"

/* A message as the device has it. */
typedef struct Frame {
    struct ub_msg msg;
    uint8_t data[UB_MSG_MAX];
} Frame;

bool ubmsg_open(UbmsgDev *d, const char *path, bool events)
{
    __u32 listen = UB_MSG_EVENTS;

    *d = (UbmsgDev) { .fd = open(path, O_RDWR | O_CLOEXEC), .tries = 3 };
    if (d->fd < 0) {
        return false;
    }
    if (events && ioctl(d->fd, UB_MSG_IOC_LISTEN, &listen)) {
        ubmsg_close(d);
        return false;
    }
    return true;
}

void ubmsg_close(UbmsgDev *d)
{
    close(d->fd);
    d->fd = -1;
}

void ubmsg_lock(UbmsgDev *d, bool on)
{
    int err;

    do {
        err = flock(d->fd, on ? LOCK_EX : LOCK_UN);
    } while (err && errno == EINTR);
}

static bool receive(UbmsgDev *d, Frame *f)
{
    ssize_t n;

    do {
        n = read(d->fd, f, sizeof(*f));
    } while (n < 0 && errno == EINTR);
    d->gone = n < 0 && errno == ENODEV;
    return n >= (ssize_t)sizeof(f->msg);
}

static bool is_event(const Frame *f)
{
    return f->msg.kind == UB_MSG_MESSAGE && !(f->msg.flags & UB_MSG_FAILED) &&
           !ub_mgmt_etah_get(f->data).rsp;
}

/* Once.  False: it cannot be sent, or nobody answered. */
static bool try_ask(UbmsgDev *d, const struct ub_msg *msg, const uint8_t *data,
                    Frame *f)
{
    f->msg = *msg;
    f->msg.msn = ++d->msn;
    memcpy(f->data, data, msg->len);
    if (write(d->fd, f, sizeof(f->msg) + msg->len) < 0) {
        d->gone = errno == ENODEV;
        return false;
    }
    while (receive(d, f)) {
        if (is_event(f)) {
            d->events++;
        } else if (f->msg.msn == d->msn) {
            return !(f->msg.flags & UB_MSG_FAILED);
        }
    }
    return false;
}

bool ubmsg_ask(UbmsgDev *d, struct ub_msg *msg, uint8_t *data)
{
    Frame f;

    for (unsigned i = 0; i < d->tries && !d->gone; i++) {
        if (try_ask(d, msg, data, &f)) {
            *msg = f.msg;
            memcpy(data, f.data, f.msg.len);
            return true;
        }
    }
    return false;
}

bool ubmsg_event(UbmsgDev *d, int ms, struct ub_msg *msg, uint8_t *data)
{
    struct pollfd p = { .fd = d->fd, .events = POLLIN };
    struct timespec time = { ms / 1000, ms % 1000 * 1000000L };
    Frame f;

    if (ppoll(&p, 1, ms < 0 ? NULL : &time, d->signals) <= 0 ||
        !receive(d, &f) || !is_event(&f)) {
        return false;
    }
    *msg = f.msg;
    memcpy(data, f.data, f.msg.len);
    return true;
}

/* ---- For the fabric ---- */

static int fm_scan(void *opaque, const UbScanWay *way, const UbScanAsk *ask,
                   uint8_t *pdu, unsigned *len)
{
    uint8_t data[UB_MSG_MAX];
    struct ub_msg msg = { .kind = UB_MSG_SCAN, .flags = UB_MSG_MGMT,
                          .upi = UB_MGMT_UPI };
    UbScan s;

    msg.len = ub_scan_put(data, way, ask);
    if (!msg.len || !ubmsg_ask(opaque, &msg, data) ||
        ub_scan_parse(&s, data, msg.len)) {
        return -1;
    }
    memcpy(pdu, s.pdu, s.pdu_len);
    *len = s.pdu_len;
    return ub_mgmt_get(s.pdu, UB_MF_PDU_STATUS);
}

static int configure(UbmsgDev *d, uint32_t cna, uint32_t dw, bool write_it,
                     uint32_t *value)
{
    bool cfg1 = dw >= UB_CFG1_BASE && dw < UB_CFG_PORT_BASE(0);
    uint8_t data[UB_MSG_MAX] = { 0 }, *pdu = data + UB_MGMT_ETAH;
    struct ub_msg msg = {
        .kind = UB_MSG_MESSAGE, .upi = UB_MGMT_UPI, .dcna = cna,
        .flags = UB_MSG_MGMT | (cna ? 0 : UB_MSG_LOCAL),
        .len = UB_MGMT_ETAH + 16,
    };
    UbMgmtEtah e = { .code = 2, .sub = 2 * cfg1 + write_it, .len = 16 };

    ub_mgmt_etah_put(data, e);
    ub_mgmt_put(pdu, UB_MF_CFG_BYTE_EN, 0xf);
    ub_mgmt_put(pdu, UB_MF_CFG_ADDRESS, dw);
    if (write_it) {
        ub_mgmt_put(pdu, UB_MF_CFG_DATA, *value);
    }
    if (!ubmsg_ask(d, &msg, data)) {
        return -1;
    }
    e = ub_mgmt_etah_get(data);
    if (!e.status && (e.len < 4 || msg.len < UB_MGMT_ETAH + 4)) {
        return -1;
    }
    if (!e.status && !write_it) {
        *value = ub_mgmt_get(pdu, UB_MF_CFG_DONE_DATA);
    }
    return e.status;
}

static int fm_message(void *opaque, uint32_t cna, UbMgmtId id,
                      const uint8_t *pdu, unsigned len, uint8_t *answer,
                      unsigned *answer_len)
{
    uint8_t data[UB_MSG_MAX] = { 0 };
    struct ub_msg msg = {
        .kind = UB_MSG_MESSAGE, .upi = UB_MGMT_UPI, .dcna = cna,
        .flags = UB_MSG_MGMT | (cna ? 0 : UB_MSG_LOCAL),
        .len = UB_MGMT_ETAH + len,
    };
    UbMgmtEtah e = { .code = id >> 4, .sub = id & 15, .len = len };

    ub_mgmt_etah_put(data, e);
    memcpy(data + UB_MGMT_ETAH, pdu, len);
    if (!ubmsg_ask(opaque, &msg, data)) {
        return -1;
    }
    e = ub_mgmt_etah_get(data);
    if (msg.len != UB_MGMT_ETAH + e.len) {
        return -1;
    }
    memcpy(answer, data + UB_MGMT_ETAH, e.len);
    *answer_len = e.len;
    return e.status;
}

static int fm_read(void *opaque, uint32_t cna, uint32_t dw, uint32_t *value)
{
    return configure(opaque, cna, dw, false, value);
}

static int fm_write(void *opaque, uint32_t cna, uint32_t dw, uint32_t value)
{
    return configure(opaque, cna, dw, true, &value);
}

const UbFmOps ubmsg_fm_ops = {
    .scan = fm_scan, .read = fm_read, .write = fm_write,
    .message = fm_message,
};
