// An invented host's /etc, seen from inside. The tests may run as root, who reads everything: what must not be seen has to
// be absent, not forbidden.
#include "sandbox-launcher/view_etc.hpp"

#include "tests/launcher/world.hpp"

namespace warder::test {
namespace {

struct Etc {
  World world;
  fs::path etc = world.root / "etc";
  EtcPlan plan{.host_etc = etc, .uid = ::getuid(), .gid = ::getgid(), .hidden = {}};

  Etc() { fs::create_directories(etc / "ssl/certs"); }

  Seen run(const std::string& script) const {
    ViewBuilder builder;
    builder.bind_read_only("/usr", "/usr");
    builder.option("--dev", "/dev");
    for (const char* name : {"/bin", "/lib", "/lib64"}) {
      if (fs::is_symlink(name)) {
        builder.symlink(fs::read_symlink(name), name);
      } else if (fs::exists(name)) {
        builder.bind_read_only(name, name);
      }
    }
    add_etc(builder, world.plan.spec, plan);
    View view = builder.take();
    view.path = "/usr/bin:/bin";
    return run_in(view, script);
  }
};

TEST_CASE("only what everybody may read is in /etc") {
  if (!can_run()) return;
  Etc host;
  write_file(host.etc / "open.conf", "open\n", 0644);
  write_file(host.etc / "group.conf", "group secret\n", 0640);
  write_file(host.etc / "write-only", "secret\n", 0602);
  write_file(host.etc / "closed/file", "closed secret\n", 0644);
  fs::permissions(host.etc / "closed", fs::perms(0750));
  write_file(host.etc / "listed/file", "listed secret\n", 0644);
  fs::permissions(host.etc / "listed", fs::perms(0754));
  fs::create_symlink("open.conf", host.etc / "link");
  const Seen seen = host.run(
      "cd /etc; cat open.conf link; ls -A; cat group.conf write-only closed/file listed/file "
      "2>/dev/null");
  CHECK(holds(seen.out, "open\nopen\n"));
  for (const char* hidden : {"group", "secret", "write-only", "closed", "listed"}) {
    CAPTURE(hidden);
    // The group file is ours.
    if (std::string(hidden) != "group") CHECK_FALSE(holds(seen.out, hidden));
  }
  CHECK_FALSE(holds(seen.out, "group.conf"));
}

TEST_CASE("what is not for everybody is hidden inside an open directory, however deep") {
  if (!can_run()) return;
  Etc host;
  write_file(host.etc / "app/open.conf", "open\n");
  write_file(host.etc / "app/password", "secret\n", 0640);
  write_file(host.etc / "app/a/b/c/password", "secret\n", 0600);
  write_file(host.etc / "app/keys/key", "secret\n", 0644);
  fs::permissions(host.etc / "app/keys", fs::perms(0710));
  const Seen seen = host.run(
      "cd /etc/app; cat open.conf; cat password a/b/c/password keys/key 2>/dev/null; ls -A keys; "
      "chmod 777 password 2>/dev/null && echo changed; (echo x > keys/x) 2>/dev/null && echo "
      "wrote; true");
  CHECK(seen.out == "open\n");
}

TEST_CASE("a directory of /etc that is too deep to be looked through is left out") {
  if (!can_run()) return;
  Etc host;
  fs::path deep = host.etc / "deep";
  for (int level = 0; level < 20; ++level) deep /= "d";
  write_file(deep / "password", "secret\n", 0600);
  CHECK(host.run("test -e /etc/deep && echo there; true").out.empty());
}

TEST_CASE("a protected directory of /etc is empty or absent") {
  if (!can_run()) return;
  Etc host;
  write_file(host.etc / "top/token", "secret\n");
  write_file(host.etc / "app/tokens/token", "secret\n");
  write_file(host.etc / "app/open", "open\n");
  host.plan.hidden = {host.etc / "top", host.etc / "app/tokens"};
  CHECK(host.run("cd /etc; cat app/open; cat top/token app/tokens/token 2>/dev/null; true").out ==
        "open\n");
}

TEST_CASE("the trusted certificates are the host's, ours and the merged bundle") {
  if (!can_run()) return;
  Etc host;
  write_file(host.etc / "ssl/openssl.cnf", "cnf\n");
  write_file(host.etc / "ssl/private/key.pem", "secret\n");
  write_file(host.etc / "ssl/cert.pem", "old\n");
  write_file(host.etc / "ssl/certs/ca-certificates.crt", "old\n");
  write_file(host.etc / "ssl/certs/Some_Root.pem", "root\n");
  fs::create_symlink("Some_Root.pem", host.etc / "ssl/certs/11111111.0");
  const Seen seen = host.run(
      "cd /etc/ssl; cat openssl.cnf cert.pem certs/ca-certificates.crt certs/11111111.0 "
      "certs/warder-ca.pem certs/0a1b2c3d.0; test -e private && echo private; "
      "(echo x > certs/ca-certificates.crt) 2>/dev/null && echo wrote; true");
  CHECK(seen.out ==
        "cnf\nthe merged bundle\nthe merged bundle\nroot\nour certificate\nour certificate\n");
}

TEST_CASE("a hash that the host has already is counted on") {
  if (!can_run()) return;
  Etc host;
  write_file(host.etc / "ssl/certs/0a1b2c3d.0", "theirs\n");
  CHECK(host.run("cat /etc/ssl/certs/0a1b2c3d.0 /etc/ssl/certs/0a1b2c3d.1").out ==
        "theirs\nour certificate\n");
}

TEST_CASE("the bundles of a Fedora host are the merged one by every name") {
  if (!can_run()) return;
  Etc host;
  fs::remove_all(host.etc / "ssl/certs");
  write_file(host.etc / "pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "old\n");
  write_file(host.etc / "pki/tls/private/key", "secret\n", 0600);
  fs::create_directories(host.etc / "pki/tls/certs");
  fs::create_symlink("../../ca-trust/extracted/pem/tls-ca-bundle.pem",
                     host.etc / "pki/tls/certs/ca-bundle.crt");
  fs::create_symlink("certs/ca-bundle.crt", host.etc / "pki/tls/cert.pem");
  fs::create_symlink("../pki/tls/certs", host.etc / "ssl/certs");
  const Seen seen = host.run(
      "cd /etc; cat pki/tls/certs/ca-bundle.crt pki/ca-trust/extracted/pem/tls-ca-bundle.pem "
      "pki/tls/cert.pem ssl/certs/ca-certificates.crt ssl/certs/warder-ca.pem; "
      "cat pki/tls/private/key 2>/dev/null");
  CHECK(seen.out ==
        "the merged bundle\nthe merged bundle\nthe merged bundle\nthe merged bundle\nour "
        "certificate\n");
}

TEST_CASE("BR-097 a host with one bundle shows it under the names of other distributions too") {
  if (!can_run()) return;
  Etc host;
  const Seen seen = host.run(
      "cd /etc; cat ssl/cert.pem ssl/ca-bundle.pem pki/tls/cert.pem pki/tls/certs/ca-bundle.crt; "
      "(echo x > ssl/cert.pem) 2>/dev/null && echo wrote; true");
  CHECK(seen.out == "the merged bundle\nthe merged bundle\nthe merged bundle\nthe merged bundle\n");
}

TEST_CASE("BR-098 the JVM's store is ours by the names of Debian and Fedora") {
  if (!can_run()) return;
  Etc host;
  write_file(host.etc / "ssl/certs/java/cacerts", "old\n");
  write_file(host.etc / "ssl/certs/java/other", "other\n");
  write_file(host.etc / "pki/ca-trust/extracted/java/cacerts", "old\n");
  fs::create_directories(host.etc / "pki/java");
  fs::create_symlink("../ca-trust/extracted/java/cacerts", host.etc / "pki/java/cacerts");
  const Seen seen = host.run(
      "cd /etc; cat ssl/certs/java/cacerts ssl/certs/java/other pki/java/cacerts "
      "pki/ca-trust/extracted/java/cacerts; (echo x > ssl/certs/java/cacerts) 2>/dev/null && echo "
      "wrote; true");
  CHECK(seen.out == "our store\nother\nour store\nour store\n");
}

TEST_CASE("browsers get a policy beside the host's own ones") {
  if (!can_run()) return;
  Etc host;
  host.world.plan.spec.added_pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  write_file(host.etc / "chromium/policies/managed/corp.json", "corp\n");
  write_file(host.etc / "chromium/policies/managed/closed.json", "secret\n", 0640);
  write_file(host.etc / "chromium/policies/recommended/r.json", "recommended\n");
  write_file(host.etc / "chromium/master_preferences", "preferences\n");
  write_file(host.etc / "opt/app/app.conf", "app\n");
  write_file(host.etc / "firefox/policies/policies.json",
             "{\"policies\":{\"DisableTelemetry\":true}}");
  const Seen seen = host.run(
      "cd /etc; cat chromium/policies/managed/*.json chromium/policies/recommended/r.json "
      "chromium/master_preferences opt/app/app.conf opt/chrome/policies/managed/warder.json "
      "firefox/policies/policies.json; (echo x > firefox/policies/x) 2>/dev/null && echo wrote; "
      "true");
  const std::string policy = "{\"CACertificates\":[\"AAAA\"]}\n";
  CHECK(seen.out == "corp\n" + policy + "recommended\npreferences\napp\n" + policy +
                        "{\"policies\":{\"DisableTelemetry\":true,\"Certificates\":{\"Install\":["
                        "\"/etc/ssl/certs/warder-ca.pem\"]}}}\n");
}

TEST_CASE("attack: a host's policy directory that is a link, or closed, is not written through") {
  if (!can_run()) return;
  Etc host;
  write_file(host.etc / "elsewhere/managed/x.json", "x\n");
  fs::create_symlink("elsewhere", host.etc / "chromium");
  write_file(host.etc / "firefox/policies/policies.json", "secret\n");
  fs::permissions(host.etc / "firefox/policies", fs::perms(0700));
  const Seen seen = host.run(
      "cd /etc; ls elsewhere/managed; grep -c secret firefox/policies/policies.json; ls "
      "firefox/policies");
  CHECK(seen.out == "x.json\n0\npolicies.json\n");
}

}  // namespace
}  // namespace warder::test
