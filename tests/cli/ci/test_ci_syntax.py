"""The examples are what GitHub's own parser and GitLab's own schema accept; both find a planted fault."""
import json
import subprocess

import jsonschema
import pytest
from examples import ACTION, CI, of_yaml, text_of
from npm_packages import install
from program import ROOT


@pytest.fixture(name='modules', scope='module')
def the_modules():
    return install('ci-syntax', ('@actions/workflow-parser@0.3.61', 'gitlab-ci-local@4.58.0'), '--ignore-scripts')


def github(modules, workflow, action):
    done = subprocess.run(['node', '--no-warnings', str(ROOT / 'tests/cli/ci/parse.mjs'), modules, str(workflow), str(action)],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_github(modules, tmp_path):
    assert github(modules, CI / 'github-actions.yml', ACTION / 'action.yml') == '4 jobs\n'
    assert github(modules, CI / 'github-pull-requests.yml', ACTION / 'action.yml') == '7 jobs\n'
    workflow, action = tmp_path / 'raygpu.yml', tmp_path / 'action.yml'
    workflow.write_text(text_of(CI / 'github-actions.yml').replace('needs.save.outputs', 'need.save.outputs'))
    action.write_text(text_of(ACTION / 'action.yml').replace('shell: bash', 'shel: bash', 1))
    said = github(modules, workflow, action)
    assert "Unrecognized named-value: 'need'" in said and 'shel' in said


def test_gitlab(modules, tmp_path):
    script = tmp_path / 'schema.mjs'
    (tmp_path / 'schema.js').write_text(text_of(f'{modules}/gitlab-ci-local/src/schema/schema.js'))
    (tmp_path / 'package.json').write_text('{"type": "module"}')
    script.write_text("import { schema } from './schema.js'; console.log(JSON.stringify(schema));\n")
    schema = json.loads(subprocess.run(['node', str(script)], check=True, capture_output=True, text=True).stdout)
    check = jsonschema.Draft7Validator(schema)
    for name in ('gitlab-merge-requests.yml', 'gitlab-ci.yml'):
        document = of_yaml(CI / name)
        assert [f'{one.json_path}: {one.message}' for one in check.iter_errors(document)] == []
    document['apply']['resource_groups'] = 'raygpu'
    assert list(check.iter_errors(document))
