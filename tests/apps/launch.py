# SPDX-License-Identifier: BSD-3-Clause
"""launch.py WAY RANKS - three steps of a linear model by the backend "thinwire", as any launcher starts it, beside the same
steps of one process that has all samples. Rank 0 says whether the messages are MPI's.

plain      torch.distributed.init_process_group() and DDP
own        thinwire.torch.init_process_group(), over gloo, and the hook
accelerate, lightning
"""
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

import thinwire.torch
from thinwire._library import lib

way, ranks = sys.argv[1], int(sys.argv[2])
draw = torch.Generator().manual_seed(7)
samples, targets = torch.randn(12, 5, generator=draw), torch.randn(12, 3, generator=draw)


def net():
    torch.manual_seed(3)
    return torch.nn.Linear(5, 3)


def error(model, x, y):
    return (model(x) - y).square().mean()


def train(model, optimizer, x, y, backward=torch.Tensor.backward):
    for _ in range(3):
        optimizer.zero_grad()
        backward(error(model, x, y))
        optimizer.step()


def mine():
    return samples[dist.get_rank() :: ranks], targets[dist.get_rank() :: ranks]


def by_torch():
    if way == "own":
        thinwire.torch.init_process_group()
    else:
        dist.init_process_group("thinwire")
    model = DDP(net())
    if way == "own":
        thinwire.torch.register(model, "fp32")
    train(model, torch.optim.SGD(model.parameters(), 0.1), *mine())
    return model.module


def by_accelerate():
    import accelerate

    dist.init_process_group("thinwire")  # before: Accelerate itself knows gloo and mpi alone
    it = accelerate.Accelerator(cpu=True)
    assert it.num_processes == ranks, it.num_processes
    model = net()
    model, optimizer = it.prepare(model, torch.optim.SGD(model.parameters(), 0.1))
    assert isinstance(model, DDP)
    train(model, optimizer, *mine(), it.backward)
    assert it.gather(torch.ones(2)).sum() == 2 * ranks
    return it.unwrap_model(model)


def by_lightning():
    import lightning
    from lightning.pytorch.strategies import DDPStrategy

    class Net(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = net()

        def training_step(self, batch):
            return error(self.net, *batch)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    model = Net()
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(samples, targets), 12 // ranks)
    strategy = DDPStrategy(process_group_backend="thinwire")
    lightning.Trainer(accelerator="cpu", devices=ranks, strategy=strategy, max_epochs=3, **quiet).fit(model, data)
    return model.net


model = {"accelerate": by_accelerate, "lightning": by_lightning}.get(way, by_torch)()
assert dist.get_backend() == ("gloo" if way == "own" else "thinwire") and dist.get_world_size() == ranks
alone = net()
train(alone, torch.optim.SGD(alone.parameters(), 0.1), samples, targets)
for a, b in zip(model.parameters(), alone.parameters()):
    assert torch.allclose(a, b, rtol=1e-5, atol=1e-6), (a, b)
dist.barrier()
if dist.get_rank() == 0:
    print("right: %d ranks %s MPI" % (ranks, "with" if lib.MPI else "without"), flush=True)
dist.destroy_process_group()
