"""examples/ci/pull-request.sh: one comment per pull request, and after the merge exactly the approved plan."""
import hashlib
import os
import re
import signal
import subprocess
import time

import pytest
from examples import CI
from forges import Team
from program import binary, spec


@pytest.fixture(name='team')
def a_team(tmp_path, request):
    with Team(getattr(request, 'param', 'github'), tmp_path) as team:
        yield team


LONG = pytest.mark.skipif(not os.environ.get('RAYGPU_LONG'), reason='with --long')


def on(*short):
    """All of them run for both with --long; otherwise only for these."""
    return pytest.mark.parametrize('team', [pytest.param(forge, marks=[] if forge in short else LONG) for forge in ('github', 'gitlab')],
                                   indirect=True)


@on('github', 'gitlab')
def test_the_life_of_a_pull_request(team):
    pull = team.pull({'b.yaml': spec('b', pools={'serve': 1})})
    team.plan(pull)
    first = team.comment(pull)
    assert '1 cluster: 5 to add' in first and 'Earlier plans' not in first and first.count('<details>') == first.count('</details>') == 1
    team.push(pull, {'b.yaml': spec('b', pools={'serve': 2}), 'a.yaml': spec('a', pools={'serve': 1})})
    team.plan(pull)
    second = team.comment(pull)
    assert 'All 2 clusters: 11 to add' in second and second.count('<details>') == second.count('</details>') == 5
    team.plan(pull, GITHUB_RUN_ID='100', CI_JOB_URL='https://gitlab.example.org/infra/clusters/-/jobs/100')
    assert team.comment(pull) == second, 'nothing but the commit and the log is new'
    now, earlier = second.split('<summary>Earlier plans</summary>')
    assert '5 to add' in earlier and '11 to add' not in earlier and '1 cluster: 5 to add' not in now
    assert team.sim.counters()['mutating'] == 0
    team.approve(pull, 'alice')
    merge = team.merge(pull)
    said = team.apply(merge)
    assert 'Apply complete' in said or '2 of 2 clusters are done' in said, said
    done = team.result(pull)
    assert '**Applied**' in done and 'approved by `alice`' in done and team.comment(pull) == second
    assert len(team.sim.live_instances()) == 5
    team.apply(merge)
    assert '**Nothing to apply:**' in team.result(pull) and len(team.sim.live_instances()) == 5


APPROVED = {'user': 'alice', 'state': 'APPROVED'}
# name: (what is said, reviews, changes of the service's state)
REFUSED = {
    'nobody': ('has 0 of 1 approvals', [], {}),
    'the author': ('has 0 of 1 approvals', [{**APPROVED, 'user': 'author'}], {}),
    'an earlier commit': ('has 0 of 1 approvals', [{**APPROVED, 'commit': 'a' * 40}], {'version': 20}),
    'before the plan was shown': ('has 0 of 1 approvals', [{**APPROVED, 'before': 1}], {}),
    'another commit was merged': ('is of another commit', [APPROVED], {'head': 'a' * 40}),
    'a comment of another user': ('has no comment with a plan', [APPROVED], {'writer': 'guest'}),
    'no pull request': ('not the merge of one pull request', [APPROVED], {'merged': 'a' * 40}),
}
ON_GITHUB = {
    'who may only read': ('has 0 of 1 approvals', [{**APPROVED, 'user': 'guest'}, {**APPROVED, 'user': 'other-bot', 'type': 'Bot'}], {}),
    'changes requested': ('`bob` has requested changes', [APPROVED, {'user': 'bob', 'state': 'CHANGES_REQUESTED'},
                                                           {'user': 'bob', 'state': 'COMMENTED'}], {}),
    'twice by one': ('has 1 of 2 approvals', [APPROVED, APPROVED], {}),
}


