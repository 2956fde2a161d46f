#!/usr/bin/python3 -IS
"""gh and glab as the scripts of examples/ci call them, over a file instead of a service. It refuses what the real programs and services
refuse: unknown options, methods, paths, queries and fields, a missing token, a right that the token has not, a text that is too long.
Started by the name gh or glab, with the folder of its state in $FORGE; forges.py makes that."""
import contextlib
import fcntl
import json
import os
import re
import subprocess
import sys
from urllib.parse import parse_qsl, urlsplit

# `gh api --help` of 2.23, `glab api` of its documentation (1.53): long name -> short name; those without a value
OPTIONS = {
    'gh': {'cache': '', 'field': 'F', 'header': 'H', 'hostname': '', 'include': 'i', 'input': '', 'jq': 'q', 'method': 'X', 'paginate': '',
           'preview': 'p', 'raw-field': 'f', 'silent': '', 'template': 't'},
    'glab': {'field': 'F', 'header': 'H', 'hostname': '', 'include': 'i', 'input': '', 'method': 'X', 'paginate': '', 'raw-field': 'f',
             'silent': ''},
}
FLAGS = {'paginate', 'silent', 'include'}
NOW = 1_790_000_000  # the service's clock: a second per change


class Refused(Exception):
    def __init__(self, status, text):
        super().__init__(text)
        self.status, self.text = status, text


def usage(text):
    print(text, file=sys.stderr)
    sys.exit(1)


def magic(value):
    """--field: files, literals and numbers."""
    if value.startswith('@'):
        with open(value[1:], encoding='utf-8') as f:
            return f.read()
    return {'true': True, 'false': False, 'null': None}.get(value, int(value) if re.fullmatch('-?[0-9]+', value) else value)


def arguments(program, words):
    """(path, {option: value}, {field: value})"""
    if not words or words.pop(0) != 'api':
        usage(f'unknown command for "{program}"')
    options, fields, paths = {}, {}, []
    while words:
        word = words.pop(0)
        name = word[2:] if word.startswith('--') else next((name for name, short in OPTIONS[program].items() if short and word == '-' + short), None)
        if not word.startswith('-'):
            paths.append(word)
        elif name not in OPTIONS[program]:
            usage(f'unknown flag: {word}')
        elif name in FLAGS:
            options[name] = True
        elif not words:
            usage(f'flag needs an argument: {word}')
        elif name in ('field', 'raw-field'):
            key, mark, value = words.pop(0).partition('=')
            if not mark:
                usage(f'field "{key}" requires a value separated by an \'=\' sign')
            value = magic(value) if name == 'field' else value
            fields.update({key[:-2]: [*fields.get(key[:-2], []), value]} if key.endswith('[]') else {key: value})
        else:
            options[name] = words.pop(0)
    if len(paths) != 1:
        usage(f'accepts 1 arg(s), received {len(paths)}')
    return paths[0], options, fields


