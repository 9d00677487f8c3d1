#!/usr/bin/env python3
"""The claims of "cuDNN: Efficient Primitives for Deep Learning" (2014), measured on this library; see docs/paper.md.

    paper.py CONVLENS OUT_FOLDER [--backend cpu|cuda] [--images N] [--seconds S] [--filter TEXT] [--threads N] [--statistic NAME]

Runs `convlens bench --suite paper` and the five convolutions of CaffeNet in all directions, beside the explicit way (im2col, then
a matrix product of cuBLAS by torch, or of numpy's BLAS), and writes OUT_FOLDER/paper.md and *.json. Needs numpy on the processor,
torch with CUDA on a GPU. A benchmark, not a test.
"""
import argparse
import json
import os
import statistics
import subprocess
import time

# Convolutions of CaffeNet: C, H = W, K, R = S, stride, pad, groups.
CAFFENET = {'conv1': (3, 227, 96, 11, 4, 0, 1), 'conv2': (96, 27, 256, 5, 1, 2, 2), 'conv3': (256, 13, 384, 3, 1, 1, 1),
            'conv4': (384, 13, 384, 3, 1, 1, 2), 'conv5': (384, 13, 256, 3, 1, 1, 2)}
DIRECTIONS = ('fwd', 'bwd_data', 'bwd_filter')
IMPLICIT = ('implicit_precomp_gemm', 'implicit_gemm')


