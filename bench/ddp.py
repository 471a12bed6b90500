#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's DistributedDataParallel with the hooks of gloo, PowerSGD and thinwire: step times, accuracies, seconds; and
step times of fully_shard().

    mpirun -n 4 python3 bench/ddp.py speed MODEL [--side N] [--batch N | --share PERCENT] [--bucket MB] [--seconds S]
    mpirun -n 4 python3 bench/ddp.py sharded [--batch N | --share PERCENT] [--seconds S]
    mpirun -n 4 python3 bench/ddp.py accuracy mnist|cifar10 FOLDER [--seeds N...] [--epochs N]
    mpirun -n 4 python3 bench/ddp.py until FOLDER [--seeds N...]
    each: [--ways NAME,...] [--json FILE]

speed: MODEL (resnet18, alexnet) on random images of side N (64), all ways in turns as thinwire-bench-ddp does it. --share
takes the largest batch with which an exchange of all gradients by gloo, alone, is that much of it and computing together.
sharded: the same of fully_shard() of each layer of a dense network of 10 million parameters, by gloo, and by thinwire without
loss and with tree8 for gradients, with error feedback, and int8 for weights; --share is of a step by gloo.
accuracy: test error after so many epochs (mnist 3, cifar10 30) for each seed, the same learning rate for all ways: a network
of 5 layers for mnist (60,000 images), one of convolutions for the subset of cifar10 (4,000).
until: seconds of training, tests left out, until a test error of 15 % on MNIST, by gloo unless --ways says more: what
`thinwire-train --model mlp --batch 500 --epochs 2 --eval-every 10 --until 'error<=15%'` does, with the recipe of its model
file.
bench/ddp.sh runs them on emulated hosts. Needs torch with gloo, and the library: THINWIRE_LIBRARY, PYTHONPATH=python.
"""
import argparse
import copy
import functools
import gc
import gzip
import json
import os
import statistics
import sys
import time
import types

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as powersgd
from torch.distributed.fsdp import fully_shard
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

import thinwire.torch
from thinwire import bench_ddp

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pytorch  # noqa: E402  # of this folder


# ---- ways ----------------------------------------------------------------------------------------


def power(rank, start):
    """torch's PowerSGD: plain averages until step `start`, then matrices of that rank with its error feedback. In one
    bucket: it starts collectives from callbacks, in an order that may differ between ranks, which gloo does not bear."""

    def wrap(model):
        wrapped = DistributedDataParallel(model, bucket_cap_mb=4096)
        state = powersgd.PowerSGDState(None, matrix_approximation_rank=rank, start_powerSGD_iter=start)
        wrapped.register_comm_hook(state, powersgd.powerSGD_hook)
        return wrapped, None

    return wrap


def ways(start, **options):
    found = bench_ddp.ways("tree8", **options)
    tree8 = found.pop("thinwire tree8")
    return {
        **found,
        "PowerSGD 1": power(1, start),
        "PowerSGD 4": power(4, start),
        "thinwire onebit": bench_ddp.ours("onebit", **options),
        "thinwire int4": bench_ddp.ours("int4", **options),
        "thinwire int4 feedback": bench_ddp.ours("int4", feedback=True, **options),
        "thinwire tree8": tree8,
    }


def shards(ours, *codecs):
    """fully_shard() of each layer, by gloo or by set_fully_shard()."""

    def wrap(model):
        wrapped = copy.deepcopy(model)
        for layer in wrapped:
            if isinstance(layer, nn.Linear):
                fully_shard(layer)
        fully_shard(wrapped)
        comm = thinwire.torch.set_fully_shard(wrapped, *codecs).comm if ours else None
        return wrapped, types.SimpleNamespace(comm=comm, free=gc.collect) if ours else None

    return wrap


SHARDED = {
    "gloo fp32": shards(False),
    "thinwire fp32": shards(True),
    "thinwire tree8 int8": shards(True, "tree8", "int8", True),
}


# ---- step times ----------------------------------------------------------------------------------


def exchange(model):
    """Seconds of averaging all gradients by gloo, in pieces as large as DDP's buckets."""
    flat = torch.zeros(sum(p.numel() for p in model.parameters()))
    seconds = []
    for _ in range(2):
        dist.barrier()
        start = time.perf_counter()
        works = [dist.all_reduce(piece, async_op=True) for piece in flat.split(25 << 18)]
        for work in works:
            work.wait()
        seconds.append(time.perf_counter() - start)
    return bench_ddp.slowest(seconds)[-1]


WIDTH = 1024


def wide(batch):
    layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(9)]
    return nn.Sequential(*(part for layer in layers for part in layer), nn.Linear(WIDTH, 512)), torch.randn(batch, WIDTH)


def exchange_of_shards(model):
    """Seconds of a step by gloo with next to nothing to compute."""
    sample = torch.zeros(1, WIDTH)
    return bench_ddp.alone(SHARDED["gloo fp32"](model)[0], sample) - bench_ddp.alone(model, sample)


