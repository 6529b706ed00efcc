// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The workloads against their float64 vectors, and the properties the contract
// promises of them.

#include "tests/unit/reference/Models.h"
#include "tests/unit/reference/TestSupport.h"

#include "llvm/Support/JSON.h"

#include <cmath>

using namespace epifold::reference;
using namespace epifold::reference::test;

namespace {

/// A vector file and the type its graph is evaluated in.
struct Case {
  const char *file;
  ElementType type;
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest calls it by name.
void PrintTo(const Case &testCase, std::ostream *stream) {
  *stream << testCase.file << " in " << getName(testCase.type).str();
}

Types getTypes(ElementType type) {
  return {getName(type).str(), type == ElementType::F64 ? "f64" : "f32"};
}

/// Inputs and weights in the type under test; indices as they are.
Tensors convertInputs(const Tensors &tensors, ElementType type) {
  Tensors inputs;
  for (const auto &[name, tensor] : tensors)
    if (llvm::StringRef(name).starts_with("in.") ||
        llvm::StringRef(name).starts_with("w."))
      inputs[name] =
          isFloat(tensor.getElementType())
              ? makeTensor(type, tensor.getShape(), toDoubles(tensor))
              : tensor;
  return inputs;
}

/// Compares every result with the tensor of its name: floats within a part of
/// the largest expected magnitude.
void compare(const Tensors &results, const Tensors &expected,
             double tolerance) {
  ASSERT_FALSE(results.empty());
  for (const auto &[name, result] : results) {
    ASSERT_TRUE(expected.count(name)) << name;
    const Tensor &wanted = expected.at(name);
    ASSERT_EQ(result.getShape(), wanted.getShape()) << name;
    if (!isFloat(result.getElementType())) {
      EXPECT_EQ(toIntegers(result), toIntegers(wanted)) << name;
      continue;
    }
    std::vector<double> a = toDoubles(result), b = toDoubles(wanted);
    double largest = 0, difference = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      largest = std::max(largest, std::fabs(b[i]));
      // Not max(): a NaN must fail.
      if (!(std::fabs(a[i] - b[i]) <= difference))
        difference = std::fabs(a[i] - b[i]);
    }
    EXPECT_LE(difference, tolerance * largest) << name;
    EXPECT_GT(largest, 0) << name;
  }
}

double getTolerance(ElementType type) {
  return type == ElementType::F64 ? 1e-12 : 1e-5;
}

int64_t getNumber(const Vectors &vectors, llvm::StringRef key) {
  return *llvm::cantFail(llvm::json::parse(vectors.caseText))
              .getAsObject()
              ->getInteger(key);
}

std::string writeMoeOf(const Vectors &vectors, ElementType type) {
  bool renormalise = *llvm::cantFail(llvm::json::parse(vectors.caseText))
                          .getAsObject()
                          ->getBoolean("renormalise");
  return writeMoe(getTypes(type), getNumber(vectors, "d"),
                  getNumber(vectors, "n"), getNumber(vectors, "E"),
                  getNumber(vectors, "K"), renormalise);
}

class FoldTest : public testing::TestWithParam<Case> {};
TEST_P(FoldTest, matchesVectors) {
  Vectors vectors = readVectors(GetParam().file);
  if (vectors.tensors.empty())
    return; // the test has failed
  ElementType type = GetParam().type;
  std::string text =
      writeFold(getTypes(type), getNumber(vectors, "E"),
                getNumber(vectors, "d"), getNumber(vectors, "dilation"));
  compare(run(text, convertInputs(vectors.tensors, type)), vectors.tensors,
          getTolerance(type));
}
INSTANTIATE_TEST_SUITE_P(
    Vectors, FoldTest,
    testing::Values(
        Case{"fold_E30_T16_d8_dil1_f64.safetensors", ElementType::F64},
        Case{"fold_E30_T16_d8_dil2_f64.safetensors", ElementType::F64},
        Case{"fold_E4_T24_d8_dil1_f64.safetensors", ElementType::F64},
        Case{"fold_E30_T16_d8_dil1_f32.safetensors", ElementType::F32},
        Case{"fold_E30_T16_d8_dil2_f32.safetensors", ElementType::F32},
        Case{"fold_E4_T24_d8_dil1_f32.safetensors", ElementType::F32}));

class ClmTest : public testing::TestWithParam<Case> {};
TEST_P(ClmTest, matchesVectors) {
  Vectors vectors = readVectors(GetParam().file);
  if (vectors.tensors.empty())
    return; // the test has failed
  ElementType type = GetParam().type;
  std::string text =
      writeClm(getTypes(type), getNumber(vectors, "B"), getNumber(vectors, "d"),
               getNumber(vectors, "E"), getNumber(vectors, "V"),
               getNumber(vectors, "dilation"));
  compare(run(text, convertInputs(vectors.tensors, type)), vectors.tensors,
          getTolerance(type));
}
INSTANTIATE_TEST_SUITE_P(
    Vectors, ClmTest,
    testing::Values(
        Case{"clm_B1_T16_d8_E4.safetensors", ElementType::F64},
        Case{"clm_B1_T16_d8_E4.safetensors", ElementType::F32},
        Case{"clm_B2_T24_d16_E2_dil2_step.safetensors", ElementType::F64},
        Case{"clm_B2_T24_d16_E2_dil2_step.safetensors", ElementType::F32}));

class MoeTest : public testing::TestWithParam<Case> {};
TEST_P(MoeTest, matchesVectors) {
  Vectors vectors = readVectors(GetParam().file);
  if (vectors.tensors.empty())
    return; // the test has failed
  compare(run(writeMoeOf(vectors, GetParam().type),
              convertInputs(vectors.tensors, GetParam().type)),
          vectors.tensors, getTolerance(GetParam().type));
}
INSTANTIATE_TEST_SUITE_P(
    Vectors, MoeTest,
    testing::Values(
        Case{"moe_T16_d64_n32_E8_K2_empty.safetensors", ElementType::F64},
        Case{"moe_T1_d64_n32_E16_K4.safetensors", ElementType::F64},
        Case{"moe_T20_d32_n16_E4_K2_ties.safetensors", ElementType::F64},
        Case{"moe_T33_d64_n48_E8_K2.safetensors", ElementType::F64},
        Case{"moe_T16_d64_n32_E8_K2_empty.safetensors", ElementType::F32},
        Case{"moe_T1_d64_n32_E16_K4.safetensors", ElementType::F32},
        Case{"moe_T20_d32_n16_E4_K2_ties.safetensors", ElementType::F32},
        Case{"moe_T33_d64_n48_E8_K2.safetensors", ElementType::F32}));

/// Rows of a tensor whose first dimension counts tokens.
Tensor takeRow(const Tensor &tensor, int64_t row) {
  Tensor::Shape shape(tensor.getShape());
  shape.front() = 1;
  int64_t size = tensor.getNumElements() / tensor.getDim(0);
  return tensor.view(row * size, shape);
}

class PromiseTest : public testing::TestWithParam<ElementType> {};

TEST_P(PromiseTest, aRowAloneHasItsBitsInABatch) {
  Vectors vectors = readVectors("moe_T33_d64_n48_E8_K2.safetensors");
  if (vectors.tensors.empty())
    return; // the test has failed
  Tensors inputs = convertInputs(vectors.tensors, GetParam());
  std::string text = writeMoeOf(vectors, GetParam());
  Tensors batch = run(text, inputs);
  for (int64_t row : {0, 7, 32}) {
    Tensors alone = inputs;
    alone["in.x"] = takeRow(inputs["in.x"], row);
    Tensors results = run(text, alone);
    for (const char *name : {"out.y", "out.topk_weight", "out.topk_index"})
      EXPECT_TRUE(areEqual(takeRow(batch.at(name), row), results.at(name)))
          << name << " of row " << row;
  }
}

TEST_P(PromiseTest, threadsDoNotChangeBits) {
  Program program(writeClm(getTypes(GetParam()), 2, 72, 3, 40, 2));
  Tensors inputs;
  unsigned seed = 0;
  mlir::func::FuncOp function = program.getFunction();
  for (mlir::BlockArgument argument : function.getArguments()) {
    auto type = llvm::cast<mlir::RankedTensorType>(argument.getType());
    if (auto name = function.getArgAttrOfType<mlir::StringAttr>(
            argument.getArgNumber(), "graph.param"))
      inputs[name.str()] = makeRandom(GetParam(), type.getShape(), ++seed);
  }
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < 2 * 71; ++i)
    tokens.push_back(i * 17 % 40);
  inputs["in.tokens"] = makeIndices(ElementType::I64, {2, 71}, tokens);
  Options options;
  std::optional<Result> first;
  for (unsigned threads : {1, 2, 5}) {
    options.threads = threads;
    Result result = llvm::cantFail(program.evaluate(inputs, options));
    if (!first)
      first = result;
    for (auto [a, b] : llvm::zip(first->results, result.results))
      EXPECT_TRUE(areEqual(a.second, b.second))
          << a.first << " with " << threads << " threads";
  }
}

