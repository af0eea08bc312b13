/*
 * TLS between a descriptor and the pipe on it, by GnuTLS, which QEMU uses too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <glib.h>
#include <gnutls/gnutls.h>
#include <string.h>
#include <sys/socket.h>

#include "wire/tls.h"

enum {
    /* What waits for the descriptor; beyond it nothing more is taken. */
    OUT_MAX = WIRE_PIPE_PIECE,
    RECORD = 16384,
    WARNINGS = 16,
};

struct WireTlsCreds {
    bool psk;
    /* Of psk, or of x509; NULL: lacks the files for it. */
    gnutls_psk_server_credentials_t psk_server;
    gnutls_psk_client_credentials_t psk_client;
    gnutls_certificate_credentials_t x509[2];   /* client, server */
};

typedef struct WireTls {
    gnutls_session_t session;
    int fd;
    bool agreed, dead;
    bool alone;         /* dead, and nobody was ever there */
    char *host;
    GByteArray *out;    /* records that the descriptor had no room for */
} WireTls;

/* ---- Credentials ------------------------------------------------------------------ */

static bool fault(char **why, const char *what, int rc)
{
    *why = g_strdup_printf("%s: %s", what, gnutls_strerror(rc));
    return false;
}

static bool load_psk(WireTlsCreds *c, const char *dir, char **why)
{
    g_autofree char *file = g_build_filename(dir, "keys.psk", NULL);
    g_autofree char *text = NULL;
    gnutls_datum_t key;
    char *line, *colon;
    int rc;

    if (!g_file_get_contents(file, &text, NULL, NULL)) {
        *why = g_strdup_printf("%s is not to be read", file);
        return false;
    }
    line = g_strstrip(text);
    line[strcspn(line, "\r\n")] = 0;
    colon = strchr(line, ':');
    if (!colon || colon == line || !colon[1]) {
        *why = g_strdup_printf("%s: lines are USER:KEY", file);
        return false;
    }
    *colon = 0;
    key.data = (unsigned char *)colon + 1;
    key.size = strlen(colon + 1);
    gnutls_psk_allocate_server_credentials(&c->psk_server);
    gnutls_psk_allocate_client_credentials(&c->psk_client);
    rc = gnutls_psk_set_client_credentials(c->psk_client, line, &key,
                                           GNUTLS_PSK_KEY_HEX);
    if (rc >= 0) {
        rc = gnutls_psk_set_server_credentials_file(c->psk_server, file);
    }
    return rc < 0 ? fault(why, file, rc) : true;
}

/* One of the two: what it proves itself by, and the CA of the other.  True: it is
 * there, or there is none. */
static bool load_pair(gnutls_certificate_credentials_t *out, const char *dir,
                      const char *name, char **why)
{
    g_autofree char *cert = g_strdup_printf("%s/%s-cert.pem", dir, name);
    g_autofree char *key = g_strdup_printf("%s/%s-key.pem", dir, name);
    g_autofree char *ca = g_build_filename(dir, "ca-cert.pem", NULL);
    g_autofree char *crl = g_build_filename(dir, "ca-crl.pem", NULL);
    int rc;

    if (!g_file_test(cert, G_FILE_TEST_EXISTS)) {
        return true;
    }
    gnutls_certificate_allocate_credentials(out);
    rc = gnutls_certificate_set_x509_trust_file(*out, ca, GNUTLS_X509_FMT_PEM);
    if (rc <= 0) {
        return fault(why, ca, rc ? rc : GNUTLS_E_NO_CERTIFICATE_FOUND);
    }
    if (g_file_test(crl, G_FILE_TEST_EXISTS)) {
        rc = gnutls_certificate_set_x509_crl_file(*out, crl,
                                                  GNUTLS_X509_FMT_PEM);
        if (rc < 0) {
            return fault(why, crl, rc);
        }
    }
    rc = gnutls_certificate_set_x509_key_file(*out, cert, key,
                                              GNUTLS_X509_FMT_PEM);
    return rc < 0 ? fault(why, cert, rc) : true;
}

