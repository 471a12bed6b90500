# SPDX-License-Identifier: BSD-3-Clause
"""test_alone.py WHAT - without mpi4py: MPI_COMM_WORLD, started and ended by the package.

sum    collectives, the level of threads, and an end that nobody writes
twice  two communicators, one of them freed; a third one in another thread
raise  rank 0 raises before it sends anything, the others wait for it: the job must end
late   a communicator after MPI_Finalize
child  children of os.fork() that end by sys.exit(), by an exception and at their end
busy   MPI_Finalize while the library's thread has something under way: no such thread is left
"""
import ctypes
import os
import sys
import threading
import time

import numpy as np

import thinwire
from thinwire import _mpi

what, wanted = sys.argv[1], int(os.environ["TW_WANTED"])
comm = thinwire.Comm()
assert "mpi4py.MPI" not in sys.modules
assert comm.size == wanted, (comm.size, wanted)
ones = np.ones(1000, np.float32)

if what == "sum":
    assert comm.allreduce(ones, "tree8").tolist() == [wanted] * 1000
    level = ctypes.c_int()
    _mpi._function("MPI_Query_thread")(ctypes.byref(level))
    assert level.value == 3, level.value
    print("right on rank %d" % comm.rank)
elif what == "twice":
    with thinwire.Comm(None) as second:
        assert second.allreduce(ones)[0] == wanted
    third, sums = thinwire.Comm(), []
    thread = threading.Thread(target=lambda: sums.extend(third.allreduce(ones, "bf16") for _ in range(50)))
    thread.start()
    for _ in range(50):
        assert comm.allreduce(ones)[0] == wanted
    thread.join()
    assert len(sums) == 50 and all(x[0] == wanted for x in sums)
    print("right on rank %d" % comm.rank)
elif what == "raise":
    if comm.rank == 0:
        comm.allreduce(ones[::2])
    comm.allreduce(ones)
elif what == "late":
    comm.free()
    _mpi._function("MPI_Finalize")()
    try:
        thinwire.Comm()
    except thinwire.InvalidArgumentError as error:
        assert str(error) == "MPI is finalised already", error
        print("right on rank %d" % comm.rank)
elif what == "child":
    for ending in ("exit", "raise", "end"):
        child = os.fork()
        if child == 0:
            sys.stderr = open(os.devnull, "w")  # a traceback
            if ending == "exit":
                sys.exit(7)
            if ending == "raise":
                raise KeyError
            break
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status == {"exit": 7, "raise": 1, "end": 0}[ending], status
        assert comm.allreduce(ones)[0] == wanted
    else:
        print("right on rank %d" % comm.rank)
elif what == "busy":

    def threads():
        names = (open("/proc/self/task/%s/comm" % task).read().strip() for task in os.listdir("/proc/self/task"))
        return list(names).count("tw_progress")

    comm.start_progress()
    assert comm.allreduce(ones, algorithm="two_pass")[0] == wanted
    late = time.monotonic() + 10  # the thread has its name a little after it began
    while threads() != 1:
        assert time.monotonic() < late
    if comm.rank != 0:  # which never comes
        request = comm.iallreduce(ones, algorithm="two_pass")
    _mpi._function("MPI_Finalize")()
    assert threads() == 0, threads()
    print("right on rank %d" % comm.rank)
else:
    sys.exit("no test " + what)
