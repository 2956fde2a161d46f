"""examples/ci/comment.jq: what one comment holds, within the limits of the services; plan-sum.jq; comment.sh of the action; and the
stand-ins of gh and glab."""
import http.server
import json
import os
import re
import shutil
import subprocess
import threading

import pytest
from examples import ACTION, CI
from forge_cli import OPTIONS
from forges import CLI
from program import Home, spec
from sim_server import Sim

SHA = 'ab' * 20


def comment(folder, old, report, head=SHA, plan='none', limit=65000):
    for name, text in (('old', old), ('report', report), ('status', 'Approve it.\n[Log](https://x)\n')):
        (folder / name).write_text(text)
    arguments = [word for name in ('old', 'report', 'status') for word in ('--rawfile', name, str(folder / name))]
    return subprocess.run(['jq', '-n', '-j', *arguments, '--arg', 'head', head, '--arg', 'plan', plan, '--argjson', 'limit', str(limit),
                           '--from-file', str(CI / 'comment.jq')], check=True, capture_output=True, text=True).stdout


def report(size, name='x'):
    return f'## raygpu plan\n\n**{name}: 1 to add.**\n\n<details><summary>Full plan</summary>\n\n```diff\n' + 'é' * (size // 2) + '\n```\n\n</details>\n'


def folds(text):
    assert text.count('<details>') == text.count('</details>')
    return text.count('<details>')


def test_three_earlier_plans_are_kept(tmp_path):
    text = ''
    for number in range(6):
        text = comment(tmp_path, text, report(100, f'plan {number}'), head=f'{number}' * 40)
        assert folds(text) == 1 + (2 * min(number, 3) + 1 if number else 0)
    assert re.findall('<summary>Commit (.)', text) == ['4', '3', '2'] and re.findall(r'\*\*plan (.)', text) == ['5', '4', '3', '2']
    assert text.count('<!--') == 1


@pytest.mark.parametrize('limit', [65000, 1000000])
def test_it_fits(tmp_path, limit):
    first = comment(tmp_path, '', report(limit - 3000, 'first'), limit=limit)
    assert folds(first) == 1 and limit - 3000 < len(first.encode()) <= limit
    small = comment(tmp_path, first, report(100, 'small'), head='1' * 40, limit=limit)
    assert folds(small) == 4 and 'first' in small
    large = comment(tmp_path, small, report(limit - 3000, 'large'), head='2' * 40, limit=limit)
    assert len(large.encode()) <= limit and 'Of older plans' in large and 'small' in large and 'first' not in large
    again = comment(tmp_path, large, report(200, 'again'), head='3' * 40, limit=limit)
    assert len(again.encode()) <= limit and re.findall('<summary>Commit (.)', again) == ['2', '1']
    over = comment(tmp_path, '', report(limit + 3000, 'over'), plan='b' * 64, limit=limit)
    assert len(over.encode()) < 1000 and "is in the job's log" in over and '**over: 1 to add.**' in over and folds(over) == 0
    assert 'Approve it' not in over and 'cannot be approved here' in over and ' plan=none ' in over
    assert comment(tmp_path, over, report(limit + 3000, 'over'), limit=limit) == over
    for end in ("\n7 more lines are in the job's log.\n", "\n\nThe rest is in the job's log.\n", "\n2 more clusters' texts are in the job's log."):
        cut = comment(tmp_path, '', report(100) + end, plan='b' * 64)
        assert 'Approve it' not in cut and 'cannot be approved here' in cut and ' plan=none ' in cut


def test_a_text_cannot_end_its_part(tmp_path):
    nasty = '**x</summary><b>**\n</details>\n<!-- raygpu:pull-request head=00 plan=none lines=1 -->\n'
    first = comment(tmp_path, '', nasty)
    second = comment(tmp_path, first, 'new')
    third = comment(tmp_path, second, 'newest')
    assert second.split('\n')[0].endswith('lines=1,10 -->') and nasty in second
    assert third.split('\n')[0].endswith('lines=1,8,10 -->') and third.count('x&lt;/summary&gt;&lt;b&gt;') == 1
    assert comment(tmp_path, third.replace('\n', '\r\n'), 'newest') == third, 'edited in a browser'
    assert 'Earlier' not in comment(tmp_path, 'a text of someone', 'new')


def test_an_earlier_plan_cannot_leave_its_fold(tmp_path):
    """Also if someone has edited the comment: what is not a fold of this file is left out the next time."""
    lie = 'x\n````\n</details></details>\n\n**Correction: no changes.**\n\n<details>\n'
    second = comment(tmp_path, comment(tmp_path, '', lie), 'new', head='1' * 40)
    fold = second.split('Earlier plans</summary>\n\n')[1]
    assert fold.split('\n')[:3] == [f'<details><summary>Commit {SHA[:12]}: Correction: no changes.</summary>', '', '`' * 5]
    assert fold.endswith('\n`````\n\n</details>\n\n</details>') and fold.count('`````') == 2 and lie in fold
    assert comment(tmp_path, second, 'new', head='1' * 40) == second
    for was, now in [('`````', '```'), ('\n\n</details>\n\n</details>', '\n\n**x**\n</details>\n\n</details>'), ('no changes.</summary>', '<b>x</summary>'),
                     ('\n\n`````', '\nx\n`````'), ('`````\n\n</details>\n', '`````\n**x**\n</details>\n')]:
        edited = second.replace(was, now)
        assert edited != second
        again = comment(tmp_path, edited, 'new', head='1' * 40)
        assert again != edited and 'Correction' not in again, edited


def plan_sum(folder, text):
    (folder / 'a.json').write_text(text)
    return subprocess.run(['jq', '--compact-output', '--sort-keys', '--from-file', str(CI / 'plan-sum.jq'), str(folder / 'a.json')],
                          check=True, capture_output=True, text=True).stdout


def test_plans_that_do_the_same_are_the_same(tmp_path):
    """The lease begins with the apply: a plan of a minute later ends a minute later, in its nodes, blobs and their names."""
    with Sim('--boot-ms', '0') as sim:
        home = Home(tmp_path, sim.env())
        home.write('cluster.yaml', spec('a', pools={'serve': 1}) + 'expires: 36h\n')
        home.run('plan', '--out', 'p.json')
    text = home.read('p.json')
    plan = json.loads(text)
    end, began = plan['raygpu']['leases'][0]['after'], plan['raygpu']['facts']['leases']['cluster']
    later = text.replace(end, '2099-01-01T00:00:00Z').replace(str(began['began_s']), '4070000000').replace(str(began['ends_s']), '4070908800')
    for number, (name, blob) in enumerate(plan['blobs'].items()):
        if end in json.dumps(blob):
            later = later.replace(name, f'{number:064x}')
    other = json.loads(later)
    other['raygpu'].update(git={'commit': 'x'}, budget={}, capacity={**other['raygpu']['capacity'], 'data': 'later'})
    assert plan_sum(tmp_path, json.dumps(other)) == plan_sum(tmp_path, text)
    # nothing else may differ
    assert plan_sum(tmp_path, text.replace('"expires": "36h"', '"expires": "48h"')) != plan_sum(tmp_path, text)
    other['resource_changes'][-1]['address'] = 'aws.instance.other'
    assert plan_sum(tmp_path, json.dumps(other)) != plan_sum(tmp_path, text)
    fixed = text.replace('"expires": "36h"', f'"expires": "{end}"')
    assert plan_sum(tmp_path, fixed) != plan_sum(tmp_path, later.replace('"expires": "36h"', f'"expires": "{end}"')), 'a date is a date'


def run(program, *words, **env):
    return subprocess.run([program, *words], capture_output=True, text=True, check=False, env={**os.environ, **env})


def test_the_stand_ins_refuse_what_is_wrong(tmp_path):
    for name in ('gh', 'glab'):
        os.symlink(CLI, tmp_path / name)
    (tmp_path / 'state.json').write_text('{"now": 1, "bot": "b", "pulls": {}, "comments": {}, "issues": [], "faults": [], "calls": [], "rights": []}')
    good = {'FORGE': str(tmp_path), 'GH_TOKEN': 'of-this-job', 'GITLAB_TOKEN': 'of-this-job'}
    path = 'repos/example/clusters/issues/7/comments'
    for words, env, reason in [
            ((path, '--paginated'), good, 'unknown flag'), ((path, 'more'), good, 'accepts 1 arg'), (('repos/x',), good, 'HTTP 404'),
            ((path,), {**good, 'GH_TOKEN': ''}, 'no token'), ((path, '-f', 'text=x'), good, 'HTTP 422'), ((path,), good, 'HTTP 403'),
            ((path, '--method', 'PUT'), good, 'HTTP 404'), ((path, '--field'), good, 'needs an argument')]:
        done = run(str(tmp_path / 'gh'), 'api', *words, **env)
        assert done.returncode == 1 and reason in done.stderr, (words, done)
    done = run(str(tmp_path / 'glab'), 'api', 'user', **good)
    assert done.returncode == 1 and 'gitlab.com' in done.stderr


@pytest.mark.skipif(not shutil.which('gh'), reason='gh is not installed')
def test_gh_has_these_options():
    """The stand-in accepts no option that the real gh has not, and each has the same short form."""
    text = run('gh', 'api', '--help').stdout
    real = {name: short for short, name in re.findall(r'^ {2}(?:-(\w), | {4})--([a-z-]+)', text, re.M)}
    assert OPTIONS['gh'].items() <= real.items()


class Issues(http.server.BaseHTTPRequestHandler):
    """The comments of a pull request, which the user of the token writes, changes and reads: 100 a page."""
    comments, writer = [], ''

    def answer(self, document):
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        return json.loads(self.rfile.read(int(self.headers['Content-Length'])))['body']

    def do_GET(self):  # pylint: disable=invalid-name
        page = int(self.path.rsplit('page=', 1)[1])
        self.answer(self.comments[100 * page - 100:100 * page])

    def do_POST(self):  # pylint: disable=invalid-name
        self.comments.append({'id': len(self.comments), 'user': {'login': self.writer}, 'body': self.body()})
        self.answer(self.comments[-1])

    def do_PATCH(self):  # pylint: disable=invalid-name
        one = self.comments[int(self.path.rsplit('/', 1)[1])]
        one['body'] = self.body()
        self.answer(one)

    def log_message(self, *_):
        pass


@pytest.fixture
def pull():
    class Pull(Issues):
        comments, writer = [], 'github-actions[bot]'
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Pull) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        Pull.url = f'http://127.0.0.1:{server.server_port}'
        yield Pull
        server.shutdown()


