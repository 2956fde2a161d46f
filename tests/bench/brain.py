"""Commands that need no network: offers over the whole catalog, the fit of 500 replicas on 1,000 nodes, remedies
for 100 nodes that are asked for too much, validate of small specs. Each run must give the right answer; these processes take milliseconds, so the median of many
counts."""
import json
import os
import random
import shutil
import tempfile

from measure import median, run, table
from program import IMAGE, binary

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEAD = ['command', 'what', 'wall ms', 'CPU ms', 'peak MiB', 'goal ms']
SPEC = f'''cluster: big
provider: {{name: aws, region: us-east-1}}
ray: {{version: 2.56.1, python: "3.11", image: "{IMAGE}"}}
head: {{instance_type: m5.2xlarge}}
pools:
  train: {{accelerators: "A100:8", nodes: 300}}
  legacy: {{accelerators: "V100-32GB:8", nodes: 300}}
  serve: {{accelerators: "T4:1", nodes: 400}}
workloads:
  finetune: {{gpus: 8, gpu_memory: 40GB, nodes: 4, gang: true, replicas: 20}}
  embed: {{gpus: 0.25, gpu_memory: 4GB, replicas: 280}}
  eval: {{gpus: 2, gpu_memory: 16GB, replicas: 200}}
'''


def row(folder, words, what, says, goal, repeats):
    runs = [run([binary(), *words], cwd=folder) for _ in range(repeats)]
    for used in runs:
        if used.code or says not in used.out:
            raise RuntimeError(f'{words} ended with {used.code}:\n{used.out[-2000:]}')
    return [f'`raygpu {" ".join(os.path.basename(w) for w in words)}`', what, f'{median(runs, "wall_s") * 1000:.1f}',
            f'{median(runs, "cpu_s") * 1000:.1f}', f'{median(runs, "rss_mib"):.0f}', goal]


def contended(n):
    """100 nodes whose workloads ask for more GPUs than they have."""
    r = random.Random(n)
    pools = {'train': {'instance_type': 'p4d.24xlarge', 'nodes': 20}, 'legacy': {'instance_type': 'g5.12xlarge', 'nodes': 30},
             'serve': {'instance_type': 'g4dn.xlarge', 'nodes': 50}}
    left = 20 * 8 + 30 * 4 + 50 + r.randint(4, 24)
    work = {'gang': {'gpus': 4, 'nodes': r.randint(2, 6), 'gang': True, 'replicas': 1},
            'whole': {'gpus': 8, 'replicas': r.randint(10, 20)}}
    for i in range(5):
        gpus = r.choice([0.25, 0.5, 1, 1, 2, 4])
        work[f'w{i}'] = {'gpus': gpus, 'cpus': r.choice([1, 2, 4]), 'memory': r.choice(['4GB', '8GB', '12GB']),
                         'replicas': max(1, int(left / (6 - i) / gpus))}
    return {'cluster': 'big', 'provider': {'name': 'aws', 'region': 'us-east-1'}, 'ray': {'version': '2.56.1', 'python': '3.11'},
            'head': {'instance_type': 'm5.2xlarge'}, 'pools': pools, 'workloads': work}


def remedies(folder, cases):
    """Processor time of `fit` of so many specs: mean and most. Each must give a remedy."""
    spent = []
    for n in range(cases):
        with open(os.path.join(folder, 'contended.yaml'), 'w', encoding='utf-8') as file:
            json.dump(contended(n), file)
        used = run([binary(), 'fit', 'contended.yaml', '--json'], cwd=folder)
        if used.code or not any(w['remedy'] for w in json.loads(used.out)['workloads']):
            raise RuntimeError(f'case {n} ended with {used.code}:\n{used.out[-2000:]}')
        spent.append(used.cpu_s * 1000)
    return table(['specs', 'CPU ms, mean', 'CPU ms, most'], [[cases, f'{sum(spent) / cases:.0f}', f'{max(spent):.0f}']])


def section(repeats):
    folder = tempfile.mkdtemp(prefix='raygpu-bench-')
    try:
        with open(os.path.join(folder, 'big.yaml'), 'w', encoding='utf-8') as file:
            file.write(SPEC)
        example = os.path.join(TOP, 'examples')
        print('### Offers and fit\n')
        print(table(HEAD, [
            row(folder, ['offers', '--json'], 'the whole catalog, three clouds', '"wish": "any GPU"', 50, repeats),
            row(folder, ['fit', 'big.yaml'], '500 replicas on 1,000 nodes', 'all of them fit at once', 100, repeats),
            row(folder, ['validate', os.path.join(example, 'minimal.yaml')], 'a small spec', 'is valid', 10, repeats),
            row(folder, ['validate', os.path.join(example, 'research.yaml')], 'three pools', 'is valid', 10, repeats),
        ]), '\n', flush=True)
        print('### Remedies, 100 contended nodes\n')
        print(remedies(folder, 40), '\n', flush=True)
    finally:
        shutil.rmtree(folder)
