"""The house rules that a program can check. Each rule takes {path: text} and yields complaints."""
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.M)
BANNED = re.compile(
    r'(?<![\w.>])(malloc|calloc|realloc|strdup|sprintf|strcpy|strcat|strncpy|strtok|atoi|atol|gets|'
    r'system|popen|getenv|exit|printf|vprintf|puts|perror|sleep|usleep|time|fputs|fprintf|fwrite)\s*\(')
# The only places where a banned function is allowed.
HOMES = {
    'malloc': ('cmd/raygpu/process/memory.c',), 'realloc': ('cmd/raygpu/process/memory.c',),
    'getenv': ('cmd/',), 'exit': ('cmd/raygpu/process/exits.c',), 'printf': (), 'puts': (), 'time': ('src/base/clock.c',),
    # the only place that writes to the terminal, where text from outside is made safe; apply's prompt and progress
    # are ours
    'fputs': ('cmd/raygpu/print/output.c', 'cmd/raygpu/print/out.c', 'cmd/raygpu/print/confirm.c', 'cmd/raygpu/clusters/turn.c'),
    'fprintf': ('cmd/raygpu/print/output.c', 'cmd/raygpu/print/out.c',), 'fwrite': (),
    # third parties copy it, and need no GLib
    'calloc': ('providers/template/', 'cmd/raygpu/process/memory.c'), 'strdup': ('providers/template/',),
}
FUNCTION_LINES = 80
FILE_LINES = 600


def tracked(*endings):
    """{path: text} of the tree's files with these endings."""
    names = subprocess.run(['git', 'ls-files', '--cached', '--others', '--exclude-standard'], cwd=ROOT,
                           check=True, capture_output=True, text=True).stdout.split('\n')
    files = {}
    for name in names:
        path = os.path.join(ROOT, name)
        if name.endswith(endings) and os.path.isfile(path):
            with open(path, encoding='utf-8') as f:
                files[name] = f.read()
    return files


def code_only(text):
    """Blanks comments and string literals, keeping lines."""
    def blank(match):
        word = match.group(0)
        if word.startswith('/'):
            return re.sub(r'[^\n]', ' ', word)
        return '""' if word.startswith('"') else "' '"
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', blank, text, flags=re.S)


def table(readme):
    """folder -> (folders it may include, third-party headers that only it may include), from src/README.md."""
    rows = {}
    for line in readme.split('\n'):
        cells = [c.strip() for c in line.strip().strip('|').split('|')]
        if line.startswith('| ') and len(cells) == 3 and cells[0] not in ('folder', '---'):
            rows[cells[0]] = (set(cells[1].split()), set(cells[2].split()))
    return rows


def layers(files, rows):
    for path, text in files.items():
        parts = path.split('/')
        for kind, name in INCLUDE.findall(text):
            target = name.split('/')[0]
            if parts[0] == 'src' and kind == '"' and '/' in name and target in rows:
                if target != parts[1] and target not in rows[parts[1]][0]:
                    yield f'{path}: src/{parts[1]} may not include {name}'
            if parts[0] == 'src' and kind == '"' and name.startswith('raygpu/') and \
                    'abi' not in rows[parts[1]][0] | {parts[1]}:
                yield f'{path}: src/{parts[1]} may not include {name}'
            simulated = parts[0] == 'providers' and parts[2:3] == ['sim']
            if simulated and kind == '"' and not name.startswith(('base/', 'sim/core/', f'{parts[1]}/sim/')):
                yield f'{path}: a simulated cloud may not include {name}'
            if parts[0] == 'providers' and not simulated and kind == '"' and target in rows and name not in ('base/embedded.h', 'base/loopback.h'):
                yield f'{path}: a provider may not include {name}'
            if 'sim' in name.split('/')[:2] and not simulated and \
                    not path.startswith(('src/sim/', 'cmd/raygpu-sim/', 'tests/')):
                yield f'{path}: only the simulator may include {name}'


def unused(files, rows):
    """Rows of the table say no more than the code does."""
    used = {(path.split('/')[1], name.split('/')[0]) for path, text in files.items() if path.startswith('src/')
            for _, name in INCLUDE.findall(text)}
    for folder, (needs, _) in rows.items():
        for need in sorted(needs):
            if (folder, need) not in used:
                yield f'src/README.md: no file of {folder} includes a header of {need}'


def acyclic(rows):
    done = set()
    while len(done) < len(rows):
        free = [f for f, (needs, _) in rows.items() if f not in done and needs <= done]
        if not free:
            yield f'the table has a cycle among {sorted(set(rows) - done)}'
            return
        done.update(free)


PUBLIC = re.compile(r'^(?!static\b)[A-Za-z_][^\n;{}=]*?\b(\w+)\([^;{}]*\)\n\{', re.M)


