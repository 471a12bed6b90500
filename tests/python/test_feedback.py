# SPDX-License-Identifier: BSD-3-Clause
"""Error feedback: beside Codec.encode(residual=...), its state, its errors."""
import unittest

import numpy as np
from common import main, numbers, rank, size, world

import thinwire
from thinwire import InvalidArgumentError, InvalidTypeError

N = 5000


class Feedbacks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.comm = thinwire.Comm(world)

    @classmethod
    def tearDownClass(cls):
        cls.comm.free()

    def steps(self, feedback, first, last):
        return [
            self.comm.allreduce(numbers(N, seed=s), "onebit", feedback=feedback, algorithm="two_pass").tobytes()
            for s in range(first, last)
        ]

    def test_codec(self):
        """The residual of an array: beside v = x + residual, and the codec without."""
        codec = thinwire.Codec("onebit")
        residual, want = np.zeros(N, np.float32), np.zeros(N, np.float32)
        for seed in range(4):
            x = numbers(N, seed=seed)
            value = x + want
            codes = codec.encode(x, residual=residual)
            self.assertEqual(bytes(codes), bytes(codec.encode(value)))
            want = value - codec.decode(codes, N)
            self.assertEqual(residual.tobytes(), want.tobytes())
        with self.assertRaisesRegex(InvalidArgumentError, "as many elements"):
            codec.encode(x, residual=residual[1:])

    def test_sum_is_kept(self):
        """What was sent and what is left are what was given."""
        feedback = self.comm.feedback("kept", N)
        given, sent = np.zeros(N), np.zeros(N)
        for seed in range(6):
            sent += self.comm.allreduce(numbers(N, seed=seed), "onebit", feedback=feedback)
            given += sum(numbers(N, of=r, seed=seed).astype(float) for r in range(size))
        left = world.allreduce(feedback.read().astype(float))
        np.testing.assert_allclose(sent + left, given, atol=1e-4)
        self.assertAlmostEqual(feedback.norm(), float(np.linalg.norm(left)), delta=1e-3 * np.linalg.norm(left))
        feedback.clear()
        self.assertEqual(feedback.norm(), 0)
        self.assertFalse(feedback.read().any())

    def test_state(self):
        """Going on from a state gives the same bits as going on without."""
        first = self.comm.feedback("layer1.weight", N)
        self.steps(first, 0, 3)
        state = first.state_dict()
        self.assertEqual((state["name"], state["count"], state["dtype"]), ("layer1.weight", N, "float32"))
        self.assertEqual(state["residuals"] is not None, rank == 0)
        want = self.steps(first, 3, 6)
        second = self.comm.feedback("layer1.weight", N)
        second.load_state_dict(state if rank == 0 else {})
        self.assertEqual(self.steps(second, 3, 6), want)

    def test_state_on_fewer_ranks(self):
        feedback = self.comm.feedback("a", N)
        self.steps(feedback, 0, 2)
        left = world.allreduce(feedback.read().astype(float))
        state = feedback.state_dict()
        part = world.Split(0 if rank == 0 else 1, rank)
        with thinwire.Comm(part) as comm:
            alone = comm.feedback("a", N)
            if rank == 0:
                for use, scale in (("sum", 1), ("average", 1 / size)):
                    alone.load_state_dict(state, use)
                    np.testing.assert_allclose(alone.read(), left * scale, atol=1e-5)
        part.Free()

    def test_refused_states(self):
        feedback = self.comm.feedback("b", N)
        self.steps(feedback, 0, 1)
        before = feedback.read()
        good = feedback.state_dict()
        other = self.comm.feedback("c", N).state_dict()
        shorter = self.comm.feedback("b", N - 1).state_dict()
        cut = dict(good, residuals=good["residuals"] and good["residuals"][:-5])
        changed = dict(good, residuals=good["residuals"] and good["residuals"][:-9] + b"?" + good["residuals"][-8:])
        for state in (other, shorter, cut, changed, {}, {"residuals": b""}, {"residuals": 3}, None):
            with self.assertRaises(thinwire.FormatError) as caught:
                feedback.load_state_dict(state)
            self.assertIsInstance(caught.exception, ValueError)
            self.assertEqual(feedback.read().tobytes(), before.tobytes())
        if good["residuals"] is None:
            tails = (None,) * 3
        else:
            tails = (good["residuals"] + b"x", good["residuals"] * 2, memoryview(good["residuals"] + bytes(3)))
        for tail in tails:
            with self.assertRaisesRegex(thinwire.FormatError, "feedback 'b': .*bytes follow the end" if rank == 0 else "feedback 'b'"):
                feedback.load_state_dict(dict(good, residuals=tail))
            self.assertEqual(feedback.read().tobytes(), before.tobytes())
        with self.assertRaisesRegex(InvalidArgumentError, "accepted: 'sum', 'average'"):
            feedback.load_state_dict(good, "mean")

    def test_plan(self):
        x = np.zeros(N, np.float32)
        feedback, beside = self.comm.feedback("p", N), self.comm.feedback("q", N)
        plan = self.comm.allreduce_init(x, "onebit", op="average", feedback=feedback)
        for seed in range(3):
            x[:] = numbers(N, seed=seed)
            plan.start()
            with self.assertRaisesRegex(thinwire.BusyError, "feedback"):
                feedback.clear()
            want = self.comm.allreduce(x, "onebit", op="average", feedback=beside)
            self.assertEqual(plan.wait().tobytes(), want.tobytes())
        plan.free()
        feedback.free()

    def test_refused(self):
        x = numbers(N)
        feedback = self.comm.feedback("r", N)
        with thinwire.Comm(world) as other:
            with self.assertRaisesRegex(InvalidArgumentError, "of another communicator"):
                other.allreduce(x, "onebit", feedback=feedback)
        with self.assertRaisesRegex(InvalidArgumentError, "feedback 'r' is for 5000 values"):
            self.comm.allreduce(x[1:], "onebit", feedback=feedback)
        with self.assertRaisesRegex(InvalidTypeError, "feedback 'r' is of float32"):
            self.comm.allreduce(x.astype(float), "bitpack:4", feedback=feedback)
        for name in ("", "two words", "x" * 64, "nul\0"):
            with self.assertRaisesRegex(InvalidArgumentError, "1 to 63 printable characters"):
                self.comm.feedback(name, 5)
        with self.assertRaises(InvalidTypeError):
            self.comm.feedback("x", 5, "int16")
        feedback.free()
        with self.assertRaisesRegex(InvalidArgumentError, "was freed"):
            self.comm.allreduce(x, "onebit", feedback=feedback)


main()
