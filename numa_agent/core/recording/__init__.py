"""What a recording of a machine holds: the files and members that a pass reads, and no names.

Pure: numa_agent.host.recording reads and writes.
"""
