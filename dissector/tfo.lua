-- TCP Fast Open in Wireshark and tshark: what happened to each connection, and which options break RFC 7413.
-- One file, for Wireshark 4.0 (Lua 5.2) to 4.6 (Lua 5.4). Fields, outcomes and statistics: see README.md.
--
-- No field of Wireshark's is read. Asking for a single one makes Wireshark build the tree of every packet, which
-- costs more than all that is done here; so the segment is found in the frame's bytes, and most are left after one
-- look. It also means that all works in the first pass of `tshark -2`, which has no fields.

local VERSION = "1.0"
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
local HEAD = 128 -- bytes of a frame that are looked at first: Ethernet, IPv6 and the longest TCP header fit

-- Flags byte -> has it that flag. Bit operators are not in 5.2, bit32 is not in 5.4.
local FIN, SYN, RST, ACK, CONTROL = {}, {}, {}, {}, {}
for flags = 0, 255 do
    FIN[flags] = flags % 2 >= 1
    SYN[flags] = flags % 4 >= 2
    RST[flags] = flags % 8 >= 4
    ACK[flags] = flags % 32 >= 16
    CONTROL[flags] = flags % 8 >= 1
end

local function number16(raw, at)
    local high, low = byte(raw, at + 1, at + 2)
    return low and high * 256 + low
end

local function number32(raw, at)
    local a, b, c, d = byte(raw, at + 1, at + 4)
    return d and ((a * 256 + b) * 256 + c) * 256 + d
end

-- Offsets count from 0, as in a tvb. Where the IP header stood in the frame before: of the whole capture, mostly.
local usual_place = 14

-- The TCP header behind the IP header at `at`, and the bytes of addresses and ports; nil where it is no such thing.
local function read_ip(raw, at)
    local first, _, _, _, _, _, next_header, _, _, protocol = byte(raw, at + 1, at + 10)
    if not protocol then
        return nil
    end
    if first == 0x45 then
        if protocol == TCP then
            return at + 20, sub(raw, at + 13, at + 24)
        end
    elseif first >= 0x60 and first < 0x70 then
        if next_header == TCP then
            return at + 40, sub(raw, at + 9, at + 44)
        end
    elseif first > 0x45 and first < 0x50 and protocol == TCP then
        local tcp = at + (first - 0x40) * 4
        return tcp, sub(raw, at + 13, at + 20) .. sub(raw, tcp + 1, tcp + 4)
    end
    return nil
end

-- The end of an IPv6 header's extensions: the offset of TCP, or nil.
local EXTENSIONS = { [0] = true, [43] = true, [60] = true, [44] = true }
local function skip_extensions(raw, at)
    local kind, place = byte(raw, at + 7), at + 40
    for _ = 1, 8 do
        if kind == TCP then
            return place
        end
        local following, size = byte(raw, place + 1, place + 2)
        if not size or not EXTENSIONS[kind] then
            return nil
        end
        place = place + (kind == 44 and 8 or size * 8 + 8)
        kind = following
    end
    return nil
end

-- The IP header that ends where a TCP header begins, or nil.
local function ip_before(raw, tcp)
    for at = tcp - 20, max(tcp - 60, 0), -4 do
        local first = byte(raw, at + 1)
        if first == 0x40 + (tcp - at) / 4 and byte(raw, at + 10) == TCP then
            return at, sub(raw, at + 13, at + 20) .. sub(raw, tcp + 1, tcp + 4)
        end
    end
    for at = tcp - 40, max(tcp - 296, 0), -8 do
        local first = byte(raw, at + 1)
        if first >= 0x60 and first < 0x70 and skip_extensions(raw, at) == tcp then
            return at, sub(raw, at + 9, at + 40) .. sub(raw, tcp + 1, tcp + 4)
        end
    end
    return nil
end

-- An ICMP error holds the segment it complains of: that was sent by nobody here.
local function is_quoted(raw, at)
    return (at >= 28 and byte(raw, at - 27) == 0x45 and byte(raw, at - 18) == ICMP)
        or (at >= 48 and floor(byte(raw, at - 47) / 16) == 6 and byte(raw, at - 41) == ICMPV6)
end

-- The innermost segment, by the ports that Wireshark found: for unusual link layers, extensions and tunnels.
local function search(raw, pinfo)
    if pinfo.port_type ~= PORTS_OF_TCP then
        return nil
    end
    local sport, dport = pinfo.src_port, pinfo.dst_port
    local ports = char(floor(sport / 256), sport % 256, floor(dport / 256), dport % 256)
    local place = find(raw, ports, 21, true)
    while place do
        local tcp = place - 1
        local at, key = ip_before(raw, tcp)
        if at and not is_quoted(raw, at) then
            return tcp, key, at
        end
        place = find(raw, ports, place + 1, true)
    end
    return nil
end

-- Distance from one sequence number to another, negative where it lies before.
local function distance(from, to)
    local ahead = (to - from) % WRAP
    return ahead < WRAP / 2 and ahead or ahead - WRAP
