#!/usr/bin/env python3
"""Generates raygpu's catalog files from the collected tables of a contracts folder.

usage: import.py [--listed] [--into DIR] CONTRACTS_DIR [TABLE...]

Every other *.py here except checks.py, files.py and provider.py is one table (or one set of tables): a module with
`write(contracts)`. They run in the order of their names, or only those named. The same input gives the same
bytes; dropped or changed rows are printed with the reason. Sources of the rows: src/catalog/data/README.md
and providers/*/DATA.md.

Prices that checks.py refuses are not imported. --into writes below DIR instead of the source tree.

With --listed the tables of providers get new prices for the instance types that they already list, and no new
types."""
import importlib
import os
import sys
import files

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    if sys.argv[1:2] == ['--listed']:
        files.listed_only = True
        del sys.argv[1]
    if sys.argv[1:2] == ['--into']:
        files.ROOT = sys.argv[2]
        del sys.argv[1:3]
    found = sorted(n[:-3] for n in os.listdir(HERE)
                   if n.endswith('.py') and n not in ('import.py', 'checks.py', 'files.py', 'provider.py'))
    if len(sys.argv) < 2 or set(sys.argv[2:]) - set(found):
        sys.exit(f'{__doc__}\ntables: {" ".join(found)}')
    for name in sys.argv[2:] or found:
        importlib.import_module(name).write(sys.argv[1])


sys.dont_write_bytecode = True
main()
