#!/usr/bin/env python3
"""Turns data files into one C file with a table of (name, bytes, length).

usage: embed.py OUT.c SYMBOL FILE...

The table is `const struct rg_embedded SYMBOL[]`, ended by a NULL name; names are base names. What takes time to read at each
start and changes nothing is left out: the blanks between tokens of JSON, and from NAME.schema.json what only its readers and
editors use. Messages show the descriptions of properties that are missing."""
import json
import os
import sys

ANNOTATIONS = ('$comment', 'title', 'description', 'examples')
VALUES = ('const', 'default', 'enum')


def required_names(node):
    if isinstance(node, dict):
        own = node.get('required', [])
        return set(own if isinstance(own, list) else []).union(*map(required_names, node.values()))
    return set().union(*map(required_names, node)) if isinstance(node, list) else set()


def without_annotations(node, required, name=None):
    """`name`: the node's key. A property may be named like an annotation, but is an object or a boolean."""
    if isinstance(node, list):
        return [without_annotations(item, required) for item in node]
    if not isinstance(node, dict):
        return node
    return {key: value if key in VALUES or key.startswith('x-raygpu') else without_annotations(value, required, key)
            for key, value in node.items()
            if key not in ANNOTATIONS or isinstance(value, (dict, bool)) or (key == 'description' and name in required)}


out, symbol, names = sys.argv[1], sys.argv[2], sys.argv[3:]
lines = ['/* made by src/base/embed.py; do not edit */', '#include "base/embedded.h"', '']
rows = []
for i, path in enumerate(names):
    with open(path, 'rb') as f:
        data = f.read()
    if path.endswith('.json'):
        document = json.loads(data)
        if path.endswith('.schema.json'):
            document = without_annotations(document, required_names(document))
        data = json.dumps(document, ensure_ascii=False, separators=(',', ':')).encode()
    lines.append(f'static const unsigned char data_{i}[] = {{')
    for at in range(0, len(data), 24):
        lines.append(','.join(map(str, data[at:at + 24])) + ',')
    lines.append('0};')
    rows.append(f'\t{{"{os.path.basename(path)}", (const char *)data_{i}, {len(data)}}},')
lines.append(f'const struct rg_embedded {symbol}[] = {{')
lines += rows + ['\t{0, 0, 0},', '};']
with open(out, 'w') as f:
    f.write('\n'.join(lines) + '\n')
