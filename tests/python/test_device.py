# SPDX-License-Identifier: BSD-3-Clause
"""Device memory by DLPack, on the stand-in for CUDA (tests/gpu/standin): what a call gives is what it gives for host
memory. Without mpi4py; the stand-in itself ends a process in which something is wrong or left."""
import ctypes
import os
import sys
import types
import unittest

import numpy as np

import thinwire
from thinwire import _buffers

# TW_CUDART: the runtime of a real device (tests/gpu/run).
standin = os.path.join(os.path.dirname(os.environ["THINWIRE_LIBRARY"]), "libcudart.so.13")
cuda = ctypes.CDLL(os.environ.get("TW_CUDART", standin))
cuda.cudaMalloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
cuda.cudaMemcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
cuda.cudaMemcpyAsync.argtypes = [*cuda.cudaMemcpy.argtypes, ctypes.c_void_p]
cuda.cudaStreamCreateWithFlags.argtypes = [ctypes.c_void_p, ctypes.c_uint]
cuda.cudaStreamDestroy.argtypes = [ctypes.c_void_p]
cuda.cudaFree.argtypes = [ctypes.c_void_p]
capsule_new = ctypes.pythonapi.PyCapsule_New
capsule_new.restype, capsule_new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
KINDS = {"f": (2, 32), "u": (1, 8)}


def must(status):
    if status:
        raise RuntimeError("CUDA error %d" % status)


class OnDevice:
    """A copy of a NumPy array in the memory of a device."""

    is_cpu = False  # as tensors of PyTorch say it

    def __init__(self, array, device=0):
        self.array, self.device, self.pointer = array, device, ctypes.c_void_p()
        self.streams = []
        must(cuda.cudaSetDevice(device))
        must(cuda.cudaMalloc(ctypes.byref(self.pointer), max(array.nbytes, 1)))
        must(cuda.cudaMemcpy(self.pointer, array.ctypes.data, array.nbytes, 1))
        must(cuda.cudaDeviceSynchronize())  # which that copy does not do for other streams
        must(cuda.cudaSetDevice(0))
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        code, bits = KINDS[array.dtype.kind]
        self.tensor = _buffers._Tensor(
            self.pointer, 2, device, array.ndim, code, bits, 1, ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64)), None, 0
        )

    def __dlpack_device__(self):
        return 2, self.device

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        return capsule_new(ctypes.addressof(self.tensor), b"dltensor", None)

    def read(self):
        must(cuda.cudaMemcpy(self.array.ctypes.data, self.pointer, self.array.nbytes, 2))
        return self.array

    def __del__(self):
        cuda.cudaFree(self.pointer)


class Device(unittest.TestCase):
    def setUp(self):
        self.comm = thinwire.Comm()
        self.x = np.random.default_rng(self.comm.rank).standard_normal((9, 1001)).astype(np.float32)
        self.addCleanup(self.comm.free)

    def same(self, got, want):
        self.assertEqual(got.read().tobytes(), want.tobytes())

    def test_collectives(self):
        for codec in (None, "tree8", "bf16"):
            x, out = OnDevice(self.x), OnDevice(np.zeros_like(self.x))
            want = self.comm.allreduce(self.x, codec, op="average")
            self.assertIs(self.comm.allreduce(x, codec, op="average", out=out), out)
            self.same(out, want)
            self.assertEqual(x.streams, [1])  # the producer's work is waited for by the default stream
            self.comm.iallreduce(x, codec, op="average", out=x).wait()
            self.same(x, want)
            whole = OnDevice(np.zeros((self.comm.size, *self.x.shape), np.float32))
            with self.comm.allgather_init(out, codec, out=whole) as plan:
                plan()
            self.same(whole, self.comm.allgather(want, codec))
            self.comm.bcast(out, codec, same=True)
            self.same(out, self.comm.bcast(want, codec, same=True))

    def test_stream(self):
        """A tensor of PyTorch, or what is taken for one, is written by work on the current stream, and used there."""
        stream = ctypes.c_void_p()
        must(cuda.cudaStreamCreateWithFlags(ctypes.byref(stream), 1))  # which waits for no other one
        current = types.SimpleNamespace(current_stream=lambda device: types.SimpleNamespace(cuda_stream=stream.value))
        sys.modules["torch"] = types.SimpleNamespace(Tensor=OnDevice, cuda=current)
        self.addCleanup(sys.modules.pop, "torch")
        source, x = OnDevice(self.x), OnDevice(np.zeros_like(self.x))
        with self.comm.allreduce_init(x, "tree8", out=x) as plan:
            for call in (lambda: self.comm.allreduce(x, "tree8", out=x), plan):
                must(cuda.cudaMemcpyAsync(x.pointer, source.pointer, self.x.nbytes, 3, stream))
                call()
                self.same(x, self.comm.allreduce(self.x, "tree8"))
        self.assertEqual(set(x.streams), {-1})
        must(cuda.cudaStreamDestroy(stream))

    def test_feedback(self):
        here, there = (self.comm.feedback(name, self.x.size) for name in "ab")
        out = OnDevice(np.zeros_like(self.x))
        for _ in range(3):
            want = self.comm.allreduce(self.x, "onebit", feedback=here)
            self.comm.allreduce(OnDevice(self.x.copy()), "onebit", out=out, feedback=there)
            self.same(out, want)
        self.assertEqual(there.read().tobytes(), here.read().tobytes())

    def test_codec(self):
        codec = thinwire.Codec("tree8")
        codes = OnDevice(np.zeros(codec.size(self.x.size), np.uint8))
        back = OnDevice(np.zeros_like(self.x))
        codec.encode(OnDevice(self.x), out=codes)
        codec.decode(codes, self.x.size, out=back)
        self.same(codes, codec.encode(self.x))
        self.same(back, codec.decode(codec.encode(self.x), self.x.size))

    def test_refused(self):
        """On the ranks that have it, in one line, and nothing was sent."""
        devices = ctypes.c_int()
        must(cuda.cudaGetDeviceCount(ctypes.byref(devices)))
        if devices.value < 2:
            self.skipTest("there is one device")
        x, other, calls = OnDevice(self.x), OnDevice(np.zeros_like(self.x), 1), self.comm.stats().calls
        codec = thinwire.Codec("fp32")
        for text, function, arguments, named in (
            ("x is in memory of CUDA device 0, out in host memory", self.comm.allreduce, (x,), {"out": self.x}),
            ("x is in host memory, out in memory of CUDA device 0", self.comm.allreduce, (self.x,), {"out": x}),
            ("x is in memory of CUDA device 0, out in memory of CUDA device 1", self.comm.allreduce, (x,), {"out": other}),
            ("in memory of CUDA device 0 from a OnDevice: pass out=", self.comm.allreduce, (x,), {}),
            ("in memory of CUDA device 0 from a OnDevice: pass out=", codec.encode, (x,), {}),
            ("allreduce", self.comm.allreduce, (other,), {"out": other}),  # a communicator has one device
        ):
            with self.assertRaisesRegex(thinwire.InvalidArgumentError, text) as caught:
                function(*arguments, **named)
            self.assertEqual(len(str(caught.exception).splitlines()), 1)
        self.assertEqual(self.comm.stats().calls, calls)
        self.comm.allreduce(x, out=x)
        self.same(x, self.comm.allreduce(self.x))


unittest.main(verbosity=0)
