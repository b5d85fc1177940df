// `warder-sandbox` from its start to the exec of bubblewrap: the order of isolation, on one screen.
#pragma once

namespace warder {

// Serves one launch over the control socket `control`; writes what bubblewrap says of its child to `status`;
// hands `reports` to the sandbox's first process.
// Returns only when it failed (after telling `warder`), with the exit code.
int launch(int control, int status, int reports);

}  // namespace warder
