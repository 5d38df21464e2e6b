// What all lines of a file share: read off its head.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "line/digit.hpp"
#include "line/line.hpp"
#include "line/loose_time.hpp"
#include "line/text_cursor.hpp"
#include "model/contains.hpp"

namespace culprit::line {

namespace {

// Machines called by words before every line. Levels, services and keys stand before a colon, too:
// "ox-alder: [2026-03-07 ..." takes several that share what is before the hyphen, each before a
// date or bracket; "alder: ..." takes several that the lines themselves name as ends of connections
// ("remote peer alder<41006>").
class WordedHosts {
 public:
  void take(std::string_view word, Cursor c) {
    if (word.empty() || word[0] < 'a' || word[0] > 'z' ||
        !(c.take(": ") || (c.take(":") && c.done())))
      return;
    ++lines_;
    words_.insert(word);
    const std::string_view stem = word.substr(0, word.find('-'));
    if (stem.size() + 1 < word.size() && (c.peek() == '[' || digit(c.peek()))) ++stems_[stem];
  }
  // Of so many lines; `head` is where they stand.
  bool hosts(int lines, std::string_view head) const {
    if (words_.size() < 2 || lines_ * 100 < lines * 95) return false;
    if (stems_.size() == 1 && stems_.begin()->second * 100 >= lines * 95) return true;
    const bool again = static_cast<std::size_t>(lines_) >= 2 * words_.size();  // no listing of keys
    if (words_.size() >= 3 && again && numbered_by_letters()) return true;
    std::size_t peers = 0;
    for (const std::string_view word : words_) peers += contains(head, fmt::format(" {}<", word));
    return peers >= 2 && 2 * peers >= words_.size();
  }

 private:
  // "lx-train-a", "lx-train-b": they differ behind the last dash alone.
  bool numbered_by_letters() const {
    const std::string_view first = *words_.begin();
    const std::string_view stem = first.substr(0, first.rfind('-') + 1);
    return stem.size() > 1 && std::ranges::all_of(words_, [&](std::string_view one) {
             return one.starts_with(stem) && one.size() > stem.size() &&
                    one.size() <= stem.size() + 2;
           });
  }

  int lines_ = 0;
  std::map<std::string_view, int> stems_;
  std::set<std::string_view> words_;
};

// Whether lines begin with a time of a form that may be something else: enough of them, and in
// order.
class LooseTimes {
 public:
  void take(std::string_view text) {
    Timestamp stamp;
    const LooseTime found = parse_loose(text, stamp);
    if (found.used == 0 || found.sure) return;
    in_order_ += lines_ > 0 && stamp.ns >= last_;
    last_ = stamp.ns;
    ++lines_;
  }
  bool are_times(int lines) const {
    constexpr int kLeast = 3, kShare = 30, kInOrder = 95;  // percent
    return lines_ >= kLeast && lines_ * 100 >= lines * kShare &&
           in_order_ * 100 >= (lines_ - 1) * kInOrder;
  }

 private:
  int lines_ = 0, in_order_ = 0;
  Nanoseconds last_ = 0;
};

// Whether the layout says more of the lines that have it than what is peeled anyway.
bool says_more(const HeaderLayout& layout, std::string_view head) {
  constexpr int kEnough = 8;
  int more = 0, seen = 0;
  Habit habit;
  habit.header = layout;
  while (!head.empty() && seen < kEnough && 2 * (seen - more) < kEnough) {
    const std::string_view text = head.substr(0, head.find('\n'));
    head.remove_prefix(std::min(head.size(), text.size() + 1));
    if (!parse_header(text).view().starts_with(layout.view())) continue;
    const Prefix with = peel(text, habit).prefix, without = peel(text).prefix;
    if (without.kernel) return false;  // whose words are names of drivers
    // "[default3]:[rank43] ": what a launcher counts is read as it means it.
    if ((without.local_rank && !with.local_rank) || (without.rank && !with.rank)) return false;
    ++seen;
    more += (with.host && with.host != without.host) || (with.rank && with.rank != without.rank) ||
            (with.task && with.task != without.task) ||
            (with.local_rank && with.local_rank != without.local_rank) ||
            (with.time.clock != Clock::none && without.time.clock == Clock::none);
  }
  return 2 * more > seen;
}

}  // namespace

Habit habit_of(std::string_view head) {
  Habit habit;
  int lines = 0;
  int prefixed = 0;
  WordedHosts siblings;
  LooseTimes loose;
  int composed = 0;
  std::map<std::string_view, int> pods, containers;  // the first two words
  std::string_view rest = head;
  while (!rest.empty() && lines < 200) {
    const std::size_t end = rest.find('\n');
    const std::string_view text = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    if (text.empty()) continue;
    ++lines;
    const std::size_t label = parse_rank_label(text).used;
    loose.take(text.substr(label));
    Cursor c{text};
    const std::string_view host = c.word(host_char);
    const bool numbered = std::ranges::any_of(host, digit) && !host.empty() && alpha(host[0]) &&
                          may_name_machine(host);
    if (Cursor q = c; !host.empty() && q.peek() == ' ') {
      q.spaces();
      if (q.take("|") && (q.done() || q.peek() == ' '))
        ++composed;
      else if (numbered && contains(host, '-') && c.take(" ")) {
        const std::string_view container = c.word(host_char);
        if (!container.empty() && alpha(container[0]) && (c.done() || c.peek() == ' ')) {
          ++pods[host];
          ++containers[container];
        }
      }
    }
    if (numbered && label == 0 && (c.take(": ") || (c.take(":") && c.done()))) ++prefixed;
    if (!numbered) siblings.take(host, c);
  }
  habit.loose_time = loose.are_times(lines);
  // A kernel's device names look alike ("nvme0: ", "eth0: "), but never on nearly every line of a
  // file. What pdsh and the launcher that calls it say themselves has no machine before it.
  habit.host_prefix = lines >= 3 && (prefixed * 100 >= lines * 85 || siblings.hosts(lines, head));
  habit.compose_prefix = lines >= 3 && composed * 100 >= lines * 95;
  // One container on every line, and fewer pods than lines: "step-1 loss 3.2" has as many first
  // words as lines.
  int most = 0;
  for (const auto& [container, count] : containers) most = std::max(most, count);
  habit.stern_prefix =
      lines >= 6 && most * 100 >= lines * 95 && pods.size() * 2 <= static_cast<std::size_t>(lines);
  if (!habit.host_prefix && !habit.compose_prefix && !habit.stern_prefix)
    if (const HeaderLayout header = learn_header(head);
        !header.view().empty() && says_more(header, head))
      habit.header = header;
  return habit;
}

}  // namespace culprit::line
