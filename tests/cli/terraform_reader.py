"""A program that knows only Terraform's page "Machine-readable UI output reference": the keys that it documents, their
types and words, and that other types of messages are shown by their @message and other keys are ignored.

It reads tests/data/terraform/apply.jsonl, written after that page, and what raygpu writes."""
import json
from datetime import datetime

ACTIONS = {'noop', 'create', 'read', 'update', 'replace', 'delete', 'move', 'import', 'remove'}
HOOK_ACTIONS = {'noop', 'create', 'read', 'update', 'replace', 'delete'}
OPERATIONS = {'plan', 'apply', 'destroy'}


def text(value):
    assert isinstance(value, str)
    return value


def count(value):
    assert isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value


def address(resource):
    key = resource['resource_key']
    assert key is None or isinstance(key, (int, str))
    for name in ('module', 'resource', 'implied_provider', 'resource_type', 'resource_name'):
        text(resource[name])
    assert resource['addr'].endswith(resource['resource'])
    assert resource['resource_type'].startswith(resource['implied_provider'])
    return text(resource['addr'])


class Run:
    def __init__(self):
        self.supported = False
        self.planned, self.drifted = {}, {}
        self.begun, self.done, self.failed, self.ids = [], [], [], {}
        self.waited = 0  # the longest that was reported of one resource
        self.summaries = {}  # by operation
        self.outputs = {}
        self.problems, self.marked = [], []
        self.others = []  # messages that it can only show

    def version(self, message):
        self.supported = text(message['ui']).split('.')[0] == '1'
        assert self.supported, 'an unknown major version'

    def planned_change(self, message):
        change = message['change']
        assert change['action'] in ACTIONS
        self.planned[address(change['resource'])] = (change['action'], change.get('reason'))

    def resource_drift(self, message):
        change = message['change']
        assert change['action'] in ('update', 'delete')
        self.drifted[address(change['resource'])] = change['action']

    def change_summary(self, message):
        changes = dict(message['changes'])
        operation = changes.pop('operation')
        assert operation in OPERATIONS and {'add', 'change', 'remove'} <= set(changes)
        self.summaries[operation] = {name: count(value) for name, value in changes.items() if value}

    def hook(self, message, timed):
        hook = message['hook']
        assert hook['action'] in HOOK_ACTIONS and ('id_key' in hook) == ('id_value' in hook)
        where = address(hook['resource'])
        if hook.get('id_key') == 'id' and hook['action'] != 'delete':
            self.ids[where] = text(hook['id_value'])
        if timed:
            self.waited = max(self.waited, count(hook['elapsed_seconds']))
        return where, hook['action']

    def apply_start(self, message):
        self.begun.append(self.hook(message, False))

    def apply_progress(self, message):
        assert self.hook(message, True) in self.begun

    def apply_complete(self, message):
        self.done.append(self.hook(message, True))
        assert self.done[-1] in self.begun

    def apply_errored(self, message):
        self.failed.append(self.hook(message, True))
        assert self.failed[-1] in self.begun

    def outputs_(self, message):
        for name, output in message['outputs'].items():
            assert isinstance(output['sensitive'], bool) and output['type']
            if not output['sensitive']:
                self.outputs[name] = output['value']

    def diagnostic(self, message):
        found = message['diagnostic']
        assert found['severity'] in ('error', 'warning')
        at = found.get('range')
        if at:
            text(at['filename'])
            assert (count(at['start']['line']), count(at['start']['column'])) <= (
                count(at['end']['line']), count(at['end']['column']))
        if found.get('snippet'):
            snippet = found['snippet']
            marked = text(snippet['code']).encode()[count(snippet['highlight_start_offset']):count(snippet['highlight_end_offset'])]
            self.marked.append(marked.decode())
            assert count(snippet['start_line']) <= at['start']['line'] and snippet['context'] in (None, text(snippet['context'] or ''))
            assert count(at['end']['byte']) - count(at['start']['byte']) == len(marked)
        text(found['detail'])
        self.problems.append((found['severity'], text(found['summary']), at and at['start']['line']))

    def read(self, line):
        message = json.loads(line)
        assert message['@level'] in ('info', 'warn', 'error') and text(message['@message'])
        assert message['@module'] == 'terraform.ui'
        assert datetime.fromisoformat(message['@timestamp'].replace('Z', '+00:00')).tzinfo
        assert self.supported or message['type'] == 'version', 'the first message is the version'
        known = {'outputs': self.outputs_}.get(message['type'], getattr(self, message['type'], None))
        if message['type'] in ('read', 'hook', 'refresh_start', 'refresh_complete', 'log') or not callable(known):
            self.others.append(message['@message'])
        else:
            known(message)


def read(stream):
    run = Run()
    for line in stream.splitlines():
        run.read(line)
    return run
