"""Brings up a whole cluster with a real node, and ends it."""
