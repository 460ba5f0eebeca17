"""Writes the generated machines of fixtures/sysfs/ from the short descriptions in specs/.

`docs/recorded-machines.md` describes both the descriptions and the folders they become.
"""
