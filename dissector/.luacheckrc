std = "lua52c"
max_line_length = 120
-- The parts share local names, so they are checked together, in the file that is built from them.
exclude_files = { "src/*.lua", "dissector/src/*.lua" } -- from here, and from the root with --config
read_globals = {
    "Proto", "ProtoField", "ProtoExpert", "Pref", "Listener", "TextWindow", "NSTime", "ByteArray", "Dissector",
    "register_postdissector", "register_stat_cmd_arg", "register_menu", "retap_packets", "gui_enabled", "get_filter",
    "new_dialog", "set_plugin_info", "register_packet_menu", "copy_to_clipboard",
    "base", "expert", "MENU_TOOLS_UNSORTED",
}
