#include "ingest/engine/record_text.hpp"

#include <cstring>

namespace culprit::ingest {

namespace {

constexpr std::size_t kLongestLine = 16u << 20;  // a row of a million columns
constexpr std::uint64_t kRejectsKept =
    1'000;  // of one member, with their bytes; the ledger counts all

}  // namespace

RecordTextReader::RecordTextReader(std::unique_ptr<RecordReader> reader, Reading reading,
                                   MemberId member)
    : reader_(std::move(reader)), reading_(std::move(reading)), member_(member) {}

void RecordTextReader::line(std::string_view raw, bool ended) {
  ++lines_;
  if (!raw.empty() && raw.back() == '\r') raw.remove_suffix(1);
  const Place place{member_, lines_, offset_, static_cast<std::uint32_t>(raw.size())};
  const Outcome outcome = overlong_ ? Outcome{false, nullptr, "record.too_long"}
                          : ended   ? reader_->read(raw, place, reading_)
                                    : reader_->tail(raw, place, reading_);
  overlong_ = false;
  if (!outcome.reject.empty() && rejected_ < kRejectsKept)
    reading_.sink.put(
        RejectRow{place, std::string(outcome.reject), std::string(raw.substr(0, 200))});
  if (outcome.used)
    ++used_;
  else if (!outcome.reject.empty())
    ++rejected_;
}

void RecordTextReader::block(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto* newline = static_cast<const char*>(std::memchr(bytes.data(), '\n', bytes.size()));
    const std::size_t length =
        newline == nullptr ? bytes.size() : static_cast<std::size_t>(newline - bytes.data());
    std::string_view raw = bytes.substr(0, length);
    next_offset_ += length + (newline == nullptr ? 0 : 1);
    bytes.remove_prefix(length + (newline == nullptr ? 0 : 1));
    if (newline == nullptr || !carry_.empty() || overlong_) {
      if (carry_.size() + raw.size() > kLongestLine) {
        overlong_ = true;
        carry_.resize(std::min<std::size_t>(carry_.size(), 256));
      } else if (!overlong_) {
        carry_.append(raw);
      }
      if (newline == nullptr) {
        open_line_ = true;
        return;
      }
      raw = carry_;
    }
    line(raw);
    carry_.clear();
    offset_ = next_offset_;
    open_line_ = false;
  }
}

void RecordTextReader::finish() {
  if (open_line_) line(carry_, false);
  carry_.clear();
  reader_->finish(reading_);
  for (const auto& kept : reading_.kept) kept->finish(reading_);
  reading_.kept.clear();
}

}  // namespace culprit::ingest
