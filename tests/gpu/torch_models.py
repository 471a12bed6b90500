#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Images per second of a model of thinwire-train by PyTorch: the same layers, in float32 without TF32 and by
deterministic algorithms, on random images that lie in the device's memory. bench/ makes its networks by it, too.

    thinwire-train --show-model MODEL | tests/gpu/torch_models.py BATCH [STEPS]
"""
import re
import sys
import time

import torch
import torch.nn.functional as F

ACTIVATIONS = {"linear": lambda x: x, "logistic": torch.sigmoid, "relu": F.relu}
KINDS = ("pool", "activation", "lrn", "add", "concat", "dropout")  # without weights


def parse(text):
    """A libconfig text as dictionaries, lists and values."""
    text = re.sub(r"#.*|//.*", "", text)
    tokens = re.findall(r'"(?:[^"\\]|\\.)*"|[][(){};,=:]|[^][\s(){};,=:]+', text)
    at = 0

    def value():
        nonlocal at
        token = tokens[at]
        at += 1
        if token == "{":
            return group("}")
        if token in "([":
            items = []
            while tokens[at] not in ")]":
                items.append(value())
                if tokens[at] == ",":
                    at += 1
            at += 1
            return items
        if token[0] == '"':
            return token[1:-1]
        if token in ("true", "false"):
            return token == "true"
        return float(token) if re.search(r"[.eE]", token) else int(token)

    def group(end):
        nonlocal at
        items = {}
        while at < len(tokens) and tokens[at] != end:
            key = tokens[at]
            at += 2
            items[key] = value()
            while at < len(tokens) and tokens[at] in ";,":
                at += 1
        at += 1
        return items

    return group(None)


def joined(layer):
    """The names of what concat joins to its input: one, or an array."""
    return [layer["with"]] if isinstance(layer["with"], str) else layer["with"]


class Grouped(torch.nn.Module):
    """A dense layer whose groups of units take their own groups of inputs."""

    def __init__(self, size, units, groups):
        super().__init__()
        self.inner = torch.nn.Conv1d(size, units, 1, groups=groups)

    def forward(self, x):
        return self.inner(x.unsqueeze(2)).squeeze(2)


class Net(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.parts = torch.nn.ModuleList()
        self.plan = []  # (kind, layer, module or None)
        defaults = config.get("defaults", {})
        shape = (config["input"]["channels"], config["input"]["height"], config["input"]["width"])
        shapes = {"image": shape}
        layers = [dict(defaults.get(l["type"], {}), **l) for l in config["layers"]]
        for l in layers:
            module = None
            x = shapes[l["input"]] if "input" in l else shape
            kind = l["type"]
            if kind == "conv":
                module = torch.nn.Conv2d(x[0], l["channels"], l["kernel"], l.get("stride", 1), l.get("pad", 0),
                                         groups=l.get("groups", 1), bias=l.get("bias", True))
            elif kind == "norm":
                module = torch.nn.BatchNorm2d(x[0], eps=l.get("epsilon", 1e-5))
            elif kind == "dense":
                size, units = x[0] * x[1] * x[2], l.get("units", config["classes"])
                module = Grouped(size, units, l["groups"]) if l.get("groups", 1) > 1 else torch.nn.Linear(size, units)
            elif kind not in KINDS:
                sys.exit(f"torch_models.py: layer {l['name']}: no layer of type {kind} here")
            shape = self.shape_of(kind, l, x, config)
            if kind == "concat":
                shape = (x[0] + sum(shapes[name][0] for name in joined(l)), *x[1:])
            shapes[l["name"]] = shape
            self.plan.append((kind, l, len(self.parts) if module is not None else None))
            if module is not None:
                self.parts.append(module)
        self.last = layers[-1]["name"]

    @staticmethod
    def shape_of(kind, l, x, config):
        def out(n, default):
            k, s, p = l["kernel"], l.get("stride", default), l.get("pad", 0)
            return (n + 2 * p - k + (s - 1 if l.get("ceil", False) else 0)) // s + 1

        if kind == "conv":
            return (l["channels"], out(x[1], 1), out(x[2], 1))
        if kind == "pool" and l.get("global", False):
            return (x[0], 1, 1)
        if kind == "pool":
            return (x[0], out(x[1], l["kernel"]), out(x[2], l["kernel"]))
        if kind == "dense":
            return (l.get("units", config["classes"]), 1, 1)
        return x

    def forward(self, x):
        results = {"image": x}
        for kind, l, part in self.plan:
            x = results[l["input"]] if "input" in l else x
            if kind == "dense" and x.dim() > 2:
                x = x.flatten(1)
            if part is not None:
                x = self.parts[part](x)
            elif kind == "pool" and l.get("global", False):
                x = F.adaptive_avg_pool2d(x, 1)
            elif kind == "pool":
                pool = F.max_pool2d if l.get("pooling", "max") == "max" else F.avg_pool2d
                x = pool(x, l["kernel"], l.get("stride", l["kernel"]), l.get("pad", 0), ceil_mode=l.get("ceil", False))
            elif kind == "lrn":
                x = self.responses(x, l.get("size", 5), l.get("scale", 2e-5), l.get("power", 0.75), l.get("k", 1.0))
            elif kind == "dropout":
                x = F.dropout(x, l["rate"], self.training)
            elif kind == "add":
                x = x + self.shortcut(results[l["with"]], x)
            elif kind == "concat":
                x = torch.cat([x, *(results[name] for name in joined(l))], 1)
            if l["name"] != self.last:
                x = ACTIVATIONS[l.get("activation", "linear")](x)
            results[l["name"]] = x
        return x

    @staticmethod
    def responses(x, size, scale, power, k):
        """PyTorch divides the scale by the size."""
        return F.local_response_norm(x, size, scale * size, power, k)

    @staticmethod
    def shortcut(other, x):
        """Option A: every second position, and zeros for new channels."""
        stride = other.shape[2] // x.shape[2]
        other = other[:, :, ::stride, ::stride]
        return F.pad(other, (0, 0, 0, 0, 0, x.shape[1] - other.shape[1])) if other.shape[1] < x.shape[1] else other


def main():
    config = parse(sys.stdin.read())
    batch = int(sys.argv[1])
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.deterministic = True
    torch.manual_seed(1)
    net = Net(config).cuda()
    images = torch.randn(batch, *(config["input"][k] for k in ("channels", "height", "width")), device="cuda")
    labels = torch.randint(config["classes"], (batch,), device="cuda")
    optimizer = torch.optim.SGD(net.parameters(), 1e-3, 0.9, weight_decay=1e-4)
    times = []
    for _ in range(steps + 2):
        start = time.perf_counter()
        optimizer.zero_grad()
        F.cross_entropy(net(images), labels).backward()
        optimizer.step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    median = sorted(times[2:])[steps // 2]
    print(f"{batch / median:.1f}")


if __name__ == "__main__":
    main()
