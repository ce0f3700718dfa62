# SPDX-License-Identifier: Apache-2.0
"""A fluid in two dimensions: a shear layer rolls up into vortices.

The vorticity of the incompressible Navier-Stokes equations on a torus, by Fourier series: products
in space, derivatives in frequencies, the highest third of which is cut off (Orszag's rule). Time
steps are those of Runge and Kutta, with friction integrated exactly. The solver is checked with
the Taylor-Green vortex, whose solution is known.
"""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pictures

import olympus
import olympus.numpy as jnp

SIZE = 128
numbers = jnp.fft.fftfreq(SIZE, 1 / SIZE)
kx, ky = numbers[: SIZE // 2 + 1].at[-1].set(SIZE // 2), numbers[:, None]
squares = kx**2 + ky**2
kept = (jnp.abs(kx) < SIZE / 3) & (jnp.abs(ky) < SIZE / 3)


def spectrum(field):
    """Returns the Fourier coefficients of a real field."""
    return jnp.fft.rfft2(field)


def field_of(coefficients):
    """Returns the real field of Fourier coefficients."""
    return jnp.fft.irfft2(coefficients, (SIZE, SIZE))


def transported(vorticity):
    """Returns the rate at which the flow carries vorticity, all in Fourier coefficients."""
    stream = vorticity / jnp.where(squares == 0, 1, squares)
    along, across = field_of(1j * ky * stream), field_of(-1j * kx * stream)
    carried = along * field_of(1j * kx * vorticity) + across * field_of(1j * ky * vorticity)
    return jnp.where(kept, -spectrum(carried), 0)


def step(_, vorticity, dt, viscosity):
    """Returns the vorticity a moment later."""
    half = jnp.exp(-viscosity * squares * dt / 2)  # what friction leaves after half of the moment
    k1 = transported(vorticity)
    k2 = transported(half * (vorticity + dt / 2 * k1))
    k3 = transported(half * vorticity + dt / 2 * k2)
    k4 = transported(half**2 * vorticity + dt * half * k3)
    return half**2 * vorticity + dt / 6 * (half**2 * k1 + 2 * half * (k2 + k3) + k4)


@partial(olympus.jit, static_argnums=3)
def simulate(vorticity, dt, viscosity, steps):
    """Returns the vorticity after some steps."""
    advance = partial(step, dt=dt, viscosity=viscosity)
    return field_of(olympus.lax.fori_loop(0, steps, advance, spectrum(vorticity)))


def enstrophy(vorticity):
    """Returns the mean square of the vorticity, which friction alone can lower."""
    return float(jnp.mean(vorticity**2))


x, y = np.meshgrid(*2 * [np.arange(SIZE) * 2 * np.pi / SIZE])
green = 2 * jnp.asarray(np.cos(x) * np.cos(y), jnp.float32)
decayed = simulate(green, 0.01, 0.05, 200)
error = float(jnp.abs(decayed - green * np.exp(-2 * 0.05 * 2.0)).max())
print(f"Taylor-Green vortex: off by {error:.1e}")
assert error < 1e-4

layers = np.cosh((y - np.pi / 2) / 0.15) ** -2 - np.cosh((y - 3 * np.pi / 2) / 0.15) ** -2
waves = 0.05 * (np.cos(3 * x) + np.sin(2 * x) + 0.5 * np.cos(5 * x + 1))
frames = [jnp.asarray(layers / 0.15 + waves, jnp.float32)]
for _ in range(3):
    frames.append(simulate(frames[-1], 0.005, 4e-4, 500))
values = [enstrophy(frame) for frame in frames]
total = [float(jnp.abs(frame.mean())) for frame in frames]
print("enstrophy:", " ".join(f"{value:.2f}" for value in values))
assert all(later < earlier for earlier, later in itertools.pairwise(values))
assert max(total) < 1e-4  # vorticity is neither made nor lost
across = [float(jnp.abs(jnp.diff(frame, axis=1)).mean()) for frame in frames]
assert across[-1] > 3 * across[0]  # the layers have rolled up

drawing, axes = pictures.figure(columns=3, size=(8, 2.9))
for each, frame, time in zip(axes, frames[1:], (2.5, 5, 7.5), strict=True):
    each.imshow(frame, cmap="RdBu_r", vmin=-6, vmax=6, origin="lower")
    each.set(title=f"time {time}", xticks=[], yticks=[])
pictures.save(drawing, "fluid")
