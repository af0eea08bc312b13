/*
 * TLS between a descriptor and the pipe on it (wire/fd.h), for programs that are no
 * emulator.  Both ends prove who they are: by certificates, or by a key that both
 * have.
 *
 * The files are those of QEMU's tls-creds-x509 and tls-creds-psk objects, so that
 * one folder serves both:
 *
 *   x509:DIR  ca-cert.pem and, if there are revocations, ca-crl.pem; server-cert.pem
 *             and server-key.pem, client-cert.pem and client-key.pem, whichever of
 *             the two it is going to be
 *   psk:DIR   keys.psk, lines of USER:HEXADECIMAL-KEY.  A server takes all of them,
 *             a client has the first
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef WIRE_TLS_H
#define WIRE_TLS_H

#include "wire/fd.h"

typedef struct WireTlsCreds WireTlsCreds;

/* Read them; NULL and a sentence in *@why (g_free) if they are not there, not
 * readable or do not fit together. */
WireTlsCreds *wire_tls_creds_new(const char *spec, char **why);
/* Connections that use them must be gone.  NULL is ignored. */
void wire_tls_creds_free(WireTlsCreds *creds);
/* Whether there is what this end needs as a server or as a client. */
bool wire_tls_creds_serve(const WireTlsCreds *creds, bool server);

/*
 * As wire_fd_new(), with TLS; the op state tells of the connection once the other
 * end has proved who it is.  @host: the name that a server's certificate must have;
 * NULL: any that the CA has signed.  The program bounds how long it waits for
 * that.  NULL: the credentials lack what this end needs; @fd stays the caller's.
 */
WireFd *wire_fd_new_tls(int fd, const WireTlsCreds *creds, bool server,
                        const char *host, const WirePipeOps *ops,
                        void *opaque);

#endif
