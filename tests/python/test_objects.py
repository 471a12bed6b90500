# SPDX-License-Identifier: BSD-3-Clause
"""What may be passed: NumPy, the buffer protocol, DLPack, PyTorch; read-only input; and what may not."""
import array
import ctypes
import unittest

import numpy as np
from common import main, numbers, rank, size, world

import thinwire
from thinwire import InvalidArgumentError, InvalidTypeError, _calls
from thinwire._library import lib

try:
    import torch
except ImportError:
    torch = None


class DLPackOnly:
    """An array that offers DLPack and nothing else, as those of other libraries do."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.device


class Objects(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.comm = thinwire.Comm(world)

    @classmethod
    def tearDownClass(cls):
        cls.comm.free()

    def setUp(self):
        self.x = numbers(1000)
        self.want = self.comm.allreduce(self.x, "tree8")

    def equal(self, got):
        self.assertEqual(np.asarray(got).ravel().tobytes(), self.want.tobytes())

    def test_buffers(self):
        read_only = self.x.copy()
        read_only.flags.writeable = False
        numbers_of_c = (ctypes.c_float * 1000)(*self.x)
        for x in (
            read_only,
            array.array("f", self.x),
            memoryview(self.x),
            memoryview(self.x.tobytes()).cast("f"),
            numbers_of_c,
            self.x.view(np.recarray),
        ):
            got = self.comm.allreduce(x, "tree8")
            self.assertIsInstance(got, np.ndarray)
            self.equal(got)
        for out in (array.array("f", bytes(4000)), memoryview(bytearray(4000)).cast("f"), (ctypes.c_float * 1000)()):
            self.assertIs(self.comm.allreduce(self.x, "tree8", out=out), out)
            self.equal(out)
        out = array.array("f", self.x)
        self.equal(self.comm.allreduce(out, "tree8", out=out))
        parts = array.array("f", list(range(size)))
        got = self.comm.reduce_scatter(parts, out=parts)
        self.assertEqual((got.tolist(), parts[0]), ([size * rank], size * rank))

    def test_buffers_of_bytes(self):
        others = (ctypes.c_longlong * 7)(rank), np.arange(7, dtype=">f4") + np.float32(rank)
        for x in (b"%07d" % rank, bytearray(b"%07d" % rank), array.array("h", [rank] * 7), *others):
            want = np.asarray(memoryview(x))
            got = self.comm.allgather(x)
            self.assertEqual((got.dtype, got.shape), (want.dtype, (size, 7)))
            self.assertEqual(got[rank].tobytes(), want.tobytes())
        x = bytearray(b"seven %d" % rank)
        self.assertIs(self.comm.bcast(x), x)
        self.assertEqual(x, b"seven 0")
        self.assertRaises(InvalidArgumentError, lambda: self.comm.bcast(b"seven", root=(rank + 1) % size) if size > 1 else self.comm.bcast(b"", root=1))

    def test_in_place(self):
        """Equal addresses reach the library as TW_IN_PLACE, which alone may share memory."""
        x, parts = self.x, np.zeros((size, 5), np.float32)
        for arguments, _, _ in (
            _calls.allreduce(self.comm, x, None, "sum", x, None, None),
            _calls.reduce(self.comm, x, None, "sum", rank, x, None, None),
            _calls.allgather(self.comm, parts[rank], None, parts, None),
            _calls.allgatherv(self.comm, parts[rank], [5] * size, None, parts.reshape(-1), None),
            _calls.alltoall(self.comm, parts, None, parts, None),
            _calls.alltoallv(self.comm, parts, [5] * size, [5] * size, None, parts.reshape(-1)),
            _calls.reduce_scatter(self.comm, parts, None, None, "sum", parts, None, None),
        ):
            self.assertEqual(arguments[1], lib.IN_PLACE)
        out = np.zeros_like(x)
        self.assertEqual(_calls.allreduce(self.comm, x, None, "sum", out, None, None)[0][1:3], (x.ctypes.data, out.ctypes.data))

    def test_dlpack(self):
        if not hasattr(self.x, "__dlpack__"):
            self.skipTest("this NumPy has no DLPack")
        self.equal(self.comm.allreduce(DLPackOnly(self.x), "tree8"))
        out = DLPackOnly(np.zeros(1000, np.float32))
        self.assertIs(self.comm.allreduce(DLPackOnly(self.x), "tree8", out=out), out)
        self.equal(out.array)
        for odd in (self.x.astype(np.int16), self.x.astype(int), np.zeros(4, complex)):
            with self.assertRaisesRegex(InvalidTypeError, "accepted: contiguous arrays of float32, float64, bfloat16 or float16"):
                self.comm.allreduce(DLPackOnly(odd))
        for odd in (self.x[::2], self.x.reshape(10, 100).T):
            with self.assertRaisesRegex(InvalidArgumentError, "not contiguous"):
                self.comm.allreduce(DLPackOnly(odd))
        with self.assertRaisesRegex(InvalidArgumentError, "accepted: memory of the host or CUDA"):
            self.comm.allreduce(DLPackOnly(self.x, device=(8, 0)))

    def test_dlpack_of_other_types(self):
        """Moved as their bytes; new arrays are NumPy's. With the array's dtype or without one."""
        if not hasattr(self.x, "__dlpack__"):
            self.skipTest("this NumPy has no DLPack")
        for dtype in ("int8", "uint16", "int32", "int64", "complex64"):
            x = (np.arange(size * 6).reshape(size, 6) - rank).astype(dtype)
            every = np.stack([(np.arange(size * 6).reshape(size, 6) - r).astype(dtype) for r in range(size)])
            got = self.comm.allgather(DLPackOnly(x))
            self.assertEqual((got.dtype, got.shape, got.tobytes()), (every.dtype, every.shape, every.tobytes()))
            out = DLPackOnly(np.zeros_like(x))
            self.assertIs(self.comm.alltoall(DLPackOnly(x), out=out), out)
            self.assertEqual(out.array.tobytes(), every[:, rank].tobytes())
            counts = [6 * size] * size
            for out in (DLPackOnly(np.zeros(6 * size * size, dtype)), np.zeros(6 * size * size, dtype)):
                got = self.comm.gatherv(DLPackOnly(x), counts, out=out, root=size - 1)
                if rank == size - 1:
                    self.assertIs(got, out)
                    self.assertEqual(getattr(out, "array", out).tobytes(), every.tobytes())
            named = DLPackOnly(x.copy())
            named.dtype = x.dtype
            self.assertIs(self.comm.bcast(named), named)
            self.assertEqual(named.array.tobytes(), every[0].tobytes())
            with self.assertRaisesRegex(InvalidTypeError, "x holds %s, out float32" % dtype):
                self.comm.allgather(DLPackOnly(x), out=np.zeros(every.shape, np.float32))
            with self.assertRaisesRegex(InvalidTypeError, "which no codec encodes"):
                self.comm.bcast(DLPackOnly(x), "fp32")
            with self.assertRaisesRegex(InvalidArgumentError, "not contiguous"):
                self.comm.bcast(DLPackOnly(x[:, ::2]))

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_tensors(self):
        x = torch.from_numpy(self.x)
        got = self.comm.allreduce(x, "tree8")
        self.assertIsInstance(got, torch.Tensor)
        self.equal(got)
        self.assertIs(self.comm.allreduce(x, "tree8", out=x), x)
        self.equal(x)
        self.assertEqual(tuple(self.comm.allgather(torch.ones(2, 3, dtype=torch.float64)).shape), (size, 2, 3))
        whole = torch.arange(6).reshape(2, 3) - rank  # of int64
        got = self.comm.allgather(whole)
        self.assertEqual((got.dtype, got[size - 1].tolist()), (torch.int64, (torch.arange(6).reshape(2, 3) - size + 1).tolist()))
        self.assertRaises(InvalidTypeError, lambda: self.comm.allgather(whole, "bitpack:8"))
        for odd in (whole > 0, whole.to(torch.int16), torch.complex(whole.float(), whole.float()), whole[0, 0]):
            got = self.comm.allgather(odd)
            self.assertEqual((got.dtype, got.shape), (odd.dtype, (size, *odd.shape)))
            self.assertTrue(torch.equal(got[rank], odd))
        for odd in (whole.T, torch.ones(3, dtype=torch.complex64).conj()):
            self.assertRaises(InvalidArgumentError, lambda: self.comm.allgather(odd))
        codec = thinwire.Codec("tree8")
        codes = codec.encode(x)
        self.assertEqual((codes.dtype, tuple(codes.shape)), (torch.uint8, (codec.size(1000),)))
        self.assertIsInstance(codec.decode(codes, 1000), torch.Tensor)
        for odd, kind in (
            (torch.zeros(4, requires_grad=True), InvalidArgumentError),
            (torch.zeros(4, 4).t(), InvalidArgumentError),
            (torch.zeros(4, dtype=torch.int32), InvalidTypeError),
        ):
            with self.assertRaises(kind):
                self.comm.allreduce(odd)

    def test_device_memory(self):
        """Said to be CUDA memory: the library decides, on each rank, and the message is its own."""
        x = DLPackOnly(self.x, device=(2, 0))
        with self.assertRaises((thinwire.UnsupportedError, InvalidArgumentError)) as caught:
            self.comm.allreduce(x, out=x)
        self.assertEqual(len(str(caught.exception).splitlines()), 1)
        with self.assertRaisesRegex(InvalidArgumentError, "x is in memory of CUDA device 0, out in host memory"):
            self.comm.allreduce(x, out=self.x)

    def refused(self, kind, text, function, *arguments, **named):
        before = self.comm.stats().calls
        with self.assertRaisesRegex(kind, text) as caught:
            function(*arguments, **named)
        self.assertIsInstance(caught.exception, thinwire.Error)
        self.assertEqual(len(str(caught.exception).splitlines()), 1)
        self.assertEqual(self.comm.stats().calls, before)

    def test_refused_on_one_rank(self):
        """Whatever is wrong is found on the rank that has it, before anything is sent: the others never know."""
        c, x = self.comm, self.x
        read_only = x.copy()
        read_only.flags.writeable = False
        if rank == size - 1:
            for name in ("allreduce", "iallreduce", "allreduce_init"):
                f = getattr(c, name)
                self.refused(InvalidTypeError, "x has elements of int32; accepted", f, x.astype(np.int32))
                self.refused(InvalidTypeError, "elements of >f4", f, x.astype(">f4"))
                self.refused(InvalidTypeError, "x is of type list", f, [1.0, 2.0])
                self.refused(InvalidTypeError, "x is of type NoneType", f, None)
                self.refused(InvalidTypeError, "x holds bytes", f, b"abcd")
                self.refused(InvalidArgumentError, "x is not contiguous", f, x[::2])
                self.refused(InvalidArgumentError, "x is not contiguous", f, x.reshape(10, 100).T)
                self.refused(InvalidArgumentError, "out is read-only", f, x, out=read_only)
                self.refused(InvalidArgumentError, "out is not contiguous", f, x[:500], out=x[::2])
                self.refused(InvalidArgumentError, r"out has the shape \(999,\); the result has \(1000,\)", f, x, out=x[1:])
                self.refused(InvalidArgumentError, "out has the shape", f, x, out=np.empty((10, 100), np.float32))
                self.refused(InvalidTypeError, "x holds float32, out float64", f, x, out=np.empty(1000))
                self.refused(InvalidArgumentError, "x and out overlap", f, x[:-1], out=x[1:])
                self.refused(InvalidArgumentError, "op is 'mean'; accepted: 'sum', 'average', 'max', 'min', 'prod'", f, x, op="mean")
                self.refused(InvalidArgumentError, "algorithm 'ring' is unknown; accepted: direct", f, x, algorithm="ring")
                self.refused(thinwire.SpecError, "unknown codec 'gzip'; accepted", f, x, "gzip")
                self.refused(thinwire.SpecError, "codec tree8 has no option 'level'", f, x, "tree8:level=9")
                self.refused(InvalidTypeError, "codec is of type list", f, x, [])
                self.refused(InvalidTypeError, "named by a str", f, x, 8)
                self.refused(thinwire.UnsupportedError, "codec tree8 takes float;", f, np.zeros(3), "tree8")
                self.refused(InvalidTypeError, "codec tree8.* is of float32", f, np.zeros(3), thinwire.Codec("tree8"))
            self.refused(InvalidArgumentError, "x is read-only", c.bcast, read_only, same=True, root=rank)
            self.refused(InvalidArgumentError, "root %d is no rank" % size, c.bcast, x, root=size)
            self.refused(InvalidArgumentError, "root -1 is no rank", c.reduce, x, root=-1)
            for root in (0.5, "0", None):
                self.refused(InvalidTypeError, "root is of type .*; accepted: an integer", c.bcast, x, root=root)
                self.refused(InvalidTypeError, "root is of type .*; accepted: an integer", c.ireduce, x, root=root)
            for root in (2**32, 10**5000):
                self.refused(InvalidArgumentError, "root .* is no rank of", c.bcast, x, root=root)
            for count in (2**64, 2**64 + 1000, 10**5000):
                self.refused(InvalidArgumentError, "counts must be %d numbers" % size, c.allgatherv, x, [count] * size)
                self.refused(InvalidArgumentError, "recv_counts must be", c.alltoallv, x[:size], [1] * size, [count] * size)
                self.refused(InvalidArgumentError, "count is .*; accepted: numbers of elements", c.feedback, "a", count)
            self.refused(thinwire.NoMemoryError, "no new array", c.alltoallv, x[:size], [1] * size, [2**63] * size)
            for count in (100.5, "100", None):
                self.refused(InvalidTypeError, "count is of type .*; accepted: an integer", c.feedback, "a", count)
            self.refused(InvalidArgumentError, "counts must be %d numbers" % size, c.allgatherv, x, [1000] * (size + 1))
            self.refused(InvalidArgumentError, "counts must be", c.allgatherv, x, [-1] * size)
            self.refused(InvalidTypeError, "counts is no list of numbers", c.allgatherv, x, [1.5] * size)
            self.refused(InvalidTypeError, "counts is no list of numbers", c.allgatherv, x, 1000)
            self.refused(InvalidTypeError, "counts is no list of numbers", c.gatherv, x, root=rank)
            self.refused(InvalidTypeError, "x has elements of object; accepted", c.bcast, np.array([None]))
            self.refused(InvalidArgumentError, "x has 1000 elements, counts says 999", c.allgatherv, x, [999] * size)
            self.refused(InvalidArgumentError, "x has 1000 elements, counts says", c.reduce_scatter, x, counts=[1001] * size)
            self.refused(
                InvalidArgumentError, "send_counts says", c.alltoallv, x, [1001] * size, [1001] * size
            )
            if size > 1:
                odd = np.zeros(size + 1, np.float32)
                self.refused(InvalidArgumentError, "cannot share equally", c.alltoall, odd)
                self.refused(InvalidArgumentError, "cannot share equally", c.reduce_scatter, odd)
                counts = [1] * size
                twisted = [2] + [1] * (size - 2) + [0]
                y = np.zeros(size, np.float32)
                self.refused(InvalidArgumentError, "in place, send_counts", c.alltoallv, y, counts, twisted, out=y)
        # Everyone is still at the same call.
        self.equal(self.comm.allreduce(self.x, "tree8"))


main()
