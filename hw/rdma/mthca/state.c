/*
 * ncic-mthca: migration of the personality's state.
 *
 * One walk describes the layout for both directions: saving appends each
 * item, loading takes it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define STATE_MAGIC 0x6d746863
#define STATE_VERSION 1

typedef struct StateIo {
    GByteArray *out;        /* saving */
    const uint8_t *p;       /* loading */
    size_t left;
    bool bad;
} StateIo;

static void io_bytes(StateIo *io, void *v, size_t n)
{
    if (io->out) {
        g_byte_array_append(io->out, v, n);
    } else if (io->bad || n > io->left) {
        io->bad = true;
        memset(v, 0, n);
    } else {
        memcpy(v, io->p, n);
        io->p += n;
        io->left -= n;
    }
}

static void io_u64(StateIo *io, uint64_t *v)
{
    uint8_t b[8];

    put_be64(b, *v);
    io_bytes(io, b, 8);
    *v = get_be64(b);
}

#define IO_INT(io, field)               \
    do {                                \
        uint64_t v_ = (field);          \
        io_u64(io, &v_);                \
        (field) = v_;                   \
    } while (0)

static void io_eq(StateIo *io, MthcaEq *eq)
{
    IO_INT(io, eq->valid);
    IO_INT(io, eq->translate);
    IO_INT(io, eq->overflow);
    IO_INT(io, eq->state);
    IO_INT(io, eq->log_size);
    IO_INT(io, eq->intr);
    IO_INT(io, eq->start);
    IO_INT(io, eq->pd);
    IO_INT(io, eq->lkey);
    IO_INT(io, eq->pi);
    IO_INT(io, eq->ci);
    if (eq->log_size > MTHCA_LOG_MAX_EQES) {
        io->bad = true;
        eq->log_size = 0;
    }
}

static void io_port(StateIo *io, MthcaPort *p)
{
    io_bytes(io, p->info, sizeof(p->info));
    io_bytes(io, p->guid, sizeof(p->guid));
    for (unsigned i = 0; i < MTHCA_MAX_PKEYS; i++) {
        IO_INT(io, p->pkey[i]);
    }
    io_bytes(io, p->sl2vl, sizeof(p->sl2vl));
    io_bytes(io, p->vlarb, sizeof(p->vlarb));
    io_bytes(io, p->node_desc, sizeof(p->node_desc));
    IO_INT(io, p->up);
    IO_INT(io, p->link);
#define IO_COUNTER(name) IO_INT(io, p->base.name);
    RDMA_COUNTERS(IO_COUNTER)
#undef IO_COUNTER
}

/* A sparse table of 2^@log entries: count, then {index, bytes}. */
static void io_sparse(StateIo *io, uint8_t **table, uint8_t log, size_t size)
{
    uint64_t n = 0;

    if (io->out) {
        for (uint64_t i = 0; i < 1u << log; i++) {
            n += table[i] != NULL;
        }
    }
    IO_INT(io, n);
    for (uint64_t i = 0, k = 0; k < n && !io->bad; k++, i++) {
        if (io->out) {
            while (!table[i]) {
                i++;
            }
        }
        IO_INT(io, i);
        if (!io->out) {
            if (i >> log || table[i]) {
                io->bad = true;
                return;
            }
            table[i] = g_malloc(size);
        }
        io_bytes(io, table[i], size);
    }
}

static void io_icm(StateIo *io, Icm *icm)
{
    uint64_t n = icm->num;
    IcmExtent e = { 0 };

    IO_INT(io, n);
    for (uint64_t i = 0; i < n && !io->bad; i++) {
        if (io->out) {
            e = icm->ext[i];
        }
        IO_INT(io, e.virt);
        IO_INT(io, e.pages);
        IO_INT(io, e.phys);
        if (!io->out && !io->bad &&
            (e.pages > 1ull << 40 || e.virt >> 40 ||
             !icm_map(icm, e.virt << ICM_PAGE_SHIFT, e.phys, e.pages))) {
            io->bad = true;
        }
    }
}

