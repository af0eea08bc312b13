/*
 * Ends of a wire that mean ill: what they send, and what they do to the memory
 * that they share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-link.h"

/* ---- A hostile peer ----------------------------------------------------- */

static void put_record(GByteArray *out, uint8_t type, uint8_t lanes,
                       uint32_t len)
{
    uint8_t head[UB_WIRE_HEADER] = { type, lanes };

    stl_le_p(head + 4, len);
    g_byte_array_append(out, head, sizeof(head));
}

static void put_noise(GByteArray *out, GRand *r, unsigned n)
{
    while (n--) {
        uint8_t byte = g_rand_int(r);

        g_byte_array_append(out, &byte, 1);
    }
}

static void put_hello(GByteArray *out, GRand *r)
{
    uint8_t body[UB_WIRE_HELLO_BODY] = { 'U', 'B', 'L', 'W', 1, 0, 8, 2 };

    stl_le_p(body + 8, g_rand_int(r));
    put_record(out, UB_WIRE_HELLO, 0, sizeof(body));
    g_byte_array_append(out, body, sizeof(body));
}

static void put_lanes(GByteArray *out, uint8_t mask, uint8_t rate)
{
    const uint8_t body[UB_WIRE_LANES_BODY] = { mask, rate };

    put_record(out, UB_WIRE_LANES, 0, sizeof(body));
    g_byte_array_append(out, body, sizeof(body));
}

static void not_hello(GByteArray *out, GRand *r)
{
    const uint8_t first = 0x80 | g_rand_int(r);

    g_byte_array_append(out, &first, 1);
    put_noise(out, r, 8000);
}

static void hello_and_noise(GByteArray *out, GRand *r)
{
    put_hello(out, r);
    not_hello(out, r);
}

static void bad_magic(GByteArray *out, GRand *r)
{
    put_hello(out, r);
    out->data[UB_WIRE_HEADER + g_rand_int_range(r, 0, 6)] ^= 0x20;
}

static void too_long(GByteArray *out, GRand *r)
{
    put_hello(out, r);
    put_lanes(out, 0xff, 0);
    put_record(out, UB_WIRE_RUN, 0xff, UB_WIRE_BODY_MAX + 1);
    put_noise(out, r, 1000);
}

static void idle_lane(GByteArray *out, GRand *r)
{
    put_hello(out, r);
    put_lanes(out, 0x0f, 0);
    put_record(out, UB_WIRE_RUN, 0x1f, 50);
    put_noise(out, r, 50);
}

static void uneven_run(GByteArray *out, GRand *r)
{
    put_hello(out, r);
    put_lanes(out, 0xff, 0);
    put_record(out, UB_WIRE_RUN, 0xff, 1001);
    put_noise(out, r, 1001);
}

static void same_session(GByteArray *out, GRand *r)
{
    g_autofree uint8_t *hello = NULL;

    put_hello(out, r);
    hello = g_memdup2(out->data, out->len);
    g_byte_array_append(out, hello, out->len);
}

static void truncated(GByteArray *out, GRand *r)
{
    put_hello(out, r);
    put_lanes(out, 0xff, 0);
    put_record(out, UB_WIRE_RUN, 0xff, 8000);
    put_noise(out, r, 4000);
    g_byte_array_set_size(out, g_rand_int_range(r, 1, out->len));
}

static void noise_on_lanes(GByteArray *out, GRand *r)
{
    put_hello(out, r);
    put_lanes(out, 0xff, g_rand_int_range(r, 0, 10));
    for (unsigned i = 0; i < 20; i++) {
        put_record(out, UB_WIRE_RUN, 0xff, 8 * 250);
        put_noise(out, r, 8 * 250);
    }
}

static void flapping_lanes(GByteArray *out, GRand *r)
{
    put_hello(out, r);
    for (unsigned i = 0; i < 100; i++) {
        uint8_t mask = g_rand_int(r) | 1;

        put_lanes(out, mask, g_rand_int_range(r, 0, 10));
        put_record(out, UB_WIRE_RUN, 1, 100);
        put_noise(out, r, 100);
    }
}

static void many_sessions(GByteArray *out, GRand *r)
{
    for (unsigned i = 0; i < 50; i++) {
        put_hello(out, r);
        put_lanes(out, 0xff, 0);
    }
}

