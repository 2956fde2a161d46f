"""Fixtures: a Compute Engine per test, whose machines start and stop immediately, and a user's folder that uses it."""
import os

import pytest
from gce_server import PROJECT, Gce, gce_env
from iam_policy import read_log
from program import Home


@pytest.fixture
def gce():
    with Gce('--boot-ms', '0', '--shutdown-ms', '0') as server:
        server.knobs(permission_log=os.path.join(server.folder, 'permissions'))
        yield server


def roles_of(home):
    """The permissions of the roles that `raygpu iam` prints for all specs of a test; faulty ones have none."""
    permissions, path = set(), home.path('of-iam.yaml')
    for text in dict.fromkeys(home.specs):
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
        for task in ('apply', 'import', 'rebuild'):
            said = home.run('iam', path, '--for', task, '--state', home.path('no-state.db'), code=None)
            if said.code == 0:
                permissions.update(said.json()['includedPermissions'])
    return permissions


@pytest.fixture
def home(tmp_path, gce):
    """What raygpu asked of the cloud must be allowed by the roles that it prints for the specs of the test."""
    home = Home(tmp_path, gce_env(gce, RAYGPU_TEST_NO_WAIT='1'))
    yield home
    needed = {one['permission'] for one in read_log(os.path.join(gce.folder, 'permissions')) if one['project'] == PROJECT}
    granted = roles_of(home) if needed else set()
    assert not granted or needed <= granted, sorted(needed - granted)