@on('github')
def test_what_was_not_approved_is_not_applied(team):
    pull = team.pull({'b.yaml': spec('b', pools={'serve': 1})})
    team.plan(pull)
    merge = team.merge(pull)
    for name, (reason, reviews, changes) in {**REFUSED, **(ON_GITHUB if team.forge == 'github' else {})}.items():
        with team.service() as state:
            one, comment = state['pulls'][pull], state['comments'][pull][0]
            kept = dict(one), dict(comment)
            comment['user'] = changes.get('writer', team.bot)
            if 'version' in changes:  # GitLab names no commit: the head was pushed after the approval
                one['versions'] = [{**one['versions'][-1], 'at': comment['at'] + changes['version']}]
            one.update({key: value for key, value in changes.items() if key not in ('writer', 'version')})
            one['reviews'] = [{'commit': one['head'], 'at': comment['at'] + 10 - 11 * review.get('before', 0), **review} for review in reviews]
        said = team.apply(merge, 9, APPROVALS='2' if name == 'twice by one' else '1')
        assert reason in said, f'{name}: {said}'
        if name not in ('a comment of another user', 'no pull request'):
            assert reason in team.result(pull), name
        with team.service() as state:
            state['pulls'][pull] = kept[0]
            state['comments'][pull][0] = kept[1]
    team.approve(pull, 'alice')
    apply_outside(team, 'b', {'serve': 3})
    before = team.sim.counters()['mutating']
    said = team.apply(merge, 9)
    assert 'no longer the one that was approved' in said and '2 to destroy' in said
    shown = team.comment(pull)
    assert '5 to add' in shown and '2 to destroy' not in shown, 'what was approved stays to read'
    assert team.sim.counters()['mutating'] == before == 5


@on('github')
def test_what_is_approved_is_the_text_of_the_plan(team):
    """Anyone who has a token of the same user can edit the comment, and leave its marker as it is."""
    pull = team.pull({'b.yaml': spec('b', pools={'serve': 1}) + 'expires: 36h\n'})
    team.plan(pull)
    honest = team.comment(pull)
    lies = ('**No changes.**', re.sub('to add', 'to leave', honest.split('\n', 1)[1]))
    merge = None
    for lie in lies:
        marker, report = honest.split('\n', 1)
        n = int(re.search('lines=([0-9]+)', marker).group(1))
        lines = lie.split('\n')[:n] + [''] * (n - len(lie.split('\n')))
        team.rewrite(pull, '\n'.join([marker, *lines, *report.split('\n')[n:]]))
        team.approve(pull, 'alice')
        merge = merge or team.merge(pull)
        said = team.apply(merge, 9)
        assert 'is not that of the plan' in said and re.search('^> .*to add', said, re.M), said
        assert 'is not that of the plan' in team.result(pull) and team.sim.counters()['mutating'] == 0
    team.rewrite(pull, honest.replace('\n', '\r\n'))
    team.approve(pull, 'alice')
    team.apply(merge)
    assert '**Applied**' in team.result(pull) and len(team.sim.live_instances()) == 2


@on('github')
def test_a_comment_that_hides_its_plan_is_refused(team):
    """Someone who edits the comment can neither put the plan into the marker's own HTML comment or a fold, nor say more below it, nor
    name a log of another place."""
    pull = team.pull({'b.yaml': spec('b', pools={'serve': 2})})
    team.plan(pull)
    team.push(pull, {'b.yaml': spec('b', pools={'serve': 1})})
    team.plan(pull)
    honest = team.comment(pull)
    marker, rest = honest.split('\n', 1)
    n = int(re.search('lines=([0-9]+)', marker).group(1))
    report, status = rest.split('\n')[:n], rest.split('\n')[n:]
    fold = status.index('<details><summary>Earlier plans</summary>')
    below, merge = 'the text below the plan was edited', None
    for lie, code, reason in [
            ([marker.removesuffix(' -->'), *report, '-->', '**No changes.**', *status], 1, 'was edited: delete the comment'),
            ([marker + ' <details><summary>No changes.</summary>', '', *report, '</details>', *status], 1, 'was edited: delete the comment'),
            ([marker, *report, '', '**Correction: no changes.**', *status], 9, below),
            ([marker, *report, '', '**Nothing to apply:** all of the above is obsolete.', *status[3:]], 9, below),
            ([marker, *report, *status, '**Correction: no changes.**'], 9, below),
            ([re.sub(',.* -->', ' -->', marker), *report, *status[:fold + 1], '', '</details>', '', '**Correction: no changes.**'], 9, below),
            ([marker, *report, *status[:fold + 5], '`' * 9, '</details></details>', '**Correction: no changes.**', *status[fold + 8:]], 9, below),
            ([marker, *report, *(re.sub(r'^(\[Log of the job\]\(https://[^/]+/)\w+', r'\1lies', line) for line in status)], 9, below),
            ([marker, report[0].replace(' ', '\r', 1), *report[1:], *status], 9, 'is not that of the plan')]:
        team.rewrite(pull, '\n'.join(lie))
        team.approve(pull, 'alice')
        merge = merge or team.merge(pull)
        said = team.apply(merge, code)
        assert reason in said and team.sim.counters()['mutating'] == 0, said
    team.rewrite(pull, honest)
    team.approve(pull, 'alice')
    team.apply(merge)
    assert '**Applied**' in team.result(pull) and len(team.sim.live_instances()) == 2


