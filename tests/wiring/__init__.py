"""The composition root: the agent joined with its edges."""
