# SPDX-License-Identifier: BSD-3-Clause
"""thinwire.torch - PyTorch: compressed gradients for DistributedDataParallel, and parameters that travel compressed.

    import thinwire.torch

    thinwire.torch.init_process_group()                     # gloo, with the ranks of MPI
    model = DistributedDataParallel(model)
    hook = thinwire.torch.register(model, "tree8")          # 8 bits per value on the wire

    torch.distributed.init_process_group("thinwire")        # or: all collectives by the library

docs/python.md of the source explains; register(), Hook, average_parameters(), broadcast_parameters(), register_fsdp(),
set_fully_shard() and LocalSGD have the details. Tensors are in host memory.
"""
from thinwire.torch._backend import register_backend
from thinwire.torch._fsdp import Gather, Scatter, Sharded, register_fsdp, set_fully_shard
from thinwire.torch._group import init_process_group, take_environment
from thinwire.torch._hook import Hook, register
from thinwire.torch._local import LocalSGD
from thinwire.torch._parameters import average_parameters, broadcast_parameters
from thinwire.torch._policy import Options, codec

register_backend()
take_environment()

__all__ = [
    "Gather",
    "Hook",
    "LocalSGD",
    "Options",
    "Scatter",
    "Sharded",
    "average_parameters",
    "broadcast_parameters",
    "codec",
    "init_process_group",
    "register",
    "register_fsdp",
    "set_fully_shard",
]
