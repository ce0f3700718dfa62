# SPDX-License-Identifier: Apache-2.0
"""`RuleTable`, which maps primitives to rules. All registries in OLYMPUS are rule tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..diagnostics.errors import MissingRuleError
from ..loading import deferred, imported

if TYPE_CHECKING:
    import pkgutil

    from .primitives import Primitive
else:
    pkgutil = deferred("pkgutil", milliseconds=0.9)

Rule = TypeVar("Rule")

all_tables: dict[str, RuleTable] = {}


class RuleTable(Generic[Rule]):
    """Table of the rules by which one interpreter handles each primitive.

    A table loads its rules on demand. It knows the folder of its rule files, and each primitive
    knows its family. A look-up that finds no rule first imports the family's rule file. If this
    file defines no rule, the table may derive one from the primitive's declaration.

    A table rejects a second rule for a primitive. A primitive that needs no rule, or cannot have
    one, gets an exemption with a reason. The error for a missing rule names the file to edit.

    Args:
      name: a noun for the rules, such as ``"batching"``.
      package: the import name of the package that keeps the rules.
      folder: the package's folder of rule files, with dots between nested folders. There is one
        file for each family of primitives. None if the rules are defined next to the primitives, so
        that no file is loaded.
      missing: the first words of the error for a missing rule, with ``{}`` for the primitive's
        name.
      expands: whether the interpreter runs the expansion of a primitive without a rule.

    Attributes:
      rules: the rules loaded so far. Hot paths read this dictionary directly, and call `find` after
        a miss.
      exemptions: the primitives without a rule, and the reasons.
      derived: for each derived rule, a description of its source.
      replaced: the primitives of the instruction set whose rules other code has replaced. Such
        rules are not in OLYMPUS's source files, so no digest of these files covers them.

    Example:
      >>> from olympus_ir import lax
      >>> table = RuleTable("cost", package="my_package")
      >>> table.define(lax.sin_p, lambda x: 1)
      >>> table[lax.sin_p](None)
      1
    """

    def __init__(
        self,
        name: str,
        *,
        package: str,
        folder: str | None = "rules",
        missing: str | None = None,
        expands: bool = False,
    ) -> None:
        self.name = name
        self._missing = missing or f"{name.capitalize()} rule for '{{}}' not implemented"
        self.expands = expands
        self.package = package
        self.folder = folder
        self.rules: dict[Primitive, Rule] = {}
        self.exemptions: dict[Primitive, str] = {}
        self.derived: dict[Primitive, str] = {}
        self.replaced: set[Primitive] = set()
        self._derivations: dict[str, Callable[[Primitive], Rule | None]] = {}
        self._loaded: set[str] = set()
        all_tables[f"{package}.{name}"] = self

    # ---- definition ----

    def define(self, primitive: Primitive, rule: Rule | None = None, *, derived: str = "") -> Any:
        """Sets the rule of a primitive; without ``rule``, returns a decorator.

        Args:
          primitive: the primitive.
          rule: the rule.
          derived: for a derived rule, a description of its derivation.

        Raises:
          ValueError: the primitive already has a rule or an exemption.
        """
        if rule is None:
            return lambda function: (self.define(primitive, function, derived=derived), function)[1]
        if primitive in self.rules and self.derived.get(primitive) not in self._derivations:
            raise ValueError(
                f"{primitive.name} has a {self.name} rule already: {self.rules[primitive]}. "
                "A primitive has one rule in each table; assign to table[primitive] to replace it."
            )
        if primitive in self.exemptions:
            raise ValueError(
                f"{primitive.name} is exempt from {self.name} ({self.exemptions[primitive]}); "
                "remove the exemption before you define a rule."
            )
        self.rules[primitive] = rule
        self.derived.pop(primitive, None)
        if derived:
            self.derived[primitive] = derived
        if self.folder is not None and primitive.family in self._loaded:
            self._note_replaced(primitive)
        return None

    def exempt(self, primitive: Primitive, *, reason: str) -> None:
        """Exempts a primitive from having a rule, for a reason."""
        if not reason.strip():
            raise ValueError(f"the exemption of {primitive.name} from {self.name} needs a reason")
        if primitive in self.rules:
            raise ValueError(
                f"{primitive.name} has a {self.name} rule, so it cannot be exempt from having one"
            )
        self.exemptions[primitive] = reason

    def derive(
        self, source: str, make: Callable[[Primitive], Rule | None] | None = None
    ) -> Callable[..., Any]:
        """Adds a derivation: a function that makes the rules of primitives from their declarations.

        Args:
          source: a description of the derivation, which `derived` records for each rule.
          make: a function that returns the rule of a primitive, or None if it cannot derive one.
            Without ``make``, `derive` returns a decorator.
        """
        if make is None:
            return lambda function: self.derive(source, function)
        self._derivations[source] = make
        return make

    # ---- look-up ----

    def find(self, primitive: Primitive) -> Rule | None:
        """Returns the primitive's rule, loaded or derived if needed; None if there is none."""
        rule = self.rules.get(primitive)
        if rule is None:
            self.load(primitive.family)
            rule = self.rules.get(primitive)
            if rule is None and self._derivations:
                rule = self._derive(primitive)
        return rule

    def _derive(self, primitive: Primitive) -> Rule | None:
        if primitive in self.exemptions:
            return None
        for source, make in self._derivations.items():
            rule = make(primitive)
            if rule is not None:
                self.derived[primitive] = source
                self.rules[primitive] = rule
                return rule
        return None

    def load(self, family: str) -> None:
        """Imports the rule file of a family, if the package has one."""
        if family in self._loaded:
            return
        module = None
        if family and self.folder is not None:
            module = _import_if_present(f"{self.package}.{self.folder}.{family}")
        # The family counts as loaded only after the import, so that other threads wait for it, too.
        if not getattr(getattr(module, "__spec__", None), "_initializing", False):
            self._loaded.add(family)

    def load_all(self) -> None:
        """Imports all rule files of the table's folder."""
        folder = None
        if self.folder is not None:
            folder = _import_if_present(f"{self.package}.{self.folder}")
        if folder is not None:
            for module in pkgutil.iter_modules(folder.__path__):
                self.load(module.name)

    def __getitem__(self, primitive: Primitive) -> Rule:
        rule = self.find(primitive)
        if rule is None:
            raise self.missing(primitive)
        return rule

    def __setitem__(self, primitive: Primitive, rule: Rule) -> None:
        """Defines or replaces a rule, for third parties that use the table as a dictionary."""
        # Without the import, a later import would define the replaced rule again.
        self.load(primitive.family)
        self.exemptions.pop(primitive, None)
        self.derived.pop(primitive, None)
        self.rules[primitive] = rule
        self._note_replaced(primitive)

    def __delitem__(self, primitive: Primitive) -> None:
        self.load(primitive.family)
        del self.rules[primitive]
        self._note_replaced(primitive)

    def _note_replaced(self, primitive: Primitive) -> None:
        if primitive.is_instruction:
            self.replaced.add(primitive)

    def __contains__(self, primitive: object) -> bool:
        return primitive in self.rules or self.find(primitive) is not None  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Primitive]:
        self.load_all()
        return iter(self.rules)

    def __len__(self) -> int:
        self.load_all()
        return len(self.rules)

    def get(self, primitive: Primitive, default: Any = None) -> Any:
        rule = self.find(primitive)
        return default if rule is None else rule

    def items(self) -> Any:
        self.load_all()
        return self.rules.items()

    def pop(self, primitive: Primitive, *default: Any) -> Any:
        self.load(primitive.family)
        self._note_replaced(primitive)
        return self.rules.pop(primitive, *default)

    # ---- completeness ----

    def missing(self, primitive: Primitive, circumstance: str = "") -> MissingRuleError:
        """Returns the error for a primitive without a rule; the message says how to add one.

        Args:
          primitive: the primitive.
          circumstance: the context in which the rule is missing, such as ``"for platform cpu"``.
        """
        subject = f"{self._missing.format(primitive.name)} {circumstance}".rstrip()
        message = f"{subject}: `{primitive.name}` has no {self.name} rule"
        reason = self.exemptions.get(primitive)
        if reason:
            return MissingRuleError(f"{message}: {reason}.")
        if primitive.family and self.folder is not None:
            folder = self.folder.replace(".", "/")
            advice = f"Add one to {self.package}/{folder}/{primitive.family}.py"
        else:
            advice = f"Define one with {self.package}'s `{self.name}_rules.define`"
        if self.expands:
            advice += ", define an expansion with olympus_ir's `expansion_rules.define`,"
        return MissingRuleError(f"{message}. {advice} or exempt it with a reason.")

    def holes(self, primitives: Any) -> list[str]:
        """Returns sentences about missing and surplus entries; none if the table is complete."""
        problems = [
            str(self.missing(primitive))
            for primitive in primitives
            if primitive not in self and primitive not in self.exemptions
        ]
        for primitive, reason in self.exemptions.items():
            if primitive in self.rules:
                problems.append(f"`{primitive.name}` is exempt from {self.name} and has a rule.")
            if not reason.strip():
                problems.append(f"The exemption of `{primitive.name}` has no reason.")
        return problems


def _import_if_present(name: str) -> ModuleType | None:
    """Imports a rule file; returns None if the package has none for the family."""
    try:
        return imported(name)
    except ModuleNotFoundError as error:
        if not f"{name}.".startswith(f"{error.name}."):  # an import inside the module failed
            raise
        return None