def fitting_batch(make, share, exchange=exchange):
    """The largest power of 2 with which the exchange is so much of a step, 1 at least."""
    batch = 1
    net = exchange(make(1)[0])
    while True:
        compute = bench_ddp.alone(*make(2 * batch))
        if net / (net + compute) < share / 100 or batch >= 512:
            return batch
        batch *= 2


def speed(given):
    make = functools.partial(bench_ddp.MODELS[given.model], side=given.side)
    return turns(given, make, given.batch or fitting_batch(make, given.share))


def sharded(given):
    given.model, given.side, given.bucket = "wide", WIDTH, WIDTH * (WIDTH + 1) * 4e-6
    return turns(given, wide, given.batch or fitting_batch(wide, given.share, exchange_of_shards))


def turns(given, make, batch):
    model, images = make(batch)
    compute = bench_ddp.alone(model, images)
    rows = bench_ddp.measure(model, images, given.chosen, given.seconds)
    if dist.get_rank() == 0:
        plain = rows[0].step
        buckets = "%.3g" % given.bucket if given.bucket else "1 and 25"
        print("%s, side %d, batch %d on each of %d ranks, buckets of %s MB; forward and backward alone %.1f ms, of %s %.0f %% is "
              "exchange" % (given.model, given.side, batch, dist.get_world_size(), buckets, 1e3 * compute, rows[0].way,
                            100 * (1 - compute / plain)))
        print(bench_ddp.table(rows))
    return {"model": given.model, "side": given.side, "batch": batch, "bucket_mb": given.bucket, "ranks": dist.get_world_size(),
            "compute_seconds": compute, "rows": [row._asdict() for row in rows]}


# ---- accuracy ------------------------------------------------------------------------------------


def unzipped(path):
    with gzip.open(path) as stream:
        return torch.frombuffer(bytearray(stream.read()), dtype=torch.uint8)


def mnist(folder, part):
    name = os.path.join(folder, "train" if part == "train" else "t10k")
    images, labels = unzipped(name + "-images-idx3-ubyte.gz")[16:], unzipped(name + "-labels-idx1-ubyte.gz")[8:]
    return images.view(-1, 1, 28, 28).float() / 255 - 0.13, labels.long()


def cifar10(folder, part):
    name = "data_batch_1_first4000" if part == "train" else "test_batch_first1000"
    records = unzipped(os.path.join(folder, name + ".bin.gz")).view(-1, 3073)
    return records[:, 1:].reshape(-1, 3, 32, 32).float() / 127.5 - 1, records[:, 0].long()


def dense():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def convolutions():
    layers = []
    for inputs, outputs in ((3, 32), (32, 64), (64, 128)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(2048, 128), nn.ReLU(), nn.Linear(128, 10))


TASKS = {  # images, network, epochs, batch of all ranks, rate
    "mnist": (mnist, dense, 3, 128, 0.05),
    "cifar10": (cifar10, convolutions, 30, 128, 0.02),
}


def train(wrap, network, data, seed, epochs, batch, rate):
    """The network after so many epochs."""
    images, labels = data
    rank, share = dist.get_rank(), batch // dist.get_world_size()
    torch.manual_seed(seed)
    net = network()
    model, hook = wrap(net)
    optimizer = torch.optim.SGD(net.parameters(), rate, momentum=0.9, weight_decay=5e-4)
    count = len(labels) // batch
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=epochs * count)
    for _ in range(epochs):
        order = torch.randperm(len(labels))  # the same on all ranks
        for step in range(count):
            mine = order[step * batch + rank * share : step * batch + (rank + 1) * share]
            optimizer.zero_grad()
            cross_entropy(model(images[mine]), labels[mine]).backward()
            optimizer.step()
            schedule.step()
    if hook is not None:
        hook.free()
    thinwire.torch.average_parameters(net)  # statistics of normalisation: each rank has its own
    return net


def error(net, data):
    """Percent."""
    images, labels = data
    net.eval()
    with torch.no_grad():
        wrong = sum(int((net(x).argmax(1) != y).sum()) for x, y in zip(images.split(500), labels.split(500)))
    return 100 * wrong / len(labels)


def accuracy(given):
    read, network, epochs, batch, rate = TASKS[given.task]
    epochs = given.epochs or epochs
    training, test = (read(given.folder, part) for part in ("train", "test"))
    errors = {way: [] for way in given.chosen}
    for seed in given.seeds:
        for way, wrap in given.chosen.items():
            errors[way].append(error(train(wrap, network, training, seed, epochs, batch, rate), test))
    if dist.get_rank() == 0:
        print("%s, %d epochs, %d ranks, seeds %s: test error, %%" % (
            given.task, epochs, dist.get_world_size(), " ".join(map(str, given.seeds))))
        for way, found in errors.items():
            print("%-15s  mean %.2f  (%s)" % (way, statistics.mean(found), " ".join("%.2f" % x for x in found)))
    return {"task": given.task, "epochs": epochs, "seeds": given.seeds, "ranks": dist.get_world_size(), "errors": errors}


