#include "audit/chain.hpp"

#include "audit/note.hpp"
#include "base/encoding.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace warder::audit;

TEST_CASE("the tree has the roots of RFC 6962's reference leaves") {
  const std::vector<std::string> leaves{"",         std::string(1, '\0'), "\x10",
                                        "\x20\x21", "\x30\x31",           "\x40\x41\x42\x43",
                                        "PQRSTUVW", "`abcdefghijklmno"};
  const std::vector<std::string> roots{
      "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
      "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
      "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
      "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
      "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
      "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
      "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
      "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};
  Tree tree;
  CHECK(hex_encode(tree.root()) ==
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    tree.append(leaf_hash(leaves[i]));
    CHECK(tree.size() == i + 1);
    CHECK(hex_encode(tree.root()) == roots[i]);
  }
}

TEST_CASE("keys and signatures are those of Go's sumdb/note") {
  // The example of golang.org/x/mod/sumdb/note.
  const std::string text = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
  const auto key = VerifierKey::parse(text);
  REQUIRE(key);
  CHECK(key->text() == text);
  SignedNote note;
  note.text =
      "If you think cryptography is the answer to your problem,\n"
      "then you don't know what your problem is.\n";
  note.signatures.push_back(
      {"PeterNeumann", *base64_decode("x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZ"
                                      "SNXgKvqfqdngotpRZb6KE6RyyBwJnAM=")});
  CHECK(note.signed_by(*key));
  note.text[0] = 'i';
  CHECK_FALSE(note.signed_by(*key));
}

TEST_CASE("a verifier key with another id, algorithm or length is refused") {
  for (const char* text :
       {"", "a+b", "PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "Peter Neumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+c74f20a3+AhpC2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+c74f20a3+ARpc2QcUPDhM", "+c74f20a3+ARpc2QcUPDhM"}) {
    CAPTURE(text);
    CHECK_FALSE(VerifierKey::parse(text));
  }
}

TEST_CASE("a signed note comes back, and no changed byte of it is accepted") {
  std::array<std::uint8_t, 32> seed{};
  seed.fill(7);
  const SigningKey key(seed);
  const Checkpoint checkpoint{"warder/audit/gw1", 5, leaf_hash("x")};
  const std::string note = key.sign(checkpoint);
  CHECK(note.starts_with("warder/audit/gw1\n5\n" + to_base64(checkpoint.root) +
                         "\n\n— warder-audit "));
  const auto parsed = SignedNote::parse(note);
  REQUIRE(parsed);
  CHECK(parsed->checkpoint == checkpoint);
  CHECK(parsed->signed_by(key.verifier()));
  for (std::size_t i = 0; i < note.size(); ++i) {
    std::string bad = note;
    bad[i] ^= 1;
    const auto other = SignedNote::parse(bad);
    if (other && other->signed_by(key.verifier())) FAIL("byte " << i << " may be changed");
  }
  seed.fill(8);
  CHECK_FALSE(parsed->signed_by(SigningKey(seed).verifier()));
}

TEST_CASE("a note may carry a witness's signature beside ours") {
  std::array<std::uint8_t, 32> seed{};
  const SigningKey key(seed);
  const std::string note = key.sign({"log", 0, Tree().root()});
  const auto parsed =
      SignedNote::parse(note + "— witness.example " + base64_encode(std::string(76, 'w')) + "\n");
  REQUIRE(parsed);
  CHECK(parsed->signatures.size() == 2);
  CHECK(parsed->signed_by(key.verifier()));
  CHECK_FALSE(SignedNote::parse(note.substr(0, note.size() - 1)));
  CHECK_FALSE(SignedNote::parse(note + "junk\n"));
  CHECK_FALSE(SignedNote::parse("log\n01\n" + note.substr(6)));
}
