/*
 * RC Link: TYPE3, Ethernet frames and the memory descriptors that they lie in
 * (RC Link §12.2, §12.14.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* ---- descriptor rings ---- */

/* What was gathered goes; @more: and what follows without SF. */
static void gather_drop(Rclink *d, bool more)
{
    d->gather_open = false;
    d->gather_lost = more;
    d->gathered = 0;
}

/* The descriptor at the tail is done. */
static void md_next(Rclink *d, RclMdRing *r)
{
    bool tx = r == &d->md_tx;

    r->tail = r->tail + 1 == r->size ? 0 : r->tail + 1;
    if (!r->tail) {
        r->cached = 0;
    }
    if (r->tail == r->tail_up) {
        rcl_st0(d, tx ? RCL_ST0_TX_TAIL : RCL_ST0_RX_TAIL);
    }
    if (tx && r->head == r->tail) {
        rcl_st0(d, RCL_ST0_TX_EMPTY);
    }
}

/* Read descriptors from the tail on: many, or where that fails the first. */
static bool md_fill(Rclink *d, RclMdRing *r)
{
    uint16_t n = (r->head > r->tail ? r->head : r->size) - r->tail;
    uint64_t at = r->base + r->tail * RCL_MD_BYTES;

    n = MIN(n, CACHE);
    if (!rcl_dma_read(d, at, r->cache, n * RCL_MD_BYTES)) {
        if (n == 1 || !rcl_dma_read(d, at, r->cache, RCL_MD_BYTES)) {
            return false;
        }
        n = 1;
    }
    r->cache_first = r->tail;
    r->cached = n;
    return true;
}

/* The next descriptor, or NULL.  One that cannot be read is told and passed over,
 * with the frame that it is of (RC Link §12.12.3: "report", no reset). */
static const uint8_t *md_peek(Rclink *d, RclMdRing *r)
{
    while (r->en && !r->reset && !r->stopped && r->head != r->tail) {
        uint16_t in = r->tail - r->cache_first;

        if (in < r->cached) {
            return r->cache + in * RCL_MD_BYTES;
        }
        if (md_fill(d, r)) {
            return r->cache;
        }
        rcl_st1(d, RCL_ST1_MD_READ);
        if (r == &d->md_tx) {
            gather_drop(d, true);
        }
        md_next(d, r);
    }
    return NULL;
}

/* That direction needs its reset. */
static void md_fault(Rclink *d, RclMdRing *r, unsigned bit)
{
    r->stopped = true;
    rcl_st1(d, bit);
}

static uint32_t md_size(const uint8_t *md)
{
    return get_le32(md) >> RCL_MD_SIZE_SHIFT & 0xffff;
}

void rcl_md_head(Rclink *d, RclMdRing *r, uint32_t head)
{
    if (head >= r->size) {
        rcl_guest_error(d, "12.14.3", "head beyond the ring", head);
        return;
    }
    r->head = head;
    rcl_kick(d);
}

uint32_t rcl_md_control_read(const Rclink *d)
{
    return (d->md_tx.en ? RCL_NONR_TX_EN : 0) |
           (d->md_rx.en ? RCL_NONR_RX_EN : 0) |
           (d->md_tx.reset ? RCL_NONR_TX_RESET : 0) |
           (d->md_rx.reset ? RCL_NONR_RX_RESET : 0);
}

static void md_enable(RclMdRing *r, bool en)
{
    if (en != r->en) {
        r->cached = 0;      /* meanwhile the ring is the driver's */
    }
    r->en = en;
}

void rcl_md_control(Rclink *d, uint32_t val)
{
    md_enable(&d->md_tx, val & RCL_NONR_TX_EN);
    md_enable(&d->md_rx, val & RCL_NONR_RX_EN);
    if (val & RCL_NONR_TX_RESET && !d->md_tx.reset) {
        rcl_type3_reset_tx(d);
    }
    if (val & RCL_NONR_RX_RESET && !d->md_rx.reset) {
        rcl_type3_reset_rx(d);
    }
    d->md_tx.reset = val & RCL_NONR_TX_RESET;
    d->md_rx.reset = val & RCL_NONR_RX_RESET;
    rcl_kick(d);
}

