// Names of codings: what a body is wrapped in, and what a request may ask for.
#include "http/coding.hpp"

#include "tests/support/catch.hpp"

using namespace warder;

namespace {

ContentCodings codings(const std::vector<std::string>& values) {
  HeaderList fields;
  for (const std::string& value : values) fields.add("Content-Encoding", value);
  return content_codings(fields);
}

// What becomes of these Accept-Encoding fields, joined by "|".
std::string asked(const std::vector<std::string>& values) {
  HeaderList fields;
  for (const std::string& value : values) fields.add("Accept-Encoding", value);
  keep_known_codings(fields);
  std::string joined;
  for (const HeaderField& field : fields) joined += (joined.empty() ? "" : "|") + field.value;
  return joined;
}

}  // namespace

TEST_CASE("the codings of a body, in the order in which they were applied") {
  using C = std::vector<Coding>;
  CHECK(codings({}).is_identity());
  CHECK(codings({""}).is_identity());
  CHECK(codings({"Identity"}).is_identity());
  CHECK(codings({"identity,"}).is_identity());
  CHECK(codings({" , ,"}).is_identity());
  CHECK(codings({"gzip"}).applied == C{Coding::gzip});
  CHECK(codings({"X-GZIP"}).applied == C{Coding::gzip});
  CHECK(codings({"deflate"}).applied == C{Coding::deflate});
  CHECK(codings({"identity, gzip"}).applied == C{Coding::gzip});
  CHECK(codings({"", "br"}).applied == C{Coding::br});
  CHECK(codings({"br,\tzstd"}).applied == C{Coding::br, Coding::zstd});
  CHECK(codings({"gzip", "br , deflate"}).applied == C{Coding::gzip, Coding::br, Coding::deflate});
}

TEST_CASE("a coding without a meaning here, and a fourth one") {
  for (const char* value :
       {"compress", "x-compress", "dcb", "dcz", "gzip;q=1", "gzip br", "x-private", "gzipp", "*",
        "aes128gcm", "\"gzip\"", "gzip, gzip, gzip, gzip"}) {
    INFO(value);
    CHECK_FALSE(codings({value}).known);
    CHECK_FALSE(codings({value}).is_identity());
    CHECK_FALSE(codings({"br", value}).known);
  }
  CHECK(codings({"gzip, identity, gzip, gzip"}).known);
}

TEST_CASE("a request keeps what can be undone, as the client wrote it") {
  for (const char* value :
       {"gzip", "gzip, deflate, br, zstd", "gzip;q=0.5,br ;q=1.0 , identity;q=0", "x-gzip", "GZIP",
        "identity", "identity;q=0, gzip"}) {
    CHECK(asked({value}) == value);
  }
  CHECK(asked({"gzip", "br"}) == "gzip|br");
}

TEST_CASE("what cannot be undone goes, and with nothing left identity is asked for") {
  CHECK(asked({}) == "identity");
  CHECK(asked({""}) == "identity");
  CHECK(asked({"*"}) == "identity");
  CHECK(asked({"*;q=0.1"}) == "identity");
  CHECK(asked({"compress, dcb;q=0.9"}) == "identity");
  CHECK(asked({"x-private, zstd;q=0.9"}) == "zstd;q=0.9");
  CHECK(asked({"gzip, dcz", "compress", "br"}) == "gzip, br");
  CHECK(asked({"gzip, *"}) == "gzip");
  CHECK(asked({"gzip, *;q=0"}) == "gzip, identity;q=0");
  CHECK(asked({"gzip, *; Q=0.000"}) == "gzip, identity;q=0");
  CHECK(asked({"gzip, identity;q=0.5, *;q=0"}) == "gzip, identity;q=0.5");
  CHECK(asked({"*;q=0"}) == "identity");
}

TEST_CASE("gRPC's own field keeps identity, gzip and deflate") {
  HeaderList fields;
  keep_known_grpc_encodings(fields);
  CHECK(fields.empty());
  fields.add("grpc-accept-encoding", "identity, deflate, gzip");
  keep_known_grpc_encodings(fields);
  CHECK(fields.find("grpc-accept-encoding")->value == "identity, deflate, gzip");
  fields.set("grpc-accept-encoding", "identity,snappy,gzip, zstd");
  keep_known_grpc_encodings(fields);
  CHECK(fields.find("grpc-accept-encoding")->value == "identity, gzip");
  fields.set("grpc-accept-encoding", "snappy");
  keep_known_grpc_encodings(fields);
  CHECK(fields.find("grpc-accept-encoding")->value == "identity");
}
