#!/usr/bin/env python3
"""Adds up the results of a run: prints what failed and was skipped, then `N passed, N failed, N skipped`.

usage: tests/count.py RESULTS            the verdict
       tests/count.py --again RESULTS    which stages get a second look: lines "STAGE [NAMES OF UNIT TESTS]"

RESULTS has a file for each stage: py-NAME.xml (pytest), unit-NAME.xml and .json (meson), broken-NAME.json (a stage that did not run to its
end), and again-* of the same names: what failed, run once more, alone. What passes then counts as passed and is named as unsteady. Only a
stage with a file STAGE.again gets a second look; none gets one if more than MOST tests failed or a stage is broken. A sanitizer's report
is a failure whatever comes after it.

meson's JUnit file does not report a test program that died between its test cases, so its testlog.json (one object per line) is read as
well: a program that did not end well is a failure. The last lines of each failure's output come right above the verdict, because a CI log is
read from its end."""
import collections
import json
import os
import re
import sys
import xml.etree.ElementTree as tree

LINES = 25  # of a failure's output
MOST = 10   # failures that get a second look
# not the word alone: pytest shows source with it
REPORT = re.compile(r'(?:ERROR|WARNING|SUMMARY): \w+Sanitizer|:\d+:\d+: runtime error: ')
Case = collections.namedtuple('Case', 'key name state text')  # state: passed, failed, skipped; text: output, or the reason of a skip


def lines_of(*texts):
    return [line for text in texts for line in (text or '').strip().splitlines()]


def cases_of(path):
    """Of a JUnit file. The key is what a second look repeats: of meson the program, of pytest the test."""
    of_meson = os.path.basename(path).startswith(('unit-', 'again-unit-'))
    for case in tree.parse(path).getroot().iter('testcase'):
        name = f"{case.get('classname', '')}::{case.get('name', '')}"
        key = (case.get('classname', '').partition('.')[2] or case.get('name', '')) if of_meson else name
        bad = [e for e in case if e.tag in ('failure', 'error')]
        if bad:
            yield Case(key, name, 'failed', '\n'.join(lines_of(*(e.text or e.get('message') for e in bad))))
        elif (skip := case.find('skipped')) is not None:
            # meson keeps the reason of a TAP program in its output
            reason = skip.get('message') or skip.text or case.findtext('system-out') or ''
            yield Case(key, name, 'skipped', reason.partition('# SKIP ')[2] or reason.strip())
        else:
            yield Case(key, name, 'passed', '')


def programs_of(path):
    """Of meson's testlog.json, and what run.sh writes of a broken stage."""
    with open(path, encoding='utf-8') as log:
        for program in map(json.loads, log):
            good = program['result'] in ('OK', 'SKIP', 'EXPECTEDFAIL')
            said = '\n'.join(lines_of(program.get('stdout'), program.get('stderr')))
            yield Case(program['name'], f"{program['name']} ended with {program['result']} (exit {program['returncode']})",
                       'passed' if good else 'failed', said)


def results_of(folder, stage):
    """All cases of a stage. A program counts itself only if it failed and none of its cases did."""
    path = os.path.join(folder, stage)
    found = list(cases_of(path + '.xml')) if os.path.exists(path + '.xml') else []
    if os.path.exists(path + '.json'):
        failed = {case.key for case in found if case.state == 'failed'}
        programs = {one.key: one for one in programs_of(path + '.json')}
        found = [case._replace(text=case.text + '\n' + programs[case.key].text) if case.state == 'failed' and case.key in programs else case
                 for case in found]
        found += [one for one in programs.values() if one.state == 'failed' and one.key not in failed]
    return found


def stages_of(folder):
    return sorted({os.path.splitext(name)[0] for name in os.listdir(folder)
                   if name.startswith(('py-', 'unit-', 'broken-')) and name.endswith(('.xml', '.json'))})


def may_repeat(folder, stage, case):
    return os.path.exists(os.path.join(folder, stage + '.again')) and not REPORT.search(case.text)


def again(folder):
    failed = [(stage, case) for stage in stages_of(folder) for case in results_of(folder, stage) if case.state == 'failed']
    if len(failed) > MOST or any(stage.startswith('broken-') for stage, _ in failed):
        return
    wanted = collections.defaultdict(list)
    for stage, case in failed:
        if may_repeat(folder, stage, case):
            wanted[stage].append(case.key)
    for stage, keys in wanted.items():
        names = [key.rpartition(' / ')[2] for key in dict.fromkeys(keys)] if stage.startswith('unit-') else []
        print(' '.join([stage, *names]))


def passed_again(folder, stage):
    """Keys of what passed in the second look, whole."""
    states = collections.defaultdict(set)
    for case in results_of(folder, 'again-' + stage):
        states[case.key].add(case.state)
    return {key for key, found in states.items() if 'passed' in found and not 'failed' in found}


def last_line(case):
    """What a failure says of itself in one line."""
    lines = lines_of(case.text)
    if error := next((line for line in lines if re.search(r':\d+: (fatal )?error: ', line)), None):  # the compiler's first one
        return error[:240]
    said = next((line[2:].strip() for line in lines if line.startswith('E  ')), '')
    where = next((line for line in reversed(lines) if re.match(r'\S+\.(py|c|h):\d+', line) or 'not ok' in line or 'ERROR' in line),
                 lines[-1] if lines else '')
    place, _, kind = where.rpartition(': ')
    if kind and said.startswith(kind):  # of pytest: the place, then the exception once more
        where = place + ':'
    return ' '.join(f'{where} {said}'.split())[:240]


def main(folder):
    passed, failed, unsteady, skipped, said = 0, [], [], {}, []
    for stage in stages_of(folder):
        good = passed_again(folder, stage)
        for case in results_of(folder, stage):
            if case.state == 'passed':
                passed += 1
            elif case.state == 'skipped':
                skipped.setdefault(case.text, []).append(case.name)
            elif case.key in good and may_repeat(folder, stage, case):
                passed += 1
                unsteady.append(f'unsteady: {stage}: {case.name} (first: {last_line(case)})')
            else:
                failed.append(f'FAILED {stage}: {case.name}: {last_line(case)}')
                said.append('\n'.join([f'---- {case.name}', *lines_of(case.text)[-LINES:]]))
    print(*said, sep='\n\n')
    print()
    for reason, names in skipped.items():
        print(f'skipped {len(names)}: {reason} ({names[0]}{", ..." if len(names) > 1 else ""})')
    print(*unsteady, *failed, sep='\n')
    print(f'{passed} passed, {len(failed)} failed, {sum(map(len, skipped.values()))} skipped')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    if sys.argv[1:2] == ['--again'] and len(sys.argv) == 3:
        again(sys.argv[2])
    elif len(sys.argv) == 2:
        sys.exit(main(sys.argv[1]))
    else:
        sys.exit(__doc__)
