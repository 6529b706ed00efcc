// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A tuning as the PTX backend wants it, and products as text.

#ifndef EPIFOLD_COMPILER_SRC_PRODUCTS_H
#define EPIFOLD_COMPILER_SRC_PRODUCTS_H

#include "backends/ptx/Schedules.h"
#include "epifold/Compiler.h"

namespace epifold {

std::vector<ptx::TunedSchedule> tunedSchedulesOf(const Tuning &tuning);

/// A paragraph a product and target: what it is, then a line for each of its
/// schedules.
std::string printProducts(const std::vector<ProductReport> &products);

} // namespace epifold

#endif // EPIFOLD_COMPILER_SRC_PRODUCTS_H
