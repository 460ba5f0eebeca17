"""What it costs to verify containers."""
