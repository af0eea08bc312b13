-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- RC Link in Wireshark and tshark:
--
--   tshark -r port.pcap -X lua_script:tools/rclink/rclink.lua \
--       -o rclink.format:gen2 -V
--
-- The format is a port's setting that frames do not tell; the preferences have
-- it, the EtherTypes, traffic classes and whether TYPE1 has an ICRC.

local rclink = Proto("rclink", "RC Link")

local formats = { { 1, "standard", 0 }, { 2, "gen1", 1 }, { 3, "gen2", 2 },
                  { 4, "lite", 3 } }
local STANDARD, GEN1, GEN2, LITE = 0, 1, 2, 3

rclink.prefs.format = Pref.enum("Format", STANDARD,
    "MAC header of TYPE1 and TYPE2", formats, false)
rclink.prefs.type1 = Pref.uint("EtherType of TYPE1", 0x88b5,
    "MAC_ADDR[63:48]")
rclink.prefs.type2 = Pref.uint("EtherType of TYPE2", 0x88b6,
    "DEST_MAC_MEM2[63:48]")
rclink.prefs.port2 = Pref.uint("UDP port of TYPE2", 4792,
    "UDP_PORT_MEM2[31:16]")
rclink.prefs.tc1 = Pref.string("Classes of TYPE1", "02,06,0a,0e",
    "TRAFFIC_CLASS of the banks, hexadecimal; the upper six bits count")
rclink.prefs.tc2 = Pref.string("Class of TYPE2", "1a",
    "TRAFFIC_CLASS[47:40], hexadecimal")
rclink.prefs.icrc = Pref.bool("ICRC", true, "TYPE1 ends with an ICRC")

local opcodes = { [0] = "SEND", [1] = "ACK", [2] = "CNP", [3] = "reserved" }
local f = {
    kind = ProtoField.uint8("rclink.type", "Type", base.DEC,
                            { "TYPE1", "TYPE2" }),
    tc = ProtoField.uint8("rclink.tc", "Traffic class", base.HEX),
    key = ProtoField.uint8("rclink.key", "Key_words", base.HEX),
    opcode = ProtoField.uint8("rclink.opcode", "Opcode", base.DEC, opcodes,
                              0xc0),
    fack = ProtoField.bool("rclink.fack", "FACK", 8, nil, 0x20),
    pad = ProtoField.uint8("rclink.pad", "Pad", base.DEC, nil, 0x18),
    ts_en = ProtoField.bool("rclink.ts_en", "Timestamp present", 8, nil, 0x01),
    ts = ProtoField.uint16("rclink.ts", "Timestamp", base.DEC),
    pkey = ProtoField.uint8("rclink.pkey", "P_key", base.HEX),
    len = ProtoField.uint8("rclink.pkt_len", "Pkt_len", base.DEC),
    syndrome = ProtoField.uint8("rclink.syndrome", "Aeth_syndrom", base.HEX),
    psn = ProtoField.uint16("rclink.psn", "PSN", base.DEC),
    qp = ProtoField.uint16("rclink.qp", "Dest_QP", base.DEC),
    xpu = ProtoField.uint16("rclink.xpu", "XPU_ID", base.DEC),
    data = ProtoField.bytes("rclink.data", "Payload"),
    size = ProtoField.uint16("rclink.size", "Payload length", base.DEC),
    icrc = ProtoField.uint32("rclink.icrc", "ICRC", base.HEX),
    good = ProtoField.bool("rclink.icrc_good", "ICRC is right"),
    cbfc = ProtoField.uint8("rclink.cbfc", "Credits", base.DEC,
                            { [2] = "freed by the receiver",
                              [3] = "used by the sender" }),
    vc = {},
}
for v = 0, 7 do
    f.vc[v] = ProtoField.uint32("rclink.vc" .. v, "VC " .. v, base.DEC)
