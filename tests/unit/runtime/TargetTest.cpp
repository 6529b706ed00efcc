// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Target names, PTX versions, and the choice of an image.

#include "Target.h"
#include "FakeDevice.h"
#include "ModuleLoader.h"

using namespace epifold;
using namespace epifold::runtime;

namespace {

TEST(Target, ParsesNames) {
  EXPECT_EQ(*parseTarget("sm_90a"), (Target{9, 0, true}));
  EXPECT_EQ(*parseTarget("sm_80"), (Target{8, 0, false}));
  EXPECT_EQ(*parseTarget("sm_120"), (Target{12, 0, false}));
  for (const char *bad : {"", "sm_", "sm_9", "sm_90b", "sm_90aa", "sm_-90",
                          "compute_90", "sm_9000", "SM_90"})
    EXPECT_FALSE(parseTarget(bad)) << bad;
}

TEST(Target, SpecificTargetsRunOnTheirChipAlone) {
  EXPECT_TRUE(ptxRunsOn(*parseTarget("sm_90a"), 9, 0));
  EXPECT_FALSE(ptxRunsOn(*parseTarget("sm_90a"), 10, 0));
  EXPECT_FALSE(ptxRunsOn(*parseTarget("sm_90a"), 8, 0));
  EXPECT_TRUE(ptxRunsOn(*parseTarget("sm_80"), 12, 0));
  EXPECT_FALSE(ptxRunsOn(*parseTarget("sm_86"), 8, 0));
  EXPECT_TRUE(cubinRunsOn(*parseTarget("sm_80"), 8, 9));
  EXPECT_FALSE(cubinRunsOn(*parseTarget("sm_80"), 9, 0));
}

TEST(Target, ReadsPtxVersions) {
  EXPECT_EQ(statedPtxVersion("//\n// x\n.version 8.7\n.target sm_90a\n"),
            (PtxVersion{8, 7}));
  EXPECT_FALSE(statedPtxVersion(""));
  EXPECT_FALSE(statedPtxVersion(".version x"));
  EXPECT_FALSE(statedPtxVersion(".version 8"));
}

TEST(Target, KnowsWhatDriversAccept) {
  EXPECT_EQ(newestPtxVersion(13000), (PtxVersion{9, 0}));
  EXPECT_EQ(newestPtxVersion(12060), (PtxVersion{8, 5}));
  EXPECT_EQ(newestPtxVersion(11040), (PtxVersion{7, 4}));
  EXPECT_FALSE(newestPtxVersion(99000)); // nothing is known of the future
}

TEST(Target, ChoosesTheBestImage) {
  ModuleDesc module = test::makeModule("k", {"sm_80", "sm_90a", "sm_90"});
  auto chosen = [&](int major, int minor, const std::string &only = "") {
    auto image = chooseImage(module, major, minor, only);
    return image ? (*image)->target : image.error().message();
  };
  EXPECT_EQ(chosen(9, 0), "sm_90a");
  EXPECT_EQ(chosen(10, 0), "sm_90");
  EXPECT_EQ(chosen(8, 9), "sm_80");
  EXPECT_EQ(chosen(9, 0, "sm_80"), "sm_80");
  EXPECT_EQ(chosen(7, 5),
            "kernel 'k' holds code for sm_80, sm_90a, sm_90, none of which "
            "runs on this device of compute capability 7.5: compile the "
            "executable for sm_75");
  EXPECT_NE(chosen(8, 0, "sm_90a").find("only sm_90a was asked for"),
            std::string::npos);
}

} // namespace
