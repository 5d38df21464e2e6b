// Fields of headers, and what layout of them most lines of a file have.
#include "line/header_layout.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "line/loose_time.hpp"
#include "line/text_cursor.hpp"
#include "model/contains.hpp"

namespace culprit::line {

namespace {

constexpr std::size_t kLongestHeader = 160;
constexpr std::int64_t kMostRanks = 10'000'000;

std::string lower(std::string_view word) {
  std::string out(word);
  for (char& c : out)
    if (alpha(c)) c = static_cast<char>(c | 0x20);
  return out;
}

// What is counted, or named with a number, and is no machine.
bool counted_word(std::string_view stem) {
  static constexpr std::array kCounted = std::to_array<std::string_view>(
      {// devices, processes and their parts
       "gpu", "cuda", "dev", "device", "pid", "tid", "thread", "proc", "process", "task", "job",
       "rank", "local", "actor", "learner", "rollout", "generator", "engine", "enginecore",
       "replica", "conn", "stream", "channel", "queue", "session", "request", "req", "slot",
       // parallel groups and models
       "dp", "tp", "pp", "ep", "cp", "sp", "fsdp", "stage", "layer", "block", "expert", "bucket",
       "group", "llama", "qwen", "gpt", "mistral", "mixtral", "gemma", "deepseek", "bert", "resnet",
       "vit", "model",
       // steps, data and trials
       "step", "epoch", "it", "iter", "phase", "batch", "fold", "exp", "experiment", "abl",
       "ablation", "sweep", "run", "trial", "seed", "test", "split", "shard", "chunk", "part",
       "sample", "data", "dataset", "ds", "token", "lr", "cfg", "config", "ckpt",
       // versions of software, and letters
       "torch", "python", "py", "nccl", "v", "h", "a", "b", "gb", "l", "t", "mi"});
  return contains(kCounted, std::string_view(lower(stem)));
}

// "gpu-07", "gpu112": a machine, as what is one of a device's eight has no zero in front and fewer
// digits.
bool machine_of_gpus(std::string_view word) {
  if (!word.starts_with("gpu")) return false;
  word.remove_prefix(3);
  if (word.starts_with('-')) word.remove_prefix(1);
  return word.size() >= 2 && std::ranges::all_of(word, digit) &&
         (word.front() == '0' || word.size() >= 3);
}

// All of its parts are counted ("step1", "dp0-tp3", "llama3-70b").
bool counts_something(std::string_view word) {
  if (machine_of_gpus(word)) return false;
  const bool whole = word.find_first_of("-_.") == std::string_view::npos;
  while (!word.empty()) {
    const std::size_t end = std::min(word.find_first_of("-_."), word.size());
    const std::string_view part = word.substr(0, end);
    std::size_t stem = 0, digits = 0;
    while (stem < part.size() && alpha(part[stem])) ++stem;
    while (digits < part.size() && digit(part[digits])) ++digits;
    const bool number = digits > 0 && digits + 1 >= part.size();  // "70b"
    if (stem == 0 ? !number : !counted_word(part.substr(0, stem))) return false;
    if (stem == 1 && !whole) return false;  // "gpu-a7": a row or a rack
    word.remove_prefix(std::min(end + 1, word.size()));
  }
  return true;
}

bool like_host(std::string_view word) {
  return word.size() >= 2 && alpha(word.front()) && std::ranges::any_of(word, digit) &&
         may_name_machine(word);
}

bool level_word(std::string_view word) {
  static constexpr std::array kLevels = std::to_array<std::string_view>(
      {"info", "warning", "warn", "error", "debug", "critical", "fatal", "trace", "notice", "err"});
  return contains(kLevels, std::string_view(lower(word)));
}

// The field that a key names; '\0': what follows is the message, or anything else.
char field_of_key(std::string_view key) {
  struct Key {
    std::string_view word;
    char field;
  };
  static constexpr std::array kKeys = std::to_array<Key>(
      {{"host", 'h'},      {"hostname", 'h'},   {"node", 'H'},    {"nodename", 'H'},
       {"machine", 'K'},   {"server", 'K'},     {"rank", 'R'},    {"global_rank", 'R'},
       {"grank", 'R'},     {"time", 'T'},       {"ts", 'T'},      {"timestamp", 'T'},
       {"t", 'T'},         {"level", 'L'},      {"lvl", 'L'},     {"severity", 'L'},
       {"pid", 'K'},       {"tid", 'K'},        {"thread", 'K'},  {"local_rank", 'K'},
       {"lrank", 'K'},     {"world_size", 'K'}, {"logger", 'K'},  {"name", 'K'},
       {"caller", 'K'},    {"component", 'K'},  {"module", 'K'},  {"role", 'K'},
       {"job", 'K'},       {"jobid", 'K'},      {"job_id", 'K'},  {"run", 'K'},
       {"app", 'K'},       {"service", 'K'},    {"cluster", 'K'}, {"pod", 'K'},
       {"container", 'K'}, {"gpu", 'K'},        {"device", 'K'},  {"src", 'K'},
       {"unit", 'K'},      {"namespace", 'K'},  {"region", 'K'},  {"filename", 'K'}});
  const std::string name = lower(key);
  const auto found = std::ranges::find(kKeys, std::string_view(name), &Key::word);
  return found == kKeys.end() ? '\0' : found->field;
}

bool key_char(char c) { return alpha(c) || digit(c) || c == '_' || c == '-' || c == '.'; }
bool opens(char c) { return c == '[' || c == '(' || c == '<' || c == '{'; }
bool closes(char c) { return c == ']' || c == ')' || c == '>' || c == '}'; }
bool separates(char c) { return c == ',' || c == '|' || c == ':' || c == ';' || c == '@'; }

// A time of any form; epoch seconds and times of day among them, since its place says what it is.
std::size_t parse_time(std::string_view text, Timestamp& stamp) {
  if (text.empty() || !(digit(text[0]) || alpha(text[0]))) return 0;
  for (const auto parse : {parse_iso, parse_calendar, parse_short_date})
    if (const std::size_t used = parse(text, stamp)) return used;
  if (!digit(text[0])) return 0;
  if (const std::size_t used = parse_time_of_day(text, stamp)) return used;
  std::size_t used = parse_loose(text, stamp).used;
  while (used > 0 && !digit(text[used - 1]) && !alpha(text[used - 1])) --used;  // what separates
  return used;
}

// "rank 3", "Rank=3", "global_rank: 3", "rank3", "rank 3/64".
bool take_rank(Cursor& in, std::int64_t& rank) {
  Cursor p = in;
  if (p.take_any_case("global")) {
    if (!p.take("_") && !p.take("-")) p.take(" ");
  }
  if (!p.take_any_case("rank")) return false;
  for (int n = 0; n < 2 && p.peek() != '\0' && contains(std::string_view(" :=_-#"), p.peek()); ++n)
    ++p.at;
  const auto number = p.number();
  if (!number || *number >= kMostRanks || alpha(p.peek()) || p.peek() == '.') return false;
  if (p.take("/") && !p.number()) return false;
  rank = *number;
  in = p;
  return true;
}

class FieldReader {
 public:
  FieldReader(std::string_view text, Header& out)
      : in_{text.substr(0, kLongestHeader)}, out_(out) {}

