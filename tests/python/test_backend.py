# SPDX-License-Identifier: BSD-3-Clause
"""The backend "thinwire" of torch.distributed: every dtype, operation and size beside numbers that every rank can make for
every other; messages; groups; what PyTorch builds upon it; options; what ends in an exception."""
import copy
import datetime
import itertools
import os
import shutil
import tempfile
import threading
import time
import unittest
import unittest.mock

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch import nn
from torch.distributed import ReduceOp, checkpoint
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as powersgd
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel as DDP

import thinwire
import thinwire.torch
from thinwire.torch import _bytes, _group, _policy, _work

thinwire.torch.init_process_group("thinwire", timeout=datetime.timedelta(seconds=60))
rank, size = dist.get_rank(), dist.get_world_size()
SIZES = (0, 1, 7, 20003)
FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
WHOLE = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool)
COMPLEX = (torch.complex64, torch.complex128)
ARITHMETIC = (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PRODUCT)
ORDER = (ReduceOp.MAX, ReduceOp.MIN)
BITS = (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
ULPS = {torch.bfloat16: 2**-8, torch.float16: 2**-11, torch.float32: 2**-23, torch.complex64: 2**-22}


def numbers(count, dtype, of=rank, seed=1):
    """Small ones, of which products stay small."""
    draw = torch.Generator().manual_seed(1000 * seed + of)
    if dtype == torch.bool:
        return torch.randint(0, 2, (count,), generator=draw) > 0
    if not dtype.is_floating_point and not dtype.is_complex:
        return torch.randint(0 if dtype == torch.uint8 else -3, 4, (count,), generator=draw).to(dtype)
    wide = torch.complex128 if dtype.is_complex else torch.float64
    return (torch.randn(count, generator=draw, dtype=wide) / 2 + 1).to(dtype)


def oracle(count, dtype, op, seed=1):
    """In 64 bits, in the order of ranks."""
    rows = torch.stack([numbers(count, dtype, r, seed) for r in range(size)])
    if dtype == torch.bool:
        some, every = rows.any(0), rows.all(0)
        parity = rows.sum(0) % 2 > 0
        return {"SUM": some, "AVG": some, "MAX": some, "BOR": some, "BXOR": parity}.get(op.name, every)
    if dtype.is_floating_point:
        rows = rows.double()
    if dtype.is_complex:
        rows = rows.to(torch.complex128)
    whole = not (dtype.is_floating_point or dtype.is_complex)
    rows = rows.long() if whole else rows
    total = {"SUM": rows.sum, "AVG": rows.sum, "PRODUCT": rows.prod}.get(op.name)
    if total is not None:
        found = total(0)
        if op == ReduceOp.AVG:
            found = torch.div(found.to(dtype).long(), size, rounding_mode="trunc") if whole else found / size
    elif op in ORDER:
        found = rows.amax(0) if op == ReduceOp.MAX else rows.amin(0)
    else:
        fold = {"BAND": torch.bitwise_and, "BOR": torch.bitwise_or, "BXOR": torch.bitwise_xor}[op.name]
        found = rows[0]
        for row in rows[1:]:
            found = fold(found, row)
    return found.to(dtype) if whole else found


def reductions():
    for dtype in FLOATS + WHOLE + COMPLEX:
        some = ARITHMETIC[:2] if dtype.is_complex else ARITHMETIC + ORDER  # others torch refuses
        for op in some + (BITS if dtype in WHOLE else ()):
            yield dtype, op


def strided(x):
    """The same numbers with gaps between them."""
    gaps = torch.zeros(2 * x.numel(), dtype=x.dtype)[::2]
    gaps.copy_(x)
    return gaps


def held():
    """Descriptors, threads and the memory of nodes of this process."""
    with open("/proc/self/maps") as maps:
        shared = sum("/dev/shm/" in line for line in maps)
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), shared