static void io_all(StateIo *io, Mthca *m)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(m->hcr); i++) {
        IO_INT(io, m->hcr[i]);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(m->catas); i++) {
        IO_INT(io, m->catas[i]);
    }
    IO_INT(io, m->state);
    IO_INT(io, m->intx);
    IO_INT(io, m->log_qps);
    IO_INT(io, m->log_srqs);
    IO_INT(io, m->log_cqs);
    IO_INT(io, m->log_eqs);
    IO_INT(io, m->log_mpts);
    IO_INT(io, m->log_uarc);
    IO_INT(io, m->log_uars);
    IO_INT(io, m->log_mgm_size);
    IO_INT(io, m->log_mgms);
    IO_INT(io, m->mgm_hash);
    IO_INT(io, m->mtt_base);
    IO_INT(io, m->uarc_base);
    IO_INT(io, m->mgm_base);
    IO_INT(io, m->sinai);
    for (unsigned i = 0; i < 2; i++) {
        IO_INT(io, m->special_qpn[i]);
        IO_INT(io, m->special_set[i]);
    }
    IO_INT(io, m->uar_latch);
    IO_INT(io, m->uar_latch_addr);
    IO_INT(io, m->uar_latched);
    io_bytes(io, m->event_eq, sizeof(m->event_eq));
    for (unsigned i = 0; i < G_N_ELEMENTS(m->eq); i++) {
        io_eq(io, &m->eq[i]);
    }
    io_port(io, &m->port);
#define IO_COUNTER(name) IO_INT(io, m->counters.name);
    MTHCA_COUNTERS(IO_COUNTER)
#undef IO_COUNTER
    io_icm(io, &m->icm);
    if (!io->out && (io->bad || m->state > MTHCA_HCA_UP ||
                     m->log_qps > MTHCA_LOG_MAX_QP ||
                     m->log_srqs > MTHCA_LOG_MAX_SRQ ||
                     m->log_cqs > MTHCA_LOG_MAX_CQ ||
                     m->log_eqs > MTHCA_LOG_MAX_EQ ||
                     m->log_mpts > MTHCA_LOG_MAX_MPT ||
                     m->log_mgms > MTHCA_LOG_MAX_MCG ||
                     m->log_mgm_size > 12 || m->log_uarc > 20 ||
                     m->log_uars > MTHCA_UAR_LOG_MIB + 8)) {
        io->bad = true;
        return;
    }
    if (m->state == MTHCA_HCA_UP) {
        if (!io->out) {
            m->mpt = g_malloc0_n(1u << m->log_mpts, sizeof(*m->mpt));
            m->mgm = g_malloc0_n(1u << m->log_mgms, sizeof(*m->mgm));
        }
        io_sparse(io, (uint8_t **)m->mpt, m->log_mpts, MTHCA_MPT_BYTES);
        io_sparse(io, m->mgm, m->log_mgms, 1u << m->log_mgm_size);
    }
}

uint8_t *mthca_save(Mthca *m, int64_t now, size_t *len)
{
    StateIo io = { .out = g_byte_array_new() };
    uint64_t magic = STATE_MAGIC, version = STATE_VERSION;
    size_t n;
    uint8_t *engine;

    IO_INT(&io, magic);
    IO_INT(&io, version);
    io_all(&io, m);
    engine = rdma_save(m->rdma, now, &n);
    g_byte_array_append(io.out, engine, n);
    g_free(engine);
    *len = io.out->len;
    return g_byte_array_free(io.out, false);
}

bool mthca_load(Mthca *m, int64_t now, const uint8_t *data, size_t len)
{
    StateIo io = { .p = data, .left = len };
    uint64_t magic = 0, version = 0;

    mthca_reset(m);
    IO_INT(&io, magic);
    IO_INT(&io, version);
    if (io.bad || magic != STATE_MAGIC || version != STATE_VERSION) {
        return false;
    }
    io_all(&io, m);
    if (io.bad || !rdma_load(m->rdma, now, io.p, io.left)) {
        if (m->log_mpts > MTHCA_LOG_MAX_MPT ||
            m->log_mgms > MTHCA_LOG_MAX_MCG) {
            m->log_mpts = m->log_mgms = 0;
        }
        mthca_reset(m);
        return false;
    }
    m->cfg.ops->intx(m->cfg.rdma.ops_opaque, m->intx);
    return true;
}
