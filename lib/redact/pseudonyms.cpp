#include "redact/pseudonyms.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "model/ascii.hpp"
#include "model/contains.hpp"
#include "model/hostlist.hpp"
#include "model/json.hpp"
#include "model/word_list.hpp"

namespace culprit::redact {

namespace {

constexpr std::size_t kLeastSecret =
    8;  // bytes of a value after PASSWORD=; shorter ones are on, true, 0
constexpr std::size_t kMostName =
    256;  // bytes of a name, a key or a value: nothing is looked for beyond
constexpr std::size_t kMostHostlist = 4096;  // names of one list

bool hexdigit(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

// Not names although they stand where names stand.
bool everyday(std::string_view word) {
  static constexpr std::string_view kWords =
      "localhost localdomain host hosts node nodes master worker head login server client gpu "
      "cpu main default unknown none null all root admin user users nobody daemon slurm "
      "ubuntu centos debian ec2-user syslog messagebus systemd kernel python train training "
      "trainer data test model models job jobs run runs log logs rank torch ray megatron nemo "
      "deepspeed vllm home work workspace app opt tmp var usr share public true false yes "
      "info error warning debug local remote cluster vm pod container service";
  return has_word(kWords, lower(word));
}

// Folders whose name tells nothing of whose they are.
bool common_folder(std::string_view word) {
  static constexpr std::string_view kWords =
      "bin sbin lib lib64 lib32 libexec include share etc src usr var opt local tmp log logs "
      "run proc sys dev data datasets dataset models model checkpoints checkpoint ckpt ckpts "
      "output outputs results cache .cache site-packages dist-packages envs env venv .venv "
      "conda miniconda3 anaconda3 micromamba home root mnt scripts tools tests config configs "
      "train training core utils workspace code repo repos git projects project users torch "
      "distributed megatron deepspeed transformers accelerate nemo lightning "
      "pytorch_lightning apex flash_attn vllm ray triton numpy tokenizers nccl cuda nvidia "
      "huggingface hub wandb tensorboard slurm kubernetes pods attempt default global shm "
      "spool slurmd";
  if (has_word(kWords, lower(word))) return true;
  if (word.starts_with("python3") || word.starts_with("cuda-") || !contains(word, '-')) {
    // python3.10, rank_3, attempt_0, 12: numbers behind a common word
    std::string_view stem = word;
    while (!stem.empty() && (digit(stem.back()) || stem.back() == '_' || stem.back() == '.'))
      stem.remove_suffix(1);
    if (stem.empty() || stem == "python" || stem == "cuda" || stem == "rank" || stem == "attempt" ||
        stem == "step" || stem == "iter" || stem == "iter_" || stem == "epoch" || stem == "gpu" ||
        stem == "pid" || stem == "job")
      return true;
  }
  return false;
}

// Below these stand people's own folders.
bool private_root(std::string_view word) {
  static constexpr std::string_view kRoots[] = {
      "home", "Users",     "mnt", "data",    "scratch", "lustre",      "gpfs",
      "nfs",  "fsx",       "efs", "shared",  "share",   "projects",    "project",
      "work", "workspace", "u",   "users",   "beegfs",  "wekafs",      "weka",
      "ceph", "storage",   "vol", "volumes", "private", "experiments", "exp"};
  return contains(kRoots, word) ||
         (word.size() > 4 && (word.starts_with("data") || word.starts_with("scratch") ||
                              word.starts_with("lustre"))) ||
         word.ends_with("fs");
}

bool holds_users(std::string_view word) {
  return word == "home" || word == "Users" || word == "u" || word == "users";
}

// "a.py", "events.out.tfevents.1": a file, whose name says what it is.
bool is_file(std::string_view word) {
  const std::size_t dot = word.rfind('.');
  return dot != std::string_view::npos && dot > 0 && dot + 1 < word.size() &&
         word.size() - dot <= 12 &&
         std::any_of(word.begin() + static_cast<std::ptrdiff_t>(dot) + 1, word.end(),
                     [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; });
}

bool in_path(char c) {
  return alnum(c) || c == '_' || c == '.' || c == '-' || c == '+' || c == '=' || c == '@' ||
         c == '%' || c == '~';
}

// "GPU-6f2a01be-0000-..." and its like: the end of it, or `at`.
std::size_t uuid_end(std::string_view text, std::size_t at) {
  static constexpr std::size_t kGroups[] = {8, 4, 4, 4, 12};
  std::size_t i = at;
  for (std::size_t g = 0; g < 5; ++g) {
    if (g > 0) {
      if (i >= text.size() || text[i] != '-') return at;
      ++i;
    }
    std::size_t n = 0;
    while (n < kGroups[g] && i < text.size() && hexdigit(text[i])) ++i, ++n;
    if (n < kGroups[g]) return at;
  }
  return i < text.size() && alnum(text[i]) ? at : i;
}

std::size_t ipv4_end(std::string_view text, std::size_t at) {
  std::size_t i = at;
  for (int part = 0; part < 4; ++part) {
    if (part > 0) {
      if (i >= text.size() || text[i] != '.') return at;
      ++i;
    }
    int value = 0;
    std::size_t n = 0;
    while (n < 3 && i < text.size() && digit(text[i]))
      value = value * 10 + (text[i] - '0'), ++i, ++n;
    if (n == 0 || value > 255) return at;
  }
  if (i < text.size() && (alnum(text[i]) || text[i] == '_')) return at;
  if (i + 1 < text.size() && text[i] == '.' && digit(text[i + 1]))
    return at;  // five numbers: a version
  return i;
}

// Addresses that are the same everywhere.
bool public_ipv4(std::string_view a) {
  return a.starts_with("127.") || a.starts_with("255.") || a == "0.0.0.0" || a.starts_with("0.") ||
         a.starts_with("224.") || a.starts_with("239.") || a == "169.254.169.254" ||
         a == "8.8.8.8" || a == "1.1.1.1";
}

std::size_t mac_end(std::string_view text, std::size_t at) {
  std::size_t i = at;
  int groups = 0;
  while (i + 1 < text.size() && hexdigit(text[i]) && hexdigit(text[i + 1])) {
    i += 2;
    if (++groups > 20) return at;
    if (i + 1 < text.size() && text[i] == ':' && hexdigit(text[i + 1]))
      ++i;
    else
      break;
  }
  return (groups == 6 || groups == 8 || groups == 20) && (i >= text.size() || !alnum(text[i])) ? i
                                                                                               : at;
}

// Eight groups, or fewer around "::". Times and PCI addresses have fewer and no "::".
std::size_t ipv6_end(std::string_view text, std::size_t at) {
  std::size_t i = at;
  int groups = 0;
  bool doubled = false;
  for (;;) {
    std::size_t n = 0;
    while (n < 4 && i + n < text.size() && hexdigit(text[i + n])) ++n;
    i += n;
    if (n > 0 && ++groups > 8) return at;
    if (i >= text.size() || text[i] != ':') break;
    if (i + 1 < text.size() && text[i + 1] == ':') {
      if (doubled) return at;
      doubled = true;
      i += 2;
      if (i >= text.size() || !hexdigit(text[i])) break;
      continue;
    }
    if (i + 1 >= text.size() || !hexdigit(text[i + 1])) break;
    ++i;
  }
  if (i < text.size() &&
      (alnum(text[i]) || (text[i] == '.' && i + 1 < text.size() && digit(text[i + 1]))))
    return at;
  return groups == 8 || (doubled && groups >= 3 && groups < 8) ? i : at;
}

constexpr std::string_view kSecretPrefixes[] = {"hf_",    "sk-",    "ghp_", "gho_",  "github_pat_",
                                                "glpat-", "AKIA",   "ASIA", "xoxb-", "xoxp-",
                                                "eyJ",    "nvapi-", "pypi-"};
constexpr std::string_view kSecretWords[] = {
    "password",   "passwd",      "secret",     "token",       "api_key", "apikey",
    "access_key", "private_key", "credential", "license_key", "auth_key"};
constexpr std::string_view kHarmlessWords[] = {"tokenizer", "tokens"};

bool starts_secret(std::string_view text, std::size_t at, std::size_t& end) {
  for (const std::string_view prefix : kSecretPrefixes) {
    if (!text.substr(at).starts_with(prefix)) continue;
    end = at + prefix.size();
    while (end < text.size() &&
           (alnum(text[end]) || text[end] == '_' || text[end] == '-' || text[end] == '.'))
      ++end;
    while (end > at && text[end - 1] == '.') --end;
    if (end - at >= prefix.size() + 16) return true;
  }
  return false;
}

bool is_word_char(char c) { return alnum(c) || c == '_'; }

// A part of a text, [begin, end).
struct Span {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
  std::string_view of(std::string_view text) const { return text.substr(begin, end - begin); }
};

// What stands behind a key that ends at `at`: to the next blank or separator, or to the quote that
// closes it. Empty: nothing.
Span value_after(std::string_view text, std::size_t at) {
  std::size_t begin = at;
  while (begin < text.size() && begin - at <= 40 &&
         (text[begin] == '"' || text[begin] == '\'' || text[begin] == ' ' || text[begin] == ':' ||
          text[begin] == '=' || text[begin] == '\\'))
    ++begin;
  if (begin > at && (text[begin - 1] == '"' || text[begin - 1] == '\'')) {
    const std::size_t close =
        text.substr(0, std::min(text.size(), begin + kMostName)).find(text[begin - 1], begin);
    if (close != std::string_view::npos) return {begin, close};
  }
  std::size_t end = begin;
  while (end < text.size() && end - begin < kMostName &&
         !std::isspace(static_cast<unsigned char>(text[end])) && text[end] != '"' &&
         text[end] != '\'' && text[end] != ',' && text[end] != ';' && text[end] != '\\' &&
         text[end] != '}' && text[end] != '&')
    ++end;
  return begin - at <= 40 ? Span{begin, end} : Span{};
}

// Between a key and its value, right behind the key.
bool assigns(char c) { return c == '=' || c == ':' || c == '"' || c == '\'' || c == '\\'; }

// Keys that tell what their value is, in lower case.
constexpr std::string_view kUserKeys[] = {"user",      "username", "logname",
                                          "sudo_user", "userid",   "slurm_job_user"};
constexpr std::string_view kJobKeys[] = {"jobname", "job_name", "slurm_job_name"};
constexpr std::string_view kSerialKeys[] = {
    "serial", "serialnumber", "serial_number", "guid", "node_guid", "sys_image_guid", "sn"};

// Whether a value behind one of kUserKeys is a user's name.
bool names_user(std::string_view value) {
  return value.size() >= 2 && !everyday(value) &&
         std::ranges::all_of(value,
                             [](char x) { return is_word_char(x) || x == '.' || x == '-'; }) &&
         !std::ranges::all_of(value, digit);
}

}  // namespace

bool names_secret(std::string_view name) {
  const std::string l = lower(name.substr(0, 200));
  const auto holds = [&](std::string_view word) { return contains(l, word); };
  return std::ranges::any_of(kSecretWords, holds) && std::ranges::none_of(kHarmlessWords, holds);
}

std::span<const std::string_view> secret_words() { return kSecretWords; }
std::span<const std::string_view> harmless_words() { return kHarmlessWords; }
std::span<const std::string_view> secret_prefixes() { return kSecretPrefixes; }

void Pseudonyms::note(Kind kind, std::string_view name) {
  names_[static_cast<std::size_t>(kind)].try_emplace(std::string(name));
}

void Pseudonyms::index_word(std::string_view word, Kind kind) {
  if (words_.try_emplace(std::string(word), kind).second) lengths_.insert(word.size());
}

void Pseudonyms::add_host(std::string_view name) {
  name = name.substr(0, name.find('.'));
  if (name.size() < 2 || name.size() > 255 || everyday(name) || !alnum(name.front()) ||
      std::ranges::all_of(name, digit))
    return;
  note(Kind::host, name);
  index_word(name, Kind::host);
}

void Pseudonyms::add_user(std::string_view name) {
  if (name.size() < 2 || name.size() > 64 || everyday(name) || std::ranges::all_of(name, digit) ||
      contains(name, '/'))
    return;
  note(Kind::user, name);
  if (name.size() >= 4)
    index_word(name, Kind::user);  // shorter ones only where a user's name stands
}

void Pseudonyms::add_job(std::string_view name) {
  const bool telling = name.size() >= 8 || std::ranges::any_of(name, [](char c) {
                         return digit(c) || c == '-' || c == '_';
                       });
  if (name.size() < 4 || name.size() > 255 || !telling || everyday(name) ||
      std::ranges::all_of(name, digit))
    return;
  note(Kind::job, name);
  index_word(name, Kind::job);
}

void Pseudonyms::add_word(std::string_view word) {
  if (word.empty()) return;
  note(Kind::job, word);
  index_word(word, Kind::job);
}

// The longest known name that begins here and ends at the end of a word; 0: none.
std::size_t Pseudonyms::dictionary_word(std::string_view text, std::size_t at, Kind& kind) const {
  for (const std::size_t length : lengths_) {
    if (at + length > text.size() ||
        (at + length < text.size() && is_word_char(text[at + length]) &&
         is_word_char(text[at + length - 1]) && text[at + length] != '_'))
      continue;
    const auto it = words_.find(text.substr(at, length));
    if (it == words_.end()) continue;
    // A name without digits that is a part of a longer word is that word: "ada" in "ada-lovelace".
    const std::string_view word = text.substr(at, length);
    if (it->second == Kind::user ||
        (it->second == Kind::host && std::ranges::none_of(word, digit))) {
      const auto joins = [](char c) { return c == '-' || c == '_'; };
      if ((at > 0 && joins(text[at - 1])) ||
          (at + length < text.size() && joins(text[at + length]))) {
        continue;
      }
    }
    kind = it->second;
    return length;
  }
  return 0;
}

// "node[001-004,7]": its end and the names, when one of them is known; 0: none.
std::size_t Pseudonyms::hostlist(std::string_view text, std::size_t at,
                                 std::vector<std::string>& names) const {
  std::size_t open = at;
  while (open < text.size() && open - at < kMostName &&
         (is_word_char(text[open]) || text[open] == '-'))
    ++open;
  if (open == at || open >= text.size() || text[open] != '[') return 0;
  std::size_t end = open + 1;
  while (end < text.size() && end - open < kMostHostlist &&
         (alnum(text[end]) || text[end] == '-' || text[end] == ','))
    ++end;
  if (end >= text.size() || text[end] != ']' || end == open + 1) return 0;
  ++end;
  const Hostlist list = expand_hostlist(text.substr(at, end - at), kMostHostlist);
  if (list.broken || list.hosts.empty() || list.capped) return 0;
  const auto& known = names_[static_cast<std::size_t>(Kind::host)];
  if (std::ranges::none_of(list.hosts,
                           [&](const std::string& host) { return known.contains(host); }))
    return 0;
  names = list.hosts;
  return end;
}

// Tells users and private folders of an absolute path; the path's end.
std::size_t Pseudonyms::scan_path(std::string_view text, std::size_t at, const Found& found) const {
  std::size_t i = at;
  bool is_private = false, packages = false;
  std::string_view before;
  std::size_t depth = 0;
  while (i < text.size() && text[i] == '/') {
    const std::size_t begin = ++i;
    while (i < text.size() && in_path(text[i])) ++i;
    std::size_t stop = i;
    while (stop > begin && (text[stop - 1] == '.' || text[stop - 1] == '='))
      --stop;  // the end of a sentence
    const std::string_view part = text.substr(begin, stop - begin);
    if (part.empty()) break;
    const bool last = i >= text.size() || text[i] != '/';
    if (holds_users(before) && is_private && !everyday(part)) {
      found(begin, stop, Kind::user);
    } else {
      // Below site-packages stand the names of public packages.
      packages = packages || part == "site-packages" || part == "dist-packages";
      Kind known;
      const bool named = dictionary_word(part, 0, known) > 0;
      if (named || !is_private || packages || common_folder(part) || (last && is_file(part))) {
        for (std::size_t w = begin; w < stop; ++w) {
          if (w > begin && is_word_char(text[w - 1]) && text[w - 1] != '_') continue;
          if (const std::size_t length = dictionary_word(text, w, known);
              length > 0 && w + length <= stop) {
            found(w, w + length, known);
            w += length - 1;
          }
        }
      } else {
        found(begin, stop, Kind::folder);
      }
    }
    if (depth == 0 && private_root(part)) is_private = true;
    before = part;
    ++depth;
  }
  return i;
}

// Secrets that show by their form, and identifiers of GPUs.
std::size_t Pseudonyms::take_identifier(std::string_view text, std::size_t at, const Found& found) {
  std::size_t end = at;
  if (starts_secret(text, at, end)) {
    found(at, end, Kind::secret);
    return end;
  }
  const std::string_view rest = text.substr(at);
  if (!rest.starts_with("GPU-") && !rest.starts_with("MIG-")) return 0;
  end = uuid_end(text, at + 4);
  if (end <= at + 4) return 0;
  found(at, end, Kind::serial);
  return end;
}

// Addresses of interfaces. Public ones are taken, but are nobody's secret.
std::size_t Pseudonyms::take_address(std::string_view text, std::size_t at, const Found& found) {
  if (!hexdigit(text[at])) return 0;
  if (const std::size_t end = mac_end(text, at); end > at) {
    found(at, end, Kind::mac);
    return end;
  }
  if (const std::size_t end = ipv6_end(text, at); end > at) {
    found(at, end, Kind::ipv6);
    return end;
  }
  const bool version =
      at >= 2 && (text.substr(at - 2, 2) == "==" || (text[at - 1] == '-' && alnum(text[at - 2])) ||
                  text[at - 1] == '.');
  if (!digit(text[at]) || version) return 0;
  const std::size_t end = ipv4_end(text, at);
  if (end <= at) return 0;
  if (!public_ipv4(text.substr(at, end - at))) found(at, end, Kind::ipv4);
  return end;
}

// A key that tells what follows it, and its value: PASSWORD=, user:, "serial_number": "...
std::size_t Pseudonyms::take_keyed_value(std::string_view text, std::size_t at,
                                         const Found& found) {
  std::size_t key_end = at;
  while (key_end < text.size() && key_end - at < kMostName &&
         (is_word_char(text[key_end]) || text[key_end] == '-'))
    ++key_end;
  if (key_end == text.size() || (text[key_end] != ' ' && !assigns(text[key_end]))) return 0;
  const std::string_view key = text.substr(at, key_end - at);
  if (key.size() > 64) return 0;
  const std::string l = lower(key);
  const bool secret = names_secret(key), user_key = contains(kUserKeys, l),
             job_key = contains(kJobKeys, l);
  if (assigns(text[key_end]) && (secret || user_key || job_key)) {
    const Span value = value_after(text, key_end);
    if (secret && value.size() >= kLeastSecret) {
      found(value.begin, value.end, Kind::secret);
      return value.end;
    }
    if (user_key) {
      const std::string_view whole = value.of(text);
      const std::string_view user = whole.substr(0, whole.find_first_of("()/@"));
      if (names_user(user)) {
        found(value.begin, value.begin + user.size(), Kind::user);
        return value.begin + user.size();
      }
    }
    if (job_key && value.size() >= 3 && !everyday(value.of(text))) {
      found(value.begin, value.end, Kind::job);
      return value.end;
    }
  }
  if (!contains(kSerialKeys, l)) return 0;
  std::size_t from = key_end;
  if (text.substr(from).starts_with(" Number") || text.substr(from).starts_with(" number"))
    from += 7;
  while (from < text.size() && (text[from] == ' ' || text[from] == '\t')) ++from;
  if (from >= text.size() || (text[from] != ':' && text[from] != '=' && text[from] != '"'))
    return 0;
  const Span value = value_after(text, from);
  const std::string_view serial = value.of(text);
  if (serial.size() < 5 || std::ranges::none_of(serial, digit)) return 0;
  found(value.begin, value.end, Kind::serial);
  return value.end;
}

// user@host, user@mail.example.com
std::size_t Pseudonyms::take_login(std::string_view text, std::size_t at,
                                   const Found& found) const {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  std::size_t sign = at;
  while (sign < text.size() && sign - at < kMostName &&
         (is_word_char(text[sign]) || text[sign] == '.' || text[sign] == '-'))
    ++sign;
  if (sign == at || !letter(text[at]) || sign + 1 >= text.size() || text[sign] != '@' ||
      !letter(text[sign + 1]))
    return 0;
  std::size_t domain = sign + 1;
  while (domain < text.size() && domain - sign < kMostName &&
         (alnum(text[domain]) || text[domain] == '.' || text[domain] == '-'))
    ++domain;
  while (domain > sign + 1 && !alnum(text[domain - 1])) --domain;
  const std::string_view where = text.substr(sign + 1, domain - sign - 1);
  Kind kind;
  const bool host = dictionary_word(text, sign + 1, kind) > 0 && kind == Kind::host;
  if (!host && (!contains(where, '.') || digit(where.back()))) return 0;
  if (!everyday(text.substr(at, sign - at))) found(at, sign, Kind::user);
  if (host) return sign + 1;
  found(sign + 1, domain, Kind::domain);
  return domain;
}

// A list of hosts, or a name that is known; the domain behind a host is part of it.
std::size_t Pseudonyms::take_known_name(std::string_view text, std::size_t at,
                                        const Found& found) const {
  std::vector<std::string> names;
  if (const std::size_t list_end = hostlist(text, at, names); list_end > 0) {
    found(at, list_end, Kind::host);
    return list_end;
  }
  Kind kind;
  const std::size_t length = dictionary_word(text, at, kind);
  if (length == 0) return 0;
  const std::size_t end = at + length;
  found(at, end, kind);
  // node-07.cluster.example.com: what follows is the domain, unless it is the ending of a file.
  if (kind != Kind::host || end + 1 >= text.size() || text[end] != '.' ||
      std::isalpha(static_cast<unsigned char>(text[end + 1])) == 0)
    return end;
  std::size_t stop = end + 1;
  while (stop < text.size() && stop - end < kMostName &&
         (alnum(text[stop]) || text[stop] == '-' ||
          (text[stop] == '.' && stop + 1 < text.size() && alnum(text[stop + 1]))))
    ++stop;
  const std::string_view domain = text.substr(end + 1, stop - end - 1);
  if (!contains(domain, '.') || contains(domain, "gz") || contains(domain, "log") ||
      contains(domain, "txt"))
    return end;
  found(end + 1, stop, Kind::domain);
  return stop;
}

void Pseudonyms::scan(std::string_view text, const Found& found) const {
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const bool head = i == 0 || !is_word_char(text[i - 1]) || (text[i - 1] == '_' && alnum(c));
    if (c == '/' && i + 1 < text.size() && in_path(text[i + 1]) &&
        (i == 0 || (!in_path(text[i - 1]) && text[i - 1] != '/') || text[i - 1] == '=' ||
         text[i - 1] == '@')) {
      i = std::max(scan_path(text, i, found), i + 1);
      continue;
    }
    if (c == ':' && i + 1 < text.size() && text[i + 1] == ':' && (i == 0 || !alnum(text[i - 1]))) {
      if (const std::size_t end = ipv6_end(text, i); end > i) {
        found(i, end, Kind::ipv6);
        i = end;
        continue;
      }
    }
    if (!head || !alnum(c)) {
      ++i;
      continue;
    }
    std::size_t end = take_identifier(text, i, found);
    if (end == 0) end = take_address(text, i, found);
    if (end == 0) end = take_keyed_value(text, i, found);
    if (end == 0) end = take_login(text, i, found);
    if (end == 0) end = take_known_name(text, i, found);
    if (end > 0) {
      i = end;
      continue;
    }
    // To the next place where a word can begin.
    while (i < text.size() && is_word_char(text[i]) && text[i] != '_') ++i;
    if (i < text.size() && text[i] == '_') ++i;
  }
}

void Pseudonyms::collect(std::string_view text) {
  scan(text, [&](std::size_t begin, std::size_t end, Kind kind) {
    const std::string_view what = text.substr(begin, end - begin);
    std::vector<std::string> names;
    if (kind == Kind::host && what.ends_with(']') && hostlist(text, begin, names) > 0) {
      for (const std::string& host : names) add_host(host);
    } else if (kind == Kind::user) {
      add_user(what);
      note(Kind::user, what);
    } else {
      note(kind, what);
    }
  });
}

void Pseudonyms::collect_setting(std::string_view name, std::string_view value) {
  const std::string l = lower(name);
  if (names_secret(name) && value.size() >= kLeastSecret)
    note(Kind::secret, value);
  else if (l.ends_with("user") || l.ends_with("username") || l.ends_with("logname"))
    add_user(value);
  else if (l.ends_with("hostname"))
    add_host(value);
  else if (l.ends_with("job_name"))
    add_job(value);
  else if ((contains(l, "serial") || contains(l, "guid")) && value.size() >= 5)
    note(Kind::serial, value);
  collect(value);
}

std::string Pseudonyms::made(Kind kind, std::size_t index, std::size_t width,
                             std::string_view original) {
  const auto padded = [&](std::string_view stem) {
    return fmt::format("{}-{:0{}}", stem, index, std::max<std::size_t>(2, width));
  };
  switch (kind) {
    case Kind::host: return padded("host");
    case Kind::domain: return fmt::format("domain{}.example", index);
    // Numbers of three digits: addresses are sorted as texts.
    case Kind::ipv4:
      return fmt::format("10.{}.{}.{}", 100 + index / 156 / 156 % 156, 100 + index / 156 % 156,
                         100 + index % 156);
    case Kind::ipv6:
      if (!contains(original, "::"))
        return fmt::format("fd00:0000:0000:0000:0000:0000:{:04x}:{:04x}", index >> 16 & 0xffff,
                           index & 0xffff);
      return fmt::format("fd00::{:x}:{:x}", index >> 16 & 0xffff, index & 0xffff);
    case Kind::mac: {
      std::string out = fmt::format("02:00:{:02x}:{:02x}:{:02x}:{:02x}", index >> 24 & 255,
                                    index >> 16 & 255, index >> 8 & 255, index & 255);
      while (out.size() < original.size()) out += ":00";
      return out;
    }
    case Kind::user: return padded("user");
    case Kind::folder: {
      // An ending says what a file is.
      const std::size_t dot = original.rfind('.');
      return padded("folder") + (is_file(original) ? std::string(original.substr(dot)) : "");
    }
    case Kind::job: return padded("job-name");
    case Kind::serial:
      return original.starts_with("GPU-") || original.starts_with("MIG-")
                 ? fmt::format("{}{:08x}-0000-0000-0000-{:012x}", original.substr(0, 4), index,
                               index)
                 : padded("serial");
    case Kind::secret: return padded("secret");
  }
  return "";
}

void Pseudonyms::seal() {
  for (std::size_t k = 0; k < kKinds; ++k) {
    auto& names = names_[k];
    // Those of an earlier map keep theirs; new ones come behind them.
    std::set<std::string> taken;
    std::vector<std::map<std::string, std::string, std::less<>>::iterator> open;
    for (auto it = names.begin(); it != names.end(); ++it) {
      if (it->second.empty())
        open.push_back(it);
      else
        taken.insert(it->second);
    }
    const auto kind = static_cast<Kind>(k);
    const std::size_t width = std::to_string(open.size() + taken.size()).size();
    std::size_t index = 0;
    for (const auto& it : open) {
      do it->second = made(kind, ++index, width, it->first);
      while (taken.contains(it->second));
    }
  }
  for (const Kind kind : {Kind::job, Kind::host, Kind::serial, Kind::secret})
    for (const auto& [original, pseudonym] : names_[static_cast<std::size_t>(kind)])
      if (kind == Kind::job || kind == Kind::host || original.size() >= 8)
        index_word(original, kind);
}

std::string Pseudonyms::pseudonym_of(Kind kind, std::string_view name) const {
  const auto& names = names_[static_cast<std::size_t>(kind)];
  const auto it = names.find(name);
  return it == names.end() || it->second.empty() ? std::string(name) : it->second;
}

std::string Pseudonyms::text(std::string_view text) const {
  std::string out;
  std::size_t done = 0;
  scan(text, [&](std::size_t begin, std::size_t end, Kind kind) {
    if (begin < done) return;
    out += text.substr(done, begin - done);
    const std::string_view what = text.substr(begin, end - begin);
    std::vector<std::string> names;
    if (kind == Kind::host && what.ends_with(']') && hostlist(text, begin, names) > 0) {
      for (std::string& host : names) host = pseudonym_of(Kind::host, host);
      out += fold_hostlist(std::move(names));
    } else {
      out += pseudonym_of(kind, what);
    }
    done = end;
  });
  out += text.substr(done);
  return out;
}

std::string Pseudonyms::setting(std::string_view name, std::string_view value) const {
  for (const Kind kind : {Kind::secret, Kind::user, Kind::serial, Kind::job}) {
    const auto& names = names_[static_cast<std::size_t>(kind)];
    const bool whole = kind == Kind::secret ? names_secret(name)
                       : kind == Kind::user
                           ? lower(name).ends_with("user") || lower(name).ends_with("username") ||
                                 lower(name).ends_with("logname")
                           : true;
    if (!whole) continue;
    if (const auto it = names.find(value); it != names.end()) return it->second;
  }
  return text(value);
}

std::string Pseudonyms::reveal(std::string_view text) const {
  std::unordered_map<std::string, std::string_view, Hash, std::equal_to<>> back;
  std::set<std::size_t, std::greater<>> lengths;
  for (const auto& names : names_)
    for (const auto& [original, pseudonym] : names) {
      back.emplace(pseudonym, original);
      lengths.insert(pseudonym.size());
    }
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    bool replaced = false;
    if (alnum(text[i]) && (i == 0 || !alnum(text[i - 1]))) {
      for (const std::size_t length : lengths) {
        if (i + length > text.size() || (i + length < text.size() && alnum(text[i + length])))
          continue;
        const auto it = back.find(text.substr(i, length));
        if (it == back.end()) continue;
        out += it->second;
        i += length;
        replaced = true;
        break;
      }
    }
    if (!replaced) out += text[i++];
  }
  return out;
}

