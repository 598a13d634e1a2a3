// Saved gateways that commands can use over the admin API: URLs with their tokens, in one file that only its owner may read. A
// token must never be printed.

import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { lineOf } from '../../src/lib/error-line'
import { isObject } from '../../src/lib/objects'
import { configSearchPlaces, ownFolders } from '../configuration/config-file'
import type { Login } from './device-login'
import { CommandFailed } from './errors'

/** A remote gateway. */
export interface Context {
  /** Address without /admin/v1. */
  server: string
  token: string
  /** The sign-in that renews the token; absent for the token of an admin. */
  login?: Login | undefined
  /** A file with the certificates of trusted authorities, in addition to those of the system. */
  caFile?: string | undefined
  /** Whether the token may be sent unencrypted. */
  allowHttp?: boolean | undefined
}

export interface Contexts {
  /** The default context of commands; null for the database of this machine. */
  current: string | null
  contexts: Record<string, Context>
}

const OTHERS = 0o077

export function contextsFile(): string {
  return join(ownFolders(configSearchPlaces())[0] ?? '.', 'contexts.json')
}

export function readContexts(): Contexts {
  const file = contextsFile()
  const found = statSync(file, { throwIfNoEntry: false })
  if (!found) return { current: null, contexts: {} }
  // Windows has no such mode.
  if (process.platform !== 'win32' && (found.mode & OTHERS) !== 0)
    throw new CommandFailed(
      `Other users of this machine can read the tokens in ${file}. Close it with: chmod 600 ${file}`,
    )
  try {
    const read: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (isObject(read) && isObject(read.contexts)) return read as object as Contexts
  } catch (error) {
    throw new CommandFailed(`${file} cannot be read: ${lineOf(error)}.`)
  }
  throw new CommandFailed(`${file} is not a file of contexts. Remove it, and add them again.`)
}

/** Replaces the file atomically: a reader has the old one or the new one. */
export function writeContexts(contexts: Contexts): void {
  const file = contextsFile()
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const part = `${file}.part`
  // A leftover one may have another mode.
  rmSync(part, { force: true })
  writeFileSync(part, `${JSON.stringify(contexts, null, 2)}\n`, { mode: 0o600 })
  renameSync(part, file)
}

/** Keeps the renewed token of a sign-in, for all contexts that have the old one. */
export function keepRenewed(before: Context, after: Pick<Context, 'token' | 'login'>): void {
  const saved = readContexts()
  const entries = Object.entries(saved.contexts).map(([name, context]) => [
    name,
    context.token === before.token ? { ...context, ...after } : context,
  ])
  writeContexts({ ...saved, contexts: Object.fromEntries(entries) })
}

interface DatabaseFlags {
  config?: string | undefined
  'data-dir'?: string | undefined
  sandbox?: boolean | undefined
}

/** Whether flags name the database of this machine, which then takes precedence over a context. */
export function namesDatabase(flags: DatabaseFlags): boolean {
  return flags.config !== undefined || flags['data-dir'] !== undefined || flags.sandbox === true
}

/** Fails for a command that works only on a database, while the current context is another gateway. */
export function assertOnDatabase(flags: DatabaseFlags): void {
  if (namesDatabase(flags)) return
  const named = process.env.GATEWAY_ADMIN_URL ? 'GATEWAY_ADMIN_URL' : readContexts().current
  if (!named) return
  const leave = named === 'GATEWAY_ADMIN_URL' ? 'unset it' : 'leave it: gateway contexts use none'
  throw new CommandFailed(
    `This command works on a database only, and ${named} has commands work on another gateway. Name the database with --data-dir or --config, or ${leave}`,
  )
}
