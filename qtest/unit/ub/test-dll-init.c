/*
 * Bring-up: negotiation by the examples and fall-backs of UB 2.0 §4.4, the
 * states of §4.2, the initial retry handshake, and credit initialisation.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "dll-pair.h"

static void test_negotiate(void)
{
    UbDllConfig a, b;
    UbDllParams r;

    ub_dll_config_init(&a);
    ub_dll_config_init(&b);
    a.wish.flow_ctrl_size = 32 | 16;
    b.wish.flow_ctrl_size = 64 | 32 | 16;
    r = ub_dll_negotiate(&a.wish, &b.wish);
    g_assert_cmpuint(r.flow_ctrl_size, ==, 16);
    a.wish.flow_ctrl_size = 32;
    b.wish.flow_ctrl_size = 16;
    r = ub_dll_negotiate(&a.wish, &b.wish);
    g_assert_cmpuint(r.flow_ctrl_size, ==, 8);

    /* Each field, and each VL, falls back by itself. */
    a.wish.data_ack_grain = 0x40;
    b.wish.data_ack_grain = 0x80;
    a.wish.ctrl_ack_grain = 0xf0;
    b.wish.ctrl_ack_grain = 0x0f;
    a.wish.ctrl_credit_grain[3] = 0x02;
    b.wish.ctrl_credit_grain[3] = 0x04;
    a.wish.ctrl_credit_grain[4] = 0xfe;
    b.wish.ctrl_credit_grain[4] = 0xf8;
    a.wish.data_credit_grain[15] = 0x80;
    b.wish.data_credit_grain[15] = 0x01;
    a.wish.data_credit_grain[14] = 0xff;
    b.wish.data_credit_grain[14] = 0x80;
    r = ub_dll_negotiate(&a.wish, &b.wish);
    g_assert_cmpuint(r.data_ack_grain, ==, 32);
    g_assert_cmpuint(r.ctrl_ack_grain, ==, 1);
    g_assert_cmpuint(r.ctrl_credit_grain[3], ==, 1);
    g_assert_cmpuint(r.ctrl_credit_grain[4], ==, 8);
    g_assert_cmpuint(r.ctrl_credit_grain[5], ==, 1);
    g_assert_cmpuint(r.data_credit_grain[15], ==, 4);
    g_assert_cmpuint(r.data_credit_grain[14], ==, 0x80);

    a.wish.feature_id = 7;
    b.wish.feature_id = 3;
    g_assert_cmpuint(ub_dll_negotiate(&a.wish, &b.wish).feature_id, ==, 3);

    /* Taken as received. */
    b.wish.retry_buf_depth = 777;
    b.wish.packet_min_interval = 9;
    b.wish.rxbuf_vl_share = 0;
    r = ub_dll_negotiate(&a.wish, &b.wish);
    g_assert_cmpuint(r.retry_buf_depth, ==, 777);
    g_assert_cmpuint(r.packet_min_interval, ==, 9);
    g_assert_cmpuint(r.rxbuf_vl_share, ==, 0);

    static const struct { uint16_t a, b, want; } vls[] = {
        { 0xffff, 0x00ff, 0x00ff }, { 0xffff, 0xffff, 0xffff },
        { 0x000f, 0x0003, 0x0003 }, { 0x00fb, 0xffff, 0x0003 },
        { 0xfffe, 0xffff, 0x0001 }, { 0x0001, 0x0001, 0x0001 },
        { 0x0000, 0x0000, 0x0001 }, { 0x5555, 0xaaaa, 0x0001 },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(vls); i++) {
        a.wish.vl_enable = vls[i].a;
        b.wish.vl_enable = vls[i].b;
        g_assert_cmphex(ub_dll_negotiate(&a.wish, &b.wish).vl_enable, ==,
                        vls[i].want);
    }
}

/* Types of blocks in the order end 0 sends them, one letter each. */
static GString *seen;

static bool record(Pair *p, unsigned from, uint8_t *flit, uint8_t *ok)
{
    if (from == 0) {
        g_string_append_c(seen, !ub_lch_valid(flit) ? '.' :
                          flit[2] == UB_CB_RETRY_IDLE ? 'i' :
                          flit[2] == UB_CB_RETRY_REQ ? 'q' :
                          flit[2] == UB_CB_RETRY_ACK ? 'a' :
                          flit[2] == UB_CB_INIT ? 'I' :
                          flit[2] == UB_CB_CRD_ACK ? 'C' : '?');
    }
    return true;
}

