"""Which prices are refused, because a table of prices cannot be trusted blindly: they decide what is bought.

Pure: a dict of prices, (region, zone, instance_type, kind) -> (usd, quality, date), gives the refused keys with the
reason. tests/cli/fit/test_price_import.py plants each fault."""
import re
import statistics

# On demand, of the median of the type's other regions. The dearest region of the collected tables is 1.9 times
# the cheapest one.
LEAST, MOST = 0.4, 3.0
# Of the on-demand price: below it, the unit is wrong (a price per GPU or per vCPU).
LEAST_SPOT = 0.02
# Windows costs USD 0.046 more per vCPU, on every size.
WINDOWS = r'as_v\d$', 's_v'


def refuse(prices):
    return {**out_of_line(prices), **dear_spot(prices), **windows(prices)}


def out_of_line(prices):
    """A type's price that the other regions don't bear out."""
    by_type, found = {}, {}
    for (region, _, name, kind), (usd, _, _) in prices.items():
        if kind == 'on_demand' and usd:
            by_type.setdefault(name, {})[region] = float(usd)
    for key, (usd, _, _) in prices.items():
        region, _, name, kind = key
        others = [p for r, p in by_type.get(name, {}).items() if r != region]
        if kind != 'on_demand' or not usd or not others:
            continue
        part = float(usd) / statistics.median(others)
        if not LEAST <= part <= MOST:
            found[key] = f'{usd} USD/h is {part:.2f} times the median of the other regions'
    return found


def dear_spot(prices):
    """A spot price that is not below the on-demand price is a placeholder, not an offer."""
    found = {}
    for key, (usd, quality, _) in prices.items():
        region, _, name, kind = key
        if kind != 'spot':
            continue
        whole = prices.get((region, '', name, 'on_demand'), ('', '', ''))[0]
        if quality == 'observed_equals_on_demand' or (whole and float(usd) >= float(whole)):
            found[key] = f'spot price {usd} is not below the on-demand price'
        elif whole and float(usd) < LEAST_SPOT * float(whole):
            found[key] = f'spot price {usd} is below {LEAST_SPOT:.0%} of the on-demand price'
    return found


def windows(prices):
    """With Linux, an AMD host (D16as_v5) is never more expensive than the Intel equivalent (D16s_v5)."""
    found = {}
    for key, (usd, _, _) in prices.items():
        region, zone, name, kind = key
        part, instead = WINDOWS
        sibling = prices.get((region, zone, re.sub(part, lambda m: instead + m[0][-1], name), kind))
        if kind != 'on_demand' or not usd or not re.search(part, name) or not sibling or not sibling[0]:
            continue
        if float(usd) > float(sibling[0]):
            found[key] = f'{usd} USD/h, above {sibling[0]} of the Intel sibling, is the price with Windows'
    return found
