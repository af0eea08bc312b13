/*
 * Headers of the transaction layer: bytes to fields and back.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "core/bytes.h"
#include "ub/tah.h"

enum { FULL = 8, COMPACT = 4 };

static const struct {
    const char *name;
    uint8_t full, compact;
} ext_info[UB_EXTS] = {
    [UB_EXT_UD] = { "UDETAH", 4, 4 },
    [UB_EXT_MT] = { "MTETAH", 4, 4 },
    [UB_EXT_TAID] = { "TAIDETAH", 4, 4 },
    [UB_EXT_OFST] = { "OFSTETAH", 4, 4 },
    [UB_EXT_MA] = { "MAETAH", 16, 12 },
    [UB_EXT_IMM] = { "IMMETAH", 16, 16 },
    [UB_EXT_NTF] = { "NTFETAH", 24, 24 },
    [UB_EXT_MGMT] = { "MGMTETAH", 4, 4 },
    [UB_EXT_TV] = { "TVETAH", 4, 4 },
    [UB_EXT_BE] = { "BEETAH", 0, 0 },   /* as MAETAH.Length says */
};

uint32_t ub_tah_ext_size(UbTahExt ext, bool compact)
{
    return compact ? ext_info[ext].compact : ext_info[ext].full;
}

const char *ub_tah_ext_name(UbTahExt ext)
{
    return ext_info[ext].name;
}

uint32_t ub_tah_be_size(uint32_t length)
{
    /* What lies beyond the longest map counts (§7.4.2.1.3). */
    uint32_t bytes = MIN(length, UB_TA_BE_MAX);

    switch (bytes) {
    case 64: case 128: case 256: case 512: case 1024:
        return bytes / 8;
    default:
        return 0;
    }
}

int ub_tah_block_code(uint32_t bytes)
{
    for (int code = 0; code < 8; code++) {
        if (ub_tah_block(code) == bytes) {
            return code;
        }
    }
    return -1;
}

uint16_t ub_tah_exts(const UbTahForm *form, const UbTah *t)
{
    const UbTaOpInfo *op = ub_ta_op(t->opcode);
    uint16_t ext = op->ext;

    if (t->ud_flag) {
        ext |= op->may & UB_EXT_BIT(UB_EXT_UD);
    }
    if (t->tv_en) {
        ext |= op->may & UB_EXT_BIT(UB_EXT_TV);
    }
    if (form->tasks && !form->compact) {
        ext |= op->may & (UB_EXT_BIT(UB_EXT_TAID) | UB_EXT_BIT(UB_EXT_OFST));
    }
    return ext;
}

uint32_t ub_tah_size(const UbTahForm *form, const UbTah *t)
{
    uint32_t n = form->compact ? COMPACT : FULL;

    for (unsigned ext = t->ext; ext; ext &= ext - 1) {
        n += ub_tah_ext_size(__builtin_ctz(ext), form->compact);
    }
    return n + (t->ext & UB_EXT_BIT(UB_EXT_BE) ? t->be_len : 0);
}

/* ---- builder ---- */

static void put_base(const UbTahForm *form, const UbTah *t, uint8_t *p)
{
    bool response = ub_ta_op(t->opcode)->kind == UB_TA_RESPONSE;

    p[0] = t->opcode;
    put_be16(p + 2, t->tassn);
    if (response) {
        p[1] = t->ver << 6 | (form->compact ? (t->status & 3) << 4
                                            : t->sv << 3) | t->poison << 2;
    } else {
        p[1] = t->ver << 6 | (t->ee & 3) << 4 | t->tv_en << 3 |
               t->poison << 2 | t->ud_flag;
    }
    if (form->compact) {
        return;
    }
    put_be32(p + 4, (t->rc_type & 3u) << 20 | (t->rc_id & 0xfffff));
    if (response) {
        p[4] = t->rspst << 5 | (t->rspinfo & 31);
    } else {
        p[4] = t->no_taack << 7 | t->ordered_cqe << 6 | (t->order & 3) << 4 |
               t->mt_en << 3 | t->fce << 2 | t->retry << 1 | t->alloc;
        p[5] |= t->e_bit << 6;
    }
}

