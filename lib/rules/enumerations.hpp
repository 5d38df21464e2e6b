// Names of published enumerations: results, states and reasons as headers and manuals list them.
// Data: rules/tables/enumerations.json (schemas/enumerations-v1.json is its manual).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/result.hpp"

namespace culprit::rules {

struct EnumerationEntry {
  std::string code;
  std::optional<std::int64_t> number;
  std::string reason;  // a row of the grammar's reasons; "" where it names no failure
  std::string means, is_not;
  bool vague = false;  // a line is named by the words beside it
};

struct Enumeration {
  std::string name, title, source, date;
  std::size_t count = 0;
  std::string shape;         // what its names look like in a line; "": they are explained only
  bool hexadecimal = false;  // how its numbers are printed
  std::vector<EnumerationEntry> entries;
};

class Enumerations {
 public:
  // Errors name file, key and reason. trusted: our own table, which the build has checked.
  static Result<Enumerations> parse(std::string_view text, bool trusted = false);
  static const Enumerations& built_in();

  const std::vector<Enumeration>& all() const { return all_; }
  // "ENOMEM", "errno 12", "nv_status 0x62" or a number alone: of each enumeration the first that is
  // called so, in any case where none is in the same.
  std::vector<std::pair<const Enumeration*, const EnumerationEntry*>> named(
      std::string_view query) const;

 private:
  std::vector<Enumeration> all_;
};

}  // namespace culprit::rules
