"""Why nodes are replaced, in terms of the spec; values of environment variables are not shown."""
import hashlib
import re

from program import IMAGE, spec
from shared import home, sim  # noqa: F401

NEW = IMAGE.replace('cu121', 'cu124')


def write(home, more='', image=IMAGE):
    home.write('cluster.yaml', spec(pools={'serve': 2}, pool_extra=more).replace(IMAGE, image))


def reasons(home):
    changes = home.run('plan', '--format', 'json').json()['resource_changes']
    return {c['address']: c['raygpu']['spec_changes'] for c in changes if 'spec_changes' in c['raygpu']}


def test_a_new_image(home):
    write(home)
    home.apply()
    write(home, image=NEW)
    text = home.run('plan').out
    assert text.count('        # because of:\n          ~ ray.image = ') == 2  # the head, and the two equal nodes
    assert f'~ ray.image = "{IMAGE}"\n' in text and f'-> "{NEW}"\n' in text
    why = [{'field': 'ray.image', 'change': 'changed', 'before': IMAGE, 'after': NEW}]
    assert reasons(home) == {f'aws.instance.{name}': why for name in ('head', 'serve[0]', 'serve[1]')}
    marked = home.run('plan', '--format', 'markdown').out.replace('\\', '')
    assert f'Changed in the spec:\n\n- head: ray.image "{IMAGE}" → "{NEW}"\n- serve: ray.image "{IMAGE}"' in marked
    assert 'must be replaced, because of ray.image' in home.run('plan', '--format', 'github').out
    home.run('plan', '--out', 'p.json')
    assert home.run('show', 'p.json').out == text
    home.run('apply', 'p.json')
    assert 'because of' not in home.run('plan', '--detailed-exitcode').out


def test_labels_resources_and_variables(home):
    write(home, ', labels: {disk: ssd}, resources: {slots: 2}, env: {MODE: old, TOKEN: hunter2, GONE: x}')
    home.apply()
    write(home, ', labels: {disk: hdd}, resources: {slots: 3}, env: {MODE: old, TOKEN: swordfish, CAME: here}')
    assert reasons(home)['aws.instance.serve[0]'] == [
        {'field': 'env.CAME', 'change': 'added', 'hidden': True},
        {'field': 'env.GONE', 'change': 'removed', 'hidden': True},
        {'field': 'env.TOKEN', 'change': 'changed', 'hidden': True},
        {'field': 'labels.disk', 'change': 'changed', 'before': 'ssd', 'after': 'hdd'},
        {'field': 'resources.slots', 'change': 'changed', 'before': 2, 'after': 3}]
    for format in ('text', 'markdown', 'github', 'junit', 'sarif'):
        out = home.run('plan', '--format', format).out
        assert 'hunter2' not in out and 'swordfish' not in out, format
    text = home.run('plan').out
    assert '          + env.CAME = (value not shown)\n          - env.GONE = (value not shown)\n' in text
    assert '          ~ labels.disk = "ssd" -> "hdd"\n          ~ resources.slots = 2 -> 3\n' in text


def test_user_data_that_is_compressed_now(home):
    """A long text is sent to the cloud as another attribute; the reason is the same."""
    write(home)
    home.apply()
    long = [''.join(hashlib.sha256(f'{k} {i}'.encode()).hexdigest() for i in range(30)) for k in range(4)]
    env = ', '.join(f'"L{k}": "{text}"' for k, text in enumerate(long))
    write(home, f', env: {{{env}}}')
    assert reasons(home)['aws.instance.serve[0]'] == [
        {'field': f'env.L{k}', 'change': 'added', 'hidden': True} for k in range(4)]
    assert 'user_data_base64' in home.run('plan').out
    home.apply()
    write(home, f', env: {{{env[:-2]}x"}}')
    assert reasons(home)['aws.instance.serve[1]'] == [{'field': 'env.L3', 'change': 'changed', 'hidden': True}]


def test_an_attribute_names_the_field_that_decides_it(home):
    """The provider's schema defines it: `field`."""
    write(home, ', disk: {type: gp3}')
    home.apply()
    assert not reasons(home)
    text = home.read('cluster.yaml').replace('m5.2xlarge', 'm5.4xlarge')
    home.write('cluster.yaml', text.replace('type: gp3', 'type: gp2'))
    change = {'change': 'changed', 'before': 'gp3', 'after': 'gp2'}
    why = [{'field': 'disk.type', 'attribute': 'disk_type', **change}]
    assert reasons(home)['aws.instance.serve[0]'] == why
    assert reasons(home)['aws.instance.head'][0]['field'] == 'instance_type'
    out = home.run('plan').out
    assert re.search(r'\n  head +m5\.2xlarge -> m5\.4xlarge  on-demand  1 ', out), 'the table shows both'
    assert '      ~ disk_type = "gp3" -> "gp2" # forces replacement (disk.type)\n' in out
    assert re.search(r'\n      ~ instance_type += "m5\.2xlarge" -> "m5\.4xlarge" # forces replacement\n', out)
    assert ('Replaced: head, 2 of serve\n          because of instance_type "m5.2xlarge" -> "m5.4xlarge"\n'
            '          and disk.type "gp3" -> "gp2"\n'
            '          with the head, every running job and actor of the cluster ends\n') in out
    marked = home.run('plan', '--format', 'markdown').out.replace('\\', '')
    assert '- head: instance_type "m5.2xlarge" → "m5.4xlarge"\n- serve: disk.type "gp3" → "gp2"\n' in marked


def test_a_reason_that_pools_share_is_given_once(home):
    write(home)
    home.apply()
    write(home, image=NEW)
    assert home.run('plan', '--summary').out.count('because of') == 1
