# SPDX-License-Identifier: Apache-2.0
"""Messages that processes and their coordinator exchange before XLA's service starts.

A message is one line of JSON: an object whose values are numbers, strings, booleans or null. The
first message of a process is its greeting. With a shared secret, the coordinator answers a greeting
with a challenge, and the process proves that it knows the secret. In its last message, the
coordinator proves that it knows the secret, too. The secret itself is never sent.

The proofs are HMACs (RFC 2104) with SHA-256 of a random challenge, in the manner of RFC 2195.
"""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Mapping
from typing import Any

__all__ = [
    "FIELDS",
    "BadMessageError",
    "check_greeting",
    "check_proof",
    "decode",
    "encode",
    "nonce",
    "prove",
]

Types = tuple[type, ...]

# The fields that every greeting has, with their types.
FIELDS: dict[str, Types] = {"process_id": (int,), "num_processes": (int,)}
_SCALARS: Types = (str, int, float, bool, type(None))


class BadMessageError(ValueError):
    """Error for a message that no process of the program sends."""


def encode(message: Mapping[str, Any]) -> bytes:
    """Returns a message as a line that does not depend on the order of the fields."""
    return json.dumps(message, sort_keys=True).encode() + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    """Returns the message in a line of JSON.

    Raises:
      BadMessageError: the line is not a flat JSON object.
    """
    try:
        message = json.loads(line, parse_constant=_refuse_constant)
    except RecursionError:
        raise BadMessageError("the message is nested too deeply") from None
    except ValueError:
        raise BadMessageError("the message is not JSON") from None
    if not isinstance(message, dict):
        raise BadMessageError("the message is not a JSON object")
    if not all(isinstance(value, _SCALARS) for value in message.values()):
        raise BadMessageError("the message has nested values")
    return message


def _refuse_constant(name: str) -> float:
    # NaN differs from itself, so processes could never agree on it.
    raise ValueError(f"{name} is not JSON")


def check_greeting(
    greeting: Mapping[str, Any], fields: Mapping[str, Types], num_processes: int
) -> None:
    """Checks the fields of a greeting.

    Args:
      greeting: the greeting.
      fields: the required fields, with their types.
      num_processes: the coordinator's number of processes.

    Raises:
      BadMessageError: a field is missing or has a wrong type, or ``process_id`` is not in
        ``range(num_processes)``.
    """
    for name, types in fields.items():
        if type(greeting.get(name)) not in types:  # Booleans do not count as numbers.
            raise BadMessageError(f"the greeting has no proper {name}")
    if not 0 <= greeting["process_id"] < num_processes:
        raise BadMessageError(
            f"the process_id is not one of those of {num_processes} processes, "
            f"0 to {num_processes - 1}"
        )


# ---- proofs ----


def nonce() -> str:
    """Returns a random text, to be used once."""
    return os.urandom(16).hex()


def prove(secret: str, role: str, challenge: str, greeting: Mapping[str, Any]) -> str:
    """Returns a proof that its sender knows the secret.

    Args:
      secret: the shared secret.
      role: ``"process"`` or ``"coordinator"``. The role prevents one side from sending back the
        other side's proof.
      challenge: the coordinator's random text.
      greeting: the greeting of the process, which contains the process's random text.
    """
    text = b"\n".join((role.encode(), challenge.encode(), encode(greeting)))
    return hmac.new(secret.encode(), text, "sha256").hexdigest()


def check_proof(proof: Any, expected: str) -> None:
    """Checks a proof in a time that does not depend on the proof.

    Raises:
      BadMessageError: the proof is missing or wrong.
    """
    if not isinstance(proof, str) or not hmac.compare_digest(proof.encode(), expected.encode()):
        raise BadMessageError("the shared secret is wrong or missing")
