#!/usr/bin/env python3
"""Extracts first inputs of the fuzz targets from the golden files and the catalogs: OUT/spec, OUT/plan, OUT/xml,
OUT/csv, OUT/project.

usage: seed.py OUT ROOT"""
import glob
import json
import os
import re
import shutil
import sys

out, root = sys.argv[1:3]
shutil.rmtree(out, ignore_errors=True)


def keep(target, name, data):
    folder = os.path.join(out, target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), 'wb') as f:
        f.write(data)


def section(path, name):
    with open(path, encoding='utf-8') as f:
        text = f.read()
    match = re.search(rf'^@{name}\n(.*?)(?=^@(?:spec|expect|title|fitted|desired|recorded|observed)\n|\Z)',
                      text, re.M | re.S)
    return match.group(1) if match else ''


def golden(kind):
    for path in sorted(glob.glob(os.path.join(root, 'tests/golden', kind, '*.test'))):
        yield os.path.basename(path)[:-5], path


for name, path in golden('spec'):
    body = re.sub(rb'\\x([0-9a-f]{2})', lambda m: bytes([int(m.group(1), 16)]),
                  section(path, 'spec').encode())
    keep('spec', name, body)
for path in sorted(glob.glob(os.path.join(root, 'examples/*.yaml'))):
    with open(path, 'rb') as f:
        keep('spec', os.path.basename(path), f.read())
for name, path in golden('plan'):
    keep('plan', name, section(path, 'expect').encode())
# project files: an example, and each refused member
with open(os.path.join(root, 'examples/own-catalog/raygpu.yaml'), 'rb') as f:
    keep('project', 'own-catalog', f.read())
with open(os.path.join(root, 'tests/cli/fit/test_own_catalog.py'), encoding='utf-8') as f:
    for i, line in enumerate(re.findall(r"^    \(\['(.*?)'\],", f.read(), re.M)):
        keep('project', f'refused-{i}', f'catalog:\n  {line}\n'.encode())
# in the order of fuzz_csv.c; of long tables the first lines
for i, name in enumerate(['instance_types', 'prices', 'regions', 'refusals', 'gpu_models', 'grid_intensity', 'gpu_power',
                          'host_power', 'mig_profiles', 'mig_placements', 'ray_releases', 'cuda_releases', 'cuda_archs',
                          'ray_images', 'ray_options']):
    [path] = [p for folder in ('providers/aws', 'src/catalog/data')
              if os.path.exists(p := os.path.join(root, folder, name + '.csv'))]
    with open(path, 'rb') as f:
        keep('csv', name, bytes([ord('a') + i]) + b''.join(f.readlines()[:40]))
with open(os.path.join(root, 'providers/aws/tests/replies.json'), encoding='utf-8') as f:
    for i, reply in enumerate(json.load(f)):
        keep('xml', f'{i}-{reply["action"]}', reply['body'].encode())
# in the order of fuzz_gcp.c: each sample alone, for each call, and after an accepted operation
with open(os.path.join(root, 'tests/data/gcp/operation_samples.json'), encoding='utf-8') as f:
    samples = {name: f'{one["status"]} {json.dumps(one["body"])}' for name, one in json.load(f).items() if name != 'note'}
for call in range(13):
    for name, line in samples.items():
        keep('gcp', f'{name}-{call}', (chr(ord('A') + call) + line).encode())
        keep('gcp', f'{name}-later-{call}', (chr(ord('A') + call) + samples['insert_accepted'] + '\n' + line).encode())
