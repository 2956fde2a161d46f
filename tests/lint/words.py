"""Plain English in everything that people read: messages, help, man pages, READMEs, examples and comments."""
import re

# Pattern, what to write instead, and why.
ODD_WORDS = [
    (r'[Tt]ells?|[Tt]old|[Tt]elling', 'shows, reports, lists, explains', 'programs do not talk'),
    (r'wants|wanted', 'requires, requested, desired', 'programs have no wishes'),
    (r'[Kk]nows no|[Kk]now no', 'has no, does not support', 'programs have no knowledge'),
    (r'is no|are no|was no|were no', 'is not a', '"no" before a noun reads as "not any"'),
    (r', (?:and )?nothing else', 'only, before the verb', 'shorter'),
    (r'so long|so much', 'this long, at most', '"so" needs a comparison'),
    (r'all the same|none the less', 'anyway, nevertheless', 'reads like "identical"'),
    (r'[Ss]omebody|[Ww]hoever|[Ww]homever', 'someone, anyone who', 'bookish'),
    (r"behind \w+'s back", 'outside raygpu', 'an idiom'),
    (r'slip of the pen|slip of the finger', 'typing error', 'an idiom'),
    (r'side by side', 'concurrently, in parallel', 'the usual word of the field'),
    (r'for want of', 'for lack of', 'archaic'),
    (r'(?:recorded|there) already', 'already recorded, already exists', 'word order'),
    (r'[Mm]ake room|of no use', 'free space; unusable', 'an idiom'),
    (r'[Ll]ook at the|held against', 'check the; compared with', 'an idiom'),
    (r'[Ss]tands? (?:in(?! for)|at|beside|behind|below|above|there|under)|goes round|to be had', 'is in; is circular; available',
     'texts and files do not stand'),
    (r'[Ll]ies? (?:in|at|beside|behind|below|there|outside)', 'is in', 'files do not lie'),
    (r'[Mm]end(?:s|ed|ing)?|anew', 'fix; again', 'archaic'),
    (r"one's own", 'your own, its own', 'bookish'),
    (r'when (?:absent|not known|not given|there is none|there are none)', 'if absent, if unknown', 'a condition, not a time'),
    (r'\b(?:one|line|row|request|requests|copy|batch|object|entry|list|column|process|thread) an? '
     r'(?:node|pool|line|row|kind|cloud|cluster|item|call|request|resource|thread|test|file|second|hour|folder|word|zone|'
     r'region|case|instance|member|card|change|command)', 'one per node', '"a" for "per" only in units: USD an hour'),
    (r'of (?:which|whom) (?:nobody|no one|none) (?:knows|is known)', 'unknown', 'inverted'),
    (r'is of no matter|is no matter|no matter', 'does not matter', 'an idiom'),
    (r'[Tt]oo young|young (?:thing|things|resource|resources|instance|instances)', 'new, recent', 'resources have no age'),
    (r'typed over', 'copied', 'not an English verb for it'),
]
# In messages and man pages only.
FOR_USERS = [
    (r'ask(?:s|ed)? for(?! approval)', 'requests, requires', 'the usual word of the field'),
    (r'by hand', 'manually', 'the usual word of the field'),
]


def any_of(rows):
    return re.compile('|'.join(rf'(?<!\w)(?:{words})\b' for words, *_ in rows))


ODD, ODD_FOR_USERS = any_of(ODD_WORDS), any_of(ODD_WORDS + FOR_USERS)
# Where "is no X" means that there is none of it.
NONE_LEFT = re.compile(r'\b[Tt]here (?:is|are|was|were) no\b|\b(?:is|are|was|were) no (?:longer|more|less|fewer|later|reason)\b')
# Words of other people, code and names: quoted, in backticks or emphasis, and codes such as state.not-told.
QUOTED = re.compile(r'`[^`]*`|"[^"\n]*"|\b[a-z]+\.[a-z-]+\b')


def in_c(text, messages):
    """Comments, and messages: string literals with a blank, without codes and keys of one word."""
    for match in re.finditer(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', text, re.S):
        words = match.group()
        if words.startswith('/*'):
            yield match.start(), QUOTED.sub('', re.sub(r'\s*\n\s*\*?\s*|\s+', ' ', words))
        elif messages and ' ' in words:
            yield match.start(), QUOTED.sub('', words[1:-1])


def in_script(text):
    """Comments and docstrings: triple-quoted texts that begin a line."""
    for match in re.finditer(r'(^[ \t]*)?("""|\'\'\').*?\2|(?:^|[ \t])#[^\n]*', text, re.S | re.M):
        words = match.group()
        if match.group(2) is None or match.group(1) is not None:
            yield match.start(), QUOTED.sub('', re.sub(r'\s+', ' ', words.strip('"\'# \t')))


def prose(path, text):
    """(offset, text) of what people read in a file."""
    if path.endswith(('.c', '.h')):
        return in_c(text, path.startswith(('src/', 'cmd/', 'providers/')))
    if path.endswith(('.md', '.scd', '.yaml', '.yml')):
        return ((match.start(), QUOTED.sub('', match.group())) for match in re.finditer(r'[^\n]+', text))
    return in_script(text)


def plain_words(files):
    for path, text in files.items():
        for at, words in prose(path, text):
            for_users = path.endswith(('.c', '.h', '.scd')) and not words.startswith('/*')
            for match in (ODD_FOR_USERS if for_users else ODD).finditer(NONE_LEFT.sub('', words)):
                _, instead, why = next(row for row in ODD_WORDS + FOR_USERS if re.fullmatch(row[0], match.group()))
                yield f'{path}:{text.count(chr(10), 0, at) + 1}: "{match.group()}"; write {instead}: {why}'