TEST_P(PromiseTest, aTokenInErrorLeavesItsNeighboursAlone) {
  Vectors vectors = readVectors("moe_T33_d64_n48_E8_K2.safetensors");
  if (vectors.tensors.empty())
    return; // the test has failed
  Tensors inputs = convertInputs(vectors.tensors, GetParam());
  std::string text = writeMoeOf(vectors, GetParam());
  Tensors clean = run(text, inputs);
  std::vector<double> x = toDoubles(inputs["in.x"]);
  for (int64_t row : {5, 17})
    x[row * 64 + 3] = NAN;
  inputs["in.x"] = makeTensor(GetParam(), {33, 64}, x);
  Status status;
  Tensors results = run(text, inputs, &status);
  EXPECT_EQ(status.nanLogitsRow, 5);
  EXPECT_EQ(status.indexErrorRow, -1);
  for (int64_t row = 0; row < 33; ++row) {
    Tensor y = takeRow(results.at("out.y"), row);
    if (row != 5 && row != 17) {
      EXPECT_TRUE(areEqual(y, takeRow(clean.at("out.y"), row))) << row;
      continue;
    }
    for (double value : toDoubles(y))
      EXPECT_TRUE(std::isnan(value)) << row;
    EXPECT_EQ(toIntegers(takeRow(results.at("out.topk_index"), row)),
              std::vector<int64_t>({-1, -1}));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, PromiseTest,
                         testing::Values(ElementType::F64, ElementType::F32,
                                         ElementType::BF16, ElementType::F16));

} // namespace
