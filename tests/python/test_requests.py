# SPDX-License-Identifier: BSD-3-Clause
"""Requests and plans: arrays kept alive, many under way, order of completion, dropped ones, communicators freed."""
import gc
import unittest
import weakref

import numpy as np
from common import main, numbers, rank, size, world

import thinwire


class Requests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.comm = thinwire.Comm(world)

    @classmethod
    def tearDownClass(cls):
        cls.comm.free()

    def total(self, count, seed):
        """The lossless sum, in the order of ranks."""
        found = numbers(count, of=0, seed=seed)
        for r in range(1, size):
            found += numbers(count, of=r, seed=seed)
        return found

    def test_many(self):
        """Completed in another order than started; the arrays given are only held by the requests."""
        counts = [(37 * i) % 5000 for i in range(150)]
        requests = [self.comm.iallreduce(numbers(n, seed=i), out=None) for i, n in enumerate(counts)]
        gc.collect()
        junk = [np.full(n, 9, np.float32) for n in counts]  # into memory that was freed too early
        for i in reversed(range(len(counts))):
            self.assertTrue(requests[i].running)
            self.assertEqual(requests[i].wait().tobytes(), self.total(counts[i], i).tobytes())
            self.assertFalse(requests[i].running)
            self.assertTrue(requests[i].test())  # complete stays complete
        self.assertEqual(len(junk), 150)

    def test_kept_alive(self):
        class Watched(np.ndarray):
            pass

        x = numbers(200001).view(Watched)
        seen = weakref.ref(x)
        request = self.comm.iallreduce(x, "fp32", algorithm="two_pass")
        del x
        gc.collect()
        self.assertIsNotNone(seen())
        got = request.wait()
        gc.collect()
        self.assertIsNone(seen())
        self.assertEqual(got.tobytes(), self.total(200001, 1).tobytes())

    def test_dropped(self):
        """Of a request that nobody holds the arrays live on, and the operation goes on."""
        out = np.zeros(3000, np.float32)
        self.comm.iallreduce(numbers(3000), out=out)
        gc.collect()
        with self.assertRaisesRegex(thinwire.BusyError, "1 operations are under way"):
            self.comm.free()
        (request,) = self.comm._running
        request.wait()
        self.assertEqual(out.tobytes(), self.total(3000, 1).tobytes())

    def test_buffers_cannot_grow(self):
        x = bytearray(numbers(1000).tobytes())
        request = self.comm.iallreduce(memoryview(x).cast("f"))
        with self.assertRaises(BufferError):
            x.extend(b"more")
        request.wait()

    def test_timeouts(self):
        """Of any number of seconds, and of what is none: the operation goes on."""
        request = self.comm.iallreduce(numbers(100))
        for timeout in (10**400, float("nan")):
            with self.assertRaisesRegex(thinwire.InvalidArgumentError, "timeout is no number, or none that a float"):
                request.test(timeout)
        for timeout in ("soon", None):
            with self.assertRaisesRegex(thinwire.InvalidTypeError, "timeout is of type .*; accepted: a number of seconds"):
                request.test(timeout)
        self.assertIs(type(request.test(-1e300)), bool)
        while not request.test(float("inf")):
            pass
        self.assertEqual(request.result.tobytes(), self.total(100, 1).tobytes())

    def test_test(self):
        request = self.comm.ialltoall(numbers((size, 100)))
        self.assertIs(type(request.test()), bool)
        while not request.test():
            pass
        want = np.stack([numbers((size, 100), of=r)[rank] for r in range(size)])
        self.assertEqual(request.result.tobytes(), want.tobytes())

    def test_plans(self):
        x, out = np.zeros(1000, np.float32), np.zeros(1000, np.float32)
        plan = self.comm.allreduce_init(x, out=out)
        self.assertFalse(plan.running)
        self.assertIs(plan.wait(), out)  # not running: at once
        for seed in range(5):
            x[:] = numbers(1000, seed=seed)
            self.assertIs(plan.start(), plan)
            with self.assertRaises(thinwire.BusyError):
                plan.start()
            with self.assertRaises(thinwire.BusyError):
                plan.free()
            self.assertIs(plan.wait(), out)
            self.assertEqual(out.tobytes(), self.total(1000, seed).tobytes())
        self.assertIn(plan.codec, ("fp32",))
        plan.free()
        plan.free()
        with self.assertRaisesRegex(thinwire.InvalidArgumentError, "the plan was freed"):
            plan.start()

    def test_plans_mixed(self):
        plans = [self.comm.allreduce_init(numbers(500 * i, seed=i)) for i in range(6)]
        for plan in plans:
            plan.start()
        extra = self.comm.iallreduce(numbers(77))
        for i in reversed(range(6)):
            self.assertEqual(plans[i].wait().tobytes(), self.total(500 * i, i).tobytes())
        self.assertEqual(extra.wait().tobytes(), self.total(77, 1).tobytes())

    def test_dropped_plans(self):
        """Their memory is given back: the pool does not grow."""
        with thinwire.Comm(world) as comm:
            feedback = comm.feedback("left", 50000)
            for i in range(3):
                comm.allreduce_init(np.zeros(50000, np.float32), "onebit", feedback=feedback)()
            before = comm.stats().pool_bytes
            for i in range(20):
                comm.allreduce_init(np.zeros(50000, np.float32), "onebit", feedback=feedback)()
            self.assertEqual(comm.stats().pool_bytes, before)
            comm.feedback("dropped", 10)

    def test_freed(self):
        comm = thinwire.Comm(world)
        plan = comm.allreduce_init(np.zeros(5, np.float32))
        feedback = comm.feedback("x", 5)
        comm.free()
        comm.free()
        for function in (
            lambda: comm.allreduce(np.zeros(5, np.float32)),
            lambda: comm.iallreduce(np.zeros(5, np.float32)),
            lambda: comm.feedback("y", 5),
            comm.stats,
            comm.advance,
            plan.start,
            feedback.norm,
        ):
            with self.assertRaisesRegex(thinwire.InvalidArgumentError, "was freed"):
                function()

    def test_subset(self):
        """A communicator of some ranks."""
        part = world.Split(rank % 2, rank)
        with thinwire.Comm(part) as comm:
            self.assertEqual((comm.rank, comm.size), (part.rank, part.size))
            got = comm.allreduce(np.ones(3, np.float32))
            self.assertEqual(got.tolist(), [part.size] * 3)
        part.Free()


main()
