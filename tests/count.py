#!/usr/bin/env python3
"""Adds up JUnit files: prints what failed and was skipped, then `N passed, N failed, N skipped`."""
import sys
import xml.etree.ElementTree as tree

passed, failed, skipped = 0, [], {}
for path in sys.argv[1:]:
    for case in tree.parse(path).getroot().iter('testcase'):
        name = f"{case.get('classname', '')}::{case.get('name', '')}"
        if case.find('failure') is not None or case.find('error') is not None:
            failed.append(f'{path}: {name}')
        elif (skip := case.find('skipped')) is not None:
            skipped.setdefault(skip.get('message') or (skip.text or '').strip(), []).append(name)
        else:
            passed += 1
print()
for reason, names in skipped.items():
    print(f'skipped {len(names)}: {reason} ({names[0]}{", ..." if len(names) > 1 else ""})')
for name in failed:
    print(f'FAILED {name}')
print(f'{passed} passed, {len(failed)} failed, {sum(map(len, skipped.values()))} skipped')
sys.exit(1 if failed or not passed else 0)