class Backend(unittest.TestCase):
    def near(self, got, want, what):
        if got.dtype in ULPS or got.dtype in (torch.float64, torch.complex128):
            limit = 2 * size * ULPS.get(got.dtype, 2**-50) * (1 + want.abs())
            self.assertTrue(bool(((got.to(want.dtype) - want).abs() <= limit).all()), what)
        else:
            self.assertTrue(torch.equal(got, want), what)

    def test_all_reduce(self):
        for (dtype, op), count in itertools.product(reductions(), SIZES):
            want, what = oracle(count, dtype, op), "%s %s %d" % (dtype, op, count)
            x = numbers(count, dtype)
            dist.all_reduce(x, op=op)
            self.near(x, want, what)
            y = strided(numbers(count, dtype)) if rank % 2 else numbers(count, dtype)
            dist.all_reduce(y, op=op)  # not contiguous on some ranks
            self.assertTrue(torch.equal(x, y), what)

    def test_reduce_and_reduce_scatter(self):
        for (dtype, op), count in itertools.product(reductions(), (1, 7, 1001)):
            what = "%s %s %d" % (dtype, op, count)
            x, root = numbers(count, dtype), count % size
            dist.reduce(x, root, op=op)
            if rank == root:
                self.near(x, oracle(count, dtype, op), what)
            whole = oracle(count * size, dtype, op)
            out = torch.empty(count, dtype=dtype)
            dist.reduce_scatter_tensor(out, numbers(count * size, dtype), op=op)
            self.near(out, whole[count * rank : count * (rank + 1)], what)
            counts = [count + r for r in range(size)]
            parts = list(numbers(sum(counts), dtype).split(counts))
            out = torch.empty(counts[rank], dtype=dtype)
            dist.reduce_scatter(out, parts, op=op)
            self.near(out, oracle(sum(counts), dtype, op).split(counts)[rank], what)

    def test_movement(self):
        for dtype, count in itertools.product(FLOATS + WHOLE + COMPLEX, SIZES):
            what, root = "%s %d" % (dtype, count), count % size
            every = [numbers(count, dtype, r) for r in range(size)]
            x = numbers(count, dtype)
            dist.broadcast(x, root)
            self.assertTrue(torch.equal(x, every[root]), what)
            out = torch.empty(size * count, dtype=dtype)
            dist.all_gather_into_tensor(out, every[rank])
            self.assertTrue(torch.equal(out, torch.cat(every)), what)
            outs = [strided(torch.zeros(count + r, dtype=dtype)) for r in range(size)]
            dist.all_gather(outs, numbers(count + rank, dtype))
            for r in range(size):
                self.assertTrue(torch.equal(outs[r], numbers(count + r, dtype, r)), what)
            outs = [torch.empty(count, dtype=dtype) for _ in range(size)] if rank == root else None
            dist.gather(every[rank], outs, dst=root)
            self.assertTrue(rank != root or torch.equal(torch.cat(outs), torch.cat(every)), what)
            dist.scatter(x, [part + 0 if dtype != torch.bool else part for part in every] if rank == root else None, src=root)
            self.assertTrue(torch.equal(x, every[rank]), what)

    def test_where_results_go(self):
        """Into tensors with gaps, and over what is sent, on some ranks alone."""
        for count in (3, 20003):
            every = [numbers(count, torch.float32, r) for r in range(size)]
            want, begin = torch.cat(every), count * rank if rank % 3 else 0  # FSDP's own place, and another
            out = torch.zeros(size * count)
            x = out[begin : begin + count].copy_(every[rank])
            dist.all_gather_into_tensor(out, x)
            self.assertTrue(torch.equal(out, want), count)
            out = strided(torch.zeros(size * count)) if rank % 2 else torch.zeros(size * count)
            dist.all_gather_into_tensor(out, every[rank])
            self.assertTrue(torch.equal(out, want), count)
            total = oracle(size * count, torch.float32, ReduceOp.SUM)[rank * count : (rank + 1) * count]
            x = numbers(size * count, torch.float32)
            dist.reduce_scatter_tensor(x[begin : begin + count], x)
            self.near(x[begin : begin + count], total, count)
            want = torch.cat([numbers(size * count, torch.float32, r).split(count)[rank] for r in range(size)])
            x = numbers(size * count, torch.float32)
            out = (strided(x), x, torch.empty(size * count))[rank % 3]
            dist.all_to_all_single(out, x)
            self.assertTrue(torch.equal(out, want), count)

    def test_lists(self):
        """Of tensors that lie one behind the other, on some ranks, over what is sent, too: in their memory."""
        for count in (3, 20003):
            every, begin = [numbers(count, torch.float32, r) for r in range(size)], count * rank if rank % 3 else 0
            out = torch.zeros(size * count)
            parts = list(out.split(count))
            self.assertEqual(_bytes.row(parts).data_ptr(), out.data_ptr())
            self.assertIsNone(_bytes.row([*parts, torch.zeros(3)]))
            self.assertIsNone(_bytes.row([parts[0], parts[0].clone()]))
            self.assertIsNone(_bytes.row([strided(parts[0])]))
            dist.all_gather(parts, out[begin : begin + count].copy_(every[rank]))
            self.assertTrue(torch.equal(out, torch.cat(every)), count)
            x = numbers(size * count, torch.float32)
            want = torch.cat([numbers(size * count, torch.float32, r).split(count)[rank] for r in range(size)])
            total = oracle(size * count, torch.float32, ReduceOp.SUM).split(count)[rank]
            dist.reduce_scatter(x[begin : begin + count], list(x.split(count)))
            self.near(x[begin : begin + count], total, count)
            x = numbers(size * count, torch.float32)
            out = x if rank % 2 else torch.empty(size * count)
            dist.all_to_all(list(out.split(count)), list(x.split(count)))
            self.assertTrue(torch.equal(out, want), count)
            out = torch.empty(size * count)
            dist.gather(every[rank], list(out.split(count)) if rank == 0 else None)
            self.assertTrue(rank != 0 or torch.equal(out, torch.cat(every)), count)
            dist.scatter(x[:count], list(out.split(count)) if rank == 0 else None)
            self.assertTrue(torch.equal(x[:count], every[rank]), count)

    def test_order(self):
        """Calls that wait run behind those that do not, from any thread."""
        x = torch.ones(50000)
        works = [dist.all_reduce(x, op=ReduceOp.SUM, async_op=True) for _ in range(5)]
        dist.all_reduce(x, op=ReduceOp.MAX)
        x += 1
        self.assertTrue(all(work.is_completed() for work in works))
        self.assertTrue(torch.equal(x, torch.full((50000,), size**5 + 1.0)))
        then = dist.all_reduce(torch.ones(1), async_op=True).get_future().then(lambda _: dist.barrier())
        then.wait()

    def test_chained(self):
        """What is chained to a future, and waits: on all ranks before what was called later."""

        def again(future):
            return dist.all_reduce(future.value()[0], async_op=True).get_future().wait()

        own = dist.all_reduce(torch.ones(100000), async_op=True)
        self.assertTrue(own.get_future().then(lambda _: own.is_completed() and own.wait()).wait())
        chains = []
        for k in range(12):
            time.sleep(0.002 * ((k + rank) % 3))  # some are complete before they get the chain
            first = dist.all_reduce(torch.full((20000 * (k % 3) + k + 1,), 1.0), async_op=True)
            chains.append(first.get_future().then(again).then(again))
        for k, chain in enumerate(chains):
            self.assertTrue(torch.equal(chain.wait()[0], torch.full((20000 * (k % 3) + k + 1,), float(size**3))), k)

    def test_all_to_all(self):
        for dtype, count in itertools.product(FLOATS + WHOLE + COMPLEX, SIZES):
            out = torch.empty(size * count, dtype=dtype)
            dist.all_to_all_single(out, numbers(size * count, dtype))
            want = [numbers(size * count, dtype, r)[rank * count : (rank + 1) * count] for r in range(size)]
            self.assertTrue(torch.equal(out, torch.cat(want)), "%s %d" % (dtype, count))
            sent = [[(3 * a + b) % 5 for b in range(size)] for a in range(size)]  # rows of 3
            rows = [numbers(3 * sum(sent[r]), dtype, r).view(-1, 3) for r in range(size)]
            received = [sent[r][rank] for r in range(size)]
            out = torch.empty((sum(received), 3), dtype=dtype)
            dist.all_to_all_single(out, rows[rank], received, sent[rank])
            want = [rows[r].split(sent[r])[rank] for r in range(size)]
            self.assertTrue(torch.equal(out, torch.cat(want)), dtype)
            outs = [torch.empty((n, 3), dtype=dtype) for n in received]
            dist.all_to_all(outs, list(rows[rank].split(sent[rank])))
            self.assertTrue(torch.equal(torch.cat(outs), torch.cat(want)), dtype)

    def test_messages(self):
        right, left = (rank + 1) % size, (rank - 1) % size
        got = torch.zeros(30000)
        works = dist.batch_isend_irecv(
            [dist.P2POp(dist.isend, numbers(30000, torch.float32), right), dist.P2POp(dist.irecv, got, left)]
        )
        for work in works:
            work.wait()
        self.assertTrue(torch.equal(got, numbers(30000, torch.float32, left)))
        if rank == 0:
            seen = set()
            for _ in range(size - 1):
                x = torch.zeros(3, dtype=torch.int16)
                source = dist.recv(x, tag=4)
                self.assertEqual(source, int(x[0]))
                seen.add(source)
            self.assertEqual(seen, set(range(1, size)))
        else:
            work = dist.isend(torch.full((3,), rank, dtype=torch.int16), 0, tag=4)
            while not work.is_completed():
                pass
        with self.assertRaisesRegex(ValueError, "tag 16383; accepted: 0 to 16382"):
            dist.isend(got, right, tag=16383)

    def test_objects_and_barriers(self):
        found = [None] * size
        dist.all_gather_object(found, {"rank": rank, "text": "x" * rank})
        self.assertEqual(found, [{"rank": r, "text": "x" * r} for r in range(size)])
        box = [rank, "y"] if rank == 0 else [None, None]
        dist.broadcast_object_list(box)
        self.assertEqual(box, [0, "y"])
        dist.barrier()
        dist.group.WORLD.monitored_barrier(datetime.timedelta(seconds=20))  # torch's function has been for gloo alone

    def test_work(self):
        x = numbers(1000, torch.float32)
        work = dist.all_reduce(x, async_op=True)
        self.assertTrue(work.wait(datetime.timedelta(seconds=30)))
        self.assertTrue(work.is_completed() and work.is_success() and work.result()[0] is x)
        doubled = dist.all_reduce(torch.ones(3), async_op=True).get_future().then(lambda f: 2 * f.value()[0])
        self.assertTrue(torch.equal(doubled.wait(), torch.full((3,), 2.0 * size)))

    def test_closing(self):
        """What another thread submits while a group is destroyed, its calls still running."""
        worker, end = _work.Worker(30.0, lambda limit: None), threading.Event()
        work = worker.submit("first", end.wait, [], 30.0, False)
        closing = threading.Thread(target=worker.stop)
        closing.start()
        while not worker._closed:
            time.sleep(0.001)
        with self.assertRaisesRegex(RuntimeError, "destroyed"):
            worker.submit("second", lambda: None, [], 30.0, False)
        end.set()
        closing.join()
        self.assertTrue(work.wait())

    def test_without_torch_distributed(self):
        """A group called by itself, as torch's own classes can be: with tensors, a ReduceOp, roots; several tensors."""
        group, root, every = dist.group.WORLD, size - 1, [numbers(5, torch.float64, r) for r in range(size)]
        x = every[rank].clone()
        group.allreduce(x, ReduceOp.MAX).wait()
        self.assertTrue(torch.equal(x, torch.stack(every).amax(0)))
        group.broadcast(x.copy_(every[rank]), root=root).wait()
        self.assertTrue(torch.equal(x, every[root]))
        group.reduce(x.copy_(every[rank]), root, ReduceOp.SUM).wait()
        self.assertTrue(rank != root or torch.allclose(x, sum(every)))
        outs = [torch.zeros(5, dtype=torch.float64) for _ in range(size)]
        group.allgather(outs, every[rank]).wait()
        self.assertTrue(torch.equal(torch.cat(outs), torch.cat(every)))
        pair = [every[rank].clone(), 2 * every[rank]]
        outs = [[torch.zeros(5, dtype=torch.float64) for _ in range(2 * size)] for _ in range(2)]
        group.allgather(outs, pair).wait()
        for found in outs:
            self.assertTrue(torch.equal(torch.cat(found), torch.cat([torch.cat([part, 2 * part]) for part in every])))
        group.allreduce(pair).wait()
        self.assertTrue(torch.allclose(torch.stack(pair), 3 * sum(every)))
        group.allreduce_coalesced([x.copy_(every[rank]), x, pair[1].copy_(every[rank])]).wait()  # the same twice
        self.assertTrue(torch.allclose(x, sum(every)) and torch.allclose(pair[1], sum(every)))
        for call, text in (
            (lambda: group.broadcast(x, root=size), "invalid root rank %d; accepted: 0 to %d" % (size, size - 1)),
            (lambda: group.reduce([x, x], 0), "requires a single-element tensor list, not one of 2"),
            (lambda: group.allreduce([x, x.float()]), "invalid tensor type at index 1: torch.float32, not torch.float64"),
            (lambda: group.allgather_coalesced(size * [[x[1:]]], [x]), "invalid size of output tensor at index 0"),
            (lambda: group.allgather([outs[0]], [x]), "invalid output tensor list of %d for %d" % (2 * size, size)),
            (lambda: group.gather([size * [x[1:]]], [x], rank), "invalid tensor size at index 0: 4 elements, not 5"),
            (lambda: group.scatter([x], [[x]], (rank + 1) % size), "requires empty input on non-root" if size > 1 else None),
        ):
            if text is not None:
                with self.assertRaisesRegex(RuntimeError, text):
                    call()

    def test_launchers(self):
        """What srun says is said to PyTorch, unless somebody has; who has started what torchrun starts does not matter."""
        srun = {"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "8", "SLURM_LOCALID": "1", "SLURM_SRUN_COMM_PORT": "40001"}
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR")
        nodes = {"a1": "a1", "a3,b1": "a3", "a[07-09,20]-ib,b3": "a07-ib", "n[1,5]x[3-4]": "n1x3", "n[12]": "n12"}
        rows = [("8", "a1", "127.0.0.1")] + [("2(x4)", listed, first) for listed, first in nodes.items()]
        for beside, listed, first in rows:
            said = {**srun, "SLURM_STEP_TASKS_PER_NODE": beside, "SLURM_STEP_NODELIST": listed}
            with unittest.mock.patch.dict(os.environ, said, clear=True):
                _group.take_environment()
                self.assertEqual([os.environ[name] for name in names], ["3", "8", "1", first])
                self.assertIn(int(os.environ["MASTER_PORT"]), range(20000, 32000))
                self.assertFalse(_group.by_mpi())
        for said, want in (({"RANK": "5"}, "5"), ({"OMPI_COMM_WORLD_RANK": "2"}, None), ({}, None)):
            with unittest.mock.patch.dict(os.environ, {"SLURM_PROCID": "3", **said}, clear=True):  # of a script of sbatch
                _group.take_environment()
                self.assertEqual(os.environ.get("RANK"), want)
        for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"):
            for said, want in (({}, True), ({"TORCHELASTIC_RUN_ID": "1"}, False)):
                with unittest.mock.patch.dict(os.environ, {name: "0", **said}, clear=True):
                    self.assertEqual(_group.by_mpi(), want)

    def test_sparse(self):
        places = torch.tensor([[rank, size], [0, 1]])
        x = torch.sparse_coo_tensor(places, torch.ones(2, 4), (size + 1, 2, 4))
        dist.all_reduce(x)
        want = torch.zeros(size + 1, 2, 4)
        want[:size, 0], want[size, 1] = 1, size
        self.assertTrue(torch.equal(x.to_dense(), want))
        two = [torch.sparse_coo_tensor(places, torch.ones(2, 4), (size + 1, 2, 4)) for _ in range(2)]
        dist.group.WORLD.allreduce(two).wait()
        self.assertTrue(all(torch.equal(one.to_dense(), 2 * want) for one in two))

    def test_groups(self):
        before = None
        for _ in range(3):
            groups = [dist.new_group([r for r in range(size) if r % 2 == part]) for part in range(min(2, size))]
            mine = groups[rank % len(groups)]
            x = torch.ones(5)
            dist.all_reduce(x, group=mine)
            self.assertEqual(int(x[0]), dist.get_world_size(mine))
            for group in groups[:: 1 if rank % 2 else -1]:  # in another order
                if group is not dist.GroupMember.NON_GROUP_MEMBER:
                    dist.destroy_process_group(group)
            before = before or held()
        end = time.monotonic() + 30
        grown = lambda: any(now > then for now, then in zip(held(), before))  # noqa: E731
        while grown() and time.monotonic() < end:  # a thread is listed for a moment after it was joined
            time.sleep(0.01)
        self.assertFalse(grown(), before)
        pair = [r for r in range(size) if r // 2 == rank // 2]  # made by its members alone
        group = dist.new_group(pair, use_local_synchronization=True)
        x = torch.full((3,), rank)
        dist.all_reduce(x, group=group)
        self.assertEqual(int(x[0]), sum(pair))

    def test_children(self):
        """Those that PyTorch forks to load data."""
        samples = torch.arange(24.0).view(12, 2)
        total = torch.zeros(2)
        for batch in torch.utils.data.DataLoader(samples, batch_size=4, num_workers=2):
            part = batch.sum(0)
            dist.all_reduce(part)
            total += part
        self.assertTrue(torch.equal(total, size * samples.sum(0)))

    def test_beside_another_backend(self):
        if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 14):
            with self.assertRaisesRegex(RuntimeError, "beside those of other devices; accepted: 2.14 or newer"):
                dist.new_group(backend="cpu:thinwire,cuda:gloo")
            return
        group = dist.new_group(backend="cpu:thinwire,cuda:gloo")
        x = torch.ones(2)
        dist.all_reduce(x, group=group)
        self.assertEqual(int(x[0]), size)
        out = torch.empty(2 * size)
        dist.all_gather_into_tensor(out, torch.full((2,), float(rank)), group=group)
        self.assertEqual(out[::2].tolist(), list(range(size)))

    def test_functional(self):
        world = dist.group.WORLD
        self.assertTrue(torch.equal(functional.all_reduce(torch.ones(4), "avg", world) + 0, torch.ones(4)))
        self.assertEqual((functional.all_gather_tensor(torch.ones(4), 0, world) + 0).numel(), 4 * size)
        y = functional.reduce_scatter_tensor(torch.ones(4 * size), "sum", 0, world)
        self.assertTrue(torch.equal(y + 0, torch.full((4,), float(size))))
        x = [torch.ones(3), torch.ones(2, dtype=torch.bfloat16)]
        self.assertEqual([int((y + 0)[0]) for y in functional.all_reduce_coalesced(x, "sum", world)], [size, size])

    def test_power_sgd(self):
        """torch's hook, whose callbacks wait for exchanges, on several buckets: of one sample each, the gradients of the
        ranks together have no more rank than it keeps, and nothing is lost."""
        torch.manual_seed(3)
        net = nn.Sequential(*[nn.Linear(60, 60) for _ in range(4)])
        exact, model = copy.deepcopy(net), DDP(net, bucket_cap_mb=0.015)
        state = powersgd.PowerSGDState(None, matrix_approximation_rank=4, start_powerSGD_iter=2, use_error_feedback=True)
        model.register_comm_hook(state, powersgd.powerSGD_hook)
        for step in range(4):
            for one in (exact, model):
                one.zero_grad()
                one(torch.randn(60, generator=torch.Generator().manual_seed(10 * step + rank))).square().mean().backward()
            for p, q in zip(net.parameters(), exact.parameters()):
                dist.all_reduce(q.grad, op=ReduceOp.AVG)
                self.assertLess((p.grad - q.grad).norm(), 1e-4 * q.grad.norm())

    def test_models(self):
        """DDP, with and without the hook, and FSDP give what one process gives that has all samples."""
        torch.manual_seed(3)
        alone = nn.Sequential(nn.Linear(12, 36), nn.Tanh(), nn.Linear(36, 4)).double()
        samples = torch.randn(4 * size, 12, dtype=torch.float64)
        for kind in ("ddp", "hook", "fsdp", "accumulated", *(["two axes", "tensor parallel"] if size % 2 == 0 else [])):
            hook, mine, parts = None, samples[4 * rank : 4 * rank + 4], 2 if kind == "accumulated" else 1
            torch.manual_seed(3)
            model = nn.Sequential(nn.Linear(12, 36), nn.Tanh(), nn.Linear(36, 4)).double()
            with torch.no_grad():
                for one, other in zip(alone.parameters(), model.parameters()):
                    one.copy_(other)
            if kind in ("ddp", "hook"):
                model = DDP(model)
                hook = thinwire.torch.register(model, "fp32") if kind == "hook" else None
            elif kind == "tensor parallel":
                mine = samples
                parallelize_module(model, init_device_mesh("cpu", (size,)), {"0": ColwiseParallel(), "2": RowwiseParallel()})
            else:
                shape = (2, size // 2) if kind == "two axes" else (size,)
                fully_shard(model, mesh=init_device_mesh("cpu", shape, mesh_dim_names=("a", "b")[: len(shape)]))
            for net, part, count in ((alone, samples, 1), (model, mine, parts)):
                optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
                for _ in range(3):
                    optimiser.zero_grad()
                    for k, some in enumerate(part.chunk(count)):
                        if count > 1:
                            net.set_requires_gradient_sync(k == count - 1)
                        (net(some).square().mean() / count).backward()
                    optimiser.step()
            with torch.no_grad():
                self.assertTrue(torch.allclose(model(samples), alone(samples), rtol=1e-10), kind)
            if kind == "two axes":
                self.assertEqual(thinwire.torch.set_fully_shard(model, "tree8").comm.size, size // 2)
            if hook is not None:
                hook.free()

    def test_placements(self):
        """DTensors from each placement to each, of rows and columns that ranks cannot share equally, on one axis and two."""
        whole = torch.arange(35.0).view(7, 5)
        for shape in ((size,), *([(size // 2, 2)] if size % 2 == 0 else [])):
            mesh = init_device_mesh("cpu", shape)
            ways = list(itertools.product((Replicate(), Shard(0), Shard(1)), repeat=len(shape)))
            for one, other in [*itertools.product(ways[:3], ways), *itertools.product(ways[3:], ways[:3])]:
                x = distribute_tensor(whole, mesh, one).redistribute(mesh, other)
                self.assertTrue(torch.equal(x.full_tensor(), whole), (one, other))
            for other in ways:
                x = DTensor.from_local(whole, mesh, len(shape) * [Partial()]).redistribute(mesh, other)
                self.assertTrue(torch.equal(x.full_tensor(), size * whole), other)

    def test_saved_for_fewer_ranks(self):
        """What all ranks have saved, half of them load, sharded in another way."""
        box, whole = [tempfile.mkdtemp() if rank == 0 else ""], torch.arange(35.0).view(7, 5)
        dist.broadcast_object_list(box)
        state = {"x": distribute_tensor(whole, init_device_mesh("cpu", (size,)), [Shard(0)]), "n": 3}
        checkpoint.save(state, checkpoint_id=box[0])
        half = dist.new_group(list(range((size + 1) // 2)))
        if rank < (size + 1) // 2:
            y = distribute_tensor(torch.zeros(7, 5), DeviceMesh.from_group(half, "cpu"), [Shard(1)])
            state = {"x": y, "n": 0}
            checkpoint.load(state, checkpoint_id=box[0], process_group=half)
            self.assertTrue(torch.equal(y.full_tensor(), whole))
            self.assertEqual(state["n"], 3)
        dist.barrier()
        if rank == 0:
            shutil.rmtree(box[0])

    # ---- training: of FSDP2 and DDP beside gloo, and with few exchanges ---------------------------------

    def net(self):
        """Rows that 2, 3 and 4 ranks cannot share equally; of 5 rows one of 4 ranks has none."""
        torch.manual_seed(3)
        return nn.Sequential(nn.Linear(13, 331), nn.Tanh(), nn.Linear(331, 31), nn.Tanh(), nn.Linear(31, 5))

    def backward(self, model, step):
        x = torch.randn(8, 13, generator=torch.Generator().manual_seed(100 * step + rank))
        loss = (model(x) - x[:, :5].sin()).square().mean()
        loss.backward()
        return loss.item()

    def train(self, model):
        optimizer, losses = torch.optim.SGD(model.parameters(), 0.1), []
        for step in range(3):
            optimizer.zero_grad()
            losses.append(self.backward(model, step))
            optimizer.step()
        return torch.tensor(losses)

    def sharded(self, group=None, halves=False, **wishes):
        model, mesh = self.net(), DeviceMesh.from_group(group or dist.group.WORLD, "cpu")
        types = MixedPrecisionPolicy(torch.bfloat16, torch.float32) if halves else MixedPrecisionPolicy()
        for part in (model[0], model[2], model):
            fully_shard(part, mesh=mesh, mp_policy=types)
        return model, None if group else thinwire.torch.set_fully_shard(model, **wishes)

    def equal_everywhere(self, model):
        for p in model.parameters():
            every = [torch.empty_like(p) for _ in range(size)]
            dist.all_gather(every, p.detach())
            self.assertTrue(all(torch.equal(every[0], other) for other in every))

    def test_losses(self):
        """Without loss those of gloo; with codecs within 2 % of them, of the same weights on all ranks."""
        gloo = dist.new_group(backend="gloo")  # which DTensors keep
        want = self.train(self.sharded(gloo)[0])
        lossless, hook = self.sharded()
        calls = hook.comm.stats().calls
        found = {"ddp": DDP(self.net()), "by gloo": DDP(self.net(), process_group=gloo), "fsdp": lossless}
        for name, model in found.items():
            self.assertLess((self.train(model) - want).abs().max(), 1e-6, name)
        self.assertGreaterEqual(hook.comm.stats().calls - calls, 15 * (size > 1))  # two ways of three modules, of which the root is gathered once
        halves = [self.train(self.sharded(group, True)[0]) for group in (gloo, dist.group.WORLD)]
        self.assertLess((halves[0] - halves[1]).abs().max(), 1e-6)
        model, _ = self.sharded(codec="tree8", parameters="int8", feedback=True)
        error = ((self.train(model) - want).abs() / want).max()
        self.assertLess(error, 0.02)
        self.assertGreater(error, 1e-6 if size > 1 else -1)
        exact = [p.full_tensor() for p in model.parameters()]
        for module in (model[0], model[2], model):
            module.unshard()
        self.equal_everywhere(model)
        for p, whole in zip(model.parameters(), exact):
            self.assertLess((p - whole).abs().max(), whole.abs().max() / 100)

    def test_residuals_of_sharded_gradients(self):
        """Sums of the same gradient: with a residual the error stays that of one step, else it grows with the steps."""
        errors = []
        for wishes in ({}, {"codec": "tree8"}, {"codec": "tree8", "feedback": True}):
            model, _ = self.sharded(**wishes)
            for _ in range(6):
                self.backward(model, 0)
            total = torch.cat([p.grad.full_tensor().reshape(-1) for p in model.parameters()])
            errors.append(total if not errors else (total - errors[0]).norm() / errors[0].norm())
        self.assertLess(errors[1], 0.05)
        if size > 1:
            self.assertLess(0, errors[2])
            self.assertLess(3 * errors[2], errors[1])

    def test_residuals_of_other_parameters(self):
        """A step in which as many others of a module have gradients goes without its residual; a checkpoint before the first
        gradient changes nothing."""

        class Either(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleList(nn.Linear(13, 331) for _ in range(2))

            def forward(self, x, part):
                return self.parts[part](x)

        found = []
        for feedback, early in ((False, False), (True, False), (True, True)):
            torch.manual_seed(3)
            model = fully_shard(Either(), mesh=DeviceMesh.from_group(dist.group.WORLD, "cpu"))
            hook = thinwire.torch.set_fully_shard(model, "tree8", feedback=feedback)
            if early:
                hook.load_state_dict(hook.state_dict())
            for part in (0, 1, 0):
                model.zero_grad()
                model(numbers(104, torch.float32).view(8, 13), part).square().mean().backward()
                found.append(model.parts[part].weight.grad.to_local())
        self.assertTrue(torch.equal(found[1], found[4]))
        self.assertEqual(torch.equal(found[2], found[5]), size == 1)
        self.assertTrue(all(torch.equal(g, later) for g, later in zip(found[3:], found[6:])))

    def test_checkpoints_of_sharded_gradients(self):
        """The steps after one have the same bits; what does not fit is refused by all."""

        def steps(model, some):
            for step in some:
                model.zero_grad()
                self.backward(model, step)
                with torch.no_grad():
                    for p in model.parameters():
                        p -= 0.1 * p.grad
            return [p.detach().to_local().clone() for p in model.parameters()]

        model, hook = self.sharded(codec="tree8", feedback=True)
        there, state = steps(model, (0, 1)), hook.state_dict()
        self.assertEqual([f["residuals"] is not None for f in state["feedback"].values()], 3 * [rank == 0])
        want = steps(model, (2, 3))
        for loads in (True, False):
            model, hook = self.sharded(codec="tree8", feedback=True)
            with torch.no_grad():
                for p, q in zip(model.parameters(), there):
                    p.to_local().copy_(q)
            if loads:
                hook.load_state_dict(state if rank == 0 else None)
            same = [torch.equal(p, q) for p, q in zip(steps(model, (2, 3)), want) if p.numel() > 0]
            self.assertEqual(all(same), loads or size == 1)
        first = dict(state["feedback"]["0"], parameters=[0])
        for wrong, text in (
            (dict(state, ranks=size + 1), "the state is of %d ranks; accepted: of %d" % (size + 1, size)),
            (dict(state, feedback=dict(state["feedback"], **{"0": first})), "feedback '0'"),
            ({"ranks": size}, "the state has no residuals of 3 parameters: .*; it has none"),
            (None, "the state is of None ranks"),
        ):
            with self.assertRaisesRegex(thinwire.FormatError, text if rank == 0 else ""):
                hook.load_state_dict(wrong)
            self.assertEqual([feedback.norm() for feedback in hook.feedbacks.values()], [0, 0, 0])

    def test_local_steps(self):
        """Beside the algorithm written out, in 64 bits; then the average of the models."""
        model, alone = self.net().double(), self.net().double()
        local = thinwire.torch.LocalSGD(model, 2)
        moments, starts = [0.0] * 6, [p.detach().clone() for p in alone.parameters()]
        for step in range(6):
            for net in (model, alone):
                self.descend(net, step)
            self.assertEqual(local.step(), step % 2 == 1)
            with torch.no_grad():
                for k, (p, start) in enumerate(zip(alone.parameters(), starts)):
                    if step % 2 == 1:
                        moved = start - p
                        dist.all_reduce(moved)
                        moments[k] = 0.9 * moments[k] + moved / size
                        p.copy_(start.sub_(0.7 * (moved / size + 0.9 * moments[k])))
            for p, q in zip(model.parameters(), alone.parameters()):
                self.assertLess((p - q).abs().max(), 1e-12)
        local.free()
        for every, net in ((1, self.net()), (3, nn.Sequential(nn.Linear(13, 5), nn.BatchNorm1d(5)))):
            local = thinwire.torch.LocalSGD(net, every, torch.optim.SGD(net.parameters(), lr=1))
            for step in range(every):
                self.descend(net, step)
                if every == 3:  # as modules do that compute a buffer anew
                    net[1].running_mean = net[1].running_mean.clone()
                averaged = copy.deepcopy(net)
                local.step()
            thinwire.torch.average_parameters(averaged)
            for p, q in zip(net.state_dict().values(), averaged.state_dict().values()):
                self.assertLess((p - q).abs().max(), 1e-6)
            self.equal_everywhere(net)
            local.free()

    def descend(self, net, step):
        net.zero_grad()
        self.backward(lambda x: net(x.to(next(net.parameters()).dtype)), step)
        with torch.no_grad():
            for p in net.parameters():
                p -= 0.05 * p.grad

    def test_residuals_of_local_steps(self):
        """Each rank moves by the same again and again; a checkpoint goes on with the same bits."""
        errors = []
        for codec, feedback in ((None, True), ("tree8", False), ("tree8", True)):
            net = self.net()
            local = thinwire.torch.LocalSGD(net, 1, torch.optim.SGD(net.parameters(), lr=1), codec, feedback)
            moves = [numbers(p.numel(), torch.float32).view(p.shape) for p in net.parameters()]
            state = None
            for step in range(8):
                if step == 4:
                    state = copy.deepcopy((net.state_dict(), local.state_dict()))
                with torch.no_grad():
                    for p, move in zip(net.parameters(), moves):
                        p += move
                local.step()
            self.equal_everywhere(net)
            total = torch.cat([p.detach().reshape(-1) for p in net.parameters()])
            errors.append(total if not errors else (total - errors[0]).norm() / errors[0].norm())
            net.load_state_dict(state[0])
            local.load_state_dict(state[1])
            for step in range(4):
                with torch.no_grad():
                    for p, move in zip(net.parameters(), moves):
                        p += move
                local.step()
            self.assertTrue(torch.equal(torch.cat([p.detach().reshape(-1) for p in net.parameters()]), total))
            before, steps = copy.deepcopy(local.outer.state_dict()), local.steps
            for pattern, change in (
                ("the state is none of LocalSGD's", None),
                ("the state has no '0.weight' of the shape", {"starts": None}),
                ("the state has None steps", {"steps": None}),
                ("the state of outer: KeyError: 'param_groups'", {"outer": {}} if rank == size - 1 else {}),
            ):
                with self.assertRaisesRegex(thinwire.FormatError, pattern):
                    local.load_state_dict(change if change is None else {**state[1], **change})
                self.assertEqual((local.outer.state_dict(), local.steps), (before, steps))
            local.free()
        self.assertLess(errors[1], 0.05)
        if size > 1:
            self.assertLess(0, errors[2])
            self.assertLess(2 * errors[2], errors[1])

    def test_local_steps_refused(self):
        net = self.net()
        outer = torch.optim.SGD(net[0].parameters(), lr=1)
        for pattern, arguments in (
            ("every is 0; accepted: a number of steps", (net, 0)),
            ("outer is of type SGD and has not the parameter '2.weight'", (net, 1, outer)),
            ("model is of type DistributedDataParallel", (DDP(net), 1)),
            ("no parameter of the model has a gradient", (nn.Sequential(), 1)),
            ("the parameter '0.weight' is sharded", (self.sharded()[0], 1)),
            ("the parameter 'weight' is not initialised", (nn.LazyLinear(3), 1)),
        ):
            with self.assertRaisesRegex(thinwire.InvalidArgumentError, pattern):
                thinwire.torch.LocalSGD(*arguments)
        if size > 1:
            with self.assertRaisesRegex(thinwire.MismatchError, "rank 1 has every 2, rank 0 1"):
                thinwire.torch.LocalSGD(net, 2 if rank == 1 else 1)

    def test_options(self):
        options = thinwire.torch.Options(all_reduce="tree8", all_gather="bf16", minimum=100)
        group = dist.new_group(pg_options=options)
        x = numbers(1000, torch.float32)
        y, small = x.clone(), x[:50].clone()
        dist.all_reduce(x, group=group)
        with thinwire.torch.codec(all_reduce=None):
            dist.all_reduce(y, group=group)
        dist.all_reduce(small, group=group)
        self.near(y, oracle(1000, torch.float32, ReduceOp.SUM), "lossless")
        self.assertFalse(torch.equal(x, y))
        self.assertLess(float((x - y).abs().max()), 0.2 * size)
        self.near(small, oracle(1000, torch.float32, ReduceOp.SUM)[:50], "less than the minimum")
        z = torch.empty(1000)
        dist.group.WORLD._comm.allreduce(numbers(1000, torch.float32), "tree8", out=z)
        self.assertTrue(torch.equal(x, z))
        with thinwire.torch.codec(all_reduce="tree8", minimum=1):
            with thinwire.torch.codec(group=group, all_reduce="bf16", minimum=1):
                w = numbers(1000, torch.float32)
                dist.all_reduce(w)
        self.assertTrue(torch.equal(w, z))
        dist.destroy_process_group(group)

    def test_said_by_the_environment(self):
        os.environ["THINWIRE_TORCH"] = "all_reduce=bitpack:2,round,all_gather=int:12,block=256,minimum=9,dtypes=float32"
        found = _policy.from_environment()
        self.assertEqual(found.codecs, {"all_reduce": "bitpack:2,round", "all_gather": "int:12,block=256"})
        self.assertEqual((found.minimum, found.dtypes), (9, ("float32",)))
        for wrong in ("tree8", "all_reduce=treee", "minimum=x", "dtypes=int8", "all_reduce=tree8,minimum=-1"):
            os.environ["THINWIRE_TORCH"] = wrong
            with self.assertRaises(thinwire.Error):
                _policy.from_environment().check()
        del os.environ["THINWIRE_TORCH"]

    def test_what_is_refused(self):
        with self.assertRaisesRegex(RuntimeError, "BAND of torch.float32; accepted: integers and bool"):
            dist.all_reduce(torch.ones(3), op=ReduceOp.BAND)
        with self.assertRaisesRegex(RuntimeError, "MAX of torch.complex64; accepted: SUM, AVG, PRODUCT"):
            dist.reduce_scatter(torch.ones(1, dtype=torch.complex64), [torch.ones(1, dtype=torch.complex64)] * size, op=ReduceOp.MAX)
        if size > 1:
            other = thinwire.torch.Options(minimum=rank)
            with self.assertRaisesRegex(RuntimeError, "rank 1 of the process group has Options"):
                dist.new_group(pg_options=other)


if __name__ == "__main__":
    if size != int(os.environ.get("TW_WANTED", size)):
        raise SystemExit("%d ranks, not %s" % (size, os.environ["TW_WANTED"]))
    unittest.main(failfast=True, verbosity=0)
