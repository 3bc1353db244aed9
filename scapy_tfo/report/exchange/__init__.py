"""A run in the formats of other tools: TAP, SARIF, an SVG badge."""