def bench(args, name, *options):
    path = os.path.join(args.out, name + '.json')
    command = [args.convlens, 'bench', '--backend', args.backend, '--seconds', str(args.seconds), '--json', path, *options]
    if args.threads:
        command += ['--threads', str(args.threads)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with open(path, encoding='utf-8') as file:
        return json.load(file)


def best(report, problem, direction, names, statistic):
    """The quickest row whose name is one of these, or of their families."""
    rows = [r for r in report['rows'] if r['problem'] == problem and r['direction'] == direction and r['status'] == 'ok'
            and (names is None and r['admitted'] and not r['algorithm'].startswith('peer:') or names and r['algorithm'] in names)]
    return min(rows, key=lambda r: r[statistic]) if rows else None


def paper_tables(args, report, out):
    machine = report['machine']
    peak = machine['matrix_product_gflops']
    out.append(f"Large matrix product by the best own row (`{machine['matrix_product_algorithm']}`): {peak:.0f} GFLOP/s; large copy: "
               f"{machine['copy_gb_per_s']:.0f} GB/s. Other programs took {100 * (machine['shared'] or 0):.0f} % of the processor meanwhile.\n")
    out.append('| layer | N | implicit, ms | explicit, ms | explicit / implicit | workspace implicit | explicit | implicit, GFLOP/s | '
               'best row | GFLOP/s | of the product |\n|---|--:|--:|--:|--:|--:|--:|--:|---|--:|--:|')
    rates = {}
    for problem, size in report['problems'].items():
        implicit = best(report, problem, 'fwd', IMPLICIT, args.statistic)
        explicit = best(report, problem, 'fwd', ('im2col_gemm',), args.statistic)
        fastest = best(report, problem, 'fwd', None, args.statistic)
        if implicit is None or explicit is None:
            continue
        layer = problem.rsplit('_n', 1)[0]
        flops = implicit['gflops'] * implicit['median_ms']
        rate = {kind: flops / row[args.statistic] for kind, row in (('implicit', implicit), ('best', fastest))}
        rates.setdefault(layer, {})[size['n']] = rate
        out.append(f"| {layer} | {size['n']} | {implicit[args.statistic]:.3f} | {explicit[args.statistic]:.3f} | "
                   f"{explicit[args.statistic] / implicit[args.statistic]:.2f} | {implicit['workspace_bytes'] / 1e6:.1f} MB | "
                   f"{explicit['workspace_bytes'] / 1e6:.1f} MB | {rate['implicit']:.0f} | `{fastest['algorithm']}` | {rate['best']:.0f} | "
                   f"{100 * rate['best'] / peak:.0f} % |")
    out.append('\nRate at N = 16 over the best rate of any N (the paper: 86 %):\n\n| layer | implicit GEMM | best row |\n|---|--:|--:|')
    for layer, by_n in rates.items():
        if 16 not in by_n:
            continue
        shares = [100 * by_n[16][kind] / max(r[kind] for r in by_n.values()) for kind in ('implicit', 'best')]
        out.append(f'| {layer} | {shares[0]:.0f} % | {shares[1]:.0f} % |')


class Numpy:
    """im2col and numpy's matrix product, image by image, as Caffe did it."""
    name = 'im2col and numpy'

    def __init__(self, args):
        if args.threads:  # before numpy is loaded
            for name in ('OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS', 'OMP_NUM_THREADS'):
                os.environ[name] = str(args.threads)
        import numpy
        self.np = numpy
        self.args = args

    def layer(self, c, h, k, r, stride, pad, groups):
        np = self.np
        p = (h + 2 * pad - r) // stride + 1
        random = np.random.default_rng(1)
        x = random.standard_normal((self.args.images, c, h, h), dtype=np.float32)
        w = random.standard_normal((groups, k // groups, c // groups * r * r), dtype=np.float32)
        dy = random.standard_normal((self.args.images, groups, k // groups, p * p), dtype=np.float32)

        def columns(image):
            padded = np.pad(image, ((0, 0), (pad, pad), (pad, pad)))
            views = np.lib.stride_tricks.sliding_window_view(padded, (r, r), axis=(1, 2))[:, ::stride, ::stride]
            return np.ascontiguousarray(views.transpose(0, 3, 4, 1, 2)).reshape(groups, c // groups * r * r, p * p)

        def scatter(cells):
            cells = cells.reshape(c, r, r, p, p)
            padded = np.zeros((c, h + 2 * pad, h + 2 * pad), np.float32)
            for i in range(r):
                for j in range(r):
                    padded[:, i:i + stride * p:stride, j:j + stride * p:stride][:, :p, :p] += cells[:, i, j]

        return whole_and_products(x, dy, columns, scatter, lambda made: np.matmul(w, made),
                                  lambda gradient, made: np.matmul(gradient, made.transpose(0, 2, 1)),
                                  lambda gradient: np.matmul(w.transpose(0, 2, 1), gradient))

    def milliseconds(self, work):
        return sampled(self.args, work, lambda: None)


class Torch:
    """im2col by torch's unfold and fold, and cuBLAS in fp32 without TF32, image by image, as Caffe did it."""
    name = 'im2col and cuBLAS'

    def __init__(self, args):
        import torch
        self.torch = torch
        torch.backends.cuda.matmul.allow_tf32 = False
        self.args = args

    def layer(self, c, h, k, r, stride, pad, groups):
        torch, fold = self.torch, self.torch.nn.functional
        p = (h + 2 * pad - r) // stride + 1
        x = torch.randn(self.args.images, 1, c, h, h, device='cuda')
        w = torch.randn(groups, k // groups, c // groups * r * r, device='cuda')
        dy = torch.randn(self.args.images, groups, k // groups, p * p, device='cuda')
        return whole_and_products(
            x, dy, lambda image: fold.unfold(image, r, padding=pad, stride=stride).view(groups, c // groups * r * r, p * p),
            lambda cells: fold.fold(cells.view(1, c * r * r, p * p), (h, h), r, padding=pad, stride=stride),
            lambda made: torch.matmul(w, made), lambda gradient, made: torch.matmul(gradient, made.transpose(1, 2)),
            lambda gradient: torch.matmul(w.transpose(1, 2), gradient))

    def milliseconds(self, work):
        return sampled(self.args, work, self.torch.cuda.synchronize)


def whole_and_products(x, dy, columns, scatter, forward, for_filter, for_data):
    """For each direction the work on all images, and its matrix products alone: what no way of making columns can beat."""
    made = columns(x[0])

    def each(step):
        def work():
            for image, gradient in zip(x, dy):
                step(image, gradient)
        return work

    return {'fwd': (each(lambda image, _: forward(columns(image))), each(lambda image, _: forward(made))),
            'bwd_data': (each(lambda _, gradient: scatter(for_data(gradient))), each(lambda _, gradient: for_data(gradient))),
            'bwd_filter': (each(lambda image, gradient: for_filter(gradient, columns(image))),
                           each(lambda _, gradient: for_filter(gradient, made)))}


def sampled(args, work, wait):
    """The statistic that is asked of our rows, too: at least three samples, within their seconds."""
    work()
    wait()
    times = []
    end = time.perf_counter() + args.seconds / 4
    while len(times) < 3 or time.perf_counter() < end:
        clock = time.process_time if args.statistic == 'cpu_ms' else time.perf_counter
        start = clock()
        work()
        wait()
        times.append((clock() - start) * 1000)
    times.sort()
    return times[len(times) // 10] if args.statistic == 'p10_ms' else statistics.median(times)


def caffenet(args, out):
    layers = os.path.join(args.out, 'caffenet.csv')
    with open(layers, 'w', encoding='utf-8') as file:
        file.write('name,n,c,h,w,k,r,s,stride,pad,dilation,groups\n')
        for name, (c, h, k, r, stride, pad, groups) in CAFFENET.items():
            file.write(f'{name},{args.images},{c},{h},{h},{k},{r},{r},{stride},{pad},1,{groups}\n')
    report = bench(args, 'caffenet', '--layers', layers, '--direction', 'all')
    explicit = (Torch if args.backend == 'cuda' else Numpy)(args)
    out.append(f'\nConvolutions of one CaffeNet training iteration, {args.images} images, fp32. Own rows channels-last; the other way '
               f'{explicit.name}, packed, image by image.\n')
    out.append(f'| layer | direction | implicit GEMM, ms | own im2col_gemm, ms | best own row, ms | | {explicit.name}, ms | its products alone, ms |\n'
               '|---|---|--:|--:|--:|---|--:|--:|')
    total = [0.0] * 5
    for name, shape in CAFFENET.items():
        works = explicit.layer(*shape)
        for direction in DIRECTIONS:
            if name == 'conv1' and direction == 'bwd_data':
                continue  # the picture needs no gradient
            rows = [best(report, name, direction, names, args.statistic) for names in (IMPLICIT, ('im2col_gemm',), None)]
            times = [row[args.statistic] if row else float('nan') for row in rows]
            times += [explicit.milliseconds(work) for work in works[direction]]
            total = [a + b for a, b in zip(total, times)]
            out.append(f"| {name} | {direction} | {times[0]:.3f} | {times[1]:.3f} | {times[2]:.3f} | `{rows[2]['algorithm']}` | "
                       f'{times[3]:.2f} | {times[4]:.2f} |')
    out.append(f'| all | | {total[0]:.2f} | {total[1]:.2f} | {total[2]:.2f} | | {total[3]:.2f} | {total[4]:.2f} |')
    out.append(f'\nOver implicit GEMM: {explicit.name} {total[3] / total[0]:.2f}, its products alone {total[4] / total[0]:.2f}, own explicit GEMM '
               f'{total[1] / total[0]:.2f}, the best rows {total[2] / total[0]:.2f}.')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('convlens')
    parser.add_argument('out')
    parser.add_argument('--backend', default='cpu', choices=['cpu', 'cuda'])
    parser.add_argument('--images', type=int, default=16)
    parser.add_argument('--seconds', type=float, default=1.0)
    parser.add_argument('--threads', type=int, default=0)
    parser.add_argument('--filter', default='')
    parser.add_argument('--statistic', default='median_ms', choices=['median_ms', 'p10_ms', 'cpu_ms'])
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    out = []
    paper_tables(args, bench(args, 'paper', '--suite', 'paper', '--filter', args.filter), out)
    caffenet(args, out)
    text = '\n'.join(out) + '\n'
    with open(os.path.join(args.out, 'paper.md'), 'w', encoding='utf-8') as file:
        file.write(text)
    print(text)


if __name__ == '__main__':
    main()
