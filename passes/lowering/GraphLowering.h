// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// State and helpers shared by the lowerings of graph ops to kernel ops.

#ifndef EPIFOLD_PASSES_LOWERING_GRAPHLOWERING_H
#define EPIFOLD_PASSES_LOWERING_GRAPHLOWERING_H

#include "ir/graph/GraphDialect.h"
#include "ir/kernel/KernelDialect.h"
#include "passes/SizeAnalysis.h"

namespace epifold {

/// What a graph value has become.
struct Lowered {
  /// Dense tensor of `sizes`; for ragged rows the whole [slots, width] buffer.
  /// Null for a splat constant.
  mlir::Value tensor;
  llvm::SmallVector<mlir::AffineExpr> sizes;
  /// Of ragged rows: the experts' first rows, and the one expert whose rows
  /// these are.
  mlir::Value offsets;
  std::optional<int64_t> expert;
  /// Every element of a splat constant.
  mlir::TypedAttr splat;

  bool isRagged() const { return static_cast<bool>(offsets); }
};

/// What a routing value has become.
struct LoweredRouting {
  mlir::Value offsets;   ///< i64 [experts + 1]
  mlir::Value slotOfRow; ///< i32 [slots]
  mlir::Value rowOfSlot; ///< i32 [slots]
  mlir::AffineExpr slots;
  int64_t topk = 1;
};

/// Lowers one graph function, op by op: each op becomes launches of its own, in
/// the graph's order.
class GraphLowering {
public:
  GraphLowering(mlir::OpBuilder &builder, const SizeAnalysis &analysis);

  /// Makes `argument` the value of a graph argument; `layout` is the
  /// permutation it is stored in, when packed.
  void bindArgument(mlir::Value graphArgument, mlir::Value argument,
                    llvm::ArrayRef<int64_t> layout);
  mlir::LogicalResult lower(mlir::Operation *op);
  /// A dense tensor that is the value of a graph result and of nothing else.
  mlir::Value materializeResult(mlir::Value graphValue);

private:
  // Views and copies (LowerViews.cpp).
  void lowerConstant(graph::ConstantOp op);
  void lowerSelect(graph::SelectOp op);
  mlir::LogicalResult lowerSlice(graph::SliceOp op);
  void lowerTranspose(graph::TransposeOp op);
  void lowerStack(graph::StackOp op);
  mlir::LogicalResult lowerConcat(graph::ConcatOp op);
  /// Elements `begin…` of dimension `dim`: a view where they are contiguous,
  /// else a copy of `sizes`. Null where neither can be: the start depends on a
  /// dynamic size and the elements are not contiguous.
  mlir::Value takeRange(const Lowered &input, int64_t dim,
                        mlir::AffineExpr begin,
                        llvm::ArrayRef<mlir::AffineExpr> sizes);

  // Elementwise (LowerElementwise.cpp).
  mlir::LogicalResult lowerElementwise(graph::ElementwiseOpInterface op);

  // Products (LowerProducts.cpp).
  void lowerMatmul(graph::MatmulOp op);
  void lowerExpertMatmul(graph::ExpertMatmulOp op);
  void lowerConvolution(mlir::Operation *op, mlir::Value input,
                        mlir::Value weight, int64_t dilation, bool experts);
  mlir::Value tapMajorWeight(mlir::Value graphWeight);

  // Rows, norms, losses (LowerRows.cpp).
  void lowerEmbedding(graph::EmbeddingOp op);
  void lowerSoftmax(graph::SoftmaxOp op);
  void lowerReduceSum(graph::ReduceSumOp op);
  void lowerGroupNorm(graph::GroupNormOp op);
  void lowerLayerNorm(graph::LayerNormOp op);
  void lowerRmsNorm(graph::RmsNormOp op);
  void lowerCrossEntropy(graph::CrossEntropyOp op);

  // Routing (LowerRouting.cpp).
  void lowerTopK(graph::TopKOp op);
  void lowerRoute(graph::RouteOp op);
  void lowerDispatch(mlir::Operation *op, mlir::Value input,
                     mlir::Value routing, std::optional<int64_t> expert,
                     bool slotValues);
  mlir::LogicalResult lowerCombine(graph::CombineOp op);
  mlir::Value chainExperts(graph::CombineOp op);

