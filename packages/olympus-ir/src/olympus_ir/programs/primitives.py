# SPDX-License-Identifier: Apache-2.0
"""Primitives, the instructions of olympusprs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

from ..diagnostics.errors import ReferenceOperandError
from ..loading import deferred
from ..types.avals import AbstractValue, ShapedArray, varying_axes
from ..types.effects import no_effects
from ..types.memory_spaces import MemorySpace, on_host, results_on_host
from .tracing import Trace, current, evaluation_trace

if TYPE_CHECKING:
    from . import layout_inference
else:
    layout_inference = deferred(".layout_inference", milliseconds=0.4)

_INFERENCE_CACHE_SIZE = 4096

_instruction_set: dict[str, Primitive] = {}


class Primitive:
    """Instruction with a name, a shape rule, and one or several results.

    The rule tables of the interpreters (`RuleTable`) define what a primitive computes, and how it
    is batched, differentiated or lowered.

    Args:
      name: the name in printed olympusprs.

    Example:
      >>> double_p = Primitive("double")
      >>> _ = double_p.def_abstract_eval(lambda x: x)
      >>> double_p
      double
    """

    multiple_results: bool = False
    # True if each element of the result depends only on the elements at the same position, up to
    # broadcasting. Batching, propagation and cost models follow from this flag.
    elementwise: bool = False
    # True if results vary over all mesh axes over which an operand varies. False for primitives
    # whose programs determine the result types, and for collectives that change the variation.
    spreads_varying: bool = True
    # True if results are in host memory whenever operands are. False for the same primitives as
    # `spreads_varying`.
    follows_memory: bool = True
    # True if operands may be references, as in calls and control flow.
    takes_refs: bool = False
    # Whether parameters hold programs or functions. Caches must not keep many such parameters.
    has_functions: bool = False

    def __init__(self, name: str) -> None:
        self.name = name
        # The name of the files that hold the primitive's rules.
        self.family = ""
        # Operands in which the primitive is linear: all (True), some (their indices) or none
        # (empty).
        self.linear_in: tuple[int, ...] | bool = ()
        # The function that evaluates the primitive eagerly. The evaluator sets it on first use.
        self.eager: Callable[..., Any] | None = None
        # The function set by `def_impl`, and the evaluator's function that it replaced.
        self._implementation: Callable[..., Any] | None = None
        self._eager_by_rules: Callable[..., Any] | None = None
        self._shape_rule: Callable[..., Any] | None = None
        self._inferred: dict[tuple, tuple[tuple[AbstractValue, ...], frozenset]] = {}

    @classmethod
    def declare(
        cls,
        name: str,
        *,
        multiple_results: bool = False,
        family: str = "",
        cache_inference: bool = True,
    ) -> Self:
        """Makes a primitive of this library.

        Args:
          name: the name in printed olympusprs.
          multiple_results: whether `bind` returns a list of results rather than a single result.
          family: the name of the files that hold the primitive's rules.
          cache_inference: whether inferred types are cached. False for primitives with programs as
            parameters, because the cache would keep the programs alive.
        """
        primitive = cls(name)
        primitive._configure(multiple_results, family, cache_inference)
        return primitive

    def _configure(self, multiple_results: bool, family: str, cache_inference: bool) -> None:
        """Sets the options of `declare`."""
        self.family = family
        if multiple_results:
            self.multiple_results = True
        if not cache_inference:
            self.takes_refs = self.has_functions = True
            self.infer = self._infer_anew  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        if _instruction_set.get(self.name) is self:
            return (instruction, (self.name,))
        return super().__reduce__()

    @property
    def is_instruction(self) -> bool:
        """True if the primitive belongs to the instruction set and not to a library."""
        return _instruction_set.get(self.name) is self

    # ---- application ----

    def bind(self, *args: Any, **params: Any) -> Any:
        """Applies the primitive under the current interpreter."""
        return current.trace.process_primitive(self, args, params)

    def bind_with_trace(
        self, trace: Trace, args: Sequence[Any], params: Any, params_after_avals: Any = None, /
    ) -> Any:
        """Applies the primitive under a given interpreter.

        Args:
          trace: the interpreter.
          args: the operands.
          params: the parameters. As in JAX, the operands' types may come before the parameters.
        """
        return trace.process_primitive(
            self, args, params if params_after_avals is None else params_after_avals
        )

    # `(operands, params) -> results` applies an equation again if `bind(*operands, **params)`
    # cannot, for example for calls whose parameters hold programs in place of functions. This
    # function replaces `bind`, not a rule of an interpreter, so it is a member and not in a rule
    # table.
    bind_equation: Callable[[Sequence[Any], dict[str, Any]], Sequence[Any]] | None = None

    # ---- types ----

    def abstract_eval(self, *avals: Any, **params: Any) -> tuple[Any, frozenset]:
        """Returns the result's type (or the types of several results), and the effects."""
        results, effects = self._infer_anew(avals, params)
        return (list(results) if self.multiple_results else results[0]), effects

    @property
    def has_shape_rule(self) -> bool:
        """True if the types of results can be inferred."""
        return self._shape_rule is not None

    def def_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Sets the shape rule, a function from abstract operands and parameters to result types."""
        self._inferred.clear()

        def shape_rule(*avals: Any, **params: Any) -> Any:
            return self._several(rule(*avals, **params)), no_effects

        self._shape_rule = shape_rule
        return rule

    def _several(self, results: Any) -> tuple[AbstractValue, ...]:
        """Returns the types from a shape rule as a tuple."""
        if isinstance(results, tuple | list) is not self.multiple_results:
            raise ValueError(
                f"{self.name}.abstract_eval() method should return a tuple or a list iff "
                f"{self.name}.multiple_results, which is {self.multiple_results}; got {results!r}."
            )
        return tuple(results) if self.multiple_results else (results,)

    def def_effectful_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Sets a shape rule that returns the results' types and the set of effects."""
        self._inferred.clear()

        def shape_rule(*avals: Any, **params: Any) -> Any:
            out, effects = rule(*avals, **params)
            return self._several(out), frozenset(effects)

        self._shape_rule = shape_rule
        return rule

    def infer(
        self, avals: tuple[AbstractValue, ...], params: dict[str, Any]
    ) -> tuple[tuple[AbstractValue, ...], frozenset]:
        """Returns the types of the results and the effects, cached if possible."""
        key = (avals, *params.items()) if params else avals
        try:
            return self._inferred[key]
        except KeyError:
            pass
        except TypeError:
            # Parameters of third-party primitives need not be hashable.
            if _instruction_set.get(self.name) is not self:
                return self._infer_anew(avals, params)
            _check_hashable(self, params)
            raise
        inferred = self._infer_anew(avals, params)
        if len(self._inferred) >= _INFERENCE_CACHE_SIZE:
            self._inferred.clear()
        self._inferred[key] = inferred
        return inferred

    def forget_types(self) -> None:
        """Empties the cache of inferred types, after a setting that a rule reads has changed."""
        self._inferred.clear()

    def refusal(self, avals: tuple[AbstractValue, ...], params: dict[str, Any]) -> Exception | None:
        """Returns the error that operands of the given types raise; None if they are accepted.

        Rules of transformations may fail earlier, with errors about other types or none.
        """
        try:
            self.infer(avals, params)
        except (IndexError, TypeError, ValueError) as error:
            return error
        return None

    def _infer_anew(
        self, avals: tuple[AbstractValue, ...], params: dict[str, Any]
    ) -> tuple[tuple[AbstractValue, ...], frozenset]:
        if self._shape_rule is None:
            raise NotImplementedError(
                f"Abstract evaluation for '{self.name}' not implemented. "
                f"Define a shape rule with `{self.name}_p.def_abstract_eval`, or an expansion with "
                "olympus_ir's `expansion_rules.define`."
            )
        if not self.takes_refs:
            self.refuse_references(avals)
        for aval in avals:
            if aval.layout is not None:
                return layout_inference.infer_with_layouts(self, avals, params)
        if ("sharding" in params and params["sharding"] is not None) or (
            "out_sharding" in params and params["out_sharding"] is not None
        ):
            return layout_inference.infer_with_layouts(self, avals, params)
        return self._infer_plain(avals, params)

    def refuse_references(self, avals: Iterable[AbstractValue]) -> None:
        """Raises if an operand is a reference, because references must be read first."""
        for aval in avals:
            if getattr(aval, "is_ref", False):
                raise ReferenceOperandError(
                    f"Attempting to pass a Ref {aval.str_short()} to a primitive: {self.name} "
                    "-- did you forget to unpack ([...]) the ref?"
                )

    def _infer_plain(
        self, avals: tuple[AbstractValue, ...], params: dict[str, Any]
    ) -> tuple[tuple[AbstractValue, ...], frozenset]:
        """Infers the types of results for operands without layouts."""
        if self.follows_memory and self.spreads_varying and on_host(avals):
            plain = tuple(
                aval.update(memory_space=MemorySpace.Device)
                if isinstance(aval, ShapedArray)
                else aval
                for aval in avals
            )
            results, effects = self._infer_plain(plain, params)
            return results_on_host(self, avals, results), effects
        if self.spreads_varying:
            varying = varying_axes(avals)
            if varying:
                return self._infer_varying(avals, params, varying)
        return self._shape_rule(*avals, **params)  # type: ignore[misc]

    def _infer_varying(
        self, avals: tuple[AbstractValue, ...], params: dict[str, Any], varying: frozenset
    ) -> tuple[tuple[AbstractValue, ...], frozenset]:
        """Infers types of results that vary over every mesh axis over which an operand varies."""
        plain = [
            aval.update(vma=frozenset()) if isinstance(aval, ShapedArray) and aval.vma else aval
            for aval in avals
        ]
        results, effects = self._shape_rule(*plain, **params)  # type: ignore[misc]
        results = tuple(
            [
                aval.update(vma=varying) if isinstance(aval, ShapedArray) else aval
                for aval in results
            ]
        )
        return results, effects

    # ---- evaluation by functions of third parties ----

    @property
    def impl(self) -> Callable[..., Any]:
        """Returns the function that evaluates the primitive on concrete values."""
        return self._implementation or self._evaluate_by_rules

    @impl.setter
    def impl(self, implementation: Callable[..., Any]) -> None:
        self.def_impl(implementation)

    def def_impl(self, implementation: Callable[..., Any]) -> Callable[..., Any]:
        """Sets the function that evaluates the primitive on concrete values.

        The new function may call the previous value of `impl`. That value may also be set again.
        """
        if self._implementation is None:
            self._eager_by_rules = self.eager
        if implementation == self._evaluate_by_rules:
            self._implementation, self.eager = None, self._eager_by_rules
        else:
            self._implementation = self.eager = implementation
        return implementation

    def _evaluate_by_rules(self, *args: Any, **params: Any) -> Any:
        """Evaluates the primitive on concrete values by its rules, even if `impl` was replaced."""
        implementation = self._implementation
        if implementation is None:
            return evaluation_trace.process_primitive(self, args, params)
        if self._eager_by_rules is not None:
            return self._eager_by_rules(*args, **params)
        self.eager = None
        try:
            return evaluation_trace.process_primitive(self, args, params)
        finally:
            self._eager_by_rules, self.eager = self.eager, implementation