  void read() {
    while (out_.size < HeaderLayout::kMost && (punctuation() || field())) {}
  }

 private:
  void put(char kind) {
    out_.fields[out_.size] = kind;
    out_.ends[out_.size++] = static_cast<std::uint16_t>(in_.at);
  }
  bool has(char kind) const { return contains(out_.view(), kind); }
  char last() const { return out_.size == 0 ? '\0' : out_.fields[out_.size - 1]; }

  bool punctuation() {
    Cursor p = in_;
    p.blanks();
    const char c = p.peek();
    // "host: [-]" is no header; a hyphen separates where blanks stand around it.
    const bool hyphen = c == '-' && p.at > in_.at && p.rest().substr(1, 1) == " ";
    const bool arrow = c == '>' && depth_ == 0;
    if (opens(c)) {
      ++depth_;
    } else if (closes(c) && !arrow) {
      if (depth_ == 0 || opens(last())) return false;
      --depth_;
    } else if ((!separates(c) && !hyphen && !arrow) || out_.size == 0 || opens(last()) ||
               (separates(last()) && last() != ':')) {
      return false;
    }
    in_ = p;
    ++in_.at;
    put(c);
    return true;
  }

  bool field() {
    in_.blanks();
    if (digit(in_.peek())) return time() || bare_number() || other_word();
    if (alpha(in_.peek())) return keyed() || time() || rank() || level() || host() || other_word();
    return other_word();
  }