end

-- All that matters of a segment, as numbers. nil where it is cut off or its data offset is impossible.
local function read_segment(raw, tcp, ip, whole)
    local offset, flags = byte(raw, tcp + 13, tcp + 14)
    if not flags or offset < 0x50 then
        return nil
    end
    local head = floor(offset / 16) * 4
    local finish
    if byte(raw, ip + 1) < 0x60 then
        local total = number16(raw, ip + 2)
        finish = total > 0 and ip + total or whole
    else
        local size = number16(raw, ip + 4)
        finish = size > 0 and ip + 40 + size or whole
    end
    return {
        flags = flags,
        seq = number32(raw, tcp + 4),
        ack = number32(raw, tcp + 8),
        len = max(finish - tcp - head, 0),
        options = tcp + 20,
        options_end = min(tcp + head, finish, #raw),
    }
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

-- The Fast Open options from offset `at` up to `finish`, in order, valid or not; how the walk ended; the MSS; and
-- the names of related options. Each option: kind, at, size, length, cookie, rule (nil where it is valid).
local function read_options(raw, at, finish)
    local found, mss, related = {}, nil, nil
    while at < finish do
        local kind, length = byte(raw, at + 1, at + 2)
        if kind == EOL then
            return found, at + 1, mss, related
        elseif kind == NOP then
            at = at + 1
        else
            if at + 1 >= finish then
                length = nil
            end
            local stop = length and length >= 2 and min(at + length, finish) or finish
            local data = sub(raw, at + 3, stop)
            local is_experiment = kind == EXPERIMENT_1 or kind == EXPERIMENT_2
            if kind == KIND or (is_experiment and sub(data, 1, 2) == EXID) then
                local cookie = is_experiment and sub(data, 3) or data
                found[#found + 1] = {
                    kind = kind,
                    at = at,
                    size = stop - at,
                    length = length,
                    cookie = cookie,
                    cookie_at = stop - #cookie,
                    rule = length_rule(length, stop - at, cookie),
                }
            elseif kind == MSS and length == 4 and #data == 2 then
                mss = number16(raw, at + 2)
            elseif length and length >= 2 and related_name(kind, length) then
                related = related or {}
                related[#related + 1] = related_name(kind, length)
            end
            if not length or length < 2 then
                break
            end
            at = at + length
        end
    end
    return found, nil, mss, related
end

-- Plain timestamps, as nearly all segments without SYN have them, need no walk.
local function has_odd_options(raw, tcp)
    local offset = byte(raw, tcp + 13)
    if not offset or offset < 0x60 then
        return false
    end
    local a, b, c, d = byte(raw, tcp + 21, tcp + 24)
    if d == 10 and c == 8 and b == 1 and a == 1 and offset < 0x90 then
        return false
    end
    return find(sub(raw, tcp + 21, tcp + floor(offset / 16) * 4), "[\34\253\254]") ~= nil
end

-- What breaks a rule in the options of one segment: a list of {rule, severity}.
local function option_problems(raw, options, after_eol, finish, has_syn)
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
    if after_eol then
        local hidden = read_options(raw, after_eol, finish)
        if hidden[1] and not hidden[1].rule then
            problem("OPT-10: the option behind the end of the list is not read", "warning")
        end
    end
    return problems
end

-- Facts: the few that are kept of a connection with fast open -----------------------------------------------------

-- Addresses and ports, as a packet has them -> the newest connection of that pair. Older ones hang on `earlier`.
local connections
local in_order -- all connections, as they were met
local event_of -- frame number -> its event
local cookies -- server .. cookie -> where it was first met
local newest_cookie -- client .. server -> the cookies that this client had from there
local plain_syn, plain_before, plain_count -- SYNs without fast open, until answered; forgotten by and by

local function forget()
    connections, in_order, event_of, cookies, newest_cookie = {}, {}, {}, {}, {}
    plain_syn, plain_before, plain_count = {}, {}, 0
    usual_place = 14
end
forget()

local PLAIN_KEPT = 4096
local function note_plain_syn(key)
    if plain_count == PLAIN_KEPT then
        plain_before, plain_syn, plain_count = plain_syn, {}, 0
    end
    plain_syn[key] = true
    plain_count = plain_count + 1
end

local function reversed(key)
    local size = (#key - 4) / 2
    return sub(key, size + 1, 2 * size) .. sub(key, 1, size) .. sub(key, -2) .. sub(key, -4, -3)
end

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

local function hex(raw)
    return (raw:gsub(".", function(one) return format("%02x", byte(one)) end))
end

local function client_of(connection)
    return sub(connection.key, 1, (#connection.key - 4) / 2)
end

local function server_of(connection)
    local size = (#connection.key - 4) / 2
    return sub(connection.key, size + 1, 2 * size)
end

-- The connection of that pair to which a frame of that number belongs, or nil.
local function connection_at(key, number)
    local connection = connections[key]
    while connection and connection.first > number do
        connection = connection.earlier
    end
    if connection and connection.ended and number >= connection.ended then
        return nil
    end
    return connection
end

-- Frames may come out of order: those of one pair stay sorted by their first frame.
local function open_connection(key, number, isn)
    local connection = { key = key, first = number, isn = isn, events = {} }
    local newer, older = nil, connections[key]
    while older and older.first > number do
        newer, older = older, older.earlier
    end
    connection.earlier = older
    if newer then
        newer.earlier = connection
    else
        connections[key] = connection
        connections[reversed(key)] = connection
    end
    in_order[#in_order + 1] = connection
    return connection
end

local function add_event(connection, kind, segment, pinfo)
    local number = pinfo.number
    local event = {
        kind = kind, frame = number, time = pinfo.abs_ts, connection = connection,
        seq = segment.seq, ack = segment.ack, len = segment.len, fin = FIN[segment.flags] or nil,
    }
    local events = connection.events
    local last = events[#events]
    events[#events + 1] = event
    if last and last.frame > number then
        sort(events, function(a, b) return a.frame < b.frame end)
    end
    if number < connection.first then
        connection.first = number
    end
    event_of[number] = event
    return event
end

local function add_problem(connection, frame, rule, severity)
    connection.problems = connection.problems or {}
    connection.problems[#connection.problems + 1] = { frame = frame, rule = rule, severity = severity }
end

-- Where a cookie was met first, its grant before its use; whether another client has it; which this client had.
local function note_cookie(connection, event, is_grant)
    local client, server = client_of(connection), server_of(connection)
    local known = cookies[server .. event.cookie]
    if not known then
        cookies[server .. event.cookie] = { frame = event.frame, time = event.time, client = client, granted = is_grant }
    else
        if known.client ~= client then
            event.shared_with = known.client
        end
        if event.frame > known.frame then
            event.seen_in, event.seen_at = known.frame, known.time
        elseif event.frame < known.frame then
            known.frame, known.time = event.frame, event.time
        end
        if is_grant and not known.granted then
            known.granted = true
        end
    end
    local pair = client .. server
    local had = newest_cookie[pair]
    if had and had.cookie ~= event.cookie and had.frame < event.frame then
        event.changed = had.frame
    end
    if not had or had.frame < event.frame then
        newest_cookie[pair] = event
    end
end

local function last_valid(options)
    for place = #options, 1, -1 do
        if not options[place].rule then
            return options[place]
        end
    end
    return nil
end

local function feed_syn(key, segment, options, related, pinfo)
    local number = pinfo.number
    local connection = connection_at(key, number)
    local option = last_valid(options)
    if connection and connection.key ~= key then
        connection = nil -- a simultaneous open: the other side's is a connection of its own
    end
    if connection and (connection.isn ~= segment.seq or (connection.closed and connection.closed < number)) then
        connection.ended = min(connection.ended or number, number)
        connection = nil
    end
    if not connection then
        if #options == 0 and (segment.len == 0 or related) then
            note_plain_syn(key)
            return nil
        end
        connection = open_connection(key, number, segment.seq)
    end
    local event = add_event(connection, "syn", segment, pinfo)
    event.plain = #options == 0 or nil
    if option then
        event.cookie = option.cookie
        if event.cookie ~= "" then
            note_cookie(connection, event, false)
        end
    end
    connection.settled = nil
    return event
end

local function feed_syn_ack(key, segment, options, mss, pinfo)
    local connection = connection_at(key, pinfo.number)
    local option = last_valid(options)
    if connection and connection.key == key then
        connection = nil
    end
    if not connection then
        local back = reversed(key)
        local was_plain = plain_syn[back] or plain_before[back]
        plain_syn[back], plain_before[back] = nil, nil
        if #options == 0 then
            return nil
        end
        connection = open_connection(back, pinfo.number, nil)
        connection.unsolicited = was_plain
        if was_plain then
            add_problem(connection, pinfo.number, "SRV-8: a cookie that nobody asked for", "warning")
        end
    end
    local event = add_event(connection, "syn-ack", segment, pinfo)
    event.plain = #options == 0 or nil
    connection.mss = mss or connection.mss
    if option then
        event.cookie = option.cookie
        if event.cookie ~= "" then
            note_cookie(connection, event, true)
        end
    end
    connection.answered = true
    if connection.isn then
        connection.acked = max(connection.acked or 0, distance(connection.isn, segment.ack) - 1)
    end
    return event
end

-- How many bytes the SYN of a connection held at most.
local function syn_bytes(connection)
    local most = 0
    for _, event in ipairs(connection.events) do
        if event.kind == "syn" then
            most = max(most, event.len)
        end
    end
    return most
end

local function feed_from_client(connection, segment, pinfo)
    if RST[segment.flags] then
        return add_event(connection, "client-reset", segment, pinfo)
    end
    if connection.answered then
        connection.established = min(connection.established or pinfo.number, pinfo.number)
    end
    local start = connection.isn and distance(connection.isn, segment.seq) - 1
    if start and segment.len > 0 and start < syn_bytes(connection) and start >= 0 then
        return add_event(connection, "resent", segment, pinfo)
    elseif not connection.answered and not connection.went_on then
        connection.went_on = true
        return add_event(connection, "client-went-on", segment, pinfo)
    end
    return nil
end

local function feed_from_server(connection, segment, pinfo)
    if RST[segment.flags] then
        return add_event(connection, "server-reset", segment, pinfo)
    end
    if connection.isn and ACK[segment.flags] then
        local acked = distance(connection.isn, segment.ack) - 1
        connection.acked = max(connection.acked or 0, acked)
    end
    if segment.len > 0 and (not connection.answer or connection.answer > pinfo.number) then
        connection.answer = pinfo.number
        return add_event(connection, "answer", segment, pinfo)
    elseif not connection.answered and not connection.server_went_on then
        connection.server_went_on = true
        return add_event(connection, "server-went-on", segment, pinfo)
    end
    return nil
end

-- A segment without SYN of a connection that is known, or with an option that has no business there.
local function feed_other(key, segment, options, pinfo)
    local number = pinfo.number
    local connection = connection_at(key, number)
    if not connection and #options > 0 then
        connection = open_connection(key, number, nil)
    end
    if not connection then
        return nil
    end
    local is_client = connection.key == key
    if (FIN[segment.flags] or RST[segment.flags]) and (is_client or RST[segment.flags]) then
        connection.closed = min(connection.closed or number, number)
    end
    local event
    if not connection.settled then
        event = (is_client and feed_from_client or feed_from_server)(connection, segment, pinfo)
        connection.settled = connection.answer and (connection.acked or 0) >= syn_bytes(connection)
    end
    if #options > 0 and not event then
        event = add_event(connection, "stray", segment, pinfo)
    end
    return event
end

-- The outcome: from the facts of a connection, without looking at anything else ------------------------------------

-- What the events of a connection say, in their order.
local function gather(connection)
    local facts = { problems = {}, syn_acks = 0 }
    local function problem(event, rule, severity)
        facts.problems[#facts.problems + 1] = { frame = event.frame, rule = rule, severity = severity }
    end
    local resent_to = 0
    for _, event in ipairs(connection.events) do
        local kind = event.kind
        if kind == "syn" then
            if not facts.syn then
                facts.syn = event
            elseif not (connection.established and connection.established < event.frame) then
                facts.again = facts.again or event
            end
        elseif kind == "syn-ack" then
            facts.syn_acks = facts.syn_acks + 1
            facts.any_syn_ack = facts.any_syn_ack or event
            local acked = facts.syn and distance(facts.syn.seq, event.ack) - 1
            if acked and acked >= 0 then
                if not facts.reply then
                    facts.reply, facts.acked = event, acked
                elseif event.seq ~= facts.reply.seq and acked > 0 and facts.acked > 0 then
                    facts.second_reply = facts.second_reply or event
                end
                facts.acked = max(facts.acked, acked)
                facts.cookie_reply = facts.cookie_reply or (event.cookie and event.cookie ~= "" and event) or nil
            elseif acked then
                problem(event, "CLI-15: the acknowledgement is not of this SYN", "warning")
            end
        elseif kind == "answer" then
            facts.answer = facts.answer or event
            local reply = facts.reply
            if reply and facts.acked > 0 and distance(reply.seq, event.seq) - 1 < 0 then
                facts.second_reply = facts.second_reply or event
            end
        elseif kind == "resent" and facts.syn then
            local start = distance(facts.syn.seq, event.seq) - 1
            local finish = min(start + event.len, facts.syn.len)
            if finish > resent_to then
                facts.resent = (facts.resent or 0) + finish - max(start, resent_to)
                facts.resent_event = facts.resent_event or event
                resent_to = finish
            end
        elseif kind == "server-reset" then
            facts.reset = facts.reset or event
        elseif kind == "server-went-on" then
            facts.server_went_on = facts.server_went_on or event
        elseif kind == "client-went-on" then
            facts.client_went_on = facts.client_went_on or event
        end
    end
    facts.server_went_on = facts.server_went_on or facts.answer
    local syn = facts.syn
    if syn then
        facts.sent = syn.len
        facts.resent = facts.resent or 0
        facts.most = syn.len + (syn.fin and 1 or 0)
        if facts.again and facts.again.len > syn.len then
            facts.most = facts.again.len + (facts.again.fin and 1 or 0)
        end
        if facts.acked and facts.acked > facts.most then
            problem(facts.reply, format("CLI-15: %d bytes acknowledged of %d that were sent", facts.acked, syn.len),
                "error")
        elseif facts.acked and facts.acked > 0 and facts.acked < syn.len then
            problem(facts.reply, format("CLI-15: %d of %d bytes acknowledged", facts.acked, syn.len), "note")
        end
        if connection.mss and syn.len > connection.mss then
            problem(syn, format("CLI-4: %d bytes in the SYN, over the MSS of %d", syn.len, connection.mss), "warning")
        end
        for _, event in ipairs(connection.events) do
            if event.shared_with then
                problem(event, "SRV-1: another client, " .. address_text(event.shared_with) .. ", has this cookie",
                    "warning")
            end
        end
    end
    if facts.second_reply then
        problem(facts.second_reply, "DUP-3: the data of one SYN was accepted twice", "error")
    end
    return facts
end

local function waited(facts)
    return format("the SYN was sent again after %.3f s", facts.again.time - facts.syn.time)
end

-- Where no SYN-ACK answers a SYN that was seen: unknown, and what is missing.
local function judge_unanswered(facts, connection)
    if not facts.syn then
        if connection.unsolicited then
            return "unknown", "a cookie that nobody asked for"
        elseif facts.any_syn_ack then
            return "unknown", "the capture begins after the SYN"
        end
        return "unknown", "an option on a segment without SYN, nothing else"
    elseif facts.server_went_on then
        return "unknown", format("a frame is missing before %d: the SYN-ACK", facts.server_went_on.frame)
    elseif facts.client_went_on then
        return "unknown", "one direction only: nothing from the server"
    elseif facts.reset then
        return "unknown", "answered by RST"
    elseif facts.any_syn_ack then
        return "unknown", "the SYN-ACK acknowledges another SYN"
    elseif facts.again then
        return "unknown", "no answer to the SYN, nor to the next"
    end
    return "unknown", "no answer to the SYN"
end

-- Where the SYN was sent again: had the first arrived?
local function judge_repeated(facts)
    local syn, again, reply = facts.syn, facts.again, facts.reply
    local accepted = facts.sent > 0 and facts.acked >= facts.sent
    if reply.frame < again.frame or (again.len == 0 and facts.acked > 0) then
        if accepted then
            return "syn-ack-lost", waited(facts) .. ", but the first had arrived: its data was accepted", 0
        end
        return "syn-ack-lost", waited(facts) .. ", but the first had arrived", -1
    end
    local how = again.plain and syn.len > again.len and ", plain"
        or again.plain and ", without the option" or ", as it was"
    local then_what = accepted and "; its data was accepted then"
        or facts.cookie_reply and "; a cookie was granted then" or ""
    return "syn-lost-fallback", waited(facts) .. how .. then_what, -1
end

local function judge_cookie_and_data(facts)
    local sent, acked = facts.sent, facts.acked
    if acked >= sent then
        return "accepted", facts.cookie_reply and "all data acknowledged, and a new cookie" or "all data acknowledged", 1
    elseif acked > 0 then
        return "accepted-partially", format("%d of %d bytes acknowledged", acked, sent), 0
    elseif facts.cookie_reply then
        local same = facts.cookie_reply.cookie == facts.syn.cookie
        return "refused-cookie", same and "data not acknowledged, the same cookie again"
            or "data not acknowledged, a new cookie", 0
    elseif facts.reply.plain then
        return "refused-off-or-stripped", "data not acknowledged, no option in the SYN-ACK", 0
    end
    return "refused-off-or-stripped", "data not acknowledged, no cookie in the SYN-ACK's option", 0
end

local function judge_data_alone(facts)
    local sent, acked = facts.sent, facts.acked
    local granted = facts.cookie_reply and "; a cookie was granted" or ""
    if acked >= sent then
        return "cookieless-accepted", "data without a cookie acknowledged" .. granted, 1
    elseif acked > 0 then
        return "cookieless-accepted", format("%d of %d bytes without a cookie acknowledged", acked, sent) .. granted, 0
    end
    return "cookieless-refused", "data without a cookie not acknowledged" .. granted, 0
end

-- Outcome, why, and round trips saved (1) or lost (-1), nil where that cannot be told.
local function judge(facts, connection)
    local syn, cookie = facts.syn, facts.syn and facts.syn.cookie
    if facts.second_reply then
        return "replayed", "the data of one SYN was accepted twice", 0
    elseif not facts.reply then
        return judge_unanswered(facts, connection)
    elseif facts.acked > facts.most then
        return "over-acknowledged", format("%d bytes acknowledged of %d", facts.acked, syn.len), 0
    elseif facts.again then
        return judge_repeated(facts)
    elseif facts.sent > 0 then
        return (cookie and cookie ~= "" and judge_cookie_and_data or judge_data_alone)(facts)
    elseif cookie == "" then
        if facts.cookie_reply then
            return "requested-granted", "a cookie came back", 0
        end
        return "requested-not-granted", facts.reply.plain and "no option in the SYN-ACK"
            or "no valid cookie in the SYN-ACK", 0
    elseif not cookie then
        return "unknown", "the SYN's option is not valid"
    elseif facts.cookie_reply and facts.cookie_reply.cookie ~= cookie then
        return "refused-cookie", "no data, and another cookie came back", 0
    end
    return "unknown", "a cookie but no data to judge"
end

-- All that can be said of a connection now.
local function verdict_of(connection)
    local facts = gather(connection)
    local outcome, why, round_trips = judge(facts, connection)
    local verdict = {
        outcome = outcome, why = why, round_trips = round_trips,
        sent = facts.sent, acked = facts.acked, resent = facts.resent,
        problems = facts.problems, evidence = {},
        syn = facts.syn, reply = facts.reply,
    }
    local seen = {}
    for _, name in ipairs({ "syn", "again", "reply", "second_reply", "resent_event", "reset", "any_syn_ack" }) do
        local event = facts[name]
        if event and not seen[event.frame] and not (name == "any_syn_ack" and facts.reply) then
            seen[event.frame] = true
            verdict.evidence[#verdict.evidence + 1] = event.frame
        end
    end
    sort(verdict.evidence)
    if facts.reply then
        local asked = facts.again and facts.again.frame < facts.reply.frame and outcome ~= "syn-ack-lost"
            and facts.again or facts.syn
        verdict.rtt = facts.reply.time - asked.time
    end
    if facts.syn and facts.answer and facts.answer.frame > facts.syn.frame then
        verdict.first_answer = facts.answer.time - facts.syn.time
    end
    if connection.problems then
        for _, problem in ipairs(connection.problems) do
            verdict.problems[#verdict.problems + 1] = problem
        end
    end
    sort(verdict.problems, function(a, b)
        return a.frame < b.frame or (a.frame == b.frame and a.rule < b.rule)
    end)
    return verdict
end

-- The protocol: fields, expert information, tree and Info column ---------------------------------------------------

local tfo = Proto("tfo", "TCP Fast Open")
local fields = {
    role = ProtoField.string("tfo.role", "Role"),
    kind = ProtoField.uint8("tfo.kind", "Kind", base.DEC),
    cookie = ProtoField.bytes("tfo.cookie", "Cookie"),
    cookie_length = ProtoField.uint8("tfo.cookie.length", "Cookie length", base.DEC),
    valid = ProtoField.bool("tfo.valid", "Valid"),
    rule = ProtoField.string("tfo.rule", "Rule broken"),
    outcome = ProtoField.string("tfo.outcome", "Outcome"),
    why = ProtoField.string("tfo.why", "Why"),
    evidence = ProtoField.framenum("tfo.evidence", "Evidence"),
    sent = ProtoField.uint32("tfo.data.sent", "Bytes in the SYN", base.DEC),
    acked = ProtoField.uint32("tfo.data.acked", "Bytes acknowledged by the SYN-ACK", base.DEC),
    resent = ProtoField.uint32("tfo.data.resent", "Bytes of the SYN sent again", base.DEC),
    first_answer = ProtoField.relative_time("tfo.time.first_answer", "SYN to first answer byte"),
    rtt = ProtoField.relative_time("tfo.rtt", "SYN to SYN-ACK"),
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
-- The beginning of a rule -> its expert information: name, text, severity.
local expert_of = {}
local function declare(rule, name, text, severity)
    expert_of[rule] = ProtoExpert.new("tfo.expert." .. name, text, expert.group.PROTOCOL, SEVERITY[severity])
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
declare("CLI-15", "acknowledgement", "Remarkable acknowledgement of SYN data", "warning")
declare("DUP-3", "replayed", "SYN data accepted twice", "error")
tfo.experts = {}
for _, each in pairs(expert_of) do
    tfo.experts[#tfo.experts + 1] = each
end

tfo.prefs.info = Pref.bool("Say it in the Info column", true, "Whether the Info column names role and outcome")

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

local function show_cookie(tree, event)
    if event.seen_in then
        tree:add(fields.seen_in, event.seen_in):set_generated()
        tree:add(fields.age, span(event.time - event.seen_at)):set_generated()
    end
    if event.changed then
        tree:add(fields.changed, event.changed):set_generated()
    end
    if event.shared_with then
        tree:add(fields.shared_with, address_text(event.shared_with)):set_generated()
    end
end

local function show_verdict(tree, verdict)
    tree:add(fields.outcome, verdict.outcome):set_generated()
    tree:add(fields.why, verdict.why):set_generated()
    for _, frame in ipairs(verdict.evidence) do
        tree:add(fields.evidence, frame):set_generated()
    end
    for _, name in ipairs({ "sent", "acked", "resent", "round_trips" }) do
        if verdict[name] then
            tree:add(fields[name], verdict[name]):set_generated()
        end
    end
    for _, name in ipairs({ "first_answer", "rtt" }) do
        if verdict[name] then
            tree:add(fields[name], span(verdict[name])):set_generated()
        end
    end
end

local function show_problem(tree, rule)
    local each = expert_of[rule:match("^[^:]+")]
    if each then
        tree:add_proto_expert_info(each, rule)
    end
end

local function show(tvb, tree, segment, options, related, event, verdict, problems)
    local item = tree:add(tfo, tvb(segment.options, max(segment.options_end - segment.options, 0)))
    for _, option in ipairs(options) do
        show_option(item, tvb, option, segment.flags)
    end
    for _, name in ipairs(related or {}) do
        item:add(fields.other, name):set_generated()
    end
    if event then
        show_cookie(item, event)
        show_verdict(item, verdict)
        item:append_text(": " .. verdict.outcome)
    end
    for _, problem in ipairs(problems) do
        show_problem(item, problem.rule)
    end
end

local function say_in_info(pinfo, event)
    local connection, kind = event.connection, event.kind
    local text
    if kind == "syn" then
        if event.cookie == "" and event.len == 0 then
            text = "request"
        elseif event.cookie and event.cookie ~= "" then
            text = event.len > 0 and format("cookie and %d bytes", event.len) or "cookie"
        elseif event.len > 0 then
            text = format("%d bytes without a cookie", event.len)
        else
            text = event.plain and "sent again" or "invalid option"
        end
        if connection.answered then
            local outcome = verdict_of(connection).outcome
            text = outcome ~= "unknown" and text .. ": " .. outcome or text
        end
        if event.len > 0 and not find(tostring(pinfo.cols.info), "[SYN", 1, true) then
            pinfo.cols.info:prepend("[SYN] ")
        end
    elseif kind == "syn-ack" then
        text = verdict_of(connection).outcome
    elseif kind == "resent" then
        text = "data of the SYN again"
    elseif kind == "stray" then
        text = "option without SYN"
    else
        return
    end
    pinfo.cols.info:append(" [TFO: " .. text .. "]")
end

-- Every frame passes here: most leave after the first lines.
local NONE = {}
function tfo.dissector(tvb, pinfo, tree)
    local whole = tvb:captured_len()
    local raw = tvb:raw(0, whole < HEAD and whole or HEAD)
    local ip = usual_place
    local tcp, key = read_ip(raw, ip)
    if not tcp then
        raw = tvb:raw()
        tcp, key, ip = search(raw, pinfo)
        if not tcp then
            return
        end
        usual_place = ip
    end
    local flags = byte(raw, tcp + 14)
    if not flags then
        return
    end
    local connection = connections[key]
    local is_syn = SYN[flags]
    local event
    if not is_syn then
        if connection then
            event = event_of[pinfo.number]
            if not event and connection.settled and not CONTROL[flags] and not has_odd_options(raw, tcp) then
                return
            end
        elseif not has_odd_options(raw, tcp) then
            return
        end
    end
    if number16(raw, tcp) ~= pinfo.src_port or number16(raw, tcp + 2) ~= pinfo.dst_port then
        raw = tvb:raw()
        tcp, key, ip = search(raw, pinfo)
        if not tcp then
            return
        end
        flags = byte(raw, tcp + 14)
    end
    if whole > HEAD and #raw == HEAD then
        raw = tvb:raw()
    end
    local segment = read_segment(raw, tcp, ip, tvb:reported_len())
    if not segment then
        return
    end
    local options, after_eol, mss, related = NONE, nil, nil, nil
    if segment.options < segment.options_end then
        options, after_eol, mss, related = read_options(raw, segment.options, segment.options_end)
    end
    event = event or event_of[pinfo.number]
    local problems = NONE
    if #options > 0 or after_eol then
        problems = option_problems(raw, options, after_eol, segment.options_end, SYN[flags])
    end
    if not event then
        if not SYN[flags] then
            event = feed_other(key, segment, options, pinfo)
        elseif ACK[flags] then
            event = feed_syn_ack(key, segment, options, mss, pinfo)
        else
            event = feed_syn(key, segment, options, related, pinfo)
        end
        if event then
            for _, problem in ipairs(problems) do
                add_problem(event.connection, pinfo.number, problem.rule, problem.severity)
            end
        end
    end
    if not event and not (related and SYN[flags]) then
        return
    end
    if tfo.prefs.info and event then
        say_in_info(pinfo, event)
    end
    if tree.visible or tree:referenced(Dissector.get("tfo")) or #problems > 0 then
        local verdict = event and verdict_of(event.connection)
        show(tvb, tree, segment, options, related, event, verdict, problems)
    end
end

function tfo.init()
    forget()
end

register_postdissector(tfo)

-- Statistics: -z tfo,TABLE[,FILTER] and the Tools menu -------------------------------------------------------------

local OUTCOMES = {
    "requested-granted", "requested-not-granted", "accepted", "accepted-partially", "over-acknowledged",
    "refused-cookie", "refused-off-or-stripped", "syn-lost-fallback", "syn-ack-lost",
    "cookieless-accepted", "cookieless-refused", "replayed", "unknown",
}
local LINE = ("="):rep(98)

-- The connections of a tap, by their first frame; `selected` nil means all.
local function each_connection(selected)
    sort(in_order, function(a, b) return a.first < b.first end)
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

local function json_of(connection, selected)
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
    local key = connection.key
    add_number("stream", selected and selected[connection] or -1)
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
    local cookie = verdict.syn and verdict.syn.cookie or ""
    if cookie == "" and verdict.reply then
        cookie = verdict.reply.cookie or ""
    end
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

function tables.json(say, selected)
    say("tfo-json-begin")
    for connection in each_connection(selected) do
        say(json_of(connection, selected))
    end
    say("tfo-json-end")
end

function tables.outcome(say, selected)
    local rows = {}
    for _, outcome in ipairs(OUTCOMES) do
        rows[outcome] = { 0, 0, 0, 0, 0 }
    end
    for connection in each_connection(selected) do
        local verdict = verdict_of(connection)
        local row = rows[verdict.outcome]
        row[1] = row[1] + 1
        row[2] = row[2] + (verdict.sent or 0)
        row[3] = row[3] + (verdict.acked or 0)
        row[4] = row[4] + (verdict.resent or 0)
        row[5] = row[5] + (verdict.round_trips or 0)
    end
    local form = "%-26s %12s %14s %14s %14s %12s"
    say(LINE)
    say("TCP Fast Open: outcomes")
    say(format(form, "outcome", "connections", "bytes-sent", "bytes-acked", "bytes-resent", "rtt-saved"))
    for _, outcome in ipairs(OUTCOMES) do
        local row = rows[outcome]
        if row[1] > 0 then
            say((format("%-26s %12d %14d %14d %14d %12d", outcome, row[1], row[2], row[3], row[4], row[5])))
        end
    end
    say(LINE)
end

-- Connections and what came of them, by server or by client.
local GROUPS = {
    { "granted", { "requested-granted" } },
    { "accepted", { "accepted", "accepted-partially", "cookieless-accepted", "over-acknowledged", "replayed" } },
    { "refused", { "requested-not-granted", "refused-cookie", "refused-off-or-stripped", "cookieless-refused" } },
    { "lost", { "syn-lost-fallback", "syn-ack-lost" } },
    { "unknown", { "unknown" } },
}
local group_of = {}
for place, group in ipairs(GROUPS) do
    for _, outcome in ipairs(group[2]) do
        group_of[outcome] = place
    end
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
    local form = "%-44s %11s %8s %8s %8s %8s %8s %8s"
    say(LINE)
    say("TCP Fast Open: " .. title)
    say(format(form, title, "connections", "granted", "accepted", "refused", "lost", "unknown", "problems"))
    form = form:gsub("(%d)s", "%1d"):gsub("44d", "44s")
    for _, name in ipairs(names) do
        local row = rows[name]
        say(format(form, name, row.total, row[1], row[2], row[3], row[4], row[5], row.problems))
    end
    say(LINE)
end

function tables.servers(say, selected)
    by_host(say, selected, "servers", function(connection)
        local address = address_text(server_of(connection))
        return format(find(address, ":", 1, true) and "[%s]:%d" or "%s:%d", address,
            number16(connection.key, #connection.key - 2))
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
    say(format("%8s %-8s %-60s %s", "count", "severity", "rule", "frames"))
    for _, rule in ipairs(rules) do
        local row = rows[rule]
        say(format("%8d %-8s %-60s %s", row.count, row.severity, rule, concat(row.frames, ",")
            .. (row.count > #row.frames and ",..." or "")))
    end
    say(LINE)
end

-- The frames that pass a filter choose the connections; the streams' numbers come with the tcp tap.
local function listen(name, filter, say)
    local selected
    local tap
    if filter or name == "json" then
        selected = {}
        tap = Listener.new("tcp", filter and "tfo && (" .. filter .. ")" or "tfo")
        function tap.packet(pinfo, _, info)
            local event = event_of[pinfo.number]
            if event then
                selected[event.connection] = info and info.th_stream or -1
            end
        end
    else
        tap = Listener.new("frame")
    end
    function tap.reset()
        selected = selected and {}
    end
    function tap.draw()
        tables[name](say, selected)
    end
    return tap
end

for _, name in ipairs({ "outcome", "servers", "clients", "problems", "json" }) do
    register_stat_cmd_arg("tfo," .. name, function(argument)
        local filter = argument and argument:match("^tfo,%a+,(.+)$")
        listen(name, filter, print)
    end)
end

if gui_enabled and gui_enabled() then
    for _, name in ipairs({ "outcome", "servers", "clients", "problems" }) do
        register_menu("TCP Fast Open/" .. name, function()
            local window = TextWindow.new("TCP Fast Open: " .. name)
            local tap = listen(name, nil, function(line) window:append(line .. "\n") end)
            window:set_atclose(function() tap:remove() end)
            retap_packets()
        end, MENU_TOOLS_UNSORTED)
    end
end
