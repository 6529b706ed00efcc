// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Copies slabs of a product's operands into swizzled shared memory.

#ifndef EPIFOLD_BACKENDS_PTX_GEMM_SLABCOPIER_H
#define EPIFOLD_BACKENDS_PTX_GEMM_SLABCOPIER_H

#include "backends/ptx/gemm/GemmTile.h"

namespace epifold::ptx {

/// Threads of a block copy slabs into stages of shared memory.
///
/// A stage holds a line for each of the tile's rows of A, then one for each
/// column of the first B, of the second, and so on. A line is one slab of its
/// row: `tileDepth` elements, 32 to 128 bytes, in 16-byte pieces. Pieces are
/// placed so that those of eight neighbouring lines at one depth take different
/// banks; lines of 128 bytes are placed as wgmma's 128-byte swizzle has them.
///
/// For FMA a thread takes lines eight apart and has neighbouring columns: of
/// each eight pieces' columns, line 8 i + q holds column q p + i, p those of a
/// piece.
class SlabCopier {
public:
  static constexpr int64_t kPieceBytes = 16;
  static constexpr int64_t kPiece = 8; ///< 16-bit elements of a piece.

  /// Which operands it copies.
  struct Parts {
    bool a, bs;
  };

  /// Copies with the block's first `threads` threads, a power of two.
  SlabCopier(KernelBuilder &b, const GemmProblem &problem,
             const GemmSchedule &schedule, int64_t threads,
             Parts parts = {true, true})
      : b(b), problem(problem), schedule(schedule), threads(threads),
        parts(parts) {}

  /// Elements of a piece.
  int64_t piece() const { return kPieceBytes / problem.elementBytes(); }
  int64_t lineBytes() const {
    return schedule.tileDepth * problem.elementBytes();
  }
  int64_t stageBytes() const { return stageBytes(problem, schedule); }
  static int64_t stageBytes(const GemmProblem &problem,
                            const GemmSchedule &schedule) {
    return (schedule.tileRows + problem.products * schedule.tileColumns) *
           schedule.tileDepth * problem.elementBytes();
  }
  /// First byte of B number `product` in a stage; A starts at 0.
  int64_t firstByteOfB(int64_t product) const {
    return (schedule.tileRows + product * schedule.tileColumns) * lineBytes();
  }
  /// i32 byte, from the first line on, of piece `piece` (i32) of line `line`
  /// (i32).
  mlir::Value swizzledByte(mlir::Value line, mlir::Value piece);

  /// Finds the rows of `tile` that the calling thread copies. `memory` points
  /// to the first stage.
  void locate(const GemmTile &tile, mlir::Value memory);
  /// Starts the copies of slab `index` into the stage at byte `stageStart`
  /// (both i32). What the product does not have becomes zero. The copies are
  /// part of the thread's next cp.async group, or done at once when rows of
  /// 16-bit elements cannot be read in pieces.
  void copySlab(mlir::Value index, mlir::Value stageStart);
  /// Calls `body(carried, index, stageStart)` for every slab of the located
  /// tile in turn, once it is in its stage, while later ones are on their way;
  /// returns the last carried values. For schedules all of whose threads copy
  /// and compute.
  KernelBuilder::Values forEachSlab(
      mlir::ValueRange inits,
      llvm::function_ref<KernelBuilder::Values(
          mlir::ValueRange carried, mlir::Value index, mlir::Value stageStart)>
          body);

private:
  using Value = mlir::Value;

  /// One operand's lines in a stage, and the rows that a thread copies there.
  struct Panel {
    unsigned operand;
    int64_t lines, firstByte;
    llvm::SmallVector<RowOfA> rowsA;
    llvm::SmallVector<RowOfB> rowsB;
    /// Where the thread's piece of each row starts in slab 0; of the first row
    /// alone when the rows are evenly spaced.
    llvm::SmallVector<Value> starts;
  };

  int64_t piecesOfLine() const { return schedule.tileDepth / piece(); }
  int64_t piecesOfThread(const Panel &panel) const {
    return llvm::divideCeil(panel.lines * piecesOfLine(), threads);
  }
  Value lineOfPiece(int64_t number) {
    return b.div(b.add(b.threadId(), b.i32(number * threads)),
                 b.i32(piecesOfLine()));
  }
  /// The column of the tile in line `line` (i32) of a B.
  Value columnOfLine(Value line);
  /// The depth in a slab at which all of a thread's pieces start.
  Value depthOfThread() {
    return b.mul(b.rem(b.threadId(), b.i32(piecesOfLine())), b.i32(piece()));
  }
  void locateA(const GemmTile &tile);
  void locateBs(const GemmTile &tile);
  void setStarts(Panel &panel, bool isEven);
  Value source(const Panel &panel, int64_t number, Value distance);
  void copyAsync(const Panel &panel, int64_t number, const GemmSlab &slab,
                 const SlabOfRow &distance, Value target);
  void copyPiece(const Panel &panel, int64_t number, const GemmSlab &slab,
                 Value stageStart);

  KernelBuilder &b;
  const GemmProblem &problem;
  const GemmSchedule &schedule;
  int64_t threads;
  Parts parts;
  Value memory;
  llvm::SmallVector<Panel> panels; // A, then the B's, as far as copied
};

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_GEMM_SLABCOPIER_H
