// Rewrites errors of operations for people, with the command that helps. Texts that already fit are not changed.

import type { CallFailed } from '../../src/admin/client'
import type { SettingsFlags } from '../configuration/settings'
import { commandLineOf } from '../program'
import { CommandFailed, WrongUsage } from './errors'

/** Texts by code; `name` is the argument of the command. */
const texts: Record<string, (name: string, flags: SettingsFlags) => string> = {
  key_not_found: (name) => `There is no key "${name}"; \`keys list\` shows all.`,
  token_not_found: (name) => `There is no token "${name}"; \`spenders list\` shows all.`,
  account_not_found: (name, flags) =>
    `There is no account "${name}". An account is made with a key: ${commandLineOf('keys create NAME --account ACCOUNT', flags)}`,
  task_not_found: (name) => `There is no task "${name}"; \`tasks list\` shows the newest.`,
  task_unknown: (name) =>
    `The vendor's id of ${name} is not known, so it cannot be stopped: see \`tasks reconcile\`.`,
  plan_not_found: (name) => `There is no plan "${name}"; \`plans list\` shows all.`,
  retention_not_configured: () =>
    'The configuration has no retention.charges, so charges are kept permanently. --charges 24mo names a time for this call.',
  upstream_not_found: (name) => `There is no upstream "${name}"; \`upstreams list\` shows all.`,
  admin_not_found: (name) => `There is no admin "${name}"; \`admins list\` shows all.`,
  session_not_found: (name) => `There is no session "${name}"; \`sessions list\` shows all.`,
  event_not_found: (name) => `There is no event "${name}".`,
  code_not_found: (name, flags) =>
    `There is no code "${name}". List them: ${commandLineOf('codes list', flags)}`,
  request_not_found: (name) =>
    `There is no request ${name}: it is not in the log, or no longer, and nothing was held for it.`,
}

/** The error of an operation as the failure of a command. The code stays readable for programs. */
export class OperationFailed extends CommandFailed {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message)
  }
}

/** Errors of a wrong request are wrong usage; all others are failures of the command. */
export function failureOf(
  { status, code, message }: CallFailed,
  name: string,
  flags: SettingsFlags,
): OperationFailed | WrongUsage {
  if (status === 400) return new WrongUsage(message)
  const text = Object.hasOwn(texts, code) ? texts[code] : undefined
  return new OperationFailed(code, text ? text(name, flags) : message)
}
