# SPDX-License-Identifier: BSD-3-Clause
"""Errors that the library finds: a class for each status, its line in the exception, lines of threads kept apart."""
import os
import pickle
import threading
import time
import unittest

import numpy as np
from common import MPI, main, rank, size, world

import thinwire
from thinwire import _c, _context, errors


class Errors(unittest.TestCase):
    def test_classes(self):
        self.assertEqual(set(errors.BY_STATUS), {int(status) for status in _c.Status} - {0})
        for status, kind in errors.BY_STATUS.items():
            self.assertEqual((kind.status, kind.__bases__[0]), (status, thinwire.Error))
            self.assertTrue(hasattr(thinwire, kind.__name__))
            self.assertTrue(kind.__bases__[1].__module__ == "builtins")
            self.assertEqual(str(pickle.loads(pickle.dumps(kind("why")))), "why")
            raised = _context.error(status, "thing")
            self.assertIs(type(raised), kind)
            self.assertTrue(str(raised).startswith("thing: "))

    def test_line(self):
        """Ranks that call with other counts: rank 0's library names the rank that differs."""
        os.environ["THINWIRE_CHECK"] = "1"
        comm = thinwire.Comm(world)
        del os.environ["THINWIRE_CHECK"]
        if size > 1:
            with self.assertRaises(thinwire.MismatchError) as caught:
                comm.allreduce(np.zeros(10 + (rank == size - 1), np.float32))
            self.assertRegex(str(caught.exception), "ranks disagree" if rank else "ranks disagree on .*rank [0-9]+ has")
        comm.allreduce(np.zeros(3, np.float32))
        comm.free()

    def test_algorithm_that_cannot_serve(self):
        with thinwire.Comm(world) as comm:
            with self.assertRaisesRegex(thinwire.UnsupportedError, "algorithm node was named where it cannot serve"):
                comm.allreduce(np.zeros(5, np.float32), "tree8", algorithm="node")

    def test_lines_of_threads(self):
        """Each thread gets its own lines, and those of a thread that has no Python go to whoever fails next."""
        seen, barrier = {}, threading.Barrier(4)

        def fail(name):
            _context._log(None, _c.LOG_ERROR, 0, b"line of %d" % name)
            barrier.wait()
            seen[name] = str(_context.error(-8, "x"))

        threads = [threading.Thread(target=fail, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(seen, {name: "x: line of %d" % name for name in range(4)})

        _context._of_library.append("line of the library")
        self.assertEqual(str(_context.error(-9, "y")), "y: line of the library")
        self.assertNotIn("line", str(_context.error(-9, "y")))

    def test_time_limit(self):
        """A rank that does not come: TimeLimitError with the line, then DeadError, and the request is released."""
        if size > 1:
            self.late({"THINWIRE_TIMEOUT": "1"}, 0)

    def test_time_limit_beside_a_thread(self):
        """The same while the library's own thread, which has no Python, advances the operation."""
        if size > 1 and MPI.Query_thread() == MPI.THREAD_MULTIPLE:
            self.late({"THINWIRE_TIMEOUT": "1", "THINWIRE_PROGRESS": "thread"}, 0.5)

    def late(self, environment, seconds):
        os.environ.update(environment)
        comm = thinwire.Comm(world)
        for name in environment:
            del os.environ[name]
        x = np.zeros(100000, np.float32)
        comm.allreduce(x, algorithm="two_pass")  # the ranks agree on memory for it here
        if rank == 0:
            request = comm.iallreduce(x, algorithm="two_pass")
            time.sleep(seconds)
            with self.assertRaisesRegex(thinwire.TimeLimitError, "nothing moved for 1 s, waiting for rank") as caught:
                request.wait()
            self.assertIsInstance(caught.exception, TimeoutError)
            with self.assertRaises(thinwire.TimeLimitError):
                request.wait()
            with self.assertRaises(thinwire.DeadError):
                comm.allreduce(np.zeros(3, np.float32))
        world.Barrier()
        if rank == 0:
            comm.free()  # the others' are left to the end of the program

    def test_with(self):
        """An exception inside leaves the communicator: the other ranks may be elsewhere."""
        try:
            with thinwire.Comm(world) as comm:
                if rank == 0:
                    raise KeyError
        except KeyError:
            self.assertEqual(comm.stats().calls, 0)
            comm.free()
        with self.assertRaises(thinwire.InvalidArgumentError):
            comm.stats()

    def test_communicators(self):
        with self.assertRaisesRegex(thinwire.InvalidArgumentError, "MPI.COMM_NULL"):
            thinwire.Comm(MPI.COMM_NULL)
        for odd in (5, "world", MPI.INT):
            with self.assertRaisesRegex(thinwire.InvalidTypeError, "accepted: an intracommunicator of mpi4py, or None"):
                thinwire.Comm(odd)
        if size > 1:
            local = world.Split(rank == 0, rank)
            between = local.Create_intercomm(0, world, 1 if rank == 0 else 0)
            with self.assertRaisesRegex(thinwire.UnsupportedError, "inter-communicator"):
                thinwire.Comm(between)
            between.Free()
            local.Free()


main()
