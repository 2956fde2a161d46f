"""What Ray's dashboard, on this host, shows of the cluster: raygpu's "nodes" reports, each on its line, and then its "demand" report.
Run by watch-ray in the container of the head. README.md beside this file ("Reports") has the form."""
import base64
import hashlib
import json
import os
import re
import urllib.request

URL = 'http://127.0.0.1:8265'
KEYS_A_LINE = 140
OTHERS_MAX = 20
SHAPES_MAX = 8


def ask(path):
    headers = {'User-Agent': 'raygpu'}
    if os.environ.get('RAY_AUTH_MODE') == 'token':
        with open(os.environ['RAY_AUTH_TOKEN_PATH']) as f:
            headers['Authorization'] = 'Bearer ' + f.read().strip()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(URL + path, headers=headers), timeout=30) as answer:
        return json.load(answer)


def alive(nodes):
    raylets = (node.get('raylet') or {} for node in nodes)
    return [raylet for raylet in raylets if raylet.get('state') == 'ALIVE']


def groups(raylets):
    """(GPUs, driver) -> instance ids."""
    found = {}
    for raylet in raylets:
        if raylet.get('instanceId'):
            gpus = int((raylet.get('resourcesTotal') or {}).get('GPU', 0))
            driver = (raylet.get('labels') or {}).get('raygpu.io/driver', '')
            found.setdefault((gpus, driver), set()).add(raylet['instanceId'])
    return found


def key(instance, width):
    return base64.b64encode(hashlib.sha256(instance.encode()).digest())[:width].decode()


def word(text, others):
    return re.sub(f'[^A-Za-z0-9{others}]', '_', str(text))


def others(raylets):
    """Those that nobody gave an id: how many, and addresses. Someone has started Ray there by hand."""
    found = sorted(word(raylet.get('nodeManagerAddress'), '.:') for raylet in raylets if not raylet.get('instanceId'))
    return f' without_id={len(found)} others={",".join(found[:OTHERS_MAX])}' if found else ''


def version():
    try:
        return ' ray=' + word(ask('/api/version')['ray_version'], '.+-')
    except (OSError, ValueError, LookupError):
        return ''


def lines(raylets, version):
    found = groups(raylets)
    width = 6 if sum(map(len, found.values())) <= 2500 else 4
    parts = []
    for (gpus, driver), instances in sorted(found.items()):
        keys = sorted(key(instance, width) for instance in instances)
        for i in range(0, len(keys), KEYS_A_LINE):
            parts.append(f'gpus={gpus} driver={driver} ids={"".join(keys[i:i + KEYS_A_LINE])}')
    parts = parts or ['gpus=0 driver= ids=']
    parts[0] += version + others(raylets)
    return [f'nodes part={i} parts={len(parts)} width={width} {part}' for i, part in enumerate(parts, 1)]


def shape(resources):
    """CPU:1+GPU:8"""
    numbers = {name: int(amount) if amount == int(amount) else amount for name, amount in sorted(resources.items())}
    return '+'.join(f'{word(name, "._-")}:{amount}' for name, amount in numbers.items())


def demand():
    """What tasks and actors wait for, and how many placement groups wait; from the autoscaler's monitor, which the head always runs."""
    try:
        report = ask('/api/cluster_status')['data']['clusterStatus']['loadMetricsReport']
        shapes = sorted(((n, shape(resources)) for resources, n in report['resourceDemand']), reverse=True)
        groups = sum(n for _, n in report['pgDemand'])
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return ['demand']
    kept = ','.join(f'{n}x{resources}' for n, resources in shapes[:SHAPES_MAX])
    return [f'demand requests={sum(n for n, _ in shapes)} groups={groups} shapes={kept}']


summary = ask('/nodes?view=summary')['data']['summary']
print('\n'.join(lines(alive(summary), version()) + demand()))
