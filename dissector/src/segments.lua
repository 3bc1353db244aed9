-- Segments: where they stand in the frame -----------------------------------------------------------------------

local TCP, ICMP, ICMPV6 = 6, 1, 58
local PORTS_OF_TCP = 2 -- pinfo.port_type
local HEAD = 100 -- bytes from the IP header on that are looked at first: the longest IPv6 and TCP headers fit

-- Flags byte -> has it that flag; byte with the data offset -> bytes of the header. Tables, because bit operators are
-- not in 5.2, bit32 is not in 5.4, and calls cost more.
local FIN, SYN, RST, ACK = {}, {}, {}, {}
local HEADER_BYTES = {}
local ONLY_ACK = 16
for flags = 0, 255 do
    FIN[flags] = flags % 2 >= 1
    SYN[flags] = flags % 4 >= 2
    HEADER_BYTES[flags] = floor(flags / 16) * 4
    RST[flags] = flags % 8 >= 4
    ACK[flags] = flags % 32 >= 16
end

local function number16(raw, at)
    local high, low = byte(raw, at + 1, at + 2)
    return low and high * 256 + low
end

-- Offsets count from 0, as in a tvb. Where the IP header stood in the frame before: of the whole capture, mostly.
local FIRST_PLACE = 14 -- on Ethernet
local usual_place = FIRST_PLACE

-- Takes in an ICMP error; defined where connections are known.
local note_icmp

-- Not indented: see replies.
local read_ip, search
do
-- Whether the IPv4 packet at `at` is a part of a larger one: its length is not that of the segment.
local function is_fragment(raw, at)
    local high, low = byte(raw, at + 7, at + 8)
    return high % 64 ~= 0 or low ~= 0
end

-- The TCP header behind the IP header at `at`, and the bytes of addresses and ports; nil where it is no such thing.
function read_ip(raw, at)
    local first, protocol = byte(raw, at + 1), byte(raw, at + 10)
    if not protocol then
        return nil
    elseif first >= 0x45 and first < 0x50 then
        if protocol == TCP and not is_fragment(raw, at) then
            local tcp = at + (first - 0x40) * 4
            return tcp, sub(raw, at + 13, at + 20) .. sub(raw, tcp + 1, tcp + 4)
        end
    elseif first >= 0x60 and first < 0x70 then
        if byte(raw, at + 7) == TCP then
            return at + 40, sub(raw, at + 9, at + 44)
        end
    end
    return nil
end

-- Headers between that of IP and that of TCP which begin with the kind of the next one and a length: IPv6's
-- extensions, those of mobility, HIP and shim6, and the authentication header, which IPv4 has, too.
local FRAGMENT, AUTHENTICATION = 44, 51
local EXTENSIONS = { [0] = true, [43] = true, [60] = true, [135] = true, [139] = true, [140] = true }

-- Bytes of a header of that kind at `place`; nil where it is none of these, or a part of a larger packet begins there.
local function size_of_extension(raw, kind, place, size)
    if kind == AUTHENTICATION then
        return size * 4 + 8
    elseif kind == FRAGMENT then
        local high, low = byte(raw, place + 3, place + 4)
        return high == 0 and low and low < 8 and low % 2 == 0 and 8
    end
    return EXTENSIONS[kind] and size * 8 + 8
end

-- The end of the headers from `place` on, of which the first is of that kind: the offset of TCP, or nil.
local function skip_extensions(raw, kind, place)
    for _ = 1, 8 do
        if kind == TCP then
            return place
        end
        local following, size = byte(raw, place + 1, place + 2)
        local bytes = size and size_of_extension(raw, kind, place, size)
        if not bytes then
            return nil
        end
        place, kind = place + bytes, following
    end
    return nil
end

-- The IP header that ends where a TCP header begins, or nil.
local function ip_before(raw, tcp)
    for at = tcp - 20, max(tcp - 296, 0), -4 do
        local first = byte(raw, at + 1)
        local addresses
        if first >= 0x45 and first < 0x50 then
            local place = at + (first - 0x40) * 4
            if skip_extensions(raw, byte(raw, at + 10), place) == tcp and not is_fragment(raw, at) then
                addresses = sub(raw, at + 13, at + 20)
            end
        elseif first >= 0x60 and first < 0x70 and skip_extensions(raw, byte(raw, at + 7), at + 40) == tcp then
            addresses = sub(raw, at + 9, at + 40)
        end
        if addresses then
            return at, addresses .. sub(raw, tcp + 1, tcp + 4)
        end
    end
    return nil
end

-- An ICMP error holds the segment it complains of: that was sent by nobody here.
local function is_quoted(raw, at)
    return (at >= 28 and byte(raw, at - 27) == 0x45 and byte(raw, at - 18) == ICMP)
        or (at >= 48 and floor(byte(raw, at - 47) / 16) == 6 and byte(raw, at - 41) == ICMPV6)
end

