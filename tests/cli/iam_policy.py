"""A small evaluator of IAM policies, and what each EC2 request needs: enough for the policies of `raygpu iam`.

Which resources an action is checked against, and which other actions it depends on: AWS's Service Authorization Reference, "Actions,
resources, and condition keys for Amazon EC2". Only allow statements, the condition operators that our policies use; an unknown one is an
error, never a pass."""
import contextlib
import functools
import hashlib
import json
import os
import re
import shutil
import tempfile
import time

from program import binary

ACCOUNT = '123456789012'
CREATES = {'CreateNetworkInterface': 'network-interface', 'CreateSecurityGroup': 'security-group',
           'CreatePlacementGroup': 'placement-group'}


def listed(value):
    return value if isinstance(value, list) else [value]


def like(pattern, text):
    """IAM's wildcards: * and ? only."""
    return re.fullmatch(''.join('.*' if c == '*' else '.' if c == '?' else re.escape(c) for c in pattern), text, re.S) is not None


def holds(condition, context):
    for operator, keys in condition.items():
        for key, wanted in keys.items():
            value = context.get(key)
            if operator == 'Null':
                good = (value is None) == (listed(wanted)[0] == 'true')
            elif operator == 'StringEquals':
                good = value in listed(wanted)
            elif operator == 'Bool':
                good = value is not None and str(value).lower() == str(wanted).lower()
            else:
                raise ValueError(f'condition operator {operator}')
            if not good:
                return False
    return True


def allows(policy, action, resource, context):
    for statement in policy['Statement']:
        if set(statement) - {'Sid', 'Effect', 'Action', 'Resource', 'Condition'} or statement['Effect'] != 'Allow':
            raise ValueError(statement)
        if any(like(a.lower(), action.lower()) for a in listed(statement['Action'])) and \
                any(like(r, resource) for r in listed(statement['Resource'])) and \
                holds(statement.get('Condition', {}), context):
            return True
    return False


def numbered(tree):
    return [tree[k] for k in sorted(tree or {}, key=int)] if isinstance(tree, dict) else []


def tags_given(params):
    """{resource type: {key: value}} of TagSpecification."""
    return {one['ResourceType']: {t['Key']: t.get('Value', '') for t in numbered(one['Tag'])}
            for one in numbered(params.get('TagSpecification'))}


class Needs:
    """[(action, resource, context)] of one logged request."""

    def __init__(self, request):
        self.request = request
        self.params, self.action, self.region = request['params'], request['action'], request['region']
        self.partition = 'aws-cn' if self.region.startswith('cn-') else 'aws-us-gov' if self.region.startswith('us-gov-') else 'aws'
        self.list = []

    def arn(self, kind, name):
        return f'arn:{self.partition}:ec2:{self.region}:{"" if kind == "image" else ACCOUNT}:{kind}/{name}'

    def add(self, action, resource, context=None):
        self.list.append((action, resource, context or {}))

    def add_new(self, kind):
        tags = tags_given(self.params).get(kind, {})
        context = {f'aws:RequestTag/{k}': v for k, v in tags.items()}
        self.add('ec2:' + self.action, self.arn(kind, '*new*'), context)
        if tags:
            self.add('ec2:CreateTags', self.arn(kind, '*new*'), {**context, 'ec2:CreateAction': self.action})

    def add_named(self):
        for one in self.request['resources']:
            if one['type'] == CREATES.get(self.action) == 'placement-group':
                continue  # by its name, which a repeated creation finds taken
            context = {f'aws:ResourceTag/{k}': v for k, v in one['tags'].items()}
            if self.action == 'CreateTags':
                context.update({f'aws:RequestTag/{t["Key"]}': t.get('Value', '') for t in numbered(self.params['Tag'])})
            self.add('ec2:' + self.action, self.arn(one['type'], one['id']), context)

    def launch(self):
        for kind in ('instance', 'volume'):
            self.add_new(kind)
        if any('NetworkInterfaceId' not in i for i in numbered(self.params.get('NetworkInterface'))):
            self.add_new('network-interface')
        if self.params.get('KeyName'):
            self.add('ec2:RunInstances', self.arn('key-pair', self.params['KeyName']))
        profile = self.params.get('IamInstanceProfile')
        if profile:  # its role has the same name
            role = (profile.get('Name') or profile['Arn']).rsplit('/', 1)[-1]
            self.add('iam:PassRole', f'arn:{self.partition}:iam::{ACCOUNT}:role/{role}',
                     {'iam:PassedToService': 'ec2.amazonaws.com' + ('.cn' if self.partition == 'aws-cn' else '')})
        if self.params.get('InstanceMarketOptions', {}).get('MarketType') == 'spot':
            self.add_new('spot-instances-request')
            self.add('iam:CreateServiceLinkedRole', f'arn:{self.partition}:iam::{ACCOUNT}:role/aws-service-role/'
                     'spot.amazonaws.com/AWSServiceRoleForEC2Spot', {'iam:AWSServiceName': 'spot.amazonaws.com'})

    def find(self):
        if self.request['service'] == 'ssm':
            self.add('ssm:' + self.action, f'arn:{self.partition}:ssm:{self.region}:'
                     f'{"" if self.params["Name"].startswith("/aws/") else ACCOUNT}:parameter/{self.params["Name"].lstrip("/")}')
        elif self.request['service'] == 'sts':
            self.add('sts:' + self.action, '*')
        elif self.action.startswith('Describe') and self.action != 'DescribeInstanceAttribute':
            self.add('ec2:' + self.action, '*')
        else:
            self.add_named()
            if self.action == 'RunInstances':
                self.launch()
            elif self.action in CREATES:
                self.add_new(CREATES[self.action])
        return self.list


