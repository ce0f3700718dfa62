# SPDX-License-Identifier: Apache-2.0
"""`RuleTable`: from primitive to rule, the only type of registry in OLYMPUS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..diagnostics.errors import MissingRuleError

if TYPE_CHECKING:
    from .primitives import Primitive

Rule = TypeVar("Rule", bound=Callable[..., Any])

all_tables: dict[str, RuleTable] = {}


class RuleTable(Generic[Rule]):
    """What one interpreter does with each primitive.

    A table refuses a second rule for a primitive, and a lookup that finds none says which file to
    edit. A primitive for which a rule would make no sense is exempted, with the reason.

    Args:
      name: what the rules are, as a noun, such as ``"batching"``.
      package: the import name of the package that keeps the rules.
      folder: where in the package the rule files lie.
      missing: what is said of a primitive without a rule, with ``{}`` for its name.

    Example:
      >>> from olympus_ir import lax
      >>> table = RuleTable("cost", package="my_package")
      >>> table.define(lax.sin_p, lambda x: 1)
      >>> table[lax.sin_p](None)
      1
    """

    def __init__(
        self, name: str, *, package: str, folder: str = "rules", missing: str | None = None
    ) -> None:
        self.name = name
        self._missing = missing or f"{name.capitalize()} rule for '{{}}' not implemented"
        self.package = package
        self.folder = folder
        self.rules: dict[Primitive, Rule] = {}
        self.exemptions: dict[Primitive, str] = {}
        self.derived: dict[Primitive, str] = {}
        all_tables[f"{package}.{name}"] = self

    def define(self, primitive: Primitive, rule: Rule | None = None, *, derived: str = "") -> Any:
        """Gives a primitive its rule; without ``rule``, returns a decorator.

        Args:
          primitive: the primitive.
          rule: the rule.
          derived: how the rule follows from something else, where it does.

        Raises:
          ValueError: where the primitive has a rule or an exemption already.
        """
        if rule is None:
            return lambda function: (self.define(primitive, function, derived=derived), function)[1]
        if primitive in self.rules:
            raise ValueError(
                f"{primitive.name} has a {self.name} rule already: {self.rules[primitive]}. "
                "A primitive has one rule in each table; assign to table[primitive] to replace it."
            )
        if primitive in self.exemptions:
            raise ValueError(
                f"{primitive.name} is exempt from {self.name} ({self.exemptions[primitive]}); "
                "remove the exemption before giving a rule."
            )
        self.rules[primitive] = rule
        if derived:
            self.derived[primitive] = derived
        return None

    def exempt(self, primitive: Primitive, *, reason: str) -> None:
        """States that a primitive has no rule here, and why."""
        if not reason.strip():
            raise ValueError(f"the exemption of {primitive.name} from {self.name} needs a reason")
        if primitive in self.rules:
            raise ValueError(f"{primitive.name} has a {self.name} rule, so it cannot be exempt")
        self.exemptions[primitive] = reason

    def __getitem__(self, primitive: Primitive) -> Rule:
        try:
            return self.rules[primitive]
        except KeyError:
            raise self.missing(primitive) from None

    def __setitem__(self, primitive: Primitive, rule: Rule) -> None:
        """Defines a rule or replaces the one there is: for third parties' dictionaries."""
        self.exemptions.pop(primitive, None)
        self.derived.pop(primitive, None)
        self.rules[primitive] = rule

    def __delitem__(self, primitive: Primitive) -> None:
        del self.rules[primitive]

    def __contains__(self, primitive: object) -> bool:
        return primitive in self.rules

    def __iter__(self) -> Iterator[Primitive]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def get(self, primitive: Primitive, default: Any = None) -> Any:
        return self.rules.get(primitive, default)

    def items(self) -> Any:
        return self.rules.items()

    def pop(self, primitive: Primitive, *default: Any) -> Any:
        return self.rules.pop(primitive, *default)

    def missing(self, primitive: Primitive) -> MissingRuleError:
        """The error for a primitive without a rule: says what to do."""
        what = self._missing.format(primitive.name)
        reason = self.exemptions.get(primitive)
        if reason:
            return MissingRuleError(
                f"{what}: `{primitive.name}` has no {self.name} rule: {reason}."
            )
        if primitive.family:
            where = f"Add one to {self.package}/{self.folder}/{primitive.family}.py"
        else:
            where = f"Define one with {self.package}'s `{self.name}_rules.define`"
        return MissingRuleError(
            f"{what}: `{primitive.name}` has no {self.name} rule. {where} or exempt it with a "
            "reason."
        )

    def holes(self, primitives: Any) -> list[str]:
        """What is wrong with the table, in sentences; empty where it is complete."""
        primitives = list(primitives)
        problems = [
            str(self.missing(primitive))
            for primitive in primitives
            if primitive not in self.rules and primitive not in self.exemptions
        ]
        for primitive, reason in self.exemptions.items():
            if primitive in self.rules:
                problems.append(f"`{primitive.name}` is exempt from {self.name} and has a rule.")
            if not reason.strip():
                problems.append(f"The exemption of `{primitive.name}` gives no reason.")
        return problems