static void md_reset(RclMdRing *r)
{
    r->head = r->tail = r->cached = 0;
    r->stopped = false;
    r->reset = true;
}

/* The summary of ST1. */
static void abnormal_follows(Rclink *d)
{
    if (!d->reg.dma_st1) {
        d->reg.dma_st0 &= ~(UINT64_C(1) << RCL_ST0_ABNORMAL);
    }
}

void rcl_type3_reset_tx(Rclink *d)
{
    md_reset(&d->md_tx);
    gather_drop(d, false);
    d->reg.dma_st0 &= ~(UINT64_C(1) << RCL_ST0_TX_EMPTY |
                        UINT64_C(1) << RCL_ST0_TX_TAIL);
    d->reg.dma_st1 &= UINT64_C(1) << RCL_ST1_RX_OVERFLOW |
                      UINT64_C(1) << RCL_ST1_MD_WRITE |
                      UINT64_C(1) << RCL_ST1_RX_OVERSIZE |
                      UINT64_C(1) << RCL_ST1_RX_ZERO;
    abnormal_follows(d);
}

void rcl_type3_reset_rx(Rclink *d)
{
    md_reset(&d->md_rx);
    rcl_wait_drop(d, FLOW_TYPE3);
    d->spread = 0;
    d->reg.dma_st0 &= ~(UINT64_C(1) << RCL_ST0_RX_EMPTY |
                        UINT64_C(1) << RCL_ST0_RX_TAIL);
    d->reg.dma_st1 &= UINT64_C(1) << RCL_ST1_TX_UNDERFLOW |
                      UINT64_C(1) << RCL_ST1_MD_READ |
                      UINT64_C(1) << RCL_ST1_TWO_SOP |
                      UINT64_C(1) << RCL_ST1_TWO_EOP |
                      UINT64_C(1) << RCL_ST1_TX_OVERSIZE |
                      UINT64_C(1) << RCL_ST1_TX_ZERO;
    abnormal_follows(d);
}

/* ---- out ---- */

static void frame_out(Rclink *d, uint8_t *p, size_t len)
{
    if (len < RCL_FRAME_MIN) {
        memset(p + len, 0, RCL_FRAME_MIN - len);
        len = RCL_FRAME_MIN;
    }
    rcl_mac_send(d, len);
    rcl_flow_sent(d, FLOW_TYPE3, len + RCL_FCS_BYTES);
    d->cnt.tx_type3++;
}

/* What is wrong with a descriptor's place in its frame: a bit of ST1, or 0. */
static unsigned md_check(const Rclink *d, uint32_t word, uint32_t size)
{
    bool first = word & RCL_MD_SF;

    return first && d->gather_open ? RCL_ST1_TWO_SOP :
           !first && !d->gather_open ? RCL_ST1_TWO_EOP :
           !size ? RCL_ST1_TX_ZERO :
           size + d->gathered > RCL_TX_FRAME_MAX ? RCL_ST1_TX_OVERSIZE : 0;
}

/* Take one descriptor; true: a frame was sent. */
static bool md_out(Rclink *d, const uint8_t *md)
{
    uint32_t word = get_le32(md), size = md_size(md);
    uint64_t addr = get_le64(md + 8);
    bool whole = word & RCL_MD_SF && word & RCL_MD_LF;
    unsigned wrong;
    uint8_t *p;

    if (d->gather_lost && !(word & RCL_MD_SF)) {
        return false;       /* the rest of a frame whose front is not there */
    }
    d->gather_lost = false;
    wrong = md_check(d, word, size);
    if (wrong) {
        md_fault(d, &d->md_tx, wrong);
        return false;
    }
    p = whole ? rcl_mac_frame(d) : d->gather + d->gathered;
    if (!rcl_dma_read(d, addr, p, size)) {
        rcl_st1(d, RCL_ST1_DATA);
        gather_drop(d, !(word & RCL_MD_LF));
        return false;
    }
    if (whole) {
        frame_out(d, p, size);
        return true;
    }
    d->gathered += size;
    d->gather_open = !(word & RCL_MD_LF);
    if (d->gather_open) {
        return false;
    }
    size = d->gathered;
    d->gathered = 0;
    p = rcl_mac_frame(d);
    memcpy(p, d->gather, size);
    frame_out(d, p, size);
    return true;
}