def refused(policies, requests):
    """What none of the policies allows, as lines; a set of policies of one user counts as their union."""
    union = {'Statement': [s for policy in policies for s in policy['Statement']]}
    missing = []
    for request in requests:
        for action, resource, context in Needs(request).find():
            if not allows(union, action, resource, context):
                missing.append(f'{action} on {resource} with {json.dumps(context)}')
    return missing


def read_log(path, agent='raygpu'):
    """What raygpu asked; the tests' own requests have other user agents."""
    try:
        with open(path) as f:
            return [one for one in map(json.loads, f) if one['agent'].startswith(agent)]
    except FileNotFoundError:
        return []


TASKS = (['apply', '--with', 'import'], ['import'], ['rebuild'], ['offers'])
# Specs whose policies also depend on the state or on other files.
BY_MORE = re.compile('any_of|extends|imports?:|removed:')


@functools.cache
def kept_at():
    """Where answers of this very program are kept: most tests of a run use the same few specs, and all its processes share them."""
    with open(binary(), 'rb') as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    folder = os.path.join(os.environ.get('RAYGPU_TEST_DIR') or tempfile.gettempdir(), f'raygpu-iam-{os.getuid()}')
    os.makedirs(folder, mode=0o700, exist_ok=True)
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):
            if name != digest and os.stat(os.path.join(folder, name)).st_mtime < time.time() - 86400:
                shutil.rmtree(os.path.join(folder, name))
    os.makedirs(os.path.join(folder, digest), exist_ok=True)
    return os.path.join(folder, digest)


def without_state(home):
    """The test's own may be damaged."""
    return ['--state', home.path('no-state.db')]


def policy_of(home, path, task, state):
    """What `raygpu iam` prints for this spec; None: it refuses the spec."""
    said = home.run('iam', path, '--account', '*', '--for', *task, *state, code=None)
    return said.json() if said.code == 0 else None


def kept_policy_of(home, path, text, task):
    """The same without a state, which depends on nothing else than the program, the text and the task."""
    place = os.path.join(kept_at(), hashlib.sha256(json.dumps([text, task]).encode()).hexdigest())
    with contextlib.suppress(FileNotFoundError):
        with open(place, encoding='utf-8') as f:
            return json.load(f)
    policy = policy_of(home, path, task, without_state(home))
    with tempfile.NamedTemporaryFile('w', dir=kept_at(), delete=False, encoding='utf-8') as f:
        json.dump(policy, f)
    os.replace(f.name, place)
    return policy


def policies_of(home):
    """What `raygpu iam` prints for all specs of a test, whatever became of them; faulty ones have none."""
    policies, path = [], home.path('of-iam.yaml')
    for text in dict.fromkeys(home.specs):
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
        for task in TASKS:
            if BY_MORE.search(text):
                policy = policy_of(home, path, task, []) or policy_of(home, path, task, without_state(home))
            else:
                policy = kept_policy_of(home, path, text, task) or policy_of(home, path, task, [])
            if policy:
                policies.append(policy)
    return policies
