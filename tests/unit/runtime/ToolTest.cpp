// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The program epifold-run as its users meet it: exit status, words, files.

#include "FakeDevice.h"
#include "epifold/runtime/Safetensors.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sys/wait.h>

using namespace epifold;
using namespace epifold::runtime;

namespace {

struct ToolResult {
  int status = -1;
  std::string output; ///< Both streams.
};

class ToolTest : public testing::Test {
protected:
  void SetUp() override {
    write("in.safetensors", {{"in.x", floats({3, 4})}});
    write("w.safetensors", {{"w.m", floats({2, 4})}});
    HostTensor t = floats({3, 4}, 0, 2), y = floats({3, 4}, 0.5f, 2);
    write("good.safetensors", {{"out.t", t}, {"out.y", y}});
    std::vector<uint8_t> bytes = serialize(test::makeDoubleAdd(100));
    std::ofstream(folder.file("m.efx"), std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    std::ofstream(folder.file("m.mlir")) << "double";
  }

  static HostTensor floats(Shape shape, float first = 0, float step = 1,
                           DataType type = DataType::F32) {
    HostTensor tensor = *HostTensor::allocate(DataType::F32, std::move(shape));
    auto *values = reinterpret_cast<float *>(tensor.mutableData());
    for (int64_t i = 0; i < tensor.elements(); ++i)
      values[i] = first + step * static_cast<float>(i);
    return *castTensor(tensor, type);
  }

  void write(const std::string &name, const TensorMap &tensors) {
    ASSERT_TRUE(writeSafetensors(folder.file(name), tensors));
  }

  /// Runs the tool in the test's folder; `driver` is a library or "none".
  ToolResult run(const std::string &arguments,
                 const std::string &driver = EPIFOLD_FAKE_DRIVER,
                 const std::string &environment = "") {
    std::string command = "cd '" + folder.path() + "' && " + environment +
                          " EPIFOLD_CACHE_DIR=cache EPIFOLD_CUDA_DRIVER='" +
                          driver + "' EPIFOLD_COMPILER_LIBRARY='" +
                          EPIFOLD_FAKE_COMPILER + "' '" + EPIFOLD_RUN + "' " +
                          arguments + " 2>&1";
    ToolResult result;
    // The tool is tested as a user calls it: by a shell.
    // NOLINTNEXTLINE(bugprone-command-processor)
    FILE *pipe = popen(command.c_str(), "r");
    char buffer[4096];
    while (size_t count = std::fread(buffer, 1, sizeof(buffer), pipe))
      result.output.append(buffer, count);
    result.status = WEXITSTATUS(pclose(pipe));
    return result;
  }

  void expectFailure(const std::string &arguments, int status,
                     const std::string &words,
                     const std::string &driver = EPIFOLD_FAKE_DRIVER) {
    ToolResult result = run(arguments + " --outputs o.safetensors", driver);
    EXPECT_EQ(result.status, status) << arguments << "\n" << result.output;
    EXPECT_NE(result.output.find(words), std::string::npos) << result.output;
    EXPECT_FALSE(std::filesystem::exists(folder.file("o.safetensors")))
        << "something was written";
  }

  test::TemporaryFolder folder;
};

const char *const kFiles = "--inputs in.safetensors --params w.safetensors ";

TEST_F(ToolTest, RunsAnExecutableOnTheDevice) {
  for (const char *launch : {"stream", "graph"}) {
    ToolResult result = run(
        std::string("m.efx ") + kFiles +
        "--outputs o.safetensors --expect good.safetensors --launch=" + launch);
    EXPECT_EQ(result.status, 0) << result.output;
    EXPECT_NE(result.output.find("ran on cuda:0 (Fake GPU, sm_90): 3 launches"),
              std::string::npos)
        << result.output;
    EXPECT_NE(result.output.find("PASS: 2 tensors, 24 elements compared"),
              std::string::npos)
        << result.output;
    auto outputs = SafetensorsFile::open(folder.file("o.safetensors"));
    ASSERT_TRUE(outputs);
    EXPECT_EQ(elementAsDouble(*outputs->tensor("out.y"), 11), 22.5);
  }
}

TEST_F(ToolTest, CompilesAGraphInProcess) {
  ToolResult result =
      run(std::string("m.mlir ") + kFiles + "--expect good.safetensors");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_NE(result.output.find("ran on cuda:0"), std::string::npos);
}

TEST_F(ToolTest, TellsRemarksOfAGraph) {
  ToolResult result = run(std::string("m.mlir --remarks=fused ") + kFiles);
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_NE(result.output.find("remark: [fuse] double is one launch"),
            std::string::npos)
      << result.output;
  expectFailure(std::string("m.mlir --remarks=some ") + kFiles, 2,
                "some not in {all,fused,missed}");
  expectFailure(std::string("m.efx --remarks ") + kFiles, 1,
                "--remarks applies to graphs");
}

TEST_F(ToolTest, LoadsPluginsIntoTheCompiler) {
  expectFailure(std::string("m.mlir --load-pass-plugin=p.so ") + kFiles, 1,
                "this compiler loads no plugin");
}

TEST_F(ToolTest, FallsBackToTheReferenceWithANote) {
  ToolResult result = run(
      std::string("m.mlir ") + kFiles + "--expect good.safetensors", "none");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_NE(result.output.find("note: using the reference on the CPU: no CUDA "
                               "driver"),
            std::string::npos)
      << result.output;
  EXPECT_NE(result.output.find("ran on the reference"), std::string::npos);
  // Asked for by name, the absence is an error.
  expectFailure(std::string("m.mlir --device=cuda:0 ") + kFiles, 1,
                "no CUDA driver", "none");
}

TEST_F(ToolTest, DifferencesFail) {
  write("bad.safetensors", {{"out.t", floats({3, 4}, 0, 2)},
                            {"out.y", floats({3, 4}, 0.5f, 2)},
                            {"other", floats({1})}});
  ToolResult same =
      run(std::string("m.efx ") + kFiles + "--expect bad.safetensors");
  EXPECT_EQ(same.status, 0) << same.output;
  write("bad.safetensors",
        {{"out.t", floats({3, 4}, 0, 2)}, {"out.y", floats({3, 4}, 0.6f, 2)}});
  ToolResult result =
      run(std::string("m.efx ") + kFiles + "--expect bad.safetensors");
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.output.find("FAIL: 12 of 12 elements; first at 0: 0.5"),
            std::string::npos)
      << result.output;
  ToolResult close = run(std::string("m.efx ") + kFiles +
                         "--expect bad.safetensors --rtol 0.01");
  EXPECT_EQ(close.status, 0) << close.output;
  write("bad.safetensors", {{"out.t", floats({3, 4}, 0, 2)}});
  ToolResult absent =
      run(std::string("m.efx ") + kFiles + "--expect bad.safetensors");
  EXPECT_EQ(absent.status, 1);
  EXPECT_NE(absent.output.find("holds no tensor 'out.y'"), std::string::npos);
}

TEST_F(ToolTest, NanLogitsAreReportedAndOutputsWritten) {
  HostTensor x = floats({3, 4});
  reinterpret_cast<float *>(x.mutableData())[7] = NAN;
  write("in.safetensors", {{"in.x", x}});
  for (const char *file : {"m.efx", "m.mlir --device=reference"}) {
    std::filesystem::remove(folder.file("o.safetensors"));
    ToolResult result =
        run(std::string(file) + " " + kFiles + "--outputs o.safetensors");
    EXPECT_EQ(result.status, 1);
    EXPECT_NE(result.output.find("token 7: router logits hold NaN"),
              std::string::npos)
        << result.output;
    EXPECT_TRUE(std::filesystem::exists(folder.file("o.safetensors")));
  }
}

TEST_F(ToolTest, BadInputsAreNamed) {
  for (const std::string file : {"m.efx ", "m.mlir --device=reference "}) {
    expectFailure(file + "--inputs in.safetensors", 1,
                  "parameter 'w.m' (f32[2, 4]) is missing: it is not in "
                  "'in.safetensors'");
    expectFailure(file, 1, "no file was given with --inputs or --params");
    expectFailure(file + "--inputs none.safetensors", 1,
                  "cannot open 'none.safetensors'");
    write("odd.safetensors", {{"in.x", floats({3, 5})}});
    expectFailure(file + "--inputs odd.safetensors --params w.safetensors", 1,
                  "tensor 'in.x' in 'odd.safetensors' is f32[3, 5], the graph "
                  "wants f32[?, 4]");
    write("odd.safetensors", {{"in.x", floats({3, 4}, 0, 1, DataType::F64)}});
    expectFailure(file + "--inputs odd.safetensors --params w.safetensors", 1,
                  "is f64[3, 4], the graph wants f32[?, 4]: convert it, or add "
                  "--cast");
    ToolResult cast =
        run(file + "--inputs odd.safetensors --params w.safetensors --cast "
                   "--expect good.safetensors");
    EXPECT_EQ(cast.status, 0) << cast.output;
  }
  std::ofstream(folder.file("odd.safetensors")) << "damaged";
  expectFailure("m.efx --inputs odd.safetensors", 1,
                "is not a valid safetensors file");
}

TEST_F(ToolTest, DamagedExecutablesAreNotTakenForGraphs) {
  std::filesystem::resize_file(folder.file("m.efx"), 100);
  expectFailure(std::string("m.efx ") + kFiles, 1,
                "'m.efx': the executable is damaged");
  std::ofstream(folder.file("m.efx")) << "double";
  expectFailure(std::string("m.efx ") + kFiles, 1, "is damaged or is none");
  std::ofstream(folder.file("m.mlir")) << "nonsense";
  expectFailure(std::string("m.mlir ") + kFiles, 1,
                "graph.mlir:1:1: error: unknown op");
}

TEST_F(ToolTest, AnExecutableWithoutItsGraphNeedsADevice) {
  expectFailure(std::string("m.efx --device=reference ") + kFiles, 1,
                "holds no graph");
}

TEST_F(ToolTest, OtherCompilerVersionsAreRefused) {
  ToolResult result = run(std::string("m.mlir ") + kFiles, EPIFOLD_FAKE_DRIVER,
                          "FAKE_COMPILER_VERSION=99");
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.output.find("interface version 99"), std::string::npos);
}

