"""What goes wrong in a cluster: raygpu says what, by its name, and nothing is left behind or made twice."""
from kube_spec import spec


def failed(home, *words, code=None):
    """Everything that a command says as it fails, without its line ends."""
    result = home.run(*words, code=code)
    assert result.code not in (0, None), result
    return ' '.join((result.out + result.err).split())


def apply(home, text, code=None):
    home.write('cluster.yaml', text)
    return failed(home, 'apply', 'cluster.yaml', '--auto-approve', code=code)


def test_the_operator_is_missing(cluster, home):
    """404 page not found, in plain text."""
    cluster.uninstall('RayCluster')
    try:
        said = apply(home, spec(), code=1)
        assert 'the cluster has no API ray.io/v1: the KubeRay operator is not installed' in said and 'helm install kuberay-operator' in said
        assert cluster.counts(writes=True) == {}
    finally:
        cluster.install('RayCluster')


def test_the_namespace_is_terminating(cluster, home):
    cluster.patch('Namespace', {'status': {'phase': 'Terminating'}}, None, 'ml', 'status')
    assert 'because it is being terminated' in apply(home, spec())


def test_quota_of_the_namespace(cluster, world, home):
    cluster.create('ResourceQuota', {'metadata': {'name': 'gpus'}, 'spec': {'hard': {'requests.nvidia.com/gpu': '1'}}}, 'ml')
    home.write('cluster.yaml', spec())
    assert 'exceeded quota: gpus' in failed(home, 'apply', 'cluster.yaml', '--auto-approve')


def test_the_api_server_restarts(cluster, world, home):
    """In mid-apply, after the Secret."""
    done = []

    def restart(_):
        if not done:
            done.append(1)
            cluster.api.restart()
            cluster.until_served()

    cluster.rule(verb='create', resource='rayclusters', dry=False, before=restart)
    home.write('cluster.yaml', spec())
    home.apply()
    assert done and [len(cluster.list(kind, 'ml')) for kind in ('RayCluster', 'Secret')] == [1, 1]


def test_the_token_expires_in_mid_apply(cluster, world, home):
    """401 once more with what the token file has now."""
    token = home.write('token', 'first')
    cluster.tokens = {'first'}
    cluster.kubeconfig(home.path('kubeconfig'), namespace='ml', user={'tokenFile': token})

    def expire(_):
        home.write('token', 'second')
        cluster.tokens = {'second'}

    cluster.rule(verb='create', resource='rayclusters', dry=False, before=expire)
    home.write('cluster.yaml', spec())
    home.apply()
    assert 401 in [one.status for one in cluster.requests]
    assert [len(cluster.list(kind, 'ml')) for kind in ('RayCluster', 'Secret')] == [1, 1]


def test_a_token_that_is_refused(cluster, home):
    cluster.tokens = {'another'}
    apply(home, spec(), code=7)
