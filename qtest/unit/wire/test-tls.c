/*
 * TLS under a pipe: two ends in one process, everything that comes out of one is read
 * by the other; who cannot prove what it is, and peers that do not speak TLS.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../lib/tls_files.h"
#include "wire/tls.h"

#define HOST "switch.example"
#define BYTES (3u << 20)

static char *dir;       /* has x509, x509-other, psk, psk-other */

typedef struct End {
    WireFd *w;
    WireTlsCreds *creds;
    bool open, was_open;
    unsigned broken;
    uint64_t sent, got, bad;
    bool refuse;        /* reads no more for now */
} End;

static uint8_t at(uint64_t i)
{
    return i * 31 + (i >> 8);
}

static bool op_ready(void *opaque)
{
    return !((End *)opaque)->refuse;
}

static void op_state(void *opaque, bool open)
{
    End *e = opaque;

    e->open = open;
    e->was_open = e->was_open || open;
}

static bool op_input(void *opaque, const uint8_t *data, size_t len)
{
    End *e = opaque;

    g_assert_true(e->open);
    for (size_t i = 0; i < len; i++) {
        e->bad += data[i] != at(e->got++);
    }
    return !e->refuse;
}

static void op_room(void *opaque)
{
}

static void op_broken(void *opaque, const char *rule)
{
    End *e = opaque;

    g_assert_nonnull(rule);
    g_test_message("%s", rule);
    e->broken++;
}

static const WirePipeOps ops = {
    .ready = op_ready, .state = op_state, .input = op_input, .room = op_room,
    .broken = op_broken,
};

static char *spec(const char *kind, const char *folder)
{
    return g_strdup_printf("%s:%s/%s", kind, dir, folder);
}

static WireTlsCreds *creds(const char *kind, const char *folder)
{
    g_autofree char *s = spec(kind, folder), *why = NULL;
    WireTlsCreds *c = wire_tls_creds_new(s, &why);

    g_assert_cmpstr(why, ==, NULL);
    g_assert_nonnull(c);
    return c;
}

/* Server and client over a pair of sockets with little room. */
static void ends(End e[2], const char *kind, const char *server,
                 const char *client, const char *host)
{
    int fd[2], small = 4096;

    memset(e, 0, 2 * sizeof(*e));
    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), ==,
                    0);
    for (unsigned i = 0; i < 2; i++) {
        setsockopt(fd[i], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
        e[i].creds = creds(kind, i ? client : server);
        e[i].w = wire_fd_new_tls(fd[i], e[i].creds, !i, i ? host : NULL, &ops,
                                 &e[i]);
        g_assert_nonnull(e[i].w);
    }
}

static void ends_free(End e[2])
{
    for (unsigned i = 0; i < 2; i++) {
        wire_fd_free(e[i].w);
        wire_tls_creds_free(e[i].creds);
    }
}

/* A turn of both; false: neither has anything left to do.  Both ends are here, so
 * that what one has not is not on its way either. */
static bool turn(End e[2])
{
    bool alive = false;

    for (unsigned i = 0; i < 2; i++) {
        alive |= wire_fd_run(e[i].w);
    }
    return alive;
}

static void agree(End e[2])
{
    while (!e[0].open || !e[1].open) {
        g_assert_true(turn(e));
    }
}

static void send_all(End *e, uint64_t bytes)
{
    uint8_t piece[5000];

    while (e->sent < bytes) {
        size_t len = MIN(sizeof(piece), bytes - e->sent), n;

        for (size_t i = 0; i < len; i++) {
            piece[i] = at(e->sent + i);
        }
        n = wire_pipe_send(wire_fd_pipe(e->w), piece, len);
        e->sent += n;
        if (n < len) {
            return;
        }
    }
}

