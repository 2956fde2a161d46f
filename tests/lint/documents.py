"""Lists that are kept in two places: what the code does, and what a page or a schema says of it. Each
rule takes texts and yields complaints."""
import json
import os
import re
from fnmatch import fnmatch

import rules


def read(path):
    with open(os.path.join(rules.ROOT, path), encoding='utf-8') as f:
        return f.read()


def arguments(text, at):
    """The arguments of the call whose `(` is at text[at], as they are written."""
    found, depth = [''], 0
    for match in re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])+\'|.', re.S).finditer(text, at):
        word = match.group(0)
        depth += (word in '([{') - (word in ')]}')
        if depth == 0:
            return [argument.strip() for argument in found]
        if word == ',' and depth == 1:
            found.append('')
        elif match.start() > at:
            found[-1] += word
    return found


CODE = re.compile(r'"([a-z]+\.(?!json")[a-z0-9-]+)"')
# What looks like a code and is none: rules of reports (SARIF), and the name of a file.
NO_CODES = {'src/render/report/findings.c': {'plan.create', 'plan.update', 'plan.replace', 'plan.delete', 'plan.record',
                                      'plan.forget', 'plan.release', 'plan.import', 'plan.stop', 'plan.protection', 'plan.lease'},
            'src/state/recover.c': {'state.db'}, 'src/convert/convert.c': {'convert.csv'},
            'src/convert/launcher.c': {'provider.name'}}


def listed_codes(header):
    return set(re.findall(r'X\("([a-z0-9.-]+)"', header))


def unlisted_codes(files, listed):
    """A code that is raised, by rg_diags_* or a helper that takes one, is in diag_codes.h: else
    the program aborts when it comes to it. Codes are never put together from parts."""
    files = {path: re.sub(r'/\*.*?\*/', '', text, flags=re.S) for path, text in files.items()
             if path.startswith(('src/', 'cmd/raygpu/')) and not path.startswith('src/sim/')}
    takers = {'rg_diags_error', 'rg_diags_warning', 'rg_diags_note'}
    for text in files.values():
        takers.update(re.findall(r'(\w+)\([^;{}()]*const char \*code\b', text))
    areas = '|'.join(sorted({code.split('.')[0] for code in listed}))
    calls = re.compile(rf'\b(?:{"|".join(sorted(takers))})(?=\()')
    for path, text in files.items():
        raised = {code for call in calls.finditer(text)
                  for argument in arguments(text, call.end()) for code in CODE.findall(argument)}
        raised |= {code for code in CODE.findall(text) if re.match(rf'({areas})\.', code)}
        for code in sorted(raised - listed - NO_CODES.get(path, set())):
            yield f'{path}: {code} is not in src/base/diag_codes.h'
        for part in re.findall(rf'"(?:{areas})\.[a-z0-9-]*%\w+"|g_strconcat\(\s*"(?:{areas})\."', text):
            yield f'{path}: a code is never built from parts: {part}'


VERBS = ('Allocate|Associate|Attach|Authorize|Cancel|Create|Delete|Describe|Detach|Disassociate|Get|List|Modify|Put|'
         'Reboot|Release|Replace|Request|Revoke|Run|Simulate|Start|Stop|Terminate')
# What reads like a call and is none: members of requests and answers, a name of our own; and calls of the sign-in, which no policy covers.
NO_CALLS = {'DeleteOnTermination', 'AssociatePublicIpAddress', 'RequestId', 'RequestID', 'GetMachineCredentials', 'CreateToken',
            'GetRoleCredentials'}
ACTIONS = {'ListObjectsV2': 'ListBucket'}  # that are allowed under another name


def aws_calls(files):
    text = '\n'.join(re.sub(r'/\*.*?\*/', '', text, flags=re.S) for path, text in files.items()
                     if re.fullmatch(r'providers/aws/\w+\.c', path))
    return {ACTIONS.get(name, name) for name in re.findall(rf'"((?:{VERBS})[A-Z][A-Za-z0-9]+)"', text)
            if not name.endswith(('Response', 'Result'))} - NO_CALLS


def permissions(files, entries):
    """providers/aws/permissions.json allows what the module calls, and no more."""
    allowed = set()
    for entry in json.loads(entries):
        actions = entry['statement']['Action']
        if entry['for'] != ['connect']:  # what other programs call
            allowed.update([actions] if isinstance(actions, str) else actions)
    # no calls: RunInstances needs them
    allowed = {action.split(':')[1] for action in allowed if not action.startswith(('iam:PassRole', 'iam:Create', 'kms:'))}
    called = aws_calls(files)
    for name in sorted(called - allowed):
        yield f'providers/aws/permissions.json lacks {name}'
    for name in sorted(allowed - called):
        yield f'providers/aws/permissions.json allows {name}, which is never called'


def attribute_rows(schema, readme):
    """Each kind of schema.json has a table in the README, each attribute is in one row of it."""
    for kind, about in json.loads(schema)['kinds'].items():
        section = re.search(rf'^\*\*`{re.escape(kind)}`\*\*(.*?)(?=^\*\*`|^## )', readme, re.S | re.M)
        if not section:
            yield f'providers/aws/README.md: no table of {kind}'
            continue
        told = [name for cell in re.findall(r'^\| (`[^|]*?) \|', section.group(1), re.M)
                for name in re.findall(r'`([a-z0-9_]+)`', cell)]
        for name in sorted(set(about['attributes']) - set(told)):
            yield f'providers/aws/README.md: {kind} lacks a row of {name}'
        for name in sorted(set(told) - set(about['attributes'])):
            yield f'providers/aws/README.md: {kind} has no {name}'


def fitted_members(source, schema):
    """What src/fit/node.c puts into the fitted document is in its schema."""
    known = set()

    def walk(part):
        if isinstance(part, dict):
            if isinstance(part.get('properties'), dict):
                known.update(part['properties'])
            for member in part.values():
                walk(member)

    walk(json.loads(schema))
    source = re.sub(r'/\*.*?\*/', '', source, flags=re.S)
    for call in re.finditer(r'\b(json_object_set(?:_new)?|rg_json_set_\w+|json_pack)(?=\()', source):
        words = arguments(source, call.end())
        keys = pack_keys(words) if call.group(1) == 'json_pack' else words[1:2]
        for key in keys:
            if re.fullmatch(r'"\w+"', key) and key.strip('"') not in known:
                yield f'schemas/fitted.schema.json: no property {key}, which fit sets'


def pack_keys(words):
    """Of json_pack("{s:s, s:o}", key, value, key, value): one level, one value a key."""
    return words[1::2] if words[0].startswith('"{s') else []


COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.S)
PAGE = re.compile(r'(?<![\w*}/.])((?:[\w.*-]+/)*[\w-]+\.md)\b')


def cited_pages(files, pages):
    """A comment cites pages of this tree only: a path from the top, or a name beside the file or of
    just one folder."""
    for path, text in files.items():
        comments = '\n'.join(COMMENT.findall(text)) if path.endswith(('.c', '.h')) else \
            '\n'.join(re.findall(r'(?:^|\s)#[^\n]*|"""[^"]*"""', text))
        for page in sorted(set(PAGE.findall(re.sub(r'\n\s*\*?', ' ', comments)))):
            if not any(fnmatch(known, page) or known.endswith('/' + page) for known in pages):
                yield f'{path}: {page} is not in the tree'
