# SPDX-License-Identifier: Apache-2.0
"""Convolutions of volumes and of dilated images on one CPU device, compared with NumPy."""

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_sharding import NamedSharding, PartitionSpec
from olympus_xla import device_put, jit

RNG = np.random.default_rng(0)


def convolved(images, windows, strides, padding, dilation, window_dilation):
    """Returns the convolution with features first, by sums over the elements of the windows."""
    rank = len(strides)
    sizes = [d * (n - 1) + 1 for n, d in zip(images.shape[2:], dilation, strict=True)]
    dilated = np.zeros((*images.shape[:2], *sizes))
    dilated[(..., *(slice(None, None, d) for d in dilation))] = images
    padded = np.pad(dilated, ((0, 0), (0, 0), *((max(a, 0), max(b, 0)) for a, b in padding)))
    inside = (slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(padding, padded.shape[2:]))
    padded = padded[(..., *inside)]
    total = 0.0
    for place in np.ndindex(*windows.shape[2:]):
        view = padded
        for axis in range(rank):
            reach = window_dilation[axis] * (windows.shape[2 + axis] - 1)
            start = window_dilation[axis] * place[axis]
            stop = view.shape[2 + axis] - reach + start
            index = [slice(None)] * (2 + rank)
            index[2 + axis] = slice(start, stop, strides[axis])
            view = view[tuple(index)]
        total = total + np.einsum("bi...,oi->bo...", view, windows[(..., *place)])
    return total


CASES = {
    "volumes": ((2, 3, 6, 7, 8), (4, 3, 3, 2, 3), (1, 1, 1), ((1, 1),) * 3, (1, 1, 1), (1, 1, 1)),
    "strides and dilated windows": (
        (2, 3, 9, 11, 12),
        (4, 3, 2, 2, 3),
        (2, 1, 3),
        ((2, 0), (0, 1), (1, 1)),
        (1, 1, 1),
        (3, 2, 1),
    ),
    "flat windows": (
        (2, 5, 6, 7, 8),
        (4, 5, 1, 1, 1),
        (1, 1, 1),
        ((0, 0),) * 3,
        (1,) * 3,
        (1,) * 3,
    ),
    "cropped volumes": (
        (2, 3, 8, 9, 9),
        (2, 3, 3, 3, 3),
        (1, 1, 1),
        ((-1, 2), (1, -1), (0, 0)),
        (1, 1, 1),
        (1, 1, 1),
    ),
    "dilated volumes": (
        (2, 3, 4, 5, 6),
        (4, 3, 3, 1, 2),
        (1, 1, 1),
        ((2, 1), (0, 1), (1, 2)),
        (2, 2, 2),
        (1, 1, 1),
    ),
    "dilated images": ((2, 3, 9, 8), (4, 3, 4, 5), (1, 1), ((2, 2), (3, 1)), (2, 2), (1, 1)),
    "dilated by three": ((2, 3, 9, 8), (4, 3, 7, 3), (1, 1), ((0, 5), (2, 2)), (3, 1), (1, 1)),
    "cropped dilated images": (
        (2, 3, 12, 11),
        (4, 3, 4, 4),
        (1, 1),
        ((-1, 2), (3, -2)),
        (2, 2),
        (1, 1),
    ),
    "dilated sequences": ((2, 8, 99), (8, 8, 4), (1,), ((1, 2),), (2,), (1,)),
}


@pytest.mark.parametrize("features_last", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_convolutions(name, features_last):
    images, windows, strides, padding, dilation, window_dilation = CASES[name]
    rank = len(strides)
    images, windows = (RNG.normal(size=shape).astype(np.float32) for shape in (images, windows))
    expected = convolved(images, windows, strides, padding, dilation, window_dilation)
    space = "DHW"[-rank:]
    numbers = (f"NC{space}", f"OI{space}", f"NC{space}")
    if features_last:
        images, windows = np.moveaxis(images, 1, -1), np.moveaxis(windows, (0, 1), (-1, -2))
        expected = np.moveaxis(expected, 1, -1)
        numbers = (f"N{space}C", f"{space}IO", f"N{space}C")
    run = jit(
        lambda x, w: lax.conv_general_dilated(
            x, w, strides, padding, dilation, window_dilation, numbers
        )
    )
    np.testing.assert_allclose(run(images, windows), expected, atol=2e-5)
    text = run.lower(images, windows).as_text()
    assert "[b, 0, 1, 2, f]" not in text
    assert "[b, f, 0, 1, 2]" not in text
    assert "lhs_dilate = [2" not in text and "lhs_dilate = [3" not in text


def test_derivatives_and_batches_of_volumes():
    """Compares with the transposition of the convolution, computed by NumPy."""
    volumes = RNG.normal(size=(2, 3, 6, 7, 8)).astype(np.float32)
    windows = RNG.normal(size=(4, 3, 3, 2, 3)).astype(np.float32)
    ones = (1, 1, 1)
    geometry = ((2, 1, 1), ((1, 1), (0, 1), (1, 1)))
    convolve = lambda x, w: lax.conv_general_dilated(x, w, *geometry)  # noqa: E731
    cotangent = RNG.normal(size=(2, 4, 3, 7, 8)).astype(np.float32)
    pairing = jit(grad(lambda x, w: (convolve(x, w) * cotangent).sum(), (0, 1)))
    of_volumes, of_windows = pairing(volumes, windows)
    direction = RNG.normal(size=volumes.shape)
    change = convolved(direction, windows, *geometry, ones, ones)
    np.testing.assert_allclose(
        (direction * of_volumes).sum(), (change * cotangent).sum(), rtol=1e-4
    )
    direction = RNG.normal(size=windows.shape)
    change = convolved(volumes, direction, *geometry, ones, ones)
    np.testing.assert_allclose(
        (direction * of_windows).sum(), (change * cotangent).sum(), rtol=1e-4
    )
    mapped = jit(vmap(convolve, (None, 0)))(volumes, np.stack([windows, -windows]))
    expected = convolved(volumes, windows, *geometry, ones, ones)
    np.testing.assert_allclose(mapped, [expected, -expected], atol=2e-5)


def test_several_devices_keep_the_convolution_of_xla(mesh):
    volumes = np.zeros((2, 3, 6, 7, 8), np.float32)
    windows = np.zeros((4, 3, 3, 2, 3), np.float32)
    run = jit(lambda x, w: lax.conv_general_dilated(x, w, (1, 1, 1), "SAME"))
    assert "[b, f, 0, 1, 2]" not in run.lower(volumes, windows).as_text()
    sharding = NamedSharding(mesh, PartitionSpec("x"))
    divided = device_put(volumes, sharding)
    assert "[b, f, 0, 1, 2]" in run.lower(divided, windows).as_text()
