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
