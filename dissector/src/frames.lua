-- Frames: each passes here -----------------------------------------------------------------------------------------

-- Not indented: see replies.
do
local handle -- by which Wireshark knows this protocol

-- Methods of Wireshark's objects: to look one up costs as much as the call.
local captured_len, raw_bytes, is_referenced

-- A frame that may matter: its facts are taken in, then it is shown what they say.
local function look(tvb, pinfo, tree, segment, key, number, is_odd)
    local connection, options, related = take_in(key, segment, is_odd, number, pinfo)
    if connection then
        if says_in_info then
            say_in_info(pinfo, number, connection, segment, options)
        end
    elseif not related or not SYN[segment.flags] then
        return
    end
    if not handle then
        handle, is_referenced = Dissector.get("tfo"), tree.referenced
    end
    -- Also true where the tree is to be seen. Expert information counts even where no tree is wanted.
    if is_referenced(tree, handle) or (connection and is_remarkable(connection, number)) then
        show(tvb, pinfo, tree, segment, options, related, connection)
    elseif connection then
        show_event(tree, connection, pinfo)
    end
end

-- How a usual packet begins, as bytes of the frame: of IPv6 the first, of TCP the offset and the flags. USUAL_HEADER
-- has the bytes of options, of a header without SYN.
local IS_IPV6, USUAL_HEADER, TCP_BYTE = {}, {}, char(TCP)
for first = 0x60, 0x6F do
    IS_IPV6[char(first)] = true
end
for flags = 0, 255 do
    if not SYN[flags] then
        USUAL_HEADER[char(0x50, flags)] = 0
        USUAL_HEADER[char(0x80, flags)] = 12
    end
end

-- The same of a SYN: the IP header's length of one without data, IPv4's total and IPv6's payload.
local TOTAL_OF_SYN, PAYLOAD_OF_SYN = {}, {}
for bytes = 20, 60, 4 do
    for _, flags in ipairs({ 0x02, 0x12, 0x52, 0xC2 }) do -- with ECE and CWR, too
        local header = char(bytes * 4, flags)
        TOTAL_OF_SYN[header], PAYLOAD_OF_SYN[header] = char(0, 20 + bytes), char(0, bytes)
    end
end

-- Whether a SYN's options are none that matter here. Most come again and again, but for those with timestamps.
local DULL_KEPT = 256
local function are_dull(options)
    local known = dull_options[options]
    if known ~= nil then
        return known
    end
    known = not find(options, "[\11-\13\34\253\254]")
    if dull_count < DULL_KEPT and not find(options, "\8\10", 1, true) then
        dull_options[options], dull_count = known, dull_count + 1
    end
    return known
end

-- Whether a SYN or SYN-ACK is to be left: it has no data and no option that matters, and its connection is none of
-- ours. The bytes of its header are known to begin with `header`.
local function is_plain_syn(tvb, pinfo, ip, tcp, header, size)
    local is_ipv4 = tcp == ip + 20
    local total = (is_ipv4 and TOTAL_OF_SYN or PAYLOAD_OF_SYN)[header]
    if not total or raw_bytes(tvb, is_ipv4 and ip + 2 or ip + 4, 2) ~= total then
        return false
    end
    local bytes = HEADER_BYTES[byte(header)] - 20
    if bytes > 0 and (size < tcp + 20 + bytes or not are_dull(raw_bytes(tvb, tcp + 20, bytes))) then
        return false
    end
    local key = is_ipv4 and raw_bytes(tvb, ip + 12, 12) or raw_bytes(tvb, ip + 8, 36)
    if connections[key] then
        return false
    end
    local kept = raw_bytes(tvb, tcp + 4, 16 + bytes)
    if ACK[byte(header, 2)] then
        note_early(key, kept, pinfo.number, pinfo.abs_ts)
    else
        note_plain_syn(key, kept)
    end
    return true
end

-- Whether a frame is to be left at once: the usual packet of a connection that is none of ours, or whose facts are all
-- known. Only such bytes are cut out as are the same in many packets: Lua has those strings already, while a new one
-- of each packet has to be made and swept up again.
local function is_usual(tvb, pinfo, size)
    local ip = usual_place
    local key, tcp
    if size < ip + 34 then
        return false
    end
    local first = raw_bytes(tvb, ip, 1)
    if first == "E" then
        if raw_bytes(tvb, ip + 9, 1) ~= TCP_BYTE
            or not (ip == FIRST_PLACE or ends_within(raw_bytes(tvb, ip, 4), 0, size - ip)) then
            return false
        end
        tcp = ip + 20
    elseif
        IS_IPV6[first]
        and size >= ip + 54
        and raw_bytes(tvb, ip + 6, 1) == TCP_BYTE
        and (ip == FIRST_PLACE or ends_within(raw_bytes(tvb, ip, 6), 0, size - ip))
    then
        tcp = ip + 40
    else
        return false
    end
    local header = raw_bytes(tvb, tcp + 12, 2)
    local options = USUAL_HEADER[header]
    if not options then
        return is_plain_syn(tvb, pinfo, ip, tcp, header, size)
    elseif options ~= 0 and (size < tcp + 24 or raw_bytes(tvb, tcp + 20, 4) ~= TIMESTAMPS) then
        return false
    end
    if first == "E" then
        key = raw_bytes(tvb, ip + 12, 12)
    else
        key = raw_bytes(tvb, ip + 8, 36)
    end
    local connection = connections[key]
    return not connection
        or (connection[SETTLED] and not connection[EARLIER] and not owner[pinfo.number])
