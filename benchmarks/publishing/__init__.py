"""How fast the map is read, next to the tools that people use for it."""
