"""raygpu cost: figures recomputed from the state's SQLite file; every node counts, to its end."""
import csv
import io
import json
import os
import sqlite3

import pytest
from program import Home, spec
from shared import sim  # noqa: F401

FAKE = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'
DAY = 86400
# us-east-1, providers/aws/prices.csv: m5.2xlarge 0.384, g4dn.xlarge 0.526
HEAD, T4 = 384000, 526000


@pytest.fixture
def home(tmp_path, sim):
    sim.reset()
    home = Home(tmp_path, sim.env())
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    home.apply()
    return home


def rows(home, sql, *values):
    with sqlite3.connect(home.state) as db:
        return db.execute(sql, values).fetchall()


def recompute(home, since_s, now_s, key):
    """{key: [nodes, microusd_hour, microusd_spent, seconds]}, from the tables alone."""
    sums = {}
    for address, pool, pin, labels, began, ended in rows(
            home, 'SELECT address, pool, pin, labels, began_s, ended_s FROM lifetimes'):
        if ended is not None and ended <= since_s:
            continue
        pin, labels = json.loads(pin), json.loads(labels or '{}')
        price = pin['price_microusd_hour']
        seconds = max(0, min(now_s if ended is None else ended, now_s) - max(began, since_s))
        row = sums.setdefault(key(pool, pin, labels), [0, 0, 0, 0])
        row[0] += ended is None
        row[1] += price if ended is None else 0
        row[2] += (price * seconds + 1800) // 3600
        row[3] += seconds
    return sums


def told(home, *arguments, env=None):
    return json.loads(home.run('cost', *arguments, '--json', env=env).out)


def check(home, report, name, key):
    sums = recompute(home, report['since_s'] or 0, report['now_s'], key)
    got = {row[name]: [row[c] for c in ('nodes', 'microusd_hour', 'microusd_spent', 'node_seconds')]
           for row in report['rows']}
    assert got == sums
    for column in ('nodes', 'microusd_hour', 'microusd_month', 'microusd_spent', 'node_seconds', 'gone'):
        assert report['total'][column] == sum(row[column] for row in report['rows']), column
    assert all(row['microusd_month'] == 730 * row['microusd_hour'] for row in report['rows'])


def by_pool(pool, pin, labels):
    return pool


def test_what_runs_costs_what_was_frozen(home):
    report = told(home)
    check(home, report, 'pool', by_pool)
    assert report['total']['microusd_hour'] == HEAD + 2 * T4 and report['total']['nodes'] == 3
    # tomorrow's prices do not change it
    for argument in ('cluster.yaml', 'research'):
        one = told(home, argument)
        check(home, one, 'pool', by_pool)
        assert [row['pool'] for row in one['rows']] == ['head', 'serve']
    check(home, told(home, '--by', 'market'), 'market', lambda pool, pin, labels: 'on-demand')
    check(home, told(home, '--by', 'cluster'), 'cluster', lambda pool, pin, labels: 'research')
    check(home, told(home, '--by', 'label:team'), 'label', lambda pool, pin, labels: labels.get('team'))
    assert [row['label'] for row in told(home, '--by', 'label:team')['rows']] == ['ml']
    assert [row['label'] for row in told(home, '--by', 'label:none')['rows']] == [None]


def test_the_lives_of_what_is_gone_stay_in_the_sum(home, sim):
    """Created, shrunk, relabelled, destroyed; with times in the tables moved back, so that hours are hours."""
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    home.apply()
    home.write('cluster.yaml', spec(pools={'serve': 1}).replace('team: ml', 'team: search'))
    home.apply()
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    home.edit_state(
        ('UPDATE lifetimes SET began_s = began_s - ?', (10 * DAY,)),
        ("UPDATE lifetimes SET ended_s = ended_s - ? WHERE ending = 'relabelled'", (3 * DAY,)),
        ("UPDATE lifetimes SET began_s = began_s + ? WHERE labels LIKE '%search%'", (7 * DAY,)))
    report = told(home)
    check(home, report, 'pool', by_pool)
    assert report['total']['nodes'] == 0 and report['total']['microusd_hour'] == 0
    days = report['total']['node_seconds'] / DAY
    assert 29.9 < days < 30.1, rows(home, 'SELECT * FROM lifetimes')
    teams = told(home, '--by', 'label:team')
    check(home, teams, 'label', lambda pool, pin, labels: labels.get('team'))
    assert [row['label'] for row in teams['rows']] == ['ml', 'search']
    for since in ('5d', '2h', '1w'):
        check(home, told(home, '--since', since), 'pool', by_pool)
    assert told(home, '--since', '5d')['total']['node_seconds'] < report['total']['node_seconds']


