"""Fixtures of the tests beside it."""
from fixtures import cluster, queues, shared_cluster, shared_queues  # noqa: F401
