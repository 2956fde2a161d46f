"""A spec on Kubernetes:

    spec(pools={'train': 2, 'serve': ('T4:2', '{min: 0, max: 4}')}, provider='queue: team', extra='')"""
from program import IMAGE


def spec(pools=None, provider='', extra='', name='research', labels='{team: ml}', env=None):
    lines = [f'cluster: {name}', f'labels: {labels}', f"provider: {{name: kubernetes, namespace: ml{', ' + provider if provider else ''}}}",
             f'ray: {{version: 2.56.1, python: "3.11", image: "{IMAGE}"}}', 'head: {instance_type: cpu}', 'pools:']
    for pool, shape in (pools if pools is not None else {'train': 2}).items():
        accelerators, nodes = shape if isinstance(shape, tuple) else ('T4:1', shape)
        more = f', env: {{{env[pool]}}}' if env and pool in env else ''
        lines.append(f'  {pool}: {{accelerators: "{accelerators}", nodes: {nodes}{more}}}')
    return '\n'.join(lines) + '\n' + extra
