"""A state file with a flipped bit: an error, or no effect; never a different plan that looks clean."""
import collections
import os
import random

import pytest
from program import spec

FLIPS = int(os.environ.get('RAYGPU_FLIPS', '200'))
SEED = int(os.environ.get('RAYGPU_SEED', '20261122'))


@pytest.fixture
def home(home):
    """Applied, with a plan that has changes and unchanged resources."""
    home.write('cluster.yaml', spec(pools={'serve': 2, 'train': ('A100:8', 1)}))
    home.apply()
    home.write('cluster.yaml', spec(pools={'serve': 3, 'train': ('A100:8', 1)}))
    return home


def flip(whole, bit):
    damaged = bytearray(whole)
    damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def write(home, data):
    with open(home.state, 'wb') as f:
        f.write(data)


def test_no_flipped_bit_gives_another_plan(home):
    plan = home.run('plan', 'cluster.yaml', '--no-settle').out
    assert 'Plan: 1 to add, 0 to change, 0 to destroy.' in plan
    with open(home.state, 'rb') as f:
        whole = f.read()
    outcomes = collections.Counter()
    dice = random.Random(SEED)
    for _ in range(FLIPS):
        bit = dice.randrange(len(whole) * 8)
        write(home, flip(whole, bit))
        result = home.run('plan', 'cluster.yaml', '--no-settle', code=None)
        if result.code == 0:
            assert result.out == plan, f'seed {SEED}: byte {bit // 8}, bit {bit % 8}: {result}'
        else:
            assert result.code in (1, 4) and '[state.' in result.err, f'seed {SEED}: bit {bit}: {result}'
        outcomes['harmless' if result.code == 0 else result.err.split('[')[1].split(']')[0]] += 1
    assert outcomes['state.corrupt'] > FLIPS // 20, outcomes


@pytest.mark.parametrize('old, new', [
    (b'g4dn.xlarge', b'g5dn.xlarge'),           # an attribute of the nodes, in a blob
    (b'/pools/train', b'/pools/tra9n'),         # a column of a record
    (b'"team":"ml"', b'"team":"mm"'),           # what the nodes cost whom
])
def test_what_is_damaged_is_never_shown_as_written(home, old, new):
    with open(home.state, 'rb') as f:
        whole = f.read()
    assert old in whole
    write(home, whole.replace(old, new))
    for words in (('state', 'pull'), ('apply', 'cluster.yaml', '--auto-approve')):
        result = home.run(*words, code=1)
        assert '[state.corrupt]' in result.err, result


def test_a_row_that_a_page_no_longer_counts_is_missed(home):
    """One bit in a page's number of rows, and SQLite silently shows fewer of them."""
    with open(home.state, 'rb') as f:
        whole = bytearray(f.read())
    size = int.from_bytes(whole[16:18], 'big')
    hidden = 0
    for page in range(size, len(whole), size):
        cells = int.from_bytes(whole[page + 3:page + 5], 'big')
        if whole[page] != 13 or cells < 2 or b'aws.instance' not in whole[page:page + size]:
            continue
        damaged = bytearray(whole)
        damaged[page + 3:page + 5] = (cells - 1).to_bytes(2, 'big')
        write(home, damaged)
        result = home.run('state', 'pull', code=None)
        assert result.code == 1 and '[state.corrupt]' in result.err, (page, result)
        hidden += 1
    assert hidden > 1


def test_a_state_may_be_edited_without_its_sums(home):
    home.edit_state("UPDATE resources SET origin = '/pools/other' WHERE origin = '/pools/train'")
    home.run('plan', 'cluster.yaml', '--no-settle')
    home.apply('cluster.yaml', '--no-settle')
    home.run('plan', 'cluster.yaml', '--no-settle')
