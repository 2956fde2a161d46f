"""What programs under test get of the environment in which the tests are started: what they cannot do without. Proxies, credentials,
folders and settings of the person who runs the tests decide nothing."""
import os

NAMES = ('PATH', 'LANG', 'TMPDIR', 'LD_LIBRARY_PATH', 'MALLOC_PERTURB_')


def inherited(**more):
    return {**{name: value for name, value in os.environ.items() if name in NAMES or name.endswith('SAN_OPTIONS')}, **more}
