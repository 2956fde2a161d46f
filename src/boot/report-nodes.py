"""What Ray's dashboard, on this host, shows of the cluster's nodes: keys and values of raygpu's "nodes" reports, one report
a line. Run by watch-ray in the container of the head. README.md beside this file ("Reports") has the form."""
import base64
import hashlib
import json
import os
import urllib.request

URL = 'http://127.0.0.1:8265/nodes?view=summary'
KEYS_A_LINE = 140


def summary():
    headers = {'User-Agent': 'raygpu'}
    if os.environ.get('RAY_AUTH_MODE') == 'token':
        with open(os.environ['RAY_AUTH_TOKEN_PATH']) as f:
            headers['Authorization'] = 'Bearer ' + f.read().strip()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(URL, headers=headers), timeout=30) as answer:
        return json.load(answer)['data']['summary']


def groups(nodes):
    """(GPUs, driver) -> instance ids of the nodes that are alive."""
    found = {}
    for node in nodes:
        raylet = node.get('raylet') or {}
        if raylet.get('state') == 'ALIVE' and raylet.get('instanceId'):
            gpus = int((raylet.get('resourcesTotal') or {}).get('GPU', 0))
            driver = (raylet.get('labels') or {}).get('raygpu.io/driver', '')
            found.setdefault((gpus, driver), set()).add(raylet['instanceId'])
    return found


def key(instance, width):
    return base64.b64encode(hashlib.sha256(instance.encode()).digest())[:width].decode()


def lines(found):
    width = 6 if sum(map(len, found.values())) <= 2500 else 4
    parts = []
    for (gpus, driver), instances in sorted(found.items()):
        keys = sorted(key(instance, width) for instance in instances)
        for i in range(0, len(keys), KEYS_A_LINE):
            parts.append(f'gpus={gpus} driver={driver} ids={"".join(keys[i:i + KEYS_A_LINE])}')
    return [f'part={i} parts={len(parts)} width={width} {part}' for i, part in enumerate(parts, 1)]


print('\n'.join(lines(groups(summary()))))
