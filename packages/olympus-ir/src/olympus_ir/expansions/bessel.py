# SPDX-License-Identifier: Apache-2.0
"""The modified Bessel function of order 0, by Chebyshev series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import lax
from .elementwise import epsilon, expansion, full, where

__all__ = ["bessel_i0e"]

# Chebyshev coefficients of exp(-x) I0(x) on [0, 8], in the variable x / 4 - 1.
_NEAR = (
    0.33839763720473803,
    -0.3046826723431984,
    0.17162090152220877,
    -0.09490109704804764,
    0.04930528423967071,
    -0.023737414805899467,
    0.010546460394594998,
    -0.004324309995050576,
    0.001639475616941336,
    -0.0005763755745385824,
    0.0001885028850958416,
    -5.754195010082102e-05,
    1.6448448070728933e-05,
    -4.416738358458785e-06,
    1.1173875391200808e-06,
    -2.670793853942028e-07,
    6.046995022549302e-08,
    -1.3000250099950289e-08,
    2.659823724823502e-09,
    -5.189795601934547e-10,
    9.675809030271166e-11,
    -1.7268262849105733e-11,
    2.9550524997627985e-12,
    -4.856447089227967e-13,
    7.676188311833872e-14,
    -1.168543445329278e-14,
    1.7153772434615189e-15,
    -2.4320348794744373e-16,
    3.32291025207862e-17,
    -4.441840775401551e-18,
)
# Chebyshev coefficients of exp(-x) sqrt(x) I0(x) on [8, infinity], in the variable 16 / x - 1.
_FAR = (
    0.4022452055070544,
    0.0033691164782556965,
    6.88975834691659e-05,
    2.891370520837075e-06,
    2.0489185894458313e-07,
    2.266668990732516e-08,
    3.396232023415889e-09,
    4.940602411488874e-10,
    1.1889144846903617e-11,
    -3.149916296492274e-11,
    -1.321581411997387e-11,
    -1.7941762848637174e-12,
    7.180102551972132e-13,
    3.8528002403032113e-13,
    1.539871212109128e-14,
    -4.150361152845117e-14,
    -9.556916889807976e-15,
    3.813708246772074e-15,
    1.7705580518433475e-15,
    -3.405207973233848e-16,
    -2.848084757671541e-16,
    3.669177320916178e-17,
    4.2640326779051123e-17,
    -2.956144985917508e-18,
    -9.110686380667254e-18,
    2.727446090158847e-18,
)


def _chebyshev(x: Any, coefficients: Sequence[float]) -> Any:
    """Evaluates a Chebyshev series by Clenshaw's recurrence, without negligible terms."""
    limit = 0.01 * epsilon(x)
    significant = [value for value in coefficients if abs(value) > limit]
    twice = 2.0 * x
    last, previous = full(x, 0.0), full(x, 0.0)
    for coefficient in reversed(significant[1:]):
        last, previous = twice * last - previous + coefficient, last
    return x * last - previous + significant[0]


@expansion
def bessel_i0e(x: Any) -> Any:
    """Returns the modified Bessel function of order 0, divided by ``exp(abs(x))``."""
    x = lax.abs(x)
    near = x <= 8.0
    inside = _chebyshev(where(near, x, 0.0) * 0.25 - 1.0, _NEAR)
    large = where(near, 8.0, x)
    outside = _chebyshev(16.0 / large - 1.0, _FAR) * lax.rsqrt(large)
    return where(near, inside, outside)
