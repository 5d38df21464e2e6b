#include "bundle/limits.hpp"

#include <algorithm>

namespace culprit::bundle {
namespace {

std::string raises(const char* option) { return std::string("; ") + option + " raises this limit"; }

}  // namespace

bool Layer::burst(const Limits& limits) const {
  const std::uint64_t most = std::max(out, leaf);
  if (most <= limits.expansion_free_bytes || limits.expansion == 0) return false;
  return most / limits.expansion > std::min(in, in_most);
}

const Layer* burst_layer(const Layer* innermost, const Limits& limits) {
  const Layer* found = nullptr;
  for (const Layer* layer = innermost; layer; layer = layer->parent)
    if (layer->burst(limits)) found = layer;
  return found;
}

Trouble expansion_trouble(const Layer& layer, const Limits& limits) {
  return {"bundle.expansion",
          "not read to its end: '" + layer.path + "' grows to more than " +
              std::to_string(limits.expansion) + " times its compressed size, beyond " +
              std::to_string(limits.expansion_free_bytes) + " bytes" + raises("--max-expansion")};
}

void count_leaf(Layer* innermost, std::uint64_t bytes) {
  for (Layer* layer = innermost; layer; layer = layer->parent) layer->leaf += bytes;
}

bool Teller::over() {
  if (!over_ && visitor_.stop()) over_ = true;
  return over_;
}

bool Teller::count(const std::string& path) {
  if (over_) return false;
  if (entries_ < limits_.members) {
    ++entries_;
    return true;
  }
  over_ = true;
  problem(path, {"bundle.too_many_members",
                 "this and all that follows is not read: the bundle has more than " +
                     std::to_string(limits_.members) + " entries" + raises("--max-members")});
  return false;
}

bool Teller::begin(const MemberHead& head) {
  if (!count(head.path)) return false;
  open_ = true;
  cut_ = false;
  member_bytes_ = 0;
  path_ = head.path;
  return visitor_.begin(head);
}

bool Teller::data(std::string_view bytes) {
  if (!open_ || cut_ || over_) return false;
  const std::uint64_t member_left = limits_.member_bytes - member_bytes_;
  const std::uint64_t total_left = limits_.total_bytes - total_bytes_;
  const std::string_view part =
      bytes.substr(0, std::min({std::uint64_t{bytes.size()}, member_left, total_left}));
  member_bytes_ += part.size();
  total_bytes_ += part.size();
  if (!part.empty()) visitor_.data(part);
  if (part.size() == bytes.size()) return true;
  cut_ = true;
  if (total_left <= member_left) {
    over_ = true;
    problem(path_, {"bundle.total_too_large",
                    "the rest of this member and all that follows is not read: the bundle has "
                    "more than " +
                        std::to_string(limits_.total_bytes) + " bytes when decompressed" +
                        raises("--max-total-bytes")});
  } else {
    problem(path_,
            {"bundle.member_too_large", "the rest of this member is not read: it has more than " +
                                            std::to_string(limits_.member_bytes) + " bytes" +
                                            raises("--max-member-bytes")});
  }
  return false;
}

void Teller::end(bool complete) {
  if (!open_) return;
  open_ = false;
  visitor_.end({member_bytes_, complete && !cut_});
}

void Teller::note(const MemberHead& head) {
  if (count(head.path)) visitor_.note(head);
}

void Teller::problem(const std::string& path, const Trouble& trouble, bool incomplete) {
  visitor_.problem({path, trouble.code, trouble.reason, incomplete});
}

}  // namespace culprit::bundle