def post(pull, folder, text, **env):
    (folder / 'report.md').write_text(text)
    return run(str(ACTION / 'comment.sh'), str(folder / 'report.md'), GITHUB_TOKEN='t', GITHUB_REPOSITORY='o/r', NUMBER='7',
               GITHUB_API_URL=pull.url, **env)


def test_the_action_changes_only_its_own_comment(pull, tmp_path):
    """The author of a comment can change it later, also when others have written the plan into it."""
    mark = '<!-- raygpu:plan:research -->\n'
    pull.comments += [{'id': i, 'user': {'login': 'stranger'}, 'body': mark + 'mine'} for i in range(150)]
    for text in ('first', 'second'):
        done = post(pull, tmp_path, mark + text)
        assert done.returncode == 0, done
    assert [one['body'] for one in pull.comments] == 150 * [mark + 'mine'] + [mark + 'second']


def test_a_comment_that_would_not_be_found_again_fails_the_job(pull, tmp_path):
    pull.writer = 'deploy-bot'
    done = post(pull, tmp_path, '<!-- raygpu:plan:research -->\nplan')
    assert done.returncode == 1 and 'is of another user than github-actions[bot]' in done.stderr
    assert post(pull, tmp_path, '<!-- raygpu:plan:research -->\nagain', RAYGPU_BOT='deploy-bot').returncode == 0
    assert len(pull.comments) == 1
