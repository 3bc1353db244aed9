-- Facts: the few that are kept of a connection with fast open -----------------------------------------------------

-- A connection is one flat table, as there may be a hundred thousand of them. What most come to have stands in numbered
-- slots, which take half the memory of names; the rest under its name. Numbers of frames, times in seconds:
--   KEY                     addresses and ports, as the client's packets have them
--   FIRST                   its first frame
--   EARLIER                 the next older connection of the same addresses and ports
--   SETTLED                 whether nothing more is to come that matters
--   ISN, LEN, fin           of the SYN: sequence number, bytes of data, whether it has FIN
--   SYN_IN, SYN_TIME        the SYN
--   COOKIE                  of the SYN: "" in a request, nil without a valid option
--   again, again_time, again_len, again_plain   the same SYN once more
--   REPLY, REPLY_TIME, REPLY_SEQ, ACKED         the SYN-ACK; bytes of data that it acknowledges
--   GRANTED                 the cookie in the SYN-ACK; had_option where there is an option without one
--   second_reply            a sign that a second connection took the same data
--   foreign_reply           a SYN-ACK that answers something else
--   ESTABLISHED             the client's first packet after the SYN-ACK
--   ANSWER, ANSWER_TIME     the server's first byte
--   RESENT, RESENT_TO, RESENT_IN                bytes of the SYN's data sent again, up to which, where first
--   reset, server_went_on, client_went_on       where there is no SYN-ACK: what there is instead
--   ended                   where another connection of the same addresses and ports begins
--   changed, shared_with    the frame of the cookie had before; another client with the same one
--   over_mss, unsolicited, problems
-- Each fact is the earliest frame's, in whatever order the frames come. What is not known is false or nil.
local KEY, FIRST, EARLIER, SETTLED, ISN, LEN, SYN_IN, SYN_TIME, COOKIE = 1, 2, 3, 4, 5, 6, 7, 8, 9
local REPLY, REPLY_TIME, REPLY_SEQ, ACKED, GRANTED, ESTABLISHED = 10, 11, 12, 13, 14, 15
local ANSWER, ANSWER_TIME, RESENT, RESENT_TO, RESENT_IN = 16, 17, 18, 19, 20

local connections -- key, of either side's packets -> the newest connection that has it
local in_order, is_sorted -- all connections, as they were met; whether that is by their first frames
local owner -- frame -> its connection, where the frame is one of its facts
local first_with_cookie -- server .. cookie -> the connection that met it first
local newest_of_pair -- client .. server -> the connection with the newest cookie
local plain_syn, plain_before, plain_count -- keys of SYNs without fast open; forgotten by and by
local dull_options, dull_count -- options of SYNs, as bytes -> whether none of them matters here
local has_columns, asked_at -- whether there is a column to write to; the newest frame where that was asked
local said -- text -> as it stands in the column
local most_memory -- KB of Lua's from which on it is swept up

local function forget()
    connections, in_order, owner, first_with_cookie, newest_of_pair = {}, {}, {}, {}, {}
    plain_syn, plain_before, plain_count = {}, {}, 0
    dull_options, dull_count = {}, 0
    is_sorted = true
    usual_place = 14
    has_columns, asked_at, said = false, 0, {}
    most_memory = 0
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

local PLAIN_KEPT, SWEPT_AFTER = 4096, 16 -- the first is a multiple of the second
local function note_plain_syn(key)
    if plain_count % SWEPT_AFTER == 0 then
        sweep_up()
        if plain_count == PLAIN_KEPT then
            plain_before, plain_syn, plain_count = plain_syn, {}, 0
        end
    end
    plain_syn[key] = true
    plain_count = plain_count + 1
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

-- Seconds. No SYN is sent again so soon (RFC 6298: after one; Linux: after 0.2 at least): the path has doubled it.
local COPIED_WITHIN = 0.1

