#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Data-parallel training in PyTorch on the CPU, DistributedDataParallel over gloo: images per second.

    python3 bench/pytorch_ddp.py [MODEL] [--ranks N] [--batch N] [--steps N] [--warm N] [--threads N]
                                 [--tuned] [--json FILE]

MODEL is alexnet-s0 unless given; 2 processes of one thread on this machine share a global batch of 16
random images (--batch, a multiple of --ranks). A step takes as long as its slowest process; the figure
is the batch over the median of the steps after the warm ones. --tuned: as in pytorch_models.py, and
gradients that live in the buckets. Needs torch with gloo, 1.13 or newer.
"""
import argparse
import os
import tempfile

import torch.distributed
import torch.multiprocessing
from torch.nn.parallel import DistributedDataParallel

import pytorch_networks as networks


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="images per second of PyTorch's DDP with gloo on the CPU")
    parser.add_argument("model", nargs="?", default="alexnet-s0", choices=sorted(networks.MODELS))
    parser.add_argument("--ranks", type=int, default=2, help="processes [2]")
    networks.add_options(parser)
    given = parser.parse_args()
    networks.check_options(parser, given, given.ranks)
    return given


def slowest(seconds: list[float]) -> list[float]:
    """Per step, the time of the slowest process."""
    times = torch.tensor(seconds, dtype=torch.float64)
    torch.distributed.all_reduce(times, torch.distributed.ReduceOp.MAX)
    return times.tolist()


def work(rank: int, given: argparse.Namespace, meeting: str) -> None:
    """One of the processes."""
    networks.use_threads(given.threads)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{meeting}", rank=rank, world_size=given.ranks)
    share = given.batch // given.ranks
    training = networks.Training(
        given.model, share, share * min(given.warm + given.steps, 16), given.tuned,
        lambda net: DistributedDataParallel(net, gradient_as_bucket_view=given.tuned))
    seconds = slowest(training.times(given.warm, given.steps))
    if rank == 0:
        networks.write(networks.report(given.model, given.batch, seconds, ranks=given.ranks,
                                       threads=given.threads, tuned=given.tuned), given.json)
    torch.distributed.destroy_process_group()


def main() -> None:
    given = arguments()
    os.environ["OMP_NUM_THREADS"] = str(given.threads)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(work, (given, os.path.join(folder, "meeting")), given.ranks)


if __name__ == "__main__":
    main()
