"""Commands that need no network: offers over the whole catalog, the fit of 500 replicas on 1,000 nodes, validate
of small specs. Each run must give the right answer; these processes take milliseconds, so the median of many
counts."""
import os
import shutil
import tempfile

from measure import median, run, table
from program import IMAGE, binary

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEAD = ['command', 'what', 'wall ms', 'CPU ms', 'peak MiB', 'goal ms']
SPEC = f'''cluster: big
provider: {{name: aws, region: us-east-1}}
ray: {{version: 2.52.0, python: "3.11", image: "{IMAGE}"}}
head: {{instance_type: m5.2xlarge}}
pools:
  train: {{accelerators: "A100:8", nodes: 300}}
  legacy: {{accelerators: "V100:4", nodes: 300}}
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
    finally:
        shutil.rmtree(folder)