std::vector<Pair> Pseudonyms::pairs() const {
  std::vector<Pair> out;
  for (std::size_t k = 0; k < kKinds; ++k)
    for (const auto& [original, pseudonym] : names_[k])
      out.push_back({static_cast<Kind>(k), original, pseudonym});
  return out;
}

std::string Pseudonyms::map_document() const {
  nlohmann::ordered_json out = {{"schema", "culprit.redaction-map/1"},
                                {"names", nlohmann::ordered_json::array()}};
  for (const Pair& pair : pairs())
    out["names"].push_back(
        {{"kind", name(pair.kind)}, {"original", pair.original}, {"pseudonym", pair.pseudonym}});
  return json_text(out, 1) + "\n";
}

Result<> Pseudonyms::load(std::string_view map_document, const std::string& file) {
  const auto d = parse_json(map_document);
  const auto no_map = [&] {
    return usage_error("this is not the map of a redaction")
        .at({file, 0})
        .hint("name the file that `culprit redact --map` wrote");
  };
  if (!d.is_object() || d.value("schema", nlohmann::json()) != "culprit.redaction-map/1" ||
      !d.contains("names") || !d["names"].is_array())
    return no_map();
  for (const auto& one : d["names"]) {
    if (!one.is_object() || !one.contains("kind") || !one.contains("original") ||
        !one.contains("pseudonym") || !one["kind"].is_string() || !one["original"].is_string() ||
        !one["pseudonym"].is_string())
      return no_map();
    std::size_t k = 0;
    while (k < kKinds && name(static_cast<Kind>(k)) != one["kind"].get<std::string>()) ++k;
    const std::string original = one["original"], pseudonym = one["pseudonym"];
    if (k == kKinds || original.empty() || pseudonym.empty()) return no_map();
    names_[k][original] = pseudonym;
    const auto kind = static_cast<Kind>(k);
    if (kind == Kind::host || kind == Kind::job || (kind == Kind::user && original.size() >= 4))
      index_word(original, kind);
  }
  return {};
}

}  // namespace culprit::redact
