-- Built from dissector/src by `make plugin`: change it there.
-- TCP Fast Open in Wireshark and tshark: what happened to each connection, and which options break RFC 7413.
-- One file, for Wireshark 4.0 (Lua 5.2) to 4.6 (Lua 5.4). Fields, outcomes and statistics: see README.md.
--
-- No field of Wireshark's is read. Asking for a single one makes Wireshark build the tree of every packet, which
-- costs more than all that is done here; so the segment is found in the frame's bytes, and most are left after one
-- look. It also means that all works in the first pass of `tshark -2`, which has no fields.

local VERSION = "1.0"
-- Installed, and named with -X besides: the second would be an error, since a protocol's name is taken once.
if rawget(_G, "tfo_plugin_version") then
    return
end
rawset(_G, "tfo_plugin_version", VERSION)
if set_plugin_info then
    set_plugin_info({ version = VERSION, description = "TCP Fast Open: the outcome of each connection" })
end

local byte, char, find, format, sub = string.byte, string.char, string.find, string.format, string.sub
local floor, max, min = math.floor, math.max, math.min
local concat, sort = table.concat, table.sort

local WRAP = 4294967296

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

-- Options: what stands in a header --------------------------------------------------------------------------------

local EOL, NOP, MSS, KIND, EXPERIMENT_1, EXPERIMENT_2 = 0, 1, 2, 34, 253, 254
local EXID = "\249\137" -- 0xF989
local RELATED = { [11] = "T/TCP CC", [12] = "T/TCP CC.NEW", [13] = "T/TCP CC.ECHO" }

