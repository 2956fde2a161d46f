#!/usr/bin/env python3
"""Turns data files into one C file with a table of (name, bytes, length).

usage: embed.py OUT.c SYMBOL FILE...

The table is `const struct rg_embedded SYMBOL[]`, ended by a NULL name; names are base names."""
import os
import sys

out, symbol, names = sys.argv[1], sys.argv[2], sys.argv[3:]
lines = ['/* made by src/base/embed.py; do not edit */', '#include "base/embedded.h"', '']
rows = []
for i, path in enumerate(names):
    with open(path, 'rb') as f:
        data = f.read()
    lines.append(f'static const unsigned char data_{i}[] = {{')
    for at in range(0, len(data), 24):
        lines.append(','.join(map(str, data[at:at + 24])) + ',')
    lines.append('0};')
    rows.append(f'\t{{"{os.path.basename(path)}", (const char *)data_{i}, {len(data)}}},')
lines.append(f'const struct rg_embedded {symbol}[] = {{')
lines += rows + ['\t{0, 0, 0},', '};']
with open(out, 'w') as f:
    f.write('\n'.join(lines) + '\n')
