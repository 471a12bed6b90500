# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/torch/_fsdp.py - fully sharded models: the reduce-scatter of gradients, the all-gather of parameters.

FullyShardedDataParallel has a hook for the first alone; fully_shard() of torch 2.8 or newer lets both be replaced.
A reduce-scatter blocks: torch asks for the result at once, or on a stream that host memory does not have.
"""
import functools
import sys
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy
import torch
import torch.distributed as dist
from torch._C._distributed_c10d import Work as _TorchWork

from thinwire.comm import CodecLike, Comm
from thinwire.errors import FormatError, InvalidArgumentError, InvalidTypeError, UnsupportedError
from thinwire.feedback import Feedback
from thinwire.requests import Request
from thinwire.torch._group import communicator_for
from thinwire.torch._hook import Residuals, feedback_name, keeps_residuals
from thinwire.torch._values import REALS, WIDE, codec_for, float32_codec, is_real, packed, reals, vector, write


def register_fsdp(model: Any, codec: CodecLike = "tree8", *, comm: Optional[Comm] = None) -> Comm:
    """Have the gradients of a FullyShardedDataParallel model averaged with a codec: model.register_comm_hook(). For the
    strategies that torch has hooks for: FULL_SHARD, SHARD_GRAD_OP, NO_SHARD. There is no error feedback. The
    parameters travel as torch sends them. Collective over the model's process group. Returns the communicator."""
    if not hasattr(model, "register_comm_hook") or not hasattr(model, "sharding_strategy"):
        raise InvalidTypeError("model is of type %s; accepted: FullyShardedDataParallel" % type(model).__name__)
    comm = communicator_for(model.process_group, comm)
    model.register_comm_hook((comm, codec), _reduce)
    return comm


def _reduce(state, grad, output=None):  # type: ignore[no-untyped-def]  # called by FSDP
    comm, codec = state
    if output is None:  # NO_SHARD
        values, codec = _values(grad, codec)
        write(grad, comm.allreduce(values, codec, op="average", out=values))
    else:
        _scatter(comm, codec, output, grad, "average")


def _values(tensor: Any, codec: Any) -> Tuple[Any, Any]:
    """What is to be added up as vector() has it, and the codec for it."""
    _check_tensor(tensor)
    if not is_real(tensor):
        raise InvalidArgumentError("a gradient is of %s; accepted: real or complex numbers" % tensor.dtype)
    values = vector(tensor)
    return values, codec_for(codec, values.dtype)


def _check_tensor(tensor: Any) -> None:
    if tensor.device.type != "cpu":
        raise InvalidArgumentError("a tensor is on %s; accepted: on cpu" % tensor.device)


def _scatter(comm: Comm, codec: Any, output: Any, source: Any, op: str, residual: Any = lambda count: None) -> None:
    values, codec = _values(source, codec)
    feedback = None if codec is None else residual(values.numel())
    write(output, comm.reduce_scatter(values, codec, op=op, feedback=feedback))


def set_fully_shard(
    model: Any,
    codec: CodecLike = None,
    parameters: CodecLike = None,
    feedback: Optional[bool] = None,
    *,
    comm: Optional[Comm] = None,
) -> "Sharded":
    """For a model of torch.distributed.fsdp.fully_shard(), and the modules in it that were given to that: gradients
    travel with `codec`, encoded once (ZeRO++'s qgZ, Wang et al. 2023), parameters with the codec `parameters` (qwZ), from
    which all ranks compute while the shards stay exact; None: nothing is lost.

    feedback  whether each rank adds what the codec has lost of a module's gradients to the next ones (LoCo, Xie et al.
              2024); None: if the codec wants it. Two float32 vectors of the size of the whole module, made in its first
              backward, for those parameters that have gradients there, or for more if more do later; a step in
              which others have some goes without.
    comm      over the ranks that share a parameter; None: one that is kept for the group of the mesh.
    Collective. What it returns has the communicator, and the residuals, for checkpoints."""
    found = [item for item in model.named_modules() if hasattr(item[1], "set_custom_reduce_scatter")]
    if not found:
        raise InvalidTypeError("model is of type %s; accepted: a model of fully_shard()" % type(model).__name__)
    made = float32_codec(codec)
    keeps = keeps_residuals(made, feedback)
    float32_codec(parameters)
    comm = communicator_for(_group_of([p for _, module in found for p in _held(module)]), comm)
    try:
        comm.start_progress()
    except UnsupportedError:  # parameters for later then travel when somebody waits for them
        pass
    scatters: Dict[str, Scatter] = {}
    for name, module in found:
        held = _held(module)
        if any(held is scatter.held for scatter in scatters.values()):
            continue  # of several modules that were given to fully_shard() together
        name = name or "model"
        scatters[name] = Scatter(comm, codec, feedback_name(name) if keeps else None, held)
        module.set_custom_reduce_scatter(scatters[name])
        module.set_custom_all_gather(Gather(comm, parameters))
    return Sharded(comm, made.spec, scatters)


