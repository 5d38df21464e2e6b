// Any bytes, read by one reader of documents with a pack without rules.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

#include "any_rows.hpp"
#include "ingest/engine/document.hpp"

namespace culprit::test {

inline const rules::RulePack& no_rules() {
  static const rules::RulePack the = [] {
    auto compiled = rules::RulePack::compile({});
    if (!compiled) std::exit(70);
    return std::move(compiled).value();
  }();
  return the;
}

// Its rows and the code of its reject.
inline std::string read_document(const ingest::Document& document, std::string_view path,
                                 std::string_view bytes) {
  AnyRows rows(bytes.size());
  MemberRow member;
  member.id = 1;
  member.path = path;
  ingest::Reading reading{rows, no_rules(), "", {}, {}, member.path};
  const std::string reason = document.read(bytes, member, reading);
  for (const auto& kept : reading.kept) kept->finish(reading);
  hold(reason.size() < 200 && reason.find('\n') == std::string::npos, "the code of a reject");
  return rows.log + reason;
}

}  // namespace culprit::test
