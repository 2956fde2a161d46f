"""What programs and reviewers read if a command failed before it had anything to report."""
import json

import pytest
from program import Home, spec
from report_schemas import validator

BAD = spec().replace('nodes: 1', 'nodes: none')


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path)
    home.write('cluster.yaml', BAD)
    return home


def failure(result, code, command):
    document = result.json()
    validator('failure.schema.json').validate(document)
    assert document['exit_code'] == result.code == code and document['command'] == command
    assert document['errored'] is True and result.err.count('Error: ') == len(document['diagnostics'])
    return document


@pytest.mark.parametrize('command', ['plan', 'drift'])
def test_json_of_a_bad_spec(home, command):
    document = failure(home.run(command, 'cluster.yaml', '--format', 'json', code=4), 4, command)
    assert (document['cluster'], document['spec']) == ('research', 'cluster.yaml')
    first = document['diagnostics'][0]
    assert first['code'].startswith('spec.') and first['range']['start']['line'] == 7


@pytest.mark.parametrize('arguments', [['fit'], ['show'], ['show', 'nosuch.json'], ['cost', 'nosuch'], ['log', 'nosuch'],
                                       ['import', 'cluster.yaml', 'aws.instance.head', 'i-1'], ['state', 'orphans']])
def test_json_of_other_failures(home, arguments):
    result = home.run(*arguments, '--json', code=None)
    assert result.code in (1, 4)
    failure(result, result.code, arguments[0])


def test_json_beside_the_text(home):
    home.run('plan', '--report', 'json=p.json', code=4)
    document = json.loads(home.read('p.json'))
    validator('failure.schema.json').validate(document)
    assert document['cluster'] == 'research'


@pytest.mark.parametrize('arguments', [['plan'], ['drift'], ['apply', '--auto-approve'], ['destroy', '--auto-approve'],
                                       ['plan', 'nosuch.yaml'], ['plan', '.', '--changed-since', 'main'],
                                       ['apply', '--nosuch'], ['drift', '--format', 'junit'], ['plan', '--nosuch']])
def test_a_stream_of_failures(home, arguments):
    result = home.run(*arguments, '--json', code=4)
    assert result.told() and result.summary()['exit_code'] == 4 and result.err == ''
    assert result.summary()['errors'] == len(result.told()) and result.summary()['command'] == arguments[0]


@pytest.mark.parametrize('command', ['plan', 'drift'])
def test_the_markdown_title_names_the_cluster(home, command):
    """Including the marker by which a comment of an earlier run is found again."""
    text = home.run(command, '--format', 'markdown', code=4).out
    assert text.startswith(f'<!-- raygpu:{command}:research -->\n## raygpu {command}: research\n')
    for broken in (BAD + ' [', BAD + '}', BAD.replace('nodes: none', 'nodes: *none'), BAD + '---\ncluster: b\n', 'cluster: research\nhead: {a: b\n'):
        home.write('cluster.yaml', broken)
        text = home.run(command, '--format', 'markdown', code=4).out
        assert text.startswith(f'<!-- raygpu:{command}:research -->\n## raygpu {command}: research\n'), broken
    home.write('cluster.yaml', 'pools: [')
    assert f'\n## raygpu {command}: cluster.yaml\n' in home.run(command, '--format', 'markdown', code=4).out
