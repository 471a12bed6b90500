# SPDX-License-Identifier: BSD-3-Clause
"""test_torch_alone.py WHAT - starts from which thinwire.torch cannot work; each rank ends with an exception.

uninitialised  a model to average, and torch.distributed not initialised; then a hook
single         MPI started for one thread
"""
import ctypes
import sys

import torch
from torch.nn.parallel import DistributedDataParallel

import thinwire.torch
from thinwire import _mpi

if sys.argv[1] == "single":
    _mpi._function("MPI_Init_thread")(None, None, 0, ctypes.byref(ctypes.c_int()))
    _mpi._mine = True
    thinwire.torch.init_process_group()
    thinwire.torch.register(DistributedDataParallel(torch.nn.Linear(3, 3)))
else:
    net = torch.nn.Linear(3, 3)
    thinwire.torch.average_parameters(net)  # MPI is enough for this
    thinwire.torch._group.ranks_of(None)