@on('github', 'gitlab')
def test_what_loosens_a_limit_can_be_merged(team):
    """The warning about it is the same before and after the merge, although other commits are compared."""
    team.commit({'raygpu.yaml': 'budget: {hourly_usd: 100}\n'})
    pull = team.pull({'b.yaml': spec('b', pools={'serve': 1}), 'raygpu.yaml': 'budget: {hourly_usd: 200}\nignore_tags: ["x:*"]\n'})
    team.plan(pull)
    shown = ' '.join(team.comment(pull).split())
    assert re.search(r'looser than at \S*origin/main, which has no effect', shown) and 'has more entries' in shown, shown
    team.approve(pull, 'alice')
    team.apply(team.merge(pull))
    assert '**Applied**' in team.result(pull) and len(team.sim.live_instances()) == 7


@on('gitlab')
def test_limits_are_those_of_the_target_now(team):
    """Not those of the commit where the branch begins, which its author chooses."""
    pull = team.pull({'b.yaml': spec('b', pools={'serve': 9})})
    team.origin.git('checkout', '-q', 'main')
    team.commit({'raygpu.yaml': 'policy: {max_nodes: 5}\n'})
    said = team.plan(pull, code=9)
    where = '' if team.forge == 'github' else 'refs/remotes/origin/main:'  # GitHub checks out the merge
    assert 'policy.max-nodes' in said and f'policy: {where}clusters/raygpu.yaml:1:' in said, said
    assert 'policy.max-nodes' in team.comment(pull) and 'Saved the plan' not in said


@on('gitlab')
def test_an_approval_is_of_the_text_that_the_comment_has_since(team):
    """Planned again for the same commit in a changed world: nobody has approved the new plan. No text of the comment, which anyone with a
    token of its user can edit, says since when it is there: the service does."""
    pull = team.pull({'b.yaml': spec('b', pools={'serve': 1})})
    team.plan(pull)
    team.approve(pull, 'alice')
    apply_outside(team, 'b', {'serve': 2})
    team.plan(pull)
    assert '1 to destroy' in team.comment(pull) and 'Earlier plans' in team.comment(pull)
    team.approve(pull, 'bob')
    team.plan(pull)  # the same plan does not take back an approval, and folds nothing
    assert team.comment(pull).count('<summary>Commit') == 1
    merge = team.merge(pull)
    with team.service() as state:
        bob = state['pulls'][pull]['reviews'].pop()
    before = team.sim.counters()['mutating']
    assert 'has 0 of 1 approvals' in team.apply(merge, 9) and team.sim.counters()['mutating'] == before
    with team.service() as state:
        state['pulls'][pull]['reviews'].append(bob)
        edited = dict(state['comments'][pull][0])
    team.rewrite(pull, team.comment(pull).replace(' shown= ', ' shown=2001-01-01T00:00:00Z '))
    assert 'has 0 of 1 approvals' in team.apply(merge, 9) and team.sim.counters()['mutating'] == before
    with team.service() as state:
        state['comments'][pull][0] = edited
    team.apply(merge)
    assert '**Applied**' in team.result(pull) and len(team.sim.live_instances()) == 2


def apply_outside(team, cluster, pools):
    team.origin.write('../outside.yaml', spec(cluster, pools=pools))
    team.origin.run('apply', '../outside.yaml', '--auto-approve', '--state', team.path('state.db'))


@on()
def test_a_marker_of_another_user(team):
    """Who plants a comment with a plan of their own neither stops ours nor replaces it."""
    pull = team.pull({'b.yaml': spec('b', pools={'serve': 1})})
    with team.service() as state:
        planted = {'id': 5, 'user': 'guest', 'at': state['now'], 'body': f'<!-- raygpu:pull-request head={"a" * 40} plan=none shown= lines=1 -->\nx'}
        state['comments'][pull] = [dict(planted)]
    team.plan(pull)
    assert team.look('comments')[pull][0] == planted and '5 to add' in team.comment(pull)
    with team.service() as state:
        state['comments'][pull][1]['user'] = 'guest'
    team.approve(pull, 'alice')
    assert 'has no comment with a plan' in team.apply(team.merge(pull), 9)
    assert team.sim.counters()['mutating'] == 0


