#include "delegate_native/base/json.h"

#include "delegate_native/base/json_writer.h"
#include "gtest/gtest.h"

namespace quadra {
namespace {

std::string ErrorOf(const std::string& text) {
  Json json;
  return ParseJson(text, &json).message();
}

TEST(Json, ReadsEveryKindOfValue) {
  Json json;
  ASSERT_TRUE(ParseJson(R"( {"a": [1, -2.5e3, true, false, null], "b": {"c": "x"}} )", &json).ok());
  ASSERT_EQ(json.type, Json::Type::kObject);
  const Json* a = json.Find("a");
  ASSERT_EQ(a->items.size(), 5u);
  EXPECT_EQ(a->items[0].number, 1);
  EXPECT_EQ(a->items[1].number, -2500);
  EXPECT_TRUE(a->items[2].boolean);
  EXPECT_EQ(a->items[3].type, Json::Type::kBool);
  EXPECT_FALSE(a->items[3].boolean);
  EXPECT_EQ(a->items[4].type, Json::Type::kNull);
  EXPECT_EQ(json.Find("b")->Find("c")->string, "x");
  EXPECT_EQ(json.Find("d"), nullptr);
}

TEST(Json, ReadsEscapesAndSurrogatePairs) {
  Json json;
  ASSERT_TRUE(ParseJson(R"("\"\\\/\n\t\u00e9\ud83d\ude00")", &json).ok());
  EXPECT_EQ(json.string, "\"\\/\n\t\xc3\xa9\xf0\x9f\x98\x80");
}

TEST(Json, SaysWhereItIsWrongAndWhatItExpected) {
  EXPECT_EQ(ErrorOf(""), "not JSON: line 1, column 1: expected a value");
  EXPECT_EQ(ErrorOf("{\n  \"a\": 1,\n}"),
            "not JSON: line 3, column 1: expected a key in double quotes");
  EXPECT_EQ(ErrorOf("[1 2]"), "not JSON: line 1, column 4: expected ',' or ']'");
  EXPECT_EQ(ErrorOf("{\"a\" 1}"), "not JSON: line 1, column 6: expected ':'");
  EXPECT_EQ(ErrorOf("{\"a\": 1, \"a\": 2}"),
            "not JSON: line 1, column 10: expected a key that was not there before");
  EXPECT_EQ(ErrorOf("1 x"), "not JSON: line 1, column 3: expected the end of the text");
}

TEST(Json, RefusesWhatOnlyLooksLikeJson) {
  for (const char* text :
       {"01",          "1.",          "-",    "1e",  ".5",  "0x10",    "+1",
        "1e999",       "nan",         "tru",  "'a'", "\"a", "\"\\x\"", "\"\\u12g4\"",
        "\"\\ud800\"", "\"\\udc00\"", "[1,]", "[",   "{",   "\"\n\"",  "// c\n1"}) {
    EXPECT_NE(ErrorOf(text), "") << text;
  }
  EXPECT_NE(ErrorOf(std::string("1\0", 2)), "");
}

TEST(Json, RefusesNestingWithoutEnd) {
  EXPECT_NE(ErrorOf(std::string(100000, '[')).find("less nesting"), std::string::npos);
}

TEST(Json, ReadsWhatTheWriterWrote) {
  JsonWriter writer;
  writer.BeginObject().Key("k\"\n").BeginArray().Text("\x01\\ é").Number(-7).Flag(true).EndArray();
  Json json;
  ASSERT_TRUE(ParseJson(writer.EndObject().text(), &json).ok()) << writer.text();
  const Json* list = json.Find("k\"\n");
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(list->items[0].string, "\x01\\ é");
  EXPECT_EQ(list->items[1].number, -7);
  EXPECT_TRUE(list->items[2].boolean);
}

}  // namespace
}  // namespace quadra
