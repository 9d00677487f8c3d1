#!/usr/bin/env python3
"""How fast a pass is beside onnxruntime's, on the same cores, interleaved: a benchmark, not a test.

    pace_onnxruntime.py CONVLENS [MODEL.onnx ...] [--rounds 7] [--passes 40] [--threads N]

Each round measures, one after the other, onnxruntime (all its optimisations), lean and explore; a round's figure is the
median of its passes, the table gives the median over rounds, their spread, and ratios within rounds (machines are shared:
only ratios compare).
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import time

import numpy as np
import onnxruntime as ort

ROOT = pathlib.Path(__file__).resolve().parents[2]
SYMBOLIC = {'H': 96, 'W': 96, 'N': 1}


def session(path, threads):
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return ort.InferenceSession(str(path), options, providers=['CPUExecutionProvider'])


def onnxruntime_ms(s, x, passes):
    name = s.get_inputs()[0].name
    times = []
    for i in range(passes + 3):
        start = time.perf_counter()
        s.run(None, {name: x})
        if i >= 3:
            times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def convlens_report(program, model, mode, passes, threads, extra=()):
    run = subprocess.run([program, 'run', str(model), str(ROOT / 'assets/photos/chelsea.jpg'), '--mode', mode, '--json', '-',
                          '--threads', str(threads), '--passes', str(passes), *extra], capture_output=True, text=True, check=True)
    return json.loads(run.stdout[run.stdout.index('{'):])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('convlens')
    parser.add_argument('models', nargs='*', default=[str(ROOT / 'assets/models/efficientnet-lite0.onnx')])
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--passes', type=int, default=40)
    parser.add_argument('--threads', type=int, default=os.cpu_count())
    args = parser.parse_args()
    for model in args.models:
        rows = {'onnxruntime': [], 'lean': [], 'explore': []}
        dims = None
        s = session(model, args.threads)
        for _ in range(args.rounds):
            reports = {m: convlens_report(args.convlens, model, m, args.passes, args.threads) for m in ['lean', 'explore']}
            if dims is None:
                shape = s.get_inputs()[0].shape
                seen = reports['lean'].get('input_shape')
                dims = seen or [d if isinstance(d, int) else SYMBOLIC.get(d, 1) for d in shape]
                x = np.random.default_rng(1).standard_normal(dims).astype(np.float32)
            rows['onnxruntime'].append(onnxruntime_ms(s, x, args.passes))
            for mode in reports:
                rows[mode].append(reports[mode]['total']['median_ms'])
        print(f'{pathlib.Path(model).stem}  input {dims}  {args.threads} threads  {args.rounds} rounds of {args.passes} passes')
        for name, values in rows.items():
            ratios = [v / o for v, o in zip(values, rows['onnxruntime'])]
            print(f'  {name:12} {statistics.median(values):8.3f} ms  ({min(values):.3f} to {max(values):.3f})  '
                  f'{statistics.median(ratios):5.2f} x onnxruntime')


if __name__ == '__main__':
    main()
