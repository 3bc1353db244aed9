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

