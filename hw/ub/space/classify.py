#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Say of each field of registers.csv what it is at the device `ubc`.

usage: classify.py REGISTERS TABLE [--check]

TABLE (docs/conformance/ub-appD-fields.csv) gets a row for each field:

class  rw        written values come back, and the place named obeys them
       act       writing 1 acts, reads 0
       w1c       set by the device, cleared by writing 1
       state     shows what the device does: it changes
       fixed     by design: `value`, and the note says why
       absent    its slice is not announced: reads 0, is not written; or the
                 note names the property that it is there with
       reserved  reads 0, is not written
value  of `fixed`, hexadecimal, or "any" where it follows from a property;
       of `rw`, what is written where not every value may be
implemented, test, reach
       as in the other tables of docs/conformance: the place that obeys, acts or
       shows, and what tests it; the device test `ubc-fields-test` walks all of it
note   why

The rules below are matched in order; the first that fits a field is its class.
With --check nothing is written.
"""
import csv
import io
import re
import sys

REGS = 'hw/ub/port/regs.c:'
EMQ = 'hw/ub/mgmt/event.c:written_emq'
EMQ_PUT = 'hw/ub/mgmt/event.c:emq_put'
ERR = 'hw/ub/space/errors.c:ub_error_record_note'
CMD = 'hw/ub/lds/command.c:decoder_written'
LOGS = '/ub/ubc-regs/link-log'
SPACE = 'hw/ub/ubc/space.c:'
NET = 'hw/ub/ubc/net.c:'
ERS = 'hw/ub/ubc/resource.c:'
USI = 'hw/ub/ubc/usi.c:'
INFO = 'hw/ub/ubc/errinfo.c:'
PARTITION = 'hw/ub/ubc/partition.c:'

# (slice, register, field, class, value, place, shown, note); '' fits anything.
RULES = [
    # What the device does not announce.
    ('CFG0_CAP2_SHP', '', '', 'absent', '', 'hw/ub/mgmt/shp.c:written',
     '/ubc-slot/registers', 'only with property slots'),
    ('PORT_CAP(4|9|12)_', '', '', 'absent', '', '', '',
     'neither PHY mode has Data Rate 1, 6 or 9'),
    # Reserved, whatever the access column says.
    ('', '', '(RSVD|Reserved)', 'reserved', '', '', '', ''),
    ('', '', 'Slice (Used Size|Version)', 'fixed', 'any', '', '',
     'the size of the slice'),
    # CFG0_BASIC.
    ('CFG0_BASIC', 'Total', '', 'fixed', 'any', SPACE + 'init_features', '',
     'properties entities and ports'),
    ('', '', r'\w+_CAP Bitmap', 'fixed', 'any',
     'hw/ub/space/space.c:capability_show', '', 'slices that are there'),
    ('CFG0_BASIC', '', 'CC Supported', 'fixed', '1', SPACE + 'init_features',
     '', 'the transport layer has congestion control'),
    ('CFG0_BASIC', '', '(Switch|Route Table) Supported', 'fixed', 'any',
     NET + 'announce', '', 'properties forward and route-entries'),
    ('CFG0_BASIC', '', 'UPI Supported', 'fixed', '1', '', '',
     'the register UPI is there'),
    ('CFG0_BASIC', '', 'MTU Supported', 'fixed', '2', SPACE + 'init_features',
     '', '8192 bytes'),
    ('CFG0_BASIC', '', 'Entity Available', 'fixed', '1',
     SPACE + 'init_features', '', 'an Entity is there from power-on'),
    ('CFG0_BASIC', '(GUID|Module)', '', 'fixed', 'any', SPACE + 'init_guid',
     '', 'property guid'),
    ('CFG0_BASIC', '(EID|UPI)', '', 'rw', '', NET + 'follow_entity', '', ''),
    ('CFG0_BASIC', '(UBFM_EID|UBFM_CNA)', '', 'rw', '',
     'hw/ub/mgmt/event.c:tell', '', ''),
    ('CFG0_BASIC', 'Primary CNA', '', 'rw', '', NET + 'ubc_net_follow', '', ''),
    ('CFG0_BASIC', 'DEV_RST', '', 'act', '', SPACE + 'written_cfg0',
     '/ubc-fields/resets', 'everything is as after power-on'),
    ('CFG0_BASIC', 'MTU_CFG', '', 'rw', '1', NET + 'follow_layers', '',
     'reserved codes are refused'),
    ('CFG0_BASIC', 'CC_EN', '', 'rw', '', NET + 'follow_layers', '', ''),
    ('CFG0_BASIC', 'Trust_EN', '', 'fixed', '0', PARTITION + 'ubc_partition_tx',
     '/ubc-guard/partitions', 'rw with property eid-upi'),
    ('CFG0_BASIC', 'UEID', '', 'rw', '', USI + 'type1_get', '', ''),
    ('CFG0_BASIC', 'UCNA', '', 'rw', '', USI + 'way_to', '', ''),
    # Headers of faulty packets.
    ('CFG0_CAP4', '', 'Error Information Queue Depth', 'fixed', '10',
     INFO + 'ubc_error_info_init', '', 'property err-info'),
    ('CFG0_CAP4', '', '.*Consumer Pointer', 'state', '', INFO + 'written',
     '/ubc-error/info', 'follows what software takes, never beyond the producer'),
    ('CFG0_CAP4', '', '', 'state', '', INFO + 'show', '/ubc-error/info', ''),
    # EMQ.
    ('CFG0_CAP5', 'Error Message Queue Control', '', 'rw', '', EMQ_PUT, '', ''),
    ('CFG0_CAP5', '', '.*Queue Depth', 'fixed', '40',
     'hw/ub/mgmt/event.c:init_emq', '', 'entries of a queue'),
    ('CFG0_CAP5', '', '.* Mask', 'rw', '', EMQ_PUT, '', ''),
    ('CFG0_CAP5', '.* Status', '', 'w1c', '', EMQ_PUT, '', ''),
    ('CFG0_CAP5', '', '.*Consumer Pointer', 'state', '', EMQ, '',
     'follows what software takes, never beyond the producer'),
    ('CFG0_CAP5', '', '', 'state', '', 'hw/ub/mgmt/event.c:show_ring', '', ''),
    # CFG1_BASIC.
    ('CFG1_BASIC', '', 'Decoder MATT jurisdiction', 'fixed', '0',
     'hw/ub/ubc/window.c:ubc_window_init', '/ubc-matt/others',
     'the driver owns the table; 1 with property window-managed'),
    ('CFG1_BASIC', 'Supported Feature', '(MGS.*|RSVD)', 'fixed', '0', '', '',
     'no migration of Entities'),
    ('CFG1_BASIC', 'Supported Feature', '', 'fixed', 'any',
     ERS + 'ubc_resource_init', '', 'property entities'),
    ('CFG1_BASIC', 'ERS_ACCESS_EN', '', 'rw', '', ERS + 'ubc_resource_access',
     '', ''),
    ('CFG1_BASIC', 'ERS._SS', '', 'fixed', 'any', ERS + 'ubc_resource_refresh',
     '', 'counts in SYS_PGS'),
    ('CFG1_BASIC', 'ERS._SA', '', 'fixed', 'any', ERS + 'ubc_resource_init',
     '', ''),
    ('CFG1_BASIC', 'ERS._UBA', '', 'rw', '', ERS + 'ubc_resource_access', '',
     'other Entities follow Entity 0'),
    ('CFG1_BASIC', 'ELR done', '', 'state', '', SPACE + 'reset_entity', '', ''),
    ('CFG1_BASIC', 'ELR', '', 'act', '', SPACE + 'reset_entity',
     '/ubc-fields/resets', 'CFG1 is as after power-on'),
    ('CFG1_BASIC', 'SYS_PGS', '', 'rw', '', ERS + 'ubc_resource_refresh', '',
     ''),
    ('CFG1_BASIC', 'EID_UPI_TAB', '', 'fixed', '0', PARTITION + 'in_table',
     '/ubc-guard/partitions', 'rw with property eid-upi'),
    ('CFG1_BASIC', 'EID_UPI_TEN', '', 'fixed', '0',
     PARTITION + 'ubc_partition_init', '/ubc-guard/partitions',
     'property eid-upi; 0: UPIs are those of Entities'),
    ('CFG1_BASIC', 'Class Code', '', 'fixed', '0', SPACE + 'init_entity', '',
     'a bus controller; others by property entities'),
    ('CFG1_BASIC', 'DEV_TOKEN_ID', '', 'rw', '',
     'hw/ub/mgmt/answer.c:token_check', '', ''),
    ('CFG1_BASIC', 'BUS_EN', '', 'rw', '', 'hw/ub/ubc/ubc.c:follow_master', '',
     ''),
    # Decoder, queues.
    ('CFG1_CAP1', 'DECODER', '(mmio_size|Cmdq_depth|Eventq_depth)', 'fixed',
     'any', 'hw/ub/lds/lds.c:ub_lds_attach', '', 'property window'),
    ('CFG1_CAP1', 'DECODER_USI_IDX', '', 'state', '',
     'hw/ub/lds/command.c:vendor_written', '', ''),
    ('CFG1_CAP1', 'DECODER_(CMDQ|EVENTQ)_CFG', '.*depth_use', 'rw', '5', CMD,
     '', 'at most 10'),
    ('CFG1_CAP1', '', '(cmdq|eventq)_(wr|rd)_idx', 'rw', '1', CMD, '',
     'as long as the queue'),
    ('CFG1_CAP1', 'DECODER_CMDQ_PROD', 'cmdq_err_resp', 'rw', '', CMD, '', ''),
    ('CFG1_CAP1', '', '', 'rw', '', CMD, '', ''),
    ('CFG1_CAP2', '', '', 'fixed', 'any', SPACE + 'init_jetty', '',
     'what the engine has'),
    ('CFG1_CAP3', 'Supported Interrupt Number', '', 'fixed', '5',
     USI + 'ubc_usi_init', '', '32 vectors'),
    ('CFG1_CAP3', 'Interrupt_Enable_number', '', 'rw', '5', USI + 'type1_get',
     '', 'reserved codes are refused'),
    ('CFG1_CAP3', 'Interrupt_Pending', '', 'state', '', USI + 'type1_refresh',
     '/ubc-resource/type1', ''),
    ('CFG1_CAP3', '', '', 'rw', '', USI + 'type1_get', '', ''),
    ('CFG1_CAP4', 'Interrupt (ID|Mask|Enable)', '', 'rw', '',
     USI + 'type2_get', '', 'of Entity 1 in the walk'),
    ('CFG1_CAP4', '', '', 'fixed', 'any', USI + 'type2_init', '',
     '32 vectors and 32 addresses'),
    ('CFG1_CAP6', '', '', 'state', '', 'hw/ub/lds/command.c:vendor_written',
     '', ''),
    # Ports.
    ('PORT_BASIC', '', 'Enumeration Boundary', 'fixed', 'any', '', '',
     'not announced: enumeration goes on'),
    ('PORT_BASIC', '', 'Port type', 'fixed', '0', '', '', 'no virtual ports'),
    ('PORT_BASIC', '', 'Port Index', 'fixed', 'any', REGS + 'port_regs_init',
     '', ''),
    ('PORT_BASIC', 'Neighbor', '', 'state', '', REGS + 'refresh_basic', '', ''),
    ('PORT_BASIC', 'Port CNA', '', 'rw', '', NET + 'ubc_net_follow', '', ''),
    ('PORT_BASIC', 'Port Rst', '', 'act', '', REGS + 'written_basic',
     '/ubc-fields/resets', "the port's slices are as after power-on"),
    ('PORT_CAP1_', 'Data Link Capability', '', 'fixed', 'any',
     REGS + 'init_dll', '', 'what the layer has'),
    ('PORT_CAP1_', 'PHY Link Capability', '', 'fixed', 'any',
     REGS + 'init_phy', '', 'what the layer has'),
    ('PORT_CAP1_', 'Data Link (Conf|Remote|Retry|Perf|Mark)', '', 'rw', '',
     REGS + 'port_regs_configure', '', ''),
    ('PORT_CAP1_', 'PHY Link Control 1',
     '(Retrain Link|Change Link width.*)', 'act', '', REGS + 'written_link',
     '/ub/port/regs/requests', ''),
    ('PORT_CAP1_', 'PHY Link Control 2', 'Perform Equalization', 'act', '',
     REGS + 'written_link', '/ub/port/regs/requests', ''),
    ('PORT_CAP1_', 'PHY Link Control 2', '.*[Dd]e-?emphasis.*', 'rw', '', '',
     '', 'stored: there is no voltage'),
    ('PORT_CAP1_', 'PHY Link Control', '', 'rw', '', REGS + 'port_regs_apply',
     '', ''),
    ('PORT_CAP1_', 'PHY Link Status 3', '', 'w1c', '',
     REGS + 'port_regs_left_active', '', ''),
    ('PORT_CAP1_', '', 'Retry (Req|Ack) Status', 'state', '',
     'hw/ub/dll/dll.c:ub_dll_sm_status', '/dll/retry/exhaust/as-written', ''),
    ('PORT_CAP1_', '', 'Current [RT]X Link Width', 'state', '',
     REGS + 'refresh_link', '/ub/port/regs/linked', ''),
    ('PORT_CAP1_', '', 'Deskew_buf_overflow', 'state', '',
     REGS + 'refresh_link', '/pcs/deskew-overflow', ''),
    ('PORT_CAP1_', '', 'eBCH decode error', 'state', '',
     REGS + 'refresh_link', '/ubc-phy/registers', ''),
    ('PORT_CAP1_', '', '', 'state', '', REGS + 'refresh_link', '', ''),
    ('PORT_CAP2_', '', 'Flit Error Log Valid', 'w1c', '', REGS + 'log_update',
     LOGS, ''),
    ('PORT_CAP2_', '', '.*[Ee]nable', 'rw', '', REGS + 'written_log', '', ''),
    ('PORT_CAP2_', '', '', 'w1c', '', REGS + 'log_update', LOGS, ''),
    ('PORT_CAP(5|6|7|8|10|11)_', '.*Control', '', 'rw', '',
     REGS + 'written_rate', '', ''),
    ('PORT_CAP(5|6|7|8|10|11)_', '', 'Link Equalization Request', 'w1c', '',
     REGS + 'refresh_rate', '/ub/lmsm/rules/request-seen', ''),
    ('PORT_CAP(5|6|7|8|10|11)_', '', 'Transmitter Precoding On Request',
     'fixed', '0', '', '', 'precoding is what the vectors of both ends say'),
    ('PORT_CAP(5|6|7|8|10|11)_', '', '', 'state', '', REGS + 'refresh_rate',
     '', ''),
    ('PORT_CAP14', '.*Control', '', 'rw', '', REGS + 'written_eye', '', ''),
    ('PORT_CAP14', '', '', 'state', '', REGS + 'written_eye', '', ''),
    ('PORT_CAP15', 'Capability', '', 'fixed', 'any', REGS + 'init_phy', '',
     'property asymmetric'),
    ('PORT_CAP15', 'Control', '', 'rw', '', REGS + 'written_control', '', ''),
    ('PORT_CAP15', '', '', 'state', '', REGS + 'refresh_qdlws',
     '/ubc-phy/asymmetric', ''),
    ('PORT_CAP20', '', '', 'rw', '', REGS + 'written_control', '', ''),
    # Records of errors.
    ('.*ERR_RECORD', '.*Status', '', 'w1c', '', ERR, '', ''),
    ('.*ERR_RECORD', '', '', 'rw', '', ERR, '', ''),
    # Routes.
    ('ROUTE_TABLE', 'ROUTE_TABLE_CAP', '', 'fixed', 'any',
     'hw/ub/net/regs.c:ub_net_attach', '', 'property route-entries'),
    ('ROUTE_TABLE', '', '', 'rw', '', 'hw/ub/net/regs.c:written_routes', '',
     ''),
]
COPIED = ['space', 'register', 'byte_offset', 'field', 'msb', 'lsb']
COLUMNS = COPIED + ['class', 'value', 'implemented', 'test', 'reach', 'note']
WALK = '/ubc-fields/walk'
# Reserved bits that are printed over those of a neighbour (register, msb, lsb).
REPAIRED = {
    ('EMQ Non-Fatal Uncorrectable Error Status', '31', '2'): ('31', '9'),
    ('EMQ Fatal Uncorrectable Error Control', '31', '1'): ('15', '1'),
}
# Registers that nobody but the space knows.
STORE = 'hw/ub/space/space.c:ub_space_write'


def classify(row):
    for space, register, field, *what in RULES:
        exact = f'(?:{field})$' if field else ''
        if (re.match(space, row['space']) and
                re.match(register, row['register']) and
                re.match(exact, row['field'])):
            kind, value, place, shown, note = what
            if kind in ('absent', 'reserved') and not place:
                return [kind, '', '-', f'not modelled: {note or kind}'.replace(
                    ',', ''), '-', note]
            return [kind, value, place or STORE, shown or WALK,
                    'device' if not shown or shown.startswith('/ubc')
                    else 'library', note]
    raise SystemExit(f"no rule for {row['space']} {row['register']} "
                     f"{row['field']}")


def table(registers):
    out = io.StringIO()
    write = csv.writer(out, lineterminator='\n')
    write.writerow(COLUMNS)
    with open(registers, newline='', encoding='utf-8') as rows:
        for row in csv.DictReader(rows):
            key = row['register'], row['msb'], row['lsb']
            row['msb'], row['lsb'] = REPAIRED.get(key, key[1:])
            write.writerow([row[c] for c in COPIED] + classify(row))
    return out.getvalue()


def main(registers, path, *options):
    text = table(registers)
    if '--check' in options:
        with open(path, newline='', encoding='utf-8') as old:
            if old.read() != text:
                print(f'{path} is not what classify.py makes of {registers}')
                return 1
    else:
        with open(path, 'w', newline='', encoding='utf-8') as new:
            new.write(text)
    return 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
