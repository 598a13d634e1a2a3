// The two ways in which a command fails, and their texts. Expected failures are one line; only an internal error of the program
// shows a stack, because a report needs it.

import { SQLiteError } from 'bun:sqlite'
import { StorageFailed } from '../../src/artifacts/s3-store'
import { BackupDamaged, DAMAGE_ADVICE } from '../../src/backup/backup'
import { DatabaseUnavailable } from '../../src/db/db'
import { SchemaRefused } from '../../src/db/schema/rules'
import { lineOf } from '../../src/lib/error-line'
import { onOneLine } from '../view/output'

/** The command could not do its work; the message says why, in one line. Exit 1. */
export class CommandFailed extends Error {
  /** `reasons` follow the message, one on each line. */
  constructor(message: string, reasons: readonly string[] = []) {
    super([message, ...reasons.map((reason) => `  ${reason}`)].map(onOneLine).join('\n'))
  }
}

/** A process that should serve could not start. It has listeners, workers and connections, which must not keep it alive. Exit 1. */
export class StartFailed extends CommandFailed {
  constructor(cause: unknown) {
    const [head = '', ...reasons] = describeFailure(cause).split(/\n\s*/)
    super(head, reasons)
  }
}

/** The command was called in a wrong way; the message says how to call it, in one line. Exit 2. */
export class WrongUsage extends Error {
  constructor(message: string) {
    super(onOneLine(message))
  }
}

/** The text of an error for standard error. */
export function describeFailure(error: unknown): string {
  if (isWholeText(error)) return error.message
  if (error instanceof DatabaseUnavailable || error instanceof SQLiteError || isFromPostgres(error)) {
    return `The database cannot be used now: ${databaseLineOf(error)}`
  }
  if (isFromSystem(error)) return `${lineOf(error)}.`
  return `This is a fault of the gateway, please report it:\n${error instanceof Error ? (error.stack ?? error) : error}`
}

/** Whether the message of an error is the whole text: it says what is wrong and what to do. */
function isWholeText(error: unknown): error is Error {
  return [CommandFailed, StorageFailed, BackupDamaged, SchemaRefused].some((kind) => error instanceof kind)
}

/** The error of a database on one line, with advice. */
export function databaseLineOf(error: unknown): string {
  const line = lineOf(error)
  if (/locked|busy/i.test(line)) return `${line}. Another process is writing to it; try again.`
  return /malformed|not a database/i.test(line) ? `${line}. ${DAMAGE_ADVICE}` : `${line}.`
}

/** Whether an error is about files, ports or the network: its code is like EACCES. */
function isFromSystem(error: unknown): boolean {
  return error instanceof Error && /^E[A-Z]{2,}$/.test((error as { code?: string }).code ?? '')
}

function isFromPostgres(error: unknown): boolean {
  return error instanceof Error && ((error as { code?: string }).code ?? '').startsWith('ERR_POSTGRES_')
}
