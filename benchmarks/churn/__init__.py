"""The same churn of pods on a real node, with numa-agent and with an agent that polls."""
