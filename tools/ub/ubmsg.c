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

static bool is_ended(const UbmsgDev *d)
{
    return d->ended && *d->ended;
}

/* Until there is something to read, or the end is asked for. */
static bool wait_readable(UbmsgDev *d)
{
    struct pollfd p = { .fd = d->fd, .events = POLLIN };
    int n;

    do {
        n = ppoll(&p, 1, NULL, d->signals);
    } while (n < 0 && errno == EINTR && !is_ended(d));
    return n > 0;
}

static bool receive(UbmsgDev *d, Frame *f)
{
    ssize_t n;

    if (!wait_readable(d)) {
        return false;
    }
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

static void keep(UbmsgList *l, const Frame *f)
{
    UbmsgPlug *to = &l->event[l->n];

    if (l->n == UBMSG_KEPT) {
        l->lost++;
    } else if (f->msg.len == sizeof(to->data)) {
        to->scna = f->msg.scna;
        memcpy(to->data, f->data, sizeof(to->data));
        l->n++;
    }
}

static bool take(UbmsgList *l, UbmsgPlug *event)
{
    if (!l->n) {
        return false;
    }
    *event = l->event[0];
    memmove(l->event, l->event + 1, --l->n * sizeof(l->event[0]));
    return true;
}

/* Those of slots are kept: what they say is to be done, not only looked at; and errors,
 * which nothing else shows.  An error is no reason to look at the fabric anew. */
static void note_event(UbmsgDev *d, const Frame *f)
{
    UbMgmtEtah e = ub_mgmt_etah_get(f->data);
    unsigned id = e.code << 4 | e.sub;

    if (e.code == UB_MGMT_MSG_ERROR_CE >> 4) {
        keep(&d->errors, f);
        return;
    }
    d->events++;
    if (id == UB_MGMT_MSG_PLUG_BUTTON || id == UB_MGMT_MSG_PLUG_PRESENCE) {
        keep(&d->plugs, f);
    }
}

bool ubmsg_plug(UbmsgDev *d, UbmsgPlug *event)
{
    return take(&d->plugs, event);
}

bool ubmsg_error(UbmsgDev *d, UbmsgPlug *event)
{
    return take(&d->errors, event);
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
            note_event(d, f);
        } else if (f->msg.msn == d->msn) {
            return !(f->msg.flags & UB_MSG_FAILED);
        }
    }
    return false;
}

/* ---- Those who do not answer ---- */

void ubmsg_fresh(UbmsgDev *d)
{
    d->silences = 0;
}

/* By its CNA; scans have none. */
static bool was_silent(const UbmsgDev *d, uint32_t cna)
{
    unsigned n = d->silences < UBMSG_SILENT ? d->silences : UBMSG_SILENT;

    for (unsigned i = 0; i < n; i++) {
        if (cna && d->silent[i] == cna) {
            return true;
        }
    }
    return false;
}

/* A fabric of the silent is gone through in bounded time. */
static unsigned tries_of(const UbmsgDev *d, uint32_t cna, unsigned tries)
{
    return was_silent(d, cna) || d->silences >= UBMSG_SILENT ? 1 : tries;
}

static void note_silence(UbmsgDev *d, uint32_t cna)
{
    if (!was_silent(d, cna) && d->silences < UBMSG_SILENT) {
        d->silent[d->silences++] = cna;
    }
}

static bool ask(UbmsgDev *d, struct ub_msg *msg, uint8_t *data, unsigned tries)
{
    uint32_t cna = msg->dcna;
    Frame f;

    tries = tries_of(d, cna, tries);
    for (unsigned i = 0; i < tries && !d->gone && !is_ended(d); i++) {
        if (try_ask(d, msg, data, &f)) {
            *msg = f.msg;
            memcpy(data, f.data, f.msg.len);
            return true;
        }
    }
    note_silence(d, cna);
    return false;
}

bool ubmsg_ask(UbmsgDev *d, struct ub_msg *msg, uint8_t *data)
{
    return ask(d, msg, data, d->tries);
}

bool ubmsg_event(UbmsgDev *d, int ms)
{
    struct pollfd p = { .fd = d->fd, .events = POLLIN };
    struct timespec time = { ms / 1000, ms % 1000 * 1000000L };
    unsigned before = d->events;
    Frame f;

    if (ppoll(&p, 1, &time, d->signals) <= 0 || !receive(d, &f) ||
        !is_event(&f)) {
        return false;
    }
    note_event(d, &f);
    return d->events != before;
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
    const UbMgmtMessage *row = ub_mgmt_message(e.code, e.sub);
    UbmsgDev *d = opaque;
    unsigned tries = d->tries;

    ub_mgmt_etah_put(data, e);
    memcpy(data + UB_MGMT_ETAH, pdu, len);
    if (row && row->taker != UB_MGMT_BY_DEVICE && d->patience) {
        tries = d->patience;
    }
    if (!ask(d, &msg, data, tries)) {
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
