// RUN: epifold-opt %s --epifold-fuse-norm-statistics | FileCheck %s
// RUN: epifold-opt %s --epifold-fuse-norm-statistics %{verify-remarks}

// Launches that keep their statistics apart, each function named by the cause.
// CHECK-NOT: kernel.cascade

#rn = affine_map<(g, r, n) -> (r, n)>
#gn = affine_map<(g, r, n) -> (g, r, n)>
#id = affine_map<(a, b) -> (a, b)>
#rows = affine_map<(b, t, c) -> (b, t, c)>
#mean = affine_map<(b, t, c) -> (b, 0, 0)>
#rstd = affine_map<(b, t, c) -> (b, 0, 1)>

func.func @samplesBeginInATile(%x: tensor<90x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<2x1x1x1x3xf32> {
  %0 = kernel.empty affine_map<() -> (90, 64)> : tensor<90x64xbf16>
  %1 = kernel.gemm a(%x : tensor<90x64xbf16>) b(%w : tensor<64x64xbf16>) outs(%0 : tensor<90x64xbf16>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    %5 = arith.truncf %acc : f32 to bf16
    kernel.yield %5 : bf16
  } -> tensor<90x64xbf16>
  %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<() -> (2, 45, 64)> : tensor<90x64xbf16> -> tensor<2x45x64xbf16>
  %3 = kernel.empty affine_map<() -> (2, 1, 1, 1, 3)> : tensor<2x1x1x1x3xf32>
  // expected-remark@+1 {{samples do not begin where tiles of 64 rows do}}
  %4 = kernel.leaf_stats ins(%2 : tensor<2x45x64xbf16>) outs(%3 : tensor<2x1x1x1x3xf32>) {groups = 1 : i64} -> tensor<2x1x1x1x3xf32>
  return %4 : tensor<2x1x1x1x3xf32>
}

func.func @groupsBeginInATile(%x: tensor<64x96xf32>) -> tensor<1x2x1x1x3xf32> {
  %0 = kernel.empty affine_map<() -> (64, 96)> : tensor<64x96xf32>
  %1 = kernel.map ins(%x : tensor<64x96xf32>) outs(%0 : tensor<64x96xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  } -> tensor<64x96xf32>
  %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<() -> (1, 64, 96)> : tensor<64x96xf32> -> tensor<1x64x96xf32>
  %3 = kernel.empty affine_map<() -> (1, 2, 1, 1, 3)> : tensor<1x2x1x1x3xf32>
  // expected-remark@+1 {{groups do not begin where tiles of 64 columns do}}
  %4 = kernel.leaf_stats ins(%2 : tensor<1x64x96xf32>) outs(%3 : tensor<1x2x1x1x3xf32>) {groups = 2 : i64} -> tensor<1x2x1x1x3xf32>
  return %4 : tensor<1x2x1x1x3xf32>
}

func.func @channelsAreNotColumns(%x: tensor<64x96xf32>) -> tensor<1x1x2x1x3xf32> {
  %0 = kernel.empty affine_map<() -> (64, 96)> : tensor<64x96xf32>
  %1 = kernel.map ins(%x : tensor<64x96xf32>) outs(%0 : tensor<64x96xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  } -> tensor<64x96xf32>
  %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<() -> (1, 128, 48)> : tensor<64x96xf32> -> tensor<1x128x48xf32>
  %3 = kernel.empty affine_map<() -> (1, 1, 2, 1, 3)> : tensor<1x1x2x1x3xf32>
  // expected-remark@+1 {{the norm's channels are not its columns}}
  %4 = kernel.leaf_stats ins(%2 : tensor<1x128x48xf32>) outs(%3 : tensor<1x1x2x1x3xf32>) {groups = 1 : i64} -> tensor<1x1x2x1x3xf32>
  return %4 : tensor<1x1x2x1x3xf32>
}

func.func @productOfGroups(%x: tensor<64x64xbf16>, %w: tensor<2x64x64xbf16>) -> tensor<2x1x1x1x3xf32> {
  %0 = kernel.empty affine_map<() -> (2, 64, 64)> : tensor<2x64x64xbf16>
  %1 = kernel.gemm a(%x : tensor<64x64xbf16>) b(%w : tensor<2x64x64xbf16>) outs(%0 : tensor<2x64x64xbf16>) attributes {indexing_maps = [#gn]} {
  ^bb0(%acc: f32):
    %5 = arith.truncf %acc : f32 to bf16
    kernel.yield %5 : bf16
  } -> tensor<2x64x64xbf16>
  %3 = kernel.empty affine_map<() -> (2, 1, 1, 1, 3)> : tensor<2x1x1x1x3xf32>
  // expected-remark@+1 {{the product has rows of several groups}}
  %4 = kernel.leaf_stats ins(%1 : tensor<2x64x64xbf16>) outs(%3 : tensor<2x1x1x1x3xf32>) {groups = 1 : i64} -> tensor<2x1x1x1x3xf32>
  return %4 : tensor<2x1x1x1x3xf32>
}

func.func @othersWriteTheBuffer(%x: tensor<64x64xf32>, %buffer: tensor<64x64xf32>) -> tensor<1x1x1x1x3xf32> {
  %1 = kernel.map ins(%x : tensor<64x64xf32>) outs(%buffer : tensor<64x64xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  } -> tensor<64x64xf32>
  %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<() -> (1, 64, 64)> : tensor<64x64xf32> -> tensor<1x64x64xf32>
  %3 = kernel.empty affine_map<() -> (1, 1, 1, 1, 3)> : tensor<1x1x1x1x3xf32>
  // expected-remark@+1 {{it writes a part of a buffer that others write}}
  %4 = kernel.leaf_stats ins(%2 : tensor<1x64x64xf32>) outs(%3 : tensor<1x1x1x1x3xf32>) {groups = 1 : i64} -> tensor<1x1x1x1x3xf32>
  return %4 : tensor<1x1x1x1x3xf32>
}

func.func @statisticsAreNeededElsewhere(%x: tensor<1x45x64xf32>, %leaves: tensor<1x1x1x1x3xf32>) -> (tensor<1x45x64xf32>, tensor<1x1x2xf32>) {
  %0 = kernel.empty affine_map<() -> (1, 1, 2)> : tensor<1x1x2xf32>
  %1 = kernel.merge_stats ins(%leaves : tensor<1x1x1x1x3xf32>) outs(%0 : tensor<1x1x2xf32>) {epsilon = 1.0e-05 : f64} -> tensor<1x1x2xf32>
  %2 = kernel.empty affine_map<() -> (1, 45, 64)> : tensor<1x45x64xf32>
  // expected-remark@+1 {{the statistics are needed elsewhere}}
  %3 = kernel.map ins(%x, %1 : tensor<1x45x64xf32>, tensor<1x1x2xf32>) outs(%2 : tensor<1x45x64xf32>) attributes {domain = 2 : i64, indexing_maps = [#rows, #mean, #rows]} {
  ^bb0(%a: f32, %m: f32):
    %4 = arith.subf %a, %m : f32
    kernel.yield %4 : f32
  } -> tensor<1x45x64xf32>
  return %3, %1 : tensor<1x45x64xf32>, tensor<1x1x2xf32>
}

func.func @severalGroups(%x: tensor<1x45x128xf32>, %leaves: tensor<1x2x1x1x3xf32>) -> tensor<1x45x128xf32> {
  %0 = kernel.empty affine_map<() -> (1, 2, 2)> : tensor<1x2x2xf32>
  %1 = kernel.merge_stats ins(%leaves : tensor<1x2x1x1x3xf32>) outs(%0 : tensor<1x2x2xf32>) {epsilon = 1.0e-05 : f64} -> tensor<1x2x2xf32>
  %2 = kernel.empty affine_map<() -> (1, 45, 128)> : tensor<1x45x128xf32>
  // expected-remark@+1 {{rows have statistics of several groups}}
  %3 = kernel.map ins(%x, %1 : tensor<1x45x128xf32>, tensor<1x2x2xf32>) outs(%2 : tensor<1x45x128xf32>) attributes {domain = 2 : i64, indexing_maps = [#rows, #mean, #rows]} {
  ^bb0(%a: f32, %m: f32):
    %4 = arith.subf %a, %m : f32
    kernel.yield %4 : f32
  } -> tensor<1x45x128xf32>
  return %3 : tensor<1x45x128xf32>
}

func.func @tooManyLeaves(%x: tensor<1x65536x512xf32>, %leaves: tensor<1x1x1024x8x3xf32>) -> tensor<1x65536x512xf32> {
  %0 = kernel.empty affine_map<() -> (1, 1, 2)> : tensor<1x1x2xf32>
  %1 = kernel.merge_stats ins(%leaves : tensor<1x1x1024x8x3xf32>) outs(%0 : tensor<1x1x2xf32>) {epsilon = 1.0e-05 : f64} -> tensor<1x1x2xf32>
  %2 = kernel.empty affine_map<() -> (1, 65536, 512)> : tensor<1x65536x512xf32>
  // expected-remark@+1 {{every block would merge 8192 leaves}}
  %3 = kernel.map ins(%x, %1 : tensor<1x65536x512xf32>, tensor<1x1x2xf32>) outs(%2 : tensor<1x65536x512xf32>) attributes {domain = 2 : i64, indexing_maps = [#rows, #mean, #rows]} {
  ^bb0(%a: f32, %m: f32):
    %4 = arith.subf %a, %m : f32
    kernel.yield %4 : f32
  } -> tensor<1x65536x512xf32>
  return %3 : tensor<1x65536x512xf32>
}

// Rows of all samples, each with its sample's statistics, in another order.
func.func @theSampleIsInside(%x: tensor<45x2x64xf32>, %leaves: tensor<2x1x1x1x3xf32>) -> tensor<45x2x64xf32> {
  %0 = kernel.empty affine_map<() -> (2, 1, 2)> : tensor<2x1x2xf32>
  %1 = kernel.merge_stats ins(%leaves : tensor<2x1x1x1x3xf32>) outs(%0 : tensor<2x1x2xf32>) {epsilon = 1.0e-05 : f64} -> tensor<2x1x2xf32>
  %2 = kernel.empty affine_map<() -> (45, 2, 64)> : tensor<45x2x64xf32>
  // expected-remark@+1 {{the outermost dimension is not the sample}}
  %3 = kernel.map ins(%x, %1 : tensor<45x2x64xf32>, tensor<2x1x2xf32>) outs(%2 : tensor<45x2x64xf32>) attributes {domain = 2 : i64, indexing_maps = [#rows, affine_map<(t, b, c) -> (b, 0, 0)>, #rows]} {
  ^bb0(%a: f32, %m: f32):
    %4 = arith.subf %a, %m : f32
    kernel.yield %4 : f32
  } -> tensor<45x2x64xf32>
  return %3 : tensor<45x2x64xf32>
}

// 108 tiles of 96 columns fill a chip, 80 of 128 do not.
func.func @tilesOfWholeLeavesAreWide(%x: tensor<1x512x2560xbf16>, %w: tensor<3x2560x2560xbf16>) -> tensor<1x1x8x40x3xf32> {
  %0 = kernel.empty affine_map<() -> (512, 2560)> : tensor<512x2560xbf16>
  %1 = kernel.gemm a(%x : tensor<1x512x2560xbf16>) b(%w : tensor<3x2560x2560xbf16>) outs(%0 : tensor<512x2560xbf16>) attributes {dilation = 1 : i64, indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    %5 = arith.truncf %acc : f32 to bf16
    kernel.yield %5 : bf16
  } -> tensor<512x2560xbf16>
  %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<() -> (1, 512, 2560)> : tensor<512x2560xbf16> -> tensor<1x512x2560xbf16>
  %3 = kernel.empty affine_map<() -> (1, 1, 8, 40, 3)> : tensor<1x1x8x40x3xf32>
  // expected-remark@+1 {{tiles of whole leaves would take longer}}
  %4 = kernel.leaf_stats ins(%2 : tensor<1x512x2560xbf16>) outs(%3 : tensor<1x1x8x40x3xf32>) {groups = 1 : i64} -> tensor<1x1x8x40x3xf32>
  return %4 : tensor<1x1x8x40x3xf32>
}
