# SPDX-License-Identifier: Apache-2.0
"""Kinds of configuration flags, and the object that holds all flags.

A `Flag` is a process-wide value, and a `Setting` one that a context manager may set for a while. A
`State` can also be overridden for the current thread. All are jaxlib ``Config`` objects, so reading
``flag.value`` on a hot path is one C++ attribute access.

jaxlib makes every ``Config`` created with ``include_in_jit_key`` a part of the key that it compares
on each call of a compiled function. This takes about 5 ns for each flag. Flags that change tracing,
lowering or results must be in that key. Each `State` is a separate entry of the key, because each
thread may have its own value. All `Flag`s share the entry ``program_flags``, a tuple of the values
that differ from their defaults, so its cost does not depend on the number of flags.

Every `State` is declared in `olympus_ir.settings.config_states`, at import. Adding an entry to the
key later would invalidate the cache of every compiled function.
"""

from __future__ import annotations

import enum
import functools
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from .._jaxlib import Config, config_unset
from ..loading import deferred
from .naming import naming

if TYPE_CHECKING:
    import difflib

    from . import command_line, flags_without_effect
else:
    command_line = deferred(".command_line", milliseconds=0.3)
    difflib = deferred("difflib", milliseconds=2.0)
    flags_without_effect = deferred(".flags_without_effect", milliseconds=0.2)

__all__ = [
    "NO_DEFAULT",
    "Configuration",
    "Flag",
    "Kind",
    "Override",
    "Setting",
    "State",
    "member_of",
    "one_of",
    "program_flags",
    "scopes",
    "truth",
    "typed",
]

F = TypeVar("F", bound=Callable[..., Any])

PREFIX = "olympus_"
TRUE_WORDS = frozenset({"y", "yes", "t", "true", "on", "1"})
FALSE_WORDS = frozenset({"n", "no", "f", "false", "off", "0"})

# Values of all `Flag`s that affect programs and differ from their defaults, as sorted pairs.
program_flags = Config("program_flags", (), include_in_jit_key=True, include_in_trace_context=True)
# Rare annotations of a thread by name (see `config_states.scope`), as sorted pairs.
scopes = Config("scopes", (), include_in_jit_key=True, include_in_trace_context=True)


class NoDefault:
    """Type of the marker for a context manager's argument that was not given."""

    def __repr__(self) -> str:
        return "<no default>"


NO_DEFAULT = NoDefault()


class Flag(Config):
    """Process-wide configuration value with a parser, a default and a description.

    Attributes:
        flag_name: the full name, as in ``config.update(flag_name, value)``.
        default: the value unless an environment variable or `update` sets another.
        description: the effect of the flag, in one or two sentences.
        kind: the kind of the flag, which parses new values.
        shapes_programs: whether traced or compiled programs depend on the value.
        origin: the source of the process-wide value: the name of an environment variable;
            ``"program"`` if `update` has changed the value; or ``"default"``.
    """

    def __init__(
        self,
        name: str,
        default: Any,
        description: str,
        kind: Kind,
        *,
        shapes_programs: bool = False,
        in_key: bool = False,
    ):
        super().__init__(name, default, include_in_jit_key=in_key, include_in_trace_context=in_key)
        self.__name__ = name.removeprefix(PREFIX)
        self.__module__ = __name__  # public modules present flags as their own
        self.__doc__ = description
        self.flag_name = name
        self.default = default
        self.description = description
        self.kind = kind
        self.shapes_programs = shapes_programs
        self.origin = "default"
        self._validators: tuple[Callable[[Any], None], ...] = ()
        self._global_hooks: tuple[Callable[[Any], None], ...] = ()

    @property
    def shown_name(self) -> str:
        """Returns the full name for messages."""
        return f"{naming.module}_{self.__name__}"

    def parse(self, value: Any) -> Any:
        """Returns ``value`` in the flag's type, or raises an error that lists accepted values."""
        try:
            value = self.kind.parse(value)
        except ValueError as error:
            raise ValueError(f"{self.shown_name}: {error}") from None
        for validate in self._validators:
            validate(value)
        return value

    def update(self, value: Any) -> None:
        """Sets the value for the whole process."""
        value = self.parse(value)
        self.set_global(value)
        self.origin = "default" if value == self.default else "program"
        if self.shapes_programs:
            self._record_in_program_flags(value)
        for hook in self._global_hooks:
            hook(value)

    def add_validator(self, validate: Callable[[Any], None]) -> None:
        """Adds a function that raises an error for values that must be rejected."""
        self._validators += (validate,)

    def add_global_hook(self, hook: Callable[[Any], None]) -> None:
        """Calls ``hook`` with the current value now, and later with each new process-wide value."""
        self._global_hooks += (hook,)
        hook(self.get_global())

    def _record_in_program_flags(self, value: Any) -> None:
        others = [pair for pair in program_flags.get_global() if pair[0] != self.flag_name]
        if value != self.default:
            others.append((self.flag_name, value))
        program_flags.set_global(tuple(sorted(others, key=lambda pair: pair[0])))

    def __bool__(self) -> bool:
        raise TypeError(
            f"The flag {self.__name__} has no truth value; read {self.__name__}.value instead."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.flag_name}={self.value!r}>"