static const struct {
    const char *name;
    void (*make)(GByteArray *out, GRand *r);
    bool broken; /* a rule of the stream is, so the connection is given up */
} attacks[] = {
    { "not HELLO", not_hello, true },
    { "HELLO and noise", hello_and_noise, true },
    { "bad magic", bad_magic, true },
    { "too long", too_long, true },
    { "idle lane", idle_lane, true },
    { "uneven RUN", uneven_run, true },
    { "same session", same_session, true },
    { "truncated", truncated, false },
    { "noise on the lanes", noise_on_lanes, false },
    { "flapping lanes", flapping_lanes, false },
    { "many sessions", many_sessions, false },
};

static int attach(const char *path)
{
    const struct timeval patience = { .tv_sec = PATIENCE_US / G_USEC_PER_SEC };
    struct sockaddr_un sun = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpuint(g_strlcpy(sun.sun_path, path, sizeof(sun.sun_path)), <,
                     sizeof(sun.sun_path));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    QUBC_WAIT(!connect(fd, (struct sockaddr *)&sun, sizeof(sun)));
    return fd;
}

static void attack(const char *path, unsigned which, GRand *r)
{
    GByteArray *out = g_byte_array_new();
    uint8_t sink[4096];
    int fd = attach(path);
    size_t at = 0;
    ssize_t n;

    attacks[which].make(out, r);
    while (at < out->len) {
        size_t piece = MIN(out->len - at, g_rand_int_range(r, 1, 4000));

        n = send(fd, out->data + at, piece, MSG_NOSIGNAL);
        if (n < 0) {
            /* Given up already: only when there is a reason. */
            g_assert_true(errno == EPIPE || errno == ECONNRESET);
            g_assert_true(attacks[which].broken);
            break;
        }
        at += n;
    }
    if (attacks[which].broken) {
        while ((n = recv(fd, sink, sizeof(sink), 0)) > 0) {
            /* what it said before it noticed */
        }
        g_assert_true(n == 0 || errno == ECONNRESET);
    } else {
        /* It listens, and says HELLO itself. */
        g_assert_cmpint(recv(fd, sink, sizeof(sink), 0), >, 0);
    }
    close(fd);
    g_byte_array_free(out, TRUE);
}

static void test_hostile_peer(void)
{
    const unsigned rounds = g_test_slow() ? 200 : 8;
    unsigned broken = 0;
    GRand *r = g_rand_new_with_seed(20);
    Link l = { 0 };

    link_prepare(&l);
    l.a = start_server(&l);
    qubc_port_open(l.a, 0);
    for (unsigned i = 0; i < rounds * G_N_ELEMENTS(attacks); i++) {
        unsigned which = i % G_N_ELEMENTS(attacks);

        g_test_message("%u: %s", i, attacks[which].name);
        attack(l.path, which, r);
        broken += attacks[which].broken;
        g_assert_cmphex(qubc_read(l.a, UBC_ID), ==, UBC_ID_VALUE);
        g_assert_cmpuint(qubc_counter(l.a, 0, UBC_CNT_LINK_BAD_RECORDS), ==,
                         broken);
    }
    g_assert_false(qubc_up(l.a, 0));
    l.b = start_client(&l);
    qubc_port_open(l.b, 0);
    wait_up(&l);
    exchange(&l, 500);
    g_rand_free(r);
    link_stop(&l);
}

/* What a machine's process may have grown by, bytes: little; a sanitizer keeps what
 * is freed. */
#ifdef QEMU_SANITIZE_ADDRESS
#define MORE (1024u << 20)
#else
#define MORE (16u << 20)
#endif

/* Memory of a machine's process, bytes. */
static uint64_t resident(QUbc *d)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/status",
                                            (int)qtest_pid(d->qts));
    g_autofree char *text = NULL;
    const char *at;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    at = strstr(text, "RssAnon:");
    g_assert_nonnull(at);
    return g_ascii_strtoull(at + strlen("RssAnon:"), NULL, 10) << 10;
}

static void shout(int fd, const GByteArray *out)
{
    g_assert_cmpint(send(fd, out->data, out->len, MSG_NOSIGNAL), ==, out->len);
}

/* A peer that trains and never reads: nothing piles up, nothing is closed, and
 * when it reads at last the port goes on. */
