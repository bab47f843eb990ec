#include "delegate_native/kernel/text.h"

#include "gtest/gtest.h"

namespace quadra {
namespace {

TEST(Text, HasValuesInItsHoles) {
  EXPECT_EQ(Text("read_$t(x + $n)").Set("t", "src").Set("n", 12).str(), "read_src(x + 12)");
  EXPECT_EQ(Text("${p}lane $p_4$p").Set("p", std::string("int_")).str(), "int_lane int__4int_");
  EXPECT_EQ(Text("no hole {\n}\n").str(), "no hole {\n}\n");
}

TEST(Text, FillsTheHolesOfValues) {
  EXPECT_EQ(Text("max($value, 0.0f)").Set("value", "$a + $b").Set("a", "v").Set("b", 1).str(),
            "max(v + 1, 0.0f)");
  EXPECT_EQ(Text("$for(i, 2) $sum;\n").Set("sum", "s$i += v$i").str(), "s0 += v0;\ns1 += v1;\n");
}

TEST(Text, HasConditions) {
  const char* const text = "$if(bias) b += 1;\n$if(!bias) b = 0;\nend\n";
  EXPECT_EQ(Text(text).Set("bias", true).str(), "b += 1;\nend\n");
  EXPECT_EQ(Text(text).Set("bias", false).str(), "b = 0;\nend\n");
  EXPECT_EQ(Text(text).Set("bias", 10).str(), "b += 1;\nend\n");
}

TEST(Text, RepeatsLines) {
  EXPECT_EQ(Text("$for(i, n) a$i += b;\n").Set("n", 3).str(), "a0 += b;\na1 += b;\na2 += b;\n");
  EXPECT_EQ(Text("$for(i, 2) $for(k, 2) a$i_$k;\n").str(), "a0_0;\na0_1;\na1_0;\na1_1;\n");
  EXPECT_EQ(Text("$if(0) $for(i, 2) never;\nrest;\n").str(), "rest;\n");
  EXPECT_EQ(Text("$for(i, n) never;\nrest;\n").Set("n", 0).str(), "rest;\n");
}

TEST(Text, ComputesNumbers) {
  EXPECT_EQ(Text("$for(i, 3) $if(i) a${i-1} = a$i;\n").str(), "a0 = a1;\na1 = a2;\n");
  EXPECT_EQ(Text("v${2+n*n}").Set("n", 9).str(), "v99");  // from left to right
  EXPECT_EQ(Text("${n/2} ${n%4} ${32-n}").Set("n", 7).str(), "3 3 25");
}

TEST(Text, ChoosesWords) {
  EXPECT_EQ(Text("$for(i, 4) v.${i:x,y,z,w};\n").str(), "v.x;\nv.y;\nv.z;\nv.w;\n");
  EXPECT_EQ(Text("v.${n/2:lo,mid,hi}").Set("n", 5).str(), "v.hi");
  const char* const text = "o = block${last:, + first_o * $n}";
  EXPECT_EQ(Text(text).Set("last", false).Set("n", 4).str(), "o = block");
  EXPECT_EQ(Text(text).Set("last", true).Set("n", 4).str(), "o = block + first_o * 4");
}

TEST(Text, RepeatsBlocks) {
  const char* const text = "{\n$for(i, 2)\na$i;\n$if(has)\n  b;\n$end\n$end\n}\n";
  EXPECT_EQ(Text(text).Set("has", true).str(), "{\na0;\n  b;\na1;\n  b;\n}\n");
  EXPECT_EQ(Text(text).Set("has", false).str(), "{\na0;\na1;\n}\n");
  EXPECT_EQ(Text("$if(no)\n$for(i, 3)\na;\n$end\n$end\nb\n").Set("no", 0).str(), "b\n");
  EXPECT_EQ(Text("$if(no)\n$for(i, 3) a;\n$if(!no) a;\n$end\nb\n").Set("no", 0).str(), "b\n");
}

TEST(Text, PrefersTheInnermostName) {
  EXPECT_EQ(Text("$for(i, 2) $for(i, 2) $i\n").str(), "0\n1\n0\n1\n");
  EXPECT_EQ(Text("$for(i, 1) $i\n$i\n").Set("i", 7).str(), "0\n7\n");
}

// A driver takes no text that has a dollar sign in it.
TEST(Text, KeepsHolesThatHaveNoValue) {
  EXPECT_EQ(Text("a$widht + b").Set("width", 4).str(), "a$widht + b");
  EXPECT_EQ(Text("${name}s").Set("nam", 4).Set("names", 4).str(), "${name}s");
  EXPECT_EQ(Text("v${n+1}").Set("m", 4).str(), "v$n2");
  EXPECT_NE(Text("$if(bias) b;\nc;\n").str().find('$'), std::string::npos);
  EXPECT_NE(Text("$for(i, n) b;\nc;\n").str().find('$'), std::string::npos);
}

}  // namespace
}  // namespace quadra
