/*
 * Provider of liburma for the transaction engine of ubc: what the library loads
 * as liburma_ubc.so.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc.h"

/* ---- Objects in steps, which there are not ---------------------------------------- */

static int step_none(void)
{
    errno = ENOSYS;
    return ENOSYS;
}

static int step_alloc(urma_context *ctx, void *cfg, void **object)
{
    if (object) {
        *object = NULL;
    }
    return step_none();
}

static int step_option(void *object, uint64_t option, void *buf, uint32_t len)
{
    return step_none();
}

static int step(void *object)
{
    return step_none();
}

#define STEPS { step_alloc, step_option, step, step_option, step, step }

/* ---- The table --------------------------------------------------------------------- */

static const urma_ops operations = {
    .name = "ubc",
    .jfc_steps = STEPS,
    .jfs_steps = STEPS,
    .jfr_steps = STEPS,
    .jetty_steps = STEPS,
    .create_jfc = ubc_create_jfc,
    .modify_jfc = ubc_modify_jfc,
    .delete_jfc = ubc_delete_jfc,
    .delete_jfc_batch = ubc_delete_jfc_batch,
    .create_jfs = ubc_create_jfs,
    .modify_jfs = ubc_modify_jfs,
    .query_jfs = ubc_query_jfs,
    .flush_jfs = ubc_flush_jfs,
    .delete_jfs = ubc_delete_jfs,
    .delete_jfs_batch = ubc_delete_jfs_batch,
    .create_jfr = ubc_create_jfr,
    .modify_jfr = ubc_modify_jfr,
    .query_jfr = ubc_query_jfr,
    .delete_jfr = ubc_delete_jfr,
    .delete_jfr_batch = ubc_delete_jfr_batch,
    .import_jfr = ubc_import_jfr,
    .unimport_jfr = ubc_unimport,
    .create_jetty = ubc_create_jetty,
    .modify_jetty = ubc_modify_jetty,
    .query_jetty = ubc_query_jetty,
    .flush_jetty = ubc_flush_jetty,
    .delete_jetty = ubc_delete_jetty,
    .delete_jetty_batch = ubc_delete_jetty_batch,
    .import_jetty = ubc_import_jetty,
    .unimport_jetty = ubc_unimport,
    .bind_jetty = ubc_bind_jetty,
    .unbind_jetty = ubc_unbind_jetty,
    .create_jetty_grp = ubc_create_jetty_grp,
    .delete_jetty_grp = ubc_delete_jetty_grp,
    .create_jfce = ubc_create_jfce,
    .delete_jfce = ubc_delete_jfce,
    .alloc_token_id = ubc_alloc_token_id,
    .free_token_id = ubc_free_token_id,
    .register_seg = ubc_register_seg,
    .unregister_seg = ubc_unregister_seg,
    .import_seg = ubc_import_seg,
    .unimport_seg = ubc_unimport_seg,
    .get_async_event = ubc_get_async_event,
    .ack_async_event = ubc_ack_async_event,
    .user_ctl = ubc_user_ctl,
    .post_jfs_wr = ubc_post_jfs_wr,
    .post_jfr_wr = ubc_post_jfr_wr,
    .post_jetty_send_wr = ubc_post_jetty_send_wr,
    .post_jetty_recv_wr = ubc_post_jetty_recv_wr,
    .poll_jfc = ubc_poll_jfc,
    .rearm_jfc = ubc_rearm_jfc,
    .wait_jfc = ubc_wait_jfc,
    .ack_jfc = ubc_ack_jfc,
};

static urma_context *create_context(urma_device *dev, uint32_t eid_index,
                                    int dev_fd)
{
    urma_context *ctx = ubc_create_context(dev, eid_index, dev_fd);

    if (ctx) {
        ctx->ops = &operations;
    }
    return ctx;
}

static int init(void *conf)
{
    return 0;
}

static int uninit(void)
{
    return 0;
}

/* Pairs of vendor and device; the driver's name counts, too. */
static const uint16_t match_table[][2] = { { 0x1234, 0x0b01 }, { 0, 0 } };

static urma_provider_ops provider = {
    .name = "ubc",
    .attr = { .version = 1, .transport_type = 0 },
    .match_table = match_table,
    .init = init,
    .uninit = uninit,
    .create_context = create_context,
    .delete_context = ubc_delete_context,
};

static __attribute__((constructor)) void provider_begin(void)
{
    urma_register_provider_ops(&provider);
}

static __attribute__((destructor)) void provider_end(void)
{
    urma_unregister_provider_ops(&provider);
}
