// Pages about many incidents: the policy allows the one script that stands in them, and nothing
// quoted becomes markup.
#include "report/html_page.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "model/terms.hpp"
#include "report/fleet.hpp"
#include "report/report.hpp"

namespace culprit::report {
namespace {

// FIPS 180-4, as short as it can be said.
std::array<std::uint8_t, 32> sha256(std::string text) {
  static constexpr std::uint32_t k[64] = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
      0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
      0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
      0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
      0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
      0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
      0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
      0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
      0xc67178f2};
  std::uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const std::uint64_t bits = text.size() * 8;
  text += '\x80';
  while (text.size() % 64 != 56) text += '\0';
  for (int i = 7; i >= 0; --i) text += static_cast<char>(bits >> (8 * i));
  const auto turn = [](std::uint32_t x, int n) { return (x >> n) | (x << (32 - n)); };
  for (std::size_t block = 0; block < text.size(); block += 64) {
    std::uint32_t w[64];
    for (std::size_t i = 0; i < 16; ++i) {
      w[i] = 0;
      for (std::size_t j = 0; j < 4; ++j)
        w[i] = (w[i] << 8) | static_cast<std::uint8_t>(text[block + i * 4 + j]);
    }
    for (std::size_t i = 16; i < 64; ++i)
      w[i] = w[i - 16] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ (w[i - 15] >> 3)) + w[i - 7] +
             (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ (w[i - 2] >> 10));
    std::uint32_t s[8];
    for (std::size_t i = 0; i < 8; ++i) s[i] = h[i];
    for (std::size_t i = 0; i < 64; ++i) {
      const std::uint32_t a = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) +
                              ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + w[i];
      const std::uint32_t b = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) +
                              ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
      for (std::size_t j = 7; j > 0; --j) s[j] = s[j - 1];
      s[4] += a;
      s[0] = a + b;
    }
    for (std::size_t i = 0; i < 8; ++i) h[i] += s[i];
  }
  std::array<std::uint8_t, 32> out{};
  for (std::size_t i = 0; i < 32; ++i)
    out[i] = static_cast<std::uint8_t>(h[i / 4] >> (24 - 8 * (i % 4)));
  return out;
}

std::string base64(const std::array<std::uint8_t, 32>& bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = bytes.size() - i;
    const std::uint32_t three = (static_cast<std::uint32_t>(bytes[i]) << 16) |
                                (left > 1 ? static_cast<std::uint32_t>(bytes[i + 1]) << 8 : 0) |
                                (left > 2 ? bytes[i + 2] : 0u);
    for (std::size_t j = 0; j < 4; ++j)
      out += j <= left ? kDigits[(three >> (18 - 6 * j)) & 63] : '=';
  }
  return out;
}

TEST(Page, ThePolicyNamesTheScript) {
  EXPECT_EQ(base64(sha256("abc")), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
  EXPECT_EQ(base64(sha256(std::string(table_script().text))), table_script().sha256)
      << "the script changed: put this digest beside it";
}

constexpr char kHostile[] =
    R"({"schema": "culprit.batch/1", "bundles": 2, "diagnosed": 1, "not_diagnosed": 1, "actions": {"isolate": 1},
  "repeated_hosts": [{"host": "<script>alert(1)</script>", "count": 2, "bundles": ["\"><img src=x>"]}],
  "entries": [{"name": "<b>", "source": "x", "status": "done", "gate": "critical", "action": "isolate", "symptom": "</td>", "targets": [{"kind": "host", "id": "<i>", "confidence": 1}],
     "report": "bundles/\"onclick=\"x/report.html", "start": "2026-01-01T00:00:00Z", "hosts": 3, "complete": false, "summary": "s"},
    {"name": "bad", "source": "x", "status": "unreadable", "gate": "critical", "reason": "<svg onload=x>"}],
  "left_out": ["a<b"]})";

TEST(Page, NothingQuotedBecomesMarkup) {
  const std::string page = batch_index(kHostile);
  for (const char* bad : {"<script>alert", "<img", "<b>", "<i>", "<svg onload", "\"onclick"})
    EXPECT_EQ(page.find(bad), std::string::npos) << bad;
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(page.find("not diagnosed"), std::string::npos);
  // What a document lacks is left out, not a fault.
  EXPECT_NE(batch_index("{}").find("0 bundles"), std::string::npos);
  EXPECT_NE(batch_index("no json").find("</html>"), std::string::npos);
}

struct Colour {
  double red = 0, green = 0, blue = 0;  // linear, 0 to 1
};

// "--mark:#c4242d" behind `rule` of a style sheet, from `from` on.
Colour colour_of(std::string_view css, const std::string& rule, const std::string& variable,
                 std::size_t from) {
  std::size_t at = css.find(rule, from);
  at = css.find(variable + ":#", at) + variable.size() + 2;
  std::string digits(css.substr(at, css.find_first_of(";}", at) - at));
  if (digits.size() == 3)
    digits = {digits[0], digits[0], digits[1], digits[1], digits[2], digits[2]};
  EXPECT_EQ(digits.size(), 6u) << rule;
  const auto linear = [&](std::size_t i) {  // sRGB, IEC 61966-2-1
    const double v = std::stoi(digits.substr(i, 2), nullptr, 16) / 255.0;
    return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
  };
  return {linear(0), linear(2), linear(4)};
}

