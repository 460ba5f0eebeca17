"""How soon the agent is told what happens in the pods' cgroups."""
