// What a list of columns (tables.hpp) is good for: the SQL of a table, binding a row to a
// statement, reading a row back, and comparing the list with the schema. A list is a function
// `columns(visitor, row)` that shows the visitor each column by name, with the field it stands for.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "model/collective.hpp"
#include "model/ranges.hpp"
#include "model/rows.hpp"
#include "store/statement.hpp"
#include "store/utf8.hpp"

namespace culprit::store {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

// Ids of rows and ranks are numbers; other enums are words.
template <class T>
constexpr bool kIsNumber =
    std::is_same_v<T, GroupId> || std::is_same_v<T, Rank> || std::is_same_v<T, LocalRank>;
template <class T>
constexpr bool kIsWord = std::is_enum_v<T> && !kIsNumber<T>;
template <class T>
constexpr bool kIsText =
    std::is_same_v<T, std::string> || std::is_same_v<T, Host> ||
    std::is_same_v<T, std::vector<std::string>> || std::is_same_v<T, std::vector<Host>> ||
    std::is_same_v<T, std::vector<Rank>> || kIsWord<T>;

// Of a column: what the schema must say of it.
struct Column {
  std::string_view name, type;
  bool not_null = true;
  std::string_view references;  // a table whose ids it holds; "" none
  bool key = false;             // the primary key, given by SQLite when the row has none
};

template <class T>
constexpr std::string_view sql_type() {
  if constexpr (IsOptional<T>::value)
    return sql_type<typename T::value_type>();
  else if constexpr (kIsText<T>)
    return "TEXT";
  else if constexpr (std::is_floating_point_v<T>)
    return "REAL";
  else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>)
    return "INTEGER";
  else
    return "BLOB";
}

// The names in a list of fields as the code spells it: "r.host, r.rank" has "host" and "rank".
consteval std::size_t count_fields(std::string_view list) {
  return static_cast<std::size_t>(std::ranges::count(list, ',')) + 1;
}
template <std::size_t n>
consteval std::array<std::string_view, n> field_names(std::string_view list) {
  std::array<std::string_view, n> out;
  for (std::string_view& name : out) {
    name = list.substr(0, list.find(','));
    list.remove_prefix(std::min(name.size() + 1, list.size()));
    name.remove_prefix(name.rfind('.') + 1);
  }
  return out;
}
template <class V, std::size_t n, class... Fields>
void show_columns(V& v, const std::array<std::string_view, n>& names, Fields&... fields) {
  const std::string_view* name = names.data();
  (v(*name++, fields), ...);
}

class ColumnNames {
 public:
  static constexpr bool kReads = false;
  std::vector<Column> columns;

  template <class T>
  void operator()(std::string_view name, T&) {
    columns.push_back({name, sql_type<T>(), !IsOptional<T>::value, {}, false});
  }
  void reference(std::string_view name, auto& field, std::string_view table) {
    (*this)(name, field);
    columns.back().references = table;
  }
  void key(std::string_view name, std::int64_t& field) {
    (*this)(name, field);
    columns.back().key = true;
  }
  void rowid(std::int64_t&) {}
  void blob(std::string_view name, std::string&) {
    columns.push_back({name, "BLOB", true, {}, false});
  }
  void stack(std::string_view name, std::vector<Frame>&) {
    columns.push_back({name, "INTEGER", false, "stack", false});
  }
  std::string joined() const {
    std::string out;
    for (const Column& column : columns) {
      out += out.empty() ? "" : ",";
      out += column.name;
    }
    return out;
  }
};

template <class Row>
ColumnNames column_names() {
  ColumnNames names;
  Row nothing;
  columns(names, nothing);
  return names;
}

// Binds a row. Texts that are UTF-8 already are bound where they stand; the others, and those that
// are made here, stay in `made` until the next row.
class RowBinder {
 public:
  static constexpr bool kReads = false;
  using StackId = std::function<std::optional<std::int64_t>(const std::vector<Frame>&)>;

  explicit RowBinder(StackId stack_id = {}) : stack_id_(std::move(stack_id)) {}

  // The row is not changed: lists of columns are the same for reading and writing, hence not const.
  template <class Row>
  bool run(Statement& statement, const Row& row) {
    statement_ = &statement;
    if (!made_.empty()) made_.clear();
    statement.start();
    columns(*this, const_cast<Row&>(row));
    return statement.step();
  }

  template <class T>
  void operator()(std::string_view, T& field) {
    put(field);
  }
  void reference(std::string_view, auto& field, std::string_view) { put(field); }
  void key(std::string_view, std::int64_t& id) {
    statement_->put(id == 0 ? std::nullopt : std::optional(id));
  }
  void rowid(std::int64_t&) {}
  void blob(std::string_view, std::string& bytes) {
    statement_->put(Blob{bytes.data(), bytes.size()});
  }
  void stack(std::string_view, std::vector<Frame>& frames) { statement_->put(stack_id_(frames)); }

