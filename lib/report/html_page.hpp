// What pages other than the report of one incident share with it: head, style, policy.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::report {

// A script that a page may run: its text, and the digest of it that the page's policy names, so
// that nothing else can run there.
struct PageScript {
  std::string_view text, sha256;  // base64; tests compare them
};

constexpr int kPageWidth = 960;  // of a picture

// The whole page. style: beside that of page.css, such as that of tables.
std::string html_page(const std::string& title, std::string_view style, const std::string& body,
                      const std::optional<PageScript>& script = {});

// One of the files page.css, table.css and table.js.
std::string_view page_file(std::string_view name);

// How an action looks: a class of page.css that sets its colour, which no other action has, and a
// letter, for whoever does not see the colour. "": not diagnosed; an unknown action looks so, too.
struct ActionLook {
  std::string_view action, colour, mark;
};
const ActionLook& look_of_action(std::string_view action);

// A bar of shares with a key below; parts of zero are left out. colours: f-red f-blue ...
struct BarPart {
  std::string name;
  double value = 0;
  std::string colour, shown;  // shown: the value as text
  std::string mark = {};      // a letter in the part and in its key
};
std::string html_bar(const char* id, const std::string& title, const std::vector<BarPart>& parts);

// The class of a cell that holds a name: on one line unless it is very long.
inline const char* name_class(const std::string& name) {
  return name.size() <= 40 ? "keep" : "mono";
}

// Sorts by the header that is pressed and hides the rows that do not match. The page is whole
// without it: what needs it is hidden until it runs.
PageScript table_script();

}  // namespace culprit::report
