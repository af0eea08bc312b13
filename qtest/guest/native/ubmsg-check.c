/*
 * What /dev/ubmsgN promises (linux/ub/ub_msg_uapi.h), by one controller alone.
 *
 * usage: ubmsg-check DEVICE; exit status 0 if all holds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ub/cfg_regs.h"
#include "ub/mgmt_format.h"
#include "../../../linux/ub/ub_msg_uapi.h"

#define CHECK(what)                                                       \
    do {                                                                  \
        if (!(what)) {                                                    \
            fprintf(stderr, "line %d: %s (errno %d)\n", __LINE__, #what,  \
                    errno);                                               \
            exit(1);                                                      \
        }                                                                 \
    } while (0)

typedef struct Frame {
    struct ub_msg msg;
    uint8_t data[UB_MSG_MAX];
} Frame;

static const char *path;

static int open_it(int flags)
{
    int fd = open(path, O_RDWR | flags);

    CHECK(fd >= 0);
    return fd;
}

static ssize_t put(int fd, const Frame *f)
{
    return write(fd, f, sizeof(f->msg) + f->msg.len);
}

static void get(int fd, Frame *f)
{
    ssize_t n = read(fd, f, sizeof(*f));

    CHECK(n == (ssize_t)sizeof(f->msg) + f->msg.len);
}

static short ready(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT };

    CHECK(poll(&p, 1, 0) >= 0);
    return p.revents;
}

/* A topology query of our own controller. */
static Frame own_scan(uint16_t msn)
{
    Frame f = { .msg = { .kind = UB_MSG_SCAN, .msn = msn,
                         .flags = UB_MSG_MGMT } };
    UbScanWay way = { 0 };
    UbScanAsk ask = { .cmd = UB_SCAN_TOPOLOGY, .opcode = UB_SCAN_OP_TOPOLOGY };

    f.msg.len = ub_scan_put(f.data, &way, &ask);
    return f;
}

/* A message to our own controller, with headers that are all wrong. */
static Frame own_message(uint16_t msn, uint8_t id, unsigned len)
{
    Frame f = {
        .msg = { .msn = msn, .flags = UB_MSG_MGMT | UB_MSG_LOCAL,
                 .scna = 0xbad, .seid = 0xbad, .upi = 0xbad, .queue = 0xbad,
                 .len = UB_MGMT_ETAH + len },
    };

    ub_mgmt_etah_put(f.data, (UbMgmtEtah) { .code = id >> 4, .sub = id & 15,
                                            .len = len });
    return f;
}

static unsigned status_of(const Frame *f)
{
    UbMgmtEtah e = ub_mgmt_etah_get(f->data);

    CHECK(e.rsp);
    return e.status;
}

/* Each opener has its MSNs. */
static void test_openers(void)
{
    int a = open_it(0), b = open_it(0);
    Frame f = own_scan(7), g = own_message(7, UB_MGMT_MSG_CFG0_READ, 16);
    UbScan s;

    ub_mgmt_put(g.data + UB_MGMT_ETAH, UB_MF_CFG_ADDRESS,
                UB_CFG0_TOTAL_NUMBER_OF_PORTS);
    CHECK(put(a, &f) > 0);
    CHECK(put(b, &g) > 0);
    get(b, &g);
    get(a, &f);
    CHECK(f.msg.kind == UB_MSG_SCAN && f.msg.msn == 7 && !f.msg.flags);
    CHECK(!ub_scan_parse(&s, f.data, f.msg.len));
    CHECK(ub_mgmt_get(s.pdu, UB_MF_PDU_MSN) == 7);
    CHECK(ub_mgmt_get(s.pdu, UB_MF_PDU_STATUS) == UB_MGMT_OK);
    CHECK(g.msg.kind == UB_MSG_MESSAGE && g.msg.msn == 7);
    CHECK(status_of(&g) == UB_MGMT_OK);
    CHECK(ub_mgmt_get(g.data + UB_MGMT_ETAH, UB_MF_CFG_DONE_DATA) >> 16 == 1);
    CHECK(g.msg.upi == UB_MGMT_UPI && g.msg.scna != 0xbad);
    CHECK(!(ready(a) & POLLIN) && !(ready(b) & POLLIN));
    close(a);
    close(b);
}

/* A request is refused by the device: UB_MSG_FAILED; by the node: a status. */
static void test_refused(void)
{
    int fd = open_it(0);
    Frame f = own_message(1, UB_MGMT_MSG_CFG0_READ, 16);

    ub_mgmt_etah_put(f.data, (UbMgmtEtah) { .code = 2, .len = 12 });
    CHECK(put(fd, &f) > 0);
    get(fd, &f);
    CHECK(f.msg.flags == UB_MSG_FAILED && !f.msg.len && f.msg.msn == 1);
    f = own_message(2, 0x7f, 0);
    CHECK(put(fd, &f) > 0);
    get(fd, &f);
    CHECK(status_of(&f) == UB_MGMT_BAD_CODE);
    close(fd);
}

