#!/usr/bin/env python3
"""Random graphs against onnxruntime, every tensor, with fusion (lean) and without (explore).

Each seed gives one graph of 4 to 14 operations on earlier tensors: chains that fusion rewrites, tensors with several
readers, intermediate tensors that are also outputs, operands in either order, broadcasts, uneven padding. Tensors are
compared as in compare_onnxruntime.py; explore has to keep all of them. A graph that disagrees is kept as
DIR/graph_SEED.onnx (out/random_graphs where --out names none).

    random_graphs.py CONVLENS [--first SEED] [--count N] [--algo NAME] [--out DIR]
Exit status: 0 agreed, 1 not, 77 skipped (with the reason).
"""
import argparse
import collections
import pathlib
import random
import sys
import tempfile

from compare_onnxruntime import Reference, compare, dump, np, onnx  # exits with 77 where a package is missing

helper = onnx.helper
OUT = pathlib.Path(__file__).resolve().parents[2] / 'out' / 'random_graphs'

Tensor = collections.namedtuple('Tensor', 'name shape')  # shape: [N, C, H, W]


class Graph:
    """A growing graph; `random` draws its structure and `values` its constants."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.values = np.random.default_rng(seed)
        height, width = self.random.choice([(9, 12), (16, 11), (13, 13), (8, 20)])
        self.tensors = [Tensor('x', [1, 3, height, width])]
        self.nodes, self.initializers = [], []

    def constant(self, values, dtype=np.float32):
        name = f'w{len(self.initializers)}'
        self.initializers.append(onnx.numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def integers(self, *values):
        return self.constant(values, np.int64)

    def normal(self, *shape, mean=0.0, deviation=1.0):
        return self.constant(self.values.normal(mean, deviation, shape))

    def maybe_bias(self, k):
        return [self.normal(k)] if self.random.random() < 0.5 else []

    def add(self, operation, inputs, *shapes, **attributes):
        """Appends a node with one output for each shape; returns the first."""
        outputs = [Tensor(f't{len(self.tensors) + i}', list(shape)) for i, shape in enumerate(shapes)]
        inputs = [i.name if isinstance(i, Tensor) else i for i in inputs]
        self.nodes.append(helper.make_node(operation, inputs, [o.name for o in outputs], name=f'n{len(self.nodes)}',
                                           **attributes))
        self.tensors += outputs
        return outputs[0]

    def either_order(self, operation, a, b, shape):
        self.add(operation, self.random.choice([[a, b], [b, a]]), shape)

    def pick(self, fits):
        return self.random.choice([t for t in self.tensors if fits(t.shape)])

    def model(self):
        """Tensors that nobody reads are the outputs, and some that are read."""
        used = {name for node in self.nodes for name in node.input}
        produced = self.tensors[1:]
        ends = [t for t in produced if t.name not in used]
        ends += [t for t in produced if t.name in used and self.random.random() < 0.08]
        info = [helper.make_tensor_value_info(t.name, onnx.TensorProto.FLOAT, t.shape) for t in self.tensors[:1] + ends]
        graph = helper.make_graph(self.nodes, 'random', info[:1], info[1:], self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=8)


# Each function appends one operation, or a few, that read x; it may append nothing where x does not suit.

def convolution(g, x, kind='dense'):
    n, c, h, w = x.shape
    groups = {'dense': 1, 'depthwise': c, 'grouped': next((d for d in (3, 2) if c % d == 0), 1)}[kind]
    k = g.random.randint(1, 9) if kind == 'dense' else groups * g.random.randint(1, 3)
    r = g.random.choice([1, 1, 3, 3, 5])
    s = r if g.random.random() < 0.7 else g.random.choice([1, 2, 3])
    strides = g.random.choice([[1, 1], [1, 1], [1, 1], [2, 2], [2, 1]])
    dilations = g.random.choice([[1, 1], [1, 1], [1, 1], [2, 2], [1, 2]])
    pads = [g.random.randint(0, size // 2) for size in (r, s, r, s)]  # top, left, bottom, right
    rows = h + pads[0] + pads[2] - dilations[0] * (r - 1) - 1
    columns = w + pads[1] + pads[3] - dilations[1] * (s - 1) - 1
    if rows < 0 or columns < 0:
        return
    fan_in = c // groups * r * s
    inputs = [x, g.normal(k, c // groups, r, s, deviation=fan_in ** -0.5), *g.maybe_bias(k)]
    g.add('Conv', inputs, [n, k, rows // strides[0] + 1, columns // strides[1] + 1], kernel_shape=[r, s], strides=strides,
          pads=pads, dilations=dilations, group=groups)


def transposed_convolution(g, x):
    n, c, h, w = x.shape
    groups = g.random.choice([d for d in (1, c, 2, 3) if c % d == 0])
    k = groups * g.random.randint(1, 2)
    r, s, stride = g.random.choice([2, 3]), g.random.choice([2, 3]), g.random.choice([1, 2])
    inputs = [x, g.normal(c, k // groups, r, s, deviation=0.3), *g.maybe_bias(k)]
    g.add('ConvTranspose', inputs, [n, k, (h - 1) * stride + r, (w - 1) * stride + s], kernel_shape=[r, s],
          strides=[stride, stride], group=groups)


def batch_normalization(g, x):
    c = x.shape[1]
    variance = g.constant(g.values.uniform(0.5, 2, c))
    g.add('BatchNormalization', [x, g.normal(c), g.normal(c), g.normal(c), variance], x.shape)


def unary(operation, **attributes):
    return lambda g, x: g.add(operation, [x], x.shape, **attributes)


def clip(low, high):
    return lambda g, x: g.add('Clip', [x, g.constant(low), g.constant(high)], x.shape)


def prelu(g, x):
    c = x.shape[1]
    g.add('PRelu', [x, g.normal(*g.random.choice([[c, 1, 1], [1], [1, c, 1, 1]]))], x.shape)


def gated(operation, **attributes):
    return lambda g, x: g.either_order('Mul', x, g.add(operation, [x], x.shape, **attributes), x.shape)


def with_constant(operation):
    def append(g, x):
        _, c, h, w = x.shape
        shape = g.random.choice([[], [1], [c, 1, 1], [1, c, 1, 1], [w], [h, 1]])
        value = g.normal(*shape, mean=1.5, deviation=0.3)
        if operation == 'Div':
            g.add('Div', [x, value], x.shape)
        else:
            g.either_order(operation, x, value, x.shape)
    return append


def with_tensor(operation):
    return lambda g, x: g.either_order(operation, x, g.pick(lambda shape: shape == x.shape), x.shape)


def with_broadcast(operation):
    def append(g, x):
        other = g.pick(lambda shape: all(a in (1, b) for a, b in zip(shape, x.shape)))
        g.either_order(operation, x, other, x.shape)
    return append


def squeeze_and_excite(g, x):
    c = x.shape[1]
    gate = g.add('GlobalAveragePool', [x], [1, c, 1, 1])
    gate = g.add('Conv', [gate, g.normal(c, c, 1, 1, deviation=0.3), g.normal(c)], [1, c, 1, 1])
    g.either_order('Mul', x, g.add('Sigmoid', [gate], [1, c, 1, 1]), x.shape)


def concat(g, x):
    n, c, h, w = x.shape
    other = g.pick(lambda shape: shape[2:] == [h, w])
    g.add('Concat', [x, other], [n, c + other.shape[1], h, w], axis=1)


def split(g, x):
    n, c, h, w = x.shape
    if c > 1:
        g.add('Split', [x, g.integers(1, c - 1)], [n, 1, h, w], [n, c - 1, h, w], axis=1)


def slice_channels(g, x):
    n, c, h, w = x.shape
    if c > 1:
        g.add('Slice', [x, g.integers(1), g.integers(c), g.integers(1)], [n, c - 1, h, w])


def max_pool(g, x):
    n, c, h, w = x.shape
    if min(h, w) > 2:
        g.add('MaxPool', [x], [n, c, h // 2, w - 2], kernel_shape=[2, 3], strides=[2, 1])


def average_pool(g, x):
    if min(x.shape[2:]) > 2:
        g.add('AveragePool', [x], x.shape, kernel_shape=[3, 3], pads=[1, 1, 1, 1],
              count_include_pad=g.random.randint(0, 1))


def pad(g, x):
    n, c, h, w = x.shape
    g.add('Pad', [x, g.integers(0, 0, 1, 0, 0, 0, 2, 1)], [n, c, h + 3, w + 1])


def reshape(g, x):
    _, c, h, w = x.shape
    shape = [1, c, w, h] if g.random.random() < 0.6 or c * h > 60 else [1, c * h, 1, w]
    g.add('Reshape', [x, g.integers(*shape)], shape)


def resize(g, x):
    n, c, h, w = x.shape
    if h * w < 300:
        g.add('Resize', [x, '', g.constant([1, 1, 2, 2])], [n, c, 2 * h, 2 * w], mode='nearest',
              coordinate_transformation_mode='asymmetric', nearest_mode='floor')


def depth_to_space(g, x):
    n, c, h, w = x.shape
    x = g.add('Conv', [x, g.normal(8, c, 1, 1, deviation=c ** -0.5)], [n, 8, h, w])
    g.add('DepthToSpace', [x], [n, 2, h * 2, w * 2], blocksize=2, mode=g.random.choice(['DCR', 'CRD']))


OPERATIONS = {
    'convolution': convolution, 'depthwise': lambda g, x: convolution(g, x, 'depthwise'),
    'grouped': lambda g, x: convolution(g, x, 'grouped'), 'transposed': transposed_convolution,
    'batch normalization': batch_normalization, 'relu': unary('Relu'), 'leaky relu': unary('LeakyRelu', alpha=0.1),
    'prelu': prelu, 'relu6': clip(0.0, 6.0), 'clip': clip(-0.5, 0.7), 'sigmoid': unary('Sigmoid'), 'tanh': unary('Tanh'),
    'elu': unary('Elu', alpha=0.7), 'swish': gated('Sigmoid'), 'hard swish': gated('HardSigmoid', alpha=1 / 6, beta=0.5),
    'add constant': with_constant('Add'), 'subtract constant': with_constant('Sub'),
    'multiply constant': with_constant('Mul'), 'divide by constant': with_constant('Div'), 'add': with_tensor('Add'),
    'multiply': with_tensor('Mul'), 'maximum': with_tensor('Max'),
    'add itself': lambda g, x: g.add('Add', [x, x], x.shape),
    'multiply itself': lambda g, x: g.add('Mul', [x, x], x.shape), 'add broadcast': with_broadcast('Add'),
    'squeeze and excite': squeeze_and_excite, 'concat': concat, 'split': split, 'slice': slice_channels,
    'max pool': max_pool, 'average pool': average_pool,
    'global average pool': lambda g, x: g.add('GlobalAveragePool', [x], x.shape[:2] + [1, 1]), 'pad': pad,
    'transpose': lambda g, x: g.add('Transpose', [x], [*x.shape[:2], *x.shape[:1:-1]], perm=[0, 1, 3, 2]),
    'reshape': reshape, 'resize': resize, 'depth to space': depth_to_space, 'lrn': unary('LRN', size=3),
    'softmax': unary('Softmax', axis=1), 'identity': unary('Identity'), 'dropout': unary('Dropout'),
}
OFTEN = 4 * ['convolution'] + 2 * ['depthwise', 'batch normalization', 'relu', 'add']
NAMES = [*OPERATIONS, *OFTEN]


def random_model(seed):
    g = Graph(seed)
    size = g.random.randint(4, 14)
    while len(g.nodes) < size:
        small = [t for t in g.tensors if t.shape[1] <= 64 and t.shape[2] * t.shape[3] <= 3000]
        OPERATIONS[g.random.choice(NAMES)](g, g.random.choice(small[-4:]))
    return g.model()


def disagreements(program, label, model, reference, extra):
    with tempfile.TemporaryDirectory() as folder:
        try:
            files, _ = dump(program, model, 'pattern:noise', pathlib.Path(folder), extra)
        except (RuntimeError, OSError, ValueError, KeyError) as error:
            return [f'{label}: {error}']
        compared, faults = compare(label, reference, files)
    if 'explore' in extra and not faults and compared < len(reference.session.get_outputs()):
        faults.append(f'{label}: {compared} of {len(reference.session.get_outputs())} tensors dumped')
    return faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('convlens')
    parser.add_argument('--first', type=int, default=0, metavar='SEED')
    parser.add_argument('--count', type=int, default=40, metavar='N')
    parser.add_argument('--algo', metavar='NAME', help='of convolutions, forced wherever it can be')
    parser.add_argument('--out', type=pathlib.Path, default=OUT, metavar='DIR')
    args = parser.parse_args()
    extra = ['--passes', '1', '--threads', '2'] + (['--algo', args.algo] if args.algo else [])
    faults, compared = [], 0
    for seed in range(args.first, args.first + args.count):
        model = random_model(seed)
        if args.algo and not any(node.op_type == 'Conv' for node in model.graph.node):
            continue  # no layer knows the algorithm's name
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / f'graph_{seed}.onnx'
            onnx.save(model, path)
            reference = Reference(path)
            before = len(faults)
            for mode in ['explore', 'lean']:
                faults += disagreements(args.convlens, f'graph {seed} {mode}', path, reference, ['--mode', mode, *extra])
            compared += 1
            if len(faults) > before:
                args.out.mkdir(parents=True, exist_ok=True)
                onnx.save(model, args.out / path.name)
    for fault in faults:
        print(f'FAULT {fault}')
    print(f'{compared} of {args.count} graphs compared, {len(faults)} faults')
    return 1 if faults or not compared else 0


if __name__ == '__main__':
    sys.exit(main())
