// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Attribute kinds that both dialects use.

#ifndef EPIFOLD_IR_COMMONATTRS_TD
#define EPIFOLD_IR_COMMONATTRS_TD

include "mlir/IR/OpBase.td"

// A 64-bit integer whose accessor is signed, for sizes and positions that may be negative.
def Epifold_I64Attr : TypedSignlessIntegerAttrBase<I64, "int64_t", "64-bit integer"> {
  let convertFromStorage = "$_self.getValue().getSExtValue()";
}

#endif
