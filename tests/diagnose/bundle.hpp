// A small bundle that a test writes, and what the passes make of it: facts with names and times,
// findings, the verdict. Tests look at types, never at sentences.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include "diagnose/analyse.hpp"
#include "diagnose/conclude.hpp"
#include "diagnose/read.hpp"
#include "diagnose/resolve.hpp"
#include "rules/pack.hpp"

namespace culprit::diagnose::test {

inline const rules::RulePack& pack() {
  static const rules::RulePack kPack = [] {
    auto rules = rules::load_rules({});
    if (!rules) ADD_FAILURE() << rules.error().what;
    auto compiled = rules::RulePack::compile(std::move(rules).value());
    if (!compiled) ADD_FAILURE() << compiled.error().what;
    return std::move(compiled).value();
  }();
  return kPack;
}

struct Answer {
  Resolved resolved;
  std::vector<Finding> findings;
  Verdict verdict;

  // The step that made the verdict.
  StepId step() const {
    for (const Step& s : verdict.steps)
      if (s.outcome == StepOutcome::taken) return s.step;
    return StepId::excluded;
  }
  std::vector<std::string> targets(SubjectKind kind) const {
    std::vector<std::string> out;
    for (const Target& t : verdict.targets)
      if (t.subject.kind == kind) out.push_back(t.subject.id);
    return out;
  }
  const Finding* fired(Analysis analysis, std::string_view event_class = {}) const {
    for (const Finding& f : findings)
      if (f.analysis == analysis && f.outcome == Outcome::fired &&
          (event_class.empty() || f.event_class == event_class))
        return &f;
    return nullptr;
  }
};

class SmallBundle : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "culprit-diagnose-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  // Adds to a file of the bundle.
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = std::filesystem::path(folder_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary | std::ios::app) << text;
  }

  // Instead of what the file held.
  void rewrite(const std::string& name, const std::string& text) const {
    std::filesystem::remove(std::filesystem::path(folder_) / name);
    write(name, text);
  }

  Result<Answer> answer() const {
    const std::vector<std::string> sources{folder_};
    CULPRIT_TRY(db, open_new(sources, ""));
    ReadRequest request;
    request.sources = sources;
    request.options.threads = 1;
    CULPRIT_CHECK(read_bundles(request, pack(), db));
    CULPRIT_TRY(resolved, resolve(db, true));
    CULPRIT_TRY(findings, analyse(db, resolved, pack()));
    CULPRIT_TRY(conclusion, conclude(db, resolved, std::move(findings)));
    return Answer{std::move(resolved), std::move(conclusion.findings),
                  std::move(conclusion.verdict)};
  }
  Answer diagnose() const {
    auto result = answer();
    if (!result) {
      ADD_FAILURE() << result.error().what;
      return {};
    }
    return std::move(result).value();
  }

  std::string folder_;
};

}  // namespace culprit::diagnose::test
