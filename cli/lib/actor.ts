// Names who changes something by a command on the database, for the audit trail.

import { hostname, userInfo } from 'node:os'
import type { Actor } from '../../src/admin/audit-trail'

/** The user of the system, and the machine: `cli:ada@rack1`. No admin can have such a name. */
export function commandLineActor(): Actor {
  return { name: `cli:${userInfo().username}@${hostname()}`, requestId: null, clientAddress: null }
}
