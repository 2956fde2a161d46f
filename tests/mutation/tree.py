"""A copy of the tree, built, that mutants are put into; and its tests, run with time-outs."""
import hashlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import xml.etree.ElementTree

import mutate

PYTHON = '/usr/bin/python3'
SLOW = 10  # seconds; whole-program tests that take longer come last


def digest(path):
    with open(path, 'rb') as f:
        return hashlib.sha256(f.read()).digest()


class Tree:
    def __init__(self, source, folder):
        self.source, self.folder, self.build = source, folder, os.path.join(folder, 'build')
        self.mark = f'RAYGPU_MUTANT={os.getpid()}-{os.path.basename(folder)}'
        self.changed = None  # the file that has a mutant, and its text without
        self.starting = threading.Lock()  # nobody may start anything new

    # --- the copy

    def fill(self):
        """Updates the copy from the work tree, writing only what differs, and builds it."""
        names = subprocess.run(['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'], cwd=self.source,
                               check=True, capture_output=True, text=True).stdout.split('\0')
        names = {name for name in names if os.path.isfile(os.path.join(self.source, name))}
        for name in names:
            here, there = os.path.join(self.folder, name), os.path.join(self.source, name)
            if not os.path.exists(here) or digest(here) != digest(there):
                os.makedirs(os.path.dirname(here), exist_ok=True)
                shutil.copy2(there, here)
                os.utime(here)
        for top, folders, files in os.walk(self.folder):
            folders[:] = [f for f in folders if os.path.join(top, f) != self.build and f not in ('.git', '__pycache__')]
            for name in files:
                if os.path.relpath(os.path.join(top, name), self.folder) not in names:
                    os.unlink(os.path.join(top, name))
        if not os.path.exists(self.build + '/build.ninja'):
            # no debug information and no warnings as errors: objects of equal code are equal, and mutants compile
            self.check('meson', 'setup', self.build, self.folder, '-Ddebug=false', '-Doptimization=2', '-Dwerror=false')
        self.check('ninja', '-C', self.build)
        with open(self.build + '/compile_commands.json', encoding='utf-8') as f:
            self.objects = {}
            for row in json.load(f):
                name = os.path.relpath(os.path.join(row['directory'], row['file']), self.folder)
                self.objects.setdefault(name, []).append(os.path.join(row['directory'], row['output']))
        told = {part: json.loads(self.check('meson', 'introspect', '--' + part, self.build)) for part in ('tests', 'targets')}
        outputs = {target['id']: target['filename'] for target in told['targets']}
        self.units = {test['name']: {**test, 'needs': [path for one in test['depends'] for path in outputs.get(one, [])]}
                      for test in told['tests']}
        self.sums = {path: digest(path) for paths in (*self.objects.values(), *(u['needs'] for u in self.units.values()))
                     for path in paths if os.path.isfile(path)}

    def check(self, *words):
        done = subprocess.run(words, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        if done.returncode:
            raise SystemExit(f'{" ".join(words)}:\n{done.stdout[-4000:]}')
        return done.stdout

    def put(self, mutant):
        """Inserts a mutant; restore() removes it."""
        self.restore()
        path, text = os.path.join(self.folder, mutant.file), mutate.read(self.folder, mutant.file)
        self.changed = (path, text)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(mutate.apply(text, mutant))

    def restore(self, build=False):
        if self.changed:
            with open(self.changed[0], 'w', encoding='utf-8') as f:
                f.write(self.changed[1])
            self.changed = None
        if build:
            self.check('ninja', '-C', self.build)

    def compiles(self):
        return subprocess.run(['ninja', '-C', self.build], capture_output=True, check=False).returncode == 0

    def same_code(self, file):
        """Whether the compiler produced the same code for the mutant: nothing can distinguish it from the original."""
        return all(digest(path) == self.sums[path] for path in self.objects.get(file, []))

    def touched(self):
        """The unit tests that contain the mutant."""
        return [name for name, test in self.units.items()
                if any(path in self.sums and digest(path) != self.sums[path] for path in test['needs'])]

    # --- its tests

    def run(self, words, seconds, cwd=None, env=None):
        """(exit code, output), 'time-out' as the code; nothing that was started survives the call."""
        key, value = self.mark.split('=')
        with tempfile.TemporaryFile() as output:  # no pipe: a leftover server would keep it open
            with self.starting:
                child = subprocess.Popen(words, cwd=cwd or self.folder, stdin=subprocess.DEVNULL, stdout=output,
                                         stderr=subprocess.STDOUT, start_new_session=True,
                                         env={**os.environ, **(env or {}), key: value})
            try:
                code = child.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                code = 'time-out'
            finally:
                self.end_all()
                child.wait()
            output.seek(0)
            return code, output.read().decode(errors='replace')

    def end_all(self):
        """Kills the processes with this tree's mark in their environment (our children, their children, and no others),
        and waits until they are gone: a killed process exists until it is scheduled again."""
        ending = select.poll()
        opened = []
        for number in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open(f'/proc/{number}/environ', 'rb') as f:
                    if self.mark.encode() in f.read().split(b'\0'):
                        opened.append(os.pidfd_open(int(number)))
                        ending.register(opened[-1], select.POLLIN)
                        signal.pidfd_send_signal(opened[-1], signal.SIGKILL)
            except OSError:
                pass
        left, limit = set(opened), time.monotonic() + 120
        while left and time.monotonic() < limit:
            for ended, _ in ending.poll(1000):
                left.discard(ended)
                ending.unregister(ended)
        for one in opened:
            os.close(one)

    def unit(self, name, seconds):
        """None if the test passes, else why not; and how long it took."""
        test = self.units[name]
        begin = time.monotonic()
        code, output = self.run(test['cmd'], seconds, test['workdir'] or self.build, test['env'])
        if code == 0 and not any(line.startswith('not ok') for line in output.split('\n')):
            return None, time.monotonic() - begin
        return f'unit {name}' + (' (time-out)' if code == 'time-out' else ''), time.monotonic() - begin

    def programs(self, paths, seconds, *options):
        """None if these whole-program tests pass, else the first that failed."""
        code, output = self.run([PYTHON, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '-rfE', '--tb=no', *options,
                                 *paths], seconds, env={'RAYGPU_BUILD': self.build})
        if code == 0:
            return None
        failed = [line.split(' ', 1)[1].split(' - ')[0] for line in output.split('\n')
                  if line.startswith(('FAILED ', 'ERROR '))]
        return failed[0] if failed else f'tests/cli ({code if code == "time-out" else output[-200:]})'

    def time_programs(self, paths):
        """{test: seconds} of each, and those that fail although nothing was changed."""
        report = os.path.join(self.build, 'programs.xml')
        self.programs(paths, 1800, '-n', '4', '--junitxml', report)
        took, red = {}, []
        for case in xml.etree.ElementTree.parse(report).iter('testcase'):
            name = case.get('classname', '').replace('.', '/') + '.py::' + case.get('name', '')
            took[name] = took.get(name, 0) + float(case.get('time', 0))
            if case.find('failure') is not None or case.find('error') is not None:
                red.append(name)
        return took, red
