"""Who may decide where signed requests go, and which profile's credentials they carry: not a spec alone."""
import json
import os
import re

import pytest
from program import ROOT, Home, spec

OFFICIAL = ['https://ec2.us-east-1.amazonaws.com', 'https://ec2.us-gov-west-1.amazonaws.com/', 'https://ec2.amazonaws.com',
            'https://ec2-fips.us-west-2.amazonaws.com', 'https://ec2.eu-west-1.api.aws', 'https://ec2.ap-southeast-2.api.aws',
            'https://ec2.cn-north-1.amazonaws.com.cn']
NOT_OFFICIAL = ['http://ec2.us-east-1.amazonaws.com', 'https://ec2.us-east-1.amazonaws.com.evil.example',
                'https://ec2.s3.amazonaws.com', 'https://ec2.s3-us-west-2.amazonaws.com', 'https://ec2.evil.amazonaws.com',
                'https://x.execute-api.us-east-1.amazonaws.com', 'https://ec2.us-east-1.amazonaws.com/evil',
                'https://ec2.us-east-1.amazonaws.com:8443', 'https://evil.example/ec2.us-east-1.amazonaws.com',
                'https://ec2xus-east-1.amazonaws.com', 'https://evil.example']


def with_setting(setting, **more):
    return spec(**more).replace('name: aws,', f'name: aws, {setting},')


def refused(result, setting):
    flat = ' '.join(result.err.split())
    assert f'provider.{setting} ' in flat and 'is not allowed [provider.not-admitted]' in flat, result
    assert 'cluster.yaml:3:' in flat, result


def test_a_spec_sends_no_signed_request_elsewhere(home, thief):
    url, came = thief
    home.write('cluster.yaml', with_setting(f'endpoint: "{url}"'))
    secret = {'AWS_SESSION_TOKEN': 'a-session-token'}
    for command in (['plan'], ['apply', '--auto-approve'], ['drift'], ['destroy', '--auto-approve'], ['state', 'rebuild'],
                    ['import', 'cluster.yaml', 'aws.instance.head', 'i-1']):
        refused(home.run(*command, code=9, env=secret), 'endpoint')
    assert came == []
    # an allowed endpoint gets the requests
    home.run('plan', code=None, env={**secret, 'RAYGPU_ALLOW_ENDPOINTS': f'https://a.example {url}/'})
    assert came[0]['X-Amz-Security-Token'] == 'a-session-token'


@pytest.mark.parametrize('url', NOT_OFFICIAL)
def test_what_looks_like_amazon_is_not_admitted(home, url):
    home.write('cluster.yaml', with_setting(f'endpoint: "{url}"'))
    refused(home.run('plan', code=9), 'endpoint')


def test_amazons_own_endpoints_need_no_admission():
    with open(os.path.join(ROOT, 'providers/aws/schema.json'), encoding='utf-8') as f:
        pattern = re.compile(json.load(f)['config']['properties']['endpoint']['x-raygpu-official'])
    assert all(pattern.search(url) for url in OFFICIAL)


def test_the_project_file_admits(home, sim):
    home.write('cluster.yaml', with_setting(f'endpoint: "{sim.url}"'))
    env = {'AWS_ENDPOINT_URL': ''}
    home.write('raygpu.yaml', 'provider: {allow_endpoints: ["https://a.example", "%s/"]}\n' % sim.url)
    home.run('plan', env=env)
    home.write('raygpu.yaml', 'provider: {allow_endpoints: ["https://a.example"]}\n')
    refused(home.run('plan', code=9, env=env), 'endpoint')


def test_a_branch_admits_nothing_for_itself(home, sim):
    home.write('raygpu.yaml', 'policy: {max_nodes: 100}\n')
    home.write('cluster.yaml', with_setting('public: 1').replace('public: 1, ', ''))
    home.git('init', '-q', '-b', 'main')
    home.git('add', '.')
    home.git('commit', '-qm', 'main')
    home.git('checkout', '-qb', 'topic')
    home.write('raygpu.yaml', f'provider: {{allow_endpoints: ["{sim.url}"], allow_profiles: [ci]}}\n')
    home.write('cluster.yaml', with_setting(f'endpoint: "{sim.url}", profile: ci'))
    home.git('commit', '-qam', 'topic')
    for more in ([], ['--ref', 'topic']):
        result = home.run('plan', '.', '--changed-since', 'main', *more, code=9, env={'AWS_ENDPOINT_URL': ''})
        assert result.err.count('provider.not-admitted') == 2 and 'at main' in ' '.join(result.err.split())
    # once main has it, it counts
    home.git('checkout', '-q', 'main')
    home.write('raygpu.yaml', f'provider: {{allow_endpoints: ["{sim.url}"]}}\n')
    home.git('commit', '-qam', 'admit')
    home.git('checkout', '-q', 'topic')
    home.write('cluster.yaml', with_setting(f'endpoint: "{sim.url}"'))
    home.run('plan', '.', '--changed-since', 'main', env={'AWS_ENDPOINT_URL': ''})


def test_a_spec_runs_no_credential_process(home):
    marker = home.path('ran')
    config = home.write('config', '[profile ci]\ncredential_process = touch ran\n')
    home.write('cluster.yaml', with_setting('profile: ci'))
    refused(home.run('plan', code=9, env={'AWS_CONFIG_FILE': config}), 'profile')
    assert not os.path.exists(marker)
    home.run('plan', code=7, env={'AWS_CONFIG_FILE': config, 'RAYGPU_ALLOW_PROFILES': 'lab,ci'})
    assert os.path.exists(marker)


def test_what_is_recorded_was_admitted(home, sim):
    home.write('cluster.yaml', with_setting(f'endpoint: "{sim.url}"'))
    env, allow = {'AWS_ENDPOINT_URL': ''}, {'AWS_ENDPOINT_URL': '', 'RAYGPU_ALLOW_ENDPOINTS': sim.url}
    home.run('plan', '--out', 'plan.json', env=allow)
    assert 'provider.not-admitted' in home.run('apply', 'plan.json', code=9, env=env).err
    assert not sim.live_instances()
    home.run('apply', 'plan.json', env=allow)
    home.run('plan', env=env)
    home.write('cluster.yaml', with_setting('endpoint: "https://evil.example"'))
    refused(home.run('plan', code=9, env=env), 'endpoint')
    home.run('destroy', '--cluster', 'research', '--auto-approve', env=env)


def test_plain_http_stays_on_this_machine(tmp_path, sim):
    home = Home(tmp_path, sim.env())
    home.write('cluster.yaml', spec())
    for url in ('http://10.255.255.1', 'http://127.0.0.1.evil.example', 'http://localhost.evil.example', 'http://0177.1'):
        for name in ('AWS_ENDPOINT_URL', 'AWS_ENDPOINT_URL_STS'):
            flat = ' '.join(home.run('plan', code=None, env={name: url}).err.split())
            assert f'{name} would send signed requests without TLS' in flat
    home.run('plan', env={'AWS_ENDPOINT_URL': sim.url.replace('127.0.0.1', 'localhost')})
    home.run('plan', env={'AWS_ENDPOINT_URL_STS': 'http://sts.example', 'RAYGPU_ALLOW_ENDPOINTS': 'http://sts.example/'})
