# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/torch/_collectives.py - the collectives and messages of the backend "thinwire", by the names and arguments
with which torch.distributed calls them.

A group runs its collectives one after another, in the order of the calls (_work.Worker). What travels how depends only
on what is equal on all ranks: dtypes, numbers of elements, options; never on strides or addresses.
"""
import sys
from typing import Any, Callable, List, Optional, Sequence

import torch

from thinwire.torch import _bytes, _policy
from thinwire.torch._arguments import alike, of_ranks, of_root, root_of, same, single
from thinwire.torch._bytes import NATIVE, Mover, compact, joined, room, room_of, store
from thinwire.torch._messages import Messages
from thinwire.torch._work import All, Worker, seconds


def _real(vector: Any) -> Any:
    """Pairs of real numbers of complex ones, in their memory."""
    return torch.view_as_real(vector).view(-1) if vector.is_complex() else vector


class Methods(Messages):
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
        return _policy.chosen(self._group(), self._options, kind, _name(tensor), tensor.numel())

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

    def allreduce(self, tensors: Any, opts: Any = None, op: Any = None) -> Any:
        """Of several tensors, which a process that had several GPUs would have given: with those of this process, too."""
        found = alike("all_reduce", tensors)
        op, first = _op(opts if op is None else op, found), found[0]
        if first.is_sparse and op != "sum":
            raise RuntimeError("thinwire: unsupported reduction operation: %s of a sparse tensor; accepted: SUM" % op.upper())
        codec = None if first.is_sparse else self._codec("all_reduce", first, op)

        def function() -> None:
            total = _bytes.combined(found, op) if len(found) > 1 else first
            if first.is_sparse:
                total = self._mover.allreduce_sparse(total)
            else:
                self._allreduce(total, op, codec)
            with torch.no_grad():  # detach() gives a sparse tensor of its own
                for tensor in found:
                    if tensor is not total:
                        tensor.copy_(total)

        return self._run("all_reduce", function, found, opts)

    def allreduce_coalesced(self, tensors: Any, opts: Any = None) -> Any:
        """Each by itself; those that lose nothing travel together."""
        found, op = list(tensors), _op(opts, tensors)
        if not found or any(tensor.is_sparse for tensor in found):
            raise RuntimeError("thinwire: all_reduce_coalesced requires non-empty tensor list; unsupported layout: sparse")
        codecs = [self._codec("all_reduce", tensor, op) for tensor in found]
        exact = [tensor for tensor, codec in zip(found, codecs) if codec is None]

        def function() -> None:
            for tensor, codec in zip(found, codecs):
                if codec is not None:
                    self._allreduce(tensor, op, codec)
            for dtype in dict.fromkeys(tensor.dtype for tensor in exact):
                some = [tensor for tensor in exact if tensor.dtype == dtype]
                whole = joined(some)
                self._allreduce(whole, op, None)
                for tensor, part in zip(some, whole.split([tensor.numel() for tensor in some])):
                    store(tensor, part)

        return self._run("all_reduce", function, found, opts)

    allreduce_sparse = allreduce

    def reduce(self, tensors: Any, opts: Any = None, op: Any = None, root: Any = None) -> Any:
        root, tensor = root_of("reduce", opts if root is None else root, self._size), single("reduce", tensors)
        op = _op(opts if op is None else op, [tensor])
        if getattr(opts, "rootTensor", 0) != 0:
            raise RuntimeError("thinwire: reduce: invalid root tensor %d; accepted: 0" % opts.rootTensor)

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

        return self._run("reduce", function, [tensor], opts)

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

    def reduce_scatter(self, outs: Any, lists: Any, opts: Any = None, op: Any = None) -> Any:
        if isinstance(outs, torch.Tensor):
            outs, lists = [outs], [lists]
        op = _op(opts if op is None else op, outs)
        counts = [[tensor.numel() for tensor in tensors] for tensors in lists]
        codecs = [_policy.chosen(self._group(), self._options, "reduce_scatter", _name(out), sum(n)) for out, n in zip(outs, counts)]
        codecs = [codec if op in ("sum", "average") else None for codec in codecs]

        def function() -> None:
            for out, tensors, sizes, codec in zip(outs, lists, counts, codecs):
                self._reduce_scatter(out, joined(tensors), sizes, op, codec)

        return self._run("reduce_scatter", function, outs, opts)

    # ---- movement ----------------------------------------------------------------------------------

    def broadcast(self, tensors: Any, opts: Any = None, root: Any = None) -> Any:
        """Of several tensors the root sends one, which all become."""
        root, which = root_of("broadcast", opts if root is None else root, self._size), getattr(opts, "rootTensor", 0)
        if not 0 <= which < (1 if isinstance(tensors, torch.Tensor) else len(tensors)):
            raise RuntimeError("thinwire: broadcast: invalid root tensor %d" % which)
        found = alike("broadcast", tensors)

        def function() -> None:
            vector = compact(found[which])
            if vector.numel() > 0:
                self._mover.bcast(vector, root)
            for tensor in found:
                store(tensor, vector)

        return self._run("broadcast", function, found, opts)

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
        """Of several tensors each list gets all of all ranks."""
        lists, found = ([lists], [tensors]) if isinstance(tensors, torch.Tensor) else (list(lists), list(tensors))
        if not found:
            raise RuntimeError("thinwire: all_gather requires non-empty input tensor list")
        if len(lists) != len(found):
            raise RuntimeError("thinwire: all_gather requires input/output tensor lists to have the same length")
        if len(found) > 1:
            return self._allgather_several(lists, alike("all_gather", found), opts)
        return self._allgather(lists, found, opts)

    def allgather_coalesced(self, lists: Any, tensors: Any, opts: Any = None) -> Any:
        """lists[rank][tensor], where allgather() has lists[tensor][rank]."""
        return self._allgather(of_ranks("all_gather", lists, tensors, self._size), tensors, opts)

    def _allgather(self, lists: Any, tensors: Any, opts: Any) -> Any:
        for outs, tensor in zip(lists, tensors):
            if len(outs) != self._size:
                raise RuntimeError("thinwire: all_gather: invalid output tensor list of %d for %d ranks" % (len(outs), self._size))
            same("all_gather", tensor, outs, sizes=False)
            if outs[self._rank].numel() != tensor.numel():
                raise RuntimeError("thinwire: all_gather: invalid size of output tensor at index %d" % self._rank)
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

    def _allgather_several(self, lists: Any, tensors: Any, opts: Any) -> Any:
        every = [out for outs in lists for out in outs]
        if any(len(outs) != self._size * len(tensors) for outs in lists):
            raise RuntimeError("thinwire: all_gather: invalid output tensor list; accepted: one of all tensors of all ranks")

        def function() -> None:
            parts = self._mover.allgather(joined(tensors)).view(-1).split(tensors[0].numel())
            for out, part in zip(every, len(lists) * parts):
                store(out, part)

        return self._run("all_gather", function, lists, opts)

    def gather(self, lists: Any, tensors: Any, opts: Any = None, root: Any = None) -> Any:
        root = root_of("gather", opts if root is None else root, self._size)
        tensor = single("gather", tensors, "input tensor list")
        outs = of_root("gather", lists, tensor, self._size, self._rank == root, "output")

        def function() -> None:
            vector = compact(tensor)
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

    def scatter(self, outs: Any, lists: Any, opts: Any = None, root: Any = None) -> Any:
        root = root_of("scatter", opts if root is None else root, self._size)
        out = single("scatter", outs, "output tensor list")
        tensors = of_root("scatter", lists, out, self._size, self._rank == root, "input")

        def function() -> None:
            vector = joined(tensors) if tensors else out.new_empty(0)
            sent = [tensor.numel() for tensor in tensors] or [0] * self._size
            received = [out.numel() if r == root else 0 for r in range(self._size)]
            store(out, self._mover.alltoallv(vector, sent, received))

        return self._run("scatter", function, [out], opts)

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

    def _alltoall_codec(self, tensor: Any) -> Any:  # ranks may send different numbers: the minimum cannot count
        return _policy.chosen(self._group(), self._options, "all_to_all", _name(tensor), sys.maxsize)

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

    _set_default_timeout = set_timeout

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
    """Of options, or a ReduceOp."""
    op = "sum" if options is None else _bytes.name_of(getattr(options, "reduceOp", options))
    for tensor in tensors:
        _bytes.check(tensor.dtype, op)
    return op
