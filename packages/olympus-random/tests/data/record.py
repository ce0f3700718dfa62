# SPDX-License-Identifier: Apache-2.0
"""Records samples of jax.random as the vectors with which the tests compare.

Run it with jax 0.10.2 on a CPU::

    python packages/olympus-random/tests/data/record.py

It writes `vectors.json` beside itself: a list of calls, each with its result as base64 of the
array's bytes. `draws.py`, which the tests use too, has the list of calls.
"""

from __future__ import annotations

import base64
import json
import pathlib
import warnings

import jax
import numpy as np
from draws import DRAWS, arguments

FOLDER = pathlib.Path(__file__).parent


def recorded(draw: dict) -> dict:
    jax.config.update("jax_threefry_partitionable", draw.get("partitionable", True))
    jax.config.update("jax_enable_x64", draw.get("x64", False))
    args, kwargs = arguments(draw, jax.random)
    result = getattr(jax.random, draw["function"])(*args, **kwargs)
    if jax.numpy.issubdtype(result.dtype, jax.dtypes.prng_key):
        result = jax.random.key_data(result)
    array = np.asarray(result)
    return {
        **draw,
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "bytes": base64.b64encode(array.tobytes()).decode(),
    }


def main() -> None:
    if jax.__version__ != "0.10.2":
        raise SystemExit(f"the vectors are those of jax 0.10.2; this is {jax.__version__}")
    warnings.simplefilter("ignore")
    lines = [json.dumps(recorded(draw)) for draw in DRAWS]
    (FOLDER / "vectors.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
    print(f"recorded {len(lines)} draws")


if __name__ == "__main__":
    main()