static void test_deaf_peer(void)
{
    g_autoptr(GByteArray) out = g_byte_array_new();
    GRand *r = g_rand_new_with_seed(21);
    g_autofree uint8_t *sink = g_malloc(1 << 20);
    uint64_t before, got = 0;
    gint64 end;
    Link l = { 0 };
    int fd;

    link_prepare(&l);
    l.props = "time-scale=1"; /* it trains ten times as fast */
    l.a = start_server(&l);
    qubc_port_open(l.a, 0);
    fd = attach(l.path);
    put_hello(out, r);
    put_lanes(out, 0xff, 0);
    before = resident(l.a);
    shout(fd, out);
    g_usleep(3 * G_USEC_PER_SEC); /* 120 MB, if nothing holds it back */
    g_assert_cmphex(qubc_read(l.a, UBC_ID), ==, UBC_ID_VALUE);
    g_assert_cmpuint(resident(l.a), <, before + MORE);
    end = g_get_monotonic_time() + PATIENCE_US;
    while (got < 4u << 20) {
        ssize_t n = recv(fd, sink, 1 << 20, 0);

        g_assert_cmpint(n, >, 0);
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        got += n;
    }
    g_assert_cmpuint(qubc_counter(l.a, 0, UBC_CNT_LINK_OVERFLOWS), ==, 0);
    close(fd);
    l.props = NULL;
    l.b = start_client(&l);
    qubc_port_open(l.b, 0);
    wait_up(&l);
    exchange(&l, 500);
    g_rand_free(r);
    link_stop(&l);
}

/* A peer that says HELLO with a new session all the time, and never reads. */
static void test_hello_flood(void)
{
    g_autoptr(GByteArray) out = g_byte_array_new();
    GRand *r = g_rand_new_with_seed(22);
    const gint64 start = g_get_monotonic_time();
    uint64_t before, sent = 0, restarts, ms;
    Link l = { 0 };
    int fd;

    link_prepare(&l);
    l.a = start_server(&l);
    qubc_port_open(l.a, 0);
    fd = attach(l.path);
    for (unsigned i = 0; i < 1000; i++) {
        put_hello(out, r);
        put_lanes(out, 0xff, 0);
    }
    before = resident(l.a);
    do {
        shout(fd, out);
        sent += out->len;
        restarts = qubc_counter(l.a, 0, UBC_CNT_LINK_RESTARTS);
        ms = (g_get_monotonic_time() - start) / 1000;
    } while (ms < 3000 || sent <= 1u << 20 || restarts <= 1);
    g_assert_cmpuint(resident(l.a), <, before + MORE);
    /* The time is that after they were counted. */
    g_assert_cmpuint(restarts, <=, ms / 10 + 1);
    close(fd);
    l.b = start_client(&l);
    qubc_port_open(l.b, 0);
    wait_up(&l);
    exchange(&l, 500);
    g_rand_free(r);
    link_stop(&l);
}

/* ---- Shared memory -------------------------------------------------------- */

/* docs/specs/wire-pipe.rst, as an end that is none of ours has it. */
typedef struct Memory {
    char magic[8];
    uint32_t version, features;
    uint64_t size, zero[5];
    uint64_t head, start;
    uint32_t begun, writer_waits;
    uint64_t zero2[5];
    uint64_t tail;
    uint32_t accepted, reader_sleeps;
} Memory;

#define MEMORY_DATA 4096
#define MEMORY_SIZE 65536

static Memory *memory_new(int *fd)
{
    Memory *m;

    *fd = memfd_create("test", MFD_ALLOW_SEALING);
    g_assert_cmpint(*fd, >=, 0);
    g_assert_cmpint(ftruncate(*fd, MEMORY_DATA + MEMORY_SIZE), ==, 0);
    g_assert_cmpint(fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), ==,
                    0);
    m = mmap(NULL, MEMORY_DATA + MEMORY_SIZE, PROT_READ | PROT_WRITE,
             MAP_SHARED, *fd, 0);
    g_assert_true(m != MAP_FAILED);
    memcpy(m->magic, "WIRERING", 8);
    m->version = 1;
    m->size = MEMORY_SIZE;
    return m;
}

