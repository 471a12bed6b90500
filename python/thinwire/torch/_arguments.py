# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/torch/_arguments.py - what the collectives of a process group are given: by torch.distributed lists and
options, by a program that calls the group itself also a tensor, a ReduceOp, the number of a root. What is wrong raises
before anything is sent, with words that programs, and torch's tests, know from gloo.
"""
from typing import Any, List, Sequence

import torch


def _list(tensors: Any) -> List[Any]:
    return [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)


def alike(what: str, tensors: Any) -> List[Any]:
    """Several tensors of one layout, type and size, which a call combines, or one."""
    found = _list(tensors)
    if not found:
        raise RuntimeError("thinwire: %s requires non-empty tensor list" % what)
    same(what, found[0], found)
    return found


def single(what: str, tensors: Any, kind: str = "tensor list") -> Any:
    """The one tensor, or list, of a list that has no more."""
    found = _list(tensors)
    if len(found) != 1:
        raise RuntimeError("thinwire: %s requires a single-element %s, not one of %d" % (what, kind, len(found)))
    return found[0]


def same(what: str, tensor: Any, others: Sequence[Any], sizes: bool = True) -> None:
    """Whether tensors are as one is; sizes: also as large."""
    for index, other in enumerate(others):
        if other.layout != tensor.layout:
            raise RuntimeError("thinwire: %s: invalid tensor layout at index %d: %s" % (what, index, other.layout))
        if other.dtype != tensor.dtype:
            raise RuntimeError("thinwire: %s: invalid tensor type at index %d: %s, not %s" % (what, index, other.dtype, tensor.dtype))
        if sizes and other.shape.numel() != tensor.shape.numel():
            counts = other.shape.numel(), tensor.shape.numel()
            raise RuntimeError("thinwire: %s: invalid tensor size at index %d: %d elements, not %d" % (what, index, *counts))


def root_of(what: str, opts: Any, ranks: int) -> int:
    """Of options, or a number; None: 0."""
    root = getattr(opts, "rootRank", opts)
    root = 0 if root is None else root
    if not isinstance(root, int) or not 0 <= root < ranks:
        raise RuntimeError("thinwire: %s: invalid root rank %s; accepted: 0 to %d" % (what, root, ranks - 1))
    return root


def of_root(what: str, lists: Any, tensor: Any, ranks: int, here: bool, way: str) -> List[Any]:
    """The tensors that the root alone has, one for each rank, each as `tensor` is. way: "input" or "output"."""
    if not here:
        if _list(lists) and _list(lists)[0]:
            raise RuntimeError("thinwire: %s requires empty %s on non-root" % (what, way))
        return []
    found = list(single(what, [lists] if lists and isinstance(lists[0], torch.Tensor) else lists, way + " list"))
    if len(found) != ranks:
        said = "Incorrect %s list size %d. %s list size should be %d" % (way, len(found), way.capitalize(), ranks)
        raise RuntimeError("thinwire: %s: %s" % (what, said))
    same(what, tensor, found)
    return found


def of_ranks(what: str, lists: Sequence[Any], tensors: Sequence[Any], ranks: int) -> List[List[Any]]:
    """For each tensor those of all ranks, of its type and size, from lists that have for each rank all tensors."""
    if len(lists) != ranks or any(len(outs) != len(tensors) for outs in lists):
        raise RuntimeError("thinwire: %s: output lists should be equal to world size, each as long as the input list" % what)
    found = [[outs[k] for outs in lists] for k in range(len(tensors))]
    for outs, tensor in zip(found, tensors):
        same(what, tensor, outs, sizes=False)
        for index, out in enumerate(outs):
            if out.numel() != tensor.numel():
                raise RuntimeError("thinwire: %s: invalid size of output tensor at index %d" % (what, index))
    return found