  bool time() {
    if (has('T')) return false;
    const std::size_t used = parse_time(in_.rest(), out_.time);
    const char next = used == 0 ? '\0' : Cursor{in_.text, in_.at + used}.peek();
    if (used == 0 || alpha(next) || digit(next)) return false;
    in_.at += used;
    put('T');
    return true;
  }

  bool keyed() {
    Cursor p = in_;
    const std::string_view key = p.word(key_char);
    if (key.empty() || !p.take("=")) return false;
    const char kind = field_of_key(key);
    if (kind == '\0' || (kind != 'K' && has(kind))) return false;
    const bool quoted = p.take("\"");
    const std::size_t begin = p.at;
    while (!p.done() &&
           (quoted ? p.peek() != '"' : p.peek() != ' ' && p.peek() != ',' && !closes(p.peek())))
      ++p.at;
    const std::string_view value = p.text.substr(begin, p.at - begin);
    if (quoted && !p.take("\"")) return false;
    if (kind == 'T') {
      std::size_t used = parse_time(p.text.substr(begin), out_.time);
      if (used == 0) return false;
      if (!quoted) p.at = std::max(p.at, begin + used);  // a blank before the time of day
    } else if (kind == 'R') {
      Cursor number{value};
      out_.rank = number.number();
      if (!out_.rank || *out_.rank >= kMostRanks) return false;
    } else if (kind == 'h' || kind == 'H') {
      if (!out_.host.empty() || value.empty() || !alpha(value[0]) ||
          !std::ranges::all_of(value, host_char))
        return false;
      out_.host = value;
    } else if (key == "cluster") {
      out_.cluster = value;
    }
    in_ = p;
    put(kind);
    return true;
  }

  bool rank() {
    if (has('R') || has('r')) return false;  // "[2/4] rank 6": the word wins
    if (std::int64_t number = 0; take_rank(in_, number)) {
      out_.rank = number;
      put('R');
      return true;
    }
    Cursor p = in_;
    if (!(p.take("r") || p.take("R"))) return false;
    const auto number = p.number();
    if (!number || *number >= kMostRanks || host_char(p.peek())) return false;
    out_.rank = number;
    in_ = p;
    put('r');
    return true;
  }

  // "[31]", "[3/64]": alone between brackets.
  bool bare_number() {
    Cursor p = in_;
    const auto number = p.number();
    if (!number || *number >= kMostRanks || has('N') || !opens(last())) return false;
    const bool of = p.take("/") && p.number();
    if (!closes(p.peek())) return false;
    (of ? out_.rank : out_.number) = number;
    in_ = p;
    put(of ? 'n' : 'N');
    return true;
  }

  bool level() {
    Cursor p = in_;
    if (has('L') || !level_word(p.word(alpha)) || host_char(p.peek())) return false;
    in_ = p;
    put('L');
    return true;
  }

