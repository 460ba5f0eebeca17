"""A fake of the kernel's cpuset controller: a folder whose files follow the kernel's rules.

Its parts, from the words that are written to the folder that is read:

- `lists`: the spellings of a CPU or node list that a kernel takes;
- `groups`: a control group, its cpuset and its tasks, and what cgroup v2 says of its type;
- `cpusets`: what a write, an attach or a CPU that goes does to sets and tasks, on v1 and v2;
- `versions`: in what the kernels differ;
- `tree`: making, removing, filling and configuring groups;
- `writes`: what a write to each file of a group does; `files`: what each file of a group says;
- `folder`: the files on disk, written so that inotify tells what it tells of the kernel's;
- `kernel`: `Kernel`, all of this behind system calls; `faults`: the same with calls that fail;
- `walk`: random operations, for `tests/vm/test_fake_kernel.py`, which runs the same ones here and
  on real kernels and compares every answer.

Rules: https://docs.kernel.org/admin-guide/cgroup-v2.html and, for v1,
https://docs.kernel.org/admin-guide/cgroup-v1/cpusets.html. Not here: partitions, exclusive sets,
memory, kernel threads, processes of several threads, and namespaces.
"""
