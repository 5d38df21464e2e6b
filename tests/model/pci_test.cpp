#include <gtest/gtest.h>

#include "model/pci.hpp"

namespace culprit {
namespace {

struct Address {
  const char* text;
  const char* normal;
};  // nullptr: none

TEST(Pci, BringsSpellingsToOneForm) {
  for (const Address& a : {Address{"PCI:0000:3b:00", "0000:3b:00"},
                           {"0000:3B:00.0", "0000:3b:00"},
                           {"00000000:3B:00.0", "0000:3b:00"},
                           {"3b:00.0", "0000:3b:00"},
                           {"3b:00", "0000:3b:00"},
                           {"pci:0009:01:00", "0009:01:00"},
                           {"GPU0000:9b:00", "0000:9b:00"},
                           {"0000:3b:00 (bus)", "0000:3b:00"},
                           {"10000:e1:00.0", "10000:e1:00"},
                           {"...", nullptr},
                           {"", nullptr},
                           {":", nullptr},
                           {"3b", nullptr},
                           {"0000:3b:00:01", nullptr},
                           {"0000:3g:00", nullptr},
                           {"0000:13b:00", nullptr},
                           {"0000:3b:", nullptr},
                           {"GPU-509665ad-b600", nullptr},
                           {"0000 3b 00", nullptr},
                           {"0000000000:3b:00", nullptr}}) {
    const auto got = normal_pci(a.text);
    EXPECT_EQ(got.has_value(), a.normal != nullptr) << a.text;
    if (got && a.normal) { EXPECT_EQ(*got, a.normal) << a.text; }
  }
}

TEST(Pci, ReadsTheBusIdOfNccl) {
  for (const Address& a : {Address{"53000", "0000:53:00"},
                           {"b9000", "0000:b9:00"},
                           {"7000", "0000:07:00"},
                           {"100000", "0001:00:00"},
                           {"801000", "0008:01:00"},
                           {"1b1f0", "0000:1b:1f"},
                           {"d3f200000", "d3f2:00:00"},  // a domain of four digits, as on Azure
                           {"", nullptr},
                           {"b9", nullptr},
                           {"b9gpu", nullptr},
                           {"0123456789", nullptr}}) {
    const auto got = pci_from_bus_id(a.text);
    EXPECT_EQ(got.has_value(), a.normal != nullptr) << a.text;
    if (got && a.normal) { EXPECT_EQ(*got, a.normal) << a.text; }
  }
}

}  // namespace
}  // namespace culprit
