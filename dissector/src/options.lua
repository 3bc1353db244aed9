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

local function add_related(names, kind, length)
    local name = related_name(kind, length)
    if name then
        names = names or {}
        names[#names + 1] = name
    end
    return names
end

-- The option between two offsets, of which the first bytes are no cookie.
local function read_fast_open(raw, at, stop, kind, length, before)
    local cookie_at = min(at + before, stop)
    local cookie = sub(raw, cookie_at + 1, stop)
    return {
        kind = kind, at = at, size = stop - at, cookie = cookie, cookie_at = cookie_at,
        rule = length_rule(length, stop - at, cookie),
    }
end

local NONE = {}

-- The Fast Open options from offset `at` up to `finish`, in order, valid or not; how the walk ended; the MSS; and
-- the names of related options. Each option: kind, at, size, cookie, cookie_at, rule (nil where it is valid).
local function read_options(raw, at, finish)
    local found, mss, related = NONE, nil, nil
    local bytes, before = { byte(raw, at + 1, finish) }, at - 1
    while at < finish do
        local kind = bytes[at - before]
        if kind == NOP then
            at = at + 1
        elseif kind == EOL then
            return found, at + 1, mss, related
        else
            local length = bytes[at - before + 1]
            if kind >= KIND then
                local stop = length and length >= 2 and min(at + length, finish) or finish
                local is_experiment = (kind == EXPERIMENT_1 or kind == EXPERIMENT_2)
                    and sub(raw, at + 3, min(at + 4, stop)) == EXID
                if kind == KIND or is_experiment then
                    found = found == NONE and {} or found
                    found[#found + 1] = read_fast_open(raw, at, stop, kind, length, is_experiment and 4 or 2)
                elseif kind == EXPERIMENT_1 and length then
                    related = add_related(related, kind, length)
                end
            elseif kind == MSS and length == 4 and at + 4 <= finish then
                mss = bytes[at - before + 2] * 256 + bytes[at - before + 3]
            elseif RELATED[kind] and length then
                related = add_related(related, kind, length)
            end
            if not length or length < 2 then
                break
            end
            at = at + length
        end
    end
    return found, nil, mss, related
end

-- Whether there may be an option that matters here. The bytes that were looked at hold all that was captured of it.
local function has_odd_options(raw, tcp, offset)
    if offset <= 0x50 then
        return false
    end
    local odd = find(raw, "[\11-\13\34\253\254]", tcp + 21)
    return odd and odd <= tcp + HEADER_BYTES[offset]
end

local TIMESTAMPS = "\1\1\8\10" -- the options of nearly all segments without SYN begin so

local function number32(raw, at)
    local b1, b2, b3, b4 = byte(raw, at + 1, at + 4)
    return ((b1 * 256 + b2) * 256 + b3) * 256 + b4
end

-- TSval and TSecr of a segment (RFC 7323); nil where it has none, or the capture cuts them off.
local function times_of(segment)
    local raw, at, finish = segment.raw, segment.options, segment.options_end
    if sub(raw, at + 1, at + 4) == TIMESTAMPS and at + 12 <= finish then
        return number32(raw, at + 4), number32(raw, at + 8)
    end
    while at < finish do
        local kind, length = byte(raw, at + 1, at + 2)
        if kind == NOP then
            length = 1
        elseif kind == EOL or not length or length < 2 then
            return nil
        elseif kind == 8 and length == 10 and at + 10 <= finish then
            return number32(raw, at + 2), number32(raw, at + 6)
        end
        at = at + length
    end
    return nil
end

-- The MSS of a SYN-ACK that holds nothing else of interest: it stands first, as a rule.
local function first_mss(raw, at, finish)
    local kind, length, high, low = byte(raw, at + 1, at + 4)
    if kind == MSS and length == 4 and at + 4 <= finish then
        return high * 256 + low
    end
    local _, _, mss = read_options(raw, at, finish)
    return mss
end

-- What breaks a rule in the options of one segment: a list of {rule, severity}.
local function option_problems(raw, options, after_eol, finish, has_syn)
    local hides = after_eol and find(sub(raw, after_eol + 1, finish), "[\34\253\254]")
    if has_syn and not hides and (#options == 0 or (#options == 1 and not options[1].rule)) then
        return NONE
    end
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
    if hides then
        local hidden = read_options(raw, after_eol, finish)
        if hidden[1] and not hidden[1].rule then
            problem("OPT-10: the option behind the end of the list is not read", "warning")
        end
    end
    return problems
end

