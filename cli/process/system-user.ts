// The user of the system who runs a command. In a container that may be a number without a name or a home, which must never stop a
// command.

import { existsSync, readFileSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'

/** The home folder; `/`, as in containers, for a user without one. */
export function homeFolder(): string {
  try {
    return homedir()
  } catch {
    return '/'
  }
}

/**
 * The name of the user, or the number of a user without a name. On Linux this is not Bun's, which reads a variable: that may be missing,
 * and a user can set it to anything.
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
