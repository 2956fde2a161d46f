"""plan with a full refresh where nothing changed, against prepared pages of a static server, and curl fetching
the same pages. Each run of plan must print "No changes." and make as many calls as there are pages."""
import shutil
import tempfile

from measure import median, run, seconds, table
from program import binary
from world import Pages, World

HEAD = ['nodes', 'pages', 'MB', 'raygpu wall s', 'raygpu CPU s', 'peak MiB', 'calls', 'curl wall s', 'curl CPU s',
        'wall ratio']


def measure(nodes, repeats, indented=False, latency_ms=0):
    """(runs of raygpu, runs of curl, world): alternating, so that both run under the same conditions."""
    folder = tempfile.mkdtemp(prefix='raygpu-bench-')
    try:
        world = World(folder, nodes, indented)
        with Pages(world, latency_ms) as pages:
            curl = ['curl', '-K', pages.curl_config()]
            ours, theirs = [], []
            for _ in range(repeats):
                pages.count()
                used = run([binary(), 'plan', 'cluster.yaml'], cwd=folder, env=pages.env())
                used.calls = pages.count()
                check(used, world)
                ours.append(used)
                used = run(curl, cwd=folder)
                if used.code or pages.count() != world.calls:
                    raise RuntimeError(f'curl ended with {used.code} and did not fetch {world.calls} pages')
                theirs.append(used)
        return ours, theirs, world
    finally:
        shutil.rmtree(folder)


def check(used, world):
    """Figures of a wrong plan would be worthless."""
    if used.code or 'No changes.' not in used.out or 'Warning' in used.out:
        raise RuntimeError(f'plan of {world.nodes} nodes ended with {used.code}:\n{used.out[-3000:]}')
    if used.calls != world.calls:
        raise RuntimeError(f'{used.calls} calls for {world.calls} pages')


def row(nodes, repeats, indented=False, latency_ms=0):
    ours, theirs, world = measure(nodes, repeats, indented, latency_ms)
    wall, curl_wall = median(ours, 'wall_s'), median(theirs, 'wall_s')
    return [f'{nodes:,}', world.calls, f'{world.bytes / 1e6:.1f}', seconds(wall), seconds(median(ours, 'cpu_s')),
            f'{median(ours, "rss_mib"):.0f}', ours[0].calls, seconds(curl_wall), seconds(median(theirs, 'cpu_s')),
            f'{wall / curl_wall:.1f}']


def section(counts, repeats):
    print('### No-op plan, full refresh, static server\n')
    print(table(HEAD, [row(nodes, repeats if nodes <= 10000 else min(repeats, 3)) for nodes in counts]), '\n',
          flush=True)


def section_indented(repeats):
    print('### The same, documents indented by four spaces a level, as EC2 sends them\n')
    print(table(HEAD, [row(10000, repeats, indented=True)]), '\n', flush=True)


def section_latency(repeats):
    print('### The same, each answer 100 ms after its request\n')
    print(table(HEAD, [row(10000, min(repeats, 3), latency_ms=100)]), '\n', flush=True)
