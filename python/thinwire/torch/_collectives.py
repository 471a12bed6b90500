# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/torch/_collectives.py - the collectives and messages of the backend "thinwire", by the names and arguments
with which torch.distributed calls them.

A group runs its collectives one after another, in the order of the calls (_work.Worker). What travels how depends only
on what is equal on all ranks: dtypes, numbers of elements, options; never on strides or addresses.
"""
import sys
from typing import Any, Callable, List, Optional, Sequence

import torch

from thinwire.messages import ANY_RANK
from thinwire.torch import _bytes, _policy
from thinwire.torch._barrier import TAG, Monitored
from thinwire.torch._bytes import NATIVE, Mover, compact, joined, room, room_of, store
from thinwire.torch._work import All, Message, Worker, seconds


def _real(vector: Any) -> Any:
    """Pairs of real numbers of complex ones, in their memory."""
    return torch.view_as_real(vector).view(-1) if vector.is_complex() else vector


class Methods(Monitored):
    """For both kinds of class that torch.distributed takes."""

    def _begin(self, rank: int, size: int, comm: Any, options: _policy.Options, limit: float) -> None:
        self._rank, self._size, self._comm, self._options = rank, size, comm, options
        self._worker = Worker(limit, comm.set_timeout)
        self._mover = Mover(comm, self._worker.wait)
        self._together: Optional[List[Any]] = None
        self._calls = 0

    def _group(self) -> Any:
        """The process group that programs see."""
        raise NotImplementedError

    def _run(self, what: str, function: Callable[[], None], tensors: Sequence[Any], options: Any = None) -> Any:
        self._calls += 1
        limit = seconds(getattr(options, "timeout", None), self._worker.limit)
        here = self._together is None and not getattr(options, "asyncOp", True)
        return self._gathered(self._worker.submit(what, function, tensors, limit, here))

    def _gathered(self, work: Any) -> Any:
        if self._together is not None:
            self._together.append(work)
        return work

    def _codec(self, kind: str, tensor: Any, op: str = "sum") -> Any:
        """Of a collective, asked for by the thread that calls it."""
        if op not in ("sum", "average"):
            return None
        name = str(tensor.dtype).rpartition(".")[2]
        return _policy.chosen(self._group(), self._options, kind, name, tensor.numel())

    # ---- reductions --------------------------------------------------------------------------------

    def _allreduce(self, tensor: Any, op: str, codec: Any) -> None:
        vector = compact(tensor)
        real = _real(vector) if op in ("sum", "average") else vector
        if real.numel() == 0:
            return
        if real.dtype in NATIVE and op in ("sum", "average", "max", "min", "prod"):
            self._worker.wait(self._comm.iallreduce(real, codec, op=op, out=real))
        else:
            vector = self._mover.allreduce(vector, op)
        store(tensor, vector)

    def allreduce(self, tensors: Any, opts: Any = None) -> Any:
        op = _op(opts, tensors)
        if tensors[0].is_sparse:
            return self._run("all_reduce", lambda: self._allreduce_sparse(tensors[0], op), tensors, opts)
        codecs = [self._codec("all_reduce", tensor, op) for tensor in tensors]

        def function() -> None:
            for tensor, codec in zip(tensors, codecs):
                self._allreduce(tensor, op, codec)

        return self._run("all_reduce", function, tensors, opts)

    allreduce_coalesced = allreduce

    def _allreduce_sparse(self, tensor: Any, op: str) -> None:
        if op != "sum":
            raise RuntimeError("thinwire: %s of a sparse tensor; accepted: SUM" % op.upper())
        mine = tensor.detach().coalesce()
        counts = self._mover.allgather(torch.tensor([mine._nnz()])).view(-1).tolist()
        lines, width = mine.indices().shape[0], mine.values().numel() // max(mine._nnz(), 1)
        width = int(self._mover.allreduce(torch.tensor([width]), "max"))
        places = self._mover.allgatherv(compact(mine.indices().t()), [n * lines for n in counts])
        values = self._mover.allgatherv(compact(mine.values()), [n * width for n in counts])
        values = values.view((sum(counts),) + tuple(mine.values().shape[1:]))
        total = torch.sparse_coo_tensor(places.view(-1, lines).t(), values, tensor.shape).coalesce()
        with torch.no_grad():
            tensor.copy_(total)  # detach() gives a sparse tensor of its own

    def allreduce_sparse(self, tensors: Any, opts: Any = None) -> Any:
        return self.allreduce(tensors, opts)

    def reduce(self, tensors: Any, opts: Any = None) -> Any:
        op, tensor, root = _op(opts, tensors), tensors[0], opts.rootRank

        def function() -> None:
            vector = compact(tensor)
            real = _real(vector) if op in ("sum", "average") else vector
            if real.numel() == 0:
                return
            if real.dtype in NATIVE and op in ("sum", "average", "max", "min", "prod"):
                out = real if self._rank == root else None
                self._worker.wait(self._comm.ireduce(real, None, op=op, root=root, out=out))
            else:
                vector = self._mover.allreduce(vector, op)
            if self._rank == root:
                store(tensor, vector)

        return self._run("reduce", function, tensors, opts)

    def _reduce_scatter(self, out: Any, vector: Any, counts: Sequence[int], op: str, codec: Any) -> None:
        real = _real(vector) if op in ("sum", "average") else vector
        if sum(counts) == 0:
            return
        if real.dtype in NATIVE and op in ("sum", "average", "max", "min", "prod"):
            pair = real.numel() // vector.numel()
            whole = [pair * count for count in counts]
            vector = room(out, vector)
            self._worker.wait(self._comm.ireduce_scatter(real, codec, counts=whole, op=op, out=_real(vector)))
        else:
            vector = self._mover.reduce_shares(vector, counts, op)
        store(out, vector)

    def reduce_scatter_single(self, out: Any, tensor: Any, opts: Any = None) -> Any:
        return self.reduce_scatter_single_coalesced([out], [tensor], opts)

    _reduce_scatter_base = reduce_scatter_single

    def reduce_scatter_single_coalesced(self, outs: Any, tensors: Any, opts: Any = None) -> Any:
        op = _op(opts, tensors)
        for out, tensor in zip(outs, tensors):
            if out.numel() * self._size != tensor.numel():
                raise ValueError("input tensor must be the same size as output size times world size")
        codecs = [self._codec("reduce_scatter", tensor, op) for tensor in tensors]

        def function() -> None:
            for out, tensor, codec in zip(outs, tensors, codecs):
                self._reduce_scatter(out, compact(tensor), [out.numel()] * self._size, op, codec)

        return self._run("reduce_scatter", function, outs, opts)

    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    def reduce_scatter(self, outs: Any, lists: Any, opts: Any = None) -> Any:
        op = _op(opts, outs)
        counts = [[tensor.numel() for tensor in tensors] for tensors in lists]
        codecs = [_policy.chosen(self._group(), self._options, "reduce_scatter", _name(out), sum(n)) for out, n in zip(outs, counts)]
        codecs = [codec if op in ("sum", "average") else None for codec in codecs]

        def function() -> None:
            for out, tensors, sizes, codec in zip(outs, lists, counts, codecs):
                self._reduce_scatter(out, joined(tensors), sizes, op, codec)

        return self._run("reduce_scatter", function, outs, opts)

    # ---- movement ----------------------------------------------------------------------------------

    def broadcast(self, tensors: Any, opts: Any = None) -> Any:
        root = opts.rootRank

        def function() -> None:
            for tensor in tensors:
                vector = compact(tensor)
                if vector.numel() > 0:
                    self._mover.bcast(vector, root)
                store(tensor, vector)

        return self._run("broadcast", function, tensors, opts)

    def all_gather_single(self, out: Any, tensor: Any, opts: Any = None) -> Any:
        return self.all_gather_single_coalesced([out], [tensor], opts)

    _allgather_base = all_gather_single

    def all_gather_single_coalesced(self, outs: Any, tensors: Any, opts: Any = None) -> Any:
        for out, tensor in zip(outs, tensors):
            if out.dtype != tensor.dtype or out.numel() != tensor.numel() * self._size:
                raise ValueError("output tensor size must be equal to world_size times input tensor size, of its dtype")
        codecs = [self._codec("all_gather", tensor) for tensor in tensors]

        def function() -> None:
            for out, tensor, codec in zip(outs, tensors, codecs):
                vector = compact(tensor)
                into = room(out, vector, self._rank * vector.numel())
                store(out, self._mover.allgather(vector, codec, into).view(-1))

        return self._run("all_gather", function, outs, opts)

    allgather_into_tensor_coalesced = all_gather_single_coalesced

    def allgather(self, lists: Any, tensors: Any, opts: Any = None) -> Any:
        return self._allgather([list(outs) for outs in lists], tensors, opts)

    def allgather_coalesced(self, lists: Any, tensors: Any, opts: Any = None) -> Any:
        """lists[rank][tensor], where allgather() has lists[tensor][rank]."""
        return self._allgather([[outs[k] for outs in lists] for k in range(len(tensors))], tensors, opts)

    def _allgather(self, lists: Any, tensors: Any, opts: Any) -> Any:
        codecs = [self._codec("all_gather", tensor) for tensor in tensors]

        def function() -> None:
            for outs, tensor, codec in zip(lists, tensors, codecs):
                counts, vector = [out.numel() for out in outs], compact(tensor)
                into = room_of(outs, vector, sum(counts[: self._rank]))
                if len(set(counts)) == 1:
                    parts = list(self._mover.allgather(vector, codec, into))
                else:
                    parts = list(self._mover.allgatherv(vector, counts, into).split(counts))
                for out, part in zip(outs, parts):
                    store(out, part)

        return self._run("all_gather", function, [out for outs in lists for out in outs], opts)

    def gather(self, lists: Any, tensors: Any, opts: Any = None) -> Any:
        root, outs = opts.rootRank, list(lists[0]) if self._rank == opts.rootRank else []

        def function() -> None:
            vector = compact(tensors[0])
            sent = [vector.numel() if r == root else 0 for r in range(self._size)]
            received = [out.numel() for out in outs] or [0] * self._size
            into = room_of(outs, vector)
            for out, part in zip(outs, self._mover.alltoallv(vector, sent, received, out=into).split(received)):
                store(out, part)

        return self._run("gather", function, outs, opts)

    def gather_single(self, out: Any, tensor: Any, opts: Any = None) -> Any:
        """As gather(), into one tensor."""
        outs = list(out.view(self._size, -1)) if self._rank == opts.rootRank else []
        return self.gather([outs], [tensor], opts)

    gather_into_tensor = gather_single

    def scatter(self, outs: Any, lists: Any, opts: Any = None) -> Any:
        root, tensors = opts.rootRank, list(lists[0]) if self._rank == opts.rootRank else []

        def function() -> None:
            vector = joined(tensors) if tensors else outs[0].new_empty(0)
            sent = [tensor.numel() for tensor in tensors] or [0] * self._size
            received = [outs[0].numel() if r == root else 0 for r in range(self._size)]
            store(outs[0], self._mover.alltoallv(vector, sent, received))

        return self._run("scatter", function, outs, opts)

    def all_to_all_single(self, out: Any, tensor: Any, received: Any, sent: Any, opts: Any = None) -> Any:
        codec = self._alltoall_codec(tensor)
        sent, received = self._splits(tensor, sent), self._splits(out, received)

        def function() -> None:
            vector = compact(tensor)
            store(out, self._mover.alltoallv(vector, sent, received, codec, room(out, vector)))

        return self._run("all_to_all", function, [out], opts)

    alltoall_base = all_to_all_single

    def _splits(self, tensor: Any, rows: Sequence[int]) -> List[int]:
        """Elements for each rank, of numbers of rows; none: equal parts."""
        first = tensor.shape[0] if tensor.dim() > 0 else 1
        if not rows:
            if first % self._size != 0:
                raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
            rows = [first // self._size] * self._size
        if len(rows) != self._size or sum(rows) != first:
            raise RuntimeError("Number of tensor splits not equal to group size, or split sizes do not sum up to dim 0")
        width = tensor.numel() // first if first > 0 else 0
        return [width * n for n in rows]

    def alltoall(self, outs: Any, tensors: Any, opts: Any = None) -> Any:
        codec = self._alltoall_codec(tensors[0])

        def function() -> None:
            received = [out.numel() for out in outs]
            vector = joined(tensors)
            sent, into = [tensor.numel() for tensor in tensors], room_of(outs, vector)
            parts = self._mover.alltoallv(vector, sent, received, codec, into)
            for out, part in zip(outs, parts.split(received)):
                store(out, part)

        return self._run("all_to_all", function, outs, opts)

    def _alltoall_codec(self, tensor: Any) -> Any:
        """Ranks may send different numbers of elements, so that the minimum cannot count."""
        return _policy.chosen(self._group(), self._options, "all_to_all", _name(tensor), sys.maxsize)

    # ---- messages between two ranks ----------------------------------------------------------------

    def send(self, tensors: Any, rank: int, tag: int) -> Any:
        self._worker.look()
        vector = compact(tensors[0])
        message = self._comm.isend(vector, rank, tag=_tag(tag))
        return self._gathered(Message(self._worker, "send", tensors[0], message, lambda: None))

    def recv(self, tensors: Any, rank: int, tag: int) -> Any:
        self._worker.look()
        tensor = tensors[0]
        vector = compact(tensor) if tensor.is_contiguous() else torch.empty_like(compact(tensor))
        message = self._comm.irecv(vector, rank, tag=_tag(tag))
        return self._gathered(Message(self._worker, "recv", tensor, message, lambda: store(tensor, vector)))

    def recv_anysource(self, tensors: Any, tag: int) -> Any:
        return self.recv(tensors, ANY_RANK, tag)

    def barrier(self, opts: Any = None) -> Any:
        def function() -> None:
            self._worker.wait(self._comm.iallgather(torch.zeros(1)))

        return self._run("barrier", function, [], opts)

    # ---- the rest ----------------------------------------------------------------------------------

    def start_coalescing(self, *_: Any) -> None:
        self._together = []

    _start_coalescing = start_coalescing

    def end_coalescing(self, *_: Any) -> Any:
        works, self._together = self._together or [], None
        return All(works)

    _end_coalescing = end_coalescing

    def set_timeout(self, limit: Any) -> None:
        self._worker.limit = seconds(limit, self._worker.limit)

    def _set_sequence_number_for_group(self) -> None:
        self._calls = 0

    def _get_sequence_number_for_group(self) -> int:
        return self._calls

    def shutdown(self) -> None:
        """Frees the communicator, unless something failed or a message is under way: then it is left to the system."""
        if self._worker.stop() and not self._comm.running:
            self._comm.free()
        else:
            self._comm.abort()

    def abort(self) -> None:
        self._worker.abort(RuntimeError("thinwire: the process group was aborted"))
        self._comm.abort()

    def __repr__(self) -> str:
        return "thinwire.torch process group(rank %d of %d, %r)" % (self._rank, self._size, self._options)


def _name(tensor: Any) -> str:
    return str(tensor.dtype).rpartition(".")[2]


def _op(options: Any, tensors: Any) -> str:
    op = "sum" if options is None else _bytes.name_of(options.reduceOp)
    for tensor in tensors:
        _bytes.check(tensor.dtype, op)
    return op


def _tag(tag: int) -> int:
    if not 0 <= tag < TAG:
        raise ValueError("thinwire: tag %d; accepted: 0 to %d" % (tag, TAG - 1))
    return tag
