# SPDX-License-Identifier: Apache-2.0
"""Convolutions on one CPU device.

`replacements` is the list of replacements for XLA's convolution, each with its condition:

* `views`: sums of views of the images, for groups with few features.
* `products`: matrix products, for windows of one element and for the derivatives with respect to
  windows.
* `long_windows`: matrix products, for one sequence and one long window.
* `dilations`: a convolution for each phase of the result, for dilated images.
* `volumes`: convolutions of the slices of volumes.
* `groups`: a separate convolution for each of a few groups.

`limits` holds what all conditions have in common. The group ``networks`` of the benchmarks covers
this folder.
"""
