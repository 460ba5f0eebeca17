"""How fast pods are bound, next to an agent that polls."""
