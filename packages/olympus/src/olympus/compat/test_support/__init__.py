# SPDX-License-Identifier: Apache-2.0
"""Helpers of tests under the names of JAX's private module ``jax._src.test_util``.

Test suites written for JAX import them. The library absl is optional: without it, test cases are
those of `unittest`, and only the decorators that make cases raise an error.
"""
