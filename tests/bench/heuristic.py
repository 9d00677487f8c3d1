#!/usr/bin/env python3
"""How far the list's own choice is from the best row, and the best own row from the peer, over layers.

    heuristic.py BENCH.json... [--statistic median_ms|p10_ms|cpu_ms] [--limit BYTES]

Reads files of `convlens bench --json`. A benchmark's report, not a test: exit status 0. On a machine that others use too,
take one thread and cpu_ms, the processor's time: it does not count the waiting for a core.
"""
import argparse
import json
import math
import sys


def rows_of(paths):
    for path in paths:
        with open(path, encoding='utf-8') as file:
            report = json.load(file)
        shared = report['machine'].get('shared')
        print(f"{path}: {report['machine']['device']}, other programs took "
              f"{'an unknown share' if shared is None else f'{100 * shared:.0f} %'} of the processor")
        yield from report['rows']


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('files', nargs='+')
    parser.add_argument('--statistic', default='median_ms', choices=['median_ms', 'p10_ms', 'cpu_ms'])
    parser.add_argument('--limit', type=int, help='rows with a larger workspace are left out')
    args = parser.parse_args()
    groups = {}
    for row in rows_of(args.files):
        if row['op'] != 'convolution' or row['status'] != 'ok' or not row['admitted']:
            continue
        if args.limit is not None and row['workspace_bytes'] > args.limit:
            continue
        groups.setdefault((row['direction'], row['precision'], row['problem']), []).append(row)
    summary = {}
    print(f"\n{'direction':11}{'layer':22}{'best own':26}{'ms':>9}  {'choice':26}{'× best':>8}{'peer × own':>12}")
    for (direction, precision, problem), rows in groups.items():
        own = [r for r in rows if not r['algorithm'].startswith('peer:')]
        peers = [r for r in rows if r['algorithm'].startswith('peer:')]
        if not own:
            continue
        best = min(own, key=lambda r: r[args.statistic])
        chosen = next((r for r in own if r['chosen']), None)
        ratio = chosen[args.statistic] / best[args.statistic] if chosen else math.nan
        peer = min(r[args.statistic] for r in peers) / best[args.statistic] if peers else math.nan
        print(f"{direction:11}{problem:22}{best['algorithm']:26}{best[args.statistic]:9.4f}  "
              f"{chosen['algorithm'] if chosen else '-':26}{ratio:8.2f}{peer:12.2f}")
        summary.setdefault((direction, precision), []).append((ratio, peer))
    print()
    for (direction, precision), figures in summary.items():
        ratios = [r for r, _ in figures if not math.isnan(r)]
        peers = [p for _, p in figures if not math.isnan(p)]
        text = f'{direction}, {precision}: '
        if ratios:
            text += (f'choice within 10 % in {sum(r <= 1.1 for r in ratios)} of {len(ratios)}, '
                     f'mean ×{math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}, most ×{max(ratios):.2f}')
        if peers:
            text += (f'; peer over own: geometric mean {math.exp(sum(map(math.log, peers)) / len(peers)):.2f}, '
                     f'least {min(peers):.2f} over {len(peers)} layers')
        print(text)
    return 0


if __name__ == '__main__':
    sys.exit(main())
