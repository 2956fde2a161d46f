#!/usr/bin/python3
"""A Kubernetes cluster on this machine, for examples/quickstart.sh: the real API server of custom resources, KubeRay and nodes with GPUs
as far as a client sees them. Writes KUBECONFIG when it can be used, and runs until it is terminated.

    serve.py KUBECONFIG NAMESPACE"""
import os
import signal
import sys
import threading

import apiserver
import front
from controllers import Controllers
from kuberay import KubeRay
from nodes import Nodes, gpu_node

GPUS = (('NVIDIA-A100-SXM4-40GB', 8, 2), ('Tesla-V100-SXM3-32GB', 8, 2), ('Tesla-T4', 1, 3))


def main(path, namespace):
    if not apiserver.folder():
        sys.exit('not built: run tests/kube/build.sh')
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    signal.signal(signal.SIGINT, lambda *_: ended.set())
    with front.Cluster(front.RAY) as cluster, Controllers(cluster, Nodes(), KubeRay()):
        cluster.namespace(namespace)
        gpu_node(cluster, 'cpu')
        for model, gpus, count in GPUS:
            for number in range(count):
                gpu_node(cluster, f'{model.lower()}-{number}', model, gpus, cpu=96, memory='1Ti')
        cluster.kubeconfig(path + '.new', namespace=namespace)
        os.rename(path + '.new', path)
        ended.wait()


if __name__ == '__main__':
    main(*sys.argv[1:])
