// Holds the grammar of error lines against the samples of its tables.
#include <fmt/format.h>

#include "line/line.hpp"
#include "rules/check.hpp"
#include "rules/grammar.hpp"

namespace culprit::rules {

std::vector<SampleFailure> check_grammar(const RulePack& pack, const Grammar& grammar) {
  std::vector<SampleFailure> failures;
  for (const SpeakerRow& speaker : grammar.speakers())
    for (std::size_t i = 0; i < speaker.samples.size(); ++i) {
      const GrammarSample& sample = speaker.samples[i];
      const auto failed = [&](std::string reason) {
        failures.push_back({speaker.name, "rules/tables/speakers.json",
                            fmt::format("samples[{}]", i), sample.line, std::move(reason)});
      };
      const auto said = grammar.said(sample.line);
      const std::string got = said ? said->event_class : std::string();
      if (sample.event_class.empty() && said)
        failed(fmt::format("must stay silent, and is '{}'", got));
      else if (got != sample.event_class)
        failed(fmt::format("is '{}', not '{}'", got, sample.event_class));
      else if (said && !sample.title.empty() && said->title != sample.title)
        failed(fmt::format("is called '{}'", said->title));
      else if (const auto match = pack.match(line::peel(sample.line).message);
               said && match && match->rule->file.starts_with("rules/"))
        failed(fmt::format("is taken by '{}' ({})", match->rule->id, match->event_class));
    }
  return failures;
}

}  // namespace culprit::rules
