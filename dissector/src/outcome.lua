-- The outcome: from the facts of a connection, without looking at anything else ------------------------------------

local function bytes_of(count)
    return count == 1 and "1 byte" or format("%d bytes", count)
end

-- Where no SYN-ACK answers a SYN that was seen: unknown, and what is missing.
local function judge_unanswered(facts, again)
    if not facts[SYN_IN] then
        if facts.unsolicited then
            return "unknown", "a cookie that nobody asked for"
        elseif facts.foreign_reply then
            return "unknown", "the capture begins after the SYN"
        end
        return "unknown", "an option on a segment without SYN, nothing else"
    elseif facts.server_went_on then
        return "unknown", format("a frame is missing before %d: the SYN-ACK", facts.server_went_on)
    elseif facts.reset then
        return "unknown", "answered by RST"
    elseif facts.client_went_on then
        return "unknown", "one direction only: nothing from the server"
    elseif facts.foreign_reply then
        return "unknown", "the SYN-ACK acknowledges another SYN"
    elseif again then
        return "unknown", "no answer to the SYN, nor to the next"
    end
    return "unknown", "no answer to the SYN"
end

-- Where the SYN was sent again: had the first arrived?
local function judge_repeated(facts)
    local accepted = facts[LEN] > 0 and facts[ACKED] >= facts[LEN]
    local waited = format("the SYN was sent again after %.3f s", facts.again_time - facts[SYN_TIME])
    if facts[REPLY] < facts.again or (facts.again_len == 0 and facts[ACKED] > 0) then
        if accepted then
            return "syn-ack-lost", waited .. ", but the first had arrived: its data was accepted", 0
        end
        return "syn-ack-lost", waited .. ", but the first had arrived", -1
    end
    local how = ", as it was"
    if facts.again_plain then
        how = facts[LEN] > facts.again_len and ", plain" or ", without the option"
    end
    local at_last = accepted and "; its data was accepted then" or facts[GRANTED] and "; a cookie came then" or ""
    return "syn-lost-fallback", waited .. how .. at_last, -1
end

local function judge_cookie_and_data(facts)
    local len, acked = facts[LEN], facts[ACKED]
    if acked >= len then
        return "accepted", facts[GRANTED] and "all data acknowledged, and a cookie came" or "all data acknowledged", 1
    elseif acked > 0 then
        return "accepted-partially", format("%d of %s acknowledged", acked, bytes_of(len)), 0
    elseif facts[GRANTED] then
        return "refused-cookie", facts[GRANTED] == facts[COOKIE] and "data not acknowledged, the same cookie came back"
            or "data not acknowledged, a new cookie came", 0
    end
    return "refused-off-or-stripped", facts.had_option and "data not acknowledged, no cookie in the SYN-ACK's option"
        or "data not acknowledged, no option in the SYN-ACK", 0
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

-- A second SYN counts only before the handshake was done: later it is a stray copy.
local function repetition(facts)
    local again, established = facts.again, facts[ESTABLISHED]
    return again and not (established and established < again) and again or nil
end

local function most_bytes(facts)
    return max(facts[LEN], repetition(facts) and facts.again_len or 0)
end

-- Outcome, why, and round trips saved (1) or lost (-1), nil where that cannot be told.
local function judge(facts)
    local cookie, again = facts[COOKIE], repetition(facts)
    if not facts[SYN_IN] or not facts[REPLY] then
        return judge_unanswered(facts, again)
    elseif facts.second_reply then
        return "replayed", "the data of one SYN was accepted twice", 0
    elseif facts[ACKED] > most_bytes(facts) + (facts.fin and 1 or 0) then
        return "over-acknowledged", format("%d acknowledged of %s", facts[ACKED], bytes_of(facts[LEN])), 0
    elseif again then
        return judge_repeated(facts)
    elseif facts[LEN] > 0 then
        return (cookie and cookie ~= "" and judge_cookie_and_data or judge_data_alone)(facts)
    elseif cookie == "" then
        if facts[GRANTED] then
            return "requested-granted", "a cookie came", 0
        end
        return "requested-not-granted", facts.had_option and "no valid cookie in the SYN-ACK"
            or "no option in the SYN-ACK", 0
    elseif not cookie then
        return "unknown", "the SYN's option is not valid"
    elseif facts[GRANTED] and facts[GRANTED] ~= cookie then
        return "refused-cookie", "no data, and another cookie came", 0
    end
    return "unknown", "a cookie but no data to judge"
end

-- What breaks a rule, of single segments and of the connection, by frame: a list of {frame, rule, severity}.
local function problems_of(facts)
    local found = {}
    for _, problem in ipairs(facts.problems or found) do
        found[#found + 1] = problem
    end
    local function problem(frame, severity, rule)
        found[#found + 1] = { frame = frame, rule = rule, severity = severity }
    end
    if facts[REPLY] then
        local most = most_bytes(facts)
        if facts[ACKED] > most + (facts.fin and 1 or 0) then
            problem(facts[REPLY], "error", format("CLI-15: %d acknowledged of %s", facts[ACKED], bytes_of(most)))
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

-- Whether there may be problems to tell at a frame.
local function is_remarkable(facts, number)
    if facts.problems or facts.over_mss or facts.second_reply then
        return true
    end
    return number == facts[REPLY] and facts[ACKED] > 0 and facts[ACKED] ~= facts[LEN]
end

-- All that can be said of a connection now.
local function verdict_of(facts)
    local outcome, why, round_trips = judge(facts)
    local verdict = {
        outcome = outcome, why = why, round_trips = round_trips, problems = problems_of(facts), evidence = {},
        sent = facts[LEN], acked = facts[ACKED], resent = facts[LEN] and (facts[RESENT] or 0),
    }
    local again = repetition(facts)
    local frames = verdict.evidence
    for _, frame in ipairs({
        facts[SYN_IN] or 0, again or 0, facts[REPLY] or facts.foreign_reply or facts.reset or 0,
        facts.second_reply or 0, facts[RESENT_IN] or 0,
    }) do
        if frame > 0 then
            frames[#frames + 1] = frame
        end
    end
    if #frames == 0 then
        frames[1] = facts[FIRST]
    end
    sort(frames)
    if facts[REPLY] then
        local answers_second = again and again < facts[REPLY] and outcome ~= "syn-ack-lost"
        verdict.rtt = facts[REPLY_TIME] - (answers_second and facts.again_time or facts[SYN_TIME])
    end
    if facts[SYN_IN] and facts[ANSWER] and facts[ANSWER] > facts[SYN_IN] then
        verdict.first_answer = facts[ANSWER_TIME] - facts[SYN_TIME]
    end
    return verdict
end

