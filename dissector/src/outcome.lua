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

