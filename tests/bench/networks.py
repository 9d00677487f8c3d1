"""Well-known networks as lists of steps, from which an ONNX file and a PyTorch module are made with the same random weights.

A step is (kind, inputs, attributes); inputs are numbers of earlier steps, -1 the picture.
"""
import numpy as np


class Steps:
    def __init__(self):
        self.steps, self.channels = [], {-1: 3}

    def add(self, kind, inputs, channels, **attributes):
        self.steps.append((kind, inputs, attributes))
        self.channels[len(self.steps) - 1] = channels
        return len(self.steps) - 1

    def conv(self, x, k, size, stride=1, pad=0, groups=1, bias=True):
        return self.add('conv', [x], k, c=self.channels[x], k=k, size=size, stride=stride, pad=pad, groups=groups, bias=bias)

    def norm(self, x):
        return self.add('norm', [x], self.channels[x], c=self.channels[x])

    def relu(self, x):
        return self.add('relu', [x], self.channels[x])

    def relu6(self, x):
        return self.add('relu6', [x], self.channels[x])

    def max_pool(self, x, size, stride, pad=0, ceil=False):
        return self.add('max_pool', [x], self.channels[x], size=size, stride=stride, pad=pad, ceil=ceil)

    def plus(self, x, y):
        return self.add('add', [x, y], self.channels[x])

    def concat(self, x, y):
        return self.add('concat', [x, y], self.channels[x] + self.channels[y])

    def mean(self, x):
        return self.add('mean', [x], self.channels[x])

    def dense(self, x, k):
        return self.add('dense', [x], k, c=self.channels[x], k=k)


def squeezenet1_1():
    s = Steps()
    x = s.max_pool(s.relu(s.conv(-1, 64, 3, 2)), 3, 2, ceil=True)
    for i, (squeeze, expand) in enumerate([(16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256)]):
        if i in (2, 4):
            x = s.max_pool(x, 3, 2, ceil=True)
        x = s.relu(s.conv(x, squeeze, 1))
        x = s.concat(s.relu(s.conv(x, expand, 1)), s.relu(s.conv(x, expand, 3, pad=1)))
    s.mean(s.relu(s.conv(x, 1000, 1)))
    return s


