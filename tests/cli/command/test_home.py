"""The user's folder of the tests: nothing of the environment in which the tests are started reaches raygpu."""
from program import Home
from sim_server import Sim


def test_the_callers_environment_decides_nothing(tmp_path, monkeypatch):
    for name in ('https_proxy', 'AWS_PROFILE', 'GIT_DIR', 'KUBECONFIG', 'XDG_CACHE_HOME', 'TZ', 'RAYGPU_STATE', 'SSL_CERT_FILE'):
        monkeypatch.setenv(name, 'of the caller')
    with Sim() as sim:
        home = Home(tmp_path, sim.env())
        assert 'of the caller' not in home.env.values() and home.env['PATH'] and home.env['HOME'] == str(tmp_path)
