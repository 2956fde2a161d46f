"""raygpu graph: DOT that is valid for Graphviz' grammar, in the plan's own order."""
import re

from program import Home, spec
from sim_server import Sim

# graphviz.org/doc/info/lang.html, the part that is printed: quoted ids, node and edge statements
STATEMENT = re.compile(r'^  ("(?:[^"\\]|\\.)*")(?: -> ("(?:[^"\\]|\\.)*"))?(?: \[(label|style)=("(?:[^"\\]|\\.)*"|\w+)\])?$')


def parsed(text):
    lines = text.rstrip('\n').split('\n')
    assert re.match(r'^digraph "[^"]*" \{$', lines[0]) and lines[-1] == '}'
    boxes, edges = {}, []
    for line in lines[3:-1]:
        tail, head, kind, value = STATEMENT.match(line).groups()
        if head:
            edges.append((tail.strip('"'), head.strip('"'), value == 'dashed'))
        else:
            assert kind == 'label'
            boxes[tail.strip('"')] = value
    assert all(a in boxes and b in boxes for a, b, _ in edges)
    return boxes, edges


def needs(edges, start):
    reached, more = set(), [start]
    while more:
        at = more.pop()
        for a, b, _ in edges:
            if a == at and b not in reached:
                reached.add(b)
                more.append(b)
    return reached


def test_the_graph_of_a_spec_of_a_plan_and_of_the_state(tmp_path):
    with Sim('--boot-ms', '20') as sim:
        home = Home(tmp_path, sim.env())
        home.write('cluster.yaml', spec(pools={'train': ('A100:8', 3), 'serve': 1}))
        text = home.run('graph').out
        boxes, edges = parsed(text)
        train = 'aws.instance.train will be created'
        assert boxes[train] == '"aws.instance.train, 3 alike\\n+ will be created"'
        assert {'aws.security_group.nodes', 'aws.network_interface.head'} <= needs(edges, 'aws.instance.head')
        assert 'aws.security_group.nodes' in needs(edges, train)
        assert not any(a in needs(edges, a) for a in boxes), 'no circle'
        home.run('plan', '--out', 'p.json')
        assert home.run('graph', 'p.json').out == text
        home.apply()
        home.write('cluster.yaml', spec(pools={'train': ('A100:8', 1), 'serve': 1}))
        boxes, _ = parsed(home.run('graph').out)
        assert boxes['aws.instance.train will be destroyed'].startswith('"aws.instance.train, 2 alike')
        assert 'is in order' in boxes['aws.instance.head']
        assert parsed(home.run('graph', '--cluster', 'research').out)[0]
        assert home.run('graph', 'nope.yaml', code=4).out == ''