  bool host() {
    Cursor p = in_;
    const std::string_view word = p.word(host_char);
    if (!out_.host.empty() || word.ends_with('.') || word.ends_with('-') || !like_host(word))
      return false;
    // "W1118 02:40:18.123": of Google's logger.
    if (Timestamp stamp; contains(std::string_view("IWEFCV"), word[0]) && digit(word[1]) &&
                         parse_glog(in_.rest().substr(1), stamp) > 0)
      return false;
    const char next = p.peek();
    if (next != '\0' && next != ' ' && next != '\t' && !closes(next) && !separates(next) &&
        next != '/' && next != '#' && next != '[')
      return false;
    const bool behind = next != '\0' && contains(std::string_view(":/#["), next);
    Cursor q = p;
    if (behind) ++q.at;
    const auto number = behind ? q.number() : std::nullopt;
    const bool ends = number && (next == '[' ? q.take("]") : !host_char(q.peek()));
    if (next == '[' && !ends) return false;
    out_.host = word;
    in_ = p;
    put('H');
    if (ends) {
      out_.number = number;
      in_ = q;
      put('P');
    }
    return true;
  }

  // A logger's name, a file and its line: what a bracket, a bar or a hyphen ends.
  bool other_word() {
    Cursor p = in_;
    const std::size_t begin = p.at;
    while (!p.done() && p.peek() != ' ' && p.peek() != '\t' && !opens(p.peek()) &&
           !closes(p.peek()) && p.peek() != '|' && p.peek() != ',' && p.peek() != '"')
      ++p.at;
    if (p.at == begin || p.text[p.at - 1] == ':') return false;
    Cursor next = p;
    next.spaces();
    const bool ended = depth_ > 0 || next.peek() == '|' || next.rest().starts_with("- ");
    if (!ended || p.done()) return false;
    in_ = p;
    put('W');
    return true;
  }

  Cursor in_;
  Header& out_;
  int depth_ = 0;
};

// How many of the fields say who speaks or when, with what closes them: the rest may differ from
// line to line.
std::size_t identity_fields(std::string_view fields, std::string_view of = "TRrnHhPN") {
  const std::size_t last = fields.find_last_of(of);
  if (last == std::string_view::npos) return 0;
  // "[rank 0] gx-02 answered late": the first word of a sentence.
  const char behind = last + 1 < fields.size() ? fields[last + 1] : '\0';
  if (fields[last] == 'H' && last > 0 && behind != 'L' && !closes(behind) && !separates(behind) &&
      behind != '-' && behind != '>')
    return identity_fields(fields.substr(0, last), of);
  std::size_t size = last + 1;
  while (size < fields.size() && (closes(fields[size]) || separates(fields[size]))) ++size;
  return size;
}

// The lines of one layout, and whom they name.
class LayoutLines {
 public:
  void take(const Header& header) {
    ++lines_;
    if (!header.host.empty()) ++hosts_[std::string(header.host)];
    const auto number = header.rank ? header.rank : header.number;
    if (!number) return;
    falls_ = falls_ || *number < last_;
    last_ = *number;
    ++numbers_[*number];
    if (!header.host.empty()) places_[*number].insert(std::string(header.host));
    most_ = std::max(most_, *number);
  }

  int lines() const { return lines_; }

  // Those of several, each of whom speaks more than once.
  bool speakers() const {
    const std::size_t many = std::max(hosts_.size(), numbers_.size());
    return many > 1 && 2 * many <= static_cast<std::size_t>(lines_);
  }

  // Ranks take turns and the first is 0; what is counted, as rounds and epochs, never falls, or
  // begins with 1.
  bool like_ranks() const { return falls_ && numbers_.contains(0); }

  // Every number stands with one machine, and some machine with several: ranks of the job.
  bool one_place_each() const {
    return std::ranges::all_of(places_, [](const auto& one) { return one.second.size() == 1; });
  }

  // Before all ranks the same: the one machine, or the phase that they are in.
  bool one_word() const { return hosts_.size() == 1; }

  bool are_hosts(bool ranks) const {
    if (hosts_.empty()) return false;
    if (!ranks && !std::ranges::all_of(hosts_, [](const auto& one) { return shaped(one.first); }))
      return false;
    if (ranks && (!one_place_each() || named_by_rank())) return false;
    if (ranks && numbers_.size() >= 2 * hosts_.size() && numbers_.size() > 1) return true;
    struct Stem {
      int hosts = 0, lines = 0;
    };
    std::map<std::string_view, Stem> stems;
    for (const auto& [host, lines] : hosts_) {
      std::size_t end = 0;
      while (end < host.size() && alpha(host[end])) ++end;
      Stem& stem = stems[std::string_view(host).substr(0, end)];
      ++stem.hosts;
      stem.lines += lines;
    }
    return std::ranges::any_of(stems, [&](const auto& one) {
      return one.second.hosts > 1 && 2 * one.second.lines >= lines_;
    });
  }