def _held(module: Any) -> List[Any]:
    """The parameters that a module exchanges together, as torch describes them; the same list each time."""
    state = module._get_fsdp_state()
    groups = getattr(state, "_fsdp_param_groups", None) or [getattr(state, "_fsdp_param_group", None)]
    return [] if groups[0] is None else groups[0].fsdp_params  # type: ignore[no-any-return]


def _group_of(held: Sequence[Any]) -> Any:
    """That which shares the parameters: of the axes of their mesh the first over which they are not replicated."""
    for parameter in (p.sharded_param for p in held):
        shared = (axis for axis, placement in enumerate(parameter.placements) if not placement.is_replicate())
        return parameter.device_mesh.get_group(next(shared, 0))
    return None


class _Allocating:
    def __init__(self, comm: Comm, codec: Any) -> None:
        self._comm, self._codec = comm, codec

    def allocate(self, size: Sequence[int], *, dtype: Any, device: Any) -> Any:
        """A new tensor, for fully_shard()."""
        return torch.empty(*size, dtype=dtype, device=device)

    def _check(self, group: Any) -> None:
        if dist.get_world_size(group) != self._comm.size:
            raise InvalidArgumentError(
                "the group has %d ranks, the communicator %d" % (dist.get_world_size(group), self._comm.size)
            )


class Scatter(_Allocating):
    """A ReduceScatter as fully_shard() wants it, of one module; with the name of a residual, it has one. `held` are the
    module's parameters, as torch describes them."""

    def __init__(self, comm: Comm, codec: Any, residual: Optional[str] = None, held: Sequence[Any] = ()) -> None:
        super().__init__(comm, codec)
        self.held, self.feedback, self.used = held, None, ()  # type: Any, Optional[Feedback], Tuple[int, ...]
        self._guessed = False  # used: no gradient has come yet
        self._name = residual

    def __call__(self, output_tensor: Any, input_tensor: Any, group: Any, op: Any, async_op: bool = False) -> None:
        """The sum, or average, of this rank's part: output_tensor.numel() of the elements of input_tensor. Collective;
        blocks."""
        self._check(group)
        names = {str(dist.ReduceOp.SUM): "sum", str(dist.ReduceOp.AVG): "average"}
        if str(op) not in names:
            raise UnsupportedError("reduction %s; accepted: sum, average" % op)
        there = {id(p) for p in sys._getframe(1).f_locals.get("fsdp_params", ())}  # torch says it in no other way
        used = tuple(i for i, p in enumerate(self.held) if id(p) in there)
        residual = functools.partial(self._residual, used)
        _scatter(self._comm, self._codec, output_tensor, input_tensor, names[str(op)], residual)

    def _residual(self, used: Tuple[int, ...], count: int) -> Optional[Feedback]:
        """Of the parameters that have had gradients together, and most elements; others, or fewer, have none."""
        other = self._guessed and used != self.used
        if self._name is not None and (self.feedback is None or self.feedback.count < count or other):
            self.feedback, self.used = self._comm.feedback(self._name, count), used
        self._guessed = False
        same = self.feedback is not None and (self.used, self.feedback.count) == (used, count)
        return self.feedback if same else None

    def parameters(self) -> List[int]:
        """Of which the residual is; none as long as there was no gradient."""
        return [] if self._guessed else list(self.used)

    def begin(self, used: Sequence[int] = ()) -> None:
        """Have a residual of these parameters, none: of those that are trained, unless there is one. Collective."""
        if self._name is None or (self.feedback is not None and tuple(used) in ((), self.used)):
            return
        self._guessed = not tuple(used)
        self.used = tuple(used) or tuple(i for i, p in enumerate(self.held) if p.sharded_param.requires_grad)
        found = [self.held[i] for i in self.used]
        count = sum(p.padded_sharded_param_size.numel() * (2 if p.sharded_param.is_complex() else 1) for p in found)
        self.feedback = self._comm.feedback(self._name, count * self._comm.size) if count > 0 else None


