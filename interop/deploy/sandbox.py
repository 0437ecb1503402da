"""Runs a program under the filter of system calls that systemd would set for a unit.

Arguments: JSON with `known` and `allowed` names of system calls and the `families` of addresses, then the command.
"""

import errno
import json
import os
import socket
import sys

import pyseccomp

unit = json.loads(sys.argv[1])
# As systemd: a call that it does not know is one that the kernel does not have.
rules = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.ENOSYS))
for name in unit["known"]:
    is_here = pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name) >= 0
    if is_here and name != "socket":
        rules.add_rule(pyseccomp.ALLOW if name in unit["allowed"] else pyseccomp.ERRNO(errno.EPERM), name)
for family in range(socket.AF_UNIX, 64):
    is_allowed = socket.AddressFamily(family).name in unit["families"] if family in iter(socket.AddressFamily) else False
    action = pyseccomp.ALLOW if is_allowed else pyseccomp.ERRNO(errno.EAFNOSUPPORT)
    rules.add_rule(action, "socket", pyseccomp.Arg(0, pyseccomp.EQ, family))
rules.load()
os.execvp(sys.argv[2], sys.argv[2:])