static void test_order(void)
{
    static const char set[] = "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq";
    static const char ack[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    g_autofree char *want = g_strdup_printf("i%si%sI....", set, ack);
    UbDllStatus st;
    Pair p;

    seen = g_string_new("");
    pair_init(&p, NULL, NULL);
    p.tamper = record;
    ub_dll_status(p.e[0].dll, &st);
    g_assert_cmpint(st.state, ==, UB_DLL_DISABLED);
    g_assert_cmpuint(pair_pull(&p, 0), ==, 0);
    g_assert_false(pair_send(&p, 0, 0, 10, 1));

    pair_link(&p);
    ub_dll_status(p.e[0].dll, &st);
    g_assert_cmpint(st.state, ==, UB_DLL_PARAM_INIT);
    g_assert_cmpint(st.retry_req, ==, UB_RETRY_REQ_REQ);
    g_assert_false(pair_send(&p, 0, 0, 10, 1));
    pair_run(&p, 1000000);
    g_assert_true(p.e[0].up && p.e[1].up);
    g_assert_true(g_str_has_prefix(seen->str, want));
    /* 4096 cells on VL 0 in units of one: 66 blocks with at most 63. */
    g_assert_nonnull(strstr(seen->str, "I....C."));
    for (unsigned i = 0; i < 2; i++) {
        ub_dll_status(p.e[i].dll, &st);
        g_assert_cmpint(st.state, ==, UB_DLL_NORMAL);
        g_assert_cmphex(ub_dll_sm_status(p.e[i].dll), ==, 0x003);
        g_assert_cmpuint(st.tx_credit[0], ==, 4096);
        g_assert_cmpuint(st.tx_credit[7], ==, 512);
        g_assert_cmpuint(st.tx_credit[8], ==, 0);
        g_assert_cmpuint(p.e[i].ups, ==, 1);
        g_assert_cmpuint(p.e[i].peer_errors, ==, 0);
    }
    pair_check_credits(&p);
    pair_free(&p);
    g_string_free(seen, true);
}

static void test_registers(void)
{
    UbDllConfig b;
    uint32_t w[12];
    Pair p;

    ub_dll_config_init(&b);
    b.wish.retry_buf_depth = 0x1234;
    b.wish.packet_min_interval = 5;
    b.wish.rxbuf_vl_share = 1;
    b.wish.vl_enable = 3;
    b.wish.ctrl_credit_grain[1] = 0x81;
    pair_init(&p, NULL, &b);
    ub_dll_status_words(p.e[0].dll, w);
    g_assert_cmphex(w[0xa], ==, 0);
    pair_link(&p);
    pair_run(&p, 1000000);
    ub_dll_status_words(p.e[0].dll, w);
    g_assert_cmphex(w[0], ==, 1);
    g_assert_cmphex(w[1], ==, 0x0120);
    g_assert_cmphex(w[2], ==, 0x01010101);
    g_assert_cmphex(w[6], ==, 0x04040404);
    g_assert_cmphex(w[0xa], ==, 0x05080003);
    g_assert_cmphex(w[0xb], ==, 0x1234);
    pair_free(&p);
}

/* Every parameter differs; both ends come out with the same ones. */
static void test_mismatch(void)
{
    for (unsigned round = 0; round < 60; round++) {
        UbDllConfig cfg[2];
        UbDllStatus st[2];
        Pair p;

        for (unsigned i = 0; i < 2; i++) {
            UbDllParams *w = &cfg[i].wish;

            ub_dll_config_init(&cfg[i]);
            w->vl_enable = g_test_rand_int();
            w->data_ack_grain = g_test_rand_int();
            w->ctrl_ack_grain = g_test_rand_int() & 0x1f;
            w->flow_ctrl_size = g_test_rand_int();
            w->retry_buf_depth = 512 + g_test_rand_int_range(0, 5000);
            w->rxbuf_vl_share = g_test_rand_int() & 1;
            cfg[i].tx_share = g_test_rand_int() & 1;
            cfg[i].init_flits = g_test_rand_int_range(5, 33);
            for (unsigned vl = 0; vl < UB_VLS; vl++) {
                w->ctrl_credit_grain[vl] = g_test_rand_int();
                w->data_credit_grain[vl] = g_test_rand_int();
                cfg[i].init_credit[vl] = g_test_rand_int_range(512, 1500);
            }
        }
        pair_up(&p, &cfg[0], &cfg[1], round & 1);
        ub_dll_status(p.e[0].dll, &st[0]);
        ub_dll_status(p.e[1].dll, &st[1]);
        g_assert_cmpuint(st[0].agreed.vl_enable, ==, st[1].agreed.vl_enable);
        g_assert_cmpuint(st[0].agreed.flow_ctrl_size, ==,
                         st[1].agreed.flow_ctrl_size);
        g_assert_cmpuint(st[0].agreed.data_ack_grain, ==,
                         st[1].agreed.data_ack_grain);
        g_assert_cmpuint(st[0].agreed.ctrl_ack_grain, ==,
                         st[1].agreed.ctrl_ack_grain);
        g_assert_cmpmem(st[0].agreed.ctrl_credit_grain, UB_VLS,
                        st[1].agreed.ctrl_credit_grain, UB_VLS);
        g_assert_cmpmem(st[0].agreed.data_credit_grain, UB_VLS,
                        st[1].agreed.data_credit_grain, UB_VLS);
        for (unsigned i = 0; i < 2; i++) {
            g_assert_cmpuint(st[i].agreed.retry_buf_depth, ==,
                             cfg[!i].wish.retry_buf_depth);
            g_assert_cmpint(st[i].tx_shared, ==, cfg[i].tx_share &&
                            cfg[!i].wish.rxbuf_vl_share);
            for (unsigned vl = 0; vl < UB_VLS; vl++) {
                unsigned grain = st[i].agreed.ctrl_credit_grain[vl];
                unsigned cells = cfg[!i].init_credit[vl];

                g_assert_cmpuint(st[i].tx_credit_init[vl], ==,
                                 st[i].agreed.vl_enable >> vl & 1
                                 ? cells - cells % grain : 0);
            }
        }
        pair_check_credits(&p);
        for (unsigned i = 0; i < 2; i++) {
            for (unsigned n = 0; n < 20; n++) {
                g_assert_true(pair_send(&p, i, 0, 1 + n * 37, n));
            }
        }
        pair_run(&p, 1000000);
        for (unsigned i = 0; i < 2; i++) {
            for (unsigned n = 0; n < 20; n++) {
                pair_expect(&p, i, 0, 1 + n * 37, n);
            }
            g_assert_cmpuint(p.e[i].peer_errors, ==, 0);
        }
        pair_check_credits(&p);
        pair_free(&p);
    }
}

/* The smallest Retry Buffer with credits in many blocks: the acknowledgements
 * must already flow in DLL_Credit_Init. */
static void test_small_buffer(void)
{
    UbDllConfig cfg;
    Pair p;

    ub_dll_config_init(&cfg);
    cfg.wish.retry_buf_depth = 64;
    cfg.init_credit[0] = 6553;
    pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
    pair_check_credits(&p);
    pair_free(&p);
}

/* One end begins much later: the other repeats its request meanwhile. */
static void test_late_peer(void)
{
    UbDllConfig cfg;
    Pair p;

    ub_dll_config_init(&cfg);
    cfg.wait_timeout = 100000;
    pair_init(&p, &cfg, &cfg);
    ub_dll_phy_up(p.e[0].dll, p.now);
    ub_dll_phy_active(p.e[0].dll, p.now, UB_MODE_CRC, true);
    pair_run(&p, 550000);
    g_assert_cmpuint(p.e[0].errors[UB_DLL_ERR_RETRY_ACK_TIMEOUT], >=, 4);
    g_assert_false(p.e[0].up);
    ub_dll_phy_up(p.e[1].dll, p.now);
    ub_dll_phy_active(p.e[1].dll, p.now, UB_MODE_CRC, true);
    pair_run(&p, 300000);
    g_assert_true(p.e[0].up && p.e[1].up);
    pair_free(&p);
}

static bool lossy(Pair *p, unsigned from, uint8_t *flit, uint8_t *ok)
{
    if (g_test_rand_int_range(0, 60) == 0) {
        flit[g_test_rand_int_range(0, 20)] ^= 1 << g_test_rand_int_range(0, 8);
        *ok = p->mode == UB_MODE_CRC ? g_test_rand_int() & 1 : 0;
    }
    return true;
}

/* Init Blocks and credits survive errors, and a speed change Retrain in the
 * middle (§4.4, §4.7.3). */
static void test_noisy(void)
{
    UbDllConfig cfg;

    ub_dll_config_init(&cfg);
    cfg.num_phy_reinit_threshold = 100;
    for (unsigned round = 0; round < 100; round++) {
        Pair p;

        pair_init(&p, &cfg, &cfg);
        p.mode = p.next_mode = round & 1;
        p.tamper = lossy;
        pair_link(&p);
        for (unsigned n = g_test_rand_int_range(0, 12); n; n--) {
            pair_step(&p);
        }
        if (round & 2) {
            pair_retrain_both(&p);
        }
        for (unsigned n = 0; n < 4000 && !(p.e[0].up && p.e[1].up); n++) {
            if (!pair_step(&p)) {
                p.now += cfg.wait_timeout;
            }
        }
        g_assert_true(p.e[0].up && p.e[1].up);
        g_assert_false(p.e[0].fatal || p.e[1].fatal);
        p.tamper = NULL;
        pair_run(&p, 1000000);
        pair_check_credits(&p);
        pair_free(&p);
    }
}

static void push_blocks(End *e, int64_t now, const uint8_t *blocks, unsigned n)
{
    ub_dll_rx(e->dll, now, blocks, n, NULL);
}

static unsigned req_set(uint8_t *out, unsigned type, uint16_t ptr, uint16_t wr)
{
    static const UbBlockFormat f = { UB_MODE_CRC, UB_CRC_COVER_INFO };

    ub_put_simple(f, out, UB_CB_RETRY_IDLE);
    for (unsigned i = 1; i < UB_RETRY_SET; i++) {
        if (type == UB_CB_RETRY_REQ) {
            ub_put_retry_req(f, out + i * UB_FLIT_SIZE,
                             &(UbRetryReq) { ptr, 0, 1 });
        } else {
            ub_put_retry_ack(f, out + i * UB_FLIT_SIZE,
                             &(UbRetryAck) { 1, 1000, ptr, wr });
        }
    }
    return UB_RETRY_SET;
}

/* A peer whose Retry Buffer cannot work, and one that repeats its Init. */
static void test_bad_init(void)
{
    static const UbBlockFormat f = { UB_MODE_CRC, UB_CRC_COVER_INFO };
    uint8_t b[64 * UB_FLIT_SIZE], sink[256 * UB_FLIT_SIZE];
    UbDllParams params;
    UbDllConfig cfg;
    Pair p;

    ub_dll_config_init(&cfg);
    for (unsigned depth = 0; depth < 16; depth += 15) {
        params = cfg.wish;
        params.retry_buf_depth = depth;
        pair_init(&p, NULL, NULL);
        pair_link(&p);
        ub_dll_tx(p.e[0].dll, p.now, sink, 256);
        push_blocks(&p.e[0], p.now, b, req_set(b, UB_CB_RETRY_ACK, 0, 0));
        push_blocks(&p.e[0], p.now, b, ub_put_init(f, b, &params, 5));
        g_assert_true(p.e[0].fatal);
        g_assert_cmpuint(p.e[0].errors[UB_DLL_ERR_PROTOCOL], ==, 1);
        pair_free(&p);
    }

    pair_init(&p, NULL, NULL);
    pair_link(&p);
    ub_dll_tx(p.e[0].dll, p.now, sink, 256);
    push_blocks(&p.e[0], p.now, b, req_set(b, UB_CB_RETRY_ACK, 0, 0));
    push_blocks(&p.e[0], p.now, b, ub_put_init(f, b, &cfg.wish, 32));
    push_blocks(&p.e[0], p.now, b, ub_put_init(f, b, &cfg.wish, 5));
    g_assert_cmpuint(p.e[0].peer_errors, ==, 1);
    g_assert_false(p.e[0].fatal);
    pair_free(&p);
}

static void test_config_check(void)
{
    UbDllConfig cfg;

#define BAD(field, value) \
    do { \
        ub_dll_config_init(&cfg); \
        g_assert_null(ub_dll_config_check(&cfg)); \
        cfg.field = value; \
        g_assert_nonnull(ub_dll_config_check(&cfg)); \
    } while (0)
    BAD(init_credit[3], 65000);
    BAD(wish.retry_buf_depth, 63);
    BAD(crd_ack_reserve, 3);
    BAD(num_retry_threshold, 1);
    BAD(num_phy_reinit_threshold, 0);
    BAD(wait_timeout, 0);
    BAD(credit_timeout, -1);
    BAD(init_flits, 4);
    BAD(init_flits, 33);
    BAD(retry_set_run, 34);
    BAD(crc_cover, 2);
    BAD(fault_credit, 3);
#undef BAD
    ub_dll_config_init(&cfg);
    cfg.init_flits = 1;
    g_assert_null(ub_dll_new(&cfg, &pair_ops, NULL, NULL));
}

/* §4.8.4: link loss drops, clears and starts over; reset does the same. */
static void test_link_loss(void)
{
    uint8_t sink[50 * UB_FLIT_SIZE];
    UbDllStatus st;
    Pair p;

    pair_up(&p, NULL, NULL, UB_MODE_CRC);
    p.e[1].hold = true;
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned n = 0; n < 30; n++) {
            g_assert_true(pair_send(&p, 0, n % 8, 5000, n));
        }
        pair_step(&p);
        for (unsigned n = 0; n < 30; n++) {
            g_assert_true(pair_send(&p, 0, n % 8, 5000, n));
        }
        g_assert_cmpuint(ub_dll_tx(p.e[0].dll, p.now, sink, 50), ==, 50);
        for (unsigned i = 0; i < 2; i++) {
            if (round == 1) {
                ub_dll_reset(p.e[i].dll, p.now);
            } else {
                ub_dll_phy_down(p.e[i].dll, p.now);
            }
            g_assert_false(p.e[i].up);
            ub_dll_status(p.e[i].dll, &st);
            g_assert_cmpint(st.state, ==, UB_DLL_DISABLED);
            g_assert_cmpuint(st.wr_ptr | st.rd_ptr | st.tail_ptr | st.rcv_ptr,
                             ==, 0);
            g_assert_cmpuint(st.num_free_buf, ==, st.depth);
            for (unsigned vl = 0; vl < UB_VLS; vl++) {
                g_assert_cmpuint(st.tx_credit[vl] | st.queued[vl], ==, 0);
            }
            g_assert_false(pair_send(&p, i, 0, 10, 0));
            g_assert_cmpint(ub_dll_poll(p.e[i].dll, p.now), ==, INT64_MAX);
            g_byte_array_set_size(p.e[i].flits, 0);
            g_byte_array_set_size(p.e[i].ok, 0);
        }
        g_assert_cmpuint(ub_dll_stats(p.e[0].dll)->tx_dropped, >, 0);
        while (!g_queue_is_empty(p.e[1].got)) {
            core_packet_free(g_queue_pop_head(p.e[1].got));
        }
        g_assert_cmpuint(g_queue_get_length(p.e[1].held), ==, 30);
        pair_link(&p);
        pair_run(&p, 1000000);
        g_assert_true(p.e[0].up && p.e[1].up);
        /* Space of packets from before the loss does not count. */
        pair_release_all(&p.e[1]);
        pair_run(&p, 1000000);
        pair_check_credits(&p);
        g_assert_cmpuint(p.e[0].fatal + p.e[1].fatal, ==, 0);
    }
    pair_free(&p);
}

