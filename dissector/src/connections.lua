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

