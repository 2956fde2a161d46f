"""Reads and writes the importer's tables, and reports what was left out."""
import csv
import os

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..'))
MORE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'more')

listed_only = False   # import.py --listed


def read(contracts, name):
    """The rows of contracts/NAME, each a dict by the header."""
    with open(os.path.join(contracts, name), newline='') as f:
        return list(csv.DictReader(f))


def read_more(contracts, name):
    """The same, and the rows of more/NAME beside this file: types that the contracts folder lacks."""
    return read(contracts, name) + read(MORE, name)


def write(path, columns, rows):
    """Writes ROOT/PATH; None is an empty cell."""
    os.makedirs(os.path.dirname(os.path.join(ROOT, path)), exist_ok=True)
    with open(os.path.join(ROOT, path), 'w', newline='') as f:
        out = csv.writer(f, lineterminator='\n')
        out.writerow(columns)
        count = 0
        for row in rows:
            assert len(row) == len(columns), row
            out.writerow(row)
            count += 1
    print(f'{path}: {count} rows')


def told(path, row, reason):
    """Reports that ROW of PATH was dropped or changed, and why."""
    print(f'{path}: {row}: {reason}')
