# SPDX-License-Identifier: Apache-2.0
"""Lowered and compiled programs of flat operands, on which the stages of `stages` stand.

A stage adds the structure of arguments and results. Libraries take the flat programs out of one
stage, and make another stage of them that has another structure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from olympus_ir.programs.calls.traced_programs import TracedProgram

from .._jaxlib import hlo_module_cost_analysis, hlo_text_with_origins, xla_computation
from ..arrays.layouts import Format, Layout
from ..compiling import compile_report
from ..compiling.lowering import mlir
from ..compiling.lowering.lowered import Lowered as LoweredModule
from ..compiling.placement.placements import Placement, platform_of
from . import compiled as compiled_programs
from .compiled_call import check_operands, make_compiled_call, run_flat

if TYPE_CHECKING:
    from .stages import Traced

__all__ = ["FlatExecutable", "Lowering"]

_DIALECTS = ("stablehlo", "hlo")


class Lowering:
    """A program lowered to StableHLO.

    Attributes:
      traced: the stage that was lowered.
      lowered: the module.
      placement: the devices, shardings and layouts.
    """

    __slots__ = ("lowered", "placement", "traced")

    def __init__(self, traced: Traced, lowered: LoweredModule, placement: Placement) -> None:
        self.traced = traced
        self.lowered = lowered
        self.placement = placement

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """Returns the module as text; see `stages.Lowered.as_text`."""
        if dialect is None or dialect == "stablehlo":
            with mlir.lowering_lock:
                return self.lowered.module.operation.get_asm(enable_debug_info=debug_info)
        computation = self.compiler_ir(dialect)
        return hlo_text_with_origins(computation) if debug_info else computation.as_hlo_text()

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """Returns the module as an object; see `stages.Lowered.compiler_ir`."""
        if dialect is None or dialect == "stablehlo":
            return mlir.with_dialect_classes(self.lowered.module)
        if dialect == "hlo":
            return xla_computation(mlir.bytecode(self.lowered.module))
        raise ValueError(f"unknown dialect: {dialect}; there are {', '.join(_DIALECTS)}")

    def cost_analysis(self) -> dict[str, float]:
        """Estimates costs such as ``flops`` and ``bytes accessed``, before optimization."""
        client = self.placement.devices[0].client
        return hlo_module_cost_analysis(client, self.compiler_ir("hlo"))

    def compile(
        self,
        compiler_options: dict[str, Any] | None = None,
        *,
        device_assignment: Sequence[Any] | None = None,
    ) -> FlatExecutable:
        """Compiles the module; see `stages.Lowered.compile`."""
        traced = self.traced
        options = {**dict(traced._options.compiler_options), **(compiler_options or {})}
        placement, lowered = self.placement, self.lowered
        if device_assignment is not None and tuple(device_assignment) != placement.devices:
            raise ValueError(
                "device_assignment passed to `.compile` must match the devices of the arguments' "
                f"shardings and of out_shardings. Got devices {list(device_assignment)}, and the "
                f"program is placed on {list(placement.devices)}."
            )
        platform = platform_of(placement.devices[0])
        if platform not in lowered.platforms:
            raise ValueError(
                f"the program was lowered for {', '.join(lowered.platforms)} and cannot be "
                f"compiled for {platform}; lower it with lowering_platforms=({platform!r},)"
            )
        if len(lowered.platforms) > 1:
            lowered = traced._lower_for((platform,), placement)
        compiled = compiled_programs.compile_lowered(
            lowered, placement, compiler_options=options, is_inspected=True
        )
        return FlatExecutable(traced._program, compiled)


class FlatExecutable:
    """An executable of flat operands.

    Attributes:
      program: the traced program.
      compiled: the executable of arrays.
    """

    __slots__ = ("compiled", "program")

    def __init__(self, program: TracedProgram, compiled: compiled_programs.Compiled) -> None:
        self.program = program
        self.compiled = compiled

    @property
    def operand_avals(self) -> Sequence[Any]:
        """The types of the operands, without values that the function closes over."""
        return self.program.closed.in_avals[len(self.program.hoisted) :]

    @property
    def out_avals(self) -> Sequence[Any]:
        """The types of the results."""
        return self.program.closed.out_avals

    def call(self, *operands: Any) -> list[Any]:
        """Runs the executable.

        Raises:
          TypeError: there are too many or too few operands, or they have other types than those for
            which the program was compiled.
          ValueError: the operands have other shardings.
        """
        check_operands(self.program, self.compiled, operands)
        return list(run_flat(self.program, self.compiled, operands))

    def create_call(
        self, in_tree: Any, out_tree: Any, const_args: Sequence[Any]
    ) -> Callable[..., Any]:
        """Returns the C++ function object that runs the executable; see `make_compiled_call`."""
        return make_compiled_call(self.program, self.compiled, in_tree, out_tree, const_args)

    # ---- the compiled module ----

    def as_text(self) -> str:
        """Returns the optimized program as HLO text."""
        modules = self.runtime_executable().hlo_modules()
        return "\n\n".join(module.to_string() for module in modules)

    def cost_analysis(self) -> dict[str, float]:
        """Estimates costs such as ``flops`` and ``bytes accessed``."""
        return dict(self.runtime_executable().cost_analysis())

    def memory_analysis(self) -> Any:
        """Returns the sizes in bytes of arguments, results, temporaries and code."""
        return self.runtime_executable().get_compiled_memory_stats()

    def runtime_executable(self) -> Any:
        """Returns the executable, an object of jaxlib."""
        return self.compiled.executable.loaded

    def report(self) -> compile_report.CompileReport:
        """Reports changes that make the program compile faster; see `stages.Compiled.report`."""
        if self.compiled.lowered.program is None:
            raise ValueError("a deserialized function has no program to report on")
        return compile_report.report_of(self.compiled.lowered)

    # ---- placement of operands and results ----

    def _of_operands(self, kept_values: Sequence[Any], missing: Any) -> list[Any]:
        """Returns a value for each operand, given those of the operands that are taken."""
        values = iter(kept_values)
        found = [next(values) if kept else missing for kept in self.compiled.lowered.kept]
        return found[len(self.program.hoisted) :]

    def _kept_shardings(self) -> Sequence[Any]:
        return self.compiled.executable.in_shardings[len(self.compiled.constants) :]

    def input_shardings(self) -> list[Any]:
        """Returns the shardings of the operands; None for unused operands."""
        return self._of_operands(self._kept_shardings(), None)

    def output_shardings(self) -> list[Any]:
        """Returns the shardings of the results."""
        return list(self.compiled.executable.out_shardings)

    def input_formats(self) -> list[Format]:
        """Returns the layouts and shardings of the operands."""
        skipped = len(self.compiled.lowered.ordered_effects) + len(self.compiled.constants)
        layouts = self.runtime_executable().get_parameter_layouts()[skipped:]
        formats = map(Format, map(Layout.from_pjrt_layout, layouts), self._kept_shardings())
        return self._of_operands(list(formats), Format())

    def output_formats(self) -> list[Format]:
        """Returns the layouts and shardings of the results."""
        skipped = len(self.compiled.lowered.ordered_effects)
        layouts = self.runtime_executable().get_output_layouts()[skipped:]
        shardings = self.compiled.executable.out_shardings
        return list(map(Format, map(Layout.from_pjrt_layout, layouts), shardings))