static void put_memory(const UbTahForm *form, const UbTah *t, uint8_t *p)
{
    uint32_t token = t->token_id & 0xfffff;

    put_be64(p, t->addr);
    if (!form->compact) {
        put_be32(p + 8, token << 8);
        put_be32(p + 12, t->length);
        return;
    }
    p[7] = (t->addr & 0xc0) | (t->affinity & 3) << 4 |
           (t->order == UB_TA_SO) << 3 | ub_tah_block_code(t->length);
    put_be32(p + 8, form->token_high ? token << 8 : token);
}

static void put_ext(const UbTahForm *form, const UbTah *t, UbTahExt ext,
                    uint8_t *p)
{
    switch (ext) {
    case UB_EXT_UD:
        put_be32(p, t->ud);
        break;
    case UB_EXT_MT:
        put_be32(p, (uint32_t)t->hint << 24 | (t->tc_type & 3u) << 20 |
                 (t->tc_id & 0xfffff));
        break;
    case UB_EXT_TAID:
        put_be32(p, t->taid);
        break;
    case UB_EXT_OFST:
        put_be32(p, t->offset & 0xffffff);
        break;
    case UB_EXT_MA:
        put_memory(form, t, p);
        break;
    case UB_EXT_IMM:
        put_be64(p, t->imm);
        put_be32(p + 8, t->imm_token);
        put_be32(p + 12, t->msg_len);
        break;
    case UB_EXT_NTF:
        put_be64(p, t->ntf_addr);
        put_be32(p + 8, (t->ntf_token_id & 0xfffff) << 8);
        put_be32(p + 12, t->ntf_token);
        put_be64(p + 16, t->ntf_data);
        break;
    case UB_EXT_MGMT:
        p[0] = t->mgmt_sub << 4 | (t->mgmt_code & 7) << 1 | t->mgmt_rsp;
        p[1] = t->mgmt_status;
        put_be16(p + 2, t->pdu_len & 0xfff);
        break;
    case UB_EXT_TV:
        put_be32(p, t->token);
        break;
    case UB_EXT_BE:
        if (t->be_len) {
            memcpy(p, t->be, t->be_len);
        }
        break;
    case UB_EXTS:
        break;
    }
}

uint32_t ub_tah_build(const UbTahForm *form, const UbTah *t, uint8_t *p)
{
    uint32_t n = form->compact ? COMPACT : FULL;

    put_base(form, t, p);
    for (unsigned ext = t->ext; ext; ext &= ext - 1) {
        UbTahExt e = __builtin_ctz(ext);

        put_ext(form, t, e, p + n);
        n += e == UB_EXT_BE ? t->be_len : ub_tah_ext_size(e, form->compact);
    }
    return n;
}

/* ---- parser ---- */

/* BTAH or ATAH; false: a reserved value. */
static bool get_base(const UbTahForm *form, const UbTaOpInfo *op,
                     const uint8_t *p, UbTah *t)
{
    uint32_t word;
    bool good = true;

    t->ver = p[1] >> 6;
    t->poison = p[1] & 4;
    t->tassn = get_be16(p + 2);
    if (op->kind == UB_TA_RESPONSE) {
        if (form->compact) {
            t->status = p[1] >> 4 & 3;
            good = t->status <= 1;
        } else {
            t->sv = p[1] & 8;
        }
    } else {
        t->ee = p[1] >> 4 & 3;
        t->tv_en = p[1] & 8;
        t->ud_flag = p[1] & 1;
        good = t->ee & 1;       /* 00 and 10 are reserved */
    }
    if (form->compact) {
        return good;
    }
    word = get_be32(p + 4);
    t->rc_type = word >> 20 & 3;
    t->rc_id = word & 0xfffff;
    good = good && t->rc_type <= UB_RC_SC;
    if (op->kind == UB_TA_RESPONSE) {
        t->rspst = word >> 29;
        t->rspinfo = word >> 24 & 31;
        return good;
    }
    t->no_taack = word & 1u << 31;
    t->ordered_cqe = word & 1 << 30;
    t->order = word >> 28 & 3;
    t->mt_en = word & 1 << 27;
    t->fce = word & 1 << 26;
    t->retry = word & 1 << 25;
    t->alloc = word & 1 << 24;
    t->e_bit = word & 1 << 22;
    return good && t->order <= UB_TA_SO &&
           t->mt_en == !!(op->ext & UB_EXT_BIT(UB_EXT_MT));
}