# ---- seconds to a test error ---------------------------------------------------------------------


def limit_rows(net, most):
    with torch.no_grad():
        for layer in net.modules():
            if isinstance(layer, nn.Linear):
                layer.weight.mul_((most / layer.weight.norm(dim=1, keepdim=True)).clamp(max=1.0))


def reach(wrap, config, data, seed):
    """Steps until the error is reached or two epochs are over, and their seconds on the slowest rank."""
    (images, labels), test = data
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(seed)
    net = pytorch.torch_models.Net(config)
    for layer in net.modules():
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
    model, hook = wrap(net)
    optimizer = pytorch.optimizer_of(config, net, config["training"]["batch"], False)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
    drawn = torch.Generator().manual_seed(seed)
    torch.manual_seed(1000 * seed + rank)  # masks of dropout
    count, seconds, wrong = len(labels) // 500, 0.0, 100.0
    for step in range(2 * count):
        if step % count == 0:
            order = torch.randperm(len(labels), generator=drawn)
        begin = time.perf_counter()
        mine = order[step % count * 500 : (step % count + 1) * 500][rank::ranks]
        optimizer.zero_grad(set_to_none=True)
        cross_entropy(model(images[mine]), labels[mine]).backward()
        optimizer.step()
        limit_rows(net, config["training"]["max_norm"])
        seconds += time.perf_counter() - begin
        if (step + 1) % count == 0:
            schedule.step()
        if (step + 1) % 10 == 0:
            wrong = error(net, test)
            if wrong <= 15:
                break
            net.train()
            dist.barrier()
    if hook is not None:
        hook.free()
    return {"reached": wrong <= 15, "steps": step + 1, "seconds": bench_ddp.slowest([seconds])[0]}


def until(given):
    config = pytorch.config_of("mlp")
    data = [(images + 0.13, labels) for images, labels in (mnist(given.folder, part) for part in ("train", "test"))]
    found = {way: [reach(wrap, config, data, seed) for seed in given.seeds] for way, wrap in given.chosen.items()}
    if dist.get_rank() == 0:
        for way, runs in found.items():
            print("%-15s  %s" % (way, ", ".join("%.1f s (%d steps%s)" % (
                run["seconds"], run["steps"], "" if run["reached"] else ", not reached") for run in runs)))
    return {"ranks": dist.get_world_size(), "seeds": given.seeds, "runs": found}


# ---- all -----------------------------------------------------------------------------------------


def arguments():
    parser = argparse.ArgumentParser(description="DDP with gloo's, PowerSGD's and thinwire's hooks")
    tasks = parser.add_subparsers(dest="what", required=True)
    one = tasks.add_parser("speed")
    one.add_argument("model", choices=["alexnet", "resnet18"])
    one.add_argument("--side", type=int, default=64)
    one.add_argument("--bucket", type=bench_ddp.megabytes,
                     help="DDP's bucket_cap_mb [its default: 1 MB, then 25]; PowerSGD has one bucket")
    shared = tasks.add_parser("sharded")
    for each in (one, shared):
        each.add_argument("--batch", type=int, default=0)
        each.add_argument("--share", type=float, default=75)
        each.add_argument("--seconds", type=float, default=300)
    other = tasks.add_parser("accuracy")
    other.add_argument("task", choices=sorted(TASKS))
    other.add_argument("folder")
    other.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    other.add_argument("--epochs", type=int, default=0)
    third = tasks.add_parser("until")
    third.add_argument("folder")
    third.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    for each in (one, shared, other, third):
        each.add_argument("--ways", help="some of: " + ", ".join(SHARDED if each is shared else ways(0)))
        each.add_argument("--json")
    given = parser.parse_args()
    if given.what == "sharded":
        every = SHARDED
    else:
        every = ways(2, **bench_ddp.buckets(given.bucket)) if given.what == "speed" else ways(100)
    wanted = given.ways.split(",") if given.ways else ["gloo fp32"] if given.what == "until" else list(every)
    if not set(wanted) <= set(every):
        parser.error("--ways: there are %s" % ", ".join(every))
    given.chosen = {way: wrap for way, wrap in every.items() if way in wanted}
    return given


def main():
    given = arguments()
    thinwire.torch.init_process_group()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    found = {"speed": speed, "sharded": sharded, "accuracy": accuracy, "until": until}[given.what](given)
    if given.json and dist.get_rank() == 0:
        with open(given.json, "w", encoding="utf-8") as stream:
            json.dump({"torch": torch.__version__, "build": thinwire.build, **found}, stream, indent=2)
            stream.write("\n")
    dist.barrier()


if __name__ == "__main__":
    main()
