# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/comm.py - a communicator and its collectives."""
import ctypes
import weakref
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Set, Type, Union

from thinwire import _c, _calls, _mpi, _store
from thinwire._context import context, error
from thinwire._library import lib
from thinwire.codec import Codec
from thinwire.errors import BusyError, Error, InvalidArgumentError
from thinwire.feedback import Feedback
from thinwire.messages import ANY_RANK, Message
from thinwire.requests import Plan, Request, seconds

CodecLike = Union[str, Codec, None]

# Nothing is under way after these.
_HARMLESS = {
    _c.Status.ERR_INVALID_ARG,
    _c.Status.ERR_UNSUPPORTED,
    _c.Status.ERR_RANGE,
    _c.Status.ERR_MISMATCH,
    _c.Status.ERR_BUSY,
    _c.Status.ERR_DEAD,
}


class Stats(NamedTuple):
    """Counters of this rank since the communicator was made or reset_stats(); see tw_stats_t in thinwire/comm.h."""

    calls: int  # collectives started
    messages_sent: int
    bytes_sent: int  # of messages to other ranks
    bytes_received: int
    bytes_uncompressed: int  # what bytes_sent would be without codecs
    quantisations: int  # values, times lossy encodings of each
    encode_ns: int  # nanoseconds
    decode_ns: int
    wait_ns: int
    pool_allocations: int
    pool_bytes: int
    bytes_network: int  # of bytes_sent, those to ranks of other nodes
    bytes_memory: int  # to ranks of this rank's node, by messages or in memory that they share
    bytes_elements: int  # what calls were given, whatever the codec and the algorithm


