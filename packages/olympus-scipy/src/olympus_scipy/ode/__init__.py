# SPDX-License-Identifier: Apache-2.0
"""Ordinary differential equations: `odeint`, and the steps of its Runge-Kutta method.

Modules of this folder import nothing else of this package.
"""
