"""Combinations that cannot work, and ones that do: `raygpu validate` finds the former and is silent about the latter.

Each row has its source: a row of the data files (ray_releases, ray_images, cuda_releases, cuda_archs, gpu_models), a
thread of ray-project/ray, or the vendor's documentation. The verdicts were written from these, not from raygpu's output."""
import json
import re
import subprocess

import pytest

from program import ROOT, binary

SPEC = '''cluster: c
provider: {name: aws, region: us-east-1}
ray: {%s}
head: {instance_type: m5.large}
pools:
  p: {%s, nodes: 1}
'''
AMI = 'image: ami-0abcdef1234567890'
T4 = 'accelerators: T4'
CPU = 'instance_type: m5.large'
OWN = 'registry.example.com/team/ray:7'


def ray(version, more='python: "3.11"'):
    """Versions before 2.54.0 have no token authentication, or not everywhere."""
    old = tuple(map(int, version.split('.'))) < (2, 54, 0)
    return f'version: {version}, ' + ('auth: none, ' if old else '') + more


def image(tag, repository='ray'):
    return ray('.'.join(tag.split('-')[0].split('.')[:3]), f'image: "rayproject/{repository}:{tag}"')


def own(version, python=None):
    return ray(version, f'image: "{OWN}"' + (f', python: "{python}"' if python else ''))


def driver(version, pool=T4):
    return f'{pool}, {AMI}, driver: "{version}"'


RDMA = 'instance_type: p4d.24xlarge, network: {rdma: true}'
H200, B200, H100 = ('instance_type: ' + t for t in ('p5en.48xlarge', 'p6-b200.48xlarge', 'p5.48xlarge'))
V100, RTX = 'instance_type: p3dn.24xlarge', 'instance_type: g7e.2xlarge'
A100 = 'instance_type: p4d.24xlarge'

PYPI = "PyPI's releases of ray: src/catalog/data/ray_releases.csv"
TAGS = 'ray_images.csv, and the thread that its row names'
NVIDIA_CUDA = "NVIDIA's CUDA release notes, table 3"
MIG_GUIDE = "NVIDIA's MIG user guide, Deployment Considerations"
ACCELERATORS = "Ray's documentation, Accelerator Support"
PUSH = 'ci/ray_ci/automation of ray-project/ray: the grammar of the tags'

