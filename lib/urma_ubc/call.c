/*
 * Provider of liburma: calls of the kernel.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc.h"

static int call(int fd, unsigned long request, const struct urma_spec *spec,
                uint32_t command, void *args)
{
    struct urma_attr attr[URMA_ATTRS_MAX];
    struct urma_hdr hdr = {
        .command = command,
        .args_len = spec->fields * sizeof(attr[0]),
        .args_addr = (uintptr_t)attr,
    };

    for (unsigned i = 0; i < spec->fields; i++) {
        const struct urma_field *f = &spec->field[i];

        attr[i] = (struct urma_attr) {
            .type = f->type,
            .size = f->size,
            .elements = f->count ? f->count | f->stride << 12 : 1,
            .data = (uintptr_t)args + f->at,
        };
    }
    return ubc_os_ioctl(fd, request, &hdr);
}

int ubc_call(const urma_context *ctx, enum urma_command command, void *args)
{
    return call(ctx->dev_fd, URMA_IOC_DEVICE, &urma_specs[command], command,
                args);
}

int ubc_event_call(int fd, enum urma_event_command command, void *args)
{
    return call(fd, URMA_IOC_EVENT, &urma_event_specs[command], command,
                args);
}

int ubc_status(int result)
{
    if (!result) {
        return 0;
    }
    switch (errno) {
    case EAGAIN:
    case ENOMEM:
    case EPERM:
    case ETIMEDOUT:
    case EINVAL:
    case EEXIST:
    case EINPROGRESS:
        return errno;
    default:
        return URMA_FAIL;
    }
}

void ubc_udata(struct urma_udata *u, void *out, size_t bytes)
{
    *u = (struct urma_udata) {
        .out_addr = (uintptr_t)out,
        .out_len = bytes,
    };
}

int ubc_user_ctl(urma_context *ctx, urma_user_ctl_in *in,
                 urma_user_ctl_out *out)
{
    struct urma_user_ctl_cmd a = {
        .in_addr = in->addr, .in_len = in->len, .opcode = in->opcode,
        .out_addr = out ? out->addr : 0, .out_len = out ? out->len : 0,
    };

    return ubc_status(ubc_call(ctx, URMA_USER_CTL, &a));
}
