"""Reading a machine for a recording, and writing the recording's one file.

What comes in is numa_agent.core.recording's to say. Nothing here trusts the machine's folders: no
link is followed out of the root, nothing but regular files is read, and everything is bounded.
"""