static void test_arguments(void)
{
    int fd = open_it(O_NONBLOCK);
    uint8_t big[sizeof(Frame) + 1] = { 0 };
    Frame f = own_scan(1);

    CHECK(write(fd, &f, sizeof(f.msg)) < 0 && errno == EINVAL);
    CHECK(write(fd, &f, sizeof(f.msg) + f.msg.len - 1) < 0 && errno == EINVAL);
    CHECK(write(fd, big, sizeof(big)) < 0 && errno == EINVAL);
    CHECK(write(fd, (void *)(uintptr_t)4096, 64) < 0 && errno == EFAULT);
    f.msg.kind = 2;
    CHECK(put(fd, &f) < 0 && errno == EINVAL);
    f = own_message(1, UB_MGMT_MSG_CFG0_READ, 16);
    f.msg.dcna = 0x10000;
    CHECK(put(fd, &f) < 0 && errno == EINVAL);
    CHECK(ioctl(fd, UB_MSG_IOC_LISTEN + 1, NULL) < 0 && errno == ENOTTY);
    CHECK(read(fd, &f, sizeof(f)) < 0 && errno == EAGAIN);
    CHECK(ready(fd) == POLLOUT);
    close(fd);
}

/* An opener does not fill the kernel with answers that it does not read. */
static void test_bounds(void)
{
    int fd = open_it(O_NONBLOCK), other = open_it(0);
    struct pollfd p = { .fd = fd, .events = POLLIN };
    Frame f;

    for (unsigned i = 0; i < UB_MSG_PENDING; i++) {
        f = own_scan(i);
        CHECK(put(fd, &f) > 0);
    }
    f = own_scan(99);
    CHECK(put(fd, &f) < 0 && errno == EAGAIN);
    CHECK(!(ready(fd) & POLLOUT));
    /* It does not hinder others. */
    CHECK(put(other, &f) > 0);
    get(other, &f);
    CHECK(f.msg.msn == 99);
    CHECK(read(fd, &f, sizeof(f.msg)) < 0 && errno == EMSGSIZE);
    for (unsigned i = 0; i < UB_MSG_PENDING; i++) {
        CHECK(poll(&p, 1, 10000) == 1);
        get(fd, &f);
        CHECK(f.msg.msn == i && f.msg.len > UB_SCAN_PDU);
    }
    CHECK(ready(fd) == POLLOUT);
    close(fd);
    close(other);
}

/* Software answers what is asked of it, or the kernel does for it. */
static void test_taker(void)
{
    int asker = open_it(0), taker = open_it(0), second = open_it(0);
    __u32 listen = UB_MSG_REQUESTS, wrong = 4;
    Frame f = own_message(5, UB_MGMT_MSG_CFG_COMPLETE, 36), g;
    UbMgmtEtah e;

    CHECK(put(asker, &f) > 0);
    get(asker, &g);
    CHECK(status_of(&g) == UB_MGMT_NO_RESOURCE && g.msg.msn == 5);
    CHECK(ioctl(taker, UB_MSG_IOC_LISTEN, &wrong) < 0 && errno == EINVAL);
    CHECK(!ioctl(taker, UB_MSG_IOC_LISTEN, &listen));
    CHECK(ioctl(second, UB_MSG_IOC_LISTEN, &listen) < 0 && errno == EBUSY);
    CHECK(put(asker, &f) > 0);
    get(taker, &g);
    e = ub_mgmt_etah_get(g.data);
    CHECK(!e.rsp && e.code == 6 && e.sub == 4 && e.len == 36);
    e.rsp = true;
    e.status = UB_MGMT_BUSY;
    e.len = 0;
    ub_mgmt_etah_put(g.data, e);
    g.msg.len = UB_MGMT_ETAH;
    g.msg.dcna = g.msg.scna;
    g.msg.flags = UB_MSG_LOCAL;
    CHECK(put(taker, &g) > 0);
    get(asker, &g);
    CHECK(status_of(&g) == UB_MGMT_BUSY && g.msg.msn == 5);
    CHECK(!(ready(second) & POLLIN));
    close(taker);
    CHECK(!ioctl(second, UB_MSG_IOC_LISTEN, &listen));
    close(second);
    close(asker);
}

/* ---- What the node answers (docs/specs/ub-mgmt.rst) ---- */

