-- The end of the parts that are not Wireshark's: instead of frames.lua, whose looks it does not take, and of
-- statistics.lua. It sees their local names.

local function take(packet, number, time)
    local tcp, key = read_ip(packet, 0)
    if not tcp then
        return
    end
    local raw, ip, _, _, total, s1, s2, s3, s4, a1, a2, a3, a4, offset, flags = read_header(packet, 0, tcp, key)
    if offset and offset >= 0x50 then
        local segment = read_segment(raw, ip, tcp, total, nil, s1, s2, s3, s4, a1, a2, a3, a4, offset, flags)
        take_in(key, segment, true, number, { number = number, abs_ts = time })
    end
end

local function told()
    sort(in_order, function(a, b) return a[FIRST] < b[FIRST] end)
    local found = {}
    for place, connection in ipairs(in_order) do
        local verdict, key = verdict_of(connection), connection[KEY]
        verdict.client, verdict.client_port = address_text(client_of(connection)), number16(key, #key - 4)
        verdict.server, verdict.port = address_text(server_of(connection)), number16(key, #key - 2)
        local sent = connection[COOKIE] or ""
        verdict.cookie = hex(sent ~= "" and sent or connection[GRANTED] or "")
        verdict.event = event_of(connection, { number = connection[REPLY] or connection[SYN_IN] or 0, visited = true })
        found[place] = verdict
    end
    return found
end

return take, told, forget
