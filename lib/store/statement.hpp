// A prepared SQLite statement that binds and reads C++ values in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <sqlite3.h>

#include "model/rank.hpp"

namespace culprit::store {

struct Blob {
  const void* data;
  std::size_t bytes;
};

// Why a statement failed last, on this thread. sqlite3_errmsg forgets it with the next call that
// succeeds.
struct Failure {
  int code = SQLITE_OK;
  std::string text;
};
inline thread_local Failure last_failure;

class Statement {
 public:
  Statement() = default;
  Statement(sqlite3* db, std::string_view sql) {
    const int code =
        sqlite3_prepare_v2(db, sql.data(), static_cast<int>(sql.size()), &handle_, nullptr);
    if (code != SQLITE_OK) last_failure = {code, sqlite3_errmsg(db)};
  }
  ~Statement() { sqlite3_finalize(handle_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  Statement(Statement&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  Statement& operator=(Statement&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  explicit operator bool() const { return handle_ != nullptr; }

  // Binds all, steps once, resets. False: last_failure has the reason.
  template <class... Values>
  bool run(const Values&... values) {
    start();
    (put(values), ...);
    return step();
  }
  // The same in parts. What is put between start() and step() outlives the step: no copies.
  void start() {
    index_ = 0;
    life_ = SQLITE_STATIC;
  }
  bool step() {
    const int code = sqlite3_step(handle_);
    const bool good = code == SQLITE_DONE || code == SQLITE_ROW;
    if (!good) note(code);
    sqlite3_reset(handle_);
    return good;
  }

  template <class... Values>
  void bind(const Values&... values) {
    index_ = 0;
    life_ = SQLITE_TRANSIENT;
    (put(values), ...);
  }
  bool next() {
    column_ = 0;
    const int code = sqlite3_step(handle_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) note(code);
    return code == SQLITE_ROW;
  }
  void reset() { sqlite3_reset(handle_); }

  // Of the row that it stands on, by the place of the column.
  int columns() const { return sqlite3_column_count(handle_); }
  bool is_null(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_NULL; }
  std::int64_t integer_at(int column) const { return sqlite3_column_int64(handle_, column); }
  // Binds what another statement has in a column, of whatever type.
  void put_column(const Statement& from, int column) {
    const int code =
        sqlite3_bind_value(handle_, ++index_, sqlite3_column_value(from.handle_, column));
    if (code != SQLITE_OK) note(code);
  }

  std::int64_t integer() { return sqlite3_column_int64(handle_, column_++); }
  double real() { return sqlite3_column_double(handle_, column_++); }
  std::string text() {
    const int size = sqlite3_column_bytes(handle_, column_++);
    if (size <= 0) return {};  // most texts of most rows
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(handle_, column_ - 1));
    return bytes == nullptr ? std::string{} : std::string(bytes, static_cast<std::size_t>(size));
  }
  std::optional<std::int64_t> maybe_integer() {
    return null() ? skip<std::int64_t>() : std::optional(integer());
  }
  std::optional<std::string> maybe_text() {
    return null() ? skip<std::string>() : std::optional(text());
  }
  std::optional<double> maybe_real() { return null() ? skip<double>() : std::optional(real()); }
  // The columns that come next, by the types of the fields.
  template <class... Fields>
  void read(Fields&... fields) {
    (get(fields), ...);
  }

  void put(std::int64_t value) { sqlite3_bind_int64(handle_, ++index_, value); }
  void put(Rank rank) { put(number_of(rank)); }
  void put(LocalRank rank) { put(number_of(rank)); }
  void put(std::uint64_t value) {
    sqlite3_bind_int64(handle_, ++index_, static_cast<std::int64_t>(value));
  }
  void put(std::uint32_t value) { sqlite3_bind_int64(handle_, ++index_, value); }
  void put(int value) { sqlite3_bind_int64(handle_, ++index_, value); }
  void put(bool value) { sqlite3_bind_int(handle_, ++index_, value ? 1 : 0); }
  void put(double value) { sqlite3_bind_double(handle_, ++index_, value); }
  void put(std::string_view value) {
    const int code =
        sqlite3_bind_text64(handle_, ++index_, value.data() == nullptr ? "" : value.data(),
                            value.size(), life_, SQLITE_UTF8);
    if (code != SQLITE_OK) note(code);  // no memory for the copy: it would stay NULL
  }
  void put(const std::string& value) { put(std::string_view(value)); }
  void put(const char* value) { put(std::string_view(value)); }
  void put(const Blob& value) {
    sqlite3_bind_blob64(handle_, ++index_, value.data == nullptr ? "" : value.data, value.bytes,
                        life_);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    if (value)
      put(*value);
    else
      sqlite3_bind_null(handle_, ++index_);
  }

 private:
  template <class Field>
  void get(Field& field) {
    if constexpr (std::is_same_v<Field, std::optional<std::int64_t>>)
      field = maybe_integer();
    else if constexpr (std::is_same_v<Field, std::optional<double>>)
      field = maybe_real();
    else if constexpr (std::is_floating_point_v<Field>)
      field = real();
    else if constexpr (std::is_integral_v<Field>)
      field = static_cast<Field>(integer());
    else
      field = Field(text());
  }

  // A statement that could not be prepared has said why, but maybe on another thread.
  void note(int code) {
    if (handle_ != nullptr)
      last_failure = {code, sqlite3_errmsg(sqlite3_db_handle(handle_))};
    else if (last_failure.code == SQLITE_OK)
      last_failure = {code, sqlite3_errstr(code)};
  }
  bool null() const { return sqlite3_column_type(handle_, column_) == SQLITE_NULL; }
  template <class T>
  std::optional<T> skip() {
    ++column_;
    return std::nullopt;
  }

  sqlite3_stmt* handle_ = nullptr;
  sqlite3_destructor_type life_ = SQLITE_TRANSIENT;
  int index_ = 0;
  int column_ = 0;
};

}  // namespace culprit::store