def one_way(files, folder):
    """The C files of a folder, with its own folders, call each other in one direction. A module's simulator is apart."""
    codes = {path: code_only(text) for path, text in files.items() if re.fullmatch(rf'{folder}/(?!sim/).+\.c', path)}
    homes = {name: path for path, code in codes.items() for name in PUBLIC.findall(code)}
    calls = {path: {homes[word] for word in set(re.findall(r'\w+', code)) & set(homes)} - {path}
             for path, code in codes.items()}
    for complaint in acyclic({path: (needs, set()) for path, needs in calls.items()}):
        yield complaint.replace('the table has a cycle', 'there is a cycle of calls')


DOORS = {'curl/curl.h': ['src/http/'], 'git2.h': ['src/git/'], 'archive.h': ['src/archive/'], 'archive_entry.h': ['src/archive/'], 'csv.h': ['src/catalog/'], 'glpk.h': ['src/pack/'],
         'yaml.h': ['src/spec/', 'providers/kubernetes/document.c', 'providers/kubernetes/emit.c'], 'zlib.h': ['src/resource/'], 'sqlite3.h': ['src/state/'], 'state/internal.h': ['src/state/'], 'state/rows.h': ['src/state/', 'src/transfer/'], 'libpq-fe.h': ['src/remote/'], 'xxhash.h': ['src/state/'], 'sodium.h': ['src/seal/'],
         'microhttpd.h': ['src/sim/core/server.c'], 'libxml/parserInternals.h': ['providers/aws/'],
         'openssl/evp.h': ['providers/common/', 'providers/gcp/sim/auth.c'],
         'openssl/pem.h': ['providers/common/', 'providers/gcp/sim/auth.c'],
         'openssl/err.h': ['providers/common/', 'providers/gcp/sim/auth.c'], 'dlfcn.h': ['src/base/module.c', 'src/provider/', 'cmd/raygpu/process/exits.c']}


def doors(files):
    for path, text in files.items():
        for _, name in INCLUDE.findall(text):
            homes = DOORS.get(name)
            if homes and not path.startswith(tuple(homes)) and not path.startswith('tests/'):
                yield f'{path}: {name} may only be included in {", ".join(homes)}'


# Who may change a state. All others only read it, through state/read.h: also what they include does not include more.
WRITERS = ('src/state/', 'src/transfer/', 'src/apply/', 'src/ready/', 'src/intent/', 'src/pipeline/', 'src/adopt/',
           'cmd/raygpu/clusters/', 'cmd/raygpu/state/', 'cmd/raygpu/spec/init.c', 'tests/')
WRITING = {'state/write.h', 'state/move.h', 'state/rows.h', 'state/internal.h'}


def readers(files, writers=WRITERS):
    """A file that has nothing to write in a state has no function that does: public headers of writers include only read.h."""
    def reach(path, seen):
        for _, name in INCLUDE.findall(files.get(path, '')):
            if name in WRITING:
                return [name]
            home = next((root + name for root in ('src/', 'cmd/') if root + name in files), None)
            if home and home not in seen:
                seen.add(home)
                if way := reach(home, seen):
                    return [name, *way]
        return []
    for path, text in files.items():
        if path.startswith(writers):
            continue
        if way := reach(path, {path}):
            yield f'{path}: only reads the state, but includes {" -> ".join(way)}'
        if 'RG_STORE_WRITE' in code_only(text):
            yield f'{path}: only reads the state, but opens it for writing'


def banned(files):
    for path, text in files.items():
        if path.startswith('tests/'):
            continue
        for number, line in enumerate(code_only(text).split('\n'), 1):
            for match in BANNED.finditer(line):
                if not path.startswith(HOMES.get(match.group(1), ()) or ('\0',)):
                    yield f'{path}:{number}: {match.group(1)}() is banned here'


def functions(text):
    """(name, first line, lines) of each function: layout by clang-format, so a body is between a
    `{` and a `}` in column 0."""
    lines = code_only(text).split('\n')
    start = None
    for number, line in enumerate(lines, 1):
        if line == '{':
            start = number
        elif line.startswith('}') and start:
            head = ' '.join(lines[max(0, start - 6):start - 1])
            name = re.findall(r'(\w+)\s*\(', head)
            yield (name[-1] if name else '?', start, number - start)
            start = None


def limits(files):
    for path, text in files.items():
        if text.count('\n') > FILE_LINES and not path.startswith('tests/'):
            yield f'{path}: {text.count(chr(10))} lines; over {FILE_LINES} it is hardly one job'
        for name, line, length in functions(text):
            if length > FUNCTION_LINES:
                yield f'{path}:{line}: {name} has {length} lines; the limit is {FUNCTION_LINES}'