bool rcl_type3_turn(Rclink *d)
{
    RclMdRing *r = &d->md_tx;
    bool sent = false;

    if (!rcl_type3_pending(d) || !rcl_flow_open(d, FLOW_TYPE3)) {
        return false;
    }
    /* A frame has few descriptors, but a broken ring may have many. */
    for (unsigned i = 0; i < r->size && !sent; i++) {
        const uint8_t *md = md_peek(d, r);

        if (!md) {
            break;
        }
        if (get_le32(md) & 3) {
            rcl_guest_error(d, "12.2", "type of a descriptor", get_le32(md));
        } else {
            sent = md_out(d, md);
        }
        if (r->stopped) {
            break;
        }
        md_next(d, r);
    }
    return sent;
}

/* ---- in ---- */

/* IEEE 802.3: a length field that promises more than there is. */
static bool short_of_data(const uint8_t *frame, size_t len)
{
    uint16_t field = len >= 14 ? get_be16(frame + 12) : 0;

    return len < 14 || (field <= 1500 && field > len - 14);
}

/* Put what is left of a frame into descriptors; false: there are too few. */
static bool md_in(Rclink *d, const uint8_t *frame, size_t len, uint16_t flags)
{
    RclMdRing *r = &d->md_rx;

    while (d->spread < len) {
        const uint8_t *md = md_peek(d, r);
        uint64_t addr;
        uint8_t done[8];
        uint32_t n, word;

        if (!md) {
            if (r->en && !r->reset && !r->stopped) {
                rcl_st0(d, RCL_ST0_RX_EMPTY);
            }
            return false;
        }
        addr = get_le64(md + 8);
        n = get_le16(md + RCL_MD_BUFFER_SHIFT / 8);
        if (!n) {
            md_fault(d, r, RCL_ST1_RX_ZERO);
            return false;
        }
        if (n % 64 || addr % 64) {
            rcl_guest_error(d, "12.2", "alignment of a receive buffer", addr);
        }
        n = MIN(n, len - d->spread);
        word = n << RCL_MD_SIZE_SHIFT | (d->spread ? 0 : RCL_MD_SF);
        if (d->spread + n == len) {
            word |= RCL_MD_LF;
            word |= (uint32_t)flags << 16;
            word |= short_of_data(frame, len) ? RCL_MD_LENGTH : 0;
        }
        /* MD[47:0]; the rest of the word as it was. */
        put_le64(done, word | get_le64(md) >> 48 << 48);
        if (!rcl_dma_write(d, addr, frame + d->spread, n)) {
            rcl_st1(d, RCL_ST1_DATA);
        }
        if (!rcl_dma_write(d, r->base + r->tail * RCL_MD_BYTES, done,
                           sizeof(done))) {
            rcl_st1(d, RCL_ST1_MD_WRITE);
        }
        d->spread += n;
        md_next(d, r);
    }
    d->spread = 0;
    return true;
}

void rcl_type3_rx(Rclink *d, const uint8_t *frame, size_t len, uint16_t flags,
                  RclCredits credits)
{
    RclMdRing *r = &d->md_rx;

    if (!r->en || r->reset || r->stopped) {
        d->cnt.drop_rx3_off++;
    } else if (len > RCL_RX_FRAME_MAX) {
        md_fault(d, r, RCL_ST1_RX_OVERSIZE);
    } else if (!d->wait[FLOW_TYPE3].head && md_in(d, frame, len, flags)) {
        d->cnt.rx_type3++;
    } else if (rcl_wait_room(d, FLOW_TYPE3, len)) {
        rcl_wait_push(d, FLOW_TYPE3, (RclWait) { 0, flags, credits }, frame,
                  len);
        return;
    } else {
        d->cnt.drop_rx3++;
        rcl_st1(d, RCL_ST1_RX_OVERFLOW);
    }
    rcl_credit_freed(d, credits);
}

void rcl_type3_run(Rclink *d)
{
    RclQueue *q = &d->wait[FLOW_TYPE3];

    while (q->head && md_in(d, core_packet_data(q->head), q->head->len,
                            wait_of(q->head)->sa)) {
        d->cnt.rx_type3++;
        rcl_wait_pop(d, FLOW_TYPE3);
    }
}
