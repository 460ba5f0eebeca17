"""The machine's side: reads values, writes cgroup files, decides nothing."""