class Service:
    """One request. Routes are methods with a pattern of the path, allowed fields and the right that they need."""
    routes = []

    def __init__(self, state):
        self.state = state

    def changed(self):
        self.state['now'] += 1
        return self.state['now']

    def limited(self, text, title=''):
        if not isinstance(text, str) or not text.strip():
            raise Refused(422, "body can't be blank")
        if self.too_long(text) or len(title) > 255:
            raise Refused(422, 'Body is too long')
        return text

    def answer(self, method, path, query, fields):
        for wanted, pattern, allowed, right, function in self.routes:
            match = re.fullmatch(pattern, path)
            if not match or wanted != method:
                continue
            if set(fields) - set(allowed.split()) or set(query) - {'per_page', 'page', *self.queries.get(function.__name__, ())}:
                raise Refused(422, f'unknown parameter in {query} {fields.keys()}')
            if not set(right.split('|')) & set(self.state['rights']):
                raise Refused(403, f'Resource not accessible by integration: {right}')
            return function(self, *match.groups(), **({'query': query} if function.__name__ in self.queries else fields))
        raise Refused(404, 'Not Found')

    def comment(self, key):
        found = [one for comments in self.state['comments'].values() for one in comments if one['id'] == int(key)]
        if not found:
            raise Refused(404, 'Not Found')
        return found[0]

    def pull(self, number):
        if number not in self.state['pulls']:
            raise Refused(404, 'Not Found')
        return self.state['pulls'][number]

    def add_comment(self, number, body):
        now = self.changed()
        one = {'id': now, 'user': self.state['bot'], 'body': self.limited(body), 'at': now}
        self.state['comments'].setdefault(number, []).append(one)
        return self.show_comment(one)

    def edit_comment(self, key, body):
        one = self.comment(key)
        if one['user'] != self.state['bot']:
            raise Refused(403, 'not the author')
        one.update(body=self.limited(body), at=self.changed())
        return self.show_comment(one)

    def issue(self, number):
        found = [one for one in self.state['issues'] if one['number'] == int(number)]
        if not found:
            raise Refused(404, 'Not Found')
        return found[0]

    def add_issue(self, title, body, labels):
        self.changed()
        one = {'number': len(self.state['issues']) + 1, 'user': self.state['bot'], 'title': title, 'body': self.limited(body, title), 'open': True,
               'labels': [] if self.state.get('drops_labels') else labels, 'comments': []}
        self.state['issues'].append(one)
        return self.show_issue(one)

    def add_note(self, number, body):
        self.changed()
        self.issue(number)['comments'].append(self.limited(body))
        return {'id': self.state['now']}

    def issues(self, query):
        label = query['labels']
        if query.get('state', 'open') != 'all':
            raise Refused(422, 'state')
        return [self.show_issue(one) for one in self.state['issues'] if label in one['labels']]


def route(service, method, pattern, fields='', right=''):
    def add(function):
        service.routes = [*service.routes, (method, pattern, fields, right, function)]
        return function
    return add