/* Both ways at once, with an end that does not read for a while. */
static void both_ways(const char *kind, const char *folder, const char *host)
{
    End e[2];
    bool out, in;

    ends(e, kind, folder, folder, host);
    agree(e);
    e[1].refuse = true;
    for (unsigned i = 0; i < 100; i++) {
        send_all(&e[0], BYTES);
        g_assert_true(turn(e));
    }
    /* What is not read stops the sender. */
    g_assert_cmpuint(e[0].sent, <, BYTES);
    g_assert_cmpuint(e[1].got, ==, 0);
    e[1].refuse = false;
    while (e[0].got < BYTES || e[1].got < BYTES) {
        send_all(&e[0], BYTES);
        send_all(&e[1], BYTES);
        g_assert_true(turn(e));
    }
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpuint(e[i].got, ==, BYTES);
        g_assert_cmpuint(e[i].bad, ==, 0);
        g_assert_cmpuint(e[i].broken, ==, 0);
        wire_pipe_shared(wire_fd_pipe(e[i].w), &out, &in);
        g_assert_false(out || in);
    }
    /* One goes: the other reads all that was sent, then knows it. */
    e[0].sent = e[1].got = 0;
    send_all(&e[0], 3000);
    g_assert_cmpuint(e[0].sent, ==, 3000);
    wire_fd_free(e[0].w);
    e[0].w = NULL;
    while (wire_fd_run(e[1].w)) {
    }
    g_assert_cmpuint(e[1].got, ==, 3000);
    g_assert_false(e[1].open);
    g_assert_cmpuint(e[1].broken, ==, 0);
    ends_free(e);
}

static void test_psk(void)
{
    both_ways("psk", "psk", NULL);
}

static void test_x509(void)
{
    both_ways("x509", "x509", HOST);
}

/*
 * Who is not what it says: neither end hands a byte on.  With TLS 1.3 a client is
 * through before the server has looked at its certificate; then the connection ends
 * at once.
 */
static void test_refused(void)
{
    static const struct {
        const char *kind, *server, *client, *host;
        bool client_passes;
    } rows[] = {
        { "psk", "psk", "psk-other", NULL },
        { "psk", "psk-other", "psk", NULL },
        { "x509", "x509", "x509", "other.example" },
        { "x509", "x509-other", "x509", HOST },
        { "x509", "x509", "x509-mixed", HOST, true },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        End e[2];

        ends(e, rows[i].kind, rows[i].server, rows[i].client, rows[i].host);
        for (bool alive = true; alive;) {
            if (e[1].open) {
                send_all(&e[1], 100);
            }
            alive = wire_fd_run(e[0].w);
            alive = wire_fd_run(e[1].w) || alive;
        }
        g_assert_false(e[0].was_open);
        g_assert_cmpuint(e[0].got + e[1].got, ==, 0);
        g_assert_cmpuint(e[0].broken, ==, 1);
        g_assert_true(rows[i].client_passes || !e[1].was_open);
        ends_free(e);
    }
}

/* Peers that do not speak TLS, or stop in the midst of it. */
static void test_strange(void)
{
    static const uint8_t hello[] = { 0x16, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfc };

    for (unsigned kind = 0; kind < 4; kind++) {
        WireTlsCreds *c = creds("psk", "psk");
        End e = { 0 };
        int fd[2];

        g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd),
                        ==, 0);
        e.w = wire_fd_new_tls(fd[0], c, true, NULL, &ops, &e);
        g_assert_true(wire_fd_run(e.w));
        switch (kind) {
        case 0:
            g_assert_cmpint(write(fd[1], "GET / HTTP/1.0\r\n\r\n", 18), ==, 18);
            break;
        case 1: /* a record that never ends */
            g_assert_cmpint(write(fd[1], hello, sizeof(hello)), ==,
                            sizeof(hello));
            g_assert_true(wire_fd_run(e.w));
            g_assert_true(wire_fd_run(e.w));
            g_assert_false(wire_fd_busy(e.w));
            shutdown(fd[1], SHUT_WR);
            break;
        case 2: /* zeroes */
            for (unsigned i = 0; i < 64; i++) {
                static const uint8_t zeroes[1024];

                if (write(fd[1], zeroes, sizeof(zeroes)) < 0) {
                    break;
                }
            }
            break;
        default:
            close(fd[1]);
            fd[1] = -1;
            break;
        }
        while (wire_fd_run(e.w)) {
        }
        g_assert_cmpint(wire_fd_descriptor(e.w), ==, -1);
        g_assert_false(e.was_open);
        g_assert_cmpuint(e.got, ==, 0);
        g_assert_cmpuint(e.broken, ==, 1);
        wire_fd_free(e.w);
        wire_tls_creds_free(c);
        if (fd[1] >= 0) {
            close(fd[1]);
        }
    }
}