static void get_memory(const UbTahForm *form, const uint8_t *p, UbTah *t)
{
    uint32_t word = get_be32(p + 8);

    t->addr = get_be64(p);
    if (!form->compact) {
        t->token_id = word >> 8 & 0xfffff;
        t->length = get_be32(p + 12);
        return;
    }
    t->token_id = (form->token_high ? word >> 8 : word) & 0xfffff;
    t->affinity = t->addr >> 4 & 3;
    t->order = t->addr & 8 ? UB_TA_SO : UB_TA_RO;
    t->length = ub_tah_block(t->addr & 7);
    t->addr &= ~UINT64_C(63);
}

/* False: a reserved value. */
static bool get_ext(const UbTahForm *form, UbTahExt ext, const uint8_t *p,
                    UbTah *t)
{
    uint32_t word = get_be32(p);

    switch (ext) {
    case UB_EXT_UD:
        t->ud = word;
        break;
    case UB_EXT_MT:
        t->hint = word >> 24;
        t->tc_type = word >> 20 & 3;
        t->tc_id = word & 0xfffff;
        return t->tc_type <= UB_TC_GROUP;
    case UB_EXT_TAID:
        t->taid = word;
        break;
    case UB_EXT_OFST:
        t->offset = word & 0xffffff;
        break;
    case UB_EXT_MA:
        get_memory(form, p, t);
        break;
    case UB_EXT_IMM:
        t->imm = get_be64(p);
        t->imm_token = get_be32(p + 8);
        t->msg_len = get_be32(p + 12);
        break;
    case UB_EXT_NTF:
        t->ntf_addr = get_be64(p);
        t->ntf_token_id = get_be32(p + 8) >> 8 & 0xfffff;
        t->ntf_token = get_be32(p + 12);
        t->ntf_data = get_be64(p + 16);
        break;
    case UB_EXT_MGMT:
        t->mgmt_sub = word >> 28;
        t->mgmt_code = word >> 25 & 7;
        t->mgmt_rsp = word >> 24 & 1;
        t->mgmt_status = word >> 16;
        t->pdu_len = word & 0xfff;
        return t->pdu_len <= UB_TA_PDU_MAX;
    case UB_EXT_TV:
        t->token = word;
        break;
    case UB_EXT_BE:
    case UB_EXTS:
        break;
    }
    return true;
}

UbTahFault ub_tah_parse(const UbTahForm *form, const uint8_t *p, uint32_t len,
                        UbTah *t, uint32_t *hdr)
{
    uint32_t n = form->compact ? COMPACT : FULL;
    const UbTaOpInfo *op;
    bool good;

    memset(t, 0, sizeof(*t));
    *hdr = 0;
    if (len < n) {
        return UB_TAH_SHORT;
    }
    t->opcode = p[0];
    op = ub_ta_op(t->opcode);
    good = get_base(form, op, p, t);
    *hdr = n;
    if (!op->name) {
        return UB_TAH_OPCODE;
    }
    if (t->ver) {
        return UB_TAH_VERSION;
    }
    if (form->compact && !op->compact) {
        return UB_TAH_FORM;
    }
    t->ext = ub_tah_exts(form, t);
    for (unsigned ext = t->ext; ext; ext &= ext - 1) {
        UbTahExt e = __builtin_ctz(ext);
        uint32_t size = ub_tah_ext_size(e, form->compact);

        if (e == UB_EXT_BE) {
            size = t->be_len = ub_tah_be_size(t->length);
            t->be = p + n;
            good = good && size;
        }
        if (len - n < size) {
            return UB_TAH_SHORT;
        }
        good = (!size || get_ext(form, e, p + n, t)) && good;
        n += size;
    }
    *hdr = n;
    return good ? UB_TAH_GOOD : UB_TAH_FIELD;
}

/* ---- words ---- */

