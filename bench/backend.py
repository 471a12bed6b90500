# SPDX-License-Identifier: BSD-3-Clause
"""backend.py [SIZE...] - gloo's time over that of the backend "thinwire", operation by operation, in turns, for tensors of SIZE
bytes (default: 16, 65536, 4194304, 16777216, 67108864). Under mpirun, or without MPI where RANK, WORLD_SIZE, MASTER_ADDR and
MASTER_PORT are set, as torchrun does; on several hosts with GLOO_SOCKET_IFNAME. Rank 0 prints medians, in ms, and the processor
time that a rank takes while it waits a second for another one, in ms."""
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist

import thinwire.torch

(dist if "MASTER_PORT" in os.environ else thinwire.torch).init_process_group("thinwire")
torch.set_num_threads(1)
rank, size = dist.get_rank(), dist.get_world_size()
SIZES = [int(word) for word in sys.argv[1:]] or [16, 65536, 4 << 20, 16 << 20, 64 << 20]
tree8 = thinwire.torch.Options(all_reduce="tree8", reduce_scatter="tree8", all_gather="bf16", all_to_all="tree8")
GROUPS = {"gloo": dist.new_group(backend="gloo"), "thinwire": None, "codec": dist.new_group(pg_options=tree8)}


def calls(count, dtype):
    part = max(count // size, 1)
    x, y = torch.ones(part * size, dtype=dtype), torch.ones(part * size, dtype=dtype)
    yield "all_reduce", lambda group: dist.all_reduce(x, group=group)
    yield "reduce_scatter", lambda group: dist.reduce_scatter_tensor(y[:part], x, group=group)
    yield "all_gather", lambda group: dist.all_gather_into_tensor(y, x[:part], group=group)
    yield "all_to_all", lambda group: dist.all_to_all_single(y, x, group=group)


def measured(call, turns):
    """Medians of turns, of the rank that takes longest."""
    times = {name: [] for name in GROUPS}
    for turn in range(-1, turns):
        for name, group in GROUPS.items():
            dist.barrier()
            begin = time.perf_counter()
            call(group)
            if turn >= 0:
                times[name].append(time.perf_counter() - begin)
    found = torch.tensor([statistics.median(times[name]) for name in GROUPS], dtype=torch.float64)
    dist.all_reduce(found, op=dist.ReduceOp.MAX)
    return [1e3 * float(value) for value in found]


if rank == 0:
    print("| operation, type, bytes | gloo, ms | thinwire | codec | gloo / thinwire | gloo / codec |\n|---|---|---|---|---|---|")
for dtype in (torch.float32, torch.bfloat16):
    for octets in SIZES:
        for name, call in calls(octets // dtype.itemsize, dtype):
            gloo, ours, codec = measured(call, max(7, min(51, (128 << 20) // octets)))
            if rank == 0:
                row = name, str(dtype).rpartition(".")[2], octets, gloo, ours, codec, gloo / ours, gloo / codec
                print("| %s, %s, %d | %.3f | %.3f | %.3f | %.2f | %.2f |" % row, flush=True)
waits = []
for name in ("gloo", "thinwire"):
    dist.barrier()
    if rank == 0:
        time.sleep(1)
    begin = time.process_time()
    dist.barrier(group=GROUPS[name])
    spent = torch.tensor([0.0 if rank == 0 else 1e3 * (time.process_time() - begin)])
    dist.all_reduce(spent, op=dist.ReduceOp.MAX)
    waits.append(float(spent))
if rank == 0:
    print("processor time of a rank that waits a second, ms: gloo %.1f, thinwire %.1f" % tuple(waits))