WireTlsCreds *wire_tls_creds_new(const char *spec, char **why)
{
    WireTlsCreds *c = g_new0(WireTlsCreds, 1);
    const char *dir = strchr(spec, ':');
    bool ok;

    *why = NULL;
    c->psk = g_str_has_prefix(spec, "psk:");
    if (!dir || !dir[1] || !(c->psk || g_str_has_prefix(spec, "x509:"))) {
        *why = g_strdup("TLS credentials are x509:DIR or psk:DIR");
        ok = false;
    } else if (c->psk) {
        ok = load_psk(c, dir + 1, why);
    } else {
        ok = load_pair(&c->x509[0], dir + 1, "client", why) &&
             load_pair(&c->x509[1], dir + 1, "server", why);
        if (ok && !c->x509[0] && !c->x509[1]) {
            *why = g_strdup_printf("%s: neither server-cert.pem nor "
                                   "client-cert.pem", dir + 1);
            ok = false;
        }
    }
    if (!ok) {
        wire_tls_creds_free(c);
        return NULL;
    }
    return c;
}

void wire_tls_creds_free(WireTlsCreds *c)
{
    if (!c) {
        return;
    }
    g_clear_pointer(&c->psk_server, gnutls_psk_free_server_credentials);
    g_clear_pointer(&c->psk_client, gnutls_psk_free_client_credentials);
    for (unsigned i = 0; i < G_N_ELEMENTS(c->x509); i++) {
        g_clear_pointer(&c->x509[i], gnutls_certificate_free_credentials);
    }
    g_free(c);
}

bool wire_tls_creds_serve(const WireTlsCreds *c, bool server)
{
    return c->psk || c->x509[server];
}

/* ---- Below: the descriptor ------------------------------------------------------------ */

/* What a connection that was never made dies of: that is nobody's fault. */
static bool nobody_there(int error)
{
    return error == ECONNREFUSED || error == ETIMEDOUT ||
           error == EHOSTUNREACH || error == ENETUNREACH;
}

/* What waits goes first; false: it is dead. */
static bool tls_flush(void *opaque)
{
    WireTls *t = opaque;

    while (t->out->len && !t->dead) {
        ssize_t n = send(t->fd, t->out->data, t->out->len, MSG_NOSIGNAL);

        if (n > 0) {
            g_byte_array_remove_range(t->out, 0, n);
        } else if (n == 0 || errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            t->alone = nobody_there(errno);
            t->dead = true;
        }
    }
    return !t->dead;
}

/* Records are never refused, so that GnuTLS need not be asked twice: how much of them
 * there can be is bounded where they are made. */
static ssize_t tls_push(gnutls_transport_ptr_t opaque, const void *data,
                        size_t len)
{
    WireTls *t = opaque;

    if (t->dead) {
        gnutls_transport_set_errno(t->session, EPIPE);
        return -1;
    }
    g_byte_array_append(t->out, data, len);
    tls_flush(t);
    return len;
}

static ssize_t tls_pull(gnutls_transport_ptr_t opaque, void *buf, size_t len)
{
    WireTls *t = opaque;
    ssize_t n = recv(t->fd, buf, len, 0);

    if (n < 0) {
        if (nobody_there(errno)) {
            t->dead = t->alone = true;
        }
        gnutls_transport_set_errno(t->session, errno);
    }
    return n;
}

/* Only asked where GnuTLS would wait, which it must not. */
static int tls_pull_timeout(gnutls_transport_ptr_t opaque, unsigned ms)
{
    return 1;
}

/* ---- Above: the pipe -------------------------------------------------------------------- */

static bool try_again(int rc)
{
    return rc == GNUTLS_E_AGAIN || rc == GNUTLS_E_INTERRUPTED;
}

