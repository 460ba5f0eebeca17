"""What three podresources clients cost a process: memory, and time for each read."""