 private:
  template <class T>
  void put(const T& value) {
    if constexpr (IsOptional<T>::value) {
      if (value)
        put(*value);
      else
        statement_->put(std::optional<std::int64_t>{});
    } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, Host>) {
      text(value);
    } else if constexpr (std::is_same_v<T, std::vector<std::string>> ||
                         std::is_same_v<T, std::vector<Host>>) {
      text(made_.emplace_back(fmt::format("{}", fmt::join(value, ","))));
    } else if constexpr (std::is_same_v<T, std::vector<Rank>>) {
      text(made_.emplace_back(to_ranges(value)));
    } else if constexpr (std::is_same_v<T, std::vector<HistoryEntry>>) {
      statement_->put(Blob{value.data(), value.size() * sizeof(HistoryEntry)});
    } else if constexpr (kIsWord<T>) {
      statement_->put(name(value));
    } else if constexpr (std::is_enum_v<T>) {
      statement_->put(static_cast<std::int64_t>(value));
    } else {
      statement_->put(value);
    }
  }
  void text(const std::string& value) {
    statement_->put(
        std::string_view(is_plain(value) ? value : made_.emplace_back(valid_utf8(value))));
  }

  Statement* statement_ = nullptr;
  StackId stack_id_;
  std::deque<std::string> made_;  // does not move what stands in it
};

std::vector<std::string> split_commas(const std::string& text);

class RowReader {
 public:
  static constexpr bool kReads = true;
  explicit RowReader(Statement& statement) : statement_(statement) {}
  std::optional<std::int64_t> stack_id;  // of the row that was read last

  template <class T>
  void operator()(std::string_view, T& field) {
    field = get<T>();
  }
  template <class T>
  void reference(std::string_view, T& field, std::string_view) {
    field = get<T>();
  }
  void key(std::string_view, std::int64_t& id) { id = statement_.integer(); }
  void rowid(std::int64_t& id) { id = row_; }
  void blob(std::string_view, std::string& bytes) { bytes = statement_.text(); }
  void stack(std::string_view, std::vector<Frame>&) { stack_id = statement_.maybe_integer(); }

  std::int64_t row() const { return row_; }
  // SELECT rowid, and then the columns.
  void read(auto& row) {
    row_ = statement_.integer();
    columns(*this, row);
  }

 private:
  template <class T>
  T get() {
    if constexpr (std::is_same_v<T, std::optional<std::string>>) {
      return statement_.maybe_text();
    } else if constexpr (std::is_same_v<T, std::optional<Host>>) {
      auto name = statement_.maybe_text();
      return name ? std::optional(Host(std::move(*name))) : std::nullopt;
    } else if constexpr (std::is_same_v<T, std::optional<std::int64_t>>) {
      return statement_.maybe_integer();
    } else if constexpr (std::is_same_v<T, std::optional<Rank>>) {
      return maybe<Rank>(statement_.maybe_integer());
    } else if constexpr (std::is_same_v<T, std::optional<LocalRank>>) {
      return maybe<LocalRank>(statement_.maybe_integer());
    } else if constexpr (std::is_same_v<T, std::optional<double>>) {
      return statement_.maybe_real();
    } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, Host>) {
      return T(statement_.text());
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      return split_commas(statement_.text());
    } else if constexpr (std::is_same_v<T, std::vector<Host>>) {
      return hosts_of(split_commas(statement_.text()));
    } else if constexpr (std::is_same_v<T, std::vector<Rank>>) {
      return from_ranges(statement_.text());
    } else if constexpr (std::is_same_v<T, std::vector<HistoryEntry>>) {
      const std::string bytes = statement_.text();
      T out(bytes.size() / sizeof(HistoryEntry));
      if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(HistoryEntry));
      return out;
    } else if constexpr (std::is_same_v<T, Clock>) {
      return clock_named(statement_.text());
    } else if constexpr (std::is_same_v<T, Severity>) {
      return severity_named(statement_.text()).value_or(Severity::info);
    } else if constexpr (std::is_same_v<T, Role>) {
      return role_named(statement_.text()).value_or(Role::advice);
    } else if constexpr (std::is_same_v<T, Scope>) {
      return scope_named(statement_.text()).value_or(Scope::host_local);
    } else if constexpr (std::is_same_v<T, CheckpointEvent>) {
      return checkpoint_event_named(statement_.text()).value_or(CheckpointEvent::saving);
    } else if constexpr (std::is_same_v<T, CollectiveSource>) {
      return term_named<CollectiveSource>(statement_.text()).value_or(CollectiveSource::none);
    } else if constexpr (std::is_same_v<T, double>) {
      return statement_.real();
    } else if constexpr (std::is_same_v<T, bool>) {
      return statement_.integer() != 0;
    } else {
      static_assert(std::is_integral_v<T> || kIsNumber<T>);
      return static_cast<T>(statement_.integer());
    }
  }

  Statement& statement_;
  std::int64_t row_ = 0;
};

}  // namespace culprit::store
