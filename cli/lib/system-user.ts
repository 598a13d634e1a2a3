// The user of the system who runs a command. In a container that may be a number without a name and without a home, which must never
// stop a command.

import { homedir, userInfo } from 'node:os'

/** The home folder; `/`, as containers name it, for a user without one. */
export function homeFolder(): string {
  try {
    return homedir()
  } catch {
    return '/'
  }
}

/** The name of the user, or the number of one who has none. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}
