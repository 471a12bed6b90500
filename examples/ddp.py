# SPDX-License-Identifier: BSD-3-Clause
"""ddp.py [SPEC] - PyTorch: a small network trained by DistributedDataParallel, with gradients as SPEC says.

    mpirun -n 4 python3 ddp.py onebit

Every rank draws its own points of two spirals. Ends with status 1 if the network does not learn to tell them apart, or
is not the same on all ranks.
"""
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import thinwire.torch

BATCH, STEPS = 64, 400


def spirals(count, seed):
    rng = torch.Generator().manual_seed(seed)
    t, label = 0.5 + 2.5 * torch.rand(count, generator=rng), torch.randint(2, (count,), generator=rng)
    angle = 2 * t + torch.pi * label
    return torch.stack([t * angle.cos(), t * angle.sin()], 1), label


def main(spec):
    thinwire.torch.init_process_group()
    torch.manual_seed(dist.get_rank())  # the weights of rank 0 count: DDP sends them to all
    net = nn.Sequential(nn.Linear(2, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))
    model = DistributedDataParallel(net)
    hook = thinwire.torch.register(model, spec)
    optimizer = torch.optim.Adam(model.parameters(), 0.003)
    for step in range(STEPS):
        x, label = spirals(BATCH, STEPS * dist.get_rank() + step)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), label).backward()
        optimizer.step()
    x, label = spirals(1000, -1)
    right = (net(x).argmax(1) == label).float().mean().item()
    weights = [None] * dist.get_world_size()
    dist.all_gather_object(weights, [p.tolist() for p in net.parameters()])
    if dist.get_rank() == 0:
        stats = hook.comm.stats()
        print("%s: %.1f %% are right; %d bytes were sent in each step, %d as float32"
              % (hook.codec, 100 * right, stats.bytes_sent / STEPS, stats.bytes_uncompressed / STEPS))
    return 0 if right > 0.9 and all(w == weights[0] for w in weights) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2] or ["tree8"]))
