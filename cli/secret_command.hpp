// `warder secret set|rotate|list|rm`: the built-in encrypted store. A value never stands on the command line.
#pragma once

#include <string>
#include <vector>

#include "cli/output.hpp"

namespace warder {

struct SecretArgs {
  std::string name;
  std::vector<std::string> surplus;  // what stood behind the name: a value, most likely
  std::string store;                 // --store; empty: the usual place
  Json json = Json::no;              // list
  bool passphrase = false;           // set: a new store is opened by a passphrase
};

int secret_set_command(const SecretArgs& args);
int secret_rotate_command(const SecretArgs& args);
int secret_list_command(const SecretArgs& args);
int secret_rm_command(const SecretArgs& args);

}  // namespace warder