# name, ray, pool, code, whether it is an error, source
PLANTED = [
    # releases
    ('ray 2.52.9', ray('2.52.9'), T4, 'compat.no-such-ray', True, PYPI),
    ('ray 2.15.0', ray('2.15.0'), T4, 'compat.no-such-ray', True, PYPI + ': 2.12 was followed by 2.20'),
    ('ray 2.25.0', ray('2.25.0'), T4, 'compat.no-such-ray', True, PYPI + ': 2.24 was followed by 2.30'),
    ('ray 2.10.1', ray('2.10.1'), T4, 'compat.no-such-ray', True, PYPI),
    ('ray 2.51.3', ray('2.51.3'), T4, 'compat.no-such-ray', True, PYPI),
    ('ray 2.46.1 in a tag', image('2.46.1-py311-cu121'), T4, 'compat.no-such-ray', True, PYPI),
    ('ray 2.52.9 of its own', own('2.52.9'), T4, 'compat.no-such-ray', False, PYPI + '; an own image may have an own build'),
    ('ray 2.99.0', ray('2.99.0'), T4, 'compat.ray-not-listed', False, 'newer than the table'),
    ('ray 3.0.0', ray('3.0.0'), T4, 'compat.ray-not-listed', False, 'newer than the table'),
    ('ray 2.60.3', ray('2.60.3'), T4, 'compat.ray-not-listed', False, 'a patch after the table'),
    ('ray 2.9.3', own('2.9.3'), T4, 'spec.ray-too-old', True, 'ray PR 43189: ray drain-node came with 2.10'),
    ('ray 2.48 without auth', 'version: 2.48.0, python: "3.11"', T4, 'spec.ray-too-old', True,
     "Ray's documentation, Token authentication: since 2.52.0"),
    ('a token on ray 2.52', 'version: 2.52.1, python: "3.11"', T4, 'compat.open-agent', False,
     'tried: port 52365 of 2.52.0 runs jobs without a token; of 2.60.0 it does not'),
    ('a token on ray 2.53', 'version: 2.53.0, python: "3.11"', T4, 'compat.open-agent', False, 'dashboard/http_server_agent.py of 2.53.0 and 2.54.0'),
    ('labels on ray 2.48', ray('2.48.0'), T4 + ', labels: {tier: gold}', 'compat.ray-feature', False,
     "Ray's documentation, Use labels to control scheduling: since 2.49.0"),
    # Python
    ('3.14 wheel of 2.54', own('2.54.1', '3.14'), T4, 'compat.ray-python', True, PYPI),
    ('3.14 image of 2.60', ray('2.60.0', 'python: "3.14"'), T4, 'compat.ray-python', False, 'ray PR 63237 was open in 2026-07'),
    ('3.9 since 2.52', ray('2.52.0', 'python: "3.9"'), T4, 'compat.ray-python', True, 'ray PR 58374'),
    ('3.9 in a tag', image('2.52.0-py39-cu121'), T4, 'compat.ray-python', True, 'ray PR 58374'),
    ('3.9 of an own image', own('2.58.0', '3.9'), T4, 'compat.ray-python', True, 'ray PR 58374'),
    ('3.13 image of 2.48', image('2.48.0-py313-cu121'), T4, 'compat.ray-python', True, 'ray PR 58581: images since 2.52'),
    ('3.13 wheel of 2.44', own('2.44.0', '3.13'), T4, 'compat.ray-python', True, 'ray PR 52593: wheels since 2.45'),
    ('3.12 image of 2.30', image('2.30.0-py312-cu121'), T4, 'compat.ray-python', True, 'ray issue 45904'),
    ('3.12 wheel of 2.10', own('2.10.0', '3.12'), T4, 'compat.ray-python', True, 'ray PR 45621'),
    ('3.8 image of 2.20', image('2.20.0-py38-cu121'), T4, 'compat.ray-python', True, 'PyPI: 2.10 is the last for 3.8'),
    ('ray-llm 2.52 for 3.12', image('2.52.0-py312-cu128', 'ray-llm'), T4, 'compat.ray-python', True, TAGS),
    ('ray-llm 2.58 for 3.10', image('2.58.0-py310-cu130', 'ray-llm'), T4, 'compat.ray-python', True, TAGS),
    ('ray-ml for 3.12', image('2.30.0-py312-cu121', 'ray-ml'), T4, 'compat.ray-python', True, 'ray issue 46378'),
    # images that nobody published
    ('cu130 of 2.52', image('2.52.0-py311-cu130'), T4, 'compat.no-image', True, 'ray PR 63972'),
    ('cu130 of 2.56', image('2.56.1-py311-cu130'), T4, 'compat.no-image', True, 'NovaSky-AI/SkyRL PR 2040'),
    ('cu129 of 2.52', image('2.52.0-py311-cu129'), T4, 'compat.no-image', True, 'ray PR 59248 of 2025-12-08'),
    ('cu124 of 2.40', image('2.40.0-py311-cu124'), T4, 'compat.no-image', True, 'ray PR 50005 of 2025-01-22'),
    ('cu128 of 2.42', image('2.42.1-py311-cu128'), T4, 'compat.no-image', True, 'ray PR 51210 of 2025-03-10'),
    ('cu124 of 2.30', image('2.30.0-py311-cu124'), T4, 'compat.no-image', True, TAGS),
    ('cu115 of 2.58', image('2.58.0-py311-cu115'), T4, 'compat.no-image', True, 'ray-images.yaml 216fff38'),
    ('cu127', image('2.52.0-py311-cu127'), T4, 'compat.no-image', True, NVIDIA_CUDA + ': no CUDA 12.7'),
    ('ray-llm for cu121', image('2.52.0-py311-cu121', 'ray-llm'), T4, 'compat.no-image', True, TAGS),
    ('ray-llm without CUDA', image('2.54.0-py311-cpu', 'ray-llm'), CPU, 'compat.no-image', True, 'ray-images.yaml 216fff38'),
    ('ray-llm 2.40', image('2.40.0-py311-cu124', 'ray-llm'), T4, 'compat.no-image', True, TAGS),
    ('ray-llm for arm64', image('2.58.0-py312-cu130-aarch64', 'ray-llm'), T4, 'compat.no-image', True, 'ray-images.yaml'),
    ('ray-ml 2.52', image('2.52.0-py311-gpu', 'ray-ml'), T4, 'compat.no-image', True, 'ray PR 57070'),
    ('ray-ml 2.44 without .deprecated', image('2.44.0-py311-cu121', 'ray-ml'), T4, 'compat.no-image', True, 'ray PR 65388'),
    ('ray-ml with a commit', image('2.46.0.0e19ea-py311-cu121', 'ray-ml'), T4, 'compat.old-image', False, 'kuberay PR 5129'),
    ('ray-ml 2.49.2', image('2.49.2.deprecated-py311-cu121', 'ray-ml'), T4, 'compat.old-image', False, 'ray issue 46378'),
    ('ray, deprecated', image('2.52.0.deprecated-py311-cu121'), T4, 'compat.no-image', True, PUSH),
    # what a tag says
    ('-gpu', image('2.52.0-py311-gpu'), T4, 'compat.moving-tag', False, PUSH),
    ('latest', ray('2.52.0', 'image: "rayproject/ray:latest-py311-cu121"'), T4, 'spec.bad-value', True, PUSH),
    ('nightly', ray('2.52.0', 'image: "rayproject/ray:nightly-py311-cu121"'), T4, 'spec.bad-value', True, PUSH),
    ('another ray in the tag', ray('2.53.0', 'image: "rayproject/ray:2.52.0-py311-cu121"'), T4,
     'spec.ray-image-mismatch', True, PUSH),
    ('another Python in the tag', ray('2.52.0', 'python: "3.12", image: "rayproject/ray:2.52.0-py311-cu121"'), T4,
     'spec.ray-image-mismatch', True, PUSH),
    ('-cpu with GPUs', image('2.52.0-py311-cpu'), T4, 'compat.cpu-image', False, 'docker/README.md of ray-project/ray'),
    ('no platform with GPUs', image('2.52.0-py311'), T4, 'compat.cpu-image', False, 'docker/README.md of ray-project/ray'),
    ('-tpu with GPUs', image('2.55.0-py311-tpu'), T4, 'compat.cpu-image', False, 'ray-images.yaml 216fff38'),
    # hosts
    ('arm host', image('2.52.0-py311-cu121'), f'instance_type: g5g.xlarge, {AMI}', 'compat.host-arch', True, PUSH),
    ('arm image', image('2.52.0-py311-cu121-aarch64'), T4, 'compat.host-arch', True, PUSH),
    # GPU and CUDA
    ('V100 and CUDA 13', image('2.58.0-py311-cu130'), V100, 'compat.gpu-dropped', True, 'cuda_archs.csv: Volta ends with 12.9'),
    ('V100 and driver 595', image('2.58.0-py311-cu121'), driver('595.58.03', V100), 'compat.gpu-dropped', True,
     "NVIDIA's driver branches: R580 is the last for Volta"),
    ('B200 and CUDA 12.1', image('2.52.0-py311-cu121'), B200, 'compat.gpu-too-new', False, 'CUDA 12.8 release notes: sm_100'),
    ('RTX PRO and CUDA 12.6', image('2.52.0-py311-cu126'), RTX, 'compat.gpu-too-new', False, 'CUDA 12.8 release notes: sm_120'),
    ('B200 and ray 2.42', ray('2.42.0'), B200, 'compat.gpu-too-new', False, 'ray PR 51210: no image with CUDA 12.8'),
    # drivers
    ('driver 470, CUDA 12.9', image('2.53.0-py311-cu129'), driver('470.82.01'), 'compat.driver-too-old', True, NVIDIA_CUDA),
    ('driver 550, CUDA 12.9', image('2.53.0-py311-cu129'), driver('550.54.15'), 'compat.driver-too-old', False,
     "NVIDIA's minor version compatibility"),
    ('driver 570, CUDA 13', image('2.58.0-py311-cu130'), driver('570.195.03'), 'compat.driver-too-old', True,
     "NVIDIA's minor version compatibility: 13.x from 580"),
    ('H100 and driver 470', own('2.52.0'), driver('470.82.01', H100), 'compat.driver-too-old', True, 'gpu_models.csv'),
    ('L4 and driver 515', own('2.52.0'), driver('515.48.07', 'accelerators: L4'), 'compat.driver-too-old', True, 'gpu_models.csv'),
    ('B200 and driver 565', own('2.52.0'), driver('565.57.01', B200), 'compat.driver-too-old', True, 'gpu_models.csv'),
    # MIG
    ('H200, MIG, driver 535', ray('2.52.0'), driver('535.161.07', H200 + ', share: {mig: 1g.18gb}'), 'compat.driver-too-old',
     True, MIG_GUIDE + ': H200 from 550.90.07'),
    ('A100, MIG, driver 450.36', own('2.52.0'), driver('450.36.06', A100 + ', share: {mig: 1g.5gb}'), 'compat.driver-too-old',
     True, MIG_GUIDE + ': A100 from 450.80.02'),
    ('RTX PRO, MIG, driver 570', own('2.52.0'), driver('570.133.20', RTX + ', share: {mig: 2g.48gb}'), 'compat.driver-too-old',
     True, MIG_GUIDE + ': RTX PRO 6000 from 575.51.03'),
    ('mixed slices', ray('2.52.0'), A100 + ', share: {mig: [3g.20gb, 2g.10gb, 1g.5gb]}', 'compat.mixed-slices', False,
     'ray-project/ray issues 12413 and 41092'),
    ('MIG on a T4', ray('2.52.0'), T4 + ', share: {mig: 1g.5gb}', 'fit.mig-unsupported', True, MIG_GUIDE),
    # RDMA
    ('RDMA, no -extra', image('2.52.0-py311-cu121'), RDMA, 'topology.rdma-image', False, 'docker/base-extra of ray-project/ray'),
    ('RDMA, default image', ray('2.52.0'), RDMA, 'topology.rdma-image', False, 'docker/base-extra of ray-project/ray'),
    # accelerators of others
    ('MI300X', ray('2.52.0'), 'accelerators: "MI300X:8"', 'catalog.unsupported-accelerator', True, ACCELERATORS),
    ('AMD-Instinct-MI250X', ray('2.52.0'), 'accelerators: AMD-Instinct-MI250X', 'catalog.unsupported-accelerator', True,
     ACCELERATORS),
    ('Gaudi2', ray('2.52.0'), 'accelerators: "Gaudi2:8"', 'catalog.unsupported-accelerator', True, ACCELERATORS),
    ('TPU-V4', ray('2.52.0'), 'accelerators: TPU-V4', 'catalog.unsupported-accelerator', True, ACCELERATORS),
    ('tpu-v5litepod-8', ray('2.52.0'), 'accelerators: tpu-v5litepod-8', 'catalog.unsupported-accelerator', True, ACCELERATORS),
    ('Trainium2', ray('2.52.0'), 'accelerators: "Trainium2:16"', 'catalog.unsupported-accelerator', True, ACCELERATORS),
    ('Inferentia', ray('2.52.0'), 'accelerators: Inferentia', 'catalog.unsupported-accelerator', True, ACCELERATORS),
    ('trn1.32xlarge', ray('2.52.0'), 'instance_type: trn1.32xlarge', 'catalog.unsupported-accelerator', True, ACCELERATORS),
    ('dl1.24xlarge', ray('2.52.0'), 'instance_type: dl1.24xlarge', 'fit.gpu-not-supported', True, ACCELERATORS),
    ('g4ad.xlarge', ray('2.52.0'), 'instance_type: g4ad.xlarge', 'fit.gpu-not-supported', True, ACCELERATORS),
]