def _check_hashable(primitive: Primitive, params: dict[str, Any]) -> None:
    for name, value in params.items():
        try:
            hash(value)
        except TypeError:
            raise TypeError(
                f"parameter `{name}` of `{primitive.name}` must be hashable, got {value!r} of "
                f"type {type(value).__name__}"
            ) from None


def instruction(name: str, **attributes: Any) -> Primitive:
    """Declares a primitive of the instruction set, or returns the existing one."""
    if not attributes:
        if name not in _instruction_set:
            primitives()  # this call also declares the rarely used primitives
        return _instruction_set[name]
    if name in _instruction_set:
        raise ValueError(f"the instruction set has a primitive named {name!r} already")
    primitive = _instruction_set[name] = Primitive.declare(name, **attributes)
    return primitive


def add_to_instruction_set(primitive: Primitive) -> Primitive:
    """Adds an instance of a subclass of `Primitive` to the instruction set."""
    if primitive.name in _instruction_set:
        raise ValueError(f"the instruction set has a primitive named {primitive.name!r} already")
    _instruction_set[primitive.name] = primitive
    return primitive


def primitives() -> tuple[Primitive, ...]:
    """Returns all primitives of the instruction set, in order of declaration.

    The primitives of other packages, of linear algebra and of references are declared when their
    modules are imported.
    """
    for declare in _late_declarations:
        declare()
    return declared_primitives()


# Functions that import the rarely used modules of the instruction set.
_late_declarations: list[Callable[[], None]] = []


def add_late_declarations(declare: Callable[[], None]) -> None:
    """Adds a function that imports modules in which primitives are declared.

    `primitives` calls the function. `instruction` calls the function if a name is unknown.
    """
    _late_declarations.append(declare)


def declared_primitives() -> tuple[Primitive, ...]:
    """Returns the primitives of the instruction set that have been declared so far."""
    return tuple(_instruction_set.values())