/* Nobody listens: that breaks no rule. */
static void test_alone(void)
{
    struct sockaddr_in in = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int taken = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    WireTlsCreds *c = creds("psk", "psk");
    socklen_t len = sizeof(in);
    End e = { 0 };

    /* A port of our own that does not listen: nobody else's can be there. */
    g_assert_cmpint(bind(taken, (struct sockaddr *)&in, sizeof(in)), ==, 0);
    g_assert_cmpint(getsockname(taken, (struct sockaddr *)&in, &len), ==, 0);
    g_assert_cmpint(connect(fd, (struct sockaddr *)&in, sizeof(in)), ==, -1);
    g_assert_cmpint(errno, ==, EINPROGRESS);
    e.w = wire_fd_new_tls(fd, c, false, NULL, &ops, &e);
    while (wire_fd_run(e.w)) {
    }
    g_assert_false(e.was_open);
    g_assert_cmpuint(e.broken, ==, 0);
    wire_fd_free(e.w);
    wire_tls_creds_free(c);
    close(taken);
}

/* Rubbish in the midst of a stream that was agreed on ends it. */
static void test_rubbish(void)
{
    static const uint8_t rubbish[] = { 0x17, 3, 3, 0, 40, 1, 2, 3 };
    WireTlsCreds *c = creds("psk", "psk");
    uint8_t zeroes[64] = { 0 };
    End e[2] = { 0 };
    int fd[2], copy;

    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), ==,
                    0);
    copy = fcntl(fd[1], F_DUPFD_CLOEXEC, 3);
    for (unsigned i = 0; i < 2; i++) {
        e[i].w = wire_fd_new_tls(fd[i], c, !i, NULL, &ops, &e[i]);
    }
    agree(e);
    send_all(&e[1], 200);
    while (e[0].got < 200) {
        g_assert_true(turn(e));
    }
    g_assert_cmpint(write(copy, rubbish, sizeof(rubbish)), ==,
                    sizeof(rubbish));
    g_assert_cmpint(write(copy, zeroes, sizeof(zeroes)), ==, sizeof(zeroes));
    while (wire_fd_run(e[0].w)) {
    }
    g_assert_false(e[0].open);
    g_assert_cmpuint(e[0].got, ==, 200);
    g_assert_cmpuint(e[0].bad, ==, 0);
    for (unsigned i = 0; i < 2; i++) {
        wire_fd_free(e[i].w);
    }
    wire_tls_creds_free(c);
    close(copy);
}

static void test_credentials(void)
{
    static const struct {
        const char *kind, *folder, *says;
    } rows[] = {
        { "file", "psk", "x509:DIR or psk:DIR" },
        { "psk", "x509", "keys.psk is not to be read" },
        { "psk", "psk-bad", "USER:KEY" },
        { "psk", "psk-nohex", "keys.psk" },
        { "x509", "psk", "neither" },
        { "x509", "nothing", "neither" },
        { "x509", "x509-noca", "ca-cert.pem" },
        { "x509", "x509-nokey", "client-cert.pem" },
    };
    g_autofree char *why = NULL;
    WireTlsCreds *c;
    End e = { 0 };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *s = spec(rows[i].kind, rows[i].folder);
        g_autofree char *said = NULL;

        g_assert_null(wire_tls_creds_new(s, &said));
        g_assert_nonnull(said);
        g_assert_nonnull(strstr(said, rows[i].says));
    }
    g_assert_null(wire_tls_creds_new("psk:", &why));
    g_assert_nonnull(why);
    /* One half is enough for that half. */
    c = creds("x509", "x509-client");
    g_assert_false(wire_tls_creds_serve(c, true));
    g_assert_true(wire_tls_creds_serve(c, false));
    g_assert_null(wire_fd_new_tls(-1, c, true, NULL, &ops, &e));
    wire_tls_creds_free(c);
    c = creds("psk", "psk");
    g_assert_true(wire_tls_creds_serve(c, true));
    g_assert_true(wire_tls_creds_serve(c, false));
    wire_tls_creds_free(c);
}

