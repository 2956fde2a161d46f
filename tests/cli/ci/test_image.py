"""The recipe of the container image. With --long it is built and run by Docker or podman, and its steps are done as shell in a
bare Debian, without a container: build, then the packages of its last stage only, then raygpu as its user."""
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from examples import CI, text_of
from program import ROOT

sys.path[:0] = [str(ROOT / 'tests/hosts'), str(ROOT / 'tests/cli/boot')]
from own_docker import docker_engine, import_debian  # noqa: E402

BASE = 'debian:bookworm-slim'


@pytest.fixture(scope='module')
def docker(tmp_path_factory):
    """The program, docker or podman, its environment, and options of a build. The machine's own if it can run containers; else a Docker
    Engine of this test, with a Debian from debootstrap instead of one from a registry."""
    for name in ('docker', 'podman'):
        if shutil.which(name) and subprocess.run([name, 'info'], capture_output=True, check=False).returncode == 0:
            base = os.environ.get('RAYGPU_TEST_BASE')
            yield name, dict(os.environ), [*(['--build-arg', f'BASE={base}'] if base else []),
                                           *(['--network', 'host'] if os.environ.get('RAYGPU_TEST_NETWORK') else [])]
            return
    folder = tmp_path_factory.mktemp('docker')
    with docker_engine(folder) as env:
        import_debian(folder, env, BASE)
        yield 'docker', {**env, 'DOCKER_BUILDKIT': '0'}, ['--network', 'host']  # BuildKit has no network without a bridge


def stages():
    """The instructions of each stage: [(name, text)]."""
    text = re.sub(r'\\\n\s*', '', re.sub(r'^#.*\n', '', text_of(CI / 'Dockerfile'), flags=re.M))
    return [[tuple(line.split(' ', 1)) for line in stage.split('\n') if ' ' in line] for stage in text.split('\nFROM ')]


def test_the_image_is_small_and_has_no_root():
    _, build, image = stages()
    assert build[0] == ('${BASE}', 'AS build') and ('COPY', '--from=build /out /') in image
    names = [name for name, _ in image]
    assert names.index('USER') > max(at for at, name in enumerate(names) if name == 'RUN') and ('USER', 'raygpu') in image
    assert not [rest for name, rest in image if name == 'RUN' and '-dev' in rest]


@pytest.mark.skipif(not os.environ.get('RAYGPU_LONG'), reason='minutes: with --long')
def test_the_image_is_built_and_runs(tmp_path, docker):
    """RAYGPU_TEST_BASE: an image of the machine's own engine instead of debian:bookworm-slim."""
    program, env, options = docker
    base = next((option.split('=')[1] for option in options if option.startswith('BASE=')), BASE)
    made = subprocess.run([program, 'build', '-q', *options, '-f', str(CI / 'Dockerfile'), str(ROOT)], env=env, capture_output=True, text=True,
                          check=False)
    if made.returncode and re.search('pull|manifest|registry|no such host|dial tcp', made.stderr) and base == BASE:
        pytest.skip('the base image cannot be downloaded: ' + made.stderr.strip()[-200:])
    assert made.returncode == 0, made.stdout[-4000:] + made.stderr[-4000:]
    image = made.stdout.strip().split('\n')[-1]

    def look(name):
        return json.loads(subprocess.run([program, 'image', 'inspect', name], env=env, check=True, capture_output=True, text=True).stdout)[0]

    about, more = look(image), look(image)['Size'] - look(base)['Size']
    print('bytes more than the base:', more)
    assert about['Config']['User'] == 'raygpu' and more < 250e6
    (tmp_path / 'cluster.yaml').write_text(text_of(ROOT / 'examples/minimal.yaml'))
    tmp_path.chmod(0o755)  # its user is another one
    said = subprocess.run([program, 'run', '--rm', '--network', 'none', '-v', f'{tmp_path}:/work:ro', image, 'sh', '-c',
                           'id -un && raygpu validate cluster.yaml && raygpu providers list && git --version && jq --version'],
                          env=env, capture_output=True, text=True, check=False)
    assert said.returncode == 0 and said.stdout.startswith('raygpu\n') and 'is valid' in said.stdout + said.stderr, said


@pytest.mark.skipif(not os.environ.get('RAYGPU_LONG'), reason='minutes: with --long')
def test_its_steps_work_in_a_bare_debian():
    _, build, image = stages()
    folder = next(rest for name, rest in build if name == 'WORKDIR')
    first = '\n'.join(rest for name, rest in build if name == 'RUN')
    last = '\n'.join(rest for name, rest in image if name == 'RUN')
    script = f'''set -eux
cp -a . {folder}
cd {folder}
{first}
# no library of the first stage may help
apt-mark auto $(apt-mark showmanual | grep -e '-dev$') > /dev/null
apt-get purge -y --autoremove gcc meson ninja-build $(dpkg-query -W -f '${{Package}}\\n' | grep -e '-dev$') > /dev/null
rm -rf {folder}
{last}
cp -a /out/. /
setpriv --reuid=raygpu --regid=raygpu --clear-groups env HOME=/home/raygpu sh -euxc '
  cd && raygpu version && raygpu init && raygpu validate cluster.yaml && raygpu providers list
  raygpu state list --state postgres://127.0.0.1:1/none || [ $? = 1 ]
  git --version && jq --version && curl --version > /dev/null'
'''
    done = subprocess.run([str(ROOT / 'tests/quickstart/bare-debian.sh'), 'bash', '-c', script], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    assert 'built-in' in done.stdout + done.stderr and 'is valid' in done.stdout + done.stderr
