/*
 * One end of a URMA connection, for programs in guests.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "urma-end.h"

#define CLASS "/sys/class/ubcore"
#define PATIENCE 120

void end_die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fflush(stdout);
    fprintf(stderr, "FAILED: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, " (errno %d, %s)\n", errno, strerror(errno));
    va_end(args);
    exit(1);
}

/* ---- What liburma offers a provider --------------------------------------------- */

static const urma_provider_ops *registered;

int urma_register_provider_ops(urma_provider_ops *ops)
{
    registered = ops;
    return 0;
}

int urma_unregister_provider_ops(urma_provider_ops *ops)
{
    registered = NULL;
    return 0;
}

/* ---- Finding the device ----------------------------------------------------------- */

static void attr_read(const char *dev, const char *name, char *out, size_t n)
{
    char path[300];
    FILE *file;

    snprintf(path, sizeof(path), CLASS "/%.100s/%.100s", dev, name);
    file = fopen(path, "r");
    END_MUST(file && fgets(out, n, file));
    fclose(file);
    out[strcspn(out, "\n")] = 0;
}

/* Eight groups of four digits. */
static void eid_parse(const char *text, urma_eid *eid)
{
    unsigned g[8];

    END_MUST(sscanf(text, "%x:%x:%x:%x:%x:%x:%x:%x", &g[0], &g[1], &g[2],
                    &g[3], &g[4], &g[5], &g[6], &g[7]) == 8);
    for (unsigned i = 0; i < 8; i++) {
        eid->raw[2 * i] = g[i] >> 8;
        eid->raw[2 * i + 1] = g[i];
    }
}

static void device_find(End *end)
{
    DIR *dir = opendir(CLASS);
    const struct dirent *entry;
    char text[64];

    END_MUST(dir);
    while ((entry = readdir(dir)) && entry->d_name[0] == '.') {
    }
    END_MUST(entry);
    attr_read(entry->d_name, "driver_name", text, sizeof(text));
    END_MUST(!strcmp(text, end->provider->name));
    attr_read(entry->d_name, "transport_type", text, sizeof(text));
    END_MUST(!strcmp(text, "0"));
    attr_read(entry->d_name, "ubdev", end->dev.name, sizeof(end->dev.name));
    closedir(dir);
}

void end_open(End *end)
{
    char node[200], text[64];
    int fd;

    memset(end, 0, sizeof(*end));
    END_MUST(registered);
    end->provider = registered;
    END_MUST(!end->provider->init(NULL));
    device_find(end);
    snprintf(node, sizeof(node), "/dev/uburma/%.64s", end->dev.name);
    fd = open(node, O_RDWR | O_CLOEXEC);
    END_MUST(fd >= 0);
    end->ctx = end->provider->create_context(&end->dev, 0, fd);
    END_MUST(end->ctx);
    end->ops = end->ctx->ops;
    /* As the library does behind it. */
    end->ctx->dev_fd = fd;
    attr_read(end->dev.name, "eids/eid0", text, sizeof(text));
    eid_parse(text, &end->ctx->eid);
}

/* ---- Making everything -------------------------------------------------------------- */

static uint32_t either(uint32_t given, uint32_t otherwise)
{
    return given ? given : otherwise;
}

static void queues_make(End *end)
{
    const EndConfig *c = &end->cfg;
    urma_jfc_cfg jfc = { .depth = either(c->jfc_depth, 4 * END_DEPTH) };
    urma_jfr_cfg jfr = {
        .depth = either(c->recv_depth, END_DEPTH),
        .trans_mode = c->trans_mode, .max_sge = END_SGE,
        .min_rnr_timer = either(c->rnr_timer, END_RNR_TIMER),
        .flag = c->plain, .token = { END_TOKEN },
    };
    urma_jetty_cfg jetty = {
        .flag = URMA_JETTY_SHARE_JFR,
        .jfs_cfg = { .depth = either(c->send_depth, END_DEPTH),
                     .trans_mode = c->trans_mode,
                     .max_sge = END_SGE, .max_rsge = 1,
                     .max_inline_data = END_INLINE,
                     .rnr_retry = c->impatient ? 2 : 7,
                     .err_timeout = either(c->err_timeout, END_ERR_TIMEOUT),
                     .flag = c->suspend ? URMA_JFS_SUSPEND : 0 },
    };

    if (c->events) {
        end->jfce = end->ops->create_jfce(end->ctx);
        END_MUST(end->jfce);
        jfc.jfce = end->jfce;
    }
    end->jfc = end->ops->create_jfc(end->ctx, &jfc);
    END_MUST(end->jfc);
    jfr.jfc = jetty.jfs_cfg.jfc = end->jfc;
    end->jfr = end->ops->create_jfr(end->ctx, &jfr);
    END_MUST(end->jfr);
    if (c->simplex) {
        end->jfs = end->ops->create_jfs(end->ctx, &jetty.jfs_cfg);
        END_MUST(end->jfs);
    } else {
        jetty.jfr = end->jfr;
        end->jetty = end->ops->create_jetty(end->ctx, &jetty);
        END_MUST(end->jetty);
    }
}