static int tls_agree(void *opaque, const char **why)
{
    WireTls *t = opaque;
    int rc = GNUTLS_E_AGAIN;

    /* Warnings are passed over, but not as many as a peer likes to send. */
    for (unsigned i = 0; i < WARNINGS; i++) {
        rc = gnutls_handshake(t->session);
        if (rc >= 0 || try_again(rc) || gnutls_error_is_fatal(rc)) {
            break;
        }
    }
    if (t->dead) {
        *why = t->alone ? NULL : "TLS: the connection ended";
        return -1;
    }
    if (rc < 0 && !try_again(rc)) {
        *why = gnutls_strerror(rc);
        return -1;
    }
    t->agreed = rc >= 0;
    return t->agreed;
}

static ssize_t tls_send(void *opaque, const uint8_t *data, size_t len)
{
    WireTls *t = opaque;
    size_t done = 0;

    if (!tls_flush(t)) {
        return -1;
    }
    while (done < len && t->out->len < OUT_MAX) {
        ssize_t n = gnutls_record_send(t->session, data + done,
                                       MIN(len - done, RECORD));

        if (n < 0 || t->dead) {
            t->dead = true;
            return -1;
        }
        done += n;
    }
    return done;
}

static ssize_t tls_recv(void *opaque, uint8_t *buf, size_t len)
{
    WireTls *t = opaque;
    ssize_t n = gnutls_record_recv(t->session, buf, len);

    if (n < 0) {
        /* An alert, a renegotiation, an end that was not announced: all the same
         * to us. */
        errno = try_again(n) ? EAGAIN : EPROTO;
        return -1;
    }
    return n;
}

static bool tls_pending(const void *opaque)
{
    return gnutls_record_check_pending(((const WireTls *)opaque)->session);
}

static bool tls_unsent(const void *opaque)
{
    return ((const WireTls *)opaque)->out->len;
}

static void tls_free(void *opaque)
{
    WireTls *t = opaque;

    if (t->agreed && !t->dead) {
        gnutls_bye(t->session, GNUTLS_SHUT_WR);
    }
    gnutls_deinit(t->session);
    g_byte_array_unref(t->out);
    g_free(t->host);
    g_free(t);
}

static const WireFdLayer tls_layer = {
    .agree = tls_agree, .send = tls_send, .recv = tls_recv,
    .pending = tls_pending, .unsent = tls_unsent, .flush = tls_flush,
    .free = tls_free,
};

WireFd *wire_fd_new_tls(int fd, const WireTlsCreds *c, bool server,
                        const char *host, const WirePipeOps *ops,
                        void *opaque)
{
    WireFd *w;
    WireTls *t;

    if (!wire_tls_creds_serve(c, server)) {
        return NULL;
    }
    t = g_new0(WireTls, 1);
    t->fd = fd;
    t->out = g_byte_array_new();
    t->host = g_strdup(server ? NULL : host);
    gnutls_init(&t->session, (server ? GNUTLS_SERVER : GNUTLS_CLIENT) |
                             GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
    gnutls_priority_set_direct(t->session, c->psk
                               ? "NORMAL:+ECDHE-PSK:+DHE-PSK:+PSK" : "NORMAL",
                               NULL);
    if (!c->psk) {
        gnutls_credentials_set(t->session, GNUTLS_CRD_CERTIFICATE,
                               c->x509[server]);
        gnutls_session_set_verify_cert(t->session, t->host, 0);
    } else {
        gnutls_credentials_set(t->session, GNUTLS_CRD_PSK,
                               server ? (void *)c->psk_server
                                      : (void *)c->psk_client);
    }
    if (server && !c->psk) {
        gnutls_certificate_server_set_request(t->session, GNUTLS_CERT_REQUIRE);
    }
    gnutls_transport_set_ptr(t->session, t);
    gnutls_transport_set_push_function(t->session, tls_push);
    gnutls_transport_set_pull_function(t->session, tls_pull);
    gnutls_transport_set_pull_timeout_function(t->session, tls_pull_timeout);
    gnutls_handshake_set_timeout(t->session, GNUTLS_INDEFINITE_TIMEOUT);
    w = wire_fd_new_layer(fd, &tls_layer, t, ops, opaque);
    return w;
}
