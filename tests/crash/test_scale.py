"""tests/bench on a small scale, so that it keeps working: a plan of a cluster that is as recorded reports that,
makes as many calls as there are pages and one for the account, and needs memory in proportion. Times are for
information (tests/bench/README.md), not asserted."""
import os
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, 'bench'), os.path.join(TESTS, 'cli')]
import refresh  # noqa: E402


def test_a_refresh_costs_calls_by_pages_and_memory_by_nodes():
    rss = {}
    for nodes, calls in ((100, 4), (1100, 5), (2100, 6)):
        # it raises if plan finds a change, warns, or makes more or fewer calls than curl needs
        ours, _, world = refresh.measure(nodes, 1)
        assert world.calls == calls
        assert ours[0].calls == calls
        rss[nodes] = ours[0].rss_mib
    first, second = rss[1100] - rss[100], rss[2100] - rss[1100]
    # A page of 1,000 also costs its text, from the first one on. A node needs 9 to 10 KiB.
    assert second < 1.25 * max(first, 10), rss


def test_indented_answers_are_read_the_same():
    ours, _, world = refresh.measure(1100, 1, indented=True)
    assert ours[0].calls == world.calls == 5
