# Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

"""Runs a command that must end with one status: exits.py STATUS COMMAND… A crash or another status fails."""

import subprocess
import sys

status = subprocess.run(sys.argv[2:]).returncode
if status != int(sys.argv[1]):
    sys.exit(f"exits.py: {sys.argv[2]} ended with {status}, not {sys.argv[1]}")