/* A question of our own controller: its status; the answer into @f. */
static unsigned ask(int fd, Frame *f, uint8_t id, const void *pdu,
                    unsigned len)
{
    *f = own_message(3, id, len);
    if (len) {
        memcpy(f->data + UB_MGMT_ETAH, pdu, len);
    }
    CHECK(put(fd, f) > 0);
    get(fd, f);
    CHECK(!f->msg.flags && f->msg.msn == 3);
    return status_of(f);
}

static unsigned config(int fd, uint8_t id, unsigned entity, uint32_t dw,
                       uint32_t *value)
{
    uint8_t pdu[16] = { 0 };
    unsigned status;
    Frame f;

    ub_mgmt_put(pdu, UB_MF_CFG_ENTITY, entity);
    ub_mgmt_put(pdu, UB_MF_CFG_BYTE_EN, 0xf);
    ub_mgmt_put(pdu, UB_MF_CFG_ADDRESS, dw);
    ub_mgmt_put(pdu, UB_MF_CFG_DATA, *value);
    status = ask(fd, &f, id, pdu, sizeof(pdu));
    if (!status) {
        CHECK(ub_mgmt_etah_get(f.data).len == 16);
        *value = ub_mgmt_get(f.data + UB_MGMT_ETAH, UB_MF_CFG_DONE_DATA);
    }
    return status;
}

static void test_config(void)
{
    const uint32_t nowhere = UB_CFG0_BASE + 0xee;
    uint32_t v = ~0u;
    int fd = open_it(0);
    Frame f;

    /* What is not defined is not written and reads 0. */
    CHECK(config(fd, UB_MGMT_MSG_CFG0_WRITE, 0, nowhere, &v) == UB_MGMT_OK);
    v = ~0u;
    CHECK(config(fd, UB_MGMT_MSG_CFG0_READ, 0, nowhere, &v) == UB_MGMT_OK);
    CHECK(!v);
    CHECK(config(fd, UB_MGMT_MSG_CFG0_READ, 9, 0, &v) == UB_MGMT_NO_TARGET);
    CHECK(config(fd, UB_MGMT_MSG_CFG1_READ, 0, 0, &v) == UB_MGMT_BAD_ADDRESS);
    CHECK(ask(fd, &f, UB_MGMT_MSG_CFG0_READ, &(uint32_t) { 0 }, 4) ==
          UB_MGMT_BAD_LENGTH);
    CHECK(ask(fd, &f, 0x79, NULL, 0) == UB_MGMT_BAD_CODE);
    close(fd);
}

static void test_information(void)
{
    static const uint8_t zero[28], on[4] = { 0, 0, 0, 1 };
    static const uint8_t ports[8] = { 0 }, beyond[8] = { 0, 0, 0, 0, 9, 9, 9, 9 };
    const uint8_t *pdu;
    int fd = open_it(0);
    Frame f;

    pdu = f.data + UB_MGMT_ETAH;
    CHECK(ask(fd, &f, UB_MGMT_MSG_RESOURCE, zero, 4) == UB_MGMT_OK);
    CHECK(ub_mgmt_etah_get(f.data).len == 36);
    CHECK(ask(fd, &f, UB_MGMT_MSG_RESOURCE, zero, 28) == UB_MGMT_BAD_LENGTH);
    CHECK(ask(fd, &f, UB_MGMT_MSG_ENTITY_INFO, NULL, 0) == UB_MGMT_OK);
    CHECK(ub_mgmt_get(pdu, UB_MF_ENTITY_MUES) >= 1);
    CHECK(ub_mgmt_etah_get(f.data).len ==
          8 + 4 * ub_mgmt_get(pdu, UB_MF_ENTITY_MUES));
    CHECK(ask(fd, &f, UB_MGMT_MSG_NEIGHBOR, ports, 8) == UB_MGMT_OK);
    CHECK(ub_mgmt_get(pdu, UB_MF_TLV_TYPE) == UB_TLV_PORT_INFO);
    CHECK(!ub_mgmt_get(pdu, UB_MF_PORT_LOCAL));
    CHECK(ask(fd, &f, UB_MGMT_MSG_NEIGHBOR, beyond, 8) ==
          UB_MGMT_BAD_PARAMETER);
    CHECK(ask(fd, &f, UB_MGMT_MSG_TOKEN_CHECK, on, 4) == UB_MGMT_OK);
    CHECK(ub_mgmt_etah_get(f.data).len == 8);
    CHECK(ask(fd, &f, UB_MGMT_MSG_TOKEN_CHECK, zero, 4) == UB_MGMT_OK);
    CHECK(!ub_mgmt_etah_get(f.data).len);
    close(fd);
}