local function feed_syn(key, segment, options, related, number, pinfo)
    local connection = connection_at(key, number)
    if connection and connection[KEY] ~= key then
        connection = nil -- a simultaneous open: the other side's is a connection of its own
    end
    -- The same ISN is the same SYN, also when its connection is over: whoever takes its data takes it twice.
    if connection and connection[ISN] and connection[ISN] ~= segment.seq then
        connection.ended = min(connection.ended or number, number)
        connection = nil
    end
    if not connection then
        if #options == 0 and (segment.len == 0 or related) then
            note_plain_syn(key)
            return nil
        end
        connection = open_connection(key, number)
    end
    if not note_first(connection, SYN_IN, number) then
        local is_copy = segment.len == connection[LEN] and (segment.len > 0 or #options > 0)
            and pinfo.abs_ts - connection[SYN_TIME] < COPIED_WITHIN
        if not is_copy and note_first(connection, "again", number) then
            connection.again_time, connection.again_len = pinfo.abs_ts, segment.len
            connection.again_plain = #options == 0
        end
        connection[SETTLED] = false
        return connection
    end
    local cookie = last_valid(options)
    connection[ISN], connection[LEN], connection[SYN_TIME] = segment.seq, segment.len, pinfo.abs_ts
    if FIN[segment.flags] then
        connection.fin = true
    end
    if cookie then
        if cookie ~= "" then
            note_cookie(connection, cookie, number)
        end
        connection[COOKIE] = cookie
    end
    return connection
end

local function feed_syn_ack(key, segment, options, mss, number, pinfo)
    local connection = connection_at(key, number)
    if connection and connection[KEY] == key then
        connection = nil
    end
    if not connection then
        if #options == 0 then
            return nil
        end
        key = reversed(key)
        connection = open_connection(key, number)
        if plain_syn[key] or plain_before[key] then
            connection.unsolicited = true
            add_problem(connection, number, "SRV-8: a cookie that nobody asked for", "warning")
        end
    end
    local acked = connection[ISN] and distance(connection[ISN], segment.ack) - 1
    if not acked or acked < 0 then
        if note_first(connection, "foreign_reply", number) and acked then
            add_problem(connection, number, "CLI-15: the acknowledgement is not of this SYN", "warning")
        end
        return connection
    end
    local was_taken = connection[REPLY] and (connection[ACKED] > 0 or connection[RESENT])
    if was_taken and segment.seq ~= connection[REPLY_SEQ] and acked > 0 then
        note_first(connection, "second_reply", max(number, connection[REPLY]))
    end
    connection[ACKED] = max(connection[ACKED] or 0, acked)
    if note_first(connection, REPLY, number) then
        connection[REPLY_TIME], connection[REPLY_SEQ] = pinfo.abs_ts, segment.seq
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

local function feed_from_client(connection, segment, number)
    if connection[REPLY] and not RST[segment.flags] then
        note_first(connection, ESTABLISHED, number)
    elseif not connection[REPLY] then
        return note_first(connection, "client_went_on", number)
    end
    local start = connection[ISN] and distance(connection[ISN], segment.seq) - 1 or -1
    if segment.len == 0 or start < 0 or start >= connection[LEN] then
        return false
    end
    local finish, reached = min(start + segment.len, connection[LEN]), connection[RESENT_TO] or 0
    if finish > reached then
        connection[RESENT] = (connection[RESENT] or 0) + finish - max(start, reached)
        connection[RESENT_TO] = finish
        note_first(connection, RESENT_IN, number)
    end
    return true
end

local function feed_from_server(connection, segment, number, pinfo)
    if RST[segment.flags] then
        return not connection[REPLY] and note_first(connection, "reset", number)
    end
    local is_fact = false
    if segment.len > 0 then
        if note_first(connection, ANSWER, number) then
            connection[ANSWER_TIME] = pinfo.abs_ts
            is_fact = true
        end
        -- Data that lies before the first byte that the SYN-ACK announced is another connection's.
        if connection[REPLY] and connection[ACKED] > 0 and distance(connection[REPLY_SEQ], segment.seq) < 0 then
            is_fact = note_first(connection, "second_reply", number) or is_fact
        end
    end
    if not connection[REPLY] then
        is_fact = note_first(connection, "server_went_on", number) or is_fact
    end
    return is_fact
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
            is_fact = feed_from_client(connection, segment, number)
        else
            is_fact = feed_from_server(connection, segment, number, pinfo)
        end
        local len = connection[LEN]
        connection[SETTLED] = connection[ANSWER] and connection[REPLY]
            and (connection[ACKED] >= len or (connection[RESENT] or 0) >= len) or false
    end
    return (is_fact or #options > 0) and connection or nil
end

