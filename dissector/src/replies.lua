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

