#!/usr/bin/env python3
"""The ladder of docs/performance.md: what each step gains, all rungs interleaved in one run, beside onnxruntime.

    ladder.py CONVLENS [--model MODEL] [--rounds 5] [--threads N]
"""
import argparse
import os
import pathlib
import statistics

import numpy as np

from pace_onnxruntime import ROOT, SYMBOLIC, convlens_report, onnxruntime_ms, session

RUNGS = [
    ('every convolution by definition (`direct`)', 'explore', ['--algo', 'direct'], 3),
    ('im2col and matrix product (`im2col_gemm`)', 'explore', ['--algo', 'im2col_gemm'], 5),
    ('no matrix in memory (`implicit_gemm`)', 'explore', ['--algo', 'implicit_gemm'], 5),
    ("the list's choice (`depthwise`, `pointwise`, Winograd where preferred)", 'explore', [], 40),
    ('lean: batch norm folded, bias, residual and activation fused, memory reused', 'lean', [], 40),
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('convlens')
    parser.add_argument('--model', default=str(ROOT / 'assets/models/efficientnet-lite0.onnx'))
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--threads', type=int, default=os.cpu_count())
    args = parser.parse_args()
    s = session(args.model, args.threads)
    peer, rows, x = [], {r[0]: [] for r in RUNGS}, None
    for _ in range(args.rounds):
        for name, mode, extra, passes in RUNGS:
            report = convlens_report(args.convlens, args.model, mode, passes, args.threads, extra)
            rows[name].append(report['total']['median_ms'])
            if x is None:
                dims = report.get('input_shape') or [d if isinstance(d, int) else SYMBOLIC.get(d, 1)
                                                     for d in s.get_inputs()[0].shape]
                x = np.random.default_rng(1).standard_normal(dims).astype(np.float32)
        peer.append(onnxruntime_ms(s, x, 40))
    print(f'{pathlib.Path(args.model).stem}, {args.threads} threads, {args.rounds} rounds')
    print('| step | pass, ms (least to most) | of the step before | of onnxruntime |')
    print('|---|--:|--:|--:|')
    before = None
    for name, values in rows.items():
        median = statistics.median(values)
        step = f'{statistics.median(v / b for v, b in zip(values, before)):.2f}' if before else ''
        ratio = statistics.median(v / p for v, p in zip(values, peer))
        print(f'| {name} | {median:.2f} ({min(values):.2f} to {max(values):.2f}) | {step} | {ratio:.2f} |')
        before = values
    print(f'| onnxruntime, all its optimisations | {statistics.median(peer):.2f} ({min(peer):.2f} to {max(peer):.2f}) | | 1 |')


if __name__ == '__main__':
    main()
