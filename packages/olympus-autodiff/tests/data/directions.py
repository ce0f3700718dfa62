# SPDX-License-Identifier: Apache-2.0
"""The directions of the recorded derivatives, and the form in which arrays are recorded."""

from __future__ import annotations

import numpy as np

FLOAT0 = np.dtype([("float0", np.void, 0)])


def _direction(array, seed):
    array = np.asarray(array)
    if array.dtype.kind not in "fc":
        return np.zeros(array.shape, FLOAT0)
    values = np.asarray(np.random.RandomState(seed).rand(*array.shape))
    if array.dtype.kind == "c":
        values = values + 1j * np.random.RandomState(seed + 1).rand(*array.shape)
    return values.astype(array.dtype)


def tangents(args):
    return tuple(_direction(arg, number) for number, arg in enumerate(args))


def cotangents(results):
    return [_direction(result, 10 + number) for number, result in enumerate(results)]


def encoded(array):
    """An array as its dtype, shape and elements."""
    if array.dtype.kind == "V":
        return ["float0", list(array.shape), []]
    elements = array.ravel()
    if array.dtype.kind == "c":
        elements = elements.view(elements.real.dtype)
    numbers = [float(f"{number:.6g}") for number in elements.astype(np.float64)]
    return [array.dtype.name, list(array.shape), numbers]


def decoded(record):
    name, shape, numbers = record
    if name == "float0":
        return np.zeros(shape, FLOAT0)
    dtype = np.dtype(name)
    if dtype.kind == "c":
        return np.array(numbers).view(np.complex128).astype(dtype).reshape(shape)
    return np.array(numbers).astype(dtype).reshape(shape)
