# SPDX-License-Identifier: BSD-3-Clause
"""All collectives in all forms: lossless ones beside mpi4py and a serial sum, bit for bit; lossy ones beside the codec,
within its bound."""
import functools
import os
import unittest

import numpy as np
from common import COUNTS, LOSSLESS, LOSSY, MPI, call, each, main, numbers, rank, size, through, world

import thinwire

EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52}
HALVES = [np.float16]
TYPES = "int8 uint8 int16 uint16 int32 uint32 int64 uint64 bool complex64 complex128 S3 i2,f8,u1".split()
try:
    from ml_dtypes import bfloat16

    HALVES.append(bfloat16)
except ImportError:
    pass


def serial_sum(parts):
    """In the order of ranks, in the dtype: the definition."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def bound(inputs, codec, dtype):
    """The most by which a lossy sum may differ: an error of each contribution, and one of the sum."""
    part = thinwire.Codec(codec, dtype).traits.max_error + EPSILON[dtype]
    largest = [np.abs(x).max(initial=0) for x in inputs]
    return part * sum(largest) + part * (1 + part) * sum(largest)


class Collectives(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.comm = thinwire.Comm(world)

    @classmethod
    def tearDownClass(cls):
        cls.comm.free()

    def same(self, got, want, *words):
        self.assertEqual((got.shape, got.dtype), (want.shape, want.dtype), words)
        self.assertEqual(got.tobytes(), want.tobytes(), words)

    def of_all(self, shape, dtype):
        return [numbers(shape, dtype, of=r) for r in range(size)]

    def test_halves(self):
        """As they are, and through a codec: what float32 gives, rounded once."""
        for dtype in HALVES:
            for codec, count, form in each(dtype, {dtype: (None, "tree8")}):
                x = numbers(count, dtype)
                wide = self.comm.allgather(x.astype(np.float32), codec)
                got = call(self.comm, form, "allgather", x, codec)
                self.same(got, wide.astype(dtype), codec, count, form)
                got = call(self.comm, form, "allreduce", x, codec, op="average", algorithm="two_pass")
                if codec is None:
                    want = serial_sum([y.astype(np.float32) for y in self.of_all(count, dtype)]) / np.float32(size)
                else:
                    want = self.comm.allreduce(x.astype(np.float32), codec, op="average", algorithm="two_pass")
                self.same(got, want.astype(dtype), codec, count, form)
            x = numbers(4000, dtype)
            self.assertIs(self.comm.allreduce(x, "onebit", out=x, feedback=self.comm.feedback("h", 4000, dtype)), x)
            with self.assertRaisesRegex(thinwire.UnsupportedError, "makes no %s shorter" % np.dtype(dtype).name):
                self.comm.allreduce(x, "bitpack:2")

    def test_ranks(self):
        self.assertEqual((self.comm.rank, self.comm.size), (rank, size))

    def test_bcast(self):
        for dtype in ("float32", "float64"):
            for codec, count, form in each(dtype, LOSSLESS) + each(dtype, LOSSY):
                root = count % size
                exact = numbers(count, dtype, of=root)
                x = exact.copy() if rank == root else np.full(count, 7, dtype)
                y = x.copy()
                self.assertIs(call(self.comm, form, "bcast", x, codec, root=root), x)
                world.Bcast(y, root)
                if form == "plan" and rank != root or codec in LOSSLESS[dtype] or rank == root:
                    want = exact if rank == root else through(exact, codec)
                else:
                    want = through(exact, codec)
                self.same(x, want, codec, count, form)
                if codec in LOSSLESS[dtype]:
                    self.same(x, y, codec, count, form)

    def test_any_type_is_moved_as_it_is(self):
        """Of any bits: those of NaNs that signal, too."""
        for number, dtype in enumerate(TYPES):
            for count in COUNTS if "TW_ALL" in os.environ else COUNTS[number % 2 :: 2]:
                form = ("blocking", "nonblocking", "plan")[(number + count) % 3]
                what = (dtype, count, form)
                parts = [self.any_bits(count * size, dtype, r) for r in range(size)]
                mine, root = parts[rank], count % size
                x = mine.copy() if rank == root else np.zeros_like(mine)
                self.assertIs(call(self.comm, form, "bcast", x, root=root), x)
                self.same(x, parts[root], *what)
                self.same(call(self.comm, form, "allgather", mine), np.stack(parts), *what)
                out = np.zeros((size, count * size), dtype)
                out[rank] = mine
                self.assertIs(self.comm.allgather(out[rank], out=out), out)
                self.same(out, np.stack(parts), *what)
                counts = [(count + r) % (count * size + 1) for r in range(size)]
                got = call(self.comm, form, "allgatherv", mine[: counts[rank]], counts)
                self.same(got, np.concatenate([p[:c] for p, c in zip(parts, counts)]), *what)
                want = np.concatenate([p[rank * count : (rank + 1) * count] for p in parts])
                self.same(call(self.comm, form, "alltoall", mine), want, *what)
                equal = [count] * size
                self.same(call(self.comm, form, "alltoallv", mine, equal, equal), want, *what)
                x = mine.copy()
                self.assertIs(self.comm.alltoall(x, out=x), x)
                self.same(x, want, *what)

    def any_bits(self, count, dtype, of):
        if dtype == "bool":
            return np.random.default_rng([2, of]).integers(0, 2, count, np.uint8).view(bool)
        return np.random.default_rng([2, of]).integers(0, 256, count * np.dtype(dtype).itemsize, np.uint8).view(dtype)

    def test_gather_and_scatter(self):
        """By a codec and as they are, in every form, from and to every root."""
        for number, (dtype, codec) in enumerate([("float32", "tree8"), ("float32", None), ("float64", None), *((t, None) for t in TYPES)]):
            count, form = COUNTS[number % len(COUNTS)], ("blocking", "nonblocking", "plan")[number % 3]
            root, what = number % size, (dtype, codec, count, form)
            floats = dtype.startswith("float")
            of = [numbers((count, 2), dtype, r) if floats else self.any_bits(2 * count, dtype, r).reshape(count, 2) for r in range(size)]
            want = np.stack([through(x, codec) if floats else x for x in of])
            got = call(self.comm, form, "gather", of[rank], codec, root=root)
            if rank == root:
                self.same(got, want, *what)
                got[rank] = of[rank]
                self.assertIs(self.comm.gather(got[rank], codec, root=root, out=got), got)
                self.same(got, want, *what)
            else:
                self.assertIsNone(got)
                self.comm.gather(of[rank], codec, root=root)
            out = None if rank == root else np.zeros((count, 2), dtype)
            block = call(self.comm, form, "scatter", np.stack(of) if rank == root else None, codec, root=root, out=out)
            self.assertTrue(rank == root or block is out)
            self.same(block, want[rank], *what)
            if rank == root:
                x = np.stack(of)
                self.comm.scatter(x, codec, root=root, out=x[rank])
                self.same(x[rank], want[rank], *what)
            else:
                self.comm.scatter(None, codec, root=root, out=out)
                self.same(out, want[rank], *what)

    def test_gatherv_and_scatterv(self):
        """Of other counts on each rank, none on some; on the root's side alone they are known."""
        for number, (dtype, codec) in enumerate([("float32", "tree8"), ("float64", None), *((t, None) for t in TYPES)]):
            most, form = COUNTS[number % len(COUNTS)], ("blocking", "nonblocking", "plan")[number % 3]
            root, what = number % size, (dtype, codec, most, form)
            counts = [most * (r % 3) // 2 for r in range(size)]
            floats = dtype.startswith("float")
            of = [numbers(c, dtype, r) if floats else self.any_bits(c, dtype, r) for r, c in enumerate(counts)]
            want = [through(x, codec) if floats else x for x in of]
            own = slice(sum(counts[:root]), sum(counts[: root + 1]))
            known = counts if rank == root else None
            got = call(self.comm, form, "gatherv", of[rank], known, codec, root=root)
            block = np.zeros(counts[rank], dtype)
            if rank == root:
                self.same(got, np.concatenate(want), *what)
                got[own] = of[rank]
                self.assertIs(self.comm.gatherv(got[own], counts, codec, root=root, out=got), got)
                self.same(got, np.concatenate(want), *what)
                x = np.concatenate(of)
                self.same(call(self.comm, form, "scatterv", x, counts, codec, root=root), want[rank], *what)
                self.comm.scatterv(x, counts, codec, root=root, out=x[own])
                self.same(x[own], want[rank], *what)
            else:
                self.assertIsNone(got)
                self.comm.gatherv(of[rank], None, codec, root=root)
                for each_form in (form, "blocking"):
                    block[:] = np.zeros(counts[rank], dtype)
                    self.assertIs(call(self.comm, each_form, "scatterv", None, None, codec, root=root, out=block), block)
                    self.same(block, want[rank], *what)

    def test_blocks_that_do_not_fit(self):
        x, block = np.zeros((size + 1, 3), np.int8), np.zeros(3, np.int8)
        wrong = [lambda: self.comm.gather(block, root=size)]
        if rank == 0:
            wrong += [lambda: self.comm.scatter(x, out=block), lambda: self.comm.scatter(x[:size], out=block[:2])]
            wrong += [lambda: self.comm.gather(block, out=x), lambda: self.comm.scatter(np.int8(1))]
            wrong += [lambda: self.comm.gatherv(block, [2] * size), lambda: self.comm.scatterv(block, [3] * (size + 1))]
            wrong += [lambda: self.comm.scatterv(x.reshape(-1), [3] * size), lambda: self.comm.gatherv(block, [-1] * size)]
        else:
            wrong += [lambda: self.comm.scatter(None), lambda: self.comm.scatterv(None)]
        for call_it in wrong:
            self.assertRaises(thinwire.InvalidArgumentError, call_it)

    def test_integers_are_not_encoded_nor_added(self):
        x = np.zeros(size, np.int64)
        for refused in (
            lambda: self.comm.bcast(x, "bitpack:8"),
            lambda: self.comm.allgather(x, "tree8"),
            lambda: self.comm.allgather(x, out=np.zeros((size, size))),
            lambda: self.comm.alltoall(x.astype(np.float64), out=x),
            lambda: self.comm.allreduce(x),
            lambda: self.comm.gather(x, "bitpack:8"),
            lambda: self.comm.alltoall(x.astype(object)),
        ):
            self.assertRaises(thinwire.InvalidTypeError, refused)

    def test_bcast_same(self):
        x = numbers(1000, of=0) if rank == 0 else np.zeros(1000, np.float32)
        self.comm.bcast(x, "tree8", same=True)
        self.same(x, through(numbers(1000, of=0), "tree8"))

    def test_allgather(self):
        for dtype in ("float32", "float64"):
            for codec, count, form in each(dtype, LOSSLESS) + each(dtype, LOSSY):
                x = numbers((count, 2), dtype)
                got = call(self.comm, form, "allgather", x, codec)
                self.same(got, np.stack([through(y, codec) for y in self.of_all((count, 2), dtype)]), codec, count, form)
                if codec in LOSSLESS[dtype]:
                    want = np.empty((size, count, 2), dtype)
                    world.Allgather(x, want)
                    self.same(got, want, codec, count, form)

    def test_allgather_in_place(self):
        out = np.zeros((size, 100), np.float32)
        out[rank] = numbers(100)
        self.assertIs(self.comm.allgather(out[rank], "tree8", out=out), out)
        self.same(out, np.stack([through(y, "tree8") for y in self.of_all(100, "float32")]))

    def test_allgatherv(self):
        for codec, count, form in each("float32", LOSSLESS) + each("float32", LOSSY):
            counts = [count * (r % 3) for r in range(size)]
            x = numbers(counts[rank])
            got = call(self.comm, form, "allgatherv", x, counts, codec)
            want = np.concatenate([through(numbers(counts[r], of=r), codec) for r in range(size)])
            self.same(got, want, codec, count, form)
        counts = [10 * r + 1 for r in range(size)]
        out = np.zeros(sum(counts), np.float32)
        own = slice(sum(counts[:rank]), sum(counts[: rank + 1]))
        out[own] = numbers(counts[rank])
        self.comm.allgatherv(out[own], counts, "bf16", out=out)
        self.same(out, np.concatenate([through(numbers(counts[r], of=r), "bf16") for r in range(size)]))

    def test_alltoall(self):
        for codec, count, form in each("float32", LOSSLESS) + each("float32", LOSSY):
            x = numbers((size, count))
            got = call(self.comm, form, "alltoall", x, codec)
            want = np.stack([through(numbers((size, count), of=r)[rank], codec) for r in range(size)])
            self.same(got, want, codec, count, form)
            if codec in LOSSLESS["float32"]:
                y = np.empty_like(x)
                world.Alltoall(x, y)
                self.same(got, y, codec, count, form)
            if form == "blocking":
                self.assertIs(self.comm.alltoall(x, codec, out=x), x)
                self.same(x, want, codec, count, "in place")

    def test_alltoallv(self):
        for codec, count, form in each("float32", LOSSLESS) + each("float32", LOSSY):
            # From r to s: count times (r + 2 s) mod 3.
            many = [[count * ((r + 2 * s) % 3) for s in range(size)] for r in range(size)]
            x = numbers(sum(many[rank]))
            got = call(self.comm, form, "alltoallv", x, many[rank], [many[r][rank] for r in range(size)], codec)
            parts = []
            for r in range(size):
                first = sum(many[r][:rank])
                parts.append(through(numbers(sum(many[r]), of=r)[first : first + many[r][rank]], codec))
            self.same(got, np.concatenate(parts), codec, count, form)
        x = numbers(10 * size)
        self.comm.alltoallv(x, [10] * size, [10] * size, out=x)
        self.same(x, np.concatenate([numbers(10 * size, of=r)[10 * rank : 10 * rank + 10] for r in range(size)]))

    def sums(self, got, inputs, codec, op, dtype, *words):
        exact = serial_sum(inputs)
        if op == "average":
            exact = exact / np.array(size, dtype)
        if codec in LOSSLESS[dtype]:
            self.same(got, exact, codec, op, *words)
        else:
            most = bound(inputs, codec, dtype) / (size if op == "average" else 1)
            self.assertEqual(got.shape, exact.shape)
            self.assertLessEqual(np.abs(got - exact).max(initial=0), most, (codec, op) + words)

    def test_allreduce(self):
        for dtype in ("float32", "float64"):
            for codec, count, form in each(dtype, LOSSLESS) + each(dtype, LOSSY):
                for op in ("sum", "average"):
                    x = numbers(count, dtype)
                    inputs = self.of_all(count, dtype)
                    got = call(self.comm, form, "allreduce", x, codec, op=op)
                    self.same(x, inputs[rank])
                    self.sums(got, inputs, codec, op, dtype, count, form)
                    everyone = world.allgather(got.tobytes())
                    self.assertEqual(len(set(everyone)), 1, (codec, count, form))
                    if form == "blocking":
                        self.assertIs(self.comm.allreduce(x, codec, op=op, out=x), x)
                        self.same(x, got, codec, count, "in place")

    def test_largest_smallest_product(self):
        of_all = {"max": np.maximum, "min": np.minimum, "prod": np.multiply}
        for dtype in ("float32", "float64"):
            for codec in LOSSLESS[dtype] + (("tree8",) if dtype == "float32" else ("bitpack:2",)):
                inputs = [through(x, codec) for x in self.of_all(5000, dtype)]
                for op, combine in of_all.items():
                    exact = functools.reduce(combine, inputs)
                    got = self.comm.allreduce(numbers(5000, dtype), codec, op=op, algorithm="direct")
                    self.same(got, exact, codec, op)
                    got = self.comm.reduce_scatter(numbers(5000 * size, dtype), codec, op=op)
                    mine = [through(x[5000 * rank : 5000 * (rank + 1)], codec) for x in self.of_all(5000 * size, dtype)]
                    self.same(got, functools.reduce(combine, mine), codec, op, "scattered")
        with self.assertRaises(thinwire.InvalidArgumentError):
            self.comm.allreduce(numbers(10), "onebit", op="max", feedback=self.comm.feedback("largest", 10))

    def test_allreduce_beside_mpi(self):
        x, want = numbers(1000), np.empty(1000, np.float32)
        world.Allreduce(x, want, MPI.SUM)
        slack = size * 2.0**-24 * sum(np.abs(y) for y in self.of_all(1000, "float32"))
        self.assertTrue(np.all(np.abs(self.comm.allreduce(x) - want) <= slack))

    def test_algorithms(self):
        for name in ("direct", "two_pass", "grid", "mpi", None):
            if name == "grid" and size < 4:  # it needs rows and columns
                continue
            got = self.comm.allreduce(numbers(5000), algorithm=name)
            exact = serial_sum(self.of_all(5000, "float32"))
            if name == "mpi":
                self.assertLess(np.abs(got - exact).max(), 1e-5)
            else:
                self.same(got, exact, name)
        with self.comm.allreduce_init(numbers(5000), "bf16", algorithm="two_pass") as plan:
            self.assertEqual((plan.algorithm, plan.codec), ("two_pass", "bf16"))

    def test_absolute_bound(self):
        for scale in (1.0, 1.0, 1e5, 1.0):
            x = numbers(5000).astype("float64") * scale
            self.assertLessEqual(abs(self.comm.allreduce(x, "abs:1e-4") - self.comm.allreduce(x, None)).max(), 1.001e-4)

    def test_auto(self):
        with self.comm.allreduce_init(numbers(5000), "auto:0.01") as plan:
            self.sums(plan(), self.of_all(5000, "float32"), "bf16", "sum", "float32")
            self.assertTrue(plan.codec)

    def test_reduce(self):
        for codec, count, form in each("float32", LOSSLESS) + each("float32", LOSSY):
            root = count % size
            inputs = self.of_all(count, "float32")
            got = call(self.comm, form, "reduce", inputs[rank], codec, root=root)
            if rank != root:
                self.assertIsNone(got)
                continue
            self.sums(got, inputs, codec, "sum", "float32", count, form)

    def test_reduce_in_place(self):
        x = numbers(100)
        got = self.comm.reduce(x, out=x, root=size - 1)
        if rank == size - 1:
            self.assertIs(got, x)
            self.same(x, serial_sum(self.of_all(100, "float32")))
        else:
            self.same(x, numbers(100))

    def test_reduce_scatter(self):
        for codec, count, form in each("float32", LOSSLESS) + each("float32", LOSSY):
            for counts in (None, [count * (r % 3) for r in range(size)]):
                lengths = counts or [count] * size
                total = sum(lengths)
                inputs = self.of_all(total, "float32")
                own = slice(sum(lengths[:rank]), sum(lengths[: rank + 1]))
                x = inputs[rank].copy()
                got = call(self.comm, form, "reduce_scatter", x, codec, counts=counts, op="average")
                self.sums(got, [y[own] for y in inputs], codec, "average", "float32", count, form)
                if form == "blocking":
                    view = self.comm.reduce_scatter(x, codec, counts=counts, op="average", out=x)
                    self.assertTrue(view.size == 0 or np.shares_memory(view, x))
                    self.same(view, got, codec, count, "in place")

    def test_shapes(self):
        for shape in ((), (1, 1), (3, 4, 5), (0, 3)):
            x = numbers(shape) if shape else np.float32(2.5)
            self.assertEqual(self.comm.allreduce(x).shape, shape)
            self.assertEqual(self.comm.allgather(x).shape, (size,) + shape)

    def test_stats(self):
        self.comm.reset_stats()
        self.assertEqual(self.comm.stats().calls, 0)
        self.comm.allreduce(numbers(10000), "tree8")
        stats = self.comm.stats()
        self.assertEqual(stats.calls, 1)
        if size > 1:
            self.assertTrue(0 < stats.bytes_sent < stats.bytes_uncompressed / 3)
        self.comm.advance()


assert COUNTS[0] == 0  # zero counts are among them
main()
