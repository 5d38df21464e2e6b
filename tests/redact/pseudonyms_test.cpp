#include "redact/pseudonyms.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace culprit::redact {
namespace {

// All of these are texts of one incident.
Pseudonyms over(const std::vector<std::string>& texts, const std::vector<std::string>& hosts = {}) {
  Pseudonyms names;
  for (const std::string& host : hosts) names.add_host(host);
  for (const std::string& text : texts) names.collect(text);
  names.seal();
  return names;
}

std::string changed(const std::string& text, const std::vector<std::string>& hosts = {}) {
  return over({text}, hosts).text(text);
}

TEST(Pseudonyms, HostsInTextsPathsAndLists) {
  const std::vector<std::string> hosts{"gx-n07", "gx-n10", "gx-n08"};
  EXPECT_EQ(changed("gx-n07 kernel: link of gx-n10 down", hosts),
            "host-01 kernel: link of host-03 down");
  EXPECT_EQ(changed("logs/gx-n08/dmesg-gx-n08.txt", hosts), "logs/host-02/dmesg-host-02.txt");
  EXPECT_EQ(changed("nvidia-smi_gx-n08_1.csv gx-n08:711", hosts),
            "nvidia-smi_host-02_1.csv host-02:711");
  EXPECT_EQ(changed("gx-n070 and agx-n07", hosts), "gx-n070 and agx-n07");  // other names
  EXPECT_EQ(changed("NodeList=gx-n[07-08,10]", hosts), "NodeList=host-[01-03]");
  EXPECT_EQ(changed("gx-n07.rack3.corp.example up", hosts), "host-01.domain1.example up");
}

TEST(Pseudonyms, WordsOfEveryLogAreNoHosts) {
  const std::string text = "master node: total-vm:11kB of vm, localhost";
  EXPECT_EQ(changed(text, {"master", "vm", "localhost", "node", "17"}), text);
}

TEST(Pseudonyms, AddressesKeepTheirOrderAndSomeStay) {
  EXPECT_EQ(changed("10.9.0.2:29500 -> 10.10.0.3"), "10.100.100.102:29500 -> 10.100.100.101");
  EXPECT_EQ(changed("listen 0.0.0.0, 127.0.0.1, mask 255.255.0.0"),
            "listen 0.0.0.0, 127.0.0.1, mask 255.255.0.0");
  EXPECT_EQ(changed("nvidia-cublas-cu12==12.4.5.8 535.104.05 1.2.3.4.5"),
            "nvidia-cublas-cu12==12.4.5.8 535.104.05 1.2.3.4.5");
  EXPECT_EQ(changed("ether 9c:63:c0:11:22:33 at 03:26:24"), "ether 02:00:00:00:00:01 at 03:26:24");
  EXPECT_EQ(changed("gid fe80:0000:0000:0000:9e63:c0ff:fe11:2233"),
            "gid fd00:0000:0000:0000:0000:0000:0000:0001");
  EXPECT_EQ(changed("PCI:0000:3b:00.0 12:34:56 a::b"), "PCI:0000:3b:00.0 12:34:56 a::b");
}

TEST(Pseudonyms, UsersFoldersAndWhatPathsKeep) {
  EXPECT_EQ(changed("File \"/home/mmuster/secret-model/train.py\", line 3"),
            "File \"/home/user-01/folder-01/train.py\", line 3");
  EXPECT_EQ(changed("/home/mmuster/env/lib/python3.10/site-packages/torch/nn/a.py"),
            "/home/user-01/env/lib/python3.10/site-packages/torch/nn/a.py");
  EXPECT_EQ(changed("/usr/lib/x86_64-linux-gnu/libc.so.6 /proc/driver/nvidia"),
            "/usr/lib/x86_64-linux-gnu/libc.so.6 /proc/driver/nvidia");
  EXPECT_EQ(changed("USER=mmuster ran; mmuster again, mmusterx not"),
            "USER=user-01 ran; user-01 again, mmusterx not");
  EXPECT_EQ(changed("mmuster@gx-n07:~$ ls", {"gx-n07"}), "user-01@host-01:~$ ls");
  EXPECT_EQ(changed("ask m.muster@mail.corp.example"), "ask user-01@domain1.example");
  EXPECT_EQ(changed("USER=root /root/x @decorator 3@4"), "USER=root /root/x @decorator 3@4");
}

TEST(Pseudonyms, SecretsAndSerials) {
  EXPECT_EQ(changed("export WANDB_API_KEY=0123456789abcdef0123"), "export WANDB_API_KEY=secret-01");
  EXPECT_EQ(changed("{\"password\": \"correct horse battery\"}").find("correct"),
            std::string::npos);
  EXPECT_EQ(changed("token hf_abcdefghijklmnopqrstuvwx used"), "token secret-01 used");
  EXPECT_EQ(changed("tokens: 123456789 tokenizer=longname-8b"),
            "tokens: 123456789 tokenizer=longname-8b");
  EXPECT_EQ(changed("Serial Number                         : 1650922014321, again 1650922014321"),
            "Serial Number                         : serial-01, again serial-01");
  EXPECT_EQ(changed("GPU-6f2a01be-8a10-77aa-0b0c-0123456789ab lost"),
            "GPU-00000001-0000-0000-0000-000000000001 lost");
  Pseudonyms names;
  names.collect_setting("env.MY_TOKEN", "swordfish-1234");
  names.seal();
  EXPECT_EQ(names.setting("env.MY_TOKEN", "swordfish-1234"), "secret-01");
}

TEST(Pseudonyms, AMapIsContinuedAndReveals) {
  Pseudonyms first = over({"gx-n07 at 10.0.0.7"}, {"gx-n07"});
  Pseudonyms second;
  ASSERT_TRUE(second.load(first.map_document(), "m.json"));
  second.add_host("gx-a01");
  second.collect("gx-a01 and gx-n07 at 10.0.0.7, 10.0.0.1");
  second.seal();
  const std::string out = second.text("gx-a01 and gx-n07 at 10.0.0.7, 10.0.0.1");
  EXPECT_EQ(out, "host-02 and host-01 at 10.100.100.101, 10.100.100.102");
  EXPECT_EQ(second.reveal(out), "gx-a01 and gx-n07 at 10.0.0.7, 10.0.0.1");
  EXPECT_FALSE(second.load("{}", "m.json"));
  EXPECT_FALSE(second.load("nonsense", "m.json"));
}

TEST(Pseudonyms, HostileTextsAreHarmless) {
  for (const std::string text : {"/",
                                 "//",
                                 "/home/",
                                 "/home//x",
                                 "@",
                                 "a@",
                                 "GPU-",
                                 "node[",
                                 "node[1-99999999]",
                                 "::",
                                 ":::",
                                 "PASSWORD=",
                                 "password=\"x",
                                 "serial:",
                                 "\xff/\x80@\x00",
                                 "1.2.3.",
                                 "_",
                                 "a_",
                                 "/a/b/",
                                 "user="}) {
    const Pseudonyms names = over({text}, {"n1"});
    EXPECT_LT(names.text(text).size(), 200u);
  }
  const std::string big(200'000, 'a');
  EXPECT_EQ(changed(big), big);
  std::string slashes;
  for (int i = 0; i < 50'000; ++i) slashes += "/a";
  EXPECT_EQ(changed(slashes), slashes);
  std::string at;
  for (int i = 0; i < 50'000; ++i) at += "a.b-";
  EXPECT_EQ(changed(at), at);  // not quadratic
  for (const char* piece : {"user=", "password:", "a@b.c@", "n1[1,", "eyJ-",
                            "serial: ", "::1:", "GPU-", "1.1.1.", "ab:cd:"}) {
    std::string many;
    while (many.size() < 100'000) many += piece;
    EXPECT_LT(changed(many, {"n1"}).size(), 1'000'000u) << piece;
  }
}

}  // namespace
}  // namespace culprit::redact