  HeaderNumber number_behind_host() const {
    if (numbers_.size() < 2) return HeaderNumber::unknown;
    constexpr std::int64_t kMostOnMachine = 72;
    if (!one_place_each())
      return most_ < kMostOnMachine ? HeaderNumber::local_rank : HeaderNumber::pid;
    const bool dense = most_ < static_cast<std::int64_t>(2 * numbers_.size());
    return hosts_.size() > 1 && dense ? HeaderNumber::rank
           : dense                    ? HeaderNumber::local_rank
                                      : HeaderNumber::pid;
  }

  // "[31] " of as many as there are, and none left out: tasks.
  bool tasks() const {
    constexpr std::size_t kLeast = 4;
    return numbers_.size() >= kLeast &&
           most_ + 1 <= static_cast<std::int64_t>(numbers_.size() + numbers_.size() / 4);
  }

 private:
  // "gx-7", "gx07": what stands with no rank needs more than a digit ("etcd3", "Conv2d").
  static bool shaped(std::string_view host) {
    const std::size_t last = host.find_last_of("0123456789");
    return contains(host, '-') ||
           (last != std::string_view::npos && last > 0 && digit(host[last - 1]));
  }

  // "worker-3" of rank 3 is a process, and so is it of rank 43 if there are eight of them.
  bool named_by_rank() const {
    const auto many = static_cast<std::int64_t>(hosts_.size());
    return places_.size() > 1 && std::ranges::all_of(places_, [&](const auto& one) {
             const std::string& host = *one.second.begin();
             std::size_t begin = host.size();
             while (begin > 0 && digit(host[begin - 1])) --begin;
             const std::string number = host.substr(begin);
             return number == std::to_string(one.first) ||
                    (many > 1 && number == std::to_string(one.first % many));
           });
  }

