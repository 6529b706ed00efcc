// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Scalar code of regions: what it computes and what it refuses.

#include "tests/unit/reference/TestSupport.h"

#include <cmath>

using namespace epifold::reference;
using namespace epifold::reference::test;

namespace {

/// A map of two f32 vectors whose region is `code`, yielding %r of type `type`.
std::string writeMap(const std::string &code, const std::string &type,
                     const std::string &input = "f32") {
  std::string in = "tensor<4x" + input + ">", out = "tensor<4x" + type + ">";
  return "func.func @f(%a: " + in + " {graph.input = \"a\"}, %b: " + in +
         " {graph.input = \"b\"}) -> (" + out +
         " {graph.result = \"y\"}) {\n%o = kernel.empty affine_map<() -> (4)> "
         ": " +
         out + "\n%y = kernel.map ins(%a, %b : " + in + ", " + in +
         ") outs(%o : " + out +
         ") attributes {indexing_maps = [affine_map<(i) -> (i)>, "
         "affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], domain = "
         "2 : i64} {\n^bb0(%p: " +
         input + ", %q: " + input + "):\n" + code +
         "\nkernel.yield %r : " + type + "\n} -> " + out +
         "\nreturn %y : " + out + " }";
}

Tensors makeInputs() {
  return {{"a", makeTensor(ElementType::F32, 4, {1, -0.0, NAN, 2})},
          {"b", makeTensor(ElementType::F32, 4, {2, 0, 1, 2})}};
}

std::vector<double> compute(const std::string &code) {
  return toDoubles(run(writeMap(code, "f32"), makeInputs()).at("y"));
}
std::vector<int64_t> compare(const std::string &predicate) {
  return toIntegers(
      run(writeMap("%r = arith.cmpf " + predicate + ", %p, %q : f32", "i1"),
          makeInputs())
          .at("y"));
}

TEST(ScalarProgram, comparesByEveryPredicate) {
  using V = std::vector<int64_t>;
  EXPECT_EQ(compare("oeq"), V({0, 1, 0, 1}));
  EXPECT_EQ(compare("ogt"), V({0, 0, 0, 0}));
  EXPECT_EQ(compare("olt"), V({1, 0, 0, 0}));
  EXPECT_EQ(compare("oge"), V({0, 1, 0, 1}));
  EXPECT_EQ(compare("ole"), V({1, 1, 0, 1}));
  EXPECT_EQ(compare("one"), V({1, 0, 0, 0}));
  EXPECT_EQ(compare("ord"), V({1, 1, 0, 1}));
  EXPECT_EQ(compare("ueq"), V({0, 1, 1, 1}));
  EXPECT_EQ(compare("ugt"), V({0, 0, 1, 0}));
  EXPECT_EQ(compare("ult"), V({1, 0, 1, 0}));
  EXPECT_EQ(compare("une"), V({1, 0, 1, 0}));
  EXPECT_EQ(compare("uno"), V({0, 0, 1, 0}));
}

TEST(ScalarProgram, computesAndSelects) {
  std::vector<double> y = compute(
      "%c = arith.cmpf olt, %p, %q : f32\n%k = arith.constant 3.0 : f32\n"
      "%s = arith.subf %p, %k : f32\n%r = arith.select %c, %s, %q : f32");
  EXPECT_EQ(y, std::vector<double>({-2, 0, 1, 2}));
  y = compute("%k = arith.constant 0.5 : f32\n%m = math.fma %q, %k, %q : "
              "f32\n%n = arith.negf %m : f32\n"
              "%r = arith.divf %n, %k : f32");
  EXPECT_EQ(y, std::vector<double>({-6, -0.0, -3, -6}));
  y = compute(
      "%d = arith.extf %q : f32 to f64\n%e = arith.addf %d, %d : f64\n%f = "
      "arith.truncf %e : f64 to f32\n"
      "%h = arith.truncf %f : f32 to bf16\n%r = arith.extf %h : bf16 to f32");
  EXPECT_EQ(y, std::vector<double>({4, 0, 2, 4}));
}

TEST(ScalarProgram, computesOnIntegers) {
  Tensors integers = {
      {"a", makeIndices(ElementType::I32, 4, {1, -2, 3, 2147483647})},
      {"b", makeIndices(ElementType::I32, 4, {5, 5, -5, 1})}};
  EXPECT_EQ(
      toIntegers(
          run(writeMap("%r = arith.addi %p, %q : i32", "i32", "i32"), integers)
              .at("y")),
      std::vector<int64_t>({6, 3, -2, -2147483648}));
  EXPECT_EQ(toIntegers(run(writeMap("%l = arith.extsi %p : i32 to i64\n%m = "
                                    "arith.extsi %q : i32 to i64\n"
                                    "%r = arith.muli %l, %m : i64",
                                    "i64", "i32"),
                           integers)
                           .at("y")),
            std::vector<int64_t>({5, -10, -15, 2147483647}));
  EXPECT_EQ(
      toIntegers(run(writeMap("%r = arith.cmpi slt, %p, %q : i32", "i1", "i32"),
                     integers)
                     .at("y")),
      std::vector<int64_t>({1, 1, 0, 0}));
}

TEST(ScalarProgram, refusesWhatTheContractDoesNotDefine) {
  EXPECT_NE(runError(writeMap("%d = arith.extf %p : f32 to f64\n%h = "
                              "arith.truncf %d : f64 to bf16\n"
                              "%r = arith.extf %h : bf16 to f32",
                              "f32"),
                     makeInputs())
                .find("round to f32 first"),
            std::string::npos);
  EXPECT_NE(runError(writeMap("%h = arith.truncf %p : f32 to bf16\n%i = "
                              "arith.addf %h, %h : bf16\n"
                              "%r = arith.extf %i : bf16 to f32",
                              "f32"),
                     makeInputs())
                .find("extend them to f32 first"),
            std::string::npos);
  EXPECT_NE(runError(writeMap("%r = math.sin %p : f32", "f32"), makeInputs())
                .find("'math.sin' is not a scalar op that the reference knows"),
            std::string::npos);
}

} // namespace
