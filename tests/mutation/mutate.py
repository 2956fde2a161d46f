"""Mutants of C sources: each changes one token (or one call, or one condition) on one line of a function body. A
mutant is (file, line number, old text of the line, new text), both texts without the white space around them."""
import collections
import os
import random
import re

Mutant = collections.namedtuple('Mutant', 'file line old new')
Token = collections.namedtuple('Token', 'kind text start end')

LEXER = re.compile(
    r'(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)'
    r'|(?P<string>"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\')'
    r'|(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)|(?P<word>[A-Za-z_]\w*)'
    r'|(?P<sign>->|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\.\.\.|[^\s\w])', re.S | re.M)

# Each comparison has a shifted boundary and an opposite.
SWAPS = {'==': ['!='], '!=': ['=='], '<': ['<=', '>='], '<=': ['<', '>'], '>': ['>=', '<='], '>=': ['>', '<'],
         '&&': ['||'], '||': ['&&'], '+': ['-'], '-': ['+'], '+=': ['-='], '-=': ['+='],
         'true': ['false'], 'false': ['true']}
# The sanitizers, or nothing, would notice dropping these: memory, locks, assertions.
NEVER_DROPPED = re.compile(r'free|unref|decref|incref|clear|close|finalize|^va_|lock|mutex|signal|broadcast|assert|'
                           r'^g_error|^store_check_')


def tokens(text):
    """The tokens of a C file, without comments and preprocessor lines."""
    return [Token(m.lastgroup, m.group(), m.start(), m.end()) for m in LEXER.finditer(text)
            if m.lastgroup not in ('comment', 'directive')]


def bodies(found):
    """The (first, end) indexes of tokens inside function bodies."""
    depth = first = 0
    for i, token in enumerate(found):
        if token.text == '{':
            if depth == 0:
                first = i + 1 if i and found[i - 1].text == ')' else None
            depth += 1
        elif token.text == '}':
            depth -= 1
            if depth == 0 and first is not None:
                yield first, i


def closing(found, at):
    """The index of the parenthesis that closes the one at `at`."""
    depth = 0
    for i in range(at, len(found)):
        depth += {'(': 1, ')': -1}.get(found[i].text, 0)
        if depth == 0:
            return i
    return len(found) - 1


def other_number(found, i):
    """A decimal integer off by one, or None where it means nothing: sizes of arrays, {0}, -1."""
    match = re.fullmatch(r'(\d+)([uUlL]*)', found[i].text)
    before, after = found[i - 1].text, found[i + 1].text
    if not match or (len(match[1]) > 1 and match[1][0] == '0') or (before, after) == ('{', '}'):
        return None
    if (before == '-' and not is_binary(found, i - 1)) or (before == '[' and int(match[1]) > 2):
        return None
    number = int(match[1])
    return str(0 if number == 1 else number + 1) + match[2]


def is_binary(found, i):
    return found[i - 1].kind in ('number', 'word') and found[i - 1].text != 'return' or found[i - 1].text in (')', ']')


def changes(found, i):
    """(start, end, new text) of each change that begins at token i."""
    token = found[i]
    if token.kind == 'number':
        new = other_number(found, i)
        if new is not None:
            yield token.start, token.end, new
    elif token.text == '!' and found[i + 1].text != '=':
        yield token.start, token.end, ''
    elif token.text in SWAPS and (token.text not in '+-' or is_binary(found, i)):
        for new in SWAPS[token.text]:
            yield token.start, token.end, new
    elif token.text in ('if', 'while') and found[i + 1].text == '(':
        end = closing(found, i + 1)
        inside = {t.text for t in found[i + 2:end]}
        if inside & {'&&', '||'} or not inside & {'==', '!=', '<', '>', '<=', '>=', '!'}:  # otherwise covered by swaps
            yield found[i + 1].start, found[end].end, '(!{})'  # {}: the original text
    elif token.kind == 'word' and found[i + 1].text == '(' and (found[i - 1].text in (';', '{', '}', 'else') or
                                                                is_condition(found, i - 1)):
        end = closing(found, i + 1)
        if found[end + 1].text == ';' and token.text not in ('return', 'sizeof') and \
                not NEVER_DROPPED.search(token.text):
            yield token.start, found[end + 1].end, ';'


