// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Some rows of a batch as a batch of their own.

#ifndef EPIFOLD_TESTS_EXACT_ROWS_H
#define EPIFOLD_TESTS_EXACT_ROWS_H

#include "epifold/runtime/Error.h"
#include "epifold/runtime/Tensor.h"

namespace epifold::exact {

/// As many rows of `whole` as `shape` has, spread evenly from the first to the
/// last (one: the last). `shape` is that of `whole`, or shorter in one
/// dimension, along which the rows lie. Errors: it is neither; no memory.
Expected<runtime::HostTensor> sampleRows(const runtime::HostTensor &whole,
                                         const runtime::Shape &shape);

} // namespace epifold::exact

#endif // EPIFOLD_TESTS_EXACT_ROWS_H
