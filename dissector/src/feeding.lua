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