class Sharded(Residuals):
    """What set_fully_shard() returns: the residuals, by the name of their module, and their checkpoints."""

    def __init__(self, comm: Comm, codec: str, scatters: Dict[str, Scatter]) -> None:
        self.comm, self.codec, self._scatters = comm, codec, scatters

    @property
    def feedbacks(self) -> Dict[str, Feedback]:  # type: ignore[override]
        return {name: s.feedback for name, s in self._scatters.items() if s.feedback is not None}

    def state_dict(self) -> Dict[str, Any]:
        """The residuals, between two backward passes, for a checkpoint that rank 0 of the communicator writes (elsewhere
        the same without the residuals): where parameters are replicated, too, there are several such ranks. Collective."""
        for scatter in self._scatters.values():
            scatter.begin()
        state = super().state_dict()
        for name, feedback in state["feedback"].items():
            feedback["parameters"] = self._scatters[name].parameters()
        return {"ranks": self.comm.size, **state}

    def load_state_dict(self, state: Dict[str, Any]) -> None:  # type: ignore[override]
        """Take back what state_dict() gave, on as many ranks; only what rank 0 of the communicator has counts. Steps then go
        on with the same bits. A state of another model, or number of ranks, is a FormatError on all ranks, after which all
        residuals are zero. Collective."""
        known = state if isinstance(state, dict) and self.comm.rank == 0 else {}
        problem = ""
        if self.comm.rank == 0 and known.get("ranks") != self.comm.size:
            problem = "the state is of %s ranks; accepted: of %d" % (known.get("ranks"), self.comm.size)
        saved = known.get("feedback") if not problem and isinstance(known.get("feedback"), dict) else {}
        for name, scatter in self._scatters.items():
            scatter.begin(self._parameters(saved.get(name), len(scatter.held)))
        try:
            super().load_state_dict({"feedback": saved})
        except FormatError as error:
            raise FormatError(problem or str(error)) from None

    def _parameters(self, saved: Any, count: int) -> List[int]:
        """Those that the state of a module is of, on all ranks: what rank 0 says. Collective."""
        found = saved.get("parameters") if isinstance(saved, dict) else None
        marks = numpy.zeros(max(count, 1), numpy.float32)
        marks[[i for i in found if isinstance(i, int) and 0 <= i < count] if isinstance(found, list) else []] = 1
        self.comm.bcast(marks)
        return [int(i) for i in numpy.flatnonzero(marks)]


class _Gathering(_TorchWork):  # type: ignore[misc]
    def __init__(self, request: Request) -> None:
        super().__init__()
        self._request = request

    def wait(self, timeout: Any = None) -> bool:
        self._request.wait()
        return True


class Gather(_Allocating):
    """An AllGather as fully_shard() wants it."""

    def __call__(self, output_tensor: Any, input_tensor: Any, group: Any, async_op: bool = False) -> Any:
        """The input_tensor of all ranks of the group, one after another, into output_tensor, of which it may be this
        rank's part. Both are contiguous. Collective; returns a Work for which fully_shard() waits before it needs the
        parameters, whatever async_op is: those that it fetches ahead travel while it computes."""
        self._check(group)
        _check_tensor(input_tensor)
        lossy = self._codec is not None and input_tensor.dtype not in WIDE and reals(input_tensor).dtype in REALS
        view = vector if lossy else packed
        values, out = view(input_tensor), view(output_tensor).view(self._comm.size, -1)
        return _Gathering(self._comm.iallgather(values, codec_for(self._codec, values.dtype) if lossy else None, out=out))
