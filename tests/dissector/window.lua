-- What Wireshark's window gives to a plugin, as far as the tables need it. `shows_tags`: of a window that takes plain
-- text only.

local menus, windows, shows_tags = {}, {}, false

function gui_enabled() return true end
function register_stat_cmd_arg() end
function get_filter() return "" end
function retap_packets() end
MENU_TOOLS_UNSORTED = 0

function register_menu(name, open) menus[name] = open end

Listener = { new = function()
    local tap = {}
    windows[#windows + 1] = { tap = tap }
    return tap
end }

TextWindow = { new = function(title)
    return {
        set = function(_, text)
            windows[#windows].title, windows[#windows].text = title, text
        end,
        get_text = function()
            local text = windows[#windows].text
            return shows_tags and text or (text:gsub("<[^>]+>", ""))
        end,
        set_atclose = function() end,
    }
end }

-- The title and the text of a table.
function open_table(name, plain)
    shows_tags = plain
    menus["TCP Fast Open/" .. name]()
    local window = windows[#windows]
    window.tap.draw()
    return window.title, window.text
end