const char *ub_tah_fault_name(UbTahFault fault)
{
    static const char *const names[UB_TAH_FAULTS] = {
        [UB_TAH_GOOD] = "good",
        [UB_TAH_SHORT] = "ends within a header",
        [UB_TAH_OPCODE] = "reserved opcode",
        [UB_TAH_VERSION] = "unknown version",
        [UB_TAH_FIELD] = "reserved value",
        [UB_TAH_FORM] = "has no compact form",
    };

    return fault < UB_TAH_FAULTS ? names[fault] : NULL;
}

static void print_ext(const UbTah *t, UbTahExt ext, GString *s)
{
    switch (ext) {
    case UB_EXT_UD:
        g_string_append_printf(s, " ud=%08x", t->ud);
        break;
    case UB_EXT_MT:
        g_string_append_printf(s, " tc=%u:%x hint=%u", t->tc_type, t->tc_id,
                               t->hint);
        break;
    case UB_EXT_TAID:
        g_string_append_printf(s, " taid=%u", t->taid);
        break;
    case UB_EXT_OFST:
        g_string_append_printf(s, " offset=%u", t->offset);
        break;
    case UB_EXT_MA:
        g_string_append_printf(s, " addr=%" G_GINT64_MODIFIER
                               "x token-id=%x length=%u", t->addr,
                               t->token_id, t->length);
        break;
    case UB_EXT_IMM:
        g_string_append_printf(s, " imm=%" G_GINT64_MODIFIER
                               "x imm-token=%08x msg-len=%u", t->imm,
                               t->imm_token, t->msg_len);
        break;
    case UB_EXT_NTF:
        g_string_append_printf(s, " notify=%" G_GINT64_MODIFIER
                               "x@%" G_GINT64_MODIFIER
                               "x token-id=%x token=%08x", t->ntf_data,
                               t->ntf_addr, t->ntf_token_id, t->ntf_token);
        break;
    case UB_EXT_MGMT:
        g_string_append_printf(s, " code=%u sub=%u %s status=%02x pdu=%u",
                               t->mgmt_code, t->mgmt_sub,
                               t->mgmt_rsp ? "response" : "request",
                               t->mgmt_status, t->pdu_len);
        break;
    case UB_EXT_TV:
        g_string_append_printf(s, " token=%08x", t->token);
        break;
    case UB_EXT_BE:
        g_string_append(s, " be=");
        for (uint32_t i = 0; i < t->be_len; i++) {
            g_string_append_printf(s, "%02x", t->be[i]);
        }
        break;
    case UB_EXTS:
        break;
    }
}

void ub_tah_print(const UbTahForm *form, const UbTah *t, char *out,
                  size_t size)
{
    static const char *const orders[] = { "NO", "RO", "SO", "?" };
    const UbTaOpInfo *op = ub_ta_op(t->opcode);
    g_autoptr(GString) s = g_string_new(op->name ? op->name : "Reserved");

    g_string_append_printf(s, " tassn=%u", t->tassn);
    if (op->kind == UB_TA_RESPONSE) {
        if (form->compact) {
            g_string_append_printf(s, " status=%u", t->status);
        } else {
            g_string_append_printf(s, " rspst=%u/%u%s rc=%u:%x", t->rspst,
                                   t->rspinfo, t->sv ? " sv" : "",
                                   t->rc_type, t->rc_id);
        }
    } else {
        g_string_append_printf(s, " ee=%u", t->ee);
        if (!form->compact) {
            g_string_append_printf(s, " rc=%u:%x", t->rc_type, t->rc_id);
        }
        g_string_append_printf(s, " %s%s%s%s%s%s%s", orders[t->order & 3],
                               t->ordered_cqe ? " cqe-order" : "",
                               t->no_taack ? " no-taack" : "",
                               t->fce ? " fce" : "",
                               t->retry ? " retry" : "",
                               t->alloc ? " alloc" : "",
                               t->e_bit ? " exclusive" : "");
    }
    if (t->poison) {
        g_string_append(s, " poison");
    }
    for (unsigned ext = t->ext; ext; ext &= ext - 1) {
        print_ext(t, __builtin_ctz(ext), s);
    }
    g_strlcpy(out, s->str, size);
}