MESON_NAME = r"'[A-Za-z0-9_.][A-Za-z0-9_./-]*'"
MESON_ROW = re.compile(rf"{MESON_NAME}(?:,\s*{MESON_NAME}){{3,}}")
MESON_FILES = re.compile(r"(?:^ *'[A-Za-z0-9_./-]+\.[a-z]+',\n){2,}", re.M)


def meson_lists(files):
    """One name per line, in order: then two changes that each add a file merge without a conflict."""
    for path, text in files.items():
        for number, line in enumerate(text.split('\n'), 1):
            if MESON_ROW.search(line):
                yield f'{path}:{number}: one name a line'
        for match in MESON_FILES.finditer(text):
            names = re.findall(MESON_NAME, match.group(0))
            if names != sorted(names):
                wrong = next(new for old, new in zip(names, names[1:]) if new < old)
                yield f'{path}: {wrong} is not in the order of the alphabet'


# The dialect of C: the pattern to avoid, and what to write instead. A pointer that is stored or returned as a
# truth value keeps "!= NULL".
DIALECT = [
    (re.compile(r'(?<!return )(?<!return \*)\b[\w>.\-\])]+ == NULL'), '!pointer'),
    (re.compile(r'!= NULL\s*(?:&&|\|\||\?)'), 'the pointer alone'),
    (re.compile(r'\b(?:if|while) \([^()\n]* != NULL\)'), 'the pointer alone'),
    (re.compile(r'!\s*strcmp\(|\bstrcmp\([^;{}]*?\) [!=]= 0'), 'g_str_equal'),
    (re.compile(r'g_autoptr\((?:Rg|Mod)?Json\)'), 'json_auto_t *'),
    (re.compile(r'\(json_t \*\)\s*\(uintptr_t\)'), 'rg_json_unconst or mod_unconst'),
]
# Third parties copy it, as tests/recipes does, and it needs no GLib; the two homes of what the others use.
NOT_OURS = ('providers/template/', 'providers/recipe/', 'tests/abi/', 'tests/unit/modules/', 'tests/cli/module/',
            'src/abi/', 'src/base/json.h', 'providers/common/talk.h')


def dialect(files):
    for path, text in files.items():
        if path.startswith(NOT_OURS):
            continue
        code = code_only(text)
        for pattern, instead in DIALECT:
            for match in pattern.finditer(code):
                yield f'{path}:{code.count(chr(10), 0, match.start()) + 1}: write {instead}: {match.group(0)}'


# Names and terms of clouds. The core has none: they belong in a module's schema.json, facts and data.
CLOUD_WORDS = re.compile(
    r'(?<![a-z0-9])(?:aws|ec2|vpcs?|vnets?|subnets?|amis?|dlami|imds(?:v2)?|efa|gp[23]|ebs|ssm|sts|iam|arns?|s3|eks|'
    r'gcp|gce|gke|aks|sigv4|security[ _]groups?|(?:us|eu|ap)-[a-z]+-?[1-9][a-f]?)(?![a-z0-9])|amazon|azure|google', re.I)
# Where one is allowed, and why.
CLOUD_ALLOWED = (
    # the table of built-in modules
    ('cmd/raygpu/context.c', r'\brg_(?:aws|azure|gcp)_data\b|\braygpu_provider_v1_(?:aws|gcp)\b|"(?:aws|gcp)\.so"|^\t\{"(?:aws|azure|gcp)", '),
    # the table of simulated clouds
    ('cmd/raygpu-sim/main.c', r'#include "(?:aws|gcp)/sim/cloud\.h"|&(?:aws|gcp)_sim_cloud\b'),
    # the name of a command, which users look for under this word in every cloud
    ('cmd/raygpu/', r'"iam"|\bcmd_iam\b|raygpu iam\b'),
    # the name of an authentication type of requests, and libcurl's words for it
    ('src/http/', r'aws_sigv4|CURLOPT_AWS_SIGV4|"aws:amz:%s:%s"|\bset_sigv4\b'),
    ('src/provider/http.c', 'aws_sigv4'),
    ('src/abi/raygpu/provider.h', 'aws_sigv4'),
    # recipes, and where tables of clouds come from
    ('src/HACKING.md', '.*'),
    ('src/catalog/data/', '.*'),
    # where a library's header may be included, or a cloud's part of the simulator is
    ('src/README.md', 'providers/aws'),
    ('src/sim/core/README.md', 'providers/aws'),
    # names that other tools use for our keys, which a hint translates
    ('schemas/', r'"(?:ami|efa)": \['),
)