local function length_rule(length, held, cookie)
    if not length then
        return "OPT-7: the option has no length byte"
    elseif length < 2 then
        return format("OPT-7: length %d is below 2", length)
    elseif length ~= held then
        return format("OPT-7: length %d runs past the end of the options", length)
    elseif length % 2 == 1 then
        return format("OPT-2: length %d is odd", length)
    elseif #cookie ~= 0 and (#cookie < 4 or #cookie > 16) then
        return format("OPT-1: a cookie of %d bytes; 4 to 16 are allowed", #cookie)
    end
    return nil
end

-- The name of an option akin to fast open that is not it (RFC 1644; RFC 6013, whose cookies have no ExID).
local function related_name(kind, length)
    if RELATED[kind] then
        return RELATED[kind]
    elseif kind == EXPERIMENT_1 and (length == 2 or (length >= 10 and length <= 18 and length % 2 == 0)) then
        return "TCPCT cookie"
    end
    return nil
end

local function add_related(names, kind, length)
    local name = related_name(kind, length)
    if name then
        names = names or {}
        names[#names + 1] = name
    end
    return names
end

-- The option between two offsets, of which the first bytes are no cookie.
local function read_fast_open(raw, at, stop, kind, length, before)
    local cookie_at = min(at + before, stop)
    local cookie = sub(raw, cookie_at + 1, stop)
    return {
        kind = kind, at = at, size = stop - at, cookie = cookie, cookie_at = cookie_at,
        rule = length_rule(length, stop - at, cookie),
    }
end

local NONE = {}

-- The Fast Open options from offset `at` up to `finish`, in order, valid or not; how the walk ended; the MSS; and
-- the names of related options. Each option: kind, at, size, cookie, cookie_at, rule (nil where it is valid).
local function read_options(raw, at, finish)
    local found, mss, related = NONE, nil, nil
    local bytes, before = { byte(raw, at + 1, finish) }, at - 1
    while at < finish do
        local kind = bytes[at - before]
        if kind == NOP then
            at = at + 1
        elseif kind == EOL then
            return found, at + 1, mss, related
        else
            local length = bytes[at - before + 1]
            if kind >= KIND then
                local stop = length and length >= 2 and min(at + length, finish) or finish
                local is_experiment = (kind == EXPERIMENT_1 or kind == EXPERIMENT_2)
                    and sub(raw, at + 3, min(at + 4, stop)) == EXID
                if kind == KIND or is_experiment then
                    found = found == NONE and {} or found
                    found[#found + 1] = read_fast_open(raw, at, stop, kind, length, is_experiment and 4 or 2)
                elseif kind == EXPERIMENT_1 and length then
                    related = add_related(related, kind, length)
                end
            elseif kind == MSS and length == 4 and at + 4 <= finish then
                mss = bytes[at - before + 2] * 256 + bytes[at - before + 3]
            elseif RELATED[kind] and length then
                related = add_related(related, kind, length)
            end
            if not length or length < 2 then
                break
            end
            at = at + length
        end
    end
    return found, nil, mss, related
end

-- Whether there may be an option that matters here. The bytes that were looked at hold all that was captured of it.
local function has_odd_options(raw, tcp, offset)
    if offset <= 0x50 then
        return false
    end
    local odd = find(raw, "[\11-\13\34\253\254]", tcp + 21)
    return odd and odd <= tcp + HEADER_BYTES[offset]
end

local TIMESTAMPS = "\1\1\8\10" -- the options of nearly all segments without SYN begin so

local function number32(raw, at)
    local b1, b2, b3, b4 = byte(raw, at + 1, at + 4)
    return ((b1 * 256 + b2) * 256 + b3) * 256 + b4
end

-- TSval and TSecr of a segment (RFC 7323); nil where it has none, or the capture cuts them off.
local function times_of(segment)
    local raw, at, finish = segment.raw, segment.options, segment.options_end
    if sub(raw, at + 1, at + 4) == TIMESTAMPS and at + 12 <= finish then
        return number32(raw, at + 4), number32(raw, at + 8)
    end
    while at < finish do
        local kind, length = byte(raw, at + 1, at + 2)
        if kind == NOP then
            length = 1
        elseif kind == EOL or not length or length < 2 then
            return nil
        elseif kind == 8 and length == 10 and at + 10 <= finish then
            return number32(raw, at + 2), number32(raw, at + 6)
        end
        at = at + length
    end
    return nil
end

-- The MSS of a SYN-ACK that holds nothing else of interest: it stands first, as a rule.
local function first_mss(raw, at, finish)
    local kind, length, high, low = byte(raw, at + 1, at + 4)
    if kind == MSS and length == 4 and at + 4 <= finish then
        return high * 256 + low
    end
    local _, _, mss = read_options(raw, at, finish)
    return mss
end

-- What breaks a rule in the options of one segment: a list of {rule, severity}.
local function option_problems(raw, options, after_eol, finish, has_syn)
    local hides = after_eol and find(sub(raw, after_eol + 1, finish), "[\34\253\254]")
    if has_syn and not hides and (#options == 0 or (#options == 1 and not options[1].rule)) then
        return NONE
    end
    local problems = {}
    local function problem(rule, severity)
        problems[#problems + 1] = { rule = rule, severity = severity }
    end
    local assigned, experimental = 0, 0
    for _, option in ipairs(options) do
        if option.rule then
            problem(option.rule, "error")
        end
        if option.kind == KIND then
            assigned = assigned + 1
        else
            experimental = experimental + 1
        end
    end
    if assigned > 1 or experimental > 1 then
        problem("OPT-8: the option stands twice", "warning")
    end
    if assigned > 0 and experimental > 0 then
        problem("OPT-8: kind 34 and the experimental form together", "warning")
    end
    if not has_syn and #options > 0 then
        problem("OPT-4: the option on a segment without SYN", "warning")
    end
    if hides then
        local hidden = read_options(raw, after_eol, finish)
        if hidden[1] and not hidden[1].rule then
            problem("OPT-10: the option behind the end of the list is not read", "warning")
        end
    end
    return problems
end

-- Facts: the few that are kept of a connection with fast open -----------------------------------------------------

-- A connection is one flat table, as there may be a hundred thousand of them. What most come to have stands in numbered
-- slots, which take half the memory of names; the rest under its name. Numbers of frames, times in seconds:
--   KEY                     addresses and ports, as the client's packets have them
--   FIRST                   its first frame
--   EARLIER                 the next older connection of the same addresses and ports
--   SETTLED                 whether nothing more is to come that matters
--   ISN, LEN, fin           of the SYN: sequence number, bytes of data, whether it has FIN
--   SYN_IN, SYN_TIME        the SYN
--   SYN_TS, SYN_ID, SYN_HOPS  its TSval, IP identification and hops left
--   COOKIE                  of the SYN: "" in a request, nil without a valid option
--   cut_syn, cut_reply      whether the capture cuts the options of the SYN, of the SYN-ACK off
--   again                   the SYNs that the client sent later with the same ISN: a list of {frame, time, ts, len,
--                           plain}, without copies
--   REPLY, REPLY_TIME, REPLY_SEQ, ACKED         the SYN-ACK; bytes of data that it acknowledges
--   REPLY_TS, REPLY_ECR, REPLY_HOPS             its TSval, TSecr and hops left
--   replies                 the SYN-ACKs that the server sent later: a list of {frame, time, seq, ts, ecr}
--   late                    a sign that the SYN-ACK was under way while the client waited to send its SYN again
--   GRANTED                 the cookie in the SYN-ACK; had_option where there is an option without one
--   second_reply            a sign that a second connection took the same data
--   doubtful_reply          a packet of the server that may be a sign of that
--   acked_first             ACKED before a SYN-ACK of another server's ISN acknowledged more
--   after_plain             whether a plain SYN of the same number came before
--   foreign_reply           a SYN-ACK that answers something else; answers_plain where that was a plain SYN
--   ESTABLISHED             the client's first packet that is no SYN; established_time, its time where it is the very
--                           one that answers the SYN-ACK; established_ecr, its TSecr
--   ANSWER, ANSWER_TIME     the server's first byte that the client could use
--   SERVED                  the server's first packet without SYN of this connection
--   RESENT, RESENT_TO, RESENT_IN                bytes of the SYN's data sent again, up to which, where first
--   REACHED                 bytes of the stream that the client has sent, as its packets without SYN show
--   answered_to             the same of the server, within REACH
--   reset, client_reset, icmp                   RST of the server, of the client before an answer; ICMP error
--   other_answer            the server's ACK in place of a SYN-ACK that is of another connection
--   ended                   where another connection of the same addresses and ports begins
--   changed, shared_with    the frame of the cookie had before; another client with the same one
--   data_before             the connection before between the same client, server and port whose SYN has data
--   broken_option           the rule that the SYN's option breaks, where it has no valid one
--   accepted_before, granted_in                 where this server took other data; where it gave this cookie
--   over_mss, unsolicited, problems
-- Each fact is the earliest frame's, in whatever order the frames come. What is not known is false or nil.
local KEY, FIRST, EARLIER, SETTLED, ISN, LEN, SYN_IN, SYN_TIME, COOKIE = 1, 2, 3, 4, 5, 6, 7, 8, 9
local REPLY, REPLY_TIME, REPLY_SEQ, ACKED, GRANTED, ESTABLISHED = 10, 11, 12, 13, 14, 15
local ANSWER, ANSWER_TIME, RESENT, RESENT_TO, RESENT_IN = 16, 17, 18, 19, 20
local SYN_TS, SYN_ID, SYN_HOPS, REPLY_TS, REPLY_ECR, REPLY_HOPS, SERVED, REACHED = 21, 22, 23, 24, 25, 26, 27, 28

local connections -- key, of either side's packets -> the newest connection that has it
local in_order, is_sorted -- all connections, as they were met; whether that is by their first frames
local owner -- frame -> its connection, where the frame is one of its facts
local first_with_cookie -- server .. cookie -> the connection that met it first
local newest_of_pair -- client .. server -> the connection with the newest cookie
local data_of_pair -- client, server and its port -> the newest connection whose SYN has data
local accepted_at -- server and port -> the newest frame in which it acknowledged data of a SYN
local plain_syn, plain_before, plain_count -- key -> header of a SYN without fast open; forgotten by and by
local early, early_before, early_count -- key -> {header, frame, time, the one before it} of a SYN-ACK
local cut_count -- SYNs of which the capture has not enough to tell whether they are a fast open's
local dull_options, dull_count -- options of SYNs, as bytes -> whether none of them matters here
local has_columns, asked_at -- whether there is a column to write to; the newest frame where that was asked
local said -- text -> as it stands in the column
local most_memory -- KB of Lua's from which on it is swept up
local begun, done -- frames that were handed to the plugin, and that it came to the end of: others failed

local function forget()
    connections, in_order, owner, first_with_cookie, newest_of_pair, accepted_at = {}, {}, {}, {}, {}, {}
    data_of_pair = {}
    plain_syn, plain_before, plain_count = {}, {}, 0
    early, early_before, early_count = {}, {}, 0
    cut_count = 0
    dull_options, dull_count = {}, 0
    is_sorted = true
    usual_place = FIRST_PLACE
    has_columns, asked_at, said = false, 0, {}
    most_memory = 0
    begun, done = 0, 0
end
forget()

-- When Lua's memory is swept up: where it has grown by a quarter and 24 MB, in KB. Lua alone would do it when it has
-- doubled, which with few connections is each few hundred packets, and with many takes much memory. The pause, in per
-- cent, is for captures in which no SYN comes.
local LITTER, GROWTH = 24576, 1.25
collectgarbage("setpause", 1000)

local function sweep_up()
    if collectgarbage("count") > most_memory then
        collectgarbage()
        most_memory = collectgarbage("count") * GROWTH + LITTER
    end
end

-- A SYN without fast open; `header`: its TCP header from the sequence number on, as far as it was captured.
local PLAIN_KEPT, SWEPT_AFTER = 4096, 16 -- the first is a multiple of the second
local function note_plain_syn(key, header)
    if plain_count % SWEPT_AFTER == 0 then
        sweep_up()
        if plain_count == PLAIN_KEPT then
            plain_before, plain_syn, plain_count = plain_syn, {}, 0
        end
    end
    plain_syn[key] = header
    plain_count = plain_count + 1
end

-- A SYN-ACK that comes before its SYN, where two captures with different clocks were merged. `header`: as above.
local EARLY_KEPT = 1024
local function note_early(key, header, number, time)
    if early_count == EARLY_KEPT then
        early_before, early, early_count = early, {}, 0
    end
    early[key] = { header, number, time, early[key] }
    early_count = early_count + 1
end

local function reversed(key)
    local size = (#key - 4) / 2
    return sub(key, size + 1, 2 * size) .. sub(key, 1, size) .. sub(key, -2) .. sub(key, -4, -3)
end

local function client_of(connection)
    return sub(connection[KEY], 1, (#connection[KEY] - 4) / 2)
end

local function server_of(connection)
    local size = (#connection[KEY] - 4) / 2
    return sub(connection[KEY], size + 1, 2 * size)
end

-- Address and port as one key.
local function listener_of(connection)
    return server_of(connection) .. sub(connection[KEY], -2)
end

-- The connection of that pair to which a frame of that number belongs, or nil.
local function connection_at(key, number)
    local connection = connections[key]
    while connection and connection[FIRST] > number do
        connection = connection[EARLIER]
    end
    if connection and connection.ended and number >= connection.ended then
        return nil
    end
    return connection
end

-- Frames may come out of order: connections of one pair stay sorted by their first frame.
local function open_connection(key, number)
    local connection = {
        key, number, false, false, false, false, false, false, false, false,
        false, false, false, false, false, false, false, false, false, false,
        false, false, false, false, false, false, false, false,
    }
    local newer, older = nil, connections[key]
    while older and older[FIRST] > number do
        newer, older = older, older[EARLIER]
    end
    connection[EARLIER] = older or false
    if newer then
        newer[EARLIER] = connection
    else
        local back = reversed(key)
        connections[key], connections[back] = connection, connection
    end
    local before = in_order[#in_order]
    in_order[#in_order + 1] = connection
    is_sorted = is_sorted and (not before or before[FIRST] <= number)
    return connection
end

local function add_problem(connection, frame, rule, severity)
    connection.problems = connection.problems or {}
    connection.problems[#connection.problems + 1] = { frame = frame, rule = rule, severity = severity }
end

-- A fact that is the earliest frame's.
local function note_first(connection, fact, number)
    local known = connection[fact]
    if not known or number < known then
        connection[fact] = number
        return true
    end
    return false
end

-- Frame and time at which a connection met a cookie: where it came, or else where it was sent.
local function met(connection, cookie)
    if connection[GRANTED] == cookie then
        return connection[REPLY], connection[REPLY_TIME]
    end
    return connection[SYN_IN], connection[SYN_TIME]
end

-- Where a cookie was met before; which other this client had; who else has it.
local function note_cookie(connection, cookie, number)
    local pair = sub(connection[KEY], 1, -5)
    local had = newest_of_pair[pair]
    newest_of_pair[pair] = connection
    if had and had[GRANTED] == cookie then
        connection.granted_in = had[REPLY]
    elseif had and had[COOKIE] == cookie then
        connection.granted_in = had.granted_in
    end
    if had and is_sorted and not had.shared_with and (had[GRANTED] or had[COOKIE]) == cookie then
        return -- the one that this client had anyway: where it was met first is known
    end
    local at_server = server_of(connection) .. cookie
    local known = first_with_cookie[at_server]
    if not known or known[FIRST] > number then
        first_with_cookie[at_server] = connection
    end
    if known and client_of(known) ~= client_of(connection) then
        connection.shared_with = client_of(known)
        add_problem(connection, number, "SRV-1: another client has this cookie", "warning")
    end
    local old = had and had[FIRST] <= number and (had[GRANTED] or had[COOKIE])
    if old and old ~= cookie and old ~= "" then
        connection.changed = met(first_with_cookie[server_of(connection) .. old] or had, old)
    end
end

local function last_valid(options)
    for place = #options, 1, -1 do
        if not options[place].rule then
            return options[place].cookie
        end
    end
    return nil
end

-- Replies: which packet is a copy of which, and which SYN a SYN-ACK answers ------------------------------------------

-- Not indented: the block only hides its names, as Lua allows 200 of them at the top level.
local header_from_seq, is_cut_header, was_before, is_copy, acknowledged, names_syn, most_sent, note_late
local take_reply, take_early
local COPIED_WITHIN = 0.1 -- seconds; no SYN is sent again so soon (RFC 6298: 1 s; Linux: 0.2 s at least)
-- Bytes beyond the SYN's that a SYN-ACK may acknowledge: more than twice the data that a SYN can hold is no wrong count
-- but another connection on the same ports, whose SYN was not captured.
local MOST_BEYOND = 4096
local the_early = {} -- a header that was kept, as a segment
do
-- Whether a SYN is the very packet that was seen before, captured twice. TSval tells; without it the identification,
-- which Linux counts up for each packet; without both nothing but the time.
function is_copy(connection, segment, ts, time)
    local sent = { ts = connection[SYN_TS], time = connection[SYN_TIME] }
    for place = 0, #(connection.again or NONE) do
        local known = place == 0 and sent or connection.again[place]
        if ts and known.ts then
            if ts == known.ts then
                return true
            end
        elseif segment.len == (place == 0 and connection[LEN] or known.len) then
            local id = identification(segment.raw, segment.ip)
            local is_same = place == 0 and id ~= 0 and id == connection[SYN_ID]
            local may_be = place > 0 or segment.len > 0 or segment.has_option
            if is_same or (may_be and time - known.time < COPIED_WITHIN) then
                return true
            end
        end
    end
    return false
end

-- The TCP header from the sequence number on.
function header_from_seq(segment)
    return sub(segment.raw, segment.options - 15, segment.options_end)
end

-- Whether the capture ends within such a header.
function is_cut_header(header)
    return #header < HEADER_BYTES[byte(header, 9)] - 4
end

-- Whether a SYN without fast open, or a SYN-ACK, is a copy of one that came before the connection's first frame.
function was_before(kept, segment)
    return kept and not is_cut_header(kept) and kept == header_from_seq(segment)
end

-- Bytes of the SYN's data that a SYN-ACK acknowledges, or nil where it answers another SYN.
function acknowledged(connection, ack)
    local acked = connection[ISN] and distance(connection[ISN], ack) - 1
    return acked and acked >= 0 and acked <= connection[LEN] + MOST_BEYOND and acked or nil
end

-- Whether a SYN-ACK names one of the SYNs that were seen; nil where it names none at all.
function names_syn(connection, ecr)
    if not ecr or ecr == 0 or not connection[SYN_TS] then
        return nil
    elseif ecr == connection[SYN_TS] then
        return true
    end
    for _, syn in ipairs(connection.again or NONE) do
        if ecr == syn.ts then
            return true
        end
    end
    return false
end

function most_sent(connection)
    local most = connection[LEN]
    for _, syn in ipairs(connection.again or NONE) do
        most = max(most, syn.len)
    end
    return most + (connection.fin and 1 or 0)
end

-- Whether the SYN-ACK took longer than a later packet of the server, by nearly as much as the client waited: by the
-- server's clock, of which a tick is a millisecond with all stacks that matter. True where it is news.
local TICK = 0.001
function note_late(connection, ts, time)
    local again = connection.again
    if again and ts and connection[REPLY_TS] and not connection.late then
        local excess = distance(connection[REPLY_TS], ts) * TICK - (time - connection[REPLY_TIME])
        connection.late = excess > max((again[1].time - connection[SYN_TIME]) / 2, COPIED_WITHIN) or nil
        return connection.late
    end
    return nil
end

local REPLIES_KEPT = 8
-- What a SYN-ACK of this connection says; `acked`: as `acknowledged` tells.
function take_reply(connection, reply, acked)
    local is_within = acked <= most_sent(connection)
    if connection[REPLY] and reply.seq ~= connection[REPLY_SEQ] then
        if not is_within then
            return false
        elseif acked > 0 and (connection[ACKED] > 0 or connection[RESENT]) then
            -- Where it answers a packet that was not captured, this is no proof.
            local what = names_syn(connection, reply.ecr) == false and "doubtful_reply" or "second_reply"
            note_first(connection, what, max(reply.frame, connection[REPLY]))
        end
        connection.acked_first = connection.acked_first or connection[ACKED]
    end
    connection[ACKED] = max(connection[ACKED] or 0, acked)
    local is_another = connection[REPLY] and (reply.seq ~= connection[REPLY_SEQ] or reply.ts ~= connection[REPLY_TS]
        or (not reply.ts and reply.time - connection[REPLY_TIME] >= COPIED_WITHIN))
    if is_another then
        local replies = connection.replies or {}
        connection.replies = replies
        if #replies < REPLIES_KEPT then
            replies[#replies + 1] = reply
        end
        if reply.seq == connection[REPLY_SEQ] then
            note_late(connection, reply.ts, reply.time)
        end
    end
    if note_first(connection, REPLY, reply.frame) then
        connection[REPLY_TIME], connection[REPLY_SEQ] = reply.time, reply.seq
        connection[REPLY_TS], connection[REPLY_ECR] = reply.ts or false, reply.ecr or false
        connection[REPLY_HOPS] = reply.hops or false
    end
    if acked > 0 and is_within then
        accepted_at[listener_of(connection)] = reply.frame
    elseif acked == 0 and connection[LEN] > 0 then
        connection.accepted_before = accepted_at[listener_of(connection)]
    end
    return true
end

-- A SYN-ACK that came before its SYN, as its bytes are kept; whether it was taken.
local function take_one_early(connection, header, number, time)
    local segment = the_early
    local acked = acknowledged(connection, number32(header, 4))
    segment.raw, segment.options, segment.options_end = header, 16, #header
    local ts, ecr = times_of(segment)
    if not acked or (ecr and ecr ~= connection[SYN_TS]) then
        return false
    elseif not ecr and acked > most_sent(connection) then
        note_first(connection, "doubtful_reply", number) -- it may be of a connection before
        return false
    end
    local reply = { frame = number, time = time, seq = number32(header, 0), ts = ts, ecr = ecr }
    if not take_reply(connection, reply, acked) then
        return false
    elseif is_cut_header(header) then
        connection.cut_reply = true
        return true
    end
    local cookie = last_valid((read_options(header, 16, #header)))
    connection[GRANTED] = cookie and cookie ~= "" and cookie or connection[GRANTED]
    return true
end

-- The SYN-ACKs that came before their SYN: see `note_early`.
function take_early(connection, key)
    local back = reversed(key)
    local kept, newest = {}, early[back] or early_before[back]
    if newest and connection.after_plain then
        connection.answers_plain = newest[2]
        return
    end
    for _, from in ipairs({ early, early_before }) do
        local each = from[back]
        while each do
            kept[#kept + 1] = each
            each = each[4]
        end
    end
    for place = #kept, 1, -1 do
        if take_one_early(connection, kept[place][1], kept[place][2], kept[place][3]) then
            connection.foreign_reply = nil
            early[back], early_before[back] = nil, nil
        end
    end
end

end

-- Feeding: what a frame tells is taken in, once ---------------------------------------------------------------------

-- Not indented: see replies.
local is_dull, take_in
do
local function open_by_syn(key, segment, options, related, number)
    if #options == 0 and (segment.len == 0 or related) then
        if segment.cut then
            cut_count = cut_count + 1
        end
        note_plain_syn(key, header_from_seq(segment))
        return nil
    end
    return open_connection(key, number)
end

-- A SYN that is sent again: the client has waited for an answer.
local function take_again(connection, segment, options, ts, number, time)
    local again = connection.again or {}
    connection.again = again
    again[#again + 1] = { frame = number, time = time, ts = ts, len = segment.len, plain = #options == 0 }
    if connection[ANSWER] and connection[ANSWER] < number and not connection[ESTABLISHED] then
        connection[ANSWER], connection[ANSWER_TIME] = false, false -- the client could not use it
    end
end

local function feed_syn(key, segment, options, related, number, pinfo)
    local connection = connection_at(key, number)
    if connection and connection[KEY] ~= key then
        connection = nil -- a simultaneous open: the other side's is a connection of its own
    end
    -- The same ISN is the same SYN, also when its connection is over: whoever takes its data takes it twice.
    if connection and connection[ISN] and connection[ISN] ~= segment.seq then
        connection.ended = min(connection.ended or number, number)
        connection = nil
    elseif connection and connection.foreign_ack and not connection[ISN] then
        local acked = distance(segment.seq, connection.foreign_ack)
        if acked < 0 or acked > segment.len + MOST_BEYOND then
            connection.ended, connection = number, nil
        end
    end
    connection = connection or open_by_syn(key, segment, options, related, number)
    if not connection then
        return nil
    end
    if #options == 0 and was_before(plain_syn[key] or plain_before[key], segment) then
        return nil
    end
    local time, ts = pinfo.abs_ts, (times_of(segment))
    segment.has_option = #options > 0
    if not note_first(connection, SYN_IN, number) then
        if not is_copy(connection, segment, ts, time) then
            take_again(connection, segment, options, ts, number, time)
            connection.cut_syn = segment.cut or connection.cut_syn
        end
        connection[SETTLED] = false
        return connection
    end
    local cookie = last_valid(options)
    connection[ISN], connection[LEN], connection[SYN_TIME] = segment.seq, segment.len, time
    connection[SYN_TS], connection[SYN_ID] = ts or false, identification(segment.raw, segment.ip)
    connection[SYN_HOPS] = hops_of(segment.raw, segment.ip)
    if FIN[segment.flags] then
        connection.fin = true
    end
    connection.cut_syn = segment.cut or connection.cut_syn
    if segment.len > 0 then
        local pair = sub(key, 1, -5) .. sub(key, -2)
        connection.data_before = data_of_pair[pair]
        data_of_pair[pair] = connection
    end
    if #options > 0 and not cookie then
        connection.broken_option = options[#options].rule
    end
    if cookie and not segment.cut then
        if cookie ~= "" then
            note_cookie(connection, cookie, number)
        end
        connection[COOKIE] = cookie
    end
    local plain = plain_syn[key] or plain_before[key]
    connection.after_plain = plain and number32(plain, 0) == segment.seq or nil
    take_early(connection, key)
    return connection
end

-- A connection that begins with its SYN-ACK, and what may be said of its cookie.
local function open_by_syn_ack(key, segment, number)
    local connection = open_connection(key, number)
    local plain = plain_syn[key] or plain_before[key]
    if plain and is_cut_header(plain) then
        connection.cut_syn = true
    elseif plain and number32(plain, 0) == (segment.ack - 1) % WRAP then
        the_early.raw, the_early.options, the_early.options_end = plain, 16, #plain
        local ts, _ = times_of(the_early)
        local _, ecr = times_of(segment)
        -- It must name this SYN: one that asked for the cookie may not have been captured.
        connection.unsolicited = true
        if ts and ecr == ts then
            add_problem(connection, number, "SRV-8: a cookie that nobody asked for", "warning")
        end
    end
    return connection
end

local function feed_syn_ack(key, segment, options, mss, number, pinfo)
    local connection = connection_at(key, number)
    if connection and connection[KEY] == key then
        connection = nil
    end
    local acked = connection and acknowledged(connection, segment.ack)
    if connection and not acked and connection[REPLY] and segment.seq ~= connection[REPLY_SEQ] then
        connection.ended = min(connection.ended or number, number)
        connection = nil
    end
    local kept = early[key] or early_before[key]
    if connection and kept and was_before(kept[1], segment) then
        return nil
    end
    local ts, ecr = times_of(segment)
    local hops = hops_of(segment.raw, segment.ip)
    if not acked then
        note_early(key, header_from_seq(segment), number, pinfo.abs_ts)
    end
    if not connection then
        if #options == 0 then
            return nil
        end
        connection = open_by_syn_ack(reversed(key), segment, number)
    end
    local names = acked and names_syn(connection, ecr)
    local reply = { frame = number, time = pinfo.abs_ts, seq = segment.seq, ts = ts, ecr = ecr, hops = hops }
    if acked and acked > most_sent(connection) and names == false then
        acked = nil -- it answers a SYN that was not captured
    end
    if not acked or not take_reply(connection, reply, acked) then
        if note_first(connection, "foreign_reply", number) then
            connection.foreign_ack = (segment.ack - 1) % WRAP
            if connection[SYN_TS] and ecr == connection[SYN_TS] then
                add_problem(connection, number, "CLI-15: the acknowledgement is not of this SYN", "warning")
            end
        end
        return connection
    end
    if segment.cut then
        connection.cut_reply = true
    end
    if mss and connection[LEN] > mss then
        connection.over_mss = mss
    end
    local cookie = last_valid(options)
    if cookie and cookie ~= "" then
        if connection[GRANTED] ~= cookie then
            note_cookie(connection, cookie, number)
        end
        connection[GRANTED] = connection[GRANTED] or cookie
    elseif #options > 0 then
        connection.had_option = true
    end
    return connection
end

-- Bytes of sequence numbers within which a packet is taken for one of this connection.
local REACH = 1073741824

-- The client's first packet behind its SYN. Whether it says more than that the handshake is done: which SYN-ACK came.
local function note_established(connection, segment, start, number, pinfo)
    if not note_first(connection, ESTABLISHED, number) then
        return false
    end
    local _, ecr = times_of(segment)
    connection.established_ecr = ecr
    connection.established_ack, connection.established_at = segment.ack, start
    connection.established_time = pinfo.abs_ts
    return connection.again or connection.replies or (ecr and connection[REPLY_TS] and ecr ~= connection[REPLY_TS])
end

local function feed_from_client(connection, segment, number, pinfo)
    if not connection[ISN] then
        note_first(connection, ESTABLISHED, number)
        return false
    end
    local start = distance(connection[ISN], segment.seq) - 1
    if start < 0 or start > REACH then
        return false
    elseif RST[segment.flags] then
        if connection[REPLY] then
            return false
        end
        return note_first(connection, "client_reset", number)
    end
    local is_fact = note_established(connection, segment, start, number, pinfo) and true or false
    connection[REACHED] = max(connection[REACHED] or 0, start + segment.len)
    if segment.len == 0 or start >= connection[LEN] then
        return is_fact
    end
    local _, ecr = times_of(segment)
    if ecr and connection[REPLY_TS] and distance(connection[REPLY_TS], ecr) < 0 then
        return is_fact -- sent before the SYN-ACK was: a packet of a connection before, late or captured twice
    end
    local finish, reached = min(start + segment.len, connection[LEN]), connection[RESENT_TO] or 0
    if finish > reached then
        connection[RESENT] = (connection[RESENT] or 0) + finish - max(start, reached)
        connection[RESENT_TO] = finish
        note_first(connection, RESENT_IN, number)
    end
    return true
end

-- Seconds within which no server sends as many bytes as are beyond REACH.
local SOON = 3

-- The first byte that the server sends. Where the capture lacks it, a later one is not the first.
local function note_answer(connection, segment, number, pinfo)
    local first = distance(connection[REPLY_SEQ], segment.seq)
    if first == 1 and note_first(connection, ANSWER, number) then
        connection[ANSWER_TIME] = pinfo.abs_ts
        return true
    elseif first >= 0 and first <= REACH then
        connection.answered_to = max(connection.answered_to or 0, first)
        return false
    end
    if connection.after_plain then
        return false -- of the plain SYN's connection, late or captured twice: it acknowledges the same numbers
    end
    -- Data outside of any window behind what the SYN-ACK announced, acknowledging this SYN's, is another connection's;
    -- or what follows gigabytes that were not captured.
    local acked = connection[ACKED] > 0 and distance(connection[ISN], segment.ack) - 1
    local is_soon = pinfo.abs_ts - connection[REPLY_TIME] < SOON
    return acked and acked > 0 and acked <= connection[LEN]
        and note_first(connection, is_soon and "second_reply" or "doubtful_reply", number) or false
end

local function feed_from_server(connection, segment, number, pinfo)
    local acked = connection[ISN] and distance(connection[ISN], segment.ack) - 1
    local is_ours = not acked or (acked >= 0 and acked < REACH)
    if RST[segment.flags] then
        return not connection[REPLY] and is_ours and note_first(connection, "reset", number)
    elseif not is_ours then
        return not connection[REPLY] and not connection[SERVED] and note_first(connection, "other_answer", number)
    end
    local is_fact = note_first(connection, SERVED, number) and not connection[REPLY]
    if connection[REPLY] and connection.again then
        local ts = times_of(segment)
        is_fact = note_late(connection, ts, pinfo.abs_ts) or is_fact
    end
    if acked and acked > (connection[ACKED] or 0) then
        connection[REACHED] = max(connection[REACHED] or 0, acked)
    end
    if segment.len > 0 and connection[REPLY] then
        is_fact = note_answer(connection, segment, number, pinfo) or is_fact
    end
    return is_fact
end

-- Packets of a connection whose SYN was sent again, after which nothing more is expected to show what was lost.
local ENOUGH = 24

local function is_settled(connection)
    local len = connection[LEN]
    if not (connection[REPLY] and connection[ESTABLISHED] and connection[SERVED]) then
        return false
    elseif connection.again or connection.replies then
        connection.seen = (connection.seen or 0) + 1
        return connection.seen > ENOUGH
    end
    local is_told = connection[ACKED] + (connection[RESENT] or 0) >= len
    -- A megabyte later, what was not seen of the beginning was not captured.
    return (is_told and connection[ANSWER] and true)
        or max((connection[REACHED] or 0) - len, connection.answered_to or 0) > 1048576
end

-- A segment without SYN of a connection that is known, or with an option that has no business there.
local function feed_other(key, segment, options, number, pinfo)
    local connection = connection_at(key, number)
    if not connection then
        return #options > 0 and open_connection(key, number) or nil
    end
    local is_fact = false
    if not connection[SETTLED] then
        if connection[KEY] == key then
            is_fact = feed_from_client(connection, segment, number, pinfo)
        else
            is_fact = feed_from_server(connection, segment, number, pinfo)
        end
        connection[SETTLED] = is_settled(connection)
    end
    return (is_fact or #options > 0) and connection or nil
end

-- Take in what a frame tells, once. Its connection, where the frame is one of its facts.
local function feed(key, segment, options, problems, related, mss, number, pinfo)
    local connection = owner[number]
    if connection then
        return connection
    elseif not SYN[segment.flags] then
        connection = feed_other(key, segment, options, number, pinfo)
    elseif ACK[segment.flags] then
        connection = feed_syn_ack(key, segment, options, mss, number, pinfo)
    else
        connection = feed_syn(key, segment, options, related, number, pinfo)
    end
    owner[number] = connection
    if connection then
        for place = 1, #problems do
            add_problem(connection, number, problems[place].rule, problems[place].severity)
        end
    end
    return connection
end

-- Take in a segment: its connection, where it is one of its facts, its Fast Open options, and the names of related
-- ones. is_odd: whether there may be any. pinfo: Wireshark's, of which only the time is asked.
function take_in(key, segment, is_odd, number, pinfo)
    local is_syn, raw = SYN[segment.flags], segment.raw
    local options, problems = NONE, NONE
    local after_eol, mss, related
    if is_odd and not segment.cut then
        options, after_eol, mss, related = read_options(raw, segment.options, segment.options_end)
        if #options > 0 or after_eol then
            problems = option_problems(raw, options, after_eol, segment.options_end, is_syn)
        end
    elseif is_syn and ACK[segment.flags] and not segment.cut then
        mss = first_mss(raw, segment.options, segment.options_end)
    end
    return feed(key, segment, options, problems, related, mss, number, pinfo), options, related
end

-- An ICMP error about a SYN: `tcp` is the offset of the header that it quotes, of which eight bytes are enough.
function note_icmp(raw, ip, tcp, key, number)
    local connection = connection_at(key, number)
    if connection and connection[KEY] == key and #raw >= tcp + 8 and connection[ISN] == number32(raw, tcp + 4)
        and not connection.icmp then
        local kind, code = byte(raw, ip - 7, ip - 6)
        connection.icmp = { frame = number, kind = kind, code = code, is_v6 = byte(raw, ip + 1) >= 0x60 }
        owner[number] = connection
    end
end

-- Whether a segment without SYN of a known connection is to be left.
function is_dull(connection, key, flags, is_empty, number)
    if owner[number] then
        return false
    elseif connection[SETTLED] then
        return true
    end
    return flags == ONLY_ACK and is_empty and connection[KEY] == key and connection[ESTABLISHED]
        and number > connection[ESTABLISHED] and not connection.again and not connection.ended
end

end

-- The outcome: from the facts of a connection, without looking at anything else ------------------------------------

-- Not indented: see replies.
local bytes_of, judge, repetition, last_before, is_third, named_reply, missing_frame
do

function bytes_of(count)
    return count == 1 and "1 byte" or format("%d bytes", count)
end

-- The SYNs that were sent again before the handshake was done, or nil: later ones are stray copies.
function repetition(facts)
    local again, established = facts.again, facts[ESTABLISHED]
    return again and not (established and established < again[1].frame) and again or nil
end

-- The last of them that was sent before a frame.
function last_before(again, frame)
    local last = again[1]
    for _, syn in ipairs(again) do
        last = syn.frame < frame and syn or last
    end
    return last
end

-- What the client's packets say of data whose SYN-ACK is missing.
local function told_by_client(facts)
    if facts.again or facts[LEN] == 0 then
        return ""
    elseif facts[RESENT] then
        return "; the SYN's data was sent again"
    elseif facts[ESTABLISHED] and (facts.established_at or 0) >= facts[LEN] then
        return "; the client went on behind the SYN's data"
    end
    return ""
end

-- RFC 792 and 4443: what the commonest errors about a SYN are called.
local UNREACHABLE = {
    [0] = "network unreachable", "host unreachable", "protocol unreachable", "port unreachable",
    [9] = "network prohibited", [10] = "host prohibited", [13] = "communication prohibited",
}
local UNREACHABLE_6 = {
    [0] = "no route", "communication prohibited", [3] = "address unreachable", [4] = "port unreachable",
}
local function name_of_error(icmp)
    if icmp.is_v6 then
        return icmp.kind == 1 and UNREACHABLE_6[icmp.code] or format("type %d, code %d", icmp.kind, icmp.code)
    end
    return icmp.kind == 3 and UNREACHABLE[icmp.code] or format("type %d, code %d", icmp.kind, icmp.code)
end

local function judge_without_syn(facts)
    if facts.cut_syn then
        return "unknown", "the capture cuts the SYN's options off"
    elseif facts.unsolicited then
        return "unknown", "a cookie that nobody asked for"
    elseif facts.foreign_reply and facts[SERVED] and not facts[ESTABLISHED] then
        return "unknown", "one direction only: nothing from the client"
    elseif facts.foreign_reply then
        return "unknown", "the capture begins after the SYN"
    end
    return "unknown", "an option on a segment without SYN, nothing else"
end

-- Where no SYN-ACK answers a SYN that was seen: unknown, and what is missing.
local function judge_unanswered(facts, again)
    if not facts[SYN_IN] then
        return judge_without_syn(facts)
    elseif facts.answers_plain then
        return "unknown", format("the SYN-ACK in %d answers a plain SYN that came before", facts.answers_plain)
    elseif facts[SERVED] then
        return "unknown", format("a frame is missing before %d: the SYN-ACK", facts[SERVED]) .. told_by_client(facts)
    elseif facts.reset and not facts[ESTABLISHED] then
        return "unknown", "answered by RST"
    elseif facts[ESTABLISHED] then
        return "unknown", "one direction only: nothing from the server" .. told_by_client(facts)
    elseif facts.icmp then
        return "unknown", format("answered by ICMP in %d: %s", facts.icmp.frame, name_of_error(facts.icmp))
    elseif facts.foreign_reply then
        return "unknown", "the SYN-ACK acknowledges another SYN"
    elseif facts.other_answer then
        return "unknown", "answered by an ACK of another connection"
    elseif again then
        return "unknown", "no answer to the SYN, nor to the next"
    end
    return "unknown", "no answer to the SYN"
end

-- Seconds within which no client sends its SYN again, and no server its SYN-ACK (RFC 6298: one second).
local UNREPEATED = 0.9

-- Whether the client's first packet is the very one that answers the SYN-ACK.
function is_third(facts)
    return facts[ESTABLISHED] and facts.established_ack == (facts[REPLY_SEQ] + 1) % WRAP
end

-- The later SYN-ACK of the same numbers that the client's first packet names, or nil.
function named_reply(facts)
    for _, reply in ipairs(facts.replies or NONE) do
        if reply.ts and reply.ts == facts.established_ecr and reply.seq == facts[REPLY_SEQ] then
            return reply
        end
    end
    return nil
end

-- Bytes of which no server has sent more when the client's first packet acknowledges them.
local MOST_AT_FIRST = 16777216

-- Seconds by which the clocks of merged captures may differ unnoticed: nothing that is sooner shows what was slow.
local SKEW = 0.2

-- What the capture lacks of a handshake that looks complete, or nil.
function missing_frame(facts, again)
    if facts.doubtful_reply then
        return format("the server's packet in %d may be of this connection, too", facts.doubtful_reply)
    elseif names_syn(facts, facts[REPLY_ECR]) == false then
        return format("a SYN is missing: the SYN-ACK in %d answers another one", facts[REPLY])
    elseif facts.client_reset and facts.client_reset < facts[REPLY] then
        return format("a frame is missing before %d: what the client answered by RST", facts.client_reset)
    elseif not again and facts[REPLY_TIME] - facts[SYN_TIME] >= UNREPEATED then
        return format("a SYN may be missing: the SYN-ACK came after %.3f s", facts[REPLY_TIME] - facts[SYN_TIME])
    end
    -- Where a plain SYN of the same number came before, the client's packets may be of that one's connection.
    local third, is_answered = is_third(facts), facts[ESTABLISHED] and facts[ESTABLISHED] < facts[REPLY]
    local is_beyond = facts.established_ack
        and (facts.established_ack - facts[REPLY_SEQ] - 1) % WRAP > MOST_AT_FIRST
    local names_another = facts.established_ecr and facts[REPLY_TS] and facts.established_ecr ~= facts[REPLY_TS]
        and (third or distance(facts[REPLY_TS], facts.established_ecr) < 0) and not named_reply(facts)
    if not facts.after_plain and (names_another or is_beyond or (is_answered and not third)) then
        return format("a frame is missing before %d: the SYN-ACK that it answers", facts[ESTABLISHED])
    end
    return nil
end

-- Whether a SYN-ACK seen before the SYN was sent again came to the client: true, false, or nil where that is unknown.
-- One close before that SYN may answer it, where two captures were merged.
local function has_come(facts, again, gap)
    local is_skewed = facts[REPLY] < facts[SYN_IN]
    if is_skewed or not is_third(facts) or again[1].time - facts[REPLY_TIME] < gap / 4 then
        return nil
    elseif facts.established_ecr and facts[REPLY_TS] then
        return facts.established_ecr == facts[REPLY_TS]
    end
    local waited = facts.established_time - last_before(again, facts[ESTABLISHED]).time
    if waited < gap / 4 then
        return false
    end
    return nil
end

-- Whether a SYN-ACK seen after the SYN was sent again was under way all the time: as above, true where it was.
local function was_slow(facts, again, gap)
    local waited = facts[REPLY_TIME] - last_before(again, facts[REPLY]).time
    if facts.late then
        return true
    elseif waited < gap / 4 then
        return false
    end
    for _, reply in ipairs(facts.replies or NONE) do
        if reply.seq == facts[REPLY_SEQ] and reply.time - facts[REPLY_TIME] >= max(gap / 2, SKEW) then
            return true
        end
    end
    return nil
end

-- Where the SYN was sent again: had the first arrived? nil where nothing was lost. Timestamps say which SYN a SYN-ACK
-- answers and which SYN-ACK the client has got; without them, how soon what followed came.
local function judge_repeated(facts, again)
    local first = again[1]
    local gap = first.time - facts[SYN_TIME]
    local told = format("the SYN was sent again after %.3f s", gap)
    local is_named = facts[SYN_TS] and facts[REPLY_ECR] and facts[REPLY_ECR] ~= 0
    local names_first = is_named and facts[REPLY_ECR] == facts[SYN_TS]
    local has_arrived, was_lost
    if is_named and not names_first then
        has_arrived, was_lost = first.len == 0 and facts[ACKED] > 0, true
    elseif facts[REPLY] < first.frame then
        local come = has_come(facts, again, gap)
        if come ~= nil then
            has_arrived, was_lost = true, not come
        end
    else
        local slow = was_slow(facts, again, gap)
        has_arrived = names_first or (first.len == 0 and facts[ACKED] > 0)
        if slow ~= nil and (names_first or not slow) then
            was_lost = not slow
        end
    end
    if was_lost == nil then
        return "unknown", told .. ": its SYN-ACK was late or lost"
    elseif not was_lost then
        return nil
    end
    local accepted = facts[LEN] > 0 and facts[ACKED] >= facts[LEN]
    if has_arrived then
        return "syn-ack-lost", told .. ", but the first had arrived" .. (accepted and ": its data was accepted" or ""),
            accepted and 0 or -1
    end
    local how = ", as it was"
    if first.plain then
        how = facts[LEN] > first.len and ", plain" or ", without the option"
    end
    local at_last = accepted and "; its data was accepted then" or facts[GRANTED] and "; a cookie came then" or ""
    return "syn-lost-fallback", told .. how .. at_last, -1
end

-- Where the server sent its SYN-ACK again, and the SYN was not: only the later one came to the client.
local function judge_resent_reply(facts)
    local named = is_third(facts) and named_reply(facts)
    if named and facts.established_ecr ~= facts[REPLY_TS] then
        if named.time - facts[REPLY_TIME] < COPIED_WITHIN then
            return "unknown", format("the client answers the second of two SYN-ACKs, in %d", named.frame)
        end
        local accepted = facts[LEN] > 0 and facts[ACKED] >= facts[LEN]
        return "syn-ack-lost", format("the SYN-ACK was sent again after %.3f s", named.time - facts[REPLY_TIME])
            .. (accepted and ": the data was accepted" or ""), accepted and 0 or -1
    elseif is_third(facts) and facts.established_ecr and facts[REPLY_TS] then
        return nil
    end
    for _, reply in ipairs(facts.replies) do
        local wait = reply.time - facts[REPLY_TIME]
        if reply.seq == facts[REPLY_SEQ] and wait >= UNREPEATED and (facts[ESTABLISHED] or WRAP) > reply.frame then
            return "unknown", format("the SYN-ACK was sent again after %.3f s", wait)
                .. ": the first, or the client's answer, was lost"
        end
    end
    return nil
end

-- What is known of a server that refuses and does not say why: it may be off, its queue full, or an option stripped.
local function known_of_server(facts)
    local known = facts.had_option and "data not acknowledged, no cookie in the SYN-ACK's option"
        or "data not acknowledged, no option in the SYN-ACK"
    if facts.accepted_before then
        known = known .. format("; the server accepted other data in %d", facts.accepted_before)
    end
    if facts.granted_in then
        known = known .. format("; it granted this cookie in %d", facts.granted_in)
    end
    return known
end

local function judge_cookie_and_data(facts)
    local len, acked = facts[LEN], facts[ACKED]
    if acked >= len then
        return "accepted", facts[GRANTED] and "all data acknowledged, and a cookie came" or "all data acknowledged", 1
    elseif acked > 0 then
        return "accepted-partially", format("%d of %s acknowledged", acked, bytes_of(len)), 0
    elseif facts.cut_reply then
        return "unknown", "data not acknowledged; the capture cuts the SYN-ACK's options off"
    elseif facts[GRANTED] then
        return "refused-cookie", facts[GRANTED] == facts[COOKIE] and "data not acknowledged, the same cookie came back"
            or "data not acknowledged, a new cookie came", 0
    end
    return "refused-silently", known_of_server(facts), 0
end

local function judge_data_alone(facts)
    local len, acked = facts[LEN], facts[ACKED]
    local granted = facts[GRANTED] and "; a cookie came" or ""
    if acked >= len then
        return "cookieless-accepted", "data without a cookie acknowledged" .. granted, 1
    elseif acked > 0 then
        local why = format("%d of %s without a cookie acknowledged", acked, bytes_of(len))
        return "cookieless-accepted", why .. granted, 0
    end
    return "cookieless-refused", "data without a cookie not acknowledged" .. granted, 0
end

local function judge_without_data(facts)
    local cookie = facts[COOKIE]
    if not cookie then
        return "unknown", "the SYN's option is not valid"
    elseif facts.cut_reply then
        return "unknown", "the capture cuts the SYN-ACK's options off"
    elseif cookie == "" then
        if facts[GRANTED] then
            return "requested-granted", "a cookie came", 0
        end
        return "requested-not-granted", facts.had_option and "no valid cookie in the SYN-ACK"
            or "no option in the SYN-ACK", 0
    elseif facts[GRANTED] and facts[GRANTED] ~= cookie then
        return "refused-cookie", "no data, and another cookie came", 0
    end
    return "unknown", "a cookie but no data to judge"
end

-- Whether the options are not all known that the outcome depends on; what is known all the same.
local function judge_cut(facts, again)
    if facts.cut_syn then
        local known = ""
        if facts[LEN] > 0 and not again then
            known = facts[ACKED] >= facts[LEN] and "; its data was acknowledged"
                or facts[ACKED] == 0 and "; its data was not acknowledged" or ""
        end
        return "unknown", "the capture cuts the SYN's options off" .. known
    elseif facts.cut_reply and (again or facts.replies) then
        return "unknown", "the SYN was sent again; the capture cuts the SYN-ACK's options off"
    end
    return nil
end

-- Outcome, why, and round trips saved (1) or lost (-1), nil where that cannot be told.
function judge(facts)
    local cookie, again = facts[COOKIE], repetition(facts)
    if not facts[SYN_IN] or not facts[REPLY] then
        return judge_unanswered(facts, again)
    elseif facts.second_reply then
        return "replayed", "the data of one SYN was accepted twice", 0
    end
    local outcome, why, round_trips = judge_cut(facts, again)
    if outcome then
        return outcome, why
    elseif facts[ACKED] > most_sent(facts) then
        return "over-acknowledged", format("%d acknowledged of %s", facts[ACKED], bytes_of(facts[LEN])), 0
    end
    local missing = missing_frame(facts, again)
    if missing then
        return "unknown", missing
    elseif again then
        outcome, why, round_trips = judge_repeated(facts, again)
    elseif facts.replies then
        outcome, why, round_trips = judge_resent_reply(facts)
    end
    if outcome then
        return outcome, why, round_trips
    elseif facts[LEN] > 0 then
        outcome, why, round_trips = (cookie and cookie ~= "" and judge_cookie_and_data or judge_data_alone)(facts)
    else
        outcome, why, round_trips = judge_without_data(facts)
    end
    return outcome, again and why .. "; the SYN was sent again, but nothing was lost" or why, round_trips
end

end

-- The verdict: the outcome of a connection with its numbers, frames and broken rules ---------------------------------

-- Not indented: see replies.
local event_of, is_remarkable, seconds_lost, verdict_of
do
-- What breaks a rule, of single segments and of the connection, by frame: a list of {frame, rule, severity}.
local function problems_of(facts, outcome)
    local found = {}
    for _, problem in ipairs(facts.problems or found) do
        found[#found + 1] = problem
    end
    local function problem(frame, severity, rule)
        found[#found + 1] = { frame = frame, rule = rule, severity = severity }
    end
    if facts[REPLY] then
        if outcome == "over-acknowledged" then
            problem(facts[REPLY], "error", format("CLI-15: %d acknowledged of %s", facts[ACKED],
                bytes_of(most_sent(facts) - (facts.fin and 1 or 0))))
        elseif facts[ACKED] > 0 and facts[ACKED] < facts[LEN] then
            problem(facts[REPLY], "note", format("CLI-15: %d of %s acknowledged", facts[ACKED], bytes_of(facts[LEN])))
        end
    end
    if facts.over_mss then
        problem(facts[REPLY], "warning", format("CLI-4: %s in the SYN, over the MSS of %d", bytes_of(facts[LEN]),
            facts.over_mss))
    end
    if facts.second_reply then
        problem(facts.second_reply, "error", "DUP-3: the data of one SYN was accepted twice")
    end
    sort(found, function(a, b)
        return a.frame < b.frame or (a.frame == b.frame and a.rule < b.rule)
    end)
    return found
end

-- Whether a connection may have come to what is told at its SYN-ACK though it breaks no rule.
local function is_eventful(facts, number)
    return number == facts[REPLY] and facts[SYN_IN] and (facts.again or facts.replies or facts.changed
        or (facts[LEN] > 0 and (facts[ACKED] == 0 or not facts[COOKIE])) or (facts[LEN] == 0 and not facts[GRANTED]))
end

local REFUSED = {
    ["refused-cookie"] = true, ["refused-silently"] = true, ["cookieless-refused"] = true,
    ["requested-not-granted"] = true,
}
-- Whether no SYN-ACK comes, though nothing shows that the capture lacks one. Known once the capture was read: before,
-- each SYN is unanswered.
local function is_unanswered(facts, pinfo)
    return pinfo.number == facts[SYN_IN] and pinfo.visited
        and not (facts[REPLY] or facts[SERVED] or facts[ESTABLISHED] or facts.answers_plain)
end

-- What befell a connection that breaks no rule, at its SYN-ACK, or at its SYN where none comes: the key of its expert
-- information, and words.
function event_of(connection, pinfo)
    if is_unanswered(connection, pinfo) then
        local _, why = judge(connection)
        return "unanswered note", why
    elseif not is_eventful(connection, pinfo.number) then
        return nil
    end
    local outcome, why = judge(connection)
    if REFUSED[outcome] then
        return "refused note", outcome .. ": " .. why
    elseif outcome == "syn-lost-fallback" and connection[LEN] > 0 then
        local before = connection.data_before
        if before and before[LEN] > 0 and judge(before) == "syn-lost-fallback" then
            return "blackhole warning", format("SYNs with data are lost: in %d, and before it in %d",
                connection[SYN_IN], before[SYN_IN])
        end
        return "lost note", outcome .. ": " .. why
    elseif outcome == "syn-lost-fallback" or outcome == "syn-ack-lost" then
        return "lost note", outcome .. ": " .. why
    elseif outcome == "cookieless-accepted" and connection.broken_option then
        return "invalid warning", "the SYN's option is not valid: " .. connection.broken_option
    elseif outcome == "cookieless-accepted" then
        return "cookieless note", why
    elseif outcome == "accepted" and connection.changed and connection.changed < connection[SYN_IN] then
        return "changed note", format("another cookie was had in %d", connection.changed)
    end
    return nil
end

-- Whether there may be problems to tell at a frame.
function is_remarkable(facts, number)
    if facts.problems or facts.over_mss or facts.second_reply then
        return true
    end
    return number == facts[REPLY] and facts[ACKED] > 0 and facts[ACKED] ~= facts[LEN]
end

-- The time of the SYN that the SYN-ACK answers; nil where the server's own timer may have sent it.
local function time_of_answered(facts, again, outcome)
    for _, syn in ipairs(again or NONE) do
        if facts[REPLY_ECR] and syn.ts == facts[REPLY_ECR] then
            return syn.time
        end
    end
    if again and again[1].frame < facts[REPLY] and outcome == "syn-ack-lost" then
        return nil
    elseif again and again[1].frame < facts[REPLY] and outcome == "syn-lost-fallback" then
        return last_before(again, facts[REPLY]).time
    end
    return facts[SYN_TIME]
end

-- A packet's hops left that no router has counted down: it was captured where it was sent.
local FRESH = { [64] = true, [128] = true, [255] = true }

-- Whether the times of a connection are those of another, as far as the capture shows: where options are cut off,
-- timestamps may have told that the SYN-ACK answers a SYN that was not captured.
local function are_times_open(facts, again, outcome)
    local is_cut = (facts.cut_syn or facts.cut_reply) and not (facts[SYN_TS] and facts[REPLY_ECR])
    return outcome == "unknown" and (again or facts.replies or is_cut or missing_frame(facts, again)) and true
end

-- Seconds of a round trip from the client's side: at the client from the SYN to the SYN-ACK, at the server from the
-- SYN-ACK to the client's answer, and between them the sum of both. nil where the capture does not show it.
local function round_trip_of(facts, again, outcome)
    local asked = time_of_answered(facts, again, outcome)
    local there = asked and facts[REPLY_TIME] - asked
    if facts[REPLY] < facts[SYN_IN] or (there and there < 0) then
        return nil -- merged, by clocks that differ
    end
    local at_client = FRESH[facts[SYN_HOPS]] and not FRESH[facts[REPLY_HOPS]]
    if at_client then
        return there
    end
    local answered = facts[REPLY_TIME]
    if again or facts.replies then
        local named = named_reply(facts)
        if not named and outcome == "syn-ack-lost" and again and facts[REPLY] < again[1].frame then
            return nil -- the SYN-ACK that came to the client was not captured, or is not known
        end
        answered = named and named.time or answered
    end
    local is_timed = is_third(facts) and facts.established_at == facts[ACKED] and facts[ESTABLISHED] > facts[REPLY]
    local back = is_timed and facts.established_time - answered
    if not back or back < 0 or (facts.replies and not facts.established_ecr) then
        return nil
    elseif FRESH[facts[REPLY_HOPS]] and not FRESH[facts[SYN_HOPS]] then
        return back
    end
    return there and there + back
end

-- Seconds that the client waited for retransmissions of its SYN until it came through; nil where none was needed.
function seconds_lost(facts, outcome)
    local again = repetition(facts)
    if not again or (outcome ~= "syn-lost-fallback" and outcome ~= "syn-ack-lost") then
        return nil
    end
    return last_before(again, max(facts[REPLY], facts[ESTABLISHED] or 0)).time - facts[SYN_TIME]
end

-- Bytes of the SYN's data that were sent again; nil where the capture lacks some of them, or ends before.
local function resent_of(facts)
    local resent, acked = facts[LEN] and (facts[RESENT] or 0), facts.acked_first or facts[ACKED]
    local is_open = resent and facts[REPLY] and acked + resent < facts[LEN]
    if is_open and (not facts[REACHED] or acked + resent < facts[REACHED]) then
        return nil
    end
    return resent or nil
end

local function evidence_of(facts, again)
    local frames = {}
    for _, frame in ipairs({
        facts[SYN_IN] or 0, again and again[1].frame or 0, facts[REPLY] or facts.foreign_reply or facts.reset or 0,
        facts.second_reply or 0, facts[RESENT_IN] or 0, not facts[REPLY] and facts.icmp and facts.icmp.frame or 0,
    }) do
        if frame > 0 then
            frames[#frames + 1] = frame
        end
    end
    if #frames == 0 then
        frames[1] = facts[FIRST]
    end
    sort(frames)
    return frames
end

-- All that can be said of a connection now.
function verdict_of(facts)
    local outcome, why, round_trips = judge(facts)
    local again = repetition(facts)
    local verdict = {
        outcome = outcome, why = why, round_trips = round_trips, problems = problems_of(facts, outcome),
        evidence = evidence_of(facts, again),
        sent = facts[LEN] or nil, acked = facts[ACKED] or nil, resent = resent_of(facts),
    }
    if not facts[REPLY] or are_times_open(facts, again, outcome) then
        return verdict
    end
    verdict.rtt = round_trip_of(facts, again, outcome)
    verdict.seconds_lost = seconds_lost(facts, outcome)
    if facts[SYN_IN] and facts[ANSWER] and facts[ANSWER] > facts[SYN_IN] and facts[REPLY] > facts[SYN_IN] then
        verdict.first_answer = facts[ANSWER_TIME] - facts[SYN_TIME]
    end
    return verdict
end

end

-- Values as text ---------------------------------------------------------------------------------------------------

local function address_text(raw)
    if #raw == 4 then
        return format("%d.%d.%d.%d", byte(raw, 1, 4))
    end
    -- RFC 5952: the longest run of zeros is left out.
    local groups, best, best_size, at = {}, nil, 1, 1
    for place = 1, 15, 2 do
        local high, low = byte(raw, place, place + 1)
        groups[#groups + 1] = high * 256 + low
    end
    while at <= 8 do
        local stop = at
        while groups[stop] == 0 do
            stop = stop + 1
        end
        if stop - at > best_size then
            best, best_size = at, stop - at
        end
        at = max(stop, at + 1)
    end
    local function joined(first, last)
        local texts = {}
        for place = first, last do
            texts[#texts + 1] = format("%x", groups[place])
        end
        return concat(texts, ":")
    end
    if not best then
        return joined(1, 8)
    end
    return joined(1, best - 1) .. "::" .. joined(best + best_size, 8)
end

local HEX = {}
for code = 0, 255 do
    HEX[char(code)] = format("%02x", code)
end
local function hex(raw)
    return (raw:gsub(".", HEX))
end

-- The protocol: fields, expert information, tree and Info column ---------------------------------------------------

local tfo = Proto("tfo", "TCP Fast Open")

-- Not indented: see replies.
local says_in_info, say_in_info, show, show_event
do
local fields = {
    role = ProtoField.string("tfo.role", "Role"),
    kind = ProtoField.uint8("tfo.kind", "Kind", base.DEC),
    cookie = ProtoField.bytes("tfo.cookie", "Cookie"),
    cookie_length = ProtoField.uint8("tfo.cookie.length", "Cookie length", base.DEC),
    valid = ProtoField.bool("tfo.valid", "Valid"),
    rule = ProtoField.string("tfo.rule", "Rule broken"),
    outcome = ProtoField.string("tfo.outcome", "Outcome"),
    short = ProtoField.string("tfo.short", "In short"),
    connection = ProtoField.string("tfo.connection", "Outcome, once for each connection"),
    why = ProtoField.string("tfo.why", "Why"),
    evidence = ProtoField.framenum("tfo.evidence", "Evidence"),
    sent = ProtoField.uint32("tfo.data.sent", "Bytes in the SYN", base.DEC),
    acked = ProtoField.uint32("tfo.data.acked", "Bytes acknowledged by the SYN-ACK", base.DEC),
    resent = ProtoField.uint32("tfo.data.resent", "Bytes of the SYN sent again", base.DEC),
    first_answer = ProtoField.relative_time("tfo.time.first_answer", "SYN to first answer byte"),
    rtt = ProtoField.relative_time("tfo.rtt", "Round trip of the handshake"),
    seconds_lost = ProtoField.relative_time("tfo.time.lost", "Waited for retransmissions of the SYN"),
    round_trips = ProtoField.int8("tfo.round_trips", "Round trips saved", base.DEC),
    seen_in = ProtoField.framenum("tfo.cookie.seen_in", "Cookie seen before in"),
    age = ProtoField.relative_time("tfo.cookie.age", "Age of the cookie"),
    changed = ProtoField.framenum("tfo.cookie.changed", "Other cookie before in"),
    shared_with = ProtoField.string("tfo.cookie.shared_with", "Cookie also of"),
    other = ProtoField.string("tfo.other", "Related option, not Fast Open"),
}
tfo.fields = {}
for _, field in pairs(fields) do
    tfo.fields[#tfo.fields + 1] = field
end

local SEVERITY = {
    error = expert.severity.ERROR, warning = expert.severity.WARN, note = expert.severity.NOTE,
}
-- The beginning of a rule and its severity, as "OPT-1 error" -> its expert information.
local expert_of = {}
local function declare(rule, name, text, severity)
    local group = find(rule, "-", 1, true) and expert.group.PROTOCOL or expert.group.SEQUENCE
    expert_of[rule .. " " .. severity] = ProtoExpert.new("tfo.expert." .. name, text, group, SEVERITY[severity])
end
declare("OPT-1", "cookie_size", "TFO cookie of a size that is not allowed", "error")
declare("OPT-2", "odd_length", "TFO option of odd length", "error")
declare("OPT-7", "bad_length", "TFO option with an impossible length", "error")
declare("OPT-8", "twice", "TFO option more than once", "warning")
declare("OPT-4", "without_syn", "TFO option without SYN", "warning")
declare("OPT-10", "after_end", "TFO option behind the end of the list", "warning")
declare("SRV-8", "unsolicited", "TFO cookie that nobody asked for", "warning")
declare("SRV-1", "shared", "TFO cookie of two clients", "warning")
declare("CLI-4", "over_mss", "SYN data over the MSS", "warning")
declare("CLI-15", "acknowledgement", "More acknowledged than was sent in the SYN", "error")
declare("CLI-15", "other_syn", "Acknowledgement of another SYN", "warning")
declare("CLI-15", "partial", "A part of the SYN's data acknowledged", "note")
declare("DUP-3", "replayed", "SYN data accepted twice", "error")
-- What breaks no rule; see event_of.
declare("refused", "refused", "Fast open refused", "note")
declare("unanswered", "unanswered", "No SYN-ACK for a SYN of a fast open", "note")
declare("lost", "lost", "SYN or SYN-ACK lost", "note")
declare("blackhole", "blackhole", "SYNs with data lost between these hosts, one after the other", "warning")
declare("cookieless", "cookieless", "SYN data accepted without a cookie", "note")
declare("invalid", "invalid", "SYN data accepted on an invalid cookie", "warning")
declare("changed", "changed", "SYN data accepted with another cookie than before", "note")
tfo.experts = {}
for _, each in pairs(expert_of) do
    tfo.experts[#tfo.experts + 1] = each
end

tfo.prefs.info = Pref.bool("Say it in the Info column", true, "Whether the Info column names role and outcome")
says_in_info = true -- a copy, which costs less to ask
function tfo.prefs_changed()
    says_in_info = tfo.prefs.info
end

local function span(seconds)
    local micros = floor(seconds * 1000000 + 0.5)
    local whole = floor(micros / 1000000)
    return NSTime.new(whole, (micros - whole * 1000000) * 1000)
end

local ROLES = { syn = { "request", "use" }, syn_ack = { "empty-answer", "grant" } }
local function role_of(option, flags)
    if not SYN[flags] then
        return "stray"
    end
    return ROLES[ACK[flags] and "syn_ack" or "syn"][#option.cookie == 0 and 1 or 2]
end

local function show_option(tree, tvb, option, flags)
    local range = tvb(option.at, option.size)
    tree:add(fields.role, range, role_of(option, flags))
    tree:add(fields.kind, tvb(option.at, 1))
    if #option.cookie > 0 then
        tree:add(fields.cookie, tvb(option.cookie_at, #option.cookie))
    end
    tree:add(fields.cookie_length, range, #option.cookie):set_generated()
    tree:add(fields.valid, range, not option.rule):set_generated()
    if option.rule then
        tree:add(fields.rule, range, option.rule):set_generated()
    end
end

-- Where a cookie was met before, from what is known of its first connection.
local function show_cookie(tree, connection, cookie, number, time)
    local known = first_with_cookie[server_of(connection) .. cookie]
    if known then
        local frame, when = met(known, cookie)
        if frame and frame < number then
            tree:add(fields.seen_in, frame):set_generated()
            tree:add(fields.age, span(time - when)):set_generated()
        end
    end
    if connection.changed and connection.changed < number then
        tree:add(fields.changed, connection.changed):set_generated()
    end
    if connection.shared_with then
        tree:add(fields.shared_with, address_text(connection.shared_with)):set_generated()
    end
end

-- As few letters as a column has room for, what differs first. Bare: without a cookie.
local SHORT = {
    ["requested-granted"] = "granted", ["requested-not-granted"] = "not granted", ["accepted"] = "accepted",
    ["accepted-partially"] = "part accept", ["over-acknowledged"] = "over-acked", ["refused-cookie"] = "new cookie",
    ["refused-silently"] = "refused", ["syn-lost-fallback"] = "SYN lost", ["syn-ack-lost"] = "SYN-ACK lost",
    ["cookieless-accepted"] = "bare accept", ["cookieless-refused"] = "bare refused", ["replayed"] = "replayed",
    ["unknown"] = "unknown",
}

-- The frame that stands for a connection: its SYN-ACK; without one, its first, once it is known that none comes.
local function stands_for(connection, pinfo)
    local reply = connection[REPLY]
    return pinfo.number == (reply or connection[FIRST]) and (reply or pinfo.visited)
end

local function show_verdict(tree, verdict)
    tree:add(fields.outcome, verdict.outcome):set_generated()
    tree:add(fields.short, SHORT[verdict.outcome]):set_generated()
    tree:add(fields.why, verdict.why):set_generated()
    for _, frame in ipairs(verdict.evidence) do
        tree:add(fields.evidence, frame):set_generated()
    end
    for _, name in ipairs({ "sent", "acked", "resent", "round_trips" }) do
        if verdict[name] then
            tree:add(fields[name], verdict[name]):set_generated()
        end
    end
    for _, name in ipairs({ "first_answer", "rtt", "seconds_lost" }) do
        if verdict[name] then
            tree:add(fields[name], span(verdict[name])):set_generated()
        end
    end
end

-- What befell a connection without breaking a rule. Where no tree is wanted, this alone is told.
function show_event(item, connection, pinfo)
    local event, words = event_of(connection, pinfo)
    if event then
        item:add_proto_expert_info(expert_of[event], words)
    end
end

function show(tvb, pinfo, tree, segment, options, related, connection)
    local item
    if segment.options_end > segment.options then
        item = tree:add(tfo, tvb(segment.options, segment.options_end - segment.options))
    else
        item = tree:add(tfo)
    end
    for _, option in ipairs(options) do
        show_option(item, tvb, option, segment.flags)
    end
    for _, name in ipairs(related or {}) do
        item:add(fields.other, name):set_generated()
    end
    if not connection then
        return
    end
    local number, cookie = pinfo.number, last_valid(options)
    local verdict = verdict_of(connection)
    if cookie and cookie ~= "" then
        show_cookie(item, connection, cookie, number, pinfo.abs_ts)
    end
    show_verdict(item, verdict)
    if stands_for(connection, pinfo) then
        item:add(fields.connection, verdict.outcome):set_generated()
    end
    item:append_text(": " .. verdict.outcome)
    for _, problem in ipairs(verdict.problems) do
        if problem.frame == number then
            local rule = problem.rule:match("^[^:]+")
            item:add_proto_expert_info(expert_of[rule .. " " .. problem.severity], problem.rule)
        end
    end
    show_event(item, connection, pinfo)
end

-- A few words of a SYN: what it holds, and what came of it where that is known.
local function say_of_syn(connection, segment, options)
    local cookie = last_valid(options)
    local text
    if segment.len > 0 then
        text = (cookie and cookie ~= "" and "cookie and " or "") .. bytes_of(segment.len)
            .. (cookie and cookie ~= "" and "" or " without a cookie")
    elseif cookie then
        text = cookie == "" and "request" or "cookie"
    else
        text = #options > 0 and "invalid option" or "sent again"
    end
    local outcome = connection[REPLY] and judge(connection) or "unknown"
    return outcome == "unknown" and text or text .. ": " .. outcome
end

local NO_COLUMNS = "(info)" -- what a column is called where there is none to write to, as with `tshark -q`

function say_in_info(pinfo, number, connection, segment, options)
    local is_syn, is_again = SYN[segment.flags], connection[RESENT_IN] == number
    if not is_syn and not is_again and #options == 0 then
        return
    end
    -- A pass over the capture has columns throughout, or none: only a frame that came before may have got some.
    local is_asked = has_columns or asked_at == 0 or number <= asked_at
    if number > asked_at then
        asked_at = number
    end
    if not is_asked then
        return
    end
    local info = pinfo.cols.info
    has_columns = has_columns or tostring(info) ~= NO_COLUMNS
    if not has_columns then
        return
    end
    local text
    if is_syn then
        text = ACK[segment.flags] and judge(connection) or say_of_syn(connection, segment, options)
        -- A protocol that rides on the SYN writes its own text over it.
        if segment.len > 0 and not find(tostring(info), "[SYN", 1, true) then
            info:prepend(ACK[segment.flags] and "[SYN, ACK] " or "[SYN] ")
        end
    else
        text = #options > 0 and "option without SYN" or "data of the SYN again"
    end
    local words = said[text]
    if not words then
        words = "[TFO: " .. text .. "] "
        said[text] = words
    end
    -- What Wireshark says of a SYN is longer than its window is wide.
    info:prepend(words)
end

end
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

-- Statistics: -z tfo,TABLE[,FILTER] and the Tools menu -------------------------------------------------------------

local OUTCOMES = {
    "requested-granted", "requested-not-granted", "accepted", "accepted-partially", "over-acknowledged",
    "refused-cookie", "refused-silently", "syn-lost-fallback", "syn-ack-lost",
    "cookieless-accepted", "cookieless-refused", "replayed", "unknown",
}
-- As many letters as a window of Wireshark's shows in a line.
local WIDTH = 72
local LINE = ("="):rep(WIDTH)
local has_window = gui_enabled and gui_enabled()

-- The connections of a tap, by their first frame; `selected` nil means all.
local function each_connection(selected)
    if not is_sorted then
        sort(in_order, function(a, b) return a[FIRST] < b[FIRST] end)
        is_sorted = true
    end
    local place = 0
    return function()
        repeat
            place = place + 1
        until not in_order[place] or not selected or selected[in_order[place]]
        return in_order[place]
    end
end

local function quoted(text)
    return '"' .. text:gsub('[%c"\\]', function(one) return format("\\u%04x", byte(one)) end) .. '"'
end

local function json_of(connection, streams)
    local verdict = verdict_of(connection)
    local parts = {}
    local function add(name, value)
        if value then
            parts[#parts + 1] = quoted(name) .. ":" .. value
        end
    end
    local function add_number(name, value, form)
        add(name, value and format(form or "%d", value))
    end
    local key = connection[KEY]
    add_number("stream", streams and streams[connection] or -1)
    add("client", quoted(address_text(client_of(connection))))
    add_number("client_port", number16(key, #key - 4))
    add("server", quoted(address_text(server_of(connection))))
    add_number("port", number16(key, #key - 2))
    add("outcome", quoted(verdict.outcome))
    add("why", quoted(verdict.why))
    add("frames", "[" .. concat(verdict.evidence, ",") .. "]")
    add_number("sent", verdict.sent)
    add_number("acked", verdict.acked)
    add_number("resent", verdict.resent)
    add_number("first_answer", verdict.first_answer, "%.6f")
    add_number("rtt", verdict.rtt, "%.6f")
    add_number("round_trips", verdict.round_trips)
    add_number("seconds_lost", verdict.seconds_lost, "%.6f")
    local sent = connection[COOKIE] or ""
    local cookie = sent ~= "" and sent or connection[GRANTED] or ""
    add("cookie", quoted(hex(cookie)))
    local problems = {}
    for _, problem in ipairs(verdict.problems) do
        problems[#problems + 1] = format('{"frame":%d,"rule":%s,"severity":%s}', problem.frame,
            quoted(problem.rule), quoted(problem.severity))
    end
    add("problems", "[" .. concat(problems, ",") .. "]")
    return "{" .. concat(parts, ",") .. "}"
end

local tables = {}

-- What stands in a record, in this order, between tabs; what is not known is empty. frames: between commas. problems:
-- frame, severity and rule, between bars.
local function record_of(connection)
    local verdict = verdict_of(connection)
    local key = connection[KEY]
    local sent = connection[COOKIE] or ""
    local problems = {}
    for place, problem in ipairs(verdict.problems) do
        problems[place] = format("%d %s %s", problem.frame, problem.severity, problem.rule)
    end
    local function number(value, form)
        return value and format(form or "%d", value) or ""
    end
    return concat({
        number(connection[SYN_TIME] or connection[REPLY_TIME], "%.6f"),
        address_text(client_of(connection)), number16(key, #key - 4),
        address_text(server_of(connection)), number16(key, #key - 2),
        verdict.outcome, verdict.why, concat(verdict.evidence, ","),
        number(verdict.sent), number(verdict.acked), number(verdict.resent),
        number(verdict.first_answer, "%.6f"), number(verdict.rtt, "%.6f"),
        number(verdict.round_trips), number(verdict.seconds_lost, "%.6f"),
        hex(sent ~= "" and sent or connection[GRANTED] or ""), concat(problems, "|"),
    }, "\t")
end

-- Printed bit by bit: all of it at once would take as much memory as the connections.
local AT_ONCE = 256
function tables.records(say, selected)
    say("tfo-records-begin")
    local lines = {}
    for connection in each_connection(selected) do
        lines[#lines + 1] = record_of(connection)
        if #lines == AT_ONCE then
            say(concat(lines, "\n"))
            lines = {}
            sweep_up()
        end
    end
    if #lines > 0 then
        say(concat(lines, "\n"))
    end
    say(format("tfo-records-end\t%d\t%d\t%d", begun, begun - done, cut_count))
end

function tables.json(say, selected, streams)
    say("tfo-json-begin")
    for connection in each_connection(selected) do
        say(json_of(connection, streams))
    end
    say("tfo-json-end")
end

function tables.outcome(say, selected)
    local rows = {}
    for _, outcome in ipairs(OUTCOMES) do
        rows[outcome] = { 0, 0, 0, 0, 0, 0 }
    end
    for connection in each_connection(selected) do
        local outcome, _, round_trips = judge(connection)
        local row = rows[outcome]
        row[1] = row[1] + 1
        row[2] = row[2] + (connection[LEN] or 0)
        row[3] = row[3] + (connection[ACKED] or 0)
        row[4] = row[4] + (connection[RESENT] or 0)
        row[5] = row[5] + (round_trips or 0)
        row[6] = row[6] + (connection.again and seconds_lost(connection, outcome) or 0)
    end
    say(LINE)
    say("TCP Fast Open: outcomes, bytes in SYNs, round trips saved, seconds lost")
    say(format("%-21s %7s %8s %8s %8s %6s %8s", "outcome", "count", "sent", "acked", "resent", "saved", "lost"))
    for _, outcome in ipairs(OUTCOMES) do
        local row = rows[outcome]
        if row[1] > 0 then
            local numbers = "%-21s %7d %8d %8d %8d %6d %8.3f"
            say((format(numbers, outcome, row[1], row[2], row[3], row[4], row[5], row[6])))
        end
    end
    if cut_count > 0 then
        say(format("%d SYNs without data are cut short: what they ask for is not known", cut_count))
    end
    say(LINE)
end

-- Connections and what came of them, by server or by client.
local GROUPS = {
    { "granted", { "requested-granted" } },
    { "accepted", { "accepted", "accepted-partially", "cookieless-accepted", "over-acknowledged", "replayed" } },
    { "refused", { "requested-not-granted", "refused-cookie", "refused-silently", "cookieless-refused" } },
    { "lost", { "syn-lost-fallback", "syn-ack-lost" } },
    { "unknown", { "unknown" } },
}
local group_of = {}
for place, group in ipairs(GROUPS) do
    for _, outcome in ipairs(group[2]) do
        group_of[outcome] = place
    end
end

local function end_text(address, port)
    return format(find(address, ":", 1, true) and "[%s]:%d" or "%s:%d", address, port)
end

local function by_host(say, selected, title, name_of)
    local rows, names = {}, {}
    for connection in each_connection(selected) do
        local name = name_of(connection)
        local row = rows[name]
        if not row then
            row = { 0, 0, 0, 0, 0, total = 0, problems = 0 }
            rows[name] = row
            names[#names + 1] = name
        end
        local verdict = verdict_of(connection)
        local group = group_of[verdict.outcome]
        row[group] = row[group] + 1
        row.total = row.total + 1
        row.problems = row.problems + #verdict.problems
    end
    sort(names, function(a, b)
        return rows[a].total > rows[b].total or (rows[a].total == rows[b].total and a < b)
    end)
    local form = "%-26s %6s %6s %6s %6s %5s %5s %5s"
    say(LINE)
    say("TCP Fast Open: " .. title)
    say(format(form, title, "count", "grant", "accept", "refuse", "lost", "unkn", "probl"))
    form = form:gsub("(%d)s", "%1d"):gsub("26d", "26s")
    for _, name in ipairs(names) do
        local row = rows[name]
        if #name > 26 then -- an address of IPv6 has a line for itself
            say(name)
            name = ""
        end
        say(format(form, name, row.total, row[1], row[2], row[3], row[4], row[5], row.problems))
    end
    say(LINE)
end

function tables.servers(say, selected)
    by_host(say, selected, "servers", function(connection)
        return end_text(address_text(server_of(connection)), number16(connection[KEY], #connection[KEY] - 2))
    end)
end

function tables.clients(say, selected)
    by_host(say, selected, "clients", function(connection)
        return address_text(client_of(connection))
    end)
end

function tables.problems(say, selected)
    local rows, rules = {}, {}
    for connection in each_connection(selected) do
        for _, problem in ipairs(verdict_of(connection).problems) do
            local row = rows[problem.rule]
            if not row then
                row = { count = 0, frames = {}, severity = problem.severity }
                rows[problem.rule] = row
                rules[#rules + 1] = problem.rule
            end
            row.count = row.count + 1
            if #row.frames < 5 then
                row.frames[#row.frames + 1] = format("%d", problem.frame)
            end
        end
    end
    sort(rules)
    say(LINE)
    say("TCP Fast Open: problems")
    say(format("%6s %-8s %-40s %s", "count", "severity", "rule", "frames"))
    for _, rule in ipairs(rules) do
        local row = rows[rule]
        local line
        repeat
            line = format("%6d %-8s %-40s %s", row.count, row.severity, rule, concat(row.frames, ",")
                .. (row.count > #row.frames and ",..." or ""))
        until #line <= WIDTH or not table.remove(row.frames)
        say(line)
    end
    say(LINE)
end

-- Of the connection, as typed in a terminal. Lua is not told the file's name.
local function to_judge(connection)
    local key = connection[KEY]
    return format("scapy-tfo capture judge FILE --between %s %s",
        end_text(address_text(client_of(connection)), number16(key, #key - 4)),
        end_text(address_text(server_of(connection)), number16(key, #key - 2)))
end

-- The same in lines that fit the window, which a shell joins again.
local function in_window(command)
    if #command > WIDTH then
        command = command:gsub(" %-%-between", " \\\n   %0")
        if command:match("\n.*$"):len() > WIDTH then
            command = command:gsub(" ([^ ]+)$", " \\\n        %1")
        end
    end
    return command
end

function tables.judge(say, selected)
    say("Whether both ends of a connection keep the rules of plain TCP:")
    for connection in each_connection(selected) do
        say(has_window and in_window(to_judge(connection)) or to_judge(connection))
    end
end

-- The numbers of the streams come with the tcp tap, which is silent about a frame whose TCP header is cut off.
local function listen_to_streams(filter)
    local streams = {}
    local tap = Listener.new("tcp", filter)
    function tap.packet(pinfo, _, info)
        local connection = owner[pinfo.number]
        if connection and info then
            streams[connection] = info.th_stream
        end
    end
    function tap.reset()
        for connection in pairs(streams) do
            streams[connection] = nil
        end
    end
    return streams
end

-- The frames that pass a filter choose the connections.
local function listen(name, filter, tell)
    filter = filter and "tfo && (" .. filter .. ")"
    local selected = filter and {}
    local streams = name == "json" and listen_to_streams(filter)
    local tap = Listener.new("frame", filter)
    if selected then
        function tap.packet(pinfo)
            local connection = owner[pinfo.number]
            if connection then
                selected[connection] = true
            end
        end
    end
    function tap.reset()
        selected = selected and {}
    end
    function tap.draw()
        tell(function(say) tables[name](say, selected or nil, streams) end)
    end
    return tap
end

for _, name in ipairs({ "outcome", "servers", "clients", "problems", "judge", "json", "records" }) do
    register_stat_cmd_arg("tfo," .. name, function(argument)
        local filter = argument and argument:match("^tfo,%a+,(.+)$")
        listen(name, filter, function(write) write(print) end)
    end)
end

-- As rich text, of which no row is wrapped, however large the font is. A window that shows its tags takes none.
local ESCAPED = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" }
local function fill(window, text)
    window:set('<p style="white-space:pre">' .. text:gsub("[&<>]", ESCAPED) .. "</p>")
    if find(window:get_text(), "<p ", 1, true) then
        window:set(text)
    end
end

if has_window then
    for _, name in ipairs({ "outcome", "servers", "clients", "problems", "judge" }) do
        register_menu("TCP Fast Open/" .. name, function()
            local filter = get_filter()
            local window
            if filter:match("%S") then
                window = TextWindow.new("TCP Fast Open: " .. name .. " (" .. filter .. ")")
            else
                filter = nil
                window = TextWindow.new("TCP Fast Open: " .. name)
            end
            -- Drawn anew with each change of the display; what is appended would scroll to its end.
            local tap = listen(name, filter, function(write)
                local lines = {}
                write(function(line) lines[#lines + 1] = line end)
                fill(window, concat(lines, "\n"))
            end)
            window:set_atclose(function() tap:remove() end)
            retap_packets()
        end, MENU_TOOLS_UNSORTED)
    end
    -- Later than 4.0, a menu of a single packet, which is told its fields.
    if register_packet_menu then
        register_packet_menu("TCP Fast Open/Copy the command that judges this connection", function(...)
            for _, info in ipairs({ ... }) do
                local connection = info.name == "frame.number" and owner[tonumber(tostring(info.value))]
                if connection then
                    copy_to_clipboard(to_judge(connection))
                end
            end
        end, "tfo.outcome")
    end
end
