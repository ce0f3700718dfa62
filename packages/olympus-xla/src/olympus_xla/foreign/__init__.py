# SPDX-License-Identifier: Apache-2.0
"""Foreign code that programs or the compiler call: foreign functions, callbacks, partitioners.

The folder has the primitives and the public functions; the lowering rules are in
`compiling.lowering.rules`. May import `arrays` and below.
"""