def no_cloud(files):
    """The core contains no term of a cloud, in code, messages, comments and schemas."""
    for path, text in files.items():
        if not path.startswith(('src/', 'cmd/', 'schemas/')):
            continue
        allowed = [pattern for home, pattern in CLOUD_ALLOWED if path.startswith(home)]
        for number, line in enumerate(text.split('\n'), 1):
            for pattern in allowed:
                line = re.sub(pattern, '', line)
            for word in CLOUD_WORDS.findall(line):
                yield f'{path}:{number}: "{word}" is a word of one cloud; it belongs to a module'


# Where a module reads each of its kinds back, and the functions that do: in files that also write, only these count.
READERS = {
    'aws': (r'read|aws_instance_profile_set', {
        'aws.security_group': 'group.c', 'aws.network_interface': 'interface.c', 'aws.placement_group': 'placement_group.c',
        'aws.instance': 'instance_read.c instance_lease.c instance_profile.c'}),
    'gcp': (r'read', {
        'gcp.firewall': 'firewall.c', 'gcp.address': 'address.c', 'gcp.resource_policy': 'policy.c',
        'gcp.instance': 'instance_read.c lease.c'}),
    'kubernetes': (r'from_api|take_cluster|add_nodes|kube_gpu_labels_of', {'kubernetes.gpu_nodes': 'gpu_labels.c', '': 'manifest.c observe.c'}),
    'template': (r'^observed$', {'': 'template.c'}),
}
NOT_READ = ('computed', 'unreadable', 'sensitive', 'create_only')
FUNCTION = re.compile(r'^(?!\t|static const)[\w \*]*?\b(\w+)\(', re.M)


def texts_by_function(text):
    """{function: what is in it}, by the lines that begin at the margin."""
    starts = [(match.start(), match.group(1)) for match in FUNCTION.finditer(text)]
    ends = [start for start, _ in starts[1:]] + [len(text)]
    found = {}
    for (start, name), end in zip(starts, ends):
        found[name] = found.get(name, '') + text[start:end]
    return found


def unread(module, schema, files):
    """Each attribute that the cloud reports back is read; otherwise a later plan would take it for changed, and might replace all nodes."""
    pattern, homes = READERS.get(module, ('', {'': ' '.join(name for name in files if name.endswith('.c'))}))  # anywhere
    for kind, described in schema['kinds'].items():
        home = homes.get(kind, homes.get('', '')).split()
        read = ''.join(text for name in home for function, text in texts_by_function(files[name]).items() if re.search(pattern, function))
        for name, attribute in described['attributes'].items():
            if not any(attribute.get(word) for word in NOT_READ) and f'"{name}"' not in read:
                yield f'{module}: {kind}.{name} is not read back in {" ".join(home)} (functions {pattern}); or it is unreadable: say so in schema.json'


# Real time that passes in tests, beside short pauses between two looks (0.0N s): it makes them slow, and false on a slow machine. Use
# the simulator's knobs and `skip_to`, or wait for what is to happen. The number of such calls may only fall.
SLEEPS_MAX = 24
SLEEP = re.compile(r'time\.sleep\((?!0\.0\d*\))')


# A limit that matters only where nothing comes, in seconds: shorter ones fail on a busy machine. And no test asserts a time of the wall clock.
PATIENCE_S = 120
LIMIT = re.compile(r'time\.monotonic\(\) \+ (\d+)\b')
ASSERTED = re.compile(r'assert[^\n]*\btime\.(?:time|monotonic|perf_counter)\(\) - \w+ *[<>]')


def hurried(files):
    for path, text in sorted(files.items()):
        for n, line in enumerate(text.splitlines(), 1):
            if any(int(one) < PATIENCE_S for one in LIMIT.findall(line)):
                yield f'{path}:{n}: wait up to {PATIENCE_S} s for what comes soon'
            if ASSERTED.search(line):
                yield f'{path}:{n}: asserts a time of the wall clock'


def sleeps(files, most=SLEEPS_MAX):
    found = [f'{path}: {n}' for path, text in sorted(files.items()) if (n := len(SLEEP.findall(text)))]
    count = sum(int(one.rsplit(' ', 1)[1]) for one in found)
    if count > most:
        yield f'{count} sleeps, {most} allowed: use the simulator\'s knobs or skip_to, or wait for what is to happen\n' + '\n'.join(found)


def tested(table, folders, suites):
    """`tests/run.sh --quick` runs tests of every folder, and every folder of whole-program tests is run for something."""
    for folder in folders:
        if not any(prefix.startswith(folder) for prefix, _ in table):
            yield f'{folder}: no row in TABLE of tests/touched.py'
    named = {word.split('/')[0] for _, words in table for word in words.split()}
    for suite in suites:
        if suite not in named:
            yield f'tests/cli/{suite}: no row of TABLE in tests/touched.py names it'