class Setting(Flag):
    """Flag of the process that a context manager may set for a while."""

    def __call__(self, new_val: Any) -> AbstractContextManager[None]:
        """Returns a context manager that sets the process-wide value and restores it.

        Example:
            >>> from olympus_ir.settings.config_cache_flags import compilation_cache_max_size
            >>> with compilation_cache_max_size(1 << 20):
            ...     print(compilation_cache_max_size.value)
            1048576
            >>> compilation_cache_max_size.value
            -1
        """
        return self._set_meanwhile(self.parse(new_val))

    @contextmanager
    def _set_meanwhile(self, value: Any) -> Iterator[None]:
        previous, origin = self.get_global(), self.origin
        self.update(value)
        try:
            yield
        finally:
            self.update(previous)
            self.origin = origin


class State(Flag):
    """Flag that a thread can override. Calling it returns a context manager or decorator.

    Example:
        >>> from olympus_ir.settings.config_states import enable_x64
        >>> with enable_x64(True):
        ...     print(enable_x64.value)
        True
    """

    def __init__(
        self,
        name: str,
        default: Any,
        description: str,
        kind: Kind,
        *,
        shapes_programs: bool = False,
        default_override: Any = NO_DEFAULT,
    ):
        super().__init__(
            name,
            default,
            description,
            kind,
            shapes_programs=shapes_programs,
            in_key=shapes_programs,
        )
        self._default_override = default_override
        self._local_hooks: tuple[Callable[[Any], None], ...] = ()

    def __call__(self, new_val: Any = NO_DEFAULT) -> Override:
        """Returns a context manager that sets the value to ``new_val`` in the current thread."""
        if new_val is NO_DEFAULT:
            new_val = self._default_override
            if new_val is NO_DEFAULT:
                raise TypeError(
                    f"{self.__name__}() needs the new value as its argument, "
                    f"for example {self.__name__}({self.default!r})."
                )
        return Override(self, self.parse(new_val))

    def update(self, value: Any) -> None:
        """Sets the process-wide value; threads with an override keep their value."""
        value = self.parse(value)
        self.set_global(value)
        self.origin = "default" if value == self.default else "program"
        for hook in self._global_hooks:
            hook(value)

    def add_local_hook(self, hook: Callable[[Any], None]) -> None:
        """Calls ``hook`` with each new thread-local value, and with None when the override ends."""
        self._local_hooks += (hook,)

    def swap_override(self, value: Any) -> Any:
        """Sets the thread's value to a parsed value, and returns the previous value."""
        previous = self.swap_local(value)
        if self._local_hooks:
            local = None if value is config_unset else value
            for hook in self._local_hooks:
                hook(local)
        return previous


class RareState(State):
    """Seldom used state without a separate entry in the tracing key.

    Process-wide values are recorded in `program_flags`, and thread-local values in `scopes`.
    """

    def __init__(
        self, name: str, default: Any, description: str, kind: Kind, default_override: Any
    ):
        super().__init__(name, default, description, kind, default_override=default_override)
        self.shapes_programs = True
        self.add_global_hook(self._record_in_program_flags)
        self.add_local_hook(self._record_in_scopes)

    def _record_in_scopes(self, value: Any) -> None:
        others = [pair for pair in scopes.value if pair[0] != self.flag_name]
        if value is not None:
            others.append((self.flag_name, value))
        scopes.set_local(tuple(sorted(others, key=lambda pair: pair[0])))