void end_make(End *end, const EndConfig *cfg)
{
    urma_seg_cfg seg = { .token = { END_TOKEN } };

    end->cfg = *cfg;
    end->cfg.bytes = cfg->bytes ? cfg->bytes : END_BUF;
    seg.len = end->cfg.bytes;
    queues_make(end);
    end->buf = mmap(NULL, seg.len, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    END_MUST(end->buf != MAP_FAILED);
    end->token = end->ops->alloc_token_id(end->ctx);
    END_MUST(end->token);
    seg.va = (uintptr_t)end->buf;
    seg.token_id = end->token;
    seg.flag = cfg->plain | cfg->access << URMA_SEG_ACCESS_SHIFT |
               URMA_SEG_TOKEN_ID;
    end->seg = end->ops->register_seg(end->ctx, &seg);
    END_MUST(end->seg);
}

void end_close(End *end)
{
    const urma_ops *ops = end->ops;
    int fd = end->ctx->dev_fd;

    if (end->peer && end->jetty && end->jetty->remote_jetty) {
        END_MUST(!ops->unbind_jetty(end->jetty));
    }
    END_MUST(!end->peer || !ops->unimport_jetty(end->peer));
    END_MUST(!end->peer_seg || !ops->unimport_seg(end->peer_seg));
    END_MUST(!end->seg || !ops->unregister_seg(end->seg));
    END_MUST(!end->token || !ops->free_token_id(end->token));
    END_MUST(!end->jetty || !ops->delete_jetty(end->jetty));
    END_MUST(!end->jfs || !ops->delete_jfs(end->jfs));
    END_MUST(!end->jfr || !ops->delete_jfr(end->jfr));
    END_MUST(!end->jfc || !ops->delete_jfc(end->jfc));
    END_MUST(!end->jfce || !ops->delete_jfce(end->jfce));
    END_MUST(!end->provider->delete_context(end->ctx));
    close(fd);
    if (end->buf) {
        munmap(end->buf, end->cfg.bytes);
    }
}

void end_address(const End *end, EndAddress *out)
{
    memset(out, 0, sizeof(*out));
    out->jetty = (urma_rjetty) {
        .jetty_id = end->jetty ? end->jetty->jetty_id : end->jfr->jfr_id,
        .trans_mode = end->cfg.trans_mode,
        .type = end->jetty ? URMA_TARGET_JETTY : URMA_TARGET_JFR,
        .flag = end->cfg.plain,
        .tp_type = end->cfg.tp_type,
    };
    out->seg = end->seg->seg;
}

void end_import(End *end, const EndAddress *peer, uint32_t token)
{
    EndAddress a = *peer;
    urma_token value = { token };

    end->peer_seg = end->ops->import_seg(end->ctx, &a.seg, &value, 0, 0);
    END_MUST(end->peer_seg);
    end->peer = end->ops->import_jetty(end->ctx, &a.jetty, &value);
    END_MUST(end->peer);
    if (end->cfg.trans_mode == URMA_RC) {
        END_MUST(!end->ops->bind_jetty(end->jetty, end->peer));
    }
}

/* ---- Posting ------------------------------------------------------------------------- */

int end_post(End *end, urma_jfs_wr *wr)
{
    urma_jfs_wr *bad = NULL;

    wr->tjetty = end->cfg.trans_mode == URMA_RC ? NULL : end->peer;
    return end->jetty ? end->ops->post_jetty_send_wr(end->jetty, wr, &bad)
                      : end->ops->post_jfs_wr(end->jfs, wr, &bad);
}

static urma_sge local_sge(End *end, uint64_t off, uint32_t len)
{
    return (urma_sge) { .addr = (uintptr_t)end->buf + off, .len = len,
                        .tseg = end->seg };
}

int end_post_recv(End *end, uint32_t off, uint32_t len, uint64_t user_ctx)
{
    return end_post_recv_list(end, off, len, 1, user_ctx);
}

static urma_sge remote_sge(End *end, uint64_t off, uint32_t len)
{
    return (urma_sge) { .addr = end->peer_seg->seg.ubva.va + off, .len = len,
                        .tseg = end->peer_seg };
}

int end_post_recv_list(End *end, uint32_t off, uint32_t len,
                       uint32_t elements, uint64_t user_ctx)
{
    uint32_t n = elements ? elements : 1, part = len / n;
    urma_sge sge[END_SGE];
    urma_jfr_wr wr = { .src = { sge, n }, .user_ctx = user_ctx }, *bad;

    END_MUST(n <= END_SGE);
    for (uint32_t i = 0; i < n; i++) {
        sge[i] = local_sge(end, off + i * part,
                           i + 1 < n ? part : len - i * part);
    }
    return end->jetty ? end->ops->post_jetty_recv_wr(end->jetty, &wr, &bad)
                      : end->ops->post_jfr_wr(end->jfr, &wr, &bad);
}

int end_post_recvs(End *end, uint32_t off, uint32_t len, unsigned n)
{
    urma_sge sge = local_sge(end, off, len);
    urma_jfr_wr wr[END_RECVS_MAX], *bad;

    END_MUST(n && n <= END_RECVS_MAX);
    for (unsigned i = 0; i < n; i++) {
        wr[i] = (urma_jfr_wr) { .src = { &sge, 1 },
                                .next = i + 1 < n ? &wr[i + 1] : NULL };
    }
    return end->jetty ? end->ops->post_jetty_recv_wr(end->jetty, wr, &bad)
                      : end->ops->post_jfr_wr(end->jfr, wr, &bad);
}

void end_write(End *end, uint32_t opcode, uint32_t flag, uint64_t local,
               uint64_t remote, uint32_t len)
{
    urma_sge src = local_sge(end, local, len);
    urma_sge dst[2] = { remote_sge(end, remote, len),
                        remote_sge(end, 0, 8) };
    urma_jfs_wr wr = {
        .opcode = opcode, .flag = URMA_WR_COMPLETE | flag,
        .user_ctx = 0x5e4d0000 + len,
        .rw = { .src = { &src, 1 }, .dst = { dst, 2 },
                .notify_data = 0x1122334455667788 },
    };

    END_MUST(!end_post(end, &wr));
}

void end_read(End *end, uint64_t local, uint64_t remote, uint32_t len)
{
    urma_sge dst = local_sge(end, local, len);
    urma_sge src = remote_sge(end, remote, len);
    urma_jfs_wr wr = {
        .opcode = URMA_WR_READ, .flag = URMA_WR_COMPLETE,
        .rw = { .src = { &src, 1 }, .dst = { &dst, 1 } },
    };

    END_MUST(!end_post(end, &wr));
}

void end_send(End *end, uint32_t opcode, uint32_t flag, uint64_t local,
              uint32_t len, uint64_t imm)
{
    urma_sge src = local_sge(end, local, len);
    urma_jfs_wr wr = {
        .opcode = opcode, .flag = URMA_WR_COMPLETE | flag,
        .user_ctx = 0x5e4d0000 + len,
        .send = { .src = { &src, 1 }, .imm_data = imm },
    };

    END_MUST(!end_post(end, &wr));
}

void end_atomic(End *end, uint32_t opcode, uint64_t local, uint64_t remote,
                uint64_t first, uint64_t second)
{
    urma_sge dst = remote_sge(end, remote, 8), src = local_sge(end, local, 8);
    urma_jfs_wr wr = {
        .opcode = opcode, .flag = URMA_WR_COMPLETE,
        .atomic = { .dst = &dst, .src = &src, .operand = { first, second } },
    };

    END_MUST(!end_post(end, &wr));
}

/* ---- Completions ----------------------------------------------------------------------- */

void end_poll(End *end, urma_cr *cr)
{
    time_t until = time(NULL) + PATIENCE;
    int n;

    while (!(n = end->ops->poll_jfc(end->jfc, 1, cr))) {
        if (time(NULL) > until) {
            end_die("no completion");
        }
    }
    END_MUST(n == 1);
}

void end_expect(End *end, urma_cr *cr, uint32_t status)
{
    end_poll(end, cr);
    if (cr->status != status) {
        end_die("status %u and not %u", cr->status, status);
    }
}

void end_quiet(End *end)
{
    urma_cr cr;

    END_MUST(!end->ops->poll_jfc(end->jfc, 1, &cr));
}

/* ---- Beside -------------------------------------------------------------------------------- */

void end_serve(uint16_t port, void (*client)(int fd))
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1, peer;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    END_MUST(!bind(fd, (struct sockaddr *)&at, sizeof(at)) && !listen(fd, 8));
    while ((peer = accept(fd, NULL, NULL)) >= 0) {
        client(peer);
    }
    end_die("nobody calls any more");
}

int end_dial(const char *host, uint16_t port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    END_MUST(inet_pton(AF_INET, host, &at.sin_addr) == 1);
    for (unsigned i = 0; connect(fd, (struct sockaddr *)&at, sizeof(at)); i++) {
        END_MUST(i < 10 * PATIENCE);
        usleep(100000);
    }
    return fd;
}

void end_say(int fd, const void *p, size_t n)
{
    END_MUST(send(fd, p, n, MSG_NOSIGNAL) == (ssize_t)n);
}

bool end_hear(int fd, void *p, size_t n)
{
    return recv(fd, p, n, MSG_WAITALL) == (ssize_t)n;
}

/* ---- Data -------------------------------------------------------------------------------- */

static uint8_t byte_of(uint32_t i, uint32_t seed)
{
    return i * 7 + (i >> 8) * 13 + (i >> 16) + seed;
}

void end_fill(uint8_t *p, uint32_t len, uint32_t seed)
{
    for (uint32_t i = 0; i < len; i++) {
        p[i] = byte_of(i, seed);
    }
}

uint32_t end_check(const uint8_t *p, uint32_t len, uint32_t seed)
{
    uint32_t i = 0;

    while (i < len && p[i] == byte_of(i, seed)) {
        i++;
    }
    return i;
}
