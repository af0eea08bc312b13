/*
 * Files of TLS credentials, as QEMU's tls-creds-x509 and tls-creds-psk have them, for
 * tests: keys that nobody keeps.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TLS_FILES_H
#define TLS_FILES_H

#include <glib.h>
#include <glib/gstdio.h>
#include <gnutls/x509.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

typedef struct TlsName {
    gnutls_x509_crt_t cert;
    gnutls_x509_privkey_t key;
} TlsName;

static inline void tls_write(const char *dir, const char *name,
                             const char *what, gnutls_datum_t *pem)
{
    g_autofree char *file = g_strdup_printf("%s/%s-%s.pem", dir, name, what);

    g_assert_true(g_file_set_contents(file, (char *)pem->data, pem->size,
                                      NULL));
    gnutls_free(pem->data);
}

/* A certificate of @name, signed by @by, or by itself; FILE-cert.pem and FILE-key.pem
 * are written. */
static inline TlsName tls_name(const char *dir, const char *file,
                               const char *name, const TlsName *by)
{
    static uint8_t serial;
    bool ca = !by;
    gnutls_datum_t pem;
    TlsName n;

    g_assert_cmpint(gnutls_x509_crt_init(&n.cert), ==, 0);
    g_assert_cmpint(gnutls_x509_privkey_init(&n.key), ==, 0);
    g_assert_cmpint(gnutls_x509_privkey_generate(
        n.key, GNUTLS_PK_ECDSA,
        GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0), ==, 0);
    serial++;
    gnutls_x509_crt_set_version(n.cert, 3);
    gnutls_x509_crt_set_serial(n.cert, &serial, 1);
    gnutls_x509_crt_set_dn_by_oid(n.cert, GNUTLS_OID_X520_COMMON_NAME, 0,
                                  name, strlen(name));
    gnutls_x509_crt_set_activation_time(n.cert, time(NULL) - 86400);
    gnutls_x509_crt_set_expiration_time(n.cert, time(NULL) + 86400);
    gnutls_x509_crt_set_basic_constraints(n.cert, ca, -1);
    gnutls_x509_crt_set_key_usage(n.cert, ca ? GNUTLS_KEY_KEY_CERT_SIGN
                                             : GNUTLS_KEY_DIGITAL_SIGNATURE);
    if (!ca) {
        gnutls_x509_crt_set_subject_alt_name(n.cert, GNUTLS_SAN_DNSNAME, name,
                                             strlen(name), GNUTLS_FSAN_SET);
    }
    gnutls_x509_crt_set_key(n.cert, n.key);
    g_assert_cmpint(gnutls_x509_crt_sign2(n.cert, by ? by->cert : n.cert,
                                          by ? by->key : n.key,
                                          GNUTLS_DIG_SHA256, 0), ==, 0);
    gnutls_x509_crt_export2(n.cert, GNUTLS_X509_FMT_PEM, &pem);
    tls_write(dir, file, "cert", &pem);
    gnutls_x509_privkey_export2(n.key, GNUTLS_X509_FMT_PEM, &pem);
    tls_write(dir, file, "key", &pem);
    return n;
}

static inline void tls_name_free(TlsName *n)
{
    gnutls_x509_crt_deinit(n->cert);
    gnutls_x509_privkey_deinit(n->key);
}

/* A folder with all that x509 wants; the server is called @host. */
static inline void tls_x509_files(const char *dir, const char *host)
{
    TlsName ca, server, client;

    g_assert_cmpint(g_mkdir_with_parents(dir, 0700), ==, 0);
    ca = tls_name(dir, "ca", "the test's CA", NULL);
    server = tls_name(dir, "server", host, &ca);
    client = tls_name(dir, "client", "a client", &ca);
    tls_name_free(&client);
    tls_name_free(&server);
    tls_name_free(&ca);
}

static inline void tls_psk_files(const char *dir, const char *lines)
{
    g_autofree char *file = g_build_filename(dir, "keys.psk", NULL);

    g_assert_cmpint(g_mkdir_with_parents(dir, 0700), ==, 0);
    g_assert_true(g_file_set_contents(file, lines, -1, NULL));
}

/* Files of both kinds, and the folder. */
static inline void tls_files_remove(const char *dir)
{
    static const char *const names[] = {
        "ca-cert.pem", "ca-key.pem", "server-cert.pem", "server-key.pem",
        "client-cert.pem", "client-key.pem", "keys.psk",
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *file = g_build_filename(dir, names[i], NULL);

        g_unlink(file);
    }
    g_rmdir(dir);
}

#endif
