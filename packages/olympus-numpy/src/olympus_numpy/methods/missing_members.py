# SPDX-License-Identifier: Apache-2.0
"""Errors for members that arrays do not have; the messages show the code to write instead."""

from __future__ import annotations

from olympus_ir.diagnostics.suggestions import hint
from olympus_ir.programs.tracing import Tracer

__all__ = ["MissingMemberError", "missing_member"]

_NEW = "arrays are immutable; use "
_DEVICE = "use `olympus.device_put(x, olympus.devices({!r})[0])`"

# Advice for members of the arrays of PyTorch, NumPy and TensorFlow.
_HABITS = {
    "append": "use `olympus.numpy.append(x, values)`, which returns a new array",
    "backward": "use `olympus.grad` of the function that computes the value",
    "bool": "use `x.astype(bool)`",
    "contiguous": "arrays are always contiguous",
    "cpu": _DEVICE.format("cpu"),
    "cuda": _DEVICE.format("cuda"),
    "detach": "use `olympus.lax.stop_gradient(x)`",
    "dim": "use `x.ndim`",
    "double": "use `x.astype('float64')`",
    "expand": "use `olympus.numpy.broadcast_to(x, shape)`",
    "extend": "use `olympus.numpy.concatenate`",
    "fill": f"{_NEW}`olympus.numpy.full_like(x, value)`",
    "float": "use `x.astype('float32')`",
    "grad": "arrays do not record gradients: use `olympus.grad` of a function",
    "grad_fn": "arrays do not record gradients: use `olympus.grad` of a function",
    "half": "use `x.astype('float16')`",
    "int": "use `x.astype('int32')`",
    "itemset": f"{_NEW}`x.at[index].set(value)`",
    "long": "use `x.astype('int32')`",
    "masked_fill": "use `olympus.numpy.where(mask, value, x)`",
    "numel": "use `x.size`",
    "numpy": "use `numpy.asarray(x)`",
    "permute": "use `x.transpose(axes)`",
    "put": f"{_NEW}`x.at[index].set(value)`",
    "requires_grad": "arrays do not record gradients: use `olympus.grad` of a function",
    "requires_grad_": "arrays do not record gradients: use `olympus.grad` of a function",
    "resize": f"{_NEW}`olympus.numpy.resize(x, shape)`",
    "setflags": f"{_NEW}`numpy.array(x)` for a copy that can be written",
    "setfield": f"{_NEW}`x.at[index].set(value)`",
    "softmax": "use `olympus.nn.softmax(x)`",
    "t": "use `x.T`",
    "to": "use `x.astype(dtype)` to convert elements, `olympus.device_put(x, device)` to move them",
    "tofile": "use `numpy.asarray(x).tofile(file)`",
    "type": "use `x.astype(dtype)`",
    "unsqueeze": "use `olympus.numpy.expand_dims(x, axis)` or `x[None]`",
    "zero_": f"{_NEW}`olympus.numpy.zeros_like(x)`",
    **{
        f"{name}_": f"{_NEW}`x = x {symbol} y`"
        for name, symbol in (("add", "+"), ("sub", "-"), ("mul", "*"), ("div", "/"))
    },
    **{name: f"{_NEW}`x.at[index].{name}(value)`" for name in ("index_add", "scatter_add")},
}


_CONCRETE_METHODS = frozenset(
    (
        *("addressable_data", "block_until_ready", "copy_to_host_async", "delete", "devices"),
        *("is_deleted", "is_ready", "on_device_size_in_bytes", "unsafe_buffer_pointer"),
    )
)
# Ends of the error messages about members that only concrete arrays have.
_QUERIES = {
    "device": ". A program does not know its devices while it is traced",
    "sharding": ". To query sharding information on tracers, use `olympus.typeof(x).sharding`",
}


class MissingMemberError(AttributeError):
    """Error about a member that arrays do not have.

    Programs look up many members that arrays do not have, by `hasattr` and `getattr` with a
    default. The suggestion is therefore searched for only when the message is read.
    """

    def __init__(self, kind: type, name: str) -> None:
        text = f"{kind.__name__.rpartition('.')[2]!r} object has no attribute {name!r}"
        super().__init__(text, name=name)
        self._kind = kind

    def __str__(self) -> str:
        text, name = self.args[0], str(self.name)
        if issubclass(self._kind, Tracer):
            if name in _CONCRETE_METHODS:
                return f"The {name!r} method is not available on traced arrays"
            if hasattr(self._kind, name):  # a member of concrete arrays
                text = f"The {name!r} attribute is not available on traced arrays"
                return text + _QUERIES.get(name, "")
        return text if name[0] == "_" else text + hint(name, dir(self._kind), _HABITS)

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return AttributeError, (str(self),)


# Tracebacks show the name that users catch.
MissingMemberError.__qualname__ = MissingMemberError.__name__ = "AttributeError"
MissingMemberError.__module__ = "builtins"


def missing_member(kind: type, name: str) -> AttributeError:
    """Returns the error for a member that a class of arrays does not have.

    Args:
      kind: the class.
      name: the name of the member.

    Example:
      >>> print(missing_member(type("Array", (), {}), "detach"))
      'Array' object has no attribute 'detach'; use `olympus.lax.stop_gradient(x)`
    """
    return MissingMemberError(kind, name)
