"""The fixtures of ssh_rack.py; the module has a name of its own, because tests of other folders import their conftest, too."""
from ssh_rack import alone, home, hosts, rack  # noqa: F401  pylint: disable=unused-import
