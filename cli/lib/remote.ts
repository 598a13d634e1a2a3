// Decides whether a command works on the database of this machine or on a gateway over its admin API, and creates the client for
// that. A token must never be printed, or sent unencrypted unless that was allowed.

import { readFileSync } from 'node:fs'
import { version } from '../../package.json'
import { type AdminClient, createRemoteClient } from '../../src/admin/client'
import { lineOf } from '../../src/lib/error-line'
import { isObject } from '../../src/lib/objects'
import { isLoopback } from '../../src/lib/url-host'
import { commandArgs, type SettingsFlags } from '../configuration/settings'
import { type Context, keepRenewed, namesDatabase, readContexts } from './contexts'
import type { LoginProvider } from './device-login'
import { CommandFailed, WrongUsage } from './errors'

/** Flags of commands that can work on a remote gateway. */
export const gatewayArgs = {
  ...commandArgs,
  server: {
    type: 'string',
    valueHint: 'URL',
    description:
      'Work on the gateway at this address, over its admin API (default: the database of this machine)',
  },
  token: {
    type: 'string',
    valueHint: 'TOKEN|@FILE',
    description: 'An admin token for it, or @FILE (default: GATEWAY_ADMIN_TOKEN)',
  },
  context: {
    type: 'string',
    valueHint: 'NAME',
    description: 'Use a gateway of `contexts list` (none: the database of this machine)',
  },
} as const

export interface GatewayFlags extends SettingsFlags {
  server?: string | undefined
  token?: string | undefined
  context?: string | undefined
}

/** The gateway that the flags, the environment or the current context name; undefined for the database of this machine. */
export function remoteOf(flags: GatewayFlags): Context | undefined {
  if (flags.server !== undefined && flags.context !== undefined)
    throw new WrongUsage('Choose one of --server and --context.')
  const isOpen = flags.context === undefined && !namesDatabase(flags)
  const server = flags.server ?? (isOpen ? process.env.GATEWAY_ADMIN_URL : undefined)
  const saved = server ? undefined : contextOf(flags)
  if (!server && !saved) {
    if (flags.token !== undefined) throw new WrongUsage('--token needs --server URL or --context NAME.')
    return undefined
  }
  const given = flags.token ?? (saved ? undefined : process.env.GATEWAY_ADMIN_TOKEN)
  const token = given === undefined ? saved?.token : readToken(given)
  if (!token)
    throw new WrongUsage(
      'The admin API takes a token: set GATEWAY_ADMIN_TOKEN, or give --token @FILE. `gateway admins create` makes one.',
    )
  const { login } = given === undefined ? (saved ?? {}) : {}
  return checked({ ...saved, login, server: saved?.server ?? (server as string), token })
}

/** The current context, unless flags name the database of this machine. */
function contextOf({ context, ...flags }: GatewayFlags): Context | undefined {
  if (context === 'none' || (context === undefined && namesDatabase(flags))) return undefined
  const { current, contexts } = readContexts()
  const name = context ?? current
  if (name === null) return undefined
  if (Object.hasOwn(contexts, name)) return contexts[name]
  const names = Object.keys(contexts)
  throw new WrongUsage(
    `There is no context ${name}. ${names.length === 0 ? 'Add it: gateway contexts add.' : `There are: ${names.join(', ')}.`}`,
  )
}

/** A token as given: itself, or the content of a file. */
export function readToken(given: string): string {
  if (!given.startsWith('@')) return oneWord(given, 'The token')
  const file = given.slice(1)
  let content: string
  try {
    content = readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new CommandFailed(`The token cannot be read from ${file}: ${lineOf(error)}.`)
  }
  return oneWord(content, file === '-' ? 'Standard input' : file)
}

/** The text without surrounding white space. Fails for more than one word, which is invalid in a header. */
function oneWord(text: string, place: string): string {
  const word = text.trim()
  if (/^[\x21-\x7e]*$/.test(word)) return word
  throw new CommandFailed(`${place} has more than a token, which is one word such as adm-….`)
}

/** The context with its URL in one form. Fails for an invalid URL, and for one that would reveal the token. */
export function checked(context: Context): Context {
  const url = URL.parse(context.server)
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.search || url.username)
    throw new WrongUsage(
      `--server takes an address such as https://gateway.example.com, not "${context.server}".`,
    )
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !context.allowHttp)
    throw new CommandFailed(
      `${url.origin} would get the token unencrypted. Use https, or allow it with --allow-http of \`gateway contexts add\` or \`login\`.`,
    )
  return {
    ...context,
    server: `${url.origin}${url.pathname}`.replace(/\/+$/, '').replace(/\/admin\/v1$/, ''),
  }
}