  // Helpers (GraphLowering.cpp).
  mlir::AffineExpr constant(int64_t value) const;
  mlir::RankedTensorType typeOf(llvm::ArrayRef<mlir::AffineExpr> sizes,
                                mlir::Type element) const;
  mlir::Value empty(llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::Type element);
  /// Elements from `offset` on in the shape `sizes`: a view, or a copy where a
  /// view would start between the places at which kernels may read whole
  /// pieces. Null where it can be neither: such a start that is not static.
  mlir::Value view(mlir::Value tensor, mlir::AffineExpr offset,
                   llvm::ArrayRef<mlir::AffineExpr> sizes);
  mlir::Value reshape(mlir::Value tensor,
                      llvm::ArrayRef<mlir::AffineExpr> sizes);
  /// The dense tensor of a graph value; a splat is written to memory.
  mlir::Value tensorOf(mlir::Value graphValue);
  /// It as [product of the leading sizes, last size].
  mlir::Value rowsOf(mlir::Value graphValue);
  /// All leading sizes of `sizes` multiplied, then the last.
  llvm::SmallVector<mlir::AffineExpr>
  flattenRows(llvm::ArrayRef<mlir::AffineExpr> sizes) const;
  void set(mlir::Value graphValue, mlir::Value tensor);
  void setLike(mlir::Value graphValue, mlir::Value tensor, const Lowered &rows);

  using ScalarCode =
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)>;
  /// Builds a `kernel.map` over `outs` (domain operand `domain`, the first out
  /// when absent).
  mlir::Value map(llvm::ArrayRef<mlir::Value> ins,
                  llvm::ArrayRef<mlir::AffineMap> maps, mlir::Value out,
                  const Lowered *rows, std::optional<int64_t> domain,
                  ScalarCode code);
  /// A copy through `inMap` into `out` through `outMap`; the domain is the out
  /// unless `domainIsInput`.
  mlir::Value copy(mlir::Value input, mlir::AffineMap inMap, mlir::Value out,
                   mlir::AffineMap outMap, bool domainIsInput);
  struct Product {
    mlir::Value a, b, offsets;
    std::optional<int64_t> dilation, expert;
    /// The rows of B that are used, when not all are.
    std::optional<std::pair<int64_t, int64_t>> range;
    mlir::AffineMap outMap;
  };
  /// A `kernel.gemm` whose epilogue only rounds to `out`'s elements.
  mlir::Value gemm(const Product &product, mlir::Value out);
  template <typename OpTy, typename... Attributes>
  mlir::ResultRange launch(mlir::ValueRange ins, mlir::ValueRange outs,
                           Attributes &&...attributes) {
    return OpTy::create(builder, location, mlir::TypeRange(outs), ins, outs,
                        std::forward<Attributes>(attributes)...)
        .getResults();
  }

  mlir::OpBuilder &builder;
  mlir::MLIRContext *context;
  mlir::Location location;
  const SizeAnalysis &analysis;
  llvm::DenseMap<mlir::Value, Lowered> values;
  llvm::DenseMap<mlir::Value, LoweredRouting> routings;
  /// Packed tensors (parameters and one expert's part of them): dimension i in
  /// memory is dimension layouts[i] of the graph's.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int64_t>> layouts;
  llvm::DenseSet<mlir::Value> usedRoots;
};

/// The permutation in which kernels stream the convolution weight `argument`,
/// or nothing when it is stored as it is: taps outermost (after the experts),
/// so that each tap is one [o, ci] matrix.
std::optional<llvm::SmallVector<int64_t>>
planLayout(mlir::BlockArgument argument);

/// Whether `use` is an expert_matmul's use of a slice of every expert's rows.
bool isPartOfExpertWeights(mlir::OpOperand &use);

/// The sizes in which a launch made the elements of `tensor`, before they were
/// viewed in another shape; none of an argument's.
llvm::SmallVector<mlir::AffineExpr> findOriginalSizes(mlir::Value tensor);

/// `value` widened to its compute type.
mlir::Value widen(mlir::OpBuilder &builder, mlir::Location location,
                  mlir::Value value);
/// `value` rounded to `element` when it is wider.
mlir::Value narrow(mlir::OpBuilder &builder, mlir::Location location,
                   mlir::Value value, mlir::Type element);

} // namespace epifold

#endif // EPIFOLD_PASSES_LOWERING_GRAPHLOWERING_H
