"""What a plan says when it cannot log in to the cluster, or may not: as recorded in tests/golden/kubernetes/login.txt.
RAYGPU_UPDATE_GOLDEN=1 rewrites it; review the difference."""
import os
import re

import apiserver
from kube_spec import spec
from program import ROOT

GOLDEN = ROOT / 'tests/golden/kubernetes/login.txt'
OLD = '#!/bin/sh\necho \'{"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential", "status": {"token": "x"}}\'\n'
EXPIRED = '20250101000000Z', '20250201000000Z'


def plug_in(command):
    return {'exec': {'apiVersion': 'client.authentication.k8s.io/v1', 'command': command, 'interactiveMode': 'Never',
                     'installHint': 'install it with your package manager'}}


def expired(cluster, folder):
    """A client certificate of the cluster's authority that ended in 2025."""
    path = os.path.join(folder, 'expired')
    ca = os.path.join(folder, 'ca-of-old')
    os.makedirs(ca)
    with open(os.path.join(ca, 'config'), 'w', encoding='utf-8') as file:
        file.write(f'[ca]\ndefault_ca = d\n[d]\nnew_certs_dir = {ca}\ndatabase = {ca}/index\nserial = {ca}/serial\n'
                   'default_md = sha256\npolicy = p\n[p]\ncommonName = supplied\n')
    for name, text in (('index', ''), ('serial', '01\n')):
        with open(os.path.join(ca, name), 'w', encoding='utf-8') as file:
            file.write(text)
    apiserver.openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', path + '.key', '-out', path + '.csr', '-subj', '/CN=old')
    apiserver.openssl('ca', '-batch', '-notext', '-config', os.path.join(ca, 'config'), '-cert', cluster.ca + '.crt', '-keyfile', cluster.ca + '.key',
                      '-startdate', EXPIRED[0], '-enddate', EXPIRED[1], '-in', path + '.csr', '-out', path + '.crt')
    return {'client-certificate': path + '.crt', 'client-key': path + '.key'}


def test_what_is_refused_before_anything_is_read(cluster, home, tmp_path):
    plain = spec({'train': 1})
    prints_old = home.write('prints-v1beta1', OLD)
    os.chmod(prints_old, 0o755)
    other = apiserver.authority(str(tmp_path), 'other-ca') + '.crt'
    cases = {
        'a context that the kubeconfig does not have': ({}, spec({'train': 1}, provider='context: nope')),
        'a plug-in that is not installed': ({'user': plug_in('aws-iam-authenticator-of-nobody')}, plain),
        'a plug-in that prints v1beta1 for v1': ({'user': plug_in(prints_old)}, plain),
        "a certificate authority that is not the cluster's": ({'certificate-authority': other}, plain),
        'a client certificate that has expired': ({'user': expired(cluster, str(tmp_path))}, plain),
        'a token that the cluster does not accept': ({'user': {'token': 'refused'}}, plain),
        'a budget in money without prices': ({}, plain + 'budget: {hourly_usd: 10}\n')}
    parts = []
    for what, (settings, text) in cases.items():
        cluster.kubeconfig(home.path('kubeconfig'), namespace='ml', **settings)
        home.write('cluster.yaml', text)
        result = home.run('plan', 'cluster.yaml', code=None, env={'RAYGPU_ALLOW_PROFILES': 'nope'})
        assert result.code not in (0, 2), (what, result)
        # where the lines end depends on the folder's name
        said = re.sub(r'127\.0\.0\.1:\d+', 'SERVER', ' '.join(result.err.split()).replace(str(home.folder), 'HOME'))
        said = re.sub(r'\b\d+ tr(y|ies)\b', 'some tries', said)
        said = re.sub(r' (?=(Error|Warning|Note|hint): )', '\n', said) + '\n'
        parts.append(f'--- {what}: exit code {result.code}\n{said}')
    text = '\n'.join(parts)
    if os.environ.get('RAYGPU_UPDATE_GOLDEN'):
        GOLDEN.write_text(text, encoding='utf-8')
    assert text == GOLDEN.read_text(encoding='utf-8')
    assert [one for one in cluster.requests if one.writes] == []
