# SPDX-License-Identifier: Apache-2.0
"""Reads pickled functions, calls each, and prints how many have the value that they must have."""

import pickle
import sys

import functions_that_travel
import numpy as np

with open(sys.argv[1], "rb") as file:
    cases = pickle.load(file)
for name, (function, arguments, expected) in cases.items():
    for found, wanted in zip(
        functions_that_travel.olympus.tree.leaves(functions_that_travel.call(function, arguments)),
        functions_that_travel.olympus.tree.leaves(expected),
        strict=True,
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6, err_msg=name)
print(len(cases), f"{sys.version_info[0]}.{sys.version_info[1]}")