def mobilenet_v2():
    s = Steps()

    def block(x, k, size=1, stride=1, groups=1, active=True):
        x = s.norm(s.conv(x, k, size, stride, (size - 1) // 2, groups, bias=False))
        return s.relu6(x) if active else x

    x = block(-1, 32, 3, 2)
    for expand, channels, count, first in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                           (6, 320, 1, 1)]:
        for i in range(count):
            stride, c = first if i == 0 else 1, s.channels[x]
            y = block(x, c * expand) if expand > 1 else x
            y = block(block(y, c * expand, 3, stride, c * expand), channels, active=False)
            x = s.plus(x, y) if stride == 1 and c == channels else y
    s.dense(s.mean(block(x, 1280)), 1000)
    return s


def resnet18():
    s = Steps()

    def block(x, k, size, stride, active=True):
        x = s.norm(s.conv(x, k, size, stride, (size - 1) // 2, bias=False))
        return s.relu(x) if active else x

    x = s.max_pool(block(-1, 64, 7, 2), 3, 2, 1)
    for channels, first in [(64, 1), (128, 2), (256, 2), (512, 2)]:
        for i in range(2):
            stride = first if i == 0 else 1
            y = block(block(x, channels, 3, stride), channels, 3, 1, active=False)
            if stride != 1 or s.channels[x] != channels:
                x = block(x, channels, 1, stride, active=False)
            x = s.relu(s.plus(y, x))
    s.dense(s.mean(x), 1000)
    return s


NETWORKS = {'squeezenet1_1': squeezenet1_1, 'mobilenet_v2': mobilenet_v2, 'resnet18': resnet18}


def weights_of(net, seed=1):
    """One dict of arrays a step, scaled so that values neither vanish nor grow."""
    random, out = np.random.default_rng(seed), []
    for kind, _, a in net.steps:
        w = {}
        if kind == 'conv':
            shape = (a['k'], a['c'] // a['groups'], a['size'], a['size'])
            w['weight'] = random.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))
            if a['bias']:
                w['bias'] = random.standard_normal(a['k']) * 0.1
        elif kind == 'norm':
            w = {'scale': random.uniform(0.5, 1, a['c']), 'bias': random.standard_normal(a['c']) * 0.1,
                 'mean': random.standard_normal(a['c']) * 0.1, 'variance': random.uniform(0.5, 1.5, a['c'])}
        elif kind == 'dense':
            w = {'weight': random.standard_normal((a['k'], a['c'])) / np.sqrt(a['c']), 'bias': random.standard_normal(a['k']) * 0.1}
        out.append({name: value.astype(np.float32) for name, value in w.items()})
    return out


def write_onnx(net, weights, path, side=224):
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    nodes, constants = [], []

    def constant(step, name, value):
        constants.append(numpy_helper.from_array(value, f's{step}.{name}'))
        return f's{step}.{name}'

    for i, (kind, inputs, a) in enumerate(net.steps):
        x = ['x' if n < 0 else f's{n}' for n in inputs]
        if kind == 'conv':
            x += [constant(i, name, weights[i][name]) for name in ['weight', 'bias'] if name in weights[i]]
            nodes.append(helper.make_node('Conv', x, [f's{i}'], kernel_shape=[a['size']] * 2, strides=[a['stride']] * 2,
                                          pads=[a['pad']] * 4, group=a['groups']))
        elif kind == 'norm':
            x += [constant(i, name, weights[i][name]) for name in ['scale', 'bias', 'mean', 'variance']]
            nodes.append(helper.make_node('BatchNormalization', x, [f's{i}']))
        elif kind == 'relu6':
            x += [constant(i, 'low', np.float32(0)), constant(i, 'high', np.float32(6))]
            nodes.append(helper.make_node('Clip', x, [f's{i}']))
        elif kind == 'max_pool':
            nodes.append(helper.make_node('MaxPool', x, [f's{i}'], kernel_shape=[a['size']] * 2, strides=[a['stride']] * 2,
                                          pads=[a['pad']] * 4, ceil_mode=int(a['ceil'])))
        elif kind == 'mean':
            nodes += [helper.make_node('GlobalAveragePool', x, [f's{i}.pool']), helper.make_node('Flatten', [f's{i}.pool'], [f's{i}'])]
        elif kind == 'dense':
            x += [constant(i, 'weight', weights[i]['weight']), constant(i, 'bias', weights[i]['bias'])]
            nodes.append(helper.make_node('Gemm', x, [f's{i}'], transB=1))
        else:
            attributes = {'axis': 1} if kind == 'concat' else {}
            nodes.append(helper.make_node({'relu': 'Relu', 'add': 'Add', 'concat': 'Concat'}[kind], x, [f's{i}'], **attributes))
    last = len(net.steps) - 1
    graph = helper.make_graph(nodes, 'network', [helper.make_tensor_value_info('x', TensorProto.FLOAT, [1, 3, side, side])],
                              [helper.make_tensor_value_info(f's{last}', TensorProto.FLOAT, [1, net.channels[last]])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8)
    onnx.save(model, path)


def torch_module(net, weights):
    import torch
    from torch import nn

    def filled(module, values):
        with torch.no_grad():
            for name, value in values.items():
                getattr(module, name).copy_(torch.from_numpy(value))
        return module

    def module_of(kind, a, w):
        if kind == 'conv':
            return filled(nn.Conv2d(a['c'], a['k'], a['size'], a['stride'], a['pad'], groups=a['groups'], bias=a['bias']), w)
        if kind == 'norm':
            return filled(nn.BatchNorm2d(a['c']), {'weight': w['scale'], 'bias': w['bias'], 'running_mean': w['mean'],
                                                   'running_var': w['variance']})
        if kind == 'relu':
            return nn.ReLU(inplace=True)
        if kind == 'relu6':
            return nn.ReLU6(inplace=True)
        if kind == 'max_pool':
            return nn.MaxPool2d(a['size'], a['stride'], a['pad'], ceil_mode=a['ceil'])
        if kind == 'mean':
            return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        if kind == 'dense':
            return filled(nn.Linear(a['c'], a['k']), w)
        return nn.Identity()

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleList(module_of(kind, a, w) for (kind, _, a), w in zip(net.steps, weights))
            self.plan = [(kind, inputs) for kind, inputs, _ in net.steps]

        def forward(self, x):
            values = {-1: x}
            for i, (part, (kind, inputs)) in enumerate(zip(self.parts, self.plan)):
                if kind == 'add':
                    values[i] = values[inputs[0]] + values[inputs[1]]
                elif kind == 'concat':
                    values[i] = torch.cat([values[n] for n in inputs], 1)
                else:
                    values[i] = part(values[inputs[0]])
            return values[len(self.plan) - 1]

    return Network().eval()
