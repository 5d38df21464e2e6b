// Every text of a database, seen or changed: for `redact`.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "model/result.hpp"

namespace culprit::store {

// A text and where it stands. name: of a setting (config_item), whose value this is; else "".
struct StoredText {
  std::string_view table, column, name, text;
};

// All texts of all tables. Errors: no database of ours, a damaged one.
Result<> visit_texts(const std::string& path, const std::function<void(const StoredText&)>& visit);

// A copy in which each text is what `change` makes of it. What stood there before is not in the
// file any more, in no free page either. An existing file at `to` is replaced once the copy is
// whole. Errors: also a disk that is full.
Result<> copy_changed(const std::string& from, const std::string& to,
                      const std::function<std::string(const StoredText&)>& change);

}  // namespace culprit::store