/* ---- the files ---- */

static char *folder(const char *name)
{
    return g_build_filename(dir, name, NULL);
}

static void copy_file(const char *from, const char *to, const char *name)
{
    g_autofree char *a = g_build_filename(dir, from, name, NULL);
    g_autofree char *b = g_build_filename(dir, to, name, NULL);
    g_autofree char *text = NULL;
    gsize len;

    g_assert_true(g_file_get_contents(a, &text, &len, NULL));
    g_assert_true(g_file_set_contents(b, text, len, NULL));
}

static const char *const folders[] = {
    "x509", "x509-other", "x509-mixed", "x509-client", "x509-noca",
    "x509-nokey", "psk", "psk-other", "psk-bad", "psk-nohex",
};

static void make_files(void)
{
    g_autofree char *x509 = folder("x509"), *other = folder("x509-other");
    g_autofree char *psk = folder("psk"), *psk2 = folder("psk-other");
    g_autofree char *bad = folder("psk-bad"), *nohex = folder("psk-nohex");

    tls_x509_files(x509, HOST);
    tls_x509_files(other, HOST);
    tls_psk_files(psk, "qemu:9a3bc5d7e1f02468ace013579bdf8642\n"
                       "second:00112233445566778899aabbccddeeff\n");
    tls_psk_files(psk2, "qemu:0000c5d7e1f02468ace013579bdf8642\n");
    tls_psk_files(bad, "9a3bc5d7e1f02468ace013579bdf8642\n");
    tls_psk_files(nohex, "qemu:this is no number\n");
    for (unsigned i = 2; i < 6; i++) {
        g_autofree char *d = folder(folders[i]);

        g_assert_cmpint(g_mkdir(d, 0700), ==, 0);
    }
    /* Trusts the right CA, but has a certificate of another. */
    copy_file("x509", "x509-mixed", "ca-cert.pem");
    copy_file("x509-other", "x509-mixed", "client-cert.pem");
    copy_file("x509-other", "x509-mixed", "client-key.pem");
    for (unsigned i = 3; i < 6; i++) {
        copy_file("x509", folders[i], "client-cert.pem");
        if (i != 4) {
            copy_file("x509", folders[i], "ca-cert.pem");
        }
        if (i != 5) {
            copy_file("x509", folders[i], "client-key.pem");
        }
    }
}

int main(int argc, char **argv)
{
    int rc;

    g_test_init(&argc, &argv, NULL);
    dir = g_dir_make_tmp("wire-tls-XXXXXX", NULL);
    make_files();
    g_test_add_func("/wire/tls/psk", test_psk);
    g_test_add_func("/wire/tls/x509", test_x509);
    g_test_add_func("/wire/tls/refused", test_refused);
    g_test_add_func("/wire/tls/strange", test_strange);
    g_test_add_func("/wire/tls/alone", test_alone);
    g_test_add_func("/wire/tls/rubbish", test_rubbish);
    g_test_add_func("/wire/tls/credentials", test_credentials);
    rc = g_test_run();
    for (unsigned i = 0; i < G_N_ELEMENTS(folders); i++) {
        g_autofree char *d = folder(folders[i]);

        tls_files_remove(d);
    }
    g_rmdir(dir);
    g_free(dir);
    return rc;
}
