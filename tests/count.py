#!/usr/bin/env python3
"""Adds up JUnit files: prints what failed and was skipped, then `N passed, N failed, N skipped`.

meson's JUnit file does not report a test program that died between its test cases, so its testlog.json (one
object per line) is read as well: a program that did not end well is a failure. The last lines of each
failure's output come right above the verdict, because a CI log is read from its end."""
import json
import sys
import xml.etree.ElementTree as tree

LINES = 25
passed, failed, skipped, said = 0, [], {}, []


def tell(name, *texts):
    lines = [line for text in texts for line in (text or '').strip().splitlines()]
    said.append('\n'.join([f'---- {name}', *lines[-LINES:]]))


for path in (p for p in sys.argv[1:] if p.endswith('.json')):
    with open(path, encoding='utf-8') as log:
        for program in map(json.loads, log):
            if program['result'] not in ('OK', 'SKIP', 'EXPECTEDFAIL'):
                name = f"{path}: {program['name']} ended with {program['result']}"
                failed.append(f"{name} (exit {program['returncode']})")
                tell(name, program.get('stdout'), program.get('stderr'))
for path in (p for p in sys.argv[1:] if p.endswith('.xml')):
    for case in tree.parse(path).getroot().iter('testcase'):
        name = f"{case.get('classname', '')}::{case.get('name', '')}"
        bad = [e for e in case if e.tag in ('failure', 'error')]
        if bad:
            failed.append(f'{path}: {name}')
            tell(name, *(e.text for e in bad))
        elif (skip := case.find('skipped')) is not None:
            # meson keeps the reason of a TAP program in its output
            reason = skip.get('message') or skip.text or case.findtext('system-out') or ''
            skipped.setdefault(reason.partition('# SKIP ')[2] or reason.strip(), []).append(name)
        else:
            passed += 1
print(*said, sep='\n\n')
print()
for reason, names in skipped.items():
    print(f'skipped {len(names)}: {reason} ({names[0]}{", ..." if len(names) > 1 else ""})')
for name in failed:
    print(f'FAILED {name}')
print(f'{passed} passed, {len(failed)} failed, {sum(map(len, skipped.values()))} skipped')
sys.exit(1 if failed or not passed else 0)
