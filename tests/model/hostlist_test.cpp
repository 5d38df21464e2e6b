#include "model/hostlist.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace culprit {
namespace {

std::string joined(const Hostlist& list) {
  if (list.broken) return "broken";
  std::string out;
  for (const auto& host : list.hosts) out += (out.empty() ? "" : " ") + host;
  return out;
}

TEST(Hostlist, Expands) {
  for (const auto& [text, hosts] :
       std::vector<std::pair<std::string, std::string>>{{"", ""},
                                                        {"gpu-a17", "gpu-a17"},
                                                        {"n[07-11]", "n07 n08 n09 n10 n11"},
                                                        {"n[8-10]", "n8 n9 n10"},
                                                        {"n[099-101]", "n099 n100 n101"},
                                                        {"n[001-002,0010]", "n001 n002 n0010"},
                                                        {"r[1-2]n[5-6]", "r1n5 r1n6 r2n5 r2n6"},
                                                        {"m[0-1]-[0-1]", "m0-0 m0-1 m1-0 m1-1"},
                                                        {"q[3,1-4]", "q3 q1 q2 q3 q4"},
                                                        {"a,b[1-2],c", "a b1 b2 c"},
                                                        {"a b\tc\n", "a b c"},
                                                        {",a,,b,", "a b"},
                                                        {"[1-2]", "1 2"},
                                                        {"n[5]", "n5"},
                                                        {"n[1-2]-ib0", "n1-ib0 n2-ib0"},
                                                        {"n[A]", "broken"},
                                                        {"n[1-]", "broken"},
                                                        {"n[-1]", "broken"},
                                                        {"n[3-1]", "broken"},
                                                        {"n[]", "broken"},
                                                        {"n[1", "broken"},
                                                        {"n1]", "broken"},
                                                        {"n[[1]]", "broken"},
                                                        {"n[1,]", "broken"},
                                                        {"(null)", "broken"},
                                                        {"n[1-2-3]", "broken"},
                                                        {"n[1 -2]", "broken"},
                                                        {"a,n[x]", "broken"},
                                                        {"n[99999999999999999999]", "broken"}})
    EXPECT_EQ(joined(expand_hostlist(text)), hosts) << text;
  EXPECT_TRUE(expand_hostlist("n[1-2]-ib0").text_after_brackets);
  EXPECT_FALSE(expand_hostlist("n[1-2]").text_after_brackets);
}

TEST(Hostlist, IsCapped) {
  for (const char* text :
       {"n[0-1000000000000]", "n[0-999999999999999999]", "n[0-999999999][0-999999999][0-999999999]",
        "n[0-9,0-999999999999]", "a,b,c,d,e,f,g,h,i,j,k"}) {
    const Hostlist list = expand_hostlist(text, 10);
    EXPECT_EQ(list.hosts.size(), 10u) << text;
    EXPECT_TRUE(list.capped) << text;
  }
  EXPECT_FALSE(expand_hostlist("n[0-9]", 10).capped);
  EXPECT_TRUE(expand_hostlist("n[0-999999],n[x]", 10).hosts.size() == 10 ||
              expand_hostlist("n[0-999999],n[x]", 10).broken);
  std::string brackets;
  for (int i = 0; i < 40; ++i) brackets += "[0-9]";
  EXPECT_TRUE(expand_hostlist(brackets).broken);
  EXPECT_TRUE(expand_hostlist(std::string(300, 'n')).broken);
}

TEST(Hostlist, Folds) {
  EXPECT_EQ(fold_hostlist(std::vector<Host>()), "");
  EXPECT_EQ(fold_hostlist({"node007", "node001", "node003", "node002", "node002"}),
            "node[001-003,007]");
  EXPECT_EQ(fold_hostlist({"n9", "n10", "n11"}), "n[9-11]");
  EXPECT_EQ(fold_hostlist({"n09", "n10", "n9"}), "n[9,09-10]");
  EXPECT_EQ(fold_hostlist({"b", "a", "gpu-a17"}), "a,b,gpu-a17");
  EXPECT_EQ(fold_hostlist({"n", "n1", "n2"}), "n,n[1-2]");
  EXPECT_EQ(fold_hostlist({"r1n1", "r1n2", "r2n1"}), "r1n[1-2],r2n1");
}

RC_GTEST_PROP(Hostlist, FoldingLosesNothing, ()) {
  const auto name = rc::gen::exec([] {
    std::string out =
        *rc::gen::elementOf(std::vector<std::string>{"n", "gpu-", "r1n", "", "a.b", "x0"});
    const auto digits = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0129")));
    out += digits.substr(0, 25);
    return out.empty() ? std::string("z") : out;
  });
  const auto hosts = *rc::gen::container<std::vector<std::string>>(name);
  const Hostlist back = expand_hostlist(fold_hostlist(hosts));
  RC_ASSERT(!back.broken);
  RC_ASSERT(std::set<std::string>(back.hosts.begin(), back.hosts.end()) ==
            std::set<std::string>(hosts.begin(), hosts.end()));
  RC_ASSERT(std::set<std::string>(back.hosts.begin(), back.hosts.end()).size() ==
            back.hosts.size());
}

RC_GTEST_PROP(Hostlist, AnyTextEnds, ()) {
  const auto text =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("an019-,[] \n(")));
  const Hostlist list = expand_hostlist(text, 100);
  RC_ASSERT(list.hosts.size() <= 100);
}

TEST(Hostlist, AsScontrolDoes) {
  const std::filesystem::path path =
      std::string(CULPRIT_SHARED_DIR) + "/formats/topology/slurm_hostlist_expansion.tsv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no samples here";
  std::ifstream file(path);
  std::string line;
  int cases = 0;
  while (std::getline(file, line)) {
    const std::size_t tab = line.find('\t');
    ASSERT_NE(tab, std::string::npos);
    std::string want = line.substr(tab + 1);
    while (!want.empty() && want.back() == ' ') want.pop_back();
    const Hostlist got = expand_hostlist(line.substr(0, tab));
    ++cases;
    if (want.find("nvalid hostlist") == std::string::npos)
      EXPECT_EQ(joined(got), want);
    else
      EXPECT_TRUE(got.broken || got.text_after_brackets) << line;
  }
  EXPECT_GE(cases, 10);
}

}  // namespace
}  // namespace culprit