end

-- A frame that is not left at once. A call costs as much as a dozen bytes more of one that is made anyway.
local function dissect(tvb, pinfo, tree, size)
    local ip = usual_place
    local raw = raw_bytes(tvb, 0, min(size, ip + HEAD))
    local tcp, key
    -- Of IPv4 the packet's bytes, whether it is a fragment (n7, n8), the protocol and the ports; of TCP all, and four
    -- bytes of options.
    local first, _, total, n2, n3, n4, n7, n8, _, protocol, _, _, _, _, _, _, _, _, _, _, p1, p2, q1, q2,
        s1, s2, s3, s4, k1, k2, k3, k4, offset, flags, _, _, _, _, _, _, o1, o2, o3, o4 = byte(raw, ip + 1, ip + 44)
    if first == 0x45 and protocol == TCP and n7 % 64 == 0 and n8 == 0 and ip + total * 256 + n2 <= size then
        tcp, total, key = ip + 20, total * 256 + n2, sub(raw, ip + 13, ip + 24)
    elseif
        n7 == TCP
        and first >= 0x60
        and first < 0x70
        and (ip == FIRST_PLACE or ip + 40 + n3 * 256 + n4 <= size)
    then
        tcp, total, key = ip + 40, n3 * 256 + n4, sub(raw, ip + 9, ip + 44)
        total = total == 0 and 0 or total + 40
        p1, p2, q1, q2, s1, s2, s3, s4, k1, k2, k3, k4, offset, flags, _, _, _, _, _, _, o1, o2, o3, o4 =
            byte(raw, ip + 41, ip + 64)
    end
    if not flags or not tcp then
        raw, ip, tcp, key, total, s1, s2, s3, s4, k1, k2, k3, k4, offset, flags = read_unusual(tvb, pinfo)
        if not flags then
            return
        end
        p1 = nil
    end
    local is_odd = offset ~= 0x50 and not (offset == 0x80 and o1 == 1 and o2 == 1 and o3 == 8 and o4 == 10)
        and has_odd_options(raw, tcp, offset)
    local connection, is_syn = connections[key], SYN[flags]
    if is_syn then
        sweep_up()
        -- Of what the capture cuts off there is no telling.
        is_odd = is_odd or #raw < tcp + HEADER_BYTES[offset]
    end
    -- Nothing stands behind the TCP header, as the IP header says.
    local is_empty = total == tcp - ip + HEADER_BYTES[offset]
    if not connection and not is_odd and (not is_syn or is_empty) then
        if is_syn then
            local kept = sub(raw, tcp + 5, tcp + HEADER_BYTES[offset])
            if ACK[flags] then
                note_early(key, kept, pinfo.number, pinfo.abs_ts)
            else
                note_plain_syn(key, kept)
            end
        end
        return
    end
    local number = pinfo.number
    if not is_odd and not is_syn and is_dull(connection, key, flags, is_empty, number) then
        return
    end
    if not connection and p1 and (p1 * 256 + p2 ~= pinfo.src_port or q1 * 256 + q2 ~= pinfo.dst_port) then
        -- Not what Wireshark has found: a tunnel, or a fragment.
        raw, ip, tcp, key, total, s1, s2, s3, s4, k1, k2, k3, k4, offset, flags = read_inner(tvb, pinfo)
        if not flags then
            return
        end
        is_odd = true
    end
    if offset >= 0x50 then
        local segment = read_segment(raw, ip, tcp, total, tvb, s1, s2, s3, s4, k1, k2, k3, k4, offset, flags)
        look(tvb, pinfo, tree, segment, key, number, is_odd)
    end
end

-- Every frame passes here, and nearly all leave soon: what is done for each of them counts.
function tfo.dissector(tvb, pinfo, tree)
    begun = begun + 1
    if not raw_bytes then
        captured_len, raw_bytes = tvb.captured_len, tvb.raw
    end
    local size = captured_len(tvb)
    if not is_usual(tvb, pinfo, size) then
        dissect(tvb, pinfo, tree, size)
    end
    done = done + 1
end

end

function tfo.init()
    forget()
end

register_postdissector(tfo)

