#!/usr/bin/env python3
"""How fast layers and networks are beside PyTorch with cuDNN on one NVIDIA GPU, in turn in one run: a benchmark, not a test.

    peers_pytorch.py CONVLENS [--rounds 2] [--json OUT] [--layers FILE] [--only layers|networks] [--seconds 0.3]

Layers: those of assets/layers/gpu-layers.csv in fp32 (TF32 off), TF32 and fp16, by `convlens bench` and by cuDNN with its own
search (cudnn.benchmark), both memory formats, each call alone and in a CUDA graph; the best of them counts. Networks: SqueezeNet
1.1, MobileNetV2 and ResNet-18 with random weights at batch 1, PyTorch eager and as a CUDA graph. Ratios are PyTorch's time over
ours: above 1 we are faster. Needs torch with CUDA, numpy and onnx.
"""
import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch

import networks

ROOT = pathlib.Path(__file__).resolve().parents[2]
FP32 = ('exact-order', 'fp32')
# What a request counts: classes of our rows, and the tensors' precision asked of `convlens bench`.
KINDS = {'fp32': ('fp32', FP32), 'tf32': ('fp32', FP32 + ('tf32',)), 'fp16': ('fp16', FP32 + ('tf32', 'fp16'))}
WANTED = {'fp32': 'geometric mean at least 0.8, none under 0.5', 'tf32': 'at least 0.5', 'fp16': 'at least 0.5'}


def ours(program, *arguments):
    with tempfile.NamedTemporaryFile(suffix='.json') as out:
        run = subprocess.run([program, 'bench', '--backend', 'cuda', *map(str, arguments), '--json', out.name],
                             capture_output=True, text=True)
        if run.returncode not in (0, 1):
            sys.exit(f'{program} bench {arguments}: {run.stderr}')
        report = json.load(open(out.name))
    for row in report['rows']:
        if row['status'] == 'failed':
            print(f'FAILED {row["problem"]} {row["algorithm"] or row.get("mode")}: {row["reason"]}')
    return report


def call_ms(work, least_ms=8, samples=7):
    """Median over samples of many calls between two events."""
    work()
    torch.cuda.synchronize()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def sample(count):
        start.record()
        for _ in range(count):
            work()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / count
    once = sample(3)
    count = max(1, min(200, int(least_ms / max(once, 1e-3))))
    return statistics.median(sample(count) for _ in range(samples))


def graph_of(work, calls=1):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            work()
    return graph


def set_tf32(on):
    torch.backends.cuda.matmul.allow_tf32 = on
    torch.backends.cudnn.allow_tf32 = on