TEST_F(ToolTest, BadUsageExitsWithTwo) {
  for (const char *arguments :
       {"", "--nonsense", "m.efx --launch=slow", "m.efx --device=gpu",
        "m.efx --device=cuda:-1", "m.efx --device=cuda:1x", "m.efx --repeat 0",
        "m.efx --peak 700", "m.efx --copy-rate -1 --profile t.json",
        "m.efx --math=quick", "m.efx --rtol 1", "m.efx --rtol -1 --expect x",
        "m.efx --device=reference --profile t.json",
        "m.efx --device=cuda:0 --level=kernel"})
    EXPECT_EQ(run(arguments).status, 2) << arguments;
  EXPECT_EQ(run("--help").status, 0);
  EXPECT_NE(run("--help").output.find("Examples:"), std::string::npos);
  EXPECT_EQ(run("--version").status, 0);
}

TEST_F(ToolTest, RepeatsAndProfiles) {
  ToolResult result =
      run(std::string("m.efx ") + kFiles +
          "--repeat 5 --profile t.json --peak 700 --copy-rate 4200");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_NE(result.output.find("5 further runs: median 3.0000 ms"),
            std::string::npos)
      << result.output;
  std::ifstream stream(folder.file("t.json"));
  std::string trace((std::istreambuf_iterator<char>(stream)), {});
  EXPECT_NE(trace.find("double_f32"), std::string::npos);
  EXPECT_NE(trace.find("copy_share"), std::string::npos);
}

TEST_F(ToolTest, AnExecutableHasItsMathMode) {
  ToolResult result = run(std::string("m.efx ") + kFiles + "--math=fast");
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.output.find("is compiled already: --math applies to graphs"),
            std::string::npos)
      << result.output;
}

TEST_F(ToolTest, LinksLibcAlone) {
  // NOLINTNEXTLINE(bugprone-command-processor)
  FILE *pipe = popen("ldd '" EPIFOLD_RUN "'", "r");
  char line[512];
  int lines = 0;
  while (std::fgets(line, sizeof(line), pipe)) {
    ++lines;
    bool libc = false; // glibc's own libraries; sanitizers use more of them
    for (const char *name :
         {"linux-vdso", "ld-linux", "libc.so", "libm.so", "libdl.so",
          "libpthread.so", "librt.so", "libresolv.so"})
      libc |= std::strstr(line, name) != nullptr;
    EXPECT_TRUE(libc) << line;
  }
  pclose(pipe);
  EXPECT_GT(lines, 0);
}

} // namespace
