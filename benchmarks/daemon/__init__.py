"""What a running agent costs a node, beside a publisher that polls."""