def peer_layer(layer, kind):
    """Milliseconds of the best of cuDNN's ways, and which that was."""
    set_tf32(kind == 'tf32')
    dtype = torch.float16 if kind == 'fp16' else torch.float32
    n = {name: int(value) for name, value in layer.items() if name != 'name'}
    best = (float('inf'), '')
    formats = {'channels-last': torch.channels_last, 'packed': torch.contiguous_format}
    for name, memory in formats.items():
        if kind == 'fp16' and name == 'packed':
            continue
        x = torch.randn(n['n'], n['c'], n['h'], n['w'], device='cuda', dtype=dtype).to(memory_format=memory)
        w = torch.randn(n['k'], n['c'] // n['groups'], n['r'], n['s'], device='cuda', dtype=dtype).to(memory_format=memory)

        def work():
            return torch.nn.functional.conv2d(x, w, None, n['stride'], n['pad'], n['dilation'], n['groups'])
        ms = call_ms(work)
        best = min(best, (ms, name))
        if ms < 0.2:  # below that a call costs as much as the work
            graph = graph_of(work, 20)
            best = min(best, (call_ms(graph.replay) / 20, name + ', graph'))
            del graph
    torch.cuda.empty_cache()
    return best


def best_row(rows, layer, classes):
    fit = [r for r in rows if r['problem'] == layer and r['status'] == 'ok' and r['error_class'] in classes]
    return min(fit, key=lambda r: r['median_ms'], default=None)


def row_named(rows, layer, algorithm):
    return next((r for r in rows if r['problem'] == layer and r['algorithm'] == algorithm and r['status'] == 'ok'), None)


def measure_layers(args, layers):
    """Rounds of ours and cuDNN's in turn -> one list of figures."""
    found = {}
    memory = []
    for _ in range(args.rounds):
        reports = {p: ours(args.convlens, '--layers', args.layers, '--precision', p, '--seconds', args.seconds)['rows']
                   for p in ('fp32', 'fp16')}
        for layer in layers:
            for kind, (precision, classes) in KINDS.items():
                row = best_row(reports[precision], layer['name'], classes)
                peer = peer_layer(layer, kind)
                found.setdefault((layer['name'], kind), []).append((row, peer))
            implicit = row_named(reports['fp32'], layer['name'], 'implicit_gemm')
            explicit = row_named(reports['fp32'], layer['name'], 'im2col_gemm')
            if implicit and explicit:
                memory.append((layer['name'], explicit['median_ms'] / implicit['median_ms'],
                               explicit['workspace_bytes'], implicit['workspace_bytes']))
    out = []
    for (name, kind), rounds in found.items():
        rounds = [(row, peer) for row, peer in rounds if row]
        if not rounds:
            out.append({'layer': name, 'kind': kind, 'ratio': None})
            continue
        row, peer = min(rounds, key=lambda r: r[0]['median_ms'])
        out.append({'layer': name, 'kind': kind, 'ms': statistics.median(r['median_ms'] for r, _ in rounds), 'algorithm': row['algorithm'],
                    'gflops': row['gflops'], 'peer_ms': statistics.median(p[0] for _, p in rounds), 'peer': peer[1],
                    'ratio': statistics.median(p[0] / r['median_ms'] for r, p in rounds)})
    return out, memory


def measure_networks(args):
    folder = pathlib.Path(tempfile.mkdtemp())
    built = {}
    for name, make in networks.NETWORKS.items():
        net = make()
        weights = networks.weights_of(net)
        networks.write_onnx(net, weights, folder / f'{name}.onnx')
        built[name] = networks.torch_module(net, weights).cuda()
    files = sorted(str(f) for f in folder.glob('*.onnx'))
    found = {}
    with torch.inference_mode():
        for _ in range(args.rounds):
            for kind in KINDS:
                report = ours(args.convlens, '--suite', 'models', *files, '--precision', kind, '--seconds', args.seconds)
                for row in report['rows']:
                    found.setdefault((row['problem'], kind, row['mode']), []).append(row['median_ms'])
                set_tf32(kind == 'tf32')
                for name, module in built.items():
                    module = module.half() if kind == 'fp16' else module.float()
                    x = torch.randn(1, 3, 224, 224, device='cuda', dtype=torch.float16 if kind == 'fp16' else torch.float32)
                    for memory in (torch.contiguous_format, torch.channels_last):
                        m, y = module.to(memory_format=memory), x.to(memory_format=memory)
                        which = 'eager' if memory == torch.contiguous_format else 'eager, channels-last'
                        found.setdefault((name, kind, which), []).append(call_ms(lambda: m(y), 20, 5))
                        graph = graph_of(lambda: m(y))
                        found.setdefault((name, kind, which.replace('eager', 'graph')), []).append(call_ms(graph.replay, 10, 5))
                        del graph
    return [{'network': n, 'kind': k, 'way': w, 'ms': statistics.median(ms) if None not in ms else None}
            for (n, k, w), ms in found.items()]


def measure_bundled(args):
    """The bundled networks at 224 x 224: ours alone."""
    out = []
    for kind in KINDS:
        report = ours(args.convlens, '--suite', 'models', '--side', 224, '--precision', kind, '--seconds', args.seconds)
        out += [{'network': r['problem'], 'kind': kind, 'mode': r['mode'], 'input': r['input'], 'ms': r['median_ms'],
                 'activations_bytes': r['activations_bytes'], 'reason': r['reason']} for r in report['rows']]
    return out


def print_layers(rows, memory):
    print('\n| layer | precision | ours, ms | algorithm | TFLOP/s | cuDNN, ms | its way | cuDNN / ours |\n|---|---|--:|---|--:|--:|---|--:|')
    for r in rows:
        if r['ratio'] is None:
            print(f'| {r["layer"]} | {r["kind"]} | none | | | | | |')
            continue
        print(f'| {r["layer"]} | {r["kind"]} | {r["ms"]:.4f} | `{r["algorithm"]}` | {r["gflops"] / 1000:.1f} | {r["peer_ms"]:.4f} | {r["peer"]} '
              f'| {r["ratio"]:.2f} |')
    print()
    for kind in KINDS:
        for title, pick in [('the paper\'s layers', lambda n: n.startswith('paper')), ('all layers', lambda n: True)]:
            ratios = {r['layer']: r['ratio'] for r in rows if r['kind'] == kind and r['ratio'] and pick(r['layer'])}
            if ratios:
                worst = min(ratios, key=ratios.get)
                print(f'{kind}, {title}: geometric mean {statistics.geometric_mean(ratios.values()):.2f}, least {ratios[worst]:.2f} ({worst}); '
                      f'wanted: {WANTED[kind]}')
    if memory:
        worst = min(memory, key=lambda m: m[1])
        print(f'speed of implicit_gemm over im2col_gemm: least {worst[1]:.3f} ({worst[0]}); wanted: 0.97')
        for name, ratio, explicit, implicit in memory:
            print(f'  {name}: {ratio:.3f}, workspace {explicit} and {implicit} bytes')


def print_networks(rows):
    print('\n| network | precision | lean | explore | PyTorch eager | channels-last | graph | graph, channels-last | eager / lean | graph / lean |')
    print('|---|---|--:|--:|--:|--:|--:|--:|--:|--:|')
    table = {}
    for r in rows:
        table.setdefault((r['network'], r['kind']), {})[r['way']] = r['ms']
    for (network, kind), w in table.items():
        keys = ['lean', 'explore', 'eager', 'eager, channels-last', 'graph', 'graph, channels-last']
        cells = [f'{w[k]:.3f}' if w.get(k) else 'none' for k in keys]
        eager, graph = min(w['eager'], w['eager, channels-last']), min(w['graph'], w['graph, channels-last'])
        ratios = [f'{eager / w["lean"]:.2f}', f'{graph / w["lean"]:.2f}'] if w.get('lean') else ['', '']
        print(f'| {network} | {kind} | ' + ' | '.join(cells + ratios) + ' |')


def print_bundled(rows):
    print('\n| bundled network | input | precision | mode | pass, ms |\n|---|---|---|---|--:|')
    for r in rows:
        print(f'| {r["network"]} | {r["input"]} | {r["kind"]} | {r["mode"]} | {r["ms"]:.3f} |' if r['ms'] else
              f'| {r["network"]} | | {r["kind"]} | {r["mode"]} | {r["reason"]} |')
    ms = {(r['network'], r['kind'], r['mode']): r['ms'] for r in rows}
    for network, kind, most in [('efficientnet-lite0', 'fp32', 0.6), ('upscale2x-photo', 'tf32', 1.0), ('upscale2x-photo', 'fp32', 2.0)]:
        got = ms.get((network, kind, 'lean'))
        print(f'{network}, {kind}, lean: {got if got is None else round(got, 3)} ms; wanted: at most {most}')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('convlens')
    parser.add_argument('--rounds', type=int, default=2)
    parser.add_argument('--seconds', type=float, default=0.3)
    parser.add_argument('--layers', default=str(ROOT / 'assets/layers/gpu-layers.csv'))
    parser.add_argument('--only', choices=['layers', 'networks'])
    parser.add_argument('--json')
    args = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    start = time.time()
    result = {'schema': 'convlens.pace/1', 'gpu': torch.cuda.get_device_name(), 'torch': torch.__version__, 'cudnn': torch.backends.cudnn.version(),
              'cuda': torch.version.cuda, 'processor_cores': os.cpu_count(), 'rounds': args.rounds}
    print(f'{result["gpu"]}, torch {result["torch"]}, CUDA {result["cuda"]}, cuDNN {result["cudnn"]}, {args.rounds} rounds')
    if args.only != 'networks':
        layers = list(csv.DictReader(open(args.layers)))
        result['layers'], result['memory'] = measure_layers(args, layers)
        print_layers(result['layers'], result['memory'])
        print(f'(layers took {time.time() - start:.0f} s)', flush=True)
    if args.only != 'layers':
        result['networks'] = measure_networks(args)
        print_networks(result['networks'])
        result['bundled'] = measure_bundled(args)
        print_bundled(result['bundled'])
    print(f'(all took {time.time() - start:.0f} s)')
    if args.json:
        json.dump(result, open(args.json, 'w'), indent=1)


if __name__ == '__main__':
    main()
