# SPDX-License-Identifier: BSD-3-Clause
# tests/interpose/lines.py - calls of MPI from lines of Python, for python.sh. The numbers behind "line" are
# those of the lines that must be in the report.
import threading

from mpi4py import MPI

world = MPI.COMM_WORLD
x = bytearray(8000)
y = bytearray(8000)


def step():
    world.Allreduce([x, MPI.FLOAT], [y, MPI.FLOAT])  # line 14


for i in range(10):
    step()
    world.Bcast([x, MPI.FLOAT])  # line 19
world.Bcast([x, MPI.FLOAT])  # line 20
world.Barrier()  # line 21

# Another thread that has the interpreter most of the time: nobody waits for it, and then the line is not known.
stop = False


def spin():
    while not stop:
        pass


thread = threading.Thread(target=spin)
thread.start()
for i in range(3):
    world.Reduce([x, MPI.FLOAT], [y, MPI.FLOAT])  # not known
stop = True
thread.join()
world.Reduce([x, MPI.FLOAT], [y, MPI.FLOAT])  # line 38

exec(compile("for i in range(5): world.Scan([x, MPI.FLOAT], [y, MPI.FLOAT])", "made/up.py", "exec"))
for i in range(3000):  # more places than are remembered
    exec(compile("\n" * i + "world.Gather([x, 1, MPI.FLOAT], [y, 1, MPI.FLOAT])", "many.py", "exec"))
