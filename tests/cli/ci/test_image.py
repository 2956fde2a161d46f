"""The recipe of the container image. With Docker or podman it is built and run. With --long, its steps are also done as shell in a
bare Debian, without a container: build, then the packages of its last stage only, then raygpu as its user."""
import json
import os
import re
import shutil
import subprocess

import pytest
from examples import CI, text_of
from program import ROOT


def engine():
    """docker or podman, if it can run containers here."""
    return next((name for name in ('docker', 'podman') if shutil.which(name) and
                 subprocess.run([name, 'info'], capture_output=True, check=False).returncode == 0), None)


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


@pytest.mark.skipif(not engine(), reason='neither Docker nor podman runs containers here')
def test_the_image_is_built_and_runs(tmp_path):
    """RAYGPU_TEST_BASE: a local image instead of debian:bookworm-slim, for machines without a registry."""
    run, base = engine(), os.environ.get('RAYGPU_TEST_BASE')
    made = subprocess.run([run, 'build', '-q', *(['--build-arg', f'BASE={base}'] if base else []),
                           *(['--network', 'host'] if os.environ.get('RAYGPU_TEST_NETWORK') else []),
                           '-f', str(CI / 'Dockerfile'), str(ROOT)], capture_output=True, text=True, check=False)
    if made.returncode and re.search('pull|manifest|registry|no such host|dial tcp', made.stderr) and not base:
        pytest.skip('the base image cannot be downloaded: ' + made.stderr.strip()[-200:])
    assert made.returncode == 0, made.stderr[-4000:]
    image = made.stdout.strip().split('\n')[-1]
    about = json.loads(subprocess.run([run, 'image', 'inspect', image], check=True, capture_output=True, text=True).stdout)[0]
    below = json.loads(subprocess.run([run, 'image', 'inspect', base or 'debian:bookworm-slim'], check=True, capture_output=True,
                                      text=True).stdout)[0]
    print('bytes more than the base:', about['Size'] - below['Size'])
    assert about['Config']['User'] == 'raygpu' and about['Size'] - below['Size'] < 250e6
    (tmp_path / 'cluster.yaml').write_text(text_of(ROOT / 'examples/minimal.yaml'))
    said = subprocess.run([run, 'run', '--rm', '--network', 'none', '-v', f'{tmp_path}:/work:ro', image, 'sh', '-c',
                           'id -un && raygpu validate cluster.yaml && raygpu providers list && git --version && jq --version'],
                          capture_output=True, text=True, check=False)
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