/** Maximum silence in the middle of a file, in milliseconds: a search through many rows may find none for a while. */
const SILENCE_MS = 120_000

export function clientOf(context: Context, onChange: () => void = () => {}): AdminClient {
  const { server, token, caFile } = context
  let current = context
  const tls = caFile === undefined ? undefined : { ca: authoritiesOf(caFile) }
  const client = createRemoteClient({
    url: `${server}/admin/v1`,
    token,
    version,
    async send(url, request) {
      current = await renewed(current)
      const headers = { ...(request.headers as object), authorization: `Bearer ${current.token}` }
      return fetch(url, { ...request, headers, ...(tls && { tls }) })
    },
    wait: Bun.sleep,
    onChange,
  })
  return { ...client, csv: async (id, call) => wholeFile(await client.csv(id, call), server) }
}

/** How long before its expiry a token is renewed, in milliseconds. */
const RENEW_MS = 30_000

/** A context whose token is valid: that of a sign-in is renewed and kept. */
async function renewed(context: Context): Promise<Context> {
  const { login } = context
  if (!login || login.expiresAt - Date.now() > RENEW_MS) return context
  const { renewLogin } = await import('./device-login')
  const after = await renewLogin(login)
  keepRenewed(context, after)
  return { ...context, ...after }
}

/** A file as it arrives from a server. Fails if it ends too early or stalls: a part of it must not be mistaken for the whole. */
export function wholeFile(
  file: ReadableStream<Uint8Array>,
  server: string,
  silenceMs = SILENCE_MS,
): ReadableStream<Uint8Array> {
  const reader = file.getReader()
  const failed = (what: string) =>
    new CommandFailed(
      `The file is not whole: the gateway at ${server} ${what} in the middle of it. Ask again, for a shorter time if it is long.`,
    )
  return new ReadableStream({
    async pull(controller) {
      const silence = Promise.withResolvers<never>()
      const timer = setTimeout(
        () => silence.reject(failed(`has sent nothing for ${silenceMs / 1000} seconds`)),
        silenceMs,
      )
      try {
        const { done, value } = await Promise.race([reader.read(), silence.promise])
        if (done) controller.close()
        else controller.enqueue(value)
      } catch (error) {
        void reader.cancel().catch(() => {})
        throw error instanceof CommandFailed ? error : failed('closed the connection early')
      } finally {
        clearTimeout(timer)
      }
    },
    cancel: (reason) => reader.cancel(reason),
  })
}

/** Maximum wait for the identity providers of a gateway, in milliseconds. */
const PROVIDERS_TIMEOUT_MS = 15_000

/** The identity providers of a gateway that commands can sign in by. Fails if it does not answer in time. */
export async function loginProvidersOf(
  { server, caFile }: Pick<Context, 'server' | 'caFile'>,
  timeoutMs = PROVIDERS_TIMEOUT_MS,
): Promise<(LoginProvider & { name: string })[]> {
  const tls = caFile === undefined ? undefined : { ca: authoritiesOf(caFile) }
  const signal = AbortSignal.timeout(timeoutMs)
  const notReached = (error: unknown) => {
    if (signal.aborted)
      throw new CommandFailed(
        `${server} did not answer within ${timeoutMs / 1_000} seconds. Try again later.`,
      )
    throw new CommandFailed(`${server} cannot be reached: ${lineOf(error)}.`)
  }
  const answer = await fetch(`${server}/console/sign-in`, {
    redirect: 'manual',
    signal,
    ...(tls && { tls }),
  }).catch(notReached)
  const body: unknown = await answer.json().catch((error) => (signal.aborted ? notReached(error) : null))
  const { data } = (body ?? {}) as { data?: unknown }
  if (!answer.ok || !Array.isArray(data))
    throw new CommandFailed(`${server} has no sign-in by an identity provider here (HTTP ${answer.status}).`)
  return data.filter(isObject).flatMap(({ name, cli }) => (isObject(cli) ? [{ name, ...cli } as never] : []))
}

function authoritiesOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new CommandFailed(`The certificates of authorities cannot be read from ${file}: ${lineOf(error)}.`)
  }
}
