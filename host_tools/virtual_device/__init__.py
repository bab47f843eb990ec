"""A device that needs no hardware: an adb daemon on the loopback that adb treats as a phone.

`VirtualDevice` (device.py) is the whole of it, in one process; registry.py gives it a process and a name. What a client sends is carried out by a shell, commands and a file system of our own inside one folder: no
program of the host is ever started with it.
"""
