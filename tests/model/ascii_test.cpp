// Letters and digits are those of ASCII, and bytes beyond are neither.
#include "model/ascii.hpp"

#include <gtest/gtest.h>

namespace culprit {
namespace {

TEST(Ascii, BytesBeyondAreNeither) {
  static_assert(digit('0') && digit('9') && !digit('a') && !digit('\xb2'));
  static_assert(alpha('a') && alpha('Z') && !alpha('_') && !alpha('\xe4'));
  static_assert(alnum('7') && alnum('q') && !alnum('-'));
  static_assert(lower('A') == 'a' && lower('[') == '[' && lower('\xc4') == '\xc4');
  EXPECT_EQ(lower("NCCL_Debug \xc3\x84"), "nccl_debug \xc3\x84");
}

}  // namespace
}  // namespace culprit
