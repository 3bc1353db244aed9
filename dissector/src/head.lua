-- TCP Fast Open in Wireshark and tshark: what happened to each connection, and which options break RFC 7413.
-- One file, for Wireshark 4.0 (Lua 5.2) to 4.6 (Lua 5.4). Fields, outcomes and statistics: see README.md.
--
-- No field of Wireshark's is read. Asking for a single one makes Wireshark build the tree of every packet, which
-- costs more than all that is done here; so the segment is found in the frame's bytes, and most are left after one
-- look. It also means that all works in the first pass of `tshark -2`, which has no fields.

local VERSION = "1.0"
-- Installed, and named with -X besides: the second would be an error, since a protocol's name is taken once.
if rawget(_G, "tfo_plugin_version") then
    return
end
rawset(_G, "tfo_plugin_version", VERSION)
if set_plugin_info then
    set_plugin_info({ version = VERSION, description = "TCP Fast Open: the outcome of each connection" })
end

local byte, char, find, format, sub = string.byte, string.char, string.find, string.format, string.sub
local floor, max, min = math.floor, math.max, math.min
local concat, sort = table.concat, table.sort

local WRAP = 4294967296