# name, ray, pool, source
GOOD = [
    *((f'ray {v}', ray(v), T4, PYPI) for v in (
        '2.60.0', '2.59.0', '2.58.1', '2.57.0', '2.56.1', '2.56.0', '2.55.1', '2.54.1', '2.53.0', '2.52.1', '2.52.0', '2.51.2', '2.50.1',
        '2.49.2', '2.48.0', '2.47.1', '2.46.0', '2.44.1', '2.43.0', '2.42.1', '2.40.0', '2.36.1', '2.31.0', '2.30.0',
        '2.24.0', '2.20.0', '2.12.0', '2.10.0')),
    ('3.13', ray('2.58.0', 'python: "3.13"'), T4, 'ray PR 58581'),
    ('3.14 wheel of 2.55', own('2.55.0', '3.14'), T4, PYPI),
    ('3.10', ray('2.55.0', 'python: "3.10"'), T4, 'ray PR 58570'),
    ('3.12 of 2.31', ray('2.31.0', 'python: "3.12"'), T4, 'ray issue 45904'),
    ('3.9 of 2.51', ray('2.51.1', 'python: "3.9"'), T4, 'ray PR 58374: until 2.51'),
    ('3.13 wheel of 2.50', own('2.50.0', '3.13'), T4, 'ray PR 52593'),
    ('3.8 wheel of 2.10', own('2.10.0', '3.8'), T4, 'PyPI: 2.10 is the last for 3.8'),
    *((f'ray-llm {tag}', image(tag, 'ray-llm'), T4, 'the tag is used in public repositories') for tag in (
        '2.43.0-py311-cu124', '2.44.1-py311-cu124', '2.46.0-py311-cu124', '2.49.1-py311-cu128', '2.51.0-py311-cu128',
        '2.52.0-py311-cu128', '2.53.0-extra-py311-cu128', '2.54.0-extra-py311-cu128', '2.55.0-py311-cu128',
        '2.56.0-py312-cu130', '2.56.1-py312-cu130', '2.57.0-py312-cu130', '2.58.0-py312-cu130', '2.58.0-py312')),
    ('ray-ml 2.10.0', image('2.10.0-py310-cu118', 'ray-ml'), T4, 'ray issue 46378: plain tags until 2.30'),
    ('ray-ml 2.30.0', image('2.30.0-py311', 'ray-ml'), T4, 'docker/ray-ml/README.md: no platform is -gpu'),
    *((f'ray {tag}', image(tag), pool, TAGS) for tag, pool in (
        ('2.52.0-py311-cu118', T4), ('2.45.0-py311-cu126', 'accelerators: L4'), ('2.43.0-py311-cu128', T4),
        ('2.42.0-py311-cu124', T4), ('2.53.0-py312-cu129', 'accelerators: "A100:8"'),
        ('2.57.0-py312-cu130', driver('580.95.05', H100)), ('2.58.0-py311-cu130', driver('580.65.06')),
        ('2.52.0-py311', CPU), ('2.52.0-py311-cpu', CPU), ('2.46.0.0e19ea-py311-cu121', T4))),
    ('mirror', ray('2.52.0', 'image: "mirror.example.com/hub/rayproject/ray:2.52.0-py311-cu121"'), T4, TAGS),
    ('digest', ray('2.52.0', 'image: "rayproject/ray@sha256:' + 64 * 'a' + '"'), T4, 'its contents are unknown'),
    ('own image', own('2.52.0'), T4, 'its contents are unknown'),
    ('one nightly build', ray('2.52.0', 'image: "rayproject/ray:nightly.250930.0e19ea-py311-cu121"'), T4, PUSH),
    ('labels on ray 2.49', ray('2.49.0'), T4 + ', labels: {tier: gold}', "Ray's documentation: labels since 2.49.0"),
    # GPUs
    ('B200, default image', ray('2.52.0'), B200, 'CUDA 12.8 release notes: sm_100; -cu128 exists'),
    ('RTX PRO, default image', ray('2.45.0'), RTX, 'CUDA 12.8 release notes: sm_120; -cu128 exists'),
    ('B200, CUDA 12.9', image('2.55.1-py312-cu129'), driver('575.57.08', B200), NVIDIA_CUDA),
    ('B200, driver 570', image('2.52.0-py311-cu128'), driver('570.133.20', B200), NVIDIA_CUDA),
    ('V100, default image', ray('2.58.0'), V100, 'cuda_archs.csv: until CUDA 12.9'),
    ('V100, CUDA 12.9, driver 580', image('2.55.1-py312-cu129'), driver('580.95.05', V100), 'R580 is the last for Volta'),
    ('H100, driver 535', image('2.52.0-py311-cu121'), driver('535.104.05', H100), NVIDIA_CUDA),
    ('T4, driver 530', ray('2.52.0'), driver('530.30.02'), NVIDIA_CUDA),
    ('A10G', ray('2.52.0'), 'accelerators: A10G', 'gpu_models.csv'),
    ('L40S', ray('2.52.0'), 'accelerators: L40S', 'gpu_models.csv'),
    # sharing and network
    ('A100, MIG, driver 535', ray('2.52.0'), driver('535.104.05', A100 + ', share: {mig: 1g.5gb}'), MIG_GUIDE),
    ('H200, MIG, driver 550', ray('2.52.0'), driver('550.90.07', H200 + ', share: {mig: 1g.18gb}'), MIG_GUIDE),
    ('RTX PRO, MIG, driver 580', ray('2.52.0'), driver('580.95.05', RTX + ', share: {mig: 2g.48gb}'), MIG_GUIDE),
    ('equal slices', ray('2.52.0'), A100 + ', share: {mig: [3g.20gb, 3g.20gb]}', 'one profile'),
    ('time slices', ray('2.52.0'), T4 + ', share: {time_slices: 4}', 'no MIG'),
    ('RDMA with -extra', image('2.52.0-extra-py311-cu121'), RDMA, 'docker/base-extra of ray-project/ray'),
    ('RDMA, own image', own('2.52.0'), RDMA, 'its contents are unknown'),
]