class Override:
    """Override of a `State` in one thread, for a ``with`` block or for the calls of a function."""

    __slots__ = ("_previous", "_swap", "_value", "state")

    def __init__(self, state: State, value: Any):
        self.state = state
        self._value = value
        # Without hooks, the C++ method is sufficient.
        self._swap = state.swap_override if state._local_hooks else state.swap_local

    def __repr__(self) -> str:
        return f"{self.state.__name__}({self._value!r})"

    def __enter__(self) -> None:
        self._previous = self._swap(self._value)

    def __exit__(self, *exception: object) -> None:
        self._swap(self._previous)

    def __call__(self, function: F) -> F:
        """Returns a function that calls ``function`` with the value set."""
        state, value = self.state, self._value

        @functools.wraps(function)
        def with_override(*args: Any, **kwargs: Any) -> Any:
            with Override(state, value):
                return function(*args, **kwargs)

        return with_override  # type: ignore[return-value]


class Configuration:
    """All flags by name; ``config.olympus_enable_x64`` reads a flag, and `update` sets a flag.

    Every flag also has an environment variable, with its name in capitals. The variable is read
    once, at import. A variable that is refused leaves the default; `check_environment` raises an
    error when all flags are declared.

    Attributes:
        refused_variables: why the flag did not accept its variable, by the variable's name.
    """

    refused_variables: dict[str, str]

    def __init__(self) -> None:
        self._flags: dict[str, Flag] = {}
        self._other_prefixes: tuple[str, ...] = ()
        self.__dict__["refused_variables"] = {}
        self._checks_at_once = False
        # Maps the name of a flag in capitals to the environment variable that sets it, and the
        # variable's text.
        self._environment = {
            name: (name, value) for name, value in os.environ.items() if name.startswith("OLYMPUS_")
        }

    def add(self, flag: Flag) -> None:
        """Adds a flag, and sets it from its environment variable if there is one."""
        if flag.flag_name in self._flags:
            raise ValueError(f"The configuration flag {flag.flag_name} is declared twice.")
        self._flags[flag.flag_name] = flag
        self._read_environment(flag)
        if self._checks_at_once:
            self.check_environment()

    def _read_environment(self, flag: Flag) -> None:
        variable, text = self._environment.get(flag.flag_name.upper(), ("", None))
        if text is not None:
            try:
                flag.update(flag.kind.from_text(text))
            except ValueError as error:
                reason = str(error).rstrip(".").removeprefix(f"{flag.shown_name}: ")
                self.refused_variables[variable] = reason
            else:
                flag.origin = variable

    def check_environment(self) -> None:
        """Raises ValueError if a flag has refused its environment variable.

        This is called when all flags of the library are declared. Flags that are declared later are
        checked at once. ``python -m olympus`` starts all the same, because it shows what is wrong.
        """
        self._checks_at_once = True
        if self.refused_variables and not _is_own_command_line():
            raise ValueError(self.refusals())

    def refusals(self) -> str:
        """Returns a line for each environment variable that a flag has refused."""
        return "\n".join(
            f"The environment variable {variable} is {os.environ[variable]!r}: {reason}. "
            "Set it to an accepted value, or unset it"
            for variable, reason in self.refused_variables.items()
        )

    def answer_to(self, prefix: str) -> None:
        """Accepts ``<prefix><name>`` as another name of each flag and environment variable.

        A variable with OLYMPUS's own prefix takes precedence. In the name, ``jaxpr`` stands for
        ``olympuspr``.

        Args:
            prefix: the prefix in lower case, such as ``"jax_"``.
        """
        if prefix in self._other_prefixes:
            return
        self._other_prefixes += (prefix,)
        for variable, text in os.environ.items():
            if variable.startswith(prefix.upper()):
                name = self._own_name(variable.lower())
                if name.upper() not in self._environment:
                    self._environment[name.upper()] = (variable, text)
                    if name in self._flags:
                        self._read_environment(self._flags[name])
        self.check_environment()

    def flag(self, name: str) -> Flag:
        """Returns the flag called ``name``, or raises an error that lists similar names."""
        flag = self._flags.get(name)
        if flag is None:
            flag = self._flags.get(self._own_name(name))
        if flag is None:
            # Without `obj`, Python does not add a suggestion of its own.
            raise AttributeError(self._unknown(name), name=name)
        return flag

    def update(self, name: str, val: Any) -> None:
        """Sets the flag ``name`` for the whole process.

        Args:
            name: the full name, such as ``"olympus_enable_x64"``.
            val: the new value. If only a fixed set of values is allowed, the error lists them.

        Raises:
            AttributeError: there is no such flag.
            ValueError: the flag does not accept the value.

        Example:
            >>> from olympus_ir.settings.config import config
            >>> config.update("olympus_numpy_rank_promotion", "warn")
            >>> config.olympus_numpy_rank_promotion
            'warn'
            >>> config.update("olympus_numpy_rank_promotion", "allow")
        """
        self.flag(name).update(val)

    def read(self, name: str) -> Any:
        """Returns the value of the flag ``name`` in the current thread."""
        return self.flag(name).value

    @property
    def values(self) -> dict[str, Any]:
        """Returns all values in the current thread, by name."""
        return {name: flag.value for name, flag in self._flags.items()}

    def config_with_absl(self) -> None:
        """Declares all flags to absl, so that `absl.app.run` reads them from the command line.

        Example:
            >>> from olympus_ir.settings.config import config
            >>> config.config_with_absl()  # doctest: +SKIP
        """
        command_line.declare(self._flags_on_command_line())

    def parse_flags_with_absl(self) -> None:
        """Reads the flags from the command line immediately, as absl reads flags.

        Leaves other options to the program.

        Example:
            >>> from olympus_ir.settings.config import config
            >>> config.parse_flags_with_absl()  # doctest: +SKIP
        """
        command_line.read(self._flags_on_command_line())

    def _flags_on_command_line(self) -> dict[str, Flag]:
        prefix = self._other_prefixes[0] if self._other_prefixes else PREFIX
        return {prefix + name.removeprefix(PREFIX): flag for name, flag in self._flags.items()}

    def describe(self, name: str) -> str:
        """Returns the description of the flag ``name``, its default and its possible values.

        Example:
            >>> from olympus_ir.settings.config import config
            >>> text = config.describe("olympus_scan3")
            >>> print(text[text.index("It") :])
            It has no effect: there is one implementation of scan.
        """
        flag = self.flag(name)
        choices = f" One of {list(flag.kind.choices)}." if flag.kind.choices else ""
        reason = flags_without_effect.REASONS.get(flag.__name__)
        effect = f" It has no effect: {reason}." if reason else ""
        return f"{name}: {flag.description} Default: {flag.default!r}.{choices}{effect}"

    @property
    def x64_enabled(self) -> bool:
        """True if 64-bit types are enabled in the current thread."""
        return self._flags["olympus_enable_x64"].value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.flag(name).value

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
            return
        self.flag(name)
        raise AttributeError(
            f"Configuration flags are set by a call: config.update({name!r}, {value!r})",
            name=name,
        )

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *self._flags]

    def __iter__(self) -> Iterator[str]:
        return iter(self._flags)

    def __repr__(self) -> str:
        changed = [
            f"{name}={flag.value!r}"
            for name, flag in self._flags.items()
            if flag.value != flag.default
        ]
        return f"<olympus configuration: {', '.join(changed) or 'all defaults'}>"

    def _own_name(self, name: str) -> str:
        for prefix in self._other_prefixes:
            if name.startswith(prefix):
                return PREFIX + name.removeprefix(prefix).replace("jaxpr", "olympuspr")
        return name

    def _unknown(self, name: str) -> str:
        stem = name.lower().removeprefix("jax_").removeprefix(PREFIX)
        stems = {known.removeprefix(PREFIX): known for known in self._flags}
        near = [stems[match] for match in difflib.get_close_matches(stem, stems, n=3)]
        suggestion = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        return f"Unrecognized config option: {name}.{suggestion}"


