-- Values as text ---------------------------------------------------------------------------------------------------

local function address_text(raw)
    if #raw == 4 then
        return format("%d.%d.%d.%d", byte(raw, 1, 4))
    end
    -- RFC 5952: the longest run of zeros is left out.
    local groups, best, best_size, at = {}, nil, 1, 1
    for place = 1, 15, 2 do
        local high, low = byte(raw, place, place + 1)
        groups[#groups + 1] = high * 256 + low
    end
    while at <= 8 do
        local stop = at
        while groups[stop] == 0 do
            stop = stop + 1
        end
        if stop - at > best_size then
            best, best_size = at, stop - at
        end
        at = max(stop, at + 1)
    end
    local function joined(first, last)
        local texts = {}
        for place = first, last do
            texts[#texts + 1] = format("%x", groups[place])
        end
        return concat(texts, ":")
    end
    if not best then
        return joined(1, 8)
    end
    return joined(1, best - 1) .. "::" .. joined(best + best_size, 8)
end

local HEX = {}
for code = 0, 255 do
    HEX[char(code)] = format("%02x", code)
end
local function hex(raw)
    return (raw:gsub(".", HEX))
end

