"""tests/bench in small, so that it can't rot: a plan of a cluster that is as recorded says so, makes as many calls as
there are pages, and takes memory in proportion. Times are for reading (tests/bench/README.md), not for asserting."""
import os
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, 'bench'), os.path.join(TESTS, 'cli')]
import refresh  # noqa: E402


def test_a_refresh_costs_calls_by_pages_and_memory_by_nodes():
    rss = {}
    for nodes, pages in ((100, 3), (1100, 4), (2100, 5)):
        # it raises when plan finds a change, warns, or makes more or fewer calls than curl needs
        ours, _, world = refresh.measure(nodes, 1)
        assert world.calls == pages
        assert ours[0].calls == pages
        rss[nodes] = ours[0].rss_mib
    first, second = rss[1100] - rss[100], rss[2100] - rss[1100]
    # A page of 1,000 costs its text besides, from the first one on; 10 KiB a node are twice what it is.
    assert second < max(first, 10), rss


def test_indented_answers_are_read_the_same():
    ours, _, world = refresh.measure(1100, 1, indented=True)
    assert ours[0].calls == world.calls == 4
