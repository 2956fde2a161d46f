#!/usr/bin/env python3
"""usage: exports.py MODULE.so: fails unless the module exports exactly its entry function."""
import subprocess
import sys

out = subprocess.run(['nm', '-D', '--defined-only', '--format=posix', sys.argv[1]], text=True,
                     capture_output=True, check=True).stdout
names = sorted(line.split()[0] for line in out.splitlines())
if names != ['raygpu_provider_v1']:
    sys.exit(f'{sys.argv[1]} exports {names}, not only raygpu_provider_v1')
