# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/torch/_local.py - training with few exchanges: many steps on each rank alone, then one on all."""
from typing import Any, Dict, Optional

import torch
from torch.nn.parallel import DistributedDataParallel

from thinwire.codec import Codec
from thinwire.comm import CodecLike, Comm
from thinwire.errors import Error, FormatError, InvalidArgumentError
from thinwire.torch._hook import PATIENCE, Averages, trained
from thinwire.torch._parameters import average, broadcast_parameters, tensors
from thinwire.torch._values import length, reals, write


class LocalSGD(Averages):
    """DiLoCo (Douillard et al. 2023, algorithm 1): each rank trains alone for `every` steps; what its parameters have
    moved since the last outer step, start minus end, is averaged over the ranks and is the gradient of an outer step
    from that start.

        local = thinwire.torch.LocalSGD(model, every=100, codec="tree8")
        ...
        optimizer.step()
        local.step()

    model     the same on all ranks; not one of DDP, which exchanges by itself, nor a sharded one. Its parameters and
              buffers become those of rank 0.
    every     steps of the program's optimizer to one outer step.
    outer     an optimizer of the model's parameters; None: SGD with lr=0.7, momentum=0.9, nesterov=True. With SGD of lr=1
              an outer step is the average of the models.
    codec     of what the parameters have moved; None: nothing is lost. Small parameters, dtypes, comm and timeout as of
              register().
    feedback  whether what a lossy codec loses is added to the next exchange.

    Outer steps also average buffers of floating point, without loss; parameters are then the same bits on all ranks, where
    `outer` does the same on all. Collective over all ranks.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        every: int,
        outer: Optional[torch.optim.Optimizer] = None,
        codec: CodecLike = None,
        feedback: bool = True,
        *,
        comm: Optional[Comm] = None,
        timeout: float = PATIENCE,
    ) -> None:
        self._parameters = trained(model)
        if outer is None and self._parameters:
            outer = torch.optim.SGD([p for _, p in self._parameters], lr=0.7, momentum=0.9, nesterov=True)
        problem = ""
        try:
            self._check(model, every, outer)
        except Error as error:
            problem = str(error)
        super().__init__(
            "thinwire.torch.LocalSGD", model, None, codec, "fp32", feedback, comm, timeout, problem,
            every=str(every), outer=" ".join(repr(outer).split()),
        )  # fmt: skip
        assert outer is not None
        self.every, self.outer, self.steps = every, outer, 0
        self._model = model
        broadcast_parameters(model, comm=self.comm)
        self._starts = [p.detach().clone() for _, p in self._parameters]

    def _check(self, model: torch.nn.Module, every: int, outer: Any) -> None:
        tensors(model)
        if isinstance(model, DistributedDataParallel):
            raise InvalidArgumentError("model is of type DistributedDataParallel; accepted: the module in it")
        if not isinstance(every, int) or every < 1:
            raise InvalidArgumentError("every is %r; accepted: a number of steps" % (every,))
        groups = outer.param_groups if isinstance(outer, torch.optim.Optimizer) else []
        held = {id(p) for group in groups for p in group["params"]}
        missing = [name for name, p in self._parameters if id(p) not in held]
        if missing:
            raise InvalidArgumentError(
                "outer is of type %s and has not the parameter '%s'; accepted: an optimizer of all that are trained"
                % (type(outer).__name__, missing[0])
            )

    @torch.no_grad()
    def step(self) -> bool:
        """To be called after each step of the program's optimizer; every `every`-th call is the outer step and gives
        True. Collective."""
        self.steps += 1
        if self.steps % self.every != 0:
            return False
        gradients = [p.grad for _, p in self._parameters]
        for dtype in dict.fromkeys(p.dtype for _, p in self._parameters):
            self._average(dtype)
        self.outer.step()
        for (_, p), gradient, start in zip(self._parameters, gradients, self._starts):
            p.grad = gradient
            start.copy_(p)
        average(self._model.buffers(), Codec("fp32"), self.comm)
        return True

    def _average(self, dtype: Any) -> None:
        """Put the parameters of a dtype where the last outer step left them, and the average of what they have moved
        into their gradients."""
        found = [(p, start) for (_, p), start in zip(self._parameters, self._starts) if p.dtype == dtype]
        moved = torch.cat([reals(start - p).reshape(-1) for p, start in found])
        mean = self._exchanger.submit(moved, [p for p, _ in found]).wait()
        for (p, start), part in zip(found, mean.split([length(p) for p, _ in found])):
            p.grad = torch.empty_like(p)
            write(p.grad, part)
            p.copy_(start)

    def state_dict(self) -> Dict[str, Any]:
        """For a checkpoint: steps, the outer optimizer, the parameters of the last outer step, and on rank 0 all
        residuals. Parameters since then differ between ranks and are the program's to save. Collective."""
        starts = {name: start.clone() for (name, _), start in zip(self._parameters, self._starts)}
        return {"steps": self.steps, "outer": self.outer.state_dict(), "starts": starts, **super().state_dict()}

    def load_state_dict(self, state: Dict[str, Any], use: str = "sum") -> None:
        """Take back what state_dict() gave: on all ranks what rank 0 has saved; residuals as Hook.load_state_dict() does.
        The parameters of the model are left as they are. Collective."""
        outer, problem = self.outer.state_dict(), self._problem(state)
        asked = {} if problem else {"steps": state["steps"]}
        try:
            self._agree("thinwire.torch.LocalSGD.load_state_dict", asked, problem, PATIENCE, self._parameters)
            super().load_state_dict(state, use)
        except Error as error:
            self.outer.load_state_dict(outer)
            raise FormatError(str(error)) if isinstance(error, InvalidArgumentError) else error from None
        self.steps = state["steps"]
        for (name, _), start in zip(self._parameters, self._starts):
            start.copy_(state["starts"][name])

    def _problem(self, state: Any) -> str:
        """Why a state cannot be taken back, or "": then `outer` has its part."""
        if not isinstance(state, dict) or not {"steps", "outer", "starts"} <= state.keys():
            return "the state is none of LocalSGD's"
        steps, starts = state["steps"], state["starts"] if isinstance(state["starts"], dict) else {}
        for name, p in self._parameters:
            if getattr(starts.get(name), "shape", None) != p.shape:
                return "the state has no '%s' of the shape %s" % (name, tuple(p.shape))
        if not isinstance(steps, int) or steps < 0:
            return "the state has %r steps" % (steps,)
        try:
            self.outer.load_state_dict(state["outer"])
        except Exception as error:  # whatever torch has against it
            return "the state of outer: %s: %s" % (type(error).__name__, " ".join(str(error).split()))
        return ""
