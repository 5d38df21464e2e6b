// Pseudonyms for what a bundle should not tell strangers: machines, addresses, users, folders,
// jobs, serial numbers, secrets. The same name has the same pseudonym everywhere, so that a verdict
// stays the verdict. Pseudonyms are given in the order of the names: what was sorted by name stays
// sorted. Two passes: collect() over all texts, seal(), then text() of each.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/enum_name.hpp"
#include "model/result.hpp"

namespace culprit::redact {

enum class Kind { host, domain, ipv4, ipv6, mac, user, folder, job, serial, secret };
inline constexpr std::size_t kKinds = 10;
constexpr std::string_view name(Kind kind) { return enum_name(kind); }

struct Pair {
  Kind kind;
  std::string original, pseudonym;
};

class Pseudonyms {
 public:
  // Names that are known from elsewhere. Words that stand in every log (node, train, root) are not
  // taken for names.
  void add_host(std::string_view name);
  void add_user(std::string_view name);
  void add_job(std::string_view name);
  void add_word(std::string_view word);  // the user's own: replaced wherever it stands
  // From an earlier redaction: the same names keep their pseudonyms. Errors: what is no map of
  // ours.
  Result<> load(std::string_view map_document, const std::string& file);

  void collect(std::string_view text);
  // A setting whose name tells what its value is: WANDB_API_KEY, USER, gpu.serial.
  void collect_setting(std::string_view name, std::string_view value);
  void seal();

  std::string text(std::string_view text) const;
  std::string setting(std::string_view name, std::string_view value) const;
  // The other way round: an answer about a redacted bundle, for those who have the map.
  std::string reveal(std::string_view text) const;

  std::vector<Pair> pairs() const;   // by kind, then by original
  std::string map_document() const;  // schemas/redaction-map-v1.json

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  using Found = std::function<void(std::size_t, std::size_t, Kind)>;  // begin, end, what it is
  // Looks at every word of a text. Each take_ below looks at one place, reports what it recognises
  // there to `found` and returns its end; 0: it is none of its kind.
  void scan(std::string_view text, const Found& found) const;
  std::size_t dictionary_word(std::string_view text, std::size_t at, Kind& kind) const;
  std::size_t hostlist(std::string_view text, std::size_t at,
                       std::vector<std::string>& names) const;
  std::size_t scan_path(std::string_view text, std::size_t at, const Found& found) const;
  static std::size_t take_identifier(std::string_view text, std::size_t at, const Found& found);
  static std::size_t take_address(std::string_view text, std::size_t at, const Found& found);
  static std::size_t take_keyed_value(std::string_view text, std::size_t at, const Found& found);
  std::size_t take_login(std::string_view text, std::size_t at, const Found& found) const;
  std::size_t take_known_name(std::string_view text, std::size_t at, const Found& found) const;
  void note(Kind kind, std::string_view name);
  std::string pseudonym_of(Kind kind, std::string_view name) const;
  void index_word(std::string_view word, Kind kind);
  static std::string made(Kind kind, std::size_t index, std::size_t width,
                          std::string_view original);

  std::array<std::map<std::string, std::string, std::less<>>, kKinds>
      names_;  // original -> pseudonym; "" until sealed
  std::unordered_map<std::string, Kind, Hash, std::equal_to<>>
      words_;                                      // what is looked for at every word
  std::set<std::size_t, std::greater<>> lengths_;  // of those words
};

// The name of a setting whose value is a secret, a user, or a serial number.
bool names_secret(std::string_view name);
// What tells it, for other programs that hide the same: words of such names, longer words of names
// that are none, and how values begin that are secrets whatever their name.
std::span<const std::string_view> secret_words();
std::span<const std::string_view> harmless_words();
std::span<const std::string_view> secret_prefixes();

}  // namespace culprit::redact