/* LinkUp lost before DLL_Normal, at either end, with blocks of the other one
 * still arriving: DLL_Disabled, and the next link comes up (§4.2). */
static void test_early_loss(void)
{
    static const UbDllState states[] = { UB_DLL_PARAM_INIT,
                                         UB_DLL_CREDIT_INIT };

    for (unsigned i = 0; i < 4; i++) {
        UbDllState at = states[i / 2];
        unsigned end = i % 2;
        UbDllStatus st;
        Pair p;

        pair_init(&p, NULL, NULL);
        p.chunk = 40;
        pair_link(&p);
        pair_step(&p);
        do {
            pair_pull(&p, !end);
            pair_push(&p, end);
            ub_dll_status(p.e[end].dll, &st);
            if (st.state != at) {
                pair_pull(&p, end);
                pair_push(&p, !end);
            }
            g_assert_cmpint(st.state, <=, at);
        } while (st.state != at);
        ub_dll_phy_down(p.e[end].dll, p.now);
        ub_dll_status(p.e[end].dll, &st);
        g_assert_cmpint(st.state, ==, UB_DLL_DISABLED);
        g_assert_false(st.link_up || st.active);
        g_assert_cmpuint(st.rcv_ptr | st.wr_ptr, ==, 0);
        g_assert_cmpuint(pair_pull(&p, end), ==, 0);
        pair_pull(&p, !end);
        pair_push(&p, end);
        ub_dll_status(p.e[end].dll, &st);
        g_assert_cmpuint(st.rcv_ptr | st.wr_ptr, ==, 0);
        g_assert_cmpuint(p.e[end].ups + p.e[end].downs, ==, 0);

        ub_dll_phy_down(p.e[!end].dll, p.now);
        for (unsigned n = 0; n < 2; n++) {
            g_byte_array_set_size(p.e[n].flits, 0);
            g_byte_array_set_size(p.e[n].ok, 0);
        }
        pair_link(&p);
        pair_run(&p, 1000000);
        g_assert_true(p.e[0].up && p.e[1].up);
        pair_check_credits(&p);
        pair_free(&p);
    }
}