// WCAG 2.2, contrast ratio.
double contrast(const Colour& a, const Colour& b) {
  const auto light = [](const Colour& c) {
    return 0.2126 * c.red + 0.7152 * c.green + 0.0722 * c.blue;
  };
  const auto [least, most] = std::minmax(light(a), light(b));
  return (most + 0.05) / (least + 0.05);
}

// CIE 1976 difference of two colours; people see one of 2.3.
double difference(const Colour& a, const Colour& b) {
  const auto lab = [](const Colour& c) {
    const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
    const double x = f((0.4124 * c.red + 0.3576 * c.green + 0.1805 * c.blue) / 0.95047),
                 y = f(0.2126 * c.red + 0.7152 * c.green + 0.0722 * c.blue),
                 z = f((0.0193 * c.red + 0.1192 * c.green + 0.9505 * c.blue) / 1.08883);
    return std::array<double, 3>{116 * y - 16, 500 * (x - y), 200 * (y - z)};
  };
  const auto p = lab(a), q = lab(b);
  return std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}

std::vector<std::string> all_actions() {
  std::vector<std::string> out = {""};  // not diagnosed
  for (std::size_t i = 0; i < 16; ++i)
    if (const auto word = name(static_cast<Action>(i)); !word.empty()) out.emplace_back(word);
  return out;
}

// In both colour schemes, on the page and on its panels.
TEST(Page, EachActionHasAColourAndALetterOfItsOwn) {
  EXPECT_NEAR(contrast({1, 1, 1}, {0, 0, 0}), 21, 1e-9);
  EXPECT_NEAR(difference({1, 1, 1}, {0, 0, 0}), 100, 0.1);
  const std::string_view css = page_file("page.css");
  const auto actions = all_actions();
  EXPECT_EQ(actions.size(), 11u);
  const std::size_t dark_ground = css.find("prefers-color-scheme:dark");
  const std::size_t dark_marks = css.find("prefers-color-scheme:dark", dark_ground + 1);
  for (const bool dark : {false, true}) {
    const Colour ground = colour_of(css, ":root", "--ground", dark ? dark_ground : 0),
                 panel = colour_of(css, ":root", "--panel", dark ? dark_ground : 0);
    std::map<std::string, Colour> seen;
    std::set<std::string> letters;
    for (const std::string& action : actions) {
      const ActionLook& look = look_of_action(action);
      EXPECT_EQ(look.action, action);
      EXPECT_TRUE(letters.insert(std::string(look.mark)).second) << action;
      const Colour own =
          colour_of(css, "." + std::string(look.colour) + "{", "--mark", dark ? dark_marks : 0);
      EXPECT_GE(contrast(own, ground), 4.5) << action;
      EXPECT_GE(contrast(own, panel), 4.5) << action;
      for (const auto& [other, colour] : seen)
        EXPECT_GE(difference(own, colour), 20) << action << " " << other << " " << dark;
      seen.emplace(action, own);
    }
  }
  EXPECT_EQ(look_of_action("<x>").action, "");
}

TEST(Page, TheBarOfABatchHasTheLetterInThePartAndInItsKey) {
  const std::string page = batch_index(
      R"({"bundles": 100, "not_diagnosed": 1, "actions": {"repair": 60, "checks": 39}})");
  EXPECT_NE(page.find("<rect class=\"f-mark a-repair\" x=\"1.00%\" y=\"0\" width=\"60.00%\""),
            std::string::npos);
  EXPECT_NE(page.find("<text class=\"on\" x=\"31.00%\" y=\"1.1rem\">R</text>"), std::string::npos);
  for (const char* key : {"a-repair\">R</span>repair: 60", "a-checks\">C</span>checks: 39",
                          "a-other\">-</span>not diagnosed: 1"})
    EXPECT_NE(page.find(key), std::string::npos) << key;
  EXPECT_EQ(page.find(">-</text>"), std::string::npos) << "no letter where there is no room";
}

TEST(Fleet, EveryFormatTakesAnyDocument) {
  for (
      const char* document :
      {"{}", "[]",
       R"({"watched": {"machines": 3, "days": 10, "from": "2026", "to": 5}, "incidents": 1, "offenders": {"machines": [{"machine": "<x>", "count": 3, "beyond_chance": true}], "counts": [{}, {}]},
       "weeks": [{"counts": {"gpu": 1}}, {"counts": 3}], "symptoms": [{"name": "<y>", "count": 1, "share": {"value": 1, "interval": [0, 1]}}]})"})
    for (const FleetFormat* f : fleet_formats()) {
      const std::string out = f->render(nlohmann::json::parse(document));
      EXPECT_FALSE(out.empty()) << f->name;
      if (f->name == "html") {
        EXPECT_EQ(out.find("<x>"), std::string::npos);
        EXPECT_EQ(out.find("<y>"), std::string::npos);
      }
    }
}

}  // namespace
}  // namespace culprit::report
