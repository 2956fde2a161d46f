"""The cluster that the tests share, emptied before each; without the API server they are skipped:

    from fixtures import cluster, queues, shared_cluster, shared_queues  # noqa: F401"""
import apiserver
import front
import pytest


@pytest.fixture(scope='session')
def shared_cluster():
    if not apiserver.folder():
        pytest.skip(apiserver.NO_SERVER)
    with front.Cluster(front.RAY) as one:
        yield one


@pytest.fixture(scope='session')
def shared_queues(shared_cluster):  # pylint: disable=redefined-outer-name
    """The same with Kueue's kinds, for the rest of the run."""
    shared_cluster.install(*front.KUEUE)
    return shared_cluster


@pytest.fixture
def cluster(shared_cluster):  # pylint: disable=redefined-outer-name
    """With a namespace, ml."""
    shared_cluster.reset()
    shared_cluster.namespace('ml')
    return shared_cluster


@pytest.fixture
def queues(shared_queues, cluster):  # pylint: disable=redefined-outer-name
    """A cluster with Kueue's kinds."""
    assert shared_queues is cluster
    return cluster
