#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Seconds of data-parallel training in PyTorch until a test error is reached: DistributedDataParallel over gloo.

    bench/netlab.sh mpirun 4 -- python3 bench/pytorch_until.py MNIST_DIR [--batch N] [--until ERROR]
                                [--eval-every N] [--epochs N] [--seed N] [--threads N] [--json FILE]

The network mlp of thinwire-train on MNIST with the recipe of its model file (784x1024x1024x10, logistic units,
dropout, RMSprop, rate times 0.99 an epoch, rows of at most norm 15, first weights as `init = "glorot"`), one
process a rank of Open MPI's mpirun, of which only the ranks' numbers are used; rank 0 is at MASTER_ADDR
(10.77.0.1), interfaces are GLOO_SOCKET_IFNAME (eth0), as bench/netlab.sh has them. The batch is that of all
ranks. Seconds are those of training, of the slowest rank, without tests. Needs torch with gloo, 1.13 or newer.
"""
import argparse
import gzip
import json
import os
import statistics
import time

import torch
import torch.distributed
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

import pytorch_networks as networks


def idx(path: str, header: int) -> torch.Tensor:
    """The bytes of an IDX file behind its header."""
    with gzip.open(path) as file:
        return torch.frombuffer(bytearray(file.read()[header:]), dtype=torch.uint8)


def mnist(folder: str, part: str) -> tuple[torch.Tensor, torch.Tensor]:
    images = idx(os.path.join(folder, part + "-images-idx3-ubyte.gz"), 16).reshape(-1, 784)
    return images, idx(os.path.join(folder, part + "-labels-idx1-ubyte.gz"), 8).long()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="seconds to a test error of PyTorch's DDP with gloo on the CPU")
    parser.add_argument("data", help="folder with MNIST's four .gz files")
    parser.add_argument("--batch", type=int, default=500, help="examples of all ranks [500]")
    parser.add_argument("--until", type=float, default=0.15, help="test error, 0 to 1 [0.15]")
    parser.add_argument("--eval-every", type=int, default=10, help="steps between tests [10]")
    parser.add_argument("--epochs", type=int, default=2, help="give up after so many [2]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", help="file for the result")
    return parser.parse_args()


def network() -> nn.Module:
    net = networks.build("mlp")
    for layer in net:
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
    return net


def limit_rows(net: nn.Module) -> None:
    """max_norm of the model file."""
    with torch.no_grad():
        for layer in net:
            if isinstance(layer, nn.Linear):
                norms = layer.weight.norm(dim=1, keepdim=True)
                layer.weight.mul_((15.0 / norms).clamp(max=1.0))


def over_ranks(value: float, how: torch.distributed.ReduceOp) -> float:
    number = torch.tensor([value], dtype=torch.float64)
    torch.distributed.all_reduce(number, how)
    return float(number)


def test_error(net: nn.Module, images: torch.Tensor, labels: torch.Tensor, rank: int, ranks: int) -> float:
    net.eval()
    with torch.no_grad():
        wrong = (net(images[rank::ranks].float() / 255.0).argmax(1) != labels[rank::ranks]).sum()
    net.train()
    return over_ranks(float(wrong), torch.distributed.ReduceOp.SUM) / len(labels)


def train(given: argparse.Namespace, rank: int, ranks: int) -> dict:
    images, labels = mnist(given.data, "train")
    tests = mnist(given.data, "t10k")
    torch.manual_seed(given.seed)
    net = network()
    wrapped = DistributedDataParallel(net, gradient_as_bucket_view=True)
    optimizer = networks.make_optimizer(networks.MODELS["mlp"], net, False)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
    torch.manual_seed(1000 * given.seed + rank)  # masks of dropout
    order = torch.Generator().manual_seed(given.seed)
    times: list[float] = []
    errors: list[float] = []
    for _ in range(given.epochs):
        for chosen in torch.randperm(len(labels), generator=order).split(given.batch):
            begin = time.perf_counter()
            mine = chosen[rank::ranks]
            optimizer.zero_grad(set_to_none=True)
            loss = functional.cross_entropy(wrapped(images[mine].float() / 255.0), labels[mine])
            loss.backward()
            optimizer.step()
            limit_rows(net)
            times.append(time.perf_counter() - begin)
            if len(times) % given.eval_every == 0:
                errors.append(test_error(net, *tests, rank, ranks))
                if errors[-1] <= given.until:
                    return result(given, times, errors, True)
        schedule.step()
    return result(given, times, errors, False)


def result(given: argparse.Namespace, times: list[float], errors: list[float], reached: bool) -> dict:
    return {"torch": torch.__version__, "batch": given.batch, "until": given.until, "seed": given.seed,
            "reached": reached, "seconds": over_ranks(sum(times), torch.distributed.ReduceOp.MAX),
            "steps": len(times), "step_seconds": statistics.median(times), "test_errors": errors}


def main() -> None:
    given = arguments()
    networks.use_threads(given.threads)
    rank, ranks = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
    os.environ.setdefault("MASTER_ADDR", "10.77.0.1")
    os.environ.setdefault("MASTER_PORT", "29500")
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "eth0")
    torch.distributed.init_process_group("gloo", rank=rank, world_size=ranks)
    report = train(given, rank, ranks)
    if rank == 0:
        text = json.dumps(report, indent=2)
        print(text)
        if given.json:
            with open(given.json, "w", encoding="ascii") as file:
                file.write(text + "\n")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
