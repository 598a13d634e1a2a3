// Prints the output of a started gateway: warnings for its operator, then its introduction, as text or as JSON. It must never print
// a secret, except the key of a sandbox.

import { dirname } from 'node:path'
import type { Server } from '../../src/app/server'
import { isLoopback } from '../../src/lib/url-host'
import { endings, endingsJson, modelsByUpstream } from '../configuration/catalogue'
import { permissionWarning, type SettingsFlags } from '../configuration/settings'
import type { Demonstration } from '../lib/demonstration'
import { callable } from '../process/server-address'
import type { openSockets } from '../process/sockets'
import { commandLineOf } from '../program'
import { introduction } from './introduction'
import { paint, print, say, terminalWidth } from './output'

/** Facts for the introduction that the server does not know. */
interface Setting {
  file: string | undefined
  dataDir: string
  demonstration: Demonstration | undefined
  /** Ids of models in whose place a simulator's own model answers. */
  notSimulated: readonly string[]
  flags: SettingsFlags & { json?: boolean | undefined }
}

/** Prints the warnings and the introduction. */
export function introduce(server: Server, setting: Setting, sockets: ReturnType<typeof openSockets>): void {
  for (const warning of [
    permissionWarning(setting.dataDir),
    openToNetwork(server),
    adminOpenToNetwork(server),
    unguarded(sockets),
  ]) {
    if (warning) say(paint('yellow', warning, process.stderr))
  }
  // Printed on one line, because programs that wait for it read a line, not to the end of the output.
  if (setting.flags.json) print(JSON.stringify(introductionJson(server, setting)))
  else print(describe(server, setting))
}

/** A warning if keys and contents cross a network unencrypted. */
function openToNetwork({ url }: Server): string | undefined {
  if (!crossesNetwork(url)) return undefined
  return `Warning: ${url} is open to the network without TLS: keys and contents can be read in transit. Set server.tls, or listen on 127.0.0.1 behind a proxy that has TLS (docs/operate/proxies.md).`
}

/** A warning if tokens of admins cross a network unencrypted, on a listener of their own. */
function adminOpenToNetwork({ adminUrl }: Server): string | undefined {
  if (adminUrl === undefined || !crossesNetwork(adminUrl)) return undefined
  return `Warning: the admin API at ${adminUrl} is open to the network without TLS: admin tokens can be read in transit. Set server.tls, or listen on 127.0.0.1 (docs/operate/admin.md).`
}

function crossesNetwork(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !isLoopback(hostname)
}

/** A warning if Linux does not say which connections are open. */
function unguarded(sockets: ReturnType<typeof openSockets>): string | undefined {
  if (sockets || process.platform !== 'linux') return undefined
  return 'Warning: the number of connections is not limited, because /proc is not mounted. Mount it: mount -t proc proc /proc'
}

function describe(server: Server, setting: Setting): string {
  const { file, dataDir, demonstration, notSimulated, flags } = setting
  const { config } = server.world
  const { sandbox } = flags
  const configOfFlags =
    file !== undefined && (flags.config || dirname(file) === process.cwd()) ? file : undefined
  const dataOfFlags = flags['data-dir'] || process.env.GATEWAY_DATA_DIR ? dataDir : undefined
  const own = { config: configOfFlags, 'data-dir': dataOfFlags, sandbox }
  const about = {
    url: server.url,
    pages: pagesOf(server),
    configuration: file ?? 'built in',
    data: config.database ? `PostgreSQL, and files of this node in ${dataDir}` : dataDir,
    upstreams: modelsByUpstream(config),
    demonstration,
    notSimulated,
    ending: endings(server.world.catalogue.models.values(), server.world.now()),
    commands: {
      usage: commandLineOf('requests list', own),
      makeKey: commandLineOf('keys create NAME --balance 5', own),
      // A sandbox refuses the data directory of a gateway with real vendors.
      sandbox: commandLineOf('serve', { config: configOfFlags, sandbox: true }),
    },
  }
  return introduction(about, terminalWidth())
}

/** Where a browser finds the documentation and the console. */
function pagesOf({ url, adminUrl, world }: Server): { documentation: string; console?: string } | undefined {
  if (url.startsWith('unix:')) return undefined
  // With a listener for admins, only that one lets them sign in.
  const hasConsole = world.config.console?.enabled !== false
  return {
    documentation: `${callable(url)}/docs`,
    ...(hasConsole && { console: `${callable(adminUrl ?? url)}/console` }),
  }
}

function introductionJson(server: Server, { file, dataDir, demonstration, notSimulated }: Setting) {
  const models = modelsOf(server)
  return {
    url: server.url,
    sandbox: demonstration !== undefined,
    config: file ?? null,
    data_dir: dataDir,
    models: models.flatMap(({ id, reason }) => (reason === null ? [id] : [])),
    hidden: models.filter(({ reason }) => reason !== null),
    not_simulated: notSimulated,
    ending: endingsJson(server.world.catalogue.models.values(), server.world.now()),
    key: demonstration?.secret ?? null,
    try: demonstration?.request?.line ?? null,
    docs: pagesOf(server)?.documentation ?? null,
    console: pagesOf(server)?.console ?? null,
  }
}

function modelsOf({ world }: Server): { id: string; reason: string | null }[] {
  const { models, routes, hidden } = world.catalogue
  const available = [...models.keys(), ...routes.keys()].filter((id) => !hidden.has(id))
  return [
    ...available.map((id) => ({ id, reason: null })),
    ...[...hidden].map(([id, reason]) => ({ id, reason })),
  ]
}
