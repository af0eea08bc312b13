#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Dissect the sample capture with tshark and compare what it shows.

usage: check-dissector.py TSHARK UB_LUA TEST_CAPTURE

TEST_CAPTURE --sample writes the file, with the writers of the cores; the
values that must come out of it stand here.
"""
import os
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
     'ub.nth_cna24.sl': 10, 'ub.nth_cna24.nlp': 2, 'ub.payload': '01:02:03'},
    {'ub.cfg': 6, 'ub.nth_cna16.scna': 0x1234, 'ub.nth_cna16.dcna': 0xabcd,
     'ub.nth_cna16.cci': 0xbeef, 'ub.nth_cna16.lbf': 0x66,
     'ub.nth_cna16.sl': 3, 'ub.nth_cna16.mgmt': 1, 'ub.nth_cna16.nlp': 1,
     'ub.payload': '09:09'},
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
WANT = (PACKETS +
        [{**c, 'ub.kind': 1, **CRC, 'ub.port': 1, 'ub.sent': 0}
         for c in CONTROLS] +
        [{**c, 'ub.kind': 1, 'ub.bcrc_good': 0, 'ub.end.error_flag': 0}
         for c in CONTROLS] + DLLDBS + TRAINING)


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
    for name in ('ub.short', 'ub.ltb.crc_bad', 'ub.version_bad'):
        if name in fields and name not in want:
            yield f'shows {name}'


def main():
    tshark, script, writer = sys.argv[1:]
    about = subprocess.run([tshark, '-v'], capture_output=True, text=True,
                           check=True, timeout=60).stdout
    if 'with Lua' not in ' '.join(about.split()):
        print('skipped: tshark was built without Lua')
        return 77
    with tempfile.TemporaryDirectory() as tmp:
        sample = os.path.join(tmp, 'sample.pcapng')
        subprocess.run([writer, '--sample', sample], check=True, timeout=60)
        run = subprocess.run([tshark, '-n', '-X', f'lua_script:{script}', '-r',
                              sample, '-T', 'pdml'], capture_output=True,
                             text=True, check=True, timeout=100,
                             env=dict(os.environ, HOME=tmp))
    failed = 'Lua' in run.stderr or 'Lua Error' in run.stdout
    if failed:
        print(run.stderr)
    frames = xml.etree.ElementTree.fromstring(run.stdout).findall('packet')
    if len(frames) != len(WANT):
        print(f'{len(frames)} frames, expected {len(WANT)}')
        failed = True
    for number, (frame, want) in enumerate(zip(frames, WANT), 1):
        for what in check(frame, want):
            print(f'frame {number}: {what}')
            failed = True
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
