"""Rules of TCP on what one end sends, whatever its application does and its peer sends."""