-- The IP header that an ICMP error quotes, or nil. `at`: of the error's own.
local function quoted_by(raw, at)
    local first = byte(raw, at + 1)
    if first == 0x45 and byte(raw, at + 10) == ICMP then
        return at + 28
    elseif first and first >= 0x60 and first < 0x70 and byte(raw, at + 7) == ICMPV6 then
        return at + 48
    end
    return nil
end

-- Where IP headers stand on common link layers: raw IP, loopback, Ethernet, cooked, one VLAN tag, cooked 2, two tags.
local COMMON_PLACES = { 0, 4, 14, 16, 18, 20, 22 }

-- Since 4.4 Wireshark gives no ports to a frame with an ICMP error. Other bytes may look like one: `note_icmp` takes
-- only what quotes a SYN that was seen.
local function search_icmp(raw, number)
    for place = 0, #COMMON_PLACES do
        local at = quoted_by(raw, COMMON_PLACES[place] or usual_place)
        local tcp, key
        if at then
            tcp, key = read_ip(raw, at)
        end
        if tcp then
            note_icmp(raw, at, tcp, key, number)
        end
    end
end

-- The innermost segment, by the ports that Wireshark found: for unusual link layers, extensions and tunnels.
function search(raw, pinfo)
    if pinfo.port_type ~= PORTS_OF_TCP then
        search_icmp(raw, pinfo.number)
        return nil
    end
    local sport, dport = pinfo.src_port, pinfo.dst_port
    local ports = char(floor(sport / 256), sport % 256, floor(dport / 256), dport % 256)
    local place = find(raw, ports, 21, true)
    while place do
        local tcp = place - 1
        local at, key = ip_before(raw, tcp)
        if at then
            if not is_quoted(raw, at) then
                return tcp, key, at
            end
            note_icmp(raw, at, tcp, key, pinfo.number)
        end
        place = find(raw, ports, place + 1, true)
    end
    return nil
end

end

-- Distance from one sequence number to another, negative where it lies before.
local function distance(from, to)
    local ahead = (to - from) % WRAP
    return ahead < WRAP / 2 and ahead or ahead - WRAP
end

-- Bytes of a packet by its IP header; 0 where they are too many for its field.
local function total_of(raw, ip)
    if byte(raw, ip + 1) < 0x60 then
        return number16(raw, ip + 2)
    end
    local payload = number16(raw, ip + 4)
    return payload == 0 and 0 or payload + 40
end

-- Whether the packet which seems to begin at `ip` ends within `size` bytes. Where other packets of the capture have
-- another encapsulation, an address or a checksum may look like a header, and its length then tells.
local function ends_within(raw, ip, size)
    if byte(raw, ip + 1) < 0x60 then
        return ip + number16(raw, ip + 2) <= size
    end
    local payload = number16(raw, ip + 4)
    return payload ~= nil and ip + 40 + payload <= size
end

-- What the dissector reads of a usual packet, of one at an unusual place. nil where it is cut off.
local function read_header(raw, ip, tcp, key)
    if #raw < tcp + 14 then
        return nil
    end
    return raw, ip, tcp, key, total_of(raw, ip), byte(raw, tcp + 5, tcp + 14)
end

local function read_unusual(tvb, pinfo)
    local raw, ip = tvb:raw(), usual_place
    local tcp, key = read_ip(raw, ip)
    if not tcp or not ends_within(raw, ip, tvb:reported_len()) then
        tcp, key, ip = search(raw, pinfo)
        if not tcp then
            return nil
        end
        usual_place = ip
    end
    return read_header(raw, ip, tcp, key)
end

local function read_inner(tvb, pinfo)
    local raw = tvb:raw()
    local tcp, key, ip = search(raw, pinfo)
    if not tcp then
        return nil
    end
    return read_header(raw, ip, tcp, key)
end

-- Hops that a packet may still make, as its IP header says.
local function hops_of(raw, ip)
    return byte(raw, byte(raw, ip + 1) < 0x60 and ip + 9 or ip + 8)
end

-- The identification of an IPv4 packet; 0 where there is none.
local function identification(raw, ip)
    return byte(raw, ip + 1) < 0x60 and number16(raw, ip + 4) or 0
end

-- All that matters of a segment, as numbers: one table for all of them. `cut`: the capture ends within its options.
local the_segment = {}
local function read_segment(raw, ip, tcp, total, tvb, s1, s2, s3, s4, a1, a2, a3, a4, offset, flags)
    local head = HEADER_BYTES[offset]
    -- Where it is too much for the field, the network card has cut it up later.
    local finish = total == 0 and tvb:reported_len() or total + ip
    local segment = the_segment
    segment.flags = flags
    segment.seq = ((s1 * 256 + s2) * 256 + s3) * 256 + s4
    segment.ack = ((a1 * 256 + a2) * 256 + a3) * 256 + a4
    local len, options_end = finish - tcp - head, tcp + head
    segment.len = len > 0 and len or 0
    segment.raw, segment.ip = raw, ip
    segment.cut = #raw < min(options_end, finish)
    segment.options = tcp + 20
    segment.options_end = options_end <= finish and options_end <= #raw and options_end or min(finish, #raw)
    return segment
end