@on()
def test_the_comment_is_found_on_the_second_page(team):
    pull = team.pull({'b.yaml': spec('b', pools={'serve': 1})})
    with team.service() as state:
        state['comments'][pull] = [{'id': at, 'user': 'guest', 'at': state['now'], 'body': 'words'} for at in range(130)]
    team.plan(pull)
    team.push(pull, {'b.yaml': spec('b', pools={'serve': 2})})
    team.plan(pull)
    assert 'Earlier plans' in team.comment(pull)


@on()
def test_pull_requests_without_a_cluster(team):
    pull = team.pull({'notes.txt': 'hello'})
    assert 'No spec has changed' in team.plan(pull)
    assert team.look('comments') == {}
    team.push(pull, {'b.yaml': spec('b', pools={'serve': 1})})
    team.plan(pull)
    team.push(pull, {'b.yaml': spec('b', pools={'serve': 4})})
    team.plan(pull)
    assert 'No spec has changed' in team.comment(pull).split('Earlier plans')[0]
    team.apply(team.merge(pull))
    assert team.sim.counters()['mutating'] == 0


@on()
def test_a_plan_that_fails(team):
    pull = team.pull({'b.yaml': spec('b', pools={'serve': 1}) + 'color: red\n'})
    team.plan(pull, code=4)
    said = team.comment(pull)
    assert 'plan=none' in said and 'unknown key' in said and 'failed with exit code 4' in said
    team.approve(pull, 'alice')
    assert '**Not applied:**' in team.apply(team.merge(pull), 4)
    assert 'failed with exit code 4' in team.result(pull) and team.sim.counters()['mutating'] == 0


@on('github')
def test_what_fails_is_said_and_what_is_left_is_applied_later(team):
    pull = team.pull({'b.yaml': spec('b', pools={'serve': 2})})
    team.plan(pull)
    team.approve(pull, 'alice')
    merge = team.merge(pull)
    team.sim.fault(action='RunInstances', when='before', status=400, code='InvalidParameterValue', message='a ```` fence', count=0)
    team.apply(merge, 3)
    said = team.result(pull)
    assert '**Not or partially applied:** exit code 3' in said and 'InvalidParameterValue' in said
    assert 'to add' in team.comment(pull).split('Earlier plans')[0] and '6 to add' not in team.comment(pull).split('Earlier plans')[0]
    team.sim.faults_clear()
    assert 'has 0 of 1 approvals' in team.apply(merge, 9), 'the comment shows what is left, which nobody has approved'
    team.approve(pull, 'alice')
    team.apply(merge)
    assert '**Applied**' in team.result(pull) and 'approved by `alice`' in team.result(pull)
    assert len(team.sim.live_instances()) == 3


@on()
def test_another_run_was_faster(team):
    """Between the plan and the apply of a job: the plan is stale, and the new one is not what was approved."""
    pull = team.pull({'b.yaml': spec('b', pools={'serve': 1})})
    team.plan(pull)
    team.approve(pull, 'alice')
    outside = team.origin.write('../outside.yaml', spec('b', pools={'serve': 3}))
    team.fault('GET', '(reviews|approvals)$', 0, run=[binary(), 'apply', outside, '--auto-approve', '--state', team.path('state.db')])
    said = team.apply(team.merge(pull), 9)
    assert 'plan.stale' in said and 'no longer the one that was approved' in said and '**Not applied:**' in team.result(pull)
    assert len(team.sim.live_instances()) == 4


@on()
def test_a_cancelled_job_goes_on_in_the_next(team):
    """GitHub signals the first process of a step only, which is the script."""
    pull = team.pull({'b.yaml': spec('b', pools={'serve': 2})})
    team.plan(pull)
    team.approve(pull, 'alice')
    merge = team.merge(pull)
    team.sim.knobs(latency_by_action={'RunInstances': 15000})

    def cancel(process):
        while process.poll() is None and not team.sim.counters()['mutating']:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
    team.apply(merge, 130, during=cancel)
    assert 'exit code 130' in team.result(pull)
    team.approve(pull, 'alice')
    team.sim.knobs(latency_by_action={})
    team.apply(merge)
    assert '**Applied**' in team.result(pull) and len(team.sim.live_instances()) == 3


