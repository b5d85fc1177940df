// Calls the person at the terminal that CMD occupies.
#pragma once

#include <string>

namespace warder {

// Where stderr is a terminal, CMD may have drawn on it: the bell, and a notification (OSC 9) where the terminal knows
// those, which no screen shows. Otherwise an ordinary line on stderr.
void summon(const std::string& line);
// What summon() writes to a terminal: nothing in it moves the cursor or can end the sequence before its end.
std::string notification_of(const std::string& line);

}  // namespace warder
