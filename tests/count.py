#!/usr/bin/env python3
"""Adds up JUnit files: prints what failed and was skipped, then `N passed, N failed, N skipped`.

meson's JUnit file does not tell of a test program that died between its test cases, so its
testlog.json (one object a line) is read as well: a program that did not end well is a failure.
"""
import json
import sys
import xml.etree.ElementTree as tree

passed, failed, skipped = 0, [], {}
for path in (p for p in sys.argv[1:] if p.endswith('.json')):
    with open(path, encoding='utf-8') as log:
        for program in map(json.loads, log):
            if program['result'] not in ('OK', 'SKIP', 'EXPECTEDFAIL'):
                failed.append(f"{path}: {program['name']} ended with {program['result']}")
for path in (p for p in sys.argv[1:] if p.endswith('.xml')):
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