/* Entities that are lent are the kernel's, whoever takes requests. */
static void test_pool(void)
{
    __u32 listen = UB_MSG_REQUESTS;
    int fd = open_it(0), taker = open_it(0);
    uint8_t pdu[92] = { 0 };
    Frame f;

    CHECK(!ioctl(taker, UB_MSG_IOC_LISTEN, &listen));
    CHECK(ask(fd, &f, UB_MGMT_MSG_DEREGISTER, pdu, 20) == UB_MGMT_ABSENT);
    CHECK(ask(fd, &f, UB_MGMT_MSG_REGISTER, pdu, 92) == UB_MGMT_BAD_PARAMETER);
    /* Entity 0, a CNA that no packet carries, another's UEID. */
    ub_mgmt_put(pdu, UB_MF_REGISTER_EID, 0x10077);
    ub_mgmt_put(pdu, UB_MF_REGISTER_CNA, 0x77);
    CHECK(ask(fd, &f, UB_MGMT_MSG_REGISTER, pdu, 92) == UB_MGMT_BAD_PARAMETER);
    ub_mgmt_put(pdu, UB_MF_REGISTER_ENTITY, 1);
    ub_mgmt_put(pdu, UB_MF_REGISTER_CNA, 0x10077);
    CHECK(ask(fd, &f, UB_MGMT_MSG_REGISTER, pdu, 92) == UB_MGMT_BAD_PARAMETER);
    ub_mgmt_put(pdu, UB_MF_REGISTER_CNA, 0x77);
    ub_mgmt_put(pdu, UB_MF_REGISTER_UEID, 0x12345);
    CHECK(ask(fd, &f, UB_MGMT_MSG_REGISTER, pdu, 92) == UB_MGMT_BAD_PARAMETER);
    CHECK(!(ready(taker) & POLLIN));
    close(fd);
    close(taker);
}

static void test_instances(void)
{
    uint8_t pdu[36] = { [3] = 7, [17] = 5, [35] = 9 };
    int fd = open_it(0);
    Frame f;

    CHECK(ask(fd, &f, UB_MGMT_MSG_BI_CREATE, pdu, 36) == UB_MGMT_OK);
    CHECK(ask(fd, &f, UB_MGMT_MSG_BI_CREATE, pdu, 36) == UB_MGMT_EXISTS);
    CHECK(ask(fd, &f, UB_MGMT_MSG_BI_DESTROY, pdu, 16) == UB_MGMT_OK);
    CHECK(ask(fd, &f, UB_MGMT_MSG_BI_DESTROY, pdu, 16) == UB_MGMT_ABSENT);
    close(fd);
}

/* A vendor's message has to be of our vendor, and is software's. */
static void test_vendor(void)
{
    uint32_t vendor = 0;
    uint8_t pdu[12] = { 0 };
    __u32 listen = UB_MSG_REQUESTS;
    int fd = open_it(0), taker = open_it(0);
    Frame f;

    CHECK(ask(fd, &f, UB_MGMT_MSG_VDM_VENDOR, pdu, 12) ==
          UB_MGMT_BAD_PARAMETER);
    CHECK(!config(fd, UB_MGMT_MSG_CFG0_READ, 0, UB_CFG0_GUID + 3, &vendor));
    put_be32(pdu + 4, vendor);
    put_be32(pdu + 8, 0x12345678);
    CHECK(ask(fd, &f, UB_MGMT_MSG_VDM_VENDOR, pdu, 12) ==
          UB_MGMT_NO_RESOURCE);
    CHECK(!ioctl(taker, UB_MSG_IOC_LISTEN, &listen));
    f = own_message(8, UB_MGMT_MSG_VDM_VENDOR, 12);
    memcpy(f.data + UB_MGMT_ETAH, pdu, 12);
    CHECK(put(fd, &f) > 0);
    get(taker, &f);
    CHECK(get_be32(f.data + UB_MGMT_ETAH + 8) == 0x12345678);
    /* Nobody answers: it ends. */
    get(fd, &f);
    CHECK(f.msg.flags == UB_MSG_FAILED && f.msg.msn == 8);
    close(fd);
    close(taker);
}

/* Closed with requests under way: nobody hears of the answers. */
static void test_close(void)
{
    for (unsigned i = 0; i < 50; i++) {
        int fd = open_it(O_NONBLOCK);
        Frame f = own_scan(i);

        for (unsigned n = 0; n < UB_MSG_PENDING; n++) {
            if (put(fd, &f) < 0) {
                CHECK(errno == EAGAIN);
            }
        }
        close(fd);
    }
    test_openers();
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    path = argv[1];
    test_openers();
    test_refused();
    test_arguments();
    test_bounds();
    test_taker();
    test_config();
    test_information();
    test_pool();
    test_instances();
    test_vendor();
    test_close();
    puts("all holds");
    return 0;
}
