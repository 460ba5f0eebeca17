"""The composition root: the only room that sees both the agent and the edges."""