def validate(folder, ray_text, pool):
    """Exit code and {code: severity} of what `raygpu validate` finds."""
    spec = folder / 'c.yaml'
    spec.write_text(SPEC % (ray_text, pool))
    done = subprocess.run([binary(), 'validate', str(spec), '--json'], capture_output=True, text=True, timeout=60, check=False)
    found = json.loads(done.stdout)['diagnostics']
    return done.returncode, {d['code']: d['severity'] for d in found}, done.stdout


def test_the_table_is_large_enough_and_has_each_row_once():
    for table in (PLANTED, GOOD):
        assert len(table) >= 60
        assert len({row[0] for row in table}) == len(table)
        assert len({row[1:3] for row in table}) == len(table)


@pytest.mark.parametrize('name, ray_text, pool, code, is_error, source', PLANTED, ids=[row[0] for row in PLANTED])
def test_a_planted_fault_is_found(tmp_path, name, ray_text, pool, code, is_error, source):
    assert name and source
    exit_code, found, out = validate(tmp_path, ray_text, pool)
    assert found.get(code) == ('error' if is_error else 'warning'), out
    assert exit_code == (4 if is_error else 0), out


@pytest.mark.parametrize('name, ray_text, pool, source', GOOD, ids=[row[0] for row in GOOD])
def test_a_good_spec_is_silent(tmp_path, name, ray_text, pool, source):
    assert name and source
    exit_code, found, out = validate(tmp_path, ray_text, pool)
    assert (exit_code, found) == (0, {}), out


def test_what_raygpu_proposes_is_one_ray_without_a_known_fault(tmp_path):
    default = re.search('#define DEFAULT_RAY "(.*)"', (ROOT / 'src/convert/image.c').read_text())[1]
    named = {version for path in [*ROOT.glob('examples/**/*.yaml'), *ROOT.glob('providers/*/starter.yaml')]
             for version in re.findall(r'^(?:ray: \{|  )version: ([0-9.]+)', path.read_text(), re.M)}
    assert named == {default}
    assert validate(tmp_path, f'version: {default}, python: "3.11"', T4)[:2] == (0, {})
