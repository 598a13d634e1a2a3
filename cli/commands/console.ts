// gateway console: prints a link that signs in to the console, once and soon. A link is as good as a token until it is used,
// so it must never be written to a log.

import { defineCommand } from 'citty'
import { findKey } from '../../src/accounts/keys'
import { createLink, makeSessionToken, type SessionOwner, subjectOfRole } from '../../src/accounts/sessions'
import { findAdmin } from '../../src/admin/admins'
import { gatewayTime } from '../../src/app/clock'
import { randomBytes } from '../../src/app/world'
import type { Config } from '../../src/config/schema'
import { ROLES } from '../../src/contract/roles'
import type { Db } from '../../src/db/db'
import { inBrackets } from '../../src/lib/url-host'
import { commandArgs, dataDirOf, type SettingsFlags, withDatabase } from '../configuration/settings'
import { auditedDb } from '../lib/actor'
import { CommandFailed, WrongUsage } from '../lib/errors'
import { parseWord } from '../lib/values'
import { askServer } from '../process/control'
import { callable, listeningAddress } from '../process/server-address'
import { print, printJson, say } from '../view/output'
import { parseDurationMs, utcTime } from '../view/times'

const DEFAULT_EXPIRY = '5m'
const MAX_LIFE_MS = 24 * 3_600_000

export const consoleCommand = defineCommand({
  meta: {
    name: 'console',
    description: 'Print a link that signs in to the web console, once and within minutes.',
    examples: [
      'gateway console --open',
      'gateway console --role viewer',
      'gateway console --admin ada',
      'gateway console --key alice --expires 1h',
    ],
  },
  args: {
    role: {
      type: 'string',
      valueHint: ROLES.join('|'),
      description: 'Sign in with this role instead of as an admin (default owner)',
    },
    admin: { type: 'string', valueHint: 'NAME', description: 'Sign in as this admin' },
    key: {
      type: 'string',
      valueHint: 'NAME',
      description: 'Sign in as the holder of this key, to see what they see',
    },
    expires: {
      type: 'string',
      valueHint: DEFAULT_EXPIRY,
      description: `How long the link can be used (default ${DEFAULT_EXPIRY})`,
    },
    url: {
      type: 'string',
      valueHint: 'URL',
      description: 'URL at which the browser reaches the gateway (default: its address on this machine)',
    },
    open: { type: 'boolean', description: 'Open it in the browser of this machine' },
    ...commandArgs,
  },
  async run({ args }) {
    const forMs = parseDurationMs('expires', args.expires ?? DEFAULT_EXPIRY)
    if (forMs > MAX_LIFE_MS) throw new WrongUsage('--expires takes 24h at most.')
    if ([args.role, args.admin, args.key].filter((given) => given !== undefined).length > 1)
      throw new WrongUsage('Give only one of --role, --admin and --key.')
    const role = parseWord('role', args.role ?? 'owner', ROLES)
    await withDatabase(args, async (db, config) => {
      if (config.console?.enabled === false)
        throw new CommandFailed('The console is switched off: console.enabled is false.')
      const { name, ...owner } = await ownerOf(db, { ...args, role })
      const address = args.url ?? (await addressOf(owner, config, args))
      const now = await gatewayTime(db, Date.now())
      const token = makeSessionToken(randomBytes)
      const expiresAt = now + forMs
      const change = { action: 'console.link', target: `${owner.kind}:${name}` }
      if (!(await createLink(await auditedDb(db, change), owner, { token, now, expiresAt })))
        throw new CommandFailed(mayNotSignIn(owner.kind, name))
      const link = `${address.replace(/\/+$/, '')}/console#link=${token}`
      if (args.json) printJson({ link, expires_at: new Date(expiresAt).toISOString() })
      else {
        print(link)
        say(`\nIt signs in as ${name}, once, until ${utcTime(expiresAt)}.`)
      }
      if (args.open) openInBrowser(link)
    })
  },
})

async function ownerOf(
  db: Db,
  { admin, key, role }: { admin?: string | undefined; key?: string | undefined; role: string },
): Promise<SessionOwner & { name: string }> {
  if (key !== undefined) {
    const found = await findKey(db, key)
    if (!found) throw new CommandFailed(`There is no key "${key}"; \`keys list\` shows all.`)
    return { kind: 'key', subject: found.id, name: found.name }
  }
  if (admin === undefined) return { kind: 'admin', subject: subjectOfRole(role), name: role }
  const found = await findAdmin(db, admin)
  if (!found) throw new CommandFailed(`There is no admin "${admin}"; \`admins list\` shows all.`)
  return { kind: 'admin', subject: found.id, name: found.name }
}

function mayNotSignIn(kind: SessionOwner['kind'], name: string): string {
  return kind === 'admin'
    ? `The admin ${name} is revoked or has expired, and cannot sign in: \`admins list\` shows which.`
    : `The key ${name} is revoked, paused or expired, or its account is frozen or closed: \`keys show ${name}\` shows which.`
}

/** Where a browser reaches the console: if others may sign in, at the public URL, otherwise on this machine. */
async function addressOf({ kind }: SessionOwner, config: Config, flags: SettingsFlags): Promise<string> {
  const { admin, server } = config
  const running = await askServer(dataDirOf(flags), 'GET /status')
  if (kind === 'admin' && admin?.port !== undefined) {
    const host = admin.host ?? '127.0.0.1'
    const own = `http${server?.tls ? 's' : ''}://${inBrackets(host)}:${admin.port}`
    return callable(running?.adminUrl ? new URL(running.adminUrl).origin : own)
  }
  const isRemote = kind === 'admin' ? admin?.allowRemote : config.console?.allowRemote
  if (isRemote && server?.publicUrl) return server.publicUrl
  const local = running ? callable(running.url) : listeningAddress(config, process.env)
  if (/^https?:/.test(local)) return local
  throw new CommandFailed(
    `The gateway listens on ${local}, which no browser opens: give the address of its proxy with --url.`,
  )
}

function openInBrowser(link: string): void {
  const commands: Partial<Record<NodeJS.Platform, string[]>> = {
    darwin: ['open', link],
    win32: ['rundll32', 'url.dll,FileProtocolHandler', link],
  }
  const command = commands[process.platform] ?? ['xdg-open', link]
  try {
    Bun.spawn(command, { stdio: ['ignore', 'ignore', 'ignore'] }).unref()
  } catch {
    say('No browser could be opened here: open the link yourself.')
  }
}
