# SPDX-License-Identifier: BSD-3-Clause
"""test_store.py [torch] - ranks that are processes of this program, and meet through a store: one of files, or the
TCPStore and FileStore of PyTorch. No MPI is loaded."""
import datetime
import os
import shutil
import signal
import sys
import tempfile
import time

import numpy as np

import thinwire
from thinwire import _library

SIZE = 3


class Files:
    """A folder, with what Comm.from_store() wants."""

    def __init__(self, folder):
        self.folder = folder

    def _path(self, key):
        return os.path.join(self.folder, key.replace("/", "."))

    def set(self, key, value):
        with open(self._path(key) + str(os.getpid()), "wb") as stream:
            stream.write(value)
        os.rename(self._path(key) + str(os.getpid()), self._path(key))

    def get(self, key):
        for _ in range(30000):
            if os.path.exists(self._path(key)):
                with open(self._path(key), "rb") as stream:
                    return stream.read()
            time.sleep(0.001)
        raise TimeoutError(key)


def sums(store, rank):
    comm = thinwire.Comm.from_store(store, rank, SIZE)
    x = np.arange(1000, dtype=np.float32) * (rank + 1)
    assert (comm.rank, comm.size) == (rank, SIZE), comm
    assert (comm.allreduce(x) == np.arange(1000) * 6).all()
    assert abs(comm.allreduce(x, "tree8")[999] - 999 * 6) < 400
    assert comm.allgather(np.array([rank])).ravel().tolist() == [0, 1, 2]
    with thinwire.Comm.from_store(store, rank, SIZE, "another") as other:
        assert other.iallreduce(x, op="average").wait()[1] == 2
    with open("/proc/self/maps") as maps:
        assert "libmpi" not in maps.read()
    return comm  # freed at the end


def killed(store, rank):
    comm = thinwire.Comm.from_store(store, rank, SIZE)
    try:
        while True:
            comm.allreduce(np.ones(100000, np.float32), "tree8")
            if rank == 1:
                os.kill(os.getpid(), signal.SIGKILL)
    except thinwire.MPIError as found:
        assert "rank 1 was lost" in str(found), found


def refused(store, rank):
    for wrong in (None, {}, 3):
        try:
            thinwire.Comm.from_store(wrong, rank, SIZE)
            raise AssertionError(wrong)
        except thinwire.InvalidTypeError as found:
            assert "accepted: one with set(key, bytes) and get(key)" in str(found), found
    try:
        thinwire.Comm.from_store(store, SIZE, SIZE)
        raise AssertionError("rank 3 of 3")
    except thinwire.InvalidArgumentError:
        pass
    try:
        thinwire.Comm()
        raise AssertionError("without MPI")
    except thinwire.LibraryError as found:
        assert "accepted: Comm.from_store()" in str(found), found

    class Broken:
        def set(self, key, value):
            raise OSError("no room")

        get = set

    try:
        thinwire.Comm.from_store(Broken(), 1, SIZE)
        raise AssertionError("a store that fails")
    except thinwire.NetworkError as found:
        assert isinstance(found.__cause__, OSError), found.__cause__


# ---- the backend of PyTorch ----------------------------------------------------------------------


def as_torchrun(store, rank, limit):
    """Start the default group as a process of torchrun, whose agent has the store, does."""
    import torch.distributed as dist

    import thinwire.torch  # noqa: F401  # which registers it

    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(SIZE), TORCHELASTIC_USE_AGENT_STORE="True")
    os.environ.update(TORCHELASTIC_RUN_ID="test", TORCHELASTIC_RESTART_COUNT="0")
    os.environ.update(MASTER_ADDR=store.host, MASTER_PORT=str(store.port))
    dist.init_process_group("thinwire", timeout=datetime.timedelta(seconds=limit))
    return dist


def raises(words, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except RuntimeError as found:
        assert words in str(found) and "\n" not in str(found), found
        return
    raise AssertionError(words)


def backend(store, rank):
    """Limits of calls which are not those of their groups; then a killed rank, on which all that waits or comes raises."""
    dist = as_torchrun(store, rank, 60)
    import torch

    hasty, patient = dist.new_group(timeout=datetime.timedelta(seconds=0.5)), dist.new_group()
    dist.barrier(patient)
    if rank == 1:
        time.sleep(1)
    dist.barrier(hasty, timeout=datetime.timedelta(seconds=60))
    if rank != 1:
        raises("waiting for rank 1", dist.barrier, patient, timeout=datetime.timedelta(seconds=0.2))
        store.set("gave up %d" % rank, "")
    store.wait(["gave up 0", "gave up 2"])
    x = torch.ones(100000)
    dist.all_reduce(x)
    if rank == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    begin = time.monotonic()
    works = [dist.all_reduce(x, async_op=True) for _ in range(2)]
    for work in works:
        raises("rank 0 was lost", work.wait)
    raises("rank 0 was lost", dist.barrier)
    assert time.monotonic() - begin < 30


def launch(name, run, make, victim=None):
    """The case on all ranks, each with its store."""
    children = []
    for rank in range(SIZE):
        child = os.fork()
        if child == 0:
            kept = run(make(rank), rank)  # noqa: F841  # until the end
            sys.stdout.flush()
            sys.exit()  # with what atexit does
        children.append(child)
    for rank, child in enumerate(children):
        status = os.waitpid(child, 0)[1]
        assert status == (signal.SIGKILL if rank == victim else 0), (name, rank, status)
    print("%s: right" % name)


def main(folder):
    for name, run, victim in (("sums", sums, None), ("killed", killed, 1), ("refused", refused, None)):
        place = os.path.join(folder, name)
        os.mkdir(place)
        launch(name, run, lambda rank, place=place: Files(place), victim)
    if "torch" in sys.argv:
        import torch.distributed as dist

        launch("FileStore", sums, lambda rank: dist.FileStore(os.path.join(folder, "file"), SIZE))
        first = dist.TCPStore("localhost", 0, SIZE, True, wait_for_workers=False)
        launch("the backend", backend, lambda rank: dist.TCPStore("localhost", first.port, SIZE, False), 0)
        launch("TCPStore", sums, lambda rank: dist.PrefixStore("a", dist.TCPStore("localhost", first.port, SIZE, False)))
    assert "CDLL" not in _library.lib.__dict__  # this process has loaded neither
    assert thinwire.Codec("tree8").spec.startswith("tree8")
    try:
        thinwire.Comm.from_store(Files("/nowhere"), 0, 1)
        raise AssertionError("beside MPI")
    except thinwire.LibraryError as found:
        assert "call Comm.from_store() before anything else" in str(found), found


me, scratch = os.getpid(), tempfile.mkdtemp()
try:
    main(scratch)
finally:
    if os.getpid() == me:
        shutil.rmtree(scratch)
