"""What makes the container image: the steps of Containerfile's build stage.

The image holds an interpreter, the modules that the agent needs and the shared libraries that both
need; no shell, no package manager, no compiler. All is copied, nothing of the target is ever run,
so an image for another processor needs no emulation. Python's standard library alone does it.
"""