@on()
def test_passing_faults_of_the_service(team):
    pull = team.pull({'b.yaml': spec('b', pools={'serve': 1})})
    team.fault('GET', '(comments|notes)$', 502, 2)
    team.fault('POST', '(comments|notes)$', 504, done=True)
    team.plan(pull)
    assert '5 to add' in team.comment(pull)
    team.fault('(PATCH|PUT)', '(comments|notes)/[0-9]+$', 500)
    team.push(pull, {'b.yaml': spec('b', pools={'serve': 2})})
    team.plan(pull)
    assert '6 to add' in team.comment(pull)


@on()
def test_lasting_faults_of_the_service(team):
    pull = team.pull({'b.yaml': spec('b', pools={'serve': 1})})
    team.fault('GET', '(comments|notes)$', 403, 99)
    said = team.plan(pull, code=1)
    assert 'HTTP 403' in said and len([1 for call in team.look('calls') if re.search('(comments|notes)', call[1])]) == 1, 'not tried again'
    with team.service() as state:
        state['faults'] = []
    team.plan(pull)
    team.approve(pull, 'alice')
    # the apply is done and says so, but the job fails: nobody could read it
    team.fault('(POST|PATCH|PUT)', '.', 502, 99)
    said = team.apply(team.merge(pull), 1)
    assert '**Applied**' in said and len(team.sim.live_instances()) == 2


@on('github')
def test_names_are_only_text(team):
    """Branch, message and file names of a pull request run nothing and become no mark-up."""
    nasty = '$(touch${IFS}pwned)`touch${IFS}pwned`;touch${IFS}pwned;'
    text = spec('b', pools={'serve': 1}).replace('team: ml', 'team: "a ``` @everyone <!-- x --> https://example.org/x"')
    pull = team.pull({f'{nasty} --> .yaml': text, 'b.yaml': None}, branch=nasty, message=f'{nasty}\n\n<!-- raygpu:pull-request head=')
    team.plan(pull)
    said = team.comment(pull)
    outside = re.sub(r'(?ms)^(`{3,})\w*\n.*?^\1$', '', said)
    assert '@everyone' not in re.sub('`[^`]*`', '', outside) and outside.count('<!--') == 1
    assert outside.count('<details>') == outside.count('</details>') == 1
    team.push(pull, {f'{nasty} --> .yaml': text.replace('T4:1', 'T4:4')})
    team.plan(pull)
    outside = re.sub(r'(?ms)^(`{3,})\w*\n.*?^\1$', '', team.comment(pull))
    assert outside.count('<details>') == outside.count('</details>') == 3 and outside.count('<!--') == 1
    team.approve(pull, 'alice')
    team.apply(team.merge(pull))
    assert not [name for _, _, names in os.walk(team.folder) for name in names if name == 'pwned']


@on('github')
def test_a_plan_that_is_not_shown_whole_cannot_be_approved(team):
    """Neither is it applied if someone writes into the comment that it can be: the log may be that of any job."""
    pull = team.pull({'b.yaml': spec('b', pools={'serve': 2400})})
    team.plan(pull)
    said = team.comment(pull)
    assert "more lines are in the job's log" in said
    assert '2404 to add' in said and 'cannot be approved here' in said and 'Approve commit' not in said and ' plan=none ' in said
    team.approve(pull, 'alice')
    merge = team.merge(pull)
    assert 'no whole plan was shown that could be approved' in team.apply(merge, 9) and 'by hand' in team.result(pull)
    head = team.look('pulls')[pull]['head']
    text = re.sub('It cannot be approved here.*', f'Approve commit `{head[:12]}`: the job of its merge then applies exactly this plan.', said)
    text = re.sub("[0-9]+ more lines are in the job's log", 'These are all', text).replace(' plan=none ', f' plan={sum_of_the_plan(team)} ')
    team.rewrite(pull, text)
    team.approve(pull, 'alice')
    said = team.apply(merge, 9)
    assert 'is not that of the plan' in said, said
    assert team.sim.counters()['mutating'] == 0


def sum_of_the_plan(team):
    """As the job computes it."""
    team.origin.run('plan', 'clusters/b.yaml', '--out', 'b.json', '--state', team.path('state.db'))
    text = subprocess.run(['jq', '--compact-output', '--sort-keys', '--from-file', str(CI / 'plan-sum.jq'), team.origin.path('b.json')],
                          check=True, capture_output=True).stdout
    os.unlink(team.origin.path('b.json'))
    return hashlib.sha256(text).hexdigest()