/* Neither Param_Init nor Credit_Init ends before the own block was sent: the
 * peer's may come first (§4.2). */
static void test_own_half(void)
{
    static const UbBlockFormat f = { UB_MODE_CRC, UB_CRC_COVER_INFO };
    uint8_t b[64 * UB_FLIT_SIZE], sink[256 * UB_FLIT_SIZE];
    UbDllStatus st;
    UbDllConfig cfg;
    size_t n;
    Pair p;

    ub_dll_config_init(&cfg);
    cfg.init_credit[0] = 100; /* two blocks of credits */
    pair_init(&p, &cfg, NULL);
    pair_link(&p);
    ub_dll_tx(p.e[0].dll, p.now, sink, 256);
    push_blocks(&p.e[0], p.now, b, req_set(b, UB_CB_RETRY_ACK, 0, 0));
    push_blocks(&p.e[0], p.now, b, ub_put_init(f, b, &cfg.wish, 5));
    ub_dll_status(p.e[0].dll, &st);
    g_assert_cmpint(st.state, ==, UB_DLL_PARAM_INIT);
    g_assert_cmpuint(ub_dll_tx(p.e[0].dll, p.now, sink, 5), ==, 5);
    ub_dll_status(p.e[0].dll, &st);
    g_assert_cmpint(st.state, ==, UB_DLL_CREDIT_INIT);

    n = ub_put_crd_ack(f, b, &(UbCrdAck) {
                           .initial = true, .send_done = true,
                           .crd_num = { 20 },
                       });
    push_blocks(&p.e[0], p.now, b, n);
    ub_dll_status(p.e[0].dll, &st);
    g_assert_cmpint(st.state, ==, UB_DLL_CREDIT_INIT);
    g_assert_cmpuint(st.tx_credit_init[0], ==, 20);
    /* 512 cells on VL 1 … 7 take nine blocks; only the last has SD. */
    for (unsigned block = 0; block < 9; block++) {
        UbCrdAck ca;

        g_assert_false(p.e[0].up);
        g_assert_cmpuint(ub_dll_tx(p.e[0].dll, p.now, sink, 2), ==, 2);
        ca = ub_get_crd_ack(sink);
        g_assert_true(ca.initial);
        g_assert_cmpint(ca.send_done, ==, block == 8);
        g_assert_cmpuint(ca.crd_num[0], ==, block == 0 ? 63 :
                         block == 1 ? 37 : 0);
    }
    g_assert_true(p.e[0].up);
    pair_free(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dll/init/negotiate", test_negotiate);
    g_test_add_func("/dll/init/order", test_order);
    g_test_add_func("/dll/init/registers", test_registers);
    g_test_add_func("/dll/init/mismatch", test_mismatch);
    g_test_add_func("/dll/init/small-buffer", test_small_buffer);
    g_test_add_func("/dll/init/late-peer", test_late_peer);
    g_test_add_func("/dll/init/noisy", test_noisy);
    g_test_add_func("/dll/init/bad-init", test_bad_init);
    g_test_add_func("/dll/init/config-check", test_config_check);
    g_test_add_func("/dll/init/link-loss", test_link_loss);
    g_test_add_func("/dll/init/early-loss", test_early_loss);
    g_test_add_func("/dll/init/own-half", test_own_half);
    return g_test_run();
}