/* The whole of `out`, `fd` with its first byte. */
static void shout_with(int sock, const GByteArray *out, int fd)
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control = { 0 };
    struct iovec iov = { out->data, out->len };
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1,
        .msg_control = &control, .msg_controllen = sizeof(control),
    };

    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.head), &fd, sizeof(int));
    g_assert_cmpint(sendmsg(sock, &msg, MSG_NOSIGNAL), ==, out->len);
}

/* The ring that the emulator writes to. */
static Memory *memory_of(int sock)
{
    uint8_t buf[4096];
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec iov = { buf, sizeof(buf) };
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1,
        .msg_control = &control, .msg_controllen = sizeof(control),
    };
    Memory *m;
    int fd;

    g_assert_cmpint(recvmsg(sock, &msg, 0), >, 0);
    g_assert_nonnull(CMSG_FIRSTHDR(&msg));
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
    m = mmap(NULL, MEMORY_DATA, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    g_assert_true(m != MAP_FAILED);
    close(fd);
    return m;
}

/* A peer that gets as far as sharing memory and then breaks its rules: it is
 * given up, whatever it wrote there, and the next one is served. */
static void test_hostile_memory(void)
{
    enum { HEAD, TAIL, START, GARBAGE, ALL, CASES };
    const unsigned rounds = g_test_slow() ? 40 : 4;
    GRand *r = g_rand_new_with_seed(23);
    Link l = { 0 };

    link_prepare(&l);
    l.a = start_server(&l);
    qubc_port_open(l.a, 0);
    for (unsigned i = 0; i < rounds * CASES; i++) {
        g_autoptr(GByteArray) out = g_byte_array_new();
        int sock = attach(l.path), fd;
        Memory *theirs = memory_of(sock), *m = memory_new(&fd);
        uint8_t sink[4096];
        ssize_t n;

        put_hello(out, r);
        put_lanes(out, 0xff, 0);
        shout_with(sock, out, fd);
        close(fd);
        QUBC_WAIT(qatomic_read(&m->accepted));
        m->start = out->len;
        qatomic_set(&theirs->accepted, 1);
        qatomic_store_release(&m->begun, 1);
        switch (i % CASES) {
        case HEAD:
            m->head = MEMORY_SIZE + 1 + g_rand_int(r);
            break;
        case TAIL:
            QUBC_WAIT(qatomic_read(&theirs->begun));
            theirs->tail = 1ull << g_rand_int_range(r, 32, 64);
            break;
        case START:
            m->start = g_rand_int_range(r, 0, out->len);
            break;
        case GARBAGE:
            for (unsigned j = 0; j < MEMORY_SIZE; j++) {
                ((uint8_t *)m + MEMORY_DATA)[j] = g_rand_int(r) | 0x80;
            }
            m->head = MEMORY_SIZE;
            break;
        case ALL:
            for (unsigned j = 0; j < MEMORY_DATA / 4; j++) {
                ((uint32_t *)m)[j] = g_rand_int(r);
            }
            break;
        }
        do { /* one more of these may be what it notices it by */
            g_assert_cmpint(send(sock, "", 1, MSG_NOSIGNAL), !=, 0);
            n = recv(sock, sink, sizeof(sink), MSG_DONTWAIT);
            g_usleep(1000);
        } while (n > 0 || (n < 0 && errno == EAGAIN));
        g_assert_true(n == 0 || errno == ECONNRESET);
        close(sock);
        munmap(m, MEMORY_DATA + MEMORY_SIZE);
        munmap(theirs, MEMORY_DATA);
        g_assert_cmphex(qubc_read(l.a, UBC_ID), ==, UBC_ID_VALUE);
    }
    g_assert_true(qubc_logged(l.a, "an index beyond the end of the shared"));
    l.b = start_client(&l);
    qubc_port_open(l.b, 0);
    wait_up(&l);
    exchange(&l, 500);
    g_assert_true(shared(l.a) && shared(l.b));
    g_rand_free(r);
    link_stop(&l);
}
int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-link/hostile-peer", test_hostile_peer);
    qtest_add_func("/ubc-link/deaf-peer", test_deaf_peer);
    qtest_add_func("/ubc-link/hello-flood", test_hello_flood);
    qtest_add_func("/ubc-link/hostile-memory", test_hostile_memory);
    return g_test_run();
}
