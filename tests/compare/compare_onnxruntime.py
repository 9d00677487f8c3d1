#!/usr/bin/env python3
"""Every tensor of every network against onnxruntime.

The program dumps its input tensor and all intermediate tensors (`convlens run --dump-maps`); onnxruntime is fed the same
input tensor with every node's output made a graph output. Each tensor of the same name must agree within 1e-4 of the
largest magnitude in onnxruntime's, and the outputs within 1e-4 absolute or relative to it.

    compare_onnxruntime.py CONVLENS --suite bundled|algorithms|light|random [--random-tool PROGRAM] [--assets DIR] [--light DIR]
Exit status: 0 agreed, 1 not, 77 skipped (with the reason).
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
except ImportError as error:
    print(f'skipped: {error}: tests/requirements.txt is not installed')
    sys.exit(77)

TOLERANCE = 1e-4
BUNDLED = ['efficientnet-lite0', 'face-finder', 'face-landmarks', 'upscale2x-photo']
PHOTOS = ['chelsea', 'coffee', 'rocket', 'astronaut']
CONVOLUTION_ALGORITHMS = ['direct', 'im2col_gemm', 'implicit_gemm', 'implicit_precomp_gemm', 'winograd_2x2',
                          'winograd_4x4', 'depthwise', 'pointwise']


class Reference:
    """A model in onnxruntime with all intermediate tensors as outputs."""

    def __init__(self, path):
        model = onnx.load(path)
        initializers = {t.name for t in model.graph.initializer}
        self.output_names = [o.name for o in model.graph.output]
        known = set(self.output_names)
        for node in model.graph.node:
            for name in node.output:
                if name and name not in known:
                    known.add(name)
                    model.graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        if model.ByteSize() > 1 << 30:
            raise ValueError(f'{path}: too large to be handed over')
        self.session = ort.InferenceSession(model.SerializeToString(), options, providers=['CPUExecutionProvider'])
        self.input_name = [i.name for i in model.graph.input if i.name not in initializers][0]

    def run(self, x):
        names = [o.name for o in self.session.get_outputs()]
        return dict(zip(names, self.session.run(names, {self.input_name: x})))


def dump(program, model, picture, folder, extra):
    command = [program, 'run', str(model), str(picture), '--json', str(folder / 'run.json'), '--dump-maps', str(folder),
               *extra]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(f'{" ".join(command)}: exit status {run.returncode}: {run.stderr.strip()}')
    index = json.loads((folder / 'index.json').read_text())
    index = index.get('tensors', index)
    return {name: folder / entry['file'] for name, entry in index.items()}, json.loads((folder / 'run.json').read_text())


def compare(label, reference, files):
    """Number of tensors compared and the list of disagreements."""
    if reference.input_name not in files:
        return 0, [f'{label}: the input tensor {reference.input_name} was not dumped']
    expected = reference.run(np.load(files[reference.input_name]))
    faults, compared, worst = [], 0, 0.0
    for name, path in files.items():
        if name not in expected or not np.issubdtype(expected[name].dtype, np.floating):
            continue
        want, got = expected[name], np.load(path)
        if want.shape != got.shape:
            faults.append(f'{label}: {name}: shape {got.shape}, onnxruntime {want.shape}')
            continue
        compared += 1
        scale = float(np.max(np.abs(want))) if want.size else 0.0
        error = float(np.max(np.abs(want.astype(np.float64) - got))) if want.size else 0.0
        worst = max(worst, error / scale if scale > 0 else error)
        if not error <= TOLERANCE * scale and not error == 0:
            faults.append(f'{label}: {name}: error {error:.3g}, largest magnitude {scale:.3g}')
        if name in reference.output_names and not error <= TOLERANCE * max(1.0, scale):
            faults.append(f'{label}: output {name}: error {error:.3g}')
    missing = [name for name in reference.output_names if name not in files]
    if missing:
        faults.append(f'{label}: outputs not dumped: {missing}')
    print(f'{label}: {compared} tensors, worst {worst:.2g} of the largest magnitude')
    return compared, faults


def check(program, label, model, picture, reference, extra, faults):
    with tempfile.TemporaryDirectory() as folder:
        try:
            files, report = dump(program, model, picture, pathlib.Path(folder), extra)
        except (RuntimeError, OSError, ValueError, KeyError) as error:
            faults.append(f'{label}: {error}')
            return None
        faults.extend(compare(label, reference, files)[1])
        return report


def suite_bundled(args, faults):
    for name in BUNDLED:
        model = args.assets / 'models' / f'{name}.onnx'
        reference = Reference(model)
        for photo in PHOTOS:
            for mode in ['explore', 'lean']:
                report = check(args.convlens, f'{name} {photo} {mode}', model, args.assets / 'photos' / f'{photo}.jpg',
                               reference, ['--mode', mode], faults)
                if report and name == 'efficientnet-lite0':
                    labels = [t['label'] for t in report['inputs'][0]['top']]
                    if photo == 'chelsea' and set(labels[:3]) != {'Egyptian cat', 'tiger cat', 'tabby'}:
                        faults.append(f'{name} {photo} {mode}: top three {labels[:3]}')
                    if photo == 'coffee' and labels[0] != 'espresso':
                        faults.append(f'{name} {photo} {mode}: first is {labels[0]}')


def suite_algorithms(args, faults):
    """Each algorithm forced wherever it can be, in both modes."""
    for name in BUNDLED:
        model = args.assets / 'models' / f'{name}.onnx'
        reference = Reference(model)
        for algorithm in CONVOLUTION_ALGORITHMS:
            for mode in ['explore', 'lean']:
                report = check(args.convlens, f'{name} {algorithm} {mode}', model, args.assets / 'photos' / 'chelsea.jpg',
                               reference, ['--mode', mode, '--algo', algorithm], faults)
                if report:
                    used = sum(layer['algorithm'] == algorithm for layer in report['layers'])
                    print(f'    {used} layers by {algorithm}')


def suite_light(args, faults):
    for model in sorted(args.light.glob('light_*.onnx')):
        if model.stat().st_size == 0:
            continue
        check(args.convlens, f'{model.stem} as shipped', model, args.assets / 'photos' / 'coffee.jpg', Reference(model), [],
              faults)


def suite_random(args, faults):
    """The light networks with seeded random weights: equal weights hide index errors."""
    for model in sorted(args.light.glob('light_*.onnx')):
        with tempfile.TemporaryDirectory() as folder:
            random_model = pathlib.Path(folder) / model.name
            made = subprocess.run([args.random_tool, str(model), '7', str(random_model)], capture_output=True, text=True)
            if made.returncode != 0:
                faults.append(f'{model.stem}: random weights: {made.stderr.strip()}')
                continue
            reference = Reference(random_model)
            for mode in ['explore', 'lean']:
                check(args.convlens, f'{model.stem} random weights {mode}', random_model,
                      args.assets / 'photos' / 'rocket.jpg', reference, ['--mode', mode], faults)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('convlens')
    parser.add_argument('--suite', required=True, choices=['bundled', 'algorithms', 'light', 'random'])
    parser.add_argument('--assets', type=pathlib.Path, required=True)
    parser.add_argument('--light', type=pathlib.Path, required=True)
    parser.add_argument('--random-tool')
    args = parser.parse_args()
    faults = []
    globals()[f'suite_{args.suite}'](args, faults)
    for fault in faults:
        print(f'FAULT {fault}')
    print(f'{len(faults)} faults')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