class Kind:
    """Type of a flag, which parses new values and the text of environment variables.

    ``parse`` raises ValueError for a value that the flag does not accept. The message completes a
    sentence that begins with the flag's name.
    """

    def __init__(
        self,
        parse: Callable[[Any], Any],
        from_text: Callable[[str], Any] = str,
        choices: tuple[Any, ...] = (),
        is_truth: bool = False,
    ) -> None:
        self.parse = parse
        self.from_text = from_text
        self.choices = choices
        self.is_truth = is_truth


def _truth_value(value: Any) -> bool:
    if isinstance(value, str):
        word = value.lower()
        if word in TRUE_WORDS:
            return True
        if word in FALSE_WORDS:
            return False
        raise ValueError(f"must be a truth value such as 'true' or 'false', got {value!r}")
    return bool(value)


truth = Kind(_truth_value, is_truth=True)


_NOUNS: dict[type, str] = {int: "an integer", float: "a number"}


def typed(expected: type, default: Any) -> Kind:
    """Returns the kind of flags of one Python type; None stands for the default."""

    def parse(value: Any) -> Any:
        if value is None:
            return default
        if isinstance(value, expected):
            return value
        if expected is float and isinstance(value, int):
            return float(value)
        raise ValueError(
            f"new {'string' if expected is str else expected.__name__} config value must be None "
            f"or of type {expected.__name__}, "
            f"got {value!r} of type {type(value).__name__}"
        )

    def from_text(text: str) -> Any:
        try:
            return expected(text)
        except ValueError:
            raise ValueError(f"must be {_NOUNS[expected]}, got {text!r}") from None

    return Kind(parse, from_text)


