#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Dissect the sample capture with tshark and compare what it shows.

usage: check-dissector.py TSHARK UB_LUA WRITER [layers|uboe]

WRITER --sample writes the file, with the writers of the cores; the values that
must come out of it stand here: those of test-capture, or with "layers" of
write-layers.  With "uboe" the packets of IP among the latter are put into frames of
Ethernet, without and with a VLAN (UB 2.0 figure E-2).
"""
import os
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

CRD_NUM = {f'ub.crd_ack.crd_num_vl{vl}': 10 + vl for vl in range(16)}
GRAINS = {f'ub.init.ctrl_credit_grain_size_vl{vl}': 0x20 + vl
          for vl in range(16)}
GRAINS |= {f'ub.init.data_credit_grain_size_vl{vl}': 0x40 + vl
           for vl in range(16)}

PACKETS = [
    {'ub.kind': 0, 'ub.sent': 1, 'ub.port': 0, 'ub.vl': 2, 'ub.cfg': 3,
     'ub.nth_ip.cci': 0x11, 'ub.nth_ip.npi': 0x1000007, 'ip.src': '10.0.0.1',
     'ip.dst': '10.0.0.2', 'udp.dstport': 20000, 'data.data': '70:69:6e:67'},
    {'ub.kind': 0, 'ub.sent': 0, 'ub.port': 1, 'ub.vl': 1, 'ub.cfg': 7,
     'ub.nth_cna24.scna': 0x123456, 'ub.nth_cna24.dcna': 0xabcdef,
     'ub.nth_cna24.cci': 0xbeef, 'ub.nth_cna24.lbf': 0x77,
     'ub.nth_cna24.sl': 10, 'ub.nth_cna24.nlp': 2, 'ub.payload': '01:02:03',
     'ub.short': None},
    {'ub.cfg': 6, 'ub.nth_cna16.scna': 0x1234, 'ub.nth_cna16.dcna': 0xabcd,
     'ub.nth_cna16.cci': 0xbeef, 'ub.nth_cna16.lbf': 0x66,
     'ub.nth_cna16.sl': 3, 'ub.nth_cna16.mgmt': 1, 'ub.nth_cna16.nlp': 1,
     'ub.payload': '09:09', 'ub.short': None},
    {'ub.cfg': 5, 'ub.management.protocol': 0x88cc,
     'ub.management.dguid': ':'.join(f'{i:02x}' for i in range(16)),
     'ub.management.sguid': ':'.join(f'{i:02x}' for i in range(16, 32)),
     'ub.payload': '00:00:00:00:00:00'},
    {'ub.cfg': 7, 'ub.nth_cna24.scna': 0x123456, 'ub.short': None},
]
CONTROLS = [
    {'ub.lch.type': 0x00, 'ub.flits': 1},
    {'ub.lch.type': 0x01, 'ub.flits': 1},
    {'ub.lch.type': 0x10, 'ub.flits': 1},
    {'ub.lch.type': 0x11, 'ub.retry_req.rcvptr': 0x1234,
     'ub.retry_req.num_phy_reinit': 5, 'ub.retry_req.num_retry': 6},
    {'ub.lch.type': 0x12, 'ub.retry_ack.num_retry': 7,
     'ub.retry_ack.numfreebuf': 0x2345, 'ub.retry_ack.rdptr': 0x3456,
     'ub.retry_ack.wrptr': 0x4567},
    {'ub.lch.type': 0x24, 'ub.lch.clength': 1, 'ub.flits': 2,
     'ub.crd_ack.t': 1, 'ub.crd_ack.sd': 1, 'ub.crd_ack.ack_num': 0x321,
     **CRD_NUM},
    {'ub.lch.type': 0x30, 'ub.param_exchg.data': [0x01020304, 0x05060708]},
    {'ub.lch.type': 0x41, 'ub.lane_manage.req_id': 5,
     'ub.lane_manage.req_power_down': 1, 'ub.lane_manage.req_change_rlw': 0,
     'ub.lane_manage.req_change_tlw': 1, 'ub.lane_manage.rsp_id': 10,
     'ub.lane_manage.rsp_rx_lane_up': 0, 'ub.lane_manage.rsp_rlw': 1,
     'ub.lane_manage.rsp_tlw': 0, 'ub.lane_manage.tlw': 4,
     'ub.lane_manage.rlw': 8},
    {'ub.lch.type': 0x50, 'ub.block_mode_chg.type': 1},
    {'ub.lch.type': 0xc8, 'ub.lch.clength': 4, 'ub.init.feature_id': 0xfeed,
     'ub.init.rxbuf_vl_share': 1, 'ub.init.data_ack_grain_size': 16,
     'ub.init.ctrl_ack_grain_size': 4, 'ub.init.flow_ctrl_size': 2,
     'ub.init.vl_enable': 0x8001, 'ub.init.retry_buf_depth': 8192,
     'ub.init.packet_min_interval': 3, **GRAINS},
    {'ub.lch.type': 0x77, 'ub.flits': 1},
]
LPH = {'ub.kind': 1, 'ub.sent': 1, 'ub.first': 1, 'ub.later': 0,
       'ub.lph.vl': 5, 'ub.lph.cfg': 7, 'ub.lph.crd': 0}
LBH = {'ub.kind': 1, 'ub.sent': 1, 'ub.first': 0, 'ub.later': 1,
       'ub.lbh.vl': 5, 'ub.lbh.cfg': 7}
CRC = {'ub.bcrc_good': 1, 'ub.bcrc.error_flag': 0}
DLLDBS = [
    # 1300 bytes: 632 + 634 + 34; 700 without CRC: 636 + 64.
    {**LPH, **CRC, 'ub.lph.plength_dlldbs_less_one': 2, 'ub.flits': 32,
     'ub.lph.plength_last_flits_less_one': 1, 'ub.lph.plength_code': 15},
    {**LBH, **CRC, 'ub.flits': 32},
    {**LBH, **CRC, 'ub.flits': 2},
    {**LPH, 'ub.bcrc_good': 0, 'ub.lph.plength_dlldbs_less_one': 1,
     'ub.lph.plength_last_flits_less_one': 3, 'ub.lph.plength_code': 5},
    {**LBH, 'ub.bcrc_good': 0, 'ub.end.error_flag': 0, 'ub.flits': 4},
    {'ub.lch.type': 0x12, 'ub.sent': 1},
    {'ub.first': 0, 'ub.later': 0, 'ub.lbh.vl': 5, **CRC},
]
TRAINING = [
    {'ub.kind': 2, 'ub.lane': 0, 'ub.count': 100, 'ub.ltb.type': 0xa0,
     'ub.ltb.link_id': 0xff, 'ub.ltb.lane_id': 3, 'ub.ltb.max_width': 3,
     'ub.ltb.random': 0x55, 'ub.ltb.port_type': 1, 'ub.ltb.crc_good': 1},
    {'ub.lane': 1, 'ub.count': 101, 'ub.ltb.type': 0xb1,
     'ub.ltb.link_id': 0xff, 'ub.ltb.lane_id': 3, 'ub.ltb.crc_good': 1},
    {'ub.lane': 2, 'ub.ltb.type': 0xc1, 'ub.ltb.local_hs': 3,
     'ub.ltb.crc_good': 1},
    {'ub.lane': 3, 'ub.ltb.type': 0xd0, 'ub.ltb.eq_reject': 1,
     'ub.ltb.eq_phase': 3, 'ub.ltb.crc_good': 1},
    {'ub.lane': 7, 'ub.sent': 0, 'ub.ltb.type': 0xd0, 'ub.ltb.crc_good': 0,
     'ub.ltb.crc_bad': None},
]
LINK = (PACKETS +
        [{**c, 'ub.kind': 1, **CRC, 'ub.port': 1, 'ub.sent': 0}
         for c in CONTROLS] +
        [{**c, 'ub.kind': 1, 'ub.bcrc_good': 0, 'ub.end.error_flag': 0}
         for c in CONTROLS] + DLLDBS + TRAINING)


# ---- Layers above the link ----

RTPH = {'ub.cfg': 7, 'ub.nth_cna24.nlp': 2, 'ub.rtph.last': 1,
        'ub.rtph.srctpn': 0x123456, 'ub.rtph.dsttpn': 0xabcdef,
        'ub.rtph.a': 1, 'ub.rtph.f': 0, 'ub.rtph.psn': 10,
        'ub.rtph.tpmsn': 7, 'ub.icrc.good': 1}
SEID = ':'.join(['00'] * 12 + ['ff', 'fa', 'bc', 'de'])
DEID = ':'.join(['80'] + ['00'] * 12 + ['01', '23', '45'])
WIDE = {'ub.upih.upi': 0x1234, 'ub.eidh.seid': SEID, 'ub.eidh.deid': DEID}
WRITE = {'ub.btah.taopcode': 3, 'ub.udetah.ud': 0x200000,
         'ub.maetah.address': 0x123456780, 'ub.maetah.tokenid': 0xfedcb,
         'ub.tvetah.tokenvalue': 0x55667788}
CNP = {'ub.cetph.ecn': 3, 'ub.cetph.loc': 1}
LDCP = {'ub.cetph.ack_seq': 1000, 'ub.cetph.ce_seq': 50}
SACK = {'ub.saetph.bitmapsize': 0, 'ub.saetph.maxrcvpsn': 13,
        'ub.saetph.bitmap': '00:00:00:0d:00:00:00:00'}
TRANSPORT = [
    {**RTPH, **WIDE, **WRITE, 'ub.rtph.tpopcode': 1, 'ub.rtph.nlp': 1,
     'ub.rtph.padding': 3, 'ub.padding': '00:00:00', 'ub.maetah.length': 5,
     'ub.payload': 'a0:a1:a2:a3:a4'},
    {**RTPH, 'ub.rtph.tpopcode': 2},
    {**RTPH, **LDCP, 'ub.rtph.tpopcode': 3},
    {**RTPH, **SACK, 'ub.rtph.tpopcode': 5},
    {**RTPH, **LDCP, **SACK, 'ub.rtph.tpopcode': 6},
    {**RTPH, **CNP, 'ub.rtph.tpopcode': 8},
    {'ub.cfg': 7, 'ub.nth_cna24.nlp': 0, 'ub.ctph.tpopcode': 1,
     'ub.ctph.padding': 3, 'ub.cetph.ecn': 1, 'ub.cetph.loc': 0,
     'ub.icrc.good': 1, 'ub.padding': '00:00:00'},
    {'ub.cfg': 3, 'ip.src': '10.0.0.1', 'udp.dstport': 4792, **WIDE, **WRITE,
     'ub.utph.tpopcode': 0, 'ub.utph.nlp': 1, 'ub.icrc.icrc': None,
     'ub.payload': 'a0:a1:a2:a3', 'ub.maetah.length': 4},
    {'ub.cfg': 4, 'udp.dstport': 4792, **WIDE, **WRITE, 'ub.rtph.tpopcode': 1,
     'ub.rtph.psn': 10, 'ub.icrc.icrc': None, 'ub.payload': 'a0:a1:a2:a3'},
    {'ub.cfg': 6, 'ub.ctph.nlp': 3, 'ub.ciph.nlp': 1, 'ub.ciph.cip_id': 0x1234,
     'ub.ciph.sn': 7, 'ub.icrc.good': 1, 'ub.upih.upi': 0x20a1,
     'ub.eidh.seid': 0xa2a3a, 'ub.eidh.deid': 0x4a5a6,
     'ub.payload': ':'.join(f'{0xa7 + i:02x}' for i in range(5))},
]
DATA = ':'.join(f'{0xa0 + i:02x}' for i in range(64))
BE = ':'.join(['ff'] * 8)
# What each header shows.
UD = {'ub.udetah.ud': 0x200000}
MT = {'ub.mtetah.hint': 0x5a, 'ub.mtetah.tgt_tc_type': 2,
      'ub.mtetah.tgt_tc_id': 0x12345}
TAID = {'ub.taidetah.taid': 0xbeef}
OFST = {'ub.ofstetah.offset': 4}
MA = {'ub.maetah.address': 0x123456780, 'ub.maetah.tokenid': 0xfedcb,
      'ub.maetah.length': 64}
COMPACT_MA = {'ub.maetah.address_63_32': 1,
              'ub.maetah.address_31_6': 0x23456780 >> 6,
              'ub.maetah.affinity_hint': 1, 'ub.maetah.so': 1,
              'ub.maetah.length_code': 0, 'ub.maetah.tokenid': 0xfedcb}
IMM = {'ub.immetah.immediate_data': 0x1122334455667788,
       'ub.immetah.immediate_tokenvalue': 0xdeadbeef,
       'ub.immetah.msg_length': 0x3000}
NTF = {'ub.ntfetah.address': 0x10, 'ub.ntfetah.notify_tokenid': 0x123,
       'ub.ntfetah.notify_tokenvalue': 0xcafef00d,
       'ub.ntfetah.notify_data': 0x0102030405060708}
TV = {'ub.tvetah.tokenvalue': 0x55667788}
BEE = {'ub.beetah.be': BE}
PAY = {'ub.payload': DATA}
# Opcode: headers, and whether it goes over CFG 9.
REQUESTS = {
    0x00: (UD, MT, OFST, TV, PAY), 0x01: (UD, MT, OFST, IMM, TV, PAY),
    0x03: (UD, MA, TV, PAY), 0x04: (UD, MT, MA, IMM, TV, PAY),
    0x05: (UD, MA, NTF, TV, PAY), 0x06: (UD, TAID, OFST, MA, TV),
    **{op: (UD, TAID, MA, TV, PAY) for op in range(0x07, 0x10)},
    0x10: (UD, {'ub.mgmtetah.code': 4, 'ub.mgmtetah.sub_code': 2}),
    0x11: (), 0x12: (TAID, OFST, PAY), 0x13: (TAID, PAY),
    0x14: (UD, MA, TV, BEE, PAY), 0x15: (UD, MA), 0x17: (UD, MA, TV, PAY),
    0x18: (UD, MA, TV, BEE, PAY),
}
BYPASS = [0x03, *range(0x06, 0x10), 0x11, 0x12, 0x13, 0x14, 0x15]
ALL_EXTS = [UD, MT, TAID, OFST, MA, COMPACT_MA, IMM, NTF, TV, BEE]


def opcode(op, compact):
    """What a transaction of write-layers shows; other headers must not be."""
    base = 'atah' if 0x11 <= op <= 0x13 else 'btah'
    want = {name: [] for ext in ALL_EXTS for name in ext}
    want |= {f'ub.{base}.taopcode': op, f'ub.{base}.ini_tassn': 0x4321}
    if not compact:
        want |= {f'ub.{base}.ini_rc_id': 0xabcde, 'ub.cfg': 7,
                 'ub.ctph.padding': 3, 'ub.icrc.good': 1}
        if base == 'btah':
            want |= {'ub.btah.odr': 2, 'ub.btah.fce': 1}
        else:
            want |= {'ub.atah.rspst': 1, 'ub.atah.rspinfo': 9}
    for ext in REQUESTS[op]:
        if compact and ext in (TAID, OFST):
            continue
        want |= COMPACT_MA if compact and ext is MA else ext
    if compact:
        want['ub.icrc.icrc'] = []
    return want


MESSAGE = {'ub.cfg': 6, 'ub.nth_cna16.nlp': 0, 'ub.ctph.nlp': 2,
           'ub.upih.upi': 0x7fff, 'ub.eidh.seid': 0xabcde,
           'ub.eidh.deid': 0x12345, 'ub.btah.taopcode': 0x10,
           'ub.btah.ini_tassn': 0x77, 'ub.btah.ini_rc_id': 3,
           'ub.icrc.good': 1}
ID0 = '0c0d0e0f08090a0b0405060700010203'


def words(at, n=4):
    """A number of the PDU, whose bytes count up."""
    return int.from_bytes(range(at, at + n), 'big')


def id_at(at):
    """The same, of 128 bits."""
    return ''.join(f'{words(at + 4 * i):08x}' for i in (3, 2, 1, 0))


EVENT = {'scna': words(1, 3), 'port_idx': words(6, 2)}
CFG = {'entity_idx': 1, 'byte_en': 0, 'request_address': words(4),
       'data': words(12)}
# Code, sub code, PDU structure, what it shows.
MESSAGES = [
    *[(0, sub, 'error', {**EVENT, 'el': 0}) for sub in range(3)],
    *[(1, sub, 'link', EVENT) for sub in range(2)],
    *[(1, sub, 'plug', {'slot_idx': words(2, 2)}) for sub in (2, 3)],
    *[(2, sub, 'cfg', CFG) for sub in range(4)],
    (3, 0, None, {}), (3, 1, None, {}),
    (3, 15, 'vendor', {'version': 0, 'type': 0, 'vendor_id': words(4, 2),
                       'device_id': words(6, 2)}),
    (4, 1, 'resource', {'opcode': 1, 'ers0_sa0': words(4),
                        'ers2_sa1': words(24)}),
    (4, 2, None, {}), (4, 7, 'neighbor', {'d': 0, 'port_num': 1}),
    (5, 1, None, {}), (5, 2, 'token', {'check_en': 1}),
    (6, 0, 'register', {'upi': 1, 'entity_idx': words(2, 2),
                        'eid': id_at(4), 'guid': id_at(20),
                        'cna': words(37, 3), 'ueid': id_at(40),
                        'ers2_sa1': words(88)}),
    (6, 1, 'deregister', {'eid': id_at(0), 'reason': 19}),
    (6, 2, 'bi_create', {'guid': ID0, 'eid': id_at(16), 'upi': words(34, 2)}),
    (6, 3, 'bi_destroy', {'guid': ID0}),
    (6, 4, 'cfg_complete', {'f': 1, 'guid': id_at(4), 'eid': id_at(20)}),
    (6, 5, 'port_reset', {'port_idx': 1, 't': 1}),
]


def message(code, sub, rsp, structure, fields):
    """What a management message shows."""
    return {**MESSAGE, 'ub.mgmtetah.code': code, 'ub.mgmtetah.sub_code': sub,
            'ub.mgmtetah.rsp': rsp, 'ub.mgmt.message': None,
            **{f'ub.mgmt_{structure}.{name}': value
               for name, value in fields.items()}}


SCAN = {'ub.cfg': 6, 'ub.nth_cna16.nlp': 1, 'ub.upih.upi': 0x7fff,
        'ub.mgmt_scan.step': 1, 'ub.mgmt_scan_pdu.version': 1,
        'ub.mgmt_scan_pdu.msgq_id': 3, 'ub.mgmt_scan_pdu.msn': 0x1234,
        'ub.mgmt_scan_pdu.guid': 'e0fca120020000000000002200000033',
        'ub.icrc.good': 1}


def scan(hops, r, cmd, op, **fields):
    """What a scan shows: ports count up, and back down."""
    back = ' '.join(str(15 - i) for i in range(hops))
    return {**SCAN, 'ub.mgmt_scan.r': r, 'ub.mgmt_scan.hops': hops,
            'ub.mgmt_scan_pdu.cmd': cmd, 'ub.mgmt_scan_pdu.opcode': op,
            'ub.mgmt_scan.forward': ' '.join(str(i + 1) for i in range(hops)),
            'ub.mgmt_scan.return': back if r else [],
            **{'ub.mgmt_' + name.replace('__', '.'): value
               for name, value in fields.items()}}


SCANS = [
    scan(9, 1, 0, 1), scan(3, 1, 1, 3, scan_na_cfg__port_idx=6,
                           scan_na_cfg__cna=0xabcdef),
    scan(2, 1, 2, 3, scan_na_query__port_idx=6),
    scan(2, 0, 2, 0, scan_na_done__cna=0x123456), scan(1, 0, 1, 0),
    scan(1, 0, 0, 0, tlv__type=[0, 1, 4, 2], tlv__length=[4, 8, 8, 28],
         slice_info__total_slice=2, slice_info__slice_id=1,
         port_num__total_num_ports=9, port_num__num_port_tlv=1,
         cap_info__sup_mtu=2, cap_info__mtu=1, cap_info__da=1,
         cap_info__class_code=0xbeef, port_info__b=1, port_info__s=1,
         port_info__t=0, port_info__local_port_idx=4,
         port_info__remote_port_idx=5,
         port_info__remote_guid='00000000000000000000000000000077'),
]
BROKEN = [
    {'ub.cfg': 7, 'ub.icrc.good': 0, 'ub.icrc.bad': None},
    {'ub.cfg': 7, 'ub.rtph.psn': 10, 'ub.short': None},
]
# ---- Remote calls ----

SEND = {'ub.btah.taopcode': 0, 'ub.icrc.good': 1}
REQUEST = {
    **SEND, 'ub.urpc_request.version': 1, 'ub.urpc_request.type': 0,
    'ub.urpc_request.ack': 1, 'ub.urpc_request.argument_dma_count': 2,
    'ub.urpc_request.function': 0x002001800003,
    'ub.urpc_request.request_total_size': 0x1234,
    'ub.urpc_request.request_id': 0x55667788,
    'ub.urpc_request.client_urpc_channel': 0xabcdef,
    'ub.urpc_request.function_defined': 2}
ANSWER = {**SEND, 'ub.urpc_response.request_id': 0x55667788,
          'ub.urpc_response.client_urpc_channel': 0xabcdef}
URPC = [
    {**REQUEST, 'ub.urpc_dma.argument_dma_ub_address': [0x123456789abc0] * 2,
     'ub.urpc_dma.argument_dma_size': [4096, 4097],
     'ub.urpc_dma.argument_dma_ub_token': [0xcafef00d] * 2,
     'ub.urpc_plog_request.data_mode': 1, 'ub.urpc_plog_request.dma_count': 1,
     'ub.urpc_plog_request.user_head_offset': 44,
     'ub.urpc_plog_request.user_data_offset': 236,
     'ub.urpc_plog_request.local_queue_id': 7,
     'ub.urpc_plog_request.server_urpc_channel': 0x123456,
     'ub.urpc_plog_request.dma_redirect': 1,
     'ub.urpc_plog_request.early_rsp': 1, 'ub.urpc_plog_request.fc': 1,
     'ub.urpc_plog_request.local_queue_tokenvalue': 0x99,
     'ub.urpc_plog.user_head': ':'.join(['75', '73', '65', '72'] +
                                        ['00'] * 188),
     'ub.urpc_plog_sge.data_dma_ub_address': 0x1000,
     'ub.urpc_plog_sge.data_dma_size': 0x123456,
     'ub.urpc_plog_sge.data_dma_ub_tokenid': 0xabcde,
     'ub.urpc_plog_sge.data_dma_ub_eid_index': 0x987,
     'ub.urpc_plog_sge.data_dma_sgl_type': 0x0b,
     'ub.urpc_plog_sge.data_dma_ub_tokenvalue': 0x11223344,
     'ub.urpc_plog_sge.data_dma_flag': 0, 'ub.payload': '64:61:74:61'},
    {**SEND, 'ub.ofstetah.offset': 4096, 'ub.urpc_request.version': [],
     'ub.payload': None},
    {**REQUEST, 'ub.short': None, 'ub.urpc_dma.argument_dma_size': []},
    {**SEND, 'ub.urpc_request.version': [], 'ub.payload': None},
    {**SEND, 'ub.urpc_ack.type': 1, 'ub.urpc_ack.request_id_range': 3,
     'ub.urpc_ack.request_id': 0x55667788,
     'ub.urpc_ack.client_urpc_channel': 0xabcdef, 'ub.payload': []},
    {**ANSWER, 'ub.urpc_response.type': 3, 'ub.urpc_response.status': 0,
     'ub.urpc_response.request_id_range': 3,
     'ub.urpc_response.function_defined': 1,
     'ub.urpc_response.response_total_size': 18,
     'ub.urpc_response.return_data_offset': [1, 2], 'ub.payload': '61:62'},
    {**ANSWER, 'ub.urpc_response.type': 2, 'ub.urpc_response.status': 6,
     'ub.urpc_response.request_id_range': 1,
     'ub.urpc_response.return_data_offset': [],
     'ub.urpc_plog_response.version': 1, 'ub.urpc_plog_response.data_mode': 4,
     'ub.urpc_plog_response.dma_count': 2,
     'ub.urpc_plog_response.server_urpc_channel': 0x123456,
     'ub.urpc_plog.user_head': '68:68', 'ub.payload': '64:64:64'},
]
LAYERS = (TRANSPORT + [opcode(op, False) for op in REQUESTS] +
          [opcode(op, True) for op in BYPASS] +
          [message(code, sub, 0, *rest) for code, sub, *rest in MESSAGES] +
          [message(2, 0, 1, 'cfg_done', {'data': words(0)}),
           message(4, 1, 1, 'resource_done', {
               'ers0_ss': words(0), 'ers0_sa0': words(4),
               'ers2_sa1': words(32)})] + SCANS + URPC + BROKEN)


# Packets of IP, without what UB over Ethernet does not have.
UBOE = [{name: value for name, value in
         {**row, 'eth.src': '02:00:00:00:00:01', 'vlan.id': vlan,
          'ub.nth_ip.npi': []}.items() if name != 'ub.cfg'}
        for row in TRANSPORT if row['ub.cfg'] in (3, 4) for vlan in ([], 7)]


def uboe(sample):
    """The file @sample becomes one of Ethernet: the packets of IP in it."""
    with open(sample, 'rb') as f:
        data = f.read()
    out = struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
    while data:
        kind, size = struct.unpack_from('<II', data)
        block, data = data[:size], data[size:]
        if kind != 6:
            continue
        length, = struct.unpack_from('<I', block, 20)
        packet = block[28:28 + length]
        if packet[1] or packet[5] not in (3, 4):    # kind, CFG
            continue
        for tag in (b'', bytes.fromhex('81000007')):
            frame = (bytes.fromhex('020000000002020000000001') + tag +
                     bytes.fromhex('0800' if packet[5] == 3 else '86dd') +
                     packet[8 + 6:])
            out += struct.pack('<IIII', 0, 0, len(frame), len(frame)) + frame
    with open(sample, 'wb') as f:
        f.write(out)


def same(want, shown):
    """Does a field show the value?  None: it is enough that it is there."""
    if want is None:
        return True
    if isinstance(want, int):
        words = {'True': 1, 'False': 0}
        got = words[shown] if shown in words else int(shown, 0)
        return got == want
    return shown == want


def check(frame, want):
    """Yield what is wrong with a frame."""
    fields = {}
    for element in frame.iter('field'):
        fields.setdefault(element.get('name'), []).append(element.get('show'))
    for proto in frame.iter('proto'):
        fields.setdefault(proto.get('name'), []).append('')
    for name in ('_ws.malformed', '_ws.lua.error'):
        if name in fields:
            yield f'shows {name}'
    for name, value in want.items():
        values = value if isinstance(value, list) else [value]
        shown = fields.get(name, [])
        if len(shown) != len(values) or \
           not all(map(same, values, shown)):
            yield f'{name} shows {shown}, expected {values}'
    for name in ('ub.short', 'ub.ltb.crc_bad', 'ub.version_bad',
                 'ub.icrc.bad'):
        if name in fields and name not in want:
            yield f'shows {name}'


def main():
    tshark, script, writer = sys.argv[1:4]
    mode = ' '.join(sys.argv[4:])
    expected = {'': LINK, 'layers': LAYERS, 'uboe': UBOE}[mode]
    about = subprocess.run([tshark, '-v'], capture_output=True, text=True,
                           check=True).stdout
    if 'with Lua' not in ' '.join(about.split()):
        print('skipped: tshark was built without Lua')
        return 77
    with tempfile.TemporaryDirectory() as tmp:
        sample = os.path.join(tmp, 'sample.pcapng')
        subprocess.run([writer, '--sample', sample], check=True)
        if mode == 'uboe':
            uboe(sample)
        run = subprocess.run([tshark, '-n', '-o', 'ub.urpc:TRUE', '-X', f'lua_script:{script}', '-r',
                              sample, '-T', 'pdml'], capture_output=True,
                             text=True, check=True,
                             env=dict(os.environ, HOME=tmp))
    failed = 'Lua' in run.stderr or 'Lua Error' in run.stdout
    if failed:
        print(run.stderr)
    frames = xml.etree.ElementTree.fromstring(run.stdout).findall('packet')
    if len(frames) != len(expected):
        print(f'{len(frames)} frames, expected {len(expected)}')
        failed = True
    for number, (frame, want) in enumerate(zip(frames, expected), 1):
        for what in check(frame, want):
            print(f'frame {number}: {what}')
            failed = True
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
