#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a short call costs in Python beside the same call in C: medians in microseconds.

    /usr/bin/python3 bench/python_overhead.py build [--ranks N] [--count N] [--calls N] [--turns N]

C (bin/python-overhead of the build folder) and Python run in turns, each as a job of its own by mpirun (MPIRUN);
the table has the medians over the turns and their difference. allreduce makes a new array each time, allreduce-out
fills one; 16 float32 with tree8 on 1 rank unless given. On more ranks than cores the times are those of the waiting.
"""
import argparse
import os
import statistics
import subprocess
import sys
import time

# Kind of call in Python: that of python_overhead.c.
KINDS = {
    "allreduce": "allreduce",
    "allreduce-out": "allreduce",
    "plan": "plan",
    "encode": "encode",
    "encode-out": "encode",
    "decode": "decode",
    "decode-out": "decode",
}


def loop(count, calls):
    """One job of Python: a line for each kind, from rank 0."""
    import numpy as np

    import thinwire

    comm = thinwire.Comm()
    codec = thinwire.Codec("tree8")
    x = np.random.default_rng(1).standard_normal(count, dtype=np.float32)
    out, codes = np.empty_like(x), codec.encode(x)
    plan = comm.allreduce_init(x, codec, out=out)
    kinds = {
        "allreduce": lambda: comm.allreduce(x, "tree8"),
        "allreduce-out": lambda: comm.allreduce(x, "tree8", out=out),
        "plan": plan,
        "encode": lambda: codec.encode(x),
        "encode-out": lambda: codec.encode(x, out=codes),
        "decode": lambda: codec.decode(codes, count),
        "decode-out": lambda: codec.decode(codes, count, out=out),
    }
    for name, call in kinds.items():
        for _ in range(calls // 10):
            call()
        nanoseconds = []
        for _ in range(calls):
            start = time.perf_counter_ns()
            call()
            nanoseconds.append(time.perf_counter_ns() - start)
        if comm.rank == 0:
            print(name, "%.3f" % (statistics.median(nanoseconds) / 1000))
    plan.free()
    comm.free()


def job(ranks, command, environment):
    ended = subprocess.run(
        [os.environ.get("MPIRUN", "mpirun"), "-n", str(ranks), *command],
        stdout=subprocess.PIPE,
        universal_newlines=True,
        env=environment,
    )
    if ended.returncode != 0:
        sys.exit("python_overhead.py: %s ended with status %d" % (command[0], ended.returncode))
    return {line.split()[0]: float(line.split()[1]) for line in ended.stdout.splitlines()}


def main():
    parser = argparse.ArgumentParser(description="what a short call costs in Python beside the same call in C")
    parser.add_argument("build", help="build folder of thinwire")
    parser.add_argument("--ranks", type=int, default=1, help="ranks [1]")
    parser.add_argument("--count", type=int, default=16, help="float32 of a call [16]")
    parser.add_argument("--calls", type=int, default=20000, help="calls of each kind in a turn [20000]")
    parser.add_argument("--turns", type=int, default=5, help="turns [5]")
    parser.add_argument("--loop", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if min(given.ranks, given.count, given.calls, given.turns) < 1:
        parser.error("numbers must be at least 1")
    if given.loop:
        return loop(given.count, given.calls)
    build = os.path.abspath(given.build)
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    environment = dict(
        os.environ,
        THINWIRE_LIBRARY=os.path.join(build, "lib", "libthinwire.so"),
        PYTHONPATH=os.path.join(source, "python"),
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    )
    words = [str(given.count), str(given.calls)]
    in_c, in_python = [], []
    for _ in range(given.turns):
        in_c.append(job(given.ranks, [os.path.join(build, "bin", "python-overhead"), *words], environment))
        python = [sys.executable, os.path.abspath(__file__), build, "--loop", "--count", words[0], "--calls", words[1]]
        in_python.append(job(given.ranks, python, environment))
    print("%d float32, tree8, %d ranks: medians of %d turns, in microseconds" % (given.count, given.ranks, given.turns))
    print("%-14s %10s %10s %10s" % ("call", "C", "Python", "more"))
    for name, beside in KINDS.items():
        c = statistics.median(turn[beside] for turn in in_c)
        python = statistics.median(turn[name] for turn in in_python)
        print("%-14s %10.2f %10.2f %10.2f" % (name, c, python, python - c))
    return 0


if __name__ == "__main__":
    sys.exit(main())