def one_of(choices: tuple[str, ...], *, optional: bool = False) -> Kind:
    """Returns the kind of flags with a fixed set of strings as values."""
    accepted = frozenset(choices)

    def parse(value: Any) -> Any:
        if (isinstance(value, str) and value in accepted) or (optional and value is None):
            return value
        raise ValueError(
            f"new enum value must be {'None or ' if optional else ''}in {list(choices)}, got "
            f"{value!r} of type {type(value)}."
        )

    return Kind(parse, choices=choices)


def member_of(enumeration: type[enum.Enum]) -> Kind:
    """Returns the kind of flags with members of an enumeration, or their names, as values."""
    members = {member.name.lower(): member for member in enumeration}

    def parse(value: Any) -> Any:
        if isinstance(value, enumeration):
            return value
        if isinstance(value, str) and value in members:
            return members[value]
        raise ValueError(
            f"new enum value must be in {list(members)} or a member of {enumeration.__name__}; "
            f"{value!r} is not a valid {enumeration.__name__}."
        )

    return Kind(parse, choices=tuple(members))


config = Configuration()


def _is_own_command_line() -> bool:
    """Returns whether Python is looking for the module of ``python -m olympus``."""
    return sys.argv[:1] == ["-m"] and sys.orig_argv[-len(sys.argv)] in ("olympus", "-molympus")


def declare_flag(
    name: str,
    default: Any,
    kind: Kind,
    description: str,
    *,
    shapes_programs: bool = False,
    flag_type: type[Flag] = Setting,
) -> Flag:
    """Declares a process-wide flag, ``olympus_<name>``."""
    flag = flag_type(PREFIX + name, default, description, kind, shapes_programs=shapes_programs)
    config.add(flag)
    return flag


def declare_rare_state(name: str, default: Any, kind: Kind, description: str) -> State:
    """Declares a seldom used flag that affects programs; see `declare_state`."""
    override = True if kind is truth else NO_DEFAULT
    state = RareState(PREFIX + name, default, description, kind, override)
    config.add(state)
    return state


def declare_state(
    name: str, default: Any, kind: Kind, description: str, *, shapes_programs: bool = False
) -> State:
    """Declares a flag with thread-local overrides.

    A boolean flag called without a value is True in the ``with`` block.
    """
    state = State(
        PREFIX + name,
        default,
        description,
        kind,
        shapes_programs=shapes_programs,
        default_override=True if kind is truth else NO_DEFAULT,
    )
    config.add(state)
    return state