end
local all = {}
for name, field in pairs(f) do
    if name ~= "vc" then all[#all + 1] = field end
end
for v = 0, 7 do all[#all + 1] = f.vc[v] end
rclink.fields = all

local wrong = ProtoExpert.new("rclink.bad_icrc", "ICRC is wrong",
                              expert.group.CHECKSUM, expert.severity.ERROR)
rclink.experts = { wrong }

local eth = Dissector.get("eth_withoutfcs")

-- CRC-32 of 802.3 over a string, a byte at a time.
local crc_table = {}
for i = 0, 255 do
    local c = i
    for _ = 1, 8 do
        if bit.band(c, 1) == 1 then
            c = bit.bxor(bit.rshift(c, 1), 0xedb88320)
        else
            c = bit.rshift(c, 1)
        end
    end
    crc_table[i] = c
end

local function crc32(s)
    local c = -1
    for i = 1, #s do
        c = bit.bxor(bit.rshift(c, 8),
                     crc_table[bit.band(bit.bxor(c, s:byte(i)), 0xff)])
    end
    return bit.bnot(c) % 0x100000000
end

-- TYPE1, TYPE2 or nil by a frame's traffic class.
local function kind_of_class(tc)
    for word in rclink.prefs.tc1:gmatch("%x+") do
        if bit.rshift(tonumber(word, 16), 2) == bit.rshift(tc, 2) then
            return 1
        end
    end
    return bit.rshift(tonumber(rclink.prefs.tc2, 16), 2) == bit.rshift(tc, 2)
           and 2 or nil
end

-- Kind and where RH begins (Lite: the payload), or nil: it is none of ours.
local function classify(buf, format)
    if buf:len() < 14 then return nil end
    local at, ethertype = 12, buf(12, 2):uint()
    if format == LITE then
        return ethertype ~= 0x8808 and buf(6, 1):uint() >= 0x80 and
               kind_of_class(buf(0, 1):uint()) or nil, 12
    end
    if (ethertype == 0x8100 or ethertype == 0x88a8) and buf:len() >= 18 then
        at, ethertype = 16, buf(16, 2):uint()
    end
    at = at + 2
    if ethertype == 0x0800 and buf:len() >= at + 36 then
        local port = buf(at + 22, 2):uint()
        if buf(at, 1):uint() ~= 0x45 or buf(at + 9, 1):uint() ~= 17 or
           bit.band(buf(at + 6, 2):uint(), 0x3fff) ~= 0 then
            return nil
        end
        return port == 4791 and 1 or port == rclink.prefs.port2 and 2 or nil,
               at + 28, buf(at + 24, 2):uint() - 8
    end
    return ethertype == rclink.prefs.type1 and 1 or
           ethertype == rclink.prefs.type2 and 2 or nil, at
end

local function payload_add(tree, buf, at, size, moved)
    if moved then
        tree:add(f.data, buf(1, 3)):append_text(" (in DA)")
        tree:add(f.data, buf(7, 3)):append_text(" (in SA)")
    end
    if at and size > 0 then tree:add(f.data, buf(at, size)) end
end

local function lite(buf, tree, pinfo, kind)
    tree:add(f.tc, buf(0, 1))
    tree:add(f.key, buf(6, 1))
    tree:add(f.xpu, buf(10, 2))
    payload_add(tree, buf, 12, buf:len() - 12, true)
    tree:add(f.size, buf:len() - 6):set_generated()
    pinfo.cols.info = string.format("TYPE%d Lite, %d bytes", kind,
                                    buf:len() - 6)
end

-- RH, payload and ICRC from @at on; @left is their length where UDP tells.
local function transport(buf, tree, pinfo, kind, format, at, left)
    local rh = buf(at, 8)
    local op = bit.rshift(rh(0, 1):uint(), 6)
    local pad = bit.band(bit.rshift(rh(0, 1):uint(), 3), 3)
    local len = bit.rshift(rh(4, 1):uint(), 1)
    local psn = bit.band(bit.rshift(rh(4, 3):uint(), 5), 0xfff)
    local qp = bit.band(rh(6, 2):uint(), 0x1fff)
    local moved = format == GEN2 and op == 0
    local icrc = kind == 1 and rclink.prefs.icrc
    local region = (left or buf:len() - at) - 8 - (icrc and 4 or 0)

    if format == GEN1 then tree:add(f.tc, buf(6, 1)) end
    if format == GEN2 then
        tree:add(f.tc, buf(0, 1))
        tree:add(f.key, buf(6, 1))
    end
    for _, name in ipairs { "opcode", "fack", "pad", "ts_en" } do
        tree:add(f[name], rh(0, 1))
    end
    tree:add(f.ts, rh(1, 2))
    tree:add(f.pkey, rh(3, 1))
    tree:add(op == 0 and f.len or f.syndrome, rh(4, 1), len)
    tree:add(f.psn, rh(4, 3), psn)
    tree:add(f.qp, rh(6, 2), qp)
    -- Pkt_len takes the padding of the MAC away.
    if op ~= 0 then
        region, pad = 0, 0
    elseif len > 0 then
        region = len - 8 + pad - (moved and 6 or 0)
    end
    local size = region - pad + (moved and 6 or 0)
    if region < pad or at + 8 + region + (icrc and 4 or 0) > buf:len() then
        tree:add_proto_expert_info(wrong, "lengths contradict each other")
        return
    end
    payload_add(tree, buf, at + 8, region - pad, moved)
    tree:add(f.size, size):set_generated()
    if icrc then
        local tail = buf(at + 8 + region, 4)
        local text = buf:raw(at, 8)
        if moved then text = text .. buf:raw(1, 3) .. buf:raw(7, 3) end
        if region > 0 then text = text .. buf:raw(at + 8, region) end
        local good = crc32(text) == tail:le_uint()
        tree:add_le(f.icrc, tail)
        tree:add(f.good, good):set_generated()
        if not good then tree:add_proto_expert_info(wrong) end
    end
    pinfo.cols.info = string.format("TYPE%d %s QP %d PSN %d, %d bytes", kind,
                                    opcodes[op], qp, psn, size)
end

-- Counters of CBFC, a MAC control frame.
local function credits(buf, tree, pinfo)
    local vcs = buf(17, 1):uint()
    tree:add(f.cbfc, buf(16, 1))
    for v = 0, 7 do
        if bit.band(bit.rshift(vcs, v), 1) == 1 then
            tree:add(f.vc[v], buf(18 + 4 * v, 4))
        end
    end
    pinfo.cols.info = "CBFC"
end

function rclink.dissector(buf, pinfo, root)
    local format = rclink.prefs.format
    local kind, at, left = classify(buf, format)
    local cbfc = buf:len() >= 50 and buf(12, 4):uint() == 0x8808cbfc

    -- Addresses, tags, IP and UDP are known already.
    if not kind or format ~= LITE then eth:call(buf, pinfo, root) end
    if not kind and not cbfc then return end
    pinfo.cols.protocol = "RC Link"
    local tree = root:add(rclink, cbfc and buf(16) or buf(at))
    if cbfc then
        credits(buf, tree, pinfo)
        return
    end
    tree:add(f.kind, kind):set_generated()
    if format == LITE then
        lite(buf, tree, pinfo, kind)
    elseif buf:len() >= at + 8 then
        transport(buf, tree, pinfo, kind, format, at, left)
    end
end

DissectorTable.get("wtap_encap"):add(wtap.ETHERNET, rclink)