  int lines_ = 0;
  std::map<std::string, int> hosts_;
  std::map<std::int64_t, int> numbers_;
  std::map<std::int64_t, std::set<std::string>> places_;  // of each number
  std::int64_t most_ = 0, last_ = 0;
  bool falls_ = false;
};

// What the layout is worth: nothing where it says nobody.
HeaderLayout layout_of(std::string_view fields, const LayoutLines& lines) {
  HeaderLayout out;
  const bool ranks = has_any(fields, "Rrn");
  if (has_any(fields, "rn") && !has_any(fields, "R") && !lines.like_ranks()) return {};
  out.local_ranks = ranks && !lines.one_place_each() && lines.are_hosts(false);
  if (has_any(fields, "h"))
    out.hosts = true;
  else if (has_any(fields, "H"))
    out.hosts = out.local_ranks ||
                lines.are_hosts(ranks || lines.number_behind_host() == HeaderNumber::rank);
  out.claims = out.hosts && ranks && !has_any(fields, "h") && lines.one_word();
  if (has_any(fields, "P") && out.hosts && !ranks) out.number = lines.number_behind_host();
  if (has_any(fields, "N") && !ranks && lines.tasks()) out.number = HeaderNumber::task;
  if (!out.hosts && out.number == HeaderNumber::unknown && !ranks) return {};
  if (!out.hosts)  // a word that is no machine begins the message
    fields = fields.substr(0, identity_fields(fields, "TRrnN"));
  std::ranges::copy(fields, out.fields.begin());
  return out;
}

}  // namespace

bool has_any(std::string_view fields, std::string_view of) {
  return fields.find_first_of(of) != std::string_view::npos;
}

bool may_name_machine(std::string_view word) {
  // "H100-NVL-80GB": a model, with its memory.
  const bool model = word.size() > 4 && (word.ends_with("GB") || word.ends_with("SXM5")) &&
                     digit(word[word.size() - 3]);
  return !model && !counts_something(word);
}

Header parse_header(std::string_view text) {
  Header out;
  FieldReader(text, out).read();
  return out;
}

std::size_t message_begin(std::string_view text, const Header& header, std::size_t fields) {
  Cursor in{text, header.ends[fields - 1]};
  in.blanks();
  if (in.rest().starts_with("- ") || in.rest().starts_with("| ")) in.at += 2;
  if (Cursor p = in; p.take("msg=") || p.take("message=")) {
    p.take("\"");
    return p.at;
  }
  return in.at;
}

RankLabel parse_rank_label(std::string_view text) {
  Cursor in{text.substr(0, kLongestHeader)};
  const char open = in.peek();
  const bool bracket = open == '[' || open == '(' || open == '<';
  if (bracket) ++in.at;
  RankLabel out;
  if (Cursor p = in; bracket) {
    const std::string_view host = p.word(host_char);
    const std::size_t end = p.at;
    while (p.peek() == ' ' || separates(p.peek())) ++p.at;
    if (p.at > end && like_host(host)) out.host = host, in.at = p.at;
  }
  const std::size_t begin = in.at;
  if (!take_rank(in, out.rank)) return {};
  const bool of = contains(text.substr(begin, in.at - begin), '/');
  if (bracket) {
    if (!in.take(open == '[' ? "]" : open == '(' ? ")" : ">")) return {};
    const bool colon = in.take(":");
    if (!in.take(" ") && in.peek() != '[' && !in.done() && !colon) return {};
    // PyTorch's own messages begin so, and so do torchrun's lines, which line.cpp knows.
    if (open == '[' && !of && (text.starts_with("[Rank ") || text.starts_with("[rank")) &&
        !contains(text.substr(5, 2), '=') && !contains(text.substr(5, 1), ':'))
      return {};
  } else {
    const bool spaced = in.take(" ");
    if (in.peek() == '\0' || !contains(std::string_view(spaced ? "|-" : ":|>"), in.peek()))
      return {};
    ++in.at;
    if (!in.take(" ") && !in.done()) return {};
  }
  out.used = in.at;
  return out;
}

HeaderLayout learn_header(std::string_view head) {
  constexpr int kMostLines = 200, kLeast = 4, kShare = 80, kShareDated = 40;  // percent
  std::map<std::string, LayoutLines> layouts;
  const auto all = static_cast<int>(
      std::min<std::ptrdiff_t>(std::ranges::count(head, '\n') + 1, kMostLines));  // at most
  int lines = 0, largest = 0;
  // Until no layout can come to its share.
  while (!head.empty() && lines < kMostLines &&
         (largest + all - lines) * 100 >= all * kShareDated) {
    const std::size_t end = head.find('\n');
    const std::string_view text = head.substr(0, end);
    head = end == std::string_view::npos ? std::string_view{} : head.substr(end + 1);
    if (text.empty()) continue;
    ++lines;
    const Header header = parse_header(text);
    const std::size_t fields = identity_fields(header.view());
    if (has_any(header.view().substr(0, fields), "RrnHhN")) {
      LayoutLines& of = layouts[std::string(header.view().substr(0, fields))];
      of.take(header);
      largest = std::max(largest, of.lines());
    }
  }
  if ((largest + all - lines) * 100 < all * kShareDated) return {};
  HeaderLayout best;
  int most = 0;
  for (const auto& [fields, of] : layouts) {
    const bool dated = contains(fields, 'T');
    const bool named = has_any(fields, "Rh");
    if (of.lines() < kLeast || of.lines() <= most || !(named || of.speakers()) ||
        of.lines() * 100 < lines * (dated ? kShareDated : kShare))
      continue;
    if (const HeaderLayout one = layout_of(fields, of); !one.view().empty()) {
      best = one;
      most = of.lines();
    }
  }
  return best;
}

}  // namespace culprit::line