def is_condition(found, i):
    """Whether the parenthesis at i closes the condition of an if, a loop or a foreach."""
    depth = 0
    if found[i].text != ')':
        return False
    for at in range(i, 0, -1):
        depth += {')': 1, '(': -1}.get(found[at].text, 0)
        if depth == 0:
            return found[at - 1].text in ('if', 'while', 'for') or 'foreach' in found[at - 1].text
    return False


def of_text(file, text):
    """All mutants of one file, in its order."""
    found = tokens(text)
    for first, end in bodies(found):
        for i in range(first, end):
            for start, stop, new in changes(found, i):
                begin = text.rfind('\n', 0, start) + 1
                rest = text.find('\n', start)
                old = text[begin:rest]
                if stop > rest or old.lstrip().startswith('g_assert'):
                    continue
                changed = text[begin:start] + new.replace('{}', text[start:stop]) + text[stop:rest]
                yield Mutant(file, text.count('\n', 0, start) + 1, old.strip(), changed.strip())


def sources(root, folders):
    for folder in folders:
        for name in sorted(os.listdir(os.path.join(root, folder))):
            if name.endswith('.c'):
                yield f'{folder}/{name}'


def read(root, file):
    with open(os.path.join(root, file), encoding='utf-8') as f:
        return f.read()


def of_tree(root, folders):
    """All mutants of the folders' sources; always in the same order."""
    return [mutant for file in sources(root, folders) for mutant in of_text(file, read(root, file))]


def draw(root, folders, seed):
    """The same mutants in an order that the seed decides."""
    found = of_tree(root, folders)
    random.Random(str(seed)).shuffle(found)
    return found


def apply(text, mutant):
    """The file's text with the mutant in it. The line is the one with its number or, if lines have moved, the
    nearest one with the same text."""
    lines = text.split('\n')
    at = [i for i, line in enumerate(lines) if line.strip() == mutant.old]
    if not at:
        raise LookupError(f'{mutant.file} has no line "{mutant.old}"')
    i = min(at, key=lambda n: abs(n + 1 - mutant.line))
    lines[i] = lines[i].replace(mutant.old, mutant.new)
    return '\n'.join(lines)


def show(mutant):
    return f'{mutant.file} {mutant.line} {mutant.old} -> {mutant.new}'


def parse(root, words):
    """A mutant from "FILE LINE old -> new"; without LINE it is the first line with the old text."""
    match = re.match(r'(\S+) (?:(\d+) )?(.+)', words)
    if not match or not os.path.isfile(os.path.join(root, match[1])):
        raise LookupError(f'"{words}" is not FILE LINE old -> new')
    lines = {line.strip() for line in read(root, match[1]).split('\n')}
    parts = match[3].split(' -> ')
    for n in range(1, len(parts)):
        if ' -> '.join(parts[:n]) in lines:
            return Mutant(match[1], int(match[2] or 1), ' -> '.join(parts[:n]), ' -> '.join(parts[n:]))
    raise LookupError(f'{match[1]} has no line like the old one of "{match[3]}"')


def entry(root, block):
    """(mutant, fate, test or reason) of one paragraph of mutants.txt."""
    first, *rest = block.split('\n')
    match = re.fullmatch(r'\s+(?:after: (.+?)\s+)?(killed by|equivalent): (.+)', '\n' + '\n'.join(rest), re.S)
    if not match:
        raise LookupError(f'"{first}" needs a line "killed by: ..." or "equivalent: ..."')
    mutant = parse(root, first)
    lines = [line.strip() for line in read(root, mutant.file).split('\n')]
    found = [i + 1 for i, line in enumerate(lines) if line == mutant.old and match[1] in (None, lines[i - 1])]
    if len(found) != 1:
        raise LookupError(f'"{first}" is on {len(found)} lines; "after: LINE BEFORE" tells which')
    return mutant._replace(line=found[0]), match[2], ' '.join(match[3].split())


def table(root, text):
    """The entries of mutants.txt. A LookupError names one that is stale."""
    text = re.sub(r'^#.*\n', '', text, flags=re.M).strip()
    return [entry(root, block) for block in re.split(r'\n\s*\n', text) if block]
