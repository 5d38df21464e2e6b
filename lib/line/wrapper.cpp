#include "line/wrapper.hpp"

#include <charconv>

#include "line/timestamp.hpp"
#include "model/json.hpp"

namespace culprit::line {

namespace {

std::optional<std::string> text_of(const nlohmann::json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end()) return std::nullopt;
  if (it->is_string()) return it->get<std::string>();
  if (it->is_number_integer()) return std::to_string(it->get<std::int64_t>());
  if (it->is_array()) {  // journald writes a field that is not UTF-8 as an array of bytes
    std::string bytes;
    for (const auto& byte : *it) {
      if (!byte.is_number_unsigned() || byte.get<std::uint64_t>() > 255) return std::nullopt;
      bytes.push_back(static_cast<char>(byte.get<std::uint64_t>()));
    }
    return bytes;
  }
  return std::nullopt;
}

std::optional<std::int64_t> integer_of(const nlohmann::json& object, const char* key) {
  const auto text = text_of(object, key);
  if (!text) return std::nullopt;
  std::size_t used = 0;
  std::int64_t value = 0;
  if (!parse_digits(*text, used, value) || used != text->size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::string> unwrap(std::string_view text, Prefix& prefix) {
  const bool docker = text.find("\"log\"") != std::string_view::npos && text.find("\"stream\"") != std::string_view::npos;
  const bool journald = !docker && text.find("\"MESSAGE\"") != std::string_view::npos;
  if (!docker && !journald) return std::nullopt;
  const nlohmann::json object = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (!object.is_object()) return std::nullopt;
  if (docker) {
    auto log = text_of(object, "log");
    if (auto stream = text_of(object, "stream"); stream && stream->size() <= 16) prefix.stream = std::move(*stream);
    Timestamp stamp;
    if (const auto time = text_of(object, "time"); time && parse_iso(*time, stamp) > 0) prefix.time = stamp;
    return log;
  }
  auto message = text_of(object, "MESSAGE");
  if (!message) return std::nullopt;
  // The source's own time is nearer to the event than the time of reception.
  auto us = integer_of(object, "_SOURCE_REALTIME_TIMESTAMP");
  if (!us) us = integer_of(object, "__REALTIME_TIMESTAMP");
  if (us && *us < 9'000'000'000'000'000LL) prefix.time = {Clock::utc, *us * 1'000, 1'000};
  if (const auto boot = integer_of(object, "_SOURCE_MONOTONIC_TIMESTAMP"); boot && *boot < 9'000'000'000'000'000LL)
    prefix.boot = Timestamp{Clock::boot, *boot * 1'000, 1'000};
  if (auto host = text_of(object, "_HOSTNAME"); host && !host->empty()) prefix.host = std::move(*host);
  if (auto pid = integer_of(object, "_PID")) prefix.pid = *pid;
  if (auto unit = text_of(object, "SYSLOG_IDENTIFIER")) prefix.unit = std::move(*unit);
  if (auto transport = text_of(object, "_TRANSPORT")) prefix.kernel = *transport == "kernel";
  return message;
}

}  // namespace culprit::line