def test_what_vanished_is_counted_until_it_was_noticed_and_said_so(home, sim):
    (ident,), = rows(home, "SELECT cloud_id FROM resources WHERE address = 'aws.instance.serve[1]'")
    sim.ok('TerminateInstances', {'InstanceId.1': ident})
    home.apply()
    report = told(home)
    assert report['total']['gone'] == 1
    assert 'found missing' in home.run('cost').out
    check(home, report, 'pool', by_pool)


def test_a_record_that_was_forgotten_may_still_run(home):
    home.run('state', 'rm', 'aws.instance.serve[1]')
    assert told(home)['total']['forgotten'] == 1
    text = home.run('cost').out
    assert 'may still run' in ' '.join(text.split()) and '>=' in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_csv_is_read_by_pythons_csv(home):
    text = spec(pools={'serve': 2}).replace('team: ml', "team: 'a \"b\", c'")
    home.write('cluster.yaml', text)
    home.apply()
    for by in ('pool', 'cluster', 'market', 'label:team', 'label:none'):
        report = told(home, '--by', by, '--since', '1h')
        out = home.run('cost', '--by', by, '--since', '1h', '--format', 'csv').out
        table = list(csv.DictReader(io.StringIO(out, newline=''), strict=True))
        name = by.split(':')[0]
        assert [row[name] for row in table] == [row[name] or '' for row in report['rows']]
        assert [round(float(row['usd_hour']) * 1e6) for row in table] == \
            [row['microusd_hour'] for row in report['rows']]
        assert all(row['forgotten'] == '0' for row in table)
        assert all(None not in row and None not in row.values() for row in table)
    assert 'a "b", c' in [row['label'] for row in told(home, '--by', 'label:team')['rows']]


@pytest.mark.skipif(not os.path.exists(FAKE), reason='Debian package faketime is not installed')
@pytest.mark.skipif('san' in os.environ.get('RAYGPU_BUILD', ''), reason='libfaketime and the sanitizers')
def test_the_clock_alone_makes_it_dearer(home):
    now_s = told(home)['now_s']
    later = {'LD_PRELOAD': FAKE, 'FAKETIME': '+10d'}
    report = told(home, env=later)
    assert 10 * DAY <= report['now_s'] - now_s < 10 * DAY + 600
    check(home, report, 'pool', by_pool)
    assert report['total']['node_seconds'] >= 30 * DAY
    # a clock that went back subtracts nothing
    assert told(home, env={'LD_PRELOAD': FAKE, 'FAKETIME': '-10d'})['total']['microusd_spent'] == 0


def test_what_it_refuses(home):
    for arguments, word in ((['--by', 'zone'], '--by'), (['--since', 'yesterday'], 'not a time'),
                            (['--since', '2999-01-01'], 'future'), (['--format', 'xml'], 'xml'),
                            (['nobody'], 'no cluster nobody')):
        assert word in home.run('cost', *arguments, code=4).err
    home.run('cost', '--since', '2026-01-01')
    home.run('cost', '--since', '2026-01-01T08:00:00Z', '--by', 'market')


def test_labels_of_pools_tell_the_money_too(home):
    """By what was frozen at creation: another label makes other nodes, which are counted separately."""
    extra = ', labels: {stage: canary, team: vision}'
    home.write('cluster.yaml', spec(pools={'serve': 2}) + f'  lab: {{accelerators: "T4:1", nodes: 1{extra}}}\n')
    home.apply()

    def frozen(label):
        return lambda pool, pin, labels: pin.get('labels', {}).get(label, labels.get(label))
    for label, wanted in (('team', ['ml', 'vision']), ('stage', ['canary', None])):
        report = told(home, '--by', f'label:{label}')
        check(home, report, 'label', frozen(label))
        assert [row['label'] for row in report['rows']] == wanted
    assert [row['nodes'] for row in told(home, '--by', 'label:team')['rows']] == [3, 1]
    assert [row['microusd_hour'] for row in told(home, '--by', 'label:team')['rows']] == [HEAD + 2 * T4, T4]
    home.write('cluster.yaml', home.read('cluster.yaml').replace('team: vision', 'team: audio'))
    home.apply('cluster.yaml', '--no-settle')
    report = told(home, '--by', 'label:team')
    check(home, report, 'label', frozen('team'))
    assert [(row['label'], row['nodes']) for row in report['rows']] == [('audio', 1), ('ml', 3), ('vision', 0)]
    os.rename(home.state, home.state + '.lost')
    home.run('state', 'rebuild', 'cluster.yaml')
    rows_now = told(home, '--by', 'label:team')['rows']
    assert (rows_now[0]['label'], rows_now[0]['nodes']) == ('audio', 1)
