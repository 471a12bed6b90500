#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""collectives.py RANKS [TYPES BAR PART] - the collectives of mpi4py, each against a sum or copy by numpy.

Every case prints a line with a digest of what all ranks received, whole buffers with their gaps, so
that runs can be compared byte by byte. With TYPES, such as f4,c8, the program is told what is
compressed, to which PART of its bytes, above 8 KiB: in those cases the root mean square of the error,
relative to that of the exact values, has to be above 0 and below BAR (the line says "lossy"), while
all others stay exact and print their digest. Fails with a line on the standard error for each case
that is wrong.
"""
import hashlib
import sys

import numpy as np
from mpi4py import MPI

COMM = MPI.COMM_WORLD
LARGE, SMALL = 3001, 100  # elements: any vector of them is above, or below, 8 KiB
DTYPES = ["f4", "f8", "c8", "c16", "i4"]
LOSSY = sys.argv[2].split(",") if len(sys.argv) > 2 else []
BAR, PART = (float(word) for word in sys.argv[3:5]) if LOSSY else (0.0, 1.0)
FILL = 77  # what stands in buffers before


class Checker:
    """Compares, prints, and counts what is wrong."""

    def __init__(self):
        self.seen = []
        self.wrong = 0

    def case(self, name, got, want, lossy=False, sums=False):
        """`lossy`: this case is eligible, if its type is. `sums`: round-off is allowed."""
        got, want = np.asarray(got), np.asarray(want)
        lossy = lossy and got.dtype.str[1:] in LOSSY
        exact = 64 * np.finfo(got.dtype).eps if sums and got.dtype.kind in "fc" else 0.0
        where = want != FILL
        wide = np.complex128 if np.iscomplexobj(want) else np.float64
        apart = np.sum(np.abs(got[where].astype(wide) - want[where]) ** 2)
        size = np.sum(np.abs(want[where].astype(wide)) ** 2)
        gaps = np.array_equal(got[~where], want[~where])
        digest = hashlib.sha1(got.tobytes()).hexdigest()
        self.seen.append((name, lossy, exact, gaps, apart, size, digest))

    def report(self):
        """Print the cases since the last report: collective, and rarer than they are."""
        everyone, self.seen = COMM.gather(self.seen), []
        for ranks in zip(*everyone or []):
            name, lossy, exact = ranks[0][:3]
            gaps, apart, size, digest = zip(*(rank[3:] for rank in ranks))
            error = float(np.sqrt(sum(apart) / (sum(size) or 1)))
            print(name, "lossy" if lossy else hashlib.sha1("".join(digest).encode()).hexdigest())
            if not all(gaps) or not (exact < error < BAR if lossy else error <= exact):
                kept = "fine" if all(gaps) else "written to"
                print(f"{name}: error {error:.3g}, gaps {kept}", file=sys.stderr)
                self.wrong += 1
        sys.stdout.flush()


CHECK = Checker()


def data(dtype, rank, count, salt=0):
    """What `rank` sends: any rank can say it."""
    rng = np.random.default_rng([rank, count, salt])
    if np.dtype(dtype).kind == "i":
        return rng.integers(-1000, 1000, count).astype(dtype)
    values = rng.standard_normal(count)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(count)
    return values.astype(dtype)


def filled(dtype, count):
    return np.full(count, FILL, dtype=dtype)


def summed(comm, dtype, count, salt=0):
    wide = {"f": "f8", "c": "c16", "i": "i8"}[np.dtype(dtype).kind]
    return sum(data(dtype, r, count, salt).astype(wide) for r in range(comm.size)).astype(dtype)


def gathered(comm, dtype, counts):
    return np.concatenate([data(dtype, r, counts[r]) for r in range(comm.size)])


def movement(comm, dtype, n, label, big):
    """Broadcast, allgather, alltoall and their forms with counts and displacements."""
    me, p, root = comm.rank, comm.size, comm.size - 1

    buffer = data(dtype, root, n) if me == root else filled(dtype, n)
    comm.Bcast(buffer, root)
    CHECK.case(f"bcast {label}", buffer, data(dtype, root, n), big)

    counts = [n] * p
    buffer = filled(dtype, p * n)
    comm.Allgather(data(dtype, me, n), buffer)
    CHECK.case(f"allgather {label}", buffer, gathered(comm, dtype, counts), big)
    buffer = filled(dtype, p * n)
    buffer[me * n : (me + 1) * n] = data(dtype, me, n)
    comm.Allgather(MPI.IN_PLACE, buffer)
    CHECK.case(f"allgather in place {label}", buffer, gathered(comm, dtype, counts), big)

    counts = [n + 7 * r for r in range(p)]
    starts = [sum(counts[:r]) + 3 * r for r in range(p)]  # a gap of 3 before each but the first
    want = filled(dtype, sum(counts) + 3 * p)
    for r in range(p):
        want[starts[r] : starts[r] + counts[r]] = data(dtype, r, counts[r])
    buffer = filled(dtype, len(want))
    comm.Allgatherv(data(dtype, me, counts[me]), [buffer, (counts, starts)])
    CHECK.case(f"allgatherv {label}", buffer, want, big)

    def pair(sender, receiver):
        return data(dtype, sender, n, receiver)

    out = np.concatenate([pair(me, r) for r in range(p)])
    want = np.concatenate([pair(r, me) for r in range(p)])
    buffer = filled(dtype, p * n)
    comm.Alltoall(out, buffer)
    CHECK.case(f"alltoall {label}", buffer, want, big)
    comm.Alltoall(MPI.IN_PLACE, out)
    CHECK.case(f"alltoall in place {label}", out, want, big)

    def length(sender, receiver):
        return n + 5 * sender + 3 * receiver if (sender + receiver) % 3 else 0

    def various(sender, receiver):
        return data(dtype, sender, length(sender, receiver), receiver + 50)

    out = np.concatenate([various(me, r) for r in range(p)])
    want = np.concatenate([various(r, me) for r in range(p)])
    buffer = filled(dtype, len(want))
    comm.Alltoallv([out, [length(me, r) for r in range(p)]], [buffer, [length(r, me) for r in range(p)]])
    CHECK.case(f"alltoallv {label}", buffer, want, big)


def reduction(comm, dtype, n, label, big):
    """Sums, at the root, everywhere and in shares; and an operation that is no sum."""
    me, p, root = comm.rank, comm.size, comm.size - 1
    want = summed(comm, dtype, n)

    buffer = filled(dtype, n)
    comm.Allreduce(data(dtype, me, n), buffer)
    CHECK.case(f"allreduce {label}", buffer, want, big, sums=True)
    buffer = data(dtype, me, n)
    comm.Allreduce(MPI.IN_PLACE, buffer)
    CHECK.case(f"allreduce in place {label}", buffer, want, big, sums=True)

    fits = big and PART * (p + 1) <= 2  # the root holds the codes of all ranks
    buffer = filled(dtype, n)
    comm.Reduce(data(dtype, me, n), buffer, root=root)
    CHECK.case(f"reduce {label}", buffer, want if me == root else filled(dtype, n), fits, sums=True)
    buffer = data(dtype, me, n)
    comm.Reduce(MPI.IN_PLACE if me == root else buffer, buffer if me == root else None, root=root)
    want = want if me == root else data(dtype, me, n)
    CHECK.case(f"reduce in place {label}", buffer, want, fits, sums=True)

    counts = [n + 2 * r for r in range(p)]
    want = summed(comm, dtype, sum(counts))
    buffer = filled(dtype, counts[me])
    comm.Reduce_scatter(data(dtype, me, sum(counts)), buffer, counts)
    CHECK.case(f"reduce_scatter {label}", buffer, np.split(want, np.cumsum(counts))[me], big, sums=True)
    want = summed(comm, dtype, n * p)
    buffer = filled(dtype, n)
    comm.Reduce_scatter_block(data(dtype, me, n * p), buffer)
    CHECK.case(f"reduce_scatter_block {label}", buffer, np.split(want, p)[me], big, sums=True)

    buffer = filled(dtype, n)
    if np.dtype(dtype).kind != "c":
        comm.Allreduce(data(dtype, me, n), buffer, op=MPI.MAX)
        CHECK.case(f"allreduce max {label}", buffer, np.max([data(dtype, r, n) for r in range(p)], axis=0))


def nonblocking(comm, dtype, n, label, big):
    """All of them outstanding together with messages of the program, completed in several ways."""
    me, p = comm.rank, comm.size
    counts = [n] * p
    ring = filled(dtype, n)
    blocks = np.concatenate([data(dtype, me, n, r) for r in range(p)])
    everything = gathered(comm, dtype, counts)
    exchanged = np.concatenate([data(dtype, r, n, me) for r in range(p)])
    cast = data(dtype, 0, n) if me == 0 else filled(dtype, n)
    buffers = {name: filled(dtype, p * n) for name in ("allgather", "allgatherv", "alltoall", "alltoallv")}
    total, share, part, rooted = (filled(dtype, n) for _ in range(4))
    fits = big and PART * (p + 1) <= 2

    for turn, complete in enumerate((MPI.Request.Waitall, test_all, one_by_one)):
        own = data(dtype, me, n)
        tiled = np.tile(own, p)  # mpi4py does not keep it until the request is complete
        requests = [
            comm.Irecv(ring, source=(me - 1) % p, tag=turn),
            comm.Ibcast(cast, 0),
            comm.Iallgather(own, buffers["allgather"]),
            comm.Iallgatherv(own, [buffers["allgatherv"], counts]),
            comm.Ialltoall(blocks, buffers["alltoall"]),
            comm.Ialltoallv([blocks, counts], [buffers["alltoallv"], counts]),
            comm.Iallreduce(own, total),
            comm.Ireduce(own, rooted, root=0),
            comm.Ireduce_scatter(tiled, part, counts),
            comm.Ireduce_scatter_block(tiled, share),
            comm.Ibarrier(),
            comm.Isend(own, dest=(me + 1) % p, tag=turn),
        ]
        complete(requests)
        name = f"{('waitall', 'testall', 'waitany')[turn]} {label}"
        CHECK.case(f"isend {name}", ring, data(dtype, (me - 1) % p, n))
        CHECK.case(f"ibcast {name}", cast, data(dtype, 0, n), big)
        CHECK.case(f"iallgather {name}", buffers["allgather"], everything, big)
        CHECK.case(f"iallgatherv {name}", buffers["allgatherv"], everything, big)
        CHECK.case(f"ialltoall {name}", buffers["alltoall"], exchanged, big)
        CHECK.case(f"ialltoallv {name}", buffers["alltoallv"], exchanged, big)
        CHECK.case(f"iallreduce {name}", total, summed(comm, dtype, n), big, sums=True)
        want = filled(dtype, n) if me else summed(comm, dtype, n)
        CHECK.case(f"ireduce {name}", rooted, want, fits, sums=True)
        CHECK.case(f"ireduce_scatter {name}", part, summed(comm, dtype, n), big, sums=True)
        CHECK.case(f"ireduce_scatter_block {name}", share, summed(comm, dtype, n), big, sums=True)
        for buffer in (ring, total, share, part, rooted, *buffers.values(), *([cast] if me else [])):
            buffer[...] = FILL


def test_all(requests):
    while not MPI.Request.Testall(requests):
        pass


def one_by_one(requests):
    for _ in requests:
        MPI.Request.Waitany(requests)


def layouts(comm, dtype, n, label, big):
    """One signature, another layout on each rank; gaps stay as they are."""
    me, p = comm.rank, comm.size
    named = MPI._typedict[np.dtype(dtype).char]  # pylint: disable=protected-access
    stride = 1 + me % 3
    vector = named.Create_vector(n, 1, stride).Commit()
    want = filled(dtype, n * stride)
    want[::stride] = data(dtype, 0, n)
    buffer = want.copy() if me == 0 else filled(dtype, n * stride)
    comm.Bcast([buffer, 1, vector], 0)
    CHECK.case(f"bcast of vectors {label}", buffer, want, big)

    want = filled(dtype, n * stride)
    want[::stride] = data(dtype, (me - 1) % p, n, me)
    counts = [[r == (me + s) % p for r in range(p)] for s in (1, -1)]
    buffer = filled(dtype, n * stride)
    comm.Alltoallv(
        [data(dtype, me, n, (me + 1) % p), [n * c for c in counts[0]], [0] * p, named],
        [buffer, [int(c) for c in counts[1]], [0] * p, vector],
    )
    CHECK.case(f"alltoallv into vectors {label}", buffer, want, big)
    vector.Free()

    record = MPI.Datatype.Create_struct([1, 1], [0, 16], [named, MPI.INT]).Create_resized(0, 32).Commit()
    buffer = np.frombuffer(bytes(32 * n) if me else np.arange(4 * n, dtype="f8").tobytes(), dtype="i4").copy()
    want = np.arange(4 * n, dtype="f8").view("i4").reshape(n, 8).copy()
    size = np.dtype(dtype).itemsize // 4
    if me:
        want[:, size:4] = 0
        want[:, 5:] = 0
    comm.Bcast([buffer, n, record], 0)
    CHECK.case(f"bcast of structures {label}", buffer, want.reshape(-1))
    record.Free()


def objects(comm):
    """Pickled Python objects, and an operation in Python."""
    me, p = comm.rank, comm.size
    mine = data("f4", me, LARGE)
    heap = {"rank": me, "vector": mine, "text": "x" * 5000}
    got = np.concatenate([each["vector"] for each in comm.allgather(heap)])
    CHECK.case("objects: allgather", got, gathered(comm, "f4", [LARGE] * p))
    got = comm.bcast(heap if me == 0 else None)["vector"]
    CHECK.case("objects: bcast", got, data("f4", 0, LARGE))
    got = comm.alltoall([(me, r, data("f4", me, LARGE, r)) for r in range(p)])
    want = np.concatenate([data("f4", r, LARGE, me) for r in range(p)])
    CHECK.case("objects: alltoall", np.concatenate([each[2] for each in got]), want)
    CHECK.case("objects: allreduce", comm.allreduce(mine), summed(comm, "f4", LARGE), sums=True)
    CHECK.case("objects: reduce", comm.reduce(me + 1) or 0, p * (p + 1) // 2 if me == 0 else 0)
    CHECK.case("objects: scan", comm.scan(me + 1), (me + 1) * (me + 2) // 2)

    def add(a, b, datatype):
        np.frombuffer(b, "f4")[...] += np.frombuffer(a, "f4")

    operation = MPI.Op.Create(add, commute=True)
    buffer = filled("f4", LARGE)
    comm.Allreduce(data("f4", me, LARGE), buffer, op=operation)
    CHECK.case("an operation in Python", buffer, summed(comm, "f4", LARGE), sums=True)
    operation.Free()


def communicators():
    """Parts and copies of the world, made and freed many times."""
    for turn in range(3):
        part = COMM.Split(COMM.rank % 2, -COMM.rank)
        buffer = data("f4", part.rank, LARGE, turn)
        part.Allreduce(MPI.IN_PLACE, buffer)
        want = summed(part, "f4", LARGE, turn)
        CHECK.case(f"halves of the world, {turn}", buffer, want, part.size > 1, sums=True)
        part.Free()
    ring = COMM.Create_cart([COMM.size], periods=[True])
    reduction(ring, "f4", LARGE, "on a ring", True)
    ring.Free()
    for _ in range(50):
        copy = COMM.Dup()
        buffer = data("f4", copy.rank, LARGE)
        copy.Allreduce(MPI.IN_PLACE, buffer)
        copy.Free()
    CHECK.case("fifty copies of the world", buffer, summed(COMM, "f4", LARGE), True, sums=True)

    left = COMM.rank % 2
    part = COMM.Split(left, COMM.rank)
    both = part.Create_intercomm(0, COMM, 1 - left)
    buffer = filled("f4", LARGE)
    both.Allreduce(data("f4", COMM.rank, LARGE), buffer)  # of the other side
    others = range(1 - left, COMM.size, 2)
    want = sum(data("f4", r, LARGE).astype("f8") for r in others).astype("f4")
    CHECK.case("across two groups", buffer, want, sums=True)
    both.Free()
    part.Free()


def main():
    if COMM.size != int(sys.argv[1]):
        sys.exit(f"{COMM.size} ranks, not {sys.argv[1]}")
    for dtype in DTYPES:
        for n, label in ((LARGE, dtype), (SMALL, dtype + " small"), (1, dtype + " one")):
            movement(COMM, dtype, n, label, n == LARGE)
            reduction(COMM, dtype, n, label, n == LARGE)
            CHECK.report()
        nonblocking(COMM, dtype, LARGE, dtype, True)
        CHECK.report()
        layouts(COMM, dtype, LARGE, dtype, True)
        CHECK.report()
    objects(COMM)
    CHECK.report()
    communicators()
    CHECK.report()
    if COMM.bcast(CHECK.wrong):
        sys.exit(1)
    if COMM.rank == 0:
        print("all cases are right")


main()
