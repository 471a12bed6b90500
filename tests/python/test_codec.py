# SPDX-License-Identifier: BSD-3-Clause
"""Codecs, without MPI: specs, traits, sizes, round trips, what is refused."""
import gc
import math
import unittest

import numpy as np

import thinwire
from thinwire import Codec, InvalidArgumentError, InvalidTypeError

SPECS = ("fp32", "bitpack:3", "bf16", "fp16", "tree8", "int8:block=256", "int:12", "int4", "static8",
         "mantissa8", "onebit")


class Codecs(unittest.TestCase):
    def test_specs(self):
        self.assertEqual(Codec("tree8").spec, "tree8:block=4096,split=0.45")
        self.assertEqual(Codec(Codec("tree8").spec).spec, Codec("tree8").spec)
        self.assertEqual(repr(Codec("bf16")), "thinwire.Codec('bf16', 'float32')")
        for dtype in ("float64", np.float64, np.dtype("float64"), float):
            if dtype is float:
                with self.assertRaisesRegex(InvalidTypeError, "accepted: float32, float64, bfloat16, float16"):
                    Codec("bitpack:5", dtype)
            else:
                self.assertEqual(Codec("bitpack:5", dtype).dtype, "float64")

    def test_refused_specs(self):
        for spec, text in (
            ("gzip", "unknown codec 'gzip'; accepted: fp32"),
            ("tree8:block=7", "block=7"),
            ("tree8:", "empty option"),
            ("", "unknown codec ''"),
            ("tree8\0", "unknown codec"),
            ("t\u00e4\ud800", "unknown codec"),
        ):
            with self.assertRaisesRegex(thinwire.SpecError, text) as caught:
                Codec(spec)
            self.assertIsInstance(caught.exception, ValueError)
            self.assertEqual(len(str(caught.exception).splitlines()), 1)
        with self.assertRaisesRegex(thinwire.UnsupportedError, "codec tree8 takes float;"):
            Codec("tree8", "float64")
        with self.assertRaisesRegex(InvalidTypeError, "named by a str"):
            Codec(8)

    def test_traits(self):
        traits = Codec("int8:block=512").traits
        self.assertEqual((traits.name, traits.block, traits.dtype), ("int8", 512, "float32"))
        self.assertEqual((traits.lossless, traits.feedback, traits.identity), (False, False, False))
        self.assertAlmostEqual(traits.bytes, 1 + 4 / 512)
        self.assertTrue(Codec("fp32").traits.identity and Codec("bitpack:8", "float64").traits.lossless)
        self.assertTrue(Codec("onebit").traits.feedback and math.isinf(Codec("fp16").traits.max_error))

    def test_sizes(self):
        self.assertEqual([Codec("bf16").size(n) for n in (0, 1, 1000)], [0, 2, 2000])
        self.assertEqual(Codec("onebit").size(2048), 2048 // 8 + 8)
        with self.assertRaises(thinwire.OutOfRangeError):
            Codec("bf16").size(2**62)
        for n in (-1, 2**64, 2**70 + 5, 10**5000):
            with self.assertRaisesRegex(InvalidArgumentError, "n is .*; accepted: numbers of elements"):
                Codec("bf16").size(n)
            with self.assertRaisesRegex(InvalidArgumentError, "n is .*; accepted: numbers of elements"):
                Codec("bf16").decode(bytes(4), n)
        Codec("bf16").size(2)
        for n in (2.0, "2", None):
            with self.assertRaisesRegex(InvalidTypeError, "n is of type .*; accepted: an integer"):
                Codec("bf16").size(n)
            with self.assertRaisesRegex(InvalidTypeError, "n is of type .*; accepted: an integer"):
                Codec("bf16").decode(bytes(4), n)
        with self.assertRaises(thinwire.UnsupportedError):
            Codec("auto").size(5)

    def test_round_trips(self):
        for spec in SPECS:
            codec = Codec(spec)
            for shape in ((0,), (1,), (63,), (64,), (10, 1001), (2, 3, 5)):
                x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
                codes = codec.encode(x)
                self.assertEqual((codes.dtype, codes.nbytes), (np.uint8, codec.size(x.size)))
                y = codec.decode(codes, x.size).reshape(shape)
                if codec.traits.lossless:
                    self.assertEqual(y.tobytes(), x.tobytes())
                elif math.isfinite(codec.traits.max_error):
                    # A bound by the block is one by the largest of all.
                    self.assertLessEqual(
                        np.abs(x - y).max(initial=0), (codec.traits.max_error + 2**-23) * np.abs(x).max(initial=0)
                    )
                # The same by other doors: bytes, read-only input, arrays that are given.
                self.assertEqual(codec.decode(bytes(codes), x.size).tobytes(), y.tobytes())
                frozen = np.frombuffer(x.tobytes(), np.float32)
                self.assertEqual(codec.encode(frozen).tobytes(), codes.tobytes())
                out, room = np.empty_like(x), bytearray(codec.size(x.size))
                self.assertIs(codec.encode(x, out=room), room)
                self.assertEqual(bytes(room), codes.tobytes())
                self.assertIs(codec.decode(room, x.size, out=out), out)
                self.assertEqual(out.tobytes(), y.tobytes())
        x = np.random.default_rng(2).standard_normal(1000)
        codec = Codec("bitpack:8", "float64")
        self.assertEqual(codec.decode(codec.encode(x), 1000).tobytes(), x.tobytes())

    def test_refused(self):
        codec, x = Codec("tree8"), np.ones(100, np.float32)
        codes = codec.encode(x)
        frozen = np.frombuffer(x.tobytes(), np.float32)
        for kind, text, function in (
            (InvalidTypeError, "x holds float64, the codec tree8", lambda: codec.encode(x.astype(float))),
            (InvalidTypeError, "x holds bytes", lambda: codec.encode(bytes(4))),
            (InvalidArgumentError, "x is not contiguous", lambda: codec.encode(x[::2])),
            (InvalidArgumentError, "out has 5 bytes; 100 values", lambda: codec.encode(x, out=bytearray(5))),
            (InvalidArgumentError, "out is read-only", lambda: codec.encode(x, out=bytes(codec.size(100)))),
            (InvalidTypeError, "out holds float32", lambda: codec.encode(x, out=x.copy())),
            (InvalidArgumentError, "codes has 104 bytes; 101 values", lambda: codec.decode(codes, 101)),
            (InvalidTypeError, "codes holds float32", lambda: codec.decode(x, 100)),
            (InvalidArgumentError, "out has 99 elements", lambda: codec.decode(codes, 100, out=x[1:])),
            (InvalidArgumentError, "out is read-only", lambda: codec.decode(codes, 100, out=frozen)),
            (InvalidTypeError, "out holds float64", lambda: codec.decode(codes, 100, out=np.empty(100))),
            (InvalidArgumentError, "overlap", lambda: codec.encode(x, out=x.view(np.uint8)[: codec.size(100)])),
        ):
            with self.assertRaisesRegex(kind, text):
                function()

    def test_kept(self):
        """A codec is made once; what was made from it outlives the object."""
        first = Codec("bf16")
        pointer = first._pointer
        del first
        gc.collect()
        self.assertEqual(Codec("bf16")._pointer, pointer)


unittest.main(verbosity=0)