class Comm:
    """Ranks that call collectives together, over a duplicate of an MPI communicator.

    comm  an intracommunicator of mpi4py, or None: MPI_COMM_WORLD, for which MPI is initialised (with
          MPI_THREAD_MULTIPLE if the library can) unless it is, and then finalised when the program ends.

    Making and freeing one is collective. One thread at a time may use it; several communicators may be used by
    several threads. Common to all collectives:

    - x and out are contiguous arrays of float32, float64, float16 or bfloat16: NumPy arrays, or anything with the
      buffer protocol or DLPack, such as PyTorch's tensors. Results are new arrays of the kind of x, or out, which is returned too.
      bcast, allgather(v), alltoall(v), gather(v) and scatter(v) move elements of any other type, too, such as integers
      and bools, as their bytes, without a codec.
    - codec is a spec ("tree8"), a Codec, or None: nothing is lost. For float64 only bitpack:1 to bitpack:8 and int:B
      exist, for 16-bit elements only bf16 or fp16, which leave them as they are, and codecs of less than 2 bytes.
    - algorithm names one ("direct", "two_pass", "grid", "hierarchical", "node", "mpi"), where it can serve.
    - All ranks call the same collectives in the same order, with matching arguments. A wrong argument raises
      InvalidArgumentError, on the rank that has it and before anything is sent.
    - iX() starts X() and returns a Request, X_init() makes a Plan of it; their arrays must be left alone while they
      are under way. Each call on a communicator advances all that is under way on it.
    - Results are the same bits on all ranks, and in every run.
    """

    def __init__(self, comm: Any = None) -> None:
        pointer = ctypes.c_void_p()
        parent = _mpi.handle(comm)
        status = lib.tw_comm_create(context(), parent, ctypes.byref(pointer))
        if status:
            raise error(status, "communicator")
        self._open(pointer.value)

    @classmethod
    def from_store(
        cls, store: Any, rank: int, size: int, name: str = "thinwire", *, towards: Optional[str] = None
    ) -> "Comm":
        """A communicator without MPI, of `size` processes that meet through a store, and send by TCP. Collective over
        them.

        store    one with set(key, bytes) and get(key), which waits until the key is there, such as a TCPStore, FileStore or
                 PrefixStore of torch.distributed; its wait(keys, timedelta) serves THINWIRE_TIMEOUT. It is used in
                 this call only.
        rank     of this process, 0 to size - 1.
        name     with which its keys begin; no other communicator of this store may have it, before or after.
        towards  a host towards which the others' machines are, if THINWIRE_ADDRESS names no interface: that of a
                 TCPStore, unless given.

        The process uses libthinwire-store, and no MPI: LibraryError, if libthinwire is loaded.
        """
        made = cls.__new__(cls)
        made._open(_store.create(store, rank, size, name, towards))
        _mpi.watch()
        return made

    def _open(self, pointer: Optional[int]) -> None:
        self._pointer: Optional[int] = pointer
        self.rank: int = lib.tw_comm_rank(pointer)
        self.size: int = lib.tw_comm_size(pointer)
        self._hows: Dict[Any, Any] = {}
        self._running: Set[Any] = set()
        self._plans: "weakref.WeakSet[Plan]" = weakref.WeakSet()
        self._feedbacks: "weakref.WeakSet[Feedback]" = weakref.WeakSet()
        self._dropped_plans: List[Any] = []
        self._dropped_feedbacks: List[int] = []
        self._abandoned: List[Any] = []
        _mpi.alive[id(self)] = self

    def __repr__(self) -> str:
        return "thinwire.Comm(rank %d of %d%s)" % (self.rank, self.size, ", freed" if self._pointer is None else "")

    @property
    def running(self) -> int:
        """How many operations and messages are under way."""
        return len(self._running)

    # ---- other than collectives ------------------------------------------------------------------

    def feedback(self, name: str, count: int, dtype: Any = "float32") -> Feedback:
        """A Feedback for reductions of count elements; name: 1 to 63 printable characters without blanks, which
        stands in checkpoints. Collective."""
        self._sweep()
        made = Feedback(self, name, count, dtype)
        self._feedbacks.add(made)
        return made

    def stats(self) -> Stats:
        """Counters of this rank."""
        found = _c.Stats()
        self._must(lib.tw_comm_stats(self._pointer, ctypes.byref(found)), "stats")
        return Stats(*(getattr(found, name) for name in Stats._fields))

    def reset_stats(self) -> None:
        """Set the counters to zero, but for pool_bytes."""
        self._must(lib.tw_comm_stats_reset(self._pointer), "stats")

    def advance(self) -> None:
        """Advance everything that is under way, without blocking: for programs that compute meanwhile."""
        self._must(lib.tw_comm_advance(self._pointer), "advance")

    def start_progress(self) -> None:
        """Have a thread of the library advance what is under way, also while no Python runs, as with
        THINWIRE_PROGRESS=thread. UnsupportedError: MPI was not initialised with MPI_THREAD_MULTIPLE."""
        self._must(lib.tw_comm_start_progress(self._pointer), "start_progress")

    def set_timeout(self, limit: float) -> None:
        """Raise TimeLimitError where nothing has moved in a call for so many seconds; 0: wait for ever. To be called on
        all ranks before the first collective."""
        self._must(lib.tw_comm_set_timeout(self._pointer, seconds(limit, "limit")), "set_timeout")

    def abort(self) -> None:
        """Make it dead: calls that wait on it raise DeadError soon, all others at once. From any thread."""
        self._must(lib.tw_comm_abort(self._pointer), "abort")

    def free(self) -> None:
        """Release it, with its plans and feedbacks; BusyError while anything is under way. Collective. Those that
        nobody frees are freed when the program ends."""
        if self._pointer is None:
            return
        if self._running:
            raise BusyError("free: %d operations are under way; complete them first" % len(self._running))
        for plan in list(self._plans):
            plan.free()
        self._sweep()  # dropped plans before the feedbacks that they use
        for feedback in list(self._feedbacks):
            feedback.free()
        self._sweep()
        pointer, self._pointer = self._pointer, None
        _mpi.alive.pop(id(self), None)
        status = lib.tw_comm_destroy(pointer)
        if status:
            raise error(status, "free")

    def __enter__(self) -> "Comm":
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if kind is None:  # else other ranks may be elsewhere
            self.free()

    # ---- movement --------------------------------------------------------------------------------

    def bcast(
        self, x: Any, codec: CodecLike = None, *, root: int = 0, same: bool = False, algorithm: Optional[str] = None
    ) -> Any:
        """The root's x to all, into their x; encoded once. The root keeps its exact values, unless same: then it
        gets what the others get. Returns x."""
        return self._run("bcast", _calls.bcast(self, x, codec, root, same, algorithm))

    def ibcast(
        self, x: Any, codec: CodecLike = None, *, root: int = 0, same: bool = False, algorithm: Optional[str] = None
    ) -> Request:
        """As bcast(), nonblocking."""
        return self._begin("ibcast", _calls.bcast(self, x, codec, root, same, algorithm))

    def bcast_init(
        self, x: Any, codec: CodecLike = None, *, root: int = 0, same: bool = False, algorithm: Optional[str] = None
    ) -> Plan:
        """A plan of bcast()."""
        return self._plan("bcast", _calls.bcast(self, x, codec, root, same, algorithm))

    def allgather(
        self, x: Any, codec: CodecLike = None, *, out: Any = None, algorithm: Optional[str] = None
    ) -> Any:
        """The x of all ranks, in their order: shape (size,) + x.shape. The own part too is what was decoded. In
        place: x is out[rank]."""
        return self._run("allgather", _calls.allgather(self, x, codec, out, algorithm))

    def iallgather(
        self, x: Any, codec: CodecLike = None, *, out: Any = None, algorithm: Optional[str] = None
    ) -> Request:
        """As allgather(), nonblocking."""
        return self._begin("iallgather", _calls.allgather(self, x, codec, out, algorithm))

    def allgather_init(
        self, x: Any, codec: CodecLike = None, *, out: Any = None, algorithm: Optional[str] = None
    ) -> Plan:
        """A plan of allgather()."""
        return self._plan("allgather", _calls.allgather(self, x, codec, out, algorithm))

    def allgatherv(
        self,
        x: Any,
        counts: Iterable[int],
        codec: CodecLike = None,
        *,
        out: Any = None,
        algorithm: Optional[str] = None,
    ) -> Any:
        """As allgather() with counts[r] elements of rank r, equal on all ranks: one axis of sum(counts)."""
        return self._run("allgatherv", _calls.allgatherv(self, x, counts, codec, out, algorithm))

    def iallgatherv(
        self,
        x: Any,
        counts: Iterable[int],
        codec: CodecLike = None,
        *,
        out: Any = None,
        algorithm: Optional[str] = None,
    ) -> Request:
        """As allgatherv(), nonblocking."""
        return self._begin("iallgatherv", _calls.allgatherv(self, x, counts, codec, out, algorithm))

    def allgatherv_init(
        self,
        x: Any,
        counts: Iterable[int],
        codec: CodecLike = None,
        *,
        out: Any = None,
        algorithm: Optional[str] = None,
    ) -> Plan:
        """A plan of allgatherv()."""
        return self._plan("allgatherv", _calls.allgatherv(self, x, counts, codec, out, algorithm))

    def alltoall(
        self, x: Any, codec: CodecLike = None, *, out: Any = None, algorithm: Optional[str] = None
    ) -> Any:
        """The r-th of size equal parts of x to rank r; the part from rank r becomes the r-th of the result, which
        has the shape of x. In place: x is out."""
        return self._run("alltoall", _calls.alltoall(self, x, codec, out, algorithm))

    def ialltoall(
        self, x: Any, codec: CodecLike = None, *, out: Any = None, algorithm: Optional[str] = None
    ) -> Request:
        """As alltoall(), nonblocking."""
        return self._begin("ialltoall", _calls.alltoall(self, x, codec, out, algorithm))

    def alltoall_init(
        self, x: Any, codec: CodecLike = None, *, out: Any = None, algorithm: Optional[str] = None
    ) -> Plan:
        """A plan of alltoall()."""
        return self._plan("alltoall", _calls.alltoall(self, x, codec, out, algorithm))

    def alltoallv(
        self,
        x: Any,
        send_counts: Iterable[int],
        recv_counts: Iterable[int],
        codec: CodecLike = None,
        *,
        out: Any = None,
    ) -> Any:
        """The send_counts[r] elements of x that follow those for the ranks before r to rank r; recv_counts[r] are
        received from it: one axis of sum(recv_counts). In place: x is out, and the counts are equal."""
        return self._run("alltoallv", _calls.alltoallv(self, x, send_counts, recv_counts, codec, out))

    def ialltoallv(
        self,
        x: Any,
        send_counts: Iterable[int],
        recv_counts: Iterable[int],
        codec: CodecLike = None,
        *,
        out: Any = None,
    ) -> Request:
        """As alltoallv(), nonblocking."""
        return self._begin("ialltoallv", _calls.alltoallv(self, x, send_counts, recv_counts, codec, out))

    def alltoallv_init(
        self,
        x: Any,
        send_counts: Iterable[int],
        recv_counts: Iterable[int],
        codec: CodecLike = None,
        *,
        out: Any = None,
    ) -> Plan:
        """A plan of alltoallv()."""
        return self._plan("alltoallv", _calls.alltoallv(self, x, send_counts, recv_counts, codec, out))

    def gather(self, x: Any, codec: CodecLike = None, *, root: int = 0, out: Any = None) -> Any:
        """The x of all ranks, in their order, on the root: shape (size,) + x.shape; None, and out ignored, elsewhere.
        The root's own part too is what was decoded. In place: x is out[root]."""
        return self._run("gather", _calls.gather(self, x, codec, root, out))

    def igather(self, x: Any, codec: CodecLike = None, *, root: int = 0, out: Any = None) -> Request:
        """As gather(), nonblocking."""
        return self._begin("igather", _calls.gather(self, x, codec, root, out))

    def gather_init(self, x: Any, codec: CodecLike = None, *, root: int = 0, out: Any = None) -> Plan:
        """A plan of gather()."""
        return self._plan("gather", _calls.gather(self, x, codec, root, out))

    def scatter(self, x: Any, codec: CodecLike = None, *, root: int = 0, out: Any = None) -> Any:
        """The r-th block of the root's x, whose first axis has size, to rank r, into out, which only the root may
        leave out: it has the shape and dtype of a block. x is ignored elsewhere. In place: the root's out is x[root].
        Returns out."""
        return self._run("scatter", _calls.scatter(self, x, codec, root, out))

    def iscatter(self, x: Any, codec: CodecLike = None, *, root: int = 0, out: Any = None) -> Request:
        """As scatter(), nonblocking."""
        return self._begin("iscatter", _calls.scatter(self, x, codec, root, out))

    def scatter_init(self, x: Any, codec: CodecLike = None, *, root: int = 0, out: Any = None) -> Plan:
        """A plan of scatter()."""
        return self._plan("scatter", _calls.scatter(self, x, codec, root, out))

    def gatherv(
        self, x: Any, counts: Optional[Iterable[int]] = None, codec: CodecLike = None, *, root: int = 0, out: Any = None
    ) -> Any:
        """As gather() with counts[r] elements of rank r, which the root alone needs to know: one axis of
        sum(counts). In place: x is its part of out."""
        return self._run("gatherv", _calls.gatherv(self, x, counts, codec, root, out))

    def igatherv(
        self, x: Any, counts: Optional[Iterable[int]] = None, codec: CodecLike = None, *, root: int = 0, out: Any = None
    ) -> Request:
        """As gatherv(), nonblocking."""
        return self._begin("igatherv", _calls.gatherv(self, x, counts, codec, root, out))

    def gatherv_init(
        self, x: Any, counts: Optional[Iterable[int]] = None, codec: CodecLike = None, *, root: int = 0, out: Any = None
    ) -> Plan:
        """A plan of gatherv()."""
        return self._plan("gatherv", _calls.gatherv(self, x, counts, codec, root, out))

    def scatterv(
        self, x: Any, counts: Optional[Iterable[int]] = None, codec: CodecLike = None, *, root: int = 0, out: Any = None
    ) -> Any:
        """As scatter() with counts[r] elements for rank r, behind those for the ranks before: x and counts are needed
        on the root alone, out elsewhere, which says how many are received. In place: the root's out is its part of x."""
        return self._run("scatterv", _calls.scatterv(self, x, counts, codec, root, out))

    def iscatterv(
        self, x: Any, counts: Optional[Iterable[int]] = None, codec: CodecLike = None, *, root: int = 0, out: Any = None
    ) -> Request:
        """As scatterv(), nonblocking."""
        return self._begin("iscatterv", _calls.scatterv(self, x, counts, codec, root, out))

    def scatterv_init(
        self, x: Any, counts: Optional[Iterable[int]] = None, codec: CodecLike = None, *, root: int = 0, out: Any = None
    ) -> Plan:
        """A plan of scatterv()."""
        return self._plan("scatterv", _calls.scatterv(self, x, counts, codec, root, out))

    # ---- reductions: in the order of ranks, in the dtype of x, of decoded values --------------------

    def allreduce(
        self,
        x: Any,
        codec: CodecLike = None,
        *,
        op: str = "sum",
        out: Any = None,
        algorithm: Optional[str] = None,
        feedback: Optional[Feedback] = None,
    ) -> Any:
        """The sum, or op="average", "max", "min" or "prod", of the x of all ranks, in the shape of x. In place: x is out."""
        arguments, anchors, result = _calls.allreduce(self, x, codec, op, out, algorithm, feedback)
        status = lib.tw_allreduce(*arguments)
        if status:
            raise self._lost(status, "allreduce", anchors)
        return result

    def iallreduce(
        self,
        x: Any,
        codec: CodecLike = None,
        *,
        op: str = "sum",
        out: Any = None,
        algorithm: Optional[str] = None,
        feedback: Optional[Feedback] = None,
    ) -> Request:
        """As allreduce(), nonblocking."""
        return self._begin("iallreduce", _calls.allreduce(self, x, codec, op, out, algorithm, feedback))

    def allreduce_init(
        self,
        x: Any,
        codec: CodecLike = None,
        *,
        op: str = "sum",
        out: Any = None,
        algorithm: Optional[str] = None,
        feedback: Optional[Feedback] = None,
    ) -> Plan:
        """A plan of allreduce()."""
        return self._plan("allreduce", _calls.allreduce(self, x, codec, op, out, algorithm, feedback))

    def reduce(
        self,
        x: Any,
        codec: CodecLike = None,
        *,
        op: str = "sum",
        root: int = 0,
        out: Any = None,
        algorithm: Optional[str] = None,
        feedback: Optional[Feedback] = None,
    ) -> Any:
        """As allreduce(), with the result on the root; None, and out ignored, elsewhere."""
        return self._run("reduce", _calls.reduce(self, x, codec, op, root, out, algorithm, feedback))

    def ireduce(
        self,
        x: Any,
        codec: CodecLike = None,
        *,
        op: str = "sum",
        root: int = 0,
        out: Any = None,
        algorithm: Optional[str] = None,
        feedback: Optional[Feedback] = None,
    ) -> Request:
        """As reduce(), nonblocking."""
        return self._begin("ireduce", _calls.reduce(self, x, codec, op, root, out, algorithm, feedback))

    def reduce_init(
        self,
        x: Any,
        codec: CodecLike = None,
        *,
        op: str = "sum",
        root: int = 0,
        out: Any = None,
        algorithm: Optional[str] = None,
        feedback: Optional[Feedback] = None,
    ) -> Plan:
        """A plan of reduce()."""
        return self._plan("reduce", _calls.reduce(self, x, codec, op, root, out, algorithm, feedback))

    def reduce_scatter(
        self,
        x: Any,
        codec: CodecLike = None,
        *,
        counts: Optional[Iterable[int]] = None,
        op: str = "sum",
        out: Any = None,
        algorithm: Optional[str] = None,
        feedback: Optional[Feedback] = None,
    ) -> Any:
        """This rank's part of what allreduce() would give, encoded once: one axis of counts[rank] elements (equal
        parts where counts is None), behind those of the ranks before. In place: out is x, and a view of its start
        is returned."""
        call = _calls.reduce_scatter(self, x, counts, codec, op, out, algorithm, feedback)
        return self._run("reduce_scatter_block" if counts is None else "reduce_scatter", call)

    def ireduce_scatter(
        self,
        x: Any,
        codec: CodecLike = None,
        *,
        counts: Optional[Iterable[int]] = None,
        op: str = "sum",
        out: Any = None,
        algorithm: Optional[str] = None,
        feedback: Optional[Feedback] = None,
    ) -> Request:
        """As reduce_scatter(), nonblocking."""
        call = _calls.reduce_scatter(self, x, counts, codec, op, out, algorithm, feedback)
        return self._begin("ireduce_scatter_block" if counts is None else "ireduce_scatter", call)

    def reduce_scatter_init(
        self,
        x: Any,
        codec: CodecLike = None,
        *,
        counts: Optional[Iterable[int]] = None,
        op: str = "sum",
        out: Any = None,
        algorithm: Optional[str] = None,
        feedback: Optional[Feedback] = None,
    ) -> Plan:
        """A plan of reduce_scatter()."""
        call = _calls.reduce_scatter(self, x, counts, codec, op, out, algorithm, feedback)
        return self._plan("reduce_scatter_block" if counts is None else "reduce_scatter", call)

    # ---- messages between two ranks -----------------------------------------------------------------

    def isend(self, x: Any, rank: int, *, tag: int = 0) -> Message:
        """Start sending x, of any dtype, to a rank, which calls irecv() for as many bytes. Not collective; tag: 0 to
        16383."""
        return self._message("send", _calls.message(self, x, rank, tag, False))

    def irecv(self, x: Any, rank: int = ANY_RANK, *, tag: int = 0) -> Message:
        """Start receiving into x; ANY_RANK: from whoever sends first, up to 1 GiB."""
        return self._message("recv", _calls.message(self, x, rank, tag, True))

    def _message(self, name: str, call: Any) -> Message:
        arguments, anchors, _ = call
        pointer = ctypes.c_void_p()
        status = getattr(lib, "tw_message_" + name)(*arguments, ctypes.addressof(pointer))
        if status:
            raise self._lost(status, name, anchors)
        return Message(self, name, pointer, anchors)

    # ---- the three forms -------------------------------------------------------------------------

    def _run(self, name: str, call: Any) -> Any:
        arguments, anchors, result = call
        status = getattr(lib, "tw_" + name)(*arguments)
        if status:
            raise self._lost(status, name, anchors)
        return result

    def _begin(self, name: str, call: Any, kind: Type[Request] = Request) -> Request:
        arguments, anchors, result = call
        pointer = ctypes.c_void_p()
        status = getattr(lib, "tw_" + name)(*arguments, ctypes.addressof(pointer))
        if status:
            raise self._lost(status, name, anchors)
        request = kind(self, name, pointer, anchors, result)
        self._running.add(request)
        return request

    def _plan(self, name: str, call: Any) -> Plan:
        self._sweep()
        arguments, anchors, result = call
        pointer = ctypes.c_void_p()
        status = getattr(lib, "tw_" + name + "_init")(*arguments, ctypes.addressof(pointer))
        if status:
            raise self._lost(status, name + "_init", anchors)
        plan = Plan(self, name, pointer, anchors, result)
        self._plans.add(plan)
        return plan

    # ---- statuses, and the end --------------------------------------------------------------------

    def _error(self, status: int, what: str) -> Error:
        if self._pointer is None:
            return InvalidArgumentError(what + ": the communicator was freed")
        return error(status, what)

    def _must(self, status: int, what: str) -> None:
        if status:
            raise self._error(status, what)

    def _lost(self, status: int, what: str, anchors: Any, started: bool = False) -> Error:
        """The exception for a collective that failed. Where that killed the communicator, messages under way may yet
        arrive in its arrays."""
        if status not in _HARMLESS or (started and status == _c.Status.ERR_DEAD):
            self._abandoned.append(anchors)
        return self._error(status, what)

    def _sweep(self) -> None:
        """Release what was dropped: plans first, which use feedbacks."""
        while self._dropped_plans:
            pointer, _ = self._dropped_plans.pop()
            lib.tw_request_free(ctypes.byref(pointer))
        while self._dropped_feedbacks:
            lib.tw_feedback_destroy(self._dropped_feedbacks.pop())

    def _free_at_exit(self) -> None:
        if not self._running:
            try:
                self.free()
            except Error:
                pass