def zulu(seconds):
    from datetime import datetime, timezone
    return datetime.fromtimestamp(seconds, timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ')


def with_zone(seconds):
    """As a GitLab in another time zone writes it."""
    return zulu(seconds + 2 * 3600)[:-1] + '.250+02:00'


class GitHub(Service):
    queries = {'list_issues': ('state', 'labels')}

    def too_long(self, text):
        return len(text) > 65536

    def show_comment(self, one):
        return {'id': one['id'], 'user': {'login': one['user']}, 'body': one['body'], 'updated_at': zulu(one['at'])}

    def show_issue(self, one):
        return {'number': one['number'], 'user': {'login': one['user']}, 'title': one['title'], 'body': one['body'],
                'state': 'open' if one['open'] else 'closed', 'labels': [{'name': name} for name in one['labels']]}


REPO = 'repos/example/clusters'


@route(GitHub, 'GET', REPO + r'/issues/(\d+)/comments', right='pull-requests:read')
def github_comments(self, number):
    return [self.show_comment(one) for one in self.state['comments'].get(number, [])]


@route(GitHub, 'POST', REPO + r'/issues/(\d+)/comments', 'body', 'pull-requests:write|issues:write')
def github_comment(self, number, body):
    if number in self.state['pulls']:
        return self.add_comment(number, body)
    if 'issues:write' not in self.state['rights']:
        raise Refused(403, 'Resource not accessible by integration')
    return self.add_note(number, body)


@route(GitHub, 'PATCH', REPO + r'/issues/comments/(\d+)', 'body', 'pull-requests:write')
def github_edit(self, key, body):
    return self.edit_comment(key, body)


@route(GitHub, 'GET', REPO + r'/commits/([0-9a-f]{40})/pulls', right='pull-requests:read')
def github_pulls(self, commit):
    return [{'number': int(number), 'user': {'login': pull['author']}, 'head': {'sha': pull['head']}, 'base': {'ref': pull['base']},
             'merged_at': zulu(self.state['now']) if pull['merged'] else None, 'merge_commit_sha': pull['merged'] or '0' * 40}
            for number, pull in self.state['pulls'].items() if commit in (pull['merged'], pull['head'])]


@route(GitHub, 'GET', REPO + r'/pulls/(\d+)/reviews', right='pull-requests:read')
def github_reviews(self, number):
    return [{'user': {'login': one['user'], 'type': one.get('type', 'User')}, 'state': one['state'], 'commit_id': one['commit'],
             'submitted_at': zulu(one['at'])} for one in self.pull(number)['reviews']]


@route(GitHub, 'GET', REPO + r'/collaborators/([A-Za-z0-9-]+)/permission', right='metadata:read')
def github_permission(self, user):
    return {'permission': self.state['users'].get(user, 'read'), 'user': {'login': user}}


@route(GitHub, 'GET', REPO + '/issues', right='issues:read')
def list_issues(self, query):
    return self.issues(query)


@route(GitHub, 'POST', REPO + '/issues', 'title body labels', 'issues:write')
def github_issue(self, title, body, labels):
    return self.add_issue(title, body, labels)


@route(GitHub, 'PATCH', REPO + r'/issues/(\d+)', 'body state', 'issues:write')
def github_edit_issue(self, number, body, state=None):
    if state not in (None, 'open', 'closed'):
        raise Refused(422, 'state')
    one = self.issue(number)
    one.update(body=self.limited(body), open=one['open'] if state is None else state == 'open')
    self.changed()
    return self.show_issue(one)


class GitLab(Service):
    queries = {'list_notes': ('sort', 'order_by'), 'list_gitlab_issues': ('state', 'labels')}

    def too_long(self, text):
        return len(text.encode()) > 1048576

    def show_comment(self, one):
        return {'id': one['id'], 'author': {'username': one['user']}, 'body': one['body'], 'system': one.get('system', False),
                'updated_at': with_zone(one['at'])}

    def show_issue(self, one):
        return {'iid': one['number'], 'author': {'username': one['user']}, 'title': one['title'], 'description': one['body'],
                'state': 'opened' if one['open'] else 'closed', 'labels': one['labels']}


PROJECT = 'projects/42'


@route(GitLab, 'GET', 'user', right='api')
def gitlab_user(self):
    return {'username': self.state['bot']}


@route(GitLab, 'GET', PROJECT + r'/merge_requests/(\d+)/notes', right='api')
def list_notes(self, number, query):
    if query.get('sort') != 'asc':
        raise Refused(400, 'the newest come first otherwise')
    return [self.show_comment(one) for one in self.state['comments'].get(number, [])]


@route(GitLab, 'POST', PROJECT + r'/merge_requests/(\d+)/notes', 'body', 'api')
def gitlab_note(self, number, body):
    return self.add_comment(number, body)


@route(GitLab, 'PUT', PROJECT + r'/merge_requests/(?:\d+)/notes/(\d+)', 'body', 'api')
def gitlab_edit_note(self, key, body):
    return self.edit_comment(key, body)


@route(GitLab, 'GET', PROJECT + r'/repository/commits/([0-9a-f]{40})/merge_requests', right='api')
def gitlab_requests(self, commit):
    return [{'iid': int(number), 'author': {'username': pull['author']}, 'sha': pull['head'], 'target_branch': pull['base'],
             'state': 'merged' if pull['merged'] else 'opened', 'merge_commit_sha': pull['merged'], 'squash_commit_sha': None}
            for number, pull in self.state['pulls'].items() if commit in (pull['merged'], pull['head'])]


@route(GitLab, 'GET', PROJECT + r'/merge_requests/(\d+)/versions', right='api')
def gitlab_versions(self, number):
    return [{'id': at, 'head_commit_sha': one['head'], 'created_at': with_zone(one['at'])}
            for at, one in reversed(list(enumerate(self.pull(number)['versions'])))]


@route(GitLab, 'GET', PROJECT + r'/merge_requests/(\d+)/approvals', right='api')
def gitlab_approvals(self, number):
    """GitLab has no request for changes here, and keeps the approvals of earlier commits unless the project resets them."""
    return {'approved_by': [{'user': {'username': one['user']}, 'approved_at': with_zone(one['at'])}
                            for one in self.pull(number)['reviews'] if one['state'] == 'APPROVED']}


@route(GitLab, 'GET', PROJECT + '/issues', right='api')
def list_gitlab_issues(self, query):
    return self.issues(query)


@route(GitLab, 'POST', PROJECT + '/issues', 'title description labels', 'api')
def gitlab_issue(self, title, description, labels):
    return self.add_issue(title, description, labels.split(','))


@route(GitLab, 'PUT', PROJECT + r'/issues/(\d+)', 'description state_event', 'api')
def gitlab_edit_issue(self, number, description, state_event=None):
    one = self.issue(number)
    if state_event not in (None, 'close' if one['open'] else 'reopen'):
        raise Refused(400, 'state_event')
    one.update(body=self.limited(description), open=one['open'] if state_event is None else state_event == 'reopen')
    self.changed()
    return self.show_issue(one)


@route(GitLab, 'POST', PROJECT + r'/issues/(\d+)/notes', 'body', 'api')
def gitlab_issue_note(self, number, body):
    return self.add_note(number, body)


@contextlib.contextmanager
def opened(folder):
    """The state, for this process only."""
    with open(os.path.join(folder, 'state.json'), 'r+', encoding='utf-8') as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        state = json.load(f)
        yield state
        f.seek(0)
        json.dump(state, f)
        f.truncate()


def fault(state, program, method, path):
    """A planned fault of this request: {method, path, status, times, done: whether the service has done it}, or {..., run: a command}, what
    happens elsewhere at that moment."""
    for one in state['faults']:
        if one['times'] and re.fullmatch(one['method'], method) and re.search(one['path'], path):
            one['times'] -= 1
            return one
    return None


def main():
    program = os.path.basename(sys.argv[0])
    where, options, fields = arguments(program, sys.argv[1:])
    method = options.get('method', 'POST' if fields else 'GET')
    token = os.environ.get('GH_TOKEN' if program == 'gh' else 'GITLAB_TOKEN')
    if token != 'of-this-job':
        usage(f'{program}: no token')
    if program == 'glab' and options.get('hostname') != 'gitlab.example.org':
        usage('glab: the request would go to gitlab.com')
    parts = urlsplit(where)
    query = dict(parse_qsl(parts.query, strict_parsing=True)) if parts.query else {}
    with opened(os.environ['FORGE']) as state:
        state['calls'].append([method, where, sorted(fields)])
        broken = fault(state, program, method, parts.path)
        if broken and 'run' in broken:
            subprocess.run(broken['run'], check=True, stdout=subprocess.DEVNULL)
            broken = None
        try:
            if broken and not broken.get('done'):
                raise Refused(broken['status'], 'a fault')
            said = (GitHub if program == 'gh' else GitLab)(state).answer(method, parts.path, query, fields)
            if broken:
                raise Refused(broken['status'], 'the answer was lost')
        except Refused as refused:
            print(json.dumps({'message': refused.text}))
            print(f'{program}: {refused.text} (HTTP {refused.status})', file=sys.stderr)
            return 1
    size = int(query.get('per_page', 30 if program == 'gh' else 20))
    if isinstance(said, list):
        # gh 2.23 and glab print the pages one after the other
        pages = [said[at:at + size] for at in range(0, len(said), size)] or [[]]
        for page in pages if options.get('paginate') else pages[:1]:
            print(json.dumps(page), end='')
    else:
        print(json.dumps(said))
    return 0


if __name__ == '__main__':
    sys.exit(main())
