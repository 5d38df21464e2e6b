// Words of training steps, and of lines that tell of other work.
#include "rules/step_parts.hpp"

#include <string>

#include <gtest/gtest.h>

namespace culprit::rules {
namespace {

// Words are cut out without a string of each.
TEST(StepParts, WordsOfOtherWorkAreFoundWhereverTheyStand) {
  for (const char* text : {"eval", "EVAL: loss 2", "step 3 Val", "a-warmup-b", "x=1;ckpt"})
    EXPECT_TRUE(tells_of_other_work(text)) << text;
  for (const char* text : {"", "-", "evals", "prevaluation", "step 3 loss 2.5",
                           "evaluatorevaluatorevaluatorevaluator"})
    EXPECT_FALSE(tells_of_other_work(text)) << text;
  const std::string longest(31, 'x');
  EXPECT_FALSE(tells_of_other_work(longest + "eval"));
  EXPECT_TRUE(tells_of_other_work(longest + longest + " eval"));
}

}  // namespace
}  // namespace culprit::rules
