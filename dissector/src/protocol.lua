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
