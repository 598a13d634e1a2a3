// The user of the system who runs a command. In a container that may be a number without a name and without a home, which must never
// stop a command.

import { existsSync, readFileSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'

/** The home folder; `/`, as containers name it, for a user without one. */
export function homeFolder(): string {
  try {
    return homedir()
  } catch {
    return '/'
  }
}

/**
 * The name of the user, or the number of one who has none. On Linux it is not Bun's, which takes it from a variable: that is not always
 * there, and says what its user wants.
 */
export function userName(): string {
  if (process.platform !== 'linux') return userInfo().username
  const number = String(process.getuid?.())
  const fields = usersOfSystem().find((each) => each[2] === number)
  return fields?.[0] ?? number
}

/** The users of this machine, each by the fields of its line. */
function usersOfSystem(): string[][] {
  if (!existsSync('/etc/passwd')) return []
  return readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
}
