// The scanner on its own; the Graph's text tests cover it in use.
#include "core/text/text_lexer.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "core/error.h"

namespace dvm::core {
namespace {

std::string message_of(const std::function<void()>& scan) {
  try {
    scan();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::text_syntax);
    return e.message();
  }
  return "";
}

TEST(TextLexer, ReadsWhatTheGrammarAsksFor) {
  TextLexer lexer("plan", "load r1, [-0x10, 7] # trailing\n\t-> \"a\"; s0*2 ) rest");
  EXPECT_FALSE(lexer.take_word("loa"));
  EXPECT_EQ(lexer.word("an instruction"), "load");
  EXPECT_TRUE(lexer.take_word("r1"));
  lexer.expect(",");
  std::vector<int64_t> values;
  lexer.list("[", "]", [&] { values.push_back(lexer.integer(-100, 100)); });
  EXPECT_EQ(values, (std::vector<int64_t>{-16, 7}));
  EXPECT_FALSE(lexer.take("=>"));
  EXPECT_TRUE(lexer.take("->"));
  EXPECT_EQ(lexer.line(), 2);
  EXPECT_EQ(lexer.quoted(), "a");
  lexer.expect(";");
  const auto dims = DimContext::create();
  EXPECT_EQ(to_string(lexer.dim(*dims)), "2*s0");
  lexer.expect(")");
  EXPECT_FALSE(lexer.at_end());
  EXPECT_EQ(message_of([&] { lexer.integer(0, 9); }),
            "plan, line 2: expected an integer, found 'rest'");
}

TEST(TextLexer, IntegersAreBounded) {
  const auto read = [](std::string_view text, int64_t lo, int64_t hi) {
    return TextLexer("x", text).integer(lo, hi);
  };
  EXPECT_EQ(read("9223372036854775807", INT64_MIN, INT64_MAX), INT64_MAX);
  EXPECT_EQ(read("-9223372036854775808", INT64_MIN, INT64_MAX), INT64_MIN);
  EXPECT_EQ(read("0xff", 0, 255), 255);
  for (const char* text : {"9223372036854775808", "-9223372036854775809", "0xffffffffffffffff",
                           "99999999999999999999999999"}) {
    EXPECT_NE(message_of([&] { read(text, INT64_MIN, INT64_MAX); }).find("out of range"),
              std::string::npos)
        << text;
  }
  EXPECT_EQ(message_of([&] { read("11", 0, 10); }), "x, line 1: integer out of range [0, 10]");
}

TEST(TextLexer, RealsKeepTheirBits) {
  std::mt19937_64 rng(5);
  for (int i = 0; i < 200000; ++i) {
    const double value = std::bit_cast<double>(rng());
    const std::string text = real_text(value);
    ASSERT_EQ(std::bit_cast<uint64_t>(TextLexer("x", text).real()), std::bit_cast<uint64_t>(value))
        << text;
  }
  EXPECT_EQ(real_text(0.5), "0x1p-1");
  EXPECT_EQ(real_text(-0.0), "-0x0p+0");
  EXPECT_EQ(real_text(-std::nan("")), "-nan");
}

TEST(TextLexer, StringsKeepEveryByte) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  const std::string text = quote(bytes);
  EXPECT_EQ(TextLexer("x", text).quoted(), bytes);
  for (const char c : text) EXPECT_TRUE(32 <= c && c < 127);
}

TEST(TextLexer, NestingIsBounded) {
  const std::string open(100000, '(');
  TextLexer lexer("plan", open);
  const std::function<void()> nested = [&] { lexer.list("(", ")", nested); };
  EXPECT_EQ(message_of(nested), "plan, line 1: lists are nested too deeply");
}

TEST(TextLexer, CommentsAndEndOfText) {
  EXPECT_TRUE(TextLexer("x", "").at_end());
  EXPECT_TRUE(TextLexer("x", " # only a comment").at_end());
  TextLexer lexer("x", "#a\n#b\n\n z");
  EXPECT_EQ(lexer.word("a word"), "z");
  EXPECT_EQ(lexer.line(), 4);
  EXPECT_EQ(message_of([&] { lexer.word("a word"); }),
            "x, line 4: expected a word, found the end of the text");
}

}  // namespace
}  // namespace dvm::core
